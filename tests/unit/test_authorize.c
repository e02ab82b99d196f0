/* What of a request the policy allows, and how a refusal reads. */
#include "helper/plan/admit.h"
#include "tests/unit/decide.h"

#define PROFILES "profile \"default\" { memory = 1G pids = 100 }\nprofile \"big\" { memory = unlimited }\n"

static void refused(struct decide *d, enum yett_code code, const char *message, const char *detail)
{
	int r = decide_authorize(d);

	if (r != (int)code || d->error.code != code || !strstr(d->error.message, message) || !strstr(d->error.detail, detail))
		fail_msg("%d: %s (%s)", r, d->error.message, d->error.detail);
	memset(&d->error, 0, sizeof d->error);
}

/* Whose grant decides for alice, in group 100, with the key "laptop"; "": none, and `nearest` is the one to change. */
static void decides(struct decide *d, const char *profile, const char *grant, const char *nearest)
{
	struct choice choice = authorize_choose(d->policy, &d->verified, profile);

	assert_string_equal(choice.grant ? choice.grant->name : "", grant);
	assert_string_equal(choice.nearest ? choice.nearest->name : "", *grant ? grant : nearest);
}

static void the_grant_that_names_the_user_most_closely_decides_wherever_it_stands(void **state)
{
	static const char *const grants[] = {
		"grant \"everyone\" { users = {\"*\"} user_keys = true profiles = {\"*\"} }\n",
		"grant \"everyones-key\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
		"grant \"group\" { groups = {\"100\"} profiles = {\"*\"} }\n",
		"grant \"groups-key\" { groups = {\"100\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
		"grant \"user\" { users = {\"1000\"} profiles = {\"*\"} }\n",
		"grant \"users-key\" { users = {\"1000\", \"*\"} groups = {\"100\"} keys = {\"laptop\"} profiles = {\"*\"} }\n",
	};
	static const char *const names[] = {"everyone", "everyones-key", "group", "groups-key", "user", "users-key"};
	struct decide *d = *state;
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
	decide_policy(d, PROFILES "grant \"a\" { users = {\"*\"} user_keys = true profiles = {\"big\"} }\n"
	                          "grant \"b\" { users = {\"*\"} user_keys = true profiles = {\"*\"} }\n"
	                          "grant \"c\" { users = {\"*\"} user_keys = true profiles = {\"default\"} }\n");
	decides(d, "big", "a", ""); /* of equals the first one that gives it */
	decides(d, "default", "b", "");
	assert_int_equal(decide_authorize(d), 0);
	assert_string_equal(d->decision.grant->name, "b");
	assert_ptr_equal(d->decision.verified, &d->verified);
}

/* The shipped grant comes first and is for everyone: one that restricts somebody must not be void for that, nor be got round. */
static void a_grant_that_restricts_leaves_no_way_round_it(void **state)
{
	static const char everyone[] =
		PROFILES "grant \"everyone\" { users = {\"*\"} user_keys = true profiles = {\"*\"} max_memory = 32G }\n";
	static const struct {
		const char *grant;
		const char *key, *profile; /* key "": one of alice's own */
		const char *decides;
	} cases[] = {
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"}", "", "default", "mine"},
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"}", "", "big", ""}, /* not by another profile */
		{"groups = {\"27\"} user_keys = true profiles = {\"default\"}", "", "big", ""},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "laptop", "big", "mine"},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "", "big",
	         ""}, /* nor by another key, of which a user can make any number */
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"}", "phone", "big", ""},
		{"users = {\"*\"} keys = {\"laptop\"} profiles = {\"default\"}", "laptop", "big", ""},
		{"users = {\"*\"} keys = {\"laptop\"} profiles = {\"default\"}", "phone", "big", "everyone"},
		{"users = {\"1001\"} groups = {\"28\"} profiles = {\"default\"}", "", "big", "everyone"}, /* it is about others */
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"} fall_through = true", "", "big", "everyone"},
		{"users = {\"1000\"} user_keys = true profiles = {\"default\"} fall_through = true", "", "default", "mine"},
		{"users = {\"1000\"} keys = {\"laptop\"} profiles = {\"*\"} fall_through = true", "phone", "big", "everyone"},
		/* one that falls through opens no way past one that does not */
		{"users = {\"1000\"} profiles = {\"default\"} fall_through = true }\ngrant \"other\" { users = {\"1000\"} user_keys = true profiles = {\"default\"}",
	         "", "big", ""},
	};
	struct decide *d = *state;
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(text, sizeof text, "%sgrant \"mine\" { %s }\n", everyone, cases[i].grant);
		decide_policy(d, text);
		d->verified.key_source = *cases[i].key ? KEY_ENROLLED : KEY_OF_USER;
		strcpy(d->verified.principal, cases[i].key);
		decides(d, cases[i].profile, cases[i].decides, strstr(text, "other") ? "other" : "mine");
	}
}

