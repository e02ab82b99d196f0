/* See explain.h: what is in force for somebody. */
#include "base/escape.h"
#include "base/units.h"
#include "helper/plan/admit.h"
#include "programs/explain/tell.h"

#include <string.h>

#define RANKS (2 * 3 + 2) /* as authorize_choose() has them: by user, group or everyone, and whether the key is named */

/* What a number means where the policy says none. */
enum unset { UNSET_PROFILE, UNSET_UNLIMITED, UNSET_NONE };

/* The bounds of a grant, in the order in which they are told. */
static const struct {
	const char *key;
	enum policy_key place;
	size_t at;
	enum unset unset;
	bool is_unsigned; /* else a uint64_t */
	char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
} bounds[] = {
#define BOUND(key, place, field, unset, unit)                                                       \
	{                                                                                           \
		key, place, offsetof(struct policy_grant, field), unset, false, units_format_##unit \
	}
	BOUND("max_memory", (enum policy_key)POLICY_LIMIT_MEMORY, ceilings.memory_bytes, UNSET_PROFILE, size),
	BOUND("max_cpus", (enum policy_key)POLICY_LIMIT_CPUS, ceilings.cpu_millis, UNSET_PROFILE, cpus),
	BOUND("max_pids", (enum policy_key)POLICY_LIMIT_PIDS, ceilings.pids, UNSET_PROFILE, number),
	BOUND("max_files", (enum policy_key)POLICY_LIMIT_FILES, ceilings.files, UNSET_PROFILE, number),
	BOUND("max_file_size", (enum policy_key)POLICY_LIMIT_FILE_SIZE, ceilings.file_bytes, UNSET_PROFILE, size),
	BOUND("max_core", (enum policy_key)POLICY_LIMIT_CORE, ceilings.core_bytes, UNSET_PROFILE, size),
	BOUND("linger_max", POLICY_KEY_LINGER, linger_max_ms, UNSET_NONE, duration),
	BOUND("max_command_timeout", POLICY_KEY_COMMAND, command_max_ms, UNSET_PROFILE, duration),
	BOUND("user_memory", POLICY_KEY_USER_MEMORY, user_limits.memory_bytes, UNSET_UNLIMITED, size),
	BOUND("user_cpus", POLICY_KEY_USER_CPUS, user_limits.cpu_millis, UNSET_UNLIMITED, cpus),
	BOUND("user_pids", POLICY_KEY_USER_PIDS, user_limits.pids, UNSET_UNLIMITED, number),
#undef BOUND
	{"user_terminals", POLICY_KEY_USER_TERMINALS, offsetof(struct policy_grant, terminals_max), UNSET_UNLIMITED, true,
         units_format_number},
	{"max_sandboxes", POLICY_KEY_SANDBOXES, offsetof(struct policy_grant, sandboxes_max), UNSET_UNLIMITED, true, units_format_number},
};

static const struct {
	const char *key;
	enum policy_key place;
	size_t at;
} lists[] = {
#define LIST(name, place)                                         \
	{                                                         \
#name, place, offsetof(struct policy_grant, name) \
	}
	LIST(keys, POLICY_KEY_KEYS),       LIST(share_ro, POLICY_KEY_SHARE_RO), LIST(share_rw, POLICY_KEY_SHARE_RW),
	LIST(sockets, POLICY_KEY_SOCKETS), LIST(devices, POLICY_KEY_DEVICES),   LIST(capabilities, POLICY_KEY_CAPABILITIES),
#undef LIST
};

static const struct {
	const char *key;
	enum policy_key place;
	size_t at;
} switches[] = {
#define SWITCH(name, place)                                       \
	{                                                         \
#name, place, offsetof(struct policy_grant, name) \
	}
	SWITCH(user_keys, POLICY_KEY_USER_KEYS),         SWITCH(confined_clients, POLICY_KEY_CONFINED),
	SWITCH(identity_root, POLICY_KEY_IDENTITY_ROOT), SWITCH(identity_caller, POLICY_KEY_IDENTITY_CALLER),
	SWITCH(nested_userns, POLICY_KEY_NESTED_USERNS), SWITCH(perf_events, POLICY_KEY_PERF_EVENTS),
	SWITCH(allow_private, POLICY_KEY_ALLOW_PRIVATE),
#undef SWITCH
};

/* Opens an object for a key, and says where it is written; null: nowhere. */
static void begin_key(struct json *json, const char *key, struct policy_place place)
{
	json_open(json, NULL, '{');
	json_text(json, "key", key);
	json_text(json, "file", place.file);
	if (place.file)
		json_number(json, "line", place.line);
	else
		json_null(json, "line");
}

