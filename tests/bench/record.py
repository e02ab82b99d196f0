#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command costs whose start and end the audit records: record.py JSON-LINES [ROUNDS]   (as root; BUILD in YETT_BUILD_ROOT)

One ordinary user runs commands one after the other in one sandbox, by a service whose policy records them and does not, in turns. The
records are below /tmp, on the disk of the machine.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import audit_create  # noqa: E402
import rows  # noqa: E402
import yett  # noqa: E402

EACH = 100  # commands of a round
POLICY = 'helper {\n  audit = %s\n  audit_dir = "%s"\n  audit_user_size = unlimited\n  %s\n}\n'
RECORDS = {'not recorded': ('best_effort', ''), 'recorded': ('best_effort', 'record = {"commands"}'),
           'recorded, audit required': ('required', 'record = {"commands"}')}


def do(client, words):
    client.stdin.write((words + '\n').encode())
    client.stdin.flush()
    assert client.stdout.readline() == b'done\n', client.stderr.read()


def measure(service, user):
    """Milliseconds of a command, its output kept and asked for."""
    client = service.popen(user, service.run_.path('tests/system/load'), stdin=-1, stdout=-1, stderr=-1)
    do(client, 'row 20')
    before = time.monotonic()
    do(client, 'row %d' % EACH)
    taken = time.monotonic() - before
    client.stdin.close()
    assert client.wait() == 0
    return taken * 1000 / EACH


def main():
    told = rows.Rows(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    os.environ.setdefault('YETT_BUILD_ROOT', os.path.join(yett.SOURCE, 'build'))
    place = yett.run_of_process().path('record')
    times = {name: [] for name in RECORDS}
    with yett.Service(spares=2) as service:
        user = service.user(1)
        service.enter_key(user)
        for _ in range(rounds):
            for name, (audit, record) in RECORDS.items():
                service.write_policy(POLICY % (audit, place, record))
                service.reload()
                times[name].append(measure(service, user))
        for name in list(RECORDS)[1:]:
            told.tell('a command in a sandbox', 'in turns, ' + name, times[name], 'not recorded', times['not recorded'], None)
    audit_create.forget(place)


if __name__ == '__main__':
    main()
