# SPDX-License-Identifier: Apache-2.0
"""Copy-on-write sandboxes: what is changed inside, where it is kept, and that the source stays as it is."""
import os
import socket
import stat
import subprocess

import yett
from disk import Disk
from workspace import Workspace, memory_takes_attributes, tree


# A FUSE file system of an empty directory, and no more than it takes to be looked at: fuse(4), linux/fuse.h. Arguments: place uid gid
FUSE = r'''
import ctypes, os, struct, sys
place, uid, gid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fd = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40755,user_id=%d,group_id=%d,allow_other" % (fd, uid, gid)
if ctypes.CDLL(None, use_errno=True).mount(b"yett", place.encode(), b"fuse", 6, options.encode()) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("up", flush=True)
attributes = struct.pack("=6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, uid, gid, 0, 4096, 0)
answers = {26: lambda: struct.pack("=4I2H3I", 7, 31, 65536, 0, 0, 0, 65536, 1, 0).ljust(64, b"\0"), 3: lambda: struct.pack("=QII", 1, 0, 0) + attributes,
           17: lambda: bytes(80), 27: lambda: bytes(16), 28: bytes, 29: bytes, 38: bytes}
while True:
    try:
        request = os.read(fd, 1 << 20)
    except OSError:
        sys.exit()  # it is unmounted
    opcode, unique = struct.unpack_from("=IQ", request, 4)
    if opcode in (2, 42):  # what was forgotten
        continue
    body = answers[opcode]() if opcode in answers else b""
    os.write(fd, struct.pack("=IiQ", 16 + len(body), 0 if opcode in answers else -38, unique) + body)
'''


