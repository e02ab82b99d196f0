# SPDX-License-Identifier: Apache-2.0
"""Snapshots of stores: while a sandbox works on one, and what is left where something comes in between."""
import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import textwrap

import workspace
import yett
from disk import Disk
from workspace import libc, shown, shown_by_names, tree

PIDFD_GETFD = 438  # pidfd_getfd(2)

# Changes at random, as sandboxes make them: to files and directories of a few names, so that they cover and undo each other. A line tells how
# many, and is answered by all that shows then.
CHANGES = textwrap.dedent('''
    import ctypes, json, os, random, shutil, stat, sys
    rnd = random.Random(int(sys.argv[1]))
    libc = ctypes.CDLL(None)

    def path():
        return '/'.join(rnd.choice('abc') for _ in range(rnd.choice((1, 1, 2, 3))))

    def write(at):
        with open(os.open(at, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o644), 'a') as file:
            file.write(str(rnd.random()))

    def remove(at):
        if os.path.isdir(at) and not os.path.islink(at):
            os.system('rm -rf ' + at + ' 2>/dev/null')
        else:
            os.unlink(at)

    def become(at, make):
        remove(at) if os.path.lexists(at) else None
        make(at)

    def chmod(at):
        if not os.path.islink(at):
            os.chmod(at, rnd.choice((0o755, 0o700, 0o555, 0o500) if os.path.isdir(at) else (0o644, 0o600, 0o444)))

    def mark(at):
        if not os.path.islink(at):
            os.setxattr(at, 'user.test', b'x')

    kinds = [write, write, remove, remove, os.mkdir, os.mkdir, os.makedirs, chmod, mark, os.mkfifo, lambda at: os.symlink('a', at),
             lambda at: os.rename(at, path()), lambda at: os.rename(at, path()), lambda at: os.link(at, path(), follow_symlinks=False),
             lambda at: libc.renameat2(-100, at.encode(), -100, path().encode(), 2), lambda at: become(at, os.mkdir), lambda at: become(at, write)]
    os.chdir(sys.argv[2])
    for line in sys.stdin:
        for _ in range(int(line)):
            try:
                rnd.choice(kinds)(path())
            except OSError:
                pass
        found = {}
        for folder, folders, files in os.walk('.'):
            for name in [''] + folders + files:
                at = os.path.join(folder, name) if name else folder
                st = os.lstat(at)
                content = os.readlink(at) if stat.S_ISLNK(st.st_mode) else open(at).read() if stat.S_ISREG(st.st_mode) else ''
                marks = [] if stat.S_ISLNK(st.st_mode) else os.listxattr(at)
                found[at] = [st.st_mode, content, marks, st.st_mtime_ns if folder != '.' or name else 0]
        print(json.dumps(found), flush=True)
''')


