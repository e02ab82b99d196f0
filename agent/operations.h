/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. Parsing, JSON Schemas, MCP's tools/list, HTTP's OpenAPI and the manual
 * are made from it.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"

struct call;

enum operation_flag {
	OPERATION_READS = 1,    /* changes nothing */
	OPERATION_DESTROYS = 2, /* may end a sandbox, or remove or overwrite data */
	/* Runs programs or controls them, with all effects that the sandbox permits. */
	OPERATION_RUNS = 4,
	OPERATION_ASKS_AGAIN = 8, /* idempotent */
};

struct operation {
	const char *name;        /* "run_code" */
	const char *title;       /* "Run code" */
	const char *description; /* for a model: what it does, when to use it; under 2 KB */
	const struct field *asked, *answered;
	uint32_t flags; /* bits of enum operation_flag */
	void (*begin)(struct call *call);
};

/*
 * In the order of listings; ends with a row without a name. Keep at most nine operations: models
 * choose badly among more.
 */
extern const struct operation operations[];

/* NULL: unknown name. */
const struct operation *operation_find(const char *name);

/*
 * {"name", "title", "description", "request": JSON Schema, "answer": JSON Schema}. Owned by the
 * caller.
 */
json_t *operation_describe(const struct operation *operation);
