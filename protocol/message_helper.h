/*
 * The messages between client and helper as C structs: schema_helper.c ties them to their msgpack form, PROTOCOL.md is normative.
 *
 * Here is also what a command came to, which the helper tells in events.
 */
#pragma once

#include "protocol/text.h"

#define MESSAGE_SHARES_MAX 125
#define MESSAGE_TMPFS_MAX 32
#define MESSAGE_NAME_MAX 64
#define MESSAGE_HOSTNAME_MAX 64
#define MESSAGE_CHALLENGE_SIZE 32
#define MESSAGE_LANDLOCK_ABI_MAX 255
#define MESSAGE_LABEL_MAX 127
#define MESSAGE_WEAKER_MAX 511
#define MESSAGE_LABELS_MAX 32
#define MESSAGE_KEY_VALUE_MAX 256
#define MESSAGE_ANNOTATION '#' /* begins the key of a label that is an annotation */

/* X(NAME, number, body): each is a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_HELPER_KINDS(X) \
	X(HELLO, 1, hello)          /* helper → client, once, first */                                                                     \
	X(CREATE, 2, create)        /* client → helper, signed; one descriptor for each share */                                           \
	X(CREATED, 3, created)      /* helper → client, answers a create or an attach; one descriptor: the exec channel */                 \
	X(PLAN, 4, plan)            /* helper → client, answers a create with plan_only, or a manage; one sealed memfd with text */        \
	X(ERROR, 5, error)          /* helper or init → client; the sequence names the message refused */                                  \
	X(ENDED, 6, ended)          /* helper → client; the sequence is that of the create or attach */                                    \
	X(MANAGE, 7, manage)        /* client → helper, signed */                                                                          \
	X(DONE, 8, done)            /* helper → client, answers a manage that asks for no more */                                          \
	X(STATE, 9, state)          /* helper → client; the sequence is that of the create or attach */                                    \
	X(LISTING, 10, listing)     /* helper → client, answers a manage; one sealed memfd with MESSAGE_SANDBOX or MESSAGE_USAGE bodies */ \
	X(SANDBOX, 11, sandbox)     /* in the memfd of a listing, and nowhere else */                                                      \
	X(USAGE, 12, usage)         /* likewise */                                                                                         \
	X(EVENT, 13, event)         /* helper → client, on an event stream */                                                              \
	X(FOLLOWING, 14, following) /* helper → client, answers a manage; one descriptor: an event stream */                               \
	X(TOTALS, 15, totals)       /* helper → client, answers a manage */                                                                \
	X(EXITED, 34, exited)       /* init → client; what an EVENT has of it is the same */

struct message_hello {
	uint32_t version_min, version_max;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
};

enum share_mode { SHARE_RO = 0, SHARE_RW = 1 };

struct message_share {
	uint32_t fd;       /* index among the descriptors of the packet */
	uint32_t mode;     /* enum share_mode */
	struct text target; /* absolute path inside */
};

struct message_tmpfs {
	struct text target;
	uint64_t size_bytes; /* 0: the profile's default size */
};

/* 0 means: what the profile says. */
struct message_limits {
	uint64_t memory_bytes;
	uint64_t cpu_millis; /* thousandths of a processor: 1500 is one and a half */
	uint64_t pids;
	uint64_t files; /* RLIMIT_NOFILE */
};

enum idle_action { IDLE_END = 0, IDLE_PAUSE = 1 };

/* How long it may live. 0: no bound. */
struct message_life {
	bool linger; /* it outlives the connection that made it */
	uint64_t wall_ms, cpu_ms;
	uint64_t idle_ms; /* without a process but init */
	uint32_t idle_action; /* enum idle_action */
	uint64_t cleanup_ms; /* how long it can be looked at when it has ended */
};

struct message_create {
	struct text profile;
	struct text hostname; /* empty: the profile's */
	struct message_limits limits;
	struct message_share shares[MESSAGE_SHARES_MAX];
	uint32_t shares_count;
	struct message_tmpfs tmpfs[MESSAGE_TMPFS_MAX];
	uint32_t tmpfs_count;
	bool plan_only;
	struct text name; /* empty: none */
	struct text labels[MESSAGE_LABELS_MAX]; /* KEY=VALUE, each key once */
	uint32_t labels_count;
	struct message_life life;
};

struct message_created {
	struct text id;      /* 16 lower-case hexadecimal digits */
	struct text profile;
	uint32_t private_uid; /* the host uid that the sandbox's commands run as */
	struct text label;     /* of AppArmor, as the kernel writes it: "yett-sandbox (enforce)"; empty: none */
	uint32_t landlock_abi; /* the version of Landlock that holds them as well; 0: none */
	struct message_limits limits; /* in force; 0: unlimited */
	struct text weaker; /* what a helper without root could not give of the profile, for people; empty: nothing */
};

struct message_plan {}; /* the text is in the descriptor */

struct message_error {
	uint32_t code;   /* enum yett_code */
	uint32_t reason; /* enum yett_reason */
	bool retryable;
	struct text message;
	struct text detail;
	/* of a refusal by the policy; as in struct yett_error */
	struct text rule, file;
	uint32_t line;
	struct text asked, allowed;
	struct text mend;
	uint32_t error_number; /* errno; 0: none */
	struct text step; /* empty: none */
};

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

struct message_ended {
	uint32_t reason; /* enum ended_reason */
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
};

