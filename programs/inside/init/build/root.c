/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own root: a small tmpfs, the template's trees on it, and the sandbox's private
 * directories. See build.h.
 */
#include "base/kernel.h"
#include "programs/decide/decider/plan_add.h"
#include "programs/inside/init/build/build.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define HIERARCHY_MAX 16    /* number of controllers that are mounted together */
#define IDS_OF_RANGE  65536 /* IDMAP_RANGE */
/*
 * Size of the tmpfs of init's own files. They are a few kilobytes each, except one that describes a
 * complete plan.
 */
#define OWN_SIZE (8 << 20)

/* New files belong to the id of lower_be_owner(). */
static int build_root_make_directory(int dir, const char *path, mode_t mode)
{
	return mkdirat(dir, path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

int root_make_directory(int dir, const char *path)
{
	return build_root_make_directory(dir, path, 0755);
}

static int root_make_link(const struct build *b, const char *link, const char *path)
{
	return symlinkat(link, b->root, path) < 0 && errno != EEXIST ? -errno : 0;
}

int root_make_path(const struct build *b, const char *path)
{
	/* usually the parent exists */
	int r = root_make_directory(b->root, path + 1);
	char copy[PATH_MAX];

	if (r != -ENOENT)
		return r;
	(void)snprintf(copy, sizeof copy, "%s", path + 1);
	for (char *slash = strchr(copy, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		r = root_make_directory(b->root, copy);
		if (r < 0 || !slash)
			return r;
		*slash = '/';
	}
}

/* Mounts the directory at `path` of the root on itself, with these attributes. */
static int mount_again(const struct build *b, const char *path, uint64_t attributes)
{
	struct mount_attr set = {.attr_set = attributes, .propagation = MS_PRIVATE};
	_cleanup_fd_ int tree = open_tree(b->root, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &set, sizeof set) < 0 ||
	    move_mount(tree, "", b->root, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/*
 * init's own files in /run/yett are on a separate tmpfs. The tmpfs is mounted writable for init,
 * and read-only on top of that for commands. Some commands are root inside, or have init's id. They
 * cannot replace /run/yett or /run by another directory, because both are mount points.
 */
static int make_own(struct build *b)
{
	struct stat st;
	int r = mount_again(b, "run", 0);

	if (r < 0)
		return r;
	b->own = root_open_tmpfs(b, OWN_SIZE);
	if (b->own < 0)
		return b->own;
	if (fstat(b->own, &st) < 0 || mkdirat(b->own, "mounting", 0700) < 0 ||
	    move_mount(b->own, "", b->root, "run/yett", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	b->own_device = st.st_dev;
	return mount_again(b, "run/yett", MOUNT_ATTR_RDONLY);
}

static int make_personal(struct build *b)
{
	static const struct {
		const char *path;
		mode_t mode;
	} shared[] = {{"tmp", 01777},      {"mnt", 0755},      {"run", 0755},
	              {"run/lock", 01777}, {"run/shm", 01777}, {"run/user", 0755},
	              {"run/yett", 0755},  {"var", 0755},      {"var/tmp", 01777},
	              {"proc", 0555}};
	const char *home = plan_text(b->plan, b->plan->home);
	char runtime[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(shared); i++)
		r = build_root_make_directory(b->root, shared[i].path, shared[i].mode);
	(void)snprintf(runtime, sizeof runtime, "run/user/%" PRIu32, b->order.payload_uid);
	if (r == 0)
		r = build_root_make_directory(b->root, runtime, 0700);
	if (r == 0 && fchownat(b->root, runtime, b->order.payload_uid, b->order.payload_gid,
	                       AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0)
		r = root_make_link(b, "/run", "var/run");
	if (r == 0)
		r = make_own(b);
	if (r < 0 || home[0] != '/' || home[1] == '\0')
		return r;
	r = root_make_path(b, home);
	if (r == 0 && (fchownat(b->root, home + 1, b->order.payload_uid, b->order.payload_gid,
	                        AT_SYMLINK_NOFOLLOW) < 0 ||
	               fchmodat(b->root, home + 1, 0700, 0) < 0))
		r = -errno;
	return r;
}

int root_open_tmpfs(const struct build *b, uint64_t size_bytes)
{
	char size[32], uid[16], gid[16];
	const char *options[] = {"mode", "0755", "size", size, "nr_inodes", "262144",
	                         "uid",  uid,    "gid",  gid,  NULL,        NULL};

	(void)snprintf(size, sizeof size, "%" PRIu64, size_bytes);
	(void)snprintf(uid, sizeof uid, "%" PRIu32, b->owner_uid);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, b->owner_gid);
	/*
	 * If no id is root inside, the tmpfs belongs to init's ids, as do files whose chown(2) with
	 * -1 changes nothing.
	 */
	if (b->owner_uid == UINT32_MAX)
		options[6] = NULL;
	return kernel_mount_new("tmpfs", options, b->order.files_label,
	                        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int open_root(struct build *b, uint64_t size_bytes)
{
	struct stat st;

	b->root = root_open_tmpfs(b, size_bytes);
	if (b->root < 0)
		return b->root;
	if (fstat(b->root, &st) < 0)
		return -errno;
	b->root_device = st.st_dev;
	return 0;
}

/*
 * Mounts the new tmpfs over the template's root and makes it the root directory, as an initramfs
 * does. Below it is only a tmpfs with empty directories, and no process inside will have the
 * capability to unmount anything.
 */
static int enter_root(int root)
{
	if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(root) < 0 ||
	    chroot(".") < 0)
		return -errno;
	return 0;
}

/*
 * False for a symbolic link, which is created anew, and for an /etc that is not the host's, which
 * etc.c makes.
 */
static bool is_tree(const struct build *b, const char *path, const char *link)
{
	return !*link && (strcmp(path, "/etc") != 0 || etc_is_hosts(b));
}

/*
 * Clones the template's trees while "/" is still the template. The template's own mounts are locked
 * and cannot be moved.
 */
static int root_take_trees(struct build *b, int *trees)
{
	const char *at = NULL, *path, *link;
	int r = 0;

	for (size_t i = 0; r == 0 && derive_next_entry(b->profile, &at, &path, &link); i++) {
		bool is_covered = strcmp(path, "/dev") == 0 && (b->fds_present & BUILD_DEV_PRESENT);

		if (!is_tree(b, path, link))
			continue;
		trees[i] = is_covered ? dup(INIT_FD_DEV)
		                      : open_tree(AT_FDCWD, path,
		                                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
		                                          AT_RECURSIVE | AT_NO_AUTOMOUNT);
		r = trees[i] < 0 ? -errno : 0;
		if (r < 0 || is_covered || !b->plan->overlay_ro)
			continue;
		r = lower_be_command(b);
		if (r == 0)
			r = overlay_make(b, path, &trees[i]);
		lower_be_owner(b);
	}
	return r;
}

/*
 * Attaches a tree of the template, or makes a symbolic link. The directories above are on the
 * sandbox's own root.
 */
static int show_entry(struct build *b, const char *path, const char *link, int tree)
{
	char parent[PATH_MAX];
	int r = 0;

	if (!*link)
		r = root_make_path(b, path);
	else if (strchr(path + 1, '/')) {
		(void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path),
		               path);
		r = root_make_path(b, parent);
	}
	if (r == 0 && *link)
		r = root_make_link(b, link, path + 1);
	else if (r == 0 && move_mount(tree, "", b->root, path + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	return r;
}

int root_make(struct build *b, const struct plan_step *step)
{
	/* Entries that are symbolic links have no tree. */
	int *trees = (int *)b->room.frame->bytes;
	const char *at = NULL, *path, *link;
	int r = b->profile->entries_count <= sizeof b->room.frame->bytes / sizeof *trees
	                ? open_root(b, step->size_bytes)
	                : -E2BIG;

	(void)umask(0);
	b->beneath = open("/", O_PATH | O_CLOEXEC);
	if (r == 0 && b->beneath < 0)
		r = -errno;
	if (r == 0)
		r = root_take_trees(b, trees);
	if (r == 0)
		r = enter_root(b->root);
	for (size_t i = 0; r == 0 && derive_next_entry(b->profile, &at, &path, &link); i++) {
		if (!*link && !is_tree(b, path, link))
			continue;
		r = show_entry(b, path, link, trees[i]);
		if (!*link)
			(void)close(trees[i]);
	}
	return r == 0 ? make_personal(b) : r;
}

int root_prepare_proc(struct build *b, const struct plan_step *step)
{
	(void)step;
	b->proc = kernel_mount_new("proc", NULL, "",
	                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return b->proc < 0 ? b->proc : 0;
}

int root_proc(struct build *b, const struct plan_step *step)
{
	(void)step;
	return move_mount(b->proc, "", b->root, "proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

static int attach_new(const struct build *b, const char *type, const char *const *options,
                      const char *label, unsigned attributes, const char *path)
{
	_cleanup_fd_ int mount = kernel_mount_new(type, options, label, attributes);

	if (mount < 0)
		return mount;
	return move_mount(mount, "", b->root, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/*
 * Also mounts the message queues of the sandbox's own ipc namespace. Under Landlock, mq_open(3)
 * needs a rule for /dev/mqueue, and hence this path.
 */
int root_devpts(struct build *b, const struct plan_step *step)
{
	char gid[16], max[16];
	const char *options[] = {"mode", "0620", "ptmxmode", "0666", "max",
	                         max,    "gid",  gid,        NULL,   NULL};
	int r;

	(void)step;
	(void)snprintf(gid, sizeof gid, "%" PRIu32, b->tty_gid);
	(void)snprintf(max, sizeof max, "%" PRIu32, b->plan->terminals_max);
	r = attach_new(b, "devpts", options, b->order.files_label,
	               MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "dev/pts");
	if (r < 0)
		return r;
	/*
	 * The mqueue file system exists since the ipc namespace was created, and has its label
	 * already.
	 */
	return attach_new(b, "mqueue", NULL, "",
	                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "dev/mqueue");
}

/*
 * Controllers of version 1 in whose hierarchies the sandbox has a cgroup of its own: cgroup_host.c.
 */
static const char *const with_group[] = {"cpu", "memory", "pids", NULL};
/*
 * Controllers in whose hierarchies the sandbox is in the helper's cgroup, which is covered. They
 * are mounted because a JVM ignores all limits if they are missing.
 */
static const char *const without_group[] = {"cpuacct", "cpuset", NULL};

static bool has_any(const char *list, const char *const *names)
{
	for (; *names; names++)
		for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
			if (strcspn(at, ",") == strlen(*names) &&
			    strncmp(at, *names, strlen(*names)) == 0)
				return true;
	return false;
}

static int attach_cgroups(const struct build *b, const char *type, const char *const *options,
                          const char *name)
{
	char path[PATH_MAX];
	int r;

	(void)snprintf(path, sizeof path, "/sys/fs/cgroup%s%s", *name ? "/" : "", name);
	r = root_make_path(b, path);
	return r < 0 ? r
	             : attach_new(b, type, options, "",
	                          MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	                                  MOUNT_ATTR_NOEXEC,
	                          path + 1);
}

static int root_cover(const struct build *b, const char *list)
{
	_cleanup_fd_ int empty =
		open_tree(b->beneath, "empty", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "sys/fs/cgroup/%s", list);
	return empty < 0 || move_mount(empty, "", b->root, path, MOVE_MOUNT_F_EMPTY_PATH) < 0
	               ? -errno
	               : 0;
}

/*
 * Mounts the version 1 hierarchy with these controllers, as the host has it mounted. Several
 * controllers get a symbolic link each.
 */
static int attach_hierarchy(const struct build *b, const char *list)
{
	const char *options[2 * HIERARCHY_MAX + 2] = {0};
	char names[256], link[sizeof names + 16], *rest = names;
	size_t count = 0;
	int r;

	(void)snprintf(names, sizeof names, "%s", list);
	for (char *one; count < HIERARCHY_MAX && (one = strsep(&rest, ",")); count++)
		options[2 * count] = one;
	r = attach_cgroups(b, "cgroup", options, list);
	if (r == 0 && !has_any(list, with_group))
		r = root_cover(b, list);
	for (size_t i = 0; r == 0 && count > 1 && i < count; i++) {
		(void)snprintf(link, sizeof link, "sys/fs/cgroup/%s", options[2 * i]);
		r = root_make_link(b, list, link);
	}
	return r;
}

/*
 * The cgroup namespace begins at the sandbox's cgroup, so mounts made in it show that cgroup and
 * those below, which commands may read. /proc/self/cgroup lists the hierarchies. "unified" is the
 * directory of version 2 on hosts that also have version 1. cgroup_namespaces(7)
 */
int root_sys(struct build *b, const struct plan_step *step)
{
	char text[4096], *rest = text;
	bool has_v1 = false;
	int r;

	(void)step;
	/* The sandbox has no cgroup of its own. */
	if (!(b->fds_present & 1U << (INIT_FD_CGROUP - INIT_FD_CONTROL)))
		return 0;
	r = (int)kernel_read_file(b->proc, "self/cgroup", text, sizeof text);
	/* Version 2 is last and has an empty list of controllers. */
	for (char *line; r >= 0 && (line = strsep(&rest, "\n")) && *line;) {
		char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;

		if (!end)
			return -EBADMSG;
		*end = '\0';
		if (!list[1])
			r = attach_cgroups(b, "cgroup2", NULL, has_v1 ? "unified" : "");
		else if (!b->order.is_rootless &&
		         (has_any(list + 1, with_group) || has_any(list + 1, without_group)))
			r = attach_hierarchy(b, list + 1);
		has_v1 = has_v1 || has_any(list + 1, with_group);
	}
	return r < 0 ? r : 0;
}

static int list_processors(const struct build *b, const struct processors *set, const char *name)
{
	int fd = openat(b->own, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644),
	    r = 0;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	processors_print(out, set);
	if (fflush(out) != 0)
		r = -errno;
	(void)fclose(out);
	return r;
}

/*
 * Chooses a turn for processors_narrow(). Id ranges are assigned in turn, and each init has an id
 * of its own range. Without root all inits have the same id, so the sandbox's random id is used.
 */
static uint64_t root_turn(const struct build *b)
{
	return b->order.is_rootless ? strtoull(b->plan->id, NULL, 16) : b->host_uid / IDS_OF_RANGE;
}

/*
 * Restricts commands permanently to as many processors as the CPU limit can keep busy. The CPU
 * limit is the lower one of the sandbox's and its user's, and all commands share it. If the profile
 * shows the list of online processors, which sysconf(3) counts, only the chosen ones appear in it.
 * The list of possible processors does not change, because programs size tables by it.
 */
int root_processors(struct build *b, const struct plan_step *step)
{
	static const char name[] = "processors";
	struct mount_attr attributes = {.propagation = MS_PRIVATE};
	uint64_t cpu_millis =
		plan_lesser(b->plan->limits.cpu_millis, b->plan->user_limits.cpu_millis);
	_cleanup_fd_ int there = -1, tree = -1;
	int r;

	(void)step;
	if (cpu_millis == 0)
		return 0;
	r = processors_read(&b->processors);
	b->has_processors = r == 0 && processors_narrow(&b->processors,
	                                                processors_count(cpu_millis), root_turn(b));
	if (!b->has_processors)
		return r;
	there = openat(b->root, "sys/devices/system/cpu/online", O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (there < 0)
		return errno == ENOENT ? 0 : -errno;
	r = list_processors(b, &b->processors, name);
	if (r < 0)
		return r;
	tree = open_tree(b->root, "run/yett/processors", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
	    move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}
