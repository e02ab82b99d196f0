# SPDX-License-Identifier: Apache-2.0
"""The installed service while sandboxes run: stopped, started, upgraded; and the kernel's limits as systemd's cgroups have them."""
import contextlib
import glob
import os
import signal

import installed
import yett

HOG = 'x = bytearray(1 << 30)'
BOMB = 'import os, time\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\nexcept OSError as e: print(e.errno)'


class Living(installed.Case):
    """Sandboxes and their clients outlive the listener: the same ones, whatever happens to it, until something ends them."""

    COUNT = 20
    ECHO = ['sh', '-c', 'echo up; while read x; do echo $x; done']
    held = []

    def setUp(self):
        if not self.held:
            self.held.extend(self.hold((self.ann, self.ben)[i % 2], *self.ECHO, cleanup=self.addClassCleanup) for i in range(self.COUNT))

    @classmethod
    def tearDownClass(cls):
        for process in cls.held:
            out, err = process.communicate(timeout=yett.DEADLINE)
            if (process.returncode, out) != (0, b''):
                raise AssertionError('%d: %r %s' % (process.returncode, out, err.decode()))
        cls.wait_all_gone()

    def goes_on(self):
        """Each does, and nothing else does."""
        for process in self.held:
            if process.poll() is not None:
                self.fail('%d: %s' % (process.returncode, process.stderr.read().decode()))
            process.stdin.write(b'still here\n')
            process.stdin.flush()
            self.assertEqual(yett.line_of(process.stdout), 'still here')
        yett.wait_until(lambda: len(installed.busy_groups()) == self.COUNT, 'the end of all other sandboxes')

    def test_a_restart_of_the_service_ends_no_sandbox(self):
        before = installed.show('yett.service', 'MainPID')
        installed.tool('systemctl', 'restart', 'yett.service')
        self.output(self.ann, 'true')
        self.assertNotEqual(installed.show('yett.service', 'MainPID'), before)
        self.goes_on()

    def test_an_upgrade_ends_no_sandbox_and_brings_the_new_helper(self):
        before = installed.show('yett.service', 'MainPID')
        installed.install()
        self.output(self.ann, 'true')
        self.assertNotIn(installed.show('yett.service', 'MainPID'), ('0', before))
        self.goes_on()

    def test_killing_all_of_the_service_ends_no_sandbox(self):
        before = installed.show('yett.service', 'MainPID')
        installed.tool('systemctl', 'kill', '--signal', 'KILL', 'yett.service')
        yett.wait_until(lambda: installed.show('yett.service', 'MainPID') != before, 'the end of the listener')
        self.output(self.ann, 'true')
        self.goes_on()
        installed.tool('systemctl', 'reset-failed', 'yett.service')

    def test_a_listener_that_hangs_is_replaced_by_the_watchdog(self):
        self.drop_in('yett.service', '[Service]\nWatchdogSec=2s\n')
        installed.tool('systemctl', 'restart', 'yett.service')
        before = installed.show('yett.service', 'MainPID')
        os.kill(int(before), signal.SIGSTOP)
        yett.wait_until(lambda: installed.show('yett.service', 'MainPID') not in ('0', before), 'another listener')
        self.output(self.ann, 'true')
        self.goes_on()

    def test_a_restart_of_the_socket_ends_no_sandbox(self):
        installed.tool('systemctl', 'restart', 'yett.socket')
        self.output(self.ann, 'true')
        self.goes_on()

    def test_time_may_jump(self):
        installed.tool('date', '--set', '+2 days')
        self.addCleanup(installed.tool, 'date', '--set', '-2 days')
        self.output(self.ann, 'true')
        self.assertEqual(self.sandbox(self.ann, 'sleep', '1000', options=['--timeout', '500ms']).code, 124)
        self.goes_on()

    def test_what_runs_out_of_memory_ends_alone(self):
        self.assertEqual(self.sandbox(self.ann, 'python3', '-c', HOG, options=['--memory', '64M']).code, 137)
        self.assertEqual(installed.show('yett-sandboxes.service', 'ActiveState'), 'active')
        self.goes_on()

    def test_a_full_disk_and_a_read_only_root_end_no_sandbox(self):
        """Where the helper keeps its reservations, and where the host's files are."""
        filler = os.open('/run/yett/filler', os.O_CREAT | os.O_WRONLY)
        self.addCleanup(os.unlink, '/run/yett/filler')
        with contextlib.suppress(OSError):
            while True:
                os.write(filler, b'x' * 65536)
        os.close(filler)
        done = self.sandbox(self.ann, 'true')
        self.assertIn(done.code, (0, 125), done)
        if done.code == 125:
            self.assertIn('No space left on device', done.err)
        os.truncate('/run/yett/filler', 0)
        self.output(self.ann, 'true')
        for path in ('/etc', '/usr', '/home', '/var/lib', '/root'):
            installed.tool('mount', '--bind', path, path)
            self.addCleanup(installed.tool, 'umount', '--lazy', path)
            installed.tool('mount', '-o', 'remount,bind,ro', path)
        self.output(self.ann, 'true')
        self.goes_on()

    def test_stopping_the_sandboxes_ends_each_and_the_next_call_starts_again(self):
        installed.tool('systemctl', 'stop', 'yett-sandboxes.service')
        for process in self.held:
            # Its command may end by the signal that systemd sends to all, and be told of, before the sandbox goes.
            self.assertIn(process.wait(yett.DEADLINE), (125, 143))
        self.held.clear()
        self.assertEqual(installed.show('yett.service', 'ActiveState'), 'inactive')
        self.wait_all_gone()
        self.output(self.ann, 'true')

    def test_stopping_socket_and_service_ends_no_sandbox_and_starting_serves_again(self):
        installed.tool('systemctl', 'stop', 'yett.socket', 'yett.service')
        self.addCleanup(installed.tool, 'systemctl', 'start', 'yett.socket')
        self.assertNotEqual(self.sandbox(self.ann, 'true').err, '')  # what goes without it, or that nothing does
        installed.tool('systemctl', 'start', 'yett.socket')
        self.output(self.ann, 'true')
        self.goes_on()

    def test_killing_every_process_at_once_leaves_nothing_after_the_next_start(self):
        # Groups go while systemctl walks through them, which it takes for an error.
        installed.tool('systemctl', 'kill', '--signal', 'KILL', 'yett-sandboxes.service', 'yett.service', check=False)
        for process in self.held:
            self.assertNotEqual(process.wait(yett.DEADLINE), 0)
        self.held.clear()
        yett.wait_until(lambda: not installed.sandboxed(), 'the end of all sandboxes')
        installed.tool('systemctl', 'reset-failed', 'yett.service', 'yett-sandboxes.service')
        self.output(self.ann, 'true')
        self.wait_all_gone()
        # what follows the last group: its end is written down, and then the users' places are given up
        yett.wait_until(lambda: not os.listdir('/run/yett/users'), 'the end of the places that were taken')


