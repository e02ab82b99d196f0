/* cgroup v1: a tree for each controller, or for a few mounted together. Kernel document cgroup-v1. */
#include "helper/setup/cgroup_ops.h"
#include "base/kernel.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	unsigned bit;
	const char *name;
} controllers[] = {
	{CGROUP_MEMORY, "memory"},
	{CGROUP_CPU, "cpu"},
	{CGROUP_PIDS, "pids"},
	{CGROUP_IO, "blkio"},
};

/* Opens the hierarchy that has the controllers of `list`, "cpu,cpuacct" as /proc/self/cgroup names them. */
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

static unsigned controllers_of(const char *list)
{
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		size_t length = strlen(controllers[i].name);

		for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
			if (strncmp(at, controllers[i].name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
				bits |= controllers[i].bit;
	}
	return bits;
}

/* Calls `visit` for each v1 hierarchy with controllers: their list, and our group there. proc_pid_cgroup(5) */
static int for_each_hierarchy(int (*visit)(struct cgroup_host *host, char *list, const char *group), struct cgroup_host *host)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096 + 256];
	int r = 0;

	if (!file)
		return -errno;
	while (r == 0 && fgets(line, sizeof line, file)) {
		char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;

		if (!end || end == list + 1)
			continue; /* the v2 line has no controllers */
		*end = '\0';
		r = visit(host, list + 1, end + 1);
	}
	(void)fclose(file);
	return r;
}

static int discover(struct cgroup_host *host, char *list, const char *group)
{
	unsigned bits = controllers_of(list);
	int fd;

	(void)group;
	if (bits == 0 || host->count == CGROUP_TREES_MAX)
		return 0;
	fd = open_hierarchy(list);
	if (fd < 0)
		return fd;
	host->trees[host->count++] = (struct cgroup_tree){.version = 1, .parent = fd, .controllers = bits};
	return 0;
}

int cgroup1_discover(struct cgroup_host *host)
{
	return for_each_hierarchy(discover, host);
}

/* A hierarchy with a name but no controller stops nothing, and the service manager keeps its books there. */
static int leave(struct cgroup_host *host, char *list, const char *group)
{
	_cleanup_fd_ int root = -1;

	(void)host;
	if (controllers_of(list) || strncmp(list, "name=", 5) == 0 || strcmp(group, "/\n") == 0)
		return 0;
	root = open_hierarchy(list);
	return root < 0 ? root : kernel_write_file(root, "cgroup.procs", "0");
}

int cgroup1_leave_others(void)
{
	return for_each_hierarchy(leave, NULL);
}

static void enable_children(int directory, unsigned wanted)
{
	(void)directory, (void)wanted; /* a v1 child has its hierarchy's controllers from the start, and for good */
}

static void bound_children(int directory)
{
	(void)directory; /* nothing is delegated on v1 */
}

/* The memory limit may never be above that of memory and swap together, so their order depends on the direction. */
static int set_memory(int directory, uint64_t value)
{
	char text[32] = "-1";
	int r;

	if (value)
		(void)snprintf(text, sizeof text, "%" PRIu64, value);
	r = kernel_write_file(directory, "memory.limit_in_bytes", text);
	if (r == -EINVAL) {
		r = kernel_write_file(directory, "memory.memsw.limit_in_bytes", text);
		return r < 0 ? r : kernel_write_file(directory, "memory.limit_in_bytes", text);
	}
	if (r < 0)
		return r;
	r = kernel_write_file(directory, "memory.memsw.limit_in_bytes", text);
	return r == -ENOENT ? 0 : r; /* absent where swap accounting is off */
}

static int set_limit(int directory, enum cgroup_limit limit, uint64_t value)
{
	char text[32] = "-1";
	uint64_t shares = value ? value * 1024 / 100 : 1024;

	switch (limit) {
	case CGROUP_LIMIT_MEMORY:
		return set_memory(directory, value);
	case CGROUP_LIMIT_CPU:
		if (value)
			(void)snprintf(text, sizeof text, "%" PRIu64, value * 100); /* of a period of 100 ms, the default */
		return kernel_write_file(directory, "cpu.cfs_quota_us", text);
	case CGROUP_LIMIT_WEIGHT:
		(void)snprintf(text, sizeof text, "%" PRIu64, shares < 2 ? 2 : shares);
		return kernel_write_file(directory, "cpu.shares", text);
	case CGROUP_LIMIT_PIDS:
		/* One more: the builder, which stays in the group for the next sandbox. */
		(void)snprintf(text, sizeof text, "%" PRIu64, value + 1);
		return kernel_write_file(directory, "pids.max", value ? text : "max");
	case CGROUP_LIMITS:
		break;
	}
	return -EINVAL;
}

static void forget_peak(int directory)
{
	(void)kernel_write_file(directory, "memory.max_usage_in_bytes", "0");
}

const struct cgroup_ops cgroup1_ops = {
	.forget_peak = forget_peak,
	.disable_children = enable_children,
	.enable_children = enable_children,
	.bound_children = bound_children,
	.set_limit = set_limit,
	.counter_files = {"memory.oom_control", "memory.max_usage_in_bytes", "pids.events", "cpu.stat"},
};
