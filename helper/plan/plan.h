/*
 * The plan: everything that is done for one sandbox, fully resolved, printable, and nothing else.
 *
 * programs/decider/planning.c makes it (a pure function of a decision), setup/ carries out root's
 * part of it and init the rest, and it crosses from one to the other as bytes: no pointers, texts
 * by offset into the arena. No privilege here, no I/O.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

#define PLAN_STEPS_MAX  512
#define PLAN_ARENA_MAX  65536
#define PLAN_GROUPS_MAX 256
#define PLAN_ENV_MAX    256
/* of 3072 that the kernel has for all but the host's own (kernel.pty.max) */
#define PLAN_TERMINALS_MAX 256
#define PLAN_UMASK_CALLER  01000 /* each command has that of its client */
/* the only limit for which the kernel runs no handler of the host's either: core(5) */
#define PLAN_CORE_NONE 1
#define PLAN_ID_SIZE   17 /* 16 hexadecimal digits and a NUL */

/* X(NAME, "name as printed and as errors say it"). In the order in which a plan has them. */
#define PLAN_STEPS(X)                                                                              \
	X(SLOT, "slot")     /* one of the user's sandboxes, as many as the grant allows */         \
	X(CGROUP, "cgroup") /* SANDBOX below the user's cgroup, with its limits */                 \
	X(IDS, "ids")       /* a private range of host ids */                                      \
	X(USER_NAMESPACE,                                                                          \
	  "user-namespace")     /* its map; below it the one of commands, and no further ones */   \
	X(TEMPLATE, "template") /* enter the profile's mount namespace */                          \
	X(NAMESPACES, "namespaces") /* mount, pid, network, ipc, uts, cgroup: the sandbox's own */ \
	X(ROOT, "root")             /* the sandbox's own tmpfs, and the template's trees on it */  \
	X(PROC, "proc")                                                                            \
	X(DEVPTS, "devpts")                                                                        \
	X(SYS, "sys")         /* its own control groups, to be read; how many processors it has */ \
	X(ETC, "etc")         /* the sandbox's own passwd and group */                             \
	X(UNMOUNT, "unmount") /* of a sandbox that is there: a share, taken off */                 \
	X(REFRESH, "refresh") /* likewise: an overlay looks at its layers anew */                  \
	X(TMPFS, "tmpfs")                                                                          \
	X(SHARE, "share") /* a client's descriptor, cloned, private, id-mapped */                  \
	X(HOST, "host")   /* the same from a path that the policy names */                         \
	X(PIN, "pin")     /* a path inside, made a mount point, so that it stays where it is */    \
	X(READ_ONLY, "read-only") /* a path inside, made read-only */                              \
	X(MASK, "mask")           /* a path inside, hidden */                                      \
	X(LOOPBACK, "loopback")   /* lo up */                                                      \
	X(NETWORK, "network")     /* all addresses lead to who serves the network */               \
	X(HOSTNAME, "hostname")                                                                    \
	X(IDENTITY, "identity") /* capabilities of building dropped, the user namespace of         \
	                           commands entered */                                             \
	X(INIT, "init")         /* yett-init serves, with the label of commands */

enum plan_step_kind {
#define X(name, text) PLAN_##name,
	PLAN_STEPS(X)
#undef X
		PLAN_STEP_KINDS,
};

struct plan_text {
	uint32_t offset; /* into the arena; NUL-terminated there */
};

/*
 * Only the members that the kind needs are used; the others are 0. Here and in struct plan what is
 * or is not so is a byte: it may come from another process, and a bool that is neither 0 nor 1
 * would be undefined.
 */