static void a_grant_with_an_unknown_name_is_void_and_binds_whom_it_names(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"everyone\" { users = {\"*\"} profiles = {\"*\"} }\n"
	                          "grant \"void\" { users = {\"1001\"} groups = {\"no-such-group-here\"}\n profiles = {\"*\"} }\n");
	assert_true(d->policy->grants[1].is_void);
	assert_non_null(strstr(d->policy->grants[1].notice, ":4: 'no-such-group-here' is not a group of this host: the grant is void"));
	assert_false(d->policy->grants[0].is_void);
	assert_string_equal(d->policy->grants[0].notice, "");
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = 1001;
	refused(d, YETT_E_PERMISSION_DENIED, "the grant 'void' is void: ", "");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_PERMISSION_DENIED);
	assert_false(authorize_manage(d->policy, &d->verified, 1001, "laptop", "default"));
	/* where another one comes as close, that one is to be changed: this one gives nothing, whatever is written in it */
	decide_policy(
		d, PROFILES
		"grant \"void\" { users = {\"1001\", \"no-such-user-here\"} profiles = {\"default\"} user_keys = true keys = {\"*\"} }\n"
		"grant \"other\" { users = {\"1001\"} keys = {\"*\"} profiles = {\"default\"} }\n");
	decides(d, "big", "", "other");
	decide_policy(d, PROFILES "grant \"void\" { users = {\"no-such-user-here\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1001", "");
}

static void what_a_user_has_together_is_bounded_by_every_grant_for_the_user(void **state)
{
	struct decide *d = *state;

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
	d->peer.groups_count = 0;                    /* who is not in the group is not bounded by what is said of it */
	d->peer.uid = 1002;
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.user_limits.memory_bytes, (uint64_t)4 << 30);
	assert_int_equal(d->plan.user_limits.pids, 0);
	assert_int_equal(d->plan.sandboxes_max, 0);
	assert_int_equal(d->plan.terminals_max, PLAN_TERMINALS_MAX);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} user_terminals = 10 }\n");
	assert_int_equal(decide_plan(d), 0);
	assert_int_equal(d->plan.terminals_max, 1);
}

static void which_enrolled_keys_a_grant_is_for(void **state)
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
	struct decide *d = *state;
	char policy[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(policy, sizeof policy, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} %s }\n", cases[i].keys);
		decide_policy(d, policy);
		strcpy(d->verified.principal, "laptop");
		assert_int_equal(decide_authorize(d), cases[i].laptop ? 0 : YETT_E_PERMISSION_DENIED);
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), cases[i].laptop ? 0 : YETT_E_PERMISSION_DENIED);
		strcpy(d->verified.principal, "desktop");
		assert_int_equal(decide_authorize(d), cases[i].desktop ? 0 : YETT_E_PERMISSION_DENIED);
	}
}

static void who_has_no_grant_is_refused_with_the_rules(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"1001\"} profiles = {\"default\"} }\n"
	                          "grant \"h\" { users = {\"1001\"} keys = {\"desktop\"} profiles = {\"big\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant of the policy is for uid 1000", "");
	d->peer.uid = 1001;
	assert_int_equal(decide_authorize(d), 0);
	d->request.body.create.profile = decide_text(d, "big");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant that counts for uid 1001 gives the profile 'big'",
	        "asked big, allowed default by profiles of grant 'g' (");
	d->request.body.create.profile = decide_text(d, "x\n\x1b[31m");
	refused(d, YETT_E_PERMISSION_DENIED, "the policy has no profile 'x\\x0a\\x1b[31m'", "");
}

static void a_profile_that_does_not_exist_is_refused(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->request.body.create.profile = decide_text(d, "nothing");
	refused(d, YETT_E_PERMISSION_DENIED, "the policy has no profile 'nothing'", "");
}

