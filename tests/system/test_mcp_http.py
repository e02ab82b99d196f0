# SPDX-License-Identifier: Apache-2.0
"""The Model Context Protocol over HTTP: its conformance scenarios as far as they apply, and the SDKs' clients.

The scenarios that want certain tools of a server, prompts, sampling and the like do not apply: Yett's tools are its operations."""
import json
import os
import shutil
import socket
import threading

import mcp
import node
import serving
import test_mcp_clients
import yett

# Which are run, by revision; and of these the checks that cannot succeed, since they are of what Yett does not have: a prompt, or a tool of theirs.
SCENARIOS = {
    '2025-06-18': ('server-initialize', 'ping', 'tools-list', 'resources-list'),
    '2025-11-25': ('server-initialize', 'server-session-lifecycle', 'ping', 'tools-list', 'resources-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'),
    '2026-07-28': ('server-stateless', 'tools-list', 'resources-list', 'server-sse-multiple-streams', 'sep-2164-resource-not-found', 'caching', 'http-header-validation',
                   'input-required-result-unsupported-methods', 'dns-rebinding-protection'),
}
OF_PROMPTS = 'sep-2549-prompts-list-caching-hints'
NOT_TESTABLE = 'Not testable: server does not list the diagnostic tool'


class Relay:
    """A port of this host whose connections go on to a Unix socket: some clients know no other way."""

    def __init__(self, connect):
        self.connect = connect
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.url = 'http://127.0.0.1:%d/mcp' % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = self.connect()
            server.settimeout(None)
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    @staticmethod
    def pass_on(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            try:
                end.shutdown(how)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Conformance(serving.Case):
    @classmethod
    def setUpClass(cls):
        node.need()
        super().setUpClass()

    def checks(self, url, revision, scenario):
        """What a scenario has found: its checks."""
        folder = os.path.join(node.PLACE, 'conformance-%d' % yett.run_of_process().place)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        done = node.run(node.module('@modelcontextprotocol', 'conformance', 'dist', 'index.js'), 'server', '--url', url, '--scenario', scenario,
                        '--spec-version', revision, '--output-dir', folder)
        found = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names if name == 'checks.json']
        self.assertEqual(len(found), 1, done)
        return json.loads(yett.read(found[0]))

    def test_scenarios_that_apply(self):
        relay = Relay(self.server.raw)
        self.addCleanup(relay.close)
        self.server.call('run_command', command='echo an output to be read')
        for revision, scenarios in SCENARIOS.items():
            for scenario in scenarios:
                with self.subTest(revision=revision, scenario=scenario):
                    checks = self.checks(relay.url, revision, scenario)
                    failed = [check for check in checks if check['status'] not in ('SUCCESS', 'INFO', 'SKIPPED') and check['id'] != OF_PROMPTS and
                              not check.get('errorMessage', '').startswith(NOT_TESTABLE)]
                    self.assertEqual(failed, [])
                    self.assertIn('SUCCESS', [check['status'] for check in checks])


