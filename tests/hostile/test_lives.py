# SPDX-License-Identifier: Apache-2.0
"""
Attacks on sandboxes that outlive their connection: on what is known of them, on the ways to their supervisors, and by clients that
attach without end, do not read, or die.
"""
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import socket
import time

import hostile
import yett

LISTENER = 'anon_inode:seccomp notify'
HOLDERS = 32  # of one sandbox at a time: HOLDERS_MAX in helper/supervisor/life.c


def cpu_of(pid):
    """Seconds of processor time, proc_pid_stat(5)."""
    fields = yett.read('/proc/%d/stat' % pid).rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Lives(yett.Case):

    def tearDown(self):
        left = self.yett('ps', '-q').out.split()
        if left:
            self.assertEqual(self.yett('destroy', *left).code, 0)
        self.service.wait_no_leftovers()

    def create(self, *argv):
        done = self.yett('create', *argv)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def ids(self):
        return self.yett('ps', '-q').out.split()

    def watcher(self, sandbox):
        process = self.service.popen(self.alice, self.service.yett, 'attach', sandbox, stdout=-1, stderr=-1)
        self.addCleanup(self.end, process)
        return process

    def record_of(self, sandbox):
        folder = self.service.runtime + '/ids/'
        for name in os.listdir(folder):
            with open(folder + name, 'rb') as file:
                if sandbox.encode() in file.read():
                    return folder + name
        raise AssertionError('no record of ' + sandbox)

    # --- what they call ---

    def listeners(self):
        """Who holds the listener of a filter, as host's pids."""
        found = []
        for pid in yett.processes():
            try:
                descriptors = os.listdir('/proc/%d/fd' % pid)
            except OSError:  # it has ended
                continue
            for fd in descriptors:
                with contextlib.suppress(OSError):  # it is closed
                    found += [pid] if os.readlink('/proc/%d/fd/%s' % (pid, fd)) == LISTENER else []
        return found

    def listener_since(self, before):
        """Who else holds one, once it is one process: init closes its own after it has handed it over, and before it serves."""
        found = []

        def is_one():
            found[:] = [pid for pid in self.listeners() if pid not in before]
            return len(found) == 1
        yett.wait_until(is_one, 'one process that holds a listener')
        return found[0]

    def test_the_listener_of_forbidden_calls_is_with_the_supervisor_alone(self):
        before = self.listeners()
        self.create('--name', 'box')
        supervisor = self.listener_since(before)
        status = yett.status_of(supervisor)
        self.assertEqual((status['Name'], status['Uid'].split()[0]), ('yett-helper', '0'))
        self.assertEqual(len(status['NSpid'].split()), 1)
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.assertNotIn(supervisor, self.listeners())

    def test_one_that_makes_forbidden_calls_without_end_is_answered_now_and_then(self):
        before = self.listeners()
        self.create('--name', 'box')
        self.listener_since(before)
        script = 'import ctypes, os, time\nlibc = ctypes.CDLL(None)\nfor i in range(4): os.fork()\ncount, begin = 0, time.monotonic()\n' \
                 'while time.monotonic() - begin < 1: count += libc.mount(0, 0, 0, 0, 0) == -1\n' \
                 'print(begin, time.monotonic(), count, flush=True)\nwhile libc.mount(0, 0, 0, 0, 0) == -1: pass'
        process = self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'python3', '-c', script, stdout=-1, stderr=-3)
        self.addCleanup(self.end, process)
        told = [[float(word) for word in self.line(process).split()] for _ in range(16)]
        span = max(end for _, end, _ in told) - min(begin for begin, _, _ in told)
        self.assertLessEqual(sum(count for _, _, count in told), 64 * (span / 0.01 + 2))  # 64 in 10 ms, whatever the machine could do
        for word in ('pause', 'resume', 'destroy'):
            self.assertEqual(self.yett(word, 'box').code, 0, word)

    # --- what is known of them ---

    def test_a_record_that_is_not_whole_is_not_believed(self):
        first, second = self.create('--name', 'first'), self.create('--name', 'second')
        path = self.record_of(first)
        with open(path, 'r+b') as file:
            whole = file.read()
            for at in (0, 9, 13, 17, 60, len(whole) - 1):  # each changed byte, wherever it is
                file.seek(at)
                file.write(bytes([whole[at] ^ 1]))
                file.flush()
                self.assertEqual(self.ids(), [second], at)
                self.assert_refused(self.yett('destroy', first), 1, 'there is no sandbox')
                file.seek(at)
                file.write(whole[at:at + 1])
                file.flush()
                self.assertEqual(self.ids(), [first, second], at)

    def test_garbage_among_the_records_hides_none(self):
        sandbox = self.create()
        for number, garbage in enumerate((b'', b'0 x', b'\xff' * 5000, os.urandom(3000))):
            path = '%s/ids/%d' % (self.service.runtime, number)
            with open(path, 'wb') as file:
                file.write(garbage)
            self.addCleanup(os.unlink, path)
        self.assertEqual(self.ids(), [sandbox])
        self.assertEqual(self.yett('exec', sandbox, '--', 'true').code, 0)
        self.assertEqual(self.yett('destroy', sandbox).code, 0)
        self.doCleanups()

    def test_a_record_that_nobody_holds_does_not_count(self):
        """A copy is as good as the record itself, but for its lock: what a killed supervisor leaves."""
        sandbox = self.create()
        copy = self.service.runtime + '/ids/99999'  # no range's number
        shutil.copy(self.record_of(sandbox), copy)
        self.assertEqual(self.ids(), [sandbox])
        os.unlink(copy)

    def test_a_killed_supervisor_leaves_nothing(self):
        sandbox = self.create('--name', 'orphan')
        init, = yett.inits_among(self.service.leftover_processes())
        watcher = self.watcher(sandbox)
        self.assertEqual(self.line(watcher), sandbox + ' running')
        os.kill(yett.parent_of(init), signal.SIGKILL)
        self.assertEqual(self.line(watcher), sandbox + ' ended helper')
        yett.wait_until(lambda: self.ids() == [], 'the end of its lock')  # it closes one descriptor after the other
        yett.wait_until(lambda: self.yett('create', '--name', 'orphan').code == 0, 'a name that is free again')

    def test_a_copy_goes_with_its_killed_client(self):
        self.create('--name', 'box')
        to = self.folder('copies')
        client = self.service.popen(self.alice, self.service.yett, 'cp', 'box:/tmp/endless-drip', to + '/root',
                                    env={'YETT_FILES': hostile.program('fake-files')})
        self.addCleanup(self.end, client)
        yett.wait_until(lambda: os.listdir(to), 'what is copied')
        workers = [pid for pid in yett.children_of(client.pid) if yett.argv_of(pid)[:1] == ['yett-files']]
        init, = yett.inits_among(self.service.leftover_processes())
        inside = yett.children_of(init)
        self.assertEqual((len(workers), len(inside)), (1, 1))
        client.kill()
        client.wait()
        yett.wait_until(lambda: not yett.is_alive(workers[0]), 'the end of the worker outside')
        yett.wait_until(lambda: not yett.is_alive(inside[0]), 'the end of the one inside')

    # --- the way to a supervisor ---

    def ask(self, path, sandbox, action):
        """What a monitor says to a supervisor, and the answer; as an ordinary user in a process of its own."""
        script = ('import socket, sys\n'
                  's = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n'
                  's.connect(sys.argv[1])\n'
                  's.send(bytes.fromhex(sys.argv[2]))\n'
                  'print(len(s.recv(4096)))\n')
        return ['python3', '-c', script, path, hostile.supervisor_request(sandbox, action).hex()]

    def test_only_root_reaches_a_supervisor(self):
        sandbox = self.create()
        folder = self.service.runtime + '/control'
        self.assertEqual((os.stat(folder).st_uid, os.stat(folder).st_mode & 0o777), (0, 0o700))
        path = folder + '/' + os.listdir(folder)[0]
        done = self.service.run(self.alice, *self.ask(path, sandbox, 4))
        self.assertIn('PermissionError', done.err)
        # With every door open it is turned away by who it is.
        os.chmod(folder, 0o755)
        os.chmod(path, 0o777)
        try:
            done = self.service.run(self.alice, *self.ask(path, sandbox, 4))
            self.assertTrue(done.out == '0\n' or 'ConnectionResetError' in done.err or 'BrokenPipeError' in done.err, done)
            self.assertIn(sandbox, self.yett('ps', '-q', '-f', 'state=running').out)
            # root is heard, so that the attempt would have done something
            root = self.service.run(yett.Root(self.service.folder), *self.ask(path, sandbox, 4))
            self.assertEqual(root.code, 0, root)
            self.assertIn(sandbox, self.yett('ps', '-q', '-f', 'state=paused').out)
        finally:
            os.chmod(folder, 0o700)

    def test_a_supervisor_is_asked_about_its_own_sandbox_only(self):
        sandbox = self.create()
        path = self.service.runtime + '/control/' + os.listdir(self.service.runtime + '/control')[0]
        for wrong in ('0' * 16, sandbox[:-1], ''):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
                asking.connect(path)
                asking.send(hostile.supervisor_request(wrong, 7))
                self.assertEqual(asking.recv(4096), b'')
        right = hostile.supervisor_request(sandbox, 7)
        for odd in (b'', right[:-1], right + b'\0', b'x' * 60000):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
                asking.connect(path)
                asking.send(odd)
                self.assertEqual(asking.recv(4096), b'')
        self.assertEqual(self.ids(), [sandbox])

    # --- clients ---

    def test_those_that_hold_a_sandbox_are_bounded(self):
        sandbox = self.create()
        watchers = [self.watcher(sandbox) for _ in range(HOLDERS)]
        for watcher in watchers:
            self.assertEqual(self.line(watcher), sandbox + ' running')
        self.assert_refused(self.yett('exec', sandbox, '--', 'true'), 125, '%d connections hold the sandbox already' % HOLDERS)
        watchers[0].kill()
        yett.wait_until(lambda: self.yett('exec', sandbox, '--', 'true').code == 0, 'room for one more')
        self.assertEqual(self.yett('destroy', sandbox).code, 0)
        for watcher in watchers[1:]:
            self.assertEqual(self.line(watcher), sandbox + ' ended destroyed')

    def test_a_storm_of_attaches_ends_with_the_sandbox(self):
        sandbox = self.create()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            storm = [pool.submit(self.yett, 'exec', sandbox, '--', 'true') for _ in range(60)]
            yett.wait_until(lambda: sum(one.done() for one in storm) > 10, 'a storm')
            destroyed = [pool.submit(self.yett, 'destroy', sandbox) for _ in range(3)]
        self.assertIn(0, [one.result().code for one in destroyed])
        self.assertLessEqual({one.result().code for one in storm}, {0, 125})
        self.assertIn(0, [one.result().code for one in storm])
        self.assertEqual(self.ids(), [])

    def test_a_client_that_stands_still_holds_nobody_up(self):
        sandbox = self.create()
        watcher = self.watcher(sandbox)
        self.assertEqual(self.line(watcher), sandbox + ' running')
        watcher.send_signal(signal.SIGSTOP)
        for _ in range(3):
            self.assertEqual(self.yett('pause', sandbox).code, 0)
            self.assertEqual(self.yett('resume', sandbox).code, 0)
        self.assertEqual(self.yett('exec', sandbox, '--', 'echo', 'here').out, 'here\n')
        self.assertEqual(self.yett('destroy', sandbox).code, 0)
        watcher.kill()

    def test_a_channel_of_a_paused_sandbox_does_not_end_it(self):
        sandbox = self.create()
        client = self.service.popen(self.alice, self.service.yett, 'exec', sandbox, '--', 'sh', '-c', 'echo up; sleep 1000',
                                    stdout=-1, stderr=-1)
        self.addCleanup(self.end, client)
        self.assertEqual(self.line(client), 'up')
        self.assertEqual(self.yett('pause', sandbox).code, 0)
        client.kill()
        yett.wait_until(lambda: '"attached":0' in self.yett('inspect', '--json', sandbox).out, 'the end of a client')
        self.assertEqual(self.yett('resume', sandbox).code, 0)
        self.assertEqual(self.yett('exec', sandbox, '--', 'echo', 'here').out, 'here\n')


    def test_who_connects_is_served_though_the_deciders_that_waited_were_killed(self):
        self.assertEqual(self.yett('destroy', self.create()).code, 0)

        def deciders():
            monitors = [pid for pid in yett.children_of(self.service.pid()) if yett.is_alive(pid)]
            found = [decider for decider, _ in map(yett.decider_and_decoder, monitors) if decider]
            return found if len(found) > 3 else None
        waiting = yett.wait_until(deciders, 'deciders that wait')
        for decider in waiting:
            os.kill(decider, signal.SIGKILL)
        yett.wait_until(lambda: not any(yett.is_alive(pid) for pid in waiting), 'the end of all that wait')
        for _ in range(len(waiting) + 1):
            self.assertEqual(self.output('echo', 'served'), 'served\n')
        self.service.reload()  # of those that nobody connected to some wait without one still


