# SPDX-License-Identifier: Apache-2.0
"""Jobs of a shell on a terminal that the test plays: what users of ssh and docker expect of `yett run` in the background, when it is
suspended, in pipelines, and when it is to end."""
import contextlib
import os
import re
import select
import signal
import subprocess
import termios
import tty

import test_terminal
import yett

# Reads keys of the terminal as a pager does, one by one, and says which; ends with q.
PAGER = '''
import os, sys, termios, tty
terminal = os.open("/dev/tty", os.O_RDWR)
before = termios.tcgetattr(terminal)
tty.setcbreak(terminal)
sys.stdin.buffer.readline()
os.write(1, b"pager " + b"up\\r\\n")
key = b""
while key != b"q":
    key = os.read(terminal, 1)
    os.write(1, b"<" + key + b">")
termios.tcsetattr(terminal, termios.TCSANOW, before)
'''


def is_filled(terminal):
    """Writes what it takes; whether it takes nothing more."""
    with contextlib.suppress(BlockingIOError):
        os.write(terminal, b'y' * 4096)
    return not select.select([], [terminal], [], 0)[1]


class Case(test_terminal.Case):
    """An interactive shell outside, whose jobs the runs are."""

    def setUp(self):
        super().setUp()
        self.shell_ = self.begin_shell()

    def begin_shell(self):
        def take_terminal():
            os.setsid()
            test_terminal.fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        slave = self.terminal.slave
        # the leak sanitizer stops and continues who it looks into, which is what a shell with jobs does, too
        environment = {'TERM': 'xterm', 'yett': self.service.yett, 'PS1': '> ', 'PAGER': PAGER, 'HISTFILE': '', 'ASAN_OPTIONS': 'detect_leaks=0'}
        shell = self.service.popen(self.alice, 'bash', '--norc', '--noediting', '-i', stdin=slave, stdout=slave, stderr=slave, cwd=self.here,
                                   preexec_fn=take_terminal, env=environment)
        self.addCleanup(self.end, shell)
        self.terminal.read_until('> ')
        return shell

    def do(self, line, until='> '):
        """Types a line; what came up to and with `until`."""
        self.terminal.type(line + '\r')
        return self.terminal.read_until(re.escape(line) + '.*' + until)

    def state(self, pid):
        return yett.status_of(pid).get('State', 'X')[0]

    def last_job(self):
        """The process of the job that was started last."""
        return int(re.search(r'\[=(\d+)=\]', self.do('echo "[="$!"=]"', r'\[=\d+=\]')).group(1))

    def jobs_until(self, word):
        """The list of jobs, when it holds the word."""
        texts = []

        def is_told():
            texts.append(self.do('jobs; echo "[""jobs]"', r'\[jobs\]'))
            return re.search(word, texts[-1])  # or the shell has said so before its prompt, when it was asked before
        yett.wait_until(is_told, 'a list of jobs with ' + word)
        return texts[-1]

    def wait_running(self, pid):
        """Until its command runs: the terminal has told so, or there is a process of its sandbox."""
        yett.wait_until(lambda: ' pid=%d ' % pid in self.service.log_text(), 'a sandbox')

    def assert_ends(self, pid):
        yett.wait_until(lambda: not yett.is_alive(pid), 'the end of the run')


