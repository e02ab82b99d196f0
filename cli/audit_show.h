/*
 * Records of the audit, for people: which of them, and what each says in a line.
 *
 * Runs as the caller. Who could write the records may have written anything: nothing of it reaches
 * a terminal as it is.
 */
#pragma once

#include "base/error.h"

/* Which ones; what is NULL or empty is not asked for. */
struct audit_filter {
	const char *user, *sandbox, *event, *rule, *grant;
	bool commands, connections,
		denied; /* of what happened in sandboxes; where none is set, everything */
	char uid[16];   /* of the user, as it stands in records */
	char since[32], until[32]; /* times as records have them, in UTC */
};

/* Reads a time as people write it: DATE, DATE TIME or DATETTIME, in the zone of here, or so long
 * ago ("2h", "7d"). */
_must_check_ int audit_show_time(const char *option, const char *value, char out[static 32],
                                 struct yett_error *error);

/* Finds the uid of the user. */
_must_check_ int audit_show_prepare(struct audit_filter *filter, struct yett_error *error);

bool audit_show_is_wanted(const struct audit_filter *filter, const char *line, size_t length);

/* A line on the standard output. */
void audit_show_print(const char *line, size_t length);
