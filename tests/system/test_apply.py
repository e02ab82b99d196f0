# SPDX-License-Identifier: Apache-2.0
"""yett apply: what a copy-on-write sandbox changed, taken over into its source: all of it or nothing, whatever comes in between."""
import ctypes
import errno
import fcntl
import json
import os
import pty
import re
import shutil
import stat
import struct
import subprocess
import time

import tiers
import yett
from disk import Disk
from workspace import Workspace

LEFT, BROKEN, KILLED = 3, 4, 99
EACH = tiers.number(3, 1)  # of how many steps one is tried

# Each kind of change, in one sandbox.
CHANGES = ('set -e; echo more >>file; rm gone; rm -r removed; mkdir -p made/deep; echo m >made/deep/x; ln -s file link; chmod 755 moved; '
           'chmod 700 dir; mv dir/below/file dir/below/other; rm -r renamed; echo now >renamed; mkdir closed; echo c >closed/in; chmod 500 closed; '
           'rm kind; mkdir kind; echo k >kind/in')


def content(top):
    """Of each name its kind and mode, and what is in it: what an apply takes over. Its stage is left out."""
    found = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith('.yett-apply-')]
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(st.st_mode) else yett.read(path) if stat.S_ISREG(st.st_mode) else ''
            found[os.path.relpath(path, top)] = (stat.S_IFMT(st.st_mode), 0 if stat.S_ISLNK(st.st_mode) else stat.S_IMODE(st.st_mode), what)
    return found


class Apply(Workspace):
    def setUp(self):
        super().setUp()
        self.work = None  # what is meant where nothing else is said; None: the one that is there, which is asked for
        self.alice.write('source/kind', 'a file\n')

    def start(self, *words, **more):
        self.settle()
        return super().start(*words, **more)

    def cow(self, *words, **more):
        self.settle()
        return super().cow(*words, **more)

    @staticmethod
    def settle():
        """Until a later change has a later time, which is told only so finely: who changes files right before is in doubt."""
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        yett.wait_until(lambda: time.clock_gettime_ns(5) > now, 'a tick of the clock')  # CLOCK_REALTIME_COARSE

    def store(self, work=None):
        return super().store(work or self.work)

    def apply(self, *words, work=None, **more):
        return self.yett('apply', (work or self.work or self.works()[0])['id'], *words, env={**self.environment(), **more.pop('env', {})}, **more)

    def assert_apply(self, *words, code=0, **more):
        done = self.apply(*words, **more)
        self.assertEqual(done.code, code, done)
        return done.out

    def room(self, *names):
        return os.path.join(self.store(), 'apply', *names)

    def seen_inside(self, script):
        """What such a sandbox has before its eyes at its end."""
        copy = self.folder('copy')
        shutil.rmtree(copy)
        shutil.copytree(self.source, copy, symlinks=True)
        for folder, folders, files in os.walk(copy):
            for name in [''] + folders + files:
                os.chown(os.path.join(folder, name), self.alice.uid, self.alice.gid, follow_symlinks=False)
        done = self.service.run(self.alice, 'sh', '-c', 'umask 022; cd "$1" && ' + script, 'sh', copy)
        self.assertEqual(done.code, 0, done)
        return content(copy)


class Taken(Apply):
    def test_each_kind_of_change_is_taken_over(self):
        after = self.seen_inside(CHANGES)
        self.assert_cow(CHANGES)
        out = self.assert_apply()
        self.assertEqual(content(self.source), after)
        self.assertEqual(out.splitlines(), ['added    closed/', 'added    closed/in', 'mode     dir/', 'removed  dir/below/file', 'added    dir/below/other', 'changed  file',
                                            'removed  gone', 'changed  kind/', 'added    kind/in', 'added    link', 'added    made/', 'added    made/deep/',
                                            'added    made/deep/x', 'mode     moved', 'removed  removed/', 'removed  removed/file', 'changed  renamed', 'removed  renamed/file'])
        for path in ('file', 'made/deep/x', 'link'):
            self.assertEqual(os.lstat(os.path.join(self.source, path)).st_uid, self.alice.uid)
        self.assertEqual(os.listdir(self.room()), ['applied'])
        self.assertEqual(self.yett('diff', '--name-only', self.works()[0]['id'], env=self.environment()).out, '')

    def test_only_what_is_named(self):
        before = content(self.source)
        self.assert_cow(CHANGES)
        self.assertEqual(self.assert_apply('gone', 'made/deep/x').splitlines(), ['removed  gone', 'added    made/', 'added    made/deep/', 'added    made/deep/x'])
        now = content(self.source)
        self.assertEqual({path for path in set(before) | set(now) if before.get(path) != now.get(path)}, {'gone', 'made', 'made/deep', 'made/deep/x'})
        self.assert_apply()
        self.assertEqual(yett.read(self.source + '/file'), 'old\nmore\n')
        done = self.apply('../x')
        self.assertEqual(done.code, 2, done)

    def test_a_dry_run_only_tells(self):
        before = content(self.source)
        self.assert_cow('echo more >>file; rm gone')
        self.assertEqual(self.assert_apply('--dry-run'), 'changed  file\nremoved  gone\n')
        self.assertEqual(content(self.source), before)

    def test_what_was_applied_and_is_changed_again_inside_is_no_conflict(self):
        process = self.start('sh', '-c', 'echo one >file; echo one >new; mkdir d; echo one >d/x; echo ready; read line; echo two >file; echo two >new; echo two >d/x; rm gone; echo ready; cat',
                             options=['--cow', self.source, '-C', self.source], env=self.environment(), stdin=subprocess.PIPE)
        self.assertEqual(yett.line_of(process.stdout), 'ready')
        self.assert_apply()
        self.assertEqual(yett.read(self.source + '/new'), 'one\n')
        process.stdin.write(b'\n')
        process.stdin.flush()
        self.assertEqual(yett.line_of(process.stdout), 'ready')
        self.assert_apply()
        self.assertEqual([yett.read(os.path.join(self.source, name)) for name in ('file', 'new', 'd/x')], ['two\n'] * 3)

    def test_frozen_layers_count_as_one(self):
        self.assert_cow('echo one >file; echo one >new; rm gone; mkdir d; echo one >d/x')
        work = self.works()[0]['id']
        self.assertEqual(self.yett('snapshot', 'take', work, 'first', env=self.environment()).code, 0)
        done = self.sandbox('sh', '-c', 'cd "$0" && echo two >file; rm new; echo back >gone; echo two >d/y', self.source, options=['--store', work], env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.assert_apply(), 'added    d/\nadded    d/x\nadded    d/y\nchanged  file\nchanged  gone\n')
        self.assertEqual([yett.read(os.path.join(self.source, name)) for name in ('file', 'gone', 'd/x', 'd/y')], ['two\n', 'back\n', 'one\n', 'two\n'])
        self.assertFalse(os.path.exists(self.source + '/new'))

    def test_a_mode_is_not_changed_under_names_elsewhere(self):
        outside = self.source + '-outside'
        os.link(self.source + '/moved', outside)
        before = os.stat(outside).st_mode
        self.assert_cow('chmod 750 moved')
        self.assertEqual(self.assert_apply(), 'mode     moved\n')
        self.assertEqual((os.stat(outside).st_mode, os.stat(self.source + '/moved').st_mode & 0o777), (before, 0o750))
        self.assertEqual(yett.read(self.source + '/moved'), yett.read(outside))

    def test_in_json(self):
        self.assert_cow('echo more >>file; echo x >.envrc')
        result = json.loads(self.assert_apply('--json', code=LEFT))['result']
        self.assertEqual(result['apply'], {'applied': [{'path': {'length': 4, 'text': 'file', 'base64': None}, 'change': 'changed'}],
                                           'left': [{'path': {'length': 6, 'text': '.envrc', 'base64': None}, 'reason': 'is protected: name it to have it applied',
                                                     'conflict': False, 'protected_because': 'programs look for what begins with a dot'}]})


