/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol (MCP): JSON-RPC messages in and out, independent of the transport.
 *
 * Supports revision 2026-07-28, in which every request is self-contained, and the revisions from
 * 2024-11-05 to 2025-11-25, which begin with `initialize`: modelcontextprotocol.io/specification.
 * Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include "agent/agent.h"
#include "agent/mcp/mcp_revision.h"

/* Bytes of a client's message; a longer message is refused. */
#define MCP_MESSAGE_MAX (10u << 20)
/*
 * A call is answered as running after this time, before clients give up, most of them after 60 s.
 */
#define MCP_PATIENCE_MS 45000

/* State shared by all clients: one per program. */
struct mcp;

/*
 * The messages to one client. On stdio: all of them; over HTTP: those in response to one POST. A
 * request belongs to the stream on which it came, and is cancelled with the stream.
 */
struct mcp_stream;

/* A message for the client. */
struct mcp_message {
	/*
	 * One line of JSON without the newline, borrowed until mcp_send_fn returns. NULL: no
	 * message.
	 */
	const char *text;
	size_t length;
	/* Only in response to a POST: */
	/*
	 * No more messages follow. Every POST gets one last message, which has no text for a
	 * notification or after a cancellation.
	 */
	bool is_last;
	/* Valid in the first message: 200, 202 (without text), 400, 404 or 503. */
	unsigned http_status;
	/* The header Mcp-Session-Id of the response to `initialize`. NULL: none. */
	const char *session;
};

/*
 * Sends a message. May be called during mcp_stream_receive() and mcp_stream_post(). Must not free
 * the stream.
 */
typedef void (*mcp_send_fn)(const struct mcp_message *message, void *data);

/* NULL: no memory. */
struct mcp *mcp_new(struct agent *agent);

/* Also frees all streams. Accepts NULL. */
void mcp_free(struct mcp *mcp);

/* --- stdio ------------------------------------------------------------------------------------ */

/* NULL: no memory. */
struct mcp_stream *mcp_stream_new(struct mcp *mcp, mcp_send_fn send, void *data);

/*
 * Processes a message of the client, or a batch if its revision has batches. Sends an error if the
 * text is not a valid message.
 */
void mcp_stream_receive(struct mcp_stream *stream, const char *text, size_t length);

/* The number of requests that are not answered yet. */
size_t mcp_stream_pending(const struct mcp_stream *stream);

/* --- HTTP ------------------------------------------------------------------------------------- */

/*
 * Processes a POST to the endpoint. The caller must have checked Origin, Host, token and
 * Content-Type. NULL: no memory.
 *
 * The first message begins the HTTP response; send no header before. If it is also the last one,
 * respond with application/json, or without a body if it has no text. Otherwise respond with
 * text/event-stream, one event per message, until the last.
 *
 * Answer other methods, also GET and DELETE, with 405: there is no stream without a request, and no
 * session state that could be deleted. A session is only a random name that separates the requests
 * of different clients, so that notifications/cancelled finds the right one.
 *
 * When a client closes its connection, call mcp_stream_free(): in all revisions, this cancels its
 * request.
 */
struct mcp_stream *mcp_stream_post(struct mcp *mcp, const struct mcp_headers *headers,
                                   const char *body, size_t length, mcp_send_fn send, void *data);

/*
 * The client is gone: cancels its requests and kills what they run. Sends nothing more. Accepts
 * NULL.
 */
void mcp_stream_free(struct mcp_stream *stream);
