/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox.h: signs a request, sends it on the connection and waits for the answer. */
#include "libclient/sandbox.h"

#include <string.h>

#include "libclient/refusal.h"
#include "libclient/signer.h"
#include "protocol/asker.h"
#include "protocol/codec.h"

#define CLOSED_TIMEOUT_MS 1000 /* to receive the reason of a helper that closed the connection */

/*
 * Loads the default key if there is no signer. If the key file does not exist, a request for a plan
 * is signed with a temporary key that is not stored: such a request makes nothing, and the helper
 * answers it for every user who may enroll a key.
 */
static int need_signer(struct yett_connection *connection, struct yett_error *error)
{
	const struct message *message = &connection->channel->message;
	bool is_plan = message->kind == MESSAGE_CREATE && message->body.create.plan_only;
	int r;

	if (connection->signer && !connection->is_passing_signer)
		return 0;
	yett_signer_free(connection->own_signer);
	connection->own_signer = NULL;
	connection->signer = NULL;
	r = yett_signer_load(NULL, &connection->own_signer, error);
	connection->is_passing_signer = r == YETT_E_NOT_FOUND && is_plan;
	if (connection->is_passing_signer)
		r = signer_new_passing(&connection->own_signer, error);
	if (r == 0)
		connection->signer = connection->own_signer;
	else if (r == YETT_E_NOT_FOUND)
		error_detail(error, "`yett keygen` makes a key, and so does the first `yett run`");
	return r;
}

/* Signs channel->message over this connection's challenge and sends it with the next sequence
 * number. */
static int send_signed(struct yett_connection *connection, const int *fds, size_t fd_count,
                       struct yett_error *error)
{
	struct channel *channel = connection->channel;
	struct envelope envelope = {
		.kind = (uint16_t)channel->message.kind,
		.fd_count = (uint8_t)fd_count,
		.sequence = channel->sequence + 1,
		.is_signed = true,
	};
	size_t head = envelope_size(envelope.kind), length, signed_length;
	uint8_t *packet = channel->frame.bytes; /* free: nothing is being received */
	_cleanup_free_ uint8_t *to_sign = malloc(ENVELOPE_SIGNED_MAX);
	int r;

	if (!to_sign)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the request");
	*message_agent(&channel->message) = connection->is_agent;
	if (message_encode(&channel->message, packet + head, MESSAGE_PACKET_MAX - head, &length) <
	    0)
		return channel_explain(channel, error);
	envelope.body_length = (uint32_t)length;
	memcpy(envelope.tag, connection->challenge, sizeof envelope.tag);
	memcpy(envelope.key, connection->signer->public_key, sizeof envelope.key);
	signed_length = envelope_signed_bytes(&envelope, connection->challenge, packet + head,
	                                      length, to_sign);
	r = signer_sign(connection->signer, to_sign, signed_length, envelope.signature, error);
	if (r)
		return r;
	envelope_write(&envelope, packet);
	r = channel_send_packet(channel, packet, head + length, fds, fd_count,
	                        channel_deadline(connection->timeout_ms), error);
	if (r != YETT_E_NOT_RUNNING)
		return r;
	/* The helper may have sent the reason before it closed the connection. */
	do
		r = connection_step(connection, channel_deadline(CLOSED_TIMEOUT_MS), error);
	while (r == 0);
	return r > 0 ? r
	             : error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
	                         "the helper does not listen");
}

void sandbox_forget(struct yett_sandbox *sandbox)
{
	struct connection_request **at = &sandbox->request.connection->requests;

	while (*at && *at != &sandbox->request)
		at = &(*at)->next;
	if (*at)
		*at = sandbox->request.next;
	sandbox->request.next = NULL;
}

int sandbox_send(struct yett_connection *connection, const int *fds, size_t fd_count,
                 struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = need_signer(connection, error);

	if (r == 0)
		r = send_signed(connection, fds, fd_count, error);
	if (r)
		return r;
	sandbox->request.sequence = connection->channel->sequence;
	sandbox->request.sandbox_state = YETT_STATE_RUNNING;
	sandbox->request.connection = connection;
	sandbox->request.next = connection->requests;
	connection->requests = &sandbox->request;
	return 0;
}

int sandbox_finish(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	int r = 0;

	while (r == 0 && sandbox->request.state == CONNECTION_ASKED)
		r = connection_step(sandbox->request.connection, deadline, error);
	if (sandbox->request.state == CONNECTION_ANSWERED)
		return 0;
	sandbox_forget(sandbox);
	if (r == -EAGAIN)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the helper does not answer");
	if (r)
		return r;
	if (sandbox->request.state == CONNECTION_ENDED)
		return error_set(error, YETT_E_INIT_FAILED, YETT_R_NONE,
		                 "the sandbox ended before it was ready");
	refusal_mend_key(&sandbox->request.error);
	if (error)
		*error = sandbox->request.error;
	return (int)sandbox->request.error.code;
}

int sandbox_request(struct yett_connection *connection, const int *fds, size_t fd_count,
                    struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = sandbox_send(connection, fds, fd_count, sandbox, error);

	return r ? r : sandbox_finish(sandbox, channel_deadline(connection->timeout_ms), error);
}
