/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaf cgroup of one command, and the kernel's counters for it and for the sandbox.
 *
 * Runs as init, unprivileged: the sandbox's cgroup and its files belong to init's id, and only init
 * holds the descriptor. A command's leaf is a sibling of init's own leaf. cgroup.kill on a leaf
 * kills everything that the command started. Where the host has no cgroup v2 there are no leaves,
 * and init uses process groups instead. Kernel: admin-guide/cgroup-v2.rst.
 */
#pragma once

#include "programs/inside/init/config.h"

#include "base/fd.h"

/* Counters since the sandbox (or the leaf) was created; 0 where the host does not provide them. */
struct leaf_counters {
	uint64_t oom_kills, pids_refused, cpu_throttled;
	uint64_t memory_peak_bytes;
};

/*
 * Creates leaf `number`, or reuses it, and opens it for CLONE_INTO_CGROUP. Returns 0 or -errno.
 *
 * Also writes the sandbox's memory and CPU limits into a new leaf, because programs look up their
 * limits in the cgroup that /proc/self/cgroup names, and not all of them look at parent cgroups.
 * The sandbox's own cgroup still enforces the limits: the leaf's memory limit is slightly higher,
 * and its CPU limit allows a burst.
 */
_must_check_ int leaf_open(unsigned number, const struct init_config *config, int *ret_leaf);

/*
 * Limits the processes in the leaf; 0: no limit. Returns 0 or -errno; -EOPNOTSUPP where the
 * controllers are not enabled for leaves. A limited leaf must not be reused for another command.
 */
_must_check_ int leaf_limit(unsigned number, uint64_t memory_bytes, uint64_t pids);

/* Usage of all processes in the leaf since it was created; 0 where the host does not provide it. */
struct leaf_usage {
	uint64_t user_us, system_us, memory_peak_bytes;
};

void leaf_read_usage(unsigned number, struct leaf_usage *ret_usage);

/*
 * Sends SIGKILL to every process in the leaf. Reports no failure: there is no other method to try.
 */
void leaf_kill(unsigned number);

/* Whether a process is in the leaf. */
bool leaf_populated(unsigned number);

/* Removes the leaf. Returns 0; -EBUSY while a process is in it; -ENOENT or another -errno. */
_must_check_ int leaf_remove(unsigned number);

/* Reads the sandbox's counters, from the descriptors in `fds_present` (struct init_config). */
void leaf_read_sandbox(uint32_t fds_present, struct leaf_counters *ret_counters);

/*
 * If the leaf has memory counters, replaces the memory counters in `counters` with the leaf's,
 * which are exact and exclude other commands, and adds the forks that were refused in the leaf.
 * Returns whether it did. Such a leaf must not be reused for another command.
 */
bool leaf_read_own(unsigned number, struct leaf_counters *counters);
