/* SPDX-License-Identifier: Apache-2.0 */
/* Offers the operations as tools. See mcp_parts.h. */
#include "agent/mcp/mcp_parts.h"
#include "agent/operations.h"

#include <stdlib.h>
#include <string.h>

#define EXACT_MAX (1LL << 53) /* ECMA-262, Number.MAX_SAFE_INTEGER */

/*
 * Hints by which hosts decide whether to ask their user. All hints are set, because the default of
 * a missing hint is the worst case. A program that is run can do what the bounds allow; with all
 * sandboxes of the user in reach, it can do what any of them allows.
 */
static json_t *annotations(const struct operation *operation, const struct bounds *bounds)
{
	bool runs = operation->flags & OPERATION_RUNS;

	return json_pack(
		"{s:s, s:b, s:b, s:b, s:b}", "title", operation->title, "readOnlyHint",
		operation->flags & OPERATION_READS, "destructiveHint",
		(operation->flags & OPERATION_DESTROYS) ||
			(runs && (bounds_can_write(bounds) || bounds->has_all_sandboxes)),
		"idempotentHint", operation->flags & OPERATION_ASKS_AGAIN, "openWorldHint",
		runs && (bounds->network != YETT_NETWORK_NONE || bounds->has_all_sandboxes));
}

/*
 * Replaces lists of types by their first type, and removes maxima that not every JSON
 * implementation can represent exactly.
 */
static void make_plain(json_t *schema)
{
	json_t *type = json_object_get(schema, "type"), *choices = json_object_get(schema, "enum"),
	       *items = json_object_get(schema, "items");
	json_t *members = json_object_get(schema, "properties");

	if (json_is_array(type))
		(void)json_object_set(schema, "type", json_array_get(type, 0));
	for (size_t i = json_array_size(choices); i > 0; i--) {
		if (json_is_null(json_array_get(choices, i - 1)))
			(void)json_array_remove(choices, i - 1);
	}
	if (json_integer_value(json_object_get(schema, "maximum")) > EXACT_MAX)
		(void)json_object_del(schema, "maximum");
	if (items)
		make_plain(items);
	for (void *at = json_object_iter(members); at; at = json_object_iter_next(members, at))
		make_plain(json_object_iter_value(at));
}

/*
 * The schema of requests in a form that all kinds of models accept. It is stricter than the actual
 * check: a nullable member must be left out instead of being null.
 */
static json_t *input_schema(const struct operation *operation)
{
	json_t *schema = fields_schema(operation->asked);

	make_plain(schema);
	return schema;
}

static json_t *tool(const struct operation *operation, const struct bounds *bounds)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", operation->name, "title",
	                 operation->title, "description", operation->description, "inputSchema",
	                 input_schema(operation), "outputSchema",
	                 fields_schema(operation->answered), "annotations",
	                 annotations(operation, bounds));
}

/* NULL: no memory. */
static json_t *make_tools(const struct bounds *bounds)
{
	json_t *tools = json_array();

	for (const struct operation *operation = operations; operation->name; operation++) {
		if (json_array_append_new(tools, tool(operation, bounds)) < 0) {
			json_decref(tools);
			return NULL;
		}
	}
	return tools;
}

void mcp_tools_list(struct mcp_request *request)
{
	struct mcp *mcp = request->stream->mcp;

	if (!mcp_request_is_first_page(request))
		return;
	if (!mcp->tools)
		mcp->tools = make_tools(&mcp->agent->bounds);
	mcp_request_answer(request, mcp->tools ? json_pack("{s:O}", "tools", mcp->tools) : NULL);
}

static void mcp_tools_answer(struct call *call, void *data)
{
	struct mcp_request *request = data;
	const struct operation *operation =
		operation_find(json_string_value(json_object_get(request->params, "name")));
	const struct yett_error *error = call_error(call);
	_cleanup_free_ char *text = mcp_text_of(operation, call_answer(call), error);

	mcp_request_answer(request,
	                   text ? json_pack("{s:[{s:s, s:o}], s:O, s:b}", "content", "type", "text",
	                                    "text", field_make_text(text, strlen(text)),
	                                    "structuredContent", call_answer(call), "isError",
	                                    error != NULL)
	                        : NULL);
}

void mcp_tools_call(struct mcp_request *request)
{
	const json_t *arguments = json_object_get(request->params, "arguments");
	const char *name = mcp_request_text(request, "name");
	struct mcp_refusal refusal = {0};

	if (!name)
		return;
	if (operation_find(name) && (!arguments || json_is_object(arguments))) {
		mcp_request_call(request, name, arguments, mcp_tools_answer);
		return;
	}
	if (operation_find(name))
		(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS, "\"arguments\" is an object");
	else
		(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS, "there is no tool \"%.100s\"",
		                     name);
	mcp_request_refuse(request, &refusal);
}
