# SPDX-License-Identifier: Apache-2.0
"""
Personal mode of an ordinary user, without root anywhere: what holds as elsewhere (the cases of test_inside.py), what differs,
what is refused, and what is said of it.
"""
import contextlib
import errno
import glob
import os
import re
import shutil
import signal
import socket
import subprocess

import test_cli
import test_events
import test_inside
import test_store
import test_workspace
import growing
import yett

PROFILES = {'labelled': 'label = required', 'devices': 'devices = {"/dev/fuse"}', 'capable': 'capabilities = {"chown"}',
            'root': 'identity = root', 'caller': 'identity = caller\nmemory = unlimited',
            'processor': 'memory = unlimited\ncpus = 1.5\ncpu_weight = 50',
            'small': 'pids = 20\nfiles = 30\nfile_size = 1M\ncpu_time = 1'}

POLICY = '\n'.join('profile "%s" {\nextends = "default"\n%s\n}' % item for item in PROFILES.items()) + '''
grant "all" {
  users = {"*"}
  user_keys = true
  profiles = {%s}
  devices = {"/dev/fuse"}
  capabilities = {"chown"}
  identity_root = true
  identity_caller = true
  max_sandboxes = 2
}
''' % ', '.join('"%s"' % name for name in PROFILES)


# Shares a directory by its descriptor, which may have been renamed or removed since it was opened.
SHARE = '''
import ctypes, os, sys
yett = ctypes.CDLL(sys.argv[1])
class Share(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("target", ctypes.c_char_p), ("flags", ctypes.c_uint32), ("fd", ctypes.c_int)]
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("profile", ctypes.c_char_p), ("hostname", ctypes.c_char_p), ("directory", ctypes.c_char_p),
                ("shares", ctypes.POINTER(Share)), ("count", ctypes.c_size_t), ("rest", ctypes.c_char * 1024)]
YETT_SHARE_FD = 2
share = Share(ctypes.sizeof(Share), None, b"/work", YETT_SHARE_FD, os.open(sys.argv[2], os.O_PATH))
error, connection, sandbox = ctypes.create_string_buffer(4096), ctypes.c_void_p(), ctypes.c_void_p()
assert yett.yett_connect(None, ctypes.byref(connection), error) == 0
if sys.argv[3]:
    {"rename": lambda path: os.rename(path, path + ".moved"), "remove": os.rmdir}[sys.argv[3]](sys.argv[2])
r = yett.yett_sandbox_create(connection, ctypes.byref(Options(ctypes.sizeof(Options), None, None, None, ctypes.pointer(share), 1)), ctypes.byref(sandbox), error)
print("shared" if r == 0 else error.raw.replace(b"\\0", b""))
'''


# Makes and ends sandboxes on one connection, one for each line: of the profile that the line names.
SEVERAL = '''
import ctypes, os, sys
yett = ctypes.CDLL(sys.argv[1])
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("profile", ctypes.c_char_p), ("rest", ctypes.c_char * 1024)]
error, connection, sandbox = ctypes.create_string_buffer(4096), ctypes.c_void_p(), ctypes.c_void_p()
assert yett.yett_connect(None, ctypes.byref(connection), error) == 0, error.raw
print("connected", flush=True)
for line in sys.stdin:
    options = Options(ctypes.sizeof(Options), line.strip().encode())
    assert yett.yett_sandbox_create(connection, ctypes.byref(options), ctypes.byref(sandbox), error) == 0, error.raw
    print("made", flush=True)
    assert sys.stdin.readline() == "end\\n"
    assert yett.yett_sandbox_end(sandbox, error) == 0, error.raw
    yett.yett_sandbox_close(sandbox)
    print("ended", flush=True)
yett.yett_connection_close(connection)
'''


class Confinement(test_inside.Confinement):
    service_class = yett.Rootless
    test_init_as_the_host_sees_it_is_a_sealed_memory_file = None  # by the helper's log, which there is none of
    test_init_cannot_be_touched_by_the_payload = None  # but not ended: hostile-rootless


class Shares(test_inside.Shares):
    service_class = yett.Rootless
    test_mounts_below_a_share_go_along_and_are_restricted_too = None  # they are not id-mapped

    def test_mounts_below_a_share_go_along_and_are_restricted(self):
        directory, other = self.folder('outer'), self.folder('other', mode=0o777)
        os.mkdir(directory + '/inner')
        subprocess.run(['mount', '--bind', other, directory + '/inner'], check=True)
        self.addCleanup(subprocess.run, ['umount', directory + '/inner'], check=True)
        yett.write(directory + '/inner/file', 'below')
        self.assertEqual(self.output('cat', directory + '/inner/file', options=['--ro', directory]), 'below')
        self.assertIn('Read-only', self.sandbox('sh', '-c', 'echo x >%s/inner/new' % directory, options=['--ro', directory]).err)
        lines = self.output('grep', directory, '/proc/mounts', options=['--rw', directory]).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(all('nosuid' in line and 'nodev' in line for line in lines), lines)

    def test_a_directory_that_no_path_leads_to_is_refused(self):
        library = glob.glob(self.service.run_.path('libclient/libyett.so.*'))[0]
        sanitizer = re.search(r'libasan\S* => (\S+)', subprocess.run(['ldd', library], capture_output=True, text=True).stdout)
        env = {'LD_PRELOAD': sanitizer.group(1), 'ASAN_OPTIONS': 'detect_leaks=0'} if sanitizer else {}  # python leaks
        for change, said in (('', 'shared'), ('rename', 'shared'), ('remove', 'cannot be found by its path')):
            with self.subTest(change):
                work = self.folder('work')
                self.addCleanup(shutil.rmtree, work + '.moved', ignore_errors=True)
                done = self.service.run(self.alice, 'python3', '-c', SHARE, library, work, change, env=env)
                self.assertIn(said, done.out, done)
                shutil.rmtree(work, ignore_errors=True)


