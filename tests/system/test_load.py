# SPDX-License-Identifier: Apache-2.0
"""A session under load: nothing is lost, and no process of it has more descriptors or memory afterwards. Counted before and after.

YETT_TEST_FLOW_SECONDS=60 lets the output of 10 MB a second flow for as long; by default it is a shorter time.
"""
import os

import yett

FLOW_SECONDS = int(os.environ.get('YETT_TEST_FLOW_SECONDS', '3'))
SLACK_KIB = 192  # what a process may have more of without growing: pages of stacks, and of allocators that settle
SANITIZED_SLACK_KIB = 1024  # one whose allocator keeps what was freed for a while, and remembers who did it


def descriptors(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def memory_kib(pid):
    """Of its own: a part of what it maps of files would be more when another process that maps them ends. proc_pid_smaps(5)"""
    for line in yett.read('/proc/%d/smaps_rollup' % pid).splitlines():
        if line.startswith('Anonymous:'):
            return int(line.split()[1])
    raise AssertionError('no memory of %d' % pid)


class Load(yett.Case):
    def do(self, client, words):
        client.stdin.write((words + '\n').encode())
        client.stdin.flush()
        answer = self.line(client)
        self.assertEqual(answer, 'done', '%s: %s' % (words, answer or client.stderr.read().decode()))

    def everything(self, client):
        """The client, and every process of the service but the listener's idle ones, and but the child that init has ready."""
        found = [pid for pid in self.service.leftover_processes() if pid not in self.service.waiting_processes()]
        inits = yett.inits_among(found)
        for init in inits:
            yett.wait_until(lambda pid=init: len(yett.children_of(pid)) == 1, 'a child that is ready, and no other')
        return sorted([client.pid, *(pid for pid in found if yett.parent_of(pid) not in inits)])

    def test_a_session_loses_nothing_and_does_not_grow(self):
        # An address sanitizer keeps what was freed for a while; a little of that is enough.
        client = self.service.popen(self.alice, self.service.run_.path('tests/system/load'), stdin=-1, stdout=-1, stderr=-1,
                                    env={'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'})
        self.addCleanup(self.end, client)
        # as it is when everything was used once, and what is kept of old commands is as much as it can be
        for words in ('all 200', 'flow 1', 'row 300'):
            self.do(client, words)
        processes = self.everything(client)
        self.assertGreaterEqual(len(processes), 5)  # client, monitor, decider, decoder, supervisor, init: one may be known by other ids
        before = {pid: (descriptors(pid), memory_kib(pid)) for pid in processes}
        for words in ('row 1000', 'all 200', 'all 200', 'flow %d' % FLOW_SECONDS, 'row 300'):
            self.do(client, words)
        self.assertEqual(self.everything(client), processes)
        for pid in processes:
            print('%s: descriptors %d, then %d; memory %d KiB, then %d' %
                  (' '.join(yett.argv_of(pid)[:1]), before[pid][0], descriptors(pid), before[pid][1], memory_kib(pid)))
            with self.subTest(program=yett.argv_of(pid)[:1]):
                self.assertEqual(descriptors(pid), before[pid][0])
                slack = SANITIZED_SLACK_KIB if 'libasan' in yett.read('/proc/%d/maps' % pid) else SLACK_KIB
                yett.wait_until(lambda p=pid, more=slack: memory_kib(p) <= before[p][1] + more,
                                'as little memory as the %d KiB before: it has %d' % (before[pid][1], memory_kib(pid)))
        client.stdin.close()
        self.assertEqual(client.wait(yett.DEADLINE), 0)


if __name__ == '__main__':
    yett.main()
