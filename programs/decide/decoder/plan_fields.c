/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_fields.h. */
#include "programs/decide/decoder/plan_fields.h"
#include "base/units_format.h"

struct limit_field {
	const char *name;  /* in JSON */
	const char *words; /* for people; what does not begin a new item begins with a space */
	size_t offset;     /* in struct plan_limits */
	char *(*format)(uint64_t value, char out[UNITS_TEXT_SIZE]);
	uint64_t omitted; /* for people: a field of OMIT is left out if it has this value */
	unsigned fields;
};

#define OMIT (1U << 31)
#define FIELD(member, words, format, omitted, fields)                                         \
	{                                                                                     \
#member, words, offsetof(struct plan_limits, member), format, omitted, fields \
	}
#define SHARED (PLAN_FIELDS_SUM | PLAN_FIELDS_CGROUP)

static const struct limit_field limit_fields[] = {
	FIELD(memory_bytes, "memory", units_format_size, 0, SHARED),
	FIELD(cpu_millis, "cpus", units_format_cpus, 0, SHARED),
	FIELD(cpu_weight, "weight", units_format_number, 0, PLAN_FIELDS_CGROUP),
	FIELD(pids, "pids", units_format_number, 0, SHARED),
	FIELD(files, "files", units_format_number, 0, PLAN_FIELDS_PROCESS),
	FIELD(file_bytes, "file-size", units_format_size, 0, PLAN_FIELDS_PROCESS),
	FIELD(cpu_seconds, "cpu-time", units_format_number, 0, PLAN_FIELDS_PROCESS),
	FIELD(stack_bytes, "stack", units_format_size, 0, PLAN_FIELDS_PROCESS),
	FIELD(stack_max_bytes, " of at most", units_format_size, 0, PLAN_FIELDS_PROCESS),
	FIELD(core_bytes, "core files", units_format_size, PLAN_CORE_NONE,
              PLAN_FIELDS_PROCESS | OMIT),
	FIELD(io_read_bytes, "of each disk a second read", units_format_size, 0,
              PLAN_FIELDS_CGROUP | OMIT),
	FIELD(io_write_bytes, "of each disk a second written", units_format_size, 0,
              PLAN_FIELDS_CGROUP | OMIT),
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

		if (!(field->fields & fields) || (field->fields & OMIT && value == field->omitted))
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
