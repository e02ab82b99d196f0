/* See authorize.h. Runs in the monitor, but uses none of its privilege. */
#include "helper/monitor/authorize.h"
#include "base/escape.h"
#include "base/units.h"

#include <string.h>

/* The limits a request can ask for: one row each, in the order of enum policy_limit. */
static const struct {
	const char *name;
	size_t asked, allowed; /* offsets in struct message_limits and struct plan_limits */
	char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
} limits[POLICY_LIMITS] = {
	[POLICY_LIMIT_MEMORY] = {"memory", offsetof(struct message_limits, memory_bytes), offsetof(struct plan_limits, memory_bytes),
				 units_format_size},
	[POLICY_LIMIT_CPUS] = {"cpus", offsetof(struct message_limits, cpu_millis), offsetof(struct plan_limits, cpu_millis),
			       units_format_cpus},
	[POLICY_LIMIT_PIDS] = {"pids", offsetof(struct message_limits, pids), offsetof(struct plan_limits, pids),
			       units_format_number},
	[POLICY_LIMIT_FILES] = {"files", offsetof(struct message_limits, files), offsetof(struct plan_limits, files),
				units_format_number},
};

static uint64_t limit_of(const struct plan_limits *from, enum policy_limit limit)
{
	return *(const uint64_t *)((const char *)from + limits[limit].allowed);
}

static bool has_group(const struct peer *peer, gid_t gid)
{
	for (size_t i = 0; i < peer->groups_count; i++)
		if (peer->groups[i] == gid)
			return true;
	return peer->gid == gid;
}

static bool fits_peer(const struct policy_grant *grant, const struct peer *peer)
{
	for (size_t i = 0; i < grant->uids_count; i++)
		if (grant->uids[i] == peer->uid)
			return true;
	for (size_t i = 0; i < grant->gids_count; i++)
		if (has_group(peer, grant->gids[i]))
			return true;
	return grant->everyone;
}

static bool list_has(const struct policy_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static bool fits_key(const struct policy_grant *grant, const struct verified *verified)
{
	if (verified->key_source == KEY_OF_USER)
		return grant->user_keys;
	return list_has(&grant->keys, "*") || list_has(&grant->keys, verified->principal);
}

static bool fits_profile(const struct policy_grant *grant, const char *profile)
{
	return list_has(&grant->profiles, "*") || list_has(&grant->profiles, profile);
}

bool authorize_user_keys(const struct policy *policy, const struct peer *peer)
{
	for (size_t i = 0; i < policy->grants_count; i++)
		if (policy->grants[i].user_keys && fits_peer(&policy->grants[i], peer))
			return true;
	return false;
}

/* Says which rules were looked at and why none fitted. */
static int refuse_grant(const struct policy *policy, const struct verified *verified, const char *profile,
			struct yett_error *error)
{
	bool has_peer = false, has_key = false;
	char rules[384] = "";
	size_t used = 0;

	for (size_t i = 0; i < policy->grants_count; i++) {
		const struct policy_grant *grant = &policy->grants[i];

		if (!fits_peer(grant, verified->peer))
			continue;
		has_peer = true;
		has_key = has_key || fits_key(grant, verified);
		used += units_append(rules + used, sizeof rules - used, "%s'%s' (%s:%u)", used ? ", " : "", grant->name,
				     grant->place.file, grant->place.line);
	}
	if (!has_peer) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant of the policy is for uid %u", verified->peer->uid);
	} else if (!has_key && verified->key_source == KEY_OF_USER) {
		(void)error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY, "no grant accepts keys that users enrolled themselves");
	} else if (!has_key) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant is for the key '%s'", ESCAPE(verified->principal));
	} else {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant gives the profile '%s'", ESCAPE(profile));
	}
	if (has_peer)
		error_detail(error, "grants for uid %u: %s", verified->peer->uid, rules);
	return has_peer && !has_key && verified->key_source == KEY_OF_USER ? YETT_E_BAD_SIGNATURE : YETT_E_PERMISSION_DENIED;
}

/* A refusal whose detail names both rules. */
static int refuse_rule(const struct decision *decision, const char *what, const char *item, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;

	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' does not allow %s%s to the profile '%s'", grant->name,
			what, ESCAPE(item), profile->name);
	error_detail(error, "grant '%s' (%s:%u), profile '%s' (%s:%u)", grant->name, grant->place.file, grant->place.line,
		     profile->name, profile->place.file, profile->place.line);
	return YETT_E_PERMISSION_DENIED;
}

static const char *first_missing(const struct policy_list *wanted, const struct policy_list *allowed)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!list_has(allowed, wanted->items[i]))
			return wanted->items[i];
	return NULL;
}

