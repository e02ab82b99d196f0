/*
 * Connections, requests and their answers. See server.h.
 *
 * libmicrohttpd gets sockets that are accepted here, and shows what it waits for in one epoll descriptor, which the loop waits for. It has
 * no timeouts of its own: each connection has a deadline, which depends on what it does just now.
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/execution.h"
#include "agent/http/reply.h"
#include "agent/http/routes.h"
#include "base/clock.h"

#define VISITORS_MAX    (3 * SERVER_CONNECTIONS_MAX) /* then others wait until one goes */
#define HEADERS_MAX     ((size_t)32 << 10)
#define IDLE_MS         120000u /* between requests */
#define SENDING_MS      120000u /* for an answer to be read */
#define BEAT_MS         60000u
#define STREAM_SIZE     ((size_t)16 << 10)
#define PASSED_OVER_MAX ((uint64_t)64 << 20) /* of a body that is not wanted: more ends the connection */

/* A connection. */
struct visitor {
	struct server *server;
	int fd; /* libmicrohttpd's */
	bool is_tcp, is_refused;
	uid_t uid;
	uint64_t deadline_ms; /* 0: none */
	struct exchange *exchange;
	struct visitor *next, *before;
};

struct server {
	struct agent *agent;
	struct access *access;
	struct server_options options;
	struct MHD_Daemon *daemon;
	sd_event_source *run, *again, *timer, *idle, *entries[ENTRY_MAX];
	size_t entries_count;
	struct visitor *visitors;
	size_t visitors_count;
	uint64_t timer_ms; /* when it fires; 0: it does not */
	uint64_t started_ms;
};

/* --- time ---------------------------------------------------------------------------------------------------------------------------- */

static void set_timer(struct server *server, uint64_t at_ms)
{
	server->timer_ms = at_ms;
	(void)sd_event_source_set_time(server->timer, at_ms * 1000);
	(void)sd_event_source_set_enabled(server->timer, at_ms ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* 0: without bound. The timer is only ever set to an earlier time here: it looks again when it fires. */
static void bound(struct visitor *visitor, uint64_t ms)
{
	struct server *server = visitor->server;

	visitor->deadline_ms = ms ? clock_now_ms() + ms : 0;
	if (ms && (!server->timer_ms || visitor->deadline_ms < server->timer_ms))
		set_timer(server, visitor->deadline_ms);
}

/* Said where the request has begun, and its answer has not: libmicrohttpd would close the connection without a word. */
static void tell_timeout(const struct visitor *visitor)
{
	static const char text[] =
		"{\"error\":{\"code\":\"timeout\",\"message\":\"the request took too long to come\",\"retryable\":true}}";
	char answer[512];
	int length = snprintf(answer, sizeof answer,
	                      "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
	                      "Connection: close\r\n\r\n%s",
	                      sizeof text - 1, text);

	(void)!send(visitor->fd, answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL); /* who does not read it has gone */
}

static void expire(struct visitor *visitor)
{
	struct exchange *exchange = visitor->exchange;

	if (exchange && exchange->is_suspended) {
		if (exchange->beat)
			exchange->beat(exchange->work);
		exchange_wake(exchange);
		return;
	}
	if (exchange && exchange->state <= EXCHANGE_PASSING)
		tell_timeout(visitor);
	visitor->deadline_ms = 0;
	(void)shutdown(visitor->fd, SHUT_RDWR);
}

static int on_timer(sd_event_source *source, uint64_t at, void *data)
{
	struct server *server = data;
	uint64_t now = clock_now_ms(), earliest = 0;

	server->timer_ms = 0;
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->deadline_ms && visitor->deadline_ms <= now)
			expire(visitor);
	}
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->deadline_ms && (!earliest || visitor->deadline_ms < earliest))
			earliest = visitor->deadline_ms;
	}
	if (earliest)
		set_timer(server, earliest);
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

