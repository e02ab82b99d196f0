/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fields: what passes, what is refused and how, and the schemas that say the same. */
#include <string.h>

#include "agent/fields.h"
#include "agent/output_buffer.h"
#include "agent/operations.h"
#include "tests/support/testing.h"

static const char *const colours[] = {"red", "green", NULL};
static const struct field inner[] = {{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 8}, {0}};
static const struct field fields[] = {
	{"text", FIELD_TEXT, FIELD_NULLABLE, 1, 5},
	{"number", FIELD_NUMBER, 0, -3, 7},
	{"flag", FIELD_BOOL},
	{"colour", FIELD_CHOICE, FIELD_NULLABLE, .choices = colours, .fallback = "\"red\""},
	{"time", FIELD_DURATION, 0, 10, 60000},
	{"list", FIELD_TEXTS, 0, 0, 2},
	{"map", FIELD_MAP, 0, 0, 2},
	{"things", FIELD_OBJECTS, 0, 0, 2, .fields = inner},
	{"needed", FIELD_BOOL, FIELD_REQUIRED},
	{0},
};

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(json);
	return json;
}

/* `part` of the message; NULL: it passes. */
static void assert_check(const char *text, const char *part)
{
	json_t *json = parse(text);
	struct yett_error error = {0};
	int r = fields_check(fields, json, &error);

	if (part && (r != YETT_E_INVALID_REQUEST || !strstr(error.message, part)))
		fail_msg("%s: %d %s, not %s", text, r, error.message, part);
	if (!part && r != 0)
		fail_msg("%s: %s", text, error.message);
	json_decref(json);
}

TEST(what_the_table_says_passes)
{
	assert_check("{\"needed\": true}", NULL);
	assert_check(
		"{\"needed\": true, \"text\": null, \"colour\": \"green\", \"number\": -3, \"flag\": false, \"list\": [\"\", \"b\"]}",
		NULL);
	assert_check(
		"{\"needed\": true, \"time\": \"500ms\", \"map\": {\"A\": \"\"}, \"things\": [{\"path\": \"/\"}]}",
		NULL);
	assert_check("{\"needed\": true, \"time\": 0.01}", NULL);
	assert_check("{\"needed\": true, \"text\": \"\\u00e4\\u00f6\"}", NULL);
}

TEST(what_it_does_not_say_is_refused_by_name)
{
	assert_check("[]", "the request: expected an object");
	assert_check("{}", "needed: this is missing");
	assert_check("{\"needed\": true, \"nedeed\": 1}", "nedeed: there is no such field");
	assert_check("{\"needed\": null}", "needed: expected true or false");
	assert_check("{\"needed\": true, \"text\": 5}", "text: expected a text");
	assert_check("{\"needed\": true, \"text\": \"\"}",
	             "text: 0 bytes is not within 1 and 5 bytes");
	assert_check("{\"needed\": true, \"text\": \"\\u00e4\\u00f6\\u00fc\"}", "text: 6 bytes");
	assert_check("{\"needed\": true, \"text\": \"a\\u0000b\"}", "NUL");
	assert_check("{\"needed\": true, \"number\": 8}", "number: 8 is not within -3 and 7");
	assert_check("{\"needed\": true, \"number\": 1.5}", "number: expected a whole number");
	assert_check("{\"needed\": true, \"number\": \"1\"}", "number: expected a whole number");
	assert_check("{\"needed\": true, \"colour\": \"blue\"}",
	             "colour: expected one of red, green");
	assert_check("{\"needed\": true, \"time\": \"soon\"}",
	             "time: expected a number of seconds");
	assert_check("{\"needed\": true, \"time\": -1}", "time: expected a number of seconds");
	assert_check("{\"needed\": true, \"time\": 61}", "time: 61000 ms is not within");
	assert_check("{\"needed\": true, \"list\": [\"a\", \"b\", \"c\"]}", "list: 3 entries");
	assert_check("{\"needed\": true, \"list\": [\"a\", 1]}", "list[1]: expected a text");
	assert_check("{\"needed\": true, \"map\": {\"A\": 1}}", "map.A: expected a text");
	assert_check("{\"needed\": true, \"things\": [{\"path\": \"/\"}, {}]}",
	             "things[1].path: this is missing");
	assert_check("{\"needed\": true, \"things\": [{\"path\": \"/\", \"x\": 1}]}",
	             "things[0].x: there is no such field");
}

TEST(what_makes_no_sense_here_is_refused_with_the_reason)
{
	json_t *json = parse("{\"needed\": true, \"mac_address\": \"02:00:00:00:00:01\"}");
	struct yett_error error = {0};

	assert_int_equal(fields_check(fields, json, &error), YETT_E_UNSUPPORTED);
	assert_non_null(strstr(error.message,
	                       "mac_address: a sandbox has no interface on the host's network"));
	json_decref(json);
	assert_check("{\"needed\": true, \"machine\": 1}", "machine: there is no such field");
}

TEST(the_schema_says_the_same)
{
	json_t *schema = fields_schema(fields), *properties = json_object_get(schema, "properties"),
	       *type, *expected;

	assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	expected = parse("[\"needed\"]");
	assert_true(json_equal(json_object_get(schema, "required"), expected));
	json_decref(expected);
	expected = parse("[\"string\", \"null\"]");
	type = json_object_get(json_object_get(properties, "text"), "type");
	assert_true(json_equal(type, expected));
	json_decref(expected);
	expected = parse("{\"type\": \"integer\", \"minimum\": -3, \"maximum\": 7}");
	assert_true(json_equal(json_object_get(properties, "number"), expected));
	json_decref(expected);
	expected = parse(
		"{\"type\": [\"string\", \"null\"], \"enum\": [\"red\", \"green\", null], \"default\": \"red\"}");
	assert_true(json_equal(json_object_get(properties, "colour"), expected));
	json_decref(expected);
	json_decref(schema);
}

