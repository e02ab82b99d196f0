/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intersect() over grants, ceilings and a profile, by EVA: each row of its table reads the number
 * that it names, and whoever says a bound is not passed over.
 *
 * One of them says of each number that it is at most so much, another number for each; all else,
 * and what is asked, is any value of 64 bits. Then what is in force is no more than that, whatever
 * grants and ceilings there are besides. Of grants there are as many as GRANTS; which are for the
 * peer is tried in all ways, in place of admit_next(). That narrow() takes the lesser for all
 * values is proven in intersect_rules.c; here the bounds are those of `thresholds`.
 */
#include "tests/prove/models.h"

#include "base/error_rule.h"
#include "programs/decide/decider/intersect.c"
#include "programs/decide/decider/plan_add.c"

#define GRANTS      3 /* the first one decides */
#define THE_PROFILE GRANTS

static const uint64_t thresholds[] = {
	1 << 20,
#ifndef MUTANT
	UINT64_MAX - 2 * POLICY_BOUNDS,
#endif
};

/* Whether a grant is for the peer, and what it is. */
enum part { PART_NONE, PART_GRANT, PART_CEILING, PARTS };
static enum part parts[GRANTS] = {PART_GRANT};

static struct policy_grant grants[GRANTS];
static const struct policy policy = {.grants = grants, .grants_count = GRANTS};
static struct policy_profile profile;
static struct peer peer;
static struct message request;
static const struct verified verified = {.peer = &peer, .request = &request};
static struct plan_limits given;
static struct decision decision;

const struct policy_grant *admit_next(const struct policy *of, const struct peer *who,
                                      const struct policy_grant *last)
{
	(void)of, (void)who;
	for (size_t i = last ? (size_t)(last - grants) + 1 : 0; i < GRANTS; i++)
		if (parts[i] != PART_NONE)
			return &grants[i];
	return NULL;
}

/* --- texts for people, which nothing is decided by */

int refuse_key(const struct policy_grant *grant, enum policy_key key, const char *asked,
               const char *allowed, struct yett_error *error)
{
	(void)grant, (void)key, (void)asked, (void)allowed, (void)error;
	return models_refuse(YETT_E_PERMISSION_DENIED);
}

void error_detail(struct yett_error *error, const char *format, ...)
{
	(void)error, (void)format;
}

void error_mend(struct yett_error *error, const char *format, ...)
{
	(void)error, (void)format;
}

void error_rest(struct yett_error *error, const struct error_rule *rule)
{
	(void)error, (void)rule;
}

const char *refuse_key_name(enum policy_key key)
{
	(void)key;
	return "";
}

const char *refuse_section(const struct policy_grant *grant)
{
	return grant->is_ceiling ? "ceiling" : "grant";
}

#define FORMATTER(unit)                                                       \
	char *units_format_##unit(uint64_t number, char out[UNITS_TEXT_SIZE]) \
	{                                                                     \
		out[0] = number ? '1' : '0';                                  \
		out[1] = '\0';                                                \
		return out;                                                   \
	}
FORMATTER(size)
FORMATTER(cpus)
FORMATTER(number)
FORMATTER(duration)

/* --- a case */

static uint64_t number(uint64_t least, uint64_t most)
{
	return Frama_C_unsigned_long_interval(least, most);
}

static uint32_t small_number(uint64_t least, uint64_t most)
{
	return (uint32_t)number(least, most < UINT32_MAX ? most : UINT32_MAX);
}

