/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command of the sandbox, and the table of all commands, which the files around commands.c share.
 *
 * Runs as init, unprivileged and single-threaded. Signals only processes that init has not reaped.
 */
#pragma once

#include "programs/inside/init/launch.h"
#include "programs/inside/init/leaf.h"
#include "programs/inside/init/records.h"
#include "programs/inside/init/report.h"

#include <poll.h>
#include <time.h>

#define COMMANDS_MAX       1024
#define COMMANDS_WAITS_MAX 1024
/* Each command may be starting and have two captured outputs. */
#define COMMANDS_POLLED_MAX (3 * COMMANDS_MAX)

enum command_state {
	COMMAND_FREE = 0,
	COMMAND_STARTING, /* the child has not executed the program yet */
	COMMAND_RUNNING,
	/*
	 * The command has ended. Processes that remain in its leaf cgroup were killed and have not
	 * all exited.
	 */
	COMMAND_EMPTYING,
	COMMAND_ENDED, /* The command has ended, and none of its processes remains. */
};

/*
 * The request that started a command, and the channel on which init reports about the command.
 * `channel` NULL: the channel is closed, and init reports to nobody.
 */
struct command_origin {
	const void *channel;
	uint64_t sequence;
};

static inline bool command_is_of(struct command_origin a, struct command_origin b)
{
	return a.channel == b.channel && a.sequence == b.sequence;
}

struct command {
	enum command_state state;
	bool started_due; /* STARTED was not sent yet */
	/*
	 * The start event was already sent, before the program ran. Happens only where the sandbox
	 * is recorded.
	 */
	bool is_reported;
	/*
	 * EXITED or ERROR was not sent yet. Sent when the command has ended, or when emptying the
	 * leaf takes too long.
	 */
	bool result_due;
	struct command_origin origin;
	struct record record;
	struct launch_child child; /* while starting */
	bool has_terminal;
	int terminal; /* The pty master until STARTED is sent, or -1. Owned. */
	/*
	 * The write end of the pipe for stdin, or -1. Open until the command is over or a client
	 * takes over closing it (QUERY_LAST_INPUT). Owned.
	 */
	int input;
	uint64_t start_us;    /* CLOCK_MONOTONIC, here and below */
	uint64_t deadline_us; /* 0: none */
	uint64_t emptying_us; /* when COMMAND_EMPTYING began */
	/*
	 * The leaf cgroup must not be reused for another command: its counters include this
	 * command, or cgroup.kill was used in it.
	 */
	bool leaf_spent;
	struct leaf_counters before;
	/* Usage of the leaf by the commands that ran in it earlier. */
	struct leaf_usage used_before;
};

/* A client that waits for a command to end, or to write more output. */
struct command_wait {
	struct command_origin origin; /* the query's; `channel` NULL: this entry is free */
	struct message_query query;   /* WAIT or FOLLOW */
};

/* The next message that is due to a client. */
struct command_due {
	size_t index; /* index of the command, or of the wait if `is_wait` */
	bool is_wait;
	uint64_t sequence;
	int fds[2]; /* descriptors to send with the message, borrowed */
	size_t fds_count;
};

struct commands {
	const struct init_config *config;
	struct launch_child ready; /* the child that was forked ahead for the next command */
	/* the table entry of that next command; the child is already in its leaf */
	size_t ready_slot;
	bool ready_follows; /* `ready` has already been sent one change of the session */
	struct session session;
	struct report report;
	/* A child has executed its program or ended since this flag was last cleared. */
	bool has_launched;
	size_t end; /* no command at or after this index */
	struct command table[COMMANDS_MAX];
	size_t waits_end; /* no wait at or after this index */
	struct command_wait waits[COMMANDS_WAITS_MAX];
	struct records records;
};

/*
 * Sends a signal to the process group of `command`, which must not have ended. Returns 0 or
 * YETT_E_INVALID_REQUEST.
 */
_must_check_ int command_send_signal(const struct command *command, int signal,
                                     struct yett_error *error);

/*
 * Finds the command with this id in the table, in any state. Returns NULL if it is not there; a
 * record of it may still exist (records_find()).
 */
struct command *command_find(struct commands *commands, uint64_t id);

/* Whether the command's main process was started and has not ended. */
bool command_is_alive(const struct command *command);

/* The resources that a running command has used so far, as far as its leaf cgroup counts them. */
void command_usage(const struct commands *commands, const struct command *command,
                   struct message_exited *ret_so_far);

/*
 * Whether the command's result can be sent. True also when processes that cannot be killed have
 * delayed the end for more than 1 s.
 */
bool command_is_over(const struct command *command);

/* Sends SIGKILL to all processes of a command that is not reaped yet. */
void command_kill(const struct commands *commands, struct command *command);

/* Whether each command has a leaf cgroup, and the number of that leaf. */
bool command_has_leaf(const struct commands *commands);
unsigned command_leaf(const struct commands *commands, const struct command *command);

/* Kills every process in the command's leaf, which is not reused afterwards. */
void command_kill_leaf(const struct commands *commands, struct command *command);
