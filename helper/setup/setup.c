/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's part of a set-up: reserves, limits and maps what a sandbox needs, starts its
 * init and gives it orders, and undoes all of that. See setup.h and making.h. With full privilege.
 */
#include "base/closing.h"
#include "helper/privilege/privilege.h"
#include "helper/setup/audit.h"
#include "helper/setup/making.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>

/* bytes of a sandbox's memory that may be freed after the end was reported to its client */
#define LEFT_MAX (16 << 20)
/*
 * Milliseconds to wait for the unmount of an overlay if the sandbox uses more than LEFT_MAX. An
 * overlay through which 100,000 names were seen takes 200 ms, too long to wait for.
 */
#define LEFT_WAIT_MS 10

static int reserve_users_slot(const struct setup_host *host, const struct plan *plan,
                              struct reservation *ret_slot, struct yett_error *error)
{
	int r = reserve_slot(&host->reserve, plan->caller_uid, RESERVE_SLOT_OF_SANDBOX,
	                     plan->sandboxes_max, ret_slot, error);

	return r == YETT_E_RESOURCE_LIMIT ? error_key(error, "max_sandboxes", 0) : r;
}

static int setup_take_slot(struct setup *setup, const struct plan *plan, struct yett_error *error)
{
	const char *name = plan_text(plan, plan->name);
	int r = 0;

	if (setup->slot.fd < 0) /* otherwise setup_prepare() took it */
		r = reserve_users_slot(setup->host, plan, &setup->slot, error);
	return r == 0 && *name ? reserve_name(&setup->host->reserve, plan->caller_uid, name,
	                                      &setup->called, error)
	                       : r;
}

static int limit_cgroup(struct setup *setup, const struct plan *plan, struct yett_error *error)
{
	struct plan_limits limits = plan->limits;

	/*
	 * The cgroup also has room for a child that init may have ready for the next command, and
	 * for the processes of the network. Set no limit near the kernel's PID_MAX_LIMIT: the
	 * kernel refuses values above PID_MAX_LIMIT, and values near it limit nothing. Set no limit
	 * where init limits the processes with RLIMIT_NPROC.
	 */
	limits.pids =
		limits.pids == 0 || limits.pids > 4194200 || setup_limits_pids_by_user(setup->host)
			? 0
			: limits.pids + 1 +
				  (plan_network_has_rules(plan->network) ? EGRESS_PROCESSES : 0);
	return cgroup_limit(&setup->cgroup, &limits, &plan->user_limits, error);
}

struct idmap_subject setup_subject(const struct plan *plan)
{
	return (struct idmap_subject){.uid = plan->caller_uid,
	                              .gid = plan->caller_gid,
	                              .groups = plan->groups,
	                              .groups_count = plan->groups_count,
	                              .identity = (enum plan_identity)plan->identity};
}

static bool same_half(const struct idmap_half *a, const struct idmap_half *b)
{
	return a->count == b->count &&
	       memcmp(a->lines, b->lines, a->count * sizeof a->lines[0]) == 0;
}

/*
 * Sets the ids of the sandbox; its user namespace gets them when init is made. If they are not
 * those that were expected, `fits` is false: the init that was started has other ids.
 */
static int take_map(struct setup *setup, const struct idmap_subject *subject)
{
	const struct setup_host *host = setup->host;
	struct idmap map;
	int r = 0;

	if (host->rootless)
		host->rootless->make_map(subject, &map);
	else
		r = idmap_make(subject, setup->first, host->face, &map);
	if (r < 0)
		return r;
	setup->fits = same_half(&map.uids, &setup->map.uids) &&
	              same_half(&map.gids, &setup->map.gids) &&
	              map.init_inside == setup->map.init_inside;
	/* also if it fits: the commands may have another of the user's groups */
	setup->map = map;
	if (setup->fits)
		return 0;
	setup->init_host = idmap_host(&map.uids, map.init_inside);
	return host->rootless || host->cgroups.count == 0
	               ? 0
	               : cgroup_delegate(&setup->cgroup, setup->init_host);
}

static int map_ids(struct setup *setup, const struct plan *plan, struct yett_error *error)
{
	struct idmap_subject subject = setup_subject(plan);
	int r = take_map(setup, &subject);

	return r == -E2BIG ? error_set(error, YETT_E_UNSUPPORTED, 0,
	                               "this user's groups need more lines than an id map can have")
	                   : r;
}

