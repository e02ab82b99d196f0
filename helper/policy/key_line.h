/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that stands for a key in NAME.pub and authorized_keys: `ed25519 KEY` or `ed25519 KEY
 * COMMENT`, where KEY is the base64 of the key (RFC 4648, section 4).
 *
 * Pure; no privilege. Nothing is parsed: the caller makes the line from the key that verified a
 * signature, and compares whole lines with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KEY_FILE_MAX      16384 /* how much of a file is read */
#define KEY_PRINCIPAL_MAX 64

#define KEY_LINE_PREFIX "ed25519 "
/* the prefix and the base64 of 32 bytes */
#define KEY_LINE_LENGTH (sizeof KEY_LINE_PREFIX - 1 + 44)

/*
 * Returns whether a line of the text begins with the KEY_LINE_LENGTH bytes of `line` and then ends
 * or has a space and a comment. Ignores all other lines.
 */
bool key_line_is_in(const char *text, size_t length, const char *line);

/*
 * Returns whether a file of that name in the keys directory enrolls keys: "NAME.pub", where NAME is
 * a name that a grant can list. Then sets `ret_principal` to NAME.
 */
bool key_line_principal(const char *file, char ret_principal[KEY_PRINCIPAL_MAX + 1]);
