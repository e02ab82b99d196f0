/*
 * The line that stands for a key in NAME.pub and authorized_keys: `ed25519 KEY` or `ed25519 KEY
 * COMMENT`, KEY being the base64 of the key (RFC 4648, section 4).
 *
 * Pure; no privilege. Nothing is parsed: the line is made from the key that a signature has proven,
 * and whole lines are compared with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KEY_FILE_MAX      16384 /* what is read of a file */
#define KEY_PRINCIPAL_MAX 64

#define KEY_LINE_PREFIX "ed25519 "
#define KEY_LINE_LENGTH (sizeof KEY_LINE_PREFIX - 1 + 44) /* with the base64 of 32 bytes */

/* Whether a line of the text begins as the KEY_LINE_LENGTH bytes of `line` and then ends, or goes
 * on with a comment. Other lines say nothing. */
bool key_line_is_in(const char *text, size_t length, const char *line);

/* Whether a file of that name in the keys directory enrolls keys: "NAME.pub", where NAME is one
 * that a grant can list, and then the principal. */
bool key_line_principal(const char *file, char ret_principal[KEY_PRINCIPAL_MAX + 1]);
