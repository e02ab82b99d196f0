/* SPDX-License-Identifier: Apache-2.0 */
/* See flow.h. */
#include "programs/net/flow.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Limit for data that is not sent yet; data in flight is limited by the receive window. */
#define UNSENT_BYTES  (128 << 10)
#define URGENT_BYTES  256
#define STATE_UNKNOWN 0xff

static const enum flow_side from_side[] = {[FLOW_IN] = FLOW_OUTSIDE, [FLOW_OUT] = FLOW_INSIDE};
static const enum flow_side to_side[] = {[FLOW_IN] = FLOW_INSIDE, [FLOW_OUT] = FLOW_OUTSIDE};

static int flow_set(int socket, int level, int option, int value)
{
	return setsockopt(socket, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

/*
 * SO_LINGER of 0 makes each close a reset, until flow_end() changes this: a crash of this process
 * must not look like an end of file.
 */
int flow_prepare(int socket)
{
	const struct linger reset = {.l_onoff = 1};
	int flags = fcntl(socket, F_GETFL);
	/* Fails for a socket that is not TCP. */
	int r = flow_set(socket, IPPROTO_TCP, TCP_NODELAY, 1);

	if (r < 0)
		return r;
	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	(void)flow_set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES);
	(void)flow_set(socket, SOL_SOCKET, SO_OOBINLINE, 1);
	return setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) < 0 ? -errno : 0;
}

void flow_begin(struct flow *flow, int inside, int outside)
{
	*flow = (struct flow){
		.sockets = {[FLOW_INSIDE] = inside, [FLOW_OUTSIDE] = outside},
		.is_writable = {true, true},
		.lanes = {{.pipe = {-1, -1}}, {.pipe = {-1, -1}}},
	};
}

/*
 * The TCP state of a socket on which end of file was seen. Asks twice: tcp_fin() marks the end
 * before it changes the state, and tcp_get_info() reads the state before it waits for the socket
 * lock. So the first call may return the old state; after it, tcp_fin() on another processor is
 * done. linux, tcp_fin() and tcp_get_info()
 */
static uint8_t tcp_state(int socket)
{
	uint8_t state; /* the first member of struct tcp_info */
	socklen_t size = sizeof state;

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &state, &size) < 0)
		return STATE_UNKNOWN;
	return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &state, &size) < 0 ? STATE_UNKNOWN : state;
}

/*
 * Whether the end of file outside is not a FIN of the peer: the connector has shut down its
 * duplicate, or there was a reset.
 */
static bool is_cut(const struct flow *flow)
{
	uint8_t state = tcp_state(flow->sockets[FLOW_OUTSIDE]);

	if (flow->lanes[FLOW_OUT].state == FLOW_ENDED)
		return state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2;
	return state != TCP_CLOSE_WAIT;
}

int flow_heard(struct flow *flow, enum flow_side side, uint32_t events)
{
	flow->is_readable[side] |= (events & ~(uint32_t)EPOLLOUT) != 0;
	flow->is_writable[side] |= (events & ~(uint32_t)(EPOLLIN | EPOLLPRI)) != 0;
	flow->is_urgent[side] |= (events & EPOLLPRI) != 0;
	if (side == FLOW_INSIDE)
		return events & EPOLLERR ? -ECONNRESET : 0;
	/*
	 * After a reset by the peer, data may be left to read. The program gets this data, as it
	 * would on a direct connection.
	 */
	return (events & (EPOLLHUP | EPOLLERR)) == EPOLLHUP && is_cut(flow) ? -ECONNRESET : 0;
}

/*
 * Reads urgent data. splice(2) stops at an urgent byte forever. recv(2) reads the byte like any
 * other (SO_OOBINLINE, tcp(7)). The pipe must be empty, so that write(2) takes all bytes.
 */
static ssize_t take_urgent(struct flow *flow, enum flow_side from, const struct flow_lane *lane,
                           size_t most)
{
	uint8_t bytes[URGENT_BYTES];
	ssize_t n = recv(flow->sockets[from], bytes, most < sizeof bytes ? most : sizeof bytes,
	                 MSG_DONTWAIT);

	if (n > 0)
		return write(lane->pipe[1], bytes, (size_t)n);
	flow->is_urgent[from] = false;
	return n;
}

