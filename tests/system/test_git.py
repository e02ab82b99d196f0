# SPDX-License-Identifier: Apache-2.0
"""Commits that were made in a copy-on-write sandbox, taken over by yett git fetch; and a repository inside that would rather do more."""
import hashlib
import os
import shutil
import struct
import subprocess
import zlib

import yett
from workspace import Workspace, tree

AS = 'git config user.name a; git config user.email a@b; '


class Repository(Workspace):
    def setUp(self):
        super().setUp()
        self.git('init', '-q', '-b', 'main')
        self.git('config', 'user.name', 'a')
        self.git('config', 'user.email', 'a@b')
        self.git('add', '-A')
        self.git('commit', '-qm', 'first')

    def git(self, *words, code=0, cwd=None, env=None):
        done = self.service.run(self.alice, 'git', *words, cwd=cwd or self.source, env={'HOME': self.alice.home, **(env or {})})
        self.assertEqual(done.code, code, done)
        return done.out

    def fetch(self, *words, code=0):
        done = self.yett('git', 'fetch', *words, cwd=self.source, env={**self.environment(), 'HOME': self.alice.home})
        self.assertEqual(done.code, code, done)
        return done

    def committed(self):
        self.assert_cow('set -e; echo new >file; git commit -qam second; git tag inside; git checkout -qb other; echo o >o; git add o; git commit -qm third')
        return self.works()[0]['id']


class Commits(Repository):
    def test_a_commit_comes_out_of_a_store_at_rest(self):
        store = self.committed()
        before = tree(self.source + '/dir')
        self.fetch(store)
        self.assertEqual(self.git('log', '--format=%s', 'FETCH_HEAD').split(), ['third', 'second', 'first'])
        self.assertEqual(self.git('show', 'FETCH_HEAD:file'), 'new\n')
        self.assertEqual((self.git('tag'), self.git('branch').split(), yett.read(self.source + '/file')), ('', ['*', 'main'], 'old\n'))
        trace = self.alice.write('trace')
        done = self.yett('git', 'fetch', store, cwd=self.source, env={**self.environment(), 'HOME': self.alice.home, 'GIT_TRACE_PACKET': trace})
        self.assertEqual(done.code, 0, done)
        self.assertIn('fetch< version 2', yett.read(trace))
        self.fetch(store, 'main:refs/heads/box', 'refs/tags/inside:refs/tags/theirs')
        self.assertEqual(self.git('log', '--format=%s', 'box').split(), ['second', 'first'])
        self.assertEqual(self.git('tag').split(), ['theirs'])
        self.git('merge', '-q', 'box')
        self.assertEqual(yett.read(self.source + '/file'), 'new\n')
        self.assertEqual(tree(self.source + '/dir'), before)
        self.assertFalse(self.works()[0]['used'])
        self.assertEqual(len(self.works()), 1)

    def test_and_out_of_a_sandbox_that_runs(self):
        done = self.yett('create', '--name', 'box', '--cow', self.source, env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.addCleanup(self.yett, 'destroy', 'box')
        script = 'echo new >file; git commit -qam second'
        self.assertEqual(self.yett('exec', '-C', self.source, 'box', '--', 'sh', '-c', script).code, 0)
        self.fetch('box')
        self.assertEqual(self.git('log', '--format=%s', 'FETCH_HEAD').split(), ['second', 'first'])
        self.fetch(self.works()[0]['id'], '+main:refs/remotes/box/main')
        self.assertEqual(self.git('log', '--format=%s', 'box/main').split(), ['second', 'first'])
        self.fetch('-C', self.source + '/.git', 'box', 'main')

    def test_what_has_spaces_and_percent_signs_in_its_name(self):
        other = self.folder('a %s%% b')
        shutil.copytree(self.source, other, dirs_exist_ok=True, symlinks=True)
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), other], check=True)
        done = self.cow('git commit --allow-empty -qm second', source=other)
        self.assertEqual(done.code, 0, done)
        self.fetch(self.works()[0]['id'])
        self.assertEqual(self.git('log', '--format=%s', 'FETCH_HEAD').split(), ['second', 'first'])

    def test_what_there_is_none_of_is_told(self):
        store = self.committed()
        for words, text in (([store, 'none'], "couldn't find remote ref none"), (['0' * 16], 'no sandbox'), (['-C', '/tmp', store], 'git could not fetch from /tmp'),
                            (['nobody'], 'no sandbox')):
            self.assertIn(text, self.fetch(*words, code=1).err)
        self.assertEqual(self.yett('git', 'fetch', store, cwd=self.alice.home, env=self.environment()).code, 1)  # which is no repository
        self.assertEqual(self.yett('git', 'push', store, env=self.environment()).code, 2)
        done = self.yett('create', '--name', 'plain', '--ro', self.source, env=self.environment())
        self.addCleanup(self.yett, 'destroy', 'plain')
        self.assertEqual(done.code, 0, done)
        self.assertIn('yett git fetch -C DIR ', self.fetch('plain', code=1).err)
        self.assertEqual(self.works()[0]['used'], False)


