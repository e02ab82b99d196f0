# SPDX-License-Identifier: Apache-2.0
"""Programs of every kind notice little of the sandbox: each test would pass as well outside, for the same user."""
import os
import shutil
import stat

import yett

THREADS = '''
import threading
total, lock = 0, threading.Lock()
def work():
    global total
    for _ in range(1000):
        with lock:
            total += 1
threads = [threading.Thread(target=work) for _ in range(32)]
for t in threads: t.start()
for t in threads: t.join()
print(total)
'''

SHARED_MEMORY = '''
import multiprocessing, multiprocessing.shared_memory as shm
def child(name):
    part = shm.SharedMemory(name=name)
    part.buf[:5] = b"hello"
    part.close()
if __name__ == "__main__":
    part = shm.SharedMemory(create=True, size=4096)
    p = multiprocessing.get_context("fork").Process(target=child, args=(part.name,))
    p.start(); p.join()
    print(bytes(part.buf[:5]).decode(), p.exitcode)
    part.close(); part.unlink()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(sum(pool.map(abs, range(-10, 0))))
'''

SOCKETS = '''
import os, socket, tempfile
def pair(listener, dial):
    client = dial()
    server, _ = listener.accept()
    client.sendall(b"ping"); print(server.recv(4).decode())
tcp = socket.create_server(("127.0.0.1", 0))
pair(tcp, lambda: socket.create_connection(tcp.getsockname()))
tcp6 = socket.create_server(("::1", 0), family=socket.AF_INET6)
pair(tcp6, lambda: socket.create_connection(tcp6.getsockname()[:2]))
tcp = socket.create_server(("0.0.0.0", 0))
pair(tcp, lambda: socket.create_connection(("localhost", tcp.getsockname()[1])))
path = os.path.join(tempfile.mkdtemp(), "socket")
for address in (path, "\\0abstract"):
    unix = socket.socket(socket.AF_UNIX); unix.bind(address); unix.listen()
    def dial():
        s = socket.socket(socket.AF_UNIX); s.connect(address); return s
    pair(unix, dial)
one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0)); two.sendto(b"pong", one.getsockname()); print(one.recv(4).decode())
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b"pair"); print(b.recv(9).decode())
'''

DENIED = '''
import ctypes, errno, os
def tell(name, call, *arguments):
    try:
        call(*arguments); print(name, "done")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
tell("setuid", os.setuid, 12345)
tell("seteuid", os.seteuid, 12345)
tell("setgid", os.setgid, 12345)
tell("setgroups", os.setgroups, [os.getgid(), 12345])
tell("setuid-root", os.setuid, 0)
tell("setuid-own", os.setuid, os.getuid())
tell("setresuid-own", os.setresuid, -1, os.getuid(), -1)
open("file", "w").close()
tell("chown", os.chown, "file", 12345, -1)
tell("chown-root", os.chown, "file", 0, 0)
tell("chgrp", os.chown, "file", -1, 12345)
tell("chown-own", os.chown, "file", os.getuid(), os.getgid())
tell("chmod", os.chmod, "file", 0o640)
tell("mknod", os.mknod, "node", 0o020600, os.makedev(1, 3))
tell("nice", os.nice, -5)
tell("hostname", __import__("socket").sethostname, "x")
tell("settime", __import__("time").clock_settime, 0, 1.0)
tell("kill-none", os.kill, 999999, 0)
os.unlink("file")
'''

OPEN_BACKWARDS = '''
import os
for fd, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY)):
    try:
        os.open(f"/proc/self/fd/{fd}", flags | os.O_NONBLOCK)
        print("open", flush=True)
    except PermissionError:
        print("closed", flush=True)
'''.replace('"', '\\"')

C_PROGRAM = '''
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>
static void *run(void *p) { *(int *)p = 7; return NULL; }
int main(void)
{
	pthread_t t;
	int *shared, fd = shm_open("/compiled", O_CREAT | O_RDWR | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, 4096)) return 1;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_create(&t, NULL, run, shared);
	pthread_join(t, NULL);
	printf("%d\\n", *shared);
	return shm_unlink("/compiled");
}
'''


