/* SPDX-License-Identifier: Apache-2.0 */
/* See life.h. */
#include "helper/supervisor/life.h"
#include "base/closing.h"
#include "base/kernel.h"
#include "helper/supervisor/denied.h"
#include "helper/setup/audit.h"
#include "helper/supervisor/network.h"
#include "protocol/frame.h"

#define HOLDERS_MAX 32 /* init has room for more channels */
/* Further connections: those that have not sent a request yet, or wait for the end. */
#define ASKING_MAX       16
#define INIT_ANSWERS_MS  1000
#define LOOK_MS_MIN      10
#define LOOK_MS_MAX      60000
#define FOLLOWED_LOOK_MS 1000
/*
 * Upper bound of the commands in one packet of init: those that it can run at once, and
 * INIT_TOTALS_EVERY.
 */
#define TOTALS_MAX     2048
#define ACTS_THAT_GIVE (1U << MANAGE_ATTACH | 1U << MANAGE_NETWORK | 1U << MANAGE_MOUNT)
#define ACTS_THAT_TAKE \
	(1U << MANAGE_PAUSE | 1U << MANAGE_RESUME | 1U << MANAGE_KILL | 1U << MANAGE_DESTROY)
/*
 * The kernel raises this to its minimum, which has room for a few packets. So a compromised init
 * that does not read cannot hoard descriptors in its queue.
 */
#define CONTROL_BUFFER 1

enum life_poll { LIFE_INIT, LIFE_CONTROL, LIFE_DENIED, LIFE_NETWORK, LIFE_LISTENING, LIFE_HOLDERS };

/* A connection that a monitor made and passed on to its decider. */
enum holder_role { HOLDER_ASKS, HOLDER_HOLDS, HOLDER_WAITS };

struct holder {
	int socket;
	enum holder_role role;
	bool is_borrowed; /* the creator's socket, which supervisor.c closes */
};

struct life {
	struct setup *setup;
	/* The record of `setup`, which other processes see. */
	struct record *reports;
	struct holder holders[HOLDERS_MAX + ASKING_MAX];
	size_t count;
	/*
	 * CLOCK_MONOTONIC. busy_ms, held_ms: when the sandbox was last busy, and last had an
	 * attached client.
	 */
	uint64_t started_ms, busy_ms, held_ms;
	uint64_t cpu_before_us, cpu_seen_us, seen_ms;
	uint32_t processors;
	struct events events;
	struct denied denied;
	struct pace network; /* packets of the connector */
	/* As last reported. Kept up to date, like looked_ms, only while somebody follows. */
	uint64_t oom_kills, forks_refused;
	uint64_t looked_ms;
	struct pace heard; /* packets of init */
	/* init has closed its end, or sent descriptors: nothing more is read. */
	bool is_deaf;
	/* init was sent INIT_WORD_REPORT, because somebody follows. */
	bool is_reported;
	bool is_over;
	enum ended_reason reason;
};

static uint32_t count_holders(const struct life *life)
{
	uint32_t count = 0;

	for (size_t i = 0; i < life->count; i++)
		count += life->holders[i].role == HOLDER_HOLDS;
	return count;
}

static void supervisor_life_end(struct life *life, enum ended_reason reason)
{
	if (!life->is_over)
		life->reason = reason;
	life->is_over = true;
}

static bool is_running(const struct life *life)
{
	return !life->is_over &&
	       (life->reports->state == SANDBOX_RUNNING || life->reports->state == SANDBOX_PAUSED);
}

/*
 * A descriptor that could not be closed leaks until the supervisor exits. End this sandbox and
 * serve no further one, so that leaks cannot pile up.
 */
static void spoil(struct life *life)
{
	life->setup->is_tainted = true;
	supervisor_life_end(life, ENDED_HELPER);
}

/* A decider has the other end, and may have sent descriptors whose closing blocks. */
static void life_let_go(struct life *life, int socket)
{
	if (!frame_close_socket(socket))
		spoil(life);
}

