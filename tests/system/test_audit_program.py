# SPDX-License-Identifier: Apache-2.0
"""yett-audit itself: what it writes of what it is told, what it answers, and where it goes on. The tests are its listener and its tellers."""
import concurrent.futures
import errno
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import auditing
import disk
import yett


class Case(unittest.TestCase):
    def audit(self, **more):
        audit = auditing.Audit(**more)
        self.addCleanup(audit.remove)
        return audit

    def told(self, *lines, **more):
        """The records of what was told to a yett-audit that then ended; all were taken."""
        audit = self.audit(**more).start()
        self.assertEqual(audit.tell(*lines), [0] * len(lines))
        self.assertEqual(audit.stop(), 0)
        return audit, audit.read()


class Records(Case):
    def test_each_kind_says_what_it_is_about(self):
        audit, records = self.told(
            'create uid=1000 key=laptop principal=anna profile=build grant=students place=/etc/yett/yett.conf:185 asked=memory=1G share=/work rules=1',
            'failed uid=1000 code=4 message=no', 'act uid=1000 action=6', 'act uid=1000 action=13 rules=1', 'refused uid=1001 code=12 rule=max_memory file=/etc/yett/yett.conf',
            'ended uid=1000 ended=5 cpu=7', 'policy')
        self.assertEqual([record['event'] for record in records], ['segment', 'create', 'failed', 'act', 'act', 'refused', 'ended', 'policy'])
        self.assertEqual([record['seq'] for record in records], list(range(1, 9)))
        segment, create, failed, kill, network, refused, ended, policy = records
        self.assertEqual(segment['segment'], 1)
        self.assertEqual(create['user'], {'uid': 1000, 'gid': 1000, 'pid': 4711, 'program': '/usr/bin/yett', 'key': 'laptop', 'principal': 'anna'})
        self.assertEqual(create['grant'], {'name': 'students', 'place': '/etc/yett/yett.conf:185'})
        self.assertEqual((create['profile']['name'], create['asked'], create['sandbox']), ('build', 'memory=1G', '0123456789abcdef'))
        in_force = create['in_force']
        self.assertEqual((in_force['limits']['memory_bytes'], in_force['limits']['pids']), (1 << 30, 100))
        self.assertEqual(in_force['shares'], [{'target': '/work', 'access': 'read-only', 'from': None}])
        # of 300 rules, as many as there may be, and how many more there are
        self.assertEqual((len(in_force['rules']['allow']), len(in_force['rules']['deny']), in_force['rules']['left_out']), (150, 106, 44))
        self.assertEqual(in_force['rules']['allow'][0], 'n0.example:443')
        self.assertEqual((failed['error']['code'], failed['error']['message'], kill['action'], network['action']), (4, 'no', 'kill', 'network'))
        self.assertEqual(network['rules']['left_out'], 44)
        self.assertEqual((refused['user']['uid'], refused['error']['rule'], refused['error']['file']), (1001, 'max_memory', '/etc/yett/yett.conf'))
        self.assertEqual((ended['ended'], ended['usage']['cpu_us'], ended['usage']['reads'], ended['user']['uid']), ('wall-time', 7, None, 1000))
        self.assertEqual((policy['user'], len(policy['image'])), (None, 64))
        self.assertIn('"event":"create"', audit.log)

    def test_what_users_wrote_can_neither_end_a_line_nor_move_a_cursor(self):
        nasty = r'a\x0a{"event":"x"}\x1b[2J\xff\xe2\x80\xae"\\'
        audit, records = self.told('create program=%s asked=%s share=%s grant=%s' % ((nasty,) * 4))
        self.assertEqual(records[1]['asked'], 'a\n{"event":"x"}\x1b[2J\ufffd\u202e"\\\\')
        with open(audit.segment(1), 'rb') as file:
            data = file.read()
        self.assertEqual(data.count(b'\n'), 2)
        self.assertNotIn(b'\x1b', data)
        self.assertNotIn('\u202e'.encode(), data)
        self.assertTrue(all(line.startswith('<') for line in audit.log.splitlines()), audit.log)

    def test_a_text_without_an_end_in_sight_is_cut_and_a_plan_of_wild_numbers_is_one_line(self):
        lines = ['create asked=' + 'ä' * 900] + ['create wild=%d' % (2 * seed) for seed in range(20)] + ['create wild=%d' % (2 * seed + 1) for seed in range(20)]
        _, records = self.told(*lines)
        self.assertEqual(len(records), 1 + len(lines))
        self.assertEqual(records[1]['asked'], 'ä' * 512 + '…')

    def test_what_does_not_fit_into_a_line_is_told_without_what_is_in_force(self):
        _, records = self.told('create asked=a grant=students share=%s again=63' % (r'\x01' * 1000), 'create share=/x again=99')
        self.assertEqual((records[1]['in_force'], records[1]['cut'], records[1]['asked'], records[1]['grant']['name']), (None, True, 'a', 'students'))
        self.assertEqual((len(records[2]['in_force']['shares']), records[2]['in_force']['shares_left_out']), (64, 36))

    def test_what_is_no_record_is_refused_and_the_next_one_is_taken(self):
        audit = self.audit().start()
        self.assertEqual(audit.tell('create noplan=1', 'nonsense', 'create', 'create rules=1'), [errno.EBADMSG, errno.EBADMSG, 0, 0])
        self.assertEqual(audit.stop(), 0)

    def test_who_does_not_wait_is_written_down_too_and_what_is_queued_when_the_listener_ends(self):
        audit = self.audit().start()
        audit.process.send_signal(19)  # SIGSTOP: all of it waits in the queue
        audit.tell(*['create nowait=1'] * 50)
        audit.ours.close()
        audit.process.send_signal(18)
        self.assertEqual(audit.process.wait(yett.DEADLINE), 0)
        audit.close(0)
        self.assertEqual(len(audit.read()), 51)


