/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See commands.h. Unprivileged; blocks only as report.h says; signals only processes that init has
 * not reaped.
 */
#include "base/clock_us.h"
#include "programs/inside/init/commands.h"
#include "programs/inside/init/held_streams.h"
#include "programs/inside/init/query.h"
#include "programs/inside/init/timeout.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define COMMANDS_RETRY_US 20000

/*
 * The unit of ru_inblock and ru_oublock, whatever the disk's block size: the kernel's
 * task_io_get_inblock().
 */
#define COMMANDS_BLOCK_BYTES 512

/*
 * Largest packet of a session change that a waiting child receives. The child receives only one
 * such packet, because the CPU time that the child spends on it counts as the command's.
 */
#define COMMANDS_FOLLOW_MAX 4096

/*
 * The number of leaf cgroups that are kept and reused: those of the first entries of the table of
 * commands. Making and removing a leaf takes a seventh of the time of a short command.
 */
#define COMMANDS_LEAVES_KEPT 4

/*
 * Returns the table entry for the next command: that of the waiting child, or else the lowest free
 * one. COMMANDS_MAX: there is none.
 */
static size_t commands_free_slot(const struct commands *commands)
{
	size_t i = 0;

	if (commands->ready.pid != 0)
		return commands->ready_slot;
	while (i < COMMANDS_MAX && commands->table[i].state != COMMAND_FREE)
		i++;
	return i;
}

/* Reports an event to the supervisor, for clients that follow the sandbox and for the audit log. */
static void commands_report(struct commands *commands, const struct command *command,
                            enum event_kind kind)
{
	struct init_event event = {
		.kind = kind, .command = command->record.id, .pid = (uint32_t)command->record.pid};

	if (!record_is_command(&command->record) && !commands->report.is_recorded)
		return;
	if (kind == EVENT_EXITED)
		event.result = command->record.exited;
	if (kind == EVENT_FAILED)
		event.error = (uint32_t)command->record.failure.error;
	if (kind == EVENT_STARTED || kind == EVENT_FAILED)
		record_copy_argv(&command->record, event.argv);
	report_event(&commands->report, &event);
}

/*
 * Frees the table entry. If the command has ended, its record moves to the records of ended
 * commands, except for a file operation.
 */
static void commands_release(struct commands *commands, struct command *command)
{
	if (command->state == COMMAND_ENDED && record_is_command(&command->record))
		records_keep_consume(&commands->records, &command->record);
	command->state = COMMAND_FREE;
	command->terminal = fd_close(command->terminal);
	command->input = fd_close(command->input);
	while (commands->end > 0 && commands->table[commands->end - 1].state == COMMAND_FREE)
		commands->end--;
}

static int commands_refuse_start(int r, struct yett_error *error)
{
	int code;

	if (r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -ENOSPC)
		code = error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "the sandbox has no room for another command");
	else if (r == -EOPNOTSUPP)
		code = error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"a command has no limits of its own here: they need the controllers of cgroup v2");
	else
		code = error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE,
		                 "no process could be made for the command");
	error_detail(error, "%s", strerror(-r));
	(void)error_cause(error, "start", -r);
	return code;
}

/* Sets the limits that the EXEC requests for this command alone. Call before the command starts. */
static int commands_limit(const struct commands *commands, struct command *command,
                          const struct message_exec *exec)
{
	if (exec->memory_bytes == 0 && exec->pids == 0)
		return 0;
	if (!command_has_leaf(commands))
		return -EOPNOTSUPP;
	command->leaf_spent = true;
	return leaf_limit(command_leaf(commands, command), exec->memory_bytes, exec->pids);
}

/*
 * Kills a child that has received no EXEC, and waits for it: it blocks only on our packet, so it
 * dies at once. Removes its leaf too, because another command must not inherit the leaf's counters
 * or limits.
 */
static void commands_end_child(const struct commands *commands, struct launch_child *child,
                               size_t slot)
{
	if (child->pid != 0) {
		(void)kill(child->pid, SIGKILL);
		(void)waitpid(child->pid, NULL, 0);
		launch_dismiss(child);
	}
	if (command_has_leaf(commands))
		(void)!leaf_remove((unsigned)slot);
}

