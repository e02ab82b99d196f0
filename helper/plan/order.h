/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What root gives init: descriptors at fixed numbers, and packets on the control socket.
 *
 * Init (unprivileged) reads all of this before it reads anything from a client. Init trusts it,
 * since root starts init. Lengths are checked all the same, so that a bug ends in an error.
 */
#pragma once

#include "base/error.h"
#include "protocol/message_state.h"

/*
 * The descriptors that init starts with; 0, 1 and 2 are the sandbox's /dev/null. No other is open.
 */
enum init_fd {
	INIT_FD_CONTROL = 3, /* SOCK_SEQPACKET to the supervisor; init ends at end of file */
	INIT_FD_CHANNEL = 4, /* SOCK_SEQPACKET to the client: the first exec channel */
	/* O_DIRECTORY of SANDBOX in the v2 tree; init's id may make leaf cgroups in it */
	INIT_FD_CGROUP = 5,
	/* a "key value" file with the key oom_kill: memory.events (v2), memory.oom_control (v1) */
	INIT_FD_MEMORY_EVENTS = 6,
	/* one number in bytes: memory.peak (v2, Linux 5.19), memory.max_usage_in_bytes (v1) */
	INIT_FD_MEMORY_PEAK = 7,
	INIT_FD_PIDS_EVENTS = 8, /* "max N": pids.events */
	INIT_FD_CPU_STAT = 9,    /* cpu.stat with nr_throttled */
	/*
	 * for profiles with overlay_ro: a mount of the template's /dev below an overlay of the
	 * sandbox
	 */
	INIT_FD_DEV = 10,
	INIT_FD_END = 11,
};

/* supervisor → init, once init serves: one byte in each packet. */
enum init_word {
	INIT_WORD_CHANNEL = 'c', /* with one descriptor: another exec channel */
	INIT_WORD_KILL = 'k',    /* kill every command */
	/* an event stream is followed: send an init_event for each event */
	INIT_WORD_REPORT = 't',
	INIT_WORD_REST = 'r', /* no event stream is followed any more */
	/*
	 * with a socket that init must keep open until it ends: the locks of stores are sent to
	 * that socket
	 */
	INIT_WORD_KEEP = 'h',
};

/*
 * supervisor → init, before init serves: what to build.
 *
 * READY: the steps that the profile and the caller decide, before there is a request, on the guess
 * that the next plan has the same base (plan_same_base()). SANDBOX: the other steps, or all of
 * them.
 *
 * MOUNT and PORTS go to a second yett-init, which enters a running sandbox, carries out the order
 * and exits. MOUNT: mount the shares of the plan and hide what the profile hides in them. PORTS:
 * listen at each port of the rules, and send the sockets to yett-front (struct egress_listeners)
 * over INIT_FD_CHANNEL. The only descriptor of PORTS is the memory of struct egress_rules.
 */
enum init_order_kind {
	INIT_ORDER_READY = 1,
	INIT_ORDER_SANDBOX = 2,
	INIT_ORDER_MOUNT = 3,
	INIT_ORDER_PORTS = 4
};
enum init_order_fd {
	INIT_ORDER_PLAN,    /* sealed memory: the used part of struct plan */
	INIT_ORDER_PROFILE, /* sealed memory: the used part of struct init_profile */
	/*
	 * the socket on which struct init_trees arrive; only for a plan with a SHARE or HOST, and
	 * never for READY
	 */
	INIT_ORDER_TREES,
	INIT_ORDER_FDS,
};

/*
 * X(CAP_*): the capabilities that init is started with, in the sandbox's upper user namespace, and
 * which of its functions needs each.
 */
#define INIT_BUILD_CAPABILITIES(X)                                                                 \
	X(CAP_SYS_ADMIN)        /* mounts; names_host; lower_enter */                              \
	X(CAP_SYS_CHROOT)       /* enter_root */                                                   \
	X(CAP_NET_ADMIN)        /* names_loopback, network_make, ports_serve */                    \
	X(CAP_NET_BIND_SERVICE) /* ports_serve */                                                  \
	X(CAP_SETUID)           /* lower_make (uid_map), lower_be_command */                       \
	X(CAP_SETGID)           /* lower_make (gid_map), lower_be_command */                       \
	X(CAP_SETFCAP)          /* lower_make: a map that has id 0 */                              \
	X(CAP_SETPCAP)          /* lower_shed */                                                   \
	X(CAP_SYS_RESOURCE)     /* close_door, where there is no lower user namespace */           \
	X(CAP_KILL)         /* lower_stay: init keeps it where there is no lower user namespace */ \
	X(CAP_CHOWN)        /* make_personal: chown; lower_shed drops this and the next two */     \
	X(CAP_DAC_OVERRIDE) /* make_component below a home; lower_be_mounter */                    \
	X(CAP_FOWNER)       /* make_personal: chmod after chown */

