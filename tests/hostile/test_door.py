# SPDX-License-Identifier: Apache-2.0
"""
Attacks on the way in: connections without number, by one account, by the many ids that it has in a user namespace, and by one that comes
and goes. None of them costs others more than a moment.
"""
import os
import platform
import signal
import subprocess
import time

import hostile
import yett

# In which the library waits for an answer, and for nothing before it: poll(2), ppoll(2)
POLL = {'x86_64': '7', 'aarch64': '73'}[platform.machine()]

# What each script begins with: connect() gives the text of a refusal, or None, and keeps the connection.
PRELUDE = """
import ctypes, os, socket, sys
kept = []
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ['YETT_SOCKET'])
    kept.append(s)
    data = s.recv(65536)
    return data if data[6] == 5 else None
"""

CONFINED = """
grant "confined" {
  users = {"*"}
  keys = {"*"}
  profiles = {"default"}
  confined_clients = true
}
"""


class Case(yett.Case):

    def script(self, text):
        """The lines that a Python script of another user's writes."""
        done = self.service.run(self.bob, '/usr/bin/python3', '-c', PRELUDE + text)
        self.assertEqual(done.code, 0, done)
        return done.out.splitlines()

    def monitors(self):
        """Those that are ready, when all that may be are."""
        found = []

        def are_all():
            found[:] = [pid for pid in yett.children_of(self.service.pid())
                        if yett.child_named(pid, 'yett-decider')]
            return len(found) >= 8
        yett.wait_until(are_all, 'monitors that are ready')
        return set(found)


