# SPDX-License-Identifier: Apache-2.0
"""
Which layer stops which attempt when it is the only one on: each attack of the table (tests/support/attacks.py) that is measured, with nothing in its way,
with each layer alone, and with all. In the guest, and without what harms the machine anywhere else.

Three layers and the labels are put around it by with_layer.c. "namespaces" is a sandbox of the real helper, whose profile
gives back all capabilities and has the tests' init leave out the rest. What came out is kept for tests/guest/layers.py.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import attacks
import layers
import selinux
import surroundings
import yett

yett.STAGED += ('tests/hostile/attack', 'tests/guest/with_layer', 'tests/hostile/yett-init-layers', 'tests/hostile/yett-policy-open')

LSM = os.environ.get('YETT_GUEST_LSM')
IS_GUEST = bool(LSM) and os.path.exists(os.path.join(yett.SOURCE, 'run.json'))
RESULT = '/var/tmp/logs/layers.json' if IS_GUEST else os.path.join(os.environ['YETT_BUILD_ROOT'], 'layers-here.json')

LEFT_OUT = 'landlock,system-call-filter,no-new-privileges,capabilities'
# capabilities(7), all of them.
CAPABILITIES = ', '.join('"%s"' % name for name in (
    'chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service net_broadcast '
    'net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice '
    'sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm '
    'block_suspend audit_read perfmon bpf checkpoint_restore').split())
# Profiles that say nothing of a label have that of "default".
LABEL_KEYS = ''.join('  %s = ""\n' % key for key in re.findall(r'^  (apparmor_profile|selinux_type) =', yett.read(
    os.path.join(yett.SOURCE, 'dist', 'yett.conf')).partition('profile "build"')[0], re.M))
BARE = '''
profile "bare" {
  extends = "default"
  capabilities = {%s}
  environment += {"YETT_TEST_LAYERS_OFF=%s"}
%s}
grant "bare" {
  users = {"*"}
  user_keys = true
  profiles = {"bare"}
  capabilities = {%s}
  share_rw = {"*"}
}
''' % (CAPABILITIES, LEFT_OUT, LABEL_KEYS, CAPABILITIES)

# A shell of the administrator's does not start programs in the domain of sandboxes: the helper does. For this test it may,
# and afterwards as well: loading a policy takes its time, and the guest is thrown away. Without that domain it means nothing.
# What lies above a share is the sandbox's own otherwise, and can be searched. And what Debian's policy keeps even from a shell
# without confinement would not show what ours does.
SELINUX_RULES = '''
(optional each_layer
  (allow yett_sandbox_t var_t (dir (getattr search)))
  (allow yett_sandbox_t var_lib_t (dir (getattr search)))
  (allow unconfined_t root_t (dir (watch watch_sb watch_reads)))
  (roletype unconfined_r yett_sandbox_t)
  (allow unconfined_t yett_sandbox_t (process (transition noatsecure rlimitinh siginh))))
'''

MODULES = ('dummy', 'tcp_bbr', 'nbd', 'sch_red', 'crc_itu_t', 'ifb', 'msr')


def module_file():
    """Path and name of a module that needs no other and is not loaded."""
    loaded = yett.read('/proc/modules')
    for name in MODULES:
        found = glob.glob('/lib/modules/%s/kernel/**/%s.ko' % (os.uname().release, name.replace('_', '[_-]')), recursive=True)
        if found and not re.search('^%s ' % name, loaded, re.M):
            return found[0], name
    raise RuntimeError('there is none of the modules %s' % ', '.join(MODULES))


class Machine(surroundings.Surroundings):
    """The same, and what there is of the machine to be harmed."""

    def __init__(self, stack, alice):
        # Not in /tmp, which Landlock leaves to every sandbox.
        self.outside = '/var/cache/yett-attack-%d' % os.getpid()
        self.share = self.outside + '/share'
        stack.callback(shutil.rmtree, self.outside)
        self.make_files()
        super().__init__(stack, self.outside, self.share, self.share + '/attack')
        self.hand_over(alice)
        if IS_GUEST:
            self.variables.update(self.find_machine())

    def make_files(self):
        os.makedirs(self.share)
        os.chmod(self.outside, 0o755)
        yett.write(self.outside + '/secret', 'secret', 0o600)
        yett.write(self.outside + '/open', 'as it was', 0o666)
        yett.write(self.outside + '/input', 'as it was', 0o666)
        os.truncate(self.outside + '/input', (16 << 20) + 1)  # what is so large is passed itself, and no copy
        yett.write(self.outside + '/program', '#!/bin/sh\n', 0o755)
        yett.write(self.share + '/swap', '\0' * (1 << 20), 0o600)
        subprocess.run(['mkswap', self.share + '/swap'], check=True, capture_output=True)
        shutil.copy(yett.run_of_process().path('tests/hostile/attack'), self.share + '/attack')

    def hand_over(self, alice):
        os.chown(self.share, alice.uid, alice.gid)
        os.chmod(self.share, 0o777)  # that a root without capabilities may not write there would stop what no layer stops
        os.chown(self.share + '/mount', alice.uid, alice.gid)
        if LSM == 'selinux':
            # What is handed to a sandbox is labelled so that it may be used there.
            subprocess.run(['chcon', '-R', '-t', 'yett_share_t', self.share, self.outside + '/input'], check=True)

    def find_machine(self):
        disk, kind = next(row[:3:2] for row in map(str.split, yett.read('/proc/mounts').splitlines())
                          if row[1] == '/' and row[0].startswith('/dev/'))
        disk = '/dev/vda' if disk == '/dev/root' else disk
        module, name = module_file()
        return {'ATTACK_HARM': '1', 'ATTACK_DISK': disk, 'ATTACK_DISK_NUMBER': str(os.stat(disk).st_rdev), 'ATTACK_DISK_TYPE': kind,
                'ATTACK_SYSFS': '/sys/block/%s/queue/read_ahead_kb' % os.path.basename(disk),
                'ATTACK_MODULE': module, 'ATTACK_MODULE_NAME': name}

    def run(self, *argv):
        """As root, with nothing around it but what argv puts there. None: this machine does not have that."""
        with open(self.outside + '/input', 'rb') as stdin:
            done = subprocess.run([*argv, self.share + '/attack', 'layer'], stdin=stdin, capture_output=True, text=True, check=False,
                                  env={**os.environ, **self.variables})
        return None if argv and done.returncode == 77 else surroundings.results_of(done.returncode, done.stdout, done.stderr)

    def run_in_sandbox(self, user, service, *options):
        options = [*options, '--rw', self.share, '--timeout', '180s']
        for name, value in self.variables.items():
            options += ['-e', '%s=%s' % (name, value)]
        with open(self.outside + '/input', 'rb') as stdin:
            done = service.sandbox(user, self.share + '/attack', 'layer', options=options, stdin=stdin)
        return surroundings.results_of(done.code, done.out, done.err)


class EachLayer(unittest.TestCase):
    """One run of all attempts for each layer; the cases then look at what came out."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.run_ = yett.run_of_process()
        alice = cls.run_.user(1)
        cls.load_labels()
        # Where users may trace the kernel, as a test has it for a moment, it tells everybody its addresses.
        cls.stack.enter_context(yett.machine_setting_unchanged('/proc/sys/kernel/perf_event_paranoid'))
        around = Machine(cls.stack, alice)
        cls.results = {'none': around.run()}
        for name in ('seccomp', 'landlock', 'capabilities', 'apparmor', 'selinux'):
            cls.results[name] = around.run(cls.run_.path('tests/guest/with_layer'), name)
        cls.results['namespaces'] = cls.run_in_sandbox(around, alice, '-p', 'bare', before=BARE, **cls.programs())
        cls.results['all'] = cls.run_in_sandbox(around, alice)
        cls.results['none-again'] = around.run()
        cls.write_results()

    @classmethod
    def programs(cls):
        """The helper with the tests' init and without a filter of building, in no domain of their own: those would be layers, too."""
        folder = cls.run_.libexec('libexec-layers', init=cls.run_.path('tests/hostile/yett-init-layers'),
                                  policy=cls.run_.path('tests/hostile/yett-policy-open'))
        shutil.copy(cls.run_.path('helper/yett-helper'), folder)
        for name in os.listdir(folder):
            selinux.label(os.path.join(folder, name), 'bin_t')
        return {'libexec': folder, 'helper': 'libexec-layers/yett-helper'}

    @classmethod
    def run_in_sandbox(cls, around, alice, *options, **service_options):
        with yett.Service(**service_options) as service:
            done = service.enter_key(alice, *options)
            if done.code != 0:
                raise RuntimeError('no sandbox: %r\n%s' % (done, service.log_text()))
            return around.run_in_sandbox(alice, service, *options)

    @classmethod
    def load_labels(cls):
        """What is shipped; of SELinux what is built, unless the package has brought it."""
        if LSM == 'apparmor':
            folder = os.path.join(yett.SOURCE, 'apparmor')
            subprocess.run(['apparmor_parser', '--replace', '--skip-cache', '-I', folder, '-I', '/etc/apparmor.d',
                            folder + '/yett-sandbox'], check=True)
        elif LSM == 'selinux':
            # semodule has a domain of its own, which reads what lies below /usr.
            folder = '/usr/local/share/each_layer'
            os.makedirs(folder)
            yett.write(folder + '/each_layer.cil', SELINUX_RULES)
            for built in glob.glob(os.path.join(os.environ['YETT_BUILD_ROOT'], 'selinux', 'yett*')):
                shutil.copy(built, folder)
            subprocess.run(['semodule', '-i', *sorted(glob.glob(folder + '/*'))], check=True)

    @classmethod
    def write_results(cls):
        machine = {'kernel': os.uname().release, 'landlock_abi': yett.landlock_abi(), 'lsm': LSM or 'none'}
        names = [name for name in layers.LAYERS if cls.results[name] is not None]
        rows = [{'name': name, 'results': {layer: cls.results[layer][name] for layer in names}} for name in cls.results['none']]
        with open(RESULT, 'w', encoding='utf-8') as file:
            json.dump({'machine': machine, 'attempts': rows}, file, indent=1)

    def tried(self):
        """What this machine has at all; the guest has everything."""
        absent = () if IS_GUEST else ('untried', 'ENOENT', 'ENOSYS', 'EAFNOSUPPORT')
        return [name for name, result in self.results['none'].items() if result not in absent]

    def test_they_are_those_of_the_table(self):
        self.assertEqual(set(self.results['none']), {attack.name for attack in attacks.ATTACKS if attack.is_measured})
        self.assertGreater(len(self.tried()), 40)

    def test_each_works_where_nothing_is_in_its_way(self):
        # Before and after: what one attempt leaves behind could have stopped another.
        for when in ('none', 'none-again'):
            results = self.results[when]
            self.assertEqual({name: results[name] for name in self.tried() if results[name] != 'works'}, {}, when)

    def test_none_works_where_all_layers_are_on(self):
        self.assertEqual([name for name in self.tried() if self.results['all'][name] == 'works'], [])

    def test_each_is_stopped_by_a_layer_that_is_alone(self):
        rows = json.loads(yett.read(RESULT))['attempts']
        tried = [row for row in rows if row['name'] in self.tried()]
        self.assertEqual([row['name'] for row in tried if not layers.stopping(row)], [])

    def test_each_layer_stops_what_the_table_says(self):
        """Landlock's version is not that of the guests elsewhere."""
        letters = [letter for letter, layer in attacks.LAYERS.items() if self.results[layer] is not None and (IS_GUEST or letter != 'L')]
        for name in self.tried():
            found = [letter for letter in letters if self.results[attacks.LAYERS[letter]][name] != 'works']
            self.assertEqual(found, [letter for letter in letters if letter in attacks.BY_NAME[name].layers], name)

    def test_each_layer_stops_something_and_not_everything(self):
        for layer in layers.ALONE:
            if self.results[layer] is not None:
                stopped = [name for name in self.tried() if self.results[layer][name] != 'works']
                self.assertTrue(0 < len(stopped) < len(self.tried()), (layer, stopped))

    def test_an_attempt_fails_at_once_or_not_at_all(self):
        for layer, results in self.results.items():
            odd = [name for name, result in (results or {}).items() if result in ('SIGALRM', 'SIGABRT', 'SIGSEGV', 'silent')]
            self.assertEqual(odd, [], layer)

    def test_this_machine_has_the_layers_that_it_should(self):
        absent = {name for name, results in self.results.items() if results is None}
        kernels = {'landlock'} if IS_GUEST or yett.landlock_abi() else set()
        self.assertEqual(absent & {'seccomp', 'capabilities', LSM, *kernels}, set())


if __name__ == '__main__':
    yett.main()
