/*
 * The parts of an answer that are told in files of their own. With the privilege of who executes this: see explain.h.
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

struct rule tell_rule_of(const char *key, const char *section, const char *name, struct policy_place place, struct policy_place otherwise);

/* An object {rule, file, line}, or null where there is none. */
void tell_json_rule(struct json *json, const char *name, const struct rule *rule);

/* The mode and who set it, the rules of the request, of profile and grant, and what else bounds it. */
void tell_network(const struct explain *explain, const struct decision *decision, struct json *json, FILE *text);
