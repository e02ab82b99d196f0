# SPDX-License-Identifier: Apache-2.0
"""What the policy says of somebody: yett policy explain, yett profiles, yett policy check; and that what a refusal suggests mends it."""
import concurrent.futures
import contextlib
import grp
import json
import os
import pwd
import re
import socket
import stat
import subprocess
import tempfile

import yett

INSTALLED = '/etc/yett/yett.conf'

GRANTS = '''
profile "tests" {
  extends = "default"
  memory = 1G
  capabilities = {"chown"}
}
grant "alices" {
  users = {"%(alice)s"}
  user_keys = true
  profiles = {"default", "strict"}
  share_ro = {"/usr/share"}
  confined_clients = true
  max_memory = 4G
  max_sandboxes = 3
  user_memory = 6G
}
'''


class Asked(yett.Case):
    """Of each question: what is printed, and the document."""

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'before': GRANTS % {'alice': yett.run_of_process().user(1).name}}
        super().setUpClass()

    def ask(self, *argv, user=None, **more):
        return self.service.run(user or self.alice, self.service.yett, *argv, '--policy', self.service.policy, env={'YETT_HELPER': self.service.helper}, **more)

    def explain(self, *argv, of=(), user=None):
        return self.service.run(user or self.alice, self.service.yett, 'policy', 'explain', '--policy', self.service.policy, *of, '--', *argv,
                                env={'YETT_HELPER': self.service.helper}, cwd='/')

    def document(self, *argv, of=(), user=None):
        return json.loads(self.explain(*argv, of=(*of, '--json'), user=user).out)

    def place(self, text, nth=1):
        return '(%s:%d)' % (self.service.policy, self.service.line(text, nth))


