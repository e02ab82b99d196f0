# SPDX-License-Identifier: Apache-2.0
"""
A network with an allow-list, attacked: from inside, by what serves it when that is captured, and by a death at the worst moment.
"""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading

import hostile
import world
import yett
from hostile import Faults

HTTP, RESETS = 8080, 8099
GOOD = 'good.example:%d' % HTTP
LOOKS = 500  # at a number that grows no more

# A server that resets each connection as soon as something comes.
RESETTING = r'''
import socket, struct, threading
def reset(connection):
    try:
        connection.recv(1)
    except OSError:
        pass
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
with socket.create_server(("::", %d), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512) as server:
    print("ready", flush=True)
    while True:
        threading.Thread(target=reset, args=(server.accept()[0],), daemon=True).start()
''' % RESETS

# Python in a sandbox that evaluates one line after the other, with these at hand.
PROMPT = r'''
import errno, os, socket, struct, sys, threading, time
def code(function, *arguments):
    try:
        function(*arguments)
        return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def fetch(host, port, request=b"GET / HTTP/1.0\r\n\r\n"):
    try:
        with socket.create_connection((host, port), 600) as s:
            s.sendall(request)
            data = b""
            while True:
                more = s.recv(4096)
                if not more:
                    return data.split(b"\n")[-2].decode() if b"\n" in data else "closed"
                data += more
    except socket.gaierror as e:
        return "no such name" if e.errno in (socket.EAI_NONAME, socket.EAI_NODATA) else str(e)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def message(name, kind=1):
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
def query(name, server="8.8.8.8", kind=1, stream=False, tries=1):  # the code, and how many answers
    data = message(name, kind)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM) as s:
        s.settimeout(600 / tries)
        s.connect((server, 53))
        for left in reversed(range(tries)):
            s.send(struct.pack(">H", len(data)) + data if stream else data)
            try:
                answer = s.recv(4096)[2 * stream:]
                return answer[3] & 15, answer[7]
            except TimeoutError:
                if not left:
                    raise
def first_answered(name, more):  # of a query that has `more` behind it, and of the next one, which has nothing
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(600)
        s.connect(("8.8.8.8", 53))
        s.send(message(name) + more)
        s.send(b"\0\x08" + message(name)[2:])
        return {7: "first", 8: "second"}[s.recv(4096)[1]]
kept = []
def bind(family, kind, address, port, options, only_v6=0):
    s = socket.socket(family, kind)
    try:
        for level, option in options:
            s.setsockopt(level, option, 1)
        if family == socket.AF_INET6:
            s.setsockopt(41, 26, only_v6)
        s.bind((address, port))
        if kind == socket.SOCK_STREAM:
            s.listen()
        kept.append(s)
        return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno)
def reading(s):  # what comes
    try:
        return s.recv(100)
    except OSError:
        return b""
def answered(s, address, later):  # what comes by the time that fetch() has fetched something that is allowed
    s.setblocking(False)
    code(s.connect, address)
    fetched = fetch(*later)
    if code(s.getpeername) != "done":  # nobody has answered, or the connection was reset
        return fetched, b""
    s.settimeout(600)
    code(s.send, b"GET / HTTP/1.0\r\n\r\n")
    return fetched, reading(s)
def tls_hello(name):
    import ssl
    context, given, taken = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(given, taken, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return taken.read()
def started(address, port, data, *options):
    s = socket.socket()
    s.settimeout(600)
    for option in options:
        s.setsockopt(*option)
    if code(s.connect, (address, port)) == "done":
        code(s.send, data)
    return s
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(repr(eval(compile(line, "line", "eval"))), flush=True)
    except Exception as e:
        print(repr("%s: %s" % (type(e).__name__, e)), flush=True)
'''


