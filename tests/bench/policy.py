"""
What many grants cost: a policy of 10,000 read, compiled and checked, as a whole process, and one of 20,000 beside it.

Usage: policy.py YETT JSON-LINES DIRECTORY. As an ordinary user; the directory is empty and the user's.
"""
import os
import sys

from rows import Rows, timed

ROUNDS = 7
A_FILE = 5000  # grants: a file has at most 1 MiB
GRANT = 'grant "of-%d" { users = {%d} profiles = {one} share_ro = {"/usr"} max_memory = 4G }\n'


def make_policy(folder, count):
    os.makedirs(folder + '/conf.d')
    with open(folder + '/yett.conf', 'w', encoding='ascii') as file:
        file.write('profile "one" { system = {"/usr"} }\n')
    for first in range(0, count, A_FILE):
        with open('%s/conf.d/%d.conf' % (folder, first), 'w', encoding='ascii') as file:
            file.writelines(GRANT % (number, 200000 + number) for number in range(first, min(first + A_FILE, count)))
    return folder + '/yett.conf'


def main():
    yett, lines, top = sys.argv[1:]
    rows, policies, times = Rows(lines), {count: make_policy('%s/%d' % (top, count), count) for count in (10000, 20000)}, {10000: [], 20000: []}

    for _ in range(ROUNDS):
        for count, policy in policies.items():
            times[count].append(timed((yett, 'policy', 'check', '--policy', policy)))
    rows.tell('yett policy check', '10,000 grants', times[10000], '', None, 1000)
    rows.tell('yett policy check', '20,000 grants', times[20000], '10,000', times[10000], 2.2)


main()
