/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan becomes where the helper is not root's: what is refused, what is left out, what is
 * said of it. */
#include "base/net_rule_parse.h"
#include "programs/decide/decider/fit.h"
#include "tests/support/testing.h"
#include "tests/unit/decide.h"

#define GRANT                                                                                                    \
	"grant \"g\" { users = {\"*\"} profiles = {\"*\"} capabilities = {\"chown\"} devices = {\"/dev/fuse\"} " \
	"identity_root = true identity_caller = true linger_max = 1h user_pids = 9 user_memory = 3G }\n"
#define PLAIN "profile \"default\" { memory = 1G pids = 7 selinux_type = \"type_t\" }\n" GRANT

static const struct means none = {0}, labels = {.misses_label = true},
			  memory = {.has_cgroup = true, .controllers = FIT_MEMORY | FIT_PIDS},
			  selinux = {.has_cgroup = true, .misses_label = true},
			  all = {.has_cgroup = true,
                                 .controllers = FIT_MEMORY | FIT_CPU | FIT_PIDS};

static int fit(struct decide *d, const struct means *means)
{
	int r;

	assert_int_equal(decide_plan(d), 0);
	r = fit_plan(means, &d->decision, &d->plan, &d->error);
	return r == 0 ? fit_network(d->policy, &d->decision, true, &d->error) : r;
}

static void refused(struct decide *d, const struct means *means, const char *message,
                    const char *mend)
{
	int r = fit(d, means);

	if (r != YETT_E_UNSUPPORTED || !strstr(d->error.message, message) ||
	    !strstr(d->error.detail, mend))
		fail_msg("%d: %s (%s)", r, d->error.message, d->error.detail);
}

WITH_DECIDE(defaults_that_do_not_hold_are_left_out_and_said)
{
	decide_policy(d, PLAIN);
	assert_int_equal(fit(d, &none), 0);
	assert_string_equal(
		d->plan.weaker,
		"without root: commands have your own uid outside, too; no limit of memory (1G); no limit of memory "
		"of all your sandboxes (3G); no limit of pids of all your sandboxes (9)");
	assert_int_equal(d->plan.identity, PLAN_IDENTITY_CALLER);
	assert_int_equal(d->plan.groups_count, 0);
	assert_int_equal(d->plan.limits.memory_bytes, 0);
	assert_int_equal(d->plan.limits.pids, 7); /* init holds it */
	assert_int_equal(d->plan.user_limits.pids, 0);
	assert_int_equal(fit(d, &labels), 0);
	assert_non_null(strstr(d->plan.weaker, "; no SELinux label"));
	assert_string_equal(plan_text(&d->plan, d->plan.selinux_type), "");
	assert_int_equal(fit(d, &memory), 0);
	assert_string_equal(d->plan.weaker,
	                    "without root: commands have your own uid outside, too");
	assert_int_equal(d->plan.limits.memory_bytes, UINT64_C(1) << 30);
	assert_int_equal(d->plan.user_limits.pids, 9);
}

WITH_DECIDE(all_that_can_be_missing_is_said_to_the_end)
{
	static const char last[] = "; no SELinux label";
	/* What a policy can say, as the longest texts: programs/decide/policy/settings.c. */
	const struct plan_limits largest = {.memory_bytes = (UINT64_C(1) << 50) - 1,
	                                    .cpu_millis = 1023999,
	                                    .cpu_weight = 10000,
	                                    .pids = 4194304};
	const struct means least = {.misses_label = true, .leaves_cores = true};
	size_t parts = 1, length;

	decide_policy(d, PLAIN);
	assert_int_equal(decide_plan(d), 0);
	d->plan.limits = d->plan.user_limits = largest;
	assert_int_equal(fit_plan(&least, &d->decision, &d->plan, &d->error), 0);
	length = strlen(d->plan.weaker);
	assert_string_equal(d->plan.weaker + length - strlen(last), last);
	for (const char *at = d->plan.weaker; (at = strchr(at, ';')); at++)
		parts++;
	assert_int_equal(
		parts,
		10); /* the uid, cores, three limits, those of the user together, and the label */
}

WITH_DECIDE(nothing_is_said_where_all_is_as_asked)
{
	decide_policy(
		d, "profile \"default\" { identity = caller memory = unlimited }\n"
		   "grant \"g\" { users = {\"*\"} profiles = {\"*\"} identity_caller = true }\n");
	assert_int_equal(fit(d, &none), 0);
	assert_string_equal(d->plan.weaker, "");
}

