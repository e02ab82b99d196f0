/*
 * What the user has chosen: $XDG_CONFIG_HOME/yett/agent.json (~/.config/yett/agent.json), and what
 * was changed since the start.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

struct settings {
	uint64_t default_timeout_ms, max_timeout_ms; /* of what is run */
	size_t max_output;                           /* bytes of each output in an answer */
	char *light, *strong;                        /* the profiles of the two tiers */
	char **languages;     /* those that may be run, by name; ends with NULL. NULL: all */
	json_t *interpreters; /* a language's name: the program instead of the table's */
	bool refuse_findings; /* code that the validator warns of gravely is refused */
	json_t *most;         /* as they were loaded; NULL: they are just being loaded */
};

/* Its fields, for documents and for changes at run time. */
extern const struct field settings_fields[];

/*
 * The defaults, and over them what is in the file, where there is one; and its "may", for the
 * bounds: an object, the caller's, which may be empty, and which nothing changes at run time.
 * YETT_E_INVALID_REQUEST: it holds what it may not.
 */
_must_check_ int settings_load(struct settings *settings, json_t **ret_may,
                               struct yett_error *error);

/*
 * As a request asks: changes those that are members of `object`, all or none.
 * YETT_E_PERMISSION_DENIED: the longest time, the languages or what is refused would be wider than
 * they were loaded, or profiles or interpreters others.
 */
_must_check_ int settings_change(struct settings *settings, const json_t *object,
                                 struct yett_error *error);

/* As an object of these fields. The caller's. */
json_t *settings_json(const struct settings *settings);

void settings_free(struct settings *settings);
