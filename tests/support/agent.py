"""Asking yett-agent, by whichever way."""
import json
import os
import subprocess

import yett

PROGRAM = os.path.join(os.environ['YETT_BUILD_ROOT'], 'agent', 'yett-agent')
STATUSES = {'done': 0, 'failed': 1, 'invalid': 2, 'refused': 3, 'timed out': 4, 'not found': 5, 'unsupported': 6, 'unavailable': 7}


class Tool:
    """yett-agent tool --lines, asked one request after the other; with it go the sandboxes that have no name."""

    def __init__(self, service, user, **more):
        self.process = service.popen(user, PROGRAM, 'tool', '--lines', stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ask(self, operation, **arguments):
        self.send(json.dumps({'operation': operation, **arguments}))
        return json.loads(yett.line_of(self.process.stdout))

    def send(self, text):
        self.process.stdin.write(text.encode() + b'\n')
        self.process.stdin.flush()

    def close(self):
        """Its exit status, and what it said besides answers."""
        out, err = self.process.communicate(timeout=yett.DEADLINE)
        return self.process.returncode, out.decode() + err.decode()


class Case(yett.Case):
    """A test whose user asks by `self.ask`."""

    tool_options = {}

    def setUp(self):
        super().setUp()
        self.tool = Tool(self.service, self.alice, **self.tool_options)
        self.addCleanup(self.end_tool)

    def end_tool(self):
        if self.tool.process.returncode is None:
            self.tool.close()

    def ask(self, operation, **arguments):
        return self.tool.ask(operation, **arguments)

    def once(self, operation, text):
        """One request of `yett tool OPERATION`, as its exit status and answer."""
        done = self.service.run(self.alice, PROGRAM, 'tool', *operation, input=text if isinstance(text, str) else json.dumps(text))
        return done.code, json.loads(done.out)
