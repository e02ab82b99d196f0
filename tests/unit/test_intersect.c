/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in force of request, grant, profile and ceilings: compared with a second implementation,
 * over many cases that are drawn. The same test is built with intersect.c spoilt in one place
 * (tests/support/spoil.py), and then must find that.
 */
#include <string.h>

#include "tests/support/intersecting.h"
#include "tests/support/testing.h"

#define CASES 200000

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545F4914F6CDD1D) >> 32;
}

/* How many cases it takes until something is wrong; 0: nothing is. */
static unsigned find_wrong(const char **ret_what)
{
	uint64_t state = 0x9E3779B97F4A7C15;
	uint8_t bytes[INTERSECTING_BYTES];

	for (unsigned i = 1; i <= CASES; i++) {
		for (size_t at = 0; at < sizeof bytes; at++)
			bytes[at] = (uint8_t)draw(&state);
		*ret_what = intersecting_judge(bytes);
		if (*ret_what)
			return i;
	}
	return 0;
}

#ifdef SPOILT
TEST(the_comparison_finds_what_is_spoilt)
{
	const char *what;

	assert_int_not_equal(find_wrong(&what), 0);
}
#else
TEST(it_is_what_a_second_implementation_says_and_never_more_for_less)
{
	const char *what;
	unsigned found;

	found = find_wrong(&what);
	if (found)
		fail_msg("case %u: %s", found, what);
}

/* Or the comparison would be one of a few. */
TEST(the_cases_have_everything_in_them)
{
	unsigned refusals[POLICY_KEYS + 1] = {0}, allowed = 0, by_ceiling[POLICY_BOUNDS] = {0};
	uint64_t random = 1;
	uint8_t bytes[INTERSECTING_BYTES];

	for (unsigned i = 0; i < 20000; i++) {
		static struct intersecting c;
		static struct decision decision;
		static struct yett_error error;
		int refusal;

		for (size_t at = 0; at < sizeof bytes; at++)
			bytes[at] = (uint8_t)draw(&random);
		intersecting_make(&c, (struct intersecting_bytes){bytes, sizeof bytes});
		(void)!intersecting_decide(&c, &decision, &error);
		refusal = intersecting_refusal(&c);
		allowed += refusal < 0;
		if (refusal >= 0)
			refusals[refusal]++;
		for (unsigned key = 0; key < POLICY_BOUNDS; key++)
			by_ceiling[key] +=
				decision.bounds[key].by && decision.bounds[key].by->is_ceiling;
	}
	assert_in_range(allowed, 1000, 19000);
	for (unsigned key = 0; key < POLICY_LIMITS; key++)
		assert_in_range(refusals[key], 50, 19000);
	assert_in_range(refusals[POLICY_KEY_LINGER], 50, 19000);
	assert_in_range(refusals[POLICY_KEYS], 10, 19000);
	for (unsigned key = 0; key < POLICY_BOUNDS; key++)
		assert_in_range(by_ceiling[key], 500, 19500);
}
#endif

TEST_MAIN(NULL, NULL)
