# SPDX-License-Identifier: Apache-2.0
"""/run/yett/sandbox.json: commands are told what their sandbox is, as their client is told, and nothing of the host."""
import json
import os
import re

import yett

POLICY = '''
profile "networked" {
  extends = "default"
  network = limited
  allow = {"api.example.com:443", "10.1.0.0/16:5432"}
  deny = {"bad.example.com:443"}
}
profile "bounded" {
  extends = "default"
  memory = 100M
  pids = 77
  files = 99
  file_size = 5M
  cpu_time = 60
  max_command_timeout = 2m
  hostname = "bounded.example"
  tmpfs = {"/scratch"}
  mask = {"/usr/share/common-licenses"}
  read_only = {"/mnt/data/a", "/mnt/data/b"}
}
profile "listed" {
  extends = "default"
  etc = {"hosts"}
  overlay_ro = true
}
grant "about" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "networked", "bounded", "listed", "strict"}
  network = limited
  allow = {"*:443", "10.1.0.0/16:5432"}
  share_ro = {"*"}
  share_rw = {"*"}
  linger_max = unlimited
}
'''

ROOT = '''
profile "root" {
  extends = "default"
  identity = root
}
grant "root" {
  users = {"*"}
  user_keys = true
  profiles = {"root"}
  identity_root = true
}
'''

PATH = '/run/yett/sandbox.json'


class About(yett.Case):
    def setUp(self):
        self.data = self.folder('data')
        for name in ('a', 'b'):
            self.alice.mkdir('data/' + name)
        self.alice.write('data/file', 'x')

    def about(self, *options, **more):
        return json.loads(self.output('cat', PATH, options=('-q', *options), **more))

    def create(self, *options):
        made = self.yett('create', '--json', '--name', 'box', *options)
        self.assertEqual(made.code, 0, made)
        self.addCleanup(self.yett, 'destroy', 'box')
        return yett.told(made.out)['sandbox']

    def seen(self):
        done = self.yett('exec', 'box', '--', 'cat', PATH)
        self.assertEqual(done.code, 0, done)
        return json.loads(done.out)

    def targets(self):
        return [(share['target'], share['mode']) for share in self.seen()['shares']]


