/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: receives messages and sends answers. See mcp.h. */
#include "agent/mcp/mcp_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_id.h"
#include "agent/mcp/mcp_revision.h"

/* Requests that came as one message and are answered as one; only in 2025-03-26. */
struct mcp_batch {
	json_t *answers; /* NULL: no memory for the answers */
	size_t left;     /* Requests without an answer, plus one while the batch is being read. */
};

static const char no_memory[] =
	"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"there is no memory to answer\"}}";

/* Takes ownership of `message`. NULL: no memory for the message; sends an error. */
static void send_message(struct mcp_stream *stream, json_t *message, bool is_last,
                         unsigned http_status)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	struct mcp_message sent = {.text = text ? text : no_memory,
	                           .length = strlen(text ? text : no_memory),
	                           .is_last = is_last,
	                           .http_status = text ? http_status : 503,
	                           .session = stream->is_session_new ? stream->session : NULL};

	json_decref(message);
	if (stream->is_over)
		return;
	stream->is_over = is_last;
	stream->send(&sent, stream->data);
}

/* Ends a POST that has no requests left and got no answer. */
static void mcp_stream_settle(struct mcp_stream *stream)
{
	static const struct mcp_message nothing = {.is_last = true, .http_status = 202};

	if (!stream->is_post || stream->pending > 0 || stream->is_over)
		return;
	stream->is_over = true;
	stream->send(&nothing, stream->data);
}

void mcp_stream_deliver(struct mcp_stream *stream, struct mcp_batch *batch, json_t *message,
                        unsigned http_status)
{
	if (!batch)
		send_message(stream, message, stream->is_post, http_status);
	else if (json_array_append_new(batch->answers, message) < 0)
		batch->answers = (json_decref(batch->answers), NULL);
}

void mcp_stream_report(struct mcp_stream *stream, json_t *message)
{
	if (message && !stream->is_without_events)
		send_message(stream, message, false, 200);
	else
		json_decref(message);
}

static void mcp_stream_refuse(struct mcp_stream *stream, struct mcp_batch *batch, json_t *id,
                              struct mcp_refusal *refusal)
{
	mcp_stream_deliver(stream, batch, mcp_rpc_error(id, refusal), refusal->http_status);
	json_decref(refusal->data);
}

/* --- notifications from the client ------------------------------------------------------------ */

static void cancel_in(struct mcp_stream *stream, const json_t *id)
{
	for (struct mcp_request *request = stream->requests; request; request = request->next) {
		if (json_equal(request->id, id)) {
			mcp_request_free(request);
			mcp_stream_settle(stream);
			return;
		}
	}
}

/*
 * Cancels a request of the same client. Over HTTP, that request came in another POST of the
 * session.
 */
static void mcp_stream_cancel(struct mcp_stream *stream, const json_t *id)
{
	struct mcp_stream *next;

	if (!stream->is_post) {
		cancel_in(stream, id);
		return;
	}
	for (struct mcp_stream *other = stream->mcp->streams; other && stream->session[0];
	     other = next) {
		next = other->next;
		if (other != stream && strcmp(other->session, stream->session) == 0)
			cancel_in(other, id);
	}
}

