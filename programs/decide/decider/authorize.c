/* SPDX-License-Identifier: Apache-2.0 */
/* See authorize.h. No privilege. */
#include "programs/decide/decider/authorize.h"
#include "base/error_rule.h"
#include "base/escape_list.h"
#include "base/units_format.h"
#include "helper/plan/admit.h"
#include "programs/decide/decider/host_network.h"
#include "programs/decide/decider/intersect.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/refuse.h"
#include "programs/decide/decider/rules.h"
#include "programs/decide/policy/target.h"

#include <string.h>

static bool names_key(const struct policy_grant *grant, const struct verified *verified)
{
	return verified->key_source == KEY_ENROLLED &&
	       admit_list_has(&grant->keys, verified->principal);
}

static bool authorize_fits_key(const struct policy_grant *grant, const struct verified *verified)
{
	if (verified->key_source == KEY_OF_USER)
		return grant->user_keys;
	return admit_list_has(&grant->keys, "*") ||
	       admit_list_has(&grant->keys, verified->principal);
}

enum policy_naming authorize_naming(const struct policy_grant *grant, const struct peer *peer)
{
	enum policy_naming as = grant->everyone ? POLICY_NAMING_EVERYONE : POLICY_NAMING_NONE;

	for (size_t i = 0; i < grant->gids_count && as < POLICY_NAMING_GROUP; i++) {
		as = grant->gids[i] == peer->gid ? POLICY_NAMING_GROUP : as;
		for (size_t j = 0; j < peer->groups_count; j++)
			as = grant->gids[i] == peer->groups[j] ? POLICY_NAMING_GROUP : as;
	}
	for (size_t i = 0; i < grant->uids_count && as < POLICY_NAMING_USER; i++)
		as = grant->uids[i] == peer->uid ? POLICY_NAMING_USER : as;
	return as;
}

unsigned authorize_rank(const struct policy_grant *grant, const struct verified *verified)
{
	return grant->is_ceiling
	               ? 0
	               : 2 * authorize_naming(grant, verified->peer) + names_key(grant, verified);
}

bool authorize_is_bound(const struct policy *policy, const struct verified *verified)
{
	const struct policy_grant *grant = NULL;

	while (verified->is_agents && (grant = admit_next(policy, verified->peer, grant)))
		if (grant->agents)
			return true;
	return false;
}

struct choice authorize_choose(const struct policy *policy, const struct verified *verified,
                               const char *profile)
{
	struct choice choice = {0};
	unsigned ranks = 0;
	bool ends = false, are_for_agents = authorize_is_bound(policy, verified);

	for (const struct policy_grant *grant = NULL;
	     (grant = admit_next(policy, verified->peer, grant));)
		if (grant->agents == are_for_agents)
			ranks |= 1U << authorize_rank(grant, verified);
	for (unsigned rank = AUTHORIZE_RANKS - 1; rank > 0 && !ends; rank--)
		for (const struct policy_grant *grant = NULL;
		     ranks >> rank & 1 && (grant = admit_next(policy, verified->peer, grant));) {
			bool fits = authorize_fits_key(grant, verified);

			if (authorize_rank(grant, verified) != rank ||
			    grant->agents != are_for_agents)
				continue;
			if (fits && (admit_list_has(&grant->profiles, "*") ||
			             admit_list_has(&grant->profiles, profile)))
				return (struct choice){grant->is_void ? NULL : grant, grant};
			if (!choice.nearest || choice.nearest->is_void ||
			    (fits && !grant->is_void &&
			     !authorize_fits_key(choice.nearest, verified)))
				choice.nearest = grant;
			ends = ends || !grant->fall_through;
		}
	return choice;
}

bool authorize_user_keys(const struct policy *policy, const struct peer *peer)
{
	for (const struct policy_grant *grant = NULL; (grant = admit_next(policy, peer, grant));)
		if (grant->user_keys)
			return true;
	return false;
}

