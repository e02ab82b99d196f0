/*
 * The sandboxes of a connection: finding or starting their supervisors, and passing on what those say. See connection.h.
 */
#include "base/log.h"
#include "helper/monitor/connection.h"
#include "helper/privilege/privilege.h"

#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SANDBOXES_MAX     4096  /* of one connection; a grant's max_sandboxes is the real bound */
#define WISH_DEADLINE_MS  5000  /* while it loads a policy, the listener answers nobody */
#define TAKER_DEADLINE_MS 60000 /* longer than a supervisor waits for init to be made, and then to be ready */

/* One of our own that is ready again. It knows the templates that were there when it was forked: that of the profile it has made, at least.
 */
static int take_spare(struct connection *c, struct supervisor *ret_supervisor)
{
	struct supervisor_ready ready;

	while (c->pool >= 0 && frame_receive(c->pool, c->frame, MSG_DONTWAIT) > 0) {
		memcpy(&ready, c->frame->bytes, sizeof ready);
		if (c->frame->fd_count == 1 && ready.profile == c->plan->profile) {
			*ret_supervisor = (struct supervisor){0, steal_fd(&c->frame->fds[0])};
			return 0;
		}
		frame_close_fds(c->frame); /* which ends it */
		c->kept--;
	}
	return -ENOENT;
}

/*
 * Asks the listener for a supervisor that is ready; -ENOENT when it has none. -ESTALE when it is gone, does not answer, or has another
 * policy by now: then this connection has nothing more to decide.
 */
static int wish(struct connection *c, struct supervisor *ret_supervisor)
{
	struct monitor_wish wish = {c->peer.uid, c->peer.gid, c->plan->profile};
	struct pollfd wait = {.fd = c->monitor->listener, .events = POLLIN};

	if (c->monitor->listener < 0)
		return take_spare(c, ret_supervisor);
	c->is_outdated = send(c->monitor->listener, &wish, sizeof wish, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
	                 poll(&wait, 1, WISH_DEADLINE_MS) <= 0 || frame_receive(c->monitor->listener, c->frame, MSG_DONTWAIT) <= 0 ||
	                 *c->monitor->generation != c->monitor->policy->generation;
	if (!c->is_outdated && c->frame->fd_count == 1) {
		*ret_supervisor = (struct supervisor){0, steal_fd(&c->frame->fds[0])};
		return 0;
	}
	frame_close_fds(c->frame);
	return c->is_outdated ? -ESTALE : -ENOENT;
}

int sandboxes_check_policy(const struct connection *c, struct yett_error *error)
{
	struct pollfd listener = {.fd = c->monitor->listener}; /* asked for nothing, it tells when the other end is closed */

	if (c->monitor->listener < 0)
		return 0;
	if (*c->monitor->generation != c->monitor->policy->generation)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0, "the policy was loaded anew; connect again");
	if (!c->is_outdated && poll(&listener, 1, 0) == 0)
		return 0;
	return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0, "the service started anew, or had to make room for others; connect again");
}

static bool is_lasting(const struct plan *plan)
{
	return plan->life.linger || plan->life.cleanup_ms;
}

static void remember_child(struct connection *c, pid_t pid);

/*
 * Without a listener one is made when it is wanted, and goes with its sandbox: most connections make one. Without root the second one
 * makes itself ready for the next sandbox. (Root's would keep what building takes while a sandbox runs.) One that outlasts us never does.
 */
static bool is_used_again(struct connection *c)
{
	int pair[2];

	if (!c->monitor->fit || !c->has_created || c->kept >= c->monitor->policy->spares || is_lasting(c->plan))
		return false;
	if (c->pool >= 0)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	c->pool = pair[0];
	c->pool_end = pair[1];
	return true;
}

