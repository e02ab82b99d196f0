/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration that init uses while it serves. init derives it from the plan and from the
 * supervisor's order (build/derive.c). Only init reads it.
 */
#pragma once

#include "helper/plan/order.h"
#include "programs/inside/init/processors.h"
#include "protocol/message.h"

#include <linux/filter.h>

#define INIT_TOTALS_EVERY 64 /* commands that one struct init_totals covers */
#define INIT_GROUPS_MAX   256
#define INIT_RLIMITS_MAX  8
#define INIT_ENV_MAX      256
#define INIT_PATHS_MAX    1024
#define INIT_FILTER_MAX   4096 /* BPF_MAXINSNS */
#define INIT_DATA_MAX     98304
#define INIT_PLACE_SIZE   512 /* FILE:LINE */

/*
 * How a path of the sandbox may be used. This is the first byte of each path's text in
 * init_config.data.
 */
enum init_path { INIT_PATH_READ = 'r', INIT_PATH_WRITE = 'w', INIT_PATH_SOCKET = 's' };

/*
 * Limits of each process, as for setrlimit(2), unless stated otherwise. 0: leave the limit that
 * init has.
 */
struct init_limits {
	uint64_t files, file_bytes, cpu_seconds, stack_bytes;
	uint64_t stack_max_bytes; /* how far a command may raise its soft stack limit */
	/* limit of the whole sandbox; set only where no cgroup counts processes */
	uint64_t processes;
	uint64_t core_bytes; /* 0: no core files; RLIM_INFINITY */
};

struct init_rlimit {
	uint32_t resource; /* RLIMIT_* */
	uint64_t soft, hard;
};

struct init_config {
	uint32_t fds_present; /* bit n: descriptor INIT_FD_CONTROL + n is open */
	uint32_t uid, gid;    /* ids of commands, as seen inside the sandbox */
	uint32_t groups[INIT_GROUPS_MAX];
	uint32_t groups_count;
	uint64_t capabilities; /* a mask of 1 << CAP_* that commands keep; almost always 0 */
	bool nested_userns;    /* commands may make user namespaces */
	bool perf_events;      /* commands may use perf_event_open(2) */
	bool is_recorded;      /* events are reported for the audit log */
	uint32_t umask;        /* PLAN_UMASK_CALLER: each EXEC message carries a umask */
	int32_t nice;
	/*
	 * init started with the caller's groups, and its user namespace does not allow setgroups(2)
	 */
	bool keeps_groups;
	bool linger; /* the end of the first channel does not end init */
	/*
	 * The sandbox ends or pauses when it is idle. The supervisor detects that by the sandbox's
	 * processes: init must then be the only one, so init must not keep a pre-forked child.
	 */
	bool is_watched;
	struct init_limits limits;
	uint64_t memory_bytes, cpu_millis; /* limits of the whole sandbox; 0: unlimited */
	/* Timeout of a command that requests none, and the maximum. 0: none. */
	uint64_t command_ms, command_max_ms;
	/*
	 * Section, name and location (FILE:LINE) of the policy rule that sets the timeouts. For
	 * error messages.
	 */
	char command_section[8], command_name[MESSAGE_NAME_MAX + 1], command_place[INIT_PLACE_SIZE];
	bool has_processors; /* false: commands run on all processors */
	struct processors processors;
	/*
	 * Contents of `data`: first init's own filter (which begins as base/filter_head.h says),
	 * then the filter of commands, both arrays of struct sock_filter. Then NUL-terminated
	 * texts: env_count times NAME=VALUE, the environment of the profile; and paths_count
	 * absolute paths, each preceded by an enum init_path byte, which this sandbox has in
	 * addition to those that every sandbox has (landlock.c).
	 */
	uint32_t init_filter_count,
		command_filter_count; /* instructions; 0: no filter, which only tests use */
	uint32_t env_count, paths_count;
	/*
	 * Filled in by init: the resource limits of commands, the Landlock version in force (0:
	 * none), and the descriptor of the filter's seccomp listener (0: none).
	 */
	struct init_rlimit rlimits[INIT_RLIMITS_MAX];
	uint32_t rlimits_count, landlock_abi;
	int32_t listener;
	uint32_t data_used;
	uint8_t data[INIT_DATA_MAX] __attribute__((aligned(8)));
};

/* The texts in `data`, the environment first. Call only after start_check_config() succeeded. */
static inline const char *init_config_texts(const struct init_config *config)
{
	size_t filters = (size_t)config->init_filter_count + config->command_filter_count;

	return (const char *)config->data + filters * sizeof(struct sock_filter);
}
