# SPDX-License-Identifier: Apache-2.0
"""
The set-user-id helper is executed by an attacker: with a hostile environment, descriptors, limits, signals, a tracer, links,
control groups and namespaces. Each attack is first seen to work on a program that does not defend itself.
"""
import contextlib
import ctypes
import errno
import fcntl
import glob
import os
import pty
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile

import hostile  # pylint: disable=unused-import  # more programs
import alone
import setuid
import yett
from setuid import HELPER, LIBC, LIBEXEC, as_user
from hostile import Faults

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_TIMERSLACK, PR_SET_SECUREBITS = 38, 22, 1, 36, 29, 28
UNAME26 = 0x20000
PTRACE_TRACEME, PTRACE_DETACH, PTRACE_ATTACH = 0, 17, 16
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS = 0x20000000, 0x40000000, 0x20000
SYS_RESOURCE = 24

# The steps of helper/start/setuid.c, in their order; after the first the helper is out of its caller's reach.
STEPS = ('ids', 'session', 'signals', 'timers', 'attributes', 'limits', 'scheduling', 'environment', 'confinement', 'descriptors',
         'folder', 'programs', 'place', 'groups', 'settled')

ENVIRONMENT = {'PATH': '/tmp', 'IFS': 'x', 'HOME': '/nowhere', 'TMPDIR': '/nowhere', 'LC_ALL': '../../x', 'LISTEN_FDS': '1',
               'NOTIFY_SOCKET': '/nowhere', 'YETT_SOCKET': '/nowhere', 'YETT_HELPER': '/nowhere', 'MALLOC_CHECK_': '3',
               'GLIBC_TUNABLES': 'glibc.malloc.check=3:' * 40, 'LD_DEBUG': 'all', 'LD_LIBRARY_PATH': '/tmp', 'EMPTY': '', 'LONG': 'x' * 100000}


def prctl(option, value, *more):
    if LIBC.prctl(option, *(ctypes.c_ulong(x) for x in (value, *more, 0, 0, 0)[:4])) < 0:
        raise OSError(ctypes.get_errno(), 'prctl')


def ptrace(request, pid):
    if LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(pid), None, None) < 0:
        raise OSError(ctypes.get_errno(), 'ptrace')


def unshare(flags):
    if LIBC.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), 'unshare')


def is_sanitized():
    """A sanitizer takes terabytes of address space before main()."""
    with open(HELPER, 'rb') as file:
        return b'libasan' in file.read()


def can_raise_limits():
    return SYS_RESOURCE in yett.capability_names(yett.status_of('self')['CapEff'])


class SetuidCase(setuid.Case):
    def plain(self, path=None):
        """The same helper without the bit: what its caller does to it works."""
        path = path or self.alice.home + '/plain-helper'
        shutil.copy(HELPER, path)
        os.chmod(path, 0o755)
        self.addCleanup(os.unlink, path)
        return path


