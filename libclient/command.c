/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h, and "commands" in yett.h. Sends requests about commands to init on the exec
 * channel and handles init's answers.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/socket_kind.h"
#include "base/failure.h"
#include "libclient/operation.h"
#include "libclient/options.h"
#include "libclient/sandbox.h"
#include "protocol/metadata.h"

#define SEND_TIMEOUT_MS  10000
#define START_TIMEOUT_MS 10000
#define DISPATCH_MAX     256

_Static_assert((int)YETT_LIMIT_MEMORY == LIMIT_MEMORY && (int)YETT_LIMIT_PIDS == LIMIT_PIDS &&
                       (int)YETT_LIMIT_CPU == LIMIT_CPU &&
                       (int)YETT_LIMIT_CPU_TIME == LIMIT_CPU_TIME,
               "the public names of the limits are those of the wire");

bool command_is_over(const struct yett_command *command)
{
	return command->state == COMMAND_EXITED || command->state == COMMAND_FAILED;
}

/*
 * Calls on_exit once for every command that is over. The callback may free its command or start
 * another one, so the search begins at the head of the list again after each call.
 */
static void command_report(struct yett_sandbox *sandbox)
{
	struct yett_command *c = sandbox->commands;

	while (c) {
		if (!command_is_over(c) || c->reported) {
			c = c->next;
			continue;
		}
		c->reported = true;
		streams_finish(c);
		if (c->on_exit)
			c->on_exit(c, c->data);
		c = sandbox->commands;
	}
}

void command_fail_all(struct yett_sandbox *sandbox, const struct yett_error *why)
{
	for (struct yett_command *c = sandbox->commands; c; c = c->next) {
		if (command_is_over(c))
			continue;
		c->error = *why;
		c->state = COMMAND_FAILED;
	}
	command_report(sandbox);
}

/* sigabbrev_np(3) has no names for real-time signals: they are named relative to SIGRTMIN. */
static void name_signal(int number, char *name, size_t size)
{
	const char *abbreviation = sigabbrev_np(number);

	if (abbreviation)
		(void)snprintf(name, size, "%s", abbreviation);
	else if (number >= SIGRTMIN && number <= SIGRTMAX)
		(void)snprintf(name, size, "RTMIN+%d", number - SIGRTMIN);
}

struct yett_result command_result(const struct message_exited *exited)
{
	struct yett_result result = {
		.size = sizeof(struct yett_result),
		.signaled = exited->signaled,
		.status = (int)exited->status,
		.timed_out = exited->timed_out,
		.out_of_memory = exited->out_of_memory,
		.limits_hit = exited->limits_hit,
		.wall_us = exited->wall_us,
		.user_us = exited->user_us,
		.system_us = exited->system_us,
		.memory_peak_bytes = exited->memory_peak_bytes,
		.started_ms = exited->started_ms,
		.ended_ms = exited->ended_ms,
		.read_bytes = exited->read_bytes,
		.written_bytes = exited->written_bytes,
	};

	if (result.signaled)
		name_signal(result.status, result.signal_name, sizeof result.signal_name);
	return result;
}

/* Handles one checked message from init. */
static int command_route(struct yett_sandbox *sandbox, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	uint64_t sequence = channel->envelope.sequence;
	struct yett_command *command = sandbox->commands;
	uint32_t kind = channel->message.kind;
	struct yett_error why;
	bool is_answer;
	int r;

	if (kind != MESSAGE_STARTED && kind != MESSAGE_EXITED && kind != MESSAGE_ERROR &&
	    kind != MESSAGE_COMMANDS && kind != MESSAGE_SURROUNDINGS && kind != MESSAGE_CONNECTED)
		return channel_violation(channel, YETT_R_KIND, error,
		                         "init sent a message of kind %u", kind);
	if (sequence == 0 || sequence > channel->sequence)
		return channel_violation(channel, YETT_R_OUT_OF_ORDER, error,
		                         "init answered request %llu, which was not made",
		                         (unsigned long long)sequence);
	r = query_route(sandbox, &is_answer, error);
	if (r || is_answer)
		return r;
	while (command && (command->sequence != sequence || command->is_attached))
		command = command->next;
	/* The command was freed meanwhile, or init refused a signal that came after the end. */
	if (!command || command_is_over(command))
		return 0;
	if (kind == MESSAGE_STARTED && command->state == COMMAND_STARTED)
		return channel_violation(channel, YETT_R_REPLAYED, error,
		                         "init started a command twice");
	if (kind == MESSAGE_STARTED && channel->frame.fd_count != command->has_terminal)
		return channel_violation(channel, YETT_R_FD_COUNT, error,
		                         "init sent %zu terminals where %d was due",
		                         channel->frame.fd_count, command->has_terminal);
	if (kind == MESSAGE_STARTED && command->has_terminal &&
	    command_take_terminal(command, steal_fd(&channel->frame.fds[0]), &why))
		return channel_violation(channel, YETT_R_WRONG_TYPE, error, "%s", why.message);
	if (kind == MESSAGE_STARTED) {
		command->id = channel->message.body.started.command;
		command->pid = channel->message.body.started.pid;
		command->state = COMMAND_STARTED;
	} else if (kind == MESSAGE_ERROR) {
		channel_get_error(channel, &command->error);
		command->state = COMMAND_FAILED;
	} else {
		if (command->state != COMMAND_STARTED)
			return channel_violation(channel, YETT_R_OUT_OF_ORDER, error,
			                         "init ended a command that had not started");
		command->result = command_result(&channel->message.body.exited);
		command->state = COMMAND_EXITED;
	}
	return 0;
}

