/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "protocol/explain.h"

#include "base/error_text.h"
#include "protocol/encode.h"
#include "protocol/envelope.h"

#include <inttypes.h>
#include <stdio.h>

static void path_print(const struct schema_path *path, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < path->depth && used < size; i++) {
		const struct schema_step *step = &path->steps[i];

		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "." : "", step->name);
		if (step->index >= 0 && used < size)
			used += (size_t)snprintf(out + used, size - used, "[%" PRId64 "]",
			                         step->index);
	}
}

/*
 * Writes the values that a field allows, where that helps the reader of an error: "a value is
 * outside its range (0 to 1)".
 */
static void allowed_print(enum yett_reason reason, const struct schema_field *field, bool of_list,
                          char *out, size_t size)
{
	bool is_size = reason == YETT_R_TOO_LONG || reason == YETT_R_TOO_SHORT;
	bool is_number = field && (field->kind == SCHEMA_UINT32 || field->kind == SCHEMA_UINT64);

	out[0] = '\0';
	if (is_size && of_list && field)
		(void)snprintf(out, size, " (%u to %u items)",
		               field->list == SCHEMA_FIXED ? field->items_max : field->items_min,
		               field->items_max);
	else if (is_size && field && (field->kind == SCHEMA_TEXT || field->kind == SCHEMA_PATH))
		(void)snprintf(out, size, " (%" PRIu64 " to %" PRIu64 " bytes)", field->min,
		               field->max);
	else if (reason == YETT_R_RANGE && is_number)
		(void)snprintf(out, size, " (%" PRIu64 " to %" PRIu64 ")", field->min, field->max);
}

int explain_refusal(struct yett_error *error, enum yett_code code, enum yett_reason reason,
                    const struct schema_path *path, const struct schema_field *field)
{
	const struct schema_step *last = path->depth ? &path->steps[path->depth - 1] : NULL;
	bool of_list = field && field->list != SCHEMA_ONE && last && last->index < 0;
	char allowed[64];

	if (!error)
		return (int)code;
	allowed_print(reason, field, of_list, allowed, sizeof allowed);
	(void)error_set(error, code, reason, "%s%s", error_reason_text(reason), allowed);
	path_print(path, error->detail, sizeof error->detail);
	return (int)code;
}

int message_check(const struct message *message, struct yett_error *error)
{
	struct encode_sink sink = {.size = MESSAGE_PACKET_MAX -
	                                   envelope_size((uint16_t)message->kind)};
	struct encode_result result;

	encode_run(message, &sink, &result);
	if (result.error == 0)
		return 0;
	return explain_refusal(error, YETT_E_INVALID_REQUEST, result.reason, &result.path,
	                       result.field);
}
