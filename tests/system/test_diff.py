# SPDX-License-Identifier: Apache-2.0
"""yett diff: what a copy-on-write sandbox changed, told from its store and the source, both of which may be hostile."""
import base64
import json
import os
import pty
import shutil
import subprocess

import yett
from workspace import Workspace


def content(top):
    """Of each file its kind, whether it is executable, and its content: what git knows."""
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[os.path.relpath(path, top)] = ('link', os.readlink(path))
            elif os.path.isfile(path):
                with open(path, 'rb') as file:
                    found[os.path.relpath(path, top)] = (bool(os.stat(path).st_mode & 0o100), file.read())
    return found


class Diff(Workspace):
    def diff(self, *words, work=None, **more):
        return self.yett('diff', (work or self.works()[0])['id'], *words, env=self.environment(), **more)

    def names(self, *words, code=0):
        done = self.diff('--name-only', *words)
        self.assertEqual(done.code, code, done)
        return done.out.splitlines()

    def changes(self, code=0):
        done = self.diff('--json')
        self.assertEqual(done.code, code, done)
        result = json.loads(done.out)['result']
        self.assertEqual(result['complete'], code == 0)
        return {change['path']['text'] or base64.b64decode(change['path']['base64']): change for change in result['changes']}

    def upper(self, *names):
        return os.path.join(self.store(), 'upper', *names)

    def own(self, path):
        os.chown(path, self.alice.uid, self.alice.gid, follow_symlinks=False)


