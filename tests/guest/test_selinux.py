# SPDX-License-Identifier: Apache-2.0
"""The shipped SELinux module, enforcing: that everything has its domain, and that two sandboxes cannot reach each other."""
import json
import os
import re
import subprocess
import tempfile

import installed
import yett

PROFILES = '''
profile "required" {
  extends = "default"
  label = required
}
profile "apparmor" {
  extends = "required"
  apparmor_profile = "yett-sandbox"
  selinux_type = ""
}
profile "missing" {
  extends = "required"
  selinux_type = "yett_test_there_is_none_t"
}
profile "missing-if-available" {
  extends = "missing"
  label = if_available
}
profile "inner" {
  extends = "default"
  nested_userns = true
}
grant "labels" {
  users = {"*"}
  nested_userns = true
  user_keys = true
  profiles = {"*"}
  share_ro = {"*"}
  share_rw = {"*"}
}
'''
CONTEXT = re.compile(r'system_u:system_r:(yett_[a-z]+_t):s0-s0:(c[0-9]+,c[0-9]+)')
USER_CONTEXT = 'unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023'
HOLD = ('sh', '-c', 'echo up; read x')


def setUpModule():
    if not installed.is_installed():
        installed.install()


def context_of(pid):
    return yett.read('/proc/%s/attr/current' % pid).strip('\n\0')


def domains(program):
    """Of all processes of one of our programs."""
    return {context_of(pid).split(':')[2] for pid in yett.processes() if yett.is_alive(pid) and yett.argv_of(pid)[:1] and
            os.path.basename(yett.argv_of(pid)[0]) == program}


def boolean(name, value):
    installed.tool('setsebool', name, value)


class Domains(installed.Case):
    def test_each_process_has_its_domain(self):
        self.hold(self.ann, *HOLD)
        self.assertEqual(domains('yett-helper'), {'yett_helper_t'})
        self.assertEqual(domains('yett-decider'), {'yett_decider_t'})
        self.assertEqual(domains('yett-decoder'), {'yett_decoder_t'})
        self.assertEqual(domains('yett-reader'), {'yett_reader_t'})
        self.assertEqual(domains('yett-init') - {'yett_build_t'}, {'yett_init_t'})  # that of one that is ready
        inside = {context_of(pid).split(':')[2] for pid in installed.sandboxed()}
        self.assertLessEqual({'yett_init_t', 'yett_sandbox_t'}, inside)

    def test_what_a_refused_connection_brings_is_closed_by_a_process_with_a_domain_of_its_own(self):
        self.output(self.ann, 'true')  # has the service started
        yett.bring_something(int(installed.show('yett.service', 'MainPID')), lambda *argv: self.popen(self.ann, *argv))
        yett.wait_until(lambda: domains('yett-closer'), 'yett-closer')
        self.assertEqual(domains('yett-closer'), {'yett_closer_t'})

    def test_files_have_the_types_of_the_module(self):
        for path, kind in (('/etc/yett/yett.conf', 'yett_etc_t'), ('/run/yett/socket', 'yett_runtime_t'),
                           ('/usr/libexec/yett/yett-helper', 'yett_helper_exec_t'), ('/usr/libexec/yett/yett-init', 'yett_init_exec_t')):
            self.assertEqual(os.getxattr(path, 'security.selinux').split(b':')[2].decode(), kind, path)

    def test_init_and_command_share_two_categories_that_their_files_have(self):
        out = self.output(self.ann, 'sh', '-c', 'cat /proc/1/attr/current /proc/self/attr/current; ls -dZ /tmp')
        (init, first), (command, second) = CONTEXT.findall(out)
        self.assertEqual((init, command, first), ('yett_init_t', 'yett_sandbox_t', second))
        self.assertIn('yett_sandbox_file_t:s0:%s /tmp' % first, out)

    def test_no_two_sandboxes_have_the_same_categories(self):
        running = [self.hold(user, *HOLD) for user in (self.ann, self.ann, self.ben, self.ben)]
        found = {CONTEXT.fullmatch(context_of(pid)).group(2) for pid in installed.sandboxed() if 'yett_sandbox_t' in context_of(pid)}
        self.assertEqual(len(found), len(running))

    def test_the_description_says_the_label(self):
        told = yett.told(self.output(self.ann, 'true', options=['--json']))['sandbox']['label']
        self.assertEqual(CONTEXT.fullmatch(told).group(1), 'yett_init_t')


