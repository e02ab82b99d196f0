# SPDX-License-Identifier: Apache-2.0
"""libyett-checkpoint with kills and power cuts at any moment: what was acknowledged is there."""
import os
import random
import shutil
import signal

import power
import test_checkpoint

import yett


class Interrupted(test_checkpoint.Stores):
    def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(self):
        rng, acknowledged = random.Random(13), []
        for _ in range(25):
            writers = [self.writer(f't{i}', size=rng.choice((10, 5000, 60000))) for i in range(2)]
            for _ in range(rng.randrange(30)):
                acknowledged.append(writers[0].stdout.readline().decode().strip())
            for writer in writers:
                writer.kill()
                # not communicate(), which passes over what readline() has buffered, and so may begin within a line
                acknowledged += writer.stdout.read().decode().split()
                self.assertEqual(writer.stderr.read(), b'')
                self.assertEqual(writer.wait(yett.DEADLINE), -signal.SIGKILL)
            there = self.ids_of()
            self.assertEqual(set(acknowledged) - set(there), set())
            self.assertLessEqual(len(there), len(acknowledged) + 2 * 25)  # at most one of each that nobody was told of any more
            self.assert_sound()
        self.assertGreater(len(acknowledged), 100)

    def cuts(self, *how):
        """(what was acknowledged, what is there) after power cuts in a run of puts."""
        if not shutil.which('strace'):
            self.skipTest('strace is needed')
        trace = os.path.join(self.folder, 'trace')
        folder = self.alice.mkdir('stores/first', 0o700)
        # the leak sanitizer cannot look into a process that is traced
        done = self.run_as(self.alice, *power.command(trace, [self.checkpoints, 'put', folder + '/store.db', 't', '120', '36000', *how]),
                           env={'ASAN_OPTIONS': 'detect_leaks=0'})
        self.assertEqual((done.code, done.err), (0, ''))
        steps, rng, found = power.read_trace(trace, folder), random.Random(7), []
        self.assertEqual(sum(step[0] == 'said' for step in steps), 120)
        # some anywhere, some while the store is made, and those around the moment when the log goes into the file
        moved = [i for i, step in enumerate(steps) if step[0] == 'wrote' and step[1] == 'store.db']
        moments = [rng.randrange(len(steps)) for _ in range(60)] + list(range(0, 40)) + [rng.choice(moved) + rng.randrange(3) for _ in range(60)]
        for moment in moments:
            left = power.after_cut(steps[:moment], rng)
            acknowledged = b''.join(step[1] for step in steps[:moment] if step[0] == 'said').decode().split()
            again = self.alice.mkdir('stores/again', 0o700)
            for name, content in left.items():
                with open(os.path.join(again, name), 'wb') as file:
                    file.write(content)
                os.chmod(file.name, 0o600)
                os.chown(file.name, self.alice.uid, self.alice.gid)
            if 'store.db' in left:
                there = self.ids_of(again + '/store.db')
                self.assert_sound(again + '/store.db')
            else:
                there = []
            found.append((acknowledged, there))
            shutil.rmtree(again)
        return found

    def test_a_power_cut_loses_nothing_that_was_acknowledged(self):
        found = self.cuts()
        for acknowledged, there in found:
            self.assertEqual(there[:len(acknowledged)], acknowledged)
            self.assertLessEqual(len(there), len(acknowledged) + 1)
        self.assertGreater(max(len(acknowledged) for acknowledged, _ in found), 100)

    def test_with_less_syncing_a_power_cut_loses_the_last_and_nothing_else(self):
        found = self.cuts('lazy')
        for acknowledged, there in found:
            self.assertEqual(there[:len(acknowledged)], acknowledged[:len(there)])
        # and so the cuts of the other test could have lost something
        self.assertTrue(any(len(there) < len(acknowledged) for acknowledged, there in found))


if __name__ == '__main__':
    yett.main()