class Snapshots(workspace.Snapshots):
    def listed(self, work):
        return [(entry['name'], entry['layers']) for entry in json.loads(self.snapshot('list', work, '--json').out)['result']['snapshots']]

    def names(self, work):
        return [name for name, _ in self.listed(work)]

    def wait_unused(self):
        yett.wait_until(lambda: not any(work['used'] for work in self.works()), 'the end of the lock')

    @contextlib.contextmanager
    def used(self, store):
        """As if a sandbox worked on it, which does nothing at the moment."""
        fd = os.open(store, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def take_used(self, store, name, env=None):
        with self.used(store):
            return self.service.run(self.alice, self.service.run_.path('tests/system/take_used'), os.path.basename(store), name,
                                    env={**self.environment(), **(env or {})})

    def half_way(self, store):
        """As an apply that was killed leaves it."""
        os.mkdir(store + '/apply')
        yett.write(store + '/apply/journal', '')

    def settle(self, work, env=None):
        """What comes before anything that is done at rest."""
        return self.yett('snapshot', 'rollback', work, 'none', env={**self.environment(), **(env or {})})

    def prepare(self):
        """A store with frozen layers and two pending ones, and changes since."""
        self.assert_cow('set -e; echo 1 >file; mkdir made both; echo a >made/a; echo b >both/b; rm -r removed; rm gone; chmod 555 both')
        work = self.works()[-1]['id']
        store = self.store({'id': work})
        self.snapshot('take', work, 'rest')
        self.again(work, 'set -e; echo 2 >file; mkdir -p new/deep; echo n >new/n; echo m >made/m; mkdir shut; echo s >shut/s; echo s >shut/t; echo g >gone')
        self.assertEqual(self.take_used(store, 'one').code, 0)
        self.again_unsettled(store, ['file'], ['new/n', 'made/m', 'gone'], 'new/o', 'shut/u')
        self.assertEqual(self.take_used(store, 'two').code, 0)
        self.again_unsettled(store, ['shut/s'], ['new/deep', 'new/o', 'shut/t'], 'file', 'x')
        os.chmod(store + '/upper/shut', 0o500)
        return work, store

    def again_unsettled(self, store, changed, gone, *made):
        """As the sandbox goes on: what is gone was nowhere below."""
        for name in gone:
            path = store + '/upper/' + name
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        for name in [*changed, *made]:
            yett.write(store + '/upper/' + name, name + '\n')
            os.chown(store + '/upper/' + name, self.alice.uid, self.alice.gid)


    def stopped(self, *words, at=3):
        """What copies, and stands still itself in the middle of it."""
        library = self.alice.write('kill_at.so')
        shutil.copy(os.environ['YETT_BUILD_ROOT'] + '/tests/system/kill_at.so', library)
        process = self.copying(*words, env={'LD_PRELOAD': library, 'YETT_TEST_STOP_AT': str(at), 'ASAN_OPTIONS': 'verify_asan_link_order=0'})
        yett.wait_until(lambda: yett.read('/proc/%d/stat' % process.pid).rsplit(')', 1)[1].split()[0] == 'T', 'a copy half-way')
        return process

    def copying(self, *words, env=None):
        process = self.service.popen(self.alice, self.service.yett, 'snapshot', *words, env={**self.environment(), **(env or {})},
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def end_of_copying(self, process, code=0):
        if yett.status_of(process.pid).get('State', ' ')[0] == 'T':  # the leak sanitizer, which traces one that ends, does not get over it
            process.send_signal(signal.SIGCONT)
        out, err = (text.decode() for text in process.communicate(timeout=yett.DEADLINE))
        self.assertEqual(process.returncode, code, (out, err))
        return out, err


class Live(Snapshots):
    """What takes the freezer of a control group."""

    def begin(self, *words, **more):
        process = self.start(*words, options=['--cow', self.source, '-C', self.source], env=self.environment(), **more)
        first = self.line(process)
        return process, self.works()[-1], first

    def end_of(self, process, work):
        self.assertEqual(self.yett('destroy', work['sandbox']).code, 0)
        process.communicate(timeout=yett.DEADLINE)
        self.wait_unused()

    def test_one_is_taken_while_the_sandbox_stands_still_and_all_can_be_done_with_it(self):
        process, work, _ = self.begin('sh', '-c', 'i=0; while :; do i=$((i+1)); for n in one two; do echo $i >new; mv new $n; done; echo $i; done')
        id_, store = work['id'], self.store(work)
        for name in ('a', 'b', 'c'):
            done = self.snapshot('take', id_, name)
            self.assertEqual(done.out, name + '\n')
            self.assertIn('the sandbox %s was frozen while it was copied' % work['sandbox'], done.err)
            self.line(process)
        self.assertEqual(self.listed(id_), [('a', 1), ('b', 2), ('c', 3)])
        taken = shown_by_names(store, self.source)
        for name, found in taken.items():
            diff = self.yett('diff', '--name-only', id_ + '@' + name, env=self.environment())
            self.assertEqual((diff.code, set(diff.out.split()) - {'new'}, diff.err), (0, {'one', 'two'}, ''), diff)
            fork = self.store({'id': self.snapshot('fork', id_, name).out.strip()})
            self.assertEqual(shown(fork, self.source), found)
        fork = self.snapshot('fork', id_).out.strip()
        self.assertEqual(shown_by_names(self.store({'id': fork}), self.source), taken)
        self.assertIn('a sandbox works on the store', self.snapshot('rollback', id_, 'a', code=1).err)
        self.assertIn('has a snapshot a already', self.snapshot('take', id_, 'a', code=1).err)
        self.assertIn('was frozen', json.loads(self.snapshot('take', id_, '--json').out)['notes'][0])
        self.snapshot('delete', id_, 'b')
        self.assertEqual(self.names(id_), ['a', 'c', '1'])
        self.assertEqual(self.yett('pause', work['sandbox']).code, 0)
        self.snapshot('take', id_, 'paused')
        status = json.loads(self.yett('inspect', '--json', work['sandbox']).out)['result']['sandbox']
        self.assertEqual(status['state'], 'paused')
        self.end_of(process, work)
        before, del_ = shown(store, self.source), taken.pop('b')
        self.assertTrue(del_)
        self.again(id_, 'true')
        self.assertEqual((shown(store, self.source), os.path.exists(store + '/pending')), (before, False))
        self.snapshot('delete', id_, '1')
        for name in ('c', 'a'):
            self.assertEqual(shown_by_names(store, self.source)[name], taken[name])
            self.snapshot('rollback', id_, name, '--delete-later')
            self.assertEqual(shown(store, self.source), taken[name])
        self.again(fork, 'true')
        self.assertEqual(shown_by_names(self.store({'id': fork}), self.source), {**taken, 'b': del_})

    def test_names_of_one_file_take_its_room_once(self):
        script = 'mkdir -p a/b; head -c 1M /dev/zero | tr "\\0" x >a/b/large; for i in 1 2 3 4 5 6 7 8; do ln a/b/large $i; done; echo up; read x; ln 1 9'
        process, work, _ = self.begin('sh', '-c', script)
        self.snapshot('take', work['id'], 'while-it-runs')
        process.communicate(b'\n', timeout=yett.DEADLINE)
        self.wait_unused()
        for name, links in (('while-it-runs', {9}), (None, {9, 10})):  # of the layer of the snapshot, and of what came on it
            layers = self.store({'id': self.snapshot('fork', work['id'], *([name] if name else [])).out.strip()})
            found = [st for folder, _, files in os.walk(layers) for st in (os.lstat(os.path.join(folder, file)) for file in files) if st.st_size == 1 << 20]
            self.assertEqual({st.st_nlink for st in found}, links)
            self.assertEqual(len({st.st_ino for st in found}), len(links))

    def test_at_rest_each_is_as_the_sandbox_saw_it(self):
        """Of changes at random, whose seeds are told."""
        for seed in random.sample(range(1 << 20), 3):
            with self.subTest(seed=seed):
                self.assert_as_seen(seed)

    def assert_as_seen(self, seed):
        rnd = random.Random(seed)
        process = self.start('python3', '-c', CHANGES, str(seed), self.source, options=['--cow', self.source], env=self.environment())

        def change(count):
            process.stdin.write(b'%d\n' % count)
            process.stdin.flush()
            return json.loads(self.line(process))
        seen = {'': change(30)}
        work = self.works()[-1]
        for name in 'abcdef':
            seen[name] = change(rnd.randrange(40))
            self.snapshot('take', work['id'], name)
        seen[''] = change(rnd.randrange(40))
        process.stdin.close()
        process.wait(timeout=yett.DEADLINE)
        self.wait_unused()
        changed = self.yett('diff', '--json', work['id'], env=self.environment()).out
        forks = {name: self.snapshot('fork', work['id'], *([name] if name else [])).out.strip() for name in seen}
        for name, store in [('', work['id']), *forks.items()]:
            done = self.sandbox('python3', '-c', CHANGES, '0', self.source, options=['--store', store], env=self.environment(), input='0\n')
            self.assertEqual(json.loads(done.out), seen[name], (seed, name))
        self.assertEqual(json.loads(self.yett('diff', '--json', work['id'], env=self.environment()).out), json.loads(changed), seed)

    def test_one_that_is_killed_leaves_the_sandbox_paused_and_the_next_takes_it(self):
        process, work, _ = self.begin('sh', '-c', 'echo 1 >one; echo; read line; echo $line')
        library = self.alice.write('kill_at.so')
        shutil.copy(os.environ['YETT_BUILD_ROOT'] + '/tests/system/kill_at.so', library)
        done = self.yett('snapshot', 'take', work['id'], 'x', env={**self.environment(), 'LD_PRELOAD': library, 'YETT_TEST_KILL_AT': '3',
                                                                    'ASAN_OPTIONS': 'verify_asan_link_order=0'})
        self.assertEqual((done.code, self.names(work['id'])), (-9, []), done)
        status = json.loads(self.yett('inspect', '--json', work['sandbox']).out)['result']['sandbox']
        self.assertEqual(status['state'], 'paused')
        self.assertEqual(self.snapshot('take', work['id'], 'x').out, 'x\n')
        self.assertEqual(self.yett('resume', work['sandbox']).code, 0)
        out, _ = process.communicate(b'on\n', timeout=yett.DEADLINE)
        self.assertEqual(out, b'on\n')

    # --- two at once, and somebody who has it go on meanwhile ---

    def state_of(self, work):
        return json.loads(self.yett('inspect', '--json', work['sandbox']).out)['result']['sandbox']['state']

    def test_of_two_at_once_the_second_waits_for_the_first_also_on_another_store(self):
        other = self.folder('other')
        yett.write(other + '/file', 'x')
        process = self.start('sh', '-c', 'echo 1 >file; echo 1 >"$0/file"; echo; read line; echo $line', other,
                             options=['--cow', self.source, '--cow', other, '-C', self.source], env=self.environment())
        self.line(process)
        one, two = sorted(self.works(), key=lambda work: work['source'] == other)
        for words in (['take', one['id'], 'b'], ['take', two['id'], 'b'], ['fork', two['id']]):
            first = self.stopped('take', one['id'])
            self.assertEqual(self.state_of(one), 'paused')
            second = self.copying(*words)
            self.assertIn(b'waiting: the sandbox %s is being copied' % one['sandbox'].encode(), second.stderr.readline())
            self.assertEqual(self.state_of(one), 'paused')
            for copying in (first, second):
                self.assertIn('was frozen', self.end_of_copying(copying)[1])
            self.assertEqual(self.state_of(one), 'running')
        out, _ = process.communicate(b'on\n', timeout=yett.DEADLINE)
        self.assertEqual(out, b'on\n')

    def test_what_was_copied_is_taken_back_where_somebody_has_the_sandbox_go_on_meanwhile(self):
        process, work, _ = self.begin('sh', '-c', 'echo 1 >one; echo; read line; echo $line')
        before = [each['id'] for each in self.works()]
        for words in (['take', work['id'], 'x'], ['fork', work['id']]):
            copying = self.stopped(*words)
            self.assertEqual(self.yett('resume', work['sandbox']).code, 0)
            out, err = self.end_of_copying(copying, 1)
            self.assertEqual(out, '')
            self.assertIn('the sandbox %s was resumed (yett resume) or ended while it was copied' % work['sandbox'], err)
            self.assertNotIn('was frozen', err)
            self.assertEqual((self.state_of(work), self.names(work['id']), [each['id'] for each in self.works()]), ('running', [], before))
        self.snapshot('take', work['id'], 'x')
        copying = self.stopped('take', work['id'], 'y')
        self.assertEqual(self.yett('destroy', work['sandbox']).code, 0)
        self.assertIn('was resumed (yett resume) or ended', self.end_of_copying(copying, 1)[1])
        process.communicate(timeout=yett.DEADLINE)
        self.assertEqual(self.names(work['id']), ['x'])

    def cut_off(self, process):
        """From the helper."""
        pidfd = os.pidfd_open(process.pid)
        for fd in os.listdir('/proc/%d/fd' % process.pid):
            if os.readlink('/proc/%d/fd/%s' % (process.pid, fd)).startswith('socket:'):
                with socket.socket(fileno=libc.syscall(PIDFD_GETFD, pidfd, int(fd), 0)) as taken:
                    taken.shutdown(socket.SHUT_RDWR)
        os.close(pidfd)

    def test_that_the_sandbox_does_not_go_on_is_a_failure_and_told(self):
        process, work, _ = self.begin('sh', '-c', 'echo 1 >one; echo; read line; echo $line')
        copying = self.stopped('take', work['id'], 'x')
        self.cut_off(copying)
        self.assertIn('hint: the sandbox may still be paused: yett resume ' + work['sandbox'], self.end_of_copying(copying, 1)[1])
        self.assertEqual((self.state_of(work), self.names(work['id'])), ('paused', []))
        self.assertEqual(self.yett('resume', work['sandbox']).code, 0)
        out, _ = process.communicate(b'on\n', timeout=yett.DEADLINE)
        self.assertEqual(out, b'on\n')

    def test_what_cannot_be_copied_is_refused_and_the_sandbox_goes_on(self):
        process, work, _ = self.begin('sh', '-c', 'mkdir a; echo x >a/shut; chmod 0 a/shut; echo; read line; echo $line')
        before = tree(self.store(work) + '/upper')
        done = self.snapshot('take', work['id'], code=1)
        self.assertIn('cannot copy a/shut of the store %s: Permission denied' % work['id'], done.err)
        self.assertEqual((self.names(work['id']), tree(self.store(work) + '/upper')), ([], before))
        self.assertEqual([name for name in os.listdir(self.store(work)) if name in ('fresh', 'pending')], [])
        out, _ = process.communicate(b'on\n', timeout=yett.DEADLINE)
        self.assertEqual(out, b'on\n')


class InUse(Snapshots):
    def test_there_are_as_many_as_there_may_be_until_the_sandbox_ends(self):
        self.assert_cow('echo 1 >file')
        work = self.works()[0]['id']
        store = self.store()
        self.snapshot('take', work, 'rest')
        self.again(work, 'echo 2 >file')
        for i in range(60):
            self.assertEqual(self.take_used(store, 'n%d' % i).code, 0)
        done = self.take_used(store, 'more')
        self.assertEqual(done.code, 1, done)
        self.assertIn('the maximum number of snapshots while a sandbox works on it', done.err)
        self.assertIn('end the sandbox', done.err)
        self.assertEqual(self.again(work, 'cat file; echo 3 >file'), '2\n')
        self.assertIn('has the maximum number of snapshots', self.snapshot('take', work, 'more', code=1).err)
        self.snapshot('delete', work, 'n7')
        self.snapshot('take', work, 'more')
        self.again(work, 'echo 4 >file')
        with self.used(store):
            self.snapshot('delete', work, 'n9')
        self.half_way(store)
        self.assertIn('ended half-way', self.snapshot('take', work, 'last', code=1).err)
        shutil.rmtree(store + '/apply')
        self.snapshot('take', work, 'last')
        self.snapshot('rollback', work, 'n59', '--delete-later')
        self.assertEqual(self.again(work, 'cat file'), '2\n')

    def test_one_at_a_time_changes_snapshots(self):
        work, store = self.prepare()
        with self.used(store + '/snapshots'):
            for words in (['take', work], ['rollback', work, 'rest'], ['delete', work, 'rest'], ['fork', work]):
                self.assertIn('a snapshot of the store %s is being made or changed' % work, self.snapshot(*words, code=1).err)
            done = self.yett('discard', '--yes', work, env=self.environment())
            self.assertIn('a snapshot of the store %s is being made or changed' % work, done.err)
            done = self.sandbox('true', options=['--store', work], env=self.environment())
            self.assertIn('a snapshot of the store %s is being made or changed' % work, done.err)
        self.assertEqual(self.names(work), ['rest', 'one', 'two'])

    def test_what_a_layer_is_missing_in_is_not_forked(self):
        work, store = self.prepare()
        self.settle(work)
        before = os.listdir(os.path.dirname(store))
        for words in (['fork', work], ['fork', work, 'two']):
            forking = self.stopped(*words, at=4)
            os.rename(store + '/layers/2', store + '/away')
            self.assertIn('cannot copy the store %s: No such file' % work, self.end_of_copying(forking, 1)[1])
            os.rename(store + '/away', store + '/layers/2')
            self.assertEqual(os.listdir(os.path.dirname(store)), before)
        self.snapshot('fork', work)

    def test_directories_that_their_owner_may_not_use_get_whiteouts_and_stay_as_they_are(self):
        work, store = self.prepare()
        before = shown(store, self.source)
        paths = {store + '/upper' + name: mode for name, mode in (('/shut', 0), ('/new', 0o300), ('/made', 0o555), ('', 0o411))}
        for path, mode in paths.items():
            os.chmod(path, mode)
            os.utime(path, ns=(7, 8))
        self.settle(work)
        self.assertTrue(all(stat.S_ISCHR(os.lstat(store + '/upper/' + name).st_mode) for name in ('shut/t', 'new/deep', 'new/o')))
        for path, mode in paths.items():
            st = os.stat(path)
            self.assertEqual((stat.S_IMODE(st.st_mode), st.st_mtime_ns), (mode, 8), path)
            os.chmod(path, before[os.path.relpath(path, store + '/upper')][1])
        self.assertEqual(shown(store, self.source), before)

    def test_another_boot_since_is_told(self):
        work, store = self.prepare()
        path = store + '/snapshots/one'
        layer, created, _ = os.readlink(path).split()
        os.unlink(path)
        os.symlink('%s %s 00000000-0000-0000-0000-000000000000' % (layer, created), path)
        text = 'the machine was rebooted after the snapshot one was taken: after a crash, files in the snapshot may be incomplete'
        done = self.snapshot('list', work)
        self.assertEqual((text in done.err, 'snapshot two' in done.err), (True, False), done)
        self.assertIn(text, self.snapshot('fork', work, 'one').err)
        self.assertNotIn(text, self.snapshot('fork', work, 'two').err)


class Between(Snapshots):
    """What may come in between, at every step."""

    def assert_old_or_new(self, store, before, after, told):
        """Each snapshot that is named is what it was, or is to be, and so is what the store holds."""
        now, named = shown(store, self.source), shown_by_names(store, self.source)
        self.assertIn(now, (before[0], after[0]), told)
        self.assertIn(set(named), (set(before[1]), set(after[1])), told)
        for name, found in named.items():
            self.assertEqual(found, {**before[1], **after[1]}[name], (told, name))

    def each_way(self, work, store):
        """Of each that changes a store, the first two with pending snapshots in it: its name, and what does it in an environment."""
        return [('take_used', lambda env=None: self.take_used(store, 'three', env)),
                ('settle', lambda env=None: self.settle(work, env)),
                ('take', lambda env=None: self.yett('snapshot', 'take', work, 'three', env={**self.environment(), **(env or {})})),
                ('delete', lambda env=None: self.yett('snapshot', 'delete', work, 'one', env={**self.environment(), **(env or {})})),
                ('rollback', lambda env=None: self.yett('snapshot', 'rollback', work, 'one', '--delete-later', env={**self.environment(), **(env or {})})),
                ('fork', lambda env=None: self.yett('snapshot', 'fork', work, 'two', env={**self.environment(), **(env or {})}))]

    def killing(self):
        library = self.alice.write('kill_at.so')
        shutil.copy(os.environ['YETT_BUILD_ROOT'] + '/tests/system/kill_at.so', library)
        return {'LD_PRELOAD': library, 'ASAN_OPTIONS': 'verify_asan_link_order=0'}

    def restore_from(self, store):
        """What makes a store as it is now; and where it is given the id of that, has it settled from then on."""
        saved = self.folder('saved', mode=0o700) + '/store'
        subprocess.run(['cp', '-a', store, saved], check=True)

        def restore(settled=None):
            for each in os.listdir(os.path.dirname(store)):  # with what a fork has left
                shutil.rmtree(os.path.dirname(store) + '/' + each)
            subprocess.run(['cp', '-a', saved, store], check=True)
            if settled:
                self.settle(settled)
                shutil.rmtree(saved)
                subprocess.run(['cp', '-a', store, saved], check=True)
        return restore

    def clean(self, store):
        for name in ('fresh', 'settling', 'dropped'):
            self.assertFalse(os.path.exists(store + '/' + name), name)


class OnDisk(Between):
    OPTIONS = ('-m', '0')
    BYTES = 6 << 20

    def setUp(self):
        super().setUp()
        self.disk = Disk(self, self.BYTES, *self.OPTIONS)
        shutil.copytree(self.source, self.disk.top + '/source')
        self.state, self.source = self.disk.top + '/state', self.disk.top + '/source'
        os.mkdir(self.state, 0o700)
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.disk.top], check=True)


