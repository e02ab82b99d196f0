#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the host's memory a sandbox takes that its limit does not count: objects.py JSON-LINES [KIND…]   (as root; BUILD in YETT_BUILD_ROOT)

A service of its own, and one ordinary user, whose sandboxes have 64 MiB each. In one after the other a command makes many of one kind of what
the kernel keeps for processes (objects.c), until there are no more to be had or the limit ends it. Meanwhile the host's memory in use is
compared with what the control group of the user is charged. On a machine that does nothing else: all that others take in that moment counts.
Exit status 1 where a kind takes more than EXPECTED says.
"""
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import yett  # noqa: E402

COUNT, LIMIT = 200000, '64M'
FILES = str(min(1048576, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))  # of a process; other ones can have as many
FEWER = {'lock': 20000, 'ofd-lock': 20000}  # of which each takes longer than the one before
NOISE_MIB = 16  # what the machine does by itself meanwhile, and what the kernel gives back later
# What is more, in MiB, and why it can be no less. SECURITY.md has the same.
EXPECTED = {'full-tcp': (192, 'version 1 counts what lies in connections, and then lets senders exceed its limit: seen from none to 117'),
            'netlink-unread': (192, 'answers of the kernel that nobody reads: seen from none to 121'),
            'full-udp': (128, 'version 1 does not count what lies in sockets of UDP')}


def host_mib():
    """Memory that is neither free nor a copy of what lies on a disk."""
    rows = dict(line.split(':') for line in yett.read('/proc/meminfo').splitlines())
    kib = {name: int(value.split()[0]) for name, value in rows.items()}
    return (kib['MemTotal'] - kib['MemFree'] - kib['Buffers'] - kib['Cached'] + kib['Shmem'] - kib['SwapCached']) / 1024


class Charge:
    """What the control group of a user is charged for."""

    def __init__(self, service, uid):
        below = '%s/user-%d' % (service.cgroup, uid)
        self.paths = ['/sys/fs/cgroup%s/memory.current' % below, '/sys/fs/cgroup/memory%s/memory.usage_in_bytes' % below]

    def mib(self):
        for path in self.paths:
            with contextlib.suppress(OSError):
                return int(yett.read(path)) / (1 << 20)
        return 0


def settle():
    """The host's memory when nothing of the sandbox before is left, which the kernel takes its time for."""
    seen = [host_mib()]

    def is_still():
        seen.append(host_mib())
        return len(seen) > 20 and max(seen[-20:]) - min(seen[-20:]) < 2
    yett.wait_until(is_still, 'a machine at rest')
    return seen[-1]


def measure(service, user, program, kind):
    """Made, why no more, and MiB: the most that were charged, and the most that were taken besides."""
    charge, before = Charge(service, user.uid), settle()
    process = service.popen(user, service.yett, 'run', '--memory', LIMIT, '--files', FILES, '--ro', os.path.dirname(program), '--', program, kind, str(FEWER.get(kind, COUNT)),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    os.set_blocking(process.stdout.fileno(), False)
    most, beside, line = 0, 0, b''
    while process.poll() is None and not line.endswith(b'\n'):
        charged, taken = charge.mib(), host_mib() - before
        if charged >= 0.9 * most:  # else the limit has just ended it, and the host is given back later what is not charged any more
            most, beside = max(most, charged), max(beside, taken - charged)
        line += process.stdout.read() or b''
    process.stdin.close()
    process.wait(yett.DEADLINE)
    made, _, why = line.decode().strip().partition(' ')
    return int(made or 0), why or 'memory ran out', most, beside


def main():
    path, kinds = sys.argv[1], sys.argv[2:]
    wrong = []
    with yett.Service() as service:
        user = service.user(1)
        service.enter_key(user)
        program = os.path.join(user.home, 'bin', 'objects')
        os.mkdir(os.path.dirname(program))
        shutil.copy(os.path.join(os.environ['YETT_BUILD_ROOT'], 'tests/bench/objects'), program)
        kinds = kinds or subprocess.run([program, 'list'], capture_output=True, text=True, check=True).stdout.split()
        print('%-22s %9s  %-32s %8s %8s' % ('kind', 'made', 'then', 'charged', 'besides'))
        for kind in kinds:
            made, why, charged, beside = measure(service, user, program, kind)
            most = EXPECTED.get(kind, (0, ''))[0] + NOISE_MIB
            print('%-22s %9s  %-32s %6.0f M %6.0f M%s' % (kind, made or '', why, charged, max(beside, 0), '  more than %d' % most if beside > most else ''))
            if beside > most:
                wrong.append(kind)
            with open(path, 'a', encoding='utf-8') as file:
                file.write(json.dumps({'case': 'many of a kind: ' + kind, 'made': made, 'then': why,
                                       'charged_mib': round(charged, 1), 'beside_mib': round(max(beside, 0), 1)}) + '\n')
    return 1 if wrong else 0


if __name__ == '__main__':
    yett.STAGED += ('tests/bench/objects',)
    sys.exit(main())
