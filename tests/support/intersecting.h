/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases for intersect(): policies, profiles and requests of few small numbers, so that ties and
 * equal bounds are common, each made of bytes; what must come of each, worked out plainly and
 * without a table; and what must hold between two that differ a little.
 *
 * The test of the unit draws the bytes, and the fuzz target is given them.
 */
#pragma once

#include "programs/decide/decider/intersect.h"
#include "programs/decide/policy/namings.h"

#include <stdio.h>
#include <string.h>

#define INTERSECTING_GRANTS 6
#define INTERSECTING_BYTES  180

struct intersecting {
	struct policy policy;
	struct policy_grant grants[INTERSECTING_GRANTS]; /* the first one decides */
	char names[INTERSECTING_GRANTS][24];
	uint32_t ids[INTERSECTING_GRANTS][2]; /* of a user and a group */
	uint64_t namings[3 * INTERSECTING_GRANTS + 1];
	struct policy_profile profile;
	struct peer peer;
	struct message_limits asked;
	struct message_life life;
	struct plan_limits given;
};

struct intersecting_bytes {
	const uint8_t *next;
	size_t left;
};

static inline unsigned intersecting_take(struct intersecting_bytes *bytes, unsigned less_than)
{
	if (bytes->left == 0)
		return 0;
	bytes->left--;
	return *bytes->next++ % less_than;
}

/* 0 is that nothing is written. */
static inline uint64_t intersecting_number(struct intersecting_bytes *bytes)
{
	unsigned number = intersecting_take(bytes, 12);

	return number < 10 ? number : number == 10 ? 0 : UINT32_MAX;
}

/* All that a grant says in numbers, one after the other: 17 of them. */
static inline void intersecting_fill(struct policy_grant *grant, struct intersecting_bytes *bytes)
{
	uint64_t *const numbers[] = {
		&grant->limits_max.memory_bytes,  &grant->limits_max.cpu_millis,
		&grant->limits_max.pids,          &grant->limits_max.files,
		&grant->limits_max.file_bytes,    &grant->limits_max.core_bytes,
		&grant->command_max_ms,           &grant->user_limits.cpu_millis,
		&grant->user_limits.pids,         &grant->user_limits.memory_bytes,
		&grant->limits_max.io_read_bytes, &grant->limits_max.io_write_bytes};
	unsigned linger = intersecting_take(bytes, 8);

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] = intersecting_number(bytes);
	grant->linger_max_ms = linger < 6 ? linger : POLICY_LINGER_UNLIMITED;
	grant->sandboxes_max = (unsigned)intersecting_number(bytes);
	grant->terminals_max = (unsigned)intersecting_number(bytes);
	grant->creations_max = (uint32_t)intersecting_number(bytes);
	grant->requests_max = (uint32_t)intersecting_number(bytes);
}

static inline void intersecting_add_grant(struct intersecting *c, struct intersecting_bytes *bytes)
{
	size_t index = c->policy.grants_count++;
	struct policy_grant *grant = &c->grants[index];
	unsigned named = index == 0 ? 1 : intersecting_take(bytes, 8);

	(void)snprintf(c->names[index], sizeof c->names[index], "g%zu", index);
	grant->name = c->names[index];
	grant->place = (struct policy_place){"f", (unsigned)index + 1};
	grant->is_ceiling = index > 0 && (index > 3 || intersecting_take(bytes, 2));
	grant->everyone = named & 1;
	c->ids[index][0] = intersecting_take(bytes, 3);
	c->ids[index][1] = intersecting_take(bytes, 3);
	grant->uids = &c->ids[index][0];
	grant->uids_count = named >> 1 & 1;
	grant->gids = &c->ids[index][1];
	grant->gids_count = named >> 2 & 1;
	intersecting_fill(grant, bytes);
}

