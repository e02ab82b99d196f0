/* SPDX-License-Identifier: Apache-2.0 */
/* See asked.h. */
#include "programs/decide/decider/asked.h"
#include "base/units_format.h"
#include "helper/plan/plan.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/rules.h"

#include <string.h>

#define CUT " …"

struct describing {
	const struct message *request;
	char *out;
	size_t used;
	bool is_cut;
};

/*
 * Appends the value whole or not at all. Appends CUT for the first that does not fit, then no more.
 */
static void asked_add(struct describing *d, const char *name, const char *value)
{
	size_t room = ASKED_SIZE - sizeof CUT - d->used, wanted = strlen(name) + strlen(value) + 2;

	if (d->is_cut || wanted > room) {
		if (!d->is_cut)
			d->used += units_append(d->out + d->used, ASKED_SIZE - d->used, CUT);
		d->is_cut = true;
		return;
	}
	d->used += units_append(d->out + d->used, ASKED_SIZE - d->used, "%s%s%s%s",
	                        d->used ? " " : "", name, *value ? "=" : "", value);
}

static void add_number(struct describing *d, const char *name, uint64_t value,
                       char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]))
{
	char text[UNITS_TEXT_SIZE];

	if (value)
		asked_add(d, name, format(value, text));
}

static void asked_add_text(struct describing *d, const char *name, struct text text)
{
	const char *value = message_text(d->request, text);

	if (value && *value)
		asked_add(d, name, value);
}

static void add_flag(struct describing *d, const char *name, bool is_set)
{
	if (is_set)
		asked_add(d, name, "");
}

static void asked_add_limits(struct describing *d, const struct message_limits *limits)
{
	add_number(d, "memory", limits->memory_bytes, units_format_size);
	add_number(d, "cpus", limits->cpu_millis, units_format_cpus);
	add_number(d, "pids", limits->pids, units_format_number);
	add_number(d, "files", limits->files, units_format_number);
	add_number(d, "file_size", limits->file_bytes, units_format_size);
	if (limits->core_bytes == PLAN_CORE_NONE)
		asked_add(d, "core", "none");
	else
		add_number(d, "core", limits->core_bytes, units_format_size);
}

static void asked_add_life(struct describing *d, const struct message_life *life)
{
	add_flag(d, "linger", life->linger);
	add_number(d, "timeout", life->wall_ms, units_format_duration);
	add_number(d, "cpu_time", life->cpu_ms, units_format_duration);
	add_number(d, "idle", life->idle_ms, units_format_duration);
	add_number(d, "cleanup", life->cleanup_ms, units_format_duration);
}

static void asked_add_mounts(struct describing *d, const struct message_create *create)
{
	static const char *const modes[] = {[SHARE_RO] = "ro",
	                                    [SHARE_RW] = "rw",
	                                    [SHARE_SOCKET] = "socket",
	                                    [SHARE_COW] = "cow",
	                                    [SHARE_STORE] = "store"};

	for (size_t i = 0; i < create->shares_count; i++)
		if (create->shares[i].mode < ARRAY_SIZE(modes) &&
		    create->shares[i].mode != SHARE_STORE)
			asked_add_text(d, modes[create->shares[i].mode], create->shares[i].target);
	for (size_t i = 0; i < create->tmpfs_count; i++)
		asked_add_text(d, "tmpfs", create->tmpfs[i].target);
}

static void add_network(struct describing *d, const struct message_create *create)
{
	char text[NET_RULE_TEXT_SIZE];
	struct net_rule rule;

	if (create->network != NETWORK_OF_PROFILE)
		asked_add(d, "network", plan_name_network(create->network - NETWORK_NONE));
	for (size_t i = 0; i < create->rules_count; i++)
		if (rules_take(d->request, &create->rules[i], &rule))
			asked_add(d, create->rules[i].deny ? "deny" : "allow",
			          net_rule_print(&rule, text));
	add_flag(d, "ask", create->ask);
	add_flag(d, "allow_private", create->allow_private);
}

char *asked_describe(const struct message *request, char out[ASKED_SIZE])
{
	const struct message_create *create = &request->body.create;
	struct describing d = {request, out, 0, false};

	out[0] = '\0';
	asked_add_text(&d, "name", create->name);
	asked_add_text(&d, "hostname", create->hostname);
	asked_add_limits(&d, &create->limits);
	asked_add_life(&d, &create->life);
	add_network(&d, create);
	asked_add_mounts(&d, create);
	add_flag(&d, "agent", create->agent);
	for (size_t i = 0; i < create->labels_count; i++)
		asked_add_text(&d, "label", create->labels[i]);
	return out;
}
