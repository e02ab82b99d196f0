/*
 * `yett events`: what happens in sandboxes, a line each.
 *
 * Runs as the caller, on the public libyett.
 */
#pragma once

#include "base/json.h"
#include "cli/manage.h"

/* Prints one event of a sandbox, which is called `name` in lines. */
typedef void (*events_print_fn)(const char *name, const char *id, const struct yett_event *event);

/* Which sandboxes are followed: those that are named, or without names the caller's, or all users'.
 */
struct events_wanted {
	char **names;
	size_t count;
	bool all;
};

/* Prints what happens in them from now on, until all have ended or nobody reads what is printed. 0
 * or a code. */
_must_check_ int events_tell(struct yett_connection *connection, const struct events_wanted *wanted,
                             events_print_fn print, struct yett_error *error);

/* The local time of day, with milliseconds. */
void events_print_time(uint64_t ms);

/* A document of its own; what the event says nothing of is null. */
void events_print_json(struct json *json, const char *id, const struct yett_event *event);

int events_main(const struct subcommand *self, int argc, char **argv);
