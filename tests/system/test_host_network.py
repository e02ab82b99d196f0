# SPDX-License-Identifier: Apache-2.0
"""The network of the host, as who uses it sees it: what it reaches, who may have it, and that the next sandbox has its own again."""
import os
import shutil
import socket
import subprocess
import sys

import world
import yett

NAME = 'names.example'

# A name server at 127.0.0.53, as systemd-resolved is one: each name has this one address.
NAMES = r'''
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.53", 53))
    print("ready", flush=True)
    while True:
        query, peer = server.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        has = query[end - 4:end - 2] == b"\0\1"  # A
        server.sendto(query[:2] + b"\x81\x80" + b"\0\1" + bytes([0, has]) + b"\0\0\0\0" + query[12:end] +
                      (b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(sys.argv[1]) if has else b""), peer)
'''

CONNECT = r'''
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), DEADLINE) as s:
    s.sendall(b"from inside")
    print(s.recv(100).decode())
'''.replace('DEADLINE', str(yett.DEADLINE))

# Tells its port, answers once, and stays until the peer has closed: what is on its way when the sandbox ends, is lost.
SERVE = r'''
import socket
with socket.create_server(("0.0.0.0", 0)) as server:
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"to " + connection.recv(100))
        connection.recv(100)
'''

POLICY = '''
profile "in-host" {
  extends = "default"
  network = host
}
profile "copies" {
  extends = "default"
  etc = {"hosts.allow"}
}
profile "denies" {
  extends = "default"
  deny = {"a.example"}
}
grant "outside" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "in-host", "copies", "denies"}
  share_ro = {"*"}
  share_rw = {"*"}
  sockets = {"%s"}
  network = host
  allow = {"*"}
  linger_max = 1h
}
'''


class World(yett.Case):
    """`host` is the network namespace that the helper takes for the host's."""

    @classmethod
    def setUpClass(cls):
        yett.need_scopes()
        cls.host = os.readlink('/proc/self/ns/net')
        cls.names = subprocess.Popen([sys.executable, '-c', NAMES, world.GOOD4], stdout=subprocess.PIPE)
        cls.addClassCleanup(cls.names.wait)
        cls.addClassCleanup(cls.names.kill)
        yett.line_of(cls.names.stdout)
        if os.path.ismount('/etc/resolv.conf'):  # the world's; what lies below is a file of the world's own /etc
            subprocess.run(['umount', '/etc/resolv.conf'], check=True)
        yett.write('/etc/resolv.conf', 'nameserver 127.0.0.53\noptions timeout:30 attempts:1\n')
        cls.folder_of_sockets = yett.run_of_process().roots_folder()
        os.chmod(cls.folder_of_sockets, 0o755)
        cls.service_options = {'before': POLICY % (cls.folder_of_sockets + '/socket'), 'spares': 2}
        super().setUpClass()

    def answer_once(self, server):
        """Answers one connection, as SERVE does."""
        server.settimeout(yett.DEADLINE)
        connection, _ = server.accept()
        with connection:
            connection.sendall(b'to ' + connection.recv(100))


