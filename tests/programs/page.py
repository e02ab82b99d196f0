# SPDX-License-Identifier: Apache-2.0
"""docs/programs.md: the corpus with a verdict for each program."""
import os

import corpus

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), 'docs', 'programs.md')

HEAD = '''# Programs

What becomes of programs in a sandbox: %d programs that nobody wrote for this project. Each was run as an ordinary user on the host, where
it did what it should, and then by the same user with `yett run --rw . --`, once by the service and once without root.

- *works*: what it does outside it does inside.
- *works with*: with these options of `yett run` as well, and not without them. The profile `nested` takes a grant that allows
  `nested_userns`; the shipped policy has none. The profile `perf` is that of [admin.md](admin.md#programs-that-measure).
- *does not*: and why.

`make programs` installs all of these programs, runs them, and fails where a program does better or worse than this page says.
`make check-all` runs those that need little that is not installed yet. The script of each stands in `tests/programs/corpus.py`; the
programs are Debian 12's. What needs more of a host than others says so, and is tried only where the host has it;
`yett doctor` says, at `programs`, what of that a host lacks.
'''


def cell(verdict):
    if verdict.startswith(corpus.WITH):
        return corpus.WITH + '`%s`' % verdict[len(corpus.WITH):]
    return verdict.replace('|', '\\|')


def title(program):
    return '%s (where the host has %s)' % (program.name, program.host) if program.host else program.name


def text(verdict_of):
    """The page, where `verdict_of` says what becomes of a program, and whether that is meant without root."""
    lines = [HEAD % len(corpus.PROGRAMS)]
    for kind in dict.fromkeys(program.kind for program in corpus.PROGRAMS):
        lines += ['## %s\n' % kind, '| program | by the service | without root |', '| --- | --- | --- |']
        lines += ['| %s | %s | %s |' % (title(program), *(cell(verdict_of(program, is_rootless)) for is_rootless in (False, True)))
                  for program in corpus.PROGRAMS if program.kind == kind]
        lines.append('')
    return '\n'.join(lines).rstrip('\n') + '\n'


def declared():
    return text(lambda program, is_rootless: program.verdict_of(is_rootless))
