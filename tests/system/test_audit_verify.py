# SPDX-License-Identifier: Apache-2.0
"""
yett audit: what verification finds of what somebody did to records, what a captured yett-audit can still do, and how records are shown.

The chain is computed here once more, by Python: what an attacker has to compute, and a second opinion on programs/audit/chain.c.
"""
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import auditing
import tiers
import yett

EDITS = tiers.number(200, 1000)
YEAR = 365 * 24 * 60


def keyed(key, *parts):
    return hashlib.blake2b(b''.join(parts), key=key, digest_size=32).digest()


class Chain:
    """As struct chain; `state` is that of the file."""

    LAYOUT = '<8sQQ16sQ32s32s32sQIIQ'  # struct packed and struct slots_state up to its size

    def __init__(self, id_, epoch, key, seal, mac, number):
        self.id, self.epoch, self.key, self.seal, self.mac, self.number = id_, epoch, key, seal, mac, number

    @classmethod
    def begun(cls, id_, key):
        return cls(id_, 0, key, keyed(key, b'yett-audit: begin', id_), bytes(32), 0)

    @classmethod
    def of_key(cls, text):
        data = bytes.fromhex(text.strip().removeprefix('yett-audit-1-').replace('-', ''))
        return cls.begun(data[:16], data[16:48])

    @classmethod
    def of_state(cls, path):
        with open(path, 'rb') as file:
            data = file.read()
        found = max((struct.unpack_from(cls.LAYOUT, data, at) for at in (0, 4096) if data[at:at + 8] == b'yettaud1'), key=lambda slot: slot[1])
        return cls(*found[3:9])

    def advance(self):
        self.seal = keyed(self.key, b'yett-audit: seal', self.seal, self.mac)
        self.key = keyed(self.key, b'yett-audit: next')
        self.epoch += 1

    def line(self, body):
        """The next record, of an object but for its closing bracket."""
        self.mac = keyed(self.key, b'yett-audit: record', self.seal, self.mac, body)
        self.number += 1
        return body + b',"mac":"' + self.mac.hex().encode() + b'"}\n'


def rewrite_state(path, chain):
    """Puts a chain into the state that is in force."""
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    at = max((at for at in (0, 4096) if data[at:at + 8] == b'yettaud1'), key=lambda at: struct.unpack_from('<Q', data, at + 8))
    struct.pack_into('<16sQ32s32s32sQ', data, at + 24, chain.id, chain.epoch, chain.key, chain.seal, chain.mac, chain.number)
    data[at + 496:at + 512] = hashlib.blake2b(bytes(data[at:at + 496]), digest_size=16).digest()
    with open(path, 'wb') as file:
        file.write(data)


class Case(unittest.TestCase):
    def folder(self):
        folder = tempfile.mkdtemp(prefix='yett-audit-')
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def yett(self, *argv, expected=0, **more):
        done = subprocess.run([auditing.program('cli/yett'), 'audit', *argv], check=False, capture_output=True, text=True, timeout=yett.DEADLINE, **more)
        self.assertEqual(done.returncode, expected, (argv, done.stdout, done.stderr))
        return done

    def made(self, minutes=5, each=8, max_bytes=1 << 20):
        """A log with a key: a segment before it and some after, of several minutes; no record is of the present one. (audit, key's file)"""
        audit = auditing.Audit(name='tests/system/yett-audit-quick', max_bytes=max_bytes)
        self.addCleanup(audit.remove)
        audit.start()
        self.assertEqual(audit.tell(*['create asked=before'] * 3), [0] * 3)
        key = self.yett('keygen', '--dir', audit.folder).stdout
        audit.stop()
        audit.start()
        with audit.kept():
            for i in range(minutes):
                if i < minutes - 1:
                    shutil.copy(audit.folder + '/state', audit.own + '/old-state')
                audit.tell(*['create uid=%d asked=m%d-%d profile=build grant=students' % (1000 + j, i, j) for j in range(each)])
                yett.wait_until(lambda epoch=Chain.of_state(audit.folder + '/state').epoch: Chain.of_state(audit.folder + '/state').epoch != epoch, 'the next minute')
        audit.stop()
        audit.start()
        audit.stop()
        for name in audit.segments():
            subprocess.run(['chattr', '-a', os.path.join(audit.folder, name)], check=False, stderr=subprocess.DEVNULL)
        path = os.path.join(audit.own, 'key')
        yett.write(path, '# kept elsewhere\n' + key)
        return audit, path

    def waits_twice(self, audit):
        self.second = self.yett('keygen', '--dir', audit.folder).stdout
        told = self.yett('keygen', '--dir', audit.folder, expected=1).stderr
        self.second = self.yett('keygen', '--dir', audit.folder, '--replace').stdout
        return told


