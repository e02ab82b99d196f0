/* SPDX-License-Identifier: Apache-2.0 */
/* Times on the command line of yett checkpoint. The rest of it is in
 * tests/system/test_checkpoint.py. */
#include <stdlib.h>

#include "cli/agents/checkpoint.h"
#include "tests/support/testing.h"

TEST(a_time_is_in_utc_with_or_without_a_fraction)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"1970-01-01T00:00:00.001Z", 1},
		{"2026-03-01T12:00:00Z", UINT64_C(1772366400000)},
		{"2026-03-01T12:00:00.250Z", UINT64_C(1772366400250)},
		{"2028-02-29T23:59:59.999Z", UINT64_C(1835481599999)},
	};

	assert_int_equal(setenv("TZ", "America/New_York", 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ms = 1;

		assert_true(checkpoint_parse_time(rows[i].text, &ms));
		assert_int_equal(ms, rows[i].ms);
	}
}

TEST(what_is_no_time_is_refused)
{
	static const char *const texts[] = {"",
	                                    "noon",
	                                    "2026-03-01",
	                                    "2026-03-01T12:00:00",
	                                    "2026-03-01T12:00:00+01:00",
	                                    "2026-03-01T12:00:00.25Z",
	                                    "2026-03-01T12:00:00.2500Z",
	                                    "2026-03-01T12:00:00Zz",
	                                    "2026-13-01T12:00:00Z",
	                                    "2026-02-30T12:00:00Z",
	                                    "2026-03-01T24:00:00Z",
	                                    "1969-12-31T23:59:59Z"};
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(checkpoint_parse_time(texts[i], &ms));
}

TEST_MAIN(NULL, NULL)
