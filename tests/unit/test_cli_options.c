/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: parsing and help follow the same one. */
#include <string.h>

#include "cli/admin/doctor.h"
#include "cli/options.h"
#include "cli/run/run.h"
#include "cli/run/run_option_table.h"
#include "cli/run/run_options.h"
#include "cli/run/run_report.h"
#include "cli/suggest.h"
#include "tests/support/testing.h"

static struct option_seen {
	bool a, b;
	const char *value;
} seen;

OPTION_FLAG(set_a, struct option_seen, a)
OPTION_FLAG(set_b, struct option_seen, b)
OPTION_TEXT(set_value, struct option_seen, value)

static const struct option few[] = {{'a', "all", NULL, "", set_a},
                                    {'b', "both", NULL, "", set_b},
                                    {'v', "value", "V", "", set_value},
                                    {0}};

static const struct subcommand run = {
	"run", "[--] COMMAND [ARG…]", "Run", run_options, 1, -1, run_main, true};
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

TEST_WITH(help_lists_every_option, NULL, free_options)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	char name[64];

	options_print_help(file, &run, true);
	assert_int_equal(fclose(file), 0);
	for (const struct option *o = run_options; o->name; o++) {
		(void)snprintf(name, sizeof name, "--%s%s%s", o->name, o->value ? " " : "",
		               o->value ? o->value : "");
		assert_non_null(strstr(text, name));
		assert_non_null(strstr(text, o->help));
	}
	free(text);
}

TEST_WITH(every_option_of_run_is_understood, NULL, free_options)
{
	assert_int_equal(PARSE("-p", "strict", "--ro", "/usr", "--rw=/tmp:/t", "--tmpfs", "/s:1M",
	                       "-C", "/t", "-eA=1", "--env", "B=2", "--hostname", "h", "--memory",
	                       "64M", "--cpus", "1.5", "--pids", "9", "--files", "20",
	                       "--file-size", "2G", "--core", "3G", "--timeout", "2s", "--key",
	                       "/k", "--dry-run", "--socket", "/s", "--share-socket", "/tmp:/run/s",
	                       "--copy-in", "a:b:/c", "--copy-out", "/d:e:f", "--", "-x", "y"),
	                 0);
	assert_int_equal(first, 40);
	assert_string_equal(options.copies_in[0].from, "a:b");
	assert_string_equal(options.copies_in[0].to, "/c");
	assert_string_equal(options.copies_out[0].from, "/d");
	assert_string_equal(options.copies_out[0].to, "e:f");
	assert_string_equal(options.profile, "strict");
	assert_int_equal(options.shares_count, 3);
	assert_int_equal(options.shares[2].flags, YETT_SHARE_SOCKET);
	assert_string_equal(options.shares[2].target, "/run/s");
	assert_int_equal(options.shares[0].flags, 0);
	assert_int_equal(options.shares[1].flags, YETT_SHARE_WRITABLE);
	assert_string_equal(options.shares[1].target, "/t");
	assert_string_equal(options.tmpfs[0].target, "/s");
	assert_int_equal(options.tmpfs[0].size_bytes, 1 << 20);
	assert_string_equal(options.env[1], "B=2");
	assert_int_equal(options.limits.memory_bytes, 64 << 20);
	assert_int_equal(options.limits.cpu_millis, 1500);
	assert_int_equal(options.limits.pids, 9);
	assert_int_equal(options.limits.files, 20);
	assert_int_equal(options.limits.file_bytes, UINT64_C(2) << 30);
	assert_int_equal(options.limits.core_bytes, UINT64_C(3) << 30);
	assert_int_equal(options.timeout_ms, 2000);
	assert_string_equal(options.connect.key_path, "/k");
	assert_true(options.dry_run);
	assert_string_equal(options.connect.socket_path, "/s");
}