class Network(yett.Case):
    """`alice` attacks; `bob` has a sandbox meanwhile, which must not notice."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = world.outside('python3', '-c', world.SERVER, *map(str, (HTTP, 8081, 53, 443)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        cls.resetting = world.outside('python3', '-c', RESETTING, stdout=subprocess.PIPE)
        for process in (cls.server, cls.resetting):
            assert process.stdout.readline() == b'ready\n'
            cls.addClassCleanup(process.wait)
            cls.addClassCleanup(process.kill)

    @classmethod
    def roles(cls, *names):
        """The processes that supervisors of this service, or ones that are gone, have started as one of these."""
        found = []
        for pid in yett.processes():
            if yett.argv_of(pid)[:1] in [[name] for name in names]:
                parent = yett.argv_of(yett.parent_of(pid))
                is_anothers = '--policy' in parent and not any(word.startswith(cls.service.folder + '/') for word in parent)
                found += [pid] if not is_anothers and parent[:1] not in (['yett-dialer'], ['yett-resolver']) else []
        return found

    def box(self, *options, user=None, allow=(), **more):
        """A prompt in a sandbox."""
        process = self.start('python3', '-c', PROMPT, options=[*options, *(word for rule in allow for word in ('--allow', rule))], user=user, **more)
        line = self.line(process)
        self.assertEqual(line, 'ready', '' if line else process.communicate(timeout=yett.DEADLINE)[1])
        return process

    def tell(self, process, text):
        process.stdin.write(text.encode() + b'\n')
        process.stdin.flush()

    def ask(self, process, text):
        """What an expression came to there."""
        self.tell(process, text)
        line = self.line(process)
        self.assertTrue(line, '' if line else (process.communicate(timeout=yett.DEADLINE), self.service.log_text()[-1500:]))
        return eval(line)  # repr() of what tests wrote

    def leave(self, *processes):
        for process in processes:
            process.stdin.close()
            process.wait(yett.DEADLINE)
        for process in processes:
            process.stdout.close()
            process.stderr.close()

    def neighbour(self):
        return self.box(user=self.bob, allow=[GOOD])

    def assert_unharmed(self, other):
        self.assertEqual(self.ask(other, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)

    def links(self):
        """
        How many programs that catch connections are held by processes of this service and of its users: by what descriptors say of
        themselves. proc_pid_fdinfo(5)
        """
        uids, count = {str(user.uid) for user in (self.alice, self.bob)}, 0
        users = [pid for pid in yett.processes() if uids & set(yett.status_of(pid).get('Uid', '').split())]
        listener = [self.service.pid()] if self.service.process else []
        for pid in {*listener, *users, *self.service.leftover_processes()}:
            with contextlib.suppress(OSError):
                for name in os.listdir('/proc/%d/fdinfo' % pid):
                    with contextlib.suppress(OSError):
                        count += 'link_type:\tnetns' in yett.read('/proc/%d/fdinfo/%s' % (pid, name))
        return count

    def assert_nothing_left(self, links=0):
        yett.wait_until(lambda: not self.roles('yett-front', 'yett-dialer', 'yett-resolver'), 'the end of what serves networks')
        yett.wait_until(lambda: self.links() == links, 'the end of what catches connections')
        self.service.wait_no_leftovers()


def captured(mode):
    """The rule by which a fake front, or dialer, knows what to do."""
    return ('hostile-%s.example' % mode, GOOD, '%s/32:%d' % (world.GOOD4, RESETS))


# Calls that the filters forbid. Those of a TCP socket are a dialer's business.
CALLS = ['unix', 'udp', 'netlink', 'open', 'fork', 'exec', 'kill', 'ptrace', 'memory', 'pidfd', 'setns', 'unshare', 'io-uring', 'bpf', 'bind', 'listen']


class Fronts(Network):
    """What stands where connections end is the sandbox's."""

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'libexec': yett.run_of_process().libexec('libexec-front', front=hostile.program('fake-front'))}
        super().setUpClass()

    def report(self, mode, *options):
        """What it says of itself, 'nothing' if it cannot say anything."""
        box = self.box(*options, allow=captured(mode))
        said = self.ask(box, 'fetch("203.0.113.1", 9)')
        self.leave(box)
        return said

    def test_it_is_the_fake_one(self):
        """An honest one of it is as good as any."""
        box = self.box(allow=[GOOD])
        self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.leave(box)

    def test_no_call_but_what_it_serves_with(self):
        self.assertEqual({call: self.report('call-%s-unfiltered' % call) for call in ('unix', 'fork')}, {call: 'survived' for call in ('unix', 'fork')})
        other = self.neighbour()
        found = {call: self.report('call-' + call) for call in [*CALLS, 'tcp', 'connect']}
        self.assertFalse({call: said for call, said in found.items() if said not in ('ECONNREFUSED', 'ECONNRESET')})
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()

    def test_it_is_given_nothing_that_is_denied(self):
        with contextlib.ExitStack() as stack:
            for address in ('127.0.0.1', world.HOST4):
                stack.enter_context(socket.create_server((address, 8082)))
            self.assertEqual(self.report('asks-for-what-is-denied-at-8082'), 'given 0, and then given')

    def test_a_hundred_thousand_asks_and_names(self):
        other = self.neighbour()
        self.assertEqual(self.report('asks-for-much'), 'given 0, refused 100000')
        self.assertEqual(self.report('tells-much'), 'told, and then given')
        self.assertEqual(self.report('holds-much'), 'given 256')
        self.assertEqual(self.report('hoards'), 'waits')
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()

    def test_what_is_no_packet_ends_both_and_nothing_else(self):
        other = self.neighbour()
        for mode in ('sends-garbage', 'sends-nothing', 'sends-descriptor', 'sends-port-0', 'sends-no-name', 'sends-other-case', 'sends-twice'):
            with self.subTest(mode):
                self.assertIn(self.report(mode), ('the dialer has ended', 'ECONNREFUSED', 'ECONNRESET'))
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()

    def connects_anew(self, how):
        with socket.create_server(('127.0.0.1', 0)) as server:
            threading.Thread(target=self.answer, args=(server,), daemon=True).start()
            said = self.report('%s-at-%d' % (how, server.getsockname()[1]))
            server.shutdown(socket.SHUT_RDWR)
        # Its filter has killed it: what would have let it connect is in no call of its own. Without that the socket itself refuses.
        self.assertIn(said, ('ECONNRESET', 'ECONNREFUSED'))

    def test_no_socket_that_it_was_given_is_connected_anew_once_its_peer_has_reset_it(self):
        self.connects_anew('connects-anew')

    def test_no_socket_that_it_was_given_is_connected_anew_once_it_has_cut_it_off(self):
        self.connects_anew('connects-anew-alone')

    @staticmethod
    def answer(server):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b'the host itself')


class Dialers(Network):
    """What connects outside is the sandbox's."""

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'libexec': yett.run_of_process().libexec('libexec-dialer', dialer=hostile.program('fake-dialer'))}
        super().setUpClass()

    def attack(self, mode, *options):
        """A prompt in a sandbox whose dialer does this."""
        return self.box('--name', 'attacked', *options, allow=captured(mode))

    def usage(self):
        return yett.told(self.yett('stats', '--json', 'attacked').out)['sandboxes'][0]

    def test_it_is_the_fake_one(self):
        box = self.box(allow=[GOOD])
        self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.leave(box)

    def test_no_call_but_what_it_serves_with(self):
        for call in ('unix', 'fork'):
            box = self.attack('call-%s-unfiltered' % call)
            yett.wait_until(lambda: self.usage()['blocked'], 'word that it survived')
            self.leave(box)
        other = self.neighbour()
        for call in CALLS:
            with self.subTest(call):
                box = self.attack('call-' + call)
                yett.wait_until(lambda: len(self.roles('yett-dialer')) == 1, 'the end of both that were started')
                self.assertEqual(self.usage()['blocked'], 0)
                self.leave(box)
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()

    def served_meanwhile(self, mode, ends_itself=False):
        """The supervisor answers, others are served, and the sandbox ends, although what serves its network never goes on."""
        other = self.neighbour()
        box = self.attack(mode)
        if ends_itself:
            yett.wait_until(lambda: len(self.roles('yett-dialer')) == 1, 'the end of both that were started')
        for command in (('pause',), ('resume',), ('stats',), ('inspect',)):
            self.assertEqual(self.yett(*command, 'attacked').code, 0)
        self.assertEqual(self.ask(box, '1 + 1'), 2)
        self.assert_unharmed(other)
        self.assertEqual(self.yett('destroy', 'attacked').code, 0)
        box.wait(yett.DEADLINE)
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()

    def test_one_that_has_told_much_and_dies_is_started_again(self):
        """What is heard is bounded for a moment, and not for good."""
        box = self.attack('tells-a-hundred')
        yett.wait_until(lambda: self.usage()['blocked'] == 100, 'word of all')
        (dialer,) = self.roles('yett-dialer')
        os.kill(dialer, signal.SIGKILL)
        yett.wait_until(lambda: self.roles('yett-dialer') not in ([], [dialer]), 'another one')
        self.leave(box)

    def test_what_lingers_holds_up_no_supervisor(self):
        with socket.create_server(('127.0.0.1', 0), backlog=64) as server:
            self.served_meanwhile('lingers-at-%d' % server.getsockname()[1], ends_itself=True)

    def test_what_it_says_of_itself_is_no_text_for_a_terminal(self):
        box = self.attack('lies')
        following = []
        for options in ((), ('--json',)):
            process = self.service.popen(self.alice, self.service.yett, 'events', *options, 'attacked', stdout=subprocess.PIPE)
            self.addCleanup(self.end, process)
            following.append(process)
            self.assertIn('followed', self.line(process))
        self.tell(box, 'fetch("good.example", %d)' % HTTP)
        for process in following:
            lines = []
            while not lines or 'the-last.example' not in lines[-1]:
                lines.append(self.line(process))
            with self.subTest(process.args):
                self.assertFalse([line for line in lines if '\033' in line or '\007' in line or line.startswith('<0>')])
        self.assertEqual(self.yett('destroy', 'attacked').code, 0)


