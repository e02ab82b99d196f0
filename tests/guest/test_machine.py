# SPDX-License-Identifier: Apache-2.0
"""That the guest is what it was made for: otherwise the other tests would prove something else."""
import os
import subprocess
import unittest

import yett

LSM = os.environ['YETT_GUEST_LSM']


class Machine(unittest.TestCase):
    def test_it_is_debian_12_with_its_own_kernel_and_systemd(self):
        self.assertIn('VERSION_ID="12"', yett.read('/etc/os-release'))
        self.assertTrue(os.uname().release.startswith('6.1.'), os.uname().release)
        self.assertEqual(yett.read('/proc/1/comm').strip(), 'systemd')

    def test_all_controllers_are_on_cgroup_v2(self):
        mounts = [line.split() for line in yett.read('/proc/mounts').splitlines()]
        self.assertEqual([row[1] for row in mounts if row[2].startswith('cgroup')], ['/sys/fs/cgroup'])
        self.assertLessEqual({'memory', 'cpu', 'pids'}, set(yett.read('/sys/fs/cgroup/cgroup.controllers').split()))

    def test_the_lsm_asked_is_in_force(self):
        loaded = yett.read('/sys/kernel/security/lsm').split(',')
        self.assertIn(LSM, loaded)
        self.assertIn('landlock', loaded)
        if LSM == 'selinux':
            self.assertEqual(yett.read('/sys/fs/selinux/enforce'), '1')
        else:
            self.assertEqual(subprocess.run(['aa-enabled'], capture_output=True, text=True).stdout.strip(), 'Yes')

    def test_nothing_failed_to_start(self):
        failed = subprocess.run(['systemctl', '--failed', '--plain', '--no-legend'], capture_output=True, text=True)
        self.assertEqual((failed.returncode, failed.stdout), (0, ''))


if __name__ == '__main__':
    yett.main()