static void remove_holder(struct life *life, size_t i)
{
	struct holder holder = life->holders[i];

	life->holders[i] = life->holders[--life->count];
	if (!holder.is_borrowed)
		life_let_go(life, holder.socket);
	else
		/*
		 * The monitor may wait in supervisors_end() for a packet that the decider has read
		 * already: end of file wakes it.
		 */
		(void)shutdown(holder.socket, SHUT_WR);
	if (holder.role != HOLDER_HOLDS)
		return;
	life->held_ms = clock_now_ms();
	life->reports->attached = count_holders(life);
	if (holder.is_borrowed && !life->reports->life.linger)
		supervisor_life_end(life, ENDED_HELPER);
	else if (is_running(life))
		setup_publish(life->setup);
}

/*
 * `fd` goes with the notice, or is -1. A reader that is too slow misses the notice; it still sees
 * the end of file at the end.
 */
static int notify(const struct holder *holder, enum supervisor_notice_kind kind, uint32_t value,
                  int fd)
{
	struct supervisor_notice notice = {kind, value};

	return frame_send(holder->socket, &notice, sizeof notice, &fd, fd >= 0, MSG_DONTWAIT);
}

/* Notifies all attached clients. NOTICE_ENDED also goes to those that only wait for the end. */
static void notify_all(const struct life *life, enum supervisor_notice_kind kind, uint32_t value)
{
	for (size_t i = 0; i < life->count; i++)
		if (life->holders[i].role == HOLDER_HOLDS ||
		    (kind == NOTICE_ENDED && life->holders[i].role == HOLDER_WAITS))
			(void)notify(&life->holders[i], kind, value, -1);
}

static void set_state(struct life *life, enum sandbox_state state)
{
	life->reports->state = state;
	setup_publish(life->setup);
	if (state != SANDBOX_RUNNING && state != SANDBOX_PAUSED)
		return;
	notify_all(life, NOTICE_STATE, state);
	events_report(&life->events,
	              (struct message_happened){.kind = state == SANDBOX_PAUSED ? EVENT_PAUSED
	                                                                        : EVENT_RESUMED},
	              NULL, 0);
}

/*
 * If the freezer does not report "frozen" within 1 s, thaw again rather than leave the sandbox half
 * frozen.
 */
static int life_pause(struct life *life, bool pauses, struct yett_error *error)
{
	int r = cgroup_freeze(&life->setup->cgroup, pauses);

	if (r == -EOPNOTSUPP)
		return error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"the sandbox cannot be paused: without root it has no control group");
	if (r < 0 && pauses)
		(void)!cgroup_freeze(&life->setup->cgroup, false);
	if (r < 0)
		return error_set(error, YETT_E_TIMEOUT, 0, "the sandbox cannot be %s: %s",
		                 pauses ? "paused" : "resumed", strerror(-r));
	if (!pauses)
		life->busy_ms = clock_now_ms();
	set_state(life, pauses ? SANDBOX_PAUSED : SANDBOX_RUNNING);
	return 0;
}

/*
 * Sends init one byte, with `fd` unless that is -1. init may be stopped or compromised: wait at
 * most INIT_ANSWERS_MS, and only while the sandbox is not frozen.
 */
static int report_init(const struct life *life, enum init_word word, int fd,
                       struct yett_error *error)
{
	uint8_t byte = (uint8_t)word;
	int control = life->setup->control,
	    r = frame_send(control, &byte, 1, &fd, fd >= 0, MSG_DONTWAIT);

	if (r == -EAGAIN && life->reports->state == SANDBOX_RUNNING &&
	    fd_poll(control, POLLOUT, INIT_ANSWERS_MS) > 0)
		r = frame_send(control, &byte, 1, &fd, fd >= 0, MSG_DONTWAIT);
	return r < 0 ? error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                         "the request cannot be sent to the sandbox's init now: %s",
	                         strerror(-r))
	             : 0;
}

