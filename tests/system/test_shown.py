# SPDX-License-Identifier: Apache-2.0
"""
What README.md and the guides show is run here, by an ordinary user with the service: the commands of a page, in their order, but for those that a
table leaves out with the reason. Each has to print what the page shows, but for what differs each time: times, and sizes of what was compiled.
An id stands for the one that was printed in its place first.
"""
import os
import re
import select
import shlex
import subprocess

import yett

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARK = 'all of that was printed'
# A project that the pages show.
ANSWER = r"printf 'int main(void)\n{\n\treturn 42;\n}\n' >main.c; echo 'An answer.' >README"
UNTIL = 'until %s; do sleep 0.1; done'
TERMINAL = 'typed at a terminal: system-terminal'
KILLED = 'an apply that was killed: system-apply'
SERVE = 'rm -f told; yett serve %s >told & ' + UNTIL % 'grep -qs Listening told'
# Told before a page: away with what is in the directory; what a command changes, and which sandbox changes it, as the id of its store.
FUNCTIONS = r"""
clean() { rm -rf ./* .[!.]*; }
changed() { yett run --cow . -- sh -c "$1" 2>&1 | sed -n 's/.* yett discard \([0-9a-f]*\) .*/\1/p'; }
store() { yett work list --json | python3 -c 'import json, sys
print(*[work["id"] for work in json.load(sys.stdin)["result"]["works"] if work["sandbox"] == sys.argv[1]])' "$1"; }
"""
# Who the documents have: name and number.
NAME, NUMBER = 'alice', '1010'

DATE = r'\d{4}-\d\d-\d\d[T ]+\d\d:\d\d(?::\d\d(?:\.\d{3}Z)?)?'
ID, LONG_ID = r'\b(?!0{16})[0-9a-f]{16}\b', r'\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b'
# What differs each time, wherever it stands, and by what it is matched.
VARIES = (
    (r' ?…', r'.*'),
    (DATE, DATE),
    (r'[A-Z][a-z]{2} +\d+ \d\d:\d\d', r'[A-Z][a-z]{2} +\d+ \d\d:\d\d'),
    (r'\d\d:\d\d:\d\d\.\d{3}', r'\d\d:\d\d:\d\d\.\d{3}'),
    (r'(?<="file": ")[\w/.-]+|(?<="file":")[\w/.-]+|(?<="line": )\d+|(?<="line":)\d+', r'[\w/.-]+'),
    (r'(?<="memory_used_bytes":)\d+', r'\d+(?:,"(?:read|written)_bytes":\d+)*'),
    (r'(?<=_ms":)\d+|(?<=duration":)[\d.]+|(?<=cpu":)[\d.]+|(?<=_bytes":)\d+', r'[\d.]+'),
    (r'(?<=^total )\d+|(?<=/proc/)[2-9]\b|(?<=[| ])\d{5}(?= bytes$)|^[0-9a-f]{7}\b(?= )', r'[0-9a-f]+'),
    (r'(?<=  )(?:\d+m)?[\d.]+s(?=  )', r'(?:\d+[dhm])?[\d.]+[hms]'),  # the columns TIME and AGE
    (r'(?<=  )\d+(?=  - +app=)', r'\d+'),  # ATTACHED: who asked just before may not have gone
)
# In a line of ls -l, and in one of yett stats: all numbers.
OF_COLUMNS = ((r'(?<= )[\d.]+[KMGs]?\b|(?<= )-(?= )', r'(?:[\d.]+[KMGs]?|-)'),)
COLUMNS = re.compile(r'^[-dc][-rwx]{9} |^\w+ {2,}[\d.]+ {2,}[\d.]+s ')


class Page:
    """
    The commands of a page, each with what it prints; what has to be done before one, or why one is not run; and those that print it only where
    the machine has time for it, as the page says.
    """

    def __init__(self, name, before=None, apart=None, begin=':', again=()):
        self.before, self.apart, self.begin, self.again = before or {}, apart or {}, begin, again
        with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
            self.shown = [each for kind, block in re.findall(r'(?ms)^```(.*?)\n(.*?)^```$', file.read()) if not kind for each in commands_of(block)]


def is_whole(command):
    """Whether a shell has read all of it: nothing quoted is open, and no word that ends it is waited for."""
    end = re.search(r"<<'(\w+)'", command)
    try:
        shlex.split(command[:end.start()] if end else command)
    except ValueError:
        return False
    return not re.search(r'(\||\\)$', command) and (not end or command.endswith('\n' + end.group(1)))


def commands_of(block):
    """[command, lines that it prints] of each that a block shows."""
    found, is_open = [], False
    for line in block.splitlines():
        if is_open:
            found[-1][0] += '\n' + line
        elif line.startswith('$ '):
            found.append([line[2:], []])
        elif found and not re.match(r'# [A-Z]', line):
            found[-1][1].append(line)
        is_open = bool(found) and not found[-1][1] and not is_whole(found[-1][0])
    for _, lines in found:
        while lines and not lines[-1]:
            lines.pop()
    return found


