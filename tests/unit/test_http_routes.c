/* SPDX-License-Identifier: Apache-2.0 */
/* Which path is answered by which row of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/http/pages.h"
#include "agent/http/routes.h"

static void each_path_has_its_row(void **state)
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

	(void)state;
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

static void what_is_too_long_is_no_path(void **state)
{
	char path[1024], rest[ROUTES_REST_SIZE], methods[ROUTES_REST_SIZE];

	(void)state;
	memset(path, 'x', sizeof path);
	memcpy(path, "/status/", 8);
	path[sizeof path - 1] = '\0';
	assert_null(routes_find("GET", path, rest, methods));
	path[8 + ROUTES_REST_SIZE - 1] = '\0';
	assert_non_null(routes_find("GET", path, rest, methods));
	assert_int_equal(strlen(rest), ROUTES_REST_SIZE - 1);
}

static void the_files_of_the_page_are_there(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct page *page = pages; page->path; page++, count++) {
		assert_ptr_equal(pages_find(page->path), page);
		assert_true(page->length > 0);
		assert_int_equal(page->bytes[page->length], 0);
	}
	assert_true(count > 2);
	assert_memory_equal(pages_find("/")->bytes, "<!DOCTYPE html>", 15);
	assert_null(pages_find("/index.html"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_has_its_row),
		cmocka_unit_test(what_is_too_long_is_no_path),
		cmocka_unit_test(the_files_of_the_page_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
