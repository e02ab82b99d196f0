"""
The corpus of attacks, one row for each: what it tries, what stops it, and where that is shown. What each does is in
tests/hostile/attack*.c; docs/security-tests.md shows this table, and tests/structure/test_documents.py holds both to it.

Usage: attacks.py       the table as the page shows it
"""
import collections

# Where an attack works when nothing is in its way: for an ordinary user, or only for root in namespaces of its own.
USER, ROOT = 'user', 'root'
EPERM, EACCES, ENOSYS, EROFS, ENOENT, ESRCH, EINVAL = (
    ('EPERM',), ('EACCES',), ('ENOSYS',), ('EROFS',), ('ENOENT',), ('ESRCH',), ('EINVAL',))

# The layers of defence by their letters; each alone is what tests/guest/test_each_layer.py measures.
LAYERS = {'N': 'namespaces', 'F': 'seccomp', 'L': 'landlock', 'C': 'capabilities', 'A': 'apparmor', 'S': 'selinux'}
TITLES = ('namespaces and ids', 'seccomp', 'Landlock', 'capabilities', 'AppArmor', 'SELinux')


class Case(collections.namedtuple('Case', 'works_for inside passed')):
    """
    Whom it works for outside, and what it says inside. `passed` is what it may say outside besides "works": there it has passed the
    check of privilege, and fails at an argument that is wrong on purpose.
    """

    def __new__(cls, works_for, inside, *passed):
        return super().__new__(cls, works_for, inside, passed)


class Attack:
    """
    `layers` stop it. Where they are measured, each of them does so alone, and no other one; else they are those that are meant to, and
    that something does is shown; `harms` says that root does not try it on a machine that is still needed. `command`: a command of a sandbox tries it (tests/hostile/test_payload.py; without root
    test_rootless.py). `builder`: init tries it, while it builds (test_builder.py).
    """

    def __init__(self, name, tries, layers, is_measured=False, harms=False, command=None, builder=None):
        self.name, self.tries, self.layers = name, tries, layers
        self.is_measured, self.harms, self.command, self.builder = is_measured, harms, command, builder

    @property
    def groups(self):
        """As `attack list` has them."""
        return [group for group, is_in in (('command', self.command), ('layer', self.is_measured), ('builder', self.builder)) if is_in]

    @property
    def places(self):
        """Where it is shown not to work."""
        if self.builder:
            return ['plain']
        return (['plain', 'rootless'] if self.command else [] if self.harms else ['plain']) + ['AppArmor', 'SELinux']


