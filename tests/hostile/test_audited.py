# SPDX-License-Identifier: Apache-2.0
"""
The audit when processes of the helper's die: whoever dies, and at whatever step, a sandbox that was made is written down, and so is its end;
and nobody was handed one that is not on disk.
"""
import os
import signal

import hostile
import recording
import test_crash
import yett

ROWS = [(step, victim) for step, victims in (('supervisor:end', ('supervisor', 'monitor', 'inside')), ('leaver:leave', ('supervisor', 'monitor', 'leaver')),
                                             ('leaver:init', ('supervisor', 'leaver')), ('sharer:share', ('supervisor', 'sharer', 'monitor'))) for victim in victims]


class AuditedCase(test_crash.CrashCase):
    audit = 'required'

    @classmethod
    def setUpClass(cls):
        cls.records = yett.run_of_process().path('audited')
        test_crash.POLICY, policy = 'helper {\n  audit = %s\n  audit_dir = "%s"\n}\n' % (cls.audit, cls.records) + test_crash.POLICY, test_crash.POLICY
        try:
            super().setUpClass()
        finally:
            test_crash.POLICY = policy
        cls.addClassCleanup(recording.remove, cls.records)

    def lines(self):
        return recording.lines(self.records)

    def sandboxes(self):
        """Of each one that is written down, what is, in its order."""
        found = {}
        for line in self.lines():
            if line['event'] in ('create', 'failed', 'ended'):
                found.setdefault(line['sandbox'], []).append(line)
        return found

    def assert_all_ended(self):
        """
        An end alone is of one whose supervisor died when it was about to tell of it (begin_record() of supervisor.c), and that never
        began.
        """
        def unended():
            return [lines for lines in self.sandboxes().values() if [line['event'] for line in lines[:1]] == ['create'] and len(lines) < 2]
        try:
            yett.wait_until(lambda: not unended(), 'the end of each sandbox that is written down')
        except AssertionError:
            self.fail('%s\n%s' % (unended(), self.service.log_text()[-3000:]))
        for lines in self.sandboxes().values():
            events = [line['event'] for line in lines]
            if events == ['ended']:
                self.assertEqual((lines[0]['started_ms'], lines[0]['ended']), (0, 'helper'), lines)
            else:
                self.assertIn(events, (['create', 'failed'], ['create', 'ended']), lines)


class Making(AuditedCase):
    """While one is made."""

    def check(self, step, victim):
        before = len(self.sandboxes())
        self.die(step, victim)
        self.assert_all_ended()
        self.assertGreater(len(self.sandboxes()), before)


hostile.add_cases(Making, 'when_it_dies', [('%s %s' % row, *row) for row in ROWS], lambda self, _, step, victim: self.check(step, victim))


class Running(AuditedCase):
    """While a command runs, of which somebody has heard."""

    def kill(self, victim):
        client = self.client('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(client), 'up')
        known = [line for line in self.lines() if line['event'] == 'create']
        self.assertEqual(known[-1]['user']['pid'], client.pid)
        os.kill(self.family_of_running(client)[victim], signal.SIGKILL)
        client.stdin.close()
        client.wait()
        self.assert_nothing_left()
        self.assert_all_ended()


hostile.add_cases(Running, 'it_is_written_down_when_one_dies', [('supervisor',), ('monitor',), ('inside',), ('decider',), ('client',)], Running.kill)


class Captured(yett.Case):
    """Deciders of one user's that have yett-audit told without end; another user's sandboxes are to be written down meanwhile."""

    service_options = {}

    @classmethod
    def setUpClass(cls):
        cls.records = yett.run_of_process().path('audited-captured')
        libexec = yett.run_of_process().libexec('libexec-audited', decider=hostile.program('fake-decider'))
        cls.service_options = {'libexec': libexec, 'before': 'helper {\n  audit = required\n  audit_dir = "%s"\n}\n' % cls.records}
        super().setUpClass()
        cls.addClassCleanup(recording.remove, cls.records)

    def test_refusals_without_end_leave_room_for_anothers_sandboxes(self):
        floods = [self.start('true', options=('--hostname', 'hostile-flood-refusals')) for _ in range(12)]
        said = []
        while any(flood.poll() is None for flood in floods):
            done = self.sandbox('true', user=self.bob)
            said += [done.err] if done.code else []
        self.assertEqual(said, [])
        for flood in floods:
            self.assertIn('it was refused without end', flood.stderr.read().decode())


if __name__ == '__main__':
    yett.main()
