# SPDX-License-Identifier: Apache-2.0
"""
What it takes to tell 1,000 changes in a tree of 100,000 files: yett diff over what a copy-on-write sandbox changed, beside git status and git
diff where as many files of the tree differ from the commit in the same way. In turns, after one of each.

Usage: diff.py YETT JSON-LINES DIRECTORY. As an ordinary user, against a service; the directory is empty and the user's.
"""
import json
import os
import subprocess
import sys

from rows import Rows, run, timed

ROUNDS = 9
DIRECTORIES, FILES = 1000, 100  # one of each directory is changed
WANTED = 0.2
LINES = ''.join('line %d\n' % number for number in range(20))
CHANGE = 'for file in */0; do echo changed >>$file; done'


def make_tree(top):
    for folder in range(DIRECTORIES):
        os.makedirs('%s/%d' % (top, folder))
        for name in range(FILES):
            with open('%s/%d/%d' % (top, folder, name), 'w', encoding='ascii') as file:
                file.write('%d of %d\n%s' % (name, folder, LINES))


def main():
    yett, lines, top = sys.argv[1:]
    tree, git = top + '/tree', ['git', '--git-dir=' + top + '/git', '--work-tree=' + top + '/tree', '-c', 'user.name=a', '-c', 'user.email=a@b']
    os.environ['XDG_STATE_HOME'] = top + '/state'
    make_tree(tree)
    # what is committed has the change, and the tree has not: so one tree serves for both
    run('sh', '-c', CHANGE, cwd=tree)
    run(*git, 'init', '-q')
    run(*git, 'add', '-A', cwd=tree)
    run(*git, 'commit', '-q', '-m', 'all')
    run('sh', '-c', CHANGE.replace('echo changed >>$file', 'sed -i \\$d $file'), cwd=tree)
    run(yett, 'run', '--cow', tree, '-C', tree, '--', 'sh', '-c', CHANGE, stderr=subprocess.DEVNULL)
    store = json.loads(run(yett, 'work', 'list', '--json'))['result']['works'][0]['id']
    ours = ([yett, 'diff', store],)
    peers = ([*git, 'status', '--porcelain'], [*git, 'diff'])
    for command in (*ours, peers[1]):
        if run(*command).count(b'\ndiff --git ') != DIRECTORIES - 1:
            sys.exit('%s does not tell %d changes' % (' '.join(command), DIRECTORIES))
    timed(*peers)
    found = [(timed(*ours), timed(*peers)) for _ in range(ROUNDS)]
    ours_ms, peer_ms = (list(column) for column in zip(*found))
    Rows(lines).tell('1,000 changes in 100,000 files', 'yett diff', ours_ms, 'git status + git diff', peer_ms, WANTED)
    run(yett, 'discard', '--yes', store)


if __name__ == '__main__':
    main()
