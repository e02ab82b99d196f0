/* Options as tables: parsing and help follow the same one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/run_options.h"

static const struct subcommand run = {"run", "[--] COMMAND [ARG…]", "Run", run_options, 1, -1, run_main};
static struct run_options options;
static struct yett_error error;
static int first;

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static int parse(const char *const *argv)
{
	int argc = 0;
	bool help;

	while (argv[argc])
		argc++;
	run_options_free(&options);
	run_options_init(&options);
	return options_parse(&run, argc, (char **)argv, &options, &help, &first, &error);
}

static int free_options(void **state)
{
	(void)state;
	run_options_free(&options);
	memset(&options, 0, sizeof options);
	return 0;
}

static void help_lists_every_option(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	char name[64];

	(void)state;
	options_print_help(file, &run);
	assert_int_equal(fclose(file), 0);
	for (const struct option *o = run_options; o->name; o++) {
		(void)snprintf(name, sizeof name, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
		assert_non_null(strstr(text, name));
		assert_non_null(strstr(text, o->help));
	}
	free(text);
}

static void every_option_of_run_is_understood(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-p", "strict", "--ro", "/usr", "--rw=/tmp:/t", "--tmpfs", "/s:1M", "-C", "/t", "-eA=1",
			       "--env", "B=2", "--hostname", "h", "--memory", "64M", "--cpus", "1.5", "--pids", "9",
			       "--files", "20", "--timeout", "2s", "--key", "/k", "--dry-run", "--socket", "/s", "--copy-in", "a:b:/c",
			       "--copy-out", "/d:e:f", "--",
			       "-x", "y"),
			 0);
	assert_int_equal(first, 34);
	assert_string_equal(options.copies_in[0].from, "a:b");
	assert_string_equal(options.copies_in[0].to, "/c");
	assert_string_equal(options.copies_out[0].from, "/d");
	assert_string_equal(options.copies_out[0].to, "e:f");
	assert_string_equal(options.profile, "strict");
	assert_int_equal(options.shares_count, 2);
	assert_false(options.shares[0].writable);
	assert_true(options.shares[1].writable);
	assert_string_equal(options.shares[1].target, "/t");
	assert_string_equal(options.tmpfs[0].target, "/s");
	assert_int_equal(options.tmpfs[0].size_bytes, 1 << 20);
	assert_string_equal(options.env[1], "B=2");
	assert_int_equal(options.limits.memory_bytes, 64 << 20);
	assert_int_equal(options.limits.cpu_millis, 1500);
	assert_int_equal(options.limits.pids, 9);
	assert_int_equal(options.limits.files, 20);
	assert_int_equal(options.timeout_ms, 2000);
	assert_string_equal(options.connect.key_path, "/k");
	assert_true(options.dry_run);
	assert_string_equal(options.connect.socket_path, "/s");
}

static void options_end_at_the_command(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--pids", "1", "ls", "--pids", "x"), 0);
	assert_int_equal(first, 2);
	assert_int_equal(options.limits.pids, 1);
}

static void wrong_options_are_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--memry", "1", "ls"), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "--memry"));
	assert_int_equal(PARSE("--mem", "1", "ls"), YETT_E_INVALID_REQUEST);
	assert_int_equal(PARSE("-x", "ls"), YETT_E_INVALID_REQUEST);
	assert_int_equal(PARSE("--dry-run=yes", "ls"), YETT_E_INVALID_REQUEST);
	assert_int_equal(PARSE("--memory"), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "SIZE"));
	assert_int_equal(PARSE("--pids", "3"), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "COMMAND"));
}

static void wrong_values_are_refused_with_what_was_expected(void **state)
{
	static const char *const rows[][2] = {{"--memory", "lots"}, {"--memory", "0"},	     {"--memory", "-1"},
					      {"--cpus", "0"},	    {"--cpus", "1.5x"},	     {"--pids", "0"},
					      {"--pids", "1k"},	    {"--files", ""},	     {"--timeout", "5"},
					      {"--tmpfs", "x"},	    {"-e", "NOVALUE"},	     {"-e", "=x"},
					      {"-C", "relative"},   {"--ro", "/nonexistent"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_not_equal(PARSE(rows[i][0], rows[i][1], "ls"), 0);
		assert_true(error.message[0]);
	}
}

static void exit_codes_are_those_of_shells(void **state)
{
	struct yett_error e = {.code = YETT_E_COMMAND_FAILED, .error_number = ENOENT};

	(void)state;
	assert_int_equal(run_exit_code_of_error(&e), 127);
	e.error_number = EACCES;
	assert_int_equal(run_exit_code_of_error(&e), 126);
	(void)strcpy(e.step, "working-directory");
	assert_int_equal(run_exit_code_of_error(&e), 125);
	e = (struct yett_error){.code = YETT_E_PERMISSION_DENIED, .error_number = ENOENT};
	assert_int_equal(run_exit_code_of_error(&e), 125);
}

static void kernel_releases_are_compared_as_numbers(void **state)
{
	(void)state;
	assert_true(doctor_kernel_is("5.19.0-1-amd64", 5, 19));
	assert_true(doctor_kernel_is("6.1.0", 5, 19));
	assert_true(doctor_kernel_is("5.100", 5, 19));
	assert_false(doctor_kernel_is("5.9.1", 5, 19));
	assert_false(doctor_kernel_is("4.99", 5, 19));
	assert_false(doctor_kernel_is("", 5, 19));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(help_lists_every_option, free_options),
		cmocka_unit_test_teardown(every_option_of_run_is_understood, free_options),
		cmocka_unit_test_teardown(options_end_at_the_command, free_options),
		cmocka_unit_test_teardown(wrong_options_are_refused_by_name, free_options),
		cmocka_unit_test_teardown(wrong_values_are_refused_with_what_was_expected, free_options),
		cmocka_unit_test(exit_codes_are_those_of_shells),
		cmocka_unit_test(kernel_releases_are_compared_as_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
