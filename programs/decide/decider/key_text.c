/* SPDX-License-Identifier: Apache-2.0 */
/* See key_text.h. */
#include "programs/decide/decider/key_text.h"

#include <sodium.h>
#include <string.h>

void key_text(const uint8_t key[ENVELOPE_KEY_SIZE], char line[KEY_LINE_LENGTH + 1])
{
	size_t begins = strlen(KEY_LINE_PREFIX);

	memcpy(line, KEY_LINE_PREFIX, begins);
	(void)sodium_bin2base64(line + begins, KEY_LINE_LENGTH + 1 - begins, key, ENVELOPE_KEY_SIZE,
	                        sodium_base64_VARIANT_ORIGINAL);
}
