# SPDX-License-Identifier: Apache-2.0
"""
Spoils a copy of intersect.c in one place, as somebody might who changes it: spoil.py NUMBER SOURCE COPY.

A test that compares it with a second implementation must find each of them. What is looked for has to be there, once.
"""
import sys

SPOILT = (
    # a ceiling that is equal to nothing written bounds nothing any more
    ("return value != unlimited(row) && (than == unlimited(row) || value < than);", "return value != unlimited(row) && value < than;"),
    # ceilings are forgotten where only the grant that decides counts
    ("if (grant->is_ceiling || intersect_rows[i].rule == INTERSECT_USER)", "if (intersect_rows[i].rule == INTERSECT_USER)"),
    # the profile bounds, whatever the grant says
    ("if (row->rule == INTERSECT_ASKED && bound.most == 0)", "if (row->rule == INTERSECT_ASKED)"),
    # what is exactly the most is refused
    ("if (most && asked > most)", "if (most && asked >= most)"),
    # what a profile has by itself is not narrowed
    ("*value = asked ? asked : plan_lesser(*value, most);", "*value = asked ? asked : *value;"),
)


def main():
    number, source, copy = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    was, becomes = SPOILT[number - 1]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if text.count(was) != 1:
        sys.exit(f"spoil.py: {source} has {text.count(was)} times: {was}")
    with open(copy, "w", encoding="utf-8") as file:
        file.write(text.replace(was, becomes))


main()
