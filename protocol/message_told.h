/*
 * What is told of sandboxes: their states, what happens in them, what is counted; and what a
 * command came to. With the tables of the messages that say it.
 *
 * Root's program knows these structs, and no other part of a message: it encodes none.
 */
#pragma once

#include "protocol/fields_plain.h"

#define MESSAGE_NAME_MAX 64 /* of a sandbox, a profile, an enrolled key */

enum ended_reason {
	ENDED_CLOSED = 0,
	ENDED_INIT_DIED = 1,
	ENDED_OOM = 2,
	ENDED_HELPER = 3,
	ENDED_DESTROYED = 4, /* somebody asked for it */
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
	MANAGE_RULES = 12,   /* of its network */
	MANAGE_NETWORK = 13, /* has other rules for that */
	MANAGE_MOUNT = 14,   /* not on the wire: what a MESSAGE_MOUNT asks for */
};

/* DESTROYED is gone, and never on the wire. */
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

/* What is counted of a sandbox, in the order of the wire: X(NAME, field). Bit n of `known` is for
 * the n-th. */
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

/* Bits of message_exited.limits_hit: which kernel limit was reached while the command ran. */
enum limit_bit {
	LIMIT_MEMORY = 1,   /* the kernel killed a process of the sandbox for want of memory */
	LIMIT_PIDS = 2,     /* a fork was refused */
	LIMIT_CPU = 4,      /* the sandbox was throttled to its share of processors */
	LIMIT_CPU_TIME = 8, /* RLIMIT_CPU ended it */
};

#define MESSAGE_EXITED_FIELDS(F, S)                                                              \
	F(S, BOOL, signaled)                                                                     \
	F(S, U32, status, 0, 255) /* exit status, or the signal's number if signaled */          \
	F(S, BOOL, timed_out)                                                                    \
	F(S, BOOL, out_of_memory)                                                                \
	F(S, BITS, limits_hit, LIMIT_BITS) /* enum limit_bit, or-ed */                           \
	F(S, U64, wall_us, 0, TIME_US_MAX)                                                       \
	F(S, U64, user_us, 0, TIME_US_MAX) /* CPU time of the command and what it waited for */  \
	F(S, U64, system_us, 0, TIME_US_MAX)                                                     \
	F(S, U64, memory_peak_bytes, 0, SIZE_BYTES_MAX)                                          \
	F(S, U64, read_bytes, 0, UINT64_MAX) /* of disks, by the same processes: getrusage(2) */ \
	F(S, U64, written_bytes, 0, UINT64_MAX)                                                  \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX) /* since 1970 */                                  \
	F(S, U64, ended_ms, 0, CLOCK_MS_MAX)   /* 0: it runs */
MESSAGE_STRUCT(exited, MESSAGE_EXITED_FIELDS);

enum event_kind {
	EVENT_FOLLOWED = 0,      /* the first of a stream */
	EVENT_STARTED = 1,       /* a command */
	EVENT_EXITED = 2,        /* likewise */
	EVENT_FAILED = 3,        /* the program of a command could not be executed */
	EVENT_TIMEOUT = 4,       /* the time of a command is over, and it is killed */
	EVENT_OOM = 5,           /* the kernel killed for want of memory */
	EVENT_FORKS_REFUSED = 6, /* the limit of processes was met */
	EVENT_PAUSED = 7,        /* the sandbox, here and below */
	EVENT_RESUMED = 8,
	EVENT_ENDED = 9,
	EVENT_DENIED = 10,       /* a system call was refused */
	EVENT_CONNECTED = 11,    /* out of the sandbox; here and below `connection` says where */
	EVENT_DISCONNECTED = 12, /* that ended */
	EVENT_UNREACHABLE = 13,  /* it was allowed, and could not be made */
	EVENT_BLOCKED = 14, /* it was not allowed, or only the name was asked for, which is not */
	EVENT_FULL = 15,    /* there were as many connections as there may be */
	EVENT_NETWORK_LOST =
		16, /* what serves the network ended; with `count` 0 it is not started again */
	EVENT_ASKED = 17,      /* a connection is not allowed, and waits for somebody to allow it */
	EVENT_UNRECORDED = 18, /* something was asked of the sandbox, and done, of which there is no
	                          audit record */
};

/* An event, but for where a connection led, which a decider adds: that comes behind, in
 * MESSAGE_EVENT_FIELDS. */
#define MESSAGE_HAPPENED_FIELDS(F, S)                                                            \
	F(S, U64, number, 0, UINT64_MAX) /* each of a sandbox has the next, but FOLLOWED that of \
	                                    the last: a gap is what was lost */                  \
	F(S, U64, time_ms, 0, CLOCK_MS_MAX)  /* since 1970 */                                    \
	F(S, U32, kind, 0, EVENT_UNRECORDED) /* enum event_kind */                               \
	F(S, U32, state, 0, SANDBOX_FAILED)  /* enum sandbox_state */                            \
	F(S, U64, command, 0,                                                                    \
	  UINT64_MAX) /* which of the sandbox's commands, counted from 1; 0: it is about none */ \
	F(S, U32, pid, 0,                                                                        \
	  PIDS_MAX) /* its own, inside; of DENIED: of the process that called, or 0 */           \
	F(S, MAP, result, exited)       /* of EXITED */                                          \
	F(S, U32, error, 0, 4095)       /* of FAILED: an errno */                                \
	F(S, U64, count, 0, UINT64_MAX) /* of OOM, FORKS_REFUSED and DENIED: how many since the  \
	                                   last such event; 0: not counted */                    \
	F(S, U32, call, 0,                                                                       \
	  CALLS_MAX) /* of DENIED: the number of the system call, on the host's architecture */  \
	F(S, U32, ended, 0, ENDED_IDLE) /* enum ended_reason, of ENDED */
MESSAGE_STRUCT(happened, MESSAGE_HAPPENED_FIELDS);

/* Since the runtime directory is there: since the machine started, for a service. Commands are
 * counted by init. */
#define MESSAGE_TOTALS_FIELDS(F, S)                                                      \
	F(S, U64, sandboxes, 0, UINT64_MAX) /* that have ended */                        \
	F(S, U64, executions, 0,                                                         \
	  UINT64_MAX) /* of commands that have ended: successes and failures together */ \
	F(S, U64, successes, 0, UINT64_MAX) /* those with status 0 */                    \
	F(S, U64, failures, 0, UINT64_MAX)                                               \
	F(S, U64, timeouts, 0, UINT64_MAX)    /* among the failures */                   \
	F(S, U64, duration_us, 0, UINT64_MAX) /* of all executions together */
MESSAGE_STRUCT(totals, MESSAGE_TOTALS_FIELDS);
