/*
 * What root does for a sandbox: the only code that makes privileged system calls for one.
 *
 * Processes that take part:
 *   supervisor  reserves ids, makes cgroups and the user namespace, gives orders, and stays
 *   leaver      is born in the sandbox's cgroups, leaves the host for the template and the user
 * namespace, makes init, and is gone sharer      looks at what the client brought, clones it, sends
 * the clones to init, and is gone builder     where cgroups are of v1 only: sits in them and forks
 * leavers (moving there waits for a grace period) mounter     enters a sandbox that is there,
 * mounts in it, and is gone: mount.c front, dialer   serve its network: egress.h. Where there is no
 * BPF, a catcher makes what the front listens on, and is gone init        builds the sandbox as
 * nobody of the host: programs/init/build. Started before there is a request, where one is expected
 * A failing step is named in the error; what came before it is undone by setup_end().
 */
#pragma once

#include "helper/plan/order.h"
#include "helper/plan/plan.h"
#include "helper/policy/policy.h"
#include "helper/setup/cgroup.h"
#include "helper/setup/egress.h"
#include "helper/setup/idmap.h"
#include "helper/setup/registry.h"
#include "helper/setup/template.h"

/* Those that a supervisor starts, also when an upgrade has put others in their places. */
enum setup_program { SETUP_INIT, SETUP_FRONT, SETUP_DIALER, SETUP_RESOLVER, SETUP_PROGRAMS };

/* What does not depend on a request; made once by the listener (or a one-shot helper), inherited by
 * fork. */
struct setup_host {
	const struct policy *policy;
	struct cgroup_host cgroups;
	struct reserve_host reserve;
	struct template *templates;   /* one for each profile of the policy */
	int programs[SETUP_PROGRAMS]; /* as they were when this began; yett-init in a sealed memfd
	                               */
	const char *libexec;          /* where the other programs are, borrowed */
	uint32_t face;                /* UINT32_MAX without root: files are whose they are */
	bool by_port;                 /* connections are caught only at ports that rules are about:
	                                 catch_is_possible() */
	const struct setup_rootless *rootless; /* borrowed; NULL: with root's privilege */
};

/* What a helper does in its own way that is root of nothing but a user namespace with the caller's
 * id in it: programs/rootless/. */
struct setup_rootless {
	int cgroup; /* a v2 group that was delegated to the caller, borrowed; -1: none */
	void (*expect)(struct setup_host *host); /* while the rest is opened, once the runtime
	                                            directory is there */
	void (*make_map)(const struct idmap_subject *subject, struct idmap *ret_map);
	int (*reopen)(int fd); /* what the client has open, by a mount of this mount namespace; a
	                          descriptor or -errno */
};

/*
 * Opens what every profile needs; the policy, and `rootless`, are borrowed and must outlive the
 * host. The programs are in `libexec`. `rootless` NULL: with root's privilege. 0, -errno or a
 * positive code with the reason.
 */
_must_check_ int setup_host_open(const struct policy *policy, const char *libexec,
                                 const struct setup_rootless *rootless,
                                 struct setup_host **ret_host, struct yett_error *error);

/* Builds the template of a profile unless that was done. 0, -errno or a positive code. */
_must_check_ int setup_host_profile(struct setup_host *host, size_t profile,
                                    struct yett_error *error);

/* Whether a sandbox's bound on processes is RLIMIT_NPROC, which counts within its user namespace:
 * there is no cgroup for it. */
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
 * In a child that was just forked: closes every descriptor from 3 on but the host's and the `count`
 * ones of `keep`, so that no process holds open what another one's life is tied to.
 */
void setup_host_keep_only(const struct setup_host *host, const int *keep, size_t count);

/* Removes what supervisors that are gone have left: processes, cgroups, reservations. Never called
 * by a supervisor. */
void setup_sweep(const struct setup_host *host);

/* What is to be made. setup_keep_order() and setup_drop_order() own what it has. */
struct setup_order {
	int memory; /* sealed, with the plan as far as it is used; -1: there is no order */
	int rules;  /* sealed: struct egress_rules of programs/egress/egress.h; -1: the plan has no
	               network */
	const struct plan *plan; /* the same, mapped */
	int connection; /* of the client's, whose next packet has what is shared; -1: the plan has
	                   no shares */
};

#define SETUP_KEEPS_MAX 64

#define SETUP_NO_ORDER ((struct setup_order){.memory = -1, .rules = -1, .connection = -1})

/* User namespaces that clones of what is shared are mapped by: share.c. */
enum setup_map { SETUP_MAP_SHARES, SETUP_MAP_LAYERS, SETUP_MAPS };

/* One sandbox in the making, or made. Only setup/ changes it, but for what `record` says of the
 * sandbox, and `is_spoilt`; its supervisor reads it. */