hostile.add_cases(Dialers, 'served_while_it', [(mode, ends) for mode, ends in (
    ('floods', False), ('lies', False), ('never-reads', False), ('closes', True), ('sends-garbage', True), ('sends-nothing', True), ('sends-half', True),
    ('sends-no-kind', True))], Dialers.served_meanwhile)


class Deciders(Network):
    """What hears the client is the client's, and tells rules that are none."""

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'libexec': yett.run_of_process().libexec('libexec-decider-network', decider=hostile.program('fake-decider'))}
        super().setUpClass()

    def test_what_is_told_as_rules(self):
        other = self.neighbour()
        for mode, allow, code, text in (
                ('not-at-all', [GOOD], 0, ''), ('no-rules', [], 125, 'the supervisor of the sandbox died'), ('rules-without-a-network', [], 0, ''),
                ('rules-of-garbage', [], 0, ''), ('rules-of-garbage', [GOOD], 0, ''), ('rules-of-nothing', [], 0, ''), ('rules-without-end', [GOOD], 125, 'the helper closed the connection'),
                ('network-that-is-none', [], 125, 'Protocol error')):
            with self.subTest((mode, allow)):
                done = self.sandbox('python3', '-c', PROMPT.split('print("ready"')[0] + 'print(fetch("%s", %d))' % (world.GOOD4, HTTP),
                                    options=['--hostname', 'hostile-' + mode, *(word for rule in allow for word in ('--allow', rule))])
                self.assertEqual(done.code, code, done)
                self.assertIn(text, done.err)
                self.assertNotIn('served', done.out)
        self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()


# A name server: answers by a table that is a line of its input, and tells what it is asked.
NAME_SERVER = r'''
import ipaddress, json, select, socket, struct, sys
names = {}
def name(text):
    return b"".join(bytes([len(l)]) + l.encode() for l in text.split(".")) + b"\0"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("%s", 53))
    print("ready", flush=True)
    while True:
        readable = select.select([s, sys.stdin], [], [])[0]
        if sys.stdin in readable:
            line = sys.stdin.readline()
            if not line:
                break
            names = json.loads(line)
            print("taken", flush=True)
        if s not in readable:
            continue
        query, peer = s.recvfrom(4096)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        asked, kind, answers = ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0], []
        print("asked " + asked, flush=True)
        for text in names.get(asked, []):
            data = name(text[6:]) if text.startswith("cname ") else ipaddress.ip_address(text).packed
            found = 5 if text.startswith("cname ") else 1 if len(data) == 4 else 28
            if found in (5, kind):
                answers.append(b"\xc0\x0c" + struct.pack(">HHIH", found, 1, 0, len(data)) + data)
        s.sendto(query[:2] + struct.pack(">HHHHH", 0x8180 if asked in names else 0x8183, 1, len(answers), 0, 0) + query[12:at + 5] + b"".join(answers), peer)
''' % world.PRIVATE4


