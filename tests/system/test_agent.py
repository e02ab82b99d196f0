# SPDX-License-Identifier: Apache-2.0
"""yett-agent, asked by yett tool: what operations answer, and what they leave."""
import base64
import json
import os
import signal
import subprocess
import tempfile

import agent
from agent import PROGRAM, Tool

import yett


class Commands(agent.Case):
    bounds = ('--rw', tempfile.gettempdir())

    def test_what_was_written_and_how_it_ended_is_told(self):
        answer = self.ask('run_command', command='echo out; echo err >&2; exit 3')
        self.assertEqual((answer['status'], answer['success'], answer['exit_code'], answer['signal']), ('failed', False, 3, None))
        self.assertEqual((answer['stdout'], answer['stderr'], answer['why']), ('out\n', 'err\n', 'the program exited with status 3'))
        self.assertEqual(sorted(answer['output'].splitlines()), ['err', 'out'])
        self.assertEqual(answer['sandbox'], None)
        self.assertGreater(answer['memory_used_bytes'], 0)

    def test_arguments_are_not_for_a_shell(self):
        self.assertEqual(self.ask('run_command', argv=['printf', '%s|', '$HOME', 'a b'])['stdout'], '$HOME|a b|')

    def test_variables_directory_and_input_are_its_own(self):
        answer = self.ask('run_command', command='pwd; echo "$A"; cat', cwd='/usr', env={'A': 'x y'}, stdin='typed')
        self.assertEqual(answer['stdout'], '/usr\nx y\ntyped')

    def test_what_is_not_there_is_said(self):
        answer = self.ask('run_command', argv=['no-such-program'])
        self.assertEqual((answer['status'], answer['error']['code'], answer['exit_code']), ('failed', 'command-failed', None))

    def test_a_signal_has_its_name(self):
        answer = self.ask('run_command', command='kill -SEGV $$')
        self.assertEqual((answer['signal'], answer['exit_code'], answer['why']), ('SEGV', None, 'the program was ended by the signal SEGV'))

    def test_time_and_memory_that_run_out_are_told_apart(self):
        late = self.ask('run_command', command='sleep 100', timeout='200ms')
        self.assertEqual((late['status'], late['signal']), ('timed_out', 'KILL'))
        self.assertIn('time limit', late['why'])
        much = self.ask('run_command', argv=['python3', '-c', 'b"x" * (1 << 28)'], memory_bytes=32 << 20)
        self.assertEqual((much['status'], much['why']), ('failed', 'the program was killed: out of memory'))

    def test_a_long_output_is_cut_in_the_middle_and_can_be_read_whole(self):
        answer = self.ask('run_command', command='seq 100000', max_output=2000)
        self.assertTrue(answer['truncated'])
        self.assertTrue(answer['stdout'].startswith('1\n2\n'))
        self.assertTrue(answer['stdout'].endswith('99999\n100000\n'))
        self.assertLess(len(answer['stdout']), 2200)
        whole, path = '', answer['files']['stdout']
        while True:
            part = self.ask('read_file', path=path, offset=len(whole))
            if not part['length']:
                break
            whole += part['content']
        self.assertEqual(whole, ''.join(f'{i}\n' for i in range(1, 100001)))

    def test_bytes_that_are_no_text_are_shown_and_can_be_had(self):
        answer = self.ask('run_command', command=r"printf 'a\377\000\033[31m'")
        self.assertEqual(answer['stdout'], 'a\ufffd\ufffd\x1b[31m')
        read = self.ask('read_file', path='run:%s/stdout' % answer['id'])
        self.assertEqual((read['encoding'], base64.b64decode(read['content'])), ('base64', b'a\xff\x00\x1b[31m'))

    def test_one_that_never_stops_writing_is_ended_by_its_time(self):
        for seconds in agent.GROWING:
            answer = self.ask('run_command', argv=['yes'], timeout=seconds)
            self.assertEqual(answer['status'], 'timed_out')
            if answer['truncated']:
                break
        self.assertTrue(answer['truncated'])
        self.assertLessEqual(len(answer['stdout']), 30200)

    def test_what_it_wrote_to_disks_is_told(self):
        folder = self.folder('written')
        if os.stat(folder).st_dev in [os.stat(path).st_dev for path in ('/dev/shm', '/run')]:
            self.skipTest('the homes of tests are in memory here')
        answer = self.ask('run_command', command='head -c 1000000 /dev/zero >/mnt/file; sync /mnt/file', shares=[{'path': folder, 'target': '/mnt', 'mode': 'rw'}])
        self.assertGreaterEqual(answer['written_bytes'], 1000000, answer)

    def test_metadata_comes_back(self):
        box = self.ask('sandboxes', action='make')['sandbox']['id']
        self.ask('run_command', sandbox=box, command=':', metadata={'task': '8'})
        listed = json.loads(self.yett('ps', box, '--json').out)['result']['commands']
        self.assertEqual([one['metadata'] for one in listed], [{'task': '8'}])
        self.assertEqual(self.ask('run_command', command=':', metadata={'task': '7'})['metadata'], {'task': '7'})
        for operation, more in (('run_command', {'command': ':'}), ('run_code', {'language': 'bash', 'code': ':'})):
            error = self.ask(operation, metadata={'task': 'x' * 1020, 'b': ''}, **more)['error']
            self.assertEqual(error['message'], 'metadata: 1025 bytes of names and values are more than 1024')

    def test_without_a_sandbox_nothing_is_left(self):
        first = self.ask('run_command', command='echo x >/tmp/x; cat /tmp/x')
        self.assertEqual(first['stdout'], 'x\n')
        self.assertEqual(self.ask('run_command', command='cat /tmp/x')['status'], 'failed')
        self.assertEqual(self.tool.close(), (1, ''))
        self.service.wait_no_leftovers()

    def test_a_refusal_names_the_rule_and_the_change(self):
        error = self.ask('run_command', command=':', memory_bytes=1 << 50)['error']
        self.assertEqual(error['code'], 'permission-denied')
        self.assertIn('max_memory', error['rule'])
        self.assertIn('max_memory', error['mend'])
        self.assertGreater(error['line'], 0)


