/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask by HTTP: each way of asking, and each that only looks like one. */
#include <stdio.h>
#include <string.h>

#include "agent/http/access.h"
#include "tests/support/testing.h"

#define OWN  1000
#define PORT 4711

static const struct access_request by_unix = {.uid = OWN, .method = "GET", .host = "localhost"};
static const struct access_request by_tcp = {
	.is_tcp = true, .uid = OWN, .method = "GET", .host = "127.0.0.1:4711"};

/* 0: it passes. */
static unsigned check(const struct access *access, struct access_request request)
{
	struct yett_error error = {0};
	unsigned status;

	if (access_check(access, &request, &status, &error) == 0)
		return 0;
	assert_true(error.message[0]);
	return status;
}

static struct access make(void)
{
	struct access access;

	access_init(&access, OWN, PORT);
	return access;
}

TEST(the_peers_uid_counts)
{
	struct access access = make();
	struct access_request request = by_unix;

	assert_int_equal(check(&access, request), 0);
	request.uid = 0;
	assert_int_equal(check(&access, request), 0);
	request.uid = OWN + 1;
	assert_int_equal(check(&access, request), 403);
	request.uid = (uid_t)-1;
	assert_int_equal(check(&access, request), 403);
}

TEST(only_names_of_this_host_are_hosts)
{
	static const struct {
		const char *host;
		bool by_unix, by_tcp;
	} hosts[] = {
		{"localhost", true, false},
		{"localhost:4711", true, true},
		{"LocalHost:4711", true, true},
		{"127.0.0.1:4711", true, true},
		{"[::1]:4711", true, true},
		{"127.0.0.1:4712", true, false},
		{"localhost.evil", false, false},
		{"evil", false, false},
		{"evil:4711", false, false},
		{"127.0.0.1:", true, false},
		{"localhost:4711x", false, false},
		{"localhost:04711", true, false},
		{"", false, false},
		{NULL, false, false},
	};
	struct access access = make();
	char bearer[128];

	(void)snprintf(bearer, sizeof bearer, "Bearer %s", access.token);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct access_request one = by_unix, other = by_tcp;

		one.host = other.host = hosts[i].host;
		other.authorization = bearer;
		assert_int_equal(check(&access, one), hosts[i].by_unix ? 0 : 403);
		assert_int_equal(check(&access, other), hosts[i].by_tcp ? 0 : 403);
	}
}

TEST(another_origin_is_refused)
{
	static const char *const refused[] = {"null",
	                                      "",
	                                      "http://",
	                                      "http://evil",
	                                      "https://localhost",
	                                      "http://localhost:1",
	                                      "http://localhost/"};
	struct access access = make();
	struct access_request request = by_unix;

	request.origin = "http://localhost";
	assert_int_equal(check(&access, request), 0);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		request.origin = refused[i];
		assert_int_equal(check(&access, request), 403);
	}
}

TEST(by_tcp_it_takes_the_token)
{
	struct access access = make();
	struct access_request request = by_tcp;
	char text[128];

	assert_int_equal(check(&access, request), 401);
	request.authorization = text;
	(void)snprintf(text, sizeof text, "bearer %s", access.token);
	assert_int_equal(check(&access, request), 0);
	for (size_t i = strlen("bearer "); text[i]; i++) {
		text[i] ^= 1;
		assert_int_equal(check(&access, request), 401);
		text[i] ^= 1;
	}
	(void)snprintf(text, sizeof text, "Bearer %s0", access.token);
	assert_int_equal(check(&access, request), 401);
	(void)snprintf(text, sizeof text, "Bearer %s", access.cookie);
	assert_int_equal(check(&access, request), 401);
	(void)strcpy(text, "Bearer ");
	assert_int_equal(check(&access, request), 401);
}

TEST(a_server_without_secrets_lets_nobody_in_by_tcp)
{
	struct access access = {.uid = OWN, .port = PORT};
	struct access_request request = by_tcp;

	request.authorization = "Bearer ";
	request.cookies = "yett-4711=";
	assert_int_equal(check(&access, request), 401);
	assert_false(access_spend(&access, "", (char[8]){0}, 8));
}

TEST(once_is_once)
{
	struct access access = make();
	struct access_request request = by_tcp;
	char url[128], first[65], header[256], cookies[512];

	access_make_url(&access, url, sizeof url);
	assert_memory_equal(url, "http://127.0.0.1:4711/?once=", 28);
	(void)strcpy(first, url + 28);
	assert_false(access_spend(&access, "x", header, sizeof header));
	assert_true(access_spend(&access, first, header, sizeof header));
	assert_non_null(strstr(header, "; HttpOnly; SameSite=Strict"));
	assert_false(access_spend(&access, first, header, sizeof header));
	assert_false(access_spend(&access, "", header, sizeof header));
	*strchr(header, ';') = '\0';
	(void)snprintf(cookies, sizeof cookies, "a=b; yett-4712=x; %s; c", header);
	request.cookies = cookies;
	assert_int_equal(check(&access, request), 0);
	(void)snprintf(cookies, sizeof cookies, "x%s", header);
	assert_int_equal(check(&access, request), 401);
}

TEST(what_changes_something_is_json)
{
	struct access access = make();
	struct access_request request = by_unix;

	request.method = "POST";
	assert_int_equal(check(&access, request), 0);
	request.has_body = true;
	assert_int_equal(check(&access, request), 415);
	request.content_type = "application/json";
	assert_int_equal(check(&access, request), 0);
	request.content_type = "Application/JSON; charset=utf-8";
	assert_int_equal(check(&access, request), 0);
	request.content_type = "application/json-seq";
	assert_int_equal(check(&access, request), 415);
	request.content_type = "text/plain";
	assert_int_equal(check(&access, request), 415);
	request.method = "PUT";
	assert_int_equal(check(&access, request), 415);
	request.method = "GET";
	assert_int_equal(check(&access, request), 0);
}

TEST(secrets_differ)
{
	struct access first = make(), second = make();

	assert_int_equal(strlen(first.token), 64);
	assert_string_not_equal(first.token, second.token);
	assert_string_not_equal(first.token, first.cookie);
}

TEST_MAIN(NULL, NULL)
