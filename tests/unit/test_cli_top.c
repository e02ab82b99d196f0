/* SPDX-License-Identifier: Apache-2.0 */
/* What `yett top` shows, without a screen: order, selection, histories and plots. */
#include <string.h>

#include "cli/sandboxes/top_rows.h"
#include "tests/support/testing.h"

static struct yett_usage usage(const char *id, uint64_t taken_us, uint64_t cpu_us,
                               uint64_t memory_bytes)
{
	struct yett_usage made = {.taken_us = taken_us,
	                          .uptime_ms = 1000,
	                          .known = YETT_USAGE_CPU | YETT_USAGE_MEMORY,
	                          .cpu_us = cpu_us,
	                          .memory_bytes = memory_bytes};

	(void)snprintf(made.id, sizeof made.id, "%s", id);
	return made;
}

static void take(struct top_rows *rows, const struct yett_usage *list, size_t count)
{
	static const uint32_t uids[8];

	assert_int_equal(top_rows_take(rows, list, uids, count, NULL), 0);
}

TEST(the_busiest_come_first_and_those_at_rest_stay_in_their_places)
{
	struct top_rows rows = {0};
	struct yett_usage first[] = {usage("c", 1000, 0, 100), usage("a", 1000, 0, 200),
	                             usage("b", 1000, 0, 300)};
	struct yett_usage second[] = {usage("c", 2000000, 900000, 100),
	                              usage("a", 2000000, 1000, 900),
	                              usage("b", 2000000, 2000, 300)};

	take(&rows, first, 3);
	assert_string_equal(rows.rows[0].usage.id, "a");
	assert_string_equal(rows.selected, "a");
	take(&rows, second, 3);
	assert_string_equal(rows.rows[0].usage.id, "c");
	assert_string_equal(rows.rows[1].usage.id, "a");
	assert_string_equal(rows.rows[2].usage.id, "b");
	assert_string_equal(rows.selected, "a");
	assert_int_equal(rows.rows[0].cpu.count, 2);
	assert_true(rows.rows[0].cpu.values[1] > 44 && rows.rows[0].cpu.values[1] < 46);
	top_rows_free(&rows);
}

TEST(the_selection_moves_to_what_takes_the_place_of_what_is_gone)
{
	struct top_rows rows = {0};
	struct yett_usage list[] = {usage("a", 1, 0, 0), usage("b", 1, 0, 0), usage("c", 1, 0, 0)};

	top_rows_move(&rows, 1);
	take(&rows, list, 3);
	top_rows_move(&rows, 1);
	assert_string_equal(rows.selected, "b");
	top_rows_move(&rows, 5);
	assert_string_equal(rows.selected, "c");
	take(&rows, list, 2);
	assert_string_equal(rows.selected, "b");
	top_rows_move(&rows, -5);
	assert_string_equal(rows.selected, "a");
	take(&rows, list + 1, 2);
	assert_string_equal(rows.selected, "b");
	take(&rows, list, 0);
	assert_string_equal(rows.selected, "");
	assert_int_equal(top_rows_selected(&rows), 0);
	top_rows_free(&rows);
}

TEST(a_history_keeps_the_latest)
{
	struct top_history history = {0};

	for (int i = 0; i < TOP_HISTORY + 5; i++)
		top_history_add(&history, i);
	assert_int_equal(history.count, TOP_HISTORY);
	assert_true(history.values[0] == 5);
	assert_true(history.values[TOP_HISTORY - 1] == TOP_HISTORY + 4);
}

TEST(a_plot_has_a_character_for_each_value)
{
	struct top_history history = {.count = 4, .values = {100, 0, -1, 50}};
	char out[64];

	top_plot(&history, 6, 100, false, out, sizeof out);
	assert_string_equal(out, "  #_ =");
	top_plot(&history, 3, 0, false, out, sizeof out);
	assert_string_equal(out, "_ #");
	top_plot(&history, 2, 100, true, out, sizeof out);
	assert_string_equal(out, " ▅");
	top_plot(&history, 1000, 1, true, out, sizeof out);
	assert_true(strlen(out) < sizeof out);
	top_plot(&(struct top_history){0}, 3, 0, false, out, sizeof out);
	assert_string_equal(out, "   ");
}

TEST(sizes_and_times_are_short)
{
	static const struct {
		uint64_t value;
		const char *size, *time;
	} rows[] = {
		{0, "0", "0.00s"},
		{1023, "1023", "1.02s"},
		{1024, "1.0K", "1.02s"},
		{60000, "59K", "1m00s"},
		{10 << 20, "10M", "2h54m"},
		{UINT64_C(3) << 30, "3.0G", "37d06h"},
		{UINT64_MAX, "16384P", NULL},
	};
	char out[STATS_TEXT_SIZE];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		stats_size(out, true, rows[i].value);
		assert_string_equal(out, rows[i].size);
		stats_time(out, true, rows[i].value);
		if (rows[i].time)
			assert_string_equal(out, rows[i].time);
	}
	stats_size(out, false, 5);
	assert_string_equal(out, "-");
	stats_time(out, false, 5);
	assert_string_equal(out, "-");
}

TEST_MAIN(NULL, NULL)