class Changes(test_workspace.Changes):
    service_class = yett.Rootless


class Stores(test_workspace.Stores):
    service_class = yett.Rootless


class Refused(test_workspace.Refused):
    service_class = yett.Rootless


class Again(test_store.Again):
    service_class = yett.Rootless


class Hidden(test_store.Hidden):
    service_class = yett.Rootless
    test_what_is_listed_for_the_profile_is_hidden_without_being_asked_for = None  # takes a policy with profiles; the rest is the client's


class Denied(test_events.Denied):
    service_class = yett.Rootless
    pausing = ()  # takes a control group


class Streams(test_cli.Streams):
    service_class = yett.Rootless


class Identity(yett.Case):
    service_class = yett.Rootless
    test_no_capability = test_inside.Identity.test_no_capability_no_new_privileges_and_a_filter
    test_ids = test_inside.Identity.test_ids_are_the_callers_numbers_and_names

    def test_outside_it_has_the_callers_ids_in_namespaces_of_its_own(self):
        process = self.start('sh', '-c', 'echo up; read x', groups=[self.alice.gid, 4242])
        self.line(process)
        init = next(pid for pid in self.service.leftover_processes() if yett.argv_of(pid)[:1] == ['yett-init'])
        command = yett.children_of(init)[0]
        status = yett.status_of(command)
        self.assertEqual(status['Uid'].split() + status['Gid'].split(), [str(self.alice.uid)] * 4 + [str(self.alice.gid)] * 4)
        self.assertIn('4242', status['Groups'].split())  # a file that denies a group stays denied
        self.assertEqual([status[name] for name in test_inside.CAPABILITY_SETS], [test_inside.NO_CAPABILITY] * 5)
        self.assertTrue(os.readlink('/proc/%d/exe' % init).startswith('/memfd:'))
        helper = yett.parent_of(yett.parent_of(init))
        for name in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'):
            with self.subTest(namespace=name):
                own = os.readlink('/proc/%d/ns/%s' % (command, name))
                self.assertNotIn(own, [os.readlink('/proc/%s/ns/%s' % (pid, name)) for pid in ('self', helper)])

    def test_files_are_given_to_nobody_else_with_the_error_that_hosts_have(self):
        script = """
import errno, os
open('/tmp/file', 'w')
uid, gid = os.getuid(), os.getgid()
held = os.open('/tmp/file', os.O_RDONLY)
for change in (os.chown, os.lchown, lambda path, *ids: os.chown(held, *ids), lambda path, *ids: os.chown('file', *ids, dir_fd=os.open('/tmp', os.O_RDONLY))):
    for ids in ((uid, gid), (-1, -1), (uid, -1), (0, 0), (0, -1), (-1, 0), (uid, gid + 1), (uid + 1, gid), (65534, 65534)):
        try:
            change('/tmp/file', *ids)
            print('ok', end=' ')
        except OSError as error:
            print(errno.errorcode[error.errno], end=' ')
"""
        self.assertEqual(self.python(script).split(), (['ok'] * 3 + ['EPERM'] * 6) * 4)

    def test_nothing_of_it_is_root_anywhere(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        for pid in self.service.leftover_processes():
            self.assertEqual(yett.status_of(pid)['Uid'].split(), [str(self.alice.uid)] * 4, yett.argv_of(pid))

    def test_what_root_owns_shows_as_nobodys(self):
        self.assertEqual(self.output('stat', '-c', '%U', '/usr/bin/env').strip(), 'nobody')

    def test_devices_and_terminals_work(self):
        self.assertEqual(self.shell('head -c4 /dev/zero | wc -c; echo x >/dev/null; head -c3 /dev/urandom | wc -c; '
                                    'echo y >/dev/full 2>/dev/null || echo full; ls /dev').split(),
                         ['4', '3', 'full', 'fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout',
                          'tty', 'urandom', 'zero'])
        self.assertEqual(self.python('import os, pty; a, b = pty.openpty(); print(os.ttyname(b))'), '/dev/pts/0\n')


class Means(yett.Case):
    """What can be held, what is refused, and what is said."""

    service_class = yett.Rootless
    service_options = {'before': POLICY}

    def refused(self, *texts, options=()):
        done = self.sandbox('true', options=options)
        self.assert_refused(done, 125, 'without root', *texts)
        self.assertNotIn('retry', done.err)
        return done

    def test_one_line_says_what_is_weaker(self):
        done = self.sandbox('true')
        self.assertEqual([line for line in done.err.splitlines() if 'weaker' in line],
                         ['yett: weaker without root: commands have your own uid outside, too; '
                          'no limit of memory (2G); no limit of pids of all your sandboxes (65536)'])
        said = yett.told(self.output('true', options=['--json']))['sandbox']
        self.assertIn('no limit of memory', said['weaker'])
        self.assertEqual((said['private_uid'], said['limits']['memory_bytes'], said['limits']['pids']), (self.alice.uid, 0, 512))
        self.assertIn('weaker without root: commands have your own uid', self.output('true', options=['--dry-run']))

    def test_only_what_is_missing_is_said(self):
        # The grant for everyone bounds its users in whatever another one gives.
        self.assertIn('yett: weaker without root: no limit of pids of all your sandboxes (65536)\n',
                      self.sandbox('true', options=['-p', 'caller']).err)

    def test_a_processor_share_that_is_not_held_is_said(self):
        self.assertIn('no limit of cpus (1.5); no limit of cpu_weight (50)', self.sandbox('true', options=['-p', 'processor']).err)

    def test_limits_that_take_a_control_group_are_refused_when_asked(self):
        self.refused('memory cannot be limited', 'systemd-run --user --scope', options=['--memory', '64M'])
        self.refused('cpus cannot be limited', options=['--cpus', '1'])
        self.refused('processor time of a sandbox cannot be limited', options=['--cpu-time', '1s'])
        self.refused('cannot be paused', options=['--idle-timeout', '1s', '--idle-action', 'pause'])

    def test_a_network_of_every_port_is_refused(self):
        for options, text in ((['--net', 'open'], 'a network cannot be open'), (['--allow', 'pypi.org'], "and 'pypi.org' exceeds that")):
            for more in ([], ['--dry-run']):
                with self.subTest(options=options, more=more):
                    self.assert_refused(self.sandbox('true', options=options + more), 125, 'without root, a network', text)

    def test_what_the_profile_insists_on_is_refused(self):
        for profile, text in (('devices', 'device nodes'), ('capable', 'capabilities'), ('root', 'root inside')):
            with self.subTest(profile=profile):
                self.refused(text, 'docs/admin.md', options=['-p', profile])
        # a label can be had, of AppArmor, where it is loaded
        done = self.sandbox('true', options=['-p', 'labelled'])
        self.assertTrue(done.code == 0 or 'is required' in done.err or 'that the profile requires' in done.err, done)

    def test_other_limits_hold(self):
        options = ['-p', 'small']
        done = self.sandbox('python3', '-c', '''
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError as error:
    print(made, error.errno, flush=True)
    os._exit(7)
''', options=options)
        self.assertEqual((done.code, done.out), (7, '19 11\n'), done)
        self.assertIn('Too many open files', self.sandbox('python3', '-c', 'x = [open("/dev/null") for _ in range(30)]', options=options).err)
        self.assertEqual(self.sandbox('sh', '-c', 'head -c 2M /dev/zero >/tmp/x', options=options).code, 153)
        self.assertIn('processor time limit', self.sandbox('sh', '-c', 'while :; do :; done', options=options).err)
        self.assertEqual(self.sandbox('sleep', '100', options=['--timeout', '100ms']).code, 124)
        self.assertIn('No space left', self.sandbox('sh', '-c', 'head -c 2M /dev/zero >/x/y', options=['--tmpfs', '/x:1M']).err)

    def test_limits_of_a_process_are_at_most_the_users_own(self):
        def under(script, *options):
            return self.service.run(self.alice, 'sh', '-c', script + '; exec "$@"', 'sh', self.service.yett, 'run', *options, '--', 'sh', '-c', 'ulimit -n')

        done = under('ulimit -Sn 2000; ulimit -Hn 2000')
        self.assertEqual((done.code, done.out), (0, '2000\n'), done)
        self.assert_refused(under('ulimit -Sn 2000; ulimit -Hn 2000', '--files', '3000'), 125,
                            "files of 3000 is more than the helper's own limit of 2000")
        self.assertEqual(under('ulimit -Sn 2000; ulimit -Hn 2000', '--files', '1900').out, '1900\n')

    def test_as_many_sandboxes_as_the_grant_says(self):
        held = [self.start('sh', '-c', 'echo up; read x', options=['-p', 'caller']) for _ in range(2)]
        self.assertEqual([self.line(process) for process in held], ['up', 'up'])
        self.assert_refused(self.sandbox('true', options=['-p', 'caller']), 125, '2 sandboxes at once')


class Lives(yett.Case):
    """Each command line has a helper, and namespaces, of its own: what lingers is found on disk."""

    service_class = yett.Rootless

    def test_one_that_lingers_is_there_for_others(self):
        done = self.yett('create', '--name', 'lasts', '--label', 'a=b')
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.yett('exec', 'lasts', '--', 'sh', '-c', 'echo kept >/tmp/file').code, 0)
        self.assertEqual(self.yett('exec', 'lasts', '--', 'cat', '/tmp/file').out, 'kept\n')
        self.assertEqual(self.yett('ps', '-q').out, done.out)
        self.assert_refused(self.yett('create', '--name', 'lasts'), 1, 'there already')
        self.assert_refused(self.yett('pause', 'lasts'), 1, 'cannot be paused: without root')
        self.assertEqual(self.yett('ps', '-q', user=self.bob).out, '')
        self.assertEqual(self.yett('inspect', done.out.strip(), user=self.bob).code, 1)
        self.assertEqual(self.yett('destroy', 'lasts').code, 0)
        self.service.wait_no_leftovers()

    def test_it_is_found_when_a_service_has_come(self):
        self.assertEqual(self.yett('create', '--name', 'lasts', '--cow', self.folder('work') + ':/mnt/work').code, 0)
        self.addCleanup(self.yett, 'destroy', 'lasts')
        with yett.Service() as service:
            service.enter_key(self.alice)

            def ask(*argv, user=self.alice):
                return service.run(user, service.yett, *argv, env={'YETT_HELPER': self.service.script})
            self.assertEqual(ask('create', '--name', 'new').code, 0)
            self.assertEqual([each['name'] for each in yett.told(ask('ps', '--json').out)['sandboxes']], ['lasts', 'new'])
            self.assertEqual(ask('exec', 'lasts', '--', 'sh', '-c', 'echo one >/mnt/work/file; echo two >/tmp/file; id -u').out, '%d\n' % self.alice.uid)
            self.assertEqual(ask('cat', 'lasts:/tmp/file').out, 'two\n')
            self.assertEqual(ask('diff', '--name-only', 'lasts').out, 'file\n')
            self.assertEqual(ask('exec', 'none', '--', 'true').code, 125)
            self.assertEqual([each['name'] for each in yett.told(ask('ps', '--json', '--socket', service.socket).out)['sandboxes']], ['new'])
            self.assertEqual(ask('inspect', 'lasts', user=self.bob).code, 1)
            self.assertEqual(ask('destroy', 'lasts').code, 0)
            self.assertEqual(ask('ps', '-q').out.count('\n'), 1)
            self.assertEqual(ask('destroy', 'new').code, 0)

    def test_one_at_rest_ends(self):
        def begin(ms):
            """The limit, and a process in the sandbox that has it, which began before the limit was over."""
            life = ('--idle-timeout', '%dms' % ms)
            process = self.service.popen(self.alice, self.service.yett, 'run', '--linger', *life, '--', 'sh', '-c', 'echo up; read x; echo alive',
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(self.end, process)
            return (life, process) if self.line(process) == 'up' else None
        life, process = growing.grow(begin, 'the beginning of a command')
        busy = self.yett('ps', '-q').out.strip()
        idle = self.yett('create', *life).out.strip()
        self.assertTrue(busy and idle)
        yett.wait_until(lambda: idle not in self.yett('ps', '-q').out, 'the end of the idle one')
        self.assertIn(busy, self.yett('ps', '-q').out)
        self.assertEqual(process.communicate(b'\n')[0], b'alive\n')
        yett.wait_until(lambda: not self.yett('ps', '-q').out, 'the end of the other one')
        self.service.wait_no_leftovers()

    def test_its_place_is_nobody_elses(self):
        runtime = '/tmp/yett-%d' % self.bob.uid
        os.rename(runtime, runtime + '.kept')
        self.addCleanup(os.rename, runtime + '.kept', runtime)
        os.mkdir(runtime)
        self.addCleanup(os.rmdir, runtime)
        os.chown(runtime, self.alice.uid, self.alice.gid)
        box = self.yett('create', user=self.bob)
        self.assertEqual(box.code, 0, box)
        self.assertEqual(self.yett('ps', '-q', user=self.bob).out, box.out)
        self.assertEqual(self.yett('exec', box.out.strip(), '--', 'echo', 'there', user=self.bob).out, 'there\n')
        shared = self.sandbox('true', options=('--rw', self.bob.home), user=self.bob)
        self.assert_refused(shared, 125, self.bob.home, 'runtime')
        self.assertEqual(self.yett('destroy', box.out.strip(), user=self.bob).code, 0)
        yett.wait_until(lambda: not os.listdir(self.bob.home + '/.local/state/yett/run/ids'), 'nothing that is kept there')
        self.assertEqual(os.listdir(runtime), [])
        shutil.rmtree(self.bob.home + '/.local/state/yett/run')
        self.bob.write('.local/state/yett/run', '')
        done = self.sandbox('true', user=self.bob)
        self.assert_refused(done, 125, runtime, 'cannot be used: others can write to it, or have made it')
        self.assertNotIn('try again', done.err)


UNSHARE = {'x86_64': 272, 'aarch64': 97}[os.uname().machine]


def forbid_user_namespaces():
    """unshare(2) fails with EPERM from here on, as hosts do it."""
    yett.filter_call(UNSHARE, [(yett.GIVE, 0, 0, yett.FAIL_WITH | errno.EPERM)])


def forbid_network_namespaces():
    """Of network namespaces those fail, with ENOSPC, that are made by themselves."""
    yett.filter_call(UNSHARE, [(yett.LOAD, 0, 0, 16), (yett.EQUAL, 0, 1, 0x40000000), (yett.GIVE, 0, 0, yett.FAIL_WITH | errno.ENOSPC)])


class Nowhere(yett.Case):
    """Where users can have no user namespaces."""

    service_class = yett.Rootless

    def yett_without(self, *argv):
        return self.service.run(self.alice, self.service.yett, *argv, preexec_fn=forbid_user_namespaces)

    def test_it_is_refused_with_the_reason_and_can_still_plan(self):
        done = self.yett_without('run', '--', 'true')
        self.assert_refused(done, 125, 'without root a sandbox takes a user namespace', 'Operation not permitted', 'service')
        done = self.yett_without('run', '--dry-run', '--', 'true')
        self.assertEqual(done.code, 0, done)
        self.assertIn('user-namespace', done.out)
        self.assert_refused(self.yett_without('ps'), 1, 'without root a sandbox takes a user namespace')

    def test_doctor_says_so(self):
        done = self.yett_without('doctor')
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.out, r'(?m)^missing  start +personal, and you can have no user namespace')
        self.assertIn('have the administrator start the service', done.out)
        self.assertRegex(done.out, r'(?m)^weaker +network +connections can be intercepted only at ports that rules name: other ports need root$')
        config = self.bob.home + '/.config'
        os.rename(config, config + '.kept')
        self.addCleanup(os.rename, config + '.kept', config)
        done = self.service.run(self.bob, self.service.yett, 'doctor', preexec_fn=forbid_user_namespaces)
        self.assertIn('yett run will not work', done.out)  # without a key, and so without a trial, too


