# SPDX-License-Identifier: Apache-2.0
"""Asking yett-agent, by whichever way."""
import json
import os
import subprocess
import time

import yett

PROGRAM = os.path.join(os.environ['YETT_BUILD_ROOT'], 'agent', 'yett-agent')
# What a request names no time for may take twice as long as tests wait, and would be ended after 30 s otherwise.
LONG_SETTINGS = {'default_timeout': 2 * yett.DEADLINE, 'max_timeout': 3600}
LONG = min(yett.DEADLINE, 600)  # seconds: the longest that wait_command takes
GROWING = (1, 8, yett.DEADLINE)  # for what has to come about before a time is over that has to be over: the first that is enough
STATUSES = {'done': 0, 'failed': 1, 'invalid': 2, 'refused': 3, 'timed out': 4, 'not found': 5, 'unsupported': 6, 'unavailable': 7}


def allow_long_commands(user):
    os.makedirs(user.home + '/.config/yett', exist_ok=True)
    user.write('.config/yett/agent.json', json.dumps(LONG_SETTINGS))


class Users(yett.Case):
    """Tests whose users have agents that let commands run for long."""

    @classmethod
    def set_up_user(cls, user):
        super().set_up_user(user)
        allow_long_commands(user)


class Tool:
    """yett-agent tool --lines, asked one request after the other; with it go the sandboxes that have no name."""

    def __init__(self, service, user, *bounds, **more):
        self.process = service.popen(user, PROGRAM, *bounds, 'tool', '--lines', stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

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


class Case(Users):
    """A test whose user asks by `self.ask`."""

    tool_options, bounds = {}, ()

    def setUp(self):
        super().setUp()
        self.tool = Tool(self.service, self.alice, *self.bounds, **self.tool_options)
        self.addCleanup(self.end_tool)

    def end_tool(self):
        if self.tool.process.returncode is None:
            self.tool.close()

    def ask(self, operation, **arguments):
        return self.tool.ask(operation, **arguments)

    def wait_none_listed(self):
        """What ends is listed until it has ended."""
        yett.wait_until(lambda: self.ask('sandboxes', action='list') == {'sandboxes': []}, 'the end of all sandboxes')

    def events_until(self, kind, sandbox):
        """The events of a sandbox, at least up to the first of that kind, and the number to ask on from."""
        seen, last, end = [], 0, time.monotonic() + yett.DEADLINE
        while kind not in [event['kind'] for event in seen]:
            self.assertLess(time.monotonic(), end, 'no event %s; so far %s' % (kind, seen))
            told = self.ask('events', sandbox=sandbox, after=last, wait=5)
            seen, last = seen + told['events'], told['last']
        return seen, last

    def once(self, operation, text):
        """One request of `yett tool OPERATION`, as its exit status and answer."""
        done = self.service.run(self.alice, PROGRAM, 'tool', *operation, input=text if isinstance(text, str) else json.dumps(text))
        return done.code, json.loads(done.out)
