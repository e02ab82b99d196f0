/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See yett_copy_in() in yett.h. Copies files between the host and a sandbox with two yett-files
 * workers, one inside the sandbox and one outside. A pipe joins the two; this process closes its
 * own descriptors of the pipe, and the archive never passes through it. Messages of the worker
 * inside are hostile input; the worker outside is a child of ours and is trusted. Runs with the
 * caller's privilege.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/failure.h"
#include "libclient/operation.h"
#include "libclient/options.h"
#include "libclient/worker.h"

#define ENTRIES_MAX       1000000
#define BYTES_MAX         (UINT64_C(64) << 30)
#define PIPE_BYTES        (1024 * 1024)
#define FAILED_TIMEOUT_MS 2000 /* for the other worker to report a better reason */

struct copy {
	struct yett_operation base; /* must be the first member */
	struct yett_sandbox *sandbox;
	struct worker inside, outside;
	struct worker *reader, *writer; /* `reader` packs the archive, `writer` unpacks it */
	char *host_path;                /* owned */
	/*
	 * Deadlines: of the whole copy, and of its rest once the worker outside is over or either
	 * worker has failed; -1: none.
	 */
	deadline_ms whole, last;
	size_t host_name_length; /* of the name that libclient_copy_open_host() gives to the worker
	                            outside */
	struct yett_copy_options options;
	struct yett_copy_result result;
	struct yett_error first_skipped;
};

static void libclient_copy_end(struct yett_operation *base)
{
	struct copy *copy = (struct copy *)base;

	worker_end(&copy->inside);
	worker_end(&copy->outside);
	free(copy->host_path);
	copy->host_path = NULL;
}

static void libclient_copy_wait_for(struct yett_operation *base, deadline_ms deadline)
{
	struct copy *copy = (struct copy *)base;

	/* worker_end() zeroes a worker that has failed, and worker_wait() needs the sandbox. */
	copy->outside.sandbox = copy->inside.sandbox = copy->sandbox;
	worker_wait((struct worker *const[]){&copy->outside, &copy->inside}, 2, deadline);
}

static int prepare_copy(const char *path, const struct yett_copy_options *options,
                        struct copy *copy, struct yett_error *error)
{
	int r;

	if (!path || path[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a path inside is not absolute: %s",
		                 path ? path : "none is given");
	if (strlen(path) > MESSAGE_PATH_MAX || strlen(copy->host_path) > MESSAGE_PATH_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path is longer than %d bytes", MESSAGE_PATH_MAX);
	r = sized_take(&options_copy, options, &copy->options, error);
	if (r)
		return r;
	if (copy->options.entries_max == 0)
		copy->options.entries_max = ENTRIES_MAX;
	if (copy->options.bytes_max == 0)
		copy->options.bytes_max = BYTES_MAX;
	return 0;
}

/*
 * Opens the parent directory of host_path with the caller's privilege, as an O_PATH descriptor, and
 * copies the last component to `name`. The worker outside gets nothing else. If the path is "/", or
 * its last component is "." or "..", the directory is the path itself and the name is ".".
 */
static int libclient_copy_open_host(struct copy *copy, int *ret_directory, char name[NAME_MAX + 2],
                                    struct yett_error *error)
{
	const char *path = copy->host_path;
	size_t length = strlen(path), start;
	char parent[PATH_MAX];

	while (length > 1 && path[length - 1] == '/')
		length--;
	for (start = length; start > 0 && path[start - 1] != '/';)
		start--;
	if (length - start > NAME_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "a name is longer than %d bytes", NAME_MAX);
	(void)snprintf(name, NAME_MAX + 2, "%.*s", (int)(length - start), path + start);
	(void)snprintf(parent, sizeof parent, "%.*s", (int)start, path);
	if (length == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT,
		                 "a path is empty");
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		(void)snprintf(parent, sizeof parent, "%s", path);
		(void)snprintf(name, NAME_MAX + 2, ".");
	}
	copy->host_name_length = strlen(name);
	*ret_directory = open(*parent ? parent : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_directory >= 0)
		return 0;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot open %.200s: %m",
	                   *parent ? parent : ".");
}