static void setup_init(const struct setup_host *host, uint32_t profile, uint32_t network,
                       struct setup *setup)
{
	*setup = (struct setup){.host = host,
	                        .profile = profile,
	                        .shares_network = network == PLAN_NETWORK_HOST,
	                        .range = {.fd = -1},
	                        .slot = {.fd = -1},
	                        .called = {.fd = -1},
	                        .audit = -1,
	                        .listening = -1,
	                        .cgroup = CGROUP_NONE,
	                        .user_ns = -1,
	                        .maps = {-1, -1},
	                        .egress = EGRESS_NONE_YET,
	                        .go = -1,
	                        .control = -1,
	                        .last = SETUP_NO_ORDER,
	                        .channel = -1,
	                        .init_pidfd = -1,
	                        .mount_ns = -1};
}

/* The next init is started for such a plan. */
static void expect(struct setup *setup, const struct plan *plan)
{
	setup->profile = plan->profile;
	setup->shares_network = plan->network == PLAN_NETWORK_HOST;
}

static int prepare_cgroup(struct setup *setup, uid_t uid, const char *name)
{
	int r = cgroup_create(&setup->host->cgroups, uid, name, &setup->cgroup);

	return r == 0 && setup->host->cgroups.count > 0 ? cgroup_make_leaf(&setup->cgroup) : r;
}

/*
 * Reserves the range of the next sandbox. This comes before the cgroup and the socket are made,
 * because a sweep finds them by the file of the range.
 */
static int prepare_range(struct setup *setup, uid_t uid, struct yett_error *error)
{
	uint32_t index = 0;
	int r = reserve_range(&setup->host->reserve, uid, setup->name, &setup->range, &index,
	                      error);

	if (r != 0)
		return r;
	record_init(&setup->record, uid, setup->name);
	setup->first = setup->host->reserve.ids_first + index * IDMAP_RANGE;
	return 0;
}

int setup_prepare(const struct setup_host *host, const struct idmap_subject *subject,
                  uint32_t profile, const struct plan *plan, struct setup **ret_setup,
                  struct yett_error *error)
{
	struct setup *setup = calloc(1, sizeof *setup);
	const char *step = "prepare";
	uint64_t serial;
	int r = 0;

	if (!setup)
		return -ENOMEM;
	setup_init(host, profile, plan ? plan->network : host->policy->profiles[profile].network,
	           setup);
	setup->shared = mmap(NULL, sizeof *setup->shared, PROT_READ | PROT_WRITE,
	                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (setup->shared == MAP_FAILED) {
		free(setup);
		return -ENOMEM;
	}
	(void)reached_step("supervisor", "prepare");
	/*
	 * Not named after our pid: a later supervisor may get that pid while a sweep still looks
	 * for what this one left.
	 */
	if (getrandom(&serial, sizeof serial, 0) == sizeof serial)
		FORMAT(setup->name, "s%016" PRIx64, serial);
	else
		r = -EIO;
	/*
	 * The slot comes first, so that a user who asks for more sandboxes than the grant allows
	 * uses up no range and no cgroup.
	 */
	if (r == 0 && plan)
		r = reserve_users_slot(host, plan, &setup->slot, error);
	if (r == 0) {
		step = "ids";
		r = prepare_range(setup, subject->uid, error);
	}
	if (r == 0) {
		step = "cgroup";
		(void)reached_step("supervisor", "reserved");
		r = prepare_cgroup(setup, subject->uid, setup->name);
	}
	if (r == 0) {
		step = "ids";
		r = take_map(setup, subject);
	}
	if (r == 0) {
		step = "socket";
		r = setup->listening = registry_listen(&host->reserve, setup->name);
		r = r < 0 ? r : 0;
	}
	if (r == 0) {
		step = "builder";
		r = forker_make_init(setup);
	}
	if (r != 0) {
		if (r < 0)
			r = setup_explain(setup, r, error);
		if (r < 0)
			r = error_set(error, YETT_E_INIT_FAILED, 0,
			              "a sandbox cannot be prepared, set-up step %s failed: %s",
			              step, strerror(-r));
		setup_end(setup);
		return r;
	}
	*ret_setup = setup;
	return 0;
}

/*
 * Copies the host's resolv.conf(5), without reading its content. The path may be a symbolic link
 * that a less privileged daemon controls. So only a regular file that everybody may read is
 * accepted: otherwise that daemon could have root copy a secret file into the sandbox. O_NONBLOCK
 * and O_NOCTTY keep the open from waiting or taking a terminal.
 */
static void read_resolvers(struct init_order *order)
{
	_cleanup_fd_ int fd =
		open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
		(void)!read(fd, order->resolvers, sizeof order->resolvers - 1);
}

/*
 * Sends init or the mount child, over `control`, the order to build `given`. The trees to attach
 * will come from the socket `trees`; -1: there are none.
 */
static int setup_give_order(const struct setup *setup, const struct setup_order *given,
                            enum init_order_kind kind, int control, int trees)
{
	const struct plan *plan = given->plan;
	const struct template *template = &setup->host->templates[plan->profile];
	struct init_order order = {.kind = kind,
	                           .payload_uid = setup->map.payload_uid,
	                           .payload_gid = setup->map.payload_gid,
	                           .is_rootless = setup->host->rootless,
	                           .by_port = setup->host->by_port,
	                           .limits_pids_by_user = setup_limits_pids_by_user(setup->host),
	                           .uses_selinux = template->selinux > SELINUX_UNNAMED};
	const int fds[INIT_ORDER_FDS] = {[INIT_ORDER_PLAN] = given->memory,
	                                 [INIT_ORDER_PROFILE] = template->profile,
	                                 [INIT_ORDER_TREES] = trees};

