# SPDX-License-Identifier: Apache-2.0
"""
A set-user-id helper, installed where it looks for its programs, and processes that start it with what they like.

The helper is the one that tests/meson.build links for this: its place is compiled in. So only one run has it at a time.
"""
import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import stat

import alone
import selinux
import yett

yett.STAGED += ('tests/yett-helper-setuid',)

PREFIX = '/var/lib/yett-test/setuid'  # as tests/meson.build has it
LIBEXEC, POLICY = PREFIX + '/libexec', PREFIX + '/etc/yett.conf'
HELPER = LIBEXEC + '/yett-helper'
ARGUMENTS = ('yett-helper', '--serve=3')
GROUP = 64747  # who may execute it; no group of the host's, and it needs no name
HELLO, ERROR = 1, 5  # enum message_kind

LIBC = ctypes.CDLL(None, use_errno=True)


class NoListener:
    """Stands where a service has its process."""

    pid = -1

    def poll(self):
        return 0

    def kill(self):
        pass


class Installed(yett.Service):
    """In the place of a service: an installed helper of mode 4750."""

    def __init__(self, *args, runtime=None, **more):
        super().__init__(*args, **more)
        self.policy, self.helper = POLICY, HELPER
        self.runtime = runtime or self.runtime
        self.process = NoListener()
        self.turn = open('/run/lock/yett-test-setuid', 'w', encoding='ascii')

    def __enter__(self):
        yett.wait_until(self.take_turn, 'the end of another run that has such a helper')
        self.run_.hold_lib()
        shutil.rmtree(PREFIX, ignore_errors=True)
        for folder in (PREFIX, LIBEXEC, os.path.dirname(POLICY)):
            os.makedirs(folder, 0o755)
            os.chmod(folder, 0o755)
        for name in ('decider', 'decoder', 'init', 'policy', 'reader', 'reader-nss', 'front', 'dialer', 'resolver', 'rootless'):
            self.install('helper/yett-' + name, LIBEXEC + '/yett-' + name, 0o755)
        self.install('tests/yett-helper-setuid', HELPER, 0o4750, GROUP)
        return super().__enter__()

    def take_turn(self):
        """Where this program runs apart from others, the folder is its own. Otherwise the lock is one file in all namespaces."""
        if alone.is_made():
            return True
        try:
            fcntl.flock(self.turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def install(self, program, path, mode, gid=0):
        shutil.copy(self.run_.path(program), path)
        os.chown(path, 0, gid)
        os.chmod(path, mode)
        selinux.label_program(path)

    def start(self):
        """Nothing runs before somebody wants it."""
        self.run_.living = [service for service in self.run_.living if service is not self] + [self]
        for index in (1, 2):
            self.run_.user(index).groups = [GROUP]

    def stop(self):
        pass

    def remove(self):
        super().remove()
        shutil.rmtree(PREFIX, ignore_errors=True)
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(os.lstat(self.runtime).st_mode):
                os.unlink(self.runtime)
        self.turn.close()

    def log_text(self):
        return 'the system has it'

    def leftover_processes(self):
        def program(pid):
            with contextlib.suppress(OSError):
                return os.readlink('/proc/%d/exe' % pid)
            return ''
        found = super().leftover_processes()
        return found + [pid for pid in yett.processes() if pid not in found and yett.is_alive(pid) and program(pid).startswith(PREFIX)]

    def environment_of_client(self, env):
        return {'YETT_HELPER': HELPER, **(env or {})}


class Case(yett.Case):
    """Tests that share one installed helper."""

    service_class = Installed

    def launch(self, user=None, prepare=None, **more):
        started = Started(user or self.alice, prepare, **more)
        self.addCleanup(started.close)
        return started

    def assert_served(self, started):
        kind, packet = started.answer()
        self.assertEqual(kind, HELLO, packet)

    def assert_not_served(self, started, *texts):
        kind, packet = started.answer()
        self.assertEqual(kind, ERROR, packet)
        for text in texts:
            self.assertIn(text.encode(), packet)
        self.assertEqual(started.wait(), 1)


class Started:
    """
    A process of a user's that executes the helper with one end of a socketpair as descriptor 3, after `prepare` has set
    the scene: as that user, or before it is one (`as_root`).
    """

    def __init__(self, user, prepare=None, as_root=None, argv=ARGUMENTS, env=None, path=HELPER, session=True, fd=None, closed=()):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(yett.DEADLINE)
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.become(user, prepare, as_root, session, theirs.fileno() if fd is None else fd)
                for number in closed:
                    os.close(number)
                execute(path, argv, {} if env is None else env)
            finally:
                os._exit(99)
        theirs.close()

    @staticmethod
    def become(user, prepare, as_root, session, fd):
        if fd != 3:
            os.dup2(fd, 3)
        os.set_inheritable(3, True)
        os.closerange(4, 256)
        if as_root:
            as_root()
        os.setgroups(user.groups)
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
        if session:
            os.setsid()
        if prepare:
            prepare()

    def answer(self):
        """Kind and bytes of its first packet; (0, b'') when it ends without one."""
        packet = self.socket.recv(65536)
        return (int.from_bytes(packet[6:8], 'little') if packet else 0), packet

    def wait(self):
        """How it ended: the status, or minus the signal."""
        if self.status is None:
            def ended():
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.status = os.waitstatus_to_exitcode(status) if pid else None
                return bool(pid)
            yett.wait_until(ended, 'the end of the helper')
        return self.status

    def close(self):
        self.socket.close()
        if self.status is None:
            with contextlib.suppress(AssertionError):
                self.wait()
            if self.status is None:
                os.kill(self.pid, signal.SIGKILL)
                self.wait()


def execute(path, argv, env):
    """execve(2) as it is: os.execve() refuses an empty argv."""
    def array(items):
        return (ctypes.c_char_p * (len(items) + 1))(*[item.encode() for item in items], None)
    LIBC.execve(path.encode(), array(list(argv)), array(['%s=%s' % pair for pair in env.items()]))
    raise OSError(ctypes.get_errno(), path)


def as_user(user, function):
    """Whether `function` can be done as that user: in a child, which an OSError ends with its number."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            os.setgroups(user.groups)
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
            function()
            code = 0
        except OSError as error:
            code = error.errno
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
