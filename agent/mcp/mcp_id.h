/*
 * The id of a message that is not read as JSON, because it is too long or is none: who asked is
 * answered nevertheless, and does not wait.
 *
 * Pure functions, with the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* bytes of an id, as it stands in a message; of a longer one it is nobody's */
#define MCP_ID_MAX 256

enum mcp_id_state {
	MCP_ID_BEFORE = 0,  /* the object has not begun */
	MCP_ID_BETWEEN = 1, /* a key is to come */
	MCP_ID_KEY = 2,
	MCP_ID_COLON = 3, /* after a key */
	MCP_ID_VALUE = 4,
	MCP_ID_OVER = 5, /* it is no object, or it has ended */
};

/* Zeroed before the first byte of a message. */
struct mcp_id {
	enum mcp_id_state state;
	unsigned long depth; /* of what is open within the object */
	bool is_in_text, is_escaped;
	bool is_wanted, is_found, is_doubtful; /* the key is "id"; there was one; there were
	                                          several, or it was too long */
	size_t length;
	char token[MCP_ID_MAX]; /* the key or value that is being read */
	char found[MCP_ID_MAX + 1];
};

/* Bytes of the message, in their order, in as many pieces as they come. */
void mcp_id_look(struct mcp_id *id, const char *bytes, size_t length);

/* The text or whole number that it is; the caller's. NULL: there is none, or no memory. */
json_t *mcp_id_value(const struct mcp_id *id);

/* Whether a value can be the id of a request: a text that is not too long, or a whole number. */
bool mcp_id_is_one(const json_t *value);
