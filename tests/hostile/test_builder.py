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

import hostile
import yett

EPERM, EACCES, EINVAL, ENOENT = ('EPERM',), ('EACCES',), ('EINVAL',), ('ENOENT',)

# Name, and what it says inside; then what it may say outside besides "works", where it fails there only behind the check.
TREES = [row for tree in ('root', 'usr', 'etc', 'dev') for row in (
    *((how + '-' + tree, EPERM) for how in ('remount', 'writable', 'clone-tree', 'bind-tree', 'super')),
    ('nested-' + tree, EPERM, 'EPERM'))]  # refused to root, too: it shows that the namespace between changes nothing

ATTACKS = TREES + [
    ('honour-set-id-usr', EPERM), ('umount-root', EINVAL), ('umount-usr', EINVAL), ('umount-dev', EINVAL), ('umount-proc', EINVAL),
    # the client's shares stay what they are
    ('share-writable', EPERM), ('share-set-id', EPERM), ('share-devices', EPERM), ('share-device', EPERM + EACCES),
    # and show nobody to be who owns a file there, but the client
    # on the disk these are private ids' then: test_no_file_of_anybody_elses_came_to_be_on_a_share
    ('file-of-root', ('works',)), ('file-of-other', ('works',)), ('give-to-root', ('works',)), ('give-to-other', ('works',)),
    ('secret-as-root', EACCES), ('secret-as-other', EACCES), ('secret-anyway', EACCES), ('secret-of-other-anyway', EACCES),
    # descriptors of the helper's lead nowhere
    ('group-host-file', ENOENT), ('group-host-process', ENOENT), ('group-above', ('EXDEV',)), ('group-leave', ('EXDEV',)),
    ('group-limit', EACCES), ('group-mount-limit', EACCES), ('group1-mount-limit', EACCES + EPERM),
    ('peer-signal', EINVAL + ('ESRCH',)), ('peer-descriptor', EPERM + ('ESRCH',)), ('peer-namespace', EACCES + EPERM + ('ESRCH',)),
    ('peer-join', EPERM + ('ESRCH',)), ('own-program', EACCES, 'EACCES'), ('session-key', ('ENOKEY', 'EACCES')),
    # the host is out of sight
    ('see-processes', ENOENT), ('owner-namespace', EPERM),
    ('process-by-number', EPERM + ('ESTALE',)), ('namespace-by-number', EPERM + ('ESTALE',)), ('dearer', EACCES),
]

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
ATTACK_RO=/mnt/ro ATTACK_SUPER=/mnt exec "$0" building
'''

JOIN_SESSION_KEYRING, SESSION_KEYRING = 1, -3
KEYCTL, ADD_KEY = {'x86_64': (250, 248), 'aarch64': (219, 217)}[os.uname().machine]


MISSING = ('ENOSYS', 'EOPNOTSUPP', 'ENOTTY', 'ENOPROTOOPT')


def results_of(done):
    if done.code != 0:
        raise RuntimeError('the attacks did not end well: %r' % done)
    return dict(line.split() for line in done.out.splitlines())


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
        libexec = yett.run_of_process().libexec('libexec-builder', init=hostile.program('fake-init'))
        cls.service_options = {'libexec': libexec, 'before': POLICY}
        cls.key = 'yett-attack-%d' % os.getpid()
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
        sleeper = cls.bob.popen(['sleep', '1000'])
        cls.stack.callback(sleeper.wait)
        cls.stack.callback(sleeper.kill)
        pidfd = os.pidfd_open(sleeper.pid)
        cls.stack.callback(os.close, pidfd)
        # Readable for everybody, and in no share
        cls.environment = {
            'ATTACK_HOST_FILE': cls.alice.write('host-file', 'host'), 'ATTACK_HOST_PID': str(sleeper.pid), 'ATTACK_ROOT': '0',
            'ATTACK_OTHER': str(cls.bob.uid), 'ATTACK_KEY': cls.key}
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
        return results_of(done)

    @classmethod
    def run_inside(cls):
        yett.write(cls.work + '/environment', ''.join('%s=%s\n' % pair for pair in {
            **cls.environment, 'ATTACK_DIR': '/lower/2', 'ATTACK_RO': '/lower/1', 'ATTACK_SCRATCH': '/lower'}.items()))
        return results_of(cls.service.sandbox(cls.alice, 'attack', options=[
            '-p', 'attacks', '--rw', cls.work + ':/work', '--ro', cls.data + ':/data', '--ro', hostile.program('attack') + ':/attack']))

    def attack(self, name, inside, *passed):
        outside = self.outside.get(name)
        if outside in MISSING and outside not in passed:
            self.skipTest('this host has nothing to attack: %s says %s outside' % (name, outside))
        if name == 'dearer' and outside == 'EACCES':
            self.skipTest('root itself may not do this here: it lacks CAP_SYS_RESOURCE')
        self.assertIn(outside, ('works', *passed), 'it does not work outside, so this shows nothing')
        self.assertIn(self.inside.get(name), inside)

    def test_every_attack_of_a_builder_has_a_row(self):
        names = [row[0] for row in ATTACKS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(names), set(self.inside))
        self.assertLessEqual(set(list(self.inside)[list(self.inside).index('remount-root'):]), set(names))

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


hostile.add_cases(Attacks, 'attack', ATTACKS, lambda self, *row: self.attack(*row))

if __name__ == '__main__':
    yett.main()
