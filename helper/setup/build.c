/*
 * Which step is done where, and the supervisor's part of a set-up. See setup.h and steps.h.
 *
 * With full privilege. What the processes of builder.c leave behind dies with them; what the supervisor made is undone
 * by setup_end().
 */
#include "base/units.h"
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"
#include "protocol/frame.h"

#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>

/* A refusal says which grant bounds their number: the plan's first step is this one. */
static int reserve_users_slot(const struct setup_host *host, const struct plan *plan, struct reservation *ret_slot, struct yett_error *error)
{
	const struct plan_step *step = &plan->steps[0];
	int r = reserve_slot(&host->reserve, plan->caller_uid, plan->sandboxes_max, ret_slot, error);
	char asked[UNITS_TEXT_SIZE], allowed[UNITS_TEXT_SIZE];

	if (r == YETT_E_RESOURCE_LIMIT)
		error_rest(error, &(struct error_rule){"max_sandboxes", "grant", plan_text(plan, step->source), plan_text(plan, step->from), 0,
						       units_format_number(plan->sandboxes_max + (uint64_t)1, asked),
						       units_format_number(plan->sandboxes_max, allowed), false});
	return r;
}

static int take_slot(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const struct plan *plan = setup->plan;
	const char *name = plan_text(plan, plan->name);
	int r = 0;

	(void)step;
	if (setup->slot.fd < 0) /* else setup_prepare() took it */
		r = reserve_users_slot(setup->host, plan, &setup->slot, error);
	return r == 0 && *name ? reserve_name(&setup->host->reserve, plan->caller_uid, name, &setup->called, error) : r;
}

static int limit_cgroup(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const struct plan *plan = setup->plan;
	struct plan_limits limits = plan->limits;
	char allowed[UNITS_TEXT_SIZE];
	struct error_rule rule = {"user_memory", "grant", plan_text(plan, step->source), plan_text(plan, step->from), 0, NULL,
				  units_format_size(plan->user_limits.memory_bytes, allowed), false};

	/*
	 * Besides them init may have a child ready for the next command. What is near the kernel's PID_MAX_LIMIT limits nothing, and more
	 * than that is refused; where the user's processes are counted, init sees to it.
	 */
	limits.pids = limits.pids == 0 || limits.pids > 4194300 || setup_limits_pids_by_user(setup->host) ? 0 : limits.pids + 1;
	return cgroup_limit(&setup->cgroup, &limits, &plan->user_limits, &rule, error);
}

static struct idmap_subject subject_of(const struct plan *plan)
{
	return (struct idmap_subject){.uid = plan->caller_uid,
				      .gid = plan->caller_gid,
				      .groups = plan->groups,
				      .groups_count = plan->groups_count,
				      .identity = (enum plan_identity)plan->identity};
}

static int make_map(const struct setup *setup, const struct idmap_subject *subject, struct idmap *ret_map)
{
	if (!setup->host->is_rootless)
		return idmap_make(subject, setup->first, setup->host->face, ret_map);
	idmap_make_rootless(subject, ret_map);
	return 0;
}

static bool same_half(const struct idmap_half *a, const struct idmap_half *b)
{
	return a->count == b->count && memcmp(a->lines, b->lines, a->count * sizeof a->lines[0]) == 0;
}

static int map_ids(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	struct idmap_subject subject = subject_of(setup->plan);
	struct idmap map;
	int r = make_map(setup, &subject, &map);

	(void)step;
	if (r == -E2BIG)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "this user's groups need more lines than an id map can have");
	if (r < 0)
		return r;
	if (setup->user_ns >= 0 && !(same_half(&map.uids, &setup->map->uids) && same_half(&map.gids, &setup->map->gids)))
		setup->user_ns = fd_close(setup->user_ns);
	setup->shared->map = map;
	return setup->host->is_rootless ? 0 : cgroup_delegate(&setup->cgroup, idmap_host(&map.uids, map.init_inside));
}

static int open_user_namespace(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	int fd;

	(void)step;
	if (setup->user_ns >= 0)
		return 0;
	fd = idmap_open(setup->map);
	if (fd == -ENOSPC)
		return error_set(error, YETT_E_UNSUPPORTED, 0,
				 "this host allows no user namespaces; as root: sysctl user.max_user_namespaces=15000");
	if (fd < 0)
		return fd;
	setup->user_ns = fd;
	return 0;
}

/*
 * A payload that is 0 inside is nobody to other people's files: shares show it only what is the caller's. One that keeps
 * capabilities likewise: they reach every id that its user namespace maps, root's among them.
 */
