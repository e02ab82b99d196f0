/*
 * The revisions of the Model Context Protocol, and which of them a request is of.
 *
 * Since 2026-07-28 ("modern" in the specification) each request tells its revision in "_meta";
 * before ("legacy") `initialize` agreed on one. Pure functions, with the caller's privilege.
 */
#pragma once

#include "agent/mcp/mcp.h"
#include "agent/mcp/mcp_rpc.h"

#define MCP_REVISION          "2026-07-28"
#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* The legacy revision that `initialize` agrees on where this one is asked for: it, or the latest
 * where that is not known. */
const char *mcp_revision_agree(const char *asked);

/* Whether several messages may come as one: in 2025-03-26 only. NULL: no. */
bool mcp_revision_has_batches(const char *legacy);

/* The modern ones, as a list; the caller's. NULL: no memory. */
json_t *mcp_revision_list(void);

/*
 * Which one `message`, a request, is of. On stdio `headers` is NULL, and `agreed` what `initialize`
 * agreed on (NULL: nothing yet); of a POST it is what came with it. 0, or the code of `refusal`.
 */
_must_check_ int mcp_revision_of(const json_t *message, const struct mcp_headers *headers,
                                 const char *agreed, bool *ret_is_modern,
                                 struct mcp_refusal *refusal);

/* The legacy revision of a POST that is not modern: what its header says, or that which had none.
 * NULL: an unknown one. */
const char *mcp_revision_of_headers(const struct mcp_headers *headers);
