/*
 * Event streams: what supervisors tell of their sandboxes, as clients read it. See connection.h.
 *
 * Nobody is waited for: what a client leaves unread for too long is lost to it, and the numbers of events say how much.
 */
#include "programs/decider/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#define AT_ONCE_MAX 32 /* others have their turn, too */

struct stream {
	int events; /* from the supervisor: a struct message_event in each packet */
	int client; /* our end */
};

static int watch(const struct connection *c, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(c->supervisors, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int streams_add(struct connection *c, int events)
{
	struct stream *streams = reallocarray(c->streams, c->streams_count + 1, sizeof *streams);
	int pair[2] = {-1, -1}, r = streams ? 0 : -ENOMEM;

	c->streams = streams ? streams : c->streams;
	if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0)
		r = watch(c, events, EPOLLIN);
	if (r == 0)
		r = watch(c, pair[0], 0); /* whether the client has closed its end */
	if (r == 0) {
		c->streams[c->streams_count++] = (struct stream){events, pair[0]};
		return pair[1];
	}
	fd_close(events);
	fd_close(pair[0]);
	fd_close(pair[1]);
	return r;
}

static void end(struct connection *c, size_t i)
{
	fd_close(c->streams[i].events);
	fd_close(c->streams[i].client);
	c->streams[i] = c->streams[--c->streams_count];
}

static void pass_on(const struct connection *c, int client, const struct message_event *event)
{
	if (event->kind != EVENT_ENDED && !frame_has_room(client))
		return;
	message_begin(c->message, MESSAGE_EVENT)->event = *event;
	(void)!frame_send_message(client, c->message, 0, NULL, 0, MSG_DONTWAIT);
}

void streams_handle(struct connection *c, int fd)
{
	struct message_event event;
	ssize_t n = 0;
	size_t i = 0;

	while (i < c->streams_count && c->streams[i].events != fd && c->streams[i].client != fd)
		i++;
	if (i == c->streams_count)
		return;
	for (unsigned count = 0; fd == c->streams[i].events && count < AT_ONCE_MAX; count++) {
		n = recv(fd, &event, sizeof event, MSG_DONTWAIT);
		if (n != sizeof event)
			break;
		pass_on(c, c->streams[i].client, &event);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN))
		end(c, i);
}
