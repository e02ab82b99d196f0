/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing the codec, both ways: the first byte chooses, the rest is a body or the bytes of a
 * struct.
 *
 * Whatever decodes must encode to the same bytes; whatever encodes must decode to an equal message.
 * libFuzzer.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define X(name, number, body) number,
static const uint32_t kinds[] = {MESSAGE_KINDS(X) 0};
#undef X

static struct message message, again;
static uint8_t body[MESSAGE_PACKET_MAX];

static void need(int condition)
{
	if (!condition)
		abort();
}

static void fuzz_body(uint32_t kind, const uint8_t *data, size_t size)
{
	struct yett_error error;
	int r = message_decode(kind, data, size, &message, &error);

	if (r == 0)
		need(message_compare(&message, data, size) == 0);
	else
		need(r == YETT_E_PROTOCOL && error.reason != YETT_R_NONE);
}

static void fuzz_struct(uint32_t kind, const uint8_t *data, size_t size)
{
	size_t in_body = size < sizeof message.body ? size : sizeof message.body, length;

	memset(&message.body, 0, sizeof message.body);
	memcpy(&message.body, data, in_body);
	memcpy(message.arena, data, size < MESSAGE_ARENA_MAX ? size : MESSAGE_ARENA_MAX);
	message.kind = kind;
	message.arena_used = (uint32_t)size;
	if (message_encode(&message, body, sizeof body, &length) != 0)
		return;
	need(message_compare(&message, body, length) == 0);
	need(message_decode(kind, body, length, &again, NULL) == 0);
	need(message_compare(&again, body, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t kind;

	if (size == 0)
		return 0;
	kind = kinds[(data[0] & 0x7f) % ARRAY_SIZE(kinds)];
	if (data[0] & 0x80)
		fuzz_struct(kind, data + 1, size - 1);
	else
		fuzz_body(kind, data + 1, size - 1);
	return 0;
}
