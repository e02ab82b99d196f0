/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. Prints the rules that are in force for a user. */
#include "base/date.h"
#include "base/escape_list.h"
#include "base/units.h"
#include "helper/plan/admit.h"
#include "programs/decide/decider/intersect.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/refuse.h"
#include "programs/decide/explain/print.h"

#include <string.h>

static const struct {
	const char *key;
	enum policy_key place;
	size_t at;
} lists[] = {
#define LIST(name, place)                                         \
	{                                                         \
#name, place, offsetof(struct policy_grant, name) \
	}
	LIST(keys, POLICY_KEY_KEYS),         LIST(share_ro, POLICY_KEY_SHARE_RO),
	LIST(share_rw, POLICY_KEY_SHARE_RW), LIST(sockets, POLICY_KEY_SOCKETS),
	LIST(devices, POLICY_KEY_DEVICES),   LIST(capabilities, POLICY_KEY_CAPABILITIES),
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
	SWITCH(user_keys, POLICY_KEY_USER_KEYS),
	SWITCH(confined_clients, POLICY_KEY_CONFINED),
	SWITCH(identity_root, POLICY_KEY_IDENTITY_ROOT),
	SWITCH(identity_caller, POLICY_KEY_IDENTITY_CALLER),
	SWITCH(nested_userns, POLICY_KEY_NESTED_USERNS),
	SWITCH(perf_events, POLICY_KEY_PERF_EVENTS),
	SWITCH(allow_private, POLICY_KEY_ALLOW_PRIVATE),
#undef SWITCH
};

/* Opens an object for a key, with the place that sets it; null: the policy does not set it. */
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

static void effective_print_key(FILE *text, const char *key, const char *value,
                                struct policy_place place)
{
	(void)fprintf(text, "    %-19s %s (%s:%u)\n", key, value, place.file, place.line);
}

/* The meaning of a key that the policy does not set. */
static const char *word_of_unset(const struct intersect_row *row, const struct policy_grant *grant)
{
	if (row->rule == INTERSECT_LINGER)
		return "none";
	return row->rule == INTERSECT_USER || grant->is_ceiling ? "unlimited" : "profile";
}

static void effective_print_bounds(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "bounds", '[');
	for (size_t i = 0; i < POLICY_BOUNDS; i++) {
		const struct intersect_row *row = &intersect_rows[i];
		uint64_t value = intersect_value(row, grant);
		bool is_unlimited = i == POLICY_KEY_LINGER && value == POLICY_LINGER_UNLIMITED;
		bool is_core_none = i == POLICY_LIMIT_CORE && value == PLAN_CORE_NONE;
		struct policy_place place = grant->places[i];
		char number[UNITS_TEXT_SIZE];
		const char *word = is_unlimited   ? "unlimited"
		                   : is_core_none ? "none"
		                   : value        ? NULL
		                                  : word_of_unset(row, grant);

		if (!value && place.file)
			word = i == POLICY_KEY_LINGER ? "none" : "unlimited";
		begin_key(json, refuse_key_name(i), place);
		json_number_or_null(json, "value", word ? 0 : value);
		json_text(json, "word", word);
		json_close(json);
		if (place.file)
			effective_print_key(text, refuse_key_name(i),
			                    word ? word : row->format(value, number), place);
	}
	json_close(json);
}

static void print_lists(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "lists", '[');
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct policy_list *list =
			(const struct policy_list *)(const void *)((const char *)grant +
		                                                   lists[i].at);
		struct policy_place place = grant->places[lists[i].place];
		char items[ESCAPE_SIZE];

		begin_key(json, lists[i].key, place);
		json_open(json, "items", '[');
		for (size_t item = 0; item < list->count; item++)
			json_text(json, NULL, list->items[item]);
		json_close(json);
		json_close(json);
		if (place.file)
			effective_print_key(
				text, lists[i].key,
				escape_list(list->items, list->count, items, sizeof items), place);
	}
	json_close(json);
}

