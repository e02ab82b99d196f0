# SPDX-License-Identifier: Apache-2.0
"""
A process dies at the worst moment: each of them, at each step of the set-up, and in every order while a command runs.

The helper and init here link tests/support/faults.c, so that they wait at a named step, or fail there. After the next request
has been served nothing may be left of what died.
"""
import contextlib
import errno
import glob
import itertools
import os
import signal
import unittest

import hostile
import tiers
import yett
from hostile import Faults

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

# Reached by a supervisor once in its life, so not by those that are ready already.
FIRST_STEPS = ('supervisor:prepare', 'supervisor:reserved', 'builder:enter')

# Steps whose failure is nobody's: at the first ones nothing is there yet to fail, at the last the sandbox is over.
NOT_FAILING = ('supervisor:prepare', 'supervisor:reserved', 'supervisor:end', 'supervisor:recycle')


def depth(pid):
    """In how many pid namespaces it has a number."""
    return len(yett.status_of(pid).get('NSpid', '').split())


def is_ahead_of_order(name):
    """Whether init may not have been told anything yet when it is at this step: then another one replaces one that dies."""
    return name == 'leaver:init' or name.startswith('init ahead:')


def family(supervisor, listener, held=0, role=None):
    """The processes of one sandbox, by what they are; `held` is known to be `role`."""
    if supervisor in (0, listener, os.getpid()):  # to whom orphans go: a test must not kill its own parents, nor its own group
        raise AssertionError('the supervisor is gone')
    pids = {'supervisor': supervisor}
    for child in sorted(yett.children_of(supervisor)):
        if yett.is_alive(child):
            # Of those outside, the builder came first; the others are there for a moment.
            pids.setdefault('inside' if depth(child) == 2 else role if child == held else 'builder', child)
    monitor = yett.parent_of(supervisor)
    if monitor not in (0, listener):  # which has those that are ready for whoever comes
        pids['monitor'] = monitor
        decider, decoder = yett.decider_and_decoder(monitor)
        pids.update((name, pid) for name, pid in (('decider', decider), ('decoder', decoder)) if pid)
    return pids


