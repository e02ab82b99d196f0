# SPDX-License-Identifier: Apache-2.0
"""yett mount, yett unmount and yett refresh: shares of a sandbox that runs, by the policy, and what protects from them."""
import os
import re
import shutil
import socket
import stat
import subprocess

import yett
from workspace import memory_takes_attributes, tree

POLICY = '''grant "closed" {
  users = {"*"}
  user_keys = true
  profiles = {"closed", "written"}
  share_ro = {"%(roots)s/readable"}
  share_rw = {"%(roots)s/writable"}
  sockets = {"%(roots)s/listens"}
  linger_max = unlimited
}
'''
PROFILES = '''profile "written" {
  extends = "default"
  workspace = cow
}
profile "closed" {
  extends = "default"
  mask = {"/mnt/shared/.env", "/mnt/shared/secrets"}
  read_only = {"/mnt/shared/fixed"}
}
'''


class Mounts(yett.Case):
    def setUp(self):
        self.project = self.folder('project')
        self.alice.write('project/file', 'outside\n')
        self.box = self.create('--name', 'box')
        self.addCleanup(self.yett, 'destroy', self.box)

    def create(self, *options, **more):
        done = self.yett('create', *options, **more)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def mount(self, *words, box='box', **more):
        return self.yett('mount', box, *words, **more)

    def assert_mounted(self, *words, **more):
        done = self.mount(*words, **more)
        self.assertEqual((done.code, done.out), (0, ''), done)

    def unmount(self, *words, box='box', **more):
        return self.yett('unmount', box, *words, **more)

    def assert_unmounted(self, *words, **more):
        done = self.unmount(*words, **more)
        self.assertEqual((done.code, done.out), (0, ''), done)

    def inside(self, script, box='box', **more):
        done = self.yett('exec', box, '--', 'sh', '-c', script, **more)
        return yett.Result(done.code, done.out, done.err)

    def seen(self, script, **more):
        done = self.inside(script, **more)
        self.assertEqual(done.code, 0, done)
        return done.out

    def mounts_of_the_host(self):
        """But for those of other tests, which run meanwhile."""
        own = os.path.dirname(self.alice.home)
        return [line for line in yett.read('/proc/self/mountinfo').splitlines() if own in line or '/yett-test-' not in line]

    def targets(self, **more):
        """What is mounted where something can be later, in order."""
        return [line.split()[4] for line in self.seen('cat /proc/self/mountinfo', **more).splitlines()
                if re.match(r'/(mnt|tmp|run|var/tmp|home)/.', line.split()[4]) and not line.split()[4].startswith('/run/yett')]


