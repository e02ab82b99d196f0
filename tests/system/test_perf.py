# SPDX-License-Identifier: Apache-2.0
"""Performance events of commands (perf_events): their own, where the host lets users have any."""
import errno
import os
import platform

import yett

POLICY = '''profile "counts" {
  extends = "default"
  perf_events = true
}
profile "any" {
  extends = "default"
  syscalls_allow = {"perf_event_open"}
}
grant "counts" {
  users = {"*"}
  user_keys = true
  share_ro = {"*"}
  share_rw = {"*"}
  profiles = {"counts", "any", "default"}
  perf_events = true
}
'''

PARANOID = '/proc/sys/kernel/perf_event_paranoid'

# Counts the processor time of a process, or of whatever runs on a processor: "counts", or the error.
COUNT = """
import ctypes, os, struct, sys
pid, cpu = (int(word) for word in sys.argv[1:])
attributes = struct.pack('=IIQQQQQ', 1, 112, 1, 0, 0, 0, 1 << 5 | 1 << 6) + bytes(64)  # PERF_COUNT_SW_TASK_CLOCK, not the kernel's
fd = ctypes.CDLL(None, use_errno=True).syscall(%d, attributes, pid, cpu, -1, 0)
if fd < 0:
    sys.exit(print(ctypes.get_errno()))
sum(range(100000))
print('counts' if pid != 0 or struct.unpack('=Q', os.read(fd, 8))[0] > 0 else 'nothing')
""" % {'x86_64': 298, 'aarch64': 241}[platform.machine()]

# Four processes that keep all the buffers they can have: their bytes.
BUFFERS = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
attributes = struct.pack('=IIQQQQQ', 1, 112, 1, 0, 0, 0, 1 << 5 | 1 << 6) + bytes(64)
ends, kept = os.pipe(), os.pipe()

def take():
    while True:
        fd = libc.syscall(%d, attributes, 0, -1, -1, 0)
        sizes = ((1 + (1 << order)) * 4096 for order in range(11, -1, -1))
        size = next((size for size in sizes if libc.mmap(None, size, 3, 1, fd, 0) != ctypes.c_void_p(-1).value), 0)
        if size == 0:
            return
        yield size

for _ in range(4):
    if os.fork() == 0:
        os.close(kept[1])
        os.write(ends[1], struct.pack('=Q', sum(take())))
        os.read(kept[0], 1)
        os._exit(0)
print(sum(struct.unpack('=Q', os.read(ends[0], 8))[0] for _ in range(4)))
""" % {'x86_64': 298, 'aarch64': 241}[platform.machine()]

OWN, PROCESSOR, INIT = ('0', '-1'), ('-1', '0'), ('1', '-1')


class Perf(yett.Case):
    service_options = {'before': POLICY}

    def outside(self, *what):
        return self.service.run(self.alice, 'python3', '-c', COUNT, *what).out.strip()

    def inside(self, *what, profile='counts'):
        return self.output('python3', '-c', COUNT, *what, options=('-q', '-p', profile)).strip()

    def test_commands_count_what_they_do_themselves(self):
        with yett.machine_setting(PARANOID, '2'):
            self.assertEqual(self.outside(*OWN), 'counts')
            self.assertEqual(self.inside(*OWN), 'counts')
            self.assertEqual(self.inside(*OWN, profile='default'), str(errno.EACCES))

    def test_they_count_nothing_of_others_where_the_host_lets_users(self):
        with yett.machine_setting(PARANOID, '-1'):
            self.assertEqual(self.outside(*PROCESSOR), 'counts')
            self.assertEqual(self.inside(*PROCESSOR, profile='any'), 'counts')
            self.assertEqual(self.inside(*PROCESSOR), str(errno.EACCES))
            self.assertEqual(self.inside(*INIT), str(errno.EACCES))
            self.assertEqual(self.inside(*OWN), 'counts')

    def test_what_the_host_keeps_from_users_it_keeps_from_them(self):
        with yett.machine_setting(PARANOID, '2'):
            of_the_kernel = COUNT.replace('1 << 5 | 1 << 6', '0')
            done = self.service.run(self.alice, 'python3', '-c', of_the_kernel, *OWN)
            self.assertEqual(done.out.strip(), str(errno.EACCES))
            self.assertEqual(self.output('python3', '-c', of_the_kernel, *OWN, options=('-q', '-p', 'counts')).strip(), str(errno.EACCES))

    def test_memory_that_no_control_group_counts_is_little(self):
        def taken(profile):
            return int(self.output('python3', '-c', BUFFERS, options=('-q', '-p', profile)))
        with yett.machine_setting(PARANOID, '2'):
            # the user's own share comes first, which is a sandbox's here; then what each process may lock
            share = int(yett.read('/proc/sys/kernel/perf_event_mlock_kb')) * os.cpu_count() << 10
            self.assertGreater(taken('any'), 16 << 20, 'this shows nothing')
            self.assertLess(taken('counts'), 2 * share + 4 * (128 << 10))

    def test_it_is_told(self):
        process = self.start('sh', '-c', 'echo up; exec sleep 1000', options=('-q', '-p', 'counts', '--name', 'counter'))
        self.line(process)
        told = yett.told(self.yett('inspect', '--json', 'counter').out)
        identity, = (step for step in told['sandbox']['plan']['steps'] if step['step'] == 'identity')
        self.assertTrue(identity['perf_events'])
        for profile, is_said in ('counts', True), ('default', False):
            plan = self.sandbox('true', options=('-q', '-p', profile, '--dry-run')).out
            self.assertEqual('performance events, ' in plan, is_said, plan)


class Granted(yett.Case):
    service_options = {'before': POLICY}

    def test_the_grant_must_allow_it(self):
        self.change_policy(POLICY.replace('"default"}\n  perf_events = true', '"default"}'))
        done = self.sandbox('true', options=('-p', 'counts'))
        self.assert_refused(done, 125, "does not allow perf_events to the profile 'counts'", 'asked true, allowed false by perf_events of grant')


class WithoutRoot(Perf):
    service_class = yett.Rootless


if __name__ == '__main__':
    yett.main()
