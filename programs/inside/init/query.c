/* SPDX-License-Identifier: Apache-2.0 */
/* See query.h. Unprivileged. Never blocks: a wait is an entry of a table. */
#include "programs/inside/init/query.h"

void query_end(struct commands *commands, size_t i)
{
	commands->waits[i] = (struct command_wait){0};
	while (commands->waits_end > 0 && !commands->waits[commands->waits_end - 1].origin.channel)
		commands->waits_end--;
}

void query_forget(struct commands *commands, const void *channel)
{
	for (size_t i = commands->waits_end; i-- > 0;)
		if (i < commands->waits_end && commands->waits[i].origin.channel == channel)
			query_end(commands, i);
}

uint64_t query_waits_for(const struct commands *commands, struct command_origin origin)
{
	for (size_t i = 0; i < commands->waits_end; i++)
		if (command_is_of(commands->waits[i].origin, origin))
			return commands->waits[i].query.command;
	return 0;
}

static int query_unknown(const struct commands *commands, uint64_t id, struct yett_error *error)
{
	return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                 id == 0 || id > commands->records.last
	                         ? "there was no command %llu in this sandbox"
	                         : "the result of command %llu is no longer kept",
	                 (unsigned long long)id);
}

/* Appends a command of the table to the list in `message`. */
static void query_report(const struct commands *commands, const struct command *command,
                         struct message *message)
{
	struct message_command *reported =
		&message->body.commands.commands[message->body.commands.commands_count];
	bool is_over = command_is_over(command);

	record_report(&command->record,
	              is_over                              ? record_state(&command->record)
	              : command->state == COMMAND_STARTING ? EXECUTION_PENDING
	                                                   : EXECUTION_RUNNING,
	              message);
	if (!is_over)
		command_usage(commands, command, &reported->result);
}

/* Appends the command with this id to the list. Returns false if it is unknown. */
static bool query_report_one(struct commands *commands, uint64_t id, struct message *message)
{
	const struct command *command = command_find(commands, id);
	const struct record *record =
		command ? &command->record : records_find(&commands->records, id);

	if (command)
		query_report(commands, command, message);
	else if (record)
		record_report(record, record_state(record), message);
	return record != NULL;
}

static void query_report_from(struct commands *commands, uint64_t id, struct message *message)
{
	/*
	 * A list contains file operations, whose ids are above all others, only if the query starts
	 * at such an id.
	 */
	const uint64_t end = id & MESSAGE_FILE_OPERATION ? UINT64_MAX : MESSAGE_FILE_OPERATION;

	while (message->body.commands.commands_count < MESSAGE_COMMANDS_MAX) {
		const struct record *record = records_find_from(&commands->records, id);
		uint64_t lowest = record ? record->id : end;

		for (size_t i = 0; i < commands->end; i++) {
			const struct command *command = &commands->table[i];

			if (command->state != COMMAND_FREE && command->record.id >= id &&
			    command->record.id < lowest)
				lowest = command->record.id;
		}
		if (lowest == end || !query_report_one(commands, lowest, message))
			return;
		id = lowest + 1;
	}
}

static void query_begin_list(const struct commands *commands, struct message *message)
{
	message_begin(message, MESSAGE_COMMANDS)->commands.last = commands->records.last;
}

/*
 * Collects the descriptors to send with the answer to a query about this command. They are
 * borrowed.
 */
static size_t query_fds(const struct command *command, const struct record *record, uint32_t action,
                        int fds[2])
{
	size_t count = 0;

	if (action == QUERY_INPUT || action == QUERY_LAST_INPUT)
		fds[count++] = command->input;
	for (size_t i = 0; (action == QUERY_OUTPUT || action == QUERY_FOLLOW) && i < 2; i++)
		if (record->captures[i].length > 0)
			fds[count++] = record->captures[i].memory;
	return count;
}

static bool query_is_due(const struct command_wait *wait, const struct command *command)
{
	if (!command || command_is_over(command))
		return true;
	for (size_t i = 0; wait->query.action == QUERY_FOLLOW && i < 2; i++)
		if (command->record.captures[i].length > wait->query.output_bytes[i])
			return true;
	return false;
}

