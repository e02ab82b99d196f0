#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs the tests. Usually started as tools/test.

Usage: tools/test [OPTION…] check            every feature and every defence once: what `make check` runs
       tools/test [OPTION…] all              all there is, also with sanitizers and valgrind: `make check-all`
       tools/test [OPTION…] rest             what all has beyond check
       tools/test [OPTION…] changed          of that what this landing can have affected (tests/runner/feeds.py)
       tools/test [OPTION…] sanitize         all suites with sanitizers: `make sanitize`
       tools/test [OPTION…] SUITE[:CASE]…    these, whole; CASE is CLASS or CLASS.TEST

  --build DIR        the build tree (build)
  --sanitized-build DIR    that with sanitizers (build-asan)
  --sanitized        SUITE is run there
  --valgrind         SUITE is run under valgrind
  --tier TIER        of SUITE only what check or rest has
  --shuffle          in random order; the seed is printed
  --seed N           in the order of that seed
  --processes N      suites that run side by side (three for each processor: many wait)
  --no-repeats       nothing is run again
  --times N          each suite so often, and what fails is not run again
  --log FILE         where the log goes (BUILD/tests/TARGET.json)
  --record           writes down how long the suites took, for later estimates of the time left (tests/runner/seconds.json)
  --list             names what would run

