# SPDX-License-Identifier: Apache-2.0
"""The deaths of test_crash.py, where supervisors are used again, and made ready for what the user will most likely want."""
import test_crash

import yett


class Spares(test_crash.CrashCase):
    spares = 2


if __name__ == '__main__':
    if not yett.missing():
        test_crash.add_deaths(Spares)
    yett.main()
