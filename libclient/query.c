/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h, and "commands" in yett.h: queries to init about commands and about the session.
 * Answers of init are untrusted.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "libclient/discard.h"
#include "base/failure.h"
#include "libclient/options.h"
#include "libclient/relay.h"

#define ANSWER_TIMEOUT_MS  10000
#define CONNECT_TIMEOUT_MS 2000 /* short, because a relay has other connections to serve */
#define FOLLOW_SIZE        65536
/* More commands than init keeps. A compromised init cannot send pages for ever. */
#define LIST_MAX 4096

_Static_assert((int)YETT_COMMAND_PENDING == EXECUTION_PENDING &&
                       (int)YETT_COMMAND_RUNNING == EXECUTION_RUNNING &&
                       (int)YETT_COMMAND_COMPLETED == EXECUTION_COMPLETED &&
                       (int)YETT_COMMAND_FAILED == EXECUTION_FAILED &&
                       (int)YETT_COMMAND_TIMEOUT == EXECUTION_TIMEOUT &&
                       (int)YETT_COMMAND_KILLED == EXECUTION_KILLED,
               "the public states of commands are those of the wire");
_Static_assert(YETT_CAPTURE_MAX == MESSAGE_OUTPUT_MAX, "the public bound is that of the wire");

static const char *const states[] = {"pending", "running", "completed",
                                     "failed",  "timeout", "killed"};

const char *yett_command_state_name(enum yett_command_state state)
{
	return (size_t)state < ARRAY_SIZE(states) ? states[state] : "unknown";
}

static bool is_over(uint32_t state)
{
	return state != EXECUTION_PENDING && state != EXECUTION_RUNNING;
}

/*
 * Whether the message can answer this query. A list must have ascending ids, none below the id of
 * the query. Any other answer must have exactly the command of the query.
 */
static bool libclient_query_fits(const struct message_query *query,
                                 const struct message_commands *answer)
{
	uint64_t least = query->command;

	if (query->action != QUERY_LIST)
		return answer->commands_count == 1 && answer->commands[0].id == query->command;
	for (uint32_t i = 0; i < answer->commands_count; i++) {
		if (answer->commands[i].id < least)
			return false;
		least = answer->commands[i].id + 1;
	}
	return true;
}

/* Returns how many descriptors must come with this answer. */
static size_t fds_due(const struct message_query *query, const struct message_commands *answer)
{
	if (query->action == QUERY_INPUT || query->action == QUERY_LAST_INPUT)
		return 1;
	if ((query->action != QUERY_OUTPUT && query->action != QUERY_FOLLOW) ||
	    answer->commands_count != 1)
		return 0;
	return (answer->commands[0].output_bytes[0] > 0) +
	       (answer->commands[0].output_bytes[1] > 0);
}

/* False: no memory. */
static bool take_list(const struct channel *channel, const struct message_commands *answer,
                      struct ask *ask)
{
	ask->list = memory_new(sizeof *ask->list);
	for (uint32_t i = 0; ask->list && i < answer->commands_count; i++) {
		struct yett_command_status *status = answer_status(channel, &answer->commands[i]);

		if (!status || !list_add(ask->list, status))
			return false;
	}
	return ask->list != NULL;
}

static int libclient_query_take_answer(struct channel *channel, struct ask *ask,
                                       struct yett_error *error)
{
	const struct message_commands *answer = &channel->message.body.commands;
	size_t used = 0;

