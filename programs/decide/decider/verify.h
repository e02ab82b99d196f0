/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies the signature of a request: turns bytes of a client into a struct verified, or refuses
 * them with a specific reason.
 *
 * In the decider, without privilege. Parses nothing: the envelope has a fixed size, the decoder
 * reads the body, and the decoder's reading counts only if it encodes to exactly the signed bytes.
 */
#pragma once

#include "helper/policy/key_line.h"
#include "programs/decide/decider/account.h"
#include "programs/decide/decider/authorize.h"
#include "programs/decide/decider/decoder.h"
#include "protocol/envelope.h"

/* The state of a connection that its requests are verified against. */
struct verify_context {
	const struct policy *policy;
	struct peer *peer; /* verify_request() fills in its names */
	struct account *account;
	struct decoder *decoder;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	uint64_t next_sequence; /* first 1; each request with this sequence adds 1 */
};

/*
 * Verifies a request and decodes its body into `message`. Returns 0 and sets `ret_verified`, which
 * borrows `message` and the peer; -errno when the decoder failed (the caller must end the
 * connection); YETT_E_PROTOCOL or YETT_E_BAD_SIGNATURE with the reason; or a code of the monitor,
 * the decoder or authorize_manager(). Sets `ret_sequence` whenever the envelope can be read.
 */
_must_check_ int verify_request(struct verify_context *context, const uint8_t *packet,
                                size_t length, size_t fd_count, struct message *message,
                                uint64_t *ret_sequence, struct verified *ret_verified,
                                struct yett_error *error);
