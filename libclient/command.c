/* See sandbox.h, and "commands" in yett.h: what is said to init on the exec channel, and what it answers. */
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "libclient/sandbox.h"

#define SEND_TIMEOUT_MS 10000
#define DISPATCH_MAX	256

_Static_assert((int)YETT_LIMIT_MEMORY == LIMIT_MEMORY && (int)YETT_LIMIT_PIDS == LIMIT_PIDS &&
		       (int)YETT_LIMIT_CPU == LIMIT_CPU && (int)YETT_LIMIT_CPU_TIME == LIMIT_CPU_TIME,
	       "the public names of the limits are those of the wire");

bool command_is_over(const struct yett_command *command)
{
	return command->state == COMMAND_EXITED || command->state == COMMAND_FAILED;
}

/* Calls on_exit where it is due. It may free its command or start another, so the list is read anew each time. */
static void tell(struct yett_sandbox *sandbox)
{
	struct yett_command *c = sandbox->commands;

	while (c) {
		if (!command_is_over(c) || c->told) {
			c = c->next;
			continue;
		}
		c->told = true;
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
	tell(sandbox);
}

struct yett_result command_result(const struct message_exited *exited)
{
	return (struct yett_result){
		.signaled = exited->signaled,
		.status = (int)exited->status,
		.timed_out = exited->timed_out,
		.out_of_memory = exited->out_of_memory,
		.limits_hit = exited->limits_hit,
		.wall_us = exited->wall_us,
		.user_us = exited->user_us,
		.system_us = exited->system_us,
		.memory_peak_bytes = exited->memory_peak_bytes,
	};
}

/* One checked message of init. */
static int route(struct yett_sandbox *sandbox, struct yett_error *error)
{
	struct channel *channel = sandbox->channel;
	uint64_t sequence = channel->envelope.sequence;
	struct yett_command *command = sandbox->commands;
	uint32_t kind = channel->message.kind;
	struct yett_error why;

	if (kind != MESSAGE_STARTED && kind != MESSAGE_EXITED && kind != MESSAGE_ERROR)
		return channel_violation(channel, YETT_R_KIND, error, "init sent a message of kind %u", kind);
	if (sequence == 0 || sequence > channel->sequence)
		return channel_violation(channel, YETT_R_OUT_OF_ORDER, error,
					 "init answered request %llu, which was not made",
					 (unsigned long long)sequence);
	while (command && command->sequence != sequence)
		command = command->next;
	if (!command || command_is_over(command))
		return 0; /* freed, or the refusal of a signal that came too late */
	if (kind == MESSAGE_STARTED && command->state == COMMAND_STARTED)
		return channel_violation(channel, YETT_R_REPLAYED, error, "init started a command twice");
	if (kind == MESSAGE_STARTED && channel->frame.fd_count != command->has_terminal)
		return channel_violation(channel, YETT_R_FD_COUNT, error, "init sent %zu terminals where %d was due",
					 channel->frame.fd_count, command->has_terminal);
	if (kind == MESSAGE_STARTED && command->has_terminal &&
	    command_take_terminal(command, steal_fd(&channel->frame.fds[0]), &why))
		return channel_violation(channel, YETT_R_WRONG_TYPE, error, "%s", why.message);
	if (kind == MESSAGE_STARTED) {
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

/* Handles one message of init. 0; -EAGAIN; a positive code when the sandbox is over, with its reason. */
static int turn(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	bool known = sandbox->channel->failure.code != 0;
	int r = channel_receive(sandbox->channel, deadline, error);

	if (r == -EAGAIN)
		return r;
	if (r == 0)
		r = route(sandbox, error);
	if (r == 0) {
		tell(sandbox);
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

	/* what is left then makes the descriptor readable still: an init that never stops must not hold its client */
	for (int i = 0; r == 0 && i < DISPATCH_MAX; i++)
		r = turn(sandbox, channel_deadline(0), error);
	return r == -EAGAIN ? 0 : r;
}

static int put_list(struct channel *channel, const char *const *list, size_t max, const char *what,
		    struct text *ret_texts, uint32_t *ret_count, struct yett_error *error)
{
	size_t count = 0;
	int r;

	for (; list && list[count]; count++) {
		if (count == max)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "more than %zu %ss", max,
					 what);
		r = channel_put_text(channel, list[count], MESSAGE_PACKET_MAX, what, &ret_texts[count], error);
		if (r)
			return r;
	}
	*ret_count = (uint32_t)count;
	return 0;
}

/*
 * A pipe belongs to who made it, and inside a command has another id: as it is, /dev/stdout could be written to but not
 * opened. So it is opened to others, in the direction the command has already; the other one could reach who else
 * reads or writes it. Safe because a pipe without a name is found only through a process that holds it, which only
 * those may look into who could trace it. Somebody else's pipe stays as it is. proc_pid_fd(5)
 */
static void open_pipe(int fd, bool is_input)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC)
		(void)fchmod(fd, (st.st_mode & 07777) | (is_input ? 0044 : 0022));
}

/* What a terminal excludes, said before init says it. */
static int check_terminal(const struct yett_command_options *options, struct yett_error *error)
{
	if (!options->terminal)
		return options->rows || options->columns
			       ? error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					   "rows and columns are of a terminal, and none is asked for")
			       : 0;
	for (int i = 0; options->stdio && i < 3; i++)
		if (options->stdio[i] >= 0)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					 "a command with a terminal takes no other standard streams");
	return 0;
}