class Background(agent.Case):
    def test_it_is_asked_about_and_given_more_to_read(self):
        begun = self.ask('run_command', argv=['cat'], background=True, keep_input=True)
        self.assertIn(begun['status'], ('pending', 'running'))
        if begun['status'] == 'pending':  # what it reads is there once it runs
            begun = self.until(begun['id'], lambda answer: answer['status'] == 'running')
        self.ask('wait_command', id=begun['id'], timeout=0, input='one\n')
        answer = self.until(begun['id'], lambda told: told['stdout'])
        self.assertEqual((answer['status'], answer['stdout']), ('running', 'one\n'))
        answer = self.ask('wait_command', id=begun['id'], timeout=agent.LONG, input='two\n', close_input=True)
        self.assertEqual((answer['status'], answer['stdout']), ('completed', 'one\ntwo\n'))

    def test_what_it_begins_with_is_not_all_that_it_reads(self):
        begun = self.ask('run_command', argv=['cat'], background=True, keep_input=True, stdin='one\n')
        self.until(begun['id'], lambda told: told['stdout'] == 'one\n')
        answer = self.ask('wait_command', id=begun['id'], timeout=agent.LONG, input='two\n', close_input=True)
        self.assertEqual((answer['status'], answer['stdout']), ('completed', 'one\ntwo\n'))

    def until(self, name, is_so):
        answers = []

        def is_so_now():
            answers[:] = [self.ask('wait_command', id=name, timeout='50ms')]
            return is_so(answers[0])
        yett.wait_until(is_so_now, 'a state of the execution')
        return answers[0]

    def test_it_is_ended_on_request(self):
        for sandbox in ({}, {'sandbox': self.ask('sandboxes', action='make')['sandbox']['id']}):
            begun = self.ask('run_command', command='sleep 1000 & sleep 1000', background=True, **sandbox)
            self.until(begun['id'], lambda answer: answer['status'] == 'running')
            answer = self.ask('wait_command', id=begun['id'], timeout=agent.LONG, signal='KILL')
            self.assertEqual((answer['status'], answer['why']), ('killed', 'the program was killed on request'))

    def test_the_end_of_its_sandbox_is_how_it_ended(self):
        box = self.ask('sandboxes', action='make')['sandbox']['id']
        begun = self.ask('run_command', sandbox=box, command='sleep 1000', background=True)
        self.ask('sandboxes', action='end', sandbox=box)
        answer = self.ask('wait_command', id=begun['id'], timeout=agent.LONG)
        self.assertEqual((answer['status'], 'error' in answer), ('killed', False), answer)

    def test_a_refusal_is_told_as_often_as_it_is_asked_for(self):
        self.assertIn('error', self.ask('run_command', command=':', memory_bytes=1 << 50))
        line, = self.ask('sandboxes', action='executions')['executions']
        self.assertIn('is more than the', line['why'])
        self.assertEqual(self.ask('wait_command', id=line['id'], timeout=0)['error']['code'], 'permission-denied')

    def test_a_signal_is_its_own_affair(self):
        begun = self.ask('run_command', command='trap "echo heard; exit 5" TERM; echo up; while :; do sleep 0.01; done', background=True)
        self.until(begun['id'], lambda answer: answer.get('stdout') == 'up\n')
        answer = self.ask('wait_command', id=begun['id'], timeout=agent.LONG, signal='SIGTERM')
        self.assertEqual((answer['exit_code'], answer['stdout']), (5, 'up\nheard\n'))

    def test_who_is_killed_takes_it_along(self):
        begun = self.ask('run_command', command='sleep 1000', background=True)
        self.until(begun['id'], lambda answer: answer['status'] == 'running')
        self.tool.process.send_signal(signal.SIGKILL)
        self.assertEqual(self.tool.close()[0], -signal.SIGKILL)
        self.service.wait_no_leftovers()

    def test_a_signal_to_the_tool_ends_a_command_in_a_sandbox_that_stays(self):
        self.ask('sandboxes', action='make', name='stays')
        self.addCleanup(self.yett, 'destroy', 'stays')
        self.tool.send(json.dumps({'operation': 'run_command', 'command': 'echo up >/tmp/up; sleep 1000', 'sandbox': 'stays'}))
        yett.wait_until(lambda: self.yett('cat', 'stays:/tmp/up').code == 0, 'the command')
        self.tool.process.terminate()
        self.assertEqual(self.tool.close()[0], 128 + signal.SIGTERM)
        yett.wait_until(lambda: ' running ' not in self.yett('ps', 'stays').out, 'the end of the command')
        self.assertIn('killed', self.yett('ps', 'stays').out)


