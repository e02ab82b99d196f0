/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states, events and counters of sandboxes, and the results of commands, with the tables of the
 * messages that report them.
 *
 * yett-helper includes this part of the messages and no other one: it uses the structs, and does
 * not encode or decode messages.
 */
#pragma once

#include "protocol/fields_plain.h"

#define MESSAGE_NAME_MAX 64 /* of the name of a sandbox, a profile or an enrolled key */

enum ended_reason {
	ENDED_CLOSED = 0,
	ENDED_INIT_DIED = 1,
	ENDED_OOM = 2,
	ENDED_HELPER = 3,
	ENDED_DESTROYED = 4, /* a client requested it */
	ENDED_WALL_TIME = 5,
	ENDED_CPU_TIME = 6,
	ENDED_IDLE = 7,
};

enum manage_action {
	MANAGE_LIST = 0,
	MANAGE_INSPECT = 1,
	MANAGE_ATTACH = 2,
	MANAGE_DETACH = 3,
	MANAGE_PAUSE = 4,
	MANAGE_RESUME = 5,
	MANAGE_KILL = 6,
	MANAGE_DESTROY = 7,
	MANAGE_USAGE = 8,
	MANAGE_FOLLOW = 9,
	MANAGE_TOTALS = 10,
	MANAGE_PLAN = 11,
	MANAGE_RULES = 12,   /* list the rules of its network */
	MANAGE_NETWORK = 13, /* replace the rules that requests added */
	MANAGE_MOUNT = 14,   /* never in a message: the action that a MESSAGE_MOUNT asks for */
};

/* A sandbox in the state DESTROYED no longer exists; no message has that state. */
enum sandbox_state {
	SANDBOX_CREATING = 0,
	SANDBOX_STARTING = 1,
	SANDBOX_RUNNING = 2,
	SANDBOX_PAUSED = 3,
	SANDBOX_STOPPING = 4,
	SANDBOX_STOPPED = 5,
	SANDBOX_FAILED = 6,
	SANDBOX_DESTROYED = 7,
};

/*
 * The counters of a sandbox, in the order in which they are encoded: X(NAME, field). Bit n of
 * message_usage.known stands for counter n, counted from 0.
 */
#define USAGE_COUNTS(X)                   \
	X(CPU, cpu_us)                    \
	X(USER, user_us)                  \
	X(SYSTEM, system_us)              \
	X(MEMORY, memory_bytes)           \
	X(MEMORY_PEAK, memory_peak_bytes) \
	X(READ_BYTES, read_bytes)         \
	X(WRITTEN_BYTES, written_bytes)   \
	X(READS, reads)                   \
	X(WRITES, writes)                 \
	X(PROCESSES, processes)           \
	X(THREADS, threads)               \
	X(OPEN_FILES, open_files)         \
	X(OOM_KILLS, oom_kills)           \
	X(FORKS_REFUSED, forks_refused)   \
	X(CONNECTIONS, connections)       \
	X(CONNECTED, connected)           \
	X(BLOCKED, blocked)               \
	X(SENT_BYTES, sent_bytes)         \
	X(RECEIVED_BYTES, received_bytes)

enum usage_count {
#define X(name, field) USAGE_##name,
	USAGE_COUNTS(X)
#undef X
		USAGE_COUNTS_MAX,
};

/*
 * Bits of message_exited.limits_hit: which limits of the kernel were reached while the command ran.
 */
enum limit_bit {
	LIMIT_MEMORY = 1,   /* the OOM killer killed a process of the sandbox */
	LIMIT_PIDS = 2,     /* the limit of processes refused a fork */
	LIMIT_CPU = 4,      /* the sandbox was throttled to its share of processors */
	LIMIT_CPU_TIME = 8, /* RLIMIT_CPU ended a process */
};

#define MESSAGE_EXITED_FIELDS(F, S)                                                                \
	F(S, BOOL, signaled)                                                                       \
	F(S, U32, status, 0, 255) /* exit status, or the signal's number if signaled */            \
	F(S, BOOL, timed_out)                                                                      \
	F(S, BOOL, out_of_memory)                                                                  \
	F(S, BITS, limits_hit, LIMIT_BITS) /* enum limit_bit, or-ed */                             \
	F(S, U64, wall_us, 0, TIME_US_MAX)                                                         \
	/* CPU time of the command and of the children that it waited for */                       \
	F(S, U64, user_us, 0, TIME_US_MAX)                                                         \
	F(S, U64, system_us, 0, TIME_US_MAX)                                                       \
	F(S, U64, memory_peak_bytes, 0, SIZE_BYTES_MAX)                                            \
	F(S, U64, read_bytes, 0, UINT64_MAX) /* from disks, by the same processes: getrusage(2) */ \
	F(S, U64, written_bytes, 0, UINT64_MAX)                                                    \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX) /* since 1970 */                                    \
	F(S, U64, ended_ms, 0, CLOCK_MS_MAX)   /* 0: still running */
