/* See template.h. */
#include "helper/setup/template.h"
#include "helper/setup/idmap.h"
#include "base/kernel.h"
#include "helper/setup/etc.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

struct device {
	const char *path;
	unsigned major, minor;
};

/* The six nodes that programs expect; none of them reaches hardware. */
static const struct device devices[] = {
	{"/dev/null", 1, 3}, {"/dev/zero", 1, 5}, {"/dev/full", 1, 7}, {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
	const char *path, *target;
} device_links[] = {
	{"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
	{"/dev/ptmx", "pts/ptmx"},          {"/dev/shm", "/run/shm"}, /* the sandbox's own: /dev itself is shared and read-only */
};

static int add_entry(struct template *template, const char *path)
{
	struct template_entry *entry = &template->entries[template->entries_count];
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno; /* /lib32 and the like: not on every host */
	if (S_ISLNK(st.st_mode)) {
		n = readlink(path, link, sizeof link - 1);
		if (n < 0)
			return -errno;
		link[n] = '\0';
		entry->link = strdup(link);
	} else if (!S_ISDIR(st.st_mode)) {
		return -ENOTDIR;
	}
	entry->path = strdup(path);
	if (!entry->path || (S_ISLNK(st.st_mode) && !entry->link))
		return -ENOMEM;
	template->entries_count++;
	return 0;
}

/* The policy's system directories, then /etc and /dev. */
static int list_entries(const struct policy_profile *profile, struct template *template, struct yett_error *error)
{
	const struct policy_list *system = &profile->system;
	int r = 0;

	template->entries = calloc(system->count + 2, sizeof *template->entries);
	if (!template->entries)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < system->count; i++) {
		r = add_entry(template, system->items[i]);
		if (r < 0)
			error_set(error, YETT_E_UNSUPPORTED, 0, "%s of profile %s cannot be shown: %s", system->items[i], profile->name,
			          strerror(-r));
	}
	if (r == 0)
		r = add_entry(template, "/etc");
	return r == 0 ? add_entry(template, "/dev") : r;
}

/*
 * A recursive copy of the mounts at `path`, private, read-only and without set-id or device files, showing root's files
 * as the face id's, unless there is none (-1). A file system that cannot be id-mapped shows them as nobody's instead: they are read-only
 * and world-readable things either way. A descriptor or -errno.
 */
static int clone_system(const char *path, int face_ns)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_IDMAP,
		.propagation = MS_PRIVATE,
		.userns_fd = (uint64_t)face_ns,
	};
	_cleanup_fd_ int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0)
		return -errno;
	if (face_ns >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) == 0)
		return steal_fd(&tree);
	attributes.attr_set &= ~(uint64_t)MOUNT_ATTR_IDMAP;
	attributes.userns_fd = 0;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0)
		return -errno;
	return steal_fd(&tree);
}