TEST_WITH(rules_are_read_and_what_is_wrong_with_one_is_told_of_its_option, NULL, free_options)
{
	static const struct {
		const char *option, *value, *message, *mend;
	} wrong[] = {
		{"--allow", ":443", "--allow ':443' names no host", "write HOST:PORT"},
		{"--allow", "a..b", "--allow 'a..b' has an empty label", "write one dot"},
		{"--deny", "1.2.3.4/33",
	         "--deny '1.2.3.4/33' has a prefix that no such address has", "write /0 to /32"},
		{"--allow", "a.org:0", "--allow 'a.org:0' has no port that there is",
	         "from 1 to 65535"},
		{"--allow", "a.org:70000", "--allow 'a.org:70000' has no port that there is",
	         "from 1 to 65535"},
		{"--deny", "key.inject.internal", "--deny 'key.inject.internal' is reserved",
	         "inject.internal"},
		{"--allow", "https://a.org/x", "is a URL", "write a.org:443"},
		{"--allow", "a\xff.org", "--allow 'a\\xff.org' is no name that DNS can have",
	         "xn--"},
		{"--net", "hosts", "--net hosts: expected none, limited, ask, open or host", ""},
	};
	const char *many[2 * 257 + 2] = {NULL};

	assert_int_equal(PARSE("--net", "limited", "--allow", "a.org:443", "--deny", "b.a.org",
	                       "--allow",
	                       "B\xc3\xbc"
	                       "cher.example:1",
	                       "x"),
	                 0);
	assert_int_equal(options.network, YETT_NETWORK_LIMITED);
	assert_int_equal(options.allow_count, 2);
	assert_string_equal(options.allow[0], "a.org:443");
	assert_string_equal(options.allow[1], "xn--bcher-kva.example:1");
	assert_int_equal(options.deny_count, 1);
	assert_string_equal(options.deny[0], "b.a.org");
	assert_int_equal(PARSE("--net", "host", "x"), 0);
	assert_int_equal(options.network, YETT_NETWORK_HOST);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(PARSE(wrong[i].option, wrong[i].value, "x"),
		                 YETT_E_INVALID_REQUEST);
		if (!strstr(error.message, wrong[i].message) || !strstr(error.mend, wrong[i].mend))
			fail_msg("%s (%s)", error.message, error.mend);
	}
	for (size_t i = 0; i < 256; i++) {
		many[2 * i] = i % 2 ? "--allow" : "--deny";
		many[2 * i + 1] = "a.org";
	}
	many[2 * 256] = "x";
	assert_int_equal(parse(many), 0);
	many[2 * 256] = "--allow";
	many[2 * 256 + 1] = "b.org";
	assert_int_equal(parse(many), YETT_E_INVALID_REQUEST);
	assert_string_equal(error.message, "more than 256 of --allow and --deny together");
}

TEST_WITH(options_end_at_the_command, NULL, free_options)
{
	assert_int_equal(PARSE("--pids", "1", "ls", "--pids", "x"), 0);
	assert_int_equal(first, 2);
	assert_int_equal(options.limits.pids, 1);
}

/* The operands, one after the other, as `few` reads them; "!" when it refuses. */
static const char *operands_of(bool takes_command, const char *line)
{
	static char text[128], words[128];
	const struct subcommand subcommand = {"few", "", "", few, 2, -1, NULL, takes_command};
	char *argv[16];
	int argc = 0;
	bool help;

	(void)snprintf(words, sizeof words, "%s", line);
	for (char *rest = words, *word; (word = strsep(&rest, " "));)
		argv[argc++] = word;
	memset(&seen, 0, sizeof seen);
	text[0] = '\0';
	if (options_parse(&subcommand, argc, argv, &seen, &help, &first, &error))
		return "!";
	for (int i = first; i < argc; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
		               i > first ? " " : "", argv[i]);
	return text;
}

TEST(options_stand_before_operands_or_behind_them)
{
	assert_string_equal(operands_of(false, "x -a y -v 1 z --both"), "x y z");
	assert_true(seen.a && seen.b);
	assert_string_equal(seen.value, "1");
	assert_string_equal(operands_of(false, "x -- -a y"), "x -a y");
	assert_false(seen.a);
	assert_string_equal(operands_of(false, "x - y -b"), "x - y");
	assert_string_equal(operands_of(false, "-a x --value"), "!");
	assert_string_equal(operands_of(false, "x y -c"), "!");
}

TEST(what_follows_a_command_is_its_own)
{
	assert_string_equal(operands_of(true, "x -a y -b -v"), "x y -b -v");
	assert_true(seen.a && !seen.b);
	assert_string_equal(operands_of(true, "x -v 1 -- -b"), "x -b");
	assert_string_equal(seen.value, "1");
	assert_string_equal(operands_of(true, "-- x y -- -a"), "x y -- -a");
	assert_false(seen.a);
}

TEST(letters_share_a_word)
{
	assert_string_equal(operands_of(false, "-abv1 x y"), "x y");
	assert_true(seen.a && seen.b);
	assert_string_equal(seen.value, "1");
	assert_string_equal(operands_of(false, "x y -v=1"), "x y");
	assert_string_equal(seen.value, "1");
	assert_string_equal(operands_of(false, "x y -av 2"), "x y");
	assert_string_equal(seen.value, "2");
	assert_string_equal(operands_of(false, "x y -v="), "!");
	assert_string_equal(operands_of(false, "x y -axb"), "!");
}

