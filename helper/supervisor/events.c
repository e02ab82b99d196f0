/* See events.h. */
#include "helper/supervisor/supervisor.h"
#include "helper/supervisor/events.h"
#include "base/clock.h"
#include "protocol/frame.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* As the kernel counts unread packets. The end, which is told in any case, fits into the socket's buffer besides. */
#define UNREAD_MAX 131072

void events_init(struct events *events)
{
	*events = (struct events){0};
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		events->followers[i] = -1;
}

void events_free(struct events *events)
{
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		events->followers[i] = fd_close(events->followers[i]);
	free(steal_ptr(&events->message));
}

static void send_to(const struct events *events, int socket)
{
	int unread = 0;

	if (ioctl(socket, SIOCOUTQ, &unread) < 0 || (unread > UNREAD_MAX && events->message->body.event.kind != EVENT_ENDED))
		return;
	(void)!frame_send_message(socket, events->message, 0, NULL, 0, MSG_DONTWAIT);
}

static void fill(struct events *events, const struct message_event *event, enum sandbox_state state)
{
	struct message_event *body = &message_begin(events->message, MESSAGE_EVENT)->event;

	*body = *event;
	body->number = events->number;
	body->time_ms = clock_wall_ms();
	body->state = state;
}

int events_add(struct events *events, int socket, enum sandbox_state state)
{
	const struct message_event followed = {.kind = EVENT_FOLLOWED};
	size_t i = 0;

	(void)events_are_followed(events); /* makes room */
	while (i < FOLLOWERS_MAX && events->followers[i] >= 0)
		i++;
	if (i == FOLLOWERS_MAX)
		return -EUSERS;
	if (!events->message)
		events->message = malloc(sizeof *events->message);
	if (!events->message)
		return -ENOMEM;
	events->followers[i] = fcntl(socket, F_DUPFD_CLOEXEC, 3);
	if (events->followers[i] < 0)
		return -errno;
	(void)shutdown(socket, SHUT_RD); /* nothing that a follower writes is kept anywhere */
	fill(events, &followed, state);
	send_to(events, events->followers[i]);
	return 0;
}

bool events_are_followed(struct events *events)
{
	bool are_followed = false;

	for (size_t i = 0; i < FOLLOWERS_MAX; i++) {
		struct pollfd hung_up = {.fd = events->followers[i]};

		if (poll(&hung_up, 1, 0) > 0)
			events->followers[i] = fd_close(events->followers[i]);
		are_followed = are_followed || events->followers[i] >= 0;
	}
	if (!are_followed)
		free(steal_ptr(&events->message));
	return are_followed;
}

void events_tell(struct events *events, struct message_event event, enum sandbox_state state, uint32_t lost)
{
	events->number += (uint64_t)lost + 1;
	if (!events->message)
		return;
	fill(events, &event, state);
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (events->followers[i] >= 0)
			send_to(events, events->followers[i]);
}