class Staged(Apply):
    def test_a_place_that_others_may_write_to_is_not_used(self):
        """What is about to be put in place could be changed there."""
        self.assert_cow('echo inside >>file')
        before = yett.read(self.source + '/file')
        for path, mode in ((self.room(), 0o700), (self.room('stage'), 0o777)):
            os.mkdir(path)
            os.chown(path, self.alice.uid, self.alice.gid)
            os.chmod(path, mode)
        done = self.apply()
        self.assertNotEqual(done.code, 0, done)
        self.assertIn('Operation not permitted', done.err)
        self.assertEqual(yett.read(self.source + '/file'), before)
        os.chmod(self.room('stage'), 0o700)
        self.assert_apply()
        self.assertEqual(yett.read(self.source + '/file'), before + 'inside\n')


class Conflicts(Apply):
    def test_nothing_is_applied_where_something_was_changed_outside(self):
        self.assert_cow('echo inside >>file; echo inside >>moved; rm gone')
        self.alice.write('source/file', 'outside\n')
        before = content(self.source)
        done = self.apply()
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn('file: was changed outside since the sandbox was made', done.err)
        self.assertIn('--force', done.err)
        self.assertEqual(content(self.source), before)
        self.assert_apply('moved', 'gone')
        self.assertEqual(yett.read(self.source + '/file'), 'outside\n')
        self.assert_apply('--force', 'file')
        self.assertEqual(yett.read(self.source + '/file'), 'old\ninside\n')

    def test_files_that_have_come_or_gone_outside(self):
        shutil.copytree(self.source + '/dir', self.source + '-other')
        self.assert_cow('echo inside >>file; echo inside >new; rm gone; rm -r removed; echo x >dir/below/file; mv moved other')
        os.rename(self.source + '/file', self.source + '/elsewhere')
        self.alice.write('source/new', 'outside\n')
        self.alice.write('source/removed/later', 'outside\n')
        os.rename(self.source + '/dir', self.source + '/was')
        os.rename(self.source + '-other', self.source + '/dir')
        before = content(self.source)
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        for words in ('file: was changed inside, and removed or moved outside', 'new: was changed outside', 'removed/later: was changed outside', 'dir/below/file: is in a directory that has come to its place'):
            self.assertIn(words, done.err)
        self.assertEqual(content(self.source), before)

    def test_what_was_hidden_from_the_sandbox_is_not_overwritten(self):
        self.assert_cow('echo own >file; echo own >dir/below/file; echo x >moved', '--hide', 'file', '--hide', 'dir')
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        self.assertIn('file: was hidden from the sandbox', done.err)
        self.assertEqual(yett.read(self.source + '/file'), 'old\n')
        self.assert_apply('moved')

    def test_a_directory_stays_with_what_was_hidden_in_it(self):
        self.alice.mkdir('source/d')
        self.alice.mkdir('source/d/e')
        for name in ('d/a', 'd/e/a', 'd/e/.env'):
            self.alice.write('source/' + name, 'x\n')
        self.assert_cow('rm -r d; echo more >>file', '--hide', '.env')
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assertIn('d/e: something in it was hidden from the sandbox', done.err)
        self.assertEqual((os.listdir(self.source + '/d'), os.listdir(self.source + '/d/e')), (['e'], ['.env']))
        self.assertEqual(yett.read(self.source + '/file'), 'old\nmore\n')

    def test_as_many_hidden_names_as_a_store_tells(self):
        self.assert_cow('echo more >>file')
        with open(self.store() + '/info', 'a', encoding='utf-8') as info:
            info.writelines('hidden=%s%d\n' % ('x' * 100, i) for i in range(2000))
        self.assert_apply()

    def test_where_the_clock_was_set_all_that_was_there_may_have_changed(self):
        self.assert_cow('echo inside >>file; echo new >new')
        info = self.store() + '/info'
        text = yett.read(info)
        uptime = text.split('clock=')[1].split()[1]
        yett.write(info, text.replace(' %s ' % uptime, ' %d ' % (int(uptime) + 5 * 10 ** 9)), 0o600)
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        self.assertIn('file: may have been changed outside: the clock was set since', done.err)
        self.assertNotIn('new:', done.err)
        self.assert_apply('new')

    def test_another_directory_under_the_name_of_the_source(self):
        self.assert_cow('echo inside >>file')
        os.rename(self.source, self.source + '-old')
        shutil.copytree(self.source + '-old', self.source)
        os.chown(self.source, self.alice.uid, self.alice.gid)
        done = self.apply('--force')
        self.assertEqual(done.code, 1, done)
        self.assertIn('the store belongs to another directory', done.err)

    def test_another_file_system_where_the_source_was(self):
        self.assert_cow('echo inside >>file')
        info = self.store() + '/info'
        text = yett.read(info)
        number = int(text.split('\ndevice=')[1].split()[0])
        other = text.replace('\ndevice=%d\n' % number, '\ndevice=%d\n' % (number + 1))
        yett.write(info, other, 0o600)
        done = self.apply('--force')
        self.assertEqual(done.code, 1, done)
        self.assertIn('the store belongs to another directory', done.err)
        boot = text.split('\nboot=')[1].split()[0]
        yett.write(info, other.replace('\nboot=%s\n' % boot, '\nboot=another\n'), 0o600)
        self.assert_apply()

    def test_two_at_once(self):
        self.assert_cow('echo inside >>file')
        self.assert_apply('--dry-run')
        for path in (self.room(), self.source):
            fd = os.open(path, os.O_RDONLY)
            fcntl.flock(fd, fcntl.LOCK_EX)
            done = self.apply()
            self.assertEqual(done.code, 1, done)
            self.assertIn('another yett apply works on', done.err)
            os.close(fd)
        self.assert_apply()


