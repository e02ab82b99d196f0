# SPDX-License-Identifier: Apache-2.0
"""
The SELinux module in the whole policy of Debian 12: that it compiles, and what must never be allowed: test_selinux.py SOURCE_ROOT

The module is put into a copy of the installed policy's modules, as semodule(8) does it on a host, and the result is searched. Each
search is also run on a policy that allows what is searched for, so that it is seen to find it. TAP.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'support'))
import yett  # pylint: disable=wrong-import-position

try:
    import setools
except ImportError:
    setools = None

SOURCE = os.path.abspath(sys.argv[1])
STORES = ('/etc/selinux', '/var/lib/selinux')
SANDBOX, INIT, BUILD, DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER, HELPER = (
    'yett_sandbox_t', 'yett_init_t', 'yett_build_t', 'yett_decider_t', 'yett_decoder_t', 'yett_closer_t', 'yett_audit_t', 'yett_policy_t', 'yett_reader_t', 'yett_front_t', 'yett_dialer_t',
    'yett_helper_t')
INSIDE = (SANDBOX, INIT)
ALL = (SANDBOX, INIT, BUILD, DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER, HELPER)
UNPRIVILEGED = (SANDBOX, INIT, DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER)
# What a process may do to another one to its harm.
HARM = {'ptrace', 'sigkill', 'sigstop', 'signal', 'setsched', 'setpgid', 'setcap', 'setrlimit', 'share', 'noatsecure', 'siginh',
        'rlimitinh', 'transition', 'dyntransition'}
CHANGES = {'write', 'append', 'create', 'unlink', 'rename', 'link', 'setattr', 'relabelfrom', 'relabelto', 'add_name',
           'remove_name', 'rmdir', 'mounton', 'reparent'}
FILES = {'file', 'dir', 'lnk_file', 'chr_file', 'blk_file', 'sock_file', 'fifo_file'}
SOCKETS_INSIDE = {'unix_stream_socket', 'unix_dgram_socket', 'tcp_socket', 'udp_socket', 'icmp_socket', 'netlink_route_socket'}
# What only an administrator's programs have to do with.
SYSTEM_CLASSES = {'security', 'system', 'bpf', 'perf_event', 'key', 'capability', 'capability2', 'cap2_userns', 'tun_socket',
                  'kernel_service', 'binder', 'service', 'dbus', 'io_uring', 'memprotect'}
# What the reference policy gives every domain: mcstransd, which translates names of categories, and devices without contents.
# None of it is to be seen inside.
EVERYBODYS = {'setrans_t', 'setrans_runtime_t', 'devtty_t', 'null_device_t', 'ptmx_t', 'zero_device_t'}
# Where commands may write, and memory and terminals of their own.
WRITABLE = {'yett_sandbox_file_t', 'yett_sandbox_tmpfs_t', 'yett_template_t', 'yett_share_t', 'tmpfs_t',
            'user_tmp_t', 'user_home_t', 'user_home_dir_t', 'user_bin_t', 'xdg_cache_t', 'xdg_config_t', 'xdg_data_t',
            'xdg_documents_t', 'xdg_downloads_t', 'xdg_music_t', 'xdg_pictures_t', 'xdg_videos_t'}
SECRETS = ('shadow_t', 'ssh_home_t', 'gpg_secret_t', 'sshd_key_t', 'selinux_config_t', 'memory_device_t', 'fixed_disk_device_t',
           'auditd_log_t', 'yett_etc_t', 'yett_log_t', 'yett_runtime_t', 'security_t', 'kmsg_device_t', 'debugfs_t')

OFF = {'yett_sandbox_nested', 'yett_sandbox_perf', 'yett_sandbox_sockets'}


def booleans(rule):
    try:
        return {str(one) for one in rule.conditional.booleans}
    except setools.exception.RuleNotConditional:
        return set()


class Policy:
    """
    The allow rules of one policy, with every attribute replaced by its types; those of the booleans that open something for who wants it,
    and are off, are apart.
    """

    def __init__(self, path):
        self.policy = setools.SELinuxPolicy(path)
        self.allowed, self.apart = {}, {name: [] for name in OFF}
        query = setools.TERuleQuery(self.policy, ruletype=['allow'])
        for source in ALL:
            query.source = source
            for rule in query.results():
                if OFF & booleans(rule):
                    self.apart[(OFF & booleans(rule)).pop()].append((source, str(rule.tclass)))
                    continue
                for target in rule.target.expand():
                    self.allowed.setdefault((source, str(rule.tclass)), {}).setdefault(str(target), set()).update(map(str, rule.perms))

    def find(self, sources, classes, permissions=None):
        """(source, class, target, permission) of what is allowed; each argument but the first may be None for all."""
        found = []
        for (source, kind), targets in self.allowed.items():
            if source in sources and (classes is None or kind in classes):
                found += [(source, kind, target, one) for target, allowed in targets.items() for one in allowed
                          if permissions is None or one in permissions]
        return found

    def who_may(self, target, kind, permission):
        query = setools.TERuleQuery(self.policy, ruletype=['allow'], target=target, tclass=[kind], perms=[permission])
        return {str(source) for rule in query.results() for source in rule.source.expand()}


def harm_to_others(policy):
    """Processes: a sandbox only its own, init also its commands, who builds itself, to become init; the decider its decoder, and decoder, compiler and reader nobody."""
    own = {(SANDBOX, SANDBOX), (INIT, SANDBOX), (INIT, INIT), (BUILD, BUILD), (BUILD, INIT)} | {(DECIDER, DECODER)} | {(one, one) for one in (DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER)}
    return [rule for rule in policy.find((*UNPRIVILEGED, BUILD), {'process'}, HARM) if (rule[0], rule[2]) not in own]


def capabilities(policy):
    """None over the host for init, who builds and commands, and over the sandbox's user namespace only those of start_capabilities()."""
    return (policy.find((*INSIDE, BUILD), {'capability', 'capability2'}) + policy.find([SANDBOX, DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER], {'cap_userns', 'cap2_userns'}) +
            [rule for rule in policy.find([INIT], {'cap_userns', 'cap2_userns'}) if rule[3] not in ('kill', 'setgid', 'setpcap', 'setuid')] +
            [rule for rule in policy.find([DECIDER, DECODER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER], {'capability', 'capability2'})
             # net_bind_service: auth_use_nsswitch() for those who ask a directory service; they drop it before
             if rule[3] not in ('setgid', 'setpcap', 'setuid', {DECIDER: 'sys_chroot', DECODER: 'sys_chroot', AUDIT: 'linux_immutable', COMPILER: 'net_bind_service', READER: 'net_bind_service', DIALER: 'net_bind_service'}.get(rule[0]))])


