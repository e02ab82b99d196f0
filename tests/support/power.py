# SPDX-License-Identifier: Apache-2.0
"""
Power cuts: what a program did to the files of one folder, as strace(1) saw it, and what may be left of them when the power fails.

What was not synced (fsync(2)) may have reached the disk or not, each write by itself, and in part: sector by sector. A file that was made, or
removed, is there or not until its folder is synced.
"""
import os
import re

TRACED = 'openat,mknodat,pwrite64,write,ftruncate,fsync,fdatasync,unlink'
SECTOR = 512


def command(trace, argv):
    return ['strace', '-f', '-y', '-xx', '-s', '1000000', '-e', 'trace=' + TRACED, '-o', trace, *argv]


def text_of(escaped):
    return bytes.fromhex(escaped.replace('\\x', ''))


def read_trace(trace, folder):
    """[(what, file's name, …)] in their order; ("said", bytes) is what was written to standard output."""
    found = []
    name = re.compile(re.escape(folder) + r'(?:/([^/]+))?$')

    def known(escaped):
        path = text_of(escaped).decode() if escaped.startswith('\\x') else escaped
        match = name.match(path.replace(' (deleted)', ''))
        return match and (match.group(1) or '.')

    with open(trace, encoding='ascii') as file:
        for line in file:
            match = re.match(r'(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)', line)
            if not match or int(match.group(3)) < 0:
                continue
            call, arguments = match.group(1), match.group(2)
            of_fd = re.match(r'(\d+)<([^>]*)>(?:, (.*))?$', arguments)
            if call == 'write' and of_fd and of_fd.group(1) == '1':
                found.append(('said', text_of(re.search(r'"([^"]*)"', of_fd.group(3)).group(1))))
            elif call in ('openat', 'mknodat'):
                directory, path = re.match(r'[^<]*<?([^>,]*)>?, "([^"]*)"', arguments).groups()
                path = text_of(path).decode()
                at = known(path if path.startswith('/') else os.path.join(known(directory) == '.' and folder or '/nowhere', path))
                if at and (call == 'mknodat' or 'O_CREAT' in arguments):
                    found.append(('made', at))
            elif call == 'unlink':
                at = known(re.search(r'"([^"]*)"', arguments).group(1))
                if at:
                    found.append(('removed', at))
            elif of_fd and known(of_fd.group(2)):
                at, rest = known(of_fd.group(2)), of_fd.group(3)
                if call == 'pwrite64':
                    data, size, offset = re.match(r'"([^"]*)", (\d+), (\d+)$', rest).groups()
                    data = text_of(data)
                    assert len(data) == int(size) == int(match.group(3)), line[:200]
                    found.append(('wrote', at, int(offset), data))
                elif call == 'ftruncate':
                    found.append(('cut', at, int(rest)))
                elif call in ('fsync', 'fdatasync'):
                    found.append(('synced', at))
    return found


def apply(content, step):
    if step[0] == 'cut':
        del content[step[2]:]
        content.extend(bytes(step[2] - len(content)))
    else:
        _, _, offset, data = step
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset:offset + len(data)] = data


def may_apply(content, step, rng):
    """All of it, nothing, or some of its sectors."""
    chance = rng.random()
    if chance < 0.4 or step[0] == 'cut':
        if chance < 0.4:
            apply(content, step)
        return
    if chance < 0.7:
        return
    _, at, offset, data = step
    for begin in range(0, len(data), SECTOR):
        if rng.random() < 0.5:
            apply(content, ('wrote', at, offset + begin, data[begin:begin + SECTOR]))


def after_cut(steps, rng):
    """{name: bytes} of what is left when the power fails behind these steps."""
    synced, pending, there, perhaps = {}, {}, set(), {}
    for step in steps:
        what, at = step[0], step[1]
        if what == 'made':
            if perhaps.get(at, at in there) is False or (at not in there and at not in perhaps):
                perhaps[at] = True
                synced[at], pending[at] = bytearray(), []
        elif what == 'removed':
            perhaps[at] = False
        elif what in ('wrote', 'cut') and at in pending:
            pending[at].append(step)
        elif what == 'synced' and at == '.':
            there = {name for name in there | set(perhaps) if perhaps.get(name, True)}
            perhaps = {}
        elif what == 'synced' and at in pending:
            for earlier in pending[at]:
                apply(synced[at], earlier)
            pending[at] = []
    left = {}
    for at in sorted(there | set(perhaps)):
        if at in perhaps and rng.random() < 0.5:
            if at not in there:
                continue  # made, and lost
            if perhaps[at] is False:
                continue  # removed
        left[at] = bytearray(synced[at])
        for step in pending[at]:
            may_apply(left[at], step, rng)
    return left
