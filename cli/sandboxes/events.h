/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett events`: prints what happens in sandboxes, one event a line.
 *
 * Runs as the caller, on the public libyett.
 */
#pragma once

#include "base/json.h"
#include "cli/sandboxes/manage.h"

/* Prints one event of a sandbox. `name` is its name in the output. */
typedef void (*events_print_fn)(const char *name, const char *id, const struct yett_event *event);

/*
 * Which sandboxes to follow: those in `names`; without names all of the caller's, or of all users
 * if `all` is set.
 */
struct events_wanted {
	char **names;
	size_t count;
	bool all;
};

/*
 * Prints the events of these sandboxes from now on, until all sandboxes have ended or nobody reads
 * stdout any more. Returns 0 or an error code.
 */
_must_check_ int events_report(struct yett_connection *connection,
                               const struct events_wanted *wanted, events_print_fn print,
                               struct yett_error *error);

/* Prints the local time of day with milliseconds. */
void events_print_time(uint64_t ms);

/*
 * Prints the event as a JSON document of its own. Members that do not apply to the event are null.
 */
void events_print_json(struct json *json, const char *id, const struct yett_event *event);

int events_main(const struct subcommand *self, int argc, char **argv);
