/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes lists of untrusted texts for display, as escape.h does for one. Pure functions with the
 * privilege of the caller.
 */
#pragma once

#include "base/escape.h"

/*
 * Writes the escaped items with ", " between them, or "nothing" if there are none. An item that is
 * truncated ends in "...". Once fewer than 16 bytes of `out` are left, further items are left out
 * without a mark. Returns `out`.
 */
char *escape_list(char *const *items, size_t count, char *out, size_t size);
