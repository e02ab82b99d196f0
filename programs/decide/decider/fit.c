/* SPDX-License-Identifier: Apache-2.0 */
/* See fit.h. */
#include "programs/decide/decider/fit.h"
#include "base/net_ports.h"
#include "base/units_format.h"
#include "programs/decide/decider/rules.h"

#include <string.h>

#define MEND_ROOT  "the service can (docs/admin.md)"
#define MEND_PORTS "give each rule its port, as in NAME:443; %s needs no ports"
#define SERVICE    "the service (docs/admin.md)"
#define KERNEL     "a service that may use bpf(2)"
#define MEND_CGROUP \
	"the service can, and so can a login whose control group is yours: systemd-run --user --scope yett run ..."

static int fit_refuse(const char *what, const char *mend, struct yett_error *error)
{
	(void)error_set(error, YETT_E_UNSUPPORTED, 0, "without root, %s", what);
	error_detail(error, "%s", mend);
	return YETT_E_UNSUPPORTED;
}

/* Refuses a profile with properties that only a sandbox made by root can have. */
static int fit_check_profile(const struct means *means, const struct policy_profile *profile,
                             struct yett_error *error)
{
	if (profile->capabilities_mask != 0)
		return fit_refuse("commands keep no capabilities", MEND_ROOT, error);
	if (profile->devices.count != 0)
		return fit_refuse("no further device nodes can be given", MEND_ROOT, error);
	if (profile->identity == PLAN_IDENTITY_ROOT)
		return fit_refuse("nobody can be root inside: there are no private ids", MEND_ROOT,
		                  error);
	if (profile->label == POLICY_LABEL_REQUIRED && means->misses_label)
		return fit_refuse("the label that the profile requires cannot be given", MEND_ROOT,
		                  error);
	return 0;
}

static int refuse_network(bool is_rootless, const char *what, struct yett_error *error)
{
	(void)error_set(error, YETT_E_UNSUPPORTED, 0, "without %s, %s",
	                is_rootless ? "root" : "BPF", what);
	error_detail(error, MEND_PORTS, is_rootless ? SERVICE : KERNEL);
	return YETT_E_UNSUPPORTED;
}

/* `record` is the first rule with a port too many. A rule of the policy is shown with its line. */
static int fit_refuse_rule(const struct policy *policy, const struct net_record *record,
                           bool is_rootless, struct yett_error *error)
{
	struct policy_place place = record->origin & RULES_OF_REQUEST
	                                    ? (struct policy_place){NULL, 0}
	                                    : rules_place(policy, record);
	char text[NET_RULE_TEXT_SIZE], what[NET_RULE_TEXT_SIZE + 512], where[256] = "";
	struct net_rule rule;

	net_list_rule(record, &rule);
	if (place.file)
		(void)units_append(where, sizeof where, " (%s:%u)", place.file, place.line);
	(void)units_append(what, sizeof what,
	                   "a network can have rules for %d ports at most, and '%s'%s exceeds that",
	                   NET_PORTS_MAX, net_rule_print(&rule, text), where);
	return refuse_network(is_rootless, what, error);
}

int fit_network(const struct policy *policy, const struct decision *decision, bool is_rootless,
                struct yett_error *error)
{
	_cleanup_free_ struct egress_rules *rules = NULL;
	const struct net_record *record;
	struct net_ports ports;
	size_t size;
	int r;

	if (!plan_network_has_rules(decision->network))
		return 0;
	if (decision->network != PLAN_NETWORK_LIMITED)
		return refuse_network(
			is_rootless,
			"a network cannot be open: only ports that rules name can be used", error);
	if (decision->asks)
		return refuse_network(
			is_rootless,
			"asking about connections is not possible: only ports that rules name can be used",
			error);
	r = rules_make(policy, decision, &rules, &size, error);
	record = r == 0 ? net_ports_collect((const struct net_list *)rules->list, &ports) : NULL;
	return record ? fit_refuse_rule(policy, record, is_rootless, error) : r;
}

static int check_life(const struct plan_life *life, struct yett_error *error)
{
	if (life->cpu_ms)
		return fit_refuse(
			"the processor time of a sandbox cannot be limited: it has no control group",
			MEND_CGROUP, error);
	if (life->idle_ms && life->idle_pauses)
		return fit_refuse("a sandbox cannot be paused: it has no control group",
		                  MEND_CGROUP, error);
	return 0;
}