def raw_sockets(policy):
    kinds = {kind for source, kind in policy.allowed if kind.endswith('socket')} - SOCKETS_INSIDE
    return policy.find(INSIDE, kinds, {'create', 'bind', 'connect', 'write', 'read'})


def sockets_of_others(policy):
    """Talking to a service through a socket in a share."""
    return [rule for rule in policy.find(INSIDE, {'unix_stream_socket', 'unix_dgram_socket'}, {'connectto', 'sendto'})
            if (rule[0], rule[2]) not in ((SANDBOX, SANDBOX), (INIT, INIT)) and rule[2] not in EVERYBODYS]


def mounts(policy):
    return (policy.find(UNPRIVILEGED, {'filesystem'}, {'mount', 'remount', 'unmount', 'relabelfrom', 'relabelto', 'quotamod'}) +
            policy.find(UNPRIVILEGED, FILES, {'mounton'}))


def labels(policy):
    """Choosing a label for oneself or for a file."""
    return (policy.find(UNPRIVILEGED, {'process'}, {'setexec', 'setcurrent', 'setfscreate', 'setsockcreate', 'setkeycreate'}) +
            policy.find(UNPRIVILEGED, FILES, {'relabelfrom', 'relabelto'}))


def writing(policy):
    """The host's files: what is neither of the sandbox nor of what its user shares. A pipe or file may be a standard stream."""
    return [rule for rule in policy.find([SANDBOX], FILES - {'fifo_file'}, CHANGES)
            if rule[2] not in WRITABLE | EVERYBODYS and rule[2] != rule[0]]


