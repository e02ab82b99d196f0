/* SPDX-License-Identifier: Apache-2.0 */
/* The table of methods, and those that are not about tools or resources. See mcp.h. */
#include "agent/mcp/mcp_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_revision.h"
#include "agent/nonce.h"

#define MINUTE_MS 60000

/* Instructions for the model; the description of the bounds is appended. */
static const char general[] =
	"Yett runs commands and code in sandboxes, within the policy of this computer's administrator. Without \"sandbox\" a call gets a "
	"new sandbox, which is removed afterwards (but run_code with mode \"kept\" makes a sandbox that stays, and answers with "
	"its id); to keep files or state between calls, make a sandbox with "
	"sandboxes {\"action\": \"make\"} and name it in each call. A program that fails is an ordinary result; an error is a refusal, and "
	"says which rule refuses and what would have to change. A call that takes longer than 45 seconds is answered as \"running\" with an "
	"\"id\": ask wait_command for the rest. Of a long output the first and last part is shown; read_file gives the rest.";

/* NULL: no memory. */
static json_t *instructions(const struct mcp *mcp)
{
	_cleanup_free_ char *bounds = bounds_describe(&mcp->agent->bounds);

	_cleanup_free_ char *text = NULL;

	/* Paths in the bounds need not be UTF-8. */
	return bounds && asprintf(&text, "%s %s", general, bounds) >= 0
	               ? field_make_text(text, strlen(text))
	               : NULL;
}

static json_t *capabilities(void)
{
	return json_pack("{s:{}, s:{}}", "resources", "tools");
}

/*
 * Creates a session name for the client's HTTP requests. The name must be unguessable, so that
 * other clients cannot cancel these requests.
 */
static void make_session(struct mcp_stream *stream)
{
	nonce_make(stream->session, MCP_SESSION_SIZE - 1);
	stream->is_session_new = true;
}

static void initialize(struct mcp_request *request)
{
	struct mcp_stream *stream = request->stream;
	const char *asked = mcp_request_text(request, "protocolVersion"), *agreed;

	if (!asked)
		return;
	agreed = mcp_revision_agree(asked);
	if (stream->is_post)
		make_session(stream);
	else
		stream->agreed = agreed;
	mcp_request_answer(request,
	                   json_pack("{s:s, s:o, s:{s:s, s:s, s:s}, s:o}", "protocolVersion",
	                             agreed, "capabilities", capabilities(), "serverInfo", "name",
	                             "yett", "title", "Yett", "version", YETT_VERSION,
	                             "instructions", instructions(stream->mcp)));
}

static void ping(struct mcp_request *request)
{
	mcp_request_answer(request, json_object());
}

static void discover(struct mcp_request *request)
{
	mcp_request_answer(request, json_pack("{s:o, s:o, s:o}", "supportedVersions",
	                                      mcp_revision_list(), "capabilities", capabilities(),
	                                      "instructions", instructions(request->stream->mcp)));
}

/*
 * Nothing that clients can subscribe to ever changes. The request stays open until the client
 * cancels it, since clients may expect a subscription to last.
 */
static void listen_for_changes(struct mcp_request *request)
{
	struct mcp_refusal refusal = {0};

	if (json_is_object(json_object_get(request->params, "notifications"))) {
		mcp_request_report(request, "notifications/subscriptions/acknowledged",
		                   json_pack("{s:{s:O}, s:{}}", "_meta", MCP_META_SUBSCRIPTION,
		                             request->id, "notifications"));
		return;
	}
	(void)mcp_rpc_refuse(&refusal, MCP_INVALID_PARAMS,
	                     "\"notifications\" is missing from \"params\", or no object");
	mcp_request_refuse(request, &refusal);
}

const struct mcp_method mcp_methods[] = {
	{"initialize", MCP_IN_LEGACY, -1, false, initialize},
	{"ping", MCP_IN_LEGACY, -1, false, ping},
	{"server/discover", MCP_IN_MODERN, 60 * MINUTE_MS, true, discover},
	{"tools/list", MCP_IN_BOTH, 5 * MINUTE_MS, true, mcp_tools_list},
	{"tools/call", MCP_IN_BOTH, -1, false, mcp_tools_call},
	{"resources/list", MCP_IN_BOTH, 0, false, mcp_resources_list},
	{"resources/templates/list", MCP_IN_BOTH, 60 * MINUTE_MS, true, mcp_resources_templates},
	{"resources/read", MCP_IN_BOTH, 0, false, mcp_resources_read},
	{"subscriptions/listen", MCP_IN_MODERN, -1, false, listen_for_changes},
	{NULL, 0, 0, false, NULL},
};

struct mcp *mcp_new(struct agent *agent)
{
	struct mcp *mcp = calloc(1, sizeof *mcp);

	if (mcp)
		*mcp = (struct mcp){.agent = agent, .patience_ms = MCP_PATIENCE_MS};
	return mcp;
}

void mcp_free(struct mcp *mcp)
{
	if (!mcp)
		return;
	while (mcp->streams)
		mcp_stream_free(mcp->streams);
	json_decref(mcp->tools);
	free(mcp);
}
