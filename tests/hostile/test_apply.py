# SPDX-License-Identifier: Apache-2.0
"""
Attacks on yett apply: a store, a source and a journal that are made to have it write elsewhere, follow a link, make a set-id file, or hang.
"""
import contextlib
import os
import re
import socket
import stat
import subprocess

import hostile  # pylint: disable=unused-import
import tiers
import yett
from workspace import Workspace, tree

LEFT, BROKEN = 3, 4
APPLIES = tiers.number(40, 400)

# Exchanges names in each directory that is given, for as long as there is somebody to read of it: DIRECTORY… It writes a line at its begin, and
# how often it has done so at its end.
SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
directories = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
count = 0
print('begun', flush=True)
os.set_blocking(0, False)
while True:
    for directory in directories:
        for one, other in ((b'd', b'to'), (b'f', b'tofile')):
            libc.renameat2(directory, one, directory, other, 2)  # RENAME_EXCHANGE
            count += 1
    if count % 400 == 0:
        try:
            if os.read(0, 1) == b'':
                break
        except BlockingIOError:
            pass
print(count, flush=True)
"""

# Writes a file anew without end, from its begin on and each time with another number all over: FILE SIZE. It writes a line at its begin.
WRITE = """
import os, sys
fd, size, number = os.open(sys.argv[1], os.O_WRONLY), int(sys.argv[2]), 0
print('begun', flush=True)
os.set_blocking(0, False)
while True:
    number += 1
    for at in range(0, size, 4096):
        os.pwrite(fd, b'%08d' % number * 512, at)
    try:
        if os.read(0, 1) == b'':
            break
    except BlockingIOError:
        pass
