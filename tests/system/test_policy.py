# SPDX-License-Identifier: Apache-2.0
"""The policy in the hands of its administrator: profiles, grants, keys, checking, and loading anew."""
import json
import os
import resource
import shutil
import socket
import stat
import struct
import subprocess

import selinux

import yett

PROFILES = '''
profile "child" {
  extends = "default"
  environment += {"CHILD=1"}
  hostname = "child"
}
profile "grandchild" {
  extends = "child"
  umask = 077
}
profile "shares" {
  extends = "default"
  share_ro = {"/usr/share/doc:/manuals"}
  share_rw = {"%(shared)s:/common"}
}
profile "fake-root" {
  extends = "default"
  identity = root
}
profile "as-caller" {
  extends = "default"
  identity = caller
}
profile "capable" {
  extends = "default"
  capabilities = {"net_bind_service"}
}
profile "device" {
  extends = "default"
  devices = {"/dev/loop-control"}
}
profile "denying" {
  extends = "default"
  syscalls_deny = {"mkdir", "mkdirat"}
}
profile "denies-what-starting-takes" {
  extends = "default"
  syscalls_deny = {"setresuid", "setresgid", "capset", "chdir", "prlimit64", "setrlimit", "close_range", "recvmsg", "setsid", "dup2", "dup3"}
  pids = 4194304
}
profile "allowing" {
  extends = "default"
  syscalls_allow = {"userfaultfd"}
}
grant "plain" {
  users = {"*"}
  user_keys = true
  profiles = {"child", "grandchild", "shares", "denying", "denies-what-starting-takes", "allowing"}
}
grant "alices" {
  users = {"%(alice)s"}
  user_keys = true
  profiles = {"fake-root", "as-caller", "capable", "device"}
  fall_through = true
  identity_root = true
  identity_caller = true
  capabilities = {"net_bind_service"}
  devices = {"/dev/loop-control"}
  share_rw = {"*"}
}
grant "others" {
  users = {"*"}
  user_keys = true
  profiles = {"fake-root", "as-caller", "capable", "device"}
}
'''


class Profiles(yett.Case):
    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.common = run.roots_folder()
        cls.service_options = {'after': PROFILES % {'shared': cls.common, 'alice': run.user(1).name}}
        super().setUpClass()

    def test_a_profile_has_what_it_extends_and_what_it_says_itself(self):
        self.assertEqual(self.shell('hostname; echo $CHILD $LANG', options=['-p', 'child']).split(), ['child', '1', 'C.UTF-8'])
        self.assertEqual(self.shell('hostname; umask', options=['-p', 'grandchild']).split(), ['child', '0077'])
        self.assertEqual(self.shell('hostname; umask').split(), ['sandbox', '0022'])

    def test_the_shipped_profiles_are_what_they_say(self):
        limits, most = {}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # more than it has the helper cannot give
        for profile in ('default', 'build', 'strict'):
            told = yett.told(self.output('true', options=['-p', profile, '--json']))
            limits[profile] = told['sandbox']['limits']
        self.assertEqual(limits, {
            'default': {'memory_bytes': 2 << 30, 'cpu_millis': 0, 'pids': 512, 'files': 4096, 'file_bytes': 0, 'core_bytes': 1},
            'build': {'memory_bytes': 8 << 30, 'cpu_millis': 0, 'pids': 4096, 'files': min(65536, most), 'file_bytes': 0, 'core_bytes': 1},
            'strict': {'memory_bytes': 512 << 20, 'cpu_millis': 1000, 'pids': 64, 'files': 256, 'file_bytes': 0, 'core_bytes': 1}})

    def test_strict_has_fewer_system_calls(self):
        # shmget, inotify_init1, ptrace(TRACEME): queues, watches and debuggers are for others
        probe = ('import ctypes, errno, sys\nl = ctypes.CDLL(None, use_errno=True)\nfor n in (29, 294, 101):\n'
                 '  print("done" if l.syscall(n, 0, 4096, 0o1600) >= 0 else errno.errorcode[ctypes.get_errno()])')
        self.assertEqual(self.python(probe).split()[0], 'done')
        self.assertEqual(self.python(probe, options=['-p', 'strict']).split(), ['ENOSYS'] * 3)

    def test_shares_of_the_profile(self):
        os.chmod(self.common, 0o1777)
        self.assertTrue(self.output('ls', '/manuals', options=['-p', 'shares']).strip())
        self.output('sh', '-c', 'echo alice >/common/from-alice', options=['-p', 'shares'])
        self.assertEqual(self.output('cat', '/common/from-alice', options=['-p', 'shares'], user=self.bob), 'alice\n')
        self.assertEqual(os.stat(self.common + '/from-alice').st_uid, self.alice.uid)
        self.assertNotEqual(self.sandbox('rm', '-f', '/common/from-alice', options=['-p', 'shares'], user=self.bob).code, 0)
        self.assertNotEqual(self.sandbox('touch', '/manuals/x', options=['-p', 'shares']).code, 0)

    def test_denied_and_allowed_calls(self):
        self.assertEqual(self.sandbox('mkdir', '/tmp/x').code, 0)
        self.assertEqual(self.sandbox('true', options=['-p', 'denies-what-starting-takes']).code, 0)
        done = self.sandbox('mkdir', '/tmp/x', options=['-p', 'denying'])
        self.assertIn('Operation not permitted', done.err)
        # userfaultfd of a kind that the kernel lets everybody have
        probe = ('import ctypes, errno; l = ctypes.CDLL(None, use_errno=True); '
                 'print("done" if l.syscall(323, 1) >= 0 else errno.errorcode[ctypes.get_errno()])')
        self.assertEqual(self.service.run(self.alice, '/usr/bin/python3', '-c', probe).out.strip(), 'done')
        self.assertEqual(self.python(probe).strip(), 'EPERM')
        # The SELinux module gives no sandbox user faults, whatever a profile says of the call.
        self.assertEqual(self.python(probe, options=['-p', 'allowing']).strip(), 'EACCES' if selinux.is_loaded() else 'done')

    def test_what_needs_a_grant_of_its_own(self):
        for profile, what in (('fake-root', 'identity root'), ('as-caller', 'identity caller'),
                              ('capable', 'capability net_bind_service'), ('device', 'device /dev/loop-control')):
            with self.subTest(profile=profile):
                self.assert_refused(self.sandbox('true', options=['-p', profile], user=self.bob), 125, what,
                                    "of grant 'others' (%s:%d)" % (self.service.policy, self.service.line('grant "others"')),
                                    "to the profile '%s'" % profile)

    def test_root_inside_is_nobody_to_other_peoples_files(self):
        directory = self.folder('rooted')
        self.bob.write(os.path.join(directory, 'bobs'), 'secret', mode=0o600)
        options = ['-p', 'fake-root', '--rw', directory, '-C', directory]
        self.assertEqual(self.shell('id -u; id -g; whoami; touch made; stat -c %u made', options=options).split(),
                         ['0', '0', 'root', '0'])
        self.assertEqual(os.stat(directory + '/made').st_uid, self.alice.uid)
        done = self.sandbox('sh', '-c', 'cat bobs; chown 0 bobs; chmod 777 bobs', options=options)
        self.assertNotIn('secret', done.out)
        self.assertEqual(os.stat(directory + '/bobs').st_uid, self.bob.uid)
        self.assertNotEqual(self.sandbox('mount', '-t', 'tmpfs', 'x', '/mnt', options=['-p', 'fake-root']).code, 0)

    def test_identity_caller_has_no_private_uid_and_no_privilege(self):
        told = yett.told(self.output('true', options=['-p', 'as-caller', '--json']))
        self.assertEqual(told['sandbox']['private_uid'], self.alice.uid)
        self.assertIn('CapBnd:\t0000000000000000', self.output('cat', '/proc/self/status', options=['-p', 'as-caller']))

    def test_a_capability_that_is_given(self):
        probe = 'import socket\ntry:\n  socket.create_server(("127.0.0.1", 80)); print("bound")\nexcept OSError as e: print(e.errno)'
        with_it = self.python('import re; print(re.search("CapEff:\\t(.*)", open("/proc/self/status").read())[1])', options=['-p', 'capable'])
        self.assertEqual(int(with_it, 16), 1 << 10)
        self.assertIn(self.python(probe).strip(), ('13', 'bound'))  # a sysctl of the new network namespace decides


