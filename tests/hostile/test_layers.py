# SPDX-License-Identifier: Apache-2.0
"""
Each layer alone: what one of them stops while another one, that would stop it as well, is left out. Init is that of the
tests (tests/support/layers.c), which otherwise is the installed one; the profile says what it leaves out.
"""
import json

import hostile
import yett

LAYERS = ('landlock', 'system-call-filter')

# Writes to the file that is its standard input, which the client opened for reading only and anybody may write to.
REOPEN = 'import os\nos.write(os.open("/proc/self/fd/0", os.O_WRONLY), b"changed!!")'

# Loads a filter that allows all, and asks for its listener, whose holder may let a call through. Prints 0, or the errno.
LISTEN = """import ctypes, os
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
allow = Program(1, bytes.fromhex("060000000000ff7f"))
got = libc.syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, 8, ctypes.byref(allow))
print(ctypes.get_errno() if got < 0 else 0)"""


def profiles():
    text = 'profile "all-on" {\n  extends = "default"\n}\n'
    for name in LAYERS:
        text += 'profile "no-%s" {\n  extends = "default"\n  environment = {"YETT_TEST_LAYERS_OFF=%s"}\n}\n' % (name, name)
    return text + 'grant "layers" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"all-on", %s}\n}\n' % ', '.join(
        '"no-%s"' % name for name in LAYERS)


class Layers(yett.Case):

    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-layers', init=hostile.program('yett-init-layers'))
        cls.service_options = {'libexec': libexec, 'before': profiles()}
        super().setUpClass()

    def reopen(self, profile):
        """What the file holds afterwards."""
        path = self.alice.write('open-to-all', 'as it was', 0o666)
        with open(path, 'rb') as stdin, open(path, 'ab'):  # what is open for writing is passed itself, and no copy
            done = self.sandbox('python3', '-c', REOPEN, options=('-p', profile), stdin=stdin)
        self.assertIn('PermissionError' if done.code else '', done.err)
        return yett.read(path)

    def test_a_descriptor_for_reading_does_not_become_one_for_writing(self):
        self.assertEqual(self.reopen('no-landlock'), 'changed!!')
        self.assertEqual(self.reopen('all-on'), 'as it was')
        self.assertEqual(self.reopen('no-system-call-filter'), 'as it was')

    def test_no_listener_of_its_own_decides_on_forbidden_calls(self):
        for profile, said in (('no-system-call-filter', '0'), ('no-landlock', '22'), ('all-on', '22')):  # EINVAL; EBUSY, were it not for the filter
            self.assertEqual(self.output('python3', '-c', LISTEN, options=('-p', profile)), said + '\n')

    def test_the_description_says_which_landlock_is_in_force(self):
        self.assertEqual(self.told('no-landlock'), 0)
        self.assertEqual(self.told('all-on'), yett.landlock_abi())

    def told(self, profile):
        return yett.told(self.output('true', options=('-p', profile, '--json')))['sandbox']['landlock_abi']

    def test_the_filter_is_left_out_only_where_the_profile_says_so(self):
        """Of building there is one in any case, which commands do not notice."""
        for profile, filters in (('all-on', '3'), ('no-system-call-filter', '1'), ('no-landlock', '3')):
            self.assertEqual(self.output('grep', 'Seccomp_filters:', '/proc/self/status', options=('-p', profile)).split()[1], filters)


if __name__ == '__main__':
    yett.main()
