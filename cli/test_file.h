/*
 * The files of `yett policy test`: what somebody asks for, and what the policy is expected to say.
 *
 *   test "builds may not have all the memory" {
 *     user = alice  groups = {users, ci}  key = laptop
 *     request = "yett run --memory 64G -- make"
 *     expect = refused  by = "max_memory of grant 'everyone'"
 *   }
 *
 * In the syntax of a policy: words, texts in quotes on one line, lists in braces, comments from #
 * on. Runs as the caller, whose files they are.
 */
#pragma once

#include "base/error.h"

#define TEST_FILE_WORDS_MAX 256 /* of a request */

struct test_case {
	char *name, *user, *groups, *key, *agent, *at,
		*by; /* NULL: not written; of several groups, commas between them */
	char *words[TEST_FILE_WORDS_MAX +
	            1]; /* of the request, without "yett run"; they lie in `request` */
	int words_count;
	char *request, *expect;
	unsigned line;
};

struct test_file {
	struct test_case *cases;
	size_t count;
};

/* 0, YETT_E_FILE_OPERATION_FAILED, or YETT_E_INVALID_REQUEST with "FILE:LINE: what". The file has
 * at most 1 MiB. */
_must_check_ int test_file_read(const char *path, struct test_file *ret_file,
                                struct yett_error *error);

void test_file_clear(struct test_file *file);