class CrashCase(yett.Case):
    """A service with the helper that waits at steps. `spares` differs."""

    spares = 0

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults'))
        if not os.path.exists(run.path('libexec-crash')):
            run.libexec('libexec-crash', init=hostile.program('yett-init-faults'))
        cls.service_options = {'before': POLICY, 'spares': cls.spares, 'helper': 'tests/hostile/yett-helper-faults',
                               'libexec': run.path('libexec-crash'), 'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()
        cls.data = cls.alice.mkdir('data')
        cls.alice.mkdir('data/masked')
        cls.alice.mkdir('work')
        cls.alice.mkdir('work/.git/hooks')  # guarded, so that a plan has a step of that kind
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

    def family_at(self, name, client):
        """The processes around the one that waits at a step."""
        pid = self.faults.holder()
        supervisor = pid if name.startswith('supervisor:') else yett.parent_of(pid)
        if self.spares and supervisor in (0, self.service.pid()):  # one too many, which has ended on its own
            return {'client': client.pid}
        return {'client': client.pid, **family(supervisor, self.service.pid(), pid, name.split(':')[0])}

    def family_of_running(self, client):
        """The same for a sandbox in which a command runs; there must be only one."""
        inits = yett.inits_among(self.service.leftover_processes())
        self.assertEqual(len(inits), 1, inits)
        return {'client': client.pid, **family(yett.parent_of(inits[0]), self.service.pid())}

    def wait_for_spares(self):
        """A user who has been served lately has some."""
        if self.spares and not self.count_spares():
            self.finish(self.client('true'))
        yett.wait_until(lambda: self.count_spares() == self.spares, '%d spares' % self.spares)

    def count_spares(self):
        """By the ranges that are reserved for the user."""
        return [hostile.record_uid(path) for path in glob.glob(self.service.runtime + '/ids/*')].count(self.alice.uid)

    def hold(self, name):
        """A client while whose sandbox is made, or made ready for another, a process waits at the step."""
        if name not in FIRST_STEPS:
            self.wait_for_spares()
        elif self.spares:
            self.service.stop()
            self.service.wait_no_leftovers()
            self.service.start()
        self.faults.set(name, Faults.HOLD)
        client = self.client('true')
        yett.wait_until(lambda: self.faults.reached(), 'step ' + name)
        return client

    def assert_nothing_left(self):
        done = self.sandbox('true', options=self.options())
        if self.spares and done.code == 125:  # it was handed the one whose part was killed, before that was seen
            self.assertIn('the same request can succeed later', done.err)
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
        pids = self.family_at(name, client)
        if victim not in pids:  # it does not live yet, or not any more: then nothing is to be seen but the end
            self.faults.release()
            self.finish(client)
            self.assert_nothing_left()
            return
        try:
            yett.kill(pids[victim])
        except ProcessLookupError:
            if not self.spares:  # where there are, one too many ends on its own
                raise
        self.faults.release()
        done = self.finish(client)
        self.faults.set()
        is_early = victim == 'inside' and (name.startswith('supervisor:') or is_ahead_of_order(name))
        is_lost = not is_early and victim in ('monitor', 'decider', 'supervisor', 'inside', 'leaver', 'sharer') and name not in ('supervisor:end', 'supervisor:recycle')
        if is_lost and not self.spares:
            self.assertEqual(done.code, 125, done)
        self.assert_nothing_left()

    def fail_at(self, name):
        self.faults.set(name, Faults.FAIL, errno.EIO)
        done = self.finish(self.client('true'))
        self.assertTrue(self.faults.reached(), name)
        self.faults.set()
        if done.code == 0:  # one that ended before it was told anything was replaced by another one
            self.assertTrue(is_ahead_of_order(name), name)
            self.assert_nothing_left()
            return
        self.assertEqual(done.code, 125, done)
        step = name.split(':')[1]
        self.assertIn('step ' + step, done.err)
        self.assertRegex(done.err, 'Input/output error|I/O error')  # in the words of the helper's C library, or of init's
        self.assert_nothing_left()


class OneShot(CrashCase):
    """Each sandbox has a supervisor of its own, and after it there must be nothing at all."""

    def test_a_dry_run_whose_supervisor_dies_is_told_what_died(self):
        self.faults.set('supervisor:cgroup', Faults.HOLD)
        client = self.start('true', options=(*self.options(), '--dry-run'))
        yett.wait_until(lambda: self.faults.reached(), 'the step of a dry run')
        yett.kill(self.faults.holder())
        self.faults.release()
        self.assertIn('the supervisor of the sandbox died', self.finish(client).err)
        self.faults.set()
        self.assert_nothing_left()

    def test_every_step_of_a_plan_is_carried_out(self):
        """Of each kind that a sandbox is made by, by the process that it is for."""
        done = self.start('true', options=(*self.options(), '--dry-run', '--json'))
        plan = self.finish(done)
        planned = {step['step'] for step in yett.told(plan.out)['plan']['steps']}
        self.assertEqual(planned, set(hostile.step_names()) - {'unmount', 'refresh'})  # which are for one that is there: test_live_mounts
        self.faults.set(recording=True)
        kinds = ('mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup', 'user')
        seen = self.client('sh', '-c', 'cd /proc/self/ns && readlink ' + ' '.join(kinds)).communicate(timeout=yett.DEADLINE)[0].decode().split()
        # These are made together with the process that enters them, and seen by it.
        self.assertEqual((len(seen), set(seen) & {os.readlink('/proc/self/ns/' + kind) for kind in kinds}), (len(kinds), set()))
        self.assertEqual(planned - {name.split(':')[1] for name in self.faults.log()}, {'user-namespace', 'template', 'namespaces'})

    def kill_in_order(self, *order):
        client = self.client('sh', '-c', 'echo ready; setsid sleep 1000 & exec sleep 1000')
        self.assertEqual(self.line(client), 'ready')
        pids = self.family_of_running(client)
        self.assertEqual(set(pids), set(order))
        with contextlib.ExitStack() as stack:
            handles = {name: os.pidfd_open(pid) for name, pid in pids.items()}
            for handle in handles.values():
                stack.callback(os.close, handle)
            for name in order:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handles[name], signal.SIGKILL)
            client.communicate(timeout=yett.DEADLINE)
        # one at a time: the next one looks for the only init there is
        yett.wait_until(lambda: not yett.is_alive(pids['inside']), 'the end of init')

    def orders(self, first, second):
        """
        Each two of them first, and then the others. All orders of those would be five thousand: they come in every rotation, forwards and
        backwards, so that each dies third and each dies last, and each two in either order, one right after the other.
        """
        rest = [name for name in PROCESSES if name not in (first, second)]
        for start, step in itertools.product(range(len(rest)), (1, -1)):
            self.kill_in_order(first, second, *(rest[(start + step * i) % len(rest)] for i in range(len(rest))))
        self.assert_nothing_left()

    def one_dies(self, name, code, text):
        """Just one of them, and the others notice."""
        client = self.client('sh', '-c', 'echo ready; setsid sleep 1000 & exec sleep 1000')
        self.assertEqual(self.line(client), 'ready')
        os.kill(self.family_of_running(client)[name], signal.SIGKILL)
        if code is None:  # the sandbox does without it, until its client goes
            self.assertIsNone(client.poll())
            client.terminate()
        done = self.finish_any(client)
        if code is not None:
            self.assertEqual(done.code, code, done)
            self.assertIn(text, done.err)
        self.assert_nothing_left()

    def finish_any(self, client):
        out, err = client.communicate(timeout=yett.DEADLINE)
        return yett.Result(client.returncode, out.decode(), err.decode())

    def test_sandboxes_outlive_the_listener(self):
        client = self.client('sh', '-c', 'echo ready; read line; echo "$line"; exit 7')
        self.assertEqual(self.line(client), 'ready')
        self.service.process.kill()
        self.service.process.wait()
        client.stdin.write(b'still there\n')
        client.stdin.flush()
        done = self.finish_any(client)
        self.assertEqual((done.code, done.out.strip()), (7, 'still there'), done)
        self.service.start()
        self.assert_nothing_left()

    def test_what_nobody_could_clean_up_goes_at_the_next_start(self):
        client = self.client('sh', '-c', 'echo ready; exec sleep 1000')
        self.assertEqual(self.line(client), 'ready')
        pids = self.family_of_running(client)
        # stopped first: on a busy machine it would clean up before its own death
        os.kill(pids['supervisor'], signal.SIGSTOP)
        yett.wait_until(lambda: yett.status_of(pids['supervisor'])['State'].startswith('T'), 'the stopped supervisor')
        for pid in (self.service.pid(), pids['monitor'], pids['supervisor']):
            os.kill(pid, signal.SIGKILL)
        self.service.process.wait()
        self.finish_any(client)
        left = [line for line in self.service.leftovers() if not line.startswith('process')]
        self.assertTrue(left, 'nothing was left to clean up: this shows nothing')
        self.service.start()
        self.assert_nothing_left()


