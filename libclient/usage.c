/* SPDX-License-Identifier: Apache-2.0 */
/* See "usage" in yett.h: reads what sandboxes use. Runs as the caller. */
#include "libclient/sandbox.h"

#include <string.h>

static void *take_usage(const struct yett_connection *connection, const struct message *message)
{
	const struct message_usage *from = &message->body.usage;
	struct yett_usage *to = memory_new(sizeof *to);

	(void)connection;
	if (!to)
		return NULL;
	*to = (struct yett_usage){.size = sizeof *to,
	                          .state = (enum yett_state)from->state,
	                          .taken_us = from->taken_us,
	                          .uptime_ms = from->uptime_ms,
	                          .memory_limit_bytes = from->memory_limit_bytes,
	                          .pids_limit = from->pids_limit,
	                          .known = from->known,
#define X(name, field) .field = from->field,
	                          USAGE_COUNTS(X)
#undef X
	};
	channel_copy_text(message, from->id, to->id, sizeof to->id);
	channel_copy_text(message, from->name, to->name, sizeof to->name);
	return to;
}

#define X(name, field)                                          \
	_Static_assert(YETT_USAGE_##name == 1U << USAGE_##name, \
	               "the bits of yett.h are those of the wire");
USAGE_COUNTS(X)
#undef X

static const struct manage_items usages = {MESSAGE_USAGE, take_usage};

/* Opaque in yett.h. */
struct yett_usage_list {
	struct list list;
};

int yett_sandbox_usage(struct yett_connection *connection, const char *id_or_name,
                       struct yett_usage **ret_usage, struct yett_error *error)
{
	void *usage;
	int r = manage_item(connection, MANAGE_USAGE, id_or_name, &usages, &usage, error);

	if (r == 0)
		*ret_usage = usage;
	return r;
}

int yett_sandboxes_usage(struct yett_connection *connection, unsigned flags,
                         struct yett_usage_list **ret_list, struct yett_error *error)
{
	return manage_list_all(connection, MANAGE_USAGE, flags, &usages, (struct list **)ret_list,
	                       error);
}

size_t yett_usage_list_count(const struct yett_usage_list *list)
{
	return list->list.count;
}

const struct yett_usage *yett_usage_list_get(const struct yett_usage_list *list, size_t i)
{
	return i < list->list.count ? list->list.items[i] : NULL;
}

double yett_usage_cpu_percent(const struct yett_usage *before, const struct yett_usage *now)
{
	if (!(before->known & now->known & YETT_USAGE_CPU) || strcmp(before->id, now->id) != 0 ||
	    now->taken_us <= before->taken_us || now->cpu_us < before->cpu_us)
		return -1;
	return 100.0 * (double)(now->cpu_us - before->cpu_us) /
	       (double)(now->taken_us - before->taken_us);
}

int yett_helper_totals(struct yett_connection *connection, struct yett_totals **ret_totals,
                       struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_totals *to = memory_new(sizeof *to);
	struct message_totals totals;
	int r = to ? manage_totals(connection, &totals, error)
	           : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                       "no memory for the totals");

	if (r)
		return r;
	*to = (struct yett_totals){.size = sizeof *to,
	                           .sandboxes = totals.sandboxes,
	                           .executions = totals.executions,
	                           .successes = totals.successes,
	                           .failures = totals.failures,
	                           .timeouts = totals.timeouts,
	                           .duration_us = totals.duration_us};
	*ret_totals = steal_ptr(&to);
	return 0;
}
