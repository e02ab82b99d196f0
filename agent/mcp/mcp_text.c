/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats answers as short texts for models. structuredContent has the complete answer. See
 * mcp_parts.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_parts.h"
#include "agent/problem.h"

static const char *text_in(const json_t *answer, const char *name)
{
	const char *text = field_text(answer, name);

	return text ? text : "";
}

/* Writes the text, and a newline if it lacks one. */
static void mcp_text_put_line(FILE *to, const char *text)
{
	size_t length = strlen(text);

	(void)fputs(text, to);
	if (length > 0 && text[length - 1] != '\n')
		(void)fputc('\n', to);
}

/* --- executions ------------------------------------------------------------------------------- */

static void put_status(FILE *to, const json_t *answer)
{
	const char *status = text_in(answer, "status"), *why = text_in(answer, "why");
	bool is_fine = strcmp(status, "completed") == 0 || !*status;

	if (strcmp(status, "running") == 0 || strcmp(status, "pending") == 0)
		(void)fprintf(to, "[%s: wait_command {\"id\": \"%s\"} returns the rest]\n", status,
		              text_in(answer, "id"));
	else if (!is_fine)
		(void)fprintf(to, "[%s%s%s]\n", status, *why ? ": " : "", why);
}

static void mcp_text_put_denied(FILE *to, const json_t *answer)
{
	const json_t *denied = field_get(answer, "denied");
	json_t *one;
	size_t i;

	json_array_foreach(denied, i, one)
	{
		const char *mend = text_in(one, "mend");

		(void)fprintf(to, "[denied: %s%s%s]\n", text_in(one, "message"),
		              *mend ? "; it needs " : "", mend);
	}
	if (field_bool(answer, "denied_more"))
		(void)fputs("[denied: more than this]\n", to);
}

static void put_warnings(FILE *to, const json_t *answer)
{
	const json_t *warnings = field_get(answer, "warnings");

	for (size_t i = 0; i < json_array_size(warnings); i++)
		(void)fprintf(to, "[warning: %s]\n",
		              json_string_value(json_array_get(warnings, i)));
}

static void mcp_text_put_outputs(FILE *to, const json_t *answer)
{
	const char *out = text_in(answer, "stdout"), *err = text_in(answer, "stderr"),
		   *value = text_in(answer, "value");
	const char *version = text_in(answer, "version");

	if (*out && *err)
		(void)fputs("stdout:\n", to);
	mcp_text_put_line(to, out);
	if (*err) {
		(void)fputs("stderr:\n", to);
		mcp_text_put_line(to, err);
	}
	if (*value)
		(void)fprintf(to, "value: %s\n", value);
	if (*version)
		(void)fprintf(to, "version: %s\n", version);
}

static void put_execution(FILE *to, const json_t *answer)
{
	long begin;

	put_status(to, answer);
	mcp_text_put_denied(to, answer);
	put_warnings(to, answer);
	begin = ftell(to);
	mcp_text_put_outputs(to, answer);
	if (ftell(to) == begin && field_bool(answer, "success"))
		(void)fputs("(no output)\n", to);
}

/* --- files ------------------------------------------------------------------------------------ */

static void put_content(FILE *to, const json_t *answer)
{
	int64_t offset = field_number(answer, "offset", 0),
		length = field_number(answer, "length", 0);
	int64_t size = field_number(answer, "size", 0);

	if (strcmp(text_in(answer, "encoding"), "base64") == 0)
		(void)fputs("[in base64]\n", to);
	mcp_text_put_line(to, text_in(answer, "content"));
	if (offset > 0 || offset + length < size)
		(void)fprintf(to, "[bytes %lld to %lld of %lld]\n", (long long)offset,
		              (long long)(offset + length), (long long)size);
}

static void put_written(FILE *to, const json_t *answer)
{
	(void)fprintf(to, "%lld bytes written\n", (long long)field_number(answer, "written", 0));
}

static void put_entries(FILE *to, const json_t *answer)
{
	const json_t *entries = field_get(answer, "entries");

	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const char *link = text_in(entry, "link");

		(void)fprintf(to, "%s %10lld %s%s%s%s\n", text_in(entry, "permissions"),
		              (long long)field_number(entry, "size", 0), text_in(entry, "name"),
		              strcmp(text_in(entry, "kind"), "directory") == 0 ? "/" : "",
		              *link ? " -> " : "", link);
	}
	if (field_bool(answer, "truncated"))
		(void)fputs("[there are more]\n", to);
}

/* --- entry point ------------------------------------------------------------------------------ */

static const struct {
	const char *operation;
	void (*put)(FILE *to, const json_t *answer);
} texts[] = {
	{"run_code", put_execution},     {"run_command", put_execution},
	{"wait_command", put_execution}, {"read_file", put_content},
	{"write_file", put_written},     {"list_files", put_entries},
};

/* For operations without a format of their own. */
static void mcp_text_put_json(FILE *to, const json_t *answer)
{
	_cleanup_free_ char *text = json_dumps(answer, JSON_COMPACT);

	(void)fputs(text ? text : "", to);
}

static void put_answer(FILE *to, const struct operation *operation, const json_t *answer)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].operation, operation->name) == 0) {
			texts[i].put(to, answer);
			return;
		}
	}
	mcp_text_put_json(to, answer);
}

static void mcp_text_put_error(FILE *to, const json_t *answer, const struct yett_error *error)
{
	_cleanup_free_ char *text = problem_text(error);

	mcp_text_put_line(to, text ? text : error->message);
	mcp_text_put_outputs(to, answer); /* output from before the error */
}

/* Removes the last newline. */
static void trim(char *text)
{
	size_t length = strlen(text);

	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = '\0';
}

char *mcp_text_of(const struct operation *operation, const json_t *answer,
                  const struct yett_error *error)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&bytes, &length);

	if (!to)
		return NULL;
	if (error)
		mcp_text_put_error(to, answer, error);
	else
		put_answer(to, operation, answer);
	if (fclose(to) != 0) {
		free(bytes);
		return NULL;
	}
	trim(bytes);
	if (bytes[0])
		return bytes;
	free(bytes);
	return strdup("(empty)");
}
