/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing the Model Context Protocol: whatever a client sends, each line of what it hears is a
 * message, a POST has one end, and all is gone with its stream. libFuzzer. There is no helper, so
 * operations that need it fail. The first byte says how the messages come.
 */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_new.h"
#include "agent/mcp/mcp.h"

#define TURNS_MAX 1000 /* of the loop, for one input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char initialize[] =
	"{\"jsonrpc\":\"2.0\",\"id\":\"begin\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}";

struct heard {
	bool is_post, is_over;
};

static void hear(const struct mcp_message *message, void *data)
{
	struct heard *heard = data;
	json_t *json;

	assert(!heard->is_over);
	heard->is_over = heard->is_post && message->is_last;
	if (!message->text) {
		assert(heard->is_over && message->http_status == 202);
		return;
	}
	assert(strlen(message->text) == message->length && !strchr(message->text, '\n'));
	json = json_loadb(message->text, message->length, JSON_REJECT_DUPLICATES, NULL);
	assert(json);
	json_decref(json);
}

static void turn(struct agent *agent)
{
	for (int i = 0; i < TURNS_MAX && sd_event_run(agent->loop, 0) > 0; i++) {
	}
}

static void fuzz_lines(struct agent *agent, struct mcp *mcp, const char *text, size_t size,
                       bool begins)
{
	struct heard heard = {0};
	struct mcp_stream *stream = mcp_stream_new(mcp, hear, &heard);

	assert(stream);
	if (begins)
		mcp_stream_receive(stream, initialize, strlen(initialize));
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		mcp_stream_receive(stream, text, length);
		length += end != NULL;
		text += length;
		size -= length;
	}
	turn(agent);
	mcp_stream_free(stream);
}

static void fuzz_post(struct agent *agent, struct mcp *mcp, const char *text, size_t size,
                      unsigned how)
{
	static const char *const versions[] = {NULL, "2026-07-28", "2025-11-25", "x"};
	static const char *const methods[] = {NULL, "tools/call", "resources/read", "tools/list"};
	const struct mcp_headers headers = {.version = versions[how & 3],
	                                    .method = methods[how >> 2 & 3],
	                                    .name = how & 16 ? "=?base64?cnVuX2NvbW1hbmQ=?=" : NULL,
	                                    .session = how & 32 ? "0123" : NULL,
	                                    .is_without_events = (how & 64) != 0};
	struct heard heard = {.is_post = true};
	struct mcp_stream *stream = mcp_stream_post(mcp, &headers, text, size, hear, &heard);

	assert(stream);
	turn(agent);
	assert(heard.is_over == (mcp_stream_pending(stream) == 0));
	mcp_stream_free(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct agent *agent;
	static struct mcp *mcp;
	struct yett_error error;

	if (!agent) {
		(void)setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
		assert(agent_new(NULL, &agent, &error) == 0);
		agent->socket_path = agent->key_path = "/nonexistent";
		mcp = mcp_new(agent);
		assert(mcp);
	}
	if (size == 0)
		return 0;
	if (data[0] & 128)
		fuzz_post(agent, mcp, (const char *)data + 1, size - 1, data[0]);
	else
		fuzz_lines(agent, mcp, (const char *)data + 1, size - 1, data[0] & 1);
	return 0;
}
