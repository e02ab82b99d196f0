/* See explain.h. Whoever is in no more groups than need be, is the one for whom a grant decides if it ever does. */
#include "programs/explain/explain.h"

#include <string.h>

#define NO_KEY "~" /* the name of no key: settings_check_name() */

struct probe {
	const struct policy *policy;
	const struct policy_grant *grant, *other; /* `other`: who decided instead, first */
	struct peer peer;
	struct verified verified;
};

static bool decides_for_profile(struct probe *probe, const char *profile)
{
	struct choice choice = authorize_choose(probe->policy, &probe->verified, profile);

	if (!probe->other && choice.nearest != probe->grant)
		probe->other = choice.nearest;
	return choice.nearest == probe->grant;
}

static bool decides_for_key(struct probe *probe, enum key_source source, const char *principal)
{
	const struct policy_list *names = &probe->grant->profiles;

	probe->verified.key_source = source;
	(void)snprintf(probe->verified.principal, sizeof probe->verified.principal, "%s", principal);
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
		if (decides_for_key(probe, KEY_ENROLLED, strcmp(grant->keys.items[i], "*") == 0 ? NO_KEY : grant->keys.items[i]))
			return true;
	return false;
}

static bool is_named(const struct policy *policy, uint32_t id)
{
	for (size_t i = 0; i < policy->grants_count; i++) {
		for (size_t j = 0; j < policy->grants[i].uids_count; j++)
			if (policy->grants[i].uids[j] == id)
				return true;
		for (size_t j = 0; j < policy->grants[i].gids_count; j++)
			if (policy->grants[i].gids[j] == id)
				return true;
	}
	return false;
}

const struct policy_grant *shadow_find(const struct policy *policy, const struct policy_grant *grant)
{
	struct probe probe = {.policy = policy, .grant = grant};
	uint32_t nobody = UINT32_MAX - 1;
	bool decides = false;

	while (is_named(policy, nobody))
		nobody--;
	probe.verified.peer = &probe.peer;
	for (size_t i = 0; i < grant->uids_count && !decides; i++)
		decides = decides_for_peer(&probe, grant->uids[i], nobody);
	for (size_t i = 0; i < grant->gids_count && !decides; i++)
		decides = decides_for_peer(&probe, nobody, grant->gids[i]);
	if (!decides && grant->everyone)
		decides = decides_for_peer(&probe, nobody, nobody);
	return decides ? NULL : probe.other;
}
