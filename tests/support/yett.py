# SPDX-License-Identifier: Apache-2.0
"""
The harness of the system tests: a service of our own, ordinary users, and what is left when it is over.

Runs as root, on the standard library alone. Each run has its own runtime directory, cgroups, id ranges and users, so
runs do not meet; nothing of it outlives the run. Test files end with yett.main(); a program in C that wants a service
is started by `yett.py PROGRAM`.
"""
import atexit
import contextlib
import ctypes
import errno
import glob
import itertools
import json
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import alone
import places
import selinux
import tiers
import waiting
from settings import changed as machine_setting, unchanged as machine_setting_unchanged  # noqa: F401
from waiting import DEADLINE, wait_until  # noqa: F401 (seconds until a test gives up on an event that never comes)

IDS_PLACE = 1610612736  # where the ranges of these runs begin: below those of an installed service
IDS_RANGES = 64
RANGE = 65536
CLOSER, DECIDERS, DECIDERS_COUNT = 3, 1024, 32768  # enum idmap_role and IDMAP_DECIDERS in helper/setup/idmap.h
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What is copied from the build tree, under the same names: it may lie where ordinary users cannot go.
STAGED = ('cli/yett', 'agent/yett-agent', 'helper/yett-helper', 'helper/yett-rootless', 'helper/yett-decider', 'helper/yett-decoder', 'helper/yett-closer', 'helper/yett-audit', 'helper/yett-init', 'helper/yett-policy', 'helper/yett-reader', 'helper/yett-reader-nss', 'helper/yett-explain', 'helper/yett-files', 'helper/yett-diff', 'helper/yett-apply', 'helper/yett-dialer', 'helper/yett-front', 'helper/yett-resolver', 'libclient/libyett.so.*[0-9]', 'checkpoint/libyett-checkpoint.so.*[0-9]', 'checkpoint/examples/go_back', 'workspace/libyett-workspace.so.*[0-9]', 'workspace/examples/try_changes',
          'libclient/examples/run_command', 'libclient/examples/make_key', 'libclient/examples/share_directory', 'libclient/examples/event_loop',
          'libclient/examples/stop_command', 'libclient/examples/copy_files', 'libclient/examples/follow_sandbox', 'libclient/examples/collect_output', 'libclient/examples/live_session', 'libclient/examples/publish_port', 'tests/system/test_library', 'tests/system/test_files', 'tests/system/test_commands',
          'tests/system/load', 'tests/system/yett-apply-faults', 'tests/system/calls', 'tests/system/checkpoints', 'tests/system/make_rules', 'tests/system/nss_probe.so', 'tests/system/take_used',
          'tests/hostile/test_files', 'tests/hostile/fake-files')

# To be seen by sanitizers of a sanitized build, and by nothing else.
PASSED_ENVIRONMENT = ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS')


BRING = '''
import contextlib, os, socket
caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
caller.connect(os.environ.get('YETT_SOCKET', '/run/yett/socket'))
caller.send(b'x')
print('brought', flush=True)
with contextlib.suppress(ConnectionResetError):  # what was not read may cost the answer: unix(7)
    caller.recv(65536)
'''


# A shell that runs something in the background, or nohup(1), has it ignore these, and so do all that it starts: tests send them.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def bring_something(listener, popen):
    """Has a connection from another user namespace, which is refused, bring something before the listener has looked at it."""
    os.kill(listener, signal.SIGSTOP)
    try:
        process = popen('unshare', '--user', '/usr/bin/python3', '-c', BRING)
        line = line_of(process.stdout)
    finally:
        os.kill(listener, signal.SIGCONT)
    if line != 'brought' or process.wait(DEADLINE) != 0:
        raise AssertionError('nothing was brought: ' + line)


def path_on_host(path):
    """The path of a file below /tmp for the machine itself, which has another /tmp: for programs that the kernel starts."""
    return os.environ.get(alone.FOLDER, '') + path


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def write(path, text, mode=0o644):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, mode)


def read_terminal(master):
    """All that came out on a terminal that nobody has open any more, in bytes. What was written last may still be on its way, so the kernel's word for the end counts."""
    found = []
    try:
        while part := os.read(master, 65536):
            found.append(part)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    return b''.join(found)


def told(text):
    """What a document of --json tells, in one dictionary: its result, with what became of the command as 'result', and the rest."""
    document = json.loads(text)
    if document['schema'] != 1:
        raise AssertionError('another schema: ' + text)
    found = dict(document['result'])
    if isinstance(found.get('command'), dict):
        found['result'] = found['command']['result']
    found.update((key, document[key]) for key in ('exit_code', 'error', 'notes') if key in document)
    return found


