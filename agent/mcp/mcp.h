/*
 * The Model Context Protocol: messages of JSON-RPC in, messages out, whatever carries them.
 *
 * Revision 2026-07-28, in which each request says all that is needed to answer it, and those from
 * 2024-11-05 to 2025-11-25, which begin with `initialize`: modelcontextprotocol.io/specification.
 * Runs with the caller's privilege; in the loop of its thread.
 */
#pragma once

#include "agent/agent.h"

/* bytes of a message of a client's; a longer one is refused */
#define MCP_MESSAGE_MAX (10u << 20)
/* before clients give up by themselves, mostly after 60 s, a call is answered as running */
#define MCP_PATIENCE_MS 45000

/* What its clients have in common: one for a program. */
struct mcp;

/*
 * What one client hears. On stdio that is all that is said to it; over HTTP the answer to one POST.
 * Requests belong to the stream that they came by, and are given up with it.
 */
struct mcp_stream;

/* A message for the client. */
struct mcp_message {
	const char *text; /* one line of JSON, without line end; borrowed until mcp_send_fn returns.
	                     NULL: none */
	size_t length;
	/* Of the answer to a POST: */
	bool is_last; /* nothing more comes. Each POST has one that is, perhaps without text, as a
	                 notification, or what was cancelled */
	unsigned
		http_status; /* where this is the first: 200, 202 (without text), 400, 404 or 503 */
	const char
		*session; /* for the header Mcp-Session-Id: it answers `initialize`. NULL: none */
};

/* Takes a message, perhaps while mcp_stream_receive() or mcp_stream_post() run. It may not free the
 * stream. */
typedef void (*mcp_send_fn)(const struct mcp_message *message, void *data);

/* NULL: no memory. */
struct mcp *mcp_new(struct agent *agent);

/* Frees its streams, too. Takes NULL. */
void mcp_free(struct mcp *mcp);

/* --- stdio ------------------------------------------------------------------------------------ */

/* NULL: no memory. */
struct mcp_stream *mcp_stream_new(struct mcp *mcp, mcp_send_fn send, void *data);

/* One message of the client's, or a batch where its revision has them. What is no message is
 * answered as such. */
void mcp_stream_receive(struct mcp_stream *stream, const char *text, size_t length);

/* How many of its requests are not answered yet. */
size_t mcp_stream_pending(const struct mcp_stream *stream);

/* --- HTTP ------------------------------------------------------------------------------------- */

/* What a POST says beside its body. Texts are NULL where there is no such header. */
struct mcp_headers {
	const char *version;    /* MCP-Protocol-Version */
	const char *method;     /* Mcp-Method */
	const char *name;       /* Mcp-Name */
	const char *session;    /* Mcp-Session-Id */
	bool is_without_events; /* Accept is there, and lists neither text/event-stream nor all
	                           types: nothing is sent but the answer */
};

/*
 * A POST to the endpoint, whose Origin, Host, token and Content-Type the caller has looked at.
 * NULL: no memory.
 *
 * It is answered by the first message: where that is the last, too, as application/json, or without
 * body where it has no text; otherwise as text/event-stream, each message as the data of one event,
 * until the last. No header goes out before. Other methods, GET and DELETE among them, are 405:
 * there is no stream without a request, and a session is a random name that tells one client's
 * requests from another's, so that notifications/cancelled means the right one; nothing is kept for
 * it that could be ended.
 *
 * A client that closes its connection gives its request up, in each revision: mcp_stream_free().
 */
struct mcp_stream *mcp_stream_post(struct mcp *mcp, const struct mcp_headers *headers,
                                   const char *body, size_t length, mcp_send_fn send, void *data);

/* The client is gone: what goes on for it is given up, and killed. Nothing more is sent. Takes
 * NULL. */
void mcp_stream_free(struct mcp_stream *stream);