def secrets(policy):
    return [rule for rule in policy.find(INSIDE + (BUILD, DECIDER, DECODER, CLOSER, FRONT, DIALER), FILES, {'read', 'write', 'append', 'execute', 'map'}) if rule[2] in SECRETS]


def system_interfaces(policy):
    kinds = SYSTEM_CLASSES - {'capability', 'capability2', 'cap2_userns'}
    return policy.find(INSIDE + (DECIDER, DECODER, CLOSER, AUDIT, FRONT), kinds)


def decoder_files(policy):
    """Decider, decoder, closer, audit and front open nothing and make nothing, but for the decider's memory and records; none of them connects to anything."""
    own = {DECIDER, 'yett_decider_exec_t', DECODER, 'yett_decoder_exec_t', CLOSER, 'yett_closer_exec_t', AUDIT, 'yett_audit_exec_t', FRONT, 'yett_front_exec_t'}  # files of a domain are those of its /proc/PID
    return ([rule for rule in policy.find([DECIDER, DECODER, CLOSER, AUDIT, FRONT], FILES - {'fifo_file'}, {'write', 'append', 'create', 'execute_no_trans', 'add_name', 'unlink'})
             if rule[2] not in own | EVERYBODYS and (rule[0], rule[2]) not in ((DECIDER, 'yett_memfd_t'), (FRONT, 'yett_memfd_t'), (AUDIT, 'yett_memfd_t'), (AUDIT, 'yett_log_t'), (AUDIT, 'var_log_t'))] +
            [rule for rule in policy.find([DECIDER, DECODER, CLOSER, AUDIT, FRONT], None, {'connectto', 'name_connect', 'bind', 'listen'})
             if rule[2] not in own | EVERYBODYS])


def foreign_programs(policy):
    """The helper runs no program as itself, and gets into no domain but those of its parts."""
    parts = {DECIDER, CLOSER, AUDIT, COMPILER, READER, FRONT, DIALER, BUILD}
    return ([rule for rule in policy.find([HELPER], {'file'}, {'execute_no_trans'})] +
            [rule for rule in policy.find([HELPER], {'process'}, {'transition', 'dyntransition'}) if rule[2] not in parts] +
            policy.find([BUILD], {'file'}, {'execute_no_trans'}) +
            [rule for rule in policy.find([BUILD], {'file'}, {'entrypoint'}) if rule[2] != 'yett_memfd_t'] +
            policy.find([INIT], {'file'}, {'entrypoint'}) +
            [rule for rule in policy.find([BUILD], {'process'}, {'transition', 'dyntransition'}) if rule[2] != INIT] +
            [rule for rule in policy.find([INIT], {'process'}, {'transition', 'dyntransition'}) if rule[2] != SANDBOX])


# What is searched for, and a rule that it must find where there is one. CIL.
SEARCHES = {
    'harm to other processes': (harm_to_others, '(allow yett_sandbox_t init_t (process (ptrace)))'),
    'capabilities': (capabilities, '(allow yett_sandbox_t self (capability (sys_admin)))'),
    'sockets beyond the protocol families inside': (raw_sockets, '(allow yett_sandbox_t self (packet_socket (create)))'),
    'sockets of other domains': (sockets_of_others, '(allow yett_sandbox_t init_t (unix_stream_socket (connectto)))'),
    'mounts': (mounts, '(allow yett_init_t fs_t (filesystem (mount)))'),
    'labels': (labels, '(allow yett_sandbox_t self (process (setexec)))'),
    'writing to the host': (writing, '(allow yett_sandbox_t etc_t (file (write)))'),
    'secrets': (secrets, '(allow yett_init_t shadow_t (file (read)))'),
    'interfaces of the system': (system_interfaces, '(allow yett_sandbox_t self (key (write)))'),
    'files for decider, decoder and closer': (decoder_files, '(allow yett_decoder_t tmp_t (dir (add_name)))'),
    'programs for helper and init': (foreign_programs, '(allow yett_helper_t bin_t (file (execute_no_trans)))'),
}


