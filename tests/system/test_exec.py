# SPDX-License-Identifier: Apache-2.0
"""Commands of a sandbox that stays: in the background, listed, waited for and killed, by other programs than their own."""
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import time

import growing
import yett


class Commands(yett.Case):
    def setUp(self):
        super().setUp()
        done = self.yett('create', '--name', 'box')
        self.assertEqual(done.code, 0, done)

    def tearDown(self):
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        yett.wait_until(lambda: os.listdir(self.service.runtime + '/names') == [], 'the end of names')
        super().tearDown()

    def background(self, *argv, options=()):
        done = self.yett('exec', '--background', *options, 'box', '--', *argv)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'^\d+\n$')
        return done.out.strip()

    def commands(self):
        done = self.yett('ps', '--json', 'box')
        self.assertEqual(done.code, 0, done)
        return yett.told(done.out)['commands']

    def test_what_was_left_in_the_background_is_waited_for_with_its_output(self):
        command = self.background('sh', '-c', 'echo out; echo err >&2; exit 3')
        for _ in range(2):
            done = self.yett('wait', '-o', 'box', command)
            self.assertEqual((done.code, done.out, done.err), (3, 'out\n', 'err\n'))
        self.assertEqual(self.yett('wait', 'box', command).out, '')
        command = self.background('sh', '-c', 'yes | head -c 300000', options=('--capture', '1K'))
        done = self.yett('wait', '--output', 'box', command)
        self.assertEqual((done.code, done.out), (0, 'y\n' * 512))
        self.assertIn('the output is cut', done.err)
        command = self.background('sh', '-c', 'kill -TERM $$')
        self.assertEqual(self.yett('wait', 'box', command).code, 128 + signal.SIGTERM)
        command = self.background('sleep', '1000', options=('--timeout', '50ms'))
        self.assertEqual(self.yett('wait', 'box', command).code, 124)

    def test_who_waits_is_told_which_limit_ended_a_command(self):
        command = self.background('sleep', '1000', options=('--timeout', '50ms'))
        done = self.yett('wait', 'box', command)
        self.assertEqual((done.code, done.err), (124, 'yett: time limit reached\n'))
        self.assertEqual(self.yett('create', '--name', 'small', '--memory', '64M').code, 0)
        done = self.yett('exec', '-b', 'small', '--', 'python3', '-c', 'x = bytearray(1 << 30)')
        done = self.yett('wait', 'small', done.out.strip())
        self.assertEqual((done.code, done.err), (137, 'yett: memory limit reached\n'))
        self.assertEqual(self.yett('destroy', 'small').code, 0)

        def attempt(ms):
            self.assertEqual(self.yett('create', '--name', 'brief', '--wall-time', '%dms' % ms).code, 0)
            is_there = self.yett('exec', '-b', 'brief', '--', 'sleep', '1000').code == 0
            done = self.yett('wait', 'brief', '1') if is_there else None
            yett.wait_until(lambda: self.yett('inspect', 'brief').code == 1, 'the end of a sandbox')
            return done if done and not re.search('there is no sandbox|has just gone', done.err) else None
        done = growing.grow(attempt, 'a sandbox that is there when somebody waits for its command')
        self.assertEqual((done.code, done.err), (124, 'yett: the sandbox\'s time limit reached\n'))

    def test_file_operations_are_no_commands_to_their_user(self):
        command = self.background('sh', '-c', 'exit 5')
        self.assertEqual(self.yett('cp', self.alice.write('file', 'content'), 'box:/tmp/file').code, 0)
        for _ in range(20):
            self.assertEqual(self.yett('cat', *['box:/tmp/file'] * 13).out, 'content' * 13)
        self.assertEqual([c['id'] for c in self.commands()], [1])
        self.assertEqual(self.background('true'), '2')
        self.assertEqual(self.yett('wait', 'box', command).code, 5)

    def test_logs_tell_what_a_command_writes_while_it_runs(self):
        command = self.background('sh', '-c', 'echo one; echo two >&2; read line; echo "$line"; cat', options=('--input',))
        yett.wait_until(lambda: 'two' in self.yett('logs', 'box', command).err, 'its output')
        done = self.yett('logs', 'box', command)
        self.assertEqual((done.code, done.out, done.err), (0, 'one\n', 'two\n'))
        with self.service.popen(self.alice, self.service.yett, 'logs', '--follow', 'box', command, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) as follower:
            self.addCleanup(self.end, follower)
            self.assertEqual(follower.stdout.readline(), b'one\n')
            self.assertEqual(self.yett('input', '--more', 'box', command, input='three\n').code, 0)
            self.assertEqual(follower.stdout.readline(), b'three\n')
            self.assertEqual(self.yett('input', 'box', command, input='four\n').code, 0)
            self.assertEqual(follower.communicate(timeout=yett.DEADLINE), (b'four\n', b'two\n'))
            self.assertEqual(follower.returncode, 0)
        self.assertEqual(self.yett('wait', 'box', command).code, 0)
        done = self.yett('logs', '-f', 'box', command)
        self.assertEqual((done.code, done.out, done.err), (0, 'one\nthree\nfour\n', 'two\n'))
        self.assert_refused(self.yett('input', 'box', command, input='x'), 1, 'command 1 has ended')
        self.assert_refused(self.yett('input', 'box', self.background('sleep', '1000'), input='x'), 1, 'takes no input')
        self.assert_refused(self.yett('logs', 'box', '7'), 1, 'there was no command 7')
        self.assert_refused(self.yett('exec', '--input', 'box', '--', 'true'), 125, '--background')
        command = self.background('sh', '-c', 'yes | head -c 100000', options=('--capture', '1K'))
        done = self.yett('logs', '-f', 'box', command)
        self.assertEqual((done.code, done.out), (0, 'y\n' * 512))
        self.assertIn('the output is cut', done.err)

    def test_output_that_cannot_be_written_is_told(self):
        command = self.background('sh', '-c', 'echo x; sleep 1000')
        for options in ((), ('-f',)):
            yett.wait_until(lambda: self.yett('logs', 'box', command).out == 'x\n', 'its output')
            with open('/dev/full', 'w') as full:
                self.assert_refused(self.yett('logs', *options, 'box', command, stdout=full), 125, 'cannot write')

    def test_any_signal_can_be_sent(self):
        script = 'trap "exit 9" USR1; echo ready; while :; do sleep 0.01; done'
        for name in ('USR1', 'SIGUSR1', '10'):
            command = self.background('sh', '-c', script)
            yett.wait_until(lambda: self.yett('logs', 'box', command).out == 'ready\n', 'its trap')
            self.assertEqual(self.yett('kill', '-s', name, 'box', command).code, 0)
            self.assertEqual(self.yett('wait', 'box', command).code, 9)
        first, second = self.background('sleep', '1000'), self.background('sleep', '1000')
        self.assertEqual(self.yett('kill', '-s', 'TERM', 'box').code, 0)
        for command in (first, second):
            self.assertEqual(self.yett('wait', 'box', command).code, 128 + signal.SIGTERM)
        self.assert_refused(self.yett('kill', '-s', 'TERM', 'box', first), 1, 'command %s has ended' % first)
        self.assert_refused(self.yett('kill', '-s', 'NONE', 'box'), 2, 'expected a signal')

    def test_arguments_are_as_large_as_execve_takes(self):
        script = 'exit ${#1}; ' + '# a comment\n' * 8000
        self.assertEqual(self.yett('exec', 'box', '--', 'sh', '-c', script, 'sh', 'x' * 7).code, 7)
        words = ['%05d' % i for i in range(30000)]
        self.assertEqual(self.yett('exec', 'box', '--', 'sh', '-c', 'echo $# ${30000}', 'sh', *words).out, '30000 29999\n')
        variables = [part for i in range(40) for part in ('-e', 'V%d=%s' % (i, 'y' * 3000))]
        self.assertEqual(self.yett('exec', *variables, 'box', '--', 'sh', '-c', 'echo ${#V39}').out, '3000\n')
        done = self.yett('exec', 'box', '--', 'sh', '-c', 'printf %s "$1" | od -An -tx1', 'sh', b'\xff\xfe')
        self.assertEqual((done.code, done.out), (0, ' ff fe\n'), done)

    def test_a_command_that_does_not_start_has_no_background(self):
        self.assert_refused(self.yett('exec', '-b', 'box', '--', '/nonexistent'), 127, 'not found')
        self.assertEqual([(c['state'], c['error']['code']) for c in self.commands()], [('failed', 'command-failed')])
        self.assert_refused(self.yett('wait', 'box', '1'), 127, 'not found')
        self.assert_refused(self.yett('exec', '-b', '-t', 'box', '--', 'true'), 125, 'in the background has no terminal')
        self.assert_refused(self.yett('run', '-b', '--', 'true'), 125, '--linger')
        self.assert_refused(self.yett('exec', '-b', '--capture', '17M', 'box', '--', 'true'), 125, 'at most 16M')
        self.assert_refused(self.yett('exec', '--capture', '1K', 'box', '--', 'true'), 125, '--capture needs --background or --json')

    def test_kept_output_leaves_memory_for_commands(self):
        self.assertEqual(self.yett('create', '--name', 'small', '--memory', '48M').code, 0)
        for _ in range(2):
            done = self.yett('exec', '-b', '--capture', '16M', 'small', '--', 'sh', '-c', 'yes | head -c 30000000')
            self.assertEqual(self.yett('wait', 'small', done.out.strip()).code, 0)
        kept = yett.told(self.yett('ps', '--json', 'small').out)['commands']
        self.assertEqual([c['stdout'] for c in kept], [{'length': 12 << 20, 'truncated': True}])  # the first one made room
        done = self.yett('exec', 'small', '--', 'python3', '-c', 'bytearray(1 << 30)')
        self.assertIn('memory limit reached', done.err)
        self.assertEqual(len(self.yett('wait', '-o', 'small', '2').out), 12 << 20)
        self.assertEqual(self.yett('destroy', 'small').code, 0)

    def test_ps_lists_commands_whoever_started_them(self):
        self.yett('exec', 'box', '--', 'sh', '-c', 'exit 5')
        self.background('sleep', '1000')
        first, second = self.commands()
        self.assertEqual((first['id'], first['state'], first['result']['status'], first['argv']), (1, 'completed', 5, ['sh', '-c', 'exit 5']))
        self.assertEqual((first['stdout'], first['stderr'], first['argv_cut']), (None, None, False))
        self.assertGreater(first['result']['wall_us'], 0)
        self.assertEqual((second['id'], second['state'], second['argv']), (2, 'running', ['sleep', '1000']))
        self.assertEqual([second['stdout'], second['stderr']], [{'length': 0, 'truncated': False}] * 2)
        rows = self.yett('ps', 'box').out.splitlines()
        self.assertEqual(rows[0].split(), ['ID', 'STATE', 'STATUS', 'TIME', 'COMMAND'])
        self.assertRegex(rows[1], r'^ +1  completed +5 +\S+  sh -c exit 5$')
        self.assertRegex(rows[2], r'^ +2  running +- +\S+  sleep 1000$')
        self.assertEqual(self.yett('ps', '-q', 'box').out, '1\n2\n')
        self.assert_refused(self.yett('ps', '--all', 'box'), 1, '--filter and --all are for the list of sandboxes')
        self.assert_refused(self.yett('ps', 'nobox'), 1, 'there is no sandbox')

    def test_a_result_says_when_it_was_and_which_signal_ended_it(self):
        before = time.time_ns() // 1000000
        self.yett('exec', 'box', '--', 'sh', '-c', 'exit 5')
        self.yett('exec', 'box', '--', 'sh', '-c', 'kill -SEGV $$')
        after = time.time_ns() // 1000000
        self.background('sleep', '1000')
        exited, killed, running = self.commands()
        for command in exited, killed:
            self.assertEqual(command['result']['started_ms'], command['started_ms'])
            self.assertTrue(before <= command['started_ms'] <= command['result']['ended_ms'] <= after, command)
        self.assertEqual([exited['result']['signal_name'], killed['result']['signal_name']], [None, 'SEGV'])
        self.assertIsNone(running['result'])

    def test_metadata_are_told_with_the_command(self):
        notes = ('--metadata', 'run=7', '--metadata', 'who=me=you')
        self.background('sleep', '1000', options=notes)
        self.assertEqual(self.yett('exec', *notes, '--metadata', 'é=', 'box', '--', 'false').code, 1)
        self.yett('exec', 'box', '--', 'true')
        self.assertEqual([command['metadata'] for command in self.commands()],
                         [{'run': '7', 'who': 'me=you'}, {'run': '7', 'who': 'me=you', 'é': ''}, {}])
        done = self.yett('run', '--json', '--metadata', 'k=v', '--', 'true')
        self.assertEqual(yett.told(done.out)['command']['metadata'], {'k': 'v'})
        self.assert_refused(self.yett('exec', '--metadata', 'k=1', '--metadata', 'k=2', 'box', '--', 'true'), 125, 'has k=2 twice')
        self.assert_refused(self.yett('exec', '--metadata', 'k', 'box', '--', 'true'), 125, '--metadata k: expected KEY=VALUE')
        self.assert_refused(self.yett('exec', '--metadata', 'k=' + 'v' * 1022, 'box', '--', 'true'), 125, 'more than 1024 bytes')

    def test_a_result_says_what_was_written_to_disks(self):
        shared = self.folder('shared', mode=0o777)
        write = ['dd', 'if=/dev/zero', 'bs=64k', 'count=32', 'conv=fsync', 'status=none']

        def outside():
            """As the same program here is told: nothing, where the directory is in memory."""
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock
            subprocess.run(write + ['of=' + shared + '/outside'], check=True)
            return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock - before) * 512

        def told(target):
            done = self.yett('run', '--json', '--rw', shared + ':/shared', '--', 'sh', '-c', '"$@"; exit 3', 'sh', *write, 'of=' + target)
            self.assertEqual(done.code, 3, done)
            return yett.told(done.out)['result']['written_bytes']

        self.assertEqual(told('/shared/inside') >= 32 * 65536, outside() >= 32 * 65536)
        self.assertLess(told('/tmp/inside'), 32 * 65536)  # which is memory

    def test_one_command_is_killed_and_others_go_on(self):
        one, other = self.background('sh', '-c', 'sleep 1000 & wait'), self.background('sleep', '1000')
        self.assertEqual(self.yett('kill', 'box', one).code, 0)
        self.assertEqual(self.yett('wait', 'box', one).code, 128 + signal.SIGKILL)
        self.assertEqual([c['state'] for c in self.commands()], ['killed', 'running'])
        self.assert_refused(self.yett('kill', 'box', '9', 'x', other), 1, 'there was no command 9', 'x is no id of a command')
        self.assertEqual(self.yett('wait', 'box', other).code, 128 + signal.SIGKILL)
        self.assert_refused(self.yett('wait', 'box', '9'), 125, 'there was no command 9')
        last = self.background('sleep', '1000')
        self.assertEqual(self.yett('kill', 'box').code, 0)
        self.assertEqual(self.yett('wait', 'box', last).code, 128 + signal.SIGKILL)

    def test_a_run_in_the_background_leaves_its_sandbox(self):
        done = self.yett('run', '-b', '--linger', '--name', 'left', '--', 'sh', '-c', 'echo here')
        self.assertEqual((done.code, done.out), (0, '1\n'))
        self.assertIn('the sandbox left goes on', done.err)
        self.assertEqual(self.yett('wait', '-o', 'left', '1').out, 'here\n')
        self.assertEqual(self.yett('destroy', 'left').code, 0)

    def test_a_session_has_a_directory_and_variables(self):
        self.assertEqual(self.yett('env', 'box').out, '/\n')
        self.assertEqual(self.yett('env', '-C', '/tmp', 'box', 'A=1', 'B=two words').out, '')
        self.assertEqual(self.yett('exec', 'box', '--', 'sh', '-c', 'pwd; echo $A $B').out, '/tmp\n1 two words\n')
        self.assertEqual(self.yett('exec', '-C', '/', '-e', 'A=2', 'box', '--', 'sh', '-c', 'pwd; echo $A').out, '/\n2\n')
        self.assertEqual(self.yett('env', '-u', 'A', 'box').code, 0)
        self.assertEqual(self.yett('env', 'box').out, '/tmp\nB=two words\n')
        self.assertEqual(json.loads(self.yett('env', '--json', 'box').out)['result'], {'directory': '/tmp', 'env': ['B=two words']})
        self.assertEqual(self.yett('env', '-C', '/nowhere', 'box').code, 0)
        self.assert_refused(self.yett('exec', 'box', '--', 'true'), 125, 'cannot be started in the directory of the session')
        self.assert_refused(self.yett('env', '-C', 'here', 'box'), 2, 'an absolute path')
        self.assert_refused(self.yett('env', 'box', '=1'), 1, 'not NAME=VALUE')

    def init(self):
        found = yett.inits_among(self.service.leftover_processes())
        self.assertEqual(len(found), 1)
        return found[0]

    def ready_child(self, other_than=()):
        """The child that init has forked ahead, once it waits: with null three times, and the socket, and nothing whose end somebody waits for."""
        def waits(pid):
            with contextlib.suppress(OSError):
                return (sorted(os.listdir('/proc/%d/fd' % pid)) == ['0', '1', '2', '3'] and yett.status_of(pid)['State'][0] == 'S' and
                        yett.argv_of(pid) == yett.argv_of(init))
            return False

        def waiting():
            found[:] = [pid for pid in yett.children_of(init) if pid not in other_than and waits(pid)]
            return found

        init, found = self.init(), []
        yett.wait_until(waiting, 'a child that is ready')
        return found[0]

    def keep_busy(self):
        """One that is at rest for a moment lets its ready child go; on a busy machine we would come too late."""
        self.background('sleep', '1000')

    def test_a_child_is_ready_for_the_next_command(self):
        def number_of_a_shell():
            return self.yett('exec', 'box', '--', 'sh', '-c', 'echo $$').out.strip()

        self.keep_busy()
        number_of_a_shell()
        number_of_a_shell()
        for _ in range(3):
            child, init = self.ready_child(), self.init()
            self.assertEqual([yett.status_of(child)[key] for key in ('Name', 'Uid', 'CapPrm', 'SigBlk')],
                             [yett.status_of(init)[key] for key in ('Name', 'Uid', 'CapPrm', 'SigBlk')])
            self.assertEqual(int(yett.status_of(child)['Seccomp_filters']), int(yett.status_of(init)['Seccomp_filters']) + 1)
            number = yett.status_of(child)['NSpid'].split()[1]
            self.assertEqual(number_of_a_shell(), number)

    def test_no_command_stops_or_ends_the_child_that_is_ready(self):
        background = self.background('sh', '-c', 'until [ -e /tmp/go ]; do sleep 0.01; done; kill -STOP -1; kill -9 -1; echo killed; '
                                     'until [ -e /tmp/end ]; do sleep 0.01; done', options=('--capture', '1K'))  # one at rest for a moment lets its child go
        for _ in range(2):
            self.assertEqual(self.yett('exec', 'box', '--', 'true').code, 0)
        child = self.ready_child()
        number = yett.status_of(child)['NSpid'].split()[1]
        self.assertEqual(self.yett('exec', 'box', '--', 'sh', '-c', 'echo $$; >/tmp/go').out.strip(), number)
        child = self.ready_child(other_than=[child])
        yett.wait_until(lambda: self.yett('logs', 'box', background).out == 'killed\n', 'the end of all that can be killed')
        self.assertEqual(self.ready_child(), child)
        self.assertEqual(self.yett('exec', 'box', '--', 'touch', '/tmp/end').code, 0)
        self.assertEqual(self.yett('wait', 'box', background).code, 0)

    def test_a_child_that_is_ready_is_not_needed(self):
        self.keep_busy()
        for _ in range(2):
            self.assertEqual(self.yett('exec', 'box', '--', 'true').code, 0)
        child = self.ready_child()
        os.kill(child, signal.SIGKILL)
        yett.wait_until(lambda: not yett.is_alive(child), 'its end')
        done = self.yett('exec', 'box', '--', 'sh', '-c', 'echo well; exit 3')
        self.assertEqual((done.code, done.out), (3, 'well\n'), done)
        child = self.ready_child()
        self.assertEqual(self.yett('env', '-C', '/usr', 'box', 'A=0').code, 0)
        self.assertTrue(yett.is_alive(child), 'one change it follows')
        self.assertEqual(self.yett('env', '-C', '/tmp', 'box', 'A=1').code, 0)
        yett.wait_until(lambda: not yett.is_alive(child), 'the end of a child with the session as it was')
        self.assertEqual(self.yett('exec', 'box', '--', 'sh', '-c', 'pwd; echo $A').out, '/tmp\n1\n')

    def test_a_command_that_is_restricted_to_paths_knows_its_user(self):
        done = self.yett('exec', '--only', '/tmp', 'box', '--', 'id', '-un')
        self.assertEqual((done.code, done.out), (0, self.alice.name + '\n'), done)
        self.assertEqual(self.yett('exec', '--only', '/tmp', '--read-only', 'box', '--', 'sh', '-c', 'cat /run/yett/group | head -1').out, 'root:x:0:\n')
        self.assertNotEqual(self.yett('exec', '--only', '/tmp', 'box', '--', 'touch', '/run/yett/passwd').code, 0)

    def test_one_command_can_be_restricted(self):
        self.yett('exec', 'box', '--', 'sh', '-c', 'mkdir /tmp/in; echo in > /tmp/in/file; echo out > /tmp/out')
        script = 'cat /tmp/in/file; cat /tmp/out; echo x > /tmp/in/new && echo written; rm -f /tmp/in/new'
        restricted = {
            (): 'in\nout\nwritten\n',
            ('--read-only',): 'in\nout\n',
            ('--only', '/tmp/in'): 'in\nwritten\n',
            ('--only', '/tmp/in', '--only', '/tmp/out', '--read-only'): 'in\nout\n',
            ('--no-network',): 'in\nout\nwritten\n',
        }
        for options, out in restricted.items():
            done = self.yett('exec', *options, 'box', '--', 'sh', '-c', script)
            if options and not yett.landlock_abi():
                self.assert_refused(done, 125, 'no Landlock')
            else:
                self.assertEqual(done.out, out, options)
        make = 'import socket; socket.socket(socket.AF_INET)'
        self.assertEqual(self.yett('exec', 'box', '--', 'python3', '-c', make).code, 0)
        self.assertNotEqual(self.yett('exec', '--no-network', 'box', '--', 'python3', '-c', make).code, 0)
        # of files that it did not make itself, and that it may not name: refused, and not ignored
        self.assert_refused(self.yett('exec', '--user', '0', 'box', '--', 'id'), 125, 'can only be user %d' % self.alice.uid)
        self.assertEqual(self.yett('exec', '--user', str(self.alice.uid), 'box', '--', 'true').code, 0)
        self.assert_refused(self.yett('exec', '--only', 'tmp', 'box', '--', 'true'), 125, 'absolute path')
        if yett.landlock_abi():
            self.assert_refused(self.yett('exec', '--only', '/tmp', '--only', '/tmp/absent', 'box', '--', 'true'), 125,
                                'cannot be restricted to /tmp/absent: there is no such path in the sandbox')
        done = self.yett('exec', '--command-memory', '64M', '--command-pids', '20', 'box', '--', 'true')
        self.assertIn(done.code, (0, 125))
        if done.code:
            self.assertIn('cgroup v2', done.err)

    def test_another_user_has_no_such_commands(self):
        command = self.background('sleep', '1000')
        for argv in (('ps', 'box'), ('wait', 'box', command), ('kill', 'box', command)):
            done = self.yett(*argv, user=self.bob)
            self.assertIn('there is no sandbox', done.err, done)