class Told(About):
    service_options = {'before': POLICY, 'spares': 2}

    def check(self, *options):
        """All that both tell is the same; where one says 0 for none, the other one says null."""
        self.create(*options)
        status = yett.told(self.yett('inspect', '--json', 'box').out)['sandbox']
        about = self.seen()
        same = ('id', 'name', 'profile', 'hostname', 'network', 'label', 'landlock_abi', 'labels', 'annotations', 'linger', 'idle_action',
                'command_timeout_ms', 'max_command_timeout_ms')
        self.assertEqual({name: about[name] for name in same}, {name: status[name] for name in same})
        for name in ('linger_ms', 'wall_ms', 'cpu_ms', 'idle_ms', 'cleanup_ms'):
            self.assertEqual(about[name], status[name] or None, name)
        limits = {name: value or None for name, value in status['limits'].items()}
        if limits['core_bytes'] == 1:  # there are none
            limits['core_bytes'] = 0
        self.assertEqual({name: about['limits'][name] for name in limits}, limits)
        self.assertEqual((about['version'], about['seccomp']), (1, True))
        return about

    def test_it_is_what_the_client_is_told(self):
        about = self.check('--label', 'task=42', '--annotation', 'note=a=b')
        self.assertEqual((about['labels'], about['annotations'], about['tmpfs'], about['shares']), ({'task': '42'}, {'note': 'a=b'}, [], []))
        self.assertEqual(about['identity'], 'private' if self.service_class is yett.Service else 'caller')
        self.assertEqual((about['network'], about['network_rules']), ('none', []))

    def test_of_one_that_has_bounds(self):
        about = self.check('-p', 'bounded', '--ro', self.data + ':/mnt/data', '--tmpfs', '/tmp/own:1M', '--wall-time', '1h', '--idle-timeout', '30m')
        self.assertEqual([(tmpfs['target'], tmpfs['mode']) for tmpfs in about['tmpfs']], [('/scratch', 'rw'), ('/tmp/own', 'rw')])
        self.assertEqual(about['tmpfs'][1]['size_bytes'], 1 << 20)
        self.assertEqual((about['masked'], about['read_only'], about['max_command_timeout_ms'], about['wall_ms']), (1, 2, 120000, 3600000))
        self.assertEqual((about['limits']['files'], about['limits']['cpu_seconds'], about['hostname']), (99, 60, 'bounded.example'))

    def test_shares_are_told_by_where_and_how_and_not_by_what(self):
        about = self.about('--ro', self.data + ':/mnt/a', '--rw', self.data + ':/mnt/b', '--cow', self.data + ':/mnt/c', '--ro', self.data + '/file:/mnt/d')
        self.assertEqual([(share['target'], share['mode']) for share in about['shares']],
                         [('/mnt/a', 'ro'), ('/mnt/b', 'rw'), ('/mnt/c', 'cow'), ('/mnt/d', 'ro')])
        self.assertEqual({key for share in about['shares'] for key in share}, {'target', 'mode'})

    def test_nothing_of_the_host_is_in_it(self):
        status = self.create('-p', 'bounded', '--ro', self.data + ':/mnt/data')
        text = self.yett('exec', 'box', '--', 'cat', PATH).out
        for secret in (self.alice.home, self.service.folder, 'yett.conf', '"%d"' % status['private_uid'], ':%d' % status['private_uid'], self.alice.name):
            self.assertNotIn(secret, text)

    def test_labels_may_be_any_text(self):
        odd = ('quote"d', 'back\\slash', 'two\nlines', 'tab\tescape\x1b[2J', '"],"shares":[', '\n{"target":"/mnt/x"', 'ä\u2028\u202e', '=', '{}')
        words = [word for i, value in enumerate(odd) for word in ('--label', 'key%d"\n=%s' % (i, value))]
        self.create(*words)
        expected = {'key%d"\n' % i: value for i, value in enumerate(odd)}
        self.assertEqual(self.seen()['labels'], expected)
        raw = self.yett('exec', 'box', '--', 'cat', PATH).out
        self.assertFalse({character for character in raw if ord(character) < 32} - {'\n'})
        self.assertEqual(self.yett('mount', 'box', '--ro', self.data + ':/mnt/x').code, 0)
        self.assertEqual((self.targets(), self.seen()['labels']), ([('/mnt/x', 'ro')], expected))

    def test_what_is_mounted_later_is_told_and_what_is_taken_off_is_not(self):
        self.create('--rw', self.data + ':/mnt/made', '--tmpfs', '/tmp/own:1M')
        before = self.seen()
        self.assertEqual(self.yett('mount', 'box', '--ro', self.data + ':/mnt/x', '--rw', self.data + ':/mnt/y"z').code, 0)
        self.assertEqual(self.targets(), [('/mnt/made', 'rw'), ('/mnt/x', 'ro'), ('/mnt/y"z', 'rw')])
        self.assertEqual(self.yett('mount', 'box', '--cow', self.data + ':/mnt/x/a', '--ro', self.data + ':/mnt/xy').code, 0)
        self.assertEqual(self.yett('unmount', 'box', '/mnt/made').code, 0)
        self.assertEqual(self.targets(), [('/mnt/x', 'ro'), ('/mnt/y"z', 'rw'), ('/mnt/xy', 'ro'), ('/mnt/x/a', 'cow')])
        self.assertEqual(self.yett('unmount', 'box', '/mnt/x').code, 0)  # with what lies in it
        self.assertEqual(self.targets(), [('/mnt/y"z', 'rw'), ('/mnt/xy', 'ro')])
        self.assertEqual(self.yett('unmount', 'box', '/mnt/y"z', '/mnt/xy', '/tmp/own').code, 0)
        self.assertEqual(self.seen(), {**before, 'shares': [], 'tmpfs': []})

    def test_what_could_not_be_mounted_is_not_told(self):
        self.create('--rw', self.data + ':/mnt/there')
        before = self.yett('exec', 'box', '--', 'cat', PATH).out
        self.assert_refused(self.yett('mount', 'box', '--ro', self.data + ':/mnt/x', '--ro', self.data + ':/mnt/there'), 1, 'something is mounted at /mnt/there already')
        self.assert_refused(self.yett('unmount', 'box', '/mnt/none'), 1, 'nothing is mounted')
        self.assertEqual(self.yett('refresh', 'box').code, 0)
        self.assertEqual(self.yett('exec', 'box', '--', 'cat', PATH).out, before)
        self.assertNotIn('next', self.yett('exec', 'box', '--', 'ls', '-A', '/run/yett').out)

    def test_who_has_it_open_goes_on_reading_the_one_before(self):
        self.create()
        process = self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c', 'exec 3<%s; echo up; read x; cat <&3' % PATH, stdin=-1, stdout=-1)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'up')
        self.assertEqual(self.yett('mount', 'box', '--ro', self.data + ':/mnt/x').code, 0)
        self.assertEqual(json.loads(process.communicate(b'\n')[0])['shares'], [])

    def test_one_whose_own_room_is_full_is_told_all_the_same(self):
        self.create()
        self.assertNotEqual(self.yett('exec', 'box', '--', 'dd', 'if=/dev/zero', 'of=/tmp/full', 'bs=1M').code, 0)
        self.assertEqual(self.yett('mount', 'box', '--ro', self.data + ':/mnt').code, 1)
        self.yett('exec', 'box', '--', 'mkdir', '/tmp/x')
        self.assertEqual(self.yett('mount', 'box', '--ro', self.data + ':/tmp/x').code, 0)
        self.assertEqual(self.targets(), [('/tmp/x', 'ro')])

    def test_as_much_as_can_be_asked_for(self):
        long = '/mnt/' + '\u2028"' * 40
        words = [word for i in range(40) for word in ('--ro', '%s:%s%d' % (self.data, long, i))]
        words += [word for i in range(20) for word in ('--label', 'k%d=%s' % (i, '"' * 100))]
        about = self.about(*words)
        self.assertEqual([share['target'] for share in about['shares']], sorted('%s%d' % (long, i) for i in range(40)))
        self.assertEqual(about['labels'], {'k%d' % i: '"' * 100 for i in range(20)})

    def test_commands_that_are_restricted_and_profiles_of_all_kinds_have_it(self):
        self.create()
        done = self.yett('exec', '--only', '/tmp', '--read-only', '--no-network', 'box', '--', 'cat', PATH)
        self.assertEqual(json.loads(done.out)['name'], 'box', done)
        for profile in ('listed', 'strict'):
            self.assertEqual(self.about('-p', profile)['profile'], profile)

    def test_commands_read_it_and_no_more(self):
        script = 'stat -c "%%a %%s" %s | cut -d" " -f1; echo x >%s; rm -f %s; touch /run/yett/x; mv /run/yett /run/x; cat %s' % ((PATH,) * 4)
        done = self.sandbox('sh', '-c', script, options=('-q',))
        mode, text = done.out.split('\n', 1)
        self.assertEqual((mode, json.loads(text)['version']), ('644', 1))