static void print_switches(const struct policy_grant *grant, struct json *json, FILE *text)
{
	json_open(json, "switches", '[');
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		bool value = *(const bool *)((const char *)grant + switches[i].at);
		struct policy_place place = grant->places[switches[i].place];

		begin_key(json, switches[i].key, place);
		json_bool(json, "value", value);
		json_close(json);
		if (place.file)
			effective_print_key(text, switches[i].key, value ? "true" : "false", place);
	}
	json_close(json);
}

static void print_network_of(const struct explain *explain, const struct policy_grant *grant,
                             struct json *json, FILE *text)
{
	struct policy_place place = grant->places[POLICY_KEY_NETWORK];
	char section[160];

	(void)snprintf(section, sizeof section, "grant '%s'", grant->name);
	json_open(json, "network", '{');
	json_text(json, "ceiling", plan_name_network(grant->network));
	json_text(json, "file", place.file);
	json_number_or_null(json, "line", place.file ? place.line : 0);
	if (place.file)
		effective_print_key(text, "network", plan_name_network(grant->network), place);
	json_open(json, "rules", '[');
	print_network_list(explain, &grant->allow, section, json, text);
	print_network_list(explain, &grant->deny, section, json, text);
	json_close(json);
	json_close(json);
}

/*
 * Lists the profiles for which `grant` decides. If there are none, *ret_instead is the first grant
 * that decides instead, or NULL.
 */
static size_t print_gives(const struct explain *explain, const struct policy_grant *grant,
                          struct json *json, FILE *text, const struct policy_grant **ret_instead)
{
	const struct policy *policy = explain->policy;
	struct verified verified = explain->verified;
	size_t given = 0;

