/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See error_text.h: the parts that clients need: reasons, and which codes are worth a retry. No
 * privilege, no allocation.
 */
#include "base/error_text.h"

/* Indexed by number. The numbers have no gaps. */
#define X(name, number, short_name, text) [number] = text,
static const char *const reasons[] = {[0] = "", YETT_REASONS(X)};
#undef X

const char *error_reason_text(enum yett_reason reason)
{
	return (size_t)reason < ARRAY_SIZE(reasons) ? reasons[reason] : "unknown reason";
}

bool error_code_retryable(enum yett_code code)
{
#define X(name, number, retryable, text) || (retryable && code == (number))
	return false YETT_CODES(X);
#undef X
}
