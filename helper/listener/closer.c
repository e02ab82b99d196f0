/* SPDX-License-Identifier: Apache-2.0 */
/* See closer.h. */
#include "helper/listener/closer.h"
#include "helper/privilege/privilege.h"
#include "helper/privilege/program.h"
#include "protocol/frame.h"

#include <stdio.h>

static int closer_start(const struct closer *closer)
{
	char id[16];
	char *argv[] = {(char *)"yett-closer", id, NULL};
	struct program program; /* The listener reaps it like all its children. */

	(void)snprintf(id, sizeof id, "%u", closer->id);
	return program_start(closer->libexec, argv, NULL, 0, &program) < 0 ? -1 : program.socket;
}

/*
 * Returns whether nothing is queued in the connection and nothing can be queued any more, so that
 * closing it cannot block. With SO_PASSCRED every packet carries credentials, even an empty one: so
 * a packet without control data is end of file. The control buffer has no room for descriptors, so
 * that none is received. unix(7), SO_PASSCRED; recvmsg(2), MSG_PEEK and MSG_CTRUNC
 */
static bool is_empty(int connection)
{
	char control[CMSG_SPACE(sizeof(struct ucred))];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
	int on = 1;

	return shutdown(connection, SHUT_RD) == 0 &&
	       setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
	       recvmsg(connection, &message, MSG_PEEK | MSG_DONTWAIT) == 0 &&
	       message.msg_controllen == 0;
}

/*
 * The byte that follows the connection reports that the listener has closed its own descriptor. The
 * caller has raised privilege: CAP_SYS_ADMIN lifts the limit on descriptors in flight. unix(7),
 * ETOOMANYREFS
 */
static void closer_hand_over(struct closer *closer, int connection, enum closer_reason reason)
{
	/*
	 * If yett-closer does not keep up, closing this socket makes it exit, and its exit closes
	 * all connections that were sent to it. The second attempt starts another one.
	 */
	for (int attempt = 0; attempt < 2; attempt++, closer->socket = fd_close(closer->socket)) {
		if (closer->socket < 0)
			closer->socket = closer_start(closer);
		if (closer->socket < 0 || frame_send(closer->socket, &reason, sizeof reason,
		                                     &connection, 1, MSG_DONTWAIT) < 0)
			continue;
		(void)close(connection);
		if (send(closer->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			closer->socket = fd_close(closer->socket);
		return;
	}
}

int closer_take(struct closer *closer, int connection, enum closer_reason reason)
{
	if (reason == CLOSER_HUNG_UP && is_empty(connection))
		return fd_close(connection), 0;
	if (privilege_raise() == 0)
		closer_hand_over(closer, connection, reason);
	return privilege_lower();
}