static void a_key_of_the_user_counts_only_where_the_grant_says_so(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->verified.key_source = KEY_OF_USER;
	d->verified.principal[0] = '\0';
	assert_false(authorize_user_keys(d->policy, &d->peer));
	assert_int_equal(decide_authorize(d), YETT_E_BAD_SIGNATURE);
	assert_int_equal(d->error.reason, YETT_R_UNKNOWN_KEY);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"1001\"} user_keys = true profiles = {\"*\"} }\n");
	assert_false(authorize_user_keys(d->policy, &d->peer));
	decide_policy(d, PROFILES "grant \"g\" { users = {\"1000\"} user_keys = true profiles = {\"*\"} }\n");
	assert_true(authorize_user_keys(d->policy, &d->peer));
	assert_int_equal(decide_authorize(d), 0);
	d->verified.key_source = KEY_ENROLLED;
	strcpy(d->verified.principal, "phone");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "no grant that counts for uid 1000 is for the key 'phone'",
	        "allowed laptop by keys of grant 'g' (");
}

static void a_request_beyond_its_ceiling_is_refused_with_rule_asked_and_allowed(void **state)
{
	struct decide *d = *state;
	struct message_limits *limits = &d->request.body.create.limits;

	decide_policy(d,
	              PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"}\n max_memory = 2G\n max_cpus = 1.5\n max_files = 64 }\n");
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
	refused(d, YETT_E_PERMISSION_DENIED, "pids of 101 is more than the 100 allowed", "by pids of profile 'default' (");
	limits->pids = 0;
	limits->files = UINT64_MAX;
	refused(d, YETT_E_PERMISSION_DENIED, "files of 18446744073709551615", "allowed 64");
}

static bool may_manage(const struct decide *d, uid_t uid, const char *principal, const char *profile)
{
	return authorize_manage(d->policy, &d->verified, uid, principal, profile);
}

static void who_may_manage_is_who_could_have_made_it(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES
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
	assert_false(may_manage(d, 1000, "laptop", "default")); /* what was found before does not count */
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

static void who_has_no_grant_manages_nothing(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"a\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"big\"} }\n"
	                          "grant \"b\" { users = {\"1001\"} user_keys = true confined_clients = true profiles = {\"default\"} }\n");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	strcpy(d->verified.principal, "desktop");
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_PERMISSION_DENIED);
	strcpy(d->verified.principal, "laptop");
	d->peer.confined = true;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_SECURITY_VIOLATION);
	d->peer.uid = 0; /* root of a container is not the administrator */
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_SECURITY_VIOLATION);
	d->peer.uid = 1001;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	d->verified.key_source = KEY_OF_USER;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	d->peer.uid = 1000;
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_BAD_SIGNATURE);
	d->peer.confined = false;
	d->verified.key_source = KEY_ENROLLED;
	d->peer.uid = d->policy->ids_first + 65536 + 1000; /* from inside a sandbox */
	assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_SECURITY_VIOLATION);
}

static void only_as_long_as_the_grant_says_may_a_sandbox_linger(void **state)
{
	struct decide *d = *state;
	struct message_life *life = &d->request.body.create.life;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	life->idle_ms = 100 * 3600000ull;
	life->wall_ms = 7;
	assert_int_equal(decide_authorize(d), 0); /* its connection bounds it */
	assert_int_equal(d->decision.life.wall_ms, 7);
	assert_int_equal(d->decision.life.linger_ms, 0);
	life->linger = true;
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow lingering", "grant 'g' (");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} \n linger_max = 2h }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "an idle timeout of 100h is more than the 2h allowed", "linger_max of grant 'g' (");
	life->idle_ms = 2 * 3600000;
	assert_int_equal(decide_authorize(d), 0);
	assert_true(d->decision.life.linger);
	assert_int_equal(d->decision.life.linger_ms, 7200000);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = unlimited }\n");
	life->idle_ms = 0;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(d->decision.life.linger_ms, 0);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = 0s }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow lingering", "grant 'g' (");
	life->linger = false;
	assert_int_equal(decide_authorize(d), 0);
	life->cleanup_ms = 1; /* then its supervisor would outlast it, too */
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow a cleanup delay", "grant 'g' (");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} linger_max = 1h }\n");
	assert_int_equal(decide_authorize(d), 0);
	life->cleanup_ms = 3600001;
	refused(d, YETT_E_PERMISSION_DENIED, "a cleanup delay of", "linger_max of grant 'g' (");
}

static void a_limit_not_asked_for_is_the_lesser_of_profile_and_ceiling(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} max_memory = 512M max_pids = 200 max_cpus = 3 }\n");
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

