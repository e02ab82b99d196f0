/* SPDX-License-Identifier: Apache-2.0 */
/* See mcp_post.h. */
#include "agent/http/mcp_post.h"

#include <string.h>

#include "agent/http/reply.h"
#include "agent/http/sse.h"
#include "agent/mcp/mcp.h"

struct post {
	struct exchange *exchange;
	struct mcp_stream *stream;
	struct sse *sse; /* NULL: not answered yet, or answered without a stream */
	bool is_answered;
};

static void end_post(void *work)
{
	struct post *post = work;

	mcp_stream_free(post->stream);
	free(post);
}

static void answer_first(struct post *post, const struct mcp_message *message)
{
	struct exchange *exchange = post->exchange;

	post->is_answered = true;
	if (!message->is_last)
		post->sse = sse_begin(exchange, NULL, post, end_post);
	else if (message->text)
		reply_bytes(exchange, message->http_status, "application/json", message->text,
		            message->length);
	else
		reply_empty(exchange, message->http_status);
	if (message->session && exchange->response)
		(void)MHD_add_response_header(exchange->response, "Mcp-Session-Id",
		                              message->session);
}

static void on_message(const struct mcp_message *message, void *data)
{
	struct post *post = data;

	if (!post->is_answered)
		answer_first(post, message);
	if (!post->sse)
		return;
	if (message->text)
		sse_add(post->sse, "message", NULL, message->text, message->length);
	if (message->is_last)
		sse_end(post->sse);
}

/*
 * Whether the client accepts no event stream. Without the header, it accepts all types: RFC 9110,
 * 12.5.1
 */
static bool is_without_events(const char *accept)
{
	return accept && !strcasestr(accept, "text/event-stream") && !strstr(accept, "*/*") &&
	       !strcasestr(accept, "text/*");
}

void mcp_post_answer(struct exchange *exchange)
{
	const struct mcp_headers headers = {
		.version = exchange_header(exchange, "MCP-Protocol-Version"),
		.method = exchange_header(exchange, "Mcp-Method"),
		.name = exchange_header(exchange, "Mcp-Name"),
		.session = exchange_header(exchange, "Mcp-Session-Id"),
		.is_without_events =
			is_without_events(exchange_header(exchange, MHD_HTTP_HEADER_ACCEPT)),
	};
	struct post *post = calloc(1, sizeof *post);

	if (post) {
		post->exchange = exchange;
		exchange_set_work(exchange, post, end_post);
		post->stream = mcp_stream_post(server_mcp(exchange->server), &headers,
		                               exchange->body ? exchange->body : "",
		                               exchange->body_length, on_message, post);
	}
	if (!post || !post->stream)
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY,
		             "no memory for the message");
}
