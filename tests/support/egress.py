# SPDX-License-Identifier: Apache-2.0
"""
A front of a sandbox's network without the sandbox: a network namespace of our own, in which everything is caught, and us as the dialer.

Sockets belong to the namespace in which they were made, so that a test makes them `with net:` and uses them anywhere.
"""
import array
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess

import yett

LIMITED, OPEN = 1, 2
ANY, NAME, BELOW_ONE, BELOW, ADDRESS = range(5)  # enum net_rule_kind
ALLOW, DENY = range(2)  # enum net_list_kind
ASK_CONNECT, ASK_UNKNOWN, ASK_FULL = 1, 2, 3
ANSWER, ANSWER_RULES, ANSWER_EXPECTED = 1, 2, 3

RULES = struct.Struct('<IB3xIIQQQ')  # struct egress_rules
LIST = struct.Struct('<I5I')  # struct net_list
RECORD = struct.Struct('<IHHHBBBBBB')  # struct net_record
ASK = struct.Struct('<II16sH254s')  # struct egress_ask
ANSWERS = struct.Struct('<IIi')  # struct egress_answer

FDS_END = 264  # enum front_fd
CLONE_NEWNET = 0x40000000
SERVER = '198.18.0.2'
libc = ctypes.CDLL(None, use_errno=True)


