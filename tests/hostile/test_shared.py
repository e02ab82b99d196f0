# SPDX-License-Identifier: Apache-2.0
"""
What sandboxes share they can talk through, and disturb: the inodes of system directories and of read-only shares. Each attack
is made from a profile that shares them as they are, where it has to work, and from one that has overlays of its own in front.
"""
import fcntl
import os
import socket
import subprocess

import hostile  # which says where the next one is; pylint: disable=unused-import
import yett

POLICY = '''
profile "bare" {
  extends = "default"
}
profile "own" {
  extends = "default"
  overlay_ro = true
}
grant "shared" {
  users = {"*"}
  user_keys = true
  profiles = {"bare", "own"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''

# Each with whether attacks from it are to work.
PROFILES = (('bare', True), ('own', False))

# Owners, modes, sizes and contents.
LOOK = 'cd "$1" && ls -ln; stat -c "%n %u %g %a %s" /usr /usr/bin/env /etc/profile /dev/null /dev/tty; cat secret link'

# Each line that comes is an attack and its argument; one with the result goes back.
PAYLOAD = r'''
import ctypes, errno, fcntl, os, socket, sys
libc, held = ctypes.CDLL(None, use_errno=True), []
def opened(path, flags=os.O_RDONLY):
    held.append(os.open(path, flags))
    return held[-1]
def watch(path):
    held.append(libc.inotify_init1(os.O_NONBLOCK))
    return libc.inotify_add_watch(held[-1], path.encode(), 0xfff) > 0
def seen(path):
    try:
        return len(os.read(held[-1], 4096)) > 0
    except BlockingIOError:
        return False