/* --- connections --------------------------------------------------------------------------------------------------------------------- */

static void listen_on(struct server *server, bool is_on)
{
	for (size_t i = 0; i < server->entries_count; i++)
		(void)sd_event_source_set_enabled(server->entries[i], is_on ? SD_EVENT_ON : SD_EVENT_OFF);
}

static struct visitor *visitor_new(struct server *server, int fd)
{
	struct visitor *visitor = calloc(1, sizeof *visitor);
	size_t others = 0;

	if (!visitor)
		return NULL;
	*visitor = (struct visitor){.server = server, .fd = fd, .next = server->visitors};
	if (entry_peer(fd, &visitor->is_tcp, &visitor->uid) < 0)
		visitor->uid = (uid_t)-1; /* nobody, who is refused */
	for (const struct visitor *other = server->visitors; other; other = other->next)
		others += other->is_tcp == visitor->is_tcp && other->uid == visitor->uid;
	visitor->is_refused = others >= SERVER_CONNECTIONS_MAX;
	if (server->visitors)
		server->visitors->before = visitor;
	server->visitors = visitor;
	if (++server->visitors_count == VISITORS_MAX)
		listen_on(server, false);
	set_idle(server, false);
	bound(visitor, server->options.request_ms);
	return visitor;
}

static void exchange_free(struct exchange *exchange);

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
	if (server->visitors_count-- == VISITORS_MAX)
		listen_on(server, true);
	if (server->visitors_count == 0)
		set_idle(server, true);
	free(visitor);
}

static void on_connection(void *data, struct MHD_Connection *connection, void **context, enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			visitor_free(*context);
		*context = NULL;
		return;
	}
	*context = visitor_new(data, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
}

static int on_entry(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct server *server = data;
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	int accepted = accept4(fd, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

	/* What cannot be accepted just now, or has gone meanwhile, is the next round's. */
	if (accepted >= 0)
		(void)!MHD_add_connection(server->daemon, accepted, (struct sockaddr *)&address,
		                          length); /* it closes what it cannot take */
	(void)source;
	(void)events;
	return 0;
}

/* --- suspended ---------------------------------------------------------------------------------------------------------------------------
 */

static void resume(struct exchange *exchange)
{
	if (!exchange->is_suspended)
		return;
	exchange->is_suspended = false;
	exchange->gone = sd_event_source_disable_unref(exchange->gone);
	MHD_resume_connection(exchange->connection);
	(void)sd_event_source_set_enabled(exchange->server->again,
	                                  SD_EVENT_ONESHOT); /* neither its descriptor nor its timeout tells of this */
}

static void end_work(struct exchange *exchange)
{
	void (*end)(void *work) = exchange->end_work;
	void *work = exchange->work;

	exchange->work = NULL;
	exchange->end_work = NULL;
	if (end)
		end(work);
}

static void give_up(struct exchange *exchange)
{
	exchange->state = EXCHANGE_GIVEN_UP;
	end_work(exchange);
	resume(exchange);
}

/*
 * Whoever closes only its side of a Unix socket still reads. By TCP that cannot be told from one that has gone, which is what it means
 * nearly always.
 */
static int on_gone(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct exchange *exchange = data;

	if (events & (EPOLLHUP | EPOLLERR) || exchange->visitor->is_tcp)
		give_up(exchange);
	else
		(void)sd_event_source_set_io_events(source, 0); /* and the two, which always are told */
	(void)fd;
	return 0;
}

static void suspend(struct exchange *exchange)
{
	struct visitor *visitor = exchange->visitor;

	if (sd_event_add_io(exchange->agent->loop, &exchange->gone, visitor->fd, EPOLLRDHUP, on_gone, exchange) < 0)
		exchange->gone = NULL; /* then it is known when it is answered */
	exchange->is_suspended = true;
	bound(visitor, exchange->read ? BEAT_MS : 0);
	MHD_suspend_connection(exchange->connection);
}

/* --- requests ----------------------------------------------------------------------------------------------------------------------------
 */

static void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	end_work(exchange);
	exchange->visitor->exchange = NULL;
	exchange->gone = sd_event_source_disable_unref(exchange->gone);
	if (exchange->response)
		MHD_destroy_response(exchange->response);
	free(exchange->body);
	free(exchange);
}

