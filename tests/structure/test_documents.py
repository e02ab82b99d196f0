# SPDX-License-Identifier: Apache-2.0
"""What must hold of the documents in Markdown: test_documents.py SOURCE_ROOT BUILD_ROOT

That the files, headings, tests, options, lines of the policy and lines of examples that they show or point to are there. TAP.
"""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "guest"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "programs"))
import attacks  # pylint: disable=wrong-import-position
import corpus  # pylint: disable=wrong-import-position
import defences  # pylint: disable=wrong-import-position
import layers  # pylint: disable=wrong-import-position
import page  # pylint: disable=wrong-import-position
import security_page  # pylint: disable=wrong-import-position
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
PAGES = ["README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "protocol/PROTOCOL.md"] + sorted(
    "docs/" + name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
README_LINES_MAX = 180


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def anchors(text):
    """What a link can name behind '#': headings in lower case, without marks, with '-' for spaces."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^#+ (.*)$", without_code(text))}


def broken_links(page, text):
    """Relative links that lead to no file, or to no heading of it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        full = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        is_there = full == page or os.path.exists(os.path.join(ROOT, full))
        if not is_there or (anchor and anchor not in anchors(text if full == page else read(full))):
            broken.append(target)
    return broken


def wrong_policy_lines(text):
    """Lines of the shipped policy that a text names for a key, and where that key does not stand."""
    lines = read("dist", "yett.conf").splitlines()
    found = re.findall(r"(\w+) of (?:grant|profile) '[\w-]+' \((?:built-in|/etc/yett/yett\.conf):(\d+)\)", text)
    return [f"{key}:{number}" for key, number in found if not re.match(rf"  {key} = ", lines[int(number) - 1])]


def missing_names(text):
    """Files, folders and functions that a text names and that are not there."""
    text = without_code(text)
    paths = set(re.findall(r"`(\w[\w./-]*/[\w./-]*)`", text))
    functions = set(re.findall(r"`(\w+)\(\)`", text))
    for top in ("agent", "base", "checkpoint", "cli", "helper", "libclient", "programs", "protocol", "tests", "workspace"):
        for directory, _, files in os.walk(os.path.join(ROOT, top)):
            for file in files:
                if file.endswith((".c", ".h")):
                    functions -= {name for line in re.findall(r"(?m)^[a-z].*", read(directory, file)) for name in re.findall(r"(\w+)\(", line)}
    return sorted([path for path in paths if not os.path.exists(os.path.join(ROOT, path))] + list(functions))


def blocks(text, kind):
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", text)


class Pages(unittest.TestCase):
    def test_a_newcomer_can_finish_the_first_one(self):
        self.assertLessEqual(len(read("README.md").splitlines()), README_LINES_MAX)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            self.assertEqual(broken_links(page, read(page)), [], page)

    def test_a_link_that_leads_nowhere_is_found(self):
        text = "# A title, here\n[a](README.md) [b](nothing.md) [c](#a-title-here) [d](#another) [e](docs/admin.md#keys) [f](docs/admin.md#nokeys)\n"
        self.assertEqual(broken_links("x.md", text), ["nothing.md", "#another", "docs/admin.md#nokeys"])

    def test_the_protected_names_are_those_of_the_table(self):
        source = read("workspace", "diff", "protect_names.c")
        lists = {name: re.findall(r'"([^"]+)"', names) for name, names in re.findall(r"(?s)const char \*const (\w+)\[\] = \{(.*?)\};", source)}
        declared = [(why, lists[name]) for why, name in re.findall(r'\{"([^"]+)", (\w+), PROTECT_\w+\}', source)]
        self.assertGreater(len(declared), 5)
        rows = [(why, re.findall(r"`([^`]+)`", names)) for why, names in
                re.findall(r"(?m)^\| ([^|]+) \| ([^|]*`) \|$", read("docs", "workspaces.md").split("**Protected names.**")[1].split("**Nothing is torn.**")[0])]
        self.assertEqual([(why.partition(",")[0], names) for why, names in rows],
                         [("programs look for what begins with a dot", lists["protect_harmless"]), ("git goes by it", [*lists["protect_in_repository"], "HEAD"]), *declared])

    def test_the_guarded_paths_are_those_of_the_table(self):
        source = read("libclient", "guard_names.c")
        lists = {name: re.findall(r'"([^"]+)"', names) for name, names in re.findall(r"(?s)const char \*const (\w+)\[\] = \{(.*?)\};", source)}
        declared = [(why, lists[name]) for why, name in re.findall(r'\{GUARD_\w+, "([^"]+)", (\w+)\}', source)]
        self.assertGreater(len(declared), 15)
        section = read("docs", "guide.md").split("### What a share does not give away")[1].split("\n### ")[0]
        rows = [(why, re.findall(r"`([^`]+)`", names)) for why, names in re.findall(r"(?m)^\| ([^|]+) \| ([^|]*`) \|$", section)]
        self.assertEqual(rows, declared)

    def test_every_guide_is_pointed_to_and_packaged(self):
        for page in PAGES:
            if page.startswith("docs/"):
                self.assertIn(f"]({page})", read("README.md"))
                self.assertIn(f"{page} usr/share/doc/yett/docs\n", read("dist/debian/yett.install") + read("dist/debian/yett-agent.install"))

    def test_lines_of_the_shipped_policy_are_where_outputs_say(self):
        for page in PAGES:
            self.assertEqual(wrong_policy_lines(read(page)), [], page)

    def test_a_line_that_has_moved_is_found(self):
        number = read("dist/yett.conf").splitlines().index("  max_memory = 32G") + 1
        text = "by max_memory of grant 'everyone' (built-in:%d)\nmax_memory of grant 'everyone' (/etc/yett/yett.conf:%d)"
        self.assertEqual(wrong_policy_lines(text % (number, number)), [])
        self.assertEqual(wrong_policy_lines(text % (number + 1, number - 1)), [f"max_memory:{number + 1}", f"max_memory:{number - 1}"])

    def test_the_guide_shows_the_options_of_run_as_its_help_does(self):
        done = subprocess.run([os.path.join(BUILD, "cli", "yett"), "run", "--help", "--all"], check=True, capture_output=True, text=True)
        options = done.stdout.partition("\nOptions:\n")[2]
        self.assertGreater(options.count("\n"), 30)
        self.assertIn(options, blocks(read("docs/guide.md"), ""))

    def test_names_on_the_page_about_the_architecture_are_there(self):
        text = read("ARCHITECTURE.md")
        self.assertEqual(missing_names(text), [])
        self.assertGreater(len(set(re.findall(r"`((?:helper|programs)/[\w./]+)`", text))), 20)

    def test_a_name_that_is_not_there_is_found(self):
        self.assertEqual(missing_names("`handle_request()` in `helper/monitor/monitor.c`, `handle_nothing()` in `helper/nothing.c`, `no_new_privs`, `/run/yett`"),
                         ["handle_nothing", "helper/nothing.c"])

    def test_code_in_the_guide_of_the_library_is_that_of_the_examples(self):
        folders = [os.path.join(ROOT, library, "examples") for library in ("libclient", "workspace")]
        known = {line.strip() for folder in folders for name in os.listdir(folder) if name.endswith(".c") for line in read(folder, name).splitlines()}
        shown = [line.strip() for block in blocks(read("docs/library.md"), "c") for line in block.splitlines()]
        self.assertGreater(len(shown), 20)
        self.assertEqual([line for line in shown if line not in known | {"…"}], [])

    def test_names_in_the_guide_of_the_library_are_those_of_its_header(self):
        codes = re.findall(r"(?m)^\tX\((\w+), \d+,", read("protocol/yett_error.h"))
        header = set(re.findall(r"\w+", read("libclient/yett.h") + read("workspace/yett-workspace.h"))) | {"YETT_E_" + code for code in codes}
        named = set(re.findall(r"\b((?:yett|YETT)_\w+)\b", read("docs/library.md")))
        self.assertGreater(len(named), 40)
        self.assertEqual(sorted(named - header), [])


class Attacks(unittest.TestCase):
    ROWS = [defence for subject in defences.SUBJECTS for defence in subject.defences]

    @staticmethod
    def known():
        known = set()
        for directory, _, files in os.walk(os.path.join(ROOT, "tests")):
            for file in files:
                if file.endswith((".c", ".py")):
                    text = read(directory, file)
                    known |= set(re.findall(r"\b(?:TEST|TEST_WITH|TEST_OF|WITH_[A-Z]+)\(\s*(\w+)", text)) | set(re.findall(r"def test_(\w+)\(self", text))
        return known

    def test_the_page_is_made_of_the_lists(self):
        self.assertEqual(read("docs/security-tests.md"), security_page.page())

    def test_every_test_that_the_page_names_is_there(self):
        named = {name for row in self.ROWS for name in re.findall(r"`(\w+)`", row.tests)}
        self.assertGreater(len(named), 150)
        self.assertEqual(sorted(named - self.known()), [])

    def test_each_row_of_what_each_can_do_names_tests_that_are_there(self):
        table = re.search(r"(?m)^\| who \| can \| cannot \| tests \|\n\|[ -|]*\n((?:\|.*\n)+)", read("SECURITY.md")).group(1)
        rows = [re.findall(r"`(\w+)`", row.split("|")[4]) for row in table.splitlines()]
        self.assertGreater(len(rows), 10)
        self.assertNotIn([], rows)
        self.assertEqual(sorted({name for row in rows for name in row} - self.known()), [])

    def test_every_row_of_attacks_names_a_test(self):
        self.assertGreater(len(self.ROWS), 170)
        self.assertEqual([row for row in self.ROWS if "`" not in row.tests], [])


class Agents(unittest.TestCase):
    def test_the_languages_are_those_that_code_is_run_in(self):
        listed = subprocess.run([os.path.join(BUILD, "agent", "yett-agent"), "tool", "--list"], check=True, capture_output=True, text=True).stdout
        known = [(row["name"], ", ".join(row["aliases"]), row["package"].replace(" ", ", ")) for row in json.loads(listed)["languages"]]
        table = re.search(r"(?m)^\| language \| .*\n\| ---.*\n((?:\|.*\n)+)", read("docs/agents.md")).group(1)
        self.assertEqual([tuple(cell.strip() for cell in row.split("|")[1:4]) for row in table.splitlines()], known)


class Corpus(unittest.TestCase):
    """The table of attacks. That its marks are true, tests/guest/layers.py checks when the guests have run; the rest the hostile tests."""

    def test_it_has_each_attack_once_and_says_who_tries_it(self):
        self.assertEqual(len(attacks.ATTACKS), len(attacks.BY_NAME))
        listed = subprocess.run([os.path.join(BUILD, "tests", "hostile", "attack"), "list"], check=True, capture_output=True, text=True).stdout
        programs = {line.split()[0]: line.split()[1:] for line in listed.splitlines()}
        self.assertEqual(len(programs), listed.count("\n"))
        self.assertEqual(programs, {attack.name: attack.groups + ["harms"] * attack.harms for attack in attacks.ATTACKS})

    def test_no_attack_is_lost(self):
        self.assertGreaterEqual(len(attacks.ATTACKS), 265)
        self.assertEqual([attack.name for attack in attacks.ATTACKS if not (attack.layers and attack.tries and attack.places)], [])
        self.assertEqual([attack.name for attack in attacks.ATTACKS if set(attack.layers) - set(attacks.LAYERS)], [])

    def test_the_page_says_what_hangs_on_one_layer(self):
        measured = [attack for attack in attacks.ATTACKS if attack.is_measured]
        self.assertEqual({attack.name for attack in measured if len(attack.layers) == 1}, set(layers.ONLY_ONE))
        self.assertEqual([name for name in layers.ONLY_ONE if f"- `{name}`" not in read("docs/security-tests.md")], [])

    def test_results_that_the_table_does_not_have_are_found(self):
        rows = [{"name": "x", "results": {"none": "works", "seccomp": "EPERM", "apparmor": "EACCES", "landlock": "works"}}]
        self.assertEqual(layers.compare(rows, {"x": "FA"}), [])
        for other in ({"x": "F"}, {"x": "FLA"}, {}, {"x": "FA", "y": "N"}):
            self.assertEqual(len(layers.compare(rows, other)), 1, other)

    def test_guests_that_differ_are_found(self):
        def guest(lsm, **results):
            return {lsm: {"attempts": [{"name": "x", "results": {"none": "works", lsm: "EPERM", **results}}]}}
        self.assertEqual(layers.merge({**guest("apparmor"), **guest("selinux")})[1], [])
        self.assertEqual(len(layers.merge({**guest("apparmor", seccomp="EPERM"), **guest("selinux", seccomp="works")})[1]), 1)
        self.assertEqual(layers.merge({"apparmor": guest("selinux")["selinux"]})[1], ["no result of the layer apparmor"])

    def test_what_hangs_on_one_layer_or_on_none_is_found(self):
        rows = [{"name": name, "results": {"namespaces": "EPERM"}} for name in layers.ONLY_ONE]
        self.assertEqual(layers.judge(rows), [])
        self.assertEqual(len(layers.judge(rows[1:])), 1)
        self.assertEqual(len(layers.judge(rows + [{"name": "new", "results": {"seccomp": "EPERM"}}])), 1)
        self.assertEqual(len(layers.judge(rows + [{"name": "new", "results": {"seccomp": "works"}}])), 1)


class Programs(unittest.TestCase):
    """The corpus of programs. That its verdicts are true, tests/programs/run.py checks."""

    def test_the_page_shows_it(self):
        self.assertEqual(read("docs/programs.md"), page.declared())

    def test_it_has_each_program_once_and_no_verdict_of_another_kind(self):
        names = [program.name for program in corpus.PROGRAMS]
        self.assertGreaterEqual(len(names), 60)
        self.assertEqual(len(set(names)), len(names))
        verdicts = {verdict for program in corpus.PROGRAMS for verdict in (program.verdict_of(False), program.verdict_of(True))}
        self.assertEqual([verdict for verdict in verdicts if verdict != corpus.WORKS and not verdict.startswith((corpus.WITH, corpus.NOT))], [])


if __name__ == "__main__":
    yett.run_cases(())