class Idle(installed.Case):
    def test_it_ends_when_nobody_is_connected_and_the_next_call_starts_it(self):
        self.drop_in('yett.service', '[Service]\nExecStart=\nExecStart=/usr/libexec/yett/yett-helper --idle-exit=1\n')
        installed.tool('systemctl', 'restart', 'yett.service')
        process = self.hold(self.ann)
        first = installed.show('yett.service', 'MainPID')
        process.communicate(b'\n', timeout=yett.DEADLINE)
        yett.wait_until(lambda: installed.show('yett.service', 'ActiveState') == 'inactive', 'the end of the listener')
        self.assertEqual(installed.show('yett.service', 'Result'), 'success')
        self.output(self.ann, 'true')
        self.assertNotEqual(installed.show('yett.service', 'ExecMainPID'), first)


class Reload(installed.Case):
    def write(self, text):
        yett.write('/etc/yett/conf.d/test.conf', text)

    def test_one_of_a_policy_with_a_mistake_fails_where_it_was_asked_for_and_changes_nothing(self):
        self.output(self.ann, 'true')
        listener = installed.show('yett.service', 'MainPID')
        self.addCleanup(self.reload)
        self.addCleanup(os.unlink, '/etc/yett/conf.d/test.conf')
        self.write('grant "wrong" {\n  usres = {"*"}\n}\n')
        done = installed.tool('systemctl', 'reload', 'yett.service', check=False)
        self.assertNotEqual(done.code, 0, done)
        self.assertIn('yett.service', done.err)
        yett.wait_until(lambda: '/etc/yett/conf.d/test.conf:2: ' in installed.journal(), 'the mistake, in the journal')
        self.assertEqual((installed.show('yett.service', 'ActiveState'), installed.show('yett.service', 'MainPID')), ('active', listener))
        self.assertEqual(self.output(self.ann, 'echo', 'served'), 'served\n')
        # mended, it counts from then on
        self.write('profile "mended" {\n  extends = "default"\n}\n'
                   'grant "mended" {\n  users = {"ann"}\n  user_keys = true\n  profiles = {"*"}\n  share_ro = {"*"}\n  share_rw = {"*"}\n}\n')
        installed.tool('systemctl', 'reload', 'yett.service')
        self.assertEqual(self.output(self.ann, 'echo', 'served', options=['-p', 'mended']), 'served\n')
        self.assertEqual(installed.show('yett.service', 'MainPID'), listener)


