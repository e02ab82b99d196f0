/*
 * What there is to tell of codes and reasons besides their numbers. Root's program tells the
 * numbers only.
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/error.h"

/* The table's text for a code or reason; "unknown …" for a number that is not in it. Never NULL. */
const char *error_code_text(enum yett_code code);
const char *error_reason_text(enum yett_reason reason);
const char *error_reason_short_name(enum yett_reason reason);

/* Whether the same request can succeed later without a change of it or of the policy. */
bool error_code_retryable(enum yett_code code);
