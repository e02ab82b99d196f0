# SPDX-License-Identifier: Apache-2.0
"""
A rig for yett-dialer: the real one, a front and a supervisor that tests play, and a network of its own to reach.

The process that uses it moves into namespaces of its own (enter()): a "host" with private name services, and behind a pair of interfaces
an "internet", where servers listen.
"""
import collections
import contextlib
import ctypes
import fcntl
import glob
import ipaddress
import os
import socket
import struct
import subprocess
import threading
import unittest

import yett

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
F_ADD_SEALS, SEALS = 1033, 0xf  # all of them
LIBC = ctypes.CDLL(None, use_errno=True)

# egress.h
ASK_CONNECT, ASK_UNKNOWN, ASK_FULL = 1, 2, 3
ANSWER, ANSWER_RULES, ANSWER_EXPECTED = 1, 2, 3
ORDER_RULES, ORDER_EXPECTED = 1, 2
CONNECTED, CLOSED, FAILED, DENIED, FULL, ASKED = 1, 2, 3, 4, 5, 6
NOT_ANSWERED = 7  # enum net_verdict
ASK, GIVEN, TOLD = struct.Struct('=II16sH254s'), struct.Struct('=IIi'), struct.Struct('=IIIIiIHBB4xQQ16s254s278s4x')
# net_match.h
ALLOWED, DENIED_BY_RULE, NO_RULE, NOT_BOUND, PRIVATE, LOCAL, NEVER = range(7)
STAGE_PLAN, STAGE_IDS, STAGE_PACKET = 3, 6, 14  # enum stage in programs/net/connector_main.c

Told = collections.namedtuple('Told', 'kind count lost open error origin port verdict sent received address name rule')

RESOLV_CONF = 'nameserver 127.0.0.1\noptions timeout:30 attempts:1\n'  # the longest time: resolv.conf(5)
NSSWITCH = 'passwd: files\ngroup: files\nhosts: files dns\n'
# What the host has, and the internet: `11` is public, `10` is not.
HOST = ('11.0.0.1/24', '10.1.0.1/24', '2a00:1::1/64', 'fd11::1/64')
INTERNET = ('11.0.0.2/24', '11.0.0.3/24', '11.0.0.4/24', '10.1.0.2/24', '2a00:1::2/64', '2a00:1::3/64', 'fd11::2/64', '169.254.169.254/32',
            '100.100.100.200/32')


def mapped(text):
    """An address as struct net_address has it."""
    address = ipaddress.ip_address(text)
    return b'\0' * 10 + b'\xff\xff' + address.packed if address.version == 4 else address.packed


def printed(packed):
    if packed == bytes(16):
        return ''
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), function.__name__)


def ip(*arguments):
    subprocess.run(('ip', *arguments), check=True, stdin=subprocess.DEVNULL)


