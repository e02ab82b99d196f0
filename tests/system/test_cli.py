# SPDX-License-Identifier: Apache-2.0
"""The command `yett run` as a user meets it: exit codes, streams, signals, what is shared, and what is refused."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import termios
import unittest

import yett


class ExitCodes(yett.Case):
    def test_the_commands_own(self):
        for script, code in (('exit 0', 0), ('exit 1', 1), ('exit 77', 77), ('exit 255', 255), ('kill -TERM $$', 143),
                             ('kill -KILL $$', 137), ('kill -SEGV $$', 139)):
            with self.subTest(script=script):
                self.assertEqual(self.sandbox('sh', '-c', script).code, code)

    def test_what_shells_give_for_commands_that_cannot_start(self):
        directory = self.folder('bin')
        self.alice.write('bin/plain', 'text')
        self.alice.write('bin/no-interpreter', '#!/no/such/interpreter\n', mode=0o755)
        self.alice.write('bin/garbage', '\x7fELFnot', mode=0o755)
        for command, code in (('no-such-command', 127), ('/no/such/command', 127), (directory + '/plain', 126), (directory, 126),
                              ('/usr', 126), (directory + '/garbage', 126), (directory + '/plain/below', 126)):
            with self.subTest(command=command):
                done = self.sandbox(command, options=['--ro', directory])
                self.assertEqual((done.code, done.out), (code, ''), done)
                self.assertIn('yett: ', done.err)
        self.assertIn(self.sandbox(directory + '/no-interpreter', options=['--ro', directory]).code, (126, 127))

    def test_yetts_own_failures_are_125(self):
        for options in (['--no-such-option'], ['-p'], ['-p', 'no-such-profile'], ['--memory', 'much'], ['--memory', '0'],
                        ['--memory', '4Q'], ['--cpus', '-1'], ['--cpus', 'x'], ['--pids', '1.5'], ['--timeout', '5x'],
                        ['--timeout', '0s'], ['--timeout', '99999h'], ['--timeout', ''], ['-C', 'relative'], ['-e', 'NOVALUE'],
                        ['-e', '=x'], ['--tmpfs', 'relative'], ['--copy-in', 'x'], ['--copy-in', 'x:y'],
                        ['--copy-in', ':/x'], ['--copy-in', '/no/such/path:/tmp/x'], ['--copy-out', 'x:y'], ['--copy-out', '/x:'],
                        ['--copy-out', '/no/such/path:x'], ['--tmpfs', '/x:0'], ['--tmpfs', '/x:big'], ['--ro', ''],
                        ['--ro', '/no/such/path'], ['--socket', '/no/such/socket'], ['--json-fd', '99'], ['--dry-run=1']):
            with self.subTest(options=options):
                done = self.sandbox('true', options=options)
                self.assertEqual((done.code, done.out), (125, ''), done)
                self.assertTrue(done.err.startswith('yett: ') or '\nyett: ' in done.err, done)

    def test_no_command_is_a_usage_error(self):
        for argv in (['run'], ['run', '--'], ['run', '-p', 'default']):
            with self.subTest(argv=argv):
                done = self.yett(*argv)
                self.assertEqual(done.code, 125, done)
                self.assertIn('needs [--] COMMAND', done.err)
        self.assert_refused(self.sandbox(''), 125, 'no command')

    def test_usage_of_the_other_subcommands(self):
        for argv, code in ((['no-such-subcommand'], 2), ([], 2), (['policy'], 2), (['policy', 'unknown', 'x'], 2), (['enroll', 'x'], 2),
                           (['keygen', 'a', 'b'], 2), (['--version'], 0), (['--help'], 0), (['help'], 0), (['help', 'run'], 0),
                           (['run', '--help'], 0), (['help', 'none'], 2), (['doctor', 'x'], 2)):
            with self.subTest(argv=argv):
                done = self.yett(*argv)
                self.assertEqual(done.code, code, done)

    def test_a_long_help_leaves_out_what_is_rarely_needed_and_says_so(self):
        short, whole = self.yett('run', '--help').out, self.yett('run', '--help', '--all').out
        lines = short.splitlines()
        self.assertLessEqual(set(lines[:-2]), set(whole.splitlines()))
        left_out = len(whole.splitlines()) - len(lines[:-2])
        self.assertEqual(lines[-2:], ['', '%d more: yett run --help --all' % left_out])
        self.assertGreater(left_out, 20)
        self.assertIn('--memory SIZE ', short)
        self.assertEqual((self.yett('help', 'run').out, self.yett('help', 'run', '--all').out), (short, whole))
        self.assertEqual(self.yett('ps', '--help').out, self.yett('ps', '--help', '--all').out)

    def test_the_help_is_short_lines_in_groups(self):
        lines = self.yett('--help').out.splitlines()
        titles = [line for line in lines if re.fullmatch('[A-Z][a-z]+:', line)]
        self.assertEqual(titles, ['Run:', 'Sandboxes:', 'Files:', 'Network:', 'Changes:', 'Agents:', 'Administration:'])
        summaries = [line[13:] for line in lines if line.startswith('  ')]
        self.assertEqual([text for text in summaries if len(text) > 60 or not text[0].isupper()], [])

    def test_a_command_that_does_not_end_by_itself_ends_with_its_time(self):
        self.assertEqual(self.sandbox('sleep', '1000', options=['--timeout', '200ms']).code, 124)

    def test_a_directory_that_is_not_there_is_yetts_failure_by_name(self):
        done = self.sandbox('true', options=['-C', '/no/such/directory'])
        self.assertNotEqual(done.code, 0)
        self.assertIn('/no/such/directory', done.err)

    def test_messages_name_what_is_wrong_and_what_was_meant(self):
        self.assertEqual(self.yett('create', '--name', 'messages').code, 0)
        self.addCleanup(self.yett, 'destroy', 'messages')
        for argv, code, texts in (
                (['run', '--', 'no-such-program'], 127, ['yett: no-such-program: the command was not found\n']),
                (['run', '--memory', '100K', '--', 'true'], 125, ['takes more memory by itself than the 100 KiB asked for']),
                (['run', '--ro', '/usr:/proc', '--', 'true'], 125, ["'/proc' is a place where nothing is mounted", 'share ']),
                (['run', '--rm', '--linger', '--', 'true'], 125, ['--rm and --linger exclude each other']),
                (['exec', '--rm', 'box', 'true'], 125, ['exec has no option --rm: yett destroy ends a sandbox']),
                (['run', '-it', '--', 'true'], 125, ['-t gives the command a terminal']),
                (['run', '--memry', '1G', 'true'], 125, ['did you mean --memory?']),
                (['rm', 'messages'], 2, ['there is no subcommand rm: yett destroy ends a sandbox']),
                (['exce', 'messages', 'true'], 2, ['did you mean yett exec?'])):
            with self.subTest(argv=argv):
                done = self.yett(*argv)
                self.assert_refused(done, code, *texts)
                for leak in ('errno=', 'shares[', 'step ', 'in the supervisor', 'later', '?\n' if 'mean' not in texts[0] else 'errno='):
                    self.assertNotIn(leak, done.err)

    def test_a_directory_that_was_deleted_is_called_so(self):
        script = 'mkdir deleted; cd deleted; rmdir ../deleted; %s run -- pwd' % self.service.yett
        done = self.service.run(self.alice, 'sh', '-c', script)
        self.assertEqual(done.code, 0, done)
        self.assertIn('the current directory was deleted', done.err)

    def test_what_people_write_is_meant(self):
        self.assertEqual(self.yett('create', '--name', 'meant').code, 0)
        self.addCleanup(self.yett, 'destroy', 'meant')
        self.assertEqual(self.yett('exec', 'meant', '--timeout', str(yett.DEADLINE), '-e', 'A=b', 'sh', '-c', 'echo $A', '-e').out, 'b\n')
        self.assertEqual(self.yett('exec', 'meant', '--timeout=0.2', '--', 'sleep', '60').code, 124)
        self.assertEqual(self.yett('run', '--memory', '64m', '-p=default', '--', 'true').code, 0)
        self.assertIn('meant', self.yett('inspect', 'meant', '--json').out)
        self.assertEqual(self.yett('run', 'echo', '-n', '--memory', 'x').out, '--memory x')

    def test_arguments_arrive_as_they_are(self):
        argv = ['', ' ', '--', '-x', '*', '$HOME', 'a\nb', 'ä€', "'", '\\']
        shown = self.output('python3', '-c', 'import sys; print(sys.argv[1:])', *argv)
        self.assertEqual(shown, repr(argv) + '\n')

    def test_many_and_long_arguments(self):
        self.assertEqual(self.output('sh', '-c', 'echo $#', 'sh', *['x'] * 3000).strip(), '3000')
        done = self.sandbox('true', *['x' * 1000] * 100)
        self.assertEqual(done.code, 0, done)


class Surroundings(yett.Case):
    def test_a_command_has_the_umask_of_its_caller(self):
        for mask in (0o077, 0o002):
            self.assertEqual(self.shell('umask; >/tmp/x; stat -c %a /tmp/x', umask=mask).split(), ['%04o' % mask, '%o' % (0o666 & ~mask)])


class Streams(yett.Case):
    def test_pipes(self):
        done = self.sandbox('sh', '-c', 'cat; echo err >&2', input='in')
        self.assertEqual((done.code, done.out), (0, 'in'), done)
        self.assertTrue(done.err.endswith('err\n'))

    def test_files(self):
        source, sink = self.alice.write('source', 'content'), self.alice.write('sink')
        with open(source) as stdin, open(sink, 'w') as stdout:
            self.assertEqual(self.sandbox('cat', stdin=stdin, stdout=stdout).code, 0)
        self.assertEqual(yett.read(sink), 'content')

    def test_a_lease_of_the_caller_s_on_its_input_stays(self):
        script = '''
import fcntl, os, subprocess, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
done = subprocess.run([sys.argv[2], "run", "-q", "--", "cat", "/dev/stdin"], stdin=fd, stdout=subprocess.PIPE, check=True)
print(done.stdout.decode(), fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK)
'''
        done = self.service.run(self.alice, 'python3', '-c', script, self.alice.write('leased', 'text'), self.service.yett)
        self.assertEqual(done.out, 'text True\n', done)

    def test_input_from_a_file_can_be_opened_anew(self):
        path = self.alice.write('script.py', 'import sys\nprint(sys.argv, open("/dev/stdin").readline())\n')
        os.chmod(path, 0o600)
        for argv, shown in ((('python3', '/dev/stdin', 'x'), "['/dev/stdin', 'x'] import sys\n\n"),
                            (('sh', '-c', 'head -n1 </dev/stdin; sed -n 1p /proc/self/fd/0'), 'import sys\n' * 2)):
            with open(path) as stdin:
                self.assertEqual(self.output(*argv, stdin=stdin), shown)
        # a here-document is a file without a name, where it is too large for a pipe
        script = '%s run -- bash /dev/stdin <<-END\n: %s\n\techo read\n\tEND\n' % (self.service.yett, 'x' * 100000)
        self.assertEqual(self.service.run(self.alice, 'bash', '-c', script).out, 'read\n')

    def test_the_copy_can_be_read_and_nothing_else(self):
        path = self.alice.write('input', 'kept\n')
        script = ('import os\nfor how in (os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):\n'
                  '  try: os.write(os.open("/proc/self/fd/0", how), b"x"); print("written", how)\n  except OSError: pass\n'
                  'try: os.ftruncate(0, 0); print("cut")\nexcept OSError: pass\nprint(input())')
        with open(path) as stdin:
            self.assertEqual(self.python(script, stdin=stdin), 'kept\n')
        self.assertEqual(yett.read(path), 'kept\n')

    def test_the_next_command_reads_where_the_last_one_stopped(self):
        path = self.alice.write('lines', 'one\ntwo\nthree\n')
        script = '{ read a; %s run -- sh -c "read b; echo \\$b"; cat; } <%s' % (self.service.yett, path)
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script).out, 'two\nthree\n')

    def test_what_is_being_written_or_is_large_is_read_itself(self):
        path = self.alice.write('growing', 'one\n')
        with open(path, 'a') as writer, open(path) as stdin:
            process = self.start('tail', '-n', '+1', '-f', stdin=stdin)
            self.assertEqual(self.line(process), 'one')
            writer.write('two\n')
            writer.flush()
            self.assertEqual(self.line(process), 'two')
            process.kill()
        # files of the kernel's have no size, and come through a pipe as before
        with open('/proc/self/status', encoding='utf-8') as stdin:
            self.assertIn('Umask:', self.output('cat', stdin=stdin))
        large = self.alice.write('large', 'x' * ((16 << 20) + 1))
        with open(large) as stdin:
            self.assertEqual(self.output('sh', '-c', 'readlink /proc/self/fd/0 | grep -c memfd; wc -c', stdin=stdin).split(), ['0', str((16 << 20) + 1)])

    def test_appending_and_offsets_are_the_files_own(self):
        path = self.alice.write('log', 'before\n')
        with open(path, 'a') as stdout:
            for _ in range(2):
                self.sandbox('echo', 'more', stdout=stdout)
        self.assertEqual(yett.read(path), 'before\nmore\nmore\n')

    def test_dev_null_and_closed_descriptors(self):
        self.assertEqual(self.sandbox('cat', stdin=subprocess.DEVNULL).out, '')
        script = '%s run -- sh -c "cat; echo x; echo y >&2; exit 3" <&- >&- 2>&-' % self.service.yett
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script).code, 3)

    def test_a_socket(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(yett.DEADLINE)
            process = self.start('sh', '-c', 'read x; echo got $x', stdin=theirs, stdout=theirs)
            theirs.close()
            ours.sendall(b'ping\n')
            self.assertEqual(ours.makefile().readline(), 'got ping\n')
            self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_other_devices_are_bridged_never_handed_over(self):
        with open('/dev/zero', 'rb') as zero, open('/dev/full', 'wb') as full:
            self.assertEqual(self.sandbox('sh', '-c', 'readlink /proc/self/fd/0; head -c 5 | wc -c', stdin=zero).out.split()[1:], ['5'])
            done = self.sandbox('echo', 'x', stdout=full)
            self.assert_refused(done, 125, 'yett: cannot write the output of the command: No space left on device')

    def test_a_reader_that_went_away_is_sigpipe_to_the_command(self):
        script = '%s run -- yes 2>/dev/null | head -1' % self.service.yett
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script).out, 'y\n')

    def test_output_that_nobody_reads_waits(self):
        process = self.start('sh', '-c', 'head -c 1000000 /dev/zero; echo end >&2')
        self.assertEqual(len(os.read(process.stdout.fileno(), 10)), 10)
        out, err = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(len(out), 999990)
        self.assertIn(b'end', err)

    def test_input_goes_on_while_the_command_runs(self):
        process = self.start('sh', '-c', 'while read x; do echo "<$x>"; done')
        for word in (b'one', b'two'):
            process.stdin.write(word + b'\n')
            process.stdin.flush()
            self.assertEqual(self.line(process), '<%s>' % word.decode())
        process.stdin.close()
        self.assertEqual(process.wait(yett.DEADLINE), 0)

    def test_what_the_command_left_running_does_not_hold_the_pipe(self):
        self.assertEqual(self.output('sh', '-c', '(setsid sleep 1000 &) ; echo done'), 'done\n')


class Written(yett.Case):
    """What cannot be written is told, and 125 unless something failed before."""

    def on(self, path, *argv, stream='stdout'):
        with open(path, 'ab') as file:
            return self.yett(*argv, **{stream: file})

    def test_the_output_of_a_command(self):
        for script, code in (('echo x', 125), ('yes', 125), ('echo x; exit 3', 3), ('echo x; kill -KILL $$', 137)):
            with self.subTest(script=script):
                self.assert_refused(self.on('/dev/full', 'run', '--', 'sh', '-c', script), code, 'cannot write the output of the command')
                self.assertEqual(self.on('/dev/full', 'run', '--', 'sh', '-c', '(%s) >&2' % script, stream='stderr').code, code)

    def test_on_a_disk_that_is_full(self):
        disk = self.folder('disk')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k,mode=777', 'none', disk], check=True)
        self.addCleanup(subprocess.run, ['umount', disk], check=True)
        done = self.on(disk + '/out', 'run', '--', 'sh', '-c', 'head -c 1000000 /dev/zero')
        self.assert_refused(done, 125, 'cannot write the output of the command: No space left on device')
        self.assertEqual(os.path.getsize(disk + '/out'), 65536)
        self.assert_refused(self.on(disk + '/out', 'help', '--json'), 125, 'cannot write to standard output')
        script = '%s run --json-fd 3 -- true 3>%s/json' % (self.service.yett, disk)
        self.assert_refused(self.service.run(self.alice, 'sh', '-c', script), 125, 'cannot write ')

    def test_nothing_is_left_that_nobody_knows_of(self):
        self.assert_refused(self.on('/dev/full', 'create', '--name', 'unknown'), 125, 'cannot write the id of the sandbox, which is ended again')
        script = '%s create | true; %s create >&-' % (self.service.yett, self.service.yett)
        done = self.service.run(self.alice, 'sh', '-c', script)
        self.assert_refused(done, 125, 'Broken pipe', 'Bad file descriptor')
        self.assertEqual(self.yett('ps', '-q').out, '')

    def test_what_any_subcommand_prints(self):
        self.assertEqual(self.yett('create', '--name', 'full').code, 0)
        self.addCleanup(self.yett, 'destroy', 'full')
        self.assertEqual(self.yett('exec', '-b', 'full', '--', 'sh', '-c', 'echo kept; exit 3').out, '1\n')
        for argv in (['--version'], ['--help'], ['help'], ['help', '--json'], ['help', 'run'], ['run', '--help'], ['doctor'], ['ps'],
                     ['ps', '--json'], ['ps', 'full'], ['inspect', 'full'], ['stats'], ['stats', '-w', 'full'], ['events', 'full'],
                     ['attach', 'full'], ['env', 'full'], ['ls', 'full:/'], ['cat', 'full:/etc/passwd'], ['keygen', self.here()],
                     ['run', '--dry-run', '--', 'true'], ['run', '--json', '--', 'true'], ['exec', '-b', 'full', '--', 'true'],
                     ['exec', 'full', '--', 'echo', 'x']):
            with self.subTest(argv=argv):
                self.assert_refused(self.on('/dev/full', *argv), 125, 'yett: cannot write ')
        self.assert_refused(self.on('/dev/full', 'wait', '-o', 'full', '1'), 3, 'yett: cannot write ')
        self.assert_refused(self.on('/dev/full', 'run', '--json', '--', 'false'), 1, 'yett: cannot write ')

    def here(self):
        return self.folder('made') + '/key'

    def test_a_message_that_cannot_be_written_is_in_the_status(self):
        self.assertEqual(self.on('/dev/full', 'run', '--', 'true', stream='stderr').code, 125)  # nothing is shared: the home directory
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', '%s run -- true 2>&-' % self.service.yett).code, 0)


class Terminal(yett.Case):
    """A terminal on the caller's side: the command gets pipes, and never the terminal."""

    def setUp(self):
        self.master, self.slave = pty.openpty()
        self.addCleanup(os.close, self.master)

    def run_on_terminal(self, *argv, session=True):
        def become_foreground():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = self.start(*argv, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                             preexec_fn=become_foreground if session else None)
        os.close(self.slave)
        return process

    def read_until(self, word):
        text = b''
        while word not in text:
            ready, _, _ = select.select([self.master], [], [], yett.DEADLINE)
            self.assertTrue(ready, text)
            try:
                part = os.read(self.master, 4096)
            except OSError:  # the last one who had the terminal open is gone
                part = b''
            self.assertTrue(part, text)
            text += part
        return text

    def test_output_and_input_pass_and_the_command_sees_no_terminal(self):
        self.run_on_terminal('sh', '-c', 'test -t 0 || test -t 1 || test -t 2 || echo none; read x; echo "got $x"; ls -l /proc/self/fd')
        self.read_until(b'none')
        os.write(self.master, b'hello\n')
        self.assertIn(b'got hello', self.read_until(b'2 -> pipe'))

    def test_interrupt_key_reaches_the_command(self):
        process = self.run_on_terminal('sh', '-c', 'trap "echo caught; exit 9" INT; echo up; while :; do sleep 0.01; done')
        self.read_until(b'up')
        os.write(self.master, b'\x03')
        self.read_until(b'caught')
        self.assertEqual(process.wait(yett.DEADLINE), 9)

    def test_end_of_input_key_reaches_the_command(self):
        process = self.run_on_terminal('sh', '-c', 'echo up; cat; echo end')
        self.read_until(b'up')
        os.write(self.master, b'text\n\x04')
        self.read_until(b'end')
        self.assertEqual(process.wait(yett.DEADLINE), 0)


