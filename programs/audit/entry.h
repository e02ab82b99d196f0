/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts an audit record, with its plan and network rules, to members of a JSON object. Part of
 * yett-audit; runs without privilege.
 *
 * Records come from root's processes but hold values that users chose, so nothing in them is
 * trusted: texts are terminated, numbers are range-checked, offsets in the plan are checked, and
 * every list and text has a limit. Members have the names that yett inspect, stats and events use.
 */
#pragma once

#include "base/json.h"
#include "helper/setup/audit.h"
#include "programs/audit/follow.h"
#include "programs/net/egress.h"

#define ENTRY_RULES_MAX  256 /* network rules written as text; the others are only counted */
#define ENTRY_SHARES_MAX 64
#define ENTRY_TEXT_MAX   1024 /* bytes of a text that a user chose; longer texts are cut */

/* A record and what came with it. */
struct entry {
	struct audit_record record;
	const struct plan *plan;          /* NULL: none */
	const struct egress_rules *rules; /* NULL: none */
	uint8_t policy[32];               /* for AUDIT_POLICY: the hash of the policy image */
};

/* The name of a record kind, such as "create". NULL: there is no such kind. */
const char *entry_event(uint32_t kind);

/*
 * Terminates all texts, and replaces an error code or reason that is out of range by
 * YETT_E_PROTOCOL.
 */
void entry_sanitize(struct audit_record *record);

/* The user who caused the record. (uid_t)-1: the service itself. */
uid_t entry_uid(const struct audit_record *record);

/*
 * Adds the members. `is_short` leaves out "in_force", for a record that does not fit into a line.
 */
void entry_put(struct json *json, const struct entry *entry, bool is_short);

/*
 * In entry_happened.c: "command", "connection" or "denied". NULL: events of this kind are not
 * recorded.
 */
const char *entry_happened_event(uint32_t kind);
void entry_put_followed(struct json *json, const struct follow *follow);
void entry_put_happened(struct json *json, const struct follow *follow,
                        const struct live_event *live_event);

/* In entry_plan.c: "in_force", and where the policy defines the profile and the grant. */
void entry_put_plan(struct json *json, const struct plan *plan, const struct egress_rules *rules,
                    bool is_short);
void entry_put_rules(struct json *json, const struct egress_rules *rules);
void entry_put_section(struct json *json, const char *name, const char *section, const char *place);

/*
 * Adds a text of at most `max` bytes; a longer one is cut and ends in "…". An empty text becomes
 * null.
 */
void entry_put_text(struct json *json, const char *name, const char *text, size_t max);

/* Reads a plan from a descriptor. Returns false if the content is not a complete plan. */
bool entry_read_plan(int fd, struct plan *ret_plan);

/* Reads network rules of at most `size` bytes from a descriptor and checks them. */
bool entry_read_rules(int fd, struct egress_rules *ret_rules, size_t size);

/* Hashes the whole content of a file. */
bool entry_hash_file(int fd, uint8_t ret_hash[32]);