/* All numbers of a grant, each up to its bound. At least 1, where they are to bound anything. */
static void say(struct policy_grant *grant, uint64_t least, const uint64_t most[POLICY_BOUNDS])
{
	grant->limits_max.memory_bytes = number(least, most[POLICY_LIMIT_MEMORY]);
	grant->limits_max.cpu_millis = number(least, most[POLICY_LIMIT_CPUS]);
	grant->limits_max.pids = number(least, most[POLICY_LIMIT_PIDS]);
	grant->limits_max.files = number(least, most[POLICY_LIMIT_FILES]);
	grant->limits_max.file_bytes = number(least, most[POLICY_LIMIT_FILE_SIZE]);
	grant->limits_max.core_bytes = number(least, most[POLICY_LIMIT_CORE]);
	grant->sandboxes_max = small_number(least, most[POLICY_KEY_SANDBOXES]);
	grant->linger_max_ms = number(0, most[POLICY_KEY_LINGER]);
	grant->command_max_ms = number(least, most[POLICY_KEY_COMMAND]);
	grant->limits_max.io_read_bytes = number(least, most[POLICY_KEY_IO_READ]);
	grant->limits_max.io_write_bytes = number(least, most[POLICY_KEY_IO_WRITE]);
	grant->user_limits.memory_bytes = number(least, most[POLICY_KEY_USER_MEMORY]);
	grant->user_limits.cpu_millis = number(least, most[POLICY_KEY_USER_CPUS]);
	grant->user_limits.pids = number(least, most[POLICY_KEY_USER_PIDS]);
	grant->terminals_max = small_number(least, most[POLICY_KEY_USER_TERMINALS]);
	grant->creations_max = small_number(least, most[POLICY_KEY_CREATIONS]);
	grant->requests_max = small_number(least, most[POLICY_KEY_REQUESTS]);
}

static void say_of_profile(uint64_t least, const uint64_t most[POLICY_BOUNDS])
{
	Frama_C_make_unknown((char *)&profile.limits, sizeof profile.limits);
	profile.limits.memory_bytes = number(least, most[POLICY_LIMIT_MEMORY]);
	profile.limits.cpu_millis = number(least, most[POLICY_LIMIT_CPUS]);
	profile.limits.pids = number(least, most[POLICY_LIMIT_PIDS]);
	profile.limits.files = number(least, most[POLICY_LIMIT_FILES]);
	profile.limits.file_bytes = number(least, most[POLICY_LIMIT_FILE_SIZE]);
	profile.limits.core_bytes = number(least, most[POLICY_LIMIT_CORE]);
	profile.command_ms = number(0, UINT64_MAX);
	profile.command_max_ms = number(least, most[POLICY_KEY_COMMAND]);
}

static void ask(void)
{
	struct message_life *life = &request.body.create.life;

	Frama_C_make_unknown((char *)&request.body.create.limits,
	                     sizeof request.body.create.limits);
	Frama_C_make_unknown((char *)&given, sizeof given);
	life->idle_ms = number(0, UINT64_MAX);
	life->wall_ms = number(0, UINT64_MAX);
	life->cpu_ms = number(0, UINT64_MAX);
	life->cleanup_ms = number(0, UINT64_MAX);
	life->linger = number(0, 1) != 0;
}

/*
 * Everything in its place for a case in which `source` says at most so much of each number. Of the
 * time to linger the others say either that there is no bound, or any: the greatest number has a
 * meaning of its own there.
 */
static void make(size_t source, const uint64_t most[POLICY_BOUNDS], bool is_unlimited)
{
	static const uint64_t zero[POLICY_BOUNDS];
	uint64_t any[POLICY_BOUNDS];

	for (size_t i = 0; i < POLICY_BOUNDS; i++)
		any[i] = UINT64_MAX;
	any[POLICY_KEY_LINGER] = UINT64_MAX - 1;
	for (size_t i = 0; i < GRANTS; i++) {
		bool is_silent = source == THE_PROFILE && i == 0;

		say(&grants[i], i == source, i == source ? most : is_silent ? zero : any);
		if (i != source && is_unlimited)
			grants[i].linger_max_ms = POLICY_LINGER_UNLIMITED;
		grants[i].is_ceiling = parts[i] == PART_CEILING;
	}
	say_of_profile(source == THE_PROFILE, source == THE_PROFILE ? most : any);
	ask();
	decision.verified = &verified;
	decision.profile = &profile;
	decision.grant = &grants[0];
}

