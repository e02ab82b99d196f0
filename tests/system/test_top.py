# SPDX-License-Identifier: Apache-2.0
"""`yett top`, on a terminal that the test plays."""
import json
import re
import signal
import time

import test_terminal
import yett

SEQUENCE = re.compile(r'\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>]|(\r)|(\n)|(\x08)|([^\x00-\x1f])|[\x00-\x1f]')


class Screen(test_terminal.Terminal):
    """What a VT100 would show of what was written to it: as much of one as ncurses makes use of here."""

    def resize(self, rows, columns):
        self.rows, self.columns, self.at = rows, columns, [0, 0]
        self.cells = [[' '] * columns for _ in range(rows)]
        super().resize(rows, columns)

    def show(self):
        text, self.seen = self.seen.decode(errors='ignore'), b''
        end = 0
        for match in SEQUENCE.finditer(text):
            arguments, letter, to_start, down, back, character = match.groups()
            numbers = [int(number or 0) for number in (arguments or '').lstrip('?').split(';')]
            line, column = self.at
            end = match.end()
            if letter == 'H':
                self.at = [max(numbers[0], 1) - 1, max((numbers + [1])[1], 1) - 1]
            elif letter == 'K':
                self.erase(line, range(column + 1) if numbers[0] == 1 else range(column, self.columns))
            elif letter == 'J':
                self.erase(line, range(column, self.columns))
                for below in range(line + 1, self.rows):
                    self.erase(below, range(self.columns))
            elif letter in ('A', 'B', 'C', 'D'):
                step = max(numbers[0], 1)
                self.at = {'A': [line - step, column], 'B': [line + step, column], 'C': [line, column + step], 'D': [line, column - step]}[letter]
            elif letter not in (None, 'm', 'h', 'l', 'r'):
                raise AssertionError('unknown to this screen: %r' % match.group())
            elif to_start:
                self.at = [line, 0]
            elif down:
                self.at = [line + 1, column]
            elif back:
                self.at = [line, column - 1]
            elif character:
                if line < self.rows and column < self.columns:
                    self.cells[line][column] = character
                self.at = [line, column + 1]
        self.seen = text[end:].encode()

    def erase(self, line, columns):
        for column in columns:
            if line < self.rows and column < self.columns:
                self.cells[line][column] = ' '

    def text(self):
        return '\n'.join(''.join(row).rstrip() for row in self.cells)

    def wait(self, pattern):
        """What is shown once that is shown."""
        end = time.monotonic() + yett.DEADLINE
        while True:
            self.show()
            if re.search(pattern, self.text()):
                return self.text()
            if not self.read(max(0, end - time.monotonic())):
                raise AssertionError('%r was not shown:\n%s' % (pattern, self.text()))


