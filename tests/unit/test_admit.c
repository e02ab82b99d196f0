/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What root makes sure of before it carries out a plan that the decider has made: each single
 * deviation from what the policy and the kernel say is refused, and the honest plan, to begin with,
 * is not.
 *
 * The plans are planning.c's; what is changed in one is a row of a table.
 */
#include "helper/plan/admit.h"
#include "programs/decide/decider/plan_name.h"
#include "tests/support/testing.h"
#include "tests/unit/decide.h"

#include "programs/decide/decider/planning.h"
#include "programs/decide/policy/target.h"

#define POLICY                                                                                                                             \
	"profile \"default\" { share_ro = {\"/usr/share:/host\"} share_rw = {\"/tmp:/out\"} tmpfs = {\"/scratch:1M\"}\n"                   \
	"  capabilities = {\"chown\"} apparmor_profile = \"inside\" selinux_type = \"inside_t\" nice = 5 nested_userns = true }\n"         \
	"profile \"other\" { share_ro = {\"/usr/lib:/host\"} }\n"                                                                          \
	"profile \"secret\" { share_ro = {\"/var/lib:/host\"} }\n"                                                                         \
	"grant \"g\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\", \"other\"} capabilities = {\"chown\"}\n"            \
	"  nested_userns = true network = limited share_ro = {\"*\"} max_sandboxes = 8 user_memory = 1G user_cpus = 2 user_pids = 100 }\n" \
	"grant \"of-another\" { users = {\"1001\"} keys = {\"laptop\"} profiles = {\"*\"} identity_root = true identity_caller = true\n"   \
	"  network = open }\n"                                                                                                             \
	"grant \"of-a-group\" { groups = {\"4711\"} keys = {\"laptop\"} profiles = {\"secret\"} }\n"

static struct plan_step *step(struct plan *plan, enum plan_step_kind kind)
{
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == kind)
			return &plan->steps[i];
	fail_msg("the plan has no step %s", plan_name_step(kind));
	return NULL;
}

static struct plan_text text(struct plan *plan, const char *string)
{
	struct plan_text added = {plan->arena_used};

	assert_true(plan->arena_used + strlen(string) + 1 <= PLAN_ARENA_MAX);
	memcpy(plan->arena + plan->arena_used, string, strlen(string) + 1);
	plan->arena_used += (uint32_t)strlen(string) + 1;
	return added;
}

/* A further step; a plan of a decider may have as many as it likes of those that are not the
 * supervisor's own. */
static struct plan_step *add(struct plan *plan, enum plan_step_kind kind)
{
	assert_true(plan->steps_count < PLAN_STEPS_MAX);
	plan->steps[plan->steps_count] = (struct plan_step){.kind = kind};
	return &plan->steps[plan->steps_count++];
}

static void add_host(struct plan *plan, const char *source, const char *target, bool writable)
{
	struct plan_step *added = add(plan, PLAN_HOST);

	added->source = text(plan, source);
	added->target = text(plan, target);
	added->writable = writable;
}

static void make(struct decide *d)
{
	decide_policy(d, POLICY);
	decide_share(d, 0, SHARE_RO, "/work");
	if (decide_plan(d) != 0)
		fail_msg("%s", d->error.message);
}

static uint32_t profile_index(const struct decide *d, const char *name)
{
	return (uint32_t)(policy_find_profile(d->policy, name) - d->policy->profiles);
}

static int check(struct decide *d)
{
	return admit_check(d->policy, &d->peer, &d->plan, &d->error);
}

/* --- what a plan may say --- */

