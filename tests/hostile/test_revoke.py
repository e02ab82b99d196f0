# SPDX-License-Identifier: Apache-2.0
"""
Clients that hold on to what was taken away: connections that are older than a policy, than the service, or than the removal of a key;
and what one user can write into the log of all.
"""
import os
import re
import shutil
import signal

import hostile
import yett

NOTHING = '''
profile "default" {
  system = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
}
grant "nobody" {
  users = {"nobody"}
  user_keys = true
  profiles = {"default"}
}
'''
AGAIN = 'connect again'


class Kept(yett.Case):
    """A connection that is kept, of alice's, and a sandbox of hers that lingers."""

    def setUp(self):
        done = self.yett('create')
        self.assertEqual(done.code, 0, done)
        self.sandbox_id = done.out.strip()
        self.kept = self.keep()
        self.assertEqual(self.ask('create'), 'ok')
        self.assertEqual([self.ask(line) for line in self.requests()], ['ok'] * len(self.requests()))

    def tearDown(self):
        """Whatever a test has done to the service: one that serves by the shipped policy."""
        self.end(self.kept)
        if self.service.process.poll() is not None:
            self.service.start()
        self.service.shipped = True
        self.service.write_policy(before='')
        self.service.reload()
        root = yett.Root(self.service.folder)
        for left in self.yett('ps', '--all', '-q', user=root).out.split():
            self.yett('destroy', left, user=root)  # that of the client that was ended may be gone by now
        self.service.wait_no_leftovers()

    def keep(self, user=None):
        process = self.service.popen(user or self.alice, hostile.program('keep'), stdin=-1, stdout=-1, stderr=-1)
        self.addCleanup(self.end, process)
        return process

    def ask(self, line, process=None):
        process = process or self.kept
        process.stdin.write(line.encode() + b'\n')
        process.stdin.flush()
        return self.line(process)

    def requests(self):
        """Every kind of request that there is, but those that end what the others are about."""
        return ['plan', 'create', 'list'] + [kind + ' ' + self.sandbox_id for kind in
                                             ('inspect', 'usage', 'attach', 'follow', 'pause', 'resume')]

    def assert_over(self):
        """Nothing is decided for it any more; what it has goes on: its channel is none of the helper's business."""
        for line in self.requests() + ['end ' + self.sandbox_id, 'create']:
            with self.subTest(asked=line):
                self.assertIn(AGAIN, self.ask(line))
        self.assertEqual(self.ask('exec'), 'ok')

    def test_one_older_than_a_policy_gets_nothing_by_the_older_one(self):
        self.service.shipped = False
        self.service.write_policy(before=NOTHING)
        self.service.reload()
        self.assert_over()
        # A new one is told what is in force, about what lives, too; root ends that.
        self.assert_refused(self.yett('create'), 1, 'no grant of the policy is for uid %d' % self.alice.uid)
        self.assert_refused(self.yett('exec', self.sandbox_id, '--', 'true'), 125, 'no grant of the policy is for uid')
        root = yett.Root(self.service.folder)
        shutil.copy(self.alice.home + '/.config/yett/id_ed25519.pub', self.service.keys + '/roots.pub')
        self.addCleanup(os.unlink, self.service.keys + '/roots.pub')
        self.assert_refused(self.yett('exec', self.sandbox_id, '--', 'true'), 125, 'no grant')

    def test_one_that_the_policy_still_allows_asks_anew_and_goes_on(self):
        self.service.reload()
        self.assert_over()
        self.end(self.kept)
        self.kept = self.keep()
        self.assertEqual([self.ask(line) for line in self.requests()], ['ok'] * len(self.requests()))

    def test_a_policy_that_was_refused_ends_nothing(self):
        self.service.write_policy(before='grant "wrong" {\n  usres = {"*"}\n}\n')
        self.service.reload()
        self.assertEqual([self.ask(line) for line in self.requests()], ['ok'] * len(self.requests()))

    def test_one_older_than_the_service_gets_nothing_from_nobody(self):
        self.service.process.kill()
        self.service.process.wait()
        self.assert_over()
        # nor by the next one, which has not heard of it
        self.service.start()
        self.service.wake()
        self.assert_over()
        self.assertEqual(self.yett('exec', self.sandbox_id, '--', 'true').code, 0)

    def test_one_that_is_not_answered_is_over(self):
        self.service.wake()
        os.kill(self.service.pid(), signal.SIGSTOP)
        try:
            self.assertIn(AGAIN, self.ask('create'))
        finally:
            os.kill(self.service.pid(), signal.SIGCONT)
        self.assert_over()  # also when the listener is well again: nobody knows what it missed
        self.assertEqual(self.yett('exec', self.sandbox_id, '--', 'true').code, 0)

    def test_a_key_that_was_removed_signs_nothing_more_for_connections_that_are_there(self):
        keys = self.alice.home + '/.config/yett/authorized_keys'
        text = yett.read(keys)
        self.addCleanup(self.alice.write, '.config/yett/authorized_keys', text)
        self.alice.write('.config/yett/authorized_keys', '# none\n')
        for line in self.requests():
            self.assertIn('the key is not enrolled', self.ask(line))
        # the same of the administrator's folder
        public = self.service.keys + '/laptop.pub'
        shutil.copy(self.alice.home + '/.config/yett/id_ed25519.pub', public)
        other = self.keep()
        self.assertEqual(self.ask('create', other), 'ok')
        os.unlink(public)
        for line in self.requests():
            self.assertIn('the key is not enrolled', self.ask(line, other))
        self.assertEqual(self.ask('exec', other), 'ok')
        self.end(other)


