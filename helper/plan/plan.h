/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: all steps by which one sandbox is made, fully resolved and printable.
 *
 * programs/decide/decider/planning.c makes a plan, as a pure function of a decision. helper/setup/
 * carries out root's part of it and init the rest. A plan crosses process boundaries as bytes: it
 * has no pointers, and names texts by their offset in the arena. No privilege here, no I/O.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

#define PLAN_STEPS_MAX  512
#define PLAN_ARENA_MAX  65536
#define PLAN_GROUPS_MAX 256
#define PLAN_ENV_MAX    256
/*
 * The kernel has 3072 terminals for all devpts instances except the host's own: kernel.pty.max less
 * kernel.pty.reserve.
 */
#define PLAN_TERMINALS_MAX 256
#define PLAN_UMASK_CALLER  01000 /* each command has the umask of its client */
/*
 * The only RLIMIT_CORE with which the kernel writes no core file and does not run the host's
 * core_pattern program: core(5).
 */
#define PLAN_CORE_NONE 1
#define PLAN_ID_SIZE   17 /* 16 hexadecimal digits and a NUL */

/* X(NAME, "name in output and errors"), in the order in which a plan has them. */
#define PLAN_STEPS(X)                                                                            \
	X(SLOT, "slot")     /* one of the sandboxes that the grant allows the user */            \
	X(CGROUP, "cgroup") /* SANDBOX below the user's cgroup, with its limits */               \
	X(IDS, "ids")       /* a private range of host ids */                                    \
	/* its id map; below it that of commands, which allows others only with nested_userns */ \
	X(USER_NAMESPACE, "user-namespace")                                                      \
	X(TEMPLATE, "template") /* enter the profile's mount namespace */                        \
	/* new mount, pid, ipc, uts and cgroup namespaces; network, unless PLAN_NETWORK_HOST */  \
	X(NAMESPACES, "namespaces")                                                              \
	X(ROOT, "root") /* the sandbox's tmpfs, with the template's trees on it */               \
	X(PROC, "proc")                                                                          \
	X(DEVPTS, "devpts")                                                                      \
	X(SYS, "sys")         /* its cgroups, read-only; the number of its processors */         \
	X(ETC, "etc")         /* the sandbox's passwd and group files */                         \
	X(UNMOUNT, "unmount") /* unmounts a share of a running sandbox */                        \
	X(REFRESH, "refresh") /* an overlay of a running sandbox reads its layers again */       \
	X(TMPFS, "tmpfs")                                                                        \
	X(SHARE, "share") /* a client's descriptor, cloned, private, id-mapped */                \
	X(HOST, "host")   /* the same for a path that the policy names */                        \
	/* a path inside, made a mount point, so that nobody can rename or remove it */          \
	X(PIN, "pin")                                                                            \
	X(READ_ONLY, "read-only") /* a path inside, made read-only */                            \
	X(MASK, "mask")           /* a path inside, hidden */                                    \
	X(LOOPBACK, "loopback")   /* brings up lo */                                             \
	/* makes all addresses local, so that yett-front gets the connections */                 \
	X(NETWORK, "network")                                                                    \
	X(HOSTNAME, "hostname")                                                                  \
	/* drops the capabilities of building and enters the user namespace of commands */       \
	X(IDENTITY, "identity")                                                                  \
	X(INIT, "init") /* yett-init serves, with the label of commands */

enum plan_step_kind {
#define X(name, text) PLAN_##name,
	PLAN_STEPS(X)
#undef X
		PLAN_STEP_KINDS,
};

struct plan_text {
	uint32_t offset; /* in the arena; NUL-terminated there */
};

/*
 * Each kind uses only some of the members; the others are 0. Flags of this struct and of struct
 * plan are uint8_t: a plan may come from another process, and a bool that is neither 0 nor 1 would
 * be undefined.
 */
