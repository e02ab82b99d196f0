/* SPDX-License-Identifier: Apache-2.0 */
/* See mcp_id.h. */
#include "agent/mcp/mcp_id.h"

#include <string.h>

static void mcp_id_keep(struct mcp_id *id, char byte)
{
	if (id->length < sizeof id->token)
		id->token[id->length] = byte;
	id->length++;
}

/* Called at the end of a value of the object. Keeps the value if its key is "id". */
static void end_value(struct mcp_id *id)
{
	if (!id->is_wanted)
		return;
	id->is_doubtful = id->is_doubtful || id->is_found || id->length > sizeof id->token;
	id->is_found = true;
	if (id->is_doubtful)
		return;
	memcpy(id->found, id->token, id->length);
	id->found[id->length] = '\0';
}

static void end_key(struct mcp_id *id)
{
	/* Compares with the quotes. A key with \u escapes is not recognized. */
	id->is_wanted = id->length == 4 && memcmp(id->token, "\"id\"", 4) == 0;
	id->state = MCP_ID_COLON;
	id->length = 0;
}

/* Handles a byte of a string, after its opening quote. */
static void look_in_text(struct mcp_id *id, char byte)
{
	if (id->is_escaped) {
		id->is_escaped = false;
	} else if (byte == '\\') {
		id->is_escaped = true;
	} else if (byte == '"') {
		id->is_in_text = false;
		if (id->state == MCP_ID_KEY)
			end_key(id);
	}
}

/* Handles a byte of a value, outside of strings. */
static void look_in_value(struct mcp_id *id, char byte)
{
	if (byte == '{' || byte == '[') {
		id->depth++;
	} else if ((byte == '}' || byte == ']') && id->depth > 0) {
		id->depth--;
	} else if (id->depth == 0 && (byte == ',' || byte == '}' || byte == ']')) {
		id->length--;
		end_value(id);
		id->state = byte == ',' ? MCP_ID_BETWEEN : MCP_ID_OVER;
	}
}

static void mcp_id_look_at(struct mcp_id *id, char byte)
{
	bool is_blank = byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';

	if (id->is_in_text) {
		mcp_id_keep(id, byte);
		look_in_text(id, byte);
		return;
	}
	if (is_blank)
		return;
	switch (id->state) {
	case MCP_ID_BEFORE:
		id->state = byte == '{' ? MCP_ID_BETWEEN : MCP_ID_OVER;
		break;
	case MCP_ID_BETWEEN:
		id->length = 0;
		id->is_in_text = byte == '"';
		id->state = byte == '"' ? MCP_ID_KEY : MCP_ID_OVER;
		mcp_id_keep(id, byte);
		break;
	case MCP_ID_COLON:
		id->state = byte == ':' ? MCP_ID_VALUE : MCP_ID_OVER;
		break;
	case MCP_ID_VALUE:
		mcp_id_keep(id, byte);
		id->is_in_text = byte == '"';
		if (!id->is_in_text)
			look_in_value(id, byte);
		break;
	case MCP_ID_KEY:
	case MCP_ID_OVER:
		break;
	}
}

void mcp_id_look(struct mcp_id *id, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length && id->state != MCP_ID_OVER; i++)
		mcp_id_look_at(id, bytes[i]);
}

bool mcp_id_is_one(const json_t *value)
{
	return json_is_integer(value) ||
	       (json_is_string(value) && json_string_length(value) <= MCP_ID_MAX);
}

json_t *mcp_id_value(const struct mcp_id *id)
{
	json_t *value = id->is_found && !id->is_doubtful
	                        ? json_loads(id->found, JSON_DECODE_ANY, NULL)
	                        : NULL;

	if (value && mcp_id_is_one(value))
		return value;
	json_decref(value);
	return NULL;
}
