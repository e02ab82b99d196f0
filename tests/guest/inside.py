# SPDX-License-Identifier: Apache-2.0
"""
What happens in the guest: the tests of this run, one after the other, and the way of their results out of it.

Started by yett-guest.service of the image as root, with /yett as tests/guest/run packed it. Results go out over the
second serial port while they come, one JSON line each as meson writes them, so a guest that hangs has told what it knew;
logs go onto the third disk at the end, as a tar archive.
"""
import json
import os
import re
import subprocess
import sys
import termios
import time
import tty

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LOGS = '/var/tmp/logs'
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'support'))
import plan  # noqa: E402
import waiting  # noqa: E402

ENVIRONMENT = {
    'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LANG': 'C.UTF-8', 'HOME': '/root',
    'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONUNBUFFERED': '1', 'YETT_BUILD_ROOT': os.path.join(SOURCE, 'build'),
    'PYTHONPATH': ':'.join(os.path.join(SOURCE, 'tests', name) for name in ('support', 'system', 'hostile', 'guest')),
}


# As an administrator's shell has it; services are started into domains of their own, which is what some tests look at.
SHELL_CONTEXT = {'selinux': ('runcon', 'unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023'), 'apparmor': ()}


class Wire:
    """The second serial port, as lines."""

    def __init__(self):
        self.fd = os.open('/dev/ttyS1', os.O_WRONLY | os.O_NOCTTY)
        tty.setraw(self.fd)

    def tell(self, **entry):
        data = (json.dumps(entry) + '\n').encode('ascii')
        while data:
            data = data[os.write(self.fd, data):]
        termios.tcdrain(self.fd)


def limit_s(test):
    """For what hangs, not a measure of speed: it is as many times longer as the guest is slow."""
    return round(test.seconds * waiting.deadline_s() / waiting.LEAST_S)


def run_test(test, lsm, limit):
    """Its entry for the log."""
    began = time.monotonic()
    process = subprocess.Popen([*SHELL_CONTEXT[lsm], *test.argv(SOURCE)], cwd='/', env={**ENVIRONMENT, 'YETT_GUEST_LSM': lsm, **{name: value.replace('@', SOURCE) for name, value in test.environment.items()}}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace')
    try:
        out, err = process.communicate(timeout=limit)
        result = 'OK' if process.returncode == 0 else 'FAIL'
    except subprocess.TimeoutExpired:
        process.terminate()  # test programs take away what they made
        try:
            out, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        result = 'TIMEOUT'
    return {'result': result, 'duration': round(time.monotonic() - began, 1), 'stdout': out, 'stderr': err[-20000:]}


def output_of(*argv):
    return subprocess.run(argv, capture_output=True, text=True, errors='replace', env=ENVIRONMENT).stdout


def denials():
    """What AppArmor and SELinux refused, each line once. auditd has them all; the kernel's log has those from before it ran."""
    lines = output_of('journalctl', '-k', '-o', 'cat', '--no-pager').splitlines()
    if os.path.exists('/var/log/audit/audit.log'):
        with open('/var/log/audit/audit.log', encoding='utf-8', errors='replace') as log:
            lines += log.read().splitlines()
    found = {}
    for line in lines:
        if re.search(r'avc:\s+denied|apparmor="DENIED"|SELINUX_ERR', line):
            found.setdefault(re.search(r'audit\([0-9.]+:(\d+)\)', line).group(1) if 'audit(' in line else line, line)
    return list(found.values())


def keep_logs():
    with open(LOGS + '/journal.txt', 'w', encoding='utf-8') as file:
        file.write(output_of('journalctl', '-o', 'short-monotonic', '--no-pager', '--no-hostname'))
    with open(LOGS + '/denials.txt', 'w', encoding='utf-8') as file:
        file.writelines(line + '\n' for line in denials())
    with open(LOGS + '/units.txt', 'w', encoding='utf-8') as file:
        file.write(output_of('systemctl', '--no-pager', '--all', 'list-units', '*.service', '*.socket', '*.slice', '*.scope'))
    subprocess.run(['tar', '-C', LOGS, '-cf', '/dev/vdc', '.'], check=True)


def main():
    os.makedirs(LOGS, exist_ok=True)
    with open(os.path.join(SOURCE, 'run.json'), encoding='utf-8') as file:
        order = json.load(file)
    wire = Wire()
    # What the system does each day would be due when a test sets the clock, and takes minutes of an emulated processor.
    subprocess.run(['systemctl', 'stop', '*.timer'], check=False)
    # A route that leads nowhere: the guest has no network, and an attack that finds none outside shows nothing inside.
    subprocess.run(['ip', 'route', 'add', 'default', 'dev', 'lo'], check=True)
    try:
        for test in plan.chosen(order['lsm'], order['tests']):
            limit = limit_s(test)
            wire.tell(start=test.name, limit=limit)
            wire.tell(name='guest %s / %s' % (order['lsm'], test.name), **run_test(test, order['lsm'], limit))
        wire.tell(finished=True)
    finally:
        keep_logs()


if __name__ == '__main__':
    main()
