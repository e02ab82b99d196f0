# SPDX-License-Identifier: Apache-2.0
"""yett serve, asked by clients that nobody here wrote, and by such as do not keep to the rules."""
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import subprocess

import agent
import serving

import yett

OF_THE_RUN = ('id', 'started_ms', 'ended_ms', 'duration', 'memory_used_bytes', 'read_bytes', 'written_bytes', 'run')  # what is read of disks, the first one reads


def without(answer, *names):
    return {name: value for name, value in answer.items() if name not in names}


class Routes(serving.Case):
    def test_an_operation_is_done_by_its_name(self):
        answer = self.server.call('run_command', command='echo out; echo err >&2; exit 3')
        self.assertEqual((answer.status, answer.json['stdout'], answer.json['stderr'], answer.json['exit_code']), (200, 'out\n', 'err\n', 3))

    def test_the_outcome_is_the_status(self):
        for status, operation, arguments in (
                (200, 'run_command', {'command': 'true'}), (200, 'run_command', {'command': 'false'}),
                (200, 'run_command', {'command': 'sleep 100', 'timeout': '100ms'}), (400, 'run_command', {}),
                (400, 'run_command', {'command': 'x', 'no_such_field': 1}), (403, 'run_command', {'command': ':', 'memory_bytes': 1 << 50}),
                (404, 'wait_command', {'id': 'none'}), (404, 'no_such_operation', {}), (404, 'run_command', {'command': ':', 'sandbox': 'none'})):
            with self.subTest(operation=operation, arguments=arguments):
                answer = self.server.call(operation, **arguments)
                self.assertEqual(answer.status, status, answer)
                self.assertEqual('error' in answer.json, status != 200)

    def test_without_a_helper_it_is_unavailable(self):
        answer = self.other(env={'YETT_SOCKET': '/nowhere'}).call('run_command', command=':')
        self.assertEqual((answer.status, answer.json['error']['code']), (503, 'helper-unavailable'))

    def by_mcp(self, operation, arguments):
        answer = self.server.ask('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {
            'name': operation, 'arguments': arguments}}, headers={'MCP-Protocol-Version': '2025-06-18', 'Accept': 'application/json'})
        return answer.json['result']['structuredContent']

    def test_the_same_request_has_the_same_answer_by_http_mcp_and_the_tool(self):
        tool = agent.Tool(self.service, self.alice)
        self.addCleanup(tool.close)
        for operation, arguments in (('run_command', {'command': 'echo a; exit 2', 'metadata': {'k': 'v'}}), ('run_command', {}),
                                     ('run_command', {'command': ':', 'memory_bytes': 1 << 50}), ('wait_command', {'id': 'none'}),
                                     ('run_code', {'language': 'bash', 'code': 'nothing'}), ('run_code', {'language': 'none', 'code': 'x'}),
                                     ('sandboxes', {'action': 'list'}), ('sandboxes', {'action': 'info', 'sandbox': 'none'}), ('nothing', {})):
            if arguments == {'action': 'list'}:  # those of the calls before may be about to end
                yett.wait_until(lambda: not self.server.call('sandboxes', action='list').json['sandboxes'], 'the end of what the calls before made')
            with self.subTest(operation=operation, arguments=arguments):
                same = without(tool.ask(operation, **arguments), *OF_THE_RUN)
                self.assertEqual(without(self.server.call(operation, **arguments).json, *OF_THE_RUN), same)
                if operation != 'nothing':  # which is no tool of MCP
                    self.assertEqual(without(self.by_mcp(operation, arguments), *OF_THE_RUN), same)

    def test_curl_of_the_user_asks(self):
        done = self.service.run(self.alice, 'curl', '-sS', '--fail-with-body', '--max-time', str(yett.DEADLINE), '--unix-socket', self.server.socket, '--json',
                                '{"command": "id -u"}', 'http://localhost/v1/run_command')
        self.assertEqual((done.code, json.loads(done.out)['stdout']), (0, '%d\n' % self.alice.uid), done)

    def test_operations_and_openapi_are_made_of_the_table(self):
        operations = self.server.get('/v1/operations').json['operations']
        document = self.server.get('/openapi.json').json
        self.assertEqual(document['openapi'], '3.1.0')
        self.assertIn('run_command', [operation['name'] for operation in operations])
        for operation in operations:
            described = document['paths']['/v1/' + operation['name']]['post']
            self.assertEqual(described['requestBody']['content']['application/json']['schema'], operation['request'])
            self.assertEqual(described['responses']['200']['content']['application/json']['schema'], operation['answer'])
        for path, method in (('/v1/executions/{id}/output', 'get'), ('/config', 'put'), ('/mcp', 'post'), ('/kill/{id}', 'post')):
            self.assertIn(method, document['paths'][path])

    def test_what_is_not_there_is_said(self):
        for method, path, status in (('GET', '/no/such', 404), ('GET', '/v1/run_command', 405), ('POST', '/openapi.json', 405),
                                     ('DELETE', '/mcp', 405), ('GET', '/mcp', 405), ('OPTIONS', '/v1/run_command', 405), ('GET', '/status/', 404),
                                     ('GET', '/status/a/b', 404), ('GET', '/../etc/passwd', 404), ('GET', '/%2e%2e/%00', 404)):
            with self.subTest(method=method, path=path):
                answer = self.server.ask(method, path)
                self.assertEqual((answer.status, 'error' in answer.json), (status, True))
        self.assertEqual(self.server.ask('OPTIONS', '/config').headers['Allow'], 'GET, PUT')

    def test_head_is_get_without_a_body(self):
        answer = self.server.ask('HEAD', '/openapi.json')
        self.assertEqual((answer.status, answer.bytes), (200, b''))
        self.assertGreater(int(answer.headers['Content-Length']), 1000)

    def test_messages_of_mcp_are_answered(self):
        answer = self.server.ask('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {
            'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'test', 'version': '1'}}},
            headers={'Accept': 'application/json, text/event-stream'})
        self.assertEqual((answer.status, answer.json['result']['protocolVersion']), (200, '2025-06-18'))
        session = {'Mcp-Session-Id': answer.headers['Mcp-Session-Id'], 'MCP-Protocol-Version': '2025-06-18',
                   'Accept': 'application/json, text/event-stream'}
        answer = self.server.ask('POST', '/mcp', {'jsonrpc': '2.0', 'method': 'notifications/initialized'}, headers=session)
        self.assertEqual((answer.status, answer.bytes), (202, b''))
        answer = self.server.ask('POST', '/mcp', {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/call', 'params': {
            'name': 'run_command', 'arguments': {'command': 'echo by mcp; exit 4'}}}, headers=session)
        structured = answer.json['result']['structuredContent']
        self.assertEqual((structured['stdout'], structured['exit_code']), ('by mcp\n', 4))
        same = self.server.call('run_command', command='echo by mcp; exit 4').json
        self.assertEqual(without(structured, *OF_THE_RUN), without(same, *OF_THE_RUN))


    def mcp_stream(self, connection, command, **arguments):
        message = {'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call', 'params': {
            'name': 'run_command', 'arguments': {'command': command, **arguments}, '_meta': {'progressToken': 'p'}}}
        connection.request('POST', '/mcp', json.dumps(message), {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
                                                                 'MCP-Protocol-Version': '2025-06-18'})
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers.get_content_type()), (200, 'text/event-stream'))
        return response

    def test_a_call_of_mcp_that_takes_long_tells_of_its_progress(self):
        connection = self.server.connect()
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        response = self.mcp_stream(connection, 'until [ -e /tmp/told ]; do sleep 0.05; done; echo late', sandbox=box)
        messages = (json.loads(line.decode().removeprefix('data: ')) for line in response if line.startswith(b'data: '))
        self.assertEqual(next(messages).get('method'), 'notifications/progress')
        self.server.call('write_file', sandbox=box, path='/tmp/told', content='')
        *_, last = messages
        self.assertEqual((last['id'], last['result']['structuredContent']['stdout']), (3, 'late\n'))
        self.assertEqual(self.server.get('/config', connection=connection).status, 200)
        self.server.call('sandboxes', action='end', sandbox=box)

    def test_closing_the_stream_of_mcp_ends_what_it_started(self):
        connection = self.server.connect()
        response = self.mcp_stream(connection, 'sleep 1000')
        self.assertEqual(self.server.get('/info').json['running'], 1)
        response.close()
        connection.close()
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 0, 'its end')


