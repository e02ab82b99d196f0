/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: a user's group and, below it, one group for each sandbox, in every hierarchy that
 * can enforce a limit. Runs with full privilege in the supervisor and in the sweep.
 *
 * The v2 tree always tracks and kills processes. v2 enforces a limit where it has the controller,
 * v1 where the controller is still bound there. Never mount a tree anew that the host has mounted:
 * a second mount of v2 resets its options for the whole host. An unmounted tree is mounted in no
 * namespace. Layout: PARENT/user-UID/NAME; in v2 below NAME "init", and "c…" for commands.
 * PARENT/helpers is for the service's processes. cgroups(7), kernel: cgroup-v2, cgroup-v1.
 */
#pragma once

#include "helper/plan/plan.h"
#include "protocol/message_state.h"

/* One hierarchy. */
struct cgroup_tree {
	int version;          /* 1 or 2 */
	int parent;           /* directory descriptor of PARENT in this hierarchy */
	unsigned controllers; /* enum cgroup_controller bits of this hierarchy */
};

enum cgroup_controller { CGROUP_MEMORY = 1, CGROUP_CPU = 2, CGROUP_PIDS = 4, CGROUP_IO = 8 };

#define CGROUP_TREES_MAX 5

struct cgroup_host {
	struct cgroup_tree trees[CGROUP_TREES_MAX]; /* the first is v2 */
	/* 0 for an ordinary user without a delegated group: then all functions here do nothing */
	size_t count;
	unsigned controllers; /* of all trees together */
	/*
	 * Moving into a v1 group waits for an RCU grace period; only a fork gets there without that
	 * wait.
	 */
	bool has_v1;
};

/*
 * The kernel's counter files, whatever their name in the tree that has the controller. First those
 * that init gets, in the order of enum init_fd.
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

/* The groups of one sandbox. */
struct cgroup {
	const struct cgroup_host *host;
	char user[16], path[40]; /* below PARENT: path of the user's group, and of the sandbox's */
	int group;               /* the sandbox's group in the v2 tree; -1: none */
	/*
	 * Kept open after the first read; -1: not open. These open files must not be shared:
	 * another process that has one of them could delay a read here.
	 */
	int files[CGROUP_FILES];
	/* last limits written to the sandbox's group, which no other process writes */
	struct plan_limits limits;
	bool is_limited;
};

#define CGROUP_NONE ((struct cgroup){.group = -1, .files = {[0 ... CGROUP_FILES - 1] = -1}})

/*
 * Opens the hierarchies and makes PARENT (`parent`, an absolute path below their roots) in each.
 * For an ordinary user, `delegated` (borrowed) is a v2 group, and PARENT is made below it, in the
 * v2 tree alone; otherwise `delegated` is -1. Returns 0, -errno or UNSUPPORTED.
 */
_must_check_ int cgroup_host_open(int delegated, const char *parent, struct cgroup_host *ret_host,
                                  struct yett_error *error);

/*
 * Opens the host's mount of the tree of file system `type`; for v1 the mount with `controller`
 * among its options (NULL: any). Returns a descriptor, -ENOENT if no whole tree is mounted, or
 * -errno.
 */
_must_check_ int cgroup_find_mount(const char *type, const char *controller);

/*
 * Makes PARENT/helpers in the v2 tree, for processes that must outlive the service. Returns a
 * descriptor or -errno.
 */
_must_check_ int cgroup_host_make_helpers(const struct cgroup_host *host);

/*
 * Moves the calling process to PARENT/helpers of every tree, and to the root of every v1 hierarchy
 * that has none of our controllers (freezer, cpuset and others). No owner of another group can then
 * stop the process. Returns 0 or -errno.
 */
_must_check_ int cgroup_host_enter_helpers(const struct cgroup_host *host);

void cgroup_host_close(struct cgroup_host *host);

/* Makes a group unless it exists, and opens it. Returns a descriptor or -errno. */
_must_check_ int cgroup_make(int parent, const char *name);

/*
 * Enables ('+') or disables ('-') the tree's controllers for the groups below `directory`. Errors
 * are ignored here, because setting a limit reports them. v1 needs no call: a v1 group always has
 * the controllers of its hierarchy.
 */
void cgroup_set_children(const struct cgroup_tree *tree, int directory, char sign);

/*
 * Makes the user's and the sandbox's group in every tree. Returns 0, -EEXIST if the sandbox's name
 * is taken, or -errno.
 */
