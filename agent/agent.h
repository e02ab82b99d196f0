/*
 * What the program is while it runs: its loop, its connection to the helper, its settings, and what
 * it keeps of sandboxes and executions.
 *
 * An ordinary program with the caller's privilege, of one thread: sd-event(3) waits, and nothing
 * else does for long.
 */
#pragma once

#include <signal.h>
#include <systemd/sd-event.h>

#include "agent/bounds.h"
#include "agent/settings.h"
#include "libclient/yett.h"

struct boxes;
struct executions;
struct happenings;
struct drivers;
struct stores;

struct agent {
	sd_event *loop;
	struct settings settings;
	struct bounds bounds;
	struct boxes *boxes;                /* box.c */
	struct executions *executions;      /* execution.c */
	struct happenings *happenings;      /* happenings.c */
	struct drivers *drivers;            /* runner/driver.c */
	struct stores *stores;              /* stores.c */
	struct agent_link *link;            /* to the helper; NULL: there is none just now */
	const char *socket_path, *key_path; /* as options say; NULL: as the library has it */
	enum yett_start start; /* the way that led to the helper the first time, and leads there
	                          ever since */
};

/* `given` is what options say of the bounds: each member of it counts instead of that of the
 * settings' file; NULL: nothing. */
_must_check_ int agent_new(const json_t *given, struct agent **ret_agent, struct yett_error *error);

/*
 * SIGTERM, SIGINT and SIGHUP ask to end: from now on they are blocked, and told to `on_signal` by
 * the loop; NULL: they end the loop. They are written to `ret_signals`, too. 0 or -errno.
 */
_must_check_ int agent_watch_signals(struct agent *agent, sigset_t *ret_signals,
                                     sd_event_signal_handler_t on_signal, void *data);

/* A connection to the helper, counted: sandboxes that do not linger live as long as the one that
 * they were made on. */
struct agent_link {
	struct agent *agent;
	struct yett_connection *connection;
	sd_event_source *source;
	unsigned references;
};

/*
 * The connection to ask by, borrowed, which is made where there is none. The caller's key is made
 * where there is none either.
 *
 * What was asked by one from before the service was started again, or has loaded another policy, is
 * refused. So who asks does it until agent_is_to_repeat() says no: that lets go of such a
 * connection, once. `tries` begins with 0.
 */
_must_check_ int agent_connect(struct agent *agent, struct yett_connection **ret_connection,
                               struct yett_error *error);
bool agent_is_to_repeat(struct agent *agent, int r, const struct yett_error *error,
                        unsigned *tries);

struct agent_link *agent_link_ref(struct agent_link *link);
/* Returns NULL. Takes NULL. */
struct agent_link *agent_link_unref(struct agent_link *link);

/* Ends the executions that go on, and lets go of sandboxes. Takes NULL. */
void agent_free(struct agent *agent);
