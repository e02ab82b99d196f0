/* See "usage" in yett.h: what sandboxes use. */
#include "libclient/sandbox.h"

#include <string.h>

static void take_usage(const struct message *message, void *ret_item)
{
	const struct message_usage *from = &message->body.usage;
	struct yett_usage *to = ret_item;

	*to = (struct yett_usage){
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
}

#define X(name, field) _Static_assert(YETT_USAGE_##name == 1U << USAGE_##name, "the bits of yett.h are those of the wire");
USAGE_COUNTS(X)
#undef X

static const struct manage_items usages = {MESSAGE_USAGE, sizeof(struct yett_usage), take_usage};

int yett_sandbox_usage(struct yett_connection *connection, const char *id_or_name, struct yett_usage *ret_usage,
		       struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_USAGE};
	_cleanup_free_ void *list = NULL;
	size_t count;
	int r = manage_listing(connection, &asked, id_or_name ? id_or_name : "", &usages, &list, &count, error);

	if (r == 0)
		memcpy(ret_usage, list, sizeof *ret_usage);
	return r;
}

int yett_sandboxes_usage(struct yett_connection *connection, bool all, struct yett_usage **ret_list, size_t *ret_count,
			 struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_USAGE, .all = all};
	void *list;
	int r = manage_listing(connection, &asked, NULL, &usages, &list, ret_count, error);

	if (r == 0)
		*ret_list = list;
	return r;
}

double yett_usage_cpu_percent(const struct yett_usage *before, const struct yett_usage *now)
{
	if (!(before->known & now->known & YETT_USAGE_CPU) || strcmp(before->id, now->id) != 0 || now->taken_us <= before->taken_us ||
	    now->cpu_us < before->cpu_us)
		return -1;
	return 100.0 * (double)(now->cpu_us - before->cpu_us) / (double)(now->taken_us - before->taken_us);
}

int yett_helper_totals(struct yett_connection *connection, struct yett_totals *ret_totals, struct yett_error *error)
{
	struct message_totals totals;
	int r = manage_totals(connection, &totals, error);

	if (r == 0)
		*ret_totals = (struct yett_totals){.sandboxes = totals.sandboxes,
						   .executions = totals.executions,
						   .successes = totals.successes,
						   .failures = totals.failures,
						   .timeouts = totals.timeouts,
						   .duration_us = totals.duration_us};
	return r;
}
