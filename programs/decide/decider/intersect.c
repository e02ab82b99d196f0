/* SPDX-License-Identifier: Apache-2.0 */
/* See intersect.h. No privilege. */
#include "programs/decide/decider/intersect.h"
#include "base/error_rule.h"
#include "base/units_format.h"
#include "helper/plan/admit.h"
#include "programs/decide/decider/plan_add.h"
#include "programs/decide/decider/refuse.h"

#include <string.h>

/* the value that a hint proposes for linger_max where the request names no time */
#define LINGER_LEAST_MS 60000

#define ROW(rule, field, is_small, unit) \
	INTERSECT_##rule, offsetof(struct policy_grant, field), is_small, units_format_##unit
#define LIMIT(name, field, unit)                                 \
	{                                                        \
		ROW(ASKED, limits_max.field, false, unit), name, \
			offsetof(struct plan_limits, field),     \
			offsetof(struct message_limits, field)   \
	}
const struct intersect_row intersect_rows[POLICY_BOUNDS] = {
	[POLICY_LIMIT_MEMORY] = LIMIT("memory", memory_bytes, size),
	[POLICY_LIMIT_CPUS] = LIMIT("cpus", cpu_millis, cpus),
	[POLICY_LIMIT_PIDS] = LIMIT("pids", pids, number),
	[POLICY_LIMIT_FILES] = LIMIT("files", files, number),
	[POLICY_LIMIT_FILE_SIZE] = LIMIT("file_size", file_bytes, size),
	[POLICY_LIMIT_CORE] = LIMIT("core", core_bytes, size),
	[POLICY_KEY_SANDBOXES] = {ROW(USER, sandboxes_max, true, number)},
	[POLICY_KEY_LINGER] = {ROW(LINGER, linger_max_ms, false, duration)},
	[POLICY_KEY_COMMAND] = {ROW(TIME, command_max_ms, false, duration)},
	[POLICY_KEY_IO_READ] = {ROW(DISK, limits_max.io_read_bytes, false, size)},
	[POLICY_KEY_IO_WRITE] = {ROW(DISK, limits_max.io_write_bytes, false, size)},
	[POLICY_KEY_USER_MEMORY] = {ROW(USER, user_limits.memory_bytes, false, size)},
	[POLICY_KEY_USER_CPUS] = {ROW(USER, user_limits.cpu_millis, false, cpus)},
	[POLICY_KEY_USER_PIDS] = {ROW(USER, user_limits.pids, false, number)},
	[POLICY_KEY_USER_TERMINALS] = {ROW(USER, terminals_max, true, number)},
	[POLICY_KEY_CREATIONS] = {ROW(USER, creations_max, true, number)},
	[POLICY_KEY_REQUESTS] = {ROW(USER, requests_max, true, number)},
};

uint64_t intersect_value(const struct intersect_row *row, const struct policy_grant *grant)
{
	const void *field = (const char *)grant + row->bound;

	return row->is_small ? *(const uint32_t *)field : *(const uint64_t *)field;
}

static uint64_t unlimited(const struct intersect_row *row)
{
	return row->rule == INTERSECT_LINGER ? POLICY_LINGER_UNLIMITED : 0;
}

bool intersect_is_less(const struct intersect_row *row, uint64_t value, uint64_t than)
{
	return value != unlimited(row) && (than == unlimited(row) || value < than);
}

static void narrow(const struct intersect_row *row, struct bound *bound,
                   const struct policy_grant *by)
{
	uint64_t value = intersect_value(row, by);

	if (intersect_is_less(row, value, bound->most))
		*bound = (struct bound){value, by};
}

/* The bound of the deciding grant and the profile, before ceilings and other grants. */
static struct bound intersect_begin(const struct intersect_row *row,
                                    const struct decision *decision)
{
	const struct policy_profile *profile = decision->profile;
	struct bound bound = {unlimited(row), NULL};

	if (row->rule != INTERSECT_USER)
		narrow(row, &bound, decision->grant);
	if (row->rule == INTERSECT_ASKED && bound.most == 0)
		bound.most = *(const uint64_t *)((const char *)&profile->limits + row->own);
	if (row->rule == INTERSECT_TIME &&
	    intersect_is_less(row, profile->command_max_ms, bound.most))
		bound = (struct bound){profile->command_max_ms, NULL};
	return bound;
}

static void find_bounds(const struct policy *policy, struct decision *decision)
{
	for (size_t i = 0; i < POLICY_BOUNDS; i++)
		decision->bounds[i] = intersect_begin(&intersect_rows[i], decision);
	for (const struct policy_grant *grant = NULL;
	     (grant = admit_next(policy, decision->verified->peer, grant));)
		for (size_t i = 0; i < POLICY_BOUNDS; i++)
			if (grant->is_ceiling || intersect_rows[i].rule == INTERSECT_USER)
				narrow(&intersect_rows[i], &decision->bounds[i], grant);
}

static int refuse_given(const struct intersect_row *row, uint64_t asked, uint64_t given,
                        struct yett_error *error)
{
	char text[2][UNITS_TEXT_SIZE];

	(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                "%s of %s is more than the helper's own limit of %s", row->name,
	                row->format(asked, text[0]), row->format(given, text[1]));
	error_detail(
		error,
		"the helper was started with that limit: LimitNOFILE= and its like in yett.service, or ulimit -H");
	return YETT_E_RESOURCE_LIMIT;
}