class Protected(Apply):
    def test_they_are_applied_only_when_they_are_named(self):
        self.assert_cow('git init -q -b main . && echo x >.envrc && mkdir -p sub/.vscode d/objects d/refs && echo x >sub/.vscode/tasks.json && echo x >d/HEAD && echo x >d/config && echo x >d/note && echo plain >>file')
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        for path in ('.git/config', '.git/hooks', '.envrc', 'sub/.vscode/tasks.json', 'd/HEAD', 'd/config'):
            self.assertFalse(os.path.exists(os.path.join(self.source, path)), path)
        for path in ('d/note', 'file'):
            self.assertTrue(os.path.exists(os.path.join(self.source, path)), path)
        self.assertIn('yett: .envrc: is protected (programs look for what begins with a dot): name it to have it applied\n', done.err)
        self.assertRegex(done.err, r"yett: \.git: is protected \(git goes by it\), with \d+ changes of git's own files: fetch commits with yett git fetch, or name it with --include-protected\n")
        self.assert_apply('sub', code=LEFT)
        self.assert_apply('.envrc', 'sub/.vscode/tasks.json')
        self.assertEqual(yett.read(self.source + '/sub/.vscode/tasks.json'), 'x\n')

    def show(self, *words):
        return self.yett('diff', *words, env=self.environment())

    def test_what_git_keeps_is_its_own(self):
        """Neither shown nor taken, unless .git is named: whoever reads a patch would read objects."""
        self.assert_cow('git init -q -b main . && git -c user.name=x -c user.email=x commit -q --allow-empty -m x && echo more >>file')
        work = self.works()[0]['id']
        done = self.show('--name-only', work)
        self.assertEqual(done.out, 'file\n', done)
        self.assertIn('yett: .git: is protected (git goes by it), and git\'s own files there are not shown', done.err)
        self.assertIn('.git/HEAD\n', self.show('--name-only', work, '.git').out)
        done = self.apply('--include-protected')
        self.assertEqual((done.code, done.out), (LEFT, 'changed  file\n'), done)
        self.assertIn('added    .git/HEAD\n', self.assert_apply('--include-protected', '.git'))
        self.assertTrue(os.path.exists(self.source + '/.git/config'))

    def test_what_git_keeps_is_its_own_wherever_it_is_and_whatever_is_listed(self):
        path = self.alice.home + '/.config/yett/protect'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        yett.write(path, '.git\n')
        self.addCleanup(os.unlink, path)
        self.assert_cow('for d in .git node_modules/x/.git .GIT venv/git~1; do mkdir -p $d/hooks && echo x >$d/hooks/pre-commit && echo x >$d/config; done')
        done = self.apply('--include-protected')
        self.assertEqual(done.code, LEFT, done)
        self.assertEqual(sorted(name for name in os.listdir(self.source) if 'git' in name.lower()), [])
        self.assertEqual((os.listdir(self.source + '/node_modules/x'), os.listdir(self.source + '/venv')), ([], []))

    def test_what_goes_into_git_or_a_protected_name_is_shown_as_gone(self):
        """Of a file with another name diff shows one change, and apply would take half of it."""
        self.assert_cow('mkdir .git && mv file .git/zz && mv moved Makefile')
        work = self.works()[0]['id']
        self.assertEqual(self.show('--name-only', work).out, 'Makefile\nfile\nmoved\n')
        self.assertIn('diff --git a/file b/file\ndeleted file', self.show(work).out)
        self.assertIn('yett: Makefile: is protected', self.show('--stat', work).err)
        changes = {change['path']['text']: change for change in yett.told(self.show('--json', work).out)['changes']}
        self.assertEqual([(path, changes[path]['change'], changes[path]['protected_because']) for path in ('.git/zz', 'Makefile', 'file')],
                         [('.git/zz', 'added', 'git goes by it'), ('Makefile', 'added', 'builds go by it'), ('file', 'deleted', None)])

    def test_many_of_them_hide_nothing_of_git(self):
        self.assert_cow('for i in $(seq 40); do echo x >"!$i.mk"; done; for d in . sub; do mkdir -p $d/.git $d/z; for i in 1 2 3; do echo x >$d/.git/$i; echo x >$d/z/$i; done; done')
        err = self.show('--stat', self.works()[0]['id']).err
        self.assertEqual([err.count('yett: %s: is protected (git goes by it)' % name) for name in ('.git', 'sub/.git')], [1, 1], err)
        self.assertIn('yett: and 20 more names are protected\n', err)

    KINDS = {'.config/x/y': 'programs look for what begins with a dot', 'a/.local/z': 'programs look for what begins with a dot',
             'Makefile': 'builds go by it', 'a/CMakeLists.txt': 'builds go by it', 'AGENT.md': 'agents obey it', 'opencode.jsonc': 'agents obey it',
             'lefthook.yml': 'git or its like runs it', 'shell.nix': 'tools go by it where they are called', 'x.desktop': 'editors and desktops go by it',
             'azure-pipelines-2.yml': 'continuous integration goes by it', 'x.pth': 'package managers and interpreters go by it',
             'node_modules/x/y.js': 'package managers and interpreters go by it', 'bin/ls': 'programs are looked for in it'}
    PLAIN = ('.gitignore', 'a/.editorconfig', 'a/bin/main.rs', 'a/agents.py')

    def make_kinds(self):
        self.assert_cow(' && '.join('mkdir -p "$(dirname %s)" && echo x >%s' % (path, path) for path in (*self.KINDS, *self.PLAIN)))

    def test_whole_kinds_are_left_each_with_why_and_taken_with_a_word(self):
        self.make_kinds()
        done = self.apply('--json')
        self.assertEqual(done.code, LEFT, done)
        apply = yett.told(done.out)['apply']
        why = {item['path']['text']: item['protected_because'] for item in apply['left']}
        self.assertEqual({path: why.get(path) for path in self.KINDS}, self.KINDS)
        self.assertEqual({item['path']['text'] for item in apply['applied']}, {'a', 'a/bin', *self.PLAIN})
        done = self.apply('--include-protected')
        self.assertEqual(done.code, 0, done)
        for path in self.KINDS:
            self.assertEqual(yett.read(os.path.join(self.source, path)), 'x\n')

    def test_they_are_shown_before(self):
        self.make_kinds()
        done = self.show('--json', self.works()[0]['id'])
        changes = {change['path']['text']: change['protected_because'] for change in yett.told(done.out)['changes']}
        self.assertEqual({path: changes[path] for path in (*self.KINDS, *self.PLAIN)}, {**self.KINDS, **dict.fromkeys(self.PLAIN)})
        for form in ((), ('--stat',), ('--name-only',)):
            done = self.show(*form, self.works()[0]['id'])
            self.assertEqual(done.code, 0, done)
            self.assertIn('yett: Makefile: is protected (builds go by it): yett apply applies it only if you name it\n', done.err)
            self.assertEqual(done.err.count('yett: node_modules: is protected'), 1, done.err)  # of all that is in it
            self.assertNotIn('gitignore', done.err)

    def test_no_repository_comes_about_in_two_steps(self):
        process = self.start('sh', '-c', 'mkdir d; echo x >d/HEAD; echo x >d/config; echo ready; read line; mkdir d/objects d/refs; echo ready; cat',
                             options=['--cow', self.source, '-C', self.source], env=self.environment(), stdin=subprocess.PIPE)
        self.assertEqual(yett.line_of(process.stdout), 'ready')
        self.assert_apply()
        process.stdin.write(b'\n')
        process.stdin.flush()
        self.assertEqual(yett.line_of(process.stdout), 'ready')
        self.assert_apply(code=LEFT)
        self.assertEqual(sorted(os.listdir(self.source + '/d')), ['HEAD', 'config'])

    def test_a_directory_with_one_of_them_stays(self):
        self.alice.mkdir('source/old')
        self.alice.mkdir('source/old/.vscode')
        self.alice.write('source/old/.vscode/tasks.json', 'x')
        self.alice.write('source/old/plain', 'x')
        self.assert_cow('rm -r old')
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assertEqual(sorted(os.listdir(self.source + '/old')), ['.vscode'])


class Listed(Apply):
    """Names that the user has listed; how a list is read is in tests/unit/test_client_name_list.c."""

    def list_names(self, text):
        path = self.alice.home + '/.config/yett/protect'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        self.addCleanup(os.unlink, path)

    def test_what_is_listed_is_applied_only_where_it_is_named(self):
        self.assert_cow('echo x >Makefile; mkdir -p sub/makefile sub/deploy; echo x >sub/makefile/in; echo x >sub/deploy/prod.yml; echo x >sub/deploy/other; echo x >a.key; echo x >plain')
        self.list_names('# what builds\nMakefile\n*.key\ndeploy/prod*\n')
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assertEqual(sorted(done.out.split()[1::2]), ['plain', 'sub/', 'sub/deploy/', 'sub/deploy/other'], done)
        for name in ('Makefile', 'a.key', 'sub/makefile', 'sub/deploy/prod.yml'):
            self.assertIn('yett: %s: is protected (it is listed): name it to have it applied\n' % name, done.err)
        self.assertEqual(self.assert_apply('a.key', 'sub/makefile/in'), 'added    a.key\nadded    sub/makefile/\nadded    sub/makefile/in\n')

    def test_a_list_that_cannot_be_followed_is_an_error_before_anything_is_applied(self):
        self.assert_cow('echo x >plain')
        self.list_names('a*b\n')
        done = self.apply()
        self.assertEqual(done.code, 1, done)
        self.assertIn('/.config/yett/protect: a*b: expected a name', done.err)
        self.assertFalse(os.path.exists(self.source + '/plain'))