/* Puts a command into channel->message; fds[0 … count) are the descriptors of its packet. */
static int fill_exec(struct channel *channel, const struct yett_command_options *options, int fds[3], size_t *ret_count,
		     struct yett_error *error)
{
	struct message_exec *exec = &channel_prepare(channel, MESSAGE_EXEC)->body.exec;
	size_t count = 0;
	int r;

	if (!options->argv || !options->argv[0] || !options->argv[0][0])
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT, "no command was given");
	r = check_terminal(options, error);
	if (r)
		return r;
	for (const char *const *e = options->env; e && *e; e++)
		if (!strchr(*e, '=') || **e == '=')
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
					 "an environment variable is not NAME=VALUE: %s", *e);
	r = put_list(channel, options->argv, MESSAGE_ARGV_MAX, "argument", exec->argv, &exec->argv_count, error);
	if (r == 0)
		r = put_list(channel, options->env, MESSAGE_ENV_MAX, "environment variable", exec->env,
			     &exec->env_count, error);
	if (r == 0)
		r = channel_put_text(channel, options->cwd, MESSAGE_PATH_MAX, "the directory", &exec->cwd, error);
	for (int i = 0; r == 0 && i < 3; i++) {
		int fd = options->stdio ? options->stdio[i] : YETT_STDIO_NULL;

		exec->stdio[i] = fd < 0 ? STDIO_NULL : STDIO_FD;
		if (fd < 0)
			continue;
		r = yett_stdio_check(fd, error);
		if (r == 0)
			open_pipe(fd, i == 0);
		fds[count++] = fd;
	}
	exec->timeout_ms = options->timeout_ms;
	exec->terminal = options->terminal;
	exec->rows = options->rows;
	exec->columns = options->columns;
	*ret_count = count;
	return r;
}

int yett_sandbox_exec(struct yett_sandbox *sandbox, const struct yett_command_options *options,
		      struct yett_command **ret_command, struct yett_error *error)
{
	_cleanup_free_ struct yett_command *command = calloc(1, sizeof *command);
	size_t count = 0;
	int fds[3], r;

	if (!command)
		return error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "no memory for a command");
	r = fill_exec(sandbox->channel, options, fds, &count, error);
	/* it would not answer before somebody resumes it */
	if (r == 0 && sandbox_is_paused(sandbox))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox is paused");
	if (r == 0)
		r = channel_send(sandbox->channel, fds, count, channel_deadline(SEND_TIMEOUT_MS), error);
	if (r)
		return r == YETT_E_NOT_RUNNING ? sandbox_why_ended(sandbox, error) : r;
	command->sandbox = sandbox;
	command->has_terminal = options->terminal;
	command->terminal = -1;
	command->sequence = sandbox->channel->sequence;
	command->on_exit = options->on_exit;
	command->data = options->data;
	command->next = sandbox->commands;
	sandbox->commands = command;
	*ret_command = steal_ptr(&command);
	return 0;
}

int yett_command_wait(struct yett_command *command, int timeout_ms, struct yett_result *ret_result,
		      struct yett_error *error)
{
	deadline_ms deadline = channel_deadline(timeout_ms);

	while (!command_is_over(command))
		if (turn(command->sandbox, deadline, NULL) == -EAGAIN)
			return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the command still runs");
	if (command->state == COMMAND_FAILED) {
		if (error)
			*error = command->error;
		return (int)command->error.code;
	}
	*ret_result = command->result;
	return 0;
}

int yett_command_signal(struct yett_command *command, int signal_number, struct yett_error *error)
{
	struct message_signal *message;

	if (command_is_over(command))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the command has ended");
	if (signal_number < 1 || signal_number > 64)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%d is no signal", signal_number);
	message = &channel_prepare(command->sandbox->channel, MESSAGE_SIGNAL)->body.signal;
	message->command = command->sequence;
	message->signal = (uint32_t)signal_number;
	return channel_send(command->sandbox->channel, NULL, 0, channel_deadline(SEND_TIMEOUT_MS), error);
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
	free(command);
}
