# SPDX-License-Identifier: Apache-2.0
"""What the measurements in Python share: commands run and timed, and a row of the table, printed and written down."""
import json
import statistics
import subprocess
import time


def run(*argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, **more).stdout


def timed(*commands, **more):
    """In milliseconds, with what they print read and thrown away."""
    before = time.monotonic()
    for command in commands:
        run(*command, **more)
    return (time.monotonic() - before) * 1000


class Rows:
    def __init__(self, path):
        self.path = path

    def known(self, case):
        """What another measurement has written down, in milliseconds."""
        with open(self.path, encoding='utf-8') as file:
            return next(row['ours_ms'] for row in map(json.loads, file) if case in row['case'])

    def tell(self, what, how, ours, peer, peer_ms, wanted):
        """Of lists the medians. `wanted` is a ratio; without a peer, milliseconds; None: told only."""
        ours, peer_ms = (statistics.median(times) if isinstance(times, list) else times for times in (ours, peer_ms or 0))
        ratio = ours / peer_ms if peer_ms else ours
        print('%-42s %-32s %8.3f %8.3f  %-12s %6.2f%s' % (
            what, how, ours, peer_ms, peer, ratio, ' (at most %.2f wanted)%s' % (wanted, ' MISSED' * (ratio > wanted)) if wanted else ''))
        with open(self.path, 'a', encoding='utf-8') as file:
            file.write(json.dumps({'case': f'{what}, {how}', 'ours_ms': ours, 'peer': peer, 'peer_ms': peer_ms, 'ratio': ratio}) + '\n')
