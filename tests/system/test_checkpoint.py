# SPDX-License-Identifier: Apache-2.0
"""yett checkpoint, and libyett-checkpoint with several processes and full disks. Nothing of it asks the helper."""
import base64
import contextlib
import glob
import json
import os
import re
import shutil
import sqlite3
import struct
import stat
import subprocess
import unittest

import waiting
import yett

ID = r'[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
NOWHERE = '0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d11'
FILES = ('', '-wal', '-shm', '-journal')


class Stores(unittest.TestCase):
    """Each test has a folder of Alice's with nothing in it."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.run_ = yett.run_of_process()
        cls.alice, cls.bob = cls.run_.user(1), cls.run_.user(2)
        cls.checkpoints = cls.run_.path('tests/system/checkpoints')

    def setUp(self):
        self.alice.make_home()
        self.folder = self.alice.mkdir('stores', 0o700)
        self.store = os.path.join(self.folder, 'store.db')

    def run_as(self, user, *argv, input='', env=None):
        process = user.popen(list(argv), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(input if isinstance(input, bytes) else input.encode(), timeout=yett.DEADLINE)
        return yett.Result(process.returncode, out.decode(errors='replace'), err.decode(errors='replace'))

    def yett(self, *argv, user=None, **more):
        return self.run_as(user or self.alice, self.run_.path('cli/yett'), 'checkpoint', *argv, **more)

    def told(self, *argv, **more):
        """What a subcommand that succeeds prints."""
        done = self.yett(*argv, **more)
        self.assertEqual((done.code, done.err), (0, ''))
        return done.out

    def document(self, *argv, **more):
        return json.loads(self.yett(*argv, '--json', **more).out)

    def put(self, thread, text='', *options, **more):
        return self.told('put', thread, *options, input=text, **more).strip()

    def writer(self, thread='t', count=1000000, size=2000, *more, store=None):
        return self.alice.popen([self.checkpoints, 'put', store or self.store, thread, str(count), str(size), *more], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={waiting.VARIABLE: str(yett.DEADLINE)})

    def ids_of(self, store=None):
        """All that a store has, each looked at."""
        done = self.run_as(self.alice, self.checkpoints, 'check', store or self.store)
        self.assertEqual((done.code, done.err), (0, ''))
        return done.out.split()

    def assert_sound(self, store=None):
        with contextlib.closing(sqlite3.connect(f'file:{store or self.store}?immutable=1', uri=True)) as connection:
            self.assertEqual(connection.execute('PRAGMA integrity_check').fetchall(), [('ok',)])


class Command(Stores):
    def test_a_state_comes_back_as_it_was_put(self):
        state = bytes(range(256)) * 3
        put = self.put('work', state)
        self.assertRegex(put, '^' + ID + '$')
        for argv in (('get', put), ('latest', 'work')):
            process = self.alice.popen([self.run_.path('cli/yett'), 'checkpoint', *argv], stdout=subprocess.PIPE)
            self.assertEqual(process.communicate(timeout=yett.DEADLINE)[0], state)
            told = self.document(*argv)['result']['checkpoint']
            self.assertEqual((told['id'], told['state_bytes'], base64.b64decode(told['state']['base64'])), (put, len(state), state))

    def test_the_store_is_in_the_state_home_and_its_owner_s_alone(self):
        self.put('work')
        folder = os.path.join(self.alice.home, '.local/state/yett')
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(folder + '/checkpoints.db').st_mode), 0o600)
        self.put('work', env={'XDG_STATE_HOME': self.folder})
        self.assertEqual(os.listdir(self.folder), ['yett'])
        self.assertEqual(len(self.document('list', env={'XDG_STATE_HOME': self.folder})['result']['checkpoints']), 1)

    def test_a_state_is_read_from_a_file_or_the_standard_input(self):
        file = self.alice.write('state', 'of a file')
        for argv, text in (((file,), 'of a file'), (('-',), 'of the input'), ((), 'of the input')):
            put = self.told('put', 'work', *argv, input='of the input').strip()
            self.assertEqual(self.told('get', put), text)

    def test_what_was_said_of_a_checkpoint_is_listed(self):
        first = self.put('work', 'one', '--step', '-4', '--node', 'planner', '--tag', 'a', '--tag', 'b c', '--custom', '{"x": [1, "é"]}',
                         '--sandbox', '8f80ea07dc9b3768', '--snapshot', 'before')
        second = self.put('work', 'three')
        other = self.put('other', '', '--parent', first)
        found = self.document('list')['result']['checkpoints']
        self.assertEqual([one['id'] for one in found], [other, second, first])
        self.assertEqual([one['parent'] for one in found], [first, first, None])
        del found[2]['created_ms']
        self.assertEqual(found[2], {'id': first, 'thread': 'work', 'parent': None, 'step': -4, 'node': 'planner', 'tags': ['a', 'b c'],
                                    'custom': {'x': [1, 'é']}, 'sandbox': '8f80ea07dc9b3768', 'snapshot': 'before', 'state_bytes': 3})
        rows = self.told('list', 'work').splitlines()
        self.assertEqual(re.split(r'  +', rows[0]), ['ID', 'CREATED', 'SIZE', 'STEP', 'THREAD', 'NODE', 'SNAPSHOT', 'TAGS'])
        self.assertEqual(re.split(r'  +', rows[2])[2:], ['3 bytes', '-4', 'work', 'planner', '8f80ea07dc9b3768:before', 'a, b c'])
        self.assertEqual(len(rows), 3)

    def test_a_list_is_bounded_by_ids_times_and_tags(self):
        ids = [self.put('work', '', '--tag', 'even' if i % 2 == 0 else 'odd') for i in range(4)]
        times = {row.split()[0]: row.split()[1] for row in self.told('list').splitlines()[1:]}

        def listed(*options):
            return [one['id'] for one in self.document('list', *options)['result']['checkpoints']]
        self.assertEqual(listed('--limit', '2'), [ids[3], ids[2]])
        self.assertEqual(listed('--before', ids[2], '--after', ids[0]), [ids[1]])
        self.assertEqual(listed('--tag', 'odd'), [ids[3], ids[1]])
        self.assertIn(ids[2], listed('--after', times[ids[2]]))
        self.assertNotIn(ids[2], listed('--before', times[ids[2]]))
        self.assertEqual(listed('--before', '2026-01-01T00:00:00Z'), [])
        self.assertEqual(listed('--after', '2026-01-01T00:00:00.000Z'), ids[::-1])

    def test_a_history_a_rollback_and_what_is_deleted(self):
        ids = [self.put('work', str(i)) for i in range(2)]
        ids.append(self.put('work', '2', '--sandbox', '8f80ea07dc9b3768', '--snapshot', 'two'))
        ids.append(self.put('work', '3'))
        self.assertEqual([row.split()[0] for row in self.told('history', ids[3]).splitlines()[1:]], ids[::-1])
        self.assertEqual(self.told('rollback', 'work', ids[2]), 'removed 1 checkpoint\nits sandbox 8f80ea07dc9b3768 was at the snapshot two\n')
        self.assertEqual(self.told('latest', 'work'), '2')
        self.assertEqual(self.told('delete', ids[1]), 'removed 1 checkpoint\n')
        self.assertEqual([row.split()[0] for row in self.told('history', ids[2]).splitlines()[1:]], [ids[2], ids[0]])
        told = self.document('rollback', 'work', ids[0])['result']
        self.assertEqual((told['removed'], told['checkpoint']['id']), (1, ids[0]))
        self.put('work')
        self.assertEqual(self.document('delete-thread', 'work')['result'], {'removed': 2})
        self.assertEqual(self.document('list')['result']['checkpoints'], [])

    def test_what_a_terminal_would_act_on_is_quoted(self):
        put = self.put('a\u202eb', '', '--node', 'n\u2066', '--tag', '\u200f', '--custom', '{"k\u202e":"\u2028"}')
        text = self.told('list') + self.told('list', '--json')
        self.assertNotRegex(text, '[\u202e\u2066\u200f\u2028]')
        self.assertIn(r'a\xe2\x80\xaeb', text)
        self.assertEqual(self.document('get', put)['result']['checkpoint']['custom'], {'k\u202e': '\u2028'})
        done = self.yett('rollback', 'c\x1b[2J', put)
        self.assertEqual((done.code, '\x1b' in done.err), (1, False))

    def test_what_cannot_be_asked_is_refused_and_the_mend_named(self):
        put = self.put('work')
        rows = [
            (2, ['gett', put], "yett checkpoint has no 'gett': it has put, get, latest, list, history, rollback, delete, delete-thread"),
            (2, ['get'], 'yett checkpoint get takes other operands: yett checkpoint get ID'),
            (2, ['rollback', put], 'yett checkpoint rollback takes other operands: yett checkpoint rollback THREAD ID'),
            (2, ['get', put, '--tag', 'x'], 'yett checkpoint get takes no --tag'),
            (2, ['list', '--step', '0'], 'yett checkpoint list takes no --step'),
            (2, ['put', 'work', '--limit', '1'], 'yett checkpoint put takes no --limit'),
            (2, ['list', '--limit', '0'], '--limit 0: expected a number from 1 on'),
            (2, ['list', '--before', 'noon'], '--before noon: expected the id of a checkpoint, or a time like 2026-03-01T12:00:00Z'),
            (2, ['put', 'work', '--step', '1.5'], '--step 1.5: expected a whole number'),
            (2, ['put', 'work', '--step', '9223372036854775808'], '--step 9223372036854775808: expected a whole number'),
            (1, ['list', '--tag', 'a', '--tag', 'b'], 'a list is of one --tag'),
            (1, ['get', put[:-1]], f"the id '{put[:-1]}' is no id of a checkpoint, like {NOWHERE}"),
            (1, ['get', NOWHERE], f'there is no checkpoint {NOWHERE}'),
            (1, ['latest', 'nobody'], "the thread 'nobody' has no checkpoint"),
            (1, ['delete-thread', 'nobody'], "the thread 'nobody' has no checkpoint"),
            (1, ['rollback', 'nobody', put], f"checkpoint {put} is not of the thread 'nobody', but of 'work'"),
            (1, ['put', 'work', '--parent', NOWHERE], f'there is no checkpoint {NOWHERE}, which is to be the parent'),
            (1, ['put', 'work', '--custom', '[]'], '\'[]\' is no JSON object, like {"key": "value"}'),
            (1, ['put', 'work', '--snapshot', 's'], 'a snapshot is named without the sandbox that it is of'),
            (1, ['put', ''], 'the name of a thread is empty'),
            (1, ['put', 'work', '/nowhere'], 'cannot read /nowhere: No such file or directory'),
            (1, ['put', 'work', '/'], 'cannot read /: Is a directory'),
        ]
        for code, argv, message in rows:
            with self.subTest(argv):
                done = self.yett(*argv)
                self.assertEqual((done.code, done.out, done.err.splitlines()[0]), (code, '', 'yett: ' + message))
                self.assertEqual(json.loads(self.yett(*argv, '--json').out)['error']['message'], message)
        self.assertEqual(len(self.told('list').splitlines()), 2)

    def test_a_state_that_is_too_large_is_refused(self):
        done = self.yett('put', 'work', input=bytes((16 << 20) + 1))
        self.assertEqual((done.code, done.err), (1, 'yett: the state has 16777217 bytes, and may have 16777216 at most\n'))
        self.put('work', bytes(16 << 20))

    def test_older_checkpoints_that_go_are_told(self):
        subprocess.run([self.checkpoints, 'put', self.store, 't', '1000', '0'], user=self.alice.uid, group=self.alice.gid, extra_groups=[],
                       check=True, stdout=subprocess.DEVNULL)
        done = self.yett('put', 't', '--store', self.store)
        self.assertEqual((done.code, done.err), (0, 'yett: removed 1 older checkpoint, since a store keeps only so many: libyett-checkpoint(3)\n'))
        self.assertEqual(len(self.ids_of()), 1000)

    def test_only_put_makes_a_store(self):
        for argv in (['list'], ['get', NOWHERE], ['latest', 't'], ['history', NOWHERE], ['rollback', 't', NOWHERE], ['delete', NOWHERE],
                     ['delete-thread', 't']):
            done = self.yett(*argv, '--store', self.store)
            self.assertEqual((done.code, done.err), (1, f'yett: there is no store of checkpoints at {self.store}\n'))
            done = self.yett(*argv)
            self.assertEqual((done.code, done.err), (1, f'yett: there is no store of checkpoints at {self.alice.home}/.local/state/yett/checkpoints.db\n'))
        self.assertEqual(os.listdir(self.folder) + [name for name in os.listdir(self.alice.home) if name == '.local'], [])

    def test_the_example_of_the_manual_goes_back(self):
        done = self.run_as(self.alice, self.run_.path('checkpoint/examples/go_back'), self.store)
        self.assertEqual((done.code, done.out, done.err), (0, 'went back by 2 checkpoints, to: a plan\n', ''))
        self.assertEqual(self.told('latest', 'essay', '--store', self.store), 'a plan')

    def test_a_library_that_is_missing_is_named(self):
        alone = os.path.join(self.alice.home, 'yett')
        shutil.copy(self.run_.path('cli/yett'), alone)
        if any(os.path.exists(os.path.join(folder, 'libyett-checkpoint.so.0')) for folder in glob.glob('/usr/lib/*') + ['/usr/lib', '/usr/local/lib']):
            self.skipTest('the library is installed here')
        done = self.run_as(self.alice, alone, 'checkpoint', 'list')
        self.assertEqual(done.code, 1)
        self.assertIn('libyett-checkpoint.so.0', done.err)
        self.assertIn('install the package libyett-checkpoint0', done.err)


VERSION = re.search(r"version: '(.*?)'", yett.read(os.path.join(yett.SOURCE, 'meson.build'))).group(1)


class Refused(Stores):
    """Stores that cannot be used. Nothing of them is changed."""

    @staticmethod
    def content(store):
        found = {}
        for name in FILES:
            if os.path.isfile(store + name):
                with open(store + name, 'rb') as file:
                    found[name] = file.read()
        return found

    def assert_refused(self, message, mend=None, store=None, user=None):
        store = store or self.store
        before = self.content(store)
        for argv in (['list'], ['put', 't']):
            done = self.yett(*argv, '--store', store, user=user)
            self.assertEqual((done.code, done.err.splitlines()[0]), (1, 'yett: ' + message), argv)
            if mend:
                self.assertIn(mend, done.err)
        self.assertEqual(self.content(store), before)

    def owned(self, path):
        os.chown(path, self.alice.uid, self.alice.gid)
        return path

    def test_a_directory_that_others_can_write_is_refused(self):
        self.put('t', '', '--store', self.store)
        for mode in (0o770, 0o702, 0o1777):
            os.chmod(self.folder, mode)
            self.assert_refused(f'others can write the directory {self.folder}, where the store is', f'chmod go-w {self.folder}')
        os.chmod(self.folder, 0o755)
        self.put('t', '', '--store', self.store)

    def test_the_store_of_another_user_is_refused(self):
        self.put('t', '', '--store', self.store)
        self.assert_refused(f'the directory {self.folder} belongs to uid {self.alice.uid}, and a store has to be in one of uid {self.bob.uid}',
                            user=self.bob)
        os.chown(self.store, self.bob.uid, self.bob.gid)
        self.assert_refused(f'the store {self.store} belongs to uid {self.bob.uid}, and not to uid {self.alice.uid}')

    def test_a_file_that_others_may_open_is_refused(self):
        self.put('t', '', '--store', self.store)
        os.chmod(self.store, 0o640)
        self.assert_refused(f'others have access to the store {self.store} (mode 640)', f'chmod go= {self.store}')

    def test_links_are_refused(self):
        self.put('t', '', '--store', self.store)
        link = os.path.join(self.folder, 'link')
        os.symlink(self.store, link)
        self.assert_refused(f'{link} is a symbolic link: name the store itself', store=link)
        os.link(self.store, os.path.join(self.folder, 'hard'))
        self.assert_refused(f'the store {self.store} has another name, too, as a hard link: remove one')
        os.unlink(os.path.join(self.folder, 'hard'))
        folder = os.path.join(self.alice.home, 'link')
        os.symlink(self.folder, folder)  # what leads to the directory may be one
        self.told('list', '--store', folder + '/store.db')

    def test_links_beside_a_store_are_not_followed(self):
        other = self.alice.write('other', 'something else', 0o600)
        for end in ('-wal', '-shm', '-journal'):
            self.put('t', '', '--store', self.store)
            for link in (os.symlink, os.link):
                link(other, self.store + end)
                self.assert_refused(f'{self.store}{end} is a link, or another user\'s file: it cannot belong to a store')
                os.unlink(self.store + end)
        self.assertEqual(yett.read(other), 'something else')

    def test_a_journal_beside_a_store_deletes_no_other_file(self):
        """SQLite deletes what the end of a journal names as its super-journal. The last case shows that it would here."""
        victim = self.alice.write('victim', 'precious', 0o600)
        name = victim.encode()
        journal = b'\xd9\xd5\x05\xf9\x20\xa1\x63\xd7' + bytes(504) + bytes(4) + name + struct.pack('>II', len(name), sum(name) & 0xffffffff) + \
            b'\xd9\xd5\x05\xf9\x20\xa1\x63\xd7'
        def lay():
            with open(self.store + '-journal', 'wb') as file:
                file.write(journal)
            self.owned(self.store + '-journal')
            os.chmod(self.store + '-journal', 0o600)
        self.put('t', 'text', '--store', self.store)
        for command in (['list'], ['put', 't']):
            lay()
            self.yett(*command, '--store', self.store)
            self.assertEqual(yett.read(victim), 'precious')
        lay()
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.execute('SELECT count(*) FROM checkpoint').fetchall()
        self.assertFalse(os.path.exists(victim))

    def test_what_is_no_store_is_refused(self):
        os.mkfifo(self.store)
        self.owned(self.store)
        self.assert_refused(f'{self.store} is no regular file, and so no store of checkpoints')
        os.unlink(self.store)
        yett.write(self.store, 'This is a text.\n' * 100, 0o600)
        self.owned(self.store)
        self.assert_refused(f'{self.store} is no store of checkpoints, but another file')
        os.unlink(self.store)
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.execute('CREATE TABLE moz_places(id)')
        os.chmod(self.store, 0o600)
        self.owned(self.store)
        self.assert_refused(f'{self.store} is no store of checkpoints, but another file')
        for path in ('/nowhere/store.db', self.folder + '/', '.'):
            done = self.yett('put', 't', '--store', path)
            self.assertEqual(done.code, 1)
            self.assertNotIn('SQL', done.err)

    def test_a_newer_schema_is_refused(self):
        self.put('t', '', '--store', self.store)
        self.edit('PRAGMA user_version = 2')
        self.assert_refused(f'the store {self.store} was made by a later version: it has the schema 2, and this library ({VERSION}) knows 1')

    def edit(self, sql):
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None)) as connection:
            connection.execute(sql)
            connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')

    def test_tables_that_somebody_has_changed_are_refused(self):
        self.put('t', '', '--store', self.store)
        for sql, undo in (('CREATE TABLE more(x)', 'DROP TABLE more'),
                          ('CREATE TRIGGER evil AFTER INSERT ON checkpoint BEGIN DELETE FROM checkpoint; END', 'DROP TRIGGER evil'),
                          ('DROP INDEX checkpoint_of_parent', None)):
            self.edit(sql)
            done = self.yett('list', '--store', self.store)
            self.assertEqual(done.code, 1, sql)
            self.assertIn(f'the store {self.store} is damaged: ', done.err)
            self.assertIn('move it away with what is beside it', done.err)
            if undo:
                self.edit(undo)
                self.told('list', '--store', self.store)

    def test_values_that_somebody_has_changed_are_told(self):
        for sql in ("UPDATE checkpoint SET custom = '{'", "UPDATE checkpoint SET parent = x'00'", "UPDATE checkpoint SET tags = printf('%.*c', 2081, 'x')",
                    "UPDATE checkpoint SET thread = printf('%.*c', 256, 'x')", "UPDATE checkpoint SET custom = printf('[%.*c]', 65535, ' ')"):
            with self.subTest(sql):
                self.put('t', '', '--store', self.store)
                self.edit(sql)
                done = self.yett('list', '--store', self.store)
                self.assertEqual(done.code, 1)
                self.assertIn(f'the store {self.store} is damaged: ', done.err)
                for name in FILES:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.store + name)

    def page(self, bytes_, number):
        start = (number - 1) * 4096
        return memoryview(bytes_)[start:start + 4096]

    def read_store(self):
        with open(self.store, 'rb') as file:
            return bytearray(file.read())

    def write_store(self, bytes_):
        with open(self.store, 'r+b') as file:
            file.write(bytes_)

    def test_tables_whose_pages_lead_to_each_other_have_an_end(self):
        """The list of tables goes on with four levels of pages, each of which names the next one 500 times: 6 * 10^10 rows."""
        self.put('t', '', '--store', self.store)
        self.edit('PRAGMA user_version = 1')
        bytes_ = self.read_store()
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            rows = connection.execute('SELECT rowid, type, name, tbl_name, rootpage FROM sqlite_schema WHERE sql IS NULL').fetchall()
        count = len(bytes_) // 4096
        rowid, kind, name, table, root = rows[0]
        body = kind.encode() + name.encode() + table.encode() + bytes([root])
        record = bytes([6, 13 + 2 * len(kind), 13 + 2 * len(name), 13 + 2 * len(table), 1, 0]) + body  # each is less than 128
        leaf = bytearray(4096)
        cell = bytes([len(record), rowid]) + record
        leaf[4096 - len(cell):] = cell
        leaf[:10] = struct.pack('>BHHHBH', 13, 0, 1, 4096 - len(cell), 0, 4096 - len(cell))
        pages = [self.moved(bytes_[:4096]), leaf]

        def interior(left, right, times, at=0):
            page = bytearray(4096)
            cells = at + 12 + 2 * times
            for i in range(times):
                page[cells + 5 * i:cells + 5 * i + 5] = struct.pack('>IB', left, 1)
                page[at + 12 + 2 * i:at + 14 + 2 * i] = struct.pack('>H', cells + 5 * i)
            page[at:at + 12] = struct.pack('>BHHHBI', 5, 0, times, cells, 0, right)
            return page
        for level in range(4):
            pages.append(interior(count + 2 + level, count + 2 + level, 500))
        new = interior(count + 1, count + len(pages), 1, 100)
        new[:100] = bytes_[:100]
        new[28:32] = struct.pack('>I', count + len(pages))
        self.write_store(bytes(new) + bytes_[4096:] + b''.join(pages))
        self.assert_refused(f'the store {self.store} is damaged: reading it does not end')
        with contextlib.closing(sqlite3.connect(self.store)) as connection:  # which would go on and on
            connection.set_progress_handler(lambda: 1, 20000000)
            with self.assertRaisesRegex(sqlite3.OperationalError, 'interrupted'):
                connection.execute('SELECT count(*) FROM checkpoint')

    @staticmethod
    def moved(first):
        """The first page, as another one: its header is 100 bytes further on there."""
        count, = struct.unpack_from('>H', first, 103)
        page = bytearray(first)
        page[0:8 + 2 * count] = first[100:108 + 2 * count]
        return page

    def test_statements_that_are_too_long_are_not_parsed(self):
        self.put('t', '', '--store', self.store)
        self.edit('CREATE VIEW long AS SELECT 1 WHERE 1 IN (%s)' % ','.join('1' * 5000))
        self.assert_refused(f'the store {self.store} is damaged: malformed database schema (long) - string or blob too big')

    def test_an_index_whose_pages_lead_to_each_other_takes_no_memory_without_end(self):
        """Of the thread: seven levels of 110 entries, each of which leads to the next level. What removes collects what it finds first."""
        ids = [self.put('t', '', '--store', self.store) for _ in range(2)]
        self.edit('PRAGMA user_version = 1')
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            root, = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'checkpoint_of_thread'").fetchone()
        bytes_ = self.read_store()
        count = len(bytes_) // 4096
        record = bytes([4, 15, 44, 1]) + b't' + bytes.fromhex(ids[1].replace('-', '')) + b'\2'
        cell = bytes([len(record)]) + record

        def page(kind, cell, times, right=None):
            made = bytearray(4096)
            header = struct.pack('>BHHHB', kind, 0, times, 4096 - times * len(cell), 0) + (struct.pack('>I', right) if right else b'')
            made[:len(header)] = header
            for i in range(times):
                at = 4096 - (i + 1) * len(cell)
                made[at:at + len(cell)] = cell
                made[len(header) + 2 * i:len(header) + 2 * i + 2] = struct.pack('>H', at)
            return made
        pages = [page(10, cell, 130)]
        pages += [page(2, struct.pack('>I', count + 1 + level) + cell, 110, count + 1 + level) for level in range(6)]
        self.page(bytes_, root)[:] = pages.pop()
        bytes_[28:32] = struct.pack('>I', count + len(pages))
        self.write_store(bytes(bytes_) + b''.join(pages))
        for command in (['rollback', 't', ids[0]], ['delete-thread', 't']):
            process = self.alice.popen([self.run_.path('cli/yett'), 'checkpoint', *command, '--store', self.store], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with process.stderr:
                told = process.stderr.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual((process.returncode, told.splitlines()[0]), (1, f'yett: the store {self.store} is damaged: reading it does not end'), command)
            self.assertLess(usage.ru_maxrss, 512 << 10)  # KiB

    def test_a_checkpoint_that_is_there_twice_is_told(self):
        self.writer('t', 300, 10).wait(yett.DEADLINE)
        self.edit('PRAGMA user_version = 1')
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            root, = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_checkpoint_1'").fetchone()
        bytes_ = self.read_store()
        page = self.page(bytes_, root)
        self.assertEqual(page[0], 2)  # an inner page
        count, = struct.unpack_from('>H', page, 3)
        cells = struct.unpack_from('>%dH' % count, page, 12)
        for cell in cells:
            page[cell:cell + 4] = page[8:12]
        self.write_store(bytes_)
        done = self.yett('list', '--limit', '1000', '--store', self.store)
        self.assertEqual((done.code, done.err.splitlines()[0]), (1, f'yett: the store {self.store} is damaged: a checkpoint is in it twice'))

    def test_a_circle_of_parents_has_an_end(self):
        ids = [self.put('t', '', '--store', self.store) for _ in range(3)]
        self.edit(f"UPDATE checkpoint SET parent = x'{ids[2].replace('-', '')}' WHERE parent IS NULL")
        self.assertEqual(len(self.document('history', ids[2], '--store', self.store)['result']['checkpoints']), 3)

    def test_an_empty_file_is_made_a_store(self):
        yett.write(self.store, '', 0o600)
        self.owned(self.store)
        self.put('t', '', '--store', self.store)
        self.assertEqual(len(self.ids_of()), 1)

    def test_ids_go_on_behind_one_of_the_future(self):
        self.put('t', '', '--store', self.store)
        self.edit("UPDATE checkpoint SET id = x'03bb2cc3d8007000800000000000ffff'")  # the year 2100
        self.assertRegex(self.put('t', '', '--store', self.store), '^03bb2cc3-d800-7001-')


class Together(Stores):
    def test_several_processes_lose_nothing_also_when_all_make_the_store(self):
        writers = [self.writer('shared' if i % 2 else f't{i}', 60, 500) for i in range(8)]
        said = [process.communicate(timeout=yett.DEADLINE) for process in writers]
        self.assertEqual([(process.returncode, err) for process, (_, err) in zip(writers, said)], [(0, b'')] * 8)
        acknowledged = [out.decode().split() for out, _ in said]
        self.assertEqual([len(ids) for ids in acknowledged], [60] * 8)
        self.assertEqual(self.ids_of(), sorted(sum(acknowledged, [])))
        self.assert_sound()
        shared = [one['id'] for one in self.document('list', 'shared', '--limit', '999', '--store', self.store)['result']['checkpoints']]
        self.assertEqual(shared, sorted(sum(acknowledged[1::2], []), reverse=True))
        line = self.document('history', shared[0], '--store', self.store)['result']['checkpoints']
        self.assertEqual([one['id'] for one in line], shared)  # each has the one before it as its parent, whoever put that

    def test_others_can_read_while_one_writes(self):
        writer = self.writer(size=100000)
        self.addCleanup(writer.stdout.close)
        self.addCleanup(writer.stderr.close)
        self.addCleanup(writer.wait, yett.DEADLINE)
        self.addCleanup(writer.kill)
        seen = 0
        for _ in range(20):
            last = writer.stdout.readline().decode().strip()
            self.assertIn(last, self.told('history', last, '--store', self.store))
            seen += 1
        self.assertEqual(seen, 20)

    def test_a_lock_that_is_kept_has_a_deadline(self):
        self.put('t', '', '--store', self.store)
        holder = subprocess.Popen(['python3', '-c', 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); '
                                   'c.execute("BEGIN IMMEDIATE"); print("held", flush=True); sys.stdin.read()', self.store],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=self.alice.uid, group=self.alice.gid, extra_groups=[])
        self.assertEqual(holder.stdout.readline(), b'held\n')
        done = self.yett('put', 't', '--store', self.store)
        self.assertEqual((done.code, done.err.splitlines()[0]), (1, f'yett: others have kept the store {self.store} locked for 10000 ms'))
        self.told('list', '--store', self.store)  # which nobody keeps from being read
        holder.communicate(timeout=yett.DEADLINE)
        self.put('t', '', '--store', self.store)


class Full(Stores):
    def setUp(self):
        super().setUp()
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size=1m,mode=700,uid={self.alice.uid},gid={self.alice.gid}', 'yett-test', self.folder],
                       check=True)
        self.addCleanup(subprocess.run, ['umount', '--lazy', self.folder], check=True)

    def test_a_full_disk_is_told_and_loses_nothing(self):
        writer = self.writer(size=20000)
        out, err = writer.communicate(timeout=yett.DEADLINE)
        acknowledged = out.decode().split()
        self.assertEqual((writer.returncode, err.decode()), (1, f'8 28 the store {self.store} cannot be used: No space left on device\n'))
        self.assertGreater(len(acknowledged), 5)
        done = self.yett('put', 't', '--store', self.store, input=bytes(900000))
        self.assertEqual((done.code, done.err.splitlines()[0]), (1, f'yett: the store {self.store} cannot be used: No space left on device'))
        subprocess.run(['mount', '-o', 'remount,size=8m', self.folder], check=True)
        self.assertEqual(self.ids_of(), acknowledged)
        self.assert_sound()
        self.put('t', '', '--store', self.store)

    def test_a_disk_that_is_full_from_the_beginning_is_told_and_leaves_a_store_that_can_be_made(self):
        filler = os.path.join(self.folder, 'filler')
        with open(filler, 'wb') as file, contextlib.suppress(OSError):
            file.write(bytes(2 << 20))
        done = self.yett('put', 't', '--store', self.store)
        self.assertEqual((done.code, done.err.splitlines()[0]), (1, f'yett: the store {self.store} cannot be used: No space left on device'))
        os.unlink(filler)
        self.put('t', '', '--store', self.store)
        self.assertEqual(len(self.ids_of()), 1)


if __name__ == '__main__':
    yett.main()
