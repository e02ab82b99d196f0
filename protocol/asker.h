/* Where a signed request says whether an agent asks. Pure; no privilege. */
#pragma once

#include "protocol/message.h"

/* The field of a signed request; NULL: it is a message of another kind. */
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