	if (kind == INIT_ORDER_SANDBOX && plan->network == PLAN_NETWORK_HOST)
		read_resolvers(&order);
	if (template->selinux >= SELINUX_PERMISSIVE) {
		selinux_process_context(plan_text(plan, plan->selinux_type), setup->init_host,
		                        order.process_label);
		selinux_file_context(setup->init_host, order.files_label);
	}
	return frame_send(control, &order, sizeof order, fds,
	                  trees < 0 ? INIT_ORDER_TREES : INIT_ORDER_FDS, 0);
}

/* Ends what each sandbox has for itself: its processes, its user namespace. */
static void end_sandbox(struct setup *setup)
{
	setup_end_mount_clone_child(setup);
	egress_end(setup);
	setup->egress.starts = setup->keeps_count = 0;
	forker_end_child(setup->shared->init_pid);
	setup->shared->init_pid = 0;
	setup->user_ns = fd_close(setup->user_ns);
	share_close_maps(setup);
	/*
	 * A compromised init may have sent descriptors that take long to close. Then the socket
	 * stays open until this process exits, which is soon.
	 */
	if (!frame_close_socket(setup->control))
		setup->is_tainted = true;
	setup->control = -1;
	setup->channel = fd_close(setup->channel);
	setup->init_pidfd = fd_close(setup->init_pidfd);
}

/* The guess was wrong: starts another init, which has built nothing yet. */
static int start_over(struct setup *setup, const struct plan *plan)
{
	end_sandbox(setup);
	setup->mount_ns = fd_close(setup->mount_ns);
	setup->is_ready = false;
	expect(setup, plan);
	return forker_make_init(setup);
}

/* Checks the SELinux label before anything is built. With AppArmor, init reports its label. */
static int check_selinux(const struct setup_host *host, const struct plan *plan,
                         struct yett_error *error)
{
	enum selinux_state state = host->templates[plan->profile].selinux;

	if (!plan->label_required || state == SELINUX_ABSENT || state == SELINUX_ENFORCING)
		return 0;
	if (state == SELINUX_UNNAMED)
		return error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"the AppArmor profile '%s' is required, and this host does not use AppArmor",
			plan_text(plan, plan->label));
	return error_set(error, YETT_E_UNSUPPORTED, 0, "the SELinux type '%s' is required, and %s",
	                 plan_text(plan, plan->selinux_type),
	                 state == SELINUX_UNKNOWN ? "the loaded policy does not know it"
	                                          : "SELinux is permissive on this host");
}

/*
 * Each process in the sandbox may open the template's device nodes. So a user gets them only if the
 * host's node is open to that user now, by its mode and ACL. A child with the file system ids and
 * groups of the user asks the kernel. The child is safe from the user because it keeps root's other
 * ids: no process of the user's can signal or trace it. credentials(7)
 */
static int setup_check_devices(const struct setup *setup, const struct plan *plan,
                               struct yett_error *error)
{
	const struct policy_list *devices = &setup->host->policy->profiles[plan->profile].devices;
	pid_t child = devices->count > 0 ? fork() : -1;
	int status = 0;

