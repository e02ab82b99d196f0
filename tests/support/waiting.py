# SPDX-License-Identifier: Apache-2.0
"""
How long a test waits for an event: far longer than this machine needs at its present load.

A short loop of work measures the machine when a test program starts, and again before a wait is given up. The runner of the tests
passes its own measurement on in YETT_TEST_DEADLINE_S, so that programs in C (waiting.h) wait as long.
"""
import faulthandler
import os
import select
import subprocess
import tempfile
import time

LEAST_S = 60  # on a machine that is quick and idle
MOST_S = 900
# What each part of the measurement takes on a slow machine that is idle. A quick one takes a third of that.
STARTS, START_S = 5, 0.006
COUNTS, COUNT_S = 200000, 0.03
SYNC_S = 0.03
VARIABLE = 'YETT_TEST_DEADLINE_S'
LIMIT_VARIABLE = 'YETT_TEST_LIMIT_S'  # after so long the runner ends the program


def seconds_of(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def start_processes():
    for _ in range(STARTS):
        subprocess.run(['/bin/true'], stdin=subprocess.DEVNULL, check=True)


def count():
    number = 0
    while number < COUNTS:
        number += 1


def sync_file():
    with tempfile.TemporaryFile() as file:
        file.write(b'x')
        file.flush()
        os.fsync(file.fileno())


def slowdown():
    """How many times longer than on an idle machine things take now; at least 1."""
    return max(1.0, seconds_of(start_processes) / (STARTS * START_S), seconds_of(count) / COUNT_S, seconds_of(sync_file) / SYNC_S)


def deadline_s():
    """Seconds until a test gives up on an event that never comes, by the present load."""
    return round(min(MOST_S, LEAST_S * slowdown()))


def tell_when_hung():
    """Shortly before the runner ends this program, where that is: on standard error, for each thread."""
    limit = int(os.environ.get(LIMIT_VARIABLE) or 0)
    if limit:
        faulthandler.dump_traceback_later(limit * 0.95)


# At the start of this program, or what the runner found if that is longer. Programs that this one starts get it, too.
DEADLINE = max(deadline_s(), int(os.environ.get(VARIABLE) or 0))
os.environ[VARIABLE] = str(DEADLINE)


def load_line():
    """Load and free memory at this moment, for the report of a failure."""
    with open('/proc/loadavg', encoding='ascii') as file:
        load = ' '.join(file.read().split()[:3])
    with open('/proc/meminfo', encoding='ascii') as file:
        free = next(line.split()[1] for line in file if line.startswith('MemAvailable'))
    return 'load %s, %d MiB of memory free' % (load, int(free) >> 10)


def wait_until(condition, what):
    """
    Calls `condition` until its result is true, and returns that result. AssertionError with `what` after the deadline, which is
    measured anew before the wait is given up. For events that have no descriptor to poll.
    """
    began, limit = time.monotonic(), DEADLINE
    while True:
        looked = time.monotonic()
        found = condition()
        if found:
            return found
        now = time.monotonic()
        if now - began > limit:
            again = deadline_s()
            if now - began > again:
                raise AssertionError('this never came in %d s: %s (%s)' % (now - began, what, load_line()))
            limit = again
        # As long as the condition took: the processes that are waited for need the processor, too.
        select.select([], [], [], max(0.002, now - looked))
