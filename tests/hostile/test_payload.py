# SPDX-License-Identifier: Apache-2.0
"""
A payload that tries to get out. The same attacks run three times: outside as the same user, outside as root in
namespaces of its own, and inside. Each must work where the table says it does, or it would show nothing.
"""
import contextlib
import ctypes
import errno
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import hostile  # first: it knows where the others are
import alone
import attacks
import selinux
import surroundings
import yett

# In the profile "loose" the filter lets these calls through, so that the kernel's own refusal is seen without it.
# Nested user namespaces are off in each sandbox's own.
LOOSE = {'user-namespace-clone3': ('ENOSPC',)}
LOOSE_CALLS = ('bpf', 'chroot', 'clone3', 'fanotify_init', 'fsopen', 'fspick', 'init_module', 'finit_module', 'delete_module', 'mount',
               'mount_setattr', 'move_mount', 'open_by_handle_at', 'open_tree', 'perf_event_open', 'pivot_root',
               'reboot', 'setns', 'sethostname', 'swapon', 'acct', 'syslog', 'umount2', 'clock_settime')

# What works in the profile "nested" for who is root in a user namespace there: all of it over what belongs to that one. Capabilities of
# files count only where the caller's own id is 0: in namespaces that the caller has made.
NESTED = {'capset', 'chown-root', 'clone-cgroup', 'clone-ipc', 'clone-mount', 'clone-network', 'clone-pid', 'clone-user', 'clone-uts',
          'file-capability', 'fspick', 'host-name', 'mount-bind', 'mount-tmpfs', 'mount-tree-cloned', 'mount_setattr', 'network-namespace',
          'raw-socket', 'root-changed', 'securebits', 'setns', 'superblock', 'unshare-cgroup', 'unshare-ipc', 'unshare-mount', 'unshare-pid',
          'unshare-several', 'unshare-time', 'unshare-uts', 'user-namespace'}

# What works there for a command as it is.
NESTED_PLAINLY = {'clone-user', 'user-namespace'}

# What works in the network of the host.
IN_HOST = {'loopback', 'route-out'}

POLICY = '''
profile "in-host" {
  extends = "default"
  network = host
}
grant "in-host" {
  users = {"*"}
  profiles = {"in-host"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  network = host
  fall_through = true
}
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
  fall_through = true
}
grant "nested" {
  users = {"*"}
  profiles = {"nested"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  nested_userns = true
  fall_through = true
}
''' % ', '.join('"%s"' % name for name in LOOSE_CALLS)