	verified.is_agents = grant->agents;
	*ret_instead = NULL;
	json_open(json, "profiles", '[');
	for (size_t i = 0; i < policy->profiles_count; i++) {
		const char *name = policy->profiles[i].name;
		struct choice choice;

		if (!admit_list_has(&grant->profiles, "*") &&
		    !admit_list_has(&grant->profiles, name))
			continue;
		choice = authorize_choose(policy, &verified, name);
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

/* Uses the same rule as authorize_choose(). */
static bool effective_fits_key(const struct policy_grant *grant, const struct verified *verified)
{
	if (verified->key_source == KEY_OF_USER)
		return grant->user_keys;
	return admit_list_has(&grant->keys, "*") ||
	       admit_list_has(&grant->keys, verified->principal);
}

/* Prints why a grant gives nothing. */
static void print_nothing(const struct policy_grant *grant, bool fits,
                          const struct policy_grant *instead, FILE *text)
{
	if (grant->is_void)
		(void)fprintf(text, "is void: %s", grant->notice);
	else if (!fits || !instead)
		(void)fprintf(text, "gives nothing%s", fits ? "" : " with this key");
	else
		(void)fprintf(text, "gives nothing: '%s' (%s:%u) decides", instead->name,
		              instead->place.file, instead->place.line);
	if (!grant->is_void)
		(void)fputs("; only its bounds of all sandboxes together count", text);
}

static const char *const namings[] = {"", "everyone", "a group", "the user"};

static void print_grant(const struct explain *explain, const struct policy_grant *grant,
                        size_t number, struct json *json, FILE *text)
{
	const char *names = namings[authorize_naming(grant, explain->peer)];
	const struct policy_grant *instead;
	char date[DATE_TEXT_SIZE];
	bool fits = effective_fits_key(grant, &explain->verified);
	size_t given;

	print_json_open_section(json, NULL, grant->name, grant->place);
	json_text(json, "names", names);
	json_bool(json, "agents", grant->agents);
	json_bool(json, "fall_through", grant->fall_through);
	json_text_or_null(json, "expires", grant->expires ? date_format(grant->expires, date) : "");
	json_text_or_null(json, "void", grant->is_void ? grant->notice : "");
	(void)fprintf(text, "%zu. grant '%s' (%s:%u) %snames %s and ", number, grant->name,
	              grant->place.file, grant->place.line,
	              grant->agents ? "is for what agents ask for, " : "", names);
	given = print_gives(explain, grant, json, text, &instead);
	json_bool(json, "fits_key", fits);
	if (given == 0 && fits && instead)
		print_json_section(json, "shadowed_by", instead->name, instead->place);
	else
		json_null(json, "shadowed_by");
	if (given == 0)
		print_nothing(grant, fits, instead, text);
	(void)fprintf(text, "%s%s%s\n", grant->fall_through ? ", and falls through" : "",
	              grant->expires ? ", until " : "", grant->expires ? date : "");
	effective_print_bounds(grant, json, text);
	print_lists(grant, json, text);
	print_switches(grant, json, text);
	print_network_of(explain, grant, json, text);
	json_close(json);
}

/* Lists the ceilings, which limit the user no matter which grant decides. */
static void print_ceilings(const struct explain *explain, struct json *json, FILE *text)
{
	json_open(json, "ceilings", '[');
	for (const struct policy_grant *ceiling = NULL;
	     (ceiling = admit_next(explain->policy, explain->peer, ceiling));) {
		const char *names = namings[authorize_naming(ceiling, explain->peer)];

		if (!ceiling->is_ceiling)
			continue;
		print_json_open_section(json, NULL, ceiling->name, ceiling->place);
		json_text(json, "names", names);
		(void)fprintf(text, "ceiling '%s' (%s:%u) names %s\n", ceiling->name,
		              ceiling->place.file, ceiling->place.line, names);
		effective_print_bounds(ceiling, json, text);
		json_close(json);
	}
	json_close(json);
}

/* Lists the expired grants that named the peer. */
static void effective_print_expired(const struct explain *explain, struct json *json, FILE *text)
{
	struct peer before = *explain->peer;
	char date[DATE_TEXT_SIZE];

	before.now = 0;
	json_open(json, "expired", '[');
	for (const struct policy_grant *grant = NULL;
	     (grant = admit_next(explain->policy, &before, grant));) {
		if (!grant->expires || grant->expires > explain->peer->now)
			continue;
		print_json_open_section(json, NULL, grant->name, grant->place);
		json_text(json, "expired_at", date_format(grant->expires, date));
		json_close(json);
		(void)fprintf(text, "grant '%s' (%s:%u) has expired: %s\n", grant->name,
		              grant->place.file, grant->place.line, date);
	}
	json_close(json);
}

/*
 * Finds the decision about any profile. The limits of all sandboxes together are the same in each.
 */
static bool find_decision(const struct explain *explain, struct message *request,
                          struct decision *ret_decision)
{
	struct verified verified = explain->verified;
	struct yett_error unused;

	verified.request = request;
	for (size_t i = 0; i < explain->policy->profiles_count; i++) {
		struct message_create *create = &message_begin(request, MESSAGE_CREATE)->create;

		if (message_add_text(request, explain->policy->profiles[i].name,
		                     &create->profile) == 0 &&
		    authorize(explain->policy, &verified, &explain_gives, ret_decision, &unused) ==
		            0)
			return true;
	}
	return false;
}

void explain_effective(const struct explain *explain, struct explain_answer *answer)
{
	static struct message request;
	struct json json = {.to = answer->json};
	FILE *text = answer->text;
	struct decision decision;
	size_t count = 0;

	json_open(&json, NULL, '{');
	(void)fputs("in force for ", text);
	print_who(explain, &json, text);
	(void)fprintf(text, ", by %s\n", ESCAPE(explain->path));
	json_open(&json, "grants", '[');
	for (unsigned rank = AUTHORIZE_RANKS - 1; rank > 0; rank--)
		for (const struct policy_grant *grant = NULL;
		     (grant = admit_next(explain->policy, explain->peer, grant));)
			if (authorize_rank(grant, &explain->verified) == rank)
				print_grant(explain, grant, ++count, &json, text);
	json_close(&json);
	if (count == 0)
		(void)fputs("no grant: every request is refused\n", text);
	effective_print_expired(explain, &json, text);
	print_ceilings(explain, &json, text);
	if (find_decision(explain, &request, &decision)) {
		(void)fputs("of all sandboxes of the user together\n", text);
		print_together(&decision, &json, text);
	} else {
		json_open(&json, "together", '[');
		json_close(&json);
	}
	json_close(&json);
}
