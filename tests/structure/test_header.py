# SPDX-License-Identifier: Apache-2.0
"""What must hold of yett.h, yett-checkpoint.h and yett-workspace.h for the programs that include them: test_header.py SOURCE_ROOT BUILD_ROOT VERSION SANITIZERS CC…  TAP."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD, VERSION, SANITIZERS, CC = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:]
INCLUDE = [f"-I{os.path.join(ROOT, folder)}" for folder in ("libclient", "checkpoint", "workspace", "protocol")]
STANDARD = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"

# What programs may use. A name that is added here is promised to them.
MACROS = {"YETT_VERSION_MAJOR", "YETT_VERSION_MINOR", "YETT_VERSION_PATCH", "YETT_VERSION_NUMBER", "YETT_SOCKET_PATH", "YETT_KEY_SIZE",
          "YETT_SIGNATURE_SIZE", "YETT_ID_SIZE", "YETT_NAME_SIZE", "YETT_LABEL_SIZE", "YETT_WEAKER_SIZE", "YETT_STEP_SIZE", "YETT_CAPTURE_MAX",
          "YETT_CORE_NONE", "YETT_RELAY_CONNECTIONS_MAX", "YETT_PEER_SIZE", "YETT_PEER_RULE_SIZE"}
CHECKPOINT_MACROS = {"YETT_STEP_SIZE", "YETT_CHECKPOINT_UNLIMITED", "YETT_CHECKPOINT_ID_SIZE", "YETT_CHECKPOINT_TEXT_MAX", "YETT_CHECKPOINT_TAG_MAX",
                     "YETT_CHECKPOINT_TAGS_MAX", "YETT_CHECKPOINT_CUSTOM_MAX"}


def run(*arguments, source=""):
    return subprocess.run([*CC, *INCLUDE, *arguments], input=source, capture_output=True, text=True, check=False)


def macros(source):
    result = run("-E", "-dM", "-x", "c", "-", source=source)
    assert result.returncode == 0, result.stderr
    return set(re.findall(r"^#define (\w+)", result.stdout, re.M))


def run_program(body):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "x")
        # a library with a sanitizer in it needs a program that brings that one
        sanitize = [] if SANITIZERS == "none" else [f"-fsanitize={SANITIZERS}"]
        result = run(*sanitize, "-x", "c", "-", "-x", "none", "-o", program, os.path.join(BUILD, "libclient", "libyett.so.1"),
                     f"-Wl,-rpath,{os.path.join(BUILD, 'libclient')}", source=f"#include <stdio.h>\n#include <yett.h>\nint main(void) {{ {body} }}\n")
        assert result.returncode == 0, result.stderr
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


class Header(unittest.TestCase):
    def test_programs_get_no_macro_but_those_of_the_interface(self):
        self.assertEqual(macros(STANDARD + "#include <yett.h>\n") - macros(STANDARD), MACROS)
        self.assertEqual(macros(STANDARD + "#include <yett-checkpoint.h>\n") - macros(STANDARD), CHECKPOINT_MACROS)
        self.assertEqual(macros(STANDARD + "#include <yett-workspace.h>\n") - macros(STANDARD), MACROS)

    def test_a_macro_of_the_programs_own_is_left_alone(self):
        result = run("-E", "-x", "c", "-", source="#define X mine\n#include <yett.h>\n#include <yett-checkpoint.h>\n#include <yett-workspace.h>\nX\n")
        self.assertEqual(result.stdout.splitlines()[-1], "mine")

    def test_it_is_c_and_cplusplus_of_the_strict_kind(self):
        for language, standard in (("c", "c11"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++17")):
            result = run("-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-std={standard}", "-x", language, "-",
                         source="#include <yett-checkpoint.h>\n#include <yett-workspace.h>\n#include <yett.h>\n#include <yett-checkpoint.h>\n#include <yett-workspace.h>\n")
            if "cc1plus" in result.stderr:
                self.skipTest("no compiler for C++ is installed")
            self.assertEqual((result.returncode, result.stderr), (0, ""), standard)

    def test_the_version_is_that_of_the_library(self):
        said = run_program('printf("%d.%d.%d\\n%s\\n", YETT_VERSION_MAJOR, YETT_VERSION_MINOR, YETT_VERSION_PATCH, yett_version());')
        self.assertEqual(said, [VERSION, VERSION])

    def test_a_program_of_a_later_or_another_interface_is_told(self):
        major, minor, patch = map(int, VERSION.split("."))
        rows = [("YETT_VERSION_NUMBER", 0), (f"{major * 1000000 + minor * 1000 + patch + 1}", 14), (f"{(major + 1) * 1000000}", 14),
                (f"{major * 1000000 + (minor + 1) * 1000}", 14)]
        if major == 0:
            rows.append((f"{(minor - 1) * 1000 + 999}", 14))
        for number, expected in rows:
            said = run_program(f'struct yett_error error = {{0}}; printf("%d %s\\n", yett_check_version({number}, &error), error.message);')
            self.assertTrue(said[0].startswith(f"{expected} "), (number, said))
            if expected:
                self.assertIn(f"the library that is loaded is {VERSION}", said[0])


if __name__ == "__main__":
    yett.run_cases(())
