/*
 * What is known of sandboxes, as JSON, and the tables of its members.
 *
 * Pure functions on what the library gives, with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"
#include "libclient/yett.h"

extern const struct field portrait_fields[], portrait_usage_fields[], portrait_rule_fields[],
	portrait_mount_fields[], portrait_capability_fields[];

/* Each is the caller's; NULL: no memory. */
json_t *portrait_json(const struct yett_sandbox_status *status);
json_t *portrait_usage_json(const struct yett_usage *usage);
json_t *portrait_rules_json(const struct yett_rules *rules);
json_t *portrait_mounts_json(const struct yett_mount_list *mounts);
json_t *portrait_capabilities_json(const struct yett_capability_list *capabilities);
