/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and properties of error codes and reasons.
 *
 * Pure functions with the privilege of the caller. yett-helper does not link this file: it sends
 * codes and reasons as numbers.
 */
#pragma once

#include "base/error.h"

/*
 * The text of a code or reason in the tables of yett_error.h. "unknown …" for a number that is not
 * in the table. Never NULL.
 */
const char *error_code_text(enum yett_code code);
const char *error_reason_text(enum yett_reason reason);
const char *error_reason_short_name(enum yett_reason reason);

/* Whether the same request can succeed later, with neither the request nor the policy changed. */
bool error_code_retryable(enum yett_code code);
