/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an EXEC message to a running process: clone3() and all that the child does before execve().
 *
 * The fork takes a tenth of the time of a short command, so init may fork the child ahead. The
 * child then waits for the packet that init received, and decodes it itself. The child starts with
 * init's id and with CAP_SETUID, CAP_SETGID and CAP_KILL in the payload's user namespace, and drops
 * them before it touches a file. The child is a copy (no CLONE_VM): once it has the command's id,
 * other commands can stop or kill it, so init shares no memory with it and never waits for it.
 */
#pragma once

#include "programs/inside/init/config.h"
#include "programs/inside/init/session.h"
#include "protocol/frame_message.h"

#include <sys/types.h>

/*
 * The descriptors that a command starts with: stdin, stdout, stderr, and (LAUNCH_MORE) memory with
 * further arguments. -1: none.
 */
#define LAUNCH_MORE  3
#define LAUNCH_FILES 4

/* A child that has not executed its program yet. */
struct launch_child {
	pid_t pid; /* 0: there is no child */
	/*
	 * init's end of the socket pair: packets go to the child, and its result comes back. Owned.
	 */
	int socket;
};

/* The child's report when it cannot become the command. */
struct launch_failure {
	uint32_t step;  /* index into launch_steps of launch.c */
	int32_t error;  /* errno */
	char path[128]; /* the path that caused the failure, cut to fit; or empty */
};

/*
 * Whether a child may be forked ahead of its command. The waiting child has init's id. Commands
 * that have the same id, or capabilities, could stop the child and thereby block the next command.
 */
bool launch_may_wait(const struct init_config *config);

/*
 * Forks a child into the cgroup `leaf` (-1: init's own cgroup). The child has a copy of the current
 * session. Returns 0 or -errno; -EAGAIN where no further process is allowed.
 */
_must_check_ int launch_fork(const struct init_config *config, struct session *session, int leaf,
                             struct launch_child *ret_child);

/*
 * Sends the child a SESSION packet that init has already applied, so that the child changes its
 * copy too. Returns 0, or -errno when the child is unusable.
 */
_must_check_ int launch_report_session(const struct launch_child *child,
                                       const struct frame *packet);

/*
 * Sends the child an EXEC packet and its descriptors (borrowed; entries of `files` that the EXEC
 * does not request are ignored). Afterwards the socket gives a struct launch_failure, or end of
 * file once the command runs or if the child was killed first. Returns 0, or -errno when the child
 * is unusable.
 */
_must_check_ int launch_report(const struct launch_child *child, const struct frame *packet,
                               const struct message_exec *exec, const int files[LAUNCH_FILES]);

/*
 * Closes the socket. A child that has received no EXEC then exits and is reaped like any other.
 * Does nothing if there is no child.
 */
void launch_dismiss(struct launch_child *child);

/* The failure of a command that requested a terminal and whose pty master did not arrive. */
struct launch_failure launch_without_terminal(void);

/*
 * Reads the child's result. Returns -EAGAIN while there is none. Returns 0 when the child is done:
 * either `failure` has an error, or the command runs and *terminal is its pty master if it has one,
 * which the caller then owns.
 */
_must_check_ int launch_read(int socket, struct launch_failure *failure, bool has_terminal,
                             int *terminal);

/*
 * Fills `error` with YETT_E_COMMAND_FAILED and the reason. The cause has the errno and the name of
 * the failed step. The cause has no step if the program itself could not be executed, so that a
 * shell can tell exit status 126 from 127.
 */
void launch_describe(const struct launch_failure *failure, struct yett_error *error);
