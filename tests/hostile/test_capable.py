# SPDX-License-Identifier: Apache-2.0
"""
Commands that keep every capability there is: none of them reaches what the sandbox itself is made of, since its namespaces belong to
another user namespace than theirs. With init's filter and Landlock, and without, so that the namespaces alone are seen to hold.
"""
import os

import hostile
import yett

CAPABILITIES = [name for name in (
    'chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service net_broadcast net_admin '
    'net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time '
    'sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read '
    'perfmon bpf checkpoint_restore').split()]
NAMES = ', '.join('"%s"' % name for name in CAPABILITIES)

# The second one has no filter and no Landlock, the third one no capability either.
POLICY = '''
profile "capable" {
  extends = "default"
  capabilities = {%s}
  mask = {"/usr/share"}
}
profile "capable-alone" {
  extends = "capable"
  environment = {"YETT_TEST_LAYERS_OFF=system-call-filter,landlock"}
}
profile "masked" {
  extends = "default"
  mask = {"/data/closed/secret"}
}
profile "capable-masked" {
  extends = "capable"
  mask = {"/data/closed/secret"}
}
grant "capable" {
  users = {"*"}
  user_keys = true
  profiles = {"capable", "capable-alone", "masked", "capable-masked"}
  capabilities = {%s}
  share_ro = {"*"}
  share_rw = {"*"}
}
''' % (NAMES, NAMES)

# What a command sees of what was built. The rows of /proc are those of other processes, too: a mount would show in init's.
SEEN = '''
import fcntl, os, socket, struct
def seen():
    s = socket.socket()
    lo = fcntl.ioctl(s, 0x8913, struct.pack("16sh", b"lo", 0) + bytes(24))[16:18].hex()
    address = fcntl.ioctl(s, 0x8915, struct.pack("16sh", b"lo", 0) + bytes(24))[20:24].hex()
    # a file of the host that is replaced there, as /etc/passwd may be at any time, shows as deleted, and one that is hidden loses its mount
    mounts = [line for line in open("/proc/self/mountinfo").read().replace("//deleted", "").splitlines() if " /etc/" not in line]
    return [mounts, os.uname().nodename, lo, address, open("/proc/net/route").read(),
            sorted(os.listdir("/usr/share")), open("/proc/sys/user/max_user_namespaces").read(), open("/proc/self/uid_map").read(),
            [open("/proc/sys/" + name).read() for name in ("kernel/shmmax", "fs/mqueue/queues_max", "net/ipv4/ip_default_ttl")]]
'''

# Each is run in a process of its own: its name, and what it does. They are the same outside, as root in namespaces of its own.
TRY = SEEN + r'''
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
def put(path, text):
    with open(path, "w") as file:
        file.write(text)
def interface(request, rest):
    fcntl.ioctl(socket.socket(), request, struct.pack("16s", b"lo") + rest.ljust(24, b"\0"))
share = sys.argv[1].encode()
def join(name):
    fd = os.open("/proc/%s/ns/%s" % (sys.argv[2], name), os.O_RDONLY)
    call(libc.setns(fd, 0))
def beyond(flags, then):
    call(libc.unshare(flags))
    then()
attempts = {
    "mount": lambda: call(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)),
    "bind": lambda: call(libc.mount(b"/tmp", b"/usr", None, 4096, None)),
    "unmask": lambda: call(libc.umount2(b"/usr/share", 2)),
    "umount": lambda: call(libc.umount2(share, 2)),
    "remount-share": lambda: call(libc.mount(None, share, None, 32 | 4096, None)),
    "remount-usr": lambda: call(libc.mount(None, b"/usr", None, 32 | 4096, None)),
    "move": lambda: call(libc.mount(share, b"/mnt", None, 8192, None)),
    "share-mounts": lambda: call(libc.mount(None, b"/", None, 1 << 20 | 16384, None)),
    "chroot-pivot": lambda: call(libc.syscall({"x86_64": 155, "aarch64": 41}[os.uname().machine], b"/tmp", b"/tmp")),
    "open-tree": lambda: call(libc.syscall(428, -100, b"/usr", 1)),
    "new-file-system": lambda: call(libc.syscall(430, b"tmpfs", 0)),
    "address": lambda: interface(0x8916, struct.pack("HH4s", 2, 0, bytes([127, 0, 0, 9]))),
    "loopback-down": lambda: interface(0x8914, struct.pack("h", 0)),
    "mtu": lambda: interface(0x8922, struct.pack("i", 1280)),
    "name": lambda: socket.sethostname("attack"),
    "join-mounts": lambda: join("mnt"), "join-network": lambda: join("net"), "join-names": lambda: join("uts"),
    "join-processes": lambda: join("pid"), "join-users": lambda: join("user"),
    "nested": lambda: beyond(0x10000000, lambda: None),
    "nested-name": lambda: beyond(0x04000000, lambda: None),
    "more-namespaces": lambda: put("/proc/sys/user/max_user_namespaces", "100"),
    "ttl": lambda: put("/proc/sys/net/ipv4/ip_default_ttl", "9"),
    "shared-memory": lambda: put("/proc/sys/kernel/shmmax", "4096"),
    "queues": lambda: put("/proc/sys/fs/mqueue/queues_max", "1"),
}
is_inside = sys.argv[2] == "1"
if not is_inside:
    del attempts["more-namespaces"]  # the host's own
before = seen()
for name, attempt in attempts.items():
    child = os.fork()
    if child == 0:
        try:
            if not is_inside:
                call(libc.unshare(0x20000))  # what one does to the mounts must not be in the way of the next one
            attempt()
            print(name, "works", flush=True)
        except OSError as error:
            print(name, error.errno, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print("seen", "same" if before == seen() else "other", flush=True)
print("capabilities", open("/proc/self/status").read().split("CapEff:")[1].split()[0], flush=True)
'''


