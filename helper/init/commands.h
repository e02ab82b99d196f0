/*
 * The commands of the sandbox: starting, signalling, timing out, ending, and what the client must still be told.
 *
 * As init, unprivileged and single-threaded; nothing here waits. Only init reaps, so until it has reaped a command that
 * command's pid and process group are nobody else's: no pidfd is needed. Results stay in the table until the channel
 * has taken them, however long the client does not read.
 */
#pragma once

#include "helper/init/launch.h"
#include "helper/init/leaf.h"
#include "helper/init/tell.h"

#include <poll.h>
#include <time.h>

#define COMMANDS_MAX 1024

enum command_state {
	COMMAND_FREE = 0,
	COMMAND_STARTING, /* the child has not executed the program yet */
	COMMAND_RUNNING,
	COMMAND_EMPTYING, /* ended; what it left in its leaf was killed and is not gone yet */
	COMMAND_ENDED,	  /* ended, and nothing of it is left */
};

/* Which request asked for it, and on which channel, where it is told of; NULL: nobody is told any more. */
struct command_origin {
	const void *channel;
	uint64_t sequence;
};

struct command {
	enum command_state state;
	bool started_due; /* STARTED was not sent yet */
	bool result_due;  /* EXITED or ERROR was not sent yet; sent when ended, or when emptying takes too long */
	struct command_origin origin;
	uint64_t id; /* counted from 1 */
	pid_t pid;
	int pipe;	     /* while starting; owned */
	bool has_terminal;
	int terminal;	     /* its master until STARTED was sent, or -1; owned */
	int64_t start_us;    /* CLOCK_MONOTONIC, here and below */
	int64_t deadline_us; /* 0: none */
	int64_t emptying_us; /* since when */
	bool leaf_spent;     /* its leaf cannot serve another command: it counted for this one, or it was killed */
	struct leaf_counters before;
	struct launch_failure failure; /* error != 0: it never ran */
	struct message_exited exited;
};

struct commands {
	const struct init_config *config;
	struct launch_scratch *scratch;
	struct tell tell;
	uint64_t last; /* the id that was given last */
	size_t end; /* no command at or after this index */
	struct command table[COMMANDS_MAX];
};

int64_t commands_now_us(void);

/*
 * Starts what an EXEC asks for. stdio as in struct launch, borrowed. 0 (STARTED or ERROR follows in time);
 * YETT_E_RESOURCE_LIMIT when there are COMMANDS_MAX or the kernel refuses another process; YETT_E_COMMAND_FAILED.
 */
_must_check_ int commands_start(struct commands *commands, const struct message *message, struct command_origin origin,
				const int stdio[3], struct yett_error *error);

/* To the process group of a command that has not ended. 0, YETT_E_NOT_RUNNING, or YETT_E_INVALID_REQUEST. */
_must_check_ int commands_signal(struct commands *commands, struct command_origin origin, int signal,
				 struct yett_error *error);

/* Kills every command. */
void commands_kill_all(struct commands *commands);

/* Those of this channel go on, and nobody is told of them. */
void commands_forget(struct commands *commands, const void *channel);

/* Adds the pipes of starting commands to fds[0 … max); returns how many. */
size_t commands_poll(const struct commands *commands, struct pollfd *fds, size_t max);

/* Reads the pipes of starting commands, reaps every child that ended, and clears up after ended commands. */
void commands_advance(struct commands *commands);

/* Kills commands whose time is over, and reports those that will not empty. Returns when to call again; 0: never. */
int64_t commands_expire(struct commands *commands);

/*
 * The next message for the client of this channel, into `message` (a result), or into `error`, which then has a code. False when none
 * is due. It stays due until commands_sent(). With STARTED goes the command's `terminal`, if it has one.
 */
bool commands_next(const struct commands *commands, const void *channel, size_t *ret_index, struct message *message,
		   struct yett_error *error);
void commands_sent(struct commands *commands, size_t index);
