/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers: yett-files processes, each for one operation, inside a sandbox or as a child of this
 * process, and the messages exchanged with them.
 *
 * Runs with the caller's privilege. A worker inside is as hostile as the sandbox: only messages
 * that channel.c checked are used, and only up to a deadline. worker_end() leaves no child process
 * behind, and kills a worker inside that has not answered. If this process is killed first, its
 * child is killed with it, and the pipe between the two workers ends the one inside.
 */
#pragma once

#include <sys/types.h>

#include "libclient/sandbox.h"

#define WORKER_TIMEOUT_MS 30000

struct worker {
	struct yett_sandbox *sandbox;
	struct channel *channel;
	struct yett_command *command; /* inside: the command that is the worker */
	pid_t pid;                    /* outside: the child process */
	/*
	 * The worker's socket has ended: until this time wait for the command's end, which says
	 * why. 0: the socket has not ended.
	 */
	deadline_ms gone_by;
	bool is_over;            /* it sent its last message: FILE_DONE, FILE_OPENED or ERROR */
	struct yett_error error; /* code 0 unless it failed */
};

_must_check_ int worker_start_inside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                                     struct yett_error *error);
_must_check_ int worker_start_outside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                                      struct yett_error *error);

/*
 * worker_watch() adds the worker's socket to those that wake a waiter for the sandbox;
 * worker_unwatch() removes it.
 */
_must_check_ int worker_watch(struct worker *worker, struct yett_error *error);
void worker_unwatch(struct worker *worker);

/*
 * Kills the worker if it is not over, waits for a child process, and releases everything. Takes a
 * worker that is all zeros.
 */
void worker_end(struct worker *worker);

/*
 * worker_prepare() begins the worker's one request, whose other fields the caller sets; it checks
 * only the length of `path`. worker_send() sends the request.
 */
_must_check_ int worker_prepare(struct worker *worker, enum file_operation operation,
                                const char *path, struct yett_error *error);
_must_check_ int worker_send(struct worker *worker, const int *fds, size_t count,
                             struct yett_error *error);

/*
 * Waits until a worker that is not over has sent something, or until the deadline. Handles the
 * sandbox's other messages meanwhile.
 */
void worker_wait(struct worker *const *workers, size_t count, deadline_ms deadline);

/*
 * Receives what the worker has sent into worker->channel->message, a FILE_… message. -EAGAIN:
 * nothing yet. If the worker failed, or is gone without an answer, returns the code, and
 * worker->error says why.
 */
_must_check_ int worker_take(struct worker *worker);
