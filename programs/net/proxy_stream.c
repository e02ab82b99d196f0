/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proxy.h. DNS over TCP: each message follows two bytes with its length. Buffers only one
 * answer for a program that does not read.
 */
#include "programs/net/proxy.h"

#include <arpa/nameser.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PREFIX 2

static struct proxy_stream *proxy_stream_find(struct proxy *proxy, uint32_t id)
{
	struct proxy_stream *stream = &proxy->streams.slots[id % PROXY_STREAMS_MAX];

	return id != 0 && stream->id == id ? stream : NULL;
}

/*
 * Ends a stream. Resets the connection if the program was too slow, or sent something that is no
 * query.
 */
static void proxy_stream_end(struct proxy *proxy, struct proxy_stream *stream, bool is_reset)
{
	const struct linger none = {0};

	if (!is_reset)
		(void)setsockopt(stream->socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	(void)close(stream->socket);
	stream->id = 0;
	proxy->streams.used--;
}

static struct proxy_stream *free_or_silent(struct proxy *proxy)
{
	struct proxy_stream *silent = NULL;

	for (size_t i = 0; i < PROXY_STREAMS_MAX; i++) {
		struct proxy_stream *stream = &proxy->streams.slots[i];

		if (stream->id == 0)
			return stream;
		if (!silent || stream->deadline_us < silent->deadline_us)
			silent = stream;
	}
	proxy_stream_end(proxy, silent, true);
	return silent;
}

static void set_deadline(const struct proxy *proxy, struct proxy_stream *stream)
{
	stream->deadline_us = proxy->now_us + PROXY_STREAM_S * UINT64_C(1000000);
}

void proxy_stream_take(struct proxy *proxy, int socket)
{
	struct proxy_stream *stream = free_or_silent(proxy);

	/* The number differs for each stream until it wraps around, and the id is never 0. */
	proxy->streams.next_number =
		(proxy->streams.next_number + 1) % (UINT32_MAX / PROXY_STREAMS_MAX);
	stream->id = (proxy->streams.next_number + 1) * PROXY_STREAMS_MAX +
	             (uint32_t)(stream - proxy->streams.slots);
	stream->socket = socket;
	stream->in_bytes = stream->out_bytes = stream->out_sent = 0;
	set_deadline(proxy, stream);
	proxy->streams.used++;
	if (proxy_watch(proxy, socket, PROXY_STREAM, stream->id, EPOLLIN) < 0)
		proxy_stream_end(proxy, stream, true);
}

/* Returns 0 if everything was sent, -EAGAIN if the socket is full, or another -errno. */
static int proxy_stream_flush(struct proxy_stream *stream)
{
	while (stream->out_sent < stream->out_bytes) {
		ssize_t n = send(stream->socket, stream->out + stream->out_sent,
		                 stream->out_bytes - stream->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		stream->out_sent = (uint16_t)(stream->out_sent + n);
	}
	stream->out_bytes = stream->out_sent = 0;
	return 0;
}

/*
 * Answers the first message in the buffer. Returns 0; -EAGAIN if the message is not complete yet;
 * or -EBADMSG if it is invalid.
 */
static int answer_one(struct proxy *proxy, struct proxy_stream *stream)
{
	char unknown[NET_NAME_SIZE];
	size_t size, length;

	if (stream->in_bytes < PREFIX)
		return -EAGAIN;
	size = ns_get16(stream->in);
	if (size > PROXY_DNS_QUERY_MAX)
		return -EBADMSG;
	if (stream->in_bytes < PREFIX + size)
		return -EAGAIN;
	length = proxy_dns_answer(proxy, stream->in + PREFIX, size, true, stream->out + PREFIX,
	                          unknown);
	if (length == 0)
		return -EBADMSG;
	if (unknown[0])
		proxy_report_unknown(proxy, unknown);
	ns_put16((unsigned)length, stream->out);
	stream->out_bytes = (uint16_t)(PREFIX + length);
	stream->in_bytes = (uint16_t)(stream->in_bytes - PREFIX - size);
	memmove(stream->in, stream->in + PREFIX + size, stream->in_bytes);
	set_deadline(proxy, stream);
	return 0;
}

/*
 * Answers all complete messages, as long as the program takes the answers. Returns 0; -EAGAIN if an
 * answer waits to be taken; or another -errno if the stream must end.
 */
static int answer_all(struct proxy *proxy, struct proxy_stream *stream)
{
	int r = proxy_stream_flush(stream);

	while (r == 0) {
		r = answer_one(proxy, stream);
		if (r == -EAGAIN)
			return 0;
		if (r == 0)
			r = proxy_stream_flush(stream);
	}
	return r;
}

void proxy_stream_heard(struct proxy *proxy, uint32_t id)
{
	struct proxy_stream *stream = proxy_stream_find(proxy, id);
	struct epoll_event event = {.data.u64 = (uint64_t)id << 8 | PROXY_STREAM};
	ssize_t n = 0;
	int r;

	if (!stream)
		return;
	/*
	 * The buffer always has room: a message that fills it is answered, and nothing is read
	 * while an answer waits to be sent.
	 */
	if (stream->out_bytes == 0) {
		n = recv(stream->socket, stream->in + stream->in_bytes,
		         sizeof stream->in - stream->in_bytes, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			proxy_stream_end(proxy, stream, n < 0);
			return;
		}
		stream->in_bytes = (uint16_t)(stream->in_bytes + (n < 0 ? 0 : n));
	}
	r = answer_all(proxy, stream);
	event.events = r == 0 ? EPOLLIN : EPOLLOUT;
	if ((r < 0 && r != -EAGAIN) ||
	    epoll_ctl(proxy->epoll, EPOLL_CTL_MOD, stream->socket, &event) < 0)
		proxy_stream_end(proxy, stream, true);
}

int proxy_streams_expire(struct proxy *proxy)
{
	uint64_t next_us = UINT64_MAX;

	if (proxy->streams.used == 0)
		return -1;
	for (size_t i = 0; i < PROXY_STREAMS_MAX; i++) {
		struct proxy_stream *stream = &proxy->streams.slots[i];

		if (stream->id != 0 && stream->deadline_us <= proxy->now_us)
			proxy_stream_end(proxy, stream, true);
		else if (stream->id != 0 && stream->deadline_us < next_us)
			next_us = stream->deadline_us;
	}
	return next_us == UINT64_MAX ? -1 : (int)((next_us - proxy->now_us) / 1000 + 1);
}
