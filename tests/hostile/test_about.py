# SPDX-License-Identifier: Apache-2.0
"""
/run/yett/sandbox.json, attacked by commands: as nobody in particular, as root inside, with every capability there is, without init's filter
and Landlock, so that what is mounted is seen to hold alone. None of them changes what others read there, or puts another one in its place.
"""
import hostile
import yett
from test_capable import NAMES

POLICY = '''
profile "root" {
  extends = "default"
  identity = root
}
profile "capable" {
  extends = "default"
  capabilities = {%(names)s}
}
profile "bare" {
  extends = "default"
  environment = {"YETT_TEST_LAYERS_OFF=system-call-filter,landlock"}
}
profile "capable-bare" {
  extends = "bare"
  capabilities = {%(names)s}
}
profile "root-bare" {
  extends = "capable-bare"
  identity = root
}
profile "nesting" {
  extends = "default"
  nested_userns = true
}
grant "about" {
  users = {"*"}
  user_keys = true
  profiles = {"*"}
  capabilities = {%(names)s}
  identity_root = true
  nested_userns = true
  linger_max = unlimited
}
''' % {'names': NAMES}

# Attempts at TOP/yett/sandbox.json, each in a process of its own; outside TOP is another one, made anew for each. What each came to is told
# by how others see the file then: the same, or not.
TRY = r'''
import ctypes, mmap, os, sys
top, is_inside = sys.argv[1], sys.argv[2] == "inside"
folder, path = top + "/yett", top + "/yett/sandbox.json"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
def put(name, text="fake", flags=os.O_WRONLY | os.O_CREAT):
    fd = os.open(name, flags, 0o644)
    os.write(fd, text.encode())
    os.close(fd)
def swap(one, other):
    call(libc.renameat2(-100, one.encode(), -100, other.encode(), 2))
def fakes():
    """Another one, of the same file system as TOP is, as far as it may be written to."""
    place = "/tmp/fakes" if is_inside else os.path.dirname(top) + "/fakes"
    os.makedirs(place + "/yett", exist_ok=True)
    put(place + "/yett/sandbox.json", "fake", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    return place
def beside(name):
    """Moves what there is out of the way, and puts a whole one in its place."""
    os.rename(name, name + ".old")
    os.rename(fakes() + name[len(top):], name)
def mapped():
    fd = os.open(path, os.O_RDWR)
    mmap.mmap(fd, 4)[:4] = b"fake"
def again(name):
    fd = os.open(path, os.O_RDONLY)
    put(name % fd, flags=os.O_WRONLY | os.O_TRUNC)
def mount(source, target, flags, kind=None):
    call(libc.mount(source.encode() if source else None, target.encode(), kind, flags, None))
def remount(target):
    mount(None, target, 32 | 4096)  # MS_REMOUNT | MS_BIND: writable
    put(path, flags=os.O_WRONLY | os.O_TRUNC)
def copy():
    """A mount that shows the same, and that can be written to."""
    tree = call(libc.syscall(428, -100, folder.encode(), 1))
    call(libc.syscall(442, tree, b"", 0x1000, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32))
    os.chdir(tree)
    put("sandbox.json", flags=os.O_WRONLY | os.O_TRUNC)
def handle():
    """The kernel's own name of the file, through a mount that shows something else of its file system."""
    handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132))
    call(libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(ctypes.c_int()), 0))
    at = os.open(top, os.O_RDONLY)
    fd = call(libc.open_by_handle_at(at if is_inside else os.open(folder, os.O_RDONLY), handle, os.O_WRONLY | os.O_TRUNC))
    os.write(fd, b"fake")
def elsewhere(flags):
    """From a mount namespace in which nothing is mounted on the name, it is renamed by who has a descriptor of what lies above."""
    above = os.open(os.path.dirname(top), os.O_PATH)
    name, ids = os.path.basename(top), (os.getuid(), os.getgid())
    call(libc.unshare(flags))
    if flags & 0x10000000:
        put("/proc/self/setgroups", "deny", os.O_WRONLY)
        for kind, own in zip("ug", ids):
            put("/proc/self/%sid_map" % kind, "%d %d 1" % (own, own), os.O_WRONLY)
    mount(None, "/", 1 << 18 | 16384)
    mount("none", "/tmp", 0, b"tmpfs")
    os.mkdir("/tmp/old", 0o700)
    call(libc.syscall({"x86_64": 155, "aarch64": 41}[os.uname().machine], b"/tmp", b"/tmp/old"))
    os.chdir("/")
    call(libc.umount2(b"/old", 2))
    os.rename(name, name + ".moved", src_dir_fd=above, dst_dir_fd=above)
attempts = {
    "write": lambda: put(path),
    "append": lambda: put(path, flags=os.O_WRONLY | os.O_APPEND),
    "truncate": lambda: os.truncate(path, 0),
    "map": mapped,
    "own-descriptor": lambda: again("/proc/self/fd/%d"),
    "mode": lambda: (os.chmod(path, 0o666), put(path)),
    "owner": lambda: (os.chown(path, os.getuid(), os.getgid()), os.chmod(path, 0o600), put(path)),
    "remove": lambda: os.unlink(path),
    "replace": lambda: os.rename(fakes() + "/yett/sandbox.json", path),
    "replace-from-beside": lambda: (put(folder + "/next"), os.rename(folder + "/next", path)),
    "move": lambda: os.rename(path, folder + "/elsewhere"),
    "swap": lambda: swap(path, fakes() + "/yett/sandbox.json"),
    "replace-folder": lambda: beside(folder),
    "swap-folder": lambda: swap(folder, fakes() + "/yett"),
    "replace-top": lambda: beside(top),
    "swap-top": lambda: swap(top, fakes()),
    "mount-file": lambda: mount(fakes() + "/yett/sandbox.json", path, 4096),
    "mount-folder": lambda: mount("none", folder, 0, b"tmpfs"),
    "mount-top": lambda: mount("none", top, 0, b"tmpfs"),
    "bind-top": lambda: mount(fakes(), top, 4096),
    "unmount-folder": lambda: call(libc.umount2(folder.encode(), 2)),
    "unmount-top": lambda: call(libc.umount2(top.encode(), 2)),
    "move-mount": lambda: mount(folder, "/tmp", 8192),
    "remount-folder": lambda: remount(folder),
    "remount-top": lambda: remount(top),
    "copy": copy,
    "handle": handle,
    "elsewhere": lambda: elsewhere(0x20000),
    "elsewhere-as-root": lambda: elsewhere(0x10020000),
}
def make(is_mounted):
    """With what holds it inside, which can be taken off here; or without."""
    mount("none", os.path.dirname(top), 0, b"tmpfs")
    os.mkdir(top)
    if is_mounted:
        mount("none", top, 0, b"tmpfs")
    os.mkdir(folder)
    if is_mounted:
        mount("none", folder, 0, b"tmpfs")
    put(path, "as it was")
def seen():
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return error.errno
for name, attempt in attempts.items():
    if not is_inside:
        make("mount" in name)
    before = seen()
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    print(name, "same" if seen() == before else "other", flush=True)
'''


