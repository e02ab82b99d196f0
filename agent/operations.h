/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. Parsing, JSON Schemas, MCP's tools/list, HTTP's OpenAPI and the manual
 * are made from it.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/call.h"

/*
 * In the order of listings; ends with a row without a name. Keep at most nine operations: models
 * choose badly among more.
 */
extern const struct operation operations[];

/* NULL: unknown name. */
const struct operation *operation_find(const char *name);

/* Begins the operation of this name: see call_begin(). */
struct call *operations_begin(struct agent *agent, const char *name, const json_t *arguments,
                              const struct call_options *options);

/*
 * {"name", "title", "description", "request": JSON Schema, "answer": JSON Schema}. Owned by the
 * caller.
 */
json_t *operation_describe(const struct operation *operation);
