# SPDX-License-Identifier: Apache-2.0
"""
Runs suites side by side, each apart from the others, and again those that failed: one after the other, with nothing beside them.

As root each suite gets namespaces and a folder of its own (tests/support/alone.py) and a place: a number that no other run on this
machine has, from which its users, ids and control groups are named.
"""
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import alone
import places
import remains
import results
import suites
import tiers
import waiting

HERE = os.path.dirname(os.path.abspath(__file__))
ALONE = alone.__file__
REPEATS = 2  # of a case that failed
REPEATED_MOST = 12  # cases; when more have failed that is no chance
HUNG_TIMES, HUNG_LEAST_S = 10, 300  # of what it takes otherwise: then a suite counts as hung
SKIPPED_STATUS = 77  # by the convention of meson and automake
OUTPUT_BYTES_MAX = 8 << 20


class Interrupted(Exception):
    """Somebody ended the run."""


class Slot:
    """Where one suite at a time runs."""

    def __init__(self, folder):
        self.place = places.Place()
        self.number = self.place.number
        self.folder = os.path.join(folder, str(self.number))
        self.files = os.path.join(self.folder, 'files')  # of the suite that runs, or was the last to

    def renew(self):
        """Another folder for each suite: in that of the one before somebody may still write."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        self.files = tempfile.mkdtemp(prefix='files-', dir=self.folder)
        os.chmod(self.files, 0o755)


class Progress:
    """How far a run is: a line for each suite, or on a terminal one line that changes."""

    def __init__(self, expected, workers, output=None):
        """`expected` has the seconds that each suite should take, by suite."""
        self.expected, self.workers, self.output = expected, workers, output or sys.stdout
        self.total, self.done, self.failed = len(expected), 0, 0
        self.left_expected, self.done_expected = sum(seconds for _, seconds in expected), 0.0
        self.began = time.monotonic()
        self.is_terminal = self.output.isatty()
        self.lock = threading.Lock()

    def minutes_left(self):
        left = max(0, self.left_expected) / self.workers
        passed = time.monotonic() - self.began
        # As much longer than expected as it was until now, once that says anything.
        pace = passed * self.workers / self.done_expected if self.done_expected > 60 else 1
        return max(1, round(left * max(0.2, min(pace, 20)) / 60)) if self.done < self.total else 0

    def report(self, suite, result, seconds, text):
        with self.lock:
            self.done += 1
            self.failed += result not in ('OK', 'SKIP')
            expected = next(expected for one, expected in self.expected if one == suite)
            self.done_expected += expected
            self.left_expected -= expected
            line = '%d of %d suites done, %d failed, about %d min left' % (self.done, self.total, self.failed, self.minutes_left())
            if self.is_terminal:
                print('\r\033[K' + line, end='', file=self.output)
            else:
                print('[%s] %s: %s, %.0f s%s' % (line, suite.title, result, seconds, text), file=self.output)
            self.output.flush()

    def tell(self, lines):
        """More about a suite, at once: a run that is ended from outside has told of it."""
        with self.lock:
            self.end()
            print(*lines, sep='\n', file=self.output, flush=True)

    def end(self):
        if self.is_terminal:
            print('\r\033[K', end='', file=self.output)


class Runner:
    """One run of suites. Its folder is on disk, and gone at the end."""

    def __init__(self, build, workers, folder, seconds):
        """`seconds` has what suites take otherwise, by suites.key_of()."""
        self.build, self.workers, self.folder, self.seconds = os.path.abspath(build), workers, folder, seconds
        self.is_apart = os.geteuid() == 0
        self.mark = '%d-%d' % (os.getpid(), int(time.time()))
        self.slots = [Slot(folder) for _ in range(workers)]
        self.remains = remains.Remains(self.mark, [slot.number for slot in self.slots], folder)
        self.running, self.entries, self.lock, self.is_ended = {}, [], threading.Lock(), False
        self.serial = itertools.count()
        self.lib = alone.hold_lib() if self.is_apart else -1

    # --- one suite ---

    def is_apart_for(self, suite):
        return self.is_apart and suite.name not in tiers.NOT_APART

    def environment(self, suite, slot, deadline_s, limit_s):
        environment = {**os.environ, **dict(suite.environment)}
        # An event of a sanitized program, or of one under valgrind, takes longer to come.
        waits_s = deadline_s * suites.PATIENCE[suite.variant] // suites.PATIENCE[suites.PLAIN]
        environment.update({
            tiers.VARIABLE: suite.tier, 'YETT_TEST_SUITE': suite.name, remains.RUN_VARIABLE: self.mark,
            places.VARIABLE: str(slot.number), 'PYTHONDONTWRITEBYTECODE': '1', waiting.VARIABLE: str(waits_s), waiting.LIMIT_VARIABLE: str(int(limit_s)),
            'MALLOC_PERTURB_': str(1 + next(self.serial) % 255)})
        if not self.is_apart_for(suite):
            environment['TMPDIR'] = slot.files
        else:
            environment['YETT_TEST_PATHS'] = '%s:%s' % (os.path.dirname(os.path.dirname(HERE)), self.build)
            if suite.name in tiers.WITH_NETWORK:
                environment['YETT_TEST_NETWORK'] = '1'
        return environment

    def limit_s(self, suite, deadline_s):
        """How long one may take: what meson allows, or far longer than it took, whichever is less; more where `deadline_s` says that this machine is slow."""
        allowed, took = suite.seconds * suites.PATIENCE[suite.variant], self.seconds.get(suites.key_of(suite))
        return min(allowed, max(HUNG_LEAST_S, HUNG_TIMES * took) if took else allowed) * deadline_s // waiting.LEAST_S

    def run(self, suite, slot):
        """The entry of the log for one suite, run once."""
        slot.renew()
        deadline = waiting.deadline_s()
        limit = self.limit_s(suite, deadline)
        environment = self.environment(suite, slot, deadline, limit)
        argv = [sys.executable, ALONE, slot.files] if self.is_apart_for(suite) else []
        began = time.monotonic()
        with open(os.path.join(slot.folder, 'stdout'), 'w+b') as out, open(os.path.join(slot.folder, 'stderr'), 'w+b') as err:
            with self.lock:
                if self.is_ended:
                    raise Interrupted
                process = subprocess.Popen([*argv, *suite.argv()], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=self.build,
                                           start_new_session=True)
                self.running[process.pid] = process
            try:
                status = process.wait(limit)
                result = 'OK' if status == 0 else 'SKIP' if status == SKIPPED_STATUS else 'FAIL'
            except subprocess.TimeoutExpired:
                result = 'TIMEOUT'
            finally:
                kill(process)
                with self.lock:
                    del self.running[process.pid]
            texts = [tail(file) for file in (out, err)]
        entry = {'name': suite.title, 'suite': suite.name, 'kind': suite.kind, 'result': result, 'duration': round(time.monotonic() - began, 2),
                 'stdout': texts[0], 'stderr': texts[1]}
        if result == 'TIMEOUT':
            entry['stderr'] += '\nit had not ended after %d s; %s' % (limit, waiting.load_line())
        entry = self.check_remains(entry, slot)
        entry['again'] = {case: suite.again(case) for case in results.failed_cases(entry)}
        return entry

    def check_remains(self, entry, slot):
        """A suite that passed and left control groups behind has failed. Those of one that failed are taken away."""
        shutil.rmtree(slot.files, ignore_errors=True)
        if not self.is_apart:
            return entry
        if entry['result'] == 'OK':
            with contextlib.suppress(AssertionError):  # what was killed with the namespaces of the suite takes a moment to end
                waiting.wait_until(lambda: not any(map(remains.members_of, remains.groups_of(slot.number))), 'the end of what is in control groups')
            left = remains.sandboxes_of(slot.number)
            if left:
                entry['result'] = 'FAIL'
                entry['stderr'] += '\nleft behind: ' + ' '.join(left)
        with contextlib.suppress(AssertionError):
            waiting.wait_until(lambda: remains.remove_groups(slot.number), 'the removal of control groups')
        return entry

    # --- all ---

    def run_all(self, chosen, progress):
        """Fills `entries`, of the log, in the order in which suites ended."""
        waiting_suites, errors = list(chosen), []

        def work(slot):
            while True:
                with self.lock:
                    if self.is_ended or errors or not waiting_suites:
                        return
                    suite = waiting_suites.pop(0)
                try:
                    entry = self.run(suite, slot)
                except BaseException as error:  # of this thread: the main one raises it
                    errors.append(error)
                    return
                with self.lock:
                    if self.is_ended:  # which is why it ended
                        return
                    self.entries.append(entry)
                cases = results.outcomes_of(entry)
                progress.report(suite, entry['result'], entry['duration'], ', %d cases' % len(cases) if len(cases) > 1 else '')
                for case in results.failed_cases(entry):
                    progress.tell(results.failure_lines(entry, case))

        threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in self.slots]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a signal is for the main thread, between two waits
                thread.join(0.5)
        if self.is_ended:
            raise Interrupted
        if errors:
            raise errors[0]

    def repeat(self, suite, entry, tell):
        """
        What became of the failed cases of a suite when they were run again, alone: {case: entry of the run in which it passed, or None}.
        """
        found = {}
        for case in results.failed_cases(entry):
            one = suite.of_cases([case]) if suite.has_case(case) else suite
            found[case] = None
            for attempt in range(REPEATS):
                again = self.run(one, self.slots[0])
                failed = results.failed_cases(again)
                tell('again, alone (%d of %d): %s: %s: %s' % (attempt + 1, REPEATS, suite.title, case, 'failed' if failed else 'passed'))
                if not failed:
                    found[case] = again
                    break
        return found

    def end(self):
        """Ends what still runs, and takes away what is left."""
        with self.lock:
            self.is_ended = True
            running = list(self.running.values())
        for process in running:
            kill(process)
        if self.is_apart:
            self.remains.take_away()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.lib >= 0:
            alone.release_lib(self.lib)


def kill(process):
    """A program that was started, and with it all that runs in its namespaces; where it has none, its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(file):
    """The end of what a program wrote, as text."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT_BYTES_MAX))
    return file.read().decode(errors='replace')
