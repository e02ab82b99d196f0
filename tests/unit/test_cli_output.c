/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed: harmless text, valid JSON, sizes and times for people. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/output.h"
#include "cli/exit_code.h"
#include "tests/support/testing.h"

static char *printed;
static size_t printed_length;

static FILE *print_to(void)
{
	FILE *file;

	free(printed);
	printed = NULL;
	file = open_memstream(&printed, &printed_length);
	assert_non_null(file);
	return file;
}

static int free_printed(void **state)
{
	(void)state;
	free(printed);
	printed = NULL;
	return 0;
}

static const char *text(const char *input, bool lines)
{
	FILE *file = print_to();

	output_text(file, input, lines);
	assert_int_equal(fclose(file), 0);
	return printed;
}

static const char *json(const char *input)
{
	FILE *file = print_to();

	json_text(&(struct json){.to = file}, NULL, input);
	assert_int_equal(fclose(file), 0);
	return printed;
}

TEST_WITH(ordinary_text_is_printed_as_it_is, NULL, free_printed)
{
	assert_string_equal(text("/home/jürgen/日本 'x' \\ \"y\" …", false),
	                    "/home/jürgen/日本 'x' \\ \"y\" …");
	assert_string_equal(text("a\nb", true), "a\nb");
	assert_string_equal(text(NULL, false), "");
}

TEST_WITH(what_a_terminal_would_act_on_is_not, NULL, free_printed)
{
	assert_string_equal(text("\033[2Jx\r\n\a\x7f", false), "\\x1b[2Jx\\x0d\\x0a\\x07\\x7f");
	assert_string_equal(text("\033\n", true), "\\x1b\n");
	assert_string_equal(text("\xc2\x9b"
	                         "31m",
	                         false),
	                    "\\xc2\\x9b31m"); /* CSI as one character */
	assert_string_equal(text("a\xe2\x80\xae"
	                         "b",
	                         false),
	                    "a\\xe2\\x80\\xaeb");                   /* right-to-left override */
	assert_string_equal(text("\xff\xc3", false), "\\xff\\xc3"); /* no UTF-8 */
	assert_string_equal(text("\xc0\xaf\xed\xa0\x80", false), "\\xc0\\xaf\\xed\\xa0\\x80");
}

TEST_WITH(json_strings_are_escaped, NULL, free_printed)
{
	assert_string_equal(json("plain"), "\"plain\"");
	assert_string_equal(json("a\"b\\c\n\t\x01"), "\"a\\\"b\\\\c\\u000a\\u0009\\u0001\"");
	assert_string_equal(json("ä日"), "\"ä日\"");
	assert_string_equal(json("\xff"
	                         "a\xc3"),
	                    "\"\\ufffda\\ufffd\"");
}

TEST_WITH(an_error_becomes_a_json_object, NULL, free_printed)
{
	struct yett_error error = {.code = YETT_E_BAD_SIGNATURE,
	                           .reason = YETT_R_REPLAYED,
	                           .message = "a \"b\"",
	                           .detail = ""};
	FILE *file = print_to();

	output_json_error(&(struct json){.to = file}, NULL, &error);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(
		printed,
		"{\"code\":\"bad-signature\",\"reason\":\"replayed\",\"message\":\"a \\\"b\\\"\","
		"\"detail\":null,\"retryable\":false,\"errno\":null,\"step\":null,\"rule\":null,\"file\":null,"
		"\"line\":null,\"asked\":null,\"allowed\":null,\"mend\":null}");
	error = (struct yett_error){.code = YETT_E_TIMEOUT,
	                            .message = "m",
	                            .detail = "d",
	                            .os_error = 2,
	                            .step = "stdio",
	                            .rule = "r",
	                            .file = "f",
	                            .line = 7,
	                            .asked = "a",
	                            .allowed = "b",
	                            .mend = "c"};
	file = print_to();
	output_json_error(&(struct json){.to = file}, NULL, &error);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(
		printed,
		"{\"code\":\"timeout\",\"reason\":null,\"message\":\"m\",\"detail\":\"d\",\"retryable\":true,\"errno\":2,\"step\":\"stdio\","
		"\"rule\":\"r\",\"file\":\"f\",\"line\":7,\"asked\":\"a\",\"allowed\":\"b\",\"mend\":\"c\"}");
	error.code = YETT_OK;
	file = print_to();
	output_json_error(&(struct json){.to = file}, NULL, &error);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(printed, "null");
}

TEST_WITH(a_result_becomes_a_json_object, NULL, free_printed)
{
	struct yett_result result = {.signaled = true,
	                             .status = 9,
	                             .out_of_memory = true,
	                             .limits_hit = YETT_LIMIT_MEMORY | YETT_LIMIT_CPU_TIME,
	                             .wall_us = 1,
	                             .user_us = 2,
	                             .system_us = 3,
	                             .memory_peak_bytes = UINT64_C(1) << 40,
	                             .started_ms = 4,
	                             .ended_ms = 5,
	                             .signal_name = "KILL",
	                             .read_bytes = 6,
	                             .written_bytes = 7};
	FILE *file = print_to();

	output_json_result(&(struct json){.to = file}, NULL, &result);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(
		printed,
		"{\"signaled\":true,\"status\":9,\"timed_out\":false,\"out_of_memory\":true,"
		"\"limits_hit\":[\"memory\",\"cpu_time\"],\"wall_us\":1,\"user_us\":2,\"system_us\":3,"
		"\"memory_peak_bytes\":1099511627776,\"started_ms\":4,\"ended_ms\":5,\"signal_name\":\"KILL\","
		"\"read_bytes\":6,\"written_bytes\":7}");
}