attacks = {
    'lock': lambda path: fcntl.flock(opened(path), fcntl.LOCK_EX | fcntl.LOCK_NB),
    'record-lock': lambda path: fcntl.lockf(opened(path), fcntl.LOCK_SH | fcntl.LOCK_NB),
    'watch': watch, 'seen': seen,
    'fifo': lambda path: os.write(opened(path, os.O_WRONLY | os.O_NONBLOCK), b'from inside'),
    'connect': lambda path: socket.socket(socket.AF_UNIX).connect(path),
    'read': lambda path: open(path).read(),
    'write': lambda path: opened(path, os.O_WRONLY),
}
print('up', flush=True)
for line in sys.stdin:
    name, path = line.split()
    try:
        result = attacks[name](path)
        print('works' if result is None else result, flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
'''


class Payload:
    def __init__(self, case, profile, *options):
        self.case = case
        self.process = case.start('python3', '-c', PAYLOAD, options=['-p', profile, *options])
        case.assertEqual(case.line(self.process), 'up')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """What it holds is free again."""
        self.process.communicate(timeout=yett.DEADLINE)

    def does(self, attack, path):
        self.process.stdin.write(('%s %s\n' % (attack, path)).encode())
        self.process.stdin.flush()
        return self.case.line(self.process)


def is_locked(path, how):
    """Whether somebody else keeps one outside from it, who may write to it."""
    with open(path, 'r+b') as file:
        try:
            how(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Shared(yett.Case):
    service_options = {'before': POLICY}
    system = ('/usr/bin/env', '/etc/profile', '/dev/null', '/usr', '/etc', '/dev')  # what others have, too

    def setUp(self):
        super().setUp()
        self.work = self.folder('shared-work')
        self.path = self.alice.write('shared-work/file', 'text')

    def payload(self, profile):
        return Payload(self, profile, '--ro', self.work)

    def test_locks_in_a_share_stop_nobody_outside(self):
        for profile, works in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload:
                self.assertEqual(payload.does('lock', self.path), 'works')
                self.assertEqual(is_locked(self.path, fcntl.flock), works)
                self.assertEqual(payload.does('record-lock', self.path), 'works')
                self.assertEqual(is_locked(self.path, fcntl.lockf), works)
                self.assertEqual(payload.does('write', self.path), 'EROFS')

    def test_locks_on_what_the_system_has_stop_no_other_sandbox(self):
        for profile, works in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload, self.payload(profile) as other:
                for path in self.system:
                    with self.subTest(path=path):
                        self.assertEqual(payload.does('lock', path), 'works')
                        self.assertEqual(other.does('lock', path), 'EAGAIN' if works else 'works')

    def test_locks_on_what_the_system_has_stop_nobody_outside(self):
        for profile, works in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload:
                self.assertEqual(payload.does('lock', '/usr/bin/env'), 'works')
                done = self.service.run(self.bob, 'flock', '--nonblock', '/usr/bin/env', 'true')
                self.assertEqual(done.code, 1 if works else 0, done)

    def test_what_others_open_is_not_seen(self):
        for profile, works in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload:
                for path, others in ((self.work, lambda: yett.read(self.path)),
                                     ('/usr', lambda: os.listdir('/usr')),
                                     ('/etc', lambda: self.output('ls', '/etc', options=['-p', profile]))):
                    if path in self.system or path == self.work:
                        self.assertEqual(payload.does('watch', path), 'True')
                        others()
                        self.assertEqual(payload.does('seen', path), str(works))

    def test_a_fifo_leads_nowhere(self):
        path = self.work + '/fifo'
        os.mkfifo(path)
        os.chmod(path, 0o666)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        for profile, works in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload:
                self.assertEqual(payload.does('fifo', path), '11' if works else 'ENXIO')
                self.assertEqual(os.read(reader, 4096), b'from inside' if works else b'')

    def test_a_socket_leads_nowhere(self):
        path = self.work + '/socket'
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o666)
            listener.listen()
            # by now Landlock stops it as well, where the kernel has it for sockets: test_landlock.c
            refused = 'works' if yett.landlock_abi() < 9 else 'EACCES'
            for profile, works in PROFILES:
                with self.subTest(profile=profile), self.payload(profile) as payload:
                    self.assertIn(payload.does('connect', path), (refused,) if works else ('ECONNREFUSED', 'EACCES'))

    def test_what_is_closed_outside_is_closed_inside(self):
        """The kernel remembers the modes of what lies behind an overlay."""
        directory = self.folder('shared-others', user=self.bob)
        path = self.bob.write('shared-others/file', 'text', 0o644)
        for profile, _ in PROFILES:
            os.chmod(path, 0o644)
            with self.subTest(profile=profile), Payload(self, profile, '--ro', directory) as payload:
                self.assertEqual(payload.does('read', path), 'text')
                os.chmod(path, 0o600)
                self.assertEqual(payload.does('read', path), 'EACCES')

    def test_an_overlay_shows_files_with_their_owners_and_contents(self):
        secret = self.alice.write('shared-work/secret', 'mine', 0o600)
        os.symlink('file', self.work + '/link')
        seen = {}
        for profile, _ in PROFILES:
            with self.subTest(profile=profile), self.payload(profile) as payload:
                os.utime(secret, (1, 1))  # what is listed has a time, which would be another one a minute later
                seen[profile] = self.output('sh', '-c', LOOK, 'sh', self.work, options=['-p', profile, '--ro', self.work])
                self.assertEqual(payload.does('read', secret), 'mine')
                with open(secret, 'w') as file:  # in its place, not replaced
                    file.write('more')
                self.assertEqual(payload.does('read', secret), 'more')
                with open(secret, 'w') as file:
                    file.write('mine')
        self.assertEqual(seen['bare'], seen['own'])

    def test_which_it_is_can_be_read(self):
        for profile, works in PROFILES:
            with self.subTest(profile=profile):
                plan = self.output('true', options=['-p', profile, '--ro', self.work, '--dry-run'])
                self.assertEqual(plan.count('behind an overlay of its own'), 0 if works else 2)

    def test_what_an_overlay_would_not_show_is_refused(self):
        os.mkdir(self.work + '/below')
        os.mkdir(self.work + '/there')
        subprocess.run(['mount', '--bind', self.work + '/there', self.work + '/below'], check=True)  # Linux 6.1 maps no ids on a tmpfs
        self.addCleanup(subprocess.run, ['umount', self.work + '/below'], check=True)
        for share, reason in ((self.work, 'there are mounts below it'), (self.path, 'it is not a directory')):
            self.assertEqual(self.sandbox('true', options=['-p', 'bare', '--ro', share]).code, 0)
            self.assert_refused(self.sandbox('true', options=['-p', 'own', '--ro', share]), 125, reason, share)


class Rootless(Shared):
    service_class = yett.Rootless
    system = ('/usr/bin/env', '/etc/profile', '/usr', '/etc')  # the nodes in /dev are the host's


if __name__ == '__main__':
    yett.main()
