/* SPDX-License-Identifier: Apache-2.0 */
/* See net.h: relays ports and sockets of an existing sandbox while this process runs. */
#include "cli/network/net.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "cli/network/relays.h"
#include "cli/output.h"

/* Signals end the relay in order, so that no socket is left behind in the sandbox. */
static int open_signals(void)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Relays until a signal arrives or the sandbox ends. Returns whether the sandbox still runs. */
static bool net_relay_serve(struct relays *relays, struct yett_sandbox *sandbox, int signals)
{
	for (;;) {
		struct pollfd entries[] = {{.fd = signals, .events = POLLIN},
		                           {.fd = yett_sandbox_fd(sandbox), .events = POLLIN},
		                           {.fd = relays_fd(relays), .events = POLLIN}};

		if (poll(entries, ARRAY_SIZE(entries), -1) < 0 && errno != EINTR)
			return true;
		if (entries[0].revents)
			return true;
		if (entries[1].revents && yett_sandbox_dispatch(sandbox, NULL) != 0)
			return false;
		if (entries[2].revents)
			relays_dispatch(relays);
	}
}

static int relay(struct relays *relays, struct yett_connection *connection, const char *id,
                 struct yett_error *error)
{
	_cleanup_fd_ int signals = open_signals();
	struct yett_sandbox *sandbox = NULL;
	bool goes_on = true;
	int r = signals < 0 ? error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                                "no descriptor for signals: %m")
	                    : yett_sandbox_attach(connection, id, &sandbox, error);

	if (r == 0)
		r = relays_open(relays, sandbox, true, error);
	if (r == 0)
		goes_on = net_relay_serve(relays, sandbox, signals);
	if (sandbox)
		relays_close(relays, goes_on ? sandbox : NULL);
	if (!goes_on)
		output_note("the sandbox has ended");
	yett_sandbox_close(sandbox);
	return r;
}

static int relay_all(struct yett_connection *connection, const struct net_arguments *arguments,
                     const char *word,
                     int (*add)(struct relays *relays, const char *option, const char *value,
                                struct yett_error *error),
                     struct yett_error *error)
{
	_cleanup_(relays_free) struct relays relays = {0};
	int r = 0;

	for (size_t i = 1; r == 0 && i < arguments->count; i++)
		r = add(&relays, word, arguments->operands[i], error);
	return r == 0 ? relay(&relays, connection, arguments->operands[0], error) : r;
}

int net_publish(struct yett_connection *connection, const struct net_arguments *arguments,
                struct yett_error *error)
{
	return relay_all(connection, arguments, "publish", relays_add_port, error);
}

int net_socket(struct yett_connection *connection, const struct net_arguments *arguments,
               struct yett_error *error)
{
	return relay_all(connection, arguments, "socket", relays_add_socket, error);
}