class Sandboxes(agent.Case):
    bounds = ('--rw', tempfile.gettempdir(), '--net', 'open')

    def test_one_without_a_name_ends_with_the_program(self):
        made = self.ask('sandboxes', action='make')['sandbox']
        self.assertEqual((made['state'], made['name'], made['lingers']), ('running', None, False))
        self.assertEqual(self.ask('run_command', command='echo x >/tmp/x', sandbox=made['id'])['sandbox'], made['id'])
        self.assertEqual(self.ask('run_command', command='cat /tmp/x', sandbox=made['id'])['stdout'], 'x\n')
        self.tool.close()
        self.service.wait_no_leftovers()

    def test_one_with_a_name_stays_until_it_is_ended(self):
        made = self.ask('sandboxes', action='make', name='kept')['sandbox']
        self.addCleanup(self.yett, 'destroy', 'kept')
        self.tool.process.send_signal(signal.SIGKILL)
        self.tool.close()
        self.tool = agent.Tool(self.service, self.alice, *self.bounds)
        self.assertEqual([one['id'] for one in self.ask('sandboxes', action='list')['sandboxes']], [made['id']])
        self.assertEqual(self.ask('run_command', command='echo here', sandbox='kept')['stdout'], 'here\n')
        self.assertEqual(self.ask('sandboxes', action='end', sandbox='kept'), {'done': True})
        self.assertEqual(self.ask('run_command', command='echo here', sandbox='kept')['error']['code'], 'not-found')
        self.tool.close()
        self.service.wait_no_leftovers()

    def test_it_is_looked_at_paused_and_resumed(self):
        made = self.ask('sandboxes', action='make')['sandbox']
        self.assertEqual(self.ask('sandboxes', action='info', sandbox=made['id'])['sandbox'], made)
        stats, = self.ask('sandboxes', action='stats', sandbox=made['id'])['stats']
        self.assertGreater(stats['processes'], 0)
        self.assertEqual(self.ask('sandboxes', action='pause', sandbox=made['id']), {'done': True})
        self.assertEqual(self.ask('sandboxes', action='info', sandbox=made['id'])['sandbox']['state'], 'paused')
        self.assertEqual(self.ask('run_command', command='echo on', sandbox=made['id'])['error']['code'], 'not-running')
        self.assertEqual(self.ask('sandboxes', action='resume', sandbox=made['id']), {'done': True})
        self.assertEqual(self.ask('run_command', command='echo on', sandbox=made['id'])['stdout'], 'on\n')

    def test_the_policy_is_asked_without_making_one(self):
        self.wait_none_listed()  # of the tests before
        self.assertIn('plan', self.ask('sandboxes', action='plan'))
        self.assertEqual(self.ask('sandboxes', action='plan', profile='no-such')['error']['code'], 'permission-denied')
        self.assertEqual(self.ask('sandboxes', action='list')['sandboxes'], [])

    def test_what_its_network_may_reach_is_changed(self):
        made = self.ask('sandboxes', action='make', allow=['one.example:443'])['sandbox']
        self.assertEqual(made['network'], 'limited')
        rules = self.ask('sandboxes', action='allow', sandbox=made['id'], allow=['two.example:443'])['rules']
        self.assertEqual(sorted(rule['rule'] for rule in rules if rule['asked']), ['one.example:443', 'two.example:443'])
        rules = self.ask('sandboxes', action='deny', sandbox=made['id'], deny=['two.example:443'])['rules']
        self.assertIn(('deny', 'two.example:443'), [(rule['list'], rule['rule']) for rule in rules])
        for wrong in ({'action': 'info', 'memory_bytes': 1 << 30}, {'action': 'deny', 'allow': ['*']}, {'action': 'allow', 'allow': ['*'], 'deny': ['one.example:443']}, {'action': 'deny'}):
            self.assertEqual(self.ask('sandboxes', sandbox=made['id'], **wrong)['error']['code'], 'invalid-request')
        self.assertEqual(self.ask('sandboxes', action='rules', sandbox=made['id'])['rules'], rules)

    def test_a_share_is_seen_inside(self):
        folder = self.folder('shared')
        self.alice.write('shared/file', 'of the host')
        answer = self.ask('run_command', command='cat /mnt/file; touch /mnt/new', shares=[{'path': folder, 'target': '/mnt'}])
        self.assertEqual((answer['stdout'], answer['success']), ('of the host', False))
        answer = self.ask('run_command', command='touch /mnt/new', shares=[{'path': folder, 'target': '/mnt', 'mode': 'rw'}])
        self.assertTrue(answer['success'], answer)
        self.assertTrue(os.path.exists(folder + '/new'))

    def test_what_is_mounted_is_told_and_how_full_its_memory_is(self):
        made = self.ask('sandboxes', action='make', shares=[{'path': self.folder('seen'), 'target': '/mnt', 'mode': 'rw'}])['sandbox']
        self.assertEqual((made['platform'], made['type'], made['backend'], made['architecture']), ('linux', 'namespaces', 'service', os.uname().machine))
        before = {each['target']: each for each in self.ask('sandboxes', action='mounts', sandbox=made['id'])['mounts']}
        self.assertEqual((before['/mnt']['mode'], before['/mnt']['own']), ('rw', False))
        self.ask('run_command', sandbox=made['id'], command='head -c 1000000 /dev/zero >/tmp/full')
        after = {each['target']: each for each in self.ask('sandboxes', action='mounts', sandbox=made['id'])['mounts']}
        used = [sum(each['used_bytes'] for each in told.values() if each['own']) for told in (before, after)]
        self.assertGreaterEqual(used[1] - used[0], 1000000)

    def test_what_can_be_had_is_told_with_the_reason_where_not(self):
        told = {each['name']: each for each in self.ask('sandboxes', action='capabilities')['capabilities']}
        self.assertTrue(told['sandbox']['supported'])
        self.assertEqual((told['network-host']['supported'], told['network-host']['code']), (False, 'permission-denied'))
        self.assertTrue(told['network-host']['reason'])
        self.assertEqual(self.ask('sandboxes', action='make', mac_address='02:00:00:00:00:01')['error']['code'], 'unsupported')

    def test_of_one_that_is_there_nothing_can_be_asked_anew(self):
        made = self.ask('sandboxes', action='make')['sandbox']
        error = self.ask('run_command', command=':', sandbox=made['id'], memory_bytes=1 << 20)['error']
        self.assertEqual(error['code'], 'invalid-request')

    def test_what_was_run_is_listed_and_counted_and_forgotten(self):
        first = self.ask('run_command', command='exit 1')
        self.ask('run_command', command='sleep 9', timeout='50ms')
        told = self.ask('sandboxes', action='executions')
        self.assertEqual([line['status'] for line in told['executions']], ['timed_out', 'failed'])
        self.assertEqual(told['executions'][1]['id'], first['id'])
        self.assertIn({'of': 'command', 'runs': 2, 'failures': 2, 'timeouts': 1}, told['statistics'])
        self.assertEqual(self.ask('sandboxes', action='clean_up'), {'forgotten': 2})
        self.assertEqual(self.ask('wait_command', id=first['id'])['error']['code'], 'not-found')

    def test_a_service_that_was_started_again_is_asked_again(self):
        self.assertEqual(self.ask('run_command', command='echo 1')['stdout'], '1\n')
        self.service.reload()
        self.assertEqual(self.ask('run_command', command='echo 2')['stdout'], '2\n')
        self.service.reload()
        self.wait_none_listed()


