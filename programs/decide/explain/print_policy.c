/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. Reports on a policy itself. */
#include "base/date.h"
#include "programs/decide/explain/print.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_void(const struct policy_grant *grant, struct json *json, FILE *text)
{
	print_json_open_section(json, NULL, grant->name, grant->place);
	json_text(json, "why", grant->notice);
	json_close(json);
	(void)fprintf(text, "%s\n", grant->notice);
}

static bool print_policy_has_expired(const struct explain *explain,
                                     const struct policy_grant *grant)
{
	return grant->expires && grant->expires <= explain->peer->now;
}

static void print_policy_print_expired(const struct policy_grant *grant, struct json *json,
                                       FILE *text)
{
	char date[DATE_TEXT_SIZE];

	print_json_open_section(json, NULL, grant->name, grant->place);
	json_text(json, "expired_at", date_format(grant->expires, date));
	json_close(json);
	(void)fprintf(text, "%s:%u: the grant '%s' has expired: %s\n", grant->place.file,
	              grant->place.line, grant->name, date);
}

static void print_shadow(const struct policy_grant *grant, const struct policy_grant *by,
                         struct json *json, FILE *text)
{
	print_json_open_section(json, NULL, grant->name, grant->place);
	print_json_section(json, "by", by->name, by->place);
	json_close(json);
	(void)fprintf(
		text,
		"%s:%u: the grant '%s' never decides: '%s' (%s:%u) always comes before it; only its bounds of all sandboxes together count\n",
		grant->place.file, grant->place.line, grant->name, by->name, by->place.file,
		by->place.line);
}

/* Reports a ceiling that never has an effect. */
static void print_idle(const struct policy_grant *ceiling, const struct policy_grant *by,
                       struct json *json, FILE *text)
{
	print_json_open_section(json, NULL, ceiling->name, ceiling->place);
	print_json_section(json, "by", by->name, by->place);
	json_close(json);
	(void)fprintf(text, "%s:%u: the ceiling '%s' ", ceiling->place.file, ceiling->place.line,
	              ceiling->name);
	if (by == ceiling)
		(void)fputs("bounds nothing\n", text);
	else
		(void)fprintf(
			text,
			"never counts: '%s' (%s:%u) covers the same requests or more, and bounds as much or more\n",
			by->name, by->place.file, by->place.line);
}

/* `item` is "KEY\tVALUE", followed by "\tFILE:LINE" if it replaces an earlier value there. */
static void print_origin(const char *item, const struct policy_place *place, struct json *json,
                         FILE *text)
{
	_cleanup_free_ char *copy = strdup(item);
	char *replaced = copy, *key = strsep(&replaced, "\t"), *value = strsep(&replaced, "\t");

	if (!value)
		return;
	json_open(json, NULL, '{');
	json_text(json, "key", key);
	json_text(json, "value", value);
	json_text(json, "file", place->file);
	json_number(json, "line", place->line);
	json_text_or_null(json, "replaces", replaced ? replaced : "");
	json_close(json);
	(void)fprintf(text, "%s = %s (%s:%u)%s%s\n", key, value, place->file, place->line,
	              replaced ? ", in the place of " : "", replaced ? replaced : "");
}

void explain_origin(const struct explain *explain, struct explain_answer *answer)
{
	const struct policy_list *origins = &explain->policy->origins;
	struct json json = {.to = answer->json};

	json_open(&json, NULL, '{');
	json_text(&json, "policy", explain->path);
	json_open(&json, "helper", '[');
	for (size_t i = 0; i < origins->count; i++)
		print_origin(origins->items[i], &origins->places[i], &json, answer->text);
	json_close(&json);
	json_close(&json);
	if (origins->count == 0)
		(void)fprintf(answer->text, "%s: nothing is written of the helper\n",
		              explain->path);
}

static bool is_enrolled(const struct policy *policy, const char *key)
{
	size_t length = strlen(key);

	for (size_t i = 0; i < policy->enrolled_count; i++)
		if (strncmp(policy->enrolled[i].file, key, length) == 0 &&
		    strcmp(policy->enrolled[i].file + length, ".pub") == 0)
			return true;
	return strcmp(key, "*") == 0;
}

/* Reports keys that are not enrolled. Reports nothing if the enrolled keys are not known. */
static void print_unenrolled(const struct policy *policy, const struct policy_grant *grant,
                             struct json *json, FILE *text)
{
	bool is_known =
		policy->keys_inode || (access(policy->keys_dir, F_OK) < 0 && errno == ENOENT);

	for (size_t i = 0; is_known && i < grant->keys.count; i++) {
		const struct policy_place *place = &grant->keys.places[i];

		if (is_enrolled(policy, grant->keys.items[i]))
			continue;
		print_json_open_section(json, NULL, grant->name, grant->place);
		json_text(json, "key", grant->keys.items[i]);
		json_close(json);
		(void)fprintf(
			text,
			"%s:%u: the grant '%s' is for the key '%s', and none is enrolled by that name\n",
			place->file, place->line, grant->name, grant->keys.items[i]);
	}
}

void explain_policy(const struct explain *explain, struct explain_answer *answer)
{
	const struct policy *policy = explain->policy;
	struct json json = {.to = answer->json};
	size_t grants = policy->grants_count - policy->ceilings_count;
	uint32_t nobody = shadow_nobody(policy);

	json_open(&json, NULL, '{');
	json_text(&json, "policy", explain->path);
	json_number(&json, "profiles", policy->profiles_count);
	json_number(&json, "grants", grants);
	json_number(&json, "ceilings", policy->ceilings_count);
	json_open(&json, "void", '[');
	for (size_t i = 0; i < policy->grants_count; i++)
		if (policy->grants[i].is_void ||
		    (*policy->grants[i].notice &&
		     !print_policy_has_expired(explain, &policy->grants[i])))
			print_void(&policy->grants[i], &json, answer->text);
	json_close(&json);
	json_open(&json, "expired", '[');
	for (size_t i = 0; i < grants; i++)
		if (print_policy_has_expired(explain, &policy->grants[i]))
			print_policy_print_expired(&policy->grants[i], &json, answer->text);
	json_close(&json);
	json_open(&json, "unenrolled", '[');
	for (size_t i = 0; i < grants; i++)
		print_unenrolled(policy, &policy->grants[i], &json, answer->text);
	json_close(&json);
	json_open(&json, "shadowed", '[');
	for (size_t i = 0; i < grants; i++) {
		bool is_expired = print_policy_has_expired(explain, &policy->grants[i]);
		const struct policy_grant *by =
			is_expired ? NULL
				   : shadow_find(policy, nobody, explain->peer->now,
		                                 &policy->grants[i]);

		if (by)
			print_shadow(&policy->grants[i], by, &json, answer->text);
	}
	for (size_t i = grants; i < policy->grants_count; i++) {
		const struct policy_grant *by =
			policy->grants[i].is_void
				? NULL
				: shadow_find_ceiling(policy, nobody, &policy->grants[i]);

		if (by)
			print_idle(&policy->grants[i], by, &json, answer->text);
	}
	json_close(&json);
	json_close(&json);
	(void)fprintf(answer->text, "%s: %zu profile%s, %zu grant%s", explain->path,
	              policy->profiles_count, policy->profiles_count == 1 ? "" : "s", grants,
	              grants == 1 ? "" : "s");
	if (policy->ceilings_count > 0)
		(void)fprintf(answer->text, ", %u ceiling%s", policy->ceilings_count,
		              policy->ceilings_count == 1 ? "" : "s");
	(void)fputc('\n', answer->text);
}
