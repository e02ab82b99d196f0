/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. Prints the answers. */
#include "base/escape.h"
#include "base/json.h"
#include "base/units_format.h"
#include "programs/decide/decider/intersect.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/planning.h"
#include "programs/decide/decider/refuse.h"
#include "programs/decide/decider/refuse_plan.h"
#include "programs/decide/decider/rules.h"
#include "programs/decide/explain/print.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_ID "0000000000000000" /* for a plan that nobody carries out */

struct rule print_rule_of(const char *key, const char *section, const char *name,
                          struct policy_place place, struct policy_place otherwise)
{
	struct rule rule = {.file = place.file ? place.file : otherwise.file,
	                    .line = place.file ? place.line : otherwise.line};

	(void)snprintf(rule.text, sizeof rule.text, "%s of %s '%s'", key, section, name);
	return rule;
}

static struct rule rule_of_refusal(const struct yett_error *error)
{
	struct rule rule = {.file = error->file, .line = error->line};

	(void)snprintf(rule.text, sizeof rule.text, "%s", error->rule);
	return rule;
}

void print_json_rule(struct json *json, const char *name, const struct rule *rule)
{
	if (!rule || !rule->text[0]) {
		json_null(json, name);
		return;
	}
	json_open(json, name, '{');
	json_text(json, "rule", rule->text);
	json_text(json, "file", rule->file);
	json_number(json, "line", rule->line);
	json_close(json);
}

void print_json_open_section(struct json *json, const char *name, const char *title,
                             struct policy_place place)
{
	json_open(json, name, '{');
	json_text(json, "name", title);
	json_text(json, "file", place.file);
	json_number(json, "line", place.line);
}

void print_json_section(struct json *json, const char *name, const char *title,
                        struct policy_place place)
{
	print_json_open_section(json, name, title, place);
	json_close(json);
}

/* The rule that is a number of a grant or a ceiling. */
static struct rule rule_of_grant(const struct policy_grant *grant, enum policy_key key)
{
	return print_rule_of(refuse_key_name(key), refuse_section(grant), grant->name,
	                     grant->places[key], grant->place);
}

static const char *format_or_unlimited(uint64_t value,
                                       char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]),
                                       char text[UNITS_TEXT_SIZE])
{
	return value ? format(value, text) : "unlimited";
}

/* --- the client ------------------------------------------------------------------------------- */

void print_who(const struct explain *explain, struct json *json, FILE *text)
{
	const struct peer *peer = explain->peer;
	const struct verified *verified = &explain->verified;
	bool is_own = verified->key_source == KEY_OF_USER;

	json_open(json, "user", '{');
	json_number(json, "uid", peer->uid);
	json_text_or_null(json, "name", peer->names.user);
	if (peer->gid == WHO_NO_GROUP)
		json_null(json, "gid");
	else
		json_number(json, "gid", peer->gid);
	json_open(json, "groups", '[');
	for (size_t i = 0; i < peer->groups_count; i++)
		json_number(json, NULL, peer->groups[i]);
	json_close(json);
	json_close(json);
	json_open(json, "key", '{');
	json_text(json, "source", is_own ? "own" : "enrolled");
	json_text_or_null(json, "name", is_own ? "" : verified->principal);
	json_close(json);
	json_text(json, "policy", explain->path);
	(void)fprintf(text, "uid %u%s%s%s, with ", peer->uid, *peer->names.user ? " (" : "",
	              ESCAPE(peer->names.user), *peer->names.user ? ")" : "");
	if (is_own)
		(void)fprintf(text, "a key of the user's own");
	else
		(void)fprintf(text, "the key enrolled as '%s'", ESCAPE(verified->principal));
}

/* --- a request -------------------------------------------------------------------------------- */

