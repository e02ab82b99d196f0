# SPDX-License-Identifier: Apache-2.0
"""What the attacks of tests/hostile/attack*.c look for outside, and the variables that say where that is."""
import array
import ctypes
import os
import pty
import socket
import stat
import subprocess

import places
import yett

IPC_CREAT, IPC_RMID = 0o1000, 0

# Where a victim's number begins: well above those of the processes of a sandbox, which are counted from 1 there. Of two processes with
# the same number, one here and one inside, an attack would meet its own. ns_last_pid in proc(5) and Documentation/admin-guide/sysctl
LAST_NUMBER, FAR = '/proc/sys/kernel/ns_last_pid', 10000


def libc_call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def handle_of(path):
    """TYPE:BYTES:HEX of a file handle. name_to_handle_at(2)"""
    handle = ctypes.create_string_buffer(8 + 128)
    handle[0:4] = array.array('I', [128]).tobytes()
    libc_call('name_to_handle_at', -100, path.encode(), handle, ctypes.byref(ctypes.c_int()), 0)
    size, kind = array.array('i', handle.raw[:8])
    return '%d:%d:%s' % (kind, size, handle.raw[8:8 + size].hex())


def count_processes_from_afar():
    """What is started next has a number that no process of a sandbox has."""
    with open(LAST_NUMBER, 'w', encoding='ascii') as file:
        file.write(str(FAR))


class Surroundings:
    """`outside` was not shared, `share` was, for writing. `stack` takes away what is no file. The victim is started by `popen`."""

    def __init__(self, stack, outside, share, program, popen=subprocess.Popen):
        self.stack, self.outside, self.share, self.place = stack, outside, share, places.number()
        yett.write(share + '/secret', 'secret', 0o600)
        os.makedirs(share + '/mount', exist_ok=True)
        os.mknod(share + '/device', stat.S_IFCHR, os.makedev(1, 5))
        os.chmod(share + '/device', 0o666)
        self.variables = {
            'ATTACK_OUTSIDE': outside, 'ATTACK_DIR': share, 'ATTACK_HANDLE': handle_of(outside + '/secret'),
            'ATTACK_SHM': str(self.make_shared_memory()), 'ATTACK_QUEUE': self.make_queue(), 'ATTACK_TERMINAL': self.make_terminal(),
            **self.make_listeners(), **self.make_victim(program, popen)}

    def make_shared_memory(self):
        key = 0x79750000 + self.place
        segment = libc_call('shmget', key, 4096, IPC_CREAT | 0o666)
        self.stack.callback(libc_call, 'shmctl', segment, IPC_RMID, None)
        return key

    def make_queue(self):
        name = '/yett-attack-%d' % self.place
        before = os.umask(0)
        os.close(libc_call('mq_open', name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None))
        os.umask(before)
        self.stack.callback(libc_call, 'mq_unlink', name.encode())
        return name

    def make_terminal(self):
        ours, theirs = pty.openpty()
        self.stack.callback(os.close, ours)
        self.stack.callback(os.close, theirs)
        return os.ttyname(theirs)

    def make_listeners(self):
        abstract, path = 'yett-attack-%d' % self.place, self.outside + '/socket'
        listeners = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.create_server(('127.0.0.1', 0))]
        for listener, name in zip(listeners, ('\0' + abstract, path)):
            listener.bind(name)
        for listener in listeners:
            listener.listen(64)
            self.stack.enter_context(listener)
        os.chmod(path, 0o777)
        return {'ATTACK_ABSTRACT': abstract, 'ATTACK_PORT': str(listeners[2].getsockname()[1])}

    def make_victim(self, program, popen):
        count_processes_from_afar()
        victim = popen([program, 'victim'], stdout=subprocess.PIPE, env={'ATTACK_OUTSIDE': self.outside})
        self.stack.callback(victim.communicate)
        self.stack.callback(victim.kill)
        pid, address = victim.stdout.readline().decode().split()
        return {'ATTACK_VICTIM': pid, 'ATTACK_ADDRESS': address}


def results_of(code, out, err):
    """{attack: what it said} of a run of the program."""
    if code != 0:
        raise RuntimeError('the attacks did not end well: %d\n%s%s' % (code, out, err))
    return dict(line.split() for line in out.splitlines())
