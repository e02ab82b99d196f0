# SPDX-License-Identifier: Apache-2.0
"""Commands with a terminal of their own, `yett run -t` and `yett shell`, on a terminal that the test plays."""
import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import termios
import time
import tty

import yett

READY = b'ready for it'
SAY_READY = 'echo ready for "it"; '  # not what is echoed when it is typed


SESSION = '''
import fcntl, os, struct
session, = struct.unpack("i", fcntl.ioctl(0, 0x5429, bytes(4)))  # TIOCGSID
print(session == os.getsid(0) == os.getpid() == os.tcgetpgrp(0))
'''


class Terminal:
    """The caller's terminal: a pty whose slave is the client's, and stays open here, so that its modes can be looked at."""

    def __init__(self, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.seen = b''
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)

    def close(self):
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[tty.LFLAG] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def read(self, timeout):
        ready, _, _ = select.select([self.master], [], [], timeout)
        if ready:
            self.seen += os.read(self.master, 65536)
        return bool(ready)

    def read_until(self, word):
        """What came since the last call, up to and with `word`, which is a regular expression."""
        word = re.compile(word if isinstance(word, bytes) else word.encode(), re.DOTALL)
        while not word.search(self.seen):
            if not self.read(yett.DEADLINE):
                raise AssertionError('%r did not come: %r' % (word.pattern, self.seen[-2000:]))
        end = word.search(self.seen).end()
        text, self.seen = self.seen[:end], self.seen[end:]
        return text.decode(errors='replace')

    def read_rest(self):
        while self.read(0):
            pass
        text, self.seen = self.seen, b''
        return text.decode(errors='replace')


class Case(yett.Case):
    def setUp(self):
        self.terminal = Terminal()
        self.addCleanup(lambda: self.terminal.close())
        self.here = self.folder('here')  # that it is shared needs no saying

    def begin(self, *argv, env=None, **more):
        """yett ARGV as the leader of a session that this terminal controls, as a login shell has it."""
        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        slave = self.terminal.slave
        more = {'stdin': slave, 'stdout': slave, 'stderr': slave, 'cwd': self.here, 'preexec_fn': take_terminal, **more}
        process = self.service.popen(self.alice, self.service.yett, *argv, env={'TERM': 'xterm', **(env or {})}, **more)
        self.addCleanup(self.end, process)
        return process

    def on_terminal(self, *argv, options=(), **more):
        return self.begin('run', '-t', *options, '--', *argv, **more)

    def output_on_terminal(self, *argv, options=(), **more):
        code = self.code(self.on_terminal(*argv, options=options, **more))
        text = self.terminal.read_rest()
        self.assertEqual(code, 0, text)
        return text

    def code(self, process):
        """Its exit status; what it writes is read meanwhile, or it could not end."""
        running = os.pidfd_open(process.pid)
        try:
            ready, end = [], time.monotonic() + yett.DEADLINE
            while running not in ready:
                ready, _, _ = select.select([running, self.terminal.master], [], [], max(0, end - time.monotonic()))
                self.assertTrue(ready, self.terminal.seen[-2000:])
                self.terminal.read(0)
        finally:
            os.close(running)
        return process.wait()


