# SPDX-License-Identifier: Apache-2.0
"""
A payload that tries to get out of a sandbox that an ordinary user's own helper has made, without root anywhere; and processes of
it that die.

The attacks are those of test_payload.py, with the answers that differ: here the payload has its user's uid outside too, so what
the kernel decides by uid alone it may do to what it can see; that is the sandbox.
"""
import contextlib
import os
import signal

import test_payload
import yett

# To init, which has the same uid: it harms the sandbox alone, which is the payload's to harm. No signal from inside ends or stops
# a PID 1 that did not ask for it (pid_namespaces(7)): the attacks that follow these in the same run would not be there.
TO_ITS_INIT = ('kill', 'stop', 'tgkill', 'sigqueue', 'pidfd_send_signal')


# And where commands may make user namespaces, and Landlock restricts no files: what is the caller's is the command's, too, which has the
# same id. So are init's turns, for who has capabilities in whatever namespace.
NESTED_PLAINLY = {'make-in-root', 'reopen-for-writing'}
NESTED = NESTED_PLAINLY | {'ioprio_set', 'sched_setaffinity', 'sched_setscheduler', 'setpriority'}


class Attacks(test_payload.Attacks):
    service_class = yett.Rootless
    nested_more, nested_more_plainly = NESTED, NESTED_PLAINLY

    @classmethod
    def make_surroundings(cls):
        cls.service.socket = cls.service.folder + '/socket'  # there is none
        super().make_surroundings()

    def attack(self, name, who, inside, passed):
        super().attack(name, who, ('works',) if name in TO_ITS_INIT else inside, passed)


class Surroundings(test_payload.Surroundings):
    service_class = yett.Rootless
    test_nobody_outside_is_held_up_by_a_lease_or_by_what_the_machine_counts = None  # without root it counts as the user's own
    test_as_many_files_as_there_may_be_harm_nobody = None  # the same tmpfs, and too slow to fill twice where the processor is emulated

    def test_a_memory_hog_harms_nobody(self):
        self.assert_refused(self.sandbox('true', options=('--memory', '64M')), 125, 'memory cannot be limited')


    def test_init_serves_on_whatever_a_command_tries_of_it(self):
        script = ('kill -STOP 1; kill -9 1; prlimit --pid 1 --nofile=0; prlimit --pid 1 --cpu=0; renice 19 1; chrt -i -p 0 1; '
                  'taskset -p 1 1; ionice -c 3 -p 1; echo tried')
        done = self.sandbox('sh', '-c', script)
        self.assertEqual((done.code, done.out.split()[-1]), (0, 'tried'), done)
        self.assertEqual(done.err.count('not permitted'), 6, done)
        self.assertNotIn('did not say', done.err)


def family(client):
    """The processes of a client's sandbox, by what they are."""
    helper = next(pid for pid in yett.children_of(client.pid) if yett.is_alive(pid))
    pids = {'client': client.pid, 'monitor': helper}
    pids['decider'], pids['decoder'] = yett.decider_and_decoder(helper)
    for child in yett.children_of(helper):
        for below in yett.children_of(child):
            if yett.argv_of(below)[:1] == ['yett-init']:
                pids['supervisor'], pids['init'] = child, below
                pids['command'] = yett.children_of(below)[0]
    return pids


class Deaths(yett.Case):
    """Nobody else is there to look after what is left: it has to go by itself."""

    service_class = yett.Rootless

    def die(self, *names):
        client = self.start('sh', '-c', 'sleep 1000 & setsid sleep 1000 & echo up; read x')
        self.assertEqual(self.line(client), 'up')
        pids = family(client)
        self.assertEqual(len(pids), 7, pids)
        for name in names:
            with contextlib.suppress(ProcessLookupError):  # it ends by itself when it is no longer needed
                os.kill(pids[name], signal.SIGKILL)
        client.stdin.close()
        yett.wait_until(lambda: not self.service.leftover_processes(), 'the end of all processes after that of ' + ' and '.join(names))
        client.wait(yett.DEADLINE)
        self.output('true')  # which takes away what the dead have left on disk
        self.service.wait_no_leftovers()

    def test_of_the_client(self):
        self.die('client')

    def test_of_the_monitor(self):
        self.die('monitor')

    def test_of_the_decider(self):
        self.die('decider')

    def test_of_the_decider_and_its_monitor(self):
        self.die('decider', 'monitor')

    def test_of_the_decoder(self):
        self.die('decoder')

    def test_of_the_supervisor(self):
        self.die('supervisor')

    def test_of_init(self):
        self.die('init')

    def test_of_the_command(self):
        self.die('command')

    def test_of_all_that_could_look_after_it(self):
        self.die('supervisor', 'monitor', 'client')

    def test_of_a_supervisor_whose_sandbox_lingers(self):
        done = self.yett('create', '--name', 'left')
        self.assertEqual(done.code, 0, done)
        init = next(pid for pid in self.service.leftover_processes() if yett.argv_of(pid)[:1] == ['yett-init'])
        os.kill(yett.parent_of(init), signal.SIGKILL)
        yett.wait_until(lambda: not self.service.leftover_processes(), 'the end of all processes')
        self.assertEqual(self.yett('ps', '-q').out, '')
        self.service.wait_no_leftovers()


if __name__ == '__main__':
    yett.main()
