/*
 * The connections that the front has, by the dialer's duplicates of them: counted, cut, and their
 * end noticed. See dialer.h.
 *
 * As the caller, without privilege. It never reads or writes one, nor disconnects it: a socket that
 * connect(2) has set free could be connected anew by the front, without being asked for, by
 * MSG_FASTOPEN. One that is shut down cannot.
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

/* Of what the kernel counts some is not the sandbox's, and need not have come to be counted. */
static uint64_t less(uint64_t count, uint64_t others)
{
	return count > others ? count - others : 0;
}

/* What was passed to the network at least once: unlike what was acknowledged, it counts neither SYN
 * nor FIN. */
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

/* One that has ended gives its place, if need be before all of it was sent. There is always one:
 * see DIALER_CONNECTIONS_MAX. */
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

	/* Each change is told once: a socket that has ended on one side would be ready from then
	 * on. What it is already comes, too. */
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

/* Closed by both, or reset: only the latter is an error, if the front has not read it yet. */
static bool has_sent_end(uint8_t state, uint32_t events)
{
	return state == DIAL_CLOSE_WAIT || state == DIAL_LAST_ACK || state == DIAL_CLOSING ||
	       state == DIAL_TIME_WAIT || (state == DIAL_CLOSE && !(events & EPOLLERR));
}

/* Shut down on both sides (HUP), it is over when nothing is left to be sent. */
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

/* Those that have ended, though epoll(7) has told of something later first. */
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
			                    (uint32_t)polled[i].revents); /* the same bits */
}

/* The front may have shut one down right before it asked. */
bool connections_have_room(struct dialer *dialer)
{
	if (connections_count(dialer) >= dialer->rules.memory->connections_max)
		notice_ends(dialer);
	return connections_count(dialer) < dialer->rules.memory->connections_max;
}

/* What is queued goes with its last descriptor, the front's: SO_LINGER of 0 seconds, socket(7). */
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
		/* That there is no way any more is for the connection to find out. */
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
