/*
 * One set-up in the making, as the step functions of setup/ see it. Private to setup/.
 */
#pragma once

#include "helper/setup/setup.h"
#include "protocol/message.h"

#include <sys/stat.h>

/* Shared between supervisor, builder and inside; anonymous, and gone with them. */
struct setup_shared {
	struct plan plan; /* while the process inside waits: that of the user's last sandbox, if is_staged */
	struct idmap map;
	bool is_staged; /* the process inside has done what setup_is_staged() says of that plan */
	struct yett_error error; /* filled by the process whose step failed */
	int result;              /* 0, -errno or a code; -EINPROGRESS until known */
	pid_t init_pid;
};

/* Descriptors that travel with the word to go, in this order; the connection only where the plan has shares. */
enum setup_go_fd { GO_USER_NS, GO_SHARE_NS, GO_CONNECTION, GO_FDS };

struct setup_builder {
	pid_t pid; /* -1: none */
	int go;    /* supervisor: asks it for a process inside. builder: the other end */
};

struct setup {
	const struct setup_host *host;
	struct setup_shared *shared;
	const struct plan *plan; /* in shared */
	char name[24]; /* of the cgroup; nobody else's while this supervisor lives */
	struct cgroup cgroup;
	struct reservation range, slot, called;
	struct record record; /* as it was written to the range's file last, or will be next */
	int listening;
	uint32_t first; /* host id that the range begins with */
	const struct idmap *map; /* in shared */
	struct plan *staged;     /* of the supervisor: a copy of that plan; NULL: none */
	int user_ns;
	int counters[4];
	int share_ns; /* user namespace that maps shares */
	struct setup_builder builder;
	int control, channel; /* init's ends; in the supervisor the others, the channel's until the client has it */
	int init_pidfd;
	bool is_spoilt; /* something of an init's could not be closed */
	/* of the process inside */
	int proc;                  /* made ahead */
	int fds[MESSAGE_FDS_MAX];  /* the client's */
	int trees[PLAN_STEPS_MAX]; /* by step: the clone that it will attach; -1 */
	int beneath;              /* the template's own root directory, on which that one lies; -1 until mounts_overlay() */
	int root;                 /* the sandbox's root directory, once there is one */
	dev_t root_device;
	uint32_t owner_uid, owner_gid; /* host ids of what is root's inside */
	uint32_t payload_uid, payload_gid; /* host ids of commands */
	/* SELinux contexts of init and of the sandbox's own file systems; empty where there are none */
	char process_label[SELINUX_CONTEXT_MAX], files_label[SELINUX_CONTEXT_MAX];
};

typedef int (*setup_step_function)(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/*
 * What is done for a kind of step, and when; NULL: nothing. AHEAD is done once for every kind, without a plan, by the
 * process inside while it waits; the others go over the whole plan. CLONE comes before that process leaves the helper's
 * mount namespace, because only there can a client's mounts be cloned. The table is in build.c.
 */
enum setup_stage { STAGE_AHEAD, STAGE_SUPERVISOR, STAGE_CLONE, STAGE_INSIDE, SETUP_STAGES };

/*
 * build.c, for the process inside: what needs no plan; then what of an expected plan needs no client (`staged`), or what is left
 * of the real one. 0 or a code, with the step in the error.
 */
_must_check_ int setup_run_ahead(struct setup *setup, struct yett_error *error);
_must_check_ int setup_run_staged(struct setup *setup, bool staged, struct yett_error *error);
_must_check_ int setup_run_steps(struct setup *setup, enum setup_stage stage, struct yett_error *error);

/*
 * builder.c: has a process ready inside new namespaces, waiting for the word to go; starts the builder if need be.
 * 0 or -errno.
 */
_must_check_ int builder_make_inside(struct setup *setup);
void builder_end(struct setup *setup);

/* Kills and reaps a child of ours; takes 0 and -1. */
void builder_end_child(pid_t pid);

/* 0. Test builds replace this function to wait, die or fail (-errno) here. */
int setup_step_reached(const char *process, const char *step);

/* config.c: sends init its configuration, ahead of its start. 0 or -errno. */
_must_check_ int config_send(const struct setup *setup, int control);

/* root.c */
int root_make(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_prepare_proc(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_proc(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_devpts(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_names(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/* mounts.c */

/*
 * Makes of `*tree` (a mount, of no namespace or of this one) a read-only overlay of the sandbox's own that shows the same: a lock,
 * a watch, a pipe or a socket there is none of what lies behind. `path` is where it is, or will be. First called before
 * the sandbox's root is in place. 0, -errno, or a code with the reason: for files, for what has mounts below it, which
 * would not be shown, and where the kernel refuses.
 */
_must_check_ int mounts_overlay(struct setup *setup, const char *path, int *tree, struct yett_error *error);
int mounts_check_share(const struct setup *setup, int fd, const struct plan_step *step, struct stat *ret_stat, struct yett_error *error);
int mounts_clone_share(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_clone_host(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_attach(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_tmpfs(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_read_only(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_mask(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/* identity.c */
int identity_leave_keyring(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_loopback(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_hostname(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_take(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_become_init(struct setup *setup, const struct plan_step *step, struct yett_error *error);