	if (child == 0) {
		bool is_user = setgroups(plan->groups_count, plan->groups) == 0 &&
		               setfsgid(plan->caller_gid) >= 0 && setfsuid(plan->caller_uid) >= 0 &&
		               (uid_t)setfsuid((uid_t)-1) == plan->caller_uid;

		for (size_t i = 0; i < devices->count; i++)
			if (!is_user ||
			    faccessat(AT_FDCWD, devices->items[i], R_OK | W_OK, AT_EACCESS) < 0)
				_exit(error_set(
					&setup->shared->error, YETT_E_PERMISSION_DENIED, 0,
					"uid %u cannot have the device %s in a sandbox, lacking read and write access outside",
					plan->caller_uid, devices->items[i]));
		_exit(0);
	}
	if (devices->count > 0 &&
	    (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status)))
		return -ECHILD;
	*error = status ? setup->shared->error : *error;
	return WEXITSTATUS(status);
}

static bool has_shares(const struct plan *plan)
{
	return share_needs_map(plan, SETUP_MAP_SHARES) || share_needs_map(plan, SETUP_MAP_LAYERS);
}

/*
 * Closes mount_ns if the plan has shares and no overlay: the exit of init then unmounts the shares.
 * So the supervisor never waits for a client's file system, and the shares are free when the client
 * hears of the end. Keeps mount_ns for overlays, since unmounting takes longer the more names were
 * seen through them: let_go_of_mounts().
 */
static void mind_mounts(struct setup *setup, const struct plan *plan)
{
	setup->leaves_mounts = setup->leaves_mounts || plan_has_layers(plan);
	if (has_shares(plan) && !setup->leaves_mounts)
		setup->mount_ns = fd_close(setup->mount_ns);
}

int setup_send_order(struct setup *setup, const struct setup_order *order,
                     enum init_order_kind kind, int control)
{
	int trees[2] = {-1, -1}, r = 0;

	mind_mounts(setup, order->plan);
	if (has_shares(order->plan) && fd_pair(trees) < 0)
		return -errno;
	r = setup_give_order(setup, order, kind, control, trees[1]);
	fd_close(trees[1]);
	if (r == 0 && trees[0] >= 0)
		r = share_start(setup, order->plan, order->connection, trees[0]);
	/* a later mount may be for a user with other groups */
	share_close_maps(setup);
	/* now the socket ends when the mount-clone child ends */
	fd_close(trees[0]);
	return r;
}

/*
 * Does what only root can do for a sandbox. The order and the names of the steps are those of the
 * plan and of errors.
 */
static int reserve_all(struct setup *setup, const struct plan *plan, struct yett_error *error)
{
	static const struct {
		const char *step;
		int (*take)(struct setup *setup, const struct plan *plan, struct yett_error *error);
	} steps[] = {{"slot", setup_take_slot}, {"cgroup", limit_cgroup}, {"ids", map_ids}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++) {
		r = reached_step("supervisor", steps[i].step);
		if (r == 0)
			r = steps[i].take(setup, plan, error);
		if (r < 0)
			error_set(error, YETT_E_INIT_FAILED, 0, "set-up step %s failed: %s",
			          steps[i].step, strerror(-r));
		if (r != 0)
			return error_cause(error, steps[i].step, r < 0 ? -r : error->os_error);
	}
	return 0;
}

int setup_reserve(struct setup *setup, const struct setup_order *order, struct yett_error *error)
{
	int r = check_selinux(setup->host, order->plan, error);

	setup->leaves_mounts = false;
	if (r == 0)
		r = setup_check_devices(setup, order->plan, error);
	/*
	 * Network processes that were started ahead and are not wanted are in the groups that get
	 * limits now.
	 */
	if (order->rules < 0)
		egress_end(setup);
	return r == 0 ? reserve_all(setup, order->plan, error) : r;
}

