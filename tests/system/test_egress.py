# SPDX-License-Identifier: Apache-2.0
"""The front of a sandbox's network (yett-front), by real connections and programs in a namespace of the test's. The dialer is the test."""
import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import select
import socket
import struct
import termios
import threading
import time

import egress
import yett

A, NS, PTR, TXT, AAAA, HTTPS = 1, 2, 12, 16, 28, 65
NOERROR, FORMERR, SERVFAIL, NXDOMAIN = 0, 1, 2, 3
ENDED, CONFUSED = 0, 100  # exit statuses
NAMES_MAX = 65520


def query(name, kind=A, number=0x1234, edns=False):
    labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.') if label)
    opt = b'\0' + struct.pack('>HHIH', 41, 1232, 0, 0) if edns else b''
    return struct.pack('>HHHHHH', number, 0x0100, 1, 0, 0, int(edns)) + labels + b'\0' + struct.pack('>HH', kind, 1) + opt


def memory_kib(pid):
    """Of its own: how much of the programs it shares with others depends on these."""
    return int(next(line for line in yett.read('/proc/%d/smaps_rollup' % pid).splitlines() if line.startswith('Anonymous:')).split()[1])


def unsent(s):
    """Bytes that the other end has not acknowledged. tcp(7), SIOCOUTQ"""
    return struct.unpack('i', fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)))[0]


class Answer:
    """rcode, the data of each answer, and the number of the extended error."""

    def __init__(self, data):
        self.number, self.flags, questions, answers, authorities, more = struct.unpack_from('>HHHHHH', data)
        self.rcode, self.is_cut, self.data, self.error = self.flags & 15, bool(self.flags & 0x200), [], None
        at = 12
        for _ in range(questions):
            while data[at]:
                at += data[at] + 1
            at += 5
        for i in range(answers + authorities + more):
            at += 2 if data[at] >= 0xc0 else 1
            kind, _, _, size = struct.unpack_from('>HHIH', data, at)
            rdata = data[at + 10:at + 10 + size]
            at += 10 + size
            if i < answers:
                self.data.append(rdata)
            if kind == 41 and rdata:
                self.error = struct.unpack_from('>H', rdata, 4)[0]
        assert at == len(data)

    @property
    def address(self):
        return socket.inet_ntop(socket.AF_INET if len(self.data[0]) == 4 else socket.AF_INET6, self.data[0])


