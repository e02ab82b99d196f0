/* See keys.h. Unprivileged, in yett-decoder after its lock-down. */
#include "helper/decoder/keys.h"

#include <string.h>

#define KEY_PREFIX      "ed25519 "
#define KEY_BASE64_SIZE 44 /* of 32 bytes, padded */

/* The six bits of a base64 character; -1 for any other. */
static int base64_bits(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* 43 characters and one '=' → 32 bytes. The two bits left over must be 0: a key has one spelling. */
static bool base64_key(const char *text, uint8_t key[32])
{
	uint32_t bits = 0, count = 0;
	size_t used = 0;

	for (size_t i = 0; i < KEY_BASE64_SIZE - 1; i++) {
		int six = base64_bits(text[i]);

		if (six < 0)
			return false;
		bits = bits << 6 | (uint32_t)six;
		count += 6;
		if (count >= 8) {
			count -= 8;
			key[used++] = (uint8_t)(bits >> count);
		}
	}
	return (bits & ((1u << count) - 1)) == 0 && text[KEY_BASE64_SIZE - 1] == '=';
}

static bool is_printable(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((uint8_t)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool line_is_key(const char *line, size_t length, uint8_t key[32])
{
	const size_t prefix = sizeof KEY_PREFIX - 1, end = prefix + KEY_BASE64_SIZE;

	return length >= end && memcmp(line, KEY_PREFIX, prefix) == 0 && base64_key(line + prefix, key) &&
	       (length == end || line[end] == ' ') && is_printable(line + end, length - end);
}

int keys_parse(const char *text, size_t length, struct message *ret_message, struct yett_error *error)
{
	struct message_keys *keys = &ret_message->body.keys;
	unsigned number = 1;

	ret_message->kind = MESSAGE_KEYS;
	ret_message->arena_used = 0;
	memset(keys, 0, sizeof *keys);
	for (size_t at = 0, size; at < length; at += size + 1, number++) {
		const char *line = text + at, *end = memchr(line, '\n', length - at);

		size = end ? (size_t)(end - line) : length - at;
		if (size == 0 || line[0] == '#')
			continue;
		if (keys->keys_count == MESSAGE_KEYS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "line %u: more than %d keys",
					 number, MESSAGE_KEYS_MAX);
		if (!line_is_key(line, size, keys->keys[keys->keys_count].key))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MALFORMED,
					 "line %u: not `ed25519 KEY COMMENT` with a key of 44 characters of base64",
					 number);
		keys->keys_count++;
	}
	return 0;
}