/* The first line was read. */
static void *on_line(void *data, const char *uri, struct MHD_Connection *connection)
{
	struct visitor *visitor = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	struct exchange *exchange = visitor ? calloc(1, sizeof *exchange) : NULL;

	(void)data;
	(void)uri;
	if (!exchange)
		return NULL;
	*exchange =
		(struct exchange){.server = visitor->server, .agent = visitor->server->agent, .visitor = visitor, .connection = connection};
	visitor->exchange = exchange;
	bound(visitor, visitor->server->options.request_ms);
	return exchange;
}

static void on_completed(void *data, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *context;

	*context = NULL;
	if (exchange) {
		bound(exchange->visitor, IDLE_MS);
		exchange_free(exchange);
	}
	(void)data;
	(void)connection;
	(void)code;
}

/* -1: it does not say, or there is none. */
static long long declared_length(const struct exchange *exchange)
{
	const char *text = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text ? strtoll(text, NULL, 10) : -1;
}

static void check_access(struct exchange *exchange)
{
	struct access_request request = {
		.is_tcp = exchange->visitor->is_tcp,
		.uid = exchange->visitor->uid,
		.method = exchange->method,
		.host = exchange_header(exchange, MHD_HTTP_HEADER_HOST),
		.origin = exchange_header(exchange, MHD_HTTP_HEADER_ORIGIN),
		.authorization = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION),
		.cookies = exchange_header(exchange, MHD_HTTP_HEADER_COOKIE),
		.content_type = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE),
		.has_body = declared_length(exchange) > 0 || exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING),
	};
	struct yett_error error;
	unsigned status;

	if (exchange->visitor->is_refused) {
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_RESOURCE_LIMIT, "%d connections of this user are open already",
		             SERVER_CONNECTIONS_MAX);
		return;
	}
	if (access_check(exchange->server->access, &request, &status, &error) == 0)
		return;
	if (status == MHD_HTTP_UNAUTHORIZED && exchange->route && exchange->route->flags & ROUTE_OPEN && exchange_query(exchange, "once"))
		return;
	reply_problem(exchange, status, &error);
}

static enum MHD_Result go_on(struct exchange *exchange);

/* All that can be said by the headers alone is said there; then the body is read, and nobody wants it. */
static enum MHD_Result begin(struct exchange *exchange)
{
	char methods[ROUTES_REST_SIZE];
	long long length = declared_length(exchange);

	exchange->route = routes_find(exchange->method, exchange->path, exchange->rest, methods);
	check_access(exchange);
	if (exchange->state == EXCHANGE_READING && length > (long long)SERVER_BODY_MAX)
		reply_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, YETT_E_RESOURCE_LIMIT, "the body is larger than %zu bytes",
		             SERVER_BODY_MAX);
	if (exchange->state == EXCHANGE_READING && !exchange->route)
		reply_unknown(exchange, methods);
	if (exchange->state == EXCHANGE_READING)
		return MHD_YES;
	if ((length > 0 && exchange_header(exchange, MHD_HTTP_HEADER_EXPECT)) || length > (long long)PASSED_OVER_MAX)
		return go_on(exchange);
	return MHD_YES;
}

static bool make_room(struct exchange *exchange, size_t more)
{
	long long declared = exchange->body ? 0 : declared_length(exchange);
	size_t room = exchange->body_room ? 2 * exchange->body_room : 4096;
	char *body;

	if (exchange->body_length + more < exchange->body_room)
		return true;
	if (declared > 0)
		room = (size_t)declared + 1;
	if (room <= exchange->body_length + more)
		room = exchange->body_length + more + 1;
	if (!(body = realloc(exchange->body, room)))
		return false;
	exchange->body = body;
	exchange->body_room = room;
	return true;
}

