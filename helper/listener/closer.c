/* See closer.h. */
#include "helper/listener/closer.h"
#include "base/spawn.h"
#include "protocol/frame.h"

#include <stdio.h>
#include <sys/socket.h>

static int start(const struct closer *closer)
{
	char path[4096], id[16];
	char *argv[] = {(char *)"yett-closer", id, NULL};
	int pair[2], r;
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/yett-closer", closer->libexec);
	(void)snprintf(id, sizeof id, "%u", closer->id);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	r = spawn(path, argv, pair[1], NULL, 0, &pid);
	(void)close(pair[1]);
	return r < 0 ? fd_close(pair[0]) : pair[0];
}

void closer_take(struct closer *closer, int connection, enum closer_reason reason)
{
	uint8_t byte = (uint8_t)reason;

	/* One that does not keep up ends when it finds our end closed, and closes all that it was sent. */
	for (int attempt = 0; attempt < 2; attempt++, closer->socket = fd_close(closer->socket)) {
		if (closer->socket < 0)
			closer->socket = start(closer);
		if (closer->socket < 0 || frame_send(closer->socket, &byte, 1, &connection, 1, MSG_DONTWAIT) < 0)
			continue;
		(void)close(connection);
		if (send(closer->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			closer->socket = fd_close(closer->socket);
		return;
	}
}