/* `channel` is init's end of a new exec channel. The monitor sends the other end to the client. */
static int life_attach(struct life *life, size_t i, int channel, struct yett_error *error)
{
	struct record *reports = life->reports;
	struct supervisor_created created = {.private_uid = reports->private_uid,
	                                     .layers = reports->layers};
	int r;

	if (channel < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "no channel came with the request");
	if (count_holders(life) >= HOLDERS_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
		                 "%d connections hold the sandbox already", HOLDERS_MAX);
	r = report_init(life, INIT_WORD_CHANNEL, channel, error);
	if (r != 0)
		return r;
	life->holders[i].role = HOLDER_HOLDS;
	reports->attached = count_holders(life);
	setup_publish(life->setup);
	/* Sent first, so that the client requests nothing from a paused sandbox. */
	if (reports->state == SANDBOX_PAUSED)
		(void)notify(&life->holders[i], NOTICE_STATE, SANDBOX_PAUSED, -1);
	(void)send(life->holders[i].socket, &created, sizeof created, MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}

/* Reports the limits that were hit since the last call. */
static void report_limits(struct life *life)
{
	const struct {
		enum usage_count count;
		uint32_t kind;
		uint64_t *last;
	} limits[] = {{USAGE_OOM_KILLS, EVENT_OOM, &life->oom_kills},
	              {USAGE_FORKS_REFUSED, EVENT_FORKS_REFUSED, &life->forks_refused}};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		uint64_t count = setup_count(life->setup, limits[i].count);
		struct message_happened event = {.kind = limits[i].kind,
		                                 .count = count - *limits[i].last};

		if (count > *limits[i].last)
			events_report(&life->events, event, NULL, 0);
		*limits[i].last = count;
	}
	life->looked_ms = clock_now_ms();
}

/* Notifies init whether somebody follows. If the socket to init is full, the next call retries. */
static void report_followed(struct life *life, bool is_followed)
{
	if (is_followed != life->is_reported && life->reports->state == SANDBOX_RUNNING &&
	    frame_send(life->setup->control,
	               &(uint8_t){is_followed ? INIT_WORD_REPORT : INIT_WORD_REST}, 1, NULL, 0,
	               MSG_DONTWAIT) == 0)
		life->is_reported = is_followed;
}

/* `stream` is the supervisor's end. */
static int life_follow(struct life *life, int *stream, struct yett_error *error)
{
	/* Only updates the counts: limits that were hit before are no events for this follower. */
	if (!life->events.are_followed)
		report_limits(life);
	/* Before the client gets the answer that it follows. */
	report_followed(life, true);
	if (*stream < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
		                 "the sandbox cannot be followed: %s", strerror(EINVAL));
	return events_add(&life->events, stream)
	               ? 0
	               : error_set(error, YETT_E_RESOURCE_LIMIT, 0, "%d follow the sandbox already",
	                           FOLLOWERS_MAX);
}

static int change_network(const struct life *life, uint32_t changes, int *rules,
                          struct yett_error *error)
{
	int r = network_change(life->setup, changes, rules);

	return r < 0 ? error_set(error, YETT_E_RESOURCE_LIMIT,
	                         r == -EAGAIN || r == -EPIPE ? YETT_R_LATER : 0,
	                         "the sandbox's network does not take other rules now: %s",
	                         strerror(-r))
	             : 0;
}

/*
 * Carries out a request that the sandbox's state allows. Returns 0 or a code. `fd` is the
 * descriptor that came with the request, -1: none; an `order` came with MANAGE_MOUNT. If the role
 * becomes HOLDER_HOLDS or HOLDER_WAITS, further packets follow after the answer.
 */
static int life_act(struct life *life, size_t i, const struct supervisor_request *request, int *fd,
                    const struct setup_order *order, struct yett_error *error)
{
	int channel = *fd, memory;

	switch (request->action) {
	case MANAGE_DESTROY:
		life->holders[i].role = HOLDER_WAITS;
		supervisor_life_end(life, ENDED_DESTROYED);
		return 0;
	case MANAGE_PLAN:
	case MANAGE_RULES:
		memory = request->action == MANAGE_PLAN ? life->setup->last.memory
		                                        : life->setup->last.rules;
		return notify(&life->holders[i], NOTICE_DONE, 0, memory) < 0
		               ? error_set(error, YETT_E_RESOURCE_LIMIT, 0,
		                           "the plan or the rules cannot be sent now")
		               : 0;
	case MANAGE_NETWORK:
		return change_network(life, request->changes, fd, error);
	case MANAGE_MOUNT:
		return setup_mount(life->setup, order, error);
	case MANAGE_ATTACH:
		return life_attach(life, i, channel, error);
	case MANAGE_PAUSE:
		return life_pause(life, true, error);
	case MANAGE_RESUME:
		return life_pause(life, false, error);
	case MANAGE_KILL:
		return report_init(life, INIT_WORD_KILL, -1, error);
	case MANAGE_FOLLOW:
		return life_follow(life, fd, error);
	default:
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "a supervisor takes no such request");
	}
}

