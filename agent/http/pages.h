/*
 * The page to look at, and its files (agent/web/), which are in the program itself.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

struct page {
	const char *path, *type;
	const unsigned char *bytes;
	size_t length;
};

/* Made of agent/web/ by pages.py; ends with a row without path. */
extern const struct page pages[];

/* NULL: there is none. "/" is the first page. */
const struct page *pages_find(const char *path);

/* With "once" in its query it makes the browser one that may ask. */
void pages_answer(struct exchange *exchange);