class Changes(Workspace):
    def test_all_changes_are_seen_inside_and_none_outside(self):
        before = tree(self.source)
        out = self.assert_cow('set -e; echo new >file; rm gone; mv moved elsewhere; rm -r removed; mv renamed again; mkdir made;'
                              'echo text >made/file; ln -s file link; ln file hard; chmod 600 dir/below/file; echo more >>dir/below/file;'
                              'truncate -s 1 again/file; touch -d @7 dir; mkdir removed; cat file dir/below/file; ls; ls -A removed')
        self.assertEqual(out.split(), ['new', 'deep', 'more', 'again', 'dir', 'elsewhere', 'file', 'hard', 'link', 'made', 'removed'])
        self.assertEqual(tree(self.source), before)
        upper = self.store() + '/upper'
        self.assertEqual(yett.read(upper + '/file'), 'new\n')
        for path, found in tree(upper).items():
            self.assertEqual(found[1:3], (self.alice.uid, self.alice.gid), path)
        self.assertTrue(stat.S_ISCHR(os.lstat(upper + '/gone').st_mode))

    def test_a_program_of_the_library_keeps_or_discards_what_a_command_changed(self):
        before = tree(self.source)

        def example(script):
            done = self.service.run(self.alice, self.service.run_.path('workspace/examples/try_changes'), self.source, 'sh', '-c', script, env=self.environment())
            self.assertEqual(done.code, 0, done)
            return done.out.split()
        self.assertEqual(example('echo new >file; exit 1'), ['discarded'])
        self.assertEqual(self.works(), [])
        store, snapshot = example('echo new >file')
        self.assertEqual(self.works()[0]['id'], store)
        self.assertEqual(yett.read(f'{self.store()}/layers/1/file'), 'new\n')
        self.assertEqual(self.yett('snapshot', 'rollback', store, snapshot, env=self.environment()).code, 0)
        self.assertEqual(tree(self.source), before)

    def test_git_and_a_build_work_and_leave_the_source_alone(self):
        script = 'set -e; git init -q .; git config user.name a; git config user.email a@b; git add -A; git commit -qm first; git status --short'
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script, cwd=self.source, env={'HOME': self.alice.home}).code, 0)
        self.alice.write('source/main.c', 'int main(void) { return 7; }\n')
        before = tree(self.source)
        self.assertEqual(self.assert_cow('git status --short').split(), ['??', 'main.c'])
        out = self.assert_cow('set -e; cc -o dir/program main.c; dir/program || echo $?; git add main.c; git commit -qm more;'
                              'git mv file renamed-file; git status --short; git log --oneline | wc -l; git fsck')
        self.assertEqual(out.split(), ['7', 'R', 'file', '->', 'renamed-file', '??', 'dir/program', '2'])
        self.assertEqual(tree(self.source), before)

    def test_a_directory_of_the_source_is_renamed_by_copying(self):
        self.assertEqual(self.python_in('import os\ntry: os.rename("dir", "other")\nexcept OSError as e: print(e.errno)\nos.mkdir("x"); os.rename("x", "y")'), '18\n')

    def test_each_sandbox_has_its_own_changes(self):
        self.assert_cow('echo one >file')
        self.assertEqual(self.assert_cow('cat file; echo two >file'), 'old\n')
        self.assertEqual(len(self.works()), 2)
        self.assertEqual({work['source'] for work in self.works()}, {self.source})

    def test_two_in_one_sandbox_with_other_shares_around_and_below(self):
        other = self.folder('other')
        self.alice.write('other/file', 'other\n')
        self.alice.mkdir('source/place')
        before = tree(self.source), tree(other)
        out = self.assert_cow('set -e; cat /tmp/here/file; echo x >/tmp/here/file; cat place/file; ! touch place/no; cat /tmp/here/file; touch new',
                              '--cow', other + ':/tmp/here', '--ro', other + ':' + self.source + '/place')
        self.assertEqual(out.split(), ['other', 'other', 'x'])
        self.assertEqual((tree(self.source), tree(other)), before)
        self.assertEqual(sorted(work['target'] for work in self.works()), sorted(['/tmp/here', self.source]))

    def test_no_set_id_file_and_no_device_of_it_has_effect(self):
        mounted, = [line.split() for line in self.assert_cow('cat /proc/self/mounts').splitlines() if line.split()[1] == self.source]
        self.assertLessEqual({'nosuid', 'nodev'}, set(mounted[3].split(',')), mounted)

    def test_the_top_has_the_mode_and_the_group_of_the_source(self):
        os.chmod(self.source, 0o751)
        out = self.assert_cow('stat -c "%a %u %g" .')
        self.assertEqual(out.split(), ['751', str(self.alice.uid), str(self.alice.gid)])

    def test_what_is_another_users_is_nobodys_and_stays_so(self):
        self.bob.write(self.source + '/secret', 'secret', mode=0o600)
        self.bob.write(self.source + '/open', 'open', mode=0o666)
        yett.write(self.source + '/roots', 'roots', 0o644)
        before = tree(self.source)
        done = self.cow('cat open roots; stat -c %u open roots; cat secret; echo x >open; echo x >roots; mv open other; chmod 777 roots; cat open roots')
        self.assertEqual(done.out, 'openroots65534\n65534\nopenroots')
        for text in ('secret: ', 'cannot create open', 'cannot create roots', "cannot move 'open'", "permissions of 'roots'"):
            self.assertIn(text, done.err)
        self.assertEqual(tree(self.source), before)

    def test_files_that_nobody_may_write_or_read_are_copied_up(self):
        for name, mode in (('locked', 0o444), ('shut', 0)):
            self.alice.write('source/' + name, name, mode=mode)
        out = self.assert_cow('set -e; mv locked l; mv shut s; cat l; ! cat s; chmod 400 s; cat s; mkdir none; chmod 0 none; mv none still; ls')
        self.assertIn('lockedshut', out)

    def test_in_memory_nothing_is_left(self):
        before = tree(self.source)
        if not memory_takes_attributes():  # before Linux 6.6
            done = self.sandbox('true', options=['--cow', self.source + ':memory=8M'], env=self.environment())
            self.assertEqual(done.code, 125, done)
            self.assertIn('changes cannot be kept in memory before Linux 6.6', done.err)
            return
        done = self.sandbox('sh', '-c', 'set -e; echo new >file; rm -r removed; mkdir removed; ls -A removed; cat file; stat -c %a .; df -k --output=size .',
                            options=['--cow', self.source + ':memory=8M', '-C', self.source], env=self.environment())
        self.assertEqual((done.code, done.out.split()), (0, ['new', '755', '1K-blocks', '8192']), done)
        self.assertEqual(tree(self.source), before)
        self.assertEqual(os.listdir(self.state), [])
        done = self.sandbox('sh', '-c', 'head -c 9M /dev/zero >big', options=['--cow', self.source + ':memory=8M', '-C', self.source],
                            env=self.environment())
        self.assertIn('No space left', done.err)

    def test_sockets_and_pipes_of_the_source_lead_nowhere(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.source + '/socket')
            listener.listen()
            os.chmod(self.source + '/socket', 0o777)
            os.chown(self.source + '/socket', self.alice.uid, self.alice.gid)
            os.mkfifo(self.source + '/pipe')
            os.chown(self.source + '/pipe', self.alice.uid, self.alice.gid)
            reader = os.open(self.source + '/pipe', os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, reader)
            out = self.python_in("""
import errno, os, socket
s = socket.socket(socket.AF_UNIX)
try: s.connect("socket"); print("connected")
except OSError as e: print(errno.errorcode[e.errno])
try: os.open("pipe", os.O_WRONLY | os.O_NONBLOCK); print("opened")
except OSError as e: print(errno.errorcode[e.errno])
""")
            self.assertEqual(out.split(), ['ECONNREFUSED', 'ENXIO'])

    def python_in(self, script):
        done = self.sandbox('/usr/bin/python3', '-c', script, options=['--cow', self.source, '-C', self.source], env=self.environment())
        self.assertEqual(done.code, 0, done)
        return done.out

    def test_a_store_counts_as_the_callers(self):
        """As a writable share does: by the owner of what lies there, which is what quotas go by."""
        self.assert_cow('head -c 100000 /dev/zero >big')
        found = os.stat(self.store() + '/upper/big')
        self.assertEqual((found.st_uid, found.st_size), (self.alice.uid, 100000))


