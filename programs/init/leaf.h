/*
 * The cgroup of one command, and the kernel's counters around it.
 *
 * As init, unprivileged: SANDBOX and its files belong to init's id, and only init holds the
 * descriptor. A leaf lies beside init's own; killing it kills everything that the command started.
 * Where the host has no cgroup v2 there are no leaves, and sessions take their place. Kernel:
 * admin-guide/cgroup-v2.rst.
 */
#pragma once

#include "programs/init/config.h"

#include "base/fd.h"

/* What is counted since the sandbox (or the leaf) began; 0 where the host does not tell. */
struct leaf_counters {
	uint64_t oom_kills, pids_refused, cpu_throttled;
	uint64_t memory_peak_bytes;
};

/*
 * Makes the leaf of this number, or takes it if it is there, and opens it for CLONE_INTO_CGROUP.
 * The sandbox's limits of memory and processors are written there, too: programs look for theirs in
 * the group that /proc/self/cgroup names, and not all of them look further up. They are met in the
 * sandbox's group all the same: of memory this one has a little more, of time it may save some for
 * later. -errno.
 */
_must_check_ int leaf_open(unsigned number, const struct init_config *config, int *ret_leaf);

/*
 * Limits what is in it; 0: not. 0, -errno; -EOPNOTSUPP where its controllers do not reach so far
 * down. Such a leaf must not be used again.
 */
_must_check_ int leaf_limit(unsigned number, uint64_t memory_bytes, uint64_t pids);

/* What everything in the leaf has used since it was made; 0 where the host does not tell. */
struct leaf_usage {
	uint64_t user_us, system_us, memory_peak_bytes;
};

void leaf_read_usage(unsigned number, struct leaf_usage *ret_usage);

/* SIGKILL to every process in the leaf. Tells of no failure: there is nothing else to try. */
void leaf_kill(unsigned number);

/* Whether a process is in the leaf. */
bool leaf_populated(unsigned number);

/* Removes the leaf. 0; -EBUSY while a process is in it; -ENOENT. */
_must_check_ int leaf_remove(unsigned number);

/* The sandbox's counters, from the descriptors of `fds_present` (init_config). */
void leaf_read_sandbox(uint32_t fds_present, struct leaf_counters *ret_counters);

/*
 * Replaces those of memory by the leaf's own and returns true, if it has them: exact, and not
 * shared with other commands. Forks that were refused in the leaf are added. Such a leaf must not
 * be used again.
 */
bool leaf_read_own(unsigned number, struct leaf_counters *counters);
