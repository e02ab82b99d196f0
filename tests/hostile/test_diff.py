# SPDX-License-Identifier: Apache-2.0
"""
Attacks on who looks at what a copy-on-write sandbox changed: a store that was made by hand for that, names and contents on a terminal behind
a pager, and the program that reads it all, captured.
"""
import fcntl
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import termios

import hostile
import yett
from workspace import Workspace

COLOURS = {b'\x1b[' + number + b'm' for number in (b'1', b'31', b'32', b'36', b'')}


class Diff(Workspace):
    def setUp(self):
        super().setUp()
        self.make_store()
        self.work = self.works()[0]['id']
        self.top = self.store()

    def diff(self, *words, env=None, **more):
        return self.yett('diff', self.work, *words, env={**self.environment(), **(env or {})}, **more)

    def path(self, *names):
        return os.path.join(self.top, *names)

    def own(self):
        subprocess.run(['chown', '-hR', '%d:%d' % (self.alice.uid, self.alice.gid), self.top], check=True)


class Captured(Diff):
    """What libgit2 could do to the user if what it reads could make it do that."""

    def captured(self, attack, when):
        yett.write(self.path('upper/file'), 'new\n')
        self.own()
        secret = self.alice.write('secret', 'secret')
        library = self.alice.write('captured.so')
        with open(hostile.program('captured-diff.so'), 'rb') as file, open(library, 'wb') as copy:
            copy.write(file.read())
        upper, source = (os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (self.path('upper'), self.source))
        reader, out = os.pipe()
        try:
            process = self.service.popen(
                self.alice, self.service.run_.path('helper/yett-diff'), '0', '-', str(source), str(out), str(out), 'patch', '', stdin=upper, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, pass_fds=(source, out),
                env={'LD_PRELOAD': library, 'YETT_TEST_ATTACK': attack, 'YETT_TEST_WHEN': when, 'YETT_TEST_FILE': self.source + '/file' if attack in ('write', 'create') else secret})
            said = process.communicate(timeout=yett.DEADLINE)[1].decode()
        finally:
            for fd in (upper, source, reader, out):
                os.close(fd)
        return process.returncode, said

    def test_it_can_do_nothing_but_read_the_two_directories(self):
        for attack, end in (('read', None), ('write', None), ('create', None), ('memory', None), ('connect', -signal.SIGSYS), ('signal', -signal.SIGSYS),
                            ('trace', -signal.SIGSYS), ('fork', -signal.SIGSYS), ('execute', -signal.SIGSYS)):
            with self.subTest(attack=attack):
                self.assertIn('could %s\n' % attack, self.captured(attack, 'before')[1])
                code, said = self.captured(attack, 'confined')
                if end is None:
                    self.assertEqual((code, said), (1, 'could not %s\n' % attack))  # its contents could not be compared
                else:
                    self.assertEqual((code, said), (end, ''))

    def test_nobody_but_root_looks_into_it(self):
        """More to tell than a pipe takes, so that it stands still."""
        with open(self.path('upper/file'), 'w', encoding='ascii') as file:
            file.write(('x' * 99 + '\n') * 10000)
        self.own()
        process = self.service.popen(self.alice, self.service.yett, 'diff', '--no-pager', self.work, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        confined = lambda: [pid for pid in yett.children_of(process.pid) if yett.status_of(pid).get('Seccomp') == '2']
        yett.wait_until(confined, 'that it is confined')
        worker = confined()[0]
        self.assertEqual((yett.status_of(worker)['Name'], yett.status_of(worker)['NoNewPrivs']), ('yett-diff', '1'))
        self.assertEqual(os.stat('/proc/%d/mem' % worker).st_uid, 0)
        self.assertEqual(os.stat('/proc/%d/mem' % process.pid).st_uid, self.alice.uid)
        limits = {line[:26].strip(): line[26:].split()[:2] for line in yett.read('/proc/%d/limits' % worker).splitlines()}
        self.assertEqual((limits['Max processes'], limits['Max file size']), (['0', '0'], ['0', '0']))


class Terminal(Diff):
    def shown(self, *words, **env):
        """What comes out on a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 500, 200, 0, 0))  # all fits, and less ends by itself
        process = self.service.popen(self.alice, self.service.yett, 'diff', self.work, *words, env={**self.environment(), 'TERM': 'xterm', **env}, stdin=subprocess.DEVNULL,
                                     stdout=slave, stderr=slave)
        os.close(slave)
        self.addCleanup(os.close, master)
        shown = yett.read_terminal(master).replace(b'\r\n', b'\n')
        return process.wait(timeout=yett.DEADLINE), shown

    def harm(self):
        """Names, old and new contents, and what a hunk has in common, each with sequences of their own."""
        for folder in (self.source, self.path('upper')):
            yett.write(folder + '/file', 'int f\x1b[5m(void)\n' + 'same \x1b]0;title\x07\n' * 9 + folder[-3:] + '\x1b[31m\x9b32m\u202e\n')
        for name in (b'e\x1b[2J', b'\xe2\x80\xae', b'\x9b1m', b'@@ \x1b[7m'):
            with open(os.path.join(self.path('upper').encode(), name), 'w', encoding='ascii') as file:
                file.write('\x1b[41m\n-\x1b[0m\n+++ \x1b[1m\n')
        os.symlink('\x1b[2J', self.path('upper/link'))
        os.mkfifo(self.path('upper/\x1b[3mfifo'))
        self.own()

    def test_only_our_colours_come_to_a_terminal_through_a_pager_or_not(self):
        self.harm()
        self.assertIn('\x1b]0;title', self.diff().out)  # what would do it, where it is no terminal
        for env in ({'PAGER': ''}, {'PAGER': 'cat'}, {'PAGER': 'sed s/^/:/'}, {'PAGER': 'cat', 'NO_COLOR': '1'}, {'PAGER': 'sed s/^/:/', 'TERM': 'dumb'}):
            for words in ((), ('--stat',), ('--name-only',), ('--no-pager',), ('--color=always',), ('--color=never',)):
                with self.subTest(env=env, words=words):
                    code, shown = self.shown(*words, **env)
                    self.assertEqual(code, 0, shown)
                    found = set(re.findall(rb'\x1b(?:\[[0-9;]*m)?', shown))
                    self.assertLessEqual(found, COLOURS)
                    coloured = '--name-only' not in words and '--color=never' not in words and ('--color=always' in words or not {'NO_COLOR', 'TERM'} & set(env))
                    self.assertEqual(bool(found), coloured)
                    for bad in (b'\x9b', b'\x07', '\u202e'.encode()):
                        self.assertNotIn(bad, shown)
                    self.assertEqual(shown.startswith(b':'), env['PAGER'].startswith('sed') and '--no-pager' not in words and 'TERM' not in env)

    def test_less_gets_no_more_either(self):
        self.harm()
        for words in ((), ('--stat',)):
            code, shown = self.shown(*words, LESS='FRX')
            self.assertEqual(code, 0, shown)
            for bad in (b'\x1b[31m\\x9b', b'\x1b]0', b'\x1b[2J', b'\x1b[5m', b'\x1b[41m', b'\x1b[7m', '\u202e'.encode()):
                self.assertNotIn(bad, shown)

    def test_colours_that_go_to_a_file_are_the_only_sequences_there(self):
        self.harm()
        for words in (('--color=always',), ('--color=always', '--stat')):
            done = self.diff(*words)
            self.assertEqual(done.code, 0, done)
            found = set(re.findall(rb'\x1b(?:\[[0-9;]*m)?', done.out.encode()))
            self.assertTrue(found)
            self.assertLessEqual(found, COLOURS)
        self.assertNotIn('\x1b', self.diff('--color=always', '--json').out)

    def test_a_pager_that_ends_early_is_no_failure(self):
        with open(self.path('upper/long'), 'w', encoding='ascii') as file:
            file.write('line\n' * 300000)
        self.own()
        self.assertEqual(self.shown('--color=never', PAGER='head -1'), (0, b'diff --git a/long b/long\n'))

    def test_a_pager_that_is_not_there_is_told(self):
        yett.write(self.path('upper/file'), 'new\n')
        self.own()
        self.assertIn(b'yett: the pager not-there is not there; PAGER names another one, and --no-pager goes without\n', self.shown(PAGER='not-there')[1])


class Stores(Diff):
    def test_a_store_made_by_hand_is_read_without_a_link_a_wait_or_an_end(self):
        for layer in ('layers', 'layers/1', 'layers/2', 'hidden'):
            os.mkdir(self.path(layer))
        for number, layer in enumerate(('upper', 'layers/2', 'layers/1', 'hidden')):
            os.mkfifo(self.path(layer, 'dir'))
            os.symlink('/etc', self.path(layer, 'removed'))
            os.mkfifo(self.path(layer, 'file%d' % number))
            os.mknod(self.path(layer, 'device%d' % number), stat.S_IFBLK | 0o666, os.makedev(7, 0))
            os.symlink(self.source, self.path(layer, 'loop%d' % number))
            os.mkdir(self.path(layer, 'renamed'), 0o700)
            os.symlink('/etc/passwd', self.path(layer, 'renamed/file'))
            os.setxattr(self.path(layer, 'renamed'), 'user.overlay.opaque', b'x')
            os.setxattr(self.path(layer, 'renamed'), 'user.overlay.redirect', b'/etc')
        self.own()
        done = self.diff()
        self.assertEqual((done.code, done.err), (0, ''), done)
        self.assertNotIn('root:', done.out)
        self.assertNotIn('+root', done.out)
        self.assertEqual(self.diff('--name-only').out.splitlines(),
                         ['device0', 'device1', 'device2', 'dir/', 'dir/below/', 'dir/below/file', 'file0', 'file1', 'file2', 'loop0', 'loop1', 'loop2', 'removed/', 'removed/file', 'renamed/', 'renamed/file'])

    def test_a_layer_that_is_no_directory_is_named(self):
        os.mkdir(self.path('layers'))
        os.mkfifo(self.path('layers/1'))
        self.own()
        done = self.diff()
        self.assertEqual((done.code, done.out), (1, ''), done)
        self.assertIn('cannot open %s/layers/1: Not a directory' % self.top, done.err)

    def test_more_changes_than_are_told_are_said_to_be_too_many(self):
        link = self.path('upper/link')
        for number in range(200000):
            if number % 60000 == 0:
                link = self.path('upper/%d' % number)
                os.mknod(link, stat.S_IFIFO | 0o600)
            else:
                os.link(link, self.path('upper/%d' % number))
        self.own()
        done = self.diff('--name-only')
        self.assertEqual((done.code, len(done.out.splitlines())), (0, 200000), done.err)
        os.mkfifo(self.path('upper/one-more'))
        self.own()
        done = self.diff('--name-only')
        self.assertEqual((done.code, done.out), (1, ''), done.err)
        self.assertIn('there is more than 200000 changes', done.err)
        self.assertIn('name paths below which to look', done.err)

    def test_what_would_take_too_long_to_compare_shows_as_deleted_and_added(self):
        for name in ('many', 'one'):
            self.alice.mkdir('source/' + name)
        for number in range(501):
            self.alice.write('source/many/old%d' % number, 'x\n' * (number + 100))
            yett.write(self.path('upper/new%d' % number), 'x\n' * (number + 100) + 'more')
        os.mknod(self.path('upper/many'), stat.S_IFCHR, 0)
        self.alice.write('source/one/same', 'this one\n')
        os.mknod(self.path('upper/one'), stat.S_IFCHR, 0)
        yett.write(self.path('upper/other'), 'this one\n')
        self.own()
        done = self.diff('--json')
        self.assertEqual(done.code, 0, done.err)
        result = json.loads(done.out)
        self.assertIn('not all of it was compared', ' '.join(result['notes']))
        self.assertEqual([(change['old_path']['text'], change['path']['text']) for change in result['result']['changes'] if change['change'] == 'renamed'], [('one/same', 'other')])


if __name__ == '__main__':
    yett.main()