def called(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def record(name, ports=(1, 65535), kind=NAME, which=ALLOW, number=1):
    """A rule for names, as it stands in a list."""
    text = name.encode() + b'\0'
    text += bytes(-len(text) % 4)
    return which, RECORD.pack(number, RECORD.size + len(text), *ports, which, kind, 0, 0, len(name), 0) + text


def rules(*records, mode=LIMITED, connections=256, in_bytes_s=0, out_bytes_s=0):
    """The bytes of struct egress_rules. A name stands for the rule that allows it."""
    records = [record(one) if isinstance(one, str) else one for one in records]
    body = b''.join(data for _, data in records)
    counts = [sum(which == kind for which, _ in records) for kind in (ALLOW, DENY)]
    body = LIST.pack(LIST.size + len(body), *counts, 0, 0, 0) + body
    return RULES.pack(mode, 0, connections, len(body), in_bytes_s, out_bytes_s, 0) + body


def sealed(data, seals=fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE):
    memory = os.memfd_create('rules', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(memory, data)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, seals)
    return memory


class Catcher:
    """A sk_lookup program that gives all connections of a namespace to two listeners, but those to loopback."""

    @staticmethod
    def bpf(command, data):
        buffer = ctypes.create_string_buffer(data.ljust(128, b'\0'))
        return called(libc.syscall(321, command, buffer, len(buffer)))

    def __init__(self, net, listeners):
        self.map = self.bpf(0, struct.pack('<IIII', 15, 4, 8, 2))  # BPF_MAP_CREATE, SOCKMAP
        for i, listener in enumerate(listeners):
            key, value = ctypes.c_uint32(i), ctypes.c_uint64(listener.fileno())
            self.bpf(2, struct.pack('<I4xQQQ', self.map, ctypes.addressof(key), ctypes.addressof(value), 0))  # BPF_MAP_UPDATE_ELEM
        # offsets of struct bpf_sk_lookup: linux/bpf.h. A jump is over so many instructions
        parts = [struct.pack('<BBhi', op, source << 4 | to, offset, value) for op, to, source, offset, value in (
            (0xbf, 6, 1, 0, 0),  # r6 = context
            (0x61, 2, 6, 12, 0), (0x55, 2, 0, 21, 6),  # protocol: TCP
            (0xb7, 3, 0, 0, 0), (0x61, 2, 6, 8, 0), (0x15, 2, 0, 1, 2), (0xb7, 3, 0, 0, 1), (0x63, 10, 3, -4, 0),  # key: 0 of AF_INET, else 1
            (0x61, 2, 6, 40, 0), (0x57, 2, 0, 0, 255), (0x15, 2, 0, 13, 127),  # local address: not in 127.0.0.0/8
            (0x18, 1, 1, 0, self.map), (0, 0, 0, 0, 0), (0xbf, 2, 10, 0, 0), (0x07, 2, 0, 0, -4), (0x85, 0, 0, 0, 1),  # bpf_map_lookup_elem
            (0x15, 0, 0, 7, 0), (0xbf, 7, 0, 0, 0), (0xbf, 1, 6, 0, 0), (0xbf, 2, 7, 0, 0), (0xb7, 3, 0, 0, 0), (0x85, 0, 0, 0, 124),  # bpf_sk_assign
            (0xbf, 1, 7, 0, 0), (0x85, 0, 0, 0, 86),  # bpf_sk_release
            (0xb7, 0, 0, 0, 1), (0x95, 0, 0, 0, 0))]  # SK_PASS
        code, licence, log = ctypes.create_string_buffer(b''.join(parts), 8 * len(parts)), ctypes.create_string_buffer(b'GPL'), ctypes.create_string_buffer(65536)
        try:
            # BPF_PROG_LOAD, SK_LOOKUP
            self.program = self.bpf(5, struct.pack('<IIQQIIQII16sII', 30, len(parts), ctypes.addressof(code), ctypes.addressof(licence), 1, len(log),
                                                   ctypes.addressof(log), 0, 0, b'', 0, 36))
        except OSError as error:
            raise RuntimeError(log.value.decode()) from error
        self.link = self.bpf(28, struct.pack('<IIII', self.program, net.fd, 36, 0))  # BPF_LINK_CREATE

    def close(self):
        for fd in (self.link, self.program, self.map):
            os.close(fd)


class Net:
    """A network namespace whose every address is its own."""

    def __init__(self):
        self.outside = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        called(libc.unshare(CLONE_NEWNET))
        self.fd = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        try:
            for line in ('link set lo up', 'addr add 198.18.0.1/32 dev lo', 'route add local 0.0.0.0/0 dev lo src 198.18.0.1',
                         '-6 addr add fd79:6574:7400::1/128 dev lo nodad', '-6 route add local ::/0 dev lo src fd79:6574:7400::1'):
                yett.run_tool('ip', *line.split())
        finally:
            called(libc.setns(self.outside, CLONE_NEWNET))

    def __enter__(self):
        called(libc.setns(self.fd, CLONE_NEWNET))

    def __exit__(self, *_):
        called(libc.setns(self.outside, CLONE_NEWNET))

    def close(self):
        os.close(self.fd)
        os.close(self.outside)

    def connect(self, address, port=443):
        with self:
            s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
            s.settimeout(yett.DEADLINE)
            try:
                s.connect((address, port))
            except OSError:
                s.close()
                raise
        return s

    def udp(self, address, port=53):
        with self:
            s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
            s.settimeout(yett.DEADLINE)
            s.connect((address, port))
        return s

    def run(self, *argv, resolv_conf='nameserver %s\n' % SERVER, **more):
        """A program inside, which has this for its /etc/resolv.conf."""
        script = 'mount -t tmpfs none /mnt && printf %s "$0" >/mnt/resolv.conf && mount --bind /mnt/resolv.conf /etc/resolv.conf && exec "$@"'
        with self:
            return subprocess.run(['unshare', '-m', 'sh', '-c', script, resolv_conf, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=yett.DEADLINE, **more)


class Front:
    """A front with its own listeners, and our end of its socket."""

    def __init__(self, net, data, uid=60001, half=0, has_ipv6=True, expected=None):
        self.net, self.listeners = net, []
        self.dialer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.dialer.settimeout(yett.DEADLINE)
        with net:
            self.listeners = [self.listen('0.0.0.0')] + ([self.listen('::')] if has_ipv6 else [])
            self.dns = socket.socket(socket.AF_INET6 if has_ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
            self.dns.bind(('::' if has_ipv6 else '0.0.0.0', 53))
        self.catcher = Catcher(net, self.listeners)
        memory = data if isinstance(data, int) else sealed(data)
        files = {3: theirs.fileno(), 4: self.listeners[0].fileno(), 6: self.dns.fileno()}
        if has_ipv6:
            files[5] = self.listeners[1].fileno()
        self.spawn(files, uid, half)
        theirs.close()
        with contextlib.suppress(BrokenPipeError):  # one that has ended by its arguments
            if expected is not None:
                self.apply(expected, kind=ANSWER_EXPECTED)
            self.answer(0, memory, kind=ANSWER_RULES)
        os.close(memory)
        self.code = None

    @staticmethod
    def listen(address):
        s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_STREAM)
        if ':' in address:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind((address, 0))
        s.listen(512)
        s.setblocking(False)
        return s

    def spawn(self, files, uid, half):
        program = os.path.join(os.environ['YETT_BUILD_ROOT'], 'helper', 'yett-front')
        high = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for number, fd in files.items()}
        environment = {name: os.environ[name] for name in yett.PASSED_ENVIRONMENT if name in os.environ}
        actions = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDWR, 0), (os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_RDWR, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in high.items()]
        actions += [(os.POSIX_SPAWN_CLOSE, number) for number in range(3, FDS_END) if number not in high]
        self.pid = os.posix_spawn(program, [program, str(uid), str(half)], environment, file_actions=actions)
        for fd in high.values():
            os.close(fd)

    def ask(self):
        """What the front asks next: (kind, id, address, port, name)."""
        kind, number, address, port, name = ASK.unpack(self.dialer.recv(4096))
        return kind, number, address, port, name.rstrip(b'\0').decode()

    def asks_nothing(self):
        self.dialer.setblocking(False)
        try:
            return not self.dialer.recv(4096)
        except BlockingIOError:
            return True
        finally:
            self.dialer.settimeout(yett.DEADLINE)

    def answer(self, number, outside=None, error=0, kind=ANSWER):
        """Hands a socket over, which stays ours, too."""
        fds = [] if outside is None else [outside if isinstance(outside, int) else outside.fileno()]
        self.send(ANSWERS.pack(kind, number, error), fds)

    def send(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
        self.dialer.sendmsg([data], control)

    def apply(self, data, kind=ANSWER_RULES):
        memory = sealed(data)
        self.answer(0, memory, kind=kind)
        os.close(memory)

    def wait(self):
        """How it ended, once it has."""
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def close(self):
        self.dialer.close()
        code = self.wait()
        self.catcher.close()
        for s in self.listeners + [self.dns]:
            s.close()
        return code


@contextlib.contextmanager
def front(net, *arguments, **more):
    one = Front(net, *arguments, **more)
    try:
        yield one
    finally:
        one.close()