	ask->is_done = true;
	if (channel->message.kind == MESSAGE_ERROR) {
		channel_get_error(channel, &ask->error);
		return 0;
	}
	if (ask->answer == MESSAGE_CONNECTED) {
		ask->fds[0] = steal_fd(&channel->frame.fds[0]);
		return 0;
	}
	if (ask->answer == MESSAGE_SURROUNDINGS) {
		ask->session = answer_session(channel);
		if (!ask->session)
			(void)error_set(&ask->error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for an answer");
		return 0;
	}
	if (!libclient_query_fits(&ask->query, answer))
		return channel_violation(channel, YETT_R_RANGE, error,
		                         "init told of commands that were not asked for");
	if (channel->frame.fd_count != fds_due(&ask->query, answer))
		return channel_violation(channel, YETT_R_FD_COUNT, error, "init sent %zu outputs",
		                         channel->frame.fd_count);
	if (!take_list(channel, answer, ask)) {
		(void)error_set(&ask->error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                "no memory for an answer");
		return 0;
	}
	if (ask->query.action == QUERY_INPUT || ask->query.action == QUERY_LAST_INPUT)
		ask->fds[0] = steal_fd(&channel->frame.fds[used++]);
	for (int i = 0; i < 2 && used < channel->frame.fd_count; i++)
		if (answer->commands[0].output_bytes[i] > 0)
			ask->fds[i] = steal_fd(&channel->frame.fds[used++]);
	return 0;
}

/*
 * Checks that `fd` is a memfd that is sealed against shrinking and holds at least `length` bytes.
 * memfd_create(2)
 */
static int check_captured(int fd, uint64_t length, struct yett_error *error)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < length)
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the sandbox answered with something else than an output that was kept");
	return 0;
}

/* Calls on_output with the bytes that were added to output `i` since the last call. */
static int report_output(struct yett_command *command, int i, int fd, uint64_t length,
                         struct yett_error *error)
{
	char bytes[FOLLOW_SIZE];
	int r = check_captured(fd, length, error);

	while (r == 0 && command->followed[i] < length) {
		uint64_t left = length - command->followed[i];
		ssize_t n = pread(fd, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes,
		                  (off_t)command->followed[i]);

		if (n == 0)
			errno = EIO; /* the file is shorter than check_captured() found it */
		if (n <= 0)
			return failure_set(error, YETT_E_COMMAND_FAILED, NULL,
			                   "the output cannot be read: %m");
		command->followed[i] += (uint64_t)n;
		command->on_output(command, (enum yett_stream)i, bytes, (size_t)n, command->data);
	}
	return r;
}

/*
 * Handles the new bytes of both outputs. While the command runs, an answer without new bytes is a
 * violation: the client would otherwise ask again for ever.
 */
static int take_more(struct channel *channel, struct yett_command *command,
                     struct yett_error *error)
{
	const struct message_query query = {.action = QUERY_FOLLOW, .command = command->id};
	const struct message_command *from = &channel->message.body.commands.commands[0];
	const uint64_t before = command->followed[0] + command->followed[1];
	struct yett_error why;
	size_t used = 0;

	if (!libclient_query_fits(&query, &channel->message.body.commands) ||
	    from->output_bytes[0] < command->followed[0] ||
	    from->output_bytes[1] < command->followed[1] ||
	    (!is_over(from->state) && from->output_bytes[0] + from->output_bytes[1] == before))
		return channel_violation(channel, YETT_R_RANGE, error,
		                         "init told of another output than was waited for");
	if (channel->frame.fd_count != fds_due(&query, &channel->message.body.commands))
		return channel_violation(channel, YETT_R_FD_COUNT, error, "init sent %zu outputs",
		                         channel->frame.fd_count);
	for (int i = 0; i < 2; i++)
		if (from->output_bytes[i] > 0 &&
		    report_output(command, i, channel->frame.fds[used++], from->output_bytes[i],
		                  &why))
			return channel_violation(channel, YETT_R_WRONG_TYPE, error, "%s",
			                         why.message);
	return 0;
}

static int send_follow(struct channel *channel, struct yett_command *command,
                       struct yett_error *error)
{
	struct message_query *query = &channel_prepare(channel, MESSAGE_QUERY)->body.query;
	int r;

	*query = (struct message_query){
		.action = QUERY_FOLLOW,
		.command = command->id,
		.output_bytes = {command->followed[0], command->followed[1]}};
	r = channel_send(channel, NULL, 0, channel_deadline(ANSWER_TIMEOUT_MS), error);
	command->sequence = channel->sequence;
	return r;
}

/* Handles the result of an attached command, or new output of a followed command. */
static int libclient_query_take_end(struct channel *channel, struct yett_command *command,
                                    struct yett_error *error)
{
	const struct message_query query = {.action = QUERY_WAIT, .command = command->id};
	const struct message_command *from = &channel->message.body.commands.commands[0];
	int r;

