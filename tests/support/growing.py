# SPDX-License-Identifier: Apache-2.0
"""
Limits of time that must not be over before what they limit has begun. A slow machine gets longer ones.
"""
import waiting


def grow(attempt, what, first_ms=300):
    """
    Calls `attempt` with a limit in milliseconds, and with twice as much each time its result is None: the limit was over too early.
    Returns the first other result. AssertionError with `what` when the limit is past the deadline.
    """
    ms = first_ms
    while (found := attempt(ms)) is None:
        ms *= 2
        if ms > waiting.DEADLINE * 1000:
            raise AssertionError('too late even with a limit of %d ms: %s (%s)' % (ms // 2, what, waiting.load_line()))
    return found
