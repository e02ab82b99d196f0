/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandbox descriptions as JSON: state, usage, rules, mounts and capabilities, with the tables of
 * their members.
 *
 * Pure functions on values of libyett. Run with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"
#include "libclient/yett.h"

extern const struct field description_fields[], description_usage_fields[],
	description_rule_fields[], description_mount_fields[], description_capability_fields[];

/* The caller owns each result. NULL: no memory. */
json_t *description_json(const struct yett_sandbox_status *status);
json_t *description_usage_json(const struct yett_usage *usage);
json_t *description_rules_json(const struct yett_rules *rules);
json_t *description_mounts_json(const struct yett_mount_list *mounts);
json_t *description_capabilities_json(const struct yett_capability_list *capabilities);
