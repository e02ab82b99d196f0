# SPDX-License-Identifier: Apache-2.0
"""
/etc, /opt and what else of the host is shown: as it is now, and as anybody may read it, with a few files that are the sandbox's own.

The files that these tests make on the host lie in directories of their own, which go with them. What replaces a file of the machine's
own has its contents.
"""
import ctypes
import os
import shutil
import socket
import stat
import subprocess
import unittest

import alone
import yett

OWN = '/etc/yett-test-%d' % yett.run_of_process().place
OWN_PROGRAMS = '/usr/share/yett-test-%d' % yett.run_of_process().place
NAME = os.path.basename(OWN)

POLICY = '''
profile "masked" {
  extends = "default"
  mask = {"%(own)s/masked", "%(own)s/masked-directory", "%(own)s/link", "%(own)s/linked/below"}
  read_only = {"%(own)s/linked"}
}
profile "listed" {
  extends = "default"
  etc = {"%(name)s/open", "%(name)s/deep/er/file", "%(name)s/secret", "%(name)s/fifo", "%(name)s/socket", "%(name)s/link", "%(name)s/loop",
         "%(name)s/dangling", "passwd", "no-such-thing"}
}
profile "covered" {
  extends = "listed"
  overlay_ro = true
}
grant "etc" {
  users = {"*"}
  user_keys = true
  profiles = {"masked", "listed", "covered"}
}
''' % {'own': OWN, 'name': NAME}

POWERFUL = '''
profile "powerful" {
  extends = "default"
  capabilities = {"dac_override", "dac_read_search", "setuid", "setgid", "fowner", "chown"}
}
profile "root" {
  extends = "powerful"
  identity = root
}
profile "caller" {
  extends = "default"
  identity = caller
}
grant "powerful" {
  users = {"*"}
  user_keys = true
  profiles = {"powerful", "root", "caller"}
  capabilities = {"dac_override", "dac_read_search", "setuid", "setgid", "fowner", "chown"}
  identity_root = true
  identity_caller = true
}
'''

# Reads a file: as it is, then as root.
READ = '''
import os, sys
def read(path):
    try:
        print(open(path).read(), end=' ')
    except OSError as e:
        print(e.errno, end=' ')
for path in sys.argv[1:]:
    read(path)
for change in os.setgid, os.setuid:
    try:
        change(0)
    except OSError:
        pass
for path in sys.argv[1:]:
    read(path)
'''

# Says what a file holds, once for each line that comes.
WATCH = 'while read -r path; do cat "$path" 2>/dev/null || echo "no $path"; done'


def replace(path, text=None, mode=0o644):
    """As package managers and editors do it: another file, with contents of its own or as before, gets the name."""
    if text is None:
        subprocess.run(['cp', '-a', path, path + '.yett-new'], check=True)
    else:
        yett.write(path + '.yett-new', text, mode)
    os.rename(path + '.yett-new', path)