class Changes(Diff):
    def test_each_kind_of_change(self):
        self.assert_cow('set -e; echo more >>file; rm gone; rm -r removed; echo n >new; mkdir made; echo m >made/x; ln -s file link; chmod 755 moved;'
                        'chmod 700 dir; mkfifo pipe')
        self.assertEqual(self.names(), ['dir/', 'file', 'gone', 'link', 'made/', 'made/x', 'moved', 'new', 'pipe', 'removed/', 'removed/file'])
        self.assertEqual(self.names('made', 'removed/file'), ['made/', 'made/x', 'removed/file'])
        self.assertEqual(self.names('nothing'), [])
        changes = self.changes()
        self.assertEqual({path: change['change'] for path, change in changes.items()},
                         {'dir': 'modified', 'file': 'modified', 'gone': 'deleted', 'link': 'added', 'made': 'added', 'made/x': 'added',
                          'moved': 'modified', 'new': 'added', 'pipe': 'added', 'removed': 'deleted', 'removed/file': 'deleted'})
        self.assertEqual(changes['file'], {'path': {'length': 4, 'text': 'file', 'base64': None}, 'change': 'modified', 'old_path': None, 'similarity': None,
                                           'old': {'type': 'file', 'mode': '0644', 'size': 4}, 'new': {'type': 'file', 'mode': '0644', 'size': 9},
                                           'content_changed': True, 'binary': False, 'lines_added': 1, 'lines_deleted': 0, 'protected_because': None})
        self.assertEqual((changes['moved']['content_changed'], changes['moved']['new']['mode']), (False, '0755'))
        self.assertEqual((changes['pipe']['new']['type'], changes['gone']['new'], changes['link']['new']['type']), ('fifo', None, 'link'))
        out = self.diff('--stat').out
        self.assertIn(' file | 1 +\n', out)
        self.assertIn(' gone | 1 -\n', out)
        self.assertIn(' moved | mode 0644 -> 0755\n', out)
        self.assertTrue(out.endswith(' 11 changed, 4 insertions(+), 2 deletions(-)\n'), out)

    def test_the_patch_reads_as_one_of_git(self):
        self.assert_cow('printf "one\\ntwo" >file')
        self.assertEqual(self.diff().out, 'diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1 +1,2 @@\n-old\n+one\n+two\n\\ No newline at end of file\n')

    def test_what_was_only_copied_up_is_no_change(self):
        self.assert_cow('touch file; chmod 600 moved; chmod 644 moved; mv dir/below/file x; mv x dir/below/file')
        self.assertTrue(os.path.exists(self.upper('file')))
        self.assertEqual(self.names(), [])
        self.assertEqual(self.diff().out, '')

    def test_a_directory_made_anew_hides_what_was_in_it(self):
        self.alice.write('source/dir/keep', 'k\n')
        self.assert_cow('rm -r dir; mkdir -p dir/below; echo k >dir/keep; echo fresh >dir/below/other')
        self.assertEqual(os.getxattr(self.upper('dir'), 'user.overlay.opaque'), b'y')
        self.assertEqual(self.names(), ['dir/below/file', 'dir/below/other'])

    def test_whiteouts_that_are_files(self):
        self.assert_cow('mkdir -p dir; touch dir/x; rm dir/x; echo x >file')
        os.makedirs(self.upper('dir', 'below'), exist_ok=True)
        yett.write(self.upper('dir', 'below', 'file'), '')
        for path in (self.upper('dir', 'below'), self.upper('dir', 'below', 'file')):
            self.own(path)
        self.assertEqual(self.changes()['dir/below/file']['change'], 'modified')
        os.setxattr(self.upper('dir', 'below'), 'user.overlay.opaque', b'x')
        os.setxattr(self.upper('dir', 'below', 'file'), 'user.overlay.whiteout', b'')
        self.assertEqual(self.changes()['dir/below/file']['change'], 'deleted')

    def test_one_kind_becomes_another(self):
        self.assert_cow('set -e; rm file; mkdir file; echo in >file/in; rm -r removed; echo now >removed; rm gone; ln -s file gone')
        self.assertEqual(self.names(), ['file', 'file/in', 'gone', 'removed/', 'removed/file'])

    def test_git_applies_the_patch(self):
        for name, text in (('spaced name', 'a\n'), ('empty', ''), ('long', ''.join('%d\n' % i for i in range(500))), ('noend', 'x')):
            self.alice.write('source/' + name, text)
        self.assert_cow('set -e; echo more >>file; rm gone empty; rm -r removed; echo now >removed; rm moved; mkdir moved; echo in >moved/in; echo n >new; : >hollow; mkdir -p made/deep; echo m >made/deep/x; ln -s file link;'
                        'chmod 755 renamed/file; echo y >"spaced name"; echo z >"other name"; echo y >>noend; rm dir/below/file; ln -s nowhere dir/below/file;'
                        'sed -i -e 7d -e "s/^300$/three/" long; printf "\\tq\\n" >"$(printf "odd\\n\\042\\134\\303\\244")"')
        done = self.diff()
        self.assertEqual((done.code, done.err), (0, ''), done)
        copy = self.folder('copy')
        shutil.copytree(self.source, copy, symlinks=True, dirs_exist_ok=True)
        subprocess.run(['git', 'apply', '-p1'], cwd=copy, input=done.out.encode(), check=True)
        expected = content(self.source)
        for name in ('gone', 'empty', 'moved', 'removed/file'):
            del expected[name]
        expected.update(content(self.upper()))
        self.assertEqual(content(copy), expected)
        self.assertIn('odd\n"\\ä', expected)

    def test_git_applies_renames(self):
        lines = ''.join('line %d\n' % i for i in range(40))
        for name in ('plain', 'edited', 'dir/deep', 'made executable', 'taken', 'odd\n\x1b', 'swapped'):
            self.alice.write('source/' + name, name + '\n' + lines)
        for i in range(5):
            self.alice.write('source/removed/empty%d' % i, '')
        self.alice.write('source/binary', 'a\0b' * 300)
        self.assert_cow('set -e; mv plain other; mv edited dir/edited; echo more >>dir/edited; mv dir dire; sed -i 1d dire/deep; mv "made executable" x; chmod 755 x;'
                        'mv taken free; ln -s free taken; mv "$(printf "odd\\n\\033")" even; mv removed emptied; mv binary dire/binary; printf x >>dire/binary;'
                        'mv swapped t; mv x swapped; mv t x; mv swapped y')
        done = self.diff()
        self.assertEqual((done.code, done.err), (0, ''), done)
        copy = self.folder('copy')
        shutil.copytree(self.source, copy, symlinks=True, dirs_exist_ok=True)
        without = self.diff('--name-only').out
        self.assertIn('dire/binary\n', without)
        self.assertNotIn('plain\n', without)
        patch = '\n'.join(done.out.splitlines()) + '\n'
        for name in ('other', 'dire/edited', 'dire/deep', 'dire/below/file', 'y', 'x', 'free', 'even', 'emptied/empty3', 'dire/binary'):
            self.assertIn('rename to %s\n' % name, patch)
        expected = dict(content(self.source), **content(self.upper()))
        for name in ('plain', 'edited', 'dir/deep', 'dir/below/file', 'made executable', 'odd\n\x1b', 'swapped', 'binary', 'removed/file', *('removed/empty%d' % i for i in range(5))):
            del expected[name]
        del expected['dire/binary']
        binary = patch.index('diff --git a/binary b/dire/binary')
        patch = patch[:binary] + patch[patch.index('diff --git', binary + 1):]
        subprocess.run(['git', 'apply', '-p1'], cwd=copy, input=patch.encode(), check=True)
        found = content(copy)
        del found['binary']
        self.assertEqual(found, expected)

    def test_a_rename_in_each_form(self):
        lines = ''.join('line %d\n' % i for i in range(10))
        self.alice.write('source/dir/below/long', lines)
        self.alice.write('source/top', 'another\n' + lines)
        self.assert_cow('set -e; mv dir/below/long dir/other; echo more >>dir/other; mv top tip')
        self.assertEqual(self.diff().out, 'diff --git a/dir/below/long b/dir/other\nsimilarity index 95%\nrename from dir/below/long\nrename to dir/other\n'
                         '--- a/dir/below/long\n+++ b/dir/other\n@@ -8,3 +8,4 @@ line 6\n line 7\n line 8\n line 9\n+more\n'
                         'diff --git a/top b/tip\nsimilarity index 100%\nrename from top\nrename to tip\n')
        self.assertEqual(self.diff('--stat').out, ' dir/{below/long => other} | 1 +\n top => tip | 0\n 2 changed, 1 insertions(+), 0 deletions(-)\n')
        self.assertEqual(self.names(), ['dir/other', 'tip'])
        change = self.changes()['tip']
        self.assertEqual((change['change'], change['old_path']['text'], change['similarity'], change['content_changed']), ('renamed', 'top', 100, False))
        self.assertEqual(change['old'], change['new'])
        self.assertEqual(self.names('dir/other'), ['dir/other'])
        self.assertIn('new file mode 100644\n', self.diff('dir/other').out)  # where the other side is not asked for

    def test_binary_files_are_noted(self):
        self.assert_cow('printf "a\\0b" >file; head -c 17M /dev/zero | tr "\\0" x >large')
        out = self.diff().out
        self.assertIn('Binary files a/file and b/file differ\n', out)
        self.assertIn('Binary files /dev/null and b/large differ\n', out)
        self.assertIn(' file | Bin 4 -> 3 bytes\n', self.diff('--stat').out)

    def test_what_changed_outside_meanwhile_shows_as_well(self):
        self.assert_cow('echo inside >file')
        self.alice.write('source/file', 'outside\n')
        self.alice.write('source/moved', 'outside\n')
        self.assertEqual(self.names(), ['file'])
        self.assertIn('-outside\n+inside\n', self.diff().out)

    def test_while_a_sandbox_works_on_it_that_is_said(self):
        process = self.start('sh', '-c', 'echo x >file; echo ready; cat', options=['--cow', self.source, '-C', self.source], env=self.environment())
        self.assertEqual(yett.line_of(process.stdout), 'ready')
        done = self.diff('--name-only')
        self.assertEqual((done.code, done.out), (0, 'file\n'), done)
        self.assertIn('a sandbox works on the store', done.err)