class Named(Network):
    """With a name server of the attacker's."""

    def serve_names(self, options='', **names):
        """Names are these from now on, with _ for a dot."""
        process = world.outside('python3', '-c', NAME_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'ready')
        self.name(process, **names)
        with open('/etc/resolv.conf', encoding='ascii') as file:
            before = file.read()
        self.addCleanup(lambda: yett.write('/etc/resolv.conf', before))
        yett.write('/etc/resolv.conf', 'nameserver %s\noptions timeout:2 attempts:2\n%s' % (world.PRIVATE4, options))
        return process

    def name(self, process, **names):
        self.tell(process, json.dumps({name.replace('_', '.'): found for name, found in names.items()}))
        while self.line(process) != 'taken':
            pass

    def asked(self, process):
        """What it was asked for since the last time."""
        self.tell(process, '{}')
        names = []
        while (line := self.line(process)) != 'taken':
            names.append(line.split()[1])
        return set(names)

    def test_a_search_list_makes_no_allowed_name_another_one(self):
        self.serve_names('search evil.example\noptions ndots:5\n', short_good_test=[world.GOOD4], short_good_test_evil_example=[world.OTHER4])
        plain = subprocess.run(['getent', 'ahostsv4', 'short.good.test'], capture_output=True, text=True, check=True).stdout
        self.assertTrue(plain.startswith(world.OTHER4), plain)  # what programs of the host come to
        box = self.box(allow=['short.good.test:%d' % HTTP])
        self.assertEqual(self.ask(box, 'fetch("short.good.test", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.leave(box)

    def test_names_that_lead_to_this_host(self):
        leads = {'a': '127.0.0.1', 'b': world.HOST4, 'c': '0.0.0.0', 'd': world.METADATA, 'e': '::1', 'f': world.HOST6, 'g': '::ffff:127.0.0.1', 'h': '64:ff9b::7f00:1',
                 'i': '2002:7f00:1::1', 'j': '::', 'k': '::ffff:' + world.HOST4, 'l': '64:ff9b::a53:1', 'm': '2002:a53:1::1', 'n': '64:ff9b:1::7f00:1', 'o': '::127.0.0.1',
                 'p': '127.255.255.254', 'q': 'fe80::1', 'r': '2a04:4e42::200:5efe:7f00:1', 's': '255.255.255.255'}
        server = self.serve_names(**{name + '_evil_test': [address] for name, address in leads.items()}, t_evil_test=['cname localhost'], u_evil_test=['cname host.example'])
        with socket.create_server(('::', 8082), family=socket.AF_INET6, dualstack_ipv6=True) as listening:
            for name in ('a', 'b', 'c', 'e', 'f', 'g', 'k', 'p'):  # outside, they lead here
                socket.create_connection((name + '.evil.test', 8082)).close()
                listening.accept()[0].close()
            listening.setblocking(False)
            box = self.box(allow=['*.evil.test:8082', '10.0.0.0/8:8082', '[fc00::/7]:8082'])
            found = {name: self.ask(box, 'fetch("%s.evil.test", 8082)' % name) for name in [*leads, 't', 'u']}
            self.assertEqual(found, {name: 'ECONNRESET' for name in found})
            self.assertRaises(BlockingIOError, listening.accept)
        self.assertIn('a.evil.test', self.asked(server))
        self.leave(box)

    def test_a_name_server_that_changes_its_mind(self):
        server = self.serve_names(moves_evil_test=[world.GOOD4])
        with socket.create_server(('127.0.0.1', HTTP)) as listening:
            listening.setblocking(False)
            box = self.box(allow=['moves.evil.test'])
            self.assertEqual(self.ask(box, 'fetch("moves.evil.test", %d)' % HTTP), 'served at ' + world.GOOD4)
            self.name(server, moves_evil_test=['127.0.0.1', '::1'])
            yett.wait_until(lambda: self.ask(box, 'fetch("moves.evil.test", %d)' % HTTP) == 'ECONNRESET', 'the new address')
            self.assertRaises(BlockingIOError, listening.accept)
        self.leave(box)

    def test_no_data_leaves_by_names(self):
        """Neither by one that no rule allows, nor by asking for one: it is looked up once something is connected to it."""
        server = self.serve_names()
        box = self.box(allow=['*.wild.test:1', 'good.example'])
        for name in ('c2VjcmV0.tunnel.test', 'x' * 60 + '.wild.test', 'a.b.c.wild.test', 'c2VjcmV0.good.example', '_x.good.example'):
            for kind in (1, 28, 16, 65, 5, 15, 33, 255):
                for server_asked in ('8.8.8.8', world.PRIVATE4, '198.18.0.2'):
                    self.ask(box, 'query("%s", "%s", %d)' % (name, server_asked, kind))
            self.ask(box, 'query("%s", "%s", stream=True)' % (name, world.PRIVATE4))
        self.ask(box, 'fetch("secret.wild.test", 2)')  # a port that is not allowed
        self.assertEqual(self.asked(server), set())
        self.ask(box, 'fetch("secret.wild.test", 1)')  # and so it can be seen
        self.assertEqual(self.asked(server), {'secret.wild.test'})
        self.leave(box)


class Inside(Network):
    """What programs inside can do."""

    uncaught = 'ECONNRESET'  # what becomes of a connection to a port that no rule is about
    further = (('--net', 'open'),)
    foreign = 'done'  # of an address that is not its own, but for IP_FREEBIND
    other = 'good.example'  # a rule by which none of its bare addresses is reached

    def test_what_is_said_in_a_connection_leads_nowhere(self):
        """Host, a proxy's request, and the name in TLS are not looked at: all go to the host that was connected to."""
        box = self.box(allow=[GOOD, 'good.example:443'])
        for request in ('GET / HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n', 'CONNECT other.example:8080 HTTP/1.1\\r\\n\\r\\n', 'GET http://other.example:8080/ HTTP/1.1\\r\\n\\r\\n'):
            self.assertEqual(self.ask(box, 'fetch("good.example", %d, b"%s")' % (HTTP, request)), 'served at ' + world.GOOD4)
        self.assertTrue(self.ask(box, 'b"other.example" in tls_hello("other.example")'))
        self.assertEqual(self.ask(box, 'fetch("good.example", 443, tls_hello("other.example"))'), 'served at ' + world.GOOD4)
        for port in (53, 443, 853, HTTP):  # DNS over TCP, HTTPS or TLS, of one that is denied
            self.assertIn(self.ask(box, 'fetch("%s", %d)' % (world.OTHER4, port)), ('ECONNRESET', 'ECONNREFUSED', 'closed'))
        self.leave(box)

    def test_ports_at_the_edges_of_a_range(self):
        box = self.box(allow=['good.example:8080-8081'])
        found = {port: self.ask(box, 'fetch("good.example", %d)' % port) for port in (8079, 8080, 8081, 8082, 1, 65535)}
        self.assertEqual(found, {port: 'served at ' + world.GOOD4 if port in (8080, 8081) else self.uncaught for port in found})
        self.leave(box)

    def test_port_0_is_denied_like_any_other(self):
        box = self.box(allow=[GOOD])
        yett.wait_until(lambda: len(self.roles('yett-front', 'yett-dialer')) == 2, 'both')
        serving = self.roles('yett-front', 'yett-dialer')
        for _ in range(3):
            self.assertIn(self.ask(box, 'fetch("%s", 0)' % world.GOOD4), ('ECONNRESET', 'ECONNREFUSED'))
        self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.assertEqual(self.roles('yett-front', 'yett-dialer'), serving)
        self.leave(box)

    def test_numbers_are_no_names(self):
        """Octal, decimal and hexadecimal addresses, as arguments and as names that are asked for."""
        with socket.create_server(('127.0.0.1', 8082)) as server:
            socket.create_connection(('0x7f000001', 8082)).close()
            server.accept()[0].close()
            server.setblocking(False)
            box = self.box(allow=['*:8082'])
            for name in ('0177.0.0.1', '2130706433', '0x7f000001', '127.1', '0x7f.1', '0'):
                with self.subTest(name):
                    self.assertEqual(self.ask(box, 'fetch("%s", 8082)' % name), 'ECONNREFUSED')  # of the sandbox's own loopback
                    self.assertEqual(self.ask(box, 'query("%s")' % name), (3, 0))
            self.leave(box)
            self.assertRaises(BlockingIOError, server.accept)
        box = self.box(allow=[self.other])
        for name in ('0x5db8d822', '1572395042', '0135.0270.0330.042', '::ffff:93.184.216.34', '64:ff9b::5db8:d822', world.GOOD4):
            with self.subTest(name):
                self.assertEqual(self.ask(box, 'fetch("%s", %d)' % (name, HTTP)), 'ECONNRESET')
        self.leave(box)

    def test_other_kinds_of_sockets(self):
        script = r'''
import errno, socket
for name, family, kind, protocol in (("raw", 2, 3, 1), ("raw6", 10, 3, 58), ("raw-udp", 2, 3, 17), ("raw-ip", 2, 3, 255), ("ping", 2, 2, 1), ("ping6", 10, 2, 58), ("packet", 17, 3, 3),
                                     ("packet-dgram", 17, 2, 3), ("vsock", 40, 1, 0), ("vsock-dgram", 40, 2, 0), ("dccp", 2, 6, 33), ("xdp", 44, 3, 0), ("alg", 38, 5, 0), ("bluetooth", 31, 3, 1),
                                     ("can", 29, 3, 1), ("tipc", 30, 5, 0), ("rds", 21, 5, 0), ("smc", 43, 1, 0), ("kcm", 41, 5, 0), ("qrtr", 42, 2, 0), ("nfc", 39, 3, 0), ("llc", 26, 1, 0),
                                     ("x25", 9, 5, 0), ("phonet", 35, 2, 0), ("ib", 27, 3, 0), ("mctp", 45, 2, 0), ("key", 15, 3, 2)):
    try:
        socket.socket(family, kind, protocol).close()
        print(name)
    except OSError as e:
        pass
'''
        self.assertEqual(self.python(script, options=['--allow', GOOD]).split(), [])
        self.assertIn('raw', subprocess.run(['python3', '-c', script], capture_output=True, text=True).stdout.split())
        box = self.box(allow=[GOOD])
        for kind, protocol in ((1, 262), (2, 136), (1, 132), (5, 132)):  # multipath TCP, UDP-Lite, SCTP
            said = self.ask(box, '(lambda s: (s.settimeout(600), code(s.connect, ("%s", %d)), code(s.send, b"GET / HTTP/1.0\\r\\n\\r\\n"), code(s.recv, 100)))(socket.socket(2, %d, %d))[3]' %
                            (world.OTHER4, HTTP, kind, protocol))
            self.assertNotEqual(said, 'done')
        self.leave(box)

    def test_abstract_sockets_of_the_host(self):
        name = '\\0yett-hostile-%d' % yett.run_of_process().place
        connect = 'socket.socket(socket.AF_UNIX).connect("%s")' % name
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name.replace('\\0', '\0'))
            server.listen()
            exec(connect)
            for options in ((), ('--allow', GOOD), *self.further):
                box = self.box(*options)
                self.assertIn('Connection refused', self.ask(box, connect))
                self.leave(box)

    def test_the_network_inside_is_not_its_own_to_change(self):
        """Addresses, routes and rules by netlink, options of sockets that reach below, and settings."""
        box = self.box(allow=[GOOD])
        add = {
            'address': 'struct.pack("=IHHIIBBBBIHHI", 32, 20, 0x405, 1, 0, 2, 32, 0, 0, 1, 8, 2, 0x0100007f)',
            'route': 'struct.pack("=IHHIIBBBBBBBBIHHI", 36, 24, 0x405, 1, 0, 2, 32, 0, 0, 254, 3, 0, 1, 0, 8, 1, 0x01010101)',
            'delete-route': 'struct.pack("=IHHIIBBBBBBBBI", 28, 25, 5, 1, 0, 2, 0, 0, 0, 255, 0, 0, 0, 0)',
            'link-down': 'struct.pack("=IHHIIBxHiII", 32, 16, 5, 1, 0, 0, 1, 1, 0, 1)',
            'rule': 'struct.pack("=IHHIIBBBBBBBBI", 28, 32, 0x405, 1, 0, 2, 0, 0, 0, 254, 0, 0, 1, 0)'}
        said = {name: self.ask(box, '(lambda s: (s.send(%s), struct.unpack("=i", s.recv(4096)[16:20])[0])[1])(socket.socket(16, 3, 0))' % text) for name, text in add.items()}
        self.assertEqual(said, {name: -1 for name in add})  # EPERM
        for level, option, value in ((0, 19, 1), (1, 25, b'lo'), (1, 36, 1), (1, 33, 1), (0, 4, b'\x83\x07\x04' + socket.inet_aton('10.83.0.2') + b'\0')):
            # IP_TRANSPARENT, SO_BINDTODEVICE, SO_MARK, SO_RCVBUFFORCE, IP_OPTIONS with a source route
            said = self.ask(box, '(lambda s: (code(s.setsockopt, %d, %d, %r), answered(s, ("%s", %d), ("good.example", %d))))(socket.socket())' %
                            (level, option, value, world.OTHER4, HTTP, HTTP))
            self.assertEqual(said[1], ('served at ' + world.GOOD4, b''))
            self.assertTrue(said[0] == 'EPERM' or isinstance(value, bytes), said)
        for name in ('ip_unprivileged_port_start', 'ip_nonlocal_bind', 'tcp_fastopen'):
            self.assertIn(self.ask(box, 'code(open, "/proc/sys/net/ipv4/%s", "w")' % name), ('EROFS', 'EACCES', 'ENOENT', 'EPERM'))
        self.leave(box)

    def test_nobody_listens_where_the_front_does(self):
        """Every way to have the same address: each works where nobody listens, and none where the front does."""
        box = self.box(allow=[GOOD])
        reuse, port, freebind = (1, 2), (1, 15), (0, 15)
        for options in ((), (reuse,), (port,), (freebind,), (reuse, port), (reuse, freebind), (port, freebind), (reuse, port, freebind)):
            for family, kind, address, number in ((2, 1, '198.18.0.2', 1), (10, 1, 'fd79:6574:7400::2', 1), (2, 1, '0.0.0.0', 1), (10, 1, '::', 1), (10, 1, '::ffff:198.18.0.2', 1),
                                                  (2, 2, '0.0.0.0', 53), (10, 2, '::', 53), (2, 2, '198.18.0.2', 53), (2, 2, '8.8.8.8', 53), (2, 2, '127.0.0.1', 53)):
                with self.subTest((family, kind, address, number, options)):
                    said = self.ask(box, 'bind(%d, %d, "%s", %d, %r)' % (family, kind, address, number, options))
                    self.assertIn(said, ('EACCES', 'EADDRINUSE', 'EADDRNOTAVAIL', 'EPERM'))
            # Above the ports that take privilege it can be had, and changes nothing.
            self.assertIn(self.ask(box, 'bind(2, 1, "198.18.0.2", 0, %r)' % (options,)), ('done', self.foreign))
        for family, address, others in ((2, '0.0.0.0', ()), (10, '::', ()), (2, '198.18.0.16', (self.foreign,))):
            self.assertIn(self.ask(box, 'bind(%d, 1, "%s", %d, %r, 1)' % (family, address, HTTP, (reuse, port))), ('done', *others))
        self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.assertEqual(self.ask(box, 'fetch("%s", %d)' % (world.OTHER4, HTTP)), 'ECONNRESET')
        self.leave(box)

    def test_a_socket_that_is_connected_anew(self):
        """By connect(2) with AF_UNSPEC, and with data in its first packet: it is caught again."""
        box = self.box(allow=[GOOD])
        again = '(lambda s, c: (s.settimeout(600), s.connect(("good.example", %d)), c.connect(s.fileno(), struct.pack("=H14x", 0), 16), code(s.connect, ("%s", %d)), code(s.recv, 1)))' \
                '(socket.socket(), __import__("ctypes").CDLL(None))[2:]' % (HTTP, world.OTHER4, HTTP)
        self.assertEqual(self.ask(box, again), (0, 'done', 'ECONNRESET'))
        fast = '(lambda s: (code(s.sendto, b"GET / HTTP/1.0\\r\\n\\r\\n", 0x20000000, ("%s", %d)), reading(s)[:4]))(socket.socket())'
        self.assertEqual(self.ask(box, fast % (world.OTHER4, HTTP))[1], b'')
        self.assertEqual(self.ask(box, fast % ('198.18.0.16', HTTP)), ('done', b'HTTP'))
        self.leave(box)

    def test_a_firewall_rule_on_the_user(self):
        mine, others = self.box(allow=[GOOD]), self.neighbour()
        self.assert_unharmed(mine)
        rule = ('uidrange', '%d-%d' % (self.alice.uid, self.alice.uid), 'prohibit')
        for family in ('-4', '-6'):
            world.run('ip', family, 'rule', 'add', *rule)
            self.addCleanup(world.run, 'ip', family, 'rule', 'del', *rule)
        self.assertEqual(self.ask(mine, 'fetch("good.example", %d)' % HTTP), 'ECONNRESET')
        self.assert_unharmed(others)
        self.leave(mine, others)


class Catchers(Network):
    """Who makes what a front listens on, where there is no BPF, is the sandbox's."""

    service_class = yett.WithoutBpf
    FIRST = 7100
    # fake_catcher.c has them in this order. Whether the sandbox is there in the end: then nothing is reached.
    ATTACKS = (('number_of_the_dialer', True), ('number_of_itself', True), ('number_at_the_end', True), ('number_below_all', True), ('greatest_number', True),
               ('twice', True), ('too_many', True), ('short_packet', True), ('long_packet', True), ('others', True), ('kinds', True), ('nothing', True),
               ('no_end', True), ('end_at_once', False), ('report_with_descriptors', False), ('report_of_another_size', False), ('report_unsound', False),
               ('stopped', False))

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'libexec': yett.run_of_process().libexec('libexec-catcher', init=hostile.program('fake-catcher'))}
        super().setUpClass()

    def rule(self, number):
        return 'good.example:%d' % (self.FIRST + number)

    def test_it_is_the_fake_one(self):
        """An honest one of it is as good as any; and what it finds where it is, captured, is nothing."""
        box = self.box(allow=[GOOD])
        self.assert_unharmed(box)
        self.leave(box)
        done = self.sandbox('true', options=['--allow', self.rule(len(self.ATTACKS))])
        self.assert_refused(done, 125, 'nothing was found')
        box = self.box(allow=[GOOD])
        self.assert_unharmed(box)
        self.leave(box)
        self.assert_nothing_left()

    def test_whatever_it_does_concerns_its_own_sandbox(self):
        other = self.neighbour()
        for i, (name, is_there) in enumerate(self.ATTACKS):
            with self.subTest(name):
                rule = self.rule(i)
                done = self.sandbox('python3', '-c', PROMPT, options=['--allow', rule], input='fetch("good.example", %d)\n' % (self.FIRST + i))
                self.assertEqual(done.code, 0 if is_there else 125, done)
                self.assertNotIn('served', done.out)
                self.assert_unharmed(other)
        self.leave(other)
        self.assert_nothing_left()


