#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The runner of the tests, against suites that are made for it: one that fails once, one that hangs, one that leaves something behind.

Usage: test_runner.py BUILD [CASE…]. Writes TAP.
"""
import datetime
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'support'), os.path.join(os.path.dirname(HERE), 'guest')]
import changes  # noqa: E402
import feeds  # noqa: E402
import plan  # noqa: E402
import results  # noqa: E402
import settings  # noqa: E402
import suites  # noqa: E402
import tiers  # noqa: E402
import unsteady  # noqa: E402
import waiting  # noqa: E402
import yett  # noqa: E402

DAY = datetime.date(2026, 11, 28)
PASSES = 'echo "ok 1 - Case.test_a"; echo "1..1"'
FAILS = 'echo "not ok 1 - Case.test_a"; echo "# because"; echo "1..1"; exit 1'
# Counts its starts in a file of the build tree, which is where a suite is started.
FAILS_AT_FIRST = 'echo x >>%s; [ $(wc -l <%s) -gt %d ] && { ' + PASSES + '; exit; }; ' + FAILS


class Tree(unittest.TestCase):
    """A build tree that holds nothing but a list of suites, each a line of sh(1)."""

    def setUp(self):
        self.build = tempfile.mkdtemp(prefix='yett-test-')
        self.addCleanup(shutil.rmtree, self.build, ignore_errors=True)
        os.mkdir(self.build + '/meson-info')
        self.rows = []

    def add(self, name, script, kind='system', seconds=120, program='test.py'):
        """`program` is what the script is called: one in Python takes names of cases."""
        self.rows.append({'name': name, 'cmd': ['sh', '-c', script, program], 'env': {}, 'suite': ['yett:' + kind], 'timeout': seconds})

    def add_unsteady(self, name, times, **more):
        path = '%s/%s' % (self.build, name)
        self.add(name, FAILS_AT_FIRST % (path, path, times), **more)

    def popen(self, *argv):
        with open(self.build + '/meson-info/intro-tests.json', 'w', encoding='utf-8') as file:
            json.dump(self.rows, file)
        return subprocess.Popen([os.path.join(SOURCE, 'tools', 'test'), '--build', self.build, '--sanitized-build', self.build, '--processes', '2', *argv],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={name: value for name, value in os.environ.items() if not name.startswith('YETT_TEST_')})

    def run_tests(self, *argv):
        """(exit status, lines)."""
        process = self.popen(*argv)
        out, _ = process.communicate(timeout=yett.DEADLINE)
        return process.returncode, out.splitlines()

    def assert_line(self, lines, pattern):
        found = [line for line in lines if re.fullmatch(pattern, line)]
        self.assertTrue(found, '%s in:\n%s' % (pattern, '\n'.join(lines)))
        return found[0]


class Runs(Tree):
    def test_what_passes_is_counted_and_leaves_nothing(self):
        self.add('system-a', PASSES)
        self.add('unit-b', 'echo "[       OK ] one"; echo "[       OK ] two"', kind='unit')
        self.add('unit-c', 'echo there is no such thing here; exit 77', kind='unit')
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (0, '3 passed, 0 failed, 1 skipped'), lines)
        self.assert_line(lines, 'skipped: unit-c: all of it: there is no such thing here')
        self.assert_line(lines, r'\[3 of 3 suites done, 0 failed, about 0 min left\] .*')
        self.assert_line(lines, r'left behind: nothing \(.*')

    def test_what_fails_each_time_fails_the_run_and_says_how_to_run_it_again(self):
        self.add('system-a', FAILS)
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'), lines)
        for line in ('failed: system-a: Case.test_a', '  | # because', '  | again: tools/test system-a:Case.test_a', '0 unsteady'):
            self.assertIn(line, lines)
        self.assertEqual(sum(line.startswith('again, alone') for line in lines), 2, lines)

    def test_what_a_program_in_c_said_of_a_failure_is_told(self):
        self.add('hostile-a', 'echo "error 3 instead of 2" >&2; echo "not ok 1 - a_case"; echo "# a.c:1: error: Failure!"; echo "1..1"; exit 1', kind='hostile')
        _, lines = self.run_tests('check')
        at = lines.index('failed: hostile-a: a_case')
        self.assertEqual(lines[at + 1:at + 3], ['  | # a.c:1: error: Failure!', '  | error 3 instead of 2'])

    def test_what_passes_when_it_is_repeated_is_unsteady_and_named(self):
        for name, times in (('system-a', 1), ('system-b', 2)):
            self.add_unsteady(name, times)
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (0, '2 passed, 0 failed, 0 skipped'), lines)
        self.assertRegex(lines[-2], '^2 unsteady: .*system-a: Case.test_a')
        self.assertIn('unsteady: system-b: Case.test_a', lines)
        self.assertIn('  | # because', lines)
        self.assert_line(lines, r'add to tests/unsteady.json: {"test": "system-b: Case.test_a", .*')

    def test_more_than_three_unsteady_ones_fail_the_run(self):
        for number in range(4):
            self.add_unsteady('system-%d' % number, 1)
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (1, '4 passed, 1 failed, 0 skipped'), lines)
        self.assertIn('failed: 4 unsteady tests in one run, and at most 3 may be', lines)

    def test_a_hostile_test_is_not_repeated(self):
        self.add_unsteady('hostile-a', 1, kind='hostile')
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'), lines)
        self.assertFalse([line for line in lines if line.startswith('again, alone')], lines)

    def test_a_crash_is_a_failure_although_no_case_failed(self):
        self.add('unit-a', 'echo "[       OK ] one"; kill -SEGV $$', kind='unit')
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (1, '1 passed, 1 failed, 0 skipped'), lines)

    def test_a_suite_that_hangs_is_ended_with_all_that_it_started(self):
        self.add('hostile-a', 'echo up; setsid sleep 100000 & sleep 100000', kind='hostile', seconds=1)
        status, lines = self.run_tests('check')
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'), lines)
        self.assert_line(lines, r'  \| it had not ended after \d+ s; load .* MiB of memory free')
        self.assert_line(lines, r'left behind: nothing \(.*')

    def test_the_same_seed_gives_the_same_order(self):
        for number in range(5):
            self.add('unit-%d' % number, 'exit 0', kind='unit')
        orders = []
        for seed in ('7', '7', '8'):
            status, lines = self.run_tests('--seed', seed, '--processes', '1', 'check')
            self.assertEqual((status, lines[0]), (0, 'shuffled with --seed ' + seed), lines)
            orders.append([line.split('] ')[1].split(':')[0] for line in lines if line.startswith('[')])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assert_line(self.run_tests('--shuffle', '--processes', '1', 'check')[1], r'shuffled with --seed \d+')

    def test_names_that_are_not_there_are_errors(self):
        self.add('system-a', PASSES)
        self.add('system-c', PASSES, program='test_c')
        for words, text in ((['system-b'], 'there is no suite system-b'), (['system-c:Case.test_a'], 'runs as a whole'), (['system-a:it all'], 'this is no CLASS or CLASS.TEST: it all'),
                            (['check', 'system-a'], 'check stands alone')):
            status, lines = self.run_tests(*words)
            self.assertEqual((status, text in lines[-1]), (2, True), lines)
        self.assertEqual(self.run_tests('system-a:Case.test_a', 'system-c')[1][-1], '2 passed, 0 failed, 0 skipped')


@unittest.skipUnless(os.geteuid() == 0, 'root is needed, to have namespaces')
class Apart(Tree):
    def test_suites_do_not_see_each_other(self):
        where = 'readlink /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/net; echo $YETT_TEST_PLACE; '
        alone = 'ls -A /tmp /dev/shm | grep -v -e : -e "$(basename "$PWD")" ; id yett-test-x 2>&1; useradd yett-test-x; touch /tmp/x /dev/shm/x /etc/x /var/lib/yett-test/x; '
        for name in ('system-a', 'system-b'):
            self.add(name, where + alone + 'id -u yett-test-x; echo "1..0"')
        status, lines = self.run_tests('check')
        self.assertEqual(status, 1, lines)  # no case passed
        entries = [entry['stdout'].split('\n') for entry in results.read_log(self.build + '/tests/check.json')]
        self.assertEqual([entry[5:-3] for entry in entries], [['', 'id: ‘yett-test-x’: no such user']] * 2, entries)
        for row in range(4):
            self.assertEqual(len({entries[0][row], entries[1][row], os.readlink('/proc/self/ns/' + ('mnt', 'pid', 'ipc', 'net')[row])}), 3, entries)
        self.assertFalse([line for line in yett.read('/etc/passwd').splitlines() if line.startswith('yett-test-x:')])

    def test_a_suite_that_leaves_a_control_group_has_failed(self):
        top = next(path for path in ('/sys/fs/cgroup/pids', '/sys/fs/cgroup') if os.path.exists(path))
        self.add('hostile-a', 'mkdir -p %s/yett-test-$YETT_TEST_PLACE-1/user-1; %s' % (top, PASSES), kind='hostile')
        process = self.popen('check')
        out, _ = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 1, out)
        group = re.search('left behind: (%s/yett-test-[0-9]+-1)/user-1' % top, out).group(1)
        self.assertIn('left behind: nothing', out)
        self.assertFalse(os.path.exists(group))

    def test_an_interrupted_run_leaves_nothing_and_says_so(self):
        top = next(path for path in ('/sys/fs/cgroup/pids', '/sys/fs/cgroup') if os.path.exists(path))
        pattern = settings.PATHS[2]
        script = ('useradd yett-test-$YETT_TEST_PLACE-1; g=%s/yett-test-$YETT_TEST_PLACE-1; mkdir $g; setsid sleep 100000 & echo $! >$g/cgroup.procs; '
                  'mount -t tmpfs x /mnt; PYTHONPATH=%s python3 -c "import settings, time\nwith settings.changed(\'%s\', \'3\'): open(\'%s/up\', \'w\'); time.sleep(100000)"')

        def value():
            with settings.changed(pattern, '2'):  # while nobody else has changed it
                return settings.read(settings.lock_path(pattern))
        before = value()
        self.add('hostile-a', FAILS, kind='hostile')
        self.add('system-a', script % (top, os.path.dirname(settings.__file__), pattern, self.build))
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.popen('check')
            yett.wait_until(lambda: os.path.exists(self.build + '/up'), 'the suite')
            self.assertIn('  | # because\n', itertools.takewhile(lambda line: 'again: ' not in line, process.stdout))  # a failure is told at once
            process.send_signal(number)
            out, _ = process.communicate(timeout=yett.DEADLINE)
            self.assertEqual(process.returncode, 130, out)
            self.assertIn('left behind: nothing', out)
            self.assertIn('failed: interrupted: 1 of 2 suites had ended', out)
            self.assertEqual(out.splitlines()[-1], '0 passed, 2 failed, 0 skipped')
            self.assertEqual(value(), before)
            os.unlink(self.build + '/up')


class Unsteady(unittest.TestCase):
    def entry(self, first_seen):
        return {'test': 'system-a: Case.test_a', 'first_seen': first_seen, 'cause': 'not known'}

    def test_an_entry_has_two_weeks(self):
        self.assertEqual(unsteady.complaints([self.entry('2026-11-14')], [], DAY), [])
        complaint, = unsteady.complaints([self.entry('2026-11-13')], [], DAY)
        self.assertIn('unsteady since 2026-11-13', complaint)

    def test_what_is_listed_is_not_to_be_added(self):
        entries = [self.entry('2026-11-20')]
        self.assertEqual(unsteady.new_entries(entries, [entries[0]['test']], DAY), [])
        self.assertEqual(len(unsteady.new_entries(entries, ['system-b: Case.test_b'], DAY)), 1)

    def test_the_list_is_well_formed(self):
        unsteady.read()
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            for text in ('[{"test": "a"}]', '[{"test": "a", "first_seen": "soon", "cause": "c"}]', '[{"test": "a", "first_seen": "2026-11-28", "cause": ""}]'):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()
                with self.subTest(text), self.assertRaises(ValueError):
                    unsteady.read(file.name)


class Changes(unittest.TestCase):
    def test_what_a_change_can_affect(self):
        for paths, some, none in ((['agent/mcp/mcp.c'], 'system-mcp', 'system-limits'), (['tests/system/test_limits.py'], 'system-limits', 'system-mcp'),
                                  (['tests/hostile/test_agent_attacked.py'], 'hostile-agent', 'system-limits'), (['README.md'], 'documents', 'system-limits'),
                                  (['agent/handle.c', 'workspace/diff/walk.c'], 'system-diff', 'system-limits')):
            names = feeds.suites_of(paths)
            self.assertTrue(feeds.matches(some, names), paths)
            self.assertFalse(feeds.matches(none, names), paths)
        for paths in (['helper/monitor/monitor.c'], ['README.md', 'base/fd.c'], ['something/new.c']):
            self.assertIs(feeds.suites_of(paths), feeds.EVERYTHING)

    def test_what_a_landing_changes_is_what_git_says_since_the_one_before(self):
        with tempfile.TemporaryDirectory(prefix='yett-test-') as folder:
            def commit(path, text):
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                yett.write(os.path.join(folder, path), text)
                for argv in (['add', '.'], ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', path]):
                    subprocess.run(['git', '-c', 'safe.directory=*', '-C', folder, *argv], check=True)

            def assert_decided(paths, why):
                found = changes.decide(folder)
                self.assertEqual((found[0] and sorted(found[0]), why in found[1]), (paths, True), found)
            assert_decided(None, 'holds no number')
            subprocess.run(['git', 'init', '-q', folder], check=True)
            commit(changes.COUNTER, '1\n')
            assert_decided(None, 'its history of 1 commits does not reach back')
            commit('a/b', 'x')
            commit(changes.COUNTER, '2\n')
            commit('c', 'x')
            assert_decided([changes.COUNTER, 'a/b', 'c'], 'landing 2 changes 3 files')
            commit(changes.COUNTER, '3\n')
            assert_decided([changes.COUNTER, 'c'], 'landing 3 changes 2 files')
            if os.geteuid() == 0:  # a tree of somebody else's
                os.chown(folder, 12345, 12345)
                os.chown(folder + '/.git', 12345, 12345)
            assert_decided([changes.COUNTER, 'c'], 'landing 3')
            commit('tests/runner/feeds.py', 'x')
            assert_decided(None, 'tests/runner/feeds.py decides what runs')
            commit(changes.COUNTER, '5\n')
            assert_decided(None, 'landing 5: every 5th runs all')
            shutil.rmtree(folder + '/.git')
            assert_decided(None, 'not a git repository')

    def test_the_counter_of_landings_holds_a_number(self):
        self.assertIsNotNone(changes.landing())


class Tables(unittest.TestCase):
    """The tables name suites and classes that there are."""

    def setUp(self):
        self.tree = suites.read_tree(BUILD)

    def test_suites_that_are_named_are_there(self):
        for table in (tiers.LATER, tiers.WITH_NETWORK, tiers.NOT_APART, tiers.DIVIDED, tiers.WAYS, tiers.SANITIZED, tiers.NOT_SANITIZED, tiers.NOT_UNDER_VALGRIND):
            self.assertEqual(set(table) - set(self.tree), set())
        for patterns in [row[1] for row in feeds.FEEDS]:
            for pattern in patterns:
                self.assertTrue(any(feeds.matches(name, [pattern]) for name in self.tree), pattern)
        for path, _ in feeds.FEEDS:
            self.assertTrue('*' in path or os.path.exists(os.path.join(SOURCE, path)), path)

    def test_cases_that_are_left_to_check_all_are_there_and_have_a_reason(self):
        for suite, patterns in tiers.LATER.items():
            program = next((word for word in self.tree[suite]['cmd'] if word.endswith('.py')), '')
            text = yett.read(program) if program else ''
            for pattern, reason in patterns.items():
                with self.subTest(suite=suite, pattern=pattern):
                    self.assertTrue(reason)
                    name, _, case = pattern.partition('.')
                    self.assertTrue(pattern == '*' or re.search(r'^class %s\b' % re.escape(name), text, re.M), 'no such class')
                    # Cases that are made from a table have their prefix there: hostile.add_cases().
                    rows = re.findall(r"add_cases\(%s, '(\w+)'" % name, text)
                    self.assertTrue(not case or 'def %s(' % case in text or any(case.startswith('test_%s_' % row) for row in rows), 'no such case')

    def test_what_guests_are_to_run_is_there(self):
        for test in plan.TESTS:
            if test.program.endswith('.py') and test.name != 'programs':  # whose cases are made from a table
                text = yett.read(os.path.join(SOURCE, test.program))
                for name, _, case in (argument.partition('.') for argument in test.arguments):
                    with self.subTest(test=test.name, name=name, case=case):
                        self.assertRegex(text, r'(?m)^class %s\b' % re.escape(name))
                        self.assertIn('def %s(' % case if case else '', text)

    def test_each_class_that_is_started_in_another_way_says_why_that_can_matter(self):
        for suite, row in self.tree.items():
            program = row['cmd'][-1]
            if not re.search(r'/tests/(system|hostile)/test_\w+\.py$', program) or suite in ('system-rootless', 'hostile-rootless', 'system-setuid', 'hostile-setuid'):
                continue  # these are about a way of starting
            text = yett.read(program)
            classes = re.split(r'^(?=class )', text, flags=re.M)[1:]
            inherited = [re.match(r'class (\w+)', one).group(1) for one in classes
                         if re.search(r'^    service_class = yett\.(Rootless|WithoutBpf)$', one, re.M)]
            inherited += re.findall(r'^class (\w+)\(setuid\.Case', text, re.M)
            self.assertEqual(set(inherited) - set(tiers.WAYS.get(suite, ())), set(), suite)
            self.assertEqual({name for name in tiers.WAYS.get(suite, ()) if not re.search(r'^class %s\b' % name, text, re.M)}, set(), suite)

    def test_a_suite_feeds_nothing_but_what_runs(self):
        self.assertTrue(suites.of_tier(self.tree, tiers.CHECK))
        for tier, cases in ((tiers.CHECK, 1), (tiers.REST, 1), (tiers.ALL, 2)):
            later = next((suite, pattern) for suite, patterns in tiers.LATER.items() for pattern in patterns if pattern != '*')
            found = [tiers.has(tier, later[0], later[1]), tiers.has(tier, later[0], 'NoSuchClass.test_x')]
            self.assertEqual(sum(found), cases, tier)


class Waiting(unittest.TestCase):
    def test_a_deadline_is_never_below_half_a_minute_and_grows_with_load(self):
        self.assertGreaterEqual(waiting.deadline_s(), 30)
        real, waiting.slowdown = waiting.slowdown, lambda: 5.0
        self.addCleanup(setattr, waiting, 'slowdown', real)
        self.assertEqual(waiting.deadline_s(), 5 * waiting.LEAST_S)

    def test_what_never_comes_is_told_with_how_busy_the_machine_is(self):
        deadline, least = waiting.DEADLINE, waiting.LEAST_S
        self.addCleanup(lambda: (setattr(waiting, 'DEADLINE', deadline), setattr(waiting, 'LEAST_S', least)))
        waiting.DEADLINE = waiting.LEAST_S = 0
        with self.assertRaisesRegex(AssertionError, r'this never came in \d+ s: the thing \(load .* MiB of memory free\)'):
            waiting.wait_until(lambda: False, 'the thing')


def main():
    global BUILD
    BUILD = sys.argv.pop(1)
    yett.run_cases(sys.argv[1:])


BUILD = None

if __name__ == '__main__':
    main()