class Explain(Asked):
    def test_what_is_allowed_is_told_with_the_line_that_each_part_rests_on(self):
        done = self.explain('--memory', '3G', 'make')
        self.assertEqual(done.code, 0, done)
        self.assertIn('allowed: uid %d (%s), with a key of the user' % (self.alice.uid, self.alice.name), done.out)
        for words in (("grant 'alices'", self.place('grant "alices"')), ("profile 'default'", self.place('profile "default"')),
                      ('memory 3G as asked; at most 4G by max_memory of grant \'alices\'', self.place('max_memory = 4G')),
                      ("pids 512 pids of profile 'default'", self.place('pids = 512')),
                      ("max_sandboxes 3 max_sandboxes of grant 'alices'", self.place('max_sandboxes = 3')),
                      ("user_memory 6G user_memory of grant 'alices'", self.place('user_memory = 6G'))):
            self.assertIn(' '.join(words), re.sub(' +', ' ', done.out), done)
        told = self.document('--memory', '3G')
        self.assertEqual((told['exit_code'], told['result']['allowed'], told['error']), (0, True, None))
        self.assertEqual(told['result']['grant'], {'name': 'alices', 'file': self.service.policy, 'line': self.service.line('grant "alices"')})
        memory = told['result']['limits'][0]
        self.assertEqual((memory['limit'], memory['value'], memory['asked'], memory['set_by'], memory['ceiling']),
                         ('memory_bytes', 3 << 30, True, None, 4 << 30))
        self.assertEqual(memory['ceiling_by'], {'rule': "max_memory of grant 'alices'", 'file': self.service.policy,
                                                'line': self.service.line('max_memory = 4G')})

    def test_what_a_run_is_refused_is_refused_here_with_the_same_words(self):
        for argv in (['--memory', '5G'], ['-p', 'build'], ['-p', 'none'], ['-p', 'strict', '--tmpfs', '/x'], ['--rw', '/usr/share'], ['--ro', '/opt'],
                     ['--linger'], ['--ro', '/proc:/x'], ['--ro', '/usr/share:/dev'], ['--net', 'open'], ['--allow', 'pypi.org:443'],
                     ['--net', 'none', '--allow', 'pypi.org:443']):
            with self.subTest(argv=argv):
                run = json.loads(self.sandbox('true', options=[*argv, '--json'], cwd='/').out)['error']
                told = self.document(*argv)
                self.assertEqual((told['exit_code'], told['result'], told['error']), (1, {'allowed': False}, run))
                text = self.explain(*argv)
                self.assertEqual(text.code, 1, text)
                self.assertTrue(text.out.startswith('refused: ' + run['message'] + '\n'), text)
                self.assertIn(run['mend'] or '', text.out)

    def test_what_a_run_is_given_is_given_here(self):
        for argv in ([], ['-p', 'strict'], ['--ro', '/usr/share'], ['--ro', '/usr/share/doc:/x', '--tmpfs', '/y'], ['--memory', '4G']):
            with self.subTest(argv=argv):
                self.assertEqual(self.sandbox('true', options=argv, cwd='/').code, 0)
                self.assertEqual(self.explain(*argv).code, 0)

    def test_another_user_and_another_key(self):
        root = yett.Root(self.service.folder)
        self.assertEqual(self.document('-p', 'build', of=['--user', self.bob.name], user=root)['result']['grant']['name'], 'everyone')
        self.assertEqual(self.document('-p', 'build', of=['--user', str(self.bob.uid)], user=root)['result']['user']['name'], self.bob.name)
        told = self.document('-p', 'build', of=['--user', self.alice.name], user=root)
        self.assertEqual(told['error']['rule'], "profiles of grant 'alices'")
        told = self.document(of=['--user', self.alice.name, '--key', 'laptop'], user=root)
        self.assertEqual(told['result']['key'], {'source': 'enrolled', 'name': 'laptop'})
        for nobody in ('no-such-user', '4294967295', '4294967296', '-1', str(1 << 64)):
            done = self.explain(of=['--user=' + nobody], user=root)
            self.assertEqual((done.code, done.out), (2, ''), done)
            self.assertIn('%s is not a user of this host' % nobody, done.err)

    def test_the_number_of_no_account_is_in_no_group(self):
        users = {account.pw_uid for account in pwd.getpwall()}
        group = next(group for group in grp.getgrall() if group.gr_gid not in users)
        path = self.service.folder + '/groups.conf'
        yett.write(path, 'profile "p" {\n}\ngrant "g" { groups = {"%s"} user_keys = true profiles = {"*"} }\n' % group.gr_name)
        root = yett.Root(self.service.folder)
        for question in (['policy', 'explain'], ['profiles']):
            told = json.loads(self.service.run(root, self.service.yett, *question, '--json', '--policy', path, '--user', str(group.gr_gid),
                                               env={'YETT_HELPER': self.service.helper}, cwd='/').out)
            self.assertEqual(told['error']['message'], 'no grant of the policy is for uid %d' % group.gr_gid)
        told = self.document(of=['--user', str(group.gr_gid)], user=root)
        self.assertEqual((told['result']['grant']['name'], told['result']['user']['gid'], told['result']['user']['groups']), ('everyone', None, []))

    def test_a_key_is_known_by_the_name_under_which_it_is_enrolled(self):
        public = self.alice.home + '/.config/yett/id_ed25519.pub'
        yett.write(self.service.keys + '/laptop.pub', yett.read(public))
        self.addCleanup(os.unlink, self.service.keys + '/laptop.pub')
        for of in ([], ['--key', public]):
            self.assertEqual(self.document(of=of)['result']['key'], {'source': 'enrolled', 'name': 'laptop'})

    def test_a_key_that_nobody_enrolled(self):
        self.assertEqual(self.yett('keygen', self.alice.home + '/stray').code, 0)
        told = self.document(of=['--key', self.alice.home + '/stray.pub'])
        self.assertEqual((told['exit_code'], told['error']['code'], told['error']['reason']), (1, 'bad-signature', 'unknown-key'))
        self.assertIn('yett enroll', told['error']['mend'])

    def test_who_cannot_read_the_policy_is_told_so_and_what_to_do(self):
        os.chmod(self.service.policy, 0o600)
        self.addCleanup(os.chmod, self.service.policy, 0o644)
        for argv in (['policy', 'explain'], ['policy', 'check'], ['profiles']):
            done = self.ask(*argv)
            self.assertNotEqual(done.code, 0)
            self.assertIn('cannot be read: Permission denied', done.err)
            self.assertIn('hint: ask as the administrator', done.err)
            self.assertNotIn('the same request can succeed later', done.err)

    def with_a_policy_for_root_alone(self, socket_path, *argv):
        """What alice is told where the installed policy is root's to read."""
        folder = tempfile.mkdtemp(dir=self.service.folder)
        script = ('mount -t tmpfs x $0 && mkdir $0/upper $0/work && mount -t overlay x -o lowerdir=/etc,upperdir=$0/upper,workdir=$0/work /etc && '
                  'mkdir -p %s && echo >%s && chmod 600 %s && exec setpriv --reuid %d --regid %d --clear-groups "$@"' % (
                      (os.path.dirname(INSTALLED), INSTALLED, INSTALLED, self.alice.uid, self.alice.gid)))
        environment = {'YETT_HELPER': self.service.helper, 'YETT_SOCKET': socket_path, 'HOME': self.alice.home, 'PATH': os.environ['PATH']}
        return subprocess.run(['unshare', '-m', 'sh', '-c', script, folder, self.service.yett, 'policy', 'explain', *argv],
                              env=environment, cwd='/', capture_output=True, text=True, check=False, timeout=yett.DEADLINE)

    def test_who_cannot_read_the_policy_is_told_what_the_service_says_to_a_dry_run(self):
        for memory, code, out in (('3G', 0, 'grant alices'), ('5G', 1, 'refused: memory of 5G is more than the 4G allowed\n')):
            done = self.with_a_policy_for_root_alone(self.service.socket, '--', '--memory', memory)
            self.assertEqual(done.returncode, code, done)
            self.assertIn(out, done.stdout)
            self.assertIn('%s cannot be read: Permission denied; this is what the service says to a dry run' % INSTALLED, done.stderr)

    def test_where_neither_the_policy_can_be_read_nor_the_service_be_asked_both_are_told(self):
        done = self.with_a_policy_for_root_alone(self.service.folder + '/no-socket')
        self.assertEqual((done.returncode, done.stdout), (2, ''), done)
        self.assertIn('%s cannot be read: Permission denied' % INSTALLED, done.stderr)
        self.assertIn('nor can the service be asked: ', done.stderr)
        self.assertIn('no-socket', done.stderr)

    def test_a_service_that_is_lost_refuses_nothing(self):
        where = self.service.folder + '/losing'
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, concurrent.futures.ThreadPoolExecutor() as pool:
            listener.bind(where)
            listener.listen()
            listener.settimeout(yett.DEADLINE)
            self.addCleanup(os.unlink, where)
            os.chmod(where, 0o666)
            told = pool.submit(self.with_a_policy_for_root_alone, where)
            with listener.accept()[0] as client, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as service:
                service.connect(self.service.socket)
                client.send(service.recv(65536))  # its hello, and no answer
                client.settimeout(yett.DEADLINE)
                self.assertTrue(client.recv(65536))
            done = told.result()
        self.assertIn('this is what the service says to a dry run', done.stderr)
        self.assertEqual((done.returncode, done.stdout), (2, ''), done)

    def test_a_share_rests_on_the_list_that_it_is_in(self):
        path = self.service.folder + '/shares.conf'
        yett.write(path, 'profile "default" {\n}\ngrant "g" {\n  users = {"*"}\n  user_keys = true\n  profiles = {"*"}\n'
                         '  share_ro = {"/usr/lib"}\n  share_rw = {"/usr/share"}\n}\n')
        told = json.loads(self.service.run(self.alice, self.service.yett, 'policy', 'explain', '--json', '--policy', path, '--', '--ro', '/usr/share:/a',
                                           '--ro', '/usr/lib:/b', '--rw', '/usr/share:/c', env={'YETT_HELPER': self.service.helper}, cwd='/').out)
        self.assertEqual([(share['target'], share['writable'], share['allowed_by']['rule'], share['allowed_by']['line']) for share in told['result']['shares']],
                         [('/a', False, "share_rw of grant 'g'", 8), ('/b', False, "share_ro of grant 'g'", 7), ('/c', True, "share_rw of grant 'g'", 8)])
        told = json.loads(self.service.run(self.alice, self.service.yett, 'profiles', '--json', '--policy', path, env={'YETT_HELPER': self.service.helper}).out)
        self.assertEqual(told['result']['profiles'][0]['shares'], {'read_only': ['/usr/lib', '/usr/share'], 'writable': ['/usr/share'], 'sockets': []})

    def test_what_no_profile_sets_rests_on_none(self):
        path = self.service.folder + '/no-cpus.conf'
        yett.write(path, 'profile "default" {\n}\ngrant "g" { users = {"*"} user_keys = true profiles = {"*"} }\n')
        question = [self.service.yett, 'policy', 'explain', '--policy', path]
        environment = {'YETT_HELPER': self.service.helper}
        self.assertIn('cpus unlimited no profile sets it\n', re.sub(' +', ' ', self.service.run(self.alice, *question, env=environment, cwd='/').out))
        cpus = json.loads(self.service.run(self.alice, *question, '--json', env=environment, cwd='/').out)['result']['limits'][1]
        self.assertEqual((cpus['limit'], cpus['value'], cpus['asked'], cpus['set_by']), ('cpu_millis', None, False, None))

    def test_lingering_where_there_is_none_is_allowed_no_time(self):
        told = self.document('--wall-time', '1s', '--linger')['error']
        self.assertEqual((told['allowed'], told['rule']), ('no', "linger_max of grant 'alices'"))

    def test_a_list_of_keys_that_the_helper_passes_over_allows_nothing(self):
        keys = self.alice.home + '/.config/yett/authorized_keys'
        good = yett.read(keys)

        def restore():
            if os.path.isdir(keys):
                os.rmdir(keys)
            else:
                os.unlink(keys)
            self.alice.write('.config/yett/authorized_keys', good, 0o600)

        def link():
            os.rename(keys, keys + '.there')
            os.symlink(keys + '.there', keys)

        def folder():
            os.unlink(keys)
            os.mkdir(keys)
            os.chown(keys, self.alice.uid, self.alice.gid)

        def fifo():
            os.unlink(keys)
            os.mkfifo(keys, 0o600)
            os.chown(keys, self.alice.uid, self.alice.gid)

        for spoil in (link, folder, fifo, lambda: os.chmod(keys, 0), lambda: os.chmod(keys, 0o622), lambda: os.chown(keys, self.bob.uid, self.alice.gid),
                      lambda: yett.write(keys, good + '#' * 16384)):
            spoil()
            try:
                run = json.loads(self.sandbox('true', options=['--json'], cwd='/').out)['error']
                told = self.document()
                self.assertIn('does not count', run['message'])
                self.assertEqual((told['exit_code'], told['error']), (1, run))
            finally:
                restore()
        self.assertEqual(self.document()['exit_code'], 0)

    def test_the_home_of_a_user_who_is_named_by_number_is_not_shared_either(self):
        for user in (self.alice.name, str(self.alice.uid)):
            done = self.service.run(yett.Root(self.service.folder), self.service.yett, 'policy', 'explain', '--policy', self.service.policy, '--user', user,
                                    env={'YETT_HELPER': self.service.helper}, cwd=self.alice.home)
            self.assertEqual(done.code, 0, done)
            self.assertIn('is, or holds, your home directory', done.err)

    def test_an_option_of_the_run_needs_its_value_and_help_is_help(self):
        for argv, words in ((['--memory'], '--memory needs SIZE'), (['--name'], '--name needs NAME')):
            done = self.explain(*argv)
            self.assertEqual((done.code, done.out), (2, ''), done)
            self.assertIn(words, done.err)
        done = self.explain('--help')
        self.assertEqual((done.code, done.err), (0, ''), done)
        self.assertIn('--memory SIZE', done.out)

    def test_what_is_asked_wrongly_is_an_error_in_the_document(self):
        for argv in (['policy', 'explian'], ['policy', 'check', '--user', 'x'], ['policy', 'check', 'a', 'b']):
            told = json.loads(self.yett(*argv, '--json').out)
            self.assertEqual((told['exit_code'], told['error']['code']), (2, 'invalid-request'), told)

    def test_words_that_are_not_known(self):
        for argv, hint in ((['policy', 'explian'], 'did you mean yett policy explain?'), (['policy', 'chek'], 'did you mean yett policy check?'),
                           (['policy', 'explain', '-p', 'strict'], 'yett run after --'),
                           (['policy', 'explain', '-t'], 'yett run after --'), (['policy', 'explain', '-j4', 'make'], 'yett run after --'),
                           (['policy', 'explain', '--usr', 'x'], 'did you mean --user?'), (['policy', 'explain', '--', '--memroy', '1G'], '--memory'),
                           (['policy', 'check', 'a', 'b'], 'b'), (['profiles', 'x'], 'x')):
            with self.subTest(argv=argv):
                done = self.yett(*argv)
                self.assertEqual((done.code, done.out), (2, ''), done)
                self.assertIn(hint, done.err)