def missing():
    """Why the whole policy cannot be built here; empty when it can."""
    if os.geteuid() != 0:
        return 'not root, to whom the modules of the installed policy belong'
    return '' if setools else 'the Python module setools is missing (Debian package setools; tools/install-packages test)'


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if missing():
            raise unittest.SkipTest(missing())
        cls.folder = tempfile.mkdtemp(prefix='yett-selinux-')
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([os.path.join(SOURCE, 'selinux', 'build'), cls.folder], check=True)
        for store in STORES:
            shutil.copytree(store, cls.folder + '/root' + store, symlinks=True)
        cls.good = cls.install('yett.pp', 'yett_mcs.cil')
        with open(cls.folder + '/bad.cil', 'w', encoding='ascii') as file:
            file.writelines(rule + '\n' for _, rule in SEARCHES.values())
        cls.bad = cls.install('bad.cil')

    @classmethod
    def install(cls, *modules):
        # -N: the running kernel has a policy of its own
        subprocess.run(['semodule', '--store', 'default', '--path', cls.folder + '/root', '-N', '-i', *modules], cwd=cls.folder, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        built = cls.folder + '/root/etc/selinux/default/policy/'
        return Policy(built + max(os.listdir(built)))

    def test_what_must_never_be_allowed(self):
        for name, (search, _) in SEARCHES.items():
            with self.subTest(name):
                self.assertEqual(search(self.good), [])

    def test_what_a_boolean_opens_for_few_profiles_is_for_commands_and_off(self):
        self.assertEqual({source for rules in self.good.apart.values() for source, _ in rules}, {SANDBOX})
        self.assertLessEqual({kind for _, kind in self.good.apart['yett_sandbox_nested']},
                             {'cap_userns', 'filesystem', 'dir', 'file', 'lnk_file', 'process', 'netlink_route_socket', 'rawip_socket'})
        self.assertEqual({kind for _, kind in self.good.apart['yett_sandbox_perf']}, {'perf_event'})
        self.assertLessEqual({kind for _, kind in self.good.apart['yett_sandbox_sockets']}, {'unix_stream_socket', 'sock_file', 'dir', 'lnk_file'})
        self.assertEqual({str(one): one.state for one in self.good.policy.bools() if str(one) in OFF}, dict.fromkeys(OFF, False))

    def test_each_search_finds_what_it_searches_for(self):
        for name, (search, _) in SEARCHES.items():
            with self.subTest(name):
                self.assertEqual(len(search(self.bad)), 1)

    def test_only_the_helper_makes_builders_only_they_become_inits_and_only_init_makes_commands(self):
        for domain, maker, how in ((BUILD, HELPER, 'transition'), (INIT, BUILD, 'dyntransition'), (SANDBOX, INIT, 'transition')):
            may = self.good.who_may(domain, 'process', how)
            self.assertIn(maker, may)
            # Domains that are confined in nothing can become anything: it is they whom the policy trusts.
            unconfined = {str(kind) for kind in self.good.policy.lookup_typeattr('unconfined_domain_type').expand()}
            self.assertEqual(may - unconfined, {maker})

    def test_categories_keep_sandboxes_apart(self):
        kinds = {}
        for constraint in self.good.policy.constraints():
            if 'yett_mcs_type' in str(constraint.expression) and 'h1' in str(constraint.expression):
                kinds.setdefault(str(constraint.tclass), set()).update(map(str, constraint.perms))
        self.assertLessEqual(HARM - {'noatsecure', 'siginh', 'rlimitinh', 'dyntransition'}, kinds['process'])
        for kind in FILES:
            self.assertLessEqual({'read', 'write'}, kinds[kind], kind)
        for kind in ('shm', 'sem', 'msgq'):
            self.assertLessEqual({'unix_read', 'unix_write'}, kinds[kind], kind)
        self.assertIn('connectto', kinds['unix_stream_socket'])


if __name__ == '__main__':
    del sys.argv[1]
    yett.main()
