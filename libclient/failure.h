/* What a failed system call means to the caller. With the caller's privilege. */
#pragma once

#include "base/error.h"

/*
 * As error_set() without a reason, and with errno(3) as it is now: for %m in the message, and as
 * the error's os_error. `step` as in error_cause(). Returns `code`.
 */
int failure_set(struct yett_error *error, enum yett_code code, const char *step, const char *format,
                ...) _printf_(4, 5);