class Shares(Mounts):
    def test_a_writable_directory_is_there_for_who_runs_and_for_who_comes(self):
        with self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c', 'echo up; read x; cat "$1/file"; echo inside >"$1/new"', 'sh', self.project,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            self.assertEqual(self.line(running), 'up')
            self.assert_mounted('--rw', self.project)
            running.stdin.write(b'x\n')
            running.stdin.flush()
            self.assertEqual(self.line(running), 'outside')
            self.assertEqual(running.wait(yett.DEADLINE), 0)
        self.assertEqual(yett.read(self.project + '/new'), 'inside\n')
        self.assertEqual(os.stat(self.project + '/new').st_uid, self.alice.uid)
        self.assertEqual(self.seen('cat %s/new; stat -c %%U %s/new' % (self.project, self.project)).split(), ['inside', self.alice.name])

    def test_owners_are_right_whatever_the_last_sandbox_shared(self):
        """Who has shared something is expected to do it again: how owners are mapped is then prepared ahead."""
        others = self.alice.write('project/others', 'x', 0o666)
        os.chown(others, self.bob.uid, self.bob.gid)
        kept = self.alice.mkdir('kept')
        seen = {}
        for _ in range(3):
            for words in ((), ('--rw', self.project + ':/mnt/a'), ('--ro', self.project + ':/mnt/a'), ('--cow', self.project + ':/mnt/a'),
                          ('--cow', self.project + ':/mnt/a', '--rw', kept + ':/mnt/b'), ('--rw', self.project + ':/mnt/a', '--cow', kept + ':/mnt/b')):
                done = self.sandbox('sh', '-c', 'id -u; for file in /mnt/?/*; do stat -c "%n %u %g %a" $file; done; touch /mnt/?/made; rm -f /mnt/?/made',
                                    options=words)
                self.assertEqual(seen.setdefault(words, done.out), done.out)
                if words:
                    self.assertIn('/mnt/a/file %d %d 644' % (self.alice.uid, self.alice.gid), done.out)
                    self.assertNotIn('/mnt/a/others %d' % self.alice.uid, done.out)
            box = self.create()  # by who was there for a sandbox with shares; its groups are not asked for
            self.assert_mounted('--rw', self.project + ':/mnt/a', box=box)
            self.assertEqual(self.seen('stat -c "%n %u %g %a" /mnt/a/*', box=box).splitlines(),
                             seen['--rw', self.project + ':/mnt/a'].splitlines()[1:])
            self.assertEqual(self.yett('destroy', box).code, 0)

    def test_a_read_only_one_stays_so(self):
        before = tree(self.project)
        self.assert_mounted('--ro', self.project + ':/mnt/read')
        done = self.inside('cat /mnt/read/file; echo x >/mnt/read/file; touch /mnt/read/new; mount -o remount,rw,bind /mnt/read; umount /mnt/read')
        self.assertEqual(done.out, 'outside\n')
        self.assertEqual(done.err.count('Read-only file system'), 2, done)
        self.assertEqual(tree(self.project), before)
        self.assertEqual(self.targets(), ['/mnt/read'])

    def test_several_at_once_a_file_among_them(self):
        self.alice.write('project/other', 'other\n')
        self.assert_mounted('--ro', self.project + '/other:/tmp/deep/down/a', '--rw', self.project + ':/mnt/b', '--ro', self.project + '/file:/mnt/c')
        self.assertEqual(self.seen('cat /tmp/deep/down/a /mnt/b/other /mnt/c'), 'other\nother\noutside\n')

    def test_one_in_another_one(self):
        below = self.folder('below')
        self.alice.write('below/deep', 'deep\n')
        self.alice.mkdir('project/place')
        self.assert_mounted('--rw', self.project + ':/mnt/top', '--ro', below + ':/mnt/top/place')
        self.assertEqual(self.seen('cat /mnt/top/place/deep'), 'deep\n')
        self.assertEqual(os.listdir(self.project + '/place'), [])
        self.assert_unmounted('/mnt/top')
        self.assertEqual(self.targets(), [])

    def test_guarded_paths_are_covered_in_what_comes_later(self):
        for name in ('project/.git', 'project/.git/hooks', '.ssh', 'nested', 'nested/.git'):
            self.alice.mkdir(name)
        self.addCleanup(shutil.rmtree, self.alice.home + '/.ssh')
        self.addCleanup(shutil.rmtree, self.alice.home + '/nested')
        for name in ('project/.git/config', '.ssh/id', 'nested/.git/config'):
            self.alice.write(name, 'as it was')
        self.alice.mkdir('project/place')
        self.alice.write('project/place/.git')  # where the nested one has a directory
        self.assert_mounted('--rw', self.project + ':/mnt/top', '--rw', self.alice.home + '/nested:/mnt/top/place', '--ro', self.alice.home + ':/mnt/home')
        self.assertEqual(self.seen('cat /mnt/home/nested/.git/config; ls -A /mnt/home/.ssh'), 'as it was')
        done = self.inside('cd /mnt/top; for d in . place; do (cd $d; echo new >.git/config && echo written; mv .git g && echo moved); done; touch .git/index')
        self.assertEqual((done.out, done.err.count('busy'), done.err.count('Read-only')), ('', 2, 2), done)
        self.assertEqual([yett.read(self.alice.home + '/' + name) for name in ('project/.git/config', 'nested/.git/config')], ['as it was'] * 2)
        self.assertEqual(sorted(os.listdir(self.project + '/.git')), ['config', 'hooks', 'index'])
        self.assert_unmounted('/mnt/top', '/mnt/home')
        self.assertEqual(self.targets(), [])

    def test_copy_on_write(self):
        before = tree(self.project)
        self.assert_mounted('--cow', self.project)
        self.assertEqual(self.seen('cd %s; echo changed >file; cat file' % self.project), 'changed\n')
        if memory_takes_attributes():
            self.assert_mounted('--cow', self.project + ':/mnt/memory-only:memory=1M')
            self.assertEqual(self.seen('cat /mnt/memory-only/file; echo m >/mnt/memory-only/file; cat /mnt/memory-only/file'), 'outside\nm\n')
        self.assertEqual(tree(self.project), before)
        works = [work for work in yett.told(self.yett('work', 'list', '--json').out)['works'] if work['sandbox'] == self.box]
        self.assertEqual([(work['source'], work['used']) for work in works], [(self.project, True)])
        self.assertEqual(self.yett('diff', '--name-only', works[0]['id']).out, 'file\n')
        refused = self.yett('discard', works[0]['id'])
        self.assert_refused(refused, 1, 'a sandbox works on the store')
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.assertEqual(self.yett('discard', works[0]['id']).code, 0)

    def test_what_is_refused_is_told_by_its_name_and_leaves_nothing(self):
        os.symlink('/etc', self.project + '/link')
        os.mkfifo(self.project + '/pipe')
        self.assert_mounted('--rw', self.project + ':/mnt/there')
        before = self.targets(), tree(self.project), self.yett('work', 'list').out
        for words, texts in ((['--ro', self.project + ':/srv/x'], ["'/srv/x' is no place for what is mounted, or taken off, later", 'below /mnt, /tmp']),
                             (['--ro', self.project + ':/opt/x'], ["'/opt/x'"]),
                             (['--ro', self.project + ':/mnt'], ["'/mnt' is no place"]),
                             (['--ro', self.project + ':/run/yett/x'], ["'/run/yett/x'"]),
                             (['--ro', self.project + ':/proc/x'], ["'/proc/x'"]),
                             (['--ro', self.project + ':/mnt/../etc'], ["'/mnt/../etc'"]),
                             (['--ro', self.project + ':/mnt/there'], ['something is mounted at /mnt/there already']),
                             (['--cow', self.project + ':/mnt/there'], ['something is mounted at /mnt/there already']),
                             (['--ro', self.project + ':/mnt/there/none'], ['/mnt/there/none does not exist']),
                             (['--ro', self.project + ':/mnt/a', '--ro', self.project + ':/mnt/a/none'], ['/mnt/a/none does not exist']),
                             (['--cow', self.project + ':/mnt/a', '--ro', self.project + ':/mnt/a/file'], ['is a file, and what is shared there is not']),
                             (['--ro', self.project + ':/mnt/there/link/x'], ['goes through a symbolic link']),
                             (['--ro', self.project + ':/mnt/there/file'], ['is a file, and what is shared there is not']),
                             (['--ro', self.project + '/file:/mnt/there/link'], ['goes through a symbolic link']),
                             (['--ro', self.project + '/pipe:/mnt/pipe'], ['neither a directory nor a regular file']),
                             (['--ro', self.project + '/none'], ['No such file or directory']),
                             (['--ro', '/proc:/mnt/proc'], ['a proc file system']),
                             (['--ro', self.project + ':/mnt/a', '--ro', self.project + ':/mnt/a'], ['is the target of two mounts']),
                             ([], ['expected what to mount'])):
            with self.subTest(words=words):
                done = self.mount(*words)
                self.assertIn(done.code, (1, 2), done)
                for text in texts:
                    self.assertIn(text, done.err)
        self.assertEqual((self.targets(), tree(self.project), self.yett('work', 'list').out), before)

    def test_what_does_not_run_takes_none(self):
        self.assertEqual(self.yett('pause', 'box').code, 0)
        self.assert_refused(self.mount('--ro', self.project), 1, 'paused')
        self.assertEqual(self.yett('resume', 'box').code, 0)
        self.assert_mounted('--ro', self.project)
        self.assert_refused(self.mount('--ro', self.project, box='none'), 1, "there is no sandbox 'none'")

    def test_another_users_sandbox_is_not_there_and_roots_request_is_refused(self):
        bobs = self.folder('bobs', user=self.bob)
        self.assert_refused(self.mount('--ro', bobs + ':/mnt/bobs', box=self.box, user=self.bob), 1, 'there is no sandbox')
        self.assert_refused(self.unmount('/mnt/bobs', box=self.box, user=self.bob), 1, 'there is no sandbox')
        self.assertEqual(self.targets(), [])

    def test_nothing_comes_to_the_host_and_nothing_stays(self):
        before = self.mounts_of_the_host()
        self.assert_mounted('--rw', self.project + ':/mnt/first')  # from then on it is init alone that holds what is mounted
        self.assert_unmounted('/mnt/first')
        files = {pid: len(os.listdir('/proc/%d/fd' % pid)) for pid in yett.children_of(self.service.pid())
                 if any(yett.inits_among(yett.children_of(pid)))}
        for _ in range(20):
            self.assert_mounted('--rw', self.project + ':/mnt/again', '--ro', self.project)
            self.assert_unmounted('/mnt/again', self.project)
        self.assertEqual(self.targets(), [])
        self.assertEqual(self.mounts_of_the_host(), before)
        # fewer, where a connection of the first two was still open when it was counted
        yett.wait_until(lambda: all(len(os.listdir('/proc/%d/fd' % pid)) <= count for pid, count in files.items()), 'as few descriptors as before')
        self.assert_mounted('--rw', self.project)
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        self.service.wait_no_leftovers()


