/* SPDX-License-Identifier: Apache-2.0 */
/* See metadata.h. */
#include "protocol/metadata.h"

#include <string.h>

static size_t key_length(const char *text)
{
	return strcspn(text, "=");
}

static bool metadata_is_among(const struct message *exec, const char *text, uint32_t count)
{
	size_t length = key_length(text);

	for (uint32_t i = 0; i < count; i++) {
		const char *other = message_text(exec, exec->body.exec.metadata[i]);

		if (key_length(other) == length && memcmp(other, text, length) == 0)
			return true;
	}
	return false;
}

int metadata_check(const struct message *exec, struct yett_error *error)
{
	size_t used = 0;

	for (uint32_t i = 0; i < exec->body.exec.metadata_count; i++) {
		const char *text = message_text(exec, exec->body.exec.metadata[i]);

		used += strlen(text) + 1;
		if (metadata_is_among(exec, text, i))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "metadata of a command has %.64s twice", text);
	}
	if (used > MESSAGE_METADATA_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "metadata of a command is more than %d bytes",
		                 MESSAGE_METADATA_MAX);
	return 0;
}