int setup_build(struct setup *setup, const struct setup_order *order, int *ret_channel)
{
	const struct plan *plan = order->plan;
	bool fits = setup->fits && fd_poll(setup->init_pidfd, POLLIN, 0) == 0 &&
	            setup->profile == plan->profile &&
	            setup->shares_network == (plan->network == PLAN_NETWORK_HOST) &&
	            (!setup->is_ready || plan_same_base(setup->last.plan, plan));
	int r = fits ? 0 : start_over(setup, plan);

	if (r == 0)
		r = setup_send_order(setup, order, INIT_ORDER_SANDBOX, setup->control);
	if (r == 0 && order->rules >= 0)
		r = egress_use(setup, order->memory, order->rules);
	/*
	 * -EPIPE: init has given up already, and the caller that waits for its report learns why.
	 */
	if (r != 0 && r != -EPIPE)
		return r;
	cgroup_enable_leaves(&setup->cgroup);
	*ret_channel = steal_fd(&setup->channel);
	return 0;
}

void setup_drop_order(struct setup_order *order)
{
	if (order->plan)
		(void)munmap((void *)(uintptr_t)order->plan, sizeof *order->plan);
	fd_close(order->memory);
	fd_close(order->rules);
	/*
	 * The monitor keeps its copy of the client's connection until the supervisor has answered.
	 * After the answer this may be the last close, and may block: base/closing.h.
	 */
	(void)closing_fd(order->connection);
	*order = SETUP_NO_ORDER;
}

void setup_keep_order(struct setup *setup, struct setup_order *order)
{
	setup_drop_order(&setup->last);
	setup->last = *order;
	*order = SETUP_NO_ORDER;
}

int setup_explain(const struct setup *setup, int r, struct yett_error *error)
{
	if (setup->shared->result <= 0)
		return r;
	*error = setup->shared->error;
	return (int)error->code;
}

void setup_end_mount_clone_child(struct setup *setup)
{
	/*
	 * The client's descriptors close with the child. SO_LINGER does not delay the end of a
	 * process (socket(7)), but the child may be stuck in a file system.
	 */
	setup->is_tainted |= !forker_end_child_soon(setup->mount_clone_child);
	setup->mount_clone_child = 0;
}

bool setup_restart_network(struct setup *setup)
{
	bool may_start = setup->egress.starts < EGRESS_STARTS_MAX && privilege_raise() == 0;
	int r = may_start ? egress_start(setup, setup->last.memory, EGRESS_ORDER_RULES,
	                                 setup->last.rules)
	                  : -ECANCELED;

	if (r == 0)
		r = egress_await(setup);
	if (r < 0)
		egress_end(setup);
	return (!may_start || privilege_narrow() == 0) && r == 0;
}

/*
 * The process that closes the last descriptor of a mount namespace unmounts. A detached process
 * does that here: it closes its copy after ours is closed, and we wait for it at most `wait_ms`.
 * Its parent exits at once, so that it is not ours to reap. If no process can be made, this process
 * unmounts.
 */
