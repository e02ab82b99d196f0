/* See closer.h. */
#include "helper/listener/closer.h"
#include "helper/privilege/privilege.h"
#include "helper/privilege/program.h"
#include "protocol/frame.h"

#include <stdio.h>
#include <sys/socket.h>

static const struct {
	enum yett_code code;
	enum yett_reason reason;
	const char *text;
} reasons[] = {
	[CLOSER_FULL] = {YETT_E_RESOURCE_LIMIT, YETT_R_LATER, "the helper serves as many connections as it can"},
	[CLOSER_USER_FULL] = {YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "this user has as many connections as one may have"},
	[CLOSER_TOO_OFTEN] = {YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
                              "this user has too many connections, or had too many in the last seconds, that were granted nothing"},
	[CLOSER_CONFINED] = {YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
                             "the client is confined: its user namespace is not the helper's, and no grant says confined_clients"},
	[CLOSER_NO_PROCESS] = {YETT_E_RESOURCE_LIMIT, YETT_R_LATER, "no process could be started for this connection"},
};

static int start(const struct closer *closer)
{
	char id[16];
	char *argv[] = {(char *)"yett-closer", id, NULL};
	struct program program; /* reaped as all children are */

	(void)snprintf(id, sizeof id, "%u", closer->id);
	return program_start(closer->libexec, argv, NULL, 0, &program) < 0 ? -1 : program.socket;
}

/*
 * Whether nothing is queued in it, and nothing can be any more. Every packet, even an empty one, says who sent it, if asked, and here is
 * no room for descriptors. unix(7), SO_PASSCRED; recvmsg(2), MSG_PEEK and MSG_CTRUNC
 */
static bool is_empty(int connection)
{
	char control[CMSG_SPACE(sizeof(struct ucred))];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
	int on = 1;

	return shutdown(connection, SHUT_RD) == 0 && setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
	       recvmsg(connection, &message, MSG_PEEK | MSG_DONTWAIT) == 0 && message.msg_controllen == 0;
}

/* The word that follows says that ours is closed. With the right to send descriptors: unix(7), ETOOMANYREFS. */
static void hand_over(struct closer *closer, int connection, const struct yett_error *error)
{
	/* One that does not keep up ends when it finds our end closed, and closes all that it was sent. */
	for (int attempt = 0; attempt < 2; attempt++, closer->socket = fd_close(closer->socket)) {
		if (closer->socket < 0)
			closer->socket = start(closer);
		if (closer->socket < 0 || frame_send(closer->socket, error, sizeof *error, &connection, 1, MSG_DONTWAIT) < 0)
			continue;
		(void)close(connection);
		if (send(closer->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			closer->socket = fd_close(closer->socket);
		return;
	}
}

int closer_take(struct closer *closer, int connection, enum closer_reason reason)
{
	struct yett_error error = {0};

	if (reasons[reason].text)
		(void)error_set(&error, reasons[reason].code, reasons[reason].reason, "%s", reasons[reason].text);
	else if (is_empty(connection))
		return fd_close(connection), 0;
	if (privilege_raise() == 0)
		hand_over(closer, connection, &error);
	return privilege_lower();
}
