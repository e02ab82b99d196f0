#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What enrolled keys cost a request, and many grants besides: keys.py JSON-LINES [ROUNDS]   (as root; BUILD in YETT_BUILD_ROOT)

A service is asked in turns, ROUNDS times (default 7): without keys; with KEYS; with as many, to which one was added since the policy was
loaded, so that all files are read; and with KEYS, and GRANTS for others. Medians of the rounds count.
"""
import base64
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import yett  # noqa: E402
from rows import Rows  # noqa: E402

KEYS, GRANTS = 1000, 10000
COUNT = 400  # requests of a round
ENOUGH_MS = 0.1  # for what keys and grants take together


def enroll(service, first, count):
    for number in range(first, first + count):
        yett.write('%s/key-%d.pub' % (service.keys, number), 'ed25519 %s\n' % base64.b64encode(number.to_bytes(4, 'little') * 8).decode())


def prepare(service, keys=0, since=0, grants=0):
    for name in os.listdir(service.keys):
        os.unlink(service.keys + '/' + name)
    enroll(service, 0, keys)
    service.write_policy(before=''.join('grant "of-%d" { users = {%d} profiles = {default} }\n' % (number, 200000 + number)
                                        for number in range(grants)))
    service.reload()
    enroll(service, keys, since)


def ask(service):
    done = service.run(service.user(1), service.run_.path('tests/bench/ask'), str(COUNT))
    if done.code != 0:
        raise RuntimeError('not measured: %r' % done)
    return [float(word) for word in done.out.split()]


def main():
    yett.STAGED += ('tests/bench/ask',)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    rows = Rows(sys.argv[1])
    states = {'none': {}, 'keys': {'keys': KEYS}, 'since': {'keys': KEYS, 'since': 1}, 'grants': {'keys': KEYS, 'grants': GRANTS}}
    times = {name: ([], []) for name in states}
    with yett.Service() as service:
        service.enter_key(service.user(1))
        for _ in range(rounds):
            for name, state in states.items():
                prepare(service, **state)
                for told, taken in zip(times[name], ask(service)):
                    told.append(taken)
    for kind, what in enumerate(('a request for a list', 'a request for a plan')):
        of = {name: told[kind] for name, told in times.items()}
        rows.tell(what, 'one of 1,000 keys is new', of['since'], 'no keys', of['none'], None)
        for name, how in (('keys', '1,000 keys enrolled'), ('grants', '1,000 keys, 10,000 grants')):
            rows.tell(what, how, of[name], 'no keys', of['none'], None)
            rows.tell(what, 'what these take', statistics.median(of[name]) - statistics.median(of['none']), '', None, ENOUGH_MS)


main()
