"""
What it takes to tell 1,000 changes in a tree of 100,000 files: yett diff over what a copy-on-write sandbox changed, beside git status and git
diff where as many files of the tree differ from the commit in the same way. In turns, after one of each.

Usage: diff.py YETT JSON-LINES DIRECTORY. As an ordinary user, against a service; the directory is empty and the user's.
"""
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 9
DIRECTORIES, FILES = 1000, 100  # one of each directory is changed
WANTED = 0.2
LINES = ''.join('line %d\n' % number for number in range(20))
CHANGE = 'for file in */0; do echo changed >>$file; done'


def run(*argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, **more).stdout


def timed(*commands):
    """In milliseconds, with what they print read and thrown away."""
    before = time.monotonic()
    for command in commands:
        run(*command)
    return (time.monotonic() - before) * 1000


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
    our_ms, peer_ms = (statistics.median(column) for column in zip(*found))
    print('%-42s %-32s %8.3f %8.3f  %-12s %6.2f (at most %.2f wanted)%s' % (
        '1,000 changes in 100,000 files', 'yett diff', our_ms, peer_ms, 'git status + git diff', our_ms / peer_ms, WANTED, ' MISSED' * (our_ms / peer_ms > WANTED)))
    with open(lines, 'a', encoding='utf-8') as file:
        file.write(json.dumps({'case': '1,000 changes in 100,000 files, yett diff', 'ours_ms': our_ms, 'peer': 'git status + git diff', 'peer_ms': peer_ms,
                               'ratio': our_ms / peer_ms}) + '\n')
    run(yett, 'discard', '--yes', store)


if __name__ == '__main__':
    main()
