/* See explain.h. */
#include "base/units_parse.h"
#include "programs/explain/explain.h"

#include <string.h>

#define TOO_MUCH ((uint64_t)INT64_MAX)

static char *units_format_core(uint64_t bytes, char text[UNITS_TEXT_SIZE])
{
	return bytes == PLAN_CORE_NONE ? strcpy(text, "none") : units_format_size(bytes, text);
}

#define ROW(name, field, unit)                                                                                                  \
	{                                                                                                                       \
		name, #field, offsetof(struct message_limits, field), offsetof(struct plan_limits, field), units_format_##unit, \
			units_parse_##unit                                                                                      \
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

/* Asks for it, and says what stands in the way: code 0, nothing. */
static struct yett_error ask(const struct explain *explain, const struct message *request)
{
	struct verified verified = explain->verified;
	struct yett_error error = {0};
	struct decision decision;

	verified.request = request;
	if (authorize(explain->policy, &verified, &explain_gives, &decision, &error) == 0)
		error = (struct yett_error){0};
	return error;
}

void limits_find(const struct explain *explain, const char *profile, struct limits_ceilings *ret_ceilings)
{
	static struct message request;
	struct message_create *create = &message_begin(&request, MESSAGE_CREATE)->create;
	struct text target;

	*ret_ceilings = (struct limits_ceilings){0};
	if (message_add_text(&request, profile, &create->profile) < 0 || message_add_text(&request, "/", &target) < 0)
		return;
	for (int limit = 0; limit < POLICY_LIMITS; limit++) {
		uint64_t *asked = (uint64_t *)((char *)&create->limits + limits_rows[limit].asked);

		*asked = TOO_MUCH;
		ret_ceilings->of[limit] = ask(explain, &request);
		*asked = 0;
	}
	create->shares_count = 1;
	create->shares[0] = (struct message_share){0, SHARE_RO, target};
	ret_ceilings->share_ro = ask(explain, &request);
	create->shares[0].mode = SHARE_RW;
	ret_ceilings->share_rw = ask(explain, &request);
}

/* Whether anything that it says is for the peer: by itself, it would be the one that comes closest. */
static bool is_for(const struct explain *explain, const struct policy_grant *grant)
{
	struct policy alone = *explain->policy;

	alone.grants = (struct policy_grant *)grant;
	alone.grants_count = 1;
	return authorize_choose(&alone, &explain->verified, "").nearest;
}

void limits_find_together(const struct explain *explain, const struct decision *decision,
                          struct limits_user ret_limits[static LIMITS_TOGETHER])
{
	const struct {
		const char *key;
		enum policy_key place;
		uint64_t value;
		char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
	} rows[LIMITS_TOGETHER] = {
		[LIMITS_SANDBOXES] = {"max_sandboxes", POLICY_KEY_SANDBOXES, decision->sandboxes_max, units_format_number},
		[LIMITS_USER_MEMORY] = {"user_memory", POLICY_KEY_USER_MEMORY, decision->user_limits.memory_bytes, units_format_size},
		[LIMITS_USER_CPUS] = {"user_cpus", POLICY_KEY_USER_CPUS, decision->user_limits.cpu_millis, units_format_cpus},
		[LIMITS_USER_PIDS] = {"user_pids", POLICY_KEY_USER_PIDS, decision->user_limits.pids, units_format_number},
		[LIMITS_USER_TERMINALS] = {"user_terminals", POLICY_KEY_USER_TERMINALS, decision->terminals_max, units_format_number},
	};

	for (size_t row = 0; row < LIMITS_TOGETHER; row++) {
		ret_limits[row] = (struct limits_user){rows[row].key, rows[row].value, NULL, {NULL, 0}, rows[row].format};
		for (size_t i = 0; i < explain->policy->grants_count && !ret_limits[row].grant; i++) {
			const struct policy_grant *grant = &explain->policy->grants[i];
			const uint64_t values[LIMITS_TOGETHER] = {grant->sandboxes_max, grant->user_limits.memory_bytes,
			                                          grant->user_limits.cpu_millis, grant->user_limits.pids,
			                                          grant->terminals_max};

			if (!rows[row].value || values[row] != rows[row].value || !is_for(explain, grant))
				continue;
			ret_limits[row].grant = grant;
			ret_limits[row].place = grant->places[rows[row].place];
		}
	}
}
