# SPDX-License-Identifier: Apache-2.0
"""Limits bite: the kernel stops what goes too far, it is reported by name, and the helper serves on."""
import json
import os
import resource

import growing
import yett

# Where the limit that is tested does not hold, these two end at one of their own, and not the host.
FORK_BOMB = '''
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (1000, 1000))
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError as error:
    print(made, error.errno, flush=True)
    os._exit(7)
'''

RELENTLESS_BOMB = 'ulimit -u 1000; :() { : | : & }; : ; sleep 1000'

MEMORY_HOG = '''
hoard = []
while True:
    hoard.append(bytearray(1 << 20))
'''

# By what each of these goes: the C library's own look, the list that is online, and sched_getaffinity(2).
PROCESSORS = '''
import os, subprocess
print(len(os.sched_getaffinity(0)), os.cpu_count(), os.sysconf('SC_NPROCESSORS_ONLN'))
for name in (['nproc'], ['getconf', '_NPROCESSORS_ONLN']):
    print(subprocess.run(name, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
print(open('/sys/devices/system/cpu/possible').read().strip())
'''

WIDEN = '''
import os
print(len(os.sched_getaffinity(0)))
os.sched_setaffinity(0, range(os.sysconf('SC_NPROCESSORS_CONF')))
print(len(os.sched_getaffinity(0)))
'''

GRANTS = '''
profile "cpu-time" {
  extends = "default"
  cpu_time = 1
}
profile "held" {
  extends = "default"
}
profile "unlimited" {
  extends = "default"
  memory = unlimited
  pids = unlimited
  files = unlimited
}
grant "limits" {
  users = {"*"}
  user_keys = true
  profiles = {"cpu-time", "unlimited"}
  share_rw = {"*"}
}
grant "held" {
  users = {"*"}
  user_keys = true
  profiles = {"held"}
  max_memory = 1G
  max_cpus = 1.5
  max_pids = 100
  max_files = 200
  max_file_size = 2G
}
'''


