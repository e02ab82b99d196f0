# SPDX-License-Identifier: Apache-2.0
"""What happens in sandboxes, written down by yett-audit where the policy says so: commands, connections and denials."""
import os
import signal
import subprocess

import agent
import world
import yett
from test_audit import Audited

CALL = 'import ctypes\nlibc = ctypes.CDLL(None)\n'


class Recorded(Audited):
    audit = 'best_effort'
    more = 'record = {"commands", "connections", "denials"}'

    def happened(self, sandbox, event, count):
        """So many records of what happened in a sandbox, as soon as they are there, and no more."""
        yett.wait_until(lambda: len(self.of(sandbox, event)) >= count, '%d records of %s' % (count, event))
        found = self.of(sandbox, event)
        self.assertEqual(len(found), count, found)
        return found

    def exec(self, box, *argv, code=0, **more):
        done = self.yett('exec', box, '--', *argv, **more)
        self.assertEqual(done.code, code, done)
        return done

    def load(self):
        """A client that runs many commands in one sandbox, of which the id is known when it is made."""
        before = {one['sandbox'] for one in self.lines() if one['event'] == 'create'}
        client = self.service.popen(self.alice, self.service.run_.path('tests/system/load'), stdin=-1, stdout=-1, stderr=-1)
        self.addCleanup(self.end, client)
        self.do(client, 'row 1')
        box, = {one['sandbox'] for one in self.lines() if one['event'] == 'create'} - before
        return client, box

    def do(self, client, words):
        client.stdin.write((words + '\n').encode())
        client.stdin.flush()
        self.assertEqual(self.line(client), 'done')

    def assert_each_once(self, box, count):
        """So many commands, each of which has one start and one end, in its order, and nothing is missing."""
        found = self.happened(box, 'command', 2 * count)
        self.assertEqual(sorted(one['command'] for one in found if one['happened'] == 'started'), list(range(1, count + 1)))
        self.assertEqual(sorted(one['command'] for one in found if one['happened'] == 'exited'), list(range(1, count + 1)))
        self.assertEqual({one['lost'] for one in found}, {None})
        self.assertEqual([one['number'] for one in found], sorted({one['number'] for one in found}))

    def kill_program(self, killed, age=1):
        """
        Kills the yett-audit that runs, when it has run for so many seconds, and waits until all that it had is closed. After one that
        ended soon after its start the listener rests for a while: nobody can be told, and what waits to be told is gone.
        """
        pid = self.next_program(killed)
        yett.wait_until(lambda: yett.age(pid) >= age, 'one that has run for a while')
        os.kill(pid, signal.SIGKILL)
        yett.wait_until(lambda: not yett.is_alive(pid), 'the end of yett-audit')
        if age == 0:  # else what happens now goes to one that nobody hears any more
            socket = os.path.join(self.service.runtime, 'control', 'audit')
            yett.wait_until(lambda: not os.path.exists(socket) or self.program() not in (None, pid), 'that the listener knows of it')
        return [pid]

    def shown(self, *argv):
        code, out, err = self.root('audit', 'show', '--dir', self.records, *argv)
        self.assertEqual(code, 0, err)
        return out


