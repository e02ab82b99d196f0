/*
 * What can be asked for: one table, from which parsing, JSON Schemas, MCP's tools/list, HTTP's
 * OpenAPI and the manual come.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

struct call;

enum operation_flag {
	OPERATION_READS = 1,    /* changes nothing */
	OPERATION_DESTROYS = 2, /* may end or remove what is there */
	OPERATION_RUNS =
		4, /* runs programs, or tells them what to do: they reach what the sandbox can */
	OPERATION_ASKS_AGAIN = 8, /* may be repeated, and nothing more happens */
};

struct operation {
	const char *name;        /* "run_code" */
	const char *title;       /* "Run code" */
	const char *description; /* for a model: what it does, when to use it; under 2 KB */
	const struct field *asked, *answered;
	uint32_t flags; /* enum operation_flag, or-ed */
	void (*begin)(struct call *call);
};

/* In the order in which they are listed; ends with a row without name. At most nine: models choose
 * badly among more. */
extern const struct operation operations[];

/* NULL: there is none. */
const struct operation *operation_find(const char *name);

/* {"name", "title", "description", "request": JSON Schema, "answer": JSON Schema}. The caller's. */
json_t *operation_describe(const struct operation *operation);
