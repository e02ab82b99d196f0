/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing what verifies records: segments and a state of whatever bytes, the lines of which may be
 * made to fit their chain. libFuzzer. What is told never ends in a report of something whole that
 * was not written here; members of lines are looked up, and their texts read.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "programs/audit/field.h"
#include "programs/audit/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(void *userdata, enum verify_kind kind, const char *file, size_t line,
                   const char *text)
{
	(void)kind, (void)file, (void)line;
	*(size_t *)userdata += strlen(text);
}

static void look_up(const char *line, size_t length)
{
	static const char *const paths[] = {"seq",         "epoch",         "event", "user.uid",
	                                    "before.seal", "error.message", "a.b.c"};
	char text[64];
	uint8_t bytes[CHAIN_HASH_SIZE];
	uint64_t number;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (field_text(line, length, paths[i], text, sizeof text))
			assert(strlen(text) < sizeof text);
		(void)field_number(line, length, paths[i], &number);
		(void)field_bytes(line, length, paths[i], bytes, sizeof bytes);
	}
	(void)field_is_object(line, length);
}

/* The same lines, each with the MAC that it has to have: so that what is behind the MAC is reached.
 */
static size_t sign(const uint8_t *data, size_t size, char *out, struct chain *chain)
{
	size_t used = 0;

	for (const uint8_t *at = data, *end; size > 0 && (end = memchr(at, '\n', size));
	     size -= (size_t)(end + 1 - at), at = end + 1) {
		size_t length = (size_t)(end - at);

		memcpy(out + used, at, length);
		used += chain_append(chain, out + used, length);
	}
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct verify verify;
	struct slots_state state = {.segment = 1};
	const uint8_t id[CHAIN_ID_SIZE] = {0};
	uint8_t key[CHAIN_HASH_SIZE];
	size_t lines = 1, told = 0, length;
	char *bytes;

	if (size < 1 || size > 65536)
		return 0;
	look_up((const char *)data + 1, size - 1);
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	bytes = malloc(size + lines * CHAIN_TAIL_SIZE);
	assert(bytes);
	chain_open_key(id, key);
	chain_begin(&state.chain, id, key);
	chain_advance(&state.chain);
	if (data[0] & 1) {
		length = sign(data + 1, size - 1, bytes, &state.chain);
	} else {
		length = size - 1;
		memcpy(bytes, data + 1, length);
	}
	state.size = length;
	verify_begin(&verify, report, &told);
	verify.minutes_left = 100;
	verify.may_begin_later = data[0] & 2;
	verify_segment(&verify, "a", 1, bytes, length / 2, false);
	verify_segment(&verify, "b", 2, bytes + length / 2, length - length / 2, true);
	verify_segment(&verify, "a", 1, bytes, length, true);
	verify_end(&verify, data[0] & 4 ? NULL : &state, NULL);
	assert(verify.records <= 3 * lines);
	free(bytes);
	return 0;
}
