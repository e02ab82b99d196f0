# SPDX-License-Identifier: Apache-2.0
"""The installed helper made set-user-id as docs/admin.md says, on a host with systemd, cgroup v2 and the LSM of this run."""
import grp
import os
import stat

import installed
import yett

HELPER = '/usr/libexec/yett/yett-helper'


class Setuid(installed.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        installed.tool('groupadd', '--system', 'yett')
        cls.addClassCleanup(installed.tool, 'groupdel', 'yett')
        cls.ann.groups = [grp.getgrnam('yett').gr_gid]
        installed.tool('dpkg-statoverride', '--update', '--add', 'root', 'yett', '4750', HELPER)
        cls.addClassCleanup(cls.undo)
        installed.tool('systemctl', 'stop', 'yett.socket', 'yett.service')
        installed.tool('systemctl', 'start', 'yett-sandboxes.service')

    @staticmethod
    def undo():
        installed.tool('dpkg-statoverride', '--remove', HELPER)
        os.chown(HELPER, 0, 0)
        os.chmod(HELPER, 0o755)
        installed.tool('systemctl', 'start', 'yett.socket')

    def test_a_member_of_the_group_is_served_and_others_go_without_root(self):
        done = self.sandbox(self.ann, 'id', '-u')
        self.assertEqual((done.code, done.out), (0, '%d\n' % self.ann.uid), done)
        self.assertNotIn('without root', done.err)
        done = self.sandbox(self.ben, 'id', '-u')
        self.assertEqual((done.code, done.out), (0, '%d\n' % self.ben.uid), done)
        self.assertIn('yett: running without root: %s is for the group yett, and you are not in it' % HELPER, done.err)
        self.wait_all_gone()

    def test_the_doctor_tells_which_way_it_is(self):
        self.output(self.ann, 'true')
        done = self.run_as(self.ann, 'yett', 'doctor')
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'(?m)^ok +start +set-user-id: %s, root:yett, mode 4750$' % HELPER)

    def test_all_of_it_lives_in_the_unit_of_sandboxes(self):
        held = self.hold(self.ann)
        monitor, = yett.children_of(held.pid)
        self.assertIn(':' + installed.CGROUP.removeprefix('/sys/fs/cgroup') + '/helpers\n', yett.read('/proc/%d/cgroup' % monitor))
        self.assertEqual(yett.status_of(monitor)['Uid'].split(), ['0'] * 4)
        if installed.LSM == 'apparmor':
            self.assertEqual(yett.read('/proc/%d/attr/apparmor/current' % monitor), 'yett-helper (enforce)\n')
        else:
            self.assertIn(':yett_helper_t:', yett.read('/proc/%d/attr/current' % monitor))
        self.assertEqual(held.communicate(b'on\n', timeout=yett.DEADLINE)[0], b'on\n')
        self.wait_all_gone()

    def test_what_it_does_is_in_the_journal(self):
        self.output(self.ann, 'true')
        pattern = 'uid=%d pid=' % self.ann.uid
        yett.wait_until(lambda: pattern in installed.tool('journalctl', '--no-pager', '-t', 'yett-helper', '--since', '-5min').out, 'the line')

    def test_an_upgrade_keeps_the_mode(self):
        installed.tool('dpkg', '--install', *installed.debs(['yett', 'libyett1']))
        found = os.stat(HELPER)
        self.assertEqual((stat.S_IMODE(found.st_mode), grp.getgrgid(found.st_gid).gr_name), (0o4750, 'yett'))
        installed.tool('systemctl', 'stop', 'yett.socket', 'yett.service')
        self.output(self.ann, 'true')

    def test_where_the_service_answers_it_is_the_service(self):
        installed.tool('systemctl', 'start', 'yett.socket')
        self.addCleanup(installed.tool, 'systemctl', 'stop', 'yett.socket', 'yett.service')
        self.output(self.ann, 'true')
        self.assertIn('the service answers', self.run_as(self.ann, 'yett', 'doctor').out)


if __name__ == '__main__':
    yett.main()