	if (channel->message.kind == MESSAGE_ERROR) {
		channel_get_error(channel, &command->error);
		command->state = COMMAND_FAILED;
		return 0;
	}
	if (command->is_following) {
		r = take_more(channel, command, error);
		if (r != 0)
			return r;
		frame_close_fds(&channel->frame);
		if (!is_over(channel->message.body.commands.commands[0].state))
			return send_follow(channel, command, error);
	}
	if (!libclient_query_fits(&query, &channel->message.body.commands) ||
	    !is_over(channel->message.body.commands.commands[0].state) ||
	    channel->frame.fd_count > 0)
		return channel_violation(channel, YETT_R_RANGE, error,
		                         "init told of another end than was waited for");
	command->result = command_result(&from->result);
	command->state = from->state == EXECUTION_FAILED ? COMMAND_FAILED : COMMAND_EXITED;
	if (command->state == COMMAND_FAILED)
		answer_error(channel, from, &command->error);
	return 0;
}

int query_route(struct yett_sandbox *sandbox, bool *ret_is_mine, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	uint64_t sequence = channel->envelope.sequence;
	uint32_t kind = channel->message.kind;

	*ret_is_mine = true;
	for (struct ask *ask = sandbox->asks; ask; ask = ask->next)
		if (ask->sequence == sequence && !ask->is_done &&
		    (kind == (uint32_t)ask->answer || kind == MESSAGE_ERROR))
			return libclient_query_take_answer(channel, ask, error);
	for (struct yett_command *c = sandbox->commands; c; c = c->next)
		if (c->is_attached && c->sequence == sequence && !command_is_over(c) &&
		    (kind == MESSAGE_COMMANDS || kind == MESSAGE_ERROR))
			return libclient_query_take_end(channel, c, error);
	/*
	 * Nothing waits for this message. Messages of these kinds are answers that came too late. A
	 * message of another kind is about a command that this handle started.
	 */
	*ret_is_mine = kind == MESSAGE_COMMANDS || kind == MESSAGE_SURROUNDINGS ||
	               kind == MESSAGE_CONNECTED;
	return 0;
}

/* Sends the composed message. Fails while the sandbox is paused, because init could not answer. */
static int libclient_query_send_question(struct yett_sandbox *sandbox, int timeout_ms,
                                         struct yett_error *error)
{
	int r;

	if (sandbox_is_paused(sandbox))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox is paused");
	r = channel_send(sandbox->channel, NULL, 0, channel_deadline(timeout_ms), error);
	return r == YETT_E_NOT_RUNNING ? sandbox_why_ended(sandbox, error) : r;
}

static int send_query(struct yett_sandbox *sandbox, enum query_action action, uint64_t id,
                      struct yett_error *error)
{
	struct message_query *query = &channel_prepare(sandbox->channel, MESSAGE_QUERY)->body.query;

	*query = (struct message_query){.action = action, .command = id};
	return libclient_query_send_question(sandbox, ANSWER_TIMEOUT_MS, error);
}

int query_send_signal(struct yett_sandbox *sandbox, uint64_t id, int number,
                      struct yett_error *error)
{
	struct message_query *query = &channel_prepare(sandbox->channel, MESSAGE_QUERY)->body.query;

	*query = (struct message_query){
		.action = QUERY_SIGNAL, .command = id, .signal = (uint32_t)number};
	return libclient_query_send_question(sandbox, ANSWER_TIMEOUT_MS, error);
}

int query_send_directory(struct yett_sandbox *sandbox, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	struct message_session *session;
	int r;

	if (!sandbox->directory)
		return 0;
	session = &channel_prepare(channel, MESSAGE_SESSION)->body.session;
	r = channel_put_text(channel, sandbox->directory, MESSAGE_PATH_MAX, "the directory",
	                     &session->cwd, error);
	if (r == 0)
		r = channel_send(channel, NULL, 0, channel_deadline(ANSWER_TIMEOUT_MS), error);
	return r == YETT_E_NOT_RUNNING ? 0 : r; /* the next call reports the end and its reason */
}

