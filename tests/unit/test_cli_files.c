/* Which operand of `yett cp` is a path of a sandbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/files.h"

static void a_sandbox_and_an_absolute_path_are_told_apart(void **state)
{
	char operand[] = "web-1.a_b:/tmp/x:y/z";

	(void)state;
	assert_string_equal(files_split(operand), "/tmp/x:y/z");
	assert_string_equal(operand, "web-1.a_b");
}

static void all_else_is_of_the_host(void **state)
{
	static const char *const operands[] = {"", ":", ":/x", "x", "x:", "x:y", "./x:/y", "/x:/y", "a/b:/c", "../a:/b"};

	(void)state;
	for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
		char operand[32];

		(void)snprintf(operand, sizeof operand, "%s", operands[i]);
		assert_null(files_split(operand));
		assert_string_equal(operand, operands[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sandbox_and_an_absolute_path_are_told_apart),
		cmocka_unit_test(all_else_is_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