class Inside(Case):
    """What the command sees."""

    def test_its_streams_are_a_terminal_of_the_sandbox(self):
        text = self.output_on_terminal('sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && tty && stat -c %U:%G:%a $(tty) && echo x >/dev/tty')
        self.assertEqual(text.split(), ['/dev/pts/0', self.alice.name + ':tty:620', 'x'])

    def test_it_is_the_controlling_terminal_of_its_session(self):
        self.assertEqual(self.output_on_terminal('python3', '-c', SESSION).strip(), 'True')

    def test_nothing_else_of_the_client_is_open_in_it(self):
        self.assertEqual(self.output_on_terminal('python3', '-c', 'import os\nprint(*sorted(os.listdir("/proc/self/fd")))').split(),
                         ['0', '1', '2', '3'])

    def test_nobody_inside_holds_the_master(self):
        """So that it hangs up when the client goes."""
        process = self.on_terminal('sh', '-c', SAY_READY + 'sleep 1000')
        self.terminal.read_until(READY)
        commands = self.outside(process)
        self.assertTrue(commands)
        inside = commands + [yett.parent_of(commands[0])]
        links = []
        for pid in inside:
            for fd in os.listdir('/proc/%d/fd' % pid):
                with contextlib.suppress(FileNotFoundError):
                    links.append(os.readlink('/proc/%d/fd/%s' % (pid, fd)))
        self.assertTrue([link for link in links if link.endswith('pts/0')], links)
        self.assertEqual([link for link in links if 'ptmx' in link], [])

    def test_it_hangs_up_when_the_caller_hangs_up(self):
        path = self.folder('work')
        process = self.on_terminal('sh', '-c', 'trap "echo gone >gone; exit" HUP; %swhile :; do sleep 0.01; done' % SAY_READY,
                                   options=['--rw', path], cwd=path)
        self.terminal.read_until(READY)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.code(process), 128 + signal.SIGHUP)
        self.service.wait_no_leftovers()

    def test_the_kind_of_terminal_is_the_caller_s(self):
        for env, options, expected in (({'TERM': 'vt100'}, [], 'vt100'), ({'TERM': 'vt100'}, ['-e', 'TERM=dumb'], 'dumb'),
                                       ({'TERM': 'x\n$(y)'}, [], ''), ({'TERM': ''}, [], '')):
            with self.subTest(env=env, options=options):
                self.assertEqual(self.output_on_terminal('sh', '-c', 'echo "[$TERM]"', env=env, options=options).strip(),
                                 '[%s]' % expected)

    def test_a_sandbox_can_have_only_so_many_terminals(self):
        """The kernel counts those of all sandboxes together; of what a user may have each sandbox has its share."""
        script = 'import os\nn = 0\ntry:\n  while n < 2000:\n    os.openpty(); n += 1\nexcept OSError as e:\n  print(n, e.errno)'
        count, error = self.python(script, options=['--files', '8192']).split()
        self.assertEqual(int(count), 1024 // 64)
        self.assertEqual(int(error), 28)

    def test_terminals_of_several_commands_and_sandboxes_are_apart(self):
        first = self.on_terminal('sh', '-c', 'stty rows 11; ' + SAY_READY + 'sleep 1000')
        self.terminal.read_until(READY)
        other = Terminal(rows=77)
        self.addCleanup(other.close)
        self.assertEqual(self.output_on_terminal('stty', 'size', stdin=other.slave, preexec_fn=None).split(), ['77', '80'])
        first.send_signal(signal.SIGTERM)
        self.code(first)


class Bytes(Case):
    def test_every_byte_goes_in_and_out_as_it_is(self):
        process = self.on_terminal('sh', '-c', 'stty raw -echo; %shead -c 256' % SAY_READY)
        self.terminal.read_until(READY + b'\n')
        everything = bytes(range(256))
        self.terminal.type(everything)
        self.assertEqual(self.code(process), 0)
        self.assertEqual(self.terminal.seen, everything)

    def test_all_output_arrives_before_the_end(self):
        process = self.on_terminal('seq', '1', '100000')
        self.assertEqual(self.code(process), 0)
        self.assertEqual(self.terminal.read_rest().split(), [str(i) for i in range(1, 100001)])

    def test_a_command_that_does_not_read_holds_nobody_up(self):
        process = self.on_terminal('sh', '-c', 'stty raw -echo; %swhile :; do echo tick; sleep 0.05; done' % SAY_READY)
        self.terminal.read_until(READY)
        for _ in range(40):
            if select.select([], [self.terminal.master], [], 0)[1]:
                os.write(self.terminal.master, b'x' * 1000)
            else:
                self.terminal.read_until('tick')
        self.terminal.read_until('tick.*tick')
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.code(process), 143)
        self.assertTrue(self.terminal.is_restored())

    def test_output_may_go_elsewhere(self):
        path = self.alice.write('out')
        with open(path, 'wb') as out:
            process = self.on_terminal('tty', stdout=out)
            self.assertEqual(self.code(process), 0)
        self.assertEqual(yett.read(path), '/dev/pts/0\n')

    def test_a_reader_that_went_away_ends_the_run(self):
        reader, writer = os.pipe()
        process = self.on_terminal('yes', stdout=writer)
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b'y')
        os.close(reader)
        self.assertEqual(self.code(process), 128 + signal.SIGPIPE)
        self.assertTrue(self.terminal.is_restored())