class Environment(SetuidCase):
    def test_nothing_of_a_hostile_environment_is_used_or_kept(self):
        started = self.launch(env=ENVIRONMENT)
        self.assert_served(started)
        self.assertEqual(yett.read('/proc/%d/environ' % started.pid).strip('\0'), '')

    def preload(self, name):
        """What LD_PRELOAD names is loaded and runs in a program without the bit, and not in ours. ld.so(8)"""
        mark = os.path.join(self.alice.home, 'loaded')
        library = self.alice.write('preload.so')
        shutil.copy(hostile.program('preload.so'), library)
        environment = {name: library, 'YETT_TEST_MARK': mark, 'ASAN_OPTIONS': 'verify_asan_link_order=0'}
        subprocess.run([self.plain(), '--version'], env=environment, stdout=subprocess.DEVNULL, check=True)
        self.assertTrue(os.path.exists(mark))
        os.unlink(mark)
        self.assert_served(self.launch(env=environment))
        self.assertFalse(os.path.exists(mark))

    def test_no_library_of_the_callers_is_loaded(self):
        self.preload('LD_PRELOAD')

    def test_descriptors_0_1_and_2_are_there_whatever_was(self):
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            started = self.launch(closed=closed)
            self.assert_served(started)
            links = [os.readlink('/proc/%d/fd/%d' % (started.pid, fd)) for fd in range(3)]
            self.assertEqual(links[:2], ['/dev/null'] * 2)
            self.assertTrue(links[2] == '/dev/null' or links[2].startswith('socket:'))

    def test_no_descriptor_of_the_callers_stays_open(self):
        inside = self.alice.write('held')
        os.chmod(inside, 0o644)
        opened = []

        def hold():
            for number in (4, 77, 1023):
                opened.append(os.dup2(os.open(inside, os.O_RDWR), number, inheritable=True))
            os.dup2(4, 0)
        started = self.launch(prepare=hold)
        self.assert_served(started)
        links = [os.readlink(path) for path in glob.glob('/proc/%d/fd/*' % started.pid)]
        self.assertNotIn(inside, links)

    def test_what_takes_long_to_close_holds_up_a_process_of_the_callers(self):
        """A descriptor that lingers for an hour: until it is closed nothing is root's."""
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(('127.0.0.1', 0))
        listening.listen()
        lingering = socket.create_connection(listening.getsockname())
        peer, _ = listening.accept()
        lingering.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                lingering.send(bytes(65536))
        lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
        high = fcntl.fcntl(lingering, fcntl.F_DUPFD_CLOEXEC, 300)  # beyond those that launch() closes
        lingering.close()

        def hold():
            os.set_inheritable(high, True)
            os.kill(os.getpid(), signal.SIGSTOP)
        started = self.launch(prepare=hold)
        os.waitpid(started.pid, os.WUNTRACED)
        os.close(high)  # who closes it last waits, and that is not to be this test
        os.kill(started.pid, signal.SIGCONT)
        state = lambda: yett.read('/proc/%d/wchan' % started.pid)  # noqa: E731
        yett.wait_until(lambda: 'wait_woken' in state() or 'stream_wait_close' in state(), 'a close(2) that waits')
        self.assertEqual(yett.status_of(started.pid)['Uid'].split()[0], str(self.alice.uid))
        self.assertEqual(setuid.as_user(self.alice, lambda: os.kill(started.pid, signal.SIGKILL)), 0)
        self.assertEqual(started.wait(), -signal.SIGKILL)
        peer.close()
        listening.close()

    def test_no_argument_but_the_one_form_is_taken_as_root(self):
        secret = self.service.folder + '/secret.conf'
        yett.write(secret, 'hidden = words\n', 0o600)
        for more in ((), ('--serve=4',), ('--serve=3', '--policy', secret), ('--personal', '--fd', '3', '--policy', secret),
                     ('--fd', '3', '--policy', secret), ('--serve=3', '--libexec', '/tmp'), ('--serve', '3')):
            started = self.launch(argv=('yett-helper', *more))
            with contextlib.suppress(ConnectionError):
                kind, packet = started.answer()
                self.assertNotEqual(kind, setuid.HELLO, more)
                self.assertNotIn(b'hidden', packet)
            self.assertIn(started.wait(), (1, 2), more)
        # root may look at that policy with these arguments; so would a set-user-id program that takes them
        arguments = '--personal', '--policy', secret, '--fd', '0'
        self.assertIn('hidden', subprocess.run([HELPER, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stderr)
        done = self.service.run(self.alice, HELPER, *arguments, stdin=subprocess.DEVNULL)
        self.assertNotIn('hidden', done.err, done)
        self.assertEqual(done.code, 1, done)

    def test_whoever_gives_other_arguments_gets_a_process_of_its_own(self):
        """Which has no privilege, and then serves her alone: this socket's other end is root's."""
        self.assert_not_served(self.launch(argv=('yett-helper', '--personal', '--fd', '3')),
                               'a helper without root serves its own user only')

    def test_no_arguments_at_all_are_survived(self):
        self.assertEqual(self.launch(argv=()).wait(), 1)

    def test_many_arguments_are_refused(self):
        self.assertEqual(self.launch(argv=['yett-helper', *['--serve=3'] * 5000]).wait(), 2)


class Socket(SetuidCase):
    """What is no socketpair gets no packet of root's."""

    def assert_no_packet(self, fd, reader=None):
        started = self.launch(fd=fd)
        self.assertEqual(started.wait(), 1)
        if reader is not None:
            reader.setblocking(False)
            with self.assertRaises(BlockingIOError):
                reader.recv(4096)

    def test_no_descriptor_of_another_kind_is_served(self):
        with tempfile.TemporaryFile() as file:
            self.assert_no_packet(file.fileno())
        reader, writer = os.pipe()
        self.assert_no_packet(writer)
        os.close(writer)
        self.assertEqual(os.read(reader, 10), b'')
        os.close(reader)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
            with ours, theirs:
                self.assert_no_packet(theirs.fileno(), ours)

    def test_a_service_gets_no_packet_of_root_s_from_it(self):
        """One that goes by the sender of each message, and not by who connected, would take it for root's."""
        path = self.service.folder + '/trusting'
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as service, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            service.bind(path)
            service.listen()
            client.connect(path)
            accepted, _ = service.accept()
            with accepted:
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                self.assert_no_packet(client.fileno(), accepted)
                self.assert_no_packet(accepted.fileno(), client)
            self.assert_no_packet(service.fileno())

    def test_whom_it_serves_is_not_said_by_the_socket(self):
        """Root made this socketpair; the helper was executed by alice."""
        started = self.launch()
        self.assert_served(started)
        credentials = started.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.assertEqual(struct.unpack('iII', credentials)[1], 0)
        self.assertEqual(self.places(self.alice), 1)
        self.assertEqual(self.places('0'), 0)

    def places(self, user):
        uid = getattr(user, 'uid', user)
        return len(glob.glob('%s/users/%s.helper*' % (self.service.runtime, uid)))

    def test_it_ends_with_its_connection_whoever_holds_its_own_end(self):
        started = self.launch()
        self.assert_served(started)
        started.socket.close()
        self.assertEqual(started.wait(), 0)

    def test_a_user_has_so_many_at_once_and_no_more(self):
        held = [self.launch() for _ in range(64)]
        for started in held:
            self.assert_served(started)
        self.assert_not_served(self.launch(), 'a user has at most 64 set-user-id helpers at once')
        self.assert_served(self.launch(self.bob))
        held[0].socket.close()
        held[0].wait()
        self.assert_served(self.launch())


class Inherited(SetuidCase):
    """What exec passes on."""

    def limited(self, name, value):
        def lower():
            resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (value, value))
        return lower

    def test_limits_are_raised_or_it_says_which_one_is_too_low(self):
        for name, value, words in (('CPU', 1, 'processor time'), ('FSIZE', 0, 'the size of files'), ('DATA', 1 << 20, 'data'),
                                   ('NOFILE', 8, 'open files'), ('STACK', 1 << 18, 'the stack'), ('NPROC', 0, 'processes'),
                                   ('AS', 100 << 20, 'address space')):
            with self.subTest(limit=name):
                if name in ('AS', 'DATA') and is_sanitized():
                    continue
                started = self.launch(prepare=self.limited(name, value))
                if can_raise_limits():
                    self.assert_served(started)
                else:
                    self.assert_not_served(started, "its caller's limit of %s is too low" % words)

    def test_an_impossible_limit_is_no_way_to_leave_it_half_done(self):
        """So small that not even an error can be told: it ends, and holds nothing."""
        started = self.launch(prepare=self.limited('AS', 1 << 20))
        self.assertNotEqual(started.wait(), 0)

    def test_soft_limits_are_its_own(self):
        names = ('CPU', 'FSIZE', 'NOFILE', 'CORE') + (() if is_sanitized() else ('DATA', 'AS'))

        def lower():
            for name in names:
                kind = getattr(resource, 'RLIMIT_' + name)
                resource.setrlimit(kind, (16 if name == 'NOFILE' else 300 << 20, resource.getrlimit(kind)[1]))
        started = self.launch(prepare=lower)
        self.assert_served(started)
        limits = yett.read('/proc/%d/limits' % started.pid)
        self.assertRegex(limits, r'Max cpu time +unlimited')
        self.assertRegex(limits, r'Max core file size +1 ')
        self.assertNotRegex(limits, r'Max open files +16 ')

    def wait_unprepared(self, prepare):
        """How a program ends that a caller has prepared so, and that sees to nothing."""
        with subprocess.Popen(['sleep', '%d' % (2 * yett.DEADLINE)], preexec_fn=prepare) as other:  # pylint: disable=subprocess-popen-preexec-fn
            self.addCleanup(other.kill)
            return other.wait(yett.DEADLINE)

    def test_pending_and_ignored_signals_and_timers_are_gone(self):
        def pend():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGIO):
                os.kill(os.getpid(), number)

        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.setitimer(signal.ITIMER_REAL, 2, 2)  # later than its first steps, on slow machines too
            signal.setitimer(signal.ITIMER_PROF, 1, 1)
            signal.setitimer(signal.ITIMER_VIRTUAL, 1, 1)
        # A program that does not see to it ends by them.
        self.assertEqual(self.wait_unprepared(ignore), -signal.SIGALRM)
        for prepare in (pend, ignore):
            started = self.launch(prepare=prepare)
            self.assert_served(started)
            status = yett.status_of(started.pid)
            self.assertEqual((int(status['ShdPnd'], 16), int(status['SigBlk'], 16)), (0, 0))
            timers = yett.read('/proc/%d/stat' % started.pid).rsplit(')', 1)[1].split()
            self.assertEqual(timers[18], '0')  # itrealvalue, where the kernel still tells
            if prepare is ignore:  # timers that were set later have come by now
                self.assertEqual(self.wait_unprepared(ignore), -signal.SIGALRM)
            self.assertTrue(yett.is_alive(started.pid))

    def test_priority_folder_mask_and_children_are_not_the_callers(self):
        def burden():
            os.nice(19)
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            prctl(PR_SET_TIMERSLACK, 10 ** 9)
            LIBC.personality(UNAME26)
            os.chdir(self.alice.home)
            os.umask(0)
            if os.fork() == 0:
                os.execv('/bin/true', ['true'])
        started = self.launch(prepare=burden, as_root=lambda: yett_write('/proc/self/oom_score_adj', '1000'))
        self.assert_served(started)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, started.pid), 0)
        self.assertEqual(os.sched_getscheduler(started.pid), os.SCHED_OTHER)
        self.assertEqual(os.sched_getaffinity(started.pid), os.sched_getaffinity(0))
        self.assertEqual(yett.read('/proc/%d/oom_score_adj' % started.pid), '0\n')
        self.assertEqual(yett.read('/proc/%d/timerslack_ns' % started.pid), '50000\n')
        self.assertEqual(int(yett.read('/proc/%d/personality' % started.pid), 16), 0)
        self.assertEqual(os.readlink('/proc/%d/cwd' % started.pid), '/')
        self.assertEqual(yett.status_of(started.pid)['Umask'], '0022')

    def test_root_without_its_privilege_is_refused(self):
        """Securebits that a container may have set: SECBIT_NOROOT, by which ids of root give no capability."""
        self.assert_not_served(self.launch(as_root=lambda: prctl(PR_SET_SECUREBITS, 1)), 'the set-user-id helper cannot start')

    def test_a_terminal_of_the_callers_is_refused(self):
        """Its signals reach all of its session, whoever they are."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        os.fchown(slave, self.alice.uid, -1)
        name = os.ttyname(slave)
        os.close(slave)

        def control():
            os.open(name, os.O_RDWR)  # the first that a session leader opens becomes its own
        self.assert_not_served(self.launch(prepare=control), 'a session without a terminal')

    def test_a_group_in_a_session_of_others_is_refused(self):
        self.assert_not_served(self.launch(prepare=lambda: os.setpgid(0, 0), session=False), 'a session without a terminal')
        self.assert_served(self.launch(session=False, as_root=None, prepare=None))


class Reach(SetuidCase):
    """The caller's other processes, while it runs and at each step of its start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.faults = Faults(cls.service.folder + '/faults')

    def held(self, step):
        self.faults.set('setuid:' + step, Faults.HOLD)
        self.addCleanup(self.faults.set)
        started = self.launch(env={'YETT_TEST_FAULTS': self.faults.path})
        yett.wait_until(lambda: self.faults.reached() or not yett.is_alive(started.pid), 'step ' + step)
        self.assertEqual(self.faults.holder(), started.pid)
        return started

    def test_no_signal_reaches_it_once_it_is_root(self):
        for step in STEPS:
            started = self.held(step)
            for number in (0, signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
                with self.subTest(step=step, signal=number):
                    found = as_user(self.alice, lambda number=number, pid=started.pid: os.kill(pid, number))
                    if step == 'ids':
                        self.assertEqual(found, 0)  # it is still the caller's: a helper that stayed so could be stopped at will
                    else:
                        self.assertEqual(found, errno.EPERM)
            if step == 'ids':
                self.assertEqual(started.wait(), -signal.SIGKILL)
                continue
            self.faults.release()
            self.assert_served(started)

    def test_one_that_stands_still_holds_up_nobody(self):
        for step in STEPS:
            started = self.held(step)
            with self.subTest(step=step):
                self.assertEqual(self.output('id', '-u', user=self.bob), '%d\n' % self.bob.uid)
                self.assertEqual(self.output('id', '-u'), '%d\n' % self.alice.uid)
            self.faults.release()
            self.assert_served(started)

    def test_one_that_is_killed_at_any_step_leaves_nothing(self):
        for step in STEPS:
            started = self.held(step)
            os.kill(started.pid, signal.SIGKILL)
            started.wait()
            self.faults.set()
            self.output('true', user=self.bob)
            self.service.wait_no_leftovers()

    def test_it_cannot_be_looked_into(self):
        started = self.launch()
        self.assert_served(started)
        with subprocess.Popen(['sleep', '60'], user=self.alice.uid, group=self.alice.gid, extra_groups=[]) as other:
            self.addCleanup(other.kill)
            yett.wait_until(lambda: yett.argv_of(other.pid)[:1] == ['sleep'], 'sleep')
            attempts = (lambda pid: ptrace(PTRACE_ATTACH, pid),
                        lambda pid: os.close(os.open('/proc/%d/environ' % pid, os.O_RDONLY)),
                        lambda pid: os.close(os.open('/proc/%d/mem' % pid, os.O_RDWR)),
                        lambda pid: os.readlink('/proc/%d/exe' % pid),
                        lambda pid: os.listdir('/proc/%d/fd' % pid),
                        lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (100, 100)),
                        lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
                        lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(0)))
            for attempt in attempts:
                self.assertEqual(as_user(self.alice, lambda a=attempt: a(other.pid)), 0)
                self.assertIn(as_user(self.alice, lambda a=attempt: a(started.pid)), (errno.EPERM, errno.EACCES))
            other.kill()

    def test_a_traced_process_does_not_become_root(self):
        def be_traced():
            ptrace(PTRACE_TRACEME, 0)
        started = self.launch(prepare=be_traced)
        _, status = os.waitpid(started.pid, 0)
        self.assertTrue(os.WIFSTOPPED(status))
        # as root the tracer is one of the privileged, for whom the kernel lets the bit count: so one of alice's traces it
        os.kill(started.pid, signal.SIGKILL)
        started.wait()

        def trace():
            pid = os.fork()
            if pid == 0:
                try:
                    be_traced()
                    setuid.execute(HELPER, setuid.ARGUMENTS, {})
                finally:
                    os._exit(99)
            os.waitpid(pid, 0)
            uids = yett.status_of(pid)['Uid'].split()
            ptrace(PTRACE_DETACH, pid)
            os.waitpid(pid, 0)
            if uids != [str(self.alice.uid)] * 4:
                raise OSError(errno.EEXIST, 'it is root')
        self.assertEqual(self.as_member(trace), 0)

    def as_member(self, function):
        """As alice, in the group that may execute the helper, with a socketpair as descriptor 3."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            pid = os.fork()
            if pid == 0:
                code = 255
                try:
                    setuid.Started.become(self.alice, None, None, True, theirs.fileno())
                    function()
                    code = 0
                except OSError as error:
                    code = error.errno
                finally:
                    os._exit(code)
            theirs.close()
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            told = ours.recv(65536)
        self.assertIn(b'its caller must not be traced', told)
        return code

    def test_no_new_privs_is_told_for_what_it_is(self):
        self.assert_not_served(self.launch(prepare=lambda: prctl(PR_SET_NO_NEW_PRIVS, 1)), 'its caller has set no_new_privs')


class Confined(SetuidCase):
    def test_a_filter_of_others_is_refused(self):
        """One that root has set, without no_new_privs, as a container has it."""
        def limit():
            program = ctypes.create_string_buffer(struct.pack('HBBI', 0x06, 0, 0, 0x7fff0000))  # allows everything
            header = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(program)))
            prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header))
        self.assert_not_served(self.launch(as_root=limit), 'a confined process')

    def test_another_pid_namespace_is_refused(self):
        def enter():
            unshare(CLONE_NEWPID)
            pid = os.fork()
            if pid:
                os.waitpid(pid, 0)
                os._exit(1)
        self.assert_not_served(self.launch(as_root=enter), 'a confined process')

    def test_another_mount_or_network_namespace_is_refused(self):
        if not os.access('/proc/1/ns/mnt', os.R_OK):
            self.skipTest('this machine keeps the namespaces of its first process from root')
        for flag in (CLONE_NEWNET, CLONE_NEWNS):
            self.assert_not_served(self.launch(as_root=lambda flag=flag: unshare(flag)), 'a confined process')

    def test_a_user_namespace_of_the_callers_gives_no_root(self):
        def enter():
            unshare(0x10000000)  # CLONE_NEWUSER
        self.assert_not_served(self.launch(prepare=enter), 'yett-helper is not set-user-id root here')

    def groups(self):
        """A group of alice's in each hierarchy that can freeze: (directory, file, frozen, thawed)."""
        found = []
        for mount, file, frozen, thawed in (('unified', 'cgroup.freeze', '1', '0'), ('freezer', 'freezer.state', 'FROZEN', 'THAWED'),
                                            ('', 'cgroup.freeze', '1', '0')):
            path = '/sys/fs/cgroup/%s/yett-test-caller' % mount
            if os.path.exists('/sys/fs/cgroup/%s/cgroup.procs' % mount):
                os.makedirs(path, exist_ok=True)
                self.addCleanup(os.rmdir, path)
                os.chown(path, self.alice.uid, self.alice.gid)
                for name in ('cgroup.procs', file):
                    os.chown(os.path.join(path, name), self.alice.uid, self.alice.gid)
                found.append((path, file, frozen, thawed))
        return found

    def test_a_control_group_of_the_callers_does_not_hold_it(self):
        groups = self.groups()
        self.assertTrue(groups)

        def enter():
            for path, *_ in groups:
                yett_write(path + '/cgroup.procs', '0')
        started = self.launch(as_root=enter)
        self.assert_served(started)
        other = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=enter)  # pylint: disable=all
        self.addCleanup(yett.Case.end, other)
        for path, file, frozen, thawed in groups:
            yett_write(os.path.join(path, file), frozen)
            self.addCleanup(yett_write, os.path.join(path, file), thawed)
        yett.wait_until(lambda: yett.status_of(other.pid)['State'].startswith('D') or self.is_frozen(groups), 'frost')
        other.stdin.write(b'x\n')
        other.stdin.flush()
        started.socket.close()
        self.assertEqual(started.wait(), 0)  # it saw the end of its connection, while the other stands still
        os.set_blocking(other.stdout.fileno(), False)
        self.assertIsNone(other.stdout.read(1))
        for path, file, _, thawed in groups:
            yett_write(os.path.join(path, file), thawed)
        os.set_blocking(other.stdout.fileno(), True)
        self.assertEqual(other.stdout.read(2), b'x\n')
        other.kill()
        other.wait()

    @staticmethod
    def is_frozen(groups):
        return all('frozen 1' in yett.read(path + '/cgroup.events') if file == 'cgroup.freeze' else yett.read(path + '/' + file) == 'FROZEN\n'
                   for path, file, *_ in groups)


