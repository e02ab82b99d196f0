/* SPDX-License-Identifier: Apache-2.0 */
/* See template.h. */
#include "helper/setup/template.h"
#include "helper/setup/making.h"

#include <sys/sysmacros.h>

struct device {
	const char *path;
	unsigned major, minor;
};

/* The six nodes that programs expect. None of them reaches hardware. */
static const struct device devices[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
	const char *path, *target;
} device_links[] = {
	{"/dev/fd", "/proc/self/fd"},
	{"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"},
	{"/dev/stderr", "/proc/self/fd/2"},
	{"/dev/ptmx", "pts/ptmx"},
	/* each sandbox has its own /run/shm; /dev is shared and read-only */
	{"/dev/shm", "/run/shm"},
};

static int add_entry(struct template *template, const char *path)
{
	struct template_entry *entry = &template->entries[template->entries_count];
	struct stat st;

	if (lstat(path, &st) < 0)
		/* not every host has /lib32 and the like */
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode) ? readlink(path, entry->link, sizeof entry->link - 1) < 0
	                        : !S_ISDIR(st.st_mode))
		return S_ISLNK(st.st_mode) ? -errno : -ENOTDIR;
	entry->path = path;
	template->entries_count++;
	return 0;
}

/* Lists /etc, the policy's system directories, and /dev. */
static int list_entries(const struct policy_profile *profile, struct template *template,
                        struct yett_error *error)
{
	const struct policy_list *system = &profile->system;
	int r;

	template->entries = calloc(system->count + 2, sizeof *template->entries);
	if (!template->entries)
		return -ENOMEM;
	r = add_entry(template, "/etc");
	for (size_t i = 0; r == 0 && i < system->count; i++) {
		r = add_entry(template, system->items[i]);
		if (r < 0)
			error_set(error, YETT_E_UNSUPPORTED, 0,
			          "%s of profile %s cannot be shown: %s", system->items[i],
			          profile->name, strerror(-r));
	}
	return r == 0 ? add_entry(template, "/dev") : r;
}

/*
 * Owners that files of the template appear to have. `id` is UINT32_MAX if no ids are mapped; the
 * others are then -1. In trees with programs and libraries, root's files appear as owned by the
 * face. But init and, where a grant says so, commands can take the face's id. In other trees root
 * keeps secrets, so there all files appear as nobody's, and only the permissions for everybody
 * count.
 */
struct faces {
	uint32_t id;
	int of_programs, of_data; /* user namespaces, for mount_setattr(2) */
};

/*
 * Clones the mounts at `path` recursively: private, read-only, without set-id programs and devices,
 * and mapped by `face` unless that is -1. A file system that cannot be id-mapped is cloned
 * unmapped. Safe because its files appear as nobody's then, which leaves only the permissions for
 * everybody. Nothing is automounted. Returns a descriptor or -errno.
 */
static int clone_system(const char *path, int face)
{
	struct mount_attr attributes = {
		.attr_set =
			MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_IDMAP,
		.propagation = MS_PRIVATE,
		.userns_fd = (uint64_t)face,
	};
	_cleanup_fd_ int tree =
		open_tree(AT_FDCWD, path,
	                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_NO_AUTOMOUNT);

	if (tree < 0)
		return -errno;
	if (face >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
	                               sizeof attributes) == 0)
		return steal_fd(&tree);
	attributes.attr_set &= ~(uint64_t)MOUNT_ATTR_IDMAP;
	attributes.userns_fd = 0;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) <
	    0)
		return -errno;
	return steal_fd(&tree);
}

