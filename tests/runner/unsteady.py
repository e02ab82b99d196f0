# SPDX-License-Identifier: Apache-2.0
"""
Tests that failed once and passed when they were repeated: tests/unsteady.json lists them, each with the day on which that was first
seen and what is known of the cause. A list that only grows would make failing tests normal, so that an entry has two weeks.
"""
import datetime
import json
import os

FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'unsteady.json')
RUN_MOST = 3  # in one run
DAYS_MOST = 14
MEMBERS = {'test', 'first_seen', 'cause'}


def read(path=FILE):
    """[{test: "SUITE: CASE", first_seen: "YYYY-MM-DD", cause}]; ValueError for one that is not like this."""
    with open(path, encoding='utf-8') as file:
        entries = json.load(file)
    for entry in entries:
        if set(entry) != MEMBERS or not all(isinstance(value, str) and value for value in entry.values()):
            raise ValueError('%s: an entry has %s, all as text: %r' % (path, ', '.join(sorted(MEMBERS)), entry))
        datetime.date.fromisoformat(entry['first_seen'])
    return entries


def too_old(entries, today):
    return [entry for entry in entries if (today - datetime.date.fromisoformat(entry['first_seen'])).days > DAYS_MOST]


def complaints(entries, seen, today):
    """Why a run fails although each case passed in the end. `seen` is of texts "SUITE: CASE"."""
    found = ['%s: unsteady since %s, which is longer than %d days: find the cause (%s)' % (entry['test'], entry['first_seen'], DAYS_MOST, entry['cause'])
             for entry in too_old(entries, today)]
    if len(seen) > RUN_MOST:
        found.append('%d unsteady tests in one run, and at most %d may be' % (len(seen), RUN_MOST))
    return found


def new_entries(entries, seen, today):
    """What is to be added to the list, as text."""
    known = {entry['test'] for entry in entries}
    return [json.dumps({'test': test, 'first_seen': today.isoformat(), 'cause': '…'}, ensure_ascii=False) for test in seen if test not in known]
