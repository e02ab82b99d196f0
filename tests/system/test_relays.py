# SPDX-License-Identifier: Apache-2.0
"""Ports and sockets that a client serves: real programs on both ends, what is refused, and that one does not hold up others."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess

import yett

POLICY = '''
profile "closed" {
  extends = "default"
  shares = false
}
grant "relays" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "closed"}
  share_ro = {"*"}
  share_rw = {"*"}
  sockets = {"/run/user/%u/agent", "/run/user/%u/no.socket"}
  publish = {"127.0.0.1", "0.0.0.0"}
  linger_max = 1h
}
'''

# A server inside: says when it listens, and answers each connection when the other side has said all: how much that was.
SERVER = r'''
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.socket(family)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((sys.argv[1], int(sys.argv[2])))
server.listen(512)
print("listens", flush=True)
def serve(connection):
    with connection:
        count = 0
        while True:
            data = connection.recv(65536)
            if not data:
                break
            count += len(data)
        connection.sendall(b"%d bytes\n" % count)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
'''

# Connects to a Unix socket, sends what it is told, and prints the answer.
CONNECT = r'''
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(sys.argv[2].encode())
    s.shutdown(socket.SHUT_WR)
    print(s.makefile().read(), end="")
except OSError as e:
    print(e.strerror)
'''

PORT = 8123


def free_port(family=socket.AF_INET, address='127.0.0.1'):
    with socket.socket(family) as s:
        s.bind((address, 0))
        return s.getsockname()[1]


def connect(port, address='127.0.0.1'):
    s = socket.create_connection((address, port), yett.DEADLINE)
    s.settimeout(yett.DEADLINE)
    return s


def ask(port, data=b'hello', address='127.0.0.1'):
    """What a server inside says of what it was sent."""
    with connect(port, address) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return s.makefile().read()


class Relays(yett.Case):
    service_options = {'before': POLICY}

    def setUp(self):
        self.runtime = '/run/user/%d' % self.alice.uid
        os.makedirs(self.runtime, 0o700, exist_ok=True)
        self.addCleanup(shutil.rmtree, self.runtime, ignore_errors=True)
        os.chown(self.runtime, self.alice.uid, self.alice.gid)
        self.agent = self.runtime + '/agent'

    def serve(self, *options, address='127.0.0.1', port=PORT, **more):
        process = self.start('python3', '-c', SERVER, address, str(port), options=options, **more)
        self.assertEqual(self.line(process), 'listens')
        return process

    def told(self, process):
        """The port of the host that it says."""
        for line in iter(lambda: yett.line_of(process.stderr), ''):
            found = re.fullmatch(r'yett: \S+:(\d+) leads to port \d+ of the sandbox', line)
            if found:
                return int(found.group(1))
        raise AssertionError('it told of no port')

    def listen(self, path=None):
        """A listener of alice's outside."""
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(path or self.agent)
        os.chown(path or self.agent, self.alice.uid, self.alice.gid)
        server.listen(512)
        server.settimeout(yett.DEADLINE)
        return server


