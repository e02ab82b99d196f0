/* SPDX-License-Identifier: Apache-2.0 */
/* See escape.h. No privilege, no allocation. */
#include "base/escape.h"

#include <string.h>

char *escape_text(const char *text, char *out, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	for (; text && *text; text++) {
		unsigned char byte = (unsigned char)*text;
		size_t need =
			byte < 0x20 || byte > 0x7e || byte == '\\' || byte == '\'' || byte == '"'
				? 4
				: 1;

		/* Keep room for the three dots and the NUL. */
		if (used + need + 4 > size) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		if (need == 1) {
			out[used++] = (char)byte;
			continue;
		}
		out[used++] = '\\';
		out[used++] = 'x';
		out[used++] = hex[byte >> 4];
		out[used++] = hex[byte & 15];
	}
	out[used] = '\0';
	return out;
}
