# SPDX-License-Identifier: Apache-2.0
"""
Many sandboxes with a network come and go, fifty at a time, and of some a process is killed while it makes them, or while they live. Nothing
is left of any: what each had is looked for afterwards by its number.

By default there are 200; YETT_TEST_SANDBOXES=1000, as `make bench` has it, makes so many.
"""
import collections
import contextlib
import ctypes
import errno
import itertools
import os
import re
import signal
import struct

import hostile
import world
import yett
from hostile import Faults

SANDBOXES = int(os.environ.get('YETT_TEST_SANDBOXES', '200'))
ALONE = 1000  # as the bench has it, beside which nothing runs
AT_ONCE = 50
POLICY = '''
grant "many" {
  users = {"*"}
  user_keys = true
  network = open
  allow = {"*"}
  profiles = {"default"}
  max_sandboxes = 60
}
'''

# Where a process waits while it makes a sandbox, in the order in which that happens; and who is killed then.
STEPS = ('egress:front', 'egress:dialer', 'leaver:init', 'leaver:leave', 'supervisor:ids', 'supervisor:cgroup', 'supervisor:reserved')
VICTIMS = ('itself', 'monitor', 'client', 'supervisor')
CASES = [(step, victim) for victim in VICTIMS for step in STEPS if (victim, step.split(':')[0]) != ('supervisor', 'supervisor')]

# bpf(2)
PROG_GET_NEXT_ID, LINK_GET_NEXT_ID, LINK_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 11, 31, 30, 15
LINK_TYPE_NETNS = 5
SYS_BPF = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]


def bpf(command, attributes):
    """What a call returns, and the attributes after it."""
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), 'bpf')
    return result, buffer.raw


def bpf_ids(command):
    """Of all programs, or links, that the kernel has."""
    found = [0]
    with contextlib.suppress(FileNotFoundError):
        while True:
            found.append(struct.unpack_from('<II', bpf(command, struct.pack('<I', found[-1]))[1])[1])
    return set(found[1:])


def network_of_link(number):
    """The program of a link, and the network namespace that it is attached to: (0, 0) of another kind, and of one that is gone."""
    info = ctypes.create_string_buffer(128)
    try:
        fd, _ = bpf(LINK_GET_FD_BY_ID, struct.pack('<I', number))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EAGAIN):
            raise
        return 0, 0
    try:
        bpf(OBJ_GET_INFO_BY_FD, struct.pack('<IIQ', fd, len(info), ctypes.addressof(info)))
    finally:
        os.close(fd)
    kind, _, program = struct.unpack_from('<III', info.raw)  # struct bpf_link_info
    return (program, struct.unpack_from('<I', info.raw, 16)[0]) if kind == LINK_TYPE_NETNS else (0, 0)


def network_namespaces():
    """All that a process is in, or holds, or that is mounted."""
    found = set(re.findall(r'net:\[(\d+)\]', yett.read('/proc/self/mountinfo')))
    for pid in yett.processes():
        for folder in ('ns', 'fd'):
            with contextlib.suppress(OSError):
                for name in os.listdir('/proc/%d/%s' % (pid, folder)):
                    with contextlib.suppress(OSError):
                        found.update(re.findall(r'net:\[(\d+)\]', os.readlink('/proc/%d/%s/%s' % (pid, folder, name))))
    return set(map(int, found))


def kernel_count():
    """How many network namespaces the kernel has memory for, also those that no process leads to; None: it does not tell. Others make some, too."""
    with contextlib.suppress(FileNotFoundError):
        found = re.search(r'^net_namespace +(\d+)', yett.read('/proc/slabinfo'), re.MULTILINE)
        return int(found.group(1)) if found else None
    return None