class Signals(yett.Case):
    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(signal=number):
                script = 'trap "echo caught; exit 5" %d; echo up; while :; do sleep 0.01; done' % number
                process = self.start('sh', '-c', script)
                self.assertEqual(self.line(process), 'up')
                process.send_signal(number)
                self.assertEqual(self.line(process), 'caught')
                self.assertEqual(process.wait(yett.DEADLINE), 5)

    def test_a_signal_that_ends_the_command_is_in_the_exit_code(self):
        process = self.start('sh', '-c', 'echo up; exec sleep 1000')
        self.line(process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(yett.DEADLINE), 143)

    def test_a_killed_client_takes_its_sandbox_along(self):
        process = self.start('sh', '-c', 'trap "" TERM INT HUP; echo up; while :; do sleep 1000; done')
        self.line(process)
        self.assertTrue(self.outside(process))
        process.kill()
        process.wait(yett.DEADLINE)
        self.service.wait_no_leftovers()


class Json(yett.Case):
    def test_of_a_command_that_ended(self):
        done = self.sandbox('sh', '-c', 'exit 3', options=['--json'])
        told = yett.told(done.out)
        self.assertEqual((done.code, told['exit_code'], told['error']), (3, 3, None))
        self.assertEqual(told['sandbox']['profile'], 'default')
        self.assertTrue(self.service.owns_uid(told['sandbox']['private_uid']))
        self.assertEqual(told['sandbox']['landlock_abi'], yett.landlock_abi())
        self.assertEqual((told['result']['signaled'], told['result']['status'], told['result']['timed_out']), (False, 3, False))
        self.assertGreater(told['result']['wall_us'], 0)

    def test_on_standard_output(self):
        self.assertEqual(yett.told(self.output('true', options=['--json']))['exit_code'], 0)

    def test_of_a_signal(self):
        told = yett.told(self.sandbox('sh', '-c', 'kill -9 $$', options=['--json']).out)
        self.assertEqual((told['exit_code'], told['result']['signaled'], told['result']['status']), (137, True, 9))

    def test_of_a_command_that_did_not_start(self):
        told = yett.told(self.sandbox('no-such-command', options=['--json']).out)
        self.assertEqual((told['exit_code'], told.get('result'), told['error']['code'], told['error']['errno']), (127, None, 'command-failed', 2))

    def test_of_a_refusal(self):
        told = yett.told(self.sandbox('true', options=['--json', '-p', 'nothing']).out)
        self.assertEqual((told['exit_code'], told['sandbox'], told['error']['code']), (125, None, 'permission-denied'))
        self.assertFalse(told['error']['retryable'])


