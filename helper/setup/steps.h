/*
 * One set-up in the making, as the step functions of setup/ see it. Private to setup/.
 */
#pragma once

#include "helper/setup/setup.h"
#include "protocol/message.h"

/* Shared between supervisor, builder and inside; anonymous, and gone with them. */
struct setup_shared {
	struct plan plan;
	struct yett_error error; /* filled by the process whose step failed */
	int result;              /* 0, -errno or a code; -EINPROGRESS until known */
	pid_t init_pid;
};

/* Descriptors that travel with the word to go, in this order, before the client's own. */
enum setup_go_fd { GO_CONTROL, GO_CHANNEL, GO_USER_NS, GO_FDS };

struct setup {
	const struct setup_host *host;
	struct setup_shared *shared;
	const struct plan *plan; /* in shared */
	char name[24]; /* of the cgroup; nobody else's while this supervisor lives */
	struct cgroup cgroup;
	uint64_t oom_kills; /* of earlier sandboxes in the same cgroup */
	struct reservation range, slot;
	uint32_t first; /* host id that the range begins with */
	struct idmap map;
	int user_ns;
	int counters[4];
	int go; /* to the builder; in the builder, to the supervisor */
	pid_t builder;
	int control, channel; /* supervisor: control of init. builder, inside: init's ends */
	int init_pidfd;
	/* of the builder and inside */
	int fds[MESSAGE_FDS_MAX]; /* the client's */
	int share_ns;             /* user namespace that maps shares; -1: user_ns */
	int trees[PLAN_STEPS_MAX]; /* by step: the clone that it will attach; -1 */
	int root;                 /* the sandbox's root directory, once there is one */
	dev_t root_device;
	uint32_t owner_uid, owner_gid; /* host ids of what is root's inside */
	uint32_t payload_uid, payload_gid; /* host ids of commands */
};

typedef int (*setup_step_function)(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/*
 * What is done for a kind of step, and where; NULL: nothing. The stages follow one another, each over the whole plan:
 * the client's mounts can only be cloned before the builder leaves the helper's mount namespace. A table in build.c.
 */
enum setup_stage { STAGE_SUPERVISOR, STAGE_CLONE, STAGE_BUILDER, STAGE_INSIDE, SETUP_STAGES };

/* Test builds replace this function to stop or die here; otherwise it does nothing. */
void setup_step_reached(const char *process, const char *step);

/* config.c: sends init its configuration, ahead of its start. 0 or -errno. */
_must_check_ int config_send(const struct setup *setup, int control);

/* root.c */
int root_make(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_proc(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_devpts(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int root_names(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/* mounts.c */
int mounts_clone_share(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_clone_host(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_attach(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_tmpfs(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_read_only(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int mounts_mask(struct setup *setup, const struct plan_step *step, struct yett_error *error);

/* identity.c */
int identity_loopback(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_hostname(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_take(struct setup *setup, const struct plan_step *step, struct yett_error *error);
int identity_become_init(struct setup *setup, const struct plan_step *step, struct yett_error *error);