static void print_key(FILE *text, const char *key, const char *value, struct policy_place place)
{
	(void)fprintf(text, "    %-19s %s (%s:%u)\n", key, value, place.file, place.line);
}

static void tell_bounds(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "bounds", '[');
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		static const char *const unset[] = {[UNSET_PROFILE] = "profile", [UNSET_UNLIMITED] = "unlimited", [UNSET_NONE] = "none"};
		const void *field = (const char *)grant + bounds[i].at;
		uint64_t value = bounds[i].is_unsigned ? *(const unsigned *)field : *(const uint64_t *)field;
		bool is_unlimited = bounds[i].place == POLICY_KEY_LINGER && value == POLICY_LINGER_UNLIMITED;
		bool is_core_none = bounds[i].place == (enum policy_key)POLICY_LIMIT_CORE && value == PLAN_CORE_NONE;
		struct policy_place place = grant->places[bounds[i].place];
		char number[UNITS_TEXT_SIZE];
		const char *word = is_unlimited ? "unlimited" : is_core_none ? "none" : value ? NULL : unset[bounds[i].unset];

		if (!value && place.file)
			word = bounds[i].unset == UNSET_NONE ? "none" : "unlimited";
		begin_key(json, bounds[i].key, place);
		json_number_or_null(json, "value", word ? 0 : value);
		json_text(json, "word", word);
		json_close(json);
		if (place.file)
			print_key(text, bounds[i].key, word ? word : bounds[i].format(value, number), place);
	}
	json_close(json);
}

static void tell_lists(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "lists", '[');
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct policy_list *list = (const struct policy_list *)(const void *)((const char *)grant + lists[i].at);
		struct policy_place place = grant->places[lists[i].place];
		char items[ESCAPE_SIZE];

		begin_key(json, lists[i].key, place);
		json_open(json, "items", '[');
		for (size_t item = 0; item < list->count; item++)
			json_text(json, NULL, list->items[item]);
		json_close(json);
		json_close(json);
		if (place.file)
			print_key(text, lists[i].key, escape_list(list->items, list->count, items, sizeof items), place);
	}
	json_close(json);
}

static void tell_switches(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "switches", '[');
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		bool value = *(const bool *)((const char *)grant + switches[i].at);
		struct policy_place place = grant->places[switches[i].place];

		begin_key(json, switches[i].key, place);
		json_bool(json, "value", value);
		json_close(json);
		if (place.file)
			print_key(text, switches[i].key, value ? "true" : "false", place);
	}
	json_close(json);
}

static void tell_network_of(const struct explain *explain, const struct policy_grant *grant, struct json *json, FILE *text)
{
	struct policy_place place = grant->places[POLICY_KEY_NETWORK];
	char section[160];

	(void)snprintf(section, sizeof section, "grant '%s'", grant->name);
	json_open(json, "network", '{');
	json_text(json, "ceiling", plan_network_name(grant->network));
	json_text(json, "file", place.file);
	json_number_or_null(json, "line", place.file ? place.line : 0);
	if (place.file)
		print_key(text, "network", plan_network_name(grant->network), place);
	json_open(json, "rules", '[');
	tell_network_list(explain, &grant->allow, section, json, text);
	tell_network_list(explain, &grant->deny, section, json, text);
	json_close(json);
	json_close(json);
}

/* The profiles that this grant and no other gives. Where there are none, the grant that decides instead, if one does. */
static size_t tell_gives(const struct explain *explain, const struct policy_grant *grant, struct json *json, FILE *text,
                         const struct policy_grant **ret_instead)
{
	const struct policy *policy = explain->policy;
	size_t given = 0;

	*ret_instead = NULL;
	json_open(json, "profiles", '[');
	for (size_t i = 0; i < policy->profiles_count; i++) {
		const char *name = policy->profiles[i].name;
		struct choice choice;

		if (!admit_list_has(&grant->profiles, "*") && !admit_list_has(&grant->profiles, name))
			continue;
		choice = authorize_choose(policy, &explain->verified, name);
		if (choice.grant == grant) {
			json_text(json, NULL, name);
			(void)fprintf(text, "%s%s", given++ ? ", " : "gives ", name);
		} else if (choice.nearest && choice.nearest != grant && !*ret_instead) {
			*ret_instead = choice.nearest;
		}
	}
	json_close(json);
	return given;
}

