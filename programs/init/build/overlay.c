/* A read-only overlay of the sandbox's own in front of what many share: see build.h. */
#include "base/kernel.h"
#include "programs/init/build/build.h"

/*
 * After lower_be_command(): besides its own memory of the files' modes, which may be out of date, an overlay asks the files
 * themselves, in the name and with the capabilities of who made it.
 */
static int mount_over(void)
{
	static const char *const options[] = {"lowerdir",     "lower:empty", "userxattr", NULL,  "xino", "off",
	                                      "redirect_dir", "nofollow",    "metacopy",  "off", NULL};

	return kernel_mount_new("overlay", options, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int overlay_put_beneath(const struct build *b, int tree)
{
	return fchdir(b->beneath) < 0 || move_mount(tree, "", AT_FDCWD, "lower", MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* EAGAIN: it could be taken off, were it not for this flag. umount2(2) */
int overlay_check_bare(void)
{
	return umount2("lower", MNT_EXPIRE) == 0 ? -ESTALE : errno == EAGAIN ? 0 : -errno;
}

int overlay_make(struct build *b, const char *path, int *tree)
{
	int r = 0;

	if (strcmp(path, "/dev") == 0) /* without root its nodes are mounts of their own; else it is covered already, INIT_FD_DEV */
		return 0;
	/* "lower" and "empty" are the template's: layers have to be two, and of this namespace, and root resolves no other names. */
	r = overlay_put_beneath(b, *tree);
	*tree = fd_close(*tree);
	if (r == 0)
		r = overlay_check_bare();
	if (r == 0)
		r = *tree = mount_over();
	if (r >= 0)
		return fchdir(b->root) < 0 ? -errno : 0;
	return error_set(&b->error, YETT_E_UNSUPPORTED, 0,
	                 "%s cannot be shown through an overlay, as overlay_ro of the profile wants it: %s", path,
	                 r == -EBUSY    ? "there are mounts below it"
	                 : r == -EINVAL ? "it is no directory, or on a file system that cannot be behind one"
	                                : strerror(-r));
}
