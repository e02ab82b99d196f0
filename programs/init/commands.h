/*
 * The commands of the sandbox: starting, signalling, timing out, ending, and what clients must
 * still be told.
 *
 * As init, unprivileged and single-threaded; nothing here waits, but as tell.h says. Only init
 * reaps, so until it has reaped a command that command's pid and process group are nobody else's:
 * no pidfd is needed. Results stay in the table until the channel has taken them, however long the
 * client does not read.
 */
#pragma once

#include "programs/init/launch.h"
#include "programs/init/leaf.h"
#include "programs/init/records.h"
#include "programs/init/tell.h"

#include <poll.h>
#include <time.h>

#define COMMANDS_MAX       1024
#define COMMANDS_WAITS_MAX 1024
/* each starting, and with two outputs that are kept */
#define COMMANDS_POLLED_MAX (3 * COMMANDS_MAX)

enum command_state {
	COMMAND_FREE = 0,
	COMMAND_STARTING, /* the child has not executed the program yet */
	COMMAND_RUNNING,
	COMMAND_EMPTYING, /* ended; what it left in its leaf was killed and is not gone yet */
	COMMAND_ENDED,    /* ended, and nothing of it is left */
};

/* Which request asked for it, and on which channel, where it is told of; NULL: nobody is told any
 * more. */
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
	bool is_reported; /* that it starts, before it does: where the sandbox is recorded */
	bool result_due;  /* EXITED or ERROR was not sent yet; sent when ended, or when emptying
	                     takes too long */
	struct command_origin origin;
	struct record record;
	struct launch_child child; /* while starting */
	bool has_terminal;
	int terminal; /* its master until STARTED was sent, or -1; owned */
	int input; /* where its stdin is written to, until it is over or somebody else is to end it;
	              or -1; owned */
	uint64_t start_us;    /* CLOCK_MONOTONIC, here and below */
	uint64_t deadline_us; /* 0: none */
	uint64_t emptying_us; /* since when */
	bool leaf_spent; /* its leaf cannot serve another command: it counted for this one, or it
	                    was killed */
	struct leaf_counters before;
	struct leaf_usage used_before; /* by those that had its leaf before it */
};

/* A client that is to be told when a command has ended, or has written more. */
struct command_wait {
	struct command_origin origin; /* of the query; without a channel: none */
	struct message_query query;   /* WAIT or FOLLOW */
};

/* What a client is to be told next. */
struct command_due {
	size_t index; /* of the command, or of the wait */
	bool is_wait;
	uint64_t sequence;
	int fds[2]; /* that go with it, borrowed */
	size_t fds_count;
};

struct commands {
	const struct init_config *config;
	struct launch_child ready; /* forked ahead of the next command */
	size_t ready_slot;         /* which will be that command's: it is in this one's leaf */
	bool ready_follows;        /* it was told of a change of the session */
	struct session session;
	struct tell tell;
	bool has_launched; /* a child has become its program, or ended, since this was last cleared
	                    */
	size_t end;        /* no command at or after this index */
	struct command table[COMMANDS_MAX];
	size_t waits_end; /* no wait at or after this index */
	struct command_wait waits[COMMANDS_WAITS_MAX];
	struct records records;
};

/*
 * Starts what an EXEC asks for, which came in `packet`. `files` as for launch_tell(). 0 (STARTED or
 * ERROR follows in time); YETT_E_RESOURCE_LIMIT when there are COMMANDS_MAX or the kernel refuses
 * another process; YETT_E_COMMAND_FAILED.
 */
_must_check_ int commands_start(struct commands *commands, const struct frame *packet,
                                const struct message *message, struct command_origin origin,
                                const int files[LAUNCH_FILES], struct yett_error *error);

/*
 * Forks a child ahead of the next command, if none is ready: of the first, which nearly every
 * sandbox has, and again once a second one has shown that more may come.
 */
void commands_prepare(struct commands *commands);

/* Ends that child, if there is one. */
void commands_dismiss(struct commands *commands);

/* The session has been changed by the SESSION in `packet`: that child is told, or ended where it
 * cannot be or was told once. */
void commands_tell_session(struct commands *commands, const struct frame *packet);

/*
 * To the process group of a command that has not ended: the one that this request started, or waits
 * for. 0, YETT_E_NOT_RUNNING, or YETT_E_INVALID_REQUEST.
 */
_must_check_ int commands_signal(struct commands *commands, struct command_origin origin,
                                 int signal, struct yett_error *error);

/* To the process group of this one, which has not ended. 0 or YETT_E_INVALID_REQUEST. */
_must_check_ int commands_send_signal(const struct command *command, int signal,
                                      struct yett_error *error);

/* The one with this id, in whatever state, or NULL: then it is at most among the records. */
struct command *commands_find(struct commands *commands, uint64_t id);

/* Its main process was started and has not ended. */
bool commands_is_alive(const struct command *command);

/* What a command that has not ended has used so far, as far as its leaf tells. */
void commands_usage(const struct commands *commands, const struct command *command,
                    struct message_exited *ret_so_far);

/* Its result is there; and it is not held back for long by what cannot die. */
bool commands_is_over(const struct command *command);

/* SIGKILL to everything of a command that is not reaped yet. */
void commands_kill(const struct commands *commands, struct command *command);

/* Kills every command. */
void commands_kill_all(struct commands *commands);

/* Those of this channel go on, and nobody is told of them. */
void commands_forget(struct commands *commands, const void *channel);

/* Puts the sockets of starting commands, and the pipes of outputs, into fds[0 …
 * COMMANDS_POLLED_MAX); returns how many. */
size_t commands_poll(struct commands *commands, struct pollfd *fds);

/* Reads these, reaps every child that ended, and clears up after ended commands. */
void commands_advance(struct commands *commands, const struct pollfd *fds);

/* Kills commands whose time is over, and reports those that will not empty. Returns when to call
 * again; 0: never. */
uint64_t commands_expire(struct commands *commands);

/*
 * The next message for the client of this channel, into `message` (a result), or into `error`,
 * which then has a code. False when none is due. It stays due until commands_sent().
 */
bool commands_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                   struct message *message, struct yett_error *error);
void commands_sent(struct commands *commands, const struct command_due *due);
