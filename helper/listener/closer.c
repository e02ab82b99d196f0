/* See closer.h. */
#include "helper/listener/closer.h"
#include "helper/lockdown.h"
#include "protocol/frame.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define CLOSE_SECONDS 1
#define LISTENER_CLOSES_MS 200

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

static int from_listener;

/* A process that ends does not linger. What the listener has just sent, and not yet closed, must not go with us at once, or it is the last. */
static void give_up(int number)
{
	(void)number;
	(void)shutdown(from_listener, SHUT_RDWR);
	(void)poll(NULL, 0, LISTENER_CLOSES_MS);
	_exit(0);
}

static void __attribute__((noreturn)) run(int socket, uint32_t id)
{
	static struct frame frame;
	struct sigaction action = {.sa_handler = give_up};
	sigset_t none;
	char byte;

	from_listener = socket;
	(void)sigemptyset(&none);
	if (sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(1);
	(void)alarm(CLOSE_SECONDS);
	fd_close_except(&socket, 1);
	/* CAP_SETPCAP, CAP_SETUID, CAP_SETGID; gone afterwards */
	if (!lockdown_bounding_set() || !lockdown_ids(id, id) || !lockdown_capabilities() || !lockdown_no_new_privs() ||
	    !lockdown_undumpable() || !lockdown_death_signal())
		_exit(1);
	while (alarm(0), frame_receive(socket, &frame, 0) > 0) {
		unsigned reason = frame.bytes[0];
		struct yett_error error = {0};

		(void)!recv(socket, &byte, sizeof byte, 0); /* the listener has closed its own: it cannot be the last holder */
		(void)alarm(CLOSE_SECONDS);
		if (frame.fd_count == 1 && reason < ARRAY_SIZE(reasons) && reasons[reason].text) {
			(void)error_set(&error, reasons[reason].code, reasons[reason].reason, "%s", reasons[reason].text);
			(void)!frame_send_error(frame.fds[0], &error, 0, MSG_DONTWAIT);
		}
		frame_close_fds(&frame);
	}
	_exit(0);
}

static int start(uint32_t id)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run(pair[1], id);
	(void)close(pair[1]);
	return pid < 0 ? fd_close(pair[0]) : pair[0];
}

void closer_take(struct closer *closer, int connection, enum closer_reason reason)
{
	uint8_t byte = (uint8_t)reason;

	/* One that does not keep up ends when it finds our end closed, and closes all that it was sent. */
	for (int attempt = 0; attempt < 2; attempt++, closer->socket = fd_close(closer->socket)) {
		if (closer->socket < 0)
			closer->socket = start(closer->id);
		if (closer->socket < 0 || frame_send(closer->socket, &byte, 1, &connection, 1, MSG_DONTWAIT) < 0)
			continue;
		(void)close(connection);
		if (send(closer->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			closer->socket = fd_close(closer->socket);
		return;
	}
}
