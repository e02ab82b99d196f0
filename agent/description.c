/* SPDX-License-Identifier: Apache-2.0 */
/* See description.h. */
#include "agent/description.h"

#include <string.h>

#include "agent/sandbox_request.h"

static const struct field limit_fields[] = {
	{"memory_bytes", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: no limit; same below"},
	{"cpu_millis", FIELD_NUMBER, FIELD_REQUIRED, .description = "Thousandths of a processor"},
	{"pids", FIELD_NUMBER, FIELD_REQUIRED},
	{"open_files", FIELD_NUMBER, FIELD_REQUIRED},
	{"file_bytes", FIELD_NUMBER, FIELD_REQUIRED},
	{0},
};

const struct field description_fields[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED},
	{"name", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"profile", FIELD_TEXT, FIELD_REQUIRED},
	{"state", FIELD_TEXT, FIELD_REQUIRED, .description = "running, paused, stopping and so on"},
	{"ended", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "Why it ended"},
	{"uid", FIELD_NUMBER, FIELD_REQUIRED, .description = "The uid of the owner"},
	{"lingers", FIELD_BOOL, FIELD_REQUIRED,
         .description = "It outlives the program that made it"},
	{"network", FIELD_TEXT, FIELD_REQUIRED},
	{"addresses", FIELD_TEXTS, FIELD_REQUIRED},
	{"label", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"weaker", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE,
         .description = "In which respects it is weaker"},
	{"limits", FIELD_OBJECT, FIELD_REQUIRED, .fields = limit_fields},
	{"hostname", FIELD_TEXT, FIELD_REQUIRED},
	{"platform", FIELD_TEXT, FIELD_REQUIRED},
	{"architecture", FIELD_TEXT, FIELD_REQUIRED},
	{"type", FIELD_TEXT, FIELD_REQUIRED, .description = "The kind of sandbox: namespaces"},
	{"backend", FIELD_TEXT, FIELD_REQUIRED,
         .description = "How the helper ran: service, setuid, rootless, personal"},
	{"command_timeout_ms", FIELD_NUMBER, FIELD_REQUIRED,
         .description = "The default of commands; 0: no limit"},
	{"max_command_timeout_ms", FIELD_NUMBER, FIELD_REQUIRED,
         .description = "The most a command may ask for; 0: no limit"},
	{"created_ms", FIELD_NUMBER, FIELD_REQUIRED, .description = "Milliseconds since 1970"},
	{"labels", FIELD_TEXTS, FIELD_REQUIRED, .description = "KEY=VALUE"},
	{"recorded", FIELD_TEXTS, FIELD_REQUIRED,
         .description = "Events that the administrator records: commands, connections, denials"},
	{0},
};

