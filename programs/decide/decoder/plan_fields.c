/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_fields.h. */
#include "programs/decide/decoder/plan_fields.h"
#include "base/units_format.h"

struct limit_field {
	const char *name;  /* in JSON */
	const char *words; /* for people; what does not begin a new item begins with a space */
	size_t offset;     /* in struct plan_limits */
	char *(*format)(uint64_t value, char out[UNITS_TEXT_SIZE]);
	unsigned fields;
	bool may_be_omitted;
	uint64_t omitted;
};

/* The last arguments are further members of struct limit_field, if any. */
#define FIELD(member, words, unit, fields, ...)                                                    \
	{                                                                                          \
#member, words, offsetof(struct plan_limits, member), units_format_##unit, fields, \
			##__VA_ARGS__                                                              \
	}
#define SHARED (PLAN_FIELDS_SUM | PLAN_FIELDS_CGROUP)
/* For people, the field is left out if it has this value. */
#define OMIT(value) .may_be_omitted = true, .omitted = (value)

static const struct limit_field limit_fields[] = {
	FIELD(memory_bytes, "memory", size, SHARED),
	FIELD(cpu_millis, "cpus", cpus, SHARED),
	FIELD(cpu_weight, "weight", number, PLAN_FIELDS_CGROUP),
	FIELD(pids, "pids", number, SHARED),
	FIELD(files, "files", number, PLAN_FIELDS_PROCESS),
	FIELD(file_bytes, "file-size", size, PLAN_FIELDS_PROCESS),
	FIELD(cpu_seconds, "cpu-time", number, PLAN_FIELDS_PROCESS),
	FIELD(stack_bytes, "stack", size, PLAN_FIELDS_PROCESS),
	FIELD(stack_max_bytes, " of at most", size, PLAN_FIELDS_PROCESS),
	FIELD(core_bytes, "core files", size, PLAN_FIELDS_PROCESS, OMIT(PLAN_CORE_NONE)),
	FIELD(io_read_bytes, "of each disk a second read", size, PLAN_FIELDS_CGROUP, OMIT(0)),
	FIELD(io_write_bytes, "of each disk a second written", size, PLAN_FIELDS_CGROUP, OMIT(0)),
};

static uint64_t limit_value(const struct plan_limits *limits, const struct limit_field *field)
{
	return *(const uint64_t *)((const char *)limits + field->offset);
}

void plan_fields_put_limits(struct json *json, const char *name, const struct plan_limits *limits,
                            unsigned fields)
{
	json_open(json, name, '{');
	for (size_t i = 0; i < ARRAY_SIZE(limit_fields); i++)
		if (limit_fields[i].fields & fields)
			json_number(json, limit_fields[i].name,
			            limit_value(limits, &limit_fields[i]));
	json_close(json);
}

void plan_fields_print_limits(FILE *to, const struct plan_limits *limits, unsigned fields)
{
	bool is_first = true;

	for (size_t i = 0; i < ARRAY_SIZE(limit_fields); i++) {
		const struct limit_field *field = &limit_fields[i];
		uint64_t value = limit_value(limits, field);
		char text[UNITS_TEXT_SIZE];

		if (!(field->fields & fields) || (field->may_be_omitted && value == field->omitted))
			continue;
		(void)fprintf(to, "%s%s %s", is_first || *field->words == ' ' ? "" : ", ",
		              field->words, value ? field->format(value, text) : "unlimited");
		is_first = false;
	}
}

void plan_fields_put_life(struct json *json, const struct plan_life *life)
{
	json_open(json, "life", '{');
	json_bool(json, "linger", life->linger);
	json_number(json, "linger_ms", life->linger_ms);
	json_number(json, "wall_ms", life->wall_ms);
	json_number(json, "cpu_ms", life->cpu_ms);
	json_number(json, "idle_ms", life->idle_ms);
	json_text(json, "idle_action", life->idle_pauses ? "pause" : "end");
	json_number(json, "cleanup_ms", life->cleanup_ms);
	json_number(json, "command_timeout_ms", life->command_ms);
	json_number(json, "max_command_timeout_ms", life->command_max_ms);
	json_close(json);
}

void plan_fields_put_identity(struct json *json, const struct plan *plan)
{
	static const char *const identities[] = {"private", "root", "caller"};

	json_text(json, "identity",
	          plan->identity < ARRAY_SIZE(identities) ? identities[plan->identity] : NULL);
}

void plan_fields_put_privileges(struct json *json, const struct plan *plan)
{
	json_number(json, "capabilities", plan->capabilities);
	json_bool(json, "nested_userns", plan->nested_userns);
	json_bool(json, "perf_events", plan->perf_events);
}

void plan_fields_put_weaker(struct json *json, const struct plan *plan)
{
	char weaker[PLAN_WEAKER_SIZE];

	(void)snprintf(weaker, sizeof weaker, "%.*s", PLAN_WEAKER_SIZE - 1, plan->weaker);
	json_text_or_null(json, "weaker", weaker);
}