struct setup {
	const struct setup_host *host;
	struct setup_shared *shared;
	char name[24]; /* of the cgroup; nobody else's while this supervisor lives */
	struct cgroup cgroup;
	struct reservation range, slot, called;
	struct record record; /* as it was written to the range's file last, or will be next */
	int audit;            /* where it has told of the sandbox's end; -1 */
	int listening;      /* where the supervisor is asked about its sandbox: registry_listen() */
	uint32_t first;     /* host id that the range begins with */
	struct idmap map;   /* of the user namespace */
	uint32_t init_host; /* what init_inside is outside */
	int user_ns;   /* the sandbox's upper one: build.h of init; without root -1, since all have
	                  the helper's own */
	pid_t builder; /* 0: none */
	int go;        /* asks it for an init */
	int control, channel; /* our end of init's control socket, and the client's of the exec
	                         channel until the client has it */
	int init_pidfd;
	int mount_ns; /* init's: what is mounted there goes after the client was told of the end.
	                 -1: with init */
	bool leaves_mounts;   /* to a process that nobody waits for */
	uint32_t keeps_count; /* sockets that init holds, with locks of stores that were mounted
	                         later: mount.c */
	pid_t sharer;         /* 0: none */
	int maps[SETUP_MAPS]; /* made ahead, while nobody waits; -1: none */
	struct egress egress;
	uint32_t profile;    /* that init was started for */
	bool shares_network; /* init is in the network namespace of its maker, and has none of its
	                        own */
	struct setup_order
		last;  /* by which the sandbox was made that is here, or was before this one */
	bool fits;     /* init has the ids of `map` */
	bool is_ready; /* init builds, or has built, the base of the plan of `last`: then it reports
	                  that, too */
	bool is_spoilt; /* something of an init's or a decider's could not be closed, or a process
	                 * did not end: it is the last sandbox here
	                 */
};

/* Whose sandbox the plan makes. */
struct idmap_subject setup_subject(const struct plan *plan);

/*
 * What can be done before the request is known but for its user: range, cgroups, the user namespace
 * for `subject`, and an init in new namespaces for `profile`. These are only guesses: a plan for
 * others gets others. `plan`, NULL if it is not known yet: its slot is taken first of all. 0,
 * -errno or a code.
 */
_must_check_ int setup_prepare(const struct setup_host *host, const struct idmap_subject *subject,
                               uint32_t profile, const struct plan *plan, struct setup **ret_setup,
                               struct yett_error *error);

/*
 * Takes what the plan counts against: its user's slot and its name, the limits, the ids. 0; or a
 * code or -errno, and nothing was made. On failure call setup_finish(), or setup_end().
 */
_must_check_ int setup_reserve(struct setup *setup, const struct setup_order *order,
                               struct yett_error *error);

/*
 * After setup_reserve(): carries out root's part of the plan, and has init carry out the rest. A
 * process of its own takes the packet that lies in the client's connection, with what is to be
 * shared, so that nobody else ever has that open. On success init is building but has not yet
 * reported on `control`; then setup_end_sharer() is due. `ret_channel` is the client's end of the
 * exec channel. On failure call setup_end().
 */
_must_check_ int setup_build(struct setup *setup, const struct setup_order *order,
                             int *ret_channel);

/* After init's report: ends the process that shared, if it has not ended. */
void setup_end_sharer(struct setup *setup);

/* It becomes `last` (consumed): the next sandbox is expected to be like the one of this plan,
 * setup_recycle(). */
void setup_keep_order(struct setup *setup, struct setup_order *order);

/* Lets go of all that it has; the connection also by itself. */
void setup_drop_order(struct setup_order *order);

/* Why a process of ours gave up before init built, with that error; if none did, `r`. */
_must_check_ int setup_explain(const struct setup *setup, int r, struct yett_error *error);

/*
 * Mounts the shares of the order's plan in the sandbox that is here, and takes off what that says,
 * in the order of its steps; masks what the profile hides in them. 0 or a code: then nothing is
 * mounted, or, where a process was killed for it, some. Waits for a file system of the client's no
 * longer than five seconds, and two more for each of two processes to end. It takes what building
 * takes.
 */
_must_check_ int setup_mount(struct setup *setup, const struct setup_order *order,
                             struct yett_error *error);

/* Has others see what `record` says now. */
void setup_publish(struct setup *setup);

/* What its groups have counted, also for earlier sandboxes, 0 where nothing counts it; and whether
 * any process is there but init. */
uint64_t setup_count(struct setup *setup, enum usage_count count);
bool setup_is_busy(const struct setup *setup);

/* The process of a thread of a sandbox, as it is numbered inside; 0: it is gone, or not to be seen.
 * proc_pid_status(5) */
uint32_t setup_pid_inside(uint32_t thread);

/* When what serves the network has ended: starts it again, unless that was done. Whether it runs.
 * For that, privilege is raised. */
bool setup_restart_network(struct setup *setup);

/* Ends what runs of the sandbox. Whether the kernel killed in it for want of memory. */
bool setup_finish(struct setup *setup);

/* After setup_finish(): it no longer counts as one of the user's, and its name is free. */
void setup_forget(struct setup *setup);

/*
 * After setup_forget(): prepares for another sandbox of the same user, with another range and user
 * namespace, in the same cgroups and with the same builder. 0, or -errno: then setup_end() is all
 * that can be done.
 */
_must_check_ int setup_recycle(struct setup *setup, const struct idmap_subject *subject);

/* Ends what runs, and removes cgroups and reservations. Frees `setup`. */
void setup_end(struct setup *setup);
