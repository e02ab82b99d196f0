/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in and checks struct yett_error. Needs no privilege.
 *
 * The convention of the whole code base: a function returns 0 on success, a negative errno if an
 * operation failed, and a positive enum yett_code if the request was refused. The function that
 * knows the reason of a refusal fills in the struct.
 */
#pragma once

#include "base/fd.h"
#include "protocol/yett_error.h"

#define YETT_ERRNO_MAX 4095 /* MAX_ERRNO of the kernel */

/*
 * Fills `error` (may be NULL) with `code`, `reason` and the formatted message, which is truncated
 * to fit. Clears every other field but `reserved`. Returns `code`, so that a refusal is one
 * statement: `return error_set(e, YETT_E_INVALID_REQUEST, 0, "…")`.
 */
int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason,
              const char *format, ...) _printf_(4, 5);

/* Sets the detail of an error (may be NULL) that error_set() filled. */
void error_detail(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/*
 * Records in an error (not NULL) that error_set() filled which key of the policy refuses the
 * request, and stores `number` in its `line`. yett-decider, which has the policy and the plan,
 * derives the other fields from both; programs/decide/decider/refuse_plan.h lists what the number
 * means for each key. Returns the error's code.
 */
int error_key(struct yett_error *error, const char *key, uint32_t number);

/*
 * Sets the hint (`mend`) of an error (may be NULL): what the user can do. A hint that does not fit
 * becomes empty. Not linked into yett-helper.
 */
void error_mend(struct yett_error *error, const char *format, ...) _printf_(2, 3);

/*
 * Records in an error that error_set() filled which step failed (NULL: none) and with which errno.
 * A number that is no errno is stored as 0, which means none. Returns the error's code, or 0 if
 * `error` is NULL.
 */
int error_cause(struct yett_error *error, const char *step, int error_number);

/*
 * As strerror(3), but also knows the kernel's internal ENOTSUPP, for which user space has no name.
 * seccomp(2) returns it when the BPF JIT has no memory left for another filter.
 */
const char *error_number_text(int number);

/*
 * Whether `error`, received from another process, is well-formed: its code (not YETT_OK), reason
 * and errno are in range, and each text ends with NUL.
 */
bool error_is_sound(const struct yett_error *error);