/* Receives the next message from init, and reads the streamed outputs while it waits. */
static int command_receive(struct yett_sandbox *sandbox, deadline_ms deadline,
                           struct yett_error *error)
{
	while (channel_time_left(deadline) != 0 && streams_are_open(sandbox)) {
		int r = channel_receive(sandbox->channel, channel_deadline(0), error);

		if (r != -EAGAIN)
			return r;
		streams_wait(sandbox, deadline);
		streams_read(sandbox);
	}
	return channel_receive(sandbox->channel, deadline, error);
}

int command_turn(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	bool known = sandbox->channel->failure.code != 0;
	int r = command_receive(sandbox, deadline, error);

	if (r == -EAGAIN)
		return r;
	if (r == 0)
		r = command_route(sandbox, error);
	if (r == 0) {
		command_report(sandbox);
		return 0;
	}
	if (r == YETT_E_NOT_RUNNING && !known)
		r = sandbox_why_ended(sandbox, &sandbox->channel->failure);
	if (error)
		*error = sandbox->channel->failure;
	command_fail_all(sandbox, &sandbox->channel->failure);
	return r;
}

int yett_sandbox_dispatch(struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = 0;

	streams_read(sandbox);
	/*
	 * Bound the loop, since an init that never stops sending must not block its client. If
	 * messages are left, the descriptor stays readable and the client dispatches again.
	 */
	for (int i = 0; r == 0 && i < DISPATCH_MAX; i++)
		r = command_turn(sandbox, channel_deadline(0), error);
	operation_step_all(&sandbox->operations);
	return r == -EAGAIN ? 0 : r;
}

static int command_put_list(struct channel *channel, const char *const *list, size_t max,
                            const char *what, struct text *ret_texts, uint32_t *ret_count,
                            struct yett_error *error)
{
	size_t count = 0;
	int r;

	for (; list && list[count]; count++) {
		if (count == max)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "more than %zu %ss", max, what);
		r = channel_put_text(channel, list[count], MESSAGE_PACKET_MAX, what,
		                     &ret_texts[count], error);
		if (r)
			return r;
	}
	*ret_count = (uint32_t)count;
	return 0;
}

static int put_metadata(struct channel *channel, const char *const *list, struct yett_error *error)
{
	struct message_exec *exec = &channel->message.body.exec;
	int r;

	for (const char *const *e = list; e && *e; e++)
		if (!strchr(*e, '=') || **e == '=')
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "metadata of a command is not KEY=VALUE: %.100s", *e);
	r = command_put_list(channel, list, MESSAGE_METADATA_ITEMS_MAX, "piece of metadata",
	                     exec->metadata, &exec->metadata_count, error);
	return r ? r : metadata_check(&channel->message, error);
}

static int check_env(const char *const *list, bool has_value, struct yett_error *error)
{
	for (const char *const *e = list; e && *e; e++) {
		if (has_value && (!strchr(*e, '=') || **e == '='))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "an environment variable is not NAME=VALUE: %s", *e);
		if (!has_value && (strchr(*e, '=') || !**e))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "this is no name of a variable: %s", *e);
	}
	return 0;
}

int command_put_env(struct channel *channel, const char *const *list, bool has_value,
                    struct text *ret_texts, uint32_t *ret_count, struct yett_error *error)
{
	int r = check_env(list, has_value, error);

