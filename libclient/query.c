/* See sandbox.h, and "commands" in yett.h: what is asked about commands by their ids. What init answers is hostile. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "libclient/sandbox.h"

#define ANSWER_TIMEOUT_MS 10000
#define LIST_MAX	  4096 /* more than init knows of at a time; one that lies may not go on for ever */

_Static_assert((int)YETT_COMMAND_PENDING == EXECUTION_PENDING && (int)YETT_COMMAND_RUNNING == EXECUTION_RUNNING &&
		       (int)YETT_COMMAND_COMPLETED == EXECUTION_COMPLETED && (int)YETT_COMMAND_FAILED == EXECUTION_FAILED &&
		       (int)YETT_COMMAND_TIMEOUT == EXECUTION_TIMEOUT && (int)YETT_COMMAND_KILLED == EXECUTION_KILLED,
	       "the public states of commands are those of the wire");
_Static_assert(YETT_CAPTURE_MAX == MESSAGE_OUTPUT_MAX, "the public bound is that of the wire");

static const char *const states[] = {"pending", "running", "completed", "failed", "timeout", "killed"};

const char *yett_command_state_name(enum yett_command_state state)
{
	return (size_t)state < ARRAY_SIZE(states) ? states[state] : "unknown";
}

static bool is_over(uint32_t state)
{
	return state != EXECUTION_PENDING && state != EXECUTION_RUNNING;
}

static void take_status(const struct channel *channel, const struct message_command *from, struct yett_command_status *to)
{
	*to = (struct yett_command_status){.id = from->id,
					   .state = (enum yett_command_state)from->state,
					   .pid = from->pid,
					   .started_ms = from->started_ms,
					   .result = command_result(&from->result)};
	channel_copy_text(channel, from->text, to->text, sizeof to->text);
	for (int i = 0; i < 2; i++) {
		to->outputs[i].captured = from->captured >> i & 1;
		to->outputs[i].truncated = from->truncated >> i & 1;
		to->outputs[i].length = (size_t)from->output_bytes[i];
	}
	if (from->state != EXECUTION_FAILED)
		return;
	to->error.code = YETT_E_COMMAND_FAILED;
	channel_copy_text(channel, from->message, to->error.message, sizeof to->error.message);
	channel_copy_text(channel, from->detail, to->error.detail, sizeof to->error.detail);
}

/* Whether the message can be the answer to this query: of one exactly that one, of a list ascending ids from there on. */
static bool fits(const struct message_query *query, const struct message_commands *answer)
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

/* As many descriptors as an output query is answered with. */
static size_t fds_due(const struct message_query *query, const struct message_commands *answer)
{
	if (query->action != QUERY_OUTPUT || answer->commands_count != 1)
		return 0;
	return (answer->commands[0].output_bytes[0] > 0) + (answer->commands[0].output_bytes[1] > 0);
}

