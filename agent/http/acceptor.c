/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See acceptor.h: connections and the event loop.
 *
 * libmicrohttpd gets accepted sockets, and exposes what it waits for as one epoll descriptor, which
 * is a source of the loop. Its timeouts are not used: each connection has a deadline here, which
 * depends on the state of its exchange.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/execution.h"
#include "agent/http/acceptor.h"
#include "agent/http/receiver.h"
#include "base/clock.h"
#include "base/failure.h"

/* Connections of users without access, in total; further ones are closed without a response. */
#define STRANGERS_MAX 8
/* The user's connections over Unix sockets and over TCP, and those of strangers. */
#define VISITORS_MAX (2 * SERVER_CONNECTIONS_MAX + STRANGERS_MAX)
#define ACCEPTS      16 /* accepted from one socket per round, before other sources are served */
#define HEADERS_MAX  ((size_t)32 << 10)

/* --- time ------------------------------------------------------------------------------------- */

static int on_timer(sd_event_source *source, uint64_t at, void *data)
{
	struct server *server = data;
	uint64_t now = clock_now_ms(), earliest = 0;

	server->timer_ms = 0;
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->deadline_ms && visitor->deadline_ms <= now)
			exchange_expire(visitor);
	}
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->deadline_ms && (!earliest || visitor->deadline_ms < earliest))
			earliest = visitor->deadline_ms;
	}
	if (earliest)
		server_set_timer(server, earliest);
	(void)source;
	(void)at;
	return 0;
}

static void look_alive(struct execution *execution, void *data)
{
	if (!execution_is_over(execution))
		*(bool *)data = true;
}

