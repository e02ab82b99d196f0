/*
 * Filling in and reading struct yett_error.
 *
 * The convention of the whole code base: a function returns 0 when done, a negative errno when it
 * could not be done, and a positive enum yett_code when it was refused; whoever knows the reason
 * fills the struct.
 */
#pragma once

#include "base/fd.h"
#include "protocol/yett_error.h"

#define YETT_ERRNO_MAX 4095 /* errno(3): MAX_ERRNO of the kernel */

/*
 * Fills `error` (may be NULL) with `code`, `reason` and the formatted message, truncated to fit;
 * returns `code`, so that a refusal is one statement: `return error_set(e, YETT_E_INVALID_REQUEST,
 * 0, "…")`. All else is emptied.
 */
int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason,
              const char *format, ...) _printf_(4, 5);

/* Sets the detail of an error that error_set() filled. */
void error_detail(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/*
 * Says of an error that error_set() filled which key of the policy refuses, and a number for
 * whoever knows the policy, or the plan, and writes down the rest by that: refuse_plan.h of the
 * decider says what each is. Its code.
 */
int error_key(struct yett_error *error, const char *key, uint32_t number);

/* Sets what would mend it. Not in root's program. */
void error_mend(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/* Says of an error that error_set() filled at which step (NULL: none) and with which errno (0:
 * none, as is what cannot be one) it came to it. Its code. */
int error_cause(struct yett_error *error, const char *step, int error_number);

/* strerror(3), and of the kernel's own ENOTSUPP, which has no name for programs, what seccomp(2)
 * means by it. */
const char *error_number_text(int number);

/* Whether `error`, as it came from another process, is one: numbers that exist, texts that end. */
bool error_is_sound(const struct yett_error *error);
