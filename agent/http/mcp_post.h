/*
 * The endpoint of the Model Context Protocol: its "Streamable HTTP", of which agent/mcp/ has the
 * messages.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

/* POST /mcp: answered with one message, or with a stream of them. A client that goes away takes
 * with it what it started. */
void mcp_post_answer(struct exchange *exchange);
