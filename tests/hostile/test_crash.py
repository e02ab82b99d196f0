"""
A process dies at the worst moment: each of them, at each step of the set-up, and in every order while a command runs.

The helper here links tests/support/faults.c, so that it waits at a named step, or fails there. After the next request
has been served nothing may be left of what died.
"""
import contextlib
import errno
import itertools
import mmap
import os
import signal
import struct
import unittest

import hostile
import yett

POLICY = '''
profile "crash" {
  extends = "default"
  share_ro = {"/usr/share:/host"}
  tmpfs = {"/scratch:1M"}
  read_only = {"/data"}
  mask = {"/data/masked"}
}
grant "crash" {
  users = {"*"}
  profiles = {"crash"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  max_sandboxes = 4
}
'''

NAME_SIZE, LOG_SIZE = 64, 256
HOLD, FAIL = 1, 2

# Steps whose failure is nobody's: at the first nothing is there yet to fail, at the last the sandbox is over.
NOT_FAILING = ('supervisor:prepare', 'supervisor:end', 'supervisor:recycle')


class Faults:
    """The memory shared with the helper; the layout is that of struct faults."""

    HEAD = struct.Struct('%dsIiIIIiII' % NAME_SIZE)

    def __init__(self, path):
        self.size = self.HEAD.size + LOG_SIZE * NAME_SIZE
        with open(path, 'wb') as file:
            file.truncate(self.size)
        with open(path, 'r+b') as file:
            self.map = mmap.mmap(file.fileno(), self.size)
        self.path = path

    def set(self, name='', action=0, error=0, armed=0, recording=0):
        """From here on the fault is in force. `armed` comes last, since a helper may be running."""
        self.map[:NAME_SIZE] = name.encode().ljust(NAME_SIZE, b'\0')
        struct.pack_into('IiIIIiII', self.map, NAME_SIZE, action, error, armed, 0, 0, 0, recording, 0)

    def get(self):
        return dict(zip(('action', 'error', 'armed', 'reached', 'go', 'pid', 'recording', 'log_count'),
                        struct.unpack_from('IiIIIiII', self.map, NAME_SIZE)))

    def release(self):
        struct.pack_into('I', self.map, NAME_SIZE + 16, 1)

    def log(self):
        count = min(self.get()['log_count'], LOG_SIZE)
        return [self.map[self.HEAD.size + i * NAME_SIZE:][:NAME_SIZE].rstrip(b'\0').decode() for i in range(count)]


class Tree:
    """The processes around one sandbox, found from the one that waits at a step (or from its init)."""

    def __init__(self, process, pid, client):
        self.pids = {'client': client}
        if process == 'sandbox':
            pid = self.find_inside()
        supervisor = pid if process == 'supervisor' else yett.parent_of(pid)
        self.pids['supervisor'] = supervisor
        monitor = yett.parent_of(supervisor)
        self.pids['monitor'] = monitor
        for child in yett.children_of(monitor):
            if yett.argv_of(child)[:1] == ['yett-decoder']:
                self.pids['decoder'] = child
        for child in yett.children_of(supervisor):
            if yett.is_alive(child):
                self.pids['inside' if self.depth(child) == 2 else 'builder'] = child

    @staticmethod
    def depth(pid):
        return len(yett.status_of(pid).get('NSpid', '').split())

    @staticmethod
    def find_inside():
        raise NotImplementedError


