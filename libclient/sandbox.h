/*
 * A sandbox and its commands, as libclient's files share them.
 *
 * With the caller's privilege. What comes from init is hostile: only channel.c's checked messages
 * are used.
 */
#pragma once

#include "libclient/connection.h"
#include "libclient/memory.h"

struct yett_sandbox {
	struct yett_connection *connection; /* NULL once that was closed */
	struct yett_sandbox *next;          /* in the connection's list, under its lock */
	struct connection_request request;  /* under the connection's lock */
	struct channel *channel;            /* to init */
	struct yett_sandbox_info info;
	char *directory; /* where its commands are to start; owned; NULL: "/" */
	bool outlives; /* the end of its channel does not end it: it lingers, or was attached to */
	struct yett_command *commands;
	struct ask *asks; /* queries that wait for their answers, the innermost first */
	int events;       /* epoll(7): the channel and the streams of commands */
	uint64_t streams_turn;
	struct yett_operation *operations; /* those that go on when it is dispatched */
	uint64_t operations_turn;
	mode_t umask;      /* the program's own, when it got this */
	int files_program; /* sealed memfd with yett-files; -1 until it is needed */
};

enum command_state { COMMAND_ASKED, COMMAND_STARTED, COMMAND_EXITED, COMMAND_FAILED };

struct yett_command {
	struct yett_sandbox *sandbox; /* NULL once that was destroyed */
	struct yett_command *next;
	uint64_t sequence;    /* of its exec, or of the query that waits for it */
	uint64_t id;          /* 0 until it is known */
	bool is_attached;     /* to one that was there */
	bool is_following;    /* and what is kept of its outputs */
	uint64_t followed[2]; /* so much of each was told of */
	enum command_state state;
	bool told; /* on_exit was called */
	uint32_t pid;
	bool has_terminal;
	int terminal;           /* its master; -1 until it started; owned */
	uint16_t rows, columns; /* wanted by yett_command_resize() before it started; 0, 0: none */
	struct yett_result result; /* COMMAND_EXITED */
	struct yett_error error;   /* COMMAND_FAILED */
	void (*on_exit)(struct yett_command *command, void *data);
	uint64_t streams_turn; /* in which they were read last */
	int pipes[3];          /* our ends of YETT_STDIO_PIPE, until they are taken, or -1; owned */
	int streams[2];        /* our ends of outputs that on_output is called with, or -1; owned */
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
};

/* What init is asked, by a query or about its session, and answers before the caller goes on. */
struct ask {
	struct ask *next;
	uint64_t sequence;
	bool is_done;
	enum message_kind answer;   /* COMMANDS, SURROUNDINGS or CONNECTED */
	struct message_query query; /* of COMMANDS */
	struct yett_error error;    /* code 0: it was answered */
	struct list *list;          /* of struct yett_command_status; owned */
	int fds[2];                 /* outputs, or at 0 an input or a connection; owned; -1: none */
	struct yett_session *session; /* owned */
};

/* command.c: yett_sandbox_exec(), also of what is no command to the user. */
_must_check_ int command_exec(struct yett_sandbox *sandbox,
                              const struct yett_command_options *options, bool is_file_operation,
                              struct yett_command **ret_command, struct yett_error *error);

/* command.c: a list that ends with NULL, or NULL, into a message that is put together; each like
 * NAME=VALUE, if `has_value`. */
_must_check_ int command_put_env(struct channel *channel, const char *const *list, bool has_value,
                                 struct text *ret_texts, uint32_t *ret_count,
                                 struct yett_error *error);

/* Ends every command that has no result yet with `why`. Calls on_exit. */
void command_fail_all(struct yett_sandbox *sandbox, const struct yett_error *why);

/* Handles one message of init. 0; -EAGAIN at the deadline; a positive code when the sandbox is
 * over, with its reason. */
_must_check_ int command_turn(struct yett_sandbox *sandbox, deadline_ms deadline,
                              struct yett_error *error);

/* An empty one; NULL: no memory. And its place among those of the sandbox, by the sequence that was
 * sent last. */
struct yett_command *command_new(void);
void command_add(struct yett_sandbox *sandbox, struct yett_command *command);

/* A result in the form of yett.h. */
struct yett_result command_result(const struct message_exited *exited);

