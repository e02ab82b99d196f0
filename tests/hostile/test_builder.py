# SPDX-License-Identifier: Apache-2.0
"""
An init that is the attacker's from its first instruction, with all that building takes. The attacks run outside as root in
namespaces of its own, where each must work, and in the place of init (tests/hostile/fake_init.c), where none must: it has a
private id, and what its client shared, as its client may use it.
"""
import contextlib
import ctypes
import os
import shutil
import socket
import stat
import tempfile

import hostile  # first: it knows where the others are
import attacks
import surroundings
import yett

POLICY = '''
profile "attacks" {
  extends = "default"
  environment = {"YETT_TEST_INIT=attacks"}
}
grant "attacks" {
  users = {"*"}
  user_keys = true
  profiles = {"attacks"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''

# Mounts as a template has them, in namespaces of root's own.
OUTSIDE = '''
for tree in / /usr /etc /dev; do mount --rbind "$tree" "$tree"; mount -o remount,bind,ro,nosuid,nodev "$tree"; done
mount -t tmpfs tmpfs /mnt; mkdir /mnt/ro; mount --bind "$ATTACK_RO" /mnt/ro; mount -o remount,bind,ro,nosuid,nodev /mnt/ro
mount --bind "$ATTACK_DIR" "$ATTACK_DIR"; mount -o remount,bind,rw,nodev "$ATTACK_DIR"
mount -t proc proc /proc
ATTACK_RO=/mnt/ro ATTACK_SUPER=/mnt exec "$0" builder
'''

JOIN_SESSION_KEYRING, SESSION_KEYRING = 1, -3
KEYCTL, ADD_KEY = {'x86_64': (250, 248), 'aarch64': (219, 217)}[os.uname().machine]


MISSING = ('ENOSYS', 'EOPNOTSUPP', 'ENOTTY', 'ENOPROTOOPT')


class Handle(ctypes.Structure):
    """struct file_handle of open_by_handle_at(2)"""
    _fields_ = [('size', ctypes.c_uint), ('type', ctypes.c_int), ('bytes', ctypes.c_ubyte * 128)]


def handle_of(path):
    """What a file of nsfs or pidfs is opened by, as the attacks take it; nothing where the kernel has no such."""
    handle, mount = Handle(size=128), ctypes.c_int()
    fd = os.open(path, os.O_RDONLY) if isinstance(path, str) else path
    if ctypes.CDLL(None).name_to_handle_at(fd, b'', ctypes.byref(handle), ctypes.byref(mount), 0x1000) < 0:  # AT_EMPTY_PATH
        return None
    return '%d:%s' % (handle.type, bytes(handle.bytes[:handle.size]).hex())


class Attacks(yett.Case):

    @classmethod
    def setUpClass(cls):
        # Behind the filter of building, which refuses what half of them take: it has tests of its own below.
        libexec = yett.run_of_process().libexec('libexec-builder', init=hostile.program('fake-init'), policy=hostile.program('yett-policy-open'))
        cls.service_options = {'libexec': libexec, 'before': POLICY}
        cls.key = 'yett-attack-%d' % yett.run_of_process().place
        libc = ctypes.CDLL(None)
        # The service is a child of ours: this becomes its session, as a session of root's is that of a helper without a service.
        libc.syscall(KEYCTL, JOIN_SESSION_KEYRING, None, 0, 0, 0)
        libc.syscall(ADD_KEY, b'user', cls.key.encode(), b'secret', 6, SESSION_KEYRING)
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.make_surroundings()
        cls.outside = cls.run_outside()
        cls.inside = cls.run_inside()

    @classmethod
    def set_up_user(cls, user):
        done = cls.service.enter_key(user)
        if done.code != 125:
            raise RuntimeError('this is not the fake init: %r' % done)

    @classmethod
    def make_surroundings(cls):
        cls.work, cls.data = cls.alice.mkdir('work'), cls.alice.mkdir('data')
        os.chmod(cls.alice.mkdir('work/open-to-all'), 0o777)
        yett.write(cls.work + '/secret', 'secret', 0o600)
        yett.write(cls.work + '/secret-other', 'secret', 0o600)
        os.chown(cls.work + '/secret-other', cls.bob.uid, cls.bob.gid)
        cls.alice.write('work/given')
        os.mknod(cls.work + '/device', stat.S_IFCHR | 0o600, os.makedev(1, 5))
        secret = '/etc/yett-test-%d' % yett.run_of_process().place
        yett.write(secret, 'secret', 0o600)
        cls.stack.callback(os.unlink, secret)
        surroundings.count_processes_from_afar()
        sleeper = cls.bob.popen(['sleep', '1000'])
        cls.stack.callback(sleeper.wait)
        cls.stack.callback(sleeper.kill)
        pidfd = os.pidfd_open(sleeper.pid)
        cls.stack.callback(os.close, pidfd)
        outside = cls.alice.mkdir('outside')
        cls.alice.write('outside/secret', 'secret')  # for everybody, and in no share
        cls.environment = {
            'ATTACK_OUTSIDE': outside, 'ATTACK_VICTIM': str(sleeper.pid), 'ATTACK_ROOT': '0',
            'ATTACK_OTHER': str(cls.bob.uid), 'ATTACK_ETC': secret, 'ATTACK_KEY': cls.key}
        for name, handle in (('NAMESPACE', handle_of('/proc/self/ns/mnt')), ('PROCESS', handle_of(pidfd))):
            if handle:
                cls.environment['ATTACK_%s_HANDLE' % name] = handle

    @classmethod
    def run_outside(cls):
        """As root, with what a builder is born with: a peer that is root's, and a group of another mount than its own."""
        work, data = cls.service.folder + '/work', cls.service.folder + '/data'
        for folder in (work, data):
            os.mkdir(folder)
        shutil.copytree(cls.work, work, dirs_exist_ok=True, ignore=lambda *_: ['device'])
        os.chown(work + '/secret-other', cls.bob.uid, cls.bob.gid)
        os.mknod(work + '/device', stat.S_IFCHR | 0o600, os.makedev(1, 5))
        environment = {**cls.environment, 'ATTACK_DIR': work, 'ATTACK_RO': data, 'ATTACK_SCRATCH': '/mnt'}
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = os.open('/sys/fs/cgroup/unified%s' % cls.service.cgroup, os.O_RDONLY | os.O_DIRECTORY)
        with ends[0], ends[1]:
            script = 'exec 3<&%d 5<&%d; %s' % (ends[1].fileno(), group, OUTSIDE)
            done = cls.service.run(yett.Root(cls.service.folder), 'unshare', '--mount', '--net', '--ipc', '--uts', 'sh', '-ec', script,
                                   hostile.program('attack'), env=environment, pass_fds=(ends[1].fileno(), group))
        os.close(group)
        return surroundings.results_of(done.code, done.out, done.err)

    @classmethod
    def run_inside(cls):
        yett.write(cls.work + '/environment', ''.join('%s=%s\n' % pair for pair in {
            **cls.environment, 'ATTACK_DIR': '/lower/2', 'ATTACK_RO': '/lower/1', 'ATTACK_SCRATCH': '/lower'}.items()))
        done = cls.service.sandbox(cls.alice, 'attack', options=[
            '-p', 'attacks', '--rw', cls.work + ':/work', '--ro', cls.data + ':/data', '--ro', hostile.program('attack') + ':/attack'])
        return surroundings.results_of(done.code, done.out, done.err)

    def attack(self, name, _, inside, passed):
        outside = self.outside.get(name)
        if outside in MISSING and outside not in passed:
            self.skipTest('this host has nothing to attack: %s says %s outside' % (name, outside))
        if name == 'dearer' and outside == 'EACCES':
            self.skipTest('root itself may not do this here: it lacks CAP_SYS_RESOURCE')
        self.assertIn(outside, ('works', *passed), 'it does not work outside, so this shows nothing')
        self.assertIn(self.inside.get(name), inside)

    def test_every_attack_of_a_builder_has_a_row(self):
        self.assertEqual({attack.name for attack in attacks.ATTACKS if attack.builder}, set(self.inside) - {'template-processes'})

    def test_the_template_shows_no_process(self):
        self.assertEqual(self.inside['template-processes'], '0')

    def test_no_file_of_anybody_elses_came_to_be_on_a_share(self):
        for folder, _, names in os.walk(self.work):
            for name in names:
                owner = os.lstat(os.path.join(folder, name)).st_uid
                expected = {'secret-other': self.bob.uid}.get(name, 0 if name in ('secret', 'device', 'environment') else self.alice.uid)
                if not self.service.owns_uid(owner):  # a private id, which is nobody's
                    self.assertEqual(owner, expected, name)
        self.assertEqual(os.listdir(self.data), [])


class Unfiltered(yett.Case):
    """What calls say that building does not take."""
    policy_program = 'tests/hostile/yett-policy-open'

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        libexec = run.libexec('libexec-' + cls.__name__, init=hostile.program('fake-init'), policy=run.path(cls.policy_program))
        cls.service_options = {'libexec': libexec, 'before': POLICY.replace('=attacks', '=calls')}
        super().setUpClass()
        with yett.machine_setting_unchanged('/proc/sys/kernel/perf_event_paranoid'):
            done = cls.service.sandbox(cls.alice, 'calls', options=['-p', 'attacks'])
        cls.results = surroundings.results_of(done.code, done.out, done.err)
        cls.attribute = cls.results.pop('attribute')

    @classmethod
    def set_up_user(cls, user):
        cls.service.enter_key(user)

    def test_nothing_is_left_on_memory_that_other_sandboxes_are_given(self):
        with open(os.memfd_create('ours'), 'w', encoding='utf-8') as ours:
            os.fchmod(ours.fileno(), 0o777)
            try:
                os.setxattr(ours.fileno(), 'user.left', b'behind')  # Linux 6.6
            except OSError:
                self.skipTest('files in memory have no attributes here')
        self.assertIn(self.attribute, ('EACCES', 'EPERM'))

    def test_calls(self):
        """There are some that the kernel itself refuses to who has no privilege over the host."""
        self.assertGreater(len(self.results), 10)
        reached = [name for name, said in self.results.items() if said not in ('ENOSYS', 'EPERM')]
        self.assertGreater(len(reached), 5, self.results)
        self.assertIn('let-through', reached)
        self.assertIn('keyctl', reached)


class Filtered(Unfiltered):
    policy_program = 'helper/yett-policy'

    def test_calls(self):
        for name, said in self.results.items():
            with self.subTest(name):
                self.assertEqual(said, {'add_key': 'EACCES', 'request_key': 'ENOKEY', 'perf_event_open': 'EACCES', 'quotactl': 'ENOTBLK', 'io_setup': 'ENOSYS', 'keyctl': 'ENOKEY',
                                        'let-through': 'ENOKEY'}.get(name, 'EPERM'))


hostile.add_cases(Attacks, 'attack', [(attack.name, *attack.builder) for attack in attacks.ATTACKS if attack.builder],
                  lambda self, *row: self.attack(*row))

if __name__ == '__main__':
    yett.main()
