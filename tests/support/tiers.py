# SPDX-License-Identifier: Apache-2.0
"""
What `make check` leaves to `make check-all`, and why. Each feature and each defence is touched by `make check`; what is here is the
same again: another way of starting where that decides nothing, every step where one of each kind is enough, what takes a browser or a
compiler.
"""
import fnmatch
import os

CHECK, REST, ALL = 'check', 'rest', 'all'
VARIABLE = 'YETT_TEST_TIER'

SAME_ELSEWHERE = 'the same sandbox, started in another way'
EVERY_STEP = 'each step of something that check has at some steps'
EVERY_LANGUAGE = 'the same for each of a dozen languages; check has what a program is given, and system-limits the limits'

# suite: {CLASS or CLASS.TEST, or a pattern of fnmatch(3), or * for all of it: reason}
LATER = {
    'system-project': {'*': 'compilers and git are at work for a minute, and of ours what system-workspace, system-diff and system-apply have'},
    'programs': {'*': 'a hundred programs that others wrote; system-programs has some'},
    'selinux': {'*': 'the policy is compiled and searched for a minute; make guest enforces it'},
    'completions': {'Fish.test_each_option_is_completed_once_its_name_is_nearly_there': 'a shell for each option; Bash has them',
                    'Zsh.test_each_option_is_completed_once_its_name_is_nearly_there': 'a shell for each option; Bash has them'},
    'system-mcp': {'Long.test_a_thousand_leave_nothing': 'system-agent has what one leaves'},
    'system-view': {'*': 'a browser draws what system-serve has as text'},
    'system-load': {'*': 'a session that lasts, to see that it does not grow'},
    'system-mcp_clients': {'*': 'clients that others wrote, from npm; system-mcp has the same requests'},
    'system-mcp_http': {'Conformance': 'packages of npm', 'Sdk': 'packages of npm'},
    'system-checkpoint_interrupted': {'*': EVERY_STEP},
    'system-runner': {'Languages.test_a_fork_bomb_goes_with_its_sandbox_and_the_next_call_works': EVERY_LANGUAGE,
                      'Languages.test_an_endless_loop_is_ended_when_its_time_is_over': EVERY_LANGUAGE,
                      'Languages.test_who_takes_all_memory_fails_by_it_and_the_next_call_works': EVERY_LANGUAGE},
    'system-serve': {'Life.test_a_thousand_executions_leave_nothing': 'system-agent has what one execution leaves'},
    'system-store': {'Snapshots.test_a_kill_at_each_step_leaves_what_there_was_or_what_there_is_to_be': EVERY_STEP},
    'system-snapshot': {'PowerCut': EVERY_STEP, 'Kill': EVERY_STEP},
    'system-apply': {'Elsewhere': 'Crash, with the store on another file system', 'PowerCut': EVERY_STEP},
    'system-audit': {'BestEffort.test_an_end_that_could_not_be_written_down_is_when_that_works_again': 'CannotWrite has it; it waits for half a minute'},
    'system-network': {'KilledWithoutBpf': SAME_ELSEWHERE, 'KilledRootless': SAME_ELSEWHERE},
    'system-network_programs': {'Rootless': SAME_ELSEWHERE, 'Clients.test_java': 'a compiler', 'Clients.test_go': 'a compiler', 'Clients.test_npm': 'packages of npm'},
    'system-events': {'EventsOfOneMadeAhead': 'system-life has sandboxes that were made ahead', 'DeniedInOneMadeAhead': 'system-life has sandboxes that were made ahead'},
    'system-life': {'Lives': 'Spares has the same with sandboxes that were made ahead'},
    'system-about': {'ToldRootless': SAME_ELSEWHERE},
    'system-live_mounts': {'RefreshRootless': SAME_ELSEWHERE, 'ToldRootless': SAME_ELSEWHERE},
    'system-exec': {'TimeoutsRootless': SAME_ELSEWHERE},
    'hostile-network': {'InsideRootless': SAME_ELSEWHERE, 'Floods.test_many_connections': 'eleven thousand of them; system-egress has the bound'},
    'hostile-records': {'Many': 'ten thousand requests; Records asks a thousand'},
    'hostile-network_many': {'*': 'two hundred sandboxes with a network at once'},
    'hostile-diff': {'Stores.test_more_changes_than_are_told_are_said_to_be_too_many': 'half a minute of making files'},
    'hostile-fakes': {'Decoders.test_decoder_at_start_hang': 'it waits for 40 s; the other hanging decoders wait less'},
}

