/* SPDX-License-Identifier: Apache-2.0 */
/* See requests.h. */
#include "programs/decide/decider/requests.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/escape.h"
#include "base/net_address.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/fit.h"
#include "programs/decide/decider/manage.h"
#include "programs/decide/decider/planning.h"
#include "programs/decide/decider/refuse.h"

#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define FIRST_REQUEST_DEADLINE_MS 60000 /* a connection without a sandbox costs four processes */
#define FORGET_AFTER_MS           200

static void *requests_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Releases the pages of the three large buffers: an idle sandbox should cost little memory. */
static void forget_buffers(const struct connection *c)
{
	(void)madvise(c->frame, sizeof *c->frame, MADV_DONTNEED);
	(void)madvise(c->message, sizeof *c->message, MADV_DONTNEED);
	(void)madvise(c->plan, sizeof *c->plan, MADV_DONTNEED);
}

static int requests_hello(struct connection *c)
{
	struct message_hello *hello = &message_begin(c->message, MESSAGE_HELLO)->hello;

	hello->version_min = hello->version_max = ENVELOPE_VERSION;
	randombytes_buf(c->verify.challenge, sizeof c->verify.challenge);
	memcpy(hello->challenge, c->verify.challenge, sizeof hello->challenge);
	return frame_send_message(c->socket, c->message, 0, NULL, 0, MSG_DONTWAIT);
}

