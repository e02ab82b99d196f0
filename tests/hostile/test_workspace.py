# SPDX-License-Identifier: Apache-2.0
"""
Attacks on copy-on-write sandboxes: files of others that an overlay would copy, marks in its layers that were made by hand, and a store that
changes while a sandbox is made over it.
"""
import os
import signal
import stat
import subprocess

import hostile
import yett
from hostile import Faults
from workspace import Workspace, tree

# setxattr(2) and mknod(2) of what an overlay keeps its notes in, by name and by number; prints what came of each.
MARK = """
import errno, os, stat
def tell(what, do):
    try:
        do()
        print(what, 'done')
    except OSError as error:
        print(what, errno.errorcode[error.errno])
for name, value in (('opaque', b'y'), ('redirect', b'/secret'), ('metacopy', b''), ('whiteout', b''), ('origin', b'x' * 29), ('impure', b'y')):
    tell(name, lambda: os.setxattr('dir', 'user.overlay.' + name, value))
    tell('file ' + name, lambda: os.setxattr('file', 'user.overlay.' + name, value))
tell('whiteout node', lambda: os.mknod('node', stat.S_IFCHR | 0o600, 0))
tell('device', lambda: os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3)))
open('made', 'w').close()  # so that there is a store to look at, where the kernel refuses all of these
"""


# An overlay over layers that have the map of the last arguments, mounted by root with all its capabilities, in the name of the private id
# that stands for the caller: SOURCE STORE PLACE ID LINE… As that id it then renames a file.
AS_ROOT = """
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
source, store, place, private, *lines = sys.argv[1:]
def check(result, what):
    if result < 0:
        sys.exit('%s: %s' % (what, os.strerror(ctypes.get_errno())))
    return result
def call(number, *arguments):
    return check(libc.syscall(number, *[ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]), number)
check(libc.unshare(0x20000), 'unshare')  # CLONE_NEWNS
check(libc.mount(b'none', b'/', None, 0x44000, None), 'private')  # MS_REC | MS_PRIVATE
holder = subprocess.Popen(['unshare', '--user', 'sh', '-c', 'echo; exec cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
holder.stdout.readline()
for kind in ('uid', 'gid'):
    with open('/proc/%d/%s_map' % (holder.pid, kind), 'w') as file:
        file.write(chr(10).join(lines) + chr(10))
namespace = os.open('/proc/%d/ns/user' % holder.pid, os.O_RDONLY)
for path in (source, store):
    tree = call(428, -100, path.encode(), 1)  # open_tree, OPEN_TREE_CLONE
    attributes = ctypes.create_string_buffer(struct.pack('QQQQ', 0x100002, 0, 0, namespace))  # MOUNT_ATTR_IDMAP, MOUNT_ATTR_NOSUID
    call(442, tree, b'', 0x1000, ctypes.addressof(attributes), 32)  # mount_setattr, AT_EMPTY_PATH
    call(429, tree, b'', -100, path.encode(), 4)  # move_mount, MOVE_MOUNT_F_EMPTY_PATH
holder.kill()
header = ctypes.create_string_buffer(struct.pack('II', 0x20080522, 0))
sets = ctypes.create_string_buffer(24)
check(libc.capget(header, sets), 'capget')
libc.setfsgid(int(private))
libc.setfsuid(int(private))
check(libc.capset(header, sets), 'capset')  # what setfsuid(2) has dropped
options = 'userxattr,volatile,index=off,lowerdir=%s,upperdir=%s/upper,workdir=%s/work' % (source, store, store)
check(libc.mount(b'overlay', place.encode(), b'overlay', 2, options.encode()), 'overlay')  # MS_NOSUID
os.setgroups([])
os.setresgid(*[int(private)] * 3)
os.setresuid(*[int(private)] * 3)
os.rename(place + '/roots', place + '/mine')
"""


