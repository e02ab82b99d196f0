# SPDX-License-Identifier: Apache-2.0
"""Commands that make user namespaces of their own (nested_userns), as sandboxes do that programs bring."""
import json

import yett

POLICY = '''profile "open" {
  extends = "default"
  nested_userns = true
  apparmor_profile = "yett-sandbox-nested"
  mask = {"/proc/version", "/usr/share/common-licenses"}
}
grant "open" {
  users = {"*"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  profiles = {"open", "default"}
  nested_userns = true
}
'''

# A user namespace with everything that belongs to it, as root in there.
UNSHARE = ('unshare', '--user', '--map-root-user', '--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork')


class Nested(yett.Case):
    service_options = {'before': POLICY}

    def nested(self, *argv, options=(), **more):
        return self.sandbox(*argv, options=('-q', '-p', 'open', *options), **more)

    def test_commands_make_namespaces_mounts_and_a_proc_of_their_own(self):
        script = 'id -u && mount -t tmpfs none /tmp && touch /tmp/x && mount -t proc none /proc && hostname inner && hostname && echo $$ && ls /proc | head -1'
        done = self.nested(*UNSHARE, 'sh', '-ec', script)
        self.assertEqual((done.code, done.out.split()), (0, ['0', 'inner', '1', '1']), done)

    def test_elsewhere_they_make_none(self):
        done = self.sandbox(*UNSHARE, 'true', options=('-q',))
        self.assertNotEqual(done.code, 0)
        self.assertIn('Operation not permitted', done.err)

    def test_what_the_sandbox_is_made_of_stays_as_it_was_built(self):
        shared = self.folder('shared')
        yett.write(shared + '/file', 'as it was')
        steps = {'unmask': 'umount /usr/share/common-licenses', 'unmask-lazily': 'umount -l /usr/share/common-licenses', 'unmount': 'umount /proc',
                 'writable-usr': 'mount -o remount,bind,rw /usr', 'writable-share': 'mount -o remount,bind,rw /mnt/share',
                 'set-id': 'mount -o remount,bind,suid /usr', 'copy': 'mount --bind /mnt/share /tmp && mount -o remount,bind,rw /tmp',
                 'beneath': 'umount -l /', 'sysctl': 'echo 5 >/proc/sys/user/max_user_namespaces'}
        script = ''.join('if { %s; } 2>/dev/null; then echo %s; fi; ' % (step, name) for name, step in steps.items())
        done = self.nested(*UNSHARE, 'sh', '-c', script + 'ls -A /usr/share/common-licenses', options=('--ro', shared + ':/mnt/share'))
        self.assertEqual((done.code, done.out), (0, ''), done)
        # From within the one that it makes it enters the same again: so it would see what lies beneath the root, were that not covered.
        enter = 'import os,ctypes;f=os.open("/proc/self/ns/mnt",0);print(ctypes.CDLL(None).setns(f,0));print(*sorted(os.listdir("/")))'
        self.assertEqual(self.nested(*UNSHARE, 'python3', '-c', enter).out.split('\n')[0], '0')
        self.assertEqual(self.nested(*UNSHARE, 'python3', '-c', enter).out.split('\n')[1], ' '.join(self.nested('ls', '-A', '/').out.split()))
        self.assertEqual(yett.read(shared + '/file'), 'as it was')
        # As a user's own helper builds it, /usr is the user's own view; nobody's but root's files are closed all the same.
        self.assertNotEqual(self.nested(*UNSHARE, 'touch', '/usr/x').code, 0)

    def test_no_other_id_is_taken(self):
        script = '''
import os
uid = os.getuid()
r, w = os.pipe(); done, tell = os.pipe()
pid = os.fork()
if pid == 0:
    import ctypes
    ctypes.CDLL(None).unshare(0x10000000); os.write(tell, b"x"); os.read(r, 1); os._exit(0)
os.read(done, 1)
for line in ("0 0 1", "0 %d 1" % (uid + 1), "0 %d 2" % uid):
    try:
        with open("/proc/%d/uid_map" % pid, "w") as file: file.write(line)
        print("taken", line)
    except OSError as error: print(error.errno)
os.write(w, b"x")
'''
        self.assertEqual(self.nested('python3', '-c', script).out.split(), ['1'] * 3)

    def test_there_is_a_bound(self):
        self.assertEqual(self.nested('cat', '/proc/sys/user/max_user_namespaces').out, '1024\n')
        self.assertEqual(self.sandbox('cat', '/proc/sys/user/max_user_namespaces', options=('-q',)).out, '0\n')

    def test_they_end_with_the_command(self):
        process = self.start(*UNSHARE, 'sh', '-c', 'echo up; exec sleep 1000', options=('-q', '-p', 'open'))
        self.assertEqual(self.line(process), 'up')
        self.end(process)
        self.service.wait_no_leftovers()

    def test_it_is_told(self):
        process = self.start('sh', '-c', 'echo up; exec sleep 1000', options=('-q', '-p', 'open', '--name', 'nest'))
        self.line(process)
        told = yett.told(self.yett('inspect', '--json', 'nest').out)
        identity = [step for step in told['sandbox']['plan']['steps'] if step['step'] == 'identity'][0]
        self.assertEqual((told['sandbox']['landlock_abi'], identity['nested_userns']), (0, True))
        self.assertIn('user namespaces of their own', self.nested('true', options=('--dry-run',)).out)

    def test_no_command_is_restricted_further(self):
        self.assert_refused(self.nested('true', options=('--read-only',)), 125, 'nested_userns')


class Granted(yett.Case):
    service_options = {'before': POLICY}

    def test_the_grant_must_allow_it(self):
        self.change_policy(POLICY.replace('"default"}\n  nested_userns = true', '"default"}'))
        done = self.sandbox('true', options=('-p', 'open'))
        self.assert_refused(done, 125, "does not allow nested_userns to the profile 'open'", 'asked true, allowed false by nested_userns of grant')


class WithoutRoot(Nested):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
