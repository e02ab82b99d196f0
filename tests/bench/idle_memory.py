#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sandboxes cost in memory, idle ones and ready ones: idle_memory.py LISTENER-PID JSON-LINES COUNT -- COMMAND

COMMAND holds COUNT idle sandboxes and prints "held". The proportional set sizes of the listener and all below it are added up
before and then, so that everything a sandbox needs is counted. A ready one is told by the process that is the first of a pid
namespace: before, nobody has a sandbox, so each of these is ready. It costs what its supervisor and all below that do; what there
are more or fewer of them in the end is not charged to those that are held.
"""
import json
import os
import subprocess
import sys
import time

WANTED_KIB = 1024


def processes():
    """pid -> parent pid of every process that lives."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    return parents


def pss_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return 0


def pid_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def below(parents, root):
    """`root` and all below it."""
    found = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def look(root):
    """KiB of all, and of each supervisor of a sandbox, idle or ready, with all below it."""
    parents = processes()
    everything = below(parents, root)
    sizes = {pid: pss_kib(pid) for pid in everything}
    namespaces = {pid: pid_namespace(pid) for pid in everything}
    supervisors = {parents[pid] for pid in everything if pid != root and namespaces[pid] and namespaces[pid] != namespaces[parents[pid]]}
    return sum(sizes.values()), [sum(sizes.get(pid, 0) for pid in below(parents, supervisor)) for supervisor in supervisors]


def settled(root):
    """What there is once there are as many sandboxes as in the look before, and their size is the same but for 1 %."""
    before = look(root)
    while True:
        time.sleep(1)
        now = look(root)
        if len(now[1]) == len(before[1]) and abs(now[0] - before[0]) * 100 <= before[0]:
            return now
        before = now


def write_case(path, name, kib, wanted_kib):
    with open(path, "a") as out:
        case = {"case": name, "ours_kib": kib}
        if wanted_kib:
            case.update({"peer": "wanted KiB", "peer_kib": wanted_kib, "ratio": kib / wanted_kib})
        out.write(json.dumps(case) + "\n")


def main():
    listener, lines, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    empty, ready = settled(listener)
    with subprocess.Popen(sys.argv[5:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        full, both = settled(listener)
        holder.stdin.close()
    ready_each = sum(ready) / len(ready) if ready else 0
    more_ready = len(both) - count - len(ready)
    each = (full - empty - more_ready * ready_each) / count
    print(f"idle sandbox, its whole share of all processes: {each:.0f} KiB (wanted at most {WANTED_KIB}), of {count}")
    write_case(lines, f"idle sandbox, KiB of {count}", each, WANTED_KIB)
    if ready:
        print(f"ready sandbox: {ready_each:.0f} KiB, of {len(ready)}; with the others held there were {len(both) - count}")
        write_case(lines, f"ready sandbox, KiB of {len(ready)}", ready_each, 0)
    else:
        print("no sandbox was ready")


main()
