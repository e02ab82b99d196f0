# SPDX-License-Identifier: Apache-2.0
"""Circles between files: circles.py [ROOT] prints them.

A stem is x.c with x.h. It depends on another stem if x.c or x.h includes that stem's header. Stems that depend on each other,
directly or through others, are a circle.
"""
import os
import re
import sys

import includes

FOLDERS = ("base", "protocol", "helper", "programs", "libclient", "workspace", "checkpoint", "cli", "agent")

# Circles that are left: the names of their stems, and why they are there.
LEFT = [
    ({"work", "work_cover", "work_layers", "work_pending"},
     "one module in several files: work.h is the header of all of them"),
    ({"audit", "egress", "making", "setup", "template"}, "helper/setup: setup.h has the state that its parts share, and calls them"),
    ({"registry", "reserve"}, "helper/setup: reserve.h has the type that registry.h returns"),
    ({"life", "supervisor"}, "helper/supervisor: supervisor.h has the state that life.c works on"),
]


def stem(path):
    return os.path.splitext(path)[0]


def private_headers(files):
    """{stem of y: stem of x} for each y.h that only x.c and x_*.c beside it include, and that has no y.c: it is a part of x."""
    owners = {}
    for header in files:
        folder, name = os.path.split(header)
        if not name.endswith(".h") or stem(header) + ".c" in files:
            continue
        users = [path for path, headers in files.items() if header in headers]
        for path in users:
            first = os.path.basename(stem(path))
            if path.endswith(".c") and name.startswith(first + "_") and all(
                    os.path.dirname(user) == folder and re.fullmatch(re.escape(first) + r"(_\w+)?\.c", os.path.basename(user)) for user in users):
                owners[stem(header)] = stem(path)
    return owners


def dependencies(root):
    """{stem: {stem that it depends on: the file that includes it}}"""
    files = {path: set() for folder in FOLDERS for path in includes.sources(root, folder)}
    for path, headers in files.items():
        headers.update(header for kind, header in includes.included(os.path.join(root, path)) if kind == '"' and header in files)
    owners = private_headers(files)
    graph = {}
    for path, headers in sorted(files.items()):
        of = owners.get(stem(path), stem(path))
        for header in sorted(headers):
            to = owners.get(stem(header), stem(header))
            if to != of:
                graph.setdefault(of, {}).setdefault(to, path)
    return graph


def reachable(graph, start):
    found, new = set(), [start]
    while new:
        for to in graph.get(new.pop(), ()):
            if to not in found:
                found.add(to)
                new.append(to)
    return found


def circles(graph):
    """The circles, each as a sorted list of stems, the largest first."""
    reached = {one: reachable(graph, one) for one in graph}
    found = {tuple(sorted(other for other in reached[one] if one in reached.get(other, ()))) for one in graph if one in reached[one]}
    return sorted(map(list, found), key=lambda one: (-len(one), one))


def is_left(circle):
    return any({os.path.basename(one) for one in circle} <= names for names, _ in LEFT)


def report(root):
    """Each circle that is not in LEFT, with the includes that make it."""
    graph = dependencies(root)
    return [", ".join(f"{one} includes {to}.h" for one in circle for to in graph[one] if to in circle)
            for circle in circles(graph) if not is_left(circle)]


if __name__ == "__main__":
    GRAPH = dependencies(sys.argv[1] if len(sys.argv) > 1 else ".")
    for CIRCLE in circles(GRAPH):
        print(f"{len(CIRCLE)} files{' (left)' if is_left(CIRCLE) else ''}")
        for ONE in CIRCLE:
            print(f"  {ONE}: " + ", ".join(f"{TO} ({GRAPH[ONE][TO]})" for TO in GRAPH[ONE] if TO in CIRCLE))
