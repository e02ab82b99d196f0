/* SPDX-License-Identifier: Apache-2.0 */
/* See worker.h. */
#include "base/failure.h"
#include "libclient/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/spawn.h"

#define GONE_TIMEOUT_MS 5000

/*
 * Finds yett-files: the file that YETT_FILES names, or the one beside the helper. As for a helper,
 * only its owner and root may be able to replace the file.
 */
static int program_path(char path[PATH_MAX], struct yett_error *error)
{
	const char *named = secure_getenv("YETT_FILES"), *helper;
	char buffer[PATH_MAX], beside[PATH_MAX];

	if (!named) {
		helper = start_helper_name(NULL, buffer);
		if (helper[0] != '/') /* the same error as for a helper */
			return yett_helper_path(helper, path, PATH_MAX, error);
		if ((size_t)snprintf(beside, sizeof beside, "%.*s/yett-files",
		                     (int)(strrchr(helper, '/') - helper), helper) >= sizeof beside)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "the path of yett-files, beside the helper, is too long");
		named = beside;
	}
	return yett_helper_path(named, path, PATH_MAX, error);
}

/*
 * Makes a sealed copy of yett-files in a memfd. The sandbox executes the copy by its descriptor: so
 * the sandbox's files need not contain the program, the labels and mounts of the program do not
 * matter, and nothing inside can change it. The sandbox gets a read-only descriptor, because an LSM
 * checks the access that a descriptor allows, whatever its seals.
 */
static int program_open(struct yett_sandbox *sandbox, struct yett_error *error)
{
	char path[PATH_MAX], copy[sizeof "/proc/self/fd/2147483647"];
	_cleanup_fd_ int file = -1, memfd = -1;
	int r;

	if (sandbox->files_program >= 0)
		return 0;
	r = program_path(path, error);
	if (r)
		return r;
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL, "cannot read %s: %m",
		                   path);
	memfd = fd_copy_program("yett-files", file);
	if (memfd < 0)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
		                 "cannot copy %s: %s", path, strerror(-memfd));
	(void)snprintf(copy, sizeof copy, "/proc/self/fd/%d", memfd);
	sandbox->files_program = open(copy, O_RDONLY | O_CLOEXEC);
	if (sandbox->files_program < 0)
		return failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL,
		                   "cannot open the copy of %s: %m", path);
	return 0;
}

/* Makes the socket pair between the client and the worker. *ret_theirs is the worker's end. */
static int make_channel(struct worker *worker, int *ret_theirs, struct yett_error *error)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot make a socket for the file operation: %m");
	*ret_theirs = pair[1];
	worker->channel = channel_take(pair[0], "yett-files");
	if (!worker->channel)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the file operation");
	return 0;
}

int worker_start_inside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                        struct yett_error *error)
{
	static const char *const argv[] = {"/proc/self/fd/0", "1", NULL};
	struct worker worker = {.sandbox = sandbox};
	_cleanup_fd_ int theirs = -1;
	int r = program_open(sandbox, error);

	if (r == 0)
		r = make_channel(&worker, &theirs, error);
	if (r == 0) {
		const int stdio[] = {sandbox->files_program, theirs, YETT_STDIO_NULL};
		const struct yett_command_options options = {
			.size = sizeof options, .argv = argv, .stdio = stdio};

		r = command_exec(sandbox, &options, true, &worker.command, error);
	}
	if (r) {
		channel_free(worker.channel);
		return r;
	}
	*ret_worker = worker;
	return 0;
}

int worker_start_outside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                         struct yett_error *error)
{
	char *const argv[] = {"yett-files", "0", NULL};
	struct worker worker = {.sandbox = sandbox};
	_cleanup_fd_ int theirs = -1;
	char path[PATH_MAX];
	int r = program_path(path, error);

	if (r == 0)
		r = make_channel(&worker, &theirs, error);
	if (r == 0) {
		r = spawn(path, argv, theirs, NULL, 0, &worker.pid);
		if (r < 0) {
			errno = -r;
			r = failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL,
			                "cannot execute %s: %m", path);
		}
	}
	if (r) {
		channel_free(worker.channel);
		return r;
	}
	*ret_worker = worker;
	return 0;
}

int worker_watch(struct worker *worker, struct yett_error *error)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll_ctl(worker->sandbox->events, EPOLL_CTL_ADD, worker->channel->fd, &event) == 0)
		return 0;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                   "cannot wait for the file operation: %m");
}

void worker_unwatch(struct worker *worker)
{
	(void)epoll_ctl(worker->sandbox->events, EPOLL_CTL_DEL, worker->channel->fd, NULL);
}

