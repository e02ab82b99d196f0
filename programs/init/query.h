/*
 * What clients ask about commands by their ids: QUERY, and its answer COMMANDS.
 *
 * As init, unprivileged. Whoever has a channel may ask about all commands: channels lead to one
 * user's clients, and to root's.
 */
#pragma once

#include "programs/init/commands.h"

/* Whether it is answered only when something has happened. */
bool query_waits(const struct message_query *query);

/*
 * Does at once what a QUERY asks for: kills, signals, or notes that its channel waits. 0,
 * YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING, YETT_E_INVALID_REQUEST or YETT_E_RESOURCE_LIMIT. Those that
 * do not wait are then to be answered with query_answer().
 */
_must_check_ int query_act(struct commands *commands, const struct message_query *query,
                           struct command_origin origin, struct yett_error *error);

/*
 * The answer to a QUERY as things are now, into `message`, and what goes with it into `due`. 0,
 * YETT_E_NOT_FOUND or YETT_E_NOT_RUNNING. When it was sent, query_told().
 */
_must_check_ int query_answer(struct commands *commands, const struct message_query *query,
                              struct message *message, struct command_due *due,
                              struct yett_error *error);

void query_told(struct commands *commands, const struct message_query *query);

/* The command that this request waits for, or 0. */
uint64_t query_waits_for(const struct commands *commands, struct command_origin origin);

/* A wait of this channel that is over, as commands_next() has it; and its end, when it was
 * answered. */
bool query_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                struct message *message, struct yett_error *error);
void query_end(struct commands *commands, size_t index);

/* Nobody of this channel waits any more. */
void query_forget(struct commands *commands, const void *channel);