class Limits(yett.Case):
    service_options = {'after': GRANTS}

    def tearDown(self):
        # whatever was done to it, the helper serves on, the one who did it and everybody else
        self.assertEqual(self.sandbox('true').code, 0)
        self.assertEqual(self.sandbox('true', user=self.bob).code, 0)

    def json_of(self, *argv, options=(), **more):
        """How it ended, with its output as if it had been written to us; and what --json says."""
        done = self.sandbox(*argv, options=['--json', *options], **more)
        told = yett.told(done.out)
        return yett.Result(done.code, told['command']['stdout']['content']['text'], done.err), told

    def test_a_fork_bomb_is_stopped_at_its_limit(self):
        done, told = self.json_of('python3', '-c', FORK_BOMB, options=['--pids', '40'])
        self.assertEqual(done.code, 7, done)
        made, error = done.out.split()
        self.assertEqual(error, '11')  # EAGAIN, as outside
        self.assertIn(int(made), range(30, 41))
        self.assertIn('process limit reached', done.err)
        self.assertEqual(told['result']['limits_hit'], ['pids'])

    def test_a_fork_bomb_that_never_gives_up_ends_with_its_time(self):
        def attempt(ms):
            done, told = self.json_of('bash', '-c', RELENTLESS_BOMB, options=['--pids', '50', '--timeout', '%dms' % ms])
            self.assertEqual((done.code, told['result']['timed_out']), (124, True), done)
            return 'pids' in told['result']['limits_hit'] or None
        growing.grow(attempt, 'as many processes as may be', 2000)

    def test_a_memory_hog_is_killed_at_its_limit(self):
        done, told = self.json_of('python3', '-c', MEMORY_HOG, options=['--memory', '64M'])
        self.assertEqual(done.code, 137, done)
        self.assertIn('memory limit reached (64 MiB)', done.err)
        result = told['result']
        self.assertEqual((result['out_of_memory'], result['limits_hit'], result['signaled'], result['status']),
                         (True, ['memory'], True, 9))
        # the largest of its processes: pages that it has in common with others are counted there, not by the limit
        self.assertLess(result['memory_peak_bytes'], 96 << 20)
        self.assertGreater(result['memory_peak_bytes'], 60 << 20)

    def test_what_is_written_to_memory_file_systems_counts(self):
        done, told = self.json_of('dd', 'if=/dev/zero', 'of=/tmp/x', 'bs=1M', 'count=200', options=['--memory', '64M'])
        self.assertNotEqual(done.code, 0, done)
        self.assertTrue(told['result']['out_of_memory'], told)

    def test_a_hog_that_keeps_under_its_limit_is_let_be(self):
        done, told = self.json_of('python3', '-c', 'x = bytearray(32 << 20)', options=['--memory', '96M'])
        self.assertEqual((done.code, told['result']['limits_hit']), (0, []), done)

    def test_a_busy_loop_gets_its_share_of_a_processor(self):
        # for half a second of processor time at a fifth of a processor it takes at least two seconds
        loop = 'import time\nwhile time.process_time() < 0.5: pass'
        done, told = self.json_of('python3', '-c', loop, options=['--cpus', '0.2'])
        self.assertEqual(done.code, 0, done)
        self.assertEqual(told['result']['limits_hit'], ['cpu'])
        self.assertGreater(told['result']['wall_us'], 2 * (told['result']['user_us'] + told['result']['system_us']))

    def test_processor_time_is_limited_and_named(self):
        done, told = self.json_of('sh', '-c', 'while :; do :; done', options=['-p', 'cpu-time'])
        self.assertIn(done.code, (128 + 24, 128 + 9), done)  # SIGXCPU, or SIGKILL at the hard limit
        self.assertIn('processor time limit reached', done.err)
        self.assertEqual(told['result']['limits_hit'], ['cpu_time'])

    def test_a_timeout_ends_the_command_and_all_it_started(self):
        def attempt(ms):
            done, told = self.json_of('sh', '-c', 'setsid sleep 1000 & trap "" TERM INT HUP; echo up; while :; do sleep 1000; done',
                                      options=['--timeout', '%dms' % (ms + 1)])  # no whole seconds, which are told as such
            self.assertEqual(done.code, 124, done)
            self.assertIn('time limit reached (%dms)' % (ms + 1), done.err)
            self.assertTrue(told['result']['timed_out'])
            self.assertGreaterEqual(told['result']['wall_us'], 1000 * ms)
            return done.out or None
        self.assertEqual(growing.grow(attempt, 'the output of a command'), 'up\n')

    def test_a_command_that_ends_in_time_is_not_timed_out(self):
        done, told = self.json_of('true', options=['--timeout', '1h'])
        self.assertEqual((done.code, told['result']['timed_out']), (0, False))

    def test_open_files_are_limited(self):
        done = self.sandbox('python3', '-c', 'import os\nn = 0\ntry:\n  while True: os.dup(0); n += 1\n'
                            'except OSError as e: print(n, e.errno)', options=['--files', '50'])
        self.assertEqual(done.out.split(), ['47', '24'])

    def test_a_file_grows_no_larger_than_asked(self):
        done = self.sandbox('python3', '-c', 'import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n'
                            'try:\n  open("/tmp/f", "wb").write(bytes(1 << 20))\nexcept OSError as e: print(e.errno)\n'
                            'import os; print(os.path.getsize("/tmp/f"))', options=['--file-size', '64K'])
        self.assertEqual(done.out.split(), ['27', '65536'], done)  # EFBIG

    def test_a_compiler_may_raise_the_limit_of_its_stack(self):
        self.assertEqual(self.shell('ulimit -s; ulimit -s 65536 && ulimit -s').split(), ['8192', '65536'])
        self.assertNotEqual(self.sandbox('sh', '-c', 'ulimit -s 65536', options=['-p', 'strict']).code, 0)

    def test_connections_inside_hold_less_than_those_of_the_host(self):
        paths = ['/proc/sys/net/ipv4/tcp_%smem' % way for way in 'rw']
        before = [yett.read(path) for path in paths]
        for options in (['--net', 'none'], ['--net', 'open']):
            self.assertEqual(self.output('cat', *paths, options=options).split(), ['4096', '16384', '1048576'] * 2, options)
        self.assertEqual([yett.read(path) for path in paths], before)
        script = 'import socket; a = socket.create_server(("127.0.0.1", 0)); b = socket.create_connection(a.getsockname()); c, _ = a.accept(); b.settimeout(0)\n' \
                 'sent = 0\ntry:\n while True: sent += b.send(bytes(65536))\nexcept BlockingIOError: print(sent)'
        self.assertLess(int(self.output('python3', '-c', script)), 1 << 21)  # which nobody reads

    def test_limits_in_force_are_told(self):
        _, told = self.json_of('true', options=['--memory', '100M', '--cpus', '1.5', '--pids', '77', '--files', '99',
                                                  '--file-size', '5M'])
        self.assertEqual(told['sandbox']['limits'], {'memory_bytes': 100 << 20, 'cpu_millis': 1500, 'pids': 77, 'files': 99, 'file_bytes': 5 << 20, 'core_bytes': 1})

    def test_programs_find_the_limits_where_control_groups_are(self):
        script = '''
import json, os, re
found = {}
for line in open("/proc/self/cgroup"):
    number, names, path = line.rstrip("\\n").split(":", 2)
    places = {"": ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")}.get(names, ("/sys/fs/cgroup/" + names,))
    for place in places:
        for file in ("memory.max", "memory.limit_in_bytes", "cpu.max", "cpu.cfs_quota_us"):
            if os.path.exists(place + path + "/" + file):
                found[file.split(".")[0]] = int(open(place + path + "/" + file).read().split()[0])
mounts = [line.split() for line in open("/proc/self/mountinfo") if " - cgroup" in line]
above = [mount[3] for mount in mounts if mount[3] != "/"]
writable = [mount[4] for mount in mounts if "ro" not in mount[5].split(",")]
others = [name for mount in mounts for name in os.listdir(mount[4]) if os.path.isdir(mount[4] + "/" + name)
          and not re.fullmatch("c[0-9]+|init", name)]
print(json.dumps([found, above, writable, others]))
'''
        found, above, writable, others = json.loads(self.python(script, options=('--memory', '300M', '--cpus', '1.5')))
        # In its own group there is a little more than in the sandbox's, so that the sandbox's limit is met.
        self.assertTrue(300 << 20 <= found['memory'] <= (300 << 20) + 65536, found)
        self.assertEqual((found['cpu'], above, writable, others), (150000, [], [], []))

    def test_programs_find_the_machine_s_processors(self):
        self.assertEqual(self.shell('cat /sys/devices/system/cpu/online; lscpu >/dev/null; ls /sys; touch /sys/devices/system/cpu/x 2>/dev/null || echo closed'),
                         yett.read('/sys/devices/system/cpu/online') + 'devices\nfs\nclosed\n')

    def test_programs_find_as_many_processors_as_they_may_keep_busy(self):
        here = len(os.sched_getaffinity(0))
        if here < 2:
            self.skipTest('the machine has one processor')
        for options, count in ((['--cpus', '0.5'], 1), (['--cpus', '1'], 1), (['--cpus', '1.5'], 2), ([], here)):
            with self.subTest(options=options):
                found = self.python(PROCESSORS, options=options).split()
                self.assertEqual(found[:5], [str(count)] * 5)
                self.assertEqual(found[5], yett.read('/sys/devices/system/cpu/possible').strip())
        self.assertEqual(self.shell('nproc', options=['-p', 'strict']), '1\n')  # which shows no list

    def test_a_command_may_have_itself_run_on_other_processors(self):
        here = len(os.sched_getaffinity(0))
        if here < 2:
            self.skipTest('the machine has one processor')
        self.assertEqual(self.python(WIDEN, options=['--cpus', '1']).split(), ['1', str(here)])

    def test_the_limits_of_one_sandbox_are_not_those_of_the_next(self):
        self.sandbox('python3', '-c', MEMORY_HOG, options=['--memory', '32M', '--pids', '10', '--cpus', '0.5'])
        done, told = self.json_of('python3', '-c', 'x = bytearray(64 << 20)\nimport os\n'
                                  'for _ in range(30):\n  if os.fork() == 0: os._exit(0)')
        self.assertEqual((done.code, told['result']['limits_hit']), (0, []), done)
        done, told = self.json_of('true', options=['-p', 'unlimited'])
        self.assertEqual(told['sandbox']['limits'], {'memory_bytes': 0, 'cpu_millis': 0, 'pids': 0, 'files': 0, 'file_bytes': 0, 'core_bytes': 1})

    def test_more_than_allowed_is_refused_with_rule_asked_and_allowed(self):
        for option, asked, key, shown in (('--memory', '2G', 'max_memory = 1G', 'memory of 2G is more than the 1G allowed'),
                                          ('--cpus', '2', 'max_cpus = 1.5', 'cpus of 2 is more than the 1.5 allowed'),
                                          ('--pids', '101', 'max_pids = 100', 'pids of 101 is more than the 100 allowed'),
                                          ('--files', '201', 'max_files = 200', 'files of 201 is more than the 200 allowed'),
                                          ('--file-size', '3G', 'max_file_size = 2G', 'file_size of 3G is more than the 2G allowed')):
            with self.subTest(option=option):
                self.assert_refused(self.sandbox('true', options=['-p', 'held', option, asked]), 125, shown,
                                    "grant 'held' (%s:%d)" % (self.service.policy, self.service.line(key)))
        _, told = self.json_of('true', options=['-p', 'held'])
        self.assertEqual(told['sandbox']['limits'], {'memory_bytes': 1 << 30, 'cpu_millis': 1500, 'pids': 100, 'files': 200, 'file_bytes': 2 << 30, 'core_bytes': 1})

    def test_without_a_ceiling_the_profiles_value_is_the_most(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'cpu-time', '--memory', '3G']), 125,
                            'memory of 3G is more than the 2G allowed',
                            "by memory of profile 'cpu-time' (%s:%d)" % (self.service.policy, self.service.line('memory = 2G')),
                            "max_memory = 3G in grant 'limits' (%s:%d)" % (self.service.policy, self.service.line('grant "limits"')))