# Those that live as long as the sandbox, and those that live for a moment while it is made.
PASSING = ('leaver', 'sharer')
PROCESSES = ('client', 'monitor', 'decider', 'decoder', 'supervisor', 'builder', 'inside')


def record(case_class):
    """The steps that the sandboxes of a class go through, in their order."""
    class Recorder(case_class):
        def runTest(self):
            self.faults.set(recording=True)
            for _ in range(2):  # the second one is made by who was there for the first one
                self.wait_for_spares()
                self.client('true').communicate()
            self.wait_for_spares()
            self.service.stop()
            self.service.wait_no_leftovers()
            self.service.start()
            self.steps = list(dict.fromkeys(self.faults.log()))

    case, result = Recorder(), unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    if not result.wasSuccessful():
        raise RuntimeError('\n'.join(text for _, text in result.errors + result.failures))
    return case.steps


def add_deaths(case_class):
    steps = record(case_class)
    if len(steps) < 20:
        raise RuntimeError('too few steps were reached: %s' % steps)
    # At each step make check kills one of them: the next step has the next one.
    turns = dict(zip(steps, itertools.cycle(PROCESSES)))
    for victim in (*PROCESSES, *PASSING):
        rows = [(name, victim) for name in steps if victim in PROCESSES or name.startswith(victim + ':')]
        hostile.add_cases(case_class, 'death_of_%s_at' % victim, tiers.some(rows, lambda row: row[1] in (turns[row[0]], *PASSING)),
                          lambda self, name, victim: self.die(name, victim))
    return steps


def add_all_cases():
    steps = add_deaths(OneShot)
    hostile.add_cases(OneShot, 'failure_of', tiers.some([(name,) for name in steps if name not in NOT_FAILING], lambda _: True),
                      lambda self, name: self.fail_at(name))
    # Of two that die first make check has each once as the first and once as the second.
    rows = [('%s then %s' % pair, *pair) for pair in itertools.permutations(PROCESSES, 2)]
    neighbours = list(zip(PROCESSES, (*PROCESSES[1:], PROCESSES[0])))
    hostile.add_cases(OneShot, 'orders_of_death', tiers.some(rows, lambda row: row[1:] in neighbours),
                      lambda self, _, first, second: self.orders(first, second))
    hostile.add_cases(OneShot, 'death_while_running_of', [
        ('monitor', 125, 'yett: '), ('decider', 125, 'yett: '), ('supervisor', 125, 'yett: '), ('inside', 125, 'yett: '),
        ('decoder', None, ''), ('builder', None, '')],
        lambda self, name, code, text: self.one_dies(name, code, text))


if __name__ == '__main__':
    if not yett.missing():
        add_all_cases()
    yett.main()
