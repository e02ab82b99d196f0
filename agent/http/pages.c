/* SPDX-License-Identifier: Apache-2.0 */
/* See pages.h. */
#include "agent/http/pages.h"

#include <string.h>

#include "agent/http/reply.h"

const struct page *pages_find(const char *path)
{
	for (const struct page *page = pages; page->path; page++)
		if (strcmp(page->path, path) == 0)
			return page;
	return NULL;
}

/*
 * Redirects to the page even if `once` is wrong: a browser that has the cookie already gets the
 * page, any other browser is refused there.
 */
static void spend(struct exchange *exchange, const char *once)
{
	char cookie[256] = "";

	(void)!access_spend(server_access(exchange->server), once, cookie, sizeof cookie);
	reply_redirect(exchange, "/", cookie);
}

void pages_answer(struct exchange *exchange)
{
	const struct page *page = pages_find(exchange->path);
	const char *once = exchange_query(exchange, "once");

	if (once)
		spend(exchange, once);
	else
		reply_page(exchange, page->type, page->bytes, page->length);
}
