/*
 * The order of the steps, and the processes that carry them out. See setup.h and steps.h.
 *
 * With full privilege. Everything a builder or its child leaves behind dies with it; what the supervisor made is
 * undone by setup_end().
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"
#include "protocol/frame.h"

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A build waits for nobody; this is for a file system of the client's that does not answer. */
#define BUILD_DEADLINE_MS 20000

static int take_slot(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)step;
	return reserve_slot(&setup->host->reserve, setup->plan->caller_uid, setup->plan->sandboxes_max, &setup->slot, error);
}

static int limit_cgroup(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	int r = cgroup_limit(&setup->cgroup, &setup->plan->limits, &setup->plan->user_limits, error);

	(void)step;
	return r == 0 ? cgroup_delegate(&setup->cgroup, idmap_host(&setup->map.uids, setup->map.init_inside)) : r;
}

static struct idmap_subject subject_of(const struct plan *plan)
{
	return (struct idmap_subject){.uid = plan->caller_uid,
				      .gid = plan->caller_gid,
				      .groups = plan->groups,
				      .groups_count = plan->groups_count,
				      .identity = (enum plan_identity)plan->identity};
}

static bool same_half(const struct idmap_half *a, const struct idmap_half *b)
{
	return a->count == b->count && memcmp(a->lines, b->lines, a->count * sizeof a->lines[0]) == 0;
}

static int map_ids(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	struct idmap_subject subject = subject_of(setup->plan);
	struct idmap map;
	int r = idmap_make(&subject, setup->first, setup->host->face, &map);

	(void)step;
	if (r == -E2BIG)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "this user's groups need more lines than an id map can have");
	if (r < 0)
		return r;
	if (setup->user_ns >= 0 && !(same_half(&map.uids, &setup->map.uids) && same_half(&map.gids, &setup->map.gids)))
		setup->user_ns = fd_close(setup->user_ns);
	setup->map = map;
	return 0;
}

static int open_user_namespace(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	int fd;

	(void)step;
	if (setup->user_ns >= 0)
		return 0;
	fd = idmap_open(&setup->map);
	if (fd == -ENOSPC)
		return error_set(error, YETT_E_UNSUPPORTED, 0,
				 "this host allows no user namespaces; as root: sysctl user.max_user_namespaces=15000");
	if (fd < 0)
		return fd;
	setup->user_ns = fd;
	return 0;
}

static int enter_template(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)step, (void)error;
	return setns(setup->host->templates[setup->plan->profile].mount_ns, CLONE_NEWNS) < 0 ? -errno : 0;
}

static int make_namespaces(struct setup *setup, const struct plan_step *step, struct yett_error *error);

static const setup_step_function steps[PLAN_STEP_KINDS][SETUP_STAGES] = {
	[PLAN_SLOT] = {[STAGE_SUPERVISOR] = take_slot},
	[PLAN_IDS] = {[STAGE_SUPERVISOR] = map_ids},
	[PLAN_CGROUP] = {[STAGE_SUPERVISOR] = limit_cgroup},
	[PLAN_USER_NAMESPACE] = {[STAGE_SUPERVISOR] = open_user_namespace},
	[PLAN_TEMPLATE] = {[STAGE_BUILDER] = enter_template},
	[PLAN_NAMESPACES] = {[STAGE_BUILDER] = make_namespaces},
	[PLAN_ROOT] = {[STAGE_INSIDE] = root_make},
	[PLAN_PROC] = {[STAGE_INSIDE] = root_proc},
	[PLAN_DEVPTS] = {[STAGE_INSIDE] = root_devpts},
	[PLAN_ETC] = {[STAGE_INSIDE] = root_names},
	[PLAN_TMPFS] = {[STAGE_INSIDE] = mounts_tmpfs},
	[PLAN_SHARE] = {[STAGE_CLONE] = mounts_clone_share, [STAGE_INSIDE] = mounts_attach},
	[PLAN_HOST] = {[STAGE_CLONE] = mounts_clone_host, [STAGE_INSIDE] = mounts_attach},
	[PLAN_READ_ONLY] = {[STAGE_INSIDE] = mounts_read_only},
	[PLAN_MASK] = {[STAGE_INSIDE] = mounts_mask},
	[PLAN_LOOPBACK] = {[STAGE_INSIDE] = identity_loopback},
	[PLAN_HOSTNAME] = {[STAGE_INSIDE] = identity_hostname},
	[PLAN_IDENTITY] = {[STAGE_INSIDE] = identity_take},
	[PLAN_INIT] = {[STAGE_INSIDE] = identity_become_init},
};

static const char *const stage_names[] = {"supervisor", "builder", "builder", "sandbox"};

