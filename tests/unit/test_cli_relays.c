/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and sockets as they are written on the command line. */
#include <string.h>

#include "base/fd.h"
#include "cli/network/relays.h"
#include "tests/support/testing.h"

TEST(ports_are_read)
{
	static const struct {
		const char *text, *address;
		uint16_t host_port, port;
	} cases[] = {{"8080:80", NULL, 8080, 80},
	             {"0:65535", NULL, 0, 65535},
	             {"127.0.0.1:8080:80", "127.0.0.1", 8080, 80},
	             {"[::1]:8080:80", "::1", 8080, 80},
	             {"[127.0.0.1]:1:2", "127.0.0.1", 1, 2},
	             {"anything:1:2", "anything", 1, 2}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct relays relays = {0};
		struct yett_error error;

		assert_int_equal(relays_add_port(&relays, "--publish", cases[i].text, &error), 0);
		assert_int_equal(relays.count, 1);
		assert_int_equal(relays.requests[0].host_port, cases[i].host_port);
		assert_int_equal(relays.requests[0].port, cases[i].port);
		if (cases[i].address)
			assert_string_equal(relays.requests[0].address, cases[i].address);
		else
			assert_null(relays.requests[0].address);
		relays_free(&relays);
	}
}

TEST(what_is_no_port_is_refused)
{
	static const char *const texts[] = {
		"",         ":",       "80",           ":80",      "80:",     "8080:0",
		"-1:80",    "+1:80",   "8080:",        "1:65536",  "65536:1", "000001:80x",
		" 1:2",     ":1:2",    "[]:1:2",       "[::1]1:2", "::1:2",   "[::1:1:2",
		"::1]:1:2", "a:b:1:2", "1:99999999999"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct relays relays = {0};
		struct yett_error error;

		if (relays_add_port(&relays, "--publish", texts[i], &error) !=
		    YETT_E_INVALID_REQUEST)
			fail_msg("%s", texts[i]);
		assert_int_equal(relays.count, 0);
		assert_non_null(strstr(error.message, "--publish"));
	}
}

TEST(sockets_are_read_as_shares_are)
{
	struct relays relays = {0};
	struct yett_error error;

	assert_int_equal(relays_add_socket(&relays, "--relay-socket", "/run/a", &error), 0);
	assert_string_equal(relays.requests[0].path, "/run/a");
	assert_string_equal(relays.requests[0].target, "/run/a");
	assert_int_equal(relays_add_socket(&relays, "--relay-socket", "/run/a:b:/tmp/c", &error),
	                 0);
	assert_string_equal(relays.requests[1].path, "/run/a:b");
	assert_string_equal(relays.requests[1].target, "/tmp/c");
	assert_int_equal(relays_add_socket(&relays, "--relay-socket", ":/tmp/c", &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(relays.count, 2);
	relays_free(&relays);
}

TEST(there_are_so_many_at_most)
{
	struct relays relays = {0};
	struct yett_error error;

	for (int i = 0; i < RELAYS_MAX; i++)
		assert_int_equal(relays_add_port(&relays, "--publish", "8080:80", &error), 0);
	assert_int_equal(relays_add_port(&relays, "--publish", "8080:80", &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(relays_add_socket(&relays, "--relay-socket", "/a", &error),
	                 YETT_E_INVALID_REQUEST);
	relays_free(&relays);
}

TEST_MAIN(NULL, NULL)
