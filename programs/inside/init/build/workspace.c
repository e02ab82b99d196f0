/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy-on-write overlay over a directory of the client's, which itself is not changed. See
 * build.h.
 *
 * root provides two mounts in which only the caller's ids are mapped: the source, read-only, and
 * the store. The overlay belongs to the sandbox's user namespace. No symbolic link in a store is
 * followed, because other processes may change the store while it is used. kernel:
 * filesystems/overlayfs.rst
 */
#include "base/kernel.h"
#include "programs/inside/init/build/build.h"
#include "protocol/frame.h"

#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

/*
 * Maximum number of frozen layers. With two more layers and descriptor numbers of up to three
 * digits, the option is 255 bytes long, the maximum of fsconfig(2).
 */
#define FROZEN_MAX 62

/* The kernel's maximum, including the NUL. */
#define OPTION_SIZE 256

/*
 * Descriptors of the layers; -1: none. The layers below `upper` are, from top to bottom: the frozen
 * ones, the last one first; `hidden`, which has whiteouts; and the source.
 */
struct layers {
	int source, hidden, upper, work;
	int frozen[FROZEN_MAX];
	size_t frozen_count;
};

static void layers_close(struct layers *layers)
{
	fd_close(layers->source);
	fd_close(layers->hidden);
	fd_close(layers->upper);
	fd_close(layers->work);
	for (size_t i = 0; i < layers->frozen_count; i++)
		fd_close(layers->frozen[i]);
}

static int workspace_refuse(struct build *b, const struct plan_step *step, const char *what)
{
	return error_set(&b->error, YETT_E_UNSUPPORTED, 0, "%s cannot be copy-on-write: %s",
	                 plan_text(b->plan, step->target), what);
}

/*
 * Layers must be in this mount namespace. Mounts the tree on "lower" of b->beneath, which no other
 * process sees, and opens it there. Returns the results of workspace_make(). Consumes the tree.
 */
