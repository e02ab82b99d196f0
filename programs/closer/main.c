/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-closer: sends a reason to clients that the listener does not serve, and closes their
 * connections. Its argument is the id to run as. Descriptor 0 is the socket to the listener, which
 * sends a packet with a reason and a connection, and then a byte when it has closed its own
 * descriptor.
 *
 * The last close(2) of a connection also closes the descriptors in packets that nobody has
 * received. The client may have sent a TCP socket with SO_LINGER (socket(7)), and then close(2)
 * blocks for as long as the client chose. Nobody waits for this process; if a close takes more than
 * a second, the process exits. It must never read a client's data.
 *
 * Starts as root, with the listener's privilege, and drops all of it. The exit status is the number
 * of the stage that failed.
 */
#include "helper/listener/closer.h"
#include "helper/privilege/lockdown.h"
#include "protocol/frame_message.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define CLOSE_SECONDS      1
#define LISTENER_CLOSES_MS 200

enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_ALARM,
	STAGE_LIMITS,
	STAGE_BOUNDING_SET,
	STAGE_IDS,
	STAGE_CAPABILITIES,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_DEATH_SIGNAL,
};

static const struct {
	enum yett_code code;
	enum yett_reason reason;
	const char *text;
} reasons[] = {
	[CLOSER_FULL] = {YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
                         "the helper serves as many connections as it can"},
	[CLOSER_USER_FULL] = {YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
                              "this user has as many connections as one may have"},
	[CLOSER_TOO_OFTEN] =
		{YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
                 "this user has, or had in the last seconds, too many connections without a granted request"},
	[CLOSER_CONFINED] =
		{YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
                 "the client is confined: its user namespace is not the helper's, and no grant says confined_clients"},
	[CLOSER_NO_PROCESS] = {YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
                               "no process could be started for this connection"},
};

/*
 * Handles SIGALRM. The exit of a process does not block in SO_LINGER. The shutdown stops the
 * listener from sending more. The wait lets the listener close its own descriptor of a connection
 * that it has just sent: if our exit closed that one first, the listener's close would be the last,
 * and block.
 */
static void closer_give_up(int number)
{
	(void)number;
	(void)shutdown(STDIN_FILENO, SHUT_RDWR);
	(void)poll(NULL, 0, LISTENER_CLOSES_MS);
	_exit(0);
}

static void closer_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static void closer_lock_down(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = closer_give_up};
	/*
	 * With 1, unlike with 0, the kernel neither writes a core file nor runs the host's
	 * core_pattern program. core(5)
	 */
	const struct lockdown_limit no_cores = {RLIMIT_CORE, 1};
	const int from_listener = STDIN_FILENO;
	uint32_t id = 0;

	closer_need(argc == 2 && lockdown_parse_id(argv[1], &id), STAGE_ARGUMENTS);
	closer_need(sigaction(SIGALRM, &action, NULL) == 0, STAGE_ALARM);
	(void)alarm(CLOSE_SECONDS);
	fd_close_except(&from_listener, 1);
	closer_need(lockdown_limits(&no_cores, 1), STAGE_LIMITS);
	closer_need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
	closer_need(lockdown_ids(id, id), STAGE_IDS);
	closer_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	closer_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	closer_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/*
	 * If the listener died before this call, no signal comes. Then its end of the socket is
	 * closed, and the loop of main() ends.
	 */
	closer_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
}

static void closer_report(int connection, enum closer_reason reason)
{
	struct yett_error error = {0};

	if ((size_t)reason >= ARRAY_SIZE(reasons) || !reasons[reason].text)
		return;
	(void)error_set(&error, reasons[reason].code, reasons[reason].reason, "%s",
	                reasons[reason].text);
	(void)!frame_send_error(connection, &error, 0, MSG_DONTWAIT);
}

int main(int argc, char **argv)
{
	static struct frame frame;
	enum closer_reason reason;
	char byte;

	closer_lock_down(argc, argv);
	while (alarm(0), frame_receive(STDIN_FILENO, &frame, 0) > 0) {
		/* Wait until the listener has closed: its close must not be the last one. */
		(void)!recv(STDIN_FILENO, &byte, sizeof byte, 0);
		(void)alarm(CLOSE_SECONDS);
		if (frame.length == sizeof reason && frame.fd_count == 1) {
			memcpy(&reason, frame.bytes, sizeof reason);
			closer_report(frame.fds[0], reason);
		}
		frame_close_fds(&frame);
	}
	_exit(0);
}
