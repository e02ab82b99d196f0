/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of `yett ps`, and the options about a sandbox's life. */
#include <string.h>

#include "cli/run/run_option_table.h"
#include "cli/run/run_options.h"
#include "cli/sandboxes/manage.h"
#include "tests/support/testing.h"

TEST(only_filters_are_taken_for_one)
{
	static const char *const good[] = {"label=a",       "label=a=", "label=a=b=c",
	                                   "state=running", "name=x",   "profile=default"};
	static const char *const bad[] = {"",        "label", "label=", "name=",  "labels=a",
	                                  "Label=a", "=a",    "uid=1",  " name=x"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(manage_is_filter(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(manage_is_filter(bad[i]));
}

TEST(a_filter_fits_what_it_says)
{
	const struct yett_sandbox_info info = {.profile = "default"};
	const struct yett_sandbox_status status = {
		.name = "box",
		.state = YETT_STATE_PAUSED,
		.info = &info,
		.labels = (const char *const[]){"app=web", "note=", NULL}};
	static const char *const fitting[] = {"label=app",      "label=app=web", "label=note",
	                                      "label=note=",    "state=paused",  "name=box",
	                                      "profile=default"};
	static const char *const others[] = {"label=ap",  "label=app=",    "label=app=we",
	                                     "label=web", "state=running", "state=pause",
	                                     "name=bo",   "name=boxes",    "profile=defaul"};

	for (size_t i = 0; i < ARRAY_SIZE(fitting); i++)
		assert_true(manage_fits(&status, fitting[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(manage_fits(&status, others[i]));
}

TEST(options_of_a_life_are_read)
{
	const struct subcommand run = {.name = "run", .options = run_options, .operands_max = -1};
	char *argv[] = {(char *)"--linger",
	                (char *)"--name=box",
	                (char *)"--label",
	                (char *)"a=b",
	                (char *)"--label=c=",
	                (char *)"--idle-timeout=5m",
	                (char *)"--idle-action=pause",
	                (char *)"--wall-time=2h",
	                (char *)"--cpu-time=90s",
	                (char *)"--cleanup-delay=10ms",
	                (char *)"--annotation=why=a note=b"};
	struct run_options options;
	bool help;
	int first;

	run_options_init(&options);
	assert_int_equal(options_parse(&run, ARRAY_SIZE(argv), argv, &options, &help, &first, NULL),
	                 0);
	assert_true(options.life.linger);
	assert_string_equal(options.name, "box");
	assert_int_equal(options.labels_count, 2);
	assert_string_equal(options.labels[1], "c=");
	assert_int_equal(options.annotations_count, 1);
	assert_string_equal(options.annotations[0], "why=a note=b");
	assert_int_equal(options.life.idle_ms, 300000);
	assert_int_equal(options.life.idle_action, YETT_IDLE_PAUSE);
	assert_int_equal(options.life.wall_ms, 7200000);
	assert_int_equal(options.life.cpu_ms, 90000);
	assert_int_equal(options.life.cleanup_ms, 10);
	run_options_free(&options);
}

TEST(create_and_exec_take_no_option_that_run_does_not)
{
	static const struct option *const tables[] = {create_options, exec_options};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct option *option = tables[i]; option->name; option++) {
			const struct option *same = run_options;

			while (same->name && strcmp(same->name, option->name) != 0)
				same++;
			assert_non_null(same->name);
			assert_ptr_equal(same->set, option->set);
			assert_string_equal(same->help, option->help);
		}
	}
}

TEST_MAIN(NULL, NULL)
