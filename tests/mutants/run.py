#!/usr/bin/env python3
"""
Whether `make check` finds faults: applies those of faults.py one by one, and runs the tests until one fails.

Usage: run.py FOLDER [--only NAME…] [--list] [--wide]

FOLDER is made, and holds a copy of the committed tree with a build of its own; it is used again when it is there. For each fault the
suites that faults.py names for it run until one fails; with --wide then all others of `make check`. Prints a line for each fault, and
"N found, N not found" at the end. Exit status 1 when one was not found, 2 when one does not fit or does not compile.
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import faults  # noqa: E402


class Misfit(Exception):
    """A fault that cannot be tried."""


def call(argv, folder, log, **more):
    return subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **more).returncode


def prepare(folder):
    """A copy of what is committed, built."""
    if not os.path.exists(folder):
        subprocess.run(['git', 'clone', '--quiet', SOURCE, folder], check=True)
    subprocess.run(['git', 'fetch', '--quiet', SOURCE, 'HEAD'], cwd=folder, check=True)
    subprocess.run(['git', 'reset', '--quiet', '--hard', 'FETCH_HEAD'], cwd=folder, check=True)
    with open(os.path.join(folder, 'build.log'), 'w', encoding='utf-8') as log:
        if call(['make', '--no-print-directory', 'build'], folder, log) != 0:
            raise Misfit('the tree does not build: see %s/build.log' % folder)


def seeded(text, fault):
    """The text of a file with the fault in it."""
    if text.count(fault.old) != 1:
        raise Misfit('%s: %s holds %r %d times' % (fault.name, fault.path, fault.old, text.count(fault.old)))
    return text.replace(fault.old, fault.new)


def failing_case(folder, suites, log):
    """The first case that fails, as SUITE: CASE; None. Nothing is repeated: what fails by chance would count."""
    call(['tools/test', '--no-repeats', '--tier', 'check', '--log', 'found.json', *suites], folder, log)
    log.flush()
    with open(log.name, encoding='utf-8', errors='replace') as file:
        found = re.findall(r'^failed: (.*)$', file.read(), re.M)
    return found[0] if found else None


def try_fault(folder, fault, is_wide):
    """What found it, or None."""
    path = os.path.join(folder, fault.path)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(seeded(text, fault))
    try:
        with open(os.path.join(folder, 'fault.log'), 'w', encoding='utf-8') as log:
            if call(['ninja', '-C', 'build', '--quiet'], folder, log) != 0:
                raise Misfit('%s does not compile: see %s' % (fault.name, log.name))
            for suite in fault.suites:
                found = failing_case(folder, [suite], log)
                if found:
                    return found
            return failing_case(folder, ['check'], log) if is_wide else None
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def main(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--only', nargs='+', default=[])
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--wide', action='store_true')
    arguments = parser.parse_args(argv)
    chosen = [fault for fault in faults.FAULTS if not arguments.only or fault.name in arguments.only]
    if arguments.list or not arguments.folder:
        print('\n'.join('%s: %s' % (fault.name, fault.path) for fault in chosen))
        return 0
    folder, missed, misfits = os.path.abspath(arguments.folder), [], []
    prepare(folder)
    for fault in chosen:
        try:
            found = try_fault(folder, fault, arguments.wide)
        except Misfit as misfit:
            misfits.append(fault.name)
            print('misfit: %s' % misfit, flush=True)
            continue
        missed += [] if found else [fault.name]
        print('%s: %s' % (fault.name, 'found by ' + found if found else 'NOT FOUND'), flush=True)
    print('%d found, %d not found%s' % (len(chosen) - len(missed) - len(misfits), len(missed), ': ' + ', '.join(missed) if missed else ''))
    return 2 if misfits else 1 if missed else 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except Misfit as misfit_:
        sys.exit(str(misfit_))