/* The rule that sets the value in force: the request, the profile, a limit, or none. */
static struct rule value_rule(const struct decision *decision, enum policy_limit limit,
                              const struct yett_error *ceiling)
{
	const struct policy_profile *profile = decision->profile;
	const struct message_limits *asked = &decision->verified->request->body.create.limits;

	if (*(const uint64_t *)((const char *)asked + limits_rows[limit].asked))
		return (struct rule){.text = "", .is_asked = true};
	if (limits_value(&decision->limits, limit) != limits_value(&profile->limits, limit) &&
	    ceiling->rule[0])
		return rule_of_refusal(ceiling);
	if (!profile->limits_places[limit].file)
		return (struct rule){.text = ""};
	return print_rule_of(limits_rows[limit].name, "profile", profile->name,
	                     profile->limits_places[limit], profile->place);
}

static void explain_print_limit(const struct decision *decision, enum policy_limit limit,
                                const struct yett_error *ceiling, struct json *json, FILE *text)
{
	const struct limits_row *row = &limits_rows[limit];
	struct rule by = value_rule(decision, limit, ceiling), bound = rule_of_refusal(ceiling);
	uint64_t value = limits_value(&decision->limits, limit), most = 0;
	char number[UNITS_TEXT_SIZE];

	if (ceiling->code && row->parse(ceiling->allowed, &most) < 0)
		most = 0;
	json_open(json, NULL, '{');
	json_text(json, "limit", row->json);
	json_number_or_null(json, "value", value);
	json_bool(json, "asked", by.is_asked);
	print_json_rule(json, "set_by", &by);
	json_number_or_null(json, "ceiling", most);
	print_json_rule(json, "ceiling_by", most ? &bound : NULL);
	json_close(json);
	(void)fprintf(text, "  %-15s %-10s ", row->name,
	              format_or_unlimited(value, row->format, number));
	if (by.text[0])
		(void)fprintf(text, "%s (%s:%u)", by.text, by.file, by.line);
	else
		(void)fputs(by.is_asked ? "as asked" : "no profile sets it", text);
	if (most && strcmp(by.text, bound.text) != 0)
		(void)fprintf(text, "; at most %s by %s (%s:%u)", ceiling->allowed, bound.text,
		              bound.file, bound.line);
	(void)fputc('\n', text);
}

void print_together(const struct decision *decision, struct json *json, FILE *text)
{
	json_open(json, "together", '[');
	for (size_t i = 0; i < POLICY_BOUNDS; i++) {
		const struct intersect_row *row = &intersect_rows[i];
		const struct bound *bound = &decision->bounds[i];
		struct rule rule = {.text = ""};
		char number[UNITS_TEXT_SIZE];

		if (row->rule != INTERSECT_USER)
			continue;
		if (bound->by)
			rule = rule_of_grant(bound->by, i);
		json_open(json, NULL, '{');
		json_text(json, "limit", refuse_key_name(i));
		json_number_or_null(json, "value", bound->most);
		print_json_rule(json, "set_by", &rule);
		json_close(json);
		(void)fprintf(text, "  %-15s %s", refuse_key_name(i),
		              format_or_unlimited(bound->most, row->format, number));
		if (rule.text[0])
			(void)fprintf(text, "%*s %s (%s:%u)", (int)(10 - strlen(number)), "",
			              rule.text, rule.file, rule.line);
		(void)fputc('\n', text);
	}
	json_close(json);
}

/* How long the sandbox may linger without an attached client; "no": it may not. */
static const char *format_linger(const struct decision *decision, char text[UNITS_TEXT_SIZE])
{
	uint64_t most = decision->bounds[POLICY_KEY_LINGER].most;

	if (most == POLICY_LINGER_UNLIMITED)
		return "unlimited";
	return most ? units_format_duration(most, text) : "no";
}

static void json_linger(struct json *json, const struct decision *decision)
{
	uint64_t most = decision->bounds[POLICY_KEY_LINGER].most;

	json_bool(json, "may_linger", most != 0);
	json_number_or_null(json, "linger_max_ms", most == POLICY_LINGER_UNLIMITED ? 0 : most);
}