/* Returns the number of bytes moved into the pipe, or -errno. */
static ssize_t flow_take(struct flow *flow, enum flow_way way, size_t most)
{
	struct flow_lane *lane = &flow->lanes[way];
	enum flow_side from = from_side[way];
	ssize_t n;

	if (lane->state != FLOW_OPEN || !flow->is_readable[from] ||
	    lane->held_bytes == FLOW_HELD_MAX || most == 0)
		return 0;
	if (lane->pipe[0] < 0 && pipe2(lane->pipe, O_NONBLOCK | O_CLOEXEC) < 0)
		return -errno;
	if (most > FLOW_HELD_MAX - lane->held_bytes)
		most = FLOW_HELD_MAX - lane->held_bytes;
	n = splice(flow->sockets[from], NULL, lane->pipe[1], NULL, most,
	           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EAGAIN && flow->is_urgent[from] && lane->held_bytes == 0)
		n = take_urgent(flow, from, lane, most);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n == 0 && way == FLOW_IN && is_cut(flow))
		return -ECONNRESET;
	if (n == 0)
		lane->state = FLOW_ENDING;
	/*
	 * A pipe can be full with few bytes. So EAGAIN shows that the socket is empty only if the
	 * pipe is empty.
	 */
	else if (n < 0 && lane->held_bytes == 0)
		flow->is_readable[from] = false;
	else if (n > 0)
		lane->held_bytes += (uint32_t)n;
	return n < 0 ? 0 : n;
}

static void close_pipe(struct flow_lane *lane)
{
	lane->pipe[0] = fd_close(lane->pipe[0]);
	lane->pipe[1] = fd_close(lane->pipe[1]);
	lane->held_bytes = 0;
}

/*
 * Returns the number of bytes moved out of the pipe, or -errno. If the peer accepts no more data,
 * only this direction is lost: the program must still get what the peer has sent before.
 */
static ssize_t flow_give(struct flow *flow, enum flow_way way)
{
	struct flow_lane *lane = &flow->lanes[way];
	enum flow_side to = to_side[way];
	ssize_t n;

	if (lane->held_bytes == 0 || !flow->is_writable[to])
		return 0;
	n = splice(lane->pipe[0], NULL, flow->sockets[to], NULL, lane->held_bytes,
	           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EAGAIN) {
		flow->is_writable[to] = false;
		return 0;
	}
	if (n < 0 && way == FLOW_IN)
		return -errno;
	if (n < 0) {
		lane->state = FLOW_LOST;
		close_pipe(lane);
		return 0;
	}
	lane->held_bytes -= (uint32_t)n;
	return n;
}

ssize_t flow_move(struct flow *flow, enum flow_way way, size_t most, bool *ret_is_more)
{
	struct flow_lane *lane = &flow->lanes[way];
	size_t turn = most < FLOW_TURN_MAX ? most : FLOW_TURN_MAX, taken = 0;
	ssize_t in, out;

	do {
		in = flow_take(flow, way, turn - taken);
		if (in < 0)
			return in;
		taken += (size_t)in;
		out = flow_give(flow, way);
		if (out < 0)
			return out;
	} while (in > 0 || out > 0);
	if (lane->state == FLOW_ENDING && lane->held_bytes == 0) {
		(void)shutdown(flow->sockets[to_side[way]], SHUT_WR);
		close_pipe(lane);
		lane->state = FLOW_ENDED;
	}
	*ret_is_more = taken == turn && lane->state == FLOW_OPEN &&
	               flow->is_readable[from_side[way]] && lane->held_bytes < FLOW_HELD_MAX;
	return (ssize_t)taken;
}

bool flow_is_done(const struct flow *flow)
{
	return flow->lanes[FLOW_IN].state == FLOW_ENDED &&
	       flow->lanes[FLOW_OUT].state == FLOW_ENDED;
}

bool flow_is_broken(const struct flow *flow)
{
	return flow->lanes[FLOW_IN].state == FLOW_ENDED && flow->lanes[FLOW_OUT].state == FLOW_LOST;
}

void flow_end(struct flow *flow, bool is_broken)
{
	const struct linger none = {0};

	for (enum flow_side side = 0; side < FLOW_SIDES; side++) {
		if (flow->sockets[side] < 0)
			continue;
		if (!is_broken)
			(void)setsockopt(flow->sockets[side], SOL_SOCKET, SO_LINGER, &none,
			                 sizeof none);
		if (side == FLOW_OUTSIDE)
			(void)shutdown(flow->sockets[side], SHUT_RDWR);
		flow->sockets[side] = fd_close(flow->sockets[side]);
	}
	for (enum flow_way way = 0; way < FLOW_WAYS; way++)
		close_pipe(&flow->lanes[way]);
}