A case that fails is run again, alone, at most twice; if it passes then it is unsteady: the end of the run names it. Hostile tests
are never repeated. Exit status: 0 all passed, 1 something failed or too much was unsteady, 2 usage, 130 interrupted. The last line
is "N passed, N failed, N skipped".
"""
import argparse
import datetime
import json
import os
import random
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'support')]
sys.dont_write_bytecode = True
import changes  # noqa: E402
import results  # noqa: E402
import schedule  # noqa: E402
import suites  # noqa: E402
import tiers  # noqa: E402
import unsteady  # noqa: E402

SECONDS = os.path.join(HERE, 'seconds.json')
SLOWEST = 10
LONG_S = 45  # what takes longer begins early, so that nobody waits for it at the end


def read_arguments(argv):
    parser = argparse.ArgumentParser(add_help=False, usage=argparse.SUPPRESS)
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--build', default='build')
    parser.add_argument('--sanitized-build', default='build-asan')
    parser.add_argument('--sanitized', dest='variant', action='store_const', const=suites.SANITIZED, default=suites.PLAIN)
    parser.add_argument('--valgrind', dest='variant', action='store_const', const=suites.VALGRIND)
    parser.add_argument('--seed', type=int)
    parser.add_argument('--processes', type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument('--times', type=int, default=1)
    parser.add_argument('--no-repeats', action='store_true')
    parser.add_argument('--tier', choices=(tiers.CHECK, tiers.REST, tiers.ALL), default=tiers.ALL)
    parser.add_argument('--log')
    for name in ('--shuffle', '--record', '--list', '--help'):
        parser.add_argument(name, action='store_true')
    arguments = parser.parse_args(argv)
    if arguments.help or not arguments.targets:
        print(__doc__.strip())
        sys.exit(0 if arguments.help else 2)
    return arguments


def choose(arguments):
    """(name of the target, its suites, why where that is not plain)."""
    target = arguments.targets[0]
    if target == 'sanitize':
        return target, suites.everything_sanitized(suites.read_tree(arguments.sanitized_build)), ''
    if target not in (tiers.CHECK, tiers.ALL, tiers.REST, 'changed'):
        build = arguments.sanitized_build if arguments.variant == suites.SANITIZED else arguments.build
        return 'some', suites.named(suites.read_tree(build), arguments.variant, arguments.tier, arguments.targets), ''
    if len(arguments.targets) > 1:
        raise ValueError('%s stands alone' % target)
    tree = suites.read_tree(arguments.build)
    if target == tiers.CHECK:
        return target, suites.of_tier(tree, tiers.CHECK), ''
    rest = suites.beyond_check(tree, suites.read_tree(arguments.sanitized_build))
    if target == tiers.REST:
        return target, rest, ''
    if target == tiers.ALL:
        return target, [*suites.of_tier(tree, tiers.CHECK), *rest], ''
    paths, why = changes.decide()
    return target, rest if paths is None else suites.fed(rest, paths), why


def expected_seconds():
    with open(SECONDS, encoding='utf-8') as file:
        return json.load(file)


def in_order(chosen, seconds, seed):
    """The longest first, or in a random order in which those that are long come early."""
    def expected(suite):
        return seconds.get(suites.key_of(suite), suites.SECONDS_EXPECTED)
    if seed is None:
        return sorted(chosen, key=expected, reverse=True)
    shuffled = list(chosen)
    random.Random(seed).shuffle(shuffled)
    return sorted(shuffled, key=lambda suite: expected(suite) < LONG_S)


def repeat_failures(runner, chosen, entries, passed, seen):
    """Adds to `passed` each (entry's name, case) that passed when it was repeated, and to `seen` {"SUITE: CASE": lines about the first failure}."""
    by_title = {suite.title: suite for suite in chosen}
    failed = [(by_title[entry['name']], entry) for entry in entries if results.failed_cases(entry)]
    repeated = [(suite, entry) for suite, entry in failed if suite.is_repeated]
    if sum(len(results.failed_cases(entry)) for _, entry in repeated) > schedule.REPEATED_MOST:
        print('more than %d cases failed: none is repeated' % schedule.REPEATED_MOST)
        return
    for suite, entry in repeated:
        for case, again in runner.repeat(suite, entry, lambda line: print(line, flush=True)).items():
            if again:
                passed.add((entry['name'], case))
                seen['%s: %s' % (entry['name'], case)] = results.end_of_case(entry, case)


def record(entries, chosen):
    """Into the table of times that estimates are made from."""
    tier = {suite.title: suite.tier for suite in chosen}
    seconds = {**expected_seconds(), **{'%s/%s' % (entry['name'], tier[entry['name']]): round(entry['duration'], 1) for entry in entries}}
    with open(SECONDS, 'w', encoding='utf-8') as file:
        json.dump(dict(sorted(seconds.items())), file, indent=0)
        file.write('\n')


def report(entries, passed, seen, began, complaints):
    """Prints how a run went. Whether it is good: `complaints` are of the run itself."""
    numbers, skips, failures = results.count(entries, passed)
    today = datetime.date.today()
    known = unsteady.read()
    complaints = [*complaints, *unsteady.complaints(known, seen, today)]
    numbers[results.FAILED] += len(complaints)
    for entry in sorted(entries, key=lambda entry: -entry['duration'])[:SLOWEST]:
        print('slow: %s, %.0f s' % (entry['name'], entry['duration']))
    print('\n'.join([*skips, *failures]))
    for test, lines in seen.items():
        print('\n'.join(['unsteady: ' + test, *lines]))
    for line in unsteady.new_entries(known, seen, today):
        print('add to tests/unsteady.json: ' + line)
    for line in complaints:
        print('failed: ' + line)
    print('%d min %02d s' % divmod(round(time.monotonic() - began), 60))
    print('%d unsteady%s' % (len(seen), ': ' + ', '.join(seen) if seen else ''))
    print(results.total_line(numbers))
    return not numbers[results.FAILED] and numbers[results.PASSED] > 0


def run(arguments, name, chosen):
    began, seconds = time.monotonic(), expected_seconds()
    # Below /tmp, where ordinary users may go: a build tree may lie where they may not.
    folder = tempfile.mkdtemp(prefix='yett-test-run-')
    os.chmod(folder, 0o755)
    runner = schedule.Runner(arguments.build, arguments.processes, folder, seconds)
    seed = random.randrange(1 << 30) if arguments.shuffle and arguments.seed is None else arguments.seed
    if seed is not None:
        print('shuffled with --seed %d' % seed)
    progress = schedule.Progress([(suite, seconds.get(suites.key_of(suite), suites.SECONDS_EXPECTED)) for suite in chosen], arguments.processes)
    passed, seen, is_interrupted = set(), {}, False
    try:
        runner.run_all(in_order(chosen, seconds, seed), progress)
        progress.end()
        if arguments.times == 1 and not arguments.no_repeats:
            repeat_failures(runner, chosen, runner.entries, passed, seen)
    except (KeyboardInterrupt, schedule.Interrupted):
        is_interrupted = True
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        runner.end()
    print(runner.remains.line())
    entries = runner.entries
    log = arguments.log or os.path.join(arguments.build, 'tests', name + '.json')
    os.makedirs(os.path.dirname(os.path.abspath(log)), exist_ok=True)
    with open(log, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(entry) + '\n' for entry in entries)
    if arguments.record and not is_interrupted:
        record(entries, chosen)
    is_good = report(entries, passed, seen, began, ['interrupted: %d of %d suites had ended' % (len(entries), len(chosen))] if is_interrupted else [])
    return 130 if is_interrupted else 0 if is_good else 1


def interrupt(*_):
    raise KeyboardInterrupt


def main(argv):
    arguments = read_arguments(argv)
    try:
        name, chosen, why = choose(arguments)
    except (OSError, ValueError) as error:
        print('tools/test: %s' % error, file=sys.stderr)
        return 2
    if why:
        print(why)
    if arguments.list:
        print('\n'.join('%s %s' % (suite.title, suite.tier) for suite in chosen))
        return 0
    if not chosen:
        print('nothing to run\n' + results.total_line({results.PASSED: 0, results.FAILED: 0, results.SKIPPED: 0}))
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    return run(arguments, name, [suite for suite in chosen for _ in range(arguments.times)])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
