# SPDX-License-Identifier: Apache-2.0
"""That the manual says what the programs and tables say: test_manual.py SOURCE_ROOT BUILD_ROOT

Pages are read as a terminal shows them. TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
YETT, HELPER = os.path.join(BUILD, "cli", "yett"), os.path.join(BUILD, "helper", "yett-helper")
PAGES = ("yett.1", "yett-agent.1", "yett.conf.5", "yett-helper.8", "yett-audit.8", "libyett.3", "libyett-keys.3", "libyett-connection.3", "libyett-sandbox.3",
         "libyett-events.3", "libyett-commands.3", "libyett-files.3", "libyett-sockets.3", "libyett-workspace.3", "libyett-checkpoint.3")
KINDS = {"TEXT": "text", "LIST": "list", "CHOICES": "list", "BOOL": "bool", "SIZE": "size", "CORE": "size | none", "CPUS": "cpus", "NUMBER": "number", "NUMBER4": "number",
         "ALLOW": "list", "DENY": "list", "DIRECT": "list", "PROXY": "text", "OCTAL": "octal | caller", "SIGNED": "number", "LINGER": "time | unlimited", "TIME": "time", "DATE": "date"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def render(path):
    """(text, warnings) of a page, on one very wide line for each paragraph."""
    if not shutil.which("man"):
        raise unittest.SkipTest("man is needed (Debian package man-db)")
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], check=False, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "MANWIDTH": "2000", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
    return done.stdout, done.stderr + ("" if done.returncode == 0 else f"status {done.returncode}")


def page(name):
    return render(os.path.join(BUILD, "docs", name))[0]


def section(text, title):
    """What stands below a heading, to the next one of its kind."""
    found = re.search(rf"(?m)^( *){re.escape(title)}\n((?:(?!\1\S).*\n)*)", text)
    return found.group(2) if found else ""


def subcommands():
    return re.findall(r"(?m)^  (\w[\w-]*) +\S", output(YETT, "--help"))


def options_of(text):
    """The options of a help text: [(letter or "", name, value or "")]."""
    return re.findall(r"(?m)^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?(?=  | ?\S* +\S)", text)


def missing_options(text, known):
    """Those that have no entry of their own in this part of the page."""
    return [name for letter, name, value in known if not re.search(
        rf"(?m)^ +{f'-{letter}, ' if letter else ''}--{name}{' ' + re.escape(value) if value else ''}$", text)]


def keys(table):
    """{key: what is written behind it} of a table of settings.c; ceilings have the first keys of grants."""
    found = {}
    if table == "ceiling_keys":
        count = int(re.search(r"#define CEILING_KEYS (\d+)", read("programs/decide/policy/settings.c")).group(1))
        return dict(list(keys("grant_keys").items())[:count])
    source = read("programs/decide/policy/settings.c")
    body = re.search(rf"static const struct settings_key {table}\[\] = \{{\n(.*?)\n\}};", source, re.S).group(1)
    body = re.sub(r"\n\s+(?!\{)", " ", body)  # a row may be longer than a line
    for name, kind, rest in re.findall(r'\{"(\w+)", SETTINGS_(\w+),(.*)\},', body):
        if kind == "CHOICE":
            words = re.search(r"choices = (\w+)", rest).group(1)
            choices = re.search(rf"{words}\[\] = \{{(.*?), NULL\}}", source).group(1)
            found[name] = " | ".join(re.findall(r'"(\w+)"', choices))
        else:
            found[name] = KINDS[kind] + (" | unlimited" if "has_unlimited" in rest else "")
    return found


def described_keys(text):
    """[(key, what is written behind it)] of a section of yett.conf(5): entries begin "key = value"; several stand on one line."""
    return [tuple(entry.split(" = ")) for line in re.findall(r"(?m)^       ([a-z_]+ = [^.]*)$", text) for entry in line.split(", ")]


def prototypes(text):
    """Names of functions that are declared in literal text of a page."""
    return re.findall(r"(?m)^           (?:const )?(?:struct |enum )?\w+ \**(yett_\w+)\(", section(text, "FUNCTIONS"))


class Pages(unittest.TestCase):
    def test_all_of_them_are_rendered_without_a_warning(self):
        for name in PAGES:
            with self.subTest(page=name):
                text, warnings = render(os.path.join(BUILD, "docs", name))
                self.assertEqual(warnings, "")
                for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                    self.assertTrue(section(text, title), title)

    def test_a_page_with_a_mistake_is_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write('.TH x 1\n.SH NAME\nx \\- y\n.nosuchmacro\n')
            file.flush()
            self.assertNotEqual(render(file.name)[1], "")

    def test_every_page_is_there_and_installed(self):
        sources = sorted(name[:-len(".scd")] for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".scd"))
        self.assertEqual(sources, sorted(PAGES))
        lists = "".join(read(f"dist/debian/{package}.install") for package in ("yett", "yett-agent", "libyett-dev"))
        for name in PAGES:
            self.assertIn(f"usr/share/man/man{name[-1]}", lists)

    def test_pages_refer_to_pages_that_exist(self):
        own = {f"{name[:-2]}({name[-1]})" for name in PAGES}
        for name in PAGES:
            found = set(re.findall(r"\b((?:lib)?yett[\w.-]*\(\d\))", page(name)))
            self.assertEqual(sorted(found - own), [], name)

    def test_no_marks_of_the_source_are_left(self):
        for name in PAGES:
            self.assertEqual(re.findall(r"(?m)^ *@\w.*$|\\\w", section(page(name), "DESCRIPTION")), [], name)


class Command(unittest.TestCase):
    def test_every_subcommand_has_a_section_with_every_option(self):
        whole = page("yett.1")
        text = "".join(section(whole, title) for title in re.findall(r"(?m)^SUBCOMMANDS: .+$", whole))
        self.assertGreaterEqual(len(subcommands()), 6)
        for name in subcommands():
            about, known = section(text, name), options_of(output(YETT, name, "--help", "--all"))
            self.assertIn(f"yett {name} [OPTION…]", about)
            self.assertIn("help", [option[1] for option in known])
            self.assertEqual([name for name in missing_options(about, known) if name != "help"], [], name)

    def test_an_option_that_is_missing_is_found(self):
        known = options_of(output(YETT, "run", "--help", "--all")) + [("x", "extra", "N"), ("", "absent", "")]
        self.assertIn(("p", "profile", "PROFILE"), known)
        self.assertEqual(missing_options(page("yett.1"), known), ["help", "extra", "absent"])

    def test_more_is_said_of_each_than_its_table_says(self):
        source = read("docs/yett.1.scd")
        parts = dict(re.findall(r"(?ms)^@subcommand (\S+)\n(.*?)(?=^[@#])", source))
        self.assertEqual([name for name in subcommands() if not parts.get(name, "").strip()], [],
                         "these want a line @subcommand NAME in docs/yett.1.scd, and some words below it")

    def test_lines_of_the_shipped_policy_that_examples_name_are_those(self):
        line = read("dist/yett.conf").splitlines().index("  max_memory = 32G") + 1
        self.assertEqual(re.findall(r"allowed 32G by max_memory of grant 'everyone' \(built-in:(\d+)\)", read("docs/yett.1.scd")), [str(line)])

    def test_json_is_the_same_as_help(self):
        table = json.loads(output(YETT, "help", "--json"))["result"]["subcommands"]
        self.assertEqual([entry["name"] for entry in table], subcommands())
        for entry in table:
            options = [(option["letter"] or "", option["name"], option["value"] or "") for option in entry["options"]]
            self.assertEqual(options, options_of(output(YETT, entry["name"], "--help", "--all")), entry["name"])


class Policy(unittest.TestCase):
    TABLES = {"HELPER": "helper_keys", "PROFILE": "profile_keys", "GRANT": "grant_keys", "CEILING": "ceiling_keys"}

    def test_every_key_is_described_once_with_its_kind(self):
        text = page("yett.conf.5")
        for title, table in self.TABLES.items():
            found = described_keys(section(text, title))
            self.assertEqual(len(found), len({key for key, _ in found}), title)
            self.assertEqual(dict(found), keys(table), title)

    def test_the_tables_are_read(self):
        self.assertEqual(keys("profile_keys")["identity"], "private | root | caller")
        self.assertEqual(keys("grant_keys")["user_memory"], "size | unlimited")
        self.assertEqual(keys("helper_keys")["spares"], "number")
        self.assertEqual((list(keys("ceiling_keys"))[0], list(keys("ceiling_keys"))[-1]), ("users", "max_requests"))

    def test_the_rule_of_every_number_is_described_as_the_table_has_it(self):
        rows = re.findall(r'\[(POLICY_(?:LIMIT|KEY)_\w+)\] = (?:LIMIT\(|\{ROW\((\w+),)', read("programs/decide/decider/intersect.c"))
        names = dict(re.findall(r'\[(POLICY_(?:LIMIT|KEY)_\w+)\] = "(\w+)"', read("programs/decide/decider/refuse.c")))
        rules = {}
        for key, rule in rows:
            rules.setdefault(rule or "ASKED", []).append(names[key])
        titles = {"ASKED": "What is asked", "TIME": "The times of a command", "LINGER": "Lingering", "DISK": "The disks", "USER": "All of a user"}
        told = dict(re.findall(r"(?m)^       ([A-Z][a-z ]+): ([a-z_, ]+)$", section(page("yett.conf.5"), "WHICH BOUND COUNTS")))
        self.assertEqual(told, {titles[rule]: ", ".join(names) for rule, names in rules.items()})
        self.assertEqual(sorted(name for names in rules.values() for name in names),
                         sorted(key for key in keys("ceiling_keys") if key not in ("users", "groups")))

    def test_every_section_is_described(self):
        names = re.findall(r'\[SETTINGS_\w+\] = \{"(\w+)"', read("programs/decide/policy/settings.c"))
        self.assertEqual([name.upper() for name in names], list(self.TABLES))


class Helper(unittest.TestCase):
    def test_every_option_is_described(self):
        known = re.findall(r"(?m)^  --([\w-]+)(=\w+)? ", output(HELPER, "--help"))
        self.assertGreaterEqual(len(known), 8)
        text = section(page("yett-helper.8"), "OPTIONS")
        self.assertEqual(re.findall(r"(?m)^       --([\w-]+)(=\w+)?$", text), known)

    def test_the_signals_that_it_handles_are_described(self):
        handled = set(re.findall(r"sigaddset\(&set, (SIG\w+)\)", read("helper/listener/listener.c"))) - {"SIGCHLD"}
        self.assertEqual(set(re.findall(r"SIG[A-Z]+", section(page("yett-helper.8"), "SIGNALS"))), handled)

    def test_the_environment_that_it_reads_is_described(self):
        used = set()
        for directory, _, files in (*os.walk(os.path.join(ROOT, "helper")), *os.walk(os.path.join(ROOT, "programs"))):
            for file in files:
                if file.endswith(".c") and os.path.basename(directory) not in ("init", "files"):
                    used |= set(re.findall(r'getenv\("(\w+)"\)', read(directory, file)))
        self.assertEqual(set(re.findall(r"\b[A-Z]+_[A-Z]+\b|\bHOME\b", section(page("yett-helper.8"), "ENVIRONMENT"))), used)

    def test_the_capabilities_of_each_role_are_described(self):
        text = section(page("yett-helper.8"), "CAPABILITIES")
        for role in ("build", "supervise"):
            table = re.search(rf"static const int {role}\[\] = \{{(.*?)\}};", read("helper/privilege/privilege.c"), re.S).group(1)
            for name in re.findall(r"CAP_\w+", table):
                self.assertRegex(text, rf"(?m)^       {name}$")


class Library(unittest.TestCase):
    LIBRARY = [name for name in PAGES if name.endswith(".3")]

    def test_every_function_is_on_one_page(self):
        found = [name for about in self.LIBRARY for name in prototypes(page(about))]
        exported = programs.exported(os.path.join(BUILD, "libclient", "libyett.so.1")) - {"YETT_1"}
        exported |= programs.exported(os.path.join(BUILD, "checkpoint", "libyett-checkpoint.so.0")) - {"YETT_CHECKPOINT_0"}
        exported |= programs.exported(os.path.join(BUILD, "workspace", "libyett-workspace.so.0")) - {"YETT_WORKSPACE_0"}
        self.assertEqual(sorted(found), sorted(exported))

    def test_every_function_is_a_name_of_its_page(self):
        for about in self.LIBRARY:
            text = page(about)
            names = section(text, "NAME").split(" - ")[0].replace(",", " ").split()
            self.assertEqual(names, [about[:-2]] + prototypes(text), about)

    def test_every_type_is_on_one_page(self):
        text = "".join(section(page(about), "TYPES") for about in self.LIBRARY)
        declared = re.findall(r"(?m)^((?:struct|enum) yett_\w+)(?: \{|;)", read("libclient/yett.h") + read("checkpoint/yett-checkpoint.h") + read("workspace/yett-workspace.h"))
        self.assertGreater(len(declared), 10)
        self.assertEqual(sorted(re.findall(r"(?m)^           ((?:struct|enum) yett_\w+)(?: \{|;)", text)), sorted(declared))

    def test_every_code_of_an_error_is_described(self):
        codes = re.findall(r"(?m)^\tX\((\w+), \d+, (?:true|false),", read("protocol/yett_error.h"))
        self.assertGreater(len(codes), 10)
        self.assertEqual(re.findall(r"(?m)^       YETT_E_(\w+)$", section(page("libyett.3"), "ERRORS")), codes)

    def test_each_page_shows_an_example_that_is_compiled(self):
        for about in self.LIBRARY:
            shown = "\n".join(line[11:] for line in section(page(about), "EXAMPLES").splitlines())
            path = re.search(r"@file ((?:libclient|checkpoint|workspace)/examples/\w+\.c)", read("docs", about + ".scd")).group(1)
            self.assertIn(read(path).partition("\n")[2].expandtabs(4).strip(), shown)  # without the line that names the licence
            self.assertTrue(os.path.exists(os.path.join(BUILD, path[:-2])), path)
            self.assertIn(path, read("dist/debian/libyett-dev.examples"))


if __name__ == "__main__":
    yett.run_cases(())
