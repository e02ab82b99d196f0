/* SPDX-License-Identifier: Apache-2.0 */
/* See receiver.h. */
#include "agent/http/receiver.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/http/reply.h"
#include "agent/http/routes.h"

#define IDLE_MS 120000u /* between requests */
/* Bytes of an unwanted body that are read and dropped; more closes the connection. */
#define PASSED_OVER_MAX ((uint64_t)64 << 20)

/* Called by libmicrohttpd after the request line. */
void *receiver_on_line(void *data, const char *uri, struct MHD_Connection *connection)
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

void receiver_on_completed(void *data, struct MHD_Connection *connection, void **context,
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

static enum MHD_Result receiver_go_on(struct exchange *exchange);

/*
 * Decides everything that the headers alone can decide. After a refusal, the body is still read,
 * and dropped.
 */
static enum MHD_Result receiver_begin(struct exchange *exchange)
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
		return receiver_go_on(exchange);
	return MHD_YES;
}

static bool receiver_make_room(struct exchange *exchange, size_t more)
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
	if (exchange->state == EXCHANGE_READING && !receiver_make_room(exchange, length))
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

/* Passes the response to libmicrohttpd. */
static enum MHD_Result send_response(struct exchange *exchange)
{
	struct MHD_Response *response = exchange->response;
	enum MHD_Result r;

	exchange->response = NULL;
	exchange->state = EXCHANGE_SENDING;
	server_bound(exchange->visitor, EXCHANGE_SENDING_MS);
	r = MHD_queue_response(exchange->connection, exchange->status, response);
	MHD_destroy_response(response);
	return r;
}

/* Called when the whole request or its answer is there. */
static enum MHD_Result receiver_go_on(struct exchange *exchange)
{
	if (exchange->state == EXCHANGE_PASSING)
		exchange->state = EXCHANGE_READY;
	if (exchange->state == EXCHANGE_READING) {
		exchange->state = EXCHANGE_WAITING;
		server_bound(exchange->visitor, 0);
		exchange->route->answer(exchange);
		exchange_drop_body(exchange);
	}
	if (exchange->state == EXCHANGE_READY)
		return send_response(exchange);
	if (exchange->state != EXCHANGE_WAITING)
		return MHD_NO;
	exchange_suspend(exchange);
	return MHD_YES;
}

enum MHD_Result receiver_on_part(void *data, struct MHD_Connection *connection, const char *path,
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
		return receiver_begin(exchange);
	}
	if (*upload_size) {
		size_t length = *upload_size;

		*upload_size = 0;
		return take_body(exchange, upload, length);
	}
	return receiver_go_on(exchange);
}
