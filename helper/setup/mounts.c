/*
 * What is shared into a sandbox, and what is hidden in it.
 *
 * Clones are made by the builder in the helper's own mount namespace: open_tree(2) then refuses a descriptor whose
 * mount is another namespace's, where names could lie. They are attached inside. Root resolves no path of a client:
 * its descriptors are cloned, and targets are resolved component by component in a root that is all our own.
 */
#include "base/escape.h"
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"

#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/vfs.h>

/* File systems that are interfaces to the kernel rather than places for files. */
static const struct {
	long magic;
	const char *name;
} pseudo_file_systems[] = {
	{PROC_SUPER_MAGIC, "proc"},       {SYSFS_MAGIC, "sysfs"},         {CGROUP_SUPER_MAGIC, "cgroup"},
	{CGROUP2_SUPER_MAGIC, "cgroup2"}, {NSFS_MAGIC, "nsfs"},           {DEBUGFS_MAGIC, "debugfs"},
	{TRACEFS_MAGIC, "tracefs"},       {SECURITYFS_MAGIC, "securityfs"}, {SELINUX_MAGIC, "selinuxfs"},
	{SMACK_MAGIC, "smackfs"},         {BPF_FS_MAGIC, "bpf"},          {DEVPTS_SUPER_MAGIC, "devpts"},
	{PIPEFS_MAGIC, "pipefs"},         {SOCKFS_MAGIC, "sockfs"},       {ANON_INODE_FS_MAGIC, "anon_inodefs"},
	{BINDERFS_SUPER_MAGIC, "binder"}, {EFIVARFS_MAGIC, "efivarfs"},   {AUTOFS_SUPER_MAGIC, "autofs"},
	{0x62656570, "configfs"},         {0x6165676C, "pstore"},         {0x65735543, "fusectl"},
	{0x19800202, "mqueue"},
};

static const char *pseudo_name(int fd)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) < 0)
		return "unknown";
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_file_systems); i++)
		if ((long)sfs.f_type == pseudo_file_systems[i].magic)
			return pseudo_file_systems[i].name;
	return NULL;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether `directory` or one above it is the other one. Names play no part. */
static bool is_in(int directory, const struct stat *other)
{
	_cleanup_fd_ int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, above;

	if (at < 0 || fstat(at, &here) < 0)
		return false;
	while (!same_file(&here, other)) {
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up < 0 || fstat(up, &above) < 0 || same_file(&here, &above)) {
			fd_close(up);
			return false;
		}
		fd_close(at);
		at = up;
		here = above;
	}
	return true;
}

/* `rules` is the step's source: directories separated by newlines; "*" is any. */
static bool is_allowed(int fd, const struct stat *st, const char *rules)
{
	char rule[PATH_MAX];
	struct stat wanted;

	for (const char *at = rules; *at;) {
		size_t length = strcspn(at, "\n");

		if (length == 1 && *at == '*')
			return true;
		if (length < sizeof rule && S_ISDIR(st->st_mode)) {
			memcpy(rule, at, length);
			rule[length] = '\0';
			if (stat(rule, &wanted) == 0 && is_in(fd, &wanted))
				return true;
		}
		at += length + (at[length] == '\n');
	}
	return false;
}

/*
 * Where a user's programs keep the sockets by which they are spoken to, and the display server its own: who can connect
 * there is the user to them. And the helper's own. Neither these nor what holds them is shared; what does not exist holds nothing.
 */
