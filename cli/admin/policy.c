/* SPDX-License-Identifier: Apache-2.0 */
/* See policy.h. */
#include "cli/admin/policy.h"

#include <stdarg.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/output.h"
#include "cli/admin/policy_ask.h"
#include "cli/admin/policy_test.h"
#include "cli/run/run_parts.h"
#include "base/near.h"
#include "libclient/yett.h"

#define EXIT_NOTED 3

OPTION_TEXT(policy_set_user, struct policy_choice, user)
OPTION_TEXT(set_key, struct policy_choice, key)
OPTION_TEXT(set_file, struct policy_choice, file)
OPTION_TEXT(set_at, struct policy_choice, at)
OPTION_FLAG(policy_set_effective, struct policy_choice, is_effective)
OPTION_FLAG(set_origin, struct policy_choice, is_origin)
OPTION_FLAG(set_strict, struct policy_choice, is_strict)
OPTION_FLAG(set_agent, struct policy_choice, is_agents)

#define OF_WHOM                                                                                  \
	{0, "user", "USER", "ask for this user, by name or uid (you)", policy_set_user},         \
		{0, "key", "KEY", "ask with this key: its enrolled name, or a public key file",  \
	         set_key},                                                                       \
	{                                                                                        \
		0, "policy", "FILE",                                                             \
			"use this policy, and conf.d beside it (" YETT_POLICY_PATH ")", set_file \
	}

const struct option policy_options[] = {
	OF_WHOM,
	{0, "at", "DATE", "ask as of this date: 2026-12-31, or 2026-12-31T18:00:00Z", set_at},
	{0, "agent", NULL, "explain: ask as the user's agent would", set_agent},
	{0, "effective", NULL, "show: print what is in force for the user, grant by grant",
         policy_set_effective},
	{0, "origin", NULL, "show: print the helper's settings, and the file of each", set_origin},
	{0, "strict", NULL, "check: exit with status 3 if there are warnings", set_strict},
	{0}};
const struct option profiles_options[] = {OF_WHOM, {0}};

/* Adds the members of the answer, a JSON object, to the result. */
static void put_members(const char *object)
{
	size_t length = strlen(object);

	if (length > 2)
		json_raw(output_json(), NULL, object + 1, length - 2);
}

/* Prints every line but the last as a note. Returns EXIT_NOTED if there are notes. */
static int print_check(char *text)
{
	char *line = text, *end;

	for (; (end = strchr(line, '\n')) && end[1]; line = end + 1) {
		*end = '\0';
		output_note("%s", line);
	}
	output_text(stdout, line, true);
	return line == text ? 0 : EXIT_NOTED;
}

/* Reports wrong usage. */
_printf_(1, 2) static int misused(const char *format, ...)
{
	struct yett_error error;
	char text[sizeof error.message];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s", text);
	output_error(&error);
	return EXIT_USAGE;
}

static int policy_print_text(char *text)
{
	output_text(stdout, text, true);
	return 0;
}

/* Returns what print_check() would return, for an answer that was printed as JSON. */
static int judge_notes(const struct policy_arguments *arguments)
{
	_cleanup_(connect_freep) char *text = NULL;
	struct yett_error error = {0};
	const char *end;

	if (policy_ask_text(arguments, false, &text, &error) != 0) {
		output_error(&error);
		return EXIT_FAILED;
	}
	end = strchr(text, '\n');
	return end && end[1] ? EXIT_NOTED : 0;
}

/*
 * Asks, and prints the answer: with `print`, which returns the exit status, or into the document.
 * Returns an exit status.
 */
static int print_answer(const struct policy_arguments *arguments, int (*print)(char *text))
{
	_cleanup_(connect_freep) char *text = NULL;
	struct yett_error error = {0};

	if (policy_ask_text(arguments, output_json(), &text, &error)) {
		output_error(&error);
		return EXIT_FAILED;
	}
	if (!output_json())
		return print(text);
	put_members(text);
	return 0;
}

static int cli_policy_check(const struct policy_choice *choice, int argc, char **argv)
{
	struct policy_arguments arguments = {.words = {"--check"}, .count = 1};
	int code;

	if (argc > 1)
		return misused("policy check does not know what to do with %s", argv[1]);
	if (choice->user || choice->key)
		return misused(
			"policy check is for all users and keys: --user and --key are of policy explain");
	policy_ask_add_choice(&arguments, choice);
	if (argc == 1) {
		policy_ask_add(&arguments, "--alone", NULL);
		policy_ask_add(&arguments, "--policy", argv[0]);
	}
	code = print_answer(&arguments, print_check);
	if (!choice->is_strict)
		return code == EXIT_NOTED ? 0 : code;
	return code == 0 && output_json() ? judge_notes(&arguments) : code;
}

/* Prints the refusal, which is the answer to the question. */
static int policy_report_refusal(const struct yett_error *error)
{
	if (output_json()) {
		json_bool(output_json(), "allowed", false);
		output_error(error);
		return EXIT_FAILED;
	}
	(void)fputs("refused: ", stdout);
	output_text(stdout, error->message, false);
	if (error->detail[0]) {
		(void)fputs("\n  ", stdout);
		output_text(stdout, error->detail, false);
	}
	if (error->mend[0]) {
		(void)printf("\n  %s: ", output_mend_is(error));
		output_text(stdout, error->mend, false);
	}
	(void)fputc('\n', stdout);
	return EXIT_FAILED;
}

