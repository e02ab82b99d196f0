# SPDX-License-Identifier: Apache-2.0
"""
Programs in the place of yett-decider, yett-decoder, yett-init, yett-policy and yett-reader that are the attacker's: what they do ends their own connection or
sandbox, with an error that a person can read, and nobody else's.
"""
import os
import pty
import re
import signal
import socket
import subprocess
import termios
import time

import hostile
import yett

LOG_DONE_MAX = 600  # lines in a minute: base/log.h

UNREADABLE = ('the request could not be looked at',)
NOT_SIGNED = ("the decoded message is not the signed message",)

# What the decoder does, and what the client is told.
DECODERS = [
    ('crash', *UNREADABLE), ('leave', *UNREADABLE), ('say-nothing', *UNREADABLE), ('close-socket', *UNREADABLE),
    ('half-a-head', *UNREADABLE), ('half-an-answer', *UNREADABLE), ('wrong-status', *UNREADABLE), ('small-body', *UNREADABLE),
    ('large-body', *UNREADABLE), ('large-arena', *UNREADABLE), ('bad-code', *UNREADABLE), ('large-code', *UNREADABLE),
    ('large-reason', *UNREADABLE), ('huge-count', *UNREADABLE), ('huge-tmpfs-count', *UNREADABLE), ('text-outside', *UNREADABLE),
    ('text-too-long', *UNREADABLE), ('no-nul', *UNREADABLE), ('endless-texts', *UNREADABLE),
    ('lie-about-memory', *NOT_SIGNED), ('lie-about-pids', *NOT_SIGNED), ('lie-about-plan', *NOT_SIGNED),
    ('lie-about-mode', *NOT_SIGNED), ('lie-about-count', *NOT_SIGNED), ('lie-about-profile', *NOT_SIGNED),
    ('lie-about-target', *NOT_SIGNED), ('wrong-bool', ''),
]

# Answers that are right and followed by more: they stand for the request they were given to, and for no other.
TALKATIVE = [('answer-twice',), ('flood',)]

# What it does when a plan is to be printed, and what the client is told.
PRINTERS = [
    ('print-one-half', "the helper's plan is not text and JSON"), ('print-half-a-part', 'yett-decoder ended unexpectedly'),
    ('print-large-part', 'yett-decoder sent an invalid answer'), ('print-half-a-head', 'yett-decoder sent an invalid answer'),
    ('print-refusal', "the helper's plan is not text and JSON"),
    ('print-without-end', 'the plan is too long to be sent'), ('print-crash', 'yett-decoder ended unexpectedly'),
    ('print-nothing', 'yett-decoder did not answer in time'),
]


class Neighboured(yett.Case):
    """Somebody else is served meanwhile."""

    def neighbour(self):
        """Somebody else's sandbox, in which a command runs."""
        return self.running('sh', '-c', 'echo ready; read line; echo "$line"', user=self.bob)

    def running(self, *argv, **more):
        """A command that runs, and has said so."""
        process = self.start(*argv, **more)
        line = self.line(process)
        self.assertEqual(line, 'ready', '' if line else process.communicate(timeout=yett.DEADLINE)[1])
        return process

    def assert_runs(self, other):
        other.stdin.write(b'unharmed\n')
        other.stdin.flush()
        self.assertEqual(self.line(other), 'unharmed')


