/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes untrusted text (of a client, a file, a directory entry) for display.
 *
 * Pure functions with the privilege of the caller. The result holds nothing that a terminal or a
 * log would interpret: control and non-ASCII bytes, quotes and backslashes become \xNN. A long text
 * is truncated.
 */
#pragma once

#include <stddef.h>

#define ESCAPE_SIZE 192

/*
 * Writes the escaped `text` (NULL: the empty text) into out[0 … size), where size ≥ 8. A truncated
 * text ends in "...". Returns `out`.
 */
char *escape_text(const char *text, char *out, size_t size);

/*
 * As escape_text(), in a buffer that lives as long as the enclosing block: for the arguments of a
 * message.
 */
#define ESCAPE(text) escape_text((text), (char[ESCAPE_SIZE]){0}, ESCAPE_SIZE)
