# SPDX-License-Identifier: Apache-2.0
"""Core files of commands (--core): where the kernel writes them into the sandbox, and nowhere else."""
import glob
import os
import re
import resource
import shutil
import stat
import struct

import yett

POLICY = '''profile "dumps" {
  extends = "default"
  core = 1M
}
grant "cores" {
  users = {"*"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  profiles = {"default", "dumps"}
  linger_max = 1h
  max_core = 64M
}
'''

PATTERN = '/proc/sys/kernel/core_pattern'
MEND = 'sysctl kernel.core_pattern=core'
CRASH = ('sh', '-c', 'kill -SEGV $$')
CRASHED = 128 + 11


def at(pattern):
    return yett.machine_setting(PATTERN, pattern)


class Cores(yett.Case):
    service_options = {'before': POLICY}

    def crash(self, *options, argv=CRASH):
        """What lies where the command was when it crashed: (stat, first bytes) of each."""
        work = self.alice.mkdir('crash')
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        done = self.sandbox(*argv, options=('-q', '--rw', work + ':/work', '-C', '/work', *options))
        self.assertEqual(done.code, CRASHED, done)
        found = []
        for path in glob.glob(work + '/*'):
            with open(path, 'rb') as file:
                found.append((os.stat(path), file.read(64)))
        shutil.rmtree(work)
        return found

    def test_a_crash_leaves_one_where_it_was_asked_for_and_nowhere_else(self):
        with at('core'):
            (st, head), = self.crash('--core', '64M')
            self.assertEqual((head[:4], struct.unpack('<H', head[16:18])[0]), (b'\x7fELF', 4))  # ET_CORE
            self.assertGreater(st.st_size, 4096)
            self.assertEqual((st.st_uid, stat.S_IMODE(st.st_mode)), (self.alice.uid, 0o600))
            self.assertRegex(self.yett('doctor').out, "(?m)^ok +core files +written to the directory of a command .*'core'$")
            self.assertEqual(self.crash(), [])
            self.assertEqual(self.crash('--core', 'none', '-p', 'dumps'), [])
            self.assertEqual(len(self.crash('-p', 'dumps')), 1)

    def test_it_is_no_larger_than_was_asked_for(self):
        with at('core'):
            (st, _), = self.crash('--core', '8K', argv=('python3', '-c', 'import os; x = os.urandom(1 << 20); os.kill(os.getpid(), 11)'))
            self.assertLessEqual(st.st_size, 8192)

    def test_no_command_changes_that(self):
        script = ('import ctypes, os, resource\n'
                  'kind = resource.RLIMIT_CORE\n'
                  'resource.setrlimit(kind, (0, 0))\n'
                  'print(*resource.getrlimit(kind), ctypes.CDLL(None).prctl(3))\n')  # PR_GET_DUMPABLE
        with at('core'):
            self.assertEqual(self.output('python3', '-c', script, options=('-q', '--core', '8M')).split(), [str(8 << 20)] * 2 + ['1'])
            self.assertEqual(self.output('python3', '-c', script, options=('-q',)).split(), ['1'] * 3)

    def test_where_the_kernel_does_something_else_with_crashes_there_are_none(self):
        told = self.service.folder + '/crashes'
        program = self.service.folder + '/handler'
        yett.write(told, '', 0o666)
        yett.write(program, '#!/bin/sh\necho "$1" >>%s\n' % yett.path_on_host(told), 0o755)
        for pattern in ('|%s %%u' % yett.path_on_host(program), self.service.folder + '/core', 'cores/core', '%Z/tmp/core', '\n'):
            with self.subTest(pattern), at(pattern):
                shown = "kernel.core_pattern is '%s'" % pattern.strip()
                for options in ('--core', '1M'), ('-p', 'dumps'), ('--core', '1M', '--dry-run'):
                    self.assert_refused(self.sandbox(*CRASH, options=('-q', *options)), 125, shown, MEND)
                self.assertEqual(self.crash(), [])
                self.assertRegex(self.yett('doctor').out, '(?m)^ok +core files +none inside: ' + re.escape(shown))
                if pattern.startswith('|'):  # whatever the limit is, but for 1: this is what those inside are kept from
                    self.service.run(self.alice, *CRASH, preexec_fn=no_limit)
                    yett.wait_until(lambda: self.own_of(told), "the host's handler of the one outside")
        self.assertEqual(self.own_of(told), [self.alice.uid])

    def own_of(self, told):
        """The uids that the handler was given, but for those of other programs of this machine, which may crash meanwhile."""
        return [uid for uid in map(int, yett.read(told).split()) if self.is_own(uid)]

    def is_own(self, uid):
        return uid == self.alice.uid or self.service.owns_uid(uid)

    def test_no_socket_of_the_hosts_gets_them(self):
        with open(PATTERN, encoding='utf-8') as file:
            before = file.read().strip()
        with at(before):
            try:
                yett.write(PATTERN, '@/run/yett-test-none')
            except OSError:
                self.skipTest('no socket can be named in kernel.core_pattern here: that takes Linux 6.16, and its first mount namespace')
            if not yett.read(PATTERN).startswith('@'):
                self.skipTest('no socket can be named in kernel.core_pattern here: that takes Linux 6.16, and its first mount namespace')
            self.assert_refused(self.sandbox(*CRASH, options=('-q', '--core', '1M')), 125, 'socket', MEND)

    def test_a_sandbox_that_has_them_starts_nothing_once_that_has_changed(self):
        def exec_(*argv):
            return self.yett('exec', '-q', 'dumping', '--', *argv)
        work = self.folder('kept')
        yett.write(work + '/file', 'kept')
        with at('core'):
            done = self.sandbox('true', options=('-q', '--core', '1M', '--linger', '--name', 'dumping', '--ro', work + ':/work'))
            self.assertEqual(done.code, 0, done)
            self.addCleanup(self.yett, 'destroy', 'dumping')
            self.assertEqual(exec_('true').code, 0)
        with at('|/bin/true'):
            for _ in range(2):  # the child that waits for the next command, and one that is made for it
                self.assert_refused(exec_('true'), 125, "kernel.core_pattern is '|/bin/true'", 'as root', MEND)
            # What is in it can be had, by a program that leaves none.
            self.assertEqual(self.yett('cp', 'dumping:/work/file', work + '/copy').code, 0)
            self.assertEqual(yett.read(work + '/copy'), 'kept')
        with at('core'):
            self.assertEqual(exec_('true').code, 0)

    def test_programs_that_may_not_be_read_leave_none(self):
        """With fs.suid_dumpable = 2, as systemd-coredump and apport set it, the kernel writes their core files as root, to a path of the host's."""
        work = self.folder('unreadable')
        outside = self.service.folder + '/roots'
        os.mkdir(outside, 0o700)
        program = work + '/program'
        done = self.service.run(self.alice, 'sh', '-c', 'cp /bin/sh %s && chmod 0111 %s' % (program, program))
        self.assertEqual(done.code, 0, done)
        crash = ('/work/program', '-c', 'kill -SEGV $$')
        share = ('-q', '--rw', work + ':/work', '-C', '/work', '--core', '1M')
        with yett.machine_setting('/proc/sys/fs/suid_dumpable', '2'):
            with at(yett.path_on_host(outside) + '/core.%u'):
                self.service.run(self.alice, program, *crash[1:], preexec_fn=no_limit)
                self.assertEqual([os.stat(path).st_uid for path in self.own_cores(outside)], [0], 'this shows nothing')
                self.assert_refused(self.sandbox(*crash, options=share), 125, 'as root', MEND)
            with at('core'):
                self.assertEqual(self.sandbox(*crash, options=share).code, CRASHED)
        self.assertEqual(os.listdir(work), ['program'])
        self.assertEqual(len(self.own_cores(outside)), 1)

    def own_cores(self, folder):
        """Files named core.UID, as the pattern says, of alice's and of sandboxes. The kernel may add the process."""
        found = [(path, int(path.split('core.')[-1].split('.')[0])) for path in glob.glob(folder + '/core.*')]
        return [path for path, uid in found if self.is_own(uid)]

    def test_it_is_told(self):
        with at('core'):
            for options, limit in (('--core', '8M'), 8 << 20), ((), 1), (('-p', 'dumps'), 1 << 20):
                told = yett.told(self.sandbox('true', options=('-q', '--json', *options)).out)
                self.assertEqual(told['sandbox']['limits']['core_bytes'], limit)
            plan = self.sandbox('true', options=('-q', '--dry-run', '--core', '8M')).out
            self.assertIn(', core files 8M', plan)

    def test_more_than_allowed_is_refused(self):
        with at('core'):
            self.assert_refused(self.sandbox('true', options=('-q', '--core', '65M')), 125, 'core of 65M is more than the 64M allowed', 'max_core')
        self.assert_refused(self.sandbox('true', options=('-q', '--core', '4095')), 125, '--core 4095', '4K')