static int report_failure(const struct yett_error *error)
{
	if (policy_ask_is_refusal(error))
		return policy_report_refusal(error);
	output_error(error);
	return EXIT_USAGE;
}

/* A user who cannot read the policy can ask the service, which applies the policy. */
static int ask_service(const struct policy_choice *choice, struct run *run)
{
	struct yett_error why = run->error;
	const struct yett_connect_options options = {
		.size = sizeof options,
		.key_path = run->options.connect.key_path,
		.socket_path = run->options.connect.socket_path,
		.flags = choice->is_agents ? YETT_CONNECT_AGENT : 0,
		.workspace = yett_workspace()};
	int r = yett_connect(&options, &run->connection, &run->error);

	if (r || yett_connection_start(run->connection) != YETT_START_SERVICE) {
		output_error(&why);
		if (r)
			output_note("nor can the service be asked: %s", run->error.message);
		return EXIT_USAGE;
	}
	output_note("%s; this is what the service says to a dry run", why.message);
	r = run_ask_plan(run);
	if (r)
		return report_failure(&run->error);
	if (output_json())
		json_bool(output_json(), "allowed", true);
	return 0;
}

static int policy_explain(const struct policy_choice *choice, struct run *run)
{
	_cleanup_(connect_freep) char *text = NULL;
	struct policy_arguments arguments = {.count = 0};
	int r;

	policy_ask_add_choice(&arguments, choice);
	run_ask_find_home(run, choice->user);
	r = run_ask_choose_share(run);
	if (r == 0)
		r = policy_ask_connect(&arguments, run->options.connect.key_path, &run->connection,
		                       &run->error);
	if (r == YETT_E_PERMISSION_DENIED && !choice->user && !choice->key && !choice->file)
		return ask_service(choice, run);
	if (r) {
		output_error(&run->error);
		return EXIT_USAGE;
	}
	r = run_ask_text(run, &text);
	if (r)
		return report_failure(&run->error);
	if (output_json()) {
		json_bool(output_json(), "allowed", true);
		put_members(text);
	} else {
		output_text(stdout, text, true);
	}
	return 0;
}

static int explain_main(const struct policy_choice *choice, int argc, char **argv)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	int code, first;

	if (!run)
		return EXIT_USAGE;
	run_options_init(&run->options);
	code = options_begin(&policy_ask_as_run, argc, argv, &run->options, EXIT_USAGE, &first);
	if (code < 0)
		code = policy_explain(choice, run);
	yett_connection_close(run->connection);
	run_options_free(&run->options);
	return code;
}

static int policy_show(const struct policy_choice *choice, int argc, char **argv)
{
	struct policy_arguments arguments = {
		.words = {choice->is_origin ? "--origin" : "--effective"}, .count = 1};

	if (argc > 0)
		return misused("policy show does not know what to do with %s", argv[0]);
	if (choice->is_effective == choice->is_origin)
		return misused(
			"policy show prints what is in force for a user, or the helper's settings: yett policy show --effective [--user USER], yett policy show --origin");
	if (choice->is_origin && (choice->user || choice->key || choice->at))
		return misused("policy show --origin is of the helper, for all users and keys");
	policy_ask_add_choice(&arguments, choice);
	if (!choice->key && choice->is_effective)
		policy_ask_add(&arguments, "--own-key", NULL);
	return print_answer(&arguments, policy_print_text);
}

static int test(const struct policy_choice *choice, int argc, char **argv)
{
	if (argc != 1)
		return misused("policy test takes one file of tests");
	if (choice->user || choice->key || choice->at)
		return misused(
			"policy test is about the users, keys and dates that the file names: --user, --key and --at are of policy explain");
	return policy_test(choice->file, argv[0]);
}

int policy_main(const struct subcommand *self, int argc, char **argv)
{
	static const char *const words[] = {"check", "explain", "show", "test"};
	struct policy_choice choice = {0};
	const char *near;
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (choice.is_agents && strcmp(argv[first], "explain") != 0)
		return misused("only policy explain takes --agent");
	if (choice.is_strict && strcmp(argv[first], "check") != 0)
		return misused("only policy check takes --strict");
	if ((choice.is_origin || choice.is_effective) && strcmp(argv[first], "show") != 0)
		return misused("only policy show takes --effective and --origin");
	if (strcmp(argv[first], "check") == 0)
		return cli_policy_check(&choice, argc - first - 1, argv + first + 1);
	if (strcmp(argv[first], "explain") == 0)
		return explain_main(&choice, argc - first - 1, argv + first + 1);
	if (strcmp(argv[first], "show") == 0)
		return policy_show(&choice, argc - first - 1, argv + first + 1);
	if (strcmp(argv[first], "test") == 0)
		return test(&choice, argc - first - 1, argv + first + 1);
	near = near_word(argv[first], words, ARRAY_SIZE(words));
	if (near)
		return misused("policy has no %s: did you mean yett policy %s?", argv[first], near);
	return misused(
		"policy has no %s: yett policy check [FILE] checks the policy, explain asks it about a run, show --effective prints a user's rules, show --origin the helper's settings, test FILE runs tests",
		argv[first]);
}

int profiles_main(const struct subcommand *self, int argc, char **argv)
{
	struct policy_arguments arguments = {.words = {"--profiles"}, .count = 1};
	struct policy_choice choice = {0};
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	policy_ask_add_choice(&arguments, &choice);
	return print_answer(&arguments, policy_print_text);
}
