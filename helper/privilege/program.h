/*
 * A program of ours without privilege, that one process has started and asks over a socket:
 * yett-decider, yett-decoder, yett-reader, yett-closer, yett-audit.
 *
 * Questions and answers are one packet each. None is waited for without a deadline, and what comes
 * back is bounded by the room for it; what it says is the caller's to doubt. With the privilege of
 * the caller, which leaves SIGCHLD at its default, so that a pid stays the program's until it is
 * reaped.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct program {
	pid_t pid;  /* 0: none */
	int socket; /* SOCK_SEQPACKET; -1: none, or it is not asked any more */
};
#define PROGRAM_NONE ((struct program){.socket = -1})

/* Starts `folder`/argv[0], for which the caller vouches, with an end of a socket pair as descriptor
 * 0 and `count` further ones at their own numbers. It is not waited for. 0 or -errno.
 */
_must_check_ int program_start(const char *folder, char *const argv[], const int *fds, size_t count,
                               struct program *ret_program);

/* Sends it a question. 0; -EPROTO: it has said what nobody asked, which would pass for the answer;
 * -EPIPE: it is gone; or -errno. */
_must_check_ int program_ask(const struct program *program, const struct iovec *parts,
                             unsigned count);

/* Waits for its answer: how many bytes came; -EPIPE: it is gone; -ETIMEDOUT; -EPROTO: there were
 * more; or -errno. `parts` may be written anyway. */
_must_check_ ssize_t program_hear(const struct program *program, struct iovec *parts,
                                  unsigned count, uint64_t deadline_ms);
