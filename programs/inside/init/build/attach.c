/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts on the sandbox's root, and hides paths in it. See build.h.
 *
 * There are two rounds. The first one has capabilities over the sandbox's own file systems: it
 * makes the mount points that are not inside a client's mount, and mounts tmpfs there. The second
 * round has no such capabilities and uses the ids of commands: it mounts what the client brought,
 * and what is located inside that. Names are resolved only below the sandbox's root. Mount points,
 * and names inside a share, are never resolved through a symbolic link.
 */
#include "base/beneath.h"
#include "base/kernel.h"
#include "base/reached.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/inside/init/build/build.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdio.h>

int attach_open(int at, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve};

	return beneath_open(at, path, &how);
}

/*
 * Makes one component of a mount point, a directory or a file, if `parent` is on the sandbox's own
 * tmpfs.
 */
static int make_component(const struct build *b, int parent, const char *name, bool directory)
{
	struct stat st;

	if (fstat(parent, &st) < 0)
		return -errno;
	if (st.st_dev != b->root_device)
		return -EROFS;
	return (directory ? mkdirat(parent, name, 0755)
	                  : mknodat(parent, name, S_IFREG | 0644, 0)) < 0
	               ? -errno
	               : 0;
}

static bool attach_is_elsewhere(const struct build *b, int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_dev != b->root_device;
}

/*
 * Opens the parent directory of *path and shortens *path to its last component. If that is not
 * possible, returns the root and leaves *path unchanged.
 */
static int open_parent(const struct build *b, const char **path)
{
	const char *slash = strrchr(*path, '/');
	char parent[PATH_MAX];
	int fd = -1;

	if (!b->enters && slash &&
	    snprintf(parent, sizeof parent, "%.*s", (int)(slash - *path), *path) <
	            (int)sizeof parent)
		fd = attach_open(b->root, parent, RESOLVE_NO_SYMLINKS);
	if (fd >= 0)
		*path = slash;
	return fd >= 0 ? fd : dup(b->root);
}

/*
 * Opens the mount point `path`, creating missing components where that is allowed. Returns 0,
 * -errno, or a positive code with the reason in b->error.
 *
 * Leaves *ret_target at -1 if a running sandbox has another file system on the way, which may be
 * the client's: the second round then opens the path with the ids of commands.
 */
static int open_target(struct build *b, const char *path, bool directory, int *ret_target)
{
	const char *rest = path;
	_cleanup_fd_ int at = open_parent(b, &rest);
	char component[NAME_MAX + 1];
	int r = at < 0 ? -errno : 0;

	while (r == 0 && *(rest += strspn(rest, "/"))) {
		size_t length = strcspn(rest, "/");
		bool last = rest[length] == '\0';
		int next;

		if (length > NAME_MAX)
			return error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
			                 "a component of the target %s is too long", path);
		memcpy(component, rest, length);
		component[length] = '\0';
		rest += length;
		next = attach_open(at, component, RESOLVE_NO_SYMLINKS);
		if (next == -ENOENT) {
			r = make_component(b, at, component, !last || directory);
			next = r == 0 ? attach_open(at, component, RESOLVE_NO_SYMLINKS) : r;
		}
		fd_close(at);
		at = next;
		r = next < 0 ? next : 0;
		if (r == 0 && b->enters && !b->is_command && attach_is_elsewhere(b, at))
			return 0;
	}
	if (r == -EROFS)
		return error_set(
			&b->error, YETT_E_INVALID_REQUEST, 0,
			"the target %s does not exist in the tree that is mounted there, and is not made in it",
			path);
	if (r == -ELOOP)
		return error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
		                 "the target %s goes through a symbolic link", path);
	if (r == -ENOTDIR)
		return error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
		                 "the target %s goes through something that is no directory", path);
	if (r == 0)
		*ret_target = steal_fd(&at);
	return r;
}

bool attach_lies_in_others(const struct build *b, const struct plan_step *step)
{
	const char *target = plan_text(b->plan, step->target);

	for (const struct plan_step *above = b->plan->steps; above < step; above++) {
		const char *path = plan_text(b->plan, above->target);
		size_t length = strlen(path);

		if ((above->kind == PLAN_SHARE || above->kind == PLAN_HOST) &&
		    strncmp(target, path, length) == 0 && target[length] == '/')
			return true;
	}
	return false;
}

