# SPDX-License-Identifier: Apache-2.0
"""yett-agent, of which other accounts, programs inside sandboxes and the files that it reads make what they can."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading

import agent
import serving

import yett


OPEN = '''
profile "open" {
  extends = "default"
  network = open
}
profile "limited" {
  extends = "default"
  network = limited
  allow = {"of-the-profile.example:443"}
}
grant "open" {
  users = {"*"}
  user_keys = true
  profiles = {"default", "strict", "open", "limited"}
  allow = {"*"}
  network = host
  share_ro = {"*"}
  share_rw = {"*"}
  linger_max = 1h
}
'''


# What models of those who have it may have at most.
FOR_MODELS = '''
grant "models" {
  users = {"*"}
  agents = true
  user_keys = true
  profiles = {"default", "limited"}
  share_ro = {"/usr"}
  network = limited
  allow = {"*.one.example:443"}
  max_memory = 4G
  linger_max = 1h
}
'''


class Asking(agent.Users):
    """A model, and what it is not to reach."""

    # What there is of one of the user's own that no agent made.
    ABOUT_ONE = [('run_command', {'command': 'true'}), ('run_code', {'language': 'bash', 'code': 'true'}), ('read_file', {'path': '/etc/hostname'}),
                 ('write_file', {'path': '/tmp/x', 'content': ''}), ('list_files', {'path': '/'}), ('events', {})]
    ABOUT_ONE += [('sandboxes', {'action': action}) for action in ('info', 'stats', 'end', 'pause', 'resume', 'kill', 'rules', 'mounts')]
    ABOUT_ONE += [('sandboxes', {'action': 'allow', 'allow': ['one.example:443']}), ('sandboxes', {'action': 'deny', 'deny': ['one.example:443']})]

    def setUp(self):
        self.home = os.path.realpath(self.alice.home)
        self.alice.mkdir('.ssh', 0o700)
        self.project = os.path.realpath(self.alice.mkdir('project'))
        self.secret = self.alice.write('.ssh/id', 'secret', 0o600)
        self.alice.write('.bashrc', 'as it was')
        self.alice.write('project/file', 'as it was')
        for folder in (self.project, self.home + '/.ssh'):
            self.addCleanup(shutil.rmtree, folder)

    def tool(self, *bounds, cwd=None, **more):
        tool = agent.Tool(self.service, self.alice, *bounds, cwd=cwd or self.project, **more)
        self.addCleanup(self.end, tool.process)
        return tool

    def refused(self, tool, operation, **asked):
        answer = tool.ask(operation, **asked)
        self.assertEqual(answer.get('error', {}).get('code'), 'permission-denied', (asked, answer))
        return answer['error']

    def ran(self, tool, command, *shares, **more):
        answer = tool.ask('run_command', command=command, shares=[{'path': path, 'target': '/mnt', 'mode': mode} for path, mode in shares], **more)
        self.assertNotIn('error', answer)
        return answer['stdout'].strip()

    def untouched(self):
        self.assertEqual(sorted(os.listdir(self.home + '/.ssh')), ['id'])
        self.assertEqual([yett.read(self.home + '/' + name) for name in ('.ssh/id', '.bashrc', 'project/file')], ['secret', 'as it was', 'as it was'])


class Model(Asking):
    """A model that asks for whatever it likes: it reaches what whoever started the program gave, and nothing else changes or is read."""

    service_options = {'before': OPEN}

    def test_what_was_given_is_reached(self):
        """So the rest shows something."""
        tool = self.tool('--rw', self.home + '/.ssh', '--net', 'limited')
        self.assertEqual(self.ran(tool, 'echo mine >/mnt/new; cat /mnt/id', (self.home + '/.ssh', 'rw')), 'secret')
        self.assertEqual(yett.read(self.home + '/.ssh/new'), 'mine\n')
        os.unlink(self.home + '/.ssh/new')

    def test_without_options_it_has_copies_of_the_current_directory(self):
        tool = self.tool()
        places = ['/', '/etc', self.home, self.project + '/../.ssh', self.home + '/project-2', self.service.folder]
        places += [self.home + name for name in ('/.ssh', '/.ssh/id', '/.bashrc', '/.config/yett', '/.config')]
        for place in places:
            for mode in ('ro', 'rw', 'cow'):
                for operation, more in (('run_command', {'command': 'true'}), ('run_code', {'language': 'bash', 'code': 'true'}),
                                        ('sandboxes', {'action': 'make'}), ('sandboxes', {'action': 'plan'})):
                    error = self.refused(tool, operation, shares=[{'path': place, 'target': '/mnt', 'mode': mode}], **more)
                    self.assertIn('--%s %s ' % (mode, place) if 'resolves outside' not in error['message'] else '', error['mend'])
        self.assertEqual(self.ran(tool, 'echo changed >/mnt/file; cat /mnt/file', (self.project, 'cow')), 'changed')
        self.assertEqual(self.ran(tool, 'cat /mnt/file', (self.project + '/', 'ro')), 'as it was')
        self.refused(tool, 'run_command', command='true', shares=[{'path': self.project, 'mode': 'rw'}])
        self.assertEqual(tool.ask('run_command', command='true', shares=[{'path': self.project + '/none'}])['error']['code'], 'file-operation-failed')
        self.untouched()

    def test_at_home_and_where_the_system_is_it_has_nothing(self):
        for place in (self.home, os.path.dirname(self.home), '/', '/etc'):
            tool = self.tool(cwd=place)
            for asked in (place, self.project, self.home + '/.ssh'):
                self.refused(tool, 'run_command', command='true', shares=[{'path': asked, 'target': '/mnt'}])
        self.assertEqual(self.ran(tool, 'echo runs'), 'runs')

    def test_links_lead_nowhere(self):
        tool = self.tool('--rw', self.project)
        self.ran(tool, 'ln -s %s /mnt/out; ln -s ../.ssh /mnt/up; ln -s file /mnt/in; mkdir /mnt/sub; ln -s / /mnt/sub/root' % (self.home + '/.ssh'), (self.project, 'rw'))
        for name in ('out', 'out/id', 'up', 'up/id', 'sub/root', 'sub/root' + self.home, 'sub/../../.ssh', 'sub/root/proc/self/root'):
            for mode in ('ro', 'rw'):
                error = self.refused(tool, 'run_command', command='true', shares=[{'path': '%s/%s' % (self.project, name), 'target': '/mnt', 'mode': mode}])
                self.assertIn('resolves outside', error['message'])
        shown = tool.ask('run_command', command='cat /file', shares=[{'path': self.project + '/in', 'target': '/file'}])
        self.assertEqual(shown['stdout'], 'as it was')
        self.untouched()

    def test_what_was_given_stays_what_it_was(self):
        """A directory that was given inside another one, of which a link is made."""
        self.alice.mkdir('project/given')
        tool = self.tool('--rw', self.project, '--ro', self.project + '/given')
        self.ran(tool, 'rmdir /mnt/given; ln -s %s/.ssh /mnt/given' % self.home, (self.project, 'rw'))
        answer = tool.ask('run_command', command='cat /mnt/id', shares=[{'path': self.project + '/given', 'target': '/mnt'}])
        self.assertNotIn('secret', str(answer))
        self.assertIn('error', answer)

    def test_guarded_paths_need_an_option_of_their_own(self):
        """The user gave a whole home and project, not the guarded paths in them. test_what_was_given_is_reached has the defence off."""
        for name in ('project/.git', 'project/.git/hooks', 'project/.github', 'project/.github/prompts', 'project/src'):
            self.alice.mkdir(name)
        self.alice.write('project/.git/config', 'as it was')
        tool = self.tool('--ro', self.home, '--rw', self.project, '--cow', self.project)
        for name in ('.ssh', '.ssh/id', '.config/yett', '.config/yett/id_ed25519'):
            error = self.refused(tool, 'run_command', command='true', shares=[{'path': '%s/%s' % (self.home, name), 'target': '/mnt/x'}])
            self.assertIn('unless an option names that path', error['message'])
            self.assertIn('--ro %s/%s ' % (self.home, name), error['mend'])
        for name in ('.git', '.git/hooks', '.git/config', '.github', '.github/prompts'):
            error = self.refused(tool, 'run_command', command='true', shares=[{'path': '%s/%s' % (self.project, name), 'target': '/mnt/x', 'mode': 'rw'}])
            self.assertIn('unless an option names that path', error['message'])
            self.assertEqual(self.ran(tool, 'ls -d /mnt', ('%s/%s' % (self.project, name.replace('.git/config', '.git')), 'ro')), '/mnt')
        self.assertEqual(self.ran(tool, 'ls /mnt/.ssh; cat /mnt/.config/yett/id_ed25519 /mnt/.bashrc', (self.home, 'ro')), 'as it was')
        self.assertEqual(self.ran(tool, 'cd /mnt; touch .git/hooks/x .github/prompts/x; mv .git g; mv .github g; echo x >.git/config; touch src/x && ls',
                                  (self.project, 'rw')), 'file\nsrc')
        self.assertEqual(self.ran(tool, 'touch /mnt/.git/hooks/x && ls /mnt/.git/hooks', (self.project, 'cow')), 'x')
        # the mount that lifts the mask is itself in the way
        shares = [{'path': self.home, 'target': '/mnt'}, {'path': self.project, 'target': '/mnt/.ssh'}]
        self.assertEqual(tool.ask('run_command', command='ls /mnt/.ssh', shares=shares)['stdout'], 'file\nsrc\n')
        self.assertEqual((os.listdir(self.project + '/.git/hooks'), yett.read(self.project + '/.git/config')), ([], 'as it was'))
        named = self.tool('--rw', self.project, '--rw', self.project + '/.git/hooks')
        self.assertEqual(self.ran(named, 'touch /mnt/x && ls /mnt', (self.project + '/.git/hooks', 'rw')), 'x')
        self.refused(named, 'run_command', command='true', shares=[{'path': self.project + '/.git/config', 'target': '/mnt/x', 'mode': 'rw'}])
        os.unlink(self.project + '/.git/hooks/x')
        self.untouched()

    def test_its_own_settings_are_guarded_wherever_they_are(self):
        """They say what agents may do."""
        for name in ('project/conf', 'project/conf/yett'):
            self.alice.mkdir(name)
        conf = self.project + '/conf'
        self.alice.write('project/conf/yett/agent.json', '{}')
        self.assertEqual(self.ran(self.tool('--rw', self.project), 'ls /mnt/conf/yett', (self.project, 'rw')), 'agent.json')
        tool = self.tool('--rw', self.project, env={'XDG_CONFIG_HOME': conf})
        self.assertEqual(self.ran(tool, 'echo x 2>&- >/mnt/conf/yett/agent.json; ls /mnt/conf/yett', (self.project, 'rw')), '')
        self.refused(tool, 'run_command', command='true', shares=[{'path': conf + '/yett', 'target': '/mnt', 'mode': 'rw'}])
        self.assertEqual(yett.read(conf + '/yett/agent.json'), '{}')

    def test_targets_of_shares_lift_no_guard(self):
        """Mounted over what is guarded, they would leave the directory above it free to be moved."""
        for name in ('project/.git', 'project/.git/hooks', 'project/src'):
            self.alice.mkdir(name)
        self.alice.write('project/.git/config', 'as it was')
        tool = self.tool('--rw', self.project)
        shares = [(self.project, '/mnt'), (self.project + '/src', '/mnt/.git/hooks'), (self.project + '/file', '/mnt/.git/config')]
        answer = tool.ask('run_command', command='mv /mnt/.git /mnt/g && mkdir /mnt/.git && echo moved',
                          shares=[{'path': path, 'target': target, 'mode': 'rw'} for path, target in shares])
        self.assertEqual((answer['stdout'], 'busy' in answer['stderr']), ('', True), answer)
        self.assertEqual((sorted(os.listdir(self.project)), yett.read(self.project + '/.git/config')), (['.git', 'file', 'src'], 'as it was'))
        self.untouched()

    def test_modes_are_those_that_were_given(self):
        tool = self.tool('--ro', self.project)
        for mode in ('rw', 'cow'):
            self.assertIn('--%s %s ' % (mode, self.project), self.refused(tool, 'run_command', command='true', shares=[{'path': self.project, 'mode': mode}])['mend'])
        self.assertEqual(self.ran(tool, 'cat /mnt/file; echo x 2>&- >/mnt/file', (self.project, 'ro')), 'as it was')
        self.untouched()

    def test_without_options_it_has_no_network(self):
        tool = self.tool()
        for asked in ({'network': 'limited'}, {'network': 'open'}, {'network': 'host'}, {'allow': ['one.example:443']}):
            self.refused(tool, 'run_command', command='true', **asked)
            self.refused(tool, 'sandboxes', action='make', **asked)
        made = tool.ask('sandboxes', action='make')['sandbox']
        self.assertEqual(made['network'], 'none')
        self.assertIn('--allow one.example:443', self.refused(tool, 'sandboxes', action='allow', sandbox=made['id'], allow=['one.example:443'])['mend'])

    def test_rules_are_at_most_those_that_were_given(self):
        tool = self.tool('--allow', '*.one.example:443')
        made = tool.ask('sandboxes', action='make', allow=['a.one.example:443'])['sandbox']
        for rules in (['*'], ['two.example:443'], ['a.one.example'], ['**.one.example:443'], ['a.one.example:443', 'one.example:443'], ['10.0.0.0/8']):
            self.refused(tool, 'run_command', command='true', allow=rules)
            self.refused(tool, 'sandboxes', action='allow', sandbox=made['id'], allow=rules)
        for network in ('open', 'host'):
            self.refused(tool, 'run_command', command='true', network=network)
        rules = tool.ask('sandboxes', action='allow', sandbox=made['id'], allow=['b.one.example:443'])['rules']
        self.assertEqual([rule['rule'] for rule in rules if rule['list'] == 'allow'], ['a.one.example:443', 'b.one.example:443'])

    def test_the_network_of_a_profile_is_no_more_than_was_given(self):
        def made(*bounds, **asked):
            tool = self.tool('--profile', 'open', '--profile', 'limited', *bounds)
            answer = tool.ask('sandboxes', action='make', **asked)
            tool.process.stdin.close()
            return answer['error']['message'] if 'error' in answer else answer['sandbox']['network']
        for profile in ('open', 'limited'):
            self.assertEqual(made(profile=profile), 'none')
            self.assertEqual(made('--net', 'open', profile=profile), profile)
            self.assertEqual(made('--net', 'open', profile=profile, network='none'), 'none')
        self.assertEqual(made('--net', 'limited', profile='limited'), 'limited')
        for name in (None, 'more'):
            self.assertIn("the profile's network open is more than the limited", made('--net', 'limited', profile='open', name=name))
        self.assertEqual(made('--net', 'limited', profile='open', network='limited'), 'limited')
        yett.wait_until(lambda: not yett.told(self.yett('ps', '--json').out)['sandboxes'], 'the end of all')

    def test_one_that_has_its_label_and_a_wider_network_is_not_its_own(self):
        """One whose making was given up comes up like that."""
        tool = self.tool('--profile', 'open', '--net', 'limited')
        made = tool.ask('sandboxes', action='make', network='none', profile='open')['sandbox']
        for name, network in (('wider', 'open'), ('as-wide', 'limited')):
            self.assertEqual(self.yett('create', '-p', 'open', '--net', network, '--name', name, '--label', *made['labels']).code, 0)
            self.addCleanup(self.yett, 'destroy', name)
        for operation, asked in self.ABOUT_ONE:
            self.refused(tool, operation, sandbox='wider', **asked)
        self.assertEqual({one['name'] for one in tool.ask('sandboxes', action='list')['sandboxes']}, {None, 'as-wide'})
        self.assertEqual(tool.ask('run_command', command='echo own', sandbox='as-wide')['stdout'], 'own\n')

    def test_an_open_network_names_nothing_private(self):
        tool = self.tool('--net', 'open')
        for rule in ('127.0.0.1:5432', '10.0.0.0/8', '[::1]:1'):
            self.refused(tool, 'run_command', command='true', network='open', allow=[rule])
        self.assertEqual(tool.ask('sandboxes', action='make', allow=['*:443', 'one.example'])['sandbox']['network'], 'limited')

    def test_limits_and_profiles_are_those_that_were_given(self):
        tool = self.tool('--memory', '64M', '--pids', '20', '--cpus', '0.5', '--profile', 'strict')
        self.assertIn('--profile default', self.refused(tool, 'run_command', command='true')['mend'])
        for more in ({'memory_bytes': (64 << 20) + 1}, {'pids': 21}, {'cpus': 0.6}):
            self.refused(tool, 'run_command', command='true', tier='strong', **more)
        info = tool.ask('sandboxes', action='make', profile='strict')['sandbox']
        self.assertEqual((info['limits']['memory_bytes'], info['limits']['pids'], info['limits']['cpu_millis']), (64 << 20, 20, 500))

    def test_what_somebody_else_made_is_out_of_its_reach(self):
        self.assertEqual(self.yett('create', '--name', 'mine', '--rw', self.home + '/.ssh').code, 0)
        self.addCleanup(self.yett, 'destroy', 'mine')
        box, = yett.told(self.yett('ps', '--json').out)['sandboxes']
        other = self.tool('--ro', self.project)
        named = other.ask('sandboxes', action='make', name='others')['sandbox']
        self.addCleanup(self.yett, 'destroy', 'others')
        tool = self.tool()
        for sandbox in ('mine', box['id'], 'others', named['id']):
            for operation, asked in self.ABOUT_ONE:
                self.assertIn('--sandboxes all', self.refused(tool, operation, sandbox=sandbox, **asked)['mend'])
        self.assertEqual(tool.ask('sandboxes', action='list'), {'sandboxes': []})
        self.assertEqual(tool.ask('sandboxes', action='stats'), {'stats': []})
        told = tool.ask('events')['events']
        self.assertEqual({event['kind'] for event in told}, {'refused'})  # and each of them is told
        self.assertGreaterEqual(len(told), 4 * len(self.ABOUT_ONE))
        self.assertEqual({one['name'] for one in yett.told(self.yett('ps', '--json').out)['sandboxes']}, {'mine', 'others'})
        self.untouched()
        same = self.tool('--ro', self.project)
        self.assertEqual([one['name'] for one in same.ask('sandboxes', action='list')['sandboxes']], ['others'])
        self.assertEqual(same.ask('run_command', sandbox='others', command='echo same')['stdout'], 'same\n')
        every = self.tool('--sandboxes', 'all')
        self.assertEqual(every.ask('run_command', sandbox='mine', command='cat %s/.ssh/id' % self.home)['stdout'], 'secret')

    def test_the_settings_file_gives_the_same(self):
        settings = self.home + '/.config/yett/agent.json'
        before = yett.read(settings)
        self.addCleanup(yett.write, settings, before)

        def give(**may):
            self.alice.write('.config/yett/agent.json', json.dumps({**json.loads(before), 'may': may}))
        give(shares=[{'path': self.project, 'mode': 'rw'}], allow=['one.example:443'], profiles=['default'])
        tool = self.tool(cwd='/')
        self.assertEqual(self.ran(tool, 'cat /mnt/file', (self.project, 'rw')), 'as it was')
        self.assertEqual(tool.ask('sandboxes', action='make', allow=['one.example:443'])['sandbox']['network'], 'limited')
        self.refused(tool, 'run_command', command='true', tier='strong')
        tool = self.tool('--ro', self.project, cwd='/')
        self.refused(tool, 'run_command', command='true', shares=[{'path': self.project, 'mode': 'rw'}])
        for wrong in ({'shares': [{'path': 'project'}]}, {'network': 'some'}, {'nothing': 1}, {'network': 'none', 'allow': ['*']}, {'allow': ['a b']},
                      {'shares': [{'path': self.home + '/none'}]}):
            give(**wrong)
            done = self.service.run(self.alice, agent.PROGRAM, 'tool', 'run_command', input='{"command": "true"}')
            self.assertEqual((done.code, done.out), (64, ''), wrong)

    def test_options_that_say_nothing_are_refused(self):
        for wrong in (('--rw', self.home + '/none'), ('--net', 'some'), ('--allow', 'a b'), ('--memory', '0'), ('--cpus', 'x'), ('--sandboxes', 'some'),
                      ('--ro', 'none')):
            done = self.service.run(self.alice, agent.PROGRAM, *wrong, 'tool', 'run_command', input='{"command": "true"}')
            self.assertIn(done.code, (1, 64), wrong)
            self.assertEqual(done.out, '', wrong)
            self.assertIn('yett-agent: ', done.err)

    def test_what_is_refused_is_told_to_whoever_looks(self):
        tool = self.tool()
        for operation, asked in (('run_command', {'command': 'cat key'}), ('sandboxes', {'action': 'make'})):
            self.refused(tool, operation, shares=[{'path': self.home + '/.ssh'}], **asked)
        told = [event for event in tool.ask('events')['events'] if event['kind'] == 'refused']
        self.assertEqual([event['text'] for event in told], ['cat key', 'sandboxes make'])
        self.assertIn('.ssh may not be shared', told[0]['error']['message'])

    def test_a_server_is_bound_alike_and_told_otherwise_by_nobody(self):
        server = serving.Server(self.service, self.alice)
        self.addCleanup(server.end)
        self.assertEqual(server.ask('PUT', '/config', {'may': {'network': 'host'}}).status, 400)
        self.assertEqual(server.ask('PUT', '/config', {'light': 'other'}).status, 403)
        self.assertEqual(server.call('run_command', command='true', profile='other').status, 403)
        self.assertEqual(server.call('run_command', command='true', profile='default', shares=[{'path': self.home + '/.ssh'}]).status, 403)
        self.assertEqual(self.yett('create', '--name', 'mine', '--net', 'limited').code, 0)
        self.addCleanup(self.yett, 'destroy', 'mine')
        for answer in (server.get('/network/mine'), server.ask('PUT', '/network/mine', {'enabled': False}), server.get('/v1/events?sandbox=mine')):
            self.assertEqual(answer.status, 403, answer)


class Granted(Asking):
    """An administrator has a grant for models: no option lifts it. Model shows what each of these options gives without one."""

    service_options = {'before': OPEN + FOR_MODELS}
    EVERYTHING = ('--rw', '/', '--net', 'host', '--profile', 'open', '--profile', 'default', '--profile', 'limited', '--sandboxes', 'all')

    def refused_by(self, rule, tool, operation='run_command', **asked):
        error = self.refused(tool, operation, **({'command': 'true'} if operation == 'run_command' else {}), **asked)
        self.assertEqual(error.get('rule'), rule and rule + " of grant 'models'", error)

    def test_no_option_gives_more(self):
        tool = self.tool('--rw', self.home, '--rw', self.home + '/.ssh', *self.EVERYTHING)
        for place in (self.project, self.home + '/.ssh'):
            for mode, key in (('ro', 'share_ro'), ('cow', 'share_ro'), ('rw', 'share_rw')):
                for operation in ('run_command', 'sandboxes'):
                    self.refused_by(key, tool, operation, shares=[{'path': place, 'target': '/mnt', 'mode': mode}],
                                    **({'action': 'make'} if operation == 'sandboxes' else {}))
        self.assertEqual(self.ran(tool, 'ls -d /mnt/bin', ('/usr', 'ro')), '/mnt/bin')
        self.refused_by('max_memory', tool, memory_bytes=5 << 30)
        self.refused_by('profiles', tool, profile='open')
        for network in ('open', 'host'):
            self.refused_by('network', tool, network=network)
        self.refused_by('allow', tool, allow=['two.example:443'])
        made = tool.ask('sandboxes', action='make', allow=['a.one.example:443'])['sandbox']
        self.refused_by('allow', tool, 'sandboxes', action='allow', sandbox=made['id'], allow=['two.example:443'])
        self.assertIn('rules', tool.ask('sandboxes', action='allow', sandbox=made['id'], allow=['b.one.example:443']))
        self.untouched()

    def test_what_the_user_made_by_another_grant_is_out_of_its_reach(self):
        for name, profile in (('wide', 'open'), ('plain', 'default')):
            self.assertEqual(self.yett('create', '-p', profile, '--name', name).code, 0)
            self.addCleanup(self.yett, 'destroy', name)
        tool = self.tool(*self.EVERYTHING)
        for operation, asked in self.ABOUT_ONE:
            self.assertIn('error', tool.ask(operation, sandbox='wide', **asked))
        # nor what another grant gave in a profile that the one for models gives as well
        for operation, asked in self.ABOUT_ONE:
            self.assertIn('error', tool.ask(operation, sandbox='plain', **asked))
        made = tool.ask('sandboxes', action='make', name='made')['sandbox']
        self.assertEqual({one['name'] for one in tool.ask('sandboxes', action='list')['sandboxes']}, {'made'})
        self.assertEqual(tool.ask('run_command', command='echo made', sandbox='made')['stdout'], 'made\n')
        tool.ask('sandboxes', action='end', sandbox=made['id'])
        self.assertEqual({one['name'] for one in yett.told(self.yett('ps', '--json').out)['sandboxes']}, {'wide', 'plain'})

    def test_the_user_is_no_model(self):
        done = self.yett('run', '-p', 'open', '--rw', self.project, '--', 'sh', '-c', 'echo new >"$1/file"', 'sh', self.project)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(yett.read(self.project + '/file'), 'new\n')


class Held(serving.Case):
    """A sandbox whose init does not answer: who is inside may keep it from that, by all the processors' time, say."""

    def setUp(self):
        super().setUp()
        self.box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.addCleanup(self.end_box)

    def end_box(self):
        self.server.call('sandboxes', action='end', sandbox=self.box)
        self.wait_no_sandboxes()

    def stop_init(self):
        init, = yett.inits_among(self.service.leftover_processes())
        os.kill(init, signal.SIGSTOP)
        self.addCleanup(self.go_on, init)
        yett.wait_until(lambda: yett.status_of(init)['State'].startswith('T'), 'the stopped init')
        return init

    def go_on(self, init):
        with contextlib.suppress(ProcessLookupError):
            os.kill(init, signal.SIGCONT)

    def running(self, **command):
        begun = self.server.call('run_command', sandbox=self.box, background=True, timeout=600, **command).json['id']
        yett.wait_until(lambda: 'up' in self.server.call('wait_command', id=begun, timeout=0).json['stdout'], 'the command')
        return begun

    def later(self, operation, **arguments):
        """A call that is answered meanwhile; it was sent when this returns."""
        connection, told = self.server.connect(), []
        connection.request('POST', '/v1/' + operation, json.dumps(arguments), {'Content-Type': 'application/json'})
        reader = threading.Thread(target=lambda: told.append(serving.Answer(connection.getresponse())))
        reader.start()
        self.addCleanup(reader.join)
        return reader, told

    def status(self, begun):
        return self.server.get('/status/' + begun).json['status']

    def test_a_kill_that_it_does_not_answer_holds_nobody_up(self):
        begun = self.running(command='echo up; sleep 1000')
        init = self.stop_init()
        reader, told = self.later('wait_command', id=begun, signal='KILL', timeout=60)
        self.assertEqual([self.status(begun) for _ in range(5)], ['running'] * 5)
        os.kill(init, signal.SIGCONT)
        reader.join()
        self.assertEqual((told[0].json['status'], told[0].json['signal'], told[0].json['why']), ('killed', 'KILL', 'the program was killed on request'))

    def test_what_it_never_tells_of_is_over_all_the_same(self):
        begun = self.running(command='echo up; sleep 1000')
        self.stop_init()
        reader, told = self.later('wait_command', id=begun, signal='KILL', timeout=60)
        reader.join()
        self.assertEqual((told[0].json['status'], told[0].json['why']), ('killed', 'the program was killed on request, and the sandbox does not answer'))

    def test_a_time_that_it_does_not_keep_is_kept(self):
        self.stop_init()
        answer = self.server.call('run_command', sandbox=self.box, command='true', timeout='100ms')
        self.assertEqual((answer.status, answer.json['status'], answer.json['error']['message']), (503, 'timed_out', 'the sandbox does not answer'))
        self.assertEqual(self.server.call('run_command', command='echo x').json['stdout'], 'x\n')

    def test_it_is_told_nothing_more_before_its_channel_is_full(self):
        self.stop_init()
        begun = self.server.call('run_command', sandbox=self.box, command='true', timeout=600, background=True).json['id']
        self.assertEqual(self.server.call('wait_command', id=begun, timeout=6).json['status'], 'running')
        for operation, arguments in (('run_command', {'command': 'true'}), ('read_file', {'path': '/etc/passwd'}), ('list_files', {'path': '/'}),
                                     ('sandboxes', {'action': 'mounts'}), ('run_code', {'language': 'bash', 'code': 'true'})):
            answer = self.server.call(operation, sandbox=self.box, **arguments)
            self.assertEqual((answer.status, answer.json['error']['message']), (503, 'the sandbox does not answer'), operation)
        answer = self.server.call('wait_command', id=begun, signal='TERM', timeout=0)
        self.assertEqual((answer.status, answer.json['error']['message']), (503, 'the sandbox does not answer'))
        self.assertEqual(self.server.call('wait_command', id=begun, signal='KILL').json['status'], 'killed')

    def test_operations_that_it_does_not_take_are_few(self):
        self.stop_init()
        waiting = [self.later('read_file', sandbox=self.box, path='/etc/passwd') for _ in range(56)]
        yett.wait_until(lambda: sum(bool(told) for _, told in waiting) == 8, 'those that are too many')
        for reader, told in waiting:
            if told:
                self.assertEqual((told[0].status, told[0].json['error']['code']), (503, 'resource-limit'))
        self.server.call('sandboxes', action='end', sandbox=self.box)
        for reader, told in waiting:
            reader.join()

    def test_kept_state_in_it_holds_nobody_up_and_ends(self):
        self.assertEqual(self.server.call('run_code', language='python', code='1 + 1', mode='kept', sandbox=self.box).json['value'], '2')
        self.stop_init()
        begun = self.server.call('run_code', language='python', code='while True: pass', mode='kept', sandbox=self.box, background=True, timeout='100ms')
        answer = self.server.call('wait_command', id=begun.json['id'], timeout=60)
        self.assertEqual((answer.json['status'], answer.json['why']), ('failed', 'the sandbox does not answer; the kept state is lost'))

    def test_one_that_gives_up_is_let_go_of_while_others_are_served(self):
        begun = self.running(command='echo up; sleep 1000')
        reader, told = self.later('run_command', sandbox=self.box, command='sleep 1000', timeout=600)
        yett.wait_until(lambda: self.server.get('/info').json['running'] == 2, 'the other command')
        init = self.stop_init()
        connection = self.server.connect()
        connection.request('POST', '/v1/wait_command', json.dumps({'id': begun, 'signal': 'KILL', 'timeout': 60}), {'Content-Type': 'application/json'})
        connection.close()
        self.assertEqual(self.status(begun), 'running')
        os.kill(init, signal.SIGCONT)
        self.server.call('sandboxes', action='end', sandbox=self.box)
        reader.join()
        self.assertEqual(told[0].json['status'], 'killed')


