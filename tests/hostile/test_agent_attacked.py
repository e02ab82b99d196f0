"""yett-agent, of which other accounts, programs inside sandboxes and the files that it reads make what they can."""
import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import threading

import agent
import serving

import yett


class Held(serving.Case):
    """A sandbox whose init does not answer: who is inside may keep it from that, by all the processors' time, say."""

    def setUp(self):
        super().setUp()
        self.box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.addCleanup(self.end_box)

    def end_box(self):
        self.server.call('sandboxes', action='end', sandbox=self.box)
        self.wait_no_sandboxes()

    def stop_init(self):
        init, = yett.inits_among(self.service.leftover_processes())
        os.kill(init, signal.SIGSTOP)
        self.addCleanup(self.go_on, init)
        yett.wait_until(lambda: yett.status_of(init)['State'].startswith('T'), 'the stopped init')
        return init

    def go_on(self, init):
        with contextlib.suppress(ProcessLookupError):
            os.kill(init, signal.SIGCONT)

    def running(self, **command):
        begun = self.server.call('run_command', sandbox=self.box, background=True, timeout=600, **command).json['id']
        yett.wait_until(lambda: 'up' in self.server.call('wait_command', id=begun, timeout=0).json['stdout'], 'the command')
        return begun

    def later(self, operation, **arguments):
        """A call that is answered meanwhile; it was sent when this returns."""
        connection, told = self.server.connect(), []
        connection.request('POST', '/v1/' + operation, json.dumps(arguments), {'Content-Type': 'application/json'})
        reader = threading.Thread(target=lambda: told.append(serving.Answer(connection.getresponse())))
        reader.start()
        self.addCleanup(reader.join)
        return reader, told

    def status(self, begun):
        return self.server.get('/status/' + begun).json['status']

    def test_a_kill_that_it_does_not_answer_holds_nobody_up(self):
        begun = self.running(command='echo up; sleep 1000')
        init = self.stop_init()
        reader, told = self.later('wait_command', id=begun, signal='KILL', timeout=60)
        self.assertEqual([self.status(begun) for _ in range(5)], ['running'] * 5)
        os.kill(init, signal.SIGCONT)
        reader.join()
        self.assertEqual((told[0].json['status'], told[0].json['signal'], told[0].json['why']), ('killed', 'KILL', 'it was killed on request'))

    def test_what_it_never_tells_of_is_over_all_the_same(self):
        begun = self.running(command='echo up; sleep 1000')
        self.stop_init()
        reader, told = self.later('wait_command', id=begun, signal='KILL', timeout=60)
        reader.join()
        self.assertEqual((told[0].json['status'], told[0].json['why']), ('killed', 'it was killed on request, and the sandbox does not answer'))

    def test_a_time_that_it_does_not_keep_is_kept(self):
        self.stop_init()
        answer = self.server.call('run_command', sandbox=self.box, command='true', timeout='100ms')
        self.assertEqual((answer.status, answer.json['status'], answer.json['error']['message']), (503, 'timed_out', 'the sandbox does not answer'))
        self.assertEqual(self.server.call('run_command', command='echo x').json['stdout'], 'x\n')

    def test_it_is_told_nothing_more_before_its_channel_is_full(self):
        self.stop_init()
        begun = self.server.call('run_command', sandbox=self.box, command='true', timeout=600, background=True).json['id']
        self.assertEqual(self.server.call('wait_command', id=begun, timeout=6).json['status'], 'running')
        for operation, arguments in (('run_command', {'command': 'true'}), ('read_file', {'path': '/etc/passwd'}), ('list_files', {'path': '/'}),
                                     ('sandboxes', {'action': 'mounts'}), ('run_code', {'language': 'bash', 'code': 'true'})):
            answer = self.server.call(operation, sandbox=self.box, **arguments)
            self.assertEqual((answer.status, answer.json['error']['message']), (503, 'the sandbox does not answer'), operation)
        answer = self.server.call('wait_command', id=begun, signal='TERM', timeout=0)
        self.assertEqual((answer.status, answer.json['error']['message']), (503, 'the sandbox does not answer'))
        self.assertEqual(self.server.call('wait_command', id=begun, signal='KILL').json['status'], 'killed')

    def test_operations_that_it_does_not_take_are_few(self):
        self.stop_init()
        waiting = [self.later('read_file', sandbox=self.box, path='/etc/passwd') for _ in range(56)]
        yett.wait_until(lambda: sum(bool(told) for _, told in waiting) == 8, 'those that are too many')
        for reader, told in waiting:
            if told:
                self.assertEqual((told[0].status, told[0].json['error']['code']), (503, 'resource-limit'))
        self.server.call('sandboxes', action='end', sandbox=self.box)
        for reader, told in waiting:
            reader.join()

    def test_kept_state_in_it_holds_nobody_up_and_ends(self):
        self.assertEqual(self.server.call('run_code', language='python', code='1 + 1', mode='kept', sandbox=self.box).json['value'], '2')
        self.stop_init()
        begun = self.server.call('run_code', language='python', code='while True: pass', mode='kept', sandbox=self.box, background=True, timeout='100ms')
        answer = self.server.call('wait_command', id=begun.json['id'], timeout=60)
        self.assertEqual((answer.json['status'], answer.json['why']), ('failed', 'the sandbox does not answer, and what was kept is gone'))

    def test_one_that_gives_up_is_let_go_of_while_others_are_served(self):
        begun = self.running(command='echo up; sleep 1000')
        reader, told = self.later('run_command', sandbox=self.box, command='sleep 1000', timeout=600)
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 2, 'the other command')
        init = self.stop_init()
        connection = self.server.connect()
        connection.request('POST', '/v1/wait_command', json.dumps({'id': begun, 'signal': 'KILL', 'timeout': 60}), {'Content-Type': 'application/json'})
        connection.close()
        self.assertEqual(self.status(begun), 'running')
        os.kill(init, signal.SIGCONT)
        self.server.call('sandboxes', action='end', sandbox=self.box)
        reader.join()
        self.assertEqual(told[0].json['status'], 'killed')