class InMemory(Apply):
    SIZE = '16m'

    def setUp(self):
        """In memory: what is synced there is synced at once, also where others have much to write."""
        super().setUp()
        top = self.folder('memory')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%s' % self.SIZE, 'tmpfs', top], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', top], check=True)
        shutil.copytree(self.source, top + '/source')
        self.state, self.source = top + '/state', top + '/source'
        os.mkdir(self.state, 0o700)
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), top], check=True)


class Steps(InMemory):
    """An apply that ends, or fails, at one of its steps."""

    def faulty(self, step, error=None, words=()):
        script = self.alice.write('faulty', '#!/bin/sh\nYETT_TEST_STEP=%d %s exec %s "$@"\n' %
                                  (step, 'YETT_TEST_ERROR=%d' % error if error else '', self.service.run_.path('tests/system/yett-apply-faults')), mode=0o755)
        return self.apply(*words, env={'YETT_APPLY': script})

    def prepare(self):
        self.before, self.after = content(self.source), self.seen_inside(CHANGES)
        self.assert_cow(CHANGES)
        self.work = self.works()[0]
        shutil.rmtree(self.source + '-kept', ignore_errors=True)
        shutil.copytree(self.source, self.source + '-kept', symlinks=True)

    def clean(self):
        """All that there is of the stage and the journal is gone."""
        self.assertEqual([name for name in os.listdir(self.room()) if name != 'applied'], [])
        self.assertEqual([name for name in os.listdir(self.source) if name.startswith('.yett')], [])

    def assert_old_or_new(self, step):
        for path, now in content(self.source).items():
            old, new = self.before.get(path), self.after.get(path)
            # a directory may be open to its owner for as long as an apply works in it
            self.assertTrue(now in (old, new) or (now[0] == stat.S_IFDIR and path == 'closed'), (step, path, now))
        for path in set(self.before) & set(self.after):
            self.assertTrue(os.path.lexists(os.path.join(self.source, path)), (step, path))


class Crash(Steps):
    """At each of them, or in check at each third, with the stage in the store."""

    def copy_back(self):
        for name in os.listdir(self.source):
            path = os.path.join(self.source, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        shutil.copytree(self.source + '-kept', self.source, symlinks=True, dirs_exist_ok=True)
        for folder, folders, files in os.walk(self.source):
            for name in folders + files:
                os.chown(os.path.join(folder, name), self.alice.uid, self.alice.gid, follow_symlinks=False)

    def each_step(self, finish, expected, error=None, words=('--force',)):
        self.prepare()
        kinds, step = set(), 1 - EACH
        while True:
            step += EACH
            done = self.faulty(step, error, words)
            if done.code == 0 and 'Input/output' not in done.err:
                break
            self.assert_old_or_new(step)
            kinds.add(self.one(finish, expected, step, error, done))
            self.clean()
            self.copy_back()
            shutil.rmtree(self.room())
            self.assertLess(step, 300)
        return step, kinds

    def one(self, finish, expected, step, error, done):
        begun = os.path.exists(self.room('journal'))
        if error:
            self.assertFalse(begun, (step, done))
            now = content(self.source)
            self.assertIn(now, (self.before, self.after), (step, done))
            self.assertEqual(now == self.after, done.code == 0, (step, done))
            if done.code == 0:
                self.assert_apply('--dry-run')
                self.assert_apply('nothing', code=LEFT)  # which begins with clearing up
            return now == self.after
        self.assertEqual(done.code, BROKEN, done)
        if begun and step % 5 == 0:
            refused = self.apply()
            self.assertEqual(refused.code, BROKEN, refused)
            self.assertIn('--continue', refused.err)
            refused = self.yett('discard', '--yes', self.work['id'], env=self.environment())
            self.assertEqual(refused.code, 1, refused)
            self.assertIn('--abort', refused.err)
        inner = 0 if step % (6 * EACH) == 1 else 300
        while True:  # which ends at each of its steps as well
            inner += 1
            done = self.faulty(inner, None, [finish])
            if done.code == 0:
                break
            self.assertEqual(done.code, BROKEN, (step, inner, done))
            self.assertIn('was interrupted', done.err, (step, inner))
            self.assert_old_or_new((step, inner))
        if begun:
            self.assertEqual(content(self.source), expected(), (step, inner))
        else:
            self.assertIn(content(self.source), (self.before, self.after))
        self.assert_apply(finish)
        return begun

    def test_one_that_is_killed_at_any_step_is_completed(self):
        steps, kinds = self.each_step('--continue', lambda: self.after)
        self.assertGreater(steps, 35)
        self.assertEqual(kinds, {True, False})

    def test_one_that_is_killed_at_any_step_is_taken_back(self):
        steps, kinds = self.each_step('--abort', lambda: self.before)
        self.assertGreater(steps, 35)
        self.assertEqual(kinds, {True, False})

    def test_one_that_fails_at_any_step_takes_back_what_it_has_done(self):
        steps, kinds = self.each_step(None, None, errno.EIO)
        self.assertGreater(steps, 35)
        self.assertEqual(kinds, {True, False})


class OnDisk(Steps):
    """On a file system in a file."""
    FEATURES, HOW = (), 'loop'

    def setUp(self):
        Apply.setUp(self)
        self.disk = Disk(self, 16 << 20, *self.FEATURES, how=self.HOW)
        self.top = self.disk.top
        shutil.copytree(self.source, self.top + '/source')
        self.state, self.source = self.top + '/state', self.top + '/source'
        os.mkdir(self.state, 0o700)
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.top], check=True)


class PowerCut(OnDisk):
    """The machine loses its power at each step: a file system in a file is shut down as it stands, and what has come to its disk by then is what there is."""

    def each_cut(self, finish):
        self.before, self.after = content(self.source), self.seen_inside(CHANGES)
        self.assert_cow(CHANGES)
        self.work = self.works()[0]
        info = self.store() + '/info'  # the store was used before the cut, when the number of the device may have been another one
        yett.write(info, re.sub('\nboot=.*\n', '\nboot=another\n', yett.read(info)), 0o600)
        self.disk.umount()
        begun, done, step = 0, None, 0
        while not done or done.code != 0:
            step += 1
            self.disk.begin()
            done = self.faulty(step)
            self.disk.cut()
            self.assert_old_or_new(step)
            is_begun = os.path.exists(self.room('journal'))
            begun += is_begun
            self.assert_apply(finish)
            self.assertIn(content(self.source), [self.after if finish == '--continue' else self.before] if is_begun else (self.before, self.after), step)
            self.clean()
            self.disk.umount()
        return step, begun

    def test_one_that_is_killed_at_any_step_is_completed(self):
        steps, begun = self.each_cut('--continue')
        self.assertGreater(steps, 35)
        self.assertGreater(begun, 10)

    def test_one_that_is_killed_at_any_step_is_taken_back(self):
        steps, begun = self.each_cut('--abort')
        self.assertGreater(steps, 35)
        self.assertGreater(begun, 10)