class ProjectQuota(Workspace):
    """A bound for all of a user's stores, by the directory that they are in: what an administrator does for it is in docs/workspaces.md."""
    PROJECT = 4711

    def setUp(self):
        super().setUp()
        features, how = Disk.PROJECT_QUOTA
        self.disk = Disk(self, 64 << 20, *features, how=how)
        self.state = self.disk.top + '/state'
        os.makedirs(self.state + '/yett/work', 0o700)
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.disk.top], check=True)

    def write(self, mebibytes):
        return self.cow('head -c %dM /dev/zero >big' % mebibytes)

    def test_no_store_has_more_than_the_project_may(self):
        self.assertEqual(self.write(8).code, 0)
        subprocess.run(['chattr', '-R', '-p', str(self.PROJECT), self.state + '/yett/work'], check=True)
        subprocess.run(['chattr', '+P', self.state + '/yett/work'], check=True)
        self.disk.limit(self.PROJECT, 12 << 10)
        done = self.write(8)  # together with the first store's
        self.assertEqual(done.code, 1, done)
        self.assertIn('Disk quota exceeded', done.err)
        self.assertEqual(os.stat(self.source).st_uid, self.alice.uid)
        with open(self.disk.top + '/elsewhere', 'wb') as file:  # what is not in the project is not bounded by it
            os.fchown(file.fileno(), self.alice.uid, self.alice.gid)
            file.write(bytes(8 << 20))

    def test_no_command_takes_a_file_out_of_the_project(self):
        """Outside whoever owns a file can: user namespaces but the first one may not. ioctl_iflags(2), FS_IOC_FSSETXATTR"""
        subprocess.run(['chattr', '-p', str(self.PROJECT), '+P', self.state + '/yett/work'], check=True)
        script = """
import fcntl, struct, sys
with open(sys.argv[1], "w") as file:
    attributes = bytearray(28)
    fcntl.ioctl(file, 0x801c581f, attributes)
    attributes[12:16] = struct.pack("I", 0)
    try:
        fcntl.ioctl(file, 0x401c5820, attributes)
        print("taken out")
    except OSError as error:
        print(error.strerror)
"""
        done = self.sandbox('/usr/bin/python3', '-c', script, 'new', options=['--cow', self.source, '-C', self.source], env=self.environment())
        self.assertEqual(done.code, 0, done)
        self.assertNotIn('taken out', done.out)
        path = self.store() + '/upper/new'
        told = subprocess.run(['lsattr', '-p', path], check=True, capture_output=True, text=True).stdout
        self.assertEqual(told.split()[0], str(self.PROJECT))
        done = self.service.run(self.alice, '/usr/bin/python3', '-c', script, path)
        self.assertEqual(done.out, 'taken out\n', done)