class Size(Case):
    def test_it_is_the_caller_s_at_the_start(self):
        self.terminal.resize(33, 101)
        self.assertEqual(self.output_on_terminal('stty', 'size').split(), ['33', '101'])

    def test_it_follows_the_caller_s(self):
        process = self.on_terminal('sh', '-c', 'trap "stty size" WINCH; %swhile :; do sleep 0.01; done' % SAY_READY)
        self.terminal.read_until(READY)
        for rows, columns in ((50, 132), (1, 1), (65535, 65535)):
            self.terminal.resize(rows, columns)
            self.terminal.read_until(r'(?<!\d)%d %d\r' % (rows, columns))
        process.send_signal(signal.SIGTERM)
        self.code(process)


class Programs(Case):
    def need(self, program):
        if not shutil.which(program):
            self.fail(program + ' is not installed; tools/install-packages test')

    def test_vim(self):
        vim = 'vim' if shutil.which('vim') else 'vim.tiny'
        self.need(vim)
        path = self.folder('work')
        process = self.on_terminal(vim, '-u', 'NONE', '-N', 'file', options=['--rw', path], cwd=path)
        self.terminal.read_until('~.*~.*~')
        self.terminal.type('ihello from inside\x1b')
        self.terminal.read_until('hello from inside')
        self.terminal.type(':wq\r')
        self.assertEqual(self.code(process), 0)
        self.assertEqual(yett.read(path + '/file'), 'hello from inside\n')
        self.assertTrue(self.terminal.is_restored())

    def test_top(self):
        self.need('top')
        process = self.on_terminal('top')
        self.terminal.read_until('PID.*COMMAND.*top')
        self.terminal.resize(40, 120)
        self.terminal.read_until('top')
        self.terminal.type('q')
        self.assertEqual(self.code(process), 0)

    def job_control(self, *shell):
        # One process: of a shell that has just called vfork(2) only the child would stop. It sleeps for moments: a signal that comes
        # when another one has just been handled does not end the sleep that follows.
        job = 'import os, signal, time\nsignal.signal(signal.SIGCONT, lambda *_: os.write(1, b"conti" b"nued"))\n' \
            'os.write(1, b"ready" b" for it")\nwhile True: time.sleep(0.01)'
        process = self.on_terminal(*shell, '-i', options=['-e', 'PS1=> ', '-e', 'JOB=' + job])
        self.terminal.read_until('> ')
        self.terminal.type('python3 -c "$JOB"\r')
        self.terminal.read_until(READY)
        self.terminal.type(b'\x1a')
        self.terminal.read_until('Stopped.*> ')
        self.terminal.type('jobs; fg\r')
        self.terminal.read_until('Stopped.*continued')
        self.terminal.type(b'\x03')
        self.terminal.read_until('> ')
        self.terminal.type('echo status=$?\r')
        self.terminal.read_until('status=130')
        self.terminal.type(SAY_READY + 'cat\r')
        self.terminal.read_until(READY)
        self.terminal.type('and back\r')
        self.terminal.read_until('and back.*and back')
        self.terminal.type(b'\x04')
        self.terminal.read_until('> ')
        self.terminal.type('exit 9\r')
        self.assertEqual(self.code(process), 9)

    def test_job_control_of_sh(self):
        self.job_control('sh')

    def test_job_control_of_bash(self):
        self.job_control('bash', '--norc')


