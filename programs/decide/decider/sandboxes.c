/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxes of a connection: sends requests to supervisors through the monitor, and forwards
 * the supervisors' answers and notices to the client. See connection.h.
 */
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/connection.h"
#include "programs/decide/decider/manage.h"
#include "programs/decide/decider/refuse_plan.h"
#include "programs/decide/decider/rules.h"
#include "programs/decide/decider/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SANDBOXES_MAX 4096 /* of one connection; a grant's max_sandboxes is the real bound */
#define FILES_FREE    8    /* descriptors that answers may bring at once */

static int sandboxes_add_sandbox(struct connection *c, const struct sandbox *sandbox)
{
	struct sandbox *sandboxes =
		reallocarray(c->sandboxes, c->sandboxes_count + 1, sizeof *sandboxes);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = sandbox->supervisor};

	if (!sandboxes)
		return -ENOMEM;
	c->sandboxes = sandboxes;
	if (epoll_ctl(c->supervisors, EPOLL_CTL_ADD, sandbox->supervisor, &event) < 0)
		return -errno;
	c->sandboxes[c->sandboxes_count++] = *sandbox;
	c->pending++;
	return 0;
}

static struct sandbox new_sandbox(uint64_t sequence, const char *id, const char *profile,
                                  struct message_limits limits)
{
	struct sandbox sandbox = {.sequence = sequence, .channel = -1, .limits = limits};

	(void)snprintf(sandbox.id, sizeof sandbox.id, "%s", id);
	(void)snprintf(sandbox.profile, sizeof sandbox.profile, "%s", profile);
	return sandbox;
}

/*
 * Checks that descriptors of an answer of the monitor or a supervisor will fit below RLIMIT_NOFILE.
 * The kernel drops descriptors that do not fit, and then the connection and all its sandboxes would
 * be lost. The limit is that of the helper's start; event streams use descriptors, too.
 */