class Case(yett.Case):
    def setUp(self):
        self.make_directory(OWN)

    def make_directory(self, path):
        os.mkdir(path, 0o755)
        self.addCleanup(shutil.rmtree, path)

    def make(self, name, text=None, mode=0o644, uid=0, gid=0):
        path = '%s/%s' % (OWN, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        yett.write(path, name if text is None else text, mode)
        os.chown(path, uid, gid)
        return path

    def ask(self, process, path):
        process.stdin.write(path.encode() + b'\n')
        process.stdin.flush()
        return self.line(process)


class Hosts(Case):
    """What is there, and who may read it."""

    service_options = {'before': POLICY + POWERFUL, 'spares': 2}

    def test_all_of_it_is_there_and_read_only(self):
        before = set(os.listdir('/etc'))
        shown = set(self.output('ls', '-A', '/etc').splitlines())
        self.assertEqual(shown & before, before & set(os.listdir('/etc')))
        path = self.make('file')
        done = self.shell('cd %s; touch new; echo x >file; rm -f file; chmod 600 file; mv file other; mkdir /etc/new; cat file' % OWN)
        self.assertEqual(done, 'file')
        self.assertEqual(os.listdir(OWN), ['file'])
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)

    def test_what_not_everybody_may_read_is_closed(self):
        """Whose it is, and in which group one is, counts outside."""
        groups = [self.alice.gid, 4242]
        secrets = [self.make('of-alice', mode=0o600, uid=self.alice.uid), self.make('of-her-group', mode=0o640, gid=self.alice.gid),
                   self.make('of-another-group', mode=0o640, gid=4242), self.make('closed/inside', gid=4242)]
        os.chmod(OWN + '/closed', 0o750)
        os.chown(OWN + '/closed', 0, 4242)
        outside = self.service.run(self.alice, 'cat', *secrets, groups=groups)
        self.assertEqual(outside.out, 'of-aliceof-her-groupof-another-groupclosed/inside')
        open_to_all = self.make('open', uid=self.alice.uid)
        for profile in ('default', 'caller') if self.service_class is yett.Service else ():
            with self.subTest(profile=profile):
                self.assertEqual(self.sandbox('cat', *secrets, open_to_all, options=['-p', profile], groups=groups).out, 'open')

    def test_nobody_inside_is_the_owner_of_what_root_keeps(self):
        """Root's files of /usr show as root's, which a command may be that a grant lets be so: no secret is there."""
        self.make_directory(OWN_PROGRAMS)
        program, secret = OWN_PROGRAMS + '/secret', self.make('secret', 'kept', 0o600)
        yett.write(program, 'read', 0o600)
        self.assertEqual(self.python(READ, program, secret, options=['-p', 'powerful']).split(), ['read', '13', 'read', '13'])
        self.assertEqual(self.python(READ, program, secret, options=['-p', 'root']).split()[1::2], ['13', '13'])

    def test_owners_show_as_nobody(self):
        self.make('of-alice', uid=self.alice.uid, gid=self.alice.gid)
        self.assertEqual(self.output('stat', '-c', '%U %G', '/etc', OWN, OWN + '/of-alice').splitlines(), ['nobody nogroup'] * 3)

    def test_a_link_that_leads_nowhere_or_to_itself_is_one(self):
        for name, link in (('dangling', 'none'), ('loop', 'loop'), ('one', 'two'), ('two', 'one')):
            os.symlink(link, '%s/%s' % (OWN, name))
        self.assertEqual(self.shell('cd %s; readlink dangling loop one two' % OWN).split(), ['none', 'loop', 'two', 'one'])

    def test_a_pipe_that_is_open_to_all_can_be_read_and_not_written(self):
        fifo = OWN + '/fifo'
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        end = os.open(fifo, os.O_RDWR)
        self.addCleanup(os.close, end)
        os.write(end, b'from outside\n')
        self.assertEqual(self.shell('head -n1 ' + fifo), 'from outside\n')
        done = self.sandbox('sh', '-c', 'echo from inside >' + fifo)
        self.assertEqual(done.code == 0, yett.landlock_abi() < 1, done)

    # --- as it is now ---

    def test_what_is_replaced_made_and_removed_outside_is_so_inside(self):
        path, top = self.make('file', 'old\n'), OWN + '.conf'
        process = self.start('sh', '-c', WATCH)
        self.assertEqual(self.ask(process, path), 'old')
        replace(path, 'new\n')
        self.assertEqual(self.ask(process, path), 'new')
        self.assertEqual(self.ask(process, top), 'no ' + top)
        yett.write(top, 'made\n')
        try:
            self.assertEqual(self.ask(process, top), 'made')
            replace(top, 'replaced\n')
            self.assertEqual(self.ask(process, top), 'replaced')
        finally:
            os.unlink(top)
        self.assertEqual(self.ask(process, top), 'no ' + top)
        link = self.make('alternative') + '-link'
        os.symlink('alternative', link)
        self.make('alternative', 'by a link\n')
        self.assertEqual(self.ask(process, link), 'by a link')

    def test_an_upgrade_of_a_library_is_seen(self):
        """The loader's list and what it names are of one age."""
        self.make_directory(OWN_PROGRAMS)
        listed, library = self.make('ld.so.cache', 'one\n'), OWN_PROGRAMS + '/library'
        yett.write(library, 'one\n')
        process = self.start('sh', '-c', WATCH)
        self.assertEqual([self.ask(process, path) for path in (listed, library)], ['one', 'one'])
        replace(library, 'two\n')
        replace(listed, 'two\n')
        self.assertEqual([self.ask(process, path) for path in (listed, library)], ['two', 'two'])

    def test_what_a_profile_hides_is_hidden(self):
        self.make('masked')
        self.make('masked-directory/file')
        self.make('target')
        self.make('elsewhere/below')
        os.symlink('target', OWN + '/link')
        os.symlink('elsewhere', OWN + '/linked')
        shown = self.shell('cd %s; cat masked link target linked/below elsewhere/below; ls -A masked-directory; echo end' % OWN,
                           options=['-p', 'masked'])
        self.assertEqual(shown, 'end\n')

    def test_a_hidden_file_that_is_replaced_is_shown_where_it_was_hidden_already(self):
        """As SECURITY.md says: rename(2) takes off what is mounted on the name. A directory stays hidden."""
        path, inside = self.make('masked', 'old\n'), self.make('masked-directory/file', 'old\n')
        process = self.start('sh', '-c', WATCH + '; :', options=['-p', 'masked'])
        self.assertEqual(self.ask(process, inside), 'no ' + inside)
        replace(path, 'new\n')
        replace(inside, 'new\n')
        self.assertEqual(self.ask(process, path), 'new')
        self.assertEqual(self.ask(process, inside), 'no ' + inside)
        self.assertEqual(self.output('cat', path, options=['-p', 'masked']), '')

    # --- what is the sandbox's own ---

    def test_own_files_are_in_place_of_the_hosts(self):
        self.assertIn('127.0.1.1\tsandbox\n', self.output('cat', '/etc/hosts'))
        self.assertEqual(self.output('cat', '/etc/hostname') if os.path.isfile('/etc/hostname') else 'sandbox\n', 'sandbox\n')
        self.assertIn('hosts: files dns', self.output('cat', '/etc/nsswitch.conf'))

    def test_the_sandboxs_own_name_resolves(self):
        for options, names in (([], ('sandbox',)), (['--hostname', 'mine.example'], ('mine.example', 'mine'))):
            with self.subTest(options=options):
                self.assertEqual(self.output('hostname', '-f', options=options), names[0] + '\n')
                for name in names:
                    self.assertEqual(self.output('getent', 'hosts', name, options=options).split()[0], '127.0.1.1')
                self.assertEqual(self.python('import socket; print(socket.getaddrinfo(socket.gethostname(), 80)[0][4][0])', options=options),
                                 '127.0.1.1\n')

    def test_accounts_of_the_system_resolve_and_other_people_do_not(self):
        script = 'getent passwd daemon root nobody "$USER" | cut -d: -f1,3; getent group daemon tty | cut -d: -f1,3,4; getent passwd %s' % self.bob.name
        expected = ['daemon:1', 'root:0', 'nobody:65534', '%s:%d' % (self.alice.name, self.alice.uid), 'daemon:1:', 'tty:5:']
        self.assertEqual(subprocess.run(['getent', 'passwd', self.bob.name], stdout=subprocess.DEVNULL).returncode, 0)
        for _ in range(5):  # other tests add accounts of their own meanwhile, which replaces the file
            shown = self.sandbox('sh', '-c', script).out.split()
            if shown == expected:
                break
        self.assertEqual(shown, expected)

    def test_what_is_replaced_is_the_hosts_from_then_on_and_in_none_that_begins_later(self):
        def is_ready(pid):
            return yett.is_building(pid) and ' /etc/hosts ' in mounts_of(pid)

        if os.path.ismount('/etc/hosts') or os.path.islink('/etc/hosts'):
            self.skipTest('/etc/hosts of this machine cannot be replaced')
        hosts = yett.read('/etc/hosts')
        process = self.start('sh', '-c', 'echo up; read x; cat /etc/hosts')
        self.assertEqual(self.line(process), 'up')
        if self.service_class is yett.Service:
            for _ in range(8):  # the first ones take what was prepared before anybody had asked
                self.output('true')
            yett.wait_until(lambda: [pid for pid in self.service.leftover_processes() if is_ready(pid)], 'a sandbox that is ready')
        ready = [pid for pid in self.service.leftover_processes() if is_ready(pid)]
        replace('/etc/hosts')
        self.assertEqual([pid for pid in ready if is_ready(pid)], [])
        self.assertEqual(process.communicate(b'\n')[0].decode(), hosts)
        self.assertIn('127.0.1.1\tsandbox\n', self.output('cat', '/etc/hosts'))

    # --- what is listed ---

    def listed(self, profile):
        self.make('open/file')
        self.make('open/below/secret', mode=0o600)
        self.make('deep/er/file')
        self.make('deep/er/not-listed')
        self.make('secret', mode=0o600)
        os.mkfifo(OWN + '/fifo')
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(OWN + '/socket')
        for name, link in (('link', 'open'), ('loop', 'loop'), ('dangling', 'none')):
            os.symlink(link, '%s/%s' % (OWN, name))
        rows = self.output('find', '/etc', '-mindepth', '1', '-printf', '%P %y\n', options=['-p', profile]).splitlines()
        own = ['passwd l', 'group l', 'hosts l', 'hostname l', 'nsswitch.conf l', 'resolv.conf l', 'mtab l']
        self.assertEqual(sorted(rows), sorted(own + [NAME + name for name in (
            ' d', '/open d', '/open/file f', '/open/below d', '/open/below/secret f', '/deep d', '/deep/er d', '/deep/er/file f',
            '/link l', '/loop l', '/dangling l')]))
        done = self.sandbox('sh', '-c', 'cd %s && cat link/file deep/er/file open/below/secret; for i in . open deep/er /etc; do touch $i/new; '
                            'echo x >$i/file; rm -f $i/file; done; mount -o remount,rw /etc; umount /etc; cat open/file' % OWN, options=['-p', profile])
        self.assertEqual(done.out, 'open/filedeep/er/fileopen/file', done)
        self.assertEqual([line.split(':')[0] for line in self.output('cat', '/etc/passwd', options=['-p', profile]).splitlines()],
                         ['root', self.alice.name, 'nobody'])

    def test_a_list_is_all_that_there_is(self):
        self.listed('listed')

    def test_a_list_behind_overlays_is_all_that_there_is(self):
        self.listed('covered')

    def test_a_directory_of_a_list_is_as_it_is_now(self):
        path = self.make('open/file', 'old\n')
        process = self.start('sh', '-c', WATCH, options=['-p', 'listed'])
        self.assertEqual(self.ask(process, path), 'old')
        replace(path, 'new\n')
        self.assertEqual(self.ask(process, path), 'new')

    def test_a_list_is_of_now_where_a_sandbox_was_ready_before(self):
        for text in ('first', 'second', 'third'):
            self.make('deep/er/file', text)
            self.assertEqual(self.output('cat', OWN + '/deep/er/file', options=['-p', 'listed']), text)
            if self.service_class is yett.Service:
                yett.wait_until(lambda: any(yett.is_building(pid) and ' /dev/pts ' in mounts_of(pid) for pid in self.service.leftover_processes())
                                or self.output('true', options=['-p', 'listed']), 'a sandbox that is ready')

    def test_strict_has_no_secret_and_no_more_than_its_list(self):
        self.make('file')
        self.assertEqual(self.output('sh', '-c', 'ls %s /etc/shadow /etc/ssh /opt /var/lib 2>/dev/null; echo end' % OWN, options=['-p', 'strict']), 'end\n')
        self.assertEqual(self.output('head', '-n1', '/etc/profile', options=['-p', 'strict']), yett.read('/etc/profile').splitlines(True)[0])

    # --- elsewhere ---

    def test_what_programs_keep_elsewhere_is_there(self):
        done = self.sandbox('sh', '-c', 'dpkg-query -W -f "\\${db:Status-Status}\\n" dpkg; touch /var/lib/dpkg/x /opt/x; ls -A /opt')
        self.assertEqual(done.out.split(), ['installed', *sorted(os.listdir('/opt'))] if os.path.isdir('/opt') else ['installed'], done)

    def test_opt_can_be_shared_all_the_same(self):
        self.make('file')
        self.assertEqual(self.output('ls', '-A', '/opt', options=['--ro', OWN + ':/opt']), 'file\n')


