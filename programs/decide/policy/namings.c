/* SPDX-License-Identifier: Apache-2.0 */
/* See namings.h. */
#include "programs/decide/policy/namings.h"

static int namings_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void namings_add(struct policy *policy, const struct policy_grant *grant)
{
	size_t index = (size_t)(grant - policy->grants);

	if (grant->everyone)
		policy->namings[policy->namings_count++] =
			POLICY_NAMING(POLICY_NAMING_EVERYONE, 0, index);
	for (size_t i = 0; i < grant->gids_count; i++)
		policy->namings[policy->namings_count++] =
			POLICY_NAMING(POLICY_NAMING_GROUP, grant->gids[i], index);
	for (size_t i = 0; i < grant->uids_count; i++)
		policy->namings[policy->namings_count++] =
			POLICY_NAMING(POLICY_NAMING_USER, grant->uids[i], index);
}

int namings_make(struct policy *policy)
{
	size_t count = 0;

	for (size_t i = 0; i < policy->grants_count; i++)
		count += policy->grants[i].everyone + policy->grants[i].gids_count +
		         policy->grants[i].uids_count;
	free(policy->namings);
	policy->namings_count = 0;
	policy->namings = calloc(count + 1, sizeof *policy->namings);
	if (!policy->namings)
		return -ENOMEM;
	for (size_t i = 0; i < policy->grants_count; i++)
		namings_add(policy, &policy->grants[i]);
	qsort(policy->namings, policy->namings_count, sizeof *policy->namings, namings_compare);
	return 0;
}
