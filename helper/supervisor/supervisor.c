/* SPDX-License-Identifier: Apache-2.0 */
/* See supervisor.h. */
#include "helper/supervisor/supervisor.h"
#include "base/clock.h"
#include "base/closing.h"
#include "helper/privilege/privilege.h"
#include "helper/setup/audit.h"
#include "helper/supervisor/life.h"
#include "protocol/frame.h"

#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/*
 * How long init may take until it serves. A build waits for nothing except a file system of the
 * client that does not respond.
 */
#define INIT_DEADLINE_MS 20000

/*
 * Copies the used parts of the plan to sealed memory. The unused steps are a hole there, which
 * takes no memory. Returns a descriptor or -errno.
 */
static int seal_plan(const struct plan *plan)
{
	_cleanup_fd_ int memfd = memfd_create("yett-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t length = offsetof(struct plan, steps) + plan->steps_count * sizeof *plan->steps;
	int r;

	if (memfd < 0 || write(memfd, plan, length) != (ssize_t)length ||
	    pwrite(memfd, plan->arena, plan->arena_used, offsetof(struct plan, arena)) !=
	            (ssize_t)plan->arena_used)
		return errno ? -errno : -EIO;
	r = fchmod(memfd, 0400) < 0 ? -errno : fd_seal(memfd); /* as fd_new_sealed() does */
	return r < 0 ? r : steal_fd(&memfd);
}

int supervisor_order(int socket, const struct supervisor_request *request, const struct plan *plan,
                     int rules, int connection)
{
	_cleanup_fd_ int memory = seal_plan(plan);
	int fds[3] = {memory}, count = 1, r = memory;

	if (r >= 0 && rules >= 0) {
		fds[count++] = rules;
		r = fd_seal(rules);
	}
	if (connection >= 0)
		fds[count++] = connection;
	return r < 0 ? r
	             : privilege_send(socket, request ? (const void *)request : "",
	                              request ? sizeof *request : 1, fds, (size_t)count);
}

int supervisor_take_order(struct frame *frame, struct setup_order *order)
{
	const struct plan *plan;
	struct stat st;
	int next = 0;
	bool is_whole;

	order->memory = frame->fd_count > 0 ? steal_fd(&frame->fds[next++]) : -1;
	plan = mmap(NULL, sizeof *plan, PROT_READ, MAP_PRIVATE, order->memory, 0);
	if (plan == MAP_FAILED)
		return -errno;
	order->plan = plan;
	if (plan_network_has_rules(plan->network) && next < (int)frame->fd_count)
		order->rules = steal_fd(&frame->fds[next++]);
	if (plan->share_fds && next < (int)frame->fd_count)
		order->connection = steal_fd(&frame->fds[next++]);
	is_whole = next == (int)frame->fd_count;
	frame_close_fds(frame);
	/* Monitors are trusted. This check is for a monitor of another version of the helper. */
	return is_whole && fstat(order->memory, &st) == 0 &&
	                       st.st_size >= (off_t)offsetof(struct plan, arena) &&
	                       st.st_size ==
	                               (off_t)(offsetof(struct plan, arena) + plan->arena_used) &&
	                       (plan->share_fds > 0) == (order->connection >= 0) &&
	                       plan_network_has_rules(plan->network) == (order->rules >= 0)
	               ? 0
	               : -EPROTO;
}

/* Returns 1 with an order, 0 if no sandbox is wanted any more, or -errno. */
static int supervisor_receive_order(int socket, struct setup_order *order)
{
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	int r = frame ? frame_receive(socket, frame, 0) : -ENOMEM;

	if (r > 0)
		r = supervisor_take_order(frame, order) ?: 1;
	return r;
}

/*
 * Whether a label that the plan requires is in force. The report of init is trusted here: no client
 * has reached init yet.
 */
static int check_label(const struct plan *plan, const char *label, struct yett_error *error)
{
	const char *profile = plan_text(plan, plan->label),
		   *type = plan_text(plan, plan->selinux_type);
	char enforced[INIT_LABEL_SIZE], context[INIT_LABEL_SIZE];

	(void)snprintf(enforced, sizeof enforced, "%s (enforce)", profile);
	(void)snprintf(context, sizeof context, "system_u:system_r:%s:", type);
	if (!plan->label_required || strcmp(label, enforced) == 0 ||
	    (*type && strncmp(label, context, strlen(context)) == 0))
		return 0;
	return error_set(error, YETT_E_UNSUPPORTED, 0,
	                 "the label '%s' is required and not enforced: '%s'",
	                 *profile ? profile : type, label);
}

/*
 * A process in the host's network namespace can connect to the abstract sockets of other processes
 * there (unix(7)), unless Landlock's scope or SELinux forbids it. Where SELinux enforces, init
 * fails if it cannot take its label. AppArmor does not count, because not every kernel with
 * AppArmor lets it check Unix sockets. init's report is trusted as in check_label(). The state of
 * SELinux is that of the time when the policy was loaded.
 */
static int check_scope(const struct setup *setup, const struct plan *plan, uint32_t landlock_abi,
                       struct yett_error *error)
{
	if (plan->network != PLAN_NETWORK_HOST || landlock_abi >= 6 /* landlock(7) */ ||
	    setup->host->templates[plan->profile].selinux == SELINUX_ENFORCING)
		return 0;
	return error_set(
		error, YETT_E_UNSUPPORTED, 0,
		"the network host needs Landlock version 6 (Linux 6.12), and version %u is in force; or SELinux in enforcing mode",
		landlock_abi);
}

static bool is_listener(int fd)
{
	const uint64_t nobody = 0;

	return ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &nobody) < 0 && errno == ENOENT;
}

