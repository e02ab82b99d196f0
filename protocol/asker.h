/* SPDX-License-Identifier: Apache-2.0 */
/* The field of a signed request that says that an agent asks. Pure; no privilege. */
#pragma once

#include "protocol/message.h"

/* Returns the `agent` field of a signed request; NULL for a message of any other kind. */
static inline bool *message_agent(struct message *message)
{
	switch (message->kind) {
	case MESSAGE_CREATE:
		return &message->body.create.agent;
	case MESSAGE_MANAGE:
		return &message->body.manage.agent;
	case MESSAGE_RELAY:
		return &message->body.relay.agent;
	case MESSAGE_MOUNT:
		return &message->body.mount.agent;
	default:
		return NULL;
	}
}