static int run_step(struct setup *setup, const struct plan_step *step, setup_step_function function, const char *process,
		    struct yett_error *error)
{
	const char *name = plan_step_name(step->kind), *target = plan_text(setup->plan, step->target);
	int r;

	setup_step_reached(process, name);
	r = function(setup, step, error);
	if (r < 0) {
		error_set(error, YETT_E_INIT_FAILED, 0, "set-up step %s failed: %s", name, strerror(-r));
		r = YETT_E_INIT_FAILED;
	}
	if (r != 0 && error->detail[0] == '\0')
		error_detail(error, "step %s%s%s, in the %s", name, target[0] ? " " : "", target, process);
	return r;
}

/* Runs one stage over the whole plan. */
static int run_steps(struct setup *setup, enum setup_stage stage, struct yett_error *error)
{
	for (uint32_t i = 0; i < setup->plan->steps_count; i++) {
		const struct plan_step *step = &setup->plan->steps[i];
		setup_step_function function = steps[step->kind][stage];
		int r = function ? run_step(setup, step, function, stage_names[stage], error) : 0;

		if (r != 0)
			return r;
	}
	return 0;
}

static void __attribute__((noreturn)) inside(struct setup *setup)
{
	/* Until init asks for it itself; each change of identity clears it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	setup->shared->result = run_steps(setup, STAGE_INSIDE, &setup->shared->error);
	_exit(1);
}

static int make_namespaces(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			       CLONE_PARENT | CLONE_INTO_CGROUP;
	/* The supervisor makes a new one for each sandbox; the namespace is rooted above it, where the builder is. */
	_cleanup_fd_ int leaf = openat(setup->cgroup.sandbox[0], "init", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	pid_t pid = leaf < 0 ? -errno : kernel_clone(flags, 0, leaf, NULL);

	(void)step, (void)error;
	if (pid < 0)
		return pid;
	if (pid == 0)
		inside(setup);
	setup->shared->init_pid = pid;
	return 0;
}

/* Whether the builder stays for the next sandbox: on v1, where only a fork gets into a group without waiting. */
static bool setup_keeps_builder(const struct setup *setup)
{
	return setup->host->cgroups.has_v1;
}

/* Takes the descriptors that come with the word to go. -EPIPE: there will be none any more. */
static int receive_go(struct setup *setup)
{
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	int r = frame ? frame_receive(setup->go, frame, 0) : -ENOMEM;

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	if (frame->fd_count < GO_FDS)
		return -EPROTO;
	setup->control = frame->fds[GO_CONTROL];
	setup->channel = frame->fds[GO_CHANNEL];
	setup->user_ns = frame->fds[GO_USER_NS];
	for (size_t i = GO_FDS; i < frame->fd_count; i++)
		setup->fds[i - GO_FDS] = frame->fds[i];
	/* What the supervisor worked out since the builder was made. */
	if (frame->length != sizeof setup->map)
		return -EPROTO;
	memcpy(&setup->map, frame->bytes, sizeof setup->map);
	return 0;
}

/* The ids that files of this sandbox get, and for a payload that is 0 inside the map of its shares. */
static int resolve_ids(struct setup *setup)
{
	const struct idmap *map = &setup->map;

	setup->payload_uid = idmap_host(&map->uids, map->payload_uid);
	setup->payload_gid = idmap_host(&map->gids, map->payload_gid);
	setup->owner_uid = idmap_host(&map->uids, 0);
	setup->owner_gid = idmap_host(&map->gids, 0);
	if (!map->shares_need_own_map)
		return 0;
	setup->share_ns = idmap_open_single(setup->plan->caller_uid, setup->payload_uid, setup->plan->caller_gid, setup->payload_gid);
	return setup->share_ns < 0 ? setup->share_ns : 0;
}

/* One sandbox, from the word to go until init's process exists. */
static int build_one(struct setup *setup)
{
	int r = resolve_ids(setup);

	if (r == 0)
		r = run_steps(setup, STAGE_CLONE, &setup->shared->error);
	if (r == 0)
		r = run_steps(setup, STAGE_BUILDER, &setup->shared->error);
	if (r < 0) {
		error_set(&setup->shared->error, YETT_E_INIT_FAILED, 0, "the builder could not begin: %s", strerror(-r));
		r = YETT_E_INIT_FAILED;
	}
	return r;
}

/* Gives up what the last sandbox needed, and returns to the helper's own mount namespace. */
static int forget_one(struct setup *setup, int mount_ns)
{
	const int keep[] = {setup->go, mount_ns, setup->cgroup.sandbox[0], setup->counters[0], setup->counters[1],
			    setup->counters[2], setup->counters[3]};

	setup_host_keep_only(setup->host, keep, ARRAY_SIZE(keep));
	setup->share_ns = setup->root = -1;
	for (size_t i = 0; i < ARRAY_SIZE(setup->trees); i++)
		setup->trees[i] = -1;
	return setns(mount_ns, CLONE_NEWNS) < 0 ? -errno : 0;
}

static void __attribute__((noreturn)) builder(struct setup *setup)
{
	int mount_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), r;
	char byte = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	setup_step_reached("builder", "enter");
	r = mount_ns < 0 ? -errno : cgroup_enter(&setup->cgroup);
	/* The supervisor waits for this byte before it hands the builder a plan or calls itself prepared. */
	if (r < 0 || write(setup->go, &byte, 1) != 1)
		_exit(2);
	do {
		r = receive_go(setup);
		if (r < 0)
			_exit(r != -EPIPE);
		r = build_one(setup);
		if (r != 0)
			setup->shared->result = r;
		if (write(setup->go, &byte, 1) != 1)
			_exit(2);
	} while (setup_keeps_builder(setup) && forget_one(setup, mount_ns) == 0);
	_exit(r != 0);
}