def status_of(pid):
    """/proc/PID/status as a dictionary; empty when there is none."""
    try:
        return {key: value.strip() for key, _, value in
                (line.partition(':') for line in read('/proc/%s/status' % pid).splitlines())}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def processes():
    return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def argv_of(pid):
    try:
        return read('/proc/%d/cmdline' % pid).split('\0')[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def age(pid):
    """For how many seconds it has run. proc_pid_stat(5)"""
    started = int(read('/proc/%d/stat' % pid).rpartition(')')[2].split()[19]) / os.sysconf('SC_CLK_TCK')
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def parent_of(pid):
    """By proc_pid_stat(5), which is read in a tenth of the time of the whole status: tests ask for it of every process, again and again. 0 when there is none."""
    try:
        with open('/proc/%d/stat' % pid, 'rb', buffering=0) as file:
            return int(file.read(4096).rpartition(b') ')[2].split(None, 2)[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def inits_among(pids):
    """Those that are PID 1 of a sandbox."""
    return [pid for pid in pids if status_of(pid).get('NSpid', '').split()[1:] == ['1']]


def is_building(pid):
    """Whether it is an init that builds its sandbox, or has one ready: it holds CAP_SYS_ADMIN until it serves."""
    return argv_of(pid)[:1] == ['yett-init'] and bool(int(status_of(pid).get('CapPrm', '0'), 16) & 1 << 21)


def has_ended(status):
    return status.get('State', 'Z').startswith(('Z', 'X'))


def is_alive(pid):
    return not has_ended(status_of(pid))


def kill(pid):
    """Kills, and returns once it is dead, and so is all that goes with it: until then a process acts, and others act for it."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), 'the end of process %d' % pid)


def sockets_of(pid):
    """The inodes of the sockets that a process holds."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir('/proc/%d/fd' % pid):
            with contextlib.suppress(OSError):
                found.update(re.findall(r'socket:\[(\d+)\]', os.readlink('/proc/%d/fd/%s' % (pid, name))))
    return found


def children_of(pid):
    return [child for child in processes() if parent_of(child) == pid]


def child_named(pid, name):
    """The child that runs a program by this name, or None."""
    return next((child for child in children_of(pid) if argv_of(child)[:1] == [name]), None)


def decider_and_decoder(monitor):
    """The processes that a monitor's connection has for its client: the decider hears it, and has the decoder read for it."""
    decider = child_named(monitor, 'yett-decider')
    return decider, child_named(decider, 'yett-decoder')


def capability_names(mask):
    """The numbers of the capabilities in a mask as /proc/PID/status has it."""
    return {number for number in range(64) if int(mask, 16) >> number & 1}


def landlock_abi():
    """What a sandbox should say of Landlock here: 2 to 9, or 0. landlock_create_ruleset(2)"""
    version = ctypes.CDLL(None).syscall(444, None, 0, 1)
    return min(version, 9) if version >= 2 else 0


def need_scopes():
    """For tests of the network host, which is given only where the host's abstract sockets are closed: by Landlock, as far as this goes."""
    if landlock_abi() < 6:
        raise unittest.SkipTest('Landlock of version 6 (Linux 6.12) is needed')


class User:
    """An ordinary user with a home, removed at the end of the run."""

    def __init__(self, name, home):
        remove_user(name)
        run_tool('useradd', '--no-create-home', '--home-dir', home, '--shell', '/bin/sh', '--user-group', name)
        entry = pwd.getpwnam(name)
        self.name, self.home, self.uid, self.gid, self.groups = name, home, entry.pw_uid, entry.pw_gid, []
        self.make_home()

    def make_home(self):
        shutil.rmtree(self.home, ignore_errors=True)
        self.mkdir('')
        selinux.label(self.home, 'user_home_dir_t')

    def mkdir(self, name, mode=0o755):
        path = os.path.join(self.home, name).rstrip('/')
        os.makedirs(path)
        os.chown(path, self.uid, self.gid)
        os.chmod(path, mode)
        return path

    def write(self, name, text='', mode=0o644, gid=None):
        path = os.path.join(self.home, name)
        write(path, text)
        os.chown(path, self.uid, self.gid if gid is None else gid)
        os.chmod(path, mode)
        return path

    def popen(self, argv, cwd=None, env=None, groups=None, gid=None, **more):
        environment = {'HOME': self.home, 'USER': self.name, 'LOGNAME': self.name, 'LANG': 'C.UTF-8',
                       'PATH': '/usr/local/bin:/usr/bin:/bin'}
        environment.update({name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ})
        environment.update(env or {})
        return subprocess.Popen(argv, cwd=cwd or self.home, env=environment, user=self.uid, group=self.gid if gid is None else gid,
                                extra_groups=self.groups if groups is None else groups, **more)


class Root(User):
    """root, as one more user, in a folder that is there."""

    def __init__(self, home):
        self.name, self.home, self.uid, self.gid, self.groups = 'root', home, 0, 0, []


def run_tool(*argv):
    """An administrator's tool. Others may hold the lock of /etc/passwd for a moment."""
    for _ in range(20):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0 or 'lock' not in done.stderr:
            break
    if done.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(argv), done.stderr.strip()))


def remove_user(name):
    """With all that still runs as that user: a test that was killed left it. And where a helper of the user's own kept its books."""
    try:
        uid = pwd.getpwnam(name).pw_uid
    except KeyError:
        with contextlib.suppress(RuntimeError):
            run_tool('groupdel', name)  # all that is left of one whose removal was cut short
        return
    kill_all(lambda: [pid for pid in processes() if status_of(pid).get('Uid', '').split()[:1] == [str(uid)] and is_alive(pid)])
    run_tool('userdel', '--force', name)  # a zombie of a child not yet waited for would keep it
    for path in ('/tmp/yett-%d', '/run/user/%d/yett'):
        shutil.rmtree(path % uid, ignore_errors=True)


def kill_all(find):
    """Kills what `find` finds until it finds nothing."""
    def kill():
        pids = find()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids
    wait_until(kill, 'the end of processes')


class Run:
    """What all services of this process share: place, folder, programs, users."""

    def __init__(self, build):
        self.place = places.number()
        self.folder = tempfile.mkdtemp(prefix='yett-test-')
        self.users = []
        atexit.register(self.end)
        signal.signal(signal.SIGTERM, self.give_up)  # when the time of the whole run is up
        os.chmod(self.folder, 0o755)
        for pattern in STAGED:
            for path in glob.glob(os.path.join(build, pattern)):
                copy = os.path.join(self.folder, os.path.relpath(path, build))
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy(path, copy, follow_symlinks=False)
                selinux.label_program(copy)
        self.services = 0
        self.living = []
        self.roots_folders, self.lib = [], -1

    def path(self, name):
        return os.path.join(self.folder, name)

    def libexec(self, name, **others):
        """A folder of programs for a service: the built ones but for `others`, paths by name without "yett-"."""
        folder = self.path(name)
        os.makedirs(folder)
        for program in ('init', 'decider', 'decoder', 'closer', 'audit', 'policy', 'reader', 'reader-nss', 'front', 'dialer', 'resolver'):
            copy = '%s/yett-%s' % (folder, program)
            shutil.copy(others.get(program) or self.path('helper/yett-' + program), copy)
            selinux.label_program(copy)
        return folder

    def hold_lib(self):
        if self.lib < 0:
            self.lib = alone.hold_lib()

    def roots_folder(self):
        """A new folder that nobody but root can rename, nor any above it: what a policy may name."""
        self.hold_lib()
        self.roots_folders.append(tempfile.mkdtemp(prefix='yett-test-', dir=alone.TEST_LIB))
        selinux.label(self.roots_folders[-1], 'yett_share_t')
        return self.roots_folders[-1]

    def user(self, index):
        """The first user, or the second; made when first asked for."""
        while len(self.users) < index:
            name = 'yett-test-%d-%d' % (self.place, len(self.users) + 1)
            self.users.append(User(name, self.path('home%d' % (len(self.users) + 1))))
        return self.users[index - 1]

    def end(self):
        try:
            for user in self.users:
                remove_user(user.name)
        finally:
            for folder in [self.folder, *self.roots_folders]:
                shutil.rmtree(folder, ignore_errors=True)
            if self.lib >= 0:
                alone.release_lib(self.lib)

    def give_up(self, *_):
        """Takes everything away at once: an exception would end one test only."""
        for service in self.living:
            if service.process:
                service.process.kill()
            service.remove()
        self.end()
        os._exit(1)


the_run = None


def run_of_process():
    global the_run
    if the_run is None:
        the_run = Run(os.environ.get('YETT_BUILD_ROOT', os.path.join(SOURCE, 'build')))
    return the_run


class Result:
    """How a program ended, and what it wrote."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return 'exit %d\n--- stdout\n%s\n--- stderr\n%s' % (self.code, self.out, self.err)


class Service:
    """A helper of our own behind systemd-socket-activate, with a policy of our own."""

    preexec = None  # what its process does first

    def __init__(self, before='', after='', spares=0, accept=False, libexec=None, environment=None, shipped=True,
                 helper='helper/yett-helper', arguments=()):
        """
        `before` and `after` stand around the shipped policy, so a grant in `before` decides first. `libexec` is a
        folder of other decoders and inits, `helper` another helper; `environment` and `arguments` are added to the helper's.
        """
        run = run_of_process()
        run.services += 1
        self.run_ = run
        self.name = 'yett-test-%d-%d' % (run.place, run.services)
        self.folder = run.path('service%d' % run.services)
        self.runtime = '/dev/shm/' + self.name
        self.socket = self.folder + '/socket'
        self.log = self.folder + '/log'
        self.keys = self.folder + '/keys.d'
        self.policy = self.folder + '/yett.conf'
        self.cgroup = '/' + self.name
        self.ids_first = IDS_PLACE + run.place * IDS_RANGES * RANGE
        self.spares, self.accept, self.libexec, self.environment = spares, accept, libexec, environment or {}
        self.helper, self.arguments = run.path(helper), list(arguments)
        self.before, self.after, self.shipped = before, after, shipped
        self.process = None

    # --- life ---

    def __enter__(self):
        os.mkdir(self.folder, 0o755)
        os.mkdir(self.keys, 0o755)
        selinux.label(self.keys, 'yett_etc_t')
        shutil.rmtree(self.runtime, ignore_errors=True)  # of a run that was killed
        self.remove_groups()
        os.makedirs(self.runtime, 0o755)
        selinux.label(self.runtime, 'yett_runtime_t')
        self.write_policy()
        self.start()
        return self

    def write_policy(self, before=None, after=None):
        self.before = self.before if before is None else before
        self.after = self.after if after is None else after
        block = ('helper {\n  runtime_dir = "%s"\n  keys_dir = "%s"\n  cgroup = "%s"\n  ids_first = %d\n'
                 '  ids_ranges = %d\n  spares = %d\n}\n' %
                 (self.runtime, self.keys, self.cgroup, self.ids_first, IDS_RANGES, self.spares))
        shipped = read(os.path.join(SOURCE, 'dist', 'yett.conf')) if self.shipped else ''
        write(self.policy + '.new', '\n'.join((block, self.before, shipped, self.after)))
        selinux.label(self.policy + '.new', 'yett_etc_t')
        os.rename(self.policy + '.new', self.policy)

    def line(self, text, nth=1):
        """The number of the nth line of the policy that holds `text`."""
        lines = [i for i, line in enumerate(read(self.policy).splitlines(), 1) if text in line]
        return lines[nth - 1]

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        argv = self.activation() + [self.helper, '--policy', self.policy] + self.arguments
        argv += ['--libexec', self.libexec] if self.libexec else []
        with open(self.log, 'ab') as log:
            self.log_start = log.tell()
            self.run_.living = [service for service in self.run_.living if service is not self] + [self]
            # With groups of root's, as somebody has who starts it from a shell: what has dropped its privilege has none of them.
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd='/', extra_groups=(0, 4), preexec_fn=self.preexec,
                                            env={**os.environ, **self.environment})
        # The kernel may still list the socket of a listener that was killed: ours is there when its name is, too.
        wait_until(lambda: (self.sockets('00010000', '01') and os.path.exists(self.socket)) or self.process.poll() is not None,
                   'the socket')
        if self.process.poll() is not None:
            raise RuntimeError('the service ended: ' + read(self.log))
        os.chmod(self.socket, 0o666)

    def activation(self):
        """The words before the helper's: of who makes the socket for it."""
        argv = ['systemd-socket-activate', '--seqpacket', '-l', self.socket] + ['--accept'] * self.accept
        for name in list(self.environment) + [name for name in PASSED_ENVIRONMENT if name in os.environ]:
            argv += ['-E', name]
        return argv

    def pid(self):
        """The listener's: systemd-socket-activate has become it once somebody connected."""
        return self.process.pid

    def wake(self):
        """Has the helper started, as the first connection does, and waits until it is ready."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            caller.connect(self.socket)
            wait_until(lambda: ': ready, ' in self.log_text()[self.log_start:], 'the helper')

    def reload(self):
        """Has the policy read anew, and waits until it was, or was not."""
        self.wake()
        before = self.log_text()
        os.kill(self.pid(), signal.SIGHUP)
        wait_until(lambda: re.search('policy (loaded|was not loaded) anew', self.log_text()[len(before):]), 'reloading')

    def log_text(self):
        return read(self.log)

    def stop(self):
        """Ends the listener. Sandboxes live on until their clients go."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError('the listener did not end')

    def wait_told(self):
        """What ends after a service with an audit stays reserved until the next one, which tells of its end."""
        if self.process and self.process.poll() is None and 'audit = ' in self.before and not self.spares:
            wait_until(lambda: not os.listdir(os.path.join(self.runtime, 'ids')), 'the end of all, told to the audit')

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.wait_told()
            self.stop()
            if kind is None:
                self.wait_no_leftovers()
        finally:
            self.remove()

    def remove(self):
        """Takes away what the service may keep while it is installed, and whatever a failed test left."""
        self.run_.living = [service for service in self.run_.living if service is not self]
        with contextlib.suppress(AssertionError):
            kill_all(self.leftover_processes)
        with contextlib.suppress(AssertionError):
            wait_until(self.remove_groups, 'the removal of groups')
        shutil.rmtree(self.runtime, ignore_errors=True)

    def remove_groups(self):
        """Whether none is left: who was killed is in its group until it has ended."""
        for top in self.cgroup_tops():
            for path, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
        return not self.cgroup_tops()

    # --- what is left ---

    def owns_uid(self, uid):
        return self.ids_first <= uid < self.ids_first + IDS_RANGES * RANGE

    def leftover_processes(self):
        """Processes of private ids, and all that runs a program of this service; zombies are none."""
        found = []
        for pid in processes():
            status = status_of(pid)
            if has_ended(status) or pid == self.process.pid:
                continue
            try:
                program = os.readlink('/proc/%d/exe' % pid)
            except OSError:
                program = ''
            is_ours = os.path.dirname(program) == os.path.dirname(self.helper) and self.policy in argv_of(pid)
            if is_ours or self.is_reader(pid, program) or any(self.owns_uid(int(uid)) for uid in status['Uid'].split()):
                found.append(pid)
        return found

    def is_reader(self, pid, program):
        """Whether it is a yett-reader, which has its user's id, of a monitor of this service, or of one of this run's that is gone."""
        if argv_of(pid)[:1] != ['yett-reader']:
            return False
        parent = argv_of(parent_of(pid))
        return self.policy in parent or program.startswith(self.run_.folder + '/') and not any('yett-helper' in word for word in parent)

    def cgroup_tops(self):
        return [path for path in glob.glob('/sys/fs/cgroup/*' + self.cgroup) + glob.glob('/sys/fs/cgroup' + self.cgroup)]

    def leftovers(self):
        """What is there of sandboxes, as text lines. Monitors that wait for a connection, and their servants, are not."""
        waiting = self.waiting_processes()
        found = ['process %d %s uid %s' % (pid, argv_of(pid), status_of(pid).get('Uid'))
                 for pid in self.leftover_processes() if pid not in waiting]
        for top in self.cgroup_tops():
            found += ['cgroup ' + path for path, _, _ in os.walk(top) if path not in (top, top + '/helpers')]
        found += ['mount ' + line for line in read('/proc/self/mountinfo').splitlines()
                  if self.runtime in line or self.folder in line or self.run_.folder in line]
        for directory in ('ids', 'users', 'names', 'control'):
            with contextlib.suppress(FileNotFoundError):
                found += ['reservation %s/%s' % (directory, name)
                          for name in os.listdir(os.path.join(self.runtime, directory)) if (directory, name) != ('control', 'audit')]
        return found

    def waiting_processes(self):
        """The listener with its closer and its yett-audit, and the monitors that wait for a connection, with deciders, their decoders, and other servants."""
        if self.process.poll() is not None:
            return set()
        monitors = [pid for pid in children_of(self.pid())
                    if child_named(pid, 'yett-decider') and not self.connections() & sockets_of(pid)]
        closers = [pid for pid in children_of(self.pid()) if status_of(pid).get('Uid', '').split()[:1] == [str(self.ids_first + CLOSER)]]
        closers += [pid for pid in children_of(self.pid()) if argv_of(pid)[:1] == ['yett-audit']]
        servants = {child for pid in monitors for child in children_of(pid)}
        return {self.pid(), *monitors, *closers, *servants, *(child for pid in servants for child in children_of(pid))}

    def connections(self):
        """The inodes of connected sockets that were accepted from the service's."""
        return self.sockets('00000000', '03')

    def sockets(self, flags, state):
        """The inodes of sockets bound to the service's path; 00010000 is one that listens. proc_net(5)"""
        rows = [row.split() for row in read('/proc/net/unix').splitlines()]
        return {row[6] for row in rows if row[-1] == self.socket and (row[3], row[5]) == (flags, state)}

    def wait_no_leftovers(self):
        """Everything of past sandboxes is gone, or goes by itself; else what is left is told."""
        try:
            wait_until(lambda: not self.leftovers(), 'the end of everything')
        except AssertionError:
            raise AssertionError('left over:\n' + '\n'.join(self.leftovers()) + '\n--- log\n' + self.log_text())

    # --- programs ---

    def user(self, index=1):
        return self.run_.user(index)

    def environment_of_client(self, env):
        return {'YETT_SOCKET': self.socket, 'YETT_FILES': self.run_.path('helper/yett-files'), 'YETT_DIFF': self.run_.path('helper/yett-diff'), 'YETT_APPLY': self.run_.path('helper/yett-apply'), **(env or {})}

    def popen(self, user, *argv, env=None, **more):
        return user.popen(list(argv), env=self.environment_of_client(env), **more)

    def run(self, user, *argv, input='', env=None, **more):
        """Runs a program as a user to its end; input and output are pipes."""
        more = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **more}
        process = self.popen(user, *argv, env=env, **more)
        try:
            out, err = process.communicate(input.encode() if process.stdin else None, timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError('it does not end: %s\n--- log\n%s' % (' '.join(argv), self.log_text()[-2000:]))
        return Result(process.returncode, (out or b'').decode(errors='replace'), (err or b'').decode(errors='replace'))

    @property
    def yett(self):
        return self.run_.path('cli/yett')

    def sandbox(self, user, *argv, options=(), **more):
        """yett run OPTIONS -- ARGV, with nothing shared unless the options say so."""
        return self.run(user, self.yett, 'run', *options, '--', *argv, **more)

    def enter_key(self, user, *options):
        """The first run makes a key and says so; after this no run does."""
        shutil.rmtree(os.path.join(user.home, '.config'), ignore_errors=True)
        return self.sandbox(user, 'true', options=options)


LOAD, EQUAL, GIVE = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
FAIL_WITH = 0x00050000  # SECCOMP_RET_ERRNO
BPF_NUMBER = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]


