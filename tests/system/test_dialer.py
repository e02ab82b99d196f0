# SPDX-License-Identifier: Apache-2.0
"""yett-dialer and yett-resolver: what a sandbox reaches by them and what not, with a front and a supervisor that the tests play."""
import contextlib
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import dialing
import yett
from dialing import (ALLOWED, ASK_CONNECT, ASK_FULL, ASK_UNKNOWN, CLOSED, CONNECTED, DENIED, DENIED_BY_RULE, FAILED, FULL, LOCAL, NEVER, NO_RULE,
                     NOT_BOUND, PRIVATE)

world = names = None

# More descriptors on their way than the dialer may have open: unix(7), ETOOMANYREFS.
HOLD = '''
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
pairs = [socket.socketpair() for _ in range(16)]
for ours, _ in pairs:
    socket.send_fds(ours, [b'x'], [0] * 250)
print('held', flush=True)
sys.stdin.read()
'''


def setUpModule():
    global world, names
    missing = dialing.is_possible()
    if missing:
        raise unittest.SkipTest(missing)
    run = yett.run_of_process()
    run.user(1)
    os.makedirs(run.path('etc'))
    world = dialing.World(run.path('etc'))
    names = dialing.Names()


class Dialing(unittest.TestCase):
    def setUp(self):
        self.user = yett.run_of_process().user(1)
        world.hosts(localhost='127.0.0.1 ::1')
        names.names.clear()

    def dialer(self, *rules, **more):
        dialer = dialing.Dialer(self.user, *rules, **more)
        self.addCleanup(dialer.end)
        return dialer

    def listen(self, address, **more):
        listener = world.listen(address, **more)
        self.addCleanup(listener.close)
        return listener, listener.getsockname()[1]

    def expect_connection(self, dialer, where, listener, to=None):
        connection = dialer.dial(where, listener.getsockname()[1])
        self.assertIsInstance(connection, socket.socket, '%s: %s' % (where, connection))
        self.addCleanup(connection.close)
        peer, _ = listener.accept()
        self.addCleanup(peer.close)
        if to:
            self.assertEqual(connection.getpeername()[0], to)
        return connection, peer

    def expect_denied(self, dialer, where, port, verdict, address=None, origin=0):
        self.assertEqual(dialer.dial(where, port), errno.EACCES, where)
        told = dialer.told(DENIED)
        self.assertEqual((told.verdict, told.port, told.origin, told.count), (verdict, port, origin, 1), (where, told))
        self.assertEqual(any(told.rule), origin > 0)
        if address:
            self.assertEqual(told.address, address)
        return told


    def fill(self, address):
        """A listener that takes nothing more until it accepts."""
        listener, port = self.listen(address, backlog=0)
        for _ in range(2):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((address, port))
            self.addCleanup(filler.close)

        def has_one():
            with world.inside_internet():
                rows = [row.split() for row in yett.read('/proc/thread-self/net/tcp').splitlines()[1:]]
            return any(row[1].endswith(':%04X' % port) and row[3] == '01' for row in rows)  # TCP_ESTABLISHED
        yett.wait_until(has_one, 'a full listener')
        return listener

    def front_blocks(self, dialer):
        """Asks until the dialer reads no more: it sleeps though there is something to be read."""
        def takes_one():
            with contextlib.suppress(BlockingIOError):
                dialer.ask('11.0.0.2', 80)
                self.asked += 1
                self.assertLess(self.asked, 2000)
                return True
            return False

        def is_blocked():
            while takes_one():
                pass
            return yett.status_of(dialer.pid)['State'][0] == 'S' and not takes_one()

        self.asked = 0
        dialer.front.setblocking(False)
        yett.wait_until(is_blocked, 'a dialer that waits for its answers to be taken')
        dialer.front.settimeout(yett.DEADLINE)


