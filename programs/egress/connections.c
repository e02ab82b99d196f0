/*
 * The connections of the proxy (yett-front), of which the connector has duplicates: counts them,
 * cuts them, and notices their end. See dialer.h.
 *
 * Runs as the caller, without privilege. Must never read or write a connection, and must never
 * disconnect it with connect(2): the proxy could connect such a socket again with MSG_FASTOPEN,
 * without asking. A socket that is shut down cannot be connected again.
 */
#include "programs/egress/dial.h"
#include "programs/egress/dialer.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

uint32_t connections_count(const struct dialer *dialer)
{
	uint32_t count = 0;

	for (size_t i = 0; i < dialer->connections_end; i++)
		count += dialer->connections[i].state == CONNECTION_OPEN;
	for (size_t i = 0; i < dialer->asks_end; i++)
		count += dialer->asks[i].state == ASK_ANSWERED && dialer->asks[i].answer == 0;
	return count;
}

static bool read_info(int fd, struct tcp_info *ret_info)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return false;
	*ret_info = info;
	return true;
}

/* Subtracts what is not the sandbox's from a count of the kernel, which may not include it yet. */
static uint64_t less(uint64_t count, uint64_t others)
{
	return count > others ? count - others : 0;
}

/*
 * Closes and reports a connection. Sent bytes are those that were passed to the network at least
 * once: unlike tcpi_bytes_acked, this counts neither SYN nor FIN.
 */
static void finish(struct dialer *dialer, struct connection *connection)
{
	struct egress_told one = {.kind = EGRESS_TOLD_CLOSED, .verdict = (uint8_t)connection->cut};
	struct tcp_info info;

	if (read_info(connection->fd, &info)) {
		one.sent_bytes = less(info.tcpi_bytes_sent,
		                      info.tcpi_bytes_retrans + (uint64_t)connection->target.asked);
		one.received_bytes =
			less(info.tcpi_bytes_received,
		             connection->has_end + (uint64_t)connection->target.answered);
	}
	dialer_unwatch(dialer, connection->fd);
	connection->fd = fd_close(connection->fd);
	connection->state = CONNECTION_FREE;
	dialer_tell(dialer, &connection->target, one);
}

/*
 * Finds a slot. If none is free, finishes the ENDING connection with the earliest deadline, even if
 * it has unsent data. There is always one: see DIALER_CONNECTIONS_MAX.
 */
static struct connection *find_room(struct dialer *dialer)
{
	struct connection *ending = NULL;

	for (size_t i = 0; i < dialer->connections_end; i++) {
		struct connection *connection = &dialer->connections[i];

		if (connection->state == CONNECTION_FREE)
			return connection;
		if (connection->state == CONNECTION_ENDING &&
		    (!ending || connection->deadline_ms < ending->deadline_ms))
			ending = connection;
	}
	if (dialer->connections_end < DIALER_CONNECTIONS_MAX)
		return &dialer->connections[dialer->connections_end++];
	if (ending)
		finish(dialer, ending);
	return ending;
}

void connections_take(struct dialer *dialer, int fd, const struct dialer_target *target)
{
	struct connection *connection = find_room(dialer);

	/*
	 * Edge-triggered: a socket whose remote end has sent FIN would stay ready. epoll(7) also
	 * reports events that have happened before.
	 */
	if (!connection || !dialer_watch(dialer, fd, EPOLLRDHUP | EPOLLET, DIALER_SOURCE_CONNECTION,
	                                 (size_t)(connection - dialer->connections))) {
		(void)shutdown(fd, SHUT_RDWR);
		fd_close(fd);
		return;
	}
	*connection = (struct connection){CONNECTION_OPEN,     fd,    *target,
	                                  NET_VERDICT_ALLOWED, false, UINT64_MAX};
	dialer_tell(dialer, target, (struct egress_told){.kind = EGRESS_TOLD_CONNECTED});
}

/*
 * Whether the remote end has sent FIN. State CLOSE means that both ends have closed, or that there
 * was a reset. Only a reset causes EPOLLERR, unless the proxy has read the error already.
 */