static void print_linger(const struct decision *decision, struct json *json, FILE *text)
{
	const struct policy_grant *by = decision->bounds[POLICY_KEY_LINGER].by;
	struct rule rule = rule_of_grant(by ? by : decision->grant, POLICY_KEY_LINGER);
	char time[UNITS_TEXT_SIZE];

	json_linger(json, decision);
	print_json_rule(json, "linger_by", &rule);
	(void)fprintf(text, "  %-15s %-10s %s (%s:%u)\n", "linger", format_linger(decision, time),
	              rule.text, rule.file, rule.line);
}

/* The rule that limits the time of each command, if there is one. */
static struct rule commands_rule(const struct decision *decision)
{
	const struct policy_profile *profile = decision->profile;

	if (!decision->life.command_max_ms)
		return (struct rule){.text = ""};
	if (decision->bounds[POLICY_KEY_COMMAND].by)
		return rule_of_grant(decision->bounds[POLICY_KEY_COMMAND].by, POLICY_KEY_COMMAND);
	return print_rule_of("max_command_timeout", "profile", profile->name,
	                     profile->command_places[1], profile->place);
}

static void json_commands(struct json *json, const struct decision *decision)
{
	struct rule rule = commands_rule(decision);

	json_number_or_null(json, "command_timeout_ms", decision->life.command_ms);
	json_number_or_null(json, "max_command_timeout_ms", decision->life.command_max_ms);
	print_json_rule(json, "max_command_timeout_by", &rule);
}

static void print_commands(const struct decision *decision, struct json *json, FILE *text)
{
	const struct policy_profile *profile = decision->profile;
	struct rule most = commands_rule(decision),
		    by = print_rule_of("command_timeout", "profile", profile->name,
	                               profile->command_places[0], profile->place);
	char time[UNITS_TEXT_SIZE];

	json_commands(json, decision);
	if (!decision->life.command_ms)
		return;
	if (decision->life.command_ms != profile->command_ms)
		by = most;
	(void)fprintf(text, "  %-15s %-10s %s (%s:%u)", "command",
	              units_format_duration(decision->life.command_ms, time), by.text, by.file,
	              by.line);
	if (most.text[0] && strcmp(by.text, most.text) != 0)
		(void)fprintf(text, "; at most %s by %s (%s:%u)",
		              units_format_duration(decision->life.command_max_ms, time), most.text,
		              most.file, most.line);
	(void)fputc('\n', text);
}

/* Prints how much may be read and written a second, if that is limited. */
static void print_disks(const struct decision *decision, struct json *json, FILE *text)
{
	json_open(json, "disks", '[');
	for (enum policy_key key = POLICY_KEY_IO_READ; key <= POLICY_KEY_IO_WRITE; key++) {
		const struct bound *bound = &decision->bounds[key];
		struct rule rule = {.text = ""};
		char rate[UNITS_TEXT_SIZE];

		if (bound->by)
			rule = rule_of_grant(bound->by, key);
		json_open(json, NULL, '{');
		json_text(json, "limit", refuse_key_name(key));
		json_number_or_null(json, "value", bound->most);
		print_json_rule(json, "set_by", &rule);
		json_close(json);
		if (bound->by)
			(void)fprintf(text, "  %-15s %-10s %s (%s:%u), a second, of each disk\n",
			              refuse_key_name(key), units_format_size(bound->most, rate),
			              rule.text, rule.file, rule.line);
	}
	json_close(json);
}

static int print_check_share(const struct explain *explain, const struct plan *plan, uint32_t step,
                             const int *fds, struct yett_error *error)
{
	struct share_protected protected_paths = explain->protected_paths;
	struct stat st;
	int r = share_check(&protected_paths, plan, fds[plan->steps[step].fd], &plan->steps[step],
	                    &st, error);

	if (r > 0)
		refuse_plan_complete(plan, error);
	return r;
}

/*
 * Makes the plan of the same request, with the same steps, for a grant without share_rw. A share
 * that this plan allows is allowed by share_ro.
 */
static bool plan_read_only(const struct explain *explain, const struct decision *decision,
                           struct plan *ret_plan)
{
	struct policy_grant grant = *decision->grant;
	struct decision narrow = *decision;
	struct yett_error unused;