static int take_layer(struct build *b, const struct plan_step *step, int *tree, int *ret_layer)
{
	int r = overlay_put_beneath(b, *tree);

	*tree = fd_close(*tree);
	if (r == 0) {
		/* An overlay would not show mounts below its layers. */
		r = overlay_check_bare();
		if (r == -EBUSY)
			r = workspace_refuse(
				b, step,
				"there are mounts below it, or below its store: share only the directories that you need");
	}
	if (r == 0 && (*ret_layer = open("lower", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = -errno;
	return r;
}

/*
 * Opens a directory in the store. The directory must belong to the caller, as everything that the
 * overlay writes does.
 */
static int open_in_store(const struct build *b, int store, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	                                  RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
	_cleanup_fd_ int fd = (int)syscall(SYS_openat2, store, name, &how, sizeof how);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == b->order.payload_uid ? steal_fd(&fd) : -EPERM;
}

/*
 * Locks the store for one sandbox: two overlays with the same upper layer would change each other's
 * files without noticing. The lock belongs to an open file description that no other process has,
 * and lasts until init exits. In a running sandbox the descriptor is sent to a socket that the
 * sandbox's init keeps open.
 */
static int lock_store(struct build *b, const struct plan_step *step, int store)
{
	_cleanup_fd_ int own = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (own < 0)
		return -errno;
	if (flock(own, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? error_set(&b->error, YETT_E_ALREADY_EXISTS, 0,
		                                        "another sandbox is using the store for %s",
		                                        plan_text(b->plan, step->target))
		                            : -errno;
	if (b->enters)
		return frame_send(INIT_FD_CHANNEL, "", 1, &own, 1, MSG_DONTWAIT);
	(void)steal_fd(&own);
	return 0;
}

static const struct plan_step *workspace_find_store(const struct build *b,
                                                    const struct plan_step *source)
{
	for (const struct plan_step *step = b->plan->steps;
	     step < b->plan->steps + b->plan->steps_count; step++)
		if (step->layer == PLAN_LAYER_STORE &&
		    strcmp(plan_text(b->plan, step->target), plan_text(b->plan, source->target)) ==
		            0)
			return step;
	return NULL;
}

/*
 * Makes a store in memory. Its upper directory gets the permission bits of the source, because the
 * overlay shows those of the upper directory.
 */
static int workspace_make_memory(struct build *b, const struct plan_step *step, int source,
                                 int *ret_tree)
{
	_cleanup_fd_ int tree = attach_open_tmpfs(b, 0700, step->size_bytes);
	struct stat st;

	if (tree < 0 || fstat(source, &st) < 0)
		return tree < 0 ? tree : -errno;
	if (mkdirat(tree, "upper", 0700) < 0 || mkdirat(tree, "work", 0700) < 0 ||
	    fchmodat(tree, "upper", st.st_mode & 0777, 0) < 0)
		return -errno;
	*ret_tree = steal_fd(&tree);
	return 0;
}

/*
 * Overlays keep metadata in extended attributes. tmpfs supports user.* attributes since Linux 6.6.
 * xattr(7)
 */
static int check_memory(struct build *b, const struct plan_step *step, int store)
{
	_cleanup_fd_ int own = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (own < 0)
		return -errno;
	if (fsetxattr(own, "user.overlay.yett", "", 0, 0) == 0)
		return fremovexattr(own, "user.overlay.yett") < 0 ? -errno : 0;
	return errno == EOPNOTSUPP
	               ? workspace_refuse(
				 b, step,
				 "changes cannot be kept in memory before Linux 6.6; without memory=SIZE they are in a store")
	               : -errno;
}

/*
 * Opens what a client may have added to the store: a layer of whiteouts ("hidden"), and frozen
 * layers, named "1" and so on without gaps.
 */
static int workspace_open_frozen(const struct build *b, int store, struct layers *layers)
{
	_cleanup_fd_ int directory = open_in_store(b, store, "layers");

	layers->hidden = open_in_store(b, store, "hidden");
	if (layers->hidden < 0 && layers->hidden != -ENOENT)
		return layers->hidden;
	if (directory < 0)
		return directory == -ENOENT ? 0 : directory;
	for (;;) {
		char name[16];
		int frozen;

		(void)snprintf(name, sizeof name, "%zu", layers->frozen_count + 1);
		frozen = open_in_store(b, directory, name);
		if (frozen < 0)
			return frozen == -ENOENT ? 0 : frozen;
		if (layers->frozen_count == FROZEN_MAX)
			return fd_close(frozen), -E2BIG;
		layers->frozen[layers->frozen_count++] = frozen;
	}
}

static int workspace_open_layers(struct build *b, const struct plan_step *step, int *tree,
                                 struct layers *layers)
{
	const struct plan_step *stored = workspace_find_store(b, step);
	int *kept = stored ? &b->trees[stored - b->plan->steps] : NULL;
	_cleanup_fd_ int memory = -1, store = -1;
	int r = take_layer(b, step, tree, &layers->source);

	if (r == 0 && !stored)
		r = workspace_make_memory(b, step, layers->source, &memory);
	if (r == 0)
		r = take_layer(b, step, stored ? kept : &memory, &store);
	if (r == 0)
		r = stored ? lock_store(b, step, store) : check_memory(b, step, store);
	if (r != 0)
		return r;
	layers->upper = open_in_store(b, store, "upper");
	layers->work = open_in_store(b, store, "work");
	if (layers->upper < 0 || layers->work < 0)
		return workspace_refuse(
			b, step,
			"its store has no directories \"upper\" and \"work\" of the caller's, or they are links");
	r = stored ? workspace_open_frozen(b, store, layers) : 0;
	if (r == -E2BIG)
		return workspace_refuse(
			b, step, "its store has more than the 62 frozen layers that are taken");
	if (r < 0)
		return workspace_refuse(
			b, step,
			"\"hidden\" or an entry of \"layers\" in its store is a link, or no directory of the caller");
	return 0;
}

static bool add_name(char names[static OPTION_SIZE], int layer)
{
	size_t used = strlen(names);

	return (size_t)snprintf(names + used, OPTION_SIZE - used, "%s%d", used ? ":" : "", layer) <
	       OPTION_SIZE - used;
}

/* Writes the lowerdir option: the layers below `upper`, topmost first. */
static bool name_lower(const struct layers *layers, char lower[static OPTION_SIZE])
{
	bool is_whole = true;

	lower[0] = '\0';
	for (size_t i = layers->frozen_count; i-- > 0;)
		is_whole = is_whole && add_name(lower, layers->frozen[i]);
	if (layers->hidden >= 0)
		is_whole = is_whole && add_name(lower, layers->hidden);
	return is_whole && add_name(lower, layers->source);
}

/* `source` appears in the list of mounts and shows whether changes use the store or memory. */
static int mount_overlay(const struct build *b, const struct layers *layers, const char *source)
{
	char lower[OPTION_SIZE], upper[16], work[16];
	const char *const options[] = {
		"source",       source,      "lowerdir", lower,      "upperdir", upper,   "workdir",
		work,           "userxattr", NULL,       "volatile", NULL,       "index", "off",
		"redirect_dir", "nofollow",  "metacopy", "off",      "xino",     "off",   NULL};
	int fd, r;

	/*
	 * In the sandbox's own /proc/self/fd, a layer's name is its descriptor number. Kernels of
	 * every version accept such names.
	 */
	if (!name_lower(layers, lower))
		return -E2BIG;
	(void)snprintf(upper, sizeof upper, "%d", layers->upper);
	(void)snprintf(work, sizeof work, "%d", layers->work);
	r = fchdir(b->proc) < 0 || chdir("self/fd") < 0 ? -errno : lower_be_mounter(true);
	if (r < 0)
		return r;
	fd = kernel_mount_new("overlay", options, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	r = lower_be_mounter(false);
	return r < 0 ? fd_close(fd), r : fd;
}

int workspace_make(struct build *b, const struct plan_step *step, int *tree)
{
	_cleanup_(layers_close) struct layers layers = {-1, -1, -1, -1, {0}, 0};
	_cleanup_fd_ int overlay = -1;
	struct statvfs mounted;
	int r = workspace_open_layers(b, step, tree, &layers);

	if (r != 0)
		return r;
	overlay = mount_overlay(b, &layers, workspace_find_store(b, step) ? "store" : "memory");
	if (overlay == -ELOOP)
		return workspace_refuse(b, step, "its store lies in it, or around it");
	if (overlay == -EINVAL)
		return workspace_refuse(
			b, step,
			"it, or its store, is on a file system that cannot be a layer of an overlay");
	if (overlay < 0)
		return overlay;
	/* The kernel mounts an overlay read-only if it cannot use the store. */
	if (fstatvfs(overlay, &mounted) < 0)
		return -errno;
	if (mounted.f_flag & ST_RDONLY)
		return workspace_refuse(
			b, step,
			"the kernel mounts it read-only, as it cannot write into its store");
	/* The overlay holds its own references to both layers, so their mounts can go. */
	if (fchdir(b->beneath) < 0 || umount2("lower", MNT_DETACH) < 0 ||
	    umount2("lower", MNT_DETACH) < 0 || fchdir(b->root) < 0)
		return -errno;
	*tree = steal_fd(&overlay);
	return 0;
}