struct plan_step {
	uint32_t kind;           /* enum plan_step_kind */
	struct plan_text target; /* absolute path inside, normalized */
	/*
	 * HOST: absolute path on the host. HOSTNAME: the name. SHARE: host directories, separated
	 * by '\n'; the shared file must be one of them or below one; "*": anything that the client
	 * could open. SHARE of a socket: paths, separated likewise; the socket's path must be one
	 * of them. SLOT: name of the grant or ceiling that bounds the number of the user's
	 * sandboxes; CGROUP: of the one that bounds their memory; `target` is "grant" or "ceiling".
	 */
	struct plan_text source;
	uint32_t fd;       /* SHARE: index among the client's descriptors */
	uint32_t mode;     /* TMPFS: permissions of its root */
	uint32_t layer;    /* SHARE: enum plan_layer */
	uint8_t writable;  /* SHARE, HOST */
	uint8_t is_socket; /* SHARE */
	/* HOST, PIN, READ_ONLY, MASK: skip the step if the path does not exist */
	uint8_t optional;
	/*
	 * TMPFS, ROOT: size of the tmpfs. SHARE that is a PLAN_LAYER_SOURCE: size of the tmpfs that
	 * holds the changes; 0: a store holds them.
	 */
	uint64_t size_bytes;
	/*
	 * FILE:LINE of the policy that requires or bounds the step; empty: the request, or every
	 * sandbox, does.
	 */
	struct plan_text from;
};

/*
 * The part of a share in an overlay that is mounted at its target. Both layers are directories of
 * the caller's.
 */
enum plan_layer {
	PLAN_LAYER_NONE = 0,   /* not in an overlay: the share itself is mounted */
	PLAN_LAYER_SOURCE = 1, /* the lower layer, which does not change */
	PLAN_LAYER_STORE = 2,  /* has the directories "upper" and "work", which hold the changes */
};

enum plan_identity {
	PLAN_IDENTITY_PRIVATE = 0, /* inside the caller's id, outside a private id */
	PLAN_IDENTITY_ROOT = 1,    /* inside 0, outside a private id */
	PLAN_IDENTITY_CALLER = 2,  /* the caller's id inside and outside */
};

enum plan_network {
	PLAN_NETWORK_NONE = 0, /* loopback only */
	/*
	 * What rules allow. In this mode and the next, yett-front and yett-dialer serve the network
	 * by rules.
	 */
	PLAN_NETWORK_LIMITED = 1,
	PLAN_NETWORK_OPEN = 2, /* everything except private addresses and what rules deny */
	/*
	 * The host's: the sandbox has no network namespace, and no process serves or limits its
	 * network.
	 */
	PLAN_NETWORK_HOST = 3,
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
	uint64_t stack_max_bytes;               /* how far programs may raise that limit */
	uint64_t core_bytes;                    /* RLIMIT_CORE; PLAN_CORE_NONE: no core files */
	uint64_t io_read_bytes, io_write_bytes; /* per second, for each disk */
};

/* How long the sandbox may live, in milliseconds; 0: no limit. */
struct plan_life {
	uint64_t wall_ms, cpu_ms, idle_ms, cleanup_ms;
	uint64_t linger_ms; /* of a lingering sandbox: idle or paused, with no client attached */
	/* Of each command: the default time limit, and the maximum. */
	uint64_t command_ms, command_max_ms;
	uint8_t linger, idle_pauses;
};

#define PLAN_LABELS_MAX  32
#define PLAN_LABEL_MAX   256  /* as MESSAGE_KEY_VALUE_MAX */
#define PLAN_LABELS_SIZE 2560 /* of all labels together, each with its NUL */
#define PLAN_WEAKER_SIZE 512  /* for all reasons together */

#define PLAN_PROGRAM_SIZE 256
#define PLAN_KEY_SIZE     53 /* of the line of a key, with its NUL: key_line.h */

/*
 * Who asks for the sandbox. The kernel reports the ids; a process of the user reports the program,
 * and yett-decider the key.
 */
struct plan_asker {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	char program[PLAN_PROGRAM_SIZE]; /* empty: not known */
	char key[PLAN_KEY_SIZE];         /* that signed the last request; empty: none */
	/*
	 * The name under which the administrator enrolled the key. Empty: the user enrolled it, or
	 * there is no key.
	 */
	char principal[65];
};

