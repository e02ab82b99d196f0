# SPDX-License-Identifier: Apache-2.0
"""yett-agent as its package installs it: on a pipe, as an MCP server, and by the socket of a user's own service manager."""
import http.client
import json
import os
import socket

import installed
import yett


class Agent(installed.Case):
    CODE = {'language': 'python', 'code': 'import os\nprint(6 * 7, os.getuid())'}

    def ask(self, user, argv, *requests):
        done = self.run_as(user, *argv, input=''.join(json.dumps(request) + '\n' for request in requests))
        self.assertEqual(done.err, '', installed.journal())
        return [json.loads(line) for line in done.out.splitlines()]

    def test_on_a_pipe(self):
        answer, = self.ask(self.ann, ['yett', 'tool', 'run_code'], self.CODE)
        self.assertEqual((answer.get('stdout'), answer['status']), ('42 %d\n' % self.ann.uid, 'completed'), answer)

    def test_as_a_server_of_tools(self):
        hello = {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize',
                 'params': {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'guest', 'version': '1'}}}
        call = {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/call', 'params': {'name': 'run_code', 'arguments': self.CODE}}
        process = self.popen(self.ann, 'yett', 'mcp')
        for request in (hello, {'jsonrpc': '2.0', 'method': 'notifications/initialized'}, call):
            process.stdin.write(json.dumps(request).encode() + b'\n')
        process.stdin.flush()
        answers = [json.loads(yett.line_of(process.stdout)) for _ in range(2)]
        self.assertEqual(answers[1]['result']['structuredContent']['stdout'], '42 %d\n' % self.ann.uid)
        process.stdin.close()
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        self.wait_all_gone()


class Socket(installed.Case):
    """What listens for a user is the user's service manager."""

    def setUp(self):
        self.runtime = '/run/user/%d' % self.ann.uid
        unit = 'user@%d.service' % self.ann.uid
        installed.tool('systemctl', 'start', unit)
        self.addCleanup(installed.tool, 'systemctl', 'stop', unit)
        self.path = self.runtime + '/yett/serve.sock'
        self.manager('enable', '--now', 'yett-serve.socket')

    def manager(self, *argv):
        process = self.ann.popen(['systemctl', '--user', *argv], env={'XDG_RUNTIME_DIR': self.runtime}, stdout=-1, stderr=-1)
        out, err = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 0, out + err)
        return out.decode().strip()

    def post(self, operation, **arguments):
        connection = http.client.HTTPConnection('localhost')
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.path)
        connection.request('POST', '/v1/' + operation, json.dumps(arguments), {'Content-Type': 'application/json'})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_it_is_started_when_somebody_connects_and_runs_as_the_user(self):
        self.assertEqual(self.manager('show', '--value', '-p', 'ActiveState', 'yett-serve.service'), 'inactive')
        status, answer = self.post('run_code', **Agent.CODE)
        self.assertEqual((status, answer.get('stdout')), (200, '42 %d\n' % self.ann.uid), answer)
        server = int(self.manager('show', '--value', '-p', 'MainPID', 'yett-serve.service'))
        self.assertEqual(yett.status_of(server)['Uid'].split(), [str(self.ann.uid)] * 4)
        self.manager('stop', 'yett-serve.service')
        self.assertEqual(self.post('sandboxes', action='list'), (200, {'sandboxes': []}))

    def test_nobody_else_can_connect(self):
        attempt = 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])'
        done = self.run_as(self.ben, 'python3', '-c', attempt, self.path)
        self.assertIn('PermissionError', done.err)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)


if __name__ == '__main__':
    yett.main()