static int open_share_namespace(struct setup *setup)
{
	const struct idmap *map = setup->map;

	setup->share_ns = fd_close(setup->share_ns);
	if (setup->host->is_rootless) /* no mount can be id-mapped, and none need be */
		setup->share_ns = fcntl(setup->user_ns, F_DUPFD_CLOEXEC, 3);
	else if (map->shares_need_own_map || setup->plan->capabilities != 0)
		setup->share_ns = idmap_open_single(setup->plan->caller_uid, idmap_host(&map->uids, map->payload_uid),
						    setup->plan->caller_gid, idmap_host(&map->gids, map->payload_gid));
	else
		setup->share_ns = fcntl(setup->user_ns, F_DUPFD_CLOEXEC, 3);
	return setup->share_ns < 0 ? (errno ? -errno : setup->share_ns) : 0;
}

static int enter_template(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)step, (void)error;
	return setns(setup->host->templates[setup->plan->profile].mount_ns, CLONE_NEWNS) < 0 ? -errno : 0;
}

/* The other namespaces are there: they need nothing of the plan and are made ahead, with the process. */
static int copy_mounts(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)setup, (void)step, (void)error;
	return unshare(CLONE_NEWNS) < 0 ? -errno : 0;
}

static const setup_step_function steps[PLAN_STEP_KINDS][SETUP_STAGES] = {
	[PLAN_SLOT] = {[STAGE_SUPERVISOR] = take_slot},
	[PLAN_CGROUP] = {[STAGE_SUPERVISOR] = limit_cgroup},
	[PLAN_IDS] = {[STAGE_SUPERVISOR] = map_ids},
	[PLAN_USER_NAMESPACE] = {[STAGE_SUPERVISOR] = open_user_namespace},
	[PLAN_TEMPLATE] = {[STAGE_INSIDE] = enter_template},
	[PLAN_NAMESPACES] = {[STAGE_INSIDE] = copy_mounts},
	[PLAN_ROOT] = {[STAGE_INSIDE] = root_make},
	[PLAN_PROC] = {[STAGE_AHEAD] = root_prepare_proc, [STAGE_INSIDE] = root_proc},
	[PLAN_DEVPTS] = {[STAGE_INSIDE] = root_devpts},
	[PLAN_ETC] = {[STAGE_INSIDE] = root_names},
	[PLAN_TMPFS] = {[STAGE_INSIDE] = mounts_tmpfs},
	[PLAN_SHARE] = {[STAGE_CLONE] = mounts_clone_share, [STAGE_INSIDE] = mounts_attach},
	[PLAN_HOST] = {[STAGE_CLONE] = mounts_clone_host, [STAGE_INSIDE] = mounts_attach},
	[PLAN_READ_ONLY] = {[STAGE_INSIDE] = mounts_read_only},
	[PLAN_MASK] = {[STAGE_INSIDE] = mounts_mask},
	[PLAN_LOOPBACK] = {[STAGE_AHEAD] = identity_loopback},
	[PLAN_HOSTNAME] = {[STAGE_INSIDE] = identity_hostname},
	[PLAN_IDENTITY] = {[STAGE_AHEAD] = identity_leave_keyring, [STAGE_INSIDE] = identity_take},
	[PLAN_INIT] = {[STAGE_INSIDE] = identity_become_init},
};

static const char *const stage_names[] = {"sandbox ahead", "supervisor", "sandbox", "sandbox"};

static int run_step(struct setup *setup, const struct plan_step *step, enum setup_stage stage, struct yett_error *error)
{
	const char *name = plan_step_name(step->kind), *target = plan_text(setup->plan, step->target);
	int r;

	if (!steps[step->kind][stage])
		return 0;
	r = setup_step_reached(stage_names[stage], name);
	if (r == 0)
		r = steps[step->kind][stage](setup, step, error);
	if (r == 0)
		return 0;
	if (r < 0)
		error_set(error, YETT_E_INIT_FAILED, 0, "set-up step %s%s%s failed: %s", name, target[0] ? " " : "", target, strerror(-r));
	return error_cause(error, name, r < 0 ? -r : error->os_error);
}

int setup_run_ahead(struct setup *setup, struct yett_error *error)
{
	int r = 0;

	for (uint32_t kind = 0; r == 0 && kind < PLAN_STEP_KINDS; kind++)
		r = run_step(setup, &(struct plan_step){.kind = kind}, STAGE_AHEAD, error);
	return r;
}

/*
 * Whether a step can be done before the client has spoken, on the guess that the plan will be like the user's last one:
 * it touches nothing but what the template and the sandbox's own tmpfs hold.
 */