struct plan {
	uint64_t shape; /* PLAN_SHAPE */
	char id[PLAN_ID_SIZE];
	struct plan_asker asker; /* the monitor fills this in, and the id */
	/* a supervisor with another policy generation refuses the plan */
	uint64_t policy_generation;
	uint32_t profile; /* index in the policy's table */
	uid_t caller_uid;
	gid_t caller_gid;
	gid_t groups[PLAN_GROUPS_MAX]; /* the caller's supplementary groups */
	uint32_t groups_count;
	uint32_t identity; /* enum plan_identity */
	/* A mask of 1 << CAP_*: what commands keep in their user namespace. */
	uint64_t capabilities;
	uint8_t nested_userns; /* commands may make user namespaces */
	uint8_t perf_events;   /* commands may measure and sample themselves */
	/*
	 * ROOT's trees, and each SHARE and HOST that is not writable, are below an overlay of the
	 * sandbox.
	 */
	uint8_t overlay_ro;
	uint32_t sandboxes_max; /* of this caller at once; 0: unlimited */
	uint32_t terminals_max; /* of the sandbox at once */
	uint32_t network;       /* enum plan_network */
	struct plan_life life;
	struct plan_limits limits; /* of this sandbox */
	/* Of all the caller's sandboxes together: memory, cpu, pids. */
	struct plan_limits user_limits;
	uint32_t umask;
	int32_t nice;
	/*
	 * For the sandbox's passwd and group files. A home other than "/" is an empty directory on
	 * the sandbox's root.
	 */
	struct plan_text user_name, group_name, home, shell;
	/*
	 * The name of the sandbox besides its id, and of the enrolled key that asked. Empty: none.
	 */
	struct plan_text name, principal;
	struct plan_text labels[PLAN_LABELS_MAX]; /* KEY=VALUE, for clients that list sandboxes */
	uint32_t labels_count;
	struct plan_text label;        /* the AppArmor profile of init and commands; empty: none */
	struct plan_text selinux_type; /* the SELinux type of init; empty: none */
	uint8_t label_required;        /* refuse to make the sandbox without the label */
	/*
	 * The request only asks whether the sandbox can be made: it is made until it could serve,
	 * then taken down.
	 */
	uint8_t is_dry;
	struct plan_text env[PLAN_ENV_MAX]; /* NAME=VALUE for every command */
	uint32_t env_count;
	/* For people who read the plan. */
	struct plan_text profile_name, profile_place, grant_name, grant_place;
	struct plan_text asked; /* the request in words, for the audit */
	/*
	 * "profile", "grant" or "ceiling", its name and place: the one whose max_command_timeout
	 * applies.
	 */
	struct plan_text command_section, command_name, command_place;
	/*
	 * Why the sandbox is weaker than others, for people, as the end of a sentence; empty: it is
	 * not.
	 */
	char weaker[PLAN_WEAKER_SIZE];
	uint32_t share_fds; /* how many descriptors come with the plan */
	uint32_t steps_count;
	uint32_t arena_used;
	struct plan_step steps[PLAN_STEPS_MAX];
	char arena[PLAN_ARENA_MAX]; /* last, so that only the used part need be sent */
};

/*
 * Identifies the layout of struct plan. After an upgrade, a newly started program may get a plan of
 * another version, of a sandbox that was made before. A program that reads from the plan which user
 * to become must check this first.
 */
#define PLAN_SHAPE                                                                       \
	((uint64_t)sizeof(struct plan) << 32 | offsetof(struct plan, caller_uid) << 16 | \
	 offsetof(struct plan, groups_count))

/* Returns a text of the plan as a C string; "" for the zero text (offset 0 always holds ""). */
const char *plan_text(const struct plan *plan, struct plan_text text);

/* Returns whether an overlay of the client's layers is mounted. */
bool plan_has_layers(const struct plan *plan);

/* Returns whether the network goes by rules, which yett-front and yett-dialer serve. */
static inline bool plan_network_has_rules(uint32_t network)
{
	return network == PLAN_NETWORK_LIMITED || network == PLAN_NETWORK_OPEN;
}

/*
 * Returns whether two plans have the same base: what the profile, the caller and the caller's
 * grants decide, whatever else is requested. A pre-started sandbox is one in which only the steps
 * of the base are done; a request with the same base can use it. What the profile alone decides is
 * the same if the profile and the policy's generation are.
 */
bool plan_same_base(const struct plan *a, const struct plan *b);