#define DEVIATIONS(X)                                                                    \
	X(another_uid, plan->caller_uid = 1001)                                          \
	X(root_as_uid, plan->caller_uid = 0)                                             \
	X(another_gid, plan->caller_gid = 0)                                             \
	X(a_group_more, plan->groups[plan->groups_count++] = 4711)                       \
	X(a_group_less, plan->groups_count--)                                            \
	X(no_groups, plan->groups_count = 0)                                             \
	X(another_group, plan->groups[1] = 4711)                                         \
	X(groups_in_another_order, (plan->groups[0] = 100, plan->groups[1] = 27))        \
	X(root_inside, plan->identity = PLAN_IDENTITY_ROOT)                              \
	X(the_callers_identity, plan->identity = PLAN_IDENTITY_CALLER)                   \
	X(an_identity_that_is_none, plan->identity = PLAN_IDENTITY_CALLER + 1)           \
	X(a_capability_more, plan->capabilities |= UINT64_C(1) << 21)                    \
	X(a_capability_beyond_all, plan->capabilities |= UINT64_C(1) << 63)              \
	X(no_capability, plan->capabilities = 0)                                         \
	X(no_user_namespaces, plan->nested_userns = false)                               \
	X(performance_events, plan->perf_events = true)                                  \
	X(a_wider_network, plan->network = PLAN_NETWORK_OPEN)                            \
	X(the_network_of_the_host, plan->network = PLAN_NETWORK_HOST)                    \
	X(more_sandboxes, plan->sandboxes_max++)                                         \
	X(any_number_of_sandboxes, plan->sandboxes_max = 0)                              \
	X(more_memory_for_all, plan->user_limits.memory_bytes++)                         \
	X(any_memory_for_all, plan->user_limits.memory_bytes = 0)                        \
	X(more_processors_for_all, plan->user_limits.cpu_millis++)                       \
	X(any_processors_for_all, plan->user_limits.cpu_millis = 0)                      \
	X(more_processes_for_all, plan->user_limits.pids++)                              \
	X(any_processes_for_all, plan->user_limits.pids = 0)                             \
	X(an_overlay, plan->overlay_ro = !plan->overlay_ro)                              \
	X(a_lower_nice_value, plan->nice = 4)                                            \
	X(the_least_nice_value, plan->nice = -20)                                        \
	X(no_apparmor_profile, plan->label = (struct plan_text){0})                      \
	X(another_apparmor_profile, plan->label = text(plan, "unconfined"))              \
	X(one_with_something_after_it, plan->label = text(plan, "inside//other"))        \
	X(a_label_outside_of_the_texts, plan->label.offset = PLAN_ARENA_MAX)             \
	X(no_selinux_type, plan->selinux_type = (struct plan_text){0})                   \
	X(another_selinux_type, plan->selinux_type = text(plan, "unconfined_t"))         \
	X(a_label_that_is_required, plan->label_required = true)                         \
	X(a_profile_with_other_mounts, plan->profile = profile_index(d, "other"))        \
	X(another_name_of_the_profile, plan->profile_name = text(plan, "other"))         \
	X(a_profile_of_another_user, plan->profile = profile_index(d, "secret"))         \
	X(the_password_file, add_host(plan, "/etc/shadow", "/host", false))              \
	X(the_home_of_root, add_host(plan, "/root", "/host", false))                     \
	X(what_another_profile_mounts, add_host(plan, "/usr/lib", "/host", false))       \
	X(the_same_written_to, add_host(plan, "/usr/share", "/host", true))              \
	X(the_same_elsewhere, add_host(plan, "/usr/share", "/etc", false))               \
	X(a_folder_below_it, add_host(plan, "/usr/share/doc", "/host", false))           \
	X(one_above_it, add_host(plan, "/usr", "/host", false))                          \
	X(a_way_around_it, add_host(plan, "/usr/share/../../root", "/host", false))      \
	X(its_path_with_another_end, add_host(plan, "/usr/share/", "/host", false))      \
	X(no_path, add_host(plan, "", "/scratch", false))                                \
	X(no_path_of_a_tmpfs, add_host(plan, "", "/scratch", true))                      \
	X(a_path_outside_of_the_texts, add(plan, PLAN_HOST)->source.offset = UINT32_MAX) \
	X(the_source_of_the_first, step(plan, PLAN_HOST)->source = text(plan, "/root"))  \
	X(the_target_of_the_first, step(plan, PLAN_HOST)->target = text(plan, "/usr"))   \
	X(the_first_written_to,                                                          \
	  step(plan, PLAN_HOST)->writable = !step(plan, PLAN_HOST)->writable)            \
	X(a_share_made_a_host_path, step(plan, PLAN_SHARE)->kind = PLAN_HOST)

#define X(name, change)                             \
	static void change_##name(struct decide *d) \
	{                                           \
		struct plan *plan = &d->plan;       \
                                                    \
		(void)(change);                     \
	}
DEVIATIONS(X)
#undef X