/* Returns true also if statx(2) cannot find out. */
static bool is_mount_point(int fd)
{
	struct statx st;

	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) !=
	               0 ||
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int attach_attach(struct build *b, const struct plan_step *step, int tree)
{
	const char *path = plan_text(b->plan, step->target);
	int *target = &b->targets[step - b->plan->steps], r;
	struct stat st, there;

	if (fstat(tree, &st) < 0)
		return -errno;
	r = *target >= 0 ? 0 : open_target(b, path, S_ISDIR(st.st_mode), target);
	if (r != 0)
		return r;
	if (fstat(*target, &there) < 0)
		return -errno;
	if (b->enters && is_mount_point(*target))
		return error_set(&b->error, YETT_E_ALREADY_EXISTS, 0,
		                 "something is mounted at %s already", path);
	if (S_ISDIR(st.st_mode) != S_ISDIR(there.st_mode))
		return error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
		                 "the target %s is %s, and what is shared there is not", path,
		                 S_ISDIR(there.st_mode) ? "a directory" : "a file");
	r = move_mount(tree, "", *target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
	            ? -errno
	            : 0;
	*target = fd_close(*target);
	b->are_attached[step - b->plan->steps] = r == 0;
	return r;
}

int attach_open_tmpfs(const struct build *b, uint32_t permissions, uint64_t size_bytes)
{
	char size[32], mode[16], uid[16], gid[16];
	const char *options[] = {"mode", mode, "size",      size,     "uid", uid,
	                         "gid",  gid,  "nr_inodes", "262144", NULL,  NULL};

	(void)snprintf(size, sizeof size, "%" PRIu64, size_bytes);
	(void)snprintf(mode, sizeof mode, "%" PRIo32, permissions);
	(void)snprintf(uid, sizeof uid, "%" PRIu32, b->order.payload_uid);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, b->order.payload_gid);
	return kernel_mount_new("tmpfs", options, b->order.files_label,
	                        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* The first round. */
int attach_prepare(struct build *b, const struct plan_step *step)
{
	size_t i = (size_t)(step - b->plan->steps);
	int r = 0;

	if (step->kind == PLAN_TMPFS) {
		b->trees[i] = attach_open_tmpfs(b, step->mode, step->size_bytes);
		r = b->trees[i] < 0 ? b->trees[i] : 0;
	}
	if (r < 0 || attach_lies_in_others(b, step) || step->layer == PLAN_LAYER_STORE)
		return r;
	if (step->kind != PLAN_TMPFS)
		return b->kinds[i] == INIT_TREE_NONE
		               ? 0
		               : open_target(b, plan_text(b->plan, step->target),
		                             b->kinds[i] == INIT_TREE_DIRECTORY, &b->targets[i]);
	r = attach_attach(b, step, b->trees[i]);
	b->trees[i] = fd_close(b->trees[i]);
	return r;
}

/* Uses the ids of commands. Files that processes have open stay open. */
int attach_unmount(struct build *b, const struct plan_step *step)
{
	const char *path = plan_text(b->plan, step->target), *name = strrchr(path, '/') + 1;
	char parent[PATH_MAX];
	_cleanup_fd_ int at = -1, there = -1;

	(void)snprintf(parent, sizeof parent, "%.*s", (int)(name - path), path);
	at = attach_open(b->root, parent, RESOLVE_NO_SYMLINKS);
	there = at < 0 ? at : attach_open(at, name, RESOLVE_NO_SYMLINKS);
	if (there < 0 || !is_mount_point(there))
		return error_set(&b->error, YETT_E_NOT_FOUND, 0, "nothing is mounted at %s", path);
	there = fd_close(there);
	if (fchdir(at) < 0 || umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return errno == EINVAL
		               ? error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
		                           "the mount at %s is part of the mount above it", path)
		               : -errno;
	return fchdir(b->root) < 0 ? -errno : 0;
}

/* Unmounts through descriptors, because names may resolve to something else by now. */
void attach_take_back(const struct build *b)
{
	char name[32];

	for (uint32_t i = b->plan->steps_count; i-- > 0;) {
		(void)snprintf(name, sizeof name, "self/fd/%d", b->trees[i]);
		if (b->are_attached[i] && fchdir(b->proc) == 0)
			(void)!umount2(name, MNT_DETACH);
	}
}

/*
 * Opens `path` below `at`. Returns 0 with a descriptor, 0 with -1 if the path does not exist and is
 * optional, or an error.
 */
static int open_existing(struct build *b, const struct plan_step *step, int at, const char *path,
                         int *ret_fd)
{
	/*
	 * A symbolic link of the host is resolved as intended. A link inside a share is the
	 * client's and is not followed.
	 */
	int fd = attach_open(at, path, attach_lies_in_others(b, step) ? RESOLVE_NO_SYMLINKS : 0);

	*ret_fd = -1;
	if (fd == -ENOENT && step->optional)
		return 0;
	/* Commands have no more access than init here, so they cannot reach the path either. */
	if (fd == -EACCES && step->optional && b->plan->capabilities == 0)
		return 0;
	if (fd == -ENOENT || fd == -ELOOP)
		return error_set(&b->error, YETT_E_INVALID_REQUEST, 0,
		                 "cannot cover %s: the path %s", plan_text(b->plan, step->target),
		                 fd == -ENOENT ? "does not exist in the sandbox"
		                               : "goes through a symbolic link");
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/*
 * Mounts a path on itself with one more attribute. A mount point can be neither renamed nor
 * removed: rename(2), EBUSY.
 */
static int remount(int there, uint64_t attribute)
{
	struct mount_attr attributes = {.attr_set = attribute, .propagation = MS_PRIVATE};
	_cleanup_fd_ int tree = open_tree(
		there, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 ||
	    mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) <
	            0 ||
	    move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/*
 * Hides a directory with an empty one, and any other file with /dev/null. Both are the template's
 * and are as read-only as the template.
 */
static int mask(const struct build *b, int there)
{
	_cleanup_fd_ int tree = -1;
	struct stat st;

	if (fstat(there, &st) < 0)
		return -errno;
	tree = S_ISDIR(st.st_mode)
	               ? open_tree(b->beneath, "empty", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
	               : open_tree(b->root, "dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

static int build_attach_cover(struct build *b, const struct plan_step *step, int at,
                              const char *path)
{
	_cleanup_fd_ int there = -1;
	int r = open_existing(b, step, at, path, &there);

	return r != 0 || there < 0 ? r
	       : step->kind == PLAN_MASK
	               ? mask(b, there)
	               : remount(there, step->kind == PLAN_READ_ONLY ? MOUNT_ATTR_RDONLY : 0);
}

int attach_cover(struct build *b, const struct plan_step *step)
{
	return build_attach_cover(b, step, b->root, plan_text(b->plan, step->target));
}

/*
 * Whether the path is inside another share of the plan that is itself inside the one at `target`.
 */
static bool is_deeper(const struct build *b, const char *path, const char *target)
{
	for (uint32_t i = 0; i < b->plan->steps_count; i++) {
		const char *other = plan_text(b->plan, b->plan->steps[i].target);
		size_t length = strlen(other);

		if (b->plan->steps[i].kind == PLAN_SHARE && length > strlen(target) &&
		    strncmp(path, other, length) == 0 && path[length] == '/')
			return true;
	}
	return false;
}

/*
 * Covers the paths inside a share before the share is attached, so that no command ever sees them
 * uncovered.
 */
static int cover_inside(struct build *b, const char *target, int tree)
{
	size_t length = strlen(target);
	bool is_ready = false;
	struct stat st;
	int r = 0;

	if (fstat(tree, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	for (uint32_t i = 0; r == 0 && i < b->plan->steps_count; i++) {
		const struct plan_step *step = &b->plan->steps[i];
		const char *path = plan_text(b->plan, step->target);

		if (!build_is_cover(step) || strncmp(path, target, length) != 0 ||
		    path[length] != '/' || is_deeper(b, path, target))
			continue;
		if (!is_ready && (overlay_put_beneath(b, tree) < 0 || fchdir(b->root) < 0))
			return -errno;
		is_ready = true;
		r = reached_step("init", plan_name_step(step->kind));
		if (r == 0)
			r = build_attach_cover(b, step, tree, path + length);
	}
	return r;
}

/* The second round. */
int attach_mount(struct build *b, const struct plan_step *step)
{
	int *tree = &b->trees[step - b->plan->steps], r = 0;

	/* workspace_make() uses the store together with its source. */
	if (step->layer == PLAN_LAYER_STORE)
		return 0;
	if (*tree >= 0 && step->layer)
		r = workspace_make(b, step, tree);
	/* An overlay would disconnect a socket from its listener, so a shared socket gets none. */
	if (*tree >= 0 && b->plan->overlay_ro && step->kind != PLAN_TMPFS && !step->writable &&
	    !step->is_socket)
		r = overlay_make(b, plan_text(b->plan, step->target), tree);
	if (*tree >= 0 && r == 0 && b->enters)
		r = cover_inside(b, plan_text(b->plan, step->target), *tree);
	if (*tree >= 0 && r == 0)
		r = attach_attach(b, step, *tree);
	if (!b->enters || r != 0)
		*tree = fd_close(*tree);
	return r;
}
