# SPDX-License-Identifier: Apache-2.0
"""The shipped AppArmor profiles, enforced: that they are in force, in nobody's way, and not to be left."""
import json
import os
import re
import shutil
import signal
import subprocess

import test_labels
import yett

FOLDER = os.path.join(yett.SOURCE, 'apparmor')
COMPLAINING = 'abi <abi/3.0>,\nprofile yett-test-complaining flags=(complain, attach_disconnected) {\n  / r,\n}\n'

NETLINK = 'socket(my $s, 16, SOCK_RAW, 0) or exit 1'
INSTALLED = '/usr/libexec/yett'


def parse(options, text=None, action='--replace'):
    subprocess.run(['apparmor_parser', action, '--skip-cache', *options], input=text, text=True, check=True)


def load(name):
    parse(['-I', FOLDER, '-I', '/etc/apparmor.d', os.path.join(FOLDER, name)])


class Labels(test_labels.Labels):
    @classmethod
    def setUpClass(cls):
        load('yett-sandbox')
        parse([], COMPLAINING)
        cls.addClassCleanup(parse, [], COMPLAINING, '--remove')
        super().setUpClass()

    def test_the_shipped_profiles_have_their_labels_enforced(self):
        self.assertEqual([self.label(profile) for profile in ('default', 'build', 'strict', 'required')],
                         ['yett-sandbox (enforce)', 'yett-sandbox-build (enforce)', 'yett-sandbox-strict (enforce)',
                          'yett-sandbox (enforce)'])

    def test_commands_have_the_label_of_init(self):
        self.assertEqual(self.output('cat', '/proc/self/attr/apparmor/current').strip('\n\0'), 'yett-sandbox (enforce)')
        self.assertEqual(self.label('no-label'), test_labels.own_label())

    def test_a_label_that_does_not_exist_is_refused(self):
        self.refused('missing', "the AppArmor profile 'yett-test-there-is-none' is required and not loaded")
        self.assertEqual(self.label('missing-if-available'), test_labels.own_label())

    def test_a_label_that_only_complains_is_refused_where_it_is_required(self):
        self.refused('complaining', "'yett-test-complaining' is required and not enforced: 'yett-test-complaining (complain)'")
        self.assertEqual(self.label('complaining-if-available'), 'yett-test-complaining (complain)')

    def test_a_file_without_a_name_can_be_given_one(self):
        script = ('import ctypes, os\nfd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)\nos.write(fd, b"text")\n'
                  'ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"/tmp/named", 0x400)\n'
                  'print(open("/tmp/named").read())')
        for profile in ('default', 'strict'):
            self.assertEqual(self.python(script, options=('-p', profile)).strip(), 'text')

    def test_a_command_cannot_leave_its_label(self):
        for how in ('exec', 'current'):
            done = self.sandbox('sh', '-c', 'echo "changeprofile unconfined" >/proc/self/attr/apparmor/' + how)
            self.assertNotEqual(done.code, 0, done)