def yett_write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


class Files(SetuidCase):
    def folder_beside_the_helper(self):
        folder = tempfile.mkdtemp(dir=alone.TEST_LIB)
        self.addCleanup(shutil.rmtree, folder)
        os.chown(folder, self.alice.uid, self.alice.gid)
        os.chmod(folder, 0o755)
        return folder

    def siblings(self, folder=None):
        """A folder of alice's with programs of hers where the helper's are."""
        folder = folder or self.folder('siblings')
        mark = os.path.join(self.alice.home, 'mark')
        for name in ('yett-decider', 'yett-decoder', 'yett-init', 'yett-policy', 'yett-reader', 'yett-reader-nss', 'yett-front', 'yett-dialer', 'yett-resolver'):
            yett.write(folder + '/' + name, '#!/bin/sh\nid -u >%s\n' % mark, 0o755)
        return folder, mark

    def test_what_lies_beside_a_hard_link_is_not_executed(self):
        # On the same mount as the helper, across which there are no hard links.
        folder, mark = self.siblings(self.folder_beside_the_helper())
        plain = self.plain(folder + '/yett-plain')
        subprocess.run([plain, '--personal', '--policy', setuid.POLICY, '--fd', '0'], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertTrue(os.path.exists(mark))  # without the bit it takes what lies beside it
        os.unlink(mark)
        link = folder + '/yett-helper'
        os.link(HELPER, link)  # as others may where fs.protected_hardlinks is 0
        self.assertTrue(os.stat(link).st_mode & stat.S_ISUID)
        self.assert_served(self.launch(path=link))
        symlink = folder + '/symlink'
        os.symlink(HELPER, symlink)
        self.assert_served(self.launch(path=symlink))
        self.assertFalse(os.path.exists(mark))

    def test_programs_that_others_could_have_changed_are_not_executed(self):
        for name, change, back in (('yett-decider', 0o775, 0o755), ('yett-decoder', 0o775, 0o755), ('yett-init', 0o757, 0o755), ('yett-policy', 0o777, 0o755), ('yett-reader', 0o777, 0o755), ('', 0o777, 0o755)):
            path = os.path.join(LIBEXEC, name)
            os.chmod(path, change)
            self.addCleanup(os.chmod, path, back)
            self.assert_not_served(self.launch(), 'must belong to root and be writable by nobody else')
            os.chmod(path, back)
        os.chown(LIBEXEC + '/yett-init', self.alice.uid, 0)
        self.addCleanup(os.chown, LIBEXEC + '/yett-init', 0, 0)
        self.assert_not_served(self.launch(), 'must belong to root')

    def test_nor_by_what_tells_of_that(self):
        path, mark = LIBEXEC + '/yett-decider', os.path.join(self.alice.home, 'mark')
        self.addCleanup(shutil.move, shutil.move(path, path + '.kept'), path)
        yett.write(path, '#!/bin/sh\nid -u >%s\n' % mark, 0o777)
        self.launch().wait()
        yett.wait_until(lambda: os.path.exists(mark) and yett.read(mark), 'it was executed')
        # It is executed, but only as whoever could have executed it all along.
        self.assertEqual(yett.read(mark), '%d\n' % self.alice.uid)


class WithoutRoot(SetuidCase):
    """yett-rootless, which lies beside the helper, with a mode that it is not meant to have."""

    # Mode; capabilities of the file (struct vfs_cap_data: CAP_DAC_OVERRIDE, effective); the line of proc_pid_status(5) that shows the effect
    WRONG = ((0o4755, b'', r'Uid:\t\d+\t0\t'), (0o2755, b'', r'Gid:\t\d+\t0\t'),
             (0o755, struct.pack('<5I', 0x02000001, 1 << 1, 0, 0, 0), r'CapEff:\t0*[1-9a-f]'))

    def give(self, path, mode, capabilities):
        """The mode and capabilities, to a file of root's."""
        os.chown(path, 0, 0)
        os.chmod(path, mode)
        if capabilities:
            os.setxattr(path, 'security.capability', capabilities)

    def run_own(self, path):
        return self.service.run(self.alice, self.service.yett, 'run', '--', 'id', '-u', env={'YETT_HELPER': path})

    def test_it_serves_its_caller_and_does_nothing_with_what_its_file_would_give_it(self):
        path = LIBEXEC + '/yett-rootless'
        done = self.run_own(path)
        self.assertEqual((done.code, done.out), (0, '%d\n' % self.alice.uid), done)
        self.addCleanup(self.service.install, 'helper/yett-rootless', path, 0o755)
        for mode, capabilities, effect in self.WRONG:
            with self.subTest('%o' % mode, capabilities=capabilities):
                # what such a file gives to a program that does not care
                careless = LIBEXEC + '/cat'
                shutil.copy('/bin/cat', careless)
                self.give(careless, mode, capabilities)
                self.assertRegex(self.service.run(self.alice, careless, '/proc/self/status').out, effect)
                os.unlink(careless)
                self.service.install('helper/yett-rootless', path, 0o755)
                self.give(path, mode, capabilities)
                for more in (('--serve=3',), ('--personal', '--fd', '3'), ('--version',), ('--policy', '/etc/shadow')):
                    started = self.launch(path=path, argv=('yett-rootless', *more))
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(started.answer(), (0, b''), more)
                    self.assertEqual(started.wait(), 2, more)
                done = self.service.run(self.alice, path, '--version')
                self.assertEqual((done.code, done.out, done.err), (2, '', ''), done)
                self.assertEqual(self.run_own(path).code, 125)


class Runtime(SetuidCase):
    """The runtime directory lies where anybody may make files, which /run is not."""

    def replace(self, name, make):
        """Something else in the place of an entry."""
        path = os.path.join(self.service.runtime, name).rstrip('/')
        self.service.wait_no_leftovers()
        kept = path + '-kept'
        os.rename(path, kept)

        def back():
            if os.path.islink(path):
                os.unlink(path)
            else:
                shutil.rmtree(path)
            os.rename(kept, path)
        make(path)
        try:
            self.assert_not_served(self.launch(), 'the runtime directory %s cannot be used' % self.service.runtime)
        finally:
            back()

    def test_links_in_the_place_of_directories_are_not_followed(self):
        elsewhere = self.folder('elsewhere')
        for name in ('', 'ids', 'users', 'empty'):
            with self.subTest(entry=name):
                self.replace(name, lambda path: os.symlink(elsewhere, path))
        self.assertEqual(os.listdir(elsewhere), [])

    def test_directories_of_others_are_not_used(self):
        def make(path):
            os.mkdir(path)
            os.chown(path, self.alice.uid, 0)
        for name in ('', 'ids', 'users', 'empty'):
            with self.subTest(entry=name):
                self.replace(name, make)


if __name__ == '__main__':
    yett.main()