class Attacks(yett.Case):
    """One run of all attacks in each place; the cases then look at what each of them said."""

    service_options = {'before': POLICY}
    nested_more, nested_more_plainly = set(), set()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.make_surroundings()
        with yett.machine_setting_unchanged('/proc/sys/kernel/perf_event_paranoid'):
            cls.run_attacks()

    @classmethod
    def run_attacks(cls):
        attack = (hostile.program('attack'), 'command')
        more = {'stdin': cls.stdin, 'pass_fds': (9,)}
        cls.outside = {
            attacks.USER: cls.results_of(cls.service.run(cls.alice, *attack, env=cls.environment, **more)),
            # not in a pid namespace: the victim is meant
            attacks.ROOT: cls.results_of(cls.service.run(cls.root, 'unshare', '--mount', '--net', '--ipc', '--uts', '--cgroup', *attack,
                                                         env=cls.environment, **more))}
        cls.inside = cls.run_inside('default', more)
        cls.loose = cls.run_inside('loose', more)
        cls.nested = cls.run_inside('nested', more)
        # Nobody gets it where nothing closes the host's abstract sockets: tests/hostile/test_host_network.py
        cls.in_host = cls.run_inside('in-host', more) if yett.landlock_abi() >= 6 else {}
        # SELinux's module has a boolean for that, which is off: tests/guest/test_selinux.py
        cls.nested_root = {} if selinux.is_loaded() else cls.run_inside('nested', more, 'unshare', '-Urmnui', '--')

    @classmethod
    def run_inside(cls, profile, more, *before):
        options = ['-p', profile, '--rw', cls.work + ':/work', '--ro', hostile.program('attack') + ':/attack', '--timeout', '%ds' % yett.DEADLINE]
        for name, value in {**cls.environment, 'ATTACK_DIR': '/work', 'ATTACK_PID': '1'}.items():
            options += ['-e', '%s=%s' % (name, value)]
        return cls.results_of(cls.service.sandbox(cls.alice, *before, '/attack', 'command', options=options, **more))

    @staticmethod
    def results_of(done):
        return surroundings.results_of(done.code, done.out, done.err)

    @classmethod
    def make_surroundings(cls):
        """What the attacks look for: files, sockets, shared memory, a process."""
        os.makedirs(cls.service.folder + '/root', exist_ok=True)
        cls.root = yett.Root(cls.service.folder + '/root')
        cls.work, outside = cls.alice.mkdir('work'), cls.alice.mkdir('outside')
        cls.alice.write('outside/secret', 'secret')
        cls.stdin = cls.stack.enter_context(open(cls.alice.write('stdin', 'x', 0o600), 'rb'))
        cls.stack.enter_context(open(cls.stdin.name, 'ab'))  # what is open for writing is passed itself, and no copy
        cls.stack.callback(os.close, os.dup2(cls.stdin.fileno(), 9))
        around = surroundings.Surroundings(cls.stack, outside, cls.work, hostile.program('attack'), cls.alice.popen)
        cls.environment = {**around.variables, 'ATTACK_HELPER': cls.service.socket}

    def attack(self, name, who, inside, passed):
        outside = self.outside[who].get(name)
        if outside in ('EAFNOSUPPORT', 'ENOSYS', 'ENOENT', 'SIGSEGV', 'EPROTONOSUPPORT') and outside not in passed:
            self.skipTest('this host has nothing to attack: %s says %s outside' % (name, outside))
        self.assertIn(outside, ('works',) + passed, 'it does not work outside, so this shows nothing')
        self.assertIn(self.inside.get(name), inside)
        loose = self.loose.get(name)
        if 'works' not in inside:
            self.assertNotEqual(loose, 'works', 'once the filter lets it through')
            if self.in_host:
                self.assertEqual(self.in_host.get(name) == 'works', name in IN_HOST, self.in_host.get(name))
            # In a user namespace that a command makes, and outside of it, where it may make some. SELinux's module has a boolean for that.
            works = self.nested_root.get(name) == 'works'
            self.assertTrue(works == (name in NESTED | self.nested_more) or (selinux.is_loaded() and not works), self.nested_root.get(name))
            self.assertEqual(self.nested.get(name) == 'works', name in NESTED_PLAINLY | self.nested_more_plainly, self.nested.get(name))
        if LOOSE.get(name):
            self.assertIn(loose, LOOSE[name])

    def test_every_attack_has_a_row(self):
        self.assertEqual({attack.name for attack in attacks.ATTACKS if attack.command}, set(self.inside))