static const struct {
	const char *name;
	void (*change)(struct decide *d);
} deviations[] = {
#define X(name, change) {#name, change_##name},
	DEVIATIONS(X)
#undef X
};

WITH_DECIDE(the_plan_of_an_honest_decider_is_admitted)
{
	make(d);
	assert_int_equal(check(d), 0);
	assert_int_equal(d->plan.identity, PLAN_IDENTITY_PRIVATE);
	assert_string_equal(plan_text(&d->plan, d->plan.label), "inside");
	assert_int_not_equal(d->plan.capabilities, 0);
	d->plan.network = PLAN_NETWORK_LIMITED; /* as the grant allows */
	assert_int_equal(check(d), 0);
	/* Once more with what the profile mounts anyway. */
	add_host(&d->plan, "/tmp", "/out", true);
	assert_int_equal(check(d), 0);
}

WITH_DECIDE(each_single_deviation_is_refused)
{
	struct plan *honest = malloc(sizeof *honest);

	make(d);
	assert_non_null(honest);
	*honest = d->plan;
	for (size_t i = 0; i < ARRAY_SIZE(deviations); i++) {
		d->plan = *honest;
		memset(&d->error, 0, sizeof d->error);
		deviations[i].change(d);
		if (check(d) != YETT_E_SECURITY_VIOLATION ||
		    d->error.code != YETT_E_SECURITY_VIOLATION)
			fail_msg("%s passed", deviations[i].name);
	}
	d->plan = *honest;
	assert_int_equal(check(d), 0);
	free(honest);
}

/* Whoever asks: the ids are the kernel's, and what they are granted the policy's. */
WITH_DECIDE(a_grant_counts_for_whom_it_names_alone)
{
	make(d);
	d->peer.uid = d->plan.caller_uid = 1002;
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
	d->peer.uid = d->plan.caller_uid = 1001;
	assert_int_equal(check(d), 0);
	d->peer.uid = d->plan.caller_uid = 1000;
	assert_int_equal(check(d), 0);
	d->peer.confined = true; /* no grant lets it ask from there */
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
}

/* It would be the helper's, whatever network the client is in. */
WITH_DECIDE(no_confined_client_gets_the_network_of_the_host)
{
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"}\n"
		"  network = host confined_clients = true }\n");
	assert_int_equal(decide_plan(d), 0);
	for (uint32_t network = 0; network < PLAN_NETWORKS; network++) {
		d->plan.network = network;
		d->peer.confined = false;
		assert_int_equal(check(d), 0);
		d->peer.confined = true;
		assert_int_equal(check(d),
		                 network == PLAN_NETWORK_HOST ? YETT_E_SECURITY_VIOLATION : 0);
	}
}

WITH_DECIDE(a_grant_that_is_void_gives_nothing)
{
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"} }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(check(d), 0);
	decide_policy(
		d,
		"profile \"default\" { }\n"
		"grant \"g\" { users = {\"1000\", \"no-such-user\"} keys = {\"laptop\"} profiles = {\"default\"} }\n");
	assert_true(d->policy->grants[0].is_void);
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
}

/* Whatever the decider says, and whichever grant gives the sandbox. */
WITH_DECIDE(what_a_ceiling_bounds_root_bounds)
{
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"} max_sandboxes = 8 }\n"
		"ceiling \"c\" { groups = {\"27\"} max_sandboxes = 4 user_memory = 1G user_cpus = 2 user_pids = 100 }\n"
		"ceiling \"of-others\" { groups = {\"28\"} max_sandboxes = 1 user_memory = 1M }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.sandboxes_max, 4);
	assert_int_equal(check(d), 0);
	d->plan.sandboxes_max = 5;
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
	d->plan.sandboxes_max = 4;
	d->plan.user_limits.pids = 0;
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
	d->plan.user_limits.pids = 100;
	assert_int_equal(check(d), 0);
	decide_policy(
		d,
		"profile \"default\" { }\nceiling \"c\" { users = {\"1000\"} }\n"); /* which gives
	                                                                               nothing */
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
}

