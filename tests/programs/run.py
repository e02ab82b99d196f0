#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs the corpus: each program on the host, then inside by the service and without root, and compares with its verdict.

Usage: run.py [--little | --packages | --page] [--log FILE] [CASE…]     CASE: ByService.test_gcc, WithoutRoot

--little takes the programs that need no packages but those of `tools/install-packages test`, --packages prints those that all
need, --page writes docs/programs.md from what was found (of what the host cannot run, from the table), --log keeps the results for
tools/count-results. Writes TAP. Runs as root; the programs run as an ordinary user, and what is missing on the host is told as a skip.
"""
import argparse
import contextlib
import functools
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, 'tests', 'support')]
import corpus  # noqa: E402
import page  # noqa: E402
import yett  # noqa: E402

SECONDS = 2 * yett.DEADLINE  # a program takes a few; this is for what hangs

# What rows with an option need that the shipped policy gives nobody.
POLICY = '''
profile "perf" {
  extends = "default"
  perf_events = true
}
grant "more" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "build", "nested", "perf"}
  nested_userns = true
  perf_events = true
  share_ro = {"*"}
  share_rw = {"*"}
  max_memory = 32G
  max_pids = 32768
  max_files = 1048576
}
'''

# Before each script. No program of the machine's own in /usr/local takes the place of Debian's.
PROLOGUE = r'''
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
fail() { echo "$*" >&2; exit 1; }
same() { [ "$1" = "$2" ] || fail "'$2' was expected, not '$1'"; }
until_works() { until "$@" >/dev/null 2>&1; do kill -0 "$server" 2>/dev/null || fail "it ended: $*"; sleep 0.05; done; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
server=$$
dialog() { python3 -c %s "$@"; }
ends() { server=$1; trap 'kill $server 2>/dev/null || :; wait $server || :' EXIT; }
''' % shlex.quote(yett.read(os.path.join(HERE, 'dialog.py')))


def packages_of(group):
    return set(subprocess.run([os.path.join(ROOT, 'tools', 'install-packages'), '--list', group], check=True, capture_output=True, text=True).stdout.split())


def packages():
    return sorted({package for program in corpus.PROGRAMS for package in program.packages.split()})


# --- sources of Debian's, for tests that programs bring ---

def source_of(name):
    """The unpacked source of a Debian package, fetched once, from where this machine has its packages from."""
    folder = os.path.join(os.environ.get('YETT_BUILD_ROOT', os.path.join(ROOT, 'build')), 'programs', 'sources')
    unpacked = os.path.join(folder, name)
    if not os.path.exists(unpacked):
        os.makedirs(folder, exist_ok=True)
        fetch(name, folder)
        subprocess.run(['dpkg-source', '--no-check', '-x', max(glob.glob('%s/%s_*.dsc' % (folder, name))), unpacked], check=True, capture_output=True)
    return unpacked


def fetch(name, folder):
    told = subprocess.run(['apt-get', 'indextargets', '--format', 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages', 'Origin: Debian'],
                          check=True, capture_output=True, text=True).stdout
    yett.write(folder + '/sources.list', told)
    for part in ('lists/partial', 'cache/archives/partial'):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    options = ['-qq', '-o', 'Dir::Etc::SourceList=%s/sources.list' % folder, '-o', 'Dir::Etc::SourceParts=-', '-o', 'Dir::State::Lists=%s/lists' % folder,
               '-o', 'Dir::Cache=%s/cache' % folder]
    for words in (['update'], ['source', '--download-only', name]):
        subprocess.run(['apt-get', *options, *words], check=True, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)


def give(source, target, user):
    """A copy that is the user's."""
    shutil.copytree(source, target, symlinks=True)
    for path, directories, files in os.walk(target):
        for name in ['.', *directories, *files]:
            os.lchown(os.path.join(path, name), user.uid, user.gid)


# --- running ---

def is_installed(package):
    return subprocess.run([os.path.join(ROOT, 'tools', 'install-packages'), '--have', package], capture_output=True).returncode == 0


def reason(done):
    """The last that a program said."""
    lines = (done.err.strip() or done.out.strip()).splitlines()
    return lines[-1] if lines else 'exit status %d' % done.code


on_host = {}  # by name: None where a program works on the host, else why it cannot
found = {}  # by name and whether without root: its verdict in this run