/* As authorize_choose() has it. */
static bool fits_key(const struct policy_grant *grant, const struct verified *verified)
{
	if (verified->key_source == KEY_OF_USER)
		return grant->user_keys;
	return admit_list_has(&grant->keys, "*") || admit_list_has(&grant->keys, verified->principal);
}

/* Why it gives nothing: who or what stands before that. */
static void tell_nothing(const struct policy_grant *grant, bool fits, const struct policy_grant *instead, FILE *text)
{
	if (grant->is_void)
		(void)fprintf(text, "is void: %s", grant->notice);
	else if (!fits || !instead)
		(void)fprintf(text, "gives nothing%s", fits ? "" : " with this key");
	else
		(void)fprintf(text, "gives nothing: '%s' (%s:%u) decides", instead->name, instead->place.file, instead->place.line);
	if (!grant->is_void)
		(void)fputs("; only its bounds of all sandboxes together count", text);
}

static void tell_grant(const struct explain *explain, const struct policy_grant *grant, size_t number, struct json *json, FILE *text)
{
	static const char *const names[] = {"", "everyone", "a group", "the user"};
	unsigned rank = admit_rank(grant, explain->peer);
	const struct policy_grant *instead;
	bool fits = fits_key(grant, &explain->verified);
	size_t given;

	json_open(json, NULL, '{');
	json_text(json, "name", grant->name);
	json_text(json, "file", grant->place.file);
	json_number(json, "line", grant->place.line);
	json_text(json, "names", names[rank]);
	json_bool(json, "fall_through", grant->fall_through);
	json_text_or_null(json, "void", grant->is_void ? grant->notice : "");
	(void)fprintf(text, "%zu. grant '%s' (%s:%u) names %s and ", number, grant->name, grant->place.file, grant->place.line,
	              names[rank]);
	given = tell_gives(explain, grant, json, text, &instead);
	json_bool(json, "fits_key", fits);
	if (given == 0 && fits && instead)
		tell_json_section(json, "shadowed_by", instead->name, instead->place);
	else
		json_null(json, "shadowed_by");
	if (given == 0)
		tell_nothing(grant, fits, instead, text);
	(void)fputs(grant->fall_through ? ", and falls through\n" : "\n", text);
	tell_bounds(grant, json, text);
	tell_lists(grant, json, text);
	tell_switches(grant, json, text);
	tell_network_of(explain, grant, json, text);
	json_close(json);
}

/* As authorize_choose() ranks it; below 2 it is not for the peer. */
static unsigned rank_of(const struct explain *explain, const struct policy_grant *grant)
{
	const struct verified *verified = &explain->verified;

	return 2 * admit_rank(grant, explain->peer) +
	       (verified->key_source == KEY_ENROLLED && admit_list_has(&grant->keys, verified->principal));
}

/* A decision about any profile: what bounds all sandboxes together is the same in each. */
static bool find_decision(const struct explain *explain, struct message *request, struct decision *ret_decision)
{
	struct verified verified = explain->verified;
	struct yett_error unused;

	verified.request = request;
	for (size_t i = 0; i < explain->policy->profiles_count; i++) {
		struct message_create *create = &message_begin(request, MESSAGE_CREATE)->create;

		if (message_add_text(request, explain->policy->profiles[i].name, &create->profile) == 0 &&
		    authorize(explain->policy, &verified, &explain_gives, ret_decision, &unused) == 0)
			return true;
	}
	return false;
}

void explain_effective(const struct explain *explain, struct explain_answer *answer)
{
	static struct message request;
	const struct policy *policy = explain->policy;
	struct json json = {.to = answer->json};
	FILE *text = answer->text;
	struct decision decision;
	size_t count = 0;

	json_open(&json, NULL, '{');
	(void)fputs("in force for ", text);
	tell_who(explain, &json, text);
	(void)fprintf(text, ", by %s\n", ESCAPE(explain->path));
	json_open(&json, "grants", '[');
	for (unsigned rank = RANKS - 1; rank > 1; rank--)
		for (size_t i = 0; i < policy->grants_count; i++)
			if (rank_of(explain, &policy->grants[i]) == rank)
				tell_grant(explain, &policy->grants[i], ++count, &json, text);
	json_close(&json);
	if (count == 0)
		(void)fputs("no grant: every request is refused\n", text);
	if (find_decision(explain, &request, &decision)) {
		(void)fputs("of all sandboxes of the user together\n", text);
		tell_together(explain, &decision, &json, text);
	} else {
		json_open(&json, "together", '[');
		json_close(&json);
	}
	json_close(&json);
}
