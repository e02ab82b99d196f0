#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one account can make another one wait: crowd.py JSON-LINES [RUNS]   (as root; BUILD in YETT_BUILD_ROOT)

A service of its own, as installed, and two ordinary users. One runs `yett run -- true` RUNS times (default 40) while the other one
does nothing, keeps processors busy without Yett, or attacks (attack.c); before each of these comes a quiet series, so that the
machine's own drift shows. What processes cost that never come near the helper is the figure to compare an attack with.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import yett  # noqa: E402

CONFINED = '\ngrant "confined" {\n  users = {"*"}\n  keys = {"*"}\n  confined_clients = true\n  profiles = {"default"}\n}\n'
ROWS = [  # what the other one does, kind and count of attack.c
    ('1 busy process, without Yett', 'busy', 1), ('4 busy processes, without Yett', 'busy', 4),
    ('64 busy processes, without Yett', 'busy', 64), ('297 connections that linger', 'linger', 297),
    ('2,048 of eight subuids, not at Yett', 'elsewhere', 256), ('2,048 connections of eight subuids', 'subuids', 256),
    ('connecting and closing, 4 processes', 'loop', 4),
    ('64 connections of refused creates', 'refused', 64), ('64 loops of true, without Yett', '/bin/true', 64),
    ('8 loops of yett run', 'yett run -- true', 8), ('32 loops of yett run', 'yett run -- true', 32), ('64 loops of yett run', 'yett run -- true', 64),
    ('64 loops of a refused yett run', 'yett run --memory 1000T -- true', 64)]
ROWS_CONFINED = [('2,048 of eight subuids, where they may', 'subuids', 256)]


class Crowd:
    def __init__(self, service, runs, lines):
        self.service, self.runs, self.lines = service, runs, lines
        self.victim, self.other = service.user(1), service.user(2)
        for user in (self.victim, self.other):
            service.enter_key(user)
        self.attacker = service.run_.path('attack')
        shutil.copy(os.path.join(os.environ['YETT_BUILD_ROOT'], 'tests/bench/attack'), self.attacker)

    def measure(self):
        """Milliseconds of the median run and of the slowest, and how many failed; those count as long as they took."""
        times, failed = [], 0
        for _ in range(self.runs):
            start = time.monotonic()
            failed += self.service.run(self.victim, self.service.yett, 'run', '--', 'true').code != 0
            times.append((time.monotonic() - start) * 1000)
        return statistics.median(times), max(times), failed

    def attacker_of(self, kind, count):
        """The argv of attack.c; or of a shell that has so many loops of a command."""
        command = kind.replace('yett ', self.service.yett + ' ')
        loops = 'for i in $(seq %d); do (while :; do %s; done) >/dev/null 2>&1 & done; echo ready; wait' % (count, command)
        return ('/bin/bash', '-c', loops) if ' ' in kind or '/' in kind else (self.attacker, kind, str(count))

    def attacked(self, kind, count):
        process = self.service.popen(self.other, *self.attacker_of(kind, count), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            assert process.stdout.readline() == b'ready\n', kind
            if kind in ('subuids', 'elsewhere'):
                self.map_subuids(process)
            time.sleep(1)  # until it is in full swing; this measures, it is no test
            return self.measure()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def map_subuids(self, process):
        for name in ('uid_map', 'gid_map'):
            with open('/proc/%d/%s' % (process.pid, name), 'w', encoding='ascii') as file:
                file.write('0 2000000 65536\n')
        process.stdin.write(b'\n')
        process.stdin.flush()
        assert process.stdout.readline() == b'ready\n'

    def row(self, name, kind, count):
        quiet, _, _ = self.measure()
        median, slowest, failed = self.attacked(kind, count)
        with open(self.lines, 'a', encoding='ascii') as out:
            out.write(json.dumps({'case': 'beside ' + name, 'ours_ms': median, 'peer': 'quiet', 'peer_ms': quiet, 'ratio': median / quiet}) + '\n')
        print('%-40s %9.1f %9.1f %7.2f %9.1f%s' % (name, quiet, median, median / quiet, slowest, '  %d failed' % failed if failed else ''), flush=True)
        yett.wait_until(lambda: not self.service.connections(), 'the end of all connections')


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    os.environ.setdefault('YETT_BUILD_ROOT', os.path.join(yett.SOURCE, 'build'))
    print('%-40s %9s %9s %7s %9s' % ('`yett run -- true` of another user, ms', 'quiet', 'median', 'ratio', 'slowest'))
    for before, rows in (('', ROWS), (CONFINED, ROWS_CONFINED)):
        with yett.Service(before=before, spares=4) as service:
            crowd = Crowd(service, runs, sys.argv[1])
            crowd.measure()
            for row in rows:
                crowd.row(*row)


if __name__ == '__main__':
    main()