/* What the profile gives and only a grant that names it may hand out. */
static int check_privileges(const struct decision *decision, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	const char *capability = first_missing(&profile->capabilities, &grant->capabilities);
	const char *device = first_missing(&profile->devices, &grant->devices);

	if (capability)
		return refuse_rule(decision, "the capability ", capability, error);
	if (device)
		return refuse_rule(decision, "the device ", device, error);
	if (profile->identity == PLAN_IDENTITY_ROOT && !grant->identity_root)
		return refuse_rule(decision, "the identity ", "root", error);
	if (profile->identity == PLAN_IDENTITY_CALLER && !grant->identity_caller)
		return refuse_rule(decision, "the identity ", "caller", error);
	return 0;
}

static bool is_at(const struct message *request, struct text target, const char *path)
{
	const char *text = message_text(request, target);

	return text && strcmp(text, path) == 0;
}

/* How many mounts the request brings that the profile does not ask for itself. */
static uint32_t count_unwanted(const struct decision *decision)
{
	const struct message *request = decision->verified->request;
	const struct message_create *create = &request->body.create;
	uint32_t count = create->shares_count + create->tmpfs_count;

	for (uint32_t i = 0; i < create->shares_count && i < MESSAGE_SHARES_MAX; i++)
		count -= decision->profile->memory_mount && is_at(request, create->shares[i].target, PLAN_MEMORY);
	for (uint32_t i = 0; i < create->tmpfs_count && i < MESSAGE_TMPFS_MAX; i++)
		count -= decision->profile->outputs_mount && is_at(request, create->tmpfs[i].target, PLAN_OUTPUTS);
	return count;
}

/* Whether shares may be asked for at all; that each lies below a directory allowed is seen where it is mounted. */
static int check_shares(const struct message_create *create, const struct decision *decision, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;

	if (!profile->shares && count_unwanted(decision) > 0) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the profile '%s' allows no shares and tmpfs of a request",
				profile->name);
		error_detail(error, "profile '%s' (%s:%u)", profile->name, profile->place.file, profile->place.line);
		return YETT_E_PERMISSION_DENIED;
	}
	for (uint32_t i = 0; i < create->shares_count && i < MESSAGE_SHARES_MAX; i++) {
		if (create->shares[i].mode == SHARE_RW && grant->share_rw.count == 0)
			return refuse_rule(decision, "writable shares", "", error);
		if (grant->share_ro.count + grant->share_rw.count == 0)
			return refuse_rule(decision, "shares", "", error);
	}
	return 0;
}

/* The value in force for one limit: what was asked, or the lesser of the profile's own value and the ceiling. */
static int choose_limit(enum policy_limit limit, const struct message_create *create, const struct decision *decision,
			uint64_t *ret_value, struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;
	const struct policy_profile *profile = decision->profile;
	uint64_t asked = *(const uint64_t *)((const char *)&create->limits + limits[limit].asked);
	uint64_t own = limit_of(&profile->limits, limit), ceiling = limit_of(&grant->ceilings, limit);
	uint64_t allowed = ceiling ? ceiling : own;
	const struct policy_place *place = ceiling ? &grant->ceilings_place[limit] : &profile->place;
	char text[2][UNITS_TEXT_SIZE];

	if (asked == 0 || allowed == 0 || asked <= allowed) {
		*ret_value = asked ? asked : own && own < allowed ? own : allowed;
		return 0;
	}
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "%s of %s is more than the %s allowed", limits[limit].name,
			limits[limit].format(asked, text[0]), limits[limit].format(allowed, text[1]));
	error_detail(error, "asked %s, allowed %s by %s '%s' (%s:%u)", text[0], text[1], ceiling ? "grant" : "profile",
		     ceiling ? grant->name : profile->name, place->file, place->line);
	return YETT_E_PERMISSION_DENIED;
}

static int choose_limits(const struct message_create *create, struct decision *decision, struct yett_error *error)
{
	int r = 0;

	decision->limits = decision->profile->limits;
	for (unsigned limit = 0; r == 0 && limit < POLICY_LIMITS; limit++)
		r = choose_limit(limit, create, decision, (uint64_t *)((char *)&decision->limits + limits[limit].allowed), error);
	return r;
}

/* Of two bounds, of which 0 is none. */
static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* What all sandboxes of the user have together: each grant that is for the user bounds it, whichever one gives the next sandbox. */
static void bound_user(const struct policy *policy, struct decision *decision)
{
	for (size_t i = 0; i < policy->grants_count; i++) {
		const struct policy_grant *grant = &policy->grants[i];

		if (!fits_peer(grant, decision->verified->peer))
			continue;
		for (unsigned limit = 0; limit < POLICY_LIMITS; limit++) {
			uint64_t *bound = (uint64_t *)((char *)&decision->user_limits + limits[limit].allowed);

			*bound = lesser(*bound, limit_of(&grant->user_limits, limit));
		}
		decision->sandboxes_max = (unsigned)lesser(decision->sandboxes_max, grant->sandboxes_max);
	}
}

