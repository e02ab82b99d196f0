/* SPDX-License-Identifier: Apache-2.0 */
/* Unguessable names and secrets: random bytes as hexadecimal digits. Needs no privilege. */
#pragma once

#include <sodium.h>

#define NONCE_MAX 64 /* digits */

/*
 * Fills `text` with `digits` random digits, an even number up to NONCE_MAX, and a NUL. Cannot fail,
 * since randombytes_buf(3) cannot.
 */
static inline void nonce_make(char *text, size_t digits)
{
	unsigned char bytes[NONCE_MAX / 2];

	randombytes_buf(bytes, digits / 2);
	(void)sodium_bin2hex(text, digits + 1, bytes, digits / 2);
	sodium_memzero(bytes, sizeof bytes);
}