struct plan_step {
	uint32_t kind;           /* enum plan_step_kind */
	struct plan_text target; /* absolute path inside, normalized */
	/* HOST: absolute path on the host. HOSTNAME: the name. SHARE: host directories, separated
	 * by '\n', one of which it must be or lie below; "*": anything the client could open; of a
	 * socket the paths, one of which it must be. SLOT: the grant that bounds their number, or
	 * the ceiling, which of them being the target; CGROUP: their memory */
	struct plan_text source;
	uint32_t fd;           /* SHARE: index among the client's descriptors */
	uint32_t mode;         /* TMPFS: permissions of its root */
	uint32_t layer;        /* SHARE: enum plan_layer */
	uint8_t writable;      /* SHARE, HOST */
	uint8_t is_socket;     /* SHARE */
	uint8_t optional;      /* HOST, PIN, READ_ONLY, MASK: skip where the path does not exist */
	uint64_t size_bytes;   /* TMPFS, ROOT; SHARE that is a source: of the memory that changes go
	                          into; 0: there is a store */
	struct plan_text from; /* FILE:LINE of the policy that asks for it, or bounds it; empty: the
	                          request, or every sandbox */
};

/* What a share is of an overlay that is mounted at its target. Both are directories of the
 * caller's. */
enum plan_layer {
	PLAN_LAYER_NONE = 0,   /* it is mounted there itself */
	PLAN_LAYER_SOURCE = 1, /* what is shown, and stays as it is */
	PLAN_LAYER_STORE = 2,  /* "upper" and "work" are in it: what was changed */
};

enum plan_identity {
	PLAN_IDENTITY_PRIVATE = 0, /* the caller's number inside, a private id outside */
	PLAN_IDENTITY_ROOT = 1,    /* 0 inside, a private id outside */
	PLAN_IDENTITY_CALLER = 2,  /* the caller's id inside and outside */
};

enum plan_network {
	PLAN_NETWORK_NONE = 0,    /* loopback only */
	PLAN_NETWORK_LIMITED = 1, /* what rules allow. With the next one: by yett-front and
	                             yett-dialer, which have the rules */
	PLAN_NETWORK_OPEN = 2,    /* all but private addresses, and what rules deny */
	PLAN_NETWORK_HOST = 3, /* the host's: the sandbox has no network namespace of its own, and
	                          nobody serves or bounds it */
	PLAN_NETWORKS,
};

struct plan_limits {
	uint64_t memory_bytes; /* 0: unlimited, here and below */
	uint64_t cpu_millis;
	uint64_t cpu_weight; /* cgroup v2 scale, 1 … 10000 */
	uint64_t pids;
	uint64_t files;                         /* RLIMIT_NOFILE */
	uint64_t file_bytes;                    /* RLIMIT_FSIZE */
	uint64_t cpu_seconds;                   /* RLIMIT_CPU */
	uint64_t stack_bytes;                   /* RLIMIT_STACK */
	uint64_t stack_max_bytes;               /* how far programs may raise that */
	uint64_t core_bytes;                    /* RLIMIT_CORE; PLAN_CORE_NONE: no core files */
	uint64_t io_read_bytes, io_write_bytes; /* a second, of each disk */
};

/* How long it may live, in milliseconds; 0: no bound. */
struct plan_life {
	uint64_t wall_ms, cpu_ms, idle_ms, cleanup_ms;
	uint64_t linger_ms; /* of one that lingers, at rest with nobody attached */
	uint64_t command_ms,
		command_max_ms; /* of each command: unless it asks for another time, and at most */
	uint8_t linger, idle_pauses;
};

#define PLAN_LABELS_MAX  32
#define PLAN_LABEL_MAX   256  /* as MESSAGE_KEY_VALUE_MAX */
#define PLAN_LABELS_SIZE 2560 /* of all together, each with its NUL */
#define PLAN_WEAKER_SIZE 512  /* all that can be missing at once */

#define PLAN_PROGRAM_SIZE 256
#define PLAN_KEY_SIZE     53 /* of a key's line with its NUL: key_line.h */

/* Who asks: the kernel's word, but for the program, which the user's own process says, and the key,
 * which the decider does. */
struct plan_asker {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	char program[PLAN_PROGRAM_SIZE]; /* empty: not known */
	char key[PLAN_KEY_SIZE];         /* by which the last request was signed; empty: none */
	char principal[65]; /* the name under which that is enrolled; empty: it is one of the user's
	                       own */
};