const struct field description_usage_fields[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED},
	{"name", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"state", FIELD_TEXT, FIELD_REQUIRED},
	{"taken_us", FIELD_NUMBER, FIELD_REQUIRED,
         .description = "When this was read, by a clock that only goes forward"},
	{"uptime_ms", FIELD_NUMBER, FIELD_REQUIRED},
	{"memory_limit_bytes", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: none"},
	{"pids_limit", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: none"},
	{"cpu_us", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE,
         .description = "null, here and below: this host does not count this"},
	{"memory_bytes", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"memory_peak_bytes", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"read_bytes", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"written_bytes", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"processes", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"threads", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"connections", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"blocked", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"oom_kills", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{0},
};

const struct field description_rule_fields[] = {
	{"list", FIELD_TEXT, FIELD_REQUIRED, .description = "allow, deny or ask"},
	{"rule", FIELD_TEXT, FIELD_REQUIRED},
	{"asked", FIELD_BOOL, FIELD_REQUIRED, .description = "By a request, not by the policy"},
	{"place", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE,
         .description = "FILE:LINE of the policy"},
	{0},
};

const struct field description_mount_fields[] = {
	{"target", FIELD_TEXT, FIELD_REQUIRED, .description = "The path inside"},
	{"root", FIELD_TEXT, FIELD_REQUIRED, .description = "Root of the mount in its file system"},
	{"type", FIELD_TEXT, FIELD_REQUIRED,
         .description = "Of the file system: ext4, tmpfs, overlay"},
	{"mode", FIELD_TEXT, FIELD_REQUIRED, .description = "ro, rw or cow"},
	{"own", FIELD_BOOL, FIELD_REQUIRED,
         .description = "The mount is in the sandbox's memory; only then sizes are given"},
	{"size_bytes", FIELD_NUMBER, 0, .description = "0: no bound"},
	{"used_bytes", FIELD_NUMBER, 0},
	{"files_max", FIELD_NUMBER, 0, .description = "0: no bound"},
	{"files_used", FIELD_NUMBER, 0},
	{0},
};

const struct field description_capability_fields[] = {
	{"name", FIELD_TEXT, FIELD_REQUIRED},
	{"supported", FIELD_BOOL, FIELD_REQUIRED},
	{"how", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "The mechanism"},
	{"code", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE,
         .description = "Why not: permission-denied by the policy, unsupported by the machine"},
	{"reason", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"mend", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "How to fix this"},
	{0},
};

static json_t *texts(const char *const *list)
{
	json_t *json = json_array();

	for (; list && *list; list++)
		(void)json_array_append_new(json, field_make_text(*list, strlen(*list)));
	return json;
}

static json_t *recorded(unsigned what)
{
	static const struct {
		enum yett_recorded bit;
		const char *name;
	} names[] = {{YETT_RECORDED_COMMANDS, "commands"},
	             {YETT_RECORDED_CONNECTIONS, "connections"},
	             {YETT_RECORDED_DENIALS, "denials"}};
	json_t *json = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (what & names[i].bit)
			(void)json_array_append_new(json, json_string(names[i].name));
	return json;
}

json_t *description_json(const struct yett_sandbox_status *status)
{
	const struct yett_sandbox_info *info = status->info;
	const char *const addresses[] = {*info->address4 ? info->address4 : NULL,
	                                 *info->address6 ? info->address6 : NULL, NULL};
	json_t *limits = json_pack("{s:I, s:I, s:I, s:I, s:I}", "memory_bytes",
	                           (json_int_t)info->memory_bytes, "cpu_millis",
	                           (json_int_t)info->cpu_millis, "pids", (json_int_t)info->pids,
	                           "open_files", (json_int_t)info->open_files, "file_bytes",
	                           (json_int_t)info->file_bytes);

	json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "hostname",
	                         info->hostname, "platform", info->platform, "architecture",
	                         info->architecture, "type", info->type, "backend", info->backend,
	                         "command_timeout_ms", (json_int_t)info->command_timeout_ms,
	                         "max_command_timeout_ms", (json_int_t)info->max_command_timeout_ms,
	                         "recorded", recorded(status->recorded));
	json_t *rest = json_pack(
		"{s:s, s:o, s:s, s:s, s:o, s:I, s:b, s:s, s:o, s:o, s:o, s:o, s:I, s:o}", "id",
		info->id, "name", field_make_text_or_null(status->name), "profile", info->profile,
		"state", yett_state_name(status->state), "ended",
		status->ended == YETT_ENDED_NOT ? json_null()
						: json_string(yett_ended_name(status->ended)),
		"uid", (json_int_t)status->uid, "lingers",
		(status->flags & YETT_SANDBOX_LINGER) != 0, "network",
		sandbox_words_network_name(info->network), "addresses", texts(addresses), "label",
		field_make_text_or_null(info->label), "weaker",
		field_make_text_or_null(info->weaker), "limits", limits, "created_ms",
		(json_int_t)status->created_ms, "labels", texts(status->labels));

	if (json && rest)
		(void)json_object_update(rest, json);
	json_decref(json);
	return rest;
}

json_t *description_usage_json(const struct yett_usage *usage)
{
	const struct {
		const char *name;
		uint32_t bit; /* from enum yett_usage_count */
		uint64_t value;
	} counts[] = {
		{"cpu_us", YETT_USAGE_CPU, usage->cpu_us},
		{"memory_bytes", YETT_USAGE_MEMORY, usage->memory_bytes},
		{"memory_peak_bytes", YETT_USAGE_MEMORY_PEAK, usage->memory_peak_bytes},
		{"read_bytes", YETT_USAGE_READ_BYTES, usage->read_bytes},
		{"written_bytes", YETT_USAGE_WRITTEN_BYTES, usage->written_bytes},
		{"processes", YETT_USAGE_PROCESSES, usage->processes},
		{"threads", YETT_USAGE_THREADS, usage->threads},
		{"connections", YETT_USAGE_CONNECTIONS, usage->connections},
		{"blocked", YETT_USAGE_BLOCKED, usage->blocked},
		{"oom_kills", YETT_USAGE_OOM_KILLS, usage->oom_kills},
	};
	json_t *json = json_pack(
		"{s:s, s:o, s:s, s:I, s:I, s:I, s:I}", "id", usage->id, "name",
		field_make_text_or_null(usage->name), "state", yett_state_name(usage->state),
		"taken_us", (json_int_t)usage->taken_us, "uptime_ms", (json_int_t)usage->uptime_ms,
		"memory_limit_bytes", (json_int_t)usage->memory_limit_bytes, "pids_limit",
		(json_int_t)usage->pids_limit);

	for (size_t i = 0; json && i < ARRAY_SIZE(counts); i++)
		(void)json_object_set_new(json, counts[i].name,
		                          usage->known & counts[i].bit
		                                  ? json_integer((json_int_t)counts[i].value)
		                                  : json_null());
	return json;
}

json_t *description_rules_json(const struct yett_rules *rules)
{
	static const char *const lists[] = {
		[YETT_RULES_ALLOW] = "allow", [YETT_RULES_DENY] = "deny", [YETT_RULES_ASK] = "ask"};
	const struct yett_rule *rule;
	json_t *json = json_array();

	for (size_t i = 0; i < yett_rules_count(rules); i++) {
		rule = yett_rules_get(rules, i);
		(void)json_array_append_new(
			json, json_pack("{s:s, s:o, s:b, s:o}", "list", lists[rule->list], "rule",
		                        field_make_text(rule->text, strlen(rule->text)), "asked",
		                        rule->is_asked, "place",
		                        *rule->file ? json_sprintf("%s:%u", rule->file, rule->line)
		                                    : json_null()));
	}
	return json;
}

json_t *description_mounts_json(const struct yett_mount_list *mounts)
{
	static const char *const modes[] = {[YETT_MOUNT_READ_ONLY] = "ro",
	                                    [YETT_MOUNT_WRITABLE] = "rw",
	                                    [YETT_MOUNT_COPY_ON_WRITE] = "cow"};
	const struct yett_mount *mount;
	json_t *json = json_array(), *one;

	for (size_t i = 0; i < yett_mount_list_count(mounts); i++) {
		mount = yett_mount_list_get(mounts, i);
		one = json_pack("{s:o, s:o, s:o, s:s, s:b}", "target",
		                field_make_text(mount->target, strlen(mount->target)), "root",
		                field_make_text(mount->root, strlen(mount->root)), "type",
		                field_make_text(mount->type, strlen(mount->type)), "mode",
		                modes[mount->mode], "own", (int)mount->is_own);
		if (one && mount->is_own)
			(void)json_object_update_new(
				one, json_pack("{s:I, s:I, s:I, s:I}", "size_bytes",
			                       (json_int_t)mount->size_bytes, "used_bytes",
			                       (json_int_t)mount->used_bytes, "files_max",
			                       (json_int_t)mount->files_max, "files_used",
			                       (json_int_t)mount->files_used));
		(void)json_array_append_new(json, one);
	}
	return json;
}

json_t *description_capabilities_json(const struct yett_capability_list *capabilities)
{
	const struct yett_capability *each;
	json_t *json = json_array();

	for (size_t i = 0; i < yett_capability_list_count(capabilities); i++) {
		each = yett_capability_list_get(capabilities, i);
		(void)json_array_append_new(
			json, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "name", each->name,
		                        "supported", (int)each->is_supported, "how",
		                        field_make_text_or_null(each->how), "code",
		                        each->is_supported
		                                ? json_null()
		                                : json_string(yett_error_code_name(each->code)),
		                        "reason", field_make_text_or_null(each->reason), "mend",
		                        field_make_text_or_null(each->mend)));
	}
	return json;
}
