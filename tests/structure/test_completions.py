# SPDX-License-Identifier: Apache-2.0
"""What shells propose: test_completions.py SOURCE_ROOT BUILD_ROOT

Real shells read the scripts as they are installed. bash and zsh sit on a terminal, where keys are typed: all that fits is inserted into
the line, and the line is printed. fish is asked by its own `complete -C`. TAP.
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "cli", "completions"))
import generate  # pylint: disable=wrong-import-position
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
YETT, SCRIPTS = os.path.join(BUILD, "cli", "yett"), os.path.join(BUILD, "cli", "completions")
AGENT = os.path.join(BUILD, "agent", "yett-agent")
LIBRARY = "/usr/share/bash-completion/bash_completion"
PRINT = "\x18p"  # ^X p, bound to printing the line between marks
CLEAR = "\x15"

# What the scripts ask for sandboxes and commands.
ASKED = """#!/bin/sh
case "$*" in
ps) printf 'ID                NAME              STATE\\n8f80ea07dc9b3768  web               running\\n0123456789abcdef  -                 running\\n' ;;
'ps --quiet -- web') printf '1\\n17\\n' ;;
*) exit 2 ;;
esac
"""
IDS = ["0123456789abcdef", "8f80ea07dc9b3768"]


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def subcommands():
    return re.findall(r"(?m)^  (\w[\w-]*) +\S", output(YETT, "--help"))


def options_of(subcommand):
    """Every spelling in the help of a subcommand."""
    rows = re.findall(r"(?m)^  (?:(-\w), |    )(--[\w-]+)", output(YETT, subcommand, "--help", "--all"))
    return {flag for row in rows for flag in row if flag}


class Terminal:
    """A shell that is typed at."""

    def __init__(self, argv, folder, setup):
        self.text, self.at = b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null",
                                       "ZDOTDIR": folder})
        self.type(setup + "\r")
        self.type("echo rea''dy\r")
        self.wait(rb"\nready")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self, pattern):
        end = time.monotonic() + yett.DEADLINE
        while True:
            found = re.search(pattern, self.text[self.at:], re.S)
            if found:
                self.at += found.end()
                return found
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"this never came: {pattern}; what came: {self.text[self.at:]}")
            self.text += os.read(self.fd, 65536)

    def complete(self, line, key):
        """The line after a key was pressed at its end."""
        self.type(CLEAR + line + key + PRINT)
        return self.wait(rb"<<<(.*?)>>>").group(1).decode()

    def end(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Shell:
    """The tests of one shell. complete() says which words it proposes for the last one of a line, without quotes and slashes at the end."""

    program = package = None

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.program):
            raise unittest.SkipTest(f"{cls.program} is needed (Debian package {cls.package or cls.program})")
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        os.mkdir(os.path.join(cls.folder, "bin"))
        yett.write(os.path.join(cls.folder, "bin", "yett"), ASKED, 0o755)
        # The policy that the scripts look at is the installed one; these look at one of ours.
        policy = os.path.join(cls.folder, "policy")
        os.makedirs(os.path.join(policy, "conf.d"))
        yett.write(os.path.join(policy, "yett.conf"), 'profile "default" {\n}\n  profile "strict"{\n}\n# profile "no" {\ngrant "no" {\n}\n')
        os.makedirs(os.path.join(policy, "keys.d"))
        yett.write(os.path.join(policy, "keys.d", "laptop.pub"), "")
        yett.write(os.path.join(policy, "conf.d", "more.conf"), 'profile "tests" {\n}\n')
        os.makedirs(os.path.join(cls.folder, "work", "a folder", "deep"))
        yett.write(os.path.join(cls.folder, "work", "a file"), "")
        name = {"bash": "yett", "zsh": "_yett", "fish": "yett.fish"}[cls.program]
        text = yett.read(os.path.join(SCRIPTS, name))
        cls.script = os.path.join(cls.folder, name)
        installed = re.search(r"/[\w/.-]*/yett\.conf", text).group()
        yett.write(cls.script, text.replace(installed, os.path.join(policy, "yett.conf")).replace(
            os.path.dirname(installed) + "/conf.d", os.path.join(policy, "conf.d")).replace(os.path.dirname(installed) + "/keys.d", os.path.join(policy, "keys.d")))
        cls.start()

    @classmethod
    def tearDownClass(cls):
        cls.stop()
        cls.temporary.cleanup()

    @classmethod
    def start(cls):
        pass

    @classmethod
    def stop(cls):
        pass

    def test_a_subcommand_that_was_begun_is_completed(self):
        self.assertEqual(self.complete("yett ru"), ["run"])

    def test_every_subcommand_is_proposed(self):
        self.assertLessEqual(set(subcommands()), set(self.complete("yett ")))
        self.assertEqual(sorted(self.complete("yett -")), ["--help", "--version"])

    def test_an_option_that_was_begun_is_completed(self):
        self.assertEqual(self.complete("yett run --memory-"), ["--memory-dir"])

    def test_every_option_of_every_subcommand_is_proposed(self):
        for name in subcommands():
            self.assertEqual(set(self.complete(f"yett {name} -")), options_of(name), name)

    def test_each_option_is_completed_once_its_name_is_nearly_there(self):
        for name in subcommands():
            for option in options_of(name):
                if option.startswith("--"):
                    self.assertIn(option, self.complete(f"yett {name} {option[:-1]}"), name)

    def test_files_are_proposed_for_shares(self):
        self.assertEqual(self.complete("yett run --ro /us"), ["/usr"])
        self.assertEqual(self.complete("yett run --rw /us"), ["/usr"])
        self.assertEqual(self.complete("yett run --ro=/us"), ["/usr"])

    def test_directories_alone_are_proposed_for_the_directory(self):
        self.assertEqual(self.complete("yett run -C work/a"), ["work/a folder"])
        self.assertEqual(sorted(self.complete("yett run --key work/a")), ["work/a file", "work/a folder"])

    def test_profiles_are_those_of_the_policy(self):
        self.assertEqual(sorted(self.complete("yett run -p ")), ["default", "strict", "tests"])
        self.assertEqual(self.complete("yett run --profile st"), ["strict"])

    def test_nothing_is_proposed_where_nothing_is_known(self):
        for line in ("yett run --memory 1", "yett run --tmpfs /us", "yett enroll wor"):
            self.assertEqual(self.complete(line), [], line)

    def test_sandboxes_are_proposed_by_id_and_name(self):
        for line in ("yett exec ", "yett inspect ", "yett destroy web ", "yett wait "):
            self.assertEqual(sorted(self.complete(line)), IDS + ["web"], line)
        self.assertEqual(self.complete("yett kill -s KILL we"), ["web"])
        self.assertEqual(self.complete("yett cat we"), ["web:"])
        self.assertEqual(sorted(self.complete("yett cp w")), ["web:", "work"])

    def test_commands_are_those_of_the_sandbox(self):
        self.assertEqual(sorted(self.complete("yett wait web ")), ["1", "17"])
        self.assertEqual(sorted(self.complete("yett kill -s KILL web 17 ")), ["1", "17"])
        self.assertEqual(self.complete("yett logs other "), [])

    def test_operations_for_agents_are_those_that_there_are(self):
        listed = json.loads(output(AGENT, "tool", "--list"))["operations"]
        self.assertEqual(sorted(self.complete("yett tool ")), sorted(operation["name"] for operation in listed))

    def test_values_that_are_words_are_proposed(self):
        self.assertEqual(self.complete("yett kill --signal TE"), ["TERM"])
        self.assertEqual(sorted(self.complete("yett run --idle-action ")), ["end", "pause"])
        self.assertEqual(self.complete("yett ps --filter sta"), ["state"])
        self.assertEqual(self.complete("yett enroll --remove la"), ["laptop"])
        self.assertEqual(self.complete("yett policy --key la"), ["laptop"])
        self.assertEqual(sorted(self.complete("yett profiles --key work/a")), ["work/a file", "work/a folder"])
        self.assertEqual(self.complete("yett profiles --user roo"), ["root"])

    def test_options_end_where_the_command_begins(self):
        self.assertEqual(self.complete("yett run -- unam"), ["uname"])
        self.assertEqual(self.complete("yett run -p strict --memory 1G unam"), ["uname"])
        self.assertNotIn("--memory", self.complete("yett run -- cat --me"))
        self.assertNotIn("--memory", self.complete("yett run cat --me"))

    def test_operands_are_completed_by_their_kind(self):
        self.assertEqual(self.complete("yett policy "), ["check", "explain", "show", "test"])
        self.assertEqual(self.complete("yett policy check /us"), ["/usr"])
        self.assertEqual(self.complete("yett enroll name /us"), ["/usr"])
        self.assertEqual(self.complete("yett help ru"), ["run"])


class Typed(Shell):
    @classmethod
    def stop(cls):
        cls.terminal.end()

    def complete(self, line):
        begun = re.split(r"[ =]", line)[-1]
        before = line[:len(line) - len(begun)]
        after = self.terminal.complete(line, self.KEY)
        self.assertEqual(after[:len(before)], before)
        words = re.findall(r"(?:\\.|[^\\ ])+", after[len(before):])
        words = [re.sub(r"\\(.)", r"\1", word).rstrip("/=") or word for word in words]
        # with nothing to propose the line stays as it was
        return [word for word in words if word != begun] if words == [begun] or self.KEEPS else words


class Bash(Typed, unittest.TestCase):
    program, KEY, KEEPS = "bash", "\x1b*", False
    LIBRARY = ""

    @classmethod
    def start(cls):
        cls.terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], cls.folder, f"bind 'set enable-bracketed-paste off'; PS1=; {cls.LIBRARY} . "
                                + cls.script + r"""; bind -x '"\C-xp": printf "<<<%s>>>\n" "$READLINE_LINE"'""")

    def test_what_follows_a_colon_is_of_the_inside(self):
        self.assertEqual(self.complete("yett run --ro /usr:/us"), [])

    def test_options_go_on_behind_values_with_signs(self):
        self.assertEqual(self.complete("yett run -e A=b --ro /usr:/opt --pid"), ["--pids"])


class BashWithItsLibrary(Bash):
    LIBRARY = f". {LIBRARY};"

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(LIBRARY):
            raise unittest.SkipTest("bash-completion is needed")
        super().setUpClass()

    def test_the_command_has_completions_of_its_own(self):
        yett.write(os.path.join(self.folder, "of_its_own"), "")
        self.terminal.type(CLEAR + "complete -W 'only-these' cat\r")
        self.assertEqual(self.complete("yett run -p strict -- cat on"), ["only-these"])
        self.assertEqual(self.complete("yett run cat on"), ["only-these"])


class Zsh(Typed, unittest.TestCase):
    program, KEY, KEEPS = "zsh", "\t", True

    @classmethod
    def start(cls):
        cls.terminal = Terminal(["zsh", "-f", "-i"], cls.folder, f"PS1=; fpath=({cls.folder} $fpath); autoload -Uz compinit; compinit -D -u; "
                                "zstyle ':completion:*' completer _all_matches _complete; zstyle ':completion:*' insert true; "
                                "show() { print -r \"<<<$BUFFER>>>\" }; zle -N show; bindkey '^Xp' show; bindkey '^I' complete-word; "
                                "bindkey '^U' kill-whole-line; unsetopt zle_bracketed_paste")


class Fish(Shell, unittest.TestCase):
    program = "fish"

    def complete(self, line):
        text = subprocess.run(["fish", "--no-config", "-c", f"source {self.script}; complete -C '{line}'"], check=True, capture_output=True,
                              text=True, cwd=self.folder, env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": self.folder, "LC_ALL": "C.UTF-8"})
        self.assertEqual(text.stderr, "")
        words = [row.split("\t")[0].rstrip("/") for row in text.stdout.splitlines()]
        # --ro=/usr comes as one word
        return [re.sub(r"\\(.)", r"\1", word.rstrip("=").split("=")[-1]) for word in words]


class Generated(unittest.TestCase):
    def names(self):
        for subcommand in subcommands():
            text = output(YETT, subcommand, "--help", "--all")
            for value in re.findall(r"(?m)^  (?:-\w, |    )--[\w-]+ (\S+) ", text):
                yield value
            usage = re.search(r"^Usage: yett \S+ \[OPTION…\] ?(.*)$", text, re.M).group(1)
            for name, _ in generate.operands(usage):
                yield name

    def test_it_is_known_what_each_value_and_operand_is(self):
        found = {name for name in self.names() if not re.fullmatch("[a-z|-]+", name)}
        self.assertGreater(len(found), 10)
        self.assertEqual(sorted(found - set(generate.KINDS)), [], "these want a line in KINDS, cli/completions/generate.py")

    def test_no_kind_is_there_for_nothing(self):
        self.assertEqual(sorted(set(generate.KINDS) - set(self.names())), [])


if __name__ == "__main__":
    yett.run_cases(())