	return r ? r
	         : command_put_list(channel, list, MESSAGE_ENV_MAX, "environment variable",
	                            ret_texts, ret_count, error);
}

/*
 * Lets a command open its pipe by name, for example as /dev/stdout. A pipe has the uid of its maker
 * and mode 0600, and a command has another uid: without this the command could use the descriptor
 * but not open /proc/self/fd/N, see proc_pid_fd(5). Group and others get permission only in the
 * direction that the command already has. In the other direction a command could take data from the
 * pipe's other readers, or send data to them. This is safe because a pipe without a name can be
 * opened only through the /proc/PID/fd of a process that holds the pipe, which requires the right
 * to trace that process. fchmod(2) fails for a pipe of another user, which then stays as it is.
 */
static void open_pipe(int fd, bool is_input)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	    fs.f_type == PIPEFS_MAGIC)
		(void)fchmod(fd, (st.st_mode & 07777) | (is_input ? 0044 : 0022));
}

/* Refuses what a terminal excludes, before the request is sent and init refuses it. */
static int check_terminal(const struct yett_command_options *options, struct yett_error *error)
{
	if (!options->terminal)
		return options->rows || options->columns
		               ? error_set(
					 error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					 "rows and columns are of a terminal, and none is asked for")
		               : 0;
	for (int i = 0; i < 3; i++)
		if (options->input || (options->stdio && options->stdio[i] != (int)YETT_STDIO_NULL))
			return error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"a command with a terminal takes no other standard streams");
	return 0;
}

#define STDIO_MEMORY 3 /* index in stdio.made of the memfd with arguments */

/* The descriptors to be sent with an EXEC message, in order. */
struct stdio {
	int fds[4];
	size_t count;
	int made[4]; /* to be closed once they were sent; owned; -1: none */
};

static void stdio_close(struct stdio *stdio)
{
	for (size_t i = 0; i < ARRAY_SIZE(stdio->made); i++)
		stdio->made[i] = fd_close(stdio->made[i]);
}

/* Makes a memfd with the command's input, sealed against any change: memfd_create(2). */
static int make_input(const struct yett_command_options *options, int *ret_fd,
                      struct yett_error *error)
{
	const char *bytes = options->input;
	_cleanup_fd_ int fd = memfd_create("yett-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	for (size_t used = 0; fd >= 0 && used < options->input_length;) {
		ssize_t n = pwrite(fd, bytes + used, options->input_length - used, (off_t)used);

		if (n < 0 && errno != EINTR)
			fd = fd_close(fd);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || fd_seal(fd) < 0)
		return failure_set(error, YETT_E_OUT_OF_MEMORY, NULL,
		                   "no memory for the input: %m");
	*ret_fd = steal_fd(&fd);
	return 0;
}

/*
 * The values that may stand in place of a descriptor, and for which streams: bit 0 is stdin, bit 1
 * stdout, bit 2 stderr.
 */
static const struct {
	enum yett_stdio word;
	unsigned streams;
} words[] = {{YETT_STDIO_NULL, 7},    {YETT_STDIO_INHERIT, 7}, {YETT_STDIO_PIPE, 7},
             {YETT_STDIO_CAPTURE, 6}, {YETT_STDIO_STREAM, 6},  {YETT_STDIO_AS_OUTPUT, 4},
             {YETT_STDIO_LATER, 1}};

static int check_word(int word, int i, struct yett_error *error)
{
	static const char *const names[] = {"stdin", "stdout", "stderr"};

	if (word >= 0)
		return 0;
	for (size_t w = 0; w < ARRAY_SIZE(words); w++) {
		if (word != (int)words[w].word)
			continue;
		return words[w].streams >> i & 1
		               ? 0
		               : error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                           "%s cannot be of that kind", names[i]);
	}
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		"%d for %s is neither a descriptor nor one of enum yett_stdio: did the call fail that was to open it?",
		word, names[i]);
}

/* Checks the options for the standard streams before any descriptor is made. */
static int check_stdio(const struct yett_command_options *options, struct yett_error *error)
{
	const int none[3] = {YETT_STDIO_NULL, YETT_STDIO_NULL, YETT_STDIO_NULL};
	const int *fds = options->stdio ? options->stdio : none;
	bool is_kept = fds[1] == YETT_STDIO_CAPTURE || fds[2] == YETT_STDIO_CAPTURE;
	bool is_read = fds[1] == YETT_STDIO_STREAM || fds[2] == YETT_STDIO_STREAM;

	for (int i = 0; i < 3; i++) {
		int r = check_word(fds[i], i, error);

		if (r)
			return r;
	}
	if (options->input && fds[0] != YETT_STDIO_NULL)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "there is a descriptor for stdin, and input besides");
	if (is_read && !options->on_output)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "an output is to be streamed, and on_output is not set");
	if (options->capture_bytes > YETT_CAPTURE_MAX || (options->capture_bytes && !is_kept))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "capture_bytes are of an output that is kept, and at most %d",
		                 YETT_CAPTURE_MAX);
	return 0;
}

