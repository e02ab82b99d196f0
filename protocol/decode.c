/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes messages: hostile bytes → struct message, or a refusal with its reason and field.
 *
 * First msgpack-c's parser calls back with each value, and the callbacks record it in a flat list
 * of tokens that is never longer than the body. Then the tables of schema.h are followed through
 * the list. Finally the struct is encoded again and must give the same bytes. Unprivileged:
 * yett-decoder, yett-init, yett-files and libyett link this, yett-helper never does.
 */
#include "protocol/codec.h"

#include "protocol/explain.h"

#include <stdio.h>
#include <string.h>

/*
 * The deepest message is a map in a list in a map. The parser's stack holds one level more, and the
 * parser refuses deeper nesting.
 */
#define MSGPACK_EMBED_STACK_SIZE 4
#include <msgpack/unpack_define.h>
#include <msgpack/unpack.h>

enum token_kind {
	TOKEN_NUMBER,
	TOKEN_NEGATIVE,
	TOKEN_BOOL,
	TOKEN_TEXT,
	TOKEN_BYTES,
	TOKEN_LIST,
	TOKEN_MAP,
	TOKEN_OTHER, /* nil, floats, extensions */
};

/*
 * The tokens that the callbacks record. Tokens beyond the capacity are dropped: no message within
 * its bounds has that many.
 */
struct token_list {
	struct message_token *tokens;
	size_t count, capacity;
};

static int decode_note(struct token_list *list, struct message_token token, int *object)
{
	*object = 0; /* the parser's own value of a node, which nothing here uses */
	if (list->count < list->capacity)
		list->tokens[list->count++] = token;
	return 0;
}

static int note_number(struct token_list *list, uint64_t value, int *object)
{
	return decode_note(list, (struct message_token){.kind = TOKEN_NUMBER, .number = value},
	                   object);
}

/*
 * A signed encoding of a number that is not negative is only not canonical. decode_prove() finds
 * that later.
 */
static int note_signed(struct token_list *list, int64_t value, int *object)
{
	if (value >= 0)
		return note_number(list, (uint64_t)value, object);
	return decode_note(list, (struct message_token){.kind = TOKEN_NEGATIVE}, object);
}

static int note_bytes(struct token_list *list, enum token_kind kind, const char *bytes,
                      unsigned size, int *object)
{
	return decode_note(list, (struct message_token){.kind = kind, .size = size, .bytes = bytes},
	                   object);
}

static int note_other(struct token_list *list, int *object)
{
	return decode_note(list, (struct message_token){.kind = TOKEN_OTHER}, object);
}

/* The names that unpack_template.h needs. */
#define parse_on_uint8(list, value, object)        note_number(list, value, object)
#define parse_on_uint16(list, value, object)       note_number(list, value, object)
#define parse_on_uint32(list, value, object)       note_number(list, value, object)
#define parse_on_uint64(list, value, object)       note_number(list, value, object)
#define parse_on_int8(list, value, object)         note_signed(list, value, object)
#define parse_on_int16(list, value, object)        note_signed(list, value, object)
#define parse_on_int32(list, value, object)        note_signed(list, value, object)
#define parse_on_int64(list, value, object)        note_signed(list, value, object)
#define parse_on_float(list, value, object)        note_other(list, object)
#define parse_on_double(list, value, object)       note_other(list, object)
#define parse_on_nil(list, object)                 note_other(list, object)
#define parse_on_ext(list, base, at, size, object) note_other(list, object)
#define parse_on_true(list, object) \
	decode_note(list, (struct message_token){.kind = TOKEN_BOOL, .number = 1}, object)
#define parse_on_false(list, object) \
	decode_note(list, (struct message_token){.kind = TOKEN_BOOL}, object)
#define parse_on_str(list, base, at, size, object) note_bytes(list, TOKEN_TEXT, at, size, object)
#define parse_on_bin(list, base, at, size, object) note_bytes(list, TOKEN_BYTES, at, size, object)
#define parse_on_array(list, count, object) \
	decode_note(list, (struct message_token){.kind = TOKEN_LIST, .size = (count)}, object)