class HostNetwork(World):
    of_rules = ('--net', 'open')  # a network that goes by rules
    interfaces_of_rules = 'lo'

    def test_a_server_of_the_host_s_loopback_is_reached(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            process = self.start('python3', '-c', CONNECT, '127.0.0.1', str(server.getsockname()[1]), options=['--net', 'host'])
            self.answer_once(server)
            self.assertEqual(self.line(process), 'to from inside')

    def test_a_server_inside_is_reached_from_the_host_and_from_elsewhere(self):
        for by, address in (([], '127.0.0.1'), (['nsenter', '--net=/proc/%d/ns/net' % world.World.other.pid], world.HOST4)):
            with self.subTest(address):
                process = self.start('python3', '-c', SERVE, options=['--net', 'host'])
                done = subprocess.run([*by, sys.executable, '-c', CONNECT, address, self.line(process)], capture_output=True, text=True)
                self.assertEqual(done.stdout, 'to from inside\n', done.stderr)

    def test_names_are_looked_up_as_the_host_does(self):
        look_up = 'import socket; print(socket.gethostbyname("%s"))' % NAME
        for profile in ('default', 'copies'):
            with self.subTest(profile):
                options = ['--net', 'host', '-p', profile]
                self.assertEqual(self.output('cat', '/etc/resolv.conf', options=options), yett.read('/etc/resolv.conf'))
                self.assertEqual(self.python(look_up, options=options).strip(), world.GOOD4)
        self.assertNotEqual(self.sandbox('python3', '-c', look_up).code, 0)

    def test_a_link_to_where_no_sandbox_looks_leads_to_what_it_says(self):
        folder = '/run/yett-test-resolve-%d' % yett.run_of_process().place
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        yett.write(folder + '/stub', 'nameserver 127.0.0.53\n# of the link\n')
        os.rename('/etc/resolv.conf', '/etc/resolv.conf.saved')
        self.addCleanup(os.rename, '/etc/resolv.conf.saved', '/etc/resolv.conf')
        os.symlink('..%s/stub' % folder, '/etc/resolv.conf')
        self.assertEqual(self.output('tail', '-n1', '/etc/resolv.conf', options=['--net', 'host']), '# of the link\n')
        self.assertEqual(self.output('cat', '/etc/resolv.conf'), '# no network\n')
        # What only some may read, and what is no file, is nothing.
        os.chmod(folder + '/stub', 0o640)
        self.assertEqual(self.output('cat', '/etc/resolv.conf', options=['--net', 'host']), '')
        os.unlink(folder + '/stub')
        os.mkfifo(folder + '/stub', 0o644)
        self.assertEqual(self.output('cat', '/etc/resolv.conf', options=['--net', 'host']), '')

    def test_sandboxes_of_both_kinds_in_turns_each_have_what_they_asked_for(self):
        """What was made ahead is for what the last one was, and is not what the next one gets."""
        for options in ((), ('--net', 'host'), ('--net', 'host'), (), ('-p', 'in-host'), ('-p', 'in-host', '--net', 'none'), ('--net', 'host'),
                        ('--allow', 'a.example:1'), ('--net', 'host'), self.of_rules, ('-p', 'in-host'), ()):
            with self.subTest(options=options):
                has_host = 'host' in options or options == ('-p', 'in-host')
                namespace, text, interfaces = self.shell(
                    'readlink /proc/self/ns/net; head -n1 /etc/resolv.conf; cut -d: -f1 /proc/net/dev | tail -n +3 | sort | xargs', options=options).splitlines()
                self.assertEqual(namespace == self.host, has_host)
                self.assertEqual(text == 'nameserver 127.0.0.53', has_host)
                self.assertEqual(interfaces, 'lo out' if has_host else self.interfaces_of_rules if options in (self.of_rules, ('--allow', 'a.example:1')) else 'lo')

    def test_nobody_serves_it(self):
        process = self.start('sh', '-c', 'echo up; read -r _', options=['--net', 'host'])
        self.line(process)
        self.assertFalse([pid for pid in yett.processes() if yett.argv_of(pid)[:1] in (['yett-front'], ['yett-dialer'])])

    def test_it_is_told_wherever_a_sandbox_is_told_of(self):
        self.output('true', options=['--net', 'host', '--linger', '--name', 'told'])
        self.addCleanup(self.yett, 'destroy', 'told')
        self.assertRegex(self.yett('inspect', 'told').out, r'(?m)^network +host$')
        for argv in (('inspect', '--json', 'told'), ('ps', '--json')):
            self.assertRegex(self.yett(*argv).out, r'"network": ?"host"')
            self.assertRegex(self.yett(*argv).out, r'"addresses": ?\[\]')
        plan = self.yett('run', '--net', 'host', '--dry-run', '--', 'true')
        self.assertRegex(plan.out, r'(?m)^weaker by the network of the host: .*127\.0\.0\.1')
        self.assertRegex(plan.out, r'(?m)^ +\d+ namespaces +mount pid ipc uts cgroup$')
        self.assertRegex(plan.out, r'(?m)^ +\d+ network +host$')
        self.assertNotIn('loopback', plan.out)
        explained = self.yett('policy', 'explain', '--policy', self.service.policy, '--', '--net', 'host')
        self.assertRegex(explained.out, r"(?m)^ +network +host +as asked; at most host by network of grant 'outside' \(.*:%d\)" % self.service.line('network = host', 2))
        self.assertIn('weaker by the network of the host', self.sandbox('true', options=['--net', 'host']).err)
        self.assertNotIn('connections', self.yett('stats', '--json', 'told').out.replace('"connections":null', ''))
        self.assertRegex(self.yett('doctor').out, r'(?m) network .*; the host\'s own \(--net host\) can')

    def test_its_rules_are_nobody_s_to_see_or_to_change(self):
        self.output('true', options=['--net', 'host', '--linger', '--name', 'ruled'])
        self.addCleanup(self.yett, 'destroy', 'ruled')
        for argv in (('show', 'ruled'), ('allow', 'ruled', 'a.example'), ('deny', 'ruled', 'a.example')):
            self.assert_refused(self.yett('net', *argv), 1, 'in the network of the host, which goes by no rules',
                                'make it with the network limited or open')

    def test_what_has_no_meaning_there_is_refused(self):
        for options, *said in ((['--net', 'host', '--allow', 'a.example'], 'the network host has no rules', 'leave out the rules'),
                               (['--net', 'host', '--deny', 'a.example'], 'the network host has no rules', '--net open'),
                               (['-p', 'in-host', '--deny', 'a.example'], 'the network host has no rules'),
                               (['-p', 'denies', '--net', 'host'], "'deny' of the profile 'denies' would have no meaning", "deny = {} in profile 'denies' (", ':%d)' % self.service.line('deny = {"a.example"}'), '--net open')):
            with self.subTest(options=options):
                self.assert_refused(self.sandbox('true', options=options), 125, *said)
        self.output('true', options=['-p', 'denies', *self.of_rules])

    def test_the_shipped_policy_gives_it_to_nobody(self):
        self.change_policy(before='')
        self.assert_refused(self.sandbox('true', options=['--net', 'host']), 125, "does not allow the network host", 'asked host, allowed open by network of grant')

    def test_a_policy_that_would_lose_what_it_denies_is_refused(self):
        for text, said in (('profile "x" {\n  network = host\n  deny = {"a.example"}\n}', ":2: the profile 'x' has the network host, in which 'deny' has no meaning"),
                           ('grant "x" { users = {"*"} profiles = {"default"} network = host\n  deny = {"a.example"} }', ":2: 'x' denies this")):
            path = self.service.folder + '/wrong.conf'
            yett.write(path, text + '\nprofile "default" { }\n')
            done = self.yett('policy', 'check', path)
            self.assertNotEqual(done.code, 0)
            self.assertIn(said, done.out + done.err)

    def test_a_command_without_network_has_none(self):
        self.assertIn('done', self.shell('python3 -c "import socket; socket.socket()" && echo done', options=['--net', 'host']))
        self.assertNotEqual(self.sandbox('python3', '-c', 'import socket; socket.socket()', options=['--net', 'host', '--no-network']).code, 0)

    def test_ports_are_published_and_sockets_relayed_as_ever(self):
        process = self.start('sh', '-c', 'exec python3 -c "$0"', SERVE.replace('("0.0.0.0", 0)', '("127.0.0.1", 18123)'),
                             options=['--net', 'host', '--publish', '18124:18123'])
        self.assertEqual(self.line(process), '18123')
        done = subprocess.run([sys.executable, '-c', CONNECT, '127.0.0.1', '18124'], capture_output=True, text=True)
        self.assertEqual(done.stdout, 'to from inside\n', done.stderr)
        path = self.folder_of_sockets + '/socket'
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            self.addCleanup(os.unlink, path)
            os.chmod(path, 0o666)
            server.listen()
            process = self.start('python3', '-c', 'import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect("/tmp/there")\ns.sendall(b"from inside")\nprint(s.recv(100).decode())',
                                 options=['--net', 'host', '--relay-socket', path + ':/tmp/there'])
            self.answer_once(server)
            self.assertEqual(self.line(process), 'to from inside')

    def test_an_echo_is_asked_for_where_the_host_lets_users(self):
        echo = ('import socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)\ns.settimeout(%d)\n'
                's.sendto(struct.pack(">BBHHH", 8, 0, 0, 0, 1) + b"x", ("%s", 0))\nprint(s.recv(100)[0])' % (yett.DEADLINE, world.PRIVATE4))
        path = '/proc/sys/net/ipv4/ping_group_range'  # of this network alone
        self.assertIn('PermissionError', self.sandbox('python3', '-c', echo, options=['--net', 'host']).err)
        with yett.machine_setting(path, '0 2147483647'):
            self.assertEqual(self.python(echo, options=['--net', 'host']), '0\n')

    def test_ports_of_services_stay_closed(self):
        bind = 'import socket\ntry: socket.create_server(("127.0.0.1", 1023))\nexcept OSError as e: print(e.errno)'
        self.assertEqual(self.python(bind, options=['--net', 'host']), '13\n')

    def test_its_ports_are_free_again_when_it_has_ended(self):
        process = self.start('python3', '-c', SERVE, options=['--net', 'host'])
        port = int(self.line(process))
        process.kill()
        process.wait()
        yett.wait_until(lambda: not self.yett('ps', '-q').out, 'its end')
        socket.create_server(('0.0.0.0', port)).close()


class WithoutRoot(HostNetwork):
    """The same in the user's own network, by a helper of the user's own, whose policy gives it."""

    service_class = yett.Rootless
    test_it_is_told_wherever_a_sandbox_is_told_of = None  # what else is weaker stands there, too: the next one
    test_the_shipped_policy_gives_it_to_nobody = None  # a policy of a service that is there
    test_nobody_serves_it = None
    test_a_policy_that_would_lose_what_it_denies_is_refused = None  # which takes no helper at all
    of_rules = ('--allow', 'b.example:1')
    interfaces_of_rules = 'lo net0'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.policy = '%s/%d/yett.conf' % (cls.service.folder, cls.alice.uid)

    def test_it_is_told_what_is_weaker(self):
        done = self.sandbox('true', options=['--net', 'host'])
        self.assertRegex(done.err, r"weaker by the network of the host: .* 127\.0\.0\.1; without root: ")
        self.assertRegex(self.yett('doctor').out, r"(?m) network .*; the host's own \(--net host\) can be given$")

    def test_the_built_in_policy_gives_it_to_nobody(self):
        done = self.service.run(self.alice, self.service.yett, 'run', '--net', 'host', '--', 'true', env={'YETT_HELPER': self.service.helper})
        self.assert_refused(done, 125, 'does not allow the network host', '(built-in:')


if __name__ == '__main__':
    world.enter()
    yett.main()
