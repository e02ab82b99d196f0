/* SPDX-License-Identifier: Apache-2.0 */
/* What yett-decoder prints of a plan, for tests that link its printer. */
#pragma once

#include "programs/decide/decoder/plan_print.h"

/* Both halves of it, which the caller frees. */
static inline char *printed_plan(const struct plan *plan, size_t *ret_length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);

	assert_non_null(out);
	plan_print(out, plan);
	assert_int_equal(fclose(out), 0);
	return text;
}
