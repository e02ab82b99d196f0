/* SPDX-License-Identifier: Apache-2.0 */
/* See host_network.h. No privilege. */
#include "programs/decide/decider/host_network.h"
#include "base/error_rule.h"
#include "base/units.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/rules.h"

#define ASK_FOR_OPEN "ask for the network open (--net open)"

static int refuse_request(const char *what, const char *mend, struct yett_error *error)
{
	(void)error_set(error, YETT_E_INVALID_REQUEST, 0, "%s", what);
	error_mend(error, "%s", mend);
	return YETT_E_INVALID_REQUEST;
}

/* A setting of the profile that has no effect in the network host. */
struct lost {
	bool is_set;
	const char *key, *without; /* `without`: the value that denies or limits nothing */
	const char *why;
};

static int refuse_profile(const struct decision *decision, const struct lost *lost,
                          struct policy_place place, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;

	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "in the network host '%s' of the profile '%s' %s", lost->key, profile->name,
	                lost->why);
	error_rest(error,
	           &(struct error_rule){lost->key, "profile", profile->name, place.file, place.line,
	                                "host", plan_name_network(PLAN_NETWORK_OPEN), false});
	error_mend(error,
	           "%s = %s in profile '%s' (%s:%u), unless the network open will do (--net open)",
	           lost->key, lost->without, profile->name, place.file, place.line);
	return YETT_E_PERMISSION_DENIED;
}

/* NULL: the profile denies nothing. The same list has rules about a proxy, which are skipped. */
static const struct net_record *first_denied(const struct policy_profile *profile)
{
	const struct net_list *list = rules_of_policy(&profile->deny);
	const struct net_record *record = NULL;

	while (list && (record = net_list_next(list, record)) && record->list != NET_LIST_DENY)
		;
	return list ? record : NULL;
}

static int host_network_check_profile(const struct policy *policy, const struct decision *decision,
                                      struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct net_record *denied = first_denied(profile);
	const struct lost lost[] = {
		{denied, "deny", "{}", "would have no meaning"},
		{profile->bandwidth_in_bytes, "bandwidth_in", "unlimited", "would have no meaning"},
		{profile->bandwidth_out_bytes, "bandwidth_out", "unlimited",
	         "would have no meaning"},
		{profile->connections < POLICY_CONNECTIONS_MAX, "connections", "256",
	         "would have no meaning"},
		{profile->nested_userns, "nested_userns", "false",
	         "is not possible: Landlock does not protect files there"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		if (lost[i].is_set)
			return refuse_profile(decision, &lost[i],
			                      i == 0 ? rules_place(policy, denied) : profile->place,
			                      error);
	return 0;
}

int host_network_check(const struct policy *policy, const struct decision *decision,
                       struct yett_error *error)
{
	if (decision->verified->peer->confined) {
		(void)error_set(
			error, YETT_E_SECURITY_VIOLATION, 0,
			"the client is confined, and the network host is refused to confined clients");
		error_detail(
			error,
			"it has no_new_privs, or other namespaces than the helper; confined_clients does not change that");
		error_mend(error, ASK_FOR_OPEN ", or ask from outside of what confines the client");
		return YETT_E_SECURITY_VIOLATION;
	}
	if (decision->rules_count > 0)
		return refuse_request(
			"the network host has no rules: nothing in it is allowed or denied by rules",
			"leave out the rules (--allow, --deny), or ask for a network that goes by them (--net limited, --net open)",
			error);
	if (decision->asks_private)
		return refuse_request(
			"the network host needs no --allow-private: names resolve as on the host",
			"leave out --allow-private, or " ASK_FOR_OPEN, error);
	return host_network_check_profile(policy, decision, error);
}