class Kill(OnDisk):
    def test_a_kill_at_each_step_leaves_what_there_was_or_what_there_is_to_be(self):
        work, store = self.prepare()
        restore, kill, count = self.restore_from(store), self.killing(), self.alice.write('count', '')
        ways = dict(self.each_way(work, store))
        for what in ('take_used', 'settle', 'fork'):  # the others are in test_store.py
            run = ways[what]
            restore(what == 'fork' and work)
            before = shown(store, self.source), shown_by_names(store, self.source)
            run({**kill, 'YETT_TEST_KILL_COUNT': count})
            after = shown(store, self.source), shown_by_names(store, self.source)
            steps = int(yett.read(count))
            self.assertGreater(steps, 10, what)
            for step in range(1, steps + 1):
                restore()
                self.assertEqual(run({**kill, 'YETT_TEST_KILL_AT': str(step)}).code, -9, (what, step))
                self.assert_old_or_new_but_shut(store, before, after, (what, step))
                self.settle(work)
                self.clean(store)
                if step % 3:
                    self.assert_old_or_new(store, before, after, (what, step))
                    continue
                if set(shown_by_names(store, self.source)) == set(before[1]):
                    run()
                self.assertEqual((shown(store, self.source), shown_by_names(store, self.source)), after, (what, step))

    def assert_old_or_new_but_shut(self, store, before, after, told):
        """A directory may be open to its owner for as long as whiteouts are made in it."""
        def opened(found):
            return {path: (kind, mode | 0o700, content) for path, (kind, mode, content) in found.items()}
        self.assertIn(opened(shown(store, self.source)), (opened(before[0]), opened(after[0])), told)