class Commands(Recorded):
    def test_each_command_has_its_start_and_its_end(self):
        box = self.create('--name', 'ran')
        self.exec(box, 'sh', '-c', 'exit 7', 'ä"\\ \n', '', code=7)
        started, ended = self.happened(box, 'command', 2)
        self.assertEqual((started['happened'], started['argv'], started['command'], started['is_file_operation'], started['name'], started['lost']),
                         ('started', ['sh', '-c', 'exit 7', 'ä"\\ \n', ''], 1, False, 'ran', None))
        self.assertEqual(started['user'], {'uid': self.alice.uid})
        self.assertEqual((ended['happened'], ended['command'], ended['pid'], ended['result']['status'], ended['result']['signaled']),
                         ('exited', 1, started['pid'], 7, False))
        self.assertNotIn('argv', ended)
        self.verify()
        self.assertRegex(self.shown('--commands', '--sandbox', box),
                         r': sandbox %s \(ran\): command 1 started: \["sh","-c","exit 7","ä\\"\\\\ \\u000a",""\]\n'
                         r'.*: sandbox %s \(ran\): command 1 exited with status 7 after \d+ µs\n$' % (box, box))

    def test_one_that_was_killed_and_one_that_was_never_there(self):
        box = self.create()
        self.exec(box, 'sh', '-c', 'kill -9 $$', code=137)
        self.exec(box, '/no/such', 'word', code=127)
        killed, started, failed = self.happened(box, 'command', 4)[1:]
        self.assertEqual((killed['result']['signaled'], killed['result']['status']), (True, 9))
        self.assertEqual((started['happened'], started['argv'], started['command']), ('started', ['/no/such', 'word'], 2))
        self.assertEqual((failed['happened'], failed['argv'], failed['command'], failed['errno']), ('failed', ['/no/such', 'word'], 2, 2))
        self.assertRegex(self.shown('--commands', '--sandbox', box),
                         r'exited by signal 9 after [^\n]*\n.*started: \["/no/such","word"\]\n.*failed: \["/no/such","word"\]: No such file')

    def test_long_arguments_are_cut_and_that_shows(self):
        box = self.create()
        self.exec(box, 'true', 'x' * 2000)
        started = self.happened(box, 'command', 2)[0]
        self.assertEqual(started['argv'][0], 'true')
        self.assertRegex(started['argv'][1], '^x{100,511}$')
        self.assertEqual(started['argv'][2:], ['…'])

    def test_a_file_operation_is_one_and_has_a_record_though_it_is_no_command(self):
        """What a client says to be one may be any command."""
        box = self.create()
        yett.write(self.alice.home + '/given', 'text')
        self.assertEqual(self.yett('cp', self.alice.home + '/given', box + ':/tmp/given').code, 0)
        yett.wait_until(lambda: self.of(box, 'command'), 'a record')
        self.assertEqual({one['is_file_operation'] for one in self.of(box, 'command')}, {True})
        self.assertIn('file operation 1 started', self.shown('--commands', '--sandbox', box))
        self.exec(box, 'true')
        yett.wait_until(lambda: [one for one in self.of(box, 'command') if not one['is_file_operation']], 'that of the command')
        self.assertEqual([one['command'] for one in self.of(box, 'command') if not one['is_file_operation']][:1], [1])

    def test_who_follows_sees_no_file_operation_and_misses_nothing(self):
        box = self.create()
        follower = self.service.popen(self.alice, self.service.yett, 'events', '--json', box, stdout=-1)
        self.addCleanup(self.end, follower)
        self.assertEqual(yett.told(self.line(follower))['event'], 'followed')
        yett.write(self.alice.home + '/given', 'text')
        self.assertEqual(self.yett('cp', self.alice.home + '/given', box + ':/tmp/given').code, 0)
        self.exec(box, 'true')
        events = [yett.told(self.line(follower)) for _ in range(2)]
        self.assertEqual([(one['event'], one['command'], one['lost']) for one in events], [('started', 1, 0), ('exited', 1, 0)])

    def test_its_user_is_told(self):
        box = self.create()
        self.assertRegex(self.yett('inspect', box).out, r'(?m)^recorded +commands, connections, denials, for the administrator$')
        self.assertEqual(yett.told(self.yett('inspect', '--json', box).out)['sandbox']['recorded'], ['commands', 'connections', 'denials'])
        tool = agent.Tool(self.service, self.alice, '--sandboxes', 'all')
        self.addCleanup(tool.close)
        self.assertEqual(tool.ask('sandboxes', action='info', sandbox=box)['sandbox']['recorded'], ['commands', 'connections', 'denials'])

    def test_as_many_as_can_be_run_are_all_there(self):
        """Faster than they are written down: then they wait."""
        client, box = self.load()
        for words in ('all 200', 'row 500', 'all 200'):
            self.do(client, words)
        self.assert_each_once(box, 901)

    def test_nothing_is_missing_after_the_end(self):
        client, box = self.load()
        self.do(client, 'all 100')
        client.stdin.close()
        client.wait()
        self.await_end(box)
        self.assert_each_once(box, 101)
        records = [one['event'] for one in self.of(box)]
        self.assertEqual((records[0], records[-1]), ('create', 'ended'))

    def test_after_the_end_of_yett_audit_the_next_one_follows(self):
        client, box = self.load()
        killed, count = [], 1
        self.assert_each_once(box, count)
        for _ in range(3):
            killed += self.kill_program(killed)
            self.next_program(killed)
            self.do(client, 'row 20')
            count += 20
            self.assert_each_once(box, count)
            followed = self.of(box, 'followed')[-1]
            self.assertEqual((followed['number'], followed['lost']), (2 * (count - 20), None))
        self.assertIn(': sandbox %s: recording resumed after event 2\n' % box, self.shown('--sandbox', box))


