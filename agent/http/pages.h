/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page and its files (agent/web/), which are compiled into the program.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

struct page {
	const char *path, *type;
	const unsigned char *bytes;
	size_t length;
};

/* Generated from agent/web/ by pages.py; ends with a row without a path. */
extern const struct page pages[];

/* NULL: unknown path. "/" is the main page. */
const struct page *pages_find(const char *path);

/* With "once" in the query, sets the cookie that gives a browser access. */
void pages_answer(struct exchange *exchange);