/* Its pointers lead into itself: intersecting_copy(). */
static inline void intersecting_make(struct intersecting *c, struct intersecting_bytes bytes)
{
	struct plan_limits *own = &c->profile.limits;
	uint64_t *const own_limits[] = {&own->memory_bytes, &own->cpu_millis, &own->pids,
	                                &own->files,        &own->file_bytes, &own->stack_bytes};
	uint64_t *const asked[] = {&c->asked.memory_bytes, &c->asked.cpu_millis,
	                           &c->asked.pids,         &c->asked.files,
	                           &c->asked.file_bytes,   &c->asked.core_bytes};
	unsigned count = 1 + intersecting_take(&bytes, INTERSECTING_GRANTS), asks;

	*c = (struct intersecting){.policy.grants = c->grants, .profile.name = c->names[0]};
	for (size_t i = 0; i < POLICY_LIMITS; i++)
		c->profile.limits_places[i] = (struct policy_place){"f", 1};
	c->peer.uid = intersecting_take(&bytes, 3);
	c->peer.gid = intersecting_take(&bytes, 3);
	c->peer.groups_count = intersecting_take(&bytes, 2);
	c->peer.groups[0] = intersecting_take(&bytes, 3);
	asks = intersecting_take(&bytes, 64);
	for (size_t i = 0; i < ARRAY_SIZE(own_limits); i++)
		*own_limits[i] = intersecting_number(&bytes);
	own->core_bytes = 1 + intersecting_take(&bytes, 4);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		*asked[i] = asks >> i & 1 ? intersecting_number(&bytes) : 0;
	c->profile.command_ms = intersecting_number(&bytes);
	c->profile.command_max_ms = intersecting_number(&bytes);
	c->life.linger = intersecting_take(&bytes, 3) == 0;
	c->life.idle_ms = intersecting_take(&bytes, 6);
	c->life.cleanup_ms = intersecting_take(&bytes, 3) == 0 ? intersecting_take(&bytes, 6) : 0;
	c->given.files = intersecting_take(&bytes, 4) == 0 ? intersecting_number(&bytes) : 0;
	c->given.stack_bytes = intersecting_take(&bytes, 4) == 0 ? intersecting_number(&bytes) : 0;
	while (c->policy.grants_count < count)
		intersecting_add_grant(c, &bytes);
}

static inline void intersecting_copy(struct intersecting *to, const struct intersecting *from)
{
	*to = *from;
	to->policy.grants = to->grants;
	to->profile.name = to->names[0];
	for (size_t i = 0; i < to->policy.grants_count; i++) {
		to->grants[i].name = to->names[i];
		to->grants[i].uids = &to->ids[i][0];
		to->grants[i].gids = &to->ids[i][1];
	}
}

/* Decides. What the decision points to of the request is the same in all: it is read before the
 * next one. */
static inline int intersecting_decide(struct intersecting *c, struct decision *ret_decision,
                                      struct yett_error *error)
{
	static struct message request;
	static struct verified verified;
	int r = namings_make(&c->policy);

	if (r < 0)
		return r;
	request.kind = MESSAGE_CREATE;
	request.body.create.limits = c->asked;
	request.body.create.life = c->life;
	verified.peer = &c->peer;
	verified.request = &request;
	*ret_decision = (struct decision){
		.verified = &verified, .profile = &c->profile, .grant = &c->grants[0]};
	r = intersect(&c->policy, &c->given, ret_decision, error);
	free(c->policy.namings);
	c->policy.namings = NULL;
	return r;
}

/* --- the same, plainly: unlimited is UINT64_MAX here ------------------------------------------ */

static inline bool intersecting_is_for(const struct intersecting *c,
                                       const struct policy_grant *grant)
{
	return grant->everyone || (grant->uids_count && grant->uids[0] == c->peer.uid) ||
	       (grant->gids_count &&
	        (grant->gids[0] == c->peer.gid ||
	         (c->peer.groups_count && grant->gids[0] == c->peer.groups[0])));
}

static inline uint64_t intersecting_plain(uint64_t value)
{
	return value ? value : UINT64_MAX;
}

