/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-init whose catcher (programs/inside/init/build/ports.c) was captured: it does what the first
 * port of its rules says, in the place of making what the front listens on.
 */
#include "base/net_ports.h"
#include "programs/net/ruleset.h"
#include "programs/inside/init/build/build.h"
#include "tests/support/scripted.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static int tell(uint32_t is_last, size_t count, const uint32_t *numbers, const int *fds)
{
	struct egress_listeners listeners = {.is_last = is_last};

	memcpy(listeners.numbers, numbers, count * sizeof *numbers);
	return frame_send(INIT_FD_CHANNEL, &listeners, sizeof listeners, fds, count, 0);
}

static int listening(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 || listen(fd, 8) < 0 ? -1 : fd;
}

static int one(uint32_t number)
{
	const int fd = listening();

	return fd < 0 ? -errno : tell(1, 1, &number, &fd);
}

SCRIPT_RETURN(number_of_the_dialer, one(PROXY_FD_CONNECTOR))
SCRIPT_RETURN(number_of_itself, one(PROXY_FD_CATCHER))
SCRIPT_RETURN(number_at_the_end, one(PROXY_FD_END))
SCRIPT_RETURN(number_below_all, one(0))
SCRIPT_RETURN(greatest_number, one(UINT32_MAX))

SCRIPT(twice)
{
	const int fd = listening(), fds[] = {fd, fd};

	return fd < 0 ? -errno
	              : tell(1, 2, (const uint32_t[]){PROXY_FD_PORTS, PROXY_FD_PORTS}, fds);
}

SCRIPT(too_many)
{
	struct egress_listeners listeners = {.is_last = 1};
	int fds[EGRESS_LISTENERS_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = STDIN_FILENO;
	return frame_send(INIT_FD_CHANNEL, &listeners, sizeof listeners, fds, ARRAY_SIZE(fds), 0);
}

SCRIPT_RETURN(short_packet, frame_send(INIT_FD_CHANNEL, "", 1, NULL, 0, 0))

SCRIPT(long_packet)
{
	static const uint8_t bytes[sizeof(struct egress_listeners) + 1];

	return frame_send(INIT_FD_CHANNEL, bytes, sizeof bytes, NULL, 0, 0);
}

/* In the places of a listener of each kind, of port 53 and of that which answers DNS: what is no
 * socket, or one of another kind. */
SCRIPT(others)
{
	static const uint32_t numbers[] = {PROXY_FD_TCP4,  PROXY_FD_TCP6,      PROXY_FD_DNS,
	                                   PROXY_FD_PORTS, PROXY_FD_PORTS + 1, PROXY_FD_PORTS + 2};
	int pair[2], fds[] = {STDIN_FILENO, memfd_create("x", 0),          epoll_create1(0), -1,
	                      -1,           socket(AF_INET, SOCK_DGRAM, 0)};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	fds[3] = pair[0];
	fds[4] = pair[1];
	return tell(1, ARRAY_SIZE(numbers), numbers, fds);
}

/* A listener where datagrams come from, and what no one listens at. */
SCRIPT(kinds)
{
	static const uint32_t numbers[] = {PROXY_FD_DNS, PROXY_FD_PORTS};
	const int fds[] = {listening(), socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};

	return tell(1, ARRAY_SIZE(numbers), numbers, fds);
}

SCRIPT_RETURN(nothing, tell(1, 0, NULL, NULL))

SCRIPT(no_end)
{
	const int fd = listening();

	return fd < 0 ? -errno : tell(0, 1, (const uint32_t[]){PROXY_FD_PORTS}, &fd);
}

SCRIPT_DO(end_at_once, _exit(0))

/* A report of its own, with what whoever takes it has open then. */
SCRIPT(report_with_descriptors)
{
	const struct init_report report = {.kind = INIT_ORDER_PORTS};
	const int fd = listening();

	return frame_send(INIT_FD_CONTROL, &report, sizeof report, &fd, 1, 0);
}

SCRIPT_RETURN(report_of_another_size, frame_send(INIT_FD_CONTROL, "", 1, NULL, 0, 0))

/* What it is told to say to people, which no text of ours has. */
SCRIPT(report_unsound)
{
	struct init_report report = {.kind = INIT_ORDER_PORTS, .error = 1};

	memset(&report.refused, 0xff, sizeof report.refused);
	return frame_send(INIT_FD_CONTROL, &report, sizeof report, NULL, 0, 0);
}

SCRIPT_RETURN(stopped, (void)raise(SIGSTOP), 0)

/* What of the host's there is for it: said as its error, so that the test sees it. */
static int looks_round(struct build *b)
{
	static const char *const paths[] = {"/root",        "/home",       "/srv",     "/var/log",
	                                    "/run/systemd", "/etc/shadow", "/dev/shm", "/dev/mem"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (open(paths[i], O_RDONLY) >= 0)
			return error_set(&b->error, YETT_E_UNSUPPORTED, 0, "%s can be opened",
			                 paths[i]);
	/* Its mounts are its own: with the next sandbox all is as before. */
	if (mount("tmpfs", "/usr", "tmpfs", 0, NULL) < 0)
		return error_set(&b->error, YETT_E_UNSUPPORTED, 0, "nothing can be mounted");
	if (fork() >= 0)
		pause();
	return error_set(&b->error, YETT_E_UNSUPPORTED, 0, "nothing was found");
}

#define FIRST_PORT 7100 /* of the scripts, in their order; then looks_round() */

int __real_ports_serve(struct build *b, int rules); /* NOLINT: as the linker calls it */
int __wrap_ports_serve(struct build *b, int rules); /* NOLINT */

int __wrap_ports_serve(struct build *b, int rules) /* NOLINT */
{
	struct ruleset set = {0};
	struct net_ports ports;
	unsigned i;

	if (ruleset_change(&set, rules) < 0 || net_ports_collect(ruleset_list(&set), &ports))
		return -EINVAL;
	i = ports.ports[0] - FIRST_PORT;
	if (i > scripts_count)
		return __real_ports_serve(b, rules);
	return i == scripts_count ? looks_round(b) : scripts[i].run();
}
