/* SPDX-License-Identifier: Apache-2.0 */
/* Which path is answered by which row of the table. */
#include <string.h>

#include "agent/http/pages.h"
#include "agent/http/routes.h"
#include "tests/support/testing.h"

TEST(each_path_has_its_row)
{
	static const struct {
		const char *method, *path, *pattern,
			*rest; /* pattern NULL: none; rest: then the methods that there are */
	} paths[] = {
		{"POST", "/v1/run_command", "/v1/*", "run_command"},
		{"GET", "/v1/events", "/v1/events", ""},
		{"POST", "/v1/events", "/v1/*", "events"},
		{"GET", "/v1/executions/abc/output", "/v1/executions/*/output", "abc"},
		{"GET", "/v1/executions//output", NULL, ""},
		{"GET", "/v1/executions/a/b/output", NULL, ""},
		{"GET", "/v1/executions/abc", NULL, ""},
		{"HEAD", "/info", "/info", ""},
		{"GET", "/info/", NULL, ""},
		{"PUT", "/config", "/config", ""},
		{"POST", "/config", NULL, "GET, PUT"},
		{"GET", "/v1/run_command", NULL, "POST"},
		{"GET", "/v1/", NULL, ""},
		{"GET", "/", "/", ""},
		{"GET", "/style.css", "/", ""},
		{"POST", "/style.css", NULL, "GET"},
		{"GET", "/web/style.css", NULL, ""},
		{"GET", "/nothing", NULL, ""},
		{"GET", "", NULL, ""},
		{"get", "/info", NULL, "GET"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char rest[ROUTES_REST_SIZE], methods[ROUTES_REST_SIZE];
		const struct route *route =
			routes_find(paths[i].method, paths[i].path, rest, methods);

		if (!paths[i].pattern) {
			assert_null(route);
			assert_string_equal(methods, paths[i].rest);
			continue;
		}
		assert_non_null(route);
		assert_string_equal(route->path, paths[i].pattern);
		assert_string_equal(rest, paths[i].rest);
	}
}

TEST(what_is_too_long_is_no_path)
{
	char path[1024], rest[ROUTES_REST_SIZE], methods[ROUTES_REST_SIZE];

	memset(path, 'x', sizeof path);
	memcpy(path, "/status/", 8);
	path[sizeof path - 1] = '\0';
	assert_null(routes_find("GET", path, rest, methods));
	path[8 + ROUTES_REST_SIZE - 1] = '\0';
	assert_non_null(routes_find("GET", path, rest, methods));
	assert_int_equal(strlen(rest), ROUTES_REST_SIZE - 1);
}

TEST(the_files_of_the_page_are_there)
{
	size_t count = 0;

	for (const struct page *page = pages; page->path; page++, count++) {
		assert_ptr_equal(pages_find(page->path), page);
		assert_true(page->length > 0);
		assert_int_equal(page->bytes[page->length], 0);
	}
	assert_true(count > 2);
	assert_memory_equal(pages_find("/")->bytes, "<!DOCTYPE html>", 15);
	assert_null(pages_find("/index.html"));
}

TEST_MAIN(NULL, NULL)
