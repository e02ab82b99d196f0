# SPDX-License-Identifier: Apache-2.0
"""
Sockets as standard streams: a socket belongs to the network namespace in which it was made, and who holds it may connect it elsewhere.
The attacks first where nothing keeps them from working: without a sandbox, in an empty network namespace.
"""
import os
import signal
import socket
import subprocess
import threading

import hostile  # noqa: F401  what is staged
import yett

# Has the socket on descriptor 0 forget its peer and connect to the host's loopback; prints what comes from there, or why nothing does.
REACH = r'''
import ctypes, os, socket, sys
port, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
def attempt():
    libc.connect(0, b"\0" * 16, 16)  # AF_UNSPEC
    try:
        s = socket.socket(fileno=os.dup(0))
        s.connect(("127.0.0.1", port))
        s.settimeout(600)
        s.send(b"from inside")
        return s.recv(100).decode()
    except OSError as e:
        return os.strerror(e.errno)
print(attempt(), file=sys.stderr)
'''

# What the socket on descriptor 0 can do besides talking to its peer.
MORE = r'''
import os, socket, sys
def attempt(f):
    try:
        return f() or "done"
    except OSError as e:
        return os.strerror(e.errno)
s = socket.socket(fileno=0)
print(attempt(lambda: s.bind("\0" + sys.argv[1])), attempt(lambda: s.listen(1)), attempt(lambda: s.connect("\0" + sys.argv[2])),
      attempt(lambda: s.sendto(b"x", "\0" + sys.argv[2])), sep="|", file=sys.stderr)
'''

KIND = 'for fd in 0 1; do if [ -p /proc/self/fd/$fd ]; then echo pipe; elif [ -S /proc/self/fd/$fd ]; then echo socket; else echo other; fi; done >&2'


def connected(kind=socket.SOCK_STREAM, family=socket.AF_INET):
    """Two ends, of which the first goes inside."""
    with socket.socket(family, kind) as listener:
        listener.bind(('127.0.0.1' if family == socket.AF_INET else '::1', 0))
        if kind != socket.SOCK_STREAM:
            outside = listener.dup()
            inside = socket.socket(family, kind)
            inside.connect(outside.getsockname())
            outside.connect(inside.getsockname())
            return inside, outside
        listener.listen(1)
        inside = socket.create_connection(listener.getsockname()[:2])
        return inside, listener.accept()[0]


