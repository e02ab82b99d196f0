# SPDX-License-Identifier: Apache-2.0
"""What a hostile sandbox does to who serves its ports and sockets: each attack first where nothing keeps it from working."""
import array
import contextlib
import os
import shutil
import socket

import hostile  # noqa: F401  what is staged
import yett

POLICY = '''
grant "relays" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  share_ro = {"*"}
  share_rw = {"*"}
  sockets = {"/run/user/%u/agent"}
}
'''

PORT = 8123

# Sends a descriptor of a pipe with a byte, and then a byte alone; prints what came of each.
SEND = r'''
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
def attempt(f):
    try:
        f()
        return "sent"
    except OSError as e:
        return e.strerror
print(attempt(lambda: s.sendmsg([b"d"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.pipe()[1]]))])), flush=True)
sys.stdin.readline()
print(attempt(lambda: s.sendall(b"x")), flush=True)
'''

# Connects as often as it is told, and never lets go.
FLOOD = r'''
import os, resource, socket, sys
count, held, refused = int(sys.argv[2]), [], 0
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for i in range(count):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(sys.argv[1])
        if len(held) < 800:
            held.append(s)
    except OSError:
        refused += 1
print("done", flush=True)
sys.stdin.readline()
'''

# One connection: what it said is said back.
ECHO = r'''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"hello")
s.shutdown(socket.SHUT_WR)
print(s.makefile().read())
'''

# Takes connections and neither reads nor answers.
DEAF = r'''
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=int(sys.argv[2]))
print("listens", flush=True)
held = []
while sys.argv[2] != "0":
    held.append(server.accept())
s = socket.socket(socket.AF_UNIX)
s.connect("/tmp/there")
s.sendall(b"hello")
sys.stdin.readline()
'''


class Agent:
    """Somebody outside who says back what he hears, and counts what came with it."""

    def __init__(self, path, user):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chown(path, user.uid, user.gid)
        self.socket.listen(512)
        self.socket.settimeout(yett.DEADLINE)

    def take(self):
        connection, _ = self.socket.accept()
        connection.settimeout(yett.DEADLINE)
        return connection

    @staticmethod
    def hear(connection):
        """The next bytes, and how many descriptors came with them."""
        data, rights, _, _ = connection.recvmsg(100, socket.CMSG_SPACE(400))
        fds = array.array('i')
        for _, _, raw in rights:
            fds.frombytes(raw[:len(raw) - len(raw) % fds.itemsize])
        for fd in fds:
            os.close(fd)
        return data, len(fds)


class Relays(yett.Case):
    service_options = {'before': POLICY}

    def setUp(self):
        runtime = '/run/user/%d' % self.alice.uid
        os.makedirs(runtime, 0o700, exist_ok=True)
        self.addCleanup(shutil.rmtree, runtime, ignore_errors=True)
        os.chown(runtime, self.alice.uid, self.alice.gid)
        self.path = runtime + '/agent'
        self.agent = Agent(self.path, self.alice)
        self.addCleanup(self.agent.socket.close)

    def relay(self, script, *argv, **more):
        return self.start('python3', '-c', script, *argv, options=['--relay-socket', self.path + ':/tmp/there'], **more)

    def publish(self, script, *argv):
        """A server inside, and the port of the host that leads there."""
        process = self.start('python3', '-c', script, *argv, options=['--publish', '0:%d' % PORT, '--relay-socket', self.path + ':/tmp/there'])
        self.assertEqual(self.line(process), 'listens')
        for line in iter(lambda: yett.line_of(process.stderr), ''):
            if 'leads to port' in line:
                return process, int(line.split()[1].rpartition(':')[2])
        raise AssertionError('it told of no port')

    def test_descriptors_that_are_sent_from_inside_do_not_come_out(self):
        # Through a socket that is shared itself they do.
        process = self.start('python3', '-c', SEND, self.path, options=['--share-socket', self.path])
        with self.agent.take() as connection:
            self.assertEqual(self.agent.hear(connection), (b'd', 1))
        self.assertEqual(self.line(process), 'sent')
        process = self.relay(SEND, '/tmp/there')
        with self.agent.take() as connection:
            said = self.line(process)
            process.stdin.write(b'\n')
            process.stdin.flush()
            # The kernel refuses it (Linux 6.16), or the connection ends with it.
            self.assertIn(said, ('Operation not permitted', 'sent'))
            self.assertEqual(self.agent.hear(connection), (b'x', 0) if said != 'sent' else (b'', 0))

    def test_descriptors_that_are_sent_from_outside_do_not_come_in(self):
        process = self.relay(ECHO, '/tmp/there')
        with self.agent.take() as connection:
            self.assertEqual(self.agent.hear(connection), (b'hello', 0))
            fds = array.array('i', [0])
            connection.sendmsg([b'd'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            self.assertEqual(self.agent.hear(connection), (b'', 0))
        self.assertNotEqual(self.line(process), 'd')

    def test_a_flood_of_connections_is_bounded_and_holds_up_no_end(self):
        process = self.relay(FLOOD, '/tmp/there', '10000')
        # The agent accepts nobody: what waits there is bounded by its own backlog, and what the client holds by its bound.
        self.assertEqual(self.line(process), 'done')
        files = os.listdir('/proc/%d/fd' % process.pid)
        self.assertLess(len(files), 2 * 256 + 64)
        process.stdin.write(b'\n')
        process.stdin.flush()
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_one_that_removes_the_socket_harms_itself_alone(self):
        script = 'import os, socket\nos.unlink("/tmp/there")\ns = socket.socket(socket.AF_UNIX)\ns.bind("/tmp/there")\n'
        process = self.relay(script)
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        process = self.relay('import os, sys\nos.unlink("/tmp/there")\nos.symlink("/etc/passwd", "/tmp/there")\n')
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_a_server_that_accepts_nobody_holds_up_nobody_else(self):
        process, port = self.publish(DEAF, str(PORT), '0')
        waiting = [socket.create_connection(('127.0.0.1', port), yett.DEADLINE) for _ in range(20)]
        for s in waiting:
            self.addCleanup(s.close)
            s.sendall(b'x' * 1000)
        with self.agent.take() as connection:
            self.assertEqual(self.agent.hear(connection), (b'hello', 0))
        process.stdin.write(b'\n')
        process.stdin.flush()
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_what_is_sent_to_one_that_does_not_read_stays_with_its_sender(self):
        process, port = self.publish(DEAF, str(PORT), '512')
        before = self.memory(process.pid)
        for _ in range(100):
            s = socket.create_connection(('127.0.0.1', port), yett.DEADLINE)
            self.addCleanup(s.close)
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    s.send(bytes(65536))
        self.assertLess(self.memory(process.pid) - before, 100 * 65536 + (8 << 20))

    @staticmethod
    def memory(pid):
        """Bytes that it has in memory of its own."""
        return int(yett.status_of(pid)['RssAnon'].split()[0]) * 1024

    def test_who_is_killed_leaves_nobody_connected(self):
        process = self.relay(FLOOD, '/tmp/there', '10')
        self.assertEqual(self.line(process), 'done')
        connections = [self.agent.take() for _ in range(10)]
        process.kill()
        process.wait()
        for connection in connections:
            with connection:
                self.assertEqual(self.agent.hear(connection), (b'', 0))
        self.service.wait_no_leftovers()


class RootlessRelays(Relays):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
