/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See exchange.h.
 *
 * Some functions of libmicrohttpd call others of this file while they run. Suspending and resuming
 * therefore takes effect only in the next MHD_run().
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/http/reply.h"
#include "agent/http/routes.h"

#define SENDING_MS  120000u /* for the client to read the answer */
#define IDLE_MS     120000u /* between requests */
#define BEAT_MS     60000u
#define STREAM_SIZE ((size_t)16 << 10)
/* Bytes of an unwanted body that are read and dropped; more closes the connection. */
#define PASSED_OVER_MAX ((uint64_t)64 << 20)

/* --- time ------------------------------------------------------------------------------------- */

/*
 * Sends 408 directly: on a timeout before the answer, libmicrohttpd would close the connection
 * without a response.
 */
static void report_timeout(const struct visitor *visitor)
{
	static const char text[] =
		"{\"error\":{\"code\":\"timeout\",\"message\":\"the request took too long to come\",\"retryable\":true}}";
	char answer[512];
	int length = snprintf(
		answer, sizeof answer,
		"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\n%s",
		sizeof text - 1, text);

	/* Failure means that the client is gone. */
	(void)!send(visitor->fd, answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void exchange_expire(struct visitor *visitor)
{
	struct exchange *exchange = visitor->exchange;

	visitor->deadline_ms = 0;
	if (exchange && exchange->is_suspended) {
		if (exchange->beat)
			exchange->beat(exchange->work);
		exchange_wake(exchange);
		return;
	}
	if (exchange && exchange->state <= EXCHANGE_PASSING)
		report_timeout(visitor);
	(void)shutdown(visitor->fd, SHUT_RDWR);
}

/* --- suspended -------------------------------------------------------------------------------- */

static void resume(struct exchange *exchange)
{
	if (!exchange->is_suspended)
		return;
	exchange->is_suspended = false;
	exchange->gone = sd_event_source_disable_unref(exchange->gone);
	MHD_resume_connection(exchange->connection);
	server_go_on(exchange->server);
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

void exchange_give_up(struct exchange *exchange)
{
	exchange->state = EXCHANGE_GIVEN_UP;
	end_work(exchange);
	resume(exchange);
}

/*
 * A client that shuts down only its sending side of a Unix socket still reads. Over TCP, a shutdown
 * looks like a close; treat it as a close, which it nearly always is.
 */
static int on_gone(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct exchange *exchange = data;

	if (events & (EPOLLHUP | EPOLLERR) || exchange->visitor->is_tcp)
		exchange_give_up(exchange);
	else
		/* Leaves EPOLLHUP and EPOLLERR, which epoll(7) always reports. */
		(void)sd_event_source_set_io_events(source, 0);
	(void)fd;
	return 0;
}

static void suspend(struct exchange *exchange)
{
	struct visitor *visitor = exchange->visitor;

	/* On failure, only sending the answer detects that the client is gone. */
	if (sd_event_add_io(exchange->agent->loop, &exchange->gone, visitor->fd, EPOLLRDHUP,
	                    on_gone, exchange) < 0)
		exchange->gone = NULL;
	exchange->is_suspended = true;
	server_bound(visitor, exchange->read ? BEAT_MS : 0);
	MHD_suspend_connection(exchange->connection);
}

/* --- requests --------------------------------------------------------------------------------- */

void exchange_free(struct exchange *exchange)
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

/* Called by libmicrohttpd after the request line. */
void *exchange_on_line(void *data, const char *uri, struct MHD_Connection *connection)
{
	struct visitor *visitor =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;
	struct exchange *exchange = visitor ? calloc(1, sizeof *exchange) : NULL;

	(void)data;
	(void)uri;
	if (!exchange)
		return NULL;
	*exchange = (struct exchange){.server = visitor->server,
	                              .agent = server_agent(visitor->server),
	                              .visitor = visitor,
	                              .connection = connection};
	visitor->exchange = exchange;
	server_bound(visitor, server_request_ms(visitor->server));
	return exchange;
}

void exchange_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *context;

	*context = NULL;
	if (exchange) {
		server_bound(exchange->visitor, IDLE_MS);
		exchange_free(exchange);
	}
	(void)data;
	(void)connection;
	(void)code;
}

/* -1: no Content-Length. */
static long long declared_length(const struct exchange *exchange)
{
	const char *text = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return text ? strtoll(text, NULL, 10) : -1;
}

/*
 * Headers that must not occur twice: a forwarding proxy may use the other occurrence and so decide
 * differently. RFC 9112, 3.2 requires this for Host.
 */
static const char *const single[] = {
	MHD_HTTP_HEADER_HOST,           MHD_HTTP_HEADER_ORIGIN,
	MHD_HTTP_HEADER_AUTHORIZATION,  MHD_HTTP_HEADER_CONTENT_TYPE,
	MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING};
struct counted {
	unsigned counts[ARRAY_SIZE(single)];
	const char *twice; /* the header that occurs twice; NULL: none */
};

static enum MHD_Result count_single(void *data, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
	struct counted *counted = data;

	(void)kind;
	(void)value;
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (strcasecmp(name, single[i]) == 0 && ++counted->counts[i] > 1)
			counted->twice = single[i];
	return MHD_YES;
}

static void check_access(struct exchange *exchange)
{
	struct counted counted = {.twice = NULL};
	struct access_request request = {
		.is_tcp = exchange->visitor->is_tcp,
		.uid = exchange->visitor->uid,
		.method = exchange->method,
		.host = exchange_header(exchange, MHD_HTTP_HEADER_HOST),
		.origin = exchange_header(exchange, MHD_HTTP_HEADER_ORIGIN),
		.site = exchange_header(exchange, "Sec-Fetch-Site"),
		.authorization = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION),
		.cookies = exchange_header(exchange, MHD_HTTP_HEADER_COOKIE),
		.content_type = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE),
		.has_body = declared_length(exchange) > 0 ||
	                    exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING),
	};
	struct yett_error error;
	unsigned status;

	if (exchange->visitor->is_refused) {
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_RESOURCE_LIMIT,
		             "%d connections of this user are open already",
		             SERVER_CONNECTIONS_MAX);
		return;
	}
	(void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, count_single,
	                                &counted);
	if (counted.twice) {
		reply_refuse(exchange, MHD_HTTP_BAD_REQUEST, YETT_E_INVALID_REQUEST,
		             "the request has the header %s more than once", counted.twice);
		return;
	}
	if (access_check(server_access(exchange->server), &request, &status, &error) == 0)
		return;
	if (status == MHD_HTTP_UNAUTHORIZED && exchange->route &&
	    exchange->route->flags & ROUTE_OPEN && exchange_query(exchange, "once"))
		return;
	reply_problem(exchange, status, &error);
}