class Surroundings(yett.Case):
    """Attacks that take more than a system call."""

    service_options = {'before': '''
profile "masked" {
  extends = "default"
  mask = {"/data/sub/secret"}
}
profile "open" {
  extends = "default"
  syscalls_allow = {"setsockopt", "memfd_create"}
}
profile "narrow" {
  extends = "default"
  syscalls = strict
}
grant "masked" {
  users = {"*"}
  user_keys = true
  profiles = {"masked", "open", "narrow"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = yett.Root(cls.service.folder)

    def as_root(self, script, *argv):
        """Outside, in a mount namespace of its own."""
        done = self.service.run(self.root, 'unshare', '--mount', 'sh', '-ec', script, 'sh', *argv)
        self.assertEqual(done.code, 0, done)
        return done.out

    def serves_others(self):
        self.assertEqual(self.output('echo', 'unharmed', user=self.bob).strip(), 'unharmed')

    def test_what_the_kernel_counts_by_user_is_not_taken_from_others(self):
        take = 'import ctypes, sys\nl = ctypes.CDLL(None)\n'
        process = self.start('python3', '-c', take + 'while l.inotify_init1(0) >= 0: pass\nprint("up", flush=True); input()')
        self.assertEqual(self.line(process), 'up')
        one = ('python3', '-c', take + 'sys.exit(l.inotify_init1(0) < 0)')
        self.assertEqual(self.service.run(self.root, *one).code, 0)
        self.assertEqual(self.sandbox(*one, user=self.bob).code, 0)
        # outside it is the same for all of a user
        held = self.service.popen(self.alice, 'python3', '-c', take + 'while l.inotify_init1(0) >= 0: pass\nprint("up", flush=True); input()',
                                  stdin=-1, stdout=-1)
        self.addCleanup(held.communicate, b'\n')
        self.assertEqual(self.line(held), 'up')
        self.assertEqual(self.service.run(self.alice, *one).code, 1)

    def test_nobody_outside_is_held_up_by_a_lease_or_by_what_the_machine_counts(self):
        work = self.folder('leased')
        path = self.alice.write('leased/file', 'text')
        script = """if True:
            import ctypes, fcntl, os, sys
            try: fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK); print('leased')
            except OSError as e: print(e.errno)
            l = ctypes.CDLL(None, use_errno=True)
            context = ctypes.c_ulong()
            number = {'x86_64': 206, 'aarch64': 0}[os.uname().machine]
            print('counted' if l.syscall(number, 1, ctypes.byref(context)) == 0 else ctypes.get_errno())"""
        self.assertEqual(self.service.run(self.alice, 'python3', '-c', script, path).out.split(), ['leased', 'counted'])
        self.assertEqual(self.output('python3', '-c', script, path, options=['--ro', work]).split(), [str(errno.EACCES), str(errno.ENOSYS)])

    def test_what_the_machine_has_once_for_all_is_not_used_up(self):
        """Room for compiled programs of sockets, which are counted for no user and no control group, and huge pages."""
        script = """if True:
            import ctypes, errno, os, socket, struct
            def told(call, *argv):
                try: call(*argv)
                except OSError as e: return errno.errorcode[e.errno]
                return 'done'
            row = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffffffff))  # BPF_RET
            program = struct.pack('HxxxxxxP', 1, ctypes.addressof(row))
            for family, option in (socket.AF_UNIX, 26), (socket.AF_INET, 26), (socket.AF_INET, 51):  # SO_ATTACH_FILTER, and with REUSEPORT
                s = socket.socket(family, socket.SOCK_DGRAM)
                if family == socket.AF_INET: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                print(told(s.setsockopt, socket.SOL_SOCKET, option, program))
            print(told(os.memfd_create, 'x', os.MFD_HUGETLB))"""
        outside = ['done'] * 4
        self.assertEqual(self.service.run(self.alice, 'python3', '-c', script).out.split(), outside)
        self.assertEqual(self.output('python3', '-c', script, options=['-p', 'open']).split(), outside)
        for options in (), ('-p', 'narrow'):
            self.assertEqual(self.output('python3', '-c', script, options=options).split(), ['ENOPROTOOPT'] * 3 + ['ENOSYS'], options)

    def test_what_is_or_holds_the_sockets_of_a_user_s_programs_is_not_shared(self):
        """Also beside, in and around something that may be: where the last share lies need not be looked at again."""
        around = os.path.dirname(self.service.runtime)
        beside = tempfile.mkdtemp(prefix='yett-test-', dir=around)
        self.addCleanup(shutil.rmtree, beside)
        os.chmod(beside, 0o755)
        os.mkdir(beside + '/below')
        for first in (), (beside,), (beside + '/below', beside), (beside + '/below',):
            before = [word for path in first for word in ('--ro', path + ':/mnt/' + os.path.basename(path))]
            done = self.sandbox('ls', '/mnt', options=['-p', 'masked'] + before)
            if first and 'without id-mapped mounts' in done.err:  # a tmpfs, before Linux 6.3
                continue
            self.assertEqual((done.code, done.out.split()), (0, sorted(os.path.basename(path) for path in first)), done)
            for path in (self.service.runtime, around, self.service.runtime + '/names'):
                self.assert_refused(self.sandbox('true', options=['-p', 'masked', *before, '--ro', path + ':/mnt/x']), 125, 'runtime directory')

    def test_a_mount_inside_does_not_reach_a_shared_source(self):
        work = self.folder('shared-tree')
        os.mkdir(work + '/sub')
        yett.write(work + '/sub/file', 'of the host')
        # outside: a mount made in a clone that is still in the peer group covers the host's directory
        self.assertEqual(self.as_root('''
            mount -t tmpfs -o size=1M tmpfs "$1"; mount --make-shared "$1"; mkdir "$1/sub" "$2"
            mount --bind "$1" "$2"; mount -t tmpfs -o size=1M tmpfs "$2/sub"
            grep -c " $1/sub " /proc/self/mountinfo''', work, work + '-clone').strip(), '1')
        os.rmdir(work + '-clone')
        # the helper's own namespace has it shared, as systemd makes it
        subprocess.run(['mount', '--bind', work, work], check=True)
        try:
            subprocess.run(['mount', '--make-shared', work], check=True)
            before = yett.read('/proc/self/mountinfo').count(work)
            client = self.start('sh', '-c', 'touch /data/sub/mine; echo ready; read line; cat /data/late/* 2>&1; ls /data/sub',
                                options=('--rw', work + ':/data', '--tmpfs', '/data/sub'))
            self.assertEqual(self.line(client), 'ready')
            self.assertEqual(yett.read('/proc/self/mountinfo').count(work), before)
            self.assertEqual(os.listdir(work + '/sub'), ['file'])
            # nor does what is mounted later arrive inside
            os.mkdir(work + '/late')
            subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1M', 'tmpfs', work + '/late'], check=True)
            yett.write(work + '/late/secret', 'arrived')
            out, _ = client.communicate(b'\n', timeout=yett.DEADLINE)
            self.assertNotIn(b'arrived', out)
            self.assertIn(b'mine', out)
        finally:
            subprocess.run(['umount', '--recursive', work], check=True)

    def test_a_mask_below_a_writable_share_is_refused(self):
        work = self.folder('masked-tree')
        os.makedirs(work + '/sub/secret')
        os.chown(work + '/sub', self.alice.uid, self.alice.gid)
        # outside: who renames the parent has the path to himself, mask or not
        self.assertEqual(self.as_root('''
            mkdir "$1/empty"; mount --bind "$1/empty" "$1/sub/secret"
            mv "$1/sub" "$1/moved"; mkdir -p "$1/sub/secret"; echo free >"$1/sub/secret/file"; cat "$1/sub/secret/file"
            umount "$1/moved/secret"; rm -r "$1/sub"; mv "$1/moved" "$1/sub"; rmdir "$1/empty"''', work).strip(), 'free')
        self.assert_refused(self.sandbox('true', options=('-p', 'masked', '--rw', work + ':/data')), 125,
                            'rename a directory above it')
        self.assertEqual(self.sandbox('true', options=('-p', 'masked', '--ro', work + ':/data')).code, 0)

    def test_a_set_id_file_that_a_mapping_could_change_is_told_of(self):
        work = self.folder('tools')
        os.makedirs(work + '/bin')
        os.chown(work + '/bin', self.alice.uid, self.alice.gid)
        tool = self.alice.write('tools/bin/tool', 'honest' * 1000, 0o4755)
        script = ('import mmap, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\nif sys.argv[2] == "map":\n m = mmap.mmap(fd, 6)\n'
                  ' m[:] = b"stolen"\n m.flush()\nelse:\n os.write(fd, b"stolen")')
        run = ('python3', '-c', script, '/work/bin/tool')
        done = self.sandbox(*run, 'map', options=('--rw', work + ':/work'))
        # nothing stops it: neither the kernel nor a filter, which sees no file
        self.assertEqual((yett.read(tool)[:6], stat.S_IMODE(os.stat(tool).st_mode)), ('stolen', 0o4755), done)
        self.assertIn("%s keeps its set-id bit" % tool, done.err)
        os.chmod(work + '/bin', 0o700)  # to where nobody else gets
        self.assertNotIn('set-id', self.sandbox('true', options=('--rw', work)).err)
        os.chmod(work + '/bin', 0o755)
        self.assertNotIn('set-id', self.sandbox('true', options=('--ro', work)).err)
        self.assertEqual(self.sandbox(*run, 'write', options=('--rw', work + ':/work')).code, 0)
        self.assertEqual(stat.S_IMODE(os.stat(tool).st_mode), 0o755)
        self.assertNotIn('set-id', self.sandbox('true', options=('--rw', work)).err)

    def test_descriptors_of_the_client_do_not_come_along(self):
        with open(self.alice.write('open-file', 'text'), 'rb') as file:
            os.dup2(file.fileno(), 9)
        self.addCleanup(os.close, 9)
        seen = self.service.run(self.alice, 'ls', '/proc/self/fd', pass_fds=(9,)).out.split()
        self.assertIn('9', seen)
        self.assertEqual(self.output('ls', '/proc/self/fd', pass_fds=(9,)).split(), ['0', '1', '2', '3'])

    def test_the_clients_environment_reaches_nobody(self):
        mark = self.alice.write('preload', '', 0o644)
        library = {'LD_PRELOAD': mark, 'YETT_MARK': 'seen'}
        self.assertIn('LD_PRELOAD', self.service.run(self.alice, 'env', env=library).out)
        client = self.start('sh', '-c', 'env; echo ready; read line', env=library)
        lines = []
        while lines[-1:] != ['ready']:
            lines.append(self.line(client))
        self.assertFalse([line for line in lines if 'YETT_MARK' in line or 'LD_PRELOAD' in line], lines)
        for pid in self.service.leftover_processes():
            with contextlib.suppress(OSError):
                self.assertNotIn('YETT_MARK', yett.read('/proc/%d/environ' % pid))
        client.communicate(b'\n', timeout=yett.DEADLINE)

    def sleepers(self):
        return [pid for pid in yett.processes() if yett.argv_of(pid)[-2:] == ['sleep', '1000'] and
                yett.status_of(pid).get('Uid', '').split()[:1] == [str(self.alice.uid)]]

    def test_background_processes_do_not_outlive_their_command(self):
        script = 'for i in 1 2 3 4 5; do setsid sh -c "trap \'\' TERM HUP INT; sleep 1000; :" >/dev/null 2>&1 & done; echo $!'
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script).code, 0)
        yett.wait_until(lambda: len(self.sleepers()) == 5, 'five that are left')
        for pid in self.sleepers():
            os.kill(yett.parent_of(pid), signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(self.shell(script).strip())
        self.service.wait_no_leftovers()

    def test_a_full_tmp_harms_nobody(self):
        done = self.sandbox('sh', '-c', 'cat /dev/zero >/tmp/full; stat -c %s /tmp/full; cat /dev/zero >"$HOME/full"',
                            options=('-p', 'strict'))
        self.assertIn('No space left', done.err)
        self.assertLessEqual(int(done.out), 64 << 20)
        self.serves_others()

    def test_as_many_files_as_there_may_be_harm_nobody(self):
        script = ('import os\ntry:\n for i in range(10**6): os.close(os.open("/tmp/%d" % i, os.O_CREAT))\n'
                  'except OSError as e: print(e.errno)')
        self.assertEqual(self.python(script).strip(), '28')
        self.serves_others()

    def test_a_fork_bomb_harms_nobody(self):
        client = self.start('sh', '-c', 'b() { b | b & }; (b); echo started; exec sleep 1000', options=('--pids', '64'))  # a shell that cannot fork ends
        self.assertEqual(self.line(client), 'started')
        self.serves_others()
        client.kill()
        client.communicate(timeout=yett.DEADLINE)
        self.service.wait_no_leftovers()

    def test_a_memory_hog_harms_nobody(self):
        done = self.sandbox('python3', '-c', 'x = []\nwhile True: x.append(bytearray(1 << 20))', options=('--memory', '64M'))
        self.assertEqual(done.code, 137, done)
        self.assertIn('memory', done.err)
        self.serves_others()

    def test_doors_are_no_stdio(self):
        """What a sandbox must not be handed: a directory, a handle, a device, another kind of kernel object."""
        with contextlib.ExitStack() as stack:
            doors = {'directory': os.open('/', os.O_RDONLY | os.O_DIRECTORY), 'handle': os.open('/etc/passwd', os.O_PATH),
                     'device': os.open('/dev/zero', os.O_RDONLY), 'terminal': os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY),
                     'proc': os.open('/proc/self/status', os.O_RDONLY)}
            epoll = stack.enter_context(select.epoll())
            for door in doors.values():
                stack.callback(os.close, door)
            doors['epoll'] = epoll.fileno()
            for name, door in doors.items():
                with self.subTest(name):
                    self.assertNotEqual(self.service.run(self.alice, 'ls', '-l', '/proc/self/fd/0', stdin=door).out, '')
                    # the command bridges what it does not pass on; the sandbox sees a pipe or nothing
                    done = self.sandbox('readlink', '/proc/self/fd/0', stdin=door)
                    self.assertIn(done.code, (0, 125), done)
                    if done.code == 0:
                        self.assertRegex(done.out, r'^(pipe:|socket:|/dev/null)')


CRASHES = """if True:
    import ctypes, os, platform, resource, signal, sys
    libc, core = ctypes.CDLL(None, use_errno=True), resource.RLIMIT_CORE
    numbers = {'x86_64': (160, 302, 0x40000000), 'aarch64': (164, 261, 0)}[platform.machine()]

    def call(number, *arguments):
        return 0 if libc.syscall(number, *arguments) == 0 else ctypes.get_errno()

    def none():
        return 0

    def by_library():
        resource.setrlimit(core, (0, 0))
        return 0

    def soft_only():
        resource.setrlimit(core, (0, 1))
        return 0

    pair = (ctypes.c_ulong * 2)
    def by_setrlimit():
        return call(numbers[0], core, pair(0, 0))

    def by_prlimit():
        return call(numbers[1], 0, core, pair(0, 0), None)

    def by_prlimit_of_both():
        return call(numbers[1], os.getpid(), core, pair(0, 0), pair())

    def by_wide_resource():
        return call(numbers[1], 0, ctypes.c_ulong(core | 1 << 32), pair(0, 0), None)

    def of_the_child():
        for_child = os.getppid()
        return call(numbers[1], for_child, core, pair(0, 0), None)

    def by_x32():
        return call(numbers[0] | numbers[2], core, pair(0, 0)) if numbers[2] else 38

    def dumpable():
        return call({'x86_64': 157, 'aarch64': 167}[platform.machine()], 4, 1, 0, 0, 0)

    for attempt in (none, by_library, soft_only, by_setrlimit, by_prlimit, by_prlimit_of_both, by_wide_resource, of_the_child, by_x32, dumpable):
        child = os.fork()
        if child == 0:
            try: error = attempt()
            except (OSError, ValueError): error = 'raised'
            print(attempt.__name__, error, *resource.getrlimit(core), end=' ', flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        print(os.WCOREDUMP(os.waitpid(child, 0)[1]), flush=True)
"""


class Cores(yett.Case):
    """What the host does with crashes is a program that runs as root, on memory that the payload has filled."""

    service_options = {'before': '''
profile "full" {
  extends = "default"
  identity = root
  capabilities = {"sys_resource", "sys_ptrace"}
}
grant "full" {
  users = {"*"}
  user_keys = true
  profiles = {"full"}
  identity_root = true
  capabilities = {"sys_resource", "sys_ptrace"}
}
'''}

    @contextlib.contextmanager
    def handler(self):
        """The host's, as systemd-coredump, apport or abrt install theirs; says the host's uid of each crash."""
        told = self.service.folder + '/crashes'
        program = self.service.folder + '/handler'
        yett.write(told, '', 0o666)
        yett.write(program, '#!/bin/sh\necho "$1" >>%s\n' % yett.path_on_host(told), 0o755)
        with yett.machine_setting('/proc/sys/kernel/core_pattern', '|%s %%u' % yett.path_on_host(program)):
            yield lambda: yett.read(told).split()

    def crashes(self, run):
        """(attempt, error, soft, hard, whether it was dumped) of each."""
        done = run('python3', '-c', CRASHES)
        self.assertEqual(done.code, 0, done)
        rows = [line.split() for line in done.out.splitlines()]
        self.assertEqual(len(rows), 10)
        return rows

    def test_no_crash_reaches_the_hosts_handler(self):
        with self.handler() as uids:
            outside = self.crashes(lambda *argv: self.service.run(self.alice, *argv))
            inside = self.crashes(self.sandbox) + self.crashes(lambda *argv: self.sandbox(*argv, options=('-p', 'full')))
            yett.wait_until(lambda: uids().count(str(self.alice.uid)) >= 9, "the host's handler of those outside")
        # outside a limit of 0 is none, for the handler is a pipe
        self.assertEqual({row[0]: row[4] for row in outside if row[0] in ('none', 'by_library', 'by_setrlimit', 'by_prlimit')},
                         dict.fromkeys(('none', 'by_library', 'by_setrlimit', 'by_prlimit'), 'True'))
        self.assertEqual([row for row in inside if row[4] != 'False'], [])
        self.assertEqual([uid for uid in uids() if self.service.owns_uid(int(uid))], [])

    def test_programs_that_want_no_core_files_see_success_and_what_is(self):
        for row in self.crashes(self.sandbox):
            # nothing writes what the limit was: a program would take for it what lies in its memory
            error = {'by_x32': errno.ENOSYS, 'by_prlimit_of_both': errno.EPERM}.get(row[0], 0)
            self.assertEqual(row[1:4], [str(error), '1', '1'], row)
        self.assertEqual(self.output('sh', '-c', 'ulimit -S -c 0; ulimit -H -c 0; ulimit -c 0; echo "$?"').strip(), '0')
        self.assertNotEqual(self.sandbox('prlimit', '--core=0:0', '--nofile=9999999:9999999', 'true').code, 0)

    def test_whoever_asks_for_no_core_files_gets_none_either(self):
        def ask_for_none():
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))
        with self.handler() as uids:
            inside = self.crashes(lambda *argv: self.sandbox(*argv, preexec_fn=ask_for_none))
            self.service.run(self.alice, 'sh', '-c', 'kill -SEGV $$')
            yett.wait_until(lambda: str(self.alice.uid) in uids(), "the host's handler of the one outside")
        self.assertEqual([row for row in inside if row[4] != 'False'], [])

    def test_a_debugger_inside_writes_one(self):
        if not os.access('/usr/bin/gdb', os.X_OK):
            self.skipTest('gdb is not there')
        work = self.folder('cores')
        done = self.sandbox('gdb', '-q', '-batch', '-ex', 'run', '-ex', 'generate-core-file /work/core', '--args', 'sh', '-c', 'kill -SEGV $$',
                            options=('--rw', work + ':/work'))
        self.assertTrue(os.path.getsize(work + '/core') > 4096, done)


class Confined(yett.Case):
    """A client that is locked up already could have us fetch what it was kept from."""

    service_options = {'before': '''
profile "confined" {
  extends = "default"
}
grant "confined" {
  users = {"*"}
  user_keys = true
  profiles = {"confined"}
  confined_clients = true
  share_ro = {"*"}
}
'''}

    def confined(self, *how, options=()):
        user = 'setpriv --reuid %d --regid %d --clear-groups' % (self.alice.uid, self.alice.gid)
        return self.service.run(yett.Root(self.service.folder), *how, *user.split(), 'env', 'HOME=' + self.alice.home,
                                self.service.yett, 'run', *options, '--', 'true')

    def check(self, _, *how):
        done = self.confined(*how)
        self.assert_refused(done, 125, 'the client is confined', 'allowed false by confined_clients')

    def test_one_that_is_not_is_served(self):
        self.assertEqual(self.confined('env').code, 0)

    def test_one_in_a_network_namespace_is_served_where_the_grant_says_so(self):
        self.assertEqual(self.confined('unshare', '--net', options=('-p', 'confined')).code, 0)

    def bind(self, source, target):
        os.makedirs(target, exist_ok=True)
        subprocess.run(['mount', '--bind', source, target], check=True)
        self.addCleanup(subprocess.run, ['umount', target], check=True)

    def test_one_in_a_root_directory_of_its_own_is_refused(self):
        """Another directory, or the same one by a mount of its own, below which other mounts are missing."""
        same, other = self.folder('same'), self.folder('other')
        self.bind('/', same)
        if alone.is_made():
            self.bind('/tmp', same + '/tmp')  # where our programs are, which is no mount elsewhere
        self.bind('/usr', other + '/usr')
        self.bind(self.service.run_.folder, other + self.service.run_.folder)
        for name in ('bin', 'lib', 'lib64'):
            if os.path.islink('/' + name):
                os.symlink(os.readlink('/' + name), '%s/%s' % (other, name))
            elif os.path.isdir('/' + name):
                self.bind('/' + name, '%s/%s' % (other, name))
        for root in (same, other):
            self.bind('/proc', root + '/proc')  # a sanitizer has its options from there
            with self.subTest(root):
                self.check('', '/usr/sbin/chroot', root)
                self.assertEqual(self.confined('/usr/sbin/chroot', root, options=('-p', 'confined')).code, 0)

    def test_one_that_can_gain_no_privilege_any_more_is_refused(self):
        """A Landlock domain shows nowhere else, and nobody has one without that."""
        self.check('', 'setpriv', '--no-new-privs')
        self.assertEqual(self.confined('setpriv', '--no-new-privs', options=('-p', 'confined')).code, 0)

    def test_what_it_sees_in_its_mounts_is_not_shared_even_so(self):
        work = self.folder('work')
        done = self.confined('unshare', '--mount', options=('-p', 'confined', '--ro', work))
        self.assert_refused(done, 125, 'another mount namespace')


hostile.add_cases(Confined, 'one_in_its_own', [
    ('mount namespace', 'unshare', '--mount'), ('pid namespace', 'unshare', '--pid', '--fork'),
    ('network namespace', 'unshare', '--net')], Confined.check)
hostile.add_cases(Attacks, 'attack', [(attack.name, *attack.command) for attack in attacks.ATTACKS if attack.command],
                  lambda self, *row: self.attack(*row))

if __name__ == '__main__':
    yett.main()
