/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a running yett-agent: its event loop, its connection to the helper, its settings,
 * and its sandboxes and executions.
 *
 * yett-agent is an ordinary program with the caller's privilege and one thread. Only sd-event(3)
 * waits; nothing else may block for long.
 */
#pragma once

#include <signal.h>
#include <systemd/sd-event.h>

#include "agent/bounds.h"
#include "agent/settings.h"
#include "libclient/yett.h"

struct handles;
struct executions;
struct event_log;
struct drivers;
struct stores;

struct agent {
	sd_event *loop;
	struct settings settings;
	struct bounds bounds;
	struct handles *handles; /* handle.c */
	/* Called with `handles` after messages of the helper were read. */
	void (*on_read)(struct handles *handles);
	struct executions *executions;      /* execution.c */
	struct event_log *event_log;        /* event_log.c */
	struct drivers *drivers;            /* runner/driver.c */
	struct stores *stores;              /* stores.c */
	struct agent_link *link;            /* to the helper; NULL: not connected now */
	const char *socket_path, *key_path; /* from the options; NULL: the library's default */
	/* How the helper was reached the first time. Later connections use the same way. */
	enum yett_start start;
};

/*
 * Blocks SIGTERM, SIGINT and SIGHUP, and delivers them through the loop to `on_signal`. NULL: the
 * signals end the loop. `*ret_signals` receives the set of these signals. Returns 0 or -errno.
 */
_must_check_ int agent_watch_signals(struct agent *agent, sigset_t *ret_signals,
                                     sd_event_signal_handler_t on_signal, void *data);

/*
 * A reference-counted connection to the helper. A sandbox that does not linger ends with the
 * connection on which it was made.
 */
struct agent_link {
	struct agent *agent;
	struct yett_connection *connection;
	sd_event_source *source;
	unsigned references;
};

/*
 * Returns the connection to the helper, borrowed; connects if there is none. Creates the caller's
 * default key if it is missing.
 *
 * The helper refuses requests on a connection that is older than the service's last restart or
 * policy reload. Callers therefore repeat their request while agent_is_to_repeat() returns true: it
 * drops such a connection, once. `*tries` must start at 0.
 */
_must_check_ int agent_connect(struct agent *agent, struct yett_connection **ret_connection,
                               struct yett_error *error);
bool agent_is_to_repeat(struct agent *agent, int r, const struct yett_error *error,
                        unsigned *tries);

struct agent_link *agent_link_ref(struct agent_link *link);
/* Returns NULL. Accepts NULL. */
struct agent_link *agent_link_unref(struct agent_link *link);