class Files(agent.Case):
    def setUp(self):
        super().setUp()
        self.box = self.ask('sandboxes', action='make')['sandbox']['id']

    def test_they_are_written_read_and_listed(self):
        self.assertEqual(self.ask('write_file', sandbox=self.box, path='/tmp/a', content='äöü'), {'written': 6})
        self.assertEqual(self.ask('write_file', sandbox=self.box, path='/tmp/a', content='!', append=True), {'written': 1})
        read = self.ask('read_file', sandbox=self.box, path='/tmp/a')
        self.assertEqual((read['content'], read['encoding'], read['size']), ('äöü!', 'text', 7))
        read = self.ask('read_file', sandbox=self.box, path='/tmp/a', offset=2, length=2)
        self.assertEqual((read['content'], read['offset'], read['length']), ('ö', 2, 2))
        self.ask('write_file', sandbox=self.box, path='/tmp/x', content='#!/bin/sh\necho ran', mode='0755')
        self.assertEqual(self.ask('run_command', sandbox=self.box, argv=['sh', '/tmp/x'])['stdout'], 'ran\n')
        listed = self.ask('list_files', sandbox=self.box, path='/tmp')
        self.assertEqual([entry['name'] for entry in listed['entries'] if entry['kind'] == 'file'], ['a', 'x'])
        self.assertFalse(listed['truncated'])

    def test_bytes_pass_as_base64(self):
        content = bytes(range(256))
        self.assertEqual(self.ask('write_file', sandbox=self.box, path='/tmp/b', content=base64.b64encode(content).decode(), encoding='base64'),
                         {'written': 256})
        read = self.ask('read_file', sandbox=self.box, path='/tmp/b')
        self.assertEqual((read['encoding'], base64.b64decode(read['content'])), ('base64', content))

    def test_what_cannot_be_done_is_said(self):
        for operation, more, code in (('read_file', {'path': '/no/such'}, 'file-operation-failed'), ('read_file', {'path': '/tmp'}, 'file-operation-failed'),
                                      ('read_file', {'path': 'relative'}, 'invalid-request'), ('read_file', {'path': 'run:0/stdout'}, 'not-found'),
                                      ('write_file', {'path': '/usr/x', 'content': ''}, 'file-operation-failed'),
                                      ('write_file', {'path': '/tmp/x', 'content': '?', 'encoding': 'base64'}, 'invalid-request'),
                                      ('write_file', {'path': '/tmp/x', 'content': '', 'mode': '9999'}, 'invalid-request'),
                                      ('list_files', {'path': '/no/such'}, 'file-operation-failed')):
            with self.subTest(operation=operation, more=more):
                self.assertEqual(self.ask(operation, sandbox=self.box, **more)['error']['code'], code)
        self.assertEqual(self.ask('read_file', path='/etc/passwd')['error']['reason'], 'missing-field')

    def test_a_long_list_is_cut(self):
        self.ask('run_command', sandbox=self.box, command='mkdir /tmp/many && cd /tmp/many && seq 50 | xargs touch')
        listed = self.ask('list_files', sandbox=self.box, path='/tmp/many', max=20)
        self.assertEqual((len(listed['entries']), listed['truncated']), (20, True))

    def test_names_are_harmless(self):
        self.ask('run_command', sandbox=self.box, command=r"""mkdir /tmp/odd; touch /tmp/odd/$(printf '<b>\033[31m\377')""")
        entry, = self.ask('list_files', sandbox=self.box, path='/tmp/odd')['entries']
        self.assertEqual(entry['name'], '<b>\x1b[31m\ufffd')


