# SPDX-License-Identifier: Apache-2.0
"""yett-audit with a listener that tests play."""
import contextlib
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import yett

BUILD = os.environ.get('YETT_BUILD_ROOT', '')
ID = 1500000000 + yett.run_of_process().place  # below those of the ranges of tests, which kill whom they find there


def program(name):
    return os.path.join(BUILD, name)


def verify(*argv):
    """yett audit verify"""
    return subprocess.run([program('cli/yett'), 'audit', 'verify', *argv], check=False, capture_output=True, text=True, timeout=yett.DEADLINE)


class Audit:
    """One yett-audit after the other, over the files of one folder."""

    def __init__(self, folder=None, name='helper/yett-audit', max_bytes=1 << 30, user_bytes=64 << 20, **environment):
        self.own = tempfile.mkdtemp(prefix='yett-audit-')
        self.folder = folder or os.path.join(self.own, 'log')
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.name, self.max_bytes, self.user_bytes, self.environment = name, max_bytes, user_bytes, environment
        self.socket_path = os.path.join(self.own, 'audit')
        self.process = None
        self.log = ''
        self.ended = []  # exit statuses of those that were followed by others

    def start(self, **environment):
        if os.path.exists(self.socket_path):
            os.unlink(self.socket_path)
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(self.socket_path)
        self.listening.listen(1024)
        self.listening.setblocking(False)
        self.errors = tempfile.TemporaryFile()
        return self.spawn(**environment)

    def spawn(self, **environment):
        """Another process on the same socket, as the listener starts it where one has ended."""
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([program(self.name), str(ID), str(self.listening.fileno()), str(self.max_bytes), str(self.user_bytes), self.folder],
                                        stdin=theirs, stderr=self.errors, pass_fds=[self.listening.fileno()],
                                        env={**os.environ, **self.environment, **environment})
        theirs.close()
        return self

    @contextlib.contextmanager
    def kept(self):
        """Whenever it ends by itself, another one is started."""
        is_over, end = os.pipe()

        def keep():
            while True:
                running = os.pidfd_open(self.process.pid)
                try:
                    ready, _, _ = select.select([is_over, running], [], [])
                finally:
                    os.close(running)
                if is_over in ready:
                    return
                self.ended.append(self.process.wait())
                self.ours.close()
                self.spawn()

        thread = threading.Thread(target=keep, daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(end)
            thread.join(yett.DEADLINE)
            os.close(is_over)

    def minute(self):
        """The number of the minute that its state is of, by struct slots_state and struct chain; None before it has one."""
        try:
            with open(os.path.join(self.folder, 'state'), 'rb') as file:
                data = file.read()
        except FileNotFoundError:
            return None
        return max((struct.unpack_from('<8sQQ16sQ', data, at)[1:5:3] for at in (0, 4096) if data[at:at + 8] == b'yettaud1'), default=(0, None))[1]

    def segment(self, number):
        return os.path.join(self.folder, '%08u.jsonl' % number)

    def segments(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith('.jsonl'))

    def tell(self, *lines):
        """The answers to records: errnos, or text where there are several."""
        done = subprocess.run([program('tests/system/audit_tell'), self.socket_path], input='\n'.join(lines) + '\n', check=True, capture_output=True,
                              text=True, timeout=yett.DEADLINE)
        return [int(line) if ':' not in line else line.strip() for line in done.stdout.splitlines()]

    def measure(self, clients, count):
        """(failures, records a second, median and 99th of the answers in µs)"""
        done = subprocess.run([program('tests/system/audit_tell'), self.socket_path, str(clients), str(count)], check=True, capture_output=True, text=True,
                              timeout=300)
        return [float(word) for word in done.stdout.split()]

    def ends(self):
        """It ends by itself: its exit status."""
        status = self.process.wait(yett.DEADLINE)
        self.ours.close()
        return self.close(status)

    def stop(self):
        """The listener ends: what is queued is still written. The exit status."""
        self.ours.shutdown(socket.SHUT_RDWR)
        self.ours.close()
        status = self.process.wait(yett.DEADLINE)
        return self.close(status)

    def kill(self):
        self.process.kill()
        status = self.process.wait(yett.DEADLINE)
        with contextlib.suppress(OSError):
            self.ours.shutdown(socket.SHUT_RDWR)
        self.ours.close()
        return self.close(status)

    def close(self, status):
        self.listening.close()
        self.errors.seek(0)
        self.log += self.errors.read().decode(errors='replace')
        self.errors.close()
        self.process = None
        return status

    def read(self, number=None):
        """The records, of a segment or of all; what is no JSON is left out."""
        records = []
        for name in self.segments() if number is None else [os.path.basename(self.segment(number))]:
            with open(os.path.join(self.folder, name), 'rb') as file:
                for line in file.read().split(b'\n'):
                    with contextlib.suppress(ValueError):
                        records.append(json.loads(line))
        return records

    def remove(self):
        if self.process:
            self.kill()
        # which no append-only file can be
        subprocess.run(['chattr', '-R', '-f', '-a', self.own], check=False)
        shutil.rmtree(self.own, ignore_errors=not os.path.exists(self.own))
