# SPDX-License-Identifier: Apache-2.0
"""
Numbers that test programs have for themselves on this machine: of one come the names of users and control groups, ranges of ids, folders.

A number is held by a lock on a file below /run/lock, which all mount and network namespaces of tests share; the lock goes with the last
process that has the file open, however that ends.
"""
import fcntl
import os

FOLDER = '/run/lock'
COUNT = 64
VARIABLE = 'YETT_TEST_PLACE'  # the number, for programs that a test program starts in its place


class Place:
    def __init__(self):
        for number in range(COUNT):
            try:
                self.file = open('%s/yett-test-place-%d' % (FOLDER, number), 'w', encoding='ascii')
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # somebody has it, or the file is another user's
                continue
            self.number = number
            return
        raise RuntimeError('%d test programs are under way already' % COUNT)

    def hand_on(self):
        """Programs that are executed from here on hold it, too, and know it."""
        os.set_inheritable(self.file.fileno(), True)
        os.environ[VARIABLE] = str(self.number)


def number():
    """The number of this program: that which it was given, or a new one, held until it ends."""
    if VARIABLE in os.environ:
        return int(os.environ[VARIABLE])
    held = Place()
    HELD.append(held)
    return held.number


HELD = []