class Stores(Workspace):
    def test_a_store_tells_of_its_sandbox_and_can_be_discarded(self):
        done = self.cow('rm -r removed; mkdir -p a/b/c; chmod 0 a/b; echo x >"$(printf \'new\\nline\')"; touch -- -rf "*" "é"')
        self.assertEqual(done.code, 0, done)
        work, = self.works()
        self.assertEqual((work['source'], work['target'], work['used'], work['complete']), (self.source, self.source, False, True))
        self.assertIn('yett discard ' + work['id'], done.err)
        info = yett.read(self.store() + '/info')
        for text in ('yett-work 1\n', 'sandbox=' + work['sandbox'], 'boot=' + yett.read('/proc/sys/kernel/random/boot_id').strip(),
                     'inode=%d' % os.stat(self.source).st_ino, 'device=%d' % os.stat(self.source).st_dev):
            self.assertIn(text, info)
        self.assertEqual(stat.S_IMODE(os.stat(self.store()).st_mode), 0o700)
        done = self.yett('discard', work['id'], env=self.environment())
        self.assertEqual((done.code, done.out), (0, 'discarded %s\n' % work['id']))
        self.assertEqual(os.listdir(self.state + '/yett/work'), [])
        done = self.yett('discard', work['id'], env=self.environment())
        self.assertEqual(done.code, 1, done)
        self.assertIn('there is no store ' + work['id'], done.err)

    def test_one_that_a_sandbox_works_on_stays(self):
        process = self.start('sh', '-c', 'echo ready; read line', options=['--cow', self.source], env=self.environment())
        self.assertEqual(self.line(process), 'ready')
        work, = self.works()
        self.assertTrue(work['used'])
        done = self.yett('discard', work['id'], env=self.environment())
        self.assertEqual(done.code, 1, done)
        self.assertIn('a sandbox works on the store', done.err)
        self.end(process)
        yett.wait_until(lambda: not self.works()[0]['used'], 'the end of the lock')
        self.assertEqual(self.yett('discard', work['id'], env=self.environment()).code, 0)

    def test_who_ends_a_sandbox_is_told_which_stores_it_leaves(self):
        box = self.yett('create', '--cow', self.source, env=self.environment())
        self.assertEqual(box.code, 0, box)
        self.assertEqual(self.yett('exec', box.out.strip(), '--', 'touch', self.source + '/new', env=self.environment()).code, 0)
        work, = self.works()
        done = self.yett('destroy', box.out.strip(), env=self.environment())
        self.assertEqual((done.code, done.out), (0, ''), done)
        self.assertIn('the changes in %s are kept: yett discard %s throws them away' % (self.source, work['id']), done.err)
        self.assertEqual(self.yett('discard', work['id'], env=self.environment()).code, 0)

    def test_a_deep_tree_is_discarded_and_no_link_of_it_is_followed(self):
        self.alice.write('source/kept', 'kept')
        self.assert_cow('python3 -c "\nimport os\nfor i in range(3000): os.mkdir(\'d\'); os.chdir(\'d\')\n"; ln -s %s link; ln -s / root' % self.source)
        before = tree(self.source)
        self.assertEqual(self.yett('discard', self.works()[0]['id'], env=self.environment()).code, 0)
        self.assertEqual((os.listdir(self.state + '/yett/work'), tree(self.source)), ([], before))

    def test_the_place_of_stores_is_made_and_is_its_users_alone(self):
        os.rmdir(self.state)
        self.state += '/deeper/still'
        self.make_store()
        for path in ('', '/yett', '/yett/work'):
            self.assertEqual(stat.S_IMODE(os.stat(self.state + path).st_mode), 0o700)
        os.chmod(self.state + '/yett/work', 0o755)
        done = self.cow('true')
        self.assertEqual(done.code, 125, done)
        self.assertIn('others may use it: chmod 700 %s/yett/work' % self.state, done.err)
        os.chmod(self.state + '/yett/work', 0o700)

    def test_a_request_that_comes_to_nothing_leaves_no_store(self):
        done = self.sandbox('true', options=['--cow', self.source, '--memory', '1000T'], env=self.environment())
        self.assertNotEqual(done.code, 0)
        self.assertEqual(self.works(), [])
        done = self.sandbox('true', options=['--cow', self.source, '--dry-run'], env=self.environment())
        self.assertEqual((done.code, self.works()), (0, []), done)
        self.assertIn('copy-on-write', done.out)

    def test_a_store_that_tells_nonsense_is_listed_and_discarded(self):
        self.make_store()
        store = self.store()
        for text in ('', 'yett-work 2\n', 'yett-work 1\nsource=%zz\n', 'yett-work 1\nsource=%00\n', 'yett-work 1\nsandbox=%1b[2J\n', 'yett-work 1\n' + 'x' * 100000):
            with open(store + '/info', 'w') as file:
                file.write(text)
            work, = self.works()
            self.assertEqual((work['source'], work['complete']), ('', False), text[:30])
        os.unlink(store + '/info')
        os.symlink('/etc/passwd', store + '/info')
        self.assertFalse(self.works()[0]['complete'])
        self.assertEqual(self.yett('discard', self.works()[0]['id'], env=self.environment()).code, 0)


