/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox and its commands, as the files of libclient share them.
 *
 * Runs with the caller's privilege. init may be hostile: use only messages that channel.c has
 * checked.
 */
#pragma once

#include "base/memory.h"
#include "libclient/connection.h"
#include "libclient/operation.h"

struct yett_sandbox {
	struct connection_request request; /* under the connection's lock */
	struct channel *channel;           /* the exec channel to init */
	struct yett_sandbox_info info;
	char *directory; /* where its commands start; owned; NULL: "/" */
	/* Closing its channel does not end it, because it lingers or the handle was attached. */
	bool outlives;
	struct yett_command *commands;
	struct ask *asks; /* queries that wait for their answers, the innermost first */
	int events;       /* epoll(7) of the channel and the streams of commands */
	uint64_t streams_turn;
	struct operation_list operations;
	mode_t umask; /* of the program, when the sandbox was requested */
	/* Sealed memfd with yett-files, open for reading; -1 until it is needed. */
	int files_program;
};

enum command_state { COMMAND_ASKED, COMMAND_STARTED, COMMAND_EXITED, COMMAND_FAILED };

struct yett_command {
	struct yett_sandbox *sandbox; /* NULL once the sandbox handle was ended or closed */
	struct yett_command *next;
	uint64_t sequence;    /* of its EXEC, or of the QUERY that waits for its end */
	uint64_t id;          /* 0 until init has reported it */
	bool is_attached;     /* the handle was attached to an existing command */
	bool is_following;    /* on_output is called with what init keeps of its outputs */
	uint64_t followed[2]; /* bytes of each output that on_output was called with */
	enum command_state state;
	bool reported; /* on_exit was called */
	uint32_t pid;
	bool has_terminal;
	int terminal; /* master of its terminal; -1 until the command started; owned */
	/* Set by yett_command_resize() before the command started; 0, 0: not set. */
	uint16_t rows, columns;
	struct yett_result result; /* COMMAND_EXITED: the result */
	struct yett_error error;   /* COMMAND_FAILED: the reason */
	void (*on_exit)(struct yett_command *command, void *data);
	uint64_t streams_turn; /* the turn of streams_read() in which they were read last */
	/* The library's ends of YETT_STDIO_PIPE, until they are taken, or -1; owned. */
	int pipes[3];
	int streams[2]; /* the library's ends of outputs for on_output, or -1; owned */
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
};

/* A question to init, by a QUERY, SESSION or CONNECT, whose answer the caller waits for. */
struct ask {
	struct ask *next;
	uint64_t sequence;
	bool is_done;
	enum message_kind answer;   /* kind of the answer: COMMANDS, SURROUNDINGS or CONNECTED */
	struct message_query query; /* the question, if the answer is COMMANDS */
	struct yett_error error;    /* code 0: it was answered */
	struct list *list;          /* of struct yett_command_status; owned */
	int fds[2]; /* outputs, or at index 0 an input or a connection; owned; -1: none */
	struct yett_session *session; /* owned */
};

/*
 * command.c: yett_sandbox_exec(), also for file operations, which init does not list as commands.
 */
_must_check_ int command_exec(struct yett_sandbox *sandbox,
                              const struct yett_command_options *options, bool is_file_operation,
                              struct yett_command **ret_command, struct yett_error *error);

/*
 * command.c: puts a list that ends with NULL (NULL: an empty list) into the message that is being
 * built. With `has_value` each text must be NAME=VALUE, otherwise the name of a variable.
 */
_must_check_ int command_put_env(struct channel *channel, const char *const *list, bool has_value,
                                 struct text *ret_texts, uint32_t *ret_count,
                                 struct yett_error *error);

/* Ends every command that has no result yet with the error `why`. Calls on_exit. */
void command_fail_all(struct yett_sandbox *sandbox, const struct yett_error *why);

/*
 * Handles one message of init. Returns 0; -EAGAIN at the deadline; or a positive code with the
 * reason when the sandbox is over.
 */
_must_check_ int command_turn(struct yett_sandbox *sandbox, deadline_ms deadline,
                              struct yett_error *error);

/*
 * command_new() allocates an empty command; NULL: no memory. command_add() adds it to the sandbox's
 * list, with the sequence of the message that was sent last.
 */
struct yett_command *command_new(void);
void command_add(struct yett_sandbox *sandbox, struct yett_command *command);

/* Converts a result to its form in yett.h. */
struct yett_result command_result(const struct message_exited *exited);

/*
 * streams.c: makes a pipe for output `i` of a command that has an on_output. The library keeps the
 * read end; *ret_write_end belongs to the caller.
 */
_must_check_ int streams_open(struct yett_sandbox *sandbox, struct yett_command *command, int i,
                              int *ret_write_end, struct yett_error *error);

