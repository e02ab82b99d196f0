# SPDX-License-Identifier: Apache-2.0
"""`yett-agent mcp`, spoken to line by line: what clients ask for, what they should not, and what is left when they are gone.

The clients that others wrote are those of test_mcp_clients.py."""
import json
import os
import select
import signal
import subprocess

import jsonschema

import agent
import mcp
import yett

LEGACY = ('2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05')
PARSE, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, UNSUPPORTED_VERSION = -32700, -32600, -32601, -32602, -32022
UNTIL_KILLED = 'echo begun > /tmp/begun; exec sleep 86400'


class Case(agent.Users):
    def begin(self, *options, bounds=(), **more):
        """A server of alice's, and a client that has said nothing yet. Calls may take long, unless the options say otherwise."""
        options = options if '--patience' in options else ('--patience', '%ds' % (2 * yett.DEADLINE), *options)
        more = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **more}
        process = self.service.popen(self.alice, self.service.run_.path('agent/yett-agent'), *bounds, 'mcp', *options, **more)
        self.addCleanup(self.end, process)
        return mcp.Client(process)

    def client(self, *options, version='2025-11-25', bounds=()):
        client = self.begin(*options, bounds=bounds)
        client.initialize(version)
        return client

    def assert_works(self, client):
        """The next request is answered as ever."""
        self.assertEqual(client.call('run_command', command='echo works')['structuredContent']['stdout'], 'works\n')

    def assert_takes_no_more(self, client, size):
        """Memory; but for programs that are instrumented, which keep what was freed."""
        if not any('libasan' in line for line in yett.read('/proc/%d/maps' % client.process.pid).splitlines()):
            self.assertLess(int(yett.status_of(client.process.pid)['VmRSS'].split()[0]) << 10, size)

    def commands(self, pattern):
        """Host pids of what runs in sandboxes with this in its arguments."""
        return [pid for pid in yett.processes() if any(pattern in argument for argument in yett.argv_of(pid)) and self.is_inside(pid)]

    @staticmethod
    def is_inside(pid):
        return len(yett.status_of(pid).get('NSpid', '').split()) > 1

    def assert_nothing_left(self):
        self.service.wait_no_leftovers()


class Handshake(Case):
    def test_each_earlier_revision_is_agreed_on(self):
        for version in LEGACY:
            client = self.begin()
            result = client.initialize(version)
            self.assertEqual(result['protocolVersion'], version)
            self.assertEqual(result['serverInfo']['name'], 'yett')
            self.assertEqual(result['capabilities'], {'tools': {}, 'resources': {}})
            self.assertEqual(client.result('ping'), {})
            self.assertNotIn('resultType', client.result('tools/list'))

    def test_the_latest_of_them_where_it_is_not_known(self):
        for version in ('2026-07-28', '1999-01-01', ''):
            self.assertEqual(self.begin().initialize(version)['protocolVersion'], '2025-11-25')

    def test_without_one_only_initialize_and_ping_are_answered(self):
        client = self.begin()
        self.assertEqual(client.result('ping'), {})
        error = client.error('tools/list')
        self.assertEqual(error['code'], INVALID_PARAMS)
        self.assertIn('io.modelcontextprotocol/protocolVersion', error['message'])
        self.assertEqual(client.error('initialize', {})['code'], INVALID_PARAMS)

    def test_what_it_does_not_have_it_does_not_know(self):
        client = self.client()
        for method in ('prompts/list', 'completion/complete', 'logging/setLevel', 'resources/subscribe', 'server/discover', 'x' * 300, ''):
            self.assertEqual(client.error(method)['code'], UNKNOWN_METHOD)

    def test_what_a_client_tells_or_answers_is_not_answered(self):
        client = self.client()
        client.tell('notifications/roots/list_changed')
        client.tell('notifications/cancelled', {'requestId': 99})
        client.tell('notifications/cancelled', {})
        client.tell('whatever')
        client.send({'jsonrpc': '2.0', 'id': 7, 'result': {}})
        client.send_raw(b'\n\r\n')
        self.assertEqual(client.result('ping'), {})
        self.assertEqual((client.answers, client.others), ({}, []))