PROFILES = '''
profile "fake-root" {
  extends = "default"
  identity = root
}
profile "shaped" {
  extends = "default"
  share_ro = {"/usr/share/misc:/manuals"}
  mask = {"/usr/local/share"}
  read_only = {"/var/tmp"}
  tmpfs = {"/scratch:1M"}
}
profile "no-label" {
  extends = "default"
  apparmor_profile = ""
}
grant "all" {
  users = {"*"}
  user_keys = true
  network = limited
  allow = {"*"}
  identity_root = true
  profiles = {"*"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''


class Helper(yett.Case):
    """The helper under its own profile, which its path gives it. What it does for all kinds of sandboxes is not refused."""

    @classmethod
    def setUpClass(cls):
        run = yett.run_of_process()
        if not os.path.exists(INSTALLED):
            os.makedirs(INSTALLED)
            cls.addClassCleanup(shutil.rmtree, INSTALLED)
            for name in ('yett-helper', 'yett-rootless', 'yett-decider', 'yett-decoder', 'yett-dialer', 'yett-front', 'yett-resolver', 'yett-closer', 'yett-audit', 'yett-policy', 'yett-reader', 'yett-reader-nss', 'yett-init'):
                shutil.copy(run.path('helper/' + name), INSTALLED)
        load('yett-sandbox')
        load('yett-helper')
        cls.addClassCleanup(parse, ['-I', FOLDER, '-I', '/etc/apparmor.d', FOLDER + '/yett-helper'], None, '--remove')
        cls.service_options = {'helper': INSTALLED + '/yett-helper', 'before': 'helper { audit = required }\n' + PROFILES, 'spares': 1}
        cls.denied_before = len(cls.denied())
        super().setUpClass()

    @staticmethod
    def denied():
        lines = yett.read('/var/log/audit/audit.log').splitlines()
        return [line for line in lines if 'apparmor="DENIED"' in line and re.search('profile="yett-(helper|rootless)', line)]

    def tearDown(self):
        self.assertEqual(self.denied()[self.denied_before:], [])

    def test_each_process_has_its_label(self):
        client = self.start('sh', '-c', 'echo ready; read line', options=('--allow', 'nobody.example'))
        self.assertEqual(self.line(client), 'ready')
        labels = {}
        for pid in yett.processes():
            label = yett.read('/proc/%d/attr/apparmor/current' % pid).strip() if yett.is_alive(pid) else ''
            if label.startswith('yett-'):
                labels.setdefault(label, set()).add(os.path.basename(os.readlink('/proc/%d/exe' % pid)))
        self.assertEqual(labels.pop('yett-helper (enforce)'), {'yett-helper'})
        self.assertEqual(labels.pop('yett-helper//decider (enforce)'), {'yett-decider'})
        self.assertEqual(labels.pop('yett-helper//audit (enforce)'), {'yett-audit'})  # which has written of this sandbox: it is required
        self.assertEqual(labels.pop('yett-helper//decoder (enforce)'), {'yett-decoder'})
        self.assertEqual(labels.pop('yett-helper//reader (enforce)'), {'yett-reader'})
        self.assertEqual(labels.pop('yett-helper//front (enforce)'), {'yett-front'})
        self.assertEqual(labels.pop('yett-helper//dialer (enforce)'), {'yett-dialer'})
        self.assertIn('yett-sandbox (enforce)', labels)
        self.assertLessEqual(set(labels), {'yett-sandbox (enforce)', 'yett-build (enforce)'})  # the latter of one that is ready

    @staticmethod
    def called(name):
        return [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == [name] and yett.is_alive(pid)]

    def test_programs_whose_files_an_upgrade_has_replaced_have_their_labels(self):
        connect = 'import socket; socket.create_connection(("nobody.example", 80))'  # for which its name is looked up
        client = self.start('sh', '-c', 'echo ready; read line; python3 -c "$1" 2>/dev/null; echo looked; read line', 'sh', connect, options=('--allow', 'nobody.example'))
        self.assertEqual(self.line(client), 'ready')
        before = self.called('yett-front') + self.called('yett-dialer')
        for name in ('yett-front', 'yett-dialer', 'yett-resolver'):
            path = '%s/%s' % (INSTALLED, name)
            shutil.copy2(path, path + '.new')
            os.rename(path + '.new', path)
        os.kill(self.called('yett-front')[0], signal.SIGKILL)
        yett.wait_until(lambda: all(set(self.called(name)) - set(before) for name in ('yett-front', 'yett-dialer')), 'the next ones')
        client.stdin.write(b'\n')
        client.stdin.flush()
        self.assertEqual(self.line(client), 'looked')
        for name, label in (('yett-front', 'front'), ('yett-dialer', 'dialer'), ('yett-resolver', 'dialer')):
            pids = [pid for pid in self.called(name) if ' (deleted)' in os.readlink('/proc/%d/exe' % pid)]
            self.assertTrue(pids, name)
            self.assertEqual({yett.read('/proc/%d/attr/apparmor/current' % pid).strip() for pid in pids}, {'yett-helper//%s (enforce)' % label})

    def test_an_ordinary_user_s_own_helper_has_a_label_and_works(self):
        """Also where it is executed by the name of root's."""
        directory = self.folder('own')
        for name in ('yett-rootless', 'yett-helper'):
            with self.subTest(name):
                own = ['env', '-u', 'YETT_SOCKET', 'YETT_HELPER=%s/%s' % (INSTALLED, name), self.service.yett, 'run', '--json-fd=2', '--rw', directory]
                done = self.service.run(self.alice, *own, '--', 'sh', '-c', 'touch %s/file' % directory)
                self.assertEqual(done.code, 0, done)
                self.assertIn('"label":"yett-sandbox (enforce)"', done.err)
                client = self.service.popen(self.alice, *own, '--', 'sh', '-c', 'echo ready; read line', stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(self.end, client)
                self.assertEqual(self.line(client), 'ready')
                helper = next(pid for pid in yett.children_of(client.pid) if yett.is_alive(pid))
                self.assertEqual(os.path.basename(os.readlink('/proc/%d/exe' % helper)), 'yett-rootless')
                self.assertEqual(yett.read('/proc/%d/attr/apparmor/current' % helper), 'yett-rootless (enforce)\n')

    @staticmethod
    def closers():
        return [pid for pid in yett.processes() if yett.argv_of(pid)[:1] == ['yett-closer'] and yett.is_alive(pid)]

    def test_what_a_refused_connection_brings_is_closed_by_a_process_with_a_label_of_its_own(self):
        self.service.wake()
        yett.bring_something(self.service.pid(), lambda *argv: self.service.popen(self.bob, *argv, stdout=subprocess.PIPE))
        yett.wait_until(lambda: self.closers(), 'yett-closer')
        self.assertEqual({yett.read('/proc/%d/attr/apparmor/current' % pid).strip() for pid in self.closers()}, {'yett-helper//closer (enforce)'})

    def test_every_kind_of_sandbox_is_made(self):
        directory = self.folder('work')
        self.shell('echo text >file; cat file', options=['--rw', directory], cwd=directory)
        self.shell('ls /manuals >/dev/null; echo x >/scratch/x', options=['-p', 'shaped', '--tmpfs', '/more:1M'])
        self.assertEqual(self.shell('id -u', options=['-p', 'fake-root']).strip(), '0')
        for profile in ('build', 'strict'):
            told = yett.told(self.output('true', options=('-p', profile, '--json')))
            self.assertEqual(told['sandbox']['label'], 'yett-sandbox-%s (enforce)' % profile)
        self.assertEqual(self.sandbox('sh', '-c', 'kill -9 $$').code, 137)
        self.assertEqual(self.sandbox('sleep', '600', options=['--timeout', '100ms']).code, 124)

    def test_no_sandbox_goes_without_a_label_under_a_confined_helper(self):
        told = yett.told(self.output('true', options=('-p', 'no-label', '--json')))
        self.assertEqual(told['sandbox']['label'], 'yett-sandbox (enforce)')

    def test_what_the_helper_never_needs_is_refused_to_its_label(self):
        for argv, works in ((('cat', '/etc/hostname'), True), (('cat', '/etc/shadow'), False),
                            (('sh', '-c', '/bin/true'), False), (('perl', '-MSocket', '-e', NETLINK), False)):
            self.assertEqual(subprocess.run(argv, stdout=subprocess.DEVNULL).returncode, 0, argv)
            done = subprocess.run(('aa-exec', '-p', 'yett-helper', '--', *argv), capture_output=True)
            self.assertEqual(done.returncode == 0, works, done)
        type(self).denied_before = len(self.denied())

    def test_a_policy_is_loaded_anew(self):
        self.service.reload()
        self.assertRegex(self.service.log_text(), 'policy loaded anew')
        self.assertEqual(self.sandbox('true').code, 0)


if __name__ == '__main__':
    yett.main()
