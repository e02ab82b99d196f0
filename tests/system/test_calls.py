"""What system calls answer inside, beside what they answer outside: docs/differences.md says which differ, and why."""
import os
import re
import shutil

import yett

PAGE = os.path.join(yett.SOURCE, 'docs', 'differences.md')
BY_KERNEL = {'init_module', 'kexec_load', 'iopl', 'ioperm'}  # not in every one


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
        self.assertEqual({call: answers for call, answers in different.items()
                          if call not in said and not (call in BY_KERNEL and answers == ('ENOSYS', 'EPERM'))}, {})
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


if __name__ == '__main__':
    yett.main()