# A user namespace as a container has one, with a part of the ids and a /proc of its own, as root of it: the program in the arguments.
REMAPPED = '''
import ctypes, os, sys
libc, (ready, tell), (go, let) = ctypes.CDLL(None, use_errno=True), os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert libc.unshare(0x10000000 | 0x20000000) == 0  # CLONE_NEWUSER, CLONE_NEWPID
    os.write(tell, b"x")
    os.read(go, 1)
    os.execvp("unshare", ["unshare", "--mount", "--fork", "--mount-proc", *sys.argv[1:]])
os.read(ready, 1)
for name in ("uid_map", "gid_map"):
    with open("/proc/%d/%s" % (child, name), "w") as file:
        file.write("0 0 200000")
os.write(let, b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'''


class Contained(yett.Case):
    """What containers take away, one thing at a time: each ends in a sentence and its mend, or does no harm."""

    service_class = yett.Rootless

    def contained(self, setup, *argv, around=(), user=None):
        """yett in a mount namespace of its own, after a script that root runs in it."""
        user = user or self.alice
        prefix = [] if user.uid == 0 else ['setpriv', '--reuid', str(user.uid), '--regid', str(user.gid), '--clear-groups']
        script = 'set -e; %s; cd "$HOME"; exec "$@"' % setup
        command = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', *around, *prefix, self.service.yett, *argv]
        environment = {'HOME': user.home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8', **self.service.environment_of_client({})}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=yett.DEADLINE)
        return yett.Result(done.returncode, done.stdout, done.stderr)

    def assert_told(self, texts, setup, **more):
        done = self.contained(setup, 'run', '--', 'true', **more)
        self.assert_refused(done, 125, *texts)
        for word in ('try again', 'errno', 'set-up step'):
            self.assertNotIn(word, done.err)
        done = self.contained(setup, 'doctor', **more)
        self.assertEqual(done.code, 1, done)
        for text in texts:
            self.assertIn(text, done.out, done)
        self.assertIn('yett run will not work', done.out)

    def assert_works(self, setup, user=None, **more):
        done = self.contained(setup, 'run', '--', 'id', '-un', user=user, **more)
        self.assertEqual((done.code, done.out.strip()), (0, (user or self.alice).name), done)
        self.assertIn('yett run will work', self.contained(setup, 'doctor', user=user, **more).out)

    def root(self):
        """root, with a key where the user database says; what was made of it is taken away."""
        keys = os.path.join(yett.pwd.getpwuid(0).pw_dir, '.config/yett')
        if not os.path.exists(keys):
            self.addCleanup(shutil.rmtree, keys)
        root = yett.Root(self.folder('root'))
        self.service.write_policy_of(root)
        return root

    def test_a_proc_of_which_a_part_is_covered(self):
        self.assert_told(['a part of /proc is covered, as a container covers /proc/keys', 'systempaths=unconfined'], 'mount --bind /dev/null /proc/keys')

    def test_what_fails_for_another_reason_is_not_put_down_to_a_proc_that_is_covered(self):
        """No pid namespaces may be made there."""
        script = 'mount --bind /dev/null /proc/keys; echo 0 >/proc/sys/user/max_pid_namespaces; exec "$@"'
        done = self.contained('true', 'run', '--', 'true', around=['python3', '-c', REMAPPED, 'sh', '-c', script, 'sh'])
        self.assert_refused(done, 125, 'No space left on device')
        self.assertNotIn('/proc', done.err)

    def test_a_sys_that_is_read_only_or_not_there_and_no_control_groups(self):
        self.assert_works('mount --rbind /sys /sys; mount -o remount,bind,ro /sys')
        self.assert_works('umount -R -l /sys')

    def test_no_proc(self):
        if 'libasan' in subprocess.run(['ldd', self.service.yett], capture_output=True, text=True).stdout:
            self.skipTest('a sanitizer looks for leaks, and for what it may not, in /proc')
        self.assert_told(['/proc is not mounted', 'mount -t proc proc /proc'], 'umount -R -l /proc')

    def test_a_chroot(self):
        root = self.folder('root')
        self.assert_told(['the kernel allows none inside a chroot', 'run yett outside of it'],
                         'mount -t tmpfs none %s; mkdir %s/in; cd %s/in; for i in bin lib lib64 usr etc proc dev tmp; do mkdir $i; mount --rbind /$i $i; done'
                         % (root, root, root), around=['chroot', root + '/in'])

    def test_root_without_what_building_takes(self):
        root = self.root()
        for lacks, more in (('-sys_admin', []), ('-sys_admin', ['--no-new-privs']), ('-all', [])):
            # Nothing has served root on this machine before: there is no directory of its helper's.
            self.assert_told(['which root lacks here', 'run yett as an ordinary user in it'], 'mount -t tmpfs none /run', user=root,
                             around=['setpriv', '--bounding-set', lacks, '--inh-caps', '-all', *more])

    def test_a_user_namespace_with_a_part_of_the_ids(self):
        around = ['python3', '-c', REMAPPED]
        self.assert_told(['takes private user ids', 'run yett as an ordinary user in it'], 'true', around=around, user=self.root())
        self.assert_works('true', around=around)

    def test_a_user_namespace_of_one_id(self):
        ids = ['--map-user', str(self.alice.uid), '--map-group', str(self.alice.gid)]
        done = self.contained('true', 'run', '--', 'true', around=['setpriv', '--reuid', str(self.alice.uid), '--regid', str(self.alice.gid),
                                                                   '--clear-groups', 'unshare', '--user', *ids], user=yett.Root(self.alice.home))
        self.assert_refused(done, 125, 'it does not show here whether / is root\'s', 'run yett outside of it')


class Several(yett.Case):
    """Sandboxes one after the other on one connection: from the second on the next one is made ready before it is asked for."""

    service_class = yett.Rootless

    def setUp(self):
        library = glob.glob(self.service.run_.path('libclient/libyett.so.*'))[0]
        if 'libasan' in subprocess.run(['ldd', library], capture_output=True, text=True).stdout:
            self.skipTest('python has no sanitizer')
        self.client = self.service.popen(self.alice, 'python3', '-c', SEVERAL, library, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, self.client)
        self.assertEqual(self.line(self.client), 'connected')

    def say(self, line, answer):
        self.client.stdin.write(line.encode() + b'\n')
        self.client.stdin.flush()
        self.assertEqual(self.line(self.client), answer)

    def helper_of_client(self):
        return next(pid for pid in yett.children_of(self.client.pid) if yett.is_alive(pid))

    def family(self):
        """The supervisors, and the init of each."""
        inits = {}
        for supervisor in yett.children_of(self.helper_of_client()):
            for pid in yett.children_of(supervisor):
                if yett.argv_of(pid)[:1] == ['yett-init'] and yett.is_alive(pid):
                    inits[supervisor] = pid
        return inits

    def has_announced_itself(self):
        """Whether the next request finds one: it has written to the pair of sockets of which the helper has both."""
        held = yett.sockets_of(self.helper_of_client())
        sockets = subprocess.run(['ss', '--unix', '--all', '--no-header'], check=True, capture_output=True, text=True).stdout
        fields = (line.split() for line in sockets.splitlines())
        return any(int(one[2]) and one[5] in held and one[7] in held for one in fields)

    def make(self, profile='default'):
        """A sandbox, made and ended: who had it, by what family() says. One that is not ready() yet is not taken, and stays beside it."""
        self.say(profile, 'made')
        made = self.one_alone()
        self.say('end', 'ended')
        return made

    def ready(self):
        """The one that the next request finds."""
        yett.wait_until(self.has_announced_itself, 'one that is ready')
        return self.one_alone()

    def one_alone(self):
        """The one that is there, once one that was not wanted is gone."""
        found = []

        def is_alone():
            found[:] = self.family().items()
            return len(found) == 1
        yett.wait_until(is_alone, 'one alone')
        return found[0]

    def test_the_first_leaves_nothing_and_the_second_the_next(self):
        first = self.make()
        self.assertEqual(self.family(), {})
        second = self.make()
        third = self.ready()
        self.assertNotIn(third, (first, second))
        self.assertEqual(third[0], second[0])
        self.assertEqual(self.make(), third)
        self.assertEqual(self.ready()[0], second[0])
        self.client.stdin.close()
        self.assertEqual(self.client.wait(yett.DEADLINE), 0)
        self.assertEqual(self.service.leftovers(), [])

    def test_it_serves_no_other_profile(self):
        self.make()
        self.make()
        spare = self.ready()
        self.assertNotEqual(self.make('strict')[0], spare[0])
        spare = self.ready()
        self.assertEqual(self.make('strict'), spare)
        self.ready()
        self.assertNotEqual(self.make()[0], spare[0])

    def test_one_that_was_killed_is_replaced(self):
        self.make()
        self.make()
        spare = self.ready()
        os.kill(spare[0], signal.SIGKILL)
        yett.wait_until(lambda: not yett.is_alive(spare[0]) and not yett.is_alive(spare[1]), 'the end of both')
        self.assertNotEqual(self.make()[0], spare[0])
        spare = self.ready()
        os.kill(spare[1], signal.SIGKILL)
        yett.wait_until(lambda: not yett.is_alive(spare[1]), 'the end of init')
        self.assertNotEqual(self.make()[1], spare[1])

    def test_nothing_is_left_when_the_client_or_the_helper_is_killed(self):
        for victim in ('client', 'helper'):
            with self.subTest(victim):
                self.make()
                self.make()
                self.ready()
                helper = next(pid for pid in yett.children_of(self.client.pid) if yett.is_alive(pid))
                os.kill({'client': self.client.pid, 'helper': helper}[victim], signal.SIGKILL)
                yett.wait_until(lambda: not self.service.leftover_processes(), 'the end of all processes')
                self.output('true')  # which takes away what the dead have left on disk
                self.service.wait_no_leftovers()
                self.end(self.client)
                if victim == 'client':
                    self.setUp()


class Programs(yett.Case):
    """Which of the two programs serves whom."""

    service_class = yett.Rootless

    def test_an_ordinary_user_s_yett_helper_becomes_the_program_that_has_no_privilege(self):
        env = {'YETT_HELPER': self.service.run_.path('helper/yett-helper')}
        process = self.start('sh', '-c', 'echo up; read x', env=env)
        self.assertEqual(self.line(process), 'up')
        helper = next(pid for pid in yett.children_of(process.pid) if yett.is_alive(pid))
        self.assertEqual(os.readlink('/proc/%d/exe' % helper), self.service.helper)
        # what takes no sandbox it does itself
        self.assertIn('yett-helper ', self.service.run(self.alice, env['YETT_HELPER'], '--version').out)

    def test_root_is_not_served_without_root(self):
        root = yett.Root(self.folder('root'))
        done = self.service.run(root, self.service.helper, '--personal', '--fd', '0', stdin=subprocess.DEVNULL)
        self.assertEqual(done.code, 1, done)
        self.assertIn("yett-rootless serves ordinary users; root's program is yett-helper", done.err)

    def test_it_is_no_service(self):
        folder = self.folder('listens')
        server = self.alice.popen(['systemd-socket-activate', '--seqpacket', '-l', folder + '/socket', self.service.helper], stderr=subprocess.PIPE)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.terminate)
        yett.wait_until(lambda: os.path.exists(folder + '/socket'), 'the socket')
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            yett.wait_until(lambda: Others.connected(client, self.alice.uid, folder + '/socket'), 'the server')
            self.assertIn(b'a helper without root serves one connection', server.stderr.read())