/* A decider has a clock of its own, and says nothing of it. */
WITH_DECIDE(what_has_expired_gives_nothing_and_bounds_nobody)
{
	decide_policy(
		d,
		"profile \"default\" { }\n"
		"grant \"old\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"} expire = 2026-12-31 max_sandboxes = 2 }\n"
		"ceiling \"c\" { users = {\"1000\"} user_pids = 100 }\n");
	d->peer.now = 1798675199;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(check(d), 0);
	d->peer.now = 1798675200;
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
	decide_policy(
		d,
		"profile \"default\" { }\n"
		"grant \"old\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"} expire = 2026-12-31 max_sandboxes = 2 }\n"
		"grant \"new\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"default\"} }\n"
		"ceiling \"c\" { users = {\"1000\"} user_pids = 100 }\n");
	d->plan.sandboxes_max = 0;
	assert_int_equal(check(d), 0);
	d->plan.user_limits.pids = 101; /* a ceiling lasts */
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
	d->plan.user_limits.pids = 100;
	d->peer.now = 1798675199;
	assert_int_equal(check(d), YETT_E_SECURITY_VIOLATION);
}

WITH_DECIDE(a_peer_is_named_as_closely_as_a_grant_says)
{
	static const struct {
		const char *who;
		enum policy_naming as; /* uid and gid 1000, in groups 27 and 100 */
	} cases[] = {
		{"users = {\"1001\"} groups = {\"4711\"}", POLICY_NAMING_NONE},
		{"users = {\"*\"} groups = {\"4711\"}", POLICY_NAMING_EVERYONE},
		{"users = {\"*\", \"1001\"} groups = {\"100\"}", POLICY_NAMING_GROUP},
		{"groups = {\"28\", \"1000\", \"100\"}", POLICY_NAMING_GROUP},
		{"users = {\"*\", \"1000\", \"1000\"} groups = {\"100\"}", POLICY_NAMING_USER},
		{"users = {\"0\", \"4294967294\"} groups = {\"0\", \"4294967294\"}",
	         POLICY_NAMING_NONE},
	};
	const struct policy_grant *grant = NULL;
	char text[2048] = "profile \"default\" { }\n";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(text + strlen(text), sizeof text - strlen(text),
		               "grant \"g%zu\" { %s profiles = {\"*\"} }\n", i, cases[i].who);
		(void)snprintf(text + strlen(text), sizeof text - strlen(text),
		               "ceiling \"g%zu\" { %s }\n", i, cases[i].who);
	}
	decide_policy(d, text);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		enum policy_naming as = cases[i % ARRAY_SIZE(cases)].as;

		if (as == POLICY_NAMING_NONE)
			continue;
		grant = admit_next(d->policy, &d->peer, grant);
		assert_ptr_equal(grant, &d->policy->grants[i]);
		assert_int_equal(authorize_naming(grant, &d->peer), as);
	}
	assert_null(admit_next(d->policy, &d->peer, grant));
}

WITH_DECIDE(root_of_a_container_is_not_the_administrator)
{
	assert_false(admit_is_administrator(&d->peer));
	d->peer.uid = 0;
	assert_true(admit_is_administrator(&d->peer));
	d->peer.confined = true;
	assert_false(admit_is_administrator(&d->peer));
}

/* --- how it comes --- */

static size_t length_of(const struct plan *plan)
{
	return offsetof(struct plan, steps) + plan->steps_count * sizeof *plan->steps +
	       plan->arena_used;
}

/* As it is sent: without the steps that are not used. What lies behind it in memory is what an
 * earlier one left. */
static size_t pack(struct plan *plan)
{
	size_t length = length_of(plan);

	memmove(plan->steps + plan->steps_count, plan->arena, plan->arena_used);
	memset((char *)plan + length, 'x', sizeof *plan - length);
	return length;
}

WITH_DECIDE(what_was_sent_is_what_was_meant)
{
	struct plan *honest = malloc(sizeof *honest);
	size_t length;

	make(d);
	assert_non_null(honest);
	*honest = d->plan;
	length = pack(&d->plan);
	assert_true(length < sizeof d->plan / 2);
	assert_int_equal(admit_unpack(&d->plan, length), 0);
	assert_memory_equal(&d->plan, honest,
	                    offsetof(struct plan, steps) +
	                            honest->steps_count * sizeof *honest->steps);
	assert_memory_equal(d->plan.arena, honest->arena, honest->arena_used);
	assert_int_equal(check(d), 0);
	free(honest);
}

/* Where the texts come to lie overlaps where they lay: with all steps, with all but a few, and with
 * as many texts as there can be. */
