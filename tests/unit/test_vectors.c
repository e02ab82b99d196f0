/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written down about the protocol: the vectors of protocol/vectors, and the lists of fields
 * of PROTOCOL.md.
 *
 * The vectors bind every implementation; here they are run against ours. The lists are compared
 * with the schema field by field, types and bounds included, so that the normative page cannot fall
 * behind the code.
 */

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protocol/codec.h"
#include "base/error_text.h"
#include "protocol/explain.h"
#include "protocol/envelope.h"
#include "protocol/schema.h"
#include "tests/support/testing.h"

#define ACCEPTED_LEAST 25
#define REFUSED_LEAST  60
#define CONTENT_MAX    (MESSAGE_PACKET_MAX + 4096)

struct vector {
	const char *name;
	char kind[16], reason[32], field[64], why[128];
	bool is_accepted, has_field;
	size_t fd_count;
	uint8_t *content;
	size_t length;
};

static struct message message;

static uint32_t kind_of(const char *name)
{
	for (uint32_t kind = 1; kind <= UINT16_MAX; kind++)
		if (schema_find(kind) &&
		    strcmp(schema_find(kind)->name + strlen("message_"), name) == 0)
			return kind;
	fail_msg("no kind of message is called %s", name);
	return 0;
}

/* "BYTES" or "BYTES*COUNT", in hexadecimal and decimal. */
static void read_hex(struct vector *v, const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef"), unit = digits / 2;
	unsigned long count = line[digits] == '*' ? strtoul(line + digits + 1, NULL, 10) : 1;

	assert_true(digits % 2 == 0 && v->length + unit * count <= CONTENT_MAX);
	for (unsigned long i = 0; i < count; i++)
		for (size_t j = 0; j < unit; j++) {
			unsigned byte;

			assert_int_equal(sscanf(line + 2 * j, "%2x", &byte), 1);
			v->content[v->length++] = (uint8_t)byte;
		}
}

static void read_line(struct vector *v, char *line)
{
	char *value = strstr(line, ": ");

	assert_non_null(value);
	*value = '\0';
	value += 2;
	value[strcspn(value, "\n")] = '\0';
	if (strcmp(line, "hex") == 0) {
		read_hex(v, value);
	} else if (strcmp(line, "kind") == 0) {
		(void)snprintf(v->kind, sizeof v->kind, "%s", value);
	} else if (strcmp(line, "fds") == 0) {
		v->fd_count = strtoul(value, NULL, 10);
	} else if (strcmp(line, "why") == 0) {
		(void)snprintf(v->why, sizeof v->why, "%s", value);
	} else if (strcmp(line, "field") == 0) {
		v->has_field = true;
		(void)snprintf(v->field, sizeof v->field, "%s", value);
	} else if (strcmp(line, "expect") == 0) {
		v->is_accepted = strcmp(value, "accept") == 0;
		assert_true(v->is_accepted || sscanf(value, "refuse %31s", v->reason) == 1);
	} else {
		fail_msg("%s: unknown line '%s'", v->name, line);
	}
}

/* `content` has CONTENT_MAX bytes; afterwards it is of the exact length, so that a sanitizer sees
 * reads beyond it. */
static void read_vector(const char *path, struct vector *v)
{
	FILE *file = fopen(path, "re");
	char line[1024];

	assert_non_null(file);
	v->content = malloc(CONTENT_MAX);
	assert_non_null(v->content);
	while (fgets(line, sizeof line, file))
		read_line(v, line);
	(void)fclose(file);
	assert_true(v->kind[0] && v->why[0] && (v->is_accepted || v->reason[0]));
	v->content = realloc(v->content, v->length ? v->length : 1);
	assert_non_null(v->content);
}

static void check_refusal(const struct vector *v, int r, const struct yett_error *error)
{
	if (r == 0)
		fail_msg("%s: accepted, though %s", v->name, v->why);
	assert_int_equal(r, YETT_E_PROTOCOL);
	assert_int_equal(error->code, YETT_E_PROTOCOL);
	if (strcmp(error_reason_short_name(error->reason), v->reason) != 0 ||
	    (v->has_field && strcmp(error->detail, v->field) != 0))
		fail_msg("%s: expected %s at '%s', got %s at '%s'", v->name, v->reason, v->field,
		         error_reason_short_name(error->reason), error->detail);
}

