# SPDX-License-Identifier: Apache-2.0
"""
A real job, in a copy-on-write sandbox over a clone of this project: it is built there and tested, changed and committed; then one directory of the
changes is applied, the commit fetched, and the rest rolled back.
"""
import os
import re
import select
import shutil
import subprocess

import yett
from workspace import Workspace, tree

PROGRAMS = ('cli/yett', *('tests/unit/test_' + name for name in ('cli_parse', 'dns', 'net_rule')))
TESTS = ('unit-cli_parse', 'unit-dns', 'unit-net_rule')
CHANGE = '''set -e
git config user.name agent; git config user.email agent@example.org
sed -i 's/^# Yett$/# Yett, changed/' README.md
git commit -qam 'Another title'
for page in docs/*.md; do echo '<!-- looked at -->' >>"$page"; done
mkdir docs/new; echo new >docs/new/page.md; rm docs/bench.md
echo 'int wrong;' >>base/clock.c; rm -r apparmor; chmod 700 tools/build
'''


class Project(Workspace):
    def setUp(self):
        if not os.path.exists(os.path.join(yett.SOURCE, '.git')) or not shutil.which('git'):
            self.skipTest('this is no clone, of which there could be another one')
        super().setUp()
        shutil.rmtree(self.source)
        subprocess.run(['git', 'clone', '--quiet', '--no-local', 'file://' + yett.SOURCE, self.source], check=True,
                       env={**os.environ, 'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*'})
        subprocess.run(['chown', '-R', '%d:%d' % (self.alice.uid, self.alice.gid), self.source], check=True)

    def told(self, *words, code=0):
        done = self.yett(*words, env={**self.environment(), 'HOME': self.alice.home}, cwd=self.source)
        self.assertEqual(done.code, code, done)
        return done.out

    def output_of_steps(self, script, *options):
        """The output of a command in the sandbox that takes long, and writes a line now and then."""
        process = self.start('sh', '-c', script, options=['--cow', self.source, '-C', self.source, *options], env=self.environment(),
                             stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        out = b''
        while select.select([process.stdout], [], [], yett.DEADLINE)[0]:
            part = os.read(process.stdout.fileno(), 65536)
            if not part:
                self.assertEqual(process.wait(yett.DEADLINE), 0, out.decode())
                return out.decode()
            out += part
        raise AssertionError('it writes nothing more: ' + out.decode())

    def test_it_is_built_tested_changed_reviewed_applied_fetched_and_rolled_back(self):
        before = tree(self.source)
        script = '{ meson setup build -Dc_args=-O0 | tee setup.log; } && ninja -C build %s && meson test -C build --no-rebuild %s' % (' '.join(PROGRAMS), ' '.join(TESTS))
        out = self.output_of_steps(script, '--memory', '2G', '--pids', '200')
        self.assertRegex(out, r'Ok: +%d' % len(TESTS))
        work = self.works()[0]['id']
        self.assertEqual(tree(self.source), before)
        self.told('snapshot', 'take', work, 'built')
        self.told('run', '--store', work, '-C', self.source, '--', 'sh', '-c', CHANGE)
        self.assertEqual(tree(self.source), before)

        built = self.told('diff', '--name-only', work + '@built')
        self.assertGreater(len(built.splitlines()), 100)
        stat = self.told('diff', '--stat', work, 'docs', 'README.md', 'base', 'apparmor', 'tools')
        self.assertRegex(stat, r'(?m)^ README\.md +\| 2 \+-$')
        self.assertRegex(stat, r'(?m)^ docs/bench\.md +\| \d+ -+$')
        self.assertIn('docs/new/', stat)
        pages = [name for name in before if re.fullmatch(r'docs/[a-z-]+\.md', name)]

        self.told('apply', work, 'docs', 'docs/agents.md')  # a name that agents read is to be named
        after = tree(self.source)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.assertEqual(changed, {'docs', 'docs/new', 'docs/new/page.md', *pages})
        self.assertNotIn('docs/bench.md', after)
        self.assertTrue(yett.read(self.source + '/docs/guide.md').endswith('<!-- looked at -->\n'))

        self.told('git', 'fetch', work, 'HEAD:refs/heads/agent')
        log = self.service.run(self.alice, 'git', 'log', '--format=%s', '-1', 'refs/heads/agent', cwd=self.source, env={'HOME': self.alice.home})
        self.assertEqual(log.out, 'Another title\n')
        fetched = tree(self.source)
        others = {name for name in after.keys() | fetched.keys() if after.get(name) != fetched.get(name)}
        self.assertEqual({name for name in others if not name.startswith('.git')}, set())

        self.told('snapshot', 'rollback', work, 'built')
        self.assertEqual(self.told('diff', '--name-only', work, 'build', 'setup.log', 'README.md', 'base', 'apparmor', 'tools'), built)
        self.assertIn('ninja: no work to do', self.told('run', '--store', work, '-C', self.source, '--', 'ninja', '-C', 'build', *PROGRAMS))
        self.told('discard', '--yes', work)
        self.assertEqual(tree(self.source), fetched)


if __name__ == '__main__':
    yett.main()
