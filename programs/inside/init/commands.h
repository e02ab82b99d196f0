/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the sandbox: starting, signalling, timeouts, ending, and the messages that
 * clients must still receive.
 *
 * Runs as init, unprivileged and single-threaded. Nothing here blocks, except as report.h says.
 * Only init reaps children, so the pid and the process group of a command cannot be reused before
 * init has reaped the command: no pidfd is needed. Results stay in the table until the channel has
 * sent them, however long the client does not read.
 */
#pragma once

#include "programs/inside/init/command.h"

/*
 * Starts the command that the EXEC in `packet` requests. `files` is as for launch_report(). Returns
 * 0 (STARTED or ERROR is sent later); YETT_E_RESOURCE_LIMIT when COMMANDS_MAX commands exist or the
 * kernel refuses another process; or YETT_E_UNSUPPORTED, YETT_E_COMMAND_FAILED.
 */
_must_check_ int commands_start(struct commands *commands, const struct frame *packet,
                                const struct message *message, struct command_origin origin,
                                const int files[LAUNCH_FILES], struct yett_error *error);

/*
 * Forks a child ahead of the next command, if none is ready and a child can wait
 * (launch_may_wait()). Skipped after exactly one command: nearly every sandbox runs a first
 * command, but only a second one shows that more may follow.
 */
void commands_prepare(struct commands *commands);

/* Kills the child that waits for the next command, if there is one. */
void commands_dismiss(struct commands *commands);

/*
 * Forwards the SESSION in `packet`, which has changed the session, to the waiting child. Kills that
 * child instead if the packet cannot be sent or the child has already received an earlier change.
 */
void commands_report_session(struct commands *commands, const struct frame *packet);

/*
 * Sends a signal to the process group of a running command: the command that request `origin`
 * started, or the one that it waits for. Returns 0, YETT_E_NOT_RUNNING or YETT_E_INVALID_REQUEST.
 */
_must_check_ int commands_signal(struct commands *commands, struct command_origin origin,
                                 int signal, struct yett_error *error);

/* Kills every command. */
void commands_kill_all(struct commands *commands);

/*
 * Detaches the commands of a closed channel: they keep running, and their results are sent to
 * nobody.
 */
void commands_forget(struct commands *commands, const void *channel);

/*
 * Puts the sockets of starting commands and the pipes of captured outputs into fds[0 …
 * COMMANDS_POLLED_MAX). Returns how many entries were filled.
 */
size_t commands_poll(struct commands *commands, struct pollfd *fds);

/*
 * Reads the descriptors of commands_poll(), reaps all children that ended, and cleans up after
 * ended commands.
 */
void commands_advance(struct commands *commands, const struct pollfd *fds);

/*
 * Kills commands whose timeout has passed. Returns the CLOCK_MONOTONIC time in microseconds of the
 * next necessary call; 0: none.
 */
uint64_t commands_expire(struct commands *commands);

/*
 * Writes the next message that is due on this channel into `message`, or into `error`, whose code
 * is then not YETT_OK. Returns false when none is due. The message stays due until commands_sent().
 */
bool commands_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                   struct message *message, struct yett_error *error);
void commands_sent(struct commands *commands, const struct command_due *due);