static void check_body(const struct vector *v, uint32_t kind, const uint8_t *body, size_t length)
{
	struct yett_error error = {0};
	uint8_t *again = malloc(length + 1);
	size_t again_length = 0;
	int r = message_decode(kind, body, length, &message, &error);

	assert_non_null(again);
	if (!v->is_accepted) {
		check_refusal(v, r, &error);
	} else {
		if (r != 0)
			fail_msg("%s: refused with %s at '%s', though %s", v->name, error.message,
			         error.detail, v->why);
		assert_int_equal(message_encode(&message, again, length, &again_length), 0);
		assert_int_equal(again_length, length);
		assert_memory_equal(again, body, length);
		assert_int_equal(message_compare(&message, body, length), 0);
		assert_int_equal(message_check(&message, &error), 0);
	}
	free(again);
}

static void check_packet(const struct vector *v)
{
	uint8_t head[ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE];
	struct yett_error error = {0};
	struct envelope envelope;
	int r = envelope_read(v->content, v->length, v->fd_count, &envelope, &error);
	size_t before_body;

	if (!v->is_accepted) {
		check_refusal(v, r, &error);
		return;
	}
	if (r != 0)
		fail_msg("%s: refused with %s, though %s", v->name, error.message, v->why);
	before_body = envelope_size(envelope.kind);
	envelope_write(&envelope, head);
	assert_memory_equal(head, v->content, before_body);
	check_body(v, envelope.kind, v->content + before_body, envelope.body_length);
}

TEST(every_vector_is_accepted_or_refused_as_it_says)
{
	char folder[4096], path[8192];
	unsigned accepted = 0, refused = 0;
	const struct dirent *entry;
	DIR *dir;

	assert_non_null(getenv("YETT_SOURCE_ROOT"));
	(void)snprintf(folder, sizeof folder, "%s/protocol/vectors", getenv("YETT_SOURCE_ROOT"));
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct vector v = {.name = entry->d_name};
		size_t length = strlen(entry->d_name);

		if (length < 5 || strcmp(entry->d_name + length - 4, ".txt") != 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		read_vector(path, &v);
		if (strcmp(v.kind, "packet") == 0)
			check_packet(&v);
		else
			check_body(&v, kind_of(v.kind), v.content, v.length);
		*(v.is_accepted ? &accepted : &refused) += 1;
		free(v.content);
	}
	(void)closedir(dir);
	print_message("%u accepted, %u refused\n", accepted, refused);
	assert_true(accepted >= ACCEPTED_LEAST && refused >= REFUSED_LEAST);
}

static const char *short_name(const struct schema *schema)
{
	return schema->name + strlen("message_");
}

static const char *text_name(enum schema_text text)
{
	static const char *const names[] = {
		[SCHEMA_TEXT_ANY] = "text",
		[SCHEMA_TEXT_NAME] = "name",
		[SCHEMA_TEXT_HOSTNAME] = "host",
		[SCHEMA_TEXT_HEX] = "hex",
		[SCHEMA_TEXT_ENVIRONMENT] = "variable",
	};

	return names[text];
}

/* Prints "min–max", or one number if both are equal. */
static void print_range(uint64_t min, uint64_t max, char *out, size_t size)
{
	if (min == max)
		(void)snprintf(out, size, "%" PRIu64, max);
	else
		(void)snprintf(out, size, "%" PRIu64 "–%" PRIu64, min, max);
}

/* Prints the range of a number; ranges from 0 to a large power of 2 have shorter forms. */
static void print_number(const struct schema_field *field, char *out, size_t size)
{
	static const struct {
		uint64_t max;
		const char *form;
	} short_forms[] = {
		{UINT8_MAX, "u8"},  {UINT16_MAX, "u16"}, {UINT32_MAX, "u32"},
		{INT64_MAX, "u63"}, {UINT64_MAX, "u64"}, {UINT64_C(1) << 50, "0–2^50"},
	};

	print_range(field->min, field->max, out, size);
	for (size_t i = 0; i < ARRAY_SIZE(short_forms); i++)
		if (field->min == 0 && field->max == short_forms[i].max)
			(void)snprintf(out, size, "%s", short_forms[i].form);
}