class Corpus(yett.Case):
    service_options = {'before': POLICY}
    is_rootless = False

    def attempt(self, program, *argv):
        """The script of a program in a new folder, behind other words."""
        work = os.path.join(self.alice.home, 'work')
        if program.source:
            give(source_of(program.source), work, self.alice)
        else:
            self.alice.mkdir('work')
        try:
            return self.run_to_its_end(work, *argv, 'sh', '-c', PROLOGUE + program.script)
        finally:
            shutil.rmtree(work)

    def run_to_its_end(self, work, *argv):
        with open(work + '.out', 'w+b') as out, open(work + '.err', 'w+b') as err:
            process = self.service.popen(self.alice, *argv, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                err.write(b'it does not end')
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(yett.DEADLINE)
            return yett.Result(process.returncode, *(yett.read(file.name) for file in (out, err)))

    def inside(self, program, *options):
        return self.attempt(program, self.service.yett, 'run', '-q', '--rw', '.', *options, '--')

    def look_at_host(self, program):
        missing = [package for package in program.packages.split() if not is_installed(package)]
        if missing:
            return 'not installed: ' + ' '.join(missing)
        if program.source:
            try:
                source_of(program.source)
            except subprocess.CalledProcessError as error:
                return 'no source of %s: %s' % (program.source, error.stderr.decode().strip())
        done = self.attempt(program)
        if done.code and not program.host:
            self.fail('it fails on the host: %r' % done)
        return '%s (%s)' % (program.host, reason(done)) if done.code else None

    def judge(self, program):
        """The verdict that this run finds, and what shows it."""
        declared = program.verdict_of(self.is_rootless)
        done = self.inside(program)
        if done.code == 0:
            return corpus.WORKS, done
        if declared.startswith(corpus.WITH):
            done = self.inside(program, *declared[len(corpus.WITH):].split())
            if done.code == 0:
                return declared, done
        return declared if declared.startswith(corpus.NOT) else corpus.NOT + reason(done), done

    def check(self, program):
        if 'perf_event_paranoid' in program.host:  # tests of yett doctor change it meanwhile
            self.enterContext(yett.machine_setting('/proc/sys/kernel/perf_event_paranoid', '2'))
        if program.name not in on_host:
            on_host[program.name] = 'it failed there'
            on_host[program.name] = self.look_at_host(program)
        if on_host[program.name]:
            self.skipTest('the host cannot: ' + on_host[program.name])
        verdict, done = self.judge(program)
        found[program.name, self.is_rootless] = verdict
        self.assertEqual(verdict, program.verdict_of(self.is_rootless), done)


class ByService(Corpus):
    pass


class WithoutRoot(Corpus):
    service_class = yett.Rootless
    is_rootless = True


def add_cases(programs):
    for program in programs:
        name = 'test_' + re.sub(r'\W+', '_', program.name).strip('_')
        for case in (ByService, WithoutRoot):
            setattr(case, name, functools.partialmethod(Corpus.check, program))


class Both:
    """A stream that is written to stdout and kept."""

    def __init__(self):
        self.text = ''

    def write(self, text):
        self.text += text
        sys.__stdout__.write(text)

    def flush(self):
        sys.__stdout__.flush()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('Usage: ')[1].splitlines()[0])
    for option in ('--little', '--packages', '--page'):
        parser.add_argument(option, action='store_true')
    parser.add_argument('--log')
    parser.add_argument('cases', nargs='*', metavar='CASE')
    wanted = parser.parse_args()
    if wanted.packages:
        print(' '.join(packages()))
        return 0
    if yett.missing():
        print('1..0 # SKIP ' + yett.missing())
        return 0
    little = packages_of('test') if wanted.little else set(packages())
    add_cases(program for program in corpus.PROGRAMS if set(program.packages.split()) <= little and not (wanted.little and program.source))
    loader, module = unittest.TestLoader(), sys.modules[__name__]
    suite = unittest.TestSuite([loader.loadTestsFromNames(wanted.cases or ['ByService', 'WithoutRoot'], module)])
    stream = Both()
    result = yett.TapResult(stream)
    with contextlib.redirect_stdout(sys.stderr):
        suite.run(result)
    print('1..%d' % result.count, file=stream)
    good = result.wasSuccessful() and result.count > 0
    if wanted.page:
        yett.write(page.PATH, page.text(lambda program, is_rootless: found.get((program.name, is_rootless)) or program.verdict_of(is_rootless)))
    if wanted.log:
        yett.write(wanted.log, json.dumps({'name': 'programs', 'result': 'OK' if good else 'FAIL', 'stdout': stream.text}) + '\n')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
