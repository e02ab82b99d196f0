# SPDX-License-Identifier: Apache-2.0
"""
The network of the host, attacked: from inside, by a client that was locked into a network of its own, and by what hears the client when that
is captured.
"""
import ast
import os
import re
import socket
import subprocess
import sys

import hostile
import world
import yett

GRANT = '''
grant "outside" {
  users = {"*"}
  user_keys = true
  profiles = {"*"}
  share_ro = {"*"}
  share_rw = {"*"}
  network = host
  allow = {"*"}
  capabilities = {"net_admin", "net_raw", "net_bind_service", "sys_admin"}
  identity_root = true
  linger_max = 1h
  %s
}
'''

# The same where the layer of Landlock is there, left out, and left out by an init that says that it is there.
PROFILES = '''
profile "all-on" { extends = "default" }
profile "no-landlock" {
  extends = "default"
  environment = {"PATH=/usr/bin:/bin", "YETT_TEST_LAYERS_OFF=landlock"}
}
profile "claimed" {
  extends = "default"
  environment = {"PATH=/usr/bin:/bin", "YETT_TEST_LAYERS_CLAIM=9", "YETT_TEST_LAYERS_OFF=landlock"}
}
profile "powers" {
  extends = "default"
  identity = root
  capabilities = {"net_admin", "net_raw", "net_bind_service", "sys_admin"}
}
'''

# Says "done", or the errno's name, of each.
ATTACKS = r'''
import ctypes, errno, fcntl, os, socket, struct, sys
def attempt(function):
    try:
        return function() or "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def stream():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + sys.argv[1])
        s.sendall(b"from inside")
def datagram():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"from inside", "\0" + sys.argv[1] + "-datagrams")
def interface_flags():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh22x", sys.argv[2].encode(), 0))  # SIOCSIFFLAGS: down
def netlink(kind, body):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.bind((0, 0))
        s.send(struct.pack("IHHII", 16 + len(body), kind, 5 | 0x400 | 0x200, 1, 0) + body)
        code = -struct.unpack("i", s.recv(4096)[16:20])[0]
        if code:
            raise OSError(code, "")
def route():
    netlink(24, struct.pack("BBBBBBBBI", 2, 32, 0, 0, 254, 3, 0, 7, 0) + struct.pack("HH4s", 8, 1, socket.inet_aton("203.0.113.9")))
def address():
    netlink(20, struct.pack("BBBBI", 2, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, socket.inet_aton("203.0.113.9")))
def write(path, text="1"):
    with open(path, "w") as file:
        file.write(text)
def set_option(level, option, value):
    with socket.socket() as s:
        s.setsockopt(level, option, value)
print({
    "stream": attempt(stream),
    "datagram": attempt(datagram),
    "interface": attempt(interface_flags),
    "route": attempt(route),
    "address": attempt(address),
    "raw": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()),
    "packet": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()),
    "uevent": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15).close()),
    "sock_diag": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4).close()),
    "firewall": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 12).close()),
    "vsock": attempt(lambda: socket.socket(40, socket.SOCK_STREAM).close()),
    "bluetooth": attempt(lambda: socket.socket(31, socket.SOCK_RAW, 1).close()),
    "crypto": attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET).close()),
    "privileged port": attempt(lambda: socket.create_server(("127.0.0.1", 1022)).close()),
    "mark": attempt(lambda: set_option(1, 36, 7)),
    "transparent": attempt(lambda: set_option(0, 19, 1)),
    "forwarding": attempt(lambda: write("/proc/sys/net/ipv4/ip_forward")),
    "congestion": attempt(lambda: write("/proc/sys/net/ipv4/tcp_congestion_control", "reno")),
    "backlog": attempt(lambda: write("/proc/sys/net/core/somaxconn", "1")),
    "sysfs": attempt(lambda: write("/sys/class/net/lo/mtu", "1500")),
    "new namespace": attempt(lambda: None if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) == 0 else errno.errorcode[ctypes.get_errno()]),
})
'''

# What all of these are for whoever is in the network of the host and not its owner.
REFUSED = {'interface': {'EPERM'}, 'route': {'EPERM'}, 'address': {'EPERM'}, 'raw': {'EPERM'}, 'packet': {'EPERM'}, 'uevent': {'EPROTONOSUPPORT'},
           'sock_diag': {'EPROTONOSUPPORT'}, 'firewall': {'EPROTONOSUPPORT'}, 'vsock': {'EAFNOSUPPORT'}, 'bluetooth': {'EAFNOSUPPORT'},
           'crypto': {'EAFNOSUPPORT'}, 'privileged port': {'EACCES'}, 'mark': {'EPERM'}, 'transparent': {'EPERM'}, 'forwarding': {'EROFS', 'EACCES'},
           'congestion': {'EROFS', 'EACCES'}, 'backlog': {'EROFS', 'EACCES'}, 'sysfs': {'ENOENT', 'EACCES'}, 'new namespace': {'EPERM'}}