/*
 * Makes a pipe for stream `i` with YETT_STDIO_PIPE. The command keeps the library's end; *ret_end
 * belongs to the caller.
 */
_must_check_ int streams_open_pipe(struct yett_command *command, int i, int *ret_end,
                                   struct yett_error *error);

/* Closes output `i`, if it is open. */
void streams_close(struct yett_command *command, int i);

/* Calls on_output with the output that is available, for every command, up to a limit for each. */
void streams_read(struct yett_sandbox *sandbox);

/* Reads the rest of the outputs of a command that is over, and closes their pipes. */
void streams_finish(struct yett_command *command);

/*
 * streams_are_open() returns whether any outputs are open; then a waiting caller must use
 * streams_wait(), which waits until something can be handled, or until the deadline.
 */
bool streams_are_open(const struct yett_sandbox *sandbox);
void streams_wait(const struct yett_sandbox *sandbox, deadline_ms deadline);

/*
 * arguments.c: puts arguments and variables into the EXEC that is being built. *ret_memory is a
 * memfd with those that the message has no room for, which the caller owns, or -1.
 */
_must_check_ int arguments_put(struct channel *channel, const char *const *argv,
                               const char *const *env, int *ret_memory, struct yett_error *error);

/*
 * reach.c: network rules in the form that requests have. reach_check() checks the counts of both
 * lists of rule texts, and that a list with a count is not NULL. reach_parse() parses text `i` of
 * the option `option`, which the error names. reach_put_rule() puts a rule into the message that is
 * being built.
 */
struct net_rule;
_must_check_ int reach_check(const char *const *allow, size_t allow_count, const char *const *deny,
                             size_t deny_count, struct yett_error *error);
_must_check_ int reach_parse(const char *option, size_t i, const char *text,
                             struct net_rule *ret_rule, struct yett_error *error);
_must_check_ int reach_put_rule(struct channel *channel, struct message_rule *into, bool deny,
                                const struct net_rule *rule, struct yett_error *error);

/* reach.c: puts network and rules into the CREATE that is being built. */
_must_check_ int reach_put(struct channel *channel, const struct yett_sandbox_options *options,
                           struct yett_error *error);

/*
 * answer.c: convert what init reports: a command, the session, and why a command failed. The
 * results are freed with yett_free(); NULL: no memory.
 */
struct yett_command_status *answer_status(const struct channel *channel,
                                          const struct message_command *from);
struct yett_session *answer_session(const struct channel *channel);
void answer_error(const struct channel *channel, const struct message_command *from,
                  struct yett_error *error);

/*
 * query.c: handles a message of init if it answers a question, or reports the end or output of an
 * attached command; *ret_is_mine says whether it did. Returns 0, or YETT_E_PROTOCOL for a
 * violation.
 */
_must_check_ int query_route(struct yett_sandbox *sandbox, bool *ret_is_mine,
                             struct yett_error *error);

/* query.c: sends a signal to a command by its id. Nobody waits for the answer. */
_must_check_ int query_send_signal(struct yett_sandbox *sandbox, uint64_t id, int number,
                                   struct yett_error *error);

/*
 * query.c: sends init the directory in which commands start, if that is not "/". Nobody waits for
 * the answer, which arrives before the answer to the first command.
 */
_must_check_ int query_send_directory(struct yett_sandbox *sandbox, struct yett_error *error);

/* Returns whether the command has its result, or will never have one. */
bool command_is_over(const struct yett_command *command);

/*
 * Takes the descriptor that came with STARTED. Returns 0, or YETT_E_SECURITY_VIOLATION if it is not
 * the master of a pty; the descriptor is closed then.
 */
_must_check_ int command_take_terminal(struct yett_command *command, int fd,
                                       struct yett_error *error);

/*
 * Sends the message in the connection's channel as a request, signed by the connection's key, with
 * descriptors (borrowed) for its shares. Adds `sandbox` to the connection's list; its answer
 * arrives in sandbox->request. The lock must be held.
 */