static int libclient_copy_ask(struct copy *copy, struct worker *worker, const char *path,
                              int stream, int directory, struct yett_error *error)
{
	const int fds[] = {stream, directory};
	struct message_file *request;
	int r = worker_prepare(worker, worker == copy->reader ? FILE_PACK : FILE_UNPACK, path,
	                       error);

	if (r)
		return r;
	request = &worker->channel->message.body.file;
	request->entries_max = copy->options.entries_max;
	request->bytes_max = copy->options.bytes_max;
	return worker_send(worker, fds, directory >= 0 ? 2 : 1, error);
}

static int start_copy(struct yett_sandbox *sandbox, struct copy *copy, const char *path,
                      struct yett_error *error)
{
	_cleanup_fd_ int out = -1, in = -1, directory = -1;
	char name[NAME_MAX + 2];
	int ends[2], r = libclient_copy_open_host(copy, &directory, name, error);

	if (r)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot make a pipe for the copy: %m");
	out = ends[0];
	in = ends[1];
	/* If this fails, the copy is only slower. */
	(void)fcntl(in, F_SETPIPE_SZ, PIPE_BYTES);
	r = worker_start_inside(sandbox, &copy->inside, error);
	if (r == 0)
		r = worker_start_outside(sandbox, &copy->outside, error);
	if (r == 0)
		r = libclient_copy_ask(copy, &copy->outside, name,
		                       copy->reader == &copy->outside ? in : out, directory, error);
	if (r == 0)
		r = libclient_copy_ask(copy, &copy->inside, path,
		                       copy->reader == &copy->inside ? in : out, -1, error);
	return r;
}

static int note_skipped(struct copy *copy, struct worker *worker)
{
	const struct message *message = &worker->channel->message;
	const char *path = message_text(message, message->body.file_skipped.path);
	const char *why = message_text(message, message->body.file_skipped.why);
	char full[2 * PATH_MAX];

	if (++copy->result.skipped > copy->options.entries_max)
		return error_set(&worker->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "more entries were passed over than may be copied");
	/* The worker outside knows only the last component of host_path: report the whole path. */
	if (worker == &copy->outside && strlen(path) >= copy->host_name_length) {
		(void)snprintf(full, sizeof full, "%s%s", copy->host_path,
		               path + copy->host_name_length);
		path = full;
	}
	if (copy->options.on_skipped)
		copy->options.on_skipped(path, why, copy->options.data);
	else if (copy->result.skipped == 1)
		(void)error_set(&copy->first_skipped, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "%.150s was not copied: %.90s", ESCAPE(path), why);
	return 0;
}

/* Handles one message of a worker. Returns false if there is none. */
static bool libclient_copy_turn(struct copy *copy, struct worker *worker)
{
	const struct message *message;
	int r = worker_take(worker);

	if (r == -EAGAIN)
		return false;
	message = &worker->channel->message;
	if (r == 0 && message->kind == MESSAGE_FILE_SKIPPED)
		r = note_skipped(copy, worker);
	else if (r == 0 && message->kind != MESSAGE_FILE_DONE)
		r = channel_violation(worker->channel, YETT_R_KIND, &worker->error,
		                      "yett-files answered with what was not asked");
	else if (r == 0 && worker == &copy->outside) {
		copy->result.entries = message->body.file_done.entries;
		copy->result.bytes = message->body.file_done.bytes;
	}
	if (r && !worker->is_over) {
		/* Stop this worker but keep its error. The other one sees the pipe close. */
		struct yett_error why = worker->error;

		worker_end(worker);
		worker->error = why;
		worker->is_over = true;
	}
	return true;
}

/*
 * Copies the more useful error of the two workers to `error` and returns its code; 0 if neither
 * failed. The worker that unpacks knows the cause, unless it only found that the archive ends early
 * (YETT_E_PROTOCOL): then the worker that packs knows the cause.
 */
static int why_failed(const struct copy *copy, struct yett_error *error)
{
	const struct yett_error *why = &copy->writer->error;

	if (!why->code || (why->code == YETT_E_PROTOCOL && copy->reader->error.code))
		why = &copy->reader->error;
	if (why->code && error)
		*error = *why;
	return (int)why->code;
}

/*
 * Returns the result of the copy. Called once both workers are over, or once one has failed and the
 * time of the other one has passed.
 */
static int conclude(struct copy *copy, struct yett_error *error)
{
	int r = why_failed(copy, error);

	if (r == 0 && copy->first_skipped.code) {
		error_detail(&copy->first_skipped,
		             "%llu entries were passed over; all others were copied",
		             (unsigned long long)copy->result.skipped);
		*error = copy->first_skipped;
		r = (int)copy->first_skipped.code;
	}
	return r;
}

