/* See events.h. */
#include "helper/supervisor/events.h"
#include "base/clock.h"
#include "programs/egress/egress_told.h"
#include "protocol/frame.h"

#include <fcntl.h>
#include <sys/socket.h>

/* Who follows may have sent something before nothing was kept any more. */
static void remove_follower(struct events *events, size_t i)
{
	if (!frame_close_socket(events->followers[i]))
		events->is_spoilt = true;
	events->followers[i] = -1;
}

void events_free(struct events *events)
{
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		remove_follower(events, i);
}

static void send_to(const struct message_happened *event, const struct egress_told *network, int socket)
{
	struct iovec parts[] = {{(void *)(uintptr_t)event, sizeof *event}, {(void *)(uintptr_t)network, network ? sizeof *network : 0}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};

	if (event->kind == EVENT_ENDED || frame_has_room(socket))
		(void)!sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void fill(const struct events *events, struct message_happened *event, enum sandbox_state state)
{
	event->number = events->number;
	event->time_ms = clock_wall_ms();
	event->state = state;
}

int events_add(struct events *events, int socket, enum sandbox_state state)
{
	struct message_happened followed = {.kind = EVENT_FOLLOWED};
	size_t i = 0;

	(void)events_are_followed(events); /* makes room */
	while (i < FOLLOWERS_MAX && events->followers[i] >= 0)
		i++;
	if (i == FOLLOWERS_MAX)
		return -EUSERS;
	events->followers[i] = fcntl(socket, F_DUPFD_CLOEXEC, 3);
	if (events->followers[i] < 0)
		return -errno;
	(void)shutdown(socket, SHUT_RD); /* nothing that a follower writes is kept anywhere */
	fill(events, &followed, state);
	send_to(&followed, NULL, events->followers[i]);
	events->are_followed = true;
	return 0;
}

bool events_are_followed(struct events *events)
{
	events->are_followed = false;
	for (size_t i = 0; i < FOLLOWERS_MAX; i++) {
		if (fd_poll(events->followers[i], 0, 0) > 0) /* it has hung up */
			remove_follower(events, i);
		events->are_followed = events->are_followed || events->followers[i] >= 0;
	}
	return events->are_followed;
}

void events_tell(struct events *events, struct message_happened event, const struct egress_told *network, enum sandbox_state state,
                 uint32_t lost)
{
	events->number += (uint64_t)lost + 1;
	fill(events, &event, state);
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (events->followers[i] >= 0)
			send_to(&event, network, events->followers[i]);
}