class PowerCut(OnDisk):
    """What was written long ago is on the disk; of what is going on, what comes to it is up to the kernel."""

    def test_the_store_and_what_was_named_before_are_as_they_were_or_are_to_be(self):
        work, store = self.prepare()
        kill, count = self.killing(), self.alice.write('count', '')
        self.disk.umount()
        for what, run in self.each_way(work, store):
            self.disk.begin()
            if what == 'take':
                self.disk.keep(lambda: self.settle(work))
            before = shown(store, self.source), shown_by_names(store, self.source)
            run({**kill, 'YETT_TEST_KILL_COUNT': count})
            after = shown(store, self.source), shown_by_names(store, self.source)
            self.disk.umount()
            for step in list(range(1, int(yett.read(count)) + 1, self.stride(what))) + [1 << 20]:
                self.disk.begin()
                run({**kill, 'YETT_TEST_KILL_AT': str(step)})
                if step % 2:
                    subprocess.run(['sync', '-f', self.disk.top], check=True)  # so that it may come to the disk half-way
                self.disk.cut()
                self.settle(work)
                now, named = shown(store, self.source), shown_by_names(store, self.source)
                self.assertIn(now, (before[0], after[0]), (what, step))
                self.assertLessEqual(set(before[1]) & set(after[1]), set(named), (what, step))
                for name in set(named) & set(before[1]):
                    self.assertEqual(named[name], before[1][name], (what, step, name))
                self.disk.umount()
        self.disk.begin()

    @staticmethod
    def stride(what):
        return 1 if what == 'delete' else 3


