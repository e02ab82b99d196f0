/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that print the parts of an answer, shared by the source files. Run with the privilege
 * of the caller: see explain.h.
 */
#pragma once

#include "base/json.h"
#include "programs/decide/explain/explain.h"

/* A key of the policy and the place that sets it. If it is not set, the place of its section. */
struct rule {
	char text[128]; /* empty: no rule */
	const char *file;
	unsigned line;
	bool is_asked; /* the request sets the value */
};

struct rule print_rule_of(const char *key, const char *section, const char *name,
                          struct policy_place place, struct policy_place otherwise);

/* Adds an object {rule, file, line}, or null if there is no rule. */
void print_json_rule(struct json *json, const char *name, const struct rule *rule);

/* Adds an object {name, file, line} for a section of the policy, and leaves it open. */
void print_json_open_section(struct json *json, const char *name, const char *title,
                             struct policy_place place);

/* Adds an object {name, file, line} for a section of the policy. */
void print_json_section(struct json *json, const char *name, const char *title,
                        struct policy_place place);

/*
 * Prints the network mode and what set it, the rules of the request, the profile and the grant, and
 * other limits.
 */
void print_network(const struct explain *explain, const struct decision *decision,
                   struct json *json, FILE *text);

/* Prints the rules of a list of the policy, each with its line, as items of an array. */
void print_network_list(const struct explain *explain, const struct policy_rules *rules,
                        const char *section, struct json *json, FILE *text);

/*
 * Prints the assumed client, its key and the policy: as JSON members, and as text without a
 * newline.
 */
void print_who(const struct explain *explain, struct json *json, FILE *text);

/* Prints the limits of all sandboxes of the user together, and what sets them. */
void print_together(const struct decision *decision, struct json *json, FILE *text);