static bool sandboxes_has_room(void)
{
	int taken[FILES_FREE];
	size_t count = 0;
	bool has;

	while (count < FILES_FREE && (taken[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	has = count == FILES_FREE;
	while (count > 0)
		fd_close(taken[--count]);
	return has;
}

int sandboxes_check(const struct connection *c, struct yett_error *error)
{
	if (c->begin->no_host.code) {
		*error = c->begin->no_host;
		return (int)error->code;
	}
	if (!sandboxes_has_room())
		return error_set(
			error, YETT_E_RESOURCE_LIMIT, 0,
			"a connection holds no more sandboxes and event streams than files may be open");
	if (c->sandboxes_count < SANDBOXES_MAX)
		return 0;
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "a connection holds at most %d sandboxes",
	                 SANDBOXES_MAX);
}

int sandboxes_report_rules(const struct connection *c, const struct decision *decision,
                           struct yett_error *error)
{
	_cleanup_free_ struct egress_rules *rules = NULL;
	size_t size;
	int r = rules_make(c->policy, decision, &rules, &size, error);

	if (r == 0)
		ask_report_bytes(ACT_RULES, rules, size);
	return r;
}

/* Sends `act` with the used part of the connection's plan. */
static int ask_with_plan(const struct connection *c, enum decider_act act,
                         struct decider_answer *answer, struct ask_fds *fds,
                         struct yett_error *error)
{
	const struct plan *plan = c->plan;
	const struct iovec parts[] = {
		{(void *)(uintptr_t)plan,
	         offsetof(struct plan, steps) + plan->steps_count * sizeof *plan->steps},
		{(void *)(uintptr_t)plan->arena, plan->arena_used}};

	return ask(act, parts, ARRAY_SIZE(parts), answer, fds, error);
}

/*
 * Adds the sandbox to the loop, which handles the supervisor's answer. If the plan has shares, the
 * client's packet is the supervisor's to receive until then.
 */
static int await(struct connection *c, const struct sandbox *sandbox, struct yett_error *error)
{
	int r = sandboxes_add_sandbox(c, sandbox);

	if (r < 0) {
		fd_close(sandbox->supervisor);
		c->is_over = true;
		return error_set(error, YETT_E_INIT_FAILED, 0, "the sandbox cannot be kept: %s",
		                 strerror(-r));
	}
	if (c->plan->share_fds)
		c->taker = sandbox->supervisor;
	return 0;
}

int sandboxes_mount(struct connection *c, const struct record *record, uint64_t sequence,
                    struct yett_error *error)
{
	struct sandbox sandbox =
		new_sandbox(sequence, record->id, record->profile, report_limits(&record->limits));
	struct decider_answer answer;
	struct ask_fds fds = {-1, -1};
	int r = ask_with_plan(c, ACT_MOUNT, &answer, &fds, error);

	if (r != 0)
		return r;
	sandbox.action = MANAGE_MOUNT;
	sandbox.supervisor = fds.first;
	return await(c, &sandbox, error);
}

int sandboxes_begin(struct connection *c, const struct decision *decision, uint64_t sequence,
                    struct yett_error *error)
{
	const struct plan *plan = c->plan;
	struct decider_answer answer;
	struct sandbox sandbox;
	struct ask_fds fds = {-1, -1};
	int r = sandboxes_check(c, error);

	if (r == 0 && plan_network_has_rules(plan->network))
		r = sandboxes_report_rules(c, decision, error);
	if (r == 0)
		r = ask_with_plan(c, ACT_CREATE, &answer, &fds, error);
	if (r != 0)
		return r;
	sandbox = new_sandbox(sequence, answer.id, decision->profile->name,
	                      report_limits(&plan->limits));
	(void)snprintf(sandbox.weaker, sizeof sandbox.weaker, "%s", plan->weaker);
	sandbox.command_ms = plan->life.command_ms;
	sandbox.command_max_ms = plan->life.command_max_ms;
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == PLAN_HOSTNAME)
			(void)snprintf(sandbox.hostname, sizeof sandbox.hostname, "%s",
			               plan_text(plan, plan->steps[i].source));
	sandbox.network = plan->network;
	sandbox.supervisor = fds.first;
	return await(c, &sandbox, error);
}

static void remove_sandbox(struct connection *c, size_t i)
{
	(void)epoll_ctl(c->supervisors, EPOLL_CTL_DEL, c->sandboxes[i].supervisor, NULL);
	c->pending -= !c->sandboxes[i].is_created;
	fd_close(c->sandboxes[i].supervisor);
	fd_close(c->sandboxes[i].channel);
	c->sandboxes[i] = c->sandboxes[--c->sandboxes_count];
}

void sandboxes_leave(struct connection *c)
{
	while (c->sandboxes_count)
		remove_sandbox(c, c->sandboxes_count - 1);
}

static void report_done(struct connection *c, uint64_t sequence, const char *id)
{
	union message_body *body = message_begin(c->message, MESSAGE_DONE);

	if (message_add_text(c->message, id, &body->done.id) == 0)
		connection_answer(c, sequence, -1);
}

/* Reports that the action is done; for MANAGE_FOLLOW, starts the event stream. */
static void report_finished(struct connection *c, struct sandbox *sandbox)
{
	_cleanup_fd_ int stream = -1;
	struct yett_error error = {0};

	if (sandbox->action != MANAGE_FOLLOW) {
		report_done(c, sandbox->sequence, sandbox->id);
		return;
	}
	stream = streams_add(c, steal_fd(&sandbox->channel));
	if (stream < 0) {
		error_set(&error, YETT_E_RESOURCE_LIMIT, 0, "the sandbox cannot be followed: %s",
		          strerror(-stream));
		connection_refuse(c, sandbox->sequence, &error);
	} else if (message_add_text(c->message, sandbox->id,
	                            &message_begin(c->message, MESSAGE_FOLLOWING)->following.id) ==
	           0) {
		connection_answer(c, sandbox->sequence, stream);
	}
}

int sandboxes_detach(struct connection *c, uint64_t sequence, const char *id,
                     struct yett_error *error)
{
	size_t before = c->sandboxes_count;

	for (size_t i = c->sandboxes_count; i > 0; i--)
		if (c->sandboxes[i - 1].is_created && strcmp(c->sandboxes[i - 1].id, id) == 0)
			remove_sandbox(c, i - 1);
	if (c->sandboxes_count == before)
		return error_set(error, YETT_E_NOT_RUNNING, 0,
		                 "this connection does not hold the sandbox");
	report_done(c, sequence, id);
	return 0;
}

int sandboxes_ask(struct connection *c, const struct record *record,
                  struct supervisor_request request, uint64_t sequence, struct yett_error *error)
{
	struct sandbox sandbox =
		new_sandbox(sequence, record->id, record->profile, report_limits(&record->limits));
	struct decider_answer answer;
	struct ask_fds fds;
	int r;

	sandbox.action = request.action;
	sandbox.command_ms = record->life.command_ms;
	sandbox.command_max_ms = record->life.command_max_ms;
	(void)snprintf(sandbox.hostname, sizeof sandbox.hostname, "%s", record->hostname);
	sandbox.network =
		record->network.mode < PLAN_NETWORKS ? record->network.mode : PLAN_NETWORK_NONE;
	sandbox.changes = record->network.changes;
	memcpy(request.id, record->id, sizeof request.id);
	r = ask(ACT_ASK, &(struct iovec){&request, sizeof request}, 1, &answer, &fds, error);
	if (r != 0)
		return r;
	sandbox.supervisor = fds.first;
	sandbox.channel = fds.second;
	r = sandboxes_add_sandbox(c, &sandbox);
	if (r == 0)
		return 0;
	fd_close(fds.first);
	fd_close(fds.second);
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                 "the supervisor of the sandbox cannot be asked now: %s", strerror(-r));
}

