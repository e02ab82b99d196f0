/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See exchange.h.
 *
 * Some functions of libmicrohttpd call others of this file while they run. Suspending and resuming
 * therefore takes effect only in the next MHD_run().
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/http/exchange.h"
#include "agent/http/response.h"

#define BEAT_MS     60000u
#define STREAM_SIZE ((size_t)16 << 10)

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

void exchange_suspend(struct exchange *exchange)
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

void exchange_drop_body(struct exchange *exchange)
{
	free(exchange->body);
	exchange->body = NULL;
	exchange->body_length = exchange->body_room = 0;
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
		exchange_drop_body(exchange);
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
		exchange_suspend(exchange);
	else
		server_bound(exchange->visitor, EXCHANGE_SENDING_MS);
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
		response_finish(response, type);
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
