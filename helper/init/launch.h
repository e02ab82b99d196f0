/*
 * From an EXEC message to a running process: clone3 and everything the child does before execve.
 *
 * The child starts as init, with CAP_SETUID, CAP_SETGID and CAP_KILL in the payload's user namespace, and drops them
 * and init's id before it touches a file. It is a copy (no CLONE_VM): while it runs as the command's id, which other
 * commands may stop or kill, init neither shares memory with it nor waits for it.
 */
#pragma once

#include "helper/init/config.h"
#include "helper/init/session.h"
#include "protocol/message.h"

#include "base/error.h"

#include <limits.h>
#include <sys/types.h>

/* Working memory of the child, kept by init because a stack is small; only the child's copy is ever written. */
struct launch_scratch {
	char *argv[MESSAGE_ARGV_MAX + 1];
	char *env[MESSAGE_ENV_MAX + SESSION_ENV_MAX + INIT_ENV_MAX + 1];
	char path[PATH_MAX];
	const char *refused; /* which path of several a step could not use, if it failed for that */
};

struct launch {
	const struct init_config *config;
	const struct session *session;
	const struct message *message; /* kind EXEC, decoded by init itself */
	int stdio[3];		       /* -1: keep init's /dev/null; never below 3 otherwise */
	int leaf;		       /* of the command's cgroup, or -1 */
	int pipe;		       /* the child's end; launch_start() sets it */
	struct launch_scratch *scratch;
};

/* What the child writes into its pipe when it cannot become the command. */
struct launch_failure {
	uint32_t step; /* index of launch.c's table */
	int32_t error; /* errno */
	char path[128]; /* that it failed for, cut to fit; empty: none */
};

/*
 * Starts the child. Its pipe gives end of file once the command runs (or the child was killed before), or a
 * struct launch_failure; both are the caller's then. -errno: -EAGAIN where no further process is allowed.
 */
_must_check_ int launch_start(struct launch *launch, pid_t *ret_pid, int *ret_pipe);

/* Of a command that was to have a terminal and whose master did not come. */
struct launch_failure launch_without_terminal(void);

/*
 * What the pipe tells: 0 when the child is done with it (`failure` has no error: the command runs, and *terminal is its
 * master if it has one; from then on the caller's), or -EAGAIN.
 */
_must_check_ int launch_read(int pipe, struct launch_failure *failure, bool has_terminal, int *terminal);

/*
 * Fills `error` with YETT_E_COMMAND_FAILED and what failed. The detail begins with "errno=N " if the program could not
 * be executed, so that shells' 126 and 127 can be told apart, and with "step=" otherwise.
 */
void launch_describe(const struct launch_failure *failure, struct yett_error *error);
