# SPDX-License-Identifier: Apache-2.0
"""
Programs that nobody wrote for this project, and what becomes of each in a sandbox: one row a program.

A script is run by sh in an empty directory of an ordinary user's, which inside is shared for writing: first on the host, where it
must succeed, then inside. What stands before each script is PROLOGUE of run.py. A verdict is one of

    works               with `yett run --rw . --`
    works with OPTIONS  with these options of `yett run` as well, and not without them
    does not: WHY       whatever the options

`packages` are Debian's, but for the essential ones. `rootless` is the verdict without root, where that is another one. `host` says what a host may lack for it; where this is missing
the script fails on every host. A script that begins with the unpacked source of a Debian package names that in `source`.
"""
from typing import NamedTuple

WORKS = 'works'
WITH = 'works with '
NOT = 'does not: '


class Program(NamedTuple):
    name: str
    kind: str
    packages: str
    script: str
    verdict: str = WORKS
    rootless: str = ''
    host: str = ''
    source: str = ''

    def verdict_of(self, is_rootless):
        return is_rootless and self.rootless or self.verdict


COMPILERS = 'Compilers'
BUILDING = 'Build systems'
INTERPRETERS = 'Interpreters and their package managers'
VERSIONS = 'Version control'
DATABASES = 'Databases'
SERVERS = 'Servers and their clients'
BROWSERS = 'Browsers'
DEBUGGERS = 'Debuggers and sanitizers'
TERMINALS = 'Terminals, shells and editors'
DOCUMENTS = 'Office and pictures'
ARCHIVERS = 'Archivers and packages'
SYSTEM = 'What programs ask of the system'
NESTED = 'Sandboxes within the sandbox'
SUITES = 'Tests that programs bring'

# The beginning of two scripts.
SSHD = r'''
port=$(free_port)
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub authorized
printf 'Port %s\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nPidFile none\nUsePAM no\nStrictModes no\nSubsystem sftp internal-sftp\n' "$port" "$PWD" "$PWD" >conf
/usr/sbin/sshd -D -e -f "$PWD/conf" & ends $!
options='-F none -i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=known -o BatchMode=yes'
until_works ssh $options -p "$port" 127.0.0.1 true
'''