class Streams(yett.Case):
    OPTIONS = ((), ('-p', 'strict'), ('--net', 'none'))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.victims = {}
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            victim = socket.socket(socket.AF_INET, kind)
            cls.addClassCleanup(victim.close)
            victim.bind(('127.0.0.1', 0))
            cls.victims[kind] = victim.getsockname()[1]
            threading.Thread(target=cls.answer_stream if kind == socket.SOCK_STREAM else cls.answer_datagrams, args=(victim,), daemon=True).start()

    @staticmethod
    def answer_stream(listener):
        listener.listen(16)
        while True:
            connection = listener.accept()[0]
            connection.sendall(b'reached')

    @staticmethod
    def answer_datagrams(victim):
        while True:
            victim.sendto(b'reached', victim.recvfrom(100)[1])

    def run_with(self, stream, *argv, options=(), both=True):
        """yett run with a socket as its standard input, and as its output: its exit status, and what it says on the other output."""
        process = self.start(*argv, options=('-q', *options), stdin=stream,
                                     stdout=stream if both else subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=yett.DEADLINE)
        return process.returncode, err.decode()

    def test_without_a_sandbox_it_reaches_the_hosts_loopback_from_an_empty_namespace(self):
        for kind, port in self.victims.items():
            inside, outside = connected(kind)
            with inside, outside:
                done = subprocess.run(['unshare', '--net', 'python3', '-c', REACH, str(port)], stdin=inside, stderr=subprocess.PIPE, text=True, timeout=yett.DEADLINE)
                self.assertEqual(done.stderr, 'reached\n')

    def test_nobody_but_its_peer_is_reached(self):
        for kind, port in self.victims.items():
            for options in self.OPTIONS:
                for both in (True, False):
                    inside, outside = connected(kind)
                    with self.subTest(kind=kind, options=options, both=both), inside, outside:
                        self.assertEqual(self.run_with(inside, 'python3', '-c', REACH, str(port), options=options, both=both),
                                         (0, 'Socket operation on non-socket\n'))

    def test_in_a_sandbox_that_is_there_nobody_is_either(self):
        box = self.yett('create').out.strip()
        self.addCleanup(self.yett, 'destroy', box)
        for kind, port in self.victims.items():
            inside, outside = connected(kind)
            with inside, outside:
                process = self.service.popen(self.alice, self.service.yett, 'exec', box, '--', 'python3', '-c', REACH, str(port), stdin=inside, stdout=inside,
                                             stderr=subprocess.PIPE)
                self.addCleanup(process.kill)
                self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1].decode(), process.returncode), ('Socket operation on non-socket\n', 0))

    def test_its_peer_is(self):
        """As inetd(8) has it: one connection is standard input and output."""
        for kind, family in ((socket.SOCK_STREAM, socket.AF_INET), (socket.SOCK_STREAM, socket.AF_INET6), (socket.SOCK_DGRAM, socket.AF_INET)):
            inside, outside = connected(kind, family)
            with self.subTest(kind=kind, family=family), inside, outside:
                process = self.start('sh', '-c', KIND + '; head -n 1', options=('-q',), stdin=inside, stdout=inside,
                                             stderr=subprocess.PIPE)
                inside.close()
                outside.settimeout(yett.DEADLINE)
                outside.sendall(b'a line\n')
                self.assertEqual(outside.recv(100), b'a line\n')
                self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1], process.returncode), (b'pipe\npipe\n', 0))
                if kind == socket.SOCK_STREAM:
                    self.assertEqual(outside.recv(100), b'')

    def test_much_goes_both_ways_and_who_does_not_read_is_waited_for(self):
        inside, outside = connected()
        much = os.urandom(4 << 20)
        with inside, outside:
            process = self.start('cat', options=('-q',), stdin=inside, stdout=inside, stderr=subprocess.PIPE)
            inside.close()
            outside.settimeout(yett.DEADLINE)

            def send():
                outside.sendall(much)
                outside.shutdown(socket.SHUT_WR)
            sender = threading.Thread(target=send)
            sender.start()
            came = b''
            while piece := outside.recv(1 << 16):
                came += piece
            sender.join()
            self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1], process.returncode), (b'', 0))
            self.assertTrue(came == much, len(came))

    def test_who_does_not_read_does_not_keep_it_from_signals(self):
        inside, outside = connected()
        with inside, outside:
            process = self.start('sh', '-c', 'echo up >&2; exec cat /dev/zero', options=('-q',), stdin=subprocess.DEVNULL,
                                         stdout=inside, stderr=subprocess.PIPE)
            inside.close()
            self.assertEqual(yett.line_of(process.stderr), 'up')
            queued = []
            yett.wait_until(lambda: queued.append(self.queued(process)) or len(queued) > 20 and len(set(queued[-20:])) == 1 and queued[-1], 'a full connection')
            process.terminate()
            self.assertNotEqual(process.wait(yett.DEADLINE), 0)

    @staticmethod
    def queued(process):
        """Bytes that its output waits to send. proc_pid_net(5): tcp"""
        inode = os.stat('/proc/%d/fd/1' % process.pid).st_ino
        return next((int(line.split()[4].split(':')[0], 16) for line in yett.read('/proc/net/tcp').splitlines()[1:] if line.split()[9] == str(inode)), 0)

    def test_a_connected_pair_goes_inside_and_has_no_further_use(self):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            name, other = ('yett-test-%d-%s' % (yett.run_of_process().place, what) for what in ('bound', 'victim'))
            with socket.socket(socket.AF_UNIX, kind) as victim:
                victim.bind('\0' + other)
                victim.listen(1)
                victim.setblocking(False)
                pair = socket.socketpair(socket.AF_UNIX, kind)
                with self.subTest(kind=kind), pair[0], pair[1]:
                    code, said = self.run_with(pair[0], 'python3', '-c', MORE, name, other, both=False)
                    self.assertEqual(code, 0, said)
                    self.assertRaises(BlockingIOError, victim.accept)
                    for found, why in zip(said.split('|'), ('Invalid argument', 'Invalid argument', 'Transport endpoint is already connected')):
                        self.assertIn(found, (why, 'Permission denied'))  # which is what a label says before that
                    self.assertNotIn('@' + name, yett.read('/proc/net/unix'))
                pair = socket.socketpair(socket.AF_UNIX, kind)
                with pair[0], pair[1]:  # without a sandbox a name can be taken
                    done = subprocess.run(['python3', '-c', MORE, name, other], stdin=pair[0], stderr=subprocess.PIPE, text=True, timeout=yett.DEADLINE)
                    self.assertEqual(done.stderr.split('|')[0], 'done')

    def test_what_can_reach_others_and_has_no_peer_is_refused(self):
        found = {
            'listening': socket.create_server(('127.0.0.1', 0)), 'datagrams': socket.socket(type=socket.SOCK_DGRAM),
            'unix listening': socket.socket(socket.AF_UNIX), 'unix datagrams': socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
            'netlink': socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), 'raw': socket.socket(type=socket.SOCK_RAW, proto=socket.IPPROTO_ICMP),
            'packet': socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)}
        found['unix listening'].bind('\0yett-test-%d-listening' % yett.run_of_process().place)
        found['unix listening'].listen(1)
        found['raw'].connect(('127.0.0.1', 0))
        for name, stream in found.items():
            with self.subTest(name), stream:
                code, said = self.run_with(stream, 'true', both=False)
                self.assertEqual(code, 125, said)
                self.assertEqual(self.run_with(stream, 'true')[0], 125)
                self.assertIn('descriptor 0 is a socket that has no peer, or can reach others', said)


    def start_on(self, inside, script, **more):
        """A script whose output is a socket, which is the command's alone then."""
        process = self.start('sh', '-c', script, options=('-q',), **{'stdin': subprocess.DEVNULL, **more}, stdout=inside)
        inside.close()
        return process

    def test_what_had_come_before_a_connection_ended_is_read(self):
        for is_reset in (False, True):
            inside, outside = connected()
            with self.subTest(is_reset=is_reset), inside, outside:
                outside.sendall(b'all of it')
                inside.shutdown(socket.SHUT_WR)
                self.assertEqual(outside.recv(1), b'')
                if is_reset:
                    outside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                outside.close()
                process = self.start('cat', options=('-q',), stdin=inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                out, err = process.communicate(timeout=yett.DEADLINE)
                self.assertEqual((out if not is_reset else b'all of it', err, process.returncode), (b'all of it', b'', 0))

    def test_who_hangs_up_is_a_broken_pipe_to_the_command(self):
        for is_reset in (False, True):
            inside, outside = connected()
            with self.subTest(is_reset=is_reset), outside:
                process = self.start_on(inside, 'echo up >&2; exec cat /dev/zero')
                self.assertEqual(yett.line_of(process.stderr), 'up')
                if is_reset:
                    outside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                outside.close()
                self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1], process.returncode), (b'', 128 + signal.SIGPIPE))

    def test_datagrams_are_kept_apart_and_none_is_too_long(self):
        inside, outside = connected(socket.SOCK_DGRAM)
        with outside:
            outside.settimeout(yett.DEADLINE)
            process = self.start_on(inside, 'echo one; echo two; head -c 100000 /dev/zero; echo; echo three')
            came = []
            while not came or came[-1] != b'three\n':
                came.append(outside.recv(1 << 16))
            self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1], process.returncode), (b'', 0))
            self.assertEqual((came[:2], b''.join(came[2:-1])), ([b'one\n', b'two\n'], b'\0' * 100000 + b'\n'))

    def test_a_datagram_that_nobody_took_does_not_end_the_output(self):
        inside, outside = connected(socket.SOCK_DGRAM)
        address = outside.getsockname()
        peer = inside.getsockname()
        outside.close()
        process = self.start_on(inside, 'read x; echo one; read x; echo two; read x; echo three', stdin=subprocess.PIPE)
        for _ in range(2):
            process.stdin.write(b'\n')
            process.stdin.flush()
        with socket.socket(type=socket.SOCK_DGRAM) as again:
            again.bind(address)
            again.connect(peer)
            again.settimeout(yett.DEADLINE)
            process.stdin.write(b'\n')
            process.stdin.close()
            while again.recv(100) != b'three\n':
                pass
        self.assertEqual((process.stderr.read(), process.wait(yett.DEADLINE)), (b'', 0))

    def test_two_that_read_datagrams_of_one_socket_can_be_ended(self):
        inside, outside = connected(socket.SOCK_DGRAM)
        with outside, inside:
            processes = [self.start('sh', '-c', 'echo up >&2; exec cat >/dev/null', options=('-q',), stdin=inside,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
            for process in processes:
                self.assertEqual(yett.line_of(process.stderr), 'up')
            for _ in range(300):
                outside.send(b'x')
            for process in processes:
                process.terminate()
                self.assertNotEqual(process.wait(yett.DEADLINE), 0)

    def test_a_datagram_socket_that_was_shut_down_has_ended(self):
        for is_blocking in (True, False):
            inside, outside = connected(socket.SOCK_DGRAM)
            with self.subTest(is_blocking=is_blocking), inside, outside:
                inside.setblocking(is_blocking)
                inside.shutdown(socket.SHUT_RD)
                self.assertEqual(self.run_with(inside, 'cat', both=False), (0, ''))

    def test_one_that_was_never_connected_has_nothing_to_be_read(self):
        with socket.socket() as stream:
            self.assertEqual(self.run_with(stream, 'cat', both=False), (0, ''))


class StreamsWithoutRoot(Streams):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