TEST(what_was_meant_is_suggested)
{
	static const struct {
		const char *word, *hint;
	} options_[] = {{"--memry", "--memory?"},      {"--mem", "--memory?"},
	                {"--tiemout=5", "--timeout?"}, {"--lingr", "--linger?"},
	                {"-it", "-t gives"},           {"-v", "--ro PATH"},
	                {"--ro-bind", "--ro PATH"},    {"--unshare-net", "anyway"}},
	  words[] = {{"rn", "yett run?"},
	             {"craete", "yett create?"},
	             {"rm", "yett destroy"},
	             {"stop", "yett destroy"},
	             {"-p", "behind"},
	             {"python3", "yett run -- python3"},
	             {"bogus", "yett run -- bogus"}};
	static const char *const names[] = {"run", "create", "exec", "ps", "logs"};
	const char *of_run[64];
	char hint[256];
	size_t count = 0;

	for (const struct option *o; count < ARRAY_SIZE(of_run) && (o = options_at(&run, count));
	     count++)
		of_run[count] = o->name;
	for (size_t i = 0; i < ARRAY_SIZE(options_); i++) {
		suggest_option("run", options_[i].word, of_run, count, hint, sizeof hint);
		assert_non_null(strstr(hint, options_[i].hint));
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		suggest_subcommand(words[i].word, names, ARRAY_SIZE(names), hint, sizeof hint);
		assert_non_null(strstr(hint, words[i].hint));
	}
	suggest_option("run", "--frobnicate", of_run, count, hint, sizeof hint);
	assert_string_equal(hint, "");
}

TEST_WITH(wrong_options_are_refused_by_name, NULL, free_options)
{
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

TEST_WITH(wrong_values_are_refused_with_what_was_expected, NULL, free_options)
{
	static const char *const rows[][2] = {
		{"--memory", "lots"}, {"--memory", "0"},       {"--memory", "-1"}, {"--cpus", "0"},
		{"--cpus", "1.5x"},   {"--pids", "0"},         {"--pids", "1k"},   {"--files", ""},
		{"--timeout", "5x"},  {"--tmpfs", "x"},        {"-e", "NOVALUE"},  {"-e", "=x"},
		{"-C", "relative"},   {"--ro", "/nonexistent"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_not_equal(PARSE(rows[i][0], rows[i][1], "ls"), 0);
		assert_true(error.message[0]);
	}
}

TEST(exit_codes_are_those_of_shells)
{
	struct yett_error e = {.code = YETT_E_COMMAND_FAILED, .os_error = ENOENT};

	assert_int_equal(run_exit_code_of_error(&e), 127);
	e.os_error = EACCES;
	assert_int_equal(run_exit_code_of_error(&e), 126);
	(void)strcpy(e.step, "working-directory");
	assert_int_equal(run_exit_code_of_error(&e), 125);
	e = (struct yett_error){.code = YETT_E_PERMISSION_DENIED, .os_error = ENOENT};
	assert_int_equal(run_exit_code_of_error(&e), 125);
}

TEST(a_way_to_the_addresses_of_names_is_found_among_routes)
{
#define HEAD "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define ALL  "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
	static const struct {
		const char *routes, *name; /* NULL: none */
	} cases[] = {
		{"", NULL},
		{HEAD, NULL},
		{HEAD ALL "eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n", NULL},
		{HEAD ALL "utun\t00000080\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n", NULL},
		{HEAD ALL "tun0\t000012C6\t00000000\t0001\t0\t0\t0\t0000FEFF\t0\t0\t0\n", "tun0"},
		{HEAD "meta\t000012C6\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n" ALL, "meta"},
		{HEAD "one\t050013C6\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n", "one"},
		{HEAD "wide\t000000C6\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n", "wide"},
		{HEAD "near\t000014C6\t00000000\t0001\t0\t0\t0\t0000FEFF\t0\t0\t0\n", NULL},
	};
	char name[16];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (doctor_routes_fakes(cases[i].routes, name) != (cases[i].name != NULL))
			fail_msg("%zu", i);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
	}
}

TEST(kernel_releases_are_compared_as_numbers)
{
	assert_true(doctor_kernel_is("5.19.0-1-amd64", 5, 19));
	assert_true(doctor_kernel_is("6.1.0", 5, 19));
	assert_true(doctor_kernel_is("5.100", 5, 19));
	assert_false(doctor_kernel_is("5.9.1", 5, 19));
	assert_false(doctor_kernel_is("4.99", 5, 19));
	assert_false(doctor_kernel_is("", 5, 19));
}

TEST_MAIN(NULL, NULL)