class Events(agent.Case):
    bounds = ('--allow', 'one.example:443')
    DENIED = {'code': 'network-denied', 'message': '8.8.8.8:443: no rule allows it', 'retryable': False,
              'mend': '"allow": ["8.8.8.8:443"] where the sandbox is made'}

    def test_what_happens_is_told_in_order_and_once(self):
        box = self.ask('sandboxes', action='make')['sandbox']['id']
        self.ask('run_command', sandbox=box, command='exit 4')
        seen, last = self.events_until('exited', box)
        self.assertEqual([event['number'] for event in seen], sorted({event['number'] for event in seen}))
        self.assertEqual([event['kind'] for event in seen], ['followed', 'started', 'exited'])
        self.assertIn('status 4', seen[-1]['text'])
        self.assertEqual(self.ask('events', sandbox=box, after=last), {'events': [], 'last': last})

    def test_one_that_is_asked_about_by_its_name_is_followed_once(self):
        box = self.ask('sandboxes', action='make', name='known')['sandbox']['id']
        for name in ('known', box, 'known'):
            self.ask('events', sandbox=name)
        self.ask('run_command', sandbox='known', command=':')
        seen, _ = self.events_until('exited', 'known')
        self.assertEqual([(event['kind'], event['sandbox']) for event in seen], [('followed', box), ('started', box), ('exited', box)])
        self.assertTrue(self.ask('sandboxes', action='end', sandbox='known')['done'])

    def test_a_refusal_is_one(self):
        self.ask('run_command', command=':', memory_bytes=1 << 50)
        event, = self.ask('events')['events']
        self.assertEqual((event['kind'], event['error']['code']), ('refused', 'permission-denied'))

    def test_a_blocked_connection_is_told_with_its_rule(self):
        box = self.ask('sandboxes', action='make', allow=['one.example:443'])['sandbox']['id']
        self.ask('run_command', sandbox=box, argv=['python3', '-c', 'import socket; socket.create_connection(("8.8.8.8", 443), 5)'])
        seen, _ = self.events_until('blocked', box)
        blocked = next(event for event in seen if event['kind'] == 'blocked')
        self.assertIn('8.8.8.8:443', blocked['text'])
        self.assertEqual((blocked['subject'], blocked['error']), ('8.8.8.8:443', self.DENIED))

    def test_the_answer_of_what_was_run_has_what_its_sandbox_was_kept_from(self):
        connect = 'import socket, sys; socket.create_connection(("8.8.8.8", 443), 5); socket.create_connection(("8.8.8.8", 443), 5); sys.stdin.read()'
        run = self.ask('run_command', allow=['one.example:443'], argv=['python3', '-c', connect], background=True, keep_input=True)['id']
        box = yett.wait_until(lambda: self.ask('events')['events'], 'the sandbox is followed')[0]['sandbox']
        self.events_until('blocked', box)
        self.ask('wait_command', id=run, input='', close_input=True, timeout=0)
        self.assertEqual(self.ask('wait_command', id=run)['denied'], [self.DENIED])
        self.assertNotIn('denied', self.ask('run_command', allow=['one.example:443'], command=':'))


