/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a test program in C declares its tests, over cmocka:
 *
 *     TEST(what_it_shows)
 *     {
 *             assert_true(…);
 *     }
 *
 *     TEST_MAIN(NULL, NULL)
 *
 * A test that is defined is run; there is no second list of tests that could lack one. The tests of
 * a file run in the order in which they are defined.
 */
#pragma once

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test with functions that run before and after it; either can be NULL. cmocka gives all three
 * the same `state`. */
#define TEST_WITH(name, set_up, tear_down)         \
	static void name(void **state);            \
	TESTING_ADD(name, name, set_up, tear_down) \
	static void name(__attribute__((unused)) void **state)

/* The same where `*state` points to a fixture: `fixture` declares the test's parameter for it. */
#define TEST_OF(name, fixture, set_up, tear_down)                 \
	__attribute__((noinline)) static void name(fixture);      \
	static void testing_call_##name(void **state)             \
	{                                                         \
		name(*state);                                     \
	}                                                         \
	TESTING_ADD(name, testing_call_##name, set_up, tear_down) \
	static void name(__attribute__((unused)) fixture)

#define TESTING_ADD(name, function, set_up, tear_down)                                      \
	__attribute__((constructor)) static void testing_add_##name(void)                   \
	{                                                                                   \
		testing_add(&(struct CMUnitTest){#name, function, set_up, tear_down, NULL}, \
		            __LINE__);                                                      \
	}

static struct CMUnitTest testing_tests[128];
static int testing_lines[sizeof testing_tests / sizeof *testing_tests];
static size_t testing_count;

/* The compiler chooses the order in which constructors run, so that each test is sorted in by its
 * line. */
static inline void testing_add(const struct CMUnitTest *test, int line)
{
	size_t at = testing_count++;

	assert(at < sizeof testing_tests / sizeof *testing_tests);
	for (; at > 0 && testing_lines[at - 1] > line; at--) {
		testing_tests[at] = testing_tests[at - 1];
		testing_lines[at] = testing_lines[at - 1];
	}
	testing_tests[at] = *test;
	testing_lines[at] = line;
}

/* Runs the tests of this file as a group, with functions that run once before and after all of
 * them; either can be NULL. Returns how many failed. */
static inline int testing_run(const char *group, CMFixtureFunction set_up,
                              CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests(group, testing_tests, testing_count, set_up, tear_down);
}

/* For programs that do nothing but run their tests. */
#define TEST_MAIN(set_up, tear_down)                            \
	int main(void)                                          \
	{                                                       \
		return testing_run("tests", set_up, tear_down); \
	}
