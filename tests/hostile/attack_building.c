/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See attack.h: what init could try while it builds, with the capabilities that building takes
 * (helper/plan/order.h) and the descriptors that init is started with. $ATTACK_DIR is a share that
 * may be written to, $ATTACK_RO one that may not.
 */
#include "helper/plan/order.h"
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm/socket.h; Linux 6.5 */
#endif
#define PIDFD_GET_MNT_NAMESPACE _IO(0xFF, 3) /* linux/pidfd.h; Linux 6.11 */
#define HANDLE_OF_PROCESS       (-10002)     /* FD_PIDFS_ROOT of linux/fcntl.h; Linux 6.14 */
#define HANDLE_OF_NAMESPACE     (-10003)     /* FD_NSFS_ROOT; Linux 6.18 */

/* --- the template's mounts --- */

enum tree { TREE_ROOT, TREE_USR, TREE_ETC, TREE_DEV, TREE_PROC };

static const char *const trees[] = {[TREE_ROOT] = "/",
                                    [TREE_USR] = "/usr",
                                    [TREE_ETC] = "/etc",
                                    [TREE_DEV] = "/dev",
                                    [TREE_PROC] = "/proc"};

static int clear(int at, const char *path, uint64_t attribute)
{
	struct mount_attr attributes = {.attr_clr = attribute};

	return result_of(
		mount_setattr(at, path, *path ? 0 : AT_EMPTY_PATH, &attributes, sizeof attributes));
}

static int tree_remount(long tree)
{
	return result_of(
		mount(NULL, trees[tree], NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL));
}

static int tree_writable(long tree)
{
	return clear(AT_FDCWD, trees[tree], MOUNT_ATTR_RDONLY);
}

static int tree_set_id(long tree)
{
	return clear(AT_FDCWD, trees[tree], MOUNT_ATTR_NOSUID);
}

static int tree_super(long tree)
{
	/* outside it is a file system of the test's own that is changed for everybody */
	return result_of(
		mount(NULL, getenv("ATTACK_SUPER") ?: trees[tree], NULL, MS_REMOUNT, NULL));
}

/* With all capabilities there are, over a namespace of mounts that is a copy of this one. */
static int tree_nested(long tree)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0
	               ? -errno
	               : clear(AT_FDCWD, trees[tree], MOUNT_ATTR_RDONLY);
}

static int tree_clone(long tree)
{
	int fd = open_tree(AT_FDCWD, trees[tree],
	                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	return fd < 0 ? -errno : clear(fd, "", MOUNT_ATTR_RDONLY);
}

/* A new directory of the attacker's own. */
static const char *make_scratch(void)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/XXXXXX", getenv("ATTACK_SCRATCH"));
	return mkdtemp(path);
}

static int tree_bind(long tree)
{
	const char *path = make_scratch();

	return mount(trees[tree], path, NULL, MS_BIND | MS_REC, NULL) < 0
	               ? -errno
	               : clear(AT_FDCWD, path, MOUNT_ATTR_RDONLY);
}

static int tree_umount(long tree)
{
	/* of two, the upper one is of the attacker's own making */
	if (tree == TREE_PROC && umount2(trees[tree], MNT_DETACH) < 0)
		return -errno;
	return result_of(umount2(trees[tree], MNT_DETACH));
}

/* --- shares --- */

static int share_clear(long attribute)
{
	return clear(AT_FDCWD, getenv("ATTACK_RO"), (uint64_t)attribute);
}

