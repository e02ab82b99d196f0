"""A small file system in a file, mounted in a test's folder: it can lose its power, be full, or have a quota."""
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile

import yett


class Disk:
    """What is in it when it is first unmounted stays in `base`; what happens then happens in `now`, a copy."""

    def __init__(self, case, bytes_, *options, how='loop'):
        self.how = how  # it is mounted
        self.top = case.folder('disk')
        images = tempfile.mkdtemp(prefix='yett-test-', dir='/dev/shm')  # nothing waits for another disk
        case.addCleanup(shutil.rmtree, images)
        self.images = {name: os.path.join(images, name) for name in ('base', 'now')}
        with open(self.images['base'], 'wb') as file:
            file.truncate(bytes_)
        subprocess.run(['mkfs.ext4', '-q', *options, self.images['base']], check=True)
        case.addCleanup(subprocess.run, ['umount', '-l', self.top], stderr=subprocess.DEVNULL)
        self.mount('base')

    def mount(self, name):
        subprocess.run(['mount', '-o', self.how, self.images[name], self.top], check=True)

    def device(self):
        """The loop device of what is mounted, as /dev/NAME; None: there is none."""
        told = [subprocess.run(['losetup', '--noheadings', '--output', 'NAME', '-j', image], check=True, capture_output=True, text=True).stdout.split()
                for image in self.images.values()]
        return next((name for names in told for name in names), None)

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