class Confinement(installed.Case):
    def test_the_exposure_is_at_most_what_was_promised(self):
        rated = installed.tool('systemd-analyze', 'security', '--no-pager', 'yett.service').out.splitlines()[-1]
        self.assertLessEqual(float(rated.split(':')[1].split()[0]), 5.0, rated)

    def test_the_listener_has_nothing_effective_and_the_unit_no_more_than_building_takes(self):
        process = self.hold(self.ann)
        listener = int(installed.show('yett.service', 'MainPID'))
        self.assertEqual(yett.status_of(listener)['CapEff'], '0' * 16)
        own, bounding = (yett.capability_names(yett.status_of(listener)[name]) for name in ('CapPrm', 'CapBnd'))
        self.assertEqual(bounding - own, {9})  # CAP_LINUX_IMMUTABLE, for yett-audit
        process.communicate(b'\n')

    def test_the_listener_alone_is_in_the_services_group_and_namespaces(self):
        process = self.hold(self.ann)
        listener = installed.show('yett.service', 'MainPID')
        group = '/sys/fs/cgroup/system.slice/yett.service/cgroup.procs'
        self.assertEqual([yett.argv_of(int(pid))[0] for pid in yett.read(group).split() if pid != listener], ['yett-audit'])
        self.assertNotEqual(os.readlink('/proc/%s/ns/mnt' % listener), os.readlink('/proc/1/ns/mnt'))
        monitors = [pid for pid in map(int, yett.read(installed.CGROUP + '/helpers/cgroup.procs').split())
                    if yett.argv_of(pid)[:1] == ['/usr/libexec/yett/yett-helper']]
        self.assertTrue(monitors)
        for pid in monitors:
            for name in ('mnt', 'net'):
                self.assertEqual(os.readlink('/proc/%d/ns/%s' % (pid, name)), os.readlink('/proc/1/ns/' + name))
        process.communicate(b'\n')

    def test_a_shared_directory_of_a_user_is_seen_though_the_listener_cannot_see_it(self):
        os.makedirs('/home/ann/work', exist_ok=True)
        os.chown('/home/ann/work', self.ann.uid, self.ann.uid)
        self.output(self.ann, 'sh', '-c', 'echo written >/home/ann/work/file', options=['--rw', '/home/ann/work'])
        self.assertEqual(yett.read('/home/ann/work/file'), 'written\n')
        self.assertEqual(os.stat('/home/ann/work/file').st_uid, self.ann.uid)