class CapturedInit(yett.Case):
    """Init is the attacker: its supervisor goes on being one."""

    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-captured', init=hostile.program('fake-init'))
        modes = ('floods_control', 'tells_lies', 'tells_of_too_much', 'tells_without_end', 'tells_nothing_at_all', 'ends_control_when_followed')
        names = [mode.replace('_', '-') for mode in modes]
        cls.service_options = {'libexec': libexec, 'before': ''.join(
            'profile "%s" {\n  extends = "default"\n  environment = {"YETT_TEST_INIT=%s"}\n}\n' % pair for pair in zip(names, modes)) +
            'grant "inits" {\n  users = {"*"}\n  user_keys = true\n  profiles = {%s}\n  linger_max = 1h\n}\n' %
            ', '.join('"%s"' % name for name in names)}
        super().setUpClass()

    @classmethod
    def set_up_user(cls, user):
        done = cls.service.enter_key(user)
        if done.code != 125:
            raise RuntimeError('this is not the fake init: %r' % done)

    def create(self, mode):
        done = self.yett('create', '-p', mode, '--name', mode)
        self.assertEqual(done.code, 0, done)

    def follow(self, mode):
        """Its Popen, once it follows."""
        process = self.service.popen(self.alice, self.service.yett, 'events', '--json', mode, stdout=-1, stderr=-1)
        self.addCleanup(self.end, process)
        self.assertIn('"followed"', self.line(process))
        return process

    def supervisor_of(self, mode):
        """Who holds the record's file: the one that keeps the sandbox."""
        folder = self.service.runtime + '/ids/'
        for name in os.listdir(folder):
            with open(folder + name, 'rb') as file:
                if mode.encode() in file.read():
                    inode = os.stat(folder + name).st_ino
                    found = [line.split()[4] for line in yett.read('/proc/locks').splitlines() if line.split()[5].endswith(':%d' % inode)]
                    return int(found[0])
        raise AssertionError('no record of ' + mode)

    def test_what_it_tells_is_held_to_its_bounds(self):
        self.create('tells-lies')
        process = self.follow('tells-lies')
        right, far = yett.told(self.line(process)), yett.told(self.line(process))
        self.assertEqual((right['event'], right['command'], right['pid'], right['lost']), ('started', 7, 8, 4))
        self.assertEqual((far['command'], far['lost']), (2 ** 63 - 1, 2 ** 32 - 1))  # the file operation before it is not told
        self.assertEqual(self.yett('destroy', 'tells-lies').code, 0)
        end = yett.told(self.line(process))
        self.assertEqual((end['event'], end['ended'], end['lost']), ('ended', 'destroyed', 0))

    def test_what_it_counts_is_held_to_its_bounds(self):
        def totals():
            done = self.service.run(yett.Root(self.service.folder), self.service.yett, 'stats', '--helper', '--json')
            self.assertEqual(done.code, 0, done)
            return yett.told(done.out)
        before = totals()
        self.create('tells-of-too-much')
        yett.wait_until(lambda: totals() != before, 'what can be')
        self.assertEqual(self.yett('destroy', 'tells-of-too-much').code, 0)
        now = totals()
        self.assertEqual([now[name] - before[name] for name in ('sandboxes', 'executions', 'successes', 'failures', 'timeouts', 'duration_us')],
                         [1, 3, 2, 1, 1, 3])

    def test_one_that_tells_without_end_is_listened_to_now_and_then(self):
        """Were it listened to always, it would be told of as often as it tells; and its supervisor would do nothing else."""
        self.create('tells-without-end')
        process = self.follow('tells-without-end')
        supervisor = self.supervisor_of('tells-without-end')
        first, begin, used = yett.told(self.line(process)), time.monotonic(), cpu_of(supervisor)
        while True:
            event, passed = yett.told(self.line(process)), time.monotonic() - begin
            if passed > 3:
                break
        heard = (event['number'] - first['number']) / passed
        self.assertGreater(heard, 0)
        self.assertLess(heard, 1000)  # 640 by HEARD_MAX and HEARD_MS of helper/supervisor/life.c
        self.assertLess((cpu_of(supervisor) - used) / passed, 0.2)
        for word in ('pause', 'resume', 'destroy'):
            self.assertEqual(self.yett(word, 'tells-without-end').code, 0, word)

    def test_one_that_ends_its_socket_to_the_supervisor_makes_it_wait_for_nothing(self):
        for mode in ('tells-nothing-at-all', 'ends-control-when-followed'):
            self.create(mode)
            process = self.follow(mode)
            supervisor = self.supervisor_of(mode)
            for _ in range(20):
                self.assertEqual(self.yett('pause', mode).code, 0)
                self.assertEqual(self.yett('resume', mode).code, 0)
            self.assertEqual([yett.told(self.line(process))['event'] for _ in range(40)], ['paused', 'resumed'] * 20)
            used, begin = cpu_of(supervisor), time.monotonic()
            yett.wait_until(lambda: time.monotonic() - begin > 2, 'two seconds')
            self.assertLess((cpu_of(supervisor) - used) / (time.monotonic() - begin), 0.2)
            self.assertEqual(self.yett('destroy', mode).code, 0)

    def test_one_that_floods_and_reads_nothing_is_paused_and_ended_all_the_same(self):
        self.create('floods-control')
        answers = []
        for _ in range(20):  # no descriptor that it does not take is hoarded
            watcher = self.service.popen(self.alice, self.service.yett, 'attach', 'floods-control', stdout=-1, stderr=-1)
            answers.append(self.line(watcher))
            watcher.kill()
            if not answers[-1]:
                self.assertIn("cannot be sent to the sandbox's init now", watcher.communicate()[1].decode())
                break
            watcher.communicate()
        self.assertEqual(answers[-1], '')
        self.assert_refused(self.yett('kill', 'floods-control'), 1, 'cannot be sent')
        for word in ('pause', 'resume', 'destroy'):
            self.assertEqual(self.yett(word, 'floods-control').code, 0, word)
        self.service.wait_no_leftovers()


if __name__ == '__main__':
    yett.main()
