# SPDX-License-Identifier: Apache-2.0
"""run_code: each language's programs, what goes wrong with them and in which words, files, kept state, and what is refused."""
import itertools
import json
import os
import subprocess

import agent
import languages

import yett

MEMORY = 256 << 20


class Case(agent.Case):
    def code(self, language, code, **more):
        return self.ask('run_code', language=language, code=code, **more)

    def assert_problem(self, answer, code, *texts):
        self.assertIn('error', answer, answer)
        self.assertEqual(answer['error']['code'], code, answer)
        for text in texts:
            self.assertIn(text, json.dumps(answer['error']))


class Languages(Case):
    def each(self, program):
        return [(language, programs[program]) for language, programs in languages.PROGRAMS.items()]

    def test_a_program_has_its_arguments_and_input_and_its_output_is_answered(self):
        for (language, code), tier in itertools.product(self.each('hello'), ('light', 'strong')):
            with self.subTest(language, tier=tier):
                answer = self.code(language, code, args=['an "argument"'], stdin='the line\n', tier=tier)
                self.assertTrue(answer['success'], answer)
                self.assertEqual(answer['stdout'], 'hello an "argument" the line\n', answer)
                self.assertEqual((answer['status'], answer['exit_code'], answer['why'], answer['sandbox']), ('completed', 0, None, None))
                self.assertGreater(answer['memory_used_bytes'], 100000)
                self.assertEqual(answer['compile'] is not None, language in ('typescript', 'go', 'rust', 'c', 'c++', 'java'))

    def test_a_program_that_fails_is_answered_with_its_status_and_words(self):
        for language, code in self.each('fail'):
            with self.subTest(language):
                answer = self.code(language, code)
                self.assertEqual((answer['status'], answer['success'], answer['exit_code']), ('failed', False, 3), answer)
                self.assertEqual((answer['stderr'], answer['why']), ('bad\n', 'the program exited with status 3'))

    def test_an_endless_loop_is_ended_when_its_time_is_over(self):
        for language, code in self.each('endless'):
            with self.subTest(language):
                answer = self.code(language, code, timeout=1)
                self.assertEqual((answer['status'], answer['signal']), ('timed_out', 'KILL'), answer)
                self.assertIn('its time limit', answer['why'])

    def test_who_takes_all_memory_fails_by_it_and_the_next_call_works(self):
        for language, code in self.each('hog'):
            with self.subTest(language):
                answer = self.code(language, code, memory_bytes=MEMORY)
                self.assertEqual((answer['status'], answer['success']), ('failed', False), answer)
                said = answer['why'] + answer['stderr']
                self.assertRegex(said, '[Mm]emory|allocat', answer)
        self.assertTrue(self.code('python', 'print(1)')['success'])

    def test_a_fork_bomb_goes_with_its_sandbox_and_the_next_call_works(self):
        for language, code in self.each('bomb'):
            with self.subTest(language):
                answer = self.code(language, code, pids=64, timeout=3)
                self.assertIn(answer['status'], ('timed_out', 'failed'), answer)
        for seconds in agent.GROWING:
            answer = self.code('bash', languages.PROGRAMS['bash']['bomb'], pids=64, timeout=seconds)
            if 'the limit of processes' in answer['why']:
                break
        self.assertIn('the limit of processes', answer['why'])
        self.assertTrue(self.code('python', 'print(1)')['success'])

    def test_each_tells_its_version_and_is_known_by_short_names(self):
        for language, _ in self.each('hello'):
            with self.subTest(language):
                answer = self.ask('run_code', language=language, ensure=True)
                self.assertRegex(answer['version'], r'\d+\.\d', answer)
        for alias, output in {'py': 'print(1)', 'JS': 'console.log(1)', 'sh': 'echo 1', 'rb': 'puts 1'}.items():
            self.assertEqual(self.code(alias, output)['stdout'], '1\n')

    def test_what_cannot_be_compiled_is_told_with_its_line_and_not_run(self):
        for language, code, said in (('c', 'int main(void) {\n\treturn x;\n}', 'main.c:2:'), ('go', 'package main\nfunc main() { x }', 'main.go:2:'),
                                     ('rust', 'fn main() { x }', 'main.rs:1:'), ('java', 'public class A {\n x }', 'A.java:2:'),
                                     ('typescript', 'const x: = 1', 'main.ts(1,')):
            with self.subTest(language):
                answer = self.code(language, code)
                self.assertEqual((answer['status'], answer['why'], answer['run']), ('failed', 'the compiler exited with status %d' % answer['exit_code'], None), answer)
                self.assertIn(said, answer['stderr'] + answer['stdout'])

    def test_the_words_of_the_code_decide_what_its_file_is(self):
        java = ('package a.b;\n/* public class No */\nclass Other { }\npublic class Shown { public static void main(String[] x) {'
                ' System.out.println(Shown.class.getName()); } }')
        for language, code, output in (('java', java, 'a.b.Shown\n'), ('javascript', "import fs from 'fs';\nconsole.log(typeof fs.readFileSync)", 'function\n'),
                                       ('php', '<b><?php echo 1 ?></b>', '<b>1</b>'), ('php', 'echo 2;', '2')):
            answer = self.code(language, code)
            self.assertEqual(answer['stdout'], output, answer)


