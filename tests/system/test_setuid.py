# SPDX-License-Identifier: Apache-2.0
"""The set-user-id way to start: it serves as a service does, each of its processes states its privilege, and nothing stays."""
import os
import re
import socket
import subprocess

import setuid
import yett
from test_modes import KILL, NONE, SETGID, SETUID, sets_of, table


class Serving(setuid.Case):
    def test_it_runs_commands_for_each_user(self):
        for user in (self.alice, self.bob):
            self.assertEqual(self.output('id', '-u', user=user), '%d\n' % user.uid)
        self.assertEqual(self.sandbox('sh', '-c', 'exit 3').code, 3)
        self.service.wait_no_leftovers()

    def test_it_goes_by_the_ids_and_groups_of_who_executes_it(self):
        self.assertIn('4748', self.output('id', '-G', groups=[setuid.GROUP, 4748]).split())
        secret = self.alice.write('of_a_group', 'x', 0o640, gid=4748)
        os.chown(secret, 0, 4748)
        read = ('cat', secret)
        options = ['--ro', self.alice.home + ':/data']
        self.assertEqual(self.output('cat', '/data/of_a_group', options=options, groups=[setuid.GROUP, 4748]), 'x')
        self.assertNotEqual(self.sandbox('cat', '/data/of_a_group', options=options).code, 0, read)

    def test_it_shares_what_the_caller_may_share(self):
        directory = self.folder('work')
        self.assertEqual(self.shell('echo made >file; cat file', options=['--rw', directory, '-C', directory]), 'made\n')
        self.assertEqual(os.stat(directory + '/file').st_uid, self.alice.uid)

    def test_the_policy_is_the_administrators(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'none']), 125, "the policy has no profile 'none'")
        done = self.sandbox('true', options=['--memory', '64G'])
        self.assert_refused(done, 125, setuid.POLICY)

    def test_a_user_who_may_not_execute_it_is_told_so(self):
        done = self.yett('doctor', groups=[])
        self.assertRegex(done.out, 'weaker   start .*: %s is for the group 64747, and you are not in it' % setuid.HELPER)
        self.assertIn('have the administrator put you into the group 64747', done.out)

    def test_a_user_who_may_not_execute_it_has_sandboxes_without_root(self):
        done = self.sandbox('sh', '-c', 'echo done', groups=[])
        self.assertEqual((done.code, done.out), (0, 'done\n'), done)
        self.assertIn('yett: running without root: %s is for the group ' % setuid.HELPER, done.err)
        self.assertIn('weaker without root', done.err)
        self.assertNotIn('without root', self.sandbox('true').err)

    def test_a_policy_that_is_not_roots_alone_is_refused_and_that_is_told(self):
        os.chmod(setuid.POLICY, 0o666)
        self.addCleanup(os.chmod, setuid.POLICY, 0o644)
        self.assert_refused(self.sandbox('true'), 125, 'can be written by others')

    def test_the_runtime_directory_is_made_where_there_is_none(self):
        self.service.wait_no_leftovers()
        for path, _, files in os.walk(self.service.runtime, topdown=False):
            for name in files:
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        self.output('true')
        found = os.stat(self.service.runtime)
        self.assertEqual((found.st_uid, found.st_mode & 0o7777), (0, 0o755))

    def test_one_that_lingers_holds_no_helper_though_something_was_shared_with_it(self):
        options = ['--linger', '--wall-time', '1h', '--name', 'lingers', '--ro', self.folder('work') + ':/data']
        self.output('true', options=options)
        places = self.service.runtime + '/users'
        yett.wait_until(lambda: not any('.helper' in name for name in os.listdir(places)), 'the end of the helper')
        self.assertIn('lingers', self.service.run(self.alice, self.service.yett, 'ps').out)  # which has not waited for the end of that
        self.assertEqual(self.service.run(self.alice, self.service.yett, 'destroy', 'lingers').code, 0)
        self.service.wait_no_leftovers()

    def test_many_at_once(self):
        held = [self.start('sh', '-c', 'echo up; read x; echo $x', user=(self.alice, self.bob)[i % 2]) for i in range(10)]
        self.assertEqual([self.line(process) for process in held], ['up'] * 10)
        for i, process in enumerate(held):
            self.assertEqual(process.communicate(b'%d\n' % i, timeout=yett.DEADLINE)[0], b'%d\n' % i)
        self.service.wait_no_leftovers()

    def test_nothing_is_left_of_a_client_that_was_killed(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        process.kill()
        process.wait()
        self.service.wait_no_leftovers()

    def test_nothing_is_left_of_a_helper_that_was_killed(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        os.kill(yett.children_of(process.pid)[0], 9)
        process.wait()
        self.output('true')
        self.service.wait_no_leftovers()

    def test_what_it_did_is_in_the_system_s_log(self):
        if os.path.lexists('/dev/log'):
            self.skipTest('this machine has a log, which is not ours to read')
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            self.addCleanup(os.unlink, '/dev/log')
            log.bind('/dev/log')
            log.settimeout(yett.DEADLINE)
            self.output('true')
            own = b' uid=%d ' % self.alice.uid
            while own not in (told := log.recv(4096)):
                pass  # another program of this machine's
            pattern = rb'<5>yett-helper\[\d+\]: uid=%d pid=\d+ sandbox=[0-9a-f]{16} profile=default private_uid=\d+ created\n'
            self.assertRegex(told, pattern % self.alice.uid)

    def test_the_doctor_tells_which_way_it_is(self):
        done = self.yett('doctor')
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'(?m)^ok +start +set-user-id: %s, root:.*, mode 4750$' % re.escape(setuid.HELPER))
        os.chmod(setuid.HELPER, 0o4755)
        self.addCleanup(os.chmod, setuid.HELPER, 0o4750)
        done = self.yett('doctor')
        self.assertRegex(done.out, r'(?m)^weaker +start +set-user-id: .* mode 4755, so that anybody may execute it$')
        self.assertIn('hint: chown root:yett ' + setuid.HELPER + ' && chmod 4750', done.out)

    def test_without_the_bit_it_is_one_of_the_callers_own(self):
        os.chmod(setuid.HELPER, 0o755)
        self.addCleanup(os.chmod, setuid.HELPER, 0o4750)
        self.assertIn('personal, in a user namespace of your own: ' + setuid.HELPER, self.yett('doctor').out)

    def test_other_uses_of_the_program_are_the_callers_own(self):
        os.chmod(setuid.POLICY, 0o600)
        self.addCleanup(os.chmod, setuid.POLICY, 0o644)
        done = self.service.run(self.alice, setuid.HELPER, '--personal', '--policy', setuid.POLICY, '--fd', '0', stdin=subprocess.DEVNULL)
        self.assertNotEqual(done.code, 0, done)
        self.assertIn('belongs to uid 0, not to uid %d' % self.alice.uid, done.out + done.err)
        # who was set-user-id is not always for the leak sanitizer to look into
        done = self.service.run(self.alice, setuid.HELPER, '--version', env={'ASAN_OPTIONS': 'detect_leaks=0'})
        self.assertEqual(done.code, 0, done)


class Privilege(setuid.Case):
    """What /proc says of each process, whatever its caller had."""

    def setUp(self):
        self.client = self.start('sh', '-c', 'echo up; read x', env={'YETT_SECRET': 'of the caller'}, umask=0)
        self.assertEqual(self.line(self.client), 'up')
        self.monitor, = yett.children_of(self.client.pid)
        # a command may be up a moment before the supervisor gives up what it made the sandbox with
        yett.wait_until(self.find_supervisors, 'a supervisor that can only end its sandbox')
        self.supervisor, = self.find_supervisors()
        self.init = yett.inits_among(yett.children_of(self.supervisor))[0]
        self.command, = yett.children_of(self.init)
        self.decider, self.decoder = yett.decider_and_decoder(self.monitor)

    def find_supervisors(self):
        return [pid for pid in yett.children_of(self.monitor) if sets_of(pid)[0] == table('supervise')]

    def test_ids_and_capabilities_are_those_of_a_service(self):
        for pid, effective, permitted in ((self.monitor, NONE, table('build')), (self.supervisor, table('supervise'), table('build'))):
            status = yett.status_of(pid)
            self.assertEqual((status['Uid'].split(), status['Gid'].split(), status['Groups']), (['0'] * 4, ['0'] * 4, ''))
            self.assertEqual(sets_of(pid), (effective, permitted, permitted | table('audit'), NONE, NONE))
            found = os.stat('/proc/%d/environ' % pid)
            self.assertEqual((found.st_uid, found.st_gid), (0, 0))
        self.assertEqual(sets_of(self.init)[0], {KILL, SETGID, SETUID})
        for pid in (self.decider, self.decoder):
            uid, = set(yett.status_of(pid)['Uid'].split() + yett.status_of(pid)['Gid'].split())
            self.assertIn(int(uid) - self.service.ids_first - yett.DECIDERS, range(yett.DECIDERS_COUNT))
            self.assertEqual(sets_of(pid), (NONE,) * 5)
        self.assertEqual(sets_of(self.command), (NONE,) * 5)

    def test_nothing_of_the_callers_environment_is_there(self):
        for pid in (self.monitor, self.supervisor, self.decider, self.decoder):
            self.assertEqual(yett.read('/proc/%d/environ' % pid).strip('\0'), '')
        self.assertNotIn('YETT_SECRET', yett.read('/proc/%d/environ' % self.command))

    def test_it_stands_in_a_place_of_its_own(self):
        status = yett.status_of(self.monitor)
        self.assertEqual(os.readlink('/proc/%d/cwd' % self.monitor), '/')
        self.assertEqual((status['Name'], status['Umask'], status['NoNewPrivs']), ('yett-helper', '0022', '0'))
        # Ignored: SIGPIPE, and two that the C library keeps for itself and lets nobody set. Caught: SIGALRM (base/closing.h)
        ignored = int(status['SigIgn'], 16) & ~(3 << 31)
        self.assertEqual((int(status['SigBlk'], 16), ignored, int(status['SigCgt'], 16)), (0, 1 << 12, 1 << 13))
        self.assertEqual(os.getsid(self.monitor), self.monitor)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.monitor), 0)
        self.assertEqual(yett.read('/proc/%d/oom_score_adj' % self.monitor), '0\n')

    def test_its_descriptors_are_its_own(self):
        links = {int(name): os.readlink('/proc/%d/fd/%s' % (self.monitor, name)) for name in os.listdir('/proc/%d/fd' % self.monitor)}
        logs = ('/dev/null',) if not os.path.exists('/dev/log') else ('/dev/null', links[2])
        self.assertEqual((links[0], links[1]), ('/dev/null',) * 2)
        self.assertIn(links[2], logs)
        self.assertTrue(links[3].startswith('socket:'))
        self.assertEqual([link for link in links.values() if link.startswith('pipe:') or link.startswith(self.alice.home)], [])

    def test_all_of_it_has_left_the_groups_of_its_caller(self):
        for pid in (self.monitor, self.supervisor, self.decider, self.decoder):
            groups = dict(line.split(':', 1)[1].split(':', 1) for line in yett.read('/proc/%d/cgroup' % pid).splitlines())
            self.assertEqual(groups[''], self.service.cgroup + '/helpers')
            for controllers, group in groups.items():
                ours = {'memory', 'cpu', 'pids', 'blkio'} & set(controllers.split(','))
                if controllers and not controllers.startswith('name='):
                    self.assertEqual(group, self.service.cgroup + '/helpers' if ours else '/', controllers)

    def test_its_limits_are_its_own(self):
        limits = yett.read('/proc/%d/limits' % self.monitor)
        for limit in ('Max cpu time +unlimited', 'Max file size +unlimited', 'Max core file size +1', 'Max stack size +8388608'):
            self.assertRegex(limits, limit)


if __name__ == '__main__':
    yett.main()
