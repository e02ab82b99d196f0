#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of seeded faults fits the code as it is. Usage: test_faults.py BUILD. Writes TAP."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(SOURCE, 'tests', 'runner'), os.path.join(SOURCE, 'tests', 'support')]
import faults  # noqa: E402
import run  # noqa: E402
import suites  # noqa: E402
import tiers  # noqa: E402
import yett  # noqa: E402

LEAST = 40
AREAS = ('helper/', 'programs/decide/decider/', 'programs/inside/init/', 'programs/net/', 'workspace/apply/', 'agent/', 'programs/audit/')


class Faults(unittest.TestCase):
    def test_each_fits_the_code_once(self):
        for fault in faults.FAULTS:
            with self.subTest(fault.name):
                text = yett.read(os.path.join(SOURCE, fault.path))
                self.assertNotEqual(run.changed(fault.path, text, fault.old, fault.new), text)
                self.assertNotIn('\n', fault.old + fault.new)

    def test_the_copy_is_told_to_be_less_patient(self):
        path, old, new = run.PATIENCE
        self.assertIn(new, run.changed(path, yett.read(os.path.join(SOURCE, path)), old, new))

    def test_there_are_enough_of_each_part(self):
        self.assertGreaterEqual(len(faults.FAULTS), LEAST)
        self.assertEqual(len({fault.name for fault in faults.FAULTS}), len(faults.FAULTS))
        for area in AREAS:
            self.assertTrue([fault for fault in faults.FAULTS if fault.path.startswith(area)], area)

    def test_suites_that_are_to_find_them_are_those_of_make_check(self):
        tree = suites.read_tree(BUILD)
        for fault in faults.FAULTS:
            for suite in (suite.partition(':')[0] for suite in fault.suites):
                self.assertTrue(suite in tree and tiers.has_some(tiers.CHECK, suite), '%s: %s' % (fault.name, suite))


BUILD = None

if __name__ == '__main__':
    BUILD = sys.argv.pop(1)
    yett.run_cases(sys.argv[1:])
