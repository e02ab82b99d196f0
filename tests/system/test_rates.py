# SPDX-License-Identifier: Apache-2.0
"""How many sandboxes and requests a user may ask for in a minute: whatever connections, and however the helper was started."""
import os
import struct
import time

import setuid
import yett

USER = struct.Struct('=QQQ')  # registry_count(): when the minute began, requests, creations


class Rates(yett.Case):
    HAS_LISTENER = True
    SECTION = 'ceiling "few" { users = {"%s"} %s }\n'

    def setUp(self):
        self.rates = self.service.runtime + '/rates'
        if os.path.exists(self.rates):
            os.unlink(self.rates)

    def set_policy(self, before):
        self.service.write_policy(before=before)
        if self.HAS_LISTENER:
            self.service.reload()

    def bound(self, bounds):
        self.addCleanup(self.set_policy, self.service.before)
        self.set_policy(self.SECTION % (self.alice.name, bounds))
        self.place = '%s:%d' % (self.service.policy, self.service.line(bounds.split()[0]))

    def counts(self):
        with open(self.rates, 'rb') as file:
            file.seek(self.alice.uid * USER.size)
            return USER.unpack(file.read(USER.size))

    def yett(self, *argv, **more):
        """A minute may pass before the next request, on a slow machine: it begins anew, with what was counted."""
        done = super().yett(*argv, **more)
        self.begin_minutes()
        return done

    def sandbox(self, *argv, **more):
        done = super().sandbox(*argv, **more)
        self.begin_minutes()
        return done

    def begin_minutes(self):
        if not os.path.exists(self.rates):
            return
        with open(self.rates, 'r+b') as file:
            for user in (self.alice, self.bob):
                file.seek(user.uid * USER.size)
                _, *counts = USER.unpack(file.read(USER.size).ljust(USER.size, b'\0'))
                if any(counts):
                    file.seek(user.uid * USER.size)
                    file.write(USER.pack(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000000, *counts))

    def a_minute_passes(self):
        since, *counts = self.counts()
        with open(self.rates, 'r+b') as file:
            file.seek(self.alice.uid * USER.size)
            file.write(USER.pack((since - 60000) % 2 ** 64, *counts))

    def assert_bounded(self, done, code, key, most):
        self.assert_refused(done, code, 'in a minute; wait ', 'asked %d, allowed %d by %s of ceiling' % (most + 1, most, key), self.place)

    def test_requests_of_all_connections_are_counted(self):
        self.bound('max_requests = 5')
        for _ in range(5):
            self.assertEqual(self.yett('ps').code, 0)
        for _ in range(2):
            self.assert_bounded(self.yett('ps'), 1, 'max_requests', 5)
        self.assert_bounded(self.sandbox('true'), 125, 'max_requests', 5)
        self.assertEqual(self.yett('ps', user=self.bob).code, 0)
        self.assertEqual(self.counts()[1:], (5, 0))
        self.a_minute_passes()
        self.assertEqual(self.yett('ps').code, 0)
        self.assertEqual(self.counts()[1:], (1, 0))

    def test_sandboxes_are_counted_and_nothing_else(self):
        self.bound('max_creations = 2')
        for _ in range(2):
            self.assertEqual(self.sandbox('true').code, 0)
            self.assertEqual(self.yett('ps').code, 0)
        self.assert_bounded(self.sandbox('true'), 125, 'max_creations', 2)
        self.assertEqual(self.yett('ps').code, 0)
        self.assertEqual(self.sandbox('true', options=('--dry-run',)).code, 0)  # which makes none
        self.assertEqual(self.sandbox('true', user=self.bob).code, 0)
        self.a_minute_passes()
        self.assertEqual(self.sandbox('true').code, 0)

    def test_it_can_be_asked_again_later(self):
        self.bound('max_creations = 1')
        self.assertEqual(self.sandbox('true').code, 0)
        told = yett.told(self.yett('run', '--json', '--', 'true').out)
        self.assertEqual((told['error']['code'], told['error']['retryable']), ('resource-limit', True), told)

    def test_of_all_that_count_the_least_does(self):
        self.addCleanup(self.set_policy, self.service.before)
        self.set_policy('ceiling "more" { users = {"*"} max_requests = 100 }\n' + self.SECTION % (self.alice.name, 'max_requests = 3')
                                  + 'ceiling "too" { users = {"*"} max_requests = 4 }\n')
        self.place = '%s:%d' % (self.service.policy, self.service.line('"few"'))
        for _ in range(3):
            self.assertEqual(self.yett('ps').code, 0)
        self.assert_bounded(self.yett('ps'), 1, 'max_requests', 3)
        for _ in range(4):
            self.assertEqual(self.yett('ps', user=self.bob).code, 0)
        self.assert_refused(self.yett('ps', user=self.bob), 1, "allowed 4 by max_requests of ceiling 'too'")

    def test_nothing_is_counted_where_nothing_is_bounded(self):
        self.assertEqual(self.sandbox('true').code, 0)
        self.assertFalse(os.path.exists(self.rates))


class EachItsOwn(Rates):
    """A helper for each connection."""
    HAS_LISTENER = False
    service_options = {'accept': True}


class SetUserId(setuid.Case, Rates):
    HAS_LISTENER = False


if __name__ == '__main__':
    yett.main()
