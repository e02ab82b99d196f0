# SPDX-License-Identifier: Apache-2.0
"""/mnt/memory, which is there for the next sandbox too, and /mnt/session/outputs, which is collected at the end."""
import os
import stat

import yett

POLICY = '''
profile "agent" {
  extends = "strict"
  memory_mount = true
  outputs_mount = true
}
profile "shut" {
  extends = "agent"
}
grant "agent" {
  users = {"*"}
  user_keys = true
  profiles = {"agent"}
  share_rw = {"*"}
}
grant "shut" {
  users = {"*"}
  user_keys = true
  profiles = {"shut"}
}
'''

AGENT = ['-p', 'agent']
OUTPUTS = '/mnt/session/outputs'


class Conventional(yett.Case):
    service_options = {'before': POLICY}

    def test_memory_is_there_for_the_next_sandbox_of_the_same_user(self):
        self.assertEqual(self.shell('cat /mnt/memory/* 2>/dev/null; echo noted >/mnt/memory/note', options=AGENT), '')
        self.assertEqual(self.output('cat', '/mnt/memory/note', options=AGENT), 'noted\n')
        self.assertEqual(self.shell('ls /mnt/memory', user=self.bob, options=AGENT), '')
        path = self.alice.home + '/.local/state/yett/memory'
        self.assertEqual((os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode)), (self.alice.uid, 0o700))
        self.assertEqual(os.stat(path + '/note').st_uid, self.alice.uid)

    def test_a_program_with_an_event_loop_gets_it_too(self):
        program = self.service.run_.path('libclient/examples/event_loop')
        done = self.service.run(self.bob, program, 'agent')
        self.assertEqual((done.code, done.err), (0, ''), done)
        self.assertTrue(os.path.isdir(self.bob.home + '/.local/state/yett/memory'))
        done = self.service.run(self.bob, program, 'shut')
        self.assertEqual(done.code, 1)
        self.assertIn('does not allow the writable share /mnt/memory', done.err)
        self.assertIn('asked ' + self.bob.home, done.err)

    def test_a_sandbox_whose_profile_wants_none_has_none(self):
        self.assertEqual(self.output('ls', '-A', '/mnt'), '')  # the place itself is there for what may be mounted later
        self.assertNotIn('/mnt', self.output('true', options=['--dry-run']))

    def test_memory_can_be_another_directory(self):
        directory = self.folder('remembered')
        for options in (AGENT, []):
            self.shell('echo x >>/mnt/memory/there', options=[*options, '--memory-dir', directory])
        self.assertEqual(yett.read(directory + '/there'), 'x\nx\n')
        self.assertEqual(self.sandbox('true', options=['--memory-dir', self.alice.home + '/made']).code, 0)
        self.addCleanup(os.rmdir, self.alice.home + '/made')
        self.assert_refused(self.sandbox('true', options=['--memory-dir', '/proc/1/none']), 125, 'cannot make the directory')

    def test_memory_is_a_share_that_the_grant_must_allow(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'shut']), 125, 'does not allow the writable share /mnt/memory')

    def test_such_a_profile_takes_no_other_mounts(self):
        directory = self.folder('other')
        for options in (['--rw', directory], ['--tmpfs', '/x'], ['--rw', directory, '--outputs', directory]):
            with self.subTest(options=options):
                self.assert_refused(self.sandbox('true', options=[*AGENT, *options]), 125, 'allows no shares and tmpfs')

    def test_outputs_are_collected_and_the_exit_status_stays(self):
        directory = self.alice.home + '/collected'
        for options, status in ((AGENT, 0), ([], 3)):
            done = self.sandbox('sh', '-c', 'cd %s && mkdir d && echo %d >d/result && exit %d' % (OUTPUTS, status, status),
                                options=[*options, '--outputs', directory])
            self.assertEqual(done.code, status, done)
            self.assertEqual(yett.read(directory + '/d/result'), '%d\n' % status)
            self.assertEqual(os.stat(directory + '/d/result').st_uid, self.alice.uid)

    def test_without_being_asked_for_they_go_with_the_sandbox(self):
        self.assertEqual(self.shell('echo x >%s/x; ls %s' % (OUTPUTS, OUTPUTS), options=AGENT), 'x\n')
        self.assertEqual(self.shell('ls ' + OUTPUTS, options=AGENT), '')

    def test_what_is_collected_harms_nothing_outside(self):
        directory, secret = self.folder('safe'), self.alice.write('victim', 'before')
        os.symlink(secret, directory + '/link')
        done = self.sandbox('sh', '-c', 'cd %s; ln -s / root; mkfifo fifo; echo after >link; echo fine >file' % OUTPUTS,
                            options=['--outputs', directory])
        self.assertIn('fifo', done.err)
        self.assertEqual(yett.read(secret), 'before')
        self.assertEqual(yett.read(directory + '/file'), 'fine\n')
        self.assertEqual(os.readlink(directory + '/root'), '/')
        self.assertFalse(os.path.exists(directory + '/fifo'))


class ConventionalRootless(Conventional):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
