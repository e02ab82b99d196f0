/* SPDX-License-Identifier: Apache-2.0 */
/* See handle.h. */
#include "agent/handle.h"

#include <string.h>

#include "agent/event_log.h"
#include "agent/own.h"
#include "agent/stores.h"
#include "agent/sandbox_request.h"
#include "base/clock_us.h"

/*
 * An attached sandbox is released after being unused for so long: an attached client keeps a
 * sandbox from ending when idle.
 */
#define KEEP_US 30000000

struct handles {
	struct handle *held;
	struct handle_making *makings;
	sd_event_source *sweep;
};

struct handle_making {
	struct agent *agent;
	struct agent_link *link;
	struct yett_operation *operation;
	sd_event_source *timer;
	json_t *asked;
	char *name;
	bool is_held, has_store;
	unsigned tries;
	handle_made_fn made;
	void *data;
	struct handle_making *next;
};

struct handle_operation {
	struct handle *handle;
	struct yett_operation *operation;
	sd_event_source *timer;
	handle_over_fn over;
	void *data;
	struct handle_operation *next;
};

struct handles *handles_new(void)
{
	return calloc(1, sizeof(struct handles));
}

void handles_free(struct handles *handles)
{
	if (!handles)
		return;
	while (handles->makings)
		handle_give_up(handles->makings);
	while (handles->held)
		handle_forget(handles->held);
	(void)sd_event_source_disable_unref(handles->sweep);
	free(handles);
}

/* --- sandbox handles -------------------------------------------------------------------------- */

static void look_at_operations(struct handle *handle)
{
	struct handle_operation *at, *next;

	for (at = handle->operations; at; at = next) {
		next = at->next;
		if (!yett_operation_is_over(at->operation))
			continue;
		(void)sd_event_source_set_enabled(at->timer, SD_EVENT_OFF);
		at->over(at->operation, at->data);
		handle_operation_free(at);
		next = handle->operations; /* `over` may have added or freed operations */
	}
}

static int on_sandbox(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct handle *handle =
		handle_ref(data); /* the callbacks may drop the last other reference */

	(void)fd;
	(void)events;
	if (yett_sandbox_dispatch(handle->sandbox, NULL) != 0) {
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
		handle->is_broken = true;
	}
	look_at_operations(handle);
	if (handle->is_broken)
		handle_forget(handle);
	(void)handle_unref(handle);
	return 0;
}

static void free_handle(struct handle *handle)
{
	while (handle->operations)
		handle_operation_free(handle->operations);
	(void)sd_event_source_disable_unref(handle->source);
	if (handle->leaves_store)
		stores_expect(handle->agent, handle->id);
	yett_sandbox_close(handle->sandbox);
	(void)agent_link_unref(handle->link);
	free(handle->asked_as);
	free(handle);
}

/* Takes ownership of `sandbox`. */
static struct handle *new_handle(struct agent *agent, struct agent_link *link,
                                 struct yett_sandbox *sandbox, const char *asked_as)
{
	struct handle *handle = calloc(1, sizeof *handle);

	if (!handle || (asked_as && !(handle->asked_as = strdup(asked_as)))) {
		yett_sandbox_close(sandbox);
		free(handle);
		return NULL;
	}
	handle->agent = agent;
	handle->link = link ? agent_link_ref(link) : NULL;
	handle->sandbox = sandbox;
	handle->references = 1;
	handle->used_us = clock_now_us();
	handle->id = yett_sandbox_get_info(sandbox)->id;
	if (sd_event_add_io(agent->loop, &handle->source, yett_sandbox_fd(sandbox), EPOLLIN,
	                    on_sandbox, handle) < 0)
		return handle_unref(handle);
	return handle;
}

struct handle *handle_ref(struct handle *handle)
{
	handle->references++;
	return handle;
}

struct handle *handle_unref(struct handle *handle)
{
	if (handle && --handle->references == 0)
		free_handle(handle);
	return NULL;
}

