/*
 * The sandbox's own root: a small tmpfs, the template's trees on it, and what is personal.
 *
 * Runs inside the new namespaces, still as root of the initial user namespace. Touches only this sandbox's tmpfs,
 * whose every directory we made ourselves.
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

static int make_directory(int root, const char *path, mode_t mode, uint32_t uid, uint32_t gid)
{
	if (mkdirat(root, path, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchownat(root, path, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int make_link(const struct setup *setup, const char *link, const char *path)
{
	if (symlinkat(link, setup->root, path) < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchownat(setup->root, path, setup->owner_uid, setup->owner_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Makes every directory of the absolute `path`; all are owned by what is root inside. */
static int make_path(const struct setup *setup, const char *path)
{
	char copy[PATH_MAX];

	(void)snprintf(copy, sizeof copy, "%s", path + 1);
	for (char *slash = strchr(copy, '/');; slash = strchr(slash + 1, '/')) {
		int r;

		if (slash)
			*slash = '\0';
		r = make_directory(setup->root, copy, 0755, setup->owner_uid, setup->owner_gid);
		if (r < 0 || !slash)
			return r;
		*slash = '/';
	}
}

static int make_personal(const struct setup *setup)
{
	static const struct {
		const char *path;
		mode_t mode;
	} shared[] = {{"tmp", 01777}, {"run", 0755}, {"run/lock", 01777}, {"run/shm", 01777}, {"run/user", 0755},
		      {"run/yett", 0755}, {"var", 0755}, {"var/tmp", 01777}, {"proc", 0555}};
	const char *home = plan_text(setup->plan, setup->plan->home);
	char runtime[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(shared); i++)
		r = make_directory(setup->root, shared[i].path, shared[i].mode, setup->owner_uid, setup->owner_gid);
	(void)snprintf(runtime, sizeof runtime, "run/user/%" PRIu32, setup->map->payload_uid);
	if (r == 0)
		r = make_directory(setup->root, runtime, 0700, setup->payload_uid, setup->payload_gid);
	if (r == 0)
		r = make_link(setup, "/run", "var/run");
	if (r < 0 || home[0] != '/' || home[1] == '\0')
		return r;
	r = make_path(setup, home);
	if (r == 0 && (fchownat(setup->root, home + 1, setup->payload_uid, setup->payload_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
		       fchmodat(setup->root, home + 1, 0700, 0) < 0))
		r = -errno;
	return r;
}

static int open_root(struct setup *setup, uint64_t size_bytes)
{
	char size[32], uid[16], gid[16];
	const char *options[] = {"mode", "0755", "size", size, "nr_inodes", "262144", "uid", uid, "gid", gid, NULL, NULL};
	struct stat st;

	(void)snprintf(size, sizeof size, "%" PRIu64, size_bytes);
	(void)snprintf(uid, sizeof uid, "%" PRIu32, setup->owner_uid);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, setup->owner_gid);
	if (setup->owner_uid == UINT32_MAX) /* nobody is root inside: it is ours, as all is that chown(2) with -1 leaves as it is */
		options[6] = NULL;
	setup->root = kernel_mount_new("tmpfs", options, setup->files_label, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (setup->root < 0)
		return setup->root;
	if (fstat(setup->root, &st) < 0)
		return -errno;
	setup->root_device = st.st_dev;
	return 0;
}

/*
 * Puts the new tmpfs over the template's root and makes it ours, as an initramfs does. What lies below it is a tmpfs
 * with empty directories; nobody inside will have the capability to take anything off.
 */
static int enter_root(int root)
{
	if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(root) < 0 || chroot(".") < 0)
		return -errno;
	return 0;
}

