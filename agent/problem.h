/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct yett_error as JSON: why a request was not carried out.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

/* The members of "error" in answers. */
extern const struct field problem_fields[];

/* The row for "error" in the table of an answer. */
#define PROBLEM_FIELD                                                                         \
	{                                                                                     \
		"error", FIELD_OBJECT, 0, .description = "Why the request failed, if it did", \
					  .fields = problem_fields                            \
	}

/*
 * {"code": "permission-denied", "message": …, "detail": …, "rule": …, "file": …, "line": …,
 * "asked": …, "allowed": …, "mend": …, "retryable": …}, without empty members. Owned by the caller.
 */
json_t *problem_json(const struct yett_error *error);

/*
 * The error as a few lines of text for a person or a model: the code, the message, the detail and
 * the hint. The caller frees it.
 */
char *problem_text(const struct yett_error *error);
