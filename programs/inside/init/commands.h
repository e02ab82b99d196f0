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

/*
 * Sends a signal to the process group of `command`, which must not have ended. Returns 0 or
 * YETT_E_INVALID_REQUEST.
 */
_must_check_ int commands_send_signal(const struct command *command, int signal,
                                      struct yett_error *error);

/*
 * Finds the command with this id in the table, in any state. Returns NULL if it is not there; a
 * record of it may still exist (records_find()).
 */
struct command *commands_find(struct commands *commands, uint64_t id);

/* Whether the command's main process was started and has not ended. */
bool commands_is_alive(const struct command *command);

/* The resources that a running command has used so far, as far as its leaf cgroup counts them. */
void commands_usage(const struct commands *commands, const struct command *command,
                    struct message_exited *ret_so_far);

/*
 * Whether the command's result can be sent. True also when processes that cannot be killed have
 * delayed the end for more than 1 s.
 */
bool commands_is_over(const struct command *command);

/* Sends SIGKILL to all processes of a command that is not reaped yet. */
void commands_kill(const struct commands *commands, struct command *command);

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