DEVICES = '''
profile "group" {
  extends = "default"
  devices = {"%(group)s"}
}
profile "list" {
  extends = "default"
  devices = {"%(list)s"}
}
profile "below" {
  extends = "default"
  devices = {"%(below)s"}
}
profile "both" {
  extends = "default"
  devices = {"%(group)s", "%(closed)s"}
}
grant "devices" {
  users = {"*"}
  user_keys = true
  profiles = {"*"}
  devices = {"%(group)s", "%(list)s", "%(below)s", "%(closed)s"}
}
'''

# Reads and writes the node that it is told.
USE = '''
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
print(len(os.read(fd, 7)), os.write(fd, b"x"), oct(os.stat(fd).st_rdev))
'''


class Devices(yett.Case):
    """Nodes that the policy gives. These are of the numbers of /dev/zero: hosts differ in what hardware they have."""

    NUMBER, GROUP = os.makedev(1, 5), 4242

    @classmethod
    def setUpClass(cls):
        folder = '/dev/yett-test-%d' % yett.run_of_process().place
        os.mkdir(folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.nodes = {name: '%s-%s' % (folder, name) for name in ('group', 'list', 'closed')}
        cls.nodes['below'] = folder + '/below'
        for name, mode in (('group', 0o660), ('list', 0o600), ('closed', 0o600), ('below', 0o666)):
            os.mknod(cls.nodes[name], stat.S_IFCHR | mode, cls.NUMBER)
            cls.addClassCleanup(os.unlink, cls.nodes[name])
            os.chmod(cls.nodes[name], mode)
        os.chown(cls.nodes['group'], 0, cls.GROUP)
        cls.service_options = {'before': DEVICES % cls.nodes}
        super().setUpClass()

    def use(self, name, **more):
        return self.sandbox('python3', '-c', USE, self.nodes[name], options=['-p', name], **more)

    def assert_used(self, done):
        self.assertEqual((done.code, done.out), (0, '7 1 %s\n' % oct(self.NUMBER)), done)

    def test_a_device_is_there_for_whom_its_group_lets_open_it(self):
        groups = [self.alice.gid, self.GROUP]
        self.assert_used(self.use('group', groups=groups))
        for more in ({}, {'user': self.bob}, {'groups': [self.alice.gid, self.GROUP + 1]}):
            with self.subTest(more):
                user = more.get('user', self.alice)
                self.assert_refused(self.use('group', **more), 125, 'uid %d cannot have the device %s in a sandbox, lacking read and write access outside' %
                                    (user.uid, self.nodes['group']))
        self.assert_used(self.use('group', groups=groups))  # by the supervisor of the first one, or another
        self.assertNotEqual(self.sandbox('ls', self.nodes['group'], groups=groups).code, 0)

    def test_one_that_everybody_may_open_is_there_in_its_directory(self):
        self.assert_used(self.use('below'))
        self.assert_used(self.use('below', user=self.bob))

    def test_each_of_a_profiles_has_to_be_open(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'both'], groups=[self.alice.gid, self.GROUP]), 125, self.nodes['closed'])

    def test_an_access_control_list_counts_as_it_is_at_the_moment(self):
        self.assert_refused(self.use('list'), 125, self.nodes['list'])
        # posix_acl_xattr.h: version 2; owner, alice, group, mask, others
        entries = ((1, 6, 0xffffffff), (2, 6, self.alice.uid), (4, 0, 0xffffffff), (16, 6, 0xffffffff), (32, 0, 0xffffffff))
        try:
            os.setxattr(self.nodes['list'], 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in entries))
        except OSError as e:
            self.skipTest('no access control lists in /dev: %s' % e)
        self.assert_used(self.use('list'))
        self.assert_refused(self.use('list', user=self.bob), 125, self.nodes['list'])
        os.removexattr(self.nodes['list'], 'system.posix_acl_access')
        self.assert_refused(self.use('list'), 125, self.nodes['list'])

    def test_it_is_explained(self):
        explain = ['policy', 'explain', '--policy', self.service.policy]
        place = r"weaker: devices of grant 'devices' \(%s:%d\)" % (self.service.policy, self.service.line('  devices = {', 5))
        told = self.yett(*explain, '--', '-p', 'below', 'true').out
        self.assertRegex(told, 'device +%s, %s\n' % (self.nodes['below'], place))
        done = self.yett(*explain, '--', '-p', 'both', 'true', groups=[self.alice.gid, self.GROUP])
        self.assertIn('refused: uid %d cannot have the device %s in a sandbox' % (self.alice.uid, self.nodes['closed']), done.out + done.err)

    def test_it_is_said_to_be_weaker(self):
        said = 'by devices of the host: ' + self.nodes['below']
        self.assertIn('yett: weaker %s\n' % said, self.use('below').err)
        self.assertIn('\nweaker %s\n' % said, self.output('true', options=['-p', 'below', '--dry-run']))
        self.assertEqual(yett.told(self.output('true', options=['-p', 'below', '--json']))['sandbox']['weaker'], said)
        self.assertNotIn('weaker', self.sandbox('true').err)


