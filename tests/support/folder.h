/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a test on disk, and the removal of the directory that has them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/testing.h"

/* Writes the file anew, with just this mode. What fails fails the test. */
static inline void folder_write(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* Removes a directory with all that is in it. Returns 0, or the status that rm(1) ended with. */
static inline int folder_remove(const char *path)
{
	char command[256];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", path);
	return system(command);
}
