/* SPDX-License-Identifier: Apache-2.0 */
/* See rootless.h. */
#include "programs/rootless/rootless.h"

#include "base/fd_path.h"
#include "base/userns.h"
#include "helper/setup/cgroup.h"
#include "base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Whether this process is in a chroot. Does not detect a chroot to the root of a mount, which looks
 * like any other root directory.
 */
static bool is_chroot(void)
{
	struct statx st;

	return statx(AT_FDCWD, "/", 0, 0, &st) == 0 &&
	       (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Explains why there is no user namespace. `number` is the errno. */
static int rootless_refuse(int number, struct yett_error *error)
{
	const struct userns_rule *rule = userns_find_rule();

	if (rule) {
		(void)error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"without root a sandbox takes a user namespace, and this host allows none: %s",
			rule->what);
		error_detail(
			error,
			"have the administrator start the service, which needs none of this (docs/admin.md), or as root: %s",
			rule->mend);
		return YETT_E_UNSUPPORTED;
	}
	(void)error_set(
		error, YETT_E_UNSUPPORTED, 0,
		"without root a sandbox takes a user namespace, and none can be had: %s (%s)",
		is_chroot() ? "the kernel allows none inside a chroot"
			    : "the container or sandbox around this program forbids it",
		strerror(number));
	error_detail(
		error,
		is_chroot()
			? "run yett outside of it, or have the administrator start the service"
			: "allow it (docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, podman run "
			  "--security-opt unmask=ALL), or have the administrator start the service outside");
	return YETT_E_UNSUPPORTED;
}

int rootless_enter(struct yett_error *error)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char users[48], groups[48];
	/* Keep this order: writing gid_map needs setgroups denied first. user_namespaces(7) */
	const struct {
		const char *path, *text;
	} files[] = {{"/proc/self/setgroups", "deny"},
	             {"/proc/self/uid_map", users},
	             {"/proc/self/gid_map", groups}};

	(void)snprintf(users, sizeof users, "%u %u 1", uid, uid);
	(void)snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return rootless_refuse(errno, error);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r = kernel_write_file(AT_FDCWD, files[i].path, files[i].text);

		if (r < 0)
			return rootless_refuse(-r, error);
	}
	/*
	 * MS_SLAVE: mounts that the host makes later still appear here. This call also shows
	 * whether a security module takes away the capabilities in the new namespace.
	 */
	return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? rootless_refuse(errno, error)
	                                                           : 0;
}

/* Whether the path is a directory that this user made, and that nobody else can write to. */
static bool rootless_is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

/*
 * Makes $HOME/.local/state/yett/run, with its parents, and writes its path to `path`. Returns false
 * if that fails, or if another user owns the directory or can write to it.
 */
static bool make_at_home(char path[static ROOTLESS_PATH_SIZE])
{
	static const char *const parts[] = {"/.local", "/state", "/yett", "/run"};
	const char *home = getenv("HOME");
	size_t used = home ? strlen(home) : 0;

	if (used == 0 || *home != '/' || used + 32 > ROOTLESS_PATH_SIZE)
		return false;
	memcpy(path, home, used + 1);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		used += (size_t)snprintf(path + used, ROOTLESS_PATH_SIZE - used, "%s", parts[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return false;
	}
	return rootless_is_own(path);
}

void rootless_runtime_dir(char path[static ROOTLESS_PATH_SIZE])
{
	int length = snprintf(path, ROOTLESS_PATH_SIZE, "/run/user/%u", geteuid());
	char home[ROOTLESS_PATH_SIZE];
	struct stat st;

	if (rootless_is_own(path)) {
		(void)snprintf(path + length, (size_t)(ROOTLESS_PATH_SIZE - length), "/yett");
		return;
	}
	(void)snprintf(path, ROOTLESS_PATH_SIZE, "/tmp/yett-%u", geteuid());
	/* Anybody can make the directory in /tmp first. */
	if (lstat(path, &st) == 0 && !rootless_is_own(path) && make_at_home(home))
		(void)snprintf(path, ROOTLESS_PATH_SIZE, "%s", home);
}

/*
 * Writes the path of the user manager's cgroup within the cgroup v2 tree. Returns false if this
 * process is not below that cgroup. proc_pid_cgroup(5)
 */
static bool find_manager(char path[static PATH_MAX])
{
	char text[2 * PATH_MAX], name[40], *at, *end;

	(void)snprintf(name, sizeof name, "/user@%u.service/", geteuid());
	if (kernel_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof text) < 0)
		return false;
	at = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!at)
		return false;
	at = strchr(at, '/');
	at[strcspn(at, "\n")] = '\0';
	end = strstr(at, name);
	if (!end)
		return false;
	end[strlen(name)] = '\0';
	return snprintf(path, PATH_MAX, "%s", at + 1) < PATH_MAX;
}

int rootless_open_cgroup(void)
{
	_cleanup_fd_ int root = cgroup_find_mount("cgroup2", NULL), manager = -1;
	char path[PATH_MAX];
	struct stat st;

	if (root < 0 || !find_manager(path))
		return -1;
	manager = openat(root, path, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/*
	 * Moving a process takes write access to cgroup.procs of the common ancestor, which is this
	 * cgroup. cgroup-v2, "Delegation Containment"
	 */
	if (manager < 0 || fstat(manager, &st) < 0 || st.st_uid != geteuid() ||
	    faccessat(manager, "cgroup.procs", W_OK, 0) < 0)
		return -1;
	return steal_fd(&manager);
}

bool rootless_misses_label(void)
{
	return access("/sys/fs/selinux/enforce", F_OK) == 0;
}

bool rootless_leaves_cores(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
}

int rootless_reopen(int fd)
{
	char path[PATH_MAX];
	struct stat wanted, found;
	_cleanup_fd_ int own = -1;

	(void)fd_path(fd, path);
	own = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (own < 0 || fstat(fd, &wanted) < 0 || fstat(own, &found) < 0)
		return -errno;
	return wanted.st_dev == found.st_dev && wanted.st_ino == found.st_ino ? steal_fd(&own)
	                                                                      : -ESTALE;
}

void rootless_make_map(const struct idmap_subject *subject, struct idmap *ret_map)
{
	*ret_map = (struct idmap){
		.uids = {.lines = {{subject->uid, subject->uid, 1}}, .count = 1},
		.gids = {.lines = {{subject->gid, subject->gid, 1}}, .count = 1},
		.init_inside = subject->uid,
		.payload_uid = subject->uid,
		.payload_gid = subject->gid,
	};
}