static void let_go_of_mounts(struct setup *setup, int wait_ms)
{
	int pair[2] = {-1, -1};
	bool is_left = setup->leaves_mounts && setup->mount_ns >= 0 &&
	               socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
	pid_t pid = is_left ? fork() : -1;
	char byte;

	if (pid == 0) {
		if (fork() == 0) {
			setup_host_keep_only(setup->host, (const int[]){setup->mount_ns, pair[1]},
			                     2);
			(void)!read(pair[1], &byte, 1);
			fd_close(setup->mount_ns);
		}
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(pair[1]);
	setup->mount_ns = fd_close(setup->mount_ns);
	/*
	 * Wait until the detached process exits and its end of the pair closes: POLLHUP needs no
	 * request.
	 */
	if (pid > 0 && shutdown(pair[0], SHUT_WR) == 0)
		(void)fd_poll(pair[0], 0, wait_ms);
	fd_close(pair[0]);
}

bool setup_finish(struct setup *setup)
{
	(void)reached_step("supervisor", "end");
	/*
	 * The memory of a sandbox's files is charged to its user until they are unmounted. The
	 * client waits for that only if it is much, or if the sandbox will be listed for a while
	 * (cleanup_ms). With an overlay, which keeps names in memory as well, it waits a moment at
	 * most.
	 */
	bool is_waited_for =
		setup_count(setup, USAGE_MEMORY) > LEFT_MAX || setup->record.life.cleanup_ms;

	if (is_waited_for && !setup->leaves_mounts)
		setup->mount_ns = fd_close(setup->mount_ns);
	end_sandbox(setup);
	if (setup->leaves_mounts)
		let_go_of_mounts(setup, is_waited_for ? LEFT_WAIT_MS : 0);
	return setup_count(setup, USAGE_OOM_KILLS) > setup->record.before.counts[USAGE_OOM_KILLS];
}

void setup_forget(struct setup *setup)
{
	reserve_release(&setup->called);
	reserve_release(&setup->slot);
}

void setup_publish(struct setup *setup)
{
	(void)registry_write(setup->range.fd, &setup->record);
}

uint64_t setup_count(struct setup *setup, enum usage_count count)
{
	struct cgroup_usage usage;

	cgroup_read_usage(&setup->cgroup, 1U << count, &usage);
	return usage.counts[count];
}

bool setup_is_busy(const struct setup *setup)
{
	char path[48], text[16];
	pid_t init = setup->shared->init_pid;

	/* All processes of init's pid namespace are descendants of init. proc_pid_task(5) */
	FORMAT(path, "/proc/%d/task/%d/children", init, init);
	return kernel_read_file(AT_FDCWD, path, text, sizeof text) != 0;
}

uint32_t setup_pid_inside(uint32_t thread)
{
	char path[32], text[4096], *at;
	unsigned long pid = 0;
	int count = 0;

	FORMAT(path, "/proc/%u/status", thread);
	at = kernel_read_file(AT_FDCWD, path, text, sizeof text) > 0 ? strstr(text, "\nNStgid:")
	                                                             : NULL;
	for (at = at ? strchr(at, '\t') : NULL; at && *at == '\t'; count++)
		pid = strtoul(at + 1, &at, 10);
	/* a process of the host has one number: it has taken the id of a thread that is gone */
	return count > 1 ? (uint32_t)pid : 0;
}

int setup_recycle(struct setup *setup, const struct idmap_subject *subject)
{
	struct reservation last = setup->range;
	struct idmap_subject expected =
		setup->last.plan ? setup_subject(setup->last.plan) : *subject;
	struct yett_error error;
	int r;

	audit_settle(setup);
	r = setup->is_tainted || setup->egress.is_tainted || setup->record.is_audited
	            ? -ECANCELED
	            : reached_step("supervisor", "recycle");
	setup->mount_ns = fd_close(setup->mount_ns);
	if (r == 0 && setup->host->cgroups.count > 0)
		r = cgroup_empty(&setup->cgroup);
	if (r < 0)
		return r;
	/*
	 * Take the next range before the last one is released. If we are killed in between, a sweep
	 * finds the cgroup only by a reservation.
	 */
	setup->range = (struct reservation){.fd = -1};
	r = prepare_range(setup, subject->uid, &error);
	/* the cgroup's files are new as well, and must be delegated again */
	setup->map = (struct idmap){0};
	if (r == 0)
		r = take_map(setup, &expected);
	cgroup_read_usage(&setup->cgroup, CGROUP_SUMS | 1U << USAGE_MEMORY_PEAK,
	                  &setup->record.before);
	/* No process runs under the ids of the last range any more. */
	reserve_release(&last);
	if (setup->last.plan)
		expect(setup, setup->last.plan);
	if (r == 0)
		r = forker_make_init(setup);
	setup->is_ready = r == 0 && setup->last.plan;
	if (setup->is_ready) {
		r = setup_give_order(setup, &setup->last, INIT_ORDER_READY, setup->control, -1);
		(void)!share_open_maps(setup, setup->last.plan);
	}
	/* by_port: the port listener needs the rules of the request */
	if (r == 0 && setup->last.rules >= 0 && !setup->host->by_port)
		r = egress_start(setup, setup->last.memory, EGRESS_ORDER_EXPECTED,
		                 setup->last.rules);
	return r > 0 ? -ENOSPC : r;
}

void setup_end(struct setup *setup)
{
	forker_end(setup);
	end_sandbox(setup);
	let_go_of_mounts(setup, 0);
	setup_forget(setup);
	audit_settle(setup);
	/*
	 * The exit of this process closes the listening socket: connections that wait there may
	 * hold descriptors that take long to close.
	 */
	registry_unlisten(&setup->host->reserve, setup->name);
	/* otherwise the file stays, and the next sweep finds it */
	if ((!setup->cgroup.host || cgroup_destroy(&setup->cgroup) == 0) &&
	    !setup->record.is_audited)
		reserve_release(&setup->range);
	cgroup_close(&setup->cgroup);
	fd_close(setup->range.fd);
	(void)munmap(setup->shared, sizeof *setup->shared);
	setup_drop_order(&setup->last);
	free(setup);
}