class Told(Mounts):
    """yett inspect --mounts: what is there now, and how full."""

    def told(self, box='box'):
        done = self.yett('inspect', '--mounts', '--json', box)
        self.assertEqual(done.code, 0, done)
        return {mount['target']: mount for mount in yett.told(done.out)['mounts']}

    def test_mounts_are_told_as_they_are_now(self):
        self.create('--name', 'told', '--ro', self.project + ':/mnt/a b', '--cow', self.folder('cow') + ':/mnt/cow', '--tmpfs', '/scratch:1M')
        self.addCleanup(self.yett, 'destroy', 'told')
        told = self.told('told')
        self.assertEqual([(told[target]['mode'], told[target]['disk'] is not None) for target in ('/mnt/a b', '/mnt/cow', '/scratch', '/', '/usr')],
                         [('read-only', False), ('copy-on-write', False), ('writable', True), ('writable', True), ('read-only', False)])
        self.assertTrue(yett.path_on_host(self.project).endswith(told['/mnt/a b']['root']), told['/mnt/a b'])
        self.assertEqual([told[target]['type'] for target in ('/mnt/cow', '/scratch', '/proc')], ['overlay', 'tmpfs', 'proc'])
        self.assertNotIn('/mnt/later', told)
        self.assert_mounted('--rw', self.folder('later') + ':/mnt/later', box='told')
        self.assertEqual(self.told('told')['/mnt/later']['mode'], 'writable')
        self.assert_unmounted('/mnt/later', box='told')
        self.assertNotIn('/mnt/later', self.told('told'))
        rows = self.yett('inspect', '--mounts', 'told').out
        self.assertRegex(rows, r'(?m)^writable +tmpfs +1M +0 +1  /scratch$')
        self.assertRegex(rows, r'(?m)^read-only +\S+ +- +- +-  /mnt/a b$')

    def test_what_is_used_of_its_own_file_systems_is_told(self):
        options = ('--cow', self.folder('memory') + ':/mnt/memory:memory=2M') if memory_takes_attributes() else ()
        self.create('--name', 'told', '--tmpfs', '/scratch:1M', *options)
        self.addCleanup(self.yett, 'destroy', 'told')
        places = ['/', '/scratch'] + ['/mnt/memory'] * bool(options)
        before = self.told('told')
        self.inside('for at in %s; do head -c 100000 /dev/zero >$at/file; done' % ' '.join(['/tmp'] + places[1:]), box='told')
        after = self.told('told')
        for place in places:
            used = [told[place]['disk'] for told in (before, after)]
            self.assertEqual(used[1]['used_bytes'] - used[0]['used_bytes'], 102400, used)  # 25 pages
            self.assertEqual(used[1]['files_used'] - used[0]['files_used'], 1, used)
        self.assertEqual([after[place]['disk']['size_bytes'] for place in places], [512 << 20, 1 << 20] + [2 << 20] * bool(options))

    def test_a_host_s_memory_is_not_the_sandbox_s_own(self):
        """A directory of a tmpfs of the host's has room that is others'."""
        shared = '/dev/shm/yett-told-%d' % yett.run_of_process().place
        os.mkdir(shared)
        self.addCleanup(shutil.rmtree, shared)
        os.chown(shared, self.alice.uid, self.alice.uid)
        done = self.mount('--rw', shared + ':/mnt/shm')
        if done.code:  # before Linux 6.3 it cannot be mounted with other ids
            self.assertIn('id-mapped', done.err)
            return
        told = self.told()['/mnt/shm']
        self.assertEqual((told['type'], told['mode'], told['disk']), ('tmpfs', 'writable', None))