class BadInput(agent.Case):
    BAD = {'': 'no JSON', '[]': 'no JSON object', '"x"': 'no JSON', '{': 'no JSON', '{"operation": 1}': 'operation', '{"operation": "x"}': 'no operation x',
           '{"operation": "events", "operation": "events"}': 'duplicate', '{"operation": "run_command", "command": "\\ud800"}': 'no JSON',
           '{"operation": "run_command", "command": "a\\u0000b"}': 'no JSON', '{"operation": "run_command", "command": "' + '\xff' + '"}': '',
           '[' * 10000 + ']' * 10000: 'no JSON', '{"operation": "run_command"}': 'either command', '{"operation": "run_command", "command": ""}': 'command: 0 bytes',
           '{"operation": "run_command", "command": "x", "timeout": 1e9}': 'timeout', '{"operation": "run_command", "command": "x", "timeout": "2h"}': 'longer than',
           '{"operation": "run_command", "command": "x", "cwd": "x"}': 'cwd', '{"operation": "run_command", "command": "x", "argv": ["x"]}': 'either',
           '{"operation": "wait_command", "id": "x"}': 'no execution', '{"operation": "sandboxes", "action": "info"}': 'sandbox'}

    def test_it_is_refused_by_name_and_the_next_request_works(self):
        for text, part in self.BAD.items():
            if not text.strip():
                continue
            with self.subTest(text=text[:80]):
                self.tool.send(text)
                answer = json.loads(yett.line_of(self.tool.process.stdout))
                if part:
                    self.assertIn(part, answer['error']['message'])
        self.tool.send('{"operation": "run_command", "command": "echo on"}')
        self.assertEqual(json.loads(yett.line_of(self.tool.process.stdout))['stdout'], 'on\n')

    def test_ten_megabytes_are_too_much(self):
        self.wait_none_listed()  # of the tests before
        self.tool.send('{"operation": "run_command", "command": "%s"}' % ('x' * (10 << 20)))
        self.assertIn('longer than', json.loads(yett.line_of(self.tool.process.stdout))['error']['message'])
        self.assertEqual(self.ask('sandboxes', action='list'), {'sandboxes': []})