static int take_answer(struct channel *channel, struct ask *ask, struct yett_error *error)
{
	const struct message_commands *answer = &channel->message.body.commands;
	size_t used = 0;

	ask->is_done = true;
	if (channel->message.kind == MESSAGE_ERROR) {
		channel_get_error(channel, &ask->error);
		return 0;
	}
	if (!fits(&ask->query, answer))
		return channel_violation(channel, YETT_R_RANGE, error, "init told of commands that were not asked for");
	if (channel->frame.fd_count != fds_due(&ask->query, answer))
		return channel_violation(channel, YETT_R_FD_COUNT, error, "init sent %zu outputs", channel->frame.fd_count);
	ask->list = calloc(answer->commands_count + 1, sizeof *ask->list);
	if (!ask->list) {
		(void)error_set(&ask->error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no memory for an answer");
		return 0;
	}
	for (; ask->count < answer->commands_count; ask->count++)
		take_status(channel, &answer->commands[ask->count], &ask->list[ask->count]);
	for (int i = 0; i < 2 && channel->frame.fd_count > 0; i++)
		if (answer->commands[0].output_bytes[i] > 0)
			ask->fds[i] = steal_fd(&channel->frame.fds[used++]);
	return 0;
}

/* The end of a command that was attached to. */
static int take_end(struct channel *channel, struct yett_command *command, struct yett_error *error)
{
	const struct message_query query = {.action = QUERY_WAIT, .command = command->id};
	struct yett_command_status status;

	if (channel->message.kind == MESSAGE_ERROR) {
		channel_get_error(channel, &command->error);
		command->state = COMMAND_FAILED;
		return 0;
	}
	if (!fits(&query, &channel->message.body.commands) || !is_over(channel->message.body.commands.commands[0].state) ||
	    channel->frame.fd_count > 0)
		return channel_violation(channel, YETT_R_RANGE, error, "init told of another end than was waited for");
	take_status(channel, &channel->message.body.commands.commands[0], &status);
	command->result = status.result;
	command->error = status.error;
	command->state = status.state == YETT_COMMAND_FAILED ? COMMAND_FAILED : COMMAND_EXITED;
	return 0;
}

int query_route(struct yett_sandbox *sandbox, bool *ret_is_mine, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	uint64_t sequence = channel->envelope.sequence;
	uint32_t kind = channel->message.kind;

	*ret_is_mine = true;
	for (struct ask *ask = sandbox->asks; ask; ask = ask->next)
		if (ask->sequence == sequence && !ask->is_done && (kind == MESSAGE_COMMANDS || kind == MESSAGE_ERROR))
			return take_answer(channel, ask, error);
	for (struct yett_command *c = sandbox->commands; c; c = c->next)
		if (c->is_attached && c->sequence == sequence && !command_is_over(c) && (kind == MESSAGE_COMMANDS || kind == MESSAGE_ERROR))
			return take_end(channel, c, error);
	/* an answer that came too late; anything else is about a command that this handle started */
	*ret_is_mine = kind == MESSAGE_COMMANDS;
	return 0;
}

static int send_query(struct yett_sandbox *sandbox, enum query_action action, uint64_t id, struct yett_error *error)
{
	struct message_query *query = &channel_prepare(sandbox->channel, MESSAGE_QUERY)->body.query;

	if (sandbox_is_paused(sandbox))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox is paused");
	*query = (struct message_query){.action = action, .command = id};
	return channel_send(sandbox->channel, NULL, 0, channel_deadline(ANSWER_TIMEOUT_MS), error);
}

static void ask_end(struct yett_sandbox *sandbox, struct ask *ask)
{
	struct ask **at = &sandbox->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
}

static void ask_free(struct ask *ask)
{
	free(ask->list);
	for (int i = 0; i < 2; i++)
		ask->fds[i] = fd_close(ask->fds[i]);
}

/* Sends a query and waits for its answer, while everything else that comes is handled. */
static int ask_for(struct yett_sandbox *sandbox, enum query_action action, uint64_t id, struct ask *ask, struct yett_error *error)
{
	deadline_ms deadline = channel_deadline(ANSWER_TIMEOUT_MS);
	int r;

	*ask = (struct ask){.query = {.action = action, .command = id}, .fds = {-1, -1}};
	r = send_query(sandbox, action, id, error);
	if (r)
		return r == YETT_E_NOT_RUNNING && !sandbox_is_paused(sandbox) ? sandbox_why_ended(sandbox, error) : r;
	ask->sequence = sandbox->channel->sequence;
	ask->next = sandbox->asks;
	sandbox->asks = ask;
	while (r == 0 && !ask->is_done)
		r = command_turn(sandbox, deadline, error);
	ask_end(sandbox, ask);
	if (r == -EAGAIN)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the sandbox does not answer");
	if (r == 0 && ask->error.code) {
		if (error)
			*error = ask->error;
		return (int)ask->error.code;
	}
	return r;
}

int yett_commands_list(struct yett_sandbox *sandbox, struct yett_command_status **ret_list, size_t *ret_count,
		       struct yett_error *error)
{
	_cleanup_free_ struct yett_command_status *list = NULL;
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	size_t count = 0;
	uint64_t from = 0;

	do {
		int r = ask_for(sandbox, QUERY_LIST, from, &ask, error);
		struct yett_command_status *grown;

		if (r)
			return r;
		grown = reallocarray(list, count + ask.count + 1, sizeof *list);
		if (!grown)
			return error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no memory for a list");
		list = grown;
		memcpy(list + count, ask.list, ask.count * sizeof *list);
		count += ask.count;
		from = count ? list[count - 1].id + 1 : 0;
		free(steal_ptr(&ask.list));
	} while (ask.count == MESSAGE_COMMANDS_MAX && from != 0 && count < LIST_MAX);
	*ret_list = steal_ptr(&list);
	*ret_count = count;
	return 0;
}

int yett_command_inspect(struct yett_sandbox *sandbox, uint64_t id, struct yett_command_status *ret_status, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	int r = ask_for(sandbox, QUERY_STATUS, id, &ask, error);

	if (r == 0)
		*ret_status = ask.list[0];
	return r;
}

int yett_command_kill(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};

	return ask_for(sandbox, QUERY_KILL, id, &ask, error);
}