static int template_make_parents(const char *path)
{
	char copy[PATH_MAX];

	FORMAT(copy, "%s", path);
	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/*
 * Without root no device node can be made. Makes an empty file, on which the host's node is
 * mounted.
 */
static int make_node(const char *path, dev_t device, uint32_t face)
{
	if (face == UINT32_MAX)
		return mknod(path, S_IFREG | 0444, 0) < 0 ? -errno : 0;
	if (mknod(path, S_IFCHR | 0666, device) < 0 || chmod(path, 0666) < 0 ||
	    lchown(path, face, face) < 0)
		return -errno;
	return 0;
}

/* Attaches the tree at `path`. A mount point that exists is used, as the files for nodes are. */
static int template_attach(const char *path, int tree)
{
	int r = template_make_parents(path);

	return r == 0 && move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno
	                                                                                   : r;
}

/*
 * Clones the mount at `path`, or one of the host's nodes. The clone is read-only, which protects
 * the nodes' mode; the devices can still be written. Returns a descriptor or -errno.
 */
static int clone_read_only(const char *path)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	                                            MOUNT_ATTR_NOEXEC,
	                                .propagation = MS_PRIVATE};
	_cleanup_fd_ int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
		return -errno;
	return steal_fd(&tree);
}

/*
 * `extra` are the device numbers of the nodes that the policy names, read while the host's /dev was
 * visible.
 */
static int make_dev(const struct policy_list *names, const dev_t *extra, uint32_t face)
{
	/* Sandboxes do not see the first three: overlay_make(), build(). */
	static const char *const directories[] = {"/lower", "/empty",   "/proc",
	                                          "/dev",   "/dev/pts", "/dev/mqueue"};
	_cleanup_fd_ int tree = -1;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (mkdir(directories[i], 0755) < 0 || lchown(directories[i], face, face) < 0)
			return -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
		r = make_node(devices[i].path, makedev(devices[i].major, devices[i].minor), face);
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		char parent[PATH_MAX];

		FORMAT(parent, "%s", names->items[i]);
		*strrchr(parent, '/') = '\0';
		r = template_make_parents(parent);
		if (r == 0)
			r = make_node(names->items[i], extra[i], face);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(device_links); i++)
		if (symlink(device_links[i].target, device_links[i].path) < 0 ||
		    lchown(device_links[i].path, face, face) < 0)
			r = -errno;
	tree = r == 0 ? clone_read_only("/dev") : r;
	return tree < 0 ? tree : template_attach("/dev", tree);
}

/*
 * Reads the numbers of the policy's device nodes. All processes of a sandbox may open its nodes:
 * the grant names each of them.
 */
static int read_devices(const struct policy_list *names, dev_t *numbers, struct yett_error *error)
{
	for (size_t i = 0; i < names->count; i++) {
		struct stat st;

		if (stat(names->items[i], &st) < 0 || !S_ISCHR(st.st_mode) ||
		    strncmp(names->items[i], "/dev/", 5) != 0)
			return error_set(error, YETT_E_UNSUPPORTED, 0,
			                 "%s is not a character device of this host",
			                 names->items[i]);
		numbers[i] = st.st_rdev;
	}
	return 0;
}

