# SPDX-License-Identifier: Apache-2.0
"""What the hostile tests share: tests/support/yett.py, more programs, what C lays out, and cases that are made from tables."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'support'))
import yett

yett.STAGED += ('tests/hostile/client', 'tests/hostile/keep', 'tests/hostile/attack', 'tests/hostile/fake-decider', 'tests/hostile/fake-decoder', 'tests/hostile/fake-init', 'tests/hostile/fake-catcher', 'tests/hostile/fake-front', 'tests/hostile/fake-dialer',
                'tests/hostile/yett-helper-faults', 'tests/hostile/yett-policy-open', 'tests/hostile/yett-init-faults', 'tests/hostile/yett-init-layers',
                'tests/hostile/many_requests', 'tests/hostile/preload.so', 'tests/hostile/captured-diff.so', 'tests/hostile/layouts.so')


def program(name):
    return yett.run_of_process().path('tests/hostile/' + name)


def layouts():
    """The functions of layouts.c."""
    library = ctypes.CDLL(program('layouts.so'), use_errno=True)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32
    for name, result, *arguments in (
            ('faults_open', pointer, text), ('faults_set', None, pointer, text, number, ctypes.c_int32, ctypes.c_bool),
            ('faults_reached', number, pointer), ('faults_holder', ctypes.c_int, pointer, text), ('faults_go', None, pointer),
            ('faults_logged', text, pointer, number), ('step_name', text, number), ('record_uid', ctypes.c_int64, text),
            ('supervisor_request', ctypes.c_size_t, text, number, pointer, ctypes.c_size_t)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def step_names():
    """All kinds of steps that a plan can have, as it prints them."""
    name, found = layouts().step_name, []
    while name(len(found)) is not None:
        found.append(name(len(found)).decode())
    return found


def record_uid(path):
    """Whose the sandbox is, or will be, that has the record."""
    return layouts().record_uid(path.encode())


def supervisor_request(sandbox, action):
    """What a monitor says to a supervisor."""
    buffer = ctypes.create_string_buffer(4096)
    length = layouts().supervisor_request(sandbox.encode(), action, buffer, len(buffer))
    return buffer.raw[:length]


class Faults:
    """What is to happen at a step of a program that links tests/support/faults.c."""

    HOLD, FAIL = 1, 2

    def __init__(self, path):
        self.path, self.c = path, layouts()
        self.memory = self.c.faults_open(path.encode())
        if not self.memory:
            raise OSError(ctypes.get_errno(), 'faults_open')

    def set(self, name='', action=0, error=0, recording=False):
        """In force from here on, for the next process that reaches the step."""
        self.c.faults_set(self.memory, name.encode(), action, error, recording)

    def reached(self):
        """1: a process is at the step; 2: it went on."""
        return self.c.faults_reached(self.memory)

    def holder(self):
        """The process that waits, or did."""
        return self.c.faults_holder(self.memory, self.path.encode())

    def release(self):
        """Lets the process go on, and sees it go, or dead."""
        pid = self.holder()
        self.c.faults_go(self.memory)
        yett.wait_until(lambda: self.reached() == 2 or not yett.is_alive(pid), 'going on')

    def log(self):
        found = []
        while self.c.faults_logged(self.memory, len(found)) is not None:
            found.append(self.c.faults_logged(self.memory, len(found)).decode())
        return found


def add_cases(cls, prefix, rows, run):
    """One test of the class for each row, so that each is counted: run(self, *row)."""
    for row in rows:
        name = 'test_%s_%s' % (prefix, ''.join(c if c.isalnum() else '_' for c in str(row[0])))
        assert not hasattr(cls, name), name
        setattr(cls, name, lambda self, row=row: run(self, *row))
