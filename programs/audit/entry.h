/*
 * What a record says, as members of a JSON object: of a struct of root's, of the plan and the rules
 * that come with it.
 *
 * yett-audit's, without privilege. Root's processes fill in what users chose, so nothing of it is
 * believed: texts end, numbers are in range, places in the plan lie inside it, and everything has a
 * bound. The members are named as yett inspect, stats and events name them.
 */
#pragma once

#include "base/json.h"
#include "helper/setup/audit.h"
#include "programs/audit/follow.h"
#include "programs/egress/egress.h"

#define ENTRY_RULES_MAX  256 /* of a network, as text; the rest is counted */
#define ENTRY_SHARES_MAX 64
#define ENTRY_TEXT_MAX   1024 /* bytes of a text of a user's; what is longer is cut */

/* What came with a record. */
struct entry {
	struct audit_record record;
	const struct plan *plan;          /* NULL: none */
	const struct egress_rules *rules; /* likewise */
	uint8_t policy[32];               /* of a POLICY: the hash of its image */
};

/* "create" and so on; NULL: there is no such record. */
const char *entry_event(uint32_t kind);

/* Makes texts end and what is out of range zero. */
void entry_sanitize(struct audit_record *record);

/* Who caused it; (uid_t)-1: nobody, the service itself. */
uid_t entry_uid(const struct audit_record *record);

/* Adds the members; `is_short`: without what is in force, for what does not fit into a line. */
void entry_put(struct json *json, const struct entry *entry, bool is_short);

/* entry_happened.c: what happened in a sandbox, "command", "connection" or "denied"; NULL: none of
 * these, and nothing is recorded of it. */
const char *entry_happened_event(uint32_t kind);
void entry_put_followed(struct json *json, const struct follow *follow);
void entry_put_happened(struct json *json, const struct follow *follow,
                        const struct happening *happening);

/* entry_plan.c: "in_force", and the places of profile and grant. */
void entry_put_plan(struct json *json, const struct plan *plan, const struct egress_rules *rules,
                    bool is_short);
void entry_put_rules(struct json *json, const struct egress_rules *rules);
void entry_put_limits(struct json *json, const struct plan_limits *limits);
void entry_put_life(struct json *json, const struct plan_life *life);
void entry_put_section(struct json *json, const char *name, const char *section, const char *place);

/* A text of at most `max` bytes; what is longer ends in "…". The empty one is null. */
void entry_put_text(struct json *json, const char *name, const char *text, size_t max);

/* Reads a plan from a descriptor: whether it is one, all of it. */
bool entry_read_plan(int fd, struct plan *ret_plan);

/* The same of rules, which are checked; they take `size` bytes at most. */
bool entry_read_rules(int fd, struct egress_rules *ret_rules, size_t size);

/* A hash of all that is in a file. */
bool entry_hash_file(int fd, uint8_t ret_hash[32]);