# Own namespaces, of the commands' user namespace: what is done there nobody else sees.
OWN = ('nested-name',)
# Refused outside for another reason: root's own user namespace is no other one to enter or to be in twice.
NOT_OUTSIDE = ('join-users', 'chroot-pivot')

OUTSIDE = '''
mount --bind /usr /usr; mount -o remount,bind,ro /usr
mount -t tmpfs tmpfs /usr/share
mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"
ip link set lo up 2>/dev/null || true
exec python3 -c "$0" "$1" "$2"
'''


class Capable(yett.Case):

    @classmethod
    def setUpClass(cls):
        libexec = yett.run_of_process().libexec('libexec-capable', init=hostile.program('yett-init-layers'))
        cls.service_options = {'libexec': libexec, 'before': POLICY}
        super().setUpClass()

    def results(self, done):
        self.assertEqual(done.code, 0, done)
        return dict(line.split() for line in done.out.splitlines())

    def inside(self, profile):
        share = self.folder('share')
        return self.results(self.sandbox('python3', '-c', TRY, '/share', '1', options=('-p', profile, '--ro', share + ':/share')))

    def check(self, profile):
        told = self.inside(profile)
        self.assertEqual(told.pop('capabilities'), '%016x' % ((1 << len(CAPABILITIES)) - 1))
        self.assertEqual(told.pop('seen'), 'same')
        self.assertEqual([name for name, result in told.items() if result == 'works' and name not in OWN], [])

    def test_all_of_them_work_outside(self):
        other = self.service.popen(yett.Root(self.service.folder), 'unshare', '--mount', '--net', '--uts', '--pid', '--fork', 'sh', '-c', 'echo up; read x', stdin=-1, stdout=-1)
        self.addCleanup(other.communicate, b'\n')
        self.assertEqual(self.line(other), 'up')
        target = yett.children_of(other.pid)[0]
        told = self.results(self.service.run(
            yett.Root(self.service.folder), 'unshare', '--mount', '--net', '--ipc', '--uts', 'sh', '-ec', OUTSIDE, TRY, self.folder('data'), str(target)))
        self.assertEqual(told.pop('seen'), 'other')
        del told['capabilities']
        self.assertEqual({name: result for name, result in told.items() if result != 'works' and name not in NOT_OUTSIDE}, {})

    def test_no_capability_of_commands_reaches_the_sandbox(self):
        self.check('capable')

    def test_nor_does_one_where_the_namespaces_are_all_there_is(self):
        self.check('capable-alone')

    def test_a_mask_that_only_they_could_come_to_is_not_left_out(self):
        """What nobody inside can reach need not be hidden; with these capabilities it could be reached."""
        data = self.folder('masked')
        self.alice.mkdir('masked/closed')
        self.alice.write('masked/closed/secret', 'secret')
        os.chmod(data + '/closed', 0)
        look = ('sh', '-c', 'cat /data/closed/secret 2>/dev/null || echo closed')
        share = ('--ro', data + ':/data')
        self.assertEqual(self.output(*look, options=('-p', 'masked', *share)), 'closed\n')
        self.assertEqual(self.output(*look, options=('-p', 'capable', *share)), 'secret')
        self.assert_refused(self.sandbox(*look, options=('-p', 'capable-masked', *share)), 125, 'Permission denied')

    def test_no_command_is_inits_user(self):
        """Who has its id could trace it, and take what it holds."""
        options = ('-p', 'capable')
        init = self.output('sed', '-n', 's/^Uid:\t\\([0-9]*\\).*/\\1/p', '/proc/1/status', options=options).strip()
        self.assertNotIn(init, ('', '0', str(self.alice.uid)))
        self.assertEqual(self.output('id', '-u', options=(*options, '-u', '4321')), '4321\n')
        self.assert_refused(self.sandbox('id', '-u', options=(*options, '-u', init)), 125, 'init')

    def test_files_of_its_groups_are_nobodys(self):
        """Its capabilities would count for them, too."""
        data = self.folder('grouped')
        path = self.alice.write('grouped/file', 'secret', 0o640, gid=4242)
        os.chown(path, self.bob.uid, 4242)
        for profile, said in (('masked', 'secret'), ('capable', 'closed\n')):
            self.assertEqual(self.output('sh', '-c', 'cat /grouped/file 2>/dev/null || echo closed', groups=[4242],
                                         options=('-p', profile, '--ro', data + ':/grouped')), said)


if __name__ == '__main__':
    yett.main()
