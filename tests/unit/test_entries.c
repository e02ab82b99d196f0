/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a directory to its end, and an error on the way, which is not its end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/entries.h"
#include "tests/support/testing.h"

TEST(all_but_dots_are_read)
{
	char path[] = "/tmp/entries.XXXXXX", file[64];
	const struct dirent *entry;
	DIR *entries;

	assert_non_null(mkdtemp(path));
	(void)snprintf(file, sizeof file, "%s/..x", path);
	assert_int_equal(mkdir(file, 0700), 0);
	entries = opendir(path);
	assert_non_null(entries);
	assert_int_equal(entries_next(entries, &entry), 0);
	assert_string_equal(entry->d_name, "..x");
	assert_int_equal(entries_next(entries, &entry), 0);
	assert_null(entry);
	assert_int_equal(closedir(entries), 0);
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(rmdir(path), 0);
}

TEST(an_error_is_not_the_end)
{
	const struct dirent *entry = NULL;
	DIR *entries = opendir("/");
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_non_null(entries);
	assert_true(file >= 0);
	assert_true(dup3(file, dirfd(entries), O_CLOEXEC) >= 0); /* no directory any more */
	assert_int_equal(entries_next(entries, &entry), -ENOTDIR);
	assert_null(entry);
	assert_int_equal(closedir(entries), 0);
	assert_int_equal(close(file), 0);
}

TEST_MAIN(NULL, NULL)
