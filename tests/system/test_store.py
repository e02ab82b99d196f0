"""Stores of copy-on-write sandboxes, used again: a sandbox that goes on where an earlier one stopped."""
import os
import shutil
import stat

import yett
from workspace import Workspace, tree


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
        self.assertIn('files in it may be torn', done.err)
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
        self.assert_cow('true')
        work, = self.works()
        for word in ('x', work['id'][1:], work['id'] + ':', work['id'] + ':here', '../' + work['id'][3:]):
            self.assert_refused_and_kept(work, '--store %s: ' % word, '--store', word) if len(word) != 16 else \
                self.assert_refused_and_kept(work, 'there is no store', '--store', word)
        self.assert_refused_and_kept(work, 'there is no store 0123456789abcdef', '--store', '0123456789abcdef')
        self.state, elsewhere = self.folder('elsewhere', mode=0o700), self.state
        done = self.sandbox('true', options=['--store', work['id']], env=self.environment())
        self.assertEqual(done.code, 125, done)
        self.assertIn('there is no store ' + work['id'], done.err)
        self.state = elsewhere

    def test_one_store_twice_in_a_sandbox_is_refused(self):
        self.assert_cow('true')
        work, = self.works()
        self.assert_refused_and_kept(work, 'a sandbox', '--store', work['id'], '--store', work['id'] + ':/tmp/other')

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
            self.assert_refused_and_kept(work, 'whose "upper" has to be a directory of yours')
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
        self.assert_refused_and_kept(work, 'does not tell which directory it is about')


if __name__ == '__main__':
    yett.main()
