# SPDX-License-Identifier: Apache-2.0
"""What sandboxes use, and what happens in them, as their user is told."""
import json
import os
import shutil
import signal
import time

import growing
import yett


KERNEL = tuple(map(int, os.uname().release.split('.')[:2]))


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
        return yett.told(done.out)['sandboxes']

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
        yett.wait_until(lambda: self.of('box')['processes'] == 1, 'the end of the child that waited for the first command')
        before = self.of('box')
        self.assertEqual((before['id'], before['name'], before['state']), (sandbox, 'box', 'running'))
        self.assertEqual((before['memory_limit_bytes'], before['pids_limit']), (64 << 20, 32))
        # init, and perhaps already the child that it forks ahead of the first command
        self.assertIn((before['processes'], before['threads']), ((1, 1), (2, 2)))
        self.hold('box', 'sleep 1000 & sleep 1000 & head -c 8000000 /dev/zero >/tmp/x; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; '
                         'exec 7</dev/null 8</dev/null; echo up; read x')
        now = self.of(sandbox)
        self.assertEqual(now['processes'], 4)
        self.assertGreaterEqual(now['threads'], 4)
        self.assertGreater(now['cpu_us'], before['cpu_us'])
        self.assertGreater(now['user_us'] + now['system_us'], 0)
        self.assertGreaterEqual(now['memory_bytes'], 8000000)
        if now['memory_peak_bytes'] is not None:
            self.assertGreaterEqual(now['memory_peak_bytes'], now['memory_bytes'] - (1 << 20))
        else:  # an earlier sandbox of these groups had more
            self.assertGreater(self.service.spares, 0)
        self.assertAlmostEqual(now['memory_percent'], 100 * now['memory_bytes'] / (64 << 20), 1)
        self.assertGreater(now['taken_us'], before['taken_us'])
        self.assertGreaterEqual(now['uptime_ms'], before['uptime_ms'])
        self.assertGreater(now['cpu_percent'], 0)
        if before['open_files'] is not None:
            self.assertGreater(now['open_files'], before['open_files'] / before['processes'] + 2)  # a child that was forked ahead has those of init, too
        else:
            self.assertLess(KERNEL, (6, 2))

    def test_what_the_host_does_not_count_is_not_said_to_be_nothing(self):
        self.create('--name', 'box')
        now = self.of('box')
        self.assertEqual({now[name] is None for name in ('read_bytes', 'written_bytes', 'reads', 'writes')},
                         {now['read_bytes'] is None})
        row = self.yett('stats', 'box').out.splitlines()[1].split()
        self.assertEqual(row[9] == '-', now['read_bytes'] is None)

    def test_a_process_that_memory_ran_out_for_and_a_refused_fork_are_counted(self):
        self.create('--name', 'box', '--memory', '32M', '--pids', '8')
        self.assertEqual((self.of('box')['oom_kills'], self.of('box')['forks_refused'] or 0), (0, 0))
        self.yett('exec', 'box', '--', 'sh', '-c', 'head -c 100000000 /dev/zero | tail -c 90000000 | wc -c')
        self.assertGreater(self.of('box')['oom_kills'], 0)
        self.yett('exec', 'box', '--', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done')
        if self.of('box')['forks_refused'] is not None:
            self.assertGreater(self.of('box')['forks_refused'], 0)
        else:
            self.assertLess(KERNEL, (6, 11))

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
        readings = [yett.told(self.line(process)) for _ in range(2)]
        self.assertGreater(readings[1]['sandboxes'][0]['taken_us'], readings[0]['sandboxes'][0]['taken_us'])
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        rest, _ = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual((yett.told(rest.splitlines()[-1])['sandboxes'], yett.told(rest.splitlines()[-1])['exit_code']), ([], 0))
        self.assertEqual(process.returncode, 0)


class UsageOfOneMadeAhead(Usage):
    """The same in groups that earlier sandboxes have used."""
    service_options = {'spares': 1}

    def test_what_earlier_sandboxes_used_is_not_told(self):
        used = 0
        for _ in range(4):
            times = self.shell('i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; times').split('\n')[0].split()
            used += sum(int(time.split('m')[0]) * 60 + float(time.split('m')[1].rstrip('s')) for time in times)
        self.create('--name', 'box')
        self.assertLess(self.of('box')['cpu_us'] / 1e6, used / 2)


class Totals(Case):
    def totals(self):
        done = self.service.run(yett.Root(self.folder('roots')), self.service.yett, 'stats', '--helper', '--json')
        self.assertEqual(done.code, 0, done)
        shutil.rmtree(self.alice.home + '/roots')
        return yett.told(done.out)

    def test_what_commands_came_to_is_counted(self):
        before = self.totals()
        self.assertEqual(self.sandbox('true').code, 0)
        self.assertEqual(self.sandbox('sh', '-c', 'exit 3').code, 3)
        self.assertEqual(self.sandbox('/none').code, 127)
        self.assertEqual(self.sandbox('sleep', '1000', options=('--timeout', '200ms')).code, 124)
        self.create('--name', 'box')
        script = 'import subprocess\nfor i in range(100): subprocess.run(["%s", "exec", "box", "--", "true"], check=True)' % self.service.yett
        self.assertEqual(self.service.run(self.alice, 'python3', '-c', script).code, 0)

        def more():
            now = self.totals()
            return {name: now[name] - before[name] for name in ('sandboxes', 'executions', 'successes', 'failures', 'timeouts')}
        # Those of a sandbox that lives on are told once it rests, or every 64.
        yett.wait_until(lambda: more() == {'sandboxes': 4, 'executions': 104, 'successes': 101, 'failures': 3, 'timeouts': 1},
                        'the totals of 104 commands')
        self.assertGreater(self.totals()['duration_us'], before['duration_us'] + 200000)
        text = self.service.run(yett.Root(self.folder('roots')), self.service.yett, 'stats', '--helper').out
        self.assertRegex(text, r'^sandboxes +\d+\nexecutions +\d+\nsuccesses +\d+\nfailures +\d+\ntimeouts +\d+\nduration +\S+\n$')

    def test_others_than_root_are_not_told(self):
        self.assert_refused(self.yett('stats', '--helper'), 1, 'only root may see')


class Following(Case):
    def follow(self, *argv, user=None):
        """Its Popen, once it follows, and that first event."""
        process = self.service.popen(user or self.alice, self.service.yett, 'events', '--json', *argv, stdout=-1, stderr=-1)
        self.addCleanup(self.end, process)
        first = self.event(process)
        self.assertEqual(first['event'], 'followed')
        return process, first

    def event(self, process):
        line = self.line(process)
        self.assertNotEqual(line, '', process.poll())
        return yett.told(line)

    def events(self, process, *kinds):
        found = [self.event(process) for _ in kinds]
        self.assertEqual([event['event'] for event in found], list(kinds), found)
        return found

    def last(self, process, reason):
        event, = self.events(process, 'ended')
        document = json.loads(self.line(process))
        self.assertEqual((event['ended'], document['exit_code'], self.line(process)), (reason, 0, ''))
        self.assertEqual(process.wait(yett.DEADLINE), 0, process.stderr.read())

    def exec(self, name, *argv, options=(), **more):
        return self.yett('exec', *options, name, '--', *argv, **more)


class Events(Following):
    def test_commands_are_told_with_their_numbers_and_results(self):
        sandbox = self.create('--name', 'box')
        before = time.time_ns() // 1000000
        process, first = self.follow('box')
        self.assertEqual((first['sandbox'], first['state'], first['command'], first['lost']), (sandbox, 'running', None, 0))
        self.assertEqual(self.exec('box', 'sh', '-c', 'exit 7').code, 7)
        self.assertEqual(self.exec('box', 'sh', '-c', 'kill -TERM $$').code, 128 + 15)
        self.assertEqual(self.exec('box', '/none').code, 127)
        events = self.events(process, 'started', 'exited', 'started', 'exited', 'failed')
        self.assertEqual([event['command'] for event in events], [1, 1, 2, 2, 3])
        self.assertEqual([event['number'] for event in events], list(range(first['number'] + 1, first['number'] + 6)))
        self.assertEqual([event['lost'] for event in events], [0] * 5)
        self.assertEqual([(event['result']['signaled'], event['result']['status']) for event in events if event['result']],
                         [(False, 7), (True, 15)])
        self.assertEqual(events[4]['error'], 'No such file or directory')
        self.assertGreater(events[0]['pid'], 1)
        times = [event['time_ms'] for event in (first, *events)]
        everything = [before, *times, time.time_ns() // 1000000]
        self.assertEqual(everything, sorted(everything))
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.last(process, 'destroyed')

    def test_a_time_limit_is_told_before_the_end_that_it_makes(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        self.assertEqual(self.exec('box', 'sleep', '1000', options=('--timeout', '100ms')).code, 124)
        events = self.events(process, 'started', 'timeout', 'exited')
        self.assertEqual({event['command'] for event in events}, {1})
        self.assertTrue(events[2]['result']['timed_out'])

    def test_pausing_and_resuming_are_told(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        self.yett('pause', 'box')
        late, first = self.follow('box')
        self.assertEqual(first['state'], 'paused')
        self.yett('resume', 'box')
        self.assertEqual([event['state'] for event in self.events(process, 'paused', 'resumed')], ['paused', 'running'])
        self.events(late, 'resumed')
        self.assertEqual(self.exec('box', 'true').code, 0)
        self.events(process, 'started', 'exited')
        self.events(late, 'started', 'exited')

    def test_one_that_is_followed_while_it_is_paused_tells_all_afterwards(self):
        self.create('--name', 'box')
        self.yett('pause', 'box')
        process, _ = self.follow('box')
        self.yett('resume', 'box')
        self.assertEqual(self.exec('box', 'true').code, 0)
        self.events(process, 'resumed', 'started', 'exited')

    def test_limits_that_are_met_are_told(self):
        self.create('--name', 'box', '--memory', '32M', '--pids', '8')
        self.exec('box', 'sh', '-c', 'head -c 100000000 /dev/zero | tail -c 90000000 | wc -c')
        process, _ = self.follow('box')
        self.exec('box', 'sh', '-c', 'head -c 100000000 /dev/zero | tail -c 90000000 | wc -c')
        self.events(process, 'started')
        events = [self.event(process)]
        while events[-1]['event'] == 'oom':
            events.append(self.event(process))
        self.assertIn(sum(event['count'] for event in events[:-1]), (1, 2))  # of one pipe the kernel may kill both ends, at once or not
        self.assertEqual((events[-1]['event'], events[-1]['result']['limits_hit']), ('exited', ['memory']))
        self.assertEqual(yett.told(self.yett('ps', '--json', 'box').out)['commands'][-1]['result']['limits_hit'], ['memory'])
        self.exec('box', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done')
        self.events(process, 'started', 'forks-refused', 'exited')

    def test_a_limit_that_is_met_is_told_while_the_command_goes_on(self):
        self.create('--name', 'box', '--memory', '32M')
        process, _ = self.follow('box')
        command = self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c',
                                     'head -c 100000000 /dev/zero | tail -c 90000000 | wc -c; read x', stdin=-1, stdout=-3, stderr=-3)
        self.addCleanup(self.end, command)
        self.events(process, 'started', 'oom')
        command.communicate(b'', timeout=yett.DEADLINE)
        self.events(process, 'exited')

    def follow_brief(self, option, *options):
        """A follower of the sandbox 'box', which ends after some time."""
        def attempt(ms):
            self.create('--name', 'box', option, '%dms' % ms, *options)
            process = self.service.popen(self.alice, self.service.yett, 'events', '--json', 'box', stdout=-1, stderr=-1)
            self.addCleanup(self.end, process)
            if yett.told(self.line(process)).get('event') == 'followed':
                return process
            self.yett('destroy', 'box')
            yett.wait_until(lambda: self.yett('inspect', 'box').code == 1, 'the end of a sandbox')
            return None
        return growing.grow(attempt, 'a sandbox that lives until it is followed')

    def test_each_end_says_why(self):
        for option, reason in (('--wall-time', 'wall-time'), ('--idle-timeout', 'idle')):
            self.last(self.follow_brief(option), reason)
            yett.wait_until(lambda: self.yett('inspect', 'box').code == 1, 'the end of a sandbox')
        held = self.start('sh', '-c', 'echo up; read x', options=('--name', 'held'))
        self.line(held)
        process, _ = self.follow('held')
        held.communicate(b'', timeout=yett.DEADLINE)
        event = self.event(process)
        if event['event'] == 'started':  # on a busy machine init learns of it after the command's first output
            event = self.event(process)
        self.assertEqual(event['event'], 'exited')
        self.last(process, 'closed')

    def test_one_that_is_listed_after_its_end_is_not_followed_any_more(self):
        self.last(self.follow_brief('--wall-time', '--cleanup-delay', '1h'), 'wall-time')
        self.assert_refused(self.yett('events', 'box'), 1, 'the sandbox has ended')

    def test_all_of_a_user_are_followed_together(self):
        ids = {name: self.create('--name', name) for name in ('one', 'two')}
        self.create('--name', 'other', user=self.bob)
        process, first = self.follow()
        second, = self.events(process, 'followed')
        self.assertEqual({first['sandbox'], second['sandbox']}, set(ids.values()))
        self.exec('two', 'true')
        self.assertEqual({event['sandbox'] for event in self.events(process, 'started', 'exited')}, {ids['two']})
        self.yett('destroy', 'one', 'two')
        self.assertEqual([self.event(process)['event'] for _ in range(2)], ['ended'] * 2)
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_what_is_another_one_s_is_not_there(self):
        sandbox = self.create('--name', 'box')
        for name in ('box', sandbox, 'none'):
            self.assert_refused(self.yett('events', name, user=self.bob), 1, 'there is no sandbox')
        self.assert_refused(self.yett('events', '--all'), 1, 'only root may')

    def test_eight_follow_and_a_ninth_is_told_so(self):
        self.create('--name', 'box')
        followers = [self.follow('box')[0] for _ in range(8)]
        self.assert_refused(self.yett('events', 'box'), 1, '8 follow the sandbox already')
        followers[3].kill()
        followers[3].wait()
        self.follow('box')

    def test_they_are_printed_for_people(self):
        self.create('--name', 'box')
        process = self.service.popen(self.alice, self.service.yett, 'events', 'box', stdout=-1)
        self.addCleanup(self.end, process)
        self.assertRegex(self.line(process), r'^\d\d:\d\d:\d\d\.\d{3} box followed running$')
        self.exec('box', 'sh', '-c', 'exit 3')
        self.assertRegex(self.line(process), r' box started 1 pid \d+$')
        self.assertRegex(self.line(process), r' box exited 1 status 3, \d+\.\d{3}s$')
        self.yett('destroy', 'box')
        self.assertRegex(self.line(process), r' box ended destroyed$')

    def test_who_reads_what_is_told_may_go(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        process.stdout.close()
        self.assertIsNotNone(process.wait(yett.DEADLINE))

    def test_streams_outlast_the_listener(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        self.service.stop()
        self.service.start()
        self.assertEqual(self.exec('box', 'true').code, 0)
        again, _ = self.follow('box')
        self.assertEqual(self.exec('box', 'true').code, 0)
        self.events(process, 'started', 'exited', 'started', 'exited')
        self.events(again, 'started', 'exited')

    def test_a_reader_that_does_not_read_loses_events_and_holds_nobody_up(self):
        self.create('--name', 'box')
        slow, first = self.follow('box')
        slow.send_signal(signal.SIGSTOP)
        script = 'import subprocess\nfor i in range(400): subprocess.run(["%s", "exec", "box", "--", "true"], check=True)' % self.service.yett
        path = self.folder('told') + '/events'
        with open(path, 'wb') as file:
            fast = self.service.popen(self.alice, self.service.yett, 'events', '--json', 'box', stdout=file)
        self.addCleanup(self.end, fast)
        yett.wait_until(lambda: 'followed' in yett.read(path), 'a second follower')
        done = self.service.run(self.alice, 'python3', '-c', script)
        self.assertEqual(done.code, 0, done)
        yett.wait_until(lambda: yett.read(path).count('\n') == 801, 'the events of 400 commands')
        told = [yett.told(line) for line in yett.read(path).splitlines()[1:]]
        self.assertEqual([event['lost'] for event in told], [0] * 800)
        self.assertEqual([event['command'] for event in told[1::2]], list(range(1, 401)))
        slow.send_signal(signal.SIGCONT)
        self.yett('destroy', 'box')
        seen, lost = [], 0
        while not seen or seen[-1]['event'] != 'ended':
            seen.append(self.event(slow))
            lost += seen[-1]['lost']
        self.assertGreater(lost, 0)
        self.assertEqual(len(seen) + lost, 801)
        self.assertEqual(seen[-1]['number'], first['number'] + 801)

    def test_who_follows_no_more_costs_nothing(self):
        self.create('--name', 'box')
        process, first = self.follow('box')
        count, told = 8, True
        while told:
            process.kill()
            process.wait()
            before, count = first['number'], count * 2
            self.assertLess(count, 4096)
            for _ in range(count):
                self.exec('box', 'true')
            process, first = self.follow('box')
            told = first['number'] == before + 2 * count  # else not even the supervisor heard of some


class EventsOfOneMadeAhead(Events):
    service_options = {'spares': 1}


CALL = 'import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\ndef call(name, *arguments):\n' \
       '    return getattr(libc, name)(*arguments), ctypes.get_errno()\nmount = ("mount", 0, 0, 0, 0, 0)\n'


class Denied(Following):
    """System calls that are forbidden."""
    service_options = {'before': 'profile "denies" {\n  extends = "default"\n  syscalls_deny = {"inotify_init1", "socket"}\n}\n'
                                 'grant "denies" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"default", "denies"}\n  linger_max = unlimited\n}\n'}

    pausing = ('pause', 'resume') * 3

    def python_in(self, name, script):
        done = self.exec(name, 'python3', '-c', CALL + script)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def denied(self, process, count):
        """The next so many events of the kind; what is between them is of commands."""
        found = []
        while len(found) < count:
            event = self.event(process)
            self.assertIn(event['event'], ('started', 'exited', 'denied'))
            found += [event] if event['event'] == 'denied' else []
        return found

    def test_a_forbidden_call_is_told_with_its_name_and_its_process(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        out = self.python_in('box', 'print(os.getpid(), call(*mount), call("unshare", 0x10000000))')
        pid, result = out.split(' ', 1)
        self.assertEqual(result, '(-1, 1) (-1, 1)')
        events = self.denied(process, 2)
        self.assertEqual([(event['call'], event['pid'], event['count'], event['command'], event['lost']) for event in events],
                         [('mount', int(pid), 1, None, 0), ('unshare', int(pid), 1, None, 0)])
        self.assertEqual(self.yett('destroy', 'box').code, 0)

    def test_of_a_thread_its_process_is_told(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        pid = self.python_in('box', 'import threading\nthread = threading.Thread(target=call, args=mount)\nthread.start()\n'
                                    'thread.join()\nprint(os.getpid())')
        self.assertEqual(self.denied(process, 1)[0]['pid'], int(pid))

    def test_what_a_kernel_may_lack_is_not_told(self):
        self.create('--name', 'box')
        process, _ = self.follow('box')
        out = self.python_in('box', 'print(call("socket", 40, 1, 0)[1], call("personality", 0x400000)[1], call(*mount)[1])')
        self.assertEqual(out, '97 22 1')
        self.assertEqual(self.denied(process, 1)[0]['call'], 'mount')

    def test_what_the_policy_denies_is_told_unless_init_needs_it(self):
        self.create('--name', 'box', '-p', 'denies')
        process, _ = self.follow('box')
        out = self.python_in('box', 'print(call("socket", 1, 1, 0), call("inotify_init1", 0))')
        self.assertEqual(out, '(-1, 1) (-1, 1)')
        self.assertEqual(self.denied(process, 1)[0]['call'], 'inotify_init1')

    def test_a_flood_of_them_is_told_together_and_holds_nobody_up(self):
        for name in ('box', 'other'):
            self.create('--name', name)
        process, _ = self.follow('box')
        flood = self.hold_flood('box', 'for i in range(20000): assert call(*mount) == (-1, 1)\nprint("done")')
        self.assertEqual(self.exec('other', 'true').code, 0)
        self.assertEqual(self.exec('box', 'true').code, 0)
        self.assertEqual(self.line(flood), 'done')
        events = self.denied(process, 1)
        while sum(event['count'] for event in events) < 20001:
            events += self.denied(process, 1)
        self.assertEqual(sum(event['count'] for event in events), 20001)
        self.assertLessEqual(len(events), 3 + (events[-1]['time_ms'] - events[0]['time_ms']) / 1000)

    def hold_flood(self, name, script):
        """A command that has made a first call, and goes on."""
        flood = self.service.popen(self.alice, self.service.yett, 'exec', name, '--', 'python3', '-c',
                                   CALL + 'call(*mount)\nprint("up", flush=True)\n' + script, stdin=-1, stdout=-1, stderr=-3)
        self.addCleanup(self.end, flood)
        self.assertEqual(self.line(flood), 'up')
        return flood

    def test_callers_that_wait_are_paused_and_resumed_and_ended(self):
        self.create('--name', 'box')
        flood = self.hold_flood('box', 'for i in range(3): os.fork()\nwhile call(*mount) == (-1, 1): pass')
        for action in self.pausing:
            self.assertEqual(self.yett(action, 'box').code, 0)
        self.assertIsNone(flood.poll())
        self.assertEqual(self.exec('box', 'true').code, 0)
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.assertIsNotNone(flood.wait(yett.DEADLINE))

    def test_they_are_printed_for_people(self):
        self.create('--name', 'box')
        process = self.service.popen(self.alice, self.service.yett, 'events', 'box', stdout=-1)
        self.addCleanup(self.end, process)
        self.assertRegex(self.line(process), ' followed ')
        self.python_in('box', 'call(*mount), call(*mount)')
        line = ''
        while ' denied ' not in line:
            line = self.line(process)
            self.assertNotEqual(line, '')
        self.assertRegex(line, r'^\d\d:\d\d:\d\d\.\d{3} box denied mount pid \d+$')


class DeniedInOneMadeAhead(Denied):
    service_options = {'spares': 1, **Denied.service_options}


if __name__ == '__main__':
    yett.main()
