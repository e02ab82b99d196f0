/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a captured decider may send it: root must get by with any bytes, and admit none that
 * the policy does not allow. */
#include "helper/plan/admit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uid_t uid = 1000;
static char profile_name[] = "default", source[] = "/usr", target[] = "/mnt", none[] = "";
static char *profiles[] = {profile_name};
static struct policy_mount mount = {.source = source, .target = target};
static struct policy_profile profile = {.name = profile_name,
                                        .mounts = &mount,
                                        .mounts_count = 1,
                                        .apparmor_profile = none,
                                        .selinux_type = none};
static struct policy_grant grant = {
	.uids = &uid, .uids_count = 1, .profiles = {.items = profiles, .count = 1}};
static uint64_t naming = POLICY_NAMING(POLICY_NAMING_USER, 1000, 0);
static const struct policy policy = {.profiles = &profile,
                                     .profiles_count = 1,
                                     .grants = &grant,
                                     .grants_count = 1,
                                     .namings = &naming,
                                     .namings_count = 1};
static const struct peer peer = {.uid = 1000, .gid = 1000};

static void need(bool holds)
{
	if (!holds)
		abort();
}

/* What is admitted is within the policy, and every text of it ends. */
static void look(const struct plan *plan)
{
	need(plan->caller_uid == 1000 && plan->caller_gid == 1000 && plan->groups_count == 0);
	need(plan->identity == PLAN_IDENTITY_PRIVATE && plan->capabilities == 0 &&
	     !plan->nested_userns && plan->nice == 0);
	need(*plan_text(plan, plan->label) == '\0' &&
	     *plan_text(plan, plan->selinux_type) == '\0' && !plan->label_required);
	need(strlen(plan->weaker) < sizeof plan->weaker);
	for (uint32_t i = 0; i < plan->steps_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		need(step->kind < PLAN_STEP_KINDS &&
		     strlen(plan_text(plan, step->target)) < PLAN_ARENA_MAX);
		need(step->kind != PLAN_SHARE || step->fd < plan->share_fds);
		if (step->kind == PLAN_HOST)
			need(strcmp(plan_text(plan, step->source), source) == 0 &&
			     strcmp(plan_text(plan, step->target), target) == 0 && !step->writable);
	}
}

/* The first byte says whether lengths and the first steps are mended, without which few inputs
 * would get far. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = offsetof(struct plan, steps);
	struct yett_error error;
	struct plan *plan;

	if (size < 1 || size - 1 > sizeof *plan)
		return 0;
	plan = calloc(1, sizeof *plan);
	need(plan);
	memcpy(plan, data + 1, --size);
	if ((data[0] & 1) && size > head) {
		plan->steps_count = (uint32_t)((size - head) / sizeof *plan->steps);
		plan->arena_used = (uint32_t)((size - head) % sizeof *plan->steps);
		for (uint32_t i = 0; i <= PLAN_CGROUP && i < plan->steps_count; i++)
			plan->steps[i].kind = i;
	}
	if ((data[0] & 2) && size > head) {
		plan->caller_uid = plan->caller_gid = 1000;
		plan->profile = plan->groups_count = plan->labels_count = plan->env_count =
			plan->share_fds = plan->identity = 0;
		plan->capabilities = 0;
		plan->nice = 0;
		plan->label = plan->selinux_type = (struct plan_text){0};
		plan->nested_userns = plan->overlay_ro = plan->label_required = false;
	}
	if (admit_unpack(plan, size) == 0 && plan->profile < policy.profiles_count &&
	    admit_check(&policy, &peer, plan, &error) == 0)
		look(plan);
	free(plan);
	return 0;
}
