/*
 * Streams and requests, as the parts of the Model Context Protocol see them: who asked, and how an
 * answer gets there.
 *
 * Of this folder only. With the caller's privilege.
 */
#pragma once

#include "agent/call.h"
#include "agent/mcp/mcp.h"
#include "agent/mcp/mcp_rpc.h"

#define MCP_REQUESTS_MAX 256         /* of one stream at a time */
#define MCP_WAITING_MAX  (32u << 20) /* bytes of messages of one stream whose requests go on */
#define MCP_SESSION_SIZE 33

struct mcp_batch;
struct mcp_method;

struct mcp {
	struct agent *agent;
	uint64_t patience_ms;
	struct mcp_stream *streams;
	json_t *tools; /* of tools/list, made when it is first asked for */
};

struct mcp_stream {
	struct mcp *mcp;
	struct mcp_stream *next;
	mcp_send_fn send;
	void *data;
	bool is_post, is_without_events, is_over;
	bool is_session_new; /* `session` was made for it: its client is told */
	const char *agreed;  /* the legacy revision: of stdio since `initialize`, of a POST what its
	                        headers say; NULL: none */
	char session[MCP_SESSION_SIZE]; /* whose requests these are, over HTTP; empty: nobody's */
	const struct mcp_headers *headers; /* while a POST is received; else NULL */
	struct mcp_request *requests;
	size_t pending, waiting; /* requests, and bytes of them */
};

/* A request that is being answered: mcp_request_answer() or mcp_request_refuse() free it. */
struct mcp_request {
	struct mcp_stream *stream;
	struct mcp_request *next;
	struct mcp_batch *batch; /* NULL: it came by itself */
	const struct mcp_method *method;
	json_t *message;
	json_t *id;           /* of the message, as the following */
	const json_t *params; /* NULL: none */
	json_t *progress;     /* the token; NULL: it wants to hear of no progress */
	unsigned told;        /* of progress so far */
	bool is_modern;
	size_t size;
	struct call *call; /* the operation that it waits for; given up with it. NULL: none */
};

/* What can be asked for: mcp.c. */
struct mcp_method {
	const char *name;
	enum { MCP_IN_LEGACY = 1, MCP_IN_MODERN = 2, MCP_IN_BOTH = 3 } eras;
	int keep_ms;     /* how long a client may keep the result; -1: it is none to be kept */
	bool is_for_all; /* it is the same for each user */
	void (*begin)(struct mcp_request *request);
};

extern const struct mcp_method mcp_methods[];

/* --- requests: mcp_request.c ------------------------------------------------------------------ */

/* Takes `message`, a request of `size` bytes, and begins to answer it. */
void mcp_request_begin(struct mcp_stream *stream, json_t *message, size_t size,
                       struct mcp_batch *batch);

/* Takes `result` (NULL: no memory), to which what its revision asks for is added. */
void mcp_request_answer(struct mcp_request *request, json_t *result);

/* Takes what `refusal` holds. */
void mcp_request_refuse(struct mcp_request *request, struct mcp_refusal *refusal);

/* Tells its client of something before it is answered. Takes `params`. */
void mcp_request_tell(const struct mcp_request *request, const char *method, json_t *params);

/*
 * Begins an operation for it, of which its client hears the progress where it asked for that.
 * `on_done` answers or refuses it. The arguments are borrowed.
 */
void mcp_request_call(struct mcp_request *request, const char *operation, const json_t *arguments,
                      void (*on_done)(struct call *call, void *request));

/* A text of "params". NULL: it is missing, and the request is refused, and gone. */
const char *mcp_request_text(struct mcp_request *request, const char *name);

/* Whether it has no "cursor": there is no second page of anything. Where it has, it is refused, and
 * gone. */
bool mcp_request_is_first_page(struct mcp_request *request);

/* Gives it up, without an answer. */
void mcp_request_free(struct mcp_request *request);

/* --- streams: mcp_stream.c -------------------------------------------------------------------- */

/* Takes `message` (NULL: no memory), an answer to a request of `batch` (NULL: of none). */
void mcp_stream_deliver(struct mcp_stream *stream, struct mcp_batch *batch, json_t *message,
                        unsigned http_status);

/* Takes `message`, which is no answer. */
void mcp_stream_tell(struct mcp_stream *stream, json_t *message);

/* One request less of that batch. */
void mcp_batch_leave(struct mcp_stream *stream, struct mcp_batch *batch);
void mcp_batch_enter(struct mcp_batch *batch);

/* A message that was too long was dropped. `id` as far as it could be seen, or NULL; borrowed. */
void mcp_stream_too_long(struct mcp_stream *stream, json_t *id);

/* The server ends: who listens is told so. What goes on is given up. */
void mcp_stream_end(struct mcp_stream *stream);

/* --- what is asked for: mcp_tools.c, mcp_resources.c ------------------------------------------ */

void mcp_tools_list(struct mcp_request *request);
void mcp_tools_call(struct mcp_request *request);
void mcp_resources_list(struct mcp_request *request);
void mcp_resources_templates(struct mcp_request *request);
void mcp_resources_read(struct mcp_request *request);

/* The text for a model, of an operation's answer: mcp_text.c. The caller's. NULL: no memory. */
char *mcp_text_of(const struct operation *operation, const json_t *answer,
                  const struct yett_error *error);
