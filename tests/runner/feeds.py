# SPDX-License-Identifier: Apache-2.0
"""
Which suites a change can affect, by the files that it touches. CI runs what these have in check-all beyond check; a file that no row
names feeds all suites. A change of this table, or of the runner, makes CI run all.
"""
import fnmatch

EVERYTHING = object()

AGENT = ('unit-agent*', 'unit-http*', 'unit-mcp', 'unit-parcel', 'unit-languages', 'system-agent', 'system-runner', 'system-serve', 'system-view', 'system-mcp*',
         'hostile-agent')
WORKSPACE = ('unit-diff*', 'unit-apply', 'system-diff', 'system-apply', 'system-git', 'system-snapshot', 'system-store', 'system-session', 'system-workspace',
             'hostile-diff', 'hostile-apply', 'hostile-workspace')
NETWORK = ('unit-dns', 'unit-fakes', 'unit-front', 'unit-dialer', 'unit-tunnel', 'unit-net*', 'system-egress', 'system-dialer', 'system-network*', 'system-relays',
           'system-host_network', 'hostile-network*', 'hostile-host_network', 'hostile-relays')
AUDIT = ('unit-audit', 'unit-date', 'system-audit*', 'system-record', 'hostile-audited', 'hostile-records')
CHECKPOINT = ('unit-checkpoint*', 'unit-cli_checkpoint', 'system-checkpoint*', 'system-session', 'abi', 'header')
TEXTS = ('structure', 'documents', 'manual', 'completions')

# (how the path begins, or a pattern of fnmatch(3); suites, as patterns). The first row that fits counts.
FEEDS = (
    ('docs/bench.md', ('documents',)),
    ('docs/', TEXTS),
    ('*.md', TEXTS),
    ('LICENSE', ()),
    ('agent/', (*AGENT, *TEXTS)),
    ('checkpoint/', (*CHECKPOINT, *TEXTS)),
    ('workspace/diff/', (*WORKSPACE, 'structure')),
    ('workspace/apply/', (*WORKSPACE, 'structure')),
    ('workspace/', (*WORKSPACE, *AGENT, 'unit-client_*', 'system-cli', 'abi', 'header', *TEXTS)),
    ('programs/net/', (*NETWORK, 'structure')),
    ('programs/audit/', (*AUDIT, 'structure')),
    ('selinux/', ('selinux', 'structure')),
    ('apparmor/', ('structure',)),
    ('dist/', ('structure', 'system-policy*', 'system-explain', 'documents', 'manual')),
    ('tests/agent/', ('system-mcp*',)),
    ('tests/bench/', ('structure', 'documents')),
    ('tests/fuzz/', ('structure',)),
    ('tests/guest/', ('structure', 'hostile-each-layer')),
    ('tests/mutants/', ('mutants', 'structure')),
    ('tests/prove/', ('structure',)),
    ('tests/programs/', ('programs', 'documents')),
    ('tests/unsteady.json', ('runner',)),
)
# A test's own file feeds the suite of that name.
OWN = (('tests/system/test_*.py', 'system-%s'), ('tests/hostile/test_agent_attacked.py', 'hostile-agent'), ('tests/hostile/test_*.py', 'hostile-%s'),
       ('tests/unit/test_*.c', 'unit-%s*'), ('tests/structure/test_*.py', '%s'))


def suites_of_path(path):
    for pattern, suite in OWN:
        if fnmatch.fnmatchcase(path, pattern):
            return (suite % path.rpartition('/test_')[2].rpartition('.')[0] if '%s' in suite else suite, 'structure')
    for beginning, suites in FEEDS:
        if path.startswith(beginning) or fnmatch.fnmatchcase(path, beginning):
            return suites
    return EVERYTHING


def suites_of(paths):
    """Patterns of the names of suites, or EVERYTHING."""
    found = set()
    for path in paths:
        suites = suites_of_path(path)
        if suites is EVERYTHING:
            return EVERYTHING
        found.update(suites)
    return found


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