static void report_created(struct connection *c, struct sandbox *sandbox,
                           const struct supervisor_created *created, int channel)
{
	struct message_created *body = &message_begin(c->message, MESSAGE_CREATED)->created;

	*body = (struct message_created){.private_uid = created->private_uid,
	                                 .landlock_abi = created->layers.landlock_abi,
	                                 .limits = sandbox->limits,
	                                 .command_ms = sandbox->command_ms,
	                                 .command_max_ms = sandbox->command_max_ms,
	                                 .network = sandbox->network};
	if (message_add_text(c->message, sandbox->id, &body->id) < 0 ||
	    message_add_text(c->message, sandbox->profile, &body->profile) < 0 ||
	    message_add_text(c->message, created->layers.label, &body->label) < 0 ||
	    message_add_text(c->message, sandbox->weaker, &body->weaker) < 0 ||
	    message_add_text(c->message, sandbox->hostname, &body->hostname) < 0)
		return;
	sandbox->is_created = true;
	c->pending--;
	connection_answer(c, sandbox->sequence, channel);
	/* An attach was already logged when it was requested. */
	if (!sandbox->action)
		ask_log(LOG_LEVEL_NOTICE, "sandbox=%s profile=%s private_uid=%" PRIu32 " created",
		        sandbox->id, sandbox->profile, created->private_uid);
}

static void report_ended(struct connection *c, const struct sandbox *sandbox, uint32_t reason)
{
	message_begin(c->message, MESSAGE_ENDED)->ended.reason = reason;
	connection_answer(c, sandbox->sequence, -1);
}

/*
 * The supervisor's socket has ended without an answer or notice. After a request about an existing
 * sandbox, the supervisor no longer has that sandbox. Otherwise the supervisor was killed: the
 * monitor cleans up after it, and the client gets an error or the end of the sandbox.
 */
static void handle_lost(struct connection *c, struct sandbox *sandbox)
{
	struct decider_answer answer;
	struct yett_error error = {0};

	if (sandbox->action && !sandbox->is_created) {
		error_set(&error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
		connection_refuse(c, sandbox->sequence, &error);
		return;
	}
	(void)!ask(ACT_LOST, NULL, 0, &answer, NULL, &error);
	if (sandbox->is_created) {
		report_ended(c, sandbox, ENDED_HELPER);
		return;
	}
	error_set(&error, YETT_E_INIT_FAILED, 0, "the supervisor of the sandbox died");
	connection_refuse(c, sandbox->sequence, &error);
}

/*
 * Reads the plan of a supervisor. After an upgrade the supervisor may be older than the decider:
 * then the plan has another size. Returns false for such a plan.
 */
static bool sandboxes_read_plan(const struct connection *c, int plan)
{
	ssize_t n = pread(plan, c->plan, sizeof *c->plan, 0);

	return n >= (ssize_t)offsetof(struct plan, arena) &&
	       (size_t)n == offsetof(struct plan, arena) + c->plan->arena_used;
}

static void report_plan(struct connection *c, uint64_t sequence, int plan)
{
	struct yett_error error = {0};
	int r;

	if (!sandboxes_read_plan(c, plan))
		r = error_set(
			&error, YETT_E_UNSUPPORTED, 0,
			"the sandbox was made by another version of the helper: its plan cannot be printed");
	else
		r = connection_send_plan(c, sequence, &error);
	if (r < 0 && error.message[0] == '\0')
		error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0, "the plan cannot be printed: %s",
		          strerror(-r));
	c->is_over = c->is_over || r < 0;
	if (r != 0)
		connection_refuse(c, sequence, &error);
}

