/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoding of a message: into a buffer, against expected bytes, or merely counted. The part of
 * codec.h that programs have which do not decode.
 */
#pragma once

#include "protocol/message.h"
#include "protocol/schema.h"

/* Where the encoded bytes go. Both pointers may be NULL: then the bytes are only counted. */
struct encode_sink {
	uint8_t *buffer;
	const uint8_t *expected; /* `size` bytes that the encoding must equal */
	size_t size;
};

struct encode_result {
	int error; /* 0, -EMSGSIZE or -EBADMSG: see message_encode() and message_compare() */
	enum yett_reason reason;
	size_t length;
	struct schema_path path;          /* of the field that was refused */
	const struct schema_field *field; /* the field whose bounds were broken; NULL if none */
};

/*
 * Encodes `message`, which may hold any bytes: a list is read only after its count was checked, a
 * text only after its place in the arena was.
 */
void encode_run(const struct message *message, const struct encode_sink *sink,
                struct encode_result *ret_result);

/*
 * Writes the body of `message` into buffer[0 … size), or only counts the bytes if `buffer` is NULL.
 * Returns 0, or -EMSGSIZE when the body does not fit or a value is outside the bounds of the tables
 * (counts, lengths, ranges, texts outside the arena). So the struct may come from another process
 * unchecked.
 */
_must_check_ int message_encode(const struct message *message, uint8_t *buffer, size_t size,
                                size_t *ret_length);

/*
 * Compares the encoding of `message` with body[0 … length), without writing the encoding anywhere.
 * Returns 0 when they are equal, -EBADMSG when they differ, -EMSGSIZE as message_encode(). The
 * message may come from another process: a result of 0 proves every field.
 */
_must_check_ int message_compare(const struct message *message, const uint8_t *body, size_t length);