WITH_DECIDE(texts_are_moved_whole_however_many_steps_there_are)
{
	static const uint32_t arenas[] = {
		0, 1, 100, sizeof(struct plan_step), 5000, PLAN_ARENA_MAX};
	struct plan *plan = &d->plan;

	for (size_t a = 0; a < ARRAY_SIZE(arenas); a++) {
		for (uint32_t steps = PLAN_CGROUP + 1; steps <= PLAN_STEPS_MAX;
		     steps += steps < PLAN_STEPS_MAX - 3 && steps > 4 ? 100 : 1) {
			memset(plan, 0, sizeof *plan);
			plan->steps_count = steps > PLAN_STEPS_MAX ? PLAN_STEPS_MAX : steps;
			for (uint32_t i = 0; i < plan->steps_count; i++)
				plan->steps[i].kind = i <= PLAN_CGROUP ? i : PLAN_PROC;
			plan->arena_used = arenas[a];
			for (uint32_t i = 0; i < arenas[a]; i++)
				plan->arena[i] = (char)(i % 251);
			assert_int_equal(admit_unpack(plan, pack(plan)), 0);
			for (uint32_t i = 0; i < arenas[a]; i++)
				if (plan->arena[i] != (char)(i % 251))
					fail_msg("text %u of %u, behind %u steps", i, arenas[a],
					         steps);
		}
	}
}

WITH_DECIDE(each_length_but_its_own_is_refused)
{
	struct plan *honest = malloc(sizeof *honest);
	size_t length;

	make(d);
	assert_non_null(honest);
	length = pack(&d->plan);
	*honest = d->plan;
	for (size_t wrong = 0; wrong <= sizeof d->plan;
	     wrong += wrong + 20 < length || wrong > length + 20 ? 7 : 1) {
		d->plan = *honest;
		if (wrong != length)
			assert_int_equal(admit_unpack(&d->plan, wrong), -EPROTO);
	}
	assert_int_equal(admit_unpack(&d->plan, SIZE_MAX), -EPROTO);
	d->plan = *honest;
	assert_int_equal(admit_unpack(&d->plan, length), 0);
	free(honest);
}

WITH_DECIDE(numbers_are_held_to_their_bounds)
{
	static const struct {
		const char *name;
		size_t offset;
		uint32_t most;
	} rows[] = {
		{"groups", offsetof(struct plan, groups_count), PLAN_GROUPS_MAX},
		{"labels", offsetof(struct plan, labels_count), PLAN_LABELS_MAX},
		{"environment", offsetof(struct plan, env_count), PLAN_ENV_MAX},
		{"descriptors", offsetof(struct plan, share_fds), MESSAGE_FDS_MAX},
		{"terminals", offsetof(struct plan, terminals_max), PLAN_TERMINALS_MAX},
		{"steps", offsetof(struct plan, steps_count), PLAN_STEPS_MAX},
		{"texts", offsetof(struct plan, arena_used), PLAN_ARENA_MAX},
	};
	static const uint32_t beyond[] = {1, 2, 1000};
	struct plan *plan = &d->plan;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; j <= ARRAY_SIZE(beyond) + 1; j++) {
			uint32_t count = j == 0                    ? rows[i].most
			                 : j <= ARRAY_SIZE(beyond) ? rows[i].most + beyond[j - 1]
			                                           : UINT32_MAX;

			memset(plan, 0, sizeof *plan);
			plan->steps_count = PLAN_CGROUP + 1;
			memcpy((char *)plan + rows[i].offset, &count, sizeof count);
			for (uint32_t s = 0; s < plan->steps_count && s < PLAN_STEPS_MAX; s++)
				plan->steps[s].kind = s <= PLAN_CGROUP ? s : PLAN_PROC;
			/* The length fits, so that it is the number that is looked at. */
			if (admit_unpack(plan, length_of(plan)) != (j == 0 ? 0 : -EPROTO))
				fail_msg("%u %s", count, rows[i].name);
		}
	}
}

