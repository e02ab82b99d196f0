# SPDX-License-Identifier: Apache-2.0
"""
The audit against what clients saw: many requests of all kinds, by several clients at once, of which some are killed, as are deciders. Each
request that was granted has one record of that, and each that was refused has one of its refusal.
"""
import contextlib
import os
import random
import signal
import subprocess
import threading

import hostile
import recording
import yett

POLICY = '''helper {
  audit = required
  audit_dir = "%s"
}
grant "few" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_sandboxes = 7
  max_creations = 100000
  max_requests = 100000
}
'''
ACTS = {'pause', 'resume', 'kill', 'destroy', 'attach'}
RESOURCE_LIMIT, TIMEOUT, UNAVAILABLE, LOST = 6, 10, 15, None  # enum yett_code; there was no answer


class Client:
    """One run of many_requests. What it began and how that ended, by number: (kind, id before, code, id after)."""

    def __init__(self, case, seed, count, dies_after):
        self.requests, self.dies_after = {}, dies_after
        self.process = case.service.popen(case.alice, hostile.program('many_requests'), str(seed), str(count), stdout=subprocess.PIPE)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            what, number, *more = line.decode().split()
            if what == 'begin':
                self.requests[number] = (*more, LOST, '-')
            else:
                self.requests[number] = (*self.requests[number][:2], int(more[0]), more[1])
            if len(self.requests) == self.dies_after:
                self.process.kill()

    def wait(self):
        self.thread.join()
        return self.process.wait()


class Records(yett.Case):
    COUNT, CLIENTS = 1000, 4

    @classmethod
    def setUpClass(cls):
        cls.records = yett.run_of_process().path('records-' + cls.__name__)
        cls.service_options = {'before': POLICY % cls.records}
        super().setUpClass()
        cls.addClassCleanup(recording.remove, cls.records)

    def lines(self):
        return recording.lines(self.records)

    def living(self):
        """Sandboxes of which no end is told."""
        lines = self.lines()
        over = {line['sandbox'] for line in lines if line['event'] in ('failed', 'ended')}
        return {line['sandbox'] for line in lines if line['event'] == 'create'} - over

    def deciders(self):
        return [pid for pid in self.service.leftover_processes() if yett.argv_of(pid)[:1] == ['yett-decider']]

    def ask_all(self, chance):
        """The requests of all clients, with a decider that is killed now and then."""
        asked, seed = [], 0
        while len(asked) < self.COUNT:
            share = self.COUNT // 10 // self.CLIENTS
            clients = [Client(self, chance.randrange(1 << 30), share, chance.choice((None, None, 1 + chance.randrange(share)))) for _ in range(self.CLIENTS)]
            pids = self.deciders()
            if pids and seed % 2:
                with contextlib.suppress(ProcessLookupError):  # it has ended with its client meanwhile
                    os.kill(chance.choice(pids), signal.SIGKILL)
            seed += 1
            for client in clients:
                self.assertIn(client.wait(), (0, -signal.SIGKILL))
                asked += client.requests.values()
        return asked

    def test_each_request_has_the_record_of_what_its_client_saw(self):
        seed = int.from_bytes(os.urandom(3), 'big')
        asked = self.ask_all(random.Random(seed))
        yett.wait_until(lambda: not self.living(), 'the record of the end of each sandbox')
        self.service.stop()  # what is merged is told at the end, and yett-audit has taken what it was told
        yett.wait_until(lambda: not [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-audit'] and self.records in yett.argv_of(pid)], 'the end of yett-audit')
        lines = self.lines()
        with self.subTest(seed=seed):
            self.compare(asked, lines)

    def compare(self, asked, lines):
        lost = [request for request in asked if request[2] in (LOST, UNAVAILABLE)]
        created = [request[3] for request in asked if request[2] == 0 and request[3] != '-' and request[1] == '-']
        count = lambda event, box=None, action=None: sum(line['event'] == event and box in (None, line.get('sandbox')) and action in (None, line.get('action')) for line in lines)
        for box in created:
            self.assertEqual((count('create', box), count('failed', box), count('ended', box)), (1, 0, 1), box)
        unmade = [line['sandbox'] for line in lines if line['event'] == 'create' and line['sandbox'] not in created]
        failed = [line['sandbox'] for line in lines if line['event'] == 'failed']
        self.assertEqual(len(set(failed)), len(failed))
        self.assertLessEqual(set(failed), set(unmade))
        lost_creations = sum(request[1] == '-' for request in lost)
        self.assertLessEqual(len(unmade) - len(failed), lost_creations)
        refused = sum(request[2] not in (0, LOST, UNAVAILABLE) for request in asked)
        told = len(failed) + count('refused') + sum(line['count'] for line in lines if line['event'] == 'merged')
        self.assertLessEqual(refused, told)
        self.assertLessEqual(told, refused + len(lost))
        for kind, box, code in {request[:3] for request in asked if request[0] in ACTS and request[2] == 0}:
            seen = sum(request[:3] == (kind, box, code) for request in asked)
            # An act is recorded before it is carried out, and a freezer may take too long for it.
            maybe = sum(request[:2] == (kind, box) and request[2] in (LOST, UNAVAILABLE, TIMEOUT) for request in asked)
            self.assertLessEqual(seen, count('act', box, kind), (kind, box))
            self.assertLessEqual(count('act', box, kind), seen + maybe, [(kind, box)] + [request for request in asked if request[:2] == (kind, box)])
        for kind in ('create', 'greedy', 'strange', 'named', 'failing', 'pause', 'attach', 'mount', 'network', 'unknown'):
            self.assertTrue(any(request[0] == kind for request in asked), kind)
        self.assertTrue(any(request[2] == 0 for request in asked))
        self.assertTrue(any(request[1:3] == ('-', RESOURCE_LIMIT) for request in asked))  # max_sandboxes
        self.assertTrue(failed)


class Many(Records):
    COUNT = 10000


if __name__ == '__main__':
    yett.main()