class Escalation(Workspace):
    """A set-uid file of root's, in a directory of the caller's on a mount that makes nothing of it, renamed inside."""

    def mount_as_root(self, name, *lines):
        """What is renamed to in the upper layer, of an overlay whose layers have that map; and what was said."""
        store = self.folder(name)
        for part in ('upper', 'work'):
            self.alice.mkdir('%s/%s' % (name, part))
        private = self.service.ids_first + 5 * yett.RANGE
        done = subprocess.run(['/usr/bin/python3', '-c', AS_ROOT, self.source, store, self.folder(name + '-place'), str(private),
                               *[line % {'alice': self.alice.uid, 'next': self.alice.uid + 1, 'private': private} for line in lines]],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        path = store + '/upper/mine'
        return [(os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode))] if os.path.exists(path) else [], done.stderr

    def test_a_set_uid_file_of_roots_does_not_get_into_the_callers_store(self):
        yett.write(self.source + '/roots', 'x', 0o755)
        os.chmod(self.source + '/roots', 0o4755)
        self.assertEqual(self.mount_as_root('wide', '0 0 %(alice)d', '%(alice)d %(private)d 1', '%(next)d %(next)d 60000'), ([(0, 0o4755)], ''))
        found, said = self.mount_as_root('alone', '%(alice)d %(private)d 1')
        self.assertEqual(found, [])
        self.assertIn('Value too large', said)
        done = self.cow('touch new; mv roots mine')
        self.assertEqual(done.code, 1, done)
        self.assertIn('Value too large', done.err)
        self.assertEqual(os.listdir(self.store() + '/upper'), ['new'])

    def test_nobody_elses_file_is_copied_nor_what_has_capabilities(self):
        for name, mode in (('roots', 0o600), ('set-id', 0o6755)):
            yett.write(self.source + '/' + name, 'secret', mode)
            os.chmod(self.source + '/' + name, mode)
        self.bob.write(self.source + '/bobs', 'secret', mode=0o640)
        self.alice.write('source/capable', 'x', mode=0o755)
        os.setxattr(self.source + '/capable', 'security.capability', bytes.fromhex('0100000200040000000000000000000000000000'))
        before = tree(self.source)
        for name in ('roots', 'set-id', 'bobs', 'capable'):
            done = self.cow('mv %s other; ln %s again; cat %s; chmod 777 %s; : >>%s' % ((name,) * 5))
            if name != 'capable':
                self.assertNotIn('secret', done.out if name != 'set-id' else '')
        for folder, _, files in os.walk(self.state):
            for name in files:
                path = os.path.join(folder, name)
                st = os.lstat(path)
                self.assertEqual(st.st_uid, self.alice.uid, path)
                self.assertFalse(st.st_mode & 0o6000, path)
                self.assertNotIn('security.capability', os.listxattr(path, follow_symlinks=False), path)
        self.assertEqual(tree(self.source), before)

    def test_devices_and_set_id_files_of_the_callers_are_worth_nothing(self):
        os.mknod(self.source + '/null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.chown(self.source + '/null', self.alice.uid, self.alice.gid)
        os.chmod(self.source + '/null', 0o666)
        done = self.cow('cat null; true >null; mv null other; cat other; chmod 4755 file; cp file f; chmod u+s f; stat -c %a file f')
        self.assertEqual(done.err.count('Permission denied') + done.err.count('Operation not permitted'), 5, done)
        self.assertEqual([mode for mode in done.out.split() if len(mode) > 3], [], done)


class Marks(Workspace):
    def test_no_command_makes_what_an_overlay_goes_by(self):
        self.alice.write('source/secret', 'secret')
        done = self.sandbox('/usr/bin/python3', '-c', MARK, options=['--cow', self.source, '-C', self.source], env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.assertIn('whiteout node EPERM', done.out)
        self.assertIn('device EPERM', done.out)
        upper = self.store() + '/upper'
        for name in ('dir', 'file'):
            path = os.path.join(upper, name)
            own = os.listxattr(path) if os.path.exists(path) else []
            self.assertFalse({'user.overlay.redirect', 'user.overlay.metacopy', 'user.overlay.whiteout', 'user.overlay.opaque'} & set(own), own)
        self.assertEqual(sorted(os.listdir(self.source)), ['dir', 'file', 'gone', 'moved', 'removed', 'renamed', 'secret'])


class Held(Workspace):
    def test_a_share_that_holds_stores_would_change_what_another_sandbox_sees_and_is_refused(self):
        process = self.start('sh', '-c', 'echo ready; read line; cat ' + self.source + '/planted', options=['--cow', self.source], env=self.environment())
        self.assertEqual(self.line(process), 'ready')
        upper = self.store() + '/upper'
        elsewhere = {'XDG_STATE_HOME': self.folder('elsewhere', mode=0o700)}  # where nobody knows of these stores
        attack = ['sh', '-c', 'echo from another sandbox >%s/planted' % upper]
        self.assertEqual(self.sandbox(*attack, options=['--rw', self.state], env=elsewhere).code, 0)
        out, _ = process.communicate(b'\n', timeout=yett.DEADLINE)
        self.assertEqual(out, b'from another sandbox\n')
        os.unlink(upper + '/planted')
        for path in (self.state, upper):
            done = self.sandbox(*attack, options=['--rw', path], env=self.environment())
            self.assertEqual(done.code, 125, done)
            self.assertIn('it contains, or is located in', done.err)
        self.assertEqual(os.listdir(upper), [])


class UnderWay(Workspace):
    """What is done to a store between its making and the overlay, by who owns it."""

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults-workspace'))
        cls.service_options = {'helper': 'tests/hostile/yett-helper-faults',
                               'libexec': run.libexec('libexec-workspace', init=hostile.program('yett-init-faults')),
                               'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.faults.set)
        self.other = self.folder('private', mode=0o700)
        self.alice.write('private/secret', 'secret')

    def while_made(self, change, command='ls -A . dir; cat secret dir/secret file', step='init:share'):
        before = set(os.listdir(self.state + '/yett/work')) if os.path.exists(self.state + '/yett/work') else set()
        self.faults.set(step, Faults.HOLD)
        client = self.start('sh', '-c', command, options=['--cow', self.source, '-C', self.source], env=self.environment())
        yett.wait_until(self.faults.reached, 'the step')
        store, = set(os.listdir(self.state + '/yett/work')) - before
        kept = change(os.path.join(self.state, 'yett/work', store))
        self.faults.release()
        out, err = client.communicate(timeout=yett.DEADLINE)
        self.faults.set()
        if callable(kept):
            kept()
        return yett.Result(client.returncode, out.decode(), err.decode())

    def test_no_name_in_a_store_is_followed(self):
        def swap(name, to):
            def change(store):
                os.rename('%s/%s' % (store, name), store + '/away')
                os.symlink(to, '%s/%s' % (store, name))
            return change
        for name in ('upper', 'work'):
            for to in (self.other, '/etc', '../../..', 'away', '/proc/self/root'):
                with self.subTest(name=name, to=to):
                    before = tree(self.other)
                    done = self.while_made(swap(name, to))
                    self.assertEqual(done.code, 125, done)
                    self.assertIn('its store has no directories "upper" and "work" of the caller\'s, or they are links', done.err)
                    self.assertEqual(tree(self.other), before)
                    self.assertEqual(self.works(), [])

    def test_no_name_of_further_layers_is_followed(self):
        """They may be put into any store: one that has none is looked through for them."""
        def put(name, to):
            def change(store):
                if '/' in name:
                    os.mkdir(store + '/layers')
                    os.chown(store + '/layers', self.alice.uid, self.alice.gid)
                make, *arguments = to
                make(*arguments, store + '/' + name)
            return change
        for name in ('hidden', 'layers', 'layers/1'):
            for to in ((os.symlink, self.other), (os.symlink, '/etc'), (os.symlink, '../../..'), (os.symlink, '/proc/self/root'), (os.mkfifo,), (os.mkdir,)):  # the last one is root's
                with self.subTest(name=name, to=to):
                    before = tree(self.other)
                    done = self.while_made(put(name, to))
                    self.assertEqual(done.code, 125, done)
                    self.assertIn('in its store is a link, or no directory of the caller', done.err)
                    self.assertNotIn('secret', done.out)
                    self.assertEqual((tree(self.other), self.works()), (before, []))

        def own(store):  # what is not refused is seen: the attack would work, were it let
            os.mkdir(store + '/layers')
            os.mkdir(store + '/layers/1')
            yett.write(store + '/layers/1/secret', 'of a layer')
            subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), store + '/layers'], check=True)
        self.assertIn('of a layer', self.while_made(own).out)

    def test_what_is_no_directory_or_another_users_is_refused(self):
        def put(make):
            def change(store):
                os.rmdir(store + '/upper')
                make(store + '/upper')
            return change
        for make in (os.mkfifo, lambda path: yett.write(path, ''), lambda path: None):
            self.assertEqual(self.while_made(put(make)).code, 125)
        done = self.while_made(put(os.mkdir))  # root's
        self.assertEqual(done.code, 125, done)

    def test_a_mount_in_a_store_is_not_used(self):
        def mount(store):
            subprocess.run(['mount', '--bind', self.other, store + '/upper'], check=True)
            self.addCleanup(subprocess.run, ['umount', store + '/upper'], check=True)
        done = self.while_made(mount, step='sharer:share')
        self.assertEqual(done.code, 125, done)
        self.assertEqual(os.listdir(self.other), ['secret'])

    def test_layers_that_are_moved_into_each_other_are_refused(self):
        def into_store(store):
            os.rename(self.source, store + '/upper/source')
            return lambda: os.mkdir(self.source)  # what was moved there is thrown away with the store

        def into_source(store):
            os.rename(store, self.source + '/store')
            return lambda: os.rename(self.source + '/store', store)
        for change, step, text in ((into_source, 'sharer:share', 'is inside its copy-on-write share'),
                                   (into_store, 'init:share', 'its store lies in it, or around it')):
            with self.subTest(change=change.__name__):
                done = self.while_made(change, step=step)
                self.assertEqual(done.code, 125, done)
                self.assertIn(text, done.err)

    def overlay_of_root(self, name, value, options):
        """What is in "dir" and "file" of an overlay that goes by marks: root's, with a mark that only root can have set."""
        upper, place = self.folder('marked'), self.folder('marked-place')
        for entry in ('dir', 'file'):
            path = upper + '/' + entry
            os.mkdir(path) if entry == 'dir' else yett.write(path, '')
        os.setxattr(upper + ('/file' if name == 'metacopy' else '/dir'), 'trusted.overlay.' + name, value)
        mount = ['mount', '-t', 'overlay', 'overlay', '-o', '%s,lowerdir=%s:%s' % (options, upper, self.source), place]
        subprocess.run(mount, check=True)
        self.addCleanup(subprocess.run, ['umount', place], check=True)
        return os.listdir(place + '/dir'), yett.read(place + '/file')

    def test_redirects_lead_elsewhere_where_they_are_trusted(self):
        self.assertEqual(self.overlay_of_root('redirect', b'renamed', 'redirect_dir=on'), (['file'], ''))

    def test_metadata_copies_show_what_is_below_where_they_are_trusted(self):
        self.assertEqual(self.overlay_of_root('metacopy', b'', 'redirect_dir=on,metacopy=on'), (['below'], 'old\n'))

    def test_marks_made_by_hand_lead_nowhere(self):
        """Redirects and copies of metadata alone are not made by an overlay of this kind, and not followed."""
        def mark(name, value):
            def change(store):
                place = store + '/upper/' + ('file' if name == 'metacopy' else 'dir')
                yett.write(place, '') if name == 'metacopy' else os.mkdir(place)
                os.chown(place, self.alice.uid, self.alice.gid)
                os.setxattr(place, 'user.overlay.' + name, value)
            return change
        for name, value in (('redirect', b'/private'), ('redirect', b'../private'), ('redirect', b'renamed'), ('metacopy', b''), ('origin', b'x' * 40)):
            with self.subTest(name=name, value=value):
                done = self.while_made(mark(name, value), 'cat gone; ls -A dir; cat dir/file dir/secret file')
                self.assertIn('x', done.out.split(), done)  # an overlay that is not mounted at all shows no mark either
                self.assertEqual('old' in done.out.split(), name != 'metacopy', done)
                self.assertNotIn('secret', done.out)
                self.assertNotIn('n', done.out.split())  # what is in renamed/file
                self.assertEqual(sorted(os.listdir(self.other)), ['secret'])

    def test_whiteouts_and_opaque_marks_hide_and_do_no_more(self):
        def hide(store):
            os.mknod(store + '/upper/file', stat.S_IFCHR | 0o600, 0)
            os.mkdir(store + '/upper/dir')
            os.setxattr(store + '/upper/dir', 'user.overlay.opaque', b'y')
            for name in ('file', 'dir'):
                os.chown(store + '/upper/' + name, self.alice.uid, self.alice.gid)
        before = tree(self.source)
        done = self.while_made(hide, 'ls; ls -A dir')
        self.assertEqual(done.out.split(), ['dir', 'gone', 'moved', 'removed', 'renamed'], done)
        self.assertEqual(tree(self.source), before)

    def test_two_sandboxes_do_not_work_on_one_store(self):
        import fcntl

        def lock(store):
            fd = os.open(store, os.O_RDONLY)
            self.addCleanup(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_EX)
            return fd
        done = self.while_made(lock)
        self.assertEqual(done.code, 125, done)
        self.assertIn('another sandbox is using the store', done.err)

    def test_a_store_that_loses_its_source_or_itself_leaves_nothing(self):
        for step in ('sharer:share', 'init own:share', 'init:share'):
            with self.subTest(step=step):
                self.faults.set(step, Faults.HOLD)
                client = self.start('true', options=['--cow', self.source], env=self.environment())
                yett.wait_until(self.faults.reached, step)
                yett.kill(client.pid)
                self.faults.release()
                client.communicate(timeout=yett.DEADLINE)
                self.faults.set()
                for work in self.works():  # a sandbox that is about to end has the lock of its store
                    yett.wait_until(lambda: self.yett('discard', work['id'], env=self.environment()).code == 0, 'the end of what held the store')
                self.assertEqual(self.works(), [])

    def test_a_step_that_fails_leaves_no_store_and_no_mount(self):
        for step in ('supervisor:slot', 'sharer:share', 'init own:share', 'init:share', 'init:identity', 'init:init'):
            with self.subTest(step=step):
                self.faults.set(step, Faults.FAIL, 5)
                done = self.cow('true')
                self.assertTrue(self.faults.reached())
                self.faults.set()
                self.assertEqual((done.code, self.works()), (125, []), done)
        with open('/proc/mounts', encoding='utf-8') as mounts:
            self.assertNotIn(self.environment()['XDG_STATE_HOME'], mounts.read())


if __name__ == '__main__':
    yett.main()
