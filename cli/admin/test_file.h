/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of `yett policy test`: requests, and how the policy should decide each.
 *
 *   test "builds may not have all the memory" {
 *     user = alice  groups = {users, ci}  key = laptop
 *     request = "yett run --memory 64G -- make"
 *     expect = refused  by = "max_memory of grant 'everyone'"
 *   }
 *
 * The syntax is that of a policy: words, texts in quotes on one line, lists in braces, comments
 * that begin with #. Runs as the caller, and reads the caller's files.
 */
#pragma once

#include "base/error.h"

#define TEST_FILE_WORDS_MAX 256 /* words in a request */

struct test_case {
	/* NULL: not given. Commas separate several groups. */
	char *name, *user, *groups, *key, *agent, *at, *by;
	/* The words of the request without "yett run". They point into `request`. */
	char *words[TEST_FILE_WORDS_MAX + 1];
	int words_count;
	char *request, *expect;
	unsigned line;
};

struct test_file {
	struct test_case *cases;
	size_t count;
};

/*
 * Returns 0, YETT_E_FILE_OPERATION_FAILED, or YETT_E_INVALID_REQUEST with a message "FILE:LINE: …".
 * The file may be at most 1 MiB.
 */
_must_check_ int test_file_read(const char *path, struct test_file *ret_file,
                                struct yett_error *error);

void test_file_clear(struct test_file *file);