class Profiles(Asked):
    def test_the_profiles_that_one_may_have_are_told_with_what_bounds_them(self):
        done = self.ask('profiles')
        self.assertEqual(done.code, 0, done)
        rows = {line.split()[0]: line for line in done.out.splitlines()}
        self.assertRegex(rows['default'], r'^default +2G of 4G +unlimited +512 +4096 +ro +none +no +alices \(%s:%d\)$' % (
            self.service.policy, self.service.line('grant "alices"')))
        self.assertRegex(rows['strict'], r'^strict +512M of 4G +1 +64 +256 +none +none +no +alices ')
        self.assertNotIn('build', rows)
        self.assertNotIn('tests', rows)
        self.assertIn('max_sandboxes', rows)
        told = json.loads(self.ask('profiles', '--json').out)
        self.assertEqual([profile['name'] for profile in told['result']['profiles']], ['default', 'strict'])
        self.assertEqual(told['result']['together'][0]['value'], 3)
        self.assertEqual(told['result']['profiles'][0]['network'], {'value': 'none', 'ceiling': 'none'})

    def test_they_are_those_of_the_user_who_asks(self):
        told = json.loads(self.ask('profiles', '--json', user=self.bob).out)
        self.assertEqual([profile['name'] for profile in told['result']['profiles']], ['default', 'build', 'strict'])
        root = yett.Root(self.service.folder)
        told = json.loads(self.ask('profiles', '--json', '--user', self.alice.name, user=root).out)
        self.assertEqual([profile['name'] for profile in told['result']['profiles']], ['default', 'strict'])

    def test_a_policy_that_has_none(self):
        path = self.service.folder + '/no-profiles.conf'
        for grant in ('', 'grant "g" { users = {"*"} user_keys = true profiles = {"*"} }\n'):
            yett.write(path, grant)
            done = self.service.run(yett.Root(self.service.folder), self.service.yett, 'profiles', '--json', '--policy', path, '--user', self.alice.name,
                                    env={'YETT_HELPER': self.service.helper})
            told = json.loads(done.out)
            self.assertEqual((told['exit_code'], told['error']['code'], told['error']['message']), (1, 'permission-denied', 'the policy has no profile'))