class Terminals(yett.Case):
    """A ceiling of its own: what takes them are programs that need memory, too."""

    service_options = {'before': '''
grant "terminals" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_sandboxes = 3
  user_terminals = 10
}
'''}

    def test_terminals_of_all_sandboxes_of_a_user_leave_some_for_others(self):
        script = 'import os\nn = 0\ntry:\n  while n < 500: os.openpty(); n += 1\nexcept OSError as e: print(n, e.errno, flush=True)\ninput()'
        held = [self.start('python3', '-c', script) for _ in range(3)]
        self.assertEqual([self.line(process) for process in held], ['3 28'] * 3)  # a third of ten each
        self.output('python3', '-c', 'import os; os.openpty()', user=self.bob)


class Whatever(yett.Case):
    """Ceilings, which hold whatever grant decides, and a grant that has expired."""

    service_options = {'before': '''
profile "guest" {
  extends = "default"
}
grant "wide" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_memory = 8G
  max_sandboxes = 9
  linger_max = 2h
}
grant "gone" {
  users = {"*"}
  user_keys = true
  profiles = {"guest"}
  expire = "2001-02-03"
  max_sandboxes = 1
}
ceiling "machine" {
  users = {"*"}
  max_memory = 1G
  max_command_timeout = 2s
  linger_max = 1h
  max_sandboxes = 2
}
ceiling "nobody" {
  users = {"no-such-user-here"}
  max_memory = 4M
}
'''}

    def place(self, line):
        return '(%s:%d)' % (self.service.policy, self.service.line(line))

    def test_what_is_more_is_refused_with_the_line_of_the_ceiling(self):
        self.assert_refused(self.sandbox('true', options=['--memory', '2G']), 125, 'memory of 2G is more than the 1G allowed',
                            "max_memory of ceiling 'machine' " + self.place('max_memory = 1G'))
        self.assert_refused(self.sandbox('true', options=['--timeout', '3s']), 125, "max_command_timeout of ceiling 'machine'")

    def test_what_a_profile_has_is_narrowed(self):
        about = json.loads(self.shell('cat /run/yett/sandbox.json'))
        self.assertEqual(about['limits']['memory_bytes'], 1 << 30) # of 2G
        self.assertEqual(self.sandbox('sleep', '60').code, 124)

    def test_their_number_is_that_of_the_ceiling(self):
        self.service.wait_no_leftovers()  # one that ends counts until all of it is gone
        self.addCleanup(self.service.wait_no_leftovers)
        for name in 'first', 'second':  # without a command, whose time would be over after a while
            self.assertEqual(self.yett('create', '--name', name).code, 0)
            self.addCleanup(self.yett, 'destroy', name)
        self.assert_refused(self.sandbox('true'), 125, "max_sandboxes of ceiling 'machine' " + self.place('max_sandboxes = 2'))

    def test_a_grant_that_has_expired_gives_and_bounds_nothing(self):
        self.assert_refused(self.sandbox('true', options=['-p', 'guest']), 125, "the grant 'gone' has expired", 'allowed 2001-02-03T00:00:00Z')
        self.assertIn("the grant 'gone' has expired: 2001-02-03T00:00:00Z", self.service.log_text())
        self.assertIn("'no-such-user-here' is not a user of this host: the ceiling does not bound it", self.service.log_text())


