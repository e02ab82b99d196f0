/*
 * Control groups: a user's ceiling and, below it, one sandbox, in every hierarchy that can enforce
 * a limit.
 *
 * With full privilege, in the supervisor (and in the sweep). The v2 tree always tracks and kills; a
 * limit is enforced by v2 where its controller is there and by v1 where it still sits there. A tree
 * that the host has mounted is used as it is (mounting v2 once more would reset its options for the
 * whole host); one that it has not is mounted by us, in no namespace. cgroups(7), the kernel's
 * cgroup-v2 and cgroup-v1 documents. Layout: PARENT/user-UID/NAME, and in v2 below NAME: "init",
 * and "c…" for commands. PARENT/helpers is for the service's own processes.
 */
#pragma once

#include "base/error.h"
#include "helper/plan/plan.h"
#include "protocol/message_told.h"

/* One hierarchy. */
struct cgroup_tree {
	int version;          /* 1 or 2 */
	int parent;           /* O_PATH-like descriptor of PARENT in it */
	unsigned controllers; /* enum cgroup_controller bits that it has */
};

enum cgroup_controller { CGROUP_MEMORY = 1, CGROUP_CPU = 2, CGROUP_PIDS = 4, CGROUP_IO = 8 };

#define CGROUP_TREES_MAX 5

struct cgroup_host {
	struct cgroup_tree trees[CGROUP_TREES_MAX]; /* the first is v2 */
	size_t count; /* 0 for an ordinary user to whom nothing was delegated: then nothing here
	                 does anything */
	unsigned controllers; /* of all trees together */
	bool has_v1; /* then entering a group waits for a grace period, and only a fork gets there
	                at no cost */
};

/* Files in which the kernel counts, whatever they are called in the tree that has their controller.
 * First those of init, as enum init_fd.
 */
enum cgroup_file {
	CGROUP_MEMORY_EVENTS,
	CGROUP_MEMORY_PEAK,
	CGROUP_PIDS_EVENTS,
	CGROUP_CPU_STAT,
	CGROUP_FILES_OF_INIT,
	CGROUP_TIME = CGROUP_FILES_OF_INIT,
	CGROUP_MEMORY_NOW,
	CGROUP_FORKS,
	CGROUP_IO_BYTES,
	CGROUP_IO_TIMES,
	CGROUP_FILES,
};

/* One sandbox's groups. */
struct cgroup {
	const struct cgroup_host *host;
	char user[16], path[40]; /* below PARENT: of the user's, and of the sandbox's */
	int group;               /* the sandbox's in the v2 tree; -1: there is none */
	int files[CGROUP_FILES]; /* that were read once, and are read again; -1. Nobody else has
	                            them: a read can be held up by who has */
	struct plan_limits
		limits; /* what was written to the sandbox's own, which nobody else writes to */
	bool is_limited;
};

#define CGROUP_NONE ((struct cgroup){.group = -1, .files = {[0 ... CGROUP_FILES - 1] = -1}})

/*
 * Opens the hierarchies and makes PARENT (an absolute path below their roots) in each. For an
 * ordinary user `delegated` is a group (borrowed) below which it is made, in the v2 tree alone;
 * else -1. 0, -errno or UNSUPPORTED.
 */
_must_check_ int cgroup_host_open(int delegated, const char *parent, struct cgroup_host *ret_host,
                                  struct yett_error *error);

/*
 * Opens where the host has mounted the tree of `type`, for v1 the one with `controller` among its
 * options (NULL: any). A descriptor, -ENOENT when it is not mounted as a whole, or -errno.
 */
_must_check_ int cgroup_find_mount(const char *type, const char *controller);

/* Makes PARENT/helpers in the v2 tree, for processes of a service that are to outlive it. A
 * descriptor or -errno. */
_must_check_ int cgroup_host_make_helpers(const struct cgroup_host *host);

/*
 * Moves the calling process to PARENT/helpers of every tree, and to the root of every v1 hierarchy
 * that has none of our controllers (freezer, cpuset and others): out of all groups whose owner
 * could stop it. 0 or -errno.
 */
_must_check_ int cgroup_host_enter_helpers(const struct cgroup_host *host);

void cgroup_host_close(struct cgroup_host *host);

/* Makes a group, or takes the one that is there, and opens it. A descriptor or -errno. */
_must_check_ int cgroup_make(int parent, const char *name);

