/* SPDX-License-Identifier: Apache-2.0 */
/* Which operand of `yett cp` is a path of a sandbox. */
#include <stdio.h>
#include <string.h>

#include "cli/files/copy.h"
#include "cli/files/files.h"
#include "tests/support/testing.h"

TEST(a_sandbox_and_an_absolute_path_are_told_apart)
{
	char operand[] = "web-1.a_b:/tmp/x:y/z";

	assert_string_equal(files_split(operand), "/tmp/x:y/z");
	assert_string_equal(operand, "web-1.a_b");
}

TEST(all_else_is_of_the_host)
{
	static const char *const operands[] = {
		"", ":", ":/x", "x", "x:", "x:y", "./x:/y", "/x:/y", "a/b:/c", "../a:/b"};

	for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
		char operand[32];

		(void)snprintf(operand, sizeof operand, "%s", operands[i]);
		assert_null(files_split(operand));
		assert_string_equal(operand, operands[i]);
	}
}

TEST(a_copy_goes_into_a_directory_under_the_last_name)
{
	static const struct {
		const char *from, *to, *target;
	} rows[] = {
		{"d", "/tmp", "/tmp/d"},    {"/a/d//", "/tmp", "/tmp/d"}, {"d", "/tmp/", "/tmp/d"},
		{"x.", "/tmp", "/tmp/x."},  {"..x", "/tmp", "/tmp/..x"},  {".", "/tmp", "/tmp"},
		{"./", "/tmp", "/tmp"},     {"..", "/tmp", "/tmp"},       {"../", "/tmp", "/tmp"},
		{"a/..//", "/tmp", "/tmp"}, {"/", "/tmp", "/tmp"},        {"a/.", "/tmp/", "/tmp/"},
	};
	char target[16];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(
			copy_target(rows[i].from, rows[i].to, true, target, sizeof target, NULL),
			0);
		assert_string_equal(target, rows[i].target);
		assert_int_equal(
			copy_target(rows[i].from, "/new", false, target, sizeof target, NULL), 0);
		assert_string_equal(target, "/new");
	}
	assert_int_equal(copy_target("0123456789", "/tmp/x", true, target, sizeof target, NULL),
	                 YETT_E_INVALID_REQUEST);
}

TEST_MAIN(NULL, NULL)
