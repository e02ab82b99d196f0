/*
 * The builder and its child inside: the processes that are ready before a plan is. See setup.h.
 *
 * With full privilege. The builder sits in the sandbox's cgroups and only ever forks; its child, born there and in the
 * new namespaces, waits for the word to go, carries out the plan and becomes yett-init. Both end with the supervisor.
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"
#include "protocol/frame.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Waiting for a grace period with a busy machine; nothing here depends on a client. */
#define BUILDER_DEADLINE_MS 20000

enum make_fd { MAKE_CONTROL, MAKE_CHANNEL, MAKE_FDS };

/* Whether the builder stays for the next sandbox: on v1, where only a fork gets into a group without waiting. */
static bool keeps_builder(const struct setup *setup)
{
	return setup->host->cgroups.has_v1;
}

static bool has_cgroup(const struct setup *setup)
{
	return setup->host->cgroups.count > 0;
}

/*
 * Takes what the client wants to share, out of its own packet: the monitor has seen that it lies there and what it says. What a
 * client made is open in this process only, which is the sandbox's and can be killed.
 */
static int take_shares(struct setup *setup, int connection, struct frame *frame)
{
	int r = frame_receive(connection, frame, MSG_DONTWAIT);

	if (r == -EMSGSIZE || (r > 0 && frame->fd_count != setup->plan->share_fds))
		return error_set(&setup->shared->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT, "%s", error_reason_text(YETT_R_FD_COUNT));
	for (size_t i = 0; r > 0 && i < frame->fd_count; i++)
		setup->fds[i] = frame->fds[i];
	return r > 0 ? 0 : r < 0 ? r : -ECONNRESET;
}

/* Takes the descriptors that come with the word to go; the rest is in the shared plan and map. */
static int receive_go(struct setup *setup)
{
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	int r = frame ? frame_receive(setup->control, frame, 0) : -ENOMEM;
	_cleanup_fd_ int connection = -1;

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	if (frame->fd_count < GO_CONNECTION)
		return -EPROTO;
	setup->user_ns = frame->fds[GO_USER_NS];
	setup->share_ns = frame->fds[GO_SHARE_NS];
	if (frame->fd_count == GO_CONNECTION)
		return 0;
	connection = frame->fds[GO_CONNECTION];
	return take_shares(setup, connection, frame);
}

static void resolve_ids(struct setup *setup)
{
	setup->payload_uid = idmap_host(&setup->map->uids, setup->map->payload_uid);
	setup->payload_gid = idmap_host(&setup->map->gids, setup->map->payload_gid);
	setup->owner_uid = idmap_host(&setup->map->uids, 0);
	setup->owner_gid = idmap_host(&setup->map->gids, 0);
	if (setup->host->templates[setup->plan->profile].selinux >= SELINUX_PERMISSIVE) {
		uint32_t init = idmap_host(&setup->map->uids, setup->map->init_inside); /* of the range, whatever the identity */

		selinux_process_context(plan_text(setup->plan, setup->plan->selinux_type), init, setup->process_label);
		selinux_file_context(init, setup->files_label);
	}
}

/* Builds on a guess of the plan, and goes back to where a client's mounts can be cloned. */
static int stage(struct setup *setup, int *ret_mount_ns)
{
	_cleanup_fd_ int outside = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ struct plan *plan = malloc(sizeof *plan);
	const struct plan *real = setup->plan;
	int r;

	if (outside < 0 || !plan)
		return -ENOMEM;
	/* The supervisor will write the next plan where this one stands: it waits until we have a copy. */
	memcpy(plan, real, sizeof *plan);
	if (write(setup->control, "", 1) != 1)
		return -EPIPE;
	setup->plan = plan;
	resolve_ids(setup);
	r = setup_run_ahead(setup, &setup->shared->error);
	if (r == 0)
		r = setup_run_staged(setup, true, &setup->shared->error);
	setup->plan = real;
	if (r != 0)
		return r;
	*ret_mount_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	return *ret_mount_ns < 0 || setns(outside, CLONE_NEWNS) < 0 ? -errno : 0;
}

/* What is left when the client has spoken. */
static int carry_out(struct setup *setup, bool is_staged, int mount_ns)
{
	struct yett_error *error = &setup->shared->error;
	int r;

	resolve_ids(setup);
	r = setup_run_steps(setup, STAGE_CLONE, error);
	if (r == 0 && is_staged)
		r = setns(mount_ns, CLONE_NEWNS) < 0 ? -errno : 0;
	if (r == 0)
		r = is_staged ? setup_run_staged(setup, false, error) : setup_run_steps(setup, STAGE_INSIDE, error);
	return r;
}

static void __attribute__((noreturn)) inside(struct setup *setup)
{
	bool is_staged = setup->shared->is_staged;
	int mount_ns = -1, r;

	/* Until init asks for it itself; each change of identity clears it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	r = is_staged ? stage(setup, &mount_ns) : setup_run_ahead(setup, &setup->shared->error);
	if (r == 0) {
		r = receive_go(setup);
		if (r == -EPIPE)
			_exit(0); /* nobody wanted it */
	}
	if (r == 0)
		r = carry_out(setup, is_staged, mount_ns);
	if (r < 0)
		r = error_set(&setup->shared->error, YETT_E_INIT_FAILED, 0, "the sandbox could not begin: %s", strerror(-r));
	setup->shared->result = r;
	_exit(1);
}

