/*
 * The Model Context Protocol for one client: JSON-RPC messages in, messages out, whatever carries them.
 *
 * modelcontextprotocol.io: the revision of today, and `initialize` of those before. Runs with the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

struct mcp;

/* A message for the client: one line of JSON without line end; borrowed. `request` is the message that it belongs to, as far as it does. */
typedef void (*mcp_send_fn)(const char *text, size_t length, void *data);

/* NULL: no memory. */
struct mcp *mcp_new(struct agent *agent, mcp_send_fn send, void *data);

/* One message of the client's, or a batch where its revision has them. Whatever it is: what is no message is answered as such. */
void mcp_receive(struct mcp *mcp, const char *text, size_t length);

/* How many of its requests are not answered yet. */
size_t mcp_pending(const struct mcp *mcp);

/* The client is gone: what goes on for it is given up, and killed. Takes NULL. */
void mcp_free(struct mcp *mcp);