/* The grant that would decide if no grant had expired, or NULL. */
static const struct policy_grant *find_expired(const struct policy *policy,
                                               const struct verified *verified, const char *profile)
{
	struct peer before = *verified->peer;
	struct verified earlier = *verified;

	before.now = 0;
	earlier.peer = &before;
	return authorize_choose(policy, &earlier, profile).grant;
}

/* Explains why no grant that counts gives the profile. `nearest` as in struct choice. */
static int refuse_grant(const struct policy *policy, const struct policy_grant *nearest,
                        const struct verified *verified, const char *profile,
                        struct yett_error *error)
{
	const struct policy_grant *expired = find_expired(policy, verified, profile);
	uid_t uid = verified->peer->uid;
	bool is_own = verified->key_source == KEY_OF_USER;

	if (expired)
		return refuse_expired(expired, verified->peer->now, error);
	if (!nearest) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "no grant of the policy is for uid %u", uid);
		error_mend(error,
		           "grant \"uid-%u\" { users = {\"%u\"} %s%s%s profiles = {\"%s\"} }", uid,
		           uid, is_own ? "user_keys = true" : "keys = {\"",
		           is_own ? "" : verified->principal, is_own ? "" : "\"}", profile);
		return YETT_E_PERMISSION_DENIED;
	}
	if (nearest->is_void)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' is void: %s",
		                 nearest->name, nearest->notice);
	if (authorize_fits_key(nearest, verified)) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "no grant that counts for uid %u gives the profile '%s'", uid,
		                ESCAPE(profile));
		return refuse_key(nearest, POLICY_KEY_PROFILES, profile, NULL, error);
	}
	if (!is_own) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                "no grant that counts for uid %u is for the key '%s'", uid,
		                ESCAPE(verified->principal));
		return refuse_key(nearest, POLICY_KEY_KEYS, verified->principal, NULL, error);
	}
	(void)error_set(
		error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY,
		"no grant that counts for uid %u accepts keys that users enrolled themselves", uid);
	return refuse_key(nearest, POLICY_KEY_USER_KEYS, "true", "false", error);
}

/* Refuses a privilege of the profile, or a part of the request, that the grant does not allow. */
static int authorize_refuse_rule(const struct decision *decision, const char *what,
                                 enum policy_key key, const char *asked, struct yett_error *error)
{
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the grant '%s' does not allow %s%s to the profile '%s'",
	                decision->grant->name, what, key < POLICY_KEY_KEYS ? "" : ESCAPE(asked),
	                decision->profile->name);
	return refuse_key(decision->grant, key, asked, "false", error);
}

static const char *first_missing(const struct policy_list *wanted,
                                 const struct policy_list *allowed)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!admit_list_has(allowed, wanted->items[i]))
			return wanted->items[i];
	return NULL;
}

/* A profile with these privileges can be used only if the grant names each of them, too. */
static int check_privileges(const struct decision *decision, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	const char *capability = first_missing(&profile->capabilities, &grant->capabilities);
	const char *device = first_missing(&profile->devices, &grant->devices);

	if (capability)
		return authorize_refuse_rule(decision, "the capability ", POLICY_KEY_CAPABILITIES,
		                             capability, error);
	if (device)
		return authorize_refuse_rule(decision, "the device ", POLICY_KEY_DEVICES, device,
		                             error);
	if (profile->identity == PLAN_IDENTITY_ROOT && !grant->identity_root)
		return authorize_refuse_rule(decision, "the identity root",
		                             POLICY_KEY_IDENTITY_ROOT, "true", error);
	if (profile->identity == PLAN_IDENTITY_CALLER && !grant->identity_caller)
		return authorize_refuse_rule(decision, "the identity caller",
		                             POLICY_KEY_IDENTITY_CALLER, "true", error);
	if (profile->nested_userns && !grant->nested_userns)
		return authorize_refuse_rule(decision, "nested_userns", POLICY_KEY_NESTED_USERNS,
		                             "true", error);
	if (profile->perf_events && !grant->perf_events)
		return authorize_refuse_rule(decision, "perf_events", POLICY_KEY_PERF_EVENTS,
		                             "true", error);
	return 0;
}