/*
 * Receives one report of init. Returns 1, 0 if none came in time, -ECHILD if init has ended or sent
 * something else, or -errno. An unexpected descriptor stays open until our exit: a compromised init
 * could make close(2) block for as long as it wants. socket(7), SO_LINGER
 */
static int hear_report(struct setup *setup, uint64_t end_ms, struct frame *frame,
                       struct init_report *ret_report)
{
	struct pollfd wait[] = {{.fd = setup->control, .events = POLLIN},
	                        {.fd = setup->init_pidfd, .events = POLLIN}};
	uint64_t now = clock_now_ms();
	ssize_t n;
	int r;

	if (now >= end_ms || poll(wait, ARRAY_SIZE(wait), (int)(end_ms - now)) <= 0)
		return 0;
	frame_close_fds(frame);
	/*
	 * A packet that is no report stays in the socket, with its descriptors. If init exits with
	 * an order unread, the socket fails once with ECONNRESET, ahead of packets that are still
	 * queued. Because init may exit at any time, both calls must expect that. unix(7)
	 */
	do
		n = recv(setup->control, frame->bytes, sizeof frame->bytes,
		         MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && errno == ECONNRESET);
	if (n != sizeof *ret_report)
		return -ECHILD;
	do
		r = frame_receive(setup->control, frame, MSG_DONTWAIT);
	while (r == -ECONNRESET);
	if (r <= 0)
		return -ECHILD;
	if (frame->fd_count > 0 && !(frame->fd_count == 1 && is_listener(frame->fds[0]))) {
		frame->fd_count = 0;
		setup->is_tainted = true;
		return -EPROTO;
	}
	memcpy(ret_report, frame->bytes, sizeof *ret_report);
	ret_report->layers.label[INIT_LABEL_SIZE - 1] =
		ret_report->step[sizeof ret_report->step - 1] = '\0';
	return 1;
}

/*
 * Fills in why there is no sandbox: the error of a process of the helper, else that of init.
 * Nothing of init's report is trusted except that it is text.
 */
static int explain_failure(const struct setup *setup, const struct init_report *report,
                           struct yett_error *error)
{
	int r = setup_explain(setup, 0, error);

	if (r != 0)
		return r;
	if (report->error > 0 && report->refused.code != YETT_OK &&
	    error_is_sound(&report->refused)) {
		*error = report->refused;
		return (int)error->code;
	}
	error_set(error, YETT_E_INIT_FAILED, 0, "init failed%s%s: %s",
	          report->step[0] ? " at " : "", report->step, error_number_text(report->error));
	return error_cause(error, "init", report->error);
}