struct plan {
	uint64_t shape; /* PLAN_SHAPE */
	char id[PLAN_ID_SIZE];
	struct plan_asker asker;    /* the monitor's to fill in, as the id is */
	uint64_t policy_generation; /* a supervisor of another generation refuses the plan */
	uint32_t profile;           /* index in the policy's table */
	uid_t caller_uid;
	gid_t caller_gid;
	gid_t groups[PLAN_GROUPS_MAX]; /* the caller's supplementary groups */
	uint32_t groups_count;
	uint32_t identity;     /* enum plan_identity */
	uint64_t capabilities; /* mask of 1 << CAP_* that commands keep in their own user namespace
	                        */
	uint8_t nested_userns; /* commands may make user namespaces */
	uint8_t perf_events;   /* commands may count and sample what they do themselves */
	uint8_t overlay_ro; /* ROOT's trees, and each SHARE and HOST that is not writable: behind an
	                       overlay of the sandbox's own */
	uint32_t sandboxes_max; /* of this caller at once; 0: unlimited */
	uint32_t terminals_max; /* of the sandbox at once */
	uint32_t network;       /* enum plan_network */
	struct plan_life life;
	struct plan_limits limits; /* of this sandbox */
	struct plan_limits
		user_limits; /* of all the caller's sandboxes together: memory, cpu, pids */
	uint32_t umask;
	int32_t nice;
	/* For the sandbox's passwd and group. A home other than "/" is an empty directory made on
	 * the sandbox's own root. */
	struct plan_text user_name, group_name, home, shell;
	struct plan_text name, principal; /* what it is called besides its id; the enrolled key that
	                                     asked. Empty: none */
	struct plan_text labels[PLAN_LABELS_MAX]; /* KEY=VALUE, for who lists sandboxes */
	uint32_t labels_count;
	struct plan_text label;        /* the AppArmor profile of init and commands; empty: none */
	struct plan_text selinux_type; /* the SELinux type of init; empty: none */
	uint8_t label_required;        /* no sandbox without it */
	uint8_t is_dry; /* whether it can be made is all that is asked: it is, until it could serve,
	                   and is taken down */
	struct plan_text env[PLAN_ENV_MAX]; /* NAME=VALUE of every command */
	uint32_t env_count;
	struct plan_text profile_name, profile_place, grant_name,
		grant_place;    /* for whoever is told of the plan */
	struct plan_text asked; /* what the request asked for, in words, for the audit */
	struct plan_text command_section, command_name,
		command_place; /* "profile", "grant" or "ceiling", whose max_command_timeout counts
	                        */
	char weaker[PLAN_WEAKER_SIZE]; /* by what it is weaker than other sandboxes, for people: the
	                                  end of a sentence; empty: it is not */
	uint32_t share_fds;            /* how many descriptors come with the plan */
	uint32_t steps_count;
	uint32_t arena_used;
	struct plan_step steps[PLAN_STEPS_MAX];
	char arena[PLAN_ARENA_MAX]; /* last, so that only the used part need be sent */
};

/*
 * How this version lays it out. A program that is started after an upgrade, for a sandbox that was
 * made before, may be given the plan of another version: who reads of it whom to become looks at
 * this first.
 */
#define PLAN_SHAPE                                                                       \
	((uint64_t)sizeof(struct plan) << 32 | offsetof(struct plan, caller_uid) << 16 | \
	 offsetof(struct plan, groups_count))

/* The C string of a text of the plan; "" for the zero text (offset 0 always holds ""). */
const char *plan_text(const struct plan *plan, struct plan_text text);

/* Whether an overlay of the client's layers is mounted. */
bool plan_has_layers(const struct plan *plan);

/* Whether it goes by rules, which yett-front and yett-dialer serve. */
static inline bool plan_network_has_rules(uint32_t network)
{
	return network == PLAN_NETWORK_LIMITED || network == PLAN_NETWORK_OPEN;
}

/*
 * Whether two plans have the same base: what the profile, the caller and the caller's grants
 * decide, whatever else is asked. A sandbox in which the steps of the base are done, and no other,
 * is a ready one, and a request with the same base fits it. What the profile alone decides is the
 * same where the profile and the policy's generation are.
 */
bool plan_same_base(const struct plan *a, const struct plan *b);
