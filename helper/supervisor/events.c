/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. */
#include "helper/supervisor/events.h"
#include "helper/setup/audit.h"
#include "protocol/frame.h"

/* The follower may have sent descriptors before shutdown(SHUT_RD). Closing these may block. */
static void remove_follower(struct events *events, size_t i)
{
	if (!frame_close_socket(events->followers[i]))
		events->is_tainted = true;
	events->followers[i] = -1;
}

void events_free(struct events *events)
{
	events->setup = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(events->followers); i++)
		remove_follower(events, i);
}

/* Returns false if the follower has hung up. */
static bool send_to(const struct message_happened *event, const struct iovec *more, int socket)
{
	struct iovec parts[] = {{(void *)(uintptr_t)event, sizeof *event},
	                        more ? *more : (struct iovec){0}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};

	return (event->kind != EVENT_ENDED && !frame_has_room(socket)) ||
	       sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno != EPIPE;
}

bool events_add(struct events *events, int *socket)
{
	struct message_happened followed = {.number = events->number,
	                                    .time_ms = clock_wall_ms(),
	                                    .kind = EVENT_FOLLOWED,
	                                    .state = *events->state};
	size_t i = 1;

	(void)events_are_followed(events); /* removes followers that have hung up */
	while (i < ARRAY_SIZE(events->followers) && events->followers[i] >= 0)
		i++;
	if (i == ARRAY_SIZE(events->followers))
		return false;
	events->followers[i] = steal_fd(socket);
	/* The kernel discards what a follower writes. */
	(void)shutdown(events->followers[i], SHUT_RD);
	(void)send_to(&followed, NULL, events->followers[i]);
	events->are_followed = true;
	return true;
}

bool events_are_followed(struct events *events)
{
	events->are_followed = events->setup != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(events->followers); i++) {
		/* The follower has hung up. */
		if (fd_poll(events->followers[i], 0, 0) > 0)
			remove_follower(events, i);
		events->are_followed = events->are_followed || events->followers[i] >= 0;
	}
	return events->are_followed;
}

void events_see_to_audit(struct events *events, uint64_t number)
{
	struct audit_record record = {.kind = AUDIT_FOLLOW, .action = (uint32_t)number};
	int pair[2], reports;

	if (events->setup && fd_poll(events->followers[0], 0, 0) > 0)
		remove_follower(events, 0);
	if (!events->setup || events->followers[0] >= 0 || fd_pair(pair) < 0)
		return;
	(void)shutdown(pair[0], SHUT_RD);
	reports = audit_report_of(events->setup, &record, &pair[1], 1);
	(void)close(pair[1]);
	events->followers[0] = reports < 0 ? fd_close(pair[0]) : pair[0];
	fd_close(reports);
}

void events_report(struct events *events, struct message_happened event, const struct iovec *more,
                   uint32_t lost)
{
	events->number += (uint64_t)lost + 1;
	event.number = events->number;
	event.time_ms = clock_wall_ms();
	event.state = *events->state;
	for (size_t i = 0; i < ARRAY_SIZE(events->followers); i++)
		if (events->followers[i] >= 0 && !send_to(&event, more, events->followers[i]) &&
		    i == 0) {
			events_see_to_audit(events, event.number - 1);
			(void)send_to(&event, more, events->followers[i]);
		}
}
