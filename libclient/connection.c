/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See connection.h. Messages of the helper are checked like those of any peer, since the socket may
 * belong to an impostor.
 */
#include "libclient/connection.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "libclient/discard.h"
#include "base/failure.h"

#define HELPER_END_TIMEOUT_MS 10000

/*
 * Refuses a service that is not root's. SO_PEERCRED has the peer's uid at the time of connect(2),
 * listen(2) or socketpair(2), see unix(7). If we started the helper, we made the socket pair, and
 * the uid is our own.
 */
static int check_peer(int fd, enum yett_start start, struct yett_error *error)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL,
		                   "cannot tell who the helper is: %m");
	if (peer.uid == 0 || (start != YETT_START_SERVICE && peer.uid == geteuid()))
		return 0;
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                 "the process behind the socket belongs to uid %u, not to root", peer.uid);
}

/* Converts a failed receive of the hello to a code and fills `error`. */
static int no_hello(int r, struct yett_error *error)
{
	if (r == -EAGAIN)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the helper does not answer");
	if (r == YETT_E_NOT_RUNNING) {
		r = error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
		              "the helper closed the connection before it said hello");
		(void)error_cause(error, NULL, ECONNRESET);
		error_mend(
			error,
			"have the administrator look why it cannot serve: its log says so (journalctl -u yett), and yett policy check what is wrong "
			"with the policy");
	}
	return r;
}