static void what_the_helper_cannot_give_is_refused_when_asked(void **state)
{
	struct decide *d = *state;

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
	assert_string_equal(d->error.message, "files of 301 is more than the 300 that can be given here");
	d->given = (struct plan_limits){0};
	assert_int_equal(decide_authorize(d), 0);
}

/* Like the other limits, but that none is what stands where nothing is written. */
static void core_files_are_given_by_who_says_so(void **state)
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
	struct decide *d = *state;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(text, sizeof text, "profile \"default\" { %s }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} %s }\n",
		               cases[i].profile, cases[i].grant);
		decide_policy(d, text);
		d->request.body.create.limits.core_bytes = cases[i].asked;
		if (cases[i].given == 0) {
			refused(d, YETT_E_PERMISSION_DENIED, "core", "core of ");
			continue;
		}
		assert_int_equal(decide_authorize(d), 0);
		assert_int_equal(d->decision.limits.core_bytes, cases[i].given);
	}
}

static void what_a_profile_gives_must_be_named_by_the_grant(void **state)
{
	static const struct {
		const char *profile, *grant, *message;
	} cases[] = {
		{"capabilities = {\"chown\", \"kill\"}", "capabilities = {\"chown\"}", "the capability kill"},
		{"devices = {\"/dev/kvm\"}", "", "the device /dev/kvm"},
		{"identity = root", "identity_caller = true", "the identity root"},
		{"identity = caller", "identity_root = true", "the identity caller"},
		{"nested_userns = true", "identity_root = true", "nested_userns"},
		{"nested_userns = true", "nested_userns = true", NULL},
		{"perf_events = true", "nested_userns = true", "perf_events"},
		{"perf_events = true", "perf_events = true", NULL},
		{"capabilities = {\"chown\"} devices = {\"/dev/kvm\"} identity = root",
	         "capabilities = {\"kill\", \"chown\"} devices = {\"/dev/kvm\"} identity_root = true", NULL},
	};
	struct decide *d = *state;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(text, sizeof text, "profile \"default\" { %s }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} %s }\n",
		               cases[i].profile, cases[i].grant);
		decide_policy(d, text);
		if (cases[i].message)
			refused(d, YETT_E_PERMISSION_DENIED, cases[i].message, "of grant 'g' (");
		else
			assert_int_equal(decide_authorize(d), 0);
	}
}

static void a_confined_client_needs_a_grant_that_says_so(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->peer.confined = true;
	refused(d, YETT_E_SECURITY_VIOLATION, "the client is confined", "confined_clients of grant 'g' (");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} confined_clients = true }\n");
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = d->policy->ids_first + 70000;
	refused(d, YETT_E_SECURITY_VIOLATION, "a sandbox cannot ask for a sandbox", "");
}

/* Whatever the grant says, and whatever else it looks like. */
static void no_id_of_a_sandbox_asks_for_one_and_those_beside_them_may(void **state)
{
	struct decide *d = *state;
	uid_t first, end;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} confined_clients = true }\n");
	first = d->policy->ids_first;
	end = first + d->policy->ids_ranges * 65536;
	for (int i = 0; i < 3; i++) {
		d->peer.uid = i == 0 ? first : i == 1 ? first + 65536 : end - 1;
		refused(d, YETT_E_SECURITY_VIOLATION, "a sandbox cannot ask for a sandbox", "");
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), YETT_E_SECURITY_VIOLATION);
	}
	d->peer.uid = first - 1;
	assert_int_equal(decide_authorize(d), 0);
	d->peer.uid = end;
	assert_int_equal(decide_authorize(d), 0);
}