class Full(OnDisk):
    def test_with_any_room_it_is_done_or_refused_and_changes_nothing(self):
        work, store = self.prepare()
        yett.write(store + '/upper/large', 'x' * 100000)
        os.chown(store + '/upper/large', self.alice.uid, self.alice.gid)
        restore, unsettled = self.restore_from(store), 0
        for what, run in self.each_way(work, store):
            restore(what == 'take' and work)
            before = shown(store, self.source), shown_by_names(store, self.source)
            self.assertIn(run().code, (0, 1))
            after = shown(store, self.source), shown_by_names(store, self.source)
            refused = 0
            for room in (0, 1, 2, 4, 8, 12, 16, 24, 32, 60, 100, 400):
                restore()
                upper = tree(store + '/upper')
                self.fill(room)
                done = run()
                refused += 'No space left' in done.err
                self.assertTrue(done.code == 0 or 'No space left' in done.err or what == 'settle', (what, room, done))
                if 'No space left' in done.err and 'cannot move the snapshots' in done.err:
                    self.assertIn('make room, as by yett discard', done.err)
                    unsettled += 1
                if what == 'take_used':
                    self.assertEqual(tree(store + '/upper'), upper, (what, room))
                self.assertFalse(os.path.exists(store + '/fresh'), (what, room))
                os.unlink(self.disk.top + '/filler')
                self.settle(work)
                self.assert_old_or_new(store, before, after, (what, room))
            self.assertGreater(refused, 0 if what in ('take_used', 'fork') else -1, what)
        self.assertGreater(unsettled, 0)

    def fill(self, room):
        """All but so many KiB."""
        with open(self.disk.top + '/filler', 'wb') as file:
            found = os.statvfs(self.disk.top)
            size = found.f_bfree * found.f_frsize
            while size and not self.takes(file, size):  # the file system keeps some for itself
                size -= found.f_frsize
            os.ftruncate(file.fileno(), max(size - room * 1024, 0))

    @staticmethod
    def takes(file, size):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError:
            return False
        return True


if __name__ == '__main__':
    yett.main()
