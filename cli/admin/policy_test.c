/* SPDX-License-Identifier: Apache-2.0 */
/* See policy_test.h. */
#include "cli/admin/policy_test.h"

#include <stdio.h>
#include <string.h>

#include "cli/admin/policy_ask.h"
#include "cli/admin/test_file.h"
#include "cli/connect.h"
#include "cli/output.h"

/* The policy's answer to one request. */
struct reported {
	bool is_allowed;
	/*
	 * The explanation of what is allowed, or its JSON document, with runs of spaces reduced to
	 * one.
	 */
	char *text;
	struct yett_error error;
};

/* Reduces runs of spaces to one, so that strstr(3) can find phrases. */
static void squeeze(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++)
		if (*from != ' ' || to == text || to[-1] != ' ')
			*to++ = *from;
	*to = '\0';
}

/*
 * Builds the text by which an answer names the rule `by`: "grant 'x'" or "profile 'x'" as a whole,
 * or a key of one, such as "memory of profile 'x'". Returns a negative number if memory is short.
 */
static int word_of_answer(const char *by, char **ret_word)
{
	static const char *const sections[] = {"grant", "profile"};

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		size_t length = strlen(sections[i]);
		const char *name = by + length + 2;

		if (strncmp(by, sections[i], length) != 0 || strncmp(by + length, " '", 2) != 0)
			continue;
		if (!output_json())
			return asprintf(ret_word, "\n %s (", by);
		return asprintf(ret_word, "\"%s\":{\"name\":\"%.*s\",", sections[i],
		                (int)strcspn(name, "'"), name);
	}
	return output_json() ? asprintf(ret_word, "{\"rule\":\"%s\",", by)
	                     : asprintf(ret_word, " %s (", by);
}

static bool rests_on(const struct reported *reported, const char *by)
{
	_cleanup_free_ char *wanted = NULL;

	if (!reported->is_allowed)
		return strcmp(reported->error.rule, by) == 0;
	return word_of_answer(by, &wanted) >= 0 && strstr(reported->text, wanted);
}

/* Returns 0, or a code if the policy could not be asked. */
static int policy_test_ask(const char *policy, struct test_case *test,
                           struct reported *ret_reported)
{
	const struct policy_choice choice = {.user = test->user,
	                                     .groups = test->groups,
	                                     .key = test->key,
	                                     .at = test->at,
	                                     .file = policy,
	                                     .is_agents = test->agent &&
	                                                  strcmp(test->agent, "true") == 0,
	                                     .is_own_key = true};
	struct reported reported = {0};
	bool is_reported;
	int r = policy_ask_words(&choice, test->words_count, test->words, &reported.text,
	                         &is_reported, &reported.error);

	reported.is_allowed = r == 0;
	if (reported.text)
		squeeze(reported.text);
	*ret_reported = reported;
	return is_reported ? 0 : r;
}

static const char *word(bool is_allowed)
{
	return is_allowed ? "allowed" : "refused";
}

static void print_difference(const char *path, const struct test_case *test,
                             const struct reported *reported, bool is_as_expected)
{
	output_text(stdout, path, false);
	(void)printf(":%u: '", test->line);
	output_text(stdout, test->name, false);
	(void)printf("': ");
	if (!is_as_expected)
		(void)printf("%s, and expected to be %s", word(reported->is_allowed), test->expect);
	else
		(void)printf("%s as expected, by %s and not by ", test->expect,
		             reported->is_allowed ? "other lines" : reported->error.rule);
	if (is_as_expected)
		output_text(stdout, test->by, false);
	(void)fputc('\n', stdout);
	if (!reported->is_allowed) {
		(void)fputs("  ", stdout);
		output_text(stdout, reported->error.message, false);
		(void)fputs(reported->error.detail[0] ? "\n  " : "\n", stdout);
		output_text(stdout, reported->error.detail, false);
		(void)fputs(reported->error.detail[0] ? "\n" : "", stdout);
	} else {
		output_text(stdout, reported->text, true);
	}
}

static void put_case(struct json *json, const struct test_case *test,
                     const struct reported *reported, bool differs)
{
	json_open(json, NULL, '{');
	json_text(json, "name", test->name);
	json_number(json, "line", test->line);
	json_bool(json, "expected", strcmp(test->expect, "allowed") == 0);
	json_text(json, "expected_by", test->by);
	json_bool(json, "allowed", reported->is_allowed);
	output_json_error(json, "refusal", &reported->error);
	json_bool(json, "differs", differs);
	json_close(json);
}

/*
 * Returns an exit status: 0 as expected, EXIT_FAILED if it differs, EXIT_USAGE if the policy could
 * not be asked.
 */
static int policy_test_judge(const char *policy, const char *path, struct test_case *test)
{
	struct reported reported;
	bool is_as_expected, differs;

	if (policy_test_ask(policy, test, &reported) != 0) {
		if (!output_json())
			output_note("%s:%u: '%s' cannot be told", path, test->line, test->name);
		output_error(&reported.error);
		yett_free(reported.text);
		return EXIT_USAGE;
	}
	is_as_expected = strcmp(test->expect, word(reported.is_allowed)) == 0;
	differs = !is_as_expected || (test->by && !rests_on(&reported, test->by));
	if (output_json())
		put_case(output_json(), test, &reported, differs);
	else if (differs)
		print_difference(path, test, &reported, is_as_expected);
	yett_free(reported.text);
	return differs ? EXIT_FAILED : 0;
}

int policy_test(const char *policy, const char *path)
{
	struct test_file file = {0};
	struct yett_error error = {0};
	size_t differing = 0;
	int code = 0;

	if (test_file_read(path, &file, &error)) {
		output_error(&error);
		return EXIT_USAGE;
	}
	if (output_json()) {
		json_text(output_json(), "file", path);
		json_open(output_json(), "tests", '[');
	}
	for (size_t i = 0; i < file.count && code != EXIT_USAGE; i++) {
		int one = policy_test_judge(policy, path, &file.cases[i]);

		differing += one == EXIT_FAILED;
		code = one ? one : code;
	}
	if (output_json()) {
		json_close(output_json());
		json_number(output_json(), "differing", differing);
	} else if (code != EXIT_USAGE) {
		output_text(stdout, path, false);
		(void)printf(": %zu test%s, ", file.count, file.count == 1 ? "" : "s");
		(void)(differing ? printf("%zu not as expected\n", differing)
		                 : printf("all as expected\n"));
	}
	test_file_clear(&file);
	return code;
}
