# SPDX-License-Identifier: Apache-2.0
"""
Which tests run in the guest, in which order, and with which LSM. Read by `run` outside and by inside.py.

The first ones install the packages; those after them need not care, since each system test brings a service of its own, with
cgroups, ids and users that no installed one has.
"""
import os

BOTH = ('apparmor', 'selinux')


class Test:
    """A program below the source, or below the build tree (then `arguments` are arguments of its own)."""

    def __init__(self, name, program, seconds, lsms=BOTH, arguments=(), **environment):
        self.name, self.program, self.seconds, self.lsms = name, program, seconds, lsms
        self.arguments, self.environment = arguments, environment

    def argv(self, source):
        # A compiled one is not what a domain begins with, where the LSM has such rules.
        return ['/usr/bin/python3' if self.program.endswith('.py') else '/usr/bin/env'] + [os.path.join(source, self.program)] + [argument.replace('@', source) for argument in self.arguments]


# Of the corpus of programs: those that the guest has anyway, divided between the two.
PROGRAMS = {'apparmor': ('gcc', 'vim', 'top', 'strace_f', 'AddressSanitizer', 'dpkg_deb'),
            'selinux': ('python3', 'perl_prove', 'git_init_shared', 'bash_with_job_control', 'tar', 'lscpu')}