static int intersect_refuse_limit(const struct decision *decision, enum policy_limit limit,
                                  uint64_t asked, struct yett_error *error)
{
	const struct intersect_row *row = &intersect_rows[limit];
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *by = decision->bounds[limit].by, *grant = decision->grant;
	const struct policy_place *place = &profile->limits_places[limit];
	uint64_t most = decision->bounds[limit].most;
	char text[2][UNITS_TEXT_SIZE];

	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "%s of %s is more than the %s allowed",
	                row->name, row->format(asked, text[0]), row->format(most, text[1]));
	if (limit == POLICY_LIMIT_CORE && most == PLAN_CORE_NONE) {
		by = by ? by : grant;
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "the %s '%s' allows no core files", refuse_section(by), by->name);
		return refuse_key(by, (enum policy_key)limit, text[0], "none", error);
	}
	if (by)
		return refuse_key(by, (enum policy_key)limit, text[0], text[1], error);
	error_rest(error, &(struct error_rule){row->name, "profile", profile->name, place->file,
	                                       place->line, text[0], text[1], false});
	error_mend(error, "%s = %s in grant '%s' (%s:%u)", refuse_key_name((enum policy_key)limit),
	           text[0], grant->name, grant->place.file, grant->place.line);
	return YETT_E_PERMISSION_DENIED;
}

/*
 * Sets one limit: the value of the request, or else the lower of the profile's value and the bound.
 */
static int choose_limit(enum policy_limit limit, uint64_t given, struct decision *decision,
                        struct yett_error *error)
{
	const struct intersect_row *row = &intersect_rows[limit];
	uint64_t asked =
		*(const uint64_t *)((const char *)&decision->verified->request->body.create.limits +
	                            row->asked);
	uint64_t most = decision->bounds[limit].most,
		 *value = (uint64_t *)((char *)&decision->limits + row->own);

	if (given && asked > given)
		return refuse_given(row, asked, given, error);
	if (most && asked > most)
		return intersect_refuse_limit(decision, limit, asked, error);
	*value = asked ? asked : plan_lesser(*value, most);
	return 0;
}

static int choose_limits(const struct plan_limits *given, struct decision *decision,
                         struct yett_error *error)
{
	uint64_t *values = (uint64_t *)&decision->limits;
	const uint64_t *most = (const uint64_t *)given;
	int r = 0;

	decision->limits = decision->profile->limits;
	for (unsigned limit = 0; r == 0 && limit < POLICY_LIMITS; limit++)
		r = choose_limit(
			limit, *(const uint64_t *)((const char *)given + intersect_rows[limit].own),
			decision, error);
	for (size_t i = 0; i < sizeof *given / sizeof *most; i++)
		values[i] = values[i] ? plan_lesser(values[i], most[i]) : 0;
	decision->limits.io_read_bytes = decision->bounds[POLICY_KEY_IO_READ].most;
	decision->limits.io_write_bytes = decision->bounds[POLICY_KEY_IO_WRITE].most;
	return r;
}

static int refuse_life(const struct decision *decision, uint64_t wanted, struct yett_error *error)
{
	const struct message_life *asked = &decision->verified->request->body.create.life;
	const struct bound *bound = &decision->bounds[POLICY_KEY_LINGER];
	const char *what =
		asked->linger && wanted == asked->idle_ms ? "an idle timeout" : "a cleanup delay";
	char text[2][UNITS_TEXT_SIZE];

	(void)units_format_duration(wanted ? wanted : LINGER_LEAST_MS, text[0]);
	(void)units_format_duration(bound->most, text[1]);
	if (bound->most == 0)
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the %s '%s' does not allow %s",
		                refuse_section(bound->by), bound->by->name,
		                asked->linger ? "lingering" : "a cleanup delay");
	else
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "%s of %s is more than the %s allowed", what, text[0], text[1]);
	return refuse_key(bound->by, POLICY_KEY_LINGER, text[0], bound->most ? text[1] : "no",
	                  error);
}

/*
 * Takes the times of the request. linger_max bounds how long the sandbox may outlive its connection
 * (linger), and how long it stays listed after its end (cleanup delay).
 */
static int choose_life(struct decision *decision, struct yett_error *error)
{
	const struct message_life *asked = &decision->verified->request->body.create.life;
	uint64_t most = decision->bounds[POLICY_KEY_LINGER].most,
		 most_of_command = decision->bounds[POLICY_KEY_COMMAND].most;
	uint64_t wanted = asked->linger && asked->idle_ms > asked->cleanup_ms ? asked->idle_ms
	                                                                      : asked->cleanup_ms;

	decision->life = (struct plan_life){
		.wall_ms = asked->wall_ms,
		.cpu_ms = asked->cpu_ms,
		.idle_ms = asked->idle_ms,
		.cleanup_ms = asked->cleanup_ms,
		.command_ms = plan_lesser(decision->profile->command_ms, most_of_command),
		.command_max_ms = most_of_command,
		.linger = asked->linger,
		.idle_pauses = asked->idle_action == IDLE_PAUSE};
	if ((!asked->linger && asked->cleanup_ms == 0) || most == POLICY_LINGER_UNLIMITED)
		return 0;
	if (asked->linger)
		decision->life.linger_ms = most;
	return most != 0 && wanted <= most ? 0 : refuse_life(decision, wanted, error);
}

int intersect(const struct policy *policy, const struct plan_limits *given,
              struct decision *decision, struct yett_error *error)
{
	int r;

	find_bounds(policy, decision);
	decision->user_limits =
		(struct plan_limits){.memory_bytes = decision->bounds[POLICY_KEY_USER_MEMORY].most,
	                             .cpu_millis = decision->bounds[POLICY_KEY_USER_CPUS].most,
	                             .pids = decision->bounds[POLICY_KEY_USER_PIDS].most};
	r = choose_limits(given, decision, error);
	return r ? r : choose_life(decision, error);
}
