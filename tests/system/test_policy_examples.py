# SPDX-License-Identifier: Apache-2.0
"""Policies that are tested before they are shipped, yett policy test; and what is in force for somebody, yett policy show."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import yett

POLICY = '''
profile "default" { system = {"/usr"} memory = 1G }
grant "of-users" { groups = {users} profiles = {default} user_keys = true max_memory = 4G }
grant "of-one" { users = {"4567"} profiles = {default} max_memory = 2G keys = {laptop} }
'''


class Asked(unittest.TestCase):
    """Without a service and without a key: yett-explain answers."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='yett-policy-')
        self.addCleanup(yett.run_tool, 'rm', '-r', self.folder)
        self.policy = self.folder + '/yett.conf'
        yett.write(self.policy, POLICY)

    def ask(self, *argv):
        root = os.environ['YETT_BUILD_ROOT']
        env = {'PATH': os.environ['PATH'], 'HOME': self.folder, 'YETT_HELPER': root + '/helper/yett-helper',
               'LD_LIBRARY_PATH': os.environ.get('LD_LIBRARY_PATH', '')}
        return subprocess.run([root + '/cli/yett', 'policy', *argv], cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)

    def judge(self, text, *more, policy=None):
        yett.write(self.folder + '/some.test', text)
        return self.ask('test', '--policy', policy or self.policy, 'some.test', *more)


