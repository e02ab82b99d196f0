# SPDX-License-Identifier: Apache-2.0
"""Clients of the Model Context Protocol that others wrote: the SDK's, of its default and its newest revision, and the inspector's command
line, with the server that they start."""
import json
import os
import shlex

import node
import test_mcp
import yett

INSPECTOR = node.module('@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js')


class Case(test_mcp.Case):
    @classmethod
    def setUpClass(cls):
        node.need()
        super().setUpClass()

    def server(self, *options):
        """What a host is told to start: the server, as alice."""
        environment = self.service.environment_of_client({'HOME': self.alice.home, 'PATH': '/usr/bin:/bin'})
        return ['setpriv', '--reuid=%d' % self.alice.uid, '--regid=%d' % self.alice.gid, '--clear-groups', '--',
                'env', '-i', *('%s=%s' % pair for pair in environment.items()), self.service.run_.path('agent/yett-agent'), 'mcp', *options]

    def run_node(self, script, *argv):
        done = node.run(script, *argv)
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)


class Sdk(Case):
    def check(self, seen):
        self.assertEqual(seen['server']['name'], 'yett')
        self.assertEqual(seen['capabilities'], {'tools': {}, 'resources': {}})
        self.assertIn('sandbox', seen['instructions'])
        self.assertIn('run_command', [tool['name'] for tool in seen['tools']])
        self.assertEqual(seen['written']['content'], [{'type': 'text', 'text': 'stdout:\nout\nstderr:\nerr'}])
        self.assertEqual(seen['written']['structuredContent']['stderr'], 'err\n')
        self.assertFalse(seen['failed']['isError'])
        self.assertEqual(seen['failed']['structuredContent']['exit_code'], 3)
        self.assertTrue(seen['wrong']['isError'])
        self.assertEqual(seen['unknown']['code'], -32602)
        self.assertEqual(seen['read']['contents'][0]['text'], 'é\n')
        self.assertIn('/tmp/a%20b', seen['read']['contents'][0]['uri'])
        self.assertTrue(any(one['uri'].startswith('yett://run/') for one in seen['resources']))
        self.assertEqual(len(seen['templates']), 2)
        self.assertIn(seen['missing']['code'], (-32002, -32602))
        self.assertGreaterEqual(len(seen['progress']), 2)
        self.assertEqual(seen['many'], ['%d\n' % i for i in range(20)])
        self.assertNotIn('answered', seen['given_up'])
        self.assertEqual(seen['killed']['status'], 'killed')
        self.assert_nothing_left()

    def test_of_the_first_sdk(self):
        self.check(self.run_node('client.mjs', 'v1', *self.server()))

    def test_of_the_second_sdk_by_its_default(self):
        seen = self.run_node('client.mjs', 'legacy', *self.server())
        self.assertEqual(seen['revision'], '2025-11-25')
        self.check(seen)

    def test_of_the_second_sdk_by_what_it_finds(self):
        seen = self.run_node('client.mjs', 'auto', *self.server())
        self.assertEqual(seen['revision'], '2026-07-28')
        self.check(seen)

    def test_of_the_second_sdk_by_the_newest_revision(self):
        seen = self.run_node('client.mjs', '2026-07-28', *self.server())
        self.assertEqual(seen['revision'], '2026-07-28')
        self.check(seen)


class Inspector(Case):
    def inspect(self, *argv):
        """What the inspector's command line prints: --method METHOD and more."""
        return node.run(INSPECTOR, '--cli', *argv, '--', *self.server())

    def result(self, *argv):
        done = self.inspect(*argv)
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def test_it_lists_the_tools_and_finds_no_fault_with_them(self):
        done = self.inspect('--method', 'tools/list', '--strict')
        self.assertEqual(done.code, 0, done)
        self.assertIn('run_command', [tool['name'] for tool in json.loads(done.out)['tools']])
        self.assertNotIn('inputSchema', done.err)  # what models take is as portable as it can be

    def test_it_calls_one(self):
        result = self.result('--method', 'tools/call', '--tool-name', 'run_command', '--tool-arg', 'command=echo hello')
        self.assertEqual(result['content'], [{'type': 'text', 'text': 'hello'}])

    def test_it_reads_resources(self):
        self.assertIn('resources', self.result('--method', 'resources/list'))
        self.assertEqual(len(self.result('--method', 'resources/templates/list')['resourceTemplates']), 2)

    def test_it_calls_one_again_and_again(self):
        done = self.inspect('--method', 'tools/call', '--tool-name', 'sandboxes', '--tool-arg', 'action=list', '--load', '--load-requests', '200')
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out + done.err, r'200')


class Documents(Case):
    """What docs/agents.md shows."""

    def setUp(self):
        # the hosts that it speaks of find `yett` by its name
        self.bin = os.path.join(self.service.folder, 'bin')
        os.makedirs(self.bin, exist_ok=True)
        yett.write(self.bin + '/yett', '#!/bin/sh\nshift\nexec %s "$@"\n' % shlex.join(self.server()), 0o755)
        self.environment = {'PATH': ':'.join((self.bin, os.path.dirname(node.program()), os.environ['PATH']))}

    def test_the_program(self):
        done = node.run('ask.mjs', env=self.environment)
        self.assertEqual(done.code, 0, done)
        for text in ('revision 2026-07-28\n', 'run_command answers:\nLinux\n', '[failed: the program exited with status 3]\nto be seen\n',
                     'run_command is refused:\npermission-denied: memory of 1024T', 'max_memory = 1024T in grant', '19 bytes written', '19 /tmp/note'):
            self.assertIn(text, done.out)

    def test_the_configuration(self):
        path = os.path.join(self.service.folder, 'hosts.json')
        yett.write(path, json.dumps({'mcpServers': {'yett': {'command': 'yett', 'args': ['mcp']}}}))
        done = node.run(INSPECTOR, '--cli', '--config', path, '--server', 'yett', '--method', 'tools/call', '--tool-name', 'run_command',
                        '--tool-arg', 'command=echo hello', env=self.environment)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(json.loads(done.out)['content'], [{'type': 'text', 'text': 'hello'}])


if __name__ == '__main__':
    yett.main()