class DefaultShare(yett.Case):
    """What `yett run` shares by itself."""

    def test_the_current_directory_read_only(self):
        directory = self.folder('project')
        self.alice.write('project/file', 'text')
        self.assertEqual(self.output('sh', '-c', 'pwd; cat file', cwd=directory), directory + '\ntext')
        done = self.sandbox('touch', 'new', cwd=directory)
        self.assertIn('Read-only', done.err)
        self.assertEqual(os.listdir(directory), ['file'])

    def test_never_the_home_directory_nor_the_root_nor_the_system(self):
        self.alice.write('private', 'secret')
        for directory in (self.alice.home, os.path.dirname(self.alice.home), '/', '/usr', '/usr/bin', '/etc', '/tmp', '/var', '/home'):
            with self.subTest(directory=directory):
                done = self.sandbox('cat', self.alice.home + '/private', cwd=directory)
                self.assertEqual((done.code, done.out), (1, ''), done)
                notes = [line for line in done.err.splitlines() if line.startswith('yett: nothing is shared')]
                self.assertEqual(len(notes), 1, done)
                self.assertNotIn('nothing is shared', self.sandbox('true', cwd=directory, options=['--ro', self.alice.home + '/private']).err)

    def test_a_directory_that_was_asked_for_is_where_it_starts(self):
        directory = self.folder('asked')
        os.makedirs(directory + '/a/b')
        self.assertEqual(self.output('pwd', cwd=directory + '/a/b', options=['--rw', directory]).strip(), directory + '/a/b')
        self.assertEqual(self.output('pwd', cwd=directory, options=['--ro', directory + ':/work']).strip(), '/work')
        self.assertEqual(self.output('pwd', cwd=directory, options=['-C', '/usr/lib']).strip(), '/usr/lib')

    def test_relative_paths_and_links_are_resolved_as_the_caller(self):
        directory = self.folder('relative')
        os.mkdir(directory + '/real')
        os.symlink('real', directory + '/link')
        self.alice.write('relative/real/file', 'text')
        for path in ('.', 'link', directory + '/link'):
            with self.subTest(path=path):
                name = 'real/file' if path == '.' else 'file'
                target = self.output('cat', '/work/' + name, cwd=directory, options=['--ro', path + ':/work'])
                self.assertEqual(target, 'text')

    def test_where_the_policy_refuses_the_default_share_it_is_left_out_and_said(self):
        directory = self.folder('elsewhere')
        done = self.sandbox('sh', '-c', 'ls %s' % directory, cwd=directory, options=['-p', 'strict'])
        self.assertNotEqual(done.code, 0)
        self.assertIn('nothing is shared: ', done.err)
        self.assert_refused(self.sandbox('true', options=['-p', 'strict', '--ro', directory]), 125, 'strict', 'shares')

    def test_a_directory_that_cannot_be_shared_is_left_out_and_said(self):
        layers = [self.folder(name) for name in ('lower', 'upper', 'work', 'merged')]
        subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o', 'lowerdir=%s,upperdir=%s,workdir=%s' % tuple(layers[:3]), layers[3]], check=True)
        self.addCleanup(subprocess.run, ['umount', layers[3]], check=True)
        here = layers[3] + '/here'
        os.mkdir(here)
        done = self.sandbox('pwd', cwd=here)
        if done.out.strip() == here:
            self.skipTest('this kernel can id-map an overlay')
        self.assertEqual((done.code, done.out), (0, self.alice.home + '\n'), done)
        self.assertEqual(done.err.count('\n'), 1, done)
        self.assertRegex(done.err, '^yett: nothing is shared: .* file system without id-mapped mounts')
        for option in ('--ro', '--rw'):
            self.assert_refused(self.sandbox('true', cwd=here, options=[option, '.']), 125, 'without id-mapped mounts')

    def test_a_directory_that_no_path_leads_to_any_more_is_left_out_and_said(self):
        here = self.folder('closed') + '/here'
        os.mkdir(here)
        done = self.service.run(self.alice, 'sh', '-c', 'chmod 0 .. && exec "$0" run -- pwd', self.service.yett, cwd=here)
        self.assertEqual((done.code, done.out), (0, self.alice.home + '\n'), done)
        self.assertRegex(done.err, '^yett: nothing is shared: .*Permission denied\n$')


