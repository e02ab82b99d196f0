# SPDX-License-Identifier: Apache-2.0
"""What a command sees and is in its sandbox, and what the host sees of it."""
import os
import re
import shutil
import signal
import stat
import subprocess

import yett

NO_CAPABILITY = '0000000000000000'
CAPABILITY_SETS = ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')

# Tries system calls by number, so that no wrapper stands between; prints the names of the errors.
TRY_CALLS = '''
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in sys.argv[1:]:
    call, *arguments = [int(word, 0) for word in number.split(",")]
    result = libc.syscall(call, *[ctypes.c_long(a) for a in arguments])
    print(errno.errorcode[ctypes.get_errno()] if result == -1 else "done")
'''

# What another sandbox's payload would do to a process, given its pid: trace, read memory, signal.
ATTACK = '''
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
word = ctypes.create_string_buffer(8)
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
def tell(name, result):
    print(name, errno.errorcode[ctypes.get_errno()] if result < 0 else "done")
address = int(sys.argv[2], 0)
local, remote = Part(ctypes.addressof(word), 8), Part(address, 8)
tell("read", libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
tell("trace", libc.ptrace(16, pid, None, None))
tell("signal", libc.kill(pid, 0))
try:
    open("/proc/%d/environ" % pid).read(); print("environ done")
except OSError as error:
    print("environ", errno.errorcode[error.errno])
'''

VICTIM = '''
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, -1)  # PR_SET_PTRACER, any: Yama is not what is tested
word = ctypes.create_string_buffer(b"secret!")
print(os.getpid(), hex(ctypes.addressof(word)), flush=True)
sys.stdin.read()
'''