	grant.share_rw = (struct policy_list){0};
	narrow.grant = &grant;
	return planning_make(explain->policy, &narrow, NO_ID, ret_plan, &unused) == 0;
}

static void print_shares(const struct explain *explain, const struct plan *plan,
                         const struct decision *decision, const int *fds, struct json *json,
                         FILE *text)
{
	static struct plan narrow;
	const struct policy_grant *grant = decision->grant;
	bool has_narrow = plan_read_only(explain, decision, &narrow);
	struct yett_error unused;

	json_open(json, "shares", '[');
	for (uint32_t i = 0; i < plan->steps_count; i++) {
		const struct plan_step *step = &plan->steps[i];
		const char *target = plan_text(plan, step->target);
		enum policy_key key = POLICY_KEY_SOCKETS;
		struct rule rule;

		/* No grant says where a store may be. */
		if (step->kind != PLAN_SHARE || step->layer == PLAN_LAYER_STORE)
			continue;
		if (!step->is_socket)
			key = (step->writable && !step->layer) || !has_narrow ||
			                      print_check_share(explain, &narrow, i, fds,
			                                        &unused) != 0
			              ? POLICY_KEY_SHARE_RW
			              : POLICY_KEY_SHARE_RO;
		rule = print_rule_of(key == POLICY_KEY_SOCKETS    ? "sockets"
		                     : key == POLICY_KEY_SHARE_RW ? "share_rw"
		                                                  : "share_ro",
		                     "grant", grant->name, grant->places[key], grant->place);
		json_open(json, NULL, '{');
		json_text(json, "target", target);
		json_bool(json, "writable", step->writable);
		json_bool(json, "socket", step->is_socket);
		json_bool(json, "copy_on_write", step->layer);
		print_json_rule(json, "allowed_by", &rule);
		json_close(json);
		(void)fprintf(text, "  %-15s %s, %s: %s (%s:%u)\n", "share", ESCAPE(target),
		              step->is_socket  ? "a socket"
		              : step->layer    ? "copy-on-write"
		              : step->writable ? "writable"
		                               : "read-only",
		              rule.text, rule.file, rule.line);
	}
	json_close(json);
}

/* Checks each share as the helper does before it clones the mount. */
static int print_check_shares(const struct explain *explain, const struct plan *plan,
                              const int *fds, struct yett_error *error)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < plan->steps_count; i++)
		if (plan->steps[i].kind == PLAN_SHARE)
			r = print_check_share(explain, plan, i, fds, error);
	if (r > 0)
		(void)error_cause(error, plan_name_step(PLAN_SHARE), 0);
	return r;
}

/* Checks access to devices as the helper does, but only if the assumed client is the caller. */
static int print_check_devices(const struct explain *explain, const struct policy_list *devices,
                               struct yett_error *error)
{
	for (size_t i = 0; explain->peer->uid == geteuid() && i < devices->count; i++)
		if (faccessat(AT_FDCWD, devices->items[i], R_OK | W_OK, AT_EACCESS) < 0)
			return error_set(
				error, YETT_E_PERMISSION_DENIED, 0,
				"uid %u cannot have the device %s in a sandbox, lacking read and write access outside",
				explain->peer->uid, devices->items[i]);
	return 0;
}

static void print_devices(const struct explain *explain, const struct decision *decision,
                          struct json *json, FILE *text)
{
	const struct policy_list *devices = &decision->profile->devices;
	const struct policy_grant *grant = decision->grant;
	struct rule rule = print_rule_of("devices", "grant", grant->name,
	                                 grant->places[POLICY_KEY_DEVICES], grant->place);

	json_open(json, "devices", '[');
	for (size_t i = 0; i < devices->count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "path", devices->items[i]);
		print_json_rule(json, "allowed_by", &rule);
		json_close(json);
		(void)fprintf(text, "  %-15s %s, weaker: %s (%s:%u)", "device",
		              ESCAPE(devices->items[i]), rule.text, rule.file, rule.line);
		if (explain->peer->uid == geteuid())
			(void)fputc('\n', text);
		else
			(void)fprintf(text, ", if uid %u may read and write it outside\n",
			              explain->peer->uid);
	}
	json_close(json);
}

