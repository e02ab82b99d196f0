/* SPDX-License-Identifier: Apache-2.0 */
/* What of a request the policy allows, and how a refusal reads. */
#include "base/net_rule_parse.h"
#include "helper/plan/admit.h"
#include "programs/decide/decider/refuse.h"
#include "tests/support/testing.h"
#include "tests/unit/decide.h"

#define PROFILES \
	"profile \"default\" { memory = 1G pids = 100 }\nprofile \"big\" { memory = unlimited }\n"

static void refused(struct decide *d, enum yett_code code, const char *message, const char *detail)
{
	int r = decide_authorize(d);

	if (r != (int)code || d->error.code != code || !strstr(d->error.message, message) ||
	    !strstr(d->error.detail, detail))
		fail_msg("%d: %s (%s)", r, d->error.message, d->error.detail);
	memset(&d->error, 0, sizeof d->error);
}

/* Whose grant decides for alice, in group 100, with the key "laptop"; "": none, and `nearest` is
 * the one to change. */
static void decides(struct decide *d, const char *profile, const char *grant, const char *nearest)
{
	struct choice choice = authorize_choose(d->policy, &d->verified, profile);

	assert_string_equal(choice.grant ? choice.grant->name : "", grant);
	assert_string_equal(choice.nearest ? choice.nearest->name : "", *grant ? grant : nearest);
}

WITH_DECIDE(the_grant_that_names_the_user_most_closely_decides_wherever_it_stands)
{
	static const char *const grants[] = {
		"grant \"everyone\" { users = {\"*\"} user_keys = true profiles = {\"*\"} }\n",
		"grant \"everyones-key\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
		"grant \"group\" { groups = {\"100\"} profiles = {\"*\"} }\n",
		"grant \"groups-key\" { groups = {\"100\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
		"grant \"user\" { users = {\"1000\"} profiles = {\"*\"} }\n",
		"grant \"users-key\" { users = {\"1000\", \"*\"} groups = {\"100\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
	};
	static const char *const names[] = {"everyone",   "everyones-key", "group",
	                                    "groups-key", "user",          "users-key"};
	char text[2048];

	/* the first n of them, in both orders: the last of these is the foremost */
	for (size_t n = 1; n <= ARRAY_SIZE(grants); n++)
		for (unsigned turned = 0; turned < 2; turned++) {
			(void)snprintf(text, sizeof text, PROFILES);
			for (size_t i = 0; i < n; i++)
				(void)strcat(text, grants[turned ? n - 1 - i : i]);
			decide_policy(d, text);
			decides(d, "default", names[n - 1], "");
		}
	strcpy(d->verified.principal, "desktop");
	decides(d, "default", "user", "");
	d->peer.uid = 1001;
	decides(d, "default", "group", "");
	d->peer.groups_count = 1;
	decides(d, "default", "everyone", "");
	d->peer.gid = 100;
	decides(d, "default", "group", "");
	d->peer.gid = 1001;
	d->verified.key_source = KEY_OF_USER;
	strcpy(d->verified.principal, "laptop"); /* what was found before does not count */
	decides(d, "default", "everyone", "");
	decide_policy(
		d, PROFILES
		"grant \"a\" { users = {\"*\"} user_keys = true profiles = {\"big\"} }\n"
		"grant \"b\" { users = {\"*\"} user_keys = true profiles = {\"*\"} }\n"
		"grant \"c\" { users = {\"*\"} user_keys = true profiles = {\"default\"} }\n");
	decides(d, "big", "a", ""); /* of equals the first one that gives it */
	decides(d, "default", "b", "");
	assert_int_equal(decide_authorize(d), 0);
	assert_string_equal(d->decision.grant->name, "b");
	assert_ptr_equal(d->decision.verified, &d->verified);
}

/* The shipped grant comes first and is for everyone: one that restricts somebody must not be void
 * for that, nor be got round. */
WITH_DECIDE(a_grant_that_restricts_leaves_no_way_round_it)
{
	static const char everyone[] = PROFILES
		"grant \"everyone\" { users = {\"*\"} user_keys = true profiles = {\"*\"} max_memory = 32G }\n";
	static const struct {
		const char *grant;
		const char *key, *profile; /* key "": one of alice's own */
		const char *decides;
	} cases[] = {
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"}", "", "default",
	         "mine"},
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"}", "", "big",
	         ""}, /* not by another profile */
		{"groups = {\"27\"} user_keys = true profiles = {\"default\"}", "", "big", ""},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "laptop", "big",
	         "mine"},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "", "big",
	         ""}, /* nor by another key, of which a user can make any number */
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "phone", "big", ""},
		{"users = {\"*\"} keys = {\"laptop\"} profiles = {\"default\"}", "laptop", "big",
	         ""},
		{"users = {\"*\"} keys = {\"laptop\"} profiles = {\"default\"}", "phone", "big",
	         "everyone"},
		{"users = {\"1001\"} groups = {\"28\"} profiles = {\"default\"}", "", "big",
	         "everyone"}, /* it is about others */
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"} fall_through = true",
	         "", "big", "everyone"},
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"} fall_through = true",
	         "", "default", "mine"},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"} fall_through = true",
	         "phone", "big", "everyone"},
		/* one that falls through opens no way past one that does not */
		{"users = {\"1000\"} profiles = {\"default\"} fall_through = true }\ngrant \"other\" { users = {\"1000\"} user_keys = true profiles = {\"default\"}",
	         "", "big", ""},
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(text, sizeof text, "%sgrant \"mine\" { %s }\n", everyone,
		               cases[i].grant);
		decide_policy(d, text);
		d->verified.key_source = *cases[i].key ? KEY_ENROLLED : KEY_OF_USER;
		strcpy(d->verified.principal, cases[i].key);
		decides(d, cases[i].profile, cases[i].decides,
		        strstr(text, "other") ? "other" : "mine");
	}
}

WITH_DECIDE(grants_for_agents_decide_for_them_and_for_nobody_else)
{
	static const char for_agents[] =
		"grant \"everyone\" { users = {\"*\"} profiles = {\"*\"} }\n"
		"grant \"mine\" { users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"} fall_through = true }\n"
		"grant \"models\" { users = {\"*\"} agents = true profiles = {\"default\"} }\n"
		"grant \"my-models\" { users = {\"1001\"} agents = true profiles = {\"big\"} }\n";
	char text[1024];

	(void)snprintf(text, sizeof text, PROFILES "%s", for_agents);
	decide_policy(d, text);
	decides(d, "big", "mine", "");
	d->verified.is_agents = true;
	decides(d, "default", "models", "");
	decides(d, "big", "", "models"); /* by no other, however closely it names the user */
	d->peer.uid = 1001;
	decides(d, "big", "my-models", "");
	decides(d, "default", "", "my-models");
	d->verified.is_agents = false;
	decides(d, "default", "everyone", "");
	/* who has none is given what all that is asked for is given */
	decide_policy(
		d, PROFILES
		"grant \"everyone\" { users = {\"*\"} profiles = {\"*\"} }\n"
		"grant \"models\" { users = {\"1001\"} agents = true profiles = {\"default\"} }\n");
	d->verified.is_agents = true;
	d->peer.uid = 1002;
	decides(d, "big", "everyone", "");
	d->peer.uid = 1001;
	decides(d, "big", "", "models");
	/* a ceiling is for both */
	decide_policy(
		d, PROFILES
		"grant \"everyone\" { users = {\"*\"} profiles = {\"*\"} }\nceiling \"all\" { users = {\"*\"} max_memory = 1G }\n");
	decides(d, "big", "everyone", "");
}