static void setup_init(const struct setup_host *host, struct setup *setup)
{
	*setup = (struct setup){.host = host,
				.range = {.fd = -1},
				.slot = {.fd = -1},
				.user_ns = -1,
				.counters = {-1, -1, -1, -1},
				.go = -1,
				.builder = -1,
				.control = -1,
				.channel = -1,
				.init_pidfd = -1,
				.share_ns = -1,
				.root = -1};
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++)
		setup->cgroup.user[i] = setup->cgroup.sandbox[i] = -1;
	for (size_t i = 0; i < ARRAY_SIZE(setup->trees); i++)
		setup->trees[i] = -1;
}

static int prepare_cgroup(struct setup *setup, uid_t uid, const char *name)
{
	int r = cgroup_create(&setup->host->cgroups, uid, name, &setup->cgroup);
	if (r == -EEXIST) {
		/* Left by a crash whose reservation is already gone; it had our pid, and is no more. */
		r = cgroup_sweep(&setup->host->cgroups, uid, name);
		if (r == 0)
			r = cgroup_create(&setup->host->cgroups, uid, name, &setup->cgroup);
	}
	if (r == 0)
		r = cgroup_make_leaf(&setup->cgroup);
	if (r == 0)
		cgroup_open_counters(&setup->cgroup, setup->counters);
	return r;
}