POLICY = '''
profile "brief" {
  extends = "default"
  command_timeout = 200ms
  max_command_timeout = 1h
}
profile "bounded" {
  extends = "default"
  max_command_timeout = 200ms
}
grant "brief" {
  users = {"*"}
  user_keys = true
  profiles = {"brief", "bounded", "default"}
  share_ro = {"*"}
  linger_max = unlimited
  max_command_timeout = 10m
}
'''


class Timeouts(yett.Case):
    """For how long commands may run, by the policy."""

    service_options = {'before': POLICY}

    def box(self, profile):
        done = self.yett('create', '--name', profile, '--profile', profile)
        self.assertEqual(done.code, 0, done)
        self.addCleanup(self.yett, 'destroy', profile)
        return yett.told(self.yett('inspect', '--json', profile).out)['sandbox']

    def assert_ends_in_time(self, box):
        done = self.yett('exec', box, '--', 'sleep', '1000')
        self.assertEqual((done.code, done.err), (124, 'yett: time limit reached\n'))

    def assert_too_long(self, done, section, key='max_command_timeout = '):
        self.assertEqual(done.code, 125, done)
        self.assertIn('a timeout of 2h is more than the', done.err)
        place = '%s:%d' % (self.service.policy, self.service.line(key))
        self.assertIn("by max_command_timeout of %s (%s)" % (section, place), done.err)

    def test_a_command_has_the_time_of_its_profile(self):
        told = self.box('brief')
        self.assertEqual((told['command_timeout_ms'], told['max_command_timeout_ms']), (200, 600000))
        self.assert_ends_in_time('brief')
        self.assertEqual(self.yett('exec', '--timeout', '10m', 'brief', '--', 'sleep', '0.4').code, 0)
        self.assertRegex(self.yett('inspect', 'brief').out, r'(?m)^command +200ms by default\ncommand max +10m$')

    def test_more_than_the_grant_gives_is_refused(self):
        self.box('brief')
        for argv in (('exec', '--timeout', '2h', 'brief', '--', 'true'), ('run', '-p', 'brief', '--timeout', '2h', '--', 'true')):
            self.assert_too_long(self.yett(*argv), "grant 'brief'", '  max_command_timeout = 10m')
        self.assert_too_long(self.yett('run', '--timeout', '2h', '--', 'true'), "grant 'brief'", '  max_command_timeout = 10m')

    def test_more_than_the_profile_gives_is_refused(self):
        told = self.box('bounded')
        self.assertEqual((told['command_timeout_ms'], told['max_command_timeout_ms']), (200, 200))
        self.assert_ends_in_time('bounded')
        self.assert_too_long(self.yett('exec', '--timeout', '2h', 'bounded', '--', 'true'), "profile 'bounded'", '  max_command_timeout = 200ms')

    def test_files_are_not_bound_by_the_usual_time(self):
        self.box('brief')
        self.assertEqual(self.yett('ls', 'brief:/').code, 0)
        self.assertIn('"name":"usr"', self.yett('ls', '--json', 'brief:/').out)

    def test_it_is_explained_beforehand(self):
        told = yett.told(self.yett('profiles', '--json', '--policy', self.service.policy).out)['profiles']
        times = {profile['name']: (profile['command_timeout_ms'], profile['max_command_timeout_ms'], profile['max_command_timeout_by']['rule'])
                 for profile in told if profile['max_command_timeout_ms']}
        self.assertEqual(times, {'brief': (200, 600000, "max_command_timeout of grant 'brief'"),
                                 'bounded': (200, 200, "max_command_timeout of profile 'bounded'"),
                                 'default': (600000, 600000, "max_command_timeout of grant 'brief'")})
        done = self.yett('policy', 'explain', '--policy', self.service.policy, '--', '-p', 'brief', '--', 'true')
        self.assertRegex(done.out, r"(?m)^  command +200ms +command_timeout of profile 'brief' \(\S+:%d\); at most 10m by max_command_timeout of grant 'brief' \(\S+:%d\)$" %
                         (self.service.line('command_timeout = 200ms'), self.service.line('  max_command_timeout = 10m')))

    def test_a_policy_that_contradicts_itself_is_refused(self):
        policy = self.service.folder + '/contradicts.conf'
        self.addCleanup(os.remove, policy)
        for text, problem in (('command_timeout = 2h\n max_command_timeout = 1h', 'has a command_timeout that is more than max_command_timeout'),
                              ('command_timeout = 0s', 'is too small'), ('max_command_timeout = 1w', 'is not a time'),
                              ('max_command_timeout = 30d1ms', 'is too large'), ('command_timeout = 1h30', 'is not a time')):
            yett.write(policy, 'profile "default" {\n %s\n}\ngrant "g" {\n users = {"*"}\n profiles = {"default"}\n}\n' % text)
            done = self.yett('policy', 'check', policy)
            self.assertEqual(done.code, 1, done)
            self.assertIn(problem, done.err)


class TimeoutsRootless(Timeouts):
    """Where the policy is the user's own, and init the same."""

    service_class = yett.Rootless
    test_a_policy_that_contradicts_itself_is_refused = test_it_is_explained_beforehand = None
    test_more_than_the_grant_gives_is_refused = test_more_than_the_profile_gives_is_refused = None


if __name__ == '__main__':
    yett.main()