WITH_DECIDE(a_grant_with_an_unknown_name_is_void_and_binds_whom_it_names)
{
	decide_policy(
		d, PROFILES
		"grant \"everyone\" { users = {\"*\"} profiles = {\"*\"} }\n"
		"grant \"void\" { users = {\"1001\"} groups = {\"no-such-group-here\"}\n profiles = {\"*\"} }\n");
	assert_true(d->policy->grants[1].is_void);
	assert_non_null(
		strstr(d->policy->grants[1].notice,
	               ":4: 'no-such-group-here' is not a group of this host: the grant is void"));
	assert_false(d->policy->grants[0].is_void);
	assert_string_equal(d->policy->grants[0].notice, "");
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = 1001;
	refused(d, YETT_E_PERMISSION_DENIED, "the grant 'void' is void: ", "");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_false(authorize_manage(d->policy, &d->verified, 1001, "laptop", "default"));
	/* where another one comes as close, that one is to be changed: this one gives nothing,
	 * whatever is written in it */
	decide_policy(
		d, PROFILES
		"grant \"void\" { users = {\"1001\", \"no-such-user-here\"} profiles = {\"default\"} user_keys = true keys = {\"*\"} }\n"
		"grant \"other\" { users = {\"1001\"} keys = {\"*\"} profiles = {\"default\"} }\n");
	decides(d, "big", "", "other");
	decide_policy(d, PROFILES
	              "grant \"void\" { users = {\"no-such-user-here\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1001", "");
}

WITH_DECIDE(what_a_user_has_together_is_bounded_by_every_grant_for_the_user)
{
	decide_policy(
		d, PROFILES
		"grant \"chosen\" { users = {\"*\"} profiles = {\"default\"} user_memory = 4G user_cpus = 1.5 }\n"
		"grant \"other-profile\" { users = {\"1000\"} profiles = {\"big\"} fall_through = true user_memory = 1G user_cpus = 2 max_sandboxes = 9 user_terminals = 90 }\n"
		"grant \"other-key\" { groups = {\"27\"} keys = {\"desktop\"} profiles = {\"big\"} fall_through = true user_pids = 7 max_sandboxes = 5 user_terminals = 64 }\n"
		"grant \"other-user\" { users = {\"1001\"} profiles = {\"*\"} user_memory = 1M user_pids = 2 max_sandboxes = 1 }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(d->decision.grant->name, "chosen");
	assert_int_equal(d->plan.user_limits.memory_bytes, 1u << 30);
	assert_int_equal(d->plan.user_limits.cpu_millis, 1500);
	assert_int_equal(d->plan.user_limits.pids, 7);
	assert_int_equal(d->plan.sandboxes_max, 5);
	assert_int_equal(d->plan.terminals_max, 12); /* one of five sandboxes */
	d->peer.groups_count = 0; /* who is not in the group is not bounded by what is said of it */
	d->peer.uid = 1002;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.user_limits.memory_bytes, (uint64_t)4 << 30);
	assert_int_equal(d->plan.user_limits.pids, 0);
	assert_int_equal(d->plan.sandboxes_max, 0);
	assert_int_equal(d->plan.terminals_max, PLAN_TERMINALS_MAX);
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} user_terminals = 10 }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.terminals_max, 1);
}

WITH_DECIDE(a_ceiling_bounds_and_gives_nothing)
{
	decide_policy(
		d, PROFILES
		"ceiling \"all\" { users = {\"*\"} user_memory = 2G max_sandboxes = 9 max_requests = 100 }\n"
		"ceiling \"some\" { groups = {\"27\"} user_memory = 3G max_sandboxes = 3 max_creations = 7 }\n"
		"ceiling \"others\" { users = {\"1001\"} max_sandboxes = 1 }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} user_memory = 4G max_creations = 20 }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_string_equal(d->decision.grant->name, "g");
	assert_int_equal(d->plan.user_limits.memory_bytes, (uint64_t)2 << 30);
	assert_int_equal(d->plan.sandboxes_max, 3);
	assert_int_equal(d->decision.bounds[POLICY_KEY_CREATIONS].most, 7);
	assert_int_equal(d->decision.bounds[POLICY_KEY_REQUESTS].most, 100);
	assert_string_equal(refuse_section(d->decision.bounds[POLICY_KEY_SANDBOXES].by), "ceiling");
	assert_string_equal(plan_text(&d->plan, d->plan.steps[PLAN_SLOT].target), "ceiling");
	assert_string_equal(plan_text(&d->plan, d->plan.steps[PLAN_SLOT].source), "some");
	decide_policy(d, PROFILES "ceiling \"c\" { users = {\"1000\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1000", "");
}

/* Of one sandbox: as a grant's, but that what the grant gives does not matter. */
WITH_DECIDE(what_is_more_than_a_ceiling_is_refused_with_its_line)
{
	struct message_create *create = &d->request.body.create;

	decide_policy(
		d,
		"profile \"default\" { memory = 3G }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} max_memory = 8G max_core = 1G linger_max = 2h }\n"
		"ceiling \"wide\" { users = {\"*\"} max_memory = 4G }\n"
		"ceiling \"narrow\" {\n  groups = {\"27\"}\n  max_memory = 2G\n  max_pids = 50\n  linger_max = 1h\n  max_core = none\n"
		"  max_command_timeout = 5m\n}\n");
	create->limits.memory_bytes = (uint64_t)3 << 30;
	refused(d, YETT_E_PERMISSION_DENIED, "memory of 3G is more than the 2G allowed",
	        "max_memory of ceiling 'narrow' (");
	(void)decide_authorize(d);
	assert_string_equal(d->error.rule, "max_memory of ceiling 'narrow'");
	assert_int_equal(d->error.line, 6);
	assert_string_equal(d->error.asked, "3G");
	assert_string_equal(d->error.allowed, "2G");
	assert_string_equal(d->error.mend,
	                    strstr(d->error.mend, "max_memory = 3G in ceiling 'narrow' ("));
	create->limits.memory_bytes = 0;
	create->limits.core_bytes = 4096;
	refused(d, YETT_E_PERMISSION_DENIED, "the ceiling 'narrow' allows no core files",
	        "max_core of ceiling 'narrow' (");
	create->limits.core_bytes = 0;
	create->life.linger = true;
	create->life.idle_ms = 3600001;
	refused(d, YETT_E_PERMISSION_DENIED, "is more than the 1h allowed",
	        "linger_max of ceiling 'narrow' (");
	create->life.idle_ms = 3600000;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.limits.memory_bytes,
	                 (uint64_t)2 << 30);       /* the profile's own is more, and is narrowed */
	assert_int_equal(d->plan.limits.pids, 50); /* it has none, and gets this one */
	assert_int_equal(d->plan.life.linger_ms, 3600000);
	assert_int_equal(d->plan.life.command_max_ms, 300000);
	assert_string_equal(plan_text(&d->plan, d->plan.command_section), "ceiling");
	assert_string_equal(plan_text(&d->plan, d->plan.command_name), "narrow");
	d->peer.groups_count = 0;
	create->limits.memory_bytes = (uint64_t)5 << 30;
	refused(d, YETT_E_PERMISSION_DENIED, "memory of 5G is more than the 4G allowed",
	        "max_memory of ceiling 'wide' (");
	create->limits.memory_bytes = (uint64_t)4 << 30;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.life.linger_ms, 7200000);
}

