/*
 * A sandbox that the program holds: one made for a call, which is gone with it, or one that is
 * named and stays.
 *
 * Counted: who uses one holds a reference, and the last one gives it up. With the caller's
 * privilege.
 */
#pragma once

#include "agent/agent.h"

#define BOX_OPERATIONS_MAX 48 /* that go on at once in one sandbox */

struct box {
	struct agent *agent;
	struct agent_link *link; /* that it was made by; NULL: it was attached to */
	struct yett_sandbox *sandbox;
	sd_event_source *source;
	unsigned references;
	bool is_broken;    /* it has ended, or its channel has: nothing more can be had of it */
	bool leaves_store; /* it has shares that are copy-on-write, and ends with the box */
	const char *id;    /* as long as the box */
	char *asked_as; /* the name by which it was attached to; NULL: its id, or it is not found by
	                   others */
	uint64_t used_us;
	struct box_operation *operations;
	struct box *next; /* of those that are held for calls to come */
};

struct box_making;

/* Told once: `box` has a reference, the caller's; or NULL, and `error`. May not be called before
 * box_make() has returned. */
typedef void (*box_made_fn)(struct box *box, const struct yett_error *error, void *data);

/*
 * Asks for a sandbox as `asked` (WISH_FIELDS of wish.h; borrowed) says. With a name it lingers;
 * with neither name nor `is_held` it ends with the last reference; with `is_held` it is found by
 * its id until it is ended, or the program ends. The making is freed by box_give_up() before `made`
 * was called, and by itself after it.
 */
_must_check_ int box_make(struct agent *agent, const json_t *asked, const char *name, bool is_held,
                          box_made_fn made, void *data, struct box_making **ret_making,
                          struct yett_error *error);
void box_give_up(struct box_making *making);

/* After the connection was dispatched: tells of those that are there. */
void boxes_look(struct boxes *boxes);

/* The one of that id or name, attached to where it is not held yet; with a reference.
 * YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING; see own.h, too.
 */
_must_check_ int box_find(struct agent *agent, const char *id_or_name, struct box **ret_box,
                          struct yett_error *error);

struct box *box_ref(struct box *box);
/* Returns NULL. Takes NULL. */
struct box *box_unref(struct box *box);

/* Nothing more is to be had of it: who asks for it by name attaches anew. */
void box_forget(struct box *box);

struct boxes *boxes_new(void);
void boxes_free(struct boxes *boxes);

/* --- operations in a box ---------------------------------------------------------------------- */

/* A yett_operation that goes on with its sandbox. `over` is called once, when
 * yett_operation_finish() does not wait any more. */
struct box_operation;
typedef void (*box_over_fn)(struct yett_operation *operation, void *data);

/* Whether one more may be begun: each is told to the sandbox, which may not listen.
 * YETT_E_RESOURCE_LIMIT */
_must_check_ int box_check_operations(const struct box *box, struct yett_error *error);

/* Takes `operation`; NULL: no memory, and it is freed. `over` may not free it: it is freed when it
 * returns. */
struct box_operation *box_operate(struct box *box, struct yett_operation *operation,
                                  box_over_fn over, void *data);
void box_operation_free(struct box_operation *operation);