class Tests(Asked):
    def test_what_is_as_expected_is_counted_and_makes_no_key(self):
        done = self.judge('''# a comment
test "within" { user = "4567"  groups = {users, "100"}  key = laptop
  request = "yett run --memory 2G -- sh -c 'exit 3'"  expect = allowed  by = "grant 'of-one'" }
test "too much" { user = "4567" key = laptop request = "yett run --memory 4G" expect = refused by = "max_memory of grant 'of-one'" }
test "by the group" { user = "4568" groups = users request = "yett run --memory 4G" expect = allowed by = "max_memory of grant 'of-users'" }
test "of neither" { user = "4568" request = "yett run" expect = refused }
''')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'some.test: 4 tests, all as expected\n', ''))
        self.assertEqual(sorted(os.listdir(self.folder)), ['some.test', 'yett.conf'])

    def test_what_differs_is_told_with_its_line_and_the_reason(self):
        text = '''test "more than it has" { user = "4568" groups = {users}
  request = "yett run --memory 5G" expect = allowed }
test "as nobody" { user = "4568" request = "yett run" expect = refused }
test "by another" { user = "4568" groups = {users} request = "yett run --memory 5G" expect = refused by = "max_pids of grant 'of-users'" }
test "allowed by another" { user = "4568" groups = {users} request = "yett run --memory 2G" expect = allowed by = "grant 'of-one'" }
test "allowed after all" { user = "4568" groups = {users} request = "yett run" expect = refused }
'''
        done = self.judge(text)
        self.assertEqual((done.returncode, done.stderr), (1, ''))
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith('some.test:')], [
            "some.test:1: 'more than it has': refused, and expected to be allowed",
            "some.test:4: 'by another': refused as expected, by max_memory of grant 'of-users' and not by max_pids of grant 'of-users'",
            "some.test:5: 'allowed by another': allowed as expected, by other lines and not by grant 'of-one'",
            "some.test:6: 'allowed after all': allowed, and expected to be refused",
            'some.test: 5 tests, 4 not as expected'])
        self.assertIn('  memory of 5G is more than the 4G allowed\n', done.stdout)
        told = json.loads(self.judge(text, '--json').stdout)
        self.assertEqual((told['exit_code'], told['result']['differing']), (1, 4))
        self.assertEqual([(test['line'], test['expected'], test['allowed'], test['differs']) for test in told['result']['tests']],
                         [(1, True, False, True), (3, False, False, False), (4, False, False, True), (5, True, True, True), (6, False, True, True)])
        self.assertEqual(told['result']['tests'][2]['refusal']['rule'], "max_memory of grant 'of-users'")

    def test_a_document_finds_the_same_rules(self):
        told = json.loads(self.judge('''test "a" { user = "4568" groups = {users} request = "yett run" expect = allowed by = "grant 'of-users'" }
test "b" { user = "4568" groups = {users} request = "yett run" expect = allowed by = "memory of profile 'default'" }
test "c" { user = "4568" groups = {users} request = "yett run" expect = allowed by = "grant 'of'" }
''', '--json').stdout)
        self.assertEqual([test['differs'] for test in told['result']['tests']], [False, False, True])

    def test_what_cannot_be_told_is_no_difference(self):
        for text, why in (('test "a" { user = "no one" request = "yett run" expect = refused }', 'no one is not a user of this host'),
                          ('test "a" { groups = nowhere-at-all request = "yett run" expect = refused }', 'nowhere-at-all is not a group of this host'),
                          ('test "a" { request = "yett run --no-such" expect = refused }', '--no-such')):
            with self.subTest(why):
                done = self.judge(text)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(why, done.stderr)
        yett.write(self.folder + '/wrong.conf', 'grant "a" {\n}\n')
        done = self.judge('test "a" { request = "yett run" expect = refused }', policy=self.folder + '/wrong.conf')
        self.assertEqual(done.returncode, 2, done)
        self.assertIn('wrong.conf:1: ', done.stderr)

    def test_what_is_wrong_in_a_file_is_said_with_its_line(self):
        for text, why in (('', 'some.test:1: there is no test in it'), ('\n# x\ngrant "a" { }', 'some.test:3: test "NAME"'),
                          ('test "a" { request = "yett run" }', 'needs a request, and what is expected'),
                          ('test "a" {\nrequest = "run"\nexpect = allowed }', 'some.test:2: a request is a text that begins with yett run'),
                          ('test "a" { request = "yett run \'x"', 'a \' is not closed by another'),
                          ('test "a" { expect = perhaps }', 'expect must be allowed or refused'), ('test "a" { users = x }', 'a test has no users'),
                          ('test "a" { user = x user = y }', 'user is set twice'), ('test "a" {\nuser = "x\n" }', 'some.test:2: the text does not end on its line'),
                          ('test "a" { agent = yes }', 'agent must be true or false'),
                          ('test "a" { groups = {} }', 'a list needs a name in it'), ('test "a" { user x }', "'=' is wanted here"),
                          ('test "a" {', "a key or '}' is wanted here"), ('test {', 'the name of a test is wanted here'),
                          ('test "a" { groups = {a {b} } }', 'a name, or a list of names in braces, is wanted here'),
                          ('test "a" { request = "yett run %s" }' % ('x ' * 300), 'a request has at most 256 words')):
            with self.subTest(text[:60]):
                done = self.judge(text)
                self.assertEqual((done.returncode, done.stdout), (2, ''), done)
                self.assertIn(why, done.stderr)
        self.assertIn('cannot be read', self.ask('test', 'nowhere').stderr)

    def test_it_takes_one_file_and_no_user(self):
        for argv in (['test'], ['test', 'a', 'b'], ['test', '--user', 'root', 'a'], ['test', '--key', 'k', 'a']):
            self.assertEqual(self.ask(*argv).returncode, 2, argv)


GRANTS = '''
profile "default" { system = {"/usr"} memory = 1G }
profile "big" { extends = default memory = 8G }
grant "of-users" { groups = {"7001"} profiles = {default, big} user_keys = true max_memory = 4G user_memory = 10G }
grant "of-one" {
  users = {"4567"}
  profiles = {default}
  user_keys = true
  max_memory = 2G
  share_ro = {"/usr", "/srv"}
  network = limited
  allow = {"pypi.org:443"}
  linger_max = 1h
  %s
}
grant "keyed" { users = {"4567"} profiles = {big} keys = {laptop} }
grant "gone" { users = {"4567", "nobody-at-all"} profiles = {default} user_keys = true }
'''