int root_make(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const struct template *template = &setup->host->templates[setup->plan->profile];
	_cleanup_free_ int *trees = calloc(template->entries_count, sizeof *trees);
	int r = trees ? open_root(setup, step->size_bytes) : -ENOMEM;

	(void)umask(0);
	/* The trees are taken hold of while the template is still what "/" means. */
	for (size_t i = 0; r == 0 && i < template->entries_count; i++) {
		const struct template_entry *entry = &template->entries[i];

		if (entry->link)
			continue;
		trees[i] = open_tree(AT_FDCWD, entry->path, OPEN_TREE_CLOEXEC);
		r = trees[i] < 0 ? -errno : 0;
		if (r == 0 && setup->plan->overlay_ro)
			r = mounts_overlay(setup, entry->path, &trees[i], error);
	}
	if (r == 0)
		r = enter_root(setup->root);
	for (size_t i = 0; r == 0 && i < template->entries_count; i++) {
		const struct template_entry *entry = &template->entries[i];

		if (entry->link) {
			r = make_link(setup, entry->link, entry->path + 1);
			continue;
		}
		r = make_path(setup, entry->path);
		if (r == 0 && move_mount(trees[i], "", setup->root, entry->path + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			r = -errno;
		(void)close(trees[i]);
	}
	return r == 0 ? make_personal(setup) : r;
}

int root_prepare_proc(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)step, (void)error;
	setup->proc = kernel_mount_new("proc", NULL, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return setup->proc < 0 ? setup->proc : 0;
}

int root_proc(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)step, (void)error;
	return move_mount(setup->proc, "", setup->root, "proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

static int attach_new(const struct setup *setup, const char *type, const char *const *options, const char *label,
		      unsigned attributes, const char *path)
{
	_cleanup_fd_ int mount = kernel_mount_new(type, options, label, attributes);

	if (mount < 0)
		return mount;
	return move_mount(mount, "", setup->root, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Message queues too: of the sandbox's own ipc namespace, and to be had at all only as far as there is a path to them. */
int root_devpts(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	char gid[16], max[16];
	const char *options[] = {"mode", "0620", "ptmxmode", "0666", "max", max, "gid", gid, NULL, NULL};
	uint32_t tty;
	int r;

	(void)step, (void)error;
	/* 5 is "tty" on every distribution: its private id, since to the kernel the payload is of a private group. */
	tty = idmap_host(&setup->map->gids, 5);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, tty == UINT32_MAX ? setup->payload_gid : tty);
	(void)snprintf(max, sizeof max, "%" PRIu32, setup->plan->terminals_max);
	r = attach_new(setup, "devpts", options, setup->files_label, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "dev/pts");
	if (r < 0)
		return r;
	/* Its file system is there since the ipc namespace is, with the label that such have. */
	return attach_new(setup, "mqueue", NULL, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "dev/mqueue");
}

static int write_file(const struct setup *setup, const char *path, const char *text)
{
	_cleanup_fd_ int fd = openat(setup->root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0 || fchown(fd, setup->owner_uid, setup->owner_gid) < 0)
		return -errno;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
}

int root_names(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const struct plan *plan = setup->plan;
	const char *user = plan_text(plan, plan->user_name), *group = plan_text(plan, plan->group_name);
	const char *home = plan_text(plan, plan->home), *shell = plan_text(plan, plan->shell);
	char passwd[PATH_MAX + 512] = "", groups[1024] = "";
	int r;

	(void)step, (void)error;
	if (setup->map->payload_uid != 0)
		(void)snprintf(passwd, sizeof passwd, "root:x:0:0:root:/root:/bin/sh\n");
	(void)snprintf(passwd + strlen(passwd), sizeof passwd - strlen(passwd), "%s:x:%" PRIu32 ":%" PRIu32 "::%s:%s\n%s",
		       user, setup->map->payload_uid, setup->map->payload_gid, home, shell,
		       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	if (setup->map->payload_gid != 0)
		(void)snprintf(groups, sizeof groups, "root:x:0:\n");
	(void)snprintf(groups + strlen(groups), sizeof groups - strlen(groups), "%s:x:%" PRIu32 ":\n%s", group,
		       setup->map->payload_gid, "tty:x:5:\nnogroup:x:65534:\n");
	r = write_file(setup, "run/yett/passwd", passwd);
	return r == 0 ? write_file(setup, "run/yett/group", groups) : r;
}