# In place of a helper that libyett starts: hands all packets on to the socket at a path, and back.
RELAY = '''#!/usr/bin/env python3
import os, select, socket
near, far = socket.socket(fileno=3), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
far.connect(%r)
while True:
    for source in select.select([near, far], [], [])[0]:
        data, fds, _, _ = socket.recv_fds(source, 1 << 20, 253)
        if not data:
            os._exit(0)
        socket.send_fds(far if source is near else near, [data], fds)
        for fd in fds:
            os.close(fd)
'''


class Others(yett.Case):
    """A helper that is not root's, behind a socket to which others may connect: each connection has one, as with Accept=yes."""

    service_class = yett.Rootless

    def setUp(self):
        super().setUp()
        self.socket = self.folder('listens') + '/socket'
        server = self.alice.popen(['systemd-socket-activate', '--seqpacket', '--accept', '-l', self.socket, self.service.script], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        yett.wait_until(lambda: os.path.exists(self.socket), 'the socket')
        os.chmod(self.socket, 0o666)
        self.relay = os.path.dirname(self.socket) + '/relay'
        yett.write(self.relay, RELAY % self.socket, 0o755)

    def asked(self, *before):
        """By a client of its own: libyett uses no socket that is not root's."""
        return self.service.run(self.alice, *before, self.service.yett, 'run', '-q', '--', 'echo', 'served', env={'YETT_HELPER': self.relay})

    def test_another_user_is_not_served(self):
        for uid, is_served in ((self.alice.uid, True), (self.bob.uid, False)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                yett.wait_until(lambda: self.connected(client, uid, self.socket), 'the server')
                client.settimeout(yett.DEADLINE)
                self.assertEqual(client.recv(65536)[:4] == b'YETT', is_served)  # a hello, or the end

    def test_a_confined_client_is_not_served_by_a_helper_that_it_has_not_started(self):
        yett.wait_until(lambda: self.asked().out == 'served\n', 'the server')
        self.assert_refused(self.asked('setpriv', '--no-new-privs'), 125, 'the client is confined')

    def test_a_helper_that_sees_no_pid_of_its_client_takes_it_for_confined(self):
        """Process 1 of a pid namespace has a parent of pid 0, and every client outside has that pid."""
        path = os.path.dirname(self.socket) + '/process1'
        server = subprocess.Popen(['systemd-socket-activate', '--seqpacket', '--accept', '-l', path, 'sh', '-c',
                                   'unset LISTEN_PID LISTEN_FDS; exec unshare --pid --fork --mount-proc setpriv --reuid %d --regid %d --clear-groups %s --fd 3'
                                   % (self.alice.uid, self.alice.gid, self.service.script)], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        yett.wait_until(lambda: os.path.exists(path), 'the socket')
        os.chmod(path, 0o666)
        yett.write(self.relay, RELAY % path, 0o755)
        yett.wait_until(lambda: 'Connection' not in self.asked().err, 'the server')
        self.assert_refused(self.asked('setpriv', '--no-new-privs'), 125, 'the client is confined')

    def test_a_confined_client_is_served_by_its_own_helper(self):
        done = self.service.run(self.alice, 'setpriv', '--no-new-privs', self.service.yett, 'run', '-q', '--', 'echo', 'served')
        self.assertEqual(done.out, 'served\n', done)

    @staticmethod
    def connected(client, uid, path):
        """Whether a server listens there: a moment after it has bound the socket."""
        os.seteuid(uid)  # what the kernel notes of who connects
        try:
            client.connect(path)
        except ConnectionRefusedError:
            return False
        finally:
            os.seteuid(0)
        return True


class BuildTree(yett.Case):
    """A build tree of a user's own, as make leaves it: nothing installed, nothing in the environment."""

    service_class = yett.Rootless

    def setUp(self):
        if os.path.exists('/run/yett/socket'):
            self.skipTest('a service is installed on this machine, and answers first')
        self.tree = self.folder('tree')
        os.mkdir(self.tree + '/cli')
        shutil.copy(self.service.yett, self.tree + '/cli')
        shutil.copytree(self.service.run_.path('helper'), self.tree + '/helper')
        for path, _, names in os.walk(self.tree):
            for name in [path, *(os.path.join(path, name) for name in names)]:
                os.chown(name, self.alice.uid, self.alice.gid)

    def own(self, *argv, user=None, program=None):
        user = user or self.alice
        with user.popen([program or self.tree + '/cli/yett', *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=yett.DEADLINE)
        return yett.Result(process.returncode, out.decode(), err.decode())

    def test_its_programs_are_found_beside_yett(self):
        done = self.own('run', '--', 'id', '-un')
        self.assertEqual((done.code, done.out.strip()), (0, self.alice.name), done)
        self.assertIn('weaker without root', done.err)
        self.assertIn(self.tree + '/helper/yett-rootless', self.own('doctor').out)
        self.alice.write('given', 'to it')
        self.addCleanup(os.unlink, self.alice.home + '/given')
        done = self.own('run', '--copy-in', 'given:/tmp/given', '--', 'cat', '/tmp/given')  # by yett-files
        self.assertEqual((done.code, done.out), (0, 'to it'), done)

    def test_the_demo_shows_what_it_says(self):
        script = shutil.copy(os.path.join(yett.SOURCE, 'tools', 'demo'), self.folder('demo'))
        done = self.own(self.tree, program=script)
        self.assertEqual(done.code, 0, done)

    def test_of_another_user_they_are_not_executed(self):
        done = self.own('run', '--', 'id', '-un', user=self.bob)
        self.assertEqual((done.code, done.out), (125, ''), done)
        self.assertIn('the helper is not executed, because others could have changed', done.err)
        done = self.own('doctor', user=yett.Root(self.bob.home))  # which makes no key of root's
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.out, '(?m)^missing  start +the helper is not executed, because others could have changed')

    def test_a_demo_is_not_built_by_root_in_another_user_s_checkout(self):
        checkout = self.folder('checkout')
        shutil.copy(os.path.join(yett.SOURCE, 'Makefile'), checkout)
        shutil.copytree(os.path.join(yett.SOURCE, 'tools'), checkout + '/tools')
        for folder, owner in ((checkout, self.alice), (checkout + '/build', self.bob)):
            with self.subTest(folder):
                os.makedirs(folder, exist_ok=True)
                os.chown(folder, owner.uid, owner.gid)
                before = sorted(os.listdir(checkout))
                done = subprocess.run(['make', '-C', checkout, 'demo'], capture_output=True, text=True, timeout=yett.DEADLINE, check=False)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn('belongs to %s: run make demo as that user' % owner.name, done.stderr)
                self.assertEqual(sorted(os.listdir(checkout)), before)
            os.chown(checkout, 0, 0)

    def test_other_programs_look_for_the_installed_ones(self):
        os.rename(self.tree + '/cli', self.tree + '/bin')
        done = self.own('run', '--', 'id', '-un', program=self.tree + '/bin/yett')
        self.assertNotIn(self.tree, done.err)
        self.assertNotIn(self.tree, self.own('doctor', program=self.tree + '/bin/yett').out)

    def test_without_its_helper_the_installed_one_is_looked_for(self):
        os.unlink(self.tree + '/helper/yett-helper')
        self.assertNotIn(self.tree, self.own('doctor').out)


class Doctor(yett.Case):
    service_class = yett.Rootless

    def test_what_cannot_be_had_without_root_has_its_reason(self):
        done = self.yett('doctor', '--capabilities', '--json')
        self.assertEqual(done.code, 0, done)
        told = {found['name']: found for found in yett.told(done.out)['capabilities']}
        for name in ('sandbox', 'network-none', 'limit-pids', 'linger'):
            self.assertTrue(told[name]['supported'], told[name])
        self.assertEqual(told['sandbox']['how'], 'rootless')
        for name in ('network-open', 'limit-memory', 'limit-cpu', 'pause', 'suspend-on-idle'):
            self.assertEqual((told[name]['supported'], told[name]['code'], told[name]['how']), (False, 'unsupported', None), told[name])
            self.assertIn('without root', told[name]['reason'])
            self.assertTrue(told[name]['mend'] or name == 'pause', told[name])

    def test_it_says_which_way_and_what_is_weaker(self):
        done = self.yett('doctor')
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'(?m)^weaker   start +personal, in a user namespace of your own: ' + re.escape(self.service.script))
        self.assertRegex(done.out, r'(?m)^weaker   trial +a command ran in a sandbox, weaker without root: commands have your own uid outside')
        self.assertIn('systemd-run --user --scope', done.out)
        self.assertRegex(done.out, r'(?m)^weaker   network +without root: one listener for each port that rules name, at most 256')

    def test_it_says_why_there_is_no_network(self):
        done = self.service.run(self.alice, self.service.yett, 'doctor', preexec_fn=forbid_network_namespaces)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'(?m)^weaker   network +without root, a network takes a second network namespace')


class Delegated(yett.Case):
    """A control group that the service manager gave to the user, as it does below user@UID.service."""

    service_class = yett.Rootless

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tree = next(path for path in ('/sys/fs/cgroup/unified', '/sys/fs/cgroup') if os.path.exists(path + '/cgroup.procs'))
        cls.top = '%s/%s' % (cls.tree, cls.service.name)
        cls.manager = '%s/user@%d.service' % (cls.top, cls.alice.uid)
        os.makedirs(cls.manager + '/app')
        cls.addClassCleanup(cls.remove)
        cls.controllers = yett.read(cls.tree + '/cgroup.controllers').split()
        for path in (cls.tree, cls.top, cls.manager):
            for controller in {'memory', 'cpu', 'pids'} & set(cls.controllers):
                with open(path + '/cgroup.subtree_control', 'w', encoding='ascii') as file:
                    file.write('+' + controller)
        for path in (cls.manager, cls.manager + '/app'):
            for name in ('', '/cgroup.procs', '/cgroup.subtree_control', '/cgroup.threads'):
                os.chown(path + name, cls.alice.uid, cls.alice.gid)

    @classmethod
    def remove(cls):
        def is_gone():
            for path, _, _ in os.walk(cls.top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
            return not os.path.exists(cls.top)
        yett.wait_until(is_gone, 'the removal of ' + cls.top)

    def delegated(self, *argv):
        script = 'echo $$ >%s/app/cgroup.procs; exec "$@"' % self.manager
        return self.service.run(yett.Root(self.service.folder), 'sh', '-c', script, 'sh', 'setpriv', '--reuid', str(self.alice.uid),
                                '--regid', str(self.alice.gid), '--clear-groups', 'env', 'HOME=' + self.alice.home, self.service.yett, *argv)

    def test_a_sandbox_has_a_group_and_can_be_paused(self):
        self.assertEqual(self.delegated('create', '--name', 'grouped').code, 0)
        groups = [path for path, _, _ in os.walk(self.manager + '/yett') if path.endswith('/init')]
        self.assertEqual(len(groups), 1, groups)
        self.assertEqual(len(yett.read(groups[0] + '/cgroup.procs').split()), 1)
        done = self.delegated('pause', 'grouped')
        self.assertEqual(done.code, 0, done)
        self.assertIn('frozen 1', yett.read(os.path.dirname(groups[0]) + '/cgroup.events'))
        self.assertEqual(self.delegated('resume', 'grouped').code, 0)
        self.assertEqual(self.delegated('exec', 'grouped', '--', 'cat', '/proc/self/cgroup').out.splitlines()[-1][:3], '0::')
        self.assertEqual(self.delegated('destroy', 'grouped').code, 0)
        self.assertEqual(self.delegated('run', '--cpu-time', '20s', '--', 'true').code, 0)
        self.service.wait_no_leftovers()
        yett.wait_until(lambda: not os.path.exists(groups[0]), 'the end of the group')

    def test_limits_hold_as_far_as_controllers_came_along(self):
        done = self.delegated('run', '--memory', '32M', '--', 'python3', '-c', 'x = bytearray(1 << 30)')
        if 'memory' in self.controllers:
            self.assertEqual(done.code, 137, done)
            self.assertIn('memory limit reached', done.err)
            self.assertNotIn('no limit of memory', done.err)
        else:
            self.assert_refused(done, 125, 'memory cannot be limited')
            self.assertIn('no limit of memory', self.delegated('run', '--', 'true').err)


if __name__ == '__main__':
    yett.main()
