/*
 * See front.h. DNS over TCP: each message follows two bytes with its length. Buffers only one
 * answer for a program that does not read.
 */
#include "programs/egress/front.h"

#include <arpa/nameser.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PREFIX 2

static struct front_stream *find(struct front *front, uint32_t id)
{
	struct front_stream *stream = &front->streams.slots[id % FRONT_STREAMS_MAX];

	return id != 0 && stream->id == id ? stream : NULL;
}

/*
 * Ends a stream. Resets the connection if the program was too slow, or sent something that is no
 * query.
 */
static void end(struct front *front, struct front_stream *stream, bool is_reset)
{
	const struct linger none = {0};

	if (!is_reset)
		(void)setsockopt(stream->socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	(void)close(stream->socket);
	stream->id = 0;
	front->streams.used--;
}

static struct front_stream *free_or_silent(struct front *front)
{
	struct front_stream *silent = NULL;

	for (size_t i = 0; i < FRONT_STREAMS_MAX; i++) {
		struct front_stream *stream = &front->streams.slots[i];

		if (stream->id == 0)
			return stream;
		if (!silent || stream->deadline_us < silent->deadline_us)
			silent = stream;
	}
	end(front, silent, true);
	return silent;
}

static void set_deadline(const struct front *front, struct front_stream *stream)
{
	stream->deadline_us = front->now_us + FRONT_STREAM_S * UINT64_C(1000000);
}

void front_stream_take(struct front *front, int socket)
{
	struct front_stream *stream = free_or_silent(front);

	/* The number differs for each stream until it wraps around, and the id is never 0. */
	front->streams.next_number =
		(front->streams.next_number + 1) % (UINT32_MAX / FRONT_STREAMS_MAX);
	stream->id = (front->streams.next_number + 1) * FRONT_STREAMS_MAX +
	             (uint32_t)(stream - front->streams.slots);
	stream->socket = socket;
	stream->in_bytes = stream->out_bytes = stream->out_sent = 0;
	set_deadline(front, stream);
	front->streams.used++;
	if (front_watch(front, socket, FRONT_STREAM, stream->id, EPOLLIN) < 0)
		end(front, stream, true);
}

/* Returns 0 if everything was sent, -EAGAIN if the socket is full, or another -errno. */
static int flush(struct front_stream *stream)
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
static int answer_one(struct front *front, struct front_stream *stream)
{
	char unknown[NET_NAME_SIZE];
	size_t size, length;

	if (stream->in_bytes < PREFIX)
		return -EAGAIN;
	size = ns_get16(stream->in);
	if (size > FRONT_DNS_QUERY_MAX)
		return -EBADMSG;
	if (stream->in_bytes < PREFIX + size)
		return -EAGAIN;
	length = front_dns_answer(front, stream->in + PREFIX, size, true, stream->out + PREFIX,
	                          unknown);
	if (length == 0)
		return -EBADMSG;
	if (unknown[0])
		front_tell_unknown(front, unknown);
	ns_put16((unsigned)length, stream->out);
	stream->out_bytes = (uint16_t)(PREFIX + length);
	stream->in_bytes = (uint16_t)(stream->in_bytes - PREFIX - size);
	memmove(stream->in, stream->in + PREFIX + size, stream->in_bytes);
	set_deadline(front, stream);
	return 0;
}

/*
 * Answers all complete messages, as long as the program takes the answers. Returns 0; -EAGAIN if an
 * answer waits to be taken; or another -errno if the stream must end.
 */
static int answer_all(struct front *front, struct front_stream *stream)
{
	int r = flush(stream);

	while (r == 0) {
		r = answer_one(front, stream);
		if (r == -EAGAIN)
			return 0;
		if (r == 0)
			r = flush(stream);
	}
	return r;
}

void front_stream_heard(struct front *front, uint32_t id)
{
	struct front_stream *stream = find(front, id);
	struct epoll_event event = {.data.u64 = (uint64_t)id << 8 | FRONT_STREAM};
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
			end(front, stream, n < 0);
			return;
		}
		stream->in_bytes = (uint16_t)(stream->in_bytes + (n < 0 ? 0 : n));
	}
	r = answer_all(front, stream);
	event.events = r == 0 ? EPOLLIN : EPOLLOUT;
	if ((r < 0 && r != -EAGAIN) ||
	    epoll_ctl(front->epoll, EPOLL_CTL_MOD, stream->socket, &event) < 0)
		end(front, stream, true);
}

int front_streams_expire(struct front *front)
{
	uint64_t next_us = UINT64_MAX;

	if (front->streams.used == 0)
		return -1;
	for (size_t i = 0; i < FRONT_STREAMS_MAX; i++) {
		struct front_stream *stream = &front->streams.slots[i];

		if (stream->id != 0 && stream->deadline_us <= front->now_us)
			end(front, stream, true);
		else if (stream->id != 0 && stream->deadline_us < next_us)
			next_us = stream->deadline_us;
	}
	return next_us == UINT64_MAX ? -1 : (int)((next_us - front->now_us) / 1000 + 1);
}