static bool is_runtime(int fd, const struct stat *st, const char *runtime_dir)
{
	const char *directories[] = {"/run/user", "/tmp/.X11-unix", runtime_dir};

	for (size_t i = 0; S_ISDIR(st->st_mode) && i < ARRAY_SIZE(directories); i++) {
		_cleanup_fd_ int held = open(directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stat runtime;

		if (held >= 0 && (fstat(held, &runtime) < 0 || is_in(fd, &runtime) || is_in(held, st)))
			return true;
	}
	return false;
}

int mounts_check_share(const struct setup *setup, int fd, const struct plan_step *step, struct stat *ret_stat, struct yett_error *error)
{
	const struct plan *plan = setup->plan;
	const char *target = plan_text(plan, step->target), *rules = plan_text(plan, step->source);
	const char *pseudo = pseudo_name(fd);

	if (fstat(fd, ret_stat) < 0)
		return -errno;
	if (!S_ISDIR(ret_stat->st_mode) && !S_ISREG(ret_stat->st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the share for %s is neither a directory nor a regular file", target);
	if (pseudo)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0, "the share for %s is on a %s file system", target, pseudo);
	if (is_runtime(fd, ret_stat, setup->host->policy->runtime_dir))
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0, "the share for %s is, or holds, a runtime directory: its sockets lead out", target);
	if (is_allowed(fd, ret_stat, rules))
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the policy does not let this user share that %s %s",
			S_ISDIR(ret_stat->st_mode) ? "directory" : "file", step->writable ? "read-write" : "read-only");
	error_rest(error, &(struct error_rule){step->writable ? "share_rw" : "share_ro", "grant", plan_text(plan, plan->grant_name),
					       plan_text(plan, step->from), 0, ESCAPE(target), rules[0] ? rules : "nothing", true});
	return YETT_E_PERMISSION_DENIED;
}

/*
 * Private first of all: a clone in a peer group would carry mounts made inside out to the host and the other way
 * round. Recursive: a clone of the top alone would uncover what was mounted over.
 */
static int restrict_tree(const struct setup *setup, int tree, bool writable, const char *target, struct yett_error *error)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (writable ? 0 : MOUNT_ATTR_RDONLY) |
			    (setup->host->is_rootless ? 0 : MOUNT_ATTR_IDMAP),
		.propagation = MS_PRIVATE,
		.userns_fd = setup->host->is_rootless ? 0 : (uint64_t)setup->share_ns,
	};

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) == 0)
		return 0;
	if (!setup->host->is_rootless && (errno == EINVAL || errno == EPERM))
		return error_set(error, YETT_E_UNSUPPORTED, 0,
				 "what is to be shared at %s, or a mount below it, is on a file system that cannot be id-mapped", target);
	return -errno;
}

/*
 * A helper without root has a mount namespace of its own, in which no descriptor of the client's can be cloned: what is there
 * by the same name is, if it is the same file. Names that lie deceive only who is served, and who could open it anyway.
 */
static int reopen(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat wanted, found;
	ssize_t n;
	_cleanup_fd_ int own = -1;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	own = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (own < 0 || fstat(fd, &wanted) < 0 || fstat(own, &found) < 0)
		return -errno;
	return same_file(&wanted, &found) ? steal_fd(&own) : -ESTALE;
}

int mounts_clone_share(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const char *target = plan_text(setup->plan, step->target);
	int fd = setup->fds[step->fd], r;
	struct stat asked, cloned;
	_cleanup_fd_ int tree = -1, own = setup->host->is_rootless ? reopen(fd) : -1;

	if (setup->host->is_rootless && own < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "the share for %s cannot be found by its path: %s", target, strerror(-own));
	fd = own < 0 ? fd : own;
	r = mounts_check_share(setup, fd, step, &asked, error);
	if (r != 0)
		return r;
	tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 && errno == EINVAL)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
				 "the share for %s is of another mount namespace than the helper's", target);
	if (tree < 0 || fstat(tree, &cloned) < 0)
		return -errno;
	if (!same_file(&asked, &cloned))
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0, "the share for %s changed while it was looked at", target);
	r = restrict_tree(setup, tree, step->writable, target, error);
	if (r == 0)
		setup->trees[step - setup->plan->steps] = steal_fd(&tree);
	return r;
}

int mounts_clone_host(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const char *target = plan_text(setup->plan, step->target), *source = plan_text(setup->plan, step->source);
	_cleanup_fd_ int tree = open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	int r;

	if (tree < 0 && errno == ENOENT && step->optional)
		return 0;
	if (tree < 0)
		return -errno;
	r = restrict_tree(setup, tree, step->writable, target, error);
	if (r == 0)
		setup->trees[step - setup->plan->steps] = steal_fd(&tree);
	return r;
}

