# SPDX-License-Identifier: Apache-2.0
"""The audit, by the real helper: who was given what, and what becomes of a sandbox that cannot be written down."""
import contextlib
import json
import os
import re
import signal
import subprocess

import recording
import selinux
import yett

FEW = '''grant "few" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "build"}
  network = open
  allow = {"*"}
  share_ro = {"*"}
  share_rw = {"*"}
  max_memory = 2G
  linger_max = 1h
}
'''


class Audited(yett.Case):
    """A service whose policy wants an audit, in a directory of its own below a folder of root's."""

    audit = 'required'
    more = ''
    accept = False

    @classmethod
    def setUpClass(cls):
        # With SELinux yett-audit gets to nothing but the host's logs.
        folder = '/var/log/yett-test-%d-' % yett.run_of_process().place if selinux.is_loaded() else yett.run_of_process().path('audit-')
        cls.records = folder + cls.__name__
        cls.service_options = {'before': cls.helper_section() + FEW, 'accept': cls.accept}
        cls.remove_records()  # of a run that was killed
        os.mkdir(cls.records, 0o700)
        selinux.label(cls.records, 'yett_log_t')
        super().setUpClass()
        cls.addClassCleanup(cls.remove_records)

    @classmethod
    def helper_section(cls):
        return 'helper {\n  audit = %s\n  audit_dir = "%s"\n  %s\n}\n' % (cls.audit, cls.records, cls.more)

    @classmethod
    def remove_records(cls):
        recording.remove(cls.records)

    @classmethod
    def lines(cls):
        """All records, in their order."""
        return recording.lines(cls.records)

    def of(self, sandbox, event=None):
        return [one for one in self.lines() if one.get('sandbox') == sandbox and event in (None, one['event'])]

    def await_end(self, sandbox):
        yett.wait_until(lambda: self.of(sandbox, 'ended'), 'the record of the end')
        end, = self.of(sandbox, 'ended')
        return end

    def last(self, event):
        return [one for one in self.lines() if one['event'] == event][-1]

    def program(self):
        """The pid of yett-audit."""
        found = [pid for pid in yett.children_of(self.service.pid()) if yett.argv_of(pid)[:1] == ['yett-audit'] and yett.is_alive(pid)]
        return found[0] if found else None

    def next_program(self, killed):
        """The pid of one that was not killed: after one that ended soon after its start it comes only after a while."""
        found = []
        yett.wait_until(lambda: found.append(self.program()) or found[-1] not in (None, *killed), 'another yett-audit')
        return found[-1]

    def create(self, *argv, **more):
        done = self.yett('create', *argv, **more)
        self.assertEqual(done.code, 0, done)
        self.addCleanup(self.yett, 'destroy', done.out.strip())
        return done.out.strip()

    def root(self, *argv):
        """What root's own yett says: (status, output, errors)."""
        done = subprocess.run([self.service.yett, *argv], check=False, capture_output=True, text=True, timeout=yett.DEADLINE)
        return done.returncode, done.stdout, done.stderr

    def verify(self, expected=0):
        code, out, err = self.root('audit', 'verify', '--dir', self.records)
        self.assertEqual(code, expected, out + err)
        return out