/*
 * Sends yett-audit a record of the request, with `fd` unless that is -1. An action that gives a
 * client more waits until the record is on disk, and is refused if the policy requires the record
 * and there is none. All other actions are carried out in any case.
 */
static int life_report_audit(struct life *life, const struct supervisor_request *request, int fd,
                             struct yett_error *error)
{
	struct audit_record record = {
		.kind = AUDIT_ACT, .action = request->action, .asker = request->asker};
	/* The number comes from a decider, so that it can be any. */
	uint32_t bit = request->action < 32 ? 1U << request->action : 0;
	int socket = bit & (ACTS_THAT_GIVE | ACTS_THAT_TAKE)
	                     ? audit_report_of(life->setup, &record, &fd, fd >= 0)
	                     : -ENOENT,
	    r = 0;

	if (bit & ACTS_THAT_GIVE || socket < 0)
		r = audit_await(life->setup->host, socket, error);
	else
		audit_leave(socket);
	if (r < 0)
		events_report(&life->events, (struct message_happened){.kind = EVENT_UNRECORDED},
		              NULL, 0);
	return r > 0 && bit & ACTS_THAT_GIVE ? r : 0;
}

/*
 * The request says in which states the action is allowed. The states come from a decider: once the
 * sandbox has ended, only MANAGE_DESTROY and MANAGE_PLAN are possible, whatever the request says.
 */
static int life_check_state(const struct life *life, const struct supervisor_request *request,
                            struct yett_error *error)
{
	bool is_for_all = request->action == MANAGE_DESTROY || request->action == MANAGE_PLAN;
	uint32_t state = life->is_over ? SANDBOX_STOPPING : life->reports->state;
	static const char *const why[] = {[SANDBOX_RUNNING] = "is not paused",
	                                  [SANDBOX_PAUSED] =
	                                          "is paused already: resume it, or destroy it"};

	if ((is_for_all || is_running(life)) && (request->states & 1U << state))
		return 0;
	return error_set(error, YETT_E_NOT_RUNNING, 0, "the sandbox %s",
	                 state < ARRAY_SIZE(why) && why[state] ? why[state] : "has ended");
}

/*
 * Sends the refusal, with the `plan` that came with the request (-1: none). If the plan cannot be
 * sent now, sends the refusal without it.
 */