class Decoders(Neighboured):

    @classmethod
    def setUpClass(cls):
        cls.libexec = yett.run_of_process().libexec('libexec-decoder', decoder=hostile.program('fake-decoder'))
        cls.service_options = {'libexec': cls.libexec}
        super().setUpClass()

    def options(self, mode):
        return ('--ro', self.alice.mkdir('data-' + mode) + ':/data', '--hostname', 'hostile-' + mode)

    def test_it_is_the_fake_one(self):
        """An honest answer of it is as good as any, so the lies below are seen only because they are lies."""
        self.assertEqual(self.output('hostname', options=self.options('not-at-all')).strip(), 'hostile-not-at-all')

    def lie_of_plan(self, mode, text):
        self.lie(mode, text, '--dry-run')

    def test_an_untruth_about_a_plan_is_told_to_who_asked_and_changes_nothing(self):
        options = self.options('print-untruth')
        self.assertEqual(self.output('true', options=[*options, '--dry-run']), 'sandbox of one step: /etc/shadow')
        self.assertEqual(self.output('sh', '-c', 'hostname; cat /etc/shadow 2>/dev/null; echo end', options=options),
                         'hostile-print-untruth\nend\n')

    def lie(self, mode, text, *more):
        other = self.neighbour()
        done = self.sandbox('true', options=[*self.options(mode), *more])
        self.assert_refused(done, 125, text)
        self.assertNotIn('BBBBBBBB' * 64, done.err)
        self.assertEqual(self.sandbox('true').code, 0)
        self.assert_runs(other)

    def talk(self, mode):
        self.sandbox('true', options=self.options(mode))
        self.assertEqual(self.sandbox('true').code, 0)

    def fail_at_start(self, mode):
        """Nobody is served, each client is told, and when the decoder is mended the service is as it was."""
        path = self.libexec + '/mode'
        yett.write(path, mode)
        try:
            self.service.reload()  # monitors that are ready have a decoder already
            for _ in range(8):
                done = self.sandbox('true')
                self.assertIn(done.code, (0, 125), done)
            self.assertEqual(done.code, 125, done)
            self.assertTrue(done.err.startswith('yett: '), done)
        finally:
            os.unlink(path)
            self.service.reload()
        yett.wait_until(lambda: self.sandbox('true').code == 0, 'a decoder that works')


hostile.add_cases(Decoders, 'decoder', DECODERS, Decoders.lie)
hostile.add_cases(Decoders, 'decoder', TALKATIVE, Decoders.talk)
hostile.add_cases(Decoders, 'decoder', PRINTERS, Decoders.lie_of_plan)
hostile.add_cases(Decoders, 'decoder_at_start', [(mode,) for mode in ('crash', 'leave', 'hang', 'wrong-byte', 'chatter')],
                  Decoders.fail_at_start)

# What a captured decider has its monitor asked for, and what its client is told. See fake_decider.c.
NOT_ALLOWED = 'the plan of yett-decider is not what the policy allows'
NO_PLAN = 'the helper cannot do what is asked: Protocol error'
CLOSED = 'the helper closed the connection'
DECIDERS = [
    ('shadow', NOT_ALLOWED), ('home-of-root', NOT_ALLOWED), ('written-to', NOT_ALLOWED), ('another-uid', NOT_ALLOWED),
    ('another-gid', NOT_ALLOWED), ('a-group-more', NOT_ALLOWED), ('identity-root', NOT_ALLOWED), ('identity-caller', NOT_ALLOWED),
    ('capabilities', NOT_ALLOWED), ('user-namespaces', NOT_ALLOWED), ('other-label', NOT_ALLOWED), ('other-type', NOT_ALLOWED),
    ('nice-value', NOT_ALLOWED), ('name-of-profile', NOT_ALLOWED), ('profile-at-4294967295', NO_PLAN), ('profile-at-10000', NO_PLAN),
    ('shorter', NO_PLAN), ('longer', NO_PLAN), ('a-step-less', NO_PLAN), ('all-steps', NO_PLAN), ('all-texts', NO_PLAN),
    ('all-groups', NO_PLAN), ('all-labels', NO_PLAN), ('all-variables', NO_PLAN), ('all-descriptors', NO_PLAN), ('no-kind', NO_PLAN),
    ('no-head', NO_PLAN), ('both-dry-and-not', NO_PLAN),
    ('no-act', CLOSED), ('act-of-0', CLOSED), ('largest-act', CLOSED), ('half-a-number', CLOSED), ('nothing', CLOSED),
    ('short-key', CLOSED), ('long-key', CLOSED), ('short-request', CLOSED), ('long-records', CLOSED), ('larger-than-all', CLOSED),
    ('a-descriptor', CLOSED), ('leave-badly', CLOSED),
    ('totals', 'the helper cannot do what is asked: Operation not permitted'), ('record-without-end', 'captured: told of 0 of its own, 0 of others'),
    ('open-a-file', CLOSED), ('make-a-process', CLOSED), ('connect-to-somebody', CLOSED),
    ('flood', CLOSED),
]


