/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. Gives a staged file the group, the ACL and the SELinux label of the file that it
 * replaces, or those that it would get in its target directory. Without this it would have those of
 * the stage.
 *
 * If the group or the ACL cannot be set, narrows the mode. So nobody gets more access than with
 * that group and ACL.
 */
#include "workspace/apply/apply.h"

#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/xattr.h>

#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define LABEL       "security.selinux"
#define LABEL_MAX   4096

/* An extended attribute; bytes NULL: the file has none. */
struct attribute {
	char *bytes;
	size_t size;
};

/*
 * Writes the name of a descriptor in /proc, which is the only way for symbolic links and for
 * descriptors opened with O_PATH. proc_pid_fd(5)
 */
static void name_fd(int fd, char name[static 32])
{
	(void)snprintf(name, 32, "/proc/self/fd/%d", fd);
}

static int inherit_get(int fd, const char *attribute, struct attribute *ret)
{
	_cleanup_free_ char *bytes = NULL;
	char name[32];
	ssize_t n;

	*ret = (struct attribute){0};
	name_fd(fd, name);
	n = getxattr(name, attribute, NULL, 0);
	if (n <= 0)
		return n == 0 || errno == ENODATA || errno == ENOTSUP ? 0 : -errno;
	bytes = malloc((size_t)n);
	if (!bytes)
		return -ENOMEM;
	n = getxattr(name, attribute, bytes, (size_t)n);
	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	*ret = (struct attribute){steal_ptr(&bytes), (size_t)n};
	return 0;
}

static int inherit_set(int fd, const char *attribute, const struct attribute *value)
{
	char name[32];

	name_fd(fd, name);
	return setxattr(name, attribute, value->bytes, value->size, 0) < 0 ? -errno : 0;
}

/* A staged file, and its model: the file that it replaces (is_old), or a directory. */
struct staged {
	int fd, model;
	bool is_old;
};

static void attribute_free(struct attribute *attribute)
{
	free(attribute->bytes);
}

uint32_t inherit_acl_bits(const char *acl, size_t size, unsigned tag)
{
	struct posix_acl_xattr_entry entry;

	for (size_t at = sizeof(struct posix_acl_xattr_header); at + sizeof entry <= size;
	     at += sizeof entry) {
		memcpy(&entry, acl + at, sizeof entry);
		if (le16toh(entry.e_tag) == tag)
			return le16toh(entry.e_perm) & 7u;
	}
	return tag == ACL_MASK ? INHERIT_NO_ENTRY : 0;
}

/* Limits the group's bits of a mode, which are those of the ACL's mask if there is a mask. */
static uint32_t narrow_group(uint32_t mode, uint32_t bits)
{
	return mode & (~070u | bits << 3);
}

uint32_t inherit_mode_of_default(uint32_t mode, const char *acl, size_t size)
{
	uint32_t mask = inherit_acl_bits(acl, size, ACL_MASK),
		 other = inherit_acl_bits(acl, size, ACL_OTHER);

	mode = narrow_group(
		mode, mask == INHERIT_NO_ENTRY ? inherit_acl_bits(acl, size, ACL_GROUP_OBJ) : mask);
	return mode & (~07u | other);
}

static int inherit_open_part(const struct apply *apply, const char *path, size_t length)
{
	char part[PATH_MAX];

	(void)snprintf(part, sizeof part, "%.*s", (int)length, path);
	return read_open(apply->source, part, O_PATH | O_DIRECTORY);
}

/*
 * Opens the last existing directory on the path in the source: the parent directory, or the one in
 * which the missing directories will be made. Nothing exists below a missing directory, so a binary
 * search finds the last existing one. A search name by name would be slow: a sandbox can make paths
 * of 2,000 names, with any number of files at the end.
 */
static int inherit_open_above(const struct apply *apply, const char *path)
{
	uint16_t ends[PATH_MAX / 2 + 1] = {0};
	size_t there = 0, count = 1, gone;
	int fd;

	for (const char *slash = path; (slash = strchr(slash, '/')) && count < ARRAY_SIZE(ends);
	     slash++)
		ends[count++] = (uint16_t)(slash - path);
	fd = inherit_open_part(apply, path, ends[count - 1]);
	for (gone = count - 1; fd < 0 && gone - there > 1;) {
		size_t half = (there + gone) / 2, *side = &gone;
		int at = inherit_open_part(apply, path, ends[half]);

		if (at >= 0)
			side = &there;
		*side = half;
		fd_close(at);
	}
	return fd < 0 ? inherit_open_part(apply, path, ends[there]) : fd;
}

/* Opens the model: the replaced file if it is of the same kind, otherwise a directory. */
static int open_model(const struct apply *apply, const struct step *step, bool *ret_is_old)
{
	int fd = -1;

	*ret_is_old = (step->old.mode & S_IFMT) == (step->new.mode &S_IFMT);
	if (*ret_is_old)
		fd = read_open(apply->source, step->path, O_PATH);
	if (fd >= 0)
		return fd;
	*ret_is_old = false;
	return inherit_open_above(apply, step->path);
}