class Denials(Recorded):
    def test_a_system_call_that_was_refused(self):
        box = self.create()
        self.exec(box, 'python3', '-c', CALL + 'print([libc.mount(0, 0, 0, 0, 0) for i in range(3)])')
        yett.wait_until(lambda: sum(one['count'] for one in self.of(box, 'denied')) >= 3, 'all of them')
        denied = self.of(box, 'denied')
        self.assertEqual({one['happened'] for one in denied}, {'denied'})
        self.assertEqual(sum(one['count'] for one in denied), 3)
        self.assertRegex(self.shown('--denied', '--sandbox', box), r'denied system call mount of process \d+')

    def test_a_name_that_no_rule_allows(self):
        box = self.create('--allow', 'a.example:443')
        self.exec(box, 'getent', 'hosts', 'b.example', code=2)
        yett.wait_until(lambda: self.of(box, 'denied'), 'the record')  # another one counts what was asked again
        denied = self.of(box, 'denied')[0]
        self.assertEqual((denied['happened'], denied['peer']['name'], denied['peer']['port'], denied['peer']['why']), ('blocked', 'b.example', None, 'no-rule'))
        self.assertIn('denied b.example (no-rule)', self.shown('--denied'))


class Connections(Recorded):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = world.serve(8080)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)

    def test_each_connection_has_its_beginning_and_its_end(self):
        box = self.create('--allow', 'good.example:8080')
        script = 'import socket\nwith socket.create_connection(("good.example", 8080)) as s:\n    s.sendall(b"GET")\n    while s.recv(4096): pass'
        self.exec(box, 'python3', '-c', script)
        yett.wait_until(lambda: len(self.of(box, 'connection')) >= 2, 'the records')
        connected, ended = self.of(box, 'connection')
        self.assertEqual((connected['happened'], connected['peer']['name'], connected['peer']['address'], connected['peer']['port'], connected['peer']['rule']),
                         ('connected', 'good.example', world.GOOD4, 8080, 'good.example:8080'))
        self.assertEqual((ended['happened'], ended['peer']['sent_bytes']), ('disconnected', 3))
        self.assertGreater(ended['peer']['received_bytes'], 20)
        self.assertRegex(self.shown('--connections', '--sandbox', box),
                         r'connected good.example port 8080 at %s, rule good.example:8080\n.*disconnected good.example port 8080 at %s, sent 3 received \d+' % (world.GOOD4, world.GOOD4))


