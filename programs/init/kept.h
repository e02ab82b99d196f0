/*
 * The standard streams of commands that init has a part in: outputs that it keeps, and inputs that
 * are given later.
 *
 * As init, unprivileged; nothing here waits. Of an input init holds the end that is written to, and
 * writes nothing: who asks for it gets a copy.
 */
#pragma once

#include "programs/init/commands.h"

/*
 * Makes the pipes of what `exec` wants kept: the command's ends take their places in files[0 … 2],
 * and are to be closed through owned[0 … 2]. 0 or -errno; what was made then goes with the
 * command's record and input.
 */
_must_check_ int kept_open(struct command *command, const struct message_exec *exec, int files[3],
                           int owned[3]);

/* Puts the pipes of a command's outputs into `fds`, from `n` on; returns how many there are then.
 */
size_t kept_poll(struct command *command, struct pollfd *fds, size_t n);

/* Reads those of all commands that poll(2) told of. Whoever ended first makes room for who runs. */
void kept_read(struct commands *commands, const struct pollfd *fds);

/* The command is over: the rest of its outputs is read, and its pipes are closed. */
void kept_finish(struct commands *commands, struct command *command);