class Enrolled(yett.Case):
    """The names of keys, in a folder of alice's own."""

    def setUp(self):
        self.keys = self.folder('keys')
        for name in ('one', 'two'):
            self.assertEqual(self.yett('keygen', self.keys + '/' + name).code, 0)
        self.names = self.folder('names.d')

    def enroll(self, *argv):
        return self.yett('enroll', '--keys-dir', self.names, *argv)

    def key(self, name):
        return yett.read('%s/%s.pub' % (self.keys, name)).split()[1]

    def bob_s_key(self, name):
        path = '%s/%s.pub' % (self.names, name)
        yett.write(path, 'ed25519 ' + 'A' * 43 + '=\n')
        os.chown(path, self.bob.uid, -1)

    def test_they_are_listed_with_their_keys(self):
        for name in ('two', 'one'):
            self.assertEqual(self.enroll('agent-' + name, '%s/%s.pub' % (self.keys, name)).out, 'enrolled agent-%s in %s\n' % (name, self.names))
        done = self.enroll('--list')
        self.assertEqual([line.split()[:2] for line in done.out.splitlines()], [['agent-one', self.key('one')], ['agent-two', self.key('two')]], done)
        self.assertNotIn('void', done.out)
        told = yett.told(self.enroll('--list', '--json').out)
        self.assertEqual([(item['name'], item['key'], item['void']) for item in told['keys']],
                         [('agent-one', self.key('one'), None), ('agent-two', self.key('two'), None)])
        self.assertTrue(told['keys'][0]['comment'].startswith(self.alice.name + '@'))

    def test_one_that_proves_nothing_says_why(self):
        line = yett.read(self.keys + '/one.pub')
        for name, text, mode in (('again', line, 0o644), ('first', line, 0o644), ('open', yett.read(self.keys + '/two.pub'), 0o664), ('what', 'nothing', 0o644)):
            self.alice.write('names.d/%s.pub' % name, text, mode)
        self.bob_s_key('others')
        self.alice.write('names.d/No-Name.pub', line)
        told = {item['name']: item['void'] for item in yett.told(self.enroll('--list', '--json').out)['keys']}
        self.assertEqual(sorted(told), ['again', 'first', 'open', 'others', 'what'])
        for name, text in (('again', 'as first, too'), ('first', 'as again, too'), ('open', 'others can write'), ('others', 'neither to root'),
                           ('what', 'no key')):
            self.assertIn(text, told[name])
        self.assertIn(' (void: the same key is enrolled as first, too', self.enroll('--list').out)

    def test_a_copy_in_a_file_that_is_passed_over_takes_nothing_from_a_key(self):
        line = yett.read(self.keys + '/one.pub')
        self.alice.write('names.d/good.pub', line)
        self.alice.write('names.d/copy.pub', line, 0o666)
        os.symlink('good.pub', self.names + '/link.pub')
        told = {item['name']: item['void'] for item in yett.told(self.enroll('--list', '--json').out)['keys']}
        self.assertIn('others can write', told['copy'])
        self.assertIn('no regular file', told['link'])
        self.assertIsNone(told['good'])

    def test_root_s_files_count_in_every_folder(self):
        yett.write(self.names + '/root.pub', yett.read(self.keys + '/one.pub'))
        self.assertEqual([item['void'] for item in yett.told(self.enroll('--list', '--json').out)['keys']], [None])

    def test_a_folder_that_the_service_passes_over_is_said(self):
        self.assertEqual(self.enroll('agent', self.keys + '/one.pub').code, 0)
        self.assertIn('the service ignores these keys, since %s belongs to uid %d' % (self.names, self.alice.uid), self.enroll('--list').err)
        os.symlink(self.service.keys, self.alice.home + '/link.d')
        self.addCleanup(os.unlink, self.alice.home + '/link.d')
        done = self.yett('enroll', '--list', '--keys-dir', self.alice.home + '/link.d')
        self.assertEqual(done.code, 0, done)
        self.assertIn('is a symbolic link, which the helper does not follow', done.err)
        self.assertEqual(self.yett('enroll', '--list', '--keys-dir', self.service.keys).err, '')

    def test_a_name_that_is_removed_is_free_again(self):
        self.assertEqual(self.enroll('agent', self.keys + '/one.pub').code, 0)
        done = self.enroll('--remove', 'agent')
        self.assertEqual((done.code, done.out), (0, 'removed agent from %s\n' % self.names), done)
        self.assertEqual(os.listdir(self.names), [])
        self.assertEqual(self.enroll('agent', self.keys + '/two.pub').code, 0)
        told = yett.told(self.enroll('--remove', 'agent', '--json').out)
        self.assertEqual((told['name'], told['directory'], told['error']), ('agent', self.names, None))

    def test_what_is_not_there_is_said(self):
        self.assert_refused(self.enroll('--remove', 'agent'), 1, 'no key is enrolled as agent', 'yett enroll --list')
        self.assert_refused(self.enroll('--remove', '../x'), 1, 'the name ../x must be of')
        told = yett.told(self.enroll('--remove', 'agent', '--json').out)
        self.assertEqual((told['exit_code'], told['error']['code']), (1, 'not-found'))
        done = self.yett('enroll', '--list', '--keys-dir', self.names + '/none')
        self.assertEqual((done.code, done.out), (0, ''), done)
        self.assertIn('no key is enrolled', done.err)

    def test_one_thing_at_a_time(self):
        for argv, text in ((['--list', 'agent'], 'neither a name nor a file beside --list'), (['--list', '--remove', 'x'], 'at once'),
                           (['agent'], 'yett enroll NAME FILE.pub'), ([], 'yett enroll NAME FILE.pub'), (['--remove', ''], '--remove')):
            with self.subTest(argv):
                self.assert_refused(self.enroll(*argv), 2, text)

    def test_others_folders_are_for_the_administrator(self):
        name = self.service.keys + '/agent.pub'
        yett.write(name, yett.read(self.keys + '/one.pub'))
        self.addCleanup(os.unlink, name)
        done = self.yett('enroll', '--keys-dir', self.service.keys, '--remove', 'agent')
        self.assert_refused(done, 1, 'cannot remove', 'for the administrator')
        self.assertEqual(self.yett('enroll', '--keys-dir', self.service.keys, '--list').out.split()[:2], ['agent', self.key('one')])