class Refused(Workspace):
    def refused(self, *options, text, code=125, env=None, cwd=None):
        done = self.sandbox('true', options=options, env=env or self.environment(), **({'cwd': cwd} if cwd else {}))
        self.assertEqual(done.code, code, done)
        self.assertIn(text, done.err)
        if not env:
            self.assertEqual(self.works(), [])
        return done

    def test_a_source_that_is_not_there_or_not_the_callers(self):
        self.refused('--cow', self.source + '/none', text='cannot share %s/none: No such file' % self.source)
        self.bob.mkdir(self.bob.home + '/bobs')
        self.refused('--cow', self.bob.home + '/bobs', text='belongs to another user (uid %d)' % self.bob.uid)
        self.refused('--cow', self.source + '/file', text='it is no directory')

    def test_words_that_are_none(self):
        self.refused('--cow', '', text='what it was given is empty')
        for word in (':memory=1M', self.source + ':memory=', self.source + ':memory=0', self.source + ':memory=x'):
            self.refused('--cow', word, text='--cow %s: expected PATH' % word)

    def test_a_store_in_or_around_the_source(self):
        for source in (self.alice.home, self.state):
            self.refused('--cow', source, text='is located in, the directory of the changes, %s/yett/work' % self.state)
        self.assertEqual(os.listdir(self.state), [])
        os.makedirs(self.state + '/yett/work/inside', exist_ok=True)
        for path in (self.state, self.state + '/yett', self.state + '/yett/work', self.state + '/yett/work/inside'):
            os.chown(path, self.alice.uid, self.alice.gid)
            os.chmod(path, 0o700)
        inside = self.state + '/yett/work/inside'
        for source in (self.state, inside, inside + ':memory=8M'):
            self.refused('--cow', source, text='is located in, the directory of the changes')
        if not memory_takes_attributes():
            return
        done = self.sandbox('sh', '-c', 'touch source/x && rm -r source && ls -A . state/yett',
                            options=['--cow', self.alice.home + ':/tmp/home:memory=8M', '-C', '/tmp/home'], env=self.environment())
        self.assertEqual((done.code, done.out.endswith('state/yett:\n'), 'source' in done.out, os.listdir(inside)), (0, True, False, []), done)

    def test_shares_that_hold_stores_or_lie_in_one(self):
        self.assert_cow('echo new >file')
        store = self.store()
        for path in (self.alice.home, self.state, self.state + '/yett', self.state + '/yett/work', store, store + '/upper', store + '/upper/file'):
            for how in ('--rw', '--ro'):
                if how == '--ro' and path in (self.alice.home, self.state):
                    done = self.sandbox('ls', '-A', self.state + '/yett', options=[how, path], env=self.environment())
                    self.assertEqual((done.code, done.out), (0, ''), path)
                    continue
                done = self.sandbox('true', options=[how, path], env=self.environment())
                self.assertEqual(done.code, 125, (path, done))
                self.assertIn('it contains, or is located in, %s/yett/work' % self.state, done.err)
        self.assertEqual(self.sandbox('true', options=['--rw', self.source], env=self.environment()).code, 0)

    def test_mounts_below_the_source(self):
        # of the same file system, since not each kind of mount can be id-mapped
        subprocess.run(['mount', '--bind', self.source + '/dir', self.source + '/dir'], check=True)
        self.addCleanup(subprocess.run, ['umount', self.source + '/dir'], check=True)
        self.refused('--cow', self.source, text='there are mounts below it')

    def test_file_systems_that_can_be_no_layer(self):
        for kind in ('overlay',):
            place = self.folder('place')
            subprocess.run(['mount', '-t', kind, kind, '-o', 'lowerdir=%s:%s' % (self.source + '/dir', self.source + '/renamed'), place], check=True)
            self.addCleanup(subprocess.run, ['umount', place], check=True)
            os.chown(self.source + '/dir', self.alice.uid, self.alice.gid)
            self.refused('--cow', place, text='its file system (overlay) cannot be behind an overlay')
        place = self.folder('fused')
        server = subprocess.Popen(['python3', '-c', FUSE, place, str(self.alice.uid), str(self.alice.gid)], stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        if self.line(server) != 'up':
            self.skipTest('FUSE is needed, and a file system of it cannot be mounted here')
        self.addCleanup(subprocess.run, ['umount', '-l', place], check=True)
        self.refused('--cow', place, text='its file system (FUSE) cannot be behind an overlay')


class Service(Workspace):
    """What takes private ids, or a policy that is the administrator's."""

    def test_a_copied_up_file_keeps_times_and_mode_and_groups(self):
        group = 4345
        self.alice.write('source/grouped', 'x', mode=0o640, gid=group)
        os.utime(self.source + '/grouped', (7, 7))
        out = self.assert_cow('chmod 660 grouped; stat -c "%a %g %Y" grouped; cat grouped', groups=[group])
        self.assertEqual(out, '660 %d 7\nx' % group)
        self.assertEqual(os.stat(self.store() + '/upper/grouped').st_gid, group)

    def test_a_grant_that_does_not_let_the_source_be_read(self):
        self.change_policy(before='grant "few" { users = {"%s"} user_keys = true profiles = {"*"} share_ro = {"/usr"} }' % self.alice.name)
        done = self.sandbox('true', options=['--cow', self.source], env=self.environment())
        self.assertEqual(done.code, 125, done)
        self.assertIn('does not let this user share that directory', done.err)
        self.assertIn('share_ro', done.err)
        self.change_policy(before='grant "few" { users = {"%s"} user_keys = true profiles = {"*"} share_ro = {"*"} }' % self.alice.name)
        self.assertEqual(self.cow('echo x >file').code, 0)
        self.assertEqual(self.sandbox('true', options=['--rw', self.source], env=self.environment()).code, 125)

    def test_a_command_that_is_root_inside_or_has_capabilities_writes_as_the_caller(self):
        self.change_policy(before='profile "root" { extends = "default" identity = root }\n'
                                  'profile "capable" { extends = "default" capabilities = {"chown", "fowner", "dac_override"} }\n'
                                  'grant "some" { users = {"%s"} user_keys = true profiles = {"*"} share_ro = {"*"} identity_root = true\n'
                                  'capabilities = {"chown", "fowner", "dac_override"} }' % self.alice.name)
        self.bob.write(self.source + '/bobs', 'secret', mode=0o600)
        yett.write(self.source + '/roots', 'secret', 0o600)
        before = tree(self.source)
        for profile in ('root', 'capable'):
            with self.subTest(profile=profile):
                done = self.cow('echo new >file; rm -r removed; chown 7 moved; cat bobs roots; chown 0 bobs; chmod 777 roots; mv bobs b; cat file', '-p', profile)
                self.assertEqual(done.out, 'new\n', done)
        for work in self.works():
            for path, found in tree(self.store(work) + '/upper').items():
                self.assertIn(found[1], (self.alice.uid, *range(self.service.ids_first, self.service.ids_first + yett.IDS_RANGES * yett.RANGE)), path)
                self.assertNotIn(os.path.basename(path), ('bobs', 'b', 'roots'))
        self.assertEqual(tree(self.source), before)

    def test_a_profile_may_have_the_current_directory_copy_on_write(self):
        self.change_policy(before='profile "kept" { extends = "default" workspace = cow }\n'
                                  'grant "some" { users = {"%s"} user_keys = true profiles = {"*"} share_rw = {"*"} }' % self.alice.name)
        done = self.sandbox('sh', '-c', 'echo new >file; cat file', options=['-p', 'kept'], cwd=self.source, env=self.environment())
        self.assertEqual((done.code, done.out), (0, 'new\n'), done)
        self.assertEqual(yett.read(self.source + '/file'), 'old\n')
        self.assertIn('yett discard ' + self.works()[0]['id'], done.err)
        for how in ('--rw', '--ro'):
            done = self.sandbox('true', options=['-p', 'kept', how, self.source], env=self.environment())
            self.assertEqual(done.code, 125, done)
            self.assertIn("the profile 'kept' requires shares to be copy-on-write, and %s: use --cow PATH" %
                          ('a share is writable' if how == '--rw' else 'no share is'), done.err)
        self.assertEqual(len(self.works()), 1)
        self.assertEqual(self.cow('true', '-p', 'kept').code, 0)


if __name__ == '__main__':
    yett.main()
