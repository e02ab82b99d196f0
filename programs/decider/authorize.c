/* See authorize.h. No privilege. */
#include "programs/decider/authorize.h"
#include "base/escape.h"
#include "base/units.h"
#include "helper/plan/admit.h"

#include <string.h>

#define LINGER_LEAST_MS 60000 /* what a grant is to be given where a request does not say how long it lingers */

/* The limits a request can ask for: one row each, in the order of enum policy_limit. */
static const struct {
	const char *name;
	size_t asked, allowed; /* offsets in struct message_limits and struct plan_limits */
	char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
} limits[POLICY_LIMITS] = {
#define LIMIT(field, unit) offsetof(struct message_limits, field), offsetof(struct plan_limits, field), units_format_##unit
	[POLICY_LIMIT_MEMORY] = {"memory", LIMIT(memory_bytes, size)},
	[POLICY_LIMIT_CPUS] = {"cpus", LIMIT(cpu_millis, cpus)},
	[POLICY_LIMIT_PIDS] = {"pids", LIMIT(pids, number)},
	[POLICY_LIMIT_FILES] = {"files", LIMIT(files, number)},
	[POLICY_LIMIT_FILE_SIZE] = {"file_size", LIMIT(file_bytes, size)},
	[POLICY_LIMIT_CORE] = {"core", LIMIT(core_bytes, size)},
};

static uint64_t limit_of(const struct plan_limits *from, enum policy_limit limit)
{
	return *(const uint64_t *)((const char *)from + limits[limit].allowed);
}

static bool names_key(const struct policy_grant *grant, const struct verified *verified)
{
	return verified->key_source == KEY_ENROLLED && admit_list_has(&grant->keys, verified->principal);
}

static bool fits_key(const struct policy_grant *grant, const struct verified *verified)
{
	if (verified->key_source == KEY_OF_USER)
		return grant->user_keys;
	return admit_list_has(&grant->keys, "*") || admit_list_has(&grant->keys, verified->principal);
}

struct choice authorize_choose(const struct policy *policy, const struct verified *verified, const char *profile)
{
	struct choice choice = {0};
	bool ends = false;

	for (unsigned rank = 2 * 3 + 1; rank > 1 && !ends; rank--)
		for (size_t i = 0; i < policy->grants_count; i++) {
			const struct policy_grant *grant = &policy->grants[i];
			bool fits = fits_key(grant, verified);

			if (2 * admit_rank(grant, verified->peer) + names_key(grant, verified) != rank)
				continue;
			if (fits && (admit_list_has(&grant->profiles, "*") || admit_list_has(&grant->profiles, profile)))
				return (struct choice){grant->is_void ? NULL : grant, grant};
			if (!choice.nearest || choice.nearest->is_void || (fits && !grant->is_void && !fits_key(choice.nearest, verified)))
				choice.nearest = grant;
			ends = ends || !grant->fall_through;
		}
	return choice;
}

bool authorize_user_keys(const struct policy *policy, const struct peer *peer)
{
	for (size_t i = 0; i < policy->grants_count; i++)
		if (policy->grants[i].user_keys && admit_rank(&policy->grants[i], peer))
			return true;
	return false;
}

/* The keys of a grant, and where those that are lists are. */
static const char *const keys[POLICY_KEYS] = {
	"max_memory",    "max_cpus",    "max_pids",     "max_files",        "max_file_size",  "max_core",      "max_sandboxes",
	"linger_max",    "user_memory", "user_cpus",    "user_pids",        "user_terminals", "identity_root", "identity_caller",
	"nested_userns", "perf_events", "user_keys",    "confined_clients", "keys",           "profiles",      "share_ro",
	"share_rw",      "sockets",     "capabilities", "devices"};
#define LIST(name) offsetof(struct policy_grant, name)
static const size_t lists[] = {LIST(keys),    LIST(profiles),     LIST(share_ro), LIST(share_rw),
                               LIST(sockets), LIST(capabilities), LIST(devices)};
_Static_assert(POLICY_KEYS - POLICY_KEY_KEYS == ARRAY_SIZE(lists), "lists come last");

/* What refuses is a key of the grant, whether it is written or not. `allowed` is unused where the key is a list. Returns the error's code.
 */
