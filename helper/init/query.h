/*
 * What clients ask about commands by their ids: QUERY, and its answer COMMANDS.
 *
 * As init, unprivileged. Whoever has a channel may ask about all commands: channels lead to one user's clients, and to root's.
 */
#pragma once

#include "helper/init/commands.h"

/*
 * Does at once what a QUERY asks for: kills, or notes that its channel waits. 0, YETT_E_NOT_FOUND, or YETT_E_RESOURCE_LIMIT. All
 * but a wait are then to be answered with query_answer().
 */
_must_check_ int query_act(struct commands *commands, const struct message_query *query, struct command_origin origin,
				struct yett_error *error);

/*
 * The answer to a QUERY as things are now, into `message`. fds[0 … *ret_count) go with it, borrowed. 0, or YETT_E_NOT_FOUND.
 */
_must_check_ int query_answer(struct commands *commands, const struct message_query *query, struct message *message, int fds[2],
				 size_t *ret_count, struct yett_error *error);

/* The command that this request waits for, or 0. */
uint64_t query_waits_for(const struct commands *commands, struct command_origin origin);

/* A wait of this channel that is over, as commands_next() has it; and its end, when that was told. */
bool query_next(struct commands *commands, const void *channel, struct command_due *ret_due, struct message *message,
		struct yett_error *error);
void query_end(struct commands *commands, size_t index);

/* Nobody of this channel waits any more. */
void query_forget(struct commands *commands, const void *channel);