class Attacked(yett.Case):
    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-' + cls.__name__, init=hostile.program('yett-init-layers'))
        cls.service_options = {'libexec': libexec, 'before': POLICY}
        super().setUpClass()

    def results(self, done):
        self.assertEqual(done.code, 0, done)
        return dict(line.split() for line in done.out.splitlines())

    def seen(self):
        done = self.yett('exec', 'box', '--', 'cat', '/run/yett/sandbox.json')
        return done.out or done.err

    def attack(self, profile):
        """What any of the attempts came to, and whether what others see afterwards is what they saw before."""
        made = self.yett('create', '--name', 'box', '-p', profile)
        self.assertEqual(made.code, 0, made)
        before = self.seen()
        self.assertIn('"profile":"%s"' % profile, before)
        told = self.results(self.yett('exec', 'box', '--', 'python3', '-c', TRY, '/run', 'inside'))
        after = self.seen()
        self.assertEqual(self.yett('destroy', 'box').code, 0)
        return [name for name, result in told.items() if result != 'same'], after == before


class WithRoot(Attacked):
    profiles = ('default', 'bare', 'root', 'capable', 'capable-bare', 'root-bare', 'nesting')

    def test_outside_all_of_them_do_something(self):
        told = self.results(self.service.run(yett.Root(self.service.folder), 'unshare', '--mount', 'python3', '-c', TRY, '/mnt/run', 'outside'))
        self.assertEqual([name for name, result in told.items() if result == 'same'], [])

    def test_nobody_changes_what_others_are_told_of_the_sandbox(self):
        for profile in self.profiles:
            with self.subTest(profile=profile):
                self.assertEqual(self.attack(profile), ([], True))


class WithoutRoot(WithRoot):
    """Here commands have init's id."""

    service_class = yett.Rootless
    profiles = ('default', 'bare')

    def test_who_makes_mount_namespaces_where_its_id_is_inits_can_move_it_away(self):
        """The limit that the guide names, and why no other profile lets commands make any."""
        self.assertEqual(self.attack('nesting'), (['elsewhere-as-root'], False))


if __name__ == '__main__':
    yett.main()