/* Waits until init reports that it serves the channel. */
static int await_init(struct setup *setup, const struct plan *plan, struct init_layers *ret_layers,
                      int *ret_listener, struct yett_error *error)
{
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	struct init_report report = {.error = ECHILD};
	uint64_t end_ms = clock_now_ms() + INIT_DEADLINE_MS;
	int r = frame ? hear_report(setup, end_ms, frame, &report) : -ENOMEM;

	if (r > 0 && setup->is_ready && report.kind == INIT_ORDER_READY && report.error == 0)
		r = hear_report(setup, end_ms, frame, &report);
	if (r > 0)
		*ret_listener = frame->fd_count == 1 ? steal_fd(&frame->fds[0]) : -1;
	frame_close_fds(frame);
	setup_end_mount_clone_child(setup);
	if (r == 0)
		return error_set(error, YETT_E_INIT_FAILED, 0,
		                 "the sandbox was not ready within %d s", INIT_DEADLINE_MS / 1000);
	if (r < 0 || report.error != 0 || report.kind != INIT_ORDER_SANDBOX)
		return explain_failure(setup, &report, error);
	*ret_layers = report.layers;
	r = egress_await(setup);
	if (r < 0)
		return explain_failure(setup, &(struct init_report){.step = "network", .error = -r},
		                       error);
	r = check_label(plan, report.layers.label, error);
	return r == 0 ? check_scope(setup, plan, report.layers.landlock_abi, error) : r;
}

/* Whether the sandbox may be made, before anything is recorded of it. */
static int supervisor_admit(struct setup *setup, const struct setup_order *order,
                            struct yett_error *error)
{
	int r;

	if (order->plan->policy_generation != setup->host->policy->generation)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
		                 "the policy was loaded anew; ask again");
	r = setup_reserve(setup, order, error);
	return r < 0 ? error_set(error, YETT_E_INIT_FAILED, 0,
	                         "the sandbox could not be set up: %s", strerror(-r))
	             : r;
}

static int supervisor_create(struct setup *setup, const struct setup_order *order, int *ret_channel,
                             int *ret_listener, struct supervisor_created *created)
{
	struct yett_error *error = &created->error;
	int r = setup_build(setup, order, ret_channel);

	if (r == 0) {
		setup->record.state = SANDBOX_STARTING;
		setup_publish(setup);
	}
	if (r < 0)
		r = setup_explain(setup, r, error);
	if (r < 0)
		return error_set(error, YETT_E_INIT_FAILED, 0,
		                 "the sandbox could not be set up: %s", strerror(-r));
	return r == 0 ? await_init(setup, order->plan, &created->layers, ret_listener, error) : r;
}

/* A dry run is not recorded. Otherwise returns like audit_report_of(). */
static int supervisor_report_audit(struct setup *setup, const struct setup_order *order,
                                   enum audit_kind kind, const struct yett_error *error)
{
	struct audit_record record = {.kind = kind, .asker = order->plan->asker, .error = *error};
	const int fds[] = {order->memory, order->rules};

	return order->plan->is_dry
	               ? -ENOENT
	               : audit_report_of(setup, &record, fds,
	                                 1 + (kind == AUDIT_CREATE && order->rules >= 0));
}

/*
 * Publishes the record of the sandbox and, unless the plan is dry, reports the creation to
 * yett-audit. If the supervisor is killed after the record was published, the next sweep at least
 * records the end of the sandbox. Returns the socket for audit_await(), or -errno.
 */
static int begin_record(struct setup *setup, const struct setup_order *order,
                        const struct yett_error *none)
{
	record_plan(&setup->record, order->plan);
	setup->record.created_ms = clock_wall_ms();
	setup->record.is_audited = !order->plan->is_dry;
	setup_publish(setup);
	return supervisor_report_audit(setup, order, AUDIT_CREATE, none);
}

/*
 * There will be no sandbox: it could not be made, or it is a dry run, which is answered with the
 * plan. Returns whether the supervisor can serve another sandbox.
 */