class Layers(Diff):
    """Of snapshots, and of what was hidden."""

    def layer(self, name):
        """The upper layer becomes one below, and an empty one takes its place."""
        os.makedirs(os.path.join(self.store(), os.path.dirname(name)), exist_ok=True)
        os.rename(self.upper(), os.path.join(self.store(), name))
        os.mkdir(self.upper(), 0o755)

    def test_frozen_layers_count_from_the_newest_down(self):
        self.assert_cow('echo first >file; echo low >low; rm gone; mkdir made; echo x >made/x')
        self.layer('layers/1')
        yett.write(self.upper('file'), 'second\n')
        os.mknod(self.upper('low'), 0o020000, 0)
        os.mkdir(self.upper('made'))
        yett.write(self.upper('made', 'y'), 'y\n')
        self.layer('layers/2')
        yett.write(self.upper('gone'), 'x\n')
        os.mkdir(self.upper('made'))
        for folder, folders, files in os.walk(self.store()):
            for name in ['.'] + files:
                self.own(os.path.join(folder, name))
        self.assertEqual(self.names(), ['file', 'made/', 'made/x', 'made/y'])
        self.assertIn('-old\n+second\n', self.diff().out)
        self.assertEqual(self.names('made/x'), ['made/x'])
        os.rename(self.store() + '/layers/2', self.store() + '/layers/3')  # what is behind a gap is none
        self.assertEqual(self.names(), ['file', 'low', 'made/', 'made/x'])

    def test_sixty_five_layers(self):
        self.make_store()
        for number in range(1, 65):
            self.layer('layers/%d' % number)
            yett.write(self.store() + '/layers/%d/file' % number, 'of %d\n' % number)
            yett.write(self.store() + '/layers/%d/n%02d' % (number, number), '')
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.store()], check=True)
        self.assertIn('-old\n+of 64\n', self.diff('file').out)
        self.assertEqual(len(self.names()), 65)

    def test_a_layer_that_is_a_link_is_refused(self):
        self.make_store()
        os.mkdir(self.store() + '/layers')
        os.symlink('/etc', self.store() + '/layers/1')
        done = self.diff()
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn('cannot open %s/layers/1' % self.store(), done.err)
        os.unlink(self.store() + '/layers/1')
        os.symlink('/etc', self.store() + '/hidden')
        self.assertIn('cannot open %s/hidden' % self.store(), self.diff().err)

    def test_what_was_hidden_is_no_change_unless_it_was_made(self):
        self.assert_cow('echo made >file; mkdir fresh')
        os.mkdir(self.store() + '/hidden')
        for name in ('file', 'gone', 'dir'):
            os.mknod(self.store() + '/hidden/' + name, 0o020000, 0)
        os.mknod(self.upper('gone'), 0o020000, 0)
        os.mkdir(self.upper('dir'))
        os.setxattr(self.upper('dir'), 'user.overlay.opaque', b'y')
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.store()], check=True)
        self.assertEqual({path: change['change'] for path, change in self.changes().items()}, {'file': 'modified', 'fresh': 'added'})