class InsideWithoutBpf(Inside):
    """The same where the front is sent its listeners by who is somebody of the sandbox's."""

    service_class = yett.WithoutBpf
    uncaught, other, further, foreign = 'ECONNREFUSED', GOOD, (), 'EADDRNOTAVAIL'


class InsideRootless(InsideWithoutBpf):
    """The same where the front has the payload's uid."""

    service_class = yett.Rootless

    def test_what_has_the_same_uid_is_not_in_reach(self):
        box = self.box(allow=[GOOD])
        (front,), (dialer,) = self.roles('yett-front'), self.roles('yett-dialer')
        self.assertEqual({yett.status_of(pid)['Uid'].split()[0] for pid in (front, dialer)}, {str(self.alice.uid)})
        self.assertFalse(self.ask(box, '[open("/proc/%s/cmdline" % p).read() for p in os.listdir("/proc") if p.isdigit() and "yett-" in open("/proc/%s/cmdline" % p).read() and p != "1"]'))
        for number in (signal.SIGKILL, signal.SIGSTOP):
            self.assertEqual(self.ask(box, 'len([code(os.kill, p, %d) for p in range(2, 70000) if p != os.getpid()])' % number), 69997)
        self.assertEqual(self.ask(box, 'code(os.kill, %d, 9)' % front), 'ESRCH')
        self.assertEqual((self.roles('yett-front'), self.roles('yett-dialer')), ([front], [dialer]))
        self.assert_unharmed(box)
        self.leave(box)

    def test_a_dialer_and_a_front_of_another_sandbox_of_the_same_user(self):
        """Each has its own: what one may reach the other one does not, at the same port."""
        box, other = self.box(allow=[GOOD]), self.box(allow=['other.example:%d' % HTTP])
        self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'served at ' + world.GOOD4)
        self.assertEqual(self.ask(other, 'fetch("other.example", %d)' % HTTP), 'served at ' + world.OTHER4)
        for address in ('198.18.0.16', world.GOOD4):
            self.assertNotIn(world.GOOD4, str(self.ask(other, 'fetch("%s", %d)' % (address, HTTP))))
        self.leave(box, other)
        self.assert_nothing_left()