#define EXPIRES UINT64_C(1798675200) /* 2026-12-31 */

WITH_DECIDE(what_has_expired_is_as_if_it_were_not_written)
{
	decide_policy(
		d, PROFILES
		"grant \"guest\" { users = {\"1000\"} profiles = {\"*\"} expire = 2026-12-31 user_memory = 1G max_sandboxes = 2 }\n"
		"grant \"all\" { users = {\"*\"} profiles = {\"default\"} max_sandboxes = 5 expire = \"2027-12-31T18:00:00Z\" }\n");
	d->peer.now = EXPIRES - 1;
	decides(d, "big", "guest", "");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.sandboxes_max, 2);
	assert_int_equal(admit_check(d->policy, &d->peer, &d->plan, &d->error), 0);
	d->peer.now = EXPIRES;
	decides(d, "big", "", "all"); /* it comes before none any more */
	decides(d, "default", "all", "");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.sandboxes_max, 5); /* nor bounds anybody */
	assert_int_equal(d->plan.user_limits.memory_bytes, 0);
	d->request.body.create.profile = decide_text(d, "big");
	refused(d, YETT_E_PERMISSION_DENIED, "the grant 'guest' has expired",
	        "asked 2026-12-31T00:00:00Z, allowed 2026-12-31T00:00:00Z by expire of grant 'guest' (");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	d->peer.now = 1830276000;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_string_equal(
		d->error.message,
		"the grant 'guest' has expired"); /* the foremost of those that would do */
	d->peer.uid = 1001;
	d->request.body.create.profile = decide_text(d, "default");
	refused(d, YETT_E_PERMISSION_DENIED, "the grant 'all' has expired", "2027-12-31T18:00:00Z");
	d->request.body.create.profile = decide_text(d, "big"); /* which that one never gave */
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1001", "");
}

WITH_DECIDE(which_enrolled_keys_a_grant_is_for)
{
	static const struct {
		const char *keys;
		bool laptop, desktop;
	} cases[] = {
		{"", true, true}, /* not written: the grant does not ask for a key of its own */
		{"keys = {\"*\"}", true, true},
		{"keys = {\"laptop\"}", true, false},
		{"keys += {\"laptop\"}", true, false},
		{"keys = {}", false, false}, /* what is left when the last name was taken out */
	};
	char policy[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(policy, sizeof policy,
		               PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} %s }\n",
		               cases[i].keys);
		decide_policy(d, policy);
		strcpy(d->verified.principal, "laptop");
		assert_int_equal(decide_authorize(d),
		                 cases[i].laptop ? 0 : YETT_E_PERMISSION_DENIED);
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
		                 cases[i].laptop ? 0 : YETT_E_PERMISSION_DENIED);
		strcpy(d->verified.principal, "desktop");
		assert_int_equal(decide_authorize(d),
		                 cases[i].desktop ? 0 : YETT_E_PERMISSION_DENIED);
	}
}

WITH_DECIDE(who_has_no_grant_is_refused_with_the_rules)
{
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"1001\"} profiles = {\"default\"} }\n"
		"grant \"h\" { users = {\"1001\"} keys = {\"desktop\"} profiles = {\"big\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1000", "");
	d->peer.uid = 1001;
	assert_int_equal(decide_authorize(d), 0);
	d->request.body.create.profile = decide_text(d, "big");
	refused(d, YETT_E_PERMISSION_DENIED,
	        "no grant that counts for uid 1001 gives the profile 'big'",
	        "asked big, allowed default by profiles of grant 'g' (");
	d->request.body.create.profile = decide_text(d, "x\n\x1b[31m");
	refused(d, YETT_E_PERMISSION_DENIED, "the policy has no profile 'x\\x0a\\x1b[31m'", "");
}

WITH_DECIDE(a_profile_that_does_not_exist_is_refused)
{
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->request.body.create.profile = decide_text(d, "nothing");
	refused(d, YETT_E_PERMISSION_DENIED, "the policy has no profile 'nothing'", "");
}

WITH_DECIDE(a_key_of_the_user_counts_only_where_the_grant_says_so)
{
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->verified.key_source = KEY_OF_USER;
	d->verified.principal[0] = '\0';
	assert_false(authorize_user_keys(d->policy, &d->peer));
	assert_int_equal(decide_authorize(d), YETT_E_BAD_SIGNATURE);
	assert_int_equal(d->error.reason, YETT_R_UNKNOWN_KEY);
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"1001\"} user_keys = true profiles = {\"*\"} }\n");
	assert_false(authorize_user_keys(d->policy, &d->peer));
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"1000\"} user_keys = true profiles = {\"*\"} }\n");
	assert_true(authorize_user_keys(d->policy, &d->peer));
	assert_int_equal(decide_authorize(d), 0);
	d->verified.key_source = KEY_ENROLLED;
	strcpy(d->verified.principal, "phone");
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED,
	        "no grant that counts for uid 1000 is for the key 'phone'",
	        "allowed laptop by keys of grant 'g' (");
}

WITH_DECIDE(a_request_beyond_its_ceiling_is_refused_with_rule_asked_and_allowed)
{
	struct message_limits *limits = &d->request.body.create.limits;

	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"}\n max_memory = 2G\n max_cpus = 1.5\n max_files = 64 }\n");
	limits->memory_bytes = 2ull << 30;
	limits->cpu_millis = 1500;
	limits->pids = 100;
	limits->files = 64;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.limits.memory_bytes, 2ull << 30);
	limits->memory_bytes++;
	refused(d, YETT_E_PERMISSION_DENIED, "memory of 2147483649 is more than the 2G allowed",
	        "asked 2147483649, allowed 2G by max_memory of grant 'g' (");
	limits->memory_bytes = 3ull << 30;
	refused(d, YETT_E_PERMISSION_DENIED, "memory of 3G is more than the 2G allowed", "/c:4)");
	limits->memory_bytes = 0;
	limits->cpu_millis = 2000;
	refused(d, YETT_E_PERMISSION_DENIED, "cpus of 2 is more than the 1.5 allowed", "/c:5)");
	limits->cpu_millis = 0;
	limits->pids = 101;
	refused(d, YETT_E_PERMISSION_DENIED, "pids of 101 is more than the 100 allowed",
	        "by pids of profile 'default' (");
	limits->pids = 0;
	limits->files = UINT64_MAX;
	refused(d, YETT_E_PERMISSION_DENIED, "files of 18446744073709551615", "allowed 64");
}