class Shell(Case):
    def test_it_is_the_caller_s_with_a_terminal_and_the_options_of_run(self):
        path = self.folder('work')
        process = self.begin('shell', '--rw', path, '--hostname', 'box', '-e', 'PS1=> ', env={'SHELL': '/bin/bash'}, cwd=path)
        self.terminal.read_until('[#>$] ')
        self.terminal.type('echo $BASH $(tty) $(hostname) $(pwd)=\r')
        self.terminal.read_until('/bin/bash /dev/pts/0 box %s=' % path)
        self.terminal.type('exit 7\r')
        self.assertEqual(self.code(process), 7)
        self.assertTrue(self.terminal.is_restored())

    def test_one_that_is_not_there_is_sh(self):
        for shell in ('/no/such/shell', 'relative', ''):
            with self.subTest(shell):
                process = self.begin('shell', '-e', 'PS1=> ', env={'SHELL': shell})
                self.terminal.read_until('> ')
                self.terminal.type('echo "[$0]"\r')
                self.terminal.read_until(r'\[/bin/sh\]')
                self.terminal.type('exit\r')
                self.assertEqual(self.code(process), 0)

    def test_its_usage(self):
        for argv, text in ((['x'], 'does not know what to do with x'), (['-t'], 'has no option -t'), (['--tty'], 'has no option --tty')):
            self.assert_refused(self.yett('shell', *argv), 125, text)
        shown = self.yett('shell', '--help').out
        self.assertIn('--rw', shown)
        self.assertNotIn('--tty', shown)
        self.assertIn('-t, --tty', self.yett('run', '--help').out)


class Refusals(Case):
    def test_without_a_terminal_there_is_nothing_to_join(self):
        for argv in (['run', '-t', '--', 'true'], ['shell']):
            with self.subTest(argv=argv):
                self.assert_refused(self.yett(*argv), 125, 'standard input is no terminal')
                with open('/dev/null', 'rb') as null:
                    self.assert_refused(self.yett(*argv, stdin=null), 125, 'standard input is no terminal')

    def test_a_plan_needs_none(self):
        done = self.yett('run', '-t', '--dry-run', '--', 'true')
        self.assertEqual(done.code, 0, done)

    def test_a_value_for_the_flag(self):
        self.assert_refused(self.yett('run', '--tty=yes', '--', 'true'), 125, '--tty takes no value')


