/*
 * Why a call was not answered as asked: a struct yett_error as JSON.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

/* The members of "error" in answers. */
extern const struct field problem_fields[];

/* The row of an answer's table that has them. */
#define PROBLEM_FIELD                                                                             \
	{                                                                                         \
		"error", FIELD_OBJECT, 0, .description = "Why it was not done, where it was not", \
					  .fields = problem_fields                                \
	}

/* {"code": "permission-denied", "message": …, "detail": …, "rule": …, "file": …, "line": …,
 * "asked": …, "allowed": …, "mend": …, "retryable": …}: what is empty is not in it. The caller's.
 */
json_t *problem_json(const struct yett_error *error);

/* What a person, or a model, reads: the message, the detail, the rule and the smallest change, in
 * few lines. The caller's. */
char *problem_text(const struct yett_error *error);
