# SPDX-License-Identifier: Apache-2.0
"""What system calls answer inside, beside what they answer outside: docs/differences.md says which differ, and why."""
import os
import re
import shutil

import yett

PAGE = os.path.join(yett.SOURCE, 'docs', 'differences.md')
# What they answer inside; outside that is for the host to say.
BY_HOST = {'init_module': 'EPERM', 'kexec_load': 'EPERM', 'iopl': 'EPERM', 'ioperm': 'EPERM', 'perf_event_open': 'EACCES',
           'quotactl': 'ENOTBLK', 'socket AF_PACKET': 'EPERM'}


def rows():
    """{call: answers that it may have inside}, of the page's table."""
    found = re.findall(r'(?m)^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$', yett.read(PAGE))
    return {call: set(inside.replace('`', '').split(' or ')) for call, _, inside in found}


class Calls(yett.Case):
    def answers(self, how):
        here = self.folder('calls')
        shutil.copy(os.path.join(yett.run_of_process().path('tests/system/calls')), here + '/calls')
        os.chmod(here + '/calls', 0o755)
        done = how(here)
        self.assertEqual(done.code, 0, done)
        shutil.rmtree(here)
        return dict(line.split('\t') for line in done.out.splitlines())

    def outside(self):
        return self.answers(lambda here: self.service.run(self.alice, 'sh', '-c', 'cd %s && ./calls' % here))

    def inside(self, *options):
        return self.answers(lambda here: self.sandbox('sh', '-c', 'cd %s && ./calls' % here, options=['--rw', here, *options]))

    def test_what_differs_is_on_the_page_and_answers_as_it_says(self):
        outside, inside, said = self.outside(), self.inside(), rows()
        self.assertGreater(len(outside), 110)
        different = {call: (answer, inside[call]) for call, answer in outside.items() if inside[call] != answer}
        self.assertEqual({call: answers for call, answers in different.items() if call not in said and call not in BY_HOST}, {})
        for call, answer in BY_HOST.items():
            with self.subTest(call):
                self.assertIn('`%s`' % call, yett.read(PAGE))
                self.assertEqual(inside.get(call, answer), answer)  # some are of one architecture only
        for call, answers in said.items():
            with self.subTest(call):
                self.assertIn(inside[call], answers)


class SetGroupId(yett.Case):
    def test_directories_get_the_bit_from_the_one_above_and_not_by_chmod(self):
        here = self.folder('group', mode=0o2775)
        os.chmod(here, 0o2775)
        script = 'cd %s && mkdir a && stat -c %%a a; mkdir -m 2775 b; echo $?; mkdir -p /tmp/c && chmod g+s /tmp/c; echo $?; stat -c %%a /tmp/c'
        done = self.sandbox('sh', '-c', script % here, options=['--rw', here])
        self.assertEqual(done.out.split(), ['2755', '1', '1', '755'], done)

    def test_a_repository_is_shared_by_a_group_below_a_directory_that_has_the_bit(self):
        if not shutil.which('git', path='/usr/bin'):
            self.skipTest('the host has no git')
        here = self.folder('repository')
        script = 'cd %s && umask 002 && mkdir %s && git init -q --shared %s 2>/dev/null; echo $?; stat -c %%a %s/.git/objects 2>/dev/null'
        for mode, expected in ((0o755, ['128']), (0o2775, ['0', '2775'])):
            with self.subTest(mode=oct(mode)):
                os.chmod(here, mode)
                done = self.sandbox('sh', '-c', script % (here, *[oct(mode)] * 3), options=['--rw', here])
                self.assertEqual(done.out.split(), expected, done)


if __name__ == '__main__':
    yett.main()
