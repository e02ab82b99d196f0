/* SPDX-License-Identifier: Apache-2.0 */
/* Codes, reasons and their texts. */
#include <string.h>

#include "base/error.h"
#include "base/error_rule.h"
#include "base/error_text.h"
#include "tests/support/testing.h"

TEST(every_code_has_its_own_number_and_text)
{
	bool seen[64] = {false};

#define X(name, number, retryable, text)                           \
	assert_true((number) > 0 && (number) < 64);                \
	assert_false(seen[number]);                                \
	seen[number] = true;                                       \
	assert_string_equal(error_code_text(YETT_E_##name), text); \
	assert_int_equal(error_code_retryable(YETT_E_##name), retryable);
	YETT_CODES(X)
#undef X
}

TEST(every_reason_has_its_own_number_and_name)
{
	bool seen[128] = {false};

#define X(name, number, short_name, text)                                        \
	assert_true((number) > 0 && (number) < 128);                             \
	assert_false(seen[number]);                                              \
	seen[number] = true;                                                     \
	assert_string_equal(error_reason_short_name(YETT_R_##name), short_name); \
	assert_string_equal(error_reason_text(YETT_R_##name), text);
	YETT_REASONS(X)
#undef X
}

TEST(a_long_message_is_cut_and_the_old_detail_is_gone)
{
	struct yett_error e = {0};
	char long_text[1000];

	memset(long_text, 'x', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	error_detail(&e, "old");
	assert_int_equal(error_set(&e, YETT_E_TIMEOUT, YETT_R_NONE, "%s", long_text),
	                 YETT_E_TIMEOUT);
	assert_int_equal(strlen(e.message), sizeof e.message - 1);
	assert_string_equal(e.detail, "");
	assert_int_equal(error_set(NULL, YETT_E_TIMEOUT, YETT_R_NONE, "nobody reads it"),
	                 YETT_E_TIMEOUT);
}

TEST(what_a_refusal_rests_on_goes_with_the_error_it_was_said_of)
{
	const struct error_rule rule = {"max_pids", "grant", "staff", "yett.conf",
	                                12,         "64",    "32",    false};
	struct yett_error e = {0};

	(void)error_set(&e, YETT_E_PERMISSION_DENIED, YETT_R_NONE, "refused");
	error_rest(&e, &rule);
	assert_string_equal(e.rule, "max_pids of grant 'staff'");
	assert_string_equal(e.file, "yett.conf");
	assert_int_equal(e.line, 12);
	assert_string_equal(e.asked, "64");
	assert_string_equal(e.allowed, "32");
	assert_string_equal(e.mend, "max_pids = 64 in grant 'staff' (yett.conf:12)");
	assert_string_equal(e.detail,
	                    "asked 64, allowed 32 by max_pids of grant 'staff' (yett.conf:12)");
	assert_true(error_is_sound(&e));
	memset(e.mend, 'x', sizeof e.mend);
	assert_false(error_is_sound(&e));
	(void)error_set(&e, YETT_E_TIMEOUT, YETT_R_NONE, "something else");
	assert_string_equal(e.rule, "");
	assert_string_equal(e.file, "");
	assert_int_equal(e.line, 0);
	assert_string_equal(e.asked, "");
	assert_string_equal(e.allowed, "");
	assert_string_equal(e.mend, "");
	error_rest(NULL, &rule);
	error_mend(NULL, "nobody reads it");
}

TEST(a_mend_that_does_not_fit_is_none)
{
	struct yett_error e = {0};

	error_mend(&e, "%*s", (int)sizeof e.mend - 1, "fits");
	assert_int_equal(strlen(e.mend), sizeof e.mend - 1);
	error_mend(&e, "%*s", (int)sizeof e.mend, "does not");
	assert_string_equal(e.mend, "");
}

TEST(a_cause_is_kept_until_the_next_error_and_is_always_one)
{
	struct yett_error e = {0};

	(void)error_set(&e, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no");
	assert_int_equal(error_cause(&e, "stdio", EPERM), YETT_E_COMMAND_FAILED);
	assert_string_equal(e.step, "stdio");
	assert_int_equal(e.os_error, EPERM);
	assert_true(error_is_sound(&e));
	assert_int_equal(error_cause(&e, NULL, 0x41414141),
	                 YETT_E_COMMAND_FAILED); /* as a hostile process says it */
	assert_string_equal(e.step, "");
	assert_int_equal(e.os_error, 0);
	e.os_error = -1;
	assert_false(error_is_sound(&e));
	(void)error_cause(&e, "stdio", EPERM);
	(void)error_set(&e, YETT_E_TIMEOUT, YETT_R_NONE, "later");
	assert_string_equal(e.step, "");
	assert_int_equal(e.os_error, 0);
	assert_int_equal(error_cause(NULL, "stdio", EPERM), 0);
}

TEST(a_number_of_the_kernels_own_has_a_text)
{
	assert_non_null(strstr(error_number_text(524), "no room for another filter"));
	assert_string_equal(error_number_text(ENOENT), strerror(ENOENT));
}

TEST_MAIN(NULL, NULL)