# Commands try some of those that harm as well; these go as far as the check of privilege then.
ATTACKS = [
    # To init, and to the sandbox around
    Attack('kill', 'an end to init', 'N', command=Case(USER, EPERM)),
    Attack('stop', 'init, stopped', 'N', command=Case(USER, EPERM)),
    Attack('tgkill', 'a signal to one of its threads', 'N', command=Case(USER, EPERM)),
    Attack('sigqueue', 'a signal with a value to it', 'N', command=Case(USER, EPERM)),
    Attack('pidfd_send_signal', 'a signal to it by a descriptor', 'N', command=Case(USER, EPERM)),
    Attack('ptrace-attach', 'init as a puppet', 'N', command=Case(USER, EPERM)),
    Attack('ptrace-seize', 'the same, without stopping it', 'N', command=Case(USER, EPERM)),
    Attack('prlimit-nofile', 'init without descriptors', 'N', command=Case(USER, EPERM)),
    Attack('prlimit-cpu', 'init without time', 'N', command=Case(USER, EPERM)),
    Attack('setpriority', 'init that gets no turn', 'N', command=Case(USER, EPERM)),
    Attack('sched_setaffinity', 'init on a processor of our choice', 'N', command=Case(USER, EPERM)),
    Attack('sched_setscheduler', 'init behind all others', 'N', command=Case(USER, EPERM)),
    Attack('ioprio_set', 'init behind all others at the disk', 'N', command=Case(USER, EPERM)),
    Attack('process_vm_readv', 'the memory of init', 'N', command=Case(USER, EPERM)),
    Attack('process_vm_writev', 'code in init', 'N', command=Case(USER, EPERM)),
    Attack('pidfd_getfd', 'the descriptors of init', 'N', command=Case(USER, EPERM)),
    Attack('kcmp', 'which files it has in common with us', 'N', command=Case(USER, EPERM)),
    Attack('process_madvise', 'the memory of init, swapped out', 'N', command=Case(ROOT, EPERM + EACCES)),
    Attack('proc-mem', 'the memory of init, by its file', 'N', command=Case(USER, EACCES)),
    Attack('proc-environ', 'its variables', 'N', command=Case(USER, EACCES)),
    Attack('proc-maps', 'where its code is', 'N', command=Case(USER, EACCES)),
    Attack('proc-fd', 'its descriptors, by their names', 'N', command=Case(USER, EACCES)),
    Attack('proc-root', 'its view of files', 'N', command=Case(USER, EACCES)),
    Attack('proc-exe', 'its program', 'N', command=Case(USER, EACCES)),
    Attack('proc-cwd', 'its directory', 'N', command=Case(USER, EACCES)),
    Attack('proc-syscall', 'what it is doing', 'N', command=Case(USER, EACCES)),
    Attack('proc-ns', 'its namespaces', 'N', command=Case(USER, EACCES)),
    Attack('proc-auxv', 'how it was started', 'N', command=Case(USER, EACCES)),
    Attack('proc-oom-score', 'init, to end when memory runs out', 'N', command=Case(USER, EACCES)),
    Attack('unshare-mount', 'a namespace of our own for mounts', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-pid', 'a namespace of our own for processes', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-ipc', 'a namespace of our own for shared memory', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-uts', 'a namespace of our own for names', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-cgroup', 'a namespace of our own for control groups', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-time', 'a namespace of our own for clocks', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-several', 'a namespace of our own for several kinds', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-mount', 'a namespace of our own for mounts, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-pid', 'a namespace of our own for processes, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-network', 'a namespace of our own for a network, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-ipc', 'a namespace of our own for shared memory, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-uts', 'a namespace of our own for names, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-cgroup', 'a namespace of our own for control groups, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-user', 'a namespace of our own for users, by clone(2)', 'NF', command=Case(ROOT, EPERM)),
    Attack('clone3-mount', 'a namespace of our own for mounts, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-pid', 'a namespace of our own for processes, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-network', 'a namespace of our own for a network, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-ipc', 'a namespace of our own for shared memory, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-uts', 'a namespace of our own for names, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-cgroup', 'a namespace of our own for control groups, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-time', 'a namespace of our own for clocks, where no filter sees the flags', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('setns', 'another namespace', 'FC', command=Case(ROOT, EPERM + EACCES)),
    Attack('mount-bind', 'a directory in the place of another', 'FC', command=Case(ROOT, EPERM)),
    Attack('mount-propagation', 'mounts that others see', 'FC', command=Case(ROOT, EPERM, 'EINVAL')),
    Attack('umount', 'what lies below a mount', 'FC', command=Case(ROOT, EPERM)),
    Attack('pivot_root', 'another root directory', 'FC', command=Case(ROOT, EPERM, 'EINVAL', 'EBUSY')),
    Attack('fspick', 'a file system, set up anew', 'FC', command=Case(ROOT, EPERM)),
    Attack('move_mount', 'a mount in another place', 'FC', command=Case(ROOT, EPERM)),
    Attack('mount_setattr', 'mounts that can be written to', 'FC', command=Case(ROOT, EPERM)),
    Attack('keyctl', 'key rings', 'F', command=Case(USER, ('ENOKEY',))),
    Attack('request_key', 'the keys of others', 'F', command=Case(USER, ('ENOKEY',), 'EFAULT')),
    Attack('tiocsti', 'typing into our own terminal', 'F', command=Case(ROOT, EPERM)),
    Attack('tiocsti-high-bits', 'the same, with bits that the kernel does not look at', 'F', command=Case(ROOT, EPERM)),
    Attack('tioclinux', 'pasting into a console', 'F', command=Case(ROOT, EPERM, 'ENOTTY', 'EINVAL')),
    Attack('tiocsetd', 'another line discipline, and its code in the kernel', 'F', command=Case(ROOT, EPERM)),
    Attack('setuid-root', 'being root', 'C', command=Case(ROOT, EPERM)),
    Attack('setuid-init', 'being init', 'C', command=Case(ROOT, EPERM)),
    Attack('setgid-root', 'being of the group of root', 'C', command=Case(ROOT, EPERM)),
    Attack('setgroups', 'further groups', 'C', command=Case(ROOT, EPERM)),
    Attack('setfsuid', 'being root for files', 'C', command=Case(ROOT, EPERM)),
    Attack('capset', 'a capability more', 'C', command=Case(ROOT, EPERM)),
    Attack('securebits', 'keeping capabilities when ids change', 'C', command=Case(ROOT, EPERM)),
    Attack('no-new-privileges', 'set-id programs that work', 'C', command=Case(USER, EPERM)),
    Attack('personality', 'memory that is executable unasked', 'F', command=Case(USER, EINVAL)),
    Attack('delete_module', 'a kernel without a module', 'FC', command=Case(ROOT, EPERM, 'ENOENT', 'EFAULT')),
    Attack('init_module', 'code of our own in the kernel, from memory', 'FC', command=Case(ROOT, EPERM, 'ENOEXEC', 'EFAULT', 'EINVAL')),
    Attack('set-uid-chmod', 'the right to be a user, for an accomplice outside', 'F', command=Case(USER, EPERM)),
    Attack('set-gid-chmod', 'the same for a group', 'F', command=Case(USER, EPERM)),
    Attack('set-id-chmod-wide', 'the same, with bits that the kernel does not look at', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmod', 'the same by a descriptor', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmodat', 'the same by a directory', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmodat2', 'the same by the newest call', 'F', command=Case(USER, EPERM + ENOSYS)),
    Attack('set-id-mq_open', 'the same as the mode of a queue', 'F', command=Case(USER, EPERM)),
    Attack('set-id-open', 'the same when the file is made, by open(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-openat2', 'the same by openat2(2)', 'F', command=Case(USER, ENOSYS)),
    Attack('set-id-creat', 'the same by creat(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-mknod', 'the same by mknod(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-tmpfile', 'the same without a name at first', 'F', command=Case(USER, EPERM)),
    Attack('set-id-32bit', 'the same by the calls of 32-bit programs', 'F', command=Case(USER, ENOSYS + EPERM + ('SIGSYS', 'SIGSEGV',))),
    Attack('mknod-block', 'a disk, by a node of our own', 'FC', command=Case(ROOT, EPERM)),
    Attack('chown-root', "files that count as root's", 'NC', command=Case(ROOT, EPERM)),
    Attack('keys', 'what keys there are', 'N', command=Case(USER, EACCES + ENOENT + ('ENODATA',))),
    Attack('proc-hostname', "the machine's name, by its file", 'N', command=Case(ROOT, EACCES + EROFS)),
    Attack('drop_caches', 'a machine that reads everything anew', 'N', command=Case(ROOT, EACCES + EROFS)),
    Attack('sysfs-write', 'code that the kernel runs as root when a device comes', 'N', command=Case(ROOT, ENOENT)),
    Attack('sysfs-read', 'what devices there are', 'N', command=Case(USER, ENOENT)),
    Attack('cgroupfs', 'another control group', 'N', command=Case(ROOT, ENOENT + EACCES)),
    Attack('make-in-usr', 'a program in all sandboxes', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-etc', 'a setting in all sandboxes', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-dev', 'a file in the /dev of all sandboxes', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-root', 'a file in the root directory of all sandboxes', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-usr', 'the mode of a program that others run', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-etc', 'the mode of a setting of others', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-dev', 'the mode of a device of others', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('write-usr', 'a program that others run, changed', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('write-etc', 'a setting of others, changed', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('secret-link', 'another name for what others keep for themselves', 'N', command=Case(ROOT, EPERM)),
    Attack('inherited-descriptor', 'a descriptor that the client has open', 'N', command=Case(USER, ('EBADF',))),
    Attack('host-file-upwards', 'files of the host, by way of the directories above', 'N', command=Case(USER, ENOENT)),
    Attack('vsock-socket', 'the hypervisor', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('key-socket', "the kernel's keys for networks", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('xdp-socket', 'packets past the kernel', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('can-socket', 'the buses of vehicles and machines', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('bluetooth-socket', 'devices nearby', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('tipc-socket', "the kernel's code for a protocol of clusters", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('rds-socket', "the kernel's code for a protocol of databases", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('x25-socket', "the kernel's code for an old protocol", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('appletalk-socket', "the kernel's code for another one", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('netlink-generic', 'many subsystems of the kernel', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('netlink-xfrm', 'encryption of the network', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('netlink-uevent', 'news of devices', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('helper-socket', 'sandboxes of our own', 'N', command=Case(USER, ENOENT)),
    Attack('route-out', 'the network', 'N', command=Case(USER, ('ENETUNREACH',))),
    # To the host
    Attack('host-file-read', 'files of the host', 'NLS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('host-file-write', 'the same, changed', 'NLS', is_measured=True),
    Attack('host-file-truncate', 'the same, emptied', 'NS', is_measured=True),
    Attack('host-file-mode', 'the same, open to everybody', 'NS', is_measured=True),
    Attack('host-file-link', 'a name for them in the share', 'NLS', is_measured=True),
    Attack('host-file-replace', 'a file of ours in their place', 'NLS', is_measured=True),
    Attack('host-file-execute', 'programs that were not shared', 'NLS', is_measured=True),
    Attack('password-hashes', "everybody's passwords", 'NLS', is_measured=True),
    Attack('login-script', 'code that root runs at the next login', 'NLS', is_measured=True, harms=True),
    Attack('system-program', "a program in everybody's path", 'NLS', is_measured=True, harms=True),
    Attack('reopen-for-writing', 'a file that came open for reading, changed', 'L', is_measured=True, command=Case(USER, EACCES + EPERM)),
    Attack('others-file-in-share', 'what others keep for themselves in a shared directory', 'N', is_measured=True, command=Case(ROOT, EACCES)),
    Attack('set-id-by-mode', "another user's rights, for an accomplice outside", 'F', is_measured=True, command=Case(USER, EPERM)),
    Attack('set-id-by-open', 'the same, when the file is made', 'F', is_measured=True, command=Case(USER, EPERM)),
    Attack('file-capability', 'capabilities, for an accomplice outside', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('file-given-away', "files that count as somebody else's", 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('disk-node-made', 'the whole disk, by a node of our own', 'NFLCAS', is_measured=True, harms=True),
    Attack('device-node-made', 'any device, by a node of our own', 'NFLCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('disk-node', "the whole disk, by the host's node", 'NS', is_measured=True, harms=True),
    Attack('device-in-share', 'a device, by a node that lies in the share', 'NS', is_measured=True, command=Case(USER, EACCES)),
    Attack('file-by-handle', 'any file of the file system that the share is on', 'NFLCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('core-pattern', 'code that the kernel runs as root when a program crashes', 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + EROFS)),
    Attack('module-helper', 'code that the kernel runs as root when it wants a module', 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + EROFS)),
    Attack('kernel-setting', 'how the machine behaves', 'NAS', is_measured=True, harms=True),
    Attack('sysrq', "the kernel's emergency keys", 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + ('ENODEV',))),
    Attack('device-setting', 'how devices behave', 'NLAS', is_measured=True, harms=True),
    Attack('kernel-memory', 'all that the kernel knows', 'NCAS', is_measured=True, command=Case(ROOT, EACCES + ENOENT + ('ENODATA',))),
    Attack('kernel-addresses', "where the kernel's code is, for an exploit", 'NCAS', is_measured=True),
    Attack('kernel-log', 'what the kernel tells administrators', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('kernel-log-device', 'the same, as a device', 'NCAS', is_measured=True, command=Case(ROOT, ENOENT)),
    Attack('physical-memory', 'all that anybody knows', 'NCAS', is_measured=True, harms=True, command=Case(ROOT, ENOENT)),
    Attack('cgroup-left', 'to be free of all limits', 'NLCAS', is_measured=True, harms=True),
    Attack('signal', 'an end to any process', 'NAS', is_measured=True, command=Case(USER, ESRCH)),
    Attack('signal-by-pidfd', 'the same, by a descriptor', 'NAS', is_measured=True),
    Attack('trace', 'any process as a puppet', 'NLCAS', is_measured=True),
    Attack('memory-read', 'the secrets of a process', 'NLCAS', is_measured=True),
    Attack('memory-write', 'code in a process', 'NLCAS', is_measured=True),
    Attack('memory-by-proc', 'the secrets of a process, by its file', 'NLCAS', is_measured=True),
    Attack('environment', 'passwords that were given as variables', 'NLCAS', is_measured=True),
    Attack('arguments', 'what others are doing', 'NS', is_measured=True),
    Attack('descriptor-taken', 'files and sockets that a process has open', 'NLCAS', is_measured=True),
    Attack('root-of-process', "the host's files, through a process that sees them", 'NLCAS', is_measured=True),
    Attack('mounts-of-process', "the host's view of files", 'NFLCAS', is_measured=True),
    Attack('limits-of-process', 'a process that runs into its limits', 'NAS', is_measured=True),
    Attack('priority-of-process', 'a process that gets no turn', 'NCS', is_measured=True),
    Attack('oom-victim', 'the choice who ends when memory runs out', 'NS', is_measured=True),
    Attack('priority-raised', 'processors before all others', 'NCAS', is_measured=True, command=Case(ROOT, EPERM + EACCES)),
    Attack('real-time', 'processors to the exclusion of others', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('mount-tmpfs', 'a file system in the place of another', 'NFLCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('mount-host-directory', 'what was not shared', 'NFLCAS', is_measured=True, harms=True),
    Attack('mount-disk', 'the whole disk, as a file system', 'NFLCAS', is_measured=True, harms=True),
    Attack('remount', 'mounts without their restrictions', 'NFLCAS', is_measured=True, harms=True),
    Attack('mount-tree-cloned', 'mounts, by the newer calls', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('superblock', "the kernel's code for file systems", 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('root-changed', 'programs that are deceived about their files', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('user-namespace', 'capabilities over new namespaces', 'NF', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('user-namespace-clone3', 'the same, where no filter sees the flags', 'NF', is_measured=True, command=Case(ROOT, ENOSYS)),
    Attack('network-namespace', "the kernel's code for networks", 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('bpf', 'code of our own in the kernel', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('perf', 'what all processes do', 'NFCAS', is_measured=True, command=Case(ROOT, EACCES)),
    Attack('userfaultfd', 'kernel code that waits for us', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('io-uring', 'calls that no filter sees', 'FS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('key-left', 'a key in the ring of others', 'FS', is_measured=True, command=Case(USER, EACCES)),
    Attack('module', 'code of our own in the kernel, for good', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EBADF', 'EINVAL', 'ENOEXEC', 'EACCES', 'ETXTBSY')),
    Attack('kexec', 'another kernel', 'NFCAS', is_measured=True, harms=True),
    Attack('reboot', 'the end of the machine', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EINVAL')),
    Attack('swap', 'the memory of others, in a file of ours', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'ENOENT')),
    Attack('accounting', 'a list of all that runs', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'ENOENT')),
    Attack('host-name', "the machine's name", 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('clock', 'certificates that are valid again', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EFAULT')),
    Attack('ports', 'devices, past the kernel', 'NFCAS', is_measured=True),
    Attack('files-watched', 'every file that anybody opens, and the right to refuse it', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('abstract-socket', 'services of the host that trust whoever reaches them', 'NS', is_measured=True, command=Case(USER, ('ECONNREFUSED',))),
    Attack('named-socket', 'the same, by a name in the file system', 'NS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('loopback', 'the same, by a port of the loopback interface', 'N', is_measured=True, command=Case(USER, ('ECONNREFUSED',))),
    Attack('raw-socket', 'packets with a false sender', 'NCAS', is_measured=True, command=Case(ROOT, EPERM + EACCES)),
    Attack('packet-socket', 'all traffic of the host', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('firewall-socket', "the kernel's code for packet filters", 'FS', is_measured=True, command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('crypto-socket', "the kernel's code for ciphers", 'FAS', is_measured=True, command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('interface-setting', "the host's network", 'NCAS', is_measured=True, harms=True),
    Attack('shared-memory', 'what others share among themselves', 'NS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('message-queue', 'messages of others', 'N', is_measured=True, command=Case(USER, ENOENT)),
    Attack('terminal-input', "commands typed into a user's shell", 'NFCAS', is_measured=True),
    Attack('terminal-output', 'a user who is shown what is not so', 'NS', is_measured=True),
    # By an init that is the attacker's while it builds
    Attack('remount-root', 'the root directory, to write to by a remount', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-root', 'the root directory, to write to by the newer call', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-root', 'the root directory, to write to in a clone of the mounts', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-root', 'the root directory, to write to in another place', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-root', 'the file system of the root directory, to write to for everybody', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-root', 'the root directory, to write to in a user namespace below', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-usr', '/usr, to write to by a remount', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-usr', '/usr, to write to by the newer call', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-usr', '/usr, to write to in a clone of the mounts', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-usr', '/usr, to write to in another place', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-usr', 'the file system of /usr, to write to for everybody', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-usr', '/usr, to write to in a user namespace below', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-etc', '/etc, to write to by a remount', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-etc', '/etc, to write to by the newer call', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-etc', '/etc, to write to in a clone of the mounts', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-etc', '/etc, to write to in another place', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-etc', 'the file system of /etc, to write to for everybody', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-etc', '/etc, to write to in a user namespace below', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-dev', '/dev, to write to by a remount', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-dev', '/dev, to write to by the newer call', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-dev', '/dev, to write to in a clone of the mounts', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-dev', '/dev, to write to in another place', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-dev', 'the file system of /dev, to write to for everybody', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-dev', '/dev, to write to in a user namespace below', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('honour-set-id-usr', 'set-id programs of /usr that work', 'N', builder=Case(ROOT, EPERM)),
    Attack('umount-root', 'what lies below the root directory', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-usr', 'what lies below /usr', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-dev', 'what lies below /dev', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-proc', 'the /proc of the template', 'N', builder=Case(ROOT, EINVAL)),
    Attack('share-writable', 'a share, to write to', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-set-id', 'set-id programs of a share that work', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-devices', 'devices of a share that work', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-device', 'such a device, read', 'N', builder=Case(ROOT, EPERM + EACCES)),
    # These are seen to work, and belong to private ids on the disk: test_no_file_of_anybody_elses_came_to_be_on_a_share
    Attack('file-of-root', "a set-id file of root's in a share", 'N', builder=Case(ROOT, ('works',))),
    Attack('file-of-other', "a set-id file of another user's in a share", 'N', builder=Case(ROOT, ('works',))),
    Attack('give-to-root', "a file in a share that counts as root's", 'N', builder=Case(ROOT, ('works',))),
    Attack('give-to-other', "one that counts as another user's", 'N', builder=Case(ROOT, ('works',))),
    Attack('secret-as-root', 'what root keeps for itself in a share, as root', 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-as-other', 'what another user keeps there, as that user', 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-anyway', "the same of root's, by capabilities", 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-of-other-anyway', "the same of another user's, by capabilities", 'N', builder=Case(ROOT, EACCES)),
    Attack('etc-as-root', "what root keeps for itself in the host's /etc, as root", 'N', builder=Case(ROOT, EACCES)),
    Attack('etc-anyway', 'the same, by capabilities', 'N', builder=Case(ROOT, EACCES)),
    Attack('group-host-file', 'a file of the host, upwards from the control group', 'N', builder=Case(ROOT, ENOENT)),
    Attack('group-host-process', 'a process of the host, upwards from the control group', 'N', builder=Case(ROOT, ENOENT)),
    Attack('group-above', 'the control group above', 'N', builder=Case(ROOT, ('EXDEV',))),
    Attack('group-leave', 'to be in the control group above', 'N', builder=Case(ROOT, ('EXDEV',))),
    Attack('group-limit', 'a limit of the control group, lifted', 'N', builder=Case(ROOT, EACCES)),
    Attack('group-mount-limit', 'the same by a mount of its own', 'N', builder=Case(ROOT, EACCES)),
    Attack('group1-mount-limit', 'the same with control groups of version 1', 'N', builder=Case(ROOT, EACCES + EPERM)),
    Attack('peer-signal', 'a signal to the supervisor', 'N', builder=Case(ROOT, EINVAL + ESRCH)),
    Attack('peer-descriptor', 'a descriptor of the supervisor', 'N', builder=Case(ROOT, EPERM + ESRCH)),
    Attack('peer-namespace', 'the mounts of the supervisor', 'N', builder=Case(ROOT, EACCES + EPERM + ESRCH)),
    Attack('peer-join', 'the namespaces of the supervisor', 'N', builder=Case(ROOT, EPERM + ESRCH)),
    Attack('own-program', 'the program of all inits, changed', 'N', builder=Case(ROOT, EACCES, 'EACCES')),
    Attack('session-key', 'a key of the session that the helper was started in', 'N', builder=Case(ROOT, EACCES + ('ENOKEY',))),
    Attack('see-processes', 'the processes of the host', 'N', builder=Case(ROOT, ENOENT)),
    Attack('owner-namespace', 'the user namespace above', 'N', builder=Case(ROOT, EPERM)),
    Attack('process-by-number', 'a process of the host, by a number', 'N', builder=Case(ROOT, EPERM + ('ESTALE',))),
    Attack('namespace-by-number', 'a namespace of the host, by a number', 'N', builder=Case(ROOT, EPERM + ('ESTALE',))),
    Attack('capable-again', 'a capability that was given up, by a program that is executed as root', 'C', builder=Case(ROOT, EPERM)),
    Attack('dearer', 'to be the last one to end when memory runs out', 'N', builder=Case(ROOT, EACCES)),
]

BY_NAME = {attack.name: attack for attack in ATTACKS}


def table():
    """As the page shows it."""
    lines = ['| %s |' % ' | '.join(['attack', 'what it tries', *TITLES, 'shown']), '|%s' % (' --- |' * (len(TITLES) + 3))]
    for attack in ATTACKS:
        mark = '●' if attack.is_measured else '○'
        marks = [mark if letter in attack.layers else '' for letter in LAYERS]
        lines.append('| %s |' % ' | '.join([attack.name, attack.tries, *marks, ', '.join(attack.places)]))
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    print(table(), end='')
