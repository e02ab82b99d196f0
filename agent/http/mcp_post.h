/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP endpoint of the Model Context Protocol ("Streamable HTTP"). agent/mcp/ implements the
 * messages.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

/*
 * POST /mcp: answers with one message, or with a stream of messages. When the client goes away,
 * what it started is killed.
 */
void mcp_post_answer(struct exchange *exchange);
