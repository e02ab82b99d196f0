# SPDX-License-Identifier: Apache-2.0
"""
Mounts of a sandbox that runs, attacked: processes that die meanwhile, and commands that move the place.

The helper here links tests/support/faults.c, so that it waits at a named step.
"""
import os
import subprocess

import hostile
import tiers
import yett
from hostile import Faults

POLICY = 'grant "mounts" { users = {"*"} user_keys = true profiles = {"*"} share_ro = {"*"} share_rw = {"*"} linger_max = unlimited }\n'
STEPS = ('sharer:share', 'mounter:enter')
VICTIMS = ('itself', 'client', 'decider', 'monitor', 'supervisor', 'init')

# A directory of the share is in turn itself and a link to a place of the sandbox's own. Whoever looks a name up by itself gets there now and then.
SWAP = '''
import os, sys
os.chdir(sys.argv[1])
os.makedirs("real/place", exist_ok=True)
os.symlink("/tmp", "link")
print("up", flush=True)
while True:
    os.rename("real", "turn")
    os.rename("link", "real")
    os.rename("real", "link")
    os.rename("turn", "real")
'''


class Attacked(yett.Case):
    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults'))
        if not os.path.exists(run.path('libexec-crash')):
            run.libexec('libexec-crash', init=hostile.program('yett-init-faults'))
        cls.service_options = {'before': POLICY, 'helper': 'tests/hostile/yett-helper-faults', 'libexec': run.path('libexec-crash'),
                               'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()

    def setUp(self):
        self.addCleanup(self.faults.set)
        self.project = self.folder('project')
        self.alice.write('project/file', 'x')
        self.assertEqual(self.yett('create', '--name', 'box').code, 0)
        self.addCleanup(self.yett, 'destroy', 'box')

    def targets(self):
        done = self.yett('exec', 'box', '--', 'cat', '/proc/self/mountinfo')
        self.assertEqual(done.code, 0, done)
        return [line.split()[4] for line in done.out.splitlines() if 'idmapped' in line and '/home1/' in line.split()[3]]

    def monitors(self):
        """Those that have a client; a supervisor, whose sandbox stays, has none."""
        return [pid for pid in yett.children_of(self.service.pid())
                if yett.child_named(pid, 'yett-decider') and self.service.connections() & yett.sockets_of(pid)]

    def begin(self, *words):
        process = self.service.popen(self.alice, self.service.yett, 'mount', 'box', *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def die(self, step, victim):
        self.faults.set(step, Faults.HOLD)
        client = self.begin('--rw', self.project + ':/mnt/x')
        yett.wait_until(lambda: self.faults.reached() == 1, 'a process at ' + step)
        holder = self.faults.holder()
        supervisor = yett.parent_of(holder)
        inits = yett.inits_among(yett.children_of(supervisor))
        yett.wait_until(lambda: len(self.monitors()) == 1, 'the end of the connection before')
        monitor, = self.monitors()
        pid = {'itself': holder, 'client': client.pid, 'decider': yett.decider_and_decoder(monitor)[0], 'monitor': monitor, 'supervisor': supervisor,
               'init': inits[0]}[victim]
        yett.kill(pid)
        if victim not in ('itself', 'supervisor'):
            self.faults.release()
        out, err = client.communicate(timeout=yett.DEADLINE)
        if victim == 'monitor' and client.returncode == 0:  # the supervisor answers the decider, which was still there to pass it on
            self.assertEqual((self.targets(), out, err), (['/mnt/x'], b'', b''))
        elif victim != 'client':
            self.assertEqual((client.returncode, out), (1, b''), err)
            self.assertTrue(err.startswith(b'yett: '), err)
        if victim in ('supervisor', 'init'):
            yett.wait_until(lambda: self.yett('exec', 'box', '--', 'true').code != 0, 'the end of the sandbox')
            self.assertEqual(self.yett('run', '--', 'true').code, 0)
        else:
            yett.wait_until(lambda: [pid for pid in yett.children_of(supervisor) if pid == holder] == [], 'the end of who mounts')
            if self.targets():  # nobody was there to hear that it was done
                self.assertIn(victim, ('client', 'decider', 'monitor'))
                self.assertEqual(self.yett('unmount', 'box', '/mnt/x').code, 0)
            self.assertEqual(self.yett('mount', 'box', '--rw', self.project + ':/mnt/x').code, 0)
            self.assertEqual(self.targets(), ['/mnt/x'])
            self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.assertEqual(os.listdir(self.project), ['file'])
        self.service.wait_no_leftovers()

    def test_a_place_that_moves_leads_nowhere_else(self):
        other = self.folder('other')
        self.assertEqual(self.yett('mount', 'box', '--rw', self.project).code, 0)
        with self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'python3', '-c', SWAP, self.project, stdout=subprocess.PIPE) as swapper:
            try:
                self.assertEqual(self.line(swapper), 'up')
                followed = refused = 0
                for _ in range(tiers.number(8, 25)):
                    # What looks the name up itself is led away: inside, as the sandbox's own user.
                    done = self.yett('exec', 'box', '--', 'sh', '-c', 'for i in $(seq 60); do realpath "$1"; done | sort -u', 'sh', self.project + '/real')
                    followed += '/tmp\n' in done.out
                    done = self.yett('mount', 'box', '--ro', other + ':' + self.project + '/real/place')
                    refused += done.code != 0
                    found = self.targets()
                    self.assertEqual([path for path in found if not path.startswith(self.project)], [])
                    if done.code == 0:
                        self.yett('unmount', 'box', *[path for path in found if path != self.project])
                self.assertGreater(followed, 0)
            finally:
                swapper.kill()
        self.assertEqual([name for name in os.listdir(self.project) if name not in ('file', 'real', 'link', 'turn')], [])


hostile.add_cases(Attacked, 'death', [('%s_of_%s' % (step, victim), step, victim) for step in STEPS for victim in VICTIMS],
                  lambda self, _, step, victim: self.die(step, victim))

if __name__ == '__main__':
    yett.main()