class Full(InMemory):
    """No room for what is to be staged, or for the journal."""
    SIZE = '1m'

    def test_a_file_of_a_pebibyte_that_is_a_hole(self):
        self.assert_cow('truncate -s 1P huge')
        self.assert_apply()
        st = os.stat(self.source + '/huge')
        self.assertEqual((st.st_size, st.st_blocks), (1 << 50, 0))

    def apply_with(self, left):
        """Where the file system has so many KiB left."""
        filler = os.path.join(os.path.dirname(self.source), 'filler')
        with open(filler, 'wb', buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        os.truncate(filler, max(0, os.path.getsize(filler) // 4096 * 4096 - left * 1024))
        done = self.apply()
        os.unlink(filler)
        return done

    def test_names_of_one_file_do_not_fill_the_file_system(self):
        self.assert_cow('head -c 4k /dev/zero | tr "\\0" x >new; for i in 1 2 3 4 5 6 7 8 9; do ln new new-$i; done')
        done = self.apply_with(left=44)  # enough for ten, and not for a hundredth of 1 MiB besides
        self.assertEqual(done.code, 1, done)
        self.assertIn('No space left', done.err)
        self.assertFalse(os.path.exists(self.source + '/new'))
        self.assertEqual(self.apply_with(left=56).code, 0)
        self.assertEqual([os.stat('%s/new-%d' % (self.source, i)).st_nlink for i in range(1, 10)], [1] * 9)

    def test_nothing_is_changed_where_there_is_no_room(self):
        self.assert_cow('head -c 300k /dev/zero | tr "\\0" x >file; rm gone')
        before, names = content(self.source), os.listdir(self.source)
        refused = 0
        for left in range(0, 420, 4):  # KiB
            done = self.apply_with(left)
            if done.code == 0:
                break
            refused += 1
            self.assertEqual(done.code, 1, (left, done))
            self.assertIn('No space left', done.err)
            self.assertEqual((content(self.source), os.listdir(self.source)), (before, names))
            self.assertEqual([name for name in os.listdir(self.room()) if name != 'applied'], [])
        self.assertGreater(refused, 70)
        self.assertEqual(os.path.getsize(self.source + '/file'), 300 * 1024)


class Much(InMemory):
    SIZE = '1g'

    def test_more_changes_than_one_apply_takes(self):
        self.assert_cow('mkdir few many; echo x >few/x')
        many = os.path.join(self.store(), 'upper', 'many')
        for i in range(200000):
            os.mknod('%s/%d' % (many, i))
        os.chown(many + '/1', self.alice.uid, self.alice.gid)
        done = self.apply()
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn('the limit is 200000 changes', done.err)
        self.assertIn('name paths', done.err)
        self.assertEqual(self.assert_apply('few', 'many/1'), 'added    few/\nadded    few/x\nadded    many/\nadded    many/1\n')

    def test_directories_deeper_than_a_path_can_tell(self):
        self.assert_cow('echo x >new')
        for top in (self.source, os.path.join(self.store(), 'upper')):
            at = os.open(top, os.O_RDONLY)
            for _ in range(10000):
                os.mkdir('deep', dir_fd=at)
                os.chown('deep', self.alice.uid, self.alice.gid, dir_fd=at)
                below = os.open('deep', os.O_RDONLY, dir_fd=at)
                os.close(at)
                at = below
            os.mknod('end', dir_fd=at)
            os.close(at)
            if top == self.source:
                os.rename(self.source + '/deep', self.source + '/old')
        os.mknod(os.path.join(self.store(), 'upper', 'old'), stat.S_IFCHR, 0)  # it was removed inside
        done = self.apply()
        self.assertEqual(done.code, LEFT, done)
        self.assertIn('is deeper than a path can be long', done.err)
        self.assertEqual(yett.read(self.source + '/new'), 'x\n')
        for top in ('deep', 'old'):
            self.assertTrue(os.path.isdir(self.source + '/' + top + '/deep' * 800))
            subprocess.run(['rm', '-r', self.source + '/' + top], check=True)
        done = self.yett('discard', '--yes', self.works()[0]['id'], env=self.environment())
        self.assertEqual(done.code, 0, done)


class Quota(OnDisk):
    """No room for the user alone."""
    FEATURES, HOW = Disk.USER_QUOTA

    def limit(self, blocks):
        self.disk.limit(self.alice.uid, blocks)

    def test_nothing_is_changed_where_the_user_may_have_no_more(self):
        self.assert_cow('head -c 100k /dev/zero | tr "\\0" x >file; rm gone')
        before, names = content(self.source), os.listdir(self.source)
        self.assert_apply('--dry-run')
        used = sum(os.lstat(os.path.join(folder, name)).st_blocks for folder, folders, files in os.walk(self.top) for name in folders + files) // 2
        refused = 0
        for blocks in range(used, used + 200, 4):
            self.limit(blocks)
            done = self.apply()
            if done.code == 0:
                break
            refused += 1
            self.assertEqual(done.code, 1, (blocks, done))
            self.assertIn('Disk quota exceeded', done.err)
            self.assertEqual((content(self.source), os.listdir(self.source)), (before, names))
            self.assertEqual([name for name in os.listdir(self.room()) if name != 'applied'], [])
        self.assertGreater(refused, 20)
        self.assertEqual(os.path.getsize(self.source + '/file'), 100 * 1024)


class Labels(Apply):
    """What is staged in the store has the type of that until it is somewhere else."""
    LABEL = b'system_u:object_r:user_home_t:s0\0'

    def setUp(self):
        if not os.path.exists('/sys/fs/selinux/enforce'):
            self.skipTest('there is no SELinux here')
        super().setUp()

    def test_what_is_applied_has_the_label_of_what_it_replaces_or_of_its_directory(self):
        self.assert_cow('echo more >>file; mkdir made; echo new >made/new; ln -s file link')
        for folder, folders, files in os.walk(self.source):
            for name in [''] + folders + files:
                os.setxattr(os.path.join(folder, name), 'security.selinux', self.LABEL, follow_symlinks=False)
        self.assert_apply('--force')
        for name in ('file', 'made', 'made/new', 'link'):
            with self.subTest(name):
                self.assertEqual(os.getxattr(os.path.join(self.source, name), 'security.selinux', follow_symlinks=False).split(b':')[2], b'user_home_t')


class Kept(Steps):
    """What an apply has taken out of the directory, and cannot give back, is not lost."""

    BEFORE_STEP, BEHIND_STEP = 3, 4  # of an apply of one file

    IS_IN_STORE = True

    def stage(self, *names):
        return self.room('stage', *names)

    def kept(self, *names):
        return self.room('kept', *names)

    def half_way(self, step, script='echo inside >>file'):
        self.assert_cow(script)
        done = self.faulty(step)
        self.assertEqual(done.code, BROKEN, done)
        self.assertTrue(os.path.exists(self.room('journal')))

    def replace(self, path, text):
        """As an editor does."""
        new = os.path.join(os.path.dirname(path), 'replacing')
        yett.write(new, text)
        os.chown(new, self.alice.uid, self.alice.gid)
        os.rename(new, path)

    def texts(self):
        found = set()
        for top in (self.source, self.room()):
            for folder, _, files in os.walk(top):
                found |= {yett.read(os.path.join(folder, name)) for name in files}
        return found

    def test_the_old_file_where_others_changed_the_new_one(self):
        for number, (words, expected) in enumerate(((['--abort', '--force'], 'old\n'), (['--continue', '--force'], None)), 1):
            self.half_way(self.BEHIND_STEP)
            self.alice.write(os.path.relpath(self.source, self.alice.home) + '/file', 'outside\n')
            self.assertEqual(self.apply(words[0]).code, BROKEN if expected else 0)
            for step in range(1, 100):
                done = self.faulty(step, None, words)
                self.assertEqual(yett.read(self.source + '/file'), 'outside\n')
                self.assertTrue(not expected or expected in self.texts(), (step, done))
                if done.code == 0:
                    break
            self.assertEqual(os.path.exists(self.kept()), expected is not None, done)
            if expected:
                self.assertGreater(step, 2)
                self.assertEqual(yett.read(self.kept('%d-file' % number)), expected)
                if self.IS_IN_STORE:
                    refused = self.yett('discard', '--yes', self.works()[0]['id'], env=self.environment())
                    self.assertEqual(refused.code, 1, refused)
                    self.assertIn('could not put back', refused.err)
                    self.assertIn(self.kept(), refused.err)
                shutil.rmtree(self.kept())
            done = self.yett('discard', '--yes', self.works()[0]['id'], env=self.environment())
            self.assertEqual(done.code, 0, done)

    def test_what_was_kept_before_a_kill_is_told(self):
        self.half_way(self.BEHIND_STEP)
        self.alice.write(os.path.relpath(self.source, self.alice.home) + '/file', 'outside\n')
        for step in range(1, 100):
            self.assertEqual(self.faulty(step, None, ['--abort', '--force']).code, BROKEN)
            if os.path.exists(self.kept()) and os.listdir(self.kept()):
                break
        for finish in ('--continue', '--abort'):
            done = self.apply(finish)
            self.assertEqual(done.code, BROKEN, done)
            self.assertIn('is not in the stage as the journal says', done.err)
            self.assertIn('may be in ' + self.kept() + ', where a killed apply kept them', done.err)
        self.assertEqual(self.apply('--abort', '--force').code, 0)
        self.assertEqual((yett.read(self.kept('1-file')), yett.read(self.source + '/file')), ('old\n', 'outside\n'))

    def test_a_directory_for_it_that_is_somebody_else_s_is_named(self):
        for make in (os.mkdir, lambda path: os.symlink('/tmp', path), lambda path: yett.write(path, '')):
            self.alice.write(os.path.relpath(self.source, self.alice.home) + '/file', 'old\n')
            self.half_way(self.BEHIND_STEP)
            self.alice.write(os.path.relpath(self.source, self.alice.home) + '/file', 'outside\n')
            make(self.kept())
            done = self.apply('--abort', '--force')
            self.assertEqual(done.code, BROKEN, done)
            parent, name = os.path.split(self.kept())
            self.assertIn('%s is not a directory that is yours alone, in %s: move it away' % (name, parent), done.err)
            subprocess.run(['rm', '-r', self.kept()], check=True)
            self.assertEqual(self.apply('--abort', '--force').code, 0)
            self.assertEqual(yett.read(self.kept('1-file')), 'old\n')
            shutil.rmtree(self.kept())
            shutil.rmtree(self.store())

    def test_a_name_of_255_bytes(self):
        name = 'n' * 255
        self.half_way(self.BEHIND_STEP, 'mv file ' + name + '; cp -p ' + name + ' file')
        self.replace(os.path.join(self.source, name), 'outside\n')
        self.assertEqual(self.apply('--abort', '--force').code, 0)
        self.assertEqual(yett.read(os.path.join(self.source, name)), 'outside\n')

    def test_what_came_out_before_a_kill_goes_over_nothing_that_came_since(self):
        """Killed between the exchange, with which came what nobody had expected, and its giving back; and others have changed the file again."""
        for finish in ('--continue', '--abort'):
            self.alice.write(os.path.relpath(self.source, self.alice.home) + '/file', 'old\n')
            self.half_way(self.BEFORE_STEP)
            staged = self.stage('0')
            os.rename(staged, self.source + '/file')
            yett.write(staged, 'first\n')
            os.chown(staged, self.alice.uid, self.alice.gid)
            self.replace(self.source + '/file', 'second\n')
            done = self.apply(finish)
            self.assertEqual(done.code, BROKEN, done)
            self.assertEqual(yett.read(self.source + '/file'), 'second\n')
            done = self.apply(finish, '--force')
            self.assertEqual(done.code, 0, done)
            self.assertEqual(yett.read(self.source + '/file'), 'second\n')
            self.assertEqual(yett.read(self.kept('1-file')), 'first\n')
            self.assertIn(self.kept() + ': move them to where they belong', done.err)
            shutil.rmtree(self.kept())
            shutil.rmtree(self.store())

    def test_what_is_written_to_the_old_file_by_who_has_it_open(self):
        with open(self.source + '/file', 'a', encoding='ascii') as file:
            self.half_way(self.BEHIND_STEP)
            file.write('late\n')
        self.assertEqual(self.apply('--continue').code, BROKEN)
        self.assertEqual(self.apply('--continue', '--force').code, 0)
        self.assertIn('old\nlate\n', self.texts())

    def test_a_store_is_not_used_while_an_apply_of_it_is_half_way(self):
        self.make_store()
        work = self.works()[0]['id']
        done = self.sandbox('sh', '-c', 'cd "$0" && echo inside >>file', self.source, options=['--store', work], env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.yett('snapshot', 'take', work, 'first', env=self.environment()).code, 0)
        self.assertEqual(self.faulty(self.BEFORE_STEP).code, BROKEN)
        commands = (['snapshot', 'rollback', '--yes', work, 'first'], ['snapshot', 'delete', work, 'first'], ['run', '--store', work, '--', 'true'])
        for words in commands:
            done = self.yett(*words, env=self.environment())
            self.assertNotEqual(done.code, 0, (words, done))
            for word in ('ended half-way', '--continue', '--abort'):
                self.assertIn(word, done.err, words)
        self.assertEqual(self.apply('--abort').code, 0)
        for words in commands:
            done = self.yett(*words, env=self.environment())
            self.assertEqual(done.code, 0, (words, done))


class KeptElsewhere(Kept):
    """The stage is in the source."""
    IS_IN_STORE = False

    def setUp(self):
        super().setUp()
        self.state = self.folder('other-state', mode=0o700)

    def stage(self, *names):
        return os.path.join(self.source, '.yett-apply-' + self.works()[0]['id'], *names)

    def kept(self, *names):
        return os.path.join(self.source, '.yett-apply-%s.kept' % self.works()[0]['id'], *names)

    def test_discard_removes_what_an_apply_has_left_that_was_killed_while_it_staged(self):
        for step, what in ((1, None), (1, 'other'), (2, None)):
            self.assert_cow('echo inside >>file; mkdir d; ln -s x link')
            work = self.works()[0]['id']
            stage = self.stage()
            self.assertEqual(self.faulty(step).code, BROKEN)
            self.assertEqual(sorted(os.listdir(stage)), [str(i) for i in range(step)])
            if what:
                yett.write(os.path.join(stage, what), 'x\n')
                done = self.yett('discard', '--yes', work, env=self.environment())
                self.assertEqual(done.code, 1, done)
                self.assertIn(stage, done.err)
                os.unlink(os.path.join(stage, what))
            done = self.yett('discard', '--yes', work, env=self.environment())
            self.assertEqual(done.code, 0, done)
            self.assertFalse(os.path.exists(stage))


class Elsewhere(Crash):
    """The store is on another file system than the source: the stage is in the source."""

    def setUp(self):
        super().setUp()
        self.state = self.folder('other-state', mode=0o700)


class Inherited(Apply):
    """What a new file has of the one that it replaces, or of the directory that it comes to."""
    READ, WRITE = 4, 2
    GROUP = 54321  # alice's where a test says so

    def acl(self, **perms):
        """user, named (one whom the sandbox knows), group, mask, other"""
        tags = (('user', 1, 0xffffffff), ('named', 2, self.alice.uid), ('group', 4, 0xffffffff), ('mask', 0x10, 0xffffffff), ('other', 0x20, 0xffffffff))
        return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, perms[name], number) for name, tag, number in tags if name in perms)

    def set_acl(self, path, kind='access', **perms):
        os.setxattr(path, 'system.posix_acl_' + kind, self.acl(**perms))

    def get_acl(self, path, kind='access'):
        try:
            return os.getxattr(path, 'system.posix_acl_' + kind)
        except OSError as error:
            self.assertEqual(error.errno, errno.ENODATA)
            return None

    def mode(self, name):
        return stat.S_IMODE(os.stat(os.path.join(self.source, name)).st_mode)

    def test_the_acl_of_a_file_that_is_replaced(self):
        wanted = {'user': 6, 'named': 6, 'group': 0, 'mask': 6, 'other': 0}
        for name in ('file', 'moved', 'gone'):
            self.set_acl(os.path.join(self.source, name), **wanted)
        self.settle()
        self.assert_cow('echo more >>file; chmod 640 moved; echo x >>moved; rm gone; (umask 077; echo x >gone); chmod 660 gone')
        self.assert_apply()
        for name, mask in (('file', 6), ('moved', 4), ('gone', 6)):
            path = os.path.join(self.source, name)
            self.assertEqual(self.get_acl(path), self.acl(**{**wanted, 'mask': mask}), name)
            self.assertEqual(self.mode(name), mask << 3 | 0o600, name)

    def test_the_default_acl_of_the_directory(self):
        wanted = {'user': 7, 'named': 6, 'group': 0, 'mask': 4, 'other': 0}
        self.set_acl(self.source + '/dir', 'default', **wanted)
        self.set_acl(self.source, 'default', user=7, group=0, other=0)  # which is one without a mask
        self.assert_cow('umask 0; echo x >dir/new; mkdir dir/d dir/closed; echo x >dir/d/x; echo x >new; chmod 666 dir/new dir/d/x new; chmod 577 dir/closed')
        self.assert_apply()
        for name in ('dir/new', 'dir/d/x'):
            self.assertEqual(self.get_acl(os.path.join(self.source, name)), self.acl(user=6, named=6, group=0, mask=4, other=0), name)
        self.assertEqual(self.get_acl(self.source + '/dir/d', 'default'), self.acl(**wanted))
        self.assertEqual((self.mode('dir/closed'), self.mode('new'), self.get_acl(self.source + '/new')), (0o540, 0o600, None))

    def test_an_acl_of_the_store_gives_nobody_more(self):
        self.assert_cow('echo x >new')
        path = os.path.join(self.store(), 'upper', 'new')
        os.chmod(path, 0o660)
        self.set_acl(path, user=6, named=6, group=0, mask=6, other=0)
        self.assert_apply()
        self.assertEqual((self.mode('new'), self.get_acl(self.source + '/new')), (0o600, None))

    def test_a_group_that_the_user_is_not_in(self):
        os.chown(self.source + '/file', self.alice.uid, self.GROUP)
        os.chmod(self.source + '/file', 0o660)
        self.settle()
        self.make_store()
        path = os.path.join(self.store(), 'upper', 'file')
        yett.write(path, 'more\n', 0o660)  # no sandbox of alice's could
        os.chown(path, self.alice.uid, self.alice.gid)
        self.assert_apply()
        self.assertEqual((os.stat(self.source + '/file').st_gid, self.mode('file')), (self.alice.gid, 0o600))

    def test_a_directory_that_gives_its_group(self):
        self.alice.groups.append(self.GROUP)
        self.addCleanup(self.alice.groups.remove, self.GROUP)
        os.chown(self.source + '/dir', self.alice.uid, self.GROUP)
        os.chmod(self.source + '/dir', 0o2775)
        script = 'set -e; echo x >dir/new; mkdir -p dir/d/e; echo x >dir/d/e/x; ln -s x dir/link; mkdir dir/closed; echo x >dir/closed/x; chmod 00500 dir/closed; echo x >new'
        self.assert_cow(script)
        self.assert_apply()
        for name in ('new', 'd', 'd/e', 'd/e/x', 'link', 'closed', 'closed/x'):
            self.assertEqual(os.lstat(os.path.join(self.source, 'dir', name)).st_gid, self.GROUP, name)
        self.assertEqual([self.mode(name) for name in ('dir/d', 'dir/d/e', 'dir/closed', 'dir/new', 'dir/d/e/x')], [0o2755, 0o2755, 0o2500, 0o644, 0o644])
        self.assertEqual(os.stat(self.source + '/new').st_gid, self.alice.gid)
        self.assertEqual(self.yett('diff', '--name-only', self.works()[0]['id'], env=self.environment()).out, 'dir/closed/\n')  # where inside that bit was taken off

    def test_a_stage_in_a_directory_that_gives_its_group(self):
        self.state = self.folder('other-state', mode=0o700)
        top = self.folder('memory')
        subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', top], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', top], check=True)
        shutil.copytree(self.source, top + '/source')
        self.source = top + '/source'
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), top], check=True)
        os.chown(self.source, self.alice.uid, self.GROUP)
        os.chmod(self.source, 0o2755)
        self.set_acl(self.source, 'default', user=7, named=7, group=7, mask=7, other=7)
        self.assert_cow('echo x >dir/x; mkdir dir/d; echo x >new; echo x >>file')
        done = self.apply(groups=[self.GROUP])
        self.assertEqual(done.code, 0, done)
        for name, group, mode in (('dir/x', self.alice.gid, 0o644), ('dir/d', self.alice.gid, 0o755), ('new', self.GROUP, 0o644), ('file', self.alice.gid, 0o644)):
            st = os.stat(os.path.join(self.source, name))
            self.assertEqual((st.st_gid, stat.S_IMODE(st.st_mode)), (group, mode), name)
            self.assertEqual(self.get_acl(os.path.join(self.source, name)) is None, name != 'new', name)