static bool is_at(const struct message *request, struct text target, const char *path)
{
	const char *text = message_text(request, target);

	return text && strcmp(text, path) == 0;
}

/* Counts the mounts of the request that the profile does not itself require. */
static uint32_t count_unwanted(const struct decision *decision)
{
	const struct message *request = decision->verified->request;
	const struct message_create *create = &request->body.create;
	uint32_t count = create->shares_count + create->tmpfs_count;

	for (uint32_t i = 0; i < create->shares_count && i < MESSAGE_SHARES_MAX; i++)
		count -= decision->profile->memory_mount &&
		         is_at(request, create->shares[i].target, PLAN_MEMORY);
	for (uint32_t i = 0; i < create->tmpfs_count && i < MESSAGE_TMPFS_MAX; i++)
		count -= decision->profile->outputs_mount &&
		         is_at(request, create->tmpfs[i].target, PLAN_OUTPUTS);
	return count;
}

static int refuse_shares(const struct policy_profile *profile, struct yett_error *error)
{
	const struct policy_place *place =
		profile->shares_place.file ? &profile->shares_place : &profile->place;

	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the profile '%s' allows no shares and tmpfs of a request", profile->name);
	error_rest(error, &(struct error_rule){"shares", "profile", profile->name, place->file,
	                                       place->line, "true", "false", false});
	return YETT_E_PERMISSION_DENIED;
}

/*
 * Checks only whether shares may be requested at all. The mount-clone child checks that each share
 * is located below an allowed directory.
 */
static int authorize_check_shares(const struct message_create *create,
                                  const struct decision *decision, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;

	if (!profile->shares && count_unwanted(decision) > 0)
		return refuse_shares(profile, error);
	for (uint32_t i = 0; i < create->shares_count && i < MESSAGE_SHARES_MAX; i++) {
		const char *target =
			message_text(decision->verified->request, create->shares[i].target);
		bool writes = create->shares[i].mode == SHARE_RW;

		if (create->shares[i].mode == SHARE_SOCKET && grant->sockets.count == 0)
			return authorize_refuse_rule(decision, "the socket ", POLICY_KEY_SOCKETS,
			                             target, error);
		if (create->shares[i].mode != SHARE_SOCKET &&
		    create->shares[i].mode != SHARE_STORE &&
		    grant->share_rw.count + (writes ? 0 : grant->share_ro.count) == 0)
			return authorize_refuse_rule(
				decision, writes ? "the writable share " : "the share ",
				writes ? POLICY_KEY_SHARE_RW : POLICY_KEY_SHARE_RO, target, error);
	}
	return 0;
}

/*
 * Reports the problem that libyett reports before it sends a request, for example that a name is
 * reserved. Only a client that does not use libyett gets here.
 */
static int refuse_no_rule(const struct decision *decision, uint32_t index, struct yett_error *error)
{
	const struct text *text = &decision->rules[index].name;
	const char *name = message_text(decision->verified->request, *text);
	char canonical[NET_NAME_SIZE];
	const struct net_name_problem *problem =
		name && *name ? net_name_canonical(name, text->length, canonical) : NULL;

	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
	                "rules[%u] is no rule for a network%s%s", index,
	                problem ? ": its name " : "", problem ? problem->wrong : "");
	if (problem)
		error_mend(error, "%s", problem->mend);
	return YETT_E_INVALID_REQUEST;
}

/*
 * Converts rule `index` of the request. Returns 0 if the rule is valid in itself; `error` quotes
 * the rule otherwise. Does not check the rule against the grant.
 */
static int authorize_take_rule(const struct decision *decision, uint32_t index,
                               struct net_rule *ret_rule, struct yett_error *error)
{
	const struct message_rule *from = &decision->rules[index];
	char text[NET_RULE_TEXT_SIZE];

	if (!rules_take(decision->verified->request, from, ret_rule))
		return refuse_no_rule(decision, index, error);
	if (from->deny || !net_rule_allows_nothing(ret_rule))
		return 0;
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, 0,
		"'%s' allows nothing: no sandbox reaches link-local addresses, cloud metadata services, or addresses that no host can have",
		net_rule_print(ret_rule, text));
	error_mend(error, "leave it out");
	return YETT_E_INVALID_REQUEST;
}