static int start_supervisor(struct connection *c, struct supervisor *ret_supervisor)
{
	bool is_kept = is_used_again(c);
	const struct supervisor_ahead ahead = {c->pool_end, c->plan->profile, c->peer.uid, c->peer.gid};
	int r = supervisor_start(c->monitor->host, is_lasting(c->plan) ? &c->monitor->lasting : &PLACE_HERE, is_kept ? &ahead : NULL,
	                         ret_supervisor);

	if (r == 0 && is_kept) {
		remember_child(c, ret_supervisor->pid); /* it does not end with this sandbox */
		ret_supervisor->pid = 0;
		c->kept++;
	}
	return r;
}

static int find_supervisor(struct connection *c, struct supervisor *ret_supervisor)
{
	int r = wish(c, ret_supervisor);

	return r == 0 || r == -ESTALE ? r : start_supervisor(c, ret_supervisor);
}

static int give_order(const struct connection *c, const struct supervisor *supervisor)
{
	int r = privilege_raise(); /* see connection_answer() */

	if (r == 0)
		r = supervisor_order(supervisor->socket, c->plan, c->plan->share_fds ? c->socket : -1);
	return privilege_lower() < 0 ? -EPERM : r;
}

static int add_sandbox(struct connection *c, const struct sandbox *sandbox)
{
	struct sandbox *sandboxes = reallocarray(c->sandboxes, c->sandboxes_count + 1, sizeof *sandboxes);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = sandbox->supervisor.socket};

	if (!sandboxes)
		return -ENOMEM;
	c->sandboxes = sandboxes;
	if (epoll_ctl(c->supervisors, EPOLL_CTL_ADD, sandbox->supervisor.socket, &event) < 0)
		return -errno;
	c->sandboxes[c->sandboxes_count++] = *sandbox;
	c->pending++;
	return 0;
}

static struct sandbox new_sandbox(uint64_t sequence, const char *id, const char *profile, struct message_limits limits)
{
	struct sandbox sandbox = {.sequence = sequence, .channel = -1, .limits = limits};

	(void)snprintf(sandbox.id, sizeof sandbox.id, "%s", id);
	(void)snprintf(sandbox.profile, sizeof sandbox.profile, "%s", profile);
	return sandbox;
}

/* A listener has built all templates; a helper for one connection builds what it needs, when it needs it. */
static int ready_profile(const struct connection *c, struct yett_error *error)
{
	int r, lowered;

	if (c->monitor->host->templates[c->plan->profile].mount_ns >= 0)
		return 0;
	r = privilege_raise(); /* mounts, and a namespace for them */
	if (r == 0)
		r = setup_host_profile(c->monitor->host, c->plan->profile, error);
	lowered = privilege_lower();
	return r == 0 ? lowered : r;
}

int sandboxes_check(const struct connection *c, struct yett_error *error)
{
	if (c->monitor->host && c->sandboxes_count < SANDBOXES_MAX)
		return 0;
	if (c->monitor->host)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "a connection holds at most %d sandboxes", SANDBOXES_MAX);
	*error = c->monitor->no_host;
	return (int)error->code;
}

int sandboxes_begin(struct connection *c, const struct decision *decision, uint64_t sequence, struct yett_error *error)
{
	struct sandbox sandbox = new_sandbox(sequence, c->plan->id, decision->profile->name, record_limits(&c->plan->limits));
	int r = sandboxes_check(c, error);

	sandbox.lasts = is_lasting(c->plan);
	(void)snprintf(sandbox.weaker, sizeof sandbox.weaker, "%s", c->plan->weaker);
	if (r == 0)
		r = ready_profile(c, error);
	if (r == 0)
		r = find_supervisor(c, &sandbox.supervisor);
	if (r == -ESTALE)
		return sandboxes_check_policy(c, error);
	if (r != 0)
		return r < 0 ? error_set(error, YETT_E_INIT_FAILED, 0, "no supervisor could be started: %s", strerror(-r)) : r;
	r = give_order(c, &sandbox.supervisor);
	if (r == -EPIPE && sandbox.supervisor.pid == 0) {
		/* One that was ready, and has died since. */
		fd_close(sandbox.supervisor.socket);
		r = start_supervisor(c, &sandbox.supervisor);
		if (r < 0)
			return error_set(error, YETT_E_INIT_FAILED, 0, "no supervisor could be started: %s", strerror(-r));
		r = give_order(c, &sandbox.supervisor);
	}
	if (r == 0)
		r = add_sandbox(c, &sandbox);
	if (r < 0) {
		fd_close(sandbox.supervisor.socket);
		c->is_over = true; /* it may be taking the client's packet */
		return error_set(error, YETT_E_INIT_FAILED, 0, "the supervisor did not take the plan: %s", strerror(-r));
	}
	if (c->plan->share_fds)
		c->taker = sandbox.supervisor.socket;
	return 0;
}