class Many(yett.Case):
    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.faults = Faults(run.path('faults-many'))
        cls.service_options = {'before': POLICY, 'helper': 'tests/hostile/yett-helper-faults', 'libexec': run.libexec('libexec-many'),
                               'environment': {'YETT_TEST_FAULTS': cls.faults.path}}
        super().setUpClass()
        cls.killed, cls.wanting = collections.Counter(), 0
        cls.namespaces, cls.links, cls.programs = set(), set(), set()  # of all sandboxes there were

    def kill(self, name, pid):
        self.killed[name] += 1
        with contextlib.suppress(ProcessLookupError):  # it may end with another one
            os.kill(pid, signal.SIGKILL)

    def kill_at(self, step, victim, clients):
        """While all others go on."""
        yett.wait_until(lambda: self.faults.reached(), step)
        holder = self.faults.holder()
        supervisor = holder if step.startswith('supervisor:') else yett.parent_of(holder)
        victims = {'itself': holder, 'supervisor': supervisor, 'monitor': yett.parent_of(supervisor)}
        self.assertNotIn(victims.get(victim), (0, 1, os.getpid(), self.service.pid()))
        self.kill('%s at %s' % (victim, step), victims[victim] if victim in victims else clients[0].pid)
        self.faults.release()

    def kill_running(self):
        """One process each of some."""
        fronts = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-front']]
        for front, name in zip(fronts, ('front', 'dialer', 'keeper', 'supervisor', 'init')):
            supervisor = yett.parent_of(front)
            victims = {'front': [front], 'supervisor': [supervisor], 'init': yett.inits_among(yett.children_of(supervisor)),
                       'dialer': [yett.child_named(supervisor, 'yett-dialer')]}
            victims['keeper'] = yett.children_of(victims['dialer'][0])
            self.kill('running ' + name, victims[name][0])

    def take_stock(self, lines):
        """What these sandboxes have, by the names of their network namespaces."""
        mine = {int(re.fullmatch(r'net:\[(\d+)\]', line).group(1)) for line in lines}
        self.assertEqual(len(mine), len(lines))
        links = {number: network_of_link(number) for number in bpf_ids(LINK_GET_NEXT_ID)}
        links = {number: (program, namespace) for number, (program, namespace) in links.items() if namespace in mine}
        # The one of which a process was killed may be over again, or have its network started anew.
        self.assertGreaterEqual(len({namespace for _, namespace in links.values()}), len(mine) - 1)
        self.assertGreaterEqual(len(mine & network_namespaces()), len(mine) - 1)
        self.namespaces.update(mine)
        self.links.update(links)
        self.programs.update(program for program, _ in links.values())

    def batch(self, step, victim):
        self.faults.set(step, Faults.HOLD)
        clients = [self.start('sh', '-c', 'readlink /proc/self/ns/net; read -r line; exit 0', options=['--quiet', '--allow', 'good.example:443'])
                   for _ in range(AT_ONCE)]
        self.kill_at(step, victim, clients)
        told = [(client, self.line(client)) for client in clients]
        lines = [line for _, line in told if line]
        self.faults.set()
        errors = {client: client.communicate(timeout=yett.DEADLINE)[1].decode() for client, line in told if not line}
        # Of one account's connections those that have waited for long make room for its next ones, while all are held up.
        again = [client for client, text in errors.items() if 'and this connection was granted nothing: connect again' in text]
        clients = [client for client, line in told if line]
        self.assertGreaterEqual(len(lines), AT_ONCE - len(again) - 2, errors.values())  # whose process it was, and who was killed for it
        self.assertGreater(len(lines), AT_ONCE // 2)
        self.take_stock(lines)
        self.kill_running()
        for client in clients:
            client.communicate(timeout=yett.DEADLINE)
        codes = collections.Counter(client.returncode for client in [*clients, *(client for client in errors if client not in again)])
        # Who was killed, whose sandbox ended, and whose command was seen to be killed with it: yett(1), exit status
        self.assertLessEqual(set(codes), {0, 125, 128 + signal.SIGKILL, -signal.SIGKILL})
        self.assertGreaterEqual(codes[0], AT_ONCE - len(again) - 6, codes)
        self.wanting += len(again)

    def test_nothing_is_left_of_any(self):
        self.service.wait_no_leftovers()
        count = kernel_count()
        for _, case in zip(range(0, SANDBOXES, AT_ONCE), itertools.cycle(CASES)):
            self.batch(*case)
        self.service.wait_no_leftovers()  # processes, mounts, cgroups, reservations
        self.assertGreaterEqual(len(self.links), (SANDBOXES - self.wanting) * 9 // 10)
        yett.wait_until(lambda: not self.links & bpf_ids(LINK_GET_NEXT_ID), 'the end of all links')
        yett.wait_until(lambda: not self.programs & bpf_ids(PROG_GET_NEXT_ID), 'the end of all programs')
        yett.wait_until(lambda: not self.namespaces & network_namespaces(), 'the end of all network namespaces')
        # What they hold is freed a while after nobody sees them any more. Where other tests run, those make and hold some, too.
        yett.wait_until(lambda: count is None or SANDBOXES < ALONE or kernel_count() < count + SANDBOXES // 10, 'as few network namespaces as the %s before: %s' % (count, kernel_count()))
        print('%d sandboxes, of which %d links and %d programs were looked for; network namespaces of the kernel before and after: %s and %s\nkilled: %s' %
              (SANDBOXES, len(self.links), len(self.programs), count, kernel_count(),
               ', '.join('%d %s' % (times, name) for name, times in self.killed.items())))


if __name__ == '__main__':
    world.enter()
    yett.main()
