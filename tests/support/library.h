/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of libyett against a real service share: the error of the last call, which fails a
 * test with what the library said. */
#pragma once

#include <string.h>

#include <yett.h>

#include "tests/support/testing.h"

#define ARGV(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV("sh", "-c", script)

static struct yett_error error;

#define assert_done(call)                                                                      \
	do {                                                                                   \
		int done_r = (call);                                                           \
		if (done_r)                                                                    \
			fail_msg("%s: %d %s; %s", #call, done_r, error.message, error.detail); \
	} while (0)

/* It fails because the system call behind it did with this errno(3). */
#define assert_failed(call, number)                                                         \
	do {                                                                                \
		int failed_r = (call);                                                      \
		if (failed_r != YETT_E_FILE_OPERATION_FAILED || error.os_error != (number)) \
			fail_msg("%s: %d %s; %s; %d", #call, failed_r, error.message,       \
			         error.detail, error.os_error);                             \
	} while (0)

/* It fails with this code, and says this in message or detail. */
#define assert_refused(call, code_expected, text)                                                 \
	do {                                                                                      \
		int refused_r = (call);                                                           \
		if (refused_r != (int)(code_expected) ||                                          \
		    (!strstr(error.message, text) && !strstr(error.detail, text)))                \
			fail_msg("%s: %d %s; %s", #call, refused_r, error.message, error.detail); \
	} while (0)
