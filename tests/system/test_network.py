# SPDX-License-Identifier: Apache-2.0
"""A network with an allow-list, as who uses it sees it: the real programs, and a world to connect to."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

import world
import yett

HTTP = 8080
GOOD = 'good.example:%d' % HTTP

# What a connection came to: bytes that were received, or an error's name.
CONNECT = r'''
import errno, socket, sys
def one(host, port, family=0):
    try:
        with socket.create_connection((host, port), DEADLINE) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            data = b""
            while True:
                more = s.recv(4096)
                if not more:
                    return data.split(b"\n")[-2].decode() if data else "closed"
                data += more
    except socket.gaierror as e:
        return "no such name" if e.errno in (socket.EAI_NONAME, socket.EAI_NODATA) else str(e)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    print(one(host.strip("[]"), int(port)))
'''.replace('DEADLINE', str(yett.DEADLINE))


class Network(yett.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = world.serve(HTTP, 8081, 53, 443)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)

    def connect(self, *targets, allow=(), options=(), **more):
        options = [*(word for rule in allow for word in ('--allow', rule)), *options]
        return self.python(CONNECT, *targets, options=options, **more).split('\n')[:-1]

    def wait_for_names(self):
        """Those of the test before are free again."""
        yett.wait_until(lambda: not self.yett('ps', '-q').out, 'the end of all sandboxes')

    def assert_connects(self, allow, reached, options=(), **more):
        """`reached`: what each target came to."""
        self.assertEqual(dict(zip(reached, self.connect(*reached, allow=allow, options=options, **more))), reached)


    @staticmethod
    def roles(name):
        """The processes that supervisors have started as this."""
        return [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == [name] and yett.argv_of(yett.parent_of(pid))[:1] not in (['yett-dialer'], ['yett-resolver'])]


class Limited(Network):
    def test_without_rules_there_is_no_network(self):
        self.assert_connects([], {world.GOOD4 + ':8080': 'ENETUNREACH', '127.0.0.1:1': 'ECONNREFUSED'})
        self.assertEqual(self.shell('cat /etc/resolv.conf'), '# no network\n')
        self.assertEqual(self.shell('ls /sys/class/net 2>/dev/null; cut -d: -f1 /proc/net/dev | tail -n +3').split(), ['lo'])

    def test_what_is_allowed_is_reached_and_nothing_else(self):
        self.assert_connects([GOOD], {
            'good.example:8080': 'served at ' + world.GOOD4, 'other.example:8080': 'no such name', 'good.example:8081': 'ECONNRESET',
            world.GOOD4 + ':8080': 'ECONNRESET', '[%s]:8080' % world.GOOD6: 'ECONNRESET', 'www.good.example:8080': 'no such name'})

    def test_each_family_by_itself(self):
        for name, at in (('v4.example', world.GOOD4), ('v6.example', world.GOOD6)):
            with self.subTest(name):
                self.assert_connects([name], {name + ':8080': 'served at ' + at})

    def test_wildcards(self):
        self.assert_connects(['*.good.example'], {
            'www.good.example:8080': 'served at ' + world.GOOD4, 'good.example:8080': 'no such name', 'a.b.good.example:8080': 'no such name'})
        self.assert_connects(['**.good.example:8080'], {'a.b.good.example:8080': 'served at ' + world.GOOD4, 'www.good.example:8081': 'ECONNRESET'})
        self.assert_connects(['*:8081'], {'other.example:8081': 'served at ' + world.OTHER4, 'other.example:8080': 'ECONNRESET',
                                          world.OTHER4 + ':8081': 'served at ' + world.OTHER4})

    def test_names_that_are_reserved_are_reached_by_no_wildcard(self):
        self.addCleanup(world.hosts)
        world.hosts(key_inject_internal=world.GOOD4, inject_internal=world.GOOD4, other_internal=world.GOOD4)
        for options in (['--allow', '*'], ['--allow', '**.internal'], ['--allow', '*', '--allow', '*.internal'], ['--net', 'open']):
            with self.subTest(options=options):
                self.assert_connects([], {'key.inject.internal:8080': 'no such name', 'inject.internal:8080': 'no such name',
                                          'other.internal:8080': 'served at ' + world.GOOD4}, options=options)

    def test_what_is_denied_is_denied_whatever_is_allowed(self):
        self.assert_connects(['*'], {'other.example:8080': 'no such name', 'good.example:8080': 'served at ' + world.GOOD4},
                             options=['--deny', 'other.example'])
        self.assert_connects(['*'], {'v4.example:8080': 'ECONNRESET', 'v6.example:8080': 'served at ' + world.GOOD6},
                             options=['--deny', world.GOOD4 + '/32'])

    def test_private_addresses_are_reached_where_a_rule_names_them(self):
        self.assert_connects(['*'], {'private.example:8080': 'ECONNRESET', world.PRIVATE4 + ':8080': 'ECONNRESET'})
        self.assert_connects(['db.internal:8080@10.83.0.0/24'], {'db.internal:8080': 'served at ' + world.PRIVATE4,
                                                                 'private.example:8080': 'no such name'})
        self.assert_connects(['10.83.0.0/24:8080'], {world.PRIVATE4 + ':8080': 'served at ' + world.PRIVATE4, 'private.example:8080': 'no such name'})

    def test_private_addresses_are_reached_by_any_name_where_the_grant_lets_a_request_ask_for_that(self):
        done = self.sandbox('true', options=['--allow', '*', '--allow-private'])
        self.assertEqual(done.code, 125, done)
        self.assertIn("allow_private of grant", done.err)

    def test_this_host_and_the_metadata_of_clouds_are_not_reached_by_any_name(self):
        with contextlib.ExitStack() as stack:
            for address in ('127.0.0.1', world.HOST4, world.HOST6): # whoever connects there is not refused by the kernel
                stack.enter_context(socket.create_server((address, 8082), family=socket.AF_INET6 if ':' in address else socket.AF_INET))
            self.assert_connects(['*', '10.0.0.0/8', 'fc00::/7'], {
                'rebound.example:8082': 'ECONNRESET', 'host.example:8082': 'ECONNRESET', world.HOST4 + ':8082': 'ECONNRESET',
                '[%s]:8082' % world.HOST6: 'ECONNRESET', 'metadata.example:8080': 'ECONNRESET', world.METADATA + ':8080': 'ECONNRESET',
                '0.0.0.1:8082': 'ECONNRESET', '[64:ff9b::7f00:1]:8082': 'ECONNRESET', '[2002:7f00:1::]:8082': 'ECONNRESET'})

    def test_a_name_with_a_good_and_a_bad_address_leads_to_the_good_one(self):
        self.assert_connects(['mixed.example'], {'mixed.example:8080': 'served at ' + world.OTHER4})

    def test_a_name_that_leads_elsewhere_a_moment_later(self):
        self.addCleanup(world.hosts)
        process = self.start('python3', '-c', CONNECT.split('for target in')[0] + 'for line in sys.stdin: print(one("moves.example", 8080), flush=True)',
                             options=['--allow', 'moves.example'])
        world.hosts(moves_example=world.GOOD4)
        process.stdin.write(b'\n')
        process.stdin.flush()
        self.assertEqual(self.line(process), 'served at ' + world.GOOD4)
        world.hosts(moves_example='127.0.0.1')
        yett.wait_until(lambda: self.ask(process) == 'ECONNRESET', 'the new address')

    def ask(self, process):
        process.stdin.write(b'\n')
        process.stdin.flush()
        return self.line(process)

    def test_who_ends_its_own_way_first_hears_the_end_and_no_reset(self):
        """The other side ends its way then, and the front hears of that while the kernel is about it: so it is done often."""
        script = r'''
import socket
for _ in range(3000):
    with socket.create_connection(("good.example", 8080)) as s:
        s.sendall(b"hold")
        assert s.recv(4) == b"held"
        s.shutdown(socket.SHUT_WR)
        assert s.recv(1) == b""
print("done")
'''
        self.assertEqual(self.python(script, options=['--allow', GOOD]), 'done\n')

    def test_servers_inside_work_also_where_connections_are_caught(self):
        script = r'''
import socket, threading
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "198.18.0.1")):
    with socket.create_server((address, 8080), family=family) as server, socket.create_connection((address, 8080)) as client:
        inner, _ = server.accept()
        inner.sendall(b"mine")
        print(client.recv(4).decode())
with socket.create_server(("0.0.0.0", 8080)) as server, socket.create_connection(("good.example", 8080)) as client:
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print(client.recv(4096).split(b"\n")[-2].decode())
'''
        self.assertEqual(self.python(script, options=['--allow', GOOD]).split('\n')[:-1], ['mine'] * 3 + ['served at ' + world.GOOD4])

    def test_its_addresses_are_told(self):
        process = self.start('sh', '-c', 'echo ready; read line; cat /proc/net/fib_trie /proc/net/if_inet6', options=['--name', 'addressed', '--allow', GOOD])
        self.assertEqual(self.line(process), 'ready')
        box = yett.told(self.yett('inspect', '--json', 'addressed').out)['sandbox']
        self.assertEqual((box['network'], box['addresses']), ('limited', ['198.18.0.1', 'fd79:6574:7400::1']))
        self.assertRegex(self.yett('inspect', 'addressed').out, r'(?m)^network +limited, 198\.18\.0\.1, fd79:6574:7400::1$')
        out = process.communicate(b'\n', timeout=yett.DEADLINE)[0].decode()
        self.assertRegex(out, r'198\.18\.0\.1\n')
        self.assertIn('fd796574740000000000000000000001', out)
        plain = self.start('sh', '-c', 'echo ready; read line', options=['--name', 'plain'])
        self.assertEqual(self.line(plain), 'ready')
        box = yett.told(self.yett('inspect', '--json', 'plain').out)['sandbox']
        self.assertEqual((box['network'], box['addresses']), ('none', []))

    def test_other_packets_are_refused(self):
        script = r'''
import errno, socket
for family, kind, address in ((socket.AF_INET, socket.SOCK_DGRAM, ("93.184.216.34", 443)), (socket.AF_INET6, socket.SOCK_DGRAM, ("2606:4700::34", 443))):
    with socket.socket(family, kind) as s:
        s.settimeout(DEADLINE)
        try:
            s.connect(address)
            s.send(b"x")
            print(s.recv(10))
        except OSError as e:
            print(errno.errorcode.get(e.errno, e))
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_INET, socket.SOCK_DGRAM, 1), (40, socket.SOCK_STREAM, 0)):
    try:
        socket.socket(family, kind, protocol).close()
        print("made")
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
# Multipath TCP, SCTP, datagrams of UDP-Lite: some can be made, and none gets anywhere
for kind, protocol in ((socket.SOCK_STREAM, 262), (socket.SOCK_STREAM, 132), (socket.SOCK_DGRAM, 136)):
    try:
        with socket.socket(socket.AF_INET, kind, protocol) as s:
            s.settimeout(DEADLINE)
            s.connect(("151.101.1.10", 8080))
            s.send(b"GET / HTTP/1.0\r\n\r\n")
            print("got", s.recv(100))
    except OSError as e:
        print("nothing")
'''
        lines = self.python(script.replace('DEADLINE', str(yett.DEADLINE)), options=['--allow', 'good.example']).split('\n')[:-1]
        self.assertEqual(lines[:2], ['ECONNREFUSED'] * 2)
        self.assertNotIn('made', lines[2:6])
        self.assertEqual(lines[6:], ['nothing'] * 3)

    def test_names_are_answered_by_whatever_server_is_asked_and_with_nothing_but_addresses(self):
        script = r'''
import socket, struct
def ask(name, kind, server, stream=False):
    query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
    if stream:
        with socket.create_connection((server, 53), DEADLINE) as s:
            s.sendall(struct.pack(">H", len(query)) + query)
            return s.recv(4096)[2:]
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(DEADLINE)
        s.connect((server, 53))
        s.send(query)
        return s.recv(4096)
for name, kind, server, stream in (("good.example", 1, "198.18.0.2", False), ("good.example", 1, "8.8.8.8", False), ("good.example", 28, "2001:4860::8888", False),
                                   ("good.example", 1, "1.1.1.1", True), ("good.example", 16, "8.8.8.8", False), ("good.example", 65, "8.8.8.8", False),
                                   ("other.example", 1, "8.8.8.8", False), ("x" * 60 + ".tunnel.example", 16, "8.8.8.8", False)):
    answer = ask(name, kind, server, stream)
    print(answer[3] & 15, struct.unpack(">H", answer[6:8])[0])
'''
        self.assertEqual(self.python(script.replace('DEADLINE', str(yett.DEADLINE)), options=['--allow', GOOD]).split('\n')[:-1], ['0 1'] * 4 + ['0 0'] * 2 + ['3 0'] * 2)

    def test_open_is_all_but_private(self):
        self.assert_connects([], {'other.example:8080': 'served at ' + world.OTHER4, 'private.example:8080': 'ECONNRESET', world.OTHER4 + ':443': 'served at ' + world.OTHER4},
                             options=['--net', 'open'])
        self.assert_connects([], {'other.example:8080': 'no such name', 'good.example:8080': 'served at ' + world.GOOD4},
                             options=['--net', 'open', '--deny', 'other.example'])

    BULK = r'''
import hashlib, os, socket, threading
with socket.create_connection(("good.example", 8080)) as s:
    s.sendall(b"echo")
    assert s.recv(4) == b"echo"
    data = os.urandom(1 << 20) * 48
    threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
    got = hashlib.sha256()
    count = 0
    while True:
        more = s.recv(1 << 20)
        if not more:
            break
        got.update(more)
        count += len(more)
    print(count == len(data), got.digest() == hashlib.sha256(data).digest())
'''

    def test_much_goes_through_in_both_directions_and_unchanged(self):
        self.assertEqual(self.python(Limited.BULK, options=['--allow', GOOD]), 'True True\n')

    def test_who_serves_it_has_no_privilege(self):
        process = self.start('sh', '-c', 'echo ready; read line', options=['--allow', GOOD])
        self.assertEqual(self.line(process), 'ready')
        yett.wait_until(lambda: len(self.roles('yett-front')) == len(self.roles('yett-dialer')) == 1, 'that both are what they are to be')
        (front,), (dialer,) = self.roles('yett-front'), self.roles('yett-dialer')
        yett.wait_until(lambda: all(yett.status_of(pid).get('Seccomp') == '2' for pid in (front, dialer)), 'that both are locked down')
        keepers = [pid for pid in yett.processes() if yett.parent_of(pid) == dialer]
        self.assertEqual(len(keepers), 1)
        for pid in (front, dialer, *keepers):
            status = yett.status_of(pid)
            with self.subTest(yett.argv_of(pid)):
                self.assertEqual([status[key] for key in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')], ['0' * 16] * 5)
                self.assertEqual(status['NoNewPrivs'], '1')
                self.assertEqual(status['Seccomp'], '0' if pid in keepers else '2') # what looks names up is whatever the host has for that
                self.assertEqual(set(status['Uid'].split()) == {str(self.alice.uid)}, pid != front)
        self.assertGreater(int(yett.status_of(front)['Uid'].split()[0]), 65536)


ASKER = CONNECT.split('for target in')[0] + '''
print("ready", flush=True)
for line in sys.stdin:
    host, port = line.split()
    print(one(host, int(port)), flush=True)
'''


class Ahead(Network):
    service_options = {'spares': 1}

    def make_ahead(self, options):
        """A supervisor that has made one of these makes the next one ahead, unless there is another supervisor already."""
        yett.wait_until(lambda: self.output('true', options=options) == '' and self.roles('yett-front') and self.roles('yett-dialer'), 'one that is made ahead')

    def test_what_the_one_before_was_allowed_the_next_one_is_not(self):
        """It is made ahead, with all that serves its network, and waits for a request: whatever that is, it counts."""
        for _ in range(3):
            for allowed, other, at in (('good.example', 'other.example', world.GOOD4), ('other.example', 'good.example', world.OTHER4)):
                script = 'curl -4s http://%s:8080/; curl -s http://%s:8080/ || echo none' % (allowed, other)
                self.make_ahead(['--allow', other + ':8080'])
                self.assertEqual(self.output('sh', '-c', script, options=['--allow', allowed + ':8080']), 'served at %s\nnone\n' % at)
            self.make_ahead(['--allow', GOOD])
            self.assertEqual(self.output('sh', '-c', 'curl -s http://good.example:8080/ || echo none'), 'none\n')


class Changed(Network):
    """Rules that change while the sandbox runs."""

    def setUp(self):
        self.wait_for_names()

    def box(self, *options):
        process = self.start('python3', '-c', ASKER, options=['--name', 'live', *options])
        self.assertEqual(self.line(process), 'ready')
        return process

    def ask(self, process, target):
        process.stdin.write(target.replace(':', ' ').encode() + b'\n')
        process.stdin.flush()
        return self.line(process)

    def net(self, *argv, user=None):
        done = self.yett('net', *argv, user=user or self.alice)
        self.assertEqual(done.code, 0, done)
        return done.out

    def assert_refused(self, text, *argv, user=None):
        done = self.yett('net', *argv, user=user or self.alice)
        self.assertEqual(done.code, 1, done)
        self.assertIn(text, done.err)

    def until(self, process, target, wanted):
        """The front hears of other rules a moment after who changed them."""
        yett.wait_until(lambda: self.ask(process, target) == wanted, '%s: %s' % (target, wanted))


class Live(Changed):
    def test_what_is_allowed_and_denied_meanwhile_counts_from_then_on(self):
        process = self.box('--net', 'limited')
        self.assertEqual(self.ask(process, 'good.example:8080'), 'no such name')
        self.net('allow', 'live', 'good.example:8080', '*.other.example')
        self.until(process, 'good.example:8080', 'served at ' + world.GOOD4)
        self.assertEqual(self.ask(process, 'good.example:8081'), 'ECONNRESET')
        self.net('deny', 'live', 'good.example:8080')
        self.until(process, 'good.example:8080', 'no such name')
        self.net('allow', 'live', 'good.example:8080')  # the last word about a rule counts
        self.until(process, 'good.example:8080', 'served at ' + world.GOOD4)

    def test_connections_that_are_no_longer_allowed_are_cut(self):
        process = self.start('python3', '-c', '''
import socket
with socket.create_connection(("good.example", 8080)) as s, socket.create_connection(("v6.example", 8080)) as other:
    for one in s, other:
        one.sendall(b"echo")
        assert one.recv(4) == b"echo"
    print("up", flush=True)
    try:
        print(s.recv(1), flush=True)
    except OSError as e:
        print("cut", e.errno, flush=True)
    other.sendall(b"more")
    print(other.recv(4).decode(), flush=True)
''', options=['--name', 'live', '--allow', GOOD, '--allow', 'v6.example'])
        self.assertEqual(self.line(process), 'up')
        self.net('deny', 'live', 'good.example')
        self.assertIn(self.line(process), ('cut 104', "b''"))
        self.assertEqual(self.line(process), 'more')

    def test_what_it_goes_by_is_told_with_where_each_rule_is_from(self):
        self.box('--allow', GOOD, '--deny', '*.good.example')
        self.net('allow', 'live', 'v4.example', '10.83.0.0/24:1-9')
        rows = [line.split(None, 2) for line in self.net('show', 'live').splitlines()]
        self.assertEqual(rows, [['allow', GOOD, 'asked for'], ['deny', '*.good.example', 'asked for'], ['allow', 'v4.example', 'asked for'],
                                ['allow', '10.83.0.0/24:1-9', 'asked for']])
        told = yett.told(self.net('show', '--json', 'live'))['rules']
        self.assertEqual([(rule['list'], rule['rule'], rule['asked'], rule['file']) for rule in told],
                         [(row[0], row[1], True, None) for row in rows])

    def test_what_cannot_be_is_refused(self):
        self.box('--allow', GOOD)
        for text, argv in (
                ('there is no sandbox', ('show', 'none')), ('there is no sandbox', ('allow', 'none', 'a.example')),
                ("yett net has no 'add'", ('add', 'live', 'a.example')), ('takes other operands', ('allow', 'live')), ('takes other operands', ('show', 'live', 'x')),
                ('allow ', ('allow', 'live', 'a..b')), ('deny ', ('deny', 'live', 'a.example:70000')),
                ("allows nothing", ('allow', 'live', '169.254.169.254'))):
            with self.subTest(argv):
                self.assert_refused(text, *argv)
        self.assertEqual(len(self.net('show', 'live').splitlines()), 1)
        self.assert_refused('there is no sandbox', 'allow', 'live', 'a.example', user=self.bob)
        identity = self.yett('ps', '-q').out.strip()
        self.assert_refused("only the owner may control a sandbox's network", 'show', identity, user=yett.Root(self.service.folder))

    def test_one_without_a_network_is_given_none(self):
        process = self.start('sh', '-c', 'echo up; read line', options=['--name', 'alone'])
        self.assertEqual(self.line(process), 'up')
        self.assert_refused('has no network', 'allow', 'alone', 'good.example')
        self.assert_refused('has no network', 'show', 'alone')

    def test_many_who_change_rules_at_once_lose_none(self):
        self.box('--net', 'limited')
        clients = [self.service.popen(self.alice, self.service.yett, 'net', 'allow', 'live', 'n%d.example' % i, stderr=subprocess.PIPE) for i in range(6)]
        for client in clients:
            self.assertEqual(client.communicate()[1], b'')
        self.assertEqual({line.split()[1] for line in self.net('show', 'live').splitlines()}, {'n%d.example' % i for i in range(6)})

    def test_more_rules_than_a_request_may_have(self):
        self.box('--net', 'limited')
        self.net('allow', 'live', *('n%d.example' % i for i in range(256)))
        self.assert_refused('more than the 256 rules', 'allow', 'live', 'one.example')
        self.net('deny', 'live', 'n1.example')
        self.assertEqual(len(self.net('show', 'live').splitlines()), 256)

    def test_where_the_policy_allows_less_by_now_more_can_be_denied_and_nothing_kept(self):
        process = self.box('--allow', 'good.example:8080', '--allow', 'v4.example:8080')
        self.change_policy(before='grant "less" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"v4.example"} }\n')
        self.assert_refused("does not let requests allow 'good.example:8080'", 'allow', 'live', 'v4.example:8081')
        self.net('deny', 'live', 'other.example')
        self.until(process, 'good.example:8080', 'no such name')
        self.assertEqual(self.ask(process, 'v4.example:8080'), 'served at ' + world.GOOD4)
        self.assertEqual([line.split()[:2] for line in self.net('show', 'live').splitlines()], [['allow', 'v4.example:8080'], ['deny', 'other.example']])

    def test_a_network_that_is_started_again_has_the_rules_as_they_are_then(self):
        process = self.box('--net', 'limited')
        self.net('allow', 'live', 'good.example:8080')
        os.kill(self.roles('yett-front')[0], signal.SIGKILL)
        self.until(process, 'good.example:8080', 'served at ' + world.GOOD4)

    def test_one_that_is_paused_goes_on_with_other_rules(self):
        process = self.box('--net', 'limited')
        self.assertEqual(self.yett('pause', 'live').code, 0)
        self.net('allow', 'live', 'good.example:8080')
        self.assertEqual(self.yett('resume', 'live').code, 0)
        self.until(process, 'good.example:8080', 'served at ' + world.GOOD4)


class Asked(Changed):
    """What no rule allows, and the policy would let one allow, waits for somebody to say so."""

    def note(self, process):
        line = process.stderr.readline().decode()
        while 'network:' not in line:
            self.assertTrue(line)
            line = process.stderr.readline().decode()
        return line

    def begin(self, process, target):
        process.stdin.write(target.replace(':', ' ').encode() + b'\n')
        process.stdin.flush()

    def test_it_waits_and_goes_on_when_it_is_allowed(self):
        process = self.box('--net', 'ask')
        self.begin(process, 'good.example:8080')
        self.assertIn('waits for good.example:8080; allow it with yett net allow', self.note(process))
        self.net('allow', 'live', 'v4.example')  # about another one
        self.net('allow', 'live', 'good.example:8080')
        self.assertEqual(self.line(process), 'served at ' + world.GOOD4)
        self.assertEqual(self.ask(process, 'good.example:8080'), 'served at ' + world.GOOD4)

    def test_it_waits_and_is_reset_when_it_is_denied(self):
        process = self.box('--net', 'ask')
        self.begin(process, 'good.example:8080')
        self.note(process)
        self.net('deny', 'live', 'good.example')
        self.assertEqual(self.line(process), 'ECONNRESET')

    def test_nobody_says_anything(self):
        process = self.box('--net', 'ask')
        self.assertEqual(self.ask(process, 'good.example:8080'), 'ECONNRESET')
        self.net('allow', 'live', 'good.example:8080')  # a later answer serves the next attempt
        self.assertEqual(self.ask(process, 'good.example:8080'), 'served at ' + world.GOOD4)
        out, err = process.communicate(timeout=yett.DEADLINE)
        self.assertIn('network: denied good.example:8080; allow with --allow good.example:8080', err.decode())

    def test_an_address_that_the_name_leads_to_is_asked_about_with_it(self):
        process = self.box('--net', 'ask')
        self.begin(process, 'private.example:8080')
        self.assertRegex(self.note(process), 'allow [0-9a-f]{16} private.example:8080\n')
        self.net('allow', 'live', 'private.example:8080')
        self.assertEqual(self.line(process), 'ECONNRESET')  # the grant lets nobody allow private addresses by any name

    def test_what_the_grant_would_not_allow_is_denied_at_once(self):
        process = self.box('--net', 'ask')
        self.assertEqual(self.ask(process, world.METADATA + ':8080'), 'ECONNRESET')
        self.assertEqual(self.ask(process, 'metadata.example:8080'), 'ECONNRESET')

class Private(Network):
    service_options = {'before': 'grant "office" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"*"} allow_private = true }\n'}

    def test_names_lead_to_private_addresses_and_not_to_metadata_nor_to_this_host(self):
        self.assert_connects(['*'], {'private.example:8080': 'served at ' + world.PRIVATE4, 'metadata.example:8080': 'ECONNRESET',
                                     'host.example:8080': 'ECONNRESET'}, options=['--allow-private'])
        self.assert_connects(['*'], {'private.example:8080': 'ECONNRESET'})

    def test_rules_that_change_leave_it_as_it_is(self):
        process = self.start('python3', '-c', ASKER, options=['--name', 'live', '--net', 'limited', '--allow-private'])
        self.assertEqual(self.line(process), 'ready')
        self.assertEqual(self.yett('net', 'allow', 'live', 'private.example').code, 0)
        def ask():
            process.stdin.write(b'private.example 8080\n')
            process.stdin.flush()
            return self.line(process)
        yett.wait_until(lambda: ask() == 'served at ' + world.PRIVATE4, 'what is private')


class Local(Network):
    service_options = {'before': 'grant "local" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"*", "127.0.0.0/8"} }\n'}

    def test_a_server_of_this_host_is_reached_by_a_name_bound_to_its_address(self):
        rule = 'rebound.example:8082@127.0.0.1'
        with socket.create_server(('127.0.0.1', 8082)) as server:
            server.settimeout(yett.DEADLINE)
            process = self.start('python3', '-c', CONNECT, 'rebound.example:8082', '127.0.0.1:8082', options=['--allow', rule, '--allow', '127.0.0.1:8082'])
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)  # what is not read would make its end a reset
                connection.sendall(b'of the host\n')
            out, told = (text.decode() for text in process.communicate(timeout=yett.DEADLINE))
        self.assertEqual(out, 'of the host\nECONNREFUSED\n')
        self.assertIn('--allow 127.0.0.1:8082: inside, this is the sandbox itself', told)
        self.assertNotIn('--allow %s: inside' % rule, told)


class Told(Network):
    unlisted = 'ECONNRESET'

    def follow(self, name):
        process = self.service.popen(self.alice, self.service.yett, 'events', '--json', name, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(yett.told(process.stdout.readline().decode())['event'], 'followed')
        return process

    def until(self, process, event):
        while True:
            line = yett.told(process.stdout.readline().decode())
            if line['event'] == event:
                return line

    def test_connections_and_those_that_were_not_allowed_are_events_and_counted(self):
        box = self.start('python3', '-c', CONNECT.split('for target in')[0] +
                         'print("ready", flush=True)\nfor line in sys.stdin: host, port = line.split(); print(one(host, int(port)), flush=True)',
                         options=['--name', 'told', '--allow', GOOD])
        self.assertEqual(self.line(box), 'ready')
        events = self.follow('told')

        def ask(text):
            box.stdin.write(text.encode() + b'\n')
            box.stdin.flush()
            return self.line(box)

        self.assertEqual(ask('good.example 8080'), 'served at ' + world.GOOD4)
        made = self.until(events, 'connected')
        self.assertEqual((made['peer']['name'], made['peer']['address'], made['peer']['port']), ('good.example', world.GOOD4, 8080))
        self.assertEqual((made['peer']['rule'], made['peer']['place']), (GOOD, 'the request'))
        ended = self.until(events, 'disconnected')
        self.assertEqual(ended['peer']['sent_bytes'], 18)
        self.assertGreater(ended['peer']['received_bytes'], 50)
        self.assertEqual(ask('other.example 8080'), 'no such name')
        blocked = self.until(events, 'blocked')
        self.assertEqual((blocked['peer']['name'], blocked['peer']['port'], blocked['peer']['why']), ('other.example', None, 'no rule allows it'))
        self.assertEqual((blocked['peer']['rule'], blocked['peer']['place']), (None, None))
        self.assertEqual(ask(world.OTHER4 + ' 8080'), 'ECONNRESET')
        blocked = self.until(events, 'blocked')
        self.assertEqual((blocked['peer']['name'], blocked['peer']['address'], blocked['peer']['port']), (None, world.OTHER4, 8080))
        self.assertEqual(ask('good.example 9999'), self.unlisted)
        usage = yett.told(self.yett('stats', '--json', 'told').out)['sandboxes'][0]
        self.assertEqual((usage['connections'], usage['connected'], usage['sent_bytes']), (0, 1, 18))
        self.assertGreaterEqual(usage['blocked'], 2)
        head, row = (line.split() for line in self.yett('stats', 'told').out.splitlines())
        self.assertEqual((head[11:14], row[11:13], row[13] != '-'), (['CONNS', 'SENT', 'RECV'], ['0', '18'], True))
        box.stdin.close()
        self.assertEqual(box.wait(yett.DEADLINE), 0)


class Rested(Network):
    """The rule that a connection or its denial rests on, and where it stands."""

    POLICY = '''
profile "ruled" { extends = "default" network = limited
  allow = {"**.good.example",
           "other.example:8080"}
}
grant "ruled" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"*"}
  deny = {"www.good.example"}
}
'''
    service_options = {'before': POLICY}

    def test_it_is_told_with_the_line_of_the_policy(self):
        process = self.start('python3', '-c', 'import sys\nprint("ready", flush=True)\nsys.stdin.readline()\n' + CONNECT, 'other.example:8080', 'a.b.good.example:8080',
                             'www.good.example:8080', 'other.example:8081', options=['-p', 'ruled', '--name', 'ruled', '--deny', '*:8081'])
        self.assertEqual(self.line(process), 'ready')
        told = {}
        with contextlib.closing(self.follow('ruled')) as lines:
            process.stdin.write(b'\n')
            process.stdin.close()
            for line in lines:
                if line.get('peer') and line['event'] in ('connected', 'blocked'):
                    peer = line['peer']
                    told['%s:%s' % (peer['name'], peer['port'])] = (line['event'], peer['rule'], peer['place'])
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        place = lambda text: '%s:%d' % (self.service.policy, self.service.line(text))
        self.assertEqual(told, {
            'other.example:8080': ('connected', 'other.example:8080', place('"other.example:8080"}')),
            'a.b.good.example:8080': ('connected', '**.good.example', place('allow = {"**.good.example"')),
            'www.good.example:None': ('blocked', 'www.good.example', place('deny = {"www.good.example"}')),
            'other.example:8081': ('blocked', '*:8081', 'the request')})

    def follow(self, name):
        """What is told of it, until it ends."""
        done = self.service.popen(self.alice, self.service.yett, 'events', '--json', name, stdout=subprocess.PIPE)
        self.addCleanup(done.wait)
        self.addCleanup(done.kill)
        self.assertEqual(yett.told(done.stdout.readline().decode())['event'], 'followed')
        return (line for line in map(lambda text: yett.told(text.decode()), done.stdout) if 'event' in line)


class Explained(Network):
    """The rules in force, before there is a sandbox and of one that is there."""

    service_options = {'before': '''
profile "ruled" { extends = "default" network = limited
  allow = {"**.good.example",
           "other.example:8080"}
  deny = {"bad.good.example"}
  bandwidth_in = 10M
  connections = 64
}
grant "ruled" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"*"}
  deny = {"*:25"}
}
'''}

    def lines(self):
        place = lambda text: '%s:%d' % (self.service.policy, self.service.line(text))
        return ['allow e.example:22 (the request)', 'deny x.e.example (the request)', 'allow **.good.example (%s)' % place('allow = {"**.good.example"'),
                'allow other.example:8080 (%s)' % place('"other.example:8080"}'), 'deny bad.good.example (%s)' % place('deny = {"bad.good.example"}'),
                'deny *:25 (%s)' % place('deny = {"*:25"}'), 'in 10M a second', 'at most 64 connections']

    OPTIONS = ['-p', 'ruled', '--allow', 'e.example:22', '--deny', 'x.e.example']

    def test_a_dry_run_and_inspect_show_them(self):
        text = ' network        limited, ' + ', '.join(self.lines()) + '\n'
        self.assertIn(text, self.sandbox('true', options=['--dry-run', *self.OPTIONS]).out)
        box = self.start('sh', '-c', 'echo ready; read line', options=['--name', 'ruled', *self.OPTIONS])
        self.assertEqual(self.line(box), 'ready')
        self.assertIn(text, self.yett('inspect', 'ruled').out)
        plan = yett.told(self.yett('inspect', '--json', 'ruled').out)['sandbox']['plan']
        step, = (step for step in plan['steps'] if step['step'] == 'network')
        self.assertEqual((step['network'], step['rules']), ('limited', self.lines()))

    def test_the_policy_is_explained_with_them(self):
        def explain(*options):
            return self.service.run(self.alice, self.service.yett, 'policy', 'explain', *options, '--policy', self.service.policy, '--', *self.OPTIONS,
                                    env={'YETT_HELPER': self.service.helper})
        done = explain()
        self.assertEqual(done.code, 0, done)
        for line in self.lines()[2:6]:
            word, rule, place = line.split()
            section = 'grant' if rule == '*:25' else 'profile'
            self.assertIn("  %-15s %s: %s 'ruled' %s\n" % (word, rule, section, place), done.out)
        self.assertIn('  %-15s 64 at once, in 10M a second, out unlimited\n' % 'connections', done.out)
        told = yett.told(explain('--json').out)['network_of_policy']
        self.assertEqual([(rule['rule'], rule['deny']) for rule in told['rules']],
                         [('**.good.example', False), ('other.example:8080', False), ('bad.good.example', True), ('*:25', True)])
        self.assertEqual((told['connections'], told['bandwidth_in_bytes'], told['bandwidth_out_bytes'], told['allow_private']), (64, 10 << 20, None, False))

    def test_more_than_can_be_shown_are_counted(self):
        options = [word for i in range(200) for word in ('--allow', 'host-number-%d.example' % i)]
        self.assertRegex(self.sandbox('true', options=['--dry-run', *options]).out, r'network +limited, allow host-number-0\.example .*, and \d+ rules more, at most 256 connections\n')


class Log(Network):
    def setUp(self):
        self.wait_for_names()

    def log(self, *arguments):
        process = self.service.popen(self.alice, self.service.yett, 'net', 'log', *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def test_connections_and_denials_are_rows_until_the_sandbox_ends(self):
        box = self.start('python3', '-c', 'import sys\nprint("ready", flush=True)\nsys.stdin.readline()\n' + CONNECT, 'good.example:8080', 'other.example:8080',
                         'good.example:9', options=['--name', 'logged', '--allow', GOOD, '--allow', 'good.example:9'])
        self.assertEqual(self.line(box), 'ready')
        log, document = self.log('logged'), self.log('--json', 'logged')
        self.assertRegex(self.line(log), r'^TIME +SANDBOX +WHAT +COUNT +SENT +RECEIVED +HOST$')
        wanted = {'connected', 'disconnected', 'blocked', 'unreachable', 'ended'}
        self.assertRegex(self.line(log), r' logged +followed +0 +- +- *$')
        self.assertEqual(yett.told(document.stdout.readline().decode())['event'], 'followed')
        box.stdin.write(b'\n')
        box.stdin.close()
        rows = [row.split(None, 6) for row in log.communicate(timeout=yett.DEADLINE)[0].decode().splitlines()]
        self.assertEqual({row[2] for row in rows}, wanted)
        told = {row[2]: row for row in rows}
        self.assertEqual({row[1] for row in rows}, {'logged'})
        self.assertEqual(told['connected'][6], "good.example:8080 (%s) rule '%s' (the request)" % (world.GOOD4, GOOD))
        self.assertEqual((told['connected'][4:6], told['disconnected'][4]), (['-', '-'], '18'))
        self.assertEqual(told['blocked'][6], 'other.example no rule allows it')
        self.assertEqual(told['unreachable'][6], 'good.example:9 connection refused')
        lines = [yett.told(line) for line in document.communicate(timeout=yett.DEADLINE)[0].decode().splitlines()]
        self.assertEqual({line['event'] for line in lines if 'event' in line}, wanted)
        self.assertEqual(box.wait(yett.DEADLINE), 0)

    def test_what_waits_is_a_row_while_it_waits(self):
        box = self.start('python3', '-c', ASKER, options=['--name', 'logged', '--net', 'ask'])
        self.assertEqual(self.line(box), 'ready')
        log = self.log('logged')
        self.assertRegex(self.line(log), '^TIME ')
        self.assertRegex(self.line(log), ' followed ')
        box.stdin.write(b'good.example 8080\n')
        box.stdin.flush()
        self.assertRegex(self.line(log), r' logged +asked +1 +- +- +good\.example:8080')
        self.assertEqual(self.yett('net', 'allow', 'logged', GOOD).code, 0)
        self.assertEqual(self.line(box), 'served at ' + world.GOOD4)

    def test_what_is_not_there_is_refused(self):
        for arguments, message in ((['log', 'nosuch'], "there is no sandbox 'nosuch'"), (['lgo'], "yett net has no 'lgo'")):
            done = self.yett('net', *arguments)
            self.assertNotEqual(done.code, 0)
            self.assertIn(message, done.err)


class Closing(Network):
    """What a run tells at its end."""

    def notes(self, *targets, options, blocked):
        """It ends when so many denials have been told of, and with that what came before."""
        process = self.start('python3', '-c', CONNECT + 'print("all", flush=True)\nsys.stdin.readline()\n', *targets, options=['--name', 'notes', *options])
        while self.line(process) not in ('all', ''):
            pass
        yett.wait_until(lambda: yett.told(self.yett('stats', '--json', 'notes').out)['sandboxes'][0]['blocked'] >= blocked, 'word of all')
        _, err = process.communicate(b'\n', timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 0, err)
        self.wait_for_names()
        return [line for line in err.decode().split('\n') if 'network: ' in line]

    def test_what_was_denied_is_told_with_what_would_allow_it(self):
        self.assertEqual(self.notes('other.example:8080', 'good.example:8081', 'private.example:8080', options=['--allow', GOOD, '--allow', 'private.example'], blocked=3),
                         ['yett: network: denied other.example, good.example:8081, private.example:8080; allow with '
                          '--allow other.example --allow good.example:8081 --allow private.example:8080@' + world.PRIVATE4])

    def test_what_was_allowed_and_not_reached_is_told_with_the_reason(self):
        self.assertEqual(self.notes('v4.example:9', 'nowhere.invalid:80', world.OTHER4 + ':10', '[%s]:11' % world.OTHER6, 'v4.example:8080',
                                    options=['--allow', '*'], blocked=0),
                         ['yett: network: not reached v4.example:9 (connection refused), nowhere.invalid:80 (its name server does not answer), '
                          '%s:10 (connection refused), [%s]:11 (connection refused)' % (world.OTHER4, world.OTHER6)])

    def test_both_are_lines_of_their_own_and_bounded(self):
        denied, unreached = self.notes(*('v4.example:%d' % port for port in range(10, 22)), *('n%d.example:80' % i for i in range(12)),
                                       options=['--allow', 'v4.example'], blocked=12)
        self.assertRegex(denied, r'^yett: network: denied n0\.example, .*n7\.example and 4 more; allow with ')
        self.assertRegex(unreached, r'^yett: network: not reached v4\.example:10 \(connection refused\), .*v4\.example:17 \(connection refused\) and 4 more$')


class Doctor(Network):
    service_options = {'before': 'grant "vpn" { users = {"*"} user_keys = true profiles = {"*"} network = open allow = {"*", "198.18.0.0/15"} }\n'}

    def test_it_says_whether_connections_can_be_caught_and_finds_a_vpn_that_makes_addresses_up(self):
        self.assertRegex(self.yett('doctor').out, r'(?m)^ok +network +connections can be intercepted')
        world.run('ip', 'route', 'add', '198.18.0.0/15', 'via', world.PRIVATE4)
        self.addCleanup(world.run, 'ip', 'route', 'del', '198.18.0.0/15')
        done = self.yett('doctor')
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'(?m)^weaker +network +\S+ routes 198\.18\.0\.0/15, .*\n +hint: .*allow NAME:PORT@198\.18\.0\.0/15')
        world.hosts(fake_example='198.18.1.1')
        self.addCleanup(world.hosts)
        self.addCleanup(world.run, 'nsenter', '--net=/proc/%d/ns/net' % world.World.other.pid, 'ip', 'addr', 'del', '198.18.1.1/32', 'dev', 'lo')
        world.run('nsenter', '--net=/proc/%d/ns/net' % world.World.other.pid, 'ip', 'addr', 'add', '198.18.1.1/32', 'dev', 'lo')
        self.assert_connects(['fake.example'], {'fake.example:8080': 'ECONNRESET'})
        self.assert_connects(['fake.example:8080@198.18.0.0/15'], {'fake.example:8080': 'served at 198.18.1.1'})  # the mend


class Kept(Network):
    service_options = {'spares': 1}

    def test_what_was_made_ready_for_a_network_that_nobody_wants_ends_no_supervisor(self):
        for _ in range(20):
            self.assert_connects([GOOD], {GOOD: 'served at ' + world.GOOD4})
            # One that is ready ends when nobody wants it for a while, and the next is made for the next sandbox: a slow machine tries again.
            if not any(self.roles('yett-front') or time.sleep(0.05) for _ in range(100)):
                continue
            supervisor = yett.parent_of(self.roles('yett-front')[0])
            process = self.start('sh', '-c', 'echo up; read x')
            self.assertEqual(self.line(process), 'up')
            inits = set(yett.inits_among(yett.children_of(supervisor)))
            is_used = any(yett.parent_of(pid) in inits for pid in self.outside(process))
            process.communicate(timeout=yett.DEADLINE)
            if is_used:  # and not one that was made meanwhile
                yett.wait_until(lambda: set(yett.inits_among(yett.children_of(supervisor))) - inits, 'the next sandbox, of the same supervisor')
                return
        self.fail('what was made ready was never used')


class Killed(Network):
    def test_what_serves_it_is_started_again_once_and_then_nothing_is_reached(self):
        for name in ('yett-front', 'yett-dialer'):
            with self.subTest(name):
                box = self.start('python3', '-c', CONNECT.split('for target in')[0] +
                                 'print("ready", flush=True)\nfor line in sys.stdin: print(one("good.example", 8080), flush=True)', options=['--allow', GOOD])
                self.assertEqual(self.line(box), 'ready')

                def ask():
                    box.stdin.write(b'\n')
                    box.stdin.flush()
                    return self.line(box)

                self.assertEqual(ask(), 'served at ' + world.GOOD4)
                for expected in ('served at ' + world.GOOD4, None):
                    yett.wait_until(lambda: len(self.roles(name)) == 1, 'the only one')
                    pids = self.roles(name)
                    os.kill(pids[0], signal.SIGKILL)
                    yett.wait_until(lambda: pids[0] not in self.roles(name), 'its end')
                    if expected:
                        yett.wait_until(lambda: ask() == expected, 'the next one')
                yett.wait_until(lambda: not self.roles('yett-front') and not self.roles('yett-dialer'), 'the end of both')
                self.assertNotIn('served', ask())
                box.stdin.close()
                self.assertEqual(box.wait(yett.DEADLINE), 0)

    def test_nothing_is_left(self):
        before = self.links()
        for _ in range(5):
            self.assertEqual(self.connect('good.example:8080', allow=[GOOD]), ['served at ' + world.GOOD4])
        yett.wait_until(lambda: not any(map(self.roles, ('yett-front', 'yett-dialer', 'yett-resolver'))), 'their end')
        yett.wait_until(lambda: self.links() == before, 'the end of what catches connections')

    @staticmethod
    def links():
        """How many programs that catch connections are loaded: by what descriptors say of themselves. proc_pid_fdinfo(5)"""
        count = 0
        for pid in yett.processes():
            try:
                names = os.listdir('/proc/%d/fdinfo' % pid)
                count += sum('link_type:\tnetns' in yett.read('/proc/%d/fdinfo/%s' % (pid, name)) for name in names)
            except OSError:
                pass
        return count


class Upgraded(Network):
    """Other programs in the places of those that a sandbox began with, as an upgrade puts them there."""

    @classmethod
    def setUpClass(cls):
        cls.libexec = yett.run_of_process().libexec('libexec-upgraded')
        cls.service_options = {'libexec': cls.libexec}
        super().setUpClass()

    def put(self, program):
        """In the place of what serves networks; None: what was there before."""
        for name in ('yett-front', 'yett-dialer', 'yett-resolver'):
            path = os.path.join(self.libexec, name)
            shutil.copy(program or yett.run_of_process().path('helper/' + name), path + '.new')
            os.rename(path + '.new', path)

    def test_what_serves_a_sandbox_is_started_again_as_it_was(self):
        script = CONNECT.split('for target in')[0] + 'for line in sys.stdin: print(one("good.example", 8080), flush=True)'
        for name in ('yett-front', 'yett-dialer'):
            with self.subTest(name):
                box = self.start('python3', '-c', script, options=['--allow', GOOD])

                def ask():
                    box.stdin.write(b'\n')
                    box.stdin.flush()
                    return self.line(box)
                self.assertEqual(ask(), 'served at ' + world.GOOD4)
                self.put('/bin/false')
                self.addCleanup(self.put, None)
                before = self.roles('yett-front') + self.roles('yett-dialer')
                os.kill(self.roles(name)[0], signal.SIGKILL)
                yett.wait_until(lambda: not set(before) & set(self.roles('yett-front') + self.roles('yett-dialer')), 'the end of both')
                yett.wait_until(lambda: ask() == 'served at ' + world.GOOD4, 'the next ones')
                for pid in self.roles('yett-front') + self.roles('yett-dialer'):
                    self.assertIn(' (deleted)', os.readlink('/proc/%d/exe' % pid))
                    self.assertEqual(yett.read('/proc/%d/comm' % pid).strip(), yett.argv_of(pid)[0])
                box.stdin.close()
                self.assertEqual(box.wait(yett.DEADLINE), 0)
                self.wait_for_names()
                self.put(None)


# An HTTP proxy that knows names of its own, and answers for some in its own way. It prints what it is asked for.
PROXY = r'''
import socket, sys, threading
own = {"good.example": sys.argv[1], "far.example": sys.argv[1], "v6.example": sys.argv[2]}
def pump(a, b):
    try:
        while True:
            data = a.recv(65536)
            if not data:
                b.shutdown(socket.SHUT_WR)
                return
            b.sendall(data)
    except OSError:
        pass  # the other one was quicker
def talk(s):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = b""
    while not asked.endswith(b"\r\n\r\n"):
        asked += s.recv(1)
    print(asked.decode().replace("\r\n", "|"), flush=True)
    host, port = asked.split()[1].decode().rsplit(":", 1)
    kind = host.split(".")[0]
    ok = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 tests\r\n\r\n"
    if kind.isdigit() and host.endswith("example"):
        s.sendall(b"HTTP/1.1 %s No\r\nContent-Length: 2\r\n\r\nno" % kind.encode())
    elif kind == "garbage":
        s.sendall(b"SSH-2.0-tests\r\n\r\n")
    elif kind == "long":
        s.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10000 + b"\r\nserved too late\n")
    elif kind == "ends":
        s.sendall(b"HTTP/1.1 200 OK\r\nVia")
    elif kind == "silent":
        s.recv(1)
    elif kind == "early": # what the server says comes with the header, and looks like one
        s.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + b"\r\n\r\nHTTP/1.1 403 is what the server says\n")
    else:
        for byte in (ok if kind == "good" else b"HTTP/1.0 200\n\n"):
            s.send(bytes([byte]))
        host = host.strip("[]")
        with socket.create_connection((own.get(host, host), int(port))) as out:
            threading.Thread(target=pump, args=(s, out), daemon=True).start()
            pump(out, s)
    s.close()
listening = socket.create_server(("", 3128))
print("ready", flush=True)
while True:
    threading.Thread(target=talk, args=(listening.accept()[0],), daemon=True).start()
'''


class ProxiedAndAsked(Changed):
    service_options = {'before': 'helper {\n  network_proxy = "http://proxy.example:3128"\n}\n'}

    def test_what_is_allowed_meanwhile_is_asked_of_the_proxy(self):
        proxy = world.outside('python3', '-c', PROXY, world.GOOD4, world.GOOD6, stdout=subprocess.PIPE)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        self.assertEqual(proxy.stdout.readline(), b'ready\n')
        process = self.box('--net', 'ask')
        process.stdin.write(b'good.example 8080\n')
        process.stdin.flush()
        yett.wait_until(lambda: 'waits for good.example:8080' in process.stderr.readline().decode(), 'the question')
        self.net('allow', 'live', 'good.example:8080')
        self.assertEqual(self.line(process), 'served at ' + world.GOOD4)
        self.assertEqual(proxy.stdout.readline().decode().split()[1], 'good.example:8080')


class Proxied(Told):
    """A host that is to reach the world by way of a proxy, which alone knows where names lead."""

    test_connections_and_those_that_were_not_allowed_are_events_and_counted = None
    service_options = {'before': 'helper {\n  network_proxy = "http://proxy.example:3128"\n  no_proxy = {"**.direct.example", "10.83.0.0/24", "other.example"}\n}\n'}

    def setUp(self):
        self.proxy = world.outside('python3', '-c', PROXY, world.GOOD4, world.GOOD6, stdout=subprocess.PIPE)
        self.addCleanup(self.proxy.wait)
        self.addCleanup(self.proxy.kill)
        self.assertEqual(self.proxy.stdout.readline(), b'ready\n')

    def asked(self):
        """What the proxy is asked for next."""
        return self.proxy.stdout.readline().decode().strip()

    def test_what_is_allowed_is_asked_of_the_proxy_and_nothing_else(self):
        self.assert_connects([GOOD, 'far.example:8080'], {
            'good.example:8080': 'served at ' + world.GOOD4, 'far.example:8080': 'served at ' + world.GOOD4, 'good.example:8081': 'ECONNRESET',
            'v4.example:8080': 'no such name', world.GOOD4 + ':8080': 'ECONNRESET'})
        for name in ('good', 'far'):
            self.assertEqual(self.asked(), 'CONNECT %s.example:8080 HTTP/1.1|Host: %s.example:8080||' % (name, name))

    def test_addresses_of_both_families(self):
        self.assert_connects([world.GOOD4 + ':8080', '[%s]:8080' % world.GOOD6], {
            world.GOOD4 + ':8080': 'served at ' + world.GOOD4, '[%s]:8080' % world.GOOD6: 'served at ' + world.GOOD6})
        self.assertEqual([self.asked().split()[1] for _ in range(2)], [world.GOOD4 + ':8080', '[%s]:8080' % world.GOOD6])
        self.assert_connects(['*:8080'], {world.METADATA + ':8080': 'ECONNRESET', '192.168.1.1:8080': 'ECONNRESET', world.HOST4 + ':8080': 'ECONNRESET'})

    def test_what_goes_around_it(self):
        self.addCleanup(world.hosts)
        world.hosts(a_direct_example=world.GOOD4)
        self.assert_connects(['*:8080', '10.83.0.2:8080'], {
            'a.direct.example:8080': 'served at ' + world.GOOD4, 'other.example:8080': 'served at ' + world.OTHER4, world.PRIVATE4 + ':8080': 'served at ' + world.PRIVATE4,
            'good.example:8080': 'served at ' + world.GOOD4})
        self.assertEqual(self.asked().split()[1], 'good.example:8080')

    def test_a_name_that_is_bound_to_a_network_cannot_be_asked_of_it(self):
        self.assert_connects(['good.example:8080@93.184.216.0/24', 'other.example:8080@151.101.0.0/16'], {
            'good.example:8080': 'ECONNRESET', 'other.example:8080': 'served at ' + world.OTHER4})

    def test_not_a_byte_is_lost_or_added(self):
        script = 'import socket; s = socket.create_connection(("early.example", 1)); data = b""\nwhile True:\n more = s.recv(100)\n if not more: break\n data += more\nprint(data)'
        self.assertEqual(self.python(script, options=['--allow', 'early.example']), repr(b'\r\n\r\nHTTP/1.1 403 is what the server says\n') + '\n')
        self.assertEqual(self.asked().split()[1], 'early.example:1')
        self.assertEqual(self.python(Limited.BULK, options=['--allow', GOOD]), 'True True\n')
        self.assertEqual(self.asked().split()[1], GOOD)

    def test_what_it_refuses_or_does_not_say_is_told(self):
        self.check_told(('403.example', 'the proxy answered 403'), ('407.example', 'the proxy answered 407'), ('502.example', 'the proxy answered 502'),
                        ('garbage.example', 'the proxy: Protocol error'), ('long.example', 'the proxy: Message too long'),
                        ('ends.example', 'the proxy: Connection reset by peer'))

    def test_that_it_says_nothing_is_told(self):
        self.check_told(('silent.example', 'the proxy: Connection timed out'))

    def check_told(self, *targets):
        box = self.start('python3', '-c', CONNECT.split('for target in')[0] + 'print("ready", flush=True)\nfor line in sys.stdin: print(one(line.strip(), 8080), flush=True)',
                         options=['--name', 'proxied', '--allow', '*:8080'])
        self.assertEqual(self.line(box), 'ready')
        events = self.follow('proxied')
        for name, why in targets:
            with self.subTest(name):
                box.stdin.write(name.encode() + b'\n')
                box.stdin.flush()
                self.assertEqual(self.line(box), 'ECONNRESET')
                self.assertEqual(self.asked().split()[1], name + ':8080')
                event = self.until(events, 'unreachable')
                self.assertEqual((event['peer']['name'], event['error']), (name, why))
        box.stdin.write(GOOD.split(':')[0].encode() + b'\n')
        box.stdin.flush()
        self.assertEqual(self.line(box), 'served at ' + world.GOOD4)
        self.asked()
        self.assertEqual(self.until(events, 'connected')['peer']['name'], 'good.example')
        ended = self.until(events, 'disconnected')['peer']
        self.assertEqual((ended['sent_bytes'], ended['received_bytes']), (18, 82))
        box.communicate(timeout=yett.DEADLINE)

    def test_one_that_has_no_address_or_is_not_there(self):
        for proxy, why in (('nowhere.example:3128', 'the proxy: Resource temporarily unavailable'), (world.PRIVATE4 + ':9', 'the proxy: Connection refused')):
            with self.subTest(proxy):
                self.change_policy(before='helper {\n network_proxy = "http://%s/"\n}\n' % proxy)
                box = self.start('python3', '-c', CONNECT.split('for target in')[0] + 'print("ready", flush=True)\nfor line in sys.stdin: print(one(line.strip(), 8080), flush=True)',
                                 options=['--name', 'lost', '--allow', GOOD])
                self.assertEqual(self.line(box), 'ready')
                events = self.follow('lost')
                box.stdin.write(b'good.example\n')
                box.stdin.flush()
                self.assertEqual(self.line(box), 'ECONNRESET')
                self.assertEqual(self.until(events, 'unreachable')['error'], why)
                box.communicate(timeout=yett.DEADLINE)


class Rootless(Network):
    """Without root: a listener for each port that rules are about, in a network namespace beside the sandbox's."""
    service_class = yett.Rootless
    missing = 'root'
    test_without_rules_there_is_no_network = Limited.test_without_rules_there_is_no_network
    test_servers_inside_work_also_where_connections_are_caught = Limited.test_servers_inside_work_also_where_connections_are_caught
    test_much_goes_through_in_both_directions_and_unchanged = Limited.test_much_goes_through_in_both_directions_and_unchanged
    test_names_are_answered_by_whatever_server_is_asked_and_with_nothing_but_addresses = \
        Limited.test_names_are_answered_by_whatever_server_is_asked_and_with_nothing_but_addresses

    def test_what_is_allowed_is_reached_and_nothing_else(self):
        self.assert_connects([GOOD], {
            'good.example:8080': 'served at ' + world.GOOD4, 'other.example:8080': 'no such name', 'good.example:8081': 'ECONNREFUSED',
            world.GOOD4 + ':8080': 'ECONNRESET', '[%s]:8080' % world.GOOD6: 'ECONNRESET', world.OTHER4 + ':443': 'ECONNREFUSED'})

    def test_each_family_by_itself(self):
        self.assert_connects(['v4.example:8080', 'v6.example:8080'], {'v4.example:8080': 'served at ' + world.GOOD4, 'v6.example:8080': 'served at ' + world.GOOD6})
        for option in ('-4', '-6'):
            for name, at in (('v4.example', world.GOOD4), ('v6.example', world.GOOD6)):
                with self.subTest(option, name=name):
                    self.assertEqual(self.output('curl', '-s', option, 'http://%s:8080/' % name, options=['--allow', name + ':8080']), 'served at %s\n' % at)

    def test_wildcards_ranges_and_what_is_denied(self):
        self.assert_connects(['*.good.example:8080-8081', '*:443'], {
            'www.good.example:8080': 'served at ' + world.GOOD4, 'www.good.example:8081': 'served at ' + world.GOOD4,
            'good.example:8080': 'ECONNRESET', 'good.example:443': 'served at ' + world.GOOD4, 'other.example:443': 'no such name',
            'v4.example:443': 'served at ' + world.GOOD4, world.GOOD4 + ':443': 'served at ' + world.GOOD4}, options=['--deny', 'other.example'])

    def test_private_addresses_and_this_host(self):
        self.assert_connects(['*:8080', '10.83.0.0/24:8080'], {
            world.PRIVATE4 + ':8080': 'served at ' + world.PRIVATE4, 'rebound.example:8080': 'ECONNRESET', world.HOST4 + ':8080': 'ECONNRESET',
            '[%s]:8080' % world.HOST6: 'ECONNRESET', 'metadata.example:8080': 'ECONNRESET', world.METADATA + ':8080': 'ECONNRESET',
            '[64:ff9b::7f00:1]:8080': 'ECONNRESET'})

    def test_as_many_ports_as_can_be_had_and_one_more(self):
        self.assert_connects(['good.example:8000-8255'], {'good.example:8080': 'served at ' + world.GOOD4, 'good.example:8255': 'ECONNRESET'})
        for allow, text in ((['good.example'], "'good.example' exceeds that"),
                            (['good.example:443', 'good.example:8000-8255'], "'good.example:8000-8255' exceeds that")):
            done = self.sandbox('true', options=[word for rule in allow for word in ('--allow', rule)])
            self.assert_refused(done, 125, 'without %s, a network can have rules for 256 ports at most, and %s' % (self.missing, text))
            self.assertIn('give each rule its port, as in NAME:443', done.err)
        self.assert_refused(self.sandbox('true', options=['--net', 'open']), 125, 'without %s, a network cannot be open' % self.missing)

    def test_other_packets_get_nowhere(self):
        script = r'''
import errno, socket
for kind, protocol, port in ((socket.SOCK_DGRAM, 0, 443), (socket.SOCK_DGRAM, 136, 8080), (socket.SOCK_STREAM, 132, 8080), (socket.SOCK_RAW, 1, 0)):
    for host in ("93.184.216.34", "2606:4700::34"):
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind, protocol) as s:
                s.settimeout(DEADLINE)
                s.connect((host, port))
                s.send(b"x")
                print("got", s.recv(10))
        except OSError as e:
            print("nothing")
'''
        self.assertEqual(self.python(script.replace('DEADLINE', str(yett.DEADLINE)), options=['--allow', GOOD]).split('\n')[:-1], ['nothing'] * 8)

    def test_who_serves_it_has_no_privilege_and_is_out_of_the_reach_of_commands(self):
        process = self.start('sh', '-c', 'echo ready; read line', options=['--allow', GOOD])
        self.assertEqual(self.line(process), 'ready')
        yett.wait_until(lambda: len(self.roles('yett-front')) == len(self.roles('yett-dialer')) == 1, 'that both are what they are to be')
        (front,), (dialer,) = self.roles('yett-front'), self.roles('yett-dialer')
        yett.wait_until(lambda: all(yett.status_of(pid).get('Seccomp') == '2' for pid in (front, dialer)), 'that both are locked down')
        init = next(pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-init'])
        for pid in (front, dialer):
            status = yett.status_of(pid)
            with self.subTest(yett.argv_of(pid)):
                self.assertEqual([status[key] for key in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb')], ['0' * 16] * 4)
                self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
                uid, = set(status['Uid'].split())
                if pid == front and self.missing != 'root':
                    self.assertTrue(self.service.owns_uid(int(uid)))
                    self.assertNotEqual(uid, yett.status_of(init)['Uid'].split()[0])
                else:
                    self.assertEqual(int(uid), self.alice.uid)
                self.assertEqual(os.readlink('/proc/%d/ns/pid' % pid), os.readlink('/proc/self/ns/pid'))
        nets = {name: os.readlink('/proc/%s/ns/net' % pid) for name, pid in (('front', front), ('dialer', dialer), ('init', init), ('host', 'self'))}
        self.assertEqual((nets['dialer'], nets['front']), (nets['host'], nets['init']))
        self.assertNotEqual(nets['host'], nets['init'])
        process.communicate(b'\n', yett.DEADLINE)
        self.assertEqual(process.returncode, 0)


class WithoutBpf(Rootless):
    """With root, but no BPF: the same, and sandboxes have private ids."""
    service_class = yett.WithoutBpf
    missing = 'BPF'

    def test_the_log_and_the_doctor_say_so(self):
        self.output('true')
        self.assertRegex(self.service.log_text(), r': ready, \d+ profiles; BPF is not available')
        done = self.yett('doctor')
        self.assertRegex(done.out, r'(?m)^weaker +network +without BPF, a network cannot be open: only ports that rules name can be used\n +hint: give each rule its port')
        self.assertEqual(done.code, 0, done)

    def test_other_ports_are_caught_only_when_a_sandbox_is_made(self):
        box = self.start('python3', '-c', CONNECT.split('for target in')[0] + 'print("ready", flush=True)\nfor line in sys.stdin: print(one(*line.split()), flush=True)',
                         options=['--name', 'later', '--allow', GOOD])
        self.assertEqual(self.line(box), 'ready')
        self.assertEqual(self.yett('net', 'allow', 'later', 'other.example:8080').code, 0)
        refused = self.yett('net', 'allow', 'later', 'other.example:443')
        self.assertNotEqual(refused.code, 0)
        self.assertIn('port', refused.err.replace('port 443', ''), refused)
        box.stdin.write(b'other.example 8080\n')
        box.stdin.flush()
        self.assertEqual(self.line(box), 'served at ' + world.OTHER4)
        box.communicate(timeout=yett.DEADLINE)

    def test_one_that_may_load_no_program_for_it_takes_ports_from_the_start(self):
        done = self.sandbox('true', options=['--net', 'open', '--dry-run'])
        self.assert_refused(done, 125, 'without BPF, a network cannot be open')
        self.assertIn('a service that may use bpf(2) needs no ports', done.err)


class ToldWithoutBpf(Told):
    service_class = yett.WithoutBpf
    unlisted = 'ECONNREFUSED' # of which nobody is told


class KilledWithoutBpf(Killed):
    service_class = yett.WithoutBpf


class ToldRootless(ToldWithoutBpf):
    service_class = yett.Rootless


class KilledRootless(Killed):
    service_class = yett.Rootless


if __name__ == '__main__':
    world.enter()
    yett.main()
