"""
A payload that tries to get out. The same attacks run three times: outside as the same user, outside as root in
namespaces of its own, and inside. Each must work where the table says it does, or it would show nothing.
"""
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import tempfile

import hostile
import yett

# Name, who outside it works for, what it says inside. Where the table names another result than "works" for outside,
# the attack has passed the check of privilege there and failed at an argument that is wrong on purpose.
USER, ROOT = 'user', 'root'
EPERM, EACCES, ENOSYS, EROFS, ENOENT, ESRCH = ('EPERM',), ('EACCES',), ('ENOSYS',), ('EROFS',), ('ENOENT',), ('ESRCH',)
FAMILY = ('EAFNOSUPPORT',)

ATTACKS = [
    # PID 1, which is not the payload's
    ('kill', USER, EPERM), ('stop', USER, EPERM), ('tgkill', USER, EPERM), ('sigqueue', USER, EPERM),
    ('pidfd_send_signal', USER, EPERM), ('ptrace-attach', USER, EPERM), ('ptrace-seize', USER, EPERM),
    ('prlimit-nofile', USER, EPERM), ('prlimit-cpu', USER, EPERM), ('setpriority', USER, EPERM),
    ('sched_setaffinity', USER, EPERM), ('sched_setscheduler', USER, EPERM), ('ioprio_set', USER, EPERM),
    ('process_vm_readv', USER, EPERM), ('process_vm_writev', USER, EPERM), ('pidfd_getfd', USER, EPERM),
    ('kcmp', USER, EPERM), ('process_madvise', ROOT, EPERM), ('proc-mem', USER, EACCES), ('proc-environ', USER, EACCES),
    ('proc-maps', USER, EACCES), ('proc-fd', USER, EACCES), ('proc-root', USER, EACCES), ('proc-exe', USER, EACCES),
    ('proc-cwd', USER, EACCES), ('proc-syscall', USER, EACCES), ('proc-ns', USER, EACCES), ('proc-auxv', USER, EACCES),
    ('proc-oom-score', USER, EACCES), ('signal-host-pid', USER, ESRCH),
    # namespaces
    *(('unshare-' + name, ROOT, EPERM) for name in ('mount', 'pid', 'network', 'ipc', 'uts', 'cgroup', 'user', 'time', 'several')),
    *(('clone-' + name, ROOT, EPERM) for name in ('mount', 'pid', 'network', 'ipc', 'uts', 'cgroup', 'user')),
    *(('clone3-' + name, ROOT, ENOSYS) for name in ('mount', 'pid', 'network', 'ipc', 'uts', 'cgroup', 'user', 'time')),
    ('setns', ROOT, EPERM),
    # mounts
    ('mount-tmpfs', ROOT, EPERM), ('mount-bind', ROOT, EPERM), ('mount-propagation', ROOT, EPERM, 'EINVAL'),
    ('umount', ROOT, EPERM), ('pivot_root', ROOT, EPERM, 'EINVAL', 'EBUSY'), ('chroot', ROOT, EPERM), ('fsopen', ROOT, EPERM),
    ('fspick', ROOT, EPERM), ('open_tree', ROOT, EPERM), ('move_mount', ROOT, EPERM), ('mount_setattr', ROOT, EPERM),
    # far into the kernel
    ('bpf', ROOT, EPERM), ('perf_event_open', ROOT, EPERM), ('userfaultfd', ROOT, EPERM), ('io_uring_setup', ROOT, EPERM),
    ('keyctl', USER, ENOSYS), ('add_key', USER, ENOSYS), ('request_key', USER, ENOSYS, 'ENOKEY'),
    # terminals
    ('tiocsti', ROOT, EPERM), ('tiocsti-high-bits', ROOT, EPERM), ('tioclinux', ROOT, EPERM, 'ENOTTY', 'EINVAL'),
    ('tiocsetd', ROOT, EPERM),
    # identity
    ('setuid-root', ROOT, EPERM), ('setuid-init', ROOT, EPERM), ('setgid-root', ROOT, EPERM), ('setgroups', ROOT, EPERM),
    ('setfsuid', ROOT, EPERM), ('capset', ROOT, EPERM), ('securebits', ROOT, EPERM), ('no-new-privileges', USER, EPERM),
    ('personality', USER, EPERM + ENOSYS),
    # the machine
    ('sethostname', ROOT, EPERM), ('clock_settime', ROOT, EPERM, 'EINVAL'), ('nice', ROOT, EPERM + EACCES),
    ('real-time', ROOT, EPERM), ('reboot', ROOT, EPERM, 'EINVAL'), ('delete_module', ROOT, EPERM, 'ENOENT', 'EFAULT'),
    ('init_module', ROOT, EPERM, 'ENOEXEC', 'EFAULT', 'EINVAL'), ('finit_module', ROOT, EPERM, 'EBADF', 'EINVAL', 'ENOEXEC'),
    ('swapon', ROOT, EPERM, 'ENOENT'), ('acct', ROOT, EPERM, 'ENOENT'), ('syslog', ROOT, EPERM),
    ('fanotify_init', ROOT, EPERM),
    # set-id files and devices in a writable share
    ('set-id-chmod', USER, EPERM), ('set-uid-chmod', USER, EPERM), ('set-gid-chmod', USER, EPERM),
    ('set-id-chmod-wide', USER, EPERM), ('set-id-fchmod', USER, EPERM), ('set-id-fchmodat', USER, EPERM),
    ('set-id-fchmodat2', USER, ENOSYS), ('set-id-open', USER, EPERM), ('set-id-openat', USER, EPERM),
    ('set-id-openat2', USER, ENOSYS), ('set-id-creat', USER, EPERM), ('set-id-mknod', USER, EPERM),
    ('set-id-tmpfile', USER, EPERM), ('set-id-32bit', USER, ('SIGSYS', 'SIGSEGV', 'ENOSYS', 'EPERM')),
    ('file-capability', ROOT, EPERM), ('mknod-character', ROOT, EPERM), ('mknod-block', ROOT, EPERM),
    ('chown-root', ROOT, EPERM), ('chown-other', ROOT, EPERM), ('open_by_handle_at', ROOT, EPERM),
    # the kernel's files
    ('kcore', ROOT, EACCES + ENOENT + ('ENODATA',)), ('keys', USER, EACCES + ENOENT + ('ENODATA',)), ('kmsg', ROOT, ENOENT),
    ('dev-mem', ROOT, ENOENT), ('sysrq', ROOT, EACCES + EROFS), ('core_pattern', ROOT, EACCES + EROFS),
    ('modprobe', ROOT, EACCES + EROFS), ('proc-hostname', ROOT, EACCES + EROFS), ('drop_caches', ROOT, EACCES + EROFS),
    ('sysfs-write', ROOT, ENOENT), ('sysfs-read', USER, ENOENT), ('cgroupfs', ROOT, ENOENT), ('disk', ROOT, ENOENT),
    # the template, which other sandboxes have as well
    *((how, ROOT, EROFS + EACCES) for how in ('make-in-usr', 'make-in-etc', 'make-in-dev', 'make-in-root', 'change-usr',
                                              'change-etc', 'change-dev', 'write-usr', 'write-etc')),
    # what is another's, or was not shared
    ('secret-read', ROOT, EACCES), ('secret-link', ROOT, EPERM), ('reopen-stdin', USER, EACCES),
    ('inherited-descriptor', USER, ('EBADF',)), ('host-file', USER, ENOENT), ('host-file-upwards', USER, ENOENT),
    # sockets
    *((name + '-socket', ROOT, FAMILY) for name in ('packet', 'vsock', 'alg', 'key', 'xdp', 'can', 'bluetooth', 'tipc', 'rds',
                                                    'x25', 'appletalk')),
    *(('netlink-' + name, ROOT, ('EPROTONOSUPPORT',)) for name in ('generic', 'netfilter', 'xfrm', 'uevent')),
    ('raw-socket', ROOT, EPERM), ('abstract-socket', USER, ('ECONNREFUSED',)), ('path-socket', USER, ENOENT),
    ('helper-socket', USER, ENOENT), ('loopback-tcp', USER, ('ECONNREFUSED',)), ('route-out', USER, ('ENETUNREACH',)),
    ('shared-memory', USER, ENOENT), ('message-queue', USER, ENOENT),
]