class Chosen(Recorded):
    """Nothing is recorded that was not asked for."""

    more = ''

    @classmethod
    def helper_section(cls):
        return super().helper_section() + '''profile "seen" {
  extends = "default"
  record = {"denials"}
}
profile "more" {
  extends = "seen"
  record += {"commands"}
}
grant "seen" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "seen", "more"}
  linger_max = 1h
}
'''

    def test_each_profile_has_its_own(self):
        boxes = {name: self.create('-p', name) for name in ('default', 'seen', 'more')}
        for box in boxes.values():
            self.exec(box, 'python3', '-c', CALL + 'libc.mount(0, 0, 0, 0, 0)')
        for name, expected in (('default', []), ('seen', ['denials']), ('more', ['commands', 'denials'])):
            self.assertEqual(yett.told(self.yett('inspect', '--json', boxes[name]).out)['sandbox']['recorded'], expected)
        for box in boxes.values():
            self.assertEqual(self.yett('destroy', box).code, 0)
            self.await_end(box)
        found = {name: {one['event'] for one in self.of(box)} - {'create', 'act', 'ended'} for name, box in boxes.items()}
        self.assertEqual(found, {'default': set(), 'seen': {'denied'}, 'more': {'denied', 'command'}})
        self.assertNotIn('recorded', self.yett('inspect', boxes['default']).out)


class Waits(Recorded):
    """With audit = required a command that cannot be written down waits until it can."""

    audit = 'required'
    more = 'record = {"commands"}'

    def test_nothing_is_missing_though_yett_audit_is_killed_time_and_again(self):
        client, box = self.load()
        killed, count = [], 1
        for _ in range(4):
            self.assert_each_once(box, count)  # what it has read and not written goes with it
            killed += self.kill_program(killed)
            killed += self.kill_program(killed, age=0)
            self.do(client, 'all 50')
            count += 50
        self.assert_each_once(box, count)


class Bounded(Recorded):
    more = 'record = {"commands"}\n  audit_user_size = 96K\n  audit_max_size = 1M'

    def test_what_a_user_has_no_room_for_is_counted(self):
        client, box = self.load()
        self.do(client, 'row 300')
        yett.wait_until(lambda: [one for one in self.lines() if one['event'] == 'merged' and one['of'] == 'happened'], 'the count')
        yett.wait_until(lambda: len(self.of(box, 'command')) +
                        sum(one['count'] for one in self.lines() if one['event'] == 'merged' and one['of'] == 'happened') >= 602, 'all of them')
        merged = sum(one['count'] for one in self.lines() if one['event'] == 'merged' and one['of'] == 'happened')
        self.assertEqual(len(self.of(box, 'command')) + merged, 602)
        self.assertIn('events of sandboxes were not recorded', self.shown('--event', 'merged'))
        # and that hides no sandbox
        other = self.create()
        self.assertEqual(len(self.of(other, 'create')), 1)


class Rolled(Recorded):
    more = 'record = {"commands"}\n  audit_user_size = unlimited\n  audit_max_size = 2M'

    def test_nothing_is_missing_where_one_yett_audit_hands_over_to_the_next(self):
        client, box = self.load()
        first = self.program()
        self.do(client, 'row 900')
        self.assertNotEqual(self.next_program([first]), first)
        self.assert_each_once(box, 901)
        self.verify()


class Policy(yett.Case):
    def refused(self, text):
        path = self.service.folder + '/recorded.conf'
        yett.write(path, text)
        done = subprocess.run([self.service.yett, 'policy', 'check', path], check=False, capture_output=True, text=True, timeout=yett.DEADLINE)
        self.assertNotEqual(done.returncode, 0, done)
        return done.stderr

    def test_a_record_needs_an_audit(self):
        for section in ('helper {\n  record = {"commands"}\n}\n', 'profile "a" {\n  record = {"commands"}\n}\n'):
            self.assertRegex(self.refused(section), r"recorded.conf:2: 'record' needs the audit, which is off")

    def test_a_word_that_is_none_gets_the_nearest(self):
        self.assertRegex(self.refused('helper {\n  audit = required\n  record = {"command"}\n}\n'),
                         r"recorded.conf:3: 'command' is not commands, connections or denials: did you mean commands\?")


if __name__ == '__main__':
    world.enter()
    yett.main()