/* Takes 0 and a negative number, too. Where memory is short it stays a zombie until our own end. */
static void remember_child(struct connection *c, pid_t pid)
{
	pid_t *children = pid > 0 ? reallocarray(c->children, c->children_count + 1, sizeof *children) : NULL;

	if (!children)
		return;
	c->children = children;
	c->children[c->children_count++] = pid;
}

/* By their pids: the decoder's and the reader's are waited for elsewhere. */
void sandboxes_reap_children(struct connection *c)
{
	int status = 0;

	for (size_t i = c->children_count; i > 0; i--) {
		pid_t pid = waitpid(c->children[i - 1], &status, WNOHANG);

		if (pid == 0)
			continue;
		c->children[i - 1] = c->children[--c->children_count];
		if (pid > 0 && WIFSIGNALED(status))
			remember_child(c, supervisor_start_sweep(c->monitor->host));
	}
}

/* A supervisor that was not waited for lives on, or is about to end. */
static void remove_sandbox(struct connection *c, size_t i)
{
	remember_child(c, c->sandboxes[i].supervisor.pid);
	/* Closing it is not enough while a child that was just forked has it, too. epoll(7) */
	(void)epoll_ctl(c->supervisors, EPOLL_CTL_DEL, c->sandboxes[i].supervisor.socket, NULL);
	c->pending -= !c->sandboxes[i].is_created;
	fd_close(c->sandboxes[i].supervisor.socket);
	fd_close(c->sandboxes[i].channel);
	c->sandboxes[i] = c->sandboxes[--c->sandboxes_count];
}

/* With the client's end of the stream that was asked for, if one was. */
static void report_done(struct connection *c, uint64_t sequence, const char *id, int stream)
{
	union message_body *body = message_begin(c->message, stream >= 0 ? MESSAGE_FOLLOWING : MESSAGE_DONE);
	struct text *told = stream >= 0 ? &body->following.id : &body->done.id;

	if (message_add_text(c->message, id, told) == 0)
		connection_answer(c, sequence, stream);
}

int sandboxes_detach(struct connection *c, uint64_t sequence, const char *id, struct yett_error *error)
{
	size_t before = c->sandboxes_count;

	for (size_t i = c->sandboxes_count; i > 0; i--)
		if (c->sandboxes[i - 1].is_created && strcmp(c->sandboxes[i - 1].id, id) == 0)
			remove_sandbox(c, i - 1);
	if (c->sandboxes_count == before)
		return error_set(error, YETT_E_NOT_RUNNING, 0, "this connection does not hold the sandbox");
	report_done(c, sequence, id, -1);
	return 0;
}

int sandboxes_ask(struct connection *c, const struct record *record, struct supervisor_request request, bool takes_channel,
                  uint64_t sequence, struct yett_error *error)
{
	struct sandbox sandbox = new_sandbox(sequence, record->id, record->profile, record->limits);
	int channel[2] = {-1, -1}, r;

	sandbox.action = request.action;
	sandbox.lasts = true;
	memcpy(request.id, record->id, sizeof request.id);
	if (takes_channel && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "no channel can be made: %s", strerror(errno));
	sandbox.channel = channel[0];
	sandbox.supervisor.socket = registry_connect(&c->monitor->host->reserve, record->cgroup);
	r = sandbox.supervisor.socket < 0 ? sandbox.supervisor.socket : privilege_raise(); /* see connection_answer() */
	if (r == 0)
		r = frame_send(sandbox.supervisor.socket, &request, sizeof request, &channel[1], takes_channel, MSG_DONTWAIT);
	if (privilege_lower() < 0)
		r = -EPERM;
	fd_close(channel[1]);
	if (r == 0)
		r = add_sandbox(c, &sandbox);
	if (r == 0)
		return 0;
	fd_close(sandbox.supervisor.socket);
	fd_close(sandbox.channel);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -EPIPE)
		return error_set(error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the supervisor of the sandbox cannot be asked now: %s", strerror(-r));
}

