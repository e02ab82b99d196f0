/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root's part of a sandbox: the only code that makes privileged system calls for one. Runs with
 * full privilege in the supervisor and in these children of the supervisor:
 *
 * - set-up child: leaves the host, starts init, exits. cgroup_forker.c, identity.c
 * - cgroup forker (with cgroup v1): stays in the sandbox's cgroups and only forks. cgroup_forker.c
 * - mount-clone child: checks and clones what the client shares, exits. share.c
 * - mount child, port listener: enter an existing sandbox, change it, exit. mount.c
 * - proxy, connector: become yett-front and yett-dialer, which serve the network. egress.c
 *
 * Must not decode a client's messages. init (programs/inside/init/build) does the rest, without
 * privilege over the host.
 */
#pragma once

#include "helper/setup/egress.h"
#include "helper/setup/idmap.h"
#include "helper/setup/registry.h"
#include "helper/setup/template.h"

/*
 * Programs that a supervisor executes. They are opened once, so an upgrade that replaces the files
 * does not change what a running helper executes.
 */
enum setup_program { SETUP_INIT, SETUP_PROXY, SETUP_CONNECTOR, SETUP_RESOLVER, SETUP_PROGRAMS };

/*
 * Everything that does not depend on a request. The listener (or a one-shot helper) makes it once;
 * children inherit it by fork.
 */
struct setup_host {
	const struct policy *policy;
	struct cgroup_host cgroups;
	struct reserve_host reserve;
	struct template *templates;   /* one for each profile of the policy */
	int programs[SETUP_PROGRAMS]; /* opened by setup_host_open(); yett-init is a sealed memfd */
	const char *libexec;          /* directory of the other programs, borrowed */
	/* host id that root's files appear as; UINT32_MAX without root: ids are not mapped */
	uint32_t face;
	/*
	 * BPF cannot be used (port_listener_is_possible()): connections are caught only at the
	 * ports that the rules name
	 */
	bool by_port;
	const struct setup_rootless *rootless; /* borrowed; NULL: with root's privilege */
};

/*
 * Hooks of programs/rootless/, for a helper that has privilege only in a user namespace in which
 * the caller's id alone is mapped.
 */
struct setup_rootless {
	int cgroup; /* a v2 group that was delegated to the caller, borrowed; -1: none */
	/*
	 * Called once the runtime directory exists, so that a child can build a template while the
	 * rest is opened.
	 */
	void (*expect)(struct setup_host *host);
	void (*make_map)(const struct idmap_subject *subject, struct idmap *ret_map);
	/*
	 * Reopens what the client has open through a mount of this process's mount namespace.
	 * Returns a descriptor or -errno.
	 */
	int (*reopen)(int fd);
};

/*
 * Opens what every profile needs. `policy`, `libexec` (the directory of the programs) and
 * `rootless` are borrowed and must outlive the host. `rootless` is NULL for a helper with root's
 * privilege. Returns 0, -errno, or a positive code with the reason in `error`.
 */
_must_check_ int setup_host_open(const struct policy *policy, const char *libexec,
                                 const struct setup_rootless *rootless,
                                 struct setup_host **ret_host, struct yett_error *error);

/*
 * Builds the template of a profile unless it is built already. Returns 0, -errno or a positive
 * code.
 */
_must_check_ int setup_host_profile(struct setup_host *host, size_t profile,
                                    struct yett_error *error);

/*
 * Returns whether RLIMIT_NPROC bounds the processes of a sandbox because no cgroup can.
 * RLIMIT_NPROC counts per user and user namespace.
 */
static inline bool setup_limits_pids_by_user(const struct setup_host *host)
{
	return host->rootless && !(host->cgroups.controllers & CGROUP_PIDS);
}

void setup_host_close(struct setup_host *host);
static inline void setup_host_closep(struct setup_host **host)
{
	setup_host_close(*host);
}

/*
 * Call in a child that was just forked. Closes every descriptor from 3 on except those of the host
 * and the `count` descriptors of `keep`. A copy left open would keep a socket or lock alive after
 * the process that owns it has died. Exits the process if memory is short.
 */