def mounts_of(pid):
    try:
        return yett.read('/proc/%d/mounts' % pid)
    except OSError:
        return ''


class Rootless(Hosts):
    """Nothing can be id-mapped without root: who asks has of /etc what is the asker's outside."""
    service_class = yett.Rootless
    service_options = {'before': POLICY}
    test_nobody_inside_is_the_owner_of_what_root_keeps = None

    def test_what_the_caller_may_read_is_open(self):
        mine, others = self.make('of-alice', mode=0o600, uid=self.alice.uid), self.make('of-root', mode=0o600)
        self.assertEqual(self.sandbox('cat', mine, others).out, 'of-alice')

    def test_owners_show_as_nobody(self):
        self.assertEqual(self.output('stat', '-c', '%U %G', '/etc', OWN).splitlines(), ['nobody nogroup'] * 2)


class Automounted(yett.Case):
    """What is mounted when somebody looks, by a program that does not answer."""

    WATCHED = '/tmp/yett-test-auto-%d' % yett.run_of_process().place

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'before': 'profile "auto" {\n  extends = "default"\n  system += {"%s"}\n}\n'
                                         'grant "auto" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"auto"}\n}\n' % cls.WATCHED}
        os.mkdir(cls.WATCHED)
        cls.addClassCleanup(os.rmdir, cls.WATCHED)
        cls.asked, writer = os.pipe()
        cls.addClassCleanup(os.close, cls.asked)
        libc = ctypes.CDLL(None, use_errno=True)
        # Nobody else is to wait for it: it is in a mount namespace of this program's, and what this starts, the service too.
        if (not alone.is_made() and libc.unshare(0x20000) < 0) or libc.mount(None, b'/', None, 0x44000, None) < 0:  # CLONE_NEWNS; MS_REC | MS_PRIVATE
            raise OSError(ctypes.get_errno(), 'a mount namespace')
        options = 'fd=%d,pgrp=%d,minproto=5,maxproto=5,direct' % (writer, 1)
        if libc.mount(b'yett-test', cls.WATCHED.encode(), b'autofs', 0, options.encode()) < 0:
            raise unittest.SkipTest('this kernel mounts no autofs: ' + os.strerror(ctypes.get_errno()))
        cls.addClassCleanup(subprocess.run, ['umount', '-l', cls.WATCHED], check=True)
        os.close(writer)
        os.set_blocking(cls.asked, False)
        super().setUpClass()

    def test_nobody_waits_for_it(self):
        self.assertEqual(self.output('echo', 'there', options=['-p', 'auto']), 'there\n')
        self.assertRaises(BlockingIOError, os.read, self.asked, 1000)
        with subprocess.Popen(['ls', self.WATCHED], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as who_looks:
            yett.wait_until(lambda: len(self.read_asked()) > 0, 'a question for the program that mounts')
            who_looks.kill()

    def read_asked(self):
        try:
            return os.read(self.asked, 1000)
        except BlockingIOError:
            return b''


if __name__ == '__main__':
    yett.main()