static void life_refuse(const struct holder *holder, const struct supervisor_created *refused,
                        int plan)
{
	if (plan < 0 ||
	    frame_send(holder->socket, refused, sizeof *refused, &plan, 1, MSG_DONTWAIT) < 0)
		(void)send(holder->socket, refused, sizeof *refused, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A request for an earlier sandbox of this supervisor gets no answer: its connection is closed. */
static int answer_holder(struct life *life, size_t i, struct frame *frame)
{
	_cleanup_fd_ int rules = -1;
	_cleanup_(setup_drop_order) struct setup_order order = SETUP_NO_ORDER;
	struct supervisor_created refused = {0};
	struct supervisor_request request = {0};
	int r = 0;

	if (frame->length == sizeof request)
		memcpy(&request, frame->bytes, sizeof request);
	/* These are memory of the monitor. All other descriptors that come are sockets. */
	if (request.action == MANAGE_NETWORK && frame->fd_count == 1)
		rules = steal_fd(&frame->fds[0]);
	else if (request.action == MANAGE_MOUNT)
		r = supervisor_take_order(frame, &order);
	if (r < 0 || frame->length != sizeof request ||
	    memcmp(request.id, life->reports->id, sizeof request.id) != 0) {
		remove_holder(life, i);
		return YETT_E_NOT_FOUND;
	}
	refused.code = life_check_state(life, &request, &refused.error);
	if (refused.code == 0)
		refused.code = life_report_audit(
			life, &request, request.action == MANAGE_MOUNT ? order.memory : rules,
			&refused.error);
	if (refused.code == 0)
		refused.code =
			life_act(life, i, &request,
		                 rules >= 0 || frame->fd_count != 1 ? &rules : &frame->fds[0],
		                 &order, &refused.error);
	if (refused.code != 0)
		life_refuse(&life->holders[i], &refused, order.memory);
	else if (life->holders[i].role == HOLDER_ASKS && request.action != MANAGE_PLAN &&
	         request.action != MANAGE_RULES)
		(void)notify(&life->holders[i], NOTICE_DONE, 0, -1);
	if (life->holders[i].role == HOLDER_ASKS)
		remove_holder(life, i);
	return refused.code;
}

/*
 * The first packet comes from a monitor. After that a decider has the connection, and nothing is
 * received: a packet or end of file detaches the client.
 */
static void handle_holder(struct life *life, size_t i)
{
	bool asks = life->holders[i].role == HOLDER_ASKS;
	_cleanup_free_ struct frame *frame = asks ? malloc(sizeof *frame) : NULL;
	int r = frame ? frame_receive(life->holders[i].socket, frame, MSG_DONTWAIT) : -ENOMEM;

	if (r > 0)
		r = answer_holder(life, i, frame);
	else if (r != -EAGAIN)
		remove_holder(life, i);
	/* After a refusal nobody else has this socket, so that closing it may block. */
	for (size_t j = 0; r > 0 && j < frame->fd_count; j++)
		life_let_go(life, steal_fd(&frame->fds[j]));
	closing_bound(true);
	/*
	 * init and the client have these now, and may have closed theirs already: then this close
	 * is the last, and may block.
	 */
	frame_close_fds(frame);
	closing_bound(false);
}

/*
 * Adds what init reports to the host's totals. A compromised init can make these numbers wrong,
 * within the limits checked here, and nothing else.
 */
static void add_totals(const struct life *life, const void *packet)
{
	struct init_totals reports;
	uint64_t count, age_us = (clock_now_ms() - life->started_ms + 1) * 1000;

	memcpy(&reports, packet, sizeof reports);
	count = reports.successes + reports.failures;
	if (reports.successes > TOTALS_MAX || reports.failures > TOTALS_MAX ||
	    reports.timeouts > reports.failures || reports.duration_us > count * age_us)
		return;
	registry_add_totals(&life->setup->host->reserve,
	                    &(struct message_totals){.executions = count,
	                                             .successes = reports.successes,
	                                             .failures = reports.failures,
	                                             .timeouts = reports.timeouts,
	                                             .duration_us = reports.duration_us});
}

/*
 * Handles one packet of init, of which nothing is trusted except that it is about this sandbox.
 * Returns whether there may be more.
 */
static bool life_hear(struct life *life)
{
	struct init_event reports = {0};
	/*
	 * init has no descriptors to send, and closing any could block: such a packet stays in the
	 * socket.
	 */
	bool has_fds = frame_peek_fds(life->setup->control);
	ssize_t n = has_fds ? 0
	                    : recv(life->setup->control, &reports, sizeof reports,
	                           MSG_DONTWAIT | MSG_TRUNC);
	struct message_happened event = {.kind = reports.kind,
	                                 .command = reports.command,
	                                 .pid = reports.pid,
	                                 .error = reports.error,
	                                 .result = reports.result};

	life->is_deaf = n == 0;
	if (has_fds)
		supervisor_life_end(life, ENDED_INIT_DIED);
	life->heard.count++;
	if (n == sizeof(struct init_totals)) {
		add_totals(life, &reports);
		return true;
	}
	if (n != sizeof reports || reports.kind < EVENT_STARTED || reports.kind > EVENT_TIMEOUT)
		return n > 0;
	if (life->events.are_followed && reports.kind == EVENT_EXITED)
		report_limits(life);
	/*
	 * Before Linux 6.11 the kernel does not count refused forks in the cgroup that is read
	 * here.
	 */
	if ((reports.result.limits_hit & LIMIT_PIDS) && life->forks_refused == 0)
		events_report(&life->events, (struct message_happened){.kind = EVENT_FORKS_REFUSED},
		              NULL, 0);
	events_report(&life->events, event, &(struct iovec){reports.argv, sizeof reports.argv},
	              reports.lost);
	return true;
}

/*
 * Whether yett-audit has room for another event. Commands and connections wait until it has;
 * refusals of system calls do not.
 */
static bool life_has_room(struct life *life)
{
	events_see_to_audit(&life->events, life->events.number);
	return life->events.followers[0] >= 0
	               ? frame_has_room(life->events.followers[0])
	               : life->is_over || !life->reports->recorded ||
	                         life->setup->host->policy->audit != POLICY_AUDIT_REQUIRED;
}

/*
 * Handles at most `most` packets. If yett-audit follows and has no room, waits up to `wait_ms`
 * before each.
 */
static void hear_all(struct life *life, unsigned most, int wait_ms)
{
	for (unsigned i = 0; i < most && !life->is_deaf; i++)
		if ((!life_has_room(life) &&
		     fd_poll(life->events.followers[0], POLLOUT, wait_ms) <= 0) ||
		    !life_hear(life))
			return;
}

static uint64_t life_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Does what is due for followers. Returns the milliseconds until it must be called again. */
static uint64_t see_to_followers(struct life *life)
{
	bool is_followed = events_are_followed(&life->events);
	uint64_t next = denied_report(&life->denied, &life->events);

	if (life->events.is_tainted || life->setup->is_tainted)
		spoil(life);
	if (!is_followed)
		life->denied.lost = 0; /* nobody followed */
	report_followed(life, is_followed);
	if (is_followed && clock_now_ms() - life->looked_ms >= FOLLOWED_LOOK_MS)
		report_limits(life);
	if (life->heard.count >= HEARD_MAX || life->network.count >= HEARD_MAX ||
	    !life_has_room(life))
		return life_lesser(next, HEARD_MS);
	return is_followed ? life_lesser(next, FOLLOWED_LOOK_MS) : next;
}

/*
 * Sets busy_ms if anything but init runs, or has run since the last call. Relies on what the kernel
 * counts, not on what init reports.
 */
static void life_look(struct life *life, uint64_t now)
{
	uint64_t cpu_us = setup_count(life->setup, USAGE_CPU);

	if (life->reports->state == SANDBOX_RUNNING &&
	    (cpu_us != life->cpu_seen_us || setup_is_busy(life->setup)))
		life->busy_ms = now;
	life->cpu_seen_us = cpu_us;
	if (count_holders(life))
		life->held_ms = now;
}

/*
 * `left`: milliseconds until a limit is reached, as it seems now. Returns after how many of them to
 * check the limit again: a fraction 1/share, because meanwhile the sandbox may become busy, or use
 * several processors at once.
 */
static uint64_t next_look(uint64_t left, uint64_t share)
{
	uint64_t next = left / share;

	next = next < LOOK_MS_MIN ? LOOK_MS_MIN : next;
	return life_lesser(life_lesser(next, LOOK_MS_MAX), left > LOOK_MS_MIN ? left : LOOK_MS_MIN);
}

/* Pauses the sandbox if it was idle for `idle_ms`. Returns like expire(). */
static uint64_t pause_idle(struct life *life, uint64_t now, uint64_t idle_ms)
{
	struct yett_error unused;

	if (now - life->busy_ms < idle_ms)
		return next_look(idle_ms - (now - life->busy_ms), 4);
	if (life_pause(life, true, &unused) == 0)
		return UINT64_MAX;
	life->busy_ms = now;
	return next_look(idle_ms, 4);
}

/*
 * Does what is due. Returns the milliseconds until it must be called again; UINT64_MAX: not before
 * something happens.
 */
static uint64_t expire(struct life *life)
{
	const struct plan_life *limits = &life->reports->life;
	uint64_t now = clock_now_ms(), next = see_to_followers(life), rests_ms;
	bool is_paused = life->reports->state == SANDBOX_PAUSED, is_held = count_holders(life) > 0;

	if ((limits->cpu_ms || limits->idle_ms || limits->linger_ms) &&
	    now - life->seen_ms >= LOOK_MS_MIN) {
		life_look(life, now);
		life->seen_ms = now;
	}
	rests_ms = life_lesser(now - life->busy_ms, now - life->held_ms);
	const struct {
		uint64_t limit_ms, used_ms;
		/* 0: the limit is reached after exactly the time that is left now. */
		uint64_t share;
		enum ended_reason reason;
	} ends[] = {
		{limits->wall_ms, now - life->started_ms, 0, ENDED_WALL_TIME},
		/* CPU time passes at most `processors` times as fast as wall time. */
		{is_paused ? 0 : limits->cpu_ms, (life->cpu_seen_us - life->cpu_before_us) / 1000,
	         life->processors, ENDED_CPU_TIME},
		{is_paused || limits->idle_pauses ? 0 : limits->idle_ms, now - life->busy_ms, 4,
	         ENDED_IDLE},
		{is_held ? 0 : limits->linger_ms, rests_ms, 4, ENDED_IDLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		uint64_t left =
			ends[i].limit_ms > ends[i].used_ms ? ends[i].limit_ms - ends[i].used_ms : 0;

		if (left > 0)
			next = life_lesser(next,
			                   ends[i].share ? next_look(left, ends[i].share) : left);
		else if (ends[i].limit_ms > 0)
			supervisor_life_end(life, ends[i].reason);
	}
	if (limits->idle_ms && limits->idle_pauses && !is_paused)
		next = life_lesser(next, pause_idle(life, now, limits->idle_ms));
	return next;
}

/* Waits up to `wait_ms` (UINT64_MAX: without limit) for something to happen, and handles it. */
static void life_turn(struct life *life, uint64_t wait_ms)
{
	struct pollfd wait[LIFE_HOLDERS + HOLDERS_MAX + ASKING_MAX];
	size_t count = life->count;
	int asking;
	bool is_up = is_running(life), has_room = is_up && life_has_room(life);
	const int fds[] = {
		[LIFE_INIT] = is_up ? life->setup->init_pidfd : -1,
		[LIFE_CONTROL] =
			has_room && !life->is_deaf && pace_allows(&life->heard, HEARD_MS, HEARD_MAX)
				? life->setup->control
				: -1,
		[LIFE_DENIED] = is_up ? denied_fd(&life->denied) : -1,
		[LIFE_NETWORK] = has_room ? network_fd(&life->network, life->setup) : -1,
		[LIFE_LISTENING] = count < ARRAY_SIZE(life->holders) ? life->setup->listening : -1,
	};

	for (size_t i = 0; i < LIFE_HOLDERS + count; i++)
		wait[i] = (struct pollfd){
			.fd = i < LIFE_HOLDERS ? fds[i] : life->holders[i - LIFE_HOLDERS].socket,
			.events = POLLIN};
	if (poll(wait, LIFE_HOLDERS + count,
	         wait_ms > INT_MAX ? (wait_ms == UINT64_MAX ? -1 : INT_MAX) : (int)wait_ms) <= 0)
		return;
	/* Backwards: handle_holder() may remove the holder from the table. */
	for (size_t i = count; i > 0; i--)
		if (wait[LIFE_HOLDERS + i - 1].revents)
			handle_holder(life, i - 1);
	if (wait[LIFE_CONTROL].revents)
		hear_all(life, HEARD_MAX, 0);
	if (wait[LIFE_DENIED].revents)
		denied_answer(&life->denied, &life->events);
	if (wait[LIFE_NETWORK].revents)
		network_hear(&life->network, life->setup, &life->events);
	if (wait[LIFE_INIT].revents)
		supervisor_life_end(life,
		                    life->reports->life.linger ? ENDED_INIT_DIED : ENDED_CLOSED);
	asking = wait[LIFE_LISTENING].revents ? registry_accept(life->setup->listening) : -1;
	if (asking >= 0)
		life->holders[life->count++] = (struct holder){.socket = asking};
}

struct life *life_begin(struct setup *setup, int creator, int listener)
{
	struct life *life = calloc(1, sizeof *life);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (!life)
		return NULL;
	(void)setsockopt(setup->control, SOL_SOCKET, SO_SNDBUF, &(int){CONTROL_BUFFER},
	                 sizeof(int));
	life->setup = setup;
	life->reports = &setup->record;
	life->denied.listener = listener;
	life->events = EVENTS_NONE;
	life->events.state = &setup->record.state;
	life->holders[life->count++] =
		(struct holder){.socket = creator, .role = HOLDER_HOLDS, .is_borrowed = true};
	life->started_ms = life->busy_ms = life->held_ms = clock_now_ms();
	if (life->reports->life.cpu_ms)
		life->cpu_before_us = life->cpu_seen_us = setup_count(setup, USAGE_CPU);
	life->processors = processors > 0 ? (uint32_t)processors : 1;
	life->reports->attached = 1;
	life->reports->started_ms = clock_wall_ms();
	life->reports->state = SANDBOX_RUNNING;
	life->reports->recorded =
		setup->host->rootless ? 0 : setup->host->policy->profiles[setup->profile].record;
	life->events.setup = life->reports->recorded ? setup : NULL;
	setup_publish(setup);
	return life;
}

void life_keep(struct life *life)
{
	while (!life->is_over) {
		uint64_t wait_ms = expire(life);

		if (!life->is_over)
			life_turn(life, wait_ms);
	}
	if (life->reports->state == SANDBOX_PAUSED)
		/*
		 * The cgroup forker is frozen with the sandbox, and is needed for the next sandbox.
		 */
		(void)!cgroup_freeze(&life->setup->cgroup, false);
	/*
	 * Kill init, so that no command runs any more, and then receive all reports of init and the
	 * connector: nothing that happens at the end may go unrecorded.
	 */
	(void)syscall(SYS_pidfd_send_signal, life->setup->init_pidfd, SIGKILL, NULL, 0u);
	(void)fd_poll(life->setup->init_pidfd, POLLIN, INIT_ANSWERS_MS);
	hear_all(life, UINT16_MAX, FOLLOWED_LOOK_MS);
	life->network.count = 0;
	network_hear(&life->network, life->setup, &life->events);
	life->reports->ended = life->reason;
	set_state(life, SANDBOX_STOPPING);
}

/* Notifies all clients and removes them. */
static void life_leave(struct life *life, enum sandbox_state state, enum ended_reason reason)
{
	set_state(life, state);
	if (state == SANDBOX_DESTROYED)
		setup_forget(life->setup);
	notify_all(life, NOTICE_ENDED, reason);
	while (life->count)
		remove_holder(life, life->count - 1);
}

void life_end(struct life *life, bool out_of_memory)
{
	struct record *reports = life->reports;
	uint64_t cleanup_ms = life->reason == ENDED_DESTROYED ? 0 : reports->life.cleanup_ms,
		 end_ms = clock_now_ms() + cleanup_ms, now;

	if (out_of_memory && (life->reason == ENDED_CLOSED || life->reason == ENDED_INIT_DIED))
		life->reason = ENDED_OOM;
	reports->state = SANDBOX_STOPPING;
	reports->ended = life->reason;
	reports->ended_ms = clock_wall_ms();
	reports->attached = 0;
	if (life->events.are_followed)
		report_limits(life);
	denied_end(&life->denied, &life->events);
	life->setup->audit =
		audit_report_of(life->setup, &(struct audit_record){.kind = AUDIT_ENDED}, NULL, 0);
	events_report(&life->events,
	              (struct message_happened){.kind = EVENT_ENDED, .ended = life->reason}, NULL,
	              life->denied.lost);
	events_free(&life->events);
	registry_add_totals(&life->setup->host->reserve, &(struct message_totals){.sandboxes = 1});
	if (cleanup_ms) {
		life_leave(life,
		           life->reason == ENDED_OOM || life->reason == ENDED_INIT_DIED
		                   ? SANDBOX_FAILED
		                   : SANDBOX_STOPPED,
		           life->reason);
		life->is_over = false;
		while (!life->is_over && (now = clock_now_ms()) < end_ms)
			life_turn(life, end_ms - now);
	}
	life_leave(life, SANDBOX_DESTROYED, cleanup_ms ? ENDED_DESTROYED : life->reason);
	free(life);
}
