#!/usr/bin/env python3
"""What one account can make another one wait: crowd.py [RUNS]   (as root; BUILD in YETT_BUILD_ROOT)

A service of its own, as installed, and two ordinary users. One runs `yett run -- true` RUNS times (default 40) while the other one
does nothing, keeps two processors busy without Yett, or attacks; after each of these a quiet series, so that the machine's own drift shows.
"""
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import yett  # noqa: E402

PRELUDE = '''
import ctypes, os, resource, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    s.connect(os.environ['YETT_SOCKET'])
    return s
def ready():
    print('ready', flush=True)
def fork():
    if os.fork():
        return False
    libc.prctl(1, signal.SIGKILL)
    return True
'''

# Connections that bring what takes an hour to close; whoever is hung up on comes again.
LINGERING = PRELUDE + '''
kept = []
def lingering():
    l = socket.socket()
    l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    l.bind(('127.0.0.1', 0)); l.listen()
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    c.connect(l.getsockname())
    kept.append(l.accept()[0])
    c.setblocking(False)
    try:
        while True:
            c.send(bytes(4096))
    except BlockingIOError:
        pass
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
    return c
def come():
    with lingering() as c:
        try:
            s = connect()
            socket.send_fds(s, [b'x'], [c.fileno()])
            return s
        except OSError:
            return None
held = [come() for _ in range(297)]
ready()
while True:
    for i, s in enumerate(held):
        try:
            if s is None or s.recv(65536, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b'' or s.recv(65536, socket.MSG_DONTWAIT)[6] == 5:
                held[i] = come()
                time.sleep(0.01)
        except BlockingIOError:
            pass
        except OSError:
            held[i] = come()
    time.sleep(0.05)
'''

# The ids of a user namespace, as newuidmap(1) gives them: eight of them hold 256 connections each, and come again.
SUBUIDS = PRELUDE + '''
libc.unshare(0x10000000)
ready()
sys.stdin.readline()
for n in range(8):
    if fork():
        os.setgroups([]); os.setresgid(n + 1, n + 1, n + 1); os.setresuid(n + 1, n + 1, n + 1)
        held = []
        while True:
            while len(held) < 256:
                try:
                    held.append(connect())
                except OSError:
                    time.sleep(0.01)
            for s in list(held):
                try:
                    data = s.recv(65536, socket.MSG_DONTWAIT)
                    if data == b'' or data[6] == 5:
                        held.remove(s)
                        s.close()
                except BlockingIOError:
                    pass
                except OSError:
                    held.remove(s)
            time.sleep(0.05)
print('held', flush=True)
signal.pause()
'''

LOOP = PRELUDE + '''
for _ in range(4):
    if fork():
        while True:
            try:
                connect().close()
            except OSError:
                pass
ready()
signal.pause()
'''

BUSY = PRELUDE + '''
for _ in range(%d):
    if fork():
        while True:
            pass
ready()
signal.pause()
'''


class Crowd:
    def __init__(self, service, runs):
        self.service, self.runs = service, runs
        self.victim, self.other = service.user(1), service.user(2)
        for user in (self.victim, self.other):
            service.enter_key(user)

    def measure(self):
        """Milliseconds of each run; one that fails counts as what it took until then, and is told."""
        times, failed = [], 0
        for _ in range(self.runs):
            start = time.monotonic()
            failed += self.service.run(self.victim, self.service.yett, 'run', '--', 'true').code != 0
            times.append((time.monotonic() - start) * 1000)
        return statistics.median(times), max(times), failed

    def attack(self, argv, and_then=None):
        process = self.service.popen(self.other, *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.stdout.readline()
            if and_then:
                and_then(process)
            time.sleep(1)  # until it is in full swing; a measurement, not a test
            return self.measure()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def map_subuids(self, process):
        for name in ('uid_map', 'gid_map'):
            with open('/proc/%d/%s' % (process.pid, name), 'w', encoding='ascii') as file:
                file.write('0 2000000 65536\n')
        process.stdin.write(b'\n')
        process.stdin.flush()
        process.stdout.readline()


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    build = os.environ.setdefault('YETT_BUILD_ROOT', os.path.join(yett.SOURCE, 'build'))
    with yett.Service(spares=4) as service:
        crowd = Crowd(service, runs)
        crowd.measure()
        python = ('/usr/bin/python3', '-c')
        rows = [('1 busy process, without Yett', (*python, BUSY % 1), None), ('4 busy processes, without Yett', (*python, BUSY % 4), None),
                ('297 connections that linger', (*python, LINGERING), None),
                ('2,048 connections of eight subuids', (*python, SUBUIDS), crowd.map_subuids),
                ('connecting and closing, 4 processes', (*python, LOOP), None),
                ('64 connections of refused creates', (service.run_.path('refused'), '64'), None)]
        shutil.copy(os.path.join(build, 'tests/bench/refused'), service.run_.path('refused'))
        print('%-38s %9s %9s %7s %9s' % ('`yett run -- true` of another user, ms', 'quiet', 'median', 'ratio', 'slowest'))
        for name, argv, and_then in rows:
            quiet, _, _ = crowd.measure()
            median, slowest, failed = crowd.attack(argv, and_then)
            print('%-38s %9.1f %9.1f %7.2f %9.1f%s' % (name, quiet, median, median / quiet, slowest, '  %d failed' % failed if failed else ''), flush=True)
            yett.wait_until(lambda: not service.leftovers(), 'quiet')


if __name__ == '__main__':
    main()