def no_limit():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class WithoutRoot(Cores):
    service_class = yett.Rootless

    def is_own(self, uid):
        return uid == self.alice.uid


class ByPolicy(yett.Case):
    """What the shipped policy says."""

    service_options = {'spares': 1}

    def test_none_are_given_unless_the_administrator_says_so(self):
        done = self.sandbox('true', options=('-q', '--core', '8M'))
        self.assert_refused(done, 125, "the grant 'everyone' allows no core files", 'asked 8M, allowed none by max_core of grant',
                            "max_core = 8M in grant 'everyone'")

    def limits_of_ready_inits(self):
        self.assertEqual(self.sandbox('true', options=('-q',)).code, 0)
        yett.wait_until(lambda: self.ready_inits(), 'an init that waits')
        return {re.search(r'Max core file size +(\S+ +\S+)', yett.read('/proc/%s/limits' % pid)).group(1).split()[1] for pid in self.ready_inits()}

    def ready_inits(self):
        return [pid for pid in self.service.leftover_processes() if yett.argv_of(pid)[:1] == ['yett-init']]

    def test_an_init_that_builds_cannot_raise_its_limit_where_nobody_is_given_any(self):
        self.assertEqual(self.limits_of_ready_inits(), {'1'})
        self.change_policy(POLICY)
        self.assertNotIn('1', self.limits_of_ready_inits(), 'this shows nothing')


if __name__ == '__main__':
    yett.main()