class Page(serving.Case):
    def test_it_comes_with_a_strict_policy_and_all_its_files(self):
        page = self.server.get('/')
        self.assertEqual((page.status, page.headers.get_content_type()), (200, 'text/html'))
        policy = dict(part.split(' ', 1) for part in page.headers['Content-Security-Policy'].split('; '))
        self.assertEqual(policy['default-src'], "'none'")
        self.assertEqual({policy[name] for name in ('form-action', 'frame-ancestors', 'base-uri')}, {"'none'"})
        self.assertEqual({policy[name] for name in ('script-src', 'style-src', 'connect-src', 'img-src')}, {"'self'"})
        wanted = re.findall(r'(?:src|href)="([\w./]+)"', page.text)
        self.assertIn('style.css', wanted)
        for name in wanted:
            with self.subTest(name=name):
                answer = self.server.get('/' + name.lstrip('./'))
                self.assertEqual((answer.status, answer.headers['X-Content-Type-Options']), (200, 'nosniff'))
                self.assertEqual(answer.bytes, open(os.path.join(yett.SOURCE, 'agent', 'web', os.path.basename(name)), 'rb').read())

    def test_nothing_is_kept_or_given_to_other_places(self):
        for answer in (self.server.get('/'), self.server.get('/info'), self.server.get('/none'), self.server.call('run_command')):
            self.assertEqual((answer.headers['Cache-Control'], answer.headers['Referrer-Policy']), ('no-store', 'no-referrer'))
            self.assertEqual([name for name in answer.headers if name.lower().startswith('access-control')], [])