#define parse_on_map(list, count, object) \
	decode_note(list, (struct message_token){.kind = TOKEN_MAP, .size = (count)}, object)
#define parse_on_root(list)                            0
#define parse_on_array_item(list, container, item)     0
#define parse_on_map_item(list, container, key, value) 0

#define msgpack_unpack_struct(name)    struct parse##name
#define msgpack_unpack_func(ret, name) __attribute__((unused)) static ret parse##name
#define msgpack_unpack_callback(name)  parse_on##name
#define msgpack_unpack_object          int
#define msgpack_unpack_user            struct token_list
#include <msgpack/unpack_template.h>

struct decoder {
	const struct message_token *next, *end;
	struct message *message;
	struct schema_path path;
	struct yett_error *error;
};

static int decode_refuse(struct decoder *d, enum yett_reason reason,
                         const struct schema_field *field)
{
	return explain_refusal(d->error, YETT_E_PROTOCOL, reason, &d->path, field);
}

/*
 * Bytes → tokens. The length of the body bounds work and memory, whatever counts the body claims.
 */
static int decode_tokens(struct decoder *d, const uint8_t *body, size_t length,
                         struct token_list *list)
{
	struct parse_context parser;
	size_t used = 0;
	int r;

	parse_init(&parser);
	parser.user = *list;
	r = parse_execute(&parser, (const char *)body, length, &used);
	*list = parser.user;
	if (r == MSGPACK_UNPACK_NOMEM_ERROR)
		return decode_refuse(d, YETT_R_DEPTH, NULL);
	if (r < 0)
		return decode_refuse(d, YETT_R_MALFORMED, NULL);
	if (r == 0)
		return decode_refuse(d, YETT_R_TRUNCATED, NULL);
	return used == length ? 0 : decode_refuse(d, YETT_R_TRAILING, NULL);
}

/*
 * Takes the next token if it is of this kind. The list can end early only if tokens were dropped,
 * and then a list of the message is too long.
 */
static int decode_take(struct decoder *d, enum token_kind kind, const struct schema_field *field,
                       const struct message_token **ret_token)
{
	if (d->next == d->end)
		return decode_refuse(d, YETT_R_TOO_LONG, NULL);
	if (d->next->kind != kind)
		return decode_refuse(d,
		                     d->next->kind == TOKEN_NEGATIVE && kind == TOKEN_NUMBER
		                             ? YETT_R_RANGE
		                             : YETT_R_WRONG_TYPE,
		                     field);
	*ret_token = d->next++;
	return 0;
}

static int decode_number(struct decoder *d, const struct schema_field *field, void *at)
{
	const struct message_token *token;
	enum yett_reason reason;
	int r = decode_take(d, TOKEN_NUMBER, field, &token);

	if (r != 0)
		return r;
	reason = schema_check_number(field, token->number);
	if (reason != YETT_R_NONE)
		return decode_refuse(d, reason, field);
	if (field->kind == SCHEMA_UINT64)
		*(uint64_t *)at = token->number;
	else
		*(uint32_t *)at = (uint32_t)token->number;
	return 0;
}

static int decode_bool(struct decoder *d, const struct schema_field *field, void *at)
{
	const struct message_token *token;
	int r = decode_take(d, TOKEN_BOOL, field, &token);

	if (r == 0)
		*(bool *)at = token->number != 0;
	return r;
}

static int decode_text(struct decoder *d, const struct schema_field *field, void *at)
{
	struct message *message = d->message;
	const struct message_token *token;
	enum yett_reason reason;
	int r = decode_take(d, field->kind == SCHEMA_PATH ? TOKEN_BYTES : TOKEN_TEXT, field,
	                    &token);

	if (r != 0)
		return r;
	reason = schema_check_text(field, token->bytes, token->size);
	if (reason != YETT_R_NONE)
		return decode_refuse(d, reason, field);
	if (token->size == 0)
		return 0;
	if (token->size >= MESSAGE_ARENA_MAX - message->arena_used)
		return decode_refuse(d, YETT_R_TOO_LONG, NULL);
	*(struct text *)at = (struct text){.offset = message->arena_used, .length = token->size};
	memcpy(message->arena + message->arena_used, token->bytes, token->size);
	message->arena_used += token->size;
	message->arena[message->arena_used++] = '\0';
	return 0;
}