static bool may_manage(const struct decide *d, uid_t uid, const char *principal,
                       const char *profile)
{
	return authorize_manage(d->policy, &d->verified, uid, principal, profile);
}

WITH_DECIDE(who_may_manage_is_who_could_have_made_it)
{
	decide_policy(
		d, PROFILES
		"grant \"a\" { users = {\"1000\", \"0\"} user_keys = true profiles = {\"default\"} confined_clients = true }\n"
		"grant \"b\" { users = {\"1000\"} user_keys = true profiles = {\"big\"} }\n");
	assert_true(may_manage(d, 1000, "laptop", "default"));
	assert_true(may_manage(d, 1000, "laptop", "big"));
	assert_false(may_manage(d, 1000, "laptop", "gone")); /* no grant gives it any more */
	assert_false(may_manage(d, 1000, "desktop", "default"));
	assert_false(may_manage(d, 1000, "", "default"));
	assert_false(may_manage(d, 1001, "laptop", "default"));
	assert_false(may_manage(d, 0, "laptop", "default"));
	d->verified.key_source = KEY_OF_USER;
	assert_true(may_manage(d, 1000, "", "default"));
	assert_false(may_manage(d, 1000, "laptop",
	                        "default")); /* what was found before does not count */
	assert_false(may_manage(d, 1001, "", "default"));
	d->peer.confined = true;
	assert_true(may_manage(d, 1000, "", "default"));
	assert_false(may_manage(d, 1000, "", "big")); /* it was kept from that one */
	d->peer.uid = 0;
	assert_false(may_manage(d, 1000, "", "default")); /* root of a container */
	assert_false(admit_is_administrator(&d->peer));
	d->peer.confined = false;
	assert_true(may_manage(d, 1000, "laptop", "big"));
	assert_true(may_manage(d, 1001, "", "gone"));
}

WITH_DECIDE(who_has_no_grant_manages_nothing)
{
	decide_policy(
		d, PROFILES
		"grant \"a\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"big\"} }\n"
		"grant \"b\" { users = {\"1001\"} user_keys = true confined_clients = true profiles = {\"default\"} }\n");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	strcpy(d->verified.principal, "desktop");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	strcpy(d->verified.principal, "laptop");
	d->peer.confined = true;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_SECURITY_VIOLATION);
	d->peer.uid = 0; /* root of a container is not the administrator */
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_SECURITY_VIOLATION);
	d->peer.uid = 1001;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	d->verified.key_source = KEY_OF_USER;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	d->peer.uid = 1000;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_BAD_SIGNATURE);
	d->peer.confined = false;
	d->verified.key_source = KEY_ENROLLED;
	d->peer.uid = d->policy->ids_first + 65536 + 1000; /* from inside a sandbox */
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
	                 YETT_E_SECURITY_VIOLATION);
}

WITH_DECIDE(only_as_long_as_the_grant_says_may_a_sandbox_linger)
{
	struct message_life *life = &d->request.body.create.life;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	life->idle_ms = 100 * 3600000ull;
	life->wall_ms = 7;
	assert_int_equal(decide_authorize(d), 0); /* its connection bounds it */
	assert_int_equal(d->decision.life.wall_ms, 7);
	assert_int_equal(d->decision.life.linger_ms, 0);
	life->linger = true;
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow lingering", "grant 'g' (");
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} \n linger_max = 2h }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "an idle timeout of 100h is more than the 2h allowed",
	        "linger_max of grant 'g' (");
	life->idle_ms = 2 * 3600000;
	assert_int_equal(decide_authorize(d), 0);
	assert_true(d->decision.life.linger);
	assert_int_equal(d->decision.life.linger_ms, 7200000);
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = unlimited }\n");
	life->idle_ms = 0;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.life.linger_ms, 0);
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = 0s }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow lingering", "grant 'g' (");
	life->linger = false;
	assert_int_equal(decide_authorize(d), 0);
	life->cleanup_ms = 1; /* then its supervisor would outlast it, too */
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow a cleanup delay", "grant 'g' (");
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = 1h }\n");
	assert_int_equal(decide_authorize(d), 0);
	life->cleanup_ms = 3600001;
	refused(d, YETT_E_PERMISSION_DENIED, "a cleanup delay of", "linger_max of grant 'g' (");
}

#define TIMED(profile_keys, grant_keys)                                                             \
	"profile \"default\" {\n" profile_keys                                                      \
	"\n}\ngrant \"g\" {\n users = {\"*\"}\n user_keys = true\n profiles = {\"*\"}\n" grant_keys \
	"\n}\n"

WITH_DECIDE(the_time_of_commands_is_the_lesser_of_profile_and_grant)
{
	static const struct {
		const char *policy;
		uint64_t usual_ms, most_ms;
		bool by_grant;
	} cases[] = {
		{TIMED("", ""), 0, 0, false},
		{TIMED("command_timeout = 1m", ""), 60000, 0, false},
		{TIMED("max_command_timeout = 1m", ""), 60000, 60000, false},
		{TIMED("command_timeout = 1s\n max_command_timeout = 1m",
	               "max_command_timeout = 2m"),
	         1000, 60000, false},
		{TIMED("command_timeout = 1m\n max_command_timeout = 1h",
	               "max_command_timeout = 2s"),
	         2000, 2000, true},
		{TIMED("max_command_timeout = unlimited", "max_command_timeout = 2s"), 2000, 2000,
	         true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		decide_policy(d, cases[i].policy);
		assert_int_equal(decide_authorize(d), 0);
		assert_int_equal(d->decision.life.command_ms, cases[i].usual_ms);
		assert_int_equal(d->decision.life.command_max_ms, cases[i].most_ms);
		assert_int_equal(d->decision.bounds[POLICY_KEY_COMMAND].by != NULL,
		                 cases[i].by_grant);
	}
}

WITH_DECIDE(a_limit_not_asked_for_is_the_lesser_of_profile_and_ceiling)
{
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} max_memory = 512M max_pids = 200 max_cpus = 3 }\n");
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.limits.memory_bytes, 512 << 20);
	assert_int_equal(d->decision.limits.pids, 100);
	assert_int_equal(d->decision.limits.cpu_millis, 3000);
	assert_int_equal(d->decision.limits.files, 0);
	assert_int_equal(d->decision.limits.cpu_weight, 100);
	d->request.body.create.limits.files = 1u << 20;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.limits.files, 1u << 20);
}