class Reasons(yett.Case):
    """Each says which option or operand it is about, and what would do; none speaks of what only programmers know."""

    ASKED = (
        (('run', '--pids', '20000000', '--', 'true'), 125, '--pids 20000000: expected a number from 1 to 4194304'),
        (('run', '--files', '99999999', '--', 'true'), 125, '--files 99999999: expected a number from 1 to 1048576'),
        (('run', '--command-pids', '0', '--', 'true'), 125, '--command-pids 0: expected a number from 1 to 4194304'),
        (('run', '--ro', '.:rel', '--', 'true'), 125, '--ro .:rel: cannot share .:rel: No such file or directory; TARGET is an absolute path'),
        (('run', '--rw', '/none', '--', 'true'), 125, '--rw /none: cannot share /none: No such file or directory'),
        (('run', '--hostname', 'a b', '--', 'true'), 125, 'a b cannot be a host name: letters, digits'),
        (('run', '--name', 'A', '--', 'true'), 125, 'A cannot be the name of a sandbox: a-z'),
        (('run', '--json-fd', '9', '--', 'true'), 125, '--json-fd: descriptor 9 is not open for writing'),
        (('run', '--profile', '', '--', 'true'), 125, '--profile needs PROFILE, and what it was given is empty'),
        (('run', '-t', '--', 'true'), 125, 'leave --tty (-t) out'),
        (('cp', 'a', 'b'), 2, 'either a or b must be SANDBOX:/PATH'),
        (('ls', 'x'), 2, 'x: expected SANDBOX:/PATH, like web:/tmp'),
        (('inspect', 'a b'), 1, 'a b cannot be the id or name of a sandbox: yett ps lists both'),
        (('keygen',), 1, 'id_ed25519 is there already, and is left as it is'),
        (('keygen', '/none/x'), 1, 'cannot make /none/x.pub: No such file or directory'),
        (('enroll', 'a', '/etc/hostname'), 1, '/etc/hostname is no public key of Yett: it lies beside the private one'),
    )

    def test_each_names_what_it_is_about(self):
        for argv, code, text in self.ASKED:
            with self.subTest(' '.join(argv)):
                done = self.yett(*argv)
                self.assert_refused(done, code, text)
                for word in ('errno', 'peer', 'YETT_', 'yett_', '64 KiB', '()'):
                    self.assertNotIn(word, done.err)

    def test_what_a_sandbox_has_not_is_said_of_it(self):
        self.assertEqual(self.yett('create', '--name', 'box').code, 0)
        self.assertEqual(self.yett('exec', 'box', '--', 'true').code, 0)
        self.assert_refused(self.yett('logs', 'box', '1'), 1, 'only commands started with --background keep output')
        self.assert_refused(self.yett('cat', 'box:/proc/version'), 1, 'only ordinary files can be opened', 'yett exec')
        done = self.yett('exec', 'box', '--', '/tmp')
        self.assert_refused(done, 126, '/tmp: the command is a directory')
        self.assertEqual(len(done.err.splitlines()), 1, done)  # once
        self.assertEqual(self.yett('destroy', 'box').code, 0)


