/*
 * The parts of an answer that are told in files of their own. With the privilege of who executes
 * this: see explain.h.
 */
#pragma once

#include "base/json.h"
#include "programs/explain/explain.h"

/* A key of the policy and where it stands, or its section where it does not. */
struct rule {
	char text[128]; /* empty: none is */
	const char *file;
	unsigned line;
	bool is_asked; /* since the request says so */
};

struct rule tell_rule_of(const char *key, const char *section, const char *name,
                         struct policy_place place, struct policy_place otherwise);

/* An object {rule, file, line}, or null where there is none. */
void tell_json_rule(struct json *json, const char *name, const struct rule *rule);

/* An object {name, file, line} that stays open for more, of a section of the policy. */
void tell_json_open_section(struct json *json, const char *name, const char *title,
                            struct policy_place place);

/* An object {name, file, line}, of a section of the policy. */
void tell_json_section(struct json *json, const char *name, const char *title,
                       struct policy_place place);

/* The mode and who set it, the rules of the request, of profile and grant, and what else bounds it.
 */
void tell_network(const struct explain *explain, const struct decision *decision, struct json *json,
                  FILE *text);

/* The rules of one list of the policy, with the line of each, as items of an array. */
void tell_network_list(const struct explain *explain, const struct policy_rules *rules,
                       const char *section, struct json *json, FILE *text);

/* Who is taken to ask, with which key, and the policy, as members; and a line of text that does not
 * end. */
void tell_who(const struct explain *explain, struct json *json, FILE *text);

/* What bounds all sandboxes of the user together, and who says so. */
void tell_together(const struct decision *decision, struct json *json, FILE *text);