class Outside(Apply):
    def test_what_others_change_after_a_crash_is_left_to_them(self):
        for finish in ('--continue', '--abort'):
            self.alice.write('source/file', 'old\n')
            self.assert_cow('echo inside >>file; echo n >new; rm moved gone')
            work = max(self.works(), key=lambda each: each['created_ms'])
            script = self.alice.write('faulty', '#!/bin/sh\nYETT_TEST_STEP=%d exec %s "$@"\n' % (
                {'--continue': 6, '--abort': 9}[finish], self.service.run_.path('tests/system/yett-apply-faults')), mode=0o755)
            done = self.apply('--force', work=work, env={'YETT_APPLY': script})
            self.assertEqual(done.code, BROKEN, done)
            self.alice.write('source/file', 'outside\n')
            done = self.apply(finish, work=work)
            self.assertEqual(done.code, BROKEN, done)
            self.assertIn('file: was changed by others meanwhile', done.err)
            self.assertEqual(yett.read(self.source + '/file'), 'outside\n')
            done = self.apply(finish, '--force', work=work)
            self.assertEqual(done.code, 0, done)
            self.assertEqual(yett.read(self.source + '/file'), 'outside\n')
            self.assertEqual(os.path.exists(self.source + '/gone'), finish == '--abort')
            for name in ('moved', 'gone'):
                self.alice.write('source/' + name, 'm\n')
            if os.path.exists(self.source + '/new'):
                os.unlink(self.source + '/new')

    def test_files_with_holes_keep_them(self):
        self.assert_cow('truncate -s 1T sparse; printf x | dd of=sparse bs=1 seek=1G conv=notrunc status=none')
        self.assert_apply()
        st = os.stat(self.source + '/sparse')
        self.assertEqual(st.st_size, 1 << 40)
        self.assertLess(st.st_blocks, 1000)
        with open(self.source + '/sparse', 'rb') as file:
            file.seek(1 << 30)
            self.assertEqual(file.read(2), b'x\0')

    def test_files_that_nobody_may_change(self):
        for flag, path in (('i', 'file'), ('a', 'file'), ('i', 'dir'), ('i', 'dir/below/file')):
            with self.subTest((flag, path)):
                self.assert_cow('echo more >>file; echo x >dir/new; echo more >>dir/below/file; rm gone; echo new >new')
                self.assert_apply('--dry-run')
                before, path = content(self.source), os.path.join(self.source, path)
                subprocess.run(['chattr', '+' + flag, path], check=True)
                try:
                    done = self.apply('--force')
                    self.assertEqual(done.code, 1, done)
                    self.assertIn('Operation not permitted', done.err)
                    self.assertEqual(content(self.source), before)
                    self.assertEqual([name for name in os.listdir(self.room()) if name != 'applied'], [])
                finally:
                    subprocess.run(['chattr', '-' + flag, path], check=True)
                done = self.yett('discard', '--yes', self.works()[0]['id'], env=self.environment())
                self.assertEqual(done.code, 0, done)

    def test_a_name_with_a_space_at_the_source(self):
        self.alice.mkdir('a source')
        self.alice.write('a source/file', 'x')
        source = os.path.join(os.path.dirname(self.source), 'a source')
        self.assert_cow('echo y >"%new"', source=source)
        self.assert_apply()
        self.assertEqual(yett.read(source + '/%new'), 'y\n')