class Privilege(Case):
    def test_it_has_an_id_of_its_own_no_capability_and_a_filter(self):
        if os.geteuid() != 0:
            self.skipTest('root is needed')
        audit = self.audit().start()
        self.assertEqual(audit.tell('create'), [0])
        status = yett.status_of(audit.process.pid)
        self.assertEqual((status['Uid'].split(), status['Gid'].split(), status['Groups']), ([str(auditing.ID)] * 4, [str(auditing.ID)] * 4, ''))
        self.assertEqual({int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')}, {0})
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        opened = {os.readlink('/proc/%d/fd/%s' % (audit.process.pid, fd)) for fd in os.listdir('/proc/%d/fd' % audit.process.pid)}
        self.assertEqual({os.path.basename(path) for path in opened if path.startswith(audit.folder)}, {'state', '00000001.jsonl'})
        self.assertEqual(audit.stop(), 0)

    def test_nobody_but_root_and_itself_tells_it_anything(self):
        if os.geteuid() != 0:
            self.skipTest('root is needed')
        audit = self.audit().start()
        os.chmod(audit.own, 0o711)
        os.chmod(audit.socket_path, 0o666)  # whoever gets there
        tell = 'import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ns.connect(sys.argv[1])\n' \
               'try: s.send(b"no record"); print(s.recv(64))\nexcept OSError: print(b"")'
        said = [subprocess.run(['/usr/bin/python3', '-c', tell, audit.socket_path], user=uid, capture_output=True, text=True, timeout=yett.DEADLINE).stdout.strip()
                for uid in (0, 54321)]
        self.assertNotEqual(said[0], "b''")
        self.assertEqual(said[1], "b''")
        self.assertEqual(audit.stop(), 0)


class Bounds(Case):
    def test_all_records_come_to_no_more_than_they_may(self):
        audit = self.audit(max_bytes=1 << 20, user_bytes=0).start()
        with audit.kept():
            answers = audit.tell('create times=3000')[0]
        self.assertRegex(answers, r'^0:\d+ %d:\d+$' % errno.EFBIG)
        audit.stop()
        size = sum(os.path.getsize(os.path.join(audit.folder, name)) for name in audit.segments())
        self.assertLessEqual(size, 1 << 20)
        self.assertGreater(size, 900 << 10)

    def test_one_user_can_fill_no_more_than_a_part_and_the_next_one_is_written_down(self):
        audit = self.audit(user_bytes=200 << 10).start()
        answers = dict(part.split(':') for part in audit.tell('create uid=1000 times=2000')[0].split())
        self.assertEqual(set(answers), {'0', str(errno.EDQUOT)})
        self.assertLess(int(answers['0']), 1500)
        self.assertEqual(audit.tell('create uid=1001', 'ended uid=1000', 'create uid=1000'), [0, 0, errno.EDQUOT])
        audit.stop()

    def test_nobody_hides_a_sandbox_behind_records_of_other_things(self):
        """Acts fill the part of the user; which sandboxes there are then, is still written down, in short."""
        audit = self.audit(user_bytes=100 << 10).start()
        answers = dict(part.split(':') for part in audit.tell('act uid=1000 times=1000')[0].split())
        self.assertEqual(set(answers), {'0', str(errno.EDQUOT)})
        self.assertEqual(audit.tell(*['create uid=1000 id=%016x' % i for i in range(50)]), [0] * 50)
        self.assertEqual(audit.tell('act uid=1000'), [errno.EDQUOT])
        audit.stop()
        made = [record for record in audit.read() if record['event'] == 'create']
        self.assertEqual([record['sandbox'] for record in made], ['%016x' % i for i in range(50)])
        for record in made[1:]:  # there may have been room for the first one
            self.assertEqual((record['cut'], record['in_force'], record['user']['uid'], bool(record['profile'])), (True, None, 1000, True))

    def test_what_a_user_caused_counts_on_when_another_process_goes_on(self):
        """Else a segment that is full gives everybody a new day, and one user fills all that there may be."""
        audit = self.audit(max_bytes=1 << 20, user_bytes=200 << 10).start()
        with audit.kept():
            self.assertEqual(audit.tell('create uid=1000 times=120'), ['0:120'])
            users = iter(range(2000, 9000))  # each has a quota of its own, however fast the disk is
            yett.wait_until(lambda: audit.tell('create uid=%d' % next(users)) == [0] and audit.ended, 'the end of a process whose segment is full')
            self.assertIn('%d:' % errno.EDQUOT, audit.tell('create uid=1000 times=1200')[0])
        self.assertEqual(audit.stop(), 0)
        audit.start()
        self.assertEqual(audit.tell('create uid=1000', 'create uid=1001'), [errno.EDQUOT, 0])
        self.assertEqual(audit.stop(), 0)

    def test_a_flood_of_refusals_is_counted_and_told_by_one_line(self):
        audit = self.audit(name='tests/system/yett-audit-quick').start()
        audit.tell('refused uid=1000 code=12 message=no nowait=1 times=3000', 'refused uid=1001 code=12')
        audit.stop()
        records = [record for record in audit.read() if record['event'] in ('refused', 'merged')]
        self.assertIn(1001, [record['user']['uid'] for record in records if record['event'] == 'refused'])
        merged = [record for record in records if record['event'] == 'merged']
        single = [record for record in records if record['event'] == 'refused' and record['user']['uid'] == 1000]
        self.assertEqual(sum(record['count'] for record in merged) + len(single), 3000)
        self.assertLessEqual(len(single), 20 * (len(merged) + 1))
        # of the real minute: a second of it is no more than this
        audit = self.audit().start()
        audit.tell('refused uid=1000 code=12 message=%s times=50000' % ('x' * 200))
        audit.stop()
        self.assertLess(os.path.getsize(audit.segment(1)), 100000)


class Interrupted(Case):
    """Whatever happens, what was acknowledged is there, verification says so, and the next process goes on."""

    def folder(self, name):
        folder = tempfile.mkdtemp(prefix='yett-audit-')
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(os.path.join(folder, name))
        return os.path.join(folder, name)

    def marks(self, audit):
        return {record['asked'] for record in audit.read() if record['event'] == 'create'}

    def tell_marks(self, audit, count, acknowledged):
        """Tells one after the other until it ends; the marks of those that were acknowledged are added."""
        teller = subprocess.Popen([auditing.program('tests/system/audit_tell'), audit.socket_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answers, sent = [], []
        for _ in range(count):
            sent.append('m%d' % len(self.all_marks))
            self.all_marks.append(sent[-1])
        lines = ''.join('create uid=1000 asked=%s\n' % mark for mark in sent)
        output, _ = teller.communicate(lines)
        answers = output.splitlines()
        acknowledged.update(mark for mark, answer in zip(sent, answers) if answer == '0')

    def whole(self, audit):
        done = auditing.verify('--dir', audit.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @staticmethod
    def bytes_in(audit):
        return sum(entry.stat().st_size for entry in os.scandir(audit.folder))

    def test_it_may_be_killed_at_each_of_its_steps(self):
        self.all_marks, acknowledged, killed, step = [], set(), 0, 1
        audit = self.audit(name='tests/system/yett-audit-faults', max_bytes=1 << 21)
        while True:
            audit.start(YETT_TEST_STEP=str(step))
            # that which died leaves nobody who answers: the teller is told that it is gone
            thread = threading.Thread(target=lambda: (audit.process.wait(yett.DEADLINE), audit.listening.close()))
            thread.start()
            self.tell_marks(audit, 12, acknowledged)
            minute = audit.minute()
            yett.wait_until(lambda: not yett.is_alive(audit.process.pid) or audit.minute() != minute, 'the end of a minute of this yett-audit')
            audit.ours.close()
            thread.join()
            status = audit.process.wait(yett.DEADLINE)
            audit.close(status)
            self.assertIn(status, (0, 99))
            died = status == 99
            killed += died
            self.assertLessEqual(acknowledged, self.marks(audit))
            audit.start(YETT_TEST_STEP='0')
            self.assertEqual(audit.tell('create'), [0])
            audit.stop()
            self.whole(audit)
            if not died:
                break
            step += 1
        self.assertGreater(killed, 8)
        self.assertGreater(len(acknowledged), 20)

    def fail_at(self, error, step):
        audit = self.audit(name='tests/system/yett-audit-faults')
        audit.start(YETT_TEST_STEP=str(step), YETT_TEST_ERROR=str(error))
        with audit.kept():
            answers = audit.tell('create asked=a', 'create asked=b')
            # what failed is tried again after a second, perhaps by another process
            yett.wait_until(lambda: audit.tell('create asked=c') == [0], 'a record after step %d' % step)
        self.assertEqual(audit.stop(), 0)
        told = {mark for mark, answer in zip('ab', answers) if answer == 0} | {'c'}
        self.assertLessEqual(told, self.marks(audit), step)
        self.assertLessEqual(set(answers), {0, error})
        audit.start(YETT_TEST_STEP='0')
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        self.whole(audit)
        audit.remove()

    def test_a_step_that_fails_is_answered_for_and_the_next_record_goes_on(self):
        with concurrent.futures.ThreadPoolExecutor(5) as pool:  # mostly each waits for the next try
            for done in [pool.submit(self.fail_at, error, step) for error in (errno.ENOSPC, errno.EIO) for step in range(1, 16)]:
                done.result()

    def test_a_power_cut_takes_nothing_that_was_acknowledged(self):
        audit_disk = disk.Disk(self, 64 << 20)
        os.mkdir(os.path.join(audit_disk.top, 'log'), 0o700)
        audit_disk.umount()
        audit_disk.begin()
        self.all_marks, acknowledged = [], set()
        audit = self.audit(folder=os.path.join(audit_disk.top, 'log'), name='tests/system/yett-audit-quick', max_bytes=32 << 20)
        for round_ in range(8):
            audit.start()
            teller = threading.Thread(target=self.tell_marks, args=(audit, 400, acknowledged))
            teller.start()
            # In each round at another moment: when so much more has been written, or when a minute has ended.
            if round_ % 2:
                yett.wait_until(lambda minute=audit.minute(): audit.minute() != minute, 'the next minute')
            else:
                yett.wait_until(lambda enough=self.bytes_in(audit) + 8000 * (round_ + 1): self.bytes_in(audit) >= enough or not teller.is_alive(), 'records')
            audit.kill()
            teller.join(yett.DEADLINE)
            audit_disk.cut()
            self.assertLessEqual(acknowledged, self.marks(audit), round_)
            audit.start()
            self.assertEqual(audit.tell('create'), [0])
            audit.stop()
            self.whole(audit)
        self.assertGreater(len(acknowledged), 100)

    def test_a_disk_that_is_full_loses_no_line_and_what_is_torn_is_told(self):
        full = self.folder('full')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', full], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', full])
        os.mkdir(os.path.join(full, 'log'), 0o700)
        yett.write(os.path.join(full, 'ballast'), 'x' * (300 << 10))
        audit = self.audit(folder=os.path.join(full, 'log'), max_bytes=0).start()
        answers = audit.tell('create asked=a times=2000')[0]
        self.assertRegex(answers, r'^0:\d+ %d:\d+$' % errno.ENOSPC)
        os.unlink(os.path.join(full, 'ballast'))
        # What failed is tried again after a second; until then it answers with the error.
        yett.wait_until(lambda: audit.tell('create asked=b') == [0], 'a record where there is room again')
        audit.stop()
        self.assertIn('torn', [record['event'] for record in audit.read()])
        taken = int(re.match(r'0:(\d+)', answers).group(1))
        self.assertEqual(len([record for record in audit.read() if record.get('asked') == 'b']), 1)
        self.assertGreaterEqual(len([record for record in audit.read() if record.get('asked') == 'a']), taken)
        self.assertIn('are a truncated record', self.whole(audit))

    def test_a_file_system_that_is_read_only_is_said_and_nothing_hangs(self):
        folder = self.folder('ro')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'ro,mode=700', 'tmpfs', folder], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', folder])
        audit = self.audit(folder=folder).start()
        self.assertEqual(audit.tell('create'), [errno.EROFS])
        audit.stop()
        self.assertIn('cannot be opened: Read-only', audit.log)

    def test_a_segment_that_is_removed_while_it_is_written_is_told_and_another_one_begun(self):
        audit = self.audit().start()
        self.assertEqual(audit.tell('create asked=a'), [0])
        audit.stop()
        audit.start()  # which has an empty segment besides
        self.assertEqual(audit.tell('create asked=b'), [0])
        subprocess.run(['chattr', '-a', audit.segment(1)], check=False)
        os.unlink(audit.segment(1))
        self.assertEqual(audit.tell('create asked=c'), [0])
        audit.stop()
        self.assertEqual([record['event'] for record in audit.read()], ['segment', 'lost', 'create'])
        done = auditing.verify('--dir', audit.folder)
        self.assertEqual((done.returncode, 'segments up to 1 are not here' in done.stdout), (1, True), done.stdout)

    def test_a_segment_that_is_a_link_when_it_starts_is_not_written_through(self):
        audit = self.audit().start()
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        subprocess.run(['chattr', '-a', audit.segment(1)], check=False)
        os.rename(audit.segment(1), audit.segment(1) + '.moved')
        elsewhere = os.path.join(audit.own, 'elsewhere')
        yett.write(elsewhere, '')
        os.symlink(elsewhere, audit.segment(1))
        audit.start()
        self.assertEqual(audit.tell('create'), [0])
        audit.stop()
        self.assertEqual((yett.read(elsewhere), os.path.islink(audit.segment(1))), ('', True))
        self.assertEqual([record['event'] for record in audit.read(2)], ['segment', 'lost', 'create'])
        os.unlink(audit.segment(1))
        os.unlink(audit.segment(1) + '.moved')

    def test_files_of_others_are_not_taken(self):
        audit = self.audit()
        os.chmod(audit.folder, 0o777)
        audit.start()
        self.assertEqual(audit.tell('create'), [errno.EPERM])
        audit.stop()
        os.chmod(audit.folder, 0o700)
        yett.write(os.path.join(audit.folder, 'state'), 'x', mode=0o622)
        audit.start()
        self.assertEqual(audit.tell('create'), [errno.EPERM])
        audit.stop()

    def test_two_never_write_at_once(self):
        audit = self.audit().start()
        self.assertEqual(audit.tell('create'), [0])
        other = self.audit(folder=audit.folder).start()
        audit.tell(*['create'] * 5)
        audit.stop()
        self.assertEqual(other.tell('create'), [0])
        other.stop()
        self.whole(audit)


if __name__ == '__main__':
    yett.main()
