/* cgroup v2: one tree, controllers enabled top down. Kernel document cgroup-v2. */
#include "helper/setup/cgroup_ops.h"
#include "base/kernel.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	unsigned bit;
	const char *name, *enable, *disable;
} controllers[] = {
	{CGROUP_MEMORY, "memory", "+memory", "-memory"},
	{CGROUP_CPU, "cpu", "+cpu", "-cpu"},
	{CGROUP_PIDS, "pids", "+pids", "-pids"},
	{CGROUP_IO, "io", "+io", "-io"},
};

void cgroup2_read_controllers(struct cgroup_tree *tree)
{
	char text[512];

	tree->controllers = 0;
	if (kernel_read_file(tree->parent, "cgroup.controllers", text, sizeof text) < 0)
		return;
	for (char *rest = text, *name; (name = strsep(&rest, " \n"));)
		for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
			if (strcmp(name, controllers[i].name) == 0)
				tree->controllers |= controllers[i].bit;
}

int cgroup2_discover(struct cgroup_host *host)
{
	int root = cgroup_find_mount("cgroup2", NULL);
	struct cgroup_tree *tree = &host->trees[host->count];

	if (root == -ENOENT)
		root = kernel_mount_new("cgroup2", NULL, "", 0);
	if (root < 0)
		return root;
	*tree = (struct cgroup_tree){.version = 2, .parent = root};
	host->count++;
	cgroup2_read_controllers(tree);
	return 0;
}

/* init's own leaf and one for each command (helper/init/commands.h), and none below them. */
#define LEAVES_MAX   "1088"
#define LEAVES_DEPTH "1"

static void enable_children(int directory, unsigned wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		if (wanted & controllers[i].bit)
			(void)kernel_write_file(directory, "cgroup.subtree_control", controllers[i].enable);
}

static void disable_children(int directory, unsigned wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		if (wanted & controllers[i].bit)
			(void)kernel_write_file(directory, "cgroup.subtree_control", controllers[i].disable);
}

/* A captured init must not fill the kernel with groups, nor nest them where nobody would look to remove them. */
static void bound_children(int directory)
{
	(void)kernel_write_file(directory, "cgroup.max.depth", LEAVES_DEPTH);
	(void)kernel_write_file(directory, "cgroup.max.descendants", LEAVES_MAX);
}

static int set_limit(int directory, enum cgroup_limit limit, uint64_t value)
{
	char text[64] = "max";
	int r;

	if (value)
		(void)snprintf(text, sizeof text, "%" PRIu64, value);
	switch (limit) {
	case CGROUP_LIMIT_MEMORY:
		/* Without this, what does not fit would go to the host's swap. Absent where swap accounting is off. */
		r = kernel_write_file(directory, "memory.swap.max", value ? "0" : "max");
		return r < 0 && r != -ENOENT ? r : kernel_write_file(directory, "memory.max", text);
	case CGROUP_LIMIT_CPU:
		if (value)
			(void)snprintf(text, sizeof text, "%" PRIu64 " 100000", value * 100);
		return kernel_write_file(directory, "cpu.max", text);
	case CGROUP_LIMIT_WEIGHT:
		return kernel_write_file(directory, "cpu.weight", value ? text : "100");
	case CGROUP_LIMIT_PIDS:
		return kernel_write_file(directory, "pids.max", text);
	case CGROUP_LIMITS:
		break;
	}
	return -EINVAL;
}

/* Written to through another descriptor than a reader's, memory.peak stays what it is (Linux 6.12); the group's lifetime is what counts. */
static void forget_peak(int directory)
{
	(void)directory;
}

const struct cgroup_ops cgroup2_ops = {
	.forget_peak = forget_peak,
	.enable_children = enable_children,
	.disable_children = disable_children,
	.bound_children = bound_children,
	.set_limit = set_limit,
	.counter_files = {"memory.events", "memory.peak", "pids.events", "cpu.stat"},
};