static inline uint64_t intersecting_says(const struct policy_grant *g, unsigned key)
{
	switch (key) {
	case POLICY_LIMIT_MEMORY:
		return intersecting_plain(g->limits_max.memory_bytes);
	case POLICY_LIMIT_CPUS:
		return intersecting_plain(g->limits_max.cpu_millis);
	case POLICY_LIMIT_PIDS:
		return intersecting_plain(g->limits_max.pids);
	case POLICY_LIMIT_FILES:
		return intersecting_plain(g->limits_max.files);
	case POLICY_LIMIT_FILE_SIZE:
		return intersecting_plain(g->limits_max.file_bytes);
	case POLICY_LIMIT_CORE:
		return intersecting_plain(g->limits_max.core_bytes);
	case POLICY_KEY_SANDBOXES:
		return intersecting_plain(g->sandboxes_max);
	case POLICY_KEY_LINGER:
		return g->linger_max_ms;
	case POLICY_KEY_COMMAND:
		return intersecting_plain(g->command_max_ms);
	case POLICY_KEY_IO_READ:
		return intersecting_plain(g->limits_max.io_read_bytes);
	case POLICY_KEY_IO_WRITE:
		return intersecting_plain(g->limits_max.io_write_bytes);
	case POLICY_KEY_USER_MEMORY:
		return intersecting_plain(g->user_limits.memory_bytes);
	case POLICY_KEY_USER_CPUS:
		return intersecting_plain(g->user_limits.cpu_millis);
	case POLICY_KEY_USER_PIDS:
		return intersecting_plain(g->user_limits.pids);
	case POLICY_KEY_USER_TERMINALS:
		return intersecting_plain(g->terminals_max);
	case POLICY_KEY_CREATIONS:
		return intersecting_plain(g->creations_max);
	default:
		return intersecting_plain(g->requests_max);
	}
}

static inline uint64_t intersecting_own(const struct intersecting *c, unsigned key)
{
	const struct plan_limits *own = &c->profile.limits;
	const uint64_t values[] = {own->memory_bytes, own->cpu_millis, own->pids,
	                           own->files,        own->file_bytes, own->core_bytes};

	return intersecting_plain(values[key]);
}

static inline uint64_t intersecting_asked(const struct intersecting *c, unsigned key)
{
	const uint64_t values[] = {c->asked.memory_bytes, c->asked.cpu_millis, c->asked.pids,
	                           c->asked.files,        c->asked.file_bytes, c->asked.core_bytes};

	return values[key];
}

/* The most of a number, over everything that has a say in it. */
static inline uint64_t intersecting_most(const struct intersecting *c, unsigned key)
{
	uint64_t most = UINT64_MAX;

	for (size_t i = 0; i < c->policy.grants_count; i++) {
		const struct policy_grant *g = &c->grants[i];
		bool has_say = g->is_ceiling || i == 0 || key == POLICY_KEY_SANDBOXES ||
		               key >= POLICY_KEY_USER_MEMORY;

		if (has_say && intersecting_is_for(c, g) && intersecting_says(g, key) < most)
			most = intersecting_says(g, key);
	}
	if (key < POLICY_LIMITS && intersecting_says(&c->grants[0], key) == UINT64_MAX &&
	    intersecting_own(c, key) < most)
		most = intersecting_own(c, key);
	if (key == POLICY_KEY_COMMAND && intersecting_plain(c->profile.command_max_ms) < most)
		most = c->profile.command_max_ms;
	return most;
}

/* What refuses: a key, or that the helper cannot give as much (POLICY_KEYS), or nothing (-1). */
static inline int intersecting_refusal(const struct intersecting *c)
{
	uint64_t wanted = c->life.cleanup_ms;

	for (unsigned key = 0; key < POLICY_LIMITS; key++) {
		if (key == POLICY_LIMIT_FILES && c->given.files &&
		    intersecting_asked(c, key) > c->given.files)
			return POLICY_KEYS;
		if (intersecting_asked(c, key) > intersecting_most(c, key))
			return (int)key;
	}
	if (c->life.linger && c->life.idle_ms > wanted)
		wanted = c->life.idle_ms;
	if ((c->life.linger || c->life.cleanup_ms) &&
	    (intersecting_most(c, POLICY_KEY_LINGER) == 0 ||
	     wanted > intersecting_most(c, POLICY_KEY_LINGER)))
		return POLICY_KEY_LINGER;
	return -1;
}

static inline uint64_t intersecting_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t intersecting_value(const struct intersecting *c, unsigned key)
{
	uint64_t asked = intersecting_asked(c, key), own = intersecting_own(c, key), value;

	value = asked ? asked : intersecting_least(own, intersecting_most(c, key));
	if (key == POLICY_LIMIT_FILES && value != UINT64_MAX)
		value = intersecting_least(value, intersecting_plain(c->given.files));
	return value;
}

static inline uint64_t intersecting_unlimited(unsigned key, uint64_t value)
{
	return key == POLICY_KEY_LINGER ? value : intersecting_plain(value);
}

static inline uint64_t intersecting_in_force(const struct decision *d, unsigned key)
{
	const uint64_t values[] = {d->limits.memory_bytes, d->limits.cpu_millis,
	                           d->limits.pids,         d->limits.files,
	                           d->limits.file_bytes,   d->limits.core_bytes};

	return intersecting_plain(values[key]);
}