class CrashCase(yett.Case):
    """A service with the helper that waits at steps. `spares` differs."""

    spares = 0

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults'))
        cls.service_options = {'before': POLICY, 'spares': cls.spares, 'helper': 'tests/hostile/yett-helper-faults',
                               'libexec': run.path('helper'), 'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()
        cls.data = cls.alice.mkdir('data')
        cls.alice.mkdir('data/masked')
        cls.alice.mkdir('work')
        cls.alice.write('data/file', 'x')

    def setUp(self):
        self.before = self.shared()
        self.addCleanup(self.faults.set)

    def shared(self):
        """All that is in the shared directories."""
        found = []
        for path, directories, files in os.walk(self.alice.home):
            if '.config' not in path:
                found += [(os.path.join(path, name), os.lstat(os.path.join(path, name)).st_mtime_ns)
                          for name in directories + files]
        return sorted(found)

    def options(self):
        return ('-p', 'crash', '--ro', self.data + ':/data', '--rw', self.alice.home + '/work:/work')

    def client(self, *command):
        return self.start(*command, options=self.options())

    def inside_of_service(self):
        """The process inside, by its pid outside: the only child of a helper of ours with a pid namespace of its own."""
        found = [pid for pid in self.service.leftover_processes() if Tree.depth(pid) == 2 and
                 yett.status_of(pid)['NSpid'].split()[1] == '1']
        self.assertEqual(len(found), 1, found)
        return found[0]

    def tree(self, name, client):
        process, pid = name.split(':')[0], self.faults.get()['pid']
        if process in ('sandbox', 'inside'):
            return Tree('builder', self.inside_of_service(), client.pid).pids
        return Tree(process, pid, client.pid).pids

    def hold(self, name):
        """A client whose sandbox waits at the step."""
        self.faults.set(name, HOLD, armed=1)
        client = self.client('true')
        yett.wait_until(lambda: self.faults.get()['reached'] or client.poll() is not None, 'step ' + name)
        self.assertTrue(self.faults.get()['reached'], (name, client.stderr.read()))
        return client

    def assert_nothing_left(self):
        done = self.sandbox('true', options=self.options())
        self.assertEqual(done.code, 0, done)
        if self.spares:
            self.service.stop()
        self.service.wait_no_leftovers()
        if self.spares:
            self.service.start()
        self.assertEqual(self.shared(), self.before)

    def finish(self, client):
        """How the client ended, which it must, and say why if its command did not run."""
        out, err = client.communicate(timeout=yett.DEADLINE)
        done = yett.Result(client.returncode, out.decode(), err.decode())
        self.assertIn(done.code, (0, 125, -signal.SIGKILL), done)
        if done.code == 125:
            self.assertTrue(done.err.startswith('yett: '), done)
        return done

    def die(self, name, victim):
        client = self.hold(name)
        pids = self.tree(name, client)
        if victim not in pids:
            self.faults.release()
            self.finish(client)
            raise unittest.SkipTest('no %s lives at step %s' % (victim, name))
        os.kill(pids[victim], signal.SIGKILL)
        self.faults.release()
        done = self.finish(client)
        self.faults.set()
        if victim == 'client':
            self.assertEqual(done.code, -signal.SIGKILL, done)
        elif victim in ('monitor', 'supervisor', 'inside') and name not in ('supervisor:end', 'supervisor:recycle'):
            self.assertEqual(done.code, 125, done)
        self.assert_nothing_left()

    def fail_at(self, name):
        self.faults.set(name, FAIL, errno.EIO, armed=1)
        done = self.finish(self.client('true'))
        self.assertTrue(self.faults.get()['reached'], name)
        self.faults.set()
        self.assertEqual(done.code, 125, done)
        step = name.split(':')[1]
        self.assertIn('step ' + step, done.err)
        self.assertIn(os.strerror(errno.EIO), done.err)
        self.assert_nothing_left()


def record(spares):
    """The steps that a sandbox of the profile "crash" goes through, in their order."""
    class Recorder(CrashCase):
        def runTest(self):
            self.client('true').communicate()
            self.faults.set(recording=1)
            self.client('true').communicate()
            if self.spares:
                self.service.stop()
            self.service.wait_no_leftovers()
            self.steps = list(dict.fromkeys(self.faults.log()))
            if self.spares:
                self.service.start()

    Recorder.spares = spares
    case = Recorder()
    result = unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    if not result.wasSuccessful():
        raise RuntimeError('\n'.join(text for _, text in result.errors + result.failures))
    return case.steps
