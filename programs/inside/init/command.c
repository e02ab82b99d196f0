/* SPDX-License-Identifier: Apache-2.0 */
/* See command.h. */
#include "programs/inside/init/command.h"
#include "base/clock_us.h"

#include <signal.h>

/*
 * A process that cannot be killed, for example one that waits for a dead disk, delays the result of
 * its command by at most this time.
 */
#define COMMAND_EMPTYING_US 1000000

bool command_has_leaf(const struct commands *commands)
{
	return commands->config->fds_present & 1U << (INIT_FD_CGROUP - INIT_FD_CONTROL);
}

unsigned command_leaf(const struct commands *commands, const struct command *command)
{
	return (unsigned)(command - commands->table);
}

/*
 * A leaf in which cgroup.kill was used must not be reused: since Linux 6.14, a process that is
 * later created in it is killed as well.
 */
void command_kill_leaf(const struct commands *commands, struct command *command)
{
	leaf_kill(command_leaf(commands, command));
	command->leaf_spent = true;
}

/*
 * Kills the main process first. Otherwise it could survive its children for a moment and exit by
 * itself.
 */
void command_kill(const struct commands *commands, struct command *command)
{
	(void)kill(command->record.pid, SIGKILL);
	if (command_has_leaf(commands))
		command_kill_leaf(commands, command);
	else
		(void)kill(-command->record.pid, SIGKILL);
}

bool command_is_alive(const struct command *command)
{
	return command->state == COMMAND_STARTING || command->state == COMMAND_RUNNING;
}

/*
 * Falls back to the process if the child has no process group of its own yet. Such a child keeps
 * the signal blocked until it executes the program.
 */
int command_send_signal(const struct command *command, int signal, struct yett_error *error)
{
	if (kill(-command->record.pid, signal) < 0 && kill(command->record.pid, signal) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "signal %d cannot be sent", signal);
	return 0;
}

void command_usage(const struct commands *commands, const struct command *command,
                   struct message_exited *ret_so_far)
{
	struct leaf_usage now = {0};

	if (command_has_leaf(commands))
		leaf_read_usage(command_leaf(commands, command), &now);
	*ret_so_far = (struct message_exited){.wall_us = clock_now_us() - command->start_us,
	                                      .memory_peak_bytes = now.memory_peak_bytes,
	                                      .started_ms = command->record.exited.started_ms};
	if (now.user_us > command->used_before.user_us)
		ret_so_far->user_us = now.user_us - command->used_before.user_us;
	if (now.system_us > command->used_before.system_us)
		ret_so_far->system_us = now.system_us - command->used_before.system_us;
}

bool command_is_over(const struct command *command)
{
	return command->state == COMMAND_ENDED ||
	       (command->state == COMMAND_EMPTYING &&
	        clock_now_us() - command->emptying_us > COMMAND_EMPTYING_US);
}

struct command *command_find(struct commands *commands, uint64_t id)
{
	for (size_t i = 0; i < commands->end; i++)
		if (commands->table[i].state != COMMAND_FREE && commands->table[i].record.id == id)
			return &commands->table[i];
	return NULL;
}