class Strangers(serving.Case):
    CONNECT = r'''
import socket, sys
held = []
for _ in range(400):
    held.append(socket.create_connection(('127.0.0.1', int(sys.argv[1]))))
print('held', flush=True)
sys.stdin.read()
'''

    def test_connections_of_another_account_take_no_place_of_the_user(self):
        server = self.other(tcp=True)
        bob = self.service.popen(self.bob, 'python3', '-c', self.CONNECT, str(server.port), stdin=-1, stdout=-1)
        self.addCleanup(bob.communicate)
        self.assertEqual(yett.line_of(bob.stdout), 'held')
        self.assertEqual(server.get('/config').status, 200)
        self.assertEqual(server.by_tcp('GET', '/config').status, 200)
        files = len(os.listdir('/proc/%d/fd' % server.process.pid))
        self.assertLess(files, 64)

    def test_who_finds_no_descriptor_left_is_turned_away_until_there_is_one(self):
        path = self.folder('few') + '/socket'
        server = self.service.popen(self.alice, 'sh', '-c', 'ulimit -n 24; exec "$0" serve --listen "$1"', agent.PROGRAM, path, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.assertEqual(yett.line_of(server.stdout), 'Listening at ' + path)
        held = [self.connect(path) for _ in range(56)]
        self.assertEqual(serving.read_all(held[-1]), b'')
        for one in held:
            one.close()
        yett.wait_until(lambda: self.answers(path), 'an answer')

    def connect(self, path):
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(yett.DEADLINE)
        connected.connect(path)
        return connected

    def answers(self, path):
        connection = serving.UnixConnection(path)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request('GET', '/config')
            return connection.getresponse().status == 200
        return False


class Files(serving.Case):
    """What remembers the network that was switched off: the user's own file, in which anything may stand."""

    bounds = ('--allow', 'one.example:443')

    def setUp(self):
        super().setUp()
        self.state = self.folder('state', self.alice)
        os.makedirs(self.state + '/yett')
        os.chown(self.state + '/yett', self.alice.uid, -1)
        self.path = self.state + '/yett/agent-network.json'
        self.server = self.other(env={'XDG_STATE_HOME': self.state})
        self.box = self.server.call('sandboxes', action='make', allow=['one.example:443']).json['sandbox']['id']

    def put(self, make):
        """Instead of what lay there before."""
        if os.path.lexists(self.path):
            os.rename(self.path, self.path + '.before-%d' % len(os.listdir(self.state + '/yett')))
        make(self.path)

    def test_whatever_lies_there_is_an_empty_one(self):
        for name, make in (('a FIFO', os.mkfifo), ('a device', lambda path: os.symlink('/dev/zero', path)), ('a directory', os.mkdir),
                           ('numbers', lambda path: yett.write(path, json.dumps({self.box: [1, None]}))),
                           ('an object', lambda path: yett.write(path, json.dumps({self.box: {'a': 1}}))),
                           ('much', lambda path: self.make_long(path)), ('deep', lambda path: yett.write(path, '[' * 100000))):
            with self.subTest(name):
                self.put(make)
                answer = self.server.get('/network/' + self.box)
                self.assertEqual((answer.status, answer.json['enabled']), (200, True))
                self.assertEqual(self.server.ask('PUT', '/network/' + self.box, {'enabled': True}).status, 200)

    def make_long(self, path):
        with open(path, 'w', encoding='utf-8') as file:
            file.truncate(1 << 40)

    def test_what_it_writes_goes_to_a_file_of_its_own(self):
        os.mkfifo(self.path + '.new')
        self.assertEqual(self.server.ask('PUT', '/network/' + self.box, {'enabled': False}).json['enabled'], False)
        self.assertTrue(stat.S_ISREG(os.lstat(self.path).st_mode))
        self.assertEqual(stat.S_IMODE(os.lstat(self.path).st_mode), 0o600)


class Tokens(serving.Case):
    def test_one_that_ends_leaves_the_token_of_another(self):
        runtime = self.folder('runtime', mode=0o700)
        first, second = (serving.Server(self.service, self.alice, '--port', '0', '--token-file', runtime + '/token') for _ in range(2))
        self.addCleanup(second.end)
        token = yett.read(runtime + '/token')
        first.end()
        self.assertEqual(yett.read(runtime + '/token'), token)


class Memory(serving.Case):
    def test_outputs_of_many_that_run_are_bounded_together(self):
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        ids = [self.server.call('run_command', sandbox=box, background=True, timeout=600,
                                command='yes | head -c 9000000; echo done >&2; sleep 1000').json['id'] for _ in range(45)]
        for begun in ids:
            yett.wait_until(lambda begun=begun: self.server.call('wait_command', id=begun, timeout=0).json['stderr'] == 'done\n', 'the output')
        answer = self.server.call('wait_command', id=ids[-1], timeout=0).json
        self.assertTrue(answer['truncated'])
        self.assertTrue(answer['stdout'].startswith('y\n') and answer['stdout'].endswith('y\n'))
        resident, kept = self.server.resident()
        self.assertLess(resident, (460 << 10) + kept)


class Forged(serving.Case):
    """Code whose state is kept can say in its driver's place what came of it."""

    FORGE = r'''
import json, os, sys
frame = sys._getframe()
while 'request' not in frame.f_locals:
    frame = frame.f_back
marker = b'\x1e' + frame.f_locals['request']['nonce'].encode() + b'\x1e'
os.write(2, marker)
told = marker + json.dumps(%s).encode() + b'\n'
while told:
    told = told[os.write(1, told):]
'''

    def forge(self, outcome):
        box = self.server.call('sandboxes', action='make').json['sandbox']['id']
        self.addCleanup(self.server.call, 'sandboxes', action='end', sandbox=box)
        return self.server.call('run_code', language='python', code=self.FORGE % outcome, mode='kept', sandbox=box).json

    def test_numbers_are_numbers_that_there_can_be(self):
        for number in ('-1e300', '1e300', '-5', '"x"'):
            with self.subTest(number):
                answer = self.forge('{"status": 0, "user": %s, "system": %s, "memory": %s}' % ((number,) * 3))
                self.assertEqual((answer['status'], answer['memory_used_bytes'], answer['run']['cpu']), ('completed', 0, 0))

    def test_a_value_is_no_longer_than_those_of_the_driver(self):
        answer = self.forge('{"status": 0, "value": "x" * 1000000}')
        self.assertEqual((answer['status'], len(answer['value'])), ('completed', 400000))


if __name__ == '__main__':
    yett.main()