static void report_rules(struct connection *c, const struct sandbox *sandbox, int rules)
{
	struct yett_error error = {0};
	int list = manage_list_rules(c, rules, sandbox->changes, &error);

	if (list < 0)
		connection_refuse(c, sandbox->sequence, &error);
	else
		connection_answer(c, sandbox->sequence, list);
	fd_close(list);
}

/* Returns whether the supervisor will send more. */
static bool handle_notice(struct connection *c, struct sandbox *sandbox,
                          const struct supervisor_notice *notice)
{
	if (notice->kind == NOTICE_STATE) {
		message_begin(c->message, MESSAGE_STATE)->state.state = notice->value;
		connection_answer(c, sandbox->sequence, -1);
		return true;
	}
	if (c->frame->fd_count == 1) {
		if (sandbox->action == MANAGE_RULES)
			report_rules(c, sandbox, c->frame->fds[0]);
		else
			report_plan(c, sandbox->sequence, c->frame->fds[0]);
		return false;
	}
	if (notice->kind == NOTICE_DONE || !sandbox->is_created) {
		report_finished(c, sandbox);
		return false;
	}
	report_ended(c, sandbox, notice->value);
	return false;
}

/*
 * Handles the answer to a create or an attach, or the refusal of any request. Returns whether the
 * supervisor will send more.
 */
static bool handle_created(struct connection *c, struct sandbox *sandbox,
                           const struct supervisor_created *created)
{
	int came = c->frame->fd_count == 1 ? c->frame->fds[0] : -1,
	    channel = sandbox->channel >= 0 ? sandbox->channel : came;
	struct yett_error error = created->error;

	if (created->code == 0 && channel >= 0) {
		report_created(c, sandbox, created, channel);
		sandbox->channel = fd_close(sandbox->channel);
		return true;
	}
	if (came >= 0 && sandboxes_read_plan(c, came))
		refuse_plan_complete(c->plan, &error);
	if (created->is_reported)
		connection_refuse_reported(c, sandbox->sequence, &error);
	else
		connection_refuse(c, sandbox->sequence, &error);
	return false;
}

/* Handles one packet of sandbox `i`, and removes the sandbox if no more will come. */
static void decider_sandboxes_handle(struct connection *c, size_t i)
{
	struct sandbox *sandbox = &c->sandboxes[i];
	struct supervisor_created created;
	struct supervisor_notice notice;
	int r = frame_receive(sandbox->supervisor, c->frame, MSG_DONTWAIT);
	bool goes_on = false, has_taken = sandbox->supervisor == c->taker;

	if (r == -EAGAIN)
		return;
	if (r > 0 && !sandbox->is_created && c->frame->length == sizeof created) {
		memcpy(&created, c->frame->bytes, sizeof created);
		goes_on = handle_created(c, sandbox, &created);
	} else if (r > 0 && c->frame->length == sizeof notice) {
		memcpy(&notice, c->frame->bytes, sizeof notice);
		goes_on = handle_notice(c, sandbox, &notice);
	} else {
		handle_lost(c, sandbox);
	}
	frame_close_fds(c->frame);
	if (!goes_on)
		remove_sandbox(c, i);
	if (has_taken)
		connection_take_back(c);
}

void sandboxes_handle(struct connection *c)
{
	struct epoll_event event;
	size_t i = c->sandboxes_count;

	if (epoll_wait(c->supervisors, &event, 1, 0) != 1)
		return;
	/* Search from the end: most packets are about recent sandboxes. */
	while (i > 0 && c->sandboxes[i - 1].supervisor != event.data.fd)
		i--;
	if (i > 0)
		decider_sandboxes_handle(c, i - 1);
	else
		streams_handle(c, event.data.fd);
}