static int refuse_key(const struct policy_grant *grant, enum policy_key key, const char *asked, const char *allowed,
                      struct yett_error *error)
{
	const struct policy_list *list = key < POLICY_KEY_KEYS ? NULL : (const void *)((const char *)grant + lists[key - POLICY_KEY_KEYS]);
	const struct policy_place *place = grant->places[key].file ? &grant->places[key] : &grant->place;
	char text[128];

	error_rest(error, &(struct error_rule){keys[key], "grant", grant->name, place->file, place->line, ESCAPE(asked),
	                                       list ? escape_list(list->items, list->count, text, sizeof text) : allowed, list});
	return (int)error->code;
}

/* Why none of the grants that count gives the profile; `nearest` comes closest. */
static int refuse_grant(const struct policy_grant *nearest, const struct verified *verified, const char *profile, struct yett_error *error)
{
	uid_t uid = verified->peer->uid;
	bool is_own = verified->key_source == KEY_OF_USER;

	if (!nearest) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant of the policy is for uid %u", uid);
		error_mend(error, "grant \"uid-%u\" { users = {\"%u\"} %s%s%s profiles = {\"%s\"} }", uid, uid,
		           is_own ? "user_keys = true" : "keys = {\"", is_own ? "" : verified->principal, is_own ? "" : "\"}", profile);
		return YETT_E_PERMISSION_DENIED;
	}
	if (nearest->is_void)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' is void: %s", nearest->name, nearest->notice);
	if (fits_key(nearest, verified)) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant that counts for uid %u gives the profile '%s'", uid,
		                ESCAPE(profile));
		return refuse_key(nearest, POLICY_KEY_PROFILES, profile, NULL, error);
	}
	if (!is_own) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "no grant that counts for uid %u is for the key '%s'", uid,
		                ESCAPE(verified->principal));
		return refuse_key(nearest, POLICY_KEY_KEYS, verified->principal, NULL, error);
	}
	(void)error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY,
	                "no grant that counts for uid %u accepts keys that users enrolled themselves", uid);
	return refuse_key(nearest, POLICY_KEY_USER_KEYS, "true", "false", error);
}

/* The grant does not allow what the profile gives, or the request wants. */
static int refuse_rule(const struct decision *decision, const char *what, enum policy_key key, const char *asked, struct yett_error *error)
{
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' does not allow %s%s to the profile '%s'", decision->grant->name,
	                what, key < POLICY_KEY_KEYS ? "" : ESCAPE(asked), decision->profile->name);
	return refuse_key(decision->grant, key, asked, "false", error);
}

static const char *first_missing(const struct policy_list *wanted, const struct policy_list *allowed)
{
	for (size_t i = 0; i < wanted->count; i++)
		if (!admit_list_has(allowed, wanted->items[i]))
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
		return refuse_rule(decision, "the capability ", POLICY_KEY_CAPABILITIES, capability, error);
	if (device)
		return refuse_rule(decision, "the device ", POLICY_KEY_DEVICES, device, error);
	if (profile->identity == PLAN_IDENTITY_ROOT && !grant->identity_root)
		return refuse_rule(decision, "the identity root", POLICY_KEY_IDENTITY_ROOT, "true", error);
	if (profile->identity == PLAN_IDENTITY_CALLER && !grant->identity_caller)
		return refuse_rule(decision, "the identity caller", POLICY_KEY_IDENTITY_CALLER, "true", error);
	if (profile->nested_userns && !grant->nested_userns)
		return refuse_rule(decision, "nested_userns", POLICY_KEY_NESTED_USERNS, "true", error);
	if (profile->perf_events && !grant->perf_events)
		return refuse_rule(decision, "perf_events", POLICY_KEY_PERF_EVENTS, "true", error);
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
		const struct policy_place *place = profile->shares_place.file ? &profile->shares_place : &profile->place;

		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the profile '%s' allows no shares and tmpfs of a request",
		                profile->name);
		error_rest(error,
		           &(struct error_rule){"shares", "profile", profile->name, place->file, place->line, "true", "false", false});
		return YETT_E_PERMISSION_DENIED;
	}
	for (uint32_t i = 0; i < create->shares_count && i < MESSAGE_SHARES_MAX; i++) {
		const char *target = message_text(decision->verified->request, create->shares[i].target);
		bool writes = create->shares[i].mode == SHARE_RW;

		if (create->shares[i].mode == SHARE_SOCKET && grant->sockets.count == 0)
			return refuse_rule(decision, "the socket ", POLICY_KEY_SOCKETS, target, error);
		if (create->shares[i].mode != SHARE_SOCKET && grant->share_rw.count + (writes ? 0 : grant->share_ro.count) == 0)
			return refuse_rule(decision, writes ? "the writable share " : "the share ",
			                   writes ? POLICY_KEY_SHARE_RW : POLICY_KEY_SHARE_RO, target, error);
	}
	return 0;
}

