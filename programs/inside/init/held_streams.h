/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard streams of commands that init holds a pipe for: captured outputs, and inputs that
 * clients send later.
 *
 * Runs as init, unprivileged. Nothing here blocks. init holds the write end of an input pipe but
 * writes nothing to it: a client that asks for it gets a copy of the descriptor.
 */
#pragma once

#include "programs/inside/init/command.h"

/*
 * Makes the pipes for the streams that `exec` requests as STDIO_CAPTURE. Stores the command's ends
 * in files[0 … 2]; the caller must close them through owned[0 … 2]. Returns 0 or -errno. On
 * failure, pipes that were already made are closed with the command's record and input.
 */
_must_check_ int held_streams_open(struct command *command, const struct message_exec *exec,
                                   int files[3], int owned[3]);

/*
 * Adds the pipes of a command's captured outputs to `fds` from index `n` on. Returns the new number
 * of entries.
 */
size_t held_streams_poll(struct command *command, struct pollfd *fds, size_t n);

/*
 * Reads the captured outputs for which poll(2) reported an event. When there is no room, output of
 * the records that ended first is dropped for running commands.
 */
void held_streams_read(struct commands *commands, const struct pollfd *fds);

/* Call when the command is over: reads the rest of its captured outputs and closes its pipes. */
void held_streams_finish(struct commands *commands, struct command *command);