int explain_request(const struct explain *explain, const int *fds, struct explain_answer *answer,
                    struct yett_error *error)
{
	static struct plan plan;
	struct json json = {.to = answer->json};
	struct limits_refusals refusals;
	struct decision decision;
	FILE *text = answer->text;
	int r = authorize(explain->policy, &explain->verified, &explain_gives, &decision, error);

	if (r == 0)
		r = planning_make(explain->policy, &decision, NO_ID, &plan, error);
	if (r == 0)
		r = print_check_shares(explain, &plan, fds, error);
	if (r == 0)
		r = print_check_devices(explain, &decision.profile->devices, error);
	if (r != 0)
		return r;
	limits_find(explain, decision.profile->name, &refusals);
	json_open(&json, NULL, '{');
	(void)fputs("allowed: ", text);
	print_who(explain, &json, text);
	(void)fprintf(text, "\n  %-15s '%s' (%s:%u)\n", "grant", decision.grant->name,
	              decision.grant->place.file, decision.grant->place.line);
	(void)fprintf(text, "  %-15s '%s' (%s:%u)\n", "profile", decision.profile->name,
	              decision.profile->place.file, decision.profile->place.line);
	print_json_section(&json, "grant", decision.grant->name, decision.grant->place);
	print_json_section(&json, "profile", decision.profile->name, decision.profile->place);
	json_open(&json, "limits", '[');
	for (int limit = 0; limit < POLICY_LIMITS; limit++)
		explain_print_limit(&decision, limit, &refusals.of[limit], &json, text);
	json_close(&json);
	print_linger(&decision, &json, text);
	print_commands(&decision, &json, text);
	print_disks(&decision, &json, text);
	print_shares(explain, &plan, &decision, fds, &json, text);
	print_devices(explain, &decision, &json, text);
	print_network(explain, &decision, &json, text);
	(void)fputs("of all sandboxes of the user together\n", text);
	print_together(&decision, &json, text);
	json_close(&json);
	return 0;
}

/* --- profiles --------------------------------------------------------------------------------- */

/* Prints for example "2G of 32G": the default and the maximum. */
static void print_profile_limit(const struct decision *decision, enum policy_limit limit,
                                const struct yett_error *ceiling, struct json *json, FILE *text)
{
	const struct limits_row *row = &limits_rows[limit];
	uint64_t value = limits_value(&decision->limits, limit), most = 0;
	struct rule bound = rule_of_refusal(ceiling);
	char number[UNITS_TEXT_SIZE], both[2 * UNITS_TEXT_SIZE + sizeof ceiling->allowed];

	if (ceiling->code && row->parse(ceiling->allowed, &most) < 0)
		most = 0;
	json_open(json, NULL, '{');
	json_text(json, "limit", row->json);
	json_number_or_null(json, "value", value);
	json_number_or_null(json, "ceiling", most);
	print_json_rule(json, "ceiling_by", most ? &bound : NULL);
	json_close(json);
	(void)snprintf(both, sizeof both, "%s%s%s", format_or_unlimited(value, row->format, number),
	               most && most != value ? " of " : "",
	               most && most != value ? ceiling->allowed : "");
	if (limit < POLICY_LIMIT_FILE_SIZE) /* keeps the lines short */
		(void)fprintf(text, " %-16s", both);
}

/* Adds the items of both lists (NULL: empty) without duplicates. */
static void json_lists(struct json *json, const char *name, const struct policy_list *first,
                       const struct policy_list *second)
{
	json_open(json, name, '[');
	for (size_t i = 0; first && i < first->count; i++)
		json_text(json, NULL, first->items[i]);
	for (size_t i = 0; second && i < second->count; i++) {
		bool is_new = true;

		for (size_t k = 0; first && k < first->count; k++)
			is_new = is_new && strcmp(first->items[k], second->items[i]) != 0;
		if (is_new)
			json_text(json, NULL, second->items[i]);
	}
	json_close(json);
}

