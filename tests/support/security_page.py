#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
docs/security-tests.md, of security_page.md (what is said in words), defences.py and attacks.py.

Usage: security_page.py          prints the page
       security_page.py --write  writes it
"""
import os
import sys

import attacks
import defences

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, '..', '..', 'docs', 'security-tests.md')


def page():
    with open(os.path.join(HERE, 'security_page.md'), encoding='utf-8') as file:
        return file.read().replace('{{defences}}\n', defences.tables()).replace('{{attacks}}\n', attacks.table())


if __name__ == '__main__':
    if sys.argv[1:] == ['--write']:
        with open(PAGE, 'w', encoding='utf-8') as output:
            output.write(page())
    else:
        print(page(), end='')
