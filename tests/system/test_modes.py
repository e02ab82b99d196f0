# SPDX-License-Identifier: Apache-2.0
"""The ways to start the helper, the privilege of each of its processes, and lives that outlast the service."""
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import yett

KILL, SETGID, SETUID, DAC_OVERRIDE = 5, 6, 7, 1
NONE = set()

# linux/capability.h, by the name that helper/privilege/privilege.c uses
CAPABILITIES = {name: number for number, name in enumerate(
    '''CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
    NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT
    SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
    WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE'''.split())}


def table(name):
    """A table of helper/privilege/privilege.c as a set of numbers."""
    text = yett.read(os.path.join(yett.SOURCE, 'helper', 'privilege', 'privilege.c'))
    body = re.search(r'static const int %s\[\] = \{(.*?)\};' % name, text, re.S).group(1)
    return {CAPABILITIES[word] for word in re.findall(r'^\s*CAP_(\w+)', body, re.M)}


def building():
    """What init holds while it builds, over its own namespaces: INIT_BUILD_CAPABILITIES."""
    text = yett.read(os.path.join(yett.SOURCE, 'helper', 'plan', 'order.h'))
    body = re.search(r'define INIT_BUILD_CAPABILITIES\(X\)(.*?)\n\n', text, re.S).group(1)
    return {CAPABILITIES[word] for word in re.findall(r'X\(CAP_(\w+)\)', body)}


def sets_of(pid):
    """Effective, permitted, bounding, inheritable and ambient; nothing of a process that has gone."""
    status = yett.status_of(pid)
    return status and tuple(yett.capability_names(status[name]) for name in ('CapEff', 'CapPrm', 'CapBnd', 'CapInh', 'CapAmb'))


def is_of_the_host(pid):
    """Whether its capabilities are those of the host's user namespace."""
    with contextlib.suppress(OSError):
        return os.readlink('/proc/%d/ns/user' % pid) == os.readlink('/proc/self/ns/user')
    return False


def wait_narrowed(supervisor):
    """A command is up a moment before its supervisor gives up what it made the sandbox with."""
    yett.wait_until(lambda: sets_of(supervisor)[0] != table('build'), 'that the supervisor gives up what it made the sandbox with')