void commands_dismiss(struct commands *commands)
{
	if (commands->ready.pid != 0)
		commands_end_child(commands, &commands->ready, commands->ready_slot);
}

void commands_report_session(struct commands *commands, const struct frame *packet)
{
	bool may_follow = !commands->ready_follows && packet->length <= COMMANDS_FOLLOW_MAX;

	commands->ready_follows = true;
	if (commands->ready.pid != 0 &&
	    (!may_follow || launch_report_session(&commands->ready, packet) < 0))
		commands_dismiss(commands);
}

static void commands_give_up(struct commands *commands, struct command *command)
{
	commands_end_child(commands, &command->child, command_leaf(commands, command));
	record_free(&command->record);
	records_take_back(&commands->records, &command->record);
	commands_release(commands, command);
}

/* Sets *ret_leaf to -1 where there are no leaves. */
static int commands_open_leaf(const struct commands *commands, size_t slot, int *ret_leaf)
{
	*ret_leaf = -1;
	return command_has_leaf(commands) ? leaf_open((unsigned)slot, commands->config, ret_leaf)
	                                  : 0;
}

void commands_prepare(struct commands *commands)
{
	uint64_t so_far = commands->records.last + commands->records.operations;
	_cleanup_fd_ int leaf = -1;

	if (commands->ready.pid != 0 || so_far == 1 || !launch_may_wait(commands->config))
		return;
	commands->ready_slot = commands_free_slot(commands);
	commands->ready_follows = false;
	/* If this fails, the child is forked when a command is requested. */
	if (commands->ready_slot < COMMANDS_MAX &&
	    commands_open_leaf(commands, commands->ready_slot, &leaf) == 0)
		(void)!launch_fork(commands->config, &commands->session, leaf, &commands->ready);
}

/* Where the sandbox is recorded, sends the start event before the command can do anything. */
static void commands_report_first(struct commands *commands, struct command *command)
{
	if (!commands->report.is_recorded || command->is_reported)
		return;
	command->record.pid = command->child.pid;
	commands_report(commands, command, EVENT_STARTED);
	command->is_reported = true;
}

/*
 * Uses the waiting child, unless it was killed. Otherwise forks a new one, after the limits of its
 * leaf were set.
 */
static int commands_launch(struct commands *commands, struct command *command,
                           const struct frame *packet, const struct message_exec *exec,
                           const int files[LAUNCH_FILES])
{
	size_t slot = command_leaf(commands, command);
	_cleanup_fd_ int leaf = -1;
	int r;

	command->child = commands->ready;
	commands->ready.pid = 0;
	if (command->child.pid != 0) {
		r = commands_limit(commands, command, exec);
		if (r == 0)
			commands_report_first(commands, command);
		if (r < 0 || launch_report(&command->child, packet, exec, files) == 0)
			return r;
		commands_end_child(commands, &command->child, slot);
	}
	r = commands_open_leaf(commands, slot, &leaf);
	if (r == 0)
		r = commands_limit(commands, command, exec);
	if (r == 0)
		r = launch_fork(commands->config, &commands->session, leaf, &command->child);
	if (r < 0)
		return r;
	commands_report_first(commands, command);
	/*
	 * -EPIPE: the child was killed at once, for lack of memory. Then the command has started
	 * and will be reported as ended.
	 */
	r = launch_report(&command->child, packet, exec, files);
	return r == -EPIPE ? 0 : r;
}

