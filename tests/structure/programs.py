# SPDX-License-Identifier: Apache-2.0
"""What nm(1) and readelf(1) tell of a linked program or an object file."""
import functools
import json
import os
import re
import subprocess


def run(*argv):
    # Symbol names and section names are the same in every locale; the words around them are not.
    return subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


@functools.lru_cache(maxsize=None)
def symbols(path):
    """(letter, name) of each symbol."""
    found = set()
    for line in run("nm", path).splitlines():
        fields = line.split()
        if len(fields) >= 2:
            found.add((fields[-2], re.sub(r"(\.(isra|constprop|part|cold|lto_priv)[.0-9]*)+$", "", fields[-1].split("@")[0])))
    return found


def defined(path):
    return {name for letter, name in symbols(path) if letter not in "Uwv"}


def undefined(path):
    return {name for letter, name in symbols(path) if letter in "Uwv"}


def exported(library):
    """Names of the symbols that a shared library offers to others."""
    lines = run("nm", "--dynamic", "--defined-only", "--extern-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}


def soname(library):
    found = re.search(r"\(SONAME\)\s+Library soname: \[(.*)\]", run("readelf", "--dynamic", library))
    return found.group(1) if found else None


def libraries(path):
    """The libraries that a program is linked with."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", run("readelf", "--dynamic", path))


def needs_interpreter(path):
    return " INTERP " in run("readelf", "--program-headers", "--wide", path)


def is_hardened(path):
    """What the program lacks of position independence, read-only relocations, stack protector and no executable stack."""
    header, segments, dynamic = (run("readelf", option, "--wide", path) for option in ("--file-header", "--segments", "--dynamic"))
    stack = re.search(r"GNU_STACK\s+(?:\S+\s+){5}(\S+ ?E?)", segments)
    lacks = []
    if "DYN (" not in header or "PIE" not in dynamic:
        lacks.append("position independence")
    if "GNU_RELRO" not in segments:
        lacks.append("read-only relocations")
    if not re.search(r"\((BIND_NOW|FLAGS(_1)?)\).*(NOW|BIND_NOW)", dynamic):
        lacks.append("immediate binding")
    if not stack or "E" in stack.group(1):
        lacks.append("a stack that is not executable")
    if not any(name.startswith("__stack_chk_fail") for _, name in symbols(path)):
        lacks.append("a stack protector")
    return lacks


@functools.lru_cache(maxsize=None)
def compiled(build):
    """The object files that the build makes: {source file: {program's folder: path}}."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for command in commands:
        source = os.path.realpath(os.path.join(command["directory"], command["file"]))
        found.setdefault(source, {})[command["output"].split(".p/")[0]] = os.path.join(build, command["output"])
    return found


def objects(build, source):
    """Those that it makes of one source file."""
    return compiled(build).get(os.path.realpath(source), {})
