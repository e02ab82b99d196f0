/* SPDX-License-Identifier: Apache-2.0 */
/* See entry.h. */
#include "programs/audit/entry.h"
#include "base/error_text.h"
#include "programs/audit/chain.h"
#include "programs/decide/decider/plan_name.h"

#include <string.h>

static const char *const events[] = {
	[AUDIT_CREATE] = "create",  [AUDIT_FAILED] = "failed",   [AUDIT_ENDED] = "ended",
	[AUDIT_ACT] = "act",        [AUDIT_REFUSED] = "refused", [AUDIT_POLICY] = "policy",
	[AUDIT_FOLLOW] = "followed"};

/* Indexed by enum ended_reason; the same names as yett_ended_name() returns. */
static const char *const ends[] = {"closed",    "init-died", "out-of-memory", "helper",
                                   "destroyed", "wall-time", "cpu-time",      "idle"};

/* Indexed by enum manage_action. NULL: not an action on a sandbox. */
static const char *const actions[] = {
	[MANAGE_ATTACH] = "attach",   [MANAGE_DETACH] = "detach", [MANAGE_PAUSE] = "pause",
	[MANAGE_RESUME] = "resume",   [MANAGE_KILL] = "kill",     [MANAGE_DESTROY] = "destroy",
	[MANAGE_NETWORK] = "network", [MANAGE_MOUNT] = "mount",
};

static const char *pick(const char *const *texts, size_t count, uint32_t i)
{
	return i < count ? texts[i] : NULL;
}