/* Returns false if the process may not set that group. */
static bool give_group(int fd, gid_t gid)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (st.st_gid == gid || fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) == 0);
}

/*
 * Sets the label where the kernel enforces labels and its policy permits the change. Otherwise the
 * file keeps its label: only SELinux uses it.
 */
static void give_label(int fd, int model)
{
	_cleanup_(attribute_free) struct attribute wanted = {0}, has = {0};

	if (inherit_get(model, LABEL, &wanted) < 0 || !wanted.bytes || wanted.size > LABEL_MAX)
		return;
	if (inherit_get(fd, LABEL, &has) == 0 && has.size == wanted.size &&
	    memcmp(has.bytes, wanted.bytes, has.size) == 0)
		return;
	(void)!inherit_set(fd, LABEL, &wanted);
}

/*
 * Whether an ACL cannot be set here: the file system has none, or it has ids that do not exist
 * here.
 */
static bool is_not_to_be_had(int r)
{
	return r == -ENOTSUP || r == -EPERM || r == -EINVAL;
}

/*
 * Sets the ACL. If that fails, or the ACL has no mask, the group gets at most what the ACL gave it.
 */
static int give_acl(int fd, const struct attribute *acl, uint32_t *mode)
{
	int r = inherit_set(fd, ACL_ACCESS, acl);

	if (r == 0 && inherit_acl_bits(acl->bytes, acl->size, ACL_MASK) != INHERIT_NO_ENTRY)
		return 0;
	*mode = narrow_group(*mode, inherit_acl_bits(acl->bytes, acl->size, ACL_GROUP_OBJ));
	return is_not_to_be_had(r) ? 0 : r;
}

/*
 * Narrows the mode of a staged file whose model has no ACL, if the sandbox's file has one. That ACL
 * is not copied. The group bits of its mode are the ACL's mask, and the group itself had only the
 * rights of its own entry (acl(5)): the staged file's group gets no more than that entry.
 */
static int narrow_as_in_layer(const struct apply *apply, const struct step *step, uint32_t *mode)
{
	_cleanup_(attribute_free) struct attribute acl = {0};
	_cleanup_fd_ int fd =
		read_open(apply->diff.layers[step->item->change->layer], step->path, O_PATH);
	int r = fd < 0 ? fd : inherit_get(fd, ACL_ACCESS, &acl);

	if (r == 0 && acl.bytes)
		*mode = narrow_group(*mode, inherit_acl_bits(acl.bytes, acl.size, ACL_GROUP_OBJ));
	return r;
}

static int give_acls(const struct apply *apply, const struct step *step,
                     const struct staged *staged, uint32_t *mode)
{
	_cleanup_(attribute_free) struct attribute acl = {0};
	int r = inherit_get(staged->model, staged->is_old ? ACL_ACCESS : ACL_DEFAULT, &acl);

	if (r < 0 || !acl.bytes)
		return r < 0 ? r : narrow_as_in_layer(apply, step, mode);
	if (!staged->is_old)
		*mode = inherit_mode_of_default(*mode, acl.bytes, acl.size);
	if (S_ISDIR(step->new.mode))
		r = inherit_set(staged->fd, ACL_DEFAULT, &acl);
	return r < 0 && !is_not_to_be_had(r) ? r : give_acl(staged->fd, &acl, mode);
}

int inherit(const struct apply *apply, const struct step *step, int fd, uint32_t *mode)
{
	struct staged staged = {.fd = fd};
	_cleanup_fd_ int model = staged.model = open_model(apply, step, &staged.is_old);
	struct stat st;
	bool has_group;

	if (model < 0 || fstat(model, &st) < 0)
		return model < 0 ? model : -errno;
	give_label(fd, model);
	has_group = give_group(fd, staged.is_old || (st.st_mode & S_ISGID) ? st.st_gid : getegid());
	if (S_ISLNK(step->new.mode))
		return 0;
	if (!has_group &&
	    staged.is_old) /* the file has another group: give it only the rights of others */
		*mode = narrow_group(*mode, *mode & 07);
	if (S_ISDIR(step->new.mode) && !staged.is_old &&
	    has_group) /* inode_init_owner() in the kernel's fs/inode.c */
		*mode |= st.st_mode & S_ISGID;
	return give_acls(apply, step, &staged, mode);
}

int inherit_nothing(int directory)
{
	struct posix_acl_xattr_header none = {.a_version = htole32(POSIX_ACL_XATTR_VERSION)};
	const struct attribute value = {(char *)&none, sizeof none};
	int r = inherit_set(directory, ACL_DEFAULT, &value);

	return r == -ENOTSUP || r == -ENODATA ? 0 : r;
}
