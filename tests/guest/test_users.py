# SPDX-License-Identifier: Apache-2.0
"""Two users with different grants and many sandboxes each: the ceilings hold, and neither sees or slows the other."""

import installed
import yett

MANY = 12
GRANTS = '''
grant "ann" {
  users = {"ann"}
  user_keys = true
  profiles = {"default"}
  max_sandboxes = %d
  user_memory = 160M
  user_pids = 400
}
grant "ben" {
  users = {"ben"}
  user_keys = true
  profiles = {"strict"}
  max_sandboxes = %d
}
''' % (MANY, MANY)
SPIN = 'print("up", flush=True)\nwhile True: pass'
HOLD = 'print("up", flush=True); input()'


def file_of(user, name):
    return '%s/user-%d/%s' % (installed.CGROUP, user.uid, name)


def cpu_used(user):
    return installed.value_of(file_of(user, 'cpu.stat'), 'usage_usec')


class Users(installed.Case):
    def setUp(self):
        # The shipped grant is for everybody and comes first, as yett.conf does: for this test nobody is left to it.
        shipped = yett.read('/etc/yett/yett.conf')
        self.addCleanup(yett.write, '/etc/yett/yett.conf', shipped)
        yett.write('/etc/yett/yett.conf', shipped.replace('users = {"*"}', 'users = {"root"}'))
        self.policy(GRANTS)
        for user, profile in ((self.ann, 'default'), (self.ben, 'strict')):
            self.output(user, 'true', options=['-p', profile])
        self.wait_all_gone()

    def several(self, user, profile, number, *argv):
        """As many, each of which has said `up`. A few are begun at once: the helper gives a request a time, on slow machines too."""
        processes = []
        while len(processes) < number:
            begun = [self.popen(user, 'yett', 'run', '-p', profile, '--', *(argv or ['sh', '-c', 'echo up; read x']))
                     for _ in range(min(4, number - len(processes)))]
            for process in begun:
                line = yett.line_of(process.stdout)
                self.assertEqual(line, 'up', process.stderr.read().decode() if line != 'up' else '')
            processes += begun
        return processes

    def test_each_has_what_its_own_grant_says(self):
        self.assertIn('strict', self.sandbox(self.ann, 'true', options=['-p', 'strict']).err)
        self.assertEqual(self.sandbox(self.ann, 'true', options=['-p', 'strict']).code, 125)
        self.assertEqual(self.sandbox(self.ben, 'true', options=['-p', 'default']).code, 125)

    def test_as_many_sandboxes_of_each_as_it_may_have_at_once_and_not_one_more(self):
        held = self.several(self.ann, 'default', MANY) + self.several(self.ben, 'strict', MANY)
        for user, profile in ((self.ann, 'default'), (self.ben, 'strict')):
            done = self.sandbox(user, 'true', options=['-p', profile])
            self.assertEqual(done.code, 125, done)
            self.assertIn('allows this user %d sandboxes at once' % MANY, done.err)
        uids = {yett.status_of(pid)['Uid'].split()[0] for pid in installed.sandboxed()
                if yett.argv_of(pid)[:2] == ['sh', '-c']}
        self.assertEqual(len(uids), 2 * MANY)
        self.neither_sees_nor_signals_the_other()
        for process in held:
            process.stdin.close()
        for process in held:
            process.wait(yett.DEADLINE)
        self.wait_all_gone()

    def neither_sees_nor_signals_the_other(self):
        """With all of them there, from a user's own shell: outside a sandbox more is possible than inside."""
        pids = [pid for pid in installed.sandboxed() if yett.argv_of(pid)[:2] == ['sh', '-c']]
        script = ('import os, sys\nfor pid in map(int, sys.argv[1:]):\n  for attempt in (lambda: os.kill(pid, 9), '
                  'lambda: os.readlink("/proc/%d/cwd" % pid), lambda: open("/proc/%d/environ" % pid).read()):\n'
                  '    try: attempt(); print("reached", pid)\n    except PermissionError: pass\n')
        for user in (self.ann, self.ben):
            done = self.run_as(user, 'python3', '-c', script, *map(str, pids))
            self.assertEqual((done.code, done.out, done.err), (0, '', ''))

    def test_memory_of_all_sandboxes_together_is_bounded_and_the_others_have_theirs(self):
        held = self.several(self.ben, 'strict', 1, 'python3', '-c', 'x = bytearray(60 << 20); ' + HOLD)
        hogs = [self.popen(self.ann, 'yett', 'run', '--', 'python3', '-c', 'x = bytearray(60 << 20); ' + HOLD) for _ in range(4)]
        yett.wait_until(lambda: any(hog.poll() is not None for hog in hogs), 'the end of one that is too much')
        self.assertEqual(yett.read(file_of(self.ann, 'memory.max')).strip(), str(160 << 20))
        self.assertGreater(installed.value_of(file_of(self.ann, 'memory.events'), 'oom_kill'), 0)
        self.assertEqual({hog.returncode for hog in hogs if hog.poll() is not None}, {137})
        self.assertEqual(installed.value_of(file_of(self.ben, 'memory.events'), 'oom_kill'), 0)
        self.assertIsNone(held[0].poll())

    def test_processes_of_all_sandboxes_together_are_bounded(self):
        script = ('import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\n    n += 1\n'
                  'except OSError: print("up", flush=True); input()')
        self.several(self.ann, 'default', 2, 'python3', '-c', script)
        self.assertLessEqual(int(yett.read(file_of(self.ann, 'pids.current'))), 400)
        self.assertGreater(int(yett.read(file_of(self.ann, 'pids.current'))), 380)
        self.output(self.ben, 'sh', '-c', 'for i in 1 2 3 4 5; do sleep 0.1 & done; wait', options=['-p', 'strict'])

    def test_many_busy_sandboxes_of_one_leave_the_other_its_half(self):
        self.several(self.ann, 'default', 12, 'python3', '-c', SPIN)
        self.several(self.ben, 'strict', 2, 'python3', '-c', SPIN)
        before = cpu_used(self.ann), cpu_used(self.ben)
        yett.wait_until(lambda: cpu_used(self.ann) - before[0] > 4000000, 'processor time')
        used = cpu_used(self.ann) - before[0], cpu_used(self.ben) - before[1]
        # With equal weights each has a half, give or take what two processors cannot share; without groups of users ben had a seventh.
        self.assertGreater(used[1] / sum(used), 0.25, used)


if __name__ == '__main__':
    yett.main()
