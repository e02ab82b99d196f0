# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are suspended and made again: sessions, by the command alone."""
import fcntl
import json
import os
import pty
import random
import re
import shutil
import socket
import stat
import subprocess
import time

import tiers
import yett
from workspace import Workspace, tree

POLICY = '''grant "roomy" {
  users = {"*"}
  user_keys = true
  profiles = {"roomy", "kept"}
  linger_max = unlimited
  share_ro = {"*"}
  share_rw = {"*"}
}
'''
PROFILE = 'profile "roomy" { extends = "default" }\nprofile "kept" { extends = "default" workspace = cow }\n'

EDITED = tiers.number(60, 150)
SWAPPED = tiers.number(4, 10)  # so often it is both made again and refused while somebody swaps, before that is enough
SWAPPER = '''
import ctypes, select, sys
libc = ctypes.CDLL(None)
one, other = (name.encode() for name in sys.argv[1:])
while not select.select([0], [], [], 0)[0]:
    libc.renameat2(-100, one, -100, other, 2)
'''


class Sessions(Workspace):
    service_options = {'before': POLICY, 'after': PROFILE}

    def tearDown(self):
        left = [status['id'] for status in self.ps()['sandboxes']]
        if left:
            self.yett('destroy', *left, env=self.environment())
        yett.wait_until(lambda: os.listdir(self.service.runtime + '/names') == [], 'the end of names')

    def do(self, *argv, code=0, **more):
        more['env'] = {**self.environment(), **more.pop('env', {})}
        done = self.yett(*argv, **more)
        self.assertEqual(done.code, code, done)
        return done

    def ps(self, *argv):
        return json.loads(self.do('ps', '--json', *argv).out)['result']

    def suspended(self, *argv):
        return [entry['name'] for entry in self.ps(*argv)['suspended']]

    def create(self, *argv, name='box', **more):
        return self.do('create', '--name', name, *argv, **more).out.strip()

    def cow_box(self, *argv, **more):
        return self.create('--cow', self.source, *argv, **more)

    def exec(self, *argv, box='box', **more):
        return self.do('exec', box, '--', *argv, **more).out

    def shell(self, script, **more):
        return self.do('exec', '-C', self.source, 'box', '--', 'sh', '-c', script, **more).out

    def path(self, name='box'):
        return '%s/yett/sessions/%s' % (self.state, name)

    def record(self, name='box'):
        return yett.read(self.path(name) + '/session')

    def edit(self, change, name='box'):
        with open(self.path(name) + '/session', 'r+', encoding='utf-8') as file:
            text = change(file.read())
            file.seek(0)
            file.truncate()
            file.write(text)

    def stores(self):
        """The ids of all stores, by their directories: this takes no command."""
        return [name for name in os.listdir(self.state + '/yett/work') if re.fullmatch('[0-9a-f]{16}', name)]

    def kept(self):
        return {path: found for path, found in tree(self.state).items() if path.split('/')[-1] not in ('work', '.') and '/work/work' not in path}

    def assert_stays_suspended(self, *texts, name='box'):
        """Resume is refused, nothing of the record or the stores changes, and it is suspended as before."""
        before = self.record(name), self.content()
        done = self.do('resume', name, code=1)
        for text in texts:
            self.assertIn(text, done.err, done)
        self.assertEqual((self.record(name), self.content()), before)
        self.assertEqual(self.ps()['sandboxes'], [])

    def content(self):
        """Names, modes and contents of what was changed, without the times that locks and renames leave."""
        top = self.state + '/yett/work'
        return {path: (found[0], found[4], found[8]) for path, found in tree(top).items() if '/work' not in path} if os.path.isdir(top) else {}

    # --- there and back ---

    def test_it_comes_back_as_it_was(self):
        data, here = self.folder('data'), self.folder('here')
        before = tree(self.source)
        first = self.do('create', '--name=box', '--cow', self.source, '--rw', 'data:/data', '--ro', '../' + os.path.basename(self.alice.home) + '/here:/here',
                        '--label', 'task=one two', '--annotation', 'note=%20\\', '--pids', '77', '--tmpfs', '/scratch:8M',
                        '--hide', 'dir').out.strip()
        self.do('env', '-C', self.source, 'box', 'A=1 2', 'B=%')
        self.assertEqual(self.exec('sh', '-c', 'echo new >file; rm gone; echo kept >/data/x; echo lost >/tmp/x; pwd'), self.source + '\n')
        done = self.do('suspend', 'box')
        self.assertEqual(done.out, 'suspended box\n')
        for text in ('processes', '/tmp', 'home', 'yett mount', 'yett resume'):
            self.assertIn(text, done.err)
        ps = self.ps()
        self.assertEqual(ps['sandboxes'], [])
        entry, = ps['suspended']
        work, = self.works()
        self.assertFalse(work['used'])
        self.assertEqual([entry[key] for key in ('name', 'state', 'profile', 'last_id', 'labels', 'stores', 'directory')],
                         ['box', 'suspended', 'default', first, ['task=one two'], [work['id']], self.alice.home])
        self.assertGreaterEqual(entry['suspended_ms'], entry['created_ms'])
        self.assertRegex(self.do('ps').out, r'(?m)^-  +box +suspended +default +\S+ +-  [0-9a-f]{16}  task=one two$')
        done = self.do('resume', 'box', cwd=here)
        self.assertRegex(done.out, '^[0-9a-f]{16}\n$')
        self.assertNotIn('torn', done.err)
        self.assertIn('hidden in', done.err)
        second = done.out.strip()
        self.assertNotEqual(second, first)
        self.assertEqual([work['sandbox'] for work in self.works()], [second])
        self.assertEqual(self.exec('sh', '-c', 'pwd; cat file /data/x; ls -d gone dir /tmp/x 2>/dev/null; echo "$A$B"; df -k /scratch | grep -c 8192; ulimit -a >/dev/null', code=0),
                         self.source + '\nnew\nkept\n1 2%\n1\n')
        self.assertIn('Read-only', self.do('exec', 'box', '--', 'sh', '-c', 'LC_ALL=C touch /here/x', code=1).err)
        status = json.loads(self.do('inspect', 'box', '--json').out)['result']['sandbox']
        self.assertEqual((status['id'], status['name'], status['labels'], status['annotations'], status['limits']['pids']),
                         (second, 'box', {'task': 'one two'}, {'note': '%20\\'}, 77))
        self.assertEqual(self.suspended(), [])
        for _ in range(2):  # by its id, and more than once
            self.do('suspend', self.ps()['sandboxes'][0]['id'])
            self.do('resume', 'box')
        self.assertEqual(self.exec('cat', 'file'), 'new\n')
        self.do('destroy', 'box')
        self.assertEqual(os.listdir(self.state + '/yett/sessions'), [])
        self.assertEqual(tree(self.source), before)

    def test_the_directory_where_it_was_made_is_shared_again_where_that_was_the_default(self):
        self.create(cwd=self.source)
        self.do('suspend', 'box')
        self.do('resume', 'box', cwd='/')
        self.assertEqual(self.do('exec', 'box', '--', 'cat', 'file', cwd=self.source).out, 'old\n')
        self.do('suspend', 'box')
        os.rename(self.source, self.source + '-away')
        self.assert_stays_suspended(self.source + ' No such file or directory', 'restore that path')
        os.rename(self.source + '-away', self.source)
        self.do('resume', 'box')

    def test_how_something_was_told_is_no_part_of_a_session(self):
        self.create('-qpdefault', '--json-fd=2', '--pids=99', '--label', '--json=x')
        words = [line for line in self.record().splitlines() if line.startswith('word=')]
        self.assertEqual(words, ['word=--name=box', 'word=--profile=default', 'word=--pids=99', 'word=--label=--json=x', 'word=--socket=' + self.service.socket])
        self.do('suspend', 'box')
        self.assertRegex(self.do('resume', 'box').out, '^[0-9a-f]{16}\n$')

    def test_what_is_made_with_another_key_is_neither_made_again_nor_forgotten_without_it(self):
        key = self.alice.home + '/other-key'
        self.do('keygen', key)
        enrolled = self.service.keys + '/other.pub'
        shutil.copy(key + '.pub', enrolled)
        self.addCleanup(os.unlink, enrolled)
        self.create('--key', 'other-key', '--idle-timeout', '1h', '--idle-action', 'suspend')
        before = self.record()
        for word, text in (('resume', "a sandbox named 'box' is there already"), ('suspend', 'there is no sandbox'), ('destroy', 'there is no sandbox')):
            done = self.do(word, 'box', code=1)
            self.assertIn(text, done.err)
            self.assertIn('--key other-key', done.err)
        self.assertIn('there already', self.do('create', '--name', 'box', code=1).err)
        self.assertEqual((self.record(), self.suspended()), (before, []))
        self.do('suspend', '--key', key, 'box')
        self.assertEqual(self.suspended(), ['box'])
        self.do('resume', 'box', cwd='/')  # by the key that its options name
        self.assertEqual(self.ps()['sandboxes'], [])
        self.do('destroy', '--key', key, 'box')
        self.assertFalse(os.path.exists(self.path()))

    def test_another_key_that_does_not_see_a_sandbox_does_not_take_it_for_gone(self):
        key = self.alice.home + '/second-key'
        self.do('keygen', key)
        enrolled = self.service.keys + '/second.pub'
        shutil.copy(key + '.pub', enrolled)
        self.addCleanup(os.unlink, enrolled)
        self.create('--idle-timeout', '1h', '--idle-action', 'suspend')
        self.create(name='old')
        before = self.record(), self.record('old')
        then = time.time() - 8 * 86400
        for file in os.listdir(self.path('old')):
            os.utime(self.path('old') + '/' + file, (then, then))
        self.assertEqual(self.suspended('--filter', 'name=box', '--key', key), [])
        for word in ('resume', 'destroy'):
            self.do(word, '--key', key, 'box', code=1)
        self.assertIn('is there already', self.do('create', '--key', key, '--name', 'box', code=1).err)
        self.create('--key', key, name='next')  # prunes
        self.assertEqual((self.record(), self.record('old')), before)
        self.do('destroy', '--key', key, 'next')

    def test_one_that_cannot_be_asked_about_is_neither_replaced_nor_hidden_and_can_be_forgotten(self):
        for more in ([], ['--idle-timeout', '1h', '--idle-action', 'suspend']):
            for is_suspended in (True, False):
                with self.subTest(more=more, is_suspended=is_suspended):
                    link = self.alice.home + '/link'
                    os.symlink(self.service.socket, link)
                    self.create('--socket', link, '--cow', self.source, *more)
                    self.do('env', 'box', 'A=1')
                    if is_suspended:
                        self.do('suspend', 'box')
                    os.unlink(link)
                    before, work = self.record(), self.works()[-1]
                    for idle in ([], ['--idle-timeout', '1h', '--idle-action', 'suspend']):
                        done = self.do('create', '--name', 'box', *idle, code=1)
                        for text in ('cannot find out whether the sandbox box still exists', 'yett destroy box'):
                            self.assertIn(text, done.err)
                    if is_suspended:
                        self.assertIn('cannot find out whether', self.do('resume', 'box', code=1).err)
                    self.assertEqual(self.record(), before)
                    ps = self.ps()
                    self.assertEqual([(entry['name'], entry['state']) for entry in ps['suspended']], [('box', 'unknown')] if is_suspended else [])
                    if ps['sandboxes']:
                        self.do('destroy', ps['sandboxes'][0]['id'])
                    if os.path.exists(self.path()):
                        self.assertIn('the session was removed, but the sandbox box (', self.do('destroy', 'box').err)
                    self.assertFalse(os.path.exists(self.path()))
                    self.create()
                    self.do('destroy', 'box')
                    self.assertNotIn(work['id'], [each['id'] for each in self.works()])  # nothing was changed

    def test_one_of_another_service_is_that_ones(self):
        other = yett.Service(before=POLICY, after=PROFILE)
        other.leftover_processes = list  # it has the same ids as the one that goes on
        with other:
            there = {'YETT_SOCKET': other.socket}
            for more in ([], ['--idle-timeout', '1h', '--idle-action', 'suspend']):
                with self.subTest(more=more):
                    self.create(*more, env=there)
                    before = self.record()
                    self.assertIn('word=--socket=' + other.socket + '\n', before)
                    done = self.do('create', '--name', 'box', code=1)
                    for text in ("a sandbox named 'box' is there already", '--socket ' + other.socket):
                        self.assertIn(text, done.err)
                    self.assertIn(other.socket, self.do('resume', 'box', code=1).err)
                    self.assertIn('belongs to another helper', self.do('destroy', 'box', code=1).err)
                    self.assertIn('belongs to another helper', self.do('exec', 'box', '--', 'true', code=125).err)
                    then = time.time() - 8 * 86400
                    for file in os.listdir(self.path()):
                        os.utime(self.path() + '/' + file, (then, then))
                    self.create(name='next')  # prunes
                    self.assertEqual(self.record(), before)
                    self.do('suspend', 'box', env=there)
                    self.assertEqual(self.suspended(), ['box'])
                    self.do('resume', 'box')
                    self.assertEqual([status['name'] for status in self.ps()['sandboxes']], ['next'])
                    self.assertEqual(self.do('exec', 'box', '--', 'echo', 'x', env=there).out, 'x\n')
                    self.do('destroy', 'box', env=there)
                    self.do('destroy', 'next')

    def test_a_paused_one_can_be_suspended_and_json_tells_the_new_id(self):
        self.cow_box()
        self.do('env', 'box', 'A=1')
        self.do('pause', 'box')
        done = json.loads(self.do('suspend', '--json', 'box').out)
        self.assertEqual(done['result']['sandboxes'], [{'operand': 'box', 'error': None}])
        item, = json.loads(self.do('resume', '--json', 'box').out)['result']['sandboxes']
        self.assertEqual((item['operand'], item['error'], item['id']), ('box', None, self.ps()['sandboxes'][0]['id']))
        self.assertEqual(self.shell('echo $A'), '1\n')
        self.do('pause', 'box')
        self.assertEqual(json.loads(self.do('resume', '--json', 'box').out)['result']['sandboxes'], [{'operand': 'box', 'id': None, 'error': None}])

    def test_several_at_once_are_each_made_where_they_were(self):
        for name in ('one', 'two'):
            self.create('--ro', '.:/there', name=name, cwd=self.folder(name))
        self.do('suspend', 'one', 'two')
        self.assertEqual(sorted(self.suspended()), ['one', 'two'])
        self.assertEqual(self.suspended('--filter', 'name=two'), ['two'])
        self.assertEqual(self.suspended('--filter', 'state=running'), [])
        self.assertEqual(sorted(self.suspended('--filter', 'state=suspended')), ['one', 'two'])
        self.assertEqual(self.do('ps', '-q').out, '')
        self.assertEqual(len(self.do('resume', 'one', 'two').out.split()), 2)
        self.assertEqual(self.suspended(), [])

    def test_what_has_no_session_is_not_suspended(self):
        unnamed = self.do('create').out.strip()
        done = self.do('run', '--linger', '--name', 'ran', '--', 'true')
        for box in (unnamed, 'ran'):
            done = self.do('suspend', box, code=1)
            self.assertIn('there is no session of the sandbox', done.err)
            self.assertIn('yett create --name', done.err)
        self.assertIn('there is no sandbox', self.do('suspend', 'nobody', code=1).err)
        self.assertEqual(len(self.ps()['sandboxes']), 2)
        self.assertIn('there is no sandbox', self.do('resume', 'nobody', code=1).err)

    def test_a_suspended_one_is_neither_suspended_again_nor_replaced_nor_running_twice(self):
        self.cow_box()
        self.shell('echo new >file')
        self.assertIn('is not paused', self.do('resume', 'box', code=1).err)
        self.do('suspend', 'box')
        before = self.record()
        self.assertIn('the sandbox box is suspended', self.do('suspend', 'box', code=1).err)
        self.assertIn('yett resume box', self.do('exec', 'box', '--', 'true', code=125).err)
        done = self.do('create', '--name', 'box', code=1)
        for text in ('the sandbox box is suspended', 'yett resume box', 'yett destroy box'):
            self.assertIn(text, done.err)
        self.assertEqual(self.record(), before)
        work, = self.works()
        done = self.do('destroy', 'box')
        self.assertIn('yett discard ' + work['id'], done.err)
        self.assertEqual((self.suspended(), os.path.exists(self.path()), len(self.works())), ([], False, 1))
        self.assertIn('there is no sandbox', self.do('destroy', 'box', code=1).err)

    def test_another_sandbox_of_the_name_is_in_the_way_and_is_not_the_sessions(self):
        self.cow_box()
        self.do('suspend', 'box')
        before = self.record()
        self.do('run', '--linger', '--name', 'box', '--', 'true')
        self.assertIn('is not paused', self.do('resume', 'box', code=1).err)
        self.assertIn('there is no session of the sandbox', self.do('suspend', 'box', code=1).err)
        self.assertEqual(self.suspended(), ['box'])
        self.do('destroy', 'box')  # the one that runs
        self.assertEqual(self.record(), before)
        self.do('resume', 'box')

    # --- ends ---

    def test_idleness_suspends_it_where_that_was_asked(self):
        for options in (['--idle-timeout', '200ms'], ['--name', 'box']):
            done = self.do('create', '--idle-action', 'suspend', *options, code=2)
            self.assertIn('with --name and --idle-timeout', done.err)
        self.assertIn('BAD is no name of a sandbox', self.do('create', '--idle-timeout', '1h', '--idle-action', 'suspend', '--name', 'BAD', code=2).err)
        self.assertIn('is of yett create', self.do('run', '--idle-action', 'suspend', '--idle-timeout', '1s', '--name', 'x', '--', 'true', code=125).err)
        for more in ([], ['--cleanup-delay', '1h']):
            self.cow_box('--idle-timeout', '300ms', '--idle-action', 'suspend', *more)
            yett.wait_until(lambda: self.suspended() == ['box'], 'the end by idleness')
            self.assertIn('suspended', self.do('create', '--name', 'box', code=1).err)
            self.do('resume', 'box')
            yett.wait_until(lambda: self.suspended() == ['box'], 'the end by idleness, again')
            self.do('destroy', 'box')  # what is listed of it, and in the second turn the session with it
            if self.suspended():
                self.do('destroy', 'box')

    def test_one_that_died_can_be_resumed_and_is_replaced(self):
        self.cow_box()
        self.shell('echo new >file')
        for _ in range(2):
            self.kill_init()
            self.assertEqual(self.suspended(), [])
            self.do('resume', 'box')
            self.assertEqual(self.shell('cat file'), 'new\n')
        self.kill_init()
        work, = self.works()
        self.create()
        self.assertNotIn(work['id'], self.record())

    def kill_init(self):
        """The end of a sandbox that nobody asked for."""
        status = self.ps()['sandboxes'][0]
        uid = status['private_uid'] // yett.RANGE
        for pid in yett.processes():
            ids = yett.status_of(pid)
            if yett.argv_of(pid)[:1] == ['yett-init'] and int(ids.get('Uid', '0').split()[0]) // yett.RANGE == uid and ids['NSpid'].split()[-1] == '1':
                os.kill(pid, 9)
        yett.wait_until(lambda: self.ps()['sandboxes'] == [], 'the end of the sandbox')

    def test_old_records_of_what_is_gone_are_pruned_and_no_others(self):
        for name in ('old', 'young', 'waits', 'lives'):
            self.create(name=name)
        self.do('suspend', 'waits')
        for name in ('old', 'young'):
            with_session = self.record(name)
            self.do('run', '--linger', '--name', 'other', '--', 'true')
            self.do('destroy', name)
            os.makedirs(self.path(name), exist_ok=True)
            yett.write(self.path(name) + '/session', with_session)
            os.chown(self.path(name), self.alice.uid, self.alice.gid)
            os.chmod(self.path(name), 0o700)
            os.chown(self.path(name) + '/session', self.alice.uid, self.alice.gid)
            self.do('destroy', 'other')
        then = time.time() - 8 * 86400
        for name in ('old', 'waits', 'lives'):
            for file in os.listdir(self.path(name)):
                os.utime(self.path(name) + '/' + file, (then, then))
        self.create(name='next')
        self.assertEqual(sorted(os.listdir(self.state + '/yett/sessions')), ['lives', 'next', 'waits', 'young'])

    # --- what stands in the way ---

    def test_what_was_shared_has_to_be_there_and_the_same(self):
        data = self.folder('data')
        secret = self.folder('secret', mode=0o700)
        self.alice.mkdir('data/sub')
        self.create('--rw', data, '--ro', data + '/sub:/sub', '--cow', self.source)
        self.do('suspend', 'box')
        os.rename(data + '/sub', data + '/away')
        self.assert_stays_suspended(data + '/sub No such file')
        # what a sandbox with --rw could leave behind, to be given more the next time
        os.symlink(secret, data + '/sub')
        self.assert_stays_suspended(data + '/sub is reached through a symbolic link now')
        os.unlink(data + '/sub')
        self.alice.mkdir('data/sub')
        self.assert_stays_suspended(data + '/sub is another directory')
        os.rmdir(data + '/sub')
        self.alice.write('data/sub', 'x')
        self.assert_stays_suspended(data + '/sub is another directory')
        os.unlink(data + '/sub')
        os.rename(data + '/away', data + '/sub')
        os.rename(self.source, self.source + '-away')
        self.assert_stays_suspended(self.source + ' No such file')
        self.alice.mkdir('source')
        self.assert_stays_suspended(self.source + ' is another directory')
        os.rmdir(self.source)
        os.rename(self.source + '-away', self.source)
        self.do('resume', 'box')

    def assert_mine_while_swapped(self, one, other, *look):
        """Whenever it is made again while somebody swaps these, it has what was shared."""
        swapper = self.alice.popen(['python3', '-c', SWAPPER, one, other], stdin=subprocess.PIPE)
        try:
            made = tried = 0
            while tried < 100 and min(made, tried - made) < SWAPPED:
                tried += 1
                if self.yett('resume', 'box', env=self.environment()).code == 0:
                    made += 1
                    self.assertEqual(self.exec(*look), 'mine\n')
                    self.do('suspend', 'box')
        finally:
            swapper.communicate()
        self.assertEqual(self.suspended(), ['box'])
        print('# made again %d times of %d' % (made, tried))

    def test_who_swaps_directories_while_it_is_made_gives_it_no_other(self):
        data, secret = self.folder('data'), self.folder('secret', mode=0o700)
        self.alice.write('secret/key', 'secret')
        for name in ('sub', 'sub/mine'):
            self.alice.mkdir('data/' + name)
        self.create('--ro', data + '/sub:/sub')
        self.do('suspend', 'box')
        os.symlink(secret, data + '/link')
        self.assert_mine_while_swapped(data + '/sub', data + '/link', 'ls', '/sub')

    def test_who_swaps_files_while_it_is_made_gives_it_no_other(self):
        data, secret = self.folder('data'), self.folder('secret', mode=0o700)
        self.alice.write('secret/key', 'secret\n')
        file = self.alice.write('data/file', 'mine\n')
        self.create('--ro', file + ':/tmp/file')
        self.do('suspend', 'box')
        os.symlink(secret + '/key', data + '/link')
        self.assert_mine_while_swapped(file, data + '/link', 'cat', '/tmp/file')

    def test_a_socket_is_the_same_and_no_link_to_another(self):
        folder = self.service.run_.roots_folder()
        os.chmod(folder, 0o755)
        self.change_policy(before=POLICY.replace('  share_ro', '  sockets = {"%s/mine"}\n  share_ro' % folder))
        listeners = []
        for name in ('mine', 'other'):
            listeners.append(socket.socket(socket.AF_UNIX))
            listeners[-1].bind(folder + '/' + name)
            self.addCleanup(listeners[-1].close)
            os.chown(folder + '/' + name, self.alice.uid, self.alice.gid)
        self.create('--profile', 'roomy', '--share-socket', folder + '/mine:/tmp/socket')
        self.do('suspend', 'box')
        os.rename(folder + '/mine', folder + '/away')
        for make, text in ((lambda: os.symlink(folder + '/other', folder + '/mine'), 'a symbolic link'), (lambda: yett.write(folder + '/mine', ''), 'socket')):
            make()
            self.assert_stays_suspended(text)
            os.unlink(folder + '/mine')
        os.rename(folder + '/away', folder + '/mine')
        self.do('resume', 'box')
        self.assertEqual(self.exec('stat', '-c', '%F', '/tmp/socket'), 'socket\n')

    def test_what_a_sandbox_keeps_for_others_is_the_same_directory(self):
        memory = self.folder('memory')
        self.create('--memory-dir', memory)
        self.exec('sh', '-c', 'echo kept >/mnt/memory/x')
        self.do('suspend', 'box')
        os.rename(memory, memory + '-away')
        self.assert_stays_suspended(memory + ' No such file')
        self.assertFalse(os.path.exists(memory))
        os.rename(memory + '-away', memory)
        self.do('resume', 'box')
        self.assertEqual(self.exec('cat', '/mnt/memory/x'), 'kept\n')
        self.do('suspend', 'box')
        self.do('resume', 'box')

    def test_a_file_may_be_another_one_and_no_directory(self):
        file = self.alice.write('a-file', 'one\n')
        self.addCleanup(lambda: os.path.lexists(file) and os.unlink(file))
        self.create('--ro', file + ':/tmp/file')
        self.do('suspend', 'box')
        os.unlink(file)
        self.assert_stays_suspended('No such file')
        os.mkdir(file)
        self.assert_stays_suspended('is a directory now')
        os.rmdir(file)
        os.symlink('/etc/passwd', file)
        self.assert_stays_suspended('a symbolic link')
        os.unlink(file)
        self.alice.write('a-file', 'two\n')
        self.do('resume', 'box')
        self.assertEqual(self.exec('cat', '/tmp/file'), 'two\n')

    def test_stores_that_are_missing_or_in_use(self):
        self.cow_box()
        self.shell('echo new >file')
        self.do('suspend', 'box')
        work, = self.works()
        other = self.do('create', '--store', work['id']).out.strip()
        done = self.do('resume', 'box', code=1)
        self.assertIn('a sandbox works on the store ' + work['id'], done.err)
        self.assertEqual(self.suspended(), ['box'])
        self.do('destroy', other)
        yett.wait_until(lambda: not self.works()[0]['used'], 'the end of the lock')
        os.rename(self.store(work), self.state + '/away')
        self.assert_stays_suspended('there is no store ' + work['id'])
        os.rename(self.state + '/away', self.store(work))
        self.do('resume', 'box')
        self.assertEqual(self.shell('cat file'), 'new\n')

    def test_a_store_that_was_named_is_used_again(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        self.create('--store', work['id'] + ':/tmp/place')
        self.do('suspend', 'box')
        self.assertEqual(self.do('run', '--store', work['id'] + ':/tmp/else', '--', 'cat', '/tmp/else/file').out, 'new\n')
        self.do('resume', 'box')
        self.assertEqual(self.exec('cat', '/tmp/place/file'), 'new\n')
        self.assertEqual(len(self.works()), 1)

    def test_a_policy_that_has_changed(self):
        self.cow_box('--profile', 'roomy')
        self.do('suspend', 'box')
        self.service.write_policy(before='', after='')
        self.service.reload()
        try:
            self.assert_stays_suspended('roomy')
        finally:
            self.service.write_policy(before=POLICY, after=PROFILE)
            self.service.reload()
        self.do('resume', 'box')

    def test_after_a_reboot_that_files_may_be_torn_is_told(self):
        self.cow_box()
        self.shell('echo new >file')
        self.do('suspend', 'box')
        boot, other = yett.read('/proc/sys/kernel/random/boot_id').strip(), '00000000-0000-0000-0000-000000000000'
        device = str(os.stat(self.source).st_dev)
        self.edit(lambda text: text.replace(boot, other).replace('device=' + device, 'device=7').replace(' %s ' % device, ' 7 '))
        self.edit(lambda text: text.replace('share=8 ' + device, 'share=8 7'))
        yett.write(self.store() + '/info', yett.read(self.store() + '/info').replace(boot, other))
        done = self.do('resume', 'box')
        self.assertIn('files in the store may be incomplete', done.err)
        self.assertEqual(self.shell('cat file'), 'new\n')
        self.do('suspend', 'box')
        self.assertNotIn('torn', self.do('resume', 'box').err)

    # --- records ---

    def test_records_that_were_edited_or_are_torn(self):
        self.cow_box('--label', 'a=b')
        self.do('env', 'box', 'A=1')
        self.do('suspend', 'box')
        whole, stores = self.record(), self.content()
        work, = self.works()
        sandbox = whole.split('sandbox=')[1].split('\n')[0]
        edits = [whole[:at] for at in range(0, len(whole), 37)] + ['', '\0' * 100, 'x' * 5000000, whole + 'x', whole.replace('end\n', '')]
        edits += [whole.replace(a, b) for a, b in (
            ('yett-session 1', 'yett-session 2'), ('sandbox=', 'sandbox=..'), (sandbox, ''), ('created=', 'created=-'), ('created=', 'x='),
            ('path=/', 'path='), ('target=/', 'target='), ('share=8', 'share=2'), ('share=8', 'share=99999999999999999999'), (work['id'], '../../x'),
            (work['id'], ''), ('word=--name', 'word=name'), ('word=--name', 'word=--'), ('word=--name', 'word=--nonsense'), ('word=--cow', 'word=--rw'),
            ('word=--cow', 'word=--help\nword=--cow'), ('word=', 'word=%zz'), ('env=A%3d1', 'env=A'), ('env=A=1', 'env=A'), ('env=', 'env==') ,
            ('share=8', 'path=/etc\nshare=8'), ('word=--cow', 'word=--ro=/etc\nword=--cow'), (self.source, '/etc'), (self.source, self.source + '/dir'),
            ('end\n', 'nonsense\nend\n'), ('end\n', 'share=0 0 0 -\nend\n'), ('end\n', 'share=0 0 0 -\npath=/etc\ntarget=/etc\nend\n'))]
        self.assertGreater(sum(text == whole for text in edits), -1)
        for text in edits:
            if text == whole:
                continue
            with self.subTest(text=text[-300:]):
                self.edit(lambda _: text)
                done = self.do('resume', 'box', code=1)
                self.assertTrue(done.err.startswith('yett: '), done)
                self.assertEqual((self.record(), self.content(), self.ps()['sandboxes']), (text, stores, []))
                self.assertNotEqual(self.yett('suspend', 'box', env=self.environment()).code, 0)
        self.assertIn('1 sessions cannot be read', self.run_broken(whole))
        self.edit(lambda _: whole + '')
        self.do('resume', 'box')

    def test_records_in_which_lines_are_missing_twice_or_elsewhere(self):
        self.folder('memory')
        self.cow_box('--memory-dir', 'memory', '--label', 'a=b', '--ro', '/usr:/u', cwd=self.alice.home)
        self.do('env', 'box', 'A=1')
        self.shell('touch new')
        self.do('suspend', 'box')
        whole, chance = self.record(), random.Random(7)
        work, = self.works()
        tried, made = {whole}, 0
        for _ in range(EDITED):
            lines = whole.splitlines(True)
            for _ in range(chance.randrange(1, 3)):
                at, to = chance.randrange(1, len(lines)), chance.randrange(1, len(lines))
                kind = chance.randrange(4)
                if kind == 0:
                    del lines[at]
                elif kind == 1:
                    lines.insert(to, lines[at])
                elif kind == 2:
                    lines[at], lines[to] = lines[to], lines[at]
                else:
                    lines[at] = lines[at][:chance.randrange(len(lines[at]))] + '\n'
            text = ''.join(lines)
            if text in tried:
                continue
            tried.add(text)
            self.edit(lambda _, text=text: text)
            done = self.yett('resume', 'box', env=self.environment())
            self.assertIn(done.code, (0, 1), text)
            if done.code == 0:
                made += 1
                self.assertEqual(self.exec('ls', '/u'), '\n'.join(sorted(os.listdir('/usr'))) + '\n', text)
                self.do('destroy', done.out.strip())
                os.makedirs(self.path(), exist_ok=True)
                os.chmod(self.path(), 0o700)
                os.chown(self.path(), self.alice.uid, self.alice.gid)
                yett.write(self.path() + '/session', whole, 0o600)
                os.chown(self.path() + '/session', self.alice.uid, self.alice.gid)
                self.assertIn('\nend\n', self.record())
            self.assertEqual(self.stores(), [work['id']], text)
        self.assertEqual([entry['id'] for entry in self.works()], [work['id']])
        self.edit(lambda _: whole)
        self.do('resume', 'box')
        print('# made again by %d of %d edited records' % (made, len(tried) - 1))

    def run_broken(self, whole):
        """What is torn keeps its place, until it is forgotten by name."""
        self.edit(lambda _: whole[:50])
        self.assertIn('cannot be used', self.do('create', '--name', 'box', code=1).err)
        told = self.do('ps').err
        return told

    def test_a_broken_record_can_be_forgotten(self):
        self.cow_box()
        self.do('suspend', 'box')
        self.edit(lambda text: text[:40])
        self.assertIn('yett work list', self.do('destroy', 'box').err)
        self.assertEqual((os.path.exists(self.path()), len(self.works())), (False, 1))

    def test_what_lies_in_the_place_of_a_record_is_not_followed(self):
        secret = self.folder('secret', mode=0o700)
        self.create()
        self.do('suspend', 'box')
        path, record = self.path() + '/session', self.record()
        for make in (lambda: os.symlink('/etc/passwd', path), lambda: os.mkfifo(path), lambda: os.mkdir(path), lambda: os.symlink(secret, path)):
            os.rename(path, path + '-away')
            make()
            self.assertTrue(self.do('resume', 'box', code=1).err.startswith('yett: '))
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            os.rename(path + '-away', path)
        os.chmod(path, 0o666)
        self.assertIn('others may write it', self.do('resume', 'box', code=1).err)
        os.chmod(path, 0o600)
        for place in (self.path(), os.path.dirname(self.path())):
            os.chmod(place, 0o770)
            self.assertIn('chmod 700 ' + place, self.do('resume', 'box', code=1).err)
            os.chmod(place, 0o700)
        os.rename(self.path(), self.path() + '-away')
        os.symlink(self.path() + '-away', self.path())
        self.do('resume', 'box', code=1)
        os.unlink(self.path())
        os.rename(self.path() + '-away', self.path())
        self.assertEqual(self.record(), record)
        self.do('resume', 'box')

    def test_another_user_has_nothing_of_it(self):
        self.create()
        self.do('suspend', 'box')
        os.chmod(self.state, 0o755)
        self.assertEqual(stat.S_IMODE(os.stat(self.path()).st_mode), 0o700)
        for word in ('resume', 'suspend', 'destroy', 'history'):
            done = self.yett(word, 'box', user=self.bob, env=self.environment())
            self.assertNotEqual(done.code, 0, done)
        self.assertEqual(self.suspended(), ['box'])
        # one that bob left for alice to use
        bobs = self.folder('bobs', user=self.bob, mode=0o755)
        os.makedirs(bobs + '/yett')
        shutil.copytree(self.state + '/yett/sessions', bobs + '/yett/sessions')
        for folder, _, files in os.walk(bobs):
            for path in [folder] + [folder + '/' + name for name in files]:
                os.chown(path, self.bob.uid, self.bob.gid)
                os.chmod(path, 0o755)
        done = self.do('resume', 'box', env={'XDG_STATE_HOME': bobs}, code=1)
        self.assertEqual(self.yett('ps', '-q').out, '')

    # --- what sandboxes reach ---

    def test_no_sandbox_reaches_sessions(self):
        self.create()
        for share in (self.state, self.state + '/yett', self.state + '/yett/sessions', self.path(), self.path() + '/session', self.alice.home):
            for option in ('--rw', '--ro'):
                if option == '--ro' and share in (self.state, self.alice.home):
                    self.assertEqual(self.do('run', option, share, '--', 'ls', '-A', self.state + '/yett').out, '')
                    continue
                done = self.do('run', option, share, '--', 'true', code=125)
                self.assertIn('sessions of sandboxes are kept', done.err)
                self.assertIn('cannot share', self.do('mount', option, share, 'box', code=1).err)
        for share in (self.state + '/yett/sessions', self.path(), self.state, self.alice.home):
            for more in ('', ':memory=1M'):
                done = self.do('run', '--cow', share + more, '--', 'true', code=125)
                self.assertIn('sessions of sandboxes are kept', done.err)
                self.assertNotIn('memory=SIZE', done.err)
                if os.path.dirname(share) != self.state + '/yett/sessions':
                    self.assertIn('cannot share', self.do('mount', '--cow', share + ':/mnt/x:memory=1M', 'box', code=1).err)
        shutil.rmtree(self.state + '/yett')  # nor one that is just being made what there will be
        done = self.do('create', '--name', 'other', '--rw', self.state, code=1)
        self.assertIn('sessions of sandboxes are kept', done.err)

    def limited(self, *argv):
        """The command where no file can be written, as on a disk that is full."""
        script = 'trap "" XFSZ; ulimit -f 0; exec "$@" 2>&1 | cat >&2'
        return self.service.run(self.alice, 'sh', '-c', 'exec 3>&1; ' + script, 'sh', self.service.yett, *argv, env=self.environment())

    def test_where_nothing_can_be_written_nothing_ends_and_nothing_is_lost(self):
        self.cow_box()
        self.shell('echo new >file')
        before = self.record()
        self.assertIn('cannot write the session', self.limited('suspend', 'box').err)
        self.assertEqual((self.record(), self.shell('cat file')), (before, 'new\n'))
        self.do('suspend', 'box')
        before = self.record()
        self.assertIn('cannot write the session', self.limited('resume', 'box').err)
        self.assertEqual((self.record(), self.suspended()), (before, ['box']))
        self.assertIn('the sandbox cannot be suspended: cannot write the session', self.limited('create', '--name', 'other').err)
        self.assertIn('cannot write the session', self.limited('create', '--name', 'third', '--idle-timeout', '1h', '--idle-action', 'suspend').err)
        self.assertEqual([status['name'] for status in self.ps()['sandboxes']], ['other'])
        self.do('resume', 'box')
        self.assertEqual(self.shell('cat file'), 'new\n')
        self.assertEqual(sorted(os.listdir(self.path())), ['history', 'history.lock', 'session'])

    def test_what_a_profile_has_copy_on_write_keeps_its_store(self):
        self.create('--profile', 'kept', cwd=self.source)
        self.shell('echo new >file')
        self.do('suspend', 'box')
        self.do('resume', 'box', cwd='/')
        self.assertEqual((self.shell('cat file'), len(self.works())), ('new\n', 1))

    # --- checkpoints that name a snapshot ---

    def checkpoint(self, *words, **more):
        return self.do('checkpoint', *words, **{'cwd': self.source, **more})

    def test_a_thread_that_goes_back_takes_its_sandbox_with_it(self):
        self.cow_box()
        work = self.works()[0]['id']
        found = {}
        for step in ('first', 'second', 'third'):
            self.shell('echo %s >step; touch %s' % (step, step))
            self.do('snapshot', 'take', work, step)
            found[step] = self.checkpoint('put', 'thread', self.alice.write('bytes', step), '--sandbox', {'second': work}.get(step, 'box'), '--snapshot', step).out.strip()
        self.shell('rm -r *')
        fork = self.do('snapshot', 'fork', work).out.strip()  # which has nothing to do with the sandbox
        self.assertEqual([each['sandbox'] for each in self.works() if each['id'] == fork], [''])
        self.assertRegex(self.do('work', 'list').out, fork + '  - +no')
        done = self.checkpoint('rollback', 'thread', found['second'], '--workspace', code=1)
        self.assertIn('a sandbox works on the store ' + work, done.err)
        self.assertEqual(self.checkpoint('latest', 'thread').out, 'third')  # nothing has gone back
        done = self.checkpoint('rollback', 'thread', found['second'], '--workspace', '--kill', cwd=self.alice.home, code=1)  # a file that programs write named it
        self.assertIn('has the changes of %s, which is neither the current directory' % self.source, done.err)
        self.assertIn('yett snapshot list %s lists' % work, done.err)
        done = self.checkpoint('rollback', 'thread', found['second'], '--workspace', '--kill')
        self.assertIn('%s is as second was\nremoved 1 checkpoint\n' % work, done.out)
        self.assertEqual(self.checkpoint('latest', 'thread').out, 'second')
        self.assertEqual(self.shell('cat step; ls first second'), 'second\nfirst\nsecond\n')
        self.assertEqual(self.shell('ls third 2>/dev/null || echo none'), 'none\n')
        done = self.checkpoint('rollback', 'thread', found['first'], '--workspace', '--kill', '--json')  # by the name of the sandbox, which is another one by now
        self.assertEqual(yett.told(done.out)['checkpoint']['id'], found['first'])
        self.assertEqual(self.shell('cat step'), 'first\n')

    def test_where_the_sandbox_cannot_go_back_the_thread_does_not(self):
        self.cow_box()
        put = lambda *words: self.checkpoint('put', 'thread', self.alice.write('bytes'), *words).out.strip()
        self.do('suspend', 'box')
        first, named = put(), put('--sandbox', 'box', '--snapshot', 'none')
        other, last = put('--sandbox', '0123456789abcdef', '--snapshot', 'x'), put()
        for which, text in ((first, 'has no snapshot to roll a store back to'), (named, 'no snapshot none'), (other, 'there is no store 0123456789abcdef, nor one of a sandbox of that id or name')):
            self.assertIn(text, self.checkpoint('rollback', 'thread', which, '--workspace', code=1).err)
        self.assertIn('is not of the thread others', self.checkpoint('rollback', 'others', first, '--workspace', code=1).err)
        self.assertIn('--kill needs --workspace', self.checkpoint('rollback', 'thread', first, '--kill', code=2).err)
        self.assertIn(last, self.checkpoint('list', 'thread').out)

    # --- kills, and two at once ---

    def kills(self, *words, prepare=lambda: None, check):
        """Kills the command at each of its steps: `check` sees each state that this leaves."""
        library = self.alice.write('kill_at.so')
        shutil.copy(os.environ['YETT_BUILD_ROOT'] + '/tests/system/kill_at.so', library)
        kill, count = {'LD_PRELOAD': library, 'ASAN_OPTIONS': 'verify_asan_link_order=0'}, self.alice.home + '/count'
        prepare()
        self.do(*words, env={**kill, 'YETT_TEST_KILL_COUNT': count})
        steps = int(yett.read(count))
        self.assertGreater(steps, 0)
        check(None)
        for step in range(1, steps + 1):
            prepare()
            self.yett(*words, env={**self.environment(), **kill, 'YETT_TEST_KILL_AT': str(step)})
            check(step)

    def ready(self, *, is_suspended):
        """A sandbox with a change, whatever there was."""
        for _ in range(2):
            self.yett('destroy', 'box', env=self.environment())
        for work in self.stores() if os.path.isdir(self.state + '/yett/work') else []:
            yett.wait_until(lambda work=work: self.yett('discard', work, env=self.environment()).code == 0, 'the end of a store')
        self.cow_box()
        self.shell('echo new >file')
        self.do('env', 'box', 'A=1')
        if is_suspended:
            self.do('suspend', 'box')

    def assert_goes_on(self):
        """Whatever it was, suspend and resume bring it back, with what was changed."""
        if self.ps()['sandboxes']:
            self.assertEqual(self.shell('cat file'), 'new\n')
            self.do('suspend', 'box')
        self.do('resume', 'box')
        self.assertEqual(self.shell('cat file; echo $A'), 'new\n1\n')
        self.assertEqual(len(self.works()), 1)

    def test_a_kill_while_it_is_suspended(self):
        self.kills('suspend', 'box', prepare=lambda: self.ready(is_suspended=False), check=lambda step: self.assert_goes_on())

    def test_a_kill_while_it_is_resumed(self):
        self.kills('resume', 'box', prepare=lambda: self.ready(is_suspended=True), check=lambda step: self.assert_goes_on())

    def test_a_kill_while_it_is_made_leaves_the_name_to_be_used(self):
        def prepare():
            for _ in range(2):
                self.yett('destroy', 'box', env=self.environment())

        def check(step):
            self.yett('destroy', 'box', env=self.environment())
            self.cow_box()
            self.do('suspend', 'box')
            self.do('destroy', 'box')
        self.kills('create', '--name', 'box', '--cow', self.source, prepare=prepare, check=check)

    def test_a_kill_while_it_is_forgotten(self):
        def check(step):
            self.yett('destroy', 'box', env=self.environment())
            self.assertEqual(self.suspended(), [])
            self.assertEqual(len(self.works()), 1)
        self.kills('destroy', 'box', prepare=lambda: self.ready(is_suspended=True), check=check)

    def test_a_second_one_is_told(self):
        def all_are_told(*commands):
            """Each waits a moment for who holds the session: all of them at once."""
            with open_directory(self.path()) as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                started = [(code, self.service.popen(self.alice, self.service.yett, *argv, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                     text=True)) for argv, code in commands]
                for code, process in started:
                    _, err = process.communicate(timeout=yett.DEADLINE)
                    self.assertEqual(process.returncode, code, (process.args, err))
                    self.assertIn('by somebody else', err, process.args)

        self.cow_box()
        all_are_told((['suspend', 'box'], 1), (['destroy', 'box'], 1))
        self.assertEqual(len(self.ps()['sandboxes']), 1)
        self.do('suspend', 'box')
        all_are_told((['resume', 'box'], 1), (['destroy', 'box'], 1), (['create', '--name', 'box'], 1))
        self.assertEqual(self.suspended(), ['box'])
        self.do('resume', 'box')

    def test_many_at_once_make_one(self):
        self.cow_box()
        self.shell('echo new >file')
        for _ in range(5):
            self.do('suspend', 'box')
            started = [self.service.popen(self.alice, self.service.yett, 'resume', 'box', env=self.environment(), stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True) for _ in range(4)]
            told = [(process.communicate(timeout=yett.DEADLINE), process.returncode) for process in started]
            self.assertEqual(sorted(code for _, code in told), [0, 1, 1, 1], told)
            for (_, err), code in told:
                self.assertTrue(code == 0 or 'is there already' in err or 'is not paused' in err or 'by somebody else' in err, told)
            self.assertEqual(len(self.ps()['sandboxes']), 1)
            self.assertEqual(self.shell('cat file'), 'new\n')

    # --- history ---

    def history(self, box='box'):
        return json.loads(self.do('history', '--json', box).out)['result']['commands']

    def test_what_ran_is_told(self):
        self.create()
        self.assertEqual(self.history(), [])
        self.exec('echo', 'a b', '', "it's", '\x1b[31m%')
        self.do('exec', 'box', '--', 'sh', '-c', 'exit 7', code=7)
        self.do('exec', 'box', '--', 'no-such-program', code=127)
        self.do('exec', '-b', 'box', '--', 'true')
        self.do('exec', 'box', '--', 'sh', '-c', 'kill -9 $$', code=137)
        self.do('exec', 'box', '--', *['x' * 1000] * 10, code=127)
        first = self.history()
        self.assertEqual([(entry['status'], entry['number'], entry['argv'][:2]) for entry in first],
                         [('exited', 0, ['echo', 'a b']), ('exited', 7, ['sh', '-c']), ('failed', None, ['no-such-program']), ('started', None, ['true']),
                          ('signaled', 9, ['sh', '-c']), ('failed', None, ['x' * 1000] * 2)])
        self.assertEqual(first[0]['argv'], ['echo', 'a b', '', "it's", '\x1b[31m%'])
        self.assertEqual((first[5]['words'], len(first[5]['argv'])), (10, 4))
        text = self.do('history', 'box').out
        self.assertNotIn('\x1b', text)
        self.assertIn("          7  sh -c 'exit 7'\n", text)
        self.assertIn(" echo 'a b' '' 'it'\\''s' ", text)
        self.do('suspend', 'box')
        self.assertEqual(self.history(), first)
        self.do('resume', 'box')
        self.do('exec', self.ps()['sandboxes'][0]['id'], '--', 'true')
        self.assertEqual(len(self.history()), 7)
        self.assertIn('there is no session', self.do('history', 'other', code=1).err)

    def test_what_ran_in_an_earlier_sandbox_of_the_name_is_not_told(self):
        self.create()
        self.exec('echo', 'earlier')
        self.kill_init()
        self.assertEqual(len(self.history()), 1)
        self.create()
        self.assertEqual(self.history(), [])
        self.exec('echo', 'later')
        self.assertEqual([entry['argv'] for entry in self.history()], [['echo', 'later']])

    def test_the_last_thousand_are_kept_and_what_is_torn_is_passed_over(self):
        self.create()
        path = self.path() + '/history'
        self.exec('true')
        line = yett.read(path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(''.join('%d exit:0 1 n%d\n' % (i, i) for i in range(1300)) + 'x\n12 exit:0\n12 exit:x 1 a\n12 exit:0 1 %zz\n' + line[:-3])
        self.do('exec', 'box', '--', 'no-such', code=127)
        self.assertLessEqual(len(yett.read(path).splitlines()), 1001)
        self.assertEqual(self.history()[-1]['argv'], ['no-such'])
        self.assertLessEqual(len(self.history()), 1000)
        self.do('exec', 'box', '--', 'true')
        self.assertEqual([entry['argv'] for entry in self.history()[-2:]], [['no-such'], ['true']])

    def test_many_at_once_lose_none(self):
        self.create()
        started = [self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'echo', str(i), env=self.environment(),
                                      stdout=subprocess.PIPE) for i in range(8)]
        for process in started:
            process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(sorted(int(entry['argv'][1]) for entry in self.history()), list(range(8)))

    # --- rollback ---

    def test_a_rollback_under_a_sandbox_makes_it_again(self):
        self.assert_cow('echo one >file')
        work, = self.works()
        self.do('snapshot', 'take', work['id'], 'one')
        first = self.create('--store', work['id'], '--label', 'a=b')
        self.shell('echo two >file')
        done = self.do('snapshot', 'rollback', work['id'], 'one', code=1)
        self.assertIn('--kill', done.err)
        self.assertEqual(self.shell('cat file'), 'two\n')
        done = self.do('snapshot', 'rollback', '--kill', work['id'], 'one')
        status, = self.ps()['sandboxes']
        self.assertIn(status['id'], done.err)
        self.assertNotEqual(status['id'], first)
        self.assertEqual((status['name'], status['labels'], self.shell('cat file')), ('box', {'a': 'b'}, 'one\n'))
        self.shell('echo three >file')

    def test_a_rollback_that_would_be_refused_ends_nothing(self):
        self.cow_box()
        work, = self.works()
        for step in ('one', 'two'):
            self.shell('echo %s >file; echo x >/tmp/kept' % step)
            self.do('snapshot', 'take', work['id'], step)
        before, = self.ps()['sandboxes']

        def refused(text, *words):
            done = self.do('snapshot', 'rollback', '--kill', work['id'], *words, code=1)
            self.assertIn(text, done.err)
            self.assertEqual((self.ps()['sandboxes'][0]['id'], self.shell('cat file /tmp/kept')), (before['id'], 'two\nx\n'))
        refused('has no snapshot none', 'none')
        refused('1 snapshot later than one', 'one')
        os.mkdir(self.store(work) + '/apply')
        yett.write(self.store(work) + '/apply/journal', '')
        refused('ended half-way', 'two')
        shutil.rmtree(self.store(work) + '/apply')
        put = self.checkpoint('put', 'thread', self.alice.write('bytes'), '--sandbox', 'box', '--snapshot', 'none').out.strip()
        self.assertIn('has no snapshot none', self.checkpoint('rollback', 'thread', put, '--workspace', '--kill', code=1).err)
        self.assertEqual(self.ps()['sandboxes'][0]['id'], before['id'])
        self.do('snapshot', 'rollback', '--kill', '--delete-later', work['id'], 'one')
        self.assertEqual(self.shell('cat file; ls /tmp/kept 2>/dev/null || echo none'), 'one\nnone\n')

    def on_terminal(self, answer, *words, code=0):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        os.write(master, answer.encode())
        process = self.service.popen(self.alice, 'setsid', '--ctty', '--wait', self.service.yett, *words, env=self.environment(), stdin=slave,
                                     stdout=subprocess.PIPE, stderr=slave, cwd=self.source)
        os.close(slave)
        out, _ = process.communicate(timeout=yett.DEADLINE)
        shown = yett.read_terminal(master).decode()
        self.assertEqual(process.returncode, code, (out, shown))
        return shown

    def test_what_goes_is_asked_for_on_a_terminal(self):
        self.cow_box()
        work, = self.works()
        for step in ('one', 'two', 'three'):
            self.shell('echo %s >file' % step)
            self.do('snapshot', 'take', work['id'], step)
        put = self.checkpoint('put', 'thread', self.alice.write('bytes'), '--sandbox', 'box', '--snapshot', 'one').out.strip()
        before = self.ps()['sandboxes'][0]['id']
        back = ['snapshot', 'rollback', '--kill', work['id']]
        thread = ['checkpoint', 'rollback', 'thread', put, '--workspace', '--kill']
        self.assertIn('the changes in %s since three will be lost; and the processes and /tmp of the sandbox %s. Go back?' % (work['id'], before),
                      self.on_terminal('n\n', *back, 'three', code=1))
        shown = self.on_terminal('n\n', *thread, code=1)
        self.assertIn('since one will be lost, with 2 later snapshots; and the processes and /tmp of the sandbox %s.' % before, shown)
        self.assertIn('nothing was changed', shown)
        self.assertNotIn('Go back?', self.on_terminal('n\n', *back, 'one', code=1))
        self.assertEqual((self.ps()['sandboxes'][0]['id'], self.shell('cat file')), (before, 'three\n'))
        self.assertIn('--yes needs --workspace', self.checkpoint('rollback', 'thread', put, '--yes', code=2).err)
        self.assertNotIn('Go back?', self.on_terminal('', *thread, '--yes'))
        self.assertEqual(self.shell('cat file'), 'one\n')
        self.do('suspend', 'box')
        self.assertIn('since one will be lost. Go back?', self.on_terminal('y\n', *back, 'one'))

    def test_a_rollback_after_which_it_cannot_be_made_again_leaves_it_suspended(self):
        data = self.folder('data')
        self.assert_cow('echo one >file')
        work, = self.works()
        self.do('snapshot', 'take', work['id'], 'one')
        self.create('--store', work['id'], '--rw', data)
        self.shell('echo two >file')
        os.rename(data, data + '-away')
        done = self.do('snapshot', 'rollback', '--kill', work['id'], 'one', code=1)
        self.assertIn('the sandbox box is suspended: yett resume box', done.err)
        self.assertIn(data + ' No such file', done.err)
        os.rename(data + '-away', data)
        self.do('resume', 'box')
        self.assertEqual(self.shell('cat file'), 'one\n')

    def test_a_rollback_under_what_has_no_session_ends_nothing(self):
        self.assert_cow('echo one >file')
        work, = self.works()
        self.do('snapshot', 'take', work['id'], 'one')
        box = self.do('create', '--store', work['id']).out.strip()
        done = self.do('snapshot', 'rollback', '--kill', work['id'], 'one', code=1)
        self.assertIn('there is no session of the sandbox ' + box, done.err)
        self.assertIn('yett destroy', done.err)
        self.assertEqual(len(self.ps()['sandboxes']), 1)


class open_directory:
    """The descriptor of a directory."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self):
        return self.fd

    def __exit__(self, *_):
        os.close(self.fd)


if __name__ == '__main__':
    yett.main()
