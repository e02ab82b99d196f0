# SPDX-License-Identifier: Apache-2.0
"""The suites that a build tree has, as meson knows them, and those of a target. Decides; runs nothing."""
import dataclasses
import json
import os
import re

import feeds
import tiers

PLAIN, SANITIZED, VALGRIND = 'plain', 'sanitized', 'valgrind'
# How much longer than plainly a suite may take before it counts as hung.
PATIENCE = {PLAIN: 3, SANITIZED: 8, VALGRIND: 20}
VALGRIND_COMMAND = ('valgrind', '--quiet', '--error-exitcode=99', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite')
NAME = re.compile(r'\w+(\.\w+)?')  # CLASS or CLASS.TEST; that a class could not be set up is told in other words
SECONDS_EXPECTED = 5  # of a suite that has not been measured


@dataclasses.dataclass(frozen=True)
class Suite:
    """One program that is run once: a suite of meson's, in one of the ways above, of which `cases` are wanted (all where there are none)."""
    name: str
    kind: str  # unit, system, hostile, structure, programs
    variant: str
    tier: str
    command: tuple
    environment: tuple  # of (name, value)
    seconds: int  # that meson allows
    cases: tuple = ()

    @property
    def title(self):
        return self.name if self.variant == PLAIN else '%s (%s)' % (self.name, self.variant)

    @property
    def takes_names(self):
        """Whether its program runs single cases, by their names."""
        return self.kind in ('system', 'hostile') and self.command[-1].endswith('.py') and self.variant != VALGRIND

    @property
    def is_repeated(self):
        """Whether a failure may be chance. A defence that fails once is a failure."""
        return self.kind != 'hostile'

    def of_cases(self, names):
        """The same for some of its cases; the whole of it where its program takes no names."""
        return dataclasses.replace(self, cases=tuple(names)) if self.takes_names else self

    def argv(self):
        return (*(VALGRIND_COMMAND if self.variant == VALGRIND else ()), *self.command, *self.cases)

    def again(self, case):
        """What somebody types to run a case once more, or all of it where its program takes no names."""
        option = '' if self.variant == PLAIN else '--%s ' % self.variant
        return 'tools/test %s%s' % (option, ':'.join((self.name, case)) if self.has_case(case) else self.name)

    def has_case(self, case):
        """Whether `case` is a name that its program takes."""
        return self.takes_names and NAME.fullmatch(case) is not None


def key_of(suite):
    """Of its row in the table of how long suites take."""
    return '%s/%s' % (suite.title, suite.tier)


def read_tree(build):
    """What meson tells of the tests of a build tree: meson's documentation of introspection, intro-tests.json."""
    with open(os.path.join(build, 'meson-info', 'intro-tests.json'), encoding='utf-8') as file:
        return {row['name']: row for row in json.load(file)}


def make(row, variant, tier):
    kind = row['suite'][0].split(':')[-1]
    return Suite(row['name'], kind, variant, tier, tuple(row['cmd']), tuple(row['env'].items()), row['timeout'])


def of_tier(tree, tier):
    """The suites of a build tree, without sanitizers, that have cases of a tier."""
    return [make(row, PLAIN, tier) for name, row in tree.items() if tiers.has_some(tier, name)]


def beyond_check(tree, sanitized_tree):
    """What only check-all has: cases, and ways to run."""
    found = of_tier(tree, tiers.REST)
    found += [make(row, SANITIZED, tiers.ALL) for name, row in sanitized_tree.items() if name.startswith('unit-') or name in tiers.SANITIZED]
    found += [make(row, VALGRIND, tiers.ALL) for name, row in tree.items() if name.startswith('unit-') and name not in tiers.NOT_UNDER_VALGRIND]
    return found


def everything_sanitized(tree):
    return [make(row, SANITIZED, tiers.ALL) for name, row in tree.items() if name not in tiers.NOT_SANITIZED]


def fed(suites, paths):
    """Those of `suites` that a change of these paths can affect."""
    names = feeds.suites_of(paths)
    return suites if names is feeds.EVERYTHING else [suite for suite in suites if feeds.matches(suite.name, names)]


def named(tree, variant, tier, words):
    """Suites by SUITE or SUITE:CASE, of a tier; ValueError for one that is not there."""
    found = {}
    for word in words:
        name, _, case = word.partition(':')
        if name not in tree:
            raise ValueError('there is no suite %s; meson test --list names all' % name)
        suite = found.get(name) or make(tree[name], variant, tier)
        if case and not suite.has_case(case):
            raise ValueError('%s runs as a whole, or this is no CLASS or CLASS.TEST: %s' % (name, case))
        found[name] = suite.of_cases((*suite.cases, case)) if case else suite
    return list(found.values())