int yett_command_attach(struct yett_sandbox *sandbox, uint64_t id, void (*on_exit)(struct yett_command *command, void *data),
			void *data, struct yett_command **ret_command, struct yett_error *error)
{
	_cleanup_free_ struct yett_command *command = command_new();
	struct yett_command_status status;
	int r = yett_command_inspect(sandbox, id, &status, error);

	if (r == 0 && !command)
		r = error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no memory for a command");
	if (r == 0)
		r = send_query(sandbox, QUERY_WAIT, id, error);
	if (r)
		return r;
	command->id = id;
	command->pid = status.pid;
	command->is_attached = true;
	command->state = COMMAND_STARTED;
	command->on_exit = on_exit;
	command->data = data;
	command_add(sandbox, command);
	*ret_command = steal_ptr(&command);
	return 0;
}

/* The first `length` bytes of sealed memory, which cannot shrink meanwhile. memfd_create(2) */
static int read_captured(int fd, size_t length, char **ret_bytes, struct yett_error *error)
{
	_cleanup_free_ char *bytes = malloc(length + 1);
	int seals = fd < 0 ? F_SEAL_SHRINK : fcntl(fd, F_GET_SEALS);
	size_t used = 0;
	struct stat st;

	if (!bytes)
		return error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no memory for the output");
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
								 (uint64_t)st.st_size < length)))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE, "init sent what is no output that was kept");
	while (fd >= 0 && used < length) {
		ssize_t n = pread(fd, bytes + used, length - used, (off_t)used);

		if (n <= 0)
			return error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "the output cannot be read: %m");
		used += (size_t)n;
	}
	bytes[used] = '\0';
	*ret_bytes = steal_ptr(&bytes);
	return 0;
}

int yett_command_output(struct yett_sandbox *sandbox, uint64_t id, enum yett_stream stream, struct yett_captured *ret_captured,
			struct yett_error *error)
{
	_cleanup_(ask_free) struct ask ask = {.fds = {-1, -1}};
	char *bytes;
	int r;

	if (stream != YETT_STREAM_OUT && stream != YETT_STREAM_ERR)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "there is no stream %d", (int)stream);
	r = ask_for(sandbox, QUERY_OUTPUT, id, &ask, error);
	if (r)
		return r;
	if (!ask.list[0].outputs[stream].captured)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "this output of command %llu is not kept",
				 (unsigned long long)id);
	r = read_captured(ask.fds[stream], ask.list[0].outputs[stream].length, &bytes, error);
	if (r == 0)
		*ret_captured = (struct yett_captured){
			.bytes = bytes, .length = ask.list[0].outputs[stream].length, .truncated = ask.list[0].outputs[stream].truncated};
	return r;
}