_must_check_ int sandbox_send(struct yett_connection *connection, const int *fds, size_t fd_count,
                              struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Waits for the answer to that request. Returns 0 when it is CONNECTION_ANSWERED. Otherwise removes
 * the sandbox from the connection's list, and the error says why. The lock must be held; it is
 * released while waiting.
 */
_must_check_ int sandbox_finish(struct yett_sandbox *sandbox, deadline_ms deadline,
                                struct yett_error *error);

/*
 * Does both: sends the request and waits for its answer. Other requests can be answered meanwhile.
 * Returns as sandbox_finish().
 */
_must_check_ int sandbox_request(struct yett_connection *connection, const int *fds,
                                 size_t fd_count, struct yett_sandbox *sandbox,
                                 struct yett_error *error);

/* Allocates a sandbox to send a request with. NULL: no memory. Free it with sandbox_free(). */
struct yett_sandbox *sandbox_new(enum connection_wanted wanted);

/* Makes a handle of the answer. Consumes `sandbox`. The lock must be held. */
_must_check_ int sandbox_take(struct yett_sandbox *sandbox, struct yett_sandbox **ret_sandbox,
                              struct yett_error *error);

/*
 * Returns whether the sandbox is paused, as far as the helper has reported. Never waits: returns
 * false if another thread holds the connection's lock.
 */
bool sandbox_is_paused(struct yett_sandbox *sandbox);

/*
 * sandbox_forget() removes the sandbox from the connection's list, with the lock held.
 * sandbox_free() frees it.
 */
void sandbox_forget(struct yett_sandbox *sandbox);
void sandbox_free(struct yett_sandbox *sandbox);
static inline void sandbox_freep(struct yett_sandbox **sandbox)
{
	if (*sandbox)
		sandbox_free(*sandbox);
}

/*
 * Returns whether a descriptor is what an exec channel and an event stream must be: a packet
 * socket. unix(7)
 */
bool sandbox_is_channel(int fd);

/* manage.c: requests the totals of the helper for all users. The caller must not hold the lock. */
_must_check_ int manage_totals(struct yett_connection *connection,
                               struct message_totals *ret_totals, struct yett_error *error);

/*
 * manage.c: requests the event stream of a sandbox. The caller owns *ret_fd, and must not hold the
 * lock.
 */
_must_check_ int manage_stream(struct yett_connection *connection, const char *id_or_name,
                               int *ret_fd, char ret_id[YETT_ID_SIZE], struct yett_error *error);

/*
 * manage.c: releases the connection's hold on a sandbox without waiting for the answer. The caller
 * must not hold the lock.
 */
void manage_let_go(struct yett_connection *connection, const char *id);

/* manage.c: builds a MANAGE message. The lock must be held. */
_must_check_ int manage_put(struct yett_connection *connection, const struct message_manage *asked,
                            const char *id_or_name, struct yett_error *error);

/*
 * manage.c: sends a MANAGE request that is answered with DONE. The caller must not hold the lock.
 */
_must_check_ int manage_done(struct yett_connection *connection, enum manage_action action,
                             const char *id_or_name, struct yett_error *error);

/*
 * The kind of message that a listing consists of, and the function that makes an item of each
 * (memory.h). The function returns NULL if there is no memory.
 */
struct manage_items {
	uint32_t kind;
	void *(*take)(const struct yett_connection *connection, const struct message *message);
};

/*
 * Sends a MANAGE request that is answered with a listing, of any number of items. *ret_listing has
 * the values for the whole list. The caller must not hold the lock.
 */
_must_check_ int manage_listing_of(struct yett_connection *connection,
                                   const struct message_manage *asked, const char *id_or_name,
                                   const struct manage_items *items, struct list **ret_list,
                                   struct message_listing *ret_listing, struct yett_error *error);

/* Does the same for sandboxes. If `id_or_name` is not NULL, the listing must have one item. */
_must_check_ int manage_listing(struct yett_connection *connection,
                                const struct message_manage *asked, const char *id_or_name,
                                const struct manage_items *items, struct list **ret_list,
                                struct yett_error *error);

/*
 * manage_list_all() lists all, by the flags of a list (enum yett_list_flag). manage_item() returns
 * one item, which yett_free() frees.
 */
_must_check_ int manage_list_all(struct yett_connection *connection, enum manage_action action,
                                 unsigned flags, const struct manage_items *items,
                                 struct list **ret_list, struct yett_error *error);
_must_check_ int manage_item(struct yett_connection *connection, enum manage_action action,
                             const char *id_or_name, const struct manage_items *items,
                             void **ret_item, struct yett_error *error);

/* Copies the plan that the descriptor holds. Free *ret_text with yett_free(). */
_must_check_ int sandbox_read_plan(int fd, bool as_json, char **ret_text, struct yett_error *error);

/*
 * Copies memory of at most `max` bytes, which must be sealed against every change, and adds a NUL.
 * Free *ret_bytes with yett_free(). `what` names it in the error.
 */
_must_check_ int sealed_read(int fd, size_t max, char **ret_bytes, size_t *ret_length,
                             const char *what, struct yett_error *error);

/*
 * Waits at most a second for the helper to report why the sandbox ended. Fills `error` and returns
 * its code.
 */
int sandbox_why_ended(struct yett_sandbox *sandbox, struct yett_error *error);
