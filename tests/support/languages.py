# SPDX-License-Identifier: Apache-2.0
"""
Programs in each language that code may come in: what they do is the same, so that tests can go over all of them.

hello    writes "hello", its first argument and the line that it reads
fail     writes "bad" to stderr, and exits with status 3
endless  does not end
hog      takes memory without end
bomb     starts processes without end
"""

PROGRAMS = {
    'python': {
        'hello': "import sys\nprint('hello', sys.argv[1], input())",
        'fail': "import sys\nsys.stderr.write('bad\\n')\nsys.exit(3)",
        'endless': 'while True:\n    pass',
        'hog': "a = []\nwhile True:\n    a.append(bytearray(1 << 20))",
        'bomb': 'import os\nwhile True:\n    os.fork()',
    },
    'javascript': {
        'hello': "console.log('hello', process.argv[2], require('fs').readFileSync(0, 'utf8').trim())",
        'fail': "console.error('bad'); process.exit(3)",
        'endless': 'for (;;);',
        'hog': "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))",
        'bomb': "const { spawn } = require('child_process');\nfor (;;) spawn(process.argv[0], [__filename]).on('error', () => {})",
    },
    'typescript': {
        'hello': "import { readFileSync } from 'fs';\n"
                 "const line: string = readFileSync(0, 'utf8').trim();\nconsole.log('hello', process.argv[2] as string, line);",
        'fail': "const status: number = 3;\nconsole.error('bad'); process.exit(status);",
        'endless': 'const on: boolean = true;\nwhile (on);',
        'hog': "const a: Buffer[] = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));",
        'bomb': "import { spawn } from 'child_process';\nfor (;;) spawn(process.argv[0], [__filename]).on('error', () => {});",
    },
    'bash': {
        'hello': 'read -r line; echo "hello $1 $line"',
        'fail': 'echo bad >&2; exit 3',
        'endless': 'while :; do :; done',
        'hog': 'a=x; while :; do a=$a$a; done',
        'bomb': 'bomb() { bomb | bomb & }; bomb; wait; while :; do bomb; done',
    },
    'go': {
        'hello': 'package main\nimport ("bufio"; "fmt"; "os")\n'
                 'func main() { line, _, _ := bufio.NewReader(os.Stdin).ReadLine(); fmt.Println("hello", os.Args[1], string(line)) }',
        'fail': 'package main\nimport "os"\nfunc main() { os.Stderr.WriteString("bad\\n"); os.Exit(3) }',
        'endless': 'package main\nfunc main() { for {} }',
        'hog': 'package main\nfunc main() { a := [][]byte{}; for { b := make([]byte, 1<<20); for i := range b { b[i] = 1 }; a = append(a, b) } }',
        'bomb': 'package main\nimport ("os"; "os/exec")\nfunc main() { for { exec.Command(os.Args[0]).Start() } }',
    },
    'rust': {
        'hello': 'use std::io;\nfn main() { let mut line = String::new(); io::stdin().read_line(&mut line).unwrap();\n'
                 'println!("hello {} {}", std::env::args().nth(1).unwrap(), line.trim()); }',
        'fail': 'fn main() { eprintln!("bad"); std::process::exit(3) }',
        'endless': 'fn main() { loop { std::hint::spin_loop() } }',
        'hog': 'fn main() { let mut a = Vec::new(); loop { a.push(vec![1u8; 1 << 20]); } }',
        'bomb': 'fn main() { let me = std::env::current_exe().unwrap(); loop { let _ = std::process::Command::new(&me).spawn(); } }',
    },
    'c': {
        'hello': '#include <stdio.h>\nint main(int argc, char **argv) { char line[80]; (void)argc;\n'
                 'if (fgets(line, sizeof line, stdin)) printf("hello %s %s", argv[1], line); }',
        'fail': '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { fputs("bad\\n", stderr); exit(3); }',
        'endless': 'int main(void) { volatile int on = 1; while (on); }',
        'hog': '#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { void *p = malloc(1 << 20); if (!p) abort(); memset(p, 1, 1 << 20); } }',
        'bomb': '#include <unistd.h>\nint main(void) { for (;;) fork(); }',
    },
    'c++': {
        'hello': '#include <iostream>\n#include <string>\nint main(int, char **argv) { std::string line; std::getline(std::cin, line);\n'
                 'std::cout << "hello " << argv[1] << " " << line << "\\n"; }',
        'fail': '#include <cstdio>\nint main() { std::fputs("bad\\n", stderr); return 3; }',
        'endless': 'int main() { volatile bool on = true; while (on); }',
        'hog': '#include <vector>\nint main() { std::vector<std::vector<char>> a; for (;;) a.emplace_back(1 << 20, 1); }',
        'bomb': '#include <unistd.h>\nint main() { for (;;) fork(); }',
    },
    'java': {
        'hello': 'import java.util.Scanner;\npublic class Hello { public static void main(String[] args) {\n'
                 'System.out.println("hello " + args[0] + " " + new Scanner(System.in).nextLine()); } }',
        'fail': 'class Fail { public static void main(String[] args) { System.err.println("bad"); System.exit(3); } }',
        'endless': 'class Endless { public static void main(String[] args) { for (;;); } }',
        'hog': 'import java.util.*;\nclass Hog { public static void main(String[] args) { List<byte[]> a = new ArrayList<>(); for (;;) a.add(new byte[1 << 20]); } }',
        'bomb': 'class Bomb { public static void main(String[] args) { for (;;) try { new ProcessBuilder("sleep", "60").start(); } catch (Exception e) {} } }',
    },
    'ruby': {
        'hello': 'puts "hello #{ARGV[0]} #{$stdin.gets.chomp}"',
        'fail': "warn 'bad'\nexit 3",
        'endless': 'loop {}',
        'hog': "a = []\nloop { a << 'x' * (1 << 20) }",
        'bomb': 'loop { fork rescue nil }',
    },
    'perl': {
        'hello': 'my $line = <STDIN>;\nprint "hello $ARGV[0] $line";',
        'fail': 'print STDERR "bad\\n";\nexit 3;',
        'endless': '1 while 1;',
        'hog': 'my @a;\npush @a, "x" x (1 << 20) while 1;',
        'bomb': 'while (1) { fork; }',
    },
    'php': {
        'hello': 'echo "hello {$argv[1]} " . fgets(STDIN);',
        'fail': 'fwrite(STDERR, "bad\\n"); exit(3);',
        'endless': 'for (;;);',
        'hog': 'ini_set("memory_limit", -1); $a = []; for (;;) $a[] = str_repeat("x", 1 << 20);',
        'bomb': 'for (;;) @pcntl_fork();',
    },
    'lua': {
        'hello': 'print("hello " .. arg[1] .. " " .. io.read())',
        'fail': 'io.stderr:write("bad\\n") os.exit(3)',
        'endless': 'while true do end',
        'hog': 'local a = {} while true do a[#a + 1] = string.rep("x", 1 << 20) .. #a end',
        'bomb': 'while true do os.execute("sleep 60 &") end',
    },
}