class Streams(installed.Case):
    def test_a_command_reads_and_writes_what_the_service_manager_opened_for_its_client(self):
        """As in a job of cron's or a session of sshd's, standard streams have not the client's label."""
        installed.tool('systemd-run', '--wait', '--quiet', '--unit=yett-test-streams', '-p', 'User=' + self.ann.name, '-p', 'WorkingDirectory=/',
                       '-p', 'SELinuxContext=' + USER_CONTEXT, 'yett', 'run', '--', 'sh', '-c', 'cat; echo written; echo said >&2')
        yett.wait_until(lambda: {'written', 'said'} <= set(installed.tool('journalctl', '--boot', '-o', 'cat', '-t', 'yett').out.splitlines()),
                        'what the command wrote in the journal')


class Policies(installed.Case):
    def refused(self, profile, text):
        done = self.sandbox(self.ann, 'true', options=('-p', profile))
        self.assertEqual(done.code, 125, done)
        self.assertIn(text, done.err)

    def test_what_is_required_is_there_or_refused(self):
        self.policy(PROFILES)
        self.output(self.ann, 'true', options=('-p', 'required'))
        self.refused('apparmor', "the AppArmor profile 'yett-sandbox' is required, and this host does not use AppArmor")
        self.refused('missing', "the SELinux type 'yett_test_there_is_none_t' is required, and the loaded policy does not know it")
        # The helper's own domain may execute no init as itself, so that not even this starts without a label.
        self.refused('missing-if-available', 'set-up step init failed: Permission denied')

    def test_required_is_refused_where_nothing_is_enforced(self):
        self.policy(PROFILES)
        installed.tool('setenforce', '0')
        try:
            self.refused('required', "is required, and SELinux is permissive on this host")
            self.output(self.ann, 'true')
        finally:
            installed.tool('setenforce', '1')
            self.reload()


