/*
 * What the program is while it runs: its loop, its connection to the helper, its settings, and what it keeps of sandboxes and executions.
 *
 * An ordinary program with the caller's privilege, of one thread: sd-event(3) waits, and nothing else does for long.
 */
#pragma once

#include <systemd/sd-event.h>

#include "agent/settings.h"
#include "libclient/yett.h"

struct boxes;
struct executions;
struct happenings;

struct agent {
	sd_event *loop;
	struct settings settings;
	struct boxes *boxes;                /* box.c */
	struct executions *executions;      /* execution.c */
	struct happenings *happenings;      /* op_events.c */
	struct yett_connection *connection; /* NULL: there is none just now; agent_connect() gives it */
	sd_event_source *connection_source;
	const char *socket_path, *key_path; /* as options say; NULL: as the library has it */
};

_must_check_ int agent_new(struct agent **ret_agent, struct yett_error *error);

/* The connection, which is made where there is none, or where the service was started again since. */
_must_check_ int agent_connect(struct agent *agent, struct yett_connection **ret_connection, struct yett_error *error);

/* After something asked through it was refused because it is from before: the next agent_connect() makes another one. */
void agent_forget_connection(struct agent *agent);

/* Ends the executions that go on, and lets go of sandboxes. Takes NULL. */
void agent_free(struct agent *agent);