static int refuse_allow(const struct decision *decision, const struct net_rule *rule,
                        struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;
	char asked[NET_RULE_TEXT_SIZE], allowed[128];

	(void)net_rule_print(rule, asked);
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the grant '%s' does not let requests allow '%s'", grant->name, asked);
	return refuse_key(grant, POLICY_KEY_ALLOW, asked,
	                  rules_print(rules_of_policy(&grant->allow), allowed, sizeof allowed),
	                  error);
}

#define NAME_COVERED    1u
#define NETWORK_COVERED 2u
#define COVERED         (NAME_COVERED | NETWORK_COVERED)

/*
 * Returns which parts of `inner` the rule `outer` covers. Two rules can cover a name that is bound
 * to a network (NAME@NETWORK): one covers the name, the other the network. Together they allow as
 * much as the bound rule.
 */
static unsigned parts_covered(const struct net_rule *outer, const struct net_rule *inner)
{
	struct net_rule name = *inner, network = {.kind = NET_RULE_ADDRESS,
	                                          .prefix = inner->prefix,
	                                          .port_first = inner->port_first,
	                                          .port_last = inner->port_last,
	                                          .address = inner->address};

	if (net_rule_covers(outer, inner))
		return COVERED;
	if (!inner->is_bound)
		return 0;
	name.is_bound = name.prefix = 0;
	name.address = (struct net_address){0};
	return (net_rule_covers(outer, &name) ? NAME_COVERED : 0) |
	       (net_rule_covers(outer, &network) ? NETWORK_COVERED : 0);
}

/* Every rule of the request must be valid, and the grant must cover every rule that allows. */
static int authorize_check_rules(const struct decision *decision, struct yett_error *error)
{
	const struct net_list *allowed = rules_of_policy(&decision->grant->allow);
	struct net_rule outer, inner[MESSAGE_RULES_MAX];
	unsigned covered[MESSAGE_RULES_MAX];
	uint32_t count = decision->rules_count, left = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = authorize_take_rule(decision, i, &inner[i], error);
		covered[i] = decision->rules[i].deny ? COVERED : 0;
		left += covered[i] != COVERED;
	}
	for (const struct net_record *record = NULL;
	     r == 0 && left > 0 && allowed && (record = net_list_next(allowed, record));) {
		net_list_rule(record, &outer);
		for (uint32_t i = 0; i < count; i++) {
			left += covered[i] == COVERED;
			covered[i] |= parts_covered(&outer, &inner[i]);
			left -= covered[i] == COVERED;
		}
	}
	for (uint32_t i = 0; r == 0 && left > 0 && i < count; i++)
		if (covered[i] != COVERED)
			r = refuse_allow(decision, &inner[i], error);
	return r;
}

static void authorize_take_rules(struct decision *decision, const struct message_rule *rules,
                                 uint32_t count, bool asks, bool allows_private)
{
	decision->rules = rules;
	decision->rules_count = count < MESSAGE_RULES_MAX ? count : MESSAGE_RULES_MAX;
	decision->asks = asks;
	decision->asks_private = allows_private;
	decision->allows_private = decision->profile->allow_private || allows_private;
}

static bool has_rule(const struct decision *decision, bool deny)
{
	for (uint32_t i = 0; i < decision->rules_count; i++)
		if (decision->rules[i].deny == deny)
			return true;
	return false;
}

/*
 * A client that denies something but has no network probably wants a network that reaches the rest.
 * Refuse the request instead of guessing.
 */
static int refuse_rules(const struct decision *decision, struct yett_error *error)
{
	bool allows = has_rule(decision, false);

	(void)error_set(error, YETT_E_INVALID_REQUEST, 0, "%s",
	                allows ? "the request has allow rules, but asks for the network none"
	                       : "the request has deny rules, but there is no network at all");
	error_mend(
		error, "%s",
		allows ? "leave out one of them"
		       : "ask for the network open (--net open), which reaches what no rule denies, or leave the rules out");
	return YETT_E_INVALID_REQUEST;
}

