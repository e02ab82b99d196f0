/* SPDX-License-Identifier: Apache-2.0 */
/* See refuse.h. No privilege. */
#include "programs/decide/decider/refuse.h"
#include "base/date.h"
#include "base/error_rule.h"
#include "base/escape_list.h"
#include "base/units.h"

#include <string.h>

/* The keys of a grant or ceiling; below, the offsets of the keys that are lists. */
static const char *const keys[POLICY_KEYS] = {
	[POLICY_LIMIT_MEMORY] = "max_memory",
	[POLICY_LIMIT_CPUS] = "max_cpus",
	[POLICY_LIMIT_PIDS] = "max_pids",
	[POLICY_LIMIT_FILES] = "max_files",
	[POLICY_LIMIT_FILE_SIZE] = "max_file_size",
	[POLICY_LIMIT_CORE] = "max_core",
	[POLICY_KEY_SANDBOXES] = "max_sandboxes",
	[POLICY_KEY_LINGER] = "linger_max",
	[POLICY_KEY_COMMAND] = "max_command_timeout",
	[POLICY_KEY_IO_READ] = "max_io_read",
	[POLICY_KEY_IO_WRITE] = "max_io_write",
	[POLICY_KEY_USER_MEMORY] = "user_memory",
	[POLICY_KEY_USER_CPUS] = "user_cpus",
	[POLICY_KEY_USER_PIDS] = "user_pids",
	[POLICY_KEY_USER_TERMINALS] = "user_terminals",
	[POLICY_KEY_CREATIONS] = "max_creations",
	[POLICY_KEY_REQUESTS] = "max_requests",
	[POLICY_KEY_IDENTITY_ROOT] = "identity_root",
	[POLICY_KEY_IDENTITY_CALLER] = "identity_caller",
	[POLICY_KEY_NESTED_USERNS] = "nested_userns",
	[POLICY_KEY_PERF_EVENTS] = "perf_events",
	[POLICY_KEY_USER_KEYS] = "user_keys",
	[POLICY_KEY_CONFINED] = "confined_clients",
	[POLICY_KEY_ALLOW_PRIVATE] = "allow_private",
	[POLICY_KEY_NETWORK] = "network",
	[POLICY_KEY_ALLOW] = "allow",
	[POLICY_KEY_KEYS] = "keys",
	[POLICY_KEY_PROFILES] = "profiles",
	[POLICY_KEY_SHARE_RO] = "share_ro",
	[POLICY_KEY_SHARE_RW] = "share_rw",
	[POLICY_KEY_SOCKETS] = "sockets",
	[POLICY_KEY_CAPABILITIES] = "capabilities",
	[POLICY_KEY_DEVICES] = "devices",
};
#define LIST(name) offsetof(struct policy_grant, name)
static const size_t lists[] = {LIST(keys),    LIST(profiles),     LIST(share_ro), LIST(share_rw),
                               LIST(sockets), LIST(capabilities), LIST(devices)};
_Static_assert(POLICY_KEYS - POLICY_KEY_KEYS == ARRAY_SIZE(lists), "lists come last");

const char *refuse_key_name(enum policy_key key)
{
	return keys[key];
}

const char *refuse_section(const struct policy_grant *grant)
{
	return grant->is_ceiling ? "ceiling" : "grant";
}

int refuse_key(const struct policy_grant *grant, enum policy_key key, const char *asked,
               const char *allowed, struct yett_error *error)
{
	const struct policy_list *list =
		key < POLICY_KEY_KEYS
			? NULL
			: (const void *)((const char *)grant + lists[key - POLICY_KEY_KEYS]);
	const struct policy_place *place =
		grant->places[key].file ? &grant->places[key] : &grant->place;
	bool is_list = key >= POLICY_KEY_ALLOW;
	char text[128];

	if (list)
		allowed = escape_list(list->items, list->count, text, sizeof text);
	error_rest(error,
	           &(struct error_rule){keys[key], refuse_section(grant), grant->name, place->file,
	                                place->line, ESCAPE(asked), allowed, is_list});
	return (int)error->code;
}

int refuse_expired(const struct policy_grant *grant, uint64_t now, struct yett_error *error)
{
	char text[2][DATE_TEXT_SIZE];

	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0, "the grant '%s' has expired",
	                grant->name);
	error_rest(error, &(struct error_rule){"expire", "grant", grant->name, grant->place.file,
	                                       grant->place.line, date_format(now, text[0]),
	                                       date_format(grant->expires, text[1]), false});
	error_mend(error, "a later expire in grant '%s' (%s:%u)", grant->name, grant->place.file,
	           grant->place.line);
	return YETT_E_PERMISSION_DENIED;
}

void refuse_rate(const struct policy *policy, struct yett_error *error)
{
	bool is_of_creations = strcmp(error->rule, "max_creations") == 0;
	char asked[UNITS_TEXT_SIZE], allowed[UNITS_TEXT_SIZE];
	const struct policy_grant *grant;
	uint32_t most;

	if ((!is_of_creations && strcmp(error->rule, "max_requests") != 0) ||
	    error->line >= policy->grants_count)
		return;
	grant = &policy->grants[error->line];
	most = is_of_creations ? grant->creations_max : grant->requests_max;
	(void)refuse_key(grant, is_of_creations ? POLICY_KEY_CREATIONS : POLICY_KEY_REQUESTS,
	                 units_format_number(most + UINT64_C(1), asked),
	                 units_format_number(most, allowed), error);
}
