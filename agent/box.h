/*
 * A sandbox handle: a sandbox that was made for one call and ends with it, or one that stays and is
 * found by name or id.
 *
 * Reference-counted: every user holds a reference, and the last one releases the sandbox. Runs with
 * the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

#define BOX_OPERATIONS_MAX 48 /* concurrent operations in one sandbox */

struct box {
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
	struct box_operation *operations;
	struct box *next; /* in the list of handles that are held for later calls */
};

struct box_making;

/*
 * Called once, never before box_make() has returned. Either `box` is a new reference that the
 * callee owns, or `box` is NULL and `error` says why.
 */
typedef void (*box_made_fn)(struct box *box, const struct yett_error *error, void *data);

/*
 * Requests a sandbox as `asked` (WISH_FIELDS of wish.h; borrowed) describes. With a name, the
 * sandbox lingers. With `is_held`, box_find() finds it by its id until it ends or the program ends.
 * With neither, it ends with the last reference.
 *
 * box_give_up() cancels and frees the request before `made` is called; afterwards the request frees
 * itself.
 */
_must_check_ int box_make(struct agent *agent, const json_t *asked, const char *name, bool is_held,
                          box_made_fn made, void *data, struct box_making **ret_making,
                          struct yett_error *error);
void box_give_up(struct box_making *making);

/*
 * Call after dispatching the connection: finishes the requests whose sandboxes are ready or
 * refused.
 */
void boxes_look(struct boxes *boxes);

/*
 * Finds a sandbox by id or name, and attaches to it if it is not held yet. The caller owns the new
 * reference. Returns 0, YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING, or an error of own_find().
 */
_must_check_ int box_find(struct agent *agent, const char *id_or_name, struct box **ret_box,
                          struct yett_error *error);

struct box *box_ref(struct box *box);
/* Returns NULL. Accepts NULL. */
struct box *box_unref(struct box *box);

/* Drops the handle from the list of held ones: the next box_find() attaches anew. */
void box_forget(struct box *box);

struct boxes *boxes_new(void);
void boxes_free(struct boxes *boxes);

/* --- operations in a sandbox ------------------------------------------------------------------ */

/*
 * A yett_operation in progress, with its sandbox handle. `over` is called once, when
 * yett_operation_finish() would no longer wait.
 */
struct box_operation;
typedef void (*box_over_fn)(struct yett_operation *operation, void *data);

/*
 * Checks whether another operation may begin. Each one sends to the sandbox, which may not be
 * reading its channel. Returns 0 or YETT_E_RESOURCE_LIMIT.
 */
_must_check_ int box_check_operations(const struct box *box, struct yett_error *error);

/*
 * Takes ownership of `operation`. Returns NULL without memory, after freeing it. `over` must not
 * free the result: that happens when `over` returns.
 */
struct box_operation *box_operate(struct box *box, struct yett_operation *operation,
                                  box_over_fn over, void *data);
void box_operation_free(struct box_operation *operation);
