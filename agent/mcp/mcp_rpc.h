/*
 * JSON-RPC 2.0, as the Model Context Protocol has it: what a message must be, and how answers are
 * written.
 *
 * Pure functions, with the caller's privilege. jsonrpc.org/specification
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_RESOURCE_NOT_FOUND = -32002,  /* until 2025-11-25; MCP_INVALID_PARAMS since */
	MCP_HEADER_MISMATCH = -32020,     /* since 2026-07-28 */
	MCP_UNSUPPORTED_VERSION = -32022, /* since 2026-07-28 */
};

/* Why a message is refused. */
struct mcp_refusal {
	enum mcp_code code;
	unsigned http_status; /* that goes with the code; 200: it is answered as any other */
	char message[256];
	json_t *data; /* NULL: none */
};

/* Fills it, without data; returns `code`. */
int mcp_rpc_refuse(struct mcp_refusal *refusal, enum mcp_code code, const char *format, ...)
	_printf_(3, 4);

/*
 * Reads a message, or a batch of them: any JSON without NUL, duplicate keys, lone surrogates, or
 * more nesting than jansson reads (2048). NULL: it is none, and `refusal` says why.
 */
json_t *mcp_rpc_parse(const char *text, size_t length, struct mcp_refusal *refusal);

/* What a message is. */
enum mcp_kind {
	MCP_NO_MESSAGE = 0, /* `refusal` says why */
	MCP_REQUEST = 1,
	MCP_NOTIFICATION = 2,
	MCP_ANSWER = 3, /* of a client's: nothing is asked of clients here, and it is passed over */
};
enum mcp_kind mcp_rpc_kind(const json_t *message, struct mcp_refusal *refusal);

/* Messages to the client, the caller's. `id` is borrowed (NULL: it is not known), `result` and
 * `params` are taken. NULL: no memory. */
json_t *mcp_rpc_result(json_t *id, json_t *result);
json_t *mcp_rpc_error(json_t *id, const struct mcp_refusal *refusal);
json_t *mcp_rpc_notification(const char *method, json_t *params);