class Files(Case):
    def test_files_are_below_the_directory_of_the_code(self):
        answer = self.code('python', "import util\nprint(util.x, open('data/a/b.txt').read())", files={'util.py': 'x = 5', 'data/a/b.txt': '%s "$1" \\n'})
        self.assertEqual(answer['stdout'], '5 %s "$1" \\n\n', answer)

    def test_sources_among_the_files_are_compiled_with_the_code(self):
        answer = self.code('c', '#include <stdio.h>\n#include "f.h"\nint main(void) { printf("%d\\n", f()); }', files={'f.c': 'int f(void) { return 7; }', 'f.h': 'int f(void);'})
        self.assertEqual(answer['stdout'], '7\n', answer)
        answer = self.code('go', 'package main\nfunc main() { f() }', files={'f.go': 'package main\nfunc f() { println("f") }'})
        self.assertEqual(answer['stderr'], 'f\n', answer)

    def test_much_comes_in_whole(self):
        code = 'import hashlib\ntext = %r\nprint(hashlib.sha256(open("big").read().encode()).hexdigest(), len(text))'
        big = 'aé\n' * 1000000
        answer = self.code('python', code % ('x' * 1000000), files={'big': big, 'empty': ''})
        digest = subprocess.run(['sha256sum'], input=big.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().split()[0]
        self.assertEqual(answer['stdout'], digest + ' 1000000\n', answer['stderr'])

    def test_in_a_sandbox_that_stays_calls_do_not_meet_and_files_stay(self):
        box = self.ask('sandboxes', action='make', name='stays')
        self.addCleanup(self.ask, 'sandboxes', action='end', sandbox='stays')
        self.assertNotIn('error', box)
        first = self.code('python', "open('out', 'w').write('one')", sandbox='stays')
        second = self.code('python', "import os\nprint(sorted(os.listdir()))", sandbox='stays')
        self.assertEqual(second['stdout'], "['main.py']\n")
        self.assertNotEqual(first['directory'], second['directory'])
        self.assertEqual(self.ask('read_file', sandbox='stays', path=first['directory'] + '/out')['content'], 'one')
        answer = self.code('c', '#include <unistd.h>\n#include <stdio.h>\nint main(void) { char s[99]; puts(getcwd(s, 99)); }', sandbox='stays', cwd='/usr')
        self.assertEqual(answer['stdout'], '/usr\n', answer)

    def test_names_that_lead_elsewhere_are_refused(self):
        for files in ({'../x': ''}, {'/x': ''}, {'a/../b': ''}, {'': ''}, {'a//b': ''}, {'a': '', 'a/b': ''}, {'main.py': ''}, {'x' * 256: ''}, {'.': ''}):
            with self.subTest(files):
                self.assert_problem(self.code('python', 'print(1)', files=files), 'invalid-request', 'files: ')
        self.assert_problem(self.code('python', '1', files={'f%d' % i: '' for i in range(65)}), 'invalid-request')


class Refused(Case):
    def test_a_language_that_there_is_not_is_answered_with_those_that_there_are(self):
        self.assert_problem(self.code('cobol', 'x'), 'invalid-request', "'cobol'", 'python, javascript', 'lua')

    def test_code_that_is_none_is_refused(self):
        self.assert_problem(self.code('python', ''), 'invalid-request', 'code')
        self.assert_problem(self.ask('run_code', language='python'), 'invalid-request', 'code')
        self.assert_problem(self.code('python', '#' * ((1 << 20) + 1)), 'invalid-request', 'code')

    def test_what_cannot_be_had_yet_is_refused_by_name(self):
        self.assert_problem(self.code('python', '1', image='python:3'), 'unsupported', 'image', 'apt install python3')
        self.assert_problem(self.code('perl', '1', mode='kept'), 'unsupported', 'only for python and javascript')
        self.assert_problem(self.code('python', '1', cwd='x'), 'invalid-request', 'cwd')

    def test_what_stands_out_is_warned_of_and_comments_and_strings_do_not(self):
        answer = self.code('python', "# eval('1')\nx = 'os.system(1)'\nprint(eval('1'))")
        self.assertEqual(answer['stdout'], '1\n')
        self.assertEqual(answer['warnings'], ['warn: line 3 runs text as code (code-from-text)'])
        self.assertNotIn('warnings', self.code('python', 'print(1)'))


class Settings(Case):
    def setUp(self):
        home = self.alice.mkdir('settings-%s' % self.id().split('.')[-1])
        os.makedirs(home + '/yett')
        yett.write(home + '/yett/agent.json', json.dumps({**agent.LONG_SETTINGS, **self.settings}))
        self.tool_options = {'env': {'XDG_CONFIG_HOME': home}}
        super().setUp()

    settings = {'languages': ['py', 'bash', 'lua'], 'refuse_findings': True, 'interpreters': {'sh': '/bin/dash', 'lua': 'no-such-lua'}}

    def test_languages_that_the_settings_do_not_name_are_refused(self):
        self.assert_problem(self.code('javascript', '1'), 'permission-denied', 'python, bash, lua', 'languages')
        self.assertTrue(self.code('python3', 'print(1)')['success'])

    def test_grave_findings_are_refused_where_the_settings_say_so(self):
        self.assert_problem(self.code('bash', 'echo\n:(){ :|:& };:'), 'permission-denied', 'line 2 starts processes without end (fork-bomb)')
        self.assertEqual(self.code('bash', 'eval "echo 1"')['stdout'], '1\n')

    def test_another_interpreter_runs_the_code_or_is_missed(self):
        self.assertEqual(self.code('bash', 'echo "${BASH_VERSION-dash}"')['stdout'], 'dash\n')
        answer = self.code('lua', 'print(1)')
        self.assert_problem(answer, 'unsupported', 'no-such-lua')
        self.assert_problem(self.ask('run_code', language='lua', ensure=True), 'unsupported', 'no-such-lua')

    def test_a_program_that_exits_as_if_it_were_missing_is_not_missing(self):
        answer = self.code('python', 'raise SystemExit(127)')
        self.assertNotIn('error', answer)
        self.assertEqual((answer['exit_code'], answer['status']), (127, 'failed'))


class Missing(Case):
    """Of a profile in which there are no programs of users' own."""
    bounds = ('--profile', 'bare')
    service_options = {'before': 'profile "bare" { extends = "default"\n mask = {"/usr/bin/perl"} }\n'
                                 'grant "bare" { users = {"*"}\n user_keys = true\n profiles = {"default", "bare"} }\n'}

    def test_a_language_that_is_missing_is_named_with_its_package(self):
        for more in ({'code': 'print 1;'}, {'ensure': True}):
            answer = self.ask('run_code', language='perl', profile='bare', **more)
            self.assert_problem(answer, 'unsupported', 'perl is not installed', 'apt install perl')
            self.assertEqual(answer['why'], 'perl is not installed: apt install perl')


class Kept(Case):
    def setUp(self):
        super().setUp()
        self.box = self.ask('sandboxes', action='make', name='kept')['sandbox']['id']
        self.addCleanup(self.ask, 'sandboxes', action='end', sandbox='kept')

    def piece(self, language, code, **more):
        return self.code(language, code, mode='kept', **{'sandbox': 'kept', **more})

    def value(self, language, code, **more):
        answer = self.piece(language, code, **more)
        self.assertEqual((answer['status'], answer['stderr']), ('completed', ''), answer)
        return answer.get('value')

    def test_variables_are_there_in_the_next_call_and_the_last_value_is_answered(self):
        self.assertIsNone(self.value('python', 'x = 41'))
        self.assertEqual(self.value('python', 'x + 1'), '42')
        self.assertIsNone(self.value('javascript', 'const x = 41'))
        self.assertEqual(self.value('javascript', 'x + 1'), '42')
        self.assertEqual(self.value('javascript', 'const x = [await Promise.resolve(7)]; x'), '[ 7 ]')
        self.assertEqual(self.value('python', 'import asyncio\nawait asyncio.sleep(0, 7)'), '7')
        self.assertIn('NameError', self.piece('python', 'y')['why'])

    def test_each_call_has_its_own_input_arguments_and_outputs(self):
        answer = self.piece('python', "import sys\nprint(input(), sys.argv[1])\nprint('e', file=sys.stderr)", stdin='line\nmore', args=['a'])
        self.assertEqual((answer['stdout'], answer['stderr']), ('line a\n', 'e\n'), answer)
        self.assertIn('EOFError', self.piece('python', 'input()')['why'])
        answer = self.piece('javascript', "console.error('e'); console.log(require('fs').readFileSync(0, 'utf8'), process.argv[2])", stdin='line', args=['a'])
        self.assertEqual((answer['stdout'], answer['stderr']), ('line a\n', 'e\n'), answer)
        self.assertEqual(self.value('javascript', "require('fs').readFileSync(0, 'utf8')"), "''")

    def test_an_error_is_told_and_what_was_kept_is_still_there(self):
        self.value('python', 'x = 5\ndef f():\n    raise ValueError("no")')
        answer = self.piece('python', 'f()')
        self.assertEqual((answer['status'], answer['exit_code'], answer['why']), ('failed', 1, 'ValueError: no'))
        self.assertRegex(answer['stderr'], r'(?s)^Traceback.*<call \d+>.*ValueError: no\n$')
        self.assertNotIn('<string>', answer['stderr'])
        self.assertEqual(self.value('python', 'x'), '5')
        self.value('javascript', 'const x = 5; function f() { throw new TypeError("no") }')
        answer = self.piece('javascript', 'f()')
        self.assertEqual((answer['status'], answer['why']), ('failed', 'TypeError: no'))
        self.assertNotIn('[eval]', answer['stderr'])
        self.assertIn('late', self.piece('javascript', 'setTimeout(() => { throw new Error("late") }, 1)')['why'])
        self.assertIn('SyntaxError', self.piece('javascript', 'if (')['why'])
        self.assertEqual(self.value('javascript', 'x'), '5')

    def test_an_exit_of_python_ends_the_call_and_one_of_javascript_what_is_kept(self):
        self.value('python', 'x = 5')
        self.assertEqual(self.piece('python', 'exit(3)')['exit_code'], 3)
        self.assertEqual(self.piece('python', 'exit(0)')['status'], 'completed')
        self.assertEqual(self.value('python', 'x'), '5')
        answer = self.piece('python', 'import os\nprint(1)\nos._exit(4)')
        self.assertEqual((answer['exit_code'], answer['stdout'], answer['why']), (4, '1\n', 'the program exited with status 4; the kept state is lost'))
        self.assertIn('NameError', self.piece('python', 'x')['why'])
        answer = self.piece('javascript', 'console.log(1); process.exit(4)')
        self.assertEqual((answer['exit_code'], answer['stdout'], answer['why']), (4, '1\n', 'the program exited with status 4; the kept state is lost'))

    def test_a_child_of_the_code_does_not_go_on_with_what_comes(self):
        answer = self.piece('python', "import os\nif os.fork() == 0:\n    print('child', flush=True)\nelse:\n    os.wait()\n    print('parent')")
        self.assertEqual(answer['stdout'], 'child\nparent\n', answer)
        self.assertEqual(self.value('python', "1 + 1"), '2')
        answer = self.piece('python', 'import os\nif os.fork() == 0:\n    raise SystemExit(7)\nos.waitstatus_to_exitcode(os.wait()[1])')
        self.assertEqual(answer['value'], '7', answer)

    def test_an_endless_piece_is_ended_with_what_was_kept_and_the_next_one_begins_anew(self):
        for language, code in (('python', 'while True: pass'), ('javascript', 'for (;;);'), ('javascript', 'setInterval(() => 0, 10)')):
            with self.subTest(code):
                self.value(language, 'var y = 1' if language == 'javascript' else 'y = 1')
                answer = self.piece(language, code, timeout=1)
                self.assertEqual(answer['status'], 'timed_out', answer)
                self.assertIn('the kept state is lost', answer['why'])
                self.assertIn('ReferenceError' if language == 'javascript' else 'NameError', self.piece(language, 'y')['why'])

    def test_who_kills_its_driver_or_takes_all_memory_loses_what_was_kept(self):
        answer = self.piece('python', 'import os\nos.kill(os.getpid(), 9)')
        self.assertEqual((answer['status'], answer['signal']), ('failed', 'KILL'), answer)
        self.assertEqual(self.value('python', '1'), '1')
        box = self.code('python', 'x = 1', mode='kept', memory_bytes=100 << 20)['sandbox']
        answer = self.piece('python', languages.PROGRAMS['python']['hog'], sandbox=box)
        self.assertIn(answer['why'], ('the program was killed: out of memory; the kept state is lost', 'MemoryError'), answer)
        self.assertEqual(self.value('python', '1', sandbox=box), '1')

    def test_who_closes_or_replaces_its_outputs_does_so_for_one_call(self):
        self.assertEqual(self.piece('python', 'import os, sys\nos.close(0); os.close(1); os.close(2)\nsys.stdout = sys.stderr = None')['status'], 'completed')
        self.assertEqual(self.piece('python', "print('again')")['stdout'], 'again\n')
        self.assertEqual(self.piece('javascript', "require('fs').closeSync(0)")['status'], 'completed')
        self.assertEqual(self.piece('javascript', "console.log('again')")['stdout'], 'again\n')

    def test_what_looks_like_the_end_of_a_piece_is_output(self):
        answer = self.piece('python', r"print('\x1e' + '0' * 32 + '\x1e{}\n\x1e')")
        self.assertEqual(answer['stdout'], '\x1e' + '0' * 32 + '\x1e{}\n\x1e\n', answer)
        answer = self.piece('python', "import sys\nsys.stdout.write('\\x1e' * 100000)")
        self.assertEqual(self.ask('read_file', path='run:%s/stdout' % answer['id'], length=200000)['content'], '\x1e' * 100000)

    def test_without_a_sandbox_one_is_made_that_stays_and_is_answered(self):
        box = self.code('python', 'x = 6', mode='kept')['sandbox']
        self.assertRegex(box, '^[0-9a-f]{16}$')
        self.assertEqual(self.value('python', 'x * 7', sandbox=box), '42')
        self.assertIn('NameError', self.piece('python', 'x')['why'])

    def test_files_environment_and_directory_are_those_of_the_call(self):
        answer = self.piece('python', "import os\n(open('d/f').read(), os.environ['NAME'], os.getcwd())", files={'d/f': 'text'}, env={'NAME': 'v'})
        self.assertEqual(answer.get('value'), "('text', 'v', '/tmp')", answer)
        self.assertEqual(self.value('javascript', 'process.cwd()', cwd='/usr'), "'/usr'")

    def test_calls_at_once_take_turns_and_one_that_is_killed_takes_no_other_with_it(self):
        self.value('python', 'import time\norder = []')
        first = self.piece('python', "order.append(1)\nopen('/tmp/begun', 'w').close()\nwhile True: pass", background=True)
        second = self.piece('python', "order = ['new']\norder", background=True)
        self.assertIn(first['status'], ('pending', 'running'))
        yett.wait_until(lambda: 'error' not in self.ask('read_file', sandbox='kept', path='/tmp/begun'), 'the first one')
        self.assertIn(self.ask('wait_command', id=second['id'], timeout=0)['status'], ('pending', 'running'))
        killed = self.ask('wait_command', id=first['id'], timeout=agent.LONG, signal='KILL')
        self.assertEqual(killed['status'], 'killed', killed)
        self.assertIn('the kept state is lost', killed['why'])
        self.assertEqual(self.ask('wait_command', id=second['id'], timeout=agent.LONG)['value'], "['new']")

    def test_an_interrupt_ends_a_call_of_python_and_nothing_else(self):
        self.value('python', 'x = 5')
        piece = self.piece('python', "open('/tmp/begun', 'w').close()\nwhile True: pass", background=True)
        yett.wait_until(lambda: 'error' not in self.ask('read_file', sandbox='kept', path='/tmp/begun'), 'the call')
        answer = self.ask('wait_command', id=piece['id'], timeout=agent.LONG, signal='INT')
        self.assertEqual((answer['status'], answer['why']), ('failed', 'KeyboardInterrupt'), answer)
        self.assertEqual(self.value('python', 'x'), '5')

    def test_nothing_is_left_of_an_agent_that_is_gone(self):
        other = agent.Tool(self.service, self.alice)
        box = other.ask('run_code', language='python', mode='kept', code='1')['sandbox']
        other.process.kill()
        other.close()
        yett.wait_until(lambda: box not in json.dumps(self.ask('sandboxes', action='list')), 'the end of its sandbox')


yett.main()