/* Puts standard stream `i` into the message, and its descriptor, if it has one, into `stdio`. */
static int put_stdio(struct yett_sandbox *sandbox, const struct yett_command_options *options,
                     int i, struct yett_command *command, struct stdio *stdio,
                     struct yett_error *error)
{
	uint32_t *kind = &sandbox->channel->message.body.exec.stdio[i];
	int fd = options->stdio ? options->stdio[i] : YETT_STDIO_NULL, r = 0;

	*kind = STDIO_FD;
	if (i == 0 && options->input) {
		r = make_input(options, &stdio->made[i], error);
		fd = stdio->made[i];
	} else if (fd == YETT_STDIO_STREAM) {
		r = streams_open(sandbox, command, i - 1, &stdio->made[i], error);
		fd = stdio->made[i];
	} else if (fd == YETT_STDIO_PIPE) {
		r = streams_open_pipe(command, i, &stdio->made[i], error);
		fd = stdio->made[i];
	} else if (fd == YETT_STDIO_INHERIT) {
		fd = i;
	}
	if (r)
		return r;
	if (fd < 0) {
		bool is_kept = fd == YETT_STDIO_CAPTURE || fd == YETT_STDIO_LATER;

		*kind = is_kept                      ? STDIO_CAPTURE
		        : fd == YETT_STDIO_AS_OUTPUT ? STDIO_AS_OUTPUT
		                                     : STDIO_NULL;
		return 0;
	}
	r = yett_stdio_check(fd, error);
	if (r)
		return r;
	if (socket_name_once(fd) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "descriptor %d, a socket, cannot be given a name: %m", fd);
	open_pipe(fd, i == 0);
	stdio->fds[stdio->count++] = fd;
	return 0;
}

/* Puts a command into the channel's message, and its descriptors into `stdio`. */
static int fill_exec(struct yett_sandbox *sandbox, const struct yett_command_options *options,
                     struct yett_command *command, struct stdio *stdio, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	struct message_exec *exec = &channel_prepare(channel, MESSAGE_EXEC)->body.exec;
	int r;

	if (!options->argv || !options->argv[0] || !options->argv[0][0])
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT,
		                 "no command was given");
	r = check_terminal(options, error);
	if (r == 0)
		r = check_stdio(options, error);
	if (r)
		return r;
	r = check_env(options->env, true, error);
	if (r == 0)
		r = arguments_put(channel, options->argv, options->env, &stdio->made[STDIO_MEMORY],
		                  error);
	if (r == 0)
		r = channel_put_text(channel, options->cwd, MESSAGE_PATH_MAX, "the directory",
		                     &exec->cwd, error);
	for (int i = 0; r == 0 && i < 3; i++)
		r = put_stdio(sandbox, options, i, command, stdio, error);
	if (stdio->made[STDIO_MEMORY] >= 0)
		stdio->fds[stdio->count++] = stdio->made[STDIO_MEMORY];
	if (r == 0)
		r = command_put_list(channel, options->only_paths, MESSAGE_RESTRICT_PATHS_MAX,
		                     "path", exec->paths, &exec->paths_count, error);
	if (r == 0)
		r = put_metadata(channel, options->metadata, error);
	exec->restrictions = (options->deny_write ? RESTRICT_WRITE : 0U) |
	                     (options->deny_network ? RESTRICT_NETWORK : 0U) |
	                     (options->only_paths ? RESTRICT_PATHS : 0U);
	exec->has_user = options->other_user;
	exec->user = options->other_user ? options->user : 0;
	exec->memory_bytes = options->memory_bytes;
	exec->pids = options->pids;
	exec->timeout_ms = options->timeout_ms;
	exec->terminal = options->terminal;
	exec->rows = options->rows;
	exec->columns = options->columns;
	exec->capture_bytes = options->capture_bytes;
	exec->umask = sandbox->umask;
	return r;
}

struct yett_command *command_new(void)
{
	struct yett_command *command = calloc(1, sizeof *command);