static void libclient_query_ask_end(struct yett_sandbox *sandbox, struct ask *ask)
{
	struct ask **at = &sandbox->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
}

static void ask_free(struct ask *ask)
{
	yett_free(ask->list);
	for (int i = 0; i < 2; i++)
		ask->fds[i] = fd_close(ask->fds[i]);
	yett_free(ask->session);
}

/* Waits for the answer to the message sent last. Handles all other messages meanwhile. */
static int ask_wait(struct yett_sandbox *sandbox, struct ask *ask, struct yett_error *error)
{
	deadline_ms deadline = channel_deadline(
		ask->answer == MESSAGE_CONNECTED ? CONNECT_TIMEOUT_MS : ANSWER_TIMEOUT_MS);
	int r = 0;

	ask->sequence = sandbox->channel->sequence;
	ask->next = sandbox->asks;
	sandbox->asks = ask;
	while (r == 0 && !ask->is_done)
		r = command_turn(sandbox, deadline, error);
	libclient_query_ask_end(sandbox, ask);
	if (r == -EAGAIN)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the sandbox does not answer");
	if (r == 0 && ask->error.code) {
		if (error)
			*error = ask->error;
		return (int)ask->error.code;
	}
	return r;
}

static int libclient_query_ask_for(struct yett_sandbox *sandbox, enum query_action action,
                                   uint64_t id, struct ask *ask, struct yett_error *error)
{
	int r = send_query(sandbox, action, id, error);

	*ask = (struct ask){.answer = MESSAGE_COMMANDS,
	                    .query = {.action = action, .command = id},
	                    .fds = {-1, -1}};
	return r ? r : ask_wait(sandbox, ask, error);
}

int query_connect(struct yett_sandbox *sandbox, uint16_t port, bool is_v6, int *ret_fd,
                  struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.answer = MESSAGE_CONNECTED, .fds = {-1, -1}};
	int r;

	channel_prepare(sandbox->channel, MESSAGE_CONNECT)->body.connect =
		(struct message_connect){.port = port, .family = is_v6 ? CONNECT_V6 : CONNECT_V4};
	r = libclient_query_send_question(sandbox, CONNECT_TIMEOUT_MS, error);
	if (r == 0)
		r = ask_wait(sandbox, &ask, error);
	if (r)
		return r;
	if (!sockets_is(ask.fds[0], is_v6 ? AF_INET6 : AF_INET, false)) {
		discard_fd(steal_fd(&ask.fds[0]));
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the sandbox answered with something else than a connection to a port");
	}
	*ret_fd = steal_fd(&ask.fds[0]);
	return 0;
}

int yett_session_change(struct yett_sandbox *sandbox, const char *directory, const char *const *set,
                        const char *const *unset, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.answer = MESSAGE_SURROUNDINGS, .fds = {-1, -1}};
	struct channel *channel = sandbox->channel;
	struct message_session *session = &channel_prepare(channel, MESSAGE_SESSION)->body.session;
	int r = 0;

	if (directory && *directory != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the directory of a session is an absolute path");
	r = channel_put_text(channel, directory, MESSAGE_PATH_MAX, "the directory", &session->cwd,
	                     error);
	if (r == 0)
		r = command_put_env(channel, set, true, session->set, &session->set_count, error);
	if (r == 0)
		r = command_put_env(channel, unset, false, session->unset, &session->unset_count,
		                    error);
	if (r == 0)
		r = libclient_query_send_question(sandbox, ANSWER_TIMEOUT_MS, error);
	return r ? r : ask_wait(sandbox, &ask, error);
}

int yett_session_get(struct yett_sandbox *sandbox, struct yett_session **ret_session,
                     struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.answer = MESSAGE_SURROUNDINGS, .fds = {-1, -1}};
	int r;

	(void)channel_prepare(sandbox->channel, MESSAGE_SESSION);
	r = libclient_query_send_question(sandbox, ANSWER_TIMEOUT_MS, error);
	if (r == 0)
		r = ask_wait(sandbox, &ask, error);
	if (r == 0)
		*ret_session = steal_ptr(&ask.session);
	return r;
}

