/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox handle: a sandbox that was made for one call and ends with it, or one that stays and is
 * found by name or id.
 *
 * Reference-counted: every user holds a reference, and the last one releases the sandbox. Runs with
 * the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

#define HANDLE_OPERATIONS_MAX 48 /* concurrent operations in one sandbox */

struct handle {
	struct agent *agent;
	/* The connection that made the sandbox; NULL: this program attached to the sandbox. */
	struct agent_link *link;
	struct yett_sandbox *sandbox;
	sd_event_source *source;
	unsigned references;
	bool is_broken;    /* the sandbox or its channel has ended; the handle is of no more use */
	bool leaves_store; /* has copy-on-write shares, and ends with the handle */
	const char *id;    /* valid as long as the handle */
	/* The name used to attach; NULL: an id was used, or lookups do not find it. */
	char *asked_as;
	uint64_t used_us;
	struct handle_operation *operations;
	struct handle *next; /* in the list of handles that are held for later calls */
};

struct handle_making;

/*
 * Called once, never before handle_make() has returned. Either `handle` is a new reference that the
 * callee owns, or `handle` is NULL and `error` says why.
 */
typedef void (*handle_made_fn)(struct handle *handle, const struct yett_error *error, void *data);

/*
 * Requests a sandbox as `asked` (SANDBOX_REQUEST_FIELDS of sandbox_request.h; borrowed) describes.
 * With a name, the sandbox lingers. With `is_held`, handle_find() finds it by its id until it ends
 * or the program ends. With neither, it ends with the last reference.
 *
 * handle_give_up() cancels and frees the request before `made` is called; afterwards the request
 * frees itself.
 */
_must_check_ int handle_make(struct agent *agent, const json_t *asked, const char *name,
                             bool is_held, handle_made_fn made, void *data,
                             struct handle_making **ret_making, struct yett_error *error);
void handle_give_up(struct handle_making *making);

/*
 * Call after dispatching the connection: finishes the requests whose sandboxes are ready or
 * refused.
 */
void handles_look(struct handles *handles);

/*
 * Finds a sandbox by id or name, and attaches to it if it is not held yet. The caller owns the new
 * reference. Returns 0, YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING, or an error of own_find().
 */
_must_check_ int handle_find(struct agent *agent, const char *id_or_name,
                             struct handle **ret_handle, struct yett_error *error);

struct handle *handle_ref(struct handle *handle);
/* Returns NULL. Accepts NULL. */
struct handle *handle_unref(struct handle *handle);

/* Drops the handle from the list of held ones: the next handle_find() attaches anew. */
void handle_forget(struct handle *handle);

struct handles *handles_new(void);
void handles_free(struct handles *handles);

/* --- operations in a sandbox ------------------------------------------------------------------ */

/*
 * A yett_operation in progress, with its sandbox handle. `over` is called once, when
 * yett_operation_finish() would no longer wait.
 */
struct handle_operation;
typedef void (*handle_over_fn)(struct yett_operation *operation, void *data);

/*
 * Checks whether another operation may begin. Each one sends to the sandbox, which may not be
 * reading its channel. Returns 0 or YETT_E_RESOURCE_LIMIT.
 */
_must_check_ int handle_check_operations(const struct handle *handle, struct yett_error *error);

/*
 * Takes ownership of `operation`. Returns NULL without memory, after freeing it. `over` must not
 * free the result: that happens when `over` returns.
 */
struct handle_operation *handle_operate(struct handle *handle, struct yett_operation *operation,
                                        handle_over_fn over, void *data);
void handle_operation_free(struct handle_operation *operation);
