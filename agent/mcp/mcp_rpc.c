/* SPDX-License-Identifier: Apache-2.0 */
/* See mcp_rpc.h. */
#include "agent/mcp/mcp_rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/fields.h"
#include "agent/mcp/mcp_id.h"

static unsigned http_status(enum mcp_code code)
{
	switch (code) {
	case MCP_PARSE_ERROR:
	case MCP_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_UNSUPPORTED_VERSION:
		return 400;
	case MCP_METHOD_NOT_FOUND:
		return 404;
	case MCP_INVALID_PARAMS:
	case MCP_INTERNAL_ERROR:
	case MCP_RESOURCE_NOT_FOUND:
		break;
	}
	return 200;
}

int mcp_rpc_refuse(struct mcp_refusal *refusal, enum mcp_code code, const char *format, ...)
{
	va_list arguments;

	*refusal = (struct mcp_refusal){.code = code, .http_status = http_status(code)};
	va_start(arguments, format);
	(void)vsnprintf(refusal->message, sizeof refusal->message, format, arguments);
	va_end(arguments);
	/* A quoted text may have been cut within a UTF-8 character. */
	for (size_t end = strlen(refusal->message);
	     end > 0 && !field_is_text(refusal->message, end); end--)
		refusal->message[end - 1] = '\0';
	return code;
}

json_t *mcp_rpc_parse(const char *text, size_t length, struct mcp_refusal *refusal)
{
	json_error_t error;
	json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

	if (message)
		return message;
	(void)mcp_rpc_refuse(refusal, MCP_PARSE_ERROR, "this is not JSON: %s (at byte %d)",
	                     error.text, error.position);
	return NULL;
}

static bool mcp_rpc_is_id(const json_t *id, struct mcp_refusal *refusal)
{
	if (mcp_id_is_one(id))
		return true;
	(void)mcp_rpc_refuse(refusal, MCP_INVALID_REQUEST,
	                     "\"id\" is a whole number, or a text of at most %d bytes", MCP_ID_MAX);
	return false;
}

enum mcp_kind mcp_rpc_kind(const json_t *message, struct mcp_refusal *refusal)
{
	const json_t *version = json_object_get(message, "jsonrpc"),
		     *method = json_object_get(message, "method");
	const json_t *id = json_object_get(message, "id"),
		     *params = json_object_get(message, "params");

	if (!json_is_object(message)) {
		(void)mcp_rpc_refuse(refusal, MCP_INVALID_REQUEST, "a message is an object");
		return MCP_NO_MESSAGE;
	}
	if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0) {
		(void)mcp_rpc_refuse(refusal, MCP_INVALID_REQUEST,
		                     "\"jsonrpc\" is \"2.0\" in each message");
		return MCP_NO_MESSAGE;
	}
	if (!method && (json_object_get(message, "result") || json_object_get(message, "error")))
		return MCP_ANSWER;
	if (id && !mcp_rpc_is_id(id, refusal))
		return MCP_NO_MESSAGE;
	if (!json_is_string(method)) {
		(void)mcp_rpc_refuse(refusal, MCP_INVALID_REQUEST, "\"method\" is a text");
		return MCP_NO_MESSAGE;
	}
	if (params && !json_is_object(params)) {
		(void)mcp_rpc_refuse(refusal, MCP_INVALID_PARAMS, "\"params\" is an object");
		return MCP_NO_MESSAGE;
	}
	return id ? MCP_REQUEST : MCP_NOTIFICATION;
}

/* Takes ownership of `value`. */
static json_t *message_of(json_t *id, const char *name, json_t *value)
{
	return value ? json_pack("{s:s, s:O*, s:o}", "jsonrpc", "2.0", "id", id, name, value)
	             : NULL;
}

json_t *mcp_rpc_result(json_t *id, json_t *result)
{
	return message_of(id, "result", result);
}

json_t *mcp_rpc_error(json_t *id, const struct mcp_refusal *refusal)
{
	json_t *error = json_pack("{s:i, s:s, s:O*}", "code", (int)refusal->code, "message",
	                          refusal->message, "data", refusal->data);

	return message_of(id, "error", error);
}

json_t *mcp_rpc_notification(const char *method, json_t *params)
{
	return params ? json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params",
	                          params)
	              : NULL;
}