class Grants(yett.Case):
    """The grant that names the user most closely decides, and of equals the first."""

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.service_options = {'shipped': False, 'before': '''
profile "default" {
  system = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
  memory = 100M
}
grant "first" {
  users = {"%(alice)s"}
  user_keys = true
  profiles = {"default"}
  max_memory = 50M
}
grant "second" {
  users = {"%(alice)s"}
  user_keys = true
  profiles = {"*"}
  max_memory = 80M
}
grant "group" {
  groups = {"%(gid)d"}
  user_keys = true
  profiles = {"default"}
  max_memory = 30M
}
''' % {'alice': run.user(1).name, 'gid': 4545}}
        super().setUpClass()

    @classmethod
    def set_up_user(cls, user):
        cls.service.enter_key(user)

    def memory(self, **more):
        return yett.told(self.output('true', options=['--json'], **more))['sandbox']['limits']['memory_bytes'] >> 20

    def test_the_first_that_fits_decides(self):
        self.assertEqual(self.memory(), 50)
        self.assert_refused(self.sandbox('true', options=['--memory', '60M']), 125, "grant 'first'")

    def test_by_group(self):
        self.assertEqual(self.memory(user=self.bob, groups=[self.bob.gid, 4545]), 30)

    def test_who_has_none_is_told_so(self):
        self.assert_refused(self.sandbox('true', user=self.bob), 125, 'no grant of the policy is for uid %d' % self.bob.uid, 'user_keys = true')
        shutil.copy(self.bob.home + '/.config/yett/id_ed25519.pub', self.service.keys + '/bobs.pub')
        self.assert_refused(self.sandbox('true', user=self.bob), 125, 'no grant of the policy is for uid %d' % self.bob.uid, 'keys = {"bobs"}')