/* --- what must hold */

static void check_bounds(size_t source, const uint64_t most[POLICY_BOUNDS])
{
	for (size_t i = 0; i < POLICY_BOUNDS; i++) {
		enum intersect_rule rule = intersect_rows[i].rule;
		bool counts = source == THE_PROFILE
		                      ? rule == INTERSECT_ASKED || rule == INTERSECT_TIME
		                      : source == 0 || parts[source] == PART_CEILING ||
		                                rule == INTERSECT_USER;

		if (counts) {
			//@ check bounded: decision.bounds[i].most <= most[i];
			//@ check set: rule == INTERSECT_LINGER || decision.bounds[i].most >= 1;
		}
	}
}

static void check_in_force(size_t source, const uint64_t most[POLICY_BOUNDS])
{
	//@ check memory: 1 <= decision.limits.memory_bytes <= most[POLICY_LIMIT_MEMORY];
	//@ check cpus: 1 <= decision.limits.cpu_millis <= most[POLICY_LIMIT_CPUS];
	//@ check pids: 1 <= decision.limits.pids <= most[POLICY_LIMIT_PIDS];
	//@ check files: 1 <= decision.limits.files <= most[POLICY_LIMIT_FILES];
	//@ check file_size: 1 <= decision.limits.file_bytes <= most[POLICY_LIMIT_FILE_SIZE];
	//@ check core: 1 <= decision.limits.core_bytes <= most[POLICY_LIMIT_CORE];
	//@ check command: 1 <= decision.life.command_ms <= most[POLICY_KEY_COMMAND];
	//@ check command_max: 1 <= decision.life.command_max_ms <= most[POLICY_KEY_COMMAND];
	if (source != THE_PROFILE) {
		//@ check io_read: 1 <= decision.limits.io_read_bytes <= most[POLICY_KEY_IO_READ];
		//@ check io_write: 1 <= decision.limits.io_write_bytes <=
		// most[POLICY_KEY_IO_WRITE];
		//@ check linger: decision.life.linger_ms <= most[POLICY_KEY_LINGER];
		//@ check user_memory: 1 <= decision.user_limits.memory_bytes <=
		// most[POLICY_KEY_USER_MEMORY];
		//@ check user_cpus: 1 <= decision.user_limits.cpu_millis <=
		// most[POLICY_KEY_USER_CPUS];
		//@ check user_pids: 1 <= decision.user_limits.pids <= most[POLICY_KEY_USER_PIDS];
	}
}

static void judge(size_t source, const uint64_t most[POLICY_BOUNDS], bool is_unlimited)
{
	struct yett_error error;
	int r;

	make(source, most, is_unlimited);
	find_bounds(&policy, &decision);
	check_bounds(source, most);
	if (source != THE_PROFILE && source != 0 && parts[source] != PART_CEILING)
		return;
	models_refusal_ends = true;
	r = intersect(&policy, &given, &decision, &error);
	//@ check allowed: r == 0;
	check_in_force(source, most);
}

/* In the order of the rows, and the other way round: of two rows that were mistaken for each other,
 * one would have too much. */
static void judge_all(uint64_t threshold, bool is_reversed)
{
	uint64_t most[POLICY_BOUNDS];

	for (size_t i = 0; i < POLICY_BOUNDS; i++)
		most[i] = threshold + (is_reversed ? POLICY_BOUNDS - 1 - i : i);
	for (unsigned second = 0; second < PARTS; second++)
		for (unsigned third = 0; third < PARTS; third++) {
			parts[1] = (enum part)second;
			parts[2] = (enum part)third;
			for (size_t source = 0; source <= THE_PROFILE; source++)
				if (source == THE_PROFILE || parts[source] != PART_NONE) {
					judge(source, most, false);
					judge(source, most, true);
				}
		}
}

void main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(thresholds); i++) {
		judge_all(thresholds[i], false);
		judge_all(thresholds[i], true);
	}
}