static int libclient_copy_step(struct yett_operation *base, struct yett_error *error)
{
	struct copy *copy = (struct copy *)base;
	struct worker *const workers[] = {&copy->outside, &copy->inside};
	bool has_failed;

	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		while (!workers[i]->is_over && libclient_copy_turn(copy, workers[i]))
			;
	*base->copied = copy->result;
	base->copied->size = sizeof *base->copied;
	if (copy->outside.is_over && copy->inside.is_over)
		return conclude(copy, error);
	/*
	 * While the worker outside works, only timeout_ms bounds the copy: that worker itself gives
	 * up on a pipe that makes no progress.
	 */
	has_failed = copy->outside.error.code || copy->inside.error.code;
	if (copy->last < 0 && (copy->outside.is_over || has_failed))
		copy->last = channel_deadline(has_failed ? FAILED_TIMEOUT_MS : WORKER_TIMEOUT_MS);
	base->deadline = copy->last >= 0 && (copy->whole < 0 || copy->last < copy->whole)
	                         ? copy->last
	                         : copy->whole;
	if (channel_time_left(base->deadline) != 0)
		return -EAGAIN;
	return has_failed ? conclude(copy, error)
	                  : error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
	                              "the file operation was not finished in time and was ended");
}

static const struct operation_kind kind = {libclient_copy_step, libclient_copy_wait_for,
                                           libclient_copy_end};

static int libclient_copy_begin(struct yett_sandbox *sandbox, bool is_in, const char *path,
                                const char *host_path, const struct yett_copy_options *options,
                                struct yett_operation **ret_operation, struct yett_error *error)
{
	struct copy *copy = operation_new(&kind, sizeof *copy);
	_cleanup_(operation_freep) struct yett_operation *base = (struct yett_operation *)copy;
	int r;

	if (!copy || !(copy->host_path = strdup(host_path ? host_path : "")) ||
	    !(base->copied = memory_new(sizeof *base->copied)))
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the copy");
	r = prepare_copy(path, options, copy, error);
	copy->reader = is_in ? &copy->outside : &copy->inside;
	copy->writer = is_in ? &copy->inside : &copy->outside;
	copy->last = -1;
	copy->whole =
		channel_deadline(copy->options.timeout_ms > 0 ? copy->options.timeout_ms : -1);
	if (r == 0)
		r = start_copy(sandbox, copy, path, error);
	if (r == 0)
		r = worker_watch(&copy->inside, error);
	if (r == 0)
		r = worker_watch(&copy->outside, error);
	if (r)
		return r;
	base->deadline = copy->whole;
	copy->sandbox = sandbox;
	operation_add(base, &sandbox->operations);
	*ret_operation = steal_ptr(&base);
	return 0;
}

static int libclient_copy_run(struct yett_sandbox *sandbox, bool is_in, const char *path,
                              const char *host_path, const struct yett_copy_options *options,
                              struct yett_copy_result **ret_result, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;
	int r = operation_run(
		libclient_copy_begin(sandbox, is_in, path, host_path, options, &operation, error),
		&operation, error);

	if (ret_result)
		*ret_result = operation ? steal_ptr(&operation->copied) : NULL;
	return r;
}

int yett_copy_in(struct yett_sandbox *sandbox, const char *host_path, const char *path,
                 const struct yett_copy_options *options, struct yett_copy_result **ret_result,
                 struct yett_error *error)
{
	return libclient_copy_run(sandbox, true, path, host_path, options, ret_result, error);
}

int yett_copy_out(struct yett_sandbox *sandbox, const char *path, const char *host_path,
                  const struct yett_copy_options *options, struct yett_copy_result **ret_result,
                  struct yett_error *error)
{
	return libclient_copy_run(sandbox, false, path, host_path, options, ret_result, error);
}

int yett_copy_in_begin(struct yett_sandbox *sandbox, const char *host_path, const char *path,
                       const struct yett_copy_options *options,
                       struct yett_operation **ret_operation, struct yett_error *error)
{
	return libclient_copy_begin(sandbox, true, path, host_path, options, ret_operation, error);
}

int yett_copy_out_begin(struct yett_sandbox *sandbox, const char *path, const char *host_path,
                        const struct yett_copy_options *options,
                        struct yett_operation **ret_operation, struct yett_error *error)
{
	return libclient_copy_begin(sandbox, false, path, host_path, options, ret_operation, error);
}