	if (command)
		command->terminal = command->streams[0] = command->streams[1] = command->pipes[0] =
			command->pipes[1] = command->pipes[2] = -1;
	return command;
}

void command_add(struct yett_sandbox *sandbox, struct yett_command *command)
{
	command->sandbox = sandbox;
	command->sequence = sandbox->channel->sequence;
	command->next = sandbox->commands;
	sandbox->commands = command;
}

static void command_freep(struct yett_command **command)
{
	yett_command_free(*command);
}

int yett_sandbox_exec(struct yett_sandbox *sandbox, const struct yett_command_options *options,
                      struct yett_command **ret_command, struct yett_error *error)
{
	struct yett_command_options known;
	int r = sized_take(&options_command, options, &known, error);

	return r ? r : command_exec(sandbox, &known, false, ret_command, error);
}

int command_exec(struct yett_sandbox *sandbox, const struct yett_command_options *options,
                 bool is_file_operation, struct yett_command **ret_command,
                 struct yett_error *error)
{
	_cleanup_(command_freep) struct yett_command *command = command_new();
	_cleanup_(stdio_close) struct stdio stdio = {.made = {-1, -1, -1, -1}};
	int r;

	if (!command)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a command");
	r = fill_exec(sandbox, options, command, &stdio, error);
	sandbox->channel->message.body.exec.file_operation = is_file_operation;
	/* A paused sandbox does not answer until a client resumes it. */
	if (r == 0 && sandbox_is_paused(sandbox))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox is paused");
	if (r == 0)
		r = channel_send(sandbox->channel, stdio.fds, stdio.count,
		                 channel_deadline(SEND_TIMEOUT_MS), error);
	if (r)
		return r == YETT_E_NOT_RUNNING ? sandbox_why_ended(sandbox, error) : r;
	command->has_terminal = options->terminal;
	command->on_exit = options->on_exit;
	command->on_output = options->on_output;
	command->data = options->data;
	command_add(sandbox, command);
	*ret_command = steal_ptr(&command);
	return 0;
}

int yett_command_wait(struct yett_command *command, int timeout_ms,
                      const struct yett_result **ret_result, struct yett_error *error)
{
	deadline_ms deadline = channel_deadline(timeout_ms);

	/* Read the outputs here: command_receive() does not read them for a caller with timeout_ms
	 * 0. */
	if (!command_is_over(command) && command->sandbox)
		streams_read(command->sandbox);
	while (!command_is_over(command))
		if (command_turn(command->sandbox, deadline, NULL) == -EAGAIN)
			return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
			                 "the command still runs");
	if (command->state == COMMAND_FAILED) {
		if (error)
			*error = command->error;
		return (int)command->error.code;
	}
	if (ret_result)
		*ret_result = &command->result;
	return 0;
}

int yett_command_signal(struct yett_command *command, int signal_number, struct yett_error *error)
{
	struct message_signal *message;

	if (command_is_over(command))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the command has ended");
	if (signal_number < 1 || signal_number > 64)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%d is no signal",
		                 signal_number);
	/*
	 * A SIGNAL names the EXEC of a command, or a query that waits for its end. A followed
	 * command has neither: its query is answered as soon as there is output. Signal by its id.
	 */
	if (command->is_following)
		return query_send_signal(command->sandbox, command->id, signal_number, error);
	message = &channel_prepare(command->sandbox->channel, MESSAGE_SIGNAL)->body.signal;
	message->command = command->sequence;
	message->signal = (uint32_t)signal_number;
	return channel_send(command->sandbox->channel, NULL, 0, channel_deadline(SEND_TIMEOUT_MS),
	                    error);
}

uint64_t yett_command_id(const struct yett_command *command)
{
	deadline_ms deadline = channel_deadline(START_TIMEOUT_MS);

	while (command->id == 0 && command->sandbox && !command_is_over(command))
		if (command_turn(command->sandbox, deadline, NULL) == -EAGAIN)
			break;
	return command->id;
}

uint32_t yett_command_pid(const struct yett_command *command)
{
	return command->pid;
}

void yett_command_free(struct yett_command *command)
{
	if (!command)
		return;
	if (command->sandbox) {
		struct yett_command **at = &command->sandbox->commands;

		while (*at != command)
			at = &(*at)->next;
		*at = command->next;
	}
	fd_close(command->terminal);
	for (int i = 0; i < 2; i++)
		streams_close(command, i);
	for (int i = 0; i < 3; i++)
		fd_close(command->pipes[i]);
	free(command);
}