class OtherKey(yett.Case):
    """A key that is not where keys are kept, enrolled by the administrator."""

    def setUp(self):
        self.key = self.folder('elsewhere') + '/key'
        self.assertEqual(self.yett('keygen', self.key).code, 0)
        name = self.service.keys + '/agent.pub'
        shutil.copy(self.key + '.pub', name)
        self.addCleanup(lambda: os.path.exists(name) and os.unlink(name))

    def test_every_subcommand_that_signs_can_sign_with_it(self):
        created = self.yett('create', '--key', self.key, '--name', 'held')
        self.assertEqual(created.code, 0, created)
        done = self.yett('exec', '--key', self.key, '--background', 'held', '--', 'true')
        self.assertEqual((done.code, done.out), (0, '1\n'), done)
        asked = (('run', '--', 'true'), ('exec', 'held', '--', 'true'), ('ps',), ('ps', 'held'), ('inspect', 'held'), ('stats', 'held'), ('wait', 'held', '1'),
                 ('logs', 'held', '1'), ('env', 'held'), ('kill', 'held'), ('pause', 'held'), ('resume', 'held'), ('ls', 'held:/tmp'),
                 ('cat', 'held:/etc/passwd'), ('cp', 'held:/etc/passwd', self.alice.home + '/elsewhere/copy'), ('doctor',), ('destroy', 'held'))
        for name, *rest in asked:
            with self.subTest(name):
                if any(word.startswith('held') for word in rest):  # which the key that alice has otherwise knows nothing of
                    self.assert_refused(self.yett(name, *rest), 125 if name in ('exec', 'wait') else 1,
                                        "a sandbox named 'held' is there already" if name == 'resume' else 'there is no sandbox ')  # and a session tells of it
                done = self.yett(name, '--key', self.key, *rest)
                self.assertEqual(done.code, 0, done)
        os.unlink(self.service.keys + '/agent.pub')
        for name, *rest in (('run', '--', 'true'), ('create',), ('ps',), ('doctor',)):
            with self.subTest(name, without='the key in the folder'):
                done = self.yett(name, '--key', self.key, *rest)
                self.assertIn('the key is not enrolled', done.out + done.err)
                self.assertNotEqual(done.code, 0)

    def test_one_that_cannot_be_read_is_the_reason(self):
        self.alice.write('elsewhere/none', 'nothing', 0o600)
        for path, text in ((self.key + '.none', 'cannot open %s.none: No such file' % self.key), (self.key + '.pub', 'can be read or written by others'),
                           (self.alice.home + '/elsewhere/none', 'none is no private key of Yett')):
            done = self.yett('run', '--key', path, '--', 'true')
            self.assert_refused(done, 125, text)
            self.assertNotIn('try again', done.err)
            self.assertNotIn('start the service', done.err)


class Copies(yett.Case):
    def test_in_before_the_command_and_out_after_it(self):
        directory = self.folder('copies')
        os.makedirs(directory + '/tree/sub')
        self.alice.write('copies/tree/sub/a', 'text')
        for profile in ('default', 'strict', 'build'):
            with self.subTest(profile=profile):
                done = self.sandbox('sh', '-c', 'cat sub/a; echo new > b; rm -r sub; exit 3', cwd=directory, options=[
                    '-p', profile, '--copy-in', 'tree:/tmp/tree', '--copy-out', '/tmp/tree:' + profile, '--copy-out', '/tmp/tree/b:just-b', '-C', '/tmp/tree'])
                self.assertEqual((done.code, done.out), (3, 'text'), done)
                self.assertEqual(os.listdir(directory + '/' + profile), ['b'])
                self.assertEqual(yett.read(directory + '/just-b'), 'new\n')
                self.assertEqual(os.stat(directory + '/just-b').st_uid, self.alice.uid)
        self.assertEqual(os.listdir(directory + '/tree'), ['sub'])

    def test_what_fails_is_told_and_is_125(self):
        directory = self.folder('failing')
        os.mkfifo(directory + '/fifo')
        self.alice.write('failing/a', 'text')
        done = self.sandbox('echo', 'never', options=['--copy-in', directory + ':/tmp/x'])
        self.assert_refused(done, 125, directory + '/fifo: a FIFO is not copied', '1 entries of')
        self.assertEqual(done.out, '')
        done = self.sandbox('echo', 'done', options=['--json', '--copy-out', '/tmp/none:' + directory + '/none'])
        self.assert_refused(done, 125, "cannot read '/tmp/none': No such file or directory")
        told = yett.told(done.out)
        self.assertEqual((told['exit_code'], told['result']['status'], told['error']['code']), (125, 0, 'file-operation-failed'))

    def test_a_library_without_its_program_says_so(self):
        done = self.sandbox('true', options=['--copy-in', '/etc/hosts:/tmp/x'], env={'YETT_FILES': '/no/such/yett-files'})
        self.assert_refused(done, 125, '/no/such/yett-files')

    def test_a_helper_that_is_not_named_by_its_whole_path_leads_nowhere(self):
        """Where the service is asked for the sandbox, what stands beside the helper is still looked for."""
        done = self.service.run(self.alice, 'env', '-u', 'YETT_FILES', 'YETT_HELPER=yett-helper', self.service.yett, 'run', '--copy-in',
                                '/etc/hosts:/tmp/x', '--', 'true')
        self.assert_refused(done, 125, "the helper's path is not absolute: yett-helper")


