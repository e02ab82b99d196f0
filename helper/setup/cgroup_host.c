/* SPDX-License-Identifier: Apache-2.0 */
/* The hierarchies of the host, of cgroup v1 and v2: see cgroup.h. */
#include "helper/setup/cgroup.h"
#include "base/kernel.h"

static const struct {
	unsigned bit;
	const char *names[2]; /* in v1, in v2 */
} controllers[] = {
	{CGROUP_MEMORY, {"memory", "memory"}},
	{CGROUP_CPU, {"cpu", "cpu"}},
	{CGROUP_PIDS, {"pids", "pids"}},
	{CGROUP_IO, {"blkio", "io"}},
};

/* Returns the controllers in a list such as "cpu,cpuacct" or "cpu io memory". */
static unsigned controllers_of(const char *list, int version)
{
	unsigned bits = 0;

	for (const char *at = list; *at; at += strspn(at, ", \n")) {
		size_t length = strcspn(at, ", \n");

		for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
			if (strncmp(at, controllers[i].names[version - 1], length) == 0 &&
			    !controllers[i].names[version - 1][length])
				bits |= controllers[i].bit;
		at += length;
	}
	return bits;
}

void cgroup_set_children(const struct cgroup_tree *tree, int directory, char sign)
{
	char text[16];

	for (size_t i = 0; tree->version == 2 && i < ARRAY_SIZE(controllers); i++) {
		FORMAT(text, "%c%s", sign, controllers[i].names[1]);
		if (tree->controllers & controllers[i].bit)
			(void)kernel_write_file(directory, "cgroup.subtree_control", text);
	}
}

int cgroup_make(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = fd_open_directory(parent, name);
	return fd < 0 ? -errno : fd;
}

/*
 * Makes each missing component of `path` below tree->parent, and sets tree->parent to the last one.
 */
static int make_path(struct cgroup_tree *tree, const char *path)
{
	char component[NAME_MAX + 1];

	cgroup_set_children(tree, tree->parent, '+');
	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");
		int next;

		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		FORMAT(component, "%.*s", (int)length, path);
		next = cgroup_make(tree->parent, component);
		if (next < 0)
			return next;
		fd_close(tree->parent);
		tree->parent = next;
		cgroup_set_children(tree, next, '+');
		path += length;
	}
	return 0;
}

/* Returns whether `wanted` is one of the options, such as "rw,cpu,cpuacct"; true for NULL. */
static bool cgroup_host_has_option(char *options, const char *wanted)
{
	for (char *option; wanted && (option = strsep(&options, ","));)
		if (strcmp(option, wanted) == 0)
			return true;
	return !wanted;
}

int cgroup_find_mount(const char *type, const char *controller)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096], root[3], path[sizeof line], is_type[16], options[sizeof line];
	int fd = -ENOENT;

	if (!file)
		return -errno;
	/*
	 * proc_pid_mountinfo(5): id parent major:minor root mountpoint options … - type source
	 * super-options
	 */
	while (fd == -ENOENT && fgets(line, sizeof line, file)) {
		const char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %2s %4095s", root, path) != 2 ||
		    strcmp(root, "/") != 0 ||
		    sscanf(tail, " - %15s %*s %4095s", is_type, options) != 2 ||
		    strcmp(is_type, type) != 0 || !cgroup_host_has_option(options, controller))
			continue;
		fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	(void)fclose(file);
	return fd;
}

/*
 * Opens the v1 hierarchy with the controllers of `list`, as /proc/self/cgroup names them:
 * "cpu,cpuacct".
 */
static int open_hierarchy(char *list)
{
	const char *options[2 * 16 + 1] = {0};
	size_t n = 0;
	int fd;

	for (char *name; (name = strsep(&list, ",")) && n < 2 * 16; n += 2)
		options[n] = name;
	fd = cgroup_find_mount("cgroup", options[0]);
	return fd == -ENOENT ? kernel_mount_new("cgroup", options, "", 0) : fd;
}

/* Appends a hierarchy that has one of our controllers. */
static int take_hierarchy(struct cgroup_host *host, char *list, _unused_ const char *group)
{
	unsigned bits = controllers_of(list, 1);
	int fd;

	if (bits == 0 || host->count == CGROUP_TREES_MAX)
		return 0;
	fd = open_hierarchy(list);
	if (fd < 0)
		return fd;
	host->trees[host->count++] =
		(struct cgroup_tree){.version = 1, .parent = fd, .controllers = bits};
	return 0;
}