bool query_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                struct message *message, struct yett_error *error)
{
	for (size_t i = 0; i < commands->waits_end; i++) {
		const struct command_wait *wait = &commands->waits[i];

		if (wait->origin.channel != channel ||
		    !query_is_due(wait, command_find(commands, wait->query.command)))
			continue;
		*ret_due = (struct command_due){
			.index = i, .is_wait = true, .sequence = wait->origin.sequence};
		(void)!query_answer(commands, &wait->query, message, ret_due, error);
		return true;
	}
	return false;
}

bool query_waits(const struct message_query *query)
{
	return query->action == QUERY_WAIT || query->action == QUERY_FOLLOW;
}

static int query_wait(struct commands *commands, const struct message_query *query,
                      struct command_origin origin, struct yett_error *error)
{
	size_t i = 0;

	while (i < commands->waits_end && commands->waits[i].origin.channel)
		i++;
	if (i == COMMANDS_WAITS_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "%d clients wait for commands already", COMMANDS_WAITS_MAX);
	commands->waits[i] = (struct command_wait){.origin = origin, .query = *query};
	if (i == commands->waits_end)
		commands->waits_end++;
	return 0;
}

static int query_needs_running(const struct command *command, uint64_t id, struct yett_error *error)
{
	if (command && command_is_alive(command))
		return 0;
	return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "command %llu has ended",
	                 (unsigned long long)id);
}

static int query_needs_input(const struct command *command, uint64_t id, struct yett_error *error)
{
	int r = query_needs_running(command, id, error);

	if (r != 0 || command->input >= 0)
		return r;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"command %llu takes no input: it was not started with one, or was given its last",
		(unsigned long long)id);
}

int query_act(struct commands *commands, const struct message_query *query,
              struct command_origin origin, struct yett_error *error)
{
	struct command *command = command_find(commands, query->command);
	int r;

	if ((query->action == QUERY_SIGNAL) != (query->signal != 0))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the query signal, and no other, must have a signal");
	if (query->action == QUERY_LIST)
		return 0;
	if (!command && !records_find(&commands->records, query->command))
		return query_unknown(commands, query->command, error);
	if (query_waits(query))
		return query_wait(commands, query, origin, error);
	if (query->action == QUERY_KILL && command && command_is_alive(command))
		command_kill(commands, command);
	if (query->action == QUERY_INPUT || query->action == QUERY_LAST_INPUT)
		return query_needs_input(command, query->command, error);
	if (query->action != QUERY_SIGNAL)
		return 0;
	r = query_needs_running(command, query->command, error);
	return r != 0 ? r : command_send_signal(command, (int)query->signal, error);
}

int query_answer(struct commands *commands, const struct message_query *query,
                 struct message *message, struct command_due *due, struct yett_error *error)
{
	const struct command *command = command_find(commands, query->command);
	const struct record *record =
		command ? &command->record : records_find(&commands->records, query->command);
	int r = 0;

	query_begin_list(commands, message);
	if (query->action == QUERY_LIST) {
		query_report_from(commands, query->command, message);
		return 0;
	}
	/* The command may have ended after the query arrived. */
	if (query->action == QUERY_INPUT || query->action == QUERY_LAST_INPUT)
		r = query_needs_input(command, query->command, error);
	if (r != 0)
		return r;
	if (!query_report_one(commands, query->command, message))
		return query_unknown(commands, query->command, error);
	due->fds_count = query_fds(command, record, query->action, due->fds);
	return 0;
}

void query_reported(struct commands *commands, const struct message_query *query)
{
	struct command *command = command_find(commands, query->command);
	struct record *record =
		command ? &command->record : records_find(&commands->records, query->command);
	bool with_output = query->action == QUERY_OUTPUT || query->action == QUERY_FOLLOW;

	if (query->action == QUERY_LAST_INPUT && command)
		command->input = fd_close(command->input);
	if (record && (!command || command_is_over(command)) &&
	    (with_output || query->action == QUERY_STATUS || query->action == QUERY_WAIT))
		record_fetched(record, with_output);
}
