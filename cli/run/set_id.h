/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds set-id files in shares. A command that writes to such a file through mmap(2) leaves the bit
 * set.
 *
 * On write(2) the kernel clears the bits, and a command cannot set them. But the kernel does not
 * notice writes to a mapping. Anybody who may execute the file outside would then run the command's
 * code as the file's owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SET_ID_ENTRIES_MAX 1024 /* how many entries to look at; takes at most 2 ms */

/*
 * Finds a file at or below `directory` that has a set-id bit, that we may write, and that others
 * may execute. Returns false if there is none among the first SET_ID_ENTRIES_MAX entries.
 */
bool set_id_find(const char *directory, char *path, size_t size);