#define INIT_CONTEXT_SIZE 192 /* SELINUX_CONTEXT_MAX */

struct init_order {
	uint32_t kind;
	uint32_t payload_uid, payload_gid; /* ids of commands, as seen inside */
	/*
	 * Connections reach yett-front through one listener for each port, over a link that PORTS
	 * makes.
	 */
	bool by_port;
	/* There is only the caller's id, and mounts cannot be id-mapped. */
	bool is_rootless;
	/* RLIMIT_NPROC limits the processes, because no cgroup does. */
	bool limits_pids_by_user;
	bool uses_selinux; /* false: the plan's label is AppArmor's */
	/* SELinux contexts; empty: none */
	char process_label[INIT_CONTEXT_SIZE], files_label[INIT_CONTEXT_SIZE];
	/*
	 * For a sandbox in the host's network: the host's resolv.conf(5), as much as fits; empty:
	 * none.
	 */
	char resolvers[4096];
};

/* Settings of a profile that are not in the plan; the same for all sandboxes of the profile. */
struct init_profile {
	uint32_t init_filter_count, command_filter_count; /* as in struct init_config */
	uint32_t entries_count;
	uint32_t data_used;
	/*
	 * Not 0: init sends all events for the audit, including those of file operations, and waits
	 * until each is sent.
	 */
	uint32_t is_recorded;
	/*
	 * The filters; then the profile's list for /etc, whose names never begin with a slash; then
	 * two texts for each tree of the template: its path, and the target if the tree is a
	 * symbolic link, otherwise the empty text.
	 */
	uint8_t data[] __attribute__((aligned(8)));
};

/*
 * From the mount-clone child. The first packet says for each step of the plan what its tree is, so
 * that init can make the mount point before the tree arrives. Then come the trees, which are
 * detached mounts, in as many packets as are needed.
 */
enum init_tree { INIT_TREE_NONE, INIT_TREE_FILE, INIT_TREE_DIRECTORY };

#define INIT_TREES_MAX 64
struct init_trees {
	uint32_t count;
	bool is_last;
	uint32_t steps[INIT_TREES_MAX]; /* which step of the plan each descriptor is for */
};

#define INIT_LABEL_SIZE 128

/* Which security modules confine a sandbox, as init finds them. */
struct init_layers {
	uint8_t landlock_abi; /* version of Landlock in force; 0: none */
	/* of AppArmor, as the kernel writes it; empty: the kernel has no AppArmor */
	char label[INIT_LABEL_SIZE];
};

/*
 * init → supervisor, while an event stream is followed, or for the audit. For the audit init waits
 * until the event is sent. Otherwise init drops an event that cannot be sent at once, and counts it
 * in `lost`.
 */
#define INIT_ARGV_SIZE 520
struct init_event {
	uint32_t kind;    /* enum event_kind: STARTED, EXITED, FAILED, TIMEOUT */
	uint32_t lost;    /* events that were dropped just before this one */
	uint64_t command; /* which command, counted from 1 */
	uint32_t pid, error;
	struct message_exited result;
	/*
	 * of STARTED and FAILED: struct argv of programs/inside/init/argv.h, which yett-helper does
	 * not read
	 */
	uint8_t argv[INIT_ARGV_SIZE];
};

/*
 * init → supervisor, from time to time and when init ends in order: the results of the commands
 * that ended since the last such packet.
 */
struct init_totals {
	/* timeouts are also counted as failures */
	uint64_t successes, failures, timeouts, duration_us;
};

/*
 * init → supervisor, one packet for each order: done, or why not. After a SANDBOX, done means that
 * init serves the exec channel. The process that carries out a MOUNT or PORTS sends the report
 * itself.
 *
 * The packet has one descriptor if denied system calls are to be reported: the listener of init's
 * seccomp filter (seccomp_unotify(2)). Init keeps no copy.
 */
struct init_report {
	uint32_t kind; /* enum init_order_kind */
	int32_t error; /* 0: done; otherwise an errno, or a code, which `refused` explains */
	struct init_layers layers;
	char step[60];
	struct yett_error refused;
};
