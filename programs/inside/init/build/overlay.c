/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's private read-only overlays over directories that many sandboxes share. See build.h.
 */
#include "base/kernel.h"
#include "programs/inside/init/build/build.h"

#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/vfs.h>

/*
 * Call after lower_be_command(). An overlay checks its cached file modes, which may be outdated,
 * and also the files themselves, with the credentials of the process that mounted it.
 */
static int mount_over(void)
{
	static const char *const options[] = {
		"lowerdir",     "lower:empty", "userxattr", NULL,  "xino", "off",
		"redirect_dir", "nofollow",    "metacopy",  "off", NULL};

	return kernel_mount_new("overlay", options, "",
	                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int overlay_put_beneath(const struct build *b, int tree)
{
	return fchdir(b->beneath) < 0 ||
	                       move_mount(tree, "", AT_FDCWD, "lower", MOVE_MOUNT_F_EMPTY_PATH) < 0
	               ? -errno
	               : 0;
}

/*
 * MNT_EXPIRE fails with EAGAIN, and marks the mount, if a normal unmount would succeed: then
 * nothing is mounted below. umount2(2)
 */
int overlay_check_bare(void)
{
	return umount2("lower", MNT_EXPIRE) == 0 ? -ESTALE : errno == EAGAIN ? 0 : -errno;
}

int overlay_make(struct build *b, const char *path, int *tree)
{
	int r = 0;

	/*
	 * Without root the nodes of /dev are mounts of their own. Otherwise INIT_FD_DEV is below an
	 * overlay already.
	 */
	if (strcmp(path, "/dev") == 0)
		return 0;
	/*
	 * An overlay needs two lower layers, both in this mount namespace. The names "lower" and
	 * "empty" are directories of the template; no other names are resolved here.
	 */
	r = overlay_put_beneath(b, *tree);
	*tree = fd_close(*tree);
	if (r == 0)
		r = overlay_check_bare();
	if (r == 0)
		r = *tree = mount_over();
	if (r >= 0)
		return fchdir(b->root) < 0 ? -errno : 0;
	return error_set(
		&b->error, YETT_E_UNSUPPORTED, 0,
		"%s cannot be shown through an overlay, as overlay_ro of the profile wants it: %s",
		path,
		r == -EBUSY ? "there are mounts below it"
		: r == -EINVAL
			? "it is not a directory, or its file system cannot be an overlay layer"
			: strerror(-r));
}

static int reconfigure(int top, const char *flag)
{
	_cleanup_fd_ int context = fspick(top, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	if (context < 0 || (flag && fsconfig(context, FSCONFIG_SET_FLAG, flag, NULL, 0) < 0) ||
	    fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

/*
 * A reconfiguration without changes is enough: the kernel drops the cached names that are not in
 * use. An overlay without an upper layer must stay read-only and fails with EROFS unless "ro" is
 * given. fspick(2)
 */
static int refresh(int top)
{
	struct statfs fs;
	int r = fstatfs(top, &fs) < 0                ? -errno
	        : fs.f_type != OVERLAYFS_SUPER_MAGIC ? -EINVAL
	                                             : reconfigure(top, NULL);

	return r == -EROFS ? reconfigure(top, "ro") : r;
}

/* Decodes the octal escapes of a path in mountinfo. proc_pid_mountinfo(5) */
static void overlay_read_escapes(char *path)
{
	char *to = path;
	unsigned byte;

	for (const char *from = path; *from; from++) {
		bool is_escaped = *from == '\\' && sscanf(from + 1, "%3o", &byte) == 1;

		*to++ = is_escaped ? (char)byte : *from;
		from += is_escaped ? 3 : 0;
	}
	*to = '\0';
}

/*
 * Refreshes all overlays of the sandbox. Skips those that commands cannot reach, paths that resolve
 * into another mount, and those of the template, which do not belong to the sandbox.
 */
static int refresh_all(const struct build *b)
{
	int fd = openat(b->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL, *path = NULL;
	size_t size = 0;
	int r = file ? 0 : -errno;

	while (r == 0 && getline(&line, &size, file) > 0) {
		_cleanup_fd_ int top = -1;

		if (!strstr(line, " - overlay ") || sscanf(line, "%*s %*s %*s %*s %ms", &path) != 1)
			continue;
		overlay_read_escapes(path);
		top = attach_open(b->root, path, RESOLVE_NO_SYMLINKS);
		free(path);
		r = top < 0 ? 0 : refresh(top);
		r = r == -EINVAL || r == -EPERM ? 0 : r;
	}
	if (r == 0 && ferror(file))
		r = -EIO;
	free(line);
	if (file)
		(void)fclose(file);
	return r;
}

int overlay_refresh(struct build *b, const struct plan_step *step)
{
	const char *target = plan_text(b->plan, step->target);
	_cleanup_fd_ int top = -1;
	int r;

	if (strcmp(target, "/") == 0)
		return refresh_all(b);
	top = attach_open(b->root, target, RESOLVE_NO_SYMLINKS);
	r = top < 0 ? top : refresh(top);
	if (r == -ENOENT)
		return error_set(&b->error, YETT_E_NOT_FOUND, 0, "there is no %s in the sandbox",
		                 target);
	if (r == -EINVAL || r == -EPERM)
		return error_set(
			&b->error, YETT_E_INVALID_REQUEST, 0,
			"%s cannot be refreshed: no overlay of the sandbox is mounted there",
			target);
	return r;
}