class Identity(yett.Case):
    def test_ids_are_the_callers_numbers_and_names(self):
        alice = self.alice
        self.assertEqual(self.shell('id -u; id -g; id -un; id -gn; whoami; logname 2>/dev/null; echo $USER').split()[:5],
                         [str(alice.uid), str(alice.gid), alice.name, alice.name, alice.name])

    def test_no_capability_no_new_privileges_and_a_filter(self):
        status = dict(line.split(':\t', 1) for line in self.output('cat', '/proc/self/status').splitlines() if ':\t' in line)
        self.assertEqual({name: status[name] for name in CAPABILITY_SETS}, dict.fromkeys(CAPABILITY_SETS, NO_CAPABILITY))
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))

    def test_no_signal_is_ignored_or_blocked(self):
        """The helper ignores SIGPIPE, and so may who started it; what ignores a signal has its children ignore it, through execve(2)."""
        lines = self.output('grep', '-E', '^Sig(Blk|Ign):', '/proc/self/status').split()
        self.assertEqual(lines, ['SigBlk:', '0' * 16, 'SigIgn:', '0' * 16])

    def test_outside_it_has_a_private_uid_and_no_privilege(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        uid = self.private_uid(process)
        self.assertTrue(self.service.owns_uid(uid))
        commands = self.outside(process)
        self.assertTrue(commands)
        for pid in commands:
            status = yett.status_of(pid)
            self.assertEqual(status['Uid'].split(), [str(uid)] * 4)
            self.assertTrue(all(self.service.owns_uid(int(gid)) for gid in status['Gid'].split()), status['Gid'])
            self.assertEqual([status[name] for name in CAPABILITY_SETS], [NO_CAPABILITY] * 5)
            self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))

    def test_the_hosts_processes_are_dearer_when_memory_runs_out(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        commands = self.outside(process)
        for pid in {*commands, *(yett.parent_of(pid) for pid in commands)}:  # init among them
            self.assertGreaterEqual(int(yett.read('/proc/%d/oom_score_adj' % pid)), 300)

    def test_supplementary_groups_go_along_as_private_ids(self):
        group = 4242
        process = self.start('sh', '-c', 'id -G; read x', groups=[self.alice.gid, group])
        self.assertIn(str(group), self.line(process).split())
        outside = yett.status_of(self.outside(process)[0])['Groups'].split()
        self.assertNotIn(str(group), outside)
        self.assertTrue(all(self.service.owns_uid(int(gid)) for gid in outside), outside)

    def test_a_group_with_a_number_beyond_the_range_goes_along(self):
        group = 3000000000
        self.assertIn(str(group), self.output('id', '-G', groups=[self.alice.gid, group]).split())

    def test_files_of_root_show_as_roots(self):
        shown = self.output('stat', '-c', '%U %G %u %g', '/', '/usr', '/usr/bin/env', '/dev', '/dev/null', '/tmp')
        self.assertEqual(set(shown.splitlines()), {'root root 0 0'})

    def test_links_of_the_root_and_of_dev_show_as_roots(self):
        shown = self.shell('stat -c "%n %U %G" /bin /lib /dev/fd /dev/shm /dev/stdin')
        self.assertEqual([line for line in shown.splitlines() if not line.endswith(' root root')], [])


class Confinement(yett.Case):
    def test_namespaces_and_mounts_cannot_be_made(self):
        for argv in (['unshare', '-U', 'true'], ['unshare', '-m', 'true'], ['unshare', '-n', 'true'],
                     ['mount', '-t', 'tmpfs', 'none', '/tmp'], ['mount', '--bind', '/usr', '/tmp'],
                     ['umount', '/proc'], ['chroot', '/tmp', '/bin/true']):
            with self.subTest(argv=argv):
                self.assertEqual(subprocess.run(argv[:2] if argv[0] == 'unshare' else ['true'] + argv).returncode, 0)
                self.assertNotEqual(self.sandbox(*argv).code, 0)

    def test_a_user_namespace_is_refused_by_the_kernels_count_besides_the_filter(self):
        self.assertEqual(self.output('cat', '/proc/sys/user/max_user_namespaces').strip(), '0')
        self.assertNotEqual(yett.read('/proc/sys/user/max_user_namespaces').strip(), '0')

    def test_privileged_calls_are_refused_as_to_any_user(self):
        # mount, pivot_root, setns, swapon, reboot, sethostname, init_module, bpf, kexec_load, keyctl, add_key, ptrace of 1
        calls = ('165,0,0,0,0,0', '155,0,0', '308,0,0', '167,0,0', '169,0,0,0,0', '170,0,0', '175,0,0,0', '321,0,0,0',
                 '246,0,0,0,0', '250,0,0,0,0,0', '248,0,0,0,0,0', '101,16,1,0,0')
        answers = self.python(TRY_CALLS, *calls).split()
        self.assertEqual(len(answers), len(calls))
        self.assertLessEqual(set(answers), {'EPERM', 'ENOSYS', 'ESRCH', 'ENOKEY', 'EACCES'}, answers)

    def test_only_loopback_and_it_is_up(self):
        self.assertEqual(self.shell('ls /sys/class 2>/dev/null; sed -n "s/^ *\\(.*\\):.*/\\1/p" /proc/net/dev').split(), ['lo'])
        self.python('import socket; s = socket.create_server(("127.0.0.1", 0)); '
                    'socket.create_connection(s.getsockname()); s6 = socket.create_server(("::1", 0), family=socket.AF_INET6); '
                    'socket.create_connection(s6.getsockname()[:2])')

    def test_no_route_leads_out(self):
        self.assertEqual(self.python('import socket, errno\ntry: socket.create_connection(("192.0.2.1", 80))\n'
                                     'except OSError as e: print(errno.errorcode[e.errno])').strip(), 'ENETUNREACH')

    def test_a_message_queue_of_ones_own_works(self):
        self.assertEqual(self.python("""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
q = libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None)
text = ctypes.create_string_buffer(8192)
print(libc.mq_send(q, b"sent", 4, 1), libc.mq_receive(q, text, 8192, None), text.value, ctypes.get_errno())"""),
                         "0 4 b'sent' 0\n")

    def test_no_host_process_is_visible(self):
        seen = self.shell('for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline; echo " ${p#/proc/}"; done')
        rows = [line for line in seen.splitlines() if line.strip()]
        self.assertLess(len(rows), 6, seen)
        self.assertNotIn('systemd', seen)
        self.assertNotIn(str(os.getpid()), [row.split()[-1] for row in rows if 'python' in row])
        self.assertEqual(self.output('sh', '-c', 'ps -e -o pid= | head -1').strip(), '1')

    def test_no_descriptor_of_the_host_is_open(self):
        # a client that has more open than stdio hands none of it on
        with open('/etc/hostname') as extra, open('/') if False else open('/dev/null') as more:
            shown = self.output('ls', '-l', '/proc/self/fd', pass_fds=(extra.fileno(), more.fileno()))
        names = re.findall(r' (\d+) -> (\S+)', shown)
        self.assertEqual([name for name, _ in names], ['0', '1', '2', '3'])
        self.assertTrue(all(target.startswith('pipe:') for _, target in names[:3]), shown)

    def test_init_is_no_file_of_the_host_and_tells_nothing(self):
        done = self.sandbox('sh', '-c', 'readlink /proc/1/exe; cat /proc/1/environ; ls /proc/1/fd /proc/1/root; cat /proc/1/maps')
        self.assertEqual(done.out, '', done)
        self.assertEqual(done.err.count('Permission denied') + done.err.count('permission denied'), 4, done)

    def test_init_as_the_host_sees_it_is_a_sealed_memory_file(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        command = self.outside(process)[0]
        init = next(pid for pid in self.ancestors(command) if yett.argv_of(pid)[:1] == ['yett-init'])
        self.assertTrue(os.readlink('/proc/%d/exe' % init).startswith('/memfd:'), os.readlink('/proc/%d/exe' % init))
        self.assertEqual(yett.status_of(init)['CapEff'], '00000000000000e0')  # kill, setgid, setuid in its namespace
        self.assertNotEqual(yett.status_of(init)['Uid'], yett.status_of(command)['Uid'])

    @staticmethod
    def ancestors(pid):
        while pid > 1:
            yield pid
            pid = yett.parent_of(pid)

    def test_init_cannot_be_touched_by_the_payload(self):
        script = ('kill -9 1; kill -STOP 1; kill -0 1 && echo reached; renice 5 1; prlimit --pid 1 --nofile=1; '
                  'grep ^State /proc/1/status')
        done = self.sandbox('sh', '-c', script)
        self.assertNotIn('reached', done.out)
        self.assertNotIn('T (stopped)', done.out)
        self.assertEqual(done.err.count('not permitted') + done.err.count('Permission denied'), 5, done)

    def test_set_id_programs_do_not_work(self):
        self.assertTrue(os.stat('/usr/bin/su').st_mode & stat.S_ISUID)
        options = self.output('sh', '-c', 'grep " / \\| /usr " /proc/mounts')
        self.assertTrue(all('nosuid' in line for line in options.splitlines()), options)
        self.assertEqual(self.output('python3', '-c', 'import os; os.execv("/usr/bin/env", ["env", "id", "-u"])').strip(),
                         str(self.alice.uid))
        directory = self.folder('set-id')
        copy = os.path.join(directory, 'id')
        subprocess.run(['cp', '/usr/bin/id', copy], check=True)
        os.chown(copy, 0, 0)
        os.chmod(copy, 0o4755)
        self.assertEqual(subprocess.run([copy, '-u'], user=self.alice.uid, stdout=subprocess.PIPE).stdout, b'0\n')
        self.assertEqual(self.output(copy, '-u', options=['--ro', directory]).strip(), str(self.alice.uid))

    def test_parts_of_proc_are_hidden_and_others_read_only(self):
        hidden = self.shell('for f in kcore keys key-users timer_list interrupts sysrq-trigger; do '
                            '[ -e /proc/$f ] && wc -c </proc/$f; done; true', options=[])
        self.assertLessEqual(set(hidden.split()), {'0'}, hidden)
        for path in ('/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches', '/proc/sys/kernel/core_pattern'):
            with self.subTest(path=path):
                done = self.sandbox('sh', '-c', 'echo x >' + path)
                self.assertNotEqual(done.code, 0)
        for path in ('/proc/pressure/cpu', '/proc/pressure/memory'):
            if os.path.exists(path):  # who writes there has the kernel look at all of the machine for it
                # A label is asked first.
                self.assertRegex(self.sandbox('sh', '-c', ': >>' + path).err,
                                 'Permission denied' if os.path.exists('/sys/fs/selinux/enforce') else 'Read-only file system')
        self.assertEqual(self.shell('ls /proc/acpi /proc/scsi /proc/asound 2>/dev/null | grep -v : | wc -l').strip(), '0')

    def test_the_own_proc_is_writable_as_usual(self):
        self.shell('echo 500 >/proc/self/oom_score_adj; echo name >/proc/self/comm; cat /proc/self/comm')

    def test_no_key_ring_is_reached(self):
        self.assertEqual(self.python(TRY_CALLS, '250,0,-3,0,0,0', '249,0,0,0,0', '248,0,0,0,0,0').split(), ['ENOKEY', 'ENOKEY', 'EACCES'])

    def test_the_system_is_read_only(self):
        for path in ('/usr/x', '/etc/x', '/dev/x', '/usr/bin/x', '/dev/pts/x', '/proc/x'):
            with self.subTest(path=path):
                self.assertNotEqual(self.sandbox('sh', '-c', 'echo x >' + path).code, 0)
                self.assertFalse(os.path.exists(path))

    def test_no_secret_of_the_host_is_there(self):
        done = self.sandbox('sh', '-c', 'cat /etc/shadow /etc/gshadow; ls /root /home /var/log /sys/kernel /boot')
        self.assertEqual(done.out, '', done)

    def test_cgroups_tell_nothing_of_the_host(self):
        # The sandbox's own group is the root of what is seen, and a command's leaf lies in it.
        paths = {line.split(':', 2)[2] for line in self.output('cat', '/proc/self/cgroup').splitlines()}
        for path in paths:
            self.assertRegex(path, r'^/(c[0-9]+)?$')

    def test_mounts_tell_no_path_of_the_host(self):
        directory = self.folder('secret-name')
        shown = self.output('cat', '/proc/self/mountinfo', options=['--ro', directory + ':/work'])
        self.assertNotIn(self.service.runtime, shown)

    def test_the_terminal_of_the_caller_is_out_of_reach(self):
        self.assertNotEqual(self.sandbox('sh', '-c', 'echo x >/dev/tty').code, 0)


class Shares(yett.Case):
    def bobs(self, name, text, **more):
        """A file of bob's in alice's home."""
        return self.bob.write(os.path.join(self.alice.home, name), text, **more)

    def test_what_is_written_belongs_to_the_caller_on_disk(self):
        directory = self.folder('out')
        self.shell('echo text >file; mkdir dir; ln -s file link; ln file hard; mkfifo fifo; chmod 600 file',
                   options=['--rw', directory, '-C', directory])
        for name in ('file', 'dir', 'link', 'hard', 'fifo'):
            found = os.lstat(os.path.join(directory, name))
            self.assertEqual((found.st_uid, found.st_gid), (self.alice.uid, self.alice.gid), name)
        self.assertEqual(yett.read(directory + '/file'), 'text\n')
        self.assertEqual(stat.S_IMODE(os.stat(directory + '/file').st_mode), 0o600)
        self.assertEqual(sorted(os.listdir(directory)), ['dir', 'fifo', 'file', 'hard', 'link'])

    def test_files_of_the_caller_show_as_its_own(self):
        directory = self.folder('mine')
        self.alice.write('mine/file')
        self.assertEqual(self.output('stat', '-c', '%u %g', directory, directory + '/file', options=['--ro', directory]).split(),
                         [str(self.alice.uid), str(self.alice.gid)] * 2)

    def test_a_read_only_share_is_read_only(self):
        directory = self.folder('ro')
        self.alice.write('ro/file', 'old')
        done = self.sandbox('sh', '-c', 'echo new >file; rm file; touch other; mkdir d; chmod 777 .', cwd=directory,
                            options=['--ro', directory])
        self.assertEqual(done.err.count('Read-only file system'), 5, done)
        self.assertEqual((os.listdir(directory), yett.read(directory + '/file')), (['file'], 'old'))

    def test_what_the_caller_may_not_read_stays_closed(self):
        directory = self.folder('closed')
        self.bobs('closed/others', 'secret', mode=0o600)
        self.alice.write('closed/mine', 'open', mode=0o600)
        self.bobs('closed/of-group', 'secret', mode=0o640)
        yett.write(directory + '/roots', 'secret', 0o600)
        for name, opens in (('others', False), ('of-group', False), ('roots', False), ('mine', True)):
            with self.subTest(name=name):
                outside = self.service.run(self.alice, 'cat', directory + '/' + name)
                inside = self.sandbox('cat', directory + '/' + name, options=['--rw', directory])
                self.assertEqual((outside.code == 0, inside.code == 0), (opens, opens), inside)

    def test_a_file_that_denies_a_group_stays_denied(self):
        group = 4343
        directory = self.folder('denied')
        path = self.bobs('denied/file', 'secret', mode=0o604, gid=group)
        for groups, opens in (([group], False), ([], True)):
            with self.subTest(groups=groups):
                outside = self.service.run(self.alice, 'cat', path, groups=groups)
                inside = self.sandbox('cat', path, groups=groups, options=['--ro', directory])
                self.assertEqual((outside.code == 0, inside.code == 0), (opens, opens), inside)

    def test_a_file_that_only_a_group_may_read_opens_to_its_members(self):
        group = 4344
        directory = self.folder('granted')
        path = self.bobs('granted/file', 'text', mode=0o640, gid=group)
        for groups, opens in (([group], True), ([], False)):
            with self.subTest(groups=groups):
                self.assertEqual(self.sandbox('cat', path, groups=groups, options=['--ro', directory]).code == 0, opens)

    def test_what_others_may_write_stays_theirs(self):
        directory = self.folder('world', mode=0o777)
        self.bobs('world/file', 'old', mode=0o666)
        self.shell('echo new >file', options=['--rw', directory], cwd=directory)
        found = os.stat(directory + '/file')
        self.assertEqual((found.st_uid, yett.read(directory + '/file')), (self.bob.uid, 'new\n'))

    def test_a_file_alone_can_be_shared(self):
        path = self.alice.write('alone', 'text')
        self.addCleanup(os.unlink, path)
        self.assertEqual(self.output('cat', '/tmp/here', options=['--ro', path + ':/tmp/here']), 'text')
        self.shell('echo more >>/tmp/here', options=['--rw', path + ':/tmp/here'])
        self.assertEqual(yett.read(path), 'textmore\n')

    def test_mounts_below_a_share_go_along_and_are_restricted_too(self):
        directory, other = self.folder('outer'), self.folder('other', mode=0o777)
        os.mkdir(directory + '/inner')
        subprocess.run(['mount', '--bind', other, directory + '/inner'], check=True)  # a tmpfs is id-mapped from 6.3 on
        self.addCleanup(subprocess.run, ['umount', directory + '/inner'], check=True)
        yett.write(directory + '/inner/file', 'below')
        self.assertEqual(self.output('cat', directory + '/inner/file', options=['--ro', directory]), 'below')
        done = self.sandbox('sh', '-c', 'echo x >%s/inner/new' % directory, options=['--ro', directory])
        self.assertIn('Read-only file system', done.err)
        options = self.output('grep', directory, '/proc/mounts', options=['--rw', directory])
        for line in options.splitlines():
            self.assertTrue(all(flag in line for flag in ('nosuid', 'nodev', 'idmapped')), line)

    def test_shares_nest(self):
        outer, inner = self.folder('nest'), self.folder('nested')
        os.mkdir(outer + '/point')
        self.alice.write('nested/file', 'inner')
        for options in (['--rw', outer + ':/work', '--rw', inner + ':/work/point'],
                        ['--rw', inner + ':/work/point', '--rw', outer + ':/work']):
            self.assertEqual(self.output('cat', '/work/point/file', options=options), 'inner')
        self.assertEqual(os.listdir(outer + '/point'), [])

    def make_home(self):
        """A home directory with guarded files of each kind, a project, and files that are not guarded."""
        for name in ('.ssh', '.netrc', '.bashrc', '.local', 'project', 'plain', '.config/autostart'):
            self.addCleanup(subprocess.run, ['rm', '-rf', os.path.join(self.alice.home, name)], check=True)
        for name in ('.ssh', '.config', '.config/autostart', '.local', '.local/bin', 'project', 'project/.git', 'project/.git/hooks', 'project/.vscode',
                     'project/src'):
            if not os.path.isdir(os.path.join(self.alice.home, name)):
                self.alice.mkdir(name)
        for name in ('.ssh/id', '.netrc', '.bashrc', '.config/autostart/one', 'project/.git/config', 'project/CLAUDE.md', 'project/src/file', 'plain'):
            self.alice.write(name, 'as it was')
        return os.path.realpath(self.alice.home)

    def test_secrets_are_hidden_in_larger_shares(self):
        home = self.make_home()
        self.output('true')  # there is a key
        self.assertIn('id_ed25519', os.listdir(home + '/.config/yett'))
        script = 'cd %s; cat plain .netrc; for name in .ssh/id .config/yett/id_ed25519; do cat $name && echo read; done; ls -A .ssh .config/yett'
        for share, inside in ((home, home), (home + ':/mnt/home', '/mnt/home'), (os.path.dirname(home), home)):
            done = self.sandbox('sh', '-c', script % inside, options=['--ro', share])
            self.assertEqual((done.out, done.err.count('No such file')), ('as it was.config/yett:\n\n.ssh:\n', 2), (share, done))
        done = self.sandbox('sh', '-c', 'cd %s/.config; ls -A yett; cat autostart/one' % home, options=['--ro', home + '/.config'])
        self.assertEqual(done.out, 'as it was', done)

    def test_a_guarded_path_that_is_shared_by_name_is_shown(self):
        home = self.make_home()
        for options in (['--ro', home + '/.ssh'], ['--ro', home, '--ro', home + '/.ssh'], ['--ro', home + '/.ssh/id']):
            self.assertEqual(self.sandbox('cat', home + '/.ssh/id', options=options).out, 'as it was', options)
        self.shell('echo new >%s/.bashrc; echo new >%s/.vscode/new' % (home, home + '/project'),
                   options=['--rw', home, '--rw', home + '/.bashrc', '--rw', home + '/project/.vscode'])
        self.assertEqual((yett.read(home + '/.bashrc'), yett.read(home + '/project/.vscode/new')), ('new\n', 'new\n'))

    def test_start_files_are_read_only_in_a_writable_home(self):
        home = self.make_home()
        script = '''
            cd %s
            for name in .bashrc .config/autostart/one project/CLAUDE.md; do echo new >$name && echo "wrote $name"; done
            touch .config/new .local/bin/new && echo made
            mv .config moved && echo moved
            mv .local moved && echo moved
            rm -r .ssh && echo removed
            echo new >plain; touch .local/new; echo new >project/src/file
            '''
        done = self.sandbox('sh', '-c', script % home, options=['--rw', home])
        self.assertEqual(done.out, 'wrote project/CLAUDE.md\n', done)
        self.assertIn('start files that do not exist yet can be created there', done.err)
        self.assertEqual([yett.read(home + '/' + name) for name in ('.bashrc', '.ssh/id', '.config/autostart/one', 'plain', 'project/src/file')],
                         ['as it was', 'as it was', 'as it was', 'new\n', 'new\n'])
        self.assertEqual(os.listdir(home + '/.local/bin'), [])

    def test_settings_of_tools_are_read_only_at_the_top_of_a_writable_share(self):
        project = self.make_home() + '/project'
        script = '''
            cd %s
            for name in .git/hooks/new .git/config CLAUDE.md .vscode/new; do echo new >$name && echo "wrote $name"; done
            mv .git moved && echo moved
            rm -r .vscode CLAUDE.md .git && echo removed
            echo new >src/file; echo new >.git/index
            '''
        done = self.sandbox('sh', '-c', script % project, options=['--rw', project])
        self.assertEqual((done.out, done.err.count('resource busy')), ('', 5), done)
        self.assertEqual([yett.read(project + '/' + name) for name in ('.git/config', 'CLAUDE.md', 'src/file', '.git/index')],
                         ['as it was', 'as it was', 'new\n', 'new\n'])
        self.assertEqual((os.listdir(project + '/.git/hooks'), os.listdir(project + '/.vscode')), ([], []))
        os.rename(project + '/.git', project + '/git')  # as a worktree has it
        self.alice.write('project/.git', 'gitdir: ./git')
        self.sandbox('sh', '-c', 'rm %s/.git; echo gitdir: /tmp >%s/.git' % (project, project), options=['--rw', project])
        self.assertEqual(yett.read(project + '/.git'), 'gitdir: ./git')

    def test_the_users_lists_guard_more(self):
        home = self.make_home()
        os.makedirs(home + '/.config/yett', exist_ok=True)
        for name in ('secret', 'guard'):
            self.alice.write('.config/yett/' + name)
            self.addCleanup(os.unlink, home + '/.config/yett/' + name)
        self.alice.write('.config/yett/secret', '# mine\nplain\n')
        self.alice.write('.config/yett/guard', './src/file\n')
        self.assertEqual(self.sandbox('cat', home + '/plain', options=['--ro', home]).out, '')
        self.sandbox('sh', '-c', 'echo new >%s/src/file' % (home + '/project'), options=['--rw', home + '/project'])
        self.assertEqual(yett.read(home + '/project/src/file'), 'as it was')
        self.alice.write('.config/yett/guard', '../x\n')
        done = self.sandbox('true', options=['--ro', home])
        self.assertEqual(done.code, 125, done)
        self.assertIn('.config/yett/guard: ../x: expected a path', done.err)

    def test_the_target_of_a_guarded_link_is_guarded(self):
        home = self.make_home()
        os.rename(home + '/.netrc', home + '/project/netrc')
        os.symlink('project/netrc', home + '/.netrc')
        self.assertEqual(self.sandbox('cat', home + '/project/netrc', options=['--ro', home + '/project']).out, '')

    def test_a_share_inside_a_guarded_directory(self):
        home = self.make_home()
        self.alice.mkdir('.config/app')
        self.addCleanup(shutil.rmtree, home + '/.config/app')
        self.shell('touch %s/.config/app/new' % home, options=['--rw', home, '--rw', home + '/.config/app'])
        self.assertEqual(os.listdir(home + '/.config/app'), ['new'])
        done = self.sandbox('true', options=['--ro', home, '--ro', home + '/.ssh/id'])
        self.assertEqual((done.code, 'nothing can be shared at %s/.ssh/id: %s/.ssh is hidden there' % (home, home) in done.err), (125, True), done)
        self.assertEqual(self.output('cat', '/mnt/id', options=['--ro', home, '--ro', home + '/.ssh/id:/mnt/id']), 'as it was')

    def test_directories_above_a_share_in_a_writable_one_stay_where_they_are(self):
        home = self.make_home()
        done = self.sandbox('sh', '-c', 'cd %s/project && mv .git moved; echo new >.git/hooks/new; echo new >.git/other && cat .git/other' % home,
                            options=['--rw', home + '/project', '--ro', home + '/.ssh:%s/project/.git/hooks' % home])
        self.assertEqual((done.out, done.err.count('busy'), done.err.count('Read-only')), ('new\n', 1, 1), done)
        self.assertEqual(os.listdir(home + '/.ssh'), ['id'])

    def test_a_bind_mount_has_the_guards_of_its_directory(self):
        home, place = self.make_home(), self.bob.mkdir('bound')
        subprocess.run(['mount', '--bind', home, place], check=True)
        self.addCleanup(subprocess.run, ['umount', place], check=True)
        done = self.sandbox('cat', place + '/.ssh/id', place + '/plain', options=['--ro', place])
        self.assertEqual((done.out, 'No such file' in done.err), ('as it was', True), done)

    def test_a_command_cannot_lift_the_guards_of_the_next_sandbox(self):
        """By closing a directory, so that nobody can find out what is in it, or by replacing a link to a secret."""
        home = self.make_home()
        self.alice.mkdir('.cargo')
        self.addCleanup(shutil.rmtree, home + '/.cargo')
        self.alice.write('.cargo/credentials')
        for name in ('.cargo', 'project/.git'):
            with self.subTest(name):
                share = home + ('/project' if 'project' in name else '')
                self.shell('chmod 0 %s/%s' % (home, name), options=['--rw', share])
                done = self.sandbox('true', options=['--rw', share])
                self.assertEqual((done.code, 'is closed to its owner' in done.err), (125, True), done)
                self.assertEqual(self.sandbox('true', options=['--ro', home + '/project']).code, 0)
                os.chmod('%s/%s' % (home, name), 0o755)
        os.rename(home + '/.netrc', home + '/project/netrc')
        os.symlink('project/netrc', home + '/.netrc')
        done = self.sandbox('true', options=['--rw', home])
        self.assertEqual((done.code, 'leads to the secret %s/.netrc' % home in done.err), (125, True), done)
        self.assertEqual(self.sandbox('cat', home + '/project/netrc', options=['--ro', home]).out, '')

    def test_a_mount_point_is_not_made_in_a_share(self):
        outer, inner = self.folder('no-point'), self.folder('for-point')
        self.assert_refused(self.sandbox('true', options=['--rw', outer + ':/work', '--rw', inner + ':/work/new']), 125,
                            '/work/new does not exist')
        self.assertEqual(os.listdir(outer), [])

    def test_a_tmpfs_has_its_size(self):
        options = ['--tmpfs', '/scratch:1M']
        self.assertEqual(self.shell('df -k --output=size /scratch | tail -1', options=options).strip(), '1024')
        done = self.sandbox('dd', 'if=/dev/zero', 'of=/scratch/x', 'bs=64k', 'count=32', options=options)
        self.assertIn('No space left', done.err)

    def test_what_a_sandbox_writes_to_its_own_places_is_gone_with_it(self):
        for path in ('/tmp', '/var/tmp', '/run/lock', '/dev/shm', '$HOME'):
            with self.subTest(path=path):
                self.shell('echo x >%s/left-by-test' % path)
                self.assertNotEqual(self.sandbox('sh', '-c', 'cat %s/left-by-test' % path).code, 0)
        self.assertEqual([name for name in ('/tmp/left-by-test', '/dev/shm/left-by-test', '/var/tmp/left-by-test',
                                            self.alice.home + '/left-by-test') if os.path.exists(name)], [])

    def test_a_share_on_a_shared_mount_does_not_carry_mounts_either_way(self):
        directory = self.folder('propagation')
        subprocess.run(['mount', '--bind', directory, directory], check=True)
        self.addCleanup(subprocess.run, ['umount', '-R', directory], check=True)
        subprocess.run(['mount', '--make-shared', directory], check=True)
        os.chown(directory, self.alice.uid, self.alice.gid)
        os.mkdir(directory + '/point')
        process = self.start('sh', '-c', 'echo up; read x; grep -c point /proc/mounts; grep -c later /proc/mounts; ls point',
                             options=['--rw', directory, '--tmpfs', directory + '/point', '-C', directory])
        self.line(process)
        self.assertNotIn(directory + '/point', yett.read('/proc/self/mounts'))
        os.mkdir(directory + '/later')
        subprocess.run(['mount', '-t', 'tmpfs', 'later', directory + '/later'], check=True)
        out, err = process.communicate(b'\n', timeout=yett.DEADLINE)
        self.assertEqual(out.split(), [b'1', b'0'], err)


class Apart(yett.Case):
    """Two sandboxes of one user."""

    def test_an_attack_works_where_nothing_keeps_two_processes_apart(self):
        done = self.run_attack(lambda *argv: self.service.run(self.alice, *argv), self.alice.popen)
        self.assertEqual(done, {'read': 'done', 'trace': 'done', 'signal': 'done', 'environ': 'done'})

    def test_two_sandboxes_cannot_reach_each_other(self):
        victim = self.start('python3', '-c', VICTIM)
        address = self.line(victim).split()[1]
        for pid in self.outside(victim):
            done = self.sandbox('python3', '-c', ATTACK, str(pid), address)
            self.assertNotIn('done', done.out, (pid, done))
            self.assertEqual(len(done.out.splitlines()), 4, done)
        self.assertEqual(victim.poll(), None)

    def test_two_sandboxes_have_ids_of_their_own(self):
        processes = [self.start('sh', '-c', 'echo up; read x') for _ in range(3)]
        for process in processes:
            self.line(process)
        uids = {self.private_uid(process) for process in processes}
        self.assertEqual(len(uids), 3)
        self.assertEqual(len({uid // yett.RANGE for uid in uids}), 3)

    def test_the_user_cannot_reach_its_own_sandbox_from_outside(self):
        victim = self.start('python3', '-c', VICTIM)
        address = self.line(victim).split()[1]
        done = self.service.run(self.alice, 'python3', '-c', ATTACK, str(self.outside(victim)[0]), address)
        self.assertNotIn('done', done.out, done)

    def test_they_share_no_memory_no_semaphores_no_names(self):
        first = self.start('sh', '-c', 'ipcmk -M 4096 -p 0666 >/dev/null; echo x >/dev/shm/x; echo up; read x')
        self.line(first)
        self.assertEqual(self.shell('ipcs -m | grep -c 0x; ls /dev/shm; true').split(), ['0'])
        script = 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("\\0yett-test"); print("bound", flush=True); input()'
        holder = self.start('python3', '-c', script)
        self.assertEqual(self.line(holder), 'bound')
        self.python('import socket; s = socket.socket(socket.AF_UNIX); s.bind("\\0yett-test")')

    def run_attack(self, run, popen):
        with popen(['/usr/bin/python3', '-c', VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
            pid, address = yett.line_of(victim.stdout).split()
            done = run('/usr/bin/python3', '-c', ATTACK, pid, address)
            victim.send_signal(signal.SIGKILL)
        return dict(line.split() for line in done.out.splitlines())


class ControlGroups(yett.Case):
    """As the service makes them: without root they are not its own to give."""

    def test_of_its_control_groups_init_has_what_makes_groups_and_starts_in_them(self):
        """Limits, and what pauses it, stay root's. Where it is version 1, no file is its own."""
        process = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(process), 'up')
        name = re.search(r'(?m)/(s[0-9a-f]{16})(?:/|$)', yett.read('/proc/%d/cgroup' % self.outside(process)[0])).group(1)
        groups = [path for top in self.service.cgroup_tops() for path, _, _ in os.walk(top) if os.path.basename(path) == name]
        owned = [{name for name in os.listdir(group) if os.path.isfile(os.path.join(group, name)) and os.stat(os.path.join(group, name)).st_uid != 0}
                 for group in groups]
        is_v2 = any(os.path.exists(group + '/cgroup.threads') for group in groups)
        self.assertEqual([names for names in owned if names], [{'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control'}] * is_v2)


PROFILES = '''
profile "shaped" {
  extends = "default"
  umask = 027
  nice = 5
  hostname = "shaped-host"
  files = 77
  stack = 4M
  file_size = 1M
  cpu_time = 9
  environment = {"PATH=/usr/bin", "MARK=1"}
  tmpfs = {"/scratch:2M"}
  mask = {"/usr/share/doc"}
  read_only = {"/var/tmp"}
  private_home = false
}
grant "shaped" {
  users = {"*"}
  user_keys = true
  profiles = {"shaped"}
}
'''


class Shape(yett.Case):
    """What the profile says, as a command finds it."""

    service_options = {'after': PROFILES}

    def shaped(self, script):
        return self.shell(script, options=['-p', 'shaped']).split()

    def test_umask_nice_and_host_name(self):
        self.assertEqual(self.shaped('umask; nice; hostname; uname -n'), ['0027', '5', 'shaped-host', 'shaped-host'])

    def test_limits_of_processes(self):
        self.assertEqual(self.shaped('ulimit -n; ulimit -Hn; ulimit -s; ulimit -f; ulimit -t; ulimit -c'),
                         ['77', '77', '4096', '2048', '9', '0'])
        limits = self.shell('cat /proc/self/limits', options=['-p', 'shaped'])
        for name, most in (('locked memory', 8 << 20), ('msgqueue size', 819200), ('pending signals', 8192)):
            hard = re.search(r'^Max %s +\d+ +(\d+) ' % name, limits, re.M)
            self.assertTrue(hard and int(hard[1]) <= most, limits)

    def test_environment_is_built_from_nothing(self):
        done = self.sandbox('env', options=['-p', 'shaped', '-e', 'MINE=x y', '-e', 'MARK=2'], env={'LEAK': 'yes'})
        names = dict(line.split('=', 1) for line in done.out.splitlines())
        self.assertEqual(set(names), {'HOME', 'USER', 'LOGNAME', 'SHELL', 'PATH', 'MARK', 'MINE'})
        self.assertEqual((names['MINE'], names['MARK'], names['USER'], names['PATH']), ('x y', '2', self.alice.name, '/usr/bin'))

    def test_masks_read_only_paths_and_tmpfs(self):
        self.assertTrue(os.listdir('/usr/share/doc'))
        self.assertEqual(self.shaped('ls /usr/share/doc | wc -l; df -k --output=size /scratch | tail -1; '
                                     'touch /var/tmp/x 2>/dev/null || echo closed'), ['0', '2048', 'closed'])

    def test_without_a_private_home_there_is_none(self):
        self.assertEqual(self.shaped('echo $HOME; pwd'), ['/', '/'])

    def test_the_host_name_can_be_asked_for(self):
        self.assertEqual(self.output('hostname', options=['--hostname', 'mine.example']).strip(), 'mine.example')
        self.assert_refused(self.sandbox('true', options=['--hostname', 'a b']), 125, 'host name')
        self.assertEqual(os.uname().nodename, subprocess.run(['uname', '-n'], stdout=subprocess.PIPE, text=True).stdout.strip())


if __name__ == '__main__':
    yett.main()