class Strangers(serving.Case):
    CONNECT = r'''
import socket, sys
held = []
for _ in range(400):
    held.append(socket.create_connection(('127.0.0.1', int(sys.argv[1]))))
print('held', flush=True)
sys.stdin.read()
'''

    def test_connections_of_another_account_take_no_place_of_the_user(self):
        server = self.other(tcp=True)
        bob = self.service.popen(self.bob, 'python3', '-c', self.CONNECT, str(server.port), stdin=-1, stdout=-1)
        self.addCleanup(bob.communicate)
        self.assertEqual(yett.line_of(bob.stdout), 'held')
        self.assertEqual(server.get('/config').status, 200)
        self.assertEqual(server.by_tcp('GET', '/config').status, 200)
        files = len(os.listdir('/proc/%d/fd' % server.process.pid))
        self.assertLess(files, 64)

    def test_who_finds_no_descriptor_left_is_turned_away_until_there_is_one(self):
        path = self.folder('few') + '/socket'
        server = self.service.popen(self.alice, 'sh', '-c', 'ulimit -n 24; exec "$0" serve --listen "$1"', agent.PROGRAM, path, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.assertEqual(yett.line_of(server.stdout), 'Listening at ' + path)
        held = [self.connect(path) for _ in range(56)]
        self.assertEqual(serving.read_all(held[-1]), b'')
        for one in held:
            one.close()
        yett.wait_until(lambda: self.answers(path), 'an answer')

    def connect(self, path):
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(yett.DEADLINE)
        connected.connect(path)
        return connected

    def answers(self, path):
        connection = serving.UnixConnection(path)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request('GET', '/config')
            return connection.getresponse().status == 200
        return False


class Files(serving.Case):
    """What remembers the network that was switched off: the user's own file, in which anything may stand."""

    def setUp(self):
        super().setUp()
        self.state = self.folder('state', self.alice)
        os.makedirs(self.state + '/yett')
        os.chown(self.state + '/yett', self.alice.uid, -1)
        self.path = self.state + '/yett/agent-network.json'
        self.server = self.other(env={'XDG_STATE_HOME': self.state})
        self.box = self.server.call('sandboxes', action='make', allow=['one.example:443']).json['sandbox']['id']

    def put(self, make):
        """Instead of what lay there before."""
        if os.path.lexists(self.path):
            os.rename(self.path, self.path + '.before-%d' % len(os.listdir(self.state + '/yett')))
        make(self.path)

    def test_whatever_lies_there_is_an_empty_one(self):
        for name, make in (('a FIFO', os.mkfifo), ('a device', lambda path: os.symlink('/dev/zero', path)), ('a directory', os.mkdir),
                           ('numbers', lambda path: yett.write(path, json.dumps({self.box: [1, None]}))),
                           ('an object', lambda path: yett.write(path, json.dumps({self.box: {'a': 1}}))),
                           ('much', lambda path: self.make_long(path)), ('deep', lambda path: yett.write(path, '[' * 100000))):
            with self.subTest(name):
                self.put(make)
                answer = self.server.get('/network/' + self.box)
                self.assertEqual((answer.status, answer.json['enabled']), (200, True))
                self.assertEqual(self.server.ask('PUT', '/network/' + self.box, {'enabled': True}).status, 200)

    def make_long(self, path):
        with open(path, 'w', encoding='utf-8') as file:
            file.truncate(1 << 40)

    def test_what_it_writes_goes_to_a_file_of_its_own(self):
        os.mkfifo(self.path + '.new')
        self.assertEqual(self.server.ask('PUT', '/network/' + self.box, {'enabled': False}).json['enabled'], False)
        self.assertTrue(stat.S_ISREG(os.lstat(self.path).st_mode))
        self.assertEqual(stat.S_IMODE(os.lstat(self.path).st_mode), 0o600)


class Tokens(serving.Case):
    def test_one_that_ends_leaves_the_token_of_another(self):
        runtime = self.folder('runtime', mode=0o700)
        first, second = (serving.Server(self.service, self.alice, '--port', '0', '--token-file', runtime + '/token') for _ in range(2))
        self.addCleanup(second.end)
        token = yett.read(runtime + '/token')
        first.end()
        self.assertEqual(yett.read(runtime + '/token'), token)


class Memory(serving.Case):
    def test_outputs_of_many_that_run_are_bounded_together(self):
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        ids = [self.server.call('run_command', sandbox=box, background=True, timeout=600,
                                command='yes | head -c 9000000; echo done >&2; sleep 1000').json['id'] for _ in range(45)]
        for begun in ids:
            yett.wait_until(lambda begun=begun: self.server.call('wait_command', id=begun, timeout=0).json['stderr'] == 'done\n', 'the output')
        answer = self.server.call('wait_command', id=ids[-1], timeout=0).json
        self.assertTrue(answer['truncated'])
        self.assertTrue(answer['stdout'].startswith('y\n') and answer['stdout'].endswith('y\n'))
        resident, kept = self.server.resident()
        self.assertLess(resident, (460 << 10) + kept)


class Forged(serving.Case):
    """Code whose state is kept can say in its driver's place what came of it."""

    FORGE = r'''
import json, os, sys
frame = sys._getframe()
while 'request' not in frame.f_locals:
    frame = frame.f_back
marker = b'\x1e' + frame.f_locals['request']['nonce'].encode() + b'\x1e'
os.write(2, marker)
told = marker + json.dumps(%s).encode() + b'\n'
while told:
    told = told[os.write(1, told):]
'''

    def forge(self, outcome):
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.addCleanup(self.server.call, 'sandboxes', action='end', sandbox=box)
        return self.server.call('run_code', language='python', code=self.FORGE % outcome, mode='kept', sandbox=box).json

    def test_numbers_are_numbers_that_there_can_be(self):
        for number in ('-1e300', '1e300', '-5', '"x"'):
            with self.subTest(number):
                answer = self.forge('{"status": 0, "user": %s, "system": %s, "memory": %s}' % ((number,) * 3))
                self.assertEqual((answer['status'], answer['memory_used_bytes'], answer['run']['cpu']), ('completed', 0, 0))

    def test_a_value_is_no_longer_than_those_of_the_driver(self):
        answer = self.forge('{"status": 0, "value": "x" * 1000000}')
        self.assertEqual((answer['status'], len(answer['value'])), ('completed', 400000))


if __name__ == '__main__':
    yett.main()