/* The value in force for one limit: what was asked, or the lesser of the profile's own value and the ceiling. */
static int choose_limit(enum policy_limit limit, const struct message_create *create, const struct decision *decision, uint64_t given,
                        uint64_t *ret_value, struct yett_error *error)
{
	const struct policy_grant *grant = decision->grant;
	const struct policy_profile *profile = decision->profile;
	uint64_t asked = *(const uint64_t *)((const char *)&create->limits + limits[limit].asked);
	uint64_t own = limit_of(&profile->limits, limit), ceiling = limit_of(&grant->ceilings, limit);
	uint64_t allowed = ceiling ? ceiling : own;
	const struct policy_place *place = &profile->limits_places[limit];
	char text[2][UNITS_TEXT_SIZE];

	if (given && asked > given) {
		(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0, "%s of %s is more than the %s that can be given here", limits[limit].name,
		                limits[limit].format(asked, text[0]), limits[limit].format(given, text[1]));
		error_detail(error, "the helper was started with that limit: LimitNOFILE= and its like in yett.service, or ulimit -H");
		return YETT_E_RESOURCE_LIMIT;
	}
	if (asked == 0 || allowed == 0 || asked <= allowed) {
		*ret_value = asked ? asked : own && own < allowed ? own : allowed;
		return 0;
	}
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "%s of %s is more than the %s allowed", limits[limit].name,
	                limits[limit].format(asked, text[0]), limits[limit].format(allowed, text[1]));
	if (limit == POLICY_LIMIT_CORE && allowed == PLAN_CORE_NONE) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' allows no core files", grant->name);
		return refuse_key(grant, (enum policy_key)limit, text[0], "none", error);
	}
	if (ceiling)
		return refuse_key(grant, (enum policy_key)limit, text[0], text[1], error);
	error_rest(error,
	           &(struct error_rule){limits[limit].name, "profile", profile->name, place->file, place->line, text[0], text[1], false});
	error_mend(error, "%s = %s in grant '%s' (%s:%u)", keys[limit], text[0], grant->name, grant->place.file, grant->place.line);
	return YETT_E_PERMISSION_DENIED;
}

static int choose_limits(const struct message_create *create, const struct plan_limits *given, struct decision *decision,
                         struct yett_error *error)
{
	uint64_t *values = (uint64_t *)&decision->limits;
	const uint64_t *most = (const uint64_t *)given;
	int r = 0;

	decision->limits = decision->profile->limits;
	for (unsigned limit = 0; r == 0 && limit < POLICY_LIMITS; limit++)
		r = choose_limit(limit, create, decision, limit_of(given, limit),
		                 (uint64_t *)((char *)&decision->limits + limits[limit].allowed), error);
	for (size_t i = 0; i < sizeof *given / sizeof *most; i++)
		values[i] = values[i] ? plan_lesser(values[i], most[i]) : 0;
	return r;
}

/* What all sandboxes of the user have together: each grant that is for the user bounds it, whichever one gives the next sandbox. */
static void bound_user(const struct policy *policy, struct decision *decision)
{
	for (size_t i = 0; i < policy->grants_count; i++) {
		const struct policy_grant *grant = &policy->grants[i];

		if (!admit_rank(grant, decision->verified->peer))
			continue;
		plan_narrow_limits(&decision->user_limits, &grant->user_limits);
		decision->sandboxes_max = (unsigned)plan_lesser(decision->sandboxes_max, grant->sandboxes_max);
		if (grant->sandboxes_max && grant->sandboxes_max == decision->sandboxes_max)
			decision->sandboxes_grant = grant;
		if (grant->user_limits.memory_bytes && grant->user_limits.memory_bytes == decision->user_limits.memory_bytes)
			decision->memory_grant = grant;
		decision->terminals_max = (unsigned)plan_lesser(decision->terminals_max, grant->terminals_max);
	}
}