class Remotes(Repository):
    def remote(self, *words, code=0):
        """git as it finds git-remote-yett, which is installed beside yett."""
        folder = self.alice.home + '/bin'
        if not os.path.isdir(folder):
            os.symlink(self.service.yett, self.folder('bin') + '/git-remote-yett')
        done = self.service.run(self.alice, 'git', *words, cwd=self.source, env={'HOME': self.alice.home, 'PATH': folder + ':' + os.environ['PATH'],
                                                                                 **self.environment(), **self.service.environment_of_client({})})
        self.assertEqual(done.code, code, done)
        return done

    def test_a_store_is_a_remote(self):
        store = self.committed()
        self.remote('remote', 'add', 'box', 'yett::' + store)
        self.remote('fetch', 'box')
        self.assertEqual(self.git('log', '--format=%s', 'box/other').split(), ['third', 'second', 'first'])
        self.assertEqual(self.git('log', '--format=%s', 'box/main').split(), ['second', 'first'])
        self.assertEqual((self.git('tag'), yett.read(self.source + '/file')), ('', 'old\n'))
        self.assertEqual(self.remote('ls-remote', '--symref', 'box').out.split()[:3], ['ref:', 'refs/heads/other', 'HEAD'])
        self.remote('fetch', 'box')  # with nothing new
        self.remote('pull', '-q', 'box', 'main')
        self.assertEqual(yett.read(self.source + '/file'), 'new\n')
        self.assertIn('failed to push', self.remote('push', 'box', 'HEAD:refs/heads/more', code=1).err)  # it can only be fetched from
        self.assertIn('there is no sandbox', self.remote('fetch', 'yett::0123456789abcdef', code=128).err)
        self.assertFalse(self.works()[0]['used'])

    def test_branches_that_would_hide_what_they_are_called_are_not_told_of(self):
        names = [b'c1-\xc2\x9b2J', b'turned-\xe2\x80\xaegnol', b'broken-\xff', 'größe'.encode(), 'ma\u200bin'.encode(), 'tag\U000e0041'.encode()]
        script = AS + 'git commit --allow-empty -qm second; ' + ''.join("git update-ref 'refs/heads/%s' HEAD; " % os.fsdecode(name) for name in names)
        self.assert_cow(script)
        self.remote('remote', 'add', 'box', 'yett::' + self.works()[0]['id'])
        self.remote('fetch', 'box')
        told = self.git('for-each-ref', '--format=%(refname)', 'refs/remotes/box').split()
        self.assertEqual(told, ['refs/remotes/box/größe', 'refs/remotes/box/main'])

    def test_what_a_remote_says_is_a_strangers(self):
        self.assert_cow(AS + 'blob=$(git hash-object -w file); tree=$(printf "100644 blob $blob\\t.git\\n" | git mktree); '
                             'git update-ref refs/heads/bad $(git commit-tree -m bad $tree </dev/null)')
        self.remote('remote', 'add', 'box', 'yett::' + self.works()[0]['id'])
        done = self.remote('fetch', 'box', code=128)
        self.assertIn('hasDotgit', done.err)
        self.assertEqual(self.git('branch', '-r'), '')
        self.remote('fetch', 'box', 'main')


