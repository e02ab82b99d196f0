# SPDX-License-Identifier: Apache-2.0
"""
Packages of npm that tests use, in the versions of tests/agent/package-lock.json, and the node that runs them.

They are installed into the build directory by the first test that needs them. Nothing of them is run while they are.
"""
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import unittest

import yett

SOURCE = os.path.join(yett.SOURCE, 'tests', 'agent')
PLACE = os.path.join(os.environ['YETT_BUILD_ROOT'], 'node')
FILES = ('package.json', 'package-lock.json')
MACHINES = {'x86_64': 'x64', 'aarch64': 'arm64'}
ENVIRONMENT = {'npm_config_update_notifier': 'false', 'npm_config_audit': 'false', 'npm_config_fund': 'false', 'npm_config_loglevel': 'error'}


def wanted():
    """What the packages are made from."""
    whole = hashlib.sha256()
    for name in FILES:
        whole.update(yett.read(os.path.join(SOURCE, name)).encode())
    return whole.hexdigest()


def npm(*argv):
    return subprocess.run(['npm', *argv], cwd=PLACE, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def install():
    shutil.rmtree(os.path.join(PLACE, 'node_modules'), ignore_errors=True)
    for name in FILES:
        shutil.copy(os.path.join(SOURCE, name), PLACE)
    done = npm('ci', '--ignore-scripts')
    if done.returncode == 0:
        return
    if npm('ping', '--fetch-retries=0').returncode != 0:
        raise unittest.SkipTest('the registry of npm cannot be reached')
    raise AssertionError('npm ci: ' + done.stdout)


def need():
    """Sees to it that the packages are there."""
    if not shutil.which('npm'):
        raise unittest.SkipTest('npm is needed')
    os.makedirs(PLACE, exist_ok=True)
    mark = os.path.join(PLACE, 'installed')
    with open(os.path.join(PLACE, 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(mark) and yett.read(mark) == wanted():
            return
        install()
        yett.write(mark, wanted())


def program():
    """The node that the packages want; that of the system may be too old for them."""
    own = os.path.join(PLACE, 'node_modules', 'node-linux-' + MACHINES.get(platform.machine(), ''), 'bin', 'node')
    return own if os.path.exists(own) else 'node'


def module(*parts):
    return os.path.join(PLACE, 'node_modules', *parts)


def run(script, *argv, env=None):
    """Runs a script of tests/agent, or one that is installed, where it finds the packages: its exit status, output and errors."""
    if not os.path.isabs(script):
        shutil.copy(os.path.join(SOURCE, script), PLACE)
        script = os.path.join(PLACE, script)
    environment = {**os.environ, 'PATH': os.path.dirname(program()) + ':' + os.environ['PATH'], 'HOME': PLACE, **(env or {})}
    done = subprocess.run([program(), script, *argv], cwd=PLACE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=3 * yett.DEADLINE)
    return yett.Result(done.returncode, done.stdout.decode(), done.stderr.decode())