int commands_start(struct commands *commands, const struct frame *packet,
                   const struct message *message, struct command_origin origin,
                   const int files[LAUNCH_FILES], struct yett_error *error)
{
	size_t slot = commands_free_slot(commands);
	struct command *command = &commands->table[slot];
	_cleanup_fd_ int in = -1, out = -1, err = -1;
	int all[LAUNCH_FILES], pipes[3] = {-1, -1, -1}, r;

	if (slot == COMMANDS_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "%d commands are running or not reported yet", COMMANDS_MAX);
	if (slot >= commands->end)
		commands->end = slot + 1;
	*command = (struct command){.origin = origin,
	                            .terminal = -1,
	                            .input = -1,
	                            .has_terminal = message->body.exec.terminal,
	                            .result_due = true};
	r = record_begin(&commands->records, &command->record, message);
	leaf_read_sandbox(commands->config->fds_present, &command->before);
	memcpy(all, files, sizeof all);
	if (r == 0)
		r = held_streams_open(command, &message->body.exec, all, pipes);
	in = pipes[0];
	out = pipes[1];
	err = pipes[2];
	command->start_us = clock_now_us();
	if (r == 0)
		r = commands_launch(commands, command, packet, &message->body.exec, all);
	if (r < 0) {
		command->record.failure.error = -r;
		if (command->is_reported)
			commands_report(commands, command, EVENT_FAILED);
		commands_give_up(commands, command);
		return commands_refuse_start(r, error);
	}
	command->record.pid = command->child.pid;
	/*
	 * This runs while the child prepares. CPU time that the child uses before it is missing at
	 * most from the usage of the running command, not from its result.
	 */
	if (command_has_leaf(commands) && command_leaf(commands, command) < COMMANDS_LEAVES_KEPT)
		leaf_read_usage(command_leaf(commands, command), &command->used_before);
	command->state = COMMAND_STARTING;
	if (timeout_of(commands->config, &message->body.exec) > 0)
		command->deadline_us = command->start_us +
		                       timeout_of(commands->config, &message->body.exec) * 1000;
	return 0;
}

int commands_signal(struct commands *commands, struct command_origin origin, int signal,
                    struct yett_error *error)
{
	uint64_t id = query_waits_for(commands, origin);

	for (size_t i = 0; i < commands->end; i++) {
		const struct command *command = &commands->table[i];

		if (command_is_alive(command) &&
		    (command_is_of(command->origin, origin) || command->record.id == id))
			return command_send_signal(command, signal, error);
	}
	return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
	                 "no command with that number is running");
}

void commands_kill_all(struct commands *commands)
{
	for (size_t i = 0; i < commands->end; i++)
		if (command_is_alive(&commands->table[i]))
			command_kill(commands, &commands->table[i]);
}

void commands_forget(struct commands *commands, const void *channel)
{
	query_forget(commands, channel);
	for (size_t i = commands->end; i-- > 0;) {
		struct command *command = &commands->table[i];

		if (command->state == COMMAND_FREE || command->origin.channel != channel)
			continue;
		command->origin.channel = NULL;
		command->started_due = command->result_due = false;
		command->terminal = fd_close(command->terminal);
		if (command->state == COMMAND_ENDED)
			commands_release(commands, command);
	}
}

size_t commands_poll(struct commands *commands, struct pollfd *fds)
{
	size_t n = 0;

	for (size_t i = 0; i < commands->end; i++) {
		struct command *command = &commands->table[i];

		if (command->state == COMMAND_STARTING)
			fds[n++] = (struct pollfd){.fd = command->child.socket, .events = POLLIN};
		if (command->state != COMMAND_FREE)
			n = held_streams_poll(command, fds, n);
	}
	return n;
}

/* Checks whether the child has executed the program or failed to. */
static void commands_read_child(struct commands *commands, struct command *command)
{
	if (launch_read(command->child.socket, &command->record.failure, command->has_terminal,
	                &command->terminal) == -EAGAIN)
		return;
	launch_dismiss(&command->child);
	commands->has_launched = true;
	command->started_due = command->record.failure.error == 0 && command->origin.channel;
	/* No client is there to receive the terminal. */
	if (!command->started_due)
		command->terminal = fd_close(command->terminal);
	command->state = COMMAND_RUNNING; /* or about to exit after a failure */
	if (command->record.failure.error == 0 && !command->is_reported)
		commands_report(commands, command, EVENT_STARTED);
}