def sized(number):
    """A size as in a delta: seven bits a byte, the lowest first. gitformat-pack(5)"""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def growing_pack():
    """A pack of a few KB: a blob of 64 KiB, and three that are each made of copies of the one before, of 1 MiB and twice 264."""
    out, size, at = struct.pack('>4sII', b'PACK', 2, 4), 1 << 16, []

    def entry(kind, data, base=b''):
        at.append(len(out))
        more = len(data) >> 4
        head = bytes([kind << 4 | len(data) & 15 | (0x80 if more else 0)]) + (sized(more) if more else b'')
        return head + base + zlib.compress(data)

    def back(distance):
        bytes_ = [distance & 0x7f]
        while distance >> 7:
            distance = (distance >> 7) - 1
            bytes_.insert(0, distance & 0x7f | 0x80)
        return bytes(bytes_)

    out += entry(3, bytes(size))
    for times, more in ((16, b''), (264, b''), (1, b'x')):
        pieces = [0xffffff] * (size // 0xffffff) + [size % 0xffffff]  # one instruction copies so much at most; all from the beginning
        one = b''.join(b'\xf0' + struct.pack('<I', piece)[:3] for piece in pieces)
        delta = sized(size) + sized(size * times + len(more)) + one * times + (bytes([len(more)]) + more if more else b'')
        out += entry(6, delta, back(len(out) - at[-1]))
        size = size * times + len(more)
    return out + hashlib.sha1(out).digest()


class Hostile(Repository):
    def test_nothing_that_the_repository_names_runs_outside(self):
        """Programs that its configuration and hooks name: git outside runs them, where it is let work in such a repository."""
        mark = self.alice.home + '/mark'
        hook = '#!/bin/sh\necho >>%s\nexit 0\n' % mark
        names = ('post-checkout', 'reference-transaction', 'post-merge', 'pre-auto-gc', 'fsmonitor-watchman', 'post-update', 'pre-receive', 'update')
        script = 'cat >.git/hooks/h; chmod +x .git/hooks/h; for name in %s; do cp .git/hooks/h .git/hooks/$name; done; echo new >file;' % ' '.join(names)
        script += AS + 'git config core.fsmonitor .git/hooks/h; git config core.sshCommand .git/hooks/h; git config core.gitProxy .git/hooks/h;'
        script += 'git config uploadpack.packObjectsHook .git/hooks/h; git config core.alternateRefsCommand .git/hooks/h;'
        script += 'git config core.pager .git/hooks/h; git -c core.hooksPath=/dev/null -c core.fsmonitor=false commit -qam second'
        done = self.cow("printf '%%s' '%s' | { %s; }" % (hook, script))
        self.assertEqual(done.code, 0, done)
        store = self.works()[0]['id']
        copy = self.folder('copy')
        for path in (self.source, self.store() + '/upper'):
            subprocess.run(['cp', '-a', path + '/.', copy], check=True)
        self.git('status', cwd=copy)
        self.assertTrue(os.path.exists(mark))
        os.unlink(mark)
        self.fetch(store, 'main:refs/heads/box')
        self.assertEqual(self.git('log', '--format=%s', 'box').split(), ['second', 'first'])
        self.assertFalse(os.path.exists(mark))

    def test_objects_of_others_that_it_names_are_not_in_reach(self):
        """By alternates, or a link: they are looked for inside."""
        private = self.folder('private', mode=0o700)
        self.git('init', '-q', cwd=private)
        self.alice.write('private/secret', 'secret\n')
        for words in (('add', 'secret'), ('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'secret')):
            self.git(*words, cwd=private)
        commit = self.git('rev-parse', 'HEAD', cwd=private).strip()
        self.assertEqual(self.git('cat-file', '-t', commit, env={'GIT_ALTERNATE_OBJECT_DIRECTORIES': private + '/.git/objects'}), 'commit\n')
        script = 'echo %s/.git/objects >.git/objects/info/alternates; echo %s >.git/refs/heads/theirs; ln -s %s/.git/objects/%s .git/objects/; true'
        self.assert_cow(script % (private, commit, private, commit[:2]))
        self.fetch(self.works()[0]['id'], 'theirs', code=1)
        self.git('cat-file', '-t', commit, code=128)

    def test_broken_objects_are_refused(self):
        script = AS + 'blob=$(git hash-object -w file); tree=$(printf "100644 blob $blob\\t.git\\n" | git mktree); ' \
                      'commit=$(git commit-tree -m bad $tree </dev/null); git update-ref refs/heads/bad $commit'
        self.assert_cow(script)
        store = self.works()[0]['id']
        done = self.fetch(store, 'bad:refs/heads/bad', code=1)
        self.assertIn('hasDotgit', done.err)
        self.assertEqual(self.git('branch', '--list', 'bad'), '')
        self.assertEqual(self.fetch(store, 'main').code, 0)

    def test_a_pack_that_is_too_large_is_refused_and_leaves_no_ref(self):
        self.assert_cow('set -e; head -c 4M /dev/urandom >big; git add big; git commit -qm big')
        store = self.works()[0]['id']
        done = self.fetch('--max-size', '1M', store, 'main:refs/heads/box', code=1)
        self.assertIn('File too large', done.err)
        self.assertEqual(self.git('branch', '--list', 'box'), '')
        self.fetch(store, 'main:refs/heads/box')
        self.assertEqual(self.git('cat-file', '-s', 'box:big'), '%d\n' % (4 << 20))

    def test_a_small_pack_does_not_take_much_memory(self):
        other = self.folder('other')
        shutil.copytree(self.source, other, dirs_exist_ok=True, symlinks=True)
        pack = growing_pack()
        self.assertLess(len(pack), 1 << 14)
        with open(self.alice.home + '/grows', 'wb') as file:
            file.write(pack)
        for path in (other, self.alice.home + '/grows'):
            subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), path], check=True)
        done = self.service.run(self.alice, 'sh', '-c', AS + 'git index-pack --stdin <../grows; sizes="%(objectsize) %(objectname)"; '
                                'grown=$(git cat-file --batch-all-objects --batch-check="$sizes" | sort -n | tail -n 4); test "${grown#*276824065}" != "$grown"; '
                                'tree=$(echo "$grown" | while read size blob; do printf "100644 blob $blob\\t$size\\n"; done | git mktree); '
                                'git update-ref refs/heads/grows $(git commit-tree -m grows $tree </dev/null)', cwd=other, env={'HOME': self.alice.home})
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.cow('git commit --allow-empty -qm second', source=other).code, 0)
        store = self.works()[0]['id']
        done = self.fetch(store, 'grows', code=1)
        self.assertIn('Out of memory', done.err)
        self.assertEqual(self.git('branch', '--list', 'grows'), '')
        self.fetch(store, 'main')

    def test_limits_of_its_user_are_kept(self):
        store = self.committed()
        done = self.service.run(self.alice, 'prlimit', '--data=%d' % (300 << 20), '--fsize=%d' % (1 << 30), self.service.yett, 'git', 'fetch', store, cwd=self.source,
                                env={**self.environment(), 'HOME': self.alice.home, **self.service.environment_of_client({})})
        self.assertEqual(done.code, 0, done)

    def test_what_it_says_does_nothing_to_the_terminal(self):
        self.assertEqual(self.yett('create', '--name', 'box', '--cow', self.source, env=self.environment()).code, 0)
        self.addCleanup(self.yett, 'destroy', 'box')
        hook = '#!/bin/sh\nprintf "\\033[2J\\033]0;title\\007" >&2\ntouch /tmp/inside\nexec "$@"\n'
        script = AS + 'git commit --allow-empty -qm second; cat >/tmp/hook; chmod +x /tmp/hook; git config --global uploadpack.packObjectsHook /tmp/hook'
        done = self.yett('exec', '-C', self.source, 'box', '--', 'sh', '-c', script, input=hook)
        self.assertEqual(done.code, 0, done)
        done = self.fetch('box')
        self.assertEqual(self.yett('exec', 'box', '--', 'ls', '/tmp/inside').code, 0)
        self.assertNotIn('\x1b', done.err)
        self.assertIn('\\x1b[2J', done.err)
        self.assertFalse(os.path.exists('/tmp/inside'))


if __name__ == '__main__':
    yett.main()
