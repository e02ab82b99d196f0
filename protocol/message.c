/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See message.h. Texts and sizes of messages: pure functions over the struct, with the privilege of
 * the caller.
 */
#include "protocol/message.h"

#include "protocol/schema.h"

#include <errno.h>
#include <string.h>

const char *message_text(const struct message *message, struct text text)
{
	uint64_t end = (uint64_t)text.offset + text.length;

	if (text.length == 0)
		return "";
	if (message->arena_used > MESSAGE_ARENA_MAX || end >= message->arena_used ||
	    message->arena[end] != '\0')
		return NULL;
	return message->arena + text.offset;
}

int message_add_text(struct message *message, const char *string, struct text *ret_text)
{
	size_t length = strlen(string);

	if (length == 0) {
		*ret_text = (struct text){0};
		return 0;
	}
	if (message->arena_used > MESSAGE_ARENA_MAX ||
	    length >= MESSAGE_ARENA_MAX - message->arena_used)
		return -ENOSPC;
	memcpy(message->arena + message->arena_used, string, length + 1);
	*ret_text = (struct text){.offset = message->arena_used, .length = (uint32_t)length};
	message->arena_used += (uint32_t)length + 1;
	return 0;
}

size_t message_body_size(uint32_t kind)
{
	const struct schema *schema = schema_find(kind);

	return schema ? schema->size : 0;
}

union message_body *message_begin(struct message *message, enum message_kind kind)
{
	message->kind = (uint32_t)kind;
	message->arena_used = 0;
	memset(&message->body, 0, message_body_size((uint32_t)kind));
	return &message->body;
}