static bool has_sent_end(uint8_t state, uint32_t events)
{
	return state == DIAL_CLOSE_WAIT || state == DIAL_LAST_ACK || state == DIAL_CLOSING ||
	       state == DIAL_TIME_WAIT || (state == DIAL_CLOSE && !(events & EPOLLERR));
}

/* Shut down in both directions (EPOLLHUP), a connection is over when no unsent data is left. */
void connections_advance(struct dialer *dialer, size_t index, uint32_t events)
{
	struct connection *connection = &dialer->connections[index];
	struct tcp_info info;

	if (connection->state == CONNECTION_FREE)
		return;
	if (!read_info(connection->fd, &info)) {
		finish(dialer, connection);
		return;
	}
	connection->has_end = connection->has_end || has_sent_end(info.tcpi_state, events);
	if (!(events & EPOLLHUP))
		return;
	if (info.tcpi_state == DIAL_CLOSE || info.tcpi_notsent_bytes == 0) {
		finish(dialer, connection);
	} else if (connection->state == CONNECTION_OPEN) {
		connection->state = CONNECTION_ENDING;
		connection->deadline_ms = dialer->now_ms + DIALER_ENDING_MS;
	}
}

/*
 * Handles the ends of connections that epoll(7) has not reported yet, since it reports other events
 * first.
 */
static void notice_ends(struct dialer *dialer)
{
	struct pollfd polled[DIALER_CONNECTIONS_MAX];

	for (size_t i = 0; i < dialer->connections_end; i++)
		polled[i] = (struct pollfd){dialer->connections[i].state == CONNECTION_OPEN
		                                    ? dialer->connections[i].fd
		                                    : -1,
		                            0, 0};
	if (poll(polled, dialer->connections_end, 0) <= 0)
		return;
	for (size_t i = 0; i < dialer->connections_end; i++)
		if (polled[i].revents)
			connections_advance(dialer, i,
			                    /* The bits of poll(2) and epoll(7) are the same. */
			                    (uint32_t)polled[i].revents);
}

/* The proxy may have shut a connection down right before it sent the ask. */
bool connections_have_room(struct dialer *dialer)
{
	if (connections_count(dialer) >= dialer->rules.memory->connections_max)
		notice_ends(dialer);
	return connections_count(dialer) < dialer->rules.memory->connections_max;
}

/*
 * SO_LINGER of 0 seconds: queued data is dropped when the last descriptor is closed, which is the
 * proxy's. socket(7)
 */
static void cut(struct dialer *dialer, struct connection *connection, enum net_verdict why)
{
	const struct linger none = {.l_onoff = 1};

	(void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	(void)shutdown(connection->fd, SHUT_RDWR);
	connection->cut = why;
	finish(dialer, connection);
}

void connections_check(struct dialer *dialer)
{
	for (size_t i = 0; i < dialer->connections_end; i++) {
		struct connection *connection = &dialer->connections[i];
		const struct dialer_target *target = &connection->target;
		struct dialer_verdict verdict;

		if (connection->state == CONNECTION_FREE)
			continue;
		/* Ignores verdict.error: if there is no route any more, TCP finds out. */
		verdict = dialer_decide(dialer, target, &target->address);
		if (verdict.verdict != NET_VERDICT_ALLOWED)
			cut(dialer, connection,
			    verdict.verdict == NET_VERDICT_ASKED ? NET_VERDICT_NO_RULE
			                                         : verdict.verdict);
	}
}

void connections_advance_time(struct dialer *dialer)
{
	for (size_t i = 0; i < dialer->connections_end; i++)
		if (dialer->connections[i].state == CONNECTION_ENDING &&
		    dialer->connections[i].deadline_ms <= dialer->now_ms)
			finish(dialer, &dialer->connections[i]);
}

uint64_t connections_next_ms(const struct dialer *dialer)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < dialer->connections_end; i++)
		if (dialer->connections[i].state == CONNECTION_ENDING &&
		    dialer->connections[i].deadline_ms < next)
			next = dialer->connections[i].deadline_ms;
	return next;
}