class Background(Case):
    def test_lines_that_are_typed_are_the_shells_and_do_not_stop_it(self):
        self.do('$yett run -- sh -c \'%sread x; echo "got ""$x"\' &' % test_terminal.SAY_READY, 'ready for it')
        pid = self.last_job()
        for i in range(3):
            self.do('echo "line "%d' % i, 'line %d' % i)
            self.assertNotIn(self.state(pid), 'TX')
        self.assertIn('Running', self.jobs_until('Running'))
        # and in the foreground again it reads
        self.do('fg', 'run')
        self.do('hello', 'got hello.*> ')

    def test_sigterm_ends_it(self):
        for how in ('kill %1', 'kill $!'):
            with self.subTest(how):
                self.do('$yett run -- sh -c "%sexec sleep 1000" &' % test_terminal.SAY_READY.replace('"', "'"), 'ready for it')
                pid = self.last_job()
                self.do('echo typed')
                self.do(how)
                self.assert_ends(pid)
                self.jobs_until('Exit 143|Terminated')
        self.service.wait_no_leftovers()

    def test_sigterm_ends_one_whose_command_does_not_heed_it(self):
        process = self.start('sh', '-c', 'trap "" TERM; echo up; while :; do sleep 1; done')
        self.line(process)
        process.terminate()
        self.assertEqual(process.wait(yett.DEADLINE), 143)
        self.service.wait_no_leftovers()

    def test_in_a_sandbox_that_stays_the_command_goes_with_the_run(self):
        self.assertEqual(self.yett('create', '--name', 'stays').code, 0)
        self.addCleanup(self.yett, 'destroy', 'stays')
        process = self.service.popen(self.alice, self.service.yett, 'exec', 'stays', '--', 'sh', '-c', 'trap "" TERM; echo up; while :; do sleep 1; done',
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'up')
        process.terminate()
        self.assertEqual(process.wait(yett.DEADLINE), 143)
        yett.wait_until(lambda: 'killed' in self.yett('ps', 'stays').out, 'the end of the command')

    def test_a_terminal_of_its_own_waits_for_the_callers_and_can_be_ended_meanwhile(self):
        self.do('$yett run -t -- sh -c \'echo up; read x\' &')
        pid = self.last_job()
        self.jobs_until('Stopped')
        self.do('kill %1')
        self.assert_ends(pid)
        self.jobs_until('Exit 143|Terminated')
        self.assertTrue(self.do('stty -a', '[^-]icanon.*[^-]echo '))

    def test_it_stops_before_it_writes_where_the_user_wants_that(self):
        self.do('stty tostop')
        # It sleeps for moments: dash that has just begun to start a program passes over the signal until that program has ended.
        self.do('$yett run -- sh -c \'trap "exit 130" INT; echo first; echo second; while :; do sleep 0.01; done\' &')
        pid = self.last_job()
        self.assertNotIn('first\r', self.jobs_until('Stopped'))
        self.do('fg', 'first\r\nsecond')
        self.terminal.type(b'\x03')
        self.terminal.read_until('> ')
        self.assert_ends(pid)
        self.do('$yett run -- sh -c \'echo first; sleep 1000\' &')
        pid = self.last_job()
        self.jobs_until('Stopped')
        self.do('kill %1')
        self.assert_ends(pid)

    def test_nohup(self):
        out = self.alice.write('here/out')
        self.do('nohup $yett run -- sh -c \'echo up; while :; do sleep 0.01; done\' >out 2>&1 &')
        pid = self.last_job()
        # nohup itself writes "nohup: ignoring input", before it ignores the signal
        yett.wait_until(lambda: 'up' in yett.read(out).splitlines(), 'its first line')
        os.kill(pid, signal.SIGHUP)
        os.kill(pid, signal.SIGCONT)  # comes after it
        os.kill(pid, signal.SIGUSR1)
        self.assert_ends(pid)
        self.jobs_until('Exit 138|User defined')

    def test_the_interrupt_key_is_not_for_one_in_the_background_of_a_script(self):
        out = self.alice.write('here/out')
        self.terminal.type('sh -c \'$yett run -- sh -c "echo up; while :; do sleep 0.01; done" >out 2>&1 & echo $! >pid; cat\'\r')
        yett.wait_until(lambda: 'up' in yett.read(out), 'its first line')
        yett.wait_until(lambda: os.path.exists(self.here + '/pid') and yett.read(self.here + '/pid').endswith('\n'), 'its number')
        pid = int(yett.read(self.here + '/pid'))
        self.terminal.type(b'\x03')
        self.terminal.read_until('> ')
        os.kill(pid, signal.SIGTERM)
        self.assert_ends(pid)
        self.assertIn('exit=', self.do('echo exit=$?', 'exit=130'))


