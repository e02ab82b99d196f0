/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and requests, as seen by the parts of the MCP implementation. Only for this folder.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/call.h"
#include "agent/mcp/mcp.h"
#include "agent/mcp/mcp_rpc.h"

#define MCP_REQUESTS_MAX 256         /* unanswered requests of one stream */
#define MCP_WAITING_MAX  (32u << 20) /* bytes of the messages of a stream's unanswered requests */
#define MCP_SESSION_SIZE 33

struct mcp_batch;
struct mcp_method;

struct mcp {
	struct agent *agent;
	uint64_t patience_ms;
	struct mcp_stream *streams;
	json_t *tools; /* result of tools/list; NULL until requested */
};

struct mcp_stream {
	struct mcp *mcp;
	struct mcp_stream *next;
	mcp_send_fn send;
	void *data;
	bool is_post, is_without_events, is_over;
	bool is_session_new; /* send `session` to the client: it is new */
	/*
	 * The legacy revision: on stdio, negotiated by `initialize`; of a POST, from its headers.
	 * NULL: none.
	 */
	const char *agreed;
	char session[MCP_SESSION_SIZE];    /* over HTTP: the client's session; empty: none */
	const struct mcp_headers *headers; /* only while a POST is being received */
	struct mcp_request *requests;
	size_t pending, waiting; /* unanswered requests, and their bytes */
};

/* A request in progress. mcp_request_answer() and mcp_request_refuse() free it. */
struct mcp_request {
	struct mcp_stream *stream;
	struct mcp_request *next;
	struct mcp_batch *batch; /* NULL: not in a batch */
	const struct mcp_method *method;
	json_t *message;
	json_t *id;           /* borrowed from `message`, like `params` and `progress` */
	const json_t *params; /* NULL: none */
	json_t *progress;     /* progress token; NULL: send no progress */
	unsigned reported;    /* number of progress notifications sent */
	bool is_modern;
	size_t size;
	struct call *call; /* the operation in progress, cancelled with the request; NULL: none */
};

/* A method of the protocol. The table is in mcp.c. */
struct mcp_method {
	const char *name;
	enum { MCP_IN_LEGACY = 1, MCP_IN_MODERN = 2, MCP_IN_BOTH = 3 } eras;
	int keep_ms;     /* milliseconds for which clients may cache the result; -1: not at all */
	bool is_for_all; /* the result is the same for all users */
	void (*begin)(struct mcp_request *request);
};

extern const struct mcp_method mcp_methods[];

/* --- requests: mcp_request.c ------------------------------------------------------------------ */

/* Takes ownership of `message`, a request of `size` bytes, and begins to answer it. */
void mcp_request_begin(struct mcp_stream *stream, json_t *message, size_t size,
                       struct mcp_batch *batch);

/*
 * Answers the request. Takes ownership of `result` (NULL: no memory), and adds the members that the
 * revision requires.
 */
void mcp_request_answer(struct mcp_request *request, json_t *result);

/* Answers with an error. Takes ownership of `refusal->data`. */
void mcp_request_refuse(struct mcp_request *request, struct mcp_refusal *refusal);

/* Sends a notification that belongs to the request. Takes ownership of `params`. */
void mcp_request_report(const struct mcp_request *request, const char *method, json_t *params);

/*
 * Begins an operation for the request, and sends progress if the client asked for progress.
 * `on_done` must answer or refuse the request. `arguments` are borrowed.
 */
void mcp_request_call(struct mcp_request *request, const char *operation, const json_t *arguments,
                      void (*on_done)(struct call *call, void *request));

/* Returns a string of "params". NULL: it is missing; the request was refused and freed. */
const char *mcp_request_text(struct mcp_request *request, const char *name);

/*
 * Returns true if the request has no "cursor": every list fits on its first page. With a "cursor",
 * refuses and frees the request, and returns false.
 */
bool mcp_request_is_first_page(struct mcp_request *request);

/* Cancels the request, without an answer. */
void mcp_request_free(struct mcp_request *request);

/* --- streams: mcp_stream.c -------------------------------------------------------------------- */

/*
 * Takes ownership of `message` (NULL: no memory), the answer to a request of `batch` (NULL: none).
 */
void mcp_stream_deliver(struct mcp_stream *stream, struct mcp_batch *batch, json_t *message,
                        unsigned http_status);

/* Takes ownership of `message`, a notification. */
void mcp_stream_report(struct mcp_stream *stream, json_t *message);

/* Counts one request of the batch as done; the last one sends the answers and frees the batch. */
void mcp_batch_leave(struct mcp_stream *stream, struct mcp_batch *batch);
void mcp_batch_enter(struct mcp_batch *batch);

/*
 * Answers a message that was too long and was dropped. `id` is the id found in it, or NULL;
 * borrowed.
 */
void mcp_stream_too_long(struct mcp_stream *stream, json_t *id);

/* The server ends: answers open subscriptions, and cancels operations. */
void mcp_stream_end(struct mcp_stream *stream);

/* --- methods: mcp_tools.c, mcp_resources.c ---------------------------------------------------- */

void mcp_tools_list(struct mcp_request *request);
void mcp_tools_call(struct mcp_request *request);
void mcp_resources_list(struct mcp_request *request);
void mcp_resources_templates(struct mcp_request *request);
void mcp_resources_read(struct mcp_request *request);

/*
 * Formats the answer of an operation for a model: mcp_text.c. The caller frees the text. NULL: no
 * memory.
 */
char *mcp_text_of(const struct operation *operation, const json_t *answer,
                  const struct yett_error *error);