class Disks(yett.Case):
    """What one sandbox reads from and writes to each disk in a second."""

    service_options = {'before': '''
grant "rates" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_io_read = 64M
  max_io_write = 8M
}
ceiling "rates" {
  users = {"*"}
  max_io_write = 2M
}
'''}

    def disks(self):
        """"MAJOR:MINOR" of those that are there."""
        return [yett.read('/sys/block/%s/dev' % name).strip() for name in os.listdir('/sys/block') if os.path.exists('/sys/block/%s/device' % name)]

    def rates(self):
        """Of each file that bounds them, in the groups of sandboxes: what is in it."""
        found = {}
        for top in self.service.cgroup_tops():
            for path, _, files in os.walk(top):
                for name in ('blkio.throttle.read_bps_device', 'blkio.throttle.write_bps_device', 'io.max'):
                    if name in files and yett.read(path + '/' + name):
                        found[name] = sorted(yett.read(path + '/' + name).splitlines())
        return found

    def test_each_disk_is_bounded_by_the_least(self):
        if not self.disks():
            self.skipTest('this machine has no disk (/sys/block/*/device)')
        process = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(process), 'up')
        found = self.rates()
        if 'io.max' in found:
            self.assertEqual(found, {'io.max': sorted(disk + ' rbps=67108864 wbps=2097152 riops=max wiops=max' for disk in self.disks())})
        else:
            self.assertEqual(found, {'blkio.throttle.read_bps_device': sorted(disk + ' 67108864' for disk in self.disks()),
                                     'blkio.throttle.write_bps_device': sorted(disk + ' 2097152' for disk in self.disks())})

    def test_the_least_is_told_with_its_line(self):
        done = self.service.run(self.alice, self.service.yett, 'policy', 'explain', '--policy', self.service.policy, '--', 'true',
                                env={'YETT_HELPER': self.service.helper})
        for key, value, section in (('read', '64M', 'grant'), ('write', '2M ', 'ceiling')):
            self.assertRegex(done.out, r"max_io_%s +%s +max_io_%s of %s 'rates' \(%s:%d\), a second, of each disk" % (
                key, value, key, section, self.service.policy, self.service.line('max_io_%s = %s' % (key, value.strip()))))


