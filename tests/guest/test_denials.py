"""What the policies refused while all other tests ran: nothing but what hostile tests tried. Runs after them."""
import os
import re
import unittest

import inside
import yett

LSM = os.environ['YETT_GUEST_LSM']
# "DOMAIN PERMISSION TYPE CLASS", and who tries it. What no test of ours provokes is not here: it would be a rule too few.
EXPECTED = (
    ('yett_helper_t execute_no_trans yett_memfd_t file', 'selinux: a sandbox without its label'),
    ('yett_sandbox_t read nsfs_t file', 'hostile-payload: entering a namespace'),
    ('yett_sandbox_t create yett_sandbox_t anon_inode', 'system-policy: userfaultfd'),
    ('yett_sandbox_t create yett_sandbox_t rawip_socket', 'hostile-payload: raw sockets'),
    ('yett_(sandbox|init)_t .* (user_home_t|user_home_dir_t|ssh_home_t) (dir|file)', 'selinux: booleans that are off, keys of ssh'),
    ('yett_sandbox_t connectto unconfined_t unix_stream_socket', 'selinux: a socket in a share'),
    ('yett_sandbox_t (signal|search|read) yett_sandbox_t (process|dir|file)', 'selinux: what is of another sandbox'),
)


def refused():
    """Denials of our domains, as (domain, permission, type, class)."""
    found = {}
    for line in inside.denials():
        match = re.search(r'denied  \{ ([^}]*) \}.* scontext=\S+:(yett_\w+):\S+ tcontext=[^:]+:[^:]+:(\w+)\S* tclass=(\w+)', line)
        if match:
            permissions, domain, target, kind = match.groups()
            for permission in permissions.split():
                found.setdefault((domain, permission, target, kind), line)
    return found


class Denials(unittest.TestCase):
    def test_nothing_was_refused_but_what_attacks_tried(self):
        unexpected = [line for key, line in refused().items() if not any(re.fullmatch(pattern, ' '.join(key)) for pattern, _ in EXPECTED)]
        self.assertEqual('\n'.join(unexpected), '')


if __name__ == '__main__':
    yett.main()
