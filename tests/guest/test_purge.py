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
    def test_purging_leaves_nothing(self):
        yett.write('/etc/yett/conf.d/own.conf', '# the administrator\'s\n')
        yett.write('/etc/yett/keys.d/own.pub', '')
        os.unlink('/etc/yett/keys.d/own.pub')
        process = self.hold(self.ann)
        self.assertTrue(left())
        packages = [name for name in installed.PACKAGES if installed.is_installed(name)]
        installed.tool('dpkg', '--remove', *packages)
        self.assertTrue(os.path.exists('/etc/yett/yett.conf'))
        self.assertNotEqual(process.wait(yett.DEADLINE), 0)
        yett.wait_until(lambda: not installed.sandboxed(), 'the end of the sandbox')
        installed.tool('dpkg', '--purge', *packages)
        self.assertEqual(left(), [])
        self.assertEqual([pid for pid in yett.processes() if any('yett-' in word for word in yett.argv_of(pid)[:1])], [])
        self.assertEqual([name for name in packages if installed.tool('dpkg-query', '-W', name, check=False).code == 0], [])
        failed = installed.tool('systemctl', '--failed', '--plain', '--no-legend')
        self.assertEqual(failed.out, '')


if __name__ == '__main__':
    yett.main()
