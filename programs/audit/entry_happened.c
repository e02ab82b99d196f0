/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See entry.h. Records what happened in a sandbox. The values come from yett-init or the connector,
 * which may be compromised, so nothing in them is trusted.
 */
#include "base/net_match.h"
#include "programs/audit/entry.h"
#include "programs/net/report_text.h"
#include "protocol/message_command.h"

#include <string.h>

/* Indexed by enum event_kind; the names that yett events prints. */
static const char *const names[] = {
	[EVENT_STARTED] = "started",
	[EVENT_EXITED] = "exited",
	[EVENT_FAILED] = "failed",
	[EVENT_TIMEOUT] = "timeout",
	[EVENT_DENIED] = "denied",
	[EVENT_CONNECTED] = "connected",
	[EVENT_BLOCKED] = "blocked",
	[EVENT_FULL] = "full",
	[EVENT_NETWORK_LOST] = "network-lost",
	[EVENT_ASKED] = "asked",
	[EVENT_DISCONNECTED] = "disconnected",
	[EVENT_UNREACHABLE] = "unreachable",
};

static const char *const verdicts[] = {
	[NET_VERDICT_ALLOWED] = "allowed", [NET_VERDICT_DENIED_BY_RULE] = "denied-by-rule",
	[NET_VERDICT_NO_RULE] = "no-rule", [NET_VERDICT_NOT_BOUND] = "not-bound",
	[NET_VERDICT_PRIVATE] = "private", [NET_VERDICT_LOCAL] = "local",
	[NET_VERDICT_NEVER] = "never",     [NET_VERDICT_ASKED] = "not-answered",
};

const char *entry_happened_event(uint32_t kind)
{
	switch (follow_kind(kind)) {
	case POLICY_RECORD_COMMANDS:
		return "command";
	case POLICY_RECORD_CONNECTIONS:
		return "connection";
	case POLICY_RECORD_DENIALS:
		return "denied";
	default:
		return NULL;
	}
}

static void put_argv(struct json *json, const struct argv *argv)
{
	char text[sizeof argv->text + 1];

	json_open(json, "argv", '[');
	for (size_t at = 0, length; at < argv->size; at += length + 1) {
		length = strnlen(argv->text + at, argv->size - at);
		memcpy(text, argv->text + at, length);
		text[length] = '\0';
		json_text(json, NULL, text);
	}
	json_close(json);
}

/* Reads the byte, since a compromised init may have stored one that is not a valid bool. */
static bool is_set(const bool *field)
{
	uint8_t byte;

	memcpy(&byte, field, 1);
	return byte != 0;
}

static void entry_happened_put_result(struct json *json, const struct message_exited *result)
{
	json_open(json, "result", '{');
	json_bool(json, "signaled", is_set(&result->signaled));
	json_number(json, "status", result->status);
	json_bool(json, "timed_out", is_set(&result->timed_out));
	json_bool(json, "out_of_memory", is_set(&result->out_of_memory));
	json_number(json, "wall_us", result->wall_us);
	json_number(json, "user_us", result->user_us);
	json_number(json, "system_us", result->system_us);
	json_close(json);
}

static void entry_happened_put_command(struct json *json, const struct live_event *live_event)
{
	const struct message_happened *event = &live_event->event;

	json_number(json, "command", event->command & ~MESSAGE_FILE_OPERATION);
	json_bool(json, "is_file_operation", event->command & MESSAGE_FILE_OPERATION);
	json_number(json, "pid", event->pid);
	if ((event->kind == EVENT_STARTED || event->kind == EVENT_FAILED) && live_event->has_argv)
		put_argv(json, &live_event->more.argv);
	if (event->kind == EVENT_EXITED)
		entry_happened_put_result(json, &event->result);
	if (event->kind == EVENT_FAILED)
		json_number(json, "errno", event->error);
}

static void entry_happened_put_peer(struct json *json, const struct message_happened *event,
                                    const struct egress_report *network)
{
	struct report_text text;

	report_text_read(network, &text);
	json_open(json, "peer", '{');
	json_text_or_null(json, "name", text.name);
	json_text_or_null(json, "address", text.address);
	json_number_or_null(json, "port", network->port);
	if (event->kind == EVENT_BLOCKED)
		json_text(json, "why",
		          network->verdict < ARRAY_SIZE(verdicts) ? verdicts[network->verdict]
		                                                  : NULL);
	if (event->kind == EVENT_DISCONNECTED) {
		json_number(json, "sent_bytes", network->sent_bytes);
		json_number(json, "received_bytes", network->received_bytes);
	}
	json_text_or_null(json, "rule", text.rule);
	json_close(json);
	json_number(json, "count", event->count);
	if (event->kind == EVENT_UNREACHABLE)
		json_number(json, "errno", event->error);
}

void entry_put_followed(struct json *json, const struct follow *follow)
{
	json_open(json, "user", '{');
	json_number(json, "uid", follow->uid);
	json_close(json);
	json_text(json, "sandbox", follow->id);
	json_text_or_null(json, "name", follow->name);
	json_number(json, "number", follow->number);
	json_number_or_null(json, "lost", follow->lost);
}

void entry_put_happened(struct json *json, const struct follow *follow,
                        const struct live_event *live_event)
{
	const struct message_happened *event = &live_event->event;

	entry_put_followed(json, follow);
	json_text(json, "happened", event->kind < ARRAY_SIZE(names) ? names[event->kind] : NULL);
	json_number(json, "happened_ms", event->time_ms);
	if (follow_kind(event->kind) == POLICY_RECORD_COMMANDS)
		entry_happened_put_command(json, live_event);
	if (live_event->has_network)
		entry_happened_put_peer(json, event, &live_event->more.network);
	if (event->kind == EVENT_DENIED) {
		json_number(json, "call", event->call);
		json_number_or_null(json, "pid", event->pid);
		json_number(json, "count", event->count);
	}
}
