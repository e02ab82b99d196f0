/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing the envelope: what is read must be written to the same bytes, and fit what a signature
 * covers. libFuzzer. */
#include <stdlib.h>
#include <string.h>

#include "protocol/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	static uint8_t signed_bytes[ENVELOPE_SIGNED_MAX];
	uint8_t head[ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE];
	struct envelope envelope;
	struct yett_error error;
	size_t before_body;

	if (envelope_read(data, size, size > 5 ? data[5] : 0, &envelope, &error) != 0)
		return 0;
	before_body = envelope_size(envelope.kind);
	envelope_write(&envelope, head);
	if (before_body + envelope.body_length != size || memcmp(head, data, before_body) != 0)
		abort();
	if (envelope_signed_bytes(&envelope, challenge, data + before_body, envelope.body_length,
	                          signed_bytes) > sizeof signed_bytes)
		abort();
	return 0;
}