def is_possible():
    """None, or what is missing here."""
    done = subprocess.run(('unshare', '-mn', 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'), capture_output=True, text=True)
    return None if done.returncode == 0 else 'a pair of network interfaces is needed: ' + done.stderr.strip()


class World:
    """The namespaces of this process, from now on."""

    def __init__(self, folder):
        self.folder = folder
        call(LIBC.unshare, CLONE_NEWNS | CLONE_NEWNET)
        call(LIBC.mount, b'none', b'/', None, 0x44000, None)  # MS_REC | MS_PRIVATE
        self.host = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        ip('link', 'set', 'lo', 'up')
        ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1')
        with self.internet_made():
            pass
        ip('link', 'set', 'v1', 'netns', '/proc/%d/fd/%d' % (os.getpid(), self.internet))
        self.add('v0', HOST)
        with self.inside_internet():
            ip('link', 'set', 'lo', 'up')
            self.add('v1', INTERNET)
        for address in ('169.254.169.254', '100.100.100.200'):
            ip('route', 'add', address, 'dev', 'v0')
        ip('route', 'add', 'unreachable', '12.0.0.0/8')
        ip('-6', 'route', 'add', 'default', 'via', '2a00:1::2')
        for name in ('hosts', 'resolv.conf', 'nsswitch.conf'):
            path = os.path.join(folder, name)
            yett.write(path, '')
            call(LIBC.mount, path.encode(), os.path.realpath('/etc/' + name).encode(), None, 0x1000, None)  # MS_BIND
        self.write('nsswitch.conf', NSSWITCH)
        self.write('resolv.conf', RESOLV_CONF)
        self.write('hosts', '127.0.0.1 localhost\n')

    @staticmethod
    def add(interface, addresses):
        for address in addresses:
            ip('address', 'add', address, 'dev', interface, *(('nodad',) if ':' in address else ()))
        ip('link', 'set', interface, 'up')

    @contextlib.contextmanager
    def internet_made(self):
        call(LIBC.unshare, CLONE_NEWNET)
        self.internet = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield
        finally:
            call(LIBC.setns, self.host, CLONE_NEWNET)

    @contextlib.contextmanager
    def inside_internet(self):
        """Sockets and processes made meanwhile are there."""
        call(LIBC.setns, self.internet, CLONE_NEWNET)
        try:
            yield
        finally:
            call(LIBC.setns, self.host, CLONE_NEWNET)

    def write(self, name, text):
        """A file below /etc, in place: it is mounted."""
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
            file.write(text)

    def replace_library(self, name, by):
        """A library of the host is another one from now on, for all that is started from now on."""
        for path in glob.glob('/lib/*-linux-gnu/' + name) + glob.glob('/lib64/' + name):
            call(LIBC.mount, by.encode(), os.path.realpath(path).encode(), None, 0x1000, None)  # MS_BIND
            return
        raise unittest.SkipTest('a C library with %s is needed' % name)

    def hosts(self, **names):
        """What /etc/hosts says; of names an underscore is a dot, and the addresses are separated by spaces."""
        self.write('hosts', ''.join('%s %s\n' % (address, name.replace('_', '.')) for name, addresses in names.items()
                                    for address in addresses.split()))

    def listen(self, address, backlog=64, is_host=False):
        """A listening socket of the internet, or of the host."""
        with contextlib.nullcontext() if is_host else self.inside_internet():
            listener = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, 0))
            listener.listen(backlog)
        listener.settimeout(yett.DEADLINE)
        return listener


class Names:
    """A name server on the host's 127.0.0.1: addresses by name. Questions about names in `held` wait until release()."""

    def __init__(self):
        self.names, self.asked, self.held, self.waiting = {}, [], [], []
        self.lock = threading.Lock()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, peer = self.socket.recvfrom(4096)
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            name, kind = '.'.join(labels), struct.unpack('!H', query[at + 1:at + 3])[0]
            with self.lock:
                self.asked.append(name)
                if name in self.held:
                    self.waiting.append((name, kind, query[:at + 5], peer))
                    continue
            self.answer(name, kind, query[:at + 5], peer)

    def answer(self, name, kind, query, peer):
        found = self.names.get(name)
        packed = [ipaddress.ip_address(address) for address in (found or '').split()]
        wanted = [address.packed for address in packed if (address.version == 4) == (kind == 1) and kind in (1, 28)]
        head = query[:2] + struct.pack('!HHHHH', 0x8180 if found else 0x8183, 1, len(wanted), 0, 0)
        answers = b''.join(b'\xc0\x0c' + struct.pack('!HHIH', kind, 1, 1, len(one)) + one for one in wanted)
        self.socket.sendto(head + query[12:] + answers, peer)

    def release(self):
        with self.lock:
            self.held.clear()
            waiting, self.waiting = self.waiting, []
        for question in waiting:
            self.answer(*question)


