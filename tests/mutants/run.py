#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Whether `make check` finds faults: applies those of faults.py one by one, and runs tests until one fails.

Usage: run.py FOLDER [--only NAME…] [--list] [--narrow] [--processes N]

FOLDER is made, and holds a copy of the committed tree with a build of its own; it is used again when it is there. For each fault the
suites that faults.py names for it run until one fails; then all others of `make check`, but not with --narrow. A fault counts as found
when the case that failed fails once more, alone, and passes at the end of it all, without the fault. N commands compile side by side
(the number of processors).

Prints a line for each fault, and "N found, N not found" at the end. Exit status 1 when a fault was not found, 2 when one does not fit
into the code or does not compile.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import faults  # noqa: E402

# Suites that look at the text of the sources: they would find any change.
OF_THE_TEXT = ('mutants', 'structure')
# Where programs are that no suite but those there uses.
APART = ('tests/unit/', 'tests/fuzz/', 'tests/bench/', 'tests/guest/')
FAILED = re.compile(r'^failed: (.*)$', re.M)
# For how long a test of the copy waits at most: with a fault, what it waits for may never come.
PATIENCE = ('tests/support/waiting.py', 'MOST_S = 900', 'MOST_S = 60')


class Misfit(Exception):
    """A fault that cannot be tried."""


def call(argv, folder, log):
    """Exit status of a program, which ends in order when this one is to end: tools/test then takes away what its tests have made."""
    process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def give_up(*_):
    sys.exit('stopped')


def changed(path, text, old, new):
    """A text with `new` in the place of `old`, which it holds once. Where clang-format breaks the line does not matter."""
    pieces = re.findall(r'\s+|\(|[^\s(]+', old)
    found = re.findall(''.join(r'\s+' if piece.isspace() else r'\(\s*' if piece == '(' else re.escape(piece) for piece in pieces), text)
    if len(found) != 1:
        raise Misfit('%s holds %r %d times' % (path, old, len(found)))
    return text.replace(found[0], new)


