# SPDX-License-Identifier: Apache-2.0
"""
What asking by yett-agent costs: a call that does nothing by MCP, GET /info by HTTP, a command in a live sandbox by each, beside the same by the library
alone; a hundred Python snippets, each in a sandbox of its own, beside bubblewrap; and the first answer of a Python whose state is kept, beside an
ipykernel's. Medians, in turns where there is a peer.

Usage: agent.py AGENT JSON-LINES DIRECTORY. As an ordinary user, against a service; the directory is empty and the user's. JSON-LINES has what a
command in a live sandbox takes by the library.
"""
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time

from rows import Rows

ROUNDS, SNIPPETS, KERNELS = 200, 100, 7
BUBBLEWRAP = ['bwrap', '--unshare-all', '--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64',
              '/lib64', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--die-with-parent', '/usr/bin/python3', '-c']
SNIPPET = 'print(sum(range(%d)))'
KERNEL = '''
import sys, time
from jupyter_client.manager import KernelManager
for _ in range(int(sys.argv[1])):
    before = time.monotonic()
    manager = KernelManager(kernel_name='python3')
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.execute_interactive('print(1 + 1)', timeout=60, output_hook=lambda message: None)
    print((time.monotonic() - before) * 1000, flush=True)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
'''


def median_of(call, rounds=ROUNDS):
    """The median of many, in milliseconds, after some that do not count."""
    times = []
    for i in range(rounds + 10):
        before = time.monotonic()
        call()
        if i >= 10:
            times.append((time.monotonic() - before) * 1000)
    return statistics.median(times)


class Lines:
    """A program that answers each line with one."""

    def __init__(self, *argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b'\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


class Mcp(Lines):
    def __init__(self, agent):
        super().__init__(agent, 'mcp')
        self.number = 0
        self.call('initialize', {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'bench', 'version': '1'}})
        self.process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def call(self, method, params):
        self.number += 1
        answer = self.ask({'jsonrpc': '2.0', 'id': self.number, 'method': method, 'params': params})
        if 'error' in answer:
            raise RuntimeError(answer)
        return answer['result']

    def tool(self, name, **arguments):
        return self.call('tools/call', {'name': name, 'arguments': arguments})['structuredContent']


class Http:
    """One connection to yett serve, kept."""

    def __init__(self, agent, directory):
        path = os.path.join(directory, 'serve.sock')
        self.process = subprocess.Popen([agent, 'serve', '--listen', path], stdout=subprocess.DEVNULL)
        self.connection = http.client.HTTPConnection('localhost')
        self.connection.sock = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + 10
        while True:
            try:
                self.connection.sock.connect(path)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {'Content-Type': 'application/json'} if body is not None else {})
        return json.loads(self.connection.getresponse().read())

    def close(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def check(answer, stdout):
    if answer.get('stdout') != stdout:
        raise RuntimeError(answer)


def snippets(tool):
    """Both ways in turns, in milliseconds for all of them."""
    ours = theirs = 0.0
    for number in range(SNIPPETS):
        code = SNIPPET % number
        expected = '%d\n' % sum(range(number))
        before = time.monotonic()
        check(tool.ask({'operation': 'run_code', 'language': 'python', 'code': code}), expected)
        between = time.monotonic()
        done = subprocess.run(BUBBLEWRAP + [code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        after = time.monotonic()
        check({'stdout': done.stdout}, expected)
        ours, theirs = ours + between - before, theirs + after - between
    return ours * 1000, theirs * 1000


def kept(tool):
    """A new sandbox, a new Python in it, and its first answer."""
    times = []
    for _ in range(KERNELS):
        before = time.monotonic()
        answer = tool.ask({'operation': 'run_code', 'language': 'python', 'code': 'print(1 + 1)', 'mode': 'kept'})
        times.append((time.monotonic() - before) * 1000)
        check(answer, '2\n')
        tool.ask({'operation': 'sandboxes', 'action': 'end', 'sandbox': answer['sandbox']})
    return statistics.median(times)


def kernels():
    done = subprocess.run(['/usr/bin/python3', '-c', KERNEL, str(KERNELS)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True)  # it has much to say of its debugger
    return statistics.median(float(line) for line in done.stdout.split())


def main():
    agent, path, directory = sys.argv[1:]
    rows = Rows(path)
    alone = rows.known('command in a live sandbox, service, back to back')
    mcp, web, tool = Mcp(agent), Http(agent, directory), Lines(agent, 'tool', '--lines')
    try:
        rows.tell('a call that does nothing', 'MCP', median_of(lambda: mcp.tool('sandboxes', action='clean_up')), '', None, 0.6)
        rows.tell('GET /info', 'HTTP, a connection that is kept', median_of(lambda: web.ask('GET', '/info')), '', None, 0.2)
        for name, ask in (('MCP', mcp.tool), ('HTTP', lambda operation, **more: web.ask('POST', '/v1/' + operation, more))):
            box = ask('sandboxes', action='make')['sandbox']['id']
            ours = median_of(lambda ask=ask, box=box: check(ask('run_command', argv=['true'], sandbox=box), ''))
            rows.tell('a command in a live sandbox', name, ours, 'libyett + 0.5', alone + 0.5, 1.0)
        ours, theirs = snippets(tool)
        rows.tell('%d Python snippets, a sandbox each' % SNIPPETS, 'yett tool --lines', ours, 'bubblewrap', theirs, 0.9)
        rows.tell('the first answer of a kept Python', 'yett tool --lines', kept(tool), 'ipykernel', kernels(), 0.2)
    finally:
        for each in (mcp, web, tool):
            each.close()


if __name__ == '__main__':
    main()