class Restored(Case):
    """However it ends, the caller's terminal is as it was."""

    def begin_raw(self, script='sleep 1000', options=()):
        process = self.on_terminal('sh', '-c', 'trap "" INT QUIT TERM; ' + SAY_READY + script, options=options)
        self.terminal.read_until(READY)
        self.assertTrue(self.terminal.is_raw())
        return process

    def assert_restored(self):
        yett.wait_until(self.terminal.is_restored, 'the modes of the terminal as they were')

    def code_of_line(self, script):
        process = self.begin_raw('read line; ' + script)
        self.terminal.type('\r')
        return self.code(process)

    def test_after_a_status(self):
        for status in (0, 3):
            self.assertEqual(self.code_of_line('exit %d' % status), status)
            self.assertTrue(self.terminal.is_restored())

    def test_after_a_command_that_was_not_there(self):
        self.assertEqual(self.code(self.on_terminal('no-such-command')), 127)
        self.assertTrue(self.terminal.is_restored())

    def run_out_of_time(self):
        """A raw terminal whose command has as much time as that takes, and no more: the time limit."""
        for limit in ('1s', '8s', '45s'):
            process = self.on_terminal('sh', '-c', 'trap "" INT QUIT TERM; echo begun >begun; sleep 1000', options=['--rw', self.here, '--timeout', limit])
            yett.wait_until(lambda process=process: self.terminal.is_raw() or process.poll() is not None, 'a raw terminal')
            was_raw = self.terminal.is_raw()
            self.assertEqual(self.code(process), 124)
            if was_raw and os.path.exists(self.here + '/begun'):
                return limit
        raise AssertionError('the command did not begin in ' + limit)

    def test_after_a_timeout(self):
        self.run_out_of_time()
        self.assertTrue(self.terminal.is_restored())

    def test_after_a_signal_whether_or_not_the_command_heeds_it(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number):
                process = self.begin_raw()
                process.send_signal(number)
                self.assertEqual(self.code(process), 128 + number)
                self.assertTrue(self.terminal.is_restored())

    def test_other_signals_are_the_command_s(self):
        process = self.begin_raw('trap "echo caught; exit 5" USR1; echo trapped; while :; do sleep 0.01; done')
        self.terminal.read_until('trapped')
        process.send_signal(signal.SIGUSR1)
        self.terminal.read_until('caught')
        self.assertEqual(self.code(process), 5)

    def test_after_the_death_of_the_client(self):
        for to_group in (False, True):
            with self.subTest(to_group=to_group):
                process = self.begin_raw()
                if to_group:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
                process.wait(yett.DEADLINE)
                self.assert_restored()
                self.service.wait_no_leftovers()

    def test_what_somebody_else_set_after_the_death_of_the_client_stays(self):
        """The shell has its terminal again by then, perhaps: the watcher is stopped to be the later one."""
        process = self.begin_raw()
        watcher = self.watcher(process)
        os.kill(watcher, signal.SIGSTOP)
        process.kill()
        process.wait(yett.DEADLINE)
        modes = termios.tcgetattr(self.terminal.slave)
        modes[tty.LFLAG] |= termios.ISIG
        termios.tcsetattr(self.terminal.slave, termios.TCSANOW, modes)
        os.kill(watcher, signal.SIGCONT)
        yett.wait_until(lambda: not yett.is_alive(watcher), 'the end of the watcher')
        self.assertEqual(termios.tcgetattr(self.terminal.slave), modes)

    def watcher(self, process):
        found = [pid for pid in yett.children_of(process.pid) if os.getsid(pid) == pid]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_the_watcher_holds_nothing_but_the_terminal_and_goes_with_the_run(self):
        process = self.begin_raw('read line')
        watcher = self.watcher(process)
        links = sorted(os.readlink('/proc/%d/fd/%s' % (watcher, fd)) for fd in os.listdir('/proc/%d/fd' % watcher))
        self.assertEqual(len(links), 2, links)
        self.assertTrue(links[0].startswith('/dev/pts/') and links[1].startswith('socket:'), links)
        self.terminal.type('\r')
        self.assertEqual(self.code(process), 0)
        self.assertFalse(yett.is_alive(watcher))

    def test_after_the_death_of_init_and_of_the_supervisor(self):
        for generations in (1, 2):
            with self.subTest(generations=generations):
                process = self.begin_raw()
                victim = self.outside(process)[0]
                # a command's parent, perhaps through other commands, is init; init's is the supervisor
                while yett.status_of(victim)['NSpid'].split()[-1] != '1':
                    victim = yett.parent_of(victim)
                if generations == 2:
                    victim = yett.parent_of(victim)
                os.kill(victim, signal.SIGKILL)
                code = self.code(process)
                self.assertIn(code, (125, 128 + signal.SIGKILL))  # init may have seen the end of the command before its own
                self.assertTrue(self.terminal.is_restored())
                if code == 125:
                    self.assertIn('yett: ', self.terminal.read_rest())
                self.service.wait_no_leftovers()

    def test_after_the_death_of_the_caller_s_terminal(self):
        process = self.begin_raw()
        self.terminal.close()
        self.terminal = Terminal()
        # Told by the signal, or by what could not be written any more: whichever comes first.
        self.assertIn(process.wait(yett.DEADLINE), (128 + signal.SIGHUP, 128 + signal.SIGPIPE))
        self.service.wait_no_leftovers()

    def test_while_it_is_stopped(self):
        """Without a word; a shell's job is in test_job.py."""
        process = self.begin_raw('while read line; do echo "got $line"; done')
        process.send_signal(signal.SIGTSTP)  # stops nobody whom nobody would continue
        yett.wait_until(self.terminal.is_raw, 'a raw terminal')
        process.send_signal(signal.SIGSTOP)
        yett.wait_until(lambda: yett.status_of(process.pid)['State'].startswith('T'), 'a stopped client')
        termios.tcsetattr(self.terminal.slave, termios.TCSANOW, self.terminal.before)  # as a shell does then
        self.terminal.resize(10, 20)
        process.send_signal(signal.SIGCONT)
        yett.wait_until(self.terminal.is_raw, 'a raw terminal')
        self.terminal.type('again\r')
        self.terminal.read_until('got again')
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.code(process), 143)
        self.assertTrue(self.terminal.is_restored())

    def test_in_the_background_it_waits_for_the_terminal(self):
        """Of a shell outside, whose terminal it is meanwhile."""
        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        slave = self.terminal.slave
        shell = self.service.popen(self.alice, 'bash', '--norc', '-i', stdin=slave, stdout=slave, stderr=slave, cwd=self.here,
                                   preexec_fn=take_terminal, env={'TERM': 'xterm', 'YETT': self.service.yett, 'PS1': '> '})
        self.addCleanup(self.end, shell)
        self.terminal.read_until('[$>] ')
        self.terminal.type('$YETT run -t -- sh -c \'%sread x; echo "got $x"\' &\r' % SAY_READY)
        self.terminal.read_until(r'Stopped|\[1\]')

        def is_stopped():
            self.terminal.type('jobs; echo "[""jobs]"\r')
            return 'Stopped' in self.terminal.read_until(r'\[jobs\]')
        yett.wait_until(is_stopped, 'a stopped job')
        self.terminal.type('fg\r')
        self.terminal.read_until(READY)
        self.terminal.type('here\r')
        self.terminal.read_until('got here.*> ')
        self.terminal.type('stty -a; exit 4\r')
        self.terminal.read_until('[^-]icanon.*[^-]echo ')
        self.assertEqual(self.code(shell), 4)

    def test_messages_come_when_it_is_as_it_was(self):
        limit = self.run_out_of_time()
        self.assertIn('time limit reached (%s)\r\n' % limit, self.terminal.read_rest())