class Floods(Network):
    """Much of everything. The address is the first that a front gives: the name is asked for as soon as there is somebody to do so."""

    FIRST = '198.18.0.16'

    def box(self, *options, **more):
        box = super().box(*options, **more)
        self.assertEqual(self.ask(box, 'socket.gethostbyname("good.example")'), self.FIRST)
        return box

    def usage(self, name):
        return yett.told(self.yett('stats', '--json', name).out)['sandboxes'][0]

    def test_many_connections(self):
        other, box = self.neighbour(), self.box('--name', 'many', allow=[GOOD])
        # One is reset where too many have not ended yet, and is let through later.
        made = self.ask(box, '[next(said for said in iter(lambda: code(lambda: socket.create_connection(("%s", %d), 600).close()), None) if said != "ECONNRESET") for _ in range(10000)]' % (self.FIRST, HTTP))
        self.assertEqual((len(made), set(made)), (10000, {'done'}))
        self.assert_unharmed(other)
        yett.wait_until(lambda: self.usage('many')['connections'] == 0, 'the end of all')
        self.assertIsNone(self.ask(box, 'kept.extend(started("%s", %d, b"hold") for _ in range(1000))' % (self.FIRST, HTTP)))
        self.assertEqual(self.ask(box, 'sum(code(lambda: s.recv(4) or s.send(b"x") and s.recv(1)) == "done" for s in kept)'), 256)
        self.assertLessEqual(self.usage('many')['connections'], 256)
        self.assert_unharmed(other)
        self.assertIsNone(self.ask(box, '[s.close() for s in kept] and None'))
        yett.wait_until(lambda: self.ask(box, 'fetch("good.example", %d)' % HTTP) == 'served at ' + world.GOOD4, 'room for one')
        self.leave(other, box)
        self.assert_nothing_left()

    def group_file(self, name):
        """A file of the group of alice's only sandbox; None: there is none of the name."""
        found = [os.path.join(path, name) for top in self.service.cgroup_tops() for path, _, files in os.walk(top) if name in files and '/user-%d/' % self.alice.uid in path]
        return min(found, key=len) if found else None

    def flood_unread(self, enough=None):
        """
        How much TCP keeps for a sandbox in which nobody reads: what its group was charged, at most. Without a limit, for which there is
        `enough`, until it is that much.
        """
        other, box = self.neighbour(), self.box('--memory', '64M', allow=[GOOD])
        charged = self.group_file('memory.kmem.tcp.usage_in_bytes')
        if charged is None:
            self.skipTest('memory.kmem.tcp is of control groups v1')
        if enough:
            with open(os.path.join(os.path.dirname(charged), 'memory.kmem.tcp.limit_in_bytes'), 'w', encoding='ascii') as file:
                file.write('-1')
        self.tell(box, 'len([kept.append(started("%s", %d, b"flood 4", (1, 8, 1 << 24))) for _ in range(500)])' % (self.FIRST, HTTP))

        seen = [0]

        def is_enough():
            seen.append(max(int(yett.read(charged)), seen[-1]))
            return seen[-1] > enough if enough else len(seen) > LOOKS and seen[-1] == seen[-LOOKS]
        yett.wait_until(is_enough, 'so much that nobody reads')
        self.assertEqual(self.line(box), '500')
        most = seen[-1]
        self.assert_unharmed(other)
        self.assertIsNone(self.ask(box, '[s.close() for s in kept] and None'))
        self.leave(other, box)
        return most

    def test_what_nobody_reads_is_bounded_by_the_limit_of_memory(self):
        before = self.tcp_pages()
        limited, bound = self.flood_unread(), 80 << 20
        yett.wait_until(lambda: self.tcp_pages() < before + 4096, 'what TCP took, given back')
        boundless = self.flood_unread(2 * bound)
        yett.wait_until(lambda: self.tcp_pages() < before + 4096, 'what TCP took, given back')
        print('unread: %d MiB with the limit, %d without' % (limited >> 20, boundless >> 20))
        self.assertLessEqual(limited, bound)
        self.assertGreater(boundless, 2 * bound)

    @staticmethod
    def tcp_pages():
        line = next(line for line in yett.read('/proc/net/sockstat').splitlines() if line.startswith('TCP:'))
        return int(line.split()[-1])

    def test_floods_of_names(self):
        other, box = self.neighbour(), self.box(allow=[GOOD, '*.wild.example'])
        supervisors = {yett.parent_of(pid) for pid in self.roles('yett-dialer') if yett.status_of(pid)['Uid'].split()[0] == str(self.alice.uid)}
        (front,) = [pid for pid in self.roles('yett-front') if yett.parent_of(pid) in supervisors]
        for name in ('tunnel', 'wild'):
            self.assertEqual(self.ask(box, 'len([code(kept[0].sendto, message("%%d.%s.example" %% i), ("8.8.8.8", 53)) for i in range(70000) if kept or not kept.append(socket.socket(2, 2))])' % name), 70000)
        for size in (0, 1, 11, 12, 17, 512, 1499, 1500, 1501, 9000, 65000):
            self.ask(box, 'len([code(kept[0].sendto, os.urandom(%d), ("8.8.8.8", 53)) for i in range(100)])' % size)
        # Where enough waits to be read the kernel drops what comes: resolvers ask again.
        self.assertEqual(self.ask(box, 'query("good.example", tries=60)'), (0, 1))
        self.assertEqual([self.ask(box, 'first_answered("good.example", bytes(%d))' % size) for size in (0, 1500)], ['first', 'second'])
        self.assertLess(int(yett.status_of(front)['VmRSS'].split()[0]), 32 << 10)
        # Slow ones: each stream says half of something, and there are more than there may be.
        self.assertIsNone(self.ask(box, 'kept.extend(started("1.1.1.1", 53, b"\\0") for _ in range(200))'))
        self.assertEqual(self.ask(box, 'query("good.example", stream=True)'), (0, 1))
        self.assert_unharmed(box)
        self.assert_unharmed(other)
        self.leave(other, box)