static int decode_bytes(struct decoder *d, const struct schema_field *field, void *at)
{
	const struct message_token *token;
	int r = decode_take(d, TOKEN_BYTES, field, &token);

	if (r != 0)
		return r;
	if (token->size != field->size)
		return decode_refuse(
			d, token->size < field->size ? YETT_R_TOO_SHORT : YETT_R_TOO_LONG, field);
	memcpy(at, token->bytes, field->size);
	return 0;
}

static int decode_map(struct decoder *d, const struct schema *schema, uint8_t *base);

static int decode_item(struct decoder *d, const struct schema_field *field, uint8_t *at)
{
	switch (field->kind) {
	case SCHEMA_UINT32:
	case SCHEMA_UINT64:
	case SCHEMA_BITS:
		return decode_number(d, field, at);
	case SCHEMA_BOOL:
		return decode_bool(d, field, at);
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
		return decode_text(d, field, at);
	case SCHEMA_BYTES:
		return decode_bytes(d, field, at);
	case SCHEMA_MAP:
		return decode_map(d, field->nested, at);
	}
	return decode_refuse(d, YETT_R_WRONG_TYPE, field);
}

static int decode_list(struct decoder *d, const struct schema_field *field, uint8_t *base)
{
	const struct message_token *token;
	enum yett_reason reason;
	int r = decode_take(d, TOKEN_LIST, field, &token);

	if (r != 0)
		return r;
	reason = schema_check_items(field, token->size);
	if (reason != YETT_R_NONE)
		return decode_refuse(d, reason, field);
	for (uint32_t i = 0; i < token->size && r == 0; i++) {
		d->path.steps[d->path.depth - 1].index = i;
		r = decode_item(d, field, base + field->offset + i * field->size);
	}
	if (r == 0 && field->list == SCHEMA_COUNTED)
		memcpy(base + field->count_offset, &token->size, sizeof token->size);
	return r;
}

static bool key_is(const struct message_token *key, const struct schema_field *field)
{
	return key->kind == TOKEN_TEXT && key->size == strlen(field->name) &&
	       memcmp(key->bytes, field->name, key->size) == 0;
}

/*
 * Returns the token after one value and everything in it: a container adds its parts to the number
 * of values that are left to skip.
 */
static const struct message_token *decode_skip_value(const struct message_token *token,
                                                     const struct message_token *end)
{
	for (uint64_t left = 1; left > 0 && token < end; left--, token++) {
		if (token->kind == TOKEN_LIST)
			left += token->size;
		else if (token->kind == TOKEN_MAP)
			left += 2 * (uint64_t)token->size;
	}
	return token;
}

/*
 * Refuses a key that is not the expected one, with the reason. `pairs` is how many pairs of the map
 * are left, including the one of this key.
 */
static int decode_refuse_key(struct decoder *d, const struct schema *schema, size_t expected,
                             uint32_t pairs)
{
	const struct message_token *key = d->next, *other = key;
	size_t known = 0;
	char name[32];

	while (known < schema->fields_count && !key_is(key, &schema->fields[known]))
		known++;
	(void)snprintf(name, sizeof name, "%.*s",
	               key->size < sizeof name ? (int)key->size : (int)sizeof name - 1, key->bytes);
	for (char *c = name; *c; c++)
		if (*c < '!' || *c > '~')
			*c = '?';
	schema_path_enter(&d->path,
	                  known < schema->fields_count ? schema->fields[known].name : name, -1);
	if (known == schema->fields_count)
		return decode_refuse(d, YETT_R_UNKNOWN_FIELD, NULL);
	if (known < expected)
		return decode_refuse(d, YETT_R_REPEATED_FIELD, NULL);
	for (; pairs > 0 && other < d->end; pairs--) {
		if (key_is(other, &schema->fields[expected]))
			return decode_refuse(d, YETT_R_FIELD_ORDER, NULL);
		other = decode_skip_value(decode_skip_value(other, d->end), d->end);
	}
	schema_path_leave(&d->path);
	schema_path_enter(&d->path, schema->fields[expected].name, -1);
	return decode_refuse(d, YETT_R_MISSING_FIELD, NULL);
}