static int share_device(void)
{
	char byte;
	int fd, r = clear(AT_FDCWD, getenv("ATTACK_DIR"), MOUNT_ATTR_NODEV);

	fd = open(shared("device"), O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : r < 0 ? r : -errno;
}

static int become(const char *variable)
{
	uid_t id = (uid_t)strtoul(getenv(variable), NULL, 10);

	return result_of(setresuid(id, id, id));
}

enum who { ROOT, OTHER };

static const char *const ids[] = {[ROOT] = "ATTACK_ROOT", [OTHER] = "ATTACK_OTHER"};
static const char *const names[] = {[ROOT] = "made-root", [OTHER] = "made-other"};
static const char *const secrets[] = {[ROOT] = "secret", [OTHER] = "secret-other"};

/* A set-id file of somebody else's, in a directory that is open to everybody. */
static int file_of(long who)
{
	const char *path;
	int r = become(ids[who]), fd;

	path = shared("open-to-all");
	if (r < 0 || chdir(path) < 0)
		return r < 0 ? r : -errno;
	fd = open(names[who], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	return fd < 0 ? -errno : result_of(fchmod(fd, 04755));
}

static int give_to(long who)
{
	return result_of(
		chown(shared("given"), (uid_t)strtoul(getenv(ids[who]), NULL, 10), (gid_t)-1));
}

static int read_as(long who)
{
	int r = become(ids[who]), fd = r < 0 ? r : open(shared(secrets[who]), O_RDWR | O_CLOEXEC);

	return r < 0 ? r : result_of(fd);
}

static int read_anyway(long who)
{
	return result_of(open(shared(secrets[who]), O_RDWR | O_CLOEXEC));
}

/* What root alone may read, in the host's /etc. */
static int etc_as_root(void)
{
	int r = become(ids[ROOT]);

	return r < 0 ? r : result_of(open(given("ATTACK_ETC"), O_RDONLY | O_CLOEXEC));
}

static int etc_anyway(void)
{
	return result_of(open(given("ATTACK_ETC"), O_RDONLY | O_CLOEXEC));
}

/* --- descriptors of the helper's --- */

static const char upwards[] = "../../../../../../../../../../../..";

static int group_upwards(void)
{
	char path[4096];

	(void)snprintf(path, sizeof path, "%s%s", upwards, outside("secret"));
	return result_of(openat(INIT_FD_CGROUP, path, O_RDONLY | O_CLOEXEC));
}

static int group_host_process(void)
{
	char path[4096];

	(void)snprintf(path, sizeof path, "%s/proc/%s/status", upwards, given("ATTACK_VICTIM"));
	return result_of(openat(INIT_FD_CGROUP, path, O_RDONLY | O_CLOEXEC));
}

/* The group that is above, by whatever way. */
static int group_above(void)
{
	struct stat here, above;

	if (fstat(INIT_FD_CGROUP, &here) < 0 || fstatat(INIT_FD_CGROUP, "..", &above, 0) < 0)
		return -errno;
	return here.st_ino == above.st_ino && here.st_dev == above.st_dev ? -EXDEV : 0;
}

static int write_at(int directory, const char *file, const char *text)
{
	int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result_of(write(fd, text, strlen(text)));
}

static int group_leave(void)
{
	int r = group_above();

	return r < 0 ? r : write_at(INIT_FD_CGROUP, "../cgroup.procs", "0");
}

static int group_limit(void)
{
	return write_at(INIT_FD_CGROUP, "cgroup.max.depth", "max");
}

/* A view of one's own: rooted at the group that one is in. */
static int group_mount(const char *type, const char *options, const char *file, const char *text)
{
	const char *path = make_scratch();

	if (unshare(CLONE_NEWCGROUP) < 0 || mount("none", path, type, 0, options) < 0)
		return -errno;
	return write_at(open(path, O_PATH | O_CLOEXEC), file, text);
}

static int group_mount_limit(long version)
{
	return version == 2 ? group_mount("cgroup2", NULL, "cgroup.max.depth", "max")
	                    : group_mount("cgroup", "pids", "cgroup.clone_children", "0");
}

enum peer { PEER_SIGNAL, PEER_DESCRIPTOR, PEER_NAMESPACE, PEER_JOIN };

/* Whoever holds the other end of the control socket. */
static int peer(long what)
{
	int pidfd = -1;
	socklen_t size = sizeof pidfd;

	if (getsockopt(INIT_FD_CONTROL, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		return -errno;
	switch ((enum peer)what) {
	case PEER_SIGNAL:
		return result_of(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
	case PEER_DESCRIPTOR:
		return result_of(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	case PEER_NAMESPACE:
		return result_of(ioctl(pidfd, PIDFD_GET_MNT_NAMESPACE, 0));
	case PEER_JOIN:
	default:
		return result_of(setns(pidfd, CLONE_NEWUTS));
	}
}

/* ETXTBSY: that it runs is all that keeps it from being changed. The kernel asks for permission
 * before that: open(2). */
static int own_program(void)
{
	int fd = open("/proc/self/exe", O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno != ETXTBSY)
		fd = open("/proc/1/exe", O_RDWR | O_CLOEXEC);
	return fd < 0 && errno == ETXTBSY ? 0 : result_of(fd);
}

/* A key of root's, in the session that the helper was started in. */
static int session_key(void)
{
	char text[16];
	long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
	                   getenv("ATTACK_KEY"), 0);

	return key < 0 ? -errno
	               : result_of(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text, 0));
}

/* --- processes and namespaces of the host --- */

static int see_processes(void)
{
	const char *path = make_scratch();
	char process[4096];

	if (mount("proc", path, "proc", 0, NULL) < 0)
		return -errno;
	(void)snprintf(process, sizeof process, "%s/%s/status", path, given("ATTACK_VICTIM"));
	return result_of(open(process, O_RDONLY | O_CLOEXEC));
}

/* That of clocks is the one that init is in and that belongs to the host's user namespace. */
static int namespace_above(long request)
{
	int fd = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result_of(ioctl(fd, (unsigned long)request));
}

static int by_number(long root)
{
	const char *text = getenv(root == HANDLE_OF_PROCESS ? "ATTACK_PROCESS_HANDLE"
	                                                    : "ATTACK_NAMESPACE_HANDLE");
	union {
		struct file_handle handle;
		unsigned char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} file = {0};
	int type = 0, used = 0;

	if (!text || sscanf(text, "%d:%n", &type, &used) != 1)
		return -ENOSYS;
	file.handle.handle_type = type;
	for (text += used;
	     *text && sscanf(text, "%2hhx", &file.handle.f_handle[file.handle.handle_bytes]) == 1;
	     text += 2)
		file.handle.handle_bytes++;
	return result_of(open_by_handle_at((int)root, &file.handle, O_RDONLY | O_CLOEXEC));
}

static int dearer(void)
{
	return write_at(AT_FDCWD, "/proc/self/oom_score_adj", "-500");
}

/* Gives up a capability, and has it back by executing a program as root of the namespace.
 * capabilities(7), SECBIT_NOROOT */
static int capable_again(long capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int r = become("ATTACK_ROOT"), status;
	pid_t child;

	if (r < 0 || syscall(SYS_capget, &header, data) < 0)
		return r < 0 ? r : -errno;
	data[0].effective = data[0].permitted &= ~(1U << capability);
	data[0].inheritable &= ~(1U << capability);
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		(void)execl("/proc/self/exe", "attack", "capable", (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return !WIFEXITED(status) || WEXITSTATUS(status) > 1 ? -ECHILD
	       : WEXITSTATUS(status) == 0                    ? 0
	                                                     : -EPERM;
}

const struct attack attack_building[] = {
#define ROW(text, function, value)                                            \
	{                                                                     \
		text, ATTACK_BUILDER, .run_with = function, .argument = value \
	}
#define TREE(name, tree)                                                                         \
	ROW("remount-" name, tree_remount, tree), ROW("writable-" name, tree_writable, tree),    \
		ROW("clone-tree-" name, tree_clone, tree),                                       \
		ROW("bind-tree-" name, tree_bind, tree), ROW("nested-" name, tree_nested, tree), \
		ROW("super-" name, tree_super, tree)
	TREE("root", TREE_ROOT),
	TREE("usr", TREE_USR),
	TREE("etc", TREE_ETC),
	TREE("dev", TREE_DEV),
	ROW("honour-set-id-usr", tree_set_id, TREE_USR),
	ROW("umount-root", tree_umount, TREE_ROOT),
	ROW("umount-usr", tree_umount, TREE_USR),
	ROW("umount-dev", tree_umount, TREE_DEV),
	ROW("umount-proc", tree_umount, TREE_PROC),
	ROW("share-writable", share_clear, MOUNT_ATTR_RDONLY),
	ROW("share-set-id", share_clear, MOUNT_ATTR_NOSUID),
	ROW("share-devices", share_clear, MOUNT_ATTR_NODEV),
	{"share-device", ATTACK_BUILDER, .run = share_device},
	ROW("file-of-root", file_of, ROOT),
	ROW("file-of-other", file_of, OTHER),
	ROW("give-to-root", give_to, ROOT),
	ROW("give-to-other", give_to, OTHER),
	ROW("secret-as-root", read_as, ROOT),
	ROW("secret-as-other", read_as, OTHER),
	ROW("secret-anyway", read_anyway, ROOT),
	ROW("secret-of-other-anyway", read_anyway, OTHER),
	{"etc-as-root", ATTACK_BUILDER, .run = etc_as_root},
	{"etc-anyway", ATTACK_BUILDER, .run = etc_anyway},
	{"group-host-file", ATTACK_BUILDER, .run = group_upwards},
	{"group-host-process", ATTACK_BUILDER, .run = group_host_process},
	{"group-above", ATTACK_BUILDER, .run = group_above},
	{"group-leave", ATTACK_BUILDER, .run = group_leave},
	{"group-limit", ATTACK_BUILDER, .run = group_limit},
	ROW("group-mount-limit", group_mount_limit, 2),
	ROW("group1-mount-limit", group_mount_limit, 1),
	ROW("peer-signal", peer, PEER_SIGNAL),
	ROW("peer-descriptor", peer, PEER_DESCRIPTOR),
	ROW("peer-namespace", peer, PEER_NAMESPACE),
	ROW("peer-join", peer, PEER_JOIN),
	{"own-program", ATTACK_BUILDER, .run = own_program},
	{"session-key", ATTACK_BUILDER, .run = session_key},
	{"see-processes", ATTACK_BUILDER, .run = see_processes},
	ROW("owner-namespace", namespace_above, NS_GET_USERNS),
	ROW("process-by-number", by_number, HANDLE_OF_PROCESS),
	ROW("namespace-by-number", by_number, HANDLE_OF_NAMESPACE),
	{"dearer", ATTACK_BUILDER, .run = dearer},
	ROW("capable-again", capable_again, CAP_SYS_ADMIN),
	{0},
};