static bool is_staged(const struct plan *plan, const struct plan_step *step)
{
	static const bool always[PLAN_STEP_KINDS] = {
		[PLAN_TEMPLATE] = true, [PLAN_NAMESPACES] = true, [PLAN_ROOT] = true,    [PLAN_PROC] = true,
		[PLAN_DEVPTS] = true,   [PLAN_ETC] = true,        [PLAN_HOSTNAME] = true,
	};
	bool is_cover = step->kind == PLAN_READ_ONLY || step->kind == PLAN_MASK;

	return always[step->kind] || (is_cover && strncmp(plan_text(plan, step->target), "/proc/", 6) == 0);
}

static bool same_text(const struct plan *a, struct plan_text in_a, const struct plan *b, struct plan_text in_b)
{
	return strcmp(plan_text(a, in_a), plan_text(b, in_b)) == 0;
}

static bool same_step(const struct plan *a, const struct plan_step *in_a, const struct plan *b, const struct plan_step *in_b)
{
	return in_a->kind == in_b->kind && in_a->mode == in_b->mode && in_a->writable == in_b->writable &&
	       in_a->optional == in_b->optional && in_a->size_bytes == in_b->size_bytes &&
	       same_text(a, in_a->target, b, in_b->target) && same_text(a, in_a->source, b, in_b->source);
}

/* Whether what was staged for `a` is what `b` needs. All that the staged steps read of a plan is compared here. */
static bool same_staged(const struct plan *a, const struct plan *b)
{
	uint32_t i = 0, j = 0;

	if (a->profile != b->profile || !same_text(a, a->home, b, b->home) || !same_text(a, a->shell, b, b->shell) ||
	    !same_text(a, a->user_name, b, b->user_name) || !same_text(a, a->group_name, b, b->group_name))
		return false;
	for (;; i++, j++) {
		while (i < a->steps_count && !is_staged(a, &a->steps[i]))
			i++;
		while (j < b->steps_count && !is_staged(b, &b->steps[j]))
			j++;
		if (i == a->steps_count || j == b->steps_count)
			return i == a->steps_count && j == b->steps_count;
		if (!same_step(a, &a->steps[i], b, &b->steps[j]))
			return false;
	}
}

int setup_run_staged(struct setup *setup, bool staged, struct yett_error *error)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < setup->plan->steps_count; i++)
		if (is_staged(setup->plan, &setup->plan->steps[i]) == staged)
			r = run_step(setup, &setup->plan->steps[i], STAGE_INSIDE, error);
	return r;
}

int setup_run_steps(struct setup *setup, enum setup_stage stage, struct yett_error *error)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < setup->plan->steps_count; i++)
		r = run_step(setup, &setup->plan->steps[i], stage, error);
	return r;
}

static void setup_init(const struct setup_host *host, struct setup *setup)
{
	*setup = (struct setup){.host = host,
				.range = {.fd = -1},
				.slot = {.fd = -1},
				.called = {.fd = -1},
				.listening = -1,
				.user_ns = -1,
				.counters = {-1, -1, -1, -1},
				.builder = {.go = -1},
				.control = -1,
				.channel = -1,
				.init_pidfd = -1,
				.share_ns = -1,
				.proc = -1,
				.beneath = -1,
				.root = -1};
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++)
		setup->cgroup.user[i] = setup->cgroup.sandbox[i] = -1;
	for (size_t i = 0; i < ARRAY_SIZE(setup->trees); i++)
		setup->trees[i] = -1;
}

static int prepare_cgroup(struct setup *setup, uid_t uid, const char *name)
{
	int r = cgroup_create(&setup->host->cgroups, uid, name, &setup->cgroup);

	if (setup->host->cgroups.count == 0)
		return r;
	if (r == 0)
		r = cgroup_make_leaf(&setup->cgroup);
	if (r == 0)
		cgroup_open_counters(&setup->cgroup, setup->counters);
	return r;
}

/* Range and user namespace for the next sandbox. */
static int prepare_ids(struct setup *setup, const struct idmap_subject *subject, struct yett_error *error)
{
	uint32_t index = 0;
	int r = reserve_range(&setup->host->reserve, subject->uid, setup->name, &setup->range, &index, error);

	if (r != 0)
		return r;
	record_init(&setup->record, subject->uid, setup->name);
	setup->first = setup->host->reserve.ids_first + index * IDMAP_RANGE;
	r = make_map(setup, subject, &setup->shared->map);
	if (r < 0)
		return r;
	setup->user_ns = idmap_open(setup->map);
	return setup->user_ns < 0 ? setup->user_ns : 0;
}

