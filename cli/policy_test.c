/* See policy_test.h. */
#include "cli/policy_test.h"

#include <stdio.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/output.h"
#include "cli/policy.h"
#include "cli/test_file.h"

/* The policy's answer to one request. */
struct told {
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

static bool rests_on(const struct told *told, const char *by)
{
	_cleanup_free_ char *wanted = NULL;

	if (!told->is_allowed)
		return strcmp(told->error.rule, by) == 0;
	return word_of_answer(by, &wanted) >= 0 && strstr(told->text, wanted);
}

/* Returns 0, or a code if the policy could not be asked. */
static int ask(const char *policy, struct test_case *test, struct told *ret_told)
{
	const struct policy_choice choice = {.user = test->user,
	                                     .groups = test->groups,
	                                     .key = test->key,
	                                     .at = test->at,
	                                     .file = policy,
	                                     .is_agents = test->agent &&
	                                                  strcmp(test->agent, "true") == 0,
	                                     .is_own_key = true};
	struct told told = {0};
	bool is_told;
	int r = policy_explain_words(&choice, test->words_count, test->words, &told.text, &is_told,
	                             &told.error);

	told.is_allowed = r == 0;
	if (told.text)
		squeeze(told.text);
	*ret_told = told;
	return is_told ? 0 : r;
}

static const char *word(bool is_allowed)
{
	return is_allowed ? "allowed" : "refused";
}

static void print_difference(const char *path, const struct test_case *test,
                             const struct told *told, bool is_as_expected)
{
	output_text(stdout, path, false);
	(void)printf(":%u: '", test->line);
	output_text(stdout, test->name, false);
	(void)printf("': ");
	if (!is_as_expected)
		(void)printf("%s, and expected to be %s", word(told->is_allowed), test->expect);
	else
		(void)printf("%s as expected, by %s and not by ", test->expect,
		             told->is_allowed ? "other lines" : told->error.rule);
	if (is_as_expected)
		output_text(stdout, test->by, false);
	(void)fputc('\n', stdout);
	if (!told->is_allowed) {
		(void)fputs("  ", stdout);
		output_text(stdout, told->error.message, false);
		(void)fputs(told->error.detail[0] ? "\n  " : "\n", stdout);
		output_text(stdout, told->error.detail, false);
		(void)fputs(told->error.detail[0] ? "\n" : "", stdout);
	} else {
		output_text(stdout, told->text, true);
	}
}

static void put_case(struct json *json, const struct test_case *test, const struct told *told,
                     bool differs)
{
	json_open(json, NULL, '{');
	json_text(json, "name", test->name);
	json_number(json, "line", test->line);
	json_bool(json, "expected", strcmp(test->expect, "allowed") == 0);
	json_text(json, "expected_by", test->by);
	json_bool(json, "allowed", told->is_allowed);
	output_json_error(json, "refusal", &told->error);
	json_bool(json, "differs", differs);
	json_close(json);
}

/*
 * Returns an exit status: 0 as expected, EXIT_FAILED if it differs, EXIT_USAGE if the policy could
 * not be asked.
 */
static int judge(const char *policy, const char *path, struct test_case *test)
{
	struct told told;
	bool is_as_expected, differs;

	if (ask(policy, test, &told) != 0) {
		if (!output_json())
			output_note("%s:%u: '%s' cannot be told", path, test->line, test->name);
		output_error(&told.error);
		yett_free(told.text);
		return EXIT_USAGE;
	}
	is_as_expected = strcmp(test->expect, word(told.is_allowed)) == 0;
	differs = !is_as_expected || (test->by && !rests_on(&told, test->by));
	if (output_json())
		put_case(output_json(), test, &told, differs);
	else if (differs)
		print_difference(path, test, &told, is_as_expected);
	yett_free(told.text);
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
		int one = judge(policy, path, &file.cases[i]);

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