static void print_value(const struct schema_field *field, char *out, size_t size)
{
	char range[48];

	print_range(field->min, field->max, range, sizeof range);
	switch (field->kind) {
	case SCHEMA_UINT32:
	case SCHEMA_UINT64:
		print_number(field, out, size);
		break;
	case SCHEMA_BITS:
		(void)snprintf(out, size, "bits %" PRIu64, field->max);
		break;
	case SCHEMA_BOOL:
		(void)snprintf(out, size, "bool");
		break;
	case SCHEMA_TEXT:
		(void)snprintf(out, size, "%s %s", text_name(field->text), range);
		break;
	case SCHEMA_PATH:
		(void)snprintf(out, size, "path %s", range);
		break;
	case SCHEMA_BYTES:
		(void)snprintf(out, size, "bytes %zu", field->size);
		break;
	case SCHEMA_MAP:
		(void)snprintf(out, size, "`%s`", short_name(field->nested));
		break;
	}
}

/* Prints the line of PROTOCOL.md up to the meaning of the field, which is prose. */
static void print_row(const struct schema_field *field, char *out, size_t size)
{
	char value[96], items[48] = "";

	print_value(field, value, sizeof value);
	if (field->list == SCHEMA_FIXED)
		(void)snprintf(items, sizeof items, "%u × ", field->items_max);
	else if (field->list == SCHEMA_COUNTED)
		(void)snprintf(items, sizeof items, "%u–%u × ", field->items_min, field->items_max);
	(void)snprintf(out, size, "\n- `%s` (%s%s)", field->name, items, value);
}

/* A message has a heading of its own with its number; what only nests has one a level deeper. */
static void check_table(const char *page, const struct schema *schema)
{
	char row[256];
	const char *at, *end;

	if (schema->kind != 0)
		(void)snprintf(row, sizeof row, "\n### `%s` (%u)\n", short_name(schema),
		               schema->kind);
	else
		(void)snprintf(row, sizeof row, "\n#### `%s`\n", short_name(schema));
	at = strstr(page, row);
	if (!at)
		fail_msg("PROTOCOL.md has no heading '%s'", row);
	at++;
	end = strstr(at, "\n##");
	for (size_t i = 0; i < schema->fields_count; i++) {
		const struct schema_field *field = &schema->fields[i];

		print_row(field, row, sizeof row);
		at = strstr(at, row);
		if (!at || (end && at > end))
			fail_msg("PROTOCOL.md, %s: no line, or not in order: %s", schema->name,
			         row);
		if (field->nested)
			check_table(page, field->nested);
	}
}

static char *read_page(void)
{
	char path[4096], *page = calloc(1, 1 << 18);
	FILE *file;

	assert_non_null(getenv("YETT_SOURCE_ROOT"));
	(void)snprintf(path, sizeof path, "%s/protocol/PROTOCOL.md", getenv("YETT_SOURCE_ROOT"));
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(page);
	assert_true(fread(page, 1, (1 << 18) - 1, file) > 1000);
	(void)fclose(file);
	return page;
}

TEST(the_page_states_every_field_in_order_with_its_bounds)
{
	char *page = read_page();

	for (uint32_t kind = 1; kind <= UINT16_MAX; kind++)
		if (schema_find(kind))
			check_table(page, schema_find(kind));
	free(page);
}

TEST(every_program_knows_the_numbers_of_all_kinds)
{
	struct envelope envelope = {0};
	uint8_t packet[ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE];

	for (uint32_t kind = 0; kind <= UINT16_MAX; kind++) {
		struct yett_error error = {0};

		envelope.kind = (uint16_t)kind;
		envelope_write(&envelope, packet);
		if (envelope_read(packet, envelope_size(envelope.kind), 0, &envelope, &error) != 0)
			assert_int_equal(error.reason, YETT_R_KIND);
		assert_int_equal(error.reason == YETT_R_NONE, schema_find(kind) != NULL);
	}
}

TEST(the_page_states_every_code_and_reason)
{
	char *page = read_page(), row[512];

#define X(name, number, retryable, text)                                          \
	(void)snprintf(row, sizeof row, "| %d | `%s` | %s | %s |", number, #name, \
	               (retryable) ? "yes" : "no", text);                         \
	if (!strstr(page, row))                                                   \
		fail_msg("PROTOCOL.md lacks: %s", row);
	YETT_CODES(X)
#undef X
#define X(name, number, short_name, text)                                                \
	(void)snprintf(row, sizeof row, "| %d | `%s` | %s |", number, short_name, text); \
	if (!strstr(page, row))                                                          \
		fail_msg("PROTOCOL.md lacks: %s", row);
	YETT_REASONS(X)
#undef X
	free(page);
}

TEST_MAIN(NULL, NULL)
