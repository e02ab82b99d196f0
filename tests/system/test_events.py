"""What sandboxes use, and what happens in them, as their user is told."""
import json

import yett


class Case(yett.Case):
    def tearDown(self):
        for user in (self.alice, self.bob):
            left = self.yett('ps', '-q', user=user).out.split()
            if left:
                self.assertEqual(self.yett('destroy', *left, user=user).code, 0)

    def create(self, *argv, **more):
        done = self.yett('create', *argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()


class Usage(Case):
    def stats(self, *argv, **more):
        done = self.yett('stats', '--json', *argv, **more)
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def of(self, sandbox):
        found = self.stats(sandbox)
        self.assertEqual(len(found), 1)
        return found[0]

    def hold(self, name, script):
        """A command of a sandbox that is there, which has said that it is up."""
        process = self.service.popen(self.alice, self.service.yett, 'exec', name, '--', 'sh', '-c', script, stdin=-1, stdout=-1, stderr=-1)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'up')
        return process

    def test_time_memory_processes_and_files_are_told(self):
        sandbox = self.create('--name', 'box', '--memory', '64M', '--pids', '32')
        before = self.of('box')
        self.assertEqual((before['id'], before['name'], before['state']), (sandbox, 'box', 'running'))
        self.assertEqual((before['memory_limit_bytes'], before['pids_limit']), (64 << 20, 32))
        self.assertEqual((before['processes'], before['threads']), (1, 1))
        self.hold('box', 'sleep 1000 & sleep 1000 & head -c 8000000 /dev/zero >/tmp/x; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; '
                         'exec 7</dev/null 8</dev/null; echo up; read x')
        now = self.of(sandbox)
        self.assertEqual(now['processes'], 4)
        self.assertGreaterEqual(now['threads'], 4)
        self.assertGreater(now['cpu_us'], before['cpu_us'])
        self.assertGreater(now['user_us'] + now['system_us'], 0)
        self.assertGreaterEqual(now['memory_bytes'], 8000000)
        self.assertGreaterEqual(now['memory_peak_bytes'], now['memory_bytes'] - (1 << 20))
        self.assertAlmostEqual(now['memory_percent'], 100 * now['memory_bytes'] / (64 << 20), 1)
        self.assertGreater(now['taken_us'], before['taken_us'])
        self.assertGreaterEqual(now['uptime_ms'], before['uptime_ms'])
        self.assertGreater(now['cpu_percent'], 0)
        if before['open_files'] is not None:
            self.assertGreater(now['open_files'], before['open_files'] + 2)
        else:
            self.assertLess(tuple(map(int, yett.os.uname().release.split('.')[:2])), (6, 2))

    def test_what_the_host_does_not_count_is_not_said_to_be_nothing(self):
        self.create('--name', 'box')
        now = self.of('box')
        self.assertEqual({now[name] is None for name in ('read_bytes', 'written_bytes', 'reads', 'writes')},
                         {now['read_bytes'] is None})
        row = self.yett('stats', 'box').out.splitlines()[1].split()
        self.assertEqual(row[9] == '-', now['read_bytes'] is None)

    def test_a_process_that_memory_ran_out_for_and_a_refused_fork_are_counted(self):
        self.create('--name', 'box', '--memory', '32M', '--pids', '8')
        self.assertEqual((self.of('box')['oom_kills'], self.of('box')['forks_refused']), (0, 0))
        self.yett('exec', 'box', '--', 'sh', '-c', 'head -c 100000000 /dev/zero | tail -c 90000000 | wc -c')
        self.assertGreater(self.of('box')['oom_kills'], 0)
        self.yett('exec', 'box', '--', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done')
        self.assertGreater(self.of('box')['forks_refused'], 0)

    def test_all_of_the_user_s_are_told_and_nobody_else_s(self):
        first, second = self.create('--name', 'one'), self.create('--name', 'two')
        self.create('--name', 'other', user=self.bob)
        self.assertEqual([usage['id'] for usage in self.stats()], [first, second])
        self.assertEqual([usage['name'] for usage in self.stats('two', 'one')], ['two', 'one'])
        self.assertEqual([usage['name'] for usage in self.stats(user=self.bob)], ['other'])
        for argv in (('stats', 'other'), ('stats', '0123456789abcdef')):
            self.assert_refused(self.yett(*argv), 1, 'there is no sandbox')
        self.assert_refused(self.yett('stats', '--all'), 1, 'only root may')

    def test_a_paused_one_is_told_of_and_an_ended_one_is_not(self):
        self.create('--name', 'box', '--cleanup-delay', '1h')
        self.assertEqual(self.yett('pause', 'box').code, 0)
        self.assertEqual(self.of('box')['state'], 'paused')
        self.assertIn(' paused\n', self.yett('stats').out)
        self.assertEqual(self.yett('resume', 'box').code, 0)
        self.create('--name', 'brief', '--wall-time', '1ms', '--cleanup-delay', '1h')
        yett.wait_until(lambda: self.yett('ps', '-q', '-f', 'state=stopped').out, 'the end of a sandbox')
        self.assert_refused(self.yett('stats', 'brief'), 1, 'does not run')
        self.assertEqual([usage['name'] for usage in self.stats()], ['box'])

    def test_watching_ends_with_what_is_watched(self):
        self.create('--name', 'box')
        process = self.service.popen(self.alice, self.service.yett, 'stats', '--watch', '--json', 'box', stdout=-1)
        self.addCleanup(self.end, process)
        readings = [json.loads(self.line(process)) for _ in range(2)]
        self.assertGreater(readings[1][0]['taken_us'], readings[0][0]['taken_us'])
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        rest, _ = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(rest.splitlines()[-1], b'[]')
        self.assertEqual(process.returncode, 0)


class UsageOfOneMadeAhead(Usage):
    """The same in groups that earlier sandboxes have used."""
    service_options = {'spares': 1}

    def test_what_earlier_sandboxes_used_is_not_told(self):
        for _ in range(4):
            self.assertEqual(self.sandbox('sh', '-c', 'i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done', options=('--memory', '1G')).code, 0)
        self.create('--name', 'box')
        self.assertLess(self.of('box')['cpu_us'], 500000)


if __name__ == '__main__':
    yett.main()