class Edits(Case):
    """Each of these changes files of a folder, whose records are all of earlier minutes."""

    def lines(self, name):
        with open(os.path.join(self.now, name), 'rb') as file:
            return file.read().splitlines(keepends=True)

    def put(self, name, lines):
        with open(os.path.join(self.now, name), 'wb') as file:
            file.write(b''.join(lines))

    def some(self):
        name = self.rng.choice(self.names)
        lines = self.lines(name)
        return name, lines, self.rng.randrange(len(lines))

    def change(self):
        name, lines, i = self.some()
        at = self.rng.randrange(len(lines[i]))
        lines[i] = lines[i][:at] + bytes([lines[i][at] ^ 1 << self.rng.randrange(7)]) + lines[i][at + 1:]
        self.put(name, lines)

    def change_in_its_meaning(self):
        name, lines, i = self.some()
        old = lines[i]
        for a, b in ((b'"uid":1', b'"uid":2'), (b'students', b'teachers'), (b'"epoch":', b'"epoch":1'), (b'"seq":', b'"seq":1')):
            if a in lines[i]:
                lines[i] = lines[i].replace(a, b, 1)
                break
        self.put(name, lines)
        return lines[i] != old

    def remove(self):
        name, lines, i = self.some()
        del lines[i:i + self.rng.randrange(1, 4)]
        self.put(name, lines)

    def swap(self):
        name, lines, i = self.some()
        j = self.rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
        self.put(name, lines)
        return i != j

    def duplicate(self):
        name, lines, i = self.some()
        lines.insert(self.rng.randrange(len(lines) + 1), lines[i])
        self.put(name, lines)

    def cut(self):
        name, lines, _ = self.some()
        data = b''.join(lines)
        self.put(name, [data[:self.rng.randrange(len(data))]])

    def insert(self):
        name, lines, i = self.some()
        lines.insert(i, self.rng.choice([b'\n', b'{}\n', b'{"seq":3,"epoch":2,"event":"torn","offset":0,"bytes":5,"mac":"' + b'0' * 64 + b'"}\n', lines[i].replace(b'create', b'failed') + b'']))
        self.put(name, lines)

    def say_torn(self):
        """A piece is made out to be torn, by a record whose MAC nobody can make."""
        name, lines, i = self.some()
        offset, bytes_ = len(b''.join(lines[:i])), len(lines[i]) - 1
        lines.insert(i + 1, b'{"seq":3,"epoch":2,"time":"","boot_ms":0,"event":"torn","offset":%d,"bytes":%d,"mac":"%s"}\n' % (offset, bytes_, b'0' * 64))
        self.put(name, lines)

    def take_another_chain(self):
        name = self.rng.choice(self.names)
        other = os.path.join(self.other.folder, self.rng.choice(self.other.segments()))
        if os.path.getsize(other) == 0:
            return False
        shutil.copy(other, os.path.join(self.now, name))
        return True

    def take_a_record_of_another_chain(self):
        name, lines, i = self.some()
        with open(self.other.segment(2), 'rb') as file:
            lines[i] = self.rng.choice(file.read().splitlines(keepends=True))
        self.put(name, lines)

    def remove_segment(self):
        os.unlink(os.path.join(self.now, self.rng.choice(self.names)))

    def swap_segments(self):
        a, b = self.rng.sample(self.names, 2)
        of_a, of_b = self.lines(a), self.lines(b)
        self.put(a, of_b)
        self.put(b, of_a)

    def roll_back_the_state(self):
        shutil.copy(self.old_state, os.path.join(self.now, 'state'))

    def edit_the_state(self):
        path = os.path.join(self.now, 'state')
        chain = Chain.of_state(path)
        member = self.rng.choice(['key', 'seal', 'epoch', 'id'])
        setattr(chain, member, getattr(chain, member) + 1 if member == 'epoch' else os.urandom(len(getattr(chain, member))))
        rewrite_state(path, chain)

    def remove_the_last_minutes_with_the_state_of_then(self):
        """All that was written after that is gone, and the state is the one that belonged to what is left: which nobody has who came later."""
        path = os.path.join(self.now, 'state')
        chain = Chain.of_state(path)
        name = self.names[-1]
        lines = self.lines(name)
        last = json.loads(lines[-2])
        self.put(name, lines[:-1])
        chain.mac, chain.number = bytes.fromhex(last['mac']), last['seq']
        chain.seal = keyed(chain.key, b'yett-audit: seal', chain.seal, chain.mac)
        rewrite_state(path, chain)

    def test_each_of_a_thousand_edits_is_found(self):
        audit, key = self.made()
        self.other, _ = self.made(minutes=2)
        self.names = [name for name in audit.segments() if os.path.getsize(os.path.join(audit.folder, name))]
        self.assertGreater(len(self.names), 1)
        self.old_state = os.path.join(audit.own, 'old-state')  # of before the last minute that has records
        self.assertIn('whole:', self.yett('verify', '--dir', audit.folder, '--key', key).stdout)
        # a segment that nobody sealed can be written anew by anybody: what is done to it alone may pass, and nothing after it
        self.names = [name for name in self.names if name != '00000001.jsonl'] + ['00000001.jsonl'] * (len(self.names) < 3)
        self.names = sorted(set(self.names))
        self.now = os.path.join(audit.own, 'now')
        self.rng = random.Random(11)
        edits = [self.change, self.change_in_its_meaning, self.remove, self.swap, self.duplicate, self.cut, self.insert, self.say_torn, self.take_another_chain,
                 self.take_a_record_of_another_chain, self.remove_segment, self.swap_segments, self.roll_back_the_state, self.edit_the_state,
                 self.remove_the_last_minutes_with_the_state_of_then]
        done = {edit.__name__: 0 for edit in edits}
        missed = []
        while sum(done.values()) < EDITS:
            edit = self.rng.choice(edits[:12] * 6 + edits)
            shutil.rmtree(self.now, ignore_errors=True)
            shutil.copytree(audit.folder, self.now)
            if edit() is False:
                continue
            done[edit.__name__] += 1
            result = auditing.verify('--dir', self.now, '--key', key)
            if result.returncode != 1 or 'WRONG' not in result.stdout:
                missed.append((edit.__name__, result.returncode, result.stdout))
        self.assertEqual(missed[:3], [])
        self.assertGreater(min(done.values()), 0, done)

    def test_a_segment_that_is_missing_is_named(self):
        audit, key = self.made(minutes=1)
        self.waits_twice(audit)
        yett.write(key, yett.read(key) + self.second)
        audit.start()
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        first, missing, last = audit.segments()[:3]
        os.unlink(os.path.join(audit.folder, missing))
        done = self.yett('verify', '--dir', audit.folder, '--key', key, expected=1)
        self.assertIn('WRONG: it follows segment %d, and the one before it here is %d' % (int(missing[:8]), int(first[:8])), done.stdout)
        self.assertIn(last, done.stdout)

    def test_a_place_is_named_and_what_is_after_it_is_verified_still(self):
        audit, key = self.made(minutes=2)
        self.now = audit.folder
        lines = self.lines('00000002.jsonl')
        self.put('00000002.jsonl', lines[:3] + lines[5:])
        done = self.yett('verify', '--dir', audit.folder, '--key', key, expected=1)
        self.assertEqual(re.findall('(?m)^.*WRONG.*$', done.stdout), ['00000002.jsonl:4: WRONG: records 4 to 5 are missing before this one, or were replaced',
                                                                   'state: WRONG: segment 2 is cut: it had %d bytes' % sum(map(len, lines))])
        self.put('00000002.jsonl', lines[:3] + [lines[3].replace(b'students', b'teachers')] + lines[4:])
        done = self.yett('verify', '--dir', audit.folder, '--key', key, expected=1)
        self.assertEqual(re.findall('(?m)^.*WRONG.*$', done.stdout), ['00000002.jsonl:4: WRONG: this line was changed (record 4 was expected)'])
        told = yett.told(self.yett('verify', '--dir', audit.folder, '--key', key, '--json', expected=1).stdout)
        self.assertEqual((told['is_whole'], told['wrong'], told['findings'][-1]['line']), (False, 1, 4))


