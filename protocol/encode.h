/*
 * The encoding of a message: into a buffer, against expected bytes, or merely counted. The half of
 * codec.h that every program has.
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
	int error; /* 0, -EMSGSIZE or -EBADMSG, as below */
	enum yett_reason reason;
	size_t length;
	struct schema_path path;          /* where it went wrong */
	const struct schema_field *field; /* whose bounds were broken; NULL if none */
};

/* Encodes `message`, which may hold anything. Its body is read only as far as its checked counts
 * reach. */
void encode_run(const struct message *message, const struct encode_sink *sink,
                struct encode_result *ret_result);

/*
 * Writes the body of `message` into buffer[0 … size), or only counts it if that is NULL. 0;
 * -EMSGSIZE when it does not fit or is out of the bounds of the tables (counts, lengths, ranges,
 * texts outside the arena): a struct of another process may be handed in as it is.
 */
_must_check_ int message_encode(const struct message *message, uint8_t *buffer, size_t size,
                                size_t *ret_length);

/*
 * Whether the encoding of `message` is exactly body[0 … length), without writing it anywhere. 0;
 * -EBADMSG when it is another; -EMSGSIZE as message_encode(). The message may come from another
 * process: 0 proves every field of it.
 */
_must_check_ int message_compare(const struct message *message, const uint8_t *body, size_t length);
