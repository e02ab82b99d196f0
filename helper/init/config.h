/*
 * What the builder tells init: descriptors at fixed numbers, and one packet on the control socket.
 *
 * The packet is made by the supervisor from the plan and read by init (unprivileged) before it reads anything from a
 * client. It is trusted: init's maker is root. Lengths are checked all the same, so that a bug ends in an error.
 */
#pragma once

#include "protocol/message.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors init starts with; 0, 1 and 2 are the sandbox's /dev/null. Nothing else is open. */
enum init_fd {
	INIT_FD_CONTROL = 3,       /* SOCK_SEQPACKET to the supervisor; end of file there ends init */
	INIT_FD_CHANNEL = 4,       /* SOCK_SEQPACKET to the client: the first exec channel */
	INIT_FD_CGROUP = 5,        /* O_DIRECTORY of SANDBOX in the v2 tree; init's id may make leaves in it */
	INIT_FD_MEMORY_EVENTS = 6, /* a "key value" file with oom_kill: memory.events (v2), memory.oom_control (v1) */
	INIT_FD_MEMORY_PEAK = 7,   /* one number in bytes: memory.peak (v2, Linux 5.19), memory.max_usage_in_bytes (v1) */
	INIT_FD_PIDS_EVENTS = 8,   /* "max N": pids.events */
	INIT_FD_CPU_STAT = 9,      /* cpu.stat with nr_throttled */
	INIT_FD_END = 10,
};

/* supervisor → init, one byte a packet, once init serves. */
enum init_word {
	INIT_WORD_CHANNEL = 'c', /* with one descriptor: a further exec channel */
	INIT_WORD_KILL = 'k',    /* every command */
	INIT_WORD_TELL = 't',    /* somebody follows what happens: an init_event for each */
	INIT_WORD_REST = 'r',    /* nobody does any more */
};

#define INIT_GROUPS_MAX 256
#define INIT_RLIMITS_MAX 8
#define INIT_ENV_MAX 256
#define INIT_PATHS_MAX 1024
#define INIT_LABEL_SIZE 128
#define INIT_FILTER_MAX 4096 /* BPF_MAXINSNS */
#define INIT_DATA_MAX 98304

/* How a path of the sandbox may be used; the first byte of its text. */
enum init_path { INIT_PATH_READ = 'r', INIT_PATH_WRITE = 'w' };

/* Of each process; 0: as init has it. setrlimit(2) */
struct init_limits {
	uint64_t files, file_bytes, cpu_seconds, stack_bytes;
	uint64_t processes; /* of the sandbox: where no cgroup counts them */
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
	uint32_t umask;
	int32_t nice;
	bool keeps_groups; /* it was born with the caller's, and its user namespace lets nobody change them */
	bool linger; /* the end of the first channel does not end init */
	bool is_watched; /* its end or its pause comes when it is idle, which its supervisor knows by its processes: then there is init alone */
	struct init_limits limits;
	uint64_t memory_bytes; /* of the sandbox; 0: unlimited */
	/*
	 * data: first init's own filter (which begins as base/filter_head.h says), then the filter of commands (arrays of struct sock_filter), then NUL-terminated
	 * texts: the environment of the profile as env_count times NAME=VALUE, and what this sandbox has besides what
	 * every one has, as paths_count absolute paths with an enum init_path before each.
	 */
	uint32_t init_filter_count, command_filter_count; /* instructions; 0: no filter (only tests do that) */
	uint32_t env_count, paths_count;
	/* init's own notes: what the limits come to, the version of Landlock in force (0: none), the filter's listener (0: none) */
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

/* What holds a sandbox besides its plan, as init finds it. */
struct init_layers {
	uint8_t landlock_abi; /* the version of Landlock in force; 0: none */
	char label[INIT_LABEL_SIZE]; /* of AppArmor, as the kernel writes it; empty: the kernel has none */
};

/* init → supervisor, while somebody follows. Never waited for: what does not go at once is lost, and counted. */
struct init_event {
	uint32_t kind; /* enum event_kind: STARTED, EXITED, FAILED, TIMEOUT */
	uint32_t lost; /* events just before this one */
	uint64_t command; /* counted from 1 */
	uint32_t pid, error;
	struct message_exited result;
};

/* init → supervisor, now and then, and at init's orderly end: what commands came to since the last such packet. */
#define INIT_TOTALS_EVERY 64 /* commands */
struct init_totals {
	uint64_t successes, failures, timeouts, duration_us; /* timeouts are failures, too */
};

/*
 * init → supervisor, one packet: ready, or the step of init that failed and its errno. With one descriptor where there is
 * somebody to tell of forbidden system calls: the listener of init's filter, which init keeps no copy of.
 */
struct init_report {
	int32_t error; /* 0: serving the channel; else an errno */
	struct init_layers layers;
	char step[60];
};