/* Forks the process inside, as a child of the supervisor. The mount namespace is still the helper's: see STAGE_CLONE. */
static int fork_inside(struct setup *setup)
{
	const uint64_t flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PARENT;
	/* The supervisor makes a new leaf for each sandbox. */
	_cleanup_fd_ int leaf = openat(setup->cgroup.sandbox[0], "init", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	pid_t pid;

	/* Rooted where the builder is, at the sandbox's group: one made by the clone would be rooted at the leaf. */
	if ((leaf < 0 && has_cgroup(setup)) || unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	pid = kernel_clone(flags | (leaf < 0 ? 0 : CLONE_INTO_CGROUP), 0, leaf, NULL);
	if (pid == 0) {
		(void)close(setup->builder.go);
		inside(setup);
	}
	if (pid > 0)
		setup->shared->init_pid = pid;
	return pid < 0 ? pid : 0;
}

static int take_ends(struct setup *setup)
{
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	int r = frame ? frame_receive(setup->builder.go, frame, 0) : -ENOMEM;

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	if (frame->fd_count != MAKE_FDS)
		return -EPROTO;
	setup->control = frame->fds[MAKE_CONTROL];
	setup->channel = frame->fds[MAKE_CHANNEL];
	return 0;
}

/* What setup_inside_error() then says; 0 and what only means that nobody is there any more are passed on. */
static int name_step(struct setup *setup, const char *step, int r)
{
	if (r < 0 && r != -EPIPE) {
		error_set(&setup->shared->error, YETT_E_INIT_FAILED, 0, "set-up step %s failed: %s", step, strerror(-r));
		setup->shared->result = error_cause(&setup->shared->error, step, -r);
	}
	return r;
}

static void __attribute__((noreturn)) builder(struct setup *setup)
{
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	r = setup_step_reached("builder", "enter");
	if (r == 0)
		r = keeps_builder(setup) ? cgroup_enter(&setup->cgroup) : 0; /* else it was born there */
	r = name_step(setup, "enter", r);
	/* What the supervisor holds of this sandbox's client is not ours to keep open. */
	setup_host_keep_only(setup->host,
			     (const int[]){setup->builder.go, setup->cgroup.sandbox[0], setup->counters[0], setup->counters[1],
					   setup->counters[2], setup->counters[3]},
			     6);
	while (r == 0) {
		r = take_ends(setup);
		if (r == 0)
			r = setup_step_reached("builder", "fork");
		if (r == 0)
			r = fork_inside(setup);
		r = name_step(setup, "fork", r);
		if (r == 0 && write(setup->builder.go, "", 1) != 1)
			r = -EPIPE;
		setup->control = fd_close(setup->control);
		setup->channel = fd_close(setup->channel);
		if (!keeps_builder(setup))
			break;
	}
	_exit(r != 0 && r != -EPIPE);
}

static int start_builder(struct setup *setup)
{
	int pair[2];
	bool is_born_there = has_cgroup(setup) && !keeps_builder(setup);
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = kernel_clone(is_born_there ? CLONE_INTO_CGROUP : 0, SIGCHLD, is_born_there ? setup->cgroup.sandbox[0] : -1, NULL);
	if (pid == 0) {
		(void)close(pair[0]);
		setup->builder.go = pair[1];
		builder(setup);
	}
	(void)close(pair[1]);
	setup->builder = (struct setup_builder){pid, pair[0]};
	return pid < 0 ? pid : 0;
}

int builder_make_inside(struct setup *setup)
{
	int control[2], channel[2], r = setup->builder.pid > 0 ? 0 : start_builder(setup);
	struct pollfd wait = {.fd = setup->builder.go, .events = POLLIN};
	char byte;

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	setup->control = control[0];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return fd_close(control[1]), -errno;
	setup->channel = channel[0];
	r = frame_send(setup->builder.go, "", 1, (const int[]){control[1], channel[1]}, MAKE_FDS, 0);
	(void)close(control[1]);
	(void)close(channel[1]);
	if (r == 0 && poll(&wait, 1, BUILDER_DEADLINE_MS) <= 0)
		r = -ETIMEDOUT;
	if (r == 0 && read(setup->builder.go, &byte, 1) != 1)
		r = -ECHILD;
	if (r < 0 || !keeps_builder(setup))
		builder_end(setup);
	if (r < 0)
		return r;
	setup->init_pidfd = kernel_pidfd_open(setup->shared->init_pid);
	if (setup->init_pidfd < 0)
		return setup->init_pidfd;
	/* It has taken its copy of the expected plan, or it is gone and start_over() will see to it. */
	if (setup->shared->is_staged && read(setup->control, &byte, 1) < 0)
		return -errno;
	return 0;
}

void builder_end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	/* __WALL: a child made with CLONE_PARENT and no exit signal is a "clone" child. wait(2) */
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

void builder_end(struct setup *setup)
{
	builder_end_child(setup->builder.pid);
	setup->builder.pid = -1;
	setup->builder.go = fd_close(setup->builder.go);
}