class Keys(yett.Case):
    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.service_options = {'before': '''
grant "no-user-keys" {
  users = {"%s"}
  user_keys = false
  profiles = {"default"}
}
grant "by-name" {
  users = {"*"}
  keys = {"special"}
  profiles = {"strict"}
}
''' % run.user(2).name, 'shipped': True}
        super().setUpClass()

    @classmethod
    def set_up_user(cls, user):
        pass

    def setUp(self):
        for user in (self.alice, self.bob):
            user.make_home()
        for name in os.listdir(self.service.keys):
            os.unlink(os.path.join(self.service.keys, name))

    def enroll(self, name, path):
        return self.service.run(yett.Root(self.service.folder), self.service.yett, 'enroll', '--keys-dir', self.service.keys,
                                name, path)

    def test_the_first_run_makes_a_key_enrolls_it_and_says_so_once(self):
        done = self.sandbox('echo', 'ran')
        self.assertEqual((done.code, done.out), (0, 'ran\n'), done)
        told = [line for line in done.err.splitlines() if 'made the key' in line]
        self.assertEqual(told, ['yett: made the key %s/.config/yett/id_ed25519 and enrolled it in authorized_keys beside it'
                                % self.alice.home])
        self.assertNotIn('made the key', self.sandbox('true').err)
        folder = self.alice.home + '/.config/yett/'
        modes = {name: os.stat(folder + name).st_mode & 0o777 for name in os.listdir(folder)}
        self.assertEqual(modes.pop('id_ed25519'), 0o600)
        self.assertFalse(any(mode & 0o022 for mode in modes.values()), modes)

    def test_where_user_keys_do_not_count_the_administrator_enrolls(self):
        strict = ['-p', 'default']
        done = self.service.run(self.bob, self.service.yett, 'keygen')
        self.assertEqual(done.code, 0, done)
        refused = self.run_as_bob_alone(strict)
        self.assert_refused(refused, 125, 'key')
        self.assertEqual(self.enroll('bobs', self.bob.home + '/.config/yett/id_ed25519.pub').code, 0)
        self.assertEqual(self.run_as_bob_alone(strict).code, 0)

    def run_as_bob_alone(self, options):
        """By a policy without the grant for everyone, who may use keys of their own."""
        text = yett.read(self.service.policy)
        if 'grant "everyone"' in text and 'users = {"nobody"}' not in text:
            yett.write(self.service.policy, text.replace('users = {"*"}                     #', 'users = {"nobody"}                #'))
            self.addCleanup(self.restore_policy)
            self.service.reload()
        return self.sandbox('true', user=self.bob, options=options)

    def restore_policy(self):
        self.service.write_policy()
        self.service.reload()

    def test_a_grant_for_a_key_by_its_name(self):
        self.service.run(self.alice, self.service.yett, 'keygen')
        public = self.alice.home + '/.config/yett/id_ed25519.pub'
        text = yett.read(self.service.policy)
        yett.write(self.service.policy, text.replace('profiles = {"default", "build", "strict"}', 'profiles = {"default", "build"}'))
        self.addCleanup(self.restore_policy)
        self.service.reload()
        self.assertEqual(self.enroll('other', public).code, 0)
        self.assert_refused(self.sandbox('true', options=['-p', 'strict']), 125)
        os.unlink(self.service.keys + '/other.pub')
        self.assertEqual(self.enroll('special', public).code, 0)
        self.assertEqual(self.sandbox('true', options=['-p', 'strict']).code, 0)

    def test_a_key_under_two_names_is_nobodys(self):
        self.service.run(self.alice, self.service.yett, 'keygen')
        public = self.alice.home + '/.config/yett/id_ed25519.pub'
        self.assertEqual(self.enroll('laptop', public).code, 0)
        done = self.enroll('other', public)
        self.assertEqual(done.code, 1, done)
        self.assertIn('the key is enrolled as laptop already', done.err)
        self.assertEqual(os.listdir(self.service.keys), ['laptop.pub'])
        self.assertEqual(self.sandbox('true').code, 0)
        shutil.copy(public, self.service.keys + '/other.pub')  # by hand, nobody is there to refuse it
        self.assert_refused(self.sandbox('true'), 125, 'the key is enrolled under two names', "'laptop'", "'other'")
        os.unlink(self.service.keys + '/laptop.pub')
        self.assertEqual(self.sandbox('true').code, 0)

    def test_a_key_file_that_others_can_read_or_write_is_not_used(self):
        self.sandbox('true')
        path = self.alice.home + '/.config/yett/id_ed25519'
        for mode in (0o620, 0o602, 0o640, 0o604):
            with self.subTest(mode=oct(mode)):
                os.chmod(path, mode)
                self.assert_refused(self.sandbox('true'), 125, path)
        os.chmod(path, 0o600)
        self.assertEqual(self.sandbox('true').code, 0)

    def test_a_key_file_of_somebody_else_or_of_another_kind_is_not_used(self):
        self.sandbox('true')
        path = self.alice.home + '/.config/yett/id_ed25519'
        os.chown(path, self.bob.uid, self.bob.gid)
        self.assertEqual(self.sandbox('true').code, 125)
        os.unlink(path)
        os.mkfifo(path, 0o600)
        os.chown(path, self.alice.uid, self.alice.gid)
        self.assertEqual(self.sandbox('true').code, 125)
        os.unlink(path)
        os.mkdir(path, 0o600)
        self.assertEqual(self.sandbox('true').code, 125)

    def test_authorized_keys_that_others_can_write_do_not_count(self):
        self.sandbox('true')
        folder = self.alice.home + '/.config/yett'
        for path, mode, good in ((folder + '/authorized_keys', 0o666, 0o644), (folder, 0o777, 0o700)):
            with self.subTest(path=path):
                os.chmod(path, mode)
                done = self.sandbox('true')
                self.assertEqual(done.code, 125, done)
                os.chmod(path, good)
                self.assertEqual(self.sandbox('true').code, 0)

    def test_keys_that_cannot_be_read_are_not_taken_for_none(self):
        """Where none is enrolled any key may plan; where that cannot be told, none."""
        self.assertEqual(self.sandbox('true', options=['--dry-run']).code, 0)
        folder = self.alice.home + '/.config/yett'
        path = folder + '/authorized_keys'
        os.makedirs(folder, mode=0o700)
        for name in (self.alice.home + '/.config', folder):
            os.chown(name, self.alice.uid, self.alice.gid)
        self.assertEqual(self.sandbox('true', options=['--dry-run']).code, 0)
        self.alice.write('keys', '# none\n')
        for make in (lambda: os.symlink(self.alice.home + '/keys', path), lambda: os.symlink('authorized_keys', path), lambda: os.mkfifo(path),
                     lambda: os.mkdir(path), lambda: yett.write(path, '# none\n', 0o000)):
            make()
            os.lchown(path, self.alice.uid, self.alice.gid)
            self.assert_refused(self.sandbox('true', options=['--dry-run']), 125, 'authorized_keys does not count')
            (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
        self.assertEqual(self.sandbox('true', options=['--dry-run']).code, 0)

    def test_authorized_keys_are_read_with_the_groups_of_the_user_and_no_other(self):
        self.sandbox('true')
        path = self.alice.home + '/.config/yett/authorized_keys'
        helpers, = set(yett.status_of(self.service.pid())['Groups'].split()) - {'0'}
        for group, is_read in ((int(helpers), False), (4242, True)):
            os.chown(path, 0, group)
            os.chmod(path, 0o640)
            done = self.sandbox('true', groups=[4242])
            self.assertEqual(done.code, 0 if is_read else 125, done)
            self.assertIn('' if is_read else 'cannot be opened or read', done.err)

    def test_a_key_that_is_not_enrolled_is_refused(self):
        self.sandbox('true')
        yett.write(self.alice.home + '/.config/yett/authorized_keys', '# none\n')
        done = self.sandbox('true', options=['--json'])
        self.assertEqual(done.code, 125)
        told = yett.told(done.out)['error']
        self.assertEqual((told['code'], told['reason']), ('bad-signature', 'unknown-key'))

    def test_garbage_for_keys_harms_nobody(self):
        self.sandbox('true')
        path = self.alice.home + '/.config/yett/authorized_keys'
        good = yett.read(path)
        for garbage in ('\0' * 100, 'ed25519 notbase64\n', 'ssh-rsa AAAA x\n', 'x' * 20000, 'ed25519 ' + 'A' * 43 + '=\n'):
            with self.subTest(garbage=garbage[:20]):
                yett.write(path, garbage)
                self.assertEqual(self.sandbox('true').code, 125)
        yett.write(path, good)
        self.assertEqual(self.sandbox('true').code, 0)

    def test_keygen_overwrites_nothing(self):
        self.sandbox('true')
        path = self.alice.home + '/.config/yett/id_ed25519'
        before = yett.read(path)
        done = self.service.run(self.alice, self.service.yett, 'keygen')
        self.assertEqual((done.code, yett.read(path)), (1, before))
        self.assertIn(path, done.err)
        self.assertEqual(self.service.run(self.alice, self.service.yett, 'keygen', self.alice.home + '/another').code, 0)
        self.assertEqual(os.stat(self.alice.home + '/another').st_mode & 0o777, 0o600)

    def test_enrolling_is_for_the_administrator(self):
        self.sandbox('true')
        public = self.alice.home + '/.config/yett/id_ed25519.pub'
        done = self.service.run(self.alice, self.service.yett, 'enroll', '--keys-dir', self.service.keys, 'mine', public)
        self.assertEqual(done.code, 1)
        self.assertIn('administrator', done.err)
        for name in ('../x', 'UPPER', '', '-x', 'a' * 65):
            with self.subTest(name=name):
                self.assertNotEqual(self.enroll(name, public).code, 0)
        self.assertEqual(os.listdir(self.service.keys), [])
        self.assertEqual(self.enroll('twice', public).code, 0)
        self.assertEqual(self.enroll('twice', public).code, 1)
        self.assertEqual(self.enroll('secret', public[:-4]).code, 1)


class Check(yett.Case):
    """yett policy check, by anybody; and a helper that does not start on what it refuses."""

    def check(self, text, mode=0o644):
        path = self.service.folder + '/checked.conf'
        yett.write(path, text, mode)
        return self.service.run(yett.Root(self.service.folder), self.service.yett, 'policy', 'check', path,
                                env={'YETT_HELPER': self.service.helper}), path

    def test_the_shipped_policy_is_right(self):
        done, path = self.check(yett.read(os.path.join(yett.SOURCE, 'dist', 'yett.conf')))
        self.assertEqual((done.code, done.out), (0, '%s: 4 profiles, 1 grant\n' % path), done)

    def test_what_is_wrong_is_told_with_file_and_line(self):
        base = 'profile "p" {\n  memory = 1G\n}\n'
        for text, line, what in (
                ('profile "p" {\n  memroy = 1G\n}\n', 2, 'memroy'),
                ('profile "p" {\n  memory = much\n}\n', 2, 'much'),
                ('profile "p" {\n  memory = 1G\n  memory = 2G\n}\n', 2, 'memory'),
                ('profile "p" {\n  umask = 9\n}\n', 2, '9'),
                ('profile "p" {\n  syscalls = all\n}\n', 2, 'all'),
                ('profile "p" {\n  extends = "none"\n}\n', 2, 'none'),
                ('profile "P" {\n}\n', 1, 'P'),
                ('profile "p" {\n  private_home = perhaps\n}\n', 2, 'perhaps'),
                ('profile "p" {\n  capabilities = {"everything"}\n}\n', 2, 'everything'),
                ('profile "p" {\n  tmpfs = {"/proc/x"}\n}\n', 2, '/proc/x'),
                ('profile "p" {\n  share_ro = {"/no/such/path"}\n}\n', 2, '/no/such/path'),
                ('profile "p" {\n  share_rw = {"/tmp/x"}\n}\n', 2, '/tmp/x'),
                ('profile "p" {\n  devices = {\n    "/dev/null",\n    "/dev/nothing"\n  }\n}\n', 4, '/dev/nothing is not a character device of this host'),
                ('profile "p" {\n  devices = {"/dev/pts"}\n}\n', 2, '/dev/pts is not a character device of this host'),
                ('profile "p" {\n  environment = {"NOVALUE"}\n}\n', 2, 'NOVALUE'),
                ('profile "p" {\n  nice = 99\n}\n', 2, '99'),
                ('profile "p" {\n  network = hosts\n}\n', 2, "'hosts' is not none, limited, open or host: did you mean host."),
                ('profile "p" {\n  allow = {"a.org",\n    ":443"}\n}\n', 3, "':443' names no host\n  hint: write HOST:PORT"),
                ('profile "p" {\n  allow = {"a..b"}\n}\n', 2, "'a..b' has an empty label\n  hint: write one dot between labels"),
                ('profile "p" {\n  deny = {"1.2.3.4/33"}\n}\n', 2, "'1.2.3.4/33' has a prefix that no such address has\n  hint: write /0"),
                ('profile "p" {\n  allow = {"a.org:0"}\n}\n', 2, "'a.org:0' has no port"),
                ('profile "p" {\n  allow = {"a.org:70000"}\n}\n', 2, "'a.org:70000' has no port"),
                ('profile "p" {\n  allow = {"%s.org"}\n}\n' % ('a' * 300), 2, r"'a+\.\.\.' has a label of more than 63 characters"),
                ('profile "p" {\n  allow = {"x.inject.internal"}\n}\n', 2, "'x.inject.internal' is reserved"),
                ('profile "p" {\n  allow = {"fe80::/10"}\n}\n', 2, "'fe80::/10' allows nothing"),
                ('profile "p" {\n  deny = {\n    "a.org:smtp"}\n}\n', 3, "'a.org:smtp' has a word for a port"),
                (base + 'grant "g" {\n  users = {"*"}\n  profiles = {"p"}\n  allow = {"https://a.org/"}\n}\n', 7,
                 'is a URL, and a rule is only its host and port\n  hint: write a.org:443'),
                (base + 'grant "g" {\n  profiles = {"p"}\n}\n', 4, 'g'),
                (base + 'grant "g" {\n  users = {"*"}\n}\n', 4, 'g'),
                (base + 'grant "g" {\n  users = {"*"}\n  profiles = {"q"}\n}\n', 6, 'q'),
                (base + 'helper {\n  ids_first = 1234567\n}\n', 5, 'ids_first'),
                (base + 'helper {\n  network_proxy = "proxy.example:3128"\n}\n', 5, "'proxy.example:3128' is not http://HOST:PORT"),
                (base + 'helper {\n  network_proxy = "https://proxy.example:3128"\n}\n', 5, 'is not http://HOST:PORT'),
                (base + 'helper {\n  network_proxy = "http://proxy.example"\n}\n', 5, "'http://proxy.example' is not http://HOST:PORT"),
                (base + 'helper {\n  network_proxy = "http://\\*.example:3128"\n}\n'.replace('\\', ''), 5, 'is not http://HOST:PORT'),
                (base + 'helper {\n  network_proxy = "http://10.0.0.0/8:3128"\n}\n', 5, 'is not http://HOST:PORT'),
                (base + 'helper {\n  network_proxy = "http://me:secret@proxy.example:3128"\n}\n', 5, "'network_proxy' has a name or a password in it"),
                (base + 'helper {\n  network_proxy = "http://a..b:3128"\n}\n', 5, "'a..b:3128' has an empty label"),
                (base + 'helper {\n  network_proxy = {"http://a.b:1", "http://c.d:2"}\n}\n', 5, ''),
                (base + 'helper {\n  no_proxy = {"a.example",\n    "b.example"}\n}\n', 5, "'no_proxy' goes around a network_proxy, and there is none"),
                (base + 'helper {\n  ids_first = 0\n}\n', 5, '0'),
                (base + 'surprise {\n}\n', 4, 'surprise'),
                (base + 'profile "q" {\n  memory = 1G\n', 4, 'not closed')):
            with self.subTest(text=text):
                done, path = self.check(text)
                self.assertEqual((done.code, done.out), (1, ''), done)
                self.assertRegex(done.err, r'^yett: %s:%d: .*%s' % (path, line, what), done)

    def test_it_takes_no_helper(self):
        tree = self.service.folder + '/unpacked'
        for source, target in (('cli/yett', 'bin'), ('helper/yett-explain', 'libexec/yett'), ('helper/yett-policy', 'libexec/yett')):
            os.makedirs('%s/%s' % (tree, target), exist_ok=True)
            shutil.copy(self.service.run_.path(source), '%s/%s' % (tree, target))
        good, wrong = tree + '/good.conf', tree + '/wrong.conf'
        yett.write(good, 'profile "p" {\n}\n')
        yett.write(wrong, 'profile "p" {\n  memroy = 1G\n}\n')
        for user in (yett.Root(self.service.folder), self.alice):
            with self.subTest(user=user.name):
                done = [self.service.run(user, tree + '/bin/yett', 'policy', 'check', path, env={'YETT_HELPER': '/nonexistent/yett-helper'})
                        for path in (good, wrong)]
                self.assertEqual((done[0].code, done[0].out), (0, good + ': 1 profile, 0 grants\n'), done[0])
                self.assertEqual((done[1].code, done[1].out), (1, ''), done[1])
                self.assertIn(wrong + ':2: profile has no key `memroy`: did you mean memory?', done[1].err)

    def test_a_name_that_is_not_known_makes_one_grant_void_and_is_told(self):
        void = 'grant "void" {\n  users = {"%s", "no-such-user"}\n  user_keys = true\n  profiles = {"default"}\n}\n' % self.bob.name
        text = yett.read(self.service.policy)
        line = len(text.splitlines()) + 2
        done, path = self.check(text + void)
        told = ":%d: 'no-such-user' is not a user of this host: the grant is void" % line
        self.assertEqual((done.code, done.err), (0, 'yett: ' + path + told + '\n'), done)
        group = void.replace('users = {', 'groups = {').replace(self.bob.name, 'root').replace('no-such-user', 'no-such-group')
        self.assertIn("'no-such-group' is not a group of this host", self.check(text + group)[0].err)
        yett.write(self.service.policy, text + void)
        self.addCleanup(self.service.reload)
        self.addCleanup(self.service.write_policy)
        self.service.reload()
        self.assertIn(told, self.service.log_text())
        self.assertEqual(self.sandbox('true').code, 0)
        # whom the grant was to bind is not let loose by its mistake
        self.assert_refused(self.sandbox('true', user=self.bob), 125, "the grant 'void' is void")

    def test_the_whole_policy_is_checked_as_the_service_reads_it(self):
        folder = self.service.folder + '/whole'
        os.makedirs(folder + '/conf.d')
        yett.write(folder + '/yett.conf', 'profile "p" {\n}\n')
        yett.write(folder + '/conf.d/a.conf', 'grant "g" {\n  users = {"*"}\n  profiles = {"q"}\n}\n')
        for user in (yett.Root(self.service.folder), self.alice):
            done = self.service.run(user, self.service.yett, 'policy', 'check', '--policy', folder + '/yett.conf')
            self.assertEqual(done.code, 1, done)
            self.assertIn("%s/conf.d/a.conf:3: 'q' is not a profile" % folder, done.err)

    def test_a_policy_that_others_can_write_is_refused(self):
        for mode in (0o664, 0o646):
            with self.subTest(mode=oct(mode)):
                done, path = self.check(yett.read(self.service.policy), mode)
                self.assertEqual(done.code, 1, done)
                self.assertIn(path, done.err)

    def test_a_policy_that_is_not_there(self):
        for path in ('/etc/no-such-policy', '/no/such/policy'):
            with self.subTest(path=path):
                done = self.service.run(yett.Root(self.service.folder), self.service.yett, 'policy', 'check', path,
                                        env={'YETT_HELPER': self.service.helper})
                self.assertEqual((done.code, done.out), (1, ''), done)
                self.assertIn('/no', done.err)

    def test_a_helper_does_not_start_on_a_wrong_policy(self):
        path = self.service.folder + '/wrong.conf'
        yett.write(path, 'profile "p" {\n  memroy = 1G\n}\n')
        ours = '\0yett-test-wrong-%d' % self.service.run_.place
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(ours)
            listener.listen()
            script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec %s --policy %s 3<&%d' % (self.service.helper, path, listener.fileno())
            done = subprocess.run(['sh', '-c', script], pass_fds=[listener.fileno()], capture_output=True, text=True,
                                  timeout=yett.DEADLINE)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(path + ':2: ', done.stderr)


NETWORKS = '''
profile "limited" { extends = "default" network = limited allow = {"a.example"} }
profile "open" { extends = "default" network = open }
grant "networks" {
  users = {"*"}
  user_keys = true
  profiles = {"*"}
  network = limited
  allow = {"*:443", "10.1.0.0/16:5432"}
}
'''


class Networks(yett.Case):
    """What a request may reach: what is refused of it, before anything is made."""

    service_options = {'before': NETWORKS}

    def run_(self, *options):
        return self.sandbox('true', options=options)

    def test_a_network_beyond_the_grant_is_refused_with_its_line(self):
        place = '(%s:%d)' % (self.service.policy, self.service.line('network = limited', 2))
        for options, profile in ((['--net', 'open'], 'default'), (['-p', 'open'], 'open')):
            with self.subTest(options=options):
                self.assert_refused(self.run_(*options), 125, "the grant 'networks' does not allow the network open to the profile '%s'" % profile,
                                    "asked open, allowed limited by network of grant 'networks' " + place,
                                    "the smallest change of the policy: network = open in grant 'networks' " + place)
        self.assertEqual(self.run_('-p', 'open', '--net', 'none').code, 0)

    def test_a_rule_beyond_the_grant_is_refused_with_its_line(self):
        place = '(%s:%d)' % (self.service.policy, self.service.line('allow = {"*:443"'))
        for rule in ('a.org:80', 'a.org', '*', '10.1.2.3:443', '10.0.0.0/8:5432', '127.0.0.1:443', 'a.org:443@10.1.2.3'):
            with self.subTest(rule=rule):
                self.assert_refused(self.run_('--allow', 'b.org:443', '--allow', rule), 125, "the grant 'networks' does not let requests allow '%s'" % rule,
                                    "asked %s, allowed *:443, 10.1.0.0/16:5432 by allow of grant 'networks' %s" % (rule, place),
                                    'the smallest change of the policy: allow += {"%s"} in grant \'networks\' %s' % (rule, place))

    def test_what_is_within_it_is_allowed(self):
        for options in (['--allow', 'a.org:443', '--deny', 'b.org'], ['-p', 'limited', '--allow', '10.1.2.0/24:5432'], ['-p', 'limited', '--deny', '*'],
                        ['--allow', 'B\u00fccher.example:443'], [word for i in range(256) for word in ('--allow', 'host%d.example:443' % i)]):
            with self.subTest(options=options[:4]):
                done = self.service.run(self.alice, self.service.yett, 'policy', 'explain', '--policy', self.service.policy, '--', *options,
                                        env={'YETT_HELPER': self.service.helper})
                self.assertEqual(done.code, 0, done)
                self.assertRegex(done.out, r'\n  network +limited ')

    def test_what_is_no_rule_is_refused_with_what_to_write(self):
        for rule, message, mend in ((':443', "':443' names no host", 'write HOST:PORT'),
                                    ('a..b', "'a..b' has an empty label", 'write one dot between labels'),
                                    ('1.2.3.4/33', "'1.2.3.4/33' has a prefix that no such address has", 'write /0 to /32'),
                                    ('a.org:0', "'a.org:0' has no port that there is", 'numbers from 1 to 65535'),
                                    ('a.org:70000', "'a.org:70000' has no port that there is", 'numbers from 1 to 65535'),
                                    ('a' * 300 + '.org', 'has a label of more than 63 characters', 'look for what was pasted'),
                                    ('a.org:https', 'has a word for a port', 'like :443'),
                                    ('a.org,b.org', 'has a comma', 'write one rule each'),
                                    ('2606:4700::34:443', 'has no brackets', 'write [2606:4700::34]:443 if 443 is the port'),
                                    ('git@a.org:b/c', 'has a user before the host', 'write a.org:22'),
                                    ('https://a.org/b', 'is a URL', 'write a.org:443'),
                                    ('localhost:80', 'is the sandbox itself', 'write NAME:PORT@127.0.0.1'),
                                    ('x.inject.internal', "'x.inject.internal' is reserved", 'use a name not in inject.internal')):
            for option in ('--allow', '--deny'):
                with self.subTest(rule=rule, option=option):
                    self.assert_refused(self.run_(option, rule), 125, message, mend)
        self.assert_refused(self.run_('--allow', '169.254.169.254:80'), 125, "'169.254.169.254:80' allows nothing")
        self.assert_refused(self.run_('--net', 'none', '--allow', 'a.org:443'), 125, 'but asks for the network none')
        self.assert_refused(self.run_('--deny', 'a.org'), 125, 'there is no network at all', 'ask for the network open (--net open)')
        self.assert_refused(self.run_(*(word for i in range(257) for word in ('--allow', 'host%d.example:443' % i))), 125,
                            'more than 256 of --allow and --deny together')


class Reload(yett.Case):
    def setUp(self):
        self.addCleanup(self.restore)

    def restore(self):
        self.service.write_policy(before='')
        self.service.reload()

    def test_a_good_policy_counts_from_then_on(self):
        self.assertEqual(self.sandbox('true', options=['--memory', '1G']).code, 0)
        self.service.write_policy(before='grant "new" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"default"}\n  max_memory = 64M\n}\n')
        self.service.reload()
        self.assert_refused(self.sandbox('true', options=['--memory', '1G']), 125, "grant 'new'")

    def test_a_bad_policy_changes_nothing_and_is_told(self):
        self.service.write_policy(before='grant "new" {\n  usres = {"*"}\n}\n')
        line = self.service.line('usres')
        self.service.reload()
        self.assertIn('%s:%d' % (self.service.policy, line), self.service.log_text())
        self.assertEqual(self.sandbox('true').code, 0)

    def test_a_sandbox_that_lives_goes_on(self):
        process = self.start('sh', '-c', 'echo up; read x; echo $x')
        self.line(process)
        self.service.write_policy(before='grant "none" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"strict"}\n}\n')
        self.service.reload()
        self.assertEqual(process.communicate(b'still\n', timeout=yett.DEADLINE)[0], b'still\n')
        self.assertEqual(process.returncode, 0)

    def test_fragments_count(self):
        folder = self.service.folder + '/conf.d'
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        yett.write(folder + '/50-more.conf', 'profile "fragment" {\n  extends = "default"\n  hostname = "from-fragment"\n}\n'
                   'grant "fragment" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"fragment"}\n}\n')
        self.service.reload()
        self.assertEqual(self.output('hostname', options=['-p', 'fragment']).strip(), 'from-fragment')


if __name__ == '__main__':
    yett.main()