static void print_profile(const struct explain *explain, const struct decision *decision,
                          struct json *json, FILE *text)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	struct limits_refusals refusals;
	bool reads, writes;
	char time[UNITS_TEXT_SIZE], network[32];

	limits_find(explain, profile->name, &refusals);
	reads = refusals.share_ro.code == YETT_OK;
	writes = refusals.share_rw.code == YETT_OK;
	json_open(json, NULL, '{');
	json_text(json, "name", profile->name);
	json_text(json, "file", profile->place.file);
	json_number(json, "line", profile->place.line);
	print_json_section(json, "grant", grant->name, grant->place);
	json_open(json, "limits", '[');
	(void)fprintf(text, "%-12s", profile->name);
	for (int limit = 0; limit < POLICY_LIMITS; limit++)
		print_profile_limit(decision, limit, &refusals.of[limit], json, text);
	json_close(json);
	json_open(json, "shares", '{');
	/* A directory that may be shared writable may also be shared read-only. */
	json_lists(json, "read_only", reads ? &grant->share_ro : NULL,
	           reads ? &grant->share_rw : NULL);
	json_lists(json, "writable", NULL, writes ? &grant->share_rw : NULL);
	json_lists(json, "sockets", profile->shares ? &grant->sockets : NULL, NULL);
	json_close(json);
	json_linger(json, decision);
	json_commands(json, decision);
	json_open(json, "network", '{');
	json_text(json, "value", plan_name_network(decision->network));
	json_text(json, "ceiling", plan_name_network(grant->network));
	json_close(json);
	(void)snprintf(network, sizeof network, "%s%s%s", plan_name_network(decision->network),
	               grant->network > decision->network ? " of " : "",
	               grant->network > decision->network ? plan_name_network(grant->network) : "");
	json_close(json);
	(void)fprintf(text, " %-8s %-16s %-10s %s (%s:%u)\n",
	              writes  ? "rw"
	              : reads ? "ro"
	                      : "none",
	              network, format_linger(decision, time), grant->name, grant->place.file,
	              grant->place.line);
}

int explain_profiles(const struct explain *explain, struct explain_answer *answer,
                     struct yett_error *error)
{
	static struct message request;
	struct explain with = *explain;
	struct json json = {.to = answer->json};
	struct yett_error first = {0}, why;
	struct decision decision, last;
	FILE *text = answer->text;
	size_t found = 0;

	json_open(&json, NULL, '{');
	json_open(&json, "profiles", '[');
	(void)fprintf(text, "%-12s %-16s %-16s %-16s %-16s %-8s %-16s %-10s %s\n", "PROFILE",
	              "MEMORY", "CPUS", "PIDS", "FILES", "SHARES", "NETWORK", "LINGER", "GRANT");
	for (size_t i = 0; i < explain->policy->profiles_count; i++) {
		struct message_create *create = &message_begin(&request, MESSAGE_CREATE)->create;

		with.verified.request = &request;
		if (message_add_text(&request, explain->policy->profiles[i].name,
		                     &create->profile) < 0)
			/* cannot happen: a name has at most 64 bytes, and the arena is empty */
			continue;
		if (authorize(explain->policy, &with.verified, &explain_gives, &decision, &why) !=
		    0) {
			first = first.code ? first : why;
			continue;
		}
		last = decision;
		print_profile(&with, &decision, &json, text);
		found++;
	}
	json_close(&json);
	if (found == 0) {
		if (first.code == YETT_OK)
			return error_set(error, YETT_E_PERMISSION_DENIED, 0,
			                 "the policy has no profile");
		*error = first;
		return (int)first.code;
	}
	(void)fputs("as ", text);
	print_who(&with, &json, text);
	(void)fputs("\nof all sandboxes of the user together\n", text);
	print_together(&last, &json, text);
	json_close(&json);
	return 0;
}