/*
 * Gives ('+') the tree's controllers to what is below `directory`, or takes them away ('-'). What
 * is not possible shows when a limit is set. A v1 child has its hierarchy's from the start, and for
 * good.
 */
void cgroup_set_children(const struct cgroup_tree *tree, int directory, char sign);

/* Makes the user's and the sandbox's group in every tree. -EEXIST when the name is taken. */
_must_check_ int cgroup_create(const struct cgroup_host *host, uid_t uid, const char *name,
                               struct cgroup *ret_cgroup);

/* Moves the calling process into the sandbox's group of every tree. On v1 this may wait for a grace
 * period. */
_must_check_ int cgroup_enter(const struct cgroup *cgroup);

/*
 * Writes the limits (or that there is none) of the sandbox, and of all the user's sandboxes
 * together. 0, -errno, UNSUPPORTED where a limit is asked that no controller of this host enforces,
 * RESOURCE_LIMIT where the user already uses more memory than that, with what it would take in MiB
 * as the number of error_key().
 */
_must_check_ int cgroup_limit(struct cgroup *cgroup, const struct plan_limits *limits,
                              const struct plan_limits *user_limits, struct yett_error *error);

/* Makes the v2 leaf "init", which init is born in. */
_must_check_ int cgroup_make_leaf(const struct cgroup *cgroup);

/* Gives host id `owner` what it needs to make leaves for commands, and nothing else. */
_must_check_ int cgroup_delegate(const struct cgroup *cgroup, uid_t owner);

/* Enables the v2 controllers for the leaves: possible once no process is in the sandbox's own
 * group. */
void cgroup_enable_leaves(const struct cgroup *cgroup);

/* Calls `look` with the name of each group inside the sandbox's, or in another `group` of the v2
 * tree. */
void cgroup_each(int group, void (*look)(int group, const char *name, void *userdata),
                 void *userdata);

/*
 * Kills and removes what is in the sandbox's group but the group itself and the processes directly
 * in it, for the next sandbox of the same user; forgets the peak that memory had, where that can be
 * done. -EBUSY when something outlived 5 s.
 */
_must_check_ int cgroup_empty(const struct cgroup *cgroup);

/* Has all processes below the sandbox's group stand still, or go on. 0, -errno, -ETIMEDOUT when
 * they do not within 1 s, -EOPNOTSUPP. */
_must_check_ int cgroup_freeze(const struct cgroup *cgroup, bool freeze);

struct cgroup_usage {
	uint32_t known; /* bit n: counts[n] is what the kernel says, and not 0 because nothing
	                   counts it here */
	uint64_t counts[USAGE_COUNTS_MAX];
};

/* What only grows, sandbox after sandbox: all but how much there is now, and the peak. */
#define CGROUP_SUMS                                                                         \
	(1U << USAGE_CPU | 1U << USAGE_USER | 1U << USAGE_SYSTEM | 1U << USAGE_READ_BYTES | \
	 1U << USAGE_WRITTEN_BYTES | 1U << USAGE_READS | 1U << USAGE_WRITES |               \
	 1U << USAGE_OOM_KILLS | 1U << USAGE_FORKS_REFUSED)

/* Opens one for reading; -1 where there is none. */
int cgroup_open_file(const struct cgroup *cgroup, enum cgroup_file file);

/* What the sandbox's group has counted, with the sandboxes that were in it before: those of
 * `wanted` (bits as in `known`) but the next three. */
void cgroup_read_usage(struct cgroup *cgroup, uint32_t wanted, struct cgroup_usage *ret_usage);

/* Adds the processes, threads and files of now. */
void cgroup_count_processes(const struct cgroup *cgroup, struct cgroup_usage *usage);

/* Leaves what is due to a sandbox that began when its group had counted `before`. */
void cgroup_usage_since(const struct cgroup_usage *before, struct cgroup_usage *usage);

/* Opens the groups of a sandbox of somebody else's making. */
void cgroup_find(const struct cgroup_host *host, uid_t uid, const char *name,
                 struct cgroup *ret_cgroup);

/*
 * Kills whatever is left, waits until it is gone (at most 5 s) and removes the sandbox's groups,
 * and the user's if they are empty then. -EBUSY when something outlived that.
 */
int cgroup_destroy(struct cgroup *cgroup);

void cgroup_close(struct cgroup *cgroup);
