# SPDX-License-Identifier: Apache-2.0
"""
Settings of the whole machine that tests change for a moment.

Each has a file below /run/lock that is locked meanwhile, so that tests which need different values wait for each other, also in different
namespaces. The file holds the value of before: where somebody is killed who had the lock, the next one, or the runner of the tests,
gives it back.
"""
import contextlib
import fcntl
import os
import subprocess

import alone

PATHS = ('/proc/sys/kernel/core_pattern', '/proc/sys/fs/suid_dumpable', '/proc/sys/kernel/perf_event_paranoid')
OF_NETWORK = '/proc/sys/net/'  # of the network namespace, and so of nobody else where a test has its own


def lock_path(path):
    return '/run/lock/yett-test%s' % path.replace('/', '-')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read().strip()


def write(path, value):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(value)


def give_back(path):
    """By whoever has the lock: the value that somebody left who was killed."""
    before = read(lock_path(path))
    if before:
        write(path, before)
        os.truncate(lock_path(path), 0)


@contextlib.contextmanager
def changed(path, value):
    """The value is in force for a moment. A process of its own gives back the old one, whatever becomes of this one."""
    if path.startswith(OF_NETWORK) and alone.is_made():
        before = read(path)
        write(path, value)
        try:
            yield
        finally:
            write(path, before)
        return
    if path not in PATHS and not path.startswith(OF_NETWORK):
        raise ValueError('the runner of the tests does not know %s' % path)
    with open(lock_path(path), 'a', encoding='utf-8') as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        give_back(path)
        before = read(path)
        held.write(before)
        held.flush()
        keeper = subprocess.Popen(['sh', '-c', 'trap "" INT TERM HUP; read -r _; printf "%s\\n" "$1" >"$2"; : >"$3"', 'sh', before, path, lock_path(path)],
                                  stdin=subprocess.PIPE, start_new_session=True, pass_fds=(held.fileno(),))
    try:
        write(path, value)
        yield
    finally:
        keeper.communicate()


@contextlib.contextmanager
def unchanged(path):
    """Nobody changes it meanwhile: for what other values would let through."""
    with open(lock_path(path), 'a', encoding='utf-8') as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield


def left(repair=False):
    """The settings that somebody left changed who was killed; they are given back where that is asked for."""
    found = []
    for path in PATHS:
        with contextlib.suppress(OSError), open(lock_path(path), encoding='utf-8') as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who has it is at work
            if file.read().strip():
                found.append(path)
                if repair:
                    give_back(path)
    return found