static bool supervisor_give_up(struct setup *setup, struct setup_order *order, int socket,
                               struct supervisor_created *created, bool is_begun)
{
	const struct supervisor_notice is_planned = {.kind = NOTICE_DONE};

	/* The record has this state a moment before the sandbox is gone, which harms nobody. */
	setup->record.state = SANDBOX_DESTROYED;
	if (is_begun)
		setup_publish(setup);
	created->is_reported = is_begun && setup->record.is_audited;
	if (created->is_reported)
		setup->audit = supervisor_report_audit(setup, order, AUDIT_FAILED, &created->error);
	(void)setup_finish(setup);
	/* Not the last close: the monitor holds the connection until the answer. */
	order->connection = fd_close(order->connection);
	setup_forget(setup);
	if (created->code == 0 &&
	    frame_send(socket, &is_planned, sizeof is_planned, &order->memory, 1, 0) < 0)
		created->code = error_set(&created->error, YETT_E_INIT_FAILED, 0,
		                          "the plan cannot be sent");
	if (created->code != 0)
		(void)!frame_send(socket, created, sizeof *created, &order->memory, 1, 0);
	setup_drop_order(order);
	return created->code > 0;
}

/*
 * Carries out an order, from the plan to the end of its sandbox. Returns whether the supervisor can
 * serve another sandbox.
 */
static bool supervisor_serve(struct setup *setup, struct setup_order *order, int socket,
                             bool is_kept)
{
	_cleanup_fd_ int channel = -1, listener = -1;
	struct supervisor_created created = {0};
	struct life *life = NULL;
	int r, narrowed, audit = -ENOENT;
	bool is_begun;

	created.code = supervisor_admit(setup, order, &created.error);
	is_begun = created.code == 0;
	if (is_begun) {
		audit = begin_record(setup, order, &created.error);
		created.code = supervisor_create(setup, order, &channel, &listener, &created);
	}
	r = created.code == 0 ? audit_await(setup->host, audit, &created.error) : fd_close(audit);
	created.code = r > 0 ? r : created.code;
	created.private_uid = idmap_host(&setup->map.uids, setup->map.payload_uid);
	if (created.code == 0 && !order->plan->is_dry) {
		setup->record.private_uid = created.private_uid;
		setup->record.layers = created.layers;
		life = life_begin(setup, socket, listener);
		created.code = life ? 0
		                    : error_set(&created.error, YETT_E_INIT_FAILED, 0,
		                                "no memory for a sandbox");
	}
	if (!life)
		return supervisor_give_up(setup, order, socket, &created, is_begun);
	listener = -1; /* now owned by `life` */
	order->connection = fd_close(order->connection);
	r = frame_send(socket, &created, sizeof created, &channel, 1, 0);
	if (r < 0)
		/*
		 * Nobody else has this end, and a compromised init may have queued descriptors in
		 * it.
		 */
		(void)frame_close_socket(steal_fd(&channel));
	/*
	 * Only the client may keep this end: otherwise init would not notice that the client closes
	 * it.
	 */
	channel = closing_fd(channel);
	setup_keep_order(setup, order);
	/*
	 * While a sandbox runs, only the capabilities to end it are effective. The others stay
	 * permitted for later mounts, a restart of the network, and the next sandbox.
	 */
	narrowed = privilege_narrow();
	if (r == 0)
		r = narrowed;
	if (r == 0)
		life_keep(life);
	life_end(life, setup_finish(setup));
	return r == 0 && (!is_kept || privilege_raise() == 0);
}

/*
 * Offers the supervisor for another sandbox. Returns a new socket for orders, or -errno if the
 * receiver is gone.
 */
static int announce(const struct setup_host *host, uid_t uid, uint32_t profile, int pool)
{
	struct supervisor_ready ready = {uid, profile, host->policy->generation};
	int pair[2], r = fd_pair(pair);

	if (r < 0)
		return r;
	r = frame_send(pool, &ready, sizeof ready, &pair[1], 1, MSG_DONTWAIT);
	(void)close(pair[1]);
	if (r < 0)
		(void)close(pair[0]);
	return r < 0 ? r : pair[0];
}

/*
 * Waits for an order, or end of file. Connections for requests about an earlier sandbox are closed
 * without an answer. Returns false if one of them could not be closed.
 */
