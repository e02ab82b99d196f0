# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that live: names, labels, listing, attaching, pausing, time limits, and ends, across connections and listeners."""
import os
import shutil
import signal

import growing
import yett

POLICY = '''grant "short" {
  users = {"*"}
  user_keys = true
  profiles = {"short"}
  linger_max = 300ms
}
grant "connected" {
  users = {"*"}
  user_keys = true
  profiles = {"connected"}
}
grant "few" {
  groups = {"4545"}
  user_keys = true
  profiles = {"few"}
  linger_max = unlimited
  max_sandboxes = 2
}
'''
PROFILES = ''.join('profile "%s" { extends = "default" }\n' % name for name in ('short', 'connected', 'few'))


class Lives(yett.Case):
    service_options = {'before': POLICY, 'after': PROFILES}

    def tearDown(self):
        """Each test takes away what it made, or it is told what is left."""
        for user in (self.alice, self.bob):
            left = [status['id'] for status in self.ps(user=user)]
            if left:
                self.yett('destroy', *left, user=user)  # whose time is over may be gone before
        yett.wait_until(lambda: os.listdir(self.service.runtime + '/names') == [], 'the end of names')

    def ps(self, *argv, **more):
        done = self.yett('ps', '--json', *argv, **more)
        self.assertEqual(done.code, 0, done)
        return yett.told(done.out)['sandboxes']

    def create(self, *argv, **more):
        done = self.yett('create', *argv, **more)
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.out, r'^[0-9a-f]{16}\n$')
        return done.out.strip()

    def inspect(self, sandbox, **more):
        done = self.yett('inspect', '--json', sandbox, **more)
        self.assertEqual(done.code, 0, done)
        return yett.told(done.out)['sandbox']

    def exec(self, sandbox, *argv, **more):
        done = self.yett('exec', sandbox, '--', *argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.out

    def is_gone(self, sandbox):
        done = self.yett('inspect', sandbox)
        return done.code == 1 and 'there is no sandbox' in done.err

    # --- files ---

    def test_files_go_in_are_listed_and_printed_and_come_out(self):
        self.create('--name', 'box')
        self.alice.mkdir('into')
        self.alice.mkdir('into/sub')
        self.alice.write('into/first', 'one')
        self.alice.write('into/sub/second', 'two')
        home = self.alice.home
        self.assertEqual(self.yett('cp', home + '/into', 'box:/tmp').code, 0)
        self.assertEqual(self.yett('cat', 'box:/tmp/into/first', 'box:/tmp/into/sub/second').out, 'onetwo')
        rows = self.yett('ls', 'box:/tmp/into').out.splitlines()
        self.assertEqual([row.split()[-1] for row in rows], ['first', 'sub'])
        self.assertRegex(rows[0], r'^-rw-[r-]{6} %s \S+ +3 \d{4}-\d\d-\d\d \d\d:\d\d first$' % self.alice.name)
        listed = yett.told(self.yett('ls', '--json', 'box:/tmp/into').out)['entries']
        self.assertEqual([(entry['name'], entry['kind'], entry['size_bytes']) for entry in listed][0], ('first', 'regular', 3))
        self.exec('box', 'sh', '-c', 'echo three >/tmp/into/third; ln -s third /tmp/into/link')
        self.assertIn('link -> third', self.yett('ls', 'box:/tmp/into/link').out + self.yett('ls', 'box:/tmp/into').out)
        self.assertEqual(self.yett('cp', 'box:/tmp/into', home + '/out').code, 0)
        self.assertEqual(yett.read(home + '/out/third'), 'three\n')
        self.assertEqual(os.readlink(home + '/out/link'), 'third')
        # Into what is there, under its own name; a file under the name given.
        self.assertEqual(self.yett('cp', 'box:/tmp/into/third', home + '/out/sub').code, 0)
        self.assertEqual(self.yett('cp', 'box:/tmp/into/third', home + '/out/other').code, 0)
        self.assertEqual([yett.read(home + '/out/' + name) for name in ('sub/third', 'other')], ['three\n'] * 2)

    def test_what_was_copied_is_told_to_programs(self):
        self.create('--name', 'box')
        folder, inside = self.folder('told'), 'box:/tmp/told'
        self.alice.write('told/first', 'one')
        self.assertEqual(yett.told(self.yett('cp', '--json', folder, 'box:/tmp').out)['copied'],
                         {'from': folder, 'to': '/tmp/told', 'direction': 'in', 'entries': 2, 'bytes': 3, 'skipped': 0})
        self.exec('box', 'mkfifo', '/tmp/told/fifo')
        told = yett.told(self.yett('cp', '--json', inside, folder).out)
        self.assertEqual((told['exit_code'], told['copied'] and told['copied']['skipped']), (1, 1), told)
        self.assertEqual((told['copied']['to'], told['copied']['direction']), (folder + '/told', 'out'))
        told = yett.told(self.yett('cp', '--json', 'box:/none', folder).out)
        self.assertEqual((told['exit_code'], told.get('copied')), (1, None), told)

    def test_a_copy_follows_no_link_that_an_earlier_copy_left(self):
        self.create('--name', 'box')
        home, own = self.alice.home, self.folder('own')
        self.exec('box', 'sh', '-c', 'echo bad >/tmp/bad; mkdir /tmp/files; ln -s %s /tmp/later' % own)
        self.assertEqual(self.yett('cp', 'box:/tmp/later', home + '/later').code, 0)
        for source in ('/tmp/bad', '/tmp/files'):
            done = self.yett('cp', 'box:' + source, home + '/later')
            self.assertEqual((done.code, os.listdir(own)), (2, []), done)
            self.assertIn('is a symbolic link to a directory', done.err)
        self.assertEqual(self.yett('cp', 'box:/tmp/bad', home + '/later/').code, 0)
        self.assertEqual(os.listdir(own), ['bad'])

    def test_files_of_others_and_what_is_no_path_are_refused(self):
        self.create('--name', 'box')
        for argv, code, text in ((('cp', '/a', '/b'), 2, 'must be SANDBOX:/PATH'), (('cp', 'box:/a', 'box:/b'), 2, 'must be SANDBOX:/PATH'),
                                 (('ls', 'box'), 2, 'expected SANDBOX:/PATH'), (('cat', 'box:relative'), 2, 'expected SANDBOX:/PATH'),
                                 (('cat', 'nobody:/etc/passwd'), 1, 'there is no sandbox'), (('cat', 'box:/none'), 1, 'No such file'),
                                 (('cat', 'box:/tmp'), 1, 'directory'), (('cp', '/none/here', 'box:/tmp'), 1, 'No such file')):
            with self.subTest(argv):
                done = self.yett(*argv)
                self.assertEqual(done.code, code, done)
                self.assertIn(text, done.err)
        done = self.yett('cat', 'box:/etc/passwd', user=self.bob)
        self.assertEqual(done.code, 1)
        self.assertIn('there is no sandbox', done.err)
        self.assertEqual(self.exec('box', 'echo', 'alive'), 'alive\n')

    def state(self, sandbox):
        status = self.inspect(sandbox)
        return status['state'], status['ended']

    # --- what is told ---

    def test_what_was_asked_is_told_of_it(self):
        sandbox = self.create('--name', 'web-1', '--label', 'app=web', '--label', 'note=a "b"=c', '--memory', '64M', '--pids', '32',
                              '--wall-time', '1h', '--cpu-time', '10m', '--idle-timeout', '5m', '--idle-action', 'pause',
                              '--cleanup-delay', '1s', '--annotation', 'why=to see, "it"', '--annotation', 'app=no label')
        yett.wait_until(lambda: self.inspect('web-1')['attached'] == 0, 'the end of the connection that made it')
        status = self.inspect('web-1')
        self.assertEqual({name: status[name] for name in (
            'id', 'name', 'profile', 'state', 'ended', 'uid', 'principal', 'linger', 'linger_ms', 'wall_ms', 'cpu_ms', 'idle_ms',
            'idle_action', 'cleanup_ms', 'ended_ms', 'attached', 'labels', 'annotations')}, {
                'id': sandbox, 'name': 'web-1', 'profile': 'default', 'state': 'running', 'ended': None, 'uid': self.alice.uid,
                'principal': None, 'linger': True, 'linger_ms': 12 * 3600000, 'wall_ms': 3600000, 'cpu_ms': 600000, 'idle_ms': 300000,
                'idle_action': 'pause', 'cleanup_ms': 1000, 'ended_ms': 0, 'attached': 0,
                'labels': {'app': 'web', 'note': 'a "b"=c'}, 'annotations': {'why': 'to see, "it"', 'app': 'no label'}})
        self.assertEqual(status['limits'], {'memory_bytes': 64 << 20, 'cpu_millis': 0, 'pids': 32, 'files': 4096, 'file_bytes': 0, 'core_bytes': 1})
        self.assertTrue(self.service.owns_uid(status['private_uid']))
        self.assertTrue(0 < status['created_ms'] <= status['started_ms'])
        shown = self.yett('inspect', sandbox).out
        for text in (sandbox, 'web-1', 'running', '64 MiB', 'app=web', 'why=to see, "it"', '5m, then paused'):
            self.assertIn(text, shown)
        for filters in ('label=why', 'label=#why', 'label=app=no label'):
            self.assertEqual(self.ps('--filter', filters), [])

    def test_what_it_is_is_told_of_it(self):
        kind = {'hostname': 'box-1', 'platform': 'linux', 'architecture': os.uname().machine, 'type': 'namespaces',
                'backend': 'rootless' if isinstance(self.service, yett.Rootless) else 'service'}
        made = yett.told(self.yett('create', '--json', '--name', 'box', '--hostname', 'box-1').out)['sandbox']
        attached = yett.told(self.yett('exec', '--json', 'box', '--', 'uname', '-nm').out)
        self.assertEqual(attached['command']['stdout']['content']['text'], 'box-1 %s\n' % kind['architecture'])
        for told in made, attached['sandbox'], self.inspect('box'):
            self.assertEqual({name: told[name] for name in kind}, kind)
        self.assertRegex(self.yett('inspect', 'box').out, r'(?m)^host name +box-1\nkind +namespaces, linux %(architecture)s by %(backend)s$' % kind)
        self.create('--name', 'plain')
        self.assertEqual(self.inspect('plain')['hostname'], 'sandbox')  # the profile's

    def test_the_steps_that_made_it_are_told_of_it(self):
        self.alice.mkdir('shared')
        options = ('--ro', self.alice.home + '/shared:/shared', '--name', 'box', '--annotation', 'why=a note', '--hostname', 'h')
        done = self.sandbox('true', options=('--dry-run', *options))
        self.assertEqual(done.code, 0, done)
        planned = done.out.splitlines()[1:]
        told = yett.told(self.output('true', options=[*options, '--dry-run', '--json']))['plan']
        process = self.start('sh', '-c', 'echo up; read x', options=options)
        self.assertEqual(self.line(process), 'up')
        shown = self.yett('inspect', 'box').out
        self.assertEqual(shown[shown.index('\nsandbox '):].splitlines()[2:], planned)
        plan = self.inspect('box')['plan']
        self.assertEqual((plan.pop('id') != told.pop('id'), plan), (True, told))
        self.assertEqual((plan['profile']['name'], plan['annotations']), ('default', ['why=a note']))
        self.assertEqual([step['step'] for step in plan['steps']], [line.split()[1] for line in planned if line[:3].strip().isdigit()])
        self.assertEqual([(step['target'], step['writable'], step['place']) for step in plan['steps'] if step['step'] == 'share'],
                         [('/shared', False, '%s:%d' % (self.service.policy, self.service.line('share_ro = {"*"}')))])
        self.assertEqual(self.yett('inspect', 'box', user=self.bob).code, 1)
        process.stdin.close()
        process.wait()
        self.create('--name', 'gone', '--wall-time', '1ms', '--cleanup-delay', '1h')
        yett.wait_until(lambda: self.inspect('gone')['state'] == 'stopped', 'the end of a sandbox')
        self.assertEqual(self.inspect('gone')['plan']['name'], 'gone')

    def test_an_annotation_is_bounded(self):
        self.assert_refused(self.yett('create', '--annotation', 'k=' + 'v' * 254), 2, 'an annotation is longer than 255 bytes')
        self.assert_refused(self.yett('create', '--label', '#k=v'), 2, 'KEY=VALUE')
        notes = [word for i in range(11) for word in ('--annotation', '%x=' % i + 'v' * 253)]
        self.assert_refused(self.yett('create', *notes), 2, 'have more than 2,560 bytes together')

    def test_lists_are_filtered(self):
        first = self.create('--name', 'one', '--label', 'app=web', '--label', 'tier=1')
        second = self.create('--name', 'two', '--label', 'app=db')
        self.assertEqual([status['id'] for status in self.ps()], [first, second])
        for filters, expected in ((('label=app',), [first, second]), (('label=app=db',), [second]), (('label=ap',), []),
                                  (('label=app', 'label=tier=1'), [first]), (('state=running', 'name=two'), [second]),
                                  (('state=paused',), []), (('profile=default',), [first, second]), (('profile=strict',), [])):
            argv = [word for text in filters for word in ('--filter', text)]
            self.assertEqual([status['id'] for status in self.ps(*argv)], expected, filters)
            self.assertEqual(self.yett('ps', '-q', *argv).out.split(), expected)
        self.assertEqual(self.yett('ps', '--filter', 'size=1').code, 2)
        self.assertIn('app=web tier=1', self.yett('ps').out)

    def test_one_that_a_command_holds_is_listed_and_ends_with_it(self):
        process = self.start('sh', '-c', 'echo up; read x', options=('--name', 'held'))
        self.assertEqual(self.line(process), 'up')
        self.assertEqual((self.inspect('held')['attached'], self.inspect('held')['linger']), (1, False))
        self.assertEqual(self.exec('held', 'echo', 'beside'), 'beside\n')
        process.kill()
        yett.wait_until(lambda: self.is_gone('held'), 'the end of a sandbox whose client was killed')

    # --- names ---

    def test_a_name_is_one_sandboxs_of_a_user(self):
        self.create('--name', 'mine')
        self.create('--name', 'mine', user=self.bob)
        self.assert_refused(self.yett('create', '--name', 'mine'), 1, "a sandbox named 'mine' is there already")
        self.assertEqual(self.yett('destroy', 'mine').code, 0)
        self.assertTrue(self.is_gone('mine'))
        self.create('--name', 'mine')
        self.assertEqual(len(self.ps(user=self.bob)), 1)

    def test_a_name_that_could_be_an_id_is_refused(self):
        self.assert_refused(self.yett('create', '--name', '0123456789abcdef'), 2, 'could be the id of another sandbox')

    def test_bad_options_are_refused_before_anything_is_asked(self):
        for argv in (('--name', 'A b'), ('--name', '../x'), ('--name', ''), ('--label', 'x'), ('--label', '=x'),
                     ('--idle-action', 'stop'), ('--idle-timeout', '0s'), ('--wall-time', '721h'), ('--cpu-time', 'x'),
                     ('--label', 'k=' + 'v' * 255)):
            self.assertEqual(self.yett('create', *argv).code, 2, argv)
        self.assert_refused(self.yett('create', '--label', 'a=1', '--label', 'a=2'), 2, 'has the key of another label')
        for word in ('inspect', 'pause', 'resume', 'kill', 'destroy', 'attach'):
            self.assert_refused(self.yett(word, 'nothing'), 1, "there is no sandbox 'nothing'")
            self.assertEqual(self.yett(word, '../x').code, 1)
        self.assert_refused(self.yett('exec', 'nothing', 'true'), 125, "there is no sandbox 'nothing'")

    # --- across connections ---

    def test_one_that_lingers_outlives_its_client_however_that_ends(self):
        process = self.start('sh', '-c', 'echo kept > /tmp/file; echo up; sleep 1000', options=('--linger', '--name', 'lingers'))
        self.assertEqual(self.line(process), 'up')
        process.kill()
        process.wait()
        yett.wait_until(lambda: self.inspect('lingers')['attached'] == 0, 'the end of a connection')
        self.assertEqual(self.exec('lingers', 'cat', '/tmp/file'), 'kept\n')
        yett.wait_until(lambda: 'sleep' in self.exec('lingers', 'sh', '-c', 'cat /proc/[0-9]*/comm'), 'the command')
        self.assertEqual(self.yett('kill', 'lingers').code, 0)
        yett.wait_until(lambda: 'sleep' not in self.exec('lingers', 'sh', '-c', 'cat /proc/[0-9]*/comm || :'), 'the end of commands')
        self.assertEqual(self.exec('lingers', 'cat', '/tmp/file'), 'kept\n')

    def test_commands_of_two_connections_are_apart(self):
        sandbox = self.create()
        first = self.service.popen(self.alice, self.service.yett, 'exec', sandbox, '--', 'sh', '-c', 'echo up; read x; exit 7',
                                   stdin=-1, stdout=-1, stderr=-1)
        self.addCleanup(self.end, first)
        self.assertEqual(self.line(first), 'up')
        self.assertEqual(self.yett('exec', sandbox, '--', 'sh', '-c', 'exit 3').code, 3)
        yett.wait_until(lambda: self.inspect(sandbox)['attached'] == 1, 'the end of a connection')
        first.stdin.write(b'\n')
        first.stdin.close()
        self.assertEqual(first.wait(yett.DEADLINE), 7)

    def test_attach_tells_of_states_until_the_end(self):
        sandbox = self.create()
        watcher = self.service.popen(self.alice, self.service.yett, 'attach', sandbox, stdout=-1, stderr=-1)
        self.addCleanup(self.end, watcher)
        self.assertEqual(self.line(watcher), sandbox + ' running')
        self.yett('pause', sandbox)
        self.assertEqual(self.line(watcher), sandbox + ' paused')
        self.yett('resume', sandbox)
        self.assertEqual(self.line(watcher), sandbox + ' running')
        self.yett('destroy', sandbox)
        self.assertEqual(self.line(watcher), sandbox + ' ended destroyed')
        self.assertEqual(watcher.wait(yett.DEADLINE), 0)

    def test_twenty_outlive_the_listener_and_a_killed_one(self):
        made = {self.create('--label', 'n=%d' % n) for n in range(20)}
        for how in (signal.SIGTERM, signal.SIGKILL):
            os.kill(self.service.pid(), how)
            self.service.process.wait(yett.DEADLINE)
            self.service.start()
            self.assertEqual({status['id'] for status in self.ps()}, made)
            for sandbox in made:
                self.assertEqual(self.exec(sandbox, 'echo', sandbox), sandbox + '\n')
        self.assertEqual(self.yett('destroy', *made).code, 0)
        self.assertEqual(self.ps(), [])

    def test_a_new_policy_ends_none(self):
        sandbox = self.create()
        self.service.reload()
        self.assertEqual(self.exec(sandbox, 'echo', 'there'), 'there\n')

    # --- who ---

    def test_what_is_anothers_is_not_there(self):
        sandbox = self.create('--name', 'alices')
        for wanted in (sandbox, 'alices'):
            for argv in (('inspect',), ('pause',), ('resume',), ('kill',), ('destroy',), ('attach',)):
                theirs, none = (self.yett(*argv, name, user=self.bob) for name in (wanted, 'nothing'))
                self.assertEqual((theirs.code, theirs.out, theirs.err.replace(wanted, 'nothing')), (none.code, none.out, none.err))
            self.assert_refused(self.yett('exec', wanted, 'true', user=self.bob), 125, 'there is no sandbox')
        self.assertEqual(self.ps(user=self.bob), [])
        self.assert_refused(self.yett('ps', '--all', user=self.bob), 1, 'only root')
        self.assertEqual(self.state('alices'), ('running', None))

    def test_what_another_key_of_the_user_made_is_not_there(self):
        own = self.create('--name', 'own')
        enrolled = self.service.keys + '/laptop.pub'
        shutil.copy(self.alice.home + '/.config/yett/id_ed25519.pub', enrolled)
        self.addCleanup(lambda: os.path.exists(enrolled) and os.unlink(enrolled))
        self.assertTrue(self.is_gone('own'))
        self.assertTrue(self.is_gone(own))
        self.assertEqual(self.ps(), [])
        laptop = self.create('--name', 'laptops')
        self.assertEqual(self.inspect(laptop)['principal'], 'laptop')
        self.assertEqual(self.yett('destroy', laptop).code, 0)
        os.unlink(enrolled)
        self.assertEqual([status['id'] for status in self.ps()], [own])

    # --- states ---

    def test_a_paused_sandbox_stands_still_and_goes_on(self):
        folder = self.folder('counter')
        process = self.start('sh', '-c', 'i=0; while :; do i=$((i+1)); echo $i > /data/n; done',
                             options=('--name', 'counts', '--rw', folder + ':/data'))

        def count():
            text = yett.read(folder + '/n') if os.path.exists(folder + '/n') else ''
            return int(text or 0)

        yett.wait_until(lambda: count() > 10, 'a counter that runs')
        self.assertEqual(self.yett('pause', 'counts').code, 0)
        before = yett.read(folder + '/n')
        self.assertEqual(self.state('counts'), ('paused', None))
        for argv, code, text in ((('exec', 'counts', '--', 'true'), 125, 'the sandbox is paused'),
                                 (('pause', 'counts'), 1, 'paused already'), (('kill', 'counts'), 1, 'paused')):
            self.assert_refused(self.yett(*argv), code, text)
        self.assertEqual(yett.read(folder + '/n'), before)
        self.assertEqual(self.yett('resume', 'counts').code, 0)
        yett.wait_until(lambda: yett.read(folder + '/n') not in ('', before), 'a counter that goes on')
        self.assert_refused(self.yett('resume', 'counts'), 1, 'is not paused')
        self.assertIsNone(process.poll())

    def test_a_paused_sandbox_can_be_destroyed(self):
        sandbox = self.create()
        self.assertEqual(self.yett('pause', sandbox).code, 0)
        self.assertEqual(self.yett('destroy', sandbox).code, 0)
        self.assertTrue(self.is_gone(sandbox))
        self.assertEqual(self.sandbox('true').code, 0)

    def ends(self, how, *argv, command=None):
        """It ends by itself for that reason, is listed with it, takes no request, and can be removed."""
        self.create('--name', 'ends', '--cleanup-delay', '1h', *argv)
        if command:
            self.service.popen(self.alice, self.service.yett, 'exec', 'ends', '--', 'sh', '-c', command, stderr=-1).communicate()
        yett.wait_until(lambda: self.state('ends') == ('stopped', how), 'the end by ' + how)
        self.assertGreater(self.inspect('ends')['ended_ms'], 0)
        for word, code in (('exec', 125), ('pause', 1), ('resume', 1), ('kill', 1), ('attach', 1)):
            self.assert_refused(self.yett(word, 'ends', *(['true'] if word == 'exec' else [])), code, 'the sandbox has ended')
        self.assert_refused(self.yett('create', '--name', 'ends'), 1, 'is there already')
        self.assertEqual(self.yett('destroy', 'ends').code, 0)
        self.assertTrue(self.is_gone('ends'))

    def test_its_wall_time_ends_it(self):
        self.ends('wall-time', '--wall-time', '300ms', command='sleep 1000')

    def test_its_processor_time_ends_it(self):
        self.ends('cpu-time', '--cpu-time', '200ms', command='while :; do :; done & while :; do :; done')

    def test_idleness_ends_it(self):
        self.ends('idle', '--idle-timeout', '200ms', command='true')

    def test_idleness_ends_it_after_many_commands(self):
        def attempt(ms):
            """While one of them sleeps it is not idle, and then there is a child of init's that is ready for the next one."""
            done = self.yett('run', '-b', '--linger', '--name', 'ends', '--idle-timeout', '%dms' % ms, '--cleanup-delay', '1h', '--', 'sleep', '1000')
            if done.code == 0:
                for _ in range(3):
                    self.assertEqual(self.yett('exec', 'ends', '--', 'true').code, 0)
                self.assertEqual(self.yett('kill', 'ends').code, 0)
            yett.wait_until(lambda: self.state('ends') == ('stopped', 'idle'), 'the end by idleness')
            self.assertEqual(self.yett('destroy', 'ends').code, 0)
            return done.code == 0 or None
        growing.grow(attempt, 'a sandbox that is not idle before its first command')

    def test_idleness_pauses_it_if_that_was_asked(self):
        sandbox = self.create('--idle-timeout', '200ms', '--idle-action', 'pause')
        yett.wait_until(lambda: self.state(sandbox) == ('paused', None), 'an idle sandbox that is paused')
        self.assertEqual(self.yett('resume', sandbox).code, 0)

    def test_what_only_sleeps_is_not_idle(self):
        def attempt(ms):
            self.create('--name', 'sleeps', '--idle-timeout', '%dms' % ms)
            done = self.yett('exec', 'sleeps', '--', 'sh', '-c', 'sleep %f & wait; exit 5' % (5 * ms / 1000))
            if done.code == 125 and ('there is no sandbox' in done.err or 'has ended' in done.err):
                yett.wait_until(lambda: self.is_gone('sleeps'), 'the end of an idle sandbox')
                return None
            return done
        done = growing.grow(attempt, 'a command in a sandbox that was at rest')
        self.assertEqual(done.code, 5, done)

    def test_after_its_cleanup_delay_it_is_gone(self):
        self.create('--name', 'brief', '--wall-time', '100ms', '--cleanup-delay', '300ms')
        yett.wait_until(lambda: self.is_gone('brief'), 'the end of a cleanup delay')

    def test_a_client_is_told_why_its_sandbox_ended(self):
        def attempt(ms):
            """One that is held and rests before its command begins has the same end."""
            done = self.sandbox('sh', '-c', 'echo up; sleep %f' % (3 * ms / 1000), options=('--idle-timeout', '%dms' % ms))
            return done if done.out else None
        done = growing.grow(attempt, 'the beginning of a command')
        self.assertEqual((done.code, done.out), (0, 'up\n'), done)

    def test_a_time_limit_ends_a_run_with_a_result(self):
        for option, text, limits in (('--wall-time', "the sandbox's time limit reached (%dms)", []),
                                     ('--cpu-time', "the sandbox's processor time limit reached (%dms)", ['cpu_time'])):
            def attempt(ms):
                # no whole seconds, which are told as such
                done = self.sandbox('sh', '-c', 'while :; do :; done', options=(option, '%dms' % (ms + 1), '--json'))
                told = yett.told(done.out)
                if not told['result']:
                    return None
                self.assert_refused(done, 124, text % (ms + 1))
                self.assertEqual((told['exit_code'], told['error']), (124, None))
                return told
            told = growing.grow(attempt, 'the beginning of a command')
            self.assertEqual([told['result'][key] for key in ('signaled', 'status', 'timed_out', 'limits_hit')], [True, 9, True, limits])

        def attempt_exec(ms):
            self.create('--name', 'brief', '--wall-time', '%dms' % ms)
            done = self.yett('exec', 'brief', '--', 'sleep', '1000')
            yett.wait_until(lambda: self.is_gone('brief'), 'the end of a sandbox')
            return done if done.code != 125 else None
        self.assert_refused(growing.grow(attempt_exec, 'a sandbox that is there when a command comes'), 124, "the sandbox's time limit reached")

    def test_a_killed_init_is_a_failure(self):
        self.create('--name', 'fails', '--cleanup-delay', '1h')
        uid = str(self.inspect('fails')['private_uid'] // yett.RANGE)
        init = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-init'] and
                str(int(yett.status_of(pid)['Uid'].split()[0]) // yett.RANGE) == uid and
                yett.status_of(pid)['NSpid'].split()[-1] == '1']  # not the child that is ready for a command
        self.assertEqual(len(init), 1)
        os.kill(init[0], signal.SIGKILL)
        yett.wait_until(lambda: self.state('fails') == ('failed', 'init-died'), 'the failure')

    # --- what the policy says ---

    def test_only_who_may_linger_does(self):
        self.assert_refused(self.yett('create', '-p', 'connected'), 1, "'connected' does not allow lingering",
                            ':%d' % self.service.line('grant "connected"'))
        self.assert_refused(self.yett('create', '-p', 'short', '--idle-timeout', '1s'), 1, 'an idle timeout of 1s is more than the 300ms',
                            ':%d' % self.service.line('linger_max = 300ms'))

    def test_what_nobody_looks_after_ends(self):
        self.create('-p', 'short', '--name', 'alone')
        yett.wait_until(lambda: self.is_gone('alone'), 'the end of a sandbox left alone')
        self.create('-p', 'short', '--name', 'paused')
        self.yett('pause', 'paused')
        yett.wait_until(lambda: self.is_gone('paused'), 'the end of a paused sandbox left alone')

    def test_those_that_linger_count(self):
        few = {'groups': [self.alice.gid, 4545]}
        first, second = (self.create('-p', 'few', **few) for _ in range(2))
        self.assert_refused(self.yett('create', '-p', 'few', **few), 1, 'the policy allows this user 2 sandboxes at once')
        self.assertEqual(self.yett('destroy', first, **few).code, 0)
        third = self.create('-p', 'few', '--wall-time', '1ms', '--cleanup-delay', '1h', **few)
        self.assert_refused(self.yett('create', '-p', 'few', **few), 1, 'the policy allows this user 2 sandboxes at once')
        self.assertEqual(self.yett('destroy', second, third, **few).code, 0)

    def test_a_plan_says_what_was_asked(self):
        done = self.sandbox('true', options=('--dry-run', '--linger', '--name', 'x', '--label', 'a=b', '--wall-time', '5m'))
        self.assertEqual(done.code, 0, done)
        for line in ('name x\n', 'label a=b\n', 'life lingers unattended at rest at most 12h wall 5m\n'):
            self.assertIn(line, done.out)


class Spares(Lives):
    """The same where supervisors are made ahead and used again."""
    service_options = {**Lives.service_options, 'spares': 2}


class PerConnection(yett.Case):
    """A helper for each connection: sandboxes outlive it all the same."""
    service_options = {'accept': True}

    def test_a_sandbox_outlives_its_helper(self):
        done = self.yett('create', '--name', 'lasts', '--cleanup-delay', '100ms')
        self.assertEqual(done.code, 0, done)
        for _ in range(2):
            self.assertEqual(self.yett('exec', 'lasts', '--', 'echo', 'there').out, 'there\n')
        self.assertEqual(self.yett('pause', 'lasts').code, 0)
        self.assertEqual(self.yett('ps', '-q', '-f', 'state=paused').out, done.out)
        self.assertEqual(self.yett('destroy', 'lasts').code, 0)
        self.assertEqual(self.yett('ps', '-q').out, '')

    def test_one_that_does_not_linger_ends_with_its_helper(self):
        process = self.start('sh', '-c', 'echo up; read x', options=('--name', 'held'))
        self.assertEqual(self.line(process), 'up')
        self.assertEqual(self.yett('exec', 'held', '--', 'echo', 'beside').out, 'beside\n')
        process.kill()
        yett.wait_until(lambda: self.yett('inspect', 'held').code == 1, 'the end of a sandbox')


if __name__ == '__main__':
    yett.main()
