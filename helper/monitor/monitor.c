/* See monitor.h. */
#include "helper/monitor/monitor.h"
#include "base/clock.h"
#include "helper/log.h"
#include "helper/monitor/manage.h"
#include "helper/monitor/peer.h"
#include "helper/monitor/planning.h"
#include "helper/monitor/verify.h"
#include "helper/privilege.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SANDBOXES_MAX 4096             /* of one connection; a grant's max_sandboxes is the real bound */
#define FIRST_REQUEST_DEADLINE_MS 60000 /* a connection without a sandbox costs two processes */
#define FORGET_AFTER_MS 20
#define PENDING_MAX 4 /* sandboxes in the making: more requests wait in the socket; each costs three processes */
#define WISH_DEADLINE_MS 500
#define MEMORY_SENT_MAX 16 /* answers that carry memory, while the client has not read all that it was sent */
#define REFUSALS_LOGGED_MAX 20         /* of one connection; a client that is refused in a loop fills no log */

/* One sandbox of this connection, made or attached to; or one that something else is asked about. */
struct sandbox {
	struct supervisor supervisor;
	uint64_t sequence; /* of the request */
	uint32_t action;   /* enum manage_action; of a create: 0, which no supervisor is asked */
	bool is_created;
	bool lasts;  /* its supervisor may outlive us */
	int channel; /* of an attach: the client's end */
	char id[PLAN_ID_SIZE];
	char profile[MESSAGE_NAME_MAX + 1];
	char weaker[PLAN_WEAKER_SIZE];
	struct message_limits limits;
};

struct connection {
	struct monitor *monitor;
	int socket;
	struct peer peer;
	struct verify_context verify;
	struct frame *frame;     /* mapped; pages are given back when idle */
	struct message *message; /* likewise: requests and answers */
	struct plan *plan;       /* likewise */
	struct sandbox *sandboxes;
	pid_t *children; /* supervisors and sweeps of ours that are to be reaped when they end */
	size_t children_count;
	struct pollfd *poll;
	size_t sandboxes_count;
	unsigned refusals, memory_sent;
	uint64_t since_ms;
	bool is_known; /* a request of this client was signed by an enrolled key */
	bool is_over;
};

int monitor_prepare(struct monitor *monitor, const char *libexec)
{
	char path[4096], empty[4096];
	uint32_t id = monitor->policy->ids_first + IDMAP_ROLE_DECODER;
	int r;

	(void)snprintf(path, sizeof path, "%s/yett-decoder", libexec);
	(void)snprintf(empty, sizeof empty, "%s/empty", monitor->policy->runtime_dir);
	r = decoder_start(path, id, id, empty, &monitor->decoder);
	if (r == 0)
		r = peer_reader_start(&monitor->reader);
	return r;
}