class Suspended(Case):
    def test_the_command_stands_still_with_it_and_goes_on(self):
        self.terminal.type('$yett run -- sh -c \'%swhile read x; do echo "got $x"; done\'\r' % test_terminal.SAY_READY)
        self.terminal.read_until(test_terminal.READY)
        self.terminal.type(b'\x1a')
        self.terminal.read_until('Stopped.*> ')
        pid = int(re.search(r'\[=(\d+)=\]', self.do('echo "[="$(jobs -p)"=]"', r'\[=\d+=\]')).group(1))
        uid = str(self.private_uid_of(pid))
        inside = [p for p in yett.processes() if yett.status_of(p).get('Uid', '').split()[:1] == [uid] and 'while read' in ' '.join(yett.argv_of(p))]
        self.assertEqual(len(inside), 1)
        yett.wait_until(lambda: self.state(inside[0]) == 'T', 'a command that stands still')
        self.do('fg', 'run')
        self.do('hello', 'got hello')
        self.terminal.type(b'\x1a')
        self.terminal.read_until('Stopped.*> ')
        self.do('bg')
        self.jobs_until('Running')
        yett.wait_until(lambda: self.state(inside[0]) == 'S', 'a command that goes on')
        self.do('fg', 'run')
        self.do('again', 'got again')
        self.terminal.type(b'\x1a')
        self.terminal.read_until('Stopped.*> ')
        self.do('kill %1')
        self.assert_ends(pid)

    def private_uid_of(self, pid):
        pattern = r' pid=%d sandbox=\w+ profile=\S+ private_uid=(\d+) created' % pid
        return int(re.search(pattern, self.service.log_text()).group(1))

    def test_one_with_a_terminal_gives_it_back_meanwhile(self):
        self.terminal.type('$yett run -t -- sh -c \'%swhile read x; do echo "got $x"; done\'\r' % test_terminal.SAY_READY)
        self.terminal.read_until(test_terminal.READY)
        pid = [p for p in yett.children_of(self.shell_.pid) if yett.argv_of(p)[1:2] == ['run']][0]
        os.kill(pid, signal.SIGTSTP)
        self.terminal.read_until('Stopped.*> ')
        self.do('stty -a', '[^-]icanon.*[^-]echo .*> ')
        self.do('bg')
        self.jobs_until('Stopped')  # it waits for the terminal again
        self.do('fg', 'run')
        yett.wait_until(self.terminal.is_raw, 'a raw terminal')
        self.terminal.type('hello\r')
        self.terminal.read_until('got hello')
        self.terminal.type(b'\x04')
        self.terminal.read_until('> ')

    def test_a_terminal_that_holds_output_back_does_not_hold_the_end_back(self):
        self.terminal.type('$yett run -- yes\r')
        self.terminal.read_until('y\r\ny\r\n')
        self.terminal.type(b'\x13')
        pid = [p for p in yett.children_of(self.shell_.pid) if yett.argv_of(p)[1:2] == ['run']][0]
        self.terminal.read_rest()
        os.kill(pid, signal.SIGTERM)
        self.assert_ends(pid)
        self.terminal.type(b'\x11')
        self.terminal.read_until('> ')

    def test_one_whose_terminal_nobody_reads_can_be_ended(self):
        """Nor does a terminal that is full: the emulator hangs."""
        self.terminal.type('$yett run -- yes\r')
        self.terminal.read_until('y\r\ny\r\n')
        pid = [p for p in yett.children_of(self.shell_.pid) if yett.argv_of(p)[1:2] == ['run']][0]
        slave = os.open('/proc/%d/fd/1' % pid, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        self.addCleanup(os.close, slave)
        # With what the relay wrote it may have room again, of which the kernel tells no writer until somebody reads.
        yett.wait_until(lambda: is_filled(slave), 'a terminal that is full')  # and stays so: nobody reads
        os.kill(pid, signal.SIGTERM)
        self.assert_ends(pid)


class Pipelines(Case):
    def test_keys_are_the_pagers(self):
        self.terminal.type('$yett run -- sh -c \'echo text; exec sleep 1000\' | python3 -c "$PAGER"\r')
        self.terminal.read_until('pager up')
        for key in 'abcdefgh':
            self.terminal.type(key)
            self.terminal.read_until('<%s>' % key)
        self.terminal.type('q')
        self.terminal.read_until('<q>')
        self.terminal.type(b'\x03')
        self.terminal.read_until('> ')

    def test_without_input_what_is_typed_is_for_who_comes_next(self):
        self.terminal.type('$yett run -n -- sh -c \'cat; echo "no ""input"\'; read x; echo "next ""$x"\r')
        self.terminal.read_until('no input')
        self.do('typed', 'next typed')

    def test_without_input_a_loop_reads_its_own(self):
        done = self.service.run(self.alice, 'sh', '-c', 'while read x; do %s run -n -- sh -c "cat; echo $x"; done' % self.service.yett,
                                input='one\ntwo\n')
        self.assertEqual(done.out, 'one\ntwo\n')


del Case  # what it inherits runs in test_terminal.py

if __name__ == '__main__':
    yett.main()