class Interactive(Apply):
    """At a terminal, of which the answers are typed ahead."""

    def ask(self, answers, *words, code=0, questions=0, meanwhile=None):
        """`meanwhile`: before the answer "y" to the question of that number."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        os.write(master, answers.encode())
        process = self.service.popen(self.alice, 'setsid', '--ctty', '--wait', self.service.yett, 'apply', '--interactive', self.works()[0]['id'], *words,
                                     env=self.environment(), stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(slave)
        shown = b''
        while meanwhile and shown.count(b']? ') < questions:
            shown += os.read(master, 65536)
        if meanwhile:
            meanwhile()
            os.write(master, b'y\n')
        out, err = process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, code, (out, err))
        shown += yett.read_terminal(master)
        return shown.decode().replace('\r\n', '\n'), out.decode(), err.decode()

    def long(self):
        self.alice.write('source/long', ''.join('%d\n' % i for i in range(100)))
        self.assert_cow('sed -i -e s/^10$/ten/ -e s/^50$/fifty/ -e /^90$/d -e "$ s/$/ and more/" long; printf "%s" "$(cat long)" >l; cat l >long; rm l; chmod 755 long')

    def test_hunks_are_chosen_one_by_one(self):
        self.long()
        shown, out, _ = self.ask('y\nn\ny\ny\n')
        self.assertEqual(out, 'changed  long\n')
        self.assertIn('-10\n+ten\n', shown)
        expected = ''.join('%d\n' % i for i in range(100) if i != 90).replace('\n10\n', '\nten\n')
        self.assertEqual(yett.read(self.source + '/long'), expected[:-1] + ' and more')
        self.assertEqual(os.stat(self.source + '/long').st_mode & 0o777, 0o644)
        done = self.yett('diff', self.works()[0]['id'], env=self.environment()).out
        self.assertIn('-50\n+fifty\n', done)
        self.assertNotIn('ten\n-', done)
        self.ask('a\n')
        self.assertEqual(self.yett('diff', self.works()[0]['id'], env=self.environment()).out, '')

    def test_each_answer(self):
        for answers, taken in (('d\n', []), ('q\n', []), ('\n', []), ('?\nx\nn\ny\nd\n', ['fifty']), ('n\na\n', ['fifty', 'and more']), ('y\nq\n', ['ten'])):
            with self.subTest(answers):
                for work in self.works():
                    self.yett('discard', '--yes', work['id'], env=self.environment())
                self.long()
                shown, _, _ = self.ask(answers if answers.strip() else '\nq\n')
                text = yett.read(self.source + '/long')
                self.assertEqual([word for word in ('ten', 'fifty', 'and more') if word in text], taken)
                self.assertIn('[y,n,q,a,d,?]? ', shown)

    def test_files_that_come_and_go_are_asked_for_as_a_whole(self):
        self.assert_cow('rm gone; rm -r removed; mkdir -p made/deep none; echo x >made/deep/x; echo y >none/y; printf "a\\0" >binary; echo z >z')
        shown, out, _ = self.ask('y\ny\ny\nn\nn\nq\n')  # binary, gone, made/deep/x, none/y, removed/file, z
        self.assertEqual(out.splitlines(), ['added    binary', 'removed  gone', 'added    made/', 'added    made/deep/', 'added    made/deep/x'])
        self.assertIn('added made/deep/x\n@@ -0,0 +1 @@\n+x\n', shown)
        self.assertTrue(os.path.exists(self.source + '/removed/file'))
        self.assertFalse(os.path.exists(self.source + '/none'))

    def test_what_was_shown_is_what_is_applied(self):
        process = self.start('sh', '-c', 'echo shown >>file; ln -s shown link; echo shown >new; echo z >z; echo ready; read line; '
                             'echo evil >file; ln -sf evil link; echo evil >new; echo ready; cat',
                             options=['--cow', self.source, '-C', self.source], env=self.environment(), stdin=subprocess.PIPE)
        self.assertEqual(yett.line_of(process.stdout), 'ready')

        def change():
            process.stdin.write(b'\n')
            process.stdin.flush()
            self.assertEqual(yett.line_of(process.stdout), 'ready')

        shown, _, _ = self.ask('y\ny\ny\n', questions=4, meanwhile=change)
        self.assertIn('added link\nto shown\n', shown)
        self.assertEqual([yett.read(self.source + '/' + name) for name in ('file', 'new')], ['old\nshown\n', 'shown\n'])
        self.assertEqual(os.readlink(self.source + '/link'), 'shown')

    def test_modes_are_shown_and_what_is_too_large_to_show_is_left(self):
        self.assert_cow('chmod 755 moved; printf "#!/bin/sh\\n" >run; chmod 755 run; truncate -s 17M large')
        shown, out, err = self.ask('y\ny\n', code=LEFT)
        self.assertIn('mode moved\nmode 755\n', shown)
        self.assertIn('added run\nmode 755\n', shown)
        self.assertEqual(out, 'mode     moved\nadded    run\n')
        self.assertIn('large: is too large to be asked for', err)

    def test_protected_names_are_asked_for_with_a_word_and_not_by_all(self):
        self.assert_cow('printf "#!/bin/sh\\n" >.envrc; echo more >>file')
        shown, out, _ = self.ask('a\nn\na\n')
        self.assertIn('.envrc: is protected (programs look for what begins with a dot)', shown)
        self.assertIn('[y,n,q,d,?]', shown)
        self.assertEqual(out, 'changed  file\n')
        self.ask('y\n')
        self.assertTrue(os.path.exists(self.source + '/.envrc'))

    def test_what_is_in_a_protected_directory_is_not_asked_for(self):
        self.assert_cow('mkdir .vscode; echo x >.vscode/tasks.json; echo x >.envrc')
        shown, out, err = self.ask('y\n', code=LEFT)
        self.assertNotIn('tasks.json', shown)
        self.assertEqual(out, 'added    .envrc\n')
        self.assertIn('yett: .vscode: is protected (programs look for what begins with a dot), with 2 changes: name', err)

    def test_the_terminal_acts_on_nothing_of_it(self):
        self.assert_cow('printf "\\033[2Jred\\t\\302\\233x\\n" >"$(printf "e\\033[2Jx")"')
        shown, _, _ = self.ask('y\n')
        self.assertIn('+\\x1b[2Jred\t\\xc2\\x9bx\n', shown)
        self.assertNotIn('\x1b', shown)

    def test_what_was_changed_outside_is_not_asked_for(self):
        self.assert_cow('echo more >>file; echo more >>moved')
        self.alice.write('source/file', 'outside\n')
        _, out, err = self.ask('y\n', code=LEFT)
        self.assertEqual(out, 'changed  moved\n')
        self.assertIn('file: was changed outside', err)

    def test_without_a_terminal(self):
        self.assert_cow('echo more >>file')
        done = self.service.run(self.alice, 'setsid', '--wait', self.service.yett, 'apply', '-i', self.works()[0]['id'], env=self.environment())
        self.assertEqual(done.code, 1, done)
        self.assertIn('there is no terminal', done.err)


if __name__ == '__main__':
    yett.main()