static int decode_map(struct decoder *d, const struct schema *schema, uint8_t *base)
{
	const struct message_token *map, *key;
	int r = decode_take(d, TOKEN_MAP, NULL, &map);

	for (uint32_t i = 0; r == 0 && (i < map->size || i < schema->fields_count); i++) {
		const struct schema_field *field =
			i < schema->fields_count ? &schema->fields[i] : NULL;

		if (i == map->size) {
			schema_path_enter(&d->path, field->name, -1);
			return decode_refuse(d, YETT_R_MISSING_FIELD, NULL);
		}
		if (d->next < d->end && d->next->kind == TOKEN_TEXT &&
		    !(field && key_is(d->next, field)))
			return decode_refuse_key(d, schema, i, map->size - i);
		r = decode_take(d, TOKEN_TEXT, NULL, &key);
		if (r != 0 || !field)
			return r;
		schema_path_enter(&d->path, field->name, -1);
		r = field->list == SCHEMA_ONE ? decode_item(d, field, base + field->offset)
		                              : decode_list(d, field, base);
		if (r == 0)
			schema_path_leave(&d->path);
	}
	return r;
}

/*
 * Encodes the struct again and compares it with the body. If they are equal, the body held nothing
 * that the struct does not hold.
 */
static int decode_prove(struct decoder *d, const uint8_t *body, size_t length)
{
	struct encode_sink sink = {.expected = body, .size = length};
	struct encode_result result;

	encode_run(d->message, &sink, &result);
	if (result.error == 0)
		return 0;
	d->path = result.path;
	return decode_refuse(d, YETT_R_NOT_CANONICAL, NULL);
}

int message_decode_with(const struct message_scratch *scratch, uint32_t kind, const uint8_t *body,
                        size_t length, struct message *ret_message, struct yett_error *error)
{
	const struct schema *schema = schema_find(kind);
	struct token_list list = {.tokens = scratch->tokens, .capacity = scratch->capacity};
	struct decoder d = {.message = ret_message, .error = error};
	int r;

	if (!schema)
		return decode_refuse(&d, YETT_R_KIND, NULL);
	if (length > MESSAGE_PACKET_MAX)
		return decode_refuse(&d, YETT_R_SIZE, NULL);
	if (scratch->capacity < length && scratch->capacity < MESSAGE_TOKENS_MAX)
		return -EINVAL;
	r = decode_tokens(&d, body, length, &list);
	if (r != 0)
		return r;
	ret_message->kind = kind;
	ret_message->arena_used = 0;
	memset(&ret_message->body, 0, schema->size);
	d.next = list.tokens;
	d.end = list.tokens + list.count;
	r = decode_map(&d, schema, (uint8_t *)&ret_message->body);
	return r != 0 ? r : decode_prove(&d, body, length);
}

int message_decode(uint32_t kind, const uint8_t *body, size_t length, struct message *ret_message,
                   struct yett_error *error)
{
	struct message_scratch scratch = {
		.capacity = length < MESSAGE_TOKENS_MAX ? length : MESSAGE_TOKENS_MAX};
	_cleanup_free_ struct message_token *tokens = NULL;

	tokens = malloc((scratch.capacity + 1) * sizeof *tokens);
	if (!tokens)
		return -ENOMEM;
	scratch.tokens = tokens;
	return message_decode_with(&scratch, kind, body, length, ret_message, error);
}
