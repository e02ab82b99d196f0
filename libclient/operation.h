/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: calls that are begun, go on when the caller dispatches, and are finished. See
 * "operations" in yett.h. The blocking functions begin and finish an operation at once.
 *
 * Runs with the caller's privilege. Each kind of operation has a struct that begins with struct
 * yett_operation and is allocated as a whole.
 */
#pragma once

#include "base/error.h"
#include "libclient/channel.h"
#include "libclient/yett.h"

struct operation_kind {
	/*
	 * Does what can be done now. Returns -EAGAIN if the operation is not over; it then goes on
	 * until operation->deadline. Otherwise returns the result: 0 or a code.
	 */
	int (*step)(struct yett_operation *operation, struct yett_error *error);
	/* Waits until there may be something to do, or until the deadline. */
	void (*wait)(struct yett_operation *operation, deadline_ms deadline);
	/* Releases everything but the struct. Called once, whether the operation is over or not. */
	void (*end)(struct yett_operation *operation);
};

/* The operations that dispatching a sandbox continues. */
struct operation_list {
	struct yett_operation *first;
	uint64_t turn;
};

struct yett_operation {
	const struct operation_kind *kind;
	struct operation_list *list; /* NULL: it is in no list */
	struct yett_operation *next;
	/*
	 * is_stepping: `step` or `wait` is running; a callback may dispatch, which must not step
	 * the operation again.
	 */
	bool is_over, is_stepping;
	uint64_t turn; /* the last call of operation_step_all() that stepped this operation */
	int r;         /* the result, once it is over */
	struct yett_error error; /* code not 0: it failed */
	deadline_ms deadline;
	/* Results, as far as this kind of operation has them. */
	int fd;                    /* -1: none; owned until it is taken */
	struct yett_sandbox *made; /* owned until it is taken */
	struct yett_file_info *info;
	struct yett_copy_result *copied;
	struct yett_mount_list *mounts; /* owned until it is taken */
};

/*
 * Allocates an operation that is zeroed, except that `kind` is set and there is no descriptor and
 * no deadline. `size` is that of the struct that begins with the operation. NULL: no memory.
 */
void *operation_new(const struct operation_kind *kind, size_t size);

/*
 * operation_add() puts the operation into the list of a sandbox, so that dispatching the sandbox
 * continues it. operation_step_all() continues all operations of the list.
 */
void operation_add(struct yett_operation *operation, struct operation_list *list);
void operation_step_all(struct operation_list *list);

/* Ends all operations of the list with the error `why`. */
void operation_fail_all(struct operation_list *list, const struct yett_error *why);

/*
 * For the blocking functions: `r` is the result of beginning *operation. Returns `r` if that is not
 * 0, else finishes the operation. Takes a pointer, because the argument `r` sets *operation.
 */
_must_check_ int operation_run(int r, struct yett_operation *const *operation,
                               struct yett_error *error);

static inline void operation_freep(struct yett_operation **operation)
{
	yett_operation_free(*operation);
}
