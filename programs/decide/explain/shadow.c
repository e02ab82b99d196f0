/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See explain.h. A grant is tested with peers that are in as few groups as it requires: if it
 * decides for anybody, it decides for one of these.
 */
#include "helper/plan/admit.h"
#include "programs/decide/decider/intersect.h"
#include "programs/decide/explain/explain.h"

#include <string.h>

#define NO_KEY "~" /* no enrolled key can have this name: settings_check_name() */

struct probe {
	const struct policy *policy;
	/*
	 * grant: the grant that is tested. other: the first grant that decided in its place; NULL:
	 * none so far.
	 */
	const struct policy_grant *grant, *other;
	struct peer peer;
	struct verified verified;
};

uint32_t shadow_nobody(const struct policy *policy)
{
	uint32_t nobody = UINT32_MAX - 1, before;

	do {
		before = nobody;
		for (size_t i = policy->namings_count; i > 0; i--)
			nobody -=
				(uint32_t)(policy->namings[i - 1] >> POLICY_NAMING_BITS) == nobody;
	} while (nobody != before);
	return nobody;
}

static bool decides_for_profile(struct probe *probe, const char *profile)
{
	const struct policy_grant *nearest =
		authorize_choose(probe->policy, &probe->verified, profile).nearest;

	if (!probe->other && nearest != probe->grant)
		probe->other = nearest;
	return nearest == probe->grant;
}

static bool decides_for_key(struct probe *probe, enum key_source source, const char *principal)
{
	const struct policy_list *names = &probe->grant->profiles;

	probe->verified.key_source = source;
	(void)snprintf(probe->verified.principal, sizeof probe->verified.principal, "%s",
	               principal);
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->items[i], "*") != 0) {
			if (decides_for_profile(probe, names->items[i]))
				return true;
			continue;
		}
		for (size_t j = 0; j < probe->policy->profiles_count; j++)
			if (decides_for_profile(probe, probe->policy->profiles[j].name))
				return true;
	}
	return false;
}

static bool decides_for_peer(struct probe *probe, uid_t uid, gid_t gid)
{
	const struct policy_grant *grant = probe->grant;

	probe->peer.uid = uid;
	probe->peer.gid = gid;
	if (grant->user_keys && decides_for_key(probe, KEY_OF_USER, ""))
		return true;
	for (size_t i = 0; i < grant->keys.count; i++)
		if (decides_for_key(probe, KEY_ENROLLED,
		                    strcmp(grant->keys.items[i], "*") == 0 ? NO_KEY
		                                                           : grant->keys.items[i]))
			return true;
	return false;
}

const struct policy_grant *shadow_find(const struct policy *policy, uint32_t nobody, uint64_t now,
                                       const struct policy_grant *grant)
{
	struct probe probe = {.policy = policy, .grant = grant, .peer.now = now};
	bool decides = false;

	probe.verified.peer = &probe.peer;
	probe.verified.is_agents = grant->agents;
	for (size_t i = 0; i < grant->uids_count && !decides; i++)
		decides = decides_for_peer(&probe, grant->uids[i], nobody);
	for (size_t i = 0; i < grant->gids_count && !decides; i++)
		decides = decides_for_peer(&probe, nobody, grant->gids[i]);
	if (!decides && grant->everyone)
		decides = decides_for_peer(&probe, nobody, nobody);
	return decides ? NULL : probe.other;
}

static bool names_all(const uint32_t *ids, size_t count, const uint32_t *others,
                      size_t others_count)
{
	for (size_t i = 0; i < others_count; i++) {
		size_t at = 0;

		while (at < count && ids[at] != others[i])
			at++;
		if (at == count)
			return false;
	}
	return true;
}

/* Whether `grant` applies to everybody that `other` applies to. */
static bool is_for_all(const struct policy_grant *grant, const struct policy_grant *other)
{
	return grant->everyone ||
	       (!other->everyone &&
	        names_all(grant->uids, grant->uids_count, other->uids, other->uids_count) &&
	        names_all(grant->gids, grant->gids_count, other->gids, other->gids_count));
}

/* The number of bounds in which `grant` is lower than `than`. */
static unsigned count_less(const struct policy_grant *grant, const struct policy_grant *than)
{
	unsigned count = 0;

	for (size_t i = 0; i < POLICY_BOUNDS; i++)
		count += intersect_is_less(&intersect_rows[i],
		                           intersect_value(&intersect_rows[i], grant),
		                           intersect_value(&intersect_rows[i], than));
	return count;
}

const struct policy_grant *shadow_find_ceiling(const struct policy *policy, uint32_t nobody,
                                               const struct policy_grant *ceiling)
{
	static const struct policy_grant nothing = {.linger_max_ms = POLICY_LINGER_UNLIMITED};
	struct peer one = {.uid = ceiling->uids_count ? ceiling->uids[0] : nobody, .gid = nobody};

	if (count_less(ceiling, &nothing) == 0)
		return ceiling;
	if (ceiling->uids_count == 0 && ceiling->gids_count > 0)
		one.gid = ceiling->gids[0];
	for (const struct policy_grant *other = NULL; (other = admit_next(policy, &one, other));)
		if (other->is_ceiling && other != ceiling && is_for_all(other, ceiling) &&
		    count_less(ceiling, other) == 0 &&
		    (other < ceiling || count_less(other, ceiling) > 0 ||
		     !is_for_all(ceiling, other)))
			return other;
	return NULL;
}
