/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes messages: the one valid encoding, by the tables of schema.h and msgpack-c's packer.
 *
 * A compromised process may have filled the struct: no value is trusted before it was checked
 * against its field's bounds. Runs with the privilege of the caller; allocates nothing, makes no
 * system call.
 */
#include "protocol/encode.h"

#include <msgpack/pack.h>
#include <string.h>

struct encoder {
	msgpack_packer packer;
	const struct message *message;
	const struct encode_sink *sink;
	struct encode_result *result; /* its path stays as it was where the encoding failed */
};

/* The callback msgpack_packer_write, which consumes what the packer made. -1 ends the encoding. */
static int encode_write(void *data, const char *bytes, size_t length)
{
	const struct encoder *e = data;
	struct encode_result *result = e->result;

	if (length > e->sink->size - result->length) {
		result->error = e->sink->expected ? -EBADMSG : -EMSGSIZE;
		result->reason = YETT_R_SIZE;
		return -1;
	}
	if (e->sink->buffer)
		memcpy(e->sink->buffer + result->length, bytes, length);
	if (e->sink->expected && memcmp(e->sink->expected + result->length, bytes, length) != 0) {
		result->error = -EBADMSG;
		result->reason = YETT_R_NOT_CANONICAL;
		return -1;
	}
	result->length += length;
	return 0;
}

static int encode_refuse(struct encoder *e, enum yett_reason reason,
                         const struct schema_field *field)
{
	e->result->error = -EMSGSIZE;
	e->result->reason = reason;
	e->result->field = field;
	return -1;
}

static int encode_number(struct encoder *e, const struct schema_field *field, const void *at)
{
	uint64_t value =
		field->kind == SCHEMA_UINT64 ? *(const uint64_t *)at : *(const uint32_t *)at;
	enum yett_reason reason = schema_check_number(field, value);

	if (reason != YETT_R_NONE)
		return encode_refuse(e, reason, field);
	return msgpack_pack_uint64(&e->packer, value);
}

static int encode_bool(struct encoder *e, const struct schema_field *field, const void *at)
{
	uint8_t value;

	/*
	 * As a byte: a bool of another process may hold any value, and reading one would be
	 * undefined.
	 */
	memcpy(&value, at, sizeof value);
	if (value > 1)
		return encode_refuse(e, YETT_R_RANGE, field);
	return value ? msgpack_pack_true(&e->packer) : msgpack_pack_false(&e->packer);
}

static int encode_text(struct encoder *e, const struct schema_field *field, const void *at)
{
	const struct text *text = at;
	const char *string = message_text(e->message, *text);
	enum yett_reason reason;

	if (!string)
		return encode_refuse(e, YETT_R_RANGE, field);
	reason = schema_check_text(field, string, text->length);
	if (reason != YETT_R_NONE)
		return encode_refuse(e, reason, field);
	return field->kind == SCHEMA_PATH
	               ? msgpack_pack_bin_with_body(&e->packer, string, text->length)
	               : msgpack_pack_str_with_body(&e->packer, string, text->length);
}

static int encode_map(struct encoder *e, const struct schema *schema, const uint8_t *base);

static int encode_item(struct encoder *e, const struct schema_field *field, const uint8_t *at)
{
	switch (field->kind) {
	case SCHEMA_UINT32:
	case SCHEMA_UINT64:
	case SCHEMA_BITS:
		return encode_number(e, field, at);
	case SCHEMA_BOOL:
		return encode_bool(e, field, at);
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
		return encode_text(e, field, at);
	case SCHEMA_BYTES:
		return msgpack_pack_bin_with_body(&e->packer, at, field->size);
	case SCHEMA_MAP:
		return encode_map(e, field->nested, at);
	}
	return encode_refuse(e, YETT_R_WRONG_TYPE, field);
}

static int encode_list(struct encoder *e, const struct schema_field *field, const uint8_t *base)
{
	uint32_t count = field->items_max;
	enum yett_reason reason;

	if (field->list == SCHEMA_COUNTED)
		memcpy(&count, base + field->count_offset, sizeof count);
	reason = schema_check_items(field, count);
	if (reason != YETT_R_NONE)
		return encode_refuse(e, reason, field);
	if (msgpack_pack_array(&e->packer, count) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		e->result->path.steps[e->result->path.depth - 1].index = i;
		if (encode_item(e, field, base + field->offset + i * field->size) < 0)
			return -1;
	}
	return 0;
}

static int encode_map(struct encoder *e, const struct schema *schema, const uint8_t *base)
{
	if (msgpack_pack_map(&e->packer, schema->fields_count) < 0)
		return -1;
	for (size_t i = 0; i < schema->fields_count; i++) {
		const struct schema_field *field = &schema->fields[i];

		schema_path_enter(&e->result->path, field->name, -1);
		if (msgpack_pack_str_with_body(&e->packer, field->name, strlen(field->name)) < 0)
			return -1;
		if (field->list == SCHEMA_ONE ? encode_item(e, field, base + field->offset) < 0
		                              : encode_list(e, field, base) < 0)
			return -1;
		schema_path_leave(&e->result->path);
	}
	return 0;
}

void encode_run(const struct message *message, const struct encode_sink *sink,
                struct encode_result *ret_result)
{
	const struct schema *schema = schema_find(message->kind);
	struct encoder e = {.message = message, .sink = sink, .result = ret_result};

	*ret_result = (struct encode_result){0};
	msgpack_packer_init(&e.packer, &e, encode_write);
	if (!schema) {
		(void)encode_refuse(&e, YETT_R_KIND, NULL);
		return;
	}
	if (encode_map(&e, schema, (const uint8_t *)&message->body) < 0)
		return;
	if (sink->expected && ret_result->length != sink->size) {
		ret_result->error = -EBADMSG;
		ret_result->reason = YETT_R_TRAILING;
	}
}

int message_encode(const struct message *message, uint8_t *buffer, size_t size, size_t *ret_length)
{
	struct encode_sink sink = {.buffer = buffer, .size = size};
	struct encode_result result;

	encode_run(message, &sink, &result);
	if (result.error == 0)
		*ret_length = result.length;
	return result.error;
}

int message_compare(const struct message *message, const uint8_t *body, size_t length)
{
	struct encode_sink sink = {.expected = body, .size = length};
	struct encode_result result;

	encode_run(message, &sink, &result);
	return result.error;
}
