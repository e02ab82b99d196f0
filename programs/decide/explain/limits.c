/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "base/units_format.h"
#include "base/units_parse.h"
#include "programs/decide/explain/explain.h"

#include <string.h>

#define TOO_MUCH ((uint64_t)INT64_MAX)

static char *units_format_core(uint64_t bytes, char text[UNITS_TEXT_SIZE])
{
	return bytes == PLAN_CORE_NONE ? strcpy(text, "none") : units_format_size(bytes, text);
}

#define ROW(name, field, unit)                                                    \
	{                                                                         \
		name, #field, offsetof(struct message_limits, field),             \
			offsetof(struct plan_limits, field), units_format_##unit, \
			units_parse_##unit                                        \
	}
const struct limits_row limits_rows[POLICY_LIMITS] = {
	[POLICY_LIMIT_MEMORY] = ROW("memory", memory_bytes, size),
	[POLICY_LIMIT_CPUS] = ROW("cpus", cpu_millis, cpus),
	[POLICY_LIMIT_PIDS] = ROW("pids", pids, number),
	[POLICY_LIMIT_FILES] = ROW("files", files, number),
	[POLICY_LIMIT_FILE_SIZE] = ROW("file_size", file_bytes, size),
	[POLICY_LIMIT_CORE] = ROW("core", core_bytes, core),
};

const struct plan_limits explain_gives = {0};

uint64_t limits_value(const struct plan_limits *limits, enum policy_limit limit)
{
	return *(const uint64_t *)((const char *)limits + limits_rows[limit].value);
}

/* Runs the request through authorize(). Returns the refusal; code 0: it is granted. */
static struct yett_error limits_ask(const struct explain *explain, const struct message *request)
{
	struct verified verified = explain->verified;
	struct yett_error error = {0};
	struct decision decision;

	verified.request = request;
	if (authorize(explain->policy, &verified, &explain_gives, &decision, &error) == 0)
		error = (struct yett_error){0};
	return error;
}

void limits_find(const struct explain *explain, const char *profile,
                 struct limits_refusals *ret_refusals)
{
	static struct message request;
	struct message_create *create = &message_begin(&request, MESSAGE_CREATE)->create;
	struct text target;

	*ret_refusals = (struct limits_refusals){0};
	if (message_add_text(&request, profile, &create->profile) < 0 ||
	    message_add_text(&request, "/", &target) < 0)
		return;
	for (int limit = 0; limit < POLICY_LIMITS; limit++) {
		uint64_t *asked = (uint64_t *)((char *)&create->limits + limits_rows[limit].asked);

		*asked = TOO_MUCH;
		ret_refusals->of[limit] = limits_ask(explain, &request);
		*asked = 0;
	}
	create->shares_count = 1;
	create->shares[0] = (struct message_share){0, SHARE_RO, target};
	ret_refusals->share_ro = limits_ask(explain, &request);
	create->shares[0].mode = SHARE_RW;
	ret_refusals->share_rw = limits_ask(explain, &request);
}
