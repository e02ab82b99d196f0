#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it takes until a record of the audit is on disk, and to verify some: audit.py JSON-LINES [ROUNDS]   (as root; BUILD in YETT_BUILD_ROOT)

Tellers of yett-audit alone, without a helper: each connects, tells of a sandbox and waits for the answer, COUNT times. On the disk of the
temporary files. Medians of the rounds count.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import auditing  # noqa: E402
from rows import Rows  # noqa: E402

COUNT = 1000
EACH_MS = 0.2  # of 16 that tell at once: 5,000 a second


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows = Rows(sys.argv[1])
    times = {1: [], 16: []}
    answers = []
    audit = auditing.Audit(user_bytes=0).start()
    try:
        with audit.kept():
            for _ in range(rounds):
                for clients, told in times.items():
                    failures, per_second, median_us, _ = audit.measure(clients, COUNT)
                    if failures:
                        raise RuntimeError('not measured: %d failed' % failures)
                    told.append(1000 / per_second)
                    if clients > 1:
                        answers.append(median_us / 1000)
        audit.stop()
        size = sum(os.path.getsize(os.path.join(audit.folder, name)) for name in audit.segments())
        before = time.monotonic()
        subprocess.run([auditing.program('cli/yett'), 'audit', 'verify', '--dir', audit.folder], check=True, stdout=subprocess.DEVNULL)
        taken = (time.monotonic() - before) * 1000
    finally:
        audit.remove()
    rows.tell('a record of the audit on disk', '16 tell at once', times[16], '', None, EACH_MS)
    rows.tell('a record of the audit on disk', 'one tells', times[1], '', None, None)
    rows.tell('a record of the audit', 'until the answer, of 16', answers, '', None, None)
    rows.tell('verifying records of the audit', '1 MiB', taken / (size / (1 << 20)), '', None, None)


main()