const char *entry_event(uint32_t kind)
{
	return pick(events, ARRAY_SIZE(events), kind);
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

void entry_sanitize(struct audit_record *record)
{
	struct yett_error *error = &record->error;
	struct record *sandbox = &record->sandbox;

	END(record->asker.program), END(record->asker.key), END(record->asker.principal),
		END(record->id);
	END(error->message), END(error->detail), END(error->rule), END(error->file),
		END(error->asked), END(error->allowed), END(error->mend);
	END(error->step);
	END(sandbox->id), END(sandbox->name), END(sandbox->profile), END(sandbox->principal),
		END(sandbox->hostname), END(sandbox->labels);
	if ((uint32_t)error->code > YETT_CODES_COUNT ||
	    (uint32_t)error->reason > YETT_REASONS_COUNT) {
		error->code = YETT_E_PROTOCOL;
		error->reason = YETT_R_NONE;
	}
}

uid_t entry_uid(const struct audit_record *record)
{
	return record->kind == AUDIT_POLICY  ? (uid_t)-1
	       : record->kind == AUDIT_ENDED ? record->sandbox.uid
	                                     : record->asker.uid;
}

void entry_put_text(struct json *json, const char *name, const char *text, size_t max)
{
	char cut[ENTRY_TEXT_MAX + 4];
	size_t length = strnlen(text, max + 1), at = 0, step;
	uint32_t point;

	if (max > ENTRY_TEXT_MAX)
		max = ENTRY_TEXT_MAX;
	if (length <= max) {
		json_text_or_null(json, name, text);
		return;
	}
	/* Cut between characters, not within one. */
	while (at < max && at + (step = json_utf8_next(text + at, max - at, &point) ?: 1) <= max &&
	       (max - at >= 4 || step > 1 || (unsigned char)text[at] < 0x80))
		at += step;
	memcpy(cut, text, at);
	(void)strcpy(cut + at, "…");
	json_text(json, name, cut);
}

void entry_put_section(struct json *json, const char *name, const char *section, const char *place)
{
	json_open(json, name, '{');
	entry_put_text(json, "name", section, ENTRY_TEXT_MAX);
	entry_put_text(json, "place", place, ENTRY_TEXT_MAX);
	json_close(json);
}

static void audit_entry_put_user(struct json *json, const struct audit_record *record)
{
	const struct plan_asker *asker = &record->asker;

	if (entry_uid(record) == (uid_t)-1) {
		json_null(json, "user");
		return;
	}
	json_open(json, "user", '{');
	json_number(json, "uid", entry_uid(record));
	if (record->kind == AUDIT_ENDED) {
		json_text_or_null(json, "principal", record->sandbox.principal);
	} else {
		json_number(json, "gid", asker->gid);
		json_signed(json, "pid", asker->pid);
		entry_put_text(json, "program", asker->program, ENTRY_TEXT_MAX);
		json_text_or_null(json, "key", asker->key);
		json_text_or_null(json, "principal", asker->principal);
	}
	json_close(json);
}

static void audit_entry_put_error(struct json *json, const struct yett_error *error)
{
	if (error->code == 0) {
		json_null(json, "error");
		return;
	}
	json_open(json, "error", '{');
	json_number(json, "code", error->code);
	json_text(json, "name", error_code_text(error->code));
	json_text(json, "reason", error->reason ? error_reason_short_name(error->reason) : NULL);
	json_text(json, "message", error->message);
	json_text_or_null(json, "detail", error->detail);
	json_text_or_null(json, "rule", error->rule);
	json_text_or_null(json, "file", error->file);
	json_number_or_null(json, "line", error->line);
	json_text_or_null(json, "asked", error->asked);
	json_text_or_null(json, "allowed", error->allowed);
	json_text_or_null(json, "step", error->step);
	json_number_or_null(json, "os_error",
	                    (uint64_t)(error->os_error > 0 ? error->os_error : 0));
	json_close(json);
}

static void put_usage(struct json *json, const struct cgroup_usage *usage)
{
	static const char *const names[] = {
#define X(name, field) [USAGE_##name] = #field,
		USAGE_COUNTS(X)
#undef X
	};

	json_open(json, "usage", '{');
	for (size_t i = 0; i < USAGE_COUNTS_MAX; i++) {
		if (usage->known & 1U << i)
			json_number(json, names[i], usage->counts[i]);
		else
			json_null(json, names[i]);
	}
	json_close(json);
}

static void put_network(struct json *json, const struct record_network *network)
{
	json_open(json, "network", '{');
	json_text(json, "mode", plan_name_network(network->mode));
	json_number(json, "changes", network->changes);
	json_number(json, "connected", network->made);
	json_number(json, "blocked", network->blocked);
	json_number(json, "sent_bytes", network->sent_bytes);
	json_number(json, "received_bytes", network->received_bytes);
	json_close(json);
}

static void audit_entry_put_ended(struct json *json, const struct audit_record *record)
{
	const struct record *sandbox = &record->sandbox;

	json_text(json, "ended", pick(ends, ARRAY_SIZE(ends), sandbox->ended) ?: "unknown");
	json_text_or_null(json, "name", sandbox->name);
	json_text_or_null(json, "profile_name", sandbox->profile);
	json_number(json, "private_uid", sandbox->private_uid);
	json_number(json, "created_ms", sandbox->created_ms);
	json_number(json, "started_ms", sandbox->started_ms);
	json_number(json, "ended_ms", sandbox->ended_ms);
	put_network(json, &sandbox->network);
	put_usage(json, &record->usage);
}

static void put_hash(struct json *json, const uint8_t hash[CHAIN_HASH_SIZE])
{
	char hex[CHAIN_HEX_SIZE];

	json_text(json, "image", chain_hex(hash, CHAIN_HASH_SIZE, hex));
}

void entry_put(struct json *json, const struct entry *entry, bool is_short)
{
	const struct audit_record *record = &entry->record;

	audit_entry_put_user(json, record);
	if (record->kind == AUDIT_POLICY) {
		put_hash(json, entry->policy);
		return;
	}
	json_text_or_null(json, "sandbox",
	                  record->kind == AUDIT_ENDED && !*record->id ? record->sandbox.id
	                                                              : record->id);
	if (record->kind == AUDIT_ACT)
		json_text(json, "action",
		          pick(actions, ARRAY_SIZE(actions), record->action) ?: "unknown");
	if (entry->plan)
		entry_put_plan(json, entry->plan, entry->rules, is_short);
	else if (entry->rules && !is_short)
		entry_put_rules(json, entry->rules);
	if (record->kind == AUDIT_ENDED)
		audit_entry_put_ended(json, record);
	if (record->kind == AUDIT_FAILED || record->kind == AUDIT_REFUSED)
		audit_entry_put_error(json, &record->error);
	if (is_short)
		json_bool(json, "cut", true);
}
