/*
 * Set-id files in shares: what a command writes to one through a mapping leaves it the bit. mmap(2)
 *
 * Of a file that is written to by write(2) the kernel takes the bits away, and a command can set
 * none. But the pages of a mapping are written behind its back, and then whoever may execute the
 * file, outside, runs what the command has put there, as its owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SET_ID_ENTRIES_MAX 1024 /* looked at, which takes two milliseconds at most */

/* Finds a file at or below `directory` that has such a bit, that we may write, and that others may
 * reach. False: none was found. */
bool set_id_find(const char *directory, char *path, size_t size);