class Effective(Asked):
    def show(self, *more, grants=''):
        yett.write(self.policy, GRANTS % grants)
        return self.ask('show', '--effective', '--policy', self.policy, '--user', '4567', *more)

    def document(self, *more, grants=''):
        return json.loads(self.show('--json', *more, grants=grants).stdout)['result']

    def place(self, line):
        return '(%s:%d)' % (self.policy, line)

    def test_grants_are_told_in_the_order_in_which_they_count(self):
        yett.write(self.policy, GRANTS % '')
        names = [grant['name'] for grant in self.document()['grants']]
        self.assertEqual(names, ['of-one', 'keyed', 'gone'])
        self.assertEqual([grant['name'] for grant in self.document('--key', 'laptop')['grants']], ['keyed', 'of-one', 'gone'])
        shown = self.show()
        self.assertEqual((shown.returncode, shown.stderr), (0, ''))
        self.assertEqual(shown.stdout.splitlines()[0], "in force for uid 4567, with a key of the user's own, by " + self.policy)
        for line in ("1. grant 'of-one' %s names the user and gives default" % self.place(5),
                     "2. grant 'keyed' %s names the user and gives nothing with this key; only its bounds of all sandboxes together count" % self.place(16)):
            self.assertIn(line, shown.stdout.splitlines())
        self.assertRegex(shown.stdout, r"3\. grant 'gone' .* names the user and is void: .* 'nobody-at-all' is not a user of this host")

    def test_each_tells_what_it_gives_and_which_one_comes_before_it(self):
        grants = {grant['name']: grant for grant in self.document()['grants']}
        self.assertEqual({name: grant['profiles'] for name, grant in grants.items()}, {'of-one': ['default'], 'keyed': [], 'gone': []})
        self.assertEqual({name: (grant['shadowed_by'] or {}).get('name') for name, grant in grants.items()},
                         {'of-one': None, 'keyed': None, 'gone': 'of-one'})
        self.assertEqual({name: grant['fits_key'] for name, grant in grants.items()}, {'of-one': True, 'keyed': False, 'gone': True})
        self.assertIn('nobody-at-all', grants['gone']['void'])
        self.assertEqual([grant['profiles'] for grant in self.document('--key', 'laptop')['grants']], [['big'], [], []])

    def test_bounds_are_told_with_the_lines_that_set_them(self):
        first = self.document()['grants'][0]
        bounds = {bound['key']: (bound['value'], bound['word'], bound['line']) for bound in first['bounds']}
        self.assertEqual((bounds['max_memory'], bounds['linger_max'], bounds['max_pids'], bounds['user_memory']),
                         ((2 << 30, None, 9), (3600000, None, 13), (None, 'profile', None), (None, 'unlimited', None)))
        lists = {each['key']: (each['items'], each['line']) for each in first['lists']}
        self.assertEqual((lists['share_ro'], lists['share_rw']), ((['/usr', '/srv'], 10), ([], None)))
        self.assertEqual((first['network']['ceiling'], first['network']['line']), ('limited', 11))
        self.assertEqual([(rule['rule'], rule['deny'], rule['line']) for rule in first['network']['rules']], [('pypi.org:443', False, 12)])
        self.assertEqual({each['key']: each['value'] for each in first['switches']}['user_keys'], True)
        shown = self.show().stdout
        self.assertRegex(shown, r'max_memory +2G ' + re.escape(self.place(9)))
        self.assertNotIn('max_pids', shown)

    def test_what_falls_through_is_not_the_last_word(self):
        yett.write(self.policy, GRANTS % '')
        self.assertFalse(self.document()['grants'][0]['fall_through'])
        self.assertTrue(self.document(grants='fall_through = true')['grants'][0]['fall_through'])

    def test_it_is_for_a_user_and_says_so(self):
        for argv in (['show'], ['show', 'x'], ['show', '--effective', 'x']):
            self.assertEqual(self.ask(*argv).returncode, 2, argv)
        yett.write(self.policy, 'profile "default" { }\n')
        self.assertIn('no grant: every request is refused', self.ask('show', '--effective', '--policy', self.policy).stdout)


EXPIRING = '''
profile "default" { system = {"/usr"} memory = 1G }
grant "guest" { users = {"4567"} profiles = {default} user_keys = true expire = 2026-12-31 max_memory = 8G }
grant "all" { users = {"*"} profiles = {default} user_keys = true expire = "9998-12-31T18:00:00Z" }
grant "old" { users = {"*"} profiles = {default} expire = "1999-01-01" }
ceiling "every" { users = {"*", "nobody-at-all"} max_memory = 4G user_memory = 6G }
ceiling "of-one" { users = {"4567"} max_memory = 2G }
'''