def read_json(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return json.load(file)


class Tree:
    """A copy of what is committed, with its build."""

    def __init__(self, folder, processes):
        self.folder, self.build, self.processes = folder, os.path.join(folder, 'build'), processes

    def prepare(self):
        if not os.path.exists(self.folder):
            subprocess.run(['git', 'clone', '--quiet', SOURCE, self.folder], check=True)
        subprocess.run(['git', 'fetch', '--quiet', SOURCE, 'HEAD'], cwd=self.folder, check=True)
        subprocess.run(['git', 'reset', '--quiet', '--hard', 'FETCH_HEAD'], cwd=self.folder, check=True)
        self.change(*PATIENCE)
        with open(os.path.join(self.folder, 'build.log'), 'w', encoding='utf-8') as log:
            if call(['make', '--no-print-directory', 'configured'], self.folder, log) != 0 or not self.make([], log):
                raise Misfit('the tree does not build: see ' + log.name)
        self.tests = {row['name']: row for row in read_json(self.build, 'meson-info/intro-tests.json')}
        self.targets = read_json(self.build, 'meson-info/intro-targets.json')

    def change(self, path, old, new):
        """Puts a piece of text in the place of another. What the file held."""
        whole = os.path.join(self.folder, path)
        with open(whole, encoding='utf-8') as file:
            text = file.read()
        with open(whole, 'w', encoding='utf-8') as file:
            file.write(changed(path, text, old, new))
        return text

    def make(self, targets, log):
        return call(['ninja', '-C', self.build, '--quiet', '-j%d' % self.processes, *targets], self.folder, log) == 0

    def programs_of(self, suite):
        """What a suite needs, for ninja: a unit test its own program, the others all programs but those of unit tests and measurements."""
        def is_wanted(target):
            if suite.startswith('unit-'):
                return target['id'] in self.tests[suite]['depends']
            where = os.path.relpath(target['defined_in'], self.folder)
            return target['type'] in ('executable', 'shared library', 'shared module') and not where.startswith(APART)
        return [os.path.relpath(path, self.build) for target in self.targets if is_wanted(target) for path in target['filename']]

    def suites_of_check(self):
        done = subprocess.run(['tools/test', '--build', self.build, '--list', 'check'], cwd=self.folder, capture_output=True, text=True, check=True)
        return [line.split()[0] for line in done.stdout.splitlines()]

    def failures(self, tests, log):
        """The cases that fail of some suites, as SUITE: CASE, and the lines that say how to run them again."""
        start = log.tell()
        call(['tools/test', '--build', self.build, '--no-repeats', '--tier', 'check', '--log', os.path.join(self.folder, 'found.json'), *tests], self.folder, log)
        log.flush()
        with open(log.name, encoding='utf-8', errors='replace') as file:
            file.seek(start)
            said = file.read()
            log.seek(0, os.SEEK_END)
        return FAILED.findall(said)


def name_of_test(failure):
    """SUITE:CASE as tools/test takes it; SUITE where its program takes no names."""
    suite, _, case = failure.partition(': ')
    return '%s:%s' % (suite, case) if suite.startswith(('system-', 'hostile-')) and re.fullmatch(r'\w+\.\w+', case) else suite


def find(tree, suites, fault, log):
    """What seems to find the fault, or None."""
    for failure in tree.failures(suites, log)[:3]:
        if tree.failures([name_of_test(failure)], log):
            return failure
        print('%s: %s failed once and passed then' % (fault.name, failure), flush=True)
    return None


def try_fault(tree, fault, is_narrow):
    text = tree.change(fault.path, fault.old, fault.new)
    try:
        with open(os.path.join(tree.folder, '%s.log' % fault.name), 'w', encoding='utf-8') as log:
            for suite in fault.suites:
                if not tree.make(tree.programs_of(suite.partition(':')[0]), log):
                    raise Misfit('it does not compile: see ' + log.name)
                found = find(tree, [suite], fault, log)
                if found:
                    return found
            if is_narrow:
                return None
            if not tree.make([], log):
                raise Misfit('it does not compile: see ' + log.name)
            return find(tree, [suite for suite in tree.suites_of_check() if suite not in (*fault.suites, *OF_THE_TEXT)], fault, log)
    finally:
        with open(os.path.join(tree.folder, fault.path), 'w', encoding='utf-8') as file:
            file.write(text)


def failing_anyway(tree, found):
    """Of what seems to find faults, those that fail without any."""
    with open(os.path.join(tree.folder, 'sound.log'), 'w', encoding='utf-8') as log:
        for suite in sorted({failure.partition(': ')[0] for failure in found}):
            if not tree.make(tree.programs_of(suite), log):
                raise Misfit('without a fault it does not build: see ' + log.name)
        failed = set(tree.failures(sorted(set(map(name_of_test, found))), log)) if found else set()
    return {failure for failure in found if failure in failed}


def main(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--only', nargs='+', default=[])
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--narrow', action='store_true')
    parser.add_argument('--processes', type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args(argv)
    unknown = set(arguments.only) - {fault.name for fault in faults.FAULTS}
    if unknown:
        raise Misfit('there is no fault %s' % ', '.join(sorted(unknown)))
    chosen = [fault for fault in faults.FAULTS if not arguments.only or fault.name in arguments.only]
    if arguments.list or not arguments.folder:
        print('\n'.join('%s (%s): %s' % (fault.name, fault.path, fault.wrong) for fault in chosen))
        return 0
    signal.signal(signal.SIGTERM, give_up)
    tree, found_by, missed, misfits = Tree(os.path.abspath(arguments.folder), arguments.processes), {}, [], []
    tree.prepare()
    for fault in chosen:
        began = time.monotonic()
        try:
            found = try_fault(tree, fault, arguments.narrow)
        except Misfit as misfit:
            misfits.append(fault.name)
            print('misfit: %s: %s' % (fault.name, misfit), flush=True)
            continue
        if found:
            found_by[fault.name] = found
        else:
            missed.append(fault.name)
        print('%s: %s (%.0f s)' % (fault.name, 'found by ' + found if found else 'NOT FOUND', time.monotonic() - began), flush=True)
    unsound = failing_anyway(tree, set(found_by.values()))
    for name, failure in found_by.items():
        if failure in unsound:
            missed.append(name)
            print('%s: NOT FOUND: %s fails without the fault, too' % (name, failure))
    print('%d found, %d not found%s' % (len(chosen) - len(missed) - len(misfits), len(missed), ': ' + ', '.join(missed) if missed else ''))
    return 2 if misfits else 1 if missed else 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except Misfit as misfit_:
        sys.exit(str(misfit_))