class Captured(Case):
    """Who has all that yett-audit has in memory, and may write its files."""

    def forge(self, audit, name, chain, from_seq, change):
        """Writes the records of a segment anew from one on, by a key of the attacker's."""
        with open(os.path.join(audit.folder, name), 'rb') as file:
            lines = file.read().splitlines(keepends=True)
        made = []
        for line in lines:
            if json.loads(line)['seq'] >= from_seq:
                body = change(line[:line.rindex(b',"mac":"')])
                line = chain.line(body)
            made.append(line)
        with open(os.path.join(audit.folder, name), 'wb') as file:
            file.writelines(made)

    def test_it_can_write_this_minute_as_it_likes_and_no_earlier_one(self):
        audit, key = self.made(minutes=2)
        audit.name = 'helper/yett-audit'  # whose minute does not end while we look
        audit.start()
        self.assertEqual(audit.tell('create uid=1000 grant=students asked=now'), [0])
        audit.kill()
        name, state = audit.segments()[-1], os.path.join(audit.folder, 'state')
        if os.path.getsize(os.path.join(audit.folder, name)) == 0:
            name = audit.segments()[-2]
        subprocess.run(['chattr', '-a', os.path.join(audit.folder, name)], check=False)
        records = audit.read(auditing_number(name))
        present = Chain.of_state(state)
        this_minute = [record['seq'] for record in records if record['epoch'] == present.epoch]
        self.assertEqual(len(this_minute), 1)
        # the attack works for what its key is of
        forged = Chain.of_state(state)
        self.forge(audit, name, forged, this_minute[0], lambda body: body.replace(b'students', b'teachers'))
        self.assertIn('whole:', self.yett('verify', '--dir', audit.folder, '--key', key).stdout)
        self.assertIn('teachers', self.yett('show', '--dir', audit.folder, '--grant', 'teachers').stdout)
        # and for nothing before it: neither with the minute that a record had nor with the present one
        shutil.copytree(audit.folder, audit.own + '/copy')
        for epoch in (None, present.epoch):
            earlier = Chain.of_state(state)
            earlier.mac = bytes.fromhex(records[2]['mac'])
            self.forge(audit, name, earlier, 4, lambda body, epoch=epoch: re.sub(rb'"epoch":\d+', b'"epoch":%d' % epoch, body, count=1) if epoch else body)
            rewrite_state(state, Chain(present.id, present.epoch, present.key, keyed(present.key, present.seal), earlier.mac, earlier.number))
            done = self.yett('verify', '--dir', audit.folder, '--key', key, expected=1)
            self.assertIn('WRONG', done.stdout)

    def test_the_state_holds_no_key_of_an_earlier_minute(self):
        audit, key = self.made(minutes=2)
        with open(key, encoding='ascii') as file:
            chain = Chain.of_key(file.read().splitlines()[1])
        state = os.path.join(audit.folder, 'state')
        with open(state, 'rb') as file:
            data = file.read()
        present = Chain.of_state(state)
        while chain.epoch < present.epoch:
            self.assertNotIn(chain.key, data)
            chain.key = keyed(chain.key, b'yett-audit: next')
            chain.epoch += 1
        self.assertEqual(chain.key, present.key)
        self.assertEqual(data.count(present.key), 1)

    def test_without_a_key_that_is_kept_elsewhere_anybody_can_write_it_anew_and_that_is_said(self):
        audit = auditing.Audit()
        self.addCleanup(audit.remove)
        audit.start()
        self.assertEqual(audit.tell('create asked=a'), [0])
        audit.stop()
        told = self.yett('verify', '--dir', audit.folder).stdout
        self.assertIn('finds accidental damage only', told)


