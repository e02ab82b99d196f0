"""That programs which are compiled already go on: the library against libclient/libyett.abi: test_abi.py SOURCE_ROOT BUILD_ROOT SANITIZERS.

How to change that file on purpose is written in tools/renew-abi. TAP.
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
LIBYETT = os.path.join(BUILD, "libclient", "libyett.so.0")
DESCRIPTION = os.path.join(ROOT, "libclient", "libyett.abi")


def differences(description):
    """What abidiff(1) says of the library that was built: its exit status, 0 for none, and its report."""
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, "built.abi")
        subprocess.run([os.path.join(ROOT, "tools", "renew-abi"), BUILD, built], check=True)
        done = subprocess.run(["abidiff", description, built], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Interface(unittest.TestCase):
    def setUp(self):
        if SANITIZERS != "none":
            self.skipTest("a sanitizer adds to the library what is not the interface's")
        if not shutil.which("abidiff"):
            self.skipTest("abidiff is not installed (abigail-tools)")
        if platform.machine() != "x86_64":
            self.skipTest("the description is of x86-64")
        if ".debug_info" not in subprocess.run(["readelf", "-SW", LIBYETT], capture_output=True, text=True, check=True).stdout:
            self.skipTest("the library was built without what debuggers need, by which it would be compared")

    def test_the_library_is_as_it_is_described(self):
        status, report = differences(DESCRIPTION)
        self.assertEqual((status, report if status else ""), (0, ""), "\nA change on purpose: see tools/renew-abi")

    def test_what_changed_is_found(self):
        with open(DESCRIPTION, encoding="utf-8") as file:
            text = file.read()
        changes = {
            "a struct has another size": lambda t: re.sub(r"(<class-decl name='yett_command_options' size-in-bits=)'\d+'", r"\1'64'", t),
            "a function went": lambda t: t.replace("yett_sandbox_close", "yett_sandbox_shut"),
            "a number of an enum changed": lambda t: re.sub(r"(name='YETT_E_TIMEOUT' value=)'10'", r"\1'11'", t),
            "a member went": lambda t: re.sub(r"<data-member [^>]*>\s*<var-decl name='capture_bytes'[^>]*/>\s*</data-member>", "", t),
            "a member has another place": lambda t: re.sub(r"(layout-offset-in-bits=)'\d+'(?=[^<]*>\s*<var-decl name='argv')", r"\1'640'", t),
        }
        for what, change in changes.items():
            changed = change(text)
            self.assertNotEqual(changed, text, what)
            with tempfile.NamedTemporaryFile("w", suffix=".abi", encoding="utf-8") as file:
                file.write(changed)
                file.flush()
                self.assertNotEqual(differences(file.name)[0], 0, what)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = yett.TapResult(sys.stdout)
    suite.run(result)
    print(f"1..{result.count}")
    return 0 if result.wasSuccessful() and result.count else 1


if __name__ == "__main__":
    sys.exit(main())
