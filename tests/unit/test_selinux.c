/* SPDX-License-Identifier: Apache-2.0 */
/* That no two ranges of private ids share a context, and what contexts look like. Pure; needs no
 * SELinux. */
#include "base/fd.h"
#include "helper/policy/policy.h"
#include "helper/setup/selinux.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES (POLICY_IDS_END_MAX / POLICY_IDS_STEP)

TEST(a_context_begins_at_s0_and_has_two_categories)
{
	char context[SELINUX_CONTEXT_MAX];

	selinux_process_context("yett_init_t", UINT32_C(0x70030000), context);
	assert_string_equal(context, "system_u:system_r:yett_init_t:s0-s0:c56,c515");
	selinux_file_context(UINT32_C(0x70030000), context);
	assert_string_equal(context, "system_u:object_r:yett_sandbox_file_t:s0:c56,c515");
}

TEST(every_id_of_a_range_has_the_same_context)
{
	char first[SELINUX_CONTEXT_MAX], last[SELINUX_CONTEXT_MAX];

	selinux_file_context(5 * POLICY_IDS_STEP, first);
	selinux_file_context(6 * POLICY_IDS_STEP - 1, last);
	assert_string_equal(first, last);
}

TEST(no_two_ranges_have_the_same_categories)
{
	_cleanup_free_ bool *seen = calloc(1024 * 1024, sizeof *seen);

	assert_non_null(seen);
	for (uint32_t range = 0; range < RANGES; range++) {
		char context[SELINUX_CONTEXT_MAX];
		unsigned a = 0, b = 0;

		selinux_file_context(range * POLICY_IDS_STEP, context);
		assert_int_equal(sscanf(strstr(context, ":c"), ":c%u,c%u", &a, &b), 2);
		assert_true(a < b && b < 1024);
		assert_false(seen[a * 1024 + b]);
		seen[a * 1024 + b] = true;
	}
}

TEST(the_longest_type_fits)
{
	char type[POLICY_LABEL_MAX + 1] = "", context[SELINUX_CONTEXT_MAX];

	memset(type, 't', POLICY_LABEL_MAX);
	selinux_process_context(type, UINT32_MAX / 2, context);
	assert_string_equal(strrchr(context, ':'), ":c63,c1023");
}

TEST_MAIN(NULL, NULL)