/* What was asked is what it gets, but what outlasts its connection, or its end, may do so only as long as the grant says. */
static int choose_life(const struct message_life *asked, struct decision *decision, struct yett_error *error)
{
	uint64_t allowed = decision->grant->linger_max_ms;
	uint64_t wanted = asked->linger && asked->idle_ms > asked->cleanup_ms ? asked->idle_ms : asked->cleanup_ms;
	const char *what = asked->linger && wanted == asked->idle_ms ? "an idle timeout" : "a cleanup delay";
	char text[2][UNITS_TEXT_SIZE];

	decision->life = (struct plan_life){.wall_ms = asked->wall_ms,
	                                    .cpu_ms = asked->cpu_ms,
	                                    .idle_ms = asked->idle_ms,
	                                    .cleanup_ms = asked->cleanup_ms,
	                                    .linger = asked->linger,
	                                    .idle_pauses = asked->idle_action == IDLE_PAUSE};
	if ((!asked->linger && asked->cleanup_ms == 0) || allowed == POLICY_LINGER_UNLIMITED)
		return 0;
	if (asked->linger)
		decision->life.linger_ms = allowed;
	if (allowed != 0 && wanted <= allowed)
		return 0;
	(void)units_format_duration(wanted ? wanted : LINGER_LEAST_MS, text[0]);
	(void)units_format_duration(allowed, text[1]);
	if (allowed == 0)
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' does not allow %s", decision->grant->name,
		                asked->linger ? "lingering" : "a cleanup delay");
	else
		(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "%s of %s is more than the %s allowed", what, text[0], text[1]);
	return refuse_key(decision->grant, POLICY_KEY_LINGER, text[0], allowed ? text[1] : "no", error);
}

/* Who asks from inside a container or sandbox could reach through the helper what was kept from it. */
static int check_confined(const struct policy *policy, const struct peer *peer, const struct policy_grant *grant, struct yett_error *error)
{
	uint64_t first = policy->ids_first, end = first + (uint64_t)policy->ids_ranges * 65536;

	if (peer->uid >= first && peer->uid < end)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0, "a sandbox cannot ask for a sandbox");
	if (!peer->confined || grant->confined_clients)
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, 0,
	                "the client is confined: it has no_new_privs, or other namespaces than the helper");
	return refuse_key(grant, POLICY_KEY_CONFINED, "true", "false", error);
}

int authorize(const struct policy *policy, const struct verified *verified, const struct plan_limits *given, struct decision *ret_decision,
              struct yett_error *error)
{
	const struct message_create *create = &verified->request->body.create;
	const char *name = message_text(verified->request, create->profile);
	struct decision decision = {.verified = verified};
	struct choice choice;
	int r;

	if (verified->request->kind != MESSAGE_CREATE || !name)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "this is no request for a sandbox");
	name = *name ? name : "default";
	choice = authorize_choose(policy, verified, name);
	decision.grant = choice.grant;
	decision.profile = policy_find_profile(policy, name);
	if (choice.nearest && !decision.profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "the policy has no profile '%s'", ESCAPE(name));
	if (!decision.grant)
		return refuse_grant(choice.nearest, verified, name, error);
	r = check_confined(policy, verified->peer, decision.grant, error);
	if (r == 0)
		r = check_privileges(&decision, error);
	if (r == 0)
		r = check_shares(create, &decision, error);
	if (r == 0)
		r = choose_limits(create, given, &decision, error);
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
	struct choice choice = authorize_choose(policy, verified, "default");

	for (size_t i = 0; i < policy->profiles_count; i++) {
		const struct policy_grant *grant = authorize_choose(policy, verified, policy->profiles[i].name).grant;

		if (grant && (!found || grant->confined_clients))
			found = grant;
	}
	return found ? check_confined(policy, verified->peer, found, error) : refuse_grant(choice.nearest, verified, "default", error);
}

bool authorize_manage(const struct policy *policy, const struct verified *verified, uid_t uid, const char *principal, const char *profile)
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
