# SPDX-License-Identifier: Apache-2.0
"""yett-agent serve, and clients of it."""
import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess

import agent
import yett

numbers = itertools.count()


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, as root."""

    def __init__(self, path):
        super().__init__('localhost', timeout=yett.DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.bytes = response.status, response.headers, response.read()
        self.text = self.bytes.decode()

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return '%d %s' % (self.status, self.text[:500])


class Stream:
    """Server-Sent Events, one after the other."""

    def __init__(self, connection, path, headers=None):
        connection.request('GET', path, headers=headers or {})
        self.connection, self.response = connection, connection.getresponse()

    def next(self):
        """A dictionary of the fields of the next event; None at the end."""
        fields = {}
        while True:
            line = self.response.readline().decode()
            if not line:
                return None
            if line == '\n':
                if fields:
                    return {**fields, 'data': json.loads(fields['data'])}
                continue
            name, _, value = line.rstrip('\n').partition(': ')
            if name:
                fields[name] = value

    def until(self, is_it):
        while (event := self.next()) is not None:
            if is_it(event):
                return event
        raise AssertionError('the stream has ended')


class Server:
    """One of a user's, at a Unix socket, and by TCP where `port` is asked for."""

    def __init__(self, service, user, *options, bounds=(), tcp=False, env=None):
        self.service, self.user = service, user
        self.folder = user.mkdir('serve-%d' % next(numbers), 0o700)
        self.socket = self.folder + '/socket'
        self.token_file = self.folder + '/yett/serve.token'
        self.env = {'XDG_RUNTIME_DIR': self.folder, **(env or {})}
        self.process = service.popen(user, agent.PROGRAM, *bounds, 'serve', '--listen', self.socket, *(['--port', '0'] * tcp), *options, env=self.env,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if yett.line_of(self.process.stdout) != 'Listening at ' + self.socket:
            raise AssertionError('the server does not begin')
        self.port = int(re.search(r':(\d+), ', yett.line_of(self.process.stdout)).group(1)) if tcp else None
        self.url = self.next_url() if tcp else None
        self.token = yett.read(self.token_file).strip() if tcp else None

    def next_url(self):
        return yett.line_of(self.process.stdout).removeprefix('Open ')

    def connect(self):
        return UnixConnection(self.socket)

    def raw(self):
        """A connected socket."""
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(yett.DEADLINE)
        connected.connect(self.socket)
        return connected

    def ask(self, method, path, body=None, headers=None, connection=None):
        headers = {'Content-Type': 'application/json', **(headers or {})}
        body = json.dumps(body) if isinstance(body, (dict, list)) else body
        used = connection or self.connect()
        used.request(method, path, body, {name: value for name, value in headers.items() if value is not None})
        answer = Answer(used.getresponse())
        if not connection:
            used.close()
        return answer

    def get(self, path, **more):
        return self.ask('GET', path, **more)

    def call(self, operation, **arguments):
        return self.ask('POST', '/v1/' + operation, arguments)

    def by_tcp(self, method, path, body=None, **headers):
        """With the token, unless headers say otherwise; one that is None is left out."""
        headers = {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + self.token,
                   **{name.replace('_', '-'): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=yett.DEADLINE)
        connection.putrequest(method, path, skip_host='Host' in headers)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader('Content-Length', str(len(body)))
        connection.endheaders(body.encode() if body is not None else None)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def stream(self, path, **headers):
        return Stream(self.connect(), path, headers)

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.process.pid))

    def resident(self):
        """KiB of memory, and how many of them may be what the address sanitizer keeps of what was freed."""
        is_sanitized = 'libasan' in yett.read('/proc/%d/maps' % self.process.pid)
        return int(yett.status_of(self.process.pid)['VmRSS'].split()[0]), 300 << 10 if is_sanitized else 0

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        with self.process:
            return self.process.wait(yett.DEADLINE)


def read_all(connected):
    """What comes until the other side closes."""
    read = b''
    with contextlib.suppress(ConnectionResetError):  # where it has not read all that was sent
        while piece := connected.recv(65536):
            read += piece
    return read


class Case(agent.Users):
    """A server of alice's for all of a class's tests."""

    options, bounds = (), ()
    tcp = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.service, cls.alice, *cls.options, bounds=cls.bounds, tcp=cls.tcp)
        cls.addClassCleanup(cls.server.end)

    def wait_no_sandboxes(self):
        """The server goes on, and so does what the helper has for its connection."""
        yett.wait_until(lambda: not [line for line in self.service.leftovers() if line.startswith(('cgroup', 'reservation'))], 'the end of sandboxes')

    def other(self, *options, **more):
        server = Server(self.service, self.alice, *options, **{'bounds': self.bounds, **more})
        self.addCleanup(server.end)
        return server
