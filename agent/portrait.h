/*
 * Sandbox descriptions as JSON: state, usage, rules, mounts and capabilities, with the tables of
 * their members.
 *
 * Pure functions on values of libyett. Run with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"
#include "libclient/yett.h"

extern const struct field portrait_fields[], portrait_usage_fields[], portrait_rule_fields[],
	portrait_mount_fields[], portrait_capability_fields[];

/* The caller owns each result. NULL: no memory. */
json_t *portrait_json(const struct yett_sandbox_status *status);
json_t *portrait_usage_json(const struct yett_usage *usage);
json_t *portrait_rules_json(const struct yett_rules *rules);
json_t *portrait_mounts_json(const struct yett_mount_list *mounts);
json_t *portrait_capabilities_json(const struct yett_capability_list *capabilities);