class HostNetwork(yett.Case):
    @classmethod
    def setUpClass(cls):
        yett.need_scopes()
        libexec = yett.run_of_process().libexec('libexec-host-network', init=hostile.program('yett-init-layers'))
        cls.service_options = {'libexec': libexec, 'before': PROFILES + GRANT % 'confined_clients = true'}
        super().setUpClass()

    def listen(self):
        """A service of the host's at abstract names: both of its sockets, and the first one's name."""
        name = 'yett-test-host-' + self._testMethodName[:40]
        stream, datagrams = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for listening, at in ((stream, name), (datagrams, name + '-datagrams')):
            self.addCleanup(listening.close)
            listening.bind('\0' + at)
            listening.settimeout(yett.DEADLINE)
        stream.listen()
        return stream, datagrams, name

    def state(self):
        """What an attack would change."""
        shown = subprocess.run('ip -d link; ip address; ip route; cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/tcp_congestion_control '
                               '/proc/sys/net/core/somaxconn', shell=True, check=True, capture_output=True, text=True).stdout
        return re.sub(r'(valid|preferred)_lft \S+| tentative', '', shown)  # which an address is for a moment, while it is asked for whether somebody has it

    def attack(self, profile, name):
        return ast.literal_eval(self.python(ATTACKS, name, 'out', options=['-p', profile, '--net', 'host']))

    def test_abstract_sockets_of_the_host_are_reached_only_where_the_scope_is_left_out(self):
        stream, datagrams, name = self.listen()
        done = self.attack('claimed', name)
        self.assertEqual((done['stream'], done['datagram']), ('done', 'done'))
        self.assertEqual((stream.accept()[0].recv(100), datagrams.recv(100)), (b'from inside', b'from inside'))
        done = self.attack('all-on', name)
        self.assertEqual((done['stream'], done['datagram']), ('EPERM', 'EPERM'))
        for listening, take in ((stream, stream.accept), (datagrams, lambda: datagrams.recv(100))):
            listening.setblocking(False)
            self.assertRaises(BlockingIOError, take)

    def test_without_that_scope_there_is_no_such_sandbox(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'no-landlock', '--net', 'host']), 125,
                            'the network host needs Landlock version 6 (Linux 6.12), and version 0 is in force')
        self.output('true', options=['-p', 'no-landlock'])

    def test_nothing_of_the_host_s_network_is_changed_or_seen_through(self):
        _, _, service = self.listen()
        outside = ast.literal_eval(subprocess.run(['nsenter', '--net=' + self.make_copy(), sys.executable, '-c', ATTACKS, service, 'out'],
                                                  capture_output=True, text=True, check=True).stdout)
        for name in ('interface', 'route', 'address', 'raw', 'packet', 'privileged port', 'mark', 'transparent', 'forwarding', 'new namespace'):
            self.assertEqual(outside[name], 'done', 'root can: ' + name)
        before = self.state()
        for profile in ('all-on', 'claimed', 'powers'):  # Landlock has no part in it, nor have capabilities that a grant gives
            done = self.attack(profile, service)
            for name, codes in REFUSED.items():
                with self.subTest(profile=profile, attack=name):
                    self.assertIn(done[name], codes)
        self.assertEqual(self.state(), before)

    def make_copy(self):
        """A network like this one, for who is allowed to change it."""
        holder = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'ip link add out type veth peer name in && ip link set lo up && ip link set out up && echo up && exec sleep 1000'],
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        self.assertEqual(yett.line_of(holder.stdout), 'up')
        return '/proc/%d/ns/net' % holder.pid

    def test_of_sysfs_there_is_what_there_is_otherwise(self):
        show = 'find /sys -maxdepth 2 | sort; ls /sys/class 2>&1; true'
        self.assertEqual(self.shell(show, options=['-p', 'all-on', '--net', 'host']), self.shell(show, options=['-p', 'all-on']))

    def as_alice(self, how, *argv):
        user = 'setpriv --reuid %d --regid %d --clear-groups' % (self.alice.uid, self.alice.gid)
        return self.service.run(yett.Root(self.service.folder), *how, *user.split(), 'env', 'HOME=' + self.alice.home, self.service.yett, *argv)

    def confined(self, *how, options=()):
        return self.as_alice(how, 'run', *options, '--', 'readlink', '/proc/self/ns/net')

    def test_a_client_in_a_network_of_its_own_does_not_get_out_of_it(self):
        """The grant lets it ask for sandboxes, and lets others have the host's network."""
        host = os.readlink('/proc/self/ns/net')
        self.assertEqual(self.confined('env', options=('-p', 'all-on', '--net', 'host')).out.strip(), host)
        for how in (('unshare', '--net'), ('unshare', '--mount'), ('setpriv', '--no-new-privs')):
            with self.subTest(how):
                for options in (('--net', 'open'), ()):
                    done = self.confined(*how, options=('-p', 'all-on', *options))
                    self.assertEqual(done.code, 0, done)
                    self.assertNotEqual(done.out.strip(), host)
                done = self.confined(*how, options=('-p', 'all-on', '--net', 'host'))
                self.assert_refused(done, 125, 'the client is confined, and the network host', 'ask for the network open')
                self.assertEqual(done.out, '')

    def test_nor_by_a_sandbox_of_the_same_user_that_is_not_in_it(self):
        host = os.readlink('/proc/self/ns/net')
        for name, options in (('in-host', ['--net', 'host']), ('plain', [])):
            self.assertEqual(self.yett('create', '-p', 'all-on', '--name', name, *options).code, 0)
            self.addCleanup(self.yett, 'destroy', name)
        look = ('readlink', '/proc/self/ns/net')
        self.assertEqual(self.as_alice(['env'], 'exec', 'in-host', '--', *look).out.strip(), host)
        done = self.as_alice(['unshare', '--net'], 'exec', 'plain', '--', *look)
        self.assertEqual(done.code, 0, done)
        self.assertNotEqual(done.out.strip(), host)
        for argv in (('exec', 'in-host', '--', *look), ('inspect', 'in-host'), ('destroy', 'in-host'), ('net', 'publish', 'in-host', '0:80')):
            with self.subTest(argv):
                done = self.as_alice(['unshare', '--net'], *argv)
                self.assertIn("there is no sandbox 'in-host'", done.err)
                self.assertNotEqual(done.code, 0)
        self.assertEqual(self.as_alice(['unshare', '--net'], 'ps').out.count('in-host'), 0)
        self.assertEqual(self.as_alice(['unshare', '--net'], 'ps').out.count('plain'), 1)

    def test_a_port_that_a_sandbox_holds_is_free_when_it_is_killed(self):
        process = self.start('python3', '-c', 'import socket\ns = socket.create_server(("0.0.0.0", 0))\nprint(s.getsockname()[1], flush=True)\ninput()',
                             options=['-p', 'all-on', '--net', 'host'])
        port = int(self.line(process))
        init = yett.parent_of(self.outside(process)[0])
        os.kill(yett.parent_of(init), 9)
        yett.wait_until(lambda: not self.outside(process), 'its end')
        socket.create_server(('0.0.0.0', port)).close()


