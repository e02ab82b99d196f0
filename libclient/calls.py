# SPDX-License-Identifier: Apache-2.0
"""Writes the names of system calls, by number, as one text: calls.py OUTPUT COMPILER..."""
import re
import subprocess
import sys

output, *compiler = sys.argv[1:]
defined = subprocess.run(compiler + ["-E", "-dM", "-x", "c", "-"], input="#include <asm/unistd.h>\n", stdout=subprocess.PIPE, text=True, check=True).stdout
values = dict(re.findall(r"^#define (__NR\w+) (\w+)$", defined, re.M))

def number(text):
    while text in values:
        text = values[text]
    return int(text) if text.isdigit() else None

# What counts the calls, and what only some architectures make of a number, have names of another shape.
names = {number(value): name[5:] for name, value in values.items()
         if re.match(r"__NR_(?!syscalls$|arch_specific_syscall$)", name) and number(value) is not None}
with open(output, "w") as file:
    file.write("extern const char calls_text[], *const calls_end;\nconst char calls_text[] =\n")
    for i in range(max(names) + 1):
        file.write(f'\t"{names.get(i, "")}\\0"\n')
    file.write("\t;\nconst char *const calls_end = calls_text + sizeof calls_text - 1;\n")