class Lasting(Asked):
    """Grants that expire, and ceilings, which do not."""

    def setUp(self):
        super().setUp()
        yett.write(self.policy, EXPIRING)

    def test_what_a_request_gets_depends_on_the_time(self):
        done = self.judge('''test "in time" { user = "4567" at = 2026-12-30 request = "yett run" expect = allowed by = "grant 'guest'" }
test "the day before it ends" { user = "4567" at = "2026-12-30T23:59:59Z" request = "yett run" expect = allowed by = "grant 'guest'" }
test "then" { user = "4567" at = 2026-12-31 request = "yett run" expect = allowed by = "grant 'all'" }
test "at the end of all" { user = "4567" at = "9998-12-31T18:00:00Z" request = "yett run" expect = refused by = "expire of grant 'guest'" }
test "for others" { user = "4568" at = "9998-12-31T18:00:00Z" request = "yett run" expect = refused by = "expire of grant 'all'" }
test "a ceiling" { user = "4567" at = 2026-12-30 request = "yett run --memory 3G" expect = refused by = "max_memory of ceiling 'of-one'" }
test "it stays" { user = "4567" at = 2030-01-01 request = "yett run" expect = allowed by = "user_memory of ceiling 'every'" }
test "that of others" { user = "4568" at = 2030-01-01 request = "yett run --memory 3G" expect = refused by = "memory of profile 'default'" }
''')
        self.assertEqual((done.returncode, done.stdout), (0, 'some.test: 8 tests, all as expected\n'), done)

    def test_explaining_says_that_it_has_expired(self):
        done = self.ask('explain', '--policy', self.policy, '--user', '4568', '--at', '9999-01-01', '--', 'true')
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the grant 'all' has expired", done.stdout + done.stderr)
        self.assertIn("a later expire in grant 'all' (%s:4)" % self.policy, done.stdout + done.stderr)
        done = self.ask('explain', '--policy', self.policy, '--at', 'tomorrow', '--', 'true')
        self.assertEqual(done.returncode, 2, done)
        self.assertIn('tomorrow is not a date such as 2026-12-31', done.stderr)

    def test_checking_tells_of_those_that_have(self):
        done = self.ask('check', self.policy)
        self.assertEqual(done.returncode, 0, done)
        told = done.stdout + done.stderr
        self.assertIn("%s:5: the grant 'old' has expired: 1999-01-01T00:00:00Z\n" % self.policy, told)
        self.assertIn("%s:6: 'nobody-at-all' is not a user of this host: the ceiling does not bound it\n" % self.policy, told)
        self.assertIn('1 profile, 3 grants, 2 ceilings', told)
        self.assertEqual(told.count("the grant 'old'"), 1)
        self.assertNotIn('never decides', told) # it does not hide that it was written

    def test_what_is_in_force_has_ceilings_and_not_what_has_expired(self):
        done = self.ask('show', '--effective', '--policy', self.policy, '--user', '4567', '--json', '--at', '2027-01-01')
        told = json.loads(done.stdout)['result']
        self.assertEqual([(grant['name'], grant['expires']) for grant in told['grants']], [('all', '9998-12-31T18:00:00Z')])
        self.assertEqual([(grant['name'], grant['line'], grant['expired_at']) for grant in told['expired']],
                         [('guest', 3, '2026-12-31T00:00:00Z'), ('old', 5, '1999-01-01T00:00:00Z')])
        self.assertEqual([(ceiling['name'], ceiling['names']) for ceiling in told['ceilings']], [('every', 'everyone'), ('of-one', 'the user')])
        words = {bound['key']: bound['word'] or bound['value'] for bound in told['ceilings'][1]['bounds']}
        self.assertEqual((words['max_memory'], words['max_pids'], words['linger_max'], words['user_pids']), (2 << 30, 'unlimited', 'unlimited', 'unlimited'))
        together = {each['limit']: (each['value'], (each['set_by'] or {}).get('rule')) for each in told['together']}
        self.assertEqual(together['user_memory'], (6 << 30, "user_memory of ceiling 'every'"))

    def test_checking_tells_of_ceilings_that_never_count(self):
        yett.write(self.policy, '''ceiling "nothing" { users = {"*"} }
ceiling "wide" { users = {"4567"} groups = {"7001"} max_memory = 4G }
ceiling "narrow" { users = {"4567", "4568"} groups = {"7001", "7002"} max_memory = 2G user_pids = 9 }
ceiling "twin" { users = {"4568", "4567"} groups = {"7002", "7001"} max_memory = 2G user_pids = 9 }
ceiling "of-others-too" { users = {"*"} max_memory = 2G }
ceiling "of-one" { users = {"4567"} linger_max = 1h }
ceiling "more" { users = {"4567"} user_pids = 8 max_memory = 3G }
''')
        done = self.ask('check', self.policy)
        told = re.findall(r"the ceiling '(\S+)' (bounds nothing|never counts: '\S+')", done.stdout + done.stderr)
        self.assertEqual(told, [('nothing', 'bounds nothing'), ('wide', "never counts: 'narrow'"), ('twin', "never counts: 'narrow'")])

    def test_what_is_no_date_is_refused_with_its_line(self):
        for date in ('2026-02-29', '"2026-12-31 18:00"', 'never', '1970-01-01', '{}'):
            yett.write(self.policy, 'grant "a" { users = {"*"} profiles = {"*"}\n expire = %s }\n' % date)
            done = self.ask('check', self.policy)
            self.assertNotEqual(done.returncode, 0, date)
            self.assertIn(self.policy + ':2: ', done.stderr)
        yett.write(self.policy, 'ceiling "a" { users = {"*"}\n expire = 2026-12-31 }\n')
        self.assertIn(self.policy + ':2: ', self.ask('check', self.policy).stderr)