class Ceilings(yett.Case):
    """What all sandboxes of one user have together."""

    service_options = {'before': '''
grant "together" {
  users = {"*"}
  user_keys = true
  profiles = {"default"}
  max_sandboxes = 3
  user_memory = 96M
  user_pids = 40
  user_cpus = 1
}
'''}

    def test_processors_of_all_together_are_those_of_each(self):
        self.assertEqual(self.shell('nproc'), '1\n')

    def hold(self, script='echo up; read x', **more):
        process = self.start('sh', '-c', script, **more)
        self.assertEqual(self.line(process), 'up')
        return process

    def test_the_number_of_sandboxes_is_limited_for_each_user(self):
        held = [self.hold() for _ in range(3)]
        done = self.sandbox('true')
        self.assert_refused(done, 125, 'allows this user 3 sandboxes at once')
        self.assertIn('try again', done.err)
        self.assertEqual(self.sandbox('true', user=self.bob).code, 0)
        held[0].communicate(b'\n')
        self.serves_again()

    def serves_again(self, *argv):
        """The slot of a sandbox is free when its client knows that it ended."""
        done = self.sandbox(*(argv or ['true']))
        self.assertEqual(done.code, 0, done)

    def test_a_slot_is_free_again_after_a_client_was_killed(self):
        held = [self.hold() for _ in range(3)]
        held[1].kill()
        held[1].wait()
        yett.wait_until(lambda: self.sandbox('true').code == 0, 'a free slot')

    def test_memory_of_two_sandboxes_adds_up(self):
        held = self.start('python3', '-c', 'x = bytearray(48 << 20); print("up", flush=True); input()')
        self.assertEqual(self.line(held), 'up')
        second = self.start('python3', '-c', 'x = bytearray(64 << 20); print("up", flush=True); input()')
        first_line = self.line(second)
        if first_line == 'up':  # then the kernel chose the other one
            self.assertEqual(held.wait(yett.DEADLINE), 137)
        else:
            self.assertEqual(second.wait(yett.DEADLINE), 137)
        # another user's memory is another's
        self.output('python3', '-c', 'x = bytearray(64 << 20)', user=self.bob)

    def test_what_one_kept_in_memory_is_free_when_its_client_knows_that_it_ended(self):
        for _ in range(3):
            self.output('sh', '-c', 'head -c 64M /dev/zero >/tmp/kept', user=self.bob)

    def test_a_profile_that_another_grant_gives_counts_with_them(self):
        held = self.start('python3', '-c', 'x = bytearray(48 << 20); print("up", flush=True); input()')
        self.assertEqual(self.line(held), 'up')
        second = self.start('python3', '-c', 'x = bytearray(64 << 20); print("up", flush=True); input()', options=['-p', 'strict'])
        if self.line(second) == 'up':  # then the kernel chose the other one
            self.assertEqual(held.wait(yett.DEADLINE), 137)
        else:
            self.assertEqual(second.wait(yett.DEADLINE), 137)

    def test_their_number_is_limited_whichever_grant_gives_the_next_one(self):
        _ = [self.hold() for _ in range(3)]
        self.assert_refused(self.sandbox('true', options=['-p', 'strict']), 125, 'allows this user 3 sandboxes at once')

    def test_processes_of_two_sandboxes_add_up(self):
        many = 'for i in $(seq 25); do sleep 1000 & done; echo up; read x'
        self.hold(many)
        done = self.sandbox('sh', '-c', many, input='')
        self.assertNotEqual(done.code, 0, done)
        self.assertIn('fork', done.err)
        self.output('sh', '-c', 'for i in $(seq 25); do sleep 0.1 & done; wait', user=self.bob)


