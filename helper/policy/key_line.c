/* SPDX-License-Identifier: Apache-2.0 */
/* See key_line.h. */
#include "helper/policy/key_line.h"

#include <string.h>

bool key_line_is_in(const char *text, size_t length, const char *line)
{
	const char *end = text + length;

	for (const char *at = text; at && (size_t)(end - at) >= KEY_LINE_LENGTH;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (memcmp(at, line, KEY_LINE_LENGTH) == 0 &&
		    (at + KEY_LINE_LENGTH == end || at[KEY_LINE_LENGTH] == '\n' ||
		     at[KEY_LINE_LENGTH] == ' '))
			return true;
		at = next ? next + 1 : NULL;
	}
	return false;
}

bool key_line_principal(const char *file, char ret_principal[KEY_PRINCIPAL_MAX + 1])
{
	size_t length = strlen(file);

	if (length <= 4 || length - 4 > KEY_PRINCIPAL_MAX ||
	    strcmp(file + length - 4, ".pub") != 0 || strchr("._-", file[0]))
		return false;
	memcpy(ret_principal, file, length - 4);
	ret_principal[length - 4] = '\0';
	return strspn(ret_principal, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length - 4;
}