class Programs(yett.Case):
    def need(self, program):
        if not shutil.which(program, path='/usr/local/bin:/usr/bin:/bin'):
            self.skipTest('the host has no ' + program)

    def both(self, *argv, options=(), **more):
        """What it writes outside and inside, as the same user; outside comes first."""
        outside = self.service.run(self.alice, *argv, **more)
        inside = self.sandbox(*argv, options=options, **more)
        self.assertEqual(outside.code, 0, outside)
        self.assertEqual(inside.code, 0, inside)
        return outside.out, inside.out

    def test_id_and_whoami_say_the_same_as_outside(self):
        for argv in (['id', '-u'], ['id', '-g'], ['id', '-un'], ['id', '-gn'], ['id', '-G'], ['whoami'], ['groups']):
            with self.subTest(argv=argv):
                outside, inside = self.both(*argv)
                self.assertEqual(inside, outside)

    def test_ls_of_a_share_and_of_the_system_says_the_same_as_outside(self):
        directory = self.folder('listed')
        self.alice.write('listed/file', 'text', mode=0o640)
        os.symlink('file', directory + '/link')
        os.lchown(directory + '/link', self.alice.uid, self.alice.gid)
        outside, inside = self.both('ls', '-la', '--time-style=full-iso', directory + '/file', directory + '/link',
                                    options=['--ro', directory])
        self.assertEqual(inside, outside)
        outside, inside = self.both('ls', '-ld', '--time-style=full-iso', '/usr', '/usr/bin/env', '/usr/lib/locale')
        self.assertEqual(inside, outside)

    def test_ps_shows_the_sandbox(self):
        self.need('ps')
        rows = self.output('ps', '-eo', 'pid,user:32,comm').splitlines()[1:]
        self.assertEqual([row.split()[2].removeprefix('memfd:') for row in rows], ['yett-init', 'ps'])
        self.assertEqual(rows[1].split()[1], self.alice.name)
        self.assertIn('ps aux', self.output('ps', 'aux'))

    def test_a_real_locale_works(self):
        self.assertEqual(self.shell('locale charmap', options=['-e', 'LC_ALL=C.UTF-8']).strip(), 'UTF-8')
        self.assertEqual(self.python('print(len("äß€")); print("äß€".upper())').split(), ['3', 'ÄSS€'])
        outside, inside = self.both('locale', '-a')
        self.assertEqual(inside, outside)

    def test_the_time_zone_is_the_hosts(self):
        outside, inside = self.both('date', '-d', '@86400', '+%Z %z %H:%M')
        self.assertEqual(inside, outside)
        self.assertEqual(self.shell('TZ=America/New_York date -d @86400 +%Z').strip(), 'EST')

    def test_dev_fd_and_process_substitution_work(self):
        self.assertEqual(self.output('bash', '-c', 'cat <(echo one) /dev/fd/3 3< <(echo two); echo three | cat /dev/stdin')
                         .split(), ['one', 'two', 'three'])

    def test_stdio_can_be_opened_anew_by_its_name_in_its_own_direction(self):
        # the pipes are the caller's own here, as a shell makes them
        script = ('echo in | %s run -- sh -c "cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr; python3 -c \'%s\'" '
                  '2>&1 | cat' % (self.service.yett, OPEN_BACKWARDS))
        done = self.service.run(self.alice, 'sh', '-c', script)
        self.assertEqual([line for line in done.out.splitlines() if not line.startswith('yett: ')],
                         ['in', 'out', 'err', 'closed', 'closed'], done)

    def test_output_in_a_file_can_be_opened_anew_and_keeps_its_order(self):
        script = ('%s run -- sh -c "echo one; echo two >&2; echo three >/dev/stderr; echo four >/dev/stdout; echo five" >file 2>&1; '
                  'cat file' % self.service.yett)
        done = self.service.run(self.alice, 'sh', '-c', script)
        self.assertEqual([line for line in done.out.splitlines() if not line.startswith('yett: ')],
                         ['one', 'two', 'three', 'four', 'five'], done)

    def test_input_from_a_file_is_left_where_the_command_stopped_reading(self):
        script = 'printf "1\n2\n3\n" >list; while read line; do %s run -- echo $line; done <list' % self.service.yett
        self.assertEqual(self.service.run(self.alice, 'sh', '-c', script).out.split(), ['1', '2', '3'])

    def test_named_pipes_and_pipes_work(self):
        self.assertEqual(self.shell('mkfifo p; (echo through >p) & cat p; wait; seq 100000 | sort -n | tail -1').split(),
                         ['through', '100000'])

    def test_shared_memory_works(self):
        self.assertEqual(self.python(SHARED_MEMORY).split(), ['hello', '0', '55'])

    def test_system_v_shared_memory_works(self):
        self.need('ipcs')
        self.assertEqual(self.shell('ipcmk -M 8192 >/dev/null && ipcmk -Q >/dev/null && ipcs -m | grep -c 8192').strip(), '1')

    def test_sockets_on_loopback_work(self):
        self.assertEqual(self.python(SOCKETS).split(), ['ping'] * 5 + ['pong', 'pair'])

    def test_threads_work(self):
        self.assertEqual(self.python(THREADS).strip(), '32000')

    def test_pseudo_terminals_of_its_own_work(self):
        self.need('script')
        self.assertEqual(self.output('script', '-qec', 'test -t 0 && stty size >/dev/null && tty', '/dev/null').strip(),
                         '/dev/pts/0')

    def test_dev_null_zero_and_random_work(self):
        self.assertEqual(self.shell('head -c 5 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c; head -c 5 /dev/random | '
                                    'wc -c; echo x >/dev/null; wc -c </dev/null; echo x >/dev/full || echo full').split(),
                         ['5', '5', '5', '0', 'full'])

    def test_git_works_in_a_share(self):
        self.need('git')
        directory = self.folder('repository')
        script = ('git init -q . && git config user.email a@b && git config user.name A && echo x >f && git add f && '
                  'git commit -qm first && git log --format=%s && git status --porcelain && git clone -q . sub && ls sub')
        self.assertEqual(self.shell(script, options=['--rw', directory, '-C', directory]).split(), ['first', 'f'])
        self.assertEqual(self.service.run(self.alice, 'git', '-C', directory, 'log', '--format=%s').out, 'first\n')

    def test_git_takes_a_read_only_share_for_the_callers_own(self):
        self.need('git')
        directory = self.folder('others-repository')
        self.service.run(self.alice, 'git', 'init', '-q', directory)
        self.assertEqual(self.output('git', '-C', directory, 'status', '--porcelain', options=['--ro', directory]), '')

    def test_gcc_compiles_and_its_program_runs(self):
        self.need('gcc')
        directory = self.folder('compile')
        self.alice.write('compile/program.c', C_PROGRAM)
        script = 'gcc -O1 -o program program.c -pthread && ./program && cp program /tmp && /tmp/program'
        self.assertEqual(self.shell(script, options=['--rw', directory, '-C', directory, '-p', 'build']).split(), ['7', '7'])

    def test_python_perl_and_node_work(self):
        self.assertEqual(self.python('import json, ssl, sqlite3, subprocess, tempfile; print(json.dumps([1]), '
                                     'subprocess.check_output(["echo", "sub"]).decode(), tempfile.gettempdir())').split(),
                         ['[1]', 'sub', '/tmp'])
        for program, argv in (('perl', ['-MPOSIX', '-e', 'print join(" ", map { $_ * 2 } 1..3), " ", getuid()']),
                              ('node', ['-e', 'setTimeout(() => console.log(2, 4, 6, process.getuid()), 1)'])):
            with self.subTest(program=program):
                self.need(program)
                self.assertEqual(self.output(program, *argv).split(), ['2', '4', '6', str(self.alice.uid)])

    def test_what_fails_outside_fails_the_same_way(self):
        directory = self.folder('denied-calls')
        outside = self.service.run(self.alice, '/usr/bin/python3', '-c', DENIED, cwd=directory)
        self.assertEqual(outside.code, 0, outside)
        for options in (['--rw', directory, '-C', directory], ['-C', '/tmp']):
            with self.subTest(options=options):
                self.assertEqual(self.python(DENIED, options=options).splitlines(), outside.out.splitlines())
        for name in ('setuid', 'setgroups', 'chown'):
            self.assertIn(name + ' EPERM', outside.out)

    def test_files_are_copied_with_their_attributes(self):
        directory = self.folder('copied')
        self.alice.write('copied/file', 'text', mode=0o640)
        os.utime(directory + '/file', (10 ** 9, 10 ** 9))
        script = ('cp -p file copy && cp -a /usr/bin/env . && mkdir d && cp -a copy d && tar cf all.tar d file && '
                  'mkdir e && tar xpf all.tar -C e && install -m 600 file installed && mktemp -p . XXXXXX >/dev/null && '
                  'stat -c "%a %Y" copy e/d/copy e/file')
        self.assertEqual(self.shell(script, options=['--rw', directory, '-C', directory]).split(), ['640', '1000000000'] * 3)
        self.assertEqual(stat.S_IMODE(os.stat(directory + '/installed').st_mode), 0o600)

    def test_databases_and_locks_work(self):
        directory = self.folder('database')
        options = ['--rw', directory, '-C', directory]
        self.assertEqual(self.python('import sqlite3; c = sqlite3.connect("x.db"); c.execute("pragma journal_mode=wal"); '
                                     'c.execute("create table t (a)"); c.execute("insert into t values (5)"); c.commit(); '
                                     'print(c.execute("select a from t").fetchone()[0])', options=options).strip(), '5')
        self.assertEqual(self.shell('flock lock echo held', options=options).strip(), 'held')

    def test_signals_and_job_control_of_its_own_work(self):
        self.assertEqual(self.output('bash', '-c', 'trap "echo caught" USR1; kill -USR1 $$; sleep 100 & kill %1; wait %1; echo $?')
                         .split(), ['caught', '143'])

    def test_large_output_arrives_whole(self):
        self.assertEqual(len(self.output('head', '-c', '3000000', '/dev/zero')), 3000000)

    def test_executables_in_tmp_and_home_run(self):
        self.assertEqual(self.shell('cp /usr/bin/echo /tmp/e; cp /usr/bin/echo ~/e; /tmp/e tmp; ~/e home').split(), ['tmp', 'home'])

    def test_strict_runs_simple_programs(self):
        options = ['-p', 'strict']
        self.assertEqual(self.shell('ls / >/dev/null; echo x | sort | wc -l', options=options).strip(), '1')
        self.assertEqual(self.python('print(sum(range(10)))', options=options).strip(), '45')


if __name__ == '__main__':
    yett.main()