def filter_call(number, decide):
    """
    From here on, for this process and all that come of it: by a filter that leaves every other call alone. `decide`, its steps for that one,
    may fall through to its end, which allows it. Who is not root has no new privileges then. For a preexec_fn. seccomp(2)
    """
    steps = [(LOAD, 0, 0, 0), (EQUAL, 0, len(decide), number), *decide, (GIVE, 0, 0, 0x7fff0000)]  # SECCOMP_RET_ALLOW
    program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
    filters = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(steps), ctypes.addressof(program)))
    libc = ctypes.CDLL(None)
    if (os.geteuid() != 0 and libc.prctl(38, 1, 0, 0, 0)) or libc.prctl(22, 2, filters, 0, 0):  # PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        os._exit(99)


def deny_bpf():
    """bpf(2) is not there, as in a kernel without CONFIG_BPF_SYSCALL."""
    filter_call(BPF_NUMBER, [(GIVE, 0, 0, FAIL_WITH | errno.ENOSYS)])


class WithoutBpf(Service):
    """On a host whose kernel has no BPF."""

    preexec = staticmethod(deny_bpf)


class Listening(Service):
    """One that nobody hands a socket: --listen."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.arguments += ['--listen', self.socket]

    def activation(self):
        return []


class Rootless(Service):
    """
    No service: each client executes the helper as the ordinary user it is, who is root of nothing. A script stands for the
    helper, to give it a policy; that one belongs to the user whom it serves. Root has the program of root's.
    """

    def __init__(self, *args, helper='helper/yett-rootless', **more):
        super().__init__(*args, helper=helper, **more)

    def __enter__(self):
        os.mkdir(self.folder, 0o755)
        self.script = self.folder + '/yett-helper'
        write(self.script, '#!/bin/sh\n[ $(id -u) = 0 ] && helper=%s || helper=%s\nexec $helper --policy %s/$(id -u)/yett.conf%s "$@"\n' %
              (self.run_.path('helper/yett-helper'), self.helper, self.folder, ' --libexec ' + self.libexec if self.libexec else ''), 0o755)
        self.run_.living = [service for service in self.run_.living if service is not self] + [self]
        return self

    def write_policy_of(self, user):
        folder = '%s/%d' % (self.folder, user.uid)
        os.makedirs(folder, exist_ok=True)
        write(folder + '/yett.conf', '\n'.join((self.before, read(os.path.join(SOURCE, 'dist', 'yett.conf')), self.after)))
        for path in (folder, folder + '/yett.conf'):
            os.chown(path, user.uid, user.gid)

    def environment_of_client(self, env):
        return {'YETT_HELPER': self.script, 'YETT_FILES': self.run_.path('helper/yett-files'), 'YETT_DIFF': self.run_.path('helper/yett-diff'), 'YETT_APPLY': self.run_.path('helper/yett-apply'), **(env or {})}

    def enter_key(self, user, *options):
        self.write_policy_of(user)
        return super().enter_key(user, *options)

    @property
    def runtime(self):
        return '/tmp/yett-%d' % self.user(1).uid

    @runtime.setter
    def runtime(self, _):
        pass  # of a service

    def runtimes(self):
        return ['/tmp/yett-%d' % user.uid for user in self.run_.users]

    def leftover_processes(self):
        """All of the helper, and all of the users' that is not in the host's pid namespace."""
        uids, host = {str(user.uid) for user in self.run_.users}, os.readlink('/proc/self/ns/pid')
        found = []
        for pid in processes():
            with contextlib.suppress(OSError):
                status = status_of(pid)
                if has_ended(status) or not uids & set(status['Uid'].split()[:1]):
                    continue
                if argv_of(pid)[:1] in (['yett-decider'], ['yett-decoder'], ['yett-policy'], ['yett-reader']) or os.readlink('/proc/%d/exe' % pid) == self.helper or \
                        os.readlink('/proc/%d/ns/pid' % pid) != host:
                    found.append(pid)
        return found

    def leftovers(self):
        found = ['process %d %s' % (pid, argv_of(pid)) for pid in self.leftover_processes()]
        for runtime, directory in itertools.product(self.runtimes(), ('ids', 'users', 'names', 'control')):
            with contextlib.suppress(FileNotFoundError):
                found += ['reservation %s' % os.path.join(runtime, directory, name) for name in os.listdir(os.path.join(runtime, directory))]
        return found

    def stop(self):
        pass

    def log_text(self):
        return '(a helper of its own for each client)'

    def remove(self):
        self.run_.living = [service for service in self.run_.living if service is not self]
        with contextlib.suppress(AssertionError):
            kill_all(self.leftover_processes)
        for runtime in self.runtimes():
            shutil.rmtree(runtime, ignore_errors=True)


class Case(unittest.TestCase):
    """Tests that share one service: the class says which policy it has. `alice` and `bob` have keys."""

    service_class = Service
    service_options = {}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            cls.service = undo.enter_context(cls.service_class(**cls.service_options))
            cls.alice, cls.bob = cls.service.user(1), cls.service.user(2)
            for user in (cls.alice, cls.bob):
                user.make_home()
                cls.set_up_user(user)
            stack = undo.pop_all()
        cls.addClassCleanup(stack.close)

    @classmethod
    def set_up_user(cls, user):
        done = cls.service.enter_key(user)
        if done.code != 0:
            raise RuntimeError('no sandbox: %r\n--- log\n%s' % (done, cls.service.log_text()))

    def change_policy(self, before=None, after=None):
        """Another one, by what write_policy() takes, is in force until the end of the test."""
        text = read(self.service.policy)
        self.addCleanup(self.service.reload)
        self.addCleanup(self.service.write_policy, self.service.before, self.service.after)
        self.service.write_policy(before, after)
        self.assertNotEqual(read(self.service.policy), text)
        self.service.reload()

    def yett(self, *argv, user=None, **more):
        return self.service.run(user or self.alice, self.service.yett, *argv, **more)

    def sandbox(self, *argv, user=None, **more):
        return self.service.sandbox(user or self.alice, *argv, **more)

    def output(self, *argv, **more):
        """What a command wrote that succeeded."""
        done = self.sandbox(*argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.out

    def shell(self, script, **more):
        return self.output('sh', '-c', script, **more)

    def python(self, script, *argv, **more):
        return self.output('python3', '-c', script, *argv, **more)

    def folder(self, name, user=None, mode=0o755):
        """A new folder in a user's home, gone after the test."""
        user = user or self.alice
        path = user.mkdir(name, mode)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def start(self, *argv, options=(), user=None, **more):
        """A command in a sandbox that runs on: its Popen, with pipes, killed after the test."""
        more = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **more}
        process = self.service.popen(user or self.alice, self.service.yett, 'run', *options, '--', *argv, **more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with process:
            if process.poll() is None:
                process.kill()

    def line(self, process):
        """The next line that it writes."""
        return line_of(process.stdout)

    def assert_refused(self, done, code, *texts):
        self.assertEqual(done.code, code, done)
        for text in texts:
            self.assertIn(text, done.err, done)

    def private_uid(self, process):
        """The host's uid of the sandbox that this client asked for, as the helper logs it."""
        pattern = r' pid=%d sandbox=\w+ profile=\S+ private_uid=(\d+) created' % process.pid
        wait_until(lambda: re.search(pattern, self.service.log_text()), 'the log line of a sandbox')
        return int(re.search(pattern, self.service.log_text()).group(1))

    def outside(self, process):
        """The host's pids of the commands in the sandbox of this client."""
        uid = str(self.private_uid(process))
        return [pid for pid in processes() if status_of(pid).get('Uid', '').split()[:1] == [uid] and is_alive(pid)]


def line_of(stream):
    """One line of a pipe, as text; the empty text at its end."""
    return stream.readline().decode(errors='replace').rstrip('\n')


# --- results ---

LOGGED_LINES = 20  # of the helper's log, with a failure


class TapResult(unittest.TestResult):
    """Test Anything Protocol 13: a line per case, and why one failed as comment lines."""

    def __init__(self, stream):
        super().__init__()
        self.output, self.count, self.failed_subtests = stream, 0, []
        self.began, self.logged = time.monotonic(), 0

    def tell(self, test, line, comment=''):
        self.count += 1
        print(line % {'n': self.count, 'name': test.id().replace('__main__.', '').replace('#', ' ')}, file=self.output)
        if comment:
            comment += '\n'.join(('', *self.surroundings(test)))
        for row in comment.splitlines():
            print('# ' + row, file=self.output)
        print('# took %.2f s' % (time.monotonic() - self.began), file=self.output)
        self.output.flush()

    @staticmethod
    def log_of(test):
        """All that the helper of a test has logged, if it has a log."""
        service = getattr(test, 'service', None)
        try:
            return service.log_text() if service else ''
        except OSError:
            return ''

    def surroundings(self, test):
        """What else is to be known of a failure: the helper's log since the test began, and how busy the machine is."""
        logged = self.log_of(test)[self.logged:].splitlines()[-LOGGED_LINES:]
        return ["--- the helper's log of this test", *(logged or ['(nothing)']), '--- the machine', waiting.load_line()]

    def startTest(self, test):
        super().startTest(test)
        self.failed_subtests = []
        self.began, self.logged = time.monotonic(), len(self.log_of(test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.failed_subtests.append(subtest.id() + '\n' + ''.join(traceback.format_exception(*err)))

    def stopTest(self, test):
        super().stopTest(test)
        if self.failed_subtests:
            self.tell(test, 'not ok %(n)d - %(name)s', '\n'.join(self.failed_subtests))

    def addSuccess(self, test):
        super().addSuccess(test)
        if not self.failed_subtests:
            self.tell(test, 'ok %(n)d - %(name)s')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, 'not ok %(n)d - %(name)s', ''.join(traceback.format_exception(*err)))

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, 'not ok %(n)d - %(name)s', ''.join(traceback.format_exception(*err)))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, 'ok %(n)d - %(name)s # SKIP ' + reason.replace('%', '%%'))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.tell(test, 'not ok %(n)d - %(name)s # TODO')

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell(test, 'ok %(n)d - %(name)s # TODO')