def parted(lines):
    """Those of Yett's own, which it writes elsewhere, and the others: on a terminal they may come in another order than in a file."""
    own, others = [], []
    for line in lines:
        is_own = line.startswith('yett: ') or (line.startswith('  ') and own and not others)
        (own if is_own else others).append(line)
    return own, others


class Session:
    """A shell of a user's, and what the names and ids that a page shows are called here."""

    def __init__(self, test, folder):
        service, self.user = test.service, test.alice
        self.names = {'/home/' + NAME: self.user.home, '/srv/data': self.user.home + '/data', NAME: self.user.name, NUMBER: str(self.user.uid)}
        self.policy, self.offset = service.policy, service.line('# The policy of Yett') - 1
        path = ':'.join([os.path.dirname(service.yett), os.path.join(os.environ['YETT_BUILD_ROOT'], 'agent'), test.folder('bin')])
        os.symlink(service.yett, self.user.home + '/bin/git-remote-yett')  # as it is installed
        self.process = service.popen(self.user, 'bash', cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     bufsize=0, env={'PATH': path + ':/usr/local/bin:/usr/bin:/bin', 'TZ': 'UTC'})
        test.addCleanup(test.end, self.process)

    def is_shown(self, lines, printed):
        return all(map(self.compare, parted(lines), parted(printed)))

    def prints(self, command, lines):
        return self.is_shown(lines, self.run(self.here(command)))

    def run(self, command):
        """What a command prints, as lines."""
        self.process.stdin.write(('{ %s\n} </dev/null 2>&1; echo; echo "%s"\n' % (command, MARK)).encode())
        self.process.stdin.flush()
        lines = []
        while not lines or lines[-1] != MARK:
            is_there = select.select([self.process.stdout], [], [], yett.DEADLINE)[0]
            line = self.process.stdout.readline() if is_there else b''
            if not line:
                raise AssertionError('%s: %s\n%s' % ('the shell has ended' if is_there else 'nothing more comes', command, '\n'.join(lines)))
            lines.append(line.decode(errors='replace').rstrip('\n'))
        lines.pop()
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def here(self, text):
        """A command, with what the page calls otherwise than this machine."""
        for name, own in self.names.items():
            text = re.sub(r'(?<!\w)%s(?!\w)' % re.escape(name), lambda _, own=own: own, text)
        return text

    def place(self, number):
        """A line of the shipped policy, for a regular expression: here others stand before it, but not in what is compiled in."""
        return '(?:built-in:%s|%s:%d)' % (number, re.escape(self.policy), int(number) + self.offset)

    def id_pattern(self, shown):
        if shown in self.names:
            return re.escape(self.names[shown])
        return '(?P<i%s>%s)' % (shown.replace('-', '_'), LONG_ID if '-' in shown else ID)

    def pattern(self, line):
        """What a line that is shown has to match here."""
        kinds = VARIES + (OF_COLUMNS if COLUMNS.search(line) else ())
        found = []

        def put(match):
            found.append(match)
            return '\0%d\0' % (len(found) - 1)

        line = re.sub('%s|%s' % (LONG_ID, ID), lambda match: put(self.id_pattern(match.group())), line)
        line = self.here(line)
        line = re.sub(r'(?:built-in|/etc/yett/yett\.conf):(\d+)', lambda match: put(self.place(match.group(1))), line)
        for kind, matched in kinds:
            line = re.sub(kind, lambda match, matched=matched: put(matched), line)
        line = re.sub(r'(?:\\ )+', ' +', re.escape(line))
        return re.sub('\0(\\d+)\0', lambda match: found[int(match.group(1))], line)

    def compare(self, shown, printed):
        """Whether that is what is shown; from then on new ids of the page are called what was printed in their place."""
        if len(shown) != len(printed):
            return False
        for expected, line in zip(shown, printed):
            match = re.fullmatch(self.pattern(expected), line)
            if not match:
                return False
            self.names.update((name[1:].replace('_', '-'), value) for name, value in match.groupdict().items())
        return True


