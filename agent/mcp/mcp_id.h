/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the id in a message that cannot be parsed, because it is too long or not valid JSON. With
 * the id, the client gets an error for its request, and does not wait for an answer.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Bytes of an id as written in the message; a longer id is ignored. */
#define MCP_ID_MAX 256

enum mcp_id_state {
	MCP_ID_BEFORE = 0,  /* before the object */
	MCP_ID_BETWEEN = 1, /* before a key */
	MCP_ID_KEY = 2,
	MCP_ID_COLON = 3, /* after a key */
	MCP_ID_VALUE = 4,
	MCP_ID_OVER = 5, /* the object has ended, or the message is not an object */
};

/* Zero it before the first byte of a message. */
struct mcp_id {
	enum mcp_id_state state;
	unsigned long depth; /* nesting depth within the object */
	bool is_in_text, is_escaped;
	/*
	 * `is_wanted`: the current key is "id". `is_found`: there was such a key. `is_doubtful`:
	 * there were several, or the value was too long.
	 */
	bool is_wanted, is_found, is_doubtful;
	size_t length;
	char token[MCP_ID_MAX]; /* the current key or value */
	char found[MCP_ID_MAX + 1];
};

/* Scans the next bytes of the message; may be called for pieces of any size. */
void mcp_id_look(struct mcp_id *id, const char *bytes, size_t length);

/* The id, a string or an integer, owned by the caller. NULL: none, or no memory. */
json_t *mcp_id_value(const struct mcp_id *id);

/*
 * Whether a value can be the id of a request: an integer, or a string of at most MCP_ID_MAX bytes.
 */
bool mcp_id_is_one(const json_t *value);
