# SPDX-License-Identifier: Apache-2.0
"""
The corpus of attacks, one row for each: what it tries, what stops it, and where that is shown. What each does is in
tests/hostile/attack*.c. docs/security-tests.md shows this table: security_page.py writes it.
"""
import collections

# Where an attack works when nothing is in its way: for an ordinary user, or only for root in namespaces of its own.
USER, ROOT = 'user', 'root'
EPERM, EACCES, ENOSYS, EROFS, ENOENT, ESRCH, EINVAL = (
    ('EPERM',), ('EACCES',), ('ENOSYS',), ('EROFS',), ('ENOENT',), ('ESRCH',), ('EINVAL',))

# The layers of defence by their letters; each alone is what tests/guest/test_each_layer.py measures.
LAYERS = {'N': 'namespaces', 'F': 'seccomp', 'L': 'landlock', 'C': 'capabilities', 'A': 'apparmor', 'S': 'selinux'}


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
    # Against init, and the sandbox itself
    Attack('kill', 'kill init', 'N', command=Case(USER, EPERM)),
    Attack('stop', 'stop init', 'N', command=Case(USER, EPERM)),
    Attack('tgkill', 'signal a thread of init', 'N', command=Case(USER, EPERM)),
    Attack('sigqueue', 'send init a signal with a value', 'N', command=Case(USER, EPERM)),
    Attack('pidfd_send_signal', 'signal init by a pidfd', 'N', command=Case(USER, EPERM)),
    Attack('ptrace-attach', 'trace init', 'N', command=Case(USER, EPERM)),
    Attack('ptrace-seize', 'trace init without stopping it', 'N', command=Case(USER, EPERM)),
    Attack('prlimit-nofile', "set init's limit of descriptors to 0", 'N', command=Case(USER, EPERM)),
    Attack('prlimit-cpu', "set init's limit of processor time to 0", 'N', command=Case(USER, EPERM)),
    Attack('setpriority', "lower init's priority", 'N', command=Case(USER, EPERM)),
    Attack('sched_setaffinity', 'pin init to one processor', 'N', command=Case(USER, EPERM)),
    Attack('sched_setscheduler', 'make init run only on an idle processor', 'N', command=Case(USER, EPERM)),
    Attack('ioprio_set', "lower init's disk priority", 'N', command=Case(USER, EPERM)),
    Attack('process_vm_readv', "read init's memory", 'N', command=Case(USER, EPERM)),
    Attack('process_vm_writev', "write into init's memory", 'N', command=Case(USER, EPERM)),
    Attack('pidfd_getfd', "copy init's descriptors", 'N', command=Case(USER, EPERM)),
    Attack('kcmp', "compare init's open files with its own", 'N', command=Case(USER, EPERM)),
    Attack('process_madvise', "have init's memory swapped out", 'N', command=Case(ROOT, EPERM + EACCES)),
    Attack('proc-mem', "open init's memory in /proc", 'N', command=Case(USER, EACCES)),
    Attack('proc-environ', "read init's environment", 'N', command=Case(USER, EACCES)),
    Attack('proc-maps', "read init's memory map", 'N', command=Case(USER, EACCES)),
    Attack('proc-fd', "list init's descriptors", 'N', command=Case(USER, EACCES)),
    Attack('proc-root', "open init's root directory", 'N', command=Case(USER, EACCES)),
    Attack('proc-exe', "open init's program", 'N', command=Case(USER, EACCES)),
    Attack('proc-cwd', "open init's working directory", 'N', command=Case(USER, EACCES)),
    Attack('proc-syscall', 'read which system call init is in', 'N', command=Case(USER, EACCES)),
    Attack('proc-ns', "open init's mount namespace", 'N', command=Case(USER, EACCES)),
    Attack('proc-auxv', "read init's auxiliary vector", 'N', command=Case(USER, EACCES)),
    Attack('proc-oom-score', 'have the OOM killer choose init', 'N', command=Case(USER, EACCES)),
    Attack('unshare-mount', 'make a mount namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-pid', 'make a PID namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-ipc', 'make an IPC namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-uts', 'make a UTS namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-cgroup', 'make a cgroup namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-time', 'make a time namespace', 'FC', command=Case(ROOT, EPERM)),
    Attack('unshare-several', 'make a mount and a network namespace at once', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-mount', 'make a mount namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-pid', 'make a PID namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-network', 'make a network namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-ipc', 'make an IPC namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-uts', 'make a UTS namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-cgroup', 'make a cgroup namespace, by clone(2)', 'FC', command=Case(ROOT, EPERM)),
    Attack('clone-user', 'make a user namespace, by clone(2)', 'NF', command=Case(ROOT, EPERM)),
    Attack('clone3-mount', 'make a mount namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-pid', 'make a PID namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-network', 'make a network namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-ipc', 'make an IPC namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-uts', 'make a UTS namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-cgroup', 'make a cgroup namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('clone3-time', 'make a time namespace, by clone3(2)', 'FC', command=Case(ROOT, ENOSYS)),
    Attack('setns', 'join a namespace', 'FC', command=Case(ROOT, EPERM + EACCES)),
    Attack('mount-bind', 'bind-mount a directory over another', 'FC', command=Case(ROOT, EPERM)),
    Attack('mount-propagation', 'make a mount shared, so that others see mounts below it', 'FC', command=Case(ROOT, EPERM, 'EINVAL')),
    Attack('umount', 'unmount /proc, to see what it covers', 'FC', command=Case(ROOT, EPERM)),
    Attack('pivot_root', 'change the root directory', 'FC', command=Case(ROOT, EPERM, 'EINVAL', 'EBUSY')),
    Attack('fspick', 'reconfigure a mounted file system', 'FC', command=Case(ROOT, EPERM)),
    Attack('move_mount', 'move a mount', 'FC', command=Case(ROOT, EPERM)),
    Attack('mount_setattr', 'make a mount writable', 'FC', command=Case(ROOT, EPERM)),
    Attack('keyctl', 'use key rings', 'F', command=Case(USER, ('ENOKEY',))),
    Attack('request_key', 'get keys of others', 'F', command=Case(USER, ('ENOKEY',), 'EFAULT')),
    Attack('tiocsti', 'type into the controlling terminal', 'F', command=Case(ROOT, EPERM)),
    Attack('tiocsti-high-bits', 'the same, with high bits that the kernel ignores', 'F', command=Case(ROOT, EPERM)),
    Attack('tioclinux', 'paste into a console', 'F', command=Case(ROOT, EPERM, 'ENOTTY', 'EINVAL')),
    Attack('tiocsetd', "load another line discipline's kernel code", 'F', command=Case(ROOT, EPERM)),
    Attack('setuid-root', 'become root', 'C', command=Case(ROOT, EPERM)),
    Attack('setuid-init', "become init's user", 'C', command=Case(ROOT, EPERM)),
    Attack('setgid-root', "join root's group", 'C', command=Case(ROOT, EPERM)),
    Attack('setgroups', 'join further groups', 'C', command=Case(ROOT, EPERM)),
    Attack('setfsuid', 'become root for files', 'C', command=Case(ROOT, EPERM)),
    Attack('capset', 'add a capability', 'C', command=Case(ROOT, EPERM)),
    Attack('securebits', 'keep capabilities when ids change', 'C', command=Case(ROOT, EPERM)),
    Attack('no-new-privileges', 'run without no_new_privs, so that set-id programs work', 'C', command=Case(USER, EPERM)),
    Attack('personality', 'have all readable memory executable', 'F', command=Case(USER, EINVAL)),
    Attack('delete_module', 'unload a kernel module', 'FC', command=Case(ROOT, EPERM, 'ENOENT', 'EFAULT')),
    Attack('init_module', 'load a kernel module from memory', 'FC', command=Case(ROOT, EPERM, 'ENOEXEC', 'EFAULT', 'EINVAL')),
    Attack('set-uid-chmod', 'make a set-user-id file for an accomplice outside, by chmod(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-gid-chmod', 'the same with set-group-id', 'F', command=Case(USER, EPERM)),
    Attack('set-id-chmod-wide', 'the same with high bits that the kernel ignores', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmod', 'the same by fchmod(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmodat', 'the same by fchmodat(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-fchmodat2', 'the same by fchmodat2(2)', 'F', command=Case(USER, EPERM + ENOSYS)),
    Attack('set-id-mq_open', 'make a set-id message queue', 'F', command=Case(USER, EPERM)),
    Attack('set-id-open', 'create a set-id file by open(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-openat2', 'the same by openat2(2)', 'F', command=Case(USER, ENOSYS)),
    Attack('set-id-creat', 'the same by creat(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-mknod', 'the same by mknod(2)', 'F', command=Case(USER, EPERM)),
    Attack('set-id-tmpfile', 'the same unnamed (O_TMPFILE), then link it', 'F', command=Case(USER, EPERM)),
    Attack('set-id-32bit', 'chmod(2) with set-id bits by a 32-bit system call', 'F', command=Case(USER, ENOSYS + EPERM + ('SIGSYS', 'SIGSEGV',))),
    Attack('mknod-block', 'make a block device', 'FC', command=Case(ROOT, EPERM)),
    Attack('chown-root', 'give a file to root', 'NC', command=Case(ROOT, EPERM)),
    Attack('keys', "list the kernel's keys", 'N', command=Case(USER, EACCES + ENOENT + ('ENODATA',))),
    Attack('proc-hostname', 'change the host name in /proc', 'N', command=Case(ROOT, EACCES + EROFS)),
    Attack('drop_caches', "drop the machine's caches", 'N', command=Case(ROOT, EACCES + EROFS)),
    Attack('sysfs-write', 'set a program that the kernel runs as root when a device appears', 'N', command=Case(ROOT, ENOENT)),
    Attack('sysfs-read', "read the kernel's settings in /sys", 'N', command=Case(USER, ENOENT)),
    Attack('cgroupfs', 'move to another control group', 'N', command=Case(ROOT, ENOENT + EACCES)),
    Attack('make-in-usr', 'create a file in /usr, which sandboxes share', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-etc', 'the same in /etc', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-dev', 'the same in /dev', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('make-in-root', 'the same in the root directory', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-usr', 'change the mode of a program that others run', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-etc', 'change the mode of a file that others use', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('change-dev', 'change the mode of a device that others use', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('write-usr', 'change a program that others run', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('write-etc', 'change a file that others use', 'N', command=Case(ROOT, EROFS + EACCES)),
    Attack('secret-link', "hard-link another user's private file", 'N', command=Case(ROOT, EPERM)),
    Attack('inherited-descriptor', 'use a descriptor that the client has open', 'N', command=Case(USER, ('EBADF',))),
    Attack('host-file-upwards', 'reach a host file through ..', 'N', command=Case(USER, ENOENT)),
    Attack('vsock-socket', 'reach the hypervisor', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('key-socket', "use the kernel's network keys", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('xdp-socket', 'send packets past the network stack', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('can-socket', 'reach CAN buses', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('bluetooth-socket', 'reach Bluetooth devices', 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('tipc-socket', "reach the kernel's TIPC code", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('rds-socket', "reach the kernel's RDS code", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('x25-socket', "reach the kernel's X.25 code", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('appletalk-socket', "reach the kernel's AppleTalk code", 'F', command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('netlink-generic', 'reach many kernel subsystems', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('netlink-xfrm', 'reach IPsec settings', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('netlink-uevent', 'receive device events', 'F', command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('helper-socket', 'ask the helper for sandboxes', 'N', command=Case(USER, ENOENT)),
    Attack('route-out', 'use a route out', 'N', command=Case(USER, ('ENETUNREACH',))),
    # Against the host
    Attack('host-file-read', 'read a host file that was not shared', 'NLS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('host-file-write', 'change a host file', 'NLS', is_measured=True),
    Attack('host-file-truncate', 'truncate a host file', 'NS', is_measured=True),
    Attack('host-file-mode', "change a host file's mode", 'NS', is_measured=True),
    Attack('host-file-link', 'hard-link a host file into the share', 'NLS', is_measured=True),
    Attack('host-file-replace', 'replace a host file by rename(2)', 'NLS', is_measured=True),
    Attack('host-file-execute', 'execute a host program that was not shared', 'NLS', is_measured=True),
    Attack('password-hashes', 'read /etc/shadow', 'NLS', is_measured=True),
    Attack('login-script', 'plant a script that root runs at login', 'NLS', is_measured=True, harms=True),
    Attack('system-program', "plant a program in everybody's path", 'NLS', is_measured=True, harms=True),
    Attack('reopen-for-writing', 'write to a file that it received open for reading', 'L', is_measured=True, command=Case(USER, EACCES + EPERM)),
    Attack('others-file-in-share', "read another user's private file in a share", 'N', is_measured=True, command=Case(ROOT, EACCES)),
    Attack('set-id-by-mode', 'make a set-user-id file for an accomplice outside, by chmod(2)', 'F', is_measured=True, command=Case(USER, EPERM)),
    Attack('set-id-by-open', 'the same by open(2)', 'F', is_measured=True, command=Case(USER, EPERM)),
    Attack('file-capability', 'give a file capabilities, for an accomplice outside', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('file-given-away', 'give a file to another user', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('disk-node-made', "make the disk's device node and read the disk", 'NFLCAS', is_measured=True, harms=True),
    Attack('device-node-made', 'make any device node and read it', 'NFLCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('disk-node', "read the disk by the host's node", 'NS', is_measured=True, harms=True),
    Attack('device-in-share', 'read a device by a node in the share', 'NS', is_measured=True, command=Case(USER, EACCES)),
    Attack('file-by-handle', "open any file of the share's file system by its handle", 'NFLCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('core-pattern', 'set a program that the kernel runs as root at a crash', 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + EROFS)),
    Attack('module-helper', 'set a program that the kernel runs as root to load modules', 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + EROFS)),
    Attack('kernel-setting', 'change a kernel setting', 'NAS', is_measured=True, harms=True),
    Attack('sysrq', "use the kernel's emergency keys", 'NAS', is_measured=True, harms=True, command=Case(ROOT, EACCES + ('ENODEV',))),
    Attack('device-setting', "change a device's setting", 'NLAS', is_measured=True, harms=True),
    Attack('kernel-memory', "read the kernel's memory", 'NCAS', is_measured=True, command=Case(ROOT, EACCES + ENOENT + ('ENODATA',))),
    Attack('kernel-addresses', 'learn kernel addresses, for an exploit', 'NCAS', is_measured=True),
    Attack('kernel-log', "read the kernel's log", 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('kernel-log-device', 'the same by /dev/kmsg', 'NCAS', is_measured=True, command=Case(ROOT, ENOENT)),
    Attack('physical-memory', "read the machine's memory", 'NCAS', is_measured=True, harms=True, command=Case(ROOT, ENOENT)),
    Attack('cgroup-left', 'leave the control group and its limits', 'NLCAS', is_measured=True, harms=True),
    Attack('signal', 'signal any process', 'NAS', is_measured=True, command=Case(USER, ESRCH)),
    Attack('signal-by-pidfd', 'the same by a pidfd', 'NAS', is_measured=True),
    Attack('trace', 'trace any process', 'NLCAS', is_measured=True),
    Attack('memory-read', "read a process's memory", 'NLCAS', is_measured=True),
    Attack('memory-write', "write into a process's memory", 'NLCAS', is_measured=True),
    Attack('memory-by-proc', "read a process's memory in /proc", 'NLCAS', is_measured=True),
    Attack('environment', "read a process's environment, which may hold passwords", 'NLCAS', is_measured=True),
    Attack('arguments', "read a process's arguments", 'NS', is_measured=True),
    Attack('descriptor-taken', "copy a process's descriptor", 'NLCAS', is_measured=True),
    Attack('root-of-process', "read host files through a process's root directory", 'NLCAS', is_measured=True),
    Attack('mounts-of-process', "join a process's mount namespace", 'NFLCAS', is_measured=True),
    Attack('limits-of-process', "change a process's limits", 'NAS', is_measured=True),
    Attack('priority-of-process', "change a process's priority", 'NCS', is_measured=True),
    Attack('oom-victim', 'choose what the OOM killer ends', 'NS', is_measured=True),
    Attack('priority-raised', 'raise its own priority', 'NCAS', is_measured=True, command=Case(ROOT, EPERM + EACCES)),
    Attack('real-time', 'take real-time priority', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('mount-tmpfs', 'mount a tmpfs over a directory', 'NFLCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('mount-host-directory', 'bind-mount a host directory that was not shared', 'NFLCAS', is_measured=True, harms=True),
    Attack('mount-disk', 'mount the disk', 'NFLCAS', is_measured=True, harms=True),
    Attack('remount', 'remount without restrictions', 'NFLCAS', is_measured=True, harms=True),
    Attack('mount-tree-cloned', 'clone mounts by open_tree(2)', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('superblock', 'make a file system by fsopen(2)', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('root-changed', 'deceive programs about their files by chroot(2)', 'NCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('user-namespace', 'make a user namespace', 'NF', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('user-namespace-clone3', 'the same by clone3(2)', 'NF', is_measured=True, command=Case(ROOT, ENOSYS)),
    Attack('network-namespace', 'make a network namespace', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('bpf', 'load a BPF program', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('perf', 'count events of all processes', 'NFCAS', is_measured=True, command=Case(ROOT, EACCES)),
    Attack('userfaultfd', 'make kernel code wait for the attacker', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('io-uring', 'make calls that no filter sees', 'FS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('key-left', 'leave a key in a ring of others', 'FS', is_measured=True, command=Case(USER, EACCES)),
    Attack('module', 'load a kernel module from a file', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EBADF', 'EINVAL', 'ENOEXEC', 'EACCES', 'ETXTBSY')),
    Attack('kexec', 'load another kernel', 'NFCAS', is_measured=True, harms=True),
    Attack('reboot', 'reboot', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EINVAL')),
    Attack('swap', "get others' memory swapped to its own file", 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'ENOENT')),
    Attack('accounting', 'record all programs that run', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'ENOENT')),
    Attack('host-name', 'change the host name', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('clock', 'set the clock, so that expired certificates are valid again', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM, 'EFAULT')),
    Attack('ports', 'use I/O ports', 'NFCAS', is_measured=True),
    Attack('files-watched', 'watch and refuse every open of a file', 'NFCAS', is_measured=True, harms=True, command=Case(ROOT, EPERM)),
    Attack('abstract-socket', "connect to a host program's abstract socket", 'NS', is_measured=True, command=Case(USER, ('ECONNREFUSED',))),
    Attack('named-socket', "the same by a socket's path", 'NS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('loopback', 'the same by a loopback port', 'N', is_measured=True, command=Case(USER, ('ECONNREFUSED',))),
    Attack('raw-socket', 'send packets with a forged sender', 'NCAS', is_measured=True, command=Case(ROOT, EPERM + EACCES)),
    Attack('packet-socket', 'see all traffic of the host', 'NFCAS', is_measured=True, command=Case(ROOT, EPERM)),
    Attack('firewall-socket', "reach the kernel's packet filter code", 'FS', is_measured=True, command=Case(ROOT, ('EPROTONOSUPPORT',))),
    Attack('crypto-socket', "reach the kernel's cipher code", 'FAS', is_measured=True, command=Case(ROOT, ('EAFNOSUPPORT',))),
    Attack('interface-setting', 'change a network interface', 'NCAS', is_measured=True, harms=True),
    Attack('shared-memory', "attach others' shared memory", 'NS', is_measured=True, command=Case(USER, ENOENT)),
    Attack('message-queue', "open others' message queue", 'N', is_measured=True, command=Case(USER, ENOENT)),
    Attack('terminal-input', "type into a user's shell", 'NFCAS', is_measured=True),
    Attack('terminal-output', "write false text to a user's terminal", 'NS', is_measured=True),
    # By an init that is compromised while it builds the sandbox
    Attack('remount-root', 'make / writable by mount(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-root', 'make / writable by mount_setattr(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-root', 'make a clone of / writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-root', 'bind-mount / elsewhere, writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-root', 'remount the file system of / writable for all', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-root', 'make / writable from a lower user namespace', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-usr', 'make /usr writable by mount(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-usr', 'make /usr writable by mount_setattr(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-usr', 'make a clone of /usr writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-usr', 'bind-mount /usr elsewhere, writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-usr', 'remount the file system of /usr writable for all', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-usr', 'make /usr writable from a lower user namespace', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-etc', 'make /etc writable by mount(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-etc', 'make /etc writable by mount_setattr(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-etc', 'make a clone of /etc writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-etc', 'bind-mount /etc elsewhere, writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-etc', 'remount the file system of /etc writable for all', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-etc', 'make /etc writable from a lower user namespace', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('remount-dev', 'make /dev writable by mount(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('writable-dev', 'make /dev writable by mount_setattr(2)', 'N', builder=Case(ROOT, EPERM)),
    Attack('clone-tree-dev', 'make a clone of /dev writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('bind-tree-dev', 'bind-mount /dev elsewhere, writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('super-dev', 'remount the file system of /dev writable for all', 'N', builder=Case(ROOT, EPERM)),
    Attack('nested-dev', 'make /dev writable from a lower user namespace', 'N', builder=Case(ROOT, EPERM, 'EPERM')),
    Attack('honour-set-id-usr', 'enable set-id programs of /usr', 'N', builder=Case(ROOT, EPERM)),
    Attack('umount-root', 'unmount /, to see what it covers', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-usr', 'unmount /usr, to see what it covers', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-dev', 'unmount /dev, to see what it covers', 'N', builder=Case(ROOT, EINVAL)),
    Attack('umount-proc', "unmount the template's /proc", 'N', builder=Case(ROOT, EINVAL)),
    Attack('share-writable', 'make a read-only share writable', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-set-id', 'enable set-id programs of a share', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-devices', 'enable devices of a share', 'N', builder=Case(ROOT, EPERM)),
    Attack('share-device', 'read a device in a share', 'N', builder=Case(ROOT, EPERM + EACCES)),
    # These are seen to work, and belong to private ids on the disk: test_no_file_of_anybody_elses_came_to_be_on_a_share
    Attack('file-of-root', "make root's set-id file in a share", 'N', builder=Case(ROOT, ('works',))),
    Attack('file-of-other', "make another user's set-id file in a share", 'N', builder=Case(ROOT, ('works',))),
    Attack('give-to-root', 'give a file in a share to root', 'N', builder=Case(ROOT, ('works',))),
    Attack('give-to-other', 'give a file in a share to another user', 'N', builder=Case(ROOT, ('works',))),
    Attack('secret-as-root', "open root's private file in a share, as root", 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-as-other', "open another user's private file there, as that user", 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-anyway', "open root's private file there by capabilities", 'N', builder=Case(ROOT, EACCES)),
    Attack('secret-of-other-anyway', "open another user's private file there by capabilities", 'N', builder=Case(ROOT, EACCES)),
    Attack('etc-as-root', "open root's private file in the host's /etc, as root", 'N', builder=Case(ROOT, EACCES)),
    Attack('etc-anyway', 'the same by capabilities', 'N', builder=Case(ROOT, EACCES)),
    Attack('group-host-file', 'open a host file by .. from the control group', 'N', builder=Case(ROOT, ENOENT)),
    Attack('group-host-process', 'the same for a host process in /proc', 'N', builder=Case(ROOT, ENOENT)),
    Attack('group-above', 'reach the parent control group', 'N', builder=Case(ROOT, ('EXDEV',))),
    Attack('group-leave', 'move to the parent control group', 'N', builder=Case(ROOT, ('EXDEV',))),
    Attack('group-limit', 'lift a limit of the control group', 'N', builder=Case(ROOT, EACCES)),
    Attack('group-mount-limit', 'the same by its own mount', 'N', builder=Case(ROOT, EACCES)),
    Attack('group1-mount-limit', 'the same on cgroup v1', 'N', builder=Case(ROOT, EACCES + EPERM)),
    Attack('peer-signal', 'signal the supervisor', 'N', builder=Case(ROOT, EINVAL + ESRCH)),
    Attack('peer-descriptor', "copy the supervisor's descriptor", 'N', builder=Case(ROOT, EPERM + ESRCH)),
    Attack('peer-namespace', "get the supervisor's mount namespace", 'N', builder=Case(ROOT, EACCES + EPERM + ESRCH)),
    Attack('peer-join', "join the supervisor's namespaces", 'N', builder=Case(ROOT, EPERM + ESRCH)),
    Attack('own-program', 'change the program of all inits', 'N', builder=Case(ROOT, EACCES, 'EACCES')),
    Attack('session-key', 'read a key of the session that started the helper', 'N', builder=Case(ROOT, EACCES + ('ENOKEY',))),
    Attack('see-processes', 'mount a /proc that shows host processes', 'N', builder=Case(ROOT, ENOENT)),
    Attack('owner-namespace', 'get the parent user namespace', 'N', builder=Case(ROOT, EPERM)),
    Attack('process-by-number', 'open a host process by a guessed handle', 'N', builder=Case(ROOT, EPERM + ('ESTALE',))),
    Attack('namespace-by-number', 'open a host namespace by a guessed handle', 'N', builder=Case(ROOT, EPERM + ('ESTALE',))),
    Attack('capable-again', 'regain a dropped capability by executing a program as root', 'C', builder=Case(ROOT, EPERM)),
    Attack('dearer', "be the OOM killer's last choice", 'N', builder=Case(ROOT, EACCES)),
]

BY_NAME = {attack.name: attack for attack in ATTACKS}


def line(name, layers, places, tries):
    return f'{name:<23}{layers:<7}{places:<6}{tries}\n'


def table():
    """As the page shows it, which explains the letters: a layer's is a capital one where it is measured; a place's is its first one."""
    lines = [line('attack', 'layers', 'shown', 'what it tries')]
    for attack in ATTACKS:
        layers = ''.join(letter for letter in LAYERS if letter in attack.layers)
        places = ''.join(place[0] for place in attack.places)
        lines.append(line(attack.name, layers if attack.is_measured else layers.lower(), places.lower(), attack.tries))
    return '```\n%s```\n' % ''.join(lines)