/* Whether it was killed, and so has left something. */
static bool reap(struct supervisor *supervisor)
{
	pid_t pid = supervisor->pid;
	int status;

	/* Had its word not come through whole (no descriptor was left for the channel, say), it would wait for us, and we for it. */
	if (supervisor->socket >= 0)
		(void)shutdown(supervisor->socket, SHUT_RDWR);
	supervisor->pid = 0;
	return pid > 0 && waitpid(pid, &status, 0) > 0 && WIFSIGNALED(status);
}

static void report_created(struct connection *c, struct sandbox *sandbox, const struct supervisor_created *created, int channel)
{
	struct message_created *body = &message_begin(c->message, MESSAGE_CREATED)->created;

	*body = (struct message_created){
		.private_uid = created->private_uid, .landlock_abi = created->layers.landlock_abi, .limits = sandbox->limits};
	if (message_add_text(c->message, sandbox->id, &body->id) < 0 ||
	    message_add_text(c->message, sandbox->profile, &body->profile) < 0 ||
	    message_add_text(c->message, created->layers.label, &body->label) < 0 ||
	    message_add_text(c->message, sandbox->weaker, &body->weaker) < 0)
		return;
	sandbox->is_created = c->has_created = true;
	c->pending--;
	connection_answer(c, sandbox->sequence, channel);
	log_line(LOG_LEVEL_NOTICE, "uid=%" PRIu32 " pid=%d sandbox=%s profile=%s private_uid=%" PRIu32 " created", (uint32_t)c->peer.uid,
	         c->peer.pid, sandbox->id, sandbox->profile, created->private_uid);
}

static void report_ended(struct connection *c, const struct sandbox *sandbox, uint32_t reason)
{
	message_begin(c->message, MESSAGE_ENDED)->ended.reason = reason;
	connection_answer(c, sandbox->sequence, -1);
}

/* The supervisor was killed: what it left is swept, and its client told. Or it was no longer the sandbox's. */
static void handle_lost(struct connection *c, struct sandbox *sandbox)
{
	struct yett_error error = {0};

	if (sandbox->action && !sandbox->is_created) {
		error_set(&error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
		connection_refuse(c, sandbox->sequence, &error);
		return;
	}
	if (!sandbox->lasts)
		(void)reap(&sandbox->supervisor);
	remember_child(c, supervisor_start_sweep(c->monitor->host));
	if (sandbox->is_created) {
		report_ended(c, sandbox, ENDED_HELPER);
		return;
	}
	error_set(&error, YETT_E_INIT_FAILED, 0, "the supervisor of the sandbox died");
	connection_refuse(c, sandbox->sequence, &error);
}

/* As its supervisor has it, which may be older than we are: another version's plan has another size. */
static void report_plan(struct connection *c, uint64_t sequence, int plan)
{
	struct yett_error error = {0};
	ssize_t n = pread(plan, c->plan, sizeof *c->plan, 0);
	int r;

	if (n < (ssize_t)offsetof(struct plan, arena) || (size_t)n != offsetof(struct plan, arena) + c->plan->arena_used)
		r = error_set(&error, YETT_E_UNSUPPORTED, 0,
		              "the sandbox was made by another version of the helper: its plan cannot be printed");
	else
		r = connection_send_plan(c, sequence, &error);
	if (r < 0 && error.message[0] == '\0')
		error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0, "the plan cannot be printed: %s", strerror(-r));
	c->is_over = c->is_over || r < 0;
	if (r != 0)
		connection_refuse(c, sequence, &error);
}