class Posts(serving.Case):
    def post(self, message, connection=None, **headers):
        return self.server.ask('POST', '/mcp', message, connection=connection,
                               headers={'Accept': 'application/json, text/event-stream', **{name.replace('_', '-'): value for name, value in headers.items()}})

    def request(self, method, number=1, **params):
        return {'jsonrpc': '2.0', 'id': number, 'method': method, 'params': params}

    def begin(self, message, **headers):
        """A POST that is not answered yet: its connection."""
        connection = self.server.connect()
        connection.request('POST', '/mcp', json.dumps(message), {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream', **headers})
        return connection

    def status_of(self, text):
        executions = self.server.call('sandboxes', action='executions').json['executions']
        return next((one['status'] for one in executions if one['text'] == text), None)

    def begin_sleep(self, seconds, session):
        """A call of a command that runs."""
        command = 'exec sleep ' + seconds
        connection = self.begin(self.request('tools/call', 7, name='run_command', arguments={'command': command, 'timeout': 300}), **session)
        self.addCleanup(connection.close)
        yett.wait_until(lambda: self.status_of(command) == 'running', 'the command')
        return connection

    def session(self):
        answer = self.post(self.request('initialize', protocolVersion='2025-11-25', capabilities={}, clientInfo={'name': 'tests', 'version': '1'}))
        return {'Mcp-Session-Id': answer.headers['Mcp-Session-Id'], 'MCP-Protocol-Version': '2025-11-25'}

    def test_cancelling_means_the_requests_of_the_same_session(self):
        first, second = self.session(), self.session()
        self.assertNotEqual(first, second)
        asked = self.begin_sleep('86421', first)
        self.begin_sleep('86422', second)
        answer = self.post({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 7}}, **first)
        self.assertEqual((answer.status, answer.bytes), (202, b''))
        yett.wait_until(lambda: self.status_of('exec sleep 86421') == 'killed', 'the end of the command')
        answer = serving.Answer(asked.getresponse())
        self.assertEqual((answer.status, answer.bytes), (202, b''))
        self.assertEqual(self.status_of('exec sleep 86422'), 'running')
        # and who belongs to none cancels nothing
        self.post({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 7}})
        self.assertEqual(self.status_of('exec sleep 86422'), 'running')

    def test_a_client_that_is_gone_before_any_answer_ends_what_it_started(self):
        for session in ({}, self.session()):
            connection = self.begin_sleep('86423', session)
            connection.close()
            yett.wait_until(lambda: self.status_of('exec sleep 86423') == 'killed', 'the end of the command')
            self.server.call('sandboxes', action='clean_up')

    def test_batches_of_the_revision_without_a_header(self):
        answer = self.post([self.request('ping'), {'jsonrpc': '2.0', 'method': 'x'}, self.request('nope', 2)])
        self.assertEqual((answer.status, [one['id'] for one in answer.json]), (200, [1, 2]))
        answer = self.post([{'jsonrpc': '2.0', 'method': 'x'}])
        self.assertEqual((answer.status, answer.bytes), (202, b''))
        for batch, headers in (([self.request('ping')], {'MCP_Protocol_Version': '2025-11-25'}), ([], {})):
            answer = self.post(batch, **headers)
            self.assertEqual((answer.status, answer.json['error']['code']), (400, -32600))

    def test_who_takes_no_events_gets_the_answer_alone(self):
        # It goes on until a call that does take events was told twice of its progress.
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.addCleanup(self.server.call, 'sandboxes', action='end', sandbox=box)
        message = self.request('tools/call', name='run_command', _meta={'progressToken': 1},
                               arguments={'command': 'until [ -e /tmp/told ]; do sleep 0.05; done', 'sandbox': box})
        silent, told = self.begin(message, Accept='application/json'), self.begin(message)
        events = (line for line in told.getresponse() if line.startswith(b'data: '))
        for _ in range(2):
            self.assertIn(b'notifications/progress', next(events))
        self.server.call('write_file', sandbox=box, path='/tmp/told', content='')
        answer = serving.Answer(silent.getresponse())
        self.assertEqual((answer.headers['Content-Type'], answer.json['result']['isError']), ('application/json', False))
        list(events)
        for connection in (silent, told):
            connection.close()

    def test_statuses_say_whose_fault_it_is(self):
        meta = {'_meta': mcp.META}
        for message, headers, status, code in (
                ('{', {}, 400, -32700), ('', {}, 400, -32700), (self.request('nope'), {}, 200, -32601), ({'jsonrpc': '2.0', 'id': 1}, {}, 400, -32600),
                (self.request('ping'), {'MCP_Protocol_Version': '1999-01-01'}, 400, -32022), (self.request('tools/list', **meta), {}, 400, -32020),
                (self.request('nope', **meta), {'MCP_Protocol_Version': mcp.MODERN, 'Mcp_Method': 'nope'}, 404, -32601),
                (self.request('tools/call', name='nope', **meta), {'MCP_Protocol_Version': mcp.MODERN, 'Mcp_Method': 'tools/call', 'Mcp_Name': 'nope'}, 200, -32602),
                (self.request('tools/call', name='nope', **meta), {'MCP_Protocol_Version': mcp.MODERN, 'Mcp_Method': 'tools/call', 'Mcp_Name': 'other'}, 400, -32020)):
            with self.subTest(message=message, headers=headers):
                answer = self.post(message, **headers)
                self.assertEqual((answer.status, answer.json['error']['code']), (status, code))

    def test_a_message_that_is_too_long_is_refused_and_the_next_one_is_not(self):
        self.assertEqual(self.post('x' * (11 << 20)).status, 413)
        self.assertEqual(self.post(self.request('ping')).json['result'], {})


class Sdk(test_mcp_clients.Sdk):
    """The same clients, by an address and a token."""

    def server(self):
        server = serving.Server(self.service, self.alice, tcp=True)
        self.addCleanup(server.end)
        return ['http://127.0.0.1:%d/mcp' % server.port, server.token]

    def assert_nothing_left(self):
        """The server goes on; what a client left, and gave up, has ended: the test has seen that."""


if __name__ == '__main__':
    yett.main()