static uint64_t commands_cpu_us(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static bool commands_cpu_time_over(const struct commands *commands,
                                   const struct message_exited *exited)
{
	const struct init_config *config = commands->config;
	/*
	 * The kernel enforces the limit by counting ticks but reports measured times. The two
	 * differ by some percent.
	 */
	uint64_t most_us = (exited->user_us + exited->system_us) / 16 * 17;

	if (!exited->signaled || (exited->status != SIGXCPU && exited->status != SIGKILL))
		return false;
	for (uint32_t i = 0; i < config->rlimits_count; i++)
		if (config->rlimits[i].resource == RLIMIT_CPU)
			return exited->status == SIGXCPU ||
			       most_us / 1000000 >= config->rlimits[i].hard;
	return false;
}

/*
 * Finds the limits that were hit while the command ran. A limit of the sandbox counts for every
 * command that was running.
 */
static void commands_read_limits(const struct commands *commands, struct command *command,
                                 uint64_t maxrss_bytes)
{
	struct message_exited *exited = &command->record.exited;
	struct leaf_counters now, before = command->before;

	leaf_read_sandbox(commands->config->fds_present, &now);
	if (command_has_leaf(commands) && leaf_read_own(command_leaf(commands, command), &now)) {
		/* The leaf's counters are only this command's: they began at 0. */
		command->leaf_spent = true;
		before.oom_kills = 0;
		before.memory_peak_bytes = 0;
	}
	exited->memory_peak_bytes = maxrss_bytes;
	/* The sandbox's peak rose, so it was reached while this command ran. */
	if (now.memory_peak_bytes > before.memory_peak_bytes &&
	    now.memory_peak_bytes > maxrss_bytes)
		exited->memory_peak_bytes = now.memory_peak_bytes;
	exited->out_of_memory = now.oom_kills > before.oom_kills;
	exited->limits_hit = (exited->out_of_memory ? LIMIT_MEMORY : 0U) |
	                     (now.pids_refused > before.pids_refused ? LIMIT_PIDS : 0U) |
	                     (now.cpu_throttled > before.cpu_throttled ? LIMIT_CPU : 0U) |
	                     (commands_cpu_time_over(commands, exited) ? LIMIT_CPU_TIME : 0U);
}

/* Whether the command's leaf is empty. Removes an empty leaf unless it can be reused. */
static bool commands_empty_leaf(const struct commands *commands, const struct command *command)
{
	unsigned leaf = command_leaf(commands, command);

	if (leaf_populated(leaf))
		return false;
	return (leaf < COMMANDS_LEAVES_KEPT && !command->leaf_spent) || leaf_remove(leaf) != -EBUSY;
}

/*
 * A command ends with its main process. The processes that it left behind are killed, so that
 * nothing outlives the result.
 */
static void commands_clear(struct commands *commands, struct command *command)
{
	if (!command_has_leaf(commands) || commands_empty_leaf(commands, command)) {
		command->state = COMMAND_ENDED;
		held_streams_finish(commands, command);
		return;
	}
	if (command->state != COMMAND_EMPTYING) {
		command->state = COMMAND_EMPTYING;
		command->emptying_us = clock_now_us();
	}
	command_kill_leaf(commands, command);
}

static void commands_ended(struct commands *commands, struct command *command, int status,
                           const struct rusage *usage)
{
	struct message_exited *exited = &command->record.exited;

	if (command->state == COMMAND_STARTING)
		commands_read_child(commands, command);
	/*
	 * No end of file although the child has ended: another process holds a copy of the child's
	 * end.
	 */
	if (command->state == COMMAND_STARTING) {
		launch_dismiss(&command->child);
		if (command->has_terminal && command->terminal < 0)
			command->record.failure = launch_without_terminal();
		command->started_due =
			command->record.failure.error == 0 && command->origin.channel;
	}
	exited->signaled = WIFSIGNALED(status);
	exited->status = (uint32_t)(exited->signaled ? WTERMSIG(status) : WEXITSTATUS(status));
	exited->wall_us = clock_now_us() - command->start_us;
	exited->user_us = commands_cpu_us(&usage->ru_utime);
	exited->system_us = commands_cpu_us(&usage->ru_stime);
	exited->read_bytes = (uint64_t)usage->ru_inblock * COMMANDS_BLOCK_BYTES;
	exited->written_bytes = (uint64_t)usage->ru_oublock * COMMANDS_BLOCK_BYTES;
	exited->ended_ms = clock_wall_ms();
	commands_read_limits(commands, command,
	                     usage->ru_maxrss > 0 ? (uint64_t)usage->ru_maxrss * 1024 : 0);
	commands_report(commands, command,
	                command->record.failure.error == 0 ? EVENT_EXITED : EVENT_FAILED);
	if (record_is_command(&command->record))
		report_count(&commands->report, exited, command->record.failure.error == 0);
	commands_clear(commands, command);
}

static struct command *commands_find_pid(struct commands *commands, pid_t pid)
{
	for (size_t i = 0; i < commands->end; i++)
		if (commands->table[i].record.pid == pid && command_is_alive(&commands->table[i]))
			return &commands->table[i];
	return NULL;
}

/*
 * Reaps commands, and orphans that the kernel reparented to PID 1. WNOWAIT finds a child without
 * reaping it, so that its process group can still be killed safely.
 */
static void commands_reap(struct commands *commands)
{
	siginfo_t info = {0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
		struct command *command = commands_find_pid(commands, info.si_pid);
		struct rusage usage = {0};
		int status = 0;

		if (info.si_pid == commands->ready.pid)
			commands_dismiss(commands);
		if (command && !command_has_leaf(commands))
			(void)kill(-command->record.pid, SIGKILL);
		if (wait4(info.si_pid, &status, WNOHANG, &usage) == info.si_pid && command)
			commands_ended(commands, command, status, &usage);
		info.si_pid = 0;
	}
}

void commands_advance(struct commands *commands, const struct pollfd *fds)
{
	held_streams_read(commands, fds);
	for (size_t i = 0; i < commands->end; i++) {
		struct command *command = &commands->table[i];

		if (command->state != COMMAND_STARTING)
			continue;
		commands_read_child(commands, command);
		/* The command may run without anyone holding the pty master. */
		if (command->has_terminal && command->record.failure.error != 0)
			command_kill(commands, command);
	}
	commands_reap(commands);
	for (size_t i = 0; i < commands->end; i++)
		if (commands->table[i].state == COMMAND_EMPTYING)
			commands_clear(commands, &commands->table[i]);
	for (size_t i = commands->end; i-- > 0;)
		if (commands->table[i].state == COMMAND_ENDED && !commands->table[i].result_due)
			commands_release(commands, &commands->table[i]);
}

uint64_t commands_expire(struct commands *commands)
{
	uint64_t next = 0;

	for (size_t i = 0; i < commands->end; i++) {
		struct command *command = &commands->table[i];
		bool alive = command_is_alive(command);
		uint64_t at = alive ? command->deadline_us : 0;

		if (at != 0 && !command->record.exited.timed_out && at <= clock_now_us()) {
			command->record.exited.timed_out = true;
			command_kill(commands, command);
			commands_report(commands, command, EVENT_TIMEOUT);
		}
		if (alive && command->record.exited.timed_out)
			at = 0;
		if (command->state == COMMAND_EMPTYING)
			at = clock_now_us() + COMMANDS_RETRY_US;
		if (at != 0 && (next == 0 || at < next))
			next = at;
	}
	return next;
}

bool commands_next(struct commands *commands, const void *channel, struct command_due *ret_due,
                   struct message *message, struct yett_error *error)
{
	error->code = YETT_OK;
	for (size_t i = 0; i < commands->end; i++) {
		const struct command *command = &commands->table[i];

		if (command->state == COMMAND_FREE || command->origin.channel != channel ||
		    (!command->started_due && !(command->result_due && command_is_over(command))))
			continue;
		/* A command that failed has no terminal. */
		*ret_due = (struct command_due){.index = i,
		                                .sequence = command->origin.sequence,
		                                .fds = {command->terminal},
		                                .fds_count = command->terminal >= 0};
		if (command->started_due) {
			message_begin(message, MESSAGE_STARTED)->started = (struct message_started){
				command->record.id, (uint32_t)command->record.pid};
		} else if (command->record.failure.error != 0) {
			launch_describe(&command->record.failure, error);
		} else {
			message_begin(message, MESSAGE_EXITED)->exited = command->record.exited;
		}
		return true;
	}
	return query_next(commands, channel, ret_due, message, error);
}

void commands_sent(struct commands *commands, const struct command_due *due)
{
	struct command *command = &commands->table[due->index];

	if (due->is_wait) {
		query_reported(commands, &commands->waits[due->index].query);
		query_end(commands, due->index);
		return;
	}
	if (command->started_due) {
		/*
		 * From here on only the client holds the pty master, so that closing it hangs up
		 * the terminal.
		 */
		command->started_due = false;
		command->terminal = fd_close(command->terminal);
	} else {
		command->result_due = false;
		record_fetched(&command->record, false);
	}
	if (command->state == COMMAND_ENDED && !command->result_due)
		commands_release(commands, command);
}
