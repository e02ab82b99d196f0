/*
 * What init goes by when it serves, made of the plan and of what root told it (build/derive.c).
 * Init's own.
 */
#pragma once

#include "helper/plan/order.h"
#include "programs/init/processors.h"
#include "protocol/message.h"

#include <linux/filter.h>

#define INIT_TOTALS_EVERY 64 /* commands, of which an init_totals tells */
#define INIT_GROUPS_MAX   256
#define INIT_RLIMITS_MAX  8
#define INIT_ENV_MAX      256
#define INIT_PATHS_MAX    1024
#define INIT_FILTER_MAX   4096 /* BPF_MAXINSNS */
#define INIT_DATA_MAX     98304
#define INIT_PLACE_SIZE   512 /* FILE:LINE */

/* How a path of the sandbox may be used; the first byte of its text. */
enum init_path { INIT_PATH_READ = 'r', INIT_PATH_WRITE = 'w', INIT_PATH_SOCKET = 's' };

/* Of each process; 0: as init has it. setrlimit(2) */
struct init_limits {
	uint64_t files, file_bytes, cpu_seconds, stack_bytes;
	uint64_t stack_max_bytes; /* what the stack's may be raised to */
	uint64_t processes;       /* of the sandbox: where no cgroup counts them */
	uint64_t core_bytes;      /* 0: no core files; RLIM_INFINITY */
};

struct init_rlimit {
	uint32_t resource; /* RLIMIT_* */
	uint64_t soft, hard;
};

struct init_config {
	uint32_t fds_present; /* bit n: descriptor INIT_FD_CONTROL + n is open */
	uint32_t uid, gid;    /* of commands, as seen inside */
	uint32_t groups[INIT_GROUPS_MAX];
	uint32_t groups_count;
	uint64_t capabilities; /* that commands keep (a mask of 1 << CAP_*); almost always 0 */
	bool nested_userns;    /* commands may make user namespaces */
	bool perf_events;      /* they may have performance events */
	bool is_recorded;      /* what happens is told for the audit */
	uint32_t umask;        /* PLAN_UMASK_CALLER: each command brings one */
	int32_t nice;
	bool keeps_groups; /* it was born with the caller's, and its user namespace lets nobody
	                      change them */
	bool linger;       /* the end of the first channel does not end init */
	bool is_watched;   /* its end or its pause comes when it is idle, which its supervisor knows
	                      by its processes: then there is init   alone */
	struct init_limits limits;
	uint64_t memory_bytes, cpu_millis;   /* of the sandbox; 0: unlimited */
	uint64_t command_ms, command_max_ms; /* of a command: where it asks for no time, and at
	                                        most; 0: no bound */
	char command_section[8], command_name[MESSAGE_NAME_MAX + 1],
		command_place[INIT_PLACE_SIZE]; /* of the policy: who says so */
	bool has_processors;                    /* else commands run on all that there are */
	struct processors processors;
	/*
	 * data: first init's own filter (which begins as base/filter_head.h says), then the filter
	 * of commands (arrays of struct sock_filter), then NUL-terminated texts: the environment of
	 * the profile as env_count times NAME=VALUE, and what this sandbox has besides what every
	 * one has, as paths_count absolute paths with an enum init_path before each.
	 */
	uint32_t init_filter_count,
		command_filter_count; /* instructions; 0: no filter (only tests do that) */
	uint32_t env_count, paths_count;
	/* init's own notes: what the limits come to, the version of Landlock in force (0: none),
	 * the filter's listener (0: none) */
	struct init_rlimit rlimits[INIT_RLIMITS_MAX];
	uint32_t rlimits_count, landlock_abi;
	int32_t listener;
	uint32_t data_used;
	uint8_t data[INIT_DATA_MAX] __attribute__((aligned(8)));
};

/* The texts of data, the environment first. Only after start_check_config(). */
static inline const char *init_config_texts(const struct init_config *config)
{
	size_t filters = (size_t)config->init_filter_count + config->command_filter_count;

	return (const char *)config->data + filters * sizeof(struct sock_filter);
}
