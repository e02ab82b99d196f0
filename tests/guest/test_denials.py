# SPDX-License-Identifier: Apache-2.0
"""What the policies refused while all other tests ran: nothing but what hostile tests tried. Runs after them."""
import re
import unittest

import inside
import installed
import yett

# Who tries what is refused. What no test of ours provokes is not here: it would be a rule too few.
EXPECTED = {
    'selinux': (  # DOMAIN PERMISSION TYPE CLASS
        ('yett_helper_t execute_no_trans yett_memfd_t file', 'selinux: a sandbox without its label'),
        ('yett_sandbox_t read nsfs_t file', 'hostile-payload: entering a namespace'),
        ('yett_sandbox_t mounton yett_sandbox_file_t dir', 'hostile-payload: mounts, where commands may make user namespaces'),
        ('yett_sandbox_t sys_admin yett_sandbox_t cap_userns', 'selinux: the boolean for these that is off'),
        ('yett_sandbox_t (chown|dac_override) yett_sandbox_t cap_userns', 'system-workspace: the same, of capabilities that a grant gives'),
        ('yett_sandbox_t (write|append) user_tmpfs_t file', 'system-cli: standard input, which is a copy, to write to'),
        ('yett_sandbox_t append proc_t file', 'system-inside: files of /proc by which the kernel is asked to watch for somebody'),
        ('yett_sandbox_t create yett_sandbox_t rawip_socket', 'hostile-payload: raw sockets'),
        ('yett_(sandbox|build|init)_t .* (user_home_t|user_home_dir_t|ssh_home_t) (dir|file)', 'selinux: booleans that are off, keys of ssh'),
        ('yett_sandbox_t getattr user_home_t chr_file', "hostile-workspace: a device node in the caller's directory"),
        ('yett_sandbox_t connectto unconfined_t unix_stream_socket', 'selinux: a socket in a share'),
        ('yett_sandbox_t (read|write) yett_helper_t unix_stream_socket', "hostile-revoke: its client's end of the connection, given to a command"),
        ('yett_sandbox_t (signal|search|read) yett_sandbox_t (process|dir|file)', 'selinux: what is of another sandbox'),
    ),
    'apparmor': (  # PROFILE OPERATION, and what it is about
        ('unconfined change_profile yett-test-there-is-none', 'apparmor: a label that does not exist'),
        ('yett-helper create netlink raw', 'apparmor: what the helper never needs'),
        ('yett-helper exec /usr/bin/true', 'the same'),
        ('yett-sandbox create inet raw', 'hostile-payload: raw sockets'),
        ('yett-sandbox capable (chown|dac_override)', 'system-workspace: capabilities that a grant gives, and the profile does not'),
    ),
}[installed.LSM]


def of_selinux(line):
    match = re.search(r'denied  \{ ([^}]*) \}.* scontext=\S+:(yett_\w+):\S+ tcontext=[^:]+:[^:]+:(\w+)\S* tclass=(\w+)', line)
    return [' '.join((match[2], permission, match[3], match[4])) for permission in match[1].split()] if match else []


def of_apparmor(line):
    told = dict(re.findall(r'(\w+)="([^"]*)"', line))
    about = [told[key] for key in ('family', 'sock_type', 'name', 'capname', 'peer') if key in told]
    return [' '.join((told.get('profile', ''), told.get('operation', ''), *about))] if 'yett' in line else []


def refused():
    """Denials of what is ours, each with a line of the log that tells it."""
    keys = {'selinux': of_selinux, 'apparmor': of_apparmor}[installed.LSM]
    return {key: line for line in inside.denials() for key in keys(line)}


class Denials(unittest.TestCase):
    def test_nothing_was_refused_but_what_attacks_tried(self):
        unexpected = [line for key, line in refused().items() if not any(re.fullmatch(pattern, key) for pattern, _ in EXPECTED)]
        self.assertEqual('\n'.join(unexpected), '')

    def test_what_attacks_tried_is_told(self):
        for pattern, test in EXPECTED:
            with self.subTest(test=test):
                self.assertTrue(any(re.fullmatch(pattern, key) for key in refused()), pattern)


if __name__ == '__main__':
    yett.main()
