#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the files of the web view as C: the table `pages` of pages.h.

Usage: pages.py OUTPUT FILE…
"""
import os
import sys

TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
         '.svg': 'image/svg+xml', '.png': 'image/png', '.ico': 'image/x-icon'}


def rows(path):
    with open(path, 'rb') as file:
        content = file.read()
    name, extension = os.path.basename(path), os.path.splitext(path)[1]
    symbol = 'file_' + ''.join(c if c.isalnum() else '_' for c in name)
    lines = ['\t' + ', '.join('%d' % byte for byte in content[at:at + 24]) + ',' for at in range(0, len(content), 24)]
    array = 'static const unsigned char %s[] = {\n%s\n\t0,\n};\n' % (symbol, '\n'.join(lines))
    url = '/' if name == 'index.html' else '/' + name
    return array, '\t{"%s", "%s", %s, sizeof %s - 1},\n' % (url, TYPES[extension], symbol, symbol)


def main(output, *paths):
    made = [rows(path) for path in paths]
    with open(output, 'w', encoding='utf-8') as file:
        file.write('#include "agent/http/pages.h"\n\n' + ''.join(array for array, _ in made))
        file.write('const struct page pages[] = {\n' + ''.join(row for _, row in made) + '\t{0},\n};\n')


main(*sys.argv[1:])