class ToldRootless(Told):
    service_class = yett.Rootless
    service_options = {'before': POLICY}


class Documented(About):
    """Apart from the others: guests have no documents."""

    service_options = {'before': POLICY}

    def test_the_guide_lists_its_members(self):
        rows = re.findall(r'^\| (`[^|]*) \|', yett.read(os.path.join(yett.SOURCE, 'docs', 'guide.md')).split('/run/yett/sandbox.json', 1)[1].split('\n## ')[0], re.M)
        self.assertEqual([name for row in rows for name in re.findall(r'`(\w+)`', row)], list(self.about()))


class OfService(About):
    service_options = {'before': POLICY + ROOT, 'spares': 2}

    def test_root_inside_is_told_and_cannot_change_it(self):
        about = self.about('-p', 'root')
        self.assertEqual(about['identity'], 'root')
        script = 'id -u; echo x >%s; rm -rf /run/yett; mv /run /x; cat %s' % (PATH, PATH)
        done = self.sandbox('sh', '-c', script, options=('-q', '-p', 'root'))
        uid, text = done.out.split('\n', 1)
        self.assertEqual((uid, json.loads(text)['profile']), ('0', 'root'))

    def test_rules_are_those_of_the_beginning(self):
        self.create('-p', 'networked', '--allow', 'other.example.com:443')
        rules = ['allow other.example.com:443', 'allow api.example.com:443', 'allow 10.1.0.0/16:5432', 'deny bad.example.com:443']
        about = self.seen()
        self.assertEqual((about['network'], about['network_rules'][:4]), ('limited', rules))
        self.assertEqual(self.yett('net', 'allow', 'box', 'more.example.com:443').code, 0)
        self.assertEqual(self.seen()['network_rules'], about['network_rules'])
        self.assertNotIn('yett.conf', json.dumps(about))

    def test_each_of_several_that_were_ready_has_its_own(self):
        for i in range(6):
            about = self.about('--label', 'n=%d' % i, '--name', 'box-%d' % i)
            self.assertEqual((about['name'], about['labels']), ('box-%d' % i, {'n': str(i)}))


if __name__ == '__main__':
    yett.main()
