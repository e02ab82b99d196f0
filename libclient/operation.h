/*
 * Calls that are begun, go on when the caller dispatches, and are finished: see "operations" in
 * yett.h. The calls that wait are the same, begun and finished at once.
 *
 * With the caller's privilege. A kind of operation embeds the struct, which it is allocated as.
 */
#pragma once

#include "libclient/sandbox.h"

struct operation_kind {
	/* Does what can be done now. -EAGAIN: it is not over, and goes on until
	 * operation->deadline; else what it came to. */
	int (*step)(struct yett_operation *operation, struct yett_error *error);
	/* Waits until there may be something to do, or the deadline. */
	void (*wait)(struct yett_operation *operation, deadline_ms deadline);
	/* Gives back everything but the struct. Once only, over or not. */
	void (*end)(struct yett_operation *operation);
};

struct yett_operation {
	const struct operation_kind *kind;
	struct yett_sandbox *sandbox; /* in whose list it is; NULL: it is in none */
	struct yett_operation *next;
	bool is_over, is_stepping; /* a callback of its own is called, say, which may dispatch */
	uint64_t turn;             /* of operation_step_all() in which it went on last */
	int r;                     /* once it is over */
	struct yett_error error;   /* code not 0: it failed */
	deadline_ms deadline;
	/* What came of it, as far as it is that kind of operation. */
	int fd;                    /* -1: none; owned until it is taken */
	struct yett_sandbox *made; /* owned until it is taken */
	struct yett_file_info *info;
	struct yett_copy_result *copied;
	struct yett_mount_list *mounts; /* owned until it is taken */
};

/* Zeroed but for its kind, and with no descriptor; NULL: no memory. `size` is of the struct that
 * embeds it. */
void *operation_new(const struct operation_kind *kind, size_t size);

/* Has it go on with the dispatching of a sandbox; and that of all of them. */
void operation_add(struct yett_operation *operation, struct yett_sandbox *sandbox);
void operation_step_all(struct yett_sandbox *sandbox);

/* Ends all that go on in the sandbox, with `why`. */
void operation_fail_all(struct yett_sandbox *sandbox, const struct yett_error *why);

/* For the calls that wait: `r` is what beginning *operation came to, which is read after that. */
_must_check_ int operation_run(int r, struct yett_operation *const *operation,
                               struct yett_error *error);

static inline void operation_freep(struct yett_operation **operation)
{
	yett_operation_free(*operation);
}
