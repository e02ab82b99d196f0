# SPDX-License-Identifier: Apache-2.0
"""
What many grants cost: a policy of 10,000 read, compiled and checked, as a whole process, and one of 20,000 beside it; and a decision by it.

Usage: policy.py YETT DECIDE LIBEXEC JSON-LINES DIRECTORY. As an ordinary user; the directory is empty and the user's.
"""
import os
import sys

from rows import Rows, run, timed

ROUNDS = 7
A_FILE = 5000  # grants: a file has at most 1 MiB
FIRST = 200000
GRANT = 'grant "of-%d" { users = {%d} profiles = {one} share_ro = {"/usr"} max_memory = 4G }\n'
# For whoever asks: a grant for everyone, one of a group, ceilings of both, and one of 1,000 keys by name.
OTHERS = '''grant "everyone" { users = {"*"} profiles = {one} user_memory = 8G }
grant "of-a-group" { groups = {"100"} profiles = {one} }
ceiling "all" { users = {"*"} max_memory = 2G max_sandboxes = 64 }
ceiling "of-a-group" { groups = {"101"} max_pids = 100 }
%s''' % ''.join('grant "keyed-%d" { groups = {"102"} keys = {%s} profiles = {one} }\n' % (
    part, ', '.join('"key-%d-%d"' % (part, number) for number in range(250))) for part in range(4))


def make_policy(folder, count):
    os.makedirs(folder + '/conf.d')
    with open(folder + '/yett.conf', 'w', encoding='ascii') as file:
        file.write('profile "one" { system = {"/usr"} }\n' + OTHERS)
    for first in range(0, count, A_FILE):
        with open('%s/conf.d/%d.conf' % (folder, first), 'w', encoding='ascii') as file:
            file.writelines(GRANT % (number, FIRST + number) for number in range(first, min(first + A_FILE, count)))
    return folder + '/yett.conf'


def main():
    yett, decide, libexec, lines, top = sys.argv[1:]
    rows, policies, times = Rows(lines), {count: make_policy('%s/%d' % (top, count), count) for count in (10000, 20000)}, {10000: [], 20000: []}

    for _ in range(ROUNDS):
        for count, policy in policies.items():
            times[count].append(timed((yett, 'policy', 'check', '--policy', policy)))
    rows.tell('yett policy check', '10,000 grants', times[10000], '', None, 1000)
    rows.tell('yett policy check', '20,000 grants', times[20000], '10,000', times[10000], 2.2)
    for count, policy in policies.items():
        microseconds = float(run(decide, policy, libexec, str(FIRST + count - 1)))
        rows.tell('a decision, the signature apart', '1,000 keys, %s grants' % format(count, ','), microseconds / 1000, '', None, 0.1 if count == 10000 else None)


main()