WITH_DECIDE(steps_are_of_kinds_that_there_are_and_the_first_ones_the_supervisors)
{
	struct plan *plan = &d->plan, *honest = malloc(sizeof *honest);

	make(d);
	assert_non_null(honest);
	*honest = *plan;
	for (uint32_t kind = 0; kind < PLAN_STEP_KINDS + 3u; kind++) {
		for (uint32_t i = 0; i <= PLAN_CGROUP + 1; i++) {
			bool is_right = kind < PLAN_STEP_KINDS && (i > PLAN_CGROUP || kind == i);

			*plan = *honest;
			plan->steps[i].kind = kind;
			if (admit_unpack(plan, pack(plan)) != (is_right ? 0 : -EPROTO))
				fail_msg("step %u of kind %u", i, kind);
		}
	}
	*plan = *honest;
	plan->steps[plan->steps_count - 1].kind = UINT32_MAX;
	assert_int_equal(admit_unpack(plan, pack(plan)), -EPROTO);
	for (uint32_t count = 0; count <= PLAN_CGROUP; count++) {
		*plan = *honest;
		plan->steps_count = count;
		assert_int_equal(admit_unpack(plan, pack(plan)), -EPROTO);
	}
	free(honest);
}

WITH_DECIDE(a_share_is_of_a_descriptor_that_came)
{
	struct plan *plan = &d->plan, *honest = malloc(sizeof *honest);

	make(d);
	assert_non_null(honest);
	*honest = *plan;
	assert_int_equal(plan->share_fds, 1);
	for (uint32_t fd = 0; fd < 3; fd++) {
		*plan = *honest;
		step(plan, PLAN_SHARE)->fd = fd;
		assert_int_equal(admit_unpack(plan, pack(plan)), fd == 0 ? 0 : -EPROTO);
	}
	*plan = *honest;
	plan->share_fds = 0;
	assert_int_equal(admit_unpack(plan, pack(plan)), -EPROTO);
	*plan = *honest;
	step(plan, PLAN_SHARE)->fd = UINT32_MAX;
	assert_int_equal(admit_unpack(plan, pack(plan)), -EPROTO);
	free(honest);
}

WITH_DECIDE(a_layer_is_of_a_share_of_a_directory)
{
	static const struct {
		enum plan_step_kind kind;
		uint32_t layer;
		bool is_socket, fits;
	} cases[] = {{PLAN_SHARE, PLAN_LAYER_SOURCE, false, true},
	             {PLAN_SHARE, PLAN_LAYER_STORE, false, true},
	             {PLAN_SHARE, PLAN_LAYER_STORE + 1, false, false},
	             {PLAN_SHARE, PLAN_LAYER_SOURCE, true, false},
	             {PLAN_HOST, PLAN_LAYER_SOURCE, false, false},
	             {PLAN_TMPFS, PLAN_LAYER_SOURCE, false, false}};
	struct plan *plan = &d->plan, *honest = malloc(sizeof *honest);

	make(d);
	assert_non_null(honest);
	*honest = *plan;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan_step *share;

		*plan = *honest;
		share = step(plan, PLAN_SHARE);
		share->kind = cases[i].kind;
		share->layer = cases[i].layer;
		share->is_socket = cases[i].is_socket;
		share->fd = cases[i].kind == PLAN_SHARE
		                    ? 0
		                    : UINT32_MAX; /* of which nobody else makes sure */
		assert_int_equal(admit_unpack(plan, pack(plan)), cases[i].fits ? 0 : -EPROTO);
	}
	free(honest);
}

/* They are bytes of another process: one that is neither 0 nor 1 is not what the profile says, and
 * undefined to nobody. */
WITH_DECIDE(a_flag_may_be_any_byte)
{
	struct plan *plan = &d->plan;

	make(d);
	plan->nested_userns = 2;
	assert_int_equal(admit_unpack(plan, pack(plan)), 0);
	assert_int_equal(plan->nested_userns, 2);
	step(plan, PLAN_SHARE)->is_socket = 2;
	step(plan, PLAN_SHARE)->layer = PLAN_LAYER_SOURCE;
	assert_int_equal(admit_unpack(plan, pack(plan)), -EPROTO);
}

WITH_DECIDE(what_is_said_to_people_ends)
{
	make(d);
	memset(d->plan.weaker, 'w', sizeof d->plan.weaker);
	assert_int_equal(admit_unpack(&d->plan, pack(&d->plan)), 0);
	assert_int_equal(strlen(d->plan.weaker), sizeof d->plan.weaker - 1);
}

TEST_MAIN(NULL, NULL)