PROGRAMS = [
    # --- compilers ---
    Program('gcc', COMPILERS, 'gcc libc6-dev', r'''
cat >main.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *run(void *p) { *(int *)p = 42; return p; }
int main(void)
{
	pthread_t thread;
	int answer;
	pthread_create(&thread, NULL, run, &answer);
	pthread_join(thread, NULL);
	return printf("%d\n", answer) < 0;
}
END
gcc -O2 -flto -Wall -pipe -o main main.c
same "$(./main)" 42
gcc -c -fPIC main.c && ar rcs libmain.a main.o && gcc -o linked libmain.a && same "$(./linked)" 42
'''),
    Program('gcc, deeply nested', COMPILERS, 'gcc', r'''
python3 -c 'n = 20000; print("int main(void) { return " + "(" * n + "0" + ")" * n + "; }")' >deep.c
gcc -o deep deep.c
./deep
'''),
    Program('g++', COMPILERS, 'g++', r'''
cat >main.cc <<'END'
#include <filesystem>
#include <future>
#include <iostream>
#include <stdexcept>
int main()
{
	auto answer = std::async(std::launch::async, [] { if (!std::filesystem::exists("/none")) throw std::runtime_error("thrown"); return 0; });
	try { return answer.get(); } catch (const std::exception &e) { std::cout << e.what() << std::endl; }
}
END
g++ -std=c++20 -o main main.cc
same "$(./main)" thrown
'''),
    Program('clang', COMPILERS, 'clang', r'''
printf '#include <stdio.h>\nint main(void) { return puts("clang") < 0; }\n' >main.c
clang -O2 -o main main.c
same "$(./main)" clang
clang --analyze main.c
'''),
    Program('musl-gcc', COMPILERS, 'musl-tools', r'''
printf '#include <stdio.h>\nint main(void) { return puts("static") < 0; }\n' >main.c
musl-gcc -static -o main main.c
same "$(./main)" static
'''),
    Program('gfortran', COMPILERS, 'gfortran', r'''
printf 'program main\n  print "(i0)", sum([1, 2, 3])\nend program\n' >main.f90
gfortran -o main main.f90
same "$(./main)" 6
'''),
    Program('fpc', COMPILERS, 'fp-compiler', r'''
printf 'program main;\nbegin\n  writeln(6 * 7);\nend.\n' >main.pas
fpc -v0 main.pas >&2
same "$(./main)" 42
'''),
    Program('ghc', COMPILERS, 'ghc', r'''
printf 'import qualified Data.Map as M\nmain :: IO ()\nmain = print (M.foldr (+) 0 (M.fromList (zip [1 :: Int ..] [1 .. 10 :: Int])))\n' >Main.hs
ghc -v0 Main.hs
same "$(./Main)" 55
'''),
    Program('ocamlopt', COMPILERS, 'ocaml-nox', r'''
printf 'let () = print_int (List.fold_left (+) 0 [1; 2; 3])\n' >main.ml
ocamlopt -o main main.ml
same "$(./main)" 6
same "$(ocaml main.ml)" 6
'''),
    Program('javac', COMPILERS, 'openjdk-17-jdk-headless', r'''
cat >Main.java <<'END'
import java.util.stream.IntStream;
public class Main {
	public static void main(String[] words) throws Exception {
		System.out.println(IntStream.rangeClosed(1, 10).parallel().sum());
	}
}
END
javac Main.java
same "$(java Main)" 55
jar --create --file main.jar --main-class Main Main.class
same "$(java -jar main.jar)" 55
'''),
    Program('java, with much garbage', COMPILERS, 'openjdk-17-jdk-headless', r'''
cat >Main.java <<'END'
import java.util.ArrayList;
public class Main {
	public static void main(String[] words) {
		var live = new ArrayList<byte[]>();
		for (int i = 0; i < 100; i++)
			live.add(new byte[1 << 20]);
		for (int i = 0; i < 2500; i++)
			live.set(i % 100, new byte[1 << 20]);
		System.out.println(live.size());
	}
}
END
same "$(java -XX:-ShrinkHeapInSteps Main.java)" 100
'''),
    Program('go build, go test', COMPILERS, 'golang-go', r'''
export GOCACHE=$PWD/cache GOPATH=$PWD/path GOPROXY=off GOFLAGS=-mod=mod
mkdir module && cd module
go mod init example.com/answer
printf 'package main\n\nimport "fmt"\n\nfunc answer() int {\n\tc := make(chan int)\n\tgo func() { c <- 42 }()\n\treturn <-c\n}\n\nfunc main() { fmt.Println(answer()) }\n' >main.go
printf 'package main\n\nimport "testing"\n\nfunc TestAnswer(t *testing.T) {\n\tif answer() != 42 {\n\t\tt.Fail()\n\t}\n}\n' >main_test.go
go vet
go build -o answer
same "$(./answer)" 42
go test
'''),
    Program('cargo', COMPILERS, 'cargo', r'''
export CARGO_HOME=$PWD/home
cargo new --quiet --vcs none answer && cd answer
printf 'fn main() { println!("{}", answer()); }\nfn answer() -> u32 { std::thread::spawn(|| 42).join().unwrap() }\n#[test]\nfn is_right() { assert_eq!(answer(), 42); }\n' >src/main.rs
same "$(cargo run --quiet --offline)" 42
cargo test --quiet --offline
'''),
    # --- build systems ---
    Program('make', BUILDING, 'make', r'''
printf 'all: $(addprefix part-,1 2 3 4 5 6 7 8)\n\tcat $^ >$@\npart-%%:\n\techo $* >$@\nagain:\n\t$(MAKE) all\n' >Makefile
make -j4 again
same "$(sort -n all | tr -d '\n')" 12345678
make -q all
'''),
    Program('cmake, ctest', BUILDING, 'cmake g++', r'''
printf 'cmake_minimum_required(VERSION 3.13)\nproject(answer C)\nenable_testing()\nfind_package(Threads REQUIRED)\nadd_executable(answer main.c)\ntarget_link_libraries(answer Threads::Threads)\nadd_test(NAME runs COMMAND answer)\n' >CMakeLists.txt
echo 'int main(void) { return 0; }' >main.c
cmake -S . -B build
cmake --build build -j2
cd build && ctest
'''),
    Program('meson, ninja', BUILDING, 'meson ninja-build gcc pkg-config', r'''
printf "project('answer', 'c')\nlib = shared_library('part', 'part.c')\ntest('runs', executable('answer', 'main.c', link_with: lib, dependencies: dependency('threads')))\n" >meson.build
echo 'int part(void) { return 0; }' >part.c
echo 'int part(void); int main(void) { return part(); }' >main.c
meson setup build
meson test -C build
DESTDIR=$PWD/root meson install -C build
'''),
    Program('autoconf, automake, libtool', BUILDING, 'autoconf automake libtool gcc make', r'''
printf 'AC_INIT([answer], [1])\nAM_INIT_AUTOMAKE([foreign])\nAM_PROG_AR\nAC_PROG_CC\nLT_INIT\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >configure.ac
printf 'lib_LTLIBRARIES = libpart.la\nlibpart_la_SOURCES = part.c\ncheck_PROGRAMS = answer\nanswer_SOURCES = main.c\nanswer_LDADD = libpart.la\nTESTS = answer\n' >Makefile.am
echo 'int part(void) { return 0; }' >part.c
echo 'int part(void); int main(void) { return part(); }' >main.c
autoreconf --install
./configure
make -j2 check
make install DESTDIR="$PWD/root"
'''),
    Program('maven, offline', BUILDING, 'maven maven-debian-helper openjdk-17-jdk-headless', r'''
mkdir -p src/main/java
echo 'public class Main { public static void main(String[] words) { System.out.println(42); } }' >src/main/java/Main.java
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>answer</artifactId><version>1</version><packaging>jar</packaging>
  <properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
</project>
END
mvn -o -q -B -Dmaven.repo.local=/usr/share/maven-repo package
same "$(java -cp target/answer-1.jar Main)" 42
'''),
    # --- interpreters ---
    Program('python3', INTERPRETERS, 'python3', r'''
cat >test_all.py <<'END'
import asyncio, concurrent.futures, multiprocessing, os, sqlite3, subprocess, sys, tempfile, unittest
class All(unittest.TestCase):
    def test_processes(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(sum(pool.map(abs, range(-3, 0))), 6)
        with multiprocessing.Manager() as manager:
            self.assertEqual(list(manager.list([1])), [1])
    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(sum(pool.map(int, "123")), 6)
    def test_asyncio(self):
        async def run():
            process = await asyncio.create_subprocess_exec("echo", "hello", stdout=subprocess.PIPE)
            return (await process.communicate())[0]
        self.assertEqual(asyncio.run(run()), b"hello\n")
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder, sqlite3.connect(folder + "/db") as db:
            db.execute("create table t (x)")
        self.assertEqual(os.getlogin.__name__, "getlogin")
unittest.main()
END
python3 test_all.py
'''),
    Program('python3 venv, pip', INTERPRETERS, 'python3-venv', r'''
mkdir -p package/answer
printf 'from setuptools import setup\nsetup(name="answer", version="1", packages=["answer"], entry_points={"console_scripts": ["answer=answer:main"]})\n' >package/setup.py
printf 'def main():\n    print(42)\n' >package/answer/__init__.py
/usr/bin/python3 -m venv v
v/bin/pip install --no-index --no-build-isolation ./package
same "$(v/bin/answer)" 42
v/bin/pip check
'''),
    Program('node', INTERPRETERS, 'nodejs', r'''
cat >main.js <<'END'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync, fork } = require('child_process');
const http = require('http'), fs = require('fs');
if (!isMainThread) { parentPort.postMessage(7); return; }
if (process.argv[2] === 'child') { process.send(3); return; }
const worker = () => new Promise(done => new Worker(__filename).on('message', done));
const child = () => new Promise(done => fork(__filename, ['child']).on('message', done));
const request = () => new Promise(done => {
	const server = http.createServer((_, answer) => answer.end('32')).listen(0, '127.0.0.1', () =>
		http.get({ port: server.address().port, host: '127.0.0.1', agent: false }, answer => answer.on('data', data => { server.close(); done(+data); })));
});
const watch = () => new Promise(done => {
	const watcher = fs.watch('.', () => { watcher.close(); done(0); });
	fs.writeFileSync('watched', '');
});
Promise.all([worker(), child(), request(), watch()]).then(all => console.log(all.reduce((a, b) => a + b), execFileSync('echo', ['done']).toString().trim()));
END
same "$(node main.js)" '42 done'
'''),
    Program('npm, offline', INTERPRETERS, 'nodejs npm', r'''
mkdir part whole
echo '{"name": "part", "version": "1.0.0", "main": "part.js", "bin": {"part": "part.js"}, "scripts": {"postinstall": "echo ran >ran"}}' >part/package.json
printf '#!/usr/bin/env node\nconsole.log(42)\n' >part/part.js
npm pack --offline ./part
cd whole
echo '{"name": "whole", "version": "1.0.0", "scripts": {"test": "part"}}' >package.json
npm install --offline --no-audit --no-fund ../part-1.0.0.tgz
same "$(npm --silent test)" 42
same "$(cat node_modules/part/ran)" ran
'''),
    Program('perl, prove', INTERPRETERS, 'perl', r'''
mkdir t
printf 'use strict; use warnings; use Test::More tests => 2;\nuse POSIX; use File::Temp;\nmy $pid = fork // die; if (!$pid) { POSIX::_exit(3) }\nwaitpid $pid, 0; is($? >> 8, 3);\nlike(`echo hello`, qr/hello/);\n' >t/one.t
printf 'use Test::More; use IO::Socket::INET;\nmy $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die;\nok(IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport));\ndone_testing;\n' >t/two.t
prove -j2 t
'''),
    Program('ruby, gem', INTERPRETERS, 'ruby', r'''
mkdir -p part/lib && cd part
printf 'Gem::Specification.new do |s|\n  s.name = "part"; s.version = "1"; s.summary = "s"; s.authors = ["a"]; s.files = ["lib/part.rb"]\nend\n' >part.gemspec
echo 'def answer = Thread.new { 42 }.value' >lib/part.rb
gem build part.gemspec
gem install --local --no-document --install-dir ../gems part-1.gem
same "$(GEM_HOME=$PWD/../gems ruby -rpart -e 'puts answer')" 42
'''),
    Program('php', INTERPRETERS, 'php-cli', r'''
echo '<?php echo array_sum(array_map(fn($x) => $x * 2, range(1, 6)));' >main.php
same "$(php main.php)" 42
same "$(php -r 'echo json_encode([1, extension_loaded("posix")]);')" '[1,true]'
'''),
    Program('lua', INTERPRETERS, 'lua5.4', r'''
echo 'local f = io.popen("echo 42"); print(coroutine.wrap(function() coroutine.yield(f:read()) end)())' >main.lua
same "$(lua5.4 main.lua)" 42
'''),
    Program('tclsh', INTERPRETERS, 'tcl', r'''
cat >main.tcl <<'END'
proc accept {channel address port} { puts $channel 42; close $channel }
set server [socket -server accept -myaddr 127.0.0.1 0]
set client [socket -async 127.0.0.1 [lindex [fconfigure $server -sockname] 2]]
fileevent $client readable {set answer [gets $client]}
vwait answer
puts $answer[exec echo !]
END
same "$(tclsh main.tcl)" '42!'
'''),
    Program('Rscript', INTERPRETERS, 'r-base-core', r'''
same "$(Rscript -e 'cat(round(coef(lm(dist ~ speed, cars))[[2]], 2))')" 3.93
Rscript -e 'pdf("plot.pdf"); plot(cars); invisible(dev.off()); library(parallel); stopifnot(sum(unlist(mclapply(1:4, function(x) x, mc.cores = 2))) == 10)'
[ -s plot.pdf ]
'''),
    Program('guile', INTERPRETERS, 'guile-3.0', r'''
echo '(use-modules (ice-9 threads)) (display (apply + (par-map (lambda (x) (* x 2)) (iota 7))))' >main.scm
same "$(guile --no-auto-compile main.scm)" 42
'''),
    Program('erlang', INTERPRETERS, 'erlang-base', r'''
printf -- '-module(answer).\n-export([start/0]).\nstart() ->\n\tSelf = self(),\n\tspawn(fun() -> Self ! 42 end),\n\treceive N -> io:format("~p~n", [N]) end,\n\thalt().\n' >answer.erl
erlc answer.erl
same "$(erl -noshell -s answer start)" 42
'''),
    # --- version control ---
    Program('git', VERSIONS, 'git', r'''
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init -q -b main one && cd one
echo one >file && git add file && git commit -q -m one
git worktree add -q ../tree -b other
(cd ../tree && echo two >>file && git commit -q -a -m two)
git merge -q other
git gc -q && git fsck --strict
cd .. && git clone -q one two && git clone -q --bare "file://$PWD/one" three.git
cd two && git tag v1 && git push -q ../three.git v1
same "$(git log --oneline | wc -l)" 2
same "$(git -C ../three.git tag)" v1
git blame file >&2 && git bisect start HEAD HEAD~1 >&2
'''),
    Program('git init --shared', VERSIONS, 'git', r'''
git init -q --bare --shared=group shared.git
same "$(stat -c %A shared.git/objects | cut -c 5-7)" rws
git -C shared.git config core.sharedRepository
''', verdict=NOT + 'set-group-id directories are refused with set-id files'),
    Program('hg', VERSIONS, 'mercurial', r'''
hg init one && cd one
echo one >file && hg add file && hg commit -u a -m one
cd .. && hg clone -q one two && cd two
echo two >>file && hg commit -u a -m two && hg push -q
same "$(hg -R ../one log --template '{rev} ')" '1 0 '
hg verify
'''),
    Program('svn, svnserve', VERSIONS, 'subversion', r'''
svnadmin create repository
svn -q checkout "file://$PWD/repository" one
cd one && echo one >file && svn add file && svn commit -m one
cd .. && printf '[general]\nanon-access = write\n' >repository/conf/svnserve.conf
port=$(free_port)
svnserve --daemon --foreground --listen-host 127.0.0.1 --listen-port "$port" -r "$PWD" & ends $!
until_works svn info "svn://127.0.0.1:$port/repository"
svn -q checkout "svn://127.0.0.1:$port/repository" two
same "$(cat two/file)" one
svnadmin verify repository
'''),
    # --- databases ---
    Program('sqlite3', DATABASES, 'sqlite3', r'''
sqlite3 db 'pragma journal_mode = wal; create table t (x integer); insert into t values (40), (2);'
same "$(sqlite3 db 'select sum(x) from t')" 42
same "$(sqlite3 db .dump | sqlite3 copy && sqlite3 copy 'pragma integrity_check')" ok
'''),
    Program('postgresql', DATABASES, 'postgresql-15 postgresql-client-15', r'''
bin=/usr/lib/postgresql/15/bin
$bin/initdb -D data -A trust --no-sync
$bin/postgres -D data -k "$PWD" -c listen_addresses= -c fsync=off & ends $!
until_works psql -h "$PWD" -d postgres -c 'select 1'
psql -h "$PWD" -d postgres -v ON_ERROR_STOP=1 -c 'create table t as select generate_series(1, 1000) as x; create index on t (x); analyze t'
same "$(psql -h "$PWD" -d postgres -Atc 'select sum(x) from t')" 500500
$bin/pg_dump -h "$PWD" postgres | grep -q 'CREATE TABLE public.t'
$bin/pg_ctl -D data -m fast stop
'''),
    Program('mariadb', DATABASES, 'mariadb-server mariadb-client', r'''
mariadb-install-db --no-defaults --datadir="$PWD/data" --auth-root-authentication-method=normal --skip-test-db >install.log 2>&1 || fail "$(tail -n 3 install.log)"
mariadbd --no-defaults --datadir="$PWD/data" --socket="$PWD/socket" --pid-file="$PWD/pid" --skip-networking --innodb-flush-log-at-trx-commit=0 & ends $!
until_works mariadb --no-defaults -S "$PWD/socket" -u root -e 'select 1'
mariadb --no-defaults -S "$PWD/socket" -u root -e 'create database d; create table d.t (x int) engine = InnoDB; insert into d.t values (40), (2)'
same "$(mariadb --no-defaults -S "$PWD/socket" -u root -N -e 'select sum(x) from d.t')" 42
mariadb-admin --no-defaults -S "$PWD/socket" -u root shutdown
'''),
    Program('redis', DATABASES, 'redis-server', r'''
redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --appendonly yes & ends $!
until_works redis-cli -s socket ping
redis-cli -s socket set answer 42
same "$(redis-cli -s socket get answer)" 42
redis-cli -s socket save
redis-cli -s socket shutdown
[ -s dump.rdb ]
'''),
    # --- servers ---
    Program('nginx, curl', SERVERS, 'nginx-light curl', r'''
port=$(free_port) && mkdir logs html && echo hello >html/index.html
printf 'daemon off;\npid nginx.pid;\nerror_log stderr;\nworker_processes 2;\nevents {}\nhttp {\n  access_log off;\n  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n  server { listen 127.0.0.1:%s; root html; sendfile on; }\n}\n' "$port" >nginx.conf
nginx -p "$PWD" -c nginx.conf -e stderr & ends $!
until_works curl -fsS "http://127.0.0.1:$port/"
same "$(curl -fsS "http://127.0.0.1:$port/index.html")" hello
nginx -p "$PWD" -c nginx.conf -e stderr -s quit
'''),
    Program('apache2, curl', SERVERS, 'apache2-bin curl', r'''
port=$(free_port) && mkdir html && echo hello >html/index.html
m=/usr/lib/apache2/modules
printf 'ServerRoot %s\nPidFile pid\nListen 127.0.0.1:%s\nErrorLog error.log\nLoadModule mpm_event_module %s/mod_mpm_event.so\nLoadModule authz_core_module %s/mod_authz_core.so\nLoadModule dir_module %s/mod_dir.so\nDirectoryIndex index.html\nDocumentRoot html\nMutex posixsem\n' \
	"$PWD" "$port" $m $m $m >apache.conf
apache2 -f "$PWD/apache.conf" -D FOREGROUND & ends $!
until_works curl -fsS "http://127.0.0.1:$port/"
same "$(curl -fsS "http://127.0.0.1:$port/")" hello
'''),
    Program('python3 -m http.server, curl', SERVERS, 'python3 curl', r'''
port=$(free_port) && echo hello >file
python3 -m http.server --bind 127.0.0.1 "$port" & ends $!
until_works curl -fsS "http://127.0.0.1:$port/file"
same "$(curl -fsS "http://localhost:$port/file")" hello
'''),
    Program('php -S, curl', SERVERS, 'php-cli curl', r'''
port=$(free_port) && echo '<?php echo 6 * 7;' >index.php
php -S "127.0.0.1:$port" & ends $!
until_works curl -fsS "http://127.0.0.1:$port/"
same "$(curl -fsS "http://127.0.0.1:$port/")" 42
'''),
    Program('sshd, ssh, sftp', SERVERS, 'openssh-server openssh-client', SSHD + r'''
same "$(ssh $options -p "$port" 127.0.0.1 'echo answer 42')" 'answer 42'
echo 'put key.pub copied' | sftp -q $options -P "$port" -b - 127.0.0.1:"$PWD"
cmp key.pub copied
'''),
    Program('sshd, ssh -tt', SERVERS, 'openssh-server openssh-client', SSHD + r'''
ssh -tt $options -p "$port" 127.0.0.1 'tty && echo answer 42' >out
grep -q /dev/pts/ out && grep -q 'answer 42' out
''', host='devpts mounted with gid=5',
            rootless=NOT + 'it gives a terminal to the group tty, which the user has no id of'),
    # --- browsers ---
    Program('chromium --headless --no-sandbox', BROWSERS, 'chromium', r'''
echo '<p id=p>before</p><script>document.getElementById("p").textContent = 6 * 7</script>' >page.html
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/data" --dump-dom "file://$PWD/page.html" >out
grep -q '<p id="p">42</p>' out
'''),
    Program('chromium --headless', NESTED, 'chromium', r'''
echo '<p id=p>before</p><script>document.getElementById("p").textContent = 6 * 7</script>' >page.html
chromium --headless --disable-gpu --user-data-dir="$PWD/data" --dump-dom "file://$PWD/page.html" >out
grep -q '<p id="p">42</p>' out
''', verdict=WITH + '-p nested', host='user namespaces for ordinary users'),
    Program('firefox-esr --headless', BROWSERS, 'firefox-esr', r'''
echo '<h1>hello</h1>' >page.html
mkdir profile
firefox-esr --headless --no-remote --profile "$PWD/profile" --window-size 300,200 --screenshot "$PWD/shot.png" "file://$PWD/page.html"
same "$(head -c 4 shot.png | tail -c 3)" PNG
'''),
    # --- debuggers and sanitizers ---
    Program('gdb', DEBUGGERS, 'gdb gcc libc6-dev', r'''
printf 'int twice(int x)\n{\n\treturn 2 * x;\n}\nint main(void)\n{\n\treturn twice(21) != 42;\n}\n' >main.c
gcc -g -O0 -o main main.c
gdb -q -batch -ex 'break twice' -ex run -ex 'print x * 2' -ex backtrace -ex continue ./main >out
grep -q '= 42' out && grep -q 'exited normally' out
'''),
    Program('gdb --pid', DEBUGGERS, 'gdb', r'''
sleep 1000 & ends $!
until_works grep -q sleep /proc/$!/comm
gdb -q -batch -ex 'info proc cmdline' --pid $! >out
grep -q "'sleep 1000'" out
''', host='kernel.yama.ptrace_scope at 0, or no Yama'),
    Program('strace -f', DEBUGGERS, 'strace', r'''
strace -f -o trace -e trace=execve sh -c 'cat /dev/null; echo done'
same "$(grep -c 'execve(' trace)" 2
strace -c -o count true && grep -q total count
'''),
    Program('valgrind', DEBUGGERS, 'valgrind gcc libc6-dev', r'''
printf '#include <stdlib.h>\nint main(void) { char *p = malloc(8); p[8] = 1; free(p); return 0; }\n' >main.c
gcc -g -o main main.c
valgrind -q --error-exitcode=7 ./main 2>out && fail 'nothing was found'
grep -q 'Invalid write of size 1' out
valgrind -q --error-exitcode=7 true
'''),
    Program('perf stat', DEBUGGERS, 'linux-perf', r'''
perf stat -e task-clock:u,page-faults:u -o out true
grep -q 'task-clock' out
grep -q 'not supported' out && fail "$(cat out)"
true
''', verdict=WITH + '-p perf', host='kernel.perf_event_paranoid at 2 or less'),
    Program('AddressSanitizer', DEBUGGERS, 'gcc libc6-dev', r'''
printf '#include <stdlib.h>\nint main(int n, char **v) { char *p = malloc(8); p[7 + n] = 1; if (n < 2) free(p); return 0; }\n' >main.c
gcc -g -fsanitize=address -o main main.c
./main 2>out && fail 'nothing was found'
grep -q 'heap-buffer-overflow' out
printf '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(8); p = 0; return p != 0; }\n' >leak.c
gcc -g -fsanitize=address -o leak leak.c
./leak 2>out && fail 'no leak was found'
grep -q 'LeakSanitizer: detected' out
'''),
    Program('ThreadSanitizer', DEBUGGERS, 'gcc libc6-dev', r'''
printf '#include <pthread.h>\nint x;\nstatic void *run(void *p) { x++; return p; }\nint main(void) { pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }\n' >main.c
gcc -g -fsanitize=thread -o main main.c
./main 2>out || true
grep -q 'data race' out
''', host='vm.mmap_rnd_bits at 28'),
    Program('UndefinedBehaviorSanitizer', DEBUGGERS, 'gcc libc6-dev', r'''
printf 'int main(int n, char **v) { int x = 2147483647; return (x + n) == 0; }\n' >main.c
gcc -g -fsanitize=undefined -o main main.c
./main 2>out || true
grep -q 'signed integer overflow' out
'''),
    # --- terminals ---
    Program('vim', TERMINALS, 'vim-tiny', r'''
vim=vim.tiny && command -v $vim || vim=vim
dialog "$vim -u NONE notes" notes 'ihello\x1b:wq\r'
same "$(cat notes)" hello
'''),
    Program('nano', TERMINALS, 'nano', r'''
dialog 'nano notes' 'New File' 'hello\x0f' 'File Name' '\r' Wrote '\x18'
same "$(cat notes)" hello
'''),
    Program('emacs -nw', TERMINALS, 'emacs-nox', r'''
dialog 'emacs -Q -nw notes' 'New file' 'hello\x18\x13' Wrote '\x18\x03'
same "$(cat notes)" hello
same "$(emacs -Q --batch --eval '(princ (* 6 7))')" 42
'''),
    Program('tmux', TERMINALS, 'tmux', r'''
dialog "tmux -S $PWD/socket -f /dev/null new-session 'exec bash --norc'" '$' 'echo $(tput cols) >cols\r' '$' 'tty >tty; exit\r'
same "$(cat cols)" 80
grep -q /dev/pts/ tty
TERM=xterm tmux -S "$PWD/socket" -f /dev/null new-session -d 'exec sh'
tmux -S "$PWD/socket" send-keys 'echo answer >answer; exit' Enter
until_works test -s answer
'''),
    Program('screen', TERMINALS, 'screen', r'''
mkdir -m 700 sockets && export SCREENDIR=$PWD/sockets
dialog 'screen -c /dev/null -S one bash --norc' '$' 'tty >tty; exit\r'
grep -q /dev/pts/ tty
'''),
    Program('less', TERMINALS, 'less', r'''
seq 1000 >file
dialog 'less file' 23 'G' 1000 '?500\r' 500 q
'''),
    Program('top', TERMINALS, 'procps', r'''
top -b -n 1 | grep -q PID
dialog top PID q
'''),
    Program('bash, with job control', TERMINALS, '', r'''
dialog 'PS1="ready> " bash --norc --noprofile -i' 'ready> ' 'sh -c "echo \\$((6 * 7)); exec sleep 1000"\r' 42 '\x1a' Stopped 'bg\r' '&' 'kill %1; wait %1; echo $?\r' 143 'exit\r'
'''),
    Program('zsh', TERMINALS, 'zsh', r'''
dialog 'PS1="ready> " zsh -f -i' 'ready> ' 'print $((6*7)) >answer; exit\r'
same "$(cat answer)" 42
'''),
    Program('fish', TERMINALS, 'fish', r'''
same "$(fish -N -c 'math 6 x 7')" 42
dialog 'fish -N -i' '>' 'echo typed >answer; exit\r'
same "$(cat answer)" typed
'''),
    Program('expect', TERMINALS, 'expect', r'''
same "$(expect -c 'log_user 0; spawn sh -c {read line; echo got $line}; send "42\r"; expect -re {got (\d+)}; puts $expect_out(1,string)')" 42
'''),
    Program('man', TERMINALS, 'man-db', r'''
printf '.TH answer 1\n.SH NAME\nanswer - forty-two\n' >answer.1
man -l answer.1 | grep -q forty-two
'''),
    # --- documents ---
    Program('libreoffice --convert-to', DOCUMENTS, 'libreoffice-writer-nogui poppler-utils', r'''
echo 'hello from a document' >letter.txt
soffice --headless --convert-to pdf letter.txt
pdftotext letter.pdf - | grep -q 'hello from a document'
'''),
    Program('convert', DOCUMENTS, 'imagemagick', r'''
convert-im6.q16 -size 64x64 gradient:red-blue -rotate 90 picture.png
convert-im6.q16 picture.png picture.jpg
same "$(identify-im6.q16 -format %wx%h picture.jpg)" 64x64
convert-im6.q16 picture.png out.ps 2>/dev/null || true
convert-im6.q16 -list policy | grep -q 'Path: /etc/ImageMagick-6/policy.xml'
'''),
    Program('gs', DOCUMENTS, 'ghostscript', r'''
printf '%%!\n/Helvetica findfont 20 scalefont setfont 100 100 moveto (hello) show showpage\n' >page.ps
gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=page.pdf page.ps
gs -q -dBATCH -dNOPAUSE -sDEVICE=txtwrite -sOutputFile=- page.pdf | grep -q hello
gs -q -dBATCH -dNOPAUSE -sDEVICE=png16m -r36 -sOutputFile=page.png page.pdf
'''),
    Program('ffmpeg', DOCUMENTS, 'ffmpeg', r'''
ffmpeg -nostdin -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -f lavfi -i sine=duration=1 -c:v libx264 -c:a aac out.mp4
same "$(ffprobe -v error -select_streams v -count_frames -show_entries stream=nb_read_frames -of csv=p=0 out.mp4)" 10
'''),
    Program('pandoc', DOCUMENTS, 'pandoc', r'''
printf '# Title\n\n*hello*\n' >page.md
pandoc -t html page.md | grep -q '<em>hello</em>'
pandoc -o page.docx page.md && pandoc -t plain page.docx | grep -q hello
'''),
    Program('pdflatex', DOCUMENTS, 'texlive-latex-base poppler-utils', r'''
printf '\\documentclass{article}\n\\begin{document}\nhello from \\LaTeX, $\\sqrt{1764}$\n\\end{document}\n' >page.tex
pdflatex -interaction=nonstopmode page.tex
pdftotext page.pdf - | grep -q 'hello from'
'''),
    Program('dot', DOCUMENTS, 'graphviz', r'''
echo 'digraph { a -> b -> c }' >graph.dot
dot -Tsvg graph.dot | grep -q '</svg>'
dot -Tpng -o graph.png graph.dot
'''),
    # --- archivers ---
    Program('tar', ARCHIVERS, '', r'''
mkdir tree && echo one >tree/file && ln tree/file tree/hard && ln -s file tree/soft && mkfifo tree/fifo && truncate -s 10M tree/sparse && chmod 640 tree/file
mkdir out && tar -c -S -z -f archive tree && tar -x -p -f archive -C out
diff -r --exclude=fifo tree out/tree
same "$(stat -c %a%h out/tree/hard)" 6402
[ -p out/tree/fifo ]
'''),
    Program('tar xp, of a set-group-id directory', ARCHIVERS, '', r'''
python3 - <<'END'
import os, tarfile
with tarfile.open('archive.tar', 'w') as archive:
    info = tarfile.TarInfo('shared')
    info.type, info.mode, info.uid, info.gid = tarfile.DIRTYPE, 0o2775, os.getuid(), os.getgid()
    archive.addfile(info)
END
tar -x -p -f archive.tar
same "$(stat -c %a shared)" 2775
''', verdict=NOT + 'set-group-id directories are refused with set-id files'),
    Program('install -d -m 2775', ARCHIVERS, '', r'''
install -d -m 2775 shared
same "$(stat -c %a shared)" 2775
''', verdict=NOT + 'set-group-id directories are refused with set-id files'),
    Program('zip, unzip', ARCHIVERS, 'zip unzip', r'''
mkdir tree && seq 1000 >tree/file && ln -s file tree/link
zip -q -r -y archive.zip tree && mkdir out && unzip -q archive.zip -d out
diff -r tree out/tree
'''),
    Program('7z', ARCHIVERS, '7zip', r'''
mkdir tree && seq 10000 >tree/file
7zz a -mmt2 archive.7z tree && 7zz x -oout archive.7z
diff -r tree out/tree
'''),
    Program('xz, zstd', ARCHIVERS, 'xz-utils zstd', r'''
seq 200000 >file
xz -k -T2 file && xz -dc file.xz | cmp - file
zstd -q -k -T2 file && zstd -dcq file.zst | cmp - file
'''),
    Program('cpio', ARCHIVERS, 'cpio', r'''
mkdir tree && seq 1000 >tree/file && ln tree/file tree/hard
find tree | cpio -o -H newc >archive && mkdir out && (cd out && cpio -i -d <../archive)
diff -r tree out/tree
'''),
    Program('rsync', ARCHIVERS, 'rsync', r'''
mkdir tree && seq 1000 >tree/file && ln tree/file tree/hard && ln -s file tree/soft && touch -d @1000000000 tree/file
rsync -aHAX tree/ copy/
diff -r tree copy
same "$(stat -c %Y%h copy/hard)" 10000000002
port=$(free_port) && printf 'use chroot = no\npid file = %s/pid\n[all]\npath = %s\n' "$PWD" "$PWD/tree" >conf
rsync --daemon --no-detach --address 127.0.0.1 --port "$port" --config conf & ends $!
until_works rsync "rsync://127.0.0.1:$port/all/"
rsync -a "rsync://127.0.0.1:$port/all/" second/
diff -r tree second
'''),
    Program('dpkg-deb', ARCHIVERS, '', r'''
mkdir -p package/DEBIAN package/usr/share/answer && echo 42 >package/usr/share/answer/file
printf 'Package: answer\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: an answer\n' >package/DEBIAN/control
dpkg-deb --root-owner-group --build package answer.deb
same "$(dpkg-deb --fsys-tarfile answer.deb | tar -xO ./usr/share/answer/file)" 42
'''),
    Program('dpkg-buildpackage', ARCHIVERS, 'dpkg-dev debhelper fakeroot build-essential', r'''
mkdir -p answer-1/debian/source && cd answer-1
printf '#!/bin/sh\necho 42\n' >answer
printf 'Source: answer\nMaintainer: a <a@example.com>\nBuild-Depends: debhelper-compat (= 13)\nStandards-Version: 4.6.2\nRules-Requires-Root: binary-targets\n\nPackage: answer\nArchitecture: all\nDescription: an answer\n' >debian/control
printf 'answer (1) unstable; urgency=low\n\n  * An answer.\n\n -- a <a@example.com>  Sat, 01 Jan 2022 00:00:00 +0000\n' >debian/changelog
printf '#!/usr/bin/make -f\n%%:\n\tdh $@\n' >debian/rules && chmod 755 debian/rules
echo '3.0 (native)' >debian/source/format && echo 'answer usr/bin' >debian/install
dpkg-buildpackage -us -uc
dpkg-deb -c ../answer_1_all.deb | grep -q root/root.*/usr/bin/answer
'''),
    # --- the system ---
    Program('dpkg -l', SYSTEM, '', r'''
dpkg -l dpkg | grep -q '^ii  dpkg'
dpkg -S /usr/bin/dpkg
'''),
    Program('hostname -f', SYSTEM, '', r'''
[ -n "$(hostname -f)" ]
getent hosts "$(hostname)"
''', host='a line for its own name in /etc/hosts'),
    Program('java, its own host', SYSTEM, 'openjdk-17-jdk-headless', r'''
echo 'public class Main { public static void main(String[] words) throws Exception { System.out.println(java.net.InetAddress.getLocalHost().getHostAddress()); } }' >Main.java
java Main.java
''', host='a line for its own name in /etc/hosts'),
    Program('lscpu', SYSTEM, '', r'''
lscpu | grep -q '^CPU(s)'
'''),
    Program('locale', SYSTEM, 'locales-all', r'''
same "$(LC_ALL=de_DE.UTF-8 /usr/bin/printf %.1f 1,5)" 1,5
LC_ALL=de_DE.UTF-8 ls /nothing 2>&1 | grep -q . && LC_ALL=de_DE.UTF-8 date -d 2022-03-01 +%B | grep -q März
'''),
    # --- nested ---
    Program('bwrap', NESTED, 'bubblewrap', r'''
same "$(bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --unshare-all --proc /proc --dev /dev echo 42)" 42
''', verdict=WITH + '-p nested', host='user namespaces for ordinary users'),
    # --- suites ---
    Program('zlib, make check', SUITES, 'gcc make libc6-dev dpkg-dev', r'''
./configure && make -j2 && make check
''', source='zlib'),
    Program('bzip2, make check', SUITES, 'gcc make libc6-dev dpkg-dev', r'''
make check
''', source='bzip2'),
    Program('mawk, make check', SUITES, 'gcc make libc6-dev dpkg-dev', r'''
./configure && make -j2 && make check
''', source='mawk'),
]