static int receive_hello(struct yett_connection *connection, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	const struct message_hello *hello = &channel->message.body.hello;
	int r = channel_receive(channel, channel_deadline(connection->timeout_ms), error);

	if (r != 0)
		return no_hello(r, error);
	if (channel->message.kind == MESSAGE_ERROR) {
		channel_get_error(channel, &channel->failure);
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	if (channel->message.kind != MESSAGE_HELLO)
		return channel_violation(channel, YETT_R_KIND, error,
		                         "the helper did not begin with hello");
	if (hello->version_min > ENVELOPE_VERSION || hello->version_max < ENVELOPE_VERSION)
		return channel_violation(
			channel, YETT_R_VERSION, error,
			"the helper speaks protocol versions %u to %u, this library %d",
			hello->version_min, hello->version_max, ENVELOPE_VERSION);
	memcpy(connection->challenge, hello->challenge, sizeof connection->challenge);
	return 0;
}

int connection_take(int fd, const struct yett_connect_options *options, enum yett_start start,
                    struct yett_connection **ret_connection, struct yett_error *error)
{
	_cleanup_fd_ int owned = fd;
	_cleanup_(connection_freep) struct yett_connection *connection =
		calloc(1, sizeof *connection);
	pthread_condattr_t monotonic;
	int r;

	if (!connection)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a connection");
	(void)pthread_mutex_init(&connection->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&connection->turned, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	connection->helper_pidfd = -1;
	connection->start = start;
	connection->timeout_ms =
		options->timeout_ms > 0 ? options->timeout_ms : CONNECTION_TIMEOUT_MS;
	connection->signer = options->signer;
	connection->workspace = options->workspace;
	connection->is_agent = options->flags & YETT_CONNECT_AGENT;
	connection->channel = channel_take(steal_fd(&owned), "the helper");
	if (!connection->channel)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a connection");
	r = check_peer(connection->channel->fd, start, error);
	/*
	 * Load the key now, while the helper prepares its hello. A missing default key is no error
	 * yet: it may be made later, and need_signer() looks for it again at the first request.
	 */
	if (r == 0 && !connection->signer && options->key_path)
		r = yett_signer_load(options->key_path, &connection->own_signer, error);
	else if (r == 0 && !connection->signer)
		(void)!yett_signer_load(NULL, &connection->own_signer, NULL);
	if (connection->own_signer)
		connection->signer = connection->own_signer;
	if (r == 0)
		r = receive_hello(connection, error);
	if (r)
		return r;
	*ret_connection = steal_ptr(&connection);
	return 0;
}

/*
 * Finds the request that the received message answers. A sequence number that we never sent is a
 * protocol violation. If nobody waits for the answer any more, *ret_request is NULL and the answer
 * shall be dropped.
 */
static int find_request(struct yett_connection *connection, struct connection_request **ret_request,
                        struct yett_error *error)
{
	uint64_t sequence = connection->channel->envelope.sequence;

	if (sequence == 0 || sequence > connection->channel->sequence)
		return channel_violation(connection->channel, YETT_R_OUT_OF_ORDER, error,
		                         "the helper answered request %llu, which was not made",
		                         (unsigned long long)sequence);
	*ret_request = NULL;
	for (struct connection_request *at = connection->requests; at && !*ret_request;
	     at = at->next)
		if (at->sequence == sequence)
			*ret_request = at;
	return 0;
}

/* the same as EGRESS_OWN_V4 and EGRESS_OWN_V6 in programs/net/egress.h */
#define ADDRESS4 "198.18.0.1"
#define ADDRESS6 "fd79:6574:7400::1"

/*
 * Returns whether this host has IPv6; if not, its sandboxes have none either. With the kernel
 * parameter ipv6.disable=1, socket(2) fails with EAFNOSUPPORT.
 */
static bool libclient_connection_has_ipv6(void)
{
	_cleanup_fd_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 || errno != EAFNOSUPPORT;
}

void connection_fill_network(struct yett_sandbox_info *info, uint32_t network)
{
	info->network = (enum yett_network)(network + YETT_NETWORK_NONE);
	if (info->network != YETT_NETWORK_LIMITED && info->network != YETT_NETWORK_OPEN)
		return;
	(void)snprintf(info->address4, sizeof info->address4, "%s", ADDRESS4);
	(void)snprintf(info->address6, sizeof info->address6, "%s",
	               libclient_connection_has_ipv6() ? ADDRESS6 : "");
}

const char *connection_backend(const struct yett_connection *connection)
{
	if (connection->start == YETT_START_PERSONAL)
		return geteuid() == 0 ? "personal" : "rootless";
	return connection->start == YETT_START_SETUID ? "setuid" : "service";
}

void connection_fill_kind(const struct yett_connection *connection, struct yett_sandbox_info *info)
{
	struct utsname name;

	(void)snprintf(info->platform, sizeof info->platform, "linux");
	(void)snprintf(info->type, sizeof info->type, "namespaces");
	(void)snprintf(info->backend, sizeof info->backend, "%s", connection_backend(connection));
	if (uname(&name) == 0)
		(void)snprintf(info->architecture, sizeof info->architecture, "%s", name.machine);
}

static int take_created(struct yett_connection *connection, struct connection_request *request,
                        struct yett_error *error)
{
	const struct message *message = &connection->channel->message;
	const struct message_created *created = &message->body.created;
	struct yett_sandbox_info *info = &request->info;
	const char *id = message_text(message, created->id),
		   *profile = message_text(message, created->profile);
	const char *label = message_text(message, created->label),
		   *weaker = message_text(message, created->weaker),
		   *hostname = message_text(message, created->hostname);

	if (!id || strlen(id) != sizeof info->id - 1 ||
	    strspn(id, "0123456789abcdef") != sizeof info->id - 1 || !profile ||
	    strlen(profile) >= sizeof info->profile || !label ||
	    strlen(label) >= sizeof info->label || !weaker ||
	    strlen(weaker) >= sizeof info->weaker || !hostname ||
	    strlen(hostname) >= sizeof info->hostname)
		return channel_violation(connection->channel, YETT_R_RANGE, error,
		                         "the helper gave a sandbox no proper name");
	memcpy(info->id, id, strlen(id) + 1);
	memcpy(info->profile, profile, strlen(profile) + 1);
	memcpy(info->label, label, strlen(label) + 1);
	memcpy(info->weaker, weaker, strlen(weaker) + 1);
	memcpy(info->hostname, hostname, strlen(hostname) + 1);
	info->private_uid = created->private_uid;
	info->landlock_abi = created->landlock_abi;
	info->size = sizeof *info;
	info->memory_bytes = created->limits.memory_bytes;
	info->cpu_millis = created->limits.cpu_millis;
	info->pids = created->limits.pids;
	info->open_files = created->limits.files;
	info->file_bytes = created->limits.file_bytes;
	info->core_bytes = created->limits.core_bytes;
	info->command_timeout_ms = created->command_ms;
	info->max_command_timeout_ms = created->command_max_ms;
	connection_fill_network(info, created->network);
	connection_fill_kind(connection, info);
	request->fd = steal_fd(&connection->channel->frame.fds[0]);
	request->state = CONNECTION_ANSWERED;
	return 0;
}

enum yett_ended connection_ended_of(uint32_t reason)
{
	switch (reason) {
	case ENDED_CLOSED:
		return YETT_ENDED_CLOSED;
	case ENDED_INIT_DIED:
		return YETT_ENDED_INIT_DIED;
	case ENDED_OOM:
		return YETT_ENDED_OUT_OF_MEMORY;
	case ENDED_DESTROYED:
		return YETT_ENDED_DESTROYED;
	case ENDED_WALL_TIME:
		return YETT_ENDED_WALL_TIME;
	case ENDED_CPU_TIME:
		return YETT_ENDED_CPU_TIME;
	case ENDED_IDLE:
		return YETT_ENDED_IDLE;
	default:
		return YETT_ENDED_HELPER;
	}
}

static void take_id(const struct message *message, struct text text,
                    struct connection_request *request)
{
	const char *id = message_text(message, text);

	if (id && strlen(id) == sizeof request->info.id - 1)
		memcpy(request->info.id, id, sizeof request->info.id);
}

/* Returns whether `kind` is a successful answer to a request, and to which kind of request. */
static bool libclient_connection_is_answer(uint32_t kind, enum connection_wanted *ret_wanted)
{
	static const struct {
		uint32_t kind;
		enum connection_wanted wanted;
	} answers[] = {{MESSAGE_CREATED, CONNECTION_SANDBOX},  {MESSAGE_PLAN, CONNECTION_PLAN},
	               {MESSAGE_LISTING, CONNECTION_LISTING},  {MESSAGE_DONE, CONNECTION_DONE},
	               {MESSAGE_FOLLOWING, CONNECTION_STREAM}, {MESSAGE_TOTALS, CONNECTION_TOTALS},
	               {MESSAGE_ALLOWED, CONNECTION_ALLOWED}};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		if (answers[i].kind != kind)
			continue;
		*ret_wanted = answers[i].wanted;
		return true;
	}
	return false;
}

/* Handles one checked message from the helper. `request` is NULL if nobody waits for the answer. */
static int libclient_connection_route(struct yett_connection *connection,
                                      struct connection_request *request, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	uint32_t kind = channel->message.kind;
	bool asked = request && request->state == CONNECTION_ASKED;
	enum connection_wanted wanted;

	if (libclient_connection_is_answer(kind, &wanted)) {
		if (!asked) {
			/*
			 * This closes the exec channel of a sandbox that nobody waits for any more,
			 * which ends the sandbox unless it lingers.
			 */
			discard_frame(&channel->frame);
			return 0;
		}
		if (wanted != request->wanted)
			return channel_violation(channel, YETT_R_KIND, error,
			                         "the helper sent an answer of the wrong kind");
		if (kind == MESSAGE_CREATED)
			return take_created(connection, request, error);
		if (channel->frame.fd_count)
			request->fd = steal_fd(&channel->frame.fds[0]);
		if (kind == MESSAGE_DONE)
			take_id(&channel->message, channel->message.body.done.id, request);
		if (kind == MESSAGE_LISTING)
			request->listing = channel->message.body.listing;
		if (kind == MESSAGE_TOTALS)
			request->totals = channel->message.body.totals;
		if (kind == MESSAGE_FOLLOWING)
			take_id(&channel->message, channel->message.body.following.id, request);
		request->state = CONNECTION_ANSWERED;
		return 0;
	}
	switch (kind) {
	case MESSAGE_STATE:
		if (request && (asked || request->state == CONNECTION_ANSWERED))
			request->sandbox_state = (enum yett_state)channel->message.body.state.state;
		return 0;
	case MESSAGE_ERROR:
		if (asked) {
			channel_get_error(channel, &request->error);
			request->state = CONNECTION_REFUSED;
		}
		return 0;
	case MESSAGE_ENDED:
		if (request && request->state != CONNECTION_REFUSED) {
			request->ended = connection_ended_of(channel->message.body.ended.reason);
			request->state = CONNECTION_ENDED;
		}
		return 0;
	default:
		return channel_violation(channel, YETT_R_KIND, error,
		                         "the helper sent a message of kind %u", kind);
	}
}

/*
 * Handles the end of the connection: refuses every request that waits for an answer and marks every
 * sandbox as ended. Returns the code of channel->failure.
 */
static int libclient_connection_over(struct yett_connection *connection, int r,
                                     struct yett_error *error)
{
	if (r == YETT_E_NOT_RUNNING)
		r = error_set(&connection->channel->failure, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
		              "the helper closed the connection");
	for (struct connection_request *at = connection->requests; at; at = at->next) {
		if (at->state == CONNECTION_ASKED) {
			at->error = connection->channel->failure;
			at->state = CONNECTION_REFUSED;
		} else if (at->state == CONNECTION_ANSWERED) {
			at->ended = YETT_ENDED_HELPER;
			at->state = CONNECTION_ENDED;
		}
	}
	if (error)
		*error = connection->channel->failure;
	return r;
}

/*
 * Receives and handles one packet without waiting. Returns 0, -EAGAIN if there is no packet, or a
 * positive code if the connection is over.
 */
static int libclient_connection_turn(struct yett_connection *connection, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	struct connection_request *request = NULL;
	int r = channel_receive(channel, channel_deadline(0), error);

	if (r == -EAGAIN)
		return r;
	(void)pthread_cond_broadcast(&connection->turned);
	if (r == 0 && channel->message.kind == MESSAGE_ERROR && channel->envelope.sequence == 0) {
		/* Sequence 0: the error is about the connection, not about a request. */
		channel_get_error(channel, &channel->failure);
		r = (int)channel->failure.code;
	}
	if (r == 0)
		r = find_request(connection, &request, error);
	if (r == 0)
		r = libclient_connection_route(connection, request, error);
	return r == 0 ? 0 : libclient_connection_over(connection, r, error);
}

static void libclient_connection_await_turn(struct yett_connection *connection,
                                            deadline_ms deadline)
{
	struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

	(void)(deadline < 0
	               ? pthread_cond_wait(&connection->turned, &connection->lock)
	               : pthread_cond_timedwait(&connection->turned, &connection->lock, &until));
}

int connection_step(struct yett_connection *connection, deadline_ms deadline,
                    struct yett_error *error)
{
	struct pollfd entry = {.fd = connection->channel->fd, .events = POLLIN};
	int r = connection->has_waiter ? -EAGAIN : libclient_connection_turn(connection, error);

	if (r != -EAGAIN || channel_time_left(deadline) == 0)
		return r;
	if (connection->has_waiter) {
		libclient_connection_await_turn(connection, deadline);
		return 0;
	}
	connection->has_waiter = true;
	(void)pthread_mutex_unlock(&connection->lock);
	(void)poll(&entry, 1, channel_time_left(deadline));
	(void)pthread_mutex_lock(&connection->lock);
	connection->has_waiter = false;
	(void)pthread_cond_broadcast(&connection->turned);
	return 0;
}

int connection_look(struct yett_connection *connection, struct yett_error *error)
{
	int r = 0;

	while (r == 0 && !connection->has_waiter)
		r = libclient_connection_turn(connection, error);
	return r == -EAGAIN ? 0 : r;
}

enum yett_start yett_connection_start(const struct yett_connection *connection)
{
	return connection->start;
}

int yett_connection_fd(const struct yett_connection *connection)
{
	return connection->channel->fd;
}

int yett_connection_dispatch(struct yett_connection *connection, struct yett_error *error)
{
	CONNECTION_LOCKED(connection);

	return connection_look(connection, error);
}

/*
 * Reaps the helper if it is our child. The helper exits when its connection closes; wait at most
 * HELPER_END_TIMEOUT_MS for that.
 */
static void wait_for_helper(struct yett_connection *connection)
{
	deadline_ms deadline = channel_deadline(HELPER_END_TIMEOUT_MS);
	struct pollfd entry = {.fd = connection->helper_pidfd, .events = POLLIN};
	siginfo_t info;
	int n;

	if (connection->helper_pidfd < 0)
		return;
	do
		n = poll(&entry, 1, channel_time_left(deadline));
	while (n < 0 && errno == EINTR);
	(void)waitid(P_PIDFD, (id_t)connection->helper_pidfd, &info, WEXITED | WNOHANG);
	fd_close(connection->helper_pidfd);
}

void yett_connection_close(struct yett_connection *connection)
{
	if (!connection)
		return;
	for (struct connection_request *at = connection->requests, *next; at; at = next) {
		next = at->next;
		at->next = NULL;
		at->connection = NULL;
		if (at->state != CONNECTION_ENDED)
			at->ended = YETT_ENDED_CLOSED;
		at->state = CONNECTION_ENDED;
	}
	channel_free(connection->channel);
	wait_for_helper(connection);
	yett_signer_free(connection->own_signer);
	(void)pthread_cond_destroy(&connection->turned);
	(void)pthread_mutex_destroy(&connection->lock);
	free(connection);
}