_Static_assert(PLAN_WEAKER_SIZE == MESSAGE_WEAKER_MAX + 1, "what is said fits the message");

static void fit_add(struct plan *plan, const char *before, const char *name, const char *after)
{
	size_t used = strlen(plan->weaker);

	(void)units_append(plan->weaker + used, sizeof plan->weaker - used, "%s%s%s%s%s",
	                   used ? "; " : "",
	                   strstr(plan->weaker, "without root: ") ? "" : "without root: ", before,
	                   name, after);
}

static void fit_add_limit(struct plan *plan, const char *name, const char *of, const char *value)
{
	char text[UNITS_TEXT_SIZE + 48];

	(void)units_append(text, sizeof text, "%s (%s)", of, value);
	fit_add(plan, "no limit of ", name, text);
}

/* The limits that only a control group enforces. Init can enforce that of processes, too. */
static const struct {
	unsigned controller;
	bool is_held_by_init;
	/* In struct plan_limits; in struct message_limits, or SIZE_MAX: no request can ask. */
	size_t offset, asked;
	uint64_t usual; /* the kernel's default, whose absence is not worth reporting */
	const char *name;
	char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
} rows[] = {
	{FIT_MEMORY, false, offsetof(struct plan_limits, memory_bytes),
         offsetof(struct message_limits, memory_bytes), 0, "memory", units_format_size},
	{FIT_CPU, false, offsetof(struct plan_limits, cpu_millis),
         offsetof(struct message_limits, cpu_millis), 0, "cpus", units_format_cpus},
	{FIT_CPU, false, offsetof(struct plan_limits, cpu_weight), SIZE_MAX, 100, "cpu_weight",
         units_format_number},
	{FIT_IO, false, offsetof(struct plan_limits, io_read_bytes), SIZE_MAX, 0, "max_io_read",
         units_format_size},
	{FIT_IO, false, offsetof(struct plan_limits, io_write_bytes), SIZE_MAX, 0, "max_io_write",
         units_format_size},
	{FIT_PIDS, true, offsetof(struct plan_limits, pids), offsetof(struct message_limits, pids),
         0, "pids", units_format_number},
};

static int fit_limits(const struct means *means, const struct message_limits *asked,
                      struct plan *plan, struct yett_error *error)
{
	char text[UNITS_TEXT_SIZE], what[128];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t *own = (uint64_t *)((char *)&plan->limits + rows[i].offset);
		uint64_t *of_user = (uint64_t *)((char *)&plan->user_limits + rows[i].offset);

		if (means->controllers & rows[i].controller)
			continue;
		if (rows[i].asked != SIZE_MAX && !rows[i].is_held_by_init &&
		    *(const uint64_t *)((const char *)asked + rows[i].asked)) {
			(void)units_append(
				what, sizeof what,
				"%s cannot be limited: no control group is yours to limit",
				rows[i].name);
			return fit_refuse(what, MEND_CGROUP, error);
		}
		if (!rows[i].is_held_by_init && *own && *own != rows[i].usual)
			fit_add_limit(plan, rows[i].name, "", rows[i].format(*own, text));
		if (!rows[i].is_held_by_init)
			*own = 0;
		if (*of_user)
			fit_add_limit(plan, rows[i].name, " of all your sandboxes",
			              rows[i].format(*of_user, text));
		*of_user = 0;
	}
	return 0;
}

int fit_plan(const struct means *means, const struct decision *decision, struct plan *plan,
             struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	int r = fit_check_profile(means, profile, error);

	if (r == 0 && !means->has_cgroup)
		r = check_life(&plan->life, error);
	if (r != 0)
		return r;
	if (profile->identity == PLAN_IDENTITY_PRIVATE)
		fit_add(plan, "commands have your own uid outside, too", "", "");
	if (means->leaves_cores)
		fit_add(plan, "crashes reach the host's core handler (ulimit -Hc is 0)", "", "");
	plan->identity = PLAN_IDENTITY_CALLER;
	/* Commands keep the caller's groups: setgroups(2) is denied. user_namespaces(7) */
	plan->groups_count = 0;
	r = fit_limits(means, &decision->verified->request->body.create.limits, plan, error);
	if (means->misses_label && *plan_text(plan, plan->selinux_type))
		fit_add(plan, "no SELinux label", "", "");
	if (means->misses_label)
		plan->selinux_type = (struct plan_text){0};
	return r;
}
