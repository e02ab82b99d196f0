/* See torn.h. */
#include "programs/audit/torn.h"

#include <stdlib.h>
#include <string.h>

static const char *const events[] = {"\"event\":\"" TORN_EVENT "\",\"offset\":",
                                     "\"event\":\"" TORN_SEGMENT "\",\"offset\":"};
static const char length[] = ",\"bytes\":";

/* Parses the two numbers. The input is not NUL-terminated. */
static bool read_numbers(const char *at, const char *end, struct torn *torn)
{
	char digits[64] = "", *next;

	memcpy(digits, at,
	       (size_t)(end - at) < sizeof digits - 1 ? (size_t)(end - at) : sizeof digits - 1);
	torn->offset = strtoull(digits, &next, 10);
	if (strncmp(next, length, sizeof length - 1) != 0)
		return false;
	torn->bytes = strtoull(next + sizeof length - 1, NULL, 10);
	return true;
}

/* Finds the first marker from `at` on. Returns the position after its text, or NULL. */
static const char *find_event(const char *at, const char *end)
{
	const char *first = NULL;

	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		size_t size = strlen(events[i]);
		const char *found = memmem(at, (size_t)(end - at), events[i], size);

		if (found && (!first || found + size < first))
			first = found + size;
	}
	return first;
}

void torn_find(const char *bytes, size_t size, struct torn_list *ret_list)
{
	const char *end = bytes + size, *at = bytes;

	ret_list->count = 0;
	while (ret_list->count < TORN_MAX && (at = find_event(at, end))) {
		const char *line = memrchr(bytes, '\n', (size_t)(at - bytes));
		struct torn *torn = &ret_list->found[ret_list->count];

		torn->line = line ? (size_t)(line + 1 - bytes) : 0;
		ret_list->count += line && read_numbers(at, end, torn);
	}
}

size_t torn_after(const struct torn_list *list, uint64_t base, size_t at, size_t *from)
{
	while (*from > 0) {
		const struct torn *torn = &list->found[--*from];

		if (torn->offset == base + at && torn->line > at &&
		    torn->line - at - 1 == torn->bytes)
			return torn->line;
	}
	return 0;
}