class Command(Case):
    """yett mcp, which executes it."""

    def begin_command(self, *argv):
        process = self.service.popen(self.alice, self.service.yett, 'mcp', *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={'YETT_AGENT': self.service.run_.path('agent/yett-agent')})
        self.addCleanup(self.end, process)
        return process

    def test_options_are_handed_on(self):
        client = mcp.Client(self.begin_command('--patience', '200ms'))
        client.initialize()
        self.assertIn(client.call('run_command', command='sleep 86406')['structuredContent']['status'], ('pending', 'running'))

    def test_what_is_no_option_is_refused(self):
        for argv in (('--patience', 'x'), ('--patience', '0'), ('--patience',), ('--nope',), ('operand',)):
            process = self.begin_command(*argv)
            out, err = process.communicate(timeout=yett.DEADLINE)
            self.assertEqual(out, b'', argv)
            self.assertNotEqual(process.returncode, 0, argv)
            self.assertIn(b'yett mcp', err, argv)


class Modern(Case):
    """Revision 2026-07-28: each request says all that is needed."""

    def ask(self, client, method, **params):
        return client.result(method, {'_meta': mcp.META, **params})

    def test_it_says_what_it_has(self):
        result = self.ask(self.begin(), 'server/discover')
        self.assertEqual(result['supportedVersions'], [mcp.MODERN])
        self.assertEqual(result['capabilities'], {'tools': {}, 'resources': {}})
        self.assertEqual(result['_meta']['io.modelcontextprotocol/serverInfo']['name'], 'yett')
        self.assertEqual((result['resultType'], result['cacheScope']), ('complete', 'public'))
        self.assertGreater(result['ttlMs'], 0)

    def test_requests_are_answered_without_any_before(self):
        client = self.begin()
        result = self.ask(client, 'tools/call', name='run_command', arguments={'command': 'echo a'})
        self.assertEqual(result['structuredContent']['stdout'], 'a\n')
        self.assertEqual(result['resultType'], 'complete')
        for method in ('tools/list', 'resources/list', 'resources/templates/list'):
            result = self.ask(client, method)
            self.assertGreaterEqual(result['ttlMs'], 0)
            self.assertIn(result['cacheScope'], ('public', 'private'))
        self.assertEqual(self.ask(client, 'tools/list'), self.ask(client, 'tools/list'))

    def test_both_eras_at_a_time(self):
        client = self.client()
        self.assertIn('resultType', self.ask(client, 'tools/list'))
        self.assertNotIn('resultType', client.result('tools/list'))

    def test_another_revision_is_refused_with_those_that_there_are(self):
        error = self.begin().error('tools/list', {'_meta': {**mcp.META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01'}})
        self.assertEqual((error['code'], error['data']), (UNSUPPORTED_VERSION, {'supported': [mcp.MODERN], 'requested': '2099-01-01'}))

    def test_what_is_missing_is_named(self):
        for member in ('protocolVersion', 'clientCapabilities'):
            meta = {key: value for key, value in mcp.META.items() if not key.endswith(member)}
            error = self.begin().error('server/discover', {'_meta': meta})
            self.assertEqual(error['code'], INVALID_PARAMS)
            self.assertIn(member, error['message'])

    def test_what_earlier_revisions_had_is_unknown(self):
        client = self.begin()
        for method in ('initialize', 'ping', 'logging/setLevel', 'resources/subscribe'):
            self.assertEqual(client.error(method, {'_meta': mcp.META})['code'], UNKNOWN_METHOD)

    def test_who_listens_is_told_that_it_is_heard_and_of_the_end(self):
        client = self.begin()
        number = client.ask('subscriptions/listen', {'_meta': mcp.META, 'notifications': {'toolsListChanged': True}})
        told = client.receive()
        self.assertEqual(told['method'], 'notifications/subscriptions/acknowledged')
        self.assertEqual(told['params'], {'_meta': {'io.modelcontextprotocol/subscriptionId': number}, 'notifications': {}})
        gone = client.ask('subscriptions/listen', {'_meta': mcp.META, 'notifications': {}})
        client.tell('notifications/cancelled', {'requestId': gone})
        self.ask(client, 'tools/list')
        client.process.send_signal(signal.SIGTERM)
        result = client.answer(number)['result']
        self.assertEqual(result['_meta']['io.modelcontextprotocol/subscriptionId'], number)
        self.assertIsNone(client.receive())
        self.assertEqual(client.process.wait(yett.DEADLINE), 0)


class Tools(Case):
    def test_each_is_described(self):
        tools = self.client().result('tools/list')['tools']
        self.assertLessEqual(len(tools), 9)
        for tool in tools:
            self.assertLess(len(tool['description'].encode()), 2048)
            for schema in (tool['inputSchema'], tool['outputSchema']):
                self.assertEqual(schema['type'], 'object')
                jsonschema.Draft202012Validator.check_schema(schema)
            self.assertNotRegex(json.dumps(tool['inputSchema']), r'"type": \[|null|[0-9]{17}')  # models of all kinds take it
            self.assertEqual(set(tool['annotations']), {'title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'})
            self.assertFalse(tool['annotations']['readOnlyHint'] and tool['annotations']['destructiveHint'], tool['name'])

    def test_hosts_and_models_are_told_what_was_given(self):
        def hints(*bounds):
            tools = {tool['name']: tool['annotations'] for tool in self.client(bounds=bounds).result('tools/list')['tools']}
            return [(tools[name]['destructiveHint'], tools[name]['openWorldHint']) for name in ('run_command', 'run_code', 'wait_command', 'read_file')]
        self.assertEqual(hints(), [(False, False)] * 4)
        self.assertEqual(hints('--ro', '/usr', '--cow', '/tmp'), [(False, False)] * 4)
        self.assertEqual(hints('--rw', '/tmp'), [(True, False)] * 3 + [(False, False)])
        self.assertEqual(hints('--allow', 'one.example:443'), [(False, True)] * 3 + [(False, False)])
        client = self.begin(bounds=('--ro', '/usr', '--rw', '/tmp', '--allow', 'one.example:443', '--profile', 'strict'))
        told = client.initialize()['instructions']
        for part in ('/usr (ro), /tmp (ro, cow or rw)', 'and with "allow": one.example:443', 'Profiles: strict.'):
            self.assertIn(part, told)
        self.assertIn('Network: none', self.begin().initialize()['instructions'])
        self.assertEqual(hints('--sandboxes', 'all'), [(True, True)] * 3 + [(False, False)])

    def test_a_directory_whose_name_is_no_text_is_told_all_the_same(self):
        folder = os.fsencode(self.folder('named', self.alice)) + b'/n\xff'
        os.mkdir(folder)
        os.chown(folder, self.alice.uid, self.alice.gid)
        self.assertIn('/n\ufffd (ro or cow)', self.begin(cwd=folder).initialize()['instructions'])

    def test_what_a_command_wrote_is_what_a_model_reads(self):
        client = self.client()
        for command, text in (('echo a', 'a'), ('echo a; echo b >&2', 'stdout:\na\nstderr:\nb'), ('true', '(no output)'),
                              ('echo b >&2', 'stderr:\nb'), ('printf "a\\n\\n"', 'a\n')):
            result = client.call('run_command', command=command)
            self.assertEqual((result['content'], result['isError']), ([{'type': 'text', 'text': text}], False))

    def test_a_program_that_fails_is_a_result(self):
        client = self.client()
        for command, status, member, value, text in (('echo a; exit 3', 'failed', 'exit_code', 3, '3'), ('kill -9 $$', 'failed', 'signal', 'KILL', 'KILL'),
                                                     ('sleep 86400', 'timed_out', 'success', False, '')):
            result = client.call('run_command', command=command, **({'timeout': 0.3} if status == 'timed_out' else {}))
            self.assertFalse(result['isError'])
            self.assertEqual(result['structuredContent']['status'], status)
            self.assertEqual(result['structuredContent'][member], value)
            self.assertRegex(result['content'][0]['text'], r'^\[%s.*%s' % (status, text))

    def test_a_refusal_is_an_error_with_its_rule_and_the_smallest_change(self):
        self.change_policy(before='grant "few" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"*"}\n  max_memory = 64M\n}\n')
        result = self.client().call('run_command', command='true', memory_bytes=1 << 30)
        text, problem = result['content'][0]['text'], result['structuredContent']['error']
        self.assertTrue(result['isError'])
        self.assertEqual(problem['code'], 'permission-denied')
        self.assertIn('few', problem['rule'])
        self.assertIn(problem['message'], text)
        self.assertIn(problem['mend'], text)
        self.assertEqual(problem['line'], self.service.line('max_memory = 64M'))

    def test_a_profile_that_is_not_there_is_an_error(self):
        result = self.client().call('run_command', command='true', profile='nobody-has-this')
        self.assertTrue(result['isError'])
        self.assertIn('nobody-has-this', result['content'][0]['text'])

    def test_wrong_arguments_are_told_to_the_model(self):
        client = self.client()
        for name, arguments, word in (('run_command', {}, 'command'), ('run_command', {'command': 7}, 'command'), ('run_command', {'command': 'a\x01', 'x': 1}, 'x'),
                                      ('run_command', {'command': ''}, 'command'), ('read_file', {'path': '/x'}, 'sandbox'), ('sandboxes', {'action': 'x'}, 'action'),
                                      ('wait_command', {'id': 'none'}, 'none')):
            result = client.call(name, **arguments)
            self.assertTrue(result['isError'], (name, arguments))
            self.assertIn(word, result['content'][0]['text'])
            self.assertEqual(result['structuredContent']['error']['retryable'], False)
        self.assert_works(client)

    def test_unknown_tools_and_arguments_that_are_none_are_refused(self):
        client = self.client()
        for params in ({'name': 'nope'}, {'name': ''}, {'name': 'é' * 200}, {}, {'name': 7}, {'name': 'run_command', 'arguments': []},
                       {'name': 'run_command', 'arguments': 'x'}, {'name': 'run_command', 'arguments': None}):
            self.assertEqual(client.error('tools/call', params)['code'], INVALID_PARAMS, params)
        self.assert_works(client)

    def test_each_answer_is_as_its_schema_says(self):
        client = self.client()
        schemas = {tool['name']: tool['outputSchema'] for tool in client.result('tools/list')['tools']}
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        calls = [('run_command', {'command': 'echo a; echo b >&2'}), ('run_command', {'command': 'exit 3'}), ('run_command', {'command': 'kill -9 $$'}),
                 ('run_command', {'command': 'sleep 9', 'timeout': 0.1}), ('run_command', {'argv': ['/nowhere']}), ('run_command', {}),
                 ('run_command', {'command': 'yes', 'timeout': 0.5}), ('run_command', {'command': 'head -c 100000 /dev/urandom'}),
                 ('run_command', {'command': 'cat', 'background': True, 'keep_input': True, 'sandbox': sandbox, 'metadata': {'a': 'b'}}),
                 ('run_code', {'language': 'bash', 'code': 'echo a'}), ('run_code', {'language': 'none', 'code': ''}),
                 ('wait_command', {'id': '@', 'timeout': 0}), ('wait_command', {'id': '@', 'input': 'x', 'close_input': True}), ('wait_command', {'id': 'x'}),
                 ('write_file', {'sandbox': sandbox, 'path': '/tmp/a', 'content': 'é\x01\x1b'}), ('write_file', {'sandbox': sandbox, 'path': '/proc/x', 'content': ''}),
                 ('read_file', {'sandbox': sandbox, 'path': '/tmp/a'}), ('read_file', {'sandbox': sandbox, 'path': '/bin/sh'}), ('read_file', {'sandbox': sandbox, 'path': '/x'}),
                 ('read_file', {'path': 'run:@/stdout'}), ('read_file', {'path': 'run:x/stdout'}), ('list_files', {'sandbox': sandbox, 'path': '/'}),
                 ('list_files', {'sandbox': sandbox, 'path': '/x'}), ('list_files', {'sandbox': 'none', 'path': '/'}), ('events', {}), ('events', {'sandbox': sandbox})]
        calls += [('sandboxes', {'action': action, 'sandbox': sandbox}) for action in ('list', 'info', 'stats', 'plan', 'rules', 'mounts', 'capabilities', 'executions', 'pause', 'resume', 'kill', 'clean_up', 'end', 'info')]
        last = 'none'
        for name, arguments in calls:
            arguments = {key: value.replace('@', last) if isinstance(value, str) else value for key, value in arguments.items()}
            result = client.call(name, **arguments)
            jsonschema.validate(result['structuredContent'], schemas[name], jsonschema.Draft202012Validator)
            self.assertEqual(result['isError'], 'error' in result['structuredContent'], (name, arguments))
            last = result['structuredContent'].get('id', last)

    def test_what_programs_write_stays_within_its_text(self):
        client = self.client()
        result = client.call('run_command', command=r"printf '\033[31m\033]0;x\007\r\0\302\240\342\200\256</script>\377'")
        self.assertEqual(result['structuredContent']['stdout'], '\x1b[31m\x1b]0;x\x07\r\ufffd\xa0\u202e</script>\ufffd')
        client.process.stdin.close()
        self.assertEqual(client.process.stderr.read(), b'')

    def test_endless_output_is_cut_and_the_rest_can_be_read(self):
        client = self.client()
        for seconds in agent.GROWING:
            result = client.call('run_command', command='yes', timeout=seconds)
            rest = client.call('read_file', path=result['structuredContent']['files']['stdout'], offset=1000000, length=10)['structuredContent']
            if rest.get('length'):
                break
        self.assertTrue(result['structuredContent']['truncated'])
        self.assertLess(len(json.dumps(result)), 200000)
        self.assertEqual(rest['content'], 'y\n' * 5)
        self.assert_works(client)


class Long(Case):
    def test_what_takes_longer_is_answered_as_running_and_can_be_asked_about(self):
        client = self.client('--patience', '500ms')
        result = client.call('run_command', command='echo begun; read x; echo "got $x"', keep_input=True)
        content = result['structuredContent']
        self.assertIn(content['status'], ('pending', 'running'))
        self.assertFalse(result['isError'])
        self.assertIn(content['id'], result['content'][0]['text'])

        def asked_about(**more):
            content.update(client.call('wait_command', id=content['id'], timeout=0, **more)['structuredContent'])
            return content
        yett.wait_until(lambda: asked_about()['stdout'], 'what it writes first')
        self.assertEqual((content['status'], content['stdout']), ('running', 'begun\n'))
        asked_about(input='it\n')
        yett.wait_until(lambda: asked_about()['status'] != 'running', 'its end')
        self.assertEqual((content['status'], content['stdout']), ('completed', 'begun\ngot it\n'))

    def test_progress_is_told_to_who_asked_for_it_and_grows(self):
        client = self.client()
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        command = 'until [ -e /tmp/told ]; do sleep 0.05; done'
        silent = client.begin('run_command', command=command, sandbox=sandbox)  # begins first, and is to be told of as often, if it were
        numbers = {token: client.begin('run_command', _meta={'progressToken': token}, command=command, sandbox=sandbox) for token in ('a', 7)}

        def told(token):
            return [one['params']['progress'] for one in client.notifications if one['method'] == 'notifications/progress' and
                    one['params']['progressToken'] == token]
        while min(len(told(token)) for token in numbers) < 2:
            client.take()
        client.call('write_file', sandbox=sandbox, path='/tmp/told', content='')
        for number in (silent, *numbers.values()):
            client.answer(number)
        for token in numbers:
            self.assertEqual(told(token), sorted(set(told(token))))
        self.assertEqual(len(client.notifications), sum(len(told(token)) for token in numbers))
        for token in ({}, 1.5, None, True):
            self.assertEqual(client.error('tools/call', {'name': 'events', '_meta': {'progressToken': token}})['code'], INVALID_PARAMS)

    def test_cancelling_kills_what_was_started(self):
        client = self.client()
        number = client.begin('run_command', command='exec sleep 86401')
        yett.wait_until(lambda: self.commands('86401'), 'the command')
        client.tell('notifications/cancelled', {'requestId': number, 'reason': 'no more'})
        yett.wait_until(lambda: not self.commands('86401'), 'the end of the command')
        self.assert_works(client)
        self.assertEqual(client.answers, {})
        executions = client.call('sandboxes', action='executions')['structuredContent']['executions']
        self.assertEqual([one['status'] for one in executions], ['completed', 'killed'])

    def test_cancelling_in_a_sandbox_that_stays_leaves_that(self):
        client = self.client()
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        number = client.begin('run_command', command='sleep 86402 & sleep 86402', sandbox=sandbox)
        yett.wait_until(lambda: len(self.commands('86402')) > 1, 'the commands')
        client.tell('notifications/cancelled', {'requestId': number})
        yett.wait_until(lambda: not self.commands('86402'), 'the end of the commands')
        self.assertEqual(client.call('run_command', command='echo a', sandbox=sandbox)['structuredContent']['stdout'], 'a\n')

    def test_an_id_that_is_in_use_is_refused(self):
        client = self.client()
        client.ask('tools/call', {'name': 'run_command', 'arguments': {'command': 'exec sleep 86403'}}, 'a')
        client.ask('ping', None, 'a')
        self.assertEqual(client.answer('a')['error']['code'], INVALID_REQUEST)
        client.tell('notifications/cancelled', {'requestId': 'a'})
        client.ask('ping', None, 'a')
        self.assertEqual(client.answer('a')['result'], {})

    def test_fifty_at_once(self):
        client = self.client()
        numbers = {client.begin('run_command', command='echo %d' % i): i for i in range(50)}
        for number, i in reversed(numbers.items()):
            self.assertEqual(client.answer(number)['result']['structuredContent']['stdout'], '%d\n' % i)

    def test_a_thousand_leave_nothing(self):
        client = self.client()
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        descriptors = '/proc/%d/fd' % client.process.pid
        client.call('run_command', command='true', sandbox=sandbox)
        before = len(os.listdir(descriptors))
        for i in range(1000):
            client.call('run_command', argv=['echo', str(i)], sandbox=sandbox)
        client.call('run_command', command='true')
        yett.wait_until(lambda: len(os.listdir(descriptors)) == before, 'the end of the last sandbox')
        self.assertLessEqual(len(client.call('sandboxes', action='executions')['structuredContent']['executions']), 1000)
        client.process.stdin.close()
        self.assertEqual(client.process.wait(yett.DEADLINE), 0)
        self.assert_nothing_left()

    def test_too_many_at_once_are_refused_and_the_others_answered(self):
        client = self.begin()
        numbers = [client.ask('subscriptions/listen', {'_meta': mcp.META, 'notifications': {}}) for _ in range(300)]
        refused = [client.answer(number) for number in numbers[256:]]
        self.assertEqual({one['error']['code'] for one in refused}, {-32603})
        client.tell('notifications/cancelled', {'requestId': numbers[0]})
        client.result('server/discover', {'_meta': mcp.META})


class Ends(Case):
    def started(self, *options):
        client = self.client(*options)
        client.begin('run_command', command='sleep 86404 & exec sleep 86404')
        client.call('run_command', command='exec sleep 86404', background=True)
        yett.wait_until(lambda: len(self.commands('86404')) >= 3, 'the commands')
        return client

    def assert_over(self, client, code):
        self.assertEqual(client.process.wait(yett.DEADLINE), code)
        yett.wait_until(lambda: not self.commands('86404'), 'the end of the commands')
        self.assert_nothing_left()

    def test_the_end_of_the_input_ends_all(self):
        client = self.started()
        client.process.stdin.close()
        self.assert_over(client, 0)

    def test_half_a_line_is_none(self):
        client = self.started()
        client.send_raw(b'{"jsonrpc":"2.0","id":99,"method":"ping"}')
        client.process.stdin.close()
        self.assert_over(client, 0)
        self.assertEqual(client.process.stdout.read(), b'')

    def test_signals_end_all(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            client = self.started()
            client.process.send_signal(number)
            self.assert_over(client, 0)

    def test_a_client_that_is_gone_ends_all(self):
        client = self.started()
        client.process.stdout.close()
        self.assert_over(client, 1)

    def test_it_may_be_killed(self):
        client = self.started()
        client.process.kill()
        self.assert_over(client, -signal.SIGKILL)

    def test_what_was_asked_before_the_end_is_answered_where_that_takes_no_time(self):
        process = self.begin().process
        requests = [{'jsonrpc': '2.0', 'id': i, 'method': 'ping'} for i in range(2000)]
        out, err = process.communicate(b''.join(json.dumps(one).encode() + b'\n' for one in requests), timeout=yett.DEADLINE)
        self.assertEqual([json.loads(line)['id'] for line in out.splitlines()], list(range(2000)))
        self.assertEqual((process.returncode, err), (0, b''))

    def test_files_may_stand_for_both(self):
        folder = self.folder('files')
        requests = folder + '/in'
        yett.write(requests, ''.join(json.dumps({'jsonrpc': '2.0', 'id': i, 'method': 'ping'}) + '\n' for i in range(3)))
        with open(requests, 'rb') as source, open(folder + '/out', 'wb') as target:
            process = self.begin(stdin=source, stdout=target).process
            self.assertEqual(process.wait(yett.DEADLINE), 0)
        self.assertEqual(len(yett.read(folder + '/out').splitlines()), 3)

    def test_a_client_that_neither_reads_nor_says_more_ends_all(self):
        client = self.started()
        for _ in range(200):
            client.ask('tools/list')
        client.process.stdin.close()
        self.assert_over(client, 0)
        self.assertLess(len(client.process.stdout.read()), 1 << 20)

    def test_a_client_that_reads_late_gets_all_of_it(self):
        client = self.begin()
        client.initialize()
        for _ in range(200):
            client.ask('tools/list')
        client.process.stdin.close()
        lines = client.process.stdout.read().splitlines()
        self.assertEqual(len({json.loads(line)['id'] for line in lines}), 200)
        self.assertEqual(client.process.wait(yett.DEADLINE), 0)

    @staticmethod
    def takes_more(client, stdin):
        """Whether there is room in its pipe, or will be. It does not read on when it sleeps although there is something to be read."""
        sleeps = 0
        while not select.select([], [stdin], [], 0.01)[1]:
            sleeps = sleeps + 1 if yett.status_of(client.process.pid)['State'].startswith('S') else 0
            if sleeps == 3:
                return False
        return True

    def test_a_client_that_does_not_read_is_not_read_either(self):
        client = self.client()
        stdin = client.process.stdin.fileno()
        os.set_blocking(stdin, False)
        request = json.dumps({'jsonrpc': '2.0', 'id': 'x', 'method': 'tools/list'}).encode() + b'\n'
        sent = 0
        while sent < 100000 and self.takes_more(client, stdin):
            sent += os.write(stdin, request) == len(request)
        self.assertLess(sent, 20000)
        self.assert_takes_no_more(client, 64 << 20)
        os.set_blocking(stdin, True)
        for _ in range(sent):
            client.answer('x')
        self.assertEqual(client.result('ping'), {})


class BadInput(Case):
    def refused(self, client, data, code, number=None):
        """The answer to what is no request."""
        client.send_raw(data + b'\n')
        answer = client.receive()
        self.assertEqual((answer['error']['code'], answer.get('id')), (code, number), (data[:100], answer))
        self.assertEqual(client.answer(client.ask('ping'))['result'], {})
        return answer['error']

    def test_what_is_no_json(self):
        client = self.client()
        for data in (b'x', b'{', b'"a"', b'1', b'null', b'{"a":1,}', b'\xff\xfe', b'\0', b'{"a":"\0"}', b'\xef\xbb\xbf{}', b'{"a":99999999999999999999}',
                     b'{"a":"\\u0000"}', b'{"a":"\\ud800"}', b'{"a":"\\udc00\\ud800"}', b'{"a":"\xc3"}', b'{"a":NaN}', b'{} {}', b"{'a':1}"):
            self.refused(client, data, PARSE)
        self.assert_works(client)

    def test_what_is_no_request(self):
        client = self.client()
        for data, code, number in ((b'{}', INVALID_REQUEST, None), (b'[]', INVALID_REQUEST, None), (b'[1]', INVALID_REQUEST, None),
                                   (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST, 1), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST, 1),
                                   (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
                                   (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST, None),
                                   (b'{"jsonrpc":"2.0","id":"%s","method":"ping"}' % (b'x' * 300), INVALID_REQUEST, None),
                                   (b'{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}', INVALID_PARAMS, 2)):
            self.refused(client, data, code, number)
        self.assert_works(client)

    def test_who_asked_is_told_even_where_the_message_cannot_be_read(self):
        client = self.client()
        for text in (b'"command":"a","command":"b"', b'"command":"\\ud800"', b'"command":"a\\u0000b"', b'"command":"\xff"', b'"command":' + b'[' * 10000 + b']' * 10000):
            self.refused(client, b'{"method":"tools/call","params":{"name":"run_command","arguments":{%s}},"jsonrpc":"2.0","id":"q"}' % text, PARSE, 'q')
        self.assert_works(client)

    def test_a_message_of_more_than_ten_megabytes(self):
        client = self.client()
        for size in (11 << 20, 40 << 20):
            text = b'{"method":"tools/call","params":{"name":"run_command","arguments":{"command":"%s"}},"jsonrpc":"2.0","id":5}' % (b'x' * size)
            self.assertIn('10485760', self.refused(client, text, INVALID_REQUEST, 5)['message'])
            self.refused(client, b'x' * size, INVALID_REQUEST)
        self.assert_takes_no_more(client, 128 << 20)
        self.assert_works(client)

    def test_a_message_of_nearly_ten_megabytes(self):
        client = self.client()
        answer = client.answer(client.begin('run_command', command='x' * (10 << 20 >> 1)))
        self.assertTrue(answer['result']['isError'])
        self.assert_works(client)

    def test_a_message_that_comes_byte_by_byte(self):
        client = self.client()
        for byte in b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\r\n':
            client.send_raw(bytes([byte]))
        self.assertEqual(client.answer('slow')['result'], {})

    def test_depth_that_json_may_have(self):
        client = self.client()
        for depth in (100, 2000):
            deep = b'[' * depth + b']' * depth
            client.send_raw(b'{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"run_command","arguments":{"command":%s}}}\n' % deep)
            self.assertTrue(client.answer('d')['result']['isError'])
            client.send_raw(b'{"jsonrpc":"2.0","id":"d","method":"resources/read","params":{"uri":%s}}\n' % deep)
            self.assertEqual(client.answer('d')['error']['code'], INVALID_PARAMS)
        self.assert_works(client)


class Batches(Case):
    def test_in_the_revision_that_has_them(self):
        client = self.client(version='2025-03-26')
        client.send([{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}, {'jsonrpc': '2.0', 'method': 'x'}, {'jsonrpc': '2.0', 'id': 2, 'method': 'nope'}, 7,
                     {'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call', 'params': {'name': 'run_command', 'arguments': {'command': 'echo a'}}}])
        answers = client.receive()
        self.assertEqual({one.get('id'): 'result' in one for one in answers}, {1: True, 2: False, None: False, 3: True})
        client.send([{'jsonrpc': '2.0', 'method': 'x'}, {'jsonrpc': '2.0', 'id': 1, 'result': {}}])
        self.assertEqual(client.result('ping'), {})

    def test_what_is_cancelled_is_not_in_the_answer(self):
        client = self.client(version='2025-03-26')
        client.send([{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'run_command', 'arguments': {'command': 'sleep 86405'}}},
                     {'jsonrpc': '2.0', 'id': 2, 'method': 'ping'}])
        client.tell('notifications/cancelled', {'requestId': 1})
        self.assertEqual([one['id'] for one in client.receive()], [2])

    def test_in_no_other(self):
        for version in ('2024-11-05', '2025-06-18', '2025-11-25'):
            client = self.client(version=version)
            client.send([{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}])
            self.assertEqual(client.receive()['error']['code'], INVALID_REQUEST)


class Resources(Case):
    def read(self, client, uri):
        return client.result('resources/read', {'uri': uri})['contents'][0]

    def test_files_of_a_sandbox(self):
        client = self.client()
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        client.call('run_command', command="echo a > '/tmp/a b%é'; printf '\\377\\0' > /tmp/binary; mkdir /tmp/d; : > /tmp/empty", sandbox=sandbox)
        root = 'yett://%s/' % sandbox
        self.assertIn(root, [one['uri'] for one in client.result('resources/list')['resources']])
        self.assertEqual(self.read(client, root + 'tmp/a%20b%25%C3%A9'), {'uri': root + 'tmp/a%20b%25%C3%A9', 'mimeType': 'text/plain', 'text': 'a\n'})
        self.assertEqual(self.read(client, root + 'tmp/binary')['blob'], '/wA=')
        self.assertEqual(self.read(client, root + 'tmp/empty')['text'], '')
        listed = self.read(client, root + 'tmp/')
        self.assertEqual(listed['mimeType'], 'inode/directory')
        for name in ('a b%é', 'binary', 'd/', 'empty'):
            self.assertIn(' %s\n' % name, listed['text'] + '\n')

    def test_outputs(self):
        client = self.client()
        number = client.call('run_command', command='seq 20000; echo b >&2')['structuredContent']['id']
        uris = ['yett://run/%s/%s' % (number, output) for output in ('stdout', 'stderr')]
        self.assertLessEqual(set(uris), {one['uri'] for one in client.result('resources/list')['resources']})
        self.assertEqual(self.read(client, uris[0])['text'], ''.join('%d\n' % i for i in range(1, 20001)))
        self.assertEqual(self.read(client, uris[1])['text'], 'b\n')

    def test_templates_say_how_they_are_addressed(self):
        templates = self.client().result('resources/templates/list')['resourceTemplates']
        self.assertEqual([one['uriTemplate'] for one in templates], ['yett://{sandbox}{+path}', 'yett://run/{id}/{output}'])

    def test_what_is_not_there(self):
        client = self.client()
        sandbox = client.call('sandboxes', action='make')['structuredContent']['sandbox']['id']
        uris = ['test://x', '', 'yett://', 'yett:///etc/passwd', 'yett://none/x', 'yett://run/none/stdout', 'yett://run/', 'yett://%s/nowhere' % sandbox,
                'yett://%s/nowhere/' % sandbox, 'yett://%s/%%00' % sandbox, 'yett://%s/%%zz' % sandbox, 'yett://%s/%%ff' % sandbox, 'yett://%s' % sandbox]
        for uri in uris:
            error = client.error('resources/read', {'uri': uri})
            self.assertEqual((error['code'], error['data']['uri']), (-32002, uri))
            error = client.error('resources/read', {'uri': uri, '_meta': mcp.META})
            self.assertEqual((error['code'], error['data']['uri']), (INVALID_PARAMS, uri))
        for method in ('resources/list', 'resources/templates/list', 'tools/list'):
            self.assertEqual(client.error(method, {'cursor': ''})['code'], INVALID_PARAMS)

    def test_what_is_too_much_is_not_cut(self):
        client = self.client()
        number = client.call('run_command', command='head -c 5000000 /dev/zero | tr "\\0" x')['structuredContent']['id']
        error = client.error('resources/read', {'uri': 'yett://run/%s/stdout' % number})
        self.assertIn('read_file', error['message'])


if __name__ == '__main__':
    yett.main()
