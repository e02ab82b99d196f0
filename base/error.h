/*
 * Filling in and reading struct yett_error.
 *
 * The convention of the whole code base: a function returns 0 when done, a negative errno when it could not be
 * done, and a positive enum yett_code when it was refused; whoever knows the reason fills the struct.
 */
#pragma once

#include "base/fd.h"
#include "protocol/yett_error.h"

#define YETT_ERRNO_MAX 4095 /* errno(3): MAX_ERRNO of the kernel */

/*
 * Fills `error` (may be NULL) with `code`, `reason` and the formatted message, truncated to fit; returns `code`,
 * so that a refusal is one statement: `return error_set(e, YETT_E_INVALID_REQUEST, 0, "…")`. All else is emptied.
 */
int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason, const char *format, ...) _printf_(4, 5);

/* Sets the detail of an error that error_set() filled. */
void error_detail(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/* A key of the policy that refuses, where it stands, or its section if it does not, and what it bounds, as the policy writes it. */
struct error_rule {
	const char *key, *section, *name; /* "max_memory", "grant", "everyone" */
	const char *file;
	unsigned line;               /* 0: `file` is FILE:LINE */
	const char *asked, *allowed; /* these are shown with spaces for line ends */
	bool is_list;                /* to which what is asked would have to be added */
};

/* Sets the fields about the policy, as yett_error.h explains them, and the detail, of an error that error_set() filled. */
void error_rest(struct yett_error *error, const struct error_rule *rule);

/* Sets what would mend it, where that is something else. */
void error_mend(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/* Says of an error that error_set() filled at which step (NULL: none) and with which errno (0: none, as is
 * what cannot be one) it came to it. Its code. */
int error_cause(struct yett_error *error, const char *step, int error_number);

/* The table's text for a code or reason; "unknown …" for a number that is not in it. Never NULL. */
const char *error_code_text(enum yett_code code);
const char *error_reason_text(enum yett_reason reason);
const char *error_reason_short_name(enum yett_reason reason);

/* Whether the same request can succeed later without a change of it or of the policy. */
bool error_code_retryable(enum yett_code code);

/* Whether `error`, as it came from another process, is one: numbers that exist, texts that end. */
bool error_is_sound(const struct yett_error *error);