/* Where the grant lets requests allow nothing, no rule could release a waiting connection. */
static int check_asks(const struct decision *decision, struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;

	if (!decision->asks)
		return 0;
	if (decision->network != PLAN_NETWORK_LIMITED) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, 0,
			"asking about connections works in the network limited, and not in %s",
			plan_name_network(decision->network));
		error_mend(error, "leave out one of them");
		return YETT_E_INVALID_REQUEST;
	}
	if (rules_of_policy(&grant->allow))
		return 0;
	(void)error_set(
		error, YETT_E_PERMISSION_DENIED, 0,
		"asking about connections needs 'allow' in the grant, and the grant '%s' has none",
		grant->name);
	return refuse_key(grant, POLICY_KEY_ALLOW, "ask", "nothing", error);
}

/* The grant must allow allow_private only where the profile does not have it already. */
static int check_private(const struct decision *decision, struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;

	if (decision->allows_private == decision->profile->allow_private || grant->allow_private)
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the grant '%s' does not let names resolve to private addresses",
	                grant->name);
	return refuse_key(grant, POLICY_KEY_ALLOW_PRIVATE, "true", "false", error);
}

/* Checks that the grant allows the network of the decision, with its rules. */
static int check_network(const struct policy *policy, const struct decision *decision,
                         struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;
	const char *asked = plan_name_network(decision->network);
	int r;

	if (decision->network <= grant->network) {
		r = decision->network == PLAN_NETWORK_HOST ? 0 : check_private(decision, error);
		if (r == 0)
			r = check_asks(decision, error);
		if (r != 0)
			return r;
		return decision->network == PLAN_NETWORK_HOST
		               ? host_network_check(policy, decision, error)
		               : authorize_check_rules(decision, error);
	}
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the grant '%s' does not allow the network %s to the profile '%s'",
	                grant->name, asked, decision->profile->name);
	return refuse_key(grant, POLICY_KEY_NETWORK, asked, plan_name_network(grant->network),
	                  error);
}

/*
 * Takes the network of the request, or else that of the profile. A request with `ask`, or with a
 * rule that allows something, gets the network limited even if it names none.
 */
static int choose_network(const struct policy *policy, const struct message_create *create,
                          struct decision *decision, struct yett_error *error)
{
	authorize_take_rules(decision, create->rules, create->rules_count, create->ask,
	                     create->allow_private);
	decision->network = decision->profile->network;
	if (create->network != NETWORK_OF_PROFILE)
		decision->network = create->network - NETWORK_NONE;
	else if (decision->asks ||
	         (decision->network == PLAN_NETWORK_NONE && has_rule(decision, false)))
		decision->network = PLAN_NETWORK_LIMITED;
	if (decision->network == PLAN_NETWORK_NONE &&
	    (has_rule(decision, false) ||
	     (create->network == NETWORK_OF_PROFILE && has_rule(decision, true))))
		return refuse_rules(decision, error);
	return check_network(policy, decision, error);
}

/*
 * Refuses a client that is in a container or sandbox: through the helper, the client could reach
 * what its container keeps from it.
 */
static int check_confined(const struct policy *policy, const struct peer *peer,
                          const struct policy_grant *grant, struct yett_error *error)
{
	uint64_t first = policy->ids_first, end = first + (uint64_t)policy->ids_ranges * 65536;

	if (peer->uid >= first && peer->uid < end)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
		                 "a sandbox cannot ask for a sandbox");
	if (!peer->confined || grant->confined_clients)
		return 0;
	(void)error_set(
		error, YETT_E_SECURITY_VIOLATION, 0,
		"the client is confined: it has no_new_privs, or other namespaces than the helper");
	return refuse_key(grant, POLICY_KEY_CONFINED, "true", "false", error);
}

