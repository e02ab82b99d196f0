/*
 * See explain.h. Whoever is in no more groups than need be, is the one for whom a grant decides if it ever does.
 *
 * Of many grants few are for one such account: an index by whom each names finds these, and only they are asked.
 */
#include "programs/explain/explain.h"

#include <string.h>

#define NO_KEY "~" /* the name of no key: settings_check_name() */

enum named { NAMED_USER, NAMED_GROUP, NAMED_EVERYONE, NAMED_KINDS };

struct naming {
	enum named kind;
	uint32_t id;
	size_t grant;
};

struct shadow {
	const struct policy *policy;
	uint32_t nobody;        /* whom no grant names */
	struct naming *namings; /* sorted */
	size_t namings_count;
	struct policy near; /* those of the grants that are for the account that is asked about, in their order */
	size_t *near_of;    /* which each of them is in the policy */
};

struct probe {
	struct shadow *shadow;
	const struct policy_grant *grant, *other; /* `other`: who decided instead, first */
	struct peer peer;
	struct verified verified;
};

static int compare_namings(const void *left, const void *right)
{
	const struct naming *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->grant < b->grant ? -1 : a->grant > b->grant;
}

/* The first of these, or where it would be. */
static const struct naming *find_namings(const struct shadow *shadow, enum named kind, uint32_t id)
{
	const struct naming wanted = {kind, id, 0};
	size_t first = 0, end = shadow->namings_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (compare_namings(&shadow->namings[middle], &wanted) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return &shadow->namings[first];
}

static bool is_naming(const struct shadow *shadow, const struct naming *naming, enum named kind, uint32_t id)
{
	return naming < shadow->namings + shadow->namings_count && naming->kind == kind && naming->id == id;
}

static bool is_named(const struct shadow *shadow, enum named kind, uint32_t id)
{
	return is_naming(shadow, find_namings(shadow, kind, id), kind, id);
}

/* The grants that are for the account, each once. */
static void find_near(struct shadow *shadow, uid_t uid, gid_t gid)
{
	const uint32_t ids[NAMED_KINDS] = {[NAMED_USER] = uid, [NAMED_GROUP] = gid};
	const struct naming *next[NAMED_KINDS];
	size_t count = 0;

	for (enum named kind = 0; kind < NAMED_KINDS; kind++)
		next[kind] = find_namings(shadow, kind, ids[kind]);
	for (;;) {
		enum named least = NAMED_KINDS;

		for (enum named kind = 0; kind < NAMED_KINDS; kind++)
			if (is_naming(shadow, next[kind], kind, ids[kind]) &&
			    (least == NAMED_KINDS || next[kind]->grant < next[least]->grant))
				least = kind;
		if (least == NAMED_KINDS)
			break;
		if (count == 0 || shadow->near_of[count - 1] != next[least]->grant) {
			shadow->near_of[count] = next[least]->grant;
			shadow->near.grants[count++] = shadow->policy->grants[next[least]->grant];
		}
		next[least]++;
	}
	shadow->near.grants_count = count;
}

static void add_namings(struct shadow *shadow, size_t index)
{
	const struct policy_grant *grant = &shadow->policy->grants[index];

	for (size_t i = 0; i < grant->uids_count; i++)
		shadow->namings[shadow->namings_count++] = (struct naming){NAMED_USER, grant->uids[i], index};
	for (size_t i = 0; i < grant->gids_count; i++)
		shadow->namings[shadow->namings_count++] = (struct naming){NAMED_GROUP, grant->gids[i], index};
	if (grant->everyone)
		shadow->namings[shadow->namings_count++] = (struct naming){NAMED_EVERYONE, 0, index};
}

void shadow_free(struct shadow *shadow)
{
	if (!shadow)
		return;
	free(shadow->namings);
	free(shadow->near.grants);
	free(shadow->near_of);
	free(shadow);
}

struct shadow *shadow_new(const struct policy *policy)
{
	_cleanup_(shadow_freep) struct shadow *shadow = calloc(1, sizeof *shadow);
	size_t count = 1;

	for (size_t i = 0; i < policy->grants_count; i++)
		count += policy->grants[i].uids_count + policy->grants[i].gids_count + policy->grants[i].everyone;
	if (!shadow)
		return NULL;
	shadow->policy = policy;
	shadow->near = *policy;
	shadow->near.grants = calloc(policy->grants_count + 1, sizeof *shadow->near.grants);
	shadow->near_of = calloc(policy->grants_count + 1, sizeof *shadow->near_of);
	shadow->namings = calloc(count, sizeof *shadow->namings);
	if (!shadow->near.grants || !shadow->near_of || !shadow->namings)
		return NULL;
	for (size_t i = 0; i < policy->grants_count; i++)
		add_namings(shadow, i);
	qsort(shadow->namings, shadow->namings_count, sizeof *shadow->namings, compare_namings);
	shadow->nobody = UINT32_MAX - 1;
	while (is_named(shadow, NAMED_USER, shadow->nobody) || is_named(shadow, NAMED_GROUP, shadow->nobody))
		shadow->nobody--;
	return steal_ptr(&shadow);
}

static bool decides_for_profile(struct probe *probe, const char *profile)
{
	const struct shadow *shadow = probe->shadow;
	struct choice choice = authorize_choose(&shadow->near, &probe->verified, profile);
	const struct policy_grant *nearest = NULL;

	if (choice.nearest)
		nearest = &shadow->policy->grants[shadow->near_of[choice.nearest - shadow->near.grants]];
	if (!probe->other && nearest != probe->grant)
		probe->other = nearest;
	return nearest == probe->grant;
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
		for (size_t j = 0; j < probe->shadow->policy->profiles_count; j++)
			if (decides_for_profile(probe, probe->shadow->policy->profiles[j].name))
				return true;
	}
	return false;
}

static bool decides_for_peer(struct probe *probe, uid_t uid, gid_t gid)
{
	const struct policy_grant *grant = probe->grant;

	probe->peer.uid = uid;
	probe->peer.gid = gid;
	find_near(probe->shadow, uid, gid);
	if (grant->user_keys && decides_for_key(probe, KEY_OF_USER, ""))
		return true;
	for (size_t i = 0; i < grant->keys.count; i++)
		if (decides_for_key(probe, KEY_ENROLLED, strcmp(grant->keys.items[i], "*") == 0 ? NO_KEY : grant->keys.items[i]))
			return true;
	return false;
}

const struct policy_grant *shadow_find(struct shadow *shadow, const struct policy_grant *grant)
{
	struct probe probe = {.shadow = shadow, .grant = grant};
	bool decides = false;

	probe.verified.peer = &probe.peer;
	for (size_t i = 0; i < grant->uids_count && !decides; i++)
		decides = decides_for_peer(&probe, grant->uids[i], shadow->nobody);
	for (size_t i = 0; i < grant->gids_count && !decides; i++)
		decides = decides_for_peer(&probe, shadow->nobody, grant->gids[i]);
	if (!decides && grant->everyone)
		decides = decides_for_peer(&probe, shadow->nobody, shadow->nobody);
	return decides ? NULL : probe.other;
}
