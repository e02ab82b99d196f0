"""
What `make check` leaves to `make check-all`, and why. Each feature and each defence is touched by `make check`; what is here is the
same again: another way of starting where that decides nothing, every step where one of each kind is enough, what takes a browser or a
compiler.
"""
import fnmatch

CHECK, REST, ALL = 'check', 'rest', 'all'

# suite: {case or pattern of fnmatch(3): reason}
LATER = {
}

# Suites that fetch packages of npm: they keep the machine's network.
WITH_NETWORK = ('system-mcp_clients', 'system-mcp_http')

# What runs with address and undefined-behaviour sanitizers besides the unit tests: suites in which the programs that decode what others
# send live for long and hear much, and one of everything (system-library). A sanitizer costs most where a process begins.
SANITIZED = ('system-audit_program', 'system-checkpoint', 'system-commands', 'system-dialer', 'system-egress', 'system-files', 'system-keys', 'system-labels',
             'system-library', 'system-mcp', 'system-mounts', 'system-rates', 'system-relays', 'system-sockets', 'system-workspace', 'hostile-agent', 'hostile-files')

# What `make sanitize` leaves out: processes are killed there and what they leave is looked at, or the clients are other people's.
NOT_SANITIZED = {
    'hostile-crash_spares': 'hostile-crash has the same steps',
    'system-checkpoint_interrupted': 'system-checkpoint has the same calls',
    'system-mcp_clients': 'system-mcp has the same requests',
    'system-mcp_http': 'system-mcp and system-serve have the same code',
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


def is_later(suite, case):
    return any(fnmatch.fnmatchcase(case, pattern) or fnmatch.fnmatchcase(case, pattern + '.*') for pattern in LATER.get(suite, ()))


def has(tier, suite, case):
    """Whether a case, as CLASS.TEST, is of a tier."""
    return tier == ALL or is_later(suite, case) == (tier == REST)


def has_some(tier, suite):
    """Whether a suite has any case of it."""
    return {CHECK: '*' not in LATER.get(suite, ()), REST: suite in LATER, ALL: True}[tier]
