# SPDX-License-Identifier: Apache-2.0
"""Sockets of the host that a grant names and a client shares: what is reached through them, and what is refused."""
import contextlib
import json
import os
import shutil
import socket
import stat
import struct
import threading

import selinux
import yett

POLICY = '''
profile "behind" {
  extends = "default"
  overlay_ro = true
}
profile "closed" {
  extends = "default"
  shares = false
}
grant "sockets" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "behind", "closed"}
  share_ro = {"*"}
  share_rw = {"*"}
  sockets = {"/run/user/%%u/listens", "%(roots)s/listens"}
}
grant "none" {
  users = {"*"}
  user_keys = true
  profiles = {"build"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''

# Connects to what it is told, a path or the name of an abstract socket, and prints what it hears, or why it cannot.
CONNECT = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1].replace("@", "\\0"))
    print(s.makefile().read(), end="")
except OSError as e:
    print(e.strerror)
'''


class Listener:
    """Somebody outside: tells whoever connects the uid that the kernel has for it."""

    def __init__(self, path, user=None, mode=0o600):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path.replace('@', '\0'))
        if not path.startswith('@'):
            os.chown(path, user.uid, user.gid)
            os.chmod(path, mode)
        self.path = path
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                with connection:
                    pid, uid, gid = struct.unpack('3i', connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                    connection.sendall(b'heard uid %d\n' % uid)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(yett.DEADLINE)
        self.socket.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


class Sockets(yett.Case):
    is_rootless = False

    @classmethod
    def setUpClass(cls):
        cls.roots = yett.run_of_process().roots_folder()
        os.chmod(cls.roots, 0o755)
        cls.service_options = {'before': POLICY % {'roots': cls.roots}}
        super().setUpClass()

    def listen(self, path, user=None, mode=0o600):
        listener = Listener(path, user or self.alice, mode)
        self.addCleanup(listener.close)
        return listener.path

    def connect(self, path, *options, **more):
        return self.python(CONNECT, path, options=options, **more)

    def assert_heard(self, text):
        """From a uid that is nobody's outside; without root it is the user's own."""
        self.assertRegex(text, r'^heard uid \d+\n$')
        self.assertEqual(int(text.split()[2]) == self.alice.uid, self.is_rootless, text)

    def test_a_socket_that_the_grant_names_is_reached_where_it_was_shared(self):
        path = self.listen(self.roots + '/listens')
        self.assert_heard(self.connect(path, '--share-socket', path))
        for target in ('/run/user/%d/wayland-0' % self.alice.uid, '/tmp/.X11-unix/X0', '/there'):
            with self.subTest(target):
                self.assert_heard(self.connect(target, '--share-socket', path + ':' + target))

    def test_it_is_not_there_unless_it_is_shared(self):
        path = self.listen(self.roots + '/listens')
        self.assertEqual(self.connect(path), 'No such file or directory\n')

    def test_its_mode_counts_for_the_caller_and_nobody_can_change_it_inside(self):
        path = self.listen(self.roots + '/listens')
        change = 'import os, sys\ntry:\n os.chmod(sys.argv[1], 0o666)\nexcept OSError as e:\n print(e.strerror)'
        self.assertEqual(self.python(change, path, options=['--share-socket', path]), 'Read-only file system\n')
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        os.chmod(path, 0o400)
        self.assertEqual(self.connect(path, '--share-socket', path), 'Permission denied\n')
        os.chown(path, self.bob.uid, self.bob.gid)
        os.chmod(path, 0o600)
        self.assertEqual(self.connect(path, '--share-socket', path), 'Permission denied\n')
        os.chmod(path, 0o602)
        self.assert_heard(self.connect(path, '--share-socket', path))

    def test_an_overlay_does_not_keep_it_from_leading_out(self):
        path = self.listen(self.roots + '/listens')
        self.assert_heard(self.connect(path, '-p', 'behind', '--share-socket', path))

    def test_a_command_that_is_restricted_to_some_paths_reaches_it_where_it_is_one_of_them(self):
        path = self.listen(self.roots + '/listens')
        self.assert_heard(self.connect(path, '--share-socket', path, '--only', path))

    def test_what_the_grant_does_not_name_is_refused_with_the_rule(self):
        path = self.listen(self.roots + '/other')
        done = self.sandbox('true', options=['--share-socket', path])
        policy = '%s/%d/yett.conf' % (self.service.folder, self.alice.uid) if self.is_rootless else self.service.policy
        line = [i for i, text in enumerate(yett.read(policy).splitlines(), 1) if 'sockets = {"/run/user' in text][0]
        place = '%s:%d' % (policy, line)
        self.assert_refused(done, 125, 'the policy does not let this user share that socket', 'asked ' + path, 'allowed /run/user/%d/listens %s/listens' %
                            (self.alice.uid, self.roots), "sockets of grant 'sockets' (" + place,
                            'the smallest change of the policy: sockets += {"%s"} in grant \'sockets\' (%s)' % (path, place))
        done = self.sandbox('true', options=['-p', 'build', '--share-socket', path])
        self.assert_refused(done, 125, 'does not allow the socket ' + path, "sockets of grant 'none' (")
        self.assert_refused(self.sandbox('true', options=['-p', 'closed', '--share-socket', path]), 125, 'allows no shares')

    def test_what_is_no_socket_is_refused(self):
        folder, path = self.folder('plain'), self.alice.write('plain/file', '')
        for other in (folder, path, '/dev/null', '/usr/bin/true'):
            with self.subTest(other):
                self.assert_refused(self.sandbox('true', options=['--share-socket', other]), 125, 'it is no socket')
        self.assert_refused(self.sandbox('true', options=['--share-socket', self.roots + '/none']), 125, 'No such file')

    def test_a_socket_is_no_other_share(self):
        path = self.listen(self.roots + '/listens')
        for option in ('--ro', '--rw'):
            self.assert_refused(self.sandbox('true', options=[option, path]), 125, 'neither a directory nor a regular file')

    def test_in_a_directory_that_is_shared_it_is_what_it_was(self):
        path = self.listen(self.folder('holds') + '/socket')
        said = yett.told(self.output('true', options=['--json']))['sandbox']['landlock_abi']
        heard = self.connect(path, '--rw', os.path.dirname(path))
        if said >= 9 or selinux.is_loaded():
            self.assertEqual(heard, 'Permission denied\n')
        else:
            self.assert_heard(heard)

    def test_abstract_sockets_are_those_of_the_sandbox(self):
        name = self.listen('@' + self.roots)
        self.assertIn('heard', self.service.run(self.alice, 'python3', '-c', CONNECT, name).out)
        self.assertEqual(self.connect(name), 'Connection refused\n')

    def test_a_plan_tells_of_it(self):
        path = self.listen(self.roots + '/listens')
        line = r'(?m)^ *\d+ share +%s, descriptor 0, a socket, from /run/user/%d/listens %s/listens' % (path, self.alice.uid, self.roots)
        self.assertRegex(self.output('true', options=['--dry-run', '--share-socket', path]), line)
        done = self.yett('run', '--json', '--dry-run', '--share-socket', path, '--', 'true')
        steps = json.loads(done.out)['result']['plan']['steps']
        self.assertEqual([(step['target'], step['socket'], step['writable']) for step in steps if step['step'] == 'share'],
                         [(path, True, False)])


class Service(Sockets):
    def test_the_runtime_directory_is_the_callers_own(self):
        for user in (self.alice, self.bob):
            folder = '/run/user/%d' % user.uid
            os.mkdir(folder, 0o700)
            self.addCleanup(shutil.rmtree, folder)
            os.chown(folder, user.uid, user.gid)
            path = self.listen(folder + '/listens', user)
            self.assertRegex(self.connect(path, '--share-socket', path, user=user), 'heard uid')
            other = self.listen(folder + '/another', user)
            self.assert_refused(self.sandbox('true', options=['--share-socket', other], user=user), 125, 'does not let this user share')
        # Even where he can open it: by what %u is for the caller.
        os.chmod('/run/user/%d' % self.alice.uid, 0o755)
        path = '/run/user/%d/listens' % self.alice.uid
        self.assert_refused(self.sandbox('true', options=['--share-socket', path], user=self.bob), 125, 'does not let this user share that socket',
                            'allowed /run/user/%d/listens' % self.bob.uid)
        # Nothing else of the directory is shared, so no sandbox can put another socket there.
        self.assert_refused(self.sandbox('true', options=['--rw', '/run/user/%d' % self.alice.uid]), 125, 'runtime directory')

    def test_it_is_explained_by_the_line_that_allows_it(self):
        path = self.listen(self.roots + '/listens')
        place = '%s:%d' % (self.service.policy, self.service.line('sockets = {"/run/user'))
        done = self.yett('policy', 'explain', '--policy', self.service.policy, '--', '--share-socket', path, 'true')
        self.assertRegex(done.out, r"share +%s, a socket: sockets of grant 'sockets' \(%s\)" % (path, place))
        other = self.listen(self.roots + '/other')
        done = self.yett('policy', 'explain', '--policy', self.service.policy, '--', '--share-socket', other, 'true')
        self.assertIn('does not let this user share that socket', done.out + done.err)


class Rootless(Sockets):
    service_class = yett.Rootless
    is_rootless = True


del Sockets

if __name__ == '__main__':
    yett.main()