/* What was asked is what it gets, but what outlasts its connection, or its end, may do so only as long as the grant says. */
static int choose_life(const struct message_life *asked, struct decision *decision, struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;
	const char *what = "an idle timeout";
	uint64_t too_long = asked->idle_ms;
	char text[2][UNITS_TEXT_SIZE];

	decision->life = (struct plan_life){.wall_ms = asked->wall_ms,
					    .cpu_ms = asked->cpu_ms,
					    .idle_ms = asked->idle_ms,
					    .cleanup_ms = asked->cleanup_ms,
					    .linger = asked->linger,
					    .idle_pauses = asked->idle_action == IDLE_PAUSE};
	if (!asked->linger && asked->cleanup_ms == 0)
		return 0;
	if (grant->linger_max_ms == 0)
		return refuse_rule(decision, asked->linger ? "lingering" : "a cleanup delay", "", error);
	if (grant->linger_max_ms == POLICY_LINGER_UNLIMITED)
		return 0;
	if (asked->linger)
		decision->life.linger_ms = grant->linger_max_ms;
	if (asked->idle_ms <= grant->linger_max_ms || !asked->linger) {
		if (asked->cleanup_ms <= grant->linger_max_ms)
			return 0;
		what = "a cleanup delay";
		too_long = asked->cleanup_ms;
	}
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "%s of %s is more than the %s allowed", what,
			units_format_duration(too_long, text[0]), units_format_duration(grant->linger_max_ms, text[1]));
	error_detail(error, "asked %s, allowed %s by linger_max of grant '%s' (%s:%u)", text[0], text[1], grant->name,
		     grant->linger_place.file, grant->linger_place.line);
	return YETT_E_PERMISSION_DENIED;
}

/* Who asks from inside a container or sandbox could reach through the helper what was kept from it. */
static int check_confined(const struct policy *policy, const struct peer *peer, const struct policy_grant *grant,
			  struct yett_error *error)
{
	uint64_t first = policy->ids_first, end = first + (uint64_t)policy->ids_ranges * 65536;

	if (peer->uid >= first && peer->uid < end)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0, "a sandbox cannot ask for a sandbox");
	if (!peer->confined || grant->confined_clients)
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, 0, "the client is confined: it has no_new_privs, or other namespaces than the helper");
	error_detail(error, "the grant '%s' (%s:%u) does not say confined_clients", grant->name, grant->place.file,
		     grant->place.line);
	return YETT_E_SECURITY_VIOLATION;
}

static const struct policy_grant *find_grant(const struct policy *policy, const struct verified *verified, const char *profile)
{
	for (size_t i = 0; i < policy->grants_count; i++)
		if (fits_peer(&policy->grants[i], verified->peer) && fits_key(&policy->grants[i], verified) &&
		    fits_profile(&policy->grants[i], profile))
			return &policy->grants[i];
	return NULL;
}

int authorize(const struct policy *policy, const struct verified *verified, struct decision *ret_decision,
	      struct yett_error *error)
{
	const struct message_create *create = &verified->request->body.create;
	const char *name = message_text(verified->request, create->profile);
	struct decision decision = {.verified = verified};
	int r;

	if (verified->request->kind != MESSAGE_CREATE || !name)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "this is no request for a sandbox");
	name = *name ? name : "default";
	decision.grant = find_grant(policy, verified, name);
	decision.profile = policy_find_profile(policy, name);
	if (!decision.grant)
		return refuse_grant(policy, verified, name, error);
	if (!decision.profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "the policy has no profile '%s'", ESCAPE(name));
	r = check_confined(policy, verified->peer, decision.grant, error);
	if (r == 0)
		r = check_privileges(&decision, error);
	if (r == 0)
		r = check_shares(create, &decision, error);
	if (r == 0)
		r = choose_limits(create, &decision, error);
	if (r == 0)
		r = choose_life(&create->life, &decision, error);
	bound_user(policy, &decision);
	if (r == 0)
		*ret_decision = decision;
	return r;
}

int authorize_manager(const struct policy *policy, const struct verified *verified, struct yett_error *error)
{
	const struct policy_grant *found = NULL;

	for (size_t i = 0; i < policy->grants_count; i++) {
		const struct policy_grant *grant = &policy->grants[i];

		if (fits_peer(grant, verified->peer) && fits_key(grant, verified) && (!found || grant->confined_clients))
			found = grant;
	}
	return found ? check_confined(policy, verified->peer, found, error) : refuse_grant(policy, verified, "", error);
}

bool authorize_manage(const struct policy *policy, const struct verified *verified, uid_t uid, const char *principal, const char *profile)
{
	const char *own = verified->key_source == KEY_OF_USER ? "" : verified->principal;
	const struct policy_grant *grant = find_grant(policy, verified, profile);
	struct yett_error unused;

	if (authorize_is_administrator(verified->peer))
		return true;
	if (verified->peer->uid != uid || strcmp(own, principal) != 0)
		return false;
	return grant && check_confined(policy, verified->peer, grant, &unused) == 0;
}

bool authorize_is_administrator(const struct peer *peer)
{
	return peer->uid == 0 && !peer->confined;
}
