# SPDX-License-Identifier: Apache-2.0
"""
The service as its packages install it, and the two users who call it: for the tests of tests/guest.

Nothing here starts a helper: systemd does, when somebody connects. Root, in the guest only; elsewhere this would change the machine.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import yett

LSM = os.environ['YETT_GUEST_LSM']
DEBS = os.path.join(yett.SOURCE, 'deb')
CGROUP = '/sys/fs/cgroup/system.slice/yett-sandboxes.service'
IDS = range(1879048192, 1879048192 + 4096 * 65536)
PACKAGES = ['yett', 'yett-agent', 'libyett1', 'libyett-checkpoint0', 'libyett-workspace0', 'libyett-dev', 'yett-' + LSM]


def tool(*argv, check=True):
    """An administrator's tool, and what it wrote."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError('%s: exit %d\n%s%s' % (' '.join(argv), done.returncode, done.stdout, done.stderr))
    return yett.Result(done.returncode, done.stdout, done.stderr)


def debs(names=PACKAGES):
    """Packages that were built: those of this LSM."""
    return [path for name in names for path in glob.glob('%s/%s_*.deb' % (DEBS, name))]


def is_installed(package='yett'):
    return tool('dpkg-query', '-W', '-f', '${db:Status-Status}', package, check=False).out == 'installed'


def install():
    """With dpkg alone: all they depend on is in the image, so that nothing is fetched. And what the tests need besides."""
    is_new = not is_installed()
    tool('dpkg', '--install', *debs())
    if is_new and LSM == 'selinux':
        # semodule(8) may not read what lies anywhere: by a file of root's own.
        with tempfile.TemporaryDirectory(dir='/root') as folder:
            tool('semodule', '-i', shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'harness.cil'), folder))


def show(unit, key):
    return tool('systemctl', 'show', '--value', '--property', key, unit).out.strip()


def forget_drop_in(unit, folder):
    os.unlink(folder + '/test.conf')
    os.rmdir(folder)
    tool('systemctl', 'daemon-reload')
    tool('systemctl', 'stop', unit)


def sandboxed():
    """The host's pids of all that runs under a private id; not of what is ready for a sandbox to come."""
    return [pid for pid in yett.processes()
            if int((yett.status_of(pid).get('Uid') or '0').split()[0]) in IDS and yett.is_alive(pid)
            and yett.argv_of(pid)[:1] not in (['yett-audit'], ['yett-decider'], ['yett-decoder'], ['yett-front']) and not yett.is_building(pid)]


def busy_groups(uid='*'):
    """The groups of sandboxes that have commands. There are others: what is prepared for a user's next one."""
    return sorted({os.path.dirname(leaf) for leaf in glob.glob('%s/user-%s/*/c[0-9]*' % (CGROUP, uid))})


def journal(since='-5min'):
    return tool('journalctl', '--no-pager', '-u', 'yett.service', '--since', since).out


class Case(unittest.TestCase):
    """`ann` and `ben` are ordinary users with keys of their own, once they have run something."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not is_installed():
            install()
        cls.ann, cls.ben = yett.User('ann', '/home/ann'), yett.User('ben', '/home/ben')
        cls.addClassCleanup(yett.remove_user, 'ann')
        cls.addClassCleanup(yett.remove_user, 'ben')

    def popen(self, user, *argv, cleanup=None, **more):
        """It lives until the end of the test, or `cleanup` is of the class."""
        more = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **more}
        process = user.popen(list(argv), **more)
        (cleanup or self.addCleanup)(self.end, process)
        return process

    @staticmethod
    def end(process):
        with process:
            if process.poll() is None:
                process.kill()

    def run_as(self, user, *argv, input=''):
        process = self.popen(user, *argv)
        out, err = process.communicate(input.encode(), timeout=yett.DEADLINE)
        return yett.Result(process.returncode, out.decode(errors='replace'), err.decode(errors='replace'))

    def sandbox(self, user, *argv, options=()):
        return self.run_as(user, 'yett', 'run', *options, '--', *argv)

    def output(self, user, *argv, options=()):
        done = self.sandbox(user, *argv, options=options)
        self.assertEqual(done.code, 0, '%r\n%s' % (done, journal()))
        return done.out

    def hold(self, user, *argv, options=(), cleanup=None):
        """A command in a sandbox that has said `up`."""
        argv = argv or ['sh', '-c', 'echo up; read x; echo $x']
        process = self.popen(user, 'yett', 'run', *options, '--', *argv, cleanup=cleanup)
        line = yett.line_of(process.stdout)
        self.assertEqual(line, 'up', process.stderr.read().decode() if line != 'up' else '')
        return process

    def policy(self, text):
        """A file in conf.d, in force until the end of the test."""
        path = '/etc/yett/conf.d/test.conf'
        yett.write(path, text)
        self.addCleanup(self.reload)
        self.addCleanup(os.unlink, path)
        self.reload()

    def drop_in(self, unit, text):
        """In force until the end of the test; the unit is to be restarted by whoever wants it now."""
        folder = '/run/systemd/system/%s.d' % unit
        os.makedirs(folder, exist_ok=True)
        yett.write(folder + '/test.conf', text)
        self.addCleanup(forget_drop_in, unit, folder)
        tool('systemctl', 'daemon-reload')

    def reload(self):
        """The next connection finds a helper that has read its policy."""
        tool('systemctl', 'stop', 'yett.service')
        tool('systemctl', 'reset-failed', 'yett.service', check=False)  # nor is it counted how often it starts

    @staticmethod
    def wait_all_gone():
        yett.wait_until(lambda: not sandboxed(), 'the end of all sandboxes')
        yett.wait_until(lambda: not busy_groups(), 'the removal of their groups')


def value_of(path, key):
    """A number of a "key value" file."""
    return int(re.search(r'^%s (\d+)$' % key, yett.read(path), re.M).group(1))
