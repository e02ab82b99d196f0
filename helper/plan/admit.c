/* SPDX-License-Identifier: Apache-2.0 */
/* See admit.h. */
#include "helper/plan/admit.h"
#include "protocol/message_state.h"

/*
 * Returns the index of the first grant, from the one in `naming` on, that names the same user or
 * group, or everyone; UINT32_MAX if there is none. A binary search in policy->namings, which is
 * sorted.
 */
static uint32_t find_naming(const struct policy *policy, uint64_t naming)
{
	size_t first = 0, end = policy->namings_count, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (policy->namings[middle] < naming)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == policy->namings_count ||
	    policy->namings[first] >> POLICY_NAMING_BITS != naming >> POLICY_NAMING_BITS)
		return UINT32_MAX;
	return policy->namings[first] & ((1U << POLICY_NAMING_BITS) - 1);
}

const struct policy_grant *admit_next(const struct policy *policy, const struct peer *peer,
                                      const struct policy_grant *last)
{
	do {
		uint32_t from = last ? (uint32_t)(last - policy->grants) + 1 : 0, next = UINT32_MAX;

		for (size_t i = 0; i < peer->groups_count + 3 && i < PLAN_GROUPS_MAX + 3; i++) {
			enum policy_naming as = i == 0   ? POLICY_NAMING_EVERYONE
			                        : i == 1 ? POLICY_NAMING_USER
			                                 : POLICY_NAMING_GROUP;
			uint32_t id = i == 0   ? 0
			              : i == 1 ? peer->uid
			              : i == 2 ? peer->gid
			                       : peer->groups[i - 3];
			uint32_t found = find_naming(policy, POLICY_NAMING(as, id, from));

			next = found < next ? found : next;
		}
		last = next < policy->grants_count ? &policy->grants[next] : NULL;
	} while (last && last->expires && last->expires <= peer->now);
	return last;
}

bool admit_list_has(const struct policy_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

bool admit_is_administrator(const struct peer *peer)
{
	return peer->uid == 0 && !peer->confined;
}

int admit_unpack(struct plan *plan, size_t length)
{
	const size_t head = offsetof(struct plan, steps);

	if (length < head || plan->steps_count > PLAN_STEPS_MAX ||
	    plan->arena_used > PLAN_ARENA_MAX ||
	    length != head + plan->steps_count * sizeof *plan->steps + plan->arena_used ||
	    plan->groups_count > PLAN_GROUPS_MAX || plan->labels_count > PLAN_LABELS_MAX ||
	    plan->env_count > PLAN_ENV_MAX || plan->share_fds > MESSAGE_FDS_MAX ||
	    plan->terminals_max > PLAN_TERMINALS_MAX || plan->network >= PLAN_NETWORKS ||
	    plan->steps_count <= PLAN_CGROUP ||
	    plan->is_dry > 1) /* the audit does not record a dry plan */
		return -EPROTO;
	memmove(plan->arena, plan->steps + plan->steps_count, plan->arena_used);
	plan->weaker[sizeof plan->weaker - 1] = '\0';
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind >= PLAN_STEP_KINDS ||
		    (i <= PLAN_CGROUP && plan->steps[i].kind != i) ||
		    (plan->steps[i].kind == PLAN_SHARE && plan->steps[i].fd >= plan->share_fds) ||
		    (plan->steps[i].layer &&
		     (plan->steps[i].kind != PLAN_SHARE || plan->steps[i].is_socket)) ||
		    plan->steps[i].layer > PLAN_LAYER_STORE)
			return -EPROTO;
	return 0;
}

/* A `bound` of 0 is no bound. A `value` of 0 is unlimited. */
static bool is_within(uint64_t value, uint64_t bound)
{
	return bound == 0 || (value != 0 && value <= bound);
}

/*
 * Returns whether a grant that names the peer gives the profile and network of the plan, and
 * whether the plan is within the bounds that each such grant and ceiling sets on all of the user's
 * sandboxes together (their number and what they use). These bounds protect other users, so root
 * checks them itself. It leaves it to yett-decider to judge by whose key the request was signed,
 * and how much one sandbox may have.
 */
static bool is_granted(const struct policy *policy, const struct peer *peer,
                       const struct plan *plan, const char *profile)
{
	const struct plan_limits *all = &plan->user_limits;
	bool is_given = false, is_bounded = true;

	for (const struct policy_grant *grant = NULL; (grant = admit_next(policy, peer, grant));) {
		is_bounded = is_bounded && is_within(plan->sandboxes_max, grant->sandboxes_max) &&
		             is_within(all->memory_bytes, grant->user_limits.memory_bytes) &&
		             is_within(all->cpu_millis, grant->user_limits.cpu_millis) &&
		             is_within(all->pids, grant->user_limits.pids);
		is_given = is_given || (!grant->is_void && plan->network <= grant->network &&
		                        (!peer->confined || (grant->confined_clients &&
		                                             plan->network != PLAN_NETWORK_HOST)) &&
		                        (admit_list_has(&grant->profiles, "*") ||
		                         admit_list_has(&grant->profiles, profile)));
	}
	return is_given && is_bounded;
}

/*
 * Returns whether a PLAN_HOST step is a mount of the profile. Root opens the source of such a step
 * by its path.
 */
static bool is_of_profile(const struct plan *plan, const struct plan_step *step,
                          const struct policy_profile *profile)
{
	for (size_t i = 0; i < profile->mounts_count; i++) {
		const struct policy_mount *mount = &profile->mounts[i];

		if (*mount->source && strcmp(mount->source, plan_text(plan, step->source)) == 0 &&
		    strcmp(mount->target, plan_text(plan, step->target)) == 0 &&
		    mount->writable == step->writable)
			return true;
	}
	return false;
}

int admit_check(const struct policy *policy, const struct peer *peer, const struct plan *plan,
                struct yett_error *error)
{
	const struct policy_profile *profile = &policy->profiles[plan->profile];
	bool is_right = is_granted(policy, peer, plan, profile->name) &&
	                strcmp(plan_text(plan, plan->profile_name), profile->name) == 0 &&
	                plan->caller_uid == peer->uid && plan->caller_gid == peer->gid &&
	                plan->groups_count == peer->groups_count &&
	                memcmp(plan->groups, peer->groups,
	                       peer->groups_count * sizeof plan->groups[0]) == 0 &&
	                plan->identity == profile->identity &&
	                plan->capabilities == profile->capabilities_mask &&
	                plan->nested_userns == profile->nested_userns &&
	                plan->perf_events == profile->perf_events &&
	                plan->overlay_ro == profile->overlay_ro && plan->nice == profile->nice &&
	                plan->label_required == (profile->label == POLICY_LABEL_REQUIRED) &&
	                strcmp(plan_text(plan, plan->label), profile->apparmor_profile) == 0 &&
	                strcmp(plan_text(plan, plan->selinux_type), profile->selinux_type) == 0;

	for (uint32_t i = 0; is_right && i < plan->steps_count; i++)
		is_right = plan->steps[i].kind != PLAN_HOST ||
		           is_of_profile(plan, &plan->steps[i], profile);
	return is_right ? 0
	                : error_set(error, YETT_E_SECURITY_VIOLATION, 0,
	                            "the plan of yett-decider is not what the policy allows");
}
