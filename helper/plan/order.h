/*
 * What root tells init: descriptors at fixed numbers, and packets on the control socket.
 *
 * All of it is read by init (unprivileged) before it reads anything from a client. It is trusted:
 * init's maker is root. Lengths are checked all the same, so that a bug ends in an error.
 */
#pragma once

#include "base/error.h"
#include "protocol/message_told.h"

#include <stdint.h>

/* Descriptors init starts with; 0, 1 and 2 are the sandbox's /dev/null. Nothing else is open. */
enum init_fd {
	INIT_FD_CONTROL = 3, /* SOCK_SEQPACKET to the supervisor; end of file there ends init */
	INIT_FD_CHANNEL = 4, /* SOCK_SEQPACKET to the client: the first exec channel */
	INIT_FD_CGROUP =
		5, /* O_DIRECTORY of SANDBOX in the v2 tree; init's id may make leaves in it */
	INIT_FD_MEMORY_EVENTS = 6, /* a "key value" file with oom_kill: memory.events (v2),
	                              memory.oom_control (v1) */
	INIT_FD_MEMORY_PEAK = 7,   /* one number in bytes: memory.peak (v2, Linux 5.19),
	                              memory.max_usage_in_bytes (v1) */
	INIT_FD_PIDS_EVENTS = 8,   /* "max N": pids.events */
	INIT_FD_CPU_STAT = 9,      /* cpu.stat with nr_throttled */
	INIT_FD_DEV = 10, /* a mount that shows the template's /dev through an overlay of the
	                     sandbox's own; of profiles with overlay_ro */
	INIT_FD_END = 11,
};

/* supervisor → init, one byte a packet, once init serves. */
enum init_word {
	INIT_WORD_CHANNEL = 'c', /* with one descriptor: a further exec channel */
	INIT_WORD_KILL = 'k',    /* every command */
	INIT_WORD_TELL = 't',    /* somebody follows what happens: an init_event for each */
	INIT_WORD_REST = 'r',    /* nobody does any more */
	INIT_WORD_KEEP = 'h', /* with a socket that is to be held until the end: locks of stores are
	                         sent to it */
};

/*
 * supervisor → init, before it serves: what to build. READY: what the profile decides of the plan,
 * on the guess that the next one will be alike there (plan_same_base()). SANDBOX: the rest, or all.
 * MOUNT: to the program that enters one that is there, and ends: the shares of the plan, and what
 * the profile hides in them. PORTS: likewise, with the memory of struct egress_rules alone: sockets
 * that listen at each port of the rules, which it sends to the front (struct egress_listeners) over
 * INIT_FD_CHANNEL.
 */
enum init_order_kind {
	INIT_ORDER_READY = 1,
	INIT_ORDER_SANDBOX = 2,
	INIT_ORDER_MOUNT = 3,
	INIT_ORDER_PORTS = 4
};
enum init_order_fd {
	INIT_ORDER_PLAN,    /* sealed memory: struct plan as far as it is used */
	INIT_ORDER_PROFILE, /* sealed memory: struct init_profile as far as it is used */
	INIT_ORDER_TREES, /* where struct init_trees come from; only with a plan that has a SHARE or
	                     a HOST, and no READY */
	INIT_ORDER_FDS,
};

/* X(CAP_*): what init is started with, in the upper user namespace of the sandbox, and which of its
 * functions needs it. */
#define INIT_BUILD_CAPABILITIES(X)                                                               \
	X(CAP_SYS_ADMIN)        /* mounts; names_host; lower_enter */                            \
	X(CAP_SYS_CHROOT)       /* enter_root */                                                 \
	X(CAP_NET_ADMIN)        /* names_loopback, network_make, ports_serve */                  \
	X(CAP_NET_BIND_SERVICE) /* ports_serve */                                                \
	X(CAP_SETUID)           /* lower_make (uid_map), lower_be_command */                     \
	X(CAP_SETGID)           /* lower_make (gid_map), lower_be_command */                     \
	X(CAP_SETFCAP)          /* lower_make: a map that has id 0 */                            \
	X(CAP_SETPCAP)          /* lower_shed */                                                 \
	X(CAP_SYS_RESOURCE)     /* close_door, where there is no lower user namespace */         \
	X(CAP_KILL)             /* what init keeps, likewise: lower_stay */                      \
	X(CAP_CHOWN)        /* make_directory and its like; gone with lower_shed, as the next */ \
	X(CAP_DAC_OVERRIDE) /* make_component below a home; lower_be_mounter */                  \
	X(CAP_FOWNER)       /* make_personal: the mode of what was just given away */

