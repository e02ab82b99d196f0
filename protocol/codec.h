/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table-driven codec: struct message ⇄ canonical msgpack.
 *
 * encode.c writes the one valid encoding of a message. decode.c reads it and refuses everything
 * else. yett-decoder, yett-init, yett-files and libyett link decode.c; yett-helper links neither,
 * and yett-decider only encode.c (a test looks at the linked programs). Both follow the tables of
 * schema.h and run with the privilege of their process. Neither allocates in proportion to a number
 * that the peer claims, and neither logs.
 */
#pragma once

#include "protocol/encode.h"

/* One msgpack value, as decode.c records it before it interprets it. */
struct message_token {
	uint32_t kind;
	uint32_t size; /* bytes of a text, items of a list, pairs of a map */
	union {
		uint64_t number;
		const char *bytes; /* points into the body */
	};
};

/* More tokens than any message within its bounds has. */
#define MESSAGE_TOKENS_MAX 8192

/*
 * Working memory of message_decode_with(): room for MESSAGE_TOKENS_MAX tokens, or for as many
 * tokens as the body has bytes.
 */
struct message_scratch {
	struct message_token *tokens;
	size_t capacity;
};

/*
 * Decodes a body of the given kind into `ret_message`. First sets all of the body that this kind
 * uses to zero. Returns 0; YETT_E_PROTOCOL with the reason and, in the detail, the path of the
 * field ("shares[3].target"); or -ENOMEM. A body that decodes is canonical: encoding the message
 * again gives the same bytes.
 */
_must_check_ int message_decode(uint32_t kind, const uint8_t *body, size_t length,
                                struct message *ret_message, struct yett_error *error);

/*
 * Like message_decode(), but without any allocation or system call, for a process that can make
 * neither. Also returns -EINVAL for a scratch that is too small.
 */
_must_check_ int message_decode_with(const struct message_scratch *scratch, uint32_t kind,
                                     const uint8_t *body, size_t length,
                                     struct message *ret_message, struct yett_error *error);