class Deciders(Neighboured):
    """
    The program that hears the client is the client's. What it can do then is what its monitor lets it do: nothing for anybody else, nothing
    beyond the policy, and others are served meanwhile.
    """

    service_options = {}

    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-decider', decider=hostile.program('fake-decider'))
        cls.service_options = {'libexec': libexec, 'before': FORBIDDEN}
        cls.listens = socket.create_server(('127.0.0.1', 0), backlog=4096)  # and never reads
        cls.listens.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        cls.addClassCleanup(cls.listens.close)
        yett.write(libexec + '/port', '%d\n' % cls.listens.getsockname()[1])
        super().setUpClass()

    def captured(self, mode, user=None, **more):
        return self.sandbox('true', options=('--hostname', 'hostile-' + mode), user=user, **more)

    def assert_unharmed(self, other):
        self.assertEqual(self.sandbox('true').code, 0)
        self.assert_runs(other)
        self.assertEqual(other.wait(yett.DEADLINE), 0)
        self.service.wait_no_leftovers()

    def test_it_is_the_fake_one(self):
        """An honest one of it is as good as any, so what is refused below is refused for what it asks."""
        self.assertEqual(self.output('hostname', options=('--hostname', 'hostile-not-at-all')).strip(), 'hostile-not-at-all')

    def lie(self, mode, text):
        other = self.neighbour()
        done = self.captured(mode)
        self.assert_refused(done, 125, text)
        self.assertNotIn('captured: the decider was let live', done.err)
        self.assert_unharmed(other)

    def counted(self, mode):
        done = self.captured(mode)
        self.assertEqual(done.code, 125, done)
        return int(re.search(r'captured: [a-z ]+ ([0-9]+) ', done.err)[1])

    def test_what_users_may_ask_for_in_a_minute_is_not_for_it_to_count(self):
        """Each request has three acts besides that of its key, which it leaves out: the first four are of the honest one, and of none. A reader counts as a request."""
        records, sandboxes, readers = 'count-records-that-are-told', 'count-sandboxes-that-are-made', 'count-readers-that-are-started'
        self.assertEqual(self.counted(records), 40)  # all it asks for
        self.assertEqual(self.counted(readers), 40)
        self.assertEqual(self.counted(sandboxes), 40)
        self.service.wait_no_leftovers()
        for bounds, most in (('max_requests = 5', {records: 3 + 4 * 4, sandboxes: 3 + 4 * 4, readers: 4}), ('max_creations = 5', {records: 40, sandboxes: 5, readers: 40})):
            self.change_policy(before=FORBIDDEN + 'ceiling "few" { users = {"%s"} %s }\n' % (self.alice.name, bounds))
            for mode, passed in most.items():
                with self.subTest(bounds, mode=mode):
                    os.unlink(self.service.runtime + '/rates') if os.path.exists(self.service.runtime + '/rates') else None
                    self.assertEqual(self.counted(mode), passed)
                    self.assertEqual(self.sandbox('true', user=self.bob).code, 0)
                    self.service.wait_no_leftovers()

    def test_what_a_policy_allowed_is_not_had_by_the_next_one(self):
        process = self.start('true', options=('--hostname', 'hostile-ask-until-refused'))
        yett.wait_until(lambda: ' pid=%d one was answered' % process.pid in self.service.log_text(), 'the first that it is told')
        self.service.reload()
        _, err = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 125, err)
        self.assertIn('the policy was loaded anew; connect again', err.decode())
        self.service.wait_no_leftovers()

    def test_no_profile_but_those_of_a_grant_is_given(self):
        """By its number: as many as there are, of which the honest one is what was asked for."""
        found = [self.captured('profile-at-%d' % index) for index in range(4)]
        said = [done.err for done in found]
        self.assertEqual([done.code for done in found].count(125), len([text for text in said if NOT_ALLOWED in text]), said)
        # The first of the policy, which no grant gives to anybody.
        self.assert_refused(found[0], 125, NOT_ALLOWED)

    def test_nobody_is_told_of_anothers_sandboxes(self):
        other = self.neighbour()
        identity = self.yett('ps', '-q', user=self.bob).out.strip()
        self.assertRegex(identity, '^[0-9a-f]{16}$')
        for mode, own in (('records', 0), ('record-of-at-' + identity, 0)):
            with self.subTest(mode):
                self.assert_refused(self.captured(mode), 125, 'captured: told of %d of its own, 0 of others' % own)
        mine = self.running('sh', '-c', 'echo ready; read line')
        self.assert_refused(self.captured('records'), 125, 'captured: told of 1 of its own, 0 of others')
        mine.stdin.close()
        self.assertEqual(mine.wait(yett.DEADLINE), 1)
        # Whose they are is told the one they are of, by the same way.
        self.assert_refused(self.captured('record-of-at-' + identity, user=self.bob), 125, 'captured: told of 1 of its own, 0 of others')
        self.assert_unharmed(other)

    def test_nobody_asks_anothers_supervisor(self):
        other = self.neighbour()
        identity = self.yett('ps', '-q', user=self.bob).out.strip()
        for mode in ('attach', 'follow', 'destroy', 'kill-it', 'ask-for-its-plan', 'no-action'):
            with self.subTest(mode):
                self.assert_refused(self.captured('%s-at-%s' % (mode, identity)), 125, 'the sandbox has just gone')
        # Its own user's decider may: so it was the id that was refused, and not the act.
        self.assert_refused(self.captured('attach-at-' + identity, user=self.bob), 125, 'captured: the supervisor was asked')
        self.assert_unharmed(other)

    def test_one_that_hangs_goes_with_its_client(self):
        other = self.neighbour()
        clients = [self.start('true', options=('--hostname', 'hostile-hang')) for _ in range(3)]
        self.assertEqual(self.sandbox('true').code, 0)
        for client in clients:
            self.assertIsNone(client.poll())
            client.kill()
            client.wait()
        self.assert_unharmed(other)

    def test_what_it_has_logged_is_of_its_client_and_one_line(self):
        other = self.neighbour()
        before, began = self.service.log_text(), time.monotonic()
        self.assert_refused(self.captured('flood-log'), 125, 'it has written a flood')
        minutes = int((time.monotonic() - began) / 60) + 2  # those of the clock that it can have been in
        told = self.service.log_text()[len(before):]
        self.assertIn('flood 0', told)
        self.assertLessEqual(told.count('flood '), LOG_DONE_MAX * minutes)  # of 100,000
        self.assertNotIn('\n<0>', told)
        self.assertNotIn('\033', told)
        for line in told.splitlines():
            if 'flood' in line:
                self.assertIn('uid=%d pid=' % self.alice.uid, line)
        self.assert_unharmed(other)

    def count_children(self, monitor):
        """How many processes of a monitor's run its program at one moment. It is stopped meanwhile, and starts no other one."""
        try:
            os.kill(monitor, signal.SIGSTOP)
            try:
                yett.wait_until(lambda: yett.status_of(monitor).get('State', 'Z')[0] in 'TtZX', 'a monitor that is stopped')
                return sum(yett.argv_of(pid)[:1] in ([self.service.helper], []) for pid in yett.children_of(monitor))  # no words: it has ended
            finally:
                os.kill(monitor, signal.SIGCONT)
        except ProcessLookupError:
            return 0

    def test_what_it_has_swept_and_dropped_without_end_is_work_of_one_process_at_a_time(self):
        other = self.neighbour()
        for mode, text in (('flood-sweeps', 'it has had much swept'), ('flood-drops', '')):
            with self.subTest(mode):
                client = self.start('true', options=('--hostname', 'hostile-' + mode))
                most = looked = 0
                while client.poll() is None and looked < 100:  # each look stops the monitor, and the client waits only 30 s for it
                    most = max([most, *map(self.count_children, yett.children_of(self.service.pid()))])
                    looked += most > 0
                self.assertGreater(most, 0)
                self.assertIn(text, client.communicate(timeout=yett.DEADLINE)[1].decode())
                self.assertLessEqual(most, 2)  # what it waits for, and one that has ended and is not yet reaped
        self.assert_unharmed(other)

    def test_what_takes_long_to_close_holds_up_no_supervisor_and_no_monitor(self):
        other = self.neighbour()
        for mode in ('attach-and-linger', 'follow-and-linger', 'destroy-and-linger'):
            with self.subTest(mode):
                mine = self.start('sleep', '1000')
                yett.wait_until(lambda: self.yett('ps', '-q').out, 'a sandbox')
                identity = self.yett('ps', '-q').out.strip()
                done = self.captured('%s-at-%s' % (mode, identity))
                self.assert_refused(done, 125, 'captured: the supervisor was asked')
                if mode == 'attach-and-linger':  # the others are let go of in the same moment
                    self.assertIn('and sent what lingers', done.err)
                self.yett('destroy', identity)  # it is gone by what was sent, or by this
                self.assertEqual(mine.wait(yett.DEADLINE), 125)
                yett.wait_until(lambda: not self.yett('ps', '-q').out, 'its end')
        with self.subTest('linger-with-monitor'):
            self.assert_refused(self.captured('linger-with-monitor'), 125, CLOSED)
        with self.subTest('linger-with-supervisor'):
            done = self.sandbox('sleep', '1000', options=('--hostname', 'hostile-linger-with-supervisor'))
            self.assertEqual(done.code, 125, done)
        self.assert_unharmed(other)

    def test_what_has_ended_is_not_held_and_not_followed(self):
        done = self.yett('create', '--wall-time', '1ms', '--cleanup-delay', '1h')
        self.assertEqual(done.code, 0, done)
        identity = done.out.strip()
        yett.wait_until(lambda: self.yett('ps', '-q', '-f', 'state=stopped').out.strip() == identity, 'its end')
        for mode in ('attach', 'follow', 'kill-it'):
            with self.subTest(mode):
                self.assert_refused(self.captured('%s-at-%s' % (mode, identity)), 125, 'captured: the supervisor was asked, and refused')
        self.assertEqual(self.yett('destroy', identity).code, 0)
        self.service.wait_no_leftovers()

    def test_no_sandbox_is_hidden_by_what_it_is_said_to_be(self):
        for mode in ('name-of-bytes', 'labels-of-bytes', 'boundless-limits', 'boundless-life'):
            with self.subTest(mode):
                mine = self.running('sh', '-c', 'echo ready; read line', options=('--hostname', 'hostile-' + mode))
                identity = self.yett('ps', '-q').out.strip()
                self.assertRegex(identity, '^[0-9a-f]{16}$')
                for command in (('ps',), ('inspect', identity), ('stats',), ('ps', '--all'), ('stats', '--all')):
                    root = '--all' in command
                    done = self.yett(*command, user=yett.Root(self.service.folder) if root else self.alice)
                    self.assertEqual((done.code, done.err), (0, ''), done)
                    self.assertIn(identity, done.out)
                mine.stdin.close()
                mine.wait(yett.DEADLINE)
        self.service.wait_no_leftovers()