void worker_end(struct worker *worker)
{
	if (worker->channel)
		worker_unwatch(worker);
	if (worker->command && !worker->is_over)
		(void)!yett_command_signal(worker->command, SIGKILL, NULL);
	yett_command_free(worker->command);
	channel_free(worker->channel);
	if (worker->pid > 0) {
		if (!worker->is_over)
			(void)kill(worker->pid, SIGKILL);
		while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	*worker = (struct worker){0};
}

int worker_prepare(struct worker *worker, enum file_operation operation, const char *path,
                   struct yett_error *error)
{
	struct message_file *request = &channel_prepare(worker->channel, MESSAGE_FILE)->body.file;

	request->operation = operation;
	return channel_put_text(worker->channel, path, MESSAGE_PATH_MAX, "the path", &request->path,
	                        error);
}

/* Explains why a worker ended without an answer. Always returns a code. */
static int explain_gone(struct worker *worker, int timeout_ms, struct yett_error *error)
{
	const struct yett_result *result;
	int r;

	if (!worker->command)
		return error_set(
			error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
			"yett-files, which reads and writes files outside, ended without an answer");
	r = yett_command_wait(worker->command, timeout_ms, &result, error);
	if (r && r != YETT_E_TIMEOUT)
		return r; /* yett-files could not be started, or the sandbox has ended */
	if (r == 0 && result->out_of_memory)
		return error_set(
			error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
			"the file operation was ended because the sandbox's memory ran out");
	if (r == 0 && result->signaled)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "the file operation was ended inside by signal %d",
		                 result->status);
	return error_set(
		error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		"yett-files, which reads and writes files inside, ended without an answer");
}

int worker_send(struct worker *worker, const int *fds, size_t count, struct yett_error *error)
{
	int r = channel_send(worker->channel, fds, count, channel_deadline(WORKER_TIMEOUT_MS),
	                     error);

	if (r != YETT_E_NOT_RUNNING)
		return r;
	worker->is_over = true;
	return explain_gone(worker, GONE_TIMEOUT_MS, error);
}

void worker_wait(struct worker *const *workers, size_t count, deadline_ms deadline)
{
	struct pollfd entries[3];
	struct yett_sandbox *sandbox = workers[0]->sandbox;

	for (;;) {
		size_t n = 0;
		int left = channel_time_left(deadline), r;

		for (size_t i = 0; i < count; i++) {
			if (workers[i]->gone_by > 0 && command_is_over(workers[i]->command))
				return;
			if (workers[i]->gone_by > 0 &&
			    (left < 0 || left > channel_time_left(workers[i]->gone_by)))
				left = channel_time_left(workers[i]->gone_by);
			if (!workers[i]->is_over && workers[i]->gone_by == 0)
				entries[n++] = (struct pollfd){.fd = workers[i]->channel->fd,
				                               .events = POLLIN};
		}
		/* If the sandbox is over, the end of file of its worker reports that. */
		if (!sandbox->channel->failure.code)
			entries[n++] =
				(struct pollfd){.fd = sandbox->channel->fd, .events = POLLIN};
		r = poll(entries, n, left);
		if (r == 0 && left >= 0)
			return;
		if (r > 0 && !sandbox->channel->failure.code && entries[n - 1].revents)
			(void)!yett_sandbox_dispatch(sandbox, NULL);
		for (size_t i = 0; r > 0 && i < n; i++)
			if (entries[i].revents && entries[i].fd != sandbox->channel->fd)
				return;
	}
}

static bool worker_is_answer(uint32_t kind)
{
	return kind == MESSAGE_FILE_OPENED || kind == MESSAGE_FILE_ENTRIES ||
	       kind == MESSAGE_FILE_SKIPPED || kind == MESSAGE_FILE_DONE ||
	       kind == MESSAGE_FILE_MOUNTS || kind == MESSAGE_ERROR;
}

/*
 * Whether the command of the worker has still to end. Its result says more than the end of file
 * does.
 */
static bool is_to_be_explained(struct worker *worker)
{
	if (!worker->command || command_is_over(worker->command))
		return false;
	if (worker->gone_by == 0) {
		worker->gone_by = channel_deadline(GONE_TIMEOUT_MS);
		worker_unwatch(worker); /* the socket is readable from now on */
	}
	return channel_time_left(worker->gone_by) != 0;
}

int worker_take(struct worker *worker)
{
	struct channel *channel = worker->channel;
	int r = channel_receive(channel, channel_deadline(0), &worker->error);

	if (r == -EAGAIN)
		return r;
	if (r == 0 && (!worker_is_answer(channel->message.kind) || channel->envelope.sequence != 1))
		r = channel_violation(channel, YETT_R_KIND, &worker->error,
		                      "yett-files sent a message of kind %u",
		                      channel->message.kind);
	if (r == YETT_E_NOT_RUNNING) {
		if (is_to_be_explained(worker))
			return -EAGAIN;
		worker->is_over = true;
		return explain_gone(worker, 0, &worker->error);
	}
	if (r)
		return r;
	worker->is_over = channel->message.kind != MESSAGE_FILE_ENTRIES &&
	                  channel->message.kind != MESSAGE_FILE_SKIPPED &&
	                  channel->message.kind != MESSAGE_FILE_MOUNTS;
	if (channel->message.kind != MESSAGE_ERROR)
		return 0;
	channel_get_error(channel, &worker->error);
	return (int)worker->error.code;
}