class Streams(serving.Case):
    def test_events_come_as_they_happen(self):
        box = self.server.call('sandboxes', action='make', name='followed').json['sandbox']['id']
        stream = self.server.stream('/v1/events?sandbox=' + box)
        self.assertEqual((stream.response.status, stream.response.headers.get_content_type()), (200, 'text/event-stream'))
        self.server.call('run_command', sandbox=box, command='exit 5')
        event = stream.until(lambda event: event['event'] == 'exited')
        self.assertEqual((event['data']['sandbox'], event['data']['kind'], event['id']), (box, 'exited', str(event['data']['number'])))
        again = self.server.stream('/v1/events?sandbox=' + box, **{'Last-Event-ID': str(event['data']['number'] - 1)})
        self.assertEqual(again.next(), event)
        told = self.server.call('events', sandbox=box, after=event['data']['number'] - 1).json['events'][0]
        self.assertEqual(told, event['data'])
        named = self.server.stream('/v1/events?sandbox=followed')
        self.server.call('sandboxes', action='end', sandbox=box)
        for one in (stream, again, named):
            self.assertEqual(one.until(lambda event: event['event'] == 'ended')['data']['text'], 'destroyed')
            self.assertIsNone(one.next())

    def test_what_happened_before_anybody_listened_is_told_to_who_asks_from_then_on(self):
        last = self.server.call('events').json['last']
        self.server.call('run_command', argv=['unshare', '-r', 'true'])
        stream = self.server.stream('/v1/events?after=%d' % last)
        self.assertEqual(stream.until(lambda event: event['event'] == 'denied')['data']['subject'], 'unshare')
        stream.connection.close()

    def test_events_of_what_is_not_there_are_refused(self):
        for path, status in (('/v1/events?sandbox=none', 404), ('/v1/events?after=x', 400), ('/v1/executions/none/output', 404),
                             ('/v1/events?sandbox=' + 'x' * 100, 400)):
            answer = self.server.get(path)
            self.assertEqual((answer.status, 'error' in answer.json), (status, True), path)

    def test_what_goes_on_keeps_only_so_much_of_requests(self):
        server = self.other()
        box = server.call('sandboxes', action='make', memory_bytes=1 << 30).json['sandbox']['id']
        runs = []
        while len(runs) < 100:
            answer = server.call('run_command', sandbox=box, argv=['sleep', '1000'], stdin='x' * (1 << 20), background=True, timeout=600).json
            if 'error' in answer:
                break
            runs.append(answer['id'])
        self.assertEqual((len(runs), answer['error']['code']), (63, 'resource-limit'))  # of 1 MiB and a little more each
        self.assertIn('would be more than 64 MiB', answer['error']['message'])
        fed = server.call('run_command', sandbox=box, argv=['sleep', '1000'], keep_input=True, background=True, timeout=600).json['id']
        given = [server.call('wait_command', id=fed, timeout=0, input='x' * (1 << 20)).json for _ in range(4)]
        self.assertIn('would be more than 64 MiB', given[-1]['error']['message'])
        server.call('wait_command', id=runs[0], signal='KILL')
        yett.wait_until(lambda: 'error' not in server.call('run_command', sandbox=box, argv=['true'], stdin='x' * (1 << 20)).json, 'room for one more')
        server.call('sandboxes', action='end', sandbox=box)

    def test_a_refusal_is_an_event_of_all(self):
        stream = self.server.stream('/v1/events')
        self.server.call('run_command', command=':', memory_bytes=1 << 50)
        self.assertIn('max_memory', stream.until(lambda event: event['event'] == 'refused')['data']['error']['rule'])
        self.server.call('run_command', command='é' * 200, memory_bytes=1 << 50)  # what is kept of it ends within a character or not
        self.server.call('run_command', command='x' + 'é' * 200, memory_bytes=1 << 50)
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.server.call('sandboxes', action='make', memory_bytes=1 << 50)
        self.server.call('sandboxes', action='allow', sandbox=box, allow=['one.example:443'])
        self.assertEqual(self.yett('create', '--name', 'users-own').code, 0)
        self.addCleanup(self.yett, 'destroy', 'users-own')
        self.server.call('sandboxes', action='end', sandbox='users-own')
        self.server.call('run_command', command='echo in-it', sandbox='users-own')
        for beginning in ('é' * 10, 'xé', 'sandboxes make', 'sandboxes allow ' + box, 'sandboxes end users-own', 'echo in-it'):
            told = stream.until(lambda event: event['event'] == 'refused')['data']
            self.assertEqual((told['text'].startswith(beginning), told['error']['code']), (True, 'permission-denied'), told)
        stream.connection.close()

    def test_output_comes_as_it_is_written(self):
        run = self.server.call('run_command', argv=['sh', '-c', 'read a; echo "got $a"; read b; echo "and $b" >&2; exit 7'], background=True,
                               keep_input=True).json['id']
        stream = self.server.stream('/v1/executions/%s/output' % run)
        yett.wait_until(lambda: self.server.call('wait_command', id=run, timeout=0).json['status'] == 'running', 'its start')
        self.server.call('wait_command', id=run, input='one\n', timeout=0)
        event = stream.next()
        self.assertEqual((event['event'], event['data']), ('stdout', {'phase': 'run', 'text': 'got one\n'}))
        self.server.call('wait_command', id=run, input='two\n', timeout=0)
        event = stream.next()
        self.assertEqual((event['event'], event['data']), ('stderr', {'phase': 'run', 'text': 'and two\n'}))
        event = stream.next()
        self.assertEqual((event['event'], event['data'], stream.next()), ('end', {'status': 'failed'}, None))

    def test_characters_are_not_torn_and_bytes_are_harmless(self):
        run = self.server.call('run_command', argv=['python3', '-c', '''
import sys
for byte in 'a\\u20ac<b>'.encode() + b'\\xff\\x1b[31m':
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush()
''']).json['id']
        stream, text = self.server.stream('/v1/executions/%s/output' % run), ''
        while (event := stream.next())['event'] == 'stdout':
            text += event['data']['text']
        self.assertEqual(text, 'a€<b>\ufffd\x1b[31m')

    def test_much_output_comes_whole_to_a_slow_reader(self):
        run = self.server.call('run_command', command='seq 200000', background=True).json['id']
        stream, text = self.server.stream('/v1/executions/%s/output' % run), ''
        while (event := stream.next())['event'] == 'stdout':
            text += event['data']['text']
        self.assertEqual(text, ''.join('%d\n' % n for n in range(1, 200001)))

    def test_what_is_not_kept_is_said_to_be_skipped(self):
        run = self.server.call('run_command', command='head -c 9000000 /dev/zero | tr "\\0" x; echo; echo last').json['id']
        stream, length, skipped, last = self.server.stream('/v1/executions/%s/output' % run), 0, 0, ''
        while (event := stream.next())['event'] == 'stdout':
            length, skipped, last = length + len(event['data']['text']), skipped + event['data'].get('skipped', 0), event['data']['text']
        self.assertEqual(length + skipped, 9000006)
        self.assertGreater(skipped, 0)
        self.assertTrue(last.endswith('x\nlast\n'))