TESTS = (
    Test('machine', 'tests/guest/test_machine.py', 60),
    Test('packages', 'tests/guest/test_packages.py', 300),
    # The profiles stay loaded: the tests after this one run with the label that the shipped policy asks for.
    Test('apparmor', 'tests/guest/test_apparmor.py', 300, ['apparmor']),
    Test('selinux', 'tests/guest/test_selinux.py', 480, ['selinux']),
    # What depends on an LSM with both, who starts whom and what is whose; the rest, which is systemd's, once.
    Test('service', 'tests/guest/test_service.py', 600, ['apparmor'],
         arguments=['Idle', 'Reload', 'Confinement', 'UserNamespaces', 'Limits', 'Living.test_an_upgrade_ends_no_sandbox_and_brings_the_new_helper',
                    'Living.test_killing_every_process_at_once_leaves_nothing_after_the_next_start', 'Audit.test_a_sandbox_and_its_end_are_written_down_and_sealed']),
    Test('service', 'tests/guest/test_service.py', 600, ['selinux'], arguments=['Living', 'Confinement', 'Audit']),
    Test('network', 'tests/guest/test_network.py', 300, ['apparmor']),
    Test('network', 'tests/guest/test_network.py', 300, ['selinux'],
         arguments=['Network.test_' + name for name in (
             'who_serves_it_has_a_label_and_is_started_again', 'without_bpf_it_is_caught_at_the_ports_of_rules', 'a_port_leads_inside',
             'a_socket_of_the_host_is_reached_as_the_user', 'nothing_is_left')]),
    Test('agent', 'tests/guest/test_agent.py', 300, ['apparmor']),
    Test('agent', 'tests/guest/test_agent.py', 300, ['selinux'], arguments=['Socket', 'Agent.test_on_a_pipe']),
    Test('users', 'tests/guest/test_users.py', 300, ['apparmor']),
    Test('setuid', 'tests/guest/test_setuid.py', 400),
    # Of the tests that also run elsewhere: what cgroup v2 decides, this kernel, or a label; most of it once, divided between the two.
    Test('system-limits', 'tests/system/test_limits.py', 400, ['apparmor'], arguments=['Limits', 'Ceilings']),
    Test('system-audit', 'tests/system/test_audit.py', 300, ['selinux'], arguments=['Required']),
    Test('system-about', 'tests/system/test_about.py', 300, ['apparmor'], arguments=['OfService', 'Told.test_it_is_what_the_client_is_told']),
    Test('system-about', 'tests/system/test_about.py', 300, ['selinux'],
         arguments=['OfService', 'Told.test_what_is_mounted_later_is_told_and_what_is_taken_off_is_not', 'Told.test_commands_read_it_and_no_more']),
    Test('system-inside', 'tests/system/test_inside.py', 400, ['selinux'], arguments=['Confinement', 'ControlGroups', 'Shares']),
    Test('system-inside', 'tests/system/test_inside.py', 400, ['apparmor'], arguments=['Apart']),
    Test('system-terminal', 'tests/system/test_terminal.py', 300, ['selinux'], arguments=['Inside', 'OutOfReach', 'Shell']),
    Test('system-nested', 'tests/system/test_nested.py', 200, ['apparmor'], arguments=['Nested']),
    Test('system-job', 'tests/system/test_job.py', 300, ['selinux'], arguments=['Pipelines', 'Suspended']),
    Test('system-copies', 'tests/system/test_cli.py', 200, ['apparmor'], arguments=['Copies']),
    Test('hostile-payload', 'tests/hostile/test_payload.py', 400, ['apparmor'],
         arguments=['Attacks', 'Confined', 'Cores', 'Surroundings.test_a_fork_bomb_harms_nobody', 'Surroundings.test_a_memory_hog_harms_nobody',
                    'Surroundings.test_a_mount_inside_does_not_reach_a_shared_source', 'Surroundings.test_what_the_kernel_counts_by_user_is_not_taken_from_others',
                    'Surroundings.test_nobody_outside_is_held_up_by_a_lease_or_by_what_the_machine_counts']),
    Test('hostile-payload', 'tests/hostile/test_payload.py', 400, ['selinux'], arguments=['Attacks', 'Confined']),
    Test('hostile-shared', 'tests/hostile/test_shared.py', 400, ['apparmor'], arguments=['Shared']),
    # Overlays reach their layers with the label of who mounted them; memory cannot be one on this kernel.
    Test('system-workspace', 'tests/system/test_workspace.py', 400, ['apparmor'], arguments=['ProjectQuota', 'Service']),
    Test('system-workspace', 'tests/system/test_workspace.py', 400, ['selinux'],
         arguments=['Changes', 'Refused', 'Service.test_a_command_that_is_root_inside_or_has_capabilities_writes_as_the_caller']),
    Test('hostile-workspace', 'tests/hostile/test_workspace.py', 300, arguments=['Escalation', 'Marks', 'Held']),
    # Quotas, which not every kernel has, and labels of what is applied; and what is hidden, frozen and made again.
    Test('system-apply', 'tests/system/test_apply.py', 300, ['apparmor'], arguments=['Quota']),
    Test('system-apply', 'tests/system/test_apply.py', 300, ['selinux'], arguments=['Labels', 'Taken']),
    Test('system-store', 'tests/system/test_store.py', 300, ['selinux'], arguments=['Again', 'Hidden', 'Live']),
    Test('system-session', 'tests/system/test_session.py', 300, ['apparmor'], arguments=['Sessions.test_it_comes_back_as_it_was']),
    # Who enters a sandbox that runs, to mount.
    Test('system-live_mounts', 'tests/system/test_live_mounts.py', 400, ['apparmor'], arguments=['Shares.test_copy_on_write']),
    Test('system-live_mounts', 'tests/system/test_live_mounts.py', 400, ['selinux'],
         arguments=['Shares.test_a_writable_directory_is_there_for_who_runs_and_for_who_comes', 'Shares.test_several_at_once_a_file_among_them',
                    'Shares.test_copy_on_write', 'Refresh', 'Strict']),
    # Connections that are older than a policy, where labels stand between all processes that ask one another.
    Test('hostile-revoke', 'tests/hostile/test_revoke.py', 300, ['apparmor'], arguments=['Kept', 'Left']),
    Test('hostile-revoke', 'tests/hostile/test_revoke.py', 300, ['selinux'],
         arguments=['Kept.test_one_that_the_policy_still_allows_asks_anew_and_goes_on', 'Kept.test_one_that_is_not_answered_is_over', 'Left']),
    Test('hostile-layers', 'tests/hostile/test_layers.py', 240),
    Test('hostile-landlock', 'build/tests/hostile/test_landlock', 400, ['apparmor'], YETT_INIT='@/build/tests/hostile/yett-init-layers'),
    # What cgroup v2 counts, and who is told of forbidden calls.
    Test('system-events', 'tests/system/test_events.py', 400, ['apparmor'],
         arguments=['Usage', 'Events.test_commands_are_told_with_their_numbers_and_results', 'Events.test_limits_that_are_met_are_told',
                    'Events.test_pausing_and_resuming_are_told', 'Denied']),
    Test('system-denied', 'tests/system/test_events.py', 200, ['selinux'], arguments=['Denied']),
    # Without root, where limits are those of a group that was delegated on v2.
    Test('system-rootless', 'tests/system/test_rootless.py', 500, ['apparmor'],
         arguments=['Confinement', 'Nowhere', 'Doctor', 'Delegated']),
    Test('system-programs', 'tests/system/test_programs.py', 400, ['apparmor'],
         arguments=['Programs.test_stdio_can_be_opened_anew_by_its_name_in_its_own_direction', 'Programs.test_executables_in_tmp_and_home_run']),
    *(Test('programs', 'tests/programs/run.py', 600, [lsm], arguments=['ByService.test_' + name for name in names]) for lsm, names in PROGRAMS.items()),
    Test('system-cli', 'tests/system/test_cli.py', 400, ['selinux'],
         arguments=['Copies', 'Signals.test_a_killed_client_takes_its_sandbox_along', 'Streams.test_files', 'Streams.test_the_copy_can_be_read_and_nothing_else',
                    'Streams.test_other_devices_are_bridged_never_handed_over']),
    # What was refused until here; the next ones attack.
    Test('denials', 'tests/guest/test_denials.py', 60),
    # What init is given has the label of who made it.
    Test('hostile-streams', 'tests/hostile/test_streams.py', 300,
         arguments=['Streams.test_' + name for name in (
             'nobody_but_its_peer_is_reached', 'its_peer_is', 'a_connected_pair_goes_inside_and_has_no_further_use',
             'what_can_reach_others_and_has_no_peer_is_refused')]),
    # Among the last: what escapes here may leave something behind.
    Test('each-layer', 'tests/guest/test_each_layer.py', 400),
    Test('purge', 'tests/guest/test_purge.py', 300),
)


def chosen(lsm, names):
    """The tests of an LSM, or of these those that are named; ValueError for a name that is none of its tests."""
    tests = [test for test in TESTS if lsm in test.lsms]
    unknown = set(names) - {test.name for test in tests}
    if unknown:
        raise ValueError('no test of %s: %s' % (lsm, ', '.join(sorted(unknown))))
    return [test for test in tests if not names or test.name in names]