class Hostile(Diff):
    def test_names_and_content_do_nothing_on_a_terminal(self):
        self.assert_cow('printf "\\033[2Jred\\0\\t\\n" >text; printf "\\033[31mx\\ty\\n" >file; : >"$(printf "e\\033[2J\\nx")"; : >$(printf "%0255d" 0)')
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        done = self.diff('--no-pager', stdout=slave)
        self.assertEqual(done.code, 0, done)
        os.close(slave)
        shown = yett.read_terminal(master)
        self.assertIn(b'+\\x1b[31mx\ty\r\n', shown)
        self.assertNotIn(b'\x1b', shown)
        self.assertIn('\x1b[31mx\ty\n', self.diff().out)  # a file gets it as it is
        out = self.names()
        self.assertIn('"e\\033[2J\\nx"', out)
        self.assertIn('0' * 255, out)

    def test_no_link_is_followed_and_nothing_is_waited_for(self):
        self.assert_cow('mkfifo pipe; ln -s /etc/passwd link; rm -r dir; ln -s /etc dir')
        os.mknod(self.upper('device'), 0o600 | 0o020000, os.makedev(1, 5))
        os.unlink(self.upper('pipe'))
        os.mkfifo(self.upper('pipe'))
        self.own(self.upper('pipe'))
        out = self.diff().out
        self.assertNotIn('root:', out)
        self.assertIn('+/etc/passwd\n', out)
        self.assertIn('# added fifo pipe: mode 0', out)
        self.assertIn('# added device device: mode 0600\n', out)

    def test_a_top_that_is_a_link_is_refused(self):
        self.assert_cow('echo x >file')
        os.rename(self.upper(), self.store() + '/away')
        os.symlink('/etc', self.upper())
        done = self.diff()
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn('cannot open %s/upper' % self.store(), done.err)

    def test_a_huge_sparse_file_costs_nothing(self):
        self.alice.write('source/same', '')
        os.truncate(self.source + '/same', 2 << 30)
        self.assert_cow('truncate -s 15T huge')
        yett.write(self.upper('same'), '')
        self.own(self.upper('same'))
        os.truncate(self.upper('same'), 2 << 30)
        changes = self.changes(code=1)
        self.assertEqual((changes['huge']['new']['size'], changes['huge']['binary']), (15 << 40, True))
        done = self.diff('--name-only')
        self.assertEqual((done.code, done.out), (1, 'huge\nsame\n'))
        self.assertIn('same: is too large to be compared with the source, and is listed as modified', done.err)

    def test_a_directory_that_is_shut_is_told(self):
        self.assert_cow('mkdir shut; echo x >shut/x; echo x >file; chmod 0 shut; mkdir -p dir; echo x >dir/unread; chmod 0 dir/unread')
        done = self.diff()
        self.assertEqual(done.code, 1, done)
        self.assertIn('shut: Permission denied', done.err)
        self.assertIn('dir/unread: Permission denied', done.err)
        self.assertIn('not all that was changed is shown', done.err)
        self.assertIn('+x\n', done.out)

    def test_a_tree_deeper_than_a_path_is_told(self):
        self.assert_cow('echo x >file; n=%s; i=0; while [ $i -lt 30 ]; do mkdir $n; cd -P $n; i=$((i+1)); done' % ('d' * 200))
        done = self.diff('--name-only')
        self.assertEqual(done.code, 1, done)
        self.assertIn('is deeper than a path can be long', done.err)
        self.assertEqual(done.out.splitlines()[-1], 'file')