class Older(serving.Case):
    """The interface of the manager that Yett replaces."""

    def execute(self, **asked):
        return self.server.ask('POST', '/execute', asked)

    def test_a_command_is_run_and_told_of_later(self):
        answer = self.execute(command='printf', args=['%s', '$HOME'], timeout='%ds' % yett.DEADLINE, tier='strong')
        told = answer.json
        self.assertEqual((answer.status, told['status'], told['stdout'], told['exit_code'], told['error']), (200, 'completed', '$HOME', 0, ''))
        self.assertEqual((told['executor'], told['tier']), ('strong-sandbox', 'strong'))
        self.assertIsInstance(told['duration'], int)
        self.assertGreater(told['duration'], 10000)
        self.assertRegex(told['started_at'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')
        self.assertEqual(self.server.get('/status/' + told['id']).json, told)

    def test_code_is_run_by_its_language(self):
        told = self.execute(language='python', code='import sys; print(sys.argv[1:], input())', args=['a', 'b'], stdin='typed').json
        self.assertEqual((told['status'], told['stdout'], told['language']), ('completed', "['a', 'b'] typed\n", 'python'))
        told = self.execute(language='python', code='import sys; sys.exit(3)').json
        self.assertEqual((told['status'], told['exit_code']), ('failed', 3))
        answer = self.execute(language='cobol', code='x')
        self.assertEqual((answer.status, 'cobol' in answer.text, answer.headers.get_content_type()), (400, True, 'text/plain'))
        answer = self.execute(language='python', code='x', command='y')
        self.assertEqual((answer.status, answer.text), (400, 'invalid request: expected either code and its language, or a command'))

    def test_durations_are_texts_or_nanoseconds(self):
        for timeout in ('200ms', 200000000, '0.1s100ms'):
            answer = self.execute(command='sleep 100', timeout=timeout).json
            self.assertEqual((answer['status'], 'time limit' in answer['error']), ('timed_out', True))
            self.assertGreaterEqual(answer['duration'], 200000000)
        for timeout in ('x', '', '10', '-1s', 0, [], '1e3s', 'infs'):
            answer = self.execute(command=':', timeout=timeout)
            self.assertEqual((answer.status, answer.text), (400, 'invalid timeout: expected a duration like "30s"'))

    def test_one_that_runs_is_killed(self):
        told = self.execute(command='sleep 1000', **{'async': True}).json
        self.assertIn(told['status'], ('pending', 'running'))
        self.assertEqual(told['executor'], 'light-sandbox')
        self.assertEqual(self.server.ask('POST', '/kill/' + told['id']).json, {'id': told['id'], 'status': 'killed'})
        yett.wait_until(lambda: self.server.get('/status/' + told['id']).json['status'] == 'killed', 'its end')
        answer = self.server.ask('POST', '/kill/' + told['id'])
        self.assertEqual((answer.status, answer.text), (400, 'execution is not running'))

    def test_refusals_are_lines_of_text(self):
        for method, path, body, status, text in (
                ('GET', '/status/none', None, 404, 'execution not found'), ('POST', '/kill/none', None, 404, 'execution not found'),
                ('POST', '/execute', {'command': ':', 'executor': 'none'}, 400, 'executor not found: none'),
                ('POST', '/execute', {}, 400, 'invalid request: expected either code and its language, or a command'),
                ('POST', '/execute', [], 400, 'invalid request: expected an object'), ('PUT', '/config', {'nothing': 1}, 400, 'invalid configuration: '),
                ('PUT', '/config', {'default_timeout': '1x'}, 400, 'invalid default_timeout: '),
                ('POST', '/execute', '{', 400, 'the body is no JSON'), ('POST', '/execute', {'command': ':', 'image': 'debian'}, 501, 'Yett has no images yet')):
            with self.subTest(method=method, path=path, body=body):
                answer = self.server.ask(method, path, body)
                self.assertEqual((answer.status, answer.headers.get_content_type()), (status, 'text/plain'))
                self.assertTrue(answer.text.startswith(text), answer)

    def test_what_is_persistent_finds_what_was_left(self):
        first = self.execute(command='echo kept >/tmp/kept', persistent=True).json
        self.assertEqual(first['executor'], 'light-process')
        self.assertEqual(self.execute(command='cat /tmp/kept', executor='light-process').json['stdout'], 'kept\n')
        self.assertEqual(self.execute(command='cat /tmp/kept', executor='light-sandbox').json['status'], 'failed')
        for box in self.server.call('sandboxes', action='list').json['sandboxes']:
            self.server.call('sandboxes', action='end', sandbox=box['id'])
        self.assertEqual(self.execute(command='cat /tmp/kept || echo anew', persistent=True).json['stdout'], 'anew\n')

    def with_settings(self, **settings):
        folder = self.folder('with-%s' % '-'.join(settings))
        os.mkdir(folder + '/yett')
        yett.write(folder + '/yett/agent.json', json.dumps(settings))
        return self.other(env={'XDG_CONFIG_HOME': folder})

    def test_what_is_persistent_is_of_the_profile_that_the_settings_name(self):
        server = self.with_settings(light='strict')
        others = self.boxes(server)
        answer = server.ask('POST', '/execute', {'command': 'echo kept >/tmp/kept', 'persistent': True}).json
        self.assertEqual((answer['status'], answer['executor']), ('completed', 'light-process'))
        self.assertEqual([profile for box, profile in self.boxes(server).items() if box not in others], ['strict'])

    def boxes(self, server):
        return {box['id']: box['profile'] for box in server.call('sandboxes', action='list').json['sandboxes']}

    def test_info_tells_of_executors_and_counts(self):
        self.execute(command='false')
        info = self.server.get('/info').json
        executors = {executor['name']: executor for executor in info['executors']}
        self.assertEqual((executors['light-sandbox']['supported'], executors['light-sandbox']['type']), (True, 'sandbox'))
        self.assertEqual(executors['image']['supported'], False)
        self.assertIn('no images', executors['image']['reason'])
        self.assertGreater(info['executions'], 0)
        self.server.call('sandboxes', action='clean_up')
        self.assertEqual(self.server.get('/info').json['executions'], info['executions'])
        self.assertGreater(info['statistics']['command']['failures'], 0)
        self.assertGreater(info['uptime'], 1000000)

    def test_a_profile_that_the_policy_does_not_give_is_no_executor(self):
        server = self.with_settings(strong='no-such-profile')
        executors = {executor['name']: executor for executor in server.get('/info').json['executors']}
        self.assertFalse(executors['strong-sandbox']['supported'])
        self.assertIn('no-such-profile', executors['strong-sandbox']['reason'])
        answer = server.ask('POST', '/execute', {'command': ':', 'tier': 'strong'})
        self.assertEqual((answer.status, 'no-such-profile' in answer.text), (403, True))

    def test_configuration_is_read_and_changed(self):
        server = self.other(env={'XDG_CONFIG_HOME': self.folder('without-settings')})
        before = server.get('/config').json
        self.assertEqual((before['default_timeout'], before['max_timeout']), ('30s', '10m0s'))
        after = server.ask('PUT', '/config', {'default_timeout': '1m30s', 'max_timeout': '5m0s', 'max_output': 5000}).json
        self.assertEqual(after, {**before, 'default_timeout': '1m30s', 'max_timeout': '5m0s', 'max_output': 5000})
        self.assertEqual(server.ask('PUT', '/config', after).json, after)
        server.ask('PUT', '/config', {'default_timeout': '100ms'})
        self.assertEqual(server.ask('POST', '/execute', {'command': 'sleep 100'}).json['status'], 'timed_out')

    def test_no_request_widens_what_the_settings_bound(self):
        server = self.with_settings(max_timeout='1m', languages=['python', 'bash'], refuse_findings=True)
        before = server.get('/config').json
        for name, wider in (('max_timeout', '61s'), ('languages', ['python', 'ruby']), ('languages', None), ('refuse_findings', False),
                            ('interpreters', {'bash': 'python3'}), ('strong', 'default'), ('light', 'strict')):
            answer = server.ask('PUT', '/config', {name: wider})
            self.assertEqual((answer.status, answer.text.strip()), (403, 'invalid configuration: %s: a request may narrow the settings, but not change or widen them' % name))
        self.assertEqual(server.get('/config').json, before)
        for name, narrower in (('max_timeout', '0m40s'), ('languages', ['bash'])):
            self.assertEqual(server.ask('PUT', '/config', {name: narrower}).json[name], {'max_timeout': '40s'}.get(name, narrower))
        self.assertEqual(server.ask('PUT', '/config', before).json, before)  # and back


class Network(serving.Case):
    bounds = ('--net', 'open')
    service_options = {'before': 'profile "named" {\n  extends = "default"\n  network = limited\n  allow = {"api.example:443"}\n}\n'
                                 'grant "named" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"named"}\n  network = limited\n  allow = {"*"}\n}\n'}

    def test_it_is_switched_off_and_on_again_also_by_another_server(self):
        server = self.other()
        box = server.call('sandboxes', action='make', name='switched', allow=['one.example:443', 'two.example:443']).json['sandbox']['id']
        self.addCleanup(self.yett, 'destroy', box)

        def rules(answer):
            return sorted((rule['list'], rule['rule']) for rule in answer.json['rules'] if rule['list'] != 'ask')
        before = server.get('/network/switched')
        self.assertEqual((before.status, before.json['enabled'], rules(before)), (200, True, [('allow', 'one.example:443'), ('allow', 'two.example:443')]))
        off = server.ask('PUT', '/network/switched', {'enabled': False})
        self.assertEqual((off.json['enabled'], rules(off)), (False, [('deny', 'one.example:443'), ('deny', 'two.example:443')]))
        self.assertEqual(server.end(signal.SIGKILL), -signal.SIGKILL)
        server = self.other()
        self.assertEqual(server.get('/network/' + box).json, off.json)
        on = server.ask('PUT', '/network/' + box, {'enabled': True})
        self.assertEqual(on.json, before.json)
        self.assertEqual(server.ask('PUT', '/network/' + box, {'enabled': True}).json, before.json)

    def test_what_the_profile_allows_is_switched_on_again_whatever_may_be_asked_for(self):
        server = self.other(bounds=('--profile', 'named', '--allow', 'one.example:443'))
        box = server.call('sandboxes', action='make', profile='named', allow=['one.example:443']).json['sandbox']['id']
        before = server.get('/network/' + box).json
        self.assertIn('api.example:443', [rule['rule'] for rule in before['rules'] if rule['list'] == 'allow'])
        self.assertEqual(server.ask('PUT', '/network/' + box, {'enabled': False}).json['enabled'], False)
        after = server.ask('PUT', '/network/' + box, {'enabled': True}).json
        self.assertEqual((after['enabled'], {(rule['list'], rule['rule']) for rule in after['rules']}), (True, {(rule['list'], rule['rule']) for rule in before['rules']}))
        server.call('sandboxes', action='end', sandbox=box)

    def test_what_is_switched_on_again_is_no_more_than_may_be_asked_for(self):
        server = self.other()
        box = server.call('sandboxes', action='make', name='bounded', allow=['one.example:443', 'two.example:443']).json['sandbox']['id']
        self.addCleanup(self.yett, 'destroy', box)
        self.assertEqual(server.ask('PUT', '/network/bounded', {'enabled': False}).status, 200)
        server.end()
        server = self.other(bounds=('--allow', 'one.example:443', '--sandboxes', 'all'))
        answer = server.ask('PUT', '/network/bounded', {'enabled': True})
        self.assertEqual((answer.status, 'connecting to two.example:443 is not allowed' in answer.text, '--allow two.example:443' in answer.text), (403, True, True))
        self.assertEqual(server.get('/network/bounded').json['enabled'], False)

    def test_an_open_one_is_closed_by_a_rule_for_all(self):
        box = self.server.call('sandboxes', action='make', network='open').json['sandbox']['id']
        connect = ['python3', '-c', 'import socket; socket.create_connection(("8.8.8.8", 443), 5)']  # there may be no way there: only what is blocked counts

        def kinds():
            last = self.server.call('events', sandbox=box).json['last']
            self.server.call('run_command', sandbox=box, argv=connect)
            told = []
            while 'exited' not in told:
                answer = self.server.call('events', sandbox=box, after=last, wait=5).json
                told, last = told + [event['kind'] for event in answer['events']], answer['last']
            return told
        self.assertNotIn('blocked', kinds())
        off = self.server.ask('PUT', '/network/' + box, {'enabled': False}).json
        self.assertEqual((off['enabled'], [(rule['list'], rule['rule']) for rule in off['rules']]), (False, [('deny', '*')]))
        self.assertIn('blocked', kinds())
        on = self.server.ask('PUT', '/network/' + box, {'enabled': True}).json
        self.assertEqual((on['enabled'], [(rule['list'], rule['rule']) for rule in on['rules']]), (True, [('allow', '*')]))
        self.assertNotIn('blocked', kinds())
        self.server.call('sandboxes', action='end', sandbox=box)

    def test_what_has_none_or_is_not_there_is_refused(self):
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.assertEqual(self.server.ask('PUT', '/network/' + box, {'enabled': False}).status, 400)
        self.assertEqual(self.server.get('/network/none').status, 404)
        self.assertEqual(self.server.ask('PUT', '/network/' + box, {'enabled': 1}).status, 400)
        self.server.call('sandboxes', action='end', sandbox=box)


class Access(serving.Case):
    tcp = True

    def test_by_tcp_it_takes_the_token(self):
        self.assertEqual(os.stat(self.server.token_file).st_mode & 0o777, 0o600)
        self.assertEqual(self.server.by_tcp('GET', '/config').status, 200)
        self.assertEqual(self.server.by_tcp('GET', '/config', Host='localhost:%d' % self.server.port).status, 200)
        for token in (None, 'Bearer', 'Bearer ', 'Bearer ' + '0' * 64, 'Bearer ' + self.server.token[:-1], 'Basic ' + self.server.token,
                      'Bearer ' + self.server.token + '0'):
            answer = self.server.by_tcp('GET', '/', Authorization=token)
            self.assertEqual((answer.status, 'error' in answer.json), (401, True), token)

    def test_a_page_of_another_place_gets_nothing(self):
        port = self.server.port
        for headers in ({'Host': 'evil.example:%d' % port}, {'Host': '127.0.0.1'}, {'Host': '127.0.0.1:%d' % (port ^ 1)}, {'Host': None},
                        {'Host': '127.0.0.1:%d.evil.example' % port}, {'Origin': 'http://evil.example'}, {'Origin': 'null'},
                        {'Origin': 'http://127.0.0.1:%d' % (port ^ 1)}, {'Origin': 'https://127.0.0.1:%d' % port}, {'Origin': ''}):
            with self.subTest(headers=headers):
                answer = self.server.by_tcp('POST', '/v1/run_command', '{"command": ":"}', **headers)
                self.assertIn(answer.status, (400,) if headers == {'Host': None} else (403,))
        self.assertEqual(self.server.by_tcp('GET', '/config', Origin='http://127.0.0.1:%d' % port).status, 200)

    def test_a_form_is_no_request(self):
        for kind in (None, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonx'):
            answer = self.server.by_tcp('POST', '/v1/run_command', '{"command": ":"}', Content_Type=kind)
            self.assertEqual((answer.status, 'error' in answer.json), (415, True), kind)
        self.assertEqual(self.server.by_tcp('POST', '/kill/x', '', Content_Type=None).status, 415)
        self.assertEqual(self.server.by_tcp('POST', '/v1/run_command', '{"command": ":"}', Content_Type='application/json; charset=utf-8').status, 200)

    def cookie_of(self, url):
        answer = self.server.by_tcp('GET', url.partition('/?')[1] + url.partition('/?')[2], Authorization=None)
        self.assertEqual((answer.status, answer.headers['Location']), (303, '/'))
        return answer.headers['Set-Cookie']

    def test_a_url_lets_one_browser_in(self):
        self.server.process.send_signal(signal.SIGUSR1)
        url = self.server.next_url()
        self.assertTrue(url.startswith('http://127.0.0.1:%d/?once=' % self.server.port), url)
        cookie = self.cookie_of(url)
        self.assertIn('; HttpOnly; SameSite=Strict', cookie)
        self.assertEqual(self.cookie_of(url), None)
        self.assertEqual(self.cookie_of(self.server.url), None)
        cookie = cookie.partition(';')[0]
        for shown, status in ((cookie, 200), ('a=b; %s; c=d' % cookie, 200), ('a=b;' + cookie, 200), (cookie[:-1], 401), ('x' + cookie, 401), (cookie + '0', 401)):
            self.assertEqual(self.server.by_tcp('GET', '/', Authorization=None, Cookie=shown).status, status, shown)
        self.assertEqual(self.server.by_tcp('POST', '/v1/sandboxes', '{"action": "list"}', Authorization=None, Cookie=cookie, Origin='http://evil.example').status, 403)
        # A page of another server of this host has the browser send the cookie, and for a GET no Origin.
        for site, status in (('same-origin', 200), ('none', 200), ('same-site', 401), ('cross-site', 401), ('', 401)):
            self.assertEqual(self.server.by_tcp('GET', '/', Authorization=None, Cookie=cookie, Sec_Fetch_Site=site).status, status, site)

    def test_another_user_gets_nothing_even_with_the_token(self):
        done = self.service.run(self.bob, 'curl', '-sS', '--max-time', str(yett.DEADLINE), '-H', 'Authorization: Bearer ' + self.server.token,
                                'http://127.0.0.1:%d/config' % self.server.port)
        self.assertEqual(done.out, 'this server is another user\'s')
        done = self.service.run(self.bob, 'curl', '-sS', '--max-time', str(yett.DEADLINE), '--unix-socket', self.server.socket, 'http://localhost/config')
        self.assertEqual((done.code, done.out), (7, ''), done)

    def test_nobody_else_can_connect_to_the_socket(self):
        self.assertEqual(os.stat(self.server.socket).st_mode & 0o777, 0o600)
        self.assertEqual(self.server.get('/config', headers={'Host': 'evil.example'}).status, 403)
        self.assertEqual(self.server.get('/config', headers={'Origin': 'http://evil.example'}).status, 403)

    def test_who_goes_away_takes_along_what_it_started(self):
        body = b'{"command": "sleep 1000"}'
        with socket.create_connection(('127.0.0.1', self.server.port)) as raw:
            raw.sendall(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n'
                        b'Content-Length: %d\r\n\r\n' % (self.server.port, self.server.token.encode(), len(body)) + body)
            yett.wait_until(lambda: self.server.get('/info').json['running'] == 1, 'the command')
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 0, 'its end')

    def test_tcp_is_off_unless_asked_for(self):
        def of_tcp(server):
            rows = (yett.read('/proc/net/tcp') + yett.read('/proc/net/tcp6')).splitlines()
            return yett.sockets_of(server.process.pid) & {row.split()[9] for row in rows}
        self.assertEqual(len(of_tcp(self.server)), 1)
        self.assertEqual(of_tcp(self.other()), set())


class Bounds(serving.Case):
    def still_works(self, connection=None):
        self.assertEqual(self.server.get('/config', connection=connection).status, 200)

    def test_bodies_that_are_no_request_are_refused_and_the_next_one_works(self):
        connection = self.server.connect()
        for body in ('', '[' * 10000 + ']' * 10000, '{"command": ":", "command": "x"}', '{"command": "\\ud800"}', '{"command": "a\\u0000b"}',
                     b'{"command": "\xff"}', b'\0\1\2', '{"a": 1e999}', 'null', '[]', '"x"', '{"command": ":"} {}'):
            with self.subTest(body=body[:40]):
                answer = self.server.ask('POST', '/v1/run_command', body, connection=connection)
                self.assertEqual((answer.status, answer.json['error']['code']), (400, 'invalid-request'))
        self.still_works(connection)

    def test_bodies_beyond_ten_mebibytes_are_refused_and_the_next_one_works(self):
        connection, large = self.server.connect(), b'"' + b'x' * (10 << 20) + b'"'
        for body in (large, iter([large[:5 << 20]] * 3)):
            answer = self.server.ask('POST', '/v1/run_command', body, connection=connection)
            self.assertEqual((answer.status, answer.json['error']['code']), (413, 'resource-limit'))
        self.still_works(connection)
        self.assertEqual(self.server.ask('POST', '/v1/run_command', '{"command": ":", "stdin": "%s"}' % ('x' * 1000000)).status, 200)

    def test_a_client_that_asks_first_need_not_send_it(self):
        with self.server.raw() as raw:
            raw.sendall(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n'
                        b'Expect: 100-continue\r\n\r\n')
            self.assertIn(b' 413 ', raw.recv(65536).partition(b'\r\n')[0])

    def test_a_header_that_decides_is_there_once(self):
        for first, second in ((b'Host: localhost', b'host: evil.example'), (b'Host: localhost', b'Host: localhost'), (b'Origin: null', b'Origin: null'),
                              (b'Content-Type: application/json', b'content-type: text/plain'), (b'Authorization: Bearer x', b'Authorization: Bearer y')):
            with self.subTest(second), self.server.raw() as raw:
                host = b'' if first.startswith(b'Host') else b'Host: localhost\r\n'
                raw.sendall(b'GET /config HTTP/1.1\r\nConnection: close\r\n' + host + first + b'\r\n' + second + b'\r\n\r\n')
                answer = serving.read_all(raw)
                self.assertIn(b' 400 ', answer.partition(b'\r\n')[0])
                self.assertIn(b'more than once', answer)
        self.still_works()

    def test_a_slow_body_or_head_is_given_up(self):
        server, begun = self.other('--request-time', '1'), []
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for sent in (b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
                     b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n{',
                     b'GET /config HTTP/1.1\r\nHost: loc'):
            begun.append(stack.enter_context(server.raw()))
            begun[-1].sendall(sent)
        for raw in begun:
            answer = serving.read_all(raw)
            self.assertEqual((answer[:13], json.loads(answer.partition(b'\r\n\r\n')[2])['error']['code']), (b'HTTP/1.1 408 ', 'timeout'))
        self.assertEqual(server.get('/info').status, 200)

    def test_who_closes_one_side_gets_the_answer(self):
        body = b'{"command": "sleep 0.2; echo whole"}'
        with self.server.raw() as raw:
            raw.sendall(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            raw.shutdown(socket.SHUT_WR)
            self.assertIn(b'"stdout":"whole\\n"', serving.read_all(raw))
        with self.server.raw() as raw:
            raw.sendall(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{')
            raw.shutdown(socket.SHUT_WR)
            self.assertNotIn(b' 200 ', serving.read_all(raw))
        self.still_works()

    def test_who_goes_away_takes_along_what_it_started(self):
        body = json.dumps({'command': 'sleep 1000'}).encode()
        with self.server.raw() as raw:
            raw.sendall(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            yett.wait_until(lambda: self.server.get('/info').json['running'] == 1, 'the command')
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 0, 'its end')
        self.wait_no_sandboxes()

    def test_clients_that_go_at_any_point_leave_nothing(self):
        body = b'{"command": "sleep 1000"}'
        whole = b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body) + body
        self.still_works()
        descriptors = self.server.descriptors()
        for end in range(len(whole) + 1):
            with self.server.raw() as raw:
                raw.sendall(whole[:end])
        for path in (b'/v1/events', b'/v1/operations', b'/openapi.json'):
            for read in (0, 1, 100):
                with self.server.raw() as raw:
                    raw.sendall(b'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % path * 3)
                    if read:
                        raw.recv(read)
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 0, 'the end of what was begun')
        self.wait_no_sandboxes()
        yett.wait_until(lambda: self.server.descriptors() <= descriptors, 'the end of descriptors')

    def test_requests_may_be_sent_before_the_answer_is_there(self):
        body = b'{"command": "sleep 0.1; echo %d"}'
        with self.server.raw() as raw:
            raw.sendall(b''.join(b'POST /v1/run_command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n'
                                 % (len(body % n), b'Connection: close\r\n' if n == 3 else b'') + body % n for n in (1, 2, 3)))
            self.assertEqual(re.findall(rb'"stdout":"(\d)', serving.read_all(raw)), [b'1', b'2', b'3'])

    def test_what_is_no_http_is_closed(self):
        server = self.other('--request-time', '1')  # so long it waits for more of what may be the beginning of a request
        for sent in (b'\0\1\2\3\r\n\r\n', b'GET\r\n\r\n', b'GET / HTTP/1.1\r\n' + b'A: ' + b'x' * 100000 + b'\r\n\r\n', b'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n'):
            with server.raw() as raw:
                raw.sendall(sent)
                self.assertNotIn(b' 200 ', serving.read_all(raw))
        self.assertEqual(server.get('/info').status, 200)

    def test_connections_beyond_the_most_are_told(self):
        held = [self.server.connect() for _ in range(64)]
        for connection in held:
            self.assertEqual(self.server.get('/config', connection=connection).status, 200)
        answer = self.server.get('/v1/operations')
        self.assertEqual((answer.status, answer.json['error']['code']), (503, 'resource-limit'))
        for connection in held:
            connection.close()
        yett.wait_until(lambda: self.server.get('/config').status == 200, 'room')


class Life(serving.Case):
    def test_fifty_clients_at_once(self):
        def ask(n):
            connection = self.server.connect()
            first = self.server.ask('POST', '/v1/run_command', {'command': 'echo %d' % n}, connection=connection).json['stdout']
            second = self.server.ask('POST', '/v1/run_command', {'command': 'echo %d; exit 1' % -n}, connection=connection).json['stdout']
            connection.close()
            return first, second
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            self.assertEqual(list(pool.map(ask, range(50))), [('%d\n' % n, '%d\n' % -n) for n in range(50)])

    def test_a_thousand_executions_leave_nothing(self):
        connection = self.server.connect()

        def run(alone, together):
            """Some in a sandbox each, which takes ten times as long, and the others in one."""
            box = self.server.call('sandboxes', action='make').json['sandbox']['id']
            for where in [{}] * alone + [{'sandbox': box}] * together:
                self.assertEqual(self.server.ask('POST', '/v1/run_command', {'command': ':', **where}, connection=connection).status, 200)
            self.server.call('sandboxes', action='end', sandbox=box)
            self.wait_no_sandboxes()

        run(50, 150)
        (before, kept), descriptors = self.server.resident(), self.server.descriptors()
        run(200, 800)
        yett.wait_until(lambda: self.server.descriptors() <= descriptors, 'the end of descriptors')
        self.assertLess(self.server.resident()[0] - before, (10 << 10) + kept)  # a thousand records are kept, of which 200 were there before
        self.assertEqual(len(self.server.call('sandboxes', action='executions').json['executions']), 1000)
        connection.close()

    def test_killed_it_leaves_only_what_was_named(self):
        server = self.other()
        named = server.call('sandboxes', action='make', name='stays').json['sandbox']['id']
        self.addCleanup(self.yett, 'destroy', named)
        server.call('sandboxes', action='make')
        server.ask('POST', '/execute', {'command': ':', 'persistent': True})
        server.call('run_command', command='sleep 1000', background=True)
        server.end(signal.SIGKILL)
        again = self.other()

        def names():
            return [box['name'] for box in again.call('sandboxes', action='list').json['sandboxes']]
        yett.wait_until(lambda: names() == ['stays'], 'the end of the others')
        self.assertEqual(again.call('run_command', sandbox='stays', command='echo on').json['stdout'], 'on\n')

    def test_asked_to_end_it_takes_everything_along(self):
        server = self.other(tcp=True)
        stream = server.stream('/v1/events')
        server.call('run_command', command='sleep 1000', background=True)
        self.assertEqual(server.end(), 0)
        self.assertIsNone(stream.next())
        self.assertEqual(os.listdir(server.folder), ['yett'])
        self.assertEqual(os.listdir(server.folder + '/yett'), [])
        self.wait_no_sandboxes()

    def test_a_second_one_does_not_take_the_socket_of_the_first(self):
        done = self.service.run(self.alice, agent.PROGRAM, 'serve', '--listen', self.server.socket)
        self.assertEqual(done.code, 1, done)
        self.assertIn('exists: it is in use', done.err)
        server = self.other()
        server.end(signal.SIGKILL)
        done = self.service.popen(self.alice, agent.PROGRAM, 'serve', '--listen', server.socket, stdout=subprocess.PIPE)
        self.addCleanup(self.end, done)
        self.assertEqual(yett.line_of(done.stdout), 'Listening at ' + server.socket)

    def test_the_command_executes_it_with_its_options(self):
        path = self.folder('by-command', mode=0o700) + '/socket'
        connection = serving.UnixConnection(path)
        for seconds in (1, 10, yett.DEADLINE):
            process = self.service.popen(self.alice, self.service.yett, 'serve', '--listen', path, '--request-time', str(yett.DEADLINE),
                                         '--idle-exit', str(seconds), env={'YETT_AGENT': agent.PROGRAM}, stdout=subprocess.PIPE)
            self.addCleanup(self.end, process)
            self.assertEqual(yett.line_of(process.stdout), 'Listening at ' + path)
            with contextlib.suppress(ConnectionError, FileNotFoundError):  # it was over before we came
                self.assertEqual(self.server.get('/config', connection=connection).status, 200)
                break
        connection.close()
        self.assertEqual((process.wait(yett.DEADLINE), os.path.exists(path)), (0, False))
        for options in (('--port', '65536'), ('--port', 'x'), ('--request-time', '0'), ('--idle-exit', '-1')):
            done = self.service.run(self.alice, self.service.yett, 'serve', *options, env={'YETT_AGENT': agent.PROGRAM})
            self.assertEqual((done.code, done.err.startswith('yett serve: ' + options[0])), (64, True), done)

    @staticmethod
    def connects(connection):
        """Whether somebody listens there already: the name comes before that."""
        try:
            connection.connect()
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def test_a_service_manager_starts_it_and_it_ends_when_nobody_asks(self):
        path = self.folder('activated', mode=0o700) + '/socket'
        process = self.service.popen(self.alice, 'systemd-socket-activate', '-l', path, *sum((['-E', name] for name in self.service.environment_of_client({})), []),
                                     agent.PROGRAM, 'serve', '--idle-exit', '1', stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        connection = serving.UnixConnection(path)
        yett.wait_until(lambda: self.connects(connection), 'the socket')
        self.assertEqual(self.server.ask('POST', '/v1/run_command', {'command': 'echo activated'}, connection=connection).json['stdout'], 'activated\n')
        self.assertIsNone(process.poll())
        connection.close()
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        self.assertTrue(os.path.exists(path))


if __name__ == '__main__':
    yett.main()