static int libclient_query_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list");
}

/* Opaque in yett.h. */
struct yett_command_list {
	struct list list;
};

/* Queries one page after the other. A full page means that there may be more commands. */
int yett_commands_list(struct yett_sandbox *sandbox, struct yett_command_list **ret_list,
                       struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_command_list *list = memory_new(sizeof *list);
	size_t reported = MESSAGE_COMMANDS_MAX;
	uint64_t from = 0;

	while (list && reported == MESSAGE_COMMANDS_MAX && list->list.count < LIST_MAX) {
		_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
		int r = libclient_query_ask_for(sandbox, QUERY_LIST, from, &ask, error);

		if (r)
			return r;
		reported = ask.list->count;
		if (reported > 0)
			from = ((const struct yett_command_status *)ask.list->items[reported - 1])
			               ->id +
			       1;
		if (!list_move(ask.list, &list->list))
			return libclient_query_no_memory(error);
		if (from == 0) /* the last id was UINT64_MAX */
			break;
	}
	if (!list)
		return libclient_query_no_memory(error);
	*ret_list = steal_ptr(&list);
	return 0;
}

size_t yett_command_list_count(const struct yett_command_list *list)
{
	return list->list.count;
}

const struct yett_command_status *yett_command_list_get(const struct yett_command_list *list,
                                                        size_t i)
{
	return i < list->list.count ? list->list.items[i] : NULL;
}

int yett_command_inspect(struct yett_sandbox *sandbox, uint64_t id,
                         struct yett_command_status **ret_status, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	int r = libclient_query_ask_for(sandbox, QUERY_STATUS, id, &ask, error);

	if (r == 0) {
		*ret_status = memory_keep(ask.list, ask.list->items[0]);
		ask.list = NULL;
	}
	return r;
}

int yett_command_kill(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};

	return libclient_query_ask_for(sandbox, QUERY_KILL, id, &ask, error);
}

int yett_command_signal_by_id(struct yett_sandbox *sandbox, uint64_t id, int signal_number,
                              struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.answer = MESSAGE_COMMANDS,
	                                      .query = {.action = QUERY_SIGNAL, .command = id},
	                                      .fds = {-1, -1}};
	int r;

	if (signal_number < 1 || signal_number > 64)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%d is no signal",
		                 signal_number);
	r = query_send_signal(sandbox, id, signal_number, error);
	return r ? r : ask_wait(sandbox, &ask, error);
}

/*
 * Whether `fd` is the write end of an unnamed pipe. A named FIFO is refused, because it can be one
 * of the host that init must not hand out.
 */
static bool libclient_query_is_input(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY && !(flags & O_ASYNC) &&
	       fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == PIPEFS_MAGIC;
}

int yett_command_input(struct yett_sandbox *sandbox, uint64_t id, unsigned flags, int *ret_fd,
                       struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	int r;

	if (flags & ~(unsigned)YETT_INPUT_LAST)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the flags of the input are not all known: %#x", flags);
	r = libclient_query_ask_for(
		sandbox, flags & YETT_INPUT_LAST ? QUERY_LAST_INPUT : QUERY_INPUT, id, &ask, error);
	if (r)
		return r;
	if (!libclient_query_is_input(ask.fds[0]))
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the sandbox answered with something else than a pipe to write to");
	*ret_fd = steal_fd(&ask.fds[0]);
	return 0;
}

/*
 * Makes a handle of an existing command. The caller must then send QUERY_WAIT or QUERY_FOLLOW;
 * libclient_query_take_end() handles the answer.
 */
static int libclient_query_attach(struct yett_sandbox *sandbox, uint64_t id,
                                  const struct yett_follow_options *options, bool *ret_is_kept,
                                  struct yett_command **ret_command, struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_command_status *status = NULL;
	struct yett_command *command;
	int r = yett_command_inspect(sandbox, id, &status, error);

	if (r)
		return r;
	*ret_is_kept = status->outputs[0]->captured || status->outputs[1]->captured;
	command = command_new();
	if (!command)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a command");
	command->id = id;
	command->pid = status->pid;
	command->on_exit = options->on_exit;
	command->data = options->data;
	command->is_attached = true;
	command->state = COMMAND_STARTED;
	*ret_command = command;
	return 0;
}