/* streams.c: one pipe for output `i` of a command that on_output is called with; the other end is
 * the caller's. */
_must_check_ int streams_open(struct yett_sandbox *sandbox, struct yett_command *command, int i,
                              int *ret_write_end, struct yett_error *error);

/* The same for stream `i` of a command whose caller takes the other end of its pipe. */
_must_check_ int streams_open_pipe(struct yett_command *command, int i, int *ret_end,
                                   struct yett_error *error);

/* Closes output `i`, if it is open. */
void streams_close(struct yett_command *command, int i);

/* Calls on_output with what is there, of every command, up to a bound for each. */
void streams_read(struct yett_sandbox *sandbox);

/* The rest of a command that is over: all that is in its pipes. Then they are closed. */
void streams_finish(struct yett_command *command);

/* Whether there are any; then who waits has to wait for them too: until something can be handled,
 * or the deadline. */
bool streams_are_open(const struct yett_sandbox *sandbox);
void streams_wait(const struct yett_sandbox *sandbox, deadline_ms deadline);

/* arguments.c: puts arguments and variables into the EXEC that is put together; *ret_memory is what
 * the message has no room for, or -1. */
_must_check_ int arguments_put(struct channel *channel, const char *const *argv,
                               const char *const *env, int *ret_memory, struct yett_error *error);

/*
 * reach.c: rules, in the parts in which requests have them: whether lists of texts may be; the one
 * of an option that text i says, or what is wrong with it, told by its place; and one of a message
 * that is put together.
 */
struct net_rule;
_must_check_ int reach_check(const char *const *allow, size_t allow_count, const char *const *deny,
                             size_t deny_count, struct yett_error *error);
_must_check_ int reach_parse(const char *option, size_t i, const char *text,
                             struct net_rule *ret_rule, struct yett_error *error);
_must_check_ int reach_put_rule(struct channel *channel, struct message_rule *into, bool deny,
                                const struct net_rule *rule, struct yett_error *error);

/* reach.c: puts network and rules into the CREATE that is put together. */
_must_check_ int reach_put(struct channel *channel, const struct yett_sandbox_options *options,
                           struct yett_error *error);

/* answer.c: a command or a session that init tells of, to be freed with yett_free(); NULL: no
 * memory. And why a command failed. */
struct yett_command_status *answer_status(const struct channel *channel,
                                          const struct message_command *from);
struct yett_session *answer_session(const struct channel *channel);
void answer_error(const struct channel *channel, const struct message_command *from,
                  struct yett_error *error);

/* query.c: handles what came if it answers a query or the wait of an attached command. 0, or a
 * violation of the protocol. */
_must_check_ int query_route(struct yett_sandbox *sandbox, bool *ret_is_mine,
                             struct yett_error *error);

/* query.c: a signal by the id of a command, whose answer nobody waits for. */
_must_check_ int query_send_signal(struct yett_sandbox *sandbox, uint64_t id, int number,
                                   struct yett_error *error);

/* query.c: tells init where commands start, if that is not "/"; nobody waits for the answer, which
 * stands before that to the first command.
 */
_must_check_ int query_send_directory(struct yett_sandbox *sandbox, struct yett_error *error);

/* Whether the command has its result, or will never have one. */
bool command_is_over(const struct yett_command *command);

/*
 * Takes the descriptor that came with STARTED. 0, or YETT_E_SECURITY_VIOLATION when it is no pty's
 * master: then it is closed.
 */
_must_check_ int command_take_terminal(struct yett_command *command, int fd,
                                       struct yett_error *error);

/*
 * One request from its message in the connection's channel, signed by the connection's key, with
 * the descriptors of a create; its answer is waited for in sandbox->request from then on. With the
 * lock held.
 */