# Of profiles that no grant gives to anybody who asks here.
FORBIDDEN = """
profile "forbidden" {
  share_ro = {"/var/lib:/host"}
}
grant "of-root" {
  users = {"root"}
  user_keys = true
  profiles = {"forbidden"}
}
"""

hostile.add_cases(Deciders, 'decider', DECIDERS, Deciders.lie)

# What init does; the client's exit status, and what it is told.
INITS = [
    ('exit_early', 125, 'yett: '), ('killed_early', 125, 'init failed at made-up-step: Input/output error'),
    ('closes_control', 125, 'yett: '), ('report_garbage', 125, 'yett: '), ('report_large', 125, 'yett: '),
    ('report_without_nul', 125, 'init failed at AAAA'), ('report_control_characters', 125, 'yett: '),
    ('exits_at_exec', 125, 'yett: '), ('garbage', 125, 'yett: '),
    ('oversized', 125, 'yett: '), ('bad_body', 125, 'yett: '),
    ('unknown_sequence', 125, 'yett: '), ('zero_sequence', 125, 'yett: '), ('exited_first', 125, 'yett: '),
    ('wrong_kind', 125, 'yett: '), ('signal_to_client', 125, 'yett: '), ('descriptors', 125, 'yett: '),
    ('endless_started', 125, 'yett: '), ('endless_exited', 0, ''), ('leaves_children', 0, ''),
    ('nested_groups', 0, ''), ('frozen', 0, ''), ('threaded', 0, ''), ('many_groups', 0, ''),
    ('reports_empty', 125, 'yett: '), ('reports_other_order', 125, 'init failed'), ('reports_unknown_order', 125, 'init failed'),
    ('reports_twice', 125, 'yett: '), ('reports_with_a_socket', 125, 'init failed'),
]