class Refused(Diff):
    def test_a_store_that_is_not_there(self):
        self.make_store()
        for name in ('0123456789abcdef', '../' + self.works()[0]['id'], ''):
            done = self.yett('diff', name, env=self.environment())
            self.assertEqual(done.code, 1, done)
            self.assertIn('there is no store', done.err)
        self.assertIn('Changes that are kept in memory have no store', done.err)

    def test_paths_that_are_not_below(self):
        self.make_store()
        for path in ('/etc', '..', 'a/../b', './a', 'a//b', ''):
            done = self.diff(path)
            self.assertEqual(done.code, 2, (path, done))
            self.assertIn('expected a path below the directory that was shared', done.err)
        self.assertEqual(self.diff('--stat', '--name-only').code, 2)
        done = self.diff('--color', 'sometimes')
        self.assertEqual(done.code, 2)
        self.assertIn('--color sometimes: expected auto, always or never', done.err)

    def test_a_source_that_is_another_directory_is_said_to_be(self):
        self.assert_cow('echo x >file')
        os.rename(self.source, self.folder('replaced') + '/source')
        self.assertEqual(self.folder('source'), self.source)
        done = self.diff('--name-only')
        self.assertEqual((done.code, done.out), (0, 'file\n'))
        self.assertIn('%s is no longer the directory that the store was made for' % self.source, done.err)

    def test_a_source_that_is_gone_and_a_store_that_tells_nothing(self):
        self.make_store()
        os.rename(self.source, self.source + '-away')
        self.assertIn('cannot open %s, the directory of the store' % self.source, self.diff().err)
        os.unlink(self.store() + '/info')
        self.assertIn('does not say yet which directory it is for', self.diff().err)


if __name__ == '__main__':
    yett.main()