/* Who is named is for the peer, and says no more than what is in force. */
static inline bool intersecting_is_by(const struct intersecting *c, const struct decision *d,
                                      unsigned key)
{
	const struct policy_grant *by = d->bounds[key].by;

	return !by || (intersecting_is_for(c, by) &&
	               (by->is_ceiling || by == c->grants || key == POLICY_KEY_SANDBOXES ||
	                key >= POLICY_KEY_USER_MEMORY) &&
	               intersecting_says(by, key) == intersecting_most(c, key));
}

/* Nobody is only named where nothing bounds it, or the profile does. */
static inline bool intersecting_is_nobody(const struct intersecting *c, const struct decision *d,
                                          unsigned key)
{
	uint64_t own = key < POLICY_LIMITS ? intersecting_own(c, key) : UINT64_MAX,
		 most = intersecting_most(c, key);

	own = key == POLICY_KEY_COMMAND ? intersecting_plain(c->profile.command_max_ms) : own;
	return d->bounds[key].by || most == UINT64_MAX || most == own;
}

/* The refusal is by the key, and by the one who says the least. */
static inline bool intersecting_is_refused_by(const struct intersecting *c,
                                              const struct decision *d, int key,
                                              const struct yett_error *error)
{
	static const char *const words[] = {"max_memory",    "max_cpus", "max_pids", "max_files",
	                                    "max_file_size", "max_core", NULL,       "linger_max"};
	const struct policy_grant *by;
	char rule[64];

	if (key == POLICY_KEYS)
		return error->code == YETT_E_RESOURCE_LIMIT && !error->rule[0];
	by = d->bounds[key].by;
	if (!by && key == POLICY_LIMIT_CORE && intersecting_most(c, key) == PLAN_CORE_NONE)
		by = c->grants;
	if (by)
		(void)snprintf(rule, sizeof rule, "%s of %s '%s'", words[key],
		               by->is_ceiling ? "ceiling" : "grant", by->name);
	else
		(void)snprintf(rule, sizeof rule, "%s of profile '%s'", words[key] + strlen("max_"),
		               c->profile.name);
	return error->code == YETT_E_PERMISSION_DENIED && strcmp(error->rule, rule) == 0;
}

/* NULL: the decision is what it must be; else what is not. */
static inline const char *intersecting_compare(const struct intersecting *c, int r,
                                               const struct decision *d,
                                               const struct yett_error *error)
{
	int refusal = intersecting_refusal(c);

	for (unsigned key = 0; key < POLICY_BOUNDS; key++) {
		if (intersecting_unlimited(key, d->bounds[key].most) != intersecting_most(c, key))
			return "the most of a number";
		if (!intersecting_is_by(c, d, key) || !intersecting_is_nobody(c, d, key))
			return "who says the most of a number";
	}
	if ((refusal >= 0) != (r != 0))
		return refusal >= 0 ? "what is refused is allowed" : "what is allowed is refused";
	if (refusal >= 0)
		return intersecting_is_refused_by(c, d, refusal, error) ? NULL : "what refuses";
	for (unsigned key = 0; key < POLICY_LIMITS; key++)
		if (intersecting_in_force(d, key) != intersecting_value(c, key))
			return "a limit in force";
	if (intersecting_plain(d->life.command_max_ms) !=
	            intersecting_most(c, POLICY_KEY_COMMAND) ||
	    intersecting_plain(d->life.command_ms) !=
	            intersecting_least(intersecting_plain(c->profile.command_ms),
	                               intersecting_most(c, POLICY_KEY_COMMAND)))
		return "the time of a command";
	if (c->life.linger &&
	    intersecting_plain(d->life.linger_ms) != intersecting_most(c, POLICY_KEY_LINGER))
		return "how long it may linger";
	if (d->limits.stack_bytes !=
	    (c->profile.limits.stack_bytes == 0
	             ? 0
	             : intersecting_least(c->profile.limits.stack_bytes,
	                                  intersecting_plain(c->given.stack_bytes))))
		return "a limit that nobody asks for";
	if (intersecting_plain(d->limits.io_read_bytes) !=
	            intersecting_most(c, POLICY_KEY_IO_READ) ||
	    intersecting_plain(d->limits.io_write_bytes) !=
	            intersecting_most(c, POLICY_KEY_IO_WRITE))
		return "the rate of a disk";
	if (intersecting_plain(d->user_limits.memory_bytes) !=
	            intersecting_most(c, POLICY_KEY_USER_MEMORY) ||
	    intersecting_plain(d->user_limits.cpu_millis) !=
	            intersecting_most(c, POLICY_KEY_USER_CPUS) ||
	    intersecting_plain(d->user_limits.pids) != intersecting_most(c, POLICY_KEY_USER_PIDS))
		return "what all sandboxes have together";
	return NULL;
}