# What init hands over as a terminal's master; the same, for a command that was to have one.
TERMINALS = [
    ('terminal_right', 0, ''), ('terminal_none', 125, '0 terminals where 1 was due'), ('terminal_twice', 125, '2 descriptors'),
    ('terminal_null', 125, "something else than a terminal"), ('terminal_group', 125, "something else than a terminal"),
    ('terminal_handle', 125, "something else than a terminal"), ('terminal_channel', 125, "something else than a terminal"),
    ('terminal_slave', 125, "something else than a terminal"),
]

# Under which label it says to run, where the profile requires the shipped one; and whether that is it.
LABELS = [
    ('label_right', True), ('label_right_type', True), ('label_none', False), ('label_complaining', False), ('label_of_another', False),
    ('label_cut_off', False), ('label_other_type', False), ('label_other_user', False),
]

# These send what takes an hour to close.
LINGERING = ('lingers_on_control', 'lingers_on_channel', 'reports_with_a_lingering_one', 'reports_with_lingering_ones')

# These heed nothing, so that the client waits as long as it waits for a helper, and then closes the connection.
DEAF = ('closes_channel', 'empty_packet', 'stays', 'reports_nothing')
MODES = [row[0] for row in INITS + TERMINALS + LABELS] + list(LINGERING + DEAF)