class Roles(yett.Case):
    """Each process has what helper/privilege/privilege.c says, and no more."""

    spares = 0

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'spares': cls.spares}
        super().setUpClass()

    def setUp(self):
        self.build, self.supervise = table('build'), table('supervise')
        self.bounding = self.build | table('audit')
        self.assertIn(CAPABILITIES['SYS_ADMIN'], self.build)
        process = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(process), 'up')
        self.client = process
        self.command = self.outside(process)[0]
        self.init = yett.parent_of(self.command)
        self.supervisor = yett.parent_of(self.init)
        yett.wait_until(lambda: len(self.monitors()) == 1, 'the end of the connection before')
        self.monitor, = self.monitors()
        self.decider, self.decoder = yett.decider_and_decoder(self.monitor)

    def monitors(self):
        return [pid for pid in yett.children_of(self.service.pid()) if self.service.connections() & yett.sockets_of(pid)]

    def assert_undumpable(self, pid, root=0):
        """Its /proc files belong to root of its user namespace, whoever it runs as. proc(5)"""
        found = os.stat('/proc/%d/environ' % pid)
        self.assertEqual((found.st_uid, found.st_gid), (root, root))

    def test_listener_and_monitor_have_nothing_effective(self):
        for pid in (self.service.pid(), self.monitor):
            effective, permitted, bounding, inheritable, ambient = sets_of(pid)
            self.assertEqual((effective, inheritable, ambient), (NONE, NONE, NONE))
            self.assertEqual((permitted, bounding), (self.build, self.bounding))

    def test_a_supervisor_can_do_only_what_ending_takes(self):
        wait_narrowed(self.supervisor)
        effective, permitted, bounding, inheritable, ambient = sets_of(self.supervisor)
        self.assertEqual((effective, inheritable, ambient), (self.supervise, NONE, NONE))
        self.assertEqual((permitted, bounding), (self.build, self.bounding))  # for what may be mounted later

    def test_no_helper_process_holds_more_than_building_takes(self):
        seen = 0
        for pid in self.service.leftover_processes() + [self.service.pid()]:
            sets, argv = sets_of(pid), yett.argv_of(pid)
            # it has ended meanwhile; or is init, or about to be, with all that its own user namespace has
            if not sets or not argv or argv[0] == 'yett-init' or not is_of_the_host(pid):
                continue
            effective, permitted, bounding, inheritable, ambient = sets
            seen += 1
            with self.subTest(argv=argv[:1], pid=pid):
                self.assertLessEqual(effective | permitted, self.build)
                self.assertLessEqual(bounding, self.bounding)
                self.assertEqual((inheritable, ambient), (NONE, NONE))
        self.assertGreater(seen, 3)

    def test_init_has_three_capabilities_in_the_sandboxs_user_namespace(self):
        effective, permitted, bounding, _, ambient = sets_of(self.init)
        self.assertEqual((effective, permitted, bounding), ({KILL, SETGID, SETUID}, {KILL, SETGID, SETUID}, NONE))
        self.assertEqual(ambient, NONE)
        status = yett.status_of(self.init)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        self.assertTrue(all(self.service.owns_uid(int(uid)) for uid in status['Uid'].split()))
        self.assertNotEqual(os.readlink('/proc/%d/ns/user' % self.init), os.readlink('/proc/self/ns/user'))

    def test_the_command_has_nothing(self):
        self.assertEqual(sets_of(self.command), (NONE,) * 5)

    def test_every_namespace_is_the_sandboxs_own(self):
        for name in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'):
            with self.subTest(namespace=name):
                own = os.readlink('/proc/%d/ns/%s' % (self.command, name))
                self.assertNotEqual(own, os.readlink('/proc/self/ns/' + name))
                self.assertEqual(own, os.readlink('/proc/%d/ns/%s' % (self.init, name)))

    def test_the_closer_has_nothing_at_all(self):
        uid = str(self.service.ids_first + 3)
        found = []

        yett.bring_something(self.service.pid(), lambda *argv: self.service.popen(self.bob, *argv, stdout=subprocess.PIPE))

        def appears():
            found[:] = [pid for pid in yett.children_of(self.service.pid()) if yett.status_of(pid).get('Uid', '').split() == [uid] * 4]
            return found and yett.status_of(found[0]).get('NoNewPrivs') == '1'
        yett.wait_until(appears, 'the closer')
        status = yett.status_of(found[0])
        self.assertEqual((status['Gid'].split(), status['Groups']), ([uid] * 4, ''))
        self.assertEqual(sets_of(found[0]), (NONE,) * 5)
        self.assertRegex(yett.read('/proc/%d/limits' % found[0]), 'Max core file size +1 +1 ')
        self.assert_undumpable(found[0])

    def assert_ids_of_a_decider(self, pid):
        status = yett.status_of(pid)
        uid = status['Uid'].split()[0]
        self.assertIn(int(uid) - self.service.ids_first - yett.DECIDERS, range(yett.DECIDERS_COUNT))
        self.assertEqual((status['Uid'].split(), status['Gid'].split(), status['Groups']), ([uid] * 4, [uid] * 4, ''))

    def test_the_decider_has_nothing_but_what_it_hears_and_asks(self):
        self.assert_ids_of_a_decider(self.decider)
        status = yett.status_of(self.decider)
        self.assertEqual(sets_of(self.decider), (NONE,) * 5)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp'], status['Threads']), ('1', '2', '1'))
        links = {int(name): os.readlink('/proc/%d/fd/%s' % (self.decider, name)) for name in os.listdir('/proc/%d/fd' % self.decider)}
        kinds = sorted(re.sub(r'socket:.*', 'socket', link) for link in links.values())
        # Its monitor, its decoder, the client, the supervisor, yett-reader; where it waits for that; the policy, as it came and as it was loaded.
        self.assertEqual([kind for kind in kinds if not kind.startswith('/memfd:')], ['anon_inode:[eventpoll]'] + ['socket'] * 5, links)
        self.assertEqual({kind.split(' ')[0] for kind in kinds if kind.startswith('/memfd:')}, {'/memfd:yett-policy'}, links)
        self.assertTrue(links[0].startswith('socket:'), links)
        self.assertEqual(len(self.service.connections() & yett.sockets_of(self.decider)), 1)
        self.assertEqual(os.listdir('/proc/%d/root' % self.decider), [])
        self.assertEqual(os.readlink('/proc/%d/cwd' % self.decider), self.service.runtime + '/empty')
        limits = yett.read('/proc/%d/limits' % self.decider)
        for limit in ('Max processes +0 +0', 'Max core file size +1 +1', 'Max open files +4352 +4352', 'Max file size +67108864 +67108864'):
            self.assertRegex(limits, limit)
        self.assert_undumpable(self.decider)

    def test_each_decider_has_an_id_of_its_own(self):
        other = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(other), 'up')

        def uids():
            deciders = [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-decider'] and yett.parent_of(yett.parent_of(pid)) == self.service.pid()]
            found = [int(yett.status_of(pid)['Uid'].split()[0]) for pid in deciders if yett.status_of(pid)]
            return found if len(found) > 2 and all(found) else None  # 0: one that has only just been started
        yett.wait_until(uids, 'deciders')
        found = uids() or []
        self.assertEqual(len(found), len(set(found)), found)

    def test_the_decoder_has_nothing_at_all(self):
        status = yett.status_of(self.decoder)
        self.assert_ids_of_a_decider(self.decoder)
        self.assertEqual(status['Uid'], yett.status_of(self.decider)['Uid'])
        self.assertEqual(sets_of(self.decoder), (NONE,) * 5)
        self.assertEqual(status['NoNewPrivs'], '1')
        self.assertIn(status['Seccomp'], ('1', '2'))
        links = {name: os.readlink('/proc/%d/fd/%s' % (self.decoder, name)) for name in os.listdir('/proc/%d/fd' % self.decoder)}
        self.assertEqual(list(links), ['0'])
        self.assertTrue(links['0'].startswith('socket:'), links)
        self.assertEqual(os.listdir('/proc/%d/root' % self.decoder), [])
        limits = yett.read('/proc/%d/limits' % self.decoder)
        for limit in ('Max open files', 'Max processes', 'Max file size'):
            self.assertRegex(limits, limit + r' +0 +0')
        self.assertRegex(limits, 'Max core file size +1 +1 ')
        self.assert_undumpable(self.decoder)

    def reader(self):
        return next(pid for pid in yett.children_of(self.monitor) if yett.argv_of(pid)[:1] == ['yett-reader'])

    def test_the_reader_is_its_user_and_nothing_more(self):
        status = yett.status_of(self.reader())
        alice = pwd.getpwnam(self.alice.name)
        self.assertEqual((status['Uid'].split(), status['Gid'].split()), ([str(alice.pw_uid)] * 4, [str(alice.pw_gid)] * 4))
        self.assertEqual(status['Groups'].split(), yett.status_of(self.client.pid)['Groups'].split())
        self.assertEqual(sets_of(self.reader()), (NONE,) * 5)
        self.assertEqual(status['NoNewPrivs'], '1')
        links = {name: os.readlink('/proc/%d/fd/%s' % (self.reader(), name)) for name in os.listdir('/proc/%d/fd' % self.reader())}
        self.assertEqual([name for name, link in links.items() if link.startswith('socket:')], ['0'], links)
        limits = yett.read('/proc/%d/limits' % self.reader())
        for limit in ('Max processes +0 +0', 'Max core file size +1 +1', 'Max file size +0 +0'):
            self.assertRegex(limits, limit)
        self.assert_undumpable(self.reader())

    def test_a_reader_that_nobody_has_asked_can_become_somebody_and_nothing_else(self):
        """Of monitors that wait for a connection."""
        waiting = {pid for pid in self.service.waiting_processes() if yett.argv_of(pid)[:1] == ['yett-reader']}
        yett.wait_until(lambda: all(yett.status_of(pid).get('NoNewPrivs') == '1' for pid in waiting), 'the end of their start')
        self.assertGreater(len(waiting), 0)
        for pid in waiting:
            effective, permitted, bounding, inheritable, ambient = sets_of(pid)
            self.assertEqual((effective, permitted, bounding, inheritable, ambient), ({SETGID, SETUID}, {SETGID, SETUID}, NONE, NONE, NONE))
            self.assertEqual(os.listdir('/proc/%d/fd' % pid), ['0'])
            self.assert_undumpable(pid)

    def test_the_compiler_of_the_policy_has_nothing_but_what_it_reads(self):
        """It waits for its first byte, from a pipe in the place of a file: by then it has dropped everything."""
        image = os.memfd_create('image', os.MFD_ALLOW_SEALING)
        source, text = os.pipe()
        with subprocess.Popen(['yett-policy', '%d:/the/file' % source], pass_fds=(source,), stdin=image,
                              executable=os.path.join(os.path.dirname(self.service.helper), 'yett-policy')) as process, \
                contextlib.ExitStack() as failed:
            os.close(source)
            failed.callback(process.kill)  # else it would wait for its first byte, and we for its end
            yett.wait_until(lambda: yett.read('/proc/%d/syscall' % process.pid).split()[:2] == ['0', hex(source)], 'its first read')
            status = yett.status_of(process.pid)
            uid = re.search(r'define POLICY_COMPILER_ID +\(POLICY_IDS_FIRST_DEFAULT \+ (\d+)\)',
                            yett.read(os.path.join(yett.SOURCE, 'helper', 'policy', 'policy.h'))).group(1)
            uid = str(0x70000000 + int(uid))
            self.assertEqual((status['Uid'].split(), status['Gid'].split(), status['Groups']), ([uid] * 4, [uid] * 4, ''))
            self.assertEqual(sets_of(process.pid), (NONE,) * 5)
            self.assertEqual(status['NoNewPrivs'], '1')
            self.assertEqual(sorted(int(name) for name in os.listdir('/proc/%d/fd' % process.pid)), sorted((0, source)))
            limits = yett.read('/proc/%d/limits' % process.pid)
            for limit in ('Max processes +0 +0', 'Max core file size +1 +1', r'Max file size +33554432 +33554432'):
                self.assertRegex(limits, limit)
            self.assert_undumpable(process.pid)
            os.write(text, b'profile "p" {\n memroy = 1G\n}\n')
            os.close(text)
            self.assertEqual(process.wait(yett.DEADLINE), 0)
            failed.pop_all()
        self.assertIn(b"/the/file:2: profile has no key", os.pread(image, 4096, 0))
        os.close(image)

    def test_all_of_the_helper_is_undumpable(self):
        for pid in (self.service.pid(), self.monitor, self.decider, self.decoder, self.supervisor):
            self.assert_undumpable(pid)
        self.assert_undumpable(self.init, self.service.ids_first)
        # as a command of the payload's, for comparison, is its own
        self.assertEqual(os.stat('/proc/%d/environ' % self.command).st_uid, self.private_uid(self.client))

    def test_only_the_client_holds_the_client_end_of_the_channel(self):
        # when it closes, init must see it: so none of the helper may have kept a copy
        self.client.kill()
        self.client.wait()
        yett.wait_until(lambda: not yett.is_alive(self.init), 'the end of init')

    def test_the_helper_takes_no_descriptor_of_the_client(self):
        names = [os.readlink('/proc/%d/fd/%s' % (self.supervisor, name)) for name in os.listdir('/proc/%d/fd' % self.supervisor)]
        self.assertEqual([name for name in names if name.startswith('pipe:')], [], names)

    def test_the_service_has_no_environment_of_the_client(self):
        self.assertNotIn('YETT_SOCKET', yett.read('/proc/%d/environ' % self.supervisor))


class KeptRoles(Roles):
    """The same where supervisors are prepared and used again."""

    spares = 2

    def setUp(self):
        super().setUp()
        if yett.parent_of(self.supervisor) == self.service.pid():  # the listener prepared it
            return
        gone = self.monitor
        self.client.communicate(b'\n')  # a monitor made this one, as none was prepared yet
        yett.wait_until(lambda: not yett.sockets_of(gone), 'the end of that monitor')
        yett.wait_until(self.is_prepared, 'a supervisor that is prepared')
        super().setUp()
        self.assertEqual(yett.parent_of(self.supervisor), self.service.pid())

    def is_prepared(self):
        """Whether there are as many as there may be: each is a child of the listener and holds a range."""
        held = os.listdir(os.path.join(self.service.runtime, 'ids'))
        return len(held) >= self.spares

    def test_init_that_builds_is_nobody_of_the_host_and_holds_what_is_listed(self):
        yett.wait_until(lambda: self.ready(), 'an init that is ready')  # pylint: disable=unnecessary-lambda
        for pid in self.ready():
            with self.subTest(pid=pid):
                effective, permitted, bounding, inheritable, ambient = sets_of(pid)
                self.assertEqual((effective, permitted, bounding), (building(),) * 3)
                self.assertEqual((inheritable, ambient), (NONE, NONE))
                status = yett.status_of(pid)
                self.assertTrue(all(self.service.owns_uid(int(id)) for id in status['Uid'].split() + status['Gid'].split()))
                self.assertEqual(status['Groups'], '')
                for name in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'):
                    self.assertNotEqual(os.readlink('/proc/%d/ns/%s' % (pid, name)), os.readlink('/proc/self/ns/' + name), name)

    def ready(self):
        """Inits that wait for an order: of those that have begun, so that the sets are what they will be."""
        return [pid for pid in self.service.leftover_processes()
                if yett.argv_of(pid)[:1] == ['yett-init'] and pid != self.init and not sets_of(pid)[4] and sets_of(pid)[1]]


class Spares(yett.Case):
    """What is prepared for the next sandbox is as clean as a new one, and goes with the service."""

    service_options = {'spares': 3}

    def test_many_in_a_row_are_each_new(self):
        seen = set()
        for i in range(20):
            out = self.shell('ls -A /tmp ~ /dev/shm /run/lock | grep -c left; touch /tmp/left ~/left /dev/shm/left /run/lock/left; '
                             'echo $$; cat /proc/sys/kernel/random/boot_id >/dev/null; echo /proc/[0-9]*',
                             options=['-p', 'build' if i % 3 else 'default', '--memory', '%dM' % (64 + i)])
            seen.add(out)
        self.assertEqual(len(seen), 1, seen)
        self.assertTrue(seen.pop().startswith('0\n'))

    def test_who_takes_another_group_has_it_inside_at_once(self):
        """As newgrp(1) does, while what is prepared is for the group before."""
        shared = self.folder('of-groups')
        os.chmod(shared, 0o777)
        groups = [self.alice.gid, self.bob.gid]

        def assert_is_of(gid):
            done = self.sandbox('sh', '-c', 'id -g; id -G; touch "$1/file"', 'sh', shared, options=['--rw', shared], gid=gid, groups=groups)
            self.assertEqual((done.code, done.out.split()[0], sorted(map(int, done.out.split()[1:]))), (0, str(gid), sorted(groups)), done)
            self.assertEqual(os.stat(shared + '/file').st_gid, gid)
            os.unlink(shared + '/file')

        for gid in groups * 2:
            assert_is_of(self.alice.gid)
            yett.wait_until(lambda: len(os.listdir(os.path.join(self.service.runtime, 'ids'))) >= self.service.spares, 'what is prepared')
            for _ in range(self.service.spares + 1):
                assert_is_of(gid)

    def test_private_ids_are_not_used_again_soon(self):
        uids = []
        for _ in range(20):
            process = self.start('sh', '-c', 'echo up; read x')
            self.line(process)
            uids.append(self.private_uid(process))
            process.communicate(b'\n')
        # Where the ranges begin anew two at once may give back the place to begin at: a hint is all that it is, reserve_range().
        self.assertGreater(len(set(uids)), 17, uids)

    def test_two_users_do_not_get_each_others(self):
        for _ in range(4):
            self.assertEqual(self.shell('id -u; echo ~; id -G').split(),
                             [str(self.alice.uid), self.alice.home, str(self.alice.gid)])
            self.assertEqual(self.shell('id -u; echo ~; id -G', user=self.bob).split(),
                             [str(self.bob.uid), self.bob.home, str(self.bob.gid)])
            self.assertIn('4747', self.output('id', '-G', groups=[self.alice.gid, 4747]).split())

    def test_at_once(self):
        held = [self.start('sh', '-c', 'echo up; read x; echo $x', user=(self.alice, self.bob)[i % 2]) for i in range(12)]
        self.assertEqual([self.line(process) for process in held], ['up'] * 12)
        self.assertEqual(len({self.private_uid(process) for process in held}), 12)
        for i, process in enumerate(held):
            self.assertEqual(process.communicate(b'%d\n' % i, timeout=yett.DEADLINE)[0], b'%d\n' % i)


class Memory(yett.Case):
    """What is prepared gives way where memory is short: as /proc/meminfo says to a helper of this test's."""

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        cls.folder_of_host = run.path('host')
        os.mkdir(cls.folder_of_host)
        cls.tell_available(1 << 20)
        script = '#!/bin/sh\nexec unshare --mount sh -c \'mount --bind "$0/meminfo" /proc/meminfo && exec "%s" "$@"\' "%s" "$@"\n' % (
            run.path('helper/yett-helper'), cls.folder_of_host)
        yett.write(run.path('host/helper'), script, 0o755)
        # Beside that helper everybody else is in other namespaces.
        grant = 'grant "elsewhere" {\n  users = {"*"}\n  user_keys = true\n  confined_clients = true\n  profiles = {"default"}\n}\n'
        cls.service_options = {'spares': 2, 'helper': 'host/helper', 'before': grant}
        super().setUpClass()

    @classmethod
    def tell_available(cls, kib):
        yett.write(cls.folder_of_host + '/meminfo', 'MemTotal: %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\n' % (2 << 20, kib))

    def prepared(self):
        return len(yett.inits_among(self.service.leftover_processes()))

    def test_sandboxes_are_prepared_while_there_is_memory(self):
        self.output('true')
        yett.wait_until(lambda: self.prepared() >= 2, 'two that are prepared')
        self.tell_available((2 << 20) // 16 - 1)
        self.output('true')
        yett.wait_until(lambda: self.prepared() == 0, 'the end of those that were prepared')
        self.output('true')
        self.tell_available((2 << 20) // 16)
        self.output('true')
        yett.wait_until(lambda: self.prepared() >= 2, 'two that are prepared again')


class Service(yett.Case):
    def test_a_sandbox_outlives_the_listener_and_a_new_one_serves_beside_it(self):
        directory = self.folder('outlive')
        process = self.start('sh', '-c', 'echo up; read x; echo $x >file; cat file; exit 6', options=['--rw', directory, '-C', directory])
        self.line(process)
        self.service.stop()
        self.assertIsNone(process.poll())
        self.service.start()
        self.output('true')
        self.assertEqual(process.communicate(b'alive\n', timeout=yett.DEADLINE)[0], b'alive\n')
        self.assertEqual(process.returncode, 6)
        self.service.wait_no_leftovers()

    def test_a_sandbox_outlives_a_listener_that_was_killed(self):
        process = self.start('sh', '-c', 'echo up; read x; echo $x')
        self.line(process)
        self.service.process.kill()
        self.service.process.wait()
        self.service.start()
        self.output('true')
        self.assertEqual(process.communicate(b'alive\n', timeout=yett.DEADLINE)[0], b'alive\n')
        self.service.wait_no_leftovers()

    def test_nothing_is_left_after_many_of_all_kinds(self):
        directory = self.folder('kinds')
        for argv, options in ((['true'], []), (['false'], []), (['no-such'], []), (['sleep', '1000'], ['--timeout', '50ms']),
                              (['sh', '-c', 'kill -9 $$'], []), (['sh', '-c', 'setsid sleep 1000 & exit'], []),
                              (['true'], ['--ro', directory, '--tmpfs', '/x']), (['true'], ['--ro', directory + ':/proc']),
                              (['true'], ['-p', 'none']), (['true'], ['--ro', directory + ':/a', '--ro', directory + ':/a/none']),
                              (['python3', '-c', 'x = bytearray(1 << 30)'], ['--memory', '32M'])):
            self.sandbox(*argv, options=options)
        self.service.wait_no_leftovers()
        self.assertEqual(os.listdir(directory), [])

    def test_the_log_tells_each_sandbox_and_each_refusal_in_a_line(self):
        self.sandbox('true')
        self.sandbox('true', options=['-p', 'none'])
        log = self.service.log_text()
        self.assertRegex(log, r'uid=%d pid=\d+ sandbox=[0-9a-f]{16} profile=default private_uid=\d+ created' % self.alice.uid)
        self.assertRegex(log, r"uid=%d pid=\d+ refused: the policy has no profile 'none'" % self.alice.uid)


class ServiceManager(yett.Case):
    """What systemd is told and what it sees: sd_notify(3), the watchdog, idle exit, and whose group processes are in."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix='yett-notify-')
        cls.addClassCleanup(shutil.rmtree, folder)
        with yett.machine_setting('/proc/sys/net/unix/max_dgram_qlen', '1000'):  # as systemd has it: else what is told to a busy test is lost
            cls.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        cls.addClassCleanup(cls.manager.close)
        cls.manager.bind(folder + '/notify')
        cls.manager.setblocking(False)
        cls.service_options = {'spares': 2, 'arguments': ('--idle-exit', '1'),
                               'environment': {'NOTIFY_SOCKET': folder + '/notify', 'WATCHDOG_USEC': '200000'}}
        super().setUpClass()

    def setUp(self):
        if self.service.process.poll() is not None:
            self.forget_told()
            self.service.start()

    def forget_told(self):
        with contextlib.suppress(BlockingIOError):
            while self.manager.recv(4096):
                pass

    def wait_told(self, state):
        """Whatever is told before `state`."""
        told = []

        def is_told():
            with contextlib.suppress(BlockingIOError):
                told.append(self.manager.recv(4096).decode())
            return state in told
        yett.wait_until(is_told, state)
        return told[:-1]

    def test_it_tells_that_it_is_ready_alive_reloading_and_stopping(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        self.wait_told('READY=1')
        self.wait_told('WATCHDOG=1')
        self.wait_told('WATCHDOG=1')
        os.kill(self.service.pid(), signal.SIGHUP)
        self.wait_told('RELOADING=1')
        self.assertLessEqual(set(self.wait_told('READY=1')), {'WATCHDOG=1'})
        self.service.stop()
        self.wait_told('STOPPING=1')

    def test_it_ends_when_nobody_is_connected_and_not_before(self):
        process = self.start('sh', '-c', 'echo up; read x; echo $x')
        self.line(process)
        listener = self.service.process
        self.forget_told()
        for _ in range(20):  # a tenth of a second each, at least: more than the second after which it would end
            self.assertEqual(self.wait_told('WATCHDOG=1'), [])
        self.assertIsNone(listener.poll())
        process.communicate(b'bye\n', timeout=yett.DEADLINE)
        self.assertEqual(listener.wait(yett.DEADLINE), 0)
        self.service.wait_no_leftovers()

    def test_nothing_but_the_listener_is_in_the_services_own_group(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        self.sandbox('true')
        own = self.group_of(self.service.pid())
        self.assertNotIn(self.service.cgroup, own)
        supervisor = yett.parent_of(yett.parent_of(self.outside(process)[0]))
        groups = {pid: self.group_of(pid) for pid in self.service.leftover_processes()}
        groups = {pid: group for pid, group in groups.items() if group}
        self.assertEqual(groups[supervisor], self.service.cgroup + '/helpers')
        for pid, group in groups.items():
            with self.subTest(argv=yett.argv_of(pid)[:1], group=group):
                self.assertTrue(group.startswith(self.service.cgroup + '/'))

    @staticmethod
    def group_of(pid):
        """In the v2 tree, which is what systemd goes by; nothing for a process that has ended meanwhile."""
        with contextlib.suppress(OSError, StopIteration):
            return next(line[3:] for line in yett.read('/proc/%d/cgroup' % pid).splitlines() if line.startswith('0::'))


class PerConnection(yett.Case):
    """systemd's Accept=yes: each connection has a helper of its own."""

    service_options = {'accept': True}

    def test_it_runs_commands(self):
        self.assertEqual(self.output('echo', 'one'), 'one\n')
        self.assertEqual(self.sandbox('sh', '-c', 'exit 3', user=self.bob).code, 3)

    def test_privilege_is_the_same(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        command = self.outside(process)[0]
        init = yett.parent_of(command)
        supervisor = yett.parent_of(init)
        monitor = yett.parent_of(supervisor)
        wait_narrowed(supervisor)
        self.assertEqual(sets_of(command), (NONE,) * 5)
        self.assertEqual(sets_of(init)[0], {KILL, SETGID, SETUID})
        self.assertEqual(sets_of(supervisor)[0:3], (table('supervise'), table('build'), table('build') | table('audit')))
        self.assertEqual(sets_of(monitor)[0:3], (NONE, table('build'), table('build') | table('audit')))

    def test_nothing_is_left_after_each(self):
        for _ in range(3):
            self.sandbox('true')
        self.wait_gone()

    def test_nothing_is_left_after_a_killed_client(self):
        process = self.start('sh', '-c', 'echo up; read x')
        self.line(process)
        process.kill()
        process.wait()
        self.wait_gone()

    def wait_gone(self):
        yett.wait_until(lambda: not self.service.leftovers(), 'the end of everything')


class IdleExit(yett.Case):
    """It ends when nobody wanted anything for a second, and looks at nothing else meanwhile."""

    service_options = {'spares': 0, 'arguments': ('--idle-exit', '1')}

    def test_whoever_comes_when_its_time_is_over_is_served(self):
        for part in (0.9, 1, 1.2, 1.5, 1.8, 2, 2.1):
            idle_since = time.monotonic()
            yett.wait_until(lambda: time.monotonic() - idle_since >= part, 'a part of the time')
            if self.service.process.poll() is not None:
                self.service.start()
            done = self.sandbox('true')
            if done.code != 0:  # it had ended before: in this test nobody else listens then
                self.assertNotIn('connect again', done.err, 'after %s s' % part)

    def test_whoever_has_been_granted_nothing_is_told_that_it_has_ended(self):
        connected = self.service.popen(self.alice, '/usr/bin/python3', '-c', """
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ['YETT_SOCKET'])
s.recv(65536)
print('hello', flush=True)
print(s.recv(65536))
""", stdout=subprocess.PIPE)
        self.addCleanup(self.end, connected)
        self.line(connected)
        self.service.stop()
        told = self.line(connected)
        self.assertIn('the service has ended', told)
        self.assertIn('connect again', told)


class Removed(yett.Case):
    """What the package does when it is removed where no systemd runs: the script, told of another helper than the installed one."""

    service_options = {'spares': 0}

    def prerm(self, why, prefix=()):
        script = yett.read(os.path.join(yett.SOURCE, 'dist/debian/yett.prerm'))
        self.assertIn('helper=/usr/libexec/yett/yett-helper\n', script)
        script = script.replace('helper=/usr/libexec/yett/yett-helper\n', 'helper=%s\n' % self.service.helper)
        script = script.replace('/run/systemd/system', '/run/systemd/none')
        done = subprocess.run([*prefix, 'sh', '-c', script, 'prerm', why], capture_output=True, text=True, timeout=yett.DEADLINE)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done)

    def alive(self):
        return [pid for pid in self.service.leftover_processes() + [self.service.pid()] if yett.is_alive(pid)]

    def test_all_that_runs_ends_with_it_and_nothing_before(self):
        done = self.yett('create')
        self.assertEqual(done.code, 0, done)
        process = self.start('sh', '-c', 'echo up; read x')
        self.assertEqual(self.line(process), 'up')
        own = self.service.popen(self.alice, 'env', '-u', 'YETT_SOCKET', 'YETT_HELPER=' + os.path.dirname(self.service.helper) + '/yett-rootless',
                                 self.service.yett, 'run', '--', 'sh', '-c', 'echo up; read x', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(own.wait)
        self.addCleanup(own.stdin.close)
        self.addCleanup(own.stdout.close)
        self.assertEqual(self.line(own), 'up')
        self.prerm('upgrade')
        # in a chroot it ends nothing of the host's
        self.prerm('remove', prefix=['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none "$0" && cd "$0" && mkdir bin lib lib64 usr proc dev && '
                                     'for i in bin lib lib64 usr proc dev; do mount --rbind /$i $i; done && exec chroot . "$@"', self.folder('root')])
        self.assertEqual(self.yett('ps', '-q').out.split()[:1], done.out.split())
        self.assertTrue(process.poll() is None and own.poll() is None)
        # also one whose file an upgrade has replaced
        shutil.copy(self.service.helper, self.service.helper + '.new')
        yett.selinux.label_program(self.service.helper + '.new')
        os.rename(self.service.helper + '.new', self.service.helper)
        self.prerm('remove')
        self.assertNotEqual(process.wait(yett.DEADLINE), 0)
        self.assertNotEqual(own.wait(yett.DEADLINE), 0)
        yett.wait_until(lambda: not self.alive(), 'the end of the helper and its sandboxes')
        self.service.process.wait()
        self.service.start()  # which sweeps up
        self.service.wake()


class Personal(yett.Case):
    """No service: libyett executes the helper, here as root. A script stands for it, to give it a policy of its own."""

    service_options = {'spares': 0}

    def setUp(self):
        self.root = yett.Root(self.service.folder + '/root')
        os.makedirs(self.root.home, exist_ok=True)
        self.script = self.service.folder + '/yett-helper'
        yett.write(self.script, '#!/bin/sh\nexec %s --policy %s "$@"\n' % (self.service.helper, self.service.policy), 0o755)
        # the key of root is where the user database says: it is made there, and taken away again if it was not there
        self.keys = os.path.join(yett.pwd.getpwuid(0).pw_dir, '.config/yett')
        if not os.path.exists(self.keys):
            self.addCleanup(shutil.rmtree, self.keys, ignore_errors=True)

    def yett_personal(self, *argv, helper=None, **more):
        environment = {'HOME': self.root.home, 'YETT_HELPER': helper or self.script, 'PATH': os.environ['PATH']}
        return subprocess.run([self.service.yett, *argv], env=environment, capture_output=True, text=True,
                              timeout=yett.DEADLINE, cwd='/', **more)

    def run_personal(self, *argv, options=(), **more):
        return self.yett_personal('run', *options, '--', *argv, **more)

    def test_as_root_it_does_everything(self):
        done = self.run_personal('sh', '-c', 'id -u; grep CapBnd /proc/self/status; hostname')
        self.assertEqual((done.returncode, done.stdout.split()), (0, ['0', 'CapBnd:', '0000000000000000', 'sandbox']), done)
        self.assertEqual(self.run_personal('sh', '-c', 'exit 9').returncode, 9)
        yett.wait_until(lambda: not self.service.leftovers(), 'the end of everything')

    def test_one_that_lingers_outlives_its_helper(self):
        done = self.yett_personal('create', '--name', 'lasts')  # and it ends, though it leaves somebody: no pipe is kept open
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.yett_personal('exec', 'lasts', '--', 'sh', '-c', 'echo kept > /tmp/file').returncode, 0)
        self.assertEqual(self.yett_personal('exec', 'lasts', '--', 'cat', '/tmp/file').stdout, 'kept\n')
        self.assertEqual(self.yett_personal('ps', '-q').stdout, done.stdout)
        self.assertEqual(self.yett_personal('destroy', 'lasts').returncode, 0)
        yett.wait_until(lambda: not self.service.leftovers(), 'the end of everything')

    def test_root_manages_the_sandboxes_of_all(self):
        done = self.yett('create', '--name', 'alices')
        self.assertEqual(done.code, 0, done)
        sandbox = done.out.strip()
        self.assertEqual(self.yett_personal('ps', '-q').stdout, '')
        self.assertEqual(self.yett_personal('ps', '-q', '--all').stdout.strip(), sandbox)
        self.assertEqual(self.yett_personal('inspect', 'alices').returncode, 1)  # a name is one of the user's own
        done = self.yett_personal('exec', sandbox, '--', 'id', '-u')
        self.assertEqual(done.stdout, '%d\n' % self.alice.uid, done)
        self.assertEqual(self.yett_personal('destroy', sandbox).returncode, 0)
        self.assertEqual(self.yett('ps', '-q').out, '')

    def test_root_inside_is_a_private_uid_outside(self):
        secret = self.service.folder + '/secret'
        yett.write(secret, 'x', 0o600)
        done = self.run_personal('sh', '-c', 'cat %s; touch %s/made; id -u' % (secret, self.service.folder),
                                 options=['--rw', self.service.folder])
        self.assertEqual(done.stdout, 'x0\n', done)  # they are root's own files, and it was asked to share them
        self.assertEqual(os.stat(self.service.folder + '/made').st_uid, 0)
        os.chown(secret, self.alice.uid, self.alice.gid)
        # what root may read of others by its capabilities only, it may not without them
        done = self.run_personal('cat', secret, options=['--ro', self.service.folder])
        self.assertEqual((done.returncode, done.stdout), (1, ''), done)

    def test_limits_bite(self):
        done = self.run_personal('python3', '-c', 'x = bytearray(1 << 30)', options=['--memory', '32M'])
        self.assertEqual(done.returncode, 137, done)
        self.assertIn('memory limit reached', done.stderr)

    def test_a_helper_that_others_could_have_changed_is_not_executed(self):
        run = self.service.folder + '/must-not-run'
        copy = self.alice.write('yett-helper', '#!/bin/sh\ntouch %s\n' % run, mode=0o755)
        done = self.run_personal('true', helper=copy)
        self.assertEqual(done.returncode, 125, done)
        self.assertIn('others could have changed', done.stderr)
        os.chmod(self.script, 0o775)
        self.addCleanup(os.chmod, self.script, 0o755)
        self.assertEqual(self.run_personal('true').returncode, 125)
        self.assertFalse(os.path.exists(run))
        self.assertEqual(self.run_personal('true', helper='/no/such/helper').returncode, 125)
        self.assertEqual(self.run_personal('true', helper='relative/helper').returncode, 125)

    def test_a_helper_that_is_killed_ends_the_sandbox_and_is_told(self):
        environment = {'HOME': self.root.home, 'YETT_HELPER': self.script, 'PATH': os.environ['PATH']}
        with subprocess.Popen([self.service.yett, 'run', '--', 'sh', '-c', 'echo up; read x'], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd='/') as process:
            self.assertEqual(yett.line_of(process.stdout), 'up')
            helper = next(pid for pid in yett.children_of(process.pid) if yett.is_alive(pid))
            os.kill(helper, signal.SIGKILL)
            err = process.stderr.read()  # its input stays open: it does not end by that
            self.assertEqual(process.wait(yett.DEADLINE), 125, err)
            self.assertIn(b'ended', err)
        self.assertEqual(self.run_personal('true').returncode, 0)
        yett.wait_until(lambda: not self.service.leftovers(), 'the end of everything')


class Doctor(yett.Case):
    PARANOID, PATTERN = '/proc/sys/kernel/perf_event_paranoid', '/proc/sys/kernel/core_pattern'

    def test_it_says_that_all_works_where_it_does(self):
        done = self.yett('doctor')
        self.assertEqual(done.code, 0, done)
        rows = {line[9:25].strip(): line[:8].strip() for line in done.out.splitlines() if not line.startswith(' ')}
        for name in ('kernel', 'user namespaces', 'cgroups', 'seccomp', 'private ids', 'key', 'start', 'trial'):
            self.assertIn(name, rows, done)
        self.assertEqual((rows['start'], rows['trial'], rows['key']), ('ok', 'ok', 'ok'))
        self.assertIn('the service answers', done.out)
        self.assertIn('yett run will work.', done.out)

    def test_it_says_what_the_host_lets_no_command_have(self):
        for paranoid, pattern in (('2', 'core'), ('3', 'core.%p')):
            with yett.machine_setting(self.PARANOID, paranoid), yett.machine_setting(self.PATTERN, pattern):
                told = {check['check']: check['found'] for check in yett.told(self.yett('doctor', '--json').out)['checks']}
                for name, most in (('kernel/perf_event_paranoid', 2), ('kernel/yama/ptrace_scope', 0)):
                    if os.path.exists('/proc/sys/' + name):
                        lack = '%s at %d or less' % (name.replace('/', '.'), most)
                        self.assertEqual(lack in told['programs'], int(yett.read('/proc/sys/' + name)) > most, told['programs'])
                self.assertIn("'%s'" % pattern, told['core files'])

    def test_json_says_the_same_to_programs(self):
        for path, value in ((self.PARANOID, '2'), (self.PATTERN, 'core')):  # the same at both times: other tests change them
            self.enterContext(yett.machine_setting(path, value))
        for options, works in (((), True), (('--socket', '/no/such/socket'), False)):
            done = self.yett('doctor', '--json', *options)
            self.assertEqual(done.code, 0 if works else 1, done)
            report = yett.told(done.out)
            self.assertEqual(report['works'], works)
            checks = {check['check']: check for check in report['checks']}
            self.assertEqual(checks['start']['state'], 'ok' if works else 'missing')
            self.assertEqual(checks['start']['mend'] is None, works)
            words = self.yett('doctor', *options).out
            for name, check in checks.items():
                self.assertRegex(words, r'(?m)^%s +%s +%s$' % (check['state'], re.escape(name), re.escape(check['found'])))

    def capabilities(self, *options):
        done = self.yett('doctor', '--capabilities', '--json', *options)
        self.assertEqual(done.code, 0, done)
        return {found['name']: found for found in yett.told(done.out)['capabilities']}

    def test_what_can_be_had_is_told_by_trying(self):
        told = self.capabilities()
        for name in ('sandbox', 'network-none', 'network-limited', 'network-open', 'limit-memory', 'limit-cpu', 'limit-pids', 'linger', 'pause',
                     'suspend-on-idle', 'resume', 'copy-on-write', 'snapshot', 'live-mounts'):
            self.assertEqual((told[name]['supported'], told[name]['code'], told[name]['reason']), (True, None, None), told[name])
        self.assertEqual(told['sandbox']['how'], 'service')
        for name in ('memory', 'cpu', 'pids'):
            self.assertRegex(told['limit-' + name]['how'], r'^cgroup v[12]$')
        self.assertEqual(told['landlock']['supported'], yett.landlock_abi() >= 2)
        # What is refused is refused to who asks for it, too.
        self.assertEqual(told['network-host']['code'], 'permission-denied')
        self.assertIn("network = host in grant 'everyone'", told['network-host']['mend'])
        self.assertEqual(self.sandbox('true', options=('--net', 'host')).code, 125)
        rows = self.yett('doctor', '--capabilities').out
        self.assertRegex(rows, r'(?m)^yes sandbox +service$')
        self.assertRegex(rows, r'(?m)^no +network-host +.*\n +hint: ')
        self.assertEqual([name for name in os.listdir(self.alice.home) if name.startswith('.yett-tried')], [])
        self.assertEqual(os.listdir(self.alice.home + '/.local/state/yett/work'), [])

    def test_what_can_be_had_is_told_by_profile(self):
        told = self.capabilities('--profile', 'strict')
        for name in ('copy-on-write', 'copy-on-write-memory', 'snapshot', 'live-mounts'):
            self.assertEqual((told[name]['supported'], told[name]['code'], told[name]['how']), (False, 'permission-denied', None), told[name])
        self.assertTrue(told['sandbox']['supported'])
        told = self.capabilities('--profile', 'nested')
        self.assertEqual({found['code'] for found in told.values()}, {'permission-denied'})
        self.assert_refused(self.yett('doctor', '--capabilities', '--socket', '/no/such/socket'), 1, '/no/such/socket')

    def test_without_a_key_it_does_not_make_one(self):
        shutil.rmtree(self.bob.home + '/.config')
        done = self.yett('doctor', user=self.bob)
        self.assertEqual(done.code, 0, done)
        self.assertIn('the first yett run makes one', done.out)
        self.assertFalse(os.path.exists(self.bob.home + '/.config'))

    def test_it_says_what_is_missing_and_the_mend(self):
        done = self.yett('doctor', '--socket', '/no/such/socket')
        self.assertEqual(done.code, 1, done)
        self.assertIn('yett run will not work.', done.out)
        self.assertIn('hint:', done.out)
        self.assertIn('start the service', done.out)

    def finding(self, check, *options):
        done = self.yett('doctor', '--json', *options)
        return next(found for found in yett.told(done.out)['checks'] if found['check'] == check)

    def assert_told(self, check, state, found, mend, *options):
        told = self.finding(check, *options)
        self.assertEqual(told['state'], state, told)
        self.assertIn(found, told['found'], told)
        self.assertIn(mend, told['mend'] or '', told)

    def test_what_keeps_a_user_from_the_service_is_told_apart(self):
        where = self.service.folder + '/refusing'
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as nobody:
            nobody.bind(where)  # and does not listen
        os.chmod(where, 0o666)
        self.addCleanup(os.unlink, where)
        os.chmod(self.service.socket, 0o600)
        self.addCleanup(os.chmod, self.service.socket, 0o666)
        for path, found, mend in (('/no/such/socket', 'No such file', 'systemctl start yett.socket'), (where, 'Connection refused', 'nobody listens there'),
                                  (self.service.socket, 'Permission denied', 'mode 0666')):
            with self.subTest(found=found):
                self.assert_told('start', 'missing', found, mend, '--socket', path)
                done = self.yett('run', '--socket', path, '--', 'true')
                self.assert_refused(done, 125, found, mend)
                self.assertNotIn('the same request can succeed later', done.err)

    def test_a_helper_that_closes_the_door_is_no_reason_to_try_again(self):
        where = self.service.folder + '/closing'
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(where)
            listener.listen()
            self.addCleanup(os.unlink, where)
            os.chmod(where, 0o666)
            with self.service.popen(yett.Root(self.service.folder), self.service.yett, 'run', '--socket', where, '--', 'true', stderr=subprocess.PIPE) as process:
                listener.accept()[0].close()
                err = process.stderr.read().decode()
        self.assertEqual(process.returncode, 125, err)
        self.assertIn('yett policy check', err)
        self.assertNotIn('the same request can succeed later', err)

    def test_a_policy_that_is_broken_or_has_void_grants_is_told(self):
        path = self.service.folder + '/told.conf'
        good = 'profile "default" {\n}\ngrant "g" {\n  users = {"*"%s}\n  user_keys = true\n  profiles = {"%s"}\n}\n'
        for text, state, found, mend in ((good % ('', 'default'), 'ok', '1 profile, 1 grant', ''),
                                         (good % ('', 'none'), 'missing', "%s:6: 'none' is not a profile" % path, 'yett policy check'),
                                         (good % (', "no-such-user"', 'default'), 'weaker', "%s:4: 'no-such-user' is not a user of this host: the grant is void" % path,
                                          'change that grant')):
            with self.subTest(state=state):
                yett.write(path, text)
                self.assert_told('policy', state, found, mend, '--policy', path)

    def test_a_policy_that_cannot_be_checked_is_not_called_broken(self):
        alone = self.service.folder + '/alone'
        os.mkdir(alone)
        shutil.copy(self.service.helper, alone)
        done = self.service.run(self.alice, self.service.yett, 'doctor', '--policy', self.service.policy, env={'YETT_HELPER': alone + '/yett-helper'})
        self.assertRegex(done.out, '(?m)^weaker +policy +the policy cannot be checked: .*/alone/yett-explain: No such file')
        self.assertIn("must be in the helper's directory", done.out)

    def test_a_mended_policy_is_to_be_loaded_anew(self):
        path = self.service.folder + '/broken.conf'
        yett.write(path, 'profile "default" {\n  memmory = 1G\n}\n')
        self.assert_told('policy', 'missing', "%s:2: " % path, 'systemctl reload yett', '--policy', path)

    def test_what_was_not_tried_is_not_said_to_be(self):
        shutil.rmtree(self.bob.home + '/.config')
        self.addCleanup(self.service.enter_key, self.bob)
        done = self.yett('doctor', user=self.bob)
        self.assertRegex(done.out, '(?m)^ok +trial +not tried, as there is no key yet; the policy allows a sandbox$')
        self.assertTrue(done.out.endswith('yett run will work, as far as was checked: no sandbox was tried, as there is no key yet.\n'), done)
        self.bob.mkdir('.config')
        self.bob.mkdir('.config/yett')
        self.bob.write('.config/yett/id_ed25519', 'no key\n', 0o600)
        done = self.yett('doctor', user=self.bob)
        self.assertRegex(done.out, '(?m)^missing +key ')
        self.assertNotIn('no key yet', done.out)
        self.assertRegex(done.out, '(?m)^missing +trial +.* is no private key of Yett')
        self.assertTrue(done.out.endswith('yett run will not work.\n'), done)

    def test_a_missing_grant_and_a_key_that_nobody_enrolled_are_told_apart(self):
        keys = self.alice.home + '/.config/yett/authorized_keys'
        good = yett.read(keys)
        self.alice.write('.config/yett/authorized_keys', '# none\n')
        self.addCleanup(self.alice.write, '.config/yett/authorized_keys', good, 0o600)
        self.assert_told('trial', 'missing', 'the key is not enrolled for this user', 'authorized_keys')
        self.alice.write('.config/yett/authorized_keys', good, 0o600)
        self.change_policy(after='grant "narrow" { users = {"%s"} profiles = {"default"} }' % self.alice.name)
        self.assert_told('trial', 'missing', 'accepts keys that users enrolled themselves', "user_keys = true in grant 'narrow'")
        self.service.shipped = False
        self.addCleanup(setattr, self.service, 'shipped', True)
        self.service.write_policy(after='profile "default" { }\ngrant "other" { users = {"root"} profiles = {"default"} }')
        self.service.reload()
        self.assert_told('trial', 'missing', 'no grant of the policy is for uid %d' % self.alice.uid, 'grant "uid-%d"' % self.alice.uid)
        shutil.rmtree(self.bob.home + '/.config')
        self.addCleanup(self.service.enter_key, self.bob)
        done = self.yett('doctor', user=self.bob)
        self.assertIn('no grant of the policy is for uid %d' % self.bob.uid, done.out)
        self.assertEqual(done.code, 1)


class Listening(yett.Case):
    """Without systemd: the helper makes its socket by itself, and is a service like any other."""

    service_class = yett.Listening

    def try_to_listen(self, path):
        return subprocess.run([self.service.helper, '--policy', self.service.policy, '--listen', path], capture_output=True, text=True, timeout=yett.DEADLINE)

    def test_everybody_may_connect_and_privilege_is_as_ever(self):
        for user in (self.alice, self.bob):
            self.assertEqual(self.output('id', '-u', user=user), '%d\n' % user.uid)
        found = os.stat(self.service.socket)
        self.assertEqual((stat.S_IMODE(found.st_mode), found.st_uid), (0o666, 0))
        effective, permitted, bounding, inheritable, ambient = sets_of(self.service.pid())
        self.assertEqual((effective, inheritable, ambient, permitted), (NONE, NONE, NONE, table('build')))

    def test_sandboxes_outlive_it_and_the_next_one_takes_its_place(self):
        self.assertEqual(self.yett('create', '--name', 'lasts').code, 0)
        self.addCleanup(self.yett, 'destroy', 'lasts')
        self.service.reload()
        self.service.process.kill()  # which leaves its socket
        self.service.process.wait()
        self.assertTrue(os.path.exists(self.service.socket))
        self.service.start()
        self.assertEqual(self.yett('exec', 'lasts', '--', 'echo', 'alive').out, 'alive\n')
        self.service.stop()
        self.service.start()
        self.assertEqual(self.yett('exec', 'lasts', '--', 'echo', 'alive').out, 'alive\n')

    def test_a_place_that_is_taken_is_left_alone(self):
        done = self.try_to_listen(self.service.socket)
        self.assertEqual((done.returncode, 'cannot listen at %s: Address already in use' % self.service.socket in done.stderr), (1, True), done)
        self.output('true')
        file = self.folder('place') + '/file'
        yett.write(file, 'text')
        for path, why in ((file, 'Address already in use'), (file + '/x', 'Not a directory'), ('/' + 'x' * 200, 'the path of the socket is too long')):
            done = self.try_to_listen(path)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(why, done.stderr)
        self.assertEqual(yett.read(file), 'text')
        other = self.folder('other') + '/link'
        os.symlink(file, other)
        self.assertIn('Address already in use', self.try_to_listen(other).stderr)
        self.assertEqual((yett.read(file), os.readlink(other)), ('text', file))

    def test_without_root_nobody_listens(self):
        path = self.folder('own') + '/socket'
        done = self.service.run(self.alice, yett.run_of_process().path('helper/yett-rootless'), '--listen', path)
        self.assertEqual((done.code, os.path.exists(path)), (1, False), done)
        self.assertIn('a helper without root serves one connection: --listen is for root', done.err)



if __name__ == '__main__':
    yett.main()
