#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What many live sandboxes cost: many.py LISTENER-PID CGROUP RUNTIME-DIR JSON-LINES CLI N... -- COMMAND

COMMAND (many.c, as an ordinary user) holds N idle sandboxes, more in each step, and says how long the Nth took to create;
then `yett ps` is timed. All that a sandbox is made of is counted before and after.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import time

MEMORY_NEEDED_KIB = 3 << 20
PS_TRIES = 5
GONE_SECONDS = 60


def read(path):
    with open(path) as file:
        return file.read()


def memory_available_kib():
    return next(int(line.split()[1]) for line in read('/proc/meminfo').splitlines() if line.startswith('MemAvailable:'))


def cgroups(name):
    return [d for pattern in ('/sys/fs/cgroup', '/sys/fs/cgroup/*') for top in glob.glob(pattern + '/' + name)
            for d, _, _ in os.walk(top)]


def processes(name, listener):
    """Those below the listener, and those in its cgroups whoever their parent is."""
    parents, found = {}, set()
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                fields = read('/proc/%s/stat' % entry).rsplit(')', 1)[1].split()
                here = name in read('/proc/%s/cgroup' % entry)
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
            if here:
                found.add(int(entry))
    for pid in parents:
        at = pid
        while at in parents and at != listener:
            at = parents[at]
        if at == listener:
            found.add(pid)
    return found


def inventory(listener, name, runtime):
    return {'processes': len(processes(name, listener)), 'mounts': len(read('/proc/%d/mountinfo' % listener).splitlines()),
            'cgroups': len(cgroups(name)), 'runtime files': sum(len(files) for _, _, files in os.walk(runtime))}


def settled(look, wanted=None):
    """What there is once it has been the same for two seconds, or what is wanted."""
    before, since, start = look(), time.monotonic(), time.monotonic()
    while before != wanted and (time.monotonic() - since < 2 if wanted is None else time.monotonic() - start < GONE_SECONDS):
        time.sleep(0.1)
        now = look()
        if now != before:
            before, since = now, time.monotonic()
    return before


def hold(command, steps, held):
    """Runs COMMAND, calls `held` at each step, and returns when it has destroyed everything: how long that took."""
    process = subprocess.Popen(command + ['steps'] + [str(n) for n in steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for n in steps:
        words = process.stdout.readline().split()
        assert words[:2] == ['held', str(n)], words
        held(n, float(words[2]))
        process.stdin.write('\n')
        process.stdin.flush()
    words = process.stdout.readline().split()
    assert process.wait() == 0 and words[0] == 'destroyed', words
    return float(words[1])


def time_ps(prefix, cli, n):
    times = []
    for _ in range(PS_TRIES):
        before = time.monotonic()
        done = subprocess.run(prefix + [cli, 'ps'], stdout=subprocess.PIPE, text=True, check=True)
        times.append((time.monotonic() - before) * 1000)
        assert len(done.stdout.splitlines()) == n + 1, done.stdout
    return statistics.median(times)


def main():
    listener, name, runtime, lines, cli = int(sys.argv[1]), *sys.argv[2:6]
    split = sys.argv.index('--')
    steps, command = [int(n) for n in sys.argv[6:split]], sys.argv[split + 1:]
    created, listed = {}, {}

    if memory_available_kib() < MEMORY_NEEDED_KIB:
        print('not measured: %d sandboxes: %d MiB of memory are free, wanted %d' %
              (steps[-1], memory_available_kib() >> 10, MEMORY_NEEDED_KIB >> 10))
        return

    def held(n, create_ms):
        created[n], listed[n] = create_ms, time_ps(command[:-1], cli, n)
        print('%5d idle sandboxes: creating that one %.2f ms (%.2f of the %dth), yett ps %.1f ms' %
              (n, create_ms, create_ms / created[steps[0]], steps[0], listed[n]), flush=True)

    hold(command, steps[:1], lambda n, ms: None)  # what is made once, and what is kept ready
    look = lambda: inventory(listener, name, runtime)
    before = settled(look)
    destroyed_ms = hold(command, steps, held)
    after = settled(look, before)
    print('destroyed one by one in %.0f ms' % destroyed_ms)
    print('before and after: ' + ', '.join('%s %d and %d' % (what, before[what], after[what]) for what in before))
    first, last = steps[0], steps[-1]
    per = last / 1000
    for case in ({'case': 'the %dth idle sandbox, create' % last, 'ours_ms': created[last], 'peer': 'the %dth' % first,
                  'peer_ms': created[first], 'ratio': created[last] / created[first]},
                 {'case': 'yett ps, for each 1,000 of %d' % last, 'ours_ms': listed[last] / per, 'peer': 'wanted ms', 'peer_ms': 100,
                  'ratio': listed[last] / per / 100}):
        with open(lines, 'a') as out:
            out.write(json.dumps(case) + '\n')
    if after != before:
        sys.exit('bench: something is left')


main()