class ToldRootless(Told):
    service_class = yett.Rootless

    test_a_host_s_memory_is_not_the_sandbox_s_own = None  # as with the service


class Refresh(Mounts):
    """Copy-on-write shares remember names of the source."""

    def write_anew(self, name, text):
        """As editors do: another file takes the name."""
        self.alice.write('project/.new', text)
        os.rename(os.path.join(self.project, '.new'), os.path.join(self.project, name))

    def setUp(self):
        super().setUp()
        self.folder('project/sub')
        self.alice.write('project/sub/file', 'outside\n')
        self.work = self.create('--name', 'work', '--cow', self.project + ':/mnt/a')
        self.addCleanup(self.yett, 'destroy', self.work)
        self.assert_mounted('--cow', self.folder('other') + ':/mnt/b c', box='work')
        self.look = 'for name in /mnt/a/file /mnt/a/sub/file /mnt/a/later "/mnt/b c/later"; do cat "$name" 2>&1 || true; done'
        self.assertEqual(self.seen('echo inside >/mnt/a/own; ' + self.look, box='work').splitlines()[:2], ['outside', 'outside'])
        for name in ('file', 'sub/file', 'later'):
            self.write_anew(name, 'anew\n')
        self.alice.write('other/later', 'anew\n')

    def refresh(self, *words, box='work'):
        done = self.yett('refresh', box, *words)
        self.assertEqual((done.code, done.out), (0, ''), done)

    def test_what_was_replaced_made_and_removed_outside_shows_after_it(self):
        self.assertEqual(self.seen(self.look, box='work').count('anew'), 0)  # else there is nothing to be shown
        self.refresh()
        self.assertEqual(self.seen(self.look + '; cat /mnt/a/own', box='work'), 'anew\n' * 4 + 'inside\n')
        os.unlink(os.path.join(self.project, 'later'))
        self.refresh()
        self.assertIn('/mnt/a/later: No such file or directory', self.seen(self.look, box='work'))
        self.assertEqual(self.seen('echo still >/mnt/a/own; cat /mnt/a/own', box='work'), 'still\n')

    def test_only_where_it_was_asked_for(self):
        self.refresh('/mnt/b c')
        self.assertEqual(self.seen(self.look, box='work').count('anew'), 1)
        self.refresh('/mnt/a')
        self.assertEqual(self.seen(self.look, box='work').count('anew'), 4)

    def test_under_commands_that_are_there_and_have_files_open(self):
        with self.service.popen(self.alice, self.service.yett, 'exec', 'work', '--', 'sh', '-c', 'cd /mnt/a/sub; exec 3<file; echo up; read x; cat <&3; cat file; cat ../later',
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            self.assertEqual(self.line(running), 'up')
            self.refresh()
            self.write_anew('sub/file', 'and anew\n')
            self.refresh()
            self.assertEqual(running.communicate(b'\n', timeout=yett.DEADLINE)[0].decode().splitlines()[-1], 'anew')

    def test_what_has_nothing_to_be_refreshed_is_refused_by_name(self):
        self.assert_mounted('--rw', self.project + ':/mnt/plain', box='work')
        for target, text in (('/mnt/plain', 'no overlay of the sandbox'), ('/mnt/a/sub', 'no overlay of the sandbox'), ('/mnt/none', 'there is no /mnt/none'),
                             ('mnt/a', 'is not an absolute path'), ('/mnt/../mnt/a', 'component . or ..')):
            self.assert_refused(self.yett('refresh', 'work', target), 1, text)
        self.assert_refused(self.yett('refresh', 'nobody'), 1, 'there is no sandbox')
        self.refresh(box='box')  # that has none

    def test_another_user_may_not(self):
        self.assert_refused(self.yett('refresh', self.work, user=self.bob), 1, 'there is no sandbox')


class RefreshRootless(Refresh):
    """Where the mounts are the user's own."""

    service_class = yett.Rootless
    test_another_user_may_not = None  # comes to nobody's helper


class Ends(Mounts):
    def test_what_is_taken_off_is_gone_but_for_who_has_it_open(self):
        self.assert_mounted('--ro', self.project)
        with self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c', 'exec 3<"$1/file"; echo up; read x; cat <&3; ls "$1"', 'sh', self.project,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            self.assertEqual(self.line(running), 'up')
            self.assert_unmounted(self.project)
            running.stdin.write(b'x\n')
            running.stdin.flush()
            self.assertEqual(self.line(running), 'outside')
            self.assertEqual(running.wait(yett.DEADLINE), 0)
        self.assert_refused(self.unmount(self.project), 1, 'nothing is mounted at ' + self.project)

    def test_one_that_the_sandbox_was_made_with_goes_too(self):
        self.create('--name', 'made', '--rw', self.project)
        self.addCleanup(self.yett, 'destroy', 'made')
        self.assertEqual(self.seen('cat %s/file' % self.project, box='made'), 'outside\n')
        self.assert_unmounted(self.project, box='made')
        self.assertNotEqual(self.inside('cd / && cat %s/file' % self.project, box='made').code, 0)

    def test_what_is_no_share_stays(self):
        for target, text in (('/mnt/none', 'nothing is mounted at /mnt/none'), ('/usr', "'/usr' would hide a system directory"), ('/proc', "'/proc'"), ('/tmp', "'/tmp' is no place"),
                             ('/run/yett/passwd', "'/run/yett/passwd'"), ('/etc/passwd', "'/etc/passwd'"), ('/', "'/'"), ('mnt/x', "'mnt/x'")):
            with self.subTest(target=target):
                self.assert_refused(self.unmount(target), 1, text)


class ByPolicy(Mounts):
    @classmethod
    def setUpClass(cls):
        cls.roots = yett.run_of_process().roots_folder()
        os.chmod(cls.roots, 0o755)
        for name in ('readable', 'writable'):
            os.mkdir(cls.roots + '/' + name)
        cls.service_options = {'before': POLICY % {'roots': cls.roots}, 'after': PROFILES}
        super().setUpClass()

    def setUp(self):
        super().setUp()
        for name in ('writable/secrets', 'writable/fixed'):
            os.mkdir(self.at(name))
            self.addCleanup(shutil.rmtree, self.at(name))
        for name in ('readable', 'writable', 'writable/secrets', 'writable/fixed'):
            os.chown(self.at(name), self.alice.uid, self.alice.gid)
        for name in ('writable/.env', 'writable/secrets/key', 'writable/fixed/file', 'readable/file'):
            self.alice.write(self.at(name), 'secret\n')

    def create(self, *options, **more):
        return super().create(*(options if '-p' in options else (*options, '-p', 'closed')), **more)

    def at(self, name):
        return self.roots + '/' + name

    def test_what_no_grant_lets_be_shared_is_refused_with_the_rule(self):
        line = [i for i, text in enumerate(yett.read(self.service.policy).splitlines(), 1) if 'share_rw = {"%s"}' % self.at('writable') in text][0]
        done = self.mount('--rw', self.at('readable') + ':/mnt/x')
        self.assert_refused(done, 1, 'the policy does not let this user share that directory read-write', 'asked %s, allowed %s' % (self.at('readable'), self.at('writable')),
                            '%s:%d' % (self.service.policy, line))
        self.assert_refused(self.mount('--ro', self.project + ':/mnt/x'), 1, 'does not let this user share that directory read-only')
        self.assert_mounted('--ro', self.at('readable') + ':/mnt/x', '--rw', self.at('writable') + ':/mnt/y')
        self.assertEqual(self.targets(), ['/mnt/x', '/mnt/y'])

    def test_what_the_profile_protects_is_protected_in_what_comes_later_and_stays_so(self):
        self.assert_mounted('--rw', self.at('writable') + ':/mnt/shared')
        done = self.inside('cd /mnt/shared; cat .env; ls secrets; cat fixed/file; echo x >fixed/file; rm -f .env; mv secrets other; echo y >new')
        self.assertEqual(done.out, 'secret\n')
        for text in ('fixed/file: Read-only file system', "cannot remove '.env': Device or resource busy", "cannot move 'secrets' to 'other': Device or resource busy"):
            self.assertIn(text, done.err)
        self.assertEqual(yett.read(self.at('writable/new')), 'y\n')
        for target in ('/mnt/shared/.env', '/mnt/shared/secrets', '/mnt/shared/fixed'):
            self.assert_refused(self.unmount(target), 1, "'%s' is protected by the profile" % target)
        self.assert_unmounted('/mnt/shared')
        self.assertEqual(self.targets(), [])
        for target in ('/mnt/shared/.env', '/mnt/shared/secrets/deep', '/mnt/shared/fixed'):  # what was not there when the sandbox was made
            self.assert_refused(self.mount('--rw', self.at('writable') + ':' + target), 1, "'%s' is protected by the profile" % target)

    def test_nothing_is_seen_before_it_is_covered(self):
        script = 'echo up; until [ -e /tmp/over ]; do cat /mnt/shared/.env /mnt/shared/secrets/key; done 2>/dev/null; [ -e /tmp/over ]'
        with self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c', script, stdout=subprocess.PIPE) as polling:
            self.assertEqual(polling.stdout.readline(), b'up\n')
            for _ in range(20):
                self.assert_mounted('--rw', self.at('writable') + ':/mnt/shared')
                self.assert_unmounted('/mnt/shared')
            self.seen('touch /tmp/over')
            self.assertEqual(polling.communicate(timeout=yett.DEADLINE)[0], b'')

    def test_a_workspace_that_is_to_be_copy_on_write_stays_so(self):
        box = self.create('--name', 'written', '-p', 'written', '--cow', self.at('writable') + ':/mnt/work')
        self.addCleanup(self.yett, 'destroy', box)
        done = self.mount('--rw', self.at('writable') + ':/mnt/x', box='written')
        self.assert_refused(done, 1, "the profile 'written' requires shares to be copy-on-write, and a share is writable")
        self.assert_mounted('--ro', self.at('readable') + ':/mnt/x', '--cow', self.at('writable') + ':/mnt/y', box='written')

    def test_a_socket_that_the_policy_names(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.at('listens'))
            self.addCleanup(os.unlink, self.at('listens'))
            os.chmod(self.at('listens'), 0o666)
            self.assert_mounted('--share-socket', self.at('listens') + ':/tmp/there')
        self.assertTrue(stat.S_ISSOCK(int(self.seen('stat -c %f /tmp/there'), 16)))
        self.assert_unmounted('/tmp/there')

    def test_a_sandbox_of_an_older_policy_takes_none(self):
        self.change_policy(before='# another one\n' + POLICY % {'roots': self.roots}, after=PROFILES)
        done = self.mount('--ro', self.at('readable') + ':/mnt/x')
        self.assert_refused(done, 1, 'the policy, the profile or the user is not that of the sandbox')


class Strict(Mounts):
    service_options = {'before': 'grant "own" { users = {"*"} user_keys = true profiles = {"*"} share_ro = {"*"} share_rw = {"*"} linger_max = unlimited }\n',
                       'after': 'profile "behind" { extends = "default" overlay_ro = true }\n'}

    def create(self, *options, **more):
        return super().create(*options, '-p', 'behind', **more)

    def test_what_is_read_only_is_behind_an_overlay(self):
        self.assert_mounted('--ro', self.project + ':/mnt/x')
        self.assertIn(' /mnt/x ro,', self.seen('cat /proc/self/mountinfo'))
        self.assertEqual([line.split(' - ')[1].split()[0] for line in self.seen('cat /proc/self/mountinfo').splitlines() if ' /mnt/x ' in line], ['overlay'])
        self.assertEqual(self.seen('cat /mnt/x/file'), 'outside\n')
        os.unlink(self.project + '/file')
        self.alice.write('project/file', 'anew\n')
        self.assertNotEqual(self.inside('cat /mnt/x/file').out, 'anew\n')
        done = self.yett('refresh', 'box', '/mnt/x')
        self.assertEqual((done.code, done.out), (0, ''), done)
        self.assertEqual(self.seen('cat /mnt/x/file'), 'anew\n')
        self.assertIn('Read-only file system', self.inside('echo x >/mnt/x/file').err)
        self.assert_unmounted('/mnt/x')


if __name__ == '__main__':
    yett.main()