class Examples(Asked):
    """Of dist/examples: each policy with its tests."""
    FOLDER = os.path.join(yett.SOURCE, 'dist', 'examples')
    NAMES = ('agent', 'ci', 'closed', 'desktop', 'lab')

    def path(self, name):
        return os.path.join(self.FOLDER, name)

    def test_each_is_sound_and_says_what_its_tests_expect(self):
        self.assertEqual(sorted(os.listdir(self.FOLDER)), sorted(name + end for name in self.NAMES for end in ('.conf', '.test')))
        for name in self.NAMES:
            with self.subTest(name):
                done = self.ask('check', self.path(name + '.conf'))
                noted = [line for line in done.stderr.splitlines() if not line.endswith('none is enrolled by that name')]  # here
                self.assertEqual((done.returncode, noted), (0, []))
                done = self.ask('test', '--policy', self.path(name + '.conf'), self.path(name + '.test'))
                self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
                self.assertRegex(done.stdout, r'^\S+: \d+ tests, all as expected\n$')

    def test_no_policy_passes_the_tests_of_another(self):
        for tests in self.NAMES:
            for policy in self.NAMES:
                if tests not in (policy, 'closed'):
                    done = self.ask('test', '--policy', self.path(policy + '.conf'), self.path(tests + '.test'))
                    self.assertEqual(done.returncode, 1, done)
        self.assertEqual(self.ask('test', '--policy', os.path.join(yett.SOURCE, 'dist', 'yett.conf'), self.path('closed.test')).returncode, 1)

    def test_the_page_about_them_shows_their_lines_and_what_the_tests_print(self):
        page = yett.read(os.path.join(yett.SOURCE, 'docs', 'policy.md'))
        lines = {line for name in self.NAMES for end in ('.conf', '.test') for line in yett.read(self.path(name + end)).splitlines()}
        shown = [line for block in re.findall(r'(?ms)^```\n(.*?)^```', page) if not re.match('[#$] ', block) for line in block.splitlines()]
        self.assertGreater(len(shown), 20)
        self.assertEqual([line for line in shown if line not in lines], [])
        changed = yett.read(self.path('lab.conf')).replace('max_memory = 4G', 'max_memory = 64G')
        yett.write(self.folder + '/changed.conf', changed)
        for name in ('lab.conf', 'lab.test'):
            yett.write(self.folder + '/' + name, yett.read(self.path(name)))
        for policy in ('lab.conf', 'changed.conf'):
            first = self.ask('test', '--policy', policy, 'lab.test').stdout.splitlines()[0]
            self.assertIn('\n' + first + '\n', page)


if __name__ == '__main__':
    yett.main()