class Check(Asked):
    def check(self, text):
        path = self.service.folder + '/checked.conf'
        yett.write(path, 'profile "p" {\n}\nprofile "q" {\n}\n' + text)
        done = self.service.run(self.alice, self.service.yett, 'policy', 'check', path, env={'YETT_HELPER': self.service.helper})
        document = self.service.run(self.alice, self.service.yett, 'policy', 'check', path, '--json', env={'YETT_HELPER': self.service.helper})
        return done, json.loads(document.out), path

    def test_a_grant_that_never_decides_is_told_with_the_one_that_always_comes_before(self):
        first = 'grant "first" { users = {"*"} user_keys = true profiles = {"*"} }\n'
        for second, is_shadowed in (
                ('users = {"*"} user_keys = true profiles = {"p"}', True),
                ('users = {"*"} user_keys = true profiles = {"*"} max_memory = 1G', True),
                ('users = {"*"} keys = {"laptop"} profiles = {"p"}', False),  # it names a key: it comes before
                ('users = {"root"} user_keys = true profiles = {"p"}', False),
                ('groups = {"root"} user_keys = true profiles = {"p"}', False)):
            with self.subTest(second=second):
                done, document, path = self.check(first + 'grant "second" { %s }\n' % second)
                self.assertEqual((done.code, done.out), (0, '%s: 2 profiles, 2 grants\n' % path), done)
                told = "yett: %s:6: the grant 'second' never decides: 'first' (%s:5) always comes before it" % (path, path)
                self.assertEqual(done.err.startswith(told), is_shadowed, done)
                self.assertEqual(document['result']['shadowed'], [
                    {'name': 'second', 'file': path, 'line': 6, 'by': {'name': 'first', 'file': path, 'line': 5}}] if is_shadowed else [])

    def test_five_thousand_grants_are_read_and_each_is_compared_with_those_that_are_for_the_same_people(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            os.mkdir(folder + '/conf.d')
            with open(folder + '/yett.conf', 'w', encoding='ascii') as file:
                file.write('profile "one" { system = {"/usr"} }\n')
            for part in range(4):
                with open('%s/conf.d/%d.conf' % (folder, part), 'w', encoding='ascii') as file:
                    for number in range(1250 * part, 1250 * (part + 1)):
                        file.write('grant "g%d" { users = {%d} profiles = {one} max_memory = 4G }\n' % (number, 200000 + number % 4999))
            done = self.service.run(self.alice, self.service.yett, 'policy', 'check', '--json', '--policy', folder + '/yett.conf',
                                    env={'YETT_HELPER': self.service.helper})
            result = json.loads(done.out)['result']
        self.assertEqual((result['grants'], [(grant['name'], grant['by']['name']) for grant in result['shadowed']]), (5000, [('g4999', 'g0')]))

    def test_what_shadows_and_what_does_not(self):
        for grants, shadowed in (
                # one that does not fall through ends the search, whatever it gives
                ('grant "a" { users = {"root"} user_keys = true profiles = {"p"} }\ngrant "b" { groups = {"root"} user_keys = true profiles = {"q"} }', []),
                # two together
                ('grant "a" { users = {"*"} profiles = {"p"} }\ngrant "b" { users = {"*"} profiles = {"q"} }\n'
                 'grant "c" { users = {"*"} profiles = {"*"} }', ['c']),
                ('grant "a" { users = {"*"} profiles = {"p"} }\ngrant "b" { users = {"*"} profiles = {"*"} }', []),
                # keys
                ('grant "a" { users = {"*"} keys = {"x"} profiles = {"*"} }\ngrant "b" { users = {"*"} keys = {"x", "y"} profiles = {"*"} }', []),
                ('grant "a" { users = {"*"} keys = {"x", "y"} profiles = {"*"} }\ngrant "b" { users = {"*"} keys = {"y"} profiles = {"*"} }', ['b']),
                ('grant "a" { users = {"*"} profiles = {"*"} }\ngrant "b" { users = {"*"} user_keys = true profiles = {"*"} }', []),
                # a grant that is void still comes before
                ('grant "a" { users = {"root", "no-such-user"} profiles = {"*"} }\ngrant "b" { users = {"root"} profiles = {"p"} }', ['b'])):
            with self.subTest(grants=grants):
                _, document, _ = self.check(grants + '\n')
                self.assertEqual([grant['name'] for grant in document['result']['shadowed']], shadowed)

    def test_what_is_to_be_noted_is_a_status_of_its_own_where_that_is_asked_for(self):
        path, folder = self.service.folder + '/noted.conf', self.service.folder + '/noted-keys'
        os.makedirs(folder, exist_ok=True)
        helper = 'helper { keys_dir = "%s" }\nprofile "p" { }\n' % folder
        rows = ((helper + 'grant "g" { users = {"root"} profiles = {"p"} }\n', 0, ''),
                (helper + 'grant "g" {\n users = {"root"}\n profiles = {"p"}\n keys = {"laptop"}\n}\n', 3,
                 "yett: %s:6: the grant 'g' is for the key 'laptop', and none is enrolled by that name\n" % path),
                (helper + 'grant "g" { users = {"no-such-user"} profiles = {"p"} }\n', 3, 'void'),
                (helper.replace(folder, '/no/such/folder') + 'grant "g" { users = {"root"} profiles = {"p"} keys = {"laptop"} }\n', 3, 'laptop'),
                (helper + 'grant "g" { users = {"root"} profiles = {"q"} }\n', 1, "'q' is not a profile"))
        for text, status, told in rows:
            for more in ((), ('--json',)):
                with self.subTest(text=text, more=more):
                    yett.write(path, text)
                    done = self.service.run(self.alice, self.service.yett, 'policy', 'check', '--strict', path, *more, env={'YETT_HELPER': self.service.helper})
                    self.assertEqual(done.code, status, done)
                    self.assertIn('laptop' if 'laptop' in told and more else told, done.out if more else done.err)
                    lax = self.service.run(self.alice, self.service.yett, 'policy', 'check', path, *more, env={'YETT_HELPER': self.service.helper})
                    self.assertEqual(lax.code, 1 if status == 1 else 0, lax)

    def test_a_later_file_replaces_what_is_written_of_the_helper_and_nothing_else(self):
        folder = self.service.folder + '/several'
        os.makedirs(folder + '/conf.d', exist_ok=True)
        path, first, last = folder + '/yett.conf', folder + '/conf.d/10-a.conf', folder + '/conf.d/90-b.conf'

        def ask(*argv):
            return self.service.run(self.alice, self.service.yett, 'policy', *argv, '--policy', path, env={'YETT_HELPER': self.service.helper})
        yett.write(path, 'helper {\n  audit = best_effort\n  spares = 1\n}\nprofile "p" { }\n')
        yett.write(first, 'helper { audit = off }\n')
        yett.write(last, 'helper {\n  audit = required\n}\n')
        self.assertEqual(ask('show', '--origin').out, 'audit = required (%s:2), in the place of %s:1\nspares = 1 (%s:3)\n' % (last, first, path))
        for rest in ('helper { spares = 2 }\n', 'helper { }\n', 'helper { }\nhelper { spares = 3 }\n'):
            yett.write(folder + '/conf.d/95-c.conf', rest)
            self.assertIn('audit = required (%s:2), in the place of %s:1\n' % (last, first), ask('show', '--origin').out)
        os.unlink(folder + '/conf.d/95-c.conf')
        told = json.loads(ask('show', '--origin', '--json').out)['result']
        self.assertEqual(told, {'policy': path, 'helper': [
            {'key': 'audit', 'value': 'required', 'file': last, 'line': 2, 'replaces': first + ':1'},
            {'key': 'spares', 'value': '1', 'file': path, 'line': 3, 'replaces': None}]})
        for text, places in (('helper {\n audit = off\n audit = off\n}\n', '%s:2: audit is set here, and again in line 3' % last),
                             ('profile "p" { }\n', '%s:5: profile `p` is set here, and again by %s:1' % (path, last))):
            yett.write(last, text)
            done = ask('check')
            self.assertEqual(done.code, 1, done)
            self.assertIn(places, done.err)
        for argv in (('show',), ('show', '--origin', '--effective'), ('show', '--origin', '--user', 'root'), ('show', '--effective', '--strict'),
                     ('check', '--origin'), ('test', '--strict', path)):
            self.assertEqual(ask(*argv).code, 2)

    def test_the_document_tells_of_what_is_void_and_of_what_is_wrong(self):
        _, document, path = self.check('grant "v" { users = {"root", "no-such-user"} profiles = {"*"} }\n')
        self.assertEqual([(grant['name'], grant['line']) for grant in document['result']['void']], [('v', 5)])
        _, document, path = self.check('grant "v" { usres = {"root"} }\n')
        self.assertEqual(document['exit_code'], 1)
        self.assertIn('%s:5: ' % path, document['error']['message'])
        self.assertEqual((document['error']['file'], document['error']['line']), (path, 5))
        _, document, path = self.check('grant "v" { users = {"root"} profiles = {"*"} share_ro = {"/no/such/path"} }\n')
        self.assertEqual((document['error']['file'], document['error']['line']), (path, 5))


# What follows a comma is said of the change.
MEND = re.compile(r"(\w+) (\+?=) (.+) in (\w+) '([^']+)' \((.+):(\d+)\)(?:, .+)?")


def apply_mend(text, mend):
    """The policy with the change that a refusal suggests, made as somebody would who reads it: in the line named, or in that section."""
    found = MEND.fullmatch(mend)
    if not found:
        return text + mend + '\n'  # a section of its own
    key, how, value, section, name, _, number = found.groups()
    lines = text.splitlines()
    at = int(number) - 1
    if how == '=' and re.search(r'\b%s\s*=' % key, lines[at]):
        lines[at] = re.sub(r'\b%s\s*=\s*\S+' % key, '%s = %s' % (key, value), lines[at])
    elif how == '+=' and re.search(r'\b%s\s*\+?=' % key, lines[at]):
        lines.insert(at + 1, '%s += %s' % (key, value))
    else:
        if not re.match(r'\s*%s "%s" \{' % (section, re.escape(name)), lines[at]):
            raise AssertionError('%s is not in line %s: %s' % (name, number, lines[at]))
        lines.insert(at + 1, '%s %s %s' % (key, how, value))
    return '\n'.join(lines) + '\n'


class Mends(yett.Case):
    """Each refusal by the policy, and that the smallest change which it suggests is enough."""

    PROFILES = '''
profile "default" {
  system = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
  memory = 256M
  pids = 64
  files = 64
  cpus = 1
  environment = {"PATH=/usr/bin:/bin"}
}
profile "closed" {
  extends = "default"
  shares = false
}
profile "capable" {
  extends = "default"
  capabilities = {"net_bind_service"}
}
profile "device" {
  extends = "default"
  devices = {"DEVICE"}
}
profile "fake-root" {
  extends = "default"
  identity = root
}
profile "nests" {
  extends = "default"
  nested_userns = true
}
profile "counts" {
  extends = "default"
  perf_events = true
}
profile "as-caller" {
  extends = "default"
  identity = caller
}
'''
    GRANT = 'grant "g" {\n  users = {"*"}\n  %s\n}\n'
    ALL = 'user_keys = true\n  profiles = {"*"}\n'
    # What is refused: the grant, the options, and the key of the policy that says so; "" is a grant that is missing.
    REFUSED = (
        (ALL + 'max_memory = 1G', ['--memory', '2G'], 'max_memory'),
        (ALL, ['--memory', '2G'], 'memory'),
        (ALL + 'max_cpus = 1', ['--cpus', '1.5'], 'max_cpus'),
        (ALL, ['--cpus', '1.5'], 'cpus'),
        (ALL + 'max_pids = 100', ['--pids', '200'], 'max_pids'),
        (ALL, ['--pids', '200'], 'pids'),
        (ALL + 'max_files = 100', ['--files', '200'], 'max_files'),
        (ALL, ['--files', '200'], 'files'),
        (ALL + 'max_core = 1M', ['--core', '2M'], 'max_core'),
        (ALL, ['--core', '2M'], 'max_core'),
        (ALL + 'linger_max = 1h', ['--wall-time', '50s', '--linger', '--idle-timeout', '2h'], 'linger_max'),
        (ALL, ['--wall-time', '50s', '--linger'], 'linger_max'),
        (ALL, ['-p', 'capable'], 'capabilities'),
        (ALL, ['-p', 'device'], 'devices'),
        (ALL, ['-p', 'fake-root'], 'identity_root'),
        (ALL, ['-p', 'nests'], 'nested_userns'),
        (ALL, ['-p', 'counts'], 'perf_events'),
        (ALL, ['-p', 'as-caller'], 'identity_caller'),
        (ALL, ['-p', 'closed', '--tmpfs', '/x'], 'shares'),
        (ALL, ['--share-socket', 'SOCKET'], 'sockets'),
        (ALL + 'sockets = {"/run/user/%u/other"}', ['--share-socket', 'SOCKET:/x'], 'sockets'),
        (ALL, ['--ro', '/usr/share:/x'], 'share_ro'),
        (ALL, ['--rw', 'HOME/shared:/x'], 'share_rw'),
        (ALL + 'share_ro = {"/usr/lib"}', ['--ro', '/usr/share:/x'], 'share_ro'),
        (ALL + 'share_ro = {"/usr/lib"}\nshare_rw = {"/usr/lib"}', ['--rw', 'HOME/shared:/x'], 'share_rw'),
        (ALL + 'share_ro = {"/usr/lib"}', ['--ro', '/etc/debian_version:/x'], 'share_ro'),
        ('user_keys = true\nprofiles = {"closed"}', [], 'profiles'),
        ('user_keys = true\nprofiles = {"default"}', ['-p', 'closed'], 'profiles'),
        ('profiles = {"*"}', [], 'user_keys'),
    )

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        device = '/dev/yett-test-%d' % run.place
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        cls.addClassCleanup(os.unlink, device)
        os.chmod(device, 0o666)
        cls.PROFILES = cls.PROFILES.replace('DEVICE', device)
        cls.socket = run.roots_folder() + '/listens'
        os.chmod(os.path.dirname(cls.socket), 0o755)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(cls.socket)
        cls.addClassCleanup(listener.close)
        cls.service_options = {'shipped': False, 'before': cls.PROFILES + cls.GRANT % cls.ALL}
        super().setUpClass()
        cls.alice.mkdir('shared')
        cls.public = yett.read(cls.alice.home + '/.config/yett/id_ed25519.pub')

    def run_(self, options, by=()):
        options = [option.replace('HOME', self.alice.home).replace('SOCKET', self.socket) for option in options]
        return self.service.run(self.alice, *by, self.service.yett, 'run', '--json', *options, '--', 'true', cwd='/')

    def load(self, text):
        self.service.write_policy(before=text)
        self.service.reload()
        self.assertIn('policy loaded anew', self.service.log_text().splitlines()[-1])

    def assert_mended(self, options, key, by=()):
        """The refusal, of which the policy has been loaded, suggests what helps."""
        refused = yett.told(self.run_(options, by).out)
        error = refused['error']
        self.assertNotEqual(refused['exit_code'], 0)
        self.assertTrue(error and error['mend'], error)
        self.assertEqual((error['rule'] or ' of ').split(' of ')[0], key, error)
        if key:
            self.assertEqual((error['file'], bool(error['line'])), (self.service.policy, True), error)
            self.assertTrue(error['asked'] and error['allowed'], error)
        text = apply_mend(yett.read(self.service.policy), error['mend'])
        yett.write(self.service.policy, text)
        self.service.reload()
        self.assertIn('policy loaded anew', self.service.log_text(), text)
        self.assertNotIn('was not loaded', self.service.log_text().splitlines()[-1], text)
        done = self.run_(options, by)
        self.assertEqual(done.code, 0, (done, error['mend'], text))
        if '--linger' in options:
            self.assertEqual(self.yett('destroy', yett.told(done.out)['sandbox']['id']).code, 0)

    def test_the_smallest_change_that_a_refusal_suggests_is_enough(self):
        for grant, options, key in self.REFUSED:
            with self.subTest(grant=grant, options=options), contextlib.ExitStack() as stack:
                if '--core' in options:  # whatever the policy says, only then are there any
                    stack.enter_context(yett.machine_setting('/proc/sys/kernel/core_pattern', 'core'))
                self.load(self.PROFILES + self.GRANT % grant)
                self.assert_mended(options, key)

    # The same of networks: what is refused, by the grant, and the key. It is asked what would come of it, so that nothing is connected to.
    NETWORKS = (
        ('', ['--net', 'limited'], 'network'),
        ('network = limited', ['--net', 'open'], 'network'),
        ('', ['-p', 'reaches'], 'network'),
        ('network = limited', ['--allow', 'pypi.org:443'], 'allow'),
        ('network = limited allow = {"*.pypi.org:443"}', ['--allow', 'x.pypi.org:443', '--allow', 'pypi.org:443'], 'allow'),
        ('network = open\n  allow = {"*"}', ['--net', 'open', '--allow', '10.1.2.0/24:5432'], 'allow'),
        ('network = open\n  allow = {"10.0.0.0/8"}', ['--allow', '[2001:db8:1::1]:22'], None),
    )

    def test_the_smallest_change_for_a_network_is_enough(self):
        def ask():
            return self.service.run(self.alice, self.service.yett, 'policy', 'explain', '--json', '--policy', self.service.policy, '--', *options,
                                    env={'YETT_HELPER': self.service.helper}, cwd='/')
        for grant, options, key in self.NETWORKS:
            with self.subTest(grant=grant, options=options):
                self.service.write_policy(before=self.PROFILES + 'profile "reaches" { extends = "default" network = open }\n' + self.GRANT % (self.ALL + grant))
                done = ask()
                error = json.loads(done.out)['error']
                if key is None:  # documentation's addresses are no host's: nothing would help
                    self.assertEqual((done.code, error['mend']), (1, 'leave it out'), done)
                    continue
                self.assertEqual((done.code, error['rule'], error['file']), (1, "%s of grant 'g'" % key, self.service.policy), done)
                self.assertEqual(error['asked'], options[-1] if options[0] != '-p' else 'open')
                yett.write(self.service.policy, apply_mend(yett.read(self.service.policy), error['mend']))
                self.assertEqual(ask().code, 0, error)

    def test_where_no_grant_is_for_the_user(self):
        for enrolled in (False, True):
            with self.subTest(enrolled=enrolled):
                if enrolled:
                    yett.write(self.service.keys + '/laptop.pub', self.public)
                    self.addCleanup(os.unlink, self.service.keys + '/laptop.pub')
                self.load(self.PROFILES + 'grant "g" { users = {"root"} profiles = {"*"} }\n')
                self.assert_refused(self.sandbox('true'), 125, 'no grant of the policy is for uid %d' % self.alice.uid,
                                    'the smallest change of the policy: grant "uid-%d"' % self.alice.uid)
                # what is asked is looked at of somebody whose key is known
                self.assert_mended(['-p', 'closed'] if enrolled else [], '')

    def test_where_the_key_is_another_one(self):
        yett.write(self.service.keys + '/laptop.pub', self.public)
        self.addCleanup(os.unlink, self.service.keys + '/laptop.pub')
        self.load(self.PROFILES + self.GRANT % 'keys = {"desktop"}\nprofiles = {"*"}')
        self.assert_mended([], 'keys')

    def test_where_the_client_is_confined(self):
        self.load(self.PROFILES + self.GRANT % self.ALL)
        self.assert_mended([], 'confined_clients', by=['setpriv', '--no-new-privs'])

    def test_where_there_are_as_many_sandboxes_as_may_be(self):
        self.load(self.PROFILES + self.GRANT % (self.ALL + 'max_sandboxes = 1'))
        process = self.start('sh', '-c', 'echo up; exec sleep 1000', cwd='/')
        self.assertEqual(self.line(process), 'up')
        self.assert_mended([], 'max_sandboxes')

    def test_where_more_memory_is_in_use_than_may_be(self):
        if not os.path.exists('/sys/fs/cgroup/memory/memory.usage_in_bytes'):
            self.skipTest('the memory controller is not on cgroup v1: on v2 the kernel refuses no limit for what is in use')
        self.load(self.PROFILES + self.GRANT % (self.ALL + 'user_memory = 512M'))
        process = self.start('python3', '-c', 'held = bytearray(64 << 20); print("up", flush=True); input()', cwd='/')
        self.assertEqual(self.line(process), 'up')
        self.load(self.PROFILES + self.GRANT % (self.ALL + 'user_memory = 32M'))
        self.assert_mended([], 'user_memory')


if __name__ == '__main__':
    yett.main()