#define INIT_CONTEXT_SIZE 192 /* SELINUX_CONTEXT_MAX */

struct init_order {
	uint32_t kind;
	uint32_t payload_uid, payload_gid; /* of commands, as seen inside */
	bool by_port; /* its network comes to a listener for each port, by a wire that PORTS makes
	               */
	bool is_rootless;         /* one id, which is the caller's, and nothing can be id-mapped */
	bool limits_pids_by_user; /* RLIMIT_NPROC bounds processes: there is no control group for it
	                           */
	bool uses_selinux;        /* else the plan's label is AppArmor's */
	char process_label[INIT_CONTEXT_SIZE],
		files_label[INIT_CONTEXT_SIZE]; /* SELinux contexts; empty: none */
	char resolvers[4096]; /* of a sandbox in the host's network: the host's resolv.conf(5), as
	                         much as fits; empty: none */
};

/* What a profile decides and no plan says; the same for all its sandboxes. */
struct init_profile {
	uint32_t init_filter_count, command_filter_count; /* as in struct init_config */
	uint32_t entries_count;
	uint32_t data_used;
	uint32_t is_recorded; /* 0, or what happens is told for the audit: of file operations, too,
	                         and each is waited for */
	/*
	 * The filters; then the profile's list for /etc, names that never begin with a slash; then
	 * for each tree of the template its path, and where it points if it is a link, else
	 * nothing: two texts.
	 */
	uint8_t data[] __attribute__((aligned(8)));
};

/*
 * From whoever cloned the mounts: first, in one packet, for each step of the plan what its tree is,
 * so that there is a place for it before there is the tree. Then the trees, which are detached
 * mounts, in as many packets as it takes.
 */
enum init_tree { INIT_TREE_NONE, INIT_TREE_FILE, INIT_TREE_DIRECTORY };

#define INIT_TREES_MAX 64
struct init_trees {
	uint32_t count;
	bool is_last;
	uint32_t steps[INIT_TREES_MAX]; /* which step of the plan each descriptor is for */
};

#define INIT_LABEL_SIZE 128

/* What holds a sandbox besides its plan, as init finds it. */
struct init_layers {
	uint8_t landlock_abi;        /* the version of Landlock in force; 0: none */
	char label[INIT_LABEL_SIZE]; /* of AppArmor, as the kernel writes it; empty: the kernel has
	                                none */
};

/*
 * init → supervisor, while somebody follows. Where it is told for the audit, init waits until it
 * goes; else what does not go at once is lost, and counted.
 */
#define INIT_ARGV_SIZE 520
struct init_event {
	uint32_t kind;    /* enum event_kind: STARTED, EXITED, FAILED, TIMEOUT */
	uint32_t lost;    /* events just before this one */
	uint64_t command; /* counted from 1 */
	uint32_t pid, error;
	struct message_exited result;
	uint8_t argv[INIT_ARGV_SIZE]; /* of STARTED and FAILED: struct argv, of which root's program
	                                 knows nothing */
};

/* init → supervisor, now and then, and at init's orderly end: what commands came to since the last
 * such packet. */
struct init_totals {
	uint64_t successes, failures, timeouts, duration_us; /* timeouts are failures, too */
};

/*
 * init → supervisor, one packet for each order: done (of a SANDBOX: it serves the channel), or why
 * not; of a MOUNT by who carries it out. With one descriptor where there is somebody to tell of
 * forbidden system calls: the listener of init's filter, which init keeps no copy of.
 */
struct init_report {
	uint32_t kind; /* enum init_order_kind */
	int32_t error; /* 0: done; else an errno, or a code when `refused` says more */
	struct init_layers layers;
	char step[60];
	struct yett_error refused;
};
