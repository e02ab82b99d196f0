/*
 * The encoding of a message as a stream: into a buffer, against expected bytes, or merely counted.
 *
 * For codec.h's functions and for decode.c, which proves the canonical form with it. No privilege, no allocation.
 */
#pragma once

#include "protocol/schema.h"

/* Where the bytes go. Both pointers may be NULL: then they are only counted. */
struct encode_sink {
	uint8_t *buffer;
	const uint8_t *expected; /* size bytes, which the encoding must equal */
	size_t size;
};

struct encode_result {
	int error; /* 0, -EMSGSIZE or -EBADMSG, as codec.h says */
	enum yett_reason reason;
	size_t length;
	struct schema_path path;          /* where it went wrong */
	const struct schema_field *field; /* whose bounds were broken; NULL if none */
};

/* Encodes `message`, which may hold anything. Its body is read only as far as its checked counts reach. */
void encode_run(const struct message *message, const struct encode_sink *sink, struct encode_result *ret_result);
