/* See box.h. */
#include "agent/box.h"

#include <string.h>

#include "agent/happenings.h"
#include "agent/own.h"
#include "agent/stores.h"
#include "agent/wish.h"
#include "base/clock_us.h"

/*
 * An attached sandbox is released after being unused for so long: an attached client keeps a
 * sandbox from ending when idle.
 */
#define KEEP_US 30000000

struct boxes {
	struct box *held;
	struct box_making *makings;
	sd_event_source *sweep;
};

struct box_making {
	struct agent *agent;
	struct agent_link *link;
	struct yett_operation *operation;
	sd_event_source *timer;
	json_t *asked;
	char *name;
	bool is_held, has_store;
	unsigned tries;
	box_made_fn made;
	void *data;
	struct box_making *next;
};

struct box_operation {
	struct box *box;
	struct yett_operation *operation;
	sd_event_source *timer;
	box_over_fn over;
	void *data;
	struct box_operation *next;
};

struct boxes *boxes_new(void)
{
	return calloc(1, sizeof(struct boxes));
}

void boxes_free(struct boxes *boxes)
{
	if (!boxes)
		return;
	while (boxes->makings)
		box_give_up(boxes->makings);
	while (boxes->held)
		box_forget(boxes->held);
	(void)sd_event_source_disable_unref(boxes->sweep);
	free(boxes);
}

/* --- sandbox handles -------------------------------------------------------------------------- */

static void look_at_operations(struct box *box)
{
	struct box_operation *at, *next;

	for (at = box->operations; at; at = next) {
		next = at->next;
		if (!yett_operation_is_over(at->operation))
			continue;
		(void)sd_event_source_set_enabled(at->timer, SD_EVENT_OFF);
		at->over(at->operation, at->data);
		box_operation_free(at);
		next = box->operations; /* `over` may have added or freed operations */
	}
}

static int on_sandbox(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct box *box = box_ref(data); /* the callbacks may drop the last other reference */

	(void)fd;
	(void)events;
	if (yett_sandbox_dispatch(box->sandbox, NULL) != 0) {
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
		box->is_broken = true;
	}
	look_at_operations(box);
	if (box->is_broken)
		box_forget(box);
	(void)box_unref(box);
	return 0;
}

static void free_box(struct box *box)
{
	while (box->operations)
		box_operation_free(box->operations);
	(void)sd_event_source_disable_unref(box->source);
	if (box->leaves_store)
		stores_expect(box->agent, box->id);
	yett_sandbox_close(box->sandbox);
	(void)agent_link_unref(box->link);
	free(box->asked_as);
	free(box);
}

/* Takes ownership of `sandbox`. */
static struct box *new_box(struct agent *agent, struct agent_link *link,
                           struct yett_sandbox *sandbox, const char *asked_as)
{
	struct box *box = calloc(1, sizeof *box);

	if (!box || (asked_as && !(box->asked_as = strdup(asked_as)))) {
		yett_sandbox_close(sandbox);
		free(box);
		return NULL;
	}
	box->agent = agent;
	box->link = link ? agent_link_ref(link) : NULL;
	box->sandbox = sandbox;
	box->references = 1;
	box->used_us = clock_now_us();
	box->id = yett_sandbox_get_info(sandbox)->id;
	if (sd_event_add_io(agent->loop, &box->source, yett_sandbox_fd(sandbox), EPOLLIN,
	                    on_sandbox, box) < 0)
		return box_unref(box);
	return box;
}

struct box *box_ref(struct box *box)
{
	box->references++;
	return box;
}

struct box *box_unref(struct box *box)
{
	if (box && --box->references == 0)
		free_box(box);
	return NULL;
}