static void mcp_stream_hear(struct mcp_stream *stream, const json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(json_object_get(message, "params"), "requestId");

	if (strcmp(method, "notifications/cancelled") == 0 && mcp_id_is_one(id))
		mcp_stream_cancel(stream, id);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Takes ownership of `message`. */
static void take_message(struct mcp_stream *stream, json_t *message, size_t size,
                         struct mcp_batch *batch)
{
	struct mcp_refusal refusal = {0};
	json_t *id = json_object_get(message, "id");

	switch (mcp_rpc_kind(message, &refusal)) {
	case MCP_REQUEST:
		mcp_request_begin(stream, message, size, batch);
		return;
	case MCP_NOTIFICATION:
		mcp_stream_hear(stream, message);
		break;
	case MCP_NO_MESSAGE:
		mcp_stream_refuse(stream, batch, mcp_id_is_one(id) ? id : NULL, &refusal);
		break;
	case MCP_ANSWER:
		break;
	}
	json_decref(message);
}

void mcp_batch_enter(struct mcp_batch *batch)
{
	batch->left++;
}

void mcp_batch_leave(struct mcp_stream *stream, struct mcp_batch *batch)
{
	batch->left--;
	if (batch->left > 0)
		return;
	if (!batch->answers || json_array_size(batch->answers) > 0)
		send_message(stream, batch->answers, stream->is_post, 200);
	else
		json_decref(batch->answers);
	free(batch);
}

/* Takes ownership of `messages`, a list. */
static void take_batch(struct mcp_stream *stream, json_t *messages, size_t size)
{
	struct mcp_refusal refusal = {0};
	struct mcp_batch *batch = NULL;
	size_t count = json_array_size(messages);

	if (!mcp_revision_has_batches(stream->agreed) || count == 0 || count > MCP_REQUESTS_MAX) {
		(void)mcp_rpc_refuse(
			&refusal, MCP_INVALID_REQUEST,
			"a message must be an object; only revision 2025-03-26 allows lists of 1 to %d messages",
			MCP_REQUESTS_MAX);
		mcp_stream_refuse(stream, NULL, NULL, &refusal);
		json_decref(messages);
		return;
	}
	batch = calloc(1, sizeof *batch);
	if (!batch) {
		send_message(stream, NULL, stream->is_post, 0);
		json_decref(messages);
		return;
	}
	*batch = (struct mcp_batch){.answers = json_array(), .left = 1};
	for (size_t i = 0; i < count; i++)
		take_message(stream, json_incref(json_array_get(messages, i)), size / count, batch);
	json_decref(messages);
	mcp_batch_leave(stream, batch);
}

void mcp_stream_receive(struct mcp_stream *stream, const char *text, size_t length)
{
	struct mcp_refusal refusal = {0};
	struct mcp_id seen = {0};
	json_t *message = NULL, *id = NULL;

	if (length > MCP_MESSAGE_MAX) {
		mcp_id_look(&seen, text, length);
		id = mcp_id_value(&seen);
		mcp_stream_too_long(stream, id);
		json_decref(id);
		return;
	}
	message = mcp_rpc_parse(text, length, &refusal);
	if (json_is_array(message)) {
		take_batch(stream, message, length);
	} else if (message) {
		take_message(stream, message, length, NULL);
	} else {
		mcp_id_look(&seen, text, length);
		id = mcp_id_value(&seen);
		mcp_stream_refuse(stream, NULL, id, &refusal);
		json_decref(id);
	}
}

void mcp_stream_too_long(struct mcp_stream *stream, json_t *id)
{
	struct mcp_refusal refusal = {0};

	(void)mcp_rpc_refuse(&refusal, MCP_INVALID_REQUEST, "a message is at most %u bytes long",
	                     MCP_MESSAGE_MAX);
	mcp_stream_refuse(stream, NULL, id, &refusal);
}

/* --- creation and end ------------------------------------------------------------------------- */

struct mcp_stream *mcp_stream_new(struct mcp *mcp, mcp_send_fn send, void *data)
{
	struct mcp_stream *stream = calloc(1, sizeof *stream);

	if (!stream)
		return NULL;
	*stream = (struct mcp_stream){.mcp = mcp, .next = mcp->streams, .send = send, .data = data};
	mcp->streams = stream;
	return stream;
}

struct mcp_stream *mcp_stream_post(struct mcp *mcp, const struct mcp_headers *headers,
                                   const char *body, size_t length, mcp_send_fn send, void *data)
{
	struct mcp_stream *stream = mcp_stream_new(mcp, send, data);

	if (!stream)
		return NULL;
	stream->is_post = true;
	stream->is_without_events = headers->is_without_events;
	stream->headers = headers;
	stream->agreed = mcp_revision_of_headers(headers);
	if (headers->session && strlen(headers->session) < sizeof stream->session)
		memcpy(stream->session, headers->session, strlen(headers->session) + 1);
	mcp_stream_receive(stream, body, length);
	mcp_stream_settle(stream);
	stream->headers = NULL;
	return stream;
}

void mcp_stream_end(struct mcp_stream *stream)
{
	struct mcp_request *next;

	for (struct mcp_request *request = stream->requests; request; request = next) {
		next = request->next;
		if (request->call)
			mcp_request_free(request);
		else
			mcp_request_answer(request, json_pack("{s:{s:O}}", "_meta",
			                                      MCP_META_SUBSCRIPTION, request->id));
	}
}

size_t mcp_stream_pending(const struct mcp_stream *stream)
{
	return stream->pending;
}

void mcp_stream_free(struct mcp_stream *stream)
{
	struct mcp_stream **at = stream ? &stream->mcp->streams : NULL;

	if (!stream)
		return;
	stream->is_over = true;
	while (stream->requests)
		mcp_request_free(stream->requests);
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	free(stream);
}