/* Whether there is more to come. */
static bool handle_notice(struct connection *c, struct sandbox *sandbox, const struct supervisor_notice *notice)
{
	if (notice->kind == NOTICE_STATE) {
		message_begin(c->message, MESSAGE_STATE)->state.state = notice->value;
		connection_answer(c, sandbox->sequence, -1);
		return true;
	}
	if (c->frame->fd_count == 1) {
		report_plan(c, sandbox->sequence, c->frame->fds[0]);
		return false;
	}
	if (notice->kind == NOTICE_DONE || !sandbox->is_created) {
		report_done(c, sandbox->sequence, sandbox->id, sandbox->channel);
		return false;
	}
	report_ended(c, sandbox, notice->value);
	if (!sandbox->lasts)
		(void)reap(&sandbox->supervisor);
	return false;
}

/* The answer to a create or an attach, or the refusal of anything. Whether there is more to come. */
static bool handle_created(struct connection *c, struct sandbox *sandbox, const struct supervisor_created *created)
{
	int channel = sandbox->channel >= 0 ? sandbox->channel : c->frame->fd_count == 1 ? c->frame->fds[0] : -1;

	if (created->code == 0 && channel >= 0) {
		report_created(c, sandbox, created, channel);
		sandbox->channel = fd_close(sandbox->channel);
		return true;
	}
	connection_refuse(c, sandbox->sequence, &created->error);
	if (!sandbox->action)
		(void)reap(&sandbox->supervisor);
	return false;
}

/* It may be out of the table afterwards. */
static void handle(struct connection *c, size_t i)
{
	struct sandbox *sandbox = &c->sandboxes[i];
	struct supervisor_created created;
	struct supervisor_notice notice;
	int r = frame_receive(sandbox->supervisor.socket, c->frame, MSG_DONTWAIT);
	bool goes_on = false, has_taken = sandbox->supervisor.socket == c->taker;

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
	/* From the end: who speaks is mostly a young one. */
	while (i > 0 && c->sandboxes[i - 1].supervisor.socket != event.data.fd)
		i--;
	if (i > 0)
		handle(c, i - 1);
}

void sandboxes_end_spares(struct connection *c, int timeout_ms)
{
	struct pollfd wait = {.fd = c->pool, .events = POLLIN};

	for (; c->pool >= 0 && poll(&wait, 1, timeout_ms) > 0 && frame_receive(c->pool, c->frame, MSG_DONTWAIT) > 0; c->kept--)
		frame_close_fds(c->frame);
}

void sandboxes_end(struct connection *c)
{
	struct pollfd taker = {.fd = c->taker, .events = POLLIN};
	bool killed = false;

	/* Each supervisor takes the end of its socket as the end of its sandbox. */
	for (size_t i = 0; i < c->sandboxes_count; i++)
		(void)shutdown(c->sandboxes[i].supervisor.socket, SHUT_WR);
	/* One that still has the client's connection must not be the last to close it: see handle_client(). */
	if (c->taker >= 0)
		(void)poll(&taker, 1, TAKER_DEADLINE_MS);
	for (size_t i = 0; i < c->sandboxes_count; i++)
		c->sandboxes[i].supervisor.socket = fd_close(c->sandboxes[i].supervisor.socket);
	for (size_t i = 0; i < c->sandboxes_count; i++)
		killed = (!c->sandboxes[i].lasts && reap(&c->sandboxes[i].supervisor)) || killed;
	/* The pool ends when none of them has the other end any more; one that still announces itself before goes, too. */
	c->pool_end = fd_close(c->pool_end);
	sandboxes_end_spares(c, TAKER_DEADLINE_MS);
	c->pool = fd_close(c->pool);
	if (killed)
		supervisor_start_sweep(c->monitor->host);
	free(c->sandboxes);
	free(c->children);
}