static int handle_sweep(sd_event_source *source, uint64_t at_us, void *data)
{
	struct agent *agent = data;
	struct handle *next;
	bool is_any = false;

	(void)at_us;
	for (struct handle *handle = agent->handles->held; handle; handle = next) {
		next = handle->next;
		if (handle->link)
			continue;
		if (handle->references == 1 && clock_now_us() - handle->used_us >= KEEP_US)
			handle_forget(handle);
		else
			is_any = true;
	}
	if (is_any && sd_event_source_set_time_relative(source, KEEP_US) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* Adds the sandbox to the list for later calls, which holds its own reference. */
static int handle_hold(struct agent *agent, struct handle *handle)
{
	struct handles *handles = agent->handles;
	int r = 0;

	if (!handle->link && !handles->sweep)
		r = sd_event_add_time_relative(agent->loop, &handles->sweep, CLOCK_MONOTONIC,
		                               KEEP_US, KEEP_US, handle_sweep, agent);
	else if (!handle->link)
		r = sd_event_source_set_enabled(handles->sweep, SD_EVENT_ONESHOT);
	if (r < 0)
		return r;
	handle->next = handles->held;
	handles->held = handle_ref(handle);
	return 0;
}

void handle_forget(struct handle *handle)
{
	for (struct handle **at = &handle->agent->handles->held; *at; at = &(*at)->next)
		if (*at == handle) {
			*at = handle->next;
			(void)handle_unref(handle);
			return;
		}
}

int handle_find(struct agent *agent, const char *id_or_name, struct handle **ret_handle,
                struct yett_error *error)
{
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_error reason;
	struct handle *handle, *next;
	char id[YETT_ID_SIZE];
	unsigned tries = 0;
	int r;

	for (handle = agent->handles->held; handle; handle = next) {
		next = handle->next;
		if (strcmp(handle->id, id_or_name) != 0 &&
		    !(handle->asked_as && strcmp(handle->asked_as, id_or_name) == 0))
			continue;
		if (handle->is_broken || yett_sandbox_ended(handle->sandbox) != YETT_ENDED_NOT) {
			handle_forget(handle);
			continue;
		}
		handle->used_us = clock_now_us();
		*ret_handle = handle_ref(handle);
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
	handle = new_handle(agent, NULL, sandbox, id_or_name);
	if (!handle || handle_hold(agent, handle) < 0) {
		(void)handle_unref(handle);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	}
	event_log_follow_handle(agent, yett_sandbox_get_info(sandbox), false);
	*ret_handle = handle;
	return 0;
}

/* --- making sandboxes ------------------------------------------------------------------------- */

static void unlink_making(struct handle_making *making)
{
	for (struct handle_making **at = &making->agent->handles->makings; *at; at = &(*at)->next)
		if (*at == making) {
			*at = making->next;
			return;
		}
}

void handle_give_up(struct handle_making *making)
{
	unlink_making(making);
	yett_operation_free(making->operation);
	(void)sd_event_source_disable_unref(making->timer);
	(void)agent_link_unref(making->link);
	json_decref(making->asked);
	free(making->name);
	free(making);
}

static int handle_on_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct handle_making *making = data;
	int left;

	(void)at_us;
	(void)yett_connection_dispatch(making->link->connection, NULL);
	left = yett_operation_time_left(making->operation);
	if (left >= 0 && sd_event_source_set_time_relative(source, (uint64_t)left * 1000) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	handles_look(making->agent->handles);
	return 0;
}

static int handle_begin(struct handle_making *making, struct yett_error *error)
{
	struct request request;
	struct yett_connection *connection;
	int r = agent_connect(making->agent, &connection, error), left;

	if (r == 0)
		r = sandbox_request_read(&request, making->agent, making->asked, making->name,
		                         error);
	if (r != 0)
		return r;
	making->has_store = false;
	for (size_t i = 0; i < request.options.shares_count; i++)
		making->has_store = making->has_store || request.shares[i].flags & YETT_SHARE_COW;
	r = yett_sandbox_create_begin(connection, &request.options, &making->operation, error);
	sandbox_request_free(&request);
	if (r != 0)
		return r;
	making->link = agent_link_ref(making->agent->link);
	left = yett_operation_time_left(making->operation);
	if (sd_event_add_time_relative(making->agent->loop, &making->timer, CLOCK_MONOTONIC,
	                               (uint64_t)(left < 0 ? 0 : left) * 1000, 0, handle_on_time,
	                               making) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	return 0;
}

int handle_make(struct agent *agent, const json_t *asked, const char *name, bool is_held,
                handle_made_fn made, void *data, struct handle_making **ret_making,
                struct yett_error *error)
{
	struct handle_making *making = calloc(1, sizeof *making);
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
	making->next = agent->handles->makings;
	agent->handles->makings = making;
	do
		r = handle_begin(making, &reason);
	while (agent_is_to_repeat(agent, r, &reason, &making->tries));
	if (r != 0) {
		*error = reason;
		handle_give_up(making);
		return r;
	}
	*ret_making = making;
	return 0;
}

/*
 * Sends the request again on a new connection, after the helper refused the old one. Returns false
 * if that is impossible, for the reason in `error`.
 */
static bool repeat(struct handle_making *making, struct yett_error *error)
{
	making->timer = sd_event_source_disable_unref(making->timer);
	yett_operation_free(steal_ptr(&making->operation));
	/* Another request may have dropped the connection already. */
	if (making->agent->link == making->link)
		(void)agent_is_to_repeat(making->agent, YETT_E_HELPER_UNAVAILABLE, error,
		                         &making->tries);
	making->tries = 1;
	making->link = agent_link_unref(making->link);
	return handle_begin(making, error) == 0;
}

static void handle_finish(struct handle_making *making)
{
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error;
	struct handle *handle = NULL;
	int r = yett_operation_finish(making->operation, 0, &error);

	if (r == YETT_E_HELPER_UNAVAILABLE && !error.os_error && making->tries == 0 &&
	    repeat(making, &error))
		return;
	if (r == 0) {
		sandbox = yett_operation_take_sandbox(making->operation);
		r = bounds_check_made(&making->agent->bounds, yett_sandbox_get_info(sandbox),
		                      &error);
		if (r != 0) {
			if (making->has_store)
				stores_expect(making->agent, yett_sandbox_get_info(sandbox)->id);
			(void)yett_sandbox_end(sandbox, NULL);
			yett_sandbox_close(sandbox);
		}
	}
	if (r == 0) {
		handle = new_handle(making->agent, making->link, sandbox, making->name);
		if (!handle || (making->is_held && handle_hold(making->agent, handle) < 0)) {
			handle = handle_unref(handle);
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for a sandbox");
		}
	}
	if (handle) {
		handle->leaves_store = making->has_store && !making->name;
		event_log_follow_handle(making->agent, yett_sandbox_get_info(handle->sandbox),
		                        making->is_held);
	}
	unlink_making(making);
	making->made(handle, handle ? NULL : &error, making->data);
	handle_give_up(making);
}

void handles_look(struct handles *handles)
{
	struct handle_making *making;
	bool is_any;

	do {
		is_any = false;
		for (making = handles->makings; making; making = making->next)
			if (yett_operation_is_over(making->operation)) {
				handle_finish(making);
				is_any = true;
				break;
			}
	} while (is_any);
}

/* --- operations ------------------------------------------------------------------------------- */

static int on_operation_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct handle_operation *operation = data;
	struct handle *handle = handle_ref(operation->handle);
	int left;

	(void)at_us;
	if (yett_sandbox_dispatch(handle->sandbox, NULL) != 0)
		handle->is_broken = true;
	left = yett_operation_time_left(operation->operation);
	if (left >= 0 && sd_event_source_set_time_relative(source, (uint64_t)left * 1000) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	look_at_operations(handle);
	(void)handle_unref(handle);
	return 0;
}

int handle_check_operations(const struct handle *handle, struct yett_error *error)
{
	size_t count = 0;

	for (const struct handle_operation *at = handle->operations; at; at = at->next)
		count++;
	return count < HANDLE_OPERATIONS_MAX
	               ? 0
	               : error_set(
				 error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
				 "the sandbox has %d running operations, and can have no more: wait for one to end",
				 HANDLE_OPERATIONS_MAX);
}

struct handle_operation *handle_operate(struct handle *handle, struct yett_operation *operation,
                                        handle_over_fn over, void *data)
{
	struct handle_operation *new = calloc(1, sizeof *new);
	int left = yett_operation_time_left(operation);

	if (!new || sd_event_add_time_relative(handle->agent->loop, &new->timer, CLOCK_MONOTONIC,
	                                       (uint64_t)(left < 0 ? 0 : left) * 1000, 0,
	                                       on_operation_time, new) < 0) {
		yett_operation_free(operation);
		free(new);
		return NULL;
	}
	new->handle = handle;
	new->operation = operation;
	new->over = over;
	new->data = data;
	new->next = handle->operations;
	handle->operations = new;
	return new;
}

void handle_operation_free(struct handle_operation *operation)
{
	for (struct handle_operation **at = &operation->handle->operations; *at; at = &(*at)->next)
		if (*at == operation) {
			*at = operation->next;
			break;
		}
	(void)sd_event_source_disable_unref(operation->timer);
	yett_operation_free(operation->operation);
	free(operation);
}