static enum MHD_Result take_body(struct exchange *exchange, const char *bytes, size_t length)
{
	if (exchange->state == EXCHANGE_READING && exchange->body_length + length > SERVER_BODY_MAX)
		reply_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, YETT_E_RESOURCE_LIMIT, "the body is larger than %zu bytes",
		             SERVER_BODY_MAX);
	if (exchange->state == EXCHANGE_READING && !make_room(exchange, length))
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY, "no memory for the body");
	if (exchange->state != EXCHANGE_READING) {
		exchange->passed_over += length;
		return exchange->passed_over > PASSED_OVER_MAX ? MHD_NO : MHD_YES;
	}
	memcpy(exchange->body + exchange->body_length, bytes, length);
	exchange->body_length += length;
	exchange->body[exchange->body_length] = '\0';
	return MHD_YES;
}

static void drop_body(struct exchange *exchange)
{
	free(exchange->body);
	exchange->body = NULL;
	exchange->body_length = exchange->body_room = 0;
}

/* Hands the response on. */
static enum MHD_Result send_response(struct exchange *exchange)
{
	struct MHD_Response *response = exchange->response;
	enum MHD_Result r;

	exchange->response = NULL;
	exchange->state = EXCHANGE_SENDING;
	bound(exchange->visitor, SENDING_MS);
	r = MHD_queue_response(exchange->connection, exchange->status, response);
	MHD_destroy_response(response);
	return r;
}

/* The request is there, or its answer is. */
static enum MHD_Result go_on(struct exchange *exchange)
{
	if (exchange->state == EXCHANGE_PASSING)
		exchange->state = EXCHANGE_READY;
	if (exchange->state == EXCHANGE_READING) {
		exchange->state = EXCHANGE_WAITING;
		bound(exchange->visitor, 0);
		exchange->route->answer(exchange);
		drop_body(exchange);
	}
	if (exchange->state == EXCHANGE_READY)
		return send_response(exchange);
	if (exchange->state != EXCHANGE_WAITING)
		return MHD_NO;
	suspend(exchange);
	return MHD_YES;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **context)
{
	struct exchange *exchange = *context;

	(void)data;
	(void)connection;
	(void)version;
	if (!exchange)
		return MHD_NO;
	if (!exchange->method) {
		exchange->method = method;
		exchange->path = path;
		return begin(exchange);
	}
	if (*upload_size) {
		size_t length = *upload_size;

		*upload_size = 0;
		return take_body(exchange, upload, length);
	}
	return go_on(exchange);
}

/* --- for routes --------------------------------------------------------------------------------------------------------------------------
 */

void exchange_answer(struct exchange *exchange, unsigned status, struct MHD_Response *response)
{
	if (exchange->state > EXCHANGE_WAITING || exchange->state == EXCHANGE_PASSING) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	if (exchange->state == EXCHANGE_READING)
		drop_body(exchange);
	exchange->response = response;
	exchange->status = status;
	if (!response)
		exchange->state = EXCHANGE_GIVEN_UP;
	else
		exchange->state = exchange->state == EXCHANGE_READING ? EXCHANGE_PASSING : EXCHANGE_READY;
	resume(exchange);
}

static ssize_t read_stream(void *data, uint64_t position, char *buffer, size_t size)
{
	struct exchange *exchange = data;
	ssize_t length;

	(void)position;
	if (exchange->state == EXCHANGE_GIVEN_UP)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	length = exchange->read(exchange->work, buffer, size);
	if (length < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (length == 0)
		suspend(exchange);
	else
		bound(exchange->visitor, SENDING_MS);
	return length;
}

void exchange_stream(struct exchange *exchange, const char *type, ssize_t (*read)(void *work, char *buffer, size_t size),
                     void (*beat)(void *work))
{
	struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_SIZE, read_stream, exchange, NULL);

	exchange->read = read;
	exchange->beat = beat;
	if (response)
		reply_finish(response, type);
	exchange_answer(exchange, MHD_HTTP_OK, response);
}