"""


class Apply(Workspace):
    def setUp(self):
        super().setUp()
        self.outside = self.folder('outside')
        self.alice.write('outside/secret', 'secret\n')
        self.alice.write('outside/x', 'outside\n')

    def apply(self, *words):
        return self.yett('apply', self.works()[0]['id'], *words, env=self.environment())

    def upper(self, *names):
        return os.path.join(self.store(), 'upper', *names)

    def own(self, *paths):
        for path in paths:
            os.chown(path, self.alice.uid, self.alice.gid, follow_symlinks=False)

    def put(self, path, text='x\n', mode=0o644):
        yett.write(path, text, mode)
        self.own(path)

    def make(self, path, mode=0o755):
        os.mkdir(path)
        self.own(path)
        os.chmod(path, mode)

    def assert_no_set_id(self):
        for path, st in tree(self.source).items():
            self.assertFalse(st[0] & 0o6000 and not stat.S_ISLNK(st[0]), path)
            self.assertEqual(st[1], self.alice.uid, path)


class Swapped(Apply):
    def prepare(self):
        """In both trees a directory and a file that change places with links to what is outside."""
        self.make_store()
        for top in (self.upper(), self.source):
            self.make(os.path.join(top, 'd'))
            self.put(os.path.join(top, 'd', 'x'), top)
            self.put(os.path.join(top, 'f'), top)
            os.symlink(self.outside, os.path.join(top, 'to'))
            os.symlink(self.outside + '/x', os.path.join(top, 'tofile'))
            self.own(os.path.join(top, 'to'), os.path.join(top, 'tofile'))

    def swap(self):
        process = self.service.popen(self.alice, '/usr/bin/python3', '-c', SWAP, self.upper(), self.source, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(yett.line_of(process.stdout), 'begun')
        return process

    def end(self, process):
        process.stdin.close()
        count = int(yett.line_of(process.stdout))
        process.wait()
        return count

    def test_who_goes_by_names_is_led_outside(self):
        self.prepare()
        process = self.swap()
        before = tree(self.outside)

        def is_led():
            with contextlib.suppress(OSError):
                with open(self.source + '/d/x', 'w', encoding='ascii') as file:
                    file.write('led\n')
            return tree(self.outside) != before
        yett.wait_until(is_led, 'a file outside that was written by a name that was swapped')
        self.end(process)

    def test_nothing_outside_is_written_or_read_while_names_are_swapped(self):
        self.prepare()
        before = tree(self.outside)
        process = self.swap()
        codes = {}

        def is_enough():
            done = self.apply('--force', 'd', 'f')
            if done.code == BROKEN:
                done = self.apply('--abort', '--force')
                self.assertEqual(done.code, 0, done)
                done.code = BROKEN
            codes[done.code] = codes.get(done.code, 0) + 1
            return sum(codes.values()) >= APPLIES and 1 in codes
        yett.wait_until(is_enough, 'names that were swapped while they were applied')
        count = self.end(process)
        self.assertEqual(tree(self.outside), before)
        self.assertGreater(count, APPLIES)
        self.assertLessEqual(set(codes), {0, 1, LEFT, BROKEN}, codes)
        for path, st in tree(self.source).items():
            self.assertNotIn('secret', path)
            self.assertFalse(path.startswith('.yett'), path)
            self.assertTrue(stat.S_ISREG(st[0]) or stat.S_ISDIR(st[0]) or stat.S_ISLNK(st[0]))


class Written(Apply):
    """A file that somebody is writing all the time, of the same size always."""
    SIZE = 1 << 20

    def prepare(self):
        self.make_store()
        for path in (self.upper('file'), self.source + '/file'):
            self.put(path, '0' * self.SIZE)

    def write(self, path):
        process = self.service.popen(self.alice, '/usr/bin/python3', '-c', WRITE, path, str(self.SIZE), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(yett.line_of(process.stdout), 'begun')
        return process

    def is_torn(self, text):
        """Whether it is what the file never was: at any time that has one number up to somewhere, and then that before it."""
        blocks = [text[at:at + 4096] for at in range(0, len(text), 4096)]
        numbers = [int(block[:8]) for block in blocks]
        return len(text) != self.SIZE or any(block != block[:8] * 512 for block in blocks) or numbers != sorted(numbers, reverse=True) or numbers[0] - numbers[-1] > 1

    def test_who_only_copies_it_gets_what_never_was(self):
        self.prepare()
        process = self.write(self.upper('file'))
        with open(self.upper('file'), encoding='ascii') as file:
            half = file.read(self.SIZE // 2)
            yett.wait_until(lambda: int(yett.read(self.upper('file'))[:8]) > int(half[:8]) + 2, 'a third write of it')
            file.seek(self.SIZE // 2)
            self.assertTrue(self.is_torn(half + file.read()))
        process.stdin.close()
        process.wait()

    def test_none_is_applied_torn(self):
        self.prepare()
        process = self.write(self.upper('file'))
        codes = []

        def is_enough():
            done = self.apply('--force', 'file')
            codes.append(done.code)
            self.assertIn(done.code, (0, 1, LEFT), done)
            self.assertFalse(self.is_torn(yett.read(self.source + '/file')))
            return len(codes) >= tiers.number(8, 20) and 1 in codes
        yett.wait_until(is_enough, 'a file that was written while it was applied')
        process.stdin.close()
        process.wait()
        yett.write(self.upper('file'), '7' * self.SIZE)
        done = self.apply('--force', 'file')
        self.assertEqual(done.code, 0, done)
        self.assertEqual(set(yett.read(self.source + '/file')), {'7'})

    def test_what_is_written_outside_meanwhile_stays(self):
        """
        Or it was replaced in a pause, as it was looked at: who has it open then writes to a file that is kept, or, where the apply had ended
        by then, to one that is not there any more.
        """
        self.prepare()
        self.put(self.upper('file'), '7' * self.SIZE)
        written = os.stat(self.source + '/file').st_ino
        process = self.write(self.source + '/file')
        for _ in range(20):
            done = self.apply('--force', 'file')
            if done.code == BROKEN:
                done = self.apply('--abort', '--force')
            if done.code in (0, LEFT):
                break
            self.assertEqual(done.code, 1, done)
            self.assertEqual(os.stat(self.source + '/file').st_ino, written)
        process.stdin.close()
        process.wait()
        kept = re.findall('kept files are in (.*): move', done.err)
        if kept:
            self.assertEqual([os.stat(os.path.join(kept[0], name)).st_ino for name in os.listdir(kept[0])], [written])
        elif done.code == 1 or (done.code == LEFT and set(yett.read(self.source + '/file')) != {'7'}):  # else it was replaced, as with 0
            self.assertEqual(os.stat(self.source + '/file').st_ino, written, done)


class Made(Apply):
    """What is in the store was made by hand, as no sandbox could."""

    def test_only_files_links_and_directories_come_out_and_none_is_set_id(self):
        self.make_store()
        self.put(self.upper('setid'), mode=0o755)
        os.chmod(self.upper('setid'), 0o6755)
        self.put(self.upper('capable'), mode=0o755)
        os.setxattr(self.upper('capable'), 'security.capability', bytes.fromhex('0100000200040000000000000000000000000000'))
        self.put(self.upper('file'), 'old\n')
        os.chmod(self.upper('file'), 0o4755)
        self.make(self.upper('sticky'))
        os.chmod(self.upper('sticky'), 0o7777)
        os.mknod(self.upper('null'), stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mkfifo(self.upper('pipe'))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.upper('socket'))
        self.own(self.upper('null'), self.upper('pipe'), self.upper('socket'))
        os.link(self.upper('setid'), self.upper('hard'))
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assert_no_set_id()
        self.assertEqual(done.out.splitlines(), ['added    capable', 'mode     file', 'added    hard', 'added    setid', 'added    sticky/'])
        self.assertEqual(os.listxattr(self.source + '/capable'), [])
        self.assertEqual(os.stat(self.source + '/hard').st_nlink, 1)
        self.assertEqual([stat.S_IMODE(os.stat(self.source + '/' + name).st_mode) for name in ('setid', 'file', 'sticky')], [0o755, 0o755, 0o777])
        for name in ('null', 'pipe', 'socket'):
            self.assertIn(name + ': is, or was, no file', done.err)

    def test_links_are_taken_over_and_never_followed(self):
        before = tree(self.outside)
        self.make_store()
        os.symlink(self.outside, self.upper('dir'))  # which the source has, with something in it
        os.symlink(self.outside + '/x', self.upper('file'))
        os.symlink('x' * 4000, self.upper('long'))
        self.own(self.upper('dir'), self.upper('file'), self.upper('long'))
        done = self.apply()
        self.assertEqual(done.code, 0, done)
        self.assertEqual([os.readlink(self.source + '/' + name) for name in ('dir', 'file', 'long')], [self.outside, self.outside + '/x', 'x' * 4000])
        self.make(self.upper('gone'))
        self.put(self.upper('gone', 'x'))
        done = self.apply('gone')
        self.assertEqual(done.code, 0, done)
        self.assertEqual(tree(self.outside), before)

    def test_below_what_is_a_link_in_the_source(self):
        before = tree(self.outside)
        self.assert_cow('mkdir -p dir/below; echo led >dir/below/file; echo led >dir/x')
        os.rename(self.source + '/dir', self.source + '/was')
        os.symlink(self.outside, self.source + '/dir')
        for words in ((), ('--force', 'dir/x'), ('--force', 'dir/below/file')):
            self.apply(*words)
            self.assertEqual(tree(self.outside), before)

    def test_names_and_sizes_as_they_may_be(self):
        self.make_store()
        names = ['x' * 255, 'new\nline', '\x1b[2J', ' ', '-rf', '%41', '"', 'ä']
        for name in names:
            self.put(self.upper(name))
        with open(self.upper('huge'), 'wb') as file:
            file.truncate(1 << 43)
        self.own(self.upper('huge'))
        deep = self.upper()
        for _ in range(300):
            deep += '/twelve-bytes'
            os.mkdir(deep)
            self.own(deep)
        done = self.apply()
        self.assertEqual(done.code, 0, done)
        self.assertNotIn('\x1b', done.out + done.err)
        for name in names:
            self.assertEqual(yett.read(os.path.join(self.source, name)), 'x\n')
        self.assertLess(os.stat(self.source + '/huge').st_blocks, 100)
        self.assertEqual(self.apply().out, 'changed  huge\n')  # it is too large to be compared

    def test_look_alikes_of_protected_names(self):
        self.make_store()
        for name in ('.GIT', '.Git ', 'git~1', '.g\u200cit'):
            self.make(self.upper(name))
            self.put(self.upper(name, 'config'))
        for name in ('.EnvRC', '.envrc.', 'Agents.md', '.en\u00advrc'):
            self.put(self.upper(name))
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assertEqual([path for path, st in tree(self.source).items() if 'config' in path or 'nv' in path or 'gents' in path], [])

    def test_marks_of_overlays_lead_nowhere(self):
        before = tree(self.outside)
        self.make_store()
        self.make(self.upper('dir2'))
        os.setxattr(self.upper('dir2'), 'user.overlay.redirect', self.outside.encode())
        os.setxattr(self.upper('dir2'), 'user.overlay.opaque', b'y')
        self.put(self.upper('meta'), 'own\n')
        os.setxattr(self.upper('meta'), 'user.overlay.metacopy', b'')
        os.setxattr(self.upper('meta'), 'user.overlay.redirect', (self.outside + '/secret').encode())
        self.assertEqual(self.apply().code, 0)
        self.assertEqual((os.listdir(self.source + '/dir2'), yett.read(self.source + '/meta')), ([], 'own\n'))
        self.assertEqual(os.listxattr(self.source + '/meta'), [])
        self.assertEqual(tree(self.outside), before)


class Journals(Apply):
    """What an apply that ended half-way has left is another's work."""

    def prepare(self, steps, stage=()):
        self.assert_cow('echo x >>file')
        self.apply('--dry-run')
        room = self.store() + '/apply'
        self.make(room + '/stage', 0o700)
        for name, make in stage:
            make(os.path.join(room, 'stage', name))
        lines = []
        for kind, path, name in steps:
            st = os.lstat(os.path.join(room, 'stage', name))
            lines.append('%s 0 0 0 0 %d %o %d %d %s\n' % (kind, st.st_ino, st.st_mode, st.st_size, st.st_mtime_ns, path))
        self.put(room + '/journal', 'yett-apply 1\nstore plain %d %d\n%send\n' % (os.stat(self.source).st_ino, len(lines), ''.join(lines)), 0o600)

    def set_id(self, path):
        self.put(path, mode=0o755)
        os.chmod(path, 0o6755)

    def device(self, path):
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        self.own(path)

    def test_one_that_leads_outside_is_refused(self):
        for path in ('../outside/new', '/etc/new', 'to/new', 'a/../../outside/new'):
            with self.subTest(path):
                if not os.path.lexists(self.source + '/to'):
                    os.symlink(self.outside, self.source + '/to')
                before = tree(self.outside)
                self.prepare([('a', path, '0')], [('0', self.put)])
                for finish in ('--continue', '--abort'):
                    self.apply(finish)
                    self.assertEqual(tree(self.outside), before)
                subprocess.run(['rm', '-rf', self.store()], check=True)

    def test_what_is_staged_is_no_set_id_file_and_no_device(self):
        for make in (self.set_id, self.device):
            with self.subTest(make.__name__):
                self.prepare([('a', 'new', '0')], [('0', make)])
                done = self.apply('--continue')
                self.assertNotEqual(done.code, 0, done)
                self.assertFalse(os.path.lexists(self.source + '/new'))
                subprocess.run(['rm', '-rf', self.store()], check=True)

    def test_rooms_that_are_links_or_of_others_are_refused(self):
        self.assert_cow('echo x >>file')
        before = tree(self.outside)
        os.symlink(self.outside, self.store() + '/apply')
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        os.unlink(self.store() + '/apply')
        self.make(self.store() + '/apply', 0o777)
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        os.chmod(self.store() + '/apply', 0o700)
        os.symlink(self.outside, self.store() + '/apply/stage')
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        self.assertEqual(tree(self.outside), before)
        self.assertEqual(yett.read(self.source + '/file'), 'old\n')

    def test_nonsense_is_refused_and_nothing_is_lost(self):
        self.assert_cow('echo x >>file')
        self.apply('--dry-run')
        for text in ('', 'x', 'yett-apply 1\n', 'yett-apply 1\nstore plain 1 0\nend\n', '\0' * 100, 'yett-apply 1\n' + 'store plain 1 400001\n'):
            self.put(self.store() + '/apply/journal', text, 0o600)
            for words in ((), ('--continue',), ('--abort',)):
                done = self.apply(*words)
                self.assertIn(done.code, (1, BROKEN), (text, words, done))
                self.assertEqual(yett.read(self.source + '/file'), 'old\n')
        stage = self.store() + '/apply/stage'
        self.make(stage, 0o700)
        self.put(stage + '/0', 'taken out\n')
        done = self.apply()
        self.assertIn('%s: move them elsewhere first' % stage, done.err)
        self.assertIn('then remove "journal" and "journal.closed" in %s/apply' % self.store(), done.err)
        self.assertEqual(yett.read(stage + '/0'), 'taken out\n')
        os.unlink(self.store() + '/apply/journal')
        os.mkfifo(self.store() + '/apply/journal')
        self.own(self.store() + '/apply/journal')
        self.assertEqual(self.apply('--continue').code, 1)
        os.unlink(self.store() + '/apply/journal')
        self.assertEqual(self.apply().code, 0)


if __name__ == '__main__':
    yett.main()
