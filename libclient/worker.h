/*
 * yett-files at work: one process for one operation, inside a sandbox or as a child of ours, and
 * the talk with it.
 *
 * With the caller's privilege. One that runs inside is as hostile as the sandbox: what it says is
 * taken only as channel.c's checked messages, and only for so long. worker_end() leaves no process
 * of ours behind, and ends one inside that has not answered; killed before that, we take ours with
 * us, and the pipe between the two ends the other.
 */
#pragma once

#include <sys/types.h>

#include "libclient/sandbox.h"

#define WORKER_TIMEOUT_MS 30000

struct worker {
	struct yett_sandbox *sandbox;
	struct channel *channel;
	struct yett_command *command; /* inside */
	pid_t pid;                    /* outside */
	deadline_ms gone_by; /* its socket has ended: until then its command is waited for, which
	                        tells why; 0: it has not */
	bool is_over;        /* it has said its last word: FILE_DONE, FILE_OPENED or ERROR */
	struct yett_error error; /* code 0 unless it failed */
};

_must_check_ int worker_start_inside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                                     struct yett_error *error);
_must_check_ int worker_start_outside(struct yett_sandbox *sandbox, struct worker *ret_worker,
                                      struct yett_error *error);

/* Makes what it says wake who waits for the sandbox; and takes that back. */
_must_check_ int worker_watch(struct worker *worker, struct yett_error *error);
void worker_unwatch(struct worker *worker);

/* Kills it if it is not over, waits for a child, and frees what it has. Takes one that is all
 * zeros. */
void worker_end(struct worker *worker);

/* The one request, to be filled in. `path` is checked for its length only. */
_must_check_ int worker_prepare(struct worker *worker, enum file_operation operation,
                                const char *path, struct yett_error *error);
_must_check_ int worker_send(struct worker *worker, const int *fds, size_t count,
                             struct yett_error *error);

/*
 * Waits until one of the workers that are not over has something to say, or until the deadline, and
 * has the sandbox's other messages handled meanwhile.
 */
void worker_wait(struct worker *const *workers, size_t count, deadline_ms deadline);

/*
 * Takes what it has said: worker->channel->message, of a FILE_… kind. -EAGAIN: nothing yet. When it
 * fails, or is gone without an answer, the code and worker->error say why.
 */
_must_check_ int worker_take(struct worker *worker);