static int open_below(int at, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);

	return fd < 0 ? -errno : fd;
}

/* Makes one component of a mount point, if `parent` is the sandbox's own tmpfs. The kind is that of what comes there. */
static int make_component(const struct setup *setup, int parent, const char *name, bool directory)
{
	struct stat st;

	if (fstat(parent, &st) < 0)
		return -errno;
	if (st.st_dev != setup->root_device)
		return -EROFS;
	if (directory ? mkdirat(parent, name, 0755) < 0 : mknodat(parent, name, S_IFREG | 0644, 0) < 0)
		return -errno;
	return fchownat(parent, name, setup->owner_uid, setup->owner_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Opens the mount point `path`, making what of it may be made. A refusal is positive, as a descriptor would be. */
static int open_target(const struct setup *setup, const char *path, bool directory, int *ret_target, struct yett_error *error)
{
	_cleanup_fd_ int at = dup(setup->root);
	char component[NAME_MAX + 1];
	int r = at < 0 ? -errno : 0;

	for (const char *rest = path; r == 0 && *(rest += strspn(rest, "/"));) {
		size_t length = strcspn(rest, "/");
		bool last = rest[length] == '\0';
		int next;

		if (length > NAME_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, 0, "a component of the target %s is too long", path);
		memcpy(component, rest, length);
		component[length] = '\0';
		rest += length;
		next = open_below(at, component, O_PATH);
		if (next == -ENOENT) {
			r = make_component(setup, at, component, !last || directory);
			next = r == 0 ? open_below(at, component, O_PATH) : r;
		}
		fd_close(at);
		at = next;
		r = next < 0 ? next : 0;
	}
	if (r == -EROFS)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
				 "the target %s does not exist in the tree that is mounted there, and is not made in it", path);
	if (r == -ELOOP)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the target %s goes through a symbolic link", path);
	if (r == -ENOTDIR)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the target %s goes through something that is no directory", path);
	if (r == 0)
		*ret_target = steal_fd(&at);
	return r;
}

static int attach(const struct setup *setup, int tree, const char *path, struct yett_error *error)
{
	struct stat st, there;
	_cleanup_fd_ int target = -1;
	int r;

	if (fstat(tree, &st) < 0)
		return -errno;
	r = open_target(setup, path, S_ISDIR(st.st_mode), &target, error);
	if (r != 0)
		return r;
	if (fstat(target, &there) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) != S_ISDIR(there.st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the target %s is %s, and what is shared there is not", path,
				 S_ISDIR(there.st_mode) ? "a directory" : "a file");
	return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

/*
 * In the name of commands, without CAP_DAC_OVERRIDE, which goes with fsuid 0: besides its own memory of their modes, which may be
 * out of date, an overlay asks the files themselves, in the name of who made it. capabilities(7)
 */
static int mount_overlay(const struct setup *setup, unsigned attributes)
{
	static const char *const options[] = {"lowerdir", "lower:empty", "xino", "off", "redirect_dir", "nofollow", "metacopy", "off", NULL};
	gid_t groups[PLAN_GROUPS_MAX];
	size_t count = 0;
	int r;

	for (uint32_t i = 0; i < setup->plan->groups_count; i++) {
		groups[count] = idmap_host(&setup->map->gids, setup->plan->groups[i]);
		count += groups[count] != UINT32_MAX;
	}
	if (!setup->host->is_rootless && setgroups(count, groups) < 0) /* until identity_take(). Without root they are ours already */
		return -errno;
	(void)setfsgid(setup->payload_gid);
	(void)setfsuid(setup->payload_uid);
	r = kernel_mount_new("overlay", options, "", attributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
	/* They say what was in force. */
	return (uid_t)setfsuid(geteuid()) == setup->payload_uid && (gid_t)setfsgid(getegid()) == setup->payload_gid ? r : -EPERM;
}

int mounts_overlay(struct setup *setup, const char *path, int *tree, struct yett_error *error)
{
	bool is_dev = strcmp(path, "/dev") == 0;
	int r = 0;

	if (is_dev && setup->host->is_rootless) /* its nodes are mounts of their own */
		return 0;
	if (setup->beneath < 0)
		setup->beneath = open("/", O_PATH | O_CLOEXEC);
	/* "lower" and "empty" are the template's: layers have to be two, and of this namespace, and root resolves no other names. */
	if (fchdir(setup->beneath) < 0 || move_mount(*tree, "", AT_FDCWD, "lower", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	*tree = fd_close(*tree);
	/* EAGAIN: it could be taken off, were it not for this flag; and so has no mounts below. umount2(2) */
	if (r == 0)
		r = umount2("lower", MNT_EXPIRE) == 0 ? -ESTALE : errno == EAGAIN ? 0 : -errno;
	if (r == 0)
		r = *tree = mount_overlay(setup, is_dev ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
	if (r >= 0)
		return fchdir(setup->root) < 0 ? -errno : 0;
	return error_set(error, YETT_E_UNSUPPORTED, 0, "%s cannot be shown through an overlay, as overlay_ro of the profile wants it: %s", path,
			 r == -EBUSY    ? "there are mounts below it"
			 : r == -EINVAL ? "it is no directory, or on a file system that cannot be behind one"
					: strerror(-r));
}

int mounts_attach(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const char *target = plan_text(setup->plan, step->target);
	int *tree = &setup->trees[step - setup->plan->steps], r = 0;

	if (*tree >= 0 && setup->plan->overlay_ro && !step->writable)
		r = mounts_overlay(setup, target, tree, error);
	if (*tree >= 0 && r == 0)
		r = attach(setup, *tree, target, error);
	*tree = fd_close(*tree);
	return r;
}

int mounts_tmpfs(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	char size[32], mode[16], uid[16], gid[16];
	const char *options[] = {"mode", mode, "size", size, "uid", uid, "gid", gid, "nr_inodes", "262144", NULL, NULL};
	_cleanup_fd_ int tree = -1;

	(void)snprintf(size, sizeof size, "%" PRIu64, step->size_bytes);
	(void)snprintf(mode, sizeof mode, "%" PRIo32, step->mode);
	(void)snprintf(uid, sizeof uid, "%" PRIu32, setup->payload_uid);
	(void)snprintf(gid, sizeof gid, "%" PRIu32, setup->payload_gid);
	tree = kernel_mount_new("tmpfs", options, setup->files_label, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree < 0 ? tree : attach(setup, tree, plan_text(setup->plan, step->target), error);
}

/* 0 and a descriptor, 0 and -1 when it is not there and need not be, or an error. */
static int open_existing(const struct setup *setup, const struct plan_step *step, int *ret_fd, struct yett_error *error)
{
	const char *path = plan_text(setup->plan, step->target);
	int fd = open_below(setup->root, path, O_PATH);

	*ret_fd = -1;
	if (fd == -ENOENT && step->optional)
		return 0;
	if (fd == -ENOENT || fd == -ELOOP)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "%s, which the profile names, %s", path,
				 fd == -ENOENT ? "does not exist in the sandbox" : "goes through a symbolic link");
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int mounts_read_only(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	_cleanup_fd_ int there = -1, tree = -1;
	int r = open_existing(setup, step, &there, error);

	if (r != 0 || there < 0)
		return r;
	tree = open_tree(there, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0 ||
	    move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* A directory is hidden by an empty one, anything else by /dev/null: the template's, which has no write access either. */
int mounts_mask(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	_cleanup_fd_ int there = -1, tree = -1;
	struct stat st;
	int r = open_existing(setup, step, &there, error);

	if (r != 0 || there < 0)
		return r;
	if (fstat(there, &st) < 0)
		return -errno;
	/* The clone of a mount is as read-only as the mount: the template's /dev has nothing that can be written to. */
	tree = open_tree(setup->root, S_ISDIR(st.st_mode) ? "dev/mqueue" : "dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}