class Shares(installed.Case):
    """What lies in a share keeps its label; booleans and types say what may be done with it."""

    def share(self, script, folder, mode='--rw'):
        return self.sandbox(self.ann, 'sh', '-c', script, options=(mode, folder, '-C', folder))

    def test_what_is_made_in_a_share_is_everybodys_and_the_next_sandbox_runs_it(self):
        folder = self.ann.mkdir('work')
        installed.tool('restorecon', '-R', self.ann.home)
        self.assertEqual(self.share("printf '#!/bin/sh\\necho made\\n' >made; chmod +x made", folder).code, 0)
        self.assertEqual(os.getxattr(folder + '/made', 'security.selinux').split(b':', 2)[2], b'user_home_t:s0\0')
        self.assertEqual(self.share('./made', folder).out, 'made\n')

    def test_the_booleans_decide_about_homes(self):
        folder = self.ann.mkdir('mine')
        self.ann.write('mine/file', 'text')
        installed.tool('restorecon', '-R', self.ann.home)
        self.assertEqual(self.share('cat file; echo more >other', folder).out, 'text')
        boolean('yett_sandbox_manage_home', 'off')
        self.addCleanup(boolean, 'yett_sandbox_manage_home', 'on')
        self.assertEqual(self.share('cat file', folder).out, 'text')
        self.assertIn('Permission denied', self.share('echo more >another', folder).err)
        boolean('yett_sandbox_read_home', 'off')
        self.addCleanup(boolean, 'yett_sandbox_read_home', 'on')
        self.assertNotEqual(self.share('cat file', folder).code, 0)

    def test_a_boolean_decides_about_namespaces_of_their_own(self):
        script = 'mount -t tmpfs none /tmp && mount -t proc none /proc && touch /tmp/x && hostname inner && hostname'
        self.policy(PROFILES)
        inner = ('unshare', '-Urmpuif', '--', 'sh', '-ec', script)
        self.assertNotEqual(self.sandbox(self.ann, *inner, options=('-p', 'inner')).code, 0)
        boolean('yett_sandbox_nested', 'on')
        self.addCleanup(boolean, 'yett_sandbox_nested', 'off')
        done = self.sandbox(self.ann, *inner, options=('-p', 'inner'))
        self.assertEqual((done.code, done.out), (0, 'inner\n'), done)

    def test_keys_of_ssh_stay_closed_whatever_is_shared(self):
        """In a home they are hidden; shared by name they are there, and closed by their label."""
        folder = self.ann.mkdir('.ssh', 0o700)
        self.ann.write('.ssh/id_test', 'secret', 0o600)
        installed.tool('restorecon', '-R', self.ann.home)
        done = self.share('cat .ssh/id_test', self.ann.home, '--ro')
        self.assertNotEqual(done.code, 0)
        self.assertIn('No such file', done.err)
        done = self.share('cat id_test', folder, '--ro')
        self.assertNotEqual(done.code, 0)
        self.assertIn('Permission denied', done.err)

    def test_a_socket_of_the_users_is_no_door(self):
        folder = self.ann.mkdir('sockets')
        code = 'import socket,sys\ns = socket.socket(socket.AF_UNIX)\ns.bind("door")\ns.listen()\nprint("up", flush=True)\ns.accept()'
        server = self.popen(self.ann, 'sh', '-c', 'cd %s && exec python3 -c \'%s\'' % (folder, code))
        self.assertEqual(yett.line_of(server.stdout), 'up')
        done = self.share('python3 -c \'import socket; socket.socket(socket.AF_UNIX).connect("door")\'', folder)
        self.assertIn('PermissionError', done.err)


class Apart(installed.Case):
    """Two sandboxes of one type, with all else equal: only categories are between them. The attacker is root outside."""

    # Lets root's shell become what a command is, with the capabilities that a command does not have.
    ATTACKER = '''
(allow unconfined_t yett_sandbox_t (process (transition noatsecure siginh rlimitinh)))
(allow yett_sandbox_t self (capability (kill sys_ptrace dac_override dac_read_search setuid)))
(allow yett_sandbox_t yett_sandbox_t (cap_userns (kill sys_ptrace)))
(roleallow unconfined_r system_r)
'''

    def attack(self, context, *argv):
        return subprocess.run(['runcon', context, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def contexts(self):
        """Of commands of two sandboxes of one user, and their pids."""
        for _ in range(2):
            self.hold(self.ann, *HOLD)
        return [(context_of(pid), pid) for pid in installed.sandboxed() if 'yett_sandbox_t' in context_of(pid)]

    def test_categories_alone_keep_signals_and_looks_away(self):
        (own, pid), (other, _) = self.contexts()
        with tempfile.NamedTemporaryFile('w', prefix='yett_attacker', suffix='.cil', dir='/root') as file:
            file.write(self.ATTACKER)
            file.flush()
            installed.tool('semodule', '-i', file.name)
            self.addCleanup(installed.tool, 'semodule', '-r', os.path.basename(file.name)[:-len('.cil')])
        for argv in (('kill', '-CONT', str(pid)), ('cat', '/proc/%d/cmdline' % pid), ('ls', '/proc/%d/root/tmp' % pid)):
            with self.subTest(argv[0]):
                self.assertEqual(self.attack(own, *argv).returncode, 0, 'with its own categories it works')
                self.assertNotEqual(self.attack(other, *argv).returncode, 0)


if __name__ == '__main__':
    yett.main()
