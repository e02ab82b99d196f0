/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a request, from its admission to its answer. See mcp_parts.h. */
#include "agent/mcp/mcp_parts.h"

#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_id.h"
#include "agent/mcp/mcp_revision.h"
#include "agent/operations.h"

static const struct mcp_method *find_method(const char *name, bool is_modern)
{
	for (const struct mcp_method *method = mcp_methods; method->name; method++) {
		if ((method->eras & (is_modern ? MCP_IN_MODERN : MCP_IN_LEGACY)) &&
		    strcmp(method->name, name) == 0)
			return method;
	}
	return NULL;
}

static bool is_asked_already(const struct mcp_request *request)
{
	for (const struct mcp_request *other = request->stream->requests; other;
	     other = other->next) {
		if (other != request && json_equal(other->id, request->id))
			return true;
	}
	return false;
}

/* Checks limits, revision and method of a request. Returns 0, or the code of `refusal`. */
static int mcp_request_admit(struct mcp_request *request, struct mcp_refusal *refusal)
{
	const struct mcp_stream *stream = request->stream;
	const json_t *token =
		json_object_get(json_object_get(request->params, "_meta"), "progressToken");
	const char *method = json_string_value(json_object_get(request->message, "method"));
	int r;

	if (is_asked_already(request))
		return mcp_rpc_refuse(refusal, MCP_INVALID_REQUEST,
		                      "another request of this id is not answered yet");
	if (stream->pending > MCP_REQUESTS_MAX || stream->waiting > MCP_WAITING_MAX)
		return mcp_rpc_refuse(
			refusal, MCP_INTERNAL_ERROR,
			"too many requests in progress; send this again after answers to others");
	r = mcp_revision_of(request->message, stream->headers, stream->agreed, &request->is_modern,
	                    refusal);
	if (r != 0)
		return r;
	if (token && !mcp_id_is_one(token))
		return mcp_rpc_refuse(
			refusal, MCP_INVALID_PARAMS,
			"\"progressToken\" is a whole number, or a text of at most %d bytes",
			MCP_ID_MAX);
	request->progress = (json_t *)token;
	request->method = find_method(method, request->is_modern);
	if (!request->method)
		return mcp_rpc_refuse(refusal, MCP_METHOD_NOT_FOUND,
		                      "there is no method \"%.100s\"", method);
	return 0;
}

void mcp_request_begin(struct mcp_stream *stream, json_t *message, size_t size,
                       struct mcp_batch *batch)
{
	struct mcp_request *request = calloc(1, sizeof *request);
	struct mcp_refusal refusal = {0};

	if (!request) {
		json_decref(message);
		mcp_stream_deliver(stream, batch, NULL, 0);
		return;
	}
	*request = (struct mcp_request){.stream = stream,
	                                .next = stream->requests,
	                                .batch = batch,
	                                .message = message,
	                                .id = json_object_get(message, "id"),
	                                .params = json_object_get(message, "params"),
	                                .size = size};
	stream->requests = request;
	stream->pending++;
	stream->waiting += size;
	if (batch)
		mcp_batch_enter(batch);
	if (mcp_request_admit(request, &refusal) == 0)
		request->method->begin(request);
	else
		mcp_request_refuse(request, &refusal);
}

/*
 * Removes the request from its stream. Its batch still counts the request until the answer is
 * delivered.
 */
static void mcp_request_leave(struct mcp_request *request)
{
	struct mcp_stream *stream = request->stream;
	struct mcp_request **at = &stream->requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	stream->pending--;
	stream->waiting -= request->size;
}

static void release(struct mcp_request *request)
{
	call_free(request->call);
	json_decref(request->message);
	free(request);
}

void mcp_request_free(struct mcp_request *request)
{
	mcp_request_leave(request);
	if (request->batch)
		mcp_batch_leave(request->stream, request->batch);
	release(request);
}

/* Takes ownership of `message`. */
static void deliver(struct mcp_request *request, json_t *message, unsigned http_status)
{
	struct mcp_stream *stream = request->stream;
	struct mcp_batch *batch = request->batch;

	mcp_request_leave(request);
	release(request);
	mcp_stream_deliver(stream, batch, message, http_status);
	if (batch)
		mcp_batch_leave(stream, batch);
}

/*
 * Adds the members that revision 2026-07-28 requires in results. Takes ownership of `result`; NULL:
 * no memory.
 */
static json_t *complete(const struct mcp_request *request, json_t *result)
{
	const struct mcp_method *method = request->method;
	json_t *more =
		result ? json_pack("{s:s, s:{s:{s:s, s:s}}}", "resultType", "complete", "_meta",
	                           MCP_META_SERVER, "name", "yett", "version", YETT_VERSION)
		       : NULL;
	bool is_whole = more && json_object_update_missing(result, more) == 0;

	json_decref(more);
	if (is_whole && method->keep_ms >= 0)
		is_whole =
			json_object_set_new(result, "ttlMs", json_integer(method->keep_ms)) == 0 &&
			json_object_set_new(
				result, "cacheScope",
				json_string(method->is_for_all ? "public" : "private")) == 0;
	if (is_whole)
		return result;
	json_decref(result);
	return NULL;
}

void mcp_request_answer(struct mcp_request *request, json_t *result)
{
	if (request->is_modern)
		result = complete(request, result);
	deliver(request, mcp_rpc_result(request->id, result), 200);
}

void mcp_request_refuse(struct mcp_request *request, struct mcp_refusal *refusal)
{
	/* Before 2026-07-28, an unknown method is answered with status 200. */
	bool is_found = refusal->http_status != 404 || request->is_modern;
	json_t *message = mcp_rpc_error(request->id, refusal);

	json_decref(refusal->data);
	deliver(request, message, is_found ? refusal->http_status : 200);
}

void mcp_request_report(const struct mcp_request *request, const char *method, json_t *params)
{
	mcp_stream_report(request->stream, mcp_rpc_notification(method, params));
}

static void report_progress(struct call *call, const char *text, void *data)
{
	struct mcp_request *request = data;

	(void)call;
	request->reported++;
	mcp_request_report(request, "notifications/progress",
	                   json_pack("{s:O, s:i, s:s*}", "progressToken", request->progress,
	                             "progress", (int)request->reported, "message", text));
}

void mcp_request_call(struct mcp_request *request, const char *operation, const json_t *arguments,
                      void (*on_done)(struct call *call, void *request))
{
	const struct call_options options = {.on_done = on_done,
	                                     .on_progress =
	                                             request->progress ? report_progress : NULL,
	                                     .data = request,
	                                     .patience_ms = request->stream->mcp->patience_ms};

	request->call =
		operations_begin(request->stream->mcp->agent, operation, arguments, &options);
	if (!request->call)
		deliver(request, NULL, 0);
}

const char *mcp_request_text(struct mcp_request *request, const char *name)
{
	const char *text = json_string_value(json_object_get(request->params, name));
	struct mcp_refusal refusal = {0};

	if (text)
		return text;
	(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS,
	                     "\"%s\" is missing from \"params\", or no text", name);
	mcp_request_refuse(request, &refusal);
	return NULL;
}

bool mcp_request_is_first_page(struct mcp_request *request)
{
	struct mcp_refusal refusal = {0};

	if (!json_object_get(request->params, "cursor"))
		return true;
	(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS,
	                     "unknown \"cursor\": the first page has everything");
	mcp_request_refuse(request, &refusal);
	return false;
}