/* Finds the profile and the grant that gives it to this peer, and fills both in. */
static int find_grant(const struct policy *policy, const struct verified *verified,
                      const char *name, struct decision *decision, struct yett_error *error)
{
	struct choice choice = authorize_choose(policy, verified, name);

	decision->grant = choice.grant;
	decision->profile = policy_find_profile(policy, name);
	if (choice.nearest && !decision->profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "the policy has no profile '%s'", ESCAPE(name));
	if (!decision->grant)
		return refuse_grant(policy, choice.nearest, verified, name, error);
	return check_confined(policy, verified->peer, decision->grant, error);
}

int authorize(const struct policy *policy, const struct verified *verified,
              const struct plan_limits *given, struct decision *ret_decision,
              struct yett_error *error)
{
	const struct message_create *create = &verified->request->body.create;
	const char *name = message_text(verified->request, create->profile);
	struct decision decision = {.verified = verified};
	int r;

	if (verified->request->kind != MESSAGE_CREATE || !name)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "this is no request for a sandbox");
	r = find_grant(policy, verified, *name ? name : "default", &decision, error);
	if (r == 0)
		r = check_privileges(&decision, error);
	if (r == 0)
		r = authorize_check_shares(create, &decision, error);
	if (r == 0)
		r = intersect(policy, given, &decision, error);
	if (r == 0)
		r = choose_network(policy, create, &decision, error);
	if (r == 0)
		*ret_decision = decision;
	return r;
}

int authorize_rules(const struct policy *policy, const struct verified *verified,
                    const char *profile, enum plan_network network, struct decision *ret_decision,
                    struct yett_error *error)
{
	const struct message_manage *manage = &verified->request->body.manage;
	struct choice choice = authorize_choose(policy, verified, profile);
	struct decision decision = {.verified = verified,
	                            .profile = policy_find_profile(policy, profile),
	                            .grant = choice.grant,
	                            .network = network};
	int r;

	if (!decision.profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "the policy has no profile '%s' any more", ESCAPE(profile));
	if (!decision.grant)
		return refuse_grant(policy, choice.nearest, verified, profile, error);
	authorize_take_rules(&decision, manage->rules, manage->rules_count, manage->ask,
	                     manage->allow_private);
	r = check_confined(policy, verified->peer, decision.grant, error);
	if (r == 0)
		r = check_network(policy, &decision, error);
	if (r == 0)
		*ret_decision = decision;
	return r;
}

/*
 * Sockets of the host that give a program more power than people expect, by the beginning of the
 * path. "%u" is the uid of the user. The refusal of such a socket mentions that power.
 */
static const struct {
	const char *path, *what;
} powers[] = {
	{"/run/docker", "root on the host"},
	{"/run/containerd/", "root on the host"},
	{"/run/crio/", "root on the host"},
	{"/run/podman/", "root on the host"},
	{"/run/user/%u/docker", "all rights of the user"},
	{"/run/user/%u/podman/", "all rights of the user"},
	{"/run/libvirt/", "root on the host"},
	{"/run/user/%u/libvirt/", "all rights of the user"},
	{"/run/incus/", "root on the host"},
	{"/var/lib/incus/", "root on the host"},
	{"/var/lib/lxd/", "root on the host"},
	{"/var/snap/lxd/", "root on the host"},
	{"/run/snapd", "the user's rights at snapd"},
	{"/run/systemd/", "the user's rights at systemd"},
	{"/run/user/%u/systemd/", "all rights of the user: it starts programs outside"},
	{"/run/dbus/", "the user's rights at every service of the host"},
	{"/run/user/%u/bus", "all rights of the user: it starts programs outside"},
	{"/run/yett/", "sandboxes of any kind that the user may have"},
	{"/tmp/.X11-unix/", "the user's screen and keyboard"},
};

/*
 * Returns how many bytes at the beginning of `path` match `item`, in which "%u" stands for the uid;
 * 0: `path` does not begin with `item`.
 */
static size_t authorize_match_path(const char *item, uid_t uid, const char *path)
{
	const char *number = strstr(item, "%u");
	char own[UNITS_TEXT_SIZE];
	size_t length = number ? (size_t)(number - item) : strlen(item), used = length;

	if (strncmp(path, item, length) != 0)
		return 0;
	if (!number)
		return used;
	(void)units_format_number(uid, own);
	length = strlen(own);
	if (strncmp(path + used, own, length) != 0)
		return 0;
	used += length;
	length = strlen(number + 2);
	return strncmp(path + used, number + 2, length) == 0 ? used + length : 0;
}

