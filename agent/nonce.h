/* Names and secrets that nobody can guess: random bytes as hexadecimal digits. No privilege. */
#pragma once

#include <sodium.h>

#define NONCE_MAX 64 /* digits */

/* Fills text[0 … digits] with `digits` of them, an even number up to NONCE_MAX, and a NUL.
 * randombytes_buf(3) does not fail. */
static inline void nonce_make(char *text, size_t digits)
{
	unsigned char bytes[NONCE_MAX / 2];

	randombytes_buf(bytes, digits / 2);
	(void)sodium_bin2hex(text, digits + 1, bytes, digits / 2);
	sodium_memzero(bytes, sizeof bytes);
}