void exchange_wake(struct exchange *exchange)
{
	resume(exchange);
}

void exchange_set_work(struct exchange *exchange, void *work, void (*end)(void *work))
{
	exchange->work = work;
	exchange->end_work = end;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const char *exchange_query(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* --- the server
 * ---------------------------------------------------------------------------------------------------------------------------- */

static int on_run(sd_event_source *source, int fd, uint32_t events, void *data)
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

/* Before the loop waits: what libmicrohttpd has read already, or was told, does not show in its descriptor. */
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
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL,
	                                  NULL, on_request, server, MHD_OPTION_URI_LOG_CALLBACK, on_line, server,
	                                  MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
	                                  server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)VISITORS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	                                  HEADERS_MAX, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	return server->daemon ? 0 : -ENOMEM;
}

static int add_sources(struct server *server, const struct entry *entry)
{
	sd_event *loop = server->agent->loop;
	int epoll = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, r;

	if ((r = sd_event_add_io(loop, &server->run, epoll, EPOLLIN, on_run, server)) < 0 ||
	    (r = sd_event_source_set_prepare(server->run, before_wait)) < 0 ||
	    (r = sd_event_add_defer(loop, &server->again, on_again, server)) < 0 ||
	    (r = sd_event_source_set_enabled(server->again, SD_EVENT_OFF)) < 0 ||
	    (r = sd_event_add_time(loop, &server->timer, CLOCK_MONOTONIC, 0, 1000000, on_timer, server)) < 0 ||
	    (r = sd_event_source_set_enabled(server->timer, SD_EVENT_OFF)) < 0)
		return r;
	for (size_t i = 0; i < entry->count; i++) {
		if ((r = sd_event_add_io(loop, &server->entries[i], entry->fds[i], EPOLLIN, on_entry, server)) < 0)
			return r;
		server->entries_count++;
	}
	if (server->options.idle_exit_ms == 0)
		return 0;
	r = sd_event_add_time_relative(loop, &server->idle, CLOCK_MONOTONIC, server->options.idle_exit_ms * 1000, 1000000, on_idle, server);
	return r < 0 ? r : sd_event_source_set_enabled(server->idle, SD_EVENT_ONESHOT);
}

int server_new(struct agent *agent, struct entry *entry, struct access *access, const struct server_options *options,
               struct server **ret_server, struct yett_error *error)
{
	struct server *server = calloc(1, sizeof *server);
	int r;

	if (!server)
		return error_set(error, YETT_E_OUT_OF_MEMORY, 0, "no memory for the server");
	*server = (struct server){.agent = agent, .access = access, .options = *options, .started_ms = clock_now_ms()};
	if ((r = start_daemon(server)) < 0 || (r = add_sources(server, entry)) < 0) {
		server_free(server);
		(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the server cannot be started: %s", strerror(-r));
		return error_cause(error, NULL, -r);
	}
	*ret_server = server;
	return 0;
}

/* It may be stopped only once nothing is suspended. */
static void stop_daemon(struct server *server)
{
	for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
		if (visitor->exchange)
			give_up(visitor->exchange);
	}
	(void)MHD_run(server->daemon);
	MHD_stop_daemon(server->daemon);
}

void server_free(struct server *server)
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
	free(server);
}

struct access *server_access(struct server *server)
{
	return server->access;
}

struct manager *server_manager(const struct server *server)
{
	return server->options.manager;
}

struct mcp *server_mcp(const struct server *server)
{
	return server->options.mcp;
}

uint64_t server_started_ms(const struct server *server)
{
	return server->started_ms;
}