static int relay_socket(const struct decision *decision, const char *path, struct yett_error *error)
{
	const struct policy_list *allowed = &decision->grant->sockets;
	uid_t uid = decision->verified->peer->uid;
	const char *power = NULL;
	char what[128];

	if (path[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the path of a socket must be absolute");
	if (!decision->profile->shares)
		return refuse_shares(decision->profile, error);
	for (size_t i = 0; i < allowed->count; i++)
		if (authorize_match_path(allowed->items[i], uid, path) == strlen(path))
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(powers) && !power; i++)
		if (authorize_match_path(powers[i].path, uid, path))
			power = powers[i].what;
	(void)units_append(what, sizeof what, "the socket %s%s%s",
	                   power ? "(access to it gives " : "", power ? power : "",
	                   power ? ") " : "");
	return authorize_refuse_rule(decision, what, POLICY_KEY_SOCKETS, path, error);
}

static int relay_port(const struct decision *decision, const struct net_address *address,
                      struct yett_error *error)
{
	static const struct net_address v4_loopback = {{[10] = 0xff, [11] = 0xff, [12] = 127}},
					v6_loopback = {{[15] = 1}};
	const struct policy_list *allowed = &decision->grant->publish;
	char text[NET_ADDRESS_TEXT_SIZE], list[128];

	if (net_address_is_in(address, &v4_loopback, NET_ADDRESS_PREFIX_V4 + 8) ||
	    net_address_compare(address, &v6_loopback) == 0 ||
	    admit_list_has(allowed, net_address_print(address, text)))
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the grant '%s' does not allow ports to be published at %s",
	                decision->grant->name, text);
	error_rest(error,
	           &(struct error_rule){
			   "publish", "grant", decision->grant->name, allowed->place.file,
			   allowed->place.line, text,
			   escape_list(allowed->items, allowed->count, list, sizeof list), true});
	return YETT_E_PERMISSION_DENIED;
}

int authorize_relay(const struct policy *policy, const struct verified *verified,
                    struct yett_error *error)
{
	const struct message_relay *relay = &verified->request->body.relay;
	const char *name = message_text(verified->request, relay->profile),
		   *path = message_text(verified->request, relay->socket);
	struct decision decision = {.verified = verified};
	struct net_address address;
	int r;

	if (verified->request->kind != MESSAGE_RELAY || !name || !path)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "this is no request for a relay");
	memcpy(address.bytes, relay->address, sizeof address.bytes);
	r = find_grant(policy, verified, name, &decision, error);
	if (r != 0)
		return r;
	return *path ? relay_socket(&decision, path, error)
	             : relay_port(&decision, &address, error);
}

int authorize_manager(const struct policy *policy, const struct verified *verified,
                      struct yett_error *error)
{
	const struct policy_grant *found = NULL;
	struct choice choice = authorize_choose(policy, verified, "default");

	for (size_t i = 0; i < policy->profiles_count; i++) {
		const struct policy_grant *grant =
			authorize_choose(policy, verified, policy->profiles[i].name).grant;

		if (grant && (!found || grant->confined_clients))
			found = grant;
	}
	return found ? check_confined(policy, verified->peer, found, error)
	             : refuse_grant(policy, choice.nearest, verified, "default", error);
}

bool authorize_manage(const struct policy *policy, const struct verified *verified, uid_t uid,
                      const char *principal, const char *profile)
{
	const char *own = verified->key_source == KEY_OF_USER ? "" : verified->principal;
	const struct policy_grant *grant = authorize_choose(policy, verified, profile).grant;
	struct yett_error unused;

	if (admit_is_administrator(verified->peer))
		return true;
	if (verified->peer->uid != uid || strcmp(own, principal) != 0)
		return false;
	return grant && check_confined(policy, verified->peer, grant, &unused) == 0;
}