static bool await_order(const struct setup *setup, int socket)
{
	struct pollfd wait[] = {{.fd = socket, .events = POLLIN},
	                        {.fd = setup->listening, .events = POLLIN}};

	for (;;) {
		int asking, ready = poll(wait, ARRAY_SIZE(wait), -1);

		if (ready > 0 && wait[0].revents)
			return true;
		asking = ready > 0 ? registry_accept(setup->listening) : -1;
		if (!frame_close_socket(asking))
			return false;
	}
}

/*
 * A supervisor that outlives the process that started it must not share a terminal, pipes or
 * signals with that process.
 */
static void stand_alone(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	fd_close(null);
}

/*
 * The main function of a supervisor. When it returns, everything that the supervisor made is gone.
 * With `ahead` it prepares itself before there is an order. Otherwise the order is in the socket
 * already, and determines what may be prepared at all.
 */
static void supervisor_run(const struct setup_host *host, const struct supervisor_ahead *ahead,
                           int socket)
{
	struct idmap_subject subject;
	struct setup_order order = SETUP_NO_ORDER;
	struct supervisor_created failed = {.code = YETT_E_INIT_FAILED};
	struct setup *setup = NULL;
	/* To PRIVILEGE_BUILD, which the forking process has in its permitted set. */
	int r = privilege_raise(), prepared;
	bool is_ahead = ahead != NULL, is_useless;

	if (r < 0 || (!is_ahead && supervisor_receive_order(socket, &order) <= 0))
		return;
	if (!is_ahead && (order.plan->life.linger || order.plan->life.cleanup_ms))
		stand_alone();
	subject = is_ahead ? (struct idmap_subject){.uid = ahead->uid, .gid = ahead->gid}
	                   : setup_subject(order.plan);
	prepared = setup_prepare(host, &subject, is_ahead ? ahead->profile : order.plan->profile,
	                         order.plan, &setup, &failed.error);
	if (prepared < 0)
		error_set(&failed.error, YETT_E_INIT_FAILED, 0, "a sandbox cannot be prepared: %s",
		          strerror(-prepared));
	/*
	 * If this supervisor was started ahead, preparing failed, and no order waits in the socket,
	 * exit. The next request gets a new supervisor, which tries again: what was missing may be
	 * there by then.
	 */
	is_useless = prepared != 0 && is_ahead && fd_poll(socket, POLLIN, 0) == 0;
	while (!is_useless && socket >= 0) {
		if (is_ahead && ((setup && !await_order(setup, socket)) ||
		                 supervisor_receive_order(socket, &order) <= 0))
			break;
		if (prepared != 0)
			(void)!frame_send(socket, &failed, sizeof failed, &order.memory, 1, 0);
		if (prepared != 0 || !supervisor_serve(setup, &order, socket, is_ahead) ||
		    !is_ahead || setup_recycle(setup, &subject) < 0 || !frame_close_socket(socket))
			break;
		socket = announce(host, subject.uid, setup->profile, ahead->pool);
	}
	if (setup)
		setup_end(setup);
	/*
	 * Our exit closes the socket: a compromised decider may have queued descriptors in it whose
	 * closing blocks.
	 */
}

pid_t supervisor_start(const struct setup_host *host, const struct place *place,
                       const struct supervisor_ahead *ahead, int *ret_socket)
{
	/* init and its commands inherit that no signal is blocked. */
	pid_t pid = place_fork(place, ret_socket);

	if (pid == 0) {
		const int keep_open[] = {*ret_socket, ahead ? ahead->pool : -1};

		setup_host_keep_only(host, keep_open, ARRAY_SIZE(keep_open));
		supervisor_run(host, ahead, *ret_socket);
		_exit(0);
	}
	return pid;
}

pid_t supervisor_start_sweep(const struct setup_host *host)
{
	pid_t pid = fork();

	if (pid == 0) {
		setup_host_keep_only(host, NULL, 0);
		if (privilege_take(PRIVILEGE_BUILD) == 0)
			setup_sweep(host);
		_exit(0);
	}
	return pid;
}
