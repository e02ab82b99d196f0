/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of the older manager: what is written is read again, and what is none is refused. */

#include "agent/http/durations.h"
#include "tests/support/testing.h"

/* UINT64_MAX: it is none. */
static uint64_t read_value(json_t *taken)
{
	uint64_t ms = 0;

	assert_non_null(taken);
	if (durations_read(taken, &ms) != 0)
		ms = UINT64_MAX;
	json_decref(taken);
	return ms;
}

TEST(texts_are_read)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} texts[] = {
		{"30s", 30000},
		{"1m30s", 90000},
		{"1h0m0s", 3600000},
		{"250ms", 250},
		{"1.5s", 1500},
		{".5s", 500},
		{"0s", 0},
		{"1ns", 1},
		{"1500us", 2},
		{"1h1ms", 3600001},
		{"2m2m", 240000},
		{"", UINT64_MAX},
		{"30", UINT64_MAX},
		{"s", UINT64_MAX},
		{"-1s", UINT64_MAX},
		{"1e3s", UINT64_MAX},
		{"1d", UINT64_MAX},
		{"1s ", UINT64_MAX},
		{" 1s", UINT64_MAX},
		{"0x10s", UINT64_MAX},
		{"1.2.3s", UINT64_MAX},
		{"infs", UINT64_MAX},
		{"99999999999h", UINT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(read_value(json_string(texts[i].text)), texts[i].ms);
}

TEST(numbers_are_nanoseconds)
{
	assert_int_equal(read_value(json_integer(30000000000)), 30000);
	assert_int_equal(read_value(json_integer(1)), 1);
	assert_int_equal(read_value(json_real(1.5e6)), 2);
	assert_int_equal(read_value(json_integer(-1)), UINT64_MAX);
	assert_int_equal(read_value(json_null()), UINT64_MAX);
	assert_int_equal(read_value(json_array()), UINT64_MAX);
}

TEST(what_is_written_is_read_again)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} written[] = {{30000, "30s"},      {90000, "1m30s"},         {600000, "10m0s"},
	               {3600000, "1h0m0s"}, {250, "250ms"},           {1500, "1.5s"},
	               {0, "0s"},           {86400001, "24h0m0.001s"}};
	char text[DURATIONS_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		assert_string_equal(durations_write(written[i].ms, text), written[i].text);
		assert_int_equal(read_value(json_string(text)), written[i].ms);
	}
}

TEST_MAIN(NULL, NULL)
