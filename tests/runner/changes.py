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


def git(*argv, source=SOURCE):
    """What git prints, as lines; None where it fails."""
    done = subprocess.run(['git', '-C', source, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


def landing(source=SOURCE):
    """The number of this landing, or None."""
    try:
        with open(os.path.join(source, COUNTER), encoding='ascii') as file:
            found = re.fullmatch(r'(\d+)\n', file.read())
    except OSError:
        return None
    return int(found.group(1)) if found else None


def touched(source=SOURCE):
    """The paths that changed since the landing before this one, or None where git cannot tell."""
    raised = git('log', '-2', '--format=%H', '--', COUNTER, source=source)
    if not raised or len(raised) < 2:
        return None
    return git('diff', '--name-only', '--no-renames', raised[1], 'HEAD', source=source)


def decide(number, paths):
    """(the paths that count, or None for all of check-all; why)."""
    if number is None:
        return None, '%s holds no number' % COUNTER
    if paths is None:
        return None, 'git does not say what this landing changes'
    if number % WHOLE_EACH == 0:
        return None, 'landing %d: every %dth runs all' % (number, WHOLE_EACH)
    deciding = [path for path in paths if path.startswith(DECIDING)]
    if deciding:
        return None, '%s decides what runs' % deciding[0]
    return paths, 'landing %d changes %d files' % (number, len(paths))
