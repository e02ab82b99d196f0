# SPDX-License-Identifier: Apache-2.0
"""Removing and purging, with a sandbox alive. The last test of a run: the service is gone after it."""
import os
import subprocess

import installed
import yett

# Where something could be left. /yett is this test's own, and dpkg's log and systemd's journal remember everything.
PLACES = ('/etc', '/usr', '/lib', '/run', '/var', '/sys/fs/cgroup', '/dev/shm', '/tmp')
OURS = ('yett-guest', '/var/tmp/logs', '/var/log/journal', '/var/log/apt', '/var/log/dpkg', '/var/lib/dpkg/info', '/yett-test')


def left():
    found = subprocess.run(['find', *PLACES, '-iname', '*yett*', '-not', '-path', '/proc/*'], capture_output=True, text=True).stdout
    return [line for line in found.splitlines() if not any(word in line for word in OURS)]


class Purge(installed.Case):
    def test_purging_leaves_records_and_what_is_not_the_package_s_and_with_a_word_nothing(self):
        yett.write('/etc/yett/conf.d/own.conf', '# the administrator\'s\n')
        process = self.hold(self.ann)
        self.assertTrue(left())
        packages = [name for name in installed.PACKAGES if installed.is_installed(name)]
        installed.tool('dpkg', '--remove', *packages)
        self.assertTrue(os.path.exists('/etc/yett/yett.conf'))
        self.assertNotEqual(process.wait(yett.DEADLINE), 0)
        yett.wait_until(lambda: not installed.sandboxed(), 'the end of the sandbox')
        done = installed.tool('dpkg', '--purge', *packages)
        records = sorted(os.listdir('/var/log/yett'))
        self.assertTrue(records)
        self.assertEqual(os.listdir('/etc/yett'), ['conf.d'])
        self.assertEqual(os.listdir('/etc/yett/conf.d'), ['own.conf'])
        self.assertIn('yett: kept, with what an administrator or the audit wrote there: /var/log/yett /etc/yett/conf.d /etc/yett\n', done.err)
        self.assertEqual([line for line in left() if not line.startswith(('/etc/yett', '/var/log/yett'))], [])
        self.assertEqual([pid for pid in yett.processes() if any('yett-' in word for word in yett.argv_of(pid)[:1])], [])
        self.assertEqual([name for name in packages if installed.tool('dpkg-query', '-W', name, check=False).code == 0], [])
        failed = installed.tool('systemctl', '--failed', '--plain', '--no-legend')
        self.assertEqual(failed.out, '')
        installed.tool('dpkg', '--install', *installed.debs(['yett', 'libyett1']))
        self.assertLessEqual(set(records), set(os.listdir('/var/log/yett')))
        installed.tool('env', 'YETT_PURGE_RECORDS=1', 'dpkg', '--purge', 'yett', 'libyett1')
        self.assertEqual(left(), [])


if __name__ == '__main__':
    yett.main()
