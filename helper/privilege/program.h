/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process starts a program of ours that works without privilege, and sends questions to the
 * program over a socket: yett-decider, yett-decoder, yett-reader, yett-closer, yett-audit.
 *
 * A question and an answer are one packet each. Every wait has a deadline, and the buffer bounds
 * the answer. The caller must not trust what an answer says. These functions run with the privilege
 * of the caller, which must leave SIGCHLD at its default: then the pid is not reused before the
 * caller reaps the program.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct program {
	pid_t pid;  /* 0: none */
	int socket; /* SOCK_SEQPACKET; -1: none, or closed */
};
#define PROGRAM_NONE ((struct program){.socket = -1})

/*
 * Starts `folder`/argv[0], with one end of a socket pair as descriptor 0 and the `count`
 * descriptors of `fds` at their own numbers. The caller must be sure that the program can be
 * trusted. Does not wait for it. Returns 0 or -errno.
 */
_must_check_ int program_start(const char *folder, char *const argv[], const int *fds, size_t count,
                               struct program *ret_program);

/*
 * Sends a question. Returns 0; -EPROTO if the program has sent something unasked, which would pass
 * for the answer; -EPIPE if it is gone; or -errno.
 */
_must_check_ int program_ask(const struct program *program, const struct iovec *parts,
                             unsigned count);

/*
 * Waits for the answer until `deadline_ms` (clock_now_ms()). Returns the number of bytes; -EPIPE if
 * the program is gone; -ETIMEDOUT; -EPROTO if the answer is larger than `parts`; or -errno. May
 * write `parts` in any case.
 */
_must_check_ ssize_t program_hear(const struct program *program, struct iovec *parts,
                                  unsigned count, uint64_t deadline_ms);