class Door(Case):

    def test_ids_of_a_user_namespace_are_refused_before_anything_is_started(self):
        before = self.monitors()
        told = self.service.run(self.bob, 'unshare', '--user', '--map-root-user', '/usr/bin/python3', '-c', PRELUDE + 'print(connect())')
        self.assertIn('its user namespace is not the helper', told.out, told)
        self.assertEqual(self.monitors() - before, set())  # those of earlier connections may have ended

    def test_one_who_comes_and_goes_is_slowed_down_alone(self):
        """Whatever the machine can do: 50 in a second are let in, and a burst of 100 before that (listener.c)."""
        told = self.script("""
import time
start, served = time.monotonic(), 0
while time.monotonic() - start < 5:
    told = connect()
    kept.pop().close()
    served += told is None
print(served, time.monotonic() - start)
""")
        served, seconds = told[0].split()
        self.assertLessEqual(int(served), 100 + 50 * float(seconds) + 5, told)
        self.assertEqual(self.sandbox('true').code, 0)

    def test_one_who_was_told_to_come_later_does(self):
        process = self.service.popen(self.bob, '/usr/bin/python3', '-c', PRELUDE + """
while not connect():
    pass
print('full', flush=True)
sys.stdin.read()
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'full')
        self.assertEqual(self.sandbox('true', user=self.bob).code, 0)


    def test_who_makes_room_for_oneself_takes_none_from_others(self):
        """Eight accounts have as many as one may, and so all together; then the last one wants one more."""
        root = yett.Root(self.service.folder)
        done = self.service.run(root, '/usr/bin/python3', '-c', PRELUDE + """
GARBAGE = b'x' * 100
for n in range(8):
    os.seteuid(0)
    os.seteuid(3000000 + n)
    served = 0
    while served < 16:
        served += connect() is None
        if len(kept) > 16 * n + served:
            kept.pop()
while connect() is not None:  # until one of its own is old enough to give way
    kept.pop()
def still_serves(s):
    try:
        return all(s.send(GARBAGE) and b'others want to connect' not in s.recv(65536) for _ in range(2))
    except (BrokenPipeError, ConnectionResetError):
        return False
print(*(sum(still_serves(s) for s in kept[16 * n:16 * n + 16]) for n in range(8)))
""")
        self.assertEqual((done.code, done.out), (0, '16 16 16 16 16 16 16 15\n'), done)
        self.assertEqual(self.sandbox('true').code, 0)

    def test_one_that_never_stops_asking_makes_room_all_the_same(self):
        told = self.script("""
import threading
while len(kept) < 16:
    if connect() is not None:
        kept.pop()
ended = threading.Event()
def ask(s):
    try:
        while True:
            s.send(b'x' * 100)
    except OSError:
        pass
def listen(s):
    try:
        while s.recv(65536):
            pass
    except OSError:
        pass
    ended.set()
for s in list(kept):
    for what in (ask, listen):
        threading.Thread(target=what, args=(s,), daemon=True).start()
while connect() is not None:  # until the oldest of them is to give way
    kept.pop()
print(ended.wait(30), flush=True)  # half of what any connection has before it is known
os._exit(0)
""")
        self.assertEqual(told, ['True'])

    def test_a_request_that_comes_when_its_connection_makes_room_is_told_so(self):
        self.assertEqual(self.sandbox('true', user=self.bob).code, 0)  # makes the key
        kept = self.service.popen(self.bob, hostile.program('keep'), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, kept)

        def write(line):
            kept.stdin.write(line)
            kept.stdin.flush()
        write(b'create nothing-such\n')
        self.assertIn('nothing-such', self.line(kept))
        serving = []

        def is_alone():  # that of an earlier connection is gone
            serving[:] = [pid for pid in yett.children_of(self.service.pid())
                          if any(yett.status_of(child).get('Uid', '').split()[:1] == [str(self.bob.uid)] for child in yett.children_of(pid))]
            return len(serving) == 1
        yett.wait_until(is_alone, 'one monitor that serves this user')
        os.kill(serving[0], signal.SIGSTOP)
        try:
            self.script("""
served = 0
while served < 16:
    served += connect() is None
""")
            write(b'create\n')
            yett.wait_until(lambda: yett.read('/proc/%d/syscall' % kept.pid).split()[0] == POLL, 'a request that was sent')
        finally:
            os.kill(serving[0], signal.SIGCONT)
        told = self.line(kept)
        self.assertIn('others want to connect', told)
        self.assertIn('connect again', told)


class Reloaded(Case):
    def test_who_is_not_served_yet_when_the_policy_is_loaded_anew_is_served_by_the_new_one(self):
        self.assertEqual(self.sandbox('true').code, 0)  # makes the key
        ready = self.monitors()
        for pid in ready:
            os.kill(pid, signal.SIGSTOP)
        try:
            process = self.start('true')
            yett.wait_until(lambda: yett.read('/proc/%d/syscall' % process.pid).split()[0] == POLL, 'a client that waits for a hello')
            self.service.reload()
        finally:
            for pid in ready:
                os.kill(pid, signal.SIGCONT)
        self.assertEqual(process.wait(yett.DEADLINE), 0, process.stderr.read())


class Confined(Case):
    """Where clients in namespaces of their own are let in."""

    service_options = {'before': CONFINED}

    def test_ids_of_a_user_namespace_count_for_who_made_it(self):
        process = self.service.popen(self.bob, '/usr/bin/python3', '-c', PRELUDE + """
ctypes.CDLL(None).unshare(0x10000000)
print('made', flush=True)
sys.stdin.readline()
for n in range(1, 9):
    if os.fork() == 0:
        os.setgroups([]); os.setresgid(n, n, n); os.setresuid(n, n, n)
        served = sum(connect() is None for _ in range(16))
        print('served', served, flush=True)
        sys.stdin.readline()
        os._exit(0)
sys.stdin.read()
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(self.line(process), 'made')
        for name in ('uid_map', 'gid_map'):
            with open('/proc/%d/%s' % (process.pid, name), 'w', encoding='ascii') as file:
                file.write('0 2000000 65536\n')
        began = time.monotonic()
        process.stdin.write(b'\n')
        process.stdin.flush()
        served = sum(int(self.line(process).split()[1]) for _ in range(8))
        seconds = int(time.monotonic() - began)
        self.assertLessEqual(served, 16 * (1 + seconds) + 1)  # those that are a second old give way to as many new ones, and go a moment later
        self.assertGreater(served, 0)
        self.assertEqual(self.sandbox('true').code, 0)


if __name__ == '__main__':
    yett.main()
