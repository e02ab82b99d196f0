#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs one test program apart from all others, as root: in namespaces and with folders that nothing else on this machine sees.

Usage: alone.py FOLDER PROGRAM [ARGUMENT…]

The program gets mount, pid, ipc and network namespaces, with a loopback device and a route that leads nowhere. FOLDER, which must
be empty, holds its /tmp and /var/lib/yett-test; its /dev/shm and /etc are in memory. Users that it adds to its /etc have ids of
its place (YETT_TEST_PLACE), so that limits by uid do not meet either. All of it goes with the program, however that ends: the
shell that is process 1 ends with it, and dies when this process does.
"""
import contextlib
import ctypes
import fcntl
import os
import subprocess
import sys

import places

STAGE = 'YETT_TEST_ALONE'  # 'making' in the namespaces until all is there; then 'made', which tests/support/world.py looks for
TEST_LIB = '/var/lib/yett-test'  # for what must lie where only root can rename
IDS_FIRST, IDS_EACH = 20000, 100
FOLDER = 'YETT_TEST_FOLDER'  # where this machine itself finds what lies in the program's /tmp
KEPT_NETWORK = 'YETT_TEST_NETWORK'  # set for a program that needs the machine's network
KEPT_PATHS = 'YETT_TEST_PATHS'  # folders to be seen also where they lie below /tmp: the sources, and what was built


def hold_lib():
    """
    Makes TEST_LIB on this machine, which is only a place for mounts, and returns a descriptor to be given to release_lib(). While anybody
    has one the folder stays: with it the mounts on it in other namespaces would go.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            os.mkdir(TEST_LIB)
        try:
            fd = os.open(TEST_LIB, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(fd, fcntl.LOCK_SH)
        if os.fstat(fd).st_nlink > 0:
            return fd
        os.close(fd)  # somebody has just removed it


def release_lib(fd):
    """Removes the folder if nobody else has it and it is empty."""
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rmdir(TEST_LIB)
    os.close(fd)


def is_made():
    """Whether this program runs apart from others."""
    return os.environ.get(STAGE) == 'made'


def run(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def make_etc(staging):
    """
    A copy of /etc. The locks of useradd(8) name their holder by process id, and other test programs have other ones; users have ids
    of this place.
    """
    os.mkdir(staging)
    run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'etc', staging)
    copied = subprocess.run(['cp', '--archive', '/etc/.', staging], stderr=subprocess.PIPE, text=True, env={**os.environ, 'LC_ALL': 'C'})
    # Tests that are not apart add users meanwhile: the locks and drafts of that come and go.
    failed = [line for line in copied.stderr.splitlines() if not line.endswith('No such file or directory')]
    if failed or not os.path.exists(staging + '/passwd'):
        raise RuntimeError('/etc cannot be copied: %s' % failed)
    run('mount', '--move', staging, '/etc')
    os.rmdir(staging)
    first = IDS_FIRST + IDS_EACH * int(os.environ[places.VARIABLE])
    with open('/etc/login.defs', 'a', encoding='ascii') as file:
        for kind in ('UID', 'GID'):
            file.write('%s_MIN %d\n%s_MAX %d\n' % (kind, first, kind, first + IDS_EACH - 1))


def make_folders(folder):
    for name, mode in (('lib', 0o755), ('tmp', 0o1777)):
        os.mkdir(os.path.join(folder, name))
        os.chmod(os.path.join(folder, name), mode)
    run('mount', '--bind', os.path.join(folder, 'lib'), TEST_LIB)
    for path in os.environ.get(KEPT_PATHS, '').split(':'):
        if path.startswith('/tmp/') and not os.path.exists(folder + path):  # as where it lies in one before it
            os.makedirs(folder + path)
            run('mount', '--rbind', path, folder + path)
    run('mount', '--rbind', os.path.join(folder, 'tmp'), '/tmp')  # last: FOLDER may lie there
    run('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'shm', '/dev/shm')


def make_proc():
    """One mount at /proc, and none of the machine's below it, which a test would uncover."""
    umount2 = ctypes.CDLL(None).umount2
    while umount2(b'/proc', 2) == 0:  # MNT_DETACH; umount(8) would read /proc
        pass
    run('mount', '-t', 'proc', 'proc', '/proc')


def make_network():
    run('ip', 'link', 'set', 'lo', 'up')
    run('ip', 'route', 'add', 'default', 'dev', 'lo')  # an attack that finds no network outside would show nothing inside


def enter(folder, argv):
    """In new namespaces this program runs once more, below a shell that reaps the processes that nobody waits for."""
    os.set_inheritable(hold_lib(), True)  # until all is over: who reaps holds it
    network = [] if KEPT_NETWORK in os.environ else ['--net']
    os.execvpe('unshare', ['unshare', '--pid', '--fork', '--kill-child', '--mount', '--ipc', *network, '--mount-proc', 'sh', '-c', '"$@"; exit $?', 'sh',
                           sys.executable, os.path.abspath(__file__), folder, *argv], {**os.environ, STAGE: 'making'})


def main(folder, *argv):
    if os.environ.get(STAGE) != 'making':
        enter(folder, argv)
    os.environ.update({STAGE: 'made', FOLDER: folder})
    run('mount', '--make-rprivate', '/')
    make_proc()
    make_folders(folder)
    make_etc('/dev/shm/etc')
    if KEPT_NETWORK not in os.environ:
        make_network()
    os.execvp(argv[0], argv)


if __name__ == '__main__':
    main(*sys.argv[1:])
