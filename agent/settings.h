/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's settings: $XDG_CONFIG_HOME/yett/agent.json (~/.config/yett/agent.json), and changes
 * since the start.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

struct settings {
	uint64_t default_timeout_ms, max_timeout_ms; /* of code and commands */
	size_t max_output;                           /* bytes of each output in an answer */
	char *light, *strong;                        /* the profiles of the two tiers */
	char **languages;     /* names of permitted languages; ends with NULL. NULL: all */
	json_t *interpreters; /* language name: program to use instead of the table's */
	bool refuse_findings; /* refuse code with severe findings of the validator */
	json_t *most;         /* the settings as loaded, which limit changes; NULL while loading */
};

/* Fields of the settings, for documents and for changes at run time. */
extern const struct field settings_fields[];

/*
 * Loads the defaults, then the file if there is one. `*ret_may` receives the file's "may", the
 * bounds: an object that may be empty, owned by the caller, which cannot be changed at run time.
 * Returns 0; YETT_E_INVALID_REQUEST: wrong content; YETT_E_FILE_OPERATION_FAILED: the file cannot
 * be read; or YETT_E_OUT_OF_MEMORY.
 */
_must_check_ int settings_load(struct settings *settings, json_t **ret_may,
                               struct yett_error *error);

/*
 * Changes the settings that are members of `object`, for a request: all or none. Returns 0;
 * YETT_E_INVALID_REQUEST; YETT_E_OUT_OF_MEMORY; or YETT_E_PERMISSION_DENIED if max_timeout,
 * languages or refuse_findings would permit more than the loaded settings, or profiles or
 * interpreters would differ from them.
 */
_must_check_ int settings_change(struct settings *settings, const json_t *object,
                                 struct yett_error *error);

/* The settings as an object of these fields. Owned by the caller. */
json_t *settings_json(const struct settings *settings);

void settings_free(struct settings *settings);