class Left(yett.Case):
    """What a client leaves its connection to: the sandbox may not linger, whoever has a descriptor."""

    def test_a_command_that_has_its_clients_descriptors_does_not_keep_its_own_sandbox(self):
        client = self.service.popen(self.alice, hostile.program('keep'), stdin=-1, stdout=-1, stderr=-1)
        self.addCleanup(self.end, client)
        for line in ('create', 'hold'):
            client.stdin.write(line.encode() + b'\n')
            client.stdin.flush()
            self.assertEqual(self.line(client), 'ok')
        held = [pid for pid in self.service.leftover_processes() if yett.argv_of(pid) == ['sleep', '1000']]
        self.assertEqual(len(held), 1, held)
        client.kill()
        client.wait()
        self.service.wait_no_leftovers()


class Log(yett.Case):
    """What one user writes into the log of all."""

    def refused(self, user, count, is_all):
        """So many connections, each of which is refused something; the lines about it, when these are all."""
        before = len(self.service.log_text())
        script = 'for i in $(seq %d); do %s create -p nothing-such; done 2>&1 | grep -c nothing-such' % (count, self.service.yett)
        done = self.service.run(user, 'sh', '-c', script)
        self.assertEqual(done.out.strip(), str(count), done)

        def written():
            return [line for line in self.service.log_text()[before:].splitlines() if 'uid=%d' % user.uid in line]
        # The client is answered by another process than writes the log.
        yett.wait_until(lambda: is_all(written()), 'what is told of refusals')
        return written()

    def test_one_user_writes_so_many_lines_and_no_more(self):
        # Over a minute's end there may be twice as many.
        left_out = 'lines about refusals and the like in a minute; the rest of them is left out'
        written = self.refused(self.alice, 100, lambda lines: any(left_out in line for line in lines))
        self.assertLess(len(written), 2 * 22)
        # Nothing that is done hides behind it, and nothing of another user.
        before = len(self.service.log_text())
        self.output('true')
        yett.wait_until(lambda: re.search('uid=%d .* created' % self.alice.uid, self.service.log_text()[before:]), 'what is told of a sandbox')
        self.assertEqual(len(self.refused(self.bob, 3, lambda lines: len(lines) >= 3)), 3)


if __name__ == '__main__':
    yett.main()
