/* See portrait.h. */
#include "agent/portrait.h"

#include <string.h>

static const struct field limit_fields[] = {
	{"memory_bytes", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: none, as the others"},
	{"cpu_millis", FIELD_NUMBER, FIELD_REQUIRED, .description = "Thousandths of a processor"},
	{"pids", FIELD_NUMBER, FIELD_REQUIRED},
	{"open_files", FIELD_NUMBER, FIELD_REQUIRED},
	{"file_bytes", FIELD_NUMBER, FIELD_REQUIRED},
	{0},
};

const struct field portrait_fields[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED},
	{"name", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"profile", FIELD_TEXT, FIELD_REQUIRED},
	{"state", FIELD_TEXT, FIELD_REQUIRED, .description = "running, paused, stopping and so on"},
	{"ended", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "Why it ended"},
	{"uid", FIELD_NUMBER, FIELD_REQUIRED, .description = "Of the user whose it is"},
	{"lingers", FIELD_BOOL, FIELD_REQUIRED, .description = "It outlives the program that made it"},
	{"network", FIELD_TEXT, FIELD_REQUIRED},
	{"addresses", FIELD_TEXTS, FIELD_REQUIRED},
	{"label", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"weaker", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "By what it is weaker than others"},
	{"limits", FIELD_OBJECT, FIELD_REQUIRED, .fields = limit_fields},
	{"created_ms", FIELD_NUMBER, FIELD_REQUIRED, .description = "Milliseconds since 1970"},
	{"labels", FIELD_TEXTS, FIELD_REQUIRED, .description = "KEY=VALUE"},
	{0},
};

const struct field portrait_usage_fields[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED},
	{"name", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"state", FIELD_TEXT, FIELD_REQUIRED},
	{"taken_us", FIELD_NUMBER, FIELD_REQUIRED, .description = "When this was read, by a clock that only goes forward"},
	{"uptime_ms", FIELD_NUMBER, FIELD_REQUIRED},
	{"memory_limit_bytes", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: none"},
	{"pids_limit", FIELD_NUMBER, FIELD_REQUIRED, .description = "0: none"},
	{"cpu_us", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE, .description = "null, like what follows: this host does not count it"},
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

const struct field portrait_rule_fields[] = {
	{"list", FIELD_TEXT, FIELD_REQUIRED, .description = "allow, deny or ask"},
	{"rule", FIELD_TEXT, FIELD_REQUIRED},
	{"asked", FIELD_BOOL, FIELD_REQUIRED, .description = "By a request, not by the policy"},
	{"place", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE, .description = "FILE:LINE of the policy"},
	{0},
};

static json_t *text_or_null(const char *text)
{
	return *text ? field_make_text(text, strlen(text)) : json_null();
}

static json_t *texts(const char *const *list)
{
	json_t *json = json_array();

	for (; list && *list; list++)
		(void)json_array_append_new(json, field_make_text(*list, strlen(*list)));
	return json;
}

static const char *network_name(enum yett_network network)
{
	static const char *const names[] = {[YETT_NETWORK_PROFILE] = "none",
	                                    [YETT_NETWORK_NONE] = "none",
	                                    [YETT_NETWORK_LIMITED] = "limited",
	                                    [YETT_NETWORK_OPEN] = "open",
	                                    [YETT_NETWORK_HOST] = "host"};

	return network < ARRAY_SIZE(names) ? names[network] : "none";
}

json_t *portrait_json(const struct yett_sandbox_status *status)
{
	const struct yett_sandbox_info *info = status->info;
	const char *const addresses[] = {*info->address4 ? info->address4 : NULL, *info->address6 ? info->address6 : NULL, NULL};
	json_t *limits = json_pack("{s:I, s:I, s:I, s:I, s:I}", "memory_bytes", (json_int_t)info->memory_bytes, "cpu_millis",
	                           (json_int_t)info->cpu_millis, "pids", (json_int_t)info->pids, "open_files", (json_int_t)info->open_files,
	                           "file_bytes", (json_int_t)info->file_bytes);

	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:I, s:b, s:s, s:o, s:o, s:o, s:o, s:I, s:o}", "id", info->id, "name",
	                 text_or_null(status->name), "profile", info->profile, "state", yett_state_name(status->state), "ended",
	                 status->ended == YETT_ENDED_NOT ? json_null() : json_string(yett_ended_name(status->ended)), "uid",
	                 (json_int_t)status->uid, "lingers", (status->flags & YETT_SANDBOX_LINGER) != 0, "network",
	                 network_name(info->network), "addresses", texts(addresses), "label", text_or_null(info->label), "weaker",
	                 text_or_null(info->weaker), "limits", limits, "created_ms", (json_int_t)status->created_ms, "labels",
	                 texts(status->labels));
}

json_t *portrait_usage_json(const struct yett_usage *usage)
{
	const struct {
		const char *name;
		uint32_t bit; /* enum yett_usage_count */
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
	json_t *json =
		json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:I}", "id", usage->id, "name", text_or_null(usage->name), "state",
	                  yett_state_name(usage->state), "taken_us", (json_int_t)usage->taken_us, "uptime_ms", (json_int_t)usage->uptime_ms,
	                  "memory_limit_bytes", (json_int_t)usage->memory_limit_bytes, "pids_limit", (json_int_t)usage->pids_limit);

	for (size_t i = 0; json && i < ARRAY_SIZE(counts); i++)
		(void)json_object_set_new(json, counts[i].name,
		                          usage->known & counts[i].bit ? json_integer((json_int_t)counts[i].value) : json_null());
	return json;
}

json_t *portrait_rules_json(const struct yett_rules *rules)
{
	static const char *const lists[] = {[YETT_RULES_ALLOW] = "allow", [YETT_RULES_DENY] = "deny", [YETT_RULES_ASK] = "ask"};
	const struct yett_rule *rule;
	json_t *json = json_array();

	for (size_t i = 0; i < yett_rules_count(rules); i++) {
		rule = yett_rules_get(rules, i);
		(void)json_array_append_new(json,
		                            json_pack("{s:s, s:o, s:b, s:o}", "list", lists[rule->list], "rule",
		                                      field_make_text(rule->text, strlen(rule->text)), "asked", rule->is_asked, "place",
		                                      *rule->file ? json_sprintf("%s:%u", rule->file, rule->line) : json_null()));
	}
	return json;
}
