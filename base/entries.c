/* SPDX-License-Identifier: Apache-2.0 */
/* See entries.h. */
#include "base/entries.h"

#include <errno.h>
#include <string.h>

int entries_next(DIR *entries, const struct dirent **ret_entry)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(entries);
	} while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	if (!entry && errno != 0)
		return -errno;
	*ret_entry = entry;
	return 0;
}