class Case(yett.unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = egress.Net()
        cls.addClassCleanup(cls.net.close)

    def front(self, *names, **options):
        more = {key: options.pop(key) for key in ('half', 'has_ipv6', 'uid') if key in options}
        one = egress.Front(self.net, egress.rules(*(names or ('a.example.org',)), **options), **more)
        self.addCleanup(one.close)
        for name in names or ('a.example.org',):
            if isinstance(name, str):
                self.assertEqual(self.ask(name).rcode, NOERROR)  # in this order they get their addresses
        return one

    def ask(self, name, kind=A, server=egress.SERVER, **more):
        with self.net.udp(server) as s:
            s.send(query(name, kind, **more))
            return Answer(s.recv(4096))

    def server(self):
        s = socket.create_server(('127.0.0.1', 0))
        s.settimeout(yett.DEADLINE)
        self.addCleanup(s.close)
        return s

    def outside(self):
        """A connection as the dialer would make one: (what it hands over, the peer's end)."""
        with socket.create_server(('127.0.0.1', 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            peer, _ = listener.accept()
        ours.setblocking(False)
        peer.settimeout(yett.DEADLINE)
        self.addCleanup(ours.close)
        self.addCleanup(peer.close)
        return ours, peer

    def open(self, front, address='198.18.0.16', port=443):
        """An open connection: (the program's end, the dialer's duplicate, the peer's end)."""
        inside = self.net.connect(address, port)
        self.addCleanup(inside.close)
        ask = front.ask()
        self.assertEqual(ask[0], egress.ASK_CONNECT)
        ours, peer = self.outside()
        front.answer(ask[1], ours)
        return inside, ours, peer

    def stall(self, writer):
        """Sends until nothing more is taken, and nothing that was sent moves on: how much that was."""
        def still():
            """The same before and after the front has served all that was ready for it: it answers the question after that."""
            before = count, unsent(writer)
            send()
            self.ask('a.example.org')
            return (count, unsent(writer)) == before

        def send():
            nonlocal count
            with contextlib.suppress(BlockingIOError):
                while True:
                    count += writer.send(bytes(1 << 16))

        count = 0
        writer.setblocking(False)
        yett.wait_until(lambda: all(still() for _ in range(3)), 'a reader that is waited for')
        writer.settimeout(yett.DEADLINE)
        return count

    def assert_reset(self, s):
        with self.assertRaises(ConnectionResetError):
            while s.recv(65536):
                pass
            raise AssertionError('it ended like a file')

    def assert_turned_away(self, address, port=443):
        """A connection is made, since the kernel makes it, and reset. If the program was slow, it hears of nothing but that."""
        with contextlib.suppress(ConnectionResetError), self.net.connect(address, port) as s:
            self.assert_reset(s)

    def assert_hung_up(self, s):
        """The dialer's duplicate hears of the end."""
        poll = select.poll()
        poll.register(s, 0)
        self.assertTrue(poll.poll(yett.DEADLINE * 1000)[0][1] & select.POLLHUP)


class Names(Case):
    def test_names_that_a_rule_allows_have_addresses_and_those_spelled_out_are_first(self):
        self.front('a.example.org', egress.record('example.net', kind=egress.BELOW), 'b.example.org')
        self.assertEqual(self.ask('x.example.net').address, '198.18.0.18')
        self.assertEqual(self.ask('b.example.org').address, '198.18.0.17')
        self.assertEqual(self.ask('A.Example.ORG').address, '198.18.0.16')
        self.assertEqual(self.ask('y.example.net').address, '198.18.0.19')
        self.assertEqual(self.ask('x.example.net', AAAA).address, 'fd79:6574:7400::12')

    def test_a_front_that_was_started_again_gives_other_addresses(self):
        self.front(half=1)
        self.assertEqual(self.ask('a.example.org').address, '198.19.0.16')
        self.assertEqual(self.ask('a.example.org', AAAA).address, 'fd79:6574:7400::1:10')

    def test_without_ipv6_there_is_no_such_address(self):
        self.front(has_ipv6=False)
        self.assertEqual(self.ask('a.example.org').address, '198.18.0.16')
        answer = self.ask('a.example.org', AAAA)
        self.assertEqual((answer.rcode, answer.data), (NOERROR, []))

    def test_of_an_allowed_name_nothing_else_is_told(self):
        self.front()
        for kind in (NS, TXT, HTTPS, 15, 33, 255, 48):
            answer = self.ask('a.example.org', kind)
            self.assertEqual((kind, answer.rcode, answer.data), (kind, NOERROR, []))

    def test_other_names_are_not_there_and_the_dialer_hears_of_each_once(self):
        front = self.front('a.example.org', egress.record('b.example.org', which=egress.DENY))
        for kind in (A, AAAA, HTTPS):
            answer = self.ask('c.example.org', kind, edns=True)
            self.assertEqual((answer.rcode, answer.error), (NXDOMAIN, 18))
        self.assertEqual(front.ask(), (egress.ASK_UNKNOWN, 0, bytes(16), 0, 'c.example.org'))
        self.assertEqual(self.ask('b.example.org').rcode, NXDOMAIN)
        self.assertEqual(front.ask()[4], 'b.example.org')
        self.assertEqual(self.ask('a..example.org'.replace('..', '.-')).rcode, NXDOMAIN)
        self.assertEqual(self.ask('1.0.0.10.in-addr.arpa', PTR).rcode, NXDOMAIN)
        self.assertTrue(front.asks_nothing())

    def test_many_unknown_names_are_not_all_told_of(self):
        front = self.front()
        with self.net.udp(egress.SERVER) as s:
            for i in range(2000):
                s.send(query('n%d.example.com' % i))
                self.assertEqual(Answer(s.recv(4096)).rcode, NXDOMAIN)
        told = 0
        while not front.asks_nothing():
            told += 1  # one was taken by looking
        self.assertLessEqual(told, 500)

    def test_what_is_open_has_all_names_but_those_denied_at_every_port_and_ours(self):
        self.front(egress.record('b.example.org', which=egress.DENY), egress.record('c.example.org', ports=(80, 80), which=egress.DENY), mode=egress.OPEN)
        self.assertEqual([self.ask(name).rcode for name in ('a.example.org', 'b.example.org', 'c.example.org', 'x.inject.internal', 'inject.internal')],
                         [NOERROR, NXDOMAIN, NOERROR, NXDOMAIN, NXDOMAIN])

    def test_addresses_have_their_names(self):
        self.front()
        name = b'\1a\7example\3org\0'
        self.assertEqual(self.ask('16.0.18.198.in-addr.arpa', PTR).data, [name])
        digits = socket.inet_pton(socket.AF_INET6, 'fd79:6574:7400::10').hex()
        self.assertEqual(self.ask('.'.join(reversed(digits)) + '.ip6.arpa', PTR).data, [name])
        self.assertEqual(self.ask('17.0.18.198.in-addr.arpa', PTR).rcode, NXDOMAIN)
        self.assertEqual(self.ask('1.0.0.127.in-addr.arpa', PTR).data, [b'\x09localhost\0'])

    def test_localhost_is_loopback(self):
        self.front()
        self.assertEqual(self.ask('localhost').address, '127.0.0.1')
        self.assertEqual(self.ask('x.localhost', AAAA).address, '::1')

    def test_answers_come_from_whatever_address_was_asked(self):
        self.front()
        for server in ('8.8.8.8', '198.18.0.2', '198.18.0.1', '10.0.0.1', '2001:db8::53', 'fd79:6574:7400::2'):
            self.assertEqual(self.ask('a.example.org', server=server).address, '198.18.0.16')  # a connected socket hears no other

    def test_what_is_no_query_is_not_answered_or_as_such(self):
        self.front()
        with self.net.udp(egress.SERVER) as s:
            s.send(query('a.example.org') + bytes(1473))  # 1,504 bytes
            s.send(b'')
            s.send(b'\0' * 11)
            s.send(bytes([0, 1, 0x80, 0]) + bytes(8))
            s.send(os.urandom(2) + b'\1\0\0\2' + bytes(6))
            self.assertEqual(Answer(s.recv(4096)).rcode, FORMERR)
            for _ in range(50):
                for _ in range(20):
                    s.send(os.urandom(int.from_bytes(os.urandom(2), 'big') % 1500))
                s.send(query('a.example.org', number=77))
                for data in iter(lambda: s.recv(4096), None):
                    if data[:2] == b'\0\x4d' and Answer(data).data:
                        break

    def test_names_run_out_after_65520(self):
        front = egress.Front(self.net, egress.rules(egress.record('example.net', kind=egress.BELOW), 'a.example.org'))
        self.addCleanup(front.close)
        with self.net.udp(egress.SERVER) as s:
            for first in range(0, NAMES_MAX - 1, 32):
                count = min(32, NAMES_MAX - 1 - first)
                for i in range(count):
                    s.send(query('n%d.example.net' % (first + i), number=i))
                for i in range(count):
                    self.assertEqual(Answer(s.recv(4096)).rcode, NOERROR)
            self.assertEqual(self.ask('n65518.example.net').address, '198.18.255.254')
            self.assertEqual(self.ask('more.example.net').rcode, SERVFAIL)
            self.assertEqual(self.ask('n7.example.net').address, '198.18.0.23')
            self.assertEqual(self.ask('a.example.org').address, '198.18.255.255')  # kept for what a rule spells out
            self.assertEqual(self.ask('more.example.net').rcode, SERVFAIL)

    def test_programs_resolve(self):
        front = self.front()
        done = self.net.run('getent', 'ahosts', 'a.example.org')
        self.assertEqual({line.split()[0] for line in done.stdout.splitlines()}, {'198.18.0.16', 'fd79:6574:7400::10'}, done)
        self.assertEqual(self.net.run('getent', 'hosts', '198.18.0.16').stdout.split(), ['198.18.0.16', 'a.example.org'])
        self.assertEqual(self.net.run('getent', 'hosts', 'b.example.org').returncode, 2)
        self.assertEqual(front.ask()[4], 'b.example.org')
        code = 'import socket; print(sorted({a[4][0] for a in socket.getaddrinfo("a.example.org", 443, 0, 0, 0, socket.AI_ADDRCONFIG)}))'
        self.assertEqual(self.net.run('python3', '-c', code, resolv_conf='nameserver 9.9.9.9\noptions edns0 trust-ad\n').stdout,
                         "['198.18.0.16', 'fd79:6574:7400::10']\n")
        self.assertEqual(self.net.run('getent', 'ahostsv4', 'a.example.org', resolv_conf='nameserver 198.18.0.2\noptions use-vc\n').stdout.split()[0],
                         '198.18.0.16')


class Streams(Case):
    def exchange(self, s, *names):
        for name in names:
            data = query(name)
            s.sendall(struct.pack('>H', len(data)) + data)
        return [Answer(self.read(s, struct.unpack('>H', self.read(s, 2))[0])) for _ in names]

    def read(self, s, size):
        data = b''
        while len(data) < size:
            part = s.recv(size - len(data))
            self.assertTrue(part)
            data += part
        return data

    def test_port_53_of_any_address_is_answered_here(self):
        front = self.front()
        for server in ('198.18.0.2', '8.8.8.8', '198.18.0.16', '2001:db8::53'):
            with self.net.connect(server, 53) as s:
                self.assertEqual([answer.address for answer in self.exchange(s, 'a.example.org', 'a.example.org')], ['198.18.0.16'] * 2)
        self.assertTrue(front.asks_nothing())

    def test_queries_come_in_any_pieces_and_many_at_once(self):
        self.front()
        data = query('a.example.org')
        data = struct.pack('>H', len(data)) + data
        with self.net.connect('198.18.0.2', 53) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(data)):
                s.send(data[i:i + 1])
            self.assertEqual(Answer(self.read(s, struct.unpack('>H', self.read(s, 2))[0])).address, '198.18.0.16')
            s.sendall(data * 500)
            for _ in range(500):
                self.assertEqual(Answer(self.read(s, struct.unpack('>H', self.read(s, 2))[0])).address, '198.18.0.16')
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(s.recv(1), b'')

    def test_what_is_too_long_or_none_is_reset(self):
        self.front()
        for data in (b'\xff\xff' + bytes(100), b'\0\0', b'\0\x0c' + bytes(2) + b'\x80\0' + bytes(8)):
            with self.net.connect('198.18.0.2', 53) as s:
                s.sendall(data)
                self.assert_reset(s)

    def test_a_seventeenth_takes_the_place_of_who_was_silent_for_longest(self):
        self.front()
        with contextlib.ExitStack() as stack:
            many = [stack.enter_context(self.net.connect('198.18.0.2', 53)) for _ in range(17)]
            self.assert_reset(many[0])
            for s in many[1:]:
                self.assertEqual(self.exchange(s, 'a.example.org')[0].address, '198.18.0.16')

    def test_who_asks_nothing_is_ended(self):
        self.front()
        with self.net.connect('198.18.0.2', 53) as s:
            s.sendall(b'\0')
            self.assert_reset(s)

    def test_who_does_not_read_holds_up_nobody(self):
        front = self.front()
        with self.net.connect('198.18.0.2', 53) as s:
            self.exchange(s, 'a.example.org')
        before = memory_kib(front.pid)
        data = query('a.example.org')
        data = (struct.pack('>H', len(data)) + data) * 1000
        most, is_open = before, True
        with self.net.connect('198.18.0.2', 53) as s:
            s.setblocking(False)
            while is_open:  # until the front gives it up
                try:
                    s.send(data)
                except BlockingIOError:
                    pass
                except ConnectionResetError:
                    is_open = False
                self.assertEqual(self.ask('a.example.org').address, '198.18.0.16')
                most = max(most, memory_kib(front.pid))
        self.assertLess(most, before + SMALL_KIB)


SMALL_KIB = 256  # more than it had before


class Connections(Case):
    def test_the_dialer_is_asked_by_name_or_else_by_address(self):
        front = self.front()
        for address, port, expected, name in (('198.18.0.16', 443, bytes(16), 'a.example.org'), ('fd79:6574:7400::10', 22, bytes(16), 'a.example.org'),
                                              ('10.1.2.3', 5432, bytes(10) + b'\xff\xff\x0a\1\2\3', ''),
                                              ('2001:db8::1', 8080, socket.inet_pton(socket.AF_INET6, '2001:db8::1'), '')):
            with self.net.connect(address, port):
                kind, number, asked, asked_port, asked_name = front.ask()
                self.assertEqual((kind, asked, asked_port, asked_name), (egress.ASK_CONNECT, expected, port, name))
                front.answer(number, error=13)

    def test_addresses_of_ours_that_stand_for_nothing_are_reset(self):
        front = self.front()
        for address in ('198.18.0.2', '198.18.0.17', '198.19.0.16', 'fd79:6574:7400::11', 'fd79:6574:7400::2:10', '198.18.0.1'):
            self.assert_turned_away(address)
        self.assertTrue(front.asks_nothing())

    def test_what_is_refused_or_fails_is_reset(self):
        front = self.front()
        for error in (13, 111, 110):
            with self.net.connect('198.18.0.16') as s:
                front.answer(front.ask()[1], error=error)
                self.assert_reset(s)

    def test_bytes_wait_for_the_answer_and_either_side_may_begin(self):
        front = self.front()
        inside = self.net.connect('198.18.0.16')
        inside.sendall(b'early')
        ours, peer = self.outside()
        peer.sendall(b'banner')
        self.assertEqual(select.select([peer], [], [], 0)[0], [])
        front.answer(front.ask()[1], ours)
        self.assertEqual((peer.recv(100), inside.recv(100)), (b'early', b'banner'))
        inside.close()
        self.assertEqual(peer.recv(1), b'')

    def test_the_end_of_one_way_is_passed_on_and_the_other_stays(self):
        front = self.front()
        inside, ours, peer = self.open(front)
        inside.sendall(b'question')
        inside.shutdown(socket.SHUT_WR)
        self.assertEqual((peer.recv(100), peer.recv(100)), (b'question', b''))
        for _ in range(3):
            peer.sendall(b'answer')
            self.assertEqual(inside.recv(100), b'answer')
        peer.close()
        self.assertEqual(inside.recv(100), b'')
        self.assert_hung_up(ours)
        inside, ours, peer = self.open(front)
        peer.sendall(b'all')
        peer.shutdown(socket.SHUT_WR)
        self.assertEqual((inside.recv(100), inside.recv(100)), (b'all', b''))
        inside.sendall(b'still')
        self.assertEqual(peer.recv(100), b'still')
        inside.close()
        self.assertEqual(peer.recv(100), b'')
        self.assert_hung_up(ours)

    def test_a_reset_is_passed_on(self):
        front = self.front()
        reset = struct.pack('ii', 1, 0)
        inside, ours, peer = self.open(front)
        peer.sendall(b'last')
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        self.assertEqual(inside.recv(100), b'last')
        peer.close()
        self.assert_reset(inside)
        self.assert_hung_up(ours)
        inside, ours, peer = self.open(front)
        inside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        inside.close()
        self.assert_hung_up(ours)
        ours.close()
        with contextlib.suppress(ConnectionResetError):  # after a FIN, where the kernel has sent that
            self.assertEqual(peer.recv(1), b'')

    def test_what_the_dialer_cuts_is_reset_inside(self):
        front = self.front()
        for half in ('neither', 'inside', 'stalled'):
            with self.subTest(half):
                inside, ours, peer = self.open(front)
                if half == 'inside':
                    inside.shutdown(socket.SHUT_WR)
                    self.assertEqual(peer.recv(1), b'')
                if half == 'stalled':
                    self.stall(peer)
                ours.shutdown(socket.SHUT_RDWR)
                self.assert_reset(inside)

    def test_who_gives_up_before_the_answer_keeps_the_place_until_then(self):
        front = self.front(connections=1)
        inside = self.net.connect('198.18.0.16')
        first = front.ask()[1]
        inside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        inside.close()
        self.assert_turned_away('198.18.0.16')
        self.assertEqual(front.ask()[0], egress.ASK_FULL)
        ours, peer = self.outside()
        front.answer(first, ours)
        self.assert_hung_up(ours)
        self.assertEqual(peer.recv(1), b'')
        self.open(front)

    def test_answers_that_nobody_asked_for_are_closed(self):
        front = self.front()
        inside, _, peer = self.open(front)
        for number in (0, 1, 255, 0xffffffff, 256):
            ours, other = self.outside()
            front.answer(number, ours)
            self.assert_hung_up(ours)
            self.assertEqual(other.recv(1), b'')
            front.answer(number, error=13)
        inside.sendall(b'unharmed')
        self.assertEqual(peer.recv(100), b'unharmed')

    def test_256_at_once_and_the_next_is_reset(self):
        front = self.front()
        inside, _, peer = self.open(front)
        peer.sendall(b'open')
        self.assertEqual(inside.recv(100), b'open')
        before = memory_kib(front.pid)
        many = [self.open(front) for _ in range(255)]
        for _ in range(5):
            self.assert_turned_away('198.18.0.16')
        self.assertEqual(front.ask(), (egress.ASK_FULL, 0, bytes(16), 443, 'a.example.org'))
        self.assertTrue(front.asks_nothing())
        self.assert_turned_away('198.18.0.17')  # and would be in any case
        self.assertTrue(front.asks_nothing())
        for i, (inside, _, peer) in enumerate(many):
            inside.sendall(b'%d' % i)
            self.assertEqual(peer.recv(100), b'%d' % i)
        files = len(os.listdir('/proc/%d/fd' % front.pid))
        self.assertLess(files, 64 + 6 * 256)
        self.assertLess(memory_kib(front.pid), before + SMALL_KIB)
        many[7][0].close()
        many[7][2].close()
        yett.wait_until(lambda: len(os.listdir('/proc/%d/fd' % front.pid)) <= files - 4, 'the end of one')  # two sockets, and its pipe
        self.open(front)

    def test_many_one_after_the_other_leave_nothing(self):
        front = self.front()
        inside, _, peer = self.open(front)
        peer.sendall(b'open')
        self.assertEqual(inside.recv(100), b'open')
        before = len(os.listdir('/proc/%d/fd' % front.pid)), memory_kib(front.pid)
        for _ in range(500):
            with self.net.connect('198.18.0.16') as inside:
                number = front.ask()[1]
                ours, peer = self.outside()
                front.answer(number, ours)
                peer.sendall(b'x')
                peer.close()
                self.assertEqual((inside.recv(2), inside.recv(2)), (b'x', b''))
            self.assert_hung_up(ours)
            ours.close()
        yett.wait_until(lambda: len(os.listdir('/proc/%d/fd' % front.pid)) == before[0], 'all descriptors closed')
        self.assertLess(memory_kib(front.pid), before[1] + 64)

    def test_the_dialer_may_be_slow_to_hear(self):
        front = self.front()
        many = [self.net.connect('198.18.0.16') for _ in range(250)]
        with self.net.udp(egress.SERVER) as s:
            for i in range(500):
                s.send(query('n%d.example.com' % i))
                s.recv(4096)
        asked = set()
        while len(asked) < len(many):
            kind, number, _, _, _ = front.ask()
            if kind == egress.ASK_CONNECT:
                asked.add(number)
                front.answer(number, error=13)
        for s in many:
            self.assert_reset(s)
            s.close()

    def test_urgent_bytes_are_bytes(self):
        front = self.front()
        inside, _, peer = self.open(front)
        for one, other in ((inside, peer), (peer, inside)):
            one.sendall(b'a' * 1000)
            one.send(b'!', socket.MSG_OOB)
            one.sendall(b'b' * 1000)
            got = b''
            while len(got) < 2001:
                got += other.recv(4096)
            self.assertEqual(got, b'a' * 1000 + b'!' + b'b' * 1000)


class Bulk(Case):
    SIZE = 100 << 20

    @staticmethod
    def send(s, size, seed):
        digest, block = hashlib.sha256(), hashlib.shake_128(b'%d' % seed).digest(1 << 20)
        for i in range(size >> 20):
            part = block[i:] + block[:i]
            s.sendall(part)
            digest.update(part)
        s.shutdown(socket.SHUT_WR)
        return digest.hexdigest()

    @staticmethod
    def receive(s):
        digest, buffer = hashlib.sha256(), bytearray(1 << 18)
        while True:
            n = s.recv_into(buffer)
            if n == 0:
                return digest.hexdigest()
            digest.update(memoryview(buffer)[:n])

    def test_100_mib_both_ways_at_once_arrive_as_they_were_sent(self):
        front = self.front()
        inside, ours, peer = self.open(front)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            sent = [pool.submit(self.send, s, self.SIZE, i) for i, s in enumerate((inside, peer))]
            got = [pool.submit(self.receive, s) for s in (peer, inside)]
            self.assertEqual([one.result() for one in sent], [one.result() for one in got])
        self.assert_hung_up(ours)

    def test_a_slow_reader_gets_all_and_costs_little(self):
        front = self.front()
        inside, _, peer = self.open(front)
        before = memory_kib(front.pid)
        sent = self.stall(peer)
        self.assertLess(memory_kib(front.pid), before + SMALL_KIB)
        other, _, other_peer = self.open(front)
        other.sendall(b'not held up')
        self.assertEqual(other_peer.recv(100), b'not held up')
        peer.shutdown(socket.SHUT_WR)
        got, size = 0, 1
        while size:
            size = len(inside.recv(1 << 20 if got > 1000 else 1))
            got += size
        self.assertEqual(got, sent)

    def test_little_packets_do_not_get_stuck(self):
        front = self.front()
        inside, _, peer = self.open(front)
        for s in (inside, peer):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent = b''.join(b'%d,' % i for i in range(20000))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for one, other in ((inside, peer), (peer, inside)):
                task = pool.submit(lambda s=one: [s.send(sent[i:i + 7]) for i in range(0, len(sent), 7)])
                got = b''
                while len(got) < len(sent):
                    got += other.recv(65536)
                task.result()
                self.assertEqual(got, sent)

    BUCKET_S, WINDOW_S = 0.1, 1  # tokens.h; for how long a rate is measured

    def carry(self, ends, rate):
        """
        Keeps every (writer, reader) busy until the bytes of one window come near to the rate: on a busy machine this may take several
        windows. More than the rate never comes through. Returns the bytes of each reader.
        """
        for end in (end for pair in ends for end in pair):
            end.setblocking(False)
        writers, got = [writer for writer, _ in ends], {reader: 0 for _, reader in ends}
        begin = time.monotonic()
        windows = [(begin, 0)]
        while True:
            # One thread serves all, so that nobody but the front can favour one of them.
            readable, writable, _ = select.select(list(got), writers, [], yett.DEADLINE)
            for writer in writable:
                writer.send(bytes(1 << 16))
            for reader in readable:
                got[reader] += len(reader.recv(1 << 16))
            now, total = time.monotonic(), sum(got.values())
            self.assertLessEqual(total, 1.02 * rate * (now - begin + self.BUCKET_S))
            since, before = windows[-1]
            if now - since < self.WINDOW_S:
                continue
            windows.append((now, total))
            if total - before >= 0.95 * rate * (now - since):
                return list(got.values())
            self.assertLess(now - begin, yett.DEADLINE, (rate, windows))

    def test_bandwidth_is_bounded_over_all_connections_each_way(self):
        rate = 8 << 20
        front = self.front(in_bytes_s=rate, out_bytes_s=rate // 2)
        for way, bound in (('in', rate), ('out', rate // 2)):
            pairs = [self.open(front) for _ in range(3)]
            with self.subTest(way):
                shares = self.carry([(peer, inside) if way == 'in' else (inside, peer) for inside, _, peer in pairs], bound)
                self.assertLess(max(shares), 10 * min(shares))  # none is left out
            for _, ours, peer in pairs:
                ours.shutdown(socket.SHUT_RDWR)
                with contextlib.suppress(OSError):  # the end of its connection may have come first
                    peer.shutdown(socket.SHUT_RDWR)


class Rules(Case):
    def test_new_rules_hold_at_once_and_addresses_stay(self):
        front = self.front('a.example.org', 'b.example.org')
        inside, _, peer = self.open(front)
        front.apply(egress.rules('c.example.org', 'b.example.org', connections=2))
        yett.wait_until(lambda: self.ask('c.example.org').rcode == NOERROR, 'the new rules')
        self.assertEqual(self.ask('a.example.org').rcode, NXDOMAIN)
        self.assertEqual((self.ask('b.example.org').address, self.ask('c.example.org').address), ('198.18.0.17', '198.18.0.18'))
        inside.sendall(b'what is open stays')  # until the dialer cuts it
        self.assertEqual(peer.recv(100), b'what is open stays')
        self.assertEqual(front.ask()[4], 'a.example.org')
        with self.net.connect('198.18.0.16'):
            self.assertEqual(front.ask()[4], 'a.example.org')  # whether it may, the dialer says
            self.assert_turned_away('198.18.0.17')

    def test_what_was_expected_counts_for_nothing(self):
        names = ('a.example.org', 'b.example.org')
        for expected in names:
            with self.subTest(expected), egress.front(self.net, egress.rules(names[0]), expected=egress.rules(expected)) as front:
                self.assertEqual([self.ask(name).rcode for name in names], [NOERROR, NXDOMAIN])
                self.assertEqual(front.ask()[4], names[1])

    def test_what_are_no_rules_end_it(self):
        good = egress.rules('a.example.org')
        bad = [good[:-1], good + bytes(4), b'', bytes(len(good)), egress.rules('a.example.org', mode=3), egress.rules('a.example.org', connections=257),
               egress.rules('a.example.org', connections=0), egress.rules('A.example.org'), good[:4] + b'\2' + good[5:], good[:5] + b'\2' + good[6:], good[:6] + b'\2' + good[7:], good[:7] + b'\1' + good[8:],
               good + bytes(3 << 20)]
        for data in bad:
            with egress.front(self.net, good) as front:
                front.apply(data)
                self.assertEqual(front.wait(), CONFUSED, data[:100])
        for data in bad:
            with egress.front(self.net, data) as front:
                self.assertNotEqual(front.wait(), ENDED)

    def test_rules_that_can_be_changed_are_none(self):
        with egress.front(self.net, egress.sealed(egress.rules('a.example.org'), seals=0)) as front:
            self.assertNotEqual(front.wait(), ENDED)


class Dialer(Case):
    def test_its_end_is_the_front_s_and_all_is_reset(self):
        front = self.front()
        inside, _, peer = self.open(front)
        waiting = self.net.connect('198.18.0.16')
        front.ask()
        front.dialer.close()
        self.assertEqual(front.wait(), ENDED)
        self.assert_reset(inside)
        self.assert_reset(waiting)
        waiting.close()

    def test_a_front_that_is_killed_does_not_pass_for_the_end_of_a_file(self):
        front = self.front()
        inside, _, peer = self.open(front)
        peer.sendall(b'half of it')
        self.assertEqual(inside.recv(100), b'half of it')
        os.kill(front.pid, 9)
        self.assert_reset(inside)

    def test_what_is_no_packet_ends_it(self):
        good = egress.ANSWERS.pack(egress.ANSWER, 256, 13)
        listener = self.server()
        plain = os.open('/dev/null', os.O_RDWR)
        self.addCleanup(os.close, plain)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        unix, other = socket.socketpair()
        for s in (udp, unix, other):
            self.addCleanup(s.close)
        memory = egress.sealed(egress.rules('a.example.org'))
        self.addCleanup(os.close, memory)
        answered = egress.ANSWERS.pack(egress.ANSWER, 256, 0)
        for data, fds in ((good[:-1], ()), (good + b'\0', ()), (os.urandom(70000), ()), (egress.ANSWERS.pack(3, 256, 0), ()), (egress.ANSWERS.pack(0, 0, 0), ()),
                          (egress.ANSWERS.pack(egress.ANSWER, 256, -1), ()), (answered, ()), (good, (plain,)), (answered, (plain,)), (answered, (udp.fileno(),)),
                          (answered, (unix.fileno(),)), (answered, (listener.fileno(), listener.fileno())), (egress.ANSWERS.pack(egress.ANSWER_RULES, 0, 0), ()),
                          (egress.ANSWERS.pack(egress.ANSWER_RULES, 1, 0), (memory,)), (egress.ANSWERS.pack(egress.ANSWER_RULES, 0, 1), (memory,)),
                          (egress.ANSWERS.pack(egress.ANSWER_RULES, 0, 0), (plain,)), (egress.ANSWERS.pack(egress.ANSWER_EXPECTED, 0, 0), (memory,)),
                          (b'x' * 12, [plain] * 64)):
            with egress.front(self.net, egress.rules('a.example.org')) as front, self.net.connect(self.ask('a.example.org').address) as inside:
                front.ask()
                front.send(data, fds)
                self.assertEqual(front.wait(), CONFUSED, (data[:20], len(fds)))
                self.assert_reset(inside)

    def test_a_socket_that_blocks_or_is_closed_already_is_no_trouble(self):
        front = self.front()
        inside = self.net.connect('198.18.0.16')
        ours, peer = self.outside()
        ours.setblocking(True)
        front.answer(front.ask()[1], ours)
        self.assertEqual(self.ask('a.example.org').address, '198.18.0.16')
        inside.close()
        self.assertEqual(peer.recv(1), b'')
        inside = self.net.connect('198.18.0.16')
        ours, peer = self.outside()
        ours.shutdown(socket.SHUT_RDWR)
        front.answer(front.ask()[1], ours)
        self.assert_reset(inside)
        inside.close()


class Process(Case):
    def test_it_has_no_privilege(self):
        front = self.front(uid=60123)
        self.assertEqual(self.ask('a.example.org').rcode, NOERROR)
        status = yett.status_of(front.pid)
        self.assertEqual(status['Uid'].split() + status['Gid'].split(), ['60123'] * 8)
        self.assertEqual([int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')], [0] * 5)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp'], status['Groups'], status['Threads']), ('1', '2', '', '1'))
        self.assertEqual(os.stat('/proc/%d/environ' % front.pid).st_uid, 0)  # undumpable: proc(5)

    def test_it_has_no_descriptor_but_its_own(self):
        front = self.front()
        self.assertEqual(self.ask('a.example.org').rcode, NOERROR)
        self.assertEqual(sorted(os.listdir('/proc/%d/fd' % front.pid), key=int), ['0', '1', '2', '3', '4', '5', '6', '7'])

    def test_arguments_are_checked(self):
        for uid, half in ((0, 0), ('x', 0), (60001, 2), ('', 1), (60001, '')):
            with egress.front(self.net, egress.rules('a.example.org'), uid=uid, half=half) as front:
                self.assertEqual(front.wait(), 1)


del Case

if __name__ == '__main__':
    yett.main()