# What the kernel itself says where the filter lets the call through, so that each defence is seen without the other.
LOOSE = {
    'unshare-user': ('ENOSPC',), 'clone3-user': ('ENOSPC',), 'set-id-fchmodat2': None, 'set-id-openat2': None, 'io_uring_setup': None,
    'keyctl': None, 'add_key': None, 'request_key': None,
}
LOOSE_CALLS = ('bpf', 'chroot', 'clone3', 'fanotify_init', 'fsopen', 'fspick', 'init_module', 'finit_module', 'delete_module', 'mount',
               'mount_setattr', 'move_mount', 'open_by_handle_at', 'open_tree', 'perf_event_open', 'pivot_root',
               'reboot', 'setns', 'sethostname', 'swapon', 'acct', 'syslog', 'umount2', 'clock_settime')

POLICY = '''
profile "loose" {
  extends = "default"
  syscalls_allow = {%s}
}
grant "loose" {
  users = {"*"}
  profiles = {"loose"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
}
''' % ', '.join('"%s"' % name for name in LOOSE_CALLS)

SHM_KEY = 0x79740000
IPC_CREAT, IPC_RMID = 0o1000, 0


def results_of(done):
    return dict(line.split() for line in done.out.splitlines())


class Attacks(yett.Case):
    """One run of all attacks in each place; the cases then look at what each of them said."""

    service_options = {'before': POLICY}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.make_surroundings()
        outside = {**cls.environment, 'ATTACK_DIR': cls.work}
        program = hostile.program('attack')
        more = {'stdin': cls.stdin, 'pass_fds': (9,)}
        cls.outside = {
            USER: results_of(cls.service.run(cls.alice, program, env=outside, **more)),
            # not in a pid namespace: $ATTACK_HOST_PID is meant
            ROOT: results_of(cls.service.run(cls.root, 'unshare', '--mount', '--net', '--ipc', '--uts', '--cgroup', program,
                                             env=outside, **more))}
        cls.inside = cls.run_inside('default', more)
        cls.loose = cls.run_inside('loose', more)

    @classmethod
    def run_inside(cls, profile, more):
        options = ['-p', profile, '--rw', cls.work + ':/work', '--ro', hostile.program('attack') + ':/attack', '--timeout', '60s']
        for name, value in {**cls.environment, 'ATTACK_DIR': '/work', 'ATTACK_PID': '1'}.items():
            options += ['-e', '%s=%s' % (name, value)]
        done = cls.service.sandbox(cls.alice, '/attack', options=options, **more)
        if done.code != 0:
            raise RuntimeError('the attacks did not end well: %r' % done)
        return results_of(done)

    @classmethod
    def make_surroundings(cls):
        """What the attacks look for: files, sockets, shared memory, a process."""
        cls.root = yett.Root(cls.service.folder + '/root')
        cls.work = cls.alice.mkdir('work')
        yett.write(cls.work + '/secret', 'secret', 0o600)
        host_file = cls.alice.write('host-file', 'host')
        cls.stdin = cls.stack.enter_context(open(cls.alice.write('stdin', 'x', 0o600), 'rb'))
        cls.stack.callback(os.close, os.dup2(cls.stdin.fileno(), 9))
        abstract = '/yett-attack-%d' % os.getpid()
        path = cls.alice.home + '/socket'
        listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)] + [socket.create_server(('127.0.0.1', 0))]
        for listener, name in zip(listeners, ('\0' + abstract, path)):
            listener.bind(name)
            listener.listen(16)
        os.chmod(path, 0o777)
        for listener in listeners:
            cls.stack.enter_context(listener)
        sleeper = cls.alice.popen(['sleep', '1000'])
        cls.stack.callback(sleeper.wait)
        cls.stack.callback(sleeper.kill)
        cls.environment = {
            'ATTACK_HOST_FILE': host_file, 'ATTACK_HOST_PID': str(sleeper.pid), 'ATTACK_ABSTRACT': abstract,
            'ATTACK_SOCKET': path, 'ATTACK_HELPER': cls.service.socket, 'ATTACK_PORT': str(listeners[2].getsockname()[1]),
            'ATTACK_SHM': str(cls.make_shared_memory()), 'ATTACK_QUEUE': cls.make_queue(), 'ATTACK_DISK': cls.disk()}

    @classmethod
    def make_shared_memory(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        key = SHM_KEY + os.getpid() % 65536
        segment = libc.shmget(key, 4096, IPC_CREAT | 0o666)
        if segment < 0:
            raise OSError(ctypes.get_errno(), 'shmget')
        cls.stack.callback(libc.shmctl, segment, IPC_RMID, None)
        return key

    @classmethod
    def make_queue(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        name = '/yett-attack-%d' % os.getpid()
        before = os.umask(0)
        if libc.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None) < 0:
            raise OSError(ctypes.get_errno(), 'mq_open')
        os.umask(before)
        cls.stack.callback(libc.mq_unlink, name.encode())
        return name

    @staticmethod
    def disk():
        """The device that / is on, or any other block device."""
        for name in os.listdir('/dev'):
            path = '/dev/' + name
            with contextlib.suppress(OSError):
                if os.stat(path).st_mode & 0o170000 == 0o060000:
                    with open(path, 'rb') as file:
                        if file.read(1):
                            return path
        return '/dev/no-block-device'

    def attack(self, name, who, inside, *passed):
        outside = self.outside[who].get(name)
        if outside in ('EAFNOSUPPORT', 'ENOSYS', 'ENOENT', 'SIGSEGV', 'EPROTONOSUPPORT') and outside not in passed:
            self.skipTest('this host has nothing to attack: %s says %s outside' % (name, outside))
        self.assertIn(outside, ('works',) + passed, 'it does not work outside, so this shows nothing')
        self.assertIn(self.inside.get(name), inside)
        loose = self.loose.get(name)
        self.assertNotEqual(loose, 'works', 'once the filter lets it through')
        if LOOSE.get(name):
            self.assertIn(loose, LOOSE[name])

    def test_every_attack_has_a_row(self):
        names = [row[0] for row in ATTACKS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(names), set(self.inside))


hostile.add_cases(Attacks, 'attack', ATTACKS, Attacks.attack)

if __name__ == '__main__':
    yett.main()