class Audit(installed.Case):
    """As the package sets it: who was given what is written down, where nobody but root reads it."""

    @staticmethod
    def records(*argv):
        return yett.told(installed.tool('yett', 'audit', 'show', '--json', *argv).out)['records']

    def test_a_sandbox_and_its_end_are_written_down_and_sealed(self):
        key = installed.tool('yett', 'audit', 'keygen').out
        installed.tool('systemctl', 'restart', 'yett.service')
        process = self.hold(self.ann)
        created = [one for one in self.records('--event', 'create') if one['user']['pid'] == process.pid]
        self.assertEqual([(one['user']['uid'], one['user']['program'], one['profile']['name']) for one in created], [(self.ann.uid, '/usr/bin/yett', 'default')])
        process.communicate(b'\n')
        box = created[0]['sandbox']
        yett.wait_until(lambda: [one for one in self.records('--event', 'ended') if one['sandbox'] == box], 'the record of the end')
        yett.write('/root/audit.key', key, 0o600)
        self.addCleanup(os.unlink, '/root/audit.key')
        done = installed.tool('yett', 'audit', 'verify', '--key', '/root/audit.key')
        self.assertRegex(done.out, '^whole: ')

    def test_what_writes_it_down_has_nothing_else(self):
        self.output(self.ann, 'true')
        pid, = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-audit'] and yett.is_alive(pid)]
        status = yett.status_of(pid)
        self.assertIn(int(status['Uid'].split()[0]), installed.IDS)
        self.assertEqual((status['CapPrm'], status['CapBnd'], status['NoNewPrivs'], status['Seccomp']), ('0' * 16, '0' * 16, '1', '2'))
        if installed.LSM == 'selinux':
            self.assertEqual(yett.read('/proc/%d/attr/current' % pid).strip(' \n\0'), 'system_u:system_r:yett_audit_t:s0')
        self.assertEqual(os.stat('/var/log/yett').st_mode & 0o7777, 0o700)

    def test_what_happens_in_a_sandbox_is_recorded_where_the_policy_says_so(self):
        self.policy('helper {\n  record = {"commands", "denials"}\n}\n')
        script = 'import ctypes; print(ctypes.CDLL(None).mount(0, 0, 0, 0, 0))'
        self.assertEqual(self.output(self.ann, 'python3', '-c', script), '-1\n')
        box = self.records('--event', 'create')[-1]['sandbox']
        yett.wait_until(lambda: len(self.records('--sandbox', box, '--commands')) == 2, 'the records of the command')
        started, ended = self.records('--sandbox', box, '--commands')
        self.assertEqual((started['argv'], started['happened'], ended['happened'], ended['result']['status']),
                         (['python3', '-c', script], 'started', 'exited', 0))
        yett.wait_until(lambda: self.records('--sandbox', box, '--denied'), 'the record of the denial')

    def test_stopping_the_service_loses_nothing(self):
        before = {one['sandbox'] for one in self.records('--event', 'create')}
        for _ in range(3):
            self.output(self.ann, 'true')
        installed.tool('systemctl', 'stop', 'yett.service')
        yett.wait_until(lambda: not [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-audit'] and yett.is_alive(pid)], 'the end of yett-audit')
        made, ended = ({one['sandbox'] for one in self.records('--event', event)} for event in ('create', 'ended'))
        self.assertEqual(len(made - before), 3)
        self.assertEqual(made - before - ended, set())


CAPABLE = '''
profile "capable" {
  extends = "default"
  capabilities = {"chown"}
}
grant "capable" {
  users = {"*"}
  user_keys = true
  profiles = {"capable"}
  capabilities = {"chown"}
}
'''


class UserNamespaces(installed.Case):
    """Hardened hosts deny them to ordinary users: by this setting on Debian, by AppArmor on Ubuntu. Yett asks as root."""

    SETTING = '/proc/sys/kernel/unprivileged_userns_clone'

    def set(self, value):
        with open(self.SETTING, 'w', encoding='ascii') as file:
            file.write(value)

    def test_it_works_where_users_may_make_none(self):
        self.assertEqual(self.run_as(self.ann, 'unshare', '--user', 'true').code, 0)
        self.addCleanup(self.set, yett.read(self.SETTING))
        self.set('0')
        self.assertNotEqual(self.run_as(self.ann, 'unshare', '--user', 'true').code, 0)
        self.policy(CAPABLE)  # and so nothing that was ready before is used
        self.assertEqual(self.output(self.ann, 'sh', '-c', 'unshare --user true 2>&1; cat /proc/sys/user/max_user_namespaces').splitlines()[-1], '0')
        done = self.sandbox(self.ann, 'true', options=('-p', 'capable'))
        self.assertEqual(done.code, 125, done)
        self.assertIn('commands cannot keep capabilities on this host', done.err)
        self.set('1')
        self.reload()
        self.output(self.ann, 'true', options=('-p', 'capable'))


class Limits(installed.Case):
    """Each is the kernel's, on cgroup v2."""

    def group_of(self, user):
        groups = installed.busy_groups(user.uid)
        self.assertEqual(len(groups), 1, groups)
        return groups[0]

    def test_what_was_asked_is_what_the_kernel_was_told(self):
        process = self.hold(self.ann, options=['--memory', '100M', '--cpus', '1.5', '--pids', '77'])
        group = self.group_of(self.ann)
        told = {name: yett.read('%s/%s' % (group, name)).strip() for name in ('memory.max', 'memory.swap.max', 'cpu.max', 'cpu.weight', 'pids.max')}
        self.assertEqual(told, {'memory.max': str(100 << 20), 'memory.swap.max': '0', 'cpu.max': '150000 100000',
                                'cpu.weight': '100', 'pids.max': '78'})
        process.communicate(b'\n')

    def test_each_command_has_a_group_with_controllers_of_its_own(self):
        process = self.hold(self.ann)
        group = self.group_of(self.ann)
        self.assertEqual(set(yett.read(group + '/cgroup.subtree_control').split()), {'memory', 'cpu', 'pids', 'io'})
        self.assertTrue(os.path.exists(glob.glob(group + '/c*[0-9]')[0] + '/memory.max'))
        self.assertEqual(yett.read(group + '/cgroup.procs'), '')
        process.communicate(b'\n')

    def test_a_memory_hog_is_ended_and_told_and_the_service_is_not(self):
        before = installed.show('yett.service', 'MainPID')
        done = self.sandbox(self.ann, 'python3', '-c', HOG, options=['--memory', '64M'])
        self.assertEqual(done.code, 137, done)
        self.assertIn('memory limit reached (64 MiB)', done.err)
        self.output(self.ann, 'true')
        self.assertEqual(installed.show('yett.service', 'MainPID'), before)

    def test_a_fork_bomb_is_stopped_and_told(self):
        done = self.sandbox(self.ann, 'python3', '-c', BOMB, options=['--pids', '40'])
        self.assertEqual(done.out.strip(), '11', done)
        self.assertIn('process limit reached', done.err)

    def test_a_used_group_has_the_limits_of_the_next_sandbox_only(self):
        for memory in ('64M', '200M', '100M'):
            process = self.hold(self.ann, options=['--memory', memory])
            self.assertEqual(yett.read(self.group_of(self.ann) + '/memory.max').strip(), str(int(memory[:-1]) << 20))
            process.communicate(b'\n')
            self.wait_all_gone()

    def setUp(self):
        self.output(self.ann, 'true')
        self.wait_all_gone()


if __name__ == '__main__':
    yett.main()