class Killed(Network):
    """Who makes or serves a network dies at the worst moment."""

    caught_by, caught_after = 1, 'egress:front'  # links to programs of the kernel; the step before

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults-network'))
        cls.service_options = {'helper': 'tests/hostile/yett-helper-faults', 'libexec': run.libexec('libexec-' + cls.__name__), 'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()

    def setUp(self):
        self.addCleanup(self.faults.set)

    def hold(self, step):
        """A client whose sandbox's network is being made; what it runs connects."""
        self.faults.set(step, Faults.HOLD)
        client = self.start('python3', '-c', PROMPT, options=['--name', 'held', '--allow', GOOD])
        yett.wait_until(lambda: self.faults.reached(), step)
        return client

    def test_no_command_runs_before_its_connections_are_caught(self):
        client = self.hold(self.caught_after)
        init = [pid for pid in yett.inits_among(yett.processes()) if yett.parent_of(pid) == yett.parent_of(self.faults.holder())]
        self.assertEqual(len(init), 1)
        yett.wait_until(lambda: not yett.is_building(init[0]), 'an init that serves')
        self.assertFalse([argv for argv in map(yett.argv_of, yett.children_of(init[0])) if argv[:1] != ['yett-init']])  # one may be ready for the first command
        self.assertFalse(select.select([client.stdout], [], [], 0)[0])
        self.faults.release()
        self.assertEqual(self.line(client), 'ready')
        self.assert_unharmed(client)
        self.leave(client)
        self.assert_nothing_left()

    def die(self, step, victim):
        client = self.hold(step)
        holder = self.faults.holder()
        supervisor = yett.parent_of(holder)
        victims = {'itself': holder, 'supervisor': supervisor, 'client': client.pid, 'monitor': yett.parent_of(supervisor)}
        inits = [pid for pid in yett.inits_among(yett.processes()) if yett.parent_of(pid) == supervisor]
        victims.update(('inside', pid) for pid in inits)
        yett.kill(victims[victim])
        self.faults.release()
        client.stdin.close()
        client.wait(yett.DEADLINE)
        self.faults.set()
        self.assert_nothing_left()
        box = self.box(allow=[GOOD])
        self.assert_unharmed(box)
        self.leave(box)
        self.assert_nothing_left()

    def die_while_running(self, name):
        """With a connection open, which must end."""
        box = self.box('--name', 'dies', allow=[GOOD])
        self.assert_unharmed(box)
        self.assertEqual(self.ask(box, 'kept.append(started("good.example", %d, b"hold")) or kept[0].recv(4)' % HTTP), b'held')
        self.assertEqual(self.links(), self.caught_by)
        pids = {role: self.roles(role)[0] for role in ('yett-front', 'yett-dialer')}
        pids['supervisor'] = yett.parent_of(pids['yett-front'])
        pids['keeper'] = yett.children_of(pids['yett-dialer'])[0]
        os.kill(pids[name], signal.SIGKILL)
        if name == 'supervisor':
            box.wait(yett.DEADLINE)
        else:
            yett.wait_until(lambda: self.ask(box, 'fetch("good.example", %d)' % HTTP) == 'served at ' + world.GOOD4, 'service')
            self.assertEqual(self.ask(box, 'code(kept[0].recv, 1)'), 'ECONNRESET') if name != 'keeper' else None
            self.assertEqual(self.links(), self.caught_by)
            self.leave(box)
        self.assert_nothing_left()

    def test_a_dialer_that_dies_while_all_stand_still(self):
        """It is its user's, who may do that."""
        box = self.box('--name', 'still', allow=[GOOD])
        self.assertEqual(self.yett('pause', 'still').code, 0)
        (dialer,) = self.roles('yett-dialer')
        self.alice.popen(['kill', '-9', str(dialer)]).wait()
        yett.wait_until(lambda: not yett.is_alive(dialer), 'its end')
        self.assertEqual(self.yett('resume', 'still').code, 0)
        yett.wait_until(lambda: self.ask(box, 'fetch("good.example", %d)' % HTTP) == 'served at ' + world.GOOD4, 'service')
        self.leave(box)

    def test_one_that_stands_still_holds_up_no_end(self):
        box = self.box(allow=[GOOD])
        self.assert_unharmed(box)
        mine = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] in (['yett-dialer'], ['yett-resolver'])]
        self.alice.popen(['kill', '-STOP', *map(str, mine)]).wait()
        self.leave(box)
        self.assert_nothing_left()
        self.assertFalse([pid for pid in mine if yett.is_alive(pid)])

    def test_its_user_traces_no_dialer(self):
        box = self.box(allow=[GOOD])
        (dialer,) = self.roles('yett-dialer')
        for pid in (dialer, *yett.children_of(dialer)):
            said = self.alice.popen(['python3', '-c', 'import ctypes, sys; c = ctypes.CDLL(None, use_errno=True); print(c.ptrace(0x4206, int(sys.argv[1]), None, None), ctypes.get_errno())', str(pid)],
                                    stdout=subprocess.PIPE).communicate()[0]
            self.assertEqual(said, b'-1 1\n')
            self.assertNotEqual(self.alice.popen(['ls', '/proc/%d/fd/' % pid], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(), 0)
        self.leave(box)


hostile.add_cases(Killed, 'death', [('%s at %s' % (victim, step), step, victim) for step in ('egress:front', 'egress:dialer')
                                    for victim in ('itself', 'supervisor', 'client', 'monitor', 'inside')], lambda self, _, step, victim: self.die(step, victim))
hostile.add_cases(Killed, 'death_while_running_of', [(name,) for name in ('yett-front', 'yett-dialer', 'supervisor', 'keeper')], Killed.die_while_running)


class KilledWithoutBpf(Killed):
    service_class = yett.WithoutBpf
    caught_by, caught_after = 0, 'catcher:enter'


hostile.add_cases(KilledWithoutBpf, 'death', [('%s at catcher:enter' % victim, 'catcher:enter', victim) for victim in ('itself', 'supervisor', 'client', 'monitor', 'inside')],
                  lambda self, _, step, victim: self.die(step, victim))


class Spares(Network):
    """Sandboxes that are ready ahead, and made by who made others: each has the network that it asks for, and no other one's."""

    service_options = {'spares': 2}

    def test_one_after_the_other(self):
        for _ in range(3):
            box = self.box(allow=[GOOD])
            self.assert_unharmed(box)
            self.leave(box)
            box = self.box()
            self.assertEqual(self.ask(box, 'fetch("%s", %d)' % (world.GOOD4, HTTP)), 'ENETUNREACH')
            self.leave(box)
            box = self.box(allow=['other.example'])
            self.assertEqual(self.ask(box, 'fetch("good.example", %d)' % HTTP), 'no such name')
            self.assertEqual(self.ask(box, 'fetch("other.example", %d)' % HTTP), 'served at ' + world.OTHER4)
            self.leave(box)
        self.service.stop()
        self.assert_nothing_left()
        self.service.start()

    def test_a_command_that_comes_later_has_the_same_network(self):
        box = self.box('--name', 'later', allow=[GOOD])
        fetch = ('python3', '-c', PROMPT.split('print("ready"')[0] + 'print(fetch(sys.argv[1], %d))' % HTTP)
        for name, expected in (('good.example', 'served at ' + world.GOOD4), (world.OTHER4, 'ECONNRESET')):
            done = self.yett('exec', 'later', '--', *fetch, name)
            self.assertEqual(done.out.strip(), expected, done)
        self.leave(box)


if __name__ == '__main__':
    world.enter()
    yett.main()
