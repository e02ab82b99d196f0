# SPDX-License-Identifier: Apache-2.0
"""
What stores and overlays cost: a snapshot taken and gone back to, as whole processes, beside what is wished; and what commands notice inside beside
the same outside: a first and a further pass over the names of 20,000 files, git status, and a C build. In turns. And what many shares and others' dirty
pages cost a run.

Usage: store.py YETT JSON-LINES DIRECTORY. As an ordinary user, against a service; the directory is empty and the user's.
"""
import json
import os
import sys
import time

from rows import Rows, run, timed

ROUNDS = 21
DIRECTORIES, FILES, SOURCES = 200, 100, 20
BINDS = 120  # a request takes 125
CHANGE = 'for file in [1-9]/*; do echo changed >>$file; done'  # 900 files
CLOCK = 's=$(date +%%s%%N); %s >/dev/null 2>&1; e=$(date +%%s%%N); echo $((e - s))'
BUILD = 'for f in c/*.c; do gcc -O1 -c -o /dev/null $f; done'
PASS = 'find . -type f -size +1M'


class OfStores(Rows):
    def tell(self, what, *rest):
        super().tell(what, 'a store', *rest)


def make_tree(top):
    for folder in range(DIRECTORIES):
        os.makedirs('%s/%d' % (top, folder))
        for name in range(FILES):
            with open('%s/%d/%d' % (top, folder, name), 'w', encoding='ascii') as file:
                file.write('%d of %d\n' % (name, folder))
    os.mkdir(top + '/c')
    for number in range(SOURCES):
        with open('%s/c/%d.c' % (top, number), 'w', encoding='ascii') as file:
            file.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint f%d(int x) { printf("%%d", x); return x * %d; }\n' % (number, number))
    git = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b']
    run(*git, 'init', '-q', cwd=top)
    run(*git, 'add', '-A', cwd=top)
    run(*git, 'commit', '-q', '-m', 'all', cwd=top)


def inside(yett, tree, *scripts):
    """Each in the same new sandbox, in milliseconds."""
    script = '; '.join(CLOCK % text for text in scripts)
    return [int(line) / 1e6 for line in run(yett, 'run', '--cow', tree, '-C', tree, '--memory', '2G', '--', 'sh', '-c', script).split()]


def outside(tree, *scripts):
    return [int(run('sh', '-c', CLOCK % text, cwd=tree)) / 1e6 for text in scripts]


def discard_all(yett):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        works = json.loads(run(yett, 'work', 'list', '--json'))['result']['works']
        if not any(work['used'] for work in works):
            break
    if works:  # a run that changed nothing leaves none
        run(yett, 'discard', '--yes', *[work['id'] for work in works])


def main():
    yett, lines, top = sys.argv[1:]
    tree, rows = top + '/tree', OfStores(lines)
    os.environ['XDG_STATE_HOME'] = top + '/state'
    make_tree(tree)

    scripts = (PASS, PASS, 'git status', 'git status', BUILD, BUILD)
    outside(tree, *scripts)
    found = [(inside(yett, tree, *scripts), outside(tree, *scripts)) for _ in range(ROUNDS // 2)]
    for i, (what, wanted) in enumerate((('a first pass over 20,000 names', 2.5), ('a further one', None), ('the first git status', None), ('a further one, git', 1.25),
                                        ('the first C build', None), ('a further one, C', 1.25))):
        rows.tell(what + ', inside', [ours[i] for ours, _ in found], 'outside', [theirs[i] for _, theirs in found], wanted)
    discard_all(yett)

    cow = (yett, 'run', '--cow', tree, '--', 'true')
    clean = [timed(cow) for _ in range(ROUNDS)]
    with open(top + '/dirty', 'wb') as file:
        for _ in range(1024):
            file.write(bytes(1 << 20))
    rows.tell('a whole run, 1 GiB of others is dirty', [timed(cow) for _ in range(ROUNDS)], 'clean', clean, 2.0)
    os.unlink(top + '/dirty')
    discard_all(yett)

    names = ['%s/%d' % (tree, number) for number in range(BINDS)]
    ours = [yett, 'run', *(word for number, name in enumerate(names) for word in ('--ro', '%s:/mnt/%d' % (name, number))), '--', 'true']
    peer = ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp',
            *(word for number, name in enumerate(names) for word in ('--ro-bind', name, '/tmp/%d' % number)), '/bin/true']
    found = [(timed(ours), timed(peer)) for _ in range(ROUNDS)]
    rows.tell('a whole run with %d shares' % BINDS, [each for each, _ in found], 'bubblewrap', [each for _, each in found], None)

    run(yett, 'run', '--cow', tree, '-C', tree, '--', 'sh', '-c', CHANGE)
    store = json.loads(run(yett, 'work', 'list', '--json'))['result']['works'][0]['id']
    taken, back = [], []
    run(yett, 'snapshot', 'take', store, 'first')
    for number in range(ROUNDS):
        run(yett, 'run', '--store', store, '-C', tree, '--', 'sh', '-c', 'for file in %d/*; do echo more >>$file; done' % (20 + number))
        taken.append(timed((yett, 'snapshot', 'take', store, 's%d' % number)))
        run(yett, 'run', '--store', store, '-C', tree, '--', 'sh', '-c', 'for file in %d/*; do echo more >>$file; done' % (50 + number))
        back.append(timed((yett, 'snapshot', 'rollback', store, 's%d' % number)))
    rows.tell('a snapshot at rest, 100 files changed', taken, '', None, 5.0)
    rows.tell('gone back to, 100 files changed since', back, '', None, 15.0)

    box = run(yett, 'create', '--store', store).decode().strip()
    run(yett, 'exec', box, '--', 'sh', '-c', 'cd %s; %s' % (tree, CHANGE))
    rows.tell('a snapshot of one that runs, 900 files', [timed((yett, 'snapshot', 'take', store, 'r%d' % number)) for number in range(5)], '', None, None)
    run(yett, 'destroy', box)
    discard_all(yett)


if __name__ == '__main__':
    main()
