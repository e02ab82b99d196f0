# SPDX-License-Identifier: Apache-2.0
"""What the packages install, and that it works at once for an ordinary user."""
import os
import stat
import subprocess

import installed
import yett


class Installed(installed.Case):
    def test_a_first_run_works_with_no_further_step(self):
        done = self.sandbox(self.ann, 'id')
        self.assertEqual(done.code, 0, '%r\n%s' % (done, installed.journal()))
        self.assertIn('uid=%d(ann) gid=%d(ann)' % (self.ann.uid, self.ann.gid), done.out)
        self.assertIn('made the key /home/ann/.config/yett/id_ed25519', done.err)
        status = installed.tool('systemctl', '--no-pager', 'status', 'yett')
        self.assertIn('active (running)', status.out)
        self.assertNotRegex(status.out.lower(), 'warning|error|failed')

    def test_only_the_socket_is_enabled_and_it_is_listening(self):
        self.assertEqual(installed.tool('systemctl', 'is-enabled', 'yett.socket').out.strip(), 'enabled')
        self.assertEqual(installed.show('yett.socket', 'ActiveState'), 'active')
        self.assertEqual(installed.show('yett.service', 'UnitFileState'), 'static')
        mode = os.stat('/run/yett/socket').st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o666)

    def test_the_first_connection_starts_the_helper(self):
        installed.tool('systemctl', 'stop', 'yett.service')
        self.assertEqual(installed.show('yett.service', 'ActiveState'), 'inactive')
        self.output(self.ben, 'true')
        self.assertEqual(installed.show('yett.service', 'ActiveState'), 'active')
        self.assertEqual(os.readlink('/proc/%s/exe' % installed.show('yett.service', 'MainPID')), '/usr/libexec/yett/yett-helper')

    def test_what_is_roots_nobody_else_may_write(self):
        for path in ('/etc/yett', '/etc/yett/yett.conf', '/etc/yett/conf.d', '/etc/yett/keys.d', '/run/yett', '/usr/libexec/yett/yett-helper'):
            with self.subTest(path=path):
                info = os.stat(path)
                self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o022), (0, 0, 0))

    def test_the_units_are_understood_by_systemd(self):
        done = installed.tool('systemd-analyze', '--man=no', 'verify', 'yett.socket', 'yett.service', 'yett@.service', check=False)
        self.assertEqual((done.code, done.err), (0, ''))

    def test_the_policy_is_a_conffile(self):
        self.assertIn('/etc/yett/yett.conf', installed.tool('dpkg-query', '-W', '-f', '${Conffiles}', 'yett').out)

    def test_a_program_of_libyett_compiles_and_runs(self):
        path = self.ann.home + '/run_command'
        installed.tool('gcc', '-o', path, '/usr/share/doc/libyett-dev/examples/run_command.c', '-lyett')
        self.assertEqual(self.run_as(self.ann, path, 'uname', '-n').out, 'sandbox\n')

    def test_a_program_of_libyett_workspace_compiles_and_is_loaded(self):
        path = self.ann.home + '/try_changes'
        installed.tool('gcc', '-o', path, '/usr/share/doc/libyett-dev/examples/try_changes.c', '-lyett-workspace', '-lyett')
        self.assertEqual(self.run_as(self.ann, path).code, 2)

    def test_the_command_and_a_program_keep_checkpoints(self):
        path = self.ann.home + '/go_back'
        installed.tool('gcc', '-o', path, '/usr/share/doc/libyett-dev/examples/go_back.c', '-lyett-checkpoint')
        self.assertEqual(self.run_as(self.ann, path).out, 'went back by 2 checkpoints, to: a plan\n')
        put = self.run_as(self.ann, 'yett', 'checkpoint', 'put', 'work', '/etc/debian_version').out.strip()
        self.assertEqual(self.run_as(self.ann, 'yett', 'checkpoint', 'get', put).out, yett.read('/etc/debian_version'))

    def test_doctor_tells_what_this_machine_is(self):
        done = self.run_as(self.ann, 'yett', 'doctor')
        self.assertEqual(done.code, 0, done)
        for text in ('memory on v2, cpu on v2, pids on v2', {'apparmor': 'AppArmor', 'selinux': 'SELinux, enforcing'}[installed.LSM],
                     os.uname().release, 'ext4 can be id-mapped'):
            self.assertIn(text, done.out)

    def test_an_administrator_enrolls_a_key_under_a_name(self):
        self.policy('grant "laptop" {\n  keys = {"laptop"}\n  profiles = {"strict"}\n}\n')
        self.assertEqual(self.run_as(self.ben, 'yett', 'keygen', '/home/ben/key').code, 0)
        installed.tool('yett', 'enroll', 'laptop', '/home/ben/key.pub')
        self.addCleanup(os.unlink, '/etc/yett/keys.d/laptop.pub')
        self.assertTrue(os.path.exists('/etc/yett/keys.d/laptop.pub'))


class PerConnection(installed.Case):
    """yett@.service, by the drop-in that its header names."""

    FOLDER = '/run/systemd/system/yett.socket.d'

    def switch(self):
        installed.tool('systemctl', 'stop', 'yett.socket', 'yett.service')
        installed.tool('systemctl', 'daemon-reload')
        installed.tool('systemctl', 'start', 'yett.socket')

    def back(self):
        os.unlink(self.FOLDER + '/accept.conf')
        os.rmdir(self.FOLDER)
        self.switch()

    def test_a_helper_for_each_connection(self):
        os.makedirs(self.FOLDER, exist_ok=True)
        yett.write(self.FOLDER + '/accept.conf', '[Socket]\nAccept=yes\n')
        self.addCleanup(self.back)
        self.switch()
        first, second = self.hold(self.ann), self.hold(self.ben)
        units = installed.tool('systemctl', '--plain', '--no-legend', 'list-units', 'yett@*.service').out.splitlines()
        self.assertEqual(len(units), 2, units)
        self.assertEqual(installed.show('yett.service', 'ActiveState'), 'inactive')
        for process in (first, second):
            out, _ = process.communicate(b'on\n', timeout=yett.DEADLINE)
            self.assertEqual((process.returncode, out), (0, b'on\n'))
        yett.wait_until(lambda: not subprocess.run(['systemctl', '--plain', '--no-legend', 'list-units', 'yett@*.service'],
                                                   capture_output=True).stdout, 'the end of the helpers')


if __name__ == '__main__':
    yett.main()