TEST_WITH(bytes_are_text_where_they_are_and_base64_where_not, NULL, free_printed)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *json;
	} cases[] = {{"", 0, "{\"length\":0,\"text\":\"\",\"base64\":null}"},
	             {"\"ä\"\n", 5, "{\"length\":5,\"text\":\"\\\"ä\\\"\\u000a\",\"base64\":null}"},
	             {"a\0b", 3, "{\"length\":3,\"text\":null,\"base64\":\"YQBi\"}"},
	             {"\xc3", 1, "{\"length\":1,\"text\":null,\"base64\":\"ww==\"}"},
	             {"\xff\xfe", 2, "{\"length\":2,\"text\":null,\"base64\":\"//4=\"}"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		FILE *file = print_to();

		json_bytes(&(struct json){.to = file}, NULL, cases[i].bytes, cases[i].length);
		assert_int_equal(fclose(file), 0);
		assert_string_equal(printed, cases[i].json);
	}
}

TEST_WITH(members_items_and_nesting_have_their_commas, NULL, free_printed)
{
	FILE *file = print_to();
	struct json json = {.to = file};

	json_open(&json, NULL, '{');
	json_number(&json, "a", UINT64_MAX);
	json_open(&json, "b", '[');
	json_null(&json, NULL);
	json_open(&json, NULL, '{');
	json_close(&json);
	json_bool(&json, NULL, true);
	json_close(&json);
	json_signed(&json, "c", -1);
	json_number_or_null(&json, "d", 0);
	json_text_or_null(&json, "e", "");
	json_real(&json, "f", 1.005);
	json_raw(&json, "g", "[]", 2);
	json_close(&json);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(
		printed,
		"{\"a\":18446744073709551615,\"b\":[null,{},true],\"c\":-1,\"d\":null,\"e\":null,\"f\":1.00,\"g\":[]}");
}

/* The document of the process is written to the pipe that is returned. */
static int document_pipe(void)
{
	struct yett_error error;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(output_to_json(ends[0], &error),
	                 YETT_E_INVALID_REQUEST); /* it is for reading */
	assert_int_equal(output_to_json(ends[1], &error), 0);
	close(ends[1]);
	return ends[0];
}

TEST_WITH(a_document_has_the_result_the_first_error_and_the_notes, NULL, free_printed)
{
	struct yett_error error = {.code = YETT_E_NOT_FOUND, .message = "first"};
	char text[4096] = "";
	int fd = document_pipe();

	output_be_quiet();
	json_number(output_json(), "line", 1);
	output_json_line();
	output_note("a %s", "note");
	output_error(&error);
	output_error(&(struct yett_error){.code = YETT_E_TIMEOUT, .message = "second"});
	json_open(output_json(), "left", '[');
	json_text(output_json(), NULL, "open");
	assert_int_equal(output_end_json(3), 3);
	assert_null(output_json());
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	assert_string_equal(
		text,
		"{\"schema\":1,\"result\":{\"line\":1}}\n"
		"{\"schema\":1,\"exit_code\":3,\"result\":{\"left\":[\"open\"]},\"error\":{\"code\":\"not-found\",\"reason\":null,"
		"\"message\":\"first\",\"detail\":null,\"retryable\":false,\"errno\":null,\"step\":null,\"rule\":null,\"file\":null,"
		"\"line\":null,\"asked\":null,\"allowed\":null,\"mend\":null},\"notes\":[\"a note\"]}\n");
}

TEST_WITH(a_document_that_nobody_reads_is_a_failure, NULL, free_printed)
{
	int fd = document_pipe();

	close(fd);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(output_end_json(0), RUN_FAILED);
	fd = document_pipe();
	close(fd);
	assert_int_equal(output_end_json(7), 7);
	assert_int_equal(output_end_json(7), 7); /* none is asked for */
}

TEST_WITH(sizes_and_times_are_printed_in_their_largest_whole_unit, NULL, free_printed)
{
	char out[64];

	output_size(out, sizeof out, 64 << 20);
	assert_string_equal(out, "64 MiB");
	output_size(out, sizeof out, 1000);
	assert_string_equal(out, "1000 bytes");
	output_duration(out, sizeof out, 300);
	assert_string_equal(out, "300ms");
	output_duration(out, sizeof out, 2000);
	assert_string_equal(out, "2s");
	output_duration(out, sizeof out, 90000);
	assert_string_equal(out, "90s");
	output_duration(out, sizeof out, 7200000);
	assert_string_equal(out, "2h");
}

TEST_WITH(every_code_has_a_short_name_of_its_own, NULL, free_printed)
{
	for (int i = 0; i <= YETT_CODES_COUNT; i++) {
		assert_string_not_equal(yett_error_code_name((enum yett_code)i), "unknown");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(yett_error_code_name((enum yett_code)i),
			                        yett_error_code_name((enum yett_code)j));
	}
}

TEST_MAIN(NULL, NULL)