static int make_parents(int root, const char *path)
{
	char copy[PATH_MAX];

	(void)snprintf(copy, sizeof copy, "%s", path + 1);
	for (char *slash = strchr(copy, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdirat(root, copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Turns a directory of the root into a read-only mount, which a sandbox can move onto its own root. */
static int seal_directory(const char *path, uint64_t attributes_set)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | attributes_set, .propagation = MS_PRIVATE};
	_cleanup_fd_ int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
	    move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* Without root no node can be made: an empty file, for the host's node to be mounted on. */
static int make_node(const char *path, dev_t device, uint32_t face)
{
	if (face == UINT32_MAX)
		return mknod(path, S_IFREG | 0444, 0) < 0 ? -errno : 0;
	if (mknod(path, S_IFCHR | 0666, device) < 0 || chmod(path, 0666) < 0 || lchown(path, face, face) < 0)
		return -errno;
	return 0;
}

/* `extra` are the numbers of further nodes that the policy names, read before the host's /dev went out of sight. */
static int make_dev(const struct policy_list *names, const dev_t *extra, uint32_t face)
{
	/* Of the first three sandboxes see nothing: overlay_make(), build(). */
	static const char *const directories[] = {"/lower", "/empty", "/proc", "/dev", "/dev/pts", "/dev/mqueue"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (mkdir(directories[i], 0755) < 0 || lchown(directories[i], face, face) < 0)
			return -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
		r = make_node(devices[i].path, makedev(devices[i].major, devices[i].minor), face);
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		char parent[PATH_MAX];

		(void)snprintf(parent, sizeof parent, "%s", names->items[i]);
		*strrchr(parent, '/') = '\0';
		r = make_parents(AT_FDCWD, parent);
		if (r == 0)
			r = make_node(names->items[i], extra[i], face);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(device_links); i++)
		if (symlink(device_links[i].target, device_links[i].path) < 0 || lchown(device_links[i].path, face, face) < 0)
			r = -errno;
	return r == 0 ? seal_directory("/dev", MOUNT_ATTR_NOEXEC) : r;
}

/* Takes hold of the host's nodes, for those that cannot be made, while they are in sight; and mounts them, read-only: that is their mode.
 */
static int clone_nodes(int trees[static ARRAY_SIZE(devices)])
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, .propagation = MS_PRIVATE};

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		trees[i] = open_tree(AT_FDCWD, devices[i].path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (trees[i] < 0 || mount_setattr(trees[i], "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
			return -errno;
	}
	return 0;
}

static int attach_nodes(const int trees[static ARRAY_SIZE(devices)])
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (move_mount(trees[i], "", AT_FDCWD, devices[i].path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	return 0;
}

/* Reads the numbers of the policy's device nodes. The sandboxes' nodes are open to all of theirs: the grant named them. */
static int read_devices(const struct policy_list *names, dev_t *numbers, struct yett_error *error)
{
	for (size_t i = 0; i < names->count; i++) {
		struct stat st;

		if (stat(names->items[i], &st) < 0 || !S_ISCHR(st.st_mode) || strncmp(names->items[i], "/dev/", 5) != 0)
			return error_set(error, YETT_E_UNSUPPORTED, 0, "%s is not a character device of this host", names->items[i]);
		numbers[i] = st.st_rdev;
	}
	return 0;
}

/* A private copy of the host's mounts with a tmpfs as its root, in which there is /etc, and the old root out of reach. `trees`: etc_copy()
 */
static int enter_new_root(const struct policy_profile *profile, const char *runtime_dir, uint32_t face, struct etc_trees *trees)
{
	char id[16];
	const char *options[] = {"mode", "0755", "size", "64m", "uid", id, "gid", id, NULL, NULL};
	_cleanup_fd_ int root = -1;
	int r;

	(void)snprintf(id, sizeof id, "%" PRIu32, face);
	if (face == UINT32_MAX)
		options[4] = NULL;
	root = kernel_mount_new("tmpfs", options, "", MOUNT_ATTR_NOSUID);
	r = root < 0 ? root : etc_copy(&profile->etc, root, face, trees); /* while the host's is in sight */
	if (r < 0)
		return r;
	if (move_mount(root, "", AT_FDCWD, runtime_dir, MOVE_MOUNT_F_EMPTY_PATH) < 0 || chdir(runtime_dir) < 0)
		return -errno;
	/* pivot_root(2), NOTES: with the same directory twice the old root lies on top, and goes. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int attach_etc(const struct etc_trees *trees)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < trees->count; i++) {
		(void)snprintf(path, sizeof path, "/etc/%s", trees->items[i].path);
		if (move_mount(trees->items[i].tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	}
	return 0;
}

static int attach(const struct template_entry *entry, int tree)
{
	int r;

	if (entry->link)
		return symlink(entry->link, entry->path) < 0 ? -errno : 0;
	r = make_parents(AT_FDCWD, entry->path);
	if (r < 0)
		return r;
	return move_mount(tree, "", AT_FDCWD, entry->path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/*
 * The kernel lets a user namespace mount a proc where another one can be seen in full. The template's is of the pid namespace of this
 * process, which ends: there is no process in it. mount_namespaces(7). `face_ns` -1: there is no face.
 */
static int build(const struct policy_profile *profile, const struct template *template, const char *runtime_dir, uint32_t face, int face_ns,
                 struct yett_error *error)
{
	size_t system = template->entries_count - 2; /* the last two are /etc and /dev */
	_cleanup_free_ int *trees = calloc(system + 1, sizeof *trees);
	_cleanup_free_ dev_t *numbers = calloc(profile->devices.count + 1, sizeof *numbers);
	bool is_rootless = face == UINT32_MAX;
	_cleanup_fd_ int proc = kernel_mount_new("proc", NULL, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	struct etc_trees etc = {0};
	int nodes[ARRAY_SIZE(devices)], r;

	if (!trees || !numbers)
		return -ENOMEM;
	if (proc < 0) {
		(void)error_set(error, YETT_E_INIT_FAILED, 0, "set-up step %s failed: %s", plan_step_name(PLAN_PROC), strerror(-proc));
		return error_cause(error, plan_step_name(PLAN_PROC), -proc);
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < system; i++) {
		trees[i] = template->entries[i].link ? -1 : clone_system(template->entries[i].path, face_ns);
		if (!template->entries[i].link && trees[i] < 0)
			return error_set(error, YETT_E_UNSUPPORTED, 0, "%s of profile %s cannot be shared: %s", template->entries[i].path,
			                 profile->name, strerror(-trees[i]));
	}
	r = read_devices(&profile->devices, numbers, error);
	if (r == 0 && is_rootless)
		r = clone_nodes(nodes);
	if (r == 0)
		/* Where there is one for each connection it is to be quick. What mounts there are in a directory no overlay shows. */
		r = enter_new_root(profile, runtime_dir, face, is_rootless && !profile->overlay_ro ? &etc : NULL);
	(void)umask(0);
	for (size_t i = 0; r == 0 && i < system; i++)
		r = attach(&template->entries[i], trees[i]);
	if (r == 0)
		r = seal_directory("/etc", MOUNT_ATTR_NODEV);
	if (r == 0)
		r = attach_etc(&etc);
	if (r == 0)
		r = make_dev(&profile->devices, numbers, face);
	if (r == 0 && is_rootless)
		r = attach_nodes(nodes);
	if (r == 0 && move_mount(proc, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	/* Below a sandbox's own root lies this one: it is shared, so nobody must ever write to it. */
	if (r == 0 && mount_setattr(AT_FDCWD, "/", 0, &(struct mount_attr){.attr_set = MOUNT_ATTR_RDONLY}, sizeof(struct mount_attr)) < 0)
		r = -errno;
	return r;
}

static void add_text(struct init_profile *profile, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(profile->data + profile->data_used, text, size);
	profile->data_used += (uint32_t)size;
}

/* What init is told of the profile: helper/plan/order.h. A sealed memfd or -errno. */
static int write_profile(const struct policy_profile *policy, const struct template *template)
{
	size_t init_size = policy->init_filter_count * sizeof *policy->init_filter;
	size_t command_size = policy->command_filter_count * sizeof *policy->command_filter, size = init_size + command_size;
	_cleanup_free_ struct init_profile *profile = NULL;

	for (size_t i = 0; i < template->entries_count; i++)
		size += strlen(template->entries[i].path) + strlen(template->entries[i].link ?: "") + 2;
	profile = calloc(1, sizeof *profile + size);
	if (!profile)
		return -ENOMEM;
	profile->init_filter_count = (uint32_t)policy->init_filter_count;
	profile->command_filter_count = (uint32_t)policy->command_filter_count;
	profile->entries_count = (uint32_t) template->entries_count;
	memcpy(profile->data, policy->init_filter, init_size);
	memcpy(profile->data + init_size, policy->command_filter, command_size);
	profile->data_used = (uint32_t)(init_size + command_size);
	for (size_t i = 0; i < template->entries_count; i++) {
		add_text(profile, template->entries[i].path);
		add_text(profile, template->entries[i].link ?: "");
	}
	return fd_new_sealed("yett-profile", profile, sizeof *profile + profile->data_used);
}

/* What the child has to say. */
struct template_result {
	int r;
	struct yett_error error;
};

/* The child; `go` is its end of the pipe. Nobody is left of whom it could be when its parent has gone. */
static void __attribute__((noreturn))
maker(const struct policy_profile *profile, const struct template *template, const char *runtime_dir, uint32_t face, int face_ns, int go)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)close(template->go); /* the reader's end: without one, writing fails */
	template->result->r = build(profile, template, runtime_dir, face, face_ns, &template->result->error);
	if (write(go, "", 1) == 1)
		(void)pause(); /* until the parent holds the namespace */
	_exit(0);
}

static void end_maker(struct template *template)
{
	if (template->maker > 0) {
		(void)kill(template->maker, SIGKILL);
		(void)waitpid(template->maker, NULL, 0);
	}
	template->maker = 0;
	template->go = fd_close(template->go);
	if (template->result)
		(void)munmap(template->result, sizeof *template->result);
	template->result = NULL;
}

static int fail(const struct policy_profile *profile, int r, struct yett_error *error)
{
	return error_set(error, YETT_E_INIT_FAILED, 0, "the template of profile %s cannot be built: %s", profile->name, strerror(-r));
}

int template_start(const struct policy_profile *profile, const char *runtime_dir, uint32_t face, struct template *ret_template,
                   struct yett_error *error)
{
	_cleanup_(template_close) struct template template = TEMPLATE_NONE;
	_cleanup_fd_ int face_ns = face == UINT32_MAX ? -1 : idmap_open_single(0, face, 0, face);
	int go[2], r = list_entries(profile, &template, error);

	if (r != 0)
		return r < 0 ? fail(profile, r, error) : r;
	template.result = mmap(NULL, sizeof *template.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (template.result == MAP_FAILED)
		template.result = NULL;
	if (!template.result || (face_ns < 0 && face != UINT32_MAX) || pipe2(go, O_CLOEXEC) < 0)
		return fail(profile, face_ns < 0 && face != UINT32_MAX ? face_ns : -errno, error);
	template.result->r = -ECHILD;
	template.selinux = face == UINT32_MAX ? SELINUX_ABSENT : selinux_look(profile->selinux_type);
	template.go = go[0];
	template.maker = kernel_clone(CLONE_NEWPID, SIGCHLD, -1, NULL);
	if (template.maker == 0)
		maker(profile, &template, runtime_dir, face, face_ns, go[1]);
	(void)close(go[1]);
	if (template.maker < 0)
		return fail(profile, template.maker, error);
	*ret_template = template;
	template = TEMPLATE_NONE;
	return 0;
}

int template_finish(const struct policy_profile *profile, struct template *template, struct yett_error *error)
{
	char path[64], byte;
	int r = read(template->go, &byte, 1) == 1 ? template->result->r : -ECHILD;

	(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", template->maker);
	if (r == 0 && (template->mount_ns = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r >= 0 && template->mount_ns >= 0)
		r = template->profile = write_profile(profile, template);
	if (r > 0 && template->mount_ns < 0 && error)
		*error = template->result->error;
	end_maker(template);
	if (template->profile >= 0)
		return 0;
	template_close(template);
	return r < 0 ? fail(profile, r, error) : r;
}

void template_close(struct template *template)
{
	end_maker(template);
	template->mount_ns = fd_close(template->mount_ns);
	template->profile = fd_close(template->profile);
	for (size_t i = 0; i < template->entries_count; i++) {
		free(template->entries[i].path);
		free(template->entries[i].link);
	}
	free(template->entries);
	*template = TEMPLATE_NONE;
}
