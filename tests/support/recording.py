# SPDX-License-Identifier: Apache-2.0
"""The records of an audit, in the folder that a policy names."""
import json
import os
import pathlib
import re
import shutil
import subprocess


def lines(folder):
    """All of them, in their order, but for what the record after it says is truncated: see programs/audit/truncated.h."""
    return [record for name in sorted(os.listdir(folder)) if name.endswith('.jsonl')
            for record in of_segment(pathlib.Path(folder, name).read_bytes())]


def of_segment(text):
    """The records of one segment. At its end may be a part of one that is being written, or whose writer was killed."""
    found, damaged = [], []
    for line in re.finditer(b'[^\n]+', text):
        try:
            found.append((line.start(), json.loads(line.group())))
        except ValueError:
            damaged.append(line)
    pieces = [(record['offset'], record['offset'] + record['bytes']) for _, record in found if record['event'] in ('torn', 'segment')]
    last = max((at for at, _ in found), default=-1)
    for line in damaged:
        if line.start() < last and not any(first <= line.start() < end for first, end in pieces):
            raise ValueError('no record: %r' % line.group())
    return [record for at, record in found if not any(first <= at < end for first, end in pieces)]


def remove(folder):
    """What is there can only be appended to."""
    subprocess.run(['chattr', '-R', '-a', folder], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)