class Shown(yett.Case):
    def setUp(self):
        self.alice.make_home()
        self.set_up_user(self.alice)

    def check(self, page):
        session = Session(self, self.folder('project'))
        self.addCleanup(session.run, 'for id in $(yett ps -q); do yett destroy $id; done; kill $(jobs -p); wait')
        self.assertEqual(session.run(FUNCTIONS + page.begin), [])
        before, wrong = dict(page.before), []
        for command, lines in page.shown:
            if command in page.apart:
                continue
            if command in before:
                for line in session.run(session.here(before.pop(command))):
                    self.assertRegex(line, r'^\w+ \w+$', command)
                    session.names.update([line.split()])
            if command in page.again:
                yett.wait_until(lambda command=command, lines=lines: session.prints(command, lines), command)
                continue
            printed = session.run(session.here(command))
            if not session.is_shown(lines, printed):
                wrong.append('$ %s\n--- shown\n%s\n--- printed\n%s\n' % (command, '\n'.join(lines), '\n'.join(printed)))
        self.assertEqual(wrong, [], '\n'.join(wrong))
        self.assertEqual((list(before), [command for command in page.apart if command not in dict(page.shown)]), ([], []), 'not on the page')

    def test_readme(self):
        self.check(Page('README.md', again=('yett run --allow pypi.org:443 -- curl -sS https://example.com/',), begin='echo "hello from the host" >notes.txt', before={
            "yett run --cow . -- sh -c 'sed -i s/42/0/ main.c; rm README; echo \"*\" >.envrc'": ANSWER,
        }))

    def test_guide(self):
        self.check(Page('docs/guide.md', begin='rm -r ~/.config/yett', before={
            'yett run -- ls -l': "echo 'int main(void) { return 42; }' >main.c",
            'yett run --ro ~ -- ls -A ~/.ssh': 'mkdir -p ~/.ssh .git/hooks .vscode; echo a key >~/.ssh/id_ed25519',
            "yett run --ro . --memory 256M --label task=42 -- python3 -c '\nimport json\nsandbox = json.load(open(\"/run/yett/sandbox.json\"))\n"
            "print(sandbox[\"limits\"][\"memory_bytes\"], sandbox[\"network\"], sandbox[\"shares\"], sandbox[\"labels\"])'": 'mkdir ~/hello; cd ~/hello',
            "yett run -e GREETING=hello --hostname box -- sh -c 'echo $GREETING from $(hostname), $(pwd)'": 'mkdir ~/work; cd ~/work',
            'yett exec --read-only tests -- touch /tmp/file': 'yett create --name tests >/dev/null',
            'yett run --copy-in main.c:/tmp/main.c --copy-out /tmp/answer:answer -C /tmp -- gcc -o answer main.c': 'yett destroy tests; cp ../project/main.c .',
            'yett create --name tests --label app=web --rw . --idle-timeout 30m':
                "echo 'all:' >Makefile; echo 'hello from the host' >notes.txt",
            'yett mount tests --ro /srv/data:/mnt/data --rw ~/results':
                'yett create --name tests >/dev/null; mkdir ~/results /srv/data; seq 3 >/srv/data/table',
            'yett create --name tests --rw .': "yett destroy tests; printf 'import time\\nprint(\"listening\", flush=True)\\ntime.sleep(10000)\\n' >server.py",
            'yett logs tests 1': UNTIL % 'yett logs tests 1 | grep -q listening',
            'yett create --name sorting --label app=demo --memory 256M --idle-timeout 1h': "printf 'pear\\nfig\\napple\\n' >words.txt; yett destroy tests",
        }, apart={
            'yett run -- sleep 30 &': 'what ps prints depends on how long the name is',
            'ps -o uid,user,pid,args -e | grep "[s]leep 30"': 'likewise',
            'yett run --ro . --publish 8080:8000 -- python3 -m http.server --bind 127.0.0.1 8000': 'it has no end, and a port that may be taken',
            'ssh-agent -a /run/user/1010/agent': 'an agent',
            'yett run --relay-socket /run/user/1010/agent -e SSH_AUTH_SOCK=/run/user/1010/agent -- git fetch': 'and somewhere to fetch from',
            'yett run --share-socket /run/user/1010/wayland-0 -e XDG_RUNTIME_DIR=/run/user/1010 -e WAYLAND_DISPLAY=wayland-0 -- foot': 'a desktop',
            'yett run --share-socket /run/user/1010/bus -- true': 'likewise',
            'yett ls tests:/tmp': 'homes of tests lie there, and so does what is shared of them',
            'yett events tests': 'the whole story is made by others meanwhile: system-events',
            'yett attach sorting': 'it runs beside the session',
            'yett shell --rw . --hostname box': TERMINAL, 'tty': TERMINAL, 'hostname': TERMINAL, 'exit': TERMINAL,
            'yett run -- id -un': 'without a service: system-rootless', 'yett run --memory 64M -- true': 'likewise',
        }))

    def test_workspaces(self):
        self.check(Page('docs/workspaces.md', begin=ANSWER, before={
            'yett diff eed10b8f9fe1c790':
                'echo eed10b8f9fe1c790 $(changed \'gcc -o answer main.c; rm README; sed -i "s/42/6 * 7/" main.c; echo answer >.gitignore\')',
            'yett diff 3c1f0d92b7a84e65':
                'clean; echo "int answer(void);" >answer.h; printf \'#include "answer.h"\n\nint answer(void)\n{\n\treturn 42;\n}\n\' >answer.c;'
                'echo 3c1f0d92b7a84e65 $(changed \'mkdir lib; mv answer.* lib; sed -i "s/42/6 * 7/" lib/answer.c\')',
            'yett apply --dry-run 3ceac0b04bd070da':
                'clean; ' + ANSWER + '; echo 3ceac0b04bd070da $(changed \'rm README; sed -i s/42/7/ main.c; echo answer >.gitignore; mkdir tests .vscode;'
                'touch tests/run .vscode/tasks.json\')',
            'yett apply 3ceac0b04bd070da': 'echo "/* outside */" >>main.c',
            'yett create --name work --cow .:/mnt/work': 'clean; echo "int main(void) { return 42; }" >main.c',
            'yett run --cow . -- sh -c \'rm README; echo "more" >notes\'': 'yett destroy -q work; clean; ' + ANSWER,
            'yett snapshot rollback f7caa53997b9bd16 before':
                'yett destroy -q task; id=$(yett create --name task --cow .); echo 54911623c5e70380 $id; echo f7caa53997b9bd16 $(store $id);'
                'yett snapshot take $(store $id) before >/dev/null 2>&1',
            'yett snapshot take 5a50a972e14dd1ec before': 'echo 5a50a972e14dd1ec $(store ed4118667e003707)',
            "yett run --cow . --hide .env --hide '*.key' -- sh -c 'ls -A; cat .env'":
                'git init -q -b main; git config user.name A; git config user.email a@example.org; git add .; git commit -qm "An answer"; echo TOKEN=1 >.env',
            'yett run --cow . -- sh -c \'sed -i s/42/7/ main.c; git commit -qam "Another answer"\'': 'rm .env ~/.config/yett/hide.d/default',
            'git remote add sandbox yett::a3cd4183d44b7f98': 'echo a3cd4183d44b7f98 45855f94ba1b079e; git branch -qD from-sandbox',
        }, apart={
            'yett apply --interactive be2bd79fb985e323': TERMINAL,
            'yett apply ad6e4a124ff18f3f': KILLED, 'yett discard --yes ad6e4a124ff18f3f': KILLED, 'yett apply --abort ad6e4a124ff18f3f': KILLED,
        }))

    def test_checkpoints(self):
        self.check(Page('docs/checkpoints.md', begin='echo \'{"draft": 1}\' >state.json', before={
            'yett snapshot take 6a4e623c7e13f044 one': 'echo 6a4e623c7e13f044 $(store acbe712b928e7557)',
        }))

    def test_agents(self):
        denied = """echo '{"command": "curl -sS https://example.com", "allow": ["pypi.org"]}' | yett tool --allow pypi.org run_command |
    python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["denied"], indent=2))'"""
        self.check(Page('docs/agents.md', again=(denied,), begin='mkdir -m 700 run; export XDG_RUNTIME_DIR=$PWD/run; mkdir -p ~/project/.git/hooks', before={
            'curl -sS --unix-socket $XDG_RUNTIME_DIR/yett/serve.sock --json \'{"command": "echo hello; exit 3"}\' http://localhost/v1/run_command':
                SERVE % '--listen $XDG_RUNTIME_DIR/yett/serve.sock --sandboxes all --allow example.org:443',
            'curl -sS -w " %{http_code}\\n" http://127.0.0.1:38447/config': SERVE % '--port 0' + '; echo 38447 $(sed -n "s/.*127.0.0.1:\\([0-9]*\\),.*/\\1/p" told)',
            'curl -sS --unix-socket $XDG_RUNTIME_DIR/yett/serve.sock -X PUT --json \'{"enabled": false}\' http://localhost/network/work':
                'yett create --name work --allow example.org:443 >/dev/null',
        }, apart={
            "npx @modelcontextprotocol/inspector --cli --config hosts.json --server yett \\\n"
            "    --method tools/call --tool-name run_command --tool-arg 'command=echo hello; exit 3'": 'packages of npm: system-mcp_clients',
            'node ask.mjs': 'likewise',
            'systemctl --user enable --now yett-serve.socket': 'a unit that is installed: make guest',
            'curl -sS -N --unix-socket $XDG_RUNTIME_DIR/yett/serve.sock http://localhost/v1/executions/7ae0815934826c7e/output':
                'how much an event has depends on when it is asked for',
            'curl -sS -N --unix-socket $XDG_RUNTIME_DIR/yett/serve.sock "http://localhost/v1/events?sandbox=work"': 'others make what happens: system-serve',
            'yett serve --port 0': 'it has no end; what asks it is run', 'yett serve --port 8000 --sandboxes all': 'it has no end, and a port that may be taken',
        }))


if __name__ == '__main__':
    yett.main()
