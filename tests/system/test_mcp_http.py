"""The Model Context Protocol over HTTP: its conformance scenarios as far as they apply, and the SDKs' clients.

The scenarios that want certain tools of a server, prompts, sampling and the like do not apply: Yett's tools are its operations."""
import json
import os
import shutil
import socket
import threading

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
        folder = os.path.join(node.PLACE, 'conformance-%d' % os.getpid())
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
