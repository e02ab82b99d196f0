# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own and answers what it says: dialog.py COMMAND [EXPECTED ANSWER]…  Answers have Python's escapes."""
import fcntl
import os
import pty
import struct
import sys
import termios

command, *talk = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execvpe('sh', ['sh', '-c', command], {**os.environ, 'TERM': 'xterm'})


def more():
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # the last one has closed it
        chunk = b''
    sys.stdout.buffer.write(chunk)
    sys.stdout.flush()
    return chunk


said = b''
for expected, answer in zip(talk[::2], talk[1::2]):
    while expected.encode() not in said:
        chunk = more()
        if not chunk:
            sys.exit('it ended before it said: ' + expected)
        said += chunk
    said = said.partition(expected.encode())[2]
    os.write(terminal, answer.encode('latin-1').decode('unicode_escape').encode('latin-1'))
while more():
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