class Required(Audited):
    def test_a_sandbox_is_on_disk_before_its_first_command_runs(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(process), 'up')
        created = self.last('create')
        self.assertEqual((created['user']['uid'], created['user']['gid'], created['user']['pid']), (self.alice.uid, self.alice.gid, process.pid))
        self.assertEqual(created['user']['program'], self.service.yett)
        self.assertRegex(created['user']['key'], r'^ed25519 [A-Za-z0-9+/]{43}=$')
        self.assertEqual(self.of(created['sandbox'], 'ended'), [])
        process.stdin.close()
        process.wait()
        end = self.await_end(created['sandbox'])
        self.assertEqual(end['ended'], 'closed')
        self.assertGreater(end['usage']['cpu_us'], 0)
        self.verify()

    def test_a_record_tells_the_rule_what_was_asked_and_what_is_in_force(self):
        folder = self.folder('shared')
        done = self.sandbox('true', options=('--profile', 'build', '--memory', '1G', '--rw', folder, '--allow', 'pypi.org:443', '--name', 'box'))
        self.assertEqual(done.code, 0, done)
        created = self.last('create')
        self.assertEqual(created['profile']['name'], 'build')
        self.assertEqual(created['grant'], {'name': 'few', 'place': '%s:%d' % (self.service.policy, self.service.line('grant "few"'))})
        for word in ('memory=1G', 'allow=pypi.org:443', 'rw=' + folder, 'name=box'):
            self.assertIn(word, created['asked'].split(' '))
        force = created['in_force']
        self.assertEqual(force['limits']['memory_bytes'], 1 << 30)
        self.assertIn('limited', json.dumps(force['network']))
        self.assertIn('pypi.org:443', json.dumps(force))
        self.assertIn(folder, json.dumps(force['shares']))

    def test_what_is_asked_of_a_sandbox_is_told_with_who_asks(self):
        box = self.create('--name', 'acts', '--allow', 'a.example:443')
        folder = self.folder('later')
        for argv in (('pause', box), ('resume', box), ('exec', box, '--', 'true'), ('net', 'allow', box, 'b.example:443'),
                     ('mount', box, '--ro', folder + ':/mnt/later'), ('kill', box), ('destroy', box)):
            done = self.yett(*argv)
            self.assertEqual(done.code, 0, (argv, done))
        self.await_end(box)
        acts = self.of(box, 'act')
        self.assertEqual([one['action'] for one in acts if one['action'] != 'attach'], ['pause', 'resume', 'network', 'mount', 'kill', 'destroy'])
        self.assertIn('attach', [one['action'] for one in acts])
        self.assertEqual({one['user']['uid'] for one in acts}, {self.alice.uid})
        self.assertIn('b.example:443', json.dumps([one for one in acts if one['action'] == 'network']))
        self.assertIn('/mnt/later', json.dumps([one for one in acts if one['action'] == 'mount']))
        self.assertEqual(self.of(box, 'ended')[0]['ended'], 'destroyed')

    def test_what_an_administrator_does_to_a_users_sandbox_is_told_as_roots(self):
        box = self.create()
        done = subprocess.run([self.service.yett, 'destroy', box], check=False, capture_output=True, text=True,
                              env={**os.environ, **self.service.environment_of_client(None)})
        if done.returncode:  # root has no key here: the user ends it
            self.assertIn('key', done.stderr)
            self.assertEqual(self.yett('destroy', box).code, 0)
        self.await_end(box)
        act, = self.of(box, 'act')
        self.assertEqual(act['user']['uid'], 0 if done.returncode == 0 else self.alice.uid)

    def test_a_refusal_is_told_with_its_rule(self):
        done = self.sandbox('true', options=('--memory', '3G'))
        self.assertNotEqual(done.code, 0)
        yett.wait_until(lambda: any(one['event'] == 'refused' for one in self.lines()), 'the record of a refusal')
        refused = self.last('refused')
        self.assertEqual(refused['user']['uid'], self.alice.uid)
        self.assertEqual((refused['error']['file'], refused['error']['line']), (self.service.policy, self.service.line('max_memory = 2G')))
        self.assertEqual((refused['error']['asked'], refused['error']['allowed']), ('3G', '2G'))

    def test_a_dry_run_leaves_no_record(self):
        before = len(self.lines())
        self.assertEqual(self.sandbox('true', options=('--dry-run',)).code, 0)
        self.assertEqual([one['event'] for one in self.lines()[before:] if one['event'] in ('create', 'failed')], [])

    def test_a_supervisor_that_is_killed_ends_in_a_record(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        sandbox = self.last('create')['sandbox']
        os.kill(yett.parent_of(yett.parent_of(self.outside(process)[0])), signal.SIGKILL)
        self.assertEqual(self.await_end(sandbox)['ended'], 'helper')

    def test_the_program_has_nothing_but_what_it_hears_and_writes(self):
        self.output('true')
        pid = self.program()
        status = yett.status_of(pid)
        own = str(self.service.ids_first + 4)
        self.assertEqual(status['Uid'].split(), [own] * 4)
        self.assertEqual(status['Gid'].split(), [own] * 4)
        self.assertEqual(status['Groups'].split(), [])
        self.assertEqual([int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')], [0] * 5)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        self.assertEqual(os.stat('/proc/%d/environ' % pid).st_uid, 0)  # undumpable
        for fd in os.listdir('/proc/%d/fd' % pid):
            target = os.readlink('/proc/%d/fd/%s' % (pid, fd))
            self.assertTrue(target.startswith(('socket:', self.records + '/', '/memfd:yett')) or target in ('/dev/null', '/null', self.service.log), target)  # the second is SELinux's

    def test_records_are_roots_alone_and_can_only_be_appended_to(self):
        self.output('true')
        self.assertEqual(os.stat(self.records).st_mode & 0o077, 0)
        for name in os.listdir(self.records):
            self.assertEqual(os.stat(os.path.join(self.records, name)).st_mode & 0o077, 0)
        listed = subprocess.run(['lsattr', self.records], check=False, capture_output=True, text=True)
        if listed.returncode == 0 and listed.stdout:  # a file system that has such attributes
            for line in listed.stdout.splitlines():
                if line.endswith('.jsonl'):
                    self.assertIn('a', line.split()[0])

    def test_one_that_is_killed_is_followed_by_another_that_goes_on(self):
        self.output('true')
        before = self.program()
        os.kill(before, signal.SIGKILL)
        self.next_program([before])
        self.output('true')
        self.verify()

    def test_one_that_is_killed_while_sandboxes_are_made_loses_none_that_was_handed_over(self):
        given, killed = [], []
        for _ in range(6):
            pid = self.next_program(killed)
            several = [self.service.popen(self.alice, self.service.yett, 'create', stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
            first = several[0].stdout.readline()  # the others are being made meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            killed.append(pid)
            given += [first.decode().strip()] if first else []
            for process in several:
                out, err = process.communicate()
                given += [out.decode().strip()] if out else []
                if process.returncode:
                    self.assertIn(b'audit', err)
        self.assertTrue(given)
        self.next_program(killed)  # which the ends are told to
        for sandbox in given:
            self.assertEqual(len(self.of(sandbox, 'create')), 1, sandbox)
            yett.wait_until(lambda box=sandbox: self.yett('destroy', box).code == 0 or self.of(box, 'ended'), 'the end')
        self.verify()

    def test_an_end_that_nobody_was_there_to_write_down_is_written_by_the_next_service(self):
        box = self.create()
        self.service.stop()
        yett.wait_until(lambda: not [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-audit'] and self.records in yett.argv_of(pid)], 'the end of yett-audit')
        private = self.last('create')
        self.assertEqual(private['sandbox'], box)
        init = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-init'] and self.service.owns_uid(int(yett.status_of(pid)['Uid'].split()[0]))]
        for pid in init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        yett.wait_until(lambda: not [pid for pid in init if yett.is_alive(pid)], 'the end of the sandbox')
        self.service.start()
        self.service.wake()
        self.assertEqual(self.await_end(box)['sandbox'], box)
        self.verify()

    def test_a_policy_that_comes_into_force_is_told(self):
        before = len([one for one in self.lines() if one['event'] == 'policy'])
        self.service.reload()
        yett.wait_until(lambda: len([one for one in self.lines() if one['event'] == 'policy']) > before, 'the record of a policy')
        self.assertRegex(self.last('policy')['image'], r'^[0-9a-f]{64}$')
        self.output('true')
        self.verify()

    def test_root_is_shown_who_was_given_what_and_no_one_else_is(self):
        self.output('true')
        code, out, err = self.root('audit', 'show', '--dir', self.records, '--event', 'create')
        self.assertEqual(code, 0, err)
        self.assertIn('few', out)
        self.assertIn(str(self.alice.uid), out)
        done = self.yett('audit', 'show', '--dir', self.records)
        self.assertNotEqual(done.code, 0)
        self.assertIn('belong to root', done.err)


class Ordinary(Audited):
    """What many ordinary commands side by side leave: a record of each, and nothing of what nobody was refused."""

    def test_commands_leave_no_refusal(self):
        box = self.create()
        processes = []
        for i in range(120):
            processes.append(self.service.popen(self.alice, self.service.yett, 'exec', box, '--', 'true', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
            if i % 12 == 11:
                while processes:
                    process = processes.pop()
                    self.assertEqual((process.communicate(timeout=yett.DEADLINE)[1], process.returncode), (b'', 0))
        events = [line['event'] for line in self.of(box)]
        self.assertEqual((events.count('create'), events.count('act')), (1, 120))
        self.assertEqual([line['error'] for line in self.lines() if line['event'] == 'refused'], [])
        self.assertEqual(len(re.findall('sandbox=%s .* created' % box, self.service.log_text())), 1)


class CannotWrite(Audited):
    """The directory of records is not root's alone, or no directory."""

    def spoil(self):
        self.output('true')
        pid = self.program()
        os.chmod(self.records, 0o777)
        self.addCleanup(self.mend)
        os.kill(pid, signal.SIGKILL)
        self.next_program([pid])

    def mend(self):
        os.chmod(self.records, 0o700)
        self.service.reload()
        yett.wait_until(lambda: self.sandbox('true').code == 0, 'an audit that works again')

    def test_nobody_gets_a_sandbox_and_is_told_why(self):
        self.spoil()
        done = self.sandbox('true')
        self.assert_refused(done, 125, 'the policy requires an audit record, which cannot be written')

    def test_what_takes_away_is_done_all_the_same(self):
        box = self.create()
        self.spoil()
        self.assert_refused(self.yett('exec', box, '--', 'true'), 125, 'audit record')
        self.assertEqual(self.yett('destroy', box).code, 0)

    def test_an_end_that_could_not_be_written_down_is_when_that_works_again(self):
        """Also when the sandbox is held until after that, so that yett-audit's start finds nothing that is left."""
        box = self.create('--wall-time', '300ms', '--cleanup-delay', '1h')
        self.spoil()
        yett.wait_until(lambda: 'stopped' in self.yett('inspect', box).out, 'its end')
        self.mend()
        self.assertEqual(self.yett('destroy', box).code, 0)
        yett.wait_until(lambda: [one['event'] for one in self.lines() if one.get('sandbox') == box].count('ended') == 1, 'the record of its end')


class BestEffort(CannotWrite):
    audit = 'best_effort'

    def test_nobody_gets_a_sandbox_and_is_told_why(self):
        """With best_effort a sandbox is made, and the log says what is missing."""
        self.spoil()
        self.assertEqual(self.output('echo', 'one'), 'one\n')
        self.assertIn('no audit record of the request could be written', self.service.log_text())

    def test_what_takes_away_is_done_all_the_same(self):
        box = self.create()
        self.spoil()
        events = self.service.popen(self.alice, self.service.yett, 'events', box, stdout=subprocess.PIPE)
        self.addCleanup(self.end, events)
        self.assertIn('followed', yett.line_of(events.stdout))
        self.assertEqual(self.yett('exec', box, '--', 'true').code, 0)
        self.assertIn('unrecorded', yett.line_of(events.stdout))
        self.assertEqual(self.yett('destroy', box).code, 0)


class Alone(Audited):
    """A helper of one connection, where no service is there to write anything down."""

    accept = True

    @classmethod
    def set_up_user(cls, user):
        with contextlib.suppress(RuntimeError):
            super().set_up_user(user)

    def test_it_makes_no_sandbox_and_says_why(self):
        done = self.sandbox('true')
        self.assert_refused(done, 125, 'the policy requires an audit record, which cannot be written')
        self.assertEqual(os.listdir(self.records), [])


if __name__ == '__main__':
    yett.main()
