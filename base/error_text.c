/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See error_text.h. The texts of codes are for people. The short names of reasons are for programs:
 * libyett, the JSON of the audit, tests. No privilege, no allocation.
 */
#include "base/error_text.h"

/* Indexed by number. The numbers have no gaps. */
#define X(name, number, retryable, text) [number] = text,
static const char *const code_texts[] = {[0] = "done", YETT_CODES(X)};
#undef X

#define X(name, number, short_name, text) [number] = short_name,
static const char *const short_names[] = {[0] = "none", YETT_REASONS(X)};
#undef X

const char *error_code_text(enum yett_code code)
{
	return (size_t)code < ARRAY_SIZE(code_texts) ? code_texts[code] : "unknown error code";
}

const char *error_reason_short_name(enum yett_reason reason)
{
	return (size_t)reason < ARRAY_SIZE(short_names) ? short_names[reason] : "unknown";
}
