/* cgroup v2: one tree, controllers enabled top down. Kernel document cgroup-v2. */
#include "helper/setup/cgroup_ops.h"
#include "helper/setup/kernel.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	unsigned bit;
	const char *name, *enable;
} controllers[] = {
	{CGROUP_MEMORY, "memory", "+memory"},
	{CGROUP_CPU, "cpu", "+cpu"},
	{CGROUP_PIDS, "pids", "+pids"},
};

int cgroup2_discover(struct cgroup_host *host)
{
	int root = kernel_mount_new("cgroup2", NULL, 0);
	char text[512];
	struct cgroup_tree *tree = &host->trees[host->count];

	if (root < 0)
		return root;
	*tree = (struct cgroup_tree){.version = 2, .parent = root};
	host->count++;
	if (kernel_read_file(root, "cgroup.controllers", text, sizeof text) < 0)
		return 0;
	for (char *rest = text, *name; (name = strsep(&rest, " \n"));)
		for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
			if (strcmp(name, controllers[i].name) == 0)
				tree->controllers |= controllers[i].bit;
	return 0;
}

static void enable_children(int directory, unsigned wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int r = 0;

		if (wanted & controllers[i].bit)
			r = kernel_write_file(directory, "cgroup.subtree_control", controllers[i].enable);
		(void)r; /* a limit that cannot be set for want of it says so */
	}
}

static int set_limit(int directory, enum cgroup_limit limit, uint64_t value)
{
	char text[64];
	int r;

	switch (limit) {
	case CGROUP_LIMIT_MEMORY:
		/* Without this, what does not fit would go to the host's swap. Absent where swap accounting is off. */
		r = kernel_write_file(directory, "memory.swap.max", "0");
		if (r < 0 && r != -ENOENT)
			return r;
		(void)snprintf(text, sizeof text, "%" PRIu64, value);
		return kernel_write_file(directory, "memory.max", text);
	case CGROUP_LIMIT_CPU:
		(void)snprintf(text, sizeof text, "%" PRIu64 " 100000", value * 100);
		return kernel_write_file(directory, "cpu.max", text);
	case CGROUP_LIMIT_WEIGHT:
		(void)snprintf(text, sizeof text, "%" PRIu64, value);
		return kernel_write_file(directory, "cpu.weight", text);
	case CGROUP_LIMIT_PIDS:
		(void)snprintf(text, sizeof text, "%" PRIu64, value);
		return kernel_write_file(directory, "pids.max", text);
	case CGROUP_LIMITS:
		break;
	}
	return -EINVAL;
}

const struct cgroup_ops cgroup2_ops = {
	.enable_children = enable_children,
	.set_limit = set_limit,
	.counter_files = {"memory.events", "memory.peak", "pids.events", "cpu.stat"},
};