class Deciders(yett.Case):
    """What hears the client is the client's."""

    grant = ''

    @classmethod
    def setUpClass(cls):
        yett.need_scopes()
        cls.service_options = {'libexec': yett.run_of_process().libexec('libexec-decider-' + cls.__name__.lower(), decider=hostile.program('fake-decider')),
                               'before': cls.grant}
        super().setUpClass()

    def lie(self, mode):
        return self.sandbox('readlink', '/proc/self/ns/net', options=['--hostname', 'hostile-' + mode])


class OfOpen(Deciders):
    def test_where_no_grant_gives_it_the_monitor_refuses(self):
        for mode in ('network-of-the-host', 'network-of-the-host-with-rules'):
            self.assert_refused(self.lie(mode), 125, 'the plan of yett-decider is not what the policy allows')


class OfHost(Deciders):
    grant = GRANT % ''

    def test_rules_make_nobody_serve_the_network_of_the_host(self):
        for mode in ('network-of-the-host', 'network-of-the-host-with-rules'):
            done = self.lie(mode)
            self.assertEqual(done.out.strip(), os.readlink('/proc/self/ns/net'), done)
            self.assertFalse([pid for pid in yett.processes() if yett.argv_of(pid)[:1] in (['yett-front'], ['yett-dialer'])])


class OfHostConfined(Deciders):
    grant = GRANT % 'confined_clients = true'

    def test_no_confined_client_gets_it_from_the_monitor(self):
        user = 'setpriv --reuid %d --regid %d --clear-groups' % (self.alice.uid, self.alice.gid)
        for how, code in ((('env',), 0), (('unshare', '--net'), 125)):
            done = self.service.run(yett.Root(self.service.folder), *how, *user.split(), 'env', 'HOME=' + self.alice.home, self.service.yett, 'run',
                                    '--hostname', 'hostile-network-of-the-host', '--', 'true')
            self.assertEqual(done.code, code, done)
        self.assertIn('the plan of yett-decider is not what the policy allows', done.err)


if __name__ == '__main__':
    world.enter()
    yett.main()
