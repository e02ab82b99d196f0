/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of the proxy (yett-front), of which the connector has duplicates: counts them,
 * cuts them, and notices their end. See connector.h.
 *
 * Runs as the caller, without privilege. Must never read or write a connection, and must never
 * disconnect it with connect(2): the proxy could connect such a socket again with MSG_FASTOPEN,
 * without asking. A socket that is shut down cannot be connected again.
 */
#include "programs/net/connect.h"
#include "programs/net/connector.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

uint32_t connections_count(const struct connector *connector)
{
	uint32_t count = 0;

	for (size_t i = 0; i < connector->connections_end; i++)
		count += connector->connections[i].state == CONNECTION_OPEN;
	for (size_t i = 0; i < connector->asks_end; i++)
		count += connector->asks[i].state == ASK_ANSWERED && connector->asks[i].answer == 0;
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
static void connections_finish(struct connector *connector, struct connection *connection)
{
	struct egress_report one = {.kind = EGRESS_REPORT_CLOSED,
	                            .verdict = (uint8_t)connection->cut};
	struct tcp_info info;

	if (read_info(connection->fd, &info)) {
		one.sent_bytes = less(info.tcpi_bytes_sent,
		                      info.tcpi_bytes_retrans + (uint64_t)connection->target.asked);
		one.received_bytes =
			less(info.tcpi_bytes_received,
		             connection->has_end + (uint64_t)connection->target.answered);
	}
	connector_unwatch(connector, connection->fd);
	connection->fd = fd_close(connection->fd);
	connection->state = CONNECTION_FREE;
	connector_report(connector, &connection->target, one);
}

/*
 * Finds a slot. If none is free, finishes the ENDING connection with the earliest deadline, even if
 * it has unsent data. There is always one: see CONNECTOR_CONNECTIONS_MAX.
 */
static struct connection *connections_find_room(struct connector *connector)
{
	struct connection *ending = NULL;

	for (size_t i = 0; i < connector->connections_end; i++) {
		struct connection *connection = &connector->connections[i];

		if (connection->state == CONNECTION_FREE)
			return connection;
		if (connection->state == CONNECTION_ENDING &&
		    (!ending || connection->deadline_ms < ending->deadline_ms))
			ending = connection;
	}
	if (connector->connections_end < CONNECTOR_CONNECTIONS_MAX)
		return &connector->connections[connector->connections_end++];
	if (ending)
		connections_finish(connector, ending);
	return ending;
}

void connections_take(struct connector *connector, int fd, const struct connector_target *target)
{
	struct connection *connection = connections_find_room(connector);

	/*
	 * Edge-triggered: a socket whose remote end has sent FIN would stay ready. epoll(7) also
	 * reports events that have happened before.
	 */
	if (!connection ||
	    !connector_watch(connector, fd, EPOLLRDHUP | EPOLLET, CONNECTOR_SOURCE_CONNECTION,
	                     (size_t)(connection - connector->connections))) {
		(void)shutdown(fd, SHUT_RDWR);
		fd_close(fd);
		return;
	}
	*connection = (struct connection){CONNECTION_OPEN,     fd,    *target,
	                                  NET_VERDICT_ALLOWED, false, UINT64_MAX};
	connector_report(connector, target,
	                 (struct egress_report){.kind = EGRESS_REPORT_CONNECTED});
}

/*
 * Whether the remote end has sent FIN. State CLOSE means that both ends have closed, or that there
 * was a reset. Only a reset causes EPOLLERR, unless the proxy has read the error already.
 */
static bool has_sent_end(uint8_t state, uint32_t events)
{
	return state == CONNECT_CLOSE_WAIT || state == CONNECT_LAST_ACK ||
	       state == CONNECT_CLOSING || state == CONNECT_TIME_WAIT ||
	       (state == CONNECT_CLOSE && !(events & EPOLLERR));
}

/* Shut down in both directions (EPOLLHUP), a connection is over when no unsent data is left. */
void connections_advance(struct connector *connector, size_t index, uint32_t events)
{
	struct connection *connection = &connector->connections[index];
	struct tcp_info info;

	if (connection->state == CONNECTION_FREE)
		return;
	if (!read_info(connection->fd, &info)) {
		connections_finish(connector, connection);
		return;
	}
	connection->has_end = connection->has_end || has_sent_end(info.tcpi_state, events);
	if (!(events & EPOLLHUP))
		return;
	if (info.tcpi_state == CONNECT_CLOSE || info.tcpi_notsent_bytes == 0) {
		connections_finish(connector, connection);
	} else if (connection->state == CONNECTION_OPEN) {
		connection->state = CONNECTION_ENDING;
		connection->deadline_ms = connector->now_ms + CONNECTOR_ENDING_MS;
	}
}

/*
 * Handles the ends of connections that epoll(7) has not reported yet, since it reports other events
 * first.
 */
static void notice_ends(struct connector *connector)
{
	struct pollfd polled[CONNECTOR_CONNECTIONS_MAX];

	for (size_t i = 0; i < connector->connections_end; i++)
		polled[i] = (struct pollfd){connector->connections[i].state == CONNECTION_OPEN
		                                    ? connector->connections[i].fd
		                                    : -1,
		                            0, 0};
	if (poll(polled, connector->connections_end, 0) <= 0)
		return;
	for (size_t i = 0; i < connector->connections_end; i++)
		if (polled[i].revents)
			connections_advance(connector, i,
			                    /* The bits of poll(2) and epoll(7) are the same. */
			                    (uint32_t)polled[i].revents);
}

/* The proxy may have shut a connection down right before it sent the ask. */
bool connections_have_room(struct connector *connector)
{
	if (connections_count(connector) >= connector->rules.memory->connections_max)
		notice_ends(connector);
	return connections_count(connector) < connector->rules.memory->connections_max;
}

/*
 * SO_LINGER of 0 seconds: queued data is dropped when the last descriptor is closed, which is the
 * proxy's. socket(7)
 */
static void cut(struct connector *connector, struct connection *connection, enum net_verdict why)
{
	const struct linger none = {.l_onoff = 1};

	(void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	(void)shutdown(connection->fd, SHUT_RDWR);
	connection->cut = why;
	connections_finish(connector, connection);
}

void connections_check(struct connector *connector)
{
	for (size_t i = 0; i < connector->connections_end; i++) {
		struct connection *connection = &connector->connections[i];
		const struct connector_target *target = &connection->target;
		struct connector_verdict verdict;

		if (connection->state == CONNECTION_FREE)
			continue;
		/* Ignores verdict.error: if there is no route any more, TCP finds out. */
		verdict = connector_decide(connector, target, &target->address);
		if (verdict.verdict != NET_VERDICT_ALLOWED)
			cut(connector, connection,
			    verdict.verdict == NET_VERDICT_ASKED ? NET_VERDICT_NO_RULE
			                                         : verdict.verdict);
	}
}

void connections_advance_time(struct connector *connector)
{
	for (size_t i = 0; i < connector->connections_end; i++)
		if (connector->connections[i].state == CONNECTION_ENDING &&
		    connector->connections[i].deadline_ms <= connector->now_ms)
			connections_finish(connector, &connector->connections[i]);
}

uint64_t connections_next_ms(const struct connector *connector)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < connector->connections_end; i++)
		if (connector->connections[i].state == CONNECTION_ENDING &&
		    connector->connections[i].deadline_ms < next)
			next = connector->connections[i].deadline_ms;
	return next;
}
