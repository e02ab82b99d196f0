/* See key_line.h. */
#include "helper/monitor/key_line.h"

#include <string.h>

bool key_line_is_in(const char *text, size_t length, const char *line)
{
	const char *end = text + length;

	for (const char *at = text; at && (size_t)(end - at) >= KEY_LINE_LENGTH;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (memcmp(at, line, KEY_LINE_LENGTH) == 0 &&
		    (at + KEY_LINE_LENGTH == end || at[KEY_LINE_LENGTH] == '\n' || at[KEY_LINE_LENGTH] == ' '))
			return true;
		at = next ? next + 1 : NULL;
	}
	return false;
}
