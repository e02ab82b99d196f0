# SPDX-License-Identifier: Apache-2.0
"""
What a run of the tests leaves behind on this machine, by its own marks alone: other runs may be under way. Runs as root.

A test program is apart from the machine (tests/support/alone.py): processes, users, mounts and files of its own go with its namespaces.
What does not: control groups, a machine's settings, and the folder on disk that it was given; and what those few programs leave that are
not apart. These are taken away here, and counted.
"""
import contextlib
import glob
import os
import shutil
import signal
import subprocess

import settings
import waiting

RUN_VARIABLE = 'YETT_TEST_RUN'
KINDS = ('processes', 'users', 'control groups', 'mounts', 'files', 'settings')


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def groups_of(place):
    """The control groups at the top that a test program at a place has made."""
    return [path for pattern in ('/sys/fs/cgroup/*/yett-test-%d-*', '/sys/fs/cgroup/yett-test-%d-*') for path in glob.glob(pattern % place)]


def sandboxes_of(place):
    """The control groups that sandboxes, or their users, have left there. What is around these a service keeps while it is installed."""
    return [os.path.join(group, name) for group in groups_of(place) for name in subgroups_of(group) if name != 'helpers']


def subgroups_of(group):
    try:
        return [entry.name for entry in os.scandir(group) if entry.is_dir()]
    except FileNotFoundError:
        return []


def members_of(group):
    found = set()
    for path, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in read(path + '/cgroup.procs').split())
    return found


def remove_groups(place):
    """Whether none is left at a place, after what is in them was killed."""
    for group in groups_of(place):
        for pid in members_of(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)
    return not groups_of(place)


def processes_of(run):
    """Processes outside of sandboxes that belong to a run: by its mark in their environment. proc_pid_environ(5)"""
    found, mark = [], ('%s=%s' % (RUN_VARIABLE, run)).encode()
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                with open('/proc/%s/environ' % name, 'rb') as file:
                    if mark in file.read().split(b'\0'):
                        found.append(int(name))
    return found


class Remains:
    """Of one run of the tests: its mark, and the places and the folder that it uses."""

    def __init__(self, run, places, folder):
        self.run, self.places, self.folder = run, places, folder

    def users(self):
        names = tuple('yett-test-%d-' % place for place in self.places)
        return [line.split(':')[0] for line in read('/etc/passwd').splitlines() if line.startswith(names)]

    def memory_files(self):
        return [path for place in self.places for path in glob.glob('/dev/shm/yett-test-%d-*' % place)]

    def found(self):
        """What is there now, as lists by kind."""
        settings.left(repair=True)  # of those who had a setting, and had not quite ended when take_away() looked
        groups = [group for place in self.places for group in groups_of(place)]
        inside = [pid for group in groups for pid in members_of(group)]
        return {
            'processes': sorted({*processes_of(self.run), *inside}),
            'users': self.users(),
            'control groups': groups,
            'mounts': [line for line in read('/proc/self/mountinfo').splitlines() if self.folder in line],
            'files': [path for path in (self.folder, *self.memory_files()) if os.path.exists(path)],
            'settings': settings.left(),
        }

    def take_away(self):
        for pid in processes_of(self.run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for place in self.places:
            with contextlib.suppress(AssertionError):
                waiting.wait_until(lambda place=place: remove_groups(place), 'the removal of control groups')
        with contextlib.suppress(AssertionError):
            waiting.wait_until(lambda: not processes_of(self.run), 'the end of processes')
        for user in self.users():
            subprocess.run(['userdel', '--force', user], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for path in (self.folder, *self.memory_files()):
            shutil.rmtree(path, ignore_errors=True)
        settings.left(repair=True)

    def line(self):
        """«left behind: nothing», or what and how much of it."""
        found = self.found()
        if not any(found.values()):
            return 'left behind: nothing (%s)' % ', '.join('0 ' + kind for kind in KINDS)
        return 'left behind: ' + ', '.join('%d %s (%s)' % (len(found[kind]), kind, ', '.join(map(str, found[kind][:3]))) if found[kind] else '0 ' + kind
                                           for kind in KINDS)