class Rules(Dialing):
    def test_an_allowed_name_is_reached_and_told_of_until_it_is_closed(self):
        world.hosts(api_example_org='11.0.0.2')
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('limited', 'other.example.org', 'api.example.org:%d' % port)
        connection, peer = self.expect_connection(dialer, 'api.example.org', listener, '11.0.0.2')
        told = dialer.told(CONNECTED)
        self.assertEqual((told.name, told.address, told.port, told.origin, told.open, told.count), ('api.example.org', '11.0.0.2', port, 2, 1, 1))
        connection.sendall(b'x' * 1000)
        peer.sendall(b'y' * 300)
        self.assertEqual(len(connection.recv(300, socket.MSG_WAITALL)), 300)
        peer.shutdown(socket.SHUT_WR)
        self.assertEqual(connection.recv(1), b'')
        connection.shutdown(socket.SHUT_RDWR)
        told = dialer.told(CLOSED)
        self.assertEqual((told.name, told.address, told.sent, told.received, told.open, told.verdict), ('api.example.org', '11.0.0.2', 1000, 300, 0, 0))

    def test_what_is_still_on_its_way_at_the_end_is_counted(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        connection, peer = self.expect_connection(dialer, '11.0.0.2', listener)
        connection.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += connection.send(b'x' * 65536)
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
        received = 0
        while chunk := peer.recv(1 << 20):
            received += len(chunk)
        told = dialer.told(CLOSED)
        self.assertEqual((received, told.sent, told.received), (sent, sent, 0))

    def test_sockets_are_as_the_front_needs_them(self):
        listener, _ = self.listen('11.0.0.2')
        connection, _ = self.expect_connection(self.dialer('open'), '11.0.0.2', listener)
        self.assertTrue(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        self.assertTrue(connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        connection.settimeout(None)
        self.assertTrue(os.get_blocking(connection.fileno()))  # Python has just changed it back
        os.set_blocking(connection.fileno(), False)

    def test_a_name_or_port_that_no_rule_allows_is_not_even_looked_up(self):
        names.names['evil.example.org'] = '11.0.0.2'
        names.asked.clear()
        dialer = self.dialer('limited', 'api.example.org:443', '--deny', 'bad.example.org')
        self.expect_denied(dialer, 'evil.example.org', 443, NO_RULE)
        self.expect_denied(dialer, 'api.example.org', 80, NO_RULE)
        told = self.expect_denied(dialer, 'bad.example.org', 443, DENIED_BY_RULE, origin=2)
        self.assertEqual(told.rule, struct.pack('=BBBBHH16s254s', 1, 0, 0, 0, 1, 65535, b'', b'bad.example.org'))  # struct net_rule
        self.assertEqual(names.asked, [])
        self.assertEqual([yett.argv_of(child)[0] for child in yett.children_of(dialer.pid)], ['yett-dialer'])

    def test_what_was_expected_counts_for_nothing(self):
        rules = 'limited', '11.0.0.2:80'
        for expected in (rules, ('limited', '11.0.0.3:80')):
            with self.subTest(expected), dialing.Dialer(self.user, *rules, expected=dialing.make(*expected)) as dialer:
                self.assertEqual(dialer.dial('11.0.0.3', 80), errno.EACCES)
                self.assertNotEqual(dialer.dial('11.0.0.2', 80), errno.EACCES)

    def test_a_bare_address_takes_a_rule_for_it(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('limited', '11.0.0.2:%d' % port)
        self.expect_connection(dialer, '11.0.0.2', listener)
        self.expect_denied(dialer, '11.0.0.3', port, NO_RULE, '11.0.0.3')

    def test_private_addresses_take_leave_or_a_rule_that_names_them(self):
        world.hosts(db_example_org='10.1.0.2')
        listener, port = self.listen('10.1.0.2')
        self.expect_denied(self.dialer('open'), '10.1.0.2', port, PRIVATE, '10.1.0.2')
        self.expect_denied(self.dialer('limited', '*.example.org'), 'db.example.org', port, PRIVATE, '10.1.0.2', origin=1)
        for rules in (('open', '--private'), ('limited', '--private', '*.example.org'), ('limited', 'db.example.org@10.1.0.0/24')):
            self.expect_connection(self.dialer(*rules), 'db.example.org', listener, '10.1.0.2')
        self.expect_connection(self.dialer('limited', '10.0.0.0/8'), '10.1.0.2', listener)

    def test_a_bound_name_leads_nowhere_else(self):
        world.hosts(db_example_org='11.0.0.3')
        self.expect_denied(self.dialer('limited', 'db.example.org@10.1.0.0/24'), 'db.example.org', 5432, NOT_BOUND, '11.0.0.3', origin=1)

    def test_the_host_itself_is_reached_by_no_form_of_its_addresses(self):
        listeners = [self.listen(address, is_host=True)[1] for address in ('0.0.0.0', '::')]
        dialer = self.dialer('open', '--private')
        for address, port, verdict in (('127.0.0.1', 0, LOCAL), ('127.1.2.3', 0, LOCAL), ('0.0.0.0', 0, LOCAL), ('0.1.2.3', 0, LOCAL), ('::', 1, LOCAL),
                                       ('::1', 1, LOCAL), ('::ffff:127.0.0.1', 0, LOCAL), ('11.0.0.1', 0, LOCAL), ('10.1.0.1', 0, LOCAL), ('2a00:1::1', 1, LOCAL),
                                       ('fd11::1', 1, LOCAL), ('64:ff9b::127.0.0.1', 1, LOCAL), ('64:ff9b::11.0.0.1', 1, LOCAL), ('2002:7f00:1::', 1, LOCAL),
                                       ('2002:b00:1::', 1, LOCAL), ('64:ff9b:1::127.0.0.1', 1, LOCAL), ('2a00:1::5efe:127.0.0.1', 1, LOCAL), ('11.0.0.255', 0, NEVER),
                                       ('10.1.0.255', 0, NEVER), ('255.255.255.255', 0, NEVER), ('224.0.0.1', 0, NEVER), ('ff02::1', 1, NEVER), ('::127.0.0.1', 1, NEVER)):
            with self.subTest(address=address):
                # An ordinary program of the host gets there, or the address could be anybody's: then this would show nothing.
                if address in ('127.0.0.1', '0.0.0.0', '::1', '::ffff:127.0.0.1', '11.0.0.1', '2a00:1::1'):
                    socket.create_connection((address, listeners[port])).close()
                self.expect_denied(dialer, address, listeners[port], verdict)
        world.hosts(own_example_org='11.0.0.1')
        self.expect_denied(dialer, 'own.example.org', listeners[0], LOCAL, '11.0.0.1')

    def test_the_host_is_reached_where_a_rule_names_that_address_and_not_its_network(self):
        world.hosts(own_example_org='10.1.0.1')
        listener, port = self.listen('0.0.0.0', is_host=True)
        dialer = self.dialer('limited', '127.0.0.1:%d' % port, '11.0.0.1', 'own.example.org@10.1.0.1')
        for where in ('127.0.0.1', '11.0.0.1', 'own.example.org'):
            self.expect_connection(dialer, where, listener)
        self.expect_denied(dialer, '127.0.0.1', port + 1 if port < 65535 else 1, NO_RULE)
        dialer = self.dialer('limited', '11.0.0.0/24', '10.0.0.0/8', 'own.example.org@10.1.0.0/24')
        self.expect_denied(dialer, '11.0.0.1', port, LOCAL)
        self.expect_denied(dialer, '10.1.0.1', port, LOCAL)
        self.expect_denied(dialer, 'own.example.org', port, LOCAL)
        # The first address of a network is one of a host where two share a link: RFC 3021.
        world.add('v0', ('10.1.4.0/31',))
        self.expect_connection(self.dialer('limited', '10.1.4.0'), '10.1.4.0', listener)
        self.expect_denied(self.dialer('limited', '10.1.4.0/31'), '10.1.4.0', port, LOCAL)

    def test_metadata_services_are_reached_by_nobody(self):
        world.hosts(meta_example_org='169.254.169.254')
        for address in ('169.254.169.254', '100.100.100.200'):
            listener, port = self.listen(address)
            socket.create_connection((address, port)).close()  # it is there
            dialer = self.dialer('open', '--private', address)
            for where in (address, '64:ff9b::' + address, '64:ff9b:1::' + address):
                self.expect_denied(dialer, where, port, NEVER)
        self.expect_denied(dialer, 'meta.example.org', port, NEVER, '169.254.169.254')

    def test_denied_addresses_are_denied_by_whatever_name(self):
        world.hosts(a_example_org='11.0.0.2')
        dialer = self.dialer('open', '--deny', '11.0.0.2')
        self.expect_denied(dialer, 'a.example.org', 80, DENIED_BY_RULE, '11.0.0.2', origin=1)
        self.expect_denied(dialer, '64:ff9b::11.0.0.2', 80, DENIED_BY_RULE, origin=1)

    def test_of_a_name_with_a_bad_address_the_good_one_is_taken(self):
        world.hosts(mixed_example_org='127.0.0.1 11.0.0.1 169.254.169.254 11.0.0.2')
        listener, _ = self.listen('11.0.0.2')
        self.expect_connection(self.dialer('limited', 'mixed.example.org'), 'mixed.example.org', listener, '11.0.0.2')

    def test_a_name_that_is_bound_again_to_the_host_is_denied(self):
        names.names['rebind.example.org'] = '11.0.0.2'
        listener, port = self.listen('11.0.0.2')
        _, own = self.listen('127.0.0.1', is_host=True)
        dialer = self.dialer('limited', '--private', 'rebind.example.org')
        self.expect_connection(dialer, 'rebind.example.org', listener)
        names.names['rebind.example.org'] = '127.0.0.1'
        # What was answered is kept for a moment; other rules do not change that.
        self.expect_connection(dialer, 'rebind.example.org', listener)
        dialer = self.dialer('limited', '--private', 'rebind.example.org')
        self.expect_denied(dialer, 'rebind.example.org', own, LOCAL, '127.0.0.1', origin=1)


class Connecting(Dialing):
    def test_what_fails_fails_with_what_the_kernel_says(self):
        listener, port = self.listen('11.0.0.2')
        listener.close()
        dialer = self.dialer('open')
        for where, number in (('11.0.0.2', errno.ECONNREFUSED), ('12.0.0.1', errno.EHOSTUNREACH), ('13.0.0.1', errno.ENETUNREACH)):
            self.assertEqual(dialer.dial(where, port), number, where)
            told = dialer.told(FAILED)
            self.assertEqual((told.error, told.address), (number, where))

    def test_a_name_that_does_not_exist_has_no_error(self):
        dialer = self.dialer('open')
        self.assertEqual(dialer.dial('none.example.org', 80), errno.EHOSTUNREACH)
        self.assertEqual(dialer.told(FAILED)[:5], (FAILED, 1, 0, 0, 0))

    def test_addresses_that_do_not_answer_hold_up_those_that_do_for_a_moment_only(self):
        slow = self.fill('11.0.0.3')
        listener, _ = self.listen('11.0.0.2')
        world.hosts(slow_example_org='11.0.0.3 11.0.0.2')
        # One port for both: the slow one takes nothing more.
        with world.inside_internet():
            other = socket.create_server(('11.0.0.2', slow.getsockname()[1]))
        other.settimeout(yett.DEADLINE)
        self.addCleanup(other.close)
        self.expect_connection(self.dialer('open'), 'slow.example.org', other, '11.0.0.2')

    def test_one_that_is_slow_to_accept_holds_up_nobody_and_is_reached_at_last(self):
        slow = self.fill('11.0.0.3')
        listener, _ = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        waiting = dialer.ask('11.0.0.3', slow.getsockname()[1])
        self.expect_connection(dialer, '11.0.0.2', listener)
        for _ in range(2):
            slow.accept()[0].close()
        id, error, connection = dialer.answer()
        self.assertEqual((id, error), (waiting, 0))
        connection.close()

    def test_there_are_no_more_connections_than_there_may_be(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open', '--connections', '2')
        first, _ = self.expect_connection(dialer, '11.0.0.2', listener)
        self.expect_connection(dialer, '11.0.0.2', listener)
        self.assertEqual(dialer.dial('11.0.0.2', port), errno.EMFILE)
        self.assertEqual(dialer.told(FULL).open, 2)
        for _ in range(100):  # what was shut down before does not count, whichever of the two the dialer hears of first
            first.shutdown(socket.SHUT_RDWR)
            first, _ = self.expect_connection(dialer, '11.0.0.2', listener)

    def test_there_are_no_more_asks_at_once_than_there_may_be(self):
        names.held.append('held.example.org')
        self.addCleanup(names.release)
        dialer = self.dialer('open', '--connections', '3')
        for _ in range(3):
            dialer.ask('held.example.org', 80)
        self.assertEqual(dialer.dial('11.0.0.2', 80), errno.EMFILE)

    def test_as_many_as_there_may_be_at_all_come_through_and_are_told_of(self):
        listener, port = self.listen('11.0.0.2', backlog=512)
        dialer = self.dialer('open')
        threading.Thread(target=lambda: [dialer.ask('11.0.0.2', port) for _ in range(256)]).start()
        connections = [dialer.answer() for _ in range(256)]
        self.assertEqual({error for _, error, _ in connections}, {0})
        self.assertEqual({id for id, _, _ in connections}, set(range(1, 257)))
        self.assertEqual(dialer.dial('11.0.0.2', port), errno.EMFILE)
        for _, _, connection in connections:
            connection.send(b'12345')
            connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        closed = sent = 0
        while closed < 256:
            told = dialer.told(CLOSED)
            closed, sent = closed + told.count, sent + told.sent
        self.assertEqual((closed, sent), (256, 1280))
        self.assertEqual((sum(one.count for one in dialer.tolds if one.kind == CONNECTED), told.lost, told.open), (256, 0, 0))
        self.assertLess(len(dialer.tolds), 40)

    def test_a_front_that_does_not_take_its_answers_is_not_read_from_and_loses_none(self):
        dialer = self.dialer('limited')
        self.front_blocks(dialer)
        answered = {dialer.answer()[:2] for _ in range(self.asked)}
        self.assertEqual(answered, {(id, errno.EACCES) for id in range(1, self.asked + 1)})

    def test_where_too_many_descriptors_of_the_user_are_on_their_way_answers_wait(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        holder = self.user.popen(('python3', '-c', HOLD), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.assertEqual(holder.stdout.readline(), b'held\n')
        id = dialer.ask('11.0.0.2', port)
        listener.accept()[0].close()
        before = self.wakings(dialer)

        def is_answered():
            return select.select([dialer.front], [], [], 0)[0]
        yett.wait_until(lambda: is_answered() or self.wakings(dialer) > before + 5, 'more attempts to answer')
        self.assertFalse(is_answered(), 'no answer was held up')
        holder.communicate(b'end')
        answered, error, connection = dialer.answer()
        self.assertEqual((answered, error), (id, 0))
        connection.close()


    @staticmethod
    def wakings(dialer):
        """How often it has slept. One that has nothing to do sleeps on."""
        return int(yett.status_of(dialer.pid)['voluntary_ctxt_switches'])


class Changes(Dialing):
    def test_other_rules_cut_what_they_do_not_allow_and_reach_the_front(self):
        listener, port = self.listen('11.0.0.2')
        other, _ = self.listen('11.0.0.3')
        dialer = self.dialer('limited', '11.0.0.2', '11.0.0.3')
        cut, peer = self.expect_connection(dialer, '11.0.0.2', listener)
        kept, kept_peer = self.expect_connection(dialer, '11.0.0.3', other)
        cut.sendall(b'hello')
        self.assertEqual(peer.recv(5), b'hello')
        dialer.change('limited', '11.0.0.3')
        kind, fds = dialer.answer()
        self.assertEqual((kind, len(fds)), (dialing.ANSWER_RULES, 1))
        self.assertEqual(os.pread(fds[0], 4096, 0), os.pread(made := dialing.make('limited', '11.0.0.3'), 4096, 0))
        for fd in (made, *fds):
            os.close(fd)
        self.assertEqual(cut.recv(1), b'')
        with self.assertRaises(BrokenPipeError):
            cut.send(b'more')
        cut.close()
        told = dialer.told(CLOSED)
        self.assertEqual((told.address, told.verdict, told.sent, told.open), ('11.0.0.2', NO_RULE, 5, 1))
        kept.sendall(b'still here')
        self.assertEqual(kept_peer.recv(10), b'still here')
        self.expect_denied(dialer, '11.0.0.2', port, NO_RULE)

    def test_what_was_cut_cannot_be_connected_anew_without_connect(self):
        listener, _ = self.listen('11.0.0.2')
        other, port = self.listen('11.0.0.3')
        dialer = self.dialer('limited', '11.0.0.2')
        connection, _ = self.expect_connection(dialer, '11.0.0.2', listener)
        dialer.change('limited')
        dialer.told(CLOSED)
        with self.assertRaises(OSError):
            connection.sendmsg([b'x'], [], 0x20000000, ('11.0.0.3', port))  # MSG_FASTOPEN
        with self.assertRaises(OSError):
            connection.listen()
        # That it would be possible: whoever may call connect(2) sets it free.
        libc = dialing.LIBC
        self.assertEqual(libc.connect(connection.fileno(), struct.pack('=H14x', socket.AF_UNSPEC), 16), 0)
        connection.setblocking(True)
        connection.connect(('11.0.0.3', port))

    def test_an_ask_that_is_on_its_way_is_decided_by_the_rules_of_its_end(self):
        names.names['late.example.org'] = '11.0.0.2'
        names.held.append('late.example.org')
        self.addCleanup(names.release)
        dialer = self.dialer('limited', 'late.example.org')
        id = dialer.ask('late.example.org', 80)
        yett.wait_until(lambda: 'late.example.org' in names.asked, 'the question')
        dialer.change('limited')
        self.assertEqual(dialer.answer()[0], dialing.ANSWER_RULES)
        names.release()
        self.assertEqual(dialer.answer(), (id, errno.EACCES, None))

    def test_a_connection_that_is_made_after_its_rule_has_gone_is_not_handed_out(self):
        slow = self.fill('11.0.0.3')
        dialer = self.dialer('limited', '11.0.0.3')
        id = dialer.ask('11.0.0.3', slow.getsockname()[1])
        yett.wait_until(lambda: self.watched(dialer) == 4, 'an attempt, besides front, supervisor and keeper')
        dialer.change('limited')
        self.assertEqual(dialer.answer()[0], dialing.ANSWER_RULES)
        peers = [slow.accept()[0] for _ in range(2)]
        self.assertEqual(dialer.answer(), (id, errno.EACCES, None))
        for peer in peers:
            peer.close()

    @staticmethod
    def watched(dialer):
        """How many descriptors it waits for."""
        epoll, = [fd for fd in os.listdir('/proc/%d/fd' % dialer.pid) if 'eventpoll' in os.readlink('/proc/%d/fd/%s' % (dialer.pid, fd))]
        return yett.read('/proc/%d/fdinfo/%s' % (dialer.pid, epoll)).count('tfd:')

    def test_a_connection_that_the_front_has_not_taken_yet_is_cut_too(self):
        slow = self.fill('11.0.0.3')
        dialer = self.dialer('limited', '11.0.0.3')
        self.expect_denied(dialer, '11.0.0.2', 80, NO_RULE)  # it serves
        id = dialer.ask('11.0.0.3', slow.getsockname()[1])
        yett.wait_until(lambda: self.watched(dialer) == 4, 'an attempt, besides front, supervisor and keeper')
        self.front_blocks(dialer)
        peers = [slow.accept()[0] for _ in range(2)]
        yett.wait_until(lambda: self.watched(dialer) == 3, 'the connection')
        dialer.change('limited')
        answers = [dialer.answer() for _ in range(self.asked + 2)]
        for _, fds in [answer for answer in answers if len(answer) == 2]:
            os.close(fds[0])
        self.assertIn((id, errno.EACCES, None), answers)
        for peer in peers:
            peer.close()

    def test_fewer_connections_than_there_are_cut_none(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        pairs = [self.expect_connection(dialer, '11.0.0.2', listener) for _ in range(3)]
        dialer.change('open', '--connections', '1')
        self.assertEqual(dialer.answer()[0], dialing.ANSWER_RULES)
        self.assertEqual(dialer.dial('11.0.0.2', port), errno.EMFILE)
        for connection, peer in pairs:
            connection.sendall(b'1')
            self.assertEqual(peer.recv(1), b'1')


class Asking(Dialing):
    """What waits for somebody who is asked about it."""

    def asked(self, dialer, where, port):
        id = dialer.ask(where, port)
        told = dialer.told(dialing.ASKED)
        self.assertEqual((told.name or told.address, told.port), (where, port))
        return id

    def test_it_waits_until_rules_come_that_allow_it(self):
        listener, port = self.listen('11.0.0.2')
        names.names['api.example.org'] = '11.0.0.2'
        for where in ('api.example.org', '11.0.0.2'):
            with self.subTest(where):
                dialer = self.dialer('limited', '--ask', '*')
                id = self.asked(dialer, where, port)
                dialer.change('limited', 'other.example.org', '--ask', '*')
                dialer.change('limited', where, '--ask', '*')
                kinds = []
                while True:
                    answered, *rest = dialer.answer()
                    kinds.append(answered)
                    if answered == id and len(rest) == 2:
                        break
                self.assertIsInstance(rest[1], socket.socket)
                self.assertEqual([told.kind for told in dialer.tolds].count(dialing.ASKED), 1)

    def test_what_is_denied_meanwhile_is_not_waited_for(self):
        dialer = self.dialer('limited', '--ask', '*')
        id = self.asked(dialer, 'api.example.org', 443)
        dialer.change('limited', '--deny', 'api.example.org', '--ask', '*')
        self.assertEqual(dialer.answer()[0], dialing.ANSWER_RULES)
        self.assertEqual(dialer.answer()[:2], (id, errno.EACCES))
        self.assertEqual(dialer.told(dialing.DENIED).verdict, DENIED_BY_RULE)

    def test_what_nobody_could_allow_is_denied_at_once(self):
        dialer = self.dialer('limited', '--deny', 'bad.example.org', '--ask', '*.example.org:443')
        self.expect_denied(dialer, 'api.example.org', 80, NO_RULE)
        self.expect_denied(dialer, 'bad.example.org', 443, DENIED_BY_RULE, origin=1)
        self.expect_denied(dialer, '169.254.169.254', 443, NEVER)

    def test_nobody_answers(self):
        dialer = self.dialer('limited', '--ask', '*')
        id = self.asked(dialer, 'api.example.org', 443)
        self.assertEqual(dialer.answer()[:2], (id, errno.EACCES))
        self.assertEqual(dialer.told(dialing.DENIED).verdict, dialing.NOT_ANSWERED)

    def test_no_more_than_64_wait(self):
        dialer = self.dialer('limited', '--ask', '*')
        ids = [dialer.ask('n%d.example.org' % i, 443) for i in range(70)]
        answered = [dialer.answer() for _ in range(6)]  # these wait for nobody
        self.assertEqual([id for id, _, _ in answered], ids[64:])
        self.assertEqual({error for _, error, _ in answered}, {errno.EACCES})
        dialer.change('limited', 'other.example.org', '--deny', 'bad.example.org', '--ask', '*')
        self.assertEqual(dialer.answer()[0], dialing.ANSWER_RULES)
        bad = dialer.ask('bad.example.org', 443)
        self.assertEqual(dialer.answer()[:2], (bad, errno.EACCES))  # none of the 64 that wait is denied for what concerns another name


class Telling(Dialing):
    def test_a_burst_of_denials_is_told_in_few_packets(self):
        dialer = self.dialer('limited')
        begin = time.monotonic()
        for _ in range(1000):
            self.assertEqual(dialer.dial('evil.example.org', 443), errno.EACCES)
        while sum(one.count for one in dialer.tolds) < 1000:
            self.assertEqual(dialer.hear()[:1] + dialer.tolds[-1][9:12], (DENIED, 0, '', 'evil.example.org'))
        self.assertEqual(dialer.tolds[0].count, 1)
        self.assertLessEqual(len(dialer.tolds), 2 + (time.monotonic() - begin))

    def test_names_that_the_front_denied_are_told_of(self):
        dialer = self.dialer('limited', 'good.example.org', '--deny', 'bad.example.org')
        for name in ('unknown.example.org', 'bad.example.org', 'good.example.org'):
            dialer.ask(name, 0, ASK_UNKNOWN)
        dialer.ask('good.example.org', 443, ASK_FULL)
        found = [dialer.hear() for _ in range(3)]
        self.assertEqual([(one.kind, one.name, one.verdict, one.origin, one.port) for one in found],
                         [(DENIED, 'unknown.example.org', NO_RULE, 0, 0), (DENIED, 'bad.example.org', DENIED_BY_RULE, 2, 0),
                          (FULL, 'good.example.org', ALLOWED, 0, 443)])

    def test_a_flood_of_different_names_leaves_room_for_connections_and_says_what_it_lost(self):
        listener, _ = self.listen('11.0.0.2')
        dialer = self.dialer('limited', '11.0.0.2')
        for number in range(300):
            dialer.ask('n%d.example.org' % number, 0, ASK_UNKNOWN)
        self.expect_connection(dialer, '11.0.0.2', listener)
        told = dialer.told(CONNECTED)
        self.assertEqual(sum(one.count + one.lost for one in dialer.tolds), 301)
        self.assertLessEqual(len(dialer.tolds), 65)

    def test_a_supervisor_that_does_not_listen_holds_up_nobody(self):
        dialer = self.dialer('limited')
        for number in range(2000):
            self.assertEqual(dialer.dial('n%d.example.org' % number, 443), errno.EACCES)
        asked, total = 2000, 0

        def has_all():
            """How many were lost is told with the next denial."""
            nonlocal asked, total
            if not select.select([dialer.supervisor], [], [], 0)[0]:
                asked += 1
                dialer.dial('last.example.org', 443)
            while total < asked and select.select([dialer.supervisor], [], [], 0)[0]:
                one = dialer.hear()
                total += one.count + one.lost
            return total == asked
        yett.wait_until(has_all, 'word of all denials')


class Hostile(Dialing):
    GOOD = dialing.ASK.pack(ASK_CONNECT, 1, dialing.mapped('11.0.0.2'), 80, b'')

    def expect_end(self, dialer, status=dialing.STAGE_PACKET):
        self.assertEqual(dialer.process.wait(yett.DEADLINE), status)

    def test_whatever_the_front_must_not_send_ends_it(self):
        def ask(kind=ASK_CONNECT, address=bytes(16), port=80, name=b'a.example.org'):
            return dialing.ASK.pack(kind, 1, address, port, name)
        v4 = dialing.mapped('11.0.0.2')
        for packet in (b'x', self.GOOD[:-1], self.GOOD + b'\0', bytes(65536), bytes(100000), ask(kind=0), ask(kind=4), ask(port=0),
                       ask(address=v4), ask(name=b''.ljust(5, b'\0') + b'x', address=v4), ask(name=b'A.example.org'), ask(name=b'a.example.org.'),
                       ask(name=b'a..b'), ask(name=b'x' * 254), ask(name=b'a.example.org\0\0x'), ask(name=b'127.0.0.1'), ask(name=b'a b'), ask(name=b'key.inject.internal'),
                       ask(name=b'\xff.org'), ask(kind=ASK_UNKNOWN), ask(kind=ASK_UNKNOWN, name=b'', port=0), ask(name=b'', address=v4, port=0)):
            with self.subTest(packet=packet[:32]), dialing.Dialer(self.user, 'open') as dialer:
                dialer.front.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                dialer.front.send(packet)
                self.expect_end(dialer)

    def test_a_front_that_asks_twice_with_one_id_or_sends_descriptors_ends_it(self):
        names.held.append('held.example.org')
        self.addCleanup(names.release)
        with dialing.Dialer(self.user, 'open') as dialer:
            dialer.ask('held.example.org', 80, id=7)
            dialer.ask('held.example.org', 80, id=7)
            self.expect_end(dialer)
        for count in (1, 200):
            with dialing.Dialer(self.user, 'open') as dialer:
                socket.send_fds(dialer.front, [self.GOOD], [0] * count)
                self.expect_end(dialer)

    def test_whatever_the_supervisor_does_not_send_ends_it(self):
        order, good = struct.pack('=I', dialing.ORDER_RULES), dialing.make('open')
        content = os.pread(good, 65536, 0)
        unsealed = os.memfd_create('unsealed')
        os.write(unsealed, content)

        def changed(at, value):
            return dialing.sealed(content[:at] + value + content[at + len(value):])
        bad = (unsealed, os.open('/dev/null', os.O_RDONLY), os.pipe()[0], dialing.sealed(b''), dialing.sealed(content[:-1]), dialing.sealed(content + b'\0' * 4),
               dialing.sealed(content.ljust((3 << 20) + 4, b'\0')), changed(0, struct.pack('=I', 0)), changed(0, struct.pack('=I', 3)), changed(4, b'\2'),
               changed(5, b'\2'), changed(6, b'\2'), changed(7, b'\1'), changed(8, struct.pack('=I', 0)), changed(8, struct.pack('=I', 257)), changed(12, struct.pack('=I', 0)))
        for packet, fds in [(order, [fd]) for fd in bad] + [(order, []), (order, [good, good]), (order + b'x', [good]), (struct.pack('=I', dialing.ORDER_EXPECTED), [good]), (b'\3\0\0\0', [good]), (b'x', [])]:
            with self.subTest(packet=packet, fds=fds), dialing.Dialer(self.user, 'open') as dialer:
                socket.send_fds(dialer.supervisor, [packet], fds)
                self.expect_end(dialer)
        with dialing.Dialer(self.user, memory=dialing.sealed(b'none')) as dialer:
            self.expect_end(dialer, dialing.STAGE_PACKET)

    def test_it_ends_with_either_of_the_two_and_so_do_its_own(self):
        for end in ('front', 'supervisor'):
            world.hosts(a_example_org='12.0.0.1')
            dialer = self.dialer('open')
            self.assertEqual(dialer.dial('a.example.org', 80), errno.EHOSTUNREACH)
            below = yett.children_of(dialer.pid)
            below += [child for pid in below for child in yett.children_of(pid)]
            self.assertEqual(sorted(yett.argv_of(pid)[0] for pid in below), ['yett-dialer', 'yett-resolver'])
            getattr(dialer, end).close()
            self.expect_end(dialer, 0)
            for pid in below:
                yett.wait_until(lambda pid=pid: not yett.is_alive(pid), 'the end of what it had started')

    def test_it_dies_with_who_has_started_it(self):
        reader, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            dialer = dialing.Dialer(self.user, 'open')
            dialer.ask('11.0.0.2', 80, ASK_FULL)
            dialer.hear()  # it serves
            os.write(writer, b'%d' % dialer.pid)
            signal.pause()
        pid = int(os.read(reader, 16))
        os.kill(middle, signal.SIGKILL)
        os.waitpid(middle, 0)
        yett.wait_until(lambda: not yett.is_alive(pid), 'the end of the dialer')


class Names(Dialing):
    def test_a_search_list_makes_no_other_name_of_an_allowed_one(self):
        world.write('resolv.conf', dialing.RESOLV_CONF + 'search evil\noptions ndots:5\n')
        self.addCleanup(world.write, 'resolv.conf', dialing.RESOLV_CONF)
        names.names.update({'good.example.org': '11.0.0.2', 'good.example.org.evil': '11.0.0.3', 'none.example.org.evil': '11.0.0.3'})
        plain = subprocess.run(('getent', 'ahostsv4', 'good.example.org'), capture_output=True, text=True)
        self.assertIn('11.0.0.3', plain.stdout)  # as any other program has it
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('limited', '*.example.org')
        names.asked.clear()
        self.expect_connection(dialer, 'good.example.org', listener, '11.0.0.2')
        self.assertEqual(dialer.dial('none.example.org', port), errno.EHOSTUNREACH)
        self.assertEqual(set(names.asked), {'good.example.org', 'none.example.org'})
        world.hosts(local_example_org='11.0.0.2')
        self.expect_connection(dialer, 'local.example.org', listener, '11.0.0.2')

    def test_a_name_is_asked_for_once_and_kept_for_a_moment(self):
        names.names['once.example.org'] = '11.0.0.2'
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        names.asked.clear()
        for _ in range(20):
            dialer.ask('once.example.org', port)
        for _ in range(20):
            _, error, connection = dialer.answer()
            self.assertEqual(error, 0)
            connection.close()
        self.assertEqual(names.asked.count('once.example.org'), 2)  # A and AAAA

    def test_slow_names_hold_up_nobody(self):
        slow = ['slow%d.example.org' % number for number in range(8)]
        names.held += slow
        self.addCleanup(names.release)
        names.names['quick.example.org'] = '11.0.0.2'
        listener, _ = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        for name in slow:
            dialer.ask(name, 80)
        id = dialer.ask('quick.example.org', listener.getsockname()[1])
        answered, error, connection = dialer.answer()
        self.assertEqual((answered, error), (id, 0))
        connection.close()

    def test_more_names_than_are_looked_up_at_once_are_all_answered(self):
        for number in range(100):
            names.names['n%d.example.org' % number] = '12.0.0.1'
        dialer = self.dialer('open')
        threading.Thread(target=lambda: [dialer.ask('n%d.example.org' % number, 80) for number in range(100)]).start()
        self.assertEqual({dialer.answer()[1] for _ in range(100)}, {errno.EHOSTUNREACH})

    def resolver_of(self, dialer):
        found = [pid for pid in yett.processes() if yett.argv_of(pid) == ['yett-resolver'] and yett.is_alive(pid)
                 and os.readlink('/proc/%d/exe' % pid) == yett.run_of_process().path('helper/yett-resolver')]
        return min(found) if found else None  # the others are its children

    def test_a_resolver_that_was_killed_is_replaced_once_and_then_names_fail(self):
        names.names['a.example.org'] = names.names['b.example.org'] = '11.0.0.2'
        listener, port = self.listen('11.0.0.2')
        names.held.append('b.example.org')
        self.addCleanup(names.release)
        dialer = self.dialer('open')
        self.expect_connection(dialer, 'a.example.org', listener)
        first = self.resolver_of(dialer)
        id = dialer.ask('b.example.org', port)
        yett.wait_until(lambda: 'b.example.org' in names.asked, 'the question')
        os.kill(first, signal.SIGKILL)
        names.release()
        answered, error, connection = dialer.answer()  # what it was asked the other one has been asked, too
        self.assertEqual((answered, error), (id, 0))
        connection.close()
        yett.wait_until(lambda: self.resolver_of(dialer) not in (None, first), 'the other one')  # its parent may not have become one yet
        os.kill(self.resolver_of(dialer), signal.SIGKILL)
        self.assertEqual(dialer.dial('c.example.org', port), errno.EIO)
        self.assertEqual(dialer.told(FAILED).error, errno.EIO)
        self.expect_connection(dialer, '11.0.0.2', listener)

    def test_where_there_is_no_resolver_names_fail(self):
        dialer = self.dialer('open', resolver='/dev/null')
        self.assertEqual(dialer.dial('c.example.org', 80), errno.EIO)


class Captured(Dialing):
    """A name service that does what it should not."""

    def setUp(self):
        super().setUp()
        world.replace_library('libnss_hesiod.so.2', yett.run_of_process().path('tests/system/nss_probe.so'))
        world.write('nsswitch.conf', 'passwd: files\ngroup: files\nhosts: hesiod\n')
        self.addCleanup(world.write, 'nsswitch.conf', dialing.NSSWITCH)

    def test_it_changes_and_executes_no_file_signals_nobody_and_has_nothing_of_others(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        self.expect_connection(dialer, 'plain.example.org', listener, '11.0.0.2')  # it is asked
        version, process = yett.landlock_abi(), self.user.popen(('sleep', 'infinity'))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for name, least in (('write', 2), ('execute', 2), ('signal.p%d' % process.pid, 6)):
            with self.subTest(name):  # for any other program of the user it works
                plain = self.user.popen(('getent', 'ahostsv4', name + '.example.org'), stdout=subprocess.PIPE)
                self.assertIn(b'11.0.0.2', plain.communicate()[0])
                if version >= least:
                    self.assertEqual(dialer.dial(name + '.example.org', port), errno.ECONNREFUSED)  # 11.0.0.3: nobody listens there
        self.assertEqual(dialer.dial('descriptors.example.org', port), errno.ECONNREFUSED)

    def test_one_that_crashes_or_hangs_costs_its_own_name_only(self):
        listener, port = self.listen('11.0.0.2')
        dialer = self.dialer('open')
        for number in range(4):
            self.assertEqual(dialer.dial('crash.n%d.example.org' % number, port), errno.EIO)
        for number in range(10):
            dialer.ask('hang.n%d.example.org' % number, port)
        self.expect_connection_between(dialer, 'plain.example.org', listener)

    def expect_connection_between(self, dialer, where, listener):
        id = dialer.ask(where, listener.getsockname()[1])
        answered, error, connection = dialer.answer()
        self.assertEqual((answered, error), (id, 0))
        connection.close()


class Confined(Dialing):
    def look(self, dialer, ids):
        listener, port = self.listen('11.0.0.2')
        world.hosts(a_example_org='11.0.0.2')
        self.expect_connection(dialer, 'a.example.org', listener)
        below = yett.children_of(dialer.pid)
        found = {'dialer': dialer.pid, 'resolver': below[0], 'keeper': yett.children_of(below[0])[0]}
        self.assertEqual([yett.argv_of(pid)[0] for pid in found.values()], ['yett-dialer', 'yett-resolver', 'yett-dialer'])
        for name, pid in found.items():
            status = yett.status_of(pid)
            with self.subTest(name):
                self.assertEqual((status['Uid'].split(), status['Gid'].split(), status['Groups'].split()),
                                 ([str(self.user.uid)] * 4, [str(self.user.gid)] * 4, ids))
                self.assertEqual({status[kind] for kind in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')}, {'0' * 16})
                self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2' if name == 'dialer' else '0'))
                self.assertEqual(status['Seccomp_filters'], '1' if name == 'dialer' else '0')
                self.assertEqual(os.stat('/proc/%d/fd' % pid).st_uid, 0)  # undumpable
        limits = yett.read('/proc/%d/limits' % dialer.pid)
        self.assertRegex(limits, r'Max file size +0 +0 ')
        self.assertRegex(limits, r'Max core file size +[01] +[01] ')
        return found

    def test_started_as_root_it_is_the_caller_for_good(self):
        self.user.groups = [1234, 1235]
        self.addCleanup(setattr, self.user, 'groups', [])
        found = self.look(self.dialer('open'), ['1234', '1235'])
        for pid in found.values():
            self.assertEqual(yett.status_of(pid)['CapBnd'], '0' * 16)
        self.assertEqual([os.readlink('/proc/%d/fd/%s' % (found['resolver'], fd))[:6] for fd in sorted(os.listdir('/proc/%d/fd' % found['resolver']))][:1],
                         ['socket'])
        self.assertEqual(len(os.listdir('/proc/%d/fd' % found['resolver'])), 3)
        # The process that forked the keeper is the resolver already when the keeper has yet to close that one's socket.
        yett.wait_until(lambda: len(os.listdir('/proc/%d/fd' % found['keeper'])) <= 5, 'the keeper without the socket that the resolver has')
        self.assertEqual(len(os.listdir('/proc/%d/fd' % found['keeper'])), 5)  # with the program of the resolver

    def test_started_by_the_caller_it_stays_the_caller(self):
        self.look(self.dialer('open', own=True), [])

    def test_who_cannot_become_the_caller_serves_nobody(self):
        dialer = self.dialer('open', own=True, uid=self.user.uid + 1)
        self.assertEqual(dialer.process.wait(yett.DEADLINE), dialing.STAGE_IDS)

    def test_a_plan_of_another_version_is_not_gone_by(self):
        user, group = str(self.user.uid), str(self.user.gid)
        self.assertIsNone(self.dialer('open', plan=(user, user, group)).process.poll())
        for more in ((), ('0', '0', '0')):
            dialer = self.dialer('open', plan=('--other-shape', *(more or (user, user, group))))
            self.assertEqual(dialer.process.wait(yett.DEADLINE), dialing.STAGE_PLAN)

    def test_nobody_but_root_is_served_as_root(self):
        self.assertIsNone(self.dialer('open', plan=('0', '0', '0')).process.poll())
        dialer = self.dialer('open', plan=(str(self.user.uid), '0', '0'))
        self.assertEqual(dialer.process.wait(yett.DEADLINE), dialing.STAGE_PLAN)


if __name__ == '__main__':
    yett.main()
