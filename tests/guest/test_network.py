# SPDX-License-Identifier: Apache-2.0
"""The network of sandboxes by the installed service: with labels enforced, and the units' restrictions."""
import contextlib
import errno
import os
import re
import shutil
import signal
import socket

import installed
import world
import yett

FETCH = ('python3', '-c', 'import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode(), end="")')


# What is sent to it is sent back; what it is sent by way of a Unix socket of the host it says.
ECHO = '''
import socket
with socket.create_server(("127.0.0.1", 8123)) as server:
    print("up", flush=True)
    connection, _ = server.accept()
    connection.sendall(connection.recv(100))
'''
HEAR = '''
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.sendall(b"from inside")
    print(s.recv(100).decode())
'''


class Network(installed.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        before = yett.read('/etc/hosts')
        cls.addClassCleanup(yett.write, '/etc/hosts', before)
        world.hosts()
        world.make_network()
        server = world.serve(8080)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)

    def test_what_is_allowed_is_reached_and_nothing_else(self):
        options = ('--allow', 'v4.example:8080', '--allow', 'v6.example:8080')
        self.assertEqual(self.output(self.ann, *FETCH, 'http://v4.example:8080/', options=options), 'served at %s\n' % world.GOOD4)
        self.assertEqual(self.output(self.ann, *FETCH, 'http://v6.example:8080/', options=options), 'served at %s\n' % world.GOOD6)
        for target, text in (('other.example:8080', 'not known'), ('%s:8080' % world.GOOD4, 'reset'), ('v4.example:8081', 'reset')):
            with self.subTest(target):
                done = self.sandbox(self.ann, *FETCH, 'http://%s/' % target, options=options)
                self.assertNotEqual(done.code, 0)
                self.assertIn(text, done.err)

    def test_a_rule_about_the_user_concerns_its_sandboxes(self):
        """By routing, as a firewall does it: who made the socket counts."""
        self.assertEqual(self.output(self.ben, *FETCH, 'http://v4.example:8080/', options=('--allow', 'v4.example')), 'served at %s\n' % world.GOOD4)
        rule = ('uidrange', '%d-%d' % (self.ben.uid, self.ben.uid), 'prohibit', 'priority', '100')
        installed.tool('ip', 'rule', 'add', *rule)
        try:
            self.assertNotEqual(self.sandbox(self.ben, *FETCH, 'http://v4.example:8080/', options=('--allow', 'v4.example')).code, 0)
            self.assertEqual(self.output(self.ann, *FETCH, 'http://v4.example:8080/', options=('--allow', 'v4.example')), 'served at %s\n' % world.GOOD4)
        finally:
            installed.tool('ip', 'rule', 'del', *rule)

    def test_who_serves_it_has_a_label_and_is_started_again(self):
        self.end_of_what_is_ready()
        self.hold(self.ann, 'sh', '-c', 'echo up; read x', options=('--allow', 'v4.example'))
        for name, label in (('yett-front', 'yett_front_t'), ('yett-dialer', 'yett_dialer_t')):
            pids = self.roles(name)
            self.assertEqual(len(pids), 1, name)
            if installed.LSM == 'selinux':  # the profile of the helper is not loaded by itself: test_apparmor
                self.assertIn(label, yett.read('/proc/%d/attr/current' % pids[0]))
        pid = self.roles('yett-front')[0]
        os.kill(pid, signal.SIGKILL)
        yett.wait_until(lambda: self.roles('yett-front') not in ([pid], []), 'the next one')

    def test_without_bpf_it_is_caught_at_the_ports_of_rules(self):
        self.drop_in('yett.service', '[Service]\nSystemCallFilter=~bpf\n')
        self.reload()
        options = ('--allow', 'v4.example:8080', '--allow', 'v6.example:8080', '--allow', 'v4.example:443')
        for name, address in (('v4', world.GOOD4), ('v6', world.GOOD6)):
            self.assertEqual(self.output(self.ann, *FETCH, 'http://%s.example:8080/' % name, options=options), 'served at %s\n' % address)
        self.assertIn('refused', self.sandbox(self.ann, *FETCH, 'http://v4.example:8081/', options=options).err)
        done = self.sandbox(self.ann, 'true', options=('--allow', 'v4.example'))
        self.assertNotEqual(done.code, 0)
        self.assertIn('without BPF, a network can have rules for 256 ports at most', done.err)
        process = self.hold(self.ann, 'sh', '-c', 'echo up; read x; exec "$@"', 'sh', *FETCH, 'http://v4.example:8080/', options=options)
        pid, = self.roles('yett-front')
        os.kill(pid, signal.SIGKILL)
        yett.wait_until(lambda: self.roles('yett-front') not in ([pid], []), 'the next one')
        self.assertEqual(process.communicate(b'x\n', timeout=yett.DEADLINE)[0].decode(), 'served at %s\n' % world.GOOD4)

    def test_a_port_leads_inside(self):
        process = self.hold(self.ann, 'python3', '-c', ECHO, options=('--publish', '0:8123'))
        port = next(found for found in (re.search(r'127\.0\.0\.1:(\d+) leads to port 8123', line) for line in iter(lambda: yett.line_of(process.stderr), '')) if found)
        with socket.create_connection(('127.0.0.1', int(port[1])), yett.DEADLINE) as s:
            s.sendall(b'hello')
            self.assertEqual(s.recv(100), b'hello')

    def test_a_socket_of_the_host_is_reached_as_the_user(self):
        path = '/run/user/%d/agent' % self.ann.uid
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        self.addCleanup(shutil.rmtree, os.path.dirname(path), ignore_errors=True)
        os.chown(os.path.dirname(path), self.ann.uid, self.ann.gid)
        self.policy('grant "relays" { users = {"%s"} user_keys = true profiles = {"*"} share_ro = {"*"} share_rw = {"*"} sockets = {"%s"} }\n' % (self.ann.name, path))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            os.chown(path, self.ann.uid, self.ann.gid)
            server.listen()
            server.settimeout(yett.DEADLINE)
            process = self.popen(self.ann, 'yett', 'run', '--relay-socket', path + ':/tmp/there', '--', 'python3', '-c', HEAR, '/tmp/there')
            connection, _ = server.accept()
            with connection:
                uid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], 'little')
                self.assertEqual((connection.recv(100), uid), (b'from inside', self.ann.uid))
                connection.sendall(b'and back')
            self.assertEqual(yett.line_of(process.stdout), 'and back')

    def test_rules_change_while_it_runs(self):
        process = self.popen(self.ann, 'yett', 'run', '--name', 'changes', '--net', 'limited', '--', 'sh', '-c', 'echo up; read x; exec "$@"', 'sh', *FETCH, 'http://v4.example:8080/')
        self.assertEqual(yett.line_of(process.stdout), 'up')
        done = self.run_as(self.ann, 'yett', 'net', 'allow', 'changes', 'v4.example:8080')
        self.assertEqual(done.code, 0, done)
        self.assertIn('v4.example:8080', self.run_as(self.ann, 'yett', 'net', 'show', 'changes').out)
        self.assertEqual(process.communicate(b'x\n', timeout=yett.DEADLINE)[0].decode(), 'served at %s\n' % world.GOOD4)

    def test_the_network_of_the_host_takes_what_closes_its_abstract_sockets(self):
        self.policy('grant "lan" { users = {"%s"} user_keys = true profiles = {"*"} network = host }\n' % self.ann.name)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind('\0yett-test-abstract')
            server.listen()
            code = 'import socket, sys\nfor f, a in ((socket.AF_INET, ("127.0.0.1", 22)), (socket.AF_UNIX, "\\0yett-test-abstract")):\n    s = socket.socket(f)\n    print(s.connect_ex(a))'
            done = self.sandbox(self.ann, 'python3', '-c', code, options=('--net', 'host'))
        if installed.LSM == 'selinux':  # which enforces
            self.assertIn(done.out.split(), ([str(number), str(errno.EACCES)] for number in (0, errno.ECONNREFUSED)))
        else:  # the kernel is older than Landlock's scope, and AppArmor's profile is not about these
            self.assertNotEqual(done.code, 0)
            self.assertIn('the network host needs Landlock version 6', done.err)

    def test_nothing_is_left(self):
        self.output(self.ann, *FETCH, 'http://v4.example:8080/', options=('--allow', 'v4.example'))
        self.wait_all_gone()
        self.end_of_what_is_ready()

    def end_of_what_is_ready(self):
        self.reload()
        yett.wait_until(lambda: not self.roles('yett-front') and not self.roles('yett-dialer'), 'their end')

    @staticmethod
    def roles(name):
        found = []
        for pid in yett.processes():
            with contextlib.suppress(OSError):
                if yett.argv_of(pid)[:1] == [name] and yett.is_alive(pid) and yett.argv_of(yett.parent_of(pid))[:1] not in (['yett-dialer'], ['yett-resolver']):
                    found.append(pid)
        return found


if __name__ == '__main__':
    yett.main()