def missing():
    """What keeps these tests from running here, or None."""
    if os.geteuid() != 0:
        return 'root is needed, to start the helper with privilege'
    for program in ('systemd-socket-activate', 'useradd', 'userdel'):
        if not shutil.which(program):
            return program + ' is needed'
    return None


def of_tier(suite):
    """What of a suite the tier that was asked for has: all of it where none was."""
    name, tier = os.environ.get('YETT_TEST_SUITE', ''), os.environ.get(tiers.VARIABLE, tiers.ALL)
    found = unittest.TestSuite()
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            found.addTest(of_tier(one))
        elif tiers.has(tier, name, one.id().replace('__main__.', '')):
            found.addTest(one)
    return found


def main():
    """Runs the tests of the calling module, or those named on the command line, and writes TAP. They take root."""
    if missing():
        print('1..0 # SKIP ' + missing())  # a status of its own would be an error to whoever reads TAP
        sys.exit(0)
    run_cases(sys.argv[1:])


def run_cases(names):
    """The same for tests that do not take root: those that are named, or where none is, all of the tier that was asked for."""
    waiting.tell_when_hung()
    module = sys.modules['__main__']
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(names, module) if names else of_tier(loader.loadTestsFromModule(module))
    result = TapResult(sys.stdout)
    with contextlib.redirect_stdout(sys.stderr):  # what a test prints must not be taken for TAP
        suite.run(result)
    is_elsewhere = not suite.countTestCases() and os.environ.get(tiers.VARIABLE, tiers.ALL) != tiers.ALL
    print('1..0 # SKIP all its cases are of the other tier' if is_elsewhere else '1..%d' % result.count)
    sys.exit(0 if is_elsewhere or (result.wasSuccessful() and result.count) else 1)


def run_with_service(argv):
    """A program as an ordinary user against a service; it says itself how it went."""
    if missing():
        print('1..0 # SKIP ' + missing())
        return 0
    run = run_of_process()
    argv = [run.path(os.path.relpath(argv[0], os.environ['YETT_BUILD_ROOT']))] + argv[1:]
    with Service() as service:
        user = service.user(1)
        service.enter_key(user)
        code = service.popen(user, *argv, env={'CMOCKA_MESSAGE_OUTPUT': 'TAP'}).wait()
    return code


if __name__ == '__main__':
    sys.exit(run_with_service(sys.argv[1:]))
