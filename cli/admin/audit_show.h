/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the audit for people: filters them, and prints each as a line.
 *
 * Runs as the caller. Never prints text of a record unescaped: whoever could write the files may
 * have put anything into them.
 */
#pragma once

#include "base/error.h"

/* Which records to show. A criterion that is NULL or empty matches every record. */
struct audit_filter {
	const char *user, *sandbox, *event, *rule, *grant;
	/* Kinds of events in sandboxes; if none is set, all records match. */
	bool commands, connections, denied;
	char uid[16];              /* `user` as a number, as records have it */
	char since[32], until[32]; /* in UTC, in the form of the records */
};

/*
 * Converts a time to the form that records have. Takes DATE, "DATE TIME" or DATETTIME in the local
 * time zone, or how long ago ("2h", "7d").
 */
_must_check_ int audit_show_time(const char *option, const char *value, char out[static 32],
                                 struct yett_error *error);

/* Sets filter->uid from filter->user. */
_must_check_ int audit_show_prepare(struct audit_filter *filter, struct yett_error *error);

bool audit_show_is_wanted(const struct audit_filter *filter, const char *line, size_t length);

/* Prints the record as one line on stdout. */
void audit_show_print(const char *line, size_t length);
