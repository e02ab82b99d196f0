# SPDX-License-Identifier: Apache-2.0
"""That programs which are compiled already go on: each library against its .abi file: test_abi.py SOURCE_ROOT BUILD_ROOT SANITIZERS.

How to change such a file on purpose is written in tools/renew-abi. TAP.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD, SANITIZERS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
FOLDERS = {"libyett": "libclient", "libyett-checkpoint": "checkpoint", "libyett-workspace": "workspace"}


def built(library):
    return os.path.join(BUILD, FOLDERS[library], library + ".so")


def described(library):
    return os.path.join(ROOT, FOLDERS[library], library + ".abi")


def differences(library, description):
    """What abidiff(1) says of the library that was built: its exit status, 0 for none, and its report."""
    with tempfile.TemporaryDirectory() as folder:
        new = os.path.join(folder, "built.abi")
        subprocess.run([os.path.join(ROOT, "tools", "renew-abi"), BUILD, library, new], check=True)
        done = subprocess.run(["abidiff", description, new], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Interface(unittest.TestCase):
    def setUp(self):
        if SANITIZERS != "none":
            self.skipTest("a sanitizer adds to the library what is not the interface's")
        if not shutil.which("abidiff"):
            self.skipTest("abidiff is not installed (abigail-tools)")
        if platform.machine() != "x86_64":
            self.skipTest("the description is of x86-64")
        if ".debug_info" not in subprocess.run(["readelf", "-SW", built("libyett")], capture_output=True, text=True, check=True).stdout:
            self.skipTest("the library was built without what debuggers need, by which it would be compared")

    def test_each_library_is_as_it_is_described(self):
        for library in FOLDERS:
            status, report = differences(library, described(library))
            self.assertEqual((status, report if status else ""), (0, ""), "\nA change on purpose: see tools/renew-abi")

    def assert_found(self, library, changes):
        with open(described(library), encoding="utf-8") as file:
            text = file.read()
        for what, change in changes.items():
            changed = change(text)
            self.assertNotEqual(changed, text, what)
            with tempfile.NamedTemporaryFile("w", suffix=".abi", encoding="utf-8") as file:
                file.write(changed)
                file.flush()
                self.assertNotEqual(differences(library, file.name)[0], 0, what)

    def test_what_changed_is_found(self):
        self.assert_found("libyett", {
            "a struct has another size": lambda t: re.sub(r"(<class-decl name='yett_command_options' size-in-bits=)'\d+'", r"\1'64'", t),
            "a function went": lambda t: t.replace("yett_sandbox_close", "yett_sandbox_shut"),
            "a number of an enum changed": lambda t: re.sub(r"(name='YETT_E_TIMEOUT' value=)'10'", r"\1'11'", t),
            "a member went": lambda t: re.sub(r"<data-member [^>]*>\s*<var-decl name='capture_bytes'[^>]*/>\s*</data-member>", "", t),
            "a member has another place": lambda t: re.sub(r"(layout-offset-in-bits=)'\d+'(?=[^<]*>\s*<var-decl name='argv')", r"\1'640'", t),
        })

    def test_what_changed_of_checkpoints_is_found(self):
        self.assert_found("libyett-checkpoint", {
            "a struct has another size": lambda t: re.sub(r"(<class-decl name='yett_checkpoint' size-in-bits=)'\d+'", r"\1'64'", t),
            "a function went": lambda t: t.replace("yett_checkpoint_rollback", "yett_checkpoint_roll"),
            "a member went": lambda t: re.sub(r"<data-member [^>]*>\s*<var-decl name='created_ms'[^/]*/>\s*</data-member>", "", t),
        })

    def test_what_changed_of_workspaces_is_found(self):
        self.assert_found("libyett-workspace", {
            "a struct has another size": lambda t: re.sub(r"(<class-decl name='yett_work' size-in-bits=)'\d+'", r"\1'64'", t),
            "a function went": lambda t: t.replace("yett_snapshot_rollback", "yett_snapshot_roll"),
            "a member went": lambda t: re.sub(r"<data-member [^>]*>\s*<var-decl name='created_ms'[^/]*/>\s*</data-member>", "", t),
        })


if __name__ == "__main__":
    yett.run_cases(())
