# SPDX-License-Identifier: Apache-2.0
"""
What a change that lands has touched, and whether all of check-all is due: from git, and from the counter in .ci/landing.

Each landing raises the number in that file by one. What it touches is all that changed since the landing before, which is where git
says that the number was raised before. Every fifth runs all of check-all, as does a change of what decides this, and one about which git
says nothing.
"""
import os
import re
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTER = '.ci/landing'
WHOLE_EACH = 5
DECIDING = ('tests/runner/', 'tests/support/tiers.py', '.ci/run')


class Unknown(Exception):
    """Why git cannot tell."""


def git(*argv, source=SOURCE):
    """What git prints, as lines. Whoever runs the tests trusts this tree, whosever it is."""
    done = subprocess.run(['git', '-c', 'safe.directory=*', '-C', source, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Unknown((done.stderr.splitlines() or ['git failed'])[0])
    return done.stdout.splitlines()


def landing(source=SOURCE):
    """The number of this landing, or None."""
    try:
        with open(os.path.join(source, COUNTER), encoding='ascii') as file:
            found = re.fullmatch(r'(\d+)\n', file.read())
    except OSError:
        return None
    return int(found.group(1)) if found else None


def touched(source=SOURCE):
    """The paths that changed since the landing before this one; Unknown where git cannot tell."""
    raised = git('log', '-2', '--format=%H', '--', COUNTER, source=source)
    if len(raised) < 2:
        raise Unknown('its history of %d commits does not reach back to the landing before' % len(git('log', '--format=%H', source=source)))
    return git('diff', '--name-only', '--no-renames', raised[1], 'HEAD', source=source)


def decide(source=SOURCE):
    """(the paths that count, or None for all of check-all; why)."""
    number = landing(source)
    if number is None:
        return None, '%s holds no number' % COUNTER
    try:
        paths = touched(source)
    except Unknown as error:
        return None, 'git does not say what this landing changes: %s' % error
    if number % WHOLE_EACH == 0:
        return None, 'landing %d: every %dth runs all' % (number, WHOLE_EACH)
    deciding = [path for path in paths if path.startswith(DECIDING)]
    if deciding:
        return None, '%s decides what runs' % deciding[0]
    return paths, 'landing %d changes %d files' % (number, len(paths))
