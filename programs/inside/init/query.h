/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the clients' questions about commands by id: QUERY, and its answer COMMANDS.
 *
 * Runs as init, unprivileged. A client with a channel may ask about all commands of the sandbox:
 * only clients of one user, and root's, can have channels.
 */
#pragma once

#include "programs/inside/init/command.h"

/* Whether the query is answered only when the command ends or writes more output. */
bool query_waits(const struct message_query *query);

/*
 * Performs the action of a QUERY: kills, sends a signal, or registers a wait for its channel.
 * Returns 0, YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING, YETT_E_INVALID_REQUEST or YETT_E_RESOURCE_LIMIT.
 * If it returns 0 and the query does not wait, the caller must answer with query_answer().
 */
_must_check_ int query_act(struct commands *commands, const struct message_query *query,
                           struct command_origin origin, struct yett_error *error);

/*
 * Writes the answer to a QUERY, with the current state, into `message`, and the descriptors to send
 * with it into `due`. Returns 0, YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING or YETT_E_INVALID_REQUEST.
 * Call query_reported() once the answer is sent.
 */
_must_check_ int query_answer(struct commands *commands, const struct message_query *query,
                              struct message *message, struct command_due *due,
                              struct yett_error *error);

void query_reported(struct commands *commands, const struct message_query *query);

/* The id of the command that request `origin` waits for, or 0. */
uint64_t query_waits_for(const struct commands *commands, struct command_origin origin);

/*
 * query_next() finds a wait of this channel whose answer is due, with the parameters of
 * commands_next(). query_end() removes the wait once it is answered.
 */
bool query_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                struct message *message, struct yett_error *error);
void query_end(struct commands *commands, size_t index);

/* Removes all waits of this channel. */
void query_forget(struct commands *commands, const void *channel);