int setup_prepare(const struct setup_host *host, const struct idmap_subject *subject, const struct plan *plan,
		  struct setup **ret_setup, struct yett_error *error)
{
	struct setup *setup = calloc(1, sizeof *setup);
	const char *step = "prepare";
	uint64_t serial;
	int r = 0;

	if (!setup)
		return -ENOMEM;
	setup_init(host, setup);
	setup->shared = mmap(NULL, sizeof *setup->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (setup->shared == MAP_FAILED) {
		free(setup);
		return -ENOMEM;
	}
	setup->plan = &setup->shared->plan;
	setup->map = &setup->shared->map;
	setup->shared->result = -EINPROGRESS;
	(void)setup_step_reached("supervisor", "prepare");
	/* Not our pid: it may be a later supervisor's while a sweep still looks for what we left. */
	if (getrandom(&serial, sizeof serial, 0) == sizeof serial)
		(void)snprintf(setup->name, sizeof setup->name, "s%016" PRIx64, serial);
	else
		r = -EIO;
	/* First the slot: a user who asks for more than the grant's number of sandboxes uses up no range and no cgroup. */
	if (r == 0 && plan)
		r = reserve_users_slot(host, plan, &setup->slot, error);
	if (r == 0) {
		step = "ids";
		r = prepare_ids(setup, subject, error);
	}
	if (r == 0) {
		step = "socket";
		r = setup->listening = registry_listen(&host->reserve, setup->name);
		r = r < 0 ? r : 0;
	}
	if (r == 0) {
		step = "cgroup";
		r = prepare_cgroup(setup, subject->uid, setup->name);
	}
	if (r == 0) {
		step = "builder";
		r = builder_make_inside(setup);
	}
	if (r != 0) {
		if (r < 0 && setup_inside_error(setup))
			*error = *setup_inside_error(setup);
		else if (r < 0)
			error_set(error, YETT_E_INIT_FAILED, 0, "a sandbox cannot be prepared, set-up step %s failed: %s", step,
				  strerror(-r));
		setup_end(setup);
		return r < 0 ? YETT_E_INIT_FAILED : r;
	}
	*ret_setup = setup;
	return 0;
}

/* Hands the waiting process inside what it needs; from then on it goes its own way until it is init. */
static int let_go(struct setup *setup, int connection)
{
	const int fds[GO_FDS] = {setup->user_ns, setup->share_ns, connection};

	return frame_send(setup->control, "", 1, fds, connection < 0 ? GO_CONNECTION : GO_FDS, 0);
}

static bool has_ended(const struct setup *setup)
{
	struct pollfd wait = {.fd = setup->init_pidfd, .events = POLLIN};

	return poll(&wait, 1, 0) != 0;
}

/* The guess was wrong: another process inside, which has done nothing yet. */
static int start_over(struct setup *setup)
{
	free(steal_ptr(&setup->staged));
	setup->shared->is_staged = false;
	builder_end_child(setup->shared->init_pid);
	setup->shared->init_pid = 0;
	setup->init_pidfd = fd_close(setup->init_pidfd);
	setup->control = fd_close(setup->control);
	setup->channel = fd_close(setup->channel);
	return builder_make_inside(setup);
}

int setup_build(struct setup *setup, const struct plan *plan, int connection, int *ret_channel, struct yett_error *error)
{
	struct idmap expected = *setup->map;
	int r;

	memcpy(&setup->shared->plan, plan, offsetof(struct plan, arena) + plan->arena_used);
	r = setup_run_steps(setup, STAGE_SUPERVISOR, error);
	if (r == 0 && setup->staged &&
	    (has_ended(setup) || !same_staged(setup->staged, plan) || memcmp(&expected, setup->map, sizeof expected) != 0))
		r = start_over(setup);
	if (r == 0)
		r = open_share_namespace(setup);
	if (r == 0)
		r = let_go(setup, connection);
	if (r == 0)
		r = config_send(setup, setup->control);
	/* The process inside has given up already: whoever waits for init learns why. */
	if (r != 0 && r != -EPIPE)
		return r;
	cgroup_enable_leaves(&setup->cgroup);
	*ret_channel = steal_fd(&setup->channel);
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
	return idmap_host(&setup->map->uids, setup->map->payload_uid);
}

const struct yett_error *setup_inside_error(const struct setup *setup)
{
	return setup->shared->result > 0 ? &setup->shared->error : NULL;
}

/* What every sandbox has for itself, gone: its processes, its user namespace. */
static bool end_sandbox(struct setup *setup)
{
	bool out_of_memory = setup_count(setup, USAGE_OOM_KILLS) > setup->record.before.counts[USAGE_OOM_KILLS];

	builder_end_child(setup->shared->init_pid);
	setup->shared->init_pid = 0;
	setup->user_ns = fd_close(setup->user_ns);
	setup->share_ns = fd_close(setup->share_ns);
	/* A captured init may have sent descriptors: then it stays open until our end, which is near. */
	setup->is_spoilt = setup->control >= 0 && !frame_close_socket(setup->control);
	setup->control = -1;
	setup->channel = fd_close(setup->channel);
	setup->init_pidfd = fd_close(setup->init_pidfd);
	return out_of_memory;
}

bool setup_finish(struct setup *setup)
{
	(void)setup_step_reached("supervisor", "end");
	return end_sandbox(setup);
}

void setup_forget(struct setup *setup)
{
	reserve_release(&setup->called);
	reserve_release(&setup->slot);
}

struct record *setup_record(struct setup *setup)
{
	return &setup->record;
}

void setup_publish(struct setup *setup)
{
	(void)registry_write(setup->range.fd, &setup->record);
}

void setup_add_totals(const struct setup *setup, const struct message_totals *more)
{
	registry_add_totals(&setup->host->reserve, more);
}

int setup_listening(const struct setup *setup)
{
	return setup->listening;
}

int setup_pause(struct setup *setup, bool pause)
{
	return cgroup_freeze(&setup->cgroup, pause);
}

uint64_t setup_count(const struct setup *setup, enum usage_count count)
{
	uint64_t value = 0;

	if (setup->cgroup.host)
		(void)cgroup_read_count(&setup->cgroup, count, &value);
	return value;
}

bool setup_is_busy(const struct setup *setup)
{
	char path[48], text[16];
	pid_t init = setup->shared->init_pid;

	if (setup->host->cgroups.count > 0)
		return cgroup_count(&setup->cgroup) != 1 + (setup->builder.pid > 0);
	/* Each process in init's pid namespace is a descendant of it. proc_pid_task(5) */
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", init, init);
	return kernel_read_file(AT_FDCWD, path, text, sizeof text) != 0;
}

uint32_t setup_pid_inside(uint32_t thread)
{
	char path[32], text[4096], *at;
	unsigned long pid = 0;
	int count = 0;

	(void)snprintf(path, sizeof path, "/proc/%u/status", thread);
	at = kernel_read_file(AT_FDCWD, path, text, sizeof text) > 0 ? strstr(text, "\nNStgid:") : NULL;
	for (at = at ? strchr(at, '\t') : NULL; at && *at == '\t'; count++)
		pid = strtoul(at + 1, &at, 10);
	return count > 1 ? (uint32_t)pid : 0; /* one of the host's has one number, and is no caller of ours any more */
}

int setup_recycle(struct setup *setup, const struct idmap_subject *subject)
{
	struct reservation last = setup->range;
	struct yett_error error;
	int r;

	free(steal_ptr(&setup->staged));
	r = setup->is_spoilt ? -ECANCELED : setup_step_reached("supervisor", "recycle");
	if (r == 0)
		r = cgroup_empty(&setup->cgroup);
	if (r < 0)
		return r;
	setup->shared->result = -EINPROGRESS;
	setup->shared->error = (struct yett_error){0};
	/* The next range before the last one is let go: a reservation is how a sweep finds the cgroup, were we killed here. */
	setup->range = (struct reservation){.fd = -1};
	r = prepare_ids(setup, subject, &error);
	cgroup_read_usage(&setup->cgroup, &setup->record.before);
	/* Nothing runs under these ids any more. */
	reserve_release(&last);
	setup->staged = setup->plan->steps_count ? malloc(sizeof *setup->staged) : NULL;
	setup->shared->is_staged = setup->staged != NULL;
	if (setup->staged)
		memcpy(setup->staged, setup->plan, offsetof(struct plan, arena) + setup->plan->arena_used);
	if (r == 0)
		r = builder_make_inside(setup);
	return r > 0 ? -ENOSPC : r;
}

void setup_end(struct setup *setup)
{
	builder_end(setup);
	(void)end_sandbox(setup);
	setup_forget(setup);
	registry_unlisten(&setup->host->reserve, setup->name);
	fd_close(setup->listening);
	if (!setup->cgroup.host || cgroup_destroy(&setup->cgroup) == 0)
		reserve_release(&setup->range); /* else the file stays, and the next sweep finds it */
	cgroup_close(&setup->cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(setup->counters); i++)
		fd_close(setup->counters[i]);
	fd_close(setup->range.fd);
	(void)munmap(setup->shared, sizeof *setup->shared);
	free(setup->staged);
	free(setup);
}

uint64_t setup_generation(const struct setup *setup)
{
	return setup->host->policy->generation;
}
