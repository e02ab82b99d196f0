/* SPDX-License-Identifier: Apache-2.0 */
/* See operation.h. */
#include "libclient/operation.h"

void *operation_new(const struct operation_kind *kind, size_t size)
{
	struct yett_operation *operation = calloc(1, size);

	if (operation)
		*operation = (struct yett_operation){.kind = kind, .fd = -1, .deadline = -1};
	return operation;
}

void operation_add(struct yett_operation *operation, struct operation_list *list)
{
	operation->list = list;
	operation->next = list->first;
	list->first = operation;
}

static void operation_leave(struct yett_operation *operation)
{
	struct yett_operation **at = operation->list ? &operation->list->first : NULL;

	while (at && *at != operation)
		at = &(*at)->next;
	if (at)
		*at = operation->next;
	operation->list = NULL;
	operation->next = NULL;
}

/*
 * Ends the operation. Afterwards it holds no process, and no descriptor except a result that the
 * caller can take.
 */
static void be_over(struct yett_operation *operation, int r)
{
	operation->is_over = true;
	operation->r = r;
	operation_leave(operation);
	operation->kind->end(operation);
}

static void operation_step(struct yett_operation *operation)
{
	int r;

	if (operation->is_over || operation->is_stepping)
		return;
	operation->is_stepping = true;
	r = operation->kind->step(operation, &operation->error);
	operation->is_stepping = false;
	if (r != -EAGAIN)
		be_over(operation, r);
}

/*
 * Returns an operation that was not stepped in this turn. Callbacks can begin and free operations,
 * so each call searches the list from its start.
 */
static struct yett_operation *operation_next_of(const struct operation_list *list, uint64_t turn)
{
	for (struct yett_operation *o = list->first; o; o = o->next)
		if (o->turn < turn && !o->is_stepping)
			return o;
	return NULL;
}

void operation_step_all(struct operation_list *list)
{
	uint64_t turn = ++list->turn;
	struct yett_operation *operation;

	while ((operation = operation_next_of(list, turn))) {
		operation->turn = turn;
		operation_step(operation);
	}
}

void operation_fail_all(struct operation_list *list, const struct yett_error *why)
{
	while (list->first) {
		list->first->error = *why;
		be_over(list->first, (int)why->code);
	}
}

bool yett_operation_is_over(struct yett_operation *operation)
{
	operation_step(operation);
	return operation->is_over;
}

int yett_operation_time_left(const struct yett_operation *operation)
{
	return operation->is_over ? -1 : channel_time_left(operation->deadline);
}

static deadline_ms earlier(deadline_ms a, deadline_ms b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

int yett_operation_finish(struct yett_operation *operation, int timeout_ms,
                          struct yett_error *error)
{
	deadline_ms deadline = channel_deadline(timeout_ms);

	for (;;) {
		operation_step(operation);
		if (operation->is_over)
			break;
		if (channel_time_left(deadline) == 0)
			return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
			                 "the operation is not over yet");
		/* Keeps a dispatch inside wait() from stepping this operation. */
		operation->is_stepping = true;
		operation->kind->wait(operation, earlier(deadline, operation->deadline));
		operation->is_stepping = false;
	}
	if (operation->r && error)
		*error = operation->error;
	return operation->r;
}

int yett_operation_take_fd(struct yett_operation *operation)
{
	return steal_fd(&operation->fd);
}

struct yett_sandbox *yett_operation_take_sandbox(struct yett_operation *operation)
{
	return steal_ptr(&operation->made);
}

struct yett_mount_list *yett_operation_take_mounts(struct yett_operation *operation)
{
	return operation->is_over && operation->r == 0 ? steal_ptr(&operation->mounts) : NULL;
}

const struct yett_file_info *yett_operation_file_info(const struct yett_operation *operation)
{
	return operation->info;
}

const struct yett_copy_result *yett_operation_copy_result(const struct yett_operation *operation)
{
	return operation->copied;
}

void yett_operation_free(struct yett_operation *operation)
{
	if (!operation)
		return;
	if (!operation->is_over)
		be_over(operation, 0);
	fd_close(operation->fd);
	yett_sandbox_close(operation->made);
	yett_free(operation->info);
	yett_free(operation->copied);
	yett_free(operation->mounts);
	free(operation);
}

int operation_run(int r, struct yett_operation *const *operation, struct yett_error *error)
{
	return r ? r : yett_operation_finish(*operation, -1, error);
}
