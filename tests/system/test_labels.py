# SPDX-License-Identifier: Apache-2.0
"""Labels: that they are in force where they can be, and that nothing starts without one that the policy requires."""
import json
import os
import unittest

import yett

PROFILES = '''
profile "required" {
  extends = "default"
  label = required
}
profile "missing" {
  extends = "required"
  apparmor_profile = "yett-test-there-is-none"
}
profile "missing-if-available" {
  extends = "missing"
  label = if_available
}
profile "complaining" {
  extends = "required"
  apparmor_profile = "yett-test-complaining"
}
profile "complaining-if-available" {
  extends = "complaining"
  label = if_available
}
profile "no-label" {
  extends = "default"
  apparmor_profile = ""
}
grant "labels" {
  users = {"*"}
  user_keys = true
  profiles = {"*"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''

def own_label():
    """Of this process; None where the kernel does not use AppArmor. Tests of SELinux: tests/guest/test_selinux.py."""
    try:
        return yett.read('/proc/self/attr/apparmor/current').strip('\n\0')
    except OSError:
        return None


class Labels(yett.Case):
    service_options = {'before': PROFILES}

    def label(self, profile):
        return yett.told(self.output('true', options=('-p', profile, '--json')))['sandbox']['label']

    def refused(self, profile, *texts):
        self.assert_refused(self.sandbox('true', options=('-p', profile)), 125, *texts)


class Plans(Labels):
    def test_the_plan_says_which_label_it_will_be(self):
        for profile, text in (('default', 'AppArmor profile yett-sandbox (if available)'),
                              ('strict', 'yett-sandbox-strict (if available)')):
            done = self.service.run(self.alice, self.service.yett, 'run', '--dry-run', '-p', profile, 'true')
            self.assertIn(text, done.out)

    def test_there_is_no_plan_with_a_label_that_cannot_be_had(self):
        self.assert_refused(self.sandbox('true', options=('--dry-run', '-p', 'missing')), 125, 'required')
        self.refused('missing', 'required')


@unittest.skipIf(own_label() is not None or os.path.exists('/sys/fs/selinux/enforce'),
                 'this kernel uses AppArmor or SELinux: required labels are there or not, and never impossible')
class WithoutAppArmor(Labels):
    def test_what_is_required_is_refused_with_that_reason(self):
        self.refused('required', "the AppArmor profile 'yett-sandbox' is required, and this host does not use AppArmor")

    def test_what_is_asked_if_available_is_done_without(self):
        self.assertIsNone(self.label('default'))


if __name__ == '__main__':
    yett.main()
