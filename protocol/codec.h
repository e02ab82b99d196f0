/*
 * One table-driven codec: struct message ⇄ canonical msgpack.
 *
 * encode.c (linked everywhere) writes the one valid encoding of a message. decode.c (linked by
 * yett-decoder, yett-init and libyett; never by yett-helper, which `nm` proves) reads it and
 * refuses everything else. Both follow the tables of schema.h and run with the privilege of their
 * process; neither allocates in proportion to a number that the peer claims, and neither logs.
 */
#pragma once

#include "protocol/encode.h"

/* One msgpack value as decode.c notes it before it looks at its meaning. */
struct message_token {
	uint32_t kind;
	uint32_t size; /* bytes of a text, items of a list, pairs of a map */
	union {
		uint64_t number;
		const char *bytes; /* in the body */
	};
};

/* More than any message within its bounds has. */
#define MESSAGE_TOKENS_MAX 8192

/* Working memory of message_decode_with(): room for MESSAGE_TOKENS_MAX tokens, or for as many as
 * the body has bytes. */
struct message_scratch {
	struct message_token *tokens;
	size_t capacity;
};

/*
 * Reads a body of the given kind into `ret_message` (all of whose body for that kind is written;
 * zeroed first). 0; YETT_E_PROTOCOL with the reason and, in the detail, the path of the field
 * ("shares[3].target"); -ENOMEM. What decodes is canonical: encoding it again gives the same bytes.
 */
_must_check_ int message_decode(uint32_t kind, const uint8_t *body, size_t length,
                                struct message *ret_message, struct yett_error *error);

/*
 * The same without any allocation or system call, for a process that can make neither. -EINVAL for
 * a scratch that is too small; otherwise as message_decode().
 */
_must_check_ int message_decode_with(const struct message_scratch *scratch, uint32_t kind,
                                     const uint8_t *body, size_t length,
                                     struct message *ret_message, struct yett_error *error);
