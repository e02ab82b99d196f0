/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 as used by the Model Context Protocol: validates messages and builds answers.
 *
 * Pure functions. Run with the caller's privilege. jsonrpc.org/specification
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

/* Why a message was refused. */
struct mcp_refusal {
	enum mcp_code code;
	unsigned http_status; /* HTTP status to send with this error */
	char message[256];
	json_t *data; /* NULL: none */
};

/* Fills `refusal`, without data. Returns `code`. */
int mcp_rpc_refuse(struct mcp_refusal *refusal, enum mcp_code code, const char *format, ...)
	_printf_(3, 4);

/*
 * Parses a message or a batch. Refuses NUL characters, duplicate keys, lone surrogates, and nesting
 * deeper than jansson's limit (2048). NULL: invalid, for the reason in `refusal`.
 */
json_t *mcp_rpc_parse(const char *text, size_t length, struct mcp_refusal *refusal);

/* The kind of a message. */
enum mcp_kind {
	MCP_NO_MESSAGE = 0, /* `refusal` says why */
	MCP_REQUEST = 1,
	MCP_NOTIFICATION = 2,
	MCP_ANSWER = 3, /* from the client; ignored, since the server sends no requests */
};
enum mcp_kind mcp_rpc_kind(const json_t *message, struct mcp_refusal *refusal);

/*
 * Build messages to the client, owned by the caller. `id` is borrowed (NULL: unknown). They take
 * ownership of `result` and `params`. NULL: no memory.
 */
json_t *mcp_rpc_result(json_t *id, json_t *result);
json_t *mcp_rpc_error(json_t *id, const struct mcp_refusal *refusal);
json_t *mcp_rpc_notification(const char *method, json_t *params);
