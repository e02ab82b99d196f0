# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C string constant: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    lines = file.read().split(b"\n")

def quoted(line):
    # Octal escapes have at most three digits, so a digit may follow them.
    return "".join(chr(b) if 32 <= b < 127 and b not in b'\\"?' else "\\%03o" % b for b in line)

with open(target, "w") as file:
    file.write(f"extern const char {name}[];\nconst char {name}[] =\n")
    for line in lines:
        file.write(f'\t"{quoted(line)}\\n"\n')
    file.write("\t;\n")
