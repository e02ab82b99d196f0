/*
 * From an EXEC message to a running process: clone3 and everything the child does before execve.
 *
 * A fork is a tenth of what a short command takes, so the child may be forked ahead of its command:
 * it waits for the very packet that init has read, and reads it for itself. It starts as init, with
 * CAP_SETUID, CAP_SETGID and CAP_KILL in the payload's user namespace, and drops them and init's id
 * before it touches a file. It is a copy (no CLONE_VM): while it runs as the command's id, which
 * other commands may stop or kill, init neither shares memory with it nor waits for it.
 */
#pragma once

#include "programs/init/config.h"
#include "programs/init/session.h"
#include "protocol/frame_message.h"

#include <sys/types.h>

/* The descriptors of a command before it is one: those of its stdio, and memory with further
 * arguments. -1: none. */
#define LAUNCH_MORE  3
#define LAUNCH_FILES 4

/* A child that has not executed its program yet. */
struct launch_child {
	pid_t pid;  /* 0: none */
	int socket; /* to it: its packet goes there, and what becomes of it comes back. Owned */
};

/* What the child sends when it cannot become the command. */
struct launch_failure {
	uint32_t step;  /* index of launch.c's table */
	int32_t error;  /* errno */
	char path[128]; /* that it failed for, cut to fit; empty: none */
};

/*
 * Whether a child can wait for its command: it has init's id, and where commands have the same one,
 * or capabilities, one of them might stop it and so whatever is asked for next.
 */
bool launch_may_wait(const struct init_config *config);

/*
 * Forks a child, into the cgroup `leaf` (-1: init's own); it has a copy of the session as it is
 * now. 0; -errno: -EAGAIN where no further process is allowed.
 */
_must_check_ int launch_fork(const struct init_config *config, struct session *session, int leaf,
                             struct launch_child *ret_child);

/* Hands over a SESSION that init has done, so that the child's copy follows. 0; -errno when the
 * child is of no use. */
_must_check_ int launch_tell_session(const struct launch_child *child, const struct frame *packet);

/*
 * Hands over an EXEC, with its descriptors (borrowed; those that it does not ask for are not looked
 * at). From then on the socket gives end of file once the command runs (or the child was killed
 * before), or a struct launch_failure. 0; -errno when the child is of no use.
 */
_must_check_ int launch_tell(const struct launch_child *child, const struct frame *packet,
                             const struct message_exec *exec, const int files[LAUNCH_FILES]);

/* Closes the socket: a child that has not been told ends, and is reaped like any other. Takes one
 * that is none. */
void launch_dismiss(struct launch_child *child);

/* Of a command that was to have a terminal and whose master did not come. */
struct launch_failure launch_without_terminal(void);

/*
 * What comes back: 0 when the child is done with it (`failure` has no error: the command runs, and
 * *terminal is its master if it has one; from then on the caller's), or -EAGAIN.
 */
_must_check_ int launch_read(int socket, struct launch_failure *failure, bool has_terminal,
                             int *terminal);

/*
 * Fills `error` with YETT_E_COMMAND_FAILED and what failed. Its cause has the errno, and a step
 * unless it is the program that could not be executed, so that shells' 126 and 127 can be told
 * apart, and with "step=" otherwise.
 */
void launch_describe(const struct launch_failure *failure, struct yett_error *error);
