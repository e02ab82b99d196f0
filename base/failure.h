/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a failed system call into an error. With the caller's privilege. */
#pragma once

#include "base/error.h"

/*
 * Works like error_set() without a reason, and stores the current errno(3) as the os_error.
 * `format` may contain %m. `step` as for error_cause(). Returns `code`.
 */
int failure_set(struct yett_error *error, enum yett_code code, const char *step, const char *format,
                ...) _printf_(4, 5);