_must_check_ int sandbox_send(struct yett_connection *connection, const int *fds, size_t fd_count,
                              struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Waits for that answer. 0 when it is CONNECTION_ANSWERED; else the sandbox is out of the
 * connection's list, and the error says what it was instead. With the lock held, but for while it
 * waits.
 */
_must_check_ int sandbox_finish(struct yett_sandbox *sandbox, deadline_ms deadline,
                                struct yett_error *error);

/* The same up to its answer, which others may get theirs before. 0 when it is CONNECTION_ANSWERED.
 */
_must_check_ int sandbox_request(struct yett_connection *connection, const int *fds,
                                 size_t fd_count, struct yett_sandbox *sandbox,
                                 struct yett_error *error);

/* One to ask with; NULL: no memory. Freed with sandbox_free(). */
struct yett_sandbox *sandbox_new(enum connection_wanted wanted);

/* Makes a handle of the answer. Consumes `sandbox`. */
_must_check_ int sandbox_take(struct yett_sandbox *sandbox, struct yett_sandbox **ret_sandbox,
                              struct yett_error *error);

/* As far as the helper has told, and without waiting for another thread that talks to it. */
bool sandbox_is_paused(struct yett_sandbox *sandbox);

/* Out of the connection's list, with the lock held; and freed. */
void sandbox_forget(struct yett_sandbox *sandbox);
void sandbox_free(struct yett_sandbox *sandbox);
static inline void sandbox_freep(struct yett_sandbox **sandbox)
{
	if (*sandbox)
		sandbox_free(*sandbox);
}

/* Whether it can be the name of a profile or of a sandbox, or an id, as the wire has them. */
bool sandbox_is_name(const char *text);

/* Whether the descriptor that came is what an exec channel and an event stream must be: a packet
 * socket. unix(7) */
bool sandbox_is_channel(int fd);

/* manage.c: what the helper has done for all users. Without the lock. */
_must_check_ int manage_totals(struct yett_connection *connection,
                               struct message_totals *ret_totals, struct yett_error *error);

/* manage.c: the event stream of a sandbox, which is the caller's. Without the lock. */
_must_check_ int manage_stream(struct yett_connection *connection, const char *id_or_name,
                               int *ret_fd, char ret_id[YETT_ID_SIZE], struct yett_error *error);

/* manage.c: gives up the hold on a sandbox, which nobody waits for. Without the lock. */
void manage_let_go(struct yett_connection *connection, const char *id);

/* manage.c: puts a manage together, with the lock held. */
_must_check_ int manage_put(struct yett_connection *connection, const struct message_manage *asked,
                            const char *id_or_name, struct yett_error *error);

/* manage.c: a manage request with a plain answer, without the lock. */
_must_check_ int manage_done(struct yett_connection *connection, enum manage_action action,
                             const char *id_or_name, struct yett_error *error);

/* What the listings of a kind hold, and what is made of each: memory.h; NULL: no memory. */
struct manage_items {
	uint32_t kind;
	void *(*take)(const struct yett_connection *connection, const struct message *message);
};

/* A manage request that is answered with a listing, of as many as there are; and what is said of
 * them all. Without the lock. */
_must_check_ int manage_listing_of(struct yett_connection *connection,
                                   const struct message_manage *asked, const char *id_or_name,
                                   const struct manage_items *items, struct list **ret_list,
                                   struct message_listing *ret_listing, struct yett_error *error);

/* The same of sandboxes, and of one where one was named. */
_must_check_ int manage_listing(struct yett_connection *connection,
                                const struct message_manage *asked, const char *id_or_name,
                                const struct manage_items *items, struct list **ret_list,
                                struct yett_error *error);

/* The same of all, by the flags of a list; and of one, which yett_free() frees. */
_must_check_ int manage_list_all(struct yett_connection *connection, enum manage_action action,
                                 unsigned flags, const struct manage_items *items,
                                 struct list **ret_list, struct yett_error *error);
_must_check_ int manage_item(struct yett_connection *connection, enum manage_action action,
                             const char *id_or_name, const struct manage_items *items,
                             void **ret_item, struct yett_error *error);

/* A copy of the plan that the descriptor holds, to be freed by the caller. */
_must_check_ int sandbox_read_plan(int fd, bool as_json, char **ret_text, struct yett_error *error);

/* The descriptor is memory that nobody can change any more, of at most `max` bytes: allocates a
 * copy with a NUL behind it. */
_must_check_ int sealed_read(int fd, size_t max, char **ret_bytes, size_t *ret_length,
                             const char *what, struct yett_error *error);

/* Waits until the helper has said why the sandbox ended, but not for long; fills `error` and
 * returns its code. */
int sandbox_why_ended(struct yett_sandbox *sandbox, struct yett_error *error);