WITH_DECIDE(limits_that_were_asked_for_are_refused)
{
	struct message_limits *limits = &d->request.body.create.limits;

	decide_policy(d, PLAIN);
	*limits = (struct message_limits){.memory_bytes = 1 << 20};
	refused(d, &none, "memory cannot be limited", "systemd-run --user --scope");
	assert_int_equal(fit(d, &memory), 0);
	*limits = (struct message_limits){.cpu_millis = 500};
	refused(d, &memory, "cpus cannot be limited", "systemd-run");
	assert_int_equal(fit(d, &all), 0);
	*limits = (struct message_limits){.pids = 5, .files = 5};
	assert_int_equal(fit(d, &none), 0);
}

WITH_DECIDE(a_life_that_takes_a_control_group_is_refused)
{
	struct message_life *life = &d->request.body.create.life;

	decide_policy(d, PLAIN);
	*life = (struct message_life){.cpu_ms = 1};
	refused(d, &none, "processor time", "systemd-run");
	assert_int_equal(fit(d, &memory), 0);
	*life = (struct message_life){.idle_ms = 1, .idle_action = IDLE_PAUSE};
	refused(d, &none, "cannot be paused", "systemd-run");
	*life = (struct message_life){.idle_ms = 1, .wall_ms = 1, .linger = true, .cleanup_ms = 1};
	assert_int_equal(fit(d, &none), 0);
}

/* A request by itself asks for whatever the profile has. */
static void ask_for(struct decide *d, const char *text)
{
	struct net_rule rule;

	assert_int_equal(net_rule_parse(text, &rule, NULL), 0);
	decide_rule(d, &rule, false);
}

/* Nobody has to catch anything there. */
WITH_DECIDE(the_network_of_the_host_is_had_without_root)
{
	decide_policy(
		d,
		"profile \"default\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} network = host }\n");
	d->request.body.create.network = NETWORK_HOST;
	assert_int_equal(fit(d, &all), 0);
	assert_int_equal(d->plan.network, PLAN_NETWORK_HOST);
	assert_non_null(strstr(d->plan.weaker,
	                       "127.0.0.1; without root: commands have your own uid outside, too"));
}

WITH_DECIDE(a_network_is_one_of_some_ports)
{
	decide_policy(
		d,
		"profile \"default\" {\n network = limited\n allow = {\"a.example:443\"}\n}\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = open allow = {\"*\"} }\n");
	d->request.body.create.network = NETWORK_OPEN;
	refused(d, &all, "without root, a network cannot be open", "give each rule its port");
	assert_int_equal(fit_network(d->policy, &d->decision, false, &d->error),
	                 YETT_E_UNSUPPORTED);
	assert_non_null(strstr(d->error.message, "without BPF, a network cannot be open"));
	assert_non_null(strstr(d->error.detail, "a service that may use bpf(2) needs no ports"));
	d->request.body.create.network = NETWORK_NONE;
	assert_int_equal(fit(d, &all), 0);
	d->request.body.create.network = NETWORK_OF_PROFILE;
	ask_for(d, "b.example:1000-1254");
	assert_int_equal(fit(d, &all), 0);
	assert_int_equal(d->plan.network, PLAN_NETWORK_LIMITED);
	ask_for(d, "c.example:1255");
	refused(d, &all,
	        "without root, a network can have rules for 256 ports at most, and 'c.example:1255' exceeds that",
	        "NAME:443; the service (docs/admin.md) needs no ports");
	d->request.body.create.rules_count = 0;
	ask_for(d, "git.example.org");
	refused(d, &all, "and 'git.example.org' exceeds that", "NAME:443");
}

WITH_DECIDE(a_rule_of_the_policy_that_cannot_be_had_is_named_with_its_line)
{
	decide_policy(
		d,
		"profile \"default\" {\n network = limited\n allow = {\"a.example:443\",\n \"*.b.example\"}\n}\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = limited }\n");
	refused(d, &all, "at most, and '*.b.example' (", "NAME:443");
	assert_non_null(strstr(d->error.message, ":4) exceeds that"));
}

WITH_DECIDE(what_a_profile_insists_on_is_refused)
{
	static const struct {
		const char *key, *message;
	} rows[] = {{"capabilities = {\"chown\"}", "capabilities"},
	            {"devices = {\"/dev/fuse\"}", "device nodes"},
	            {"identity = root", "root inside"},
	            {"label = required selinux_type = \"x\"", "label"}};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)snprintf(text, sizeof text, "profile \"default\" { %s }\n" GRANT,
		               rows[i].key);
		decide_policy(d, text);
		refused(d, &selinux, rows[i].message, "docs/admin.md");
	}
}

TEST_MAIN(NULL, NULL)