TEST(lists_and_maps_become_strings)
{
	json_t *json = parse("{\"A\": \"1\", \"B\": \"\"}");
	char **strings = field_strings(json);

	assert_string_equal(strings[0], "A=1");
	assert_string_equal(strings[1], "B=");
	assert_null(strings[2]);
	free(strings);
	json_decref(json);
	strings = field_strings(NULL);
	assert_null(strings[0]);
	free(strings);
}

TEST(bytes_that_are_no_text_are_shown_so)
{
	static const struct {
		const char *bytes, *text;
		size_t length;
	} rows[] = {
		{"plain", "plain", 5},
		{"a\0b",
	         "a\xef\xbf\xbd"
	         "b",
	         3},
		{"\xff\xc3\xa4", "\xef\xbf\xbd\xc3\xa4", 3},
		{"\xc3", "\xef\xbf\xbd", 1},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3}, /* a surrogate */
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", 2},                 /* NUL, too long */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	         4}, /* beyond U+10FFFF */
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = field_make_text(rows[i].bytes, rows[i].length);

		assert_string_equal(json_string_value(json), rows[i].text);
		json_decref(json);
	}
}

/* As much as is kept of what runs when others have taken all the room. */
TEST(an_output_whose_head_was_filled_early_keeps_what_comes_last)
{
	struct output_buffer kept = {0};
	char *bytes;
	size_t length;
	bool is_cut;
	json_t *json;

	output_buffer_add(&kept, "ab", 2);
	output_buffer_fill(&kept);
	output_buffer_add(&kept, "cd", 2);
	json = output_buffer_json(&kept, 1000, NULL, &is_cut);
	assert_false(is_cut);
	assert_string_equal(json_string_value(json), "abcd");
	json_decref(json);
	for (size_t i = 0; i < 2 * KEPT_TAIL; i++)
		output_buffer_add(&kept, "e", 1);
	json = output_buffer_json(&kept, 1000000, NULL, &is_cut);
	assert_true(is_cut);
	assert_true(strncmp(json_string_value(json), "ab\n", 3) == 0);
	json_decref(json);
	assert_int_equal(output_buffer_read(&kept, 2, 10, &bytes, &length), -ENODATA);
	assert_int_equal(output_buffer_read(&kept, kept.total - 3, 10, &bytes, &length), 0);
	assert_int_equal(length, 3);
	assert_memory_equal(bytes, "eee", 3);
	free(bytes);
	output_buffer_free(&kept);
	output_buffer_fill(&kept);
	output_buffer_add(&kept, "x", 1);
	json = output_buffer_json(&kept, 1000, NULL, &is_cut);
	assert_string_equal(json_string_value(json), "x");
	json_decref(json);
	output_buffer_free(&kept);
}

TEST(an_output_keeps_its_head_and_its_tail)
{
	struct output_buffer kept = {0};
	char piece[1000], *bytes;
	uint64_t written = 0;
	size_t length;
	bool is_cut;
	json_t *json;

	for (; written < KEPT_MAX + 3 * KEPT_TAIL; written += sizeof piece) {
		for (size_t i = 0; i < sizeof piece; i++)
			piece[i] = (char)('a' + (written + i) % 23);
		output_buffer_add(&kept, piece, sizeof piece);
	}
	assert_int_equal(kept.total, written);
	for (uint64_t at = 0; at < written; at += 33333) {
		int r = output_buffer_read(&kept, at, 100, &bytes, &length);

		if (at >= KEPT_MAX && at < written - KEPT_TAIL) {
			assert_int_equal(r, -ENODATA);
			continue;
		}
		assert_int_equal(r, 0);
		assert_true(length > 0 && length <= 100);
		for (size_t i = 0; i < length; i++)
			assert_int_equal(bytes[i], 'a' + (at + i) % 23);
		free(bytes);
	}
	assert_int_equal(output_buffer_read(&kept, written, 10, &bytes, &length), 0);
	assert_int_equal(length, 0);
	free(bytes);
	json = output_buffer_json(&kept, 1000, "run:x/stdout", &is_cut);
	assert_true(is_cut);
	assert_non_null(strstr(json_string_value(json), "run:x/stdout"));
	assert_int_equal(json_string_value(json)[json_string_length(json) - 1],
	                 'a' + (written - 1) % 23);
	json_decref(json);
	output_buffer_free(&kept);
}

TEST(characters_are_not_cut_in_two)
{
	struct output_buffer kept = {0};
	bool is_cut;
	json_t *json;

	for (size_t i = 0; i < 500; i++)
		output_buffer_add(&kept, "\xe2\x82\xac", 3);
	for (size_t max = 101; max < 107; max++) {
		json = output_buffer_json(&kept, max, NULL, &is_cut);
		assert_true(is_cut);
		assert_null(strstr(json_string_value(json), "\xef\xbf\xbd"));
		json_decref(json);
	}
	output_buffer_free(&kept);
}

TEST(each_operation_and_what_it_takes_and_gives_is_described)
{
	size_t count = 0;

	for (const struct operation *operation = operations; operation->name;
	     operation++, count++) {
		assert_in_range(strlen(operation->description), 1, 2047);
		for (const struct field *field = operation->asked; field->name; field++)
			assert_non_null(field->description);
		for (const struct field *field = operation->answered; field->name; field++)
			assert_non_null(field->description);
	}
	assert_in_range(count, 8, 9);
}

TEST_MAIN(NULL, NULL)
