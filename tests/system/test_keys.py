# SPDX-License-Identifier: Apache-2.0
"""Keys of the administrator's folder: what is said of one is true of the files as they are, whether yett-policy could read them or not."""
import base64
import hashlib
import os

import yett

MANY = 1000
PROFILE = '''
profile "default" {
  system = {"/usr", "/bin", "/lib", "/lib64", "/sbin"}
  etc = {"*"}
}
grant "enrolled" {
  users = {"*"}
  keys = {"*"}
  profiles = {"default"}
}
'''
LEFT_OUT = 'key open.pub ignored'  # who reads all files says so


def line(number):
    return 'ed25519 %s\n' % base64.b64encode(hashlib.sha256(b'%d' % number).digest()).decode()


class Keys(yett.Case):
    service_options = {'shipped': False, 'before': PROFILE}

    @classmethod
    def set_up_user(cls, user):
        done = cls.service.run(user, cls.service.yett, 'keygen')
        if done.code != 0:
            raise RuntimeError('no key: %r' % done)

    def setUp(self):
        os.chmod(self.service.keys, 0o755)
        for name in os.listdir(self.service.keys):
            os.unlink(self.path(name))
        self.own = yett.read(self.alice.home + '/.config/yett/id_ed25519.pub')
        for number in range(20):
            yett.write(self.path('key-%d' % number), line(number))
        yett.write(self.path('open'), line(2 * MANY), 0o666)
        self.written = len(self.service.log_text())

    def path(self, name):
        return '%s/%s' % (self.service.keys, name if name.endswith('.pub') else name + '.pub')

    def enroll(self, *argv):
        done = self.service.run(yett.Root(self.service.folder), self.service.yett, 'enroll', '--keys-dir', self.service.keys, *argv)
        self.assertEqual(done.code, 0, done)

    def enroll_alice(self, name):
        self.enroll(name, self.alice.home + '/.config/yett/id_ed25519.pub')

    def assert_known(self):
        done = self.yett('ps')
        self.assertEqual(done.code, 0, done)

    def assert_unknown(self):
        self.assert_refused(self.yett('ps'), 1, 'no grant that counts for uid')

    def has_read_all(self):
        """Since it was asked last."""
        before, self.written = self.written, len(self.service.log_text())
        return LEFT_OUT in self.service.log_text()[before:]

    def test_one_of_a_thousand_is_found_and_no_file_of_another_read(self):
        for number in range(MANY):
            yett.write(self.path('key-%d' % number), line(number))
        self.enroll_alice('laptop')
        self.assert_known()
        self.assertTrue(self.has_read_all())  # the policy was loaded before
        self.service.reload()
        self.assert_known()
        self.assertFalse(self.has_read_all())
        self.enroll('--remove', 'laptop')
        self.service.reload()
        self.assert_unknown()
        self.assertFalse(self.has_read_all())

    def test_what_is_enrolled_counts_at_once_and_what_is_removed_does_not(self):
        self.service.reload()
        for name in ('one', 'other'):
            self.assert_unknown()
            self.enroll_alice(name)
            self.assert_known()
            self.enroll('--remove', name)
        self.enroll_alice('laptop')
        self.service.reload()
        self.assert_known()
        self.enroll('--remove', 'laptop')
        self.assert_unknown()

    def test_a_file_that_is_changed_in_place(self):
        self.enroll_alice('laptop')
        self.service.reload()
        yett.write(self.path('laptop'), line(100))  # which leaves the folder as it was
        self.assert_unknown()
        self.assertFalse(self.has_read_all())
        yett.write(self.path('laptop'), line(100) + self.own)
        self.assert_known()
        os.chmod(self.path('laptop'), 0o646)
        self.assert_unknown()
        os.chmod(self.path('laptop'), 0o644)
        self.assert_known()
        with open(self.path('key-1'), 'a', encoding='ascii') as file:  # known after the next load, as yett.conf(5) says
            file.write(self.own)
        self.assert_known()
        self.service.reload()
        self.assert_refused(self.yett('ps'), 1, "the key is enrolled under two names", "'laptop'", "'key-1'")

    def test_a_file_that_another_one_takes_the_place_of(self):
        self.enroll_alice('laptop')
        self.service.reload()
        yett.write(self.service.keys + '/.new', line(100))
        os.rename(self.service.keys + '/.new', self.path('laptop'))
        self.assert_unknown()
        self.service.reload()
        yett.write(self.service.keys + '/.new', line(100) + self.own)
        os.rename(self.service.keys + '/.new', self.path('laptop'))
        self.assert_known()

    def test_what_yett_policy_cannot_read_the_helper_does(self):
        self.enroll_alice('laptop')
        for path, mode in ((self.service.keys, 0o700), (self.path('laptop'), 0o600), (self.path('key-3'), 0o600)):
            with self.subTest(path):
                before = os.stat(path).st_mode & 0o777
                os.chmod(path, mode)
                self.service.reload()
                self.has_read_all()
                self.assert_known()
                self.assertTrue(self.has_read_all())
                os.chmod(path, before)
                self.service.reload()
                self.has_read_all()
                self.assert_known()
                self.assertFalse(self.has_read_all())


if __name__ == '__main__':
    yett.main()