class Refusals(yett.Case):
    service_options = {'before': '''
grant "narrow" {
  users = {"*"}
  user_keys = true
  profiles = {"build"}
  share_ro = {"/usr/share"}
  share_rw = {}
  max_memory = 64M
}
'''}

    def test_targets_that_are_no_places_to_mount(self):
        directory = self.folder('source')
        for target in ('/../x', '/x/../y', '//', '//x', '/x//y', '/x/', '/', '/.', '/x/.', '/proc', '/proc/self', '/sys', '/sys/x',
                       '/dev', '/dev/shm', '/etc', '/etc/passwd', '/run', '/run/yett/x', '/usr', '/bin', '/lib', '/x\ny',
                       '/' + 'x' * 300, '/' + 'x/' * 2500 + 'x'):
            with self.subTest(target=target[:40]):
                self.assertEqual(self.sandbox('true', options=['--ro', directory + ':' + target]).code, 125)
        self.assertEqual(os.listdir(directory), [])

    def test_the_reason_is_told(self):
        directory = self.folder('source')
        for target, reason in (('/x/../y', '..'), ('/x//y', 'empty component'), ('/proc/x', '/proc'), ('/usr', 'system directory')):
            with self.subTest(target=target):
                self.assert_refused(self.sandbox('true', options=['--ro', directory + ':' + target]), 125, reason, 'share 1')

    def test_two_mounts_on_one_target(self):
        directory = self.folder('source')
        for options in (['--ro', directory + ':/x', '--rw', directory + ':/x'], ['--ro', directory + ':/x', '--tmpfs', '/x'],
                        ['--tmpfs', '/x', '--tmpfs', '/x:1M']):
            with self.subTest(options=options):
                self.assert_refused(self.sandbox('true', options=options), 125, 'two mounts')

    def test_what_is_no_directory_or_file_cannot_be_shared(self):
        self.folder('kinds')
        fifo, sock = self.alice.home + '/kinds/fifo', self.alice.home + '/kinds/socket'
        os.mkfifo(fifo)
        os.chown(fifo, self.alice.uid, self.alice.gid)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(sock)
            for path in (fifo, sock, '/dev/null', '/dev/zero', '/dev/tty'):
                with self.subTest(path=path):
                    self.assert_refused(self.sandbox('true', options=['--ro', path + ':/work']), 125, '/')
        for path in ('/proc', '/proc/self', '/sys', '/sys/fs/cgroup', '/proc/self/ns'):
            with self.subTest(path=path):
                self.assert_refused(self.sandbox('true', options=['--ro', path + ':/work']), 125, 'file system')

    def test_a_directory_where_a_file_is_and_a_file_where_a_directory_is(self):
        outer, inner = self.folder('outer'), self.folder('inner')
        path = self.alice.write('outer/file', '')
        os.mkdir(outer + '/directory')
        self.assert_refused(self.sandbox('true', options=['--ro', outer + ':/o', '--ro', inner + ':/o/file']), 125, '/o/file')
        self.assert_refused(self.sandbox('true', options=['--ro', outer + ':/o', '--ro', path + ':/o/directory']), 125, '/o/directory')

    def test_a_target_that_goes_through_a_link_of_the_share(self):
        outer, inner = self.folder('outer'), self.folder('inner')
        os.symlink('/etc', outer + '/link')
        os.symlink('/usr', outer + '/dangling')
        for name in ('link/x', 'link', 'dangling/share'):
            with self.subTest(name=name):
                self.assert_refused(self.sandbox('true', options=['--ro', outer + ':/o', '--ro', inner + ':/o/' + name]), 125,
                                    'symbolic link')

    def test_a_path_that_the_caller_may_not_open(self):
        closed = self.folder('closed', self.bob, mode=0o700)
        os.mkdir(closed + '/below')
        self.assert_refused(self.sandbox('true', options=['--ro', closed + '/below']), 125, closed)
        # the directory itself can be named by whoever reaches it, and is as closed inside
        done = self.sandbox('ls', closed, options=['--ro', closed])
        self.assertEqual((done.code, done.out), (2, ''), done)

    def test_ten_thousand_mounts(self):
        options = [word for i in range(10000) for word in ('--tmpfs', '/t%d' % i)]
        self.assert_refused(self.sandbox('true', options=options), 125, 'more than 32 tmpfs')
        options = [word for i in range(10000) for word in ('--ro', '/usr/share:/s%d' % i)]
        self.assert_refused(self.sandbox('true', options=options), 125, 'more than')

    def test_as_many_mounts_as_there_may_be(self):
        options = [word for i in range(124) for word in ('--ro', '/usr/share:/s%d' % i)]
        options += [word for i in range(32) for word in ('--tmpfs', '/t%d:64K' % i)]
        self.assertEqual(self.shell('ls -d /s[0-9]* /t[0-9]* | wc -l', options=options).strip(), str(124 + 32))

    def test_an_unknown_profile_is_refused(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'unknown']), 125, "the policy has no profile 'unknown'")

    def test_a_profile_name_that_is_none(self):
        for name in ('UPPER', '../x', 'a b', 'x' * 100):
            with self.subTest(name=name):
                self.assertEqual(self.sandbox('true', options=['-p', name]).code, 125)

    def test_directories_that_the_grant_does_not_name(self):
        directory = self.folder('mine')
        build = ['-p', 'build']
        self.assertEqual(self.sandbox('ls', '/doc', options=build + ['--ro', '/usr/share/doc:/doc']).code, 0)
        self.assert_refused(self.sandbox('true', options=build + ['--ro', directory]), 125, 'does not let this user share',
                            "asked %s, allowed /usr/share by share_ro of grant 'narrow'" % directory)
        self.assert_refused(self.sandbox('true', options=build + ['--rw', '/usr/share/doc:/doc']), 125, 'the writable share /doc',
                            "share_rw of grant 'narrow' (%s:" % self.service.policy)

    def test_a_file_for_which_all_of_the_host_would_have_to_be_allowed(self):
        """A path of the policy's lets directories be shared, and what is below them with them."""
        for path, is_file in (('/etc/hostname', True), ('/etc', False)):
            with self.subTest(path):
                done = self.sandbox('true', options=['-p', 'build', '--ro', path + ':/x'])
                self.assert_refused(done, 125, 'the smallest change of the policy: share_ro += {"%s"} in grant' % ('*' if is_file else path))
                self.assertEqual('which allows all of the host; or share its directory' in done.err, is_file, done)

    def test_nothing_is_weakened_silently(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'build', '--memory', '65M']), 125, 'more than the 64M allowed',
                            'asked 65M, allowed 64M', '%s:%d' % (self.service.policy, self.service.line('max_memory = 64M')))