_must_check_ int cgroup_create(const struct cgroup_host *host, uid_t uid, const char *name,
                               struct cgroup *ret_cgroup);

/*
 * Moves the calling process into the sandbox's group of every tree. On v1 this may wait for a grace
 * period. Returns 0 or -errno.
 */
_must_check_ int cgroup_enter(const struct cgroup *cgroup);

/*
 * Writes the limits of the sandbox, and of all the user's sandboxes together; a value of 0 removes
 * a limit. Returns 0; -errno; UNSUPPORTED if no controller of this host enforces a limit;
 * INVALID_REQUEST if the sandbox already needs more memory than its own limit; RESOURCE_LIMIT if
 * the user already uses more memory than allowed, with the needed MiB as the number of error_key().
 */
_must_check_ int cgroup_limit(struct cgroup *cgroup, const struct plan_limits *limits,
                              const struct plan_limits *user_limits, struct yett_error *error);

/* Makes the v2 leaf "init", in which init is born. Returns 0 or -errno. */
_must_check_ int cgroup_make_leaf(const struct cgroup *cgroup);

/*
 * Gives host id `owner` the files that it needs to make leaves for commands, and no others. Returns
 * 0 or -errno.
 */
_must_check_ int cgroup_delegate(const struct cgroup *cgroup, uid_t owner);

/*
 * Enables the v2 controllers for the leaves. Call when no process is in the sandbox's group itself:
 * the kernel refuses it before.
 */
void cgroup_enable_leaves(const struct cgroup *cgroup);

/* Calls `look` with the name of each group directly inside `group` of the v2 tree. */
void cgroup_each(int group, void (*look)(int group, const char *name, void *userdata),
                 void *userdata);

/*
 * Prepares the groups for the next sandbox of the same user. Kills and removes all groups inside
 * the sandbox's group; the processes directly in it stay. Makes a new leaf "init". Resets the
 * memory peak where the kernel can. Returns 0, -EBUSY if something is left after 5 s, or -errno.
 */
_must_check_ int cgroup_empty(const struct cgroup *cgroup);

/*
 * Freezes all processes below the sandbox's group, or thaws them. Returns 0, -errno, -ETIMEDOUT if
 * the kernel does not report the new state within 1 s, or -EOPNOTSUPP without a v2 group.
 */
_must_check_ int cgroup_freeze(const struct cgroup *cgroup, bool freeze);

struct cgroup_usage {
	/*
	 * bit n: counts[n] is from the kernel; otherwise counts[n] is 0 because nothing counts it
	 * here
	 */
	uint32_t known;
	uint64_t counts[USAGE_COUNTS_MAX];
};

/* Counters that grow from sandbox to sandbox: all except the present amounts and the peak. */
#define CGROUP_SUMS                                                                         \
	(1U << USAGE_CPU | 1U << USAGE_USER | 1U << USAGE_SYSTEM | 1U << USAGE_READ_BYTES | \
	 1U << USAGE_WRITTEN_BYTES | 1U << USAGE_READS | 1U << USAGE_WRITES |               \
	 1U << USAGE_OOM_KILLS | 1U << USAGE_FORKS_REFUSED)

/* Opens a counter file for reading. Returns -1 if there is none. */
int cgroup_open_file(const struct cgroup *cgroup, enum cgroup_file file);

/*
 * Reads the counters of the sandbox's group that are in `wanted` (bits as in `known`). They include
 * earlier sandboxes in the group. Processes, threads and open files are not read here.
 */
void cgroup_read_usage(struct cgroup *cgroup, uint32_t wanted, struct cgroup_usage *ret_usage);

/* Adds the processes, threads and open files that exist now. */
void cgroup_count_processes(const struct cgroup *cgroup, struct cgroup_usage *usage);

/* Subtracts `before`, the counters of the group when the sandbox began. */
void cgroup_usage_since(const struct cgroup_usage *before, struct cgroup_usage *usage);

/* Opens the groups of a sandbox that another process made. The group is -1 if it does not exist. */
void cgroup_find(const struct cgroup_host *host, uid_t uid, const char *name,
                 struct cgroup *ret_cgroup);

/*
 * Kills what is left, waits at most 5 s for its end, and removes the sandbox's groups, and the
 * user's if they are empty. Returns 0, -EBUSY if something is left after that, or -errno.
 */
int cgroup_destroy(struct cgroup *cgroup);

void cgroup_close(struct cgroup *cgroup);