class OutOfReach(Case):
    """A payload that would like to get at the caller's terminal."""

    def test_no_device_inside_is_the_caller_s(self):
        theirs = os.fstat(self.terminal.slave)
        script = '''
import os
names = ["/dev/tty", "/dev/console", "/dev/ptmx"] + ["/dev/pts/" + n for n in os.listdir("/dev/pts")]
names += ["/proc/%s/fd/%s" % (p, f) for p in os.listdir("/proc") if p.isdigit() and os.access("/proc/%s/fd" % p, os.R_OK)
          for f in os.listdir("/proc/%s/fd" % p)]
for name in names:
    try:
        s = os.stat(name)
    except OSError:
        continue
    print("at", s.st_dev, s.st_ino)
'''
        text = self.output_on_terminal('python3', '-c', script)
        found = {tuple(int(n) for n in row) for row in re.findall(r'at (\d+) (\d+)', text)}
        self.assertTrue(found)
        self.assertNotIn((theirs.st_dev, theirs.st_ino), found)
        self.assertTrue(stat.S_ISCHR(theirs.st_mode))

    def test_nothing_can_be_typed_into_its_own_terminal_nor_its_discipline_changed(self):
        script = '''
import errno, fcntl, os, struct, termios
for name, number, argument in (("TIOCSTI", 0x5412, b"x"), ("TIOCLINUX", 0x541c, b"\\x02"), ("TIOCSETD", 0x5423, struct.pack("i", 0))):
    try:
        fcntl.ioctl(0, number, argument)
        print(name, "done")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
'''
        self.assertEqual(self.output_on_terminal('python3', '-c', script).split(),
                         ['TIOCSTI', 'EPERM', 'TIOCLINUX', 'EPERM', 'TIOCSETD', 'EPERM'])

    def test_it_can_do_as_it_likes_to_its_own_modes(self):
        process = self.on_terminal('sh', '-c', 'stty raw -echo cs7 -opost; %sread x' % SAY_READY)
        self.terminal.read_until(READY)
        self.terminal.type('\n')
        self.assertEqual(self.code(process), 0)
        self.assertTrue(self.terminal.is_restored())


if __name__ == '__main__':
    yett.main()