void setup_host_keep_only(const struct setup_host *host, const int *keep, size_t count);

/*
 * Removes what dead supervisors have left: processes, cgroups, reservations. A supervisor must
 * never call this: reserve_sweep() would drop the locks that the supervisor itself holds.
 */
void setup_sweep(const struct setup_host *host);

/*
 * An order: what to make. setup_keep_order() and setup_drop_order() consume its descriptors and its
 * mapping.
 */
struct setup_order {
	int memory; /* sealed memory with the used part of the plan; -1: there is no order */
	/*
	 * sealed struct egress_rules (programs/net/egress.h); -1: the plan has no network rules
	 */
	int rules;
	const struct plan *plan; /* `memory`, mapped */
	/*
	 * the client's connection, whose next packet carries what is shared; -1: the plan has no
	 * shares
	 */
	int connection;
};

#define SETUP_KEEPS_MAX 64

#define SETUP_NO_ORDER ((struct setup_order){.memory = -1, .rules = -1, .connection = -1})

/* User namespaces that map the ids of cloned shares: share.c. */
enum setup_map { SETUP_MAP_SHARES, SETUP_MAP_LAYERS, SETUP_MAPS };

/*
 * One sandbox that is being made or exists. Only helper/setup/ changes it, with two exceptions: its
 * supervisor writes `record` and `is_tainted`. The supervisor may read all of it.
 */
struct setup {
	const struct setup_host *host;
	struct setup_shared *shared;
	char name[24]; /* of the cgroup; unique while this supervisor lives */
	struct cgroup cgroup;
	struct reservation range, slot, called;
	/* as last written to the file of `range`, or as it will be written next */
	struct record record;
	/* socket on which the end of the sandbox was reported to yett-audit; -1: none */
	int audit;
	int listening;      /* socket for requests about this sandbox: registry_listen() */
	uint32_t first;     /* first host id of the range */
	struct idmap map;   /* id map of the user namespace */
	uint32_t init_host; /* host id of map.init_inside */
	/*
	 * the sandbox's upper user namespace (programs/inside/init/build/build.h); -1 without root,
	 * where every sandbox is in the helper's own
	 */
	int user_ns;
	pid_t forker; /* cgroup forker; 0: none */
	int go;       /* socket to the cgroup forker, which takes a request for each fork */
	/*
	 * our end of init's control socket; the client's end of the exec channel until the client
	 * has it
	 */
	int control, channel;
	int init_pidfd;
	/*
	 * init's mount namespace, held so that unmounting does not delay the report of the
	 * sandbox's end; -1: the mount namespace ends with init
	 */
	int mount_ns;
	/* a detached process unmounts; nobody waits long for it: let_go_of_mounts() */
	bool leaves_mounts;
	/* sockets that init holds, with locks of stores that were mounted later: mount.c */
	uint32_t keeps_count;
	pid_t mount_clone_child; /* mount-clone child; 0: none */
	/* made ahead of the request, to save the client that time; -1: none */
	int maps[SETUP_MAPS];
	struct egress egress;
	uint32_t profile; /* profile that init was started for */
	/* init was made in the host's network namespace, and has none of its own */
	bool shares_network;
	/* order of the sandbox that exists here, or of the one before it */
	struct setup_order last;
	bool fits; /* the ids of `map` are those that init was started with */
	/*
	 * pre-started sandbox: init builds, or has built, the base of the plan of `last`, and sends
	 * a report for that as well
	 */
	bool is_ready;
	/*
	 * Tainted: a descriptor that a compromised init or decider may have sent could not be
	 * closed, or a process did not end. This supervisor makes no further sandbox.
	 */
	bool is_tainted;
};

/* Returns the user that the plan makes the sandbox for; borrows the plan's groups. */
struct idmap_subject setup_subject(const struct plan *plan);

/*
 * Does what depends only on the user of a request: reserves a range, makes the cgroups and a user
 * namespace for `subject`, and starts an init in new namespaces for `profile`. These are guesses:
 * setup_reserve() and setup_build() replace what does not fit the plan. `plan` is NULL while the
 * plan is unknown; otherwise the user's slot is taken before anything else. Returns 0, -errno or a
 * positive code.
 */