class Given(yett.Case):
    """A service whose own hard limits are lower than what may be asked of it."""

    service_options = {'after': '''
profile "nice" {
  extends = "default"
  nice = -5
}
profile "slow" {
  extends = "default"
  nice = 5
}
grant "nice" {
  users = {"*"}
  user_keys = true
  profiles = {"nice", "slow"}
}
'''}

    @classmethod
    def setUpClass(cls):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4500, 4500))
        try:
            super().setUpClass()
        finally:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            except ValueError:
                pass  # without CAP_SYS_RESOURCE; 4500 will do

    def test_what_cannot_be_given_is_refused_with_asked_and_allowed(self):
        self.assertEqual(self.shell('ulimit -n', options=['--files', '4500']), '4500\n')
        told = yett.told(self.output('true', options=['--json', '-p', 'build']))
        self.assertEqual(told['sandbox']['limits']['files'], 4500)
        for options in (['--files', '4501'], ['-p', 'build', '--files', '60000'], ['--files', '4501', '--dry-run']):
            self.assert_refused(self.sandbox('true', options=options), 125, "is more than the helper's own limit of 4500")
        done = self.sandbox('true', options=['-p', 'nice'])
        self.assertTrue(done.code == 0 or "nice of -5 is less than the helper's own limit of 0" in done.err, done)
        self.assertEqual(self.shell('nice', options=['-p', 'slow']), '5\n')
        self.assertEqual(self.sandbox('true').code, 0)


if __name__ == '__main__':
    yett.main()
