# SPDX-License-Identifier: Apache-2.0
"""
A client of the Model Context Protocol that says whatever it is told to, line by line, on the standard library alone.

What clients that others wrote make of the server is seen in tests/agent.
"""
import itertools
import json
import os
import select
import time

import yett

MODERN = '2026-07-28'
META = {'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': {'name': 'tests', 'version': '1'}}


class Client:
    """The program behind two pipes. Answers come in any order: each is kept until it is asked for."""

    def __init__(self, process):
        self.process = process
        self.numbers = itertools.count(1)
        self.buffer = b''
        self.answers, self.notifications, self.others = {}, [], []

    # --- bytes ---

    def send_raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_raw(json.dumps(message).encode() + b'\n')

    def line(self):
        """The next line that comes, without its end; None where there is none any more."""
        end = time.monotonic() + yett.DEADLINE
        while b'\n' not in self.buffer:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError('no answer comes; so far: %r' % self.buffer[:200])
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line

    def receive(self):
        """The next message; None at the end. Whatever comes has to be one."""
        line = self.line()
        if line is None:
            return None
        message = json.loads(line.decode('utf-8'))
        for one in message if isinstance(message, list) else [message]:
            if one['jsonrpc'] != '2.0' or ('method' in one) == ('result' in one or 'error' in one):
                raise AssertionError('this is no message: %r' % line[:200])
        return message

    # --- requests ---

    def ask(self, method, params=None, number=None):
        """Sends a request; its id."""
        number = next(self.numbers) if number is None else number
        self.send({'jsonrpc': '2.0', 'id': number, 'method': method, **({} if params is None else {'params': params})})
        return number

    def tell(self, method, params=None):
        self.send({'jsonrpc': '2.0', 'method': method, **({} if params is None else {'params': params})})

    def answer(self, number):
        """What is answered to the request of that id, as it came."""
        while number not in self.answers:
            self.take()
        return self.answers.pop(number)

    def take(self):
        """Keeps the next message that comes."""
        message = self.receive()
        if message is None:
            raise AssertionError('the server has ended')
        if isinstance(message, dict) and 'method' in message:
            self.notifications.append(message)
        elif isinstance(message, dict) and 'id' in message:
            self.answers[message['id']] = message
        else:
            self.others.append(message)

    def result(self, method, params=None):
        answer = self.answer(self.ask(method, params))
        if 'result' not in answer:
            raise AssertionError('refused: %r' % answer)
        return answer['result']

    def error(self, method, params=None):
        answer = self.answer(self.ask(method, params))
        if 'error' not in answer:
            raise AssertionError('not refused: %r' % answer)
        return answer['error']

    def initialize(self, version='2025-11-25'):
        result = self.result('initialize', {'protocolVersion': version, 'capabilities': {}, 'clientInfo': {'name': 'tests', 'version': '1'}})
        self.tell('notifications/initialized')
        return result

    def begin(self, tool, _meta=None, **arguments):
        """Calls a tool; the id of the request."""
        return self.ask('tools/call', {'name': tool, 'arguments': arguments, **({'_meta': _meta} if _meta else {})})

    def call(self, tool, **arguments):
        """The result of a tool."""
        answer = self.answer(self.begin(tool, **arguments))
        if 'result' not in answer:
            raise AssertionError('refused: %r' % answer)
        return answer['result']
