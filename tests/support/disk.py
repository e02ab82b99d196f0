# SPDX-License-Identifier: Apache-2.0
"""A small file system in a file, mounted in a test's folder: it can lose its power, be full, or have a quota."""
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile

import yett


def label_of(path):
    """Of SELinux; None: there is none."""
    try:
        return os.getxattr(path, 'security.selinux')
    except OSError:
        return None


class Disk:
    """What is in it when it is first unmounted stays in `base`; what happens then happens in `now`, a copy."""
    # What mkfs.ext4 is to make, and how it is mounted. The test is skipped where the kernel has none: CONFIG_QUOTA, CONFIG_QFMT_V2
    USER_QUOTA = ('-O', 'quota'), 'loop,usrquota'
    PROJECT_QUOTA = ('-O', 'quota,project', '-E', 'quotatype=prjquota'), 'loop,prjquota'
    KINDS = {USER_QUOTA[1]: 0, PROJECT_QUOTA[1]: 2}

    def __init__(self, case, bytes_, *options, how='loop'):
        self.how = how  # it is mounted
        self.top = case.folder('disk')
        label = label_of(self.top)
        images = tempfile.mkdtemp(prefix='yett-test-', dir='/dev/shm')  # nothing waits for another disk
        case.addCleanup(shutil.rmtree, images)
        self.images = {name: os.path.join(images, name) for name in ('base', 'now')}
        with open(self.images['base'], 'wb') as file:
            file.truncate(bytes_)
        subprocess.run(['mkfs.ext4', '-q', *options, self.images['base']], check=True)
        case.addCleanup(subprocess.run, ['umount', '-l', self.top], stderr=subprocess.DEVNULL)
        try:
            self.mount('base')
        except subprocess.CalledProcessError:
            if how not in self.KINDS:
                raise
            case.skipTest('the kernel has no quotas: CONFIG_QUOTA, CONFIG_QFMT_V2')
        if label:  # what is made in a new file system has its label, and that is nobody's
            os.setxattr(self.top, 'security.selinux', label)

    def mount(self, name):
        subprocess.run(['mount', '-o', self.how, self.images[name], self.top], check=True)

    def device(self):
        """The loop device of what is mounted, as /dev/NAME; None: there is none."""
        told = [subprocess.run(['losetup', '--noheadings', '--output', 'NAME', '-j', image], check=True, capture_output=True, text=True).stdout.split()
                for image in self.images.values()]
        return next((name for names in told for name in names), None)

    def limit(self, number, blocks):
        """So many KiB for a user, or a project, by what it is mounted for. quotactl(2), Q_SETQUOTA"""
        libc = ctypes.CDLL(None, use_errno=True)
        dqblk = ctypes.create_string_buffer(struct.pack('8QI4x', blocks, blocks, 0, 0, 0, 0, 0, 0, 1))
        call = {'x86_64': 179, 'aarch64': 60}[os.uname().machine]
        done = libc.syscall(call, 0x800008 << 8 | self.KINDS[self.how], self.device().encode(), number, dqblk)
        if done != 0:
            raise OSError(ctypes.get_errno(), 'quotactl')

    def umount(self):
        yett.wait_until(lambda: subprocess.run(['umount', self.top], stderr=subprocess.DEVNULL).returncode == 0, 'the end of those who use it')
        yett.wait_until(lambda: not self.device(), 'the end of those who have it')  # a sandbox that ends may have it in its own namespace still

    def begin(self):
        """As it was."""
        shutil.copyfile(self.images['base'], self.images['now'])
        self.mount('now')

    def keep(self, change):
        """What is changed now is as it was, from here on."""
        change()
        self.umount()
        shutil.copyfile(self.images['now'], self.images['base'])
        self.begin()

    def cut(self):
        """The power: what has come to the disk by now is what there is."""
        fd = os.open(self.top, os.O_RDONLY)
        fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))  # EXT4_IOC_SHUTDOWN without writing the journal
        os.close(fd)
        self.umount()
        self.mount('now')