_must_check_ int setup_prepare(const struct setup_host *host, const struct idmap_subject *subject,
                               uint32_t profile, const struct plan *plan, struct setup **ret_setup,
                               struct yett_error *error);

/*
 * Reserves what the plan counts against limits: a slot of its user and the sandbox's name. Sets the
 * cgroup limits and the ids. Returns 0, a positive code or -errno. After a failure no sandbox was
 * made; call setup_finish() and setup_forget(), or setup_end().
 */
_must_check_ int setup_reserve(struct setup *setup, const struct setup_order *order,
                               struct yett_error *error);

/*
 * Call after setup_reserve(). Carries out root's part of the plan, and orders init to carry out the
 * rest. The packet with the client's descriptors waits in the socket `order->connection`: only the
 * mount-clone child receives it, so no other process of root's ever has those descriptors open. On
 * success init is building and has not reported on `control` yet; call
 * setup_end_mount_clone_child() after its report. `ret_channel` is the client's end of the exec
 * channel. Returns 0 or -errno; after a failure call setup_end().
 */
_must_check_ int setup_build(struct setup *setup, const struct setup_order *order,
                             int *ret_channel);

/* Call after init's report. Ends the mount-clone child if it still runs. */
void setup_end_mount_clone_child(struct setup *setup);

/*
 * Moves `order` into `last` (consumed). setup_recycle() expects the next sandbox to have the same
 * plan.
 */
void setup_keep_order(struct setup *setup, struct setup_order *order);

/* Closes and unmaps everything that the order holds. Sets the order to SETUP_NO_ORDER. */
void setup_drop_order(struct setup_order *order);

/*
 * Returns the error of a child that gave up before init built, and copies that error to `error`.
 * Returns `r` if no child did.
 */
_must_check_ int setup_explain(const struct setup *setup, int r, struct yett_error *error);

/*
 * Mounts the shares of the order's plan in the existing sandbox and unmounts what the plan says, in
 * the order of the plan's steps. Masks what the profile hides in them. Returns 0 or a positive
 * code; after a failure nothing is mounted, or only some of it if a process had to be killed. Waits
 * at most 5 s for a file system of the client's that does not answer, 1 s for init to take the
 * socket for a store's lock, and 2 s for the end of each of two processes. Raises the capabilities
 * of building for this, and lowers them again.
 */
_must_check_ int setup_mount(struct setup *setup, const struct setup_order *order,
                             struct yett_error *error);

/* Writes `record` to the file in which other processes read it. */
void setup_publish(struct setup *setup);

/*
 * setup_count() returns a counter of the sandbox's cgroups, which includes earlier sandboxes in
 * these groups; 0 where the host does not count it. setup_is_busy() returns whether a process other
 * than init runs in the sandbox.
 */
uint64_t setup_count(struct setup *setup, enum usage_count count);
bool setup_is_busy(const struct setup *setup);

/*
 * Returns the process id, as seen inside the sandbox, of the process that `thread` (a host thread
 * id) belongs to; 0 if the thread is gone or cannot be seen. proc_pid_status(5)
 */
uint32_t setup_pid_inside(uint32_t thread);

/*
 * Call when a process that serves the network has ended. Starts the network processes again, at
 * most EGRESS_STARTS_MAX times in all. Raises privilege for that. Returns whether they run.
 */
bool setup_restart_network(struct setup *setup);

/* Ends all processes of the sandbox. Returns whether the kernel's OOM killer killed any of them. */
bool setup_finish(struct setup *setup);

/* Call after setup_finish(). Releases the user's slot and the sandbox's name. */
void setup_forget(struct setup *setup);

/*
 * Call after setup_forget(). Prepares another sandbox of the same user, with a new range and user
 * namespace, in the same cgroups and with the same cgroup forker. Returns 0 or -errno; after a
 * failure only setup_end() may be called.
 */
_must_check_ int setup_recycle(struct setup *setup, const struct idmap_subject *subject);

/* Ends what runs, removes cgroups and reservations, and frees `setup`. */
void setup_end(struct setup *setup);
