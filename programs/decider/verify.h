/*
 * Proving who asked: from bytes of a client to a struct verified, or a refusal with its own reason.
 *
 * In the decider, without privilege. Parses nothing: the envelope is fixed-size, the body is read
 * by the decoder, and what the decoder says counts only if it encodes to exactly the bytes that
 * were signed.
 */
#pragma once

#include "helper/policy/key_line.h"
#include "programs/decider/authorize.h"
#include "programs/decider/decoder.h"
#include "protocol/envelope.h"

/* What one connection knows before any request. */
struct verify_context {
	const struct policy *policy;
	struct peer *peer; /* its names may be filled in */
	struct decoder *decoder;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	uint64_t next_sequence; /* 1 at first; moves on with each request whose envelope can be read
	                         */
};

/*
 * 0 and `ret_verified`, which borrows `message` and the peer; -errno when the decoder failed (the
 * connection ends then); YETT_E_PROTOCOL or YETT_E_BAD_SIGNATURE with the reason. `ret_sequence` is
 * set whenever it could be read.
 */
_must_check_ int verify_request(struct verify_context *context, const uint8_t *packet,
                                size_t length, size_t fd_count, struct message *message,
                                uint64_t *ret_sequence, struct verified *ret_verified,
                                struct yett_error *error);
