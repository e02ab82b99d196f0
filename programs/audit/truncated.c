/* SPDX-License-Identifier: Apache-2.0 */
/* See truncated.h. */
#include "programs/audit/truncated.h"

#include <stdlib.h>
#include <string.h>

static const char *const events[] = {"\"event\":\"" TRUNCATED_EVENT "\",\"offset\":",
                                     "\"event\":\"" TRUNCATED_SEGMENT "\",\"offset\":"};
static const char length[] = ",\"bytes\":";

/* Parses the two numbers. The input is not NUL-terminated. */
static bool read_numbers(const char *at, const char *end, struct truncated *truncated)
{
	char digits[64] = "", *next;

	memcpy(digits, at,
	       (size_t)(end - at) < sizeof digits - 1 ? (size_t)(end - at) : sizeof digits - 1);
	truncated->offset = strtoull(digits, &next, 10);
	if (strncmp(next, length, sizeof length - 1) != 0)
		return false;
	truncated->bytes = strtoull(next + sizeof length - 1, NULL, 10);
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

void truncated_find(const char *bytes, size_t size, struct truncated_list *ret_list)
{
	const char *end = bytes + size, *at = bytes;

	ret_list->count = 0;
	while (ret_list->count < TRUNCATED_MAX && (at = find_event(at, end))) {
		const char *line = memrchr(bytes, '\n', (size_t)(at - bytes));
		struct truncated *truncated = &ret_list->found[ret_list->count];

		truncated->line = line ? (size_t)(line + 1 - bytes) : 0;
		ret_list->count += line && read_numbers(at, end, truncated);
	}
}

size_t truncated_after(const struct truncated_list *list, uint64_t base, size_t at, size_t *from)
{
	while (*from > 0) {
		const struct truncated *truncated = &list->found[--*from];

		if (truncated->offset == base + at && truncated->line > at &&
		    truncated->line - at - 1 == truncated->bytes)
			return truncated->line;
	}
	return 0;
}
