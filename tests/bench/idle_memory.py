#!/usr/bin/env python3
"""What an idle sandbox costs in memory: idle_memory.py LISTENER-PID JSON-LINES COUNT -- COMMAND

COMMAND holds COUNT idle sandboxes and prints "held". The proportional set sizes of the listener and all below it are
added up before and then, and the difference is shared out, so that everything a sandbox needs is counted.
"""
import json
import subprocess
import sys
import time


def processes():
    """pid -> parent pid of every process that lives."""
    parents = {}
    for entry in __import__("os").listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    return parents


def pss_kib(pid):
    try:
        for line in open(f"/proc/{pid}/smaps_rollup"):
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def tree_kib(root):
    parents = processes()
    total = 0
    for pid in parents:
        at = pid
        while at in parents and at != root:
            at = parents[at]
        if at == root:
            total += pss_kib(pid)
    return total


def settled(root):
    """The size once it has not changed by more than 1 % between two looks."""
    before = tree_kib(root)
    while True:
        time.sleep(1)
        now = tree_kib(root)
        if abs(now - before) * 100 <= before:
            return now
        before = now


listener, lines, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
empty = settled(listener)
holder = subprocess.Popen(sys.argv[5:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert holder.stdout.readline() == "held\n"
full = settled(listener)
holder.stdin.close()
holder.wait()
each = (full - empty) / count
print(f"idle sandbox, its whole share of all processes: {each:.0f} KiB (wanted at most 1536), of {count}")
with open(lines, "a") as out:
    out.write(json.dumps({"case": f"idle sandbox, KiB of {count}", "ours_ms": each, "peer": "wanted KiB", "peer_ms": 1536, "ratio": each / 1536}) + "\n")