void monitor_free(struct monitor *monitor)
{
	decoder_free(&monitor->decoder);
	peer_reader_free(&monitor->reader);
	monitor->listener = fd_close(monitor->listener);
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Gives the pages of the three large buffers back: an idle sandbox should cost little. */
static void forget_buffers(const struct connection *c)
{
	(void)madvise(c->frame, sizeof *c->frame, MADV_DONTNEED);
	(void)madvise(c->message, sizeof *c->message, MADV_DONTNEED);
	(void)madvise(c->plan, sizeof *c->plan, MADV_DONTNEED);
}

/*
 * An answer that cannot be delivered at once ends the connection: whoever does not read is not waited for.
 * Descriptors that were sent and not yet received count for the uid of the sender, which all monitors share, against
 * RLIMIT_NOFILE; clients that do not read would use that up for everybody. CAP_SYS_ADMIN lifts the bound (unix(7),
 * ETOOMANYREFS); safe because what is sent is our own.
 */
static void answer(struct connection *c, uint64_t sequence, int fd)
{
	int raised = fd >= 0 ? privilege_raise() : -1;

	if (frame_send_message(c->socket, c->message, sequence, &fd, fd >= 0 ? 1 : 0, MSG_DONTWAIT) < 0)
		c->is_over = true;
	if (raised == 0 && privilege_lower() < 0)
		c->is_over = true;
}

static void refuse(struct connection *c, uint64_t sequence, const struct yett_error *error)
{
	if (c->refusals++ < REFUSALS_LOGGED_MAX)
		log_line(LOG_LEVEL_INFO, "uid=%" PRIu32 " pid=%d refused: %s%s%s", (uint32_t)c->peer.uid, c->peer.pid, error->message,
			 error->detail[0] ? "; " : "", error->detail);
	if (frame_send_error(c->socket, error, sequence, MSG_DONTWAIT) < 0)
		c->is_over = true;
}

static int hello(struct connection *c)
{
	struct message_hello *hello = &c->message->body.hello;

	c->message->kind = MESSAGE_HELLO;
	c->message->arena_used = 0;
	hello->version_min = hello->version_max = ENVELOPE_VERSION;
	randombytes_buf(c->verify.challenge, sizeof c->verify.challenge);
	memcpy(hello->challenge, c->verify.challenge, sizeof hello->challenge);
	return frame_send_message(c->socket, c->message, 0, NULL, 0, MSG_DONTWAIT);
}

/* Memory that is sent and not read counts for us, not for the client: one that reads nothing is sent no more of it. */
static int check_unread(struct connection *c, struct yett_error *error)
{
	int unread = 0;

	if (ioctl(c->socket, SIOCOUTQ, &unread) < 0 || unread == 0)
		c->memory_sent = 0;
	if (c->memory_sent == MEMORY_SENT_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "earlier answers wait to be read");
	c->memory_sent++;
	return 0;
}

/* The plan as text in a sealed memfd: it can be larger than a packet. */
static int send_plan(struct connection *c, uint64_t sequence, struct yett_error *error)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int memfd = memfd_create("yett-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t length;
	int r = check_unread(c, error);

	if (r != 0)
		return r;
	r = plan_print(c->plan, &text, &length);
	if (r < 0 || memfd < 0 || write(memfd, text, length) != (ssize_t)length ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_set(error, YETT_E_INIT_FAILED, 0, "the plan cannot be printed");
	c->message->kind = MESSAGE_PLAN;
	c->message->arena_used = 0;
	memset(&c->message->body, 0, message_body_size(MESSAGE_PLAN));
	answer(c, sequence, memfd);
	return 0;
}

/* Asks the listener for a supervisor that is ready; -ENOENT when it has none, -ESTALE when our policy is no longer the one. */
static int wish(const struct connection *c, struct supervisor *ret_supervisor)
{
	struct monitor_wish wish = {c->peer.uid, c->peer.gid, c->monitor->policy->generation};
	struct pollfd wait = {.fd = c->monitor->listener, .events = POLLIN};
	int r;

	if (c->monitor->listener < 0 || send(c->monitor->listener, &wish, sizeof wish, MSG_NOSIGNAL) < 0 ||
	    poll(&wait, 1, WISH_DEADLINE_MS) <= 0)
		return -ENOENT;
	r = frame_receive(c->monitor->listener, c->frame, MSG_DONTWAIT);
	if (r > 0 && c->frame->bytes[0] == WISH_OUTDATED) {
		frame_close_fds(c->frame);
		return -ESTALE;
	}
	if (r <= 0 || c->frame->fd_count != 1) {
		frame_close_fds(c->frame);
		return -ENOENT;
	}
	*ret_supervisor = (struct supervisor){0, steal_fd(&c->frame->fds[0])};
	return 0;
}

static bool is_lasting(const struct plan *plan)
{
	return plan->life.linger || plan->life.cleanup_ms;
}

static int start_supervisor(const struct connection *c, struct supervisor *ret_supervisor)
{
	struct idmap_subject subject = {.uid = c->peer.uid,
					.gid = c->peer.gid,
					.groups = c->peer.groups,
					.groups_count = c->peer.groups_count,
					.identity = (enum plan_identity)c->plan->identity};

	return supervisor_start(c->monitor->host, is_lasting(c->plan) ? &c->monitor->lasting : &PLACE_HERE, &subject, -1,
				ret_supervisor);
}

static int find_supervisor(const struct connection *c, struct supervisor *ret_supervisor)
{
	int r = wish(c, ret_supervisor);

	return r == 0 || r == -ESTALE ? r : start_supervisor(c, ret_supervisor);
}

static int give_order(const struct connection *c, const int *fds, const struct supervisor *supervisor)
{
	int r = privilege_raise(); /* see answer() */

	if (r == 0)
		r = supervisor_order(supervisor->socket, c->plan, fds);
	return privilege_lower() < 0 ? -EPERM : r;
}

static int add_sandbox(struct connection *c, const struct sandbox *sandbox)
{
	struct sandbox *sandboxes = reallocarray(c->sandboxes, c->sandboxes_count + 1, sizeof *sandboxes);
	struct pollfd *wait = reallocarray(c->poll, c->sandboxes_count + 2, sizeof *wait);

	if (sandboxes)
		c->sandboxes = sandboxes;
	if (wait)
		c->poll = wait;
	if (!sandboxes || !wait)
		return -ENOMEM;
	c->sandboxes[c->sandboxes_count++] = *sandbox;
	return 0;
}

static struct sandbox new_sandbox(uint64_t sequence, const char *id, const char *profile, const struct plan_limits *limits)
{
	struct sandbox sandbox = {.sequence = sequence,
				  .channel = -1,
				  .limits = {.memory_bytes = limits->memory_bytes,
					     .cpu_millis = limits->cpu_millis,
					     .pids = limits->pids,
					     .files = limits->files}};

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

static int check_host(const struct connection *c, struct yett_error *error)
{
	if (c->monitor->host && c->sandboxes_count < SANDBOXES_MAX)
		return 0;
	if (c->monitor->host)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "a connection holds at most %d sandboxes", SANDBOXES_MAX);
	*error = c->monitor->no_host;
	return (int)error->code;
}

/* Hands the plan to a supervisor; its answer comes through the loop. `fds` are the client's, borrowed. */
static int begin(struct connection *c, const struct decision *decision, uint64_t sequence, const int *fds, struct yett_error *error)
{
	struct sandbox sandbox = new_sandbox(sequence, c->plan->id, decision->profile->name, &c->plan->limits);
	struct supervisor supervisor;
	int r = check_host(c, error);

	sandbox.lasts = is_lasting(c->plan);
	(void)snprintf(sandbox.weaker, sizeof sandbox.weaker, "%s", c->plan->weaker);
	if (r == 0)
		r = ready_profile(c, error);
	if (r == 0)
		r = find_supervisor(c, &supervisor);
	if (r == -ESTALE)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0, "the policy was loaded anew; connect again");
	if (r != 0)
		return r < 0 ? error_set(error, YETT_E_INIT_FAILED, 0, "no supervisor could be started: %s", strerror(-r)) : r;
	r = give_order(c, fds, &supervisor);
	if (r == -EPIPE && supervisor.pid == 0) {
		/* One that was ready, and has died since. */
		fd_close(supervisor.socket);
		r = start_supervisor(c, &supervisor);
		if (r < 0)
			return error_set(error, YETT_E_INIT_FAILED, 0, "no supervisor could be started: %s", strerror(-r));
		r = give_order(c, fds, &supervisor);
	}
	sandbox.supervisor = supervisor;
	if (r == 0)
		r = add_sandbox(c, &sandbox);
	if (r < 0) {
		fd_close(supervisor.socket);
		return error_set(error, YETT_E_INIT_FAILED, 0, "the supervisor did not take the plan: %s", strerror(-r));
	}
	return 0;
}

static void make_id(char id[static PLAN_ID_SIZE])
{
	uint8_t bytes[(PLAN_ID_SIZE - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	(void)sodium_bin2hex(id, PLAN_ID_SIZE, bytes, sizeof bytes);
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
static void reap_children(struct connection *c)
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
	fd_close(c->sandboxes[i].supervisor.socket);
	fd_close(c->sandboxes[i].channel);
	c->sandboxes[i] = c->sandboxes[--c->sandboxes_count];
}

/* With the client's end of the stream that was asked for, if one was. */
static void report_done(struct connection *c, uint64_t sequence, const char *id, int stream)
{
	struct text *told = stream >= 0 ? &c->message->body.following.id : &c->message->body.done.id;

	c->message->kind = stream >= 0 ? MESSAGE_FOLLOWING : MESSAGE_DONE;
	c->message->arena_used = 0;
	if (message_add_text(c->message, id, told) == 0)
		answer(c, sequence, stream);
}

/* This connection's holds on it, as if the connection ended. */
static int detach(struct connection *c, uint64_t sequence, const char *id, struct yett_error *error)
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

/* Asks the supervisor; its answer comes through the loop. */
static int ask_supervisor(struct connection *c, const struct record *record, enum manage_action action, uint64_t sequence,
			  struct yett_error *error)
{
	struct sandbox sandbox = new_sandbox(sequence, record->id, record->profile, &record->limits);
	int channel[2] = {-1, -1}, r = 0;

	sandbox.action = action;
	sandbox.lasts = true;
	if ((action == MANAGE_ATTACH || action == MANAGE_FOLLOW) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "no channel can be made: %s", strerror(errno));
	sandbox.channel = channel[0];
	sandbox.supervisor.socket = manage_ask(c->monitor->host, record, action, channel[1]);
	fd_close(channel[1]);
	r = sandbox.supervisor.socket < 0 ? sandbox.supervisor.socket : add_sandbox(c, &sandbox);
	if (r == 0)
		return 0;
	fd_close(sandbox.supervisor.socket);
	fd_close(sandbox.channel);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -EPIPE)
		return error_set(error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the supervisor of the sandbox cannot be asked now: %s", strerror(-r));
}

/* The whole way of a request about sandboxes that are there. */
static int handle_manage(struct connection *c, const struct verified *verified, uint64_t sequence, struct yett_error *error)
{
	enum manage_action action = (enum manage_action)verified->request->body.manage.action;
	_cleanup_fd_ int memfd = -1;
	struct record record;
	uint32_t count;
	int r = authorize_manager(c->monitor->policy, verified, error);

	if (r == 0)
		r = check_host(c, error);
	if (r != 0)
		return r;
	if (action == MANAGE_LIST || action == MANAGE_INSPECT || action == MANAGE_USAGE) {
		r = check_unread(c, error);
		if (r != 0)
			return r;
		r = manage_list(c->monitor->host, verified, &memfd, &count, error);
		if (r != 0)
			return r < 0 ? error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the list cannot be made: %s", strerror(-r)) : r;
		c->message->kind = MESSAGE_LISTING;
		c->message->arena_used = 0;
		c->message->body.listing = (struct message_listing){count};
		answer(c, sequence, memfd);
		return 0;
	}
	if (action == MANAGE_TOTALS) {
		struct message_totals totals;

		r = manage_totals(c->monitor->host, verified, &totals, error);
		if (r != 0)
			return r;
		c->message->kind = MESSAGE_TOTALS;
		c->message->arena_used = 0;
		c->message->body.totals = totals;
		answer(c, sequence, -1);
		return 0;
	}
	r = manage_find(c->monitor->host, verified, &record, error);
	if (r != 0)
		return r;
	log_line(LOG_LEVEL_INFO, "uid=%" PRIu32 " pid=%d sandbox=%s asks for action %d", (uint32_t)c->peer.uid, c->peer.pid, record.id,
		 (int)action);
	return action == MANAGE_DETACH ? detach(c, sequence, record.id, error) : ask_supervisor(c, &record, action, sequence, error);
}

/* The whole way of a request. */
static void handle_request(struct connection *c)
{
	_cleanup_(frame_close_fdsp) struct frame *frame = c->frame;
	struct yett_error error = {0};
	uint64_t sequence = 0;
	struct verified verified;
	struct decision decision;
	char id[PLAN_ID_SIZE];
	int fds[MESSAGE_FDS_MAX], r;

	/* wish() receives into the same frame: the request's descriptors are kept aside. */
	r = verify_request(&c->verify, frame->bytes, frame->length, frame->fd_count, c->message, &sequence, &verified, &error);
	if (r == 0) {
		c->is_known = true;
		if (c->message->kind == MESSAGE_MANAGE) {
			r = handle_manage(c, &verified, sequence, &error);
			if (r != 0)
				refuse(c, sequence, &error);
			return;
		}
		r = authorize(c->monitor->policy, &verified, &decision, &error);
	}
	if (r == 0) {
		make_id(id);
		r = planning_make(c->monitor->policy, &decision, id, c->plan, &error);
	}
	if (r == 0)
		r = means_fit(&c->monitor->means, &decision, c->plan, &error);
	if (r == 0 && c->message->body.create.plan_only)
		r = send_plan(c, sequence, &error);
	else if (r == 0) {
		size_t count = frame->fd_count;

		memcpy(fds, frame->fds, count * sizeof fds[0]);
		frame->fd_count = 0;
		r = begin(c, &decision, sequence, fds, &error);
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
	}
	if (r < 0) {
		/* The decoder died, hung or lied, or memory is short: this connection is over, and no other one is touched. */
		error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0, "the request could not be looked at: %s", strerror(-r));
		c->is_over = true;
	}
	if (r != 0)
		refuse(c, sequence, &error);
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
	struct message_created *body = &c->message->body.created;

	c->message->kind = MESSAGE_CREATED;
	c->message->arena_used = 0;
	*body = (struct message_created){
		.private_uid = created->private_uid, .landlock_abi = created->layers.landlock_abi, .limits = sandbox->limits};
	if (message_add_text(c->message, sandbox->id, &body->id) < 0 || message_add_text(c->message, sandbox->profile, &body->profile) < 0 ||
	    message_add_text(c->message, created->layers.label, &body->label) < 0 ||
	    message_add_text(c->message, sandbox->weaker, &body->weaker) < 0)
		return;
	sandbox->is_created = true;
	answer(c, sandbox->sequence, channel);
	log_line(LOG_LEVEL_INFO, "uid=%" PRIu32 " pid=%d sandbox=%s profile=%s private_uid=%" PRIu32 " created", (uint32_t)c->peer.uid,
		 c->peer.pid, sandbox->id, sandbox->profile, created->private_uid);
}

static void report_ended(struct connection *c, const struct sandbox *sandbox, uint32_t reason)
{
	c->message->kind = MESSAGE_ENDED;
	c->message->arena_used = 0;
	c->message->body.ended = (struct message_ended){.reason = reason};
	answer(c, sandbox->sequence, -1);
}

static void report_state(struct connection *c, const struct sandbox *sandbox, uint32_t state)
{
	c->message->kind = MESSAGE_STATE;
	c->message->arena_used = 0;
	c->message->body.state = (struct message_state){state};
	answer(c, sandbox->sequence, -1);
}

/* The supervisor was killed: what it left is swept, and its client told. Or it was no longer the sandbox's. */
static void handle_lost(struct connection *c, struct sandbox *sandbox)
{
	struct yett_error error = {0};

	if (sandbox->action && !sandbox->is_created) {
		error_set(&error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
		refuse(c, sandbox->sequence, &error);
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
	refuse(c, sandbox->sequence, &error);
}

/* Whether there is more to come. */
static bool handle_notice(struct connection *c, struct sandbox *sandbox, const struct supervisor_notice *notice)
{
	if (notice->kind == NOTICE_STATE) {
		report_state(c, sandbox, notice->value);
		return true;
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
	refuse(c, sandbox->sequence, &created->error);
	if (!sandbox->action)
		(void)reap(&sandbox->supervisor);
	return false;
}

static void handle_supervisor(struct connection *c, size_t i)
{
	struct sandbox *sandbox = &c->sandboxes[i];
	struct supervisor_created created;
	struct supervisor_notice notice;
	int r = frame_receive(sandbox->supervisor.socket, c->frame, MSG_DONTWAIT);
	bool goes_on = false;

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
}

static void handle_client(struct connection *c)
{
	int r = frame_receive(c->socket, c->frame, MSG_DONTWAIT);

	if (r == -EMSGSIZE) {
		struct yett_error error = {0};

		error_set(&error, YETT_E_PROTOCOL, YETT_R_SIZE, "%s", error_reason_text(YETT_R_SIZE));
		refuse(c, 0, &error);
		return;
	}
	if (r == -EAGAIN)
		return;
	if (r <= 0)
		c->is_over = true;
	else
		handle_request(c);
}

static bool is_busy(const struct connection *c)
{
	size_t pending = 0;

	for (size_t i = 0; i < c->sandboxes_count; i++)
		pending += !c->sandboxes[i].is_created;
	return pending >= PENDING_MAX;
}

/* Whoever has not proven a key yet has so long for it, whatever else is sent. */
static int time_left(const struct connection *c)
{
	uint64_t passed_ms = clock_now_ms() - c->since_ms;

	if (c->is_known)
		return FORGET_AFTER_MS;
	return passed_ms < FIRST_REQUEST_DEADLINE_MS ? (int)(FIRST_REQUEST_DEADLINE_MS - passed_ms) : 0;
}

static void loop(struct connection *c)
{
	c->since_ms = clock_now_ms();
	while (!c->is_over) {
		size_t count = c->sandboxes_count;
		int timeout_ms = time_left(c), r;

		reap_children(c);
		if (timeout_ms == 0)
			return;

		c->poll[0] = (struct pollfd){.fd = c->socket, .events = is_busy(c) ? 0 : POLLIN};
		for (size_t i = 0; i < count; i++)
			c->poll[i + 1] = (struct pollfd){.fd = c->sandboxes[i].supervisor.socket, .events = POLLIN};
		r = poll(c->poll, count + 1, timeout_ms);
		if (r == 0 && !c->is_known)
			return;
		if (r == 0) {
			forget_buffers(c);
			if (!c->monitor->reader.is_used)
				peer_reader_free(&c->monitor->reader); /* an enrolled key needs none */
			r = poll(c->poll, count + 1, -1);
		}
		if (r < 0 && errno != EINTR)
			return;
		/* From the end: handling one may take it out of the table. */
		for (size_t i = count; i > 0; i--)
			if (c->poll[i].revents)
				handle_supervisor(c, i - 1);
		if (c->poll[0].revents & POLLHUP)
			return; /* nobody is there to take an answer to what may still be queued */
		if (c->poll[0].revents)
			handle_client(c);
	}
}

void monitor_report(int socket, int r, struct yett_error *error)
{
	if (r < 0 && error->message[0] == '\0')
		(void)error_set(error, YETT_E_INIT_FAILED, 0, "the helper cannot serve: %s", strerror(-r));
	(void)!frame_send_error(socket, error, 0, MSG_DONTWAIT);
}

int monitor_serve(struct monitor *monitor, int socket)
{
	struct connection c = {.monitor = monitor, .socket = socket};
	struct yett_error error = {0};
	bool killed = false;
	int r;

	c.frame = map(sizeof *c.frame);
	c.message = map(sizeof *c.message);
	c.plan = map(sizeof *c.plan);
	c.poll = calloc(1, sizeof *c.poll);
	if (!c.frame || !c.message || !c.plan || !c.poll)
		return -ENOMEM;
	c.verify = (struct verify_context){.policy = monitor->policy,
					   .peer = &c.peer,
					   .decoder = &monitor->decoder,
					   .reader = &monitor->reader,
					   .next_sequence = 1};
	if (monitor->caller)
		c.peer = *monitor->caller;
	r = monitor->caller ? 0 : peer_read(socket, &c.peer, &error);
	if (r > 0)
		refuse(&c, 0, &error);
	if (r == 0)
		r = hello(&c);
	if (r == 0 && monitor->caller)
		peer_read_names(&c.peer);
	else if (r == 0)
		r = peer_examine(socket, &c.peer);
	if (r == 0)
		loop(&c);
	/* Each supervisor takes the end of its socket as the end of its sandbox. */
	(void)close(socket);
	for (size_t i = 0; i < c.sandboxes_count; i++)
		c.sandboxes[i].supervisor.socket = fd_close(c.sandboxes[i].supervisor.socket);
	for (size_t i = 0; i < c.sandboxes_count; i++)
		killed = (!c.sandboxes[i].lasts && reap(&c.sandboxes[i].supervisor)) || killed;
	if (killed)
		supervisor_start_sweep(monitor->host);
	free(c.sandboxes);
	free(c.children);
	free(c.poll);
	return r < 0 ? r : 0;
}