/* An id for a printed plan. The monitor chooses the id of every sandbox that is made. */
static void requests_make_id(char id[static PLAN_ID_SIZE])
{
	uint8_t bytes[(PLAN_ID_SIZE - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	(void)sodium_bin2hex(id, PLAN_ID_SIZE, bytes, sizeof bytes);
}

static int handle_create(struct connection *c, const struct verified *verified, uint64_t sequence,
                         struct yett_error *error)
{
	struct decision decision;
	char id[PLAN_ID_SIZE];
	int r = authorize(c->policy, verified, c->given, &decision, error);

	if (r == 0) {
		requests_make_id(id);
		r = planning_make(c->policy, &decision, id, c->plan, error);
	}
	if (r == 0 && c->begin->is_rootless)
		r = fit_plan(&c->begin->means, &decision, c->plan, error);
	if (r == 0 && c->begin->by_port)
		r = fit_network(c->policy, &decision, c->begin->is_rootless, error);
	if (r == 0 && c->plan->is_dry)
		r = connection_check_unread(c, error);
	if (r != 0)
		return r;
	/* A host that cannot build sandboxes can still say what the policy allows. */
	return c->plan->is_dry && c->begin->no_host.code
	               ? connection_send_plan(c, sequence, error)
	               : sandboxes_begin(c, &decision, sequence, error);
}

/* Answers whether the policy allows the relay. The client itself relays: authorize_relay(). */
static int handle_relay(struct connection *c, const struct verified *verified, uint64_t sequence,
                        struct yett_error *error)
{
	const struct message_relay *relay = &c->message->body.relay;
	const char *path = message_text(c->message, relay->socket);
	char text[NET_ADDRESS_TEXT_SIZE];
	struct net_address address;
	int r = authorize_relay(c->policy, verified, error);

	if (r != 0)
		return r;
	memcpy(&address, relay->address, sizeof address);
	if (*path)
		ask_log(LOG_LEVEL_NOTICE, "relays the socket %s to sandboxes of profile=%s",
		        ESCAPE(path), ESCAPE(message_text(c->message, relay->profile)));
	else
		ask_log(LOG_LEVEL_NOTICE,
		        "publishes a port of sandboxes of profile=%s at address=%s port=%" PRIu32,
		        ESCAPE(message_text(c->message, relay->profile)),
		        net_address_print(&address, text), relay->port);
	(void)message_begin(c->message, MESSAGE_ALLOWED);
	connection_answer(c, sequence, -1);
	return 0;
}

/*
 * Turns a mount request into a create request of the sandbox's profile, so that authorize() applies
 * the same rules to both. Returns 0 or -ENOSPC.
 */
static int become_create(struct message *message, const struct message_mount *mount,
                         const char *profile)
{
	struct message_create *create = &message->body.create;
	struct text empty;
	int r = message_add_text(message, "", &empty);

	message->kind = MESSAGE_CREATE;
	memset(create, 0, sizeof *create);
	create->hostname = create->name = empty;
	memcpy(create->shares, mount->shares, sizeof create->shares);
	create->shares_count = mount->shares_count;
	memcpy(create->tmpfs, mount->tmpfs, sizeof create->tmpfs);
	create->tmpfs_count = mount->tmpfs_count;
	return r == 0 ? message_add_text(message, profile, &create->profile) : r;
}

static int handle_mount(struct connection *c, const struct verified *verified, uint64_t sequence,
                        struct yett_error *error)
{
	_cleanup_free_ struct message_mount *mount = malloc(sizeof *mount);
	const char *wanted = message_text(c->message, c->message->body.mount.sandbox);
	struct decision decision;
	struct record record;
	int r = mount && wanted ? manage_find_own(c, verified, wanted, &record, error) : -ENOMEM;

	if (r == 0) {
		*mount = c->message->body.mount;
		r = become_create(c->message, mount, record.profile);
	}
	if (r == 0)
		r = authorize(c->policy, verified, c->given, &decision, error);
	if (r == 0)
		r = planning_mount(c->policy, &decision, record.id, mount, c->plan, error);
	if (r == 0 && c->begin->is_rootless)
		r = fit_plan(&c->begin->means, &decision, c->plan, error);
	return r == 0 ? sandboxes_mount(c, &record, sequence, error) : r;
}

static void handle_request(struct connection *c)
{
	const struct frame *frame = c->frame;
	/*
	 * The descriptors stay in the socket, so they cannot be counted here: the process that
	 * receives the packet counts them. A packet that has some but states none counts as one
	 * with 1, which envelope_read() refuses.
	 */
	size_t stated = envelope_stated_fds(frame->bytes, frame->length),
	       fd_count = !c->has_fds ? 0
	                  : stated    ? stated
	                              : 1;
	struct yett_error error = {0};
	uint64_t sequence = 0;
	struct verified verified;
	struct timespec now;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	c->peer.now = (uint64_t)now.tv_sec;
	memcpy(c->head, frame->bytes, sizeof c->head);
	r = verify_request(&c->verify, frame->bytes, frame->length, fd_count, c->message, &sequence,
	                   &verified, &error);
	if (r == 0)
		c->is_known = !verified.is_first_key;
	if (r == 0 && c->message->kind == MESSAGE_MANAGE)
		r = manage_handle(c, &verified, sequence, &error);
	else if (r == 0 && c->message->kind == MESSAGE_RELAY)
		r = handle_relay(c, &verified, sequence, &error);
	else if (r == 0 && c->message->kind == MESSAGE_MOUNT)
		r = handle_mount(c, &verified, sequence, &error);
	else if (r == 0)
		r = handle_create(c, &verified, sequence, &error);
	if (r < 0) {
		/*
		 * The decoder died, hung or sent an invalid answer, or memory is short. Only this
		 * connection ends.
		 */
		error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0,
		          "the request could not be looked at: %s", strerror(-r));
		c->is_over = true;
	}
	if (r != 0) {
		/*
		 * An error about max_creations or max_requests comes from the monitor here: no
		 * supervisor has answered yet.
		 */
		refuse_rate(c->policy, &error);
		connection_refuse(c, sequence, &error);
	}
}

/*
 * A packet with descriptors is only peeked at: to close a descriptor of a client may block for as
 * long as the client chose. The supervisor's side receives the packet; if none does, a forked
 * process of the monitor discards it.
 */
static void handle_client(struct connection *c)
{
	int r = frame_peek(c->socket, c->frame, &c->has_fds);

	if (r == -EAGAIN)
		return;
	if (r != -EMSGSIZE && r <= 0) {
		c->is_over = true;
		return;
	}
	if (!c->has_fds)
		frame_drop(c->socket);
	if (r > 0 && envelope_stated_fds(c->frame->bytes, c->frame->length) <= MESSAGE_FDS_MAX) {
		handle_request(c);
	} else {
		struct yett_error error = {0};

		error_set(&error, YETT_E_PROTOCOL, YETT_R_SIZE, "%s",
		          error_reason_text(YETT_R_SIZE));
		connection_refuse(c, 0, &error);
	}
	if (c->has_fds && c->taker < 0)
		connection_drop(c);
}

/*
 * Returns the timeout of poll(2). A client must prove a key before FIRST_REQUEST_DEADLINE_MS,
 * whatever else it sends. Afterwards the timeout is that of an idle connection.
 */
static int requests_time_left(const struct connection *c)
{
	uint64_t passed_ms = clock_now_ms() - c->since_ms;

	if (c->is_known)
		return FORGET_AFTER_MS;
	return passed_ms < FIRST_REQUEST_DEADLINE_MS ? (int)(FIRST_REQUEST_DEADLINE_MS - passed_ms)
	                                             : 0;
}

/*
 * Ends the connection: the monitor is gone, or has sent a packet that answers no request. Such a
 * packet holds the error for the client, with the reason for the end.
 */
static void end_with(struct connection *c)
{
	struct yett_error error;

	c->is_over = true;
	if (recv(STDIN_FILENO, &error, sizeof error, MSG_DONTWAIT) == sizeof error)
		(void)!frame_send_error(c->socket, &error, 0, MSG_DONTWAIT);
}

static void requests_loop(struct connection *c)
{
	bool is_hung_up = false;

	c->since_ms = clock_now_ms();
	while (!c->is_over) {
		bool is_listening = c->pending < SANDBOXES_PENDING_MAX && c->taker < 0;
		struct pollfd wait[] = {
			{.fd = is_hung_up ? -1 : c->socket, .events = is_listening ? POLLIN : 0},
			{.fd = c->supervisors, .events = POLLIN},
			{.fd = STDIN_FILENO, .events = POLLIN}};
		int timeout_ms = requests_time_left(c),
		    r = timeout_ms > 0 ? poll(wait, ARRAY_SIZE(wait), timeout_ms) : 0;

		/* The deadline has passed: also for a client that never stops sending. */
		if (r == 0 && !c->is_known)
			return;
		if (r == 0) {
			forget_buffers(c);
			r = poll(wait, ARRAY_SIZE(wait), -1);
		}
		if (wait[2].revents)
			end_with(c);
		if ((r < 0 && errno != EINTR) || c->is_over)
			return;
		if (wait[1].revents)
			sandboxes_handle(c);
		/*
		 * The client is gone, so nobody could receive the answers to requests that are
		 * still queued. Event streams continue without the connection.
		 */
		if ((wait[0].revents & POLLHUP) || is_hung_up) {
			sandboxes_leave(c);
			if (c->streams_count == 0 || c->taker >= 0)
				return;
			if (!is_hung_up)
				ask_report(ACT_STREAMS);
			is_hung_up = true;
		} else if (wait[0].revents) {
			handle_client(c);
		}
	}
}

void requests_serve(const struct decider_begin *begin, const struct plan_limits *given,
                    const struct policy *policy, struct decoder *decoder, int socket, int reader)
{
	struct connection c = {.begin = begin,
	                       .given = given,
	                       .policy = policy,
	                       .decoder = decoder,
	                       .socket = socket,
	                       .peer = begin->peer,
	                       .account = {.reader = reader, .is_new = true},
	                       .taker = -1,
	                       .supervisors = epoll_create1(EPOLL_CLOEXEC)};

	c.frame = requests_map(sizeof *c.frame);
	c.message = requests_map(sizeof *c.message);
	c.plan = requests_map(sizeof *c.plan);
	if (!c.frame || !c.message || !c.plan || c.supervisors < 0)
		return;
	c.verify = (struct verify_context){.policy = policy,
	                                   .peer = &c.peer,
	                                   .account = &c.account,
	                                   .decoder = decoder,
	                                   .next_sequence = 1};
	if (begin->refused.code)
		(void)!frame_send_error(socket, &begin->refused, 0, MSG_DONTWAIT);
	else if (requests_hello(&c) == 0)
		requests_loop(&c);
}