def sealed(content):
    """As fd_new_sealed()."""
    memory = os.memfd_create('yett-test', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(memory, content)
    fcntl.fcntl(memory, F_ADD_SEALS, SEALS)
    return memory


def make(*arguments):
    """What make_rules writes, as sealed memory."""
    return sealed(subprocess.run((yett.run_of_process().path('tests/system/make_rules'), *arguments), check=True, capture_output=True).stdout)


def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(yett.DEADLINE)
    return ours, theirs


class Dialer:
    """One that runs, started as root or, with `own`, as the user."""

    def __init__(self, user, *rules, own=False, resolver=None, memory=None, uid=None, expected=None, plan=()):
        run = yett.run_of_process()
        self.front, front = pair()
        self.supervisor, supervisor = pair()
        self.tolds, self.last_id = [], 0
        self.errors = open(os.path.join(run.folder, 'dialer-errors'), 'w+b')
        given = [front.fileno(), supervisor.fileno(), make('plan', *(plan or map(str, (user.uid, uid or user.uid, user.gid, *user.groups))))]
        given.append(os.open(resolver or run.path('helper/yett-resolver'), os.O_RDONLY))
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in given]

        def place():
            for number, fd in enumerate(high, 3):
                os.dup2(fd, number)

        ids = {'user': user.uid, 'group': user.gid, 'extra_groups': user.groups} if own else {}
        environment = {name: os.environ[name] for name in yett.PASSED_ENVIRONMENT if name in os.environ}
        self.process = subprocess.Popen(('yett-dialer',), env=environment,
                                        executable=run.path('helper/yett-dialer'), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.errors, preexec_fn=place, pass_fds=(3, 4, 5, 6), **ids)
        for fd in high + given[2:]:
            os.close(fd)
        front.close()
        supervisor.close()
        with contextlib.suppress(EOFError, ConnectionError):  # one that has ended, or been given what is no rules
            if expected is not None:
                self.change(memory=expected, order=ORDER_EXPECTED)
                self.pass_on(ANSWER_EXPECTED)
            self.change(*rules, memory=memory)
            self.pass_on(ANSWER_RULES)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        """Its exit status; whatever it was served by is over, too."""
        children = yett.children_of(self.pid)
        self.front.close()
        self.supervisor.close()
        try:
            return self.process.wait(yett.DEADLINE)
        finally:
            self.process.kill()
            self.errors.seek(0)
            errors = self.errors.read()
            self.errors.close()
            for child in children:
                yett.wait_until(lambda child=child: not yett.is_alive(child), 'the end of a keeper or resolver')
            if errors:
                raise AssertionError(errors.decode(errors='replace'))

    def ask(self, where, port, kind=ASK_CONNECT, id=None):
        """Asks, and returns the id."""
        before, self.last_id = self.last_id, id if id is not None else self.last_id + 1
        try:
            address, name = mapped(where), b''
        except ValueError:
            address, name = bytes(16), where.encode()
        try:
            self.front.sendall(ASK.pack(kind, self.last_id, address, port, name))
        except BlockingIOError:
            self.last_id = before
            raise
        return self.last_id

    def answer(self):
        """The next one: (id, errno, socket or None)."""
        packet, fds, _, _ = socket.recv_fds(self.front, 4096, 4)
        if not packet:
            raise EOFError('the dialer has ended: %s' % self.process.wait(yett.DEADLINE))
        kind, id, error = GIVEN.unpack(packet)
        if kind in (ANSWER_RULES, ANSWER_EXPECTED):
            return kind, fds
        assert len(fds) == (error == 0), (error, fds)
        connection = socket.socket(fileno=fds[0]) if fds else None
        if connection:
            connection.settimeout(yett.DEADLINE)
        return id, error, connection

    def dial(self, where, port):
        """Asks and waits: an errno, or the socket."""
        id = self.ask(where, port)
        answered, error, connection = self.answer()
        assert answered == id, (answered, id)
        return connection or error

    def pass_on(self, expected):
        kind, (memory,) = self.answer()
        assert kind == expected, kind
        os.close(memory)

    def change(self, *rules, memory=None, order=ORDER_RULES):
        memory = make(*rules) if memory is None else memory
        socket.send_fds(self.supervisor, [struct.pack('=I', order)], [memory])
        os.close(memory)

    def hear(self):
        """The next packet that it tells."""
        packet = self.supervisor.recv(4096)
        if not packet:
            raise EOFError
        assert len(packet) == TOLD.size, len(packet)
        *numbers, address, name, rule = TOLD.unpack(packet)
        assert numbers.pop(8) == 0
        one = Told(*numbers, printed(address), name.rstrip(b'\0').decode(), rule)
        self.tolds.append(one)
        return one

    def told(self, kind):
        """The next of this kind; what is told before it is passed over."""
        while True:
            one = self.hear()
            if one.kind == kind:
                return one
