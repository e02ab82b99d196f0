/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-dialer that a sandbox, or the internet, has captured: the real one up to where it has locked
 * itself down, and then an attack (captured.h) on who started it, until it is ended.
 */
#include "tests/hostile/captured.h"

int honest_main(int argc, char **argv);
#define lockdown_filter captured_filter
#define main            honest_main
#include "programs/net/connector_main.c" /* NOLINT: with what it keeps to itself */
#undef main
#undef lockdown_filter

#include "programs/net/connect.h"
#include "protocol/frame.h"

#include <poll.h>

_Noreturn static void wait_for_the_end(void)
{
	for (;;)
		(void)poll(NULL, 0, -1);
}

static void tell(const void *bytes, size_t size, const int *fds, size_t count)
{
	if (frame_send(CONNECTOR_FD_SUPERVISOR, bytes, size, fds, count, 0) < 0)
		wait_for_the_end();
}

static struct egress_report told_of(const char *name)
{
	struct egress_report reports = {
		.kind = EGRESS_REPORT_DENIED, .count = 1, .port = 443, .verdict = 1};

	memcpy(reports.name, name, strlen(name) + 1);
	return reports;
}

/* Without end, and faster than anybody wants to hear of it. */
SCRIPT(floods)
{
	struct egress_report reports = told_of("flood.example");

	for (uint32_t i = 0;; i++) {
		reports.address[15] = (uint8_t)i;
		reports.lost = i;
		tell(&reports, sizeof reports, NULL, 0);
	}
	return 0;
}

/* When it is asked for something: a name that would have a terminal do things, one without an end,
 * and numbers that cannot be. */
SCRIPT(lies)
{
	struct egress_report reports = told_of("\033]0;captured\007\n<0>forged\tline");
	struct pollfd wait = {.fd = CONNECTOR_FD_PROXY, .events = POLLIN};

	(void)poll(&wait, 1, -1);
	tell(&reports, sizeof reports, NULL, 0);
	memset(reports.name, 'A', sizeof reports.name);
	tell(&reports, sizeof reports, NULL, 0);
	reports = (struct egress_report){.kind = EGRESS_REPORT_CONNECTED,
	                                 .count = UINT32_MAX,
	                                 .lost = UINT32_MAX,
	                                 .open = UINT32_MAX,
	                                 .error = -1,
	                                 .origin = UINT32_MAX,
	                                 .verdict = 255,
	                                 .sent_bytes = UINT64_MAX,
	                                 .received_bytes = UINT64_MAX};
	tell(&reports, sizeof reports, NULL, 0);
	reports.kind = EGRESS_REPORT_FAILED;
	reports.error = INT32_MIN;
	tell(&reports, sizeof reports, NULL, 0);
	reports = told_of("the-last.example");
	tell(&reports, sizeof reports, NULL, 0);
	return 0;
}

/* What takes an hour to close: whoever closes it last would wait. As tests/hostile/lingering.h,
 * with what the filter leaves. */
SCRIPT(lingers)
{
	static const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	static const struct net_address loopback = {
		{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	static const char data[4096];
	struct egress_report reports = told_of("lingers.example");
	struct pollfd wait = {.fd = connect_begin(&loopback, (uint16_t)captured.number),
	                      .events = POLLOUT};

	if (poll(&wait, 1, -1) <= 0)
		_exit(3);
	while (sendto(wait.fd, data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) > 0)
		;
	if (setsockopt(wait.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0)
		_exit(3);
	(void)fcntl(wait.fd, F_SETFL, fcntl(wait.fd, F_GETFL) & ~O_NONBLOCK);
	tell(&reports, sizeof reports, &wait.fd, 1);
	return close(wait.fd);
}

/* As the honest one, so that the front asks. */
static void pass_rules_on(void)
{
	static const struct egress_answer answer = {.kind = EGRESS_ANSWER_RULES};
	static struct frame frame;

	if (frame_receive(CONNECTOR_FD_SUPERVISOR, &frame, 0) <= 0 ||
	    frame_send(CONNECTOR_FD_PROXY, &answer, sizeof answer, frame.fds, 1, 0) < 0)
		_exit(3);
	frame_close_fds(&frame);
}

SCRIPT(tells_a_hundred)
{
	struct egress_report reports = told_of("x.example");

	for (unsigned i = 0; i < 100; i++)
		tell(&reports, sizeof reports, NULL, 0);
	return 0;
}

SCRIPT(sends_no_kind)
{
	struct egress_report reports = told_of("x.example");

	reports.kind = 77;
	tell(&reports, sizeof reports, NULL, 0);
	return 0;
}

static const uint8_t garbage[4096] = {0xff};

SCRIPT_DO(sends_garbage, tell(garbage, sizeof garbage, NULL, 0))
SCRIPT_DO(sends_nothing, tell(garbage, 0, NULL, 0))
SCRIPT_DO(sends_half, tell(&(struct egress_report){.kind = EGRESS_REPORT_DENIED,
                                                   .count = 1,
                                                   .port = 443,
                                                   .verdict = 1},
                           sizeof(struct egress_report) / 2, NULL, 0))
SCRIPT_RETURN(closes, close(CONNECTOR_FD_SUPERVISOR))
SCRIPT_RETURN(never_reads, 0)

static void attack(void)
{
	const struct script *script = script_find(captured.wish.mode);
	const struct egress_report survived = told_of("survived.example");

	if (captured_call(&captured))
		tell(&survived, sizeof survived, NULL, 0);
	else if (!script)
		_exit(2);
	else
		(void)script->run();
}

int main(int argc, char **argv)
{
	struct connector connector = {0};

	captured = captured_find(CONNECTOR_FD_SUPERVISOR);
	if (!*captured.wish.mode)
		return honest_main(argc, argv);
	connector_main_lock_down(argc);
	connector_main_need(
		resolver_parent_start(CONNECTOR_FD_RESOLVER, connector.lookup.sockets) == 0,
		STAGE_KEEPER);
	connector_main_need(captured_filter(&filters_connector), STAGE_FILTER);
	pass_rules_on();
	attack();
	wait_for_the_end();
}
