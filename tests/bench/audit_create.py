#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs that a sandbox is written down before it is handed over: audit_create.py JSON-LINES [ROUNDS]   (as root; BUILD in YETT_BUILD_ROOT)

A service of its own, whose policy has `audit = required` and is without, in turns, and one ordinary user who makes sandboxes. The records
are below /tmp, on the disk of the machine.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import rows  # noqa: E402
import yett  # noqa: E402

EACH = 25  # sandboxes of a round


def measure(service, user, program):
    """Milliseconds to the end of a first command, of sandboxes made one after the other on one connection."""
    done = service.run(user, program, str(EACH), 'default', env={'LD_LIBRARY_PATH': service.run_.path('libclient')})
    assert done.code == 0, done
    return float(done.out.split()[0])


def forget(records):
    subprocess.run(['chattr', '-R', '-a', records], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(records, ignore_errors=True)


def main():
    told = rows.Rows(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    os.environ.setdefault('YETT_BUILD_ROOT', os.path.join(yett.SOURCE, 'build'))
    places = {'off': None, 'on disk': yett.run_of_process().path('audit'), 'in memory': '/dev/shm/yett-bench-audit-%d' % os.getpid()}
    times = {name: [] for name in places}
    with yett.Service(spares=2) as service:
        user = service.user(1)
        program = service.run_.path('create')
        shutil.copy(os.path.join(os.environ['YETT_BUILD_ROOT'], 'tests/bench/create'), program)
        service.enter_key(user)
        for _ in range(rounds):
            for name, place in places.items():
                service.write_policy(place and 'helper {\n  audit = required\n  audit_dir = "%s"\n}\n' % place or '')
                service.reload()
                measure(service, user, program)
                times[name].append(measure(service, user, program))
        for name in ('on disk', 'in memory'):
            told.tell('sandbox and command, audit required', 'in turns, records ' + name, times[name], 'audit off', times['off'], 1.05)
    for place in filter(None, places.values()):
        forget(place)


if __name__ == '__main__':
    main()
