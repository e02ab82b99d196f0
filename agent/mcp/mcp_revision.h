/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The revisions of the Model Context Protocol, and how to find that of a request.
 *
 * Since 2026-07-28 ("modern" in the specification), every request names its revision in "_meta";
 * before ("legacy"), `initialize` negotiated it. Pure functions. Run with the caller's privilege.
 */
#pragma once

#include "agent/mcp/mcp_rpc.h"

#define MCP_REVISION          "2026-07-28"
#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* The headers of a POST. NULL strings: header not sent. */
struct mcp_headers {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
	const char *session; /* Mcp-Session-Id */
	/*
	 * The client sent Accept without text/event-stream or a wildcard: send nothing but the
	 * answer.
	 */
	bool is_without_events;
};

/* The legacy revision that `initialize` negotiates: `asked` if it is supported, else the latest. */
const char *mcp_revision_agree(const char *asked);

/* Whether the revision has batches: only 2025-03-26. NULL: false. */
bool mcp_revision_has_batches(const char *legacy);

/* The supported modern revisions as a list, owned by the caller. NULL: no memory. */
json_t *mcp_revision_list(void);

/*
 * Finds the revision of the request `message`. On stdio, `headers` is NULL, and `agreed` is the
 * negotiated revision (NULL: none yet). For a POST, `headers` are those of the POST. Returns 0, or
 * the code of `refusal`.
 */
_must_check_ int mcp_revision_of(const json_t *message, const struct mcp_headers *headers,
                                 const char *agreed, bool *ret_is_modern,
                                 struct mcp_refusal *refusal);

/*
 * The legacy revision of a POST that is not modern: from its header, or the default without a
 * header. NULL: unsupported.
 */
const char *mcp_revision_of_headers(const struct mcp_headers *headers);