/* Makes a tmpfs the root of this mount namespace, and detaches the old root. */
static int enter_new_root(const char *runtime_dir, uint32_t face)
{
	char id[16];
	const char *options[] = {"mode", "0755", "size", "64m", "uid", id, "gid", id, NULL, NULL};
	_cleanup_fd_ int root = -1;

	FORMAT(id, "%" PRIu32, face);
	if (face == UINT32_MAX)
		options[4] = NULL;
	root = kernel_mount_new("tmpfs", options, "", MOUNT_ATTR_NOSUID);
	if (root < 0)
		return root;
	if (move_mount(root, "", AT_FDCWD, runtime_dir, MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    chdir(runtime_dir) < 0)
		return -errno;
	/*
	 * pivot_root(2), NOTES: with the same directory twice, the old root is on top and can be
	 * unmounted.
	 */
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

/*
 * Builds the template in the calling child. The kernel lets a user namespace mount a proc only
 * where another proc is fully visible. The template's proc belongs to the pid namespace of this
 * child: it shows no process once the child has exited. mount_namespaces(7)
 */
static int build(const struct policy_profile *profile, const struct template *template,
                 const char *runtime_dir, const struct faces *faces, struct yett_error *error)
{
	size_t system = template->entries_count - 1; /* the last entry is /dev */
	_cleanup_free_ int *trees = calloc(system + 1, sizeof *trees);
	_cleanup_free_ dev_t *numbers = calloc(profile->devices.count + 1, sizeof *numbers);
	bool is_rootless = faces->id == UINT32_MAX;
	_cleanup_fd_ int proc = kernel_mount_new(
		"proc", NULL, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	int nodes[ARRAY_SIZE(devices)], r;

	if (!trees || !numbers)
		return -ENOMEM;
	if (proc < 0) {
		(void)error_set(error, YETT_E_INIT_FAILED, 0, "set-up step proc failed: %s",
		                strerror(-proc));
		return error_cause(error, "proc", -proc);
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < system; i++) {
		const char *path = template->entries[i].path;

		/* init makes the links */
		if (*template->entries[i].link)
			continue;
		trees[i] = clone_system(path, policy_path_has_programs(path) ? faces->of_programs
		                                                             : faces->of_data);
		if (trees[i] < 0)
			return error_set(error, YETT_E_UNSUPPORTED, 0,
			                 "%s of profile %s cannot be shared: %s", path,
			                 profile->name, strerror(-trees[i]));
	}
	r = read_devices(&profile->devices, numbers, error);
	for (size_t i = 0; r == 0 && is_rootless && i < ARRAY_SIZE(devices); i++)
		if ((nodes[i] = clone_read_only(devices[i].path)) < 0)
			r = nodes[i];
	if (r == 0)
		r = enter_new_root(runtime_dir, faces->id);
	(void)umask(0);
	for (size_t i = 0; r == 0 && i < system; i++)
		r = *template->entries[i].link
		            ? 0
		            : template_attach(template->entries[i].path, trees[i]);
	if (r == 0)
		r = make_dev(&profile->devices, numbers, faces->id);
	for (size_t i = 0; r == 0 && is_rootless && i < ARRAY_SIZE(devices); i++)
		r = template_attach(devices[i].path, nodes[i]);
	if (r == 0)
		r = template_attach("/proc", proc);
	/*
	 * The template's root is located below the root of every sandbox that uses it, so nobody
	 * may write to it.
	 */
	if (r == 0 &&
	    mount_setattr(AT_FDCWD, "/", 0, &(struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY},
	                  sizeof(struct mount_attr)) < 0)
		r = -errno;
	return r;
}

static void template_add(struct init_profile *profile, const void *bytes, size_t size)
{
	memcpy(profile->data + profile->data_used, bytes, size);
	profile->data_used += (uint32_t)size;
}

/*
 * Writes what init gets to know of the profile: helper/plan/order.h. Returns a sealed memfd or
 * -errno.
 */
static int write_profile(const struct policy_profile *policy, const struct template *template)
{
	size_t init_size = policy->init_filter_count * sizeof *policy->init_filter;
	size_t command_size = policy->command_filter_count * sizeof *policy->command_filter;
	/* only the used part is ever touched */
	size_t size = init_size + command_size + 2 * template->entries_count * PATH_MAX;
	_cleanup_free_ struct init_profile *profile = NULL;

	for (size_t i = 0; i < policy->etc.count; i++)
		size += strlen(policy->etc.items[i]) + 1;
	profile = calloc(1, sizeof *profile + size);
	if (!profile)
		return -ENOMEM;
	profile->init_filter_count = (uint32_t)policy->init_filter_count;
	profile->command_filter_count = (uint32_t)policy->command_filter_count;
	profile->entries_count = (uint32_t) template->entries_count;
	profile->is_recorded = policy->record != 0;
	template_add(profile, policy->init_filter, init_size);
	template_add(profile, policy->command_filter, command_size);
	for (size_t i = 0; i < policy->etc.count; i++)
		template_add(profile, policy->etc.items[i], strlen(policy->etc.items[i]) + 1);
	for (size_t i = 0; i < template->entries_count; i++) {
		template_add(profile, template->entries[i].path,
		             strlen(template->entries[i].path) + 1);
		template_add(profile, template->entries[i].link,
		             strlen(template->entries[i].link) + 1);
	}
	return fd_new_sealed("yett-profile", profile, sizeof *profile + profile->data_used);
}

/* What the child sends: one packet. */
struct template_result {
	int r;
	struct yett_error error;
};

/* The child. `go` is its end of the socket. Exits when the parent dies. */
static void __attribute__((noreturn))
maker(const struct policy_profile *profile, const struct template *template,
      const char *runtime_dir, const struct faces *faces, int go)
{
	struct template_result result = {0};

	kernel_die_with_parent();
	/* close the parent's end: if the parent dies, the send below fails */
	fd_close(template->go);
	result.r = build(profile, template, runtime_dir, faces, &result.error);
	if (frame_send(go, &result, sizeof result, NULL, 0, 0) == 0)
		(void)pause(); /* until the parent holds the mount namespace */
	_exit(0);
}

static void end_maker(struct template *template)
{
	forker_end_child(template->maker);
	template->maker = 0;
	template->go = fd_close(template->go);
	free(template->entries);
	template->entries = NULL;
}

static int template_fail(const struct policy_profile *profile, int r, struct yett_error *error)
{
	return error_set(error, YETT_E_INIT_FAILED, 0,
	                 "the template of profile %s cannot be built: %s", profile->name,
	                 strerror(-r));
}

int template_start(const struct policy_profile *profile, const char *runtime_dir, uint32_t face,
                   struct template *ret_template, struct yett_error *error)
{
	_cleanup_(template_close) struct template template = TEMPLATE_NONE;
	bool has_id_maps = face != UINT32_MAX;
	/* No file on a disk belongs to the face, so `data` leaves all owners unmapped. */
	_cleanup_fd_ int programs = has_id_maps ? idmap_open_single(0, face, 0, face) : -1;
	_cleanup_fd_ int data = has_id_maps ? idmap_open_single(face, face, face, face) : -1;
	const struct faces faces = {face, programs, data};
	int go[2], r = list_entries(profile, &template, error);

	if (r != 0)
		return r < 0 ? template_fail(profile, r, error) : r;
	if (has_id_maps && (programs < 0 || data < 0))
		return template_fail(profile, programs < 0 ? programs : data, error);
	r = fd_pair(go);
	if (r < 0)
		return template_fail(profile, r, error);
	template.selinux = has_id_maps ? selinux_look(profile->selinux_type) : SELINUX_ABSENT;
	template.go = go[0];
	template.maker = kernel_clone(CLONE_NEWPID, SIGCHLD, -1, NULL);
	if (template.maker == 0)
		maker(profile, &template, runtime_dir, &faces, go[1]);
	fd_close(go[1]);
	if (template.maker < 0)
		return template_fail(profile, template.maker, error);
	*ret_template = template;
	template = TEMPLATE_NONE;
	return 0;
}

int template_finish(const struct policy_profile *profile, struct template *template,
                    struct yett_error *error)
{
	struct template_result result = {.r = -ECHILD};
	ssize_t n = recv(template->go, &result, sizeof result, 0);
	int r = n == sizeof result ? result.r : -ECHILD;
	char path[64];

	FORMAT(path, "/proc/%d/ns/mnt", template->maker);
	if (r == 0 && (template->mount_ns = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r >= 0 && template->mount_ns >= 0)
		r = template->profile = write_profile(profile, template);
	if (r > 0 && template->mount_ns < 0 && error)
		*error = result.error;
	end_maker(template);
	if (template->profile >= 0)
		return 0;
	template_close(template);
	return r < 0 ? template_fail(profile, r, error) : r;
}

void template_close(struct template *template)
{
	end_maker(template);
	template->mount_ns = fd_close(template->mount_ns);
	template->profile = fd_close(template->profile);
	*template = TEMPLATE_NONE;
}