static void set_idle(struct server *server, bool is_idle)
{
	if (!server->idle)
		return;
	(void)sd_event_source_set_time_relative(server->idle, server->options.idle_exit_ms * 1000);
	(void)sd_event_source_set_enabled(server->idle, is_idle ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_idle(sd_event_source *source, uint64_t at, void *data)
{
	struct server *server = data;
	bool is_alive = false;

	executions_each(server->agent, look_alive, &is_alive);
	if (is_alive)
		set_idle(server, true);
	else
		(void)sd_event_exit(server->agent->loop, 0);
	(void)source;
	(void)at;
	return 0;
}

/* --- connections ------------------------------------------------------------------------------ */

/*
 * Whether to serve the connection. A user's limit is separate from the strangers', so that
 * connections of other users cannot take up the user's; strangers get few.
 */
static bool acceptor_admit(const struct server *server, int fd, struct arrival *arrival)
{
	size_t same = 0, strangers = 0;

	*arrival = (struct arrival){0};
	if (entry_peer(fd, &arrival->is_tcp, &arrival->uid) < 0)
		arrival->uid = (uid_t)-1; /* no valid uid: is refused */
	for (const struct visitor *other = server->visitors; other; other = other->next) {
		bool is_stranger = other->is_refused || !access_knows(server->access, other->uid);

		strangers += is_stranger;
		same += !is_stranger && other->is_tcp == arrival->is_tcp;
	}
	arrival->is_refused = same >= SERVER_CONNECTIONS_MAX;
	return strangers < STRANGERS_MAX ||
	       (!arrival->is_refused && access_knows(server->access, arrival->uid));
}

static struct visitor *visitor_new(struct server *server, int fd)
{
	struct visitor *visitor = calloc(1, sizeof *visitor);
	const struct arrival *arrival = &server->arrival;

	if (!visitor)
		return NULL;
	*visitor = (struct visitor){.server = server,
	                            .fd = fd,
	                            .is_tcp = arrival->is_tcp,
	                            .is_refused = arrival->is_refused,
	                            .uid = arrival->uid,
	                            .next = server->visitors};
	if (server->visitors)
		server->visitors->before = visitor;
	server->visitors = visitor;
	set_idle(server, false);
	server_bound(visitor, server->options.request_ms);
	return visitor;
}

static void visitor_free(struct visitor *visitor)
{
	struct server *server = visitor->server;

	exchange_free(visitor->exchange);
	if (visitor->next)
		visitor->next->before = visitor->before;
	if (visitor->before)
		visitor->before->next = visitor->next;
	else
		server->visitors = visitor->next;
	if (!server->visitors)
		set_idle(server, true);
	free(visitor);
}

static void acceptor_on_connection(void *data, struct MHD_Connection *connection, void **context,
                                   enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			visitor_free(*context);
		*context = NULL;
		return;
	}
	*context = visitor_new(
		data,
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
}

/* Returns false if no client waits, or none can be accepted now. */
static bool acceptor_accept_one(struct server *server, int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	int accepted =
		accept4(fd, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (accepted < 0 && (errno == EMFILE || errno == ENFILE)) {
		server->spare = fd_close(server->spare);
		(void)fd_close(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
		server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (accepted < 0)
		return false;
	if (!acceptor_admit(server, accepted, &server->arrival))
		(void)fd_close(accepted);
	else
		/* MHD_add_connection() closes the socket on failure. */
		(void)!MHD_add_connection(server->daemon, accepted, (struct sockaddr *)&address,
		                          length);
	return true;
}

static int on_entry(sd_event_source *source, int fd, uint32_t events, void *data)
{
	for (int i = 0; i < ACCEPTS && acceptor_accept_one(data, fd); i++)
		;
	(void)source;
	(void)events;
	return 0;
}

/* --- the server ------------------------------------------------------------------------------- */

static int acceptor_on_run(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct server *server = data;

	(void)MHD_run(server->daemon);
	(void)source;
	(void)fd;
	(void)events;
	return 0;
}

static int on_again(sd_event_source *source, void *data)
{
	struct server *server = data;

	(void)MHD_run(server->daemon);
	(void)source;
	return 0;
}

/*
 * Runs before the loop waits. Data that libmicrohttpd has buffered, and connections that were
 * resumed, do not make its epoll descriptor readable.
 */
static int before_wait(sd_event_source *source, void *data)
{
	struct server *server = data;
	MHD_UNSIGNED_LONG_LONG left_ms;

	if (MHD_get_timeout(server->daemon, &left_ms) == MHD_YES && left_ms == 0)
		(void)sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
	(void)source;
	return 0;
}

static int start_daemon(struct server *server)
{
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO,
		0, NULL, NULL, receiver_on_part, server, MHD_OPTION_URI_LOG_CALLBACK,
		receiver_on_line, server, MHD_OPTION_NOTIFY_COMPLETED, receiver_on_completed,
		server, MHD_OPTION_NOTIFY_CONNECTION, acceptor_on_connection, server,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)VISITORS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	return server->daemon ? 0 : -ENOMEM;
}

static int acceptor_add_sources(struct server *server, const struct entry *entry)
{
	sd_event *loop = server->agent->loop;
	int epoll = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, r;

	if ((r = sd_event_add_io(loop, &server->run, epoll, EPOLLIN, acceptor_on_run, server)) <
	            0 ||
	    (r = sd_event_source_set_prepare(server->run, before_wait)) < 0 ||
	    (r = sd_event_add_defer(loop, &server->again, on_again, server)) < 0 ||
	    (r = sd_event_source_set_enabled(server->again, SD_EVENT_OFF)) < 0 ||
	    (r = sd_event_add_time(loop, &server->timer, CLOCK_MONOTONIC, 0, 1000000, on_timer,
	                           server)) < 0 ||
	    (r = sd_event_source_set_enabled(server->timer, SD_EVENT_OFF)) < 0)
		return r;
	for (size_t i = 0; i < entry->count; i++) {
		if ((r = sd_event_add_io(loop, &server->entries[i], entry->fds[i], EPOLLIN,
		                         on_entry, server)) < 0)
			return r;
		server->entries_count++;
	}
	if (server->options.idle_exit_ms == 0)
		return 0;
	r = sd_event_add_time_relative(loop, &server->idle, CLOCK_MONOTONIC,
	                               server->options.idle_exit_ms * 1000, 1000000, on_idle,
	                               server);
	return r < 0 ? r : sd_event_source_set_enabled(server->idle, SD_EVENT_ONESHOT);
}

int acceptor_start(struct agent *agent, struct entry *entry, struct access *access,
                   const struct server_options *options, struct server **ret_server,
                   struct yett_error *error)
{
	struct server *server = calloc(1, sizeof *server);
	int r;

	if (!server)
		return error_set(error, YETT_E_OUT_OF_MEMORY, 0, "no memory for the server");
	*server = (struct server){.agent = agent,
	                          .access = access,
	                          .options = *options,
	                          .started_ms = clock_now_ms()};
	server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if ((r = start_daemon(server)) < 0 || (r = acceptor_add_sources(server, entry)) < 0) {
		acceptor_stop(server);
		errno = -r;
		return failure_set(error, YETT_E_RESOURCE_LIMIT, NULL,
		                   "the server cannot be started: %m");
	}
	*ret_server = server;
	return 0;
}

/* MHD_stop_daemon() requires that no connection is suspended. */
static void stop_daemon(struct server *server)
{
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->exchange)
			exchange_give_up(visitor->exchange);
	}
	(void)MHD_run(server->daemon);
	MHD_stop_daemon(server->daemon);
}

void acceptor_stop(struct server *server)
{
	if (!server)
		return;
	if (server->daemon)
		stop_daemon(server);
	sd_event_source_disable_unref(server->run);
	sd_event_source_disable_unref(server->again);
	sd_event_source_disable_unref(server->timer);
	sd_event_source_disable_unref(server->idle);
	for (size_t i = 0; i < server->entries_count; i++)
		sd_event_source_disable_unref(server->entries[i]);
	(void)fd_close(server->spare);
	free(server);
}