class Top(test_terminal.Case):
    def setUp(self):
        super().setUp()
        self.terminal.close()
        self.terminal = Screen()
        self.addCleanup(self.destroy_all)

    def destroy_all(self):
        left = self.yett('ps', '-q').out.split()
        if left:
            self.assertEqual(self.yett('destroy', *left).code, 0)

    def create(self, name, *argv):
        done = self.yett('create', '--name', name, *argv)
        self.assertEqual(done.code, 0, done)

    def state(self, name):
        return yett.told(self.yett('inspect', '--json', name).out)['sandbox']['state']

    def top(self, *argv, **env):
        return self.begin('top', *argv, env={'TERM': 'vt100', 'LANG': 'C.UTF-8', **env})

    def quit(self, process):
        self.terminal.type('q')
        self.assertEqual(self.code(process), 0)
        self.assertTrue(self.terminal.is_restored())

    def test_sandboxes_are_shown_with_what_they_use(self):
        self.create('box', '--memory', '64M')
        self.create('other')
        process = self.top()
        shown = self.terminal.wait('k kill commands')
        for text in ('yett top - 2 sandboxes, 0 paused', 'CPU', 'MEMORY', 'box', 'other', 'running'):
            self.assertIn(text, shown)
        self.assertTrue(self.terminal.is_raw())
        self.terminal.wait('[▁▂▃▄▅▆▇█]')
        self.quit(process)

    def test_where_the_locale_is_not_unicode_plots_are_of_ascii(self):
        self.create('box')
        process = self.top(LANG='C', LC_ALL='C')
        shown = self.terminal.wait('k kill commands')
        self.assertTrue(shown.isascii(), shown)
        self.quit(process)

    def test_keys_pause_resume_and_kill_what_is_selected(self):
        self.create('box')
        command = self.service.popen(self.alice, self.service.yett, 'exec', 'box', '--', 'sh', '-c', 'echo up; read x', stdin=-1, stdout=-1)
        self.addCleanup(self.end, command)
        self.assertEqual(self.line(command), 'up')
        process = self.top()
        self.terminal.wait('k kill commands')
        self.terminal.type('p')
        self.terminal.wait('paused box')
        self.assertEqual(self.state('box'), 'paused')
        self.terminal.type('p')
        self.terminal.wait('is paused already')
        self.terminal.type('r')
        self.terminal.wait('resumed box')
        self.assertEqual(self.state('box'), 'running')
        self.terminal.type('k')
        self.terminal.wait('kill every command of box')
        self.terminal.type('n')
        self.terminal.wait('k kill commands')
        self.assertIsNone(command.poll())
        self.terminal.type('k')
        self.terminal.wait('kill every command of box')
        self.terminal.type('y')
        self.terminal.wait('killed every command of box')
        self.assertEqual(command.wait(yett.DEADLINE), 128 + signal.SIGKILL)
        self.quit(process)

    def test_the_selection_moves(self):
        for name in ('one', 'two'):
            self.create(name)
        process = self.top()
        self.terminal.wait('k kill commands')
        for key, name in (('\x1bOB', 'two'), ('\x1bOB', 'two'), ('\x1bOA', 'one'), ('\x1bOA', 'one'), ('\x1bOB', 'two')):
            self.terminal.type(key)
            self.terminal.wait(r'(?m)^%s .*<$' % name)
        self.terminal.type('p')
        self.terminal.wait('paused two')
        self.terminal.type('\x1bOA')
        self.terminal.type('p')
        self.terminal.wait('paused one')
        self.assertEqual([self.state(name) for name in ('one', 'two')], ['paused'] * 2)
        self.quit(process)

    def test_it_fits_the_window_as_that_changes(self):
        for number in range(8):
            self.create('box-%d' % number)
        process = self.top()
        self.terminal.wait('k kill commands')
        for rows, columns in ((6, 30), (2, 10), (50, 200), (1, 1), (24, 80)):
            self.terminal.read_rest()
            self.terminal.resize(rows, columns)
            shown = self.terminal.wait('CONNS   SENT   RECV' if columns >= 100 else r'\S') if rows > 1 else ''
            self.assertLessEqual(max(map(len, shown.splitlines()), default=0), columns)
        self.terminal.wait('box-')
        self.quit(process)

    def test_the_terminal_is_given_back_however_it_ends(self):
        self.create('box')
        for how in (lambda process: self.terminal.type(b'\x03'), lambda process: process.send_signal(signal.SIGTERM),
                    lambda process: process.send_signal(signal.SIGHUP), lambda process: process.kill()):
            self.terminal.close()
            self.terminal = Screen()  # on which nothing is shown from before
            process = self.top()
            self.terminal.wait('k kill commands')
            self.assertTrue(self.terminal.is_raw())
            how(process)
            self.code(process)
            yett.wait_until(self.terminal.is_restored, 'the modes of the terminal')

    def test_it_outlasts_the_listener(self):
        self.create('box')
        process = self.top()
        self.terminal.wait('k kill commands')
        self.service.stop()
        self.service.start()
        self.create('later')
        self.terminal.wait('later')
        self.quit(process)

    def test_without_a_terminal_it_says_what_else_there_is(self):
        done = self.yett('top')
        self.assert_refused(done, 1, 'yett stats --watch')

    def test_a_terminal_of_no_known_kind_is_left_as_it_was(self):
        process = self.top(TERM='no-such-terminal')
        self.assertEqual(self.code(process), 1)
        self.assertIn('knows no terminal', self.terminal.read_rest())
        self.assertTrue(self.terminal.is_restored())


class TopOfRoot(yett.Case):
    """root sees the sandboxes of all users."""

    def test_users_are_told_apart(self):
        for user in (self.alice, self.bob):
            self.assertEqual(self.yett('create', '--name', 'box', user=user).code, 0)
        root = yett.Root(self.folder('roots'))
        terminal = Screen()
        self.addCleanup(terminal.close)
        process = self.service.popen(root, self.service.yett, 'top', env={'TERM': 'vt100'}, stdin=terminal.slave, stdout=terminal.slave,
                                     stderr=terminal.slave)
        self.addCleanup(self.end, process)
        shown = terminal.wait('k kill commands')
        self.assertIn('yett top - 2 sandboxes', shown)
        for user in (self.alice, self.bob):
            self.assertIn(str(user.uid), shown)
        terminal.type('q')
        self.assertEqual(process.wait(yett.DEADLINE), 0)
        for user in (self.alice, self.bob):
            self.assertEqual(self.yett('destroy', 'box', user=user).code, 0)


if __name__ == '__main__':
    yett.main()