/* --- a little less ---------------------------------------------------------------------------- */

/* Lowers a number that is written, to one that is: whether it could. */
static inline bool intersecting_lower(uint64_t *number)
{
	bool can = *number > 1;

	*number -= can;
	return can;
}

/* Makes the case a narrower one in one place: in a ceiling, by a further ceiling, in the request,
 * or in what else bounds it. */
static inline void intersecting_narrow(struct intersecting *c, struct intersecting_bytes bytes)
{
	size_t index = intersecting_take(&bytes, (unsigned)c->policy.grants_count),
	       what = intersecting_take(&bytes, 5);
	struct policy_grant *grant = &c->grants[index];
	uint64_t *const numbers[] = {
		&grant->limits_max.memory_bytes, &grant->limits_max.files,
		&grant->command_max_ms,          &grant->user_limits.memory_bytes,
		&c->profile.limits.pids,         &c->profile.limits.files,
		&c->asked.memory_bytes,          &c->asked.files,
		&c->profile.command_max_ms};

	if (what == 0 && c->policy.grants_count < INTERSECTING_GRANTS) {
		intersecting_add_grant(c, &bytes);
		c->grants[c->policy.grants_count - 1].is_ceiling = true;
	} else if (what == 1 && grant->is_ceiling) {
		uint64_t *const unset[] = {&grant->limits_max.memory_bytes,
		                           &grant->limits_max.files, &grant->command_max_ms,
		                           &grant->user_limits.pids};
		uint64_t *into = unset[intersecting_take(&bytes, ARRAY_SIZE(unset))];

		*into = *into ? *into : 1 + intersecting_take(&bytes, 9);
	} else if (what == 2 && grant->linger_max_ms > 0) {
		grant->linger_max_ms--;
	} else {
		(void)intersecting_lower(numbers[intersecting_take(&bytes, ARRAY_SIZE(numbers))]);
	}
}

/* NULL: nothing is more than it was; else what is. Of two decisions about a case and a narrower
 * one. */
static inline const char *intersecting_widened(int r, const struct decision *before, int narrow_r,
                                               const struct decision *narrow)
{
	for (unsigned key = 0; key < POLICY_BOUNDS; key++)
		if (intersecting_unlimited(key, narrow->bounds[key].most) >
		    intersecting_unlimited(key, before->bounds[key].most))
			return "the most of a number grew";
	for (unsigned key = 0; r == 0 && narrow_r == 0 && key < POLICY_LIMITS; key++)
		if (intersecting_in_force(narrow, key) > intersecting_in_force(before, key))
			return "a limit in force grew";
	if (r == 0 && narrow_r == 0 &&
	    intersecting_plain(narrow->life.command_ms) >
	            intersecting_plain(before->life.command_ms))
		return "the time of a command grew";
	return NULL;
}

/* The whole of a case: NULL, or what is wrong with what intersect() made of it. */
static inline const char *intersecting_judge(const uint8_t bytes[static INTERSECTING_BYTES])
{
	static struct intersecting c, narrow;
	static struct decision decision, narrow_decision;
	static struct yett_error error, narrow_error;
	const size_t head = 16;
	const char *wrong;
	int r, narrow_r;

	intersecting_make(&c, (struct intersecting_bytes){bytes + head, INTERSECTING_BYTES - head});
	r = intersecting_decide(&c, &decision, &error);
	wrong = intersecting_compare(&c, r, &decision, &error);
	if (wrong)
		return wrong;
	intersecting_copy(&narrow, &c);
	intersecting_narrow(&narrow, (struct intersecting_bytes){bytes, head});
	narrow_r = intersecting_decide(&narrow, &narrow_decision, &narrow_error);
	wrong = intersecting_compare(&narrow, narrow_r, &narrow_decision, &narrow_error);
	return wrong ? wrong : intersecting_widened(r, &decision, narrow_r, &narrow_decision);
}