class Ports(Relays):
    def test_a_web_server_inside_is_reached_from_outside(self):
        folder = self.folder('site')
        yett.write(folder + '/page', 'from inside\n')
        port = free_port()
        process = self.start('python3', '-u', '-m', 'http.server', '--bind', '127.0.0.1', str(PORT),
                             options=['--ro', folder, '-C', folder, '--publish', '%d:%d' % (port, PORT)])
        self.line(process)
        done = subprocess.run(['curl', '-sS', '--noproxy', '*', 'http://127.0.0.1:%d/page' % port], capture_output=True, check=False, timeout=yett.DEADLINE)
        self.assertEqual((done.stdout, done.returncode), (b'from inside\n', 0), done)

    def test_with_port_0_the_kernel_chooses_and_it_is_told(self):
        process = self.serve('--publish', '0:%d' % PORT)
        self.assertEqual(ask(self.told(process)), '5 bytes\n')

    def test_a_server_at_the_other_loopback_is_found(self):
        process = self.serve('--publish', '0:%d' % PORT, address='::1')
        self.assertEqual(ask(self.told(process)), '5 bytes\n')

    def test_it_can_be_published_at_the_other_loopback(self):
        process = self.serve('--publish', '[::1]:0:%d' % PORT)
        self.assertEqual(ask(self.told(process), address='::1'), '5 bytes\n')

    def test_much_goes_through_and_its_end_does_too(self):
        process = self.serve('--publish', '0:%d' % PORT)
        self.assertEqual(ask(self.told(process), b'x' * (20 << 20)), '%d bytes\n' % (20 << 20))

    def test_several_are_served_at_once_and_who_does_not_read_holds_up_nobody(self):
        process = self.serve('--publish', '0:%d' % PORT, '--publish', '0:%d' % (PORT + 1))
        port, other = self.told(process), self.told(process)
        idle = [connect(port) for _ in range(100)]
        for s in idle:
            self.addCleanup(s.close)
            s.sendall(b'half')
        self.assertEqual(ask(port), '5 bytes\n')
        # nobody inside listens there: it is closed
        with self.assertRaises(ConnectionError), connect(other) as s:
            s.sendall(b'x')
            if not s.recv(1):
                raise ConnectionResetError
        self.assertEqual(ask(port), '5 bytes\n')
        idle[0].shutdown(socket.SHUT_WR)
        self.assertEqual(idle[0].makefile().read(), '4 bytes\n')

    def test_there_are_256_connections_at_most(self):
        process = self.serve('--publish', '0:%d' % PORT)
        port = self.told(process)
        held = []
        for _ in range(256):
            held.append(connect(port))
            self.addCleanup(held[-1].close)
        with self.assertRaises(ConnectionError), connect(port) as s:  # which may be told already
            s.sendall(b'one too many')
            if not s.recv(1):
                raise ConnectionResetError
        for s in held[:2]:
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(s.makefile().read(), '0 bytes\n')
            s.close()
        yett.wait_until(lambda: self.is_served(port), 'room for another connection')

    @staticmethod
    def is_served(port):
        with contextlib.suppress(OSError):
            return ask(port) == '5 bytes\n'
        return False

    def test_it_ends_with_its_client(self):
        process = self.serve('--publish', '0:%d' % PORT)
        port = self.told(process)
        self.assertEqual(ask(port), '5 bytes\n')
        process.kill()
        process.wait()
        with self.assertRaises(ConnectionRefusedError):
            connect(port)

    def test_a_port_that_is_taken_is_refused_before_anything_runs(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            s.listen()
            port = s.getsockname()[1]
            done = self.sandbox('echo', 'it runs', options=['--publish', '%d:80' % port])
        self.assert_refused(done, 125, 'port %d of 127.0.0.1 is taken by another program' % port)
        self.assertEqual(done.out, '')

    def test_privileged_ports_are_refused(self):
        done = self.sandbox('echo', 'it runs', options=['--publish', '80:8080'])
        self.assert_refused(done, 125, 'port 80 is privileged', 'a port from 1024 on, or 0')
        self.assertEqual(done.out, '')

    def test_an_address_is_published_where_the_grant_has_it(self):
        process = self.serve('--publish', '0.0.0.0:0:%d' % PORT)
        self.assertEqual(ask(self.told(process)), '5 bytes\n')
        done = self.sandbox('echo', 'it runs', options=['--publish', '[::]:0:80'])
        self.assert_refused(done, 125, "the grant 'relays' does not allow ports to be published at ::", 'publish of grant', 'publish += {"::"}')
        self.assertEqual(done.out, '')
        for address in ('localhost', '1', '::1'):
            with self.subTest(address):
                self.assert_refused(self.sandbox('true', options=['--publish', '[%s]:0:80' % address]), *(
                    (0,) if address == '::1' else (125, address + ' is not an IPv4 or IPv6 address')))

    def test_what_is_no_port_is_refused(self):
        for text in ('80', ':80', '8080:', '8080:0', '70000:80', '8080:70000', '::1:8080:80', '[::1]8080:80', '[]:8080:80', 'x:y'):
            with self.subTest(text):
                self.assert_refused(self.sandbox('true', options=['--publish', text]), 125, '--publish ' + text)

    def test_the_example_of_the_library_serves_a_port(self):
        process = self.service.popen(self.alice, self.service.run_.path('libclient/examples/publish_port'), str(PORT),
                                     'python3', '-c', SERVER, '127.0.0.1', str(PORT), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        port = int(re.match(r'127\.0\.0\.1:(\d+) leads to port %d of the sandbox' % PORT, yett.line_of(process.stderr)).group(1))
        self.assertEqual(self.line(process), 'listens')
        self.assertEqual(ask(port), '5 bytes\n')

    def test_what_is_only_asked_tells_that_it_does_not_tell_of_them(self):
        for argv in (['run', '--dry-run', '--publish', '0:80', '--', 'true'], ['policy', 'explain', '--policy', self.service.policy, '--', '--publish', '0:80', 'true']):
            with self.subTest(argv[0]):
                if argv[0] == 'policy' and self.service_class is yett.Rootless:
                    continue  # each user has one of its own there
                done = self.yett(*argv)
                self.assertEqual(done.code, 0, done)
                self.assertIn('yett: this does not cover forwarded ports and sockets', done.err)

    def test_not_of_a_command_that_outlives_its_client(self):
        done = self.sandbox('true', options=['--background', '--linger', '--publish', '0:80'])
        self.assert_refused(done, 125, 'has no ports and sockets that this program serves')


class UnixSockets(Relays):
    def test_an_agent_of_the_users_is_used_inside(self):
        agent = self.alice.popen(['ssh-agent', '-D', '-a', self.agent], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        yett.wait_until(lambda: os.path.exists(self.agent), 'the agent')
        key = self.folder('keys') + '/key'
        for argv in (['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'of-alice', '-f', key], ['ssh-add', '-q', key]):
            self.assertEqual(self.alice.popen(argv, env={'SSH_AUTH_SOCK': self.agent}).wait(), 0)
        for target in (self.agent, '/tmp/a/b/agent'):
            with self.subTest(target):
                listed = self.output('ssh-add', '-l', options=['--relay-socket', self.agent + ':' + target, '-e', 'SSH_AUTH_SOCK=' + target])
                self.assertIn('of-alice (ED25519)', listed)
        self.assertIn('of-alice', self.output('ssh-add', '-l', options=['--relay-socket', self.agent, '--no-network', '-e', 'SSH_AUTH_SOCK=' + self.agent]))

    def test_who_listens_sees_the_user(self):
        server = self.listen()
        process = self.start('python3', '-c', CONNECT, '/tmp/there', 'hello', options=['--relay-socket', self.agent + ':/tmp/there'])
        connection, _ = server.accept()
        with connection:
            uid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], 'little')
            self.assertEqual(uid, self.alice.uid)
            self.assertEqual(connection.makefile().read(), 'hello')
            connection.sendall(b'and back\n')
        self.assertEqual(self.line(process), 'and back')
        self.assertEqual(process.wait(), 0)

    def test_what_takes_the_place_of_the_socket_leads_nowhere_else(self):
        self.listen()
        other = self.listen(self.runtime + '/other')
        process = self.start('sh', '-c', 'echo up; read x; exec "$@"', 'sh', 'python3', '-c', CONNECT, '/tmp/there', 'hello',
                             options=['--relay-socket', self.agent + ':/tmp/there'])
        self.assertEqual(self.line(process), 'up')
        os.unlink(self.agent)
        os.symlink(self.runtime + '/other', self.agent)
        process.communicate(b'x\n', timeout=yett.DEADLINE)  # it is cut off, sooner or later
        other.setblocking(False)
        self.assertRaises(BlockingIOError, other.accept)

    def test_sockets_that_no_grant_has_are_refused_and_why(self):
        other = self.runtime + '/other'
        self.listen(other)
        done = self.sandbox('echo', 'it runs', options=['--relay-socket', other])
        self.assert_refused(done, 125, 'does not allow the socket ' + other, "sockets of grant 'relays'", 'sockets += {"%s"}' % other)
        self.assertEqual(done.out, '')
        bus = self.runtime + '/bus'
        self.listen(bus)
        self.assert_refused(self.sandbox('true', options=['--relay-socket', bus]), 125,
                            'the socket (access to it gives all rights of the user: it starts programs outside) ' + bus)
        os.symlink(other, self.agent)
        self.assert_refused(self.sandbox('true', options=['--relay-socket', self.agent]), 125, 'does not allow the socket ' + other)

    def test_not_into_profiles_that_have_nothing_of_the_callers(self):
        self.listen()
        self.assert_refused(self.sandbox('true', options=['-p', 'closed', '--relay-socket', self.agent]), 125, 'allows no shares')

    def test_what_is_no_socket_or_is_not_there_is_refused(self):
        yett.write(self.runtime + '/no.socket', '')
        self.assert_refused(self.sandbox('true', options=['--relay-socket', self.runtime + '/no.socket']), 125, 'is no socket')
        self.assert_refused(self.sandbox('true', options=['--relay-socket', self.agent]), 125, 'No such file')

    def test_a_target_that_is_taken_is_refused(self):
        self.listen()
        folder = self.folder('taken')
        yett.write(folder + '/file', 'mine\n')
        for target in (folder + '/file', '/usr', '/usr/none/socket'):
            with self.subTest(target):
                done = self.sandbox('echo', 'it runs', options=['--rw', folder, '--relay-socket', self.agent + ':' + target])
                self.assert_refused(done, 125, 'cannot listen at')
                self.assertEqual(done.out, '')
        self.assertEqual(yett.read(folder + '/file'), 'mine\n')
        self.assert_refused(self.sandbox('true', options=['--relay-socket', self.agent + ':/tmp/x', '--relay-socket', self.agent + ':/tmp/x']),
                            125, 'Address already in use')


class Live:
    """Of a sandbox that is there: with the service."""

    def make(self):
        self.assertEqual(self.yett('create', '--name', 'live').code, 0)
        self.addCleanup(self.yett, 'destroy', 'live')

    def net(self, *argv):
        process = self.service.popen(self.alice, self.service.yett, 'net', *argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def test_ports_of_a_sandbox_that_is_there(self):
        self.make()
        command = self.yett('exec', '--background', 'live', '--', 'python3', '-c', SERVER, '127.0.0.1', str(PORT))
        self.assertEqual(command.code, 0, command)
        process = self.net('publish', 'live', '0:%d' % PORT)
        port = self.told(process)
        yett.wait_until(lambda: self.is_served(port), 'the server')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        with self.assertRaises(ConnectionRefusedError):
            connect(port)
        process = self.net('publish', 'live', '0:%d' % PORT)
        self.told(process)
        self.assertEqual(self.yett('destroy', 'live').code, 0)
        self.assertEqual(yett.line_of(process.stderr), 'yett: the sandbox has ended')
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_a_command_in_a_sandbox_that_is_there(self):
        self.make()
        self.listen()
        process = self.service.popen(self.alice, self.service.yett, 'exec', '--publish', '0:%d' % PORT, '--relay-socket', self.agent + ':/tmp/there',
                                     'live', 'python3', '-c', SERVER, '127.0.0.1', str(PORT), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'listens')
        port = self.told(process)
        self.assertEqual(ask(port), '5 bytes\n')
        self.assertEqual(self.yett('exec', 'live', 'test', '-S', '/tmp/there').code, 0)
        # one that is paused answers nobody, and holds up nobody
        self.assertEqual(self.yett('pause', 'live').code, 0)
        with self.assertRaises(ConnectionError), connect(port) as s:  # which may be told already when it is made
            if not s.recv(1):
                raise ConnectionResetError
        self.assertEqual(self.yett('resume', 'live').code, 0)
        yett.wait_until(lambda: self.is_served(port), 'the server')
        self.assertEqual(self.yett('kill', 'live').code, 0)
        self.assertEqual(process.wait(yett.DEADLINE), 137)
        self.assertEqual(self.yett('exec', 'live', 'test', '-e', '/tmp/there').code, 1)

    def test_sockets_of_a_sandbox_that_is_there_are_taken_away_again(self):
        self.make()
        server = self.listen()
        for _ in range(2):
            process = self.net('socket', 'live', self.agent + ':/tmp/there')
            self.assertEqual(yett.line_of(process.stderr), 'yett: /tmp/there inside leads to ' + self.agent)
            command = self.service.popen(self.alice, self.service.yett, 'exec', 'live', 'python3', '-c', CONNECT, '/tmp/there', 'x', stdout=subprocess.PIPE)
            self.addCleanup(self.end, command)
            connection, _ = server.accept()
            with connection:
                self.assertEqual(connection.makefile().read(), 'x')
                connection.sendall(b'heard\n')
            self.assertEqual(self.line(command), 'heard')
            process.terminate()
            self.assertEqual(process.wait(yett.DEADLINE), 0)
            self.assertEqual(self.yett('exec', 'live', 'sh', '-c', 'test -e /tmp/there || echo gone').out, 'gone\n')
        # One that was killed leaves it behind, and the next takes its place.
        process = self.net('socket', 'live', self.agent + ':/tmp/there')
        yett.line_of(process.stderr)
        process.kill()
        process.wait()
        self.assertEqual(self.yett('exec', 'live', 'python3', '-c', CONNECT, '/tmp/there', 'x').out, 'Connection refused\n')
        process = self.net('socket', 'live', self.agent + ':/tmp/there')
        self.assertEqual(yett.line_of(process.stderr), 'yett: /tmp/there inside leads to ' + self.agent)

    def test_what_is_refused(self):
        self.make()
        for argv, text in ((['publish', 'live', '80:80'], 'port 80 is privileged'), (['publish', 'none', '0:80'], 'no sandbox'),
                           (['publish', 'live', '80'], 'publish 80: expected'), (['bind', 'live', '0:80'], "yett net has no 'bind'"),
                           (['socket', 'live', '/dev/null'], 'is no socket')):
            with self.subTest(argv):
                done = self.yett('net', *argv)
                self.assertNotEqual(done.code, 0)
                self.assertIn(text, done.err)


class LivePorts(Live, Relays):
    is_served = staticmethod(Ports.is_served)


class RootlessPorts(Ports):
    service_class = yett.Rootless


class RootlessUnixSockets(UnixSockets):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