MESSAGE_STRUCT(exited, MESSAGE_EXITED_FIELDS);

enum event_kind {
	EVENT_FOLLOWED = 0,      /* the first event of a stream */
	EVENT_STARTED = 1,       /* a command */
	EVENT_EXITED = 2,        /* a command */
	EVENT_FAILED = 3,        /* the program of a command could not be executed */
	EVENT_TIMEOUT = 4,       /* the time of a command is over; it is killed */
	EVENT_OOM = 5,           /* the OOM killer killed processes */
	EVENT_FORKS_REFUSED = 6, /* the limit of processes was reached */
	EVENT_PAUSED = 7,        /* the sandbox, here and below */
	EVENT_RESUMED = 8,
	EVENT_ENDED = 9,
	EVENT_DENIED = 10, /* the sandbox's seccomp filter refused system calls */
	/* a connection out of the sandbox; here and below `connection` has its address */
	EVENT_CONNECTED = 11,
	EVENT_DISCONNECTED = 12, /* that connection ended */
	EVENT_UNREACHABLE = 13,  /* a connection was allowed, but could not be made */
	/* A connection was refused, or a name was looked up that no rule allows. */
	EVENT_BLOCKED = 14,
	EVENT_FULL = 15, /* a connection was reset because there were too many */
	/* The processes that serve the network ended; with `count` 0 they are not started again. */
	EVENT_NETWORK_LOST = 16,
	EVENT_ASKED = 17, /* no rule allows a connection; it waits for a client to add one */
	/* Something was requested of the sandbox, and done, without an audit record. */
	EVENT_UNRECORDED = 18,
};

/*
 * An event without its connection. The decider adds that, in MESSAGE_EVENT_FIELDS, whose first
 * fields these are.
 */
#define MESSAGE_HAPPENED_FIELDS(F, S)                                                          \
	/*                                                                                     \
	 * each event of a sandbox has the next number, FOLLOWED that of the last event: a gap \
	 * means lost events                                                                   \
	 */                                                                                    \
	F(S, U64, number, 0, UINT64_MAX)                                                       \
	F(S, U64, time_ms, 0, CLOCK_MS_MAX)  /* since 1970 */                                  \
	F(S, U32, kind, 0, EVENT_UNRECORDED) /* enum event_kind */                             \
	F(S, U32, state, 0, SANDBOX_FAILED)  /* enum sandbox_state */                          \
	/* which of the sandbox's commands, from 1; 0: the event is about no command */        \
	F(S, U64, command, 0, UINT64_MAX)                                                      \
	/* of that command, inside; DENIED: of a process that made the call, or 0 */           \
	F(S, U32, pid, 0, PIDS_MAX)                                                            \
	F(S, MAP, result, exited) /* of EXITED */                                              \
	/* of FAILED: an errno; of UNREACHABLE: see PROTOCOL.md */                             \
	F(S, U32, error, 0, 4095)                                                              \
	/*                                                                                     \
	 * OOM, FORKS_REFUSED, DENIED: how many since the last such event, 0: not counted.     \
	 * Connections: how many alike. NETWORK_LOST: 1 if the processes are started again     \
	 */                                                                                    \
	F(S, U64, count, 0, UINT64_MAX)                                                        \
	/* of DENIED: the system call's number on the host's architecture */                   \
	F(S, U32, call, 0, CALLS_MAX)                                                          \
	F(S, U32, ended, 0, ENDED_IDLE) /* of ENDED: enum ended_reason */
MESSAGE_STRUCT(happened, MESSAGE_HAPPENED_FIELDS);

/*
 * Totals since the runtime directory was made; for a service, since boot. Inits count the commands,
 * so a compromised init can make these wrong.
 */
#define MESSAGE_TOTALS_FIELDS(F, S)                                     \
	F(S, U64, sandboxes, 0, UINT64_MAX) /* that have ended */       \
	/* commands that have ended: successes and failures together */ \
	F(S, U64, executions, 0, UINT64_MAX)                            \
	F(S, U64, successes, 0, UINT64_MAX) /* with exit status 0 */    \
	F(S, U64, failures, 0, UINT64_MAX)                              \
	F(S, U64, timeouts, 0, UINT64_MAX)    /* among the failures */  \
	F(S, U64, duration_us, 0, UINT64_MAX) /* of all executions together */
MESSAGE_STRUCT(totals, MESSAGE_TOTALS_FIELDS);