/*
 * Moves to the root of a hierarchy that has none of our controllers. A named hierarchy without any
 * controller is left alone: no process can be stopped there, and the service manager tracks its
 * services in it.
 */
static int leave_hierarchy(_unused_ struct cgroup_host *host, char *list, const char *group)
{
	_cleanup_fd_ int root = -1;

	if (controllers_of(list, 1) || strncmp(list, "name=", 5) == 0 || strcmp(group, "/\n") == 0)
		return 0;
	root = open_hierarchy(list);
	return root < 0 ? root : kernel_write_file(root, "cgroup.procs", "0");
}

/*
 * Calls `visit` for each v1 hierarchy, with its controllers and the group of this process in it.
 * proc_pid_cgroup(5)
 */
static int each_hierarchy(int (*visit)(struct cgroup_host *host, char *list, const char *group),
                          struct cgroup_host *host)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096 + 256];
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && fgets(line, sizeof line, file)) {
		char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;

		if (!end || end == list + 1)
			continue; /* the v2 line names no controllers */
		*end = '\0';
		r = visit(host, list + 1, end + 1);
	}
	(void)fclose(file);
	return r;
}

static int open_v2(int delegated)
{
	int fd = delegated >= 0 ? fcntl(delegated, F_DUPFD_CLOEXEC, 3)
	                        : cgroup_find_mount("cgroup2", NULL);

	return fd == -ENOENT ? kernel_mount_new("cgroup2", NULL, "", 0) : fd;
}

int cgroup_host_open(int delegated, const char *parent, struct cgroup_host *ret_host,
                     struct yett_error *error)
{
	_cleanup_(cgroup_host_close) struct cgroup_host host = {.count = 1};
	char text[512] = "";
	int r = 0, root = open_v2(delegated);

	host.trees[0] = (struct cgroup_tree){.version = 2, .parent = root, .controllers = ~0U};
	if (root < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0,
		                 "this host has no cgroup v2 tree: %s", strerror(-root));
	if (delegated < 0)
		r = each_hierarchy(take_hierarchy, &host);
	for (size_t i = 0; r == 0 && i < host.count; i++) {
		struct cgroup_tree *tree = &host.trees[i];

		r = make_path(tree, parent);
		if (r < 0)
			(void)error_set(error, YETT_E_UNSUPPORTED, 0,
			                "cgroup %s (v%d) cannot be made: %s", parent, tree->version,
			                strerror(-r));
		/*
		 * The controllers that v2 has and passed down to PARENT; those bound to v1 are not
		 * among them.
		 */
		if (tree->version == 2)
			tree->controllers = kernel_read_file(tree->parent, "cgroup.controllers",
			                                     text, sizeof text) < 0
			                            ? 0
			                            : controllers_of(text, 2);
		host.controllers |= tree->controllers;
		host.has_v1 = host.has_v1 || tree->version == 1;
	}
	if (r == 0) {
		*ret_host = host;
		host.count = 0;
	}
	return r;
}

int cgroup_host_make_helpers(const struct cgroup_host *host)
{
	int fd = host->count ? cgroup_make(host->trees[0].parent, "helpers") : -ENOENT;

	/*
	 * Requests must be served however much the sandboxes compute. The file is absent where v1
	 * has the controller.
	 */
	if (fd >= 0)
		(void)kernel_write_file(fd, "cpu.weight", "1000");
	return fd;
}

int cgroup_host_enter_helpers(const struct cgroup_host *host)
{
	int r = each_hierarchy(leave_hierarchy, NULL);

	for (size_t i = 0; r == 0 && i < host->count; i++) {
		_cleanup_fd_ int fd = cgroup_make(host->trees[i].parent, "helpers");

		r = fd < 0 ? fd : kernel_write_file(fd, "cgroup.procs", "0");
	}
	return r;
}

void cgroup_host_close(struct cgroup_host *host)
{
	for (size_t i = 0; i < host->count; i++)
		host->trees[i].parent = fd_close(host->trees[i].parent);
	host->count = 0;
}