WITH_DECIDE(what_the_helper_cannot_give_is_refused_when_asked)
{
	decide_policy(d, "profile \"default\" { files = 500 stack = 8M cpu_time = unlimited }\n"
	                 "grant \"g\" { users = {\"*\"} profiles = {\"*\"} max_files = 1000 }\n");
	d->given = (struct plan_limits){.files = 300, .stack_bytes = 1 << 20, .cpu_seconds = 9};
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.limits.files, 300);
	assert_int_equal(d->decision.limits.stack_bytes, 1 << 20);
	assert_int_equal(d->decision.limits.cpu_seconds, 0); /* what the helper has */
	d->request.body.create.limits.files = 300;
	assert_int_equal(decide_authorize(d), 0);
	d->request.body.create.limits.files = 301;
	assert_int_equal(decide_authorize(d), YETT_E_RESOURCE_LIMIT);
	assert_string_equal(d->error.message,
	                    "files of 301 is more than the helper's own limit of 300");
	d->given = (struct plan_limits){0};
	assert_int_equal(decide_authorize(d), 0);
}

/* One profile and one grant of it, with that in them. */
static void make_policy(struct decide *d, const char *profile, const char *grant)
{
	char text[512];

	(void)snprintf(
		text, sizeof text,
		"profile \"default\" { %s }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} %s }\n",
		profile, grant);
	decide_policy(d, text);
}