class DryRun(yett.Case):
    service_options = {'before': '''
grant "narrow" {
  users = {"*"}
  user_keys = true
  profiles = {"build"}
  share_ro = {"/usr/share"}
}
'''}

    def test_it_prints_the_plan_and_does_nothing(self):
        before = self.service.log_text().count('created')
        directory = self.folder('planned')
        done = self.yett('run', '--dry-run', '--rw', directory, '--tmpfs', '/scratch:8M', '--memory', '1G', '--', 'touch', directory + '/x')
        self.assertEqual(done.code, 0, done)
        for text in ('share', directory, 'tmpfs', '/scratch', 'namespaces', 'identity', 'init', 'default'):
            self.assertIn(text, done.out)
        self.assertEqual(os.listdir(directory), [])
        self.assertEqual(self.service.log_text().count('created'), before)

    def test_it_refuses_what_a_run_would_refuse(self):
        self.assert_refused(self.yett('run', '--dry-run', '--memory', '999G', '--', 'true'), 125, 'more than the 32G allowed')
        own = self.folder('own')
        for options, what in ((['-p', 'build', '--ro', own + ':/mnt'], 'does not let this user share that directory'),
                              (['--ro', self.service.runtime + ':/mnt'], 'runtime directory'),
                              (['--ro', '/sys/kernel:/mnt'], 'sysfs'),
                              (['--ro', '/dev/null:/mnt'], 'neither a directory nor a regular file'),
                              (['--ro', own + ':/usr/share/no-such'], 'does not exist in the tree'),
                              (['--rw', own, '--ro', '/usr/share:' + own + '/no-such'], 'does not exist in the tree')):
            with self.subTest(options=options):
                really, planned = (self.yett('run', *options, *dry, '--', 'true') for dry in ([], ['--dry-run']))
                self.assert_refused(really, 125, what)
                self.assertEqual((planned.code, planned.out, planned.err), (125, '', really.err))

    def test_it_leaves_nothing_behind_and_keeps_no_name(self):
        for _ in range(3):
            self.assertEqual(self.yett('run', '--dry-run', '--linger', '--name', 'planned', '--', 'true').code, 0)
        self.assertEqual(self.yett('ps', '-q').out, '')
        self.service.wait_no_leftovers()

    @unittest.skipIf(os.path.exists('/sys/fs/selinux/enforce'), 'docs/guide.md, "Without root"')
    def test_without_a_service_it_is_the_users_own_helper_that_plans(self):
        user = self.alice
        argv = [self.service.yett, 'run', '--dry-run', '--', 'true']
        process = user.popen(argv, env={'YETT_HELPER': self.service.helper}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(b'namespaces', out)


class Environment(yett.Case):
    def test_it_is_built_from_nothing(self):
        done = self.sandbox('env', options=['-e', 'A=1', '-e', 'EMPTY=', '-e', 'A=2', '-e', 'HOME=/elsewhere'],
                            env={'SECRET': 'x', 'LD_PRELOAD': '', 'BASH_ENV': '/x'})
        pairs = dict(line.split('=', 1) for line in done.out.splitlines())
        self.assertEqual(pairs, {'HOME': '/elsewhere', 'USER': self.alice.name, 'LOGNAME': self.alice.name, 'SHELL': '/bin/sh',
                                 'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8', 'A': '2', 'EMPTY': ''})

    def test_the_search_path_that_was_asked_for_counts(self):
        directory = self.folder('path')
        self.alice.write('path/mine', '#!/bin/sh\necho found\n', mode=0o755)
        self.assertEqual(self.output('mine', options=['--ro', directory, '-e', 'PATH=' + directory + ':/usr/bin']), 'found\n')


class Examples(yett.Case):
    def test_the_example_of_the_library_prints_what_the_command_writes(self):
        program = self.service.run_.path('libclient/examples/run_command')
        done = self.service.run(self.alice, program, 'sh', '-c', 'echo out; id -u; exit 4')
        self.assertEqual((done.code, done.out), (4, 'out\n%d\n' % self.alice.uid), done)
        self.assertEqual(self.service.run(self.alice, program).code, 125)

    def example(self, name, *argv):
        return self.service.run(self.alice, self.service.run_.path('libclient/examples/' + name), *argv)

    def test_a_key_is_made_once_and_its_line_printed(self):
        path = self.folder('keys') + '/mine'
        first, second = self.example('make_key', path), self.example('make_key', path)
        self.assertEqual((first.code, second.code), (0, 0), first)
        self.assertRegex(first.out, r'^ed25519 [\w+/]{43}=')
        self.assertEqual(first.out, second.out)
        self.assertEqual(first.out.split()[:2], yett.read(path + '.pub').split()[:2])

    def test_a_directory_is_shared_with_limits_or_only_planned(self):
        directory = self.folder('shown')
        self.alice.write('shown/one')
        done = self.example('share_directory', directory)
        self.assertEqual((done.code, done.out, done.err), (0, 'one\n', 'at most 64 MiB\n'))
        done = self.example('share_directory', '--plan', directory)
        self.assertEqual(done.code, 0, done)
        self.assertIn('/srv/data', done.out)

    def test_two_commands_run_at_once_without_blocking(self):
        done = self.example('event_loop')
        self.assertEqual((done.code, sorted(done.out.splitlines())),
                         (0, ['a command ended with status 3', 'a command ended with status 4']), done)

    def test_a_command_is_stopped_once_it_is_ready(self):
        done = self.example('stop_command')
        self.assertEqual((done.code, done.out), (0, 'it said ready\nended by signal 15\n'), done)

    def test_what_happens_in_a_sandbox_is_followed(self):
        done = self.example('follow_sandbox')
        self.assertEqual((done.code, done.out), (0, 'followed\nstarted\nexited with status 3\n1 process\n'), done)

    def test_what_one_program_starts_another_collects(self):
        started = self.example('collect_output', 'start', 'collected')
        self.assertEqual((started.code, started.out), (0, '1\n'), started)
        done = self.example('collect_output', 'get', 'collected', '1')
        self.assertEqual((done.code, done.out), (0, 'status 3\n/tmp\n'), done)

    def test_what_one_process_began_another_finishes(self):
        done = self.example('live_session')
        self.assertEqual((done.code, done.out, done.err),
                         (0, 'in the file: round trip\nstatus 0, and it wrote: ROUND TRIP\nout of memory: 0 times\n', ''), done)
        self.assertEqual(self.yett('ps', '-q').out, '')

    def test_the_example_that_copies_brings_back_what_the_command_made(self):
        directory = self.folder('round-trip')
        os.mkdir(directory + '/work')
        self.alice.write('round-trip/work/a', 'text')
        program = self.service.run_.path('libclient/examples/copy_files')
        done = self.service.run(self.alice, program, directory + '/work', 'sh', '-c', 'cat a; rm a; echo new > b')
        self.assertEqual((done.code, done.out), (0, 'text-rw-r--r-- %s 4 b\n' % self.alice.name), done)
        self.assertEqual((os.listdir(directory + '/work'), os.listdir(directory + '/work.new')), (['a'], ['b']))


if __name__ == '__main__':
    yett.main()