/* Starts the builder and waits until it is in its cgroups. */
static int start_builder(struct setup *setup)
{
	int pair[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	setup->builder = fork();
	if (setup->builder == 0) {
		(void)close(pair[0]);
		setup->go = pair[1];
		builder(setup);
	}
	(void)close(pair[1]);
	setup->go = pair[0];
	if (setup->builder < 0)
		return -errno;
	return read(setup->go, &byte, 1) == 1 ? 0 : -ECHILD;
}

/* Range and user namespace for the next sandbox. */
static int prepare_ids(struct setup *setup, const struct idmap_subject *subject, struct yett_error *error)
{
	uint32_t index = 0;
	int r = reserve_range(&setup->host->reserve, subject->uid, setup->name, &setup->range, &index, error);

	if (r != 0)
		return r;
	setup->first = setup->host->reserve.ids_first + index * IDMAP_RANGE;
	r = idmap_make(subject, setup->first, setup->host->face, &setup->map);
	if (r < 0)
		return r;
	setup->user_ns = idmap_open(&setup->map);
	return setup->user_ns < 0 ? setup->user_ns : 0;
}

int setup_prepare(const struct setup_host *host, const struct idmap_subject *subject, struct setup **ret_setup,
		  struct yett_error *error)
{
	struct setup *setup = calloc(1, sizeof *setup);
	int r;

	if (!setup)
		return -ENOMEM;
	setup_init(host, setup);
	setup->shared = mmap(NULL, sizeof *setup->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (setup->shared == MAP_FAILED) {
		free(setup);
		return -ENOMEM;
	}
	setup->plan = &setup->shared->plan;
	setup->shared->result = -EINPROGRESS;
	setup_step_reached("supervisor", "prepare");
	(void)snprintf(setup->name, sizeof setup->name, "s%d", getpid());
	r = prepare_ids(setup, subject, error);
	if (r == 0)
		r = prepare_cgroup(setup, subject->uid, setup->name);
	if (r == 0)
		r = start_builder(setup);
	if (r != 0) {
		if (r < 0)
			error_set(error, YETT_E_INIT_FAILED, 0, "a sandbox cannot be prepared: %s", strerror(-r));
		setup_end(setup);
		return r < 0 ? YETT_E_INIT_FAILED : r;
	}
	*ret_setup = setup;
	return 0;
}

/* Ends a child of ours whether or not it sends a signal when it ends (init does not: CLONE_PARENT asks for that). */
static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static void end_builder(struct setup *setup)
{
	end_child(setup->builder);
	setup->builder = -1;
	setup->go = fd_close(setup->go);
}

/* Hands the builder what it needs, and waits until it has done its part. */
static int run_builder(struct setup *setup, int control, int channel, const int *fds)
{
	int all[GO_FDS + MESSAGE_SHARES_MAX] = {control, channel, setup->user_ns};
	struct pollfd wait = {.fd = setup->go, .events = POLLIN};
	char byte;
	int r;

	memcpy(all + GO_FDS, fds, setup->plan->share_fds * sizeof fds[0]);
	r = frame_send(setup->go, &setup->map, sizeof setup->map, all, GO_FDS + setup->plan->share_fds, 0);
	if (r < 0)
		return r;
	r = poll(&wait, 1, BUILD_DEADLINE_MS) <= 0 ? -ETIMEDOUT : 0;
	if (r == 0 && read(setup->go, &byte, 1) != 1)
		r = -ECHILD;
	if (r < 0 || !setup_keeps_builder(setup))
		end_builder(setup);
	if (r == 0 && setup->shared->result > 0)
		r = setup->shared->result;
	return r == 0 && setup->shared->init_pid <= 0 ? -ECHILD : r;
}

int setup_build(struct setup *setup, const struct plan *plan, const int *fds, int *ret_channel, struct yett_error *error)
{
	_cleanup_fd_ int init_control = -1, init_channel = -1, client_channel = -1;
	int pair[2], r;

	memcpy(&setup->shared->plan, plan, offsetof(struct plan, arena) + plan->arena_used);
	r = run_steps(setup, STAGE_SUPERVISOR, error);
	if (r != 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	setup->control = pair[0];
	init_control = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	client_channel = pair[0];
	init_channel = pair[1];
	r = config_send(setup, setup->control);
	if (r == 0)
		r = run_builder(setup, init_control, init_channel, fds);
	if (r > 0)
		*error = setup->shared->error;
	if (r != 0)
		return r;
	cgroup_enable_leaves(&setup->cgroup);
	setup->init_pidfd = kernel_pidfd_open(setup->shared->init_pid);
	if (setup->init_pidfd < 0)
		return setup->init_pidfd;
	*ret_channel = steal_fd(&client_channel);
	return 0;
}

int setup_control(const struct setup *setup)
{
	return setup->control;
}

int setup_init_pidfd(const struct setup *setup)
{
	return setup->init_pidfd;
}

uint32_t setup_private_uid(const struct setup *setup)
{
	return idmap_host(&setup->map.uids, setup->map.payload_uid);
}

const struct yett_error *setup_inside_error(const struct setup *setup)
{
	return setup->shared->result > 0 ? &setup->shared->error : NULL;
}

/* What every sandbox has for itself, gone: its processes, its reservations, its user namespace. */
static bool end_sandbox(struct setup *setup)
{
	uint64_t oom_kills = setup->cgroup.host ? cgroup_oom_kills(&setup->cgroup) : 0;
	bool out_of_memory = oom_kills > setup->oom_kills;

	setup->oom_kills = oom_kills;
	end_child(setup->shared->init_pid);
	setup->shared->init_pid = 0;
	reserve_release(&setup->slot);
	setup->user_ns = fd_close(setup->user_ns);
	setup->control = fd_close(setup->control);
	setup->init_pidfd = fd_close(setup->init_pidfd);
	return out_of_memory;
}

bool setup_finish(struct setup *setup)
{
	setup_step_reached("supervisor", "end");
	return end_sandbox(setup);
}

int setup_recycle(struct setup *setup, const struct idmap_subject *subject)
{
	struct yett_error error;
	int r = setup->builder > 0 || !setup_keeps_builder(setup) ? cgroup_empty(&setup->cgroup) : -ECHILD;

	setup_step_reached("supervisor", "recycle");
	if (r < 0)
		return r;
	/* Only now is it sure that nothing runs under these ids any more. */
	reserve_release(&setup->range);
	setup->shared->result = -EINPROGRESS;
	setup->shared->error = (struct yett_error){0};
	r = prepare_ids(setup, subject, &error);
	if (r == 0 && setup->builder <= 0)
		r = start_builder(setup);
	return r > 0 ? -ENOSPC : r;
}

void setup_end(struct setup *setup)
{
	end_builder(setup);
	(void)end_sandbox(setup);
	if (!setup->cgroup.host || cgroup_destroy(&setup->cgroup) == 0)
		reserve_release(&setup->range); /* else the file stays, and the next sweep finds it */
	cgroup_close(&setup->cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(setup->counters); i++)
		fd_close(setup->counters[i]);
	fd_close(setup->range.fd);
	(void)munmap(setup->shared, sizeof *setup->shared);
	free(setup);
}

uint64_t setup_generation(const struct setup *setup)
{
	return setup->host->policy->generation;
}
