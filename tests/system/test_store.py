# SPDX-License-Identifier: Apache-2.0
"""Stores of copy-on-write sandboxes, used again: a sandbox that goes on where an earlier one stopped."""
import json
import os
import re
import shutil
import stat
import subprocess

import workspace
import yett
from workspace import Workspace, shown, tree


class Again(Workspace):
    def again(self, work, script, *options, **more):
        return self.sandbox('sh', '-c', script, options=['--store', work['id'], '-C', self.source, *options], env=self.environment(), **more)

    def assert_refused_and_kept(self, work, text, *options, code=125):
        """Nothing in the store changes, but that `work` may have been made anew."""
        def kept():
            return {path: found for path, found in tree(self.store(work)).items() if path.split('/')[0] != 'work' and path != '.'}
        before = kept()
        done = self.sandbox('true', options=options or ['--store', work['id']], env=self.environment())
        self.assertEqual(done.code, code, done)
        self.assertIn(text, done.err)
        self.assertEqual(kept(), before)

    def test_it_begins_with_what_was_changed_and_adds_to_it(self):
        before = tree(self.source)
        self.assert_cow('set -e; echo new >file; rm gone; rm -r removed; mkdir removed; mkdir made; echo x >made/x')
        first, = self.works()
        done = self.again(first, 'set -e; cat file made/x; ls -A . removed; echo more >>file; rm -r made')
        self.assertEqual((done.code, done.out.split()), (0, ['new', 'x', '.:', 'dir', 'file', 'made', 'moved', 'removed', 'renamed', 'removed:']), done)
        work, = self.works()
        self.assertNotEqual(work['sandbox'], first['sandbox'])
        self.assertEqual({**work, 'sandbox': 0}, {**first, 'sandbox': 0})
        self.assertIn('yett discard ' + work['id'], done.err)
        self.assertEqual(self.again(work, 'cat file; ls').out.split(), ['new', 'more', 'dir', 'file', 'moved', 'removed', 'renamed'])
        self.assertEqual(tree(self.source), before)

    def test_it_may_be_elsewhere_inside(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        for option in (work['id'] + ':/tmp/here', work['id']):  # where it was last, then
            done = self.sandbox('cat', '/tmp/here/file', options=['--store', option], env=self.environment())
            self.assertEqual((done.code, done.out), (0, 'new\n'), done)
            self.assertEqual(self.works()[0]['target'], '/tmp/here')
        done = self.sandbox('sh', '-c', 'pwd; cat file', options=['--store', work['id'] + ':' + self.source], cwd=self.source, env=self.environment())
        self.assertEqual(done.out, self.source + '\nnew\n', done)

    def test_a_sandbox_that_lingers_has_it_and_nobody_else_meanwhile(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        done = self.yett('create', '--store', work['id'], env=self.environment())
        self.assertEqual(done.code, 0, done)
        box = done.out.strip()
        self.assertTrue(self.works()[0]['used'])
        self.assert_refused_and_kept(work, 'a sandbox works on the store ' + work['id'])
        self.assertEqual(self.yett('exec', '-C', self.source, box, '--', 'cat', 'file').out, 'new\n')
        self.assertEqual(self.yett('destroy', box).code, 0)
        yett.wait_until(lambda: not self.works()[0]['used'], 'the end of the lock')
        self.assertEqual(self.again(work, 'cat file').out, 'new\n')

    def test_an_earlier_boot_is_told_of_and_the_number_of_the_device_does_not_count_then(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        path = self.store() + '/info'
        boot = yett.read('/proc/sys/kernel/random/boot_id').strip()
        text = yett.read(path).replace(boot, '00000000-0000-0000-0000-000000000000')
        device = 'device=%d' % os.stat(self.source).st_dev
        yett.write(path, text.replace(device, 'device=7') + 'later=kept%20as%20it%20is\n')
        self.assertTrue(self.works()[0]['earlier_boot'])
        done = self.again(work, 'cat file')
        self.assertEqual((done.code, done.out), (0, 'new\n'), done)
        self.assertIn('files in the store may be incomplete', done.err)
        self.assertFalse(self.works()[0]['earlier_boot'])
        for line in (boot, device, 'later=kept%20as%20it%20is'):
            self.assertIn(line + '\n', yett.read(path).replace('boot=', ''))
        self.assertNotIn('torn', self.again(work, 'true').err)

    def test_a_source_that_was_replaced_or_is_gone_is_refused(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        os.rename(self.source, self.source + '-away')
        self.assert_refused_and_kept(work, 'cannot share %s: No such file' % self.source)
        self.alice.mkdir('source')
        self.assert_refused_and_kept(work, 'the store %s is about %s as it was: another directory has that name now' % (work['id'], self.source))
        os.rmdir(self.source)
        os.rename(self.source + '-away', self.source)
        self.assertEqual(self.again(work, 'cat file').out, 'new\n')

    def test_words_that_are_none(self):
        self.make_store()
        work, = self.works()
        for word in ('x', work['id'][1:], work['id'] + ':', work['id'] + ':here', '../' + work['id'][3:]):
            self.assert_refused_and_kept(work, '--store %s: ' % word if ':' in word else 'there is no store ' + word, '--store', word)
        self.assert_refused_and_kept(work, 'there is no store 0123456789abcdef', '--store', '0123456789abcdef')
        self.state, elsewhere = self.folder('elsewhere', mode=0o700), self.state
        done = self.sandbox('true', options=['--store', work['id']], env=self.environment())
        self.assertEqual(done.code, 125, done)
        self.assertIn('there is no store ' + work['id'], done.err)
        self.state = elsewhere

    def test_one_store_twice_in_a_sandbox_is_refused(self):
        self.make_store()
        work, = self.works()
        self.assert_refused_and_kept(work, 'another sandbox is using the store', '--store', work['id'], '--store', work['id'] + ':/tmp/other')

    def test_a_request_that_comes_to_nothing_leaves_it(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        self.assert_refused_and_kept(work, '', '--store', work['id'], '--memory', '1000T')
        done = self.sandbox('true', options=['--store', work['id'], '--dry-run'], env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.again(work, 'cat file').out, 'new\n')

    def test_stores_that_were_edited_or_are_half_gone(self):
        self.assert_cow('echo new >file')
        work, = self.works()
        store = self.store()
        os.chmod(store, 0o755)
        self.assert_refused_and_kept(work, 'others may use it: chmod 700 ' + store)
        os.chmod(store, 0o700)
        secret = self.folder('private', mode=0o700)
        os.rename(store + '/upper', store + '/away')
        for make in (lambda path: None, lambda path: os.symlink(secret, path), lambda path: os.symlink('away', path), os.mkfifo,
                     lambda path: yett.write(path, ''), os.mkdir):  # the last one is root's
            make(store + '/upper')
            self.assert_refused_and_kept(work, '"upper" must be a directory of yours')
            self.assertEqual(os.listdir(secret), [])
            if os.path.isdir(store + '/upper') and not os.path.islink(store + '/upper'):
                os.rmdir(store + '/upper')
            elif os.path.lexists(store + '/upper'):
                os.unlink(store + '/upper')
        os.rename(store + '/away', store + '/upper')
        shutil.rmtree(store + '/work')
        self.assertEqual(self.again(work, 'cat file').out, 'new\n')
        for make in (lambda path: os.symlink(self.source, path), os.mkfifo, lambda path: yett.write(path, '')):
            shutil.rmtree(store + '/work') if not os.path.islink(store + '/work') and os.path.isdir(store + '/work') else os.unlink(store + '/work')
            make(store + '/work')
            self.assertEqual(self.again(work, 'cat file').out, 'new\n')
            self.assertTrue(stat.S_ISDIR(os.lstat(store + '/work').st_mode))
        self.assertIn('file', os.listdir(self.source))
        os.unlink(store + '/info')
        self.assert_refused_and_kept(work, 'does not say yet which directory it is for')


class Named(Workspace):
    """A store by the id or name of its sandbox, or the newest of the directory that one is in."""

    def do(self, *argv, code=0, cwd=None):
        done = self.yett(*argv, env=self.environment(), cwd=cwd)
        self.assertEqual(done.code, code, done)
        return done

    def box(self, script, *options, name='box'):
        """A sandbox that has ended, and its id."""
        box = self.do('create', '--name', name, '--cow', self.source, *options).out.strip()
        self.do('exec', '-C', self.source, name, '--', 'sh', '-c', script)
        self.do('destroy', name)
        return box

    def test_whatever_takes_a_store_takes_its_sandbox(self):
        box = self.do('create', '--name', 'box', '--cow', self.source).out.strip()
        self.do('exec', '-C', self.source, 'box', '--', 'sh', '-c', 'echo new >file')
        work, = self.works()
        self.assertEqual((work['sandbox'], work['name'], work['changed']), (box, 'box', True))
        self.assertEqual(yett.told(self.do('ps', '--json').out)['sandboxes'][0]['stores'], [work['id']])
        self.assertEqual(yett.told(self.do('inspect', '--json', 'box').out)['sandbox']['stores'], [work['id']])
        self.assertIn('store        %s of %s\n' % (work['id'], self.source), self.do('inspect', 'box').out)
        self.assertRegex(self.do('ps').out, r'(?m)^%s  box .* %s  $' % (box, work['id']))
        self.assertRegex(self.do('work', 'list').out, r'(?m)^%s  box +yes +yes ' % work['id'])
        for live in (True, False):
            for name in (box, 'box', work['id']):
                self.assertEqual(self.do('diff', '--name-only', name).out, 'file\n')
            self.assertEqual(self.do('diff', '--name-only', 'box', 'none').out, '')
            if live:
                self.do('destroy', 'box')
        self.assertEqual(self.do('snapshot', 'take', 'box', 'first').out, 'first\n')
        self.assertIn('first', self.do('snapshot', 'list', box).out)
        self.assertEqual(self.do('diff', '--name-only', 'box@first').out, 'file\n')
        fork = self.do('snapshot', 'fork', 'box', 'first').out.strip()
        self.do('discard', fork)
        self.assertEqual(self.do('run', '--store', 'box', '-C', self.source, '--', 'sh', '-c', 'cat file; echo newer >file').out, 'new\n')
        self.assertEqual(self.do('run', '--store', 'box:/tmp/here', '--', 'cat', '/tmp/here/file').out, 'newer\n')  # without a name it is called as before
        self.do('snapshot', 'rollback', '--yes', 'box', 'first')
        self.do('apply', 'box')
        self.assertEqual(yett.read(self.source + '/file'), 'new\n')
        self.assertEqual(self.do('discard', 'box').out, 'discarded %s\n' % work['id'])
        self.assertIn('there is no store box, and no sandbox of that name has one', self.do('diff', 'box', code=1).err)

    def test_create_says_which_stores_there_are(self):
        self.assert_cow('touch new')
        fork = self.do('snapshot', 'fork', self.works()[0]['id']).out.strip()
        self.assertEqual(yett.told(self.do('run', '--json', '-p', 'none', '--', 'true', code=125).out)['stores'], [])  # not those of no sandbox
        for work in self.works():
            self.do('discard', work['id'])
        self.assertNotIn(fork, [work['id'] for work in self.works()])
        told = yett.told(self.do('create', '--json', '--cow', self.source, '--cow', self.folder('other') + ':/tmp/other').out)
        self.addCleanup(self.yett, 'destroy', told['sandbox']['id'])
        self.assertEqual(sorted(told['stores']), sorted(work['id'] for work in self.works()))
        self.assertRegex(self.do('ps').out, r' [0-9a-f]{16}\+1  $')

    def test_of_several_of_a_name_the_newest_counts_and_of_several_stores_none(self):
        self.box('echo 1 >file')
        newest = self.box('echo 2 >file')
        self.assertIn('+2\n', self.do('diff', 'box').out)
        self.assertEqual(yett.told(self.do('diff', '--json', 'box').out)['id'], [work['id'] for work in self.works() if work['sandbox'] == newest][0])
        box = self.box('touch /tmp/other/new; touch x', '--cow', self.folder('other') + ':/tmp/other', name='two')
        error = self.do('apply', 'two', code=1).err
        self.assertIn('the sandbox two has more than one store', error)
        for work in self.works():
            self.assertEqual('%s (%s)' % (work['id'], work['target']) in error, work['sandbox'] == box, error)

    def test_without_one_it_is_the_newest_change_of_the_current_directory(self):
        self.box('echo 1 >file', name='first')
        self.box('echo 2 >file', name='second')
        self.box('ls')
        other = self.folder('other')
        self.assert_cow('touch new', source=other)
        for cwd in (self.source, self.source + '/dir/below'):
            done = self.do('diff', cwd=cwd)
            self.assertIn('+2\n', done.out)
            self.assertRegex(done.err, 'using the store [0-9a-f]{16}: the newest changes of %s, by the sandbox second\n' % self.source)
        self.assertEqual(self.do('snapshot', 'take', cwd=self.source).out.count('\n'), 1)
        name = self.do('snapshot', 'list', cwd=self.source).out.split()[-1]
        self.assertIn('+2\n', self.do('diff', '@' + name, cwd=self.source).out)
        self.do('snapshot', 'delete', name, cwd=self.source)
        self.do('apply', cwd=self.source)
        self.assertEqual((yett.read(self.source + '/file'), os.listdir(other)), ('2\n', []))
        self.assertIn('--yes is needed', self.do('discard', code=2, cwd=self.source).err)  # as where a variable is not set
        self.do('discard', '--yes', cwd=self.source)
        self.assertIn('+1\n', self.do('diff', cwd=self.source).out)
        nowhere = self.folder('nowhere')
        for argv in (['diff'], ['apply'], ['discard', '--yes'], ['snapshot', 'take'], ['git', 'fetch']):
            self.assertIn('no store contains changes of a sandbox in %s\n' % nowhere, self.do(*argv, code=1, cwd=nowhere).err)

    def test_an_empty_word_is_no_store(self):
        """A variable that is not set throws nothing away."""
        self.assert_cow('touch new')
        for argv in (['diff', ''], ['apply', ''], ['discard', ''], ['snapshot', 'rollback', '', 'x'], ['git', 'fetch', '']):
            self.do(*argv, code=1, cwd=self.source)
        self.do('run', '--store', '', '--', 'true', code=125, cwd=self.source)
        self.assertEqual(len(self.works()), 1)

    def test_a_name_inside_a_store_that_was_edited_is_no_way_out(self):
        self.box('touch new')
        work, = self.works()
        text = yett.read(self.store() + '/info')
        for name in ('../' + work['id'], '%1b[2J', 'x' * 5000, ''):
            yett.write(self.store() + '/info', text.replace('name=box', 'name=' + name))
            self.assertNotIn('\x1b', self.do('work', 'list').out)
            self.do('diff', 'box', code=1)
        self.assertEqual(len(self.works()), 1)


class Left(Workspace):
    """What a sandbox leaves when it has ended."""

    def test_where_nothing_was_changed_nothing_is_left_or_said(self):
        for script in ('true', 'cat file', 'echo new >x; rm x', 'exit 3', 'kill -9 $$'):
            done = self.cow(script)
            self.assertEqual((self.works(), [line for line in done.err.splitlines() if 'kept' in line]), ([], []), script)
        self.assert_cow('touch dir/below/new')
        self.assertEqual(len(self.works()), 1)

    def test_what_was_made_and_removed_again_but_for_a_whiteout_is_a_change(self):
        self.assertIn('are kept: yett discard', self.cow('rm file').err)
        self.assertEqual(self.works()[0]['changed'], True)

    def test_a_store_that_was_named_stays(self):
        self.make_store()
        work, = self.works()
        self.assertEqual(work['changed'], False)
        done = self.sandbox('true', options=['--store', work['id']], env=self.environment())
        self.assertNotIn('kept', done.err)
        self.assertEqual([work['id'] for work in self.works()], [work['id']])

    def test_what_is_mounted_into_a_run_is_not_the_run_s_to_throw_away(self):
        self.assert_cow('touch precious')
        old, = self.works()
        other = self.folder('other')
        process = self.start('sh', '-c', 'echo up; read x; touch new', options=['--rm', '--name', 'runs', '--cow', self.source, '-C', self.source], env=self.environment())
        self.assertEqual(self.line(process), 'up')
        for share in (['--store', old['id'] + ':/mnt/old'], ['--cow', other + ':/mnt/other']):
            self.assertEqual(self.yett('mount', 'runs', *share, env=self.environment()).code, 0)
        self.assertEqual(self.yett('exec', 'runs', '--', 'touch', '/mnt/other/x', env=self.environment()).code, 0)
        _, err = process.communicate(b'\n', timeout=yett.DEADLINE)
        self.assertEqual(process.returncode, 0)
        self.assertEqual({work['source'] for work in self.works()}, {self.source, other})
        self.assertIn(old['id'], {work['id'] for work in self.works()})
        for work in self.works():
            self.assertIn(('yett discard %s throws them away' % work['id']).encode(), err)

    def test_what_was_given_up_before_its_command_leaves_nothing_either(self):
        for options in (['--rm'], []):
            done = self.cow('true', '--copy-in', '/nonexistent:/tmp/x', *options)
            self.assertNotEqual(done.code, 0)
            self.assertEqual(self.works(), [])

    def test_rm_leaves_nothing_whatever_was_changed(self):
        before = tree(self.source)
        done = self.cow('echo new >file; mkdir -p a/b/c; chmod 0 a; exit 4', '--rm')
        self.assertEqual((done.code, self.works(), tree(self.source)), (4, [], before), done)
        self.assertNotIn('kept', done.err)
        self.assert_cow('touch new')
        work, = self.works()
        done = self.cow('touch more; touch /tmp/x/y', '--rm', '--store', work['id'] + ':/tmp/x')
        self.assertEqual([each['id'] for each in self.works()], [work['id']])
        self.assertEqual(sorted(os.listdir(self.store() + '/upper')), ['new', 'y'])

    def test_prune_takes_what_was_asked_for(self):
        def prune(*options):
            done = self.yett('work', 'prune', *options, env=self.environment())
            self.assertEqual(done.code, 0, done)
            return {line.split()[1] for line in done.out.splitlines()}
        self.make_store()
        unchanged = self.works()[0]['id']
        self.assert_cow('touch new')
        changed, = {work['id'] for work in self.works()} - {unchanged}
        self.assertEqual(prune('--older', '1h'), set())
        self.assertEqual(prune(), {unchanged})
        for argv in (['create', '--name', 'live'], ['create', '--name', 'asleep']):
            self.assertEqual(self.yett(*argv, '--cow', self.source, env=self.environment()).code, 0)
        self.addCleanup(self.yett, 'destroy', 'live', env=self.environment())
        self.assertEqual(self.yett('suspend', 'asleep', env=self.environment()).code, 0)
        kept = {work['id'] for work in self.works()} - {changed}
        self.assertEqual(prune(), set())
        path = '%s/yett/work/%s/info' % (self.state, changed)
        made = re.search('created=([0-9]+)', yett.read(path))[1]
        for each in kept | {changed}:
            info = '%s/yett/work/%s/info' % (self.state, each)
            yett.write(info, re.sub('created=[0-9]+', 'created=%d' % (int(made) - 3600000), yett.read(info)))
        self.assertEqual(prune('--older', '2h'), set())
        self.assertEqual(prune('--older', '59m'), {changed})
        self.assertEqual({work['id'] for work in self.works()}, kept)
        self.assertEqual(self.yett('resume', 'asleep', env=self.environment()).code, 0)
        self.assertEqual(self.yett('destroy', 'asleep', env=self.environment()).code, 0)
        for words, text in ((['sweep'], 'expected list or prune'), (['list', '--older', '1h'], 'are of work prune'), (['prune', '--older', '0s'], '--older 0s')):
            done = self.yett('work', *words, env=self.environment())
            self.assertEqual(done.code, 2, done)
            self.assertIn(text, done.err)


class Hidden(Workspace):
    def setUp(self):
        super().setUp()
        self.alice.write('source/.env', 'secret')
        self.alice.write('source/dir/.env', 'secret')
        self.alice.write('source/dir/key.pem', 'secret')
        self.alice.write('source/dir/below/public.pem', 'public')

    def test_names_are_hidden_wherever_they_are_and_the_rest_is_as_before(self):
        os.utime(self.source + '/dir', (7, 7))
        os.chmod(self.source + '/dir', 0o551)
        before = tree(self.source)
        done = self.cow('find . | sort; stat -c "%a %Y" dir; cat dir/below/file; touch new', '--hide', '.env', '--hide', '*.pem', '--no-hide', 'public.pem')
        self.assertEqual(done.out.split(), ['.', './dir', './dir/below', './dir/below/file', './dir/below/public.pem', './file', './gone', './moved',
                                            './removed', './removed/file', './renamed', './renamed/file', '551', '7', 'deep'], done)
        self.assertIn('hidden in %s: ' % self.source, done.err)
        for name in ('.env', 'dir/.env', 'dir/key.pem'):
            self.assertIn(name, done.err)
        self.assertEqual(sorted(self.works()[0]['hidden']), ['.env', 'dir/.env', 'dir/key.pem'])
        self.assertEqual(tree(self.source), before)

    def test_paths_and_globs_as_gitignore_has_them(self):
        for name in ('a/b/c/x', 'a/b/x', 'a/x', 'x', 'a/b/y', 'top/x', 'a/top/x'):
            os.makedirs(os.path.dirname(self.source + '/' + name), exist_ok=True)
            yett.write(self.source + '/' + name, '')
        for folder, folders, _ in os.walk(self.source):
            os.chown(folder, self.alice.uid, self.alice.gid)
        every = {'x', 'a/x', 'a/b/x', 'a/b/c/x', 'a/top/x', 'top/x'}
        for glob, hidden in (('x', every), ('./x', {'x'}), ('a/x', {'a/x'}), ('a/*/x', {'a/b/x', 'a/top/x'}), ('a/**/x', every - {'x', 'top/x'}),
                             ('**/x', every), ('./top', {'top/x'}), ('top', {'top/x', 'a/top/x'}), ('a/b/**', {'a/b/x', 'a/b/c/x'}),
                             ('./?', {'x'} | {name for name in every if name[:2] == 'a/'}), ('a/[!t]*/x', {'a/b/x'}), ('**/b/**/x', {'a/b/x', 'a/b/c/x'})):
            with self.subTest(glob):
                self.assertEqual(set(self.assert_cow('find . -name x', '--hide', glob).replace('./', '').split()), every - hidden)

    def test_what_is_not_there_yet_is_hidden_when_it_comes(self):
        process = self.start('sh', '-c', 'echo ready; read line; ls -A . dir; cat later/key', env=self.environment(),
                             options=['--cow', self.source, '-C', self.source, '--hide', 'later.env', '--hide', 'later/key', '--hide', 'dir/later'])
        self.assertEqual(self.line(process), 'ready')
        for name in ('later.env', 'dir/later'):
            self.alice.write('source/' + name, 'secret')
        self.alice.mkdir('source/later')
        self.alice.write('source/later/key', 'secret')
        out, err = process.communicate(b'\n', timeout=yett.DEADLINE)
        self.assertNotIn(b'later', out)
        self.assertNotIn(b'secret', out)
        self.assertIn(b'later/key: No such file', err)

    def test_what_is_made_anew_inside_is_a_file_of_its_own_and_goes_again(self):
        before = tree(self.source)
        done = self.cow('set -e; echo mine >.env; cat .env; rm .env; ! cat .env; mkdir .env; ls -A .env; echo mine >dir/.env; rm -r dir; mkdir dir; ls -A dir',
                        '--hide', '.env')
        self.assertEqual((done.code, done.out), (0, 'mine\n'), done)
        self.assertNotIn('secret', done.out)
        done = self.sandbox('sh', '-c', 'ls -dA .env dir; cat dir/.env', options=['--store', self.works()[0]['id'], '-C', self.source], env=self.environment())
        self.assertEqual(done.out, '.env\ndir\n', done)
        self.assertIn('hidden in', done.err)
        self.assertEqual(tree(self.source), before)

    def test_a_thousand_of_them_are_one_layer(self):
        options = [word for i in range(1000) for word in ('--hide', 'name-%d' % i)] + ['--hide', 'dir*']
        done = self.cow('ls; grep -c overlay /proc/mounts; touch new', *options)
        self.assertEqual(done.out.split(), ['file', 'gone', 'moved', 'removed', 'renamed', '1'], done)
        self.assertIn('and 996 more', done.err)
        self.assertEqual(len(self.works()[0]['hidden']), 1001)

    def test_a_part_and_all_of_a_directory_together_hide_all_of_it(self):
        for options in (('./dir', 'dir/.env'), ('dir/.env', './dir'), ('dir/.env', 'd*'), ('dir/*', 'dir'), ('dir/below/*', 'dir')):
            done = self.cow('ls; cat dir/key.pem', *[word for name in options for word in ('--hide', name)])
            self.assertEqual(done.out.split(), ['file', 'gone', 'moved', 'removed', 'renamed'], (options, done))

    def test_no_link_is_followed_and_what_cannot_be_looked_into_is_refused(self):
        outside = self.folder('outside')
        self.alice.write('outside/.env', 'secret')
        os.symlink(outside, self.source + '/link')
        self.assertEqual(self.cow('ls -A dir; touch new', '--hide', '.env').out.split(), ['below', 'key.pem'])
        self.assertEqual(sorted(self.works()[0]['hidden']), ['.env', 'dir/.env'])
        before = len(self.works())
        for options, text in ((['--hide', 'link/.env'], 'a symbolic link, which is not followed'), (['--hide', 'file/x'], 'it is no directory'),
                              (['--hide', ''], 'expected a name, or a path below'), (['--hide', '/etc'], 'expected a name, or a path below'),
                              (['--hide', '../x'], 'expected a name, or a path below'), (['--hide', 'a//b'], 'expected a name, or a path below'),
                              (['--hide', '.'], 'expected a name, or a path below'), (['--hide', 'x' * 256], 'expected a name, or a path below')):
            done = self.cow('true', *options)
            self.assertEqual(done.code, 125, done)
            self.assertIn(text, done.err)
        self.alice.mkdir('source/shut', mode=0)
        done = self.cow('true', '--hide', '.env')
        self.assertEqual(done.code, 125, done)
        self.assertIn('cannot hide shut in %s: its names cannot be read here' % self.source, done.err)
        os.rmdir(self.source + '/shut')
        self.bob.mkdir(self.source + '/bobs', mode=0o700)
        self.assertEqual(self.cow('touch new', '--hide', '.env').code, 0)
        self.assertEqual(len(self.works()), before + 1)

    def list_names(self, text, profile='default'):
        """The user's own list of a profile; the administrator's is read by the same code: tests/unit/test_client_name_list.c."""
        path = os.path.join(self.alice.home, '.config/yett/hide.d', profile)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        return path

    def test_what_is_listed_for_the_profile_is_hidden_without_being_asked_for(self):
        self.alice.write('source/.env', 'secret\n')
        self.list_names('# keys\n\n  .env  \n*.pem\r\n')
        done = self.cow('find . -name .env -o -name "*.pem"')
        self.assertEqual((done.code, done.out), (0, ''), done)
        self.assertIn('yett: hidden in %s: ' % self.source, done.err)
        self.assertEqual(set(self.assert_cow('find . -name .env -o -name "*.pem" | sed s,.*/,,', '--no-hide', 'public.pem').split()), {'public.pem'})
        self.assertEqual(self.assert_cow('ls -d file', '--hide', 'gone').split(), ['file'])
        self.assertEqual(self.cow('ls -d file', '--hide', 'file').out, '')
        done = self.sandbox('cat', '.env', options=['--ro', '.', '-C', self.source], cwd=self.source, env=self.environment())
        self.assertEqual((done.code, done.out), (0, 'secret\n'), done)  # and nothing is refused where nothing can be hidden
        self.change_policy(before='profile "kept" { extends = "default" workspace = cow }\n'
                                  'grant "some" { users = {"%s"} user_keys = true profiles = {"*"} share_rw = {"*"} linger_max = unlimited }' % self.alice.name)
        self.list_names('dir\n', 'kept')
        done = self.sandbox('ls', '-A', options=['-p', 'kept'], cwd=self.source, env=self.environment())
        self.assertEqual((done.code, '.env' in done.out.split(), 'dir' in done.out.split()), (0, True, False), done)
        box = self.yett('create', '-p', 'kept', '--cow', self.folder('empty') + ':/mnt/a', env=self.environment()).out.strip()
        self.addCleanup(self.yett, 'destroy', box)
        done = self.yett('mount', box, '--cow', self.source + ':/mnt/b', env=self.environment())
        self.assertEqual(done.code, 0, done)
        seen = self.yett('exec', box, '--', 'ls', '-A', '/mnt/b').out.split()
        self.assertEqual(('.env' in seen, 'dir' in seen), (True, False), seen)

    def test_a_list_that_cannot_be_followed_is_an_error(self):
        path = self.list_names('.env\n../x\n')
        done = self.cow('true')
        self.assertEqual((done.code, done.err.splitlines()[0]), (125, 'yett: %s ../x: expected a name, or a path below the directory that is shared, without . and ..' % path))
        os.unlink(path)
        os.mkdir(path)
        done = self.cow('true')
        self.assertEqual((done.code, done.err.splitlines()[0]), (125, 'yett: %s is not a file, but must be a list of names' % path))
        os.rmdir(path)
        self.list_names('.env\n')
        os.chmod(path, 0)
        done = self.cow('true')
        self.assertEqual((done.code, done.err.splitlines()[0]), (125, 'yett: cannot read the list of names %s: Permission denied' % path))
        self.assertEqual(self.works(), [])

    def test_only_what_is_copy_on_write_has_a_layer_that_hides(self):
        for how in (['--rw', self.source], ['--ro', self.source], ['--cow', self.source + ':memory=8M'], []):
            done = self.sandbox('true', options=[*how, '--hide', '.env'], cwd=self.source, env=self.environment())
            self.assertEqual(done.code, 125, done)
            self.assertIn('names can be hidden only in a copy-on-write share', done.err)
            self.assertIn('--cow PATH --hide NAME', done.err)
        self.assertEqual(self.works(), [])


class Live(Workspace):
    """What takes the freezer of a control group."""

    def test_a_store_that_a_sandbox_works_on_is_forked_while_that_stands_still(self):
        count = 'i=0; while :; do i=$((i+1)); for n in one two; do echo $i >new; mv new $n; done; echo $i; done'
        process = self.start('sh', '-c', count, options=['--cow', self.source, '-C', self.source], env=self.environment())
        self.line(process)
        work, = self.works()
        for _ in range(3):
            done = self.yett('snapshot', 'fork', work['id'], env=self.environment())
            self.assertEqual(done.code, 0, done)
            self.assertIn('the sandbox %s was frozen while it was copied' % work['sandbox'], done.err)
            one, two = (int(yett.read('%s/upper/%s' % (self.store({'id': done.out.strip()}), name))) for name in ('one', 'two'))
            self.assertIn(one - two, (0, 1), (one, two))
            self.line(process)
        self.assertEqual(self.yett('pause', work['sandbox']).code, 0)
        self.assertEqual(self.yett('snapshot', 'fork', work['id'], env=self.environment()).code, 0)
        status = json.loads(self.yett('inspect', '--json', work['sandbox']).out)['result']['sandbox']
        self.assertEqual(status['state'], 'paused')
        self.assertEqual(self.yett('destroy', work['sandbox']).code, 0)
        process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(len(self.works()), 5)


class Snapshots(workspace.Snapshots):
    def names(self, work):
        return [entry['name'] for entry in json.loads(self.snapshot('list', work, '--json').out)['result']['snapshots']]

    def work(self):
        """A store with snapshots first, second and third, and changes since, which undo and cover each other."""
        self.assert_cow('set -e; echo 1 >file; mkdir made; echo a >made/a; rm -r removed; rm gone; mkdir new; echo n >new/n')
        work = self.works()[-1]['id']
        self.assertEqual(self.snapshot('take', work, 'first').out, 'first\n')
        self.again(work, 'set -e; echo 2 >file; rm -r made; mkdir made removed; echo b >made/b; mv moved elsewhere; rm -r new; echo x >new')
        self.snapshot('take', work, 'second')
        self.again(work, 'set -e; rm new; mkdir new; echo m >new/m; chmod 600 file; rm -r dir; echo g >gone; ln -s a link')
        self.snapshot('take', work, 'third')
        self.again(work, 'set -e; echo 4 >file; rm -r made new; mkdir dir; echo d >dir/d')
        return work

    def states(self, work):
        """What each snapshot leads to."""
        states = {}
        for name in self.names(work):
            fork = self.store({'id': self.snapshot('fork', work, name).out.strip()})
            states[name] = shown(fork, self.source)
            shutil.rmtree(fork)
        return states

    def test_each_can_be_looked_at_and_gone_back_to(self):
        before = tree(self.source)
        work = self.work()
        self.assertEqual(self.names(work), ['first', 'second', 'third'])
        self.assertEqual(self.again(work, 'ls; cat file dir/d').split(), ['dir', 'elsewhere', 'file', 'gone', 'link', 'removed', 'renamed', '4', 'd'])
        done = self.yett('diff', '--name-only', work + '@first', env=self.environment())
        self.assertEqual((done.code, sorted(done.out.split())), (0, ['file', 'gone', 'made/', 'made/a', 'new/', 'new/n', 'removed/', 'removed/file']), done)
        done = self.snapshot('rollback', work, 'first', code=1)
        self.assertIn('has 2 snapshots later than first', done.err)
        self.assertEqual(self.names(work), ['first', 'second', 'third'])
        self.snapshot('rollback', work, 'third')
        self.assertEqual(self.again(work, 'ls new made; cat file gone').split(), ['made:', 'b', 'new:', 'm', '2', 'g'])
        self.snapshot('rollback', work, 'first', '--delete-later')
        self.assertEqual(self.again(work, 'ls . made new; cat file').split(),
                         ['.:', 'dir', 'file', 'made', 'moved', 'new', 'renamed', 'made:', 'a', 'new:', 'n', '1'])
        self.assertEqual(self.names(work), ['first'])
        self.assertEqual(tree(self.source), before)

    def test_the_top_keeps_its_mode_and_its_time(self):
        self.assert_cow('echo 1 >file; chmod 751 .; touch -d @7 .')
        work = self.works()[0]['id']
        for _ in range(2):
            self.snapshot('take', work)
            self.assertEqual(self.again(work, 'stat -c "%a %Y" .'), '751 7\n')
        fork = self.snapshot('fork', work).out.strip()
        self.assertEqual((self.again(work, 'stat -c "%a %Y" .'), self.again(fork, 'stat -c "%a %Y" .')), ('751 7\n', '751 7\n'))
        self.again(work, 'chmod 311 .')
        self.snapshot('fork', work, code=1)  # which cannot be read by its owner
        self.assertEqual(self.again(work, 'stat -c %a .; chmod 555 .'), '311\n')
        fork = self.snapshot('fork', work).out.strip()
        self.assertEqual((self.again(work, 'stat -c %a .'), self.again(fork, 'stat -c %a .')), ('555\n', '555\n'))
        self.again(work, 'chmod 700 .; echo 2 >file')
        self.snapshot('rollback', work, '1', '--delete-later')
        self.assertEqual(self.again(work, 'stat -c %a .; cat file; echo 3 >file; chmod 555 .'), '751\n1\n')
        self.snapshot('take', work)
        self.assertEqual(self.again(work, 'stat -c %a .; cat file'), '555\n3\n')

    def test_a_fork_has_all_of_it_and_goes_its_own_way(self):
        work = self.work()
        self.again(work, 'set -e; mkfifo pipe; truncate -s 1T sparse; echo end >>sparse; chmod 640 file; touch -d @7 file link')
        for name, said in ((None, '4'), ('second', '2'), ('first', '1')):
            fork = self.snapshot('fork', work, *([name] if name else [])).out.strip()
            self.assertNotEqual(fork, work)
            store = self.store({'id': fork})
            self.assertEqual(self.again(fork, 'cat file'), said + '\n')
            if name:
                self.assertEqual(self.names(fork)[-1], name)
            else:
                found = os.stat(store + '/upper/sparse')
                self.assertEqual((found.st_size, found.st_blocks < 1000), ((1 << 40) + 4, True))
                self.assertEqual((os.stat(store + '/upper/file').st_mtime, stat.S_IMODE(os.stat(store + '/upper/file').st_mode)), (7, 0o640))
                original = self.store({'id': work})
                os.unlink(store + '/upper/sparse'), os.unlink(original + '/upper/sparse')
                self.assertEqual(shown(store, self.source), shown(original, self.source))
            self.again(fork, 'echo fork >file')
        self.assertEqual(self.again(work, 'cat file'), '4\n')
        self.assertEqual(len(self.works()), 4)

    def test_deleting_puts_layers_together_and_changes_nothing_that_shows(self):
        for gone in (['first'], ['second'], ['first', 'second'], ['third', 'second'], ['second', 'third', 'first']):
            work = self.work()
            store = self.store({'id': work})
            now, states = shown(store, self.source), self.states(work)
            for name in gone:
                self.snapshot('delete', work, name)
                self.assertEqual(shown(store, self.source), now)
                del states[name]
            self.assertEqual(self.names(work), list(states))
            self.assertEqual(len(os.listdir(store + '/layers')), max(len(states), 1) + ('third' in gone and len(states) > 0))
            for name in reversed(list(states)):
                self.snapshot('rollback', work, name)
                self.assertEqual(shown(store, self.source), states[name])
                self.snapshot('delete', work, name)

    def test_there_are_as_many_as_there_may_be(self):
        self.make_store()
        work = self.works()[0]['id']
        upper = self.store() + '/upper/'
        for i in range(61):
            self.alice.write(upper[len(self.alice.home) + 1:] + 'file', '%d\n' % i)
            self.snapshot('take', work)
        self.assertEqual(self.again(work, 'cat file; echo more >more'), '60\n')
        done = self.snapshot('take', work, code=1)
        self.assertIn('has the maximum number of snapshots', done.err)
        self.assertIn('yett snapshot delete %s NAME' % work, done.err)
        self.snapshot('delete', work, '7')
        self.snapshot('take', work)
        self.assertEqual(self.again(work, 'cat file more; echo x >file'), '60\nmore\n')
        self.snapshot('rollback', work, '9', '--delete-later')
        self.assertEqual(self.again(work, 'cat file; ls more || true'), '8\n')

    def test_refused_while_a_sandbox_works_on_it_or_where_there_is_none(self):
        work = self.work()
        box = self.yett('create', '--store', work, env=self.environment()).out.strip()
        for words in (['rollback', work, 'third'], ['rollback', work, 'first', '--delete-later']):
            self.assertIn('a sandbox works on the store ' + work, self.snapshot(*words, code=1).err)
        self.assertEqual(self.names(work), ['first', 'second', 'third'])
        self.yett('destroy', box)
        yett.wait_until(lambda: not self.works()[0]['used'], 'the end of the lock')
        for words, text in ((['rollback', work, 'none'], 'has no snapshot none'), (['delete', work, 'none'], 'has no snapshot none'),
                            (['fork', work, 'none'], 'has no snapshot none'), (['take', work, 'first'], 'has a snapshot first already'),
                            (['take', work, 'UPPER'], 'cannot be the name of a snapshot'), (['take', work, 'x' * 64], 'cannot be the name'),
                            (['take', work, '../x'], 'cannot be the name'), (['list', '0' * 16], 'there is no store')):
            self.assertIn(text, self.snapshot(*words, code=1).err)
        for words in (['take'], ['rollback', 'first']):
            self.assertIn('no store contains changes of a sandbox in', self.snapshot(*words, code=1).err)
        for words in (['make', work], ['rollback'], ['list', work, 'x'], ['take', work, '--yes']):
            self.snapshot(*words, code=2)
        self.assertEqual(len(self.works()), 1)

    def test_what_was_put_into_a_store_by_hand_leads_nowhere(self):
        """Links, pipes, files and what is another user's where directories of the store are to be."""
        secret = self.folder('private', mode=0o700)
        self.alice.write('private/secret', 'secret')
        self.assert_cow('echo 1 >file')
        work, = self.works()
        self.snapshot('take', work['id'], 'first')
        store = self.store()
        os.mkdir(store + '/hidden')
        os.chown(store + '/hidden', self.alice.uid, self.alice.gid)
        for name in ('hidden', 'layers', 'layers/1'):
            path = store + '/' + name
            os.rename(path, store + '/away')
            for make in (lambda at: os.symlink(secret, at), lambda at: os.symlink(store + '/away', at), os.mkfifo, lambda at: yett.write(at, ''),
                         lambda at: os.symlink('/proc/self/root', at), os.mkdir):  # the last one is root's
                make(path)
                done = self.sandbox('cat', 'secret', 'file', options=['--store', work['id'], '-C', self.source], env=self.environment())
                self.assertEqual(done.code, 125, (name, done))
                self.assertIn('is a link, or no directory of the caller', done.err)
                if name != 'hidden' and not os.path.isdir(path):
                    self.snapshot('take', work['id'], code=1)
                    self.snapshot('rollback', work['id'], 'first', code=1)
                self.assertNotIn('secret', self.yett('diff', work['id'], env=self.environment()).out)
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            os.rename(store + '/away', path)
        self.assertEqual(os.listdir(secret), ['secret'])
        self.assertEqual(self.again(work['id'], 'cat file'), '1\n')

    def test_more_layers_than_there_may_be_are_refused(self):
        self.assert_cow('echo 1 >file')
        work, = self.works()
        os.mkdir(self.store() + '/layers')
        for i in range(1, 66):
            os.mkdir('%s/layers/%d' % (self.store(), i))
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.store() + '/layers'], check=True)
        done = self.sandbox('true', options=['--store', work['id']], env=self.environment())
        self.assertEqual(done.code, 125, done)
        self.assertIn('more than the 62 frozen layers', done.err)
        self.snapshot('take', work['id'], code=1)
        for i in range(63, 66):
            os.rmdir('%s/layers/%d' % (self.store(), i))
        self.assertEqual(self.again(work['id'], 'cat file'), '1\n')
        file = self.alice.write('file', 'x')
        more = [word for i in range(30) for word in ('--tmpfs', '/tmp/%d' % i, '--ro', '%s:/tmp/file-%d' % (file, i))]
        self.assertEqual(self.again(work['id'], 'cat file', *more), '1\n')

    def test_names_of_snapshots_that_are_none_are_passed_over(self):
        self.assert_cow('echo 1 >file')
        work = self.works()[0]['id']
        self.snapshot('take', work, 'first')
        path = self.store() + '/snapshots'
        for name, text in (('later', '2 1'), ('minus', '-1 1'), ('one', '1'), ('words', 'a b'), ('more', '1 1 1'), ('UPPER', '1 1'), ('x' * 70, '1 1'),
                           ('\x1b[2J', '1 1'), ('wrapped', '4294967297 1'), ('root', '/'), ('long', '1 ' + '0' * 100)):
            os.symlink(text, path + '/' + name)
        yett.write(path + '/file', '1 1')
        os.mkfifo(path + '/pipe')
        os.mkdir(path + '/directory')
        self.assertEqual(self.names(work), ['first'])
        self.snapshot('take', work, 'second')
        self.again(work, 'echo 2 >file')
        self.snapshot('take', work, 'third')  # on a layer that "later" would have been of
        self.assertEqual(self.names(work), ['first', 'second', 'third'])
        self.snapshot('take', work, 'directory', code=1)
        self.assertEqual(self.again(work, 'cat file'), '2\n')
        shutil.rmtree(path)
        self.assertEqual(self.names(work), [])
        for make in (lambda: os.mkfifo(path), lambda: os.symlink('/etc', path), lambda: yett.write(path, '')):
            make()
            self.assertIn('are damaged', self.snapshot('list', work, code=1).err)
            os.unlink(path)

    def test_what_cannot_be_read_cannot_be_copied_and_nothing_is_left(self):
        self.assert_cow('mkdir -p a/b; echo x >a/b/shut; chmod 0 a/b/shut')
        work = self.works()[0]['id']
        done = self.snapshot('fork', work, code=1)
        self.assertIn('cannot copy a/b/shut of the store %s: Permission denied' % work, done.err)
        self.assertIn('chmod u+r', done.err)
        self.again(work, 'python3 -c "\nimport os\nfor i in range(300): os.mkdir(\'d\'); os.chdir(\'d\')\n"; rm -f a/b/shut')
        self.assertIn('Too many levels', self.snapshot('fork', work, code=1).err)
        self.assertEqual([entry['id'] for entry in self.works()], [work])

    def test_a_kill_at_each_step_leaves_what_there_was_or_what_there_is_to_be(self):
        work = self.work()
        self.snapshot('delete', work, 'third')  # so that there is something to put together
        kept = self.store({'id': work})
        saved = self.folder('saved', mode=0o700) + '/store'
        subprocess.run(['cp', '-a', kept, saved], check=True)

        def restore():
            shutil.rmtree(kept)
            subprocess.run(['cp', '-a', saved, kept], check=True)
        library = self.alice.write('kill_at.so')
        shutil.copy(os.environ['YETT_BUILD_ROOT'] + '/tests/system/kill_at.so', library)
        kill = {'LD_PRELOAD': library, 'ASAN_OPTIONS': 'verify_asan_link_order=0'}
        count = self.alice.write('count', '')
        for words in (['take', work, 'fourth'], ['rollback', work, 'second'], ['rollback', work, 'first', '--delete-later'], ['delete', work, 'second'],
                      ['delete', work, 'first']):
            restore()
            before = shown(kept, self.source), self.names(work)
            states = self.states(work)
            self.snapshot(*words, env={**kill, 'YETT_TEST_KILL_COUNT': count})
            after = shown(kept, self.source), self.names(work)
            states.update(self.states(work))
            steps = int(yett.read(count))
            self.assertGreater(steps, 5)
            for step in range(1, steps + 1):
                restore()
                done = self.yett('snapshot', *words, env={**self.environment(), **kill, 'YETT_TEST_KILL_AT': str(step)})
                self.assertNotEqual(done.code, 0, done)
                now = shown(kept, self.source), self.names(work)
                self.assertIn(now[0], (before[0], after[0]), (words, step))
                self.assertIn(now[1], (before[1], after[1]), (words, step))
                self.assertEqual(self.states(work), {name: state for name, state in states.items() if name in now[1]}, (words, step))
                self.snapshot(*words, code=0 if now[1] == before[1] else 1) if words[0] != 'rollback' else self.snapshot(*words, '--delete-later')
                self.assertEqual((shown(kept, self.source), self.names(work)), after, (words, step))


if __name__ == '__main__':
    yett.main()