struct message_manage {
	uint32_t action; /* enum manage_action */
	struct text sandbox; /* an id or a name; empty for a list, and for the usage of all */
	bool all; /* of these: everybody's, for an administrator */
};

struct message_done {
	struct text id; /* of the sandbox */
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

struct message_state {
	uint32_t state; /* enum sandbox_state */
};

struct message_listing {
	uint32_t count; /* of sandboxes in the memfd */
};

struct message_sandbox {
	struct text id, name, profile;
	uint32_t state; /* enum sandbox_state */
	uint32_t ended; /* enum ended_reason; of one that is stopping, stopped or failed */
	uint32_t uid;
	struct text principal; /* the name of the enrolled key that asked; empty: a key of the user's own */
	uint32_t private_uid;
	struct text label;
	uint32_t landlock_abi;
	struct message_limits limits;
	struct message_life life; /* in force */
	uint64_t linger_ms; /* how long it may rest with nobody attached; 0: no bound */
	uint64_t created_ms, started_ms, ended_ms; /* since 1970; 0: not yet */
	uint32_t attached; /* connections that hold it */
	struct text labels[MESSAGE_LABELS_MAX];
	uint32_t labels_count;
};

/* What is counted of a sandbox, in the order of the wire: X(NAME, field). Bit n of `known` is for the n-th. */
#define USAGE_COUNTS(X)                        \
	X(CPU, cpu_us)                         \
	X(USER, user_us)                       \
	X(SYSTEM, system_us)                   \
	X(MEMORY, memory_bytes)                \
	X(MEMORY_PEAK, memory_peak_bytes)      \
	X(READ_BYTES, read_bytes)              \
	X(WRITTEN_BYTES, written_bytes)        \
	X(READS, reads)                        \
	X(WRITES, writes)                      \
	X(PROCESSES, processes)                \
	X(THREADS, threads)                    \
	X(OPEN_FILES, open_files)              \
	X(OOM_KILLS, oom_kills)                \
	X(FORKS_REFUSED, forks_refused)

enum usage_count {
#define X(name, field) USAGE_##name,
	USAGE_COUNTS(X)
#undef X
	USAGE_COUNTS_MAX,
};

struct message_usage {
	struct text id, name;
	uint32_t state; /* enum sandbox_state */
	uint64_t taken_us; /* when: CLOCK_MONOTONIC of the helper */
	uint64_t uptime_ms;
	uint64_t memory_limit_bytes, pids_limit; /* 0: unlimited */
	uint32_t known; /* of the following: the others are 0 because nothing here counts them */
#define X(name, field) uint64_t field;
	USAGE_COUNTS(X)
#undef X
};

/* Bits of message_exited.limits_hit: which kernel limit was reached while the command ran. */
enum limit_bit {
	LIMIT_MEMORY = 1,   /* the kernel killed a process of the sandbox for want of memory */
	LIMIT_PIDS = 2,     /* a fork was refused */
	LIMIT_CPU = 4,      /* the sandbox was throttled to its share of processors */
	LIMIT_CPU_TIME = 8, /* RLIMIT_CPU ended it */
};

struct message_exited {
	bool signaled;
	uint32_t status; /* exit status, or the signal's number if signaled */
	bool timed_out;
	bool out_of_memory;
	uint32_t limits_hit; /* enum limit_bit, or-ed */
	uint64_t wall_us;
	uint64_t user_us, system_us; /* CPU time of the command and what it waited for */
	uint64_t memory_peak_bytes;
};

enum event_kind {
	EVENT_FOLLOWED = 0,	 /* the first of a stream */
	EVENT_STARTED = 1,	 /* a command */
	EVENT_EXITED = 2,	 /* likewise */
	EVENT_FAILED = 3,	 /* the program of a command could not be executed */
	EVENT_TIMEOUT = 4,	 /* the time of a command is over, and it is killed */
	EVENT_OOM = 5,		 /* the kernel killed for want of memory */
	EVENT_FORKS_REFUSED = 6, /* the limit of processes was met */
	EVENT_PAUSED = 7,	 /* the sandbox, here and below */
	EVENT_RESUMED = 8,
	EVENT_ENDED = 9,
	EVENT_DENIED = 10, /* a system call was refused */
};

struct message_event {
	uint64_t number; /* each of a sandbox has the next one, but FOLLOWED that of the last: a gap is what the reader lost */
	uint64_t time_ms; /* since 1970 */
	uint32_t kind;	  /* enum event_kind */
	uint32_t state;	  /* enum sandbox_state */
	uint64_t command; /* which of the sandbox's commands, counted from 1; 0: it is about none */
	uint32_t pid;	  /* its own, inside; of DENIED: of the process that called, or 0 */
	struct message_exited result; /* of EXITED */
	uint32_t error;	 /* of FAILED: an errno */
	uint64_t count;	 /* of OOM, FORKS_REFUSED and DENIED: how many since the last such event; 0: not counted */
	uint32_t call;	 /* of DENIED: the number of the system call, on the host's architecture */
	uint32_t ended;	 /* enum ended_reason, of ENDED */
};

/* Since the runtime directory is there: since the machine started, for a service. Commands are counted by init. */
struct message_totals {
	uint64_t sandboxes;  /* that have ended */
	uint64_t executions; /* of commands that have ended: successes and failures together */
	uint64_t successes;  /* those with status 0 */
	uint64_t failures;
	uint64_t timeouts;    /* among the failures */
	uint64_t duration_us; /* of all executions together */
};

struct message_following {
	struct text id; /* of the sandbox */
};