class Bounded(agent.Case):
    """The policy lets commands run for a shorter time than the settings would."""

    service_options = {'before': '''
grant "brief" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_command_timeout = %ds
}
''' % yett.DEADLINE}

    def test_what_asks_for_no_time_has_what_the_policy_gives(self):
        self.assertEqual(self.ask('run_command', command='echo done')['stdout'], 'done\n')
        for more in ({}, {'ensure': True}, {'mode': 'kept'}):
            with self.subTest(more=more):
                self.assertEqual(self.ask('run_code', language='python', code='print(1)', **more)['status'], 'completed')
        self.change_policy(before=self.service_options['before'].replace('%ds' % yett.DEADLINE, '1s'))
        self.assertEqual(self.ask('run_command', command='sleep 1000')['status'], 'timed_out')

    def test_what_asks_for_more_is_refused(self):
        for request in ({'operation': 'run_command', 'command': ':'}, {'operation': 'run_code', 'language': 'bash', 'code': ':'}):
            error = self.ask(**request, timeout=yett.DEADLINE + 1)['error']
            self.assertEqual((error['code'], error['rule']), ('permission-denied', "max_command_timeout of grant 'brief'"))


class Statuses(agent.Users):
    def once(self, operation, request):
        done = self.service.run(self.alice, self.service.yett, 'tool', operation, input=json.dumps(request), env={'YETT_AGENT': agent.PROGRAM})
        json.loads(done.out)
        return done.code

    def test_the_exit_status_says_which_kind_of_end_it_was(self):
        for request, what in (({'command': 'true'}, 'done'), ({'command': 'false'}, 'failed'), ({'command': ''}, 'invalid'),
                              ({'command': ':', 'memory_bytes': 1 << 50}, 'refused'), ({'command': 'sleep 9', 'timeout': 0.05}, 'timed out'),
                              ({'command': ':', 'sandbox': 'no-such'}, 'not found')):
            with self.subTest(what=what):
                self.assertEqual(self.once('run_command', request), agent.STATUSES[what])

    def test_without_a_helper_it_is_unavailable(self):
        done = self.alice.popen([agent.PROGRAM, '--socket', '/no/such/socket', 'tool', 'sandboxes'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out, _ = done.communicate(b'{"action": "list"}', timeout=yett.DEADLINE)
        self.assertEqual((done.returncode, json.loads(out)['error']['code']), (agent.STATUSES['unavailable'], 'helper-unavailable'))

    def test_settings_of_the_user_count_and_wrong_ones_are_said(self):
        home = self.folder('settings')
        self.alice.mkdir('settings/yett')
        self.alice.write('settings/yett/agent.json', '{"max_timeout": "2s", "default_timeout": 1}')
        env = {'XDG_CONFIG_HOME': home}
        done = self.service.run(self.alice, agent.PROGRAM, 'tool', 'run_command', input='{"command": ":", "timeout": 3}', env=env)
        self.assertIn('max_timeout', json.loads(done.out)['error']['mend'])
        self.alice.write('settings/yett/agent.json', '{"max_timeuot": "2s"}')
        done = self.service.run(self.alice, agent.PROGRAM, 'tool', 'run_command', input='{"command": ":"}', env=env)
        self.assertEqual((done.code, done.out), (64, ''))
        self.assertIn('max_timeuot: there is no such field', done.err)
        self.alice.write('settings/yett/agent.json', '{"languages": ["pyhton"]}')
        done = self.service.run(self.alice, agent.PROGRAM, 'tool', 'run_command', input='{"command": ":"}', env=env)
        self.assertIn("there is no language 'pyhton'", done.err)
        self.assertEqual(self.service.run(self.alice, agent.PROGRAM, '--version', env=env).code, 0)


class Stores(agent.Case):
    """What is left of shares that are copy-on-write when their sandbox has ended."""

    bounds = ('--cow', tempfile.gettempdir())

    def setUp(self):
        super().setUp()
        self.share = {'path': self.folder('source-' + self._testMethodName[5:30]), 'target': '/mnt', 'mode': 'cow'}

    def stores(self):
        """Whether each of this test has changed."""
        listed = json.loads(self.yett('work', 'list', '--json').out)['result']['works']
        return sorted(work['changed'] for work in listed if work['source'] == self.share['path'])

    def wait_stores(self, *changed):
        yett.wait_until(lambda: self.stores() == sorted(changed), 'stores of which so many have changed: %s' % (changed,))

    def test_a_call_that_changed_nothing_leaves_nothing(self):
        for script in ('true', 'exit 3', 'echo x >/mnt/x; rm /mnt/x'):
            self.ask('run_command', command=script, shares=[self.share])
            self.wait_stores()
        self.assertEqual(self.ask('run_command', command='echo x >/mnt/x', shares=[self.share])['status'], 'completed')
        self.wait_stores(True)
        self.ask('run_command', command='true', shares=[self.share, {**self.share, 'target': '/srv'}])
        self.wait_stores(True)

    def test_one_that_is_held_keeps_its_store_until_it_is_ended(self):
        box = self.ask('sandboxes', action='make', shares=[self.share])['sandbox']['id']
        self.ask('run_command', command='true', sandbox=box)
        self.wait_stores(False)
        self.ask('sandboxes', action='end', sandbox=box)
        self.wait_stores()

    def test_one_with_a_name_keeps_its_store_until_it_is_ended_by_whatever_agent(self):
        self.ask('sandboxes', action='make', name='named', shares=[self.share])
        self.addCleanup(self.yett, 'destroy', 'named')
        self.tool.close()
        self.assertEqual(self.stores(), [False])
        self.tool = Tool(self.service, self.alice, *self.bounds)
        self.assertEqual(self.ask('sandboxes', action='end', sandbox='named'), {'done': True})
        self.wait_stores()

    def test_the_program_ends_when_nothing_is_left_of_what_goes_with_it(self):
        self.ask('sandboxes', action='make', shares=[self.share])
        self.ask('run_command', command='sleep 1000', shares=[self.share], background=True)
        self.tool.close()
        self.assertEqual(self.stores(), [])
        request = json.dumps({'command': 'true', 'shares': [self.share]})
        done = self.service.run(self.alice, PROGRAM, *self.bounds, 'tool', 'run_command', input=request)
        self.assertEqual((done.code, self.stores()), (0, []), done)


if __name__ == '__main__':
    yett.main()