static int sweep(sd_event_source *source, uint64_t at_us, void *data)
{
	struct agent *agent = data;
	struct box *next;
	bool is_any = false;

	(void)at_us;
	for (struct box *box = agent->boxes->held; box; box = next) {
		next = box->next;
		if (box->link)
			continue;
		if (box->references == 1 && clock_now_us() - box->used_us >= KEEP_US)
			box_forget(box);
		else
			is_any = true;
	}
	if (is_any && sd_event_source_set_time_relative(source, KEEP_US) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* Adds the sandbox to the list for later calls, which holds its own reference. */
static int hold(struct agent *agent, struct box *box)
{
	struct boxes *boxes = agent->boxes;
	int r = 0;

	if (!box->link && !boxes->sweep)
		r = sd_event_add_time_relative(agent->loop, &boxes->sweep, CLOCK_MONOTONIC, KEEP_US,
		                               KEEP_US, sweep, agent);
	else if (!box->link)
		r = sd_event_source_set_enabled(boxes->sweep, SD_EVENT_ONESHOT);
	if (r < 0)
		return r;
	box->next = boxes->held;
	boxes->held = box_ref(box);
	return 0;
}

void box_forget(struct box *box)
{
	for (struct box **at = &box->agent->boxes->held; *at; at = &(*at)->next)
		if (*at == box) {
			*at = box->next;
			(void)box_unref(box);
			return;
		}
}

int box_find(struct agent *agent, const char *id_or_name, struct box **ret_box,
             struct yett_error *error)
{
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_error reason;
	struct box *box, *next;
	char id[YETT_ID_SIZE];
	unsigned tries = 0;
	int r;

	for (box = agent->boxes->held; box; box = next) {
		next = box->next;
		if (strcmp(box->id, id_or_name) != 0 &&
		    !(box->asked_as && strcmp(box->asked_as, id_or_name) == 0))
			continue;
		if (box->is_broken || yett_sandbox_ended(box->sandbox) != YETT_ENDED_NOT) {
			box_forget(box);
			continue;
		}
		box->used_us = clock_now_us();
		*ret_box = box_ref(box);
		return 0;
	}
	r = own_find(agent, id_or_name, id, error);
	if (r != 0)
		return r;
	do {
		r = agent_connect(agent, &connection, &reason);
		if (r == 0)
			r = yett_sandbox_attach(connection, id, &sandbox, &reason);
	} while (agent_is_to_repeat(agent, r, &reason, &tries));
	if (r != 0) {
		*error = reason;
		return r;
	}
	box = new_box(agent, NULL, sandbox, id_or_name);
	if (!box || hold(agent, box) < 0) {
		(void)box_unref(box);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	}
	happenings_follow_box(agent, yett_sandbox_get_info(sandbox), false);
	*ret_box = box;
	return 0;
}

/* --- making sandboxes ------------------------------------------------------------------------- */

static void unlink_making(struct box_making *making)
{
	for (struct box_making **at = &making->agent->boxes->makings; *at; at = &(*at)->next)
		if (*at == making) {
			*at = making->next;
			return;
		}
}

void box_give_up(struct box_making *making)
{
	unlink_making(making);
	yett_operation_free(making->operation);
	(void)sd_event_source_disable_unref(making->timer);
	(void)agent_link_unref(making->link);
	json_decref(making->asked);
	free(making->name);
	free(making);
}

static int on_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct box_making *making = data;
	int left;

	(void)at_us;
	(void)yett_connection_dispatch(making->link->connection, NULL);
	left = yett_operation_time_left(making->operation);
	if (left >= 0 && sd_event_source_set_time_relative(source, (uint64_t)left * 1000) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	boxes_look(making->agent->boxes);
	return 0;
}

static int begin(struct box_making *making, struct yett_error *error)
{
	struct wish wish;
	struct yett_connection *connection;
	int r = agent_connect(making->agent, &connection, error), left;

	if (r == 0)
		r = wish_read(&wish, making->agent, making->asked, making->name, error);
	if (r != 0)
		return r;
	making->has_store = false;
	for (size_t i = 0; i < wish.options.shares_count; i++)
		making->has_store = making->has_store || wish.shares[i].flags & YETT_SHARE_COW;
	r = yett_sandbox_create_begin(connection, &wish.options, &making->operation, error);
	wish_free(&wish);
	if (r != 0)
		return r;
	making->link = agent_link_ref(making->agent->link);
	left = yett_operation_time_left(making->operation);
	if (sd_event_add_time_relative(making->agent->loop, &making->timer, CLOCK_MONOTONIC,
	                               (uint64_t)(left < 0 ? 0 : left) * 1000, 0, on_time,
	                               making) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	return 0;
}

int box_make(struct agent *agent, const json_t *asked, const char *name, bool is_held,
             box_made_fn made, void *data, struct box_making **ret_making, struct yett_error *error)
{
	struct box_making *making = calloc(1, sizeof *making);
	struct yett_error reason;
	int r;

	if (!making || (name && !(making->name = strdup(name)))) {
		free(making);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	}
	making->agent = agent;
	making->asked = json_incref((json_t *)asked);
	making->is_held = is_held || name;
	making->made = made;
	making->data = data;
	making->next = agent->boxes->makings;
	agent->boxes->makings = making;
	do
		r = begin(making, &reason);
	while (agent_is_to_repeat(agent, r, &reason, &making->tries));
	if (r != 0) {
		*error = reason;
		box_give_up(making);
		return r;
	}
	*ret_making = making;
	return 0;
}

/*
 * Sends the request again on a new connection, after the helper refused the old one. Returns false
 * if that is impossible, for the reason in `error`.
 */
static bool repeat(struct box_making *making, struct yett_error *error)
{
	making->timer = sd_event_source_disable_unref(making->timer);
	yett_operation_free(steal_ptr(&making->operation));
	/* Another request may have dropped the connection already. */
	if (making->agent->link == making->link)
		(void)agent_is_to_repeat(making->agent, YETT_E_HELPER_UNAVAILABLE, error,
		                         &making->tries);
	making->tries = 1;
	making->link = agent_link_unref(making->link);
	return begin(making, error) == 0;
}

static void finish(struct box_making *making)
{
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error;
	struct box *box = NULL;
	int r = yett_operation_finish(making->operation, 0, &error);

	if (r == YETT_E_HELPER_UNAVAILABLE && !error.os_error && making->tries == 0 &&
	    repeat(making, &error))
		return;
	if (r == 0) {
		sandbox = yett_operation_take_sandbox(making->operation);
		r = bounds_check_made(&making->agent->bounds, yett_sandbox_get_info(sandbox),
		                      &error);
		if (r != 0) {
			(void)yett_sandbox_end(sandbox, NULL);
			yett_sandbox_close(sandbox);
		}
	}
	if (r == 0) {
		box = new_box(making->agent, making->link, sandbox, making->name);
		if (!box || (making->is_held && hold(making->agent, box) < 0)) {
			box = box_unref(box);
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for a sandbox");
		}
	}
	if (box) {
		box->leaves_store = making->has_store && !making->name;
		happenings_follow_box(making->agent, yett_sandbox_get_info(box->sandbox),
		                      making->is_held);
	}
	unlink_making(making);
	making->made(box, box ? NULL : &error, making->data);
	box_give_up(making);
}

void boxes_look(struct boxes *boxes)
{
	struct box_making *making;
	bool is_any;

	do {
		is_any = false;
		for (making = boxes->makings; making; making = making->next)
			if (yett_operation_is_over(making->operation)) {
				finish(making);
				is_any = true;
				break;
			}
	} while (is_any);
}

/* --- operations ------------------------------------------------------------------------------- */

static int on_operation_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct box_operation *operation = data;
	struct box *box = box_ref(operation->box);
	int left;

	(void)at_us;
	if (yett_sandbox_dispatch(box->sandbox, NULL) != 0)
		box->is_broken = true;
	left = yett_operation_time_left(operation->operation);
	if (left >= 0 && sd_event_source_set_time_relative(source, (uint64_t)left * 1000) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	look_at_operations(box);
	(void)box_unref(box);
	return 0;
}

int box_check_operations(const struct box *box, struct yett_error *error)
{
	size_t count = 0;

	for (const struct box_operation *at = box->operations; at; at = at->next)
		count++;
	return count < BOX_OPERATIONS_MAX ? 0
	                                  : error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                                              "%d operations go on in the sandbox already",
	                                              BOX_OPERATIONS_MAX);
}

struct box_operation *box_operate(struct box *box, struct yett_operation *operation,
                                  box_over_fn over, void *data)
{
	struct box_operation *new = calloc(1, sizeof *new);
	int left = yett_operation_time_left(operation);

	if (!new || sd_event_add_time_relative(box->agent->loop, &new->timer, CLOCK_MONOTONIC,
	                                       (uint64_t)(left < 0 ? 0 : left) * 1000, 0,
	                                       on_operation_time, new) < 0) {
		yett_operation_free(operation);
		free(new);
		return NULL;
	}
	new->box = box;
	new->operation = operation;
	new->over = over;
	new->data = data;
	new->next = box->operations;
	box->operations = new;
	return new;
}

void box_operation_free(struct box_operation *operation)
{
	for (struct box_operation **at = &operation->box->operations; *at; at = &(*at)->next)
		if (*at == operation) {
			*at = operation->next;
			break;
		}
	(void)sd_event_source_disable_unref(operation->timer);
	yett_operation_free(operation->operation);
	free(operation);
}