def profiles():
    text = ''
    for name in MODES:
        text += 'profile "%s" {\n  extends = "default"\n  environment = {"YETT_TEST_INIT=%s"}\n}\n' % (name.replace('_', '-'), name)
    for name, _ in LABELS:
        text += 'profile "%s-required" {\n  extends = "%s"\n  label = required\n}\n' % (2 * (name.replace('_', '-'),))
    return text + ('grant "inits" {\n  users = {"*"}\n  user_keys = true\n  profiles = {%s}\n}\n' %
                   ', '.join('"%s"' % name.replace('_', '-') for name in MODES + [row[0] + '-required' for row in LABELS]))


class Inits(yett.Case):
    """Init is the attacker; the helper, and the client, are told what it pleases."""

    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-init', init=hostile.program('fake-init'))
        cls.service_options = {'libexec': libexec, 'before': profiles()}
        super().setUpClass()

    @classmethod
    def set_up_user(cls, user):
        """A first run makes the key; no command of it can work here."""
        done = cls.service.enter_key(user)
        if done.code != 125:
            raise RuntimeError('this is not the fake init: %r' % done)

    def misbehave(self, mode, code, text):
        done = self.sandbox('true', options=('-p', mode.replace('_', '-')))
        self.assertEqual(done.code, code, done)
        self.assertIn(text, done.err)
        self.assertNotIn('\033', done.err)
        self.assertNotIn('\n<0>', self.service.log_text())
        self.service.wait_no_leftovers()

    def misbehave_on_terminal(self, mode, code, text):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        before = termios.tcgetattr(theirs)
        done = self.sandbox('true', options=('-t', '-p', mode.replace('_', '-')), stdin=theirs)
        self.assertEqual(done.code, code, done)
        self.assertIn(text, done.err)
        self.assertEqual(termios.tcgetattr(theirs), before)
        self.service.wait_no_leftovers()

    def say_label(self, mode, is_right):
        """What init says of its label counts, and no sandbox goes on without one that is required."""
        self.assertEqual(self.sandbox('true', options=('-p', mode.replace('_', '-'))).code, 0)
        done = self.sandbox('true', options=('-p', mode.replace('_', '-') + '-required'))
        self.assertEqual(done.code, 0 if is_right else 125, done)
        self.assertIn('' if is_right else "the label 'yett-sandbox' is required and not enforced", done.err)
        self.service.wait_no_leftovers()

    def test_what_lingers_from_inside_holds_up_nobody(self):
        for mode in LINGERING:
            with self.subTest(mode):
                self.misbehave(mode, 125, 'yett: ')

    def test_a_terminal_that_was_not_asked_for_is_none(self):
        done = self.sandbox('true', options=('-p', 'terminal-right'))
        self.assert_refused(done, 125, '1 terminals where 0 was due')

    def test_those_that_heed_nothing_go_with_the_connection(self):
        clients = [self.start('true', options=('-p', mode.replace('_', '-'))) for mode in DEAF]
        for client, code in zip(clients, (125, 125, 0, 125)):
            _, err = client.communicate(timeout=yett.DEADLINE)
            self.assertEqual(client.returncode, code, err)
        self.service.wait_no_leftovers()

    def test_one_that_stays_goes_with_its_client(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            client = self.start('true', options=('-p', 'unknown-sequence'))
            client.send_signal(how)
            client.communicate(timeout=yett.DEADLINE)
            self.service.wait_no_leftovers()


hostile.add_cases(Inits, 'init', INITS, Inits.misbehave)
hostile.add_cases(Inits, 'init', TERMINALS, Inits.misbehave_on_terminal)
hostile.add_cases(Inits, 'init', LABELS, Inits.say_label)

# What yett-policy does, as a shell script, and what is told of it. Descriptor 0 is what it writes its answer to.
COMPILERS = [
    ('says_nothing', 'exit 0', 'sent an invalid answer'),
    ('writes_nothing_but_zeros', 'head -c 100000 /dev/zero >&0', 'sent an invalid answer'),
    ('writes_garbage', 'head -c 100000 /dev/urandom >&0', 'sent an invalid answer'),
    ('writes_without_end', 'ulimit -f 100000; cat /dev/zero >&0; exit 0', 'sent an invalid answer'),
    ('fails', 'exit 3', 'exit status 3'),
    ('is_killed', 'kill -9 $$', 'signal 9'),
    ('hangs', 'exec sleep 1000', 'signal 9'),
]


class Compilers(yett.Case):
    """yett-policy is the attacker: there is no policy then, and a service that has one keeps it."""

    @classmethod
    def setUpClass(cls):
        cls.libexec = yett.run_of_process().libexec('libexec-compiler')
        os.rename(cls.libexec + '/yett-policy', cls.libexec + '/honest')
        cls.put('exec %s/honest "$@"' % cls.libexec)
        cls.service_options = {'libexec': cls.libexec}
        super().setUpClass()

    @classmethod
    def put(cls, script):
        yett.write(cls.libexec + '/yett-policy', '#!/bin/bash\nPATH=/usr/bin:/bin\n' + script + '\n', 0o755)

    def misbehave(self, script, text):
        self.put(script)
        self.addCleanup(self.put, 'exec %s/honest "$@"' % self.libexec)
        done = self.service.run(yett.Root(self.service.folder), self.service.helper, '--libexec', self.libexec,
                                '--personal', '--policy', self.service.policy, '--fd', '0', stdin=subprocess.DEVNULL)
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn(text, done.err)
        self.service.reload()
        self.assertIn('the policy was not loaded anew: yett-policy', self.service.log_text())
        self.assertEqual(self.sandbox('true').code, 0)

    def test_one_that_is_honest_is_believed(self):
        self.service.reload()
        self.assertIn('policy loaded anew', self.service.log_text())
        self.assertEqual(self.sandbox('true').code, 0)


# What yett-reader does, as a shell script; descriptor 0 is a socket to the monitor, and later to the decider.
READERS = [
    ('ends_at_once', 'exit 0'), ('is_killed', 'kill -9 $$'), ('hangs', 'exec sleep 1000'), ('says_too_little', 'echo much >&0; exec sleep 1000'),
    ('writes_garbage', 'head -c 65536 /dev/urandom >&0; exec sleep 1000'),
    ('says_more_than_it_is_asked', 'for i in 1 2 3; do head -c 65536 /dev/urandom >&0; done; exec sleep 1000'),
]


class Readers(Neighboured):
    """yett-reader is the attacker: whom it was started for is told, and everybody is served by the next one."""

    @classmethod
    def setUpClass(cls):
        cls.libexec = yett.run_of_process().libexec('libexec-reader')
        os.rename(cls.libexec + '/yett-reader', cls.libexec + '/honest')
        cls.put('exec %s/honest' % cls.libexec)
        cls.service_options = {'libexec': cls.libexec}
        super().setUpClass()

    @classmethod
    def put(cls, script):
        yett.write(cls.libexec + '/next', '#!/bin/bash\nPATH=/usr/bin:/bin\n' + script + '\n', 0o755)
        os.rename(cls.libexec + '/next', cls.libexec + '/yett-reader')  # what is executed just now cannot be written to

    def misbehave(self, _, script):
        other = self.neighbour()
        self.put(script)
        try:
            self.service.reload()  # monitors that are ready have a reader already
            done = self.sandbox('true')
            self.assert_refused(done, 125, "the user's own keys cannot be read")
        finally:
            self.put('exec %s/honest' % self.libexec)
            self.service.reload()
        yett.wait_until(lambda: self.sandbox('true').code == 0, 'a reader that works')
        self.assert_runs(other)

    def test_one_that_is_honest_is_believed(self):
        self.assertEqual(self.sandbox('true').code, 0)


hostile.add_cases(Readers, 'reader', READERS, Readers.misbehave)
hostile.add_cases(Compilers, 'compiler', COMPILERS, lambda case, _, script, text: Compilers.misbehave(case, script, text))

if __name__ == '__main__':
    yett.main()