def auditing_number(name):
    return int(name.split('.', maxsplit=1)[0])


class Whole(Case):
    def test_an_export_is_verified_elsewhere_and_a_change_of_it_is_found(self):
        audit, key = self.made()
        export = os.path.join(audit.own, 'export')
        with open(export, 'wb') as file:
            subprocess.run([auditing.program('cli/yett'), 'audit', 'export', '--dir', audit.folder], check=True, stdout=file)
        self.assertIn('whole:', self.yett('verify', '--key', key, export).stdout)
        with open(export, 'rb') as file:
            data = file.read()
        self.assertNotIn(Chain.of_state(audit.folder + '/state').key.hex().encode(), data)
        for changed in (data.replace(b'students', b'teachers', 1), data.replace(b'"vouch":"', b'"vouch":"00', 1)[:-3] + b'}\n', data[:data.rindex(b'{"export"')],
                        data[:len(data) // 2]):
            with open(export, 'wb') as file:
                file.write(changed)
            done = auditing.verify('--key', key, export)
            if changed == data[:data.rindex(b'{"export"')]:
                self.assertIn('whether records are missing at the end is not known', done.stdout)
            else:
                self.assertNotEqual(done.returncode, 0, done.stdout)
        some = self.yett('export', '--dir', audit.folder, '--until', '2001-01-01')
        self.assertEqual(some.stdout, '')

    def test_a_key_of_another_chain_a_wrong_copy_of_one_and_none_are_told_apart(self):
        audit, key = self.made(minutes=1)
        other, other_key = self.made(minutes=1)
        self.assertIn('a key was given of a chain of which no record is here', self.yett('verify', '--dir', audit.folder, '--key', other_key, expected=1).stdout)
        self.assertIn('no key was given', self.yett('verify', '--dir', audit.folder, expected=2).stdout)
        text = yett.read(key)
        at = text.index('yett-audit-1-') + 20
        yett.write(key, text[:at] + ('0' if text[at] != '0' else '1') + text[at + 1:])
        self.assertIn('was not copied as it was printed', self.yett('verify', '--dir', audit.folder, '--key', key, expected=2).stderr)
        self.assertIn('there is no key in it', self.yett('verify', '--dir', audit.folder, '--key', '/dev/null', expected=2).stderr)
        # keys of all chains in one file
        yett.write(key, text + yett.read(other_key))
        self.assertIn('of which no record is here', self.yett('verify', '--dir', audit.folder, '--key', key, expected=1).stdout)

    def test_a_new_key_begins_a_segment_and_both_chains_are_verified(self):
        audit, key = self.made(minutes=1)
        self.assertIn('a new key is waiting already', self.waits_twice(audit))
        yett.write(key, yett.read(key) + self.second)
        audit.start()
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        done = self.yett('verify', '--dir', audit.folder, '--key', key)
        self.assertIn('whole:', done.stdout)
        chains = [record['chain'] for record in audit.read() if record['event'] == 'segment']
        self.assertEqual(len(set(chains)), 3)
        # with the new one alone nobody knows of the earlier
        yett.write(key, self.second)
        self.assertIn('cannot be checked', self.yett('verify', '--dir', audit.folder, '--key', key, expected=2).stdout)

    def test_what_was_pruned_is_missing_unless_that_was_on_purpose(self):
        audit, key = self.made()
        self.assertRegex(self.yett('prune', '--dir', audit.folder, '--keep', '1').stdout, r'^[1-9]\d* segments removed')
        self.assertIn('were removed, by yett audit prune or by somebody else', self.yett('verify', '--dir', audit.folder, '--key', key, expected=1).stdout)
        self.assertIn('whole:', self.yett('verify', '--dir', audit.folder, '--key', key, '--pruned').stdout)
        audit.start()
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        self.assertEqual([record['event'] for record in audit.read()][-2:], ['pruned', 'create'])
        self.assertIn('whole:', self.yett('verify', '--dir', audit.folder, '--key', key, '--pruned').stdout)

    def test_pruning_makes_room_for_a_yett_audit_that_runs(self):
        audit = auditing.Audit(name='tests/system/yett-audit-quick', max_bytes=1 << 20, user_bytes=0)
        self.addCleanup(audit.remove)
        audit.start()
        with audit.kept():
            while ' ' not in audit.tell('create times=100')[0]:
                minute = audit.minute()
                yett.wait_until(lambda minute=minute: audit.minute() != minute, 'the next minute')  # so that several processes have a segment each
            self.yett('prune', '--dir', audit.folder, '--keep', '500K')
            yett.wait_until(lambda: audit.tell('create') == [0], 'room')
        audit.stop()

    def test_a_year_of_minutes_in_which_nothing_happened_is_verified(self):
        audit, key = self.made(minutes=1)
        state = os.path.join(audit.folder, 'state')
        chain = Chain.of_state(state)
        for _ in range(YEAR):
            chain.advance()
        rewrite_state(state, chain)
        self.assertIn('whole:', self.yett('verify', '--dir', audit.folder, '--key', key).stdout)
        chain.advance()
        chain.seal = bytes(32)
        rewrite_state(state, chain)
        self.yett('verify', '--dir', audit.folder, '--key', key, expected=1)


class Shown(Case):
    def test_records_are_told_in_lines_and_found_by_what_they_are_about(self):
        audit = auditing.Audit()
        self.addCleanup(audit.remove)
        audit.start()
        audit.tell('create uid=0 key=laptop profile=build grant=students place=/etc/yett/yett.conf:185 id=aaaaaaaaaaaaaaaa', 'refused uid=54321 code=12 message=too_much rule=max_memory',
                   'act uid=0 action=6 id=aaaaaaaaaaaaaaaa', 'ended uid=0 ended=5 id=aaaaaaaaaaaaaaaa', r'create uid=7 grant=\\x1b[2J program=/bin/\\xe2\\x80\\xae', 'policy')
        audit.stop()

        def shown(*argv):
            return [re.sub(r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ', '', line) for line in self.yett('show', '--dir', audit.folder, *argv).stdout.splitlines()]

        self.assertEqual(len(shown()), 7)
        self.assertEqual(shown('--user', 'root'), [
            'root(0) was given sandbox aaaaaaaaaaaaaaaa of profile build by grant students (/etc/yett/yett.conf:185), key laptop, process 4711: /usr/bin/yett',
            'root(0) killed commands of sandbox aaaaaaaaaaaaaaaa, process 4711: /usr/bin/yett', 'root(0): sandbox aaaaaaaaaaaaaaaa has ended: wall-time'])
        self.assertEqual(shown('--user', '54321'), ['user 54321 was refused something of sandbox 0123456789abcdef: too_much; max_memory, process 4711: /usr/bin/yett'])
        self.assertEqual(shown('--rule', 'max_mem'), shown('--user', '54321'))
        self.assertEqual(shown('--rule', 'yett.conf:185'), shown('--grant', 'students'))
        self.assertEqual(len(shown('--sandbox', 'aaaaaaaaaaaaaaaa')), 3)
        self.assertEqual(len(shown('--event', 'policy')), 1)
        self.assertEqual((len(shown('--since', '1h')), len(shown('--until', '1h')), len(shown('--since', '2001-01-01', '--until', '2001-02-01 10:00'))), (7, 0, 0))
        self.assertNotIn('\x1b', ''.join(shown()))
        self.assertNotIn('\u202e', ''.join(shown()))
        told = yett.told(self.yett('show', '--dir', audit.folder, '--json', '--event', 'create').stdout)
        self.assertEqual([record['user']['uid'] for record in told['records']], [0, 7])
        for wrong in (('show', '--since', 'yesterday'), ('show', 'x'), ('look',), ('prune',), ('prune', '--keep', 'much'), ('verify', '/dev/null')):
            self.yett(*wrong, *(() if wrong[0] == 'verify' else ('--dir', audit.folder)), expected=2)

    def test_what_somebody_wrote_into_a_segment_harms_no_terminal_and_no_document(self):
        audit = auditing.Audit()
        self.addCleanup(audit.remove)
        audit.start()
        audit.stop()
        subprocess.run(['chattr', '-a', audit.segment(1)], check=False)
        with open(audit.segment(1), 'wb') as file:
            for line in (b'{"event":"create","user":{"uid":1},"sandbox":"\x1b[2J"}', b'{"event":"create",,}', b'[[[[' * 5000, b'{"a":' * 5000, b'{"event":"create","time":"\\u001b]0;x\\u0007"}', b'{"event":"\\ud800\\udc00"}', b'\xff\xfe',
                         b'{"event":"ended","usage":{"cpu_us":99999999999999999999999}}'):
                file.write(line + b'\n')
        for argv in (('show',), ('verify',), ('show', '--json')):
            done = subprocess.run([auditing.program('cli/yett'), 'audit', *argv, '--dir', audit.folder], check=False, capture_output=True, timeout=yett.DEADLINE)
            self.assertIn(done.returncode, (0, 1, 2), done)
            self.assertNotIn(b'\x1b', done.stdout + done.stderr)
            if argv[-1] == '--json':
                json.loads(done.stdout)

    def test_an_ordinary_user_is_told_whose_the_records_are(self):
        audit = auditing.Audit()
        self.addCleanup(audit.remove)
        audit.start()
        audit.stop()
        os.chmod(audit.own, 0o755)
        user = yett.run_of_process().user(1)
        done = subprocess.run(['setpriv', '--reuid', str(user.uid), '--regid', str(user.gid), '--clear-groups', yett.run_of_process().path('cli/yett'), 'audit', 'show', '--dir', audit.folder],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('belong to root, who alone can do this', done.stderr)
        done = self.yett('show', '--dir', '/nowhere', expected=1)
        self.assertIn('the policy sets whether and where records are written', done.stderr)


if __name__ == '__main__':
    yett.main()