/* Like the other limits, but that none is what stands where nothing is written. */
WITH_DECIDE(core_files_are_given_by_who_says_so)
{
	static const struct {
		const char *profile, *grant;
		uint64_t asked, given; /* 0: refused */
	} cases[] = {
		{"", "", 0, PLAN_CORE_NONE},
		{"", "", 1 << 20, 0},
		{"", "max_core = 1M", 0, PLAN_CORE_NONE},
		{"", "max_core = 1M", 1 << 20, 1 << 20},
		{"", "max_core = 1M", (1 << 20) + 1, 0},
		{"core = 2M", "", 0, 2 << 20},
		{"core = 2M", "", 1 << 20, 1 << 20},
		{"core = 2M", "", 3 << 20, 0},
		{"core = 2M", "", PLAN_CORE_NONE, PLAN_CORE_NONE},
		{"core = 2M", "max_core = 1M", 0, 1 << 20},
		{"core = 2M", "max_core = none", 0, PLAN_CORE_NONE},
		{"core = 2M", "max_core = none", 1 << 20, 0},
		{"core = unlimited", "max_core = none", 1 << 20, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_policy(d, cases[i].profile, cases[i].grant);
		d->request.body.create.limits.core_bytes = cases[i].asked;
		if (cases[i].given == 0) {
			refused(d, YETT_E_PERMISSION_DENIED, "core", "core of ");
			continue;
		}
		assert_int_equal(decide_authorize(d), 0);
		assert_int_equal(d->decision.limits.core_bytes, cases[i].given);
	}
}

WITH_DECIDE(what_a_profile_gives_must_be_named_by_the_grant)
{
	static const struct {
		const char *profile, *grant, *message;
	} cases[] = {
		{"capabilities = {\"chown\", \"kill\"}", "capabilities = {\"chown\"}",
	         "the capability kill"},
		{"devices = {\"/dev/kvm\"}", "", "the device /dev/kvm"},
		{"identity = root", "identity_caller = true", "the identity root"},
		{"identity = caller", "identity_root = true", "the identity caller"},
		{"nested_userns = true", "identity_root = true", "nested_userns"},
		{"nested_userns = true", "nested_userns = true", NULL},
		{"perf_events = true", "nested_userns = true", "perf_events"},
		{"perf_events = true", "perf_events = true", NULL},
		{"capabilities = {\"chown\"} devices = {\"/dev/kvm\"} identity = root",
	         "capabilities = {\"kill\", \"chown\"} devices = {\"/dev/kvm\"} identity_root = true",
	         NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_policy(d, cases[i].profile, cases[i].grant);
		if (cases[i].message)
			refused(d, YETT_E_PERMISSION_DENIED, cases[i].message, "of grant 'g' (");
		else
			assert_int_equal(decide_authorize(d), 0);
	}
}

/* The request asks for the network, and has the rules; "!" before one denies. */
static void ask_network(struct decide *d, enum network_asked network, const char *rules)
{
	char words[256];
	struct net_rule rule;

	decide_reset(d);
	d->request.body.create.network = network;
	(void)snprintf(words, sizeof words, "%s", rules);
	for (char *rest = words, *word; (word = strsep(&rest, " "));) {
		d->request.body.create.ask |= strcmp(word, "?") == 0;
		d->request.body.create.allow_private |= strcmp(word, "private") == 0;
		if (strcmp(word, "?") == 0 || strcmp(word, "private") == 0)
			continue;
		if (*word && net_rule_parse(word + (*word == '!'), &rule, &d->error) != 0)
			fail_msg("%s", d->error.message);
		if (*word)
			decide_rule(d, &rule, *word == '!');
	}
}

WITH_DECIDE(a_network_is_what_was_asked_for_within_what_the_grant_allows)
{
	static const struct {
		const char *profile, *grant;
		enum network_asked asked;
		const char *rules;
		enum plan_network network;
		const char *message, *detail; /* NULL: it is given */
	} cases[] = {
		{"", "", 0, "", PLAN_NETWORK_NONE, NULL, NULL},
		{"", "network = open", 0, "", PLAN_NETWORK_NONE, NULL, NULL},
		{"network = limited", "network = limited", 0, "", PLAN_NETWORK_LIMITED, NULL, NULL},
		{"network = limited", "network = open", NETWORK_OPEN, "", PLAN_NETWORK_OPEN, NULL,
	         NULL},
		{"network = open", "network = open", NETWORK_NONE, "", PLAN_NETWORK_NONE, NULL,
	         NULL},
		{"network = open", "", NETWORK_NONE, "", PLAN_NETWORK_NONE, NULL, NULL},
		{"", "network = limited allow = {\"*\"}", 0, "pypi.org:443", PLAN_NETWORK_LIMITED,
	         NULL, NULL},
		{"network = open", "network = open allow = {\"*\"}", 0, "pypi.org:443",
	         PLAN_NETWORK_OPEN, NULL, NULL},
		{"", "network = open", NETWORK_NONE, "!pypi.org", PLAN_NETWORK_NONE, NULL, NULL},
		{"", "network = open", NETWORK_OPEN, "!pypi.org", PLAN_NETWORK_OPEN, NULL, NULL},
		{"network = open", "network = open", 0, "!pypi.org !*:25 !127.0.0.1",
	         PLAN_NETWORK_OPEN, NULL, NULL},
		{"", "network = limited allow = {\"*:443\", \"10.0.0.0/8:5432\"}", 0,
	         "a.org:443 b.org:443 10.1.2.3:5432 !c.org", PLAN_NETWORK_LIMITED, NULL, NULL},
		/* more than the grant gives, by the request or by the profile */
		{"", "", NETWORK_LIMITED, "", 0,
	         "does not allow the network limited to the profile 'default'",
	         "asked limited, allowed none by network of grant 'g' ("},
		{"", "network = limited", NETWORK_OPEN, "", 0, "the network open",
	         "asked open, allowed limited by network of grant 'g' ("},
		{"network = open", "network = limited", 0, "", 0, "the network open",
	         "asked open, allowed limited by network of grant 'g' ("},
		{"", "", 0, "pypi.org:443", 0, "the network limited",
	         "asked limited, allowed none by network of grant 'g' ("},
		/* a rule beyond those of the grant */
		{"", "network = open", 0, "pypi.org:443", 0,
	         "does not let requests allow 'pypi.org:443'",
	         "asked pypi.org:443, allowed nothing by allow of grant 'g' ("},
		{"", "network = open allow = {\"*:443\"}", 0, "a.org:443 pypi.org:80", 0,
	         "allow 'pypi.org:80'", "asked pypi.org:80, allowed *:443 by allow of grant 'g' ("},
		{"", "network = open allow = {\"*\"}", 0, "10.1.2.3:22", 0, "allow '10.1.2.3:22'",
	         "allowed * by allow"},
		{"", "network = open allow = {\"*.org\", \"10.0.0.0/8:1-100\"}", NETWORK_OPEN,
	         "10.1.2.3:100-101", 0, "allow '10.1.2.3:100-101'",
	         "allowed *.org, 10.0.0.0/8:1-100 by allow"},
		{"allow = {\"pypi.org\"}", "network = open allow = {\"a.org\"}", 0, "pypi.org", 0,
	         "allow 'pypi.org'", "by allow of grant 'g' ("},
		/* a name that is bound to a network: what has the name, and what has the network,
	           both together or one that has it all */
		{"", "network = open allow = {\"*.org\", \"10.0.0.0/8\"}", 0, "a.org@10.1.0.0/16",
	         PLAN_NETWORK_LIMITED, NULL, NULL},
		{"", "network = open allow = {\"a.org@10.0.0.0/8\"}", 0, "a.org@10.1.0.0/16",
	         PLAN_NETWORK_LIMITED, NULL, NULL},
		{"", "network = open allow = {\"*.org\"}", 0, "a.org@10.1.0.0/16", 0,
	         "allow 'a.org@10.1.0.0/16'", "allowed *.org by allow"},
		{"", "network = open allow = {\"10.0.0.0/8\"}", 0, "a.org@10.1.0.0/16", 0,
	         "allow 'a.org@10.1.0.0/16'", "allowed 10.0.0.0/8"},
		{"", "network = open allow = {\"a.org@10.0.0.0/8\"}", 0, "a.org", 0,
	         "allow 'a.org'", "allowed a.org@10.0.0.0/8"},
		/* private addresses by whatever name */
		{"", "network = open allow = {\"*\"} allow_private = true", 0, "private a.org",
	         PLAN_NETWORK_LIMITED, NULL, NULL},
		{"network = open allow_private = true", "network = open", 0, "private",
	         PLAN_NETWORK_OPEN, NULL, NULL},
		{"", "network = open allow = {\"*\"}", 0, "private a.org", 0,
	         "does not let names resolve to private addresses",
	         "asked true, allowed false by allow_private of grant 'g' ("},
		/* asking */
		{"", "network = limited allow = {\"*\"}", 0, "?", PLAN_NETWORK_LIMITED, NULL, NULL},
		{"network = open", "network = open allow = {\"*\"}", 0, "? a.org",
	         PLAN_NETWORK_LIMITED, NULL, NULL},
		{"", "network = limited", 0, "?", 0, "asking about connections needs",
	         "asked ask, allowed nothing by allow of grant 'g' ("},
		{"", "network = open allow = {\"*\"}", NETWORK_OPEN, "?", 0,
	         "in the network limited, and not in open", ""},
		{"", "network = open allow = {\"*\"}", NETWORK_NONE, "?", 0,
	         "in the network limited, and not in none", ""},
		/* what makes no sense */
		{"", "network = open allow = {\"*\"}", NETWORK_NONE, "pypi.org", 0,
	         "but asks for the network none", ""},
		{"", "network = open", 0, "!pypi.org", 0,
	         "the request has deny rules, but there is no network at all", ""},
		{"", "network = open allow = {\"*\"}", 0, "169.254.169.254:80", 0,
	         "'169.254.169.254:80' allows nothing", ""},
		/* that of the host, which goes by nothing */
		{"", "network = host", NETWORK_HOST, "", PLAN_NETWORK_HOST, NULL, NULL},
		{"network = host", "network = host", 0, "", PLAN_NETWORK_HOST, NULL, NULL},
		{"network = host", "network = host", NETWORK_OPEN, "!a.org", PLAN_NETWORK_OPEN,
	         NULL, NULL},
		{"network = host", "network = host allow = {\"*\"}", NETWORK_LIMITED, "a.org",
	         PLAN_NETWORK_LIMITED, NULL, NULL},
		{"network = limited allow = {\"a.org\"}", "network = host", NETWORK_HOST, "",
	         PLAN_NETWORK_HOST, NULL, NULL},
		{"", "network = open", NETWORK_HOST, "", 0, "the network host",
	         "asked host, allowed open by network of grant 'g' ("},
		{"network = host", "network = open", 0, "", 0, "the network host",
	         "asked host, allowed open by network of grant 'g' ("},
		{"", "network = host allow = {\"*\"}", NETWORK_HOST, "a.org", 0,
	         "the network host has no rules", ""},
		{"network = host", "network = host", 0, "!a.org", 0,
	         "the network host has no rules", ""},
		{"", "network = host allow = {\"*\"}", NETWORK_HOST, "?", 0,
	         "in the network limited, and not in host", ""},
		{"", "network = host", NETWORK_HOST, "private", 0,
	         "the network host needs no --allow-private", ""},
		{"deny = {\"a.org\"}", "network = host", NETWORK_HOST, "", 0,
	         "'deny' of the profile 'default' would have no meaning",
	         "asked host, allowed open by deny of profile 'default' ("},
		{"bandwidth_in = 1M", "network = host", NETWORK_HOST, "", 0,
	         "'bandwidth_in' of the profile 'default' would have",
	         "by bandwidth_in of profile 'default' ("},
		{"bandwidth_out = 1M", "network = host", NETWORK_HOST, "", 0, "'bandwidth_out'",
	         "asked host, allowed open"},
		{"connections = 255", "network = host", NETWORK_HOST, "", 0, "'connections'",
	         "asked host, allowed open"},
		{"nested_userns = true", "network = host nested_userns = true", NETWORK_HOST, "", 0,
	         "'nested_userns'", "asked host, allowed open"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_policy(d, cases[i].profile, cases[i].grant);
		ask_network(d, cases[i].asked, cases[i].rules);
		if (cases[i].message) {
			int r = decide_authorize(d);

			if (r == 0 || !strstr(d->error.message, cases[i].message) ||
			    !strstr(d->error.detail, cases[i].detail))
				fail_msg("%zu: %d: %s (%s)", i, r, d->error.message,
				         d->error.detail);
			continue;
		}
		if (decide_authorize(d) != 0)
			fail_msg("%zu: %s", i, d->error.message);
		assert_int_equal(d->decision.network, cases[i].network);
	}
}

/* It would have the helper's network, from which it may have been kept. */
WITH_DECIDE(no_confined_client_gets_the_network_of_the_host)
{
	make_policy(d, "", "network = host confined_clients = true");
	ask_network(d, NETWORK_OPEN, "");
	d->peer.confined = true;
	assert_int_equal(decide_authorize(d), 0);
	ask_network(d, NETWORK_HOST, "");
	d->peer.confined = true;
	refused(d, YETT_E_SECURITY_VIOLATION, "the client is confined, and the network host",
	        "confined_clients does not change that");
	d->peer.confined = false;
	assert_int_equal(decide_authorize(d), 0);
}

/* That its profile goes by a proxy denies nothing. */
WITH_DECIDE(a_proxy_keeps_nobody_from_the_network_of_the_host)
{
	decide_policy(
		d,
		"helper { network_proxy = \"http://proxy.example:3128\" no_proxy = {\"a.org\"} }\nprofile \"default\" { }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = host }\n");
	ask_network(d, NETWORK_HOST, "");
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.network, PLAN_NETWORK_HOST);
}

WITH_DECIDE(a_refusal_of_a_rule_says_what_to_add_to_the_grant)
{
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} network = open\n\n  allow = {\"a.org\",\n"
		"\"b.org\"} }\n");
	ask_network(d, NETWORK_OF_PROFILE, "*.b.org:1-2");
	assert_int_equal(decide_authorize(d), YETT_E_PERMISSION_DENIED);
	assert_string_equal(d->error.rule, "allow of grant 'g'");
	assert_string_equal(d->error.asked, "*.b.org:1-2");
	assert_string_equal(d->error.allowed, "a.org, b.org");
	assert_int_equal(d->error.line, 4);
	assert_non_null(strstr(d->error.mend, "allow += {\"*.b.org:1-2\"} in grant 'g' ("));
}

/* The same rules as at its beginning hold for those that a sandbox gets later. */
WITH_DECIDE(later_rules_go_by_the_policy_as_it_is_then)
{
	struct net_rule rule;

	make_policy(d, "", "network = limited allow = {\"*.org\"}");
	assert_int_equal(net_rule_parse("a.org:443", &rule, NULL), 0);
	ask_network(d, NETWORK_OF_PROFILE, "a.org:443");
	d->request.kind = MESSAGE_MANAGE;
	{
		struct message_rule from = d->request.body.create.rules[0];

		memset(&d->request.body, 0, sizeof d->request.body);
		d->request.body.manage = (struct message_manage){
			.action = MANAGE_NETWORK, .rules_count = 1, .rules = {from}, .ask = true};
	}
	assert_int_equal(authorize_rules(d->policy, &d->verified, "default", PLAN_NETWORK_LIMITED,
	                                 &d->decision, &d->error),
	                 0);
	assert_int_equal(d->decision.rules_count, 1);
	assert_ptr_equal(d->decision.rules, d->request.body.manage.rules);
	assert_true(d->decision.asks);
	assert_int_equal(authorize_rules(d->policy, &d->verified, "default", PLAN_NETWORK_OPEN,
	                                 &d->decision, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_int_equal(authorize_rules(d->policy, &d->verified, "gone", PLAN_NETWORK_LIMITED,
	                                 &d->decision, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_non_null(strstr(d->error.message, "has no profile 'gone' any more"));
	make_policy(d, "", "network = limited allow = {\"b.org\"}");
	assert_int_equal(authorize_rules(d->policy, &d->verified, "default", PLAN_NETWORK_LIMITED,
	                                 &d->decision, &d->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_non_null(strstr(d->error.message, "does not let requests allow 'a.org:443'"));
}

/* What a captured decoder could say. */
WITH_DECIDE(what_is_no_rule_is_refused_by_its_place)
{
	struct net_rule right;

	assert_int_equal(net_rule_parse("a.org:1-2", &right, NULL), 0);
	make_policy(d, "", "network = open allow = {\"*\"}");
	for (unsigned i = 0; i < 9; i++) {
		struct message_rule *rule = &d->request.body.create.rules[1];

		decide_reset(d);
		decide_rule(d, &right, false);
		decide_rule(d, &right, true);
		assert_int_equal(decide_authorize(d), 0);
		if (i == 0)
			rule->kind = NET_RULE_ADDRESS + 1;
		else if (i == 1)
			rule->prefix = 128;
		else if (i == 2)
			rule->port_first = 3;
		else if (i == 3)
			rule->port_first = 0;
		else if (i == 4)
			rule->address[0] = 1;
		else if (i == 5)
			rule->kind = NET_RULE_ANY; /* with a name */
		else if (i == 6)
			rule->name = decide_text(d, "A.org");
		else if (i == 7)
			rule->name = decide_text(d, "key.inject.internal");
		else
			rule->name = (struct text){.offset = MESSAGE_ARENA_MAX, .length = 5};
		refused(d, YETT_E_INVALID_REQUEST,
		        i == 7 ? "rules[1] is no rule for a network: its name is reserved for credentials that Yett will add by itself"
		               : "rules[1] is no rule for a network",
		        "");
	}
}

WITH_DECIDE(a_confined_client_needs_a_grant_that_says_so)
{
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->peer.confined = true;
	refused(d, YETT_E_SECURITY_VIOLATION, "the client is confined",
	        "confined_clients of grant 'g' (");
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} confined_clients = true }\n");
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = d->policy->ids_first + 70000;
	refused(d, YETT_E_SECURITY_VIOLATION, "a sandbox cannot ask for a sandbox", "");
}

/* Whatever the grant says, and whatever else it looks like. */
WITH_DECIDE(no_id_of_a_sandbox_asks_for_one_and_those_beside_them_may)
{
	uid_t first, end;

	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} confined_clients = true }\n");
	first = d->policy->ids_first;
	end = first + d->policy->ids_ranges * 65536;
	for (int i = 0; i < 3; i++) {
		d->peer.uid = i == 0 ? first : i == 1 ? first + 65536 : end - 1;
		refused(d, YETT_E_SECURITY_VIOLATION, "a sandbox cannot ask for a sandbox", "");
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error),
		                 YETT_E_SECURITY_VIOLATION);
	}
	d->peer.uid = first - 1;
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = end;
	assert_int_equal(decide_authorize(d), 0);
}

WITH_DECIDE(a_confined_client_manages_by_any_grant_that_says_so)
{
	static const char *const grants[] = {
		"grant \"a\" { users = {\"1000\"} profiles = {\"default\"} }\n"
		"grant \"b\" { users = {\"1000\"} profiles = {\"big\"} confined_clients = true }\n",
		"grant \"a\" { users = {\"1000\"} profiles = {\"default\"} confined_clients = true }\n"
		"grant \"b\" { users = {\"1000\"} profiles = {\"big\"} }\n",
	};
	char text[512];

	d->peer.confined = true;
	for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
		(void)snprintf(text, sizeof text, PROFILES "%s", grants[i]);
		decide_policy(d, text);
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	}
}

