#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What the guests found out about each layer alone (test_each_layer.py), put together.

Usage: layers.py BUILD LSM…      reads BUILD/guest/LSM/layers.json, writes BUILD/layers.json, and checks it: with both LSMs
                                 whether they agree, whether what hangs on one layer is known to do so, and whether the table of
                                 attacks (tests/support/attacks.py) says what came out. BUILD/guest/layers/testlog.json is for
                                 tools/count-results
       layers.py BUILD           what was found, as letters of that table, from BUILD/layers.json
"""
import json
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'support'))
import attacks  # noqa: E402

PAGE = 'docs/security-tests.md'
LABELS = ('apparmor', 'selinux')
ALONE = tuple(attacks.LAYERS.values())
LAYERS = ('none', *ALONE, 'all')

# What only one layer stops; PAGE says why the others do not.
ONLY_ONE = ('loopback', 'reopen-for-writing', 'others-file-in-share', 'set-id-by-mode', 'set-id-by-open', 'message-queue')


def stopping(row):
    """The layers that stop an attempt alone, of those that were there."""
    return [layer for layer in ALONE if row['results'].get(layer, 'works') != 'works']


def merge(found):
    """One list of attempts from {lsm: contents of layers.json}; and what is wrong, as texts."""
    problems, rows = [], []
    for parts in zip(*(contents['attempts'] for contents in found.values())):
        row = {'name': parts[0]['name'], 'results': {}}
        for layer in LAYERS:
            values = [part['results'][layer] for part in parts if layer in part['results']]
            if len({value == 'works' for value in values}) > 1:
                problems.append('%s, %s: the guests differ: %s' % (row['name'], layer, ' and '.join(values)))
            if values:
                row['results'][layer] = values[0]
        rows.append(row)
    for lsm in found:
        if any(lsm not in row['results'] for row in rows):
            problems.append('no result of the layer ' + lsm)
    return rows, problems


def judge(rows):
    """What is wrong with the results of all layers, as texts."""
    only = {row['name']: stopping(row)[0] for row in rows if len(stopping(row)) == 1}
    return (['%s is stopped by %s only: %s has to say why' % (*item, PAGE) for item in only.items() if item[0] not in ONLY_ONE] +
            ['%s is not stopped by one layer only, as %s says' % (name, PAGE) for name in ONLY_ONE if name not in only] +
            ['%s is stopped by no layer that is alone' % row['name'] for row in rows if not stopping(row)])


def letters(row):
    """What was found, as the table of attacks has it."""
    return ''.join(letter for letter, layer in attacks.LAYERS.items() if row['results'].get(layer, 'works') != 'works')


def compare(rows, expected):
    """What of the results the table of attacks ({name: letters}) says otherwise, as texts."""
    found = {row['name']: letters(row) for row in rows}
    return ['%s is stopped by "%s", and the table of attacks says "%s"' % (name, found.get(name), expected.get(name))
            for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)]


def read_json(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return json.load(file)


def put_together(build, lsms):
    found = {lsm: read_json(build, 'guest', lsm, 'layers.json') for lsm in lsms}
    rows, problems = merge(found)
    if set(LABELS) <= set(lsms):
        problems += judge(rows) + compare(rows, {attack.name: attack.layers for attack in attacks.ATTACKS if attack.is_measured})
    with open(os.path.join(build, 'layers.json'), 'w', encoding='utf-8') as file:
        json.dump({'machines': [contents['machine'] for contents in found.values()], 'attempts': rows}, file, indent=1)
    return problems


def main(build, lsms):
    if not lsms:
        for row in read_json(build, 'layers.json')['attempts']:
            print(row['name'], letters(row))
        return 0
    try:
        problems = put_together(build, lsms)
    except (OSError, KeyError, ValueError) as failure:
        problems = ['there is nothing to put together: %r' % failure]
    os.makedirs(os.path.join(build, 'guest', 'layers'), exist_ok=True)
    with open(os.path.join(build, 'guest', 'layers', 'testlog.json'), 'w', encoding='utf-8') as file:
        file.write(json.dumps({'name': 'guest / layers put together', 'result': 'FAIL' if problems else 'OK',
                               'stdout': '\n'.join(problems)}) + '\n')
    for problem in problems:
        print('layers: ' + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else __doc__.strip())
