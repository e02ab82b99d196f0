/* What cgroup v1 and v2 do differently, for cgroup.c alone. */
#pragma once

#include "helper/setup/cgroup.h"

enum cgroup_limit { CGROUP_LIMIT_MEMORY, CGROUP_LIMIT_CPU, CGROUP_LIMIT_WEIGHT, CGROUP_LIMIT_PIDS, CGROUP_LIMITS };
enum cgroup_counter { CGROUP_MEMORY_EVENTS, CGROUP_MEMORY_PEAK, CGROUP_PIDS_EVENTS, CGROUP_CPU_STAT, CGROUP_COUNTERS };

static inline unsigned cgroup_limit_controller(int limit)
{
	static const unsigned controllers[CGROUP_LIMITS] = {CGROUP_MEMORY, CGROUP_CPU, CGROUP_CPU, CGROUP_PIDS};

	return controllers[limit];
}

static inline unsigned cgroup_counter_controller(int counter)
{
	static const unsigned controllers[CGROUP_COUNTERS] = {CGROUP_MEMORY, CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU};

	return controllers[counter];
}

static inline const char *cgroup_limit_name(int limit)
{
	static const char *const names[CGROUP_LIMITS] = {"memory", "cpu", "cpu weight", "process"};

	return names[limit];
}

struct cgroup_ops {
	/* Makes the controllers available below `directory`, or not; what is not possible shows when a limit is set. */
	void (*enable_children)(int directory, unsigned controllers);
	void (*disable_children)(int directory, unsigned controllers);
	/* Bounds what a group's delegate can make below it. */
	void (*bound_children)(int directory);
	/* Writes one limit, in the units of struct plan_limits; 0 lifts it (a group is used again). 0 or -errno. */
	int (*set_limit)(int directory, enum cgroup_limit limit, uint64_t value);
	/* Starts the measurement of the memory peak anew where that can be done. */
	void (*forget_peak)(int directory);
	const char *counter_files[CGROUP_COUNTERS];
};

extern const struct cgroup_ops cgroup1_ops, cgroup2_ops;

/*
 * Opens where the host has mounted the tree of `type`, for v1 the one with `controller` among its options (NULL: any).
 * A descriptor, -ENOENT when it is not mounted as a whole, or -errno.
 */
_must_check_ int cgroup_find_mount(const char *type, const char *controller);

/* Append what the host has to host->trees; the `parent` of each is the root of its hierarchy. 0 or -errno. */
_must_check_ int cgroup1_discover(struct cgroup_host *host);
_must_check_ int cgroup2_discover(struct cgroup_host *host);

/* Sets the tree's controllers to those that its parent group has. */
void cgroup2_read_controllers(struct cgroup_tree *tree);

/* Moves the calling process to the root of every v1 hierarchy that cgroup1_discover() passes over. 0 or -errno. */
_must_check_ int cgroup1_leave_others(void);