# Where the way of starting can matter: a class that runs again what another one runs as a service, and why that can come out otherwise.
# Those that are left to check-all are in LATER.
WAYS = {
    'system-about': {'ToldRootless': 'what is told is written by a helper that is not root'},
    'system-cores': {'WithoutRoot': 'limits are raised and lowered by a process that is not root'},
    'system-etc': {'Rootless': 'other ids are mapped, and files of root show as nobody'},
    'system-exec': {'TimeoutsRootless': 'there may be no control group to kill'},
    'system-host_network': {'WithoutRoot': 'no bind to ports of root, no setting of the network'},
    'system-live_mounts': {'ToldRootless': 'another process enters the sandbox to mount', 'RefreshRootless': 'another process enters the sandbox to mount'},
    'system-mounts': {'ConventionalRootless': 'mounts are made in a user namespace of the caller'},
    'system-nested': {'WithoutRoot': 'user namespaces are counted below the caller'},
    'system-network': {'Rootless': 'connections are caught by listeners on ports', 'WithoutBpf': 'connections are caught by listeners on ports, as root',
                       'ToldWithoutBpf': 'connections are caught by listeners on ports, as root', 'ToldRootless': 'connections are caught by listeners on ports',
                       'KilledWithoutBpf': 'what is started anew is another process', 'KilledRootless': 'what is started anew is another process'},
    'system-network_programs': {'Rootless': 'programs meet listeners on ports'},
    'system-perf': {'WithoutRoot': 'perf_event_open(2) is decided by the ids of the caller'},
    'system-rates': {'SetUserId': 'requests of many processes are counted in a file'},
    'system-relays': {'RootlessPorts': 'the helper is the caller', 'RootlessUnixSockets': 'the helper is the caller'},
    'system-sockets': {'Rootless': 'the helper is the caller'},
    'hostile-about': {'WithoutRoot': 'what is told is written by a helper that is not root'},
    'hostile-network': {'InsideWithoutBpf': 'connections are caught by listeners on ports, as root', 'InsideRootless': 'connections are caught by listeners on ports',
                        'KilledWithoutBpf': 'what is started anew is another process', 'Catchers': 'there is a catcher only without BPF'},
    'hostile-relays': {'RootlessRelays': 'the helper is the caller'},
    'hostile-streams': {'StreamsWithoutRoot': 'the helper is the caller'},
    'hostile-shared': {'Rootless': 'the helper is the caller'},
}

# Suites that keep the machine's network: some fetch packages of npm, and a browser whose route leads nowhere waits for it again and again.
WITH_NETWORK = ('system-mcp_clients', 'system-mcp_http', 'system-view')

# Suites that get no namespaces of their own.
NOT_APART = {
    'system-cores': 'the kernel takes the name of a socket in core_pattern from its first mount namespace alone',
}

# What runs with address and undefined-behaviour sanitizers besides the unit tests: suites in which the programs that decode what others
# send live for long and hear much, and one of everything (system-library). A sanitizer costs most where a process begins.
SANITIZED = ('system-audit_program', 'system-checkpoint', 'system-commands', 'system-dialer', 'system-egress', 'system-files', 'system-keys', 'system-labels',
             'system-library', 'system-mcp', 'system-mounts', 'system-rates', 'system-relays', 'system-sockets', 'system-workspace', 'hostile-agent', 'hostile-files')

# What `make sanitize` leaves out: processes are killed there and what they leave is looked at, or the clients are other people's.
NOT_SANITIZED = {
    'hostile-crash_spares': 'hostile-crash has the same steps',
    'system-checkpoint_interrupted': 'system-checkpoint has the same calls',
    'system-git': 'its commands have a limit of memory that a sanitizer alone exceeds',
    'system-mcp_clients': 'system-mcp has the same requests',
    'system-mcp_http': 'system-mcp and system-serve have the same code',
    'system-shown': 'of git it has what system-git has; the other commands of the pages have suites of their own',
    'system-project': 'compilers and git are at work, and of ours what system-workspace, system-diff and system-apply have',
}

# Unit tests that valgrind 3.19, Debian 12's, cannot run, or not soon.
NOT_UNDER_VALGRIND = {
    'unit-apply': 'valgrind does not know openat2(2)',
    'unit-decoder': 'valgrind does not know pidfd_open(2)',
    'unit-diff_walk': 'valgrind does not know openat2(2)',
    'unit-denied': 'valgrind does not know seccomp(2)',
    'unit-files': 'valgrind does not know seccomp(2)',
    'unit-filter': 'valgrind does not know seccomp(2)',
    'unit-init_descriptor': 'valgrind does not know pidfd_open(2)',
    'unit-intersect': 'its 200,000 cases take minutes, and unit-authorize has the same code at work',
    'unit-lockdown': 'valgrind does not know seccomp(2)',
    'unit-seccomp': 'valgrind does not know seccomp(2)',
    'unit-verify': 'valgrind does not know pidfd_open(2)',
}


# Suites that divide their cases by some(): of the matrix of deaths check has one victim for each step.
DIVIDED = ('hostile-crash', 'hostile-crash_spares')


def number(in_check, in_all):
    """How often something is tried that chance decides, or that is done many times over: less often in check."""
    return in_check if os.environ.get(VARIABLE) == CHECK else in_all


def some(rows, kept):
    """Of rows that make cases those of the tier that this program is run for: check has those for which `kept` is true."""
    tier = os.environ.get(VARIABLE, ALL)
    return [row for row in rows if tier == ALL or bool(kept(row)) == (tier == CHECK)]


def is_later(suite, case):
    return any(fnmatch.fnmatchcase(case, pattern) or fnmatch.fnmatchcase(case, pattern + '.*') for pattern in LATER.get(suite, ()))


def has(tier, suite, case):
    """Whether a case, as CLASS.TEST, is of a tier."""
    return tier == ALL or suite in DIVIDED or is_later(suite, case) == (tier == REST)


def has_some(tier, suite):
    """Whether a suite has any case of it."""
    return {CHECK: '*' not in LATER.get(suite, ()), REST: suite in LATER or suite in DIVIDED, ALL: True}[tier]
