/* SPDX-License-Identifier: Apache-2.0 */
/* Which processors commands are given of those that there are. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/inside/init/processors.h"
#include "tests/support/testing.h"

static struct processors first(unsigned count)
{
	struct processors set = {0};

	for (unsigned number = 0; number < count; number++)
		set.bits[number / 64] |= 1ULL << number % 64;
	return set;
}

static const char *printed(const struct processors *set)
{
	static char text[65536];
	FILE *out = fmemopen(text, sizeof text, "w");

	assert_non_null(out);
	processors_print(out, set);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(struct processors set, uint32_t count, uint64_t turn, const char *text)
{
	assert_true(processors_narrow(&set, count, turn));
	assert_string_equal(printed(&set), text);
}

TEST(a_part_of_a_processor_counts_as_one)
{
	assert_int_equal(processors_count(0), 0);
	assert_int_equal(processors_count(10), 1);
	assert_int_equal(processors_count(1000), 1);
	assert_int_equal(processors_count(1001), 2);
	assert_int_equal(processors_count(1024000), 1024);
}

TEST(they_take_turns_and_neighbours_come_last)
{
	static const char *const of_eight[] = {"0\n", "2\n", "4\n", "6\n", "1\n",
	                                       "3\n", "5\n", "7\n", "0\n"};
	static const char *const of_five[] = {"0\n", "2\n", "4\n", "1\n", "3\n", "0\n"};

	for (unsigned turn = 0; turn < 9; turn++)
		expect(first(8), 1, turn, of_eight[turn]);
	for (unsigned turn = 0; turn < 6; turn++)
		expect(first(5), 1, turn, of_five[turn]);
	expect(first(8), 3, 0, "0,2,4\n");
	expect(first(8), 3, 1, "1,3,6\n");
	expect(first(8), 3, 2, "0,5,7\n");
	expect(first(8), 7, 0, "0-6\n");
	expect(first(2), 1, UINT64_MAX, "1\n");
	expect(first(PROCESSORS_MAX), PROCESSORS_MAX - 1, UINT64_MAX, "1-8191\n");
}

TEST(who_may_not_run_everywhere_gets_of_what_there_is)
{
	struct processors set = first(0);

	set.bits[0] = 1ULL << 3 | 1ULL << 40;
	set.bits[2] = 1ULL << 1 | 1ULL << 2;
	expect(set, 1, 0, "3\n");
	expect(set, 1, 1, "129\n");
	expect(set, 2, 0, "3,129\n");
	expect(set, 2, 1, "40,130\n");
	expect(set, 3, 1, "3,129-130\n");
}

TEST(where_there_are_no_more_all_stay)
{
	struct processors set = first(65);

	assert_false(processors_narrow(&set, 65, 3));
	assert_false(processors_narrow(&set, 1024, 3));
	assert_false(processors_narrow(&set, 0, 3)); /* unlimited */
	assert_string_equal(printed(&set), "0-64\n");
	set = first(0);
	assert_false(processors_narrow(&set, 1, 0));
	assert_string_equal(printed(&set), "\n");
}

TEST(a_process_runs_on_those_that_it_takes)
{
	struct processors one, after;
	int status;
	pid_t pid;

	assert_int_equal(processors_read(&one), 0);
	(void)processors_narrow(&one, 1, 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		processors_take(&one);
		_exit(processors_read(&after) < 0 ? 1 : memcmp(&one, &after, sizeof one) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST_MAIN(NULL, NULL)