int yett_command_attach(struct yett_sandbox *sandbox, uint64_t id,
                        const struct yett_follow_options *options,
                        struct yett_command **ret_command, struct yett_error *error)
{
	_cleanup_free_ struct yett_command *command = NULL;
	struct yett_follow_options known;
	bool is_kept;
	int r = sized_take(&options_follow, options, &known, error);

	if (r == 0)
		r = libclient_query_attach(sandbox, id, &known, &is_kept, &command, error);
	if (r == 0)
		r = send_query(sandbox, QUERY_WAIT, id, error);
	if (r)
		return r;
	command_add(sandbox, command);
	*ret_command = steal_ptr(&command);
	return 0;
}

int yett_command_follow(struct yett_sandbox *sandbox, uint64_t id,
                        const struct yett_follow_options *options,
                        struct yett_command **ret_command, struct yett_error *error)
{
	_cleanup_free_ struct yett_command *command = NULL;
	struct yett_follow_options known;
	bool is_kept;
	int r = sized_take(&options_follow, options, &known, error);

	if (r)
		return r;
	if (!known.on_output)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "outputs are to be followed, and on_output is not set");
	r = libclient_query_attach(sandbox, id, &known, &is_kept, &command, error);
	if (r == 0 && !is_kept)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "no output of command %llu is kept", (unsigned long long)id);
	if (r == 0)
		r = send_follow(sandbox->channel, command, error);
	if (r)
		return r == YETT_E_NOT_RUNNING ? sandbox_why_ended(sandbox, error) : r;
	command->is_following = true;
	command->on_output = known.on_output;
	command_add(sandbox, command);
	*ret_command = steal_ptr(&command);
	return 0;
}

/* Reads the first `length` bytes and adds a NUL. With `fd` -1, no byte was kept. */
static int read_captured(int fd, size_t length, char **ret_bytes, struct yett_error *error)
{
	_cleanup_(memory_freep) char *bytes = memory_new(length + 1);
	size_t used = 0;
	int r;

	if (!bytes)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the output");
	r = fd < 0 ? 0 : check_captured(fd, length, error);
	if (r)
		return r;
	while (fd >= 0 && used < length) {
		ssize_t n = pread(fd, bytes + used, length - used, (off_t)used);

		if (n == 0)
			errno = EIO; /* the file is shorter than check_captured() found it */
		if (n <= 0)
			return failure_set(error, YETT_E_COMMAND_FAILED, NULL,
			                   "the output cannot be read: %m");
		used += (size_t)n;
	}
	bytes[used] = '\0';
	*ret_bytes = steal_ptr(&bytes);
	return 0;
}

int yett_command_output(struct yett_sandbox *sandbox, uint64_t id, enum yett_stream stream,
                        struct yett_captured **ret_captured, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	const struct yett_output_status *output;
	struct yett_captured *captured;
	char *bytes;
	int r;

	if (stream != YETT_STREAM_OUT && stream != YETT_STREAM_ERR)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "there is no stream %d", (int)stream);
	r = libclient_query_ask_for(sandbox, QUERY_OUTPUT, id, &ask, error);
	if (r)
		return r;
	output = ((const struct yett_command_status *)ask.list->items[0])->outputs[stream];
	if (!output->captured)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "this output of command %llu is not kept", (unsigned long long)id);
	r = read_captured(ask.fds[stream], output->length, &bytes, error);
	if (r)
		return r;
	captured = memory_new(sizeof *captured);
	if (!captured) {
		yett_free(bytes);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the output");
	}
	*captured = (struct yett_captured){.size = sizeof *captured,
	                                   .bytes = bytes,
	                                   .length = output->length,
	                                   .truncated = output->truncated};
	memory_give(captured, bytes);
	*ret_captured = captured;
	return 0;
}
