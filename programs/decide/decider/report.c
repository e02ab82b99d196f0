/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. */
#include "programs/decide/decider/report.h"
#include "base/clock_us.h"

#include <string.h>

struct message_limits report_limits(const struct plan_limits *limits)
{
	return (struct message_limits){limits->memory_bytes, limits->cpu_millis,
	                               limits->pids,         limits->files,
	                               limits->file_bytes,   limits->core_bytes};
}

void report_without_plan(struct record *record)
{
	record->limits = (struct plan_limits){0};
	record->life = (struct plan_life){0};
	record->layers = (struct init_layers){0};
	record->name[0] = record->principal[0] = record->hostname[0] = '\0';
	record->labels_size = 0;
}

int report_usage(const struct decider_record *from, struct message *message)
{
	struct message_usage *body = &message_begin(message, MESSAGE_USAGE)->usage;
	const struct record *record = &from->record;
	const struct record_network *network = &record->network;
	uint64_t now_ms = clock_wall_ms();
	int r;

	*body = (struct message_usage){
		.state = record->state,
		.taken_us = clock_now_us(),
		.uptime_ms = now_ms > record->started_ms ? now_ms - record->started_ms : 0,
		.memory_limit_bytes = record->limits.memory_bytes,
		.pids_limit = record->limits.pids,
		.known = from->usage.known,
#define X(name, field) .field = from->usage.counts[USAGE_##name],
		USAGE_COUNTS(X)
#undef X
	};
	if (plan_network_has_rules(network->mode)) {
		body->known |= 1U << USAGE_CONNECTIONS | 1U << USAGE_CONNECTED |
		               1U << USAGE_BLOCKED | 1U << USAGE_SENT_BYTES |
		               1U << USAGE_RECEIVED_BYTES;
		body->connections = network->open;
		body->connected = network->made;
		body->blocked = network->blocked;
		body->sent_bytes = network->sent_bytes;
		body->received_bytes = network->received_bytes;
	}
	r = message_add_text(message, record->id, &body->id);
	return r == 0 ? message_add_text(message, record->name, &body->name) : r;
}

int report_sandbox(const struct record *record, struct message *message)
{
	struct message_sandbox *body = &message_begin(message, MESSAGE_SANDBOX)->sandbox;
	const struct plan_life *life = &record->life;
	const struct {
		const char *from;
		struct text *to;
	} texts[] = {{record->id, &body->id},
	             {record->name, &body->name},
	             {record->profile, &body->profile},
	             {record->principal, &body->principal},
	             {record->hostname, &body->hostname},
	             {record->layers.label, &body->label}};
	int r = 0;

	*body = (struct message_sandbox){
		.state = record->state,
		.ended = record->ended,
		.uid = record->uid,
		.private_uid = record->private_uid,
		.landlock_abi = record->layers.landlock_abi,
		.limits = report_limits(&record->limits),
		.network = record->network.mode,
		.life = {.linger = life->linger,
	                 .wall_ms = life->wall_ms,
	                 .cpu_ms = life->cpu_ms,
	                 .idle_ms = life->idle_ms,
	                 .idle_action = life->idle_pauses ? IDLE_PAUSE : IDLE_END,
	                 .cleanup_ms = life->cleanup_ms},
		.linger_ms = life->linger_ms,
		.command_ms = life->command_ms,
		.command_max_ms = life->command_max_ms,
		.created_ms = record->created_ms,
		.started_ms = record->started_ms,
		.ended_ms = record->ended_ms,
		.attached = record->attached,
		.recorded = record->recorded & RECORDED_BITS};
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = message_add_text(message, texts[i].from, texts[i].to);
	for (uint32_t at = 0;
	     r == 0 && at < record->labels_size && body->labels_count < MESSAGE_LABELS_MAX;
	     at += (uint32_t)strlen(record->labels + at) + 1)
		r = message_add_text(message, record->labels + at,
		                     &body->labels[body->labels_count++]);
	return r;
}