static void a_confined_client_manages_by_any_grant_that_says_so(void **state)
{
	static const char *const grants[] = {
		"grant \"a\" { users = {\"1000\"} profiles = {\"default\"} }\n"
		"grant \"b\" { users = {\"1000\"} profiles = {\"big\"} confined_clients = true }\n",
		"grant \"a\" { users = {\"1000\"} profiles = {\"default\"} confined_clients = true }\n"
		"grant \"b\" { users = {\"1000\"} profiles = {\"big\"} }\n",
	};
	struct decide *d = *state;
	char text[512];

	d->peer.confined = true;
	for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
		(void)snprintf(text, sizeof text, PROFILES "%s", grants[i]);
		decide_policy(d, text);
		assert_int_equal(authorize_manager(d->policy, &d->verified, &d->error), 0);
	}
}

static void shares_are_refused_where_profile_or_grant_has_none(void **state)
{
	struct decide *d = *state;

	decide_policy(d, "profile \"default\" { shares = false }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} share_rw = {\"*\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_tmpfs(d, "/scratch", 0);
	refused(d, YETT_E_PERMISSION_DENIED, "allows no shares and tmpfs", "shares of profile 'default' (");
	decide_reset(d);
	decide_share(d, 0, SHARE_RO, "/work");
	refused(d, YETT_E_PERMISSION_DENIED, "allows no shares and tmpfs", "");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the share /work to", "share_ro of grant 'g' (");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"/usr\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_share(d, 1, SHARE_RW, "/out");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the writable share /out to", "share_rw of grant 'g' (");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_rw = {\"/usr\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} share_ro = {\"*\"} share_rw = {\"*\"} }\n");
	decide_share(d, 2, SHARE_SOCKET, "/run/s");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the socket /run/s to", "sockets of grant 'g' (");
	decide_reset(d);
	decide_share(d, 0, SHARE_SOCKET, "/run/s");
	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} sockets = {\"/tmp/.X11-unix/X0\"} }\n");
	assert_int_equal(decide_authorize(d), 0);
	decide_share(d, 1, SHARE_RO, "/work");
	refused(d, YETT_E_PERMISSION_DENIED, "does not allow the share /work to", "share_ro of grant 'g' (");
}

static void a_message_that_is_no_request_is_refused(void **state)
{
	struct decide *d = *state;

	decide_policy(d, PROFILES "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n");
	d->request.body.create.profile = (struct text){.offset = 70000, .length = 5};
	refused(d, YETT_E_INVALID_REQUEST, "no request", "");
	decide_reset(d);
	d->request.kind = MESSAGE_EXEC;
	refused(d, YETT_E_INVALID_REQUEST, "no request", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DECIDE(the_grant_that_names_the_user_most_closely_decides_wherever_it_stands),
		WITH_DECIDE(a_grant_that_restricts_leaves_no_way_round_it),
		WITH_DECIDE(a_grant_with_an_unknown_name_is_void_and_binds_whom_it_names),
		WITH_DECIDE(what_a_user_has_together_is_bounded_by_every_grant_for_the_user),
		WITH_DECIDE(which_enrolled_keys_a_grant_is_for),
		WITH_DECIDE(who_has_no_grant_is_refused_with_the_rules),
		WITH_DECIDE(a_profile_that_does_not_exist_is_refused),
		WITH_DECIDE(a_key_of_the_user_counts_only_where_the_grant_says_so),
		WITH_DECIDE(a_request_beyond_its_ceiling_is_refused_with_rule_asked_and_allowed),
		WITH_DECIDE(who_may_manage_is_who_could_have_made_it),
		WITH_DECIDE(who_has_no_grant_manages_nothing),
		WITH_DECIDE(only_as_long_as_the_grant_says_may_a_sandbox_linger),
		WITH_DECIDE(a_limit_not_asked_for_is_the_lesser_of_profile_and_ceiling),
		WITH_DECIDE(what_the_helper_cannot_give_is_refused_when_asked),
		WITH_DECIDE(core_files_are_given_by_who_says_so),
		WITH_DECIDE(what_a_profile_gives_must_be_named_by_the_grant),
		WITH_DECIDE(a_confined_client_needs_a_grant_that_says_so),
		WITH_DECIDE(no_id_of_a_sandbox_asks_for_one_and_those_beside_them_may),
		WITH_DECIDE(a_confined_client_manages_by_any_grant_that_says_so),
		WITH_DECIDE(shares_are_refused_where_profile_or_grant_has_none),
		WITH_DECIDE(a_message_that_is_no_request_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