WITH_DECIDE(shares_are_refused_where_profile_or_grant_has_none)
{
	decide_policy(
		d,
		"profile \"default\" { shares = false }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} share_rw = {\"*\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_tmpfs(d, "/scratch", 0);
	refused(d, YETT_E_PERMISSION_DENIED, "allows no shares and tmpfs",
	        "shares of profile 'default' (");
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, "/work");
	refused(d, YETT_E_PERMISSION_DENIED, "allows no shares and tmpfs", "");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the share /work to",
	        "share_ro of grant 'g' (");
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"/usr\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_share(d, 1, SHARE_RW, "/out");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the writable share /out to",
	        "share_rw of grant 'g' (");
	decide_policy(d, PROFILES
	              "grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_rw = {\"/usr\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"*\"} share_rw = {\"*\"} }\n");
	decide_share(d, 2, SHARE_SOCKET, "/run/s");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the socket /run/s to",
	        "sockets of grant 'g' (");
	decide_reset(d);
	decide_share(d, 0, SHARE_SOCKET, "/run/s");
	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} sockets = {\"/tmp/.X11-unix/X0\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_share(d, 1, SHARE_RO, "/work");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the share /work to",
	        "share_ro of grant 'g' (");
}

/* What is asked to be relayed, to sandboxes of a profile. */
static int relay(struct decide *d, const char *profile, const char *path, const char *address)
{
	struct message_relay *asked = &message_begin(&d->request, MESSAGE_RELAY)->relay;
	struct net_address parsed = {0};

	assert_int_equal(message_add_text(&d->request, profile, &asked->profile), 0);
	assert_int_equal(message_add_text(&d->request, path, &asked->socket), 0);
	if (address)
		assert_int_equal(net_address_parse(address, &parsed), 0);
	memcpy(asked->address, parsed.bytes, sizeof asked->address);
	d->error = (struct yett_error){0};
	return authorize_relay(d->policy, &d->verified, &d->error);
}