static enum MHD_Result exchange_go_on(struct exchange *exchange);

/*
 * Decides everything that the headers alone can decide. After a refusal, the body is still read,
 * and dropped.
 */
static enum MHD_Result exchange_begin(struct exchange *exchange)
{
	char methods[ROUTES_REST_SIZE];
	long long length = declared_length(exchange);

	exchange->route = routes_find(exchange->method, exchange->path, exchange->rest, methods);
	check_access(exchange);
	if (exchange->state == EXCHANGE_READING && length > (long long)EXCHANGE_BODY_MAX)
		reply_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, YETT_E_RESOURCE_LIMIT,
		             "the body is larger than %zu bytes", EXCHANGE_BODY_MAX);
	if (exchange->state == EXCHANGE_READING && !exchange->route)
		reply_unknown(exchange, methods);
	if (exchange->state == EXCHANGE_READING)
		return MHD_YES;
	if ((length > 0 && exchange_header(exchange, MHD_HTTP_HEADER_EXPECT)) ||
	    length > (long long)PASSED_OVER_MAX)
		return exchange_go_on(exchange);
	return MHD_YES;
}

static bool exchange_make_room(struct exchange *exchange, size_t more)
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
	if (exchange->state == EXCHANGE_READING &&
	    exchange->body_length + length > EXCHANGE_BODY_MAX)
		reply_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, YETT_E_RESOURCE_LIMIT,
		             "the body is larger than %zu bytes", EXCHANGE_BODY_MAX);
	if (exchange->state == EXCHANGE_READING && !exchange_make_room(exchange, length))
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY,
		             "no memory for the body");
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

/* Passes the response to libmicrohttpd. */
static enum MHD_Result send_response(struct exchange *exchange)
{
	struct MHD_Response *response = exchange->response;
	enum MHD_Result r;

	exchange->response = NULL;
	exchange->state = EXCHANGE_SENDING;
	server_bound(exchange->visitor, SENDING_MS);
	r = MHD_queue_response(exchange->connection, exchange->status, response);
	MHD_destroy_response(response);
	return r;
}

/* Called when the whole request or its answer is there. */
static enum MHD_Result exchange_go_on(struct exchange *exchange)
{
	if (exchange->state == EXCHANGE_PASSING)
		exchange->state = EXCHANGE_READY;
	if (exchange->state == EXCHANGE_READING) {
		exchange->state = EXCHANGE_WAITING;
		server_bound(exchange->visitor, 0);
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

enum MHD_Result exchange_on_request(void *data, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **context)
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
		return exchange_begin(exchange);
	}
	if (*upload_size) {
		size_t length = *upload_size;

		*upload_size = 0;
		return take_body(exchange, upload, length);
	}
	return exchange_go_on(exchange);
}

/* --- for routes ------------------------------------------------------------------------------- */

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
		exchange->state =
			exchange->state == EXCHANGE_READING ? EXCHANGE_PASSING : EXCHANGE_READY;
	resume(exchange);
}

static ssize_t exchange_read_stream(void *data, uint64_t position, char *buffer, size_t size)
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
		server_bound(exchange->visitor, SENDING_MS);
	return length;
}

void exchange_stream(struct exchange *exchange, const char *type,
                     ssize_t (*read)(void *work, char *buffer, size_t size),
                     void (*beat)(void *work))
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_SIZE, exchange_read_stream, exchange, NULL);

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