WITH_DECIDE(a_relay_is_what_the_grant_has)
{
	const struct {
		const char *path, *address;
		const char *message, *mend; /* NULL: it is allowed */
	} cases[] = {
		{"/run/s", NULL, NULL, NULL},
		{"/run/user/1000/a", NULL, NULL, NULL},
		{"/run/user/1002/a", NULL, "does not allow the socket /run/user/1002/a to",
	         "sockets += {\"/run/user/1002/a\"} in grant 'g'"},
		{"/run/user/1000/ab", NULL, "does not allow the socket", "sockets += "},
		{"/run/user/1000/", NULL, "does not allow the socket", "sockets += "},
		{"/run/s/t", NULL, "does not allow the socket", "sockets += "},
		{"/run", NULL, "does not allow the socket", "sockets += "},
		{"run/s", NULL, "the path of a socket must be absolute", ""},
		{"/run/docker.sock", NULL,
	         "the socket (access to it gives root on the host) /run/docker.sock",
	         "sockets += "},
		{"/run/containerd/containerd.sock", NULL, "root on the host", "sockets += "},
		{"/run/user/1000/bus", NULL, "all rights of the user", "sockets += "},
		{"/run/user/1000/podman/podman.sock", NULL, "all rights of the user",
	         "sockets += "},
		{"/run/dbus/system_bus_socket", NULL, "every service of the host", "sockets += "},
		{"/run/systemd/private", NULL, "the user's rights at systemd", "sockets += "},
		{"/run/libvirt/libvirt-sock", NULL, "root on the host", "sockets += "},
		{"", "127.0.0.1", NULL, NULL},
		{"", "127.9.9.9", NULL, NULL},
		{"", "::1", NULL, NULL},
		{"", "192.0.2.1", NULL, NULL},
		{"", "0.0.0.0", "does not allow ports to be published at 0.0.0.0",
	         "publish += {\"0.0.0.0\"} in grant 'g'"},
		{"", "::", "does not allow ports to be published at ::", "publish += {\"::\"}"},
		{"", "192.0.2.2", "allow ports to be published at 192.0.2.2",
	         "publish += {\"192.0.2.2\"}"},
	};

	decide_policy(
		d, PROFILES
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} sockets = {\"/run/s\", \"/run/user/%u/a\"} "
		"publish = {\"192.0.2.1\"} }\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = relay(d, "default", cases[i].path, cases[i].address);

		if ((r != 0) != (cases[i].message != NULL) ||
		    (r && (!strstr(d->error.message, cases[i].message) ||
		           !strstr(d->error.mend, cases[i].mend))))
			fail_msg("%s%s: %d %s; %s", cases[i].path,
			         cases[i].address ? cases[i].address : "", r, d->error.message,
			         d->error.mend);
	}
	assert_int_equal(relay(d, "none", "/run/s", NULL), YETT_E_PERMISSION_DENIED);
}

WITH_DECIDE(a_relay_needs_a_grant_and_a_profile_that_has_shares)
{
	decide_policy(
		d, "profile \"default\" { shares = false }\n"
		   "grant \"g\" { users = {\"*\"} profiles = {\"*\"} sockets = {\"/run/s\"} }\n");
	assert_int_equal(relay(d, "default", "/run/s", NULL), YETT_E_PERMISSION_DENIED);
	assert_non_null(strstr(d->error.message, "allows no shares"));
	assert_int_equal(relay(d, "default", "", "127.0.0.1"), 0);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"1\"} profiles = {\"*\"} }\n");
	assert_int_equal(relay(d, "default", "", "127.0.0.1"), YETT_E_PERMISSION_DENIED);
	d->request.kind = MESSAGE_CREATE;
	assert_int_equal(authorize_relay(d->policy, &d->verified, &d->error),
	                 YETT_E_INVALID_REQUEST);
}

WITH_DECIDE(a_message_that_is_no_request_is_refused)
{
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->request.body.create.profile = (struct text){.offset = 70000, .length = 5};
	refused(d, YETT_E_INVALID_REQUEST, "no request", "");
	decide_reset(d);
	d->request.kind = MESSAGE_EXEC;
	refused(d, YETT_E_INVALID_REQUEST, "no request", "");
}

TEST(each_key_has_a_name)
{
	for (enum policy_key key = 0; key < POLICY_KEYS; key++)
		assert_non_null(refuse_key_name(key));
}

TEST_MAIN(NULL, NULL)
