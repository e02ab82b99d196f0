/* See schema.h. The order of the rows is the order on the wire; PROTOCOL.md explains each of them. */
#include "protocol/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIZE_BYTES_MAX (UINT64_C(1) << 50)
#define TIME_US_MAX    (UINT64_C(1) << 50)
#define TIMEOUT_MS_MAX (UINT64_C(30) * 24 * 3600 * 1000)
#define CLOCK_MS_MAX   (UINT64_C(1) << 50)
#define CALLS_MAX      1023    /* no system call has a higher number */
#define PIDS_MAX       4194304 /* PID_MAX_LIMIT, proc_pid_max(5) */
#define FILE_BITS      (FILE_REPLACE * 2 - 1)
#define RESTRICT_BITS  (RESTRICT_WRITE | RESTRICT_NETWORK | RESTRICT_PATHS)
#define OUTPUT_BITS    (OUTPUT_OUT | OUTPUT_ERR)
#define LIMIT_BITS     (LIMIT_MEMORY | LIMIT_PIDS | LIMIT_CPU | LIMIT_CPU_TIME)

#define MEMBER(s, m) (((struct s *)NULL)->m)
#define FIELD(s, m)  .name = #m, .offset = offsetof(struct s, m), .size = sizeof MEMBER(s, m)
#define ITEMS(s, m)  .name = #m, .offset = offsetof(struct s, m), .size = sizeof MEMBER(s, m[0])
/* The type of the member chooses the kind, so that a table cannot read a member as what it is not. */
#define WIDTH(x)                 _Generic((x), uint32_t: SCHEMA_UINT32, uint64_t: SCHEMA_UINT64)
#define ONLY(x, type, enumerator) _Generic((x), type: enumerator)
#define COUNTED(s, m, low)                                                                                \
	.list = SCHEMA_COUNTED, .items_min = (low), .items_max = ARRAY_SIZE(MEMBER(s, m)),                \
	.count_offset = offsetof(struct s, m##_count)

#define NUMBER(s, m, low, high) {FIELD(s, m), .kind = WIDTH(MEMBER(s, m)), .min = (low), .max = (high)}
#define BITS(s, m, mask)        {FIELD(s, m), .kind = ONLY(MEMBER(s, m), uint32_t, SCHEMA_BITS), .max = (mask)}
#define BOOL(s, m)              {FIELD(s, m), .kind = ONLY(MEMBER(s, m), bool, SCHEMA_BOOL)}
#define BYTES(s, m)             {FIELD(s, m), .kind = ONLY(MEMBER(s, m[0]), uint8_t, SCHEMA_BYTES)}
#define TEXT(s, m, which, low, high)                                                                      \
	{FIELD(s, m), .kind = ONLY(MEMBER(s, m), struct text, SCHEMA_TEXT), .text = SCHEMA_TEXT_##which,  \
	 .min = (low), .max = (high)}
#define PATH(s, m, low, high)                                                                             \
	{FIELD(s, m), .kind = ONLY(MEMBER(s, m), struct text, SCHEMA_PATH), .min = (low), .max = (high)}
#define MAP(s, m, table) {FIELD(s, m), .kind = SCHEMA_MAP, .nested = &(table)}
#define NUMBERS(s, m, high)                                                                               \
	{ITEMS(s, m), .kind = WIDTH(MEMBER(s, m[0])), .max = (high), .list = SCHEMA_FIXED,                \
	 .items_max = ARRAY_SIZE(MEMBER(s, m))}
#define TEXTS(s, m, which, low, high)                                                                     \
	{ITEMS(s, m), .kind = ONLY(MEMBER(s, m[0]), struct text, SCHEMA_TEXT), .text = SCHEMA_TEXT_##which, \
	 .max = (high), COUNTED(s, m, low)}
#define MAPS(s, m, low, table) {ITEMS(s, m), .kind = SCHEMA_MAP, .nested = &(table), COUNTED(s, m, low)}

#define TABLE(s, number, rows)                                                                            \
	{.name = #s, .kind = (number), .size = sizeof(struct s), .fields = (rows), .fields_count = ARRAY_SIZE(rows)}

static const struct schema_field hello_fields[] = {
	NUMBER(message_hello, version_min, 1, 255),
	NUMBER(message_hello, version_max, 1, 255),
	BYTES(message_hello, challenge),
};

static const struct schema_field share_fields[] = {
	NUMBER(message_share, fd, 0, MESSAGE_SHARES_MAX - 1),
	NUMBER(message_share, mode, 0, SHARE_RW),
	TEXT(message_share, target, ANY, 0, MESSAGE_PATH_MAX),
};
static const struct schema share_table = TABLE(message_share, 0, share_fields);

static const struct schema_field tmpfs_fields[] = {
	TEXT(message_tmpfs, target, ANY, 0, MESSAGE_PATH_MAX),
	NUMBER(message_tmpfs, size_bytes, 0, SIZE_BYTES_MAX),
};
static const struct schema tmpfs_table = TABLE(message_tmpfs, 0, tmpfs_fields);

static const struct schema_field limits_fields[] = {
	NUMBER(message_limits, memory_bytes, 0, SIZE_BYTES_MAX),
	NUMBER(message_limits, cpu_millis, 0, 1024000),
	NUMBER(message_limits, pids, 0, PIDS_MAX),
	NUMBER(message_limits, files, 0, 1048576),
};
static const struct schema limits_table = TABLE(message_limits, 0, limits_fields);

static const struct schema_field life_fields[] = {
	BOOL(message_life, linger),
	NUMBER(message_life, wall_ms, 0, TIMEOUT_MS_MAX),
	NUMBER(message_life, cpu_ms, 0, TIMEOUT_MS_MAX),
	NUMBER(message_life, idle_ms, 0, TIMEOUT_MS_MAX),
	NUMBER(message_life, idle_action, 0, IDLE_PAUSE),
	NUMBER(message_life, cleanup_ms, 0, TIMEOUT_MS_MAX),
};
static const struct schema life_table = TABLE(message_life, 0, life_fields);

static const struct schema_field create_fields[] = {
	TEXT(message_create, profile, NAME, 1, MESSAGE_NAME_MAX),
	TEXT(message_create, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX),
	MAP(message_create, limits, limits_table),
	MAPS(message_create, shares, 0, share_table),
	MAPS(message_create, tmpfs, 0, tmpfs_table),
	BOOL(message_create, plan_only),
	TEXT(message_create, name, NAME, 0, MESSAGE_NAME_MAX),
	TEXTS(message_create, labels, ENVIRONMENT, 0, MESSAGE_KEY_VALUE_MAX),
	MAP(message_create, life, life_table),
};

static const struct schema_field created_fields[] = {
	TEXT(message_created, id, HEX, 16, 16),
	TEXT(message_created, profile, NAME, 1, MESSAGE_NAME_MAX),
	NUMBER(message_created, private_uid, 0, UINT32_MAX - 1),
	TEXT(message_created, label, ANY, 0, MESSAGE_LABEL_MAX),
	NUMBER(message_created, landlock_abi, 0, MESSAGE_LANDLOCK_ABI_MAX),
	MAP(message_created, limits, limits_table),
	TEXT(message_created, weaker, ANY, 0, MESSAGE_WEAKER_MAX),
};

#define ERROR_TEXT(m) TEXT(message_error, m, ANY, 0, sizeof MEMBER(yett_error, m) - 1)
static const struct schema_field error_fields[] = {
	NUMBER(message_error, code, 1, YETT_CODES_COUNT),
	NUMBER(message_error, reason, 0, YETT_REASONS_COUNT),
	BOOL(message_error, retryable),
	ERROR_TEXT(message),
	ERROR_TEXT(detail),
	ERROR_TEXT(rule),
	ERROR_TEXT(file),
	NUMBER(message_error, line, 0, UINT32_MAX),
	ERROR_TEXT(asked),
	ERROR_TEXT(allowed),
	ERROR_TEXT(mend),
	NUMBER(message_error, error_number, 0, YETT_ERRNO_MAX),
	TEXT(message_error, step, NAME, 0, YETT_STEP_SIZE - 1),
};

static const struct schema_field ended_fields[] = {
	NUMBER(message_ended, reason, 0, ENDED_IDLE),
};

static const struct schema_field manage_fields[] = {
	NUMBER(message_manage, action, 0, MANAGE_PLAN),
	TEXT(message_manage, sandbox, NAME, 0, MESSAGE_NAME_MAX),
	BOOL(message_manage, all),
};

static const struct schema_field done_fields[] = {
	TEXT(message_done, id, HEX, 16, 16),
};

static const struct schema_field state_fields[] = {
	NUMBER(message_state, state, 0, SANDBOX_FAILED),
};

static const struct schema_field listing_fields[] = {
	NUMBER(message_listing, count, 0, UINT32_MAX),
};

static const struct schema_field sandbox_fields[] = {
	TEXT(message_sandbox, id, HEX, 16, 16),
	TEXT(message_sandbox, name, NAME, 0, MESSAGE_NAME_MAX),
	TEXT(message_sandbox, profile, NAME, 1, MESSAGE_NAME_MAX),
	NUMBER(message_sandbox, state, 0, SANDBOX_FAILED),
	NUMBER(message_sandbox, ended, 0, ENDED_IDLE),
	NUMBER(message_sandbox, uid, 0, UINT32_MAX - 1),
	TEXT(message_sandbox, principal, NAME, 0, MESSAGE_NAME_MAX),
	NUMBER(message_sandbox, private_uid, 0, UINT32_MAX - 1),
	TEXT(message_sandbox, label, ANY, 0, MESSAGE_LABEL_MAX),
	NUMBER(message_sandbox, landlock_abi, 0, MESSAGE_LANDLOCK_ABI_MAX),
	MAP(message_sandbox, limits, limits_table),
	MAP(message_sandbox, life, life_table),
	NUMBER(message_sandbox, linger_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_sandbox, created_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_sandbox, started_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_sandbox, ended_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_sandbox, attached, 0, UINT32_MAX),
	TEXTS(message_sandbox, labels, ENVIRONMENT, 0, MESSAGE_KEY_VALUE_MAX),
};

static const struct schema_field usage_fields[] = {
	TEXT(message_usage, id, HEX, 16, 16),
	TEXT(message_usage, name, NAME, 0, MESSAGE_NAME_MAX),
	NUMBER(message_usage, state, 0, SANDBOX_FAILED),
	NUMBER(message_usage, taken_us, 0, UINT64_MAX),
	NUMBER(message_usage, uptime_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_usage, memory_limit_bytes, 0, SIZE_BYTES_MAX),
	NUMBER(message_usage, pids_limit, 0, PIDS_MAX),
	BITS(message_usage, known, (1U << USAGE_COUNTS_MAX) - 1),
#define X(name, field) NUMBER(message_usage, field, 0, UINT64_MAX),
	USAGE_COUNTS(X)
#undef X
};

static const struct schema_field exec_fields[] = {
	TEXTS(message_exec, argv, ANY, 1, MESSAGE_PACKET_MAX),
	TEXTS(message_exec, env, ENVIRONMENT, 0, MESSAGE_PACKET_MAX),
	TEXT(message_exec, cwd, ANY, 0, MESSAGE_PATH_MAX),
	NUMBERS(message_exec, stdio, STDIO_AS_OUTPUT),
	NUMBER(message_exec, timeout_ms, 0, TIMEOUT_MS_MAX),
	BOOL(message_exec, terminal),
	NUMBER(message_exec, rows, 0, MESSAGE_WINDOW_MAX),
	NUMBER(message_exec, columns, 0, MESSAGE_WINDOW_MAX),
	NUMBER(message_exec, capture_bytes, 0, MESSAGE_OUTPUT_MAX),
	BITS(message_exec, restrictions, RESTRICT_BITS),
	TEXTS(message_exec, paths, ANY, 0, MESSAGE_PATH_MAX),
	BOOL(message_exec, has_user),
	NUMBER(message_exec, user, 0, UINT32_MAX - 1),
	NUMBER(message_exec, memory_bytes, 0, SIZE_BYTES_MAX),
	NUMBER(message_exec, pids, 0, PIDS_MAX),
	NUMBER(message_exec, more_bytes, 0, MESSAGE_TEXTS_MAX),
	NUMBER(message_exec, more_argv, 0, MESSAGE_TEXTS_MAX),
	NUMBER(message_exec, more_env, 0, MESSAGE_TEXTS_MAX),
	BOOL(message_exec, file_operation),
};

static const struct schema_field started_fields[] = {
	NUMBER(message_started, command, 1, UINT64_MAX),
	NUMBER(message_started, pid, 1, PIDS_MAX),
};

static const struct schema_field exited_fields[] = {
	BOOL(message_exited, signaled),
	NUMBER(message_exited, status, 0, 255),
	BOOL(message_exited, timed_out),
	BOOL(message_exited, out_of_memory),
	BITS(message_exited, limits_hit, LIMIT_BITS),
	NUMBER(message_exited, wall_us, 0, TIME_US_MAX),
	NUMBER(message_exited, user_us, 0, TIME_US_MAX),
	NUMBER(message_exited, system_us, 0, TIME_US_MAX),
	NUMBER(message_exited, memory_peak_bytes, 0, SIZE_BYTES_MAX),
};
static const struct schema result_table = TABLE(message_exited, MESSAGE_EXITED, exited_fields);

static const struct schema_field event_fields[] = {
	NUMBER(message_event, number, 0, UINT64_MAX),
	NUMBER(message_event, time_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_event, kind, 0, EVENT_DENIED),
	NUMBER(message_event, state, 0, SANDBOX_FAILED),
	NUMBER(message_event, command, 0, UINT64_MAX),
	NUMBER(message_event, pid, 0, PIDS_MAX),
	MAP(message_event, result, result_table),
	NUMBER(message_event, error, 0, 4095),
	NUMBER(message_event, count, 0, UINT64_MAX),
	NUMBER(message_event, call, 0, CALLS_MAX),
	NUMBER(message_event, ended, 0, ENDED_IDLE),
};

static const struct schema_field following_fields[] = {
	TEXT(message_following, id, HEX, 16, 16),
};

static const struct schema_field totals_fields[] = {
	NUMBER(message_totals, sandboxes, 0, UINT64_MAX),
	NUMBER(message_totals, executions, 0, UINT64_MAX),
	NUMBER(message_totals, successes, 0, UINT64_MAX),
	NUMBER(message_totals, failures, 0, UINT64_MAX),
	NUMBER(message_totals, timeouts, 0, UINT64_MAX),
	NUMBER(message_totals, duration_us, 0, UINT64_MAX),
};

static const struct schema_field signal_fields[] = {
	NUMBER(message_signal, command, 1, UINT64_MAX),
	NUMBER(message_signal, signal, 1, 64),
};

static const struct schema_field query_fields[] = {
	NUMBER(message_query, action, 0, QUERY_SIGNAL),
	NUMBER(message_query, command, 0, UINT64_MAX),
	NUMBERS(message_query, output_bytes, MESSAGE_OUTPUT_MAX),
	NUMBER(message_query, signal, 0, 64),
};

static const struct schema_field command_fields[] = {
	NUMBER(message_command, id, 1, UINT64_MAX),
	NUMBER(message_command, state, 0, EXECUTION_KILLED),
	TEXTS(message_command, argv, ANY, 0, MESSAGE_COMMAND_TEXT_MAX),
	BOOL(message_command, argv_cut),
	NUMBER(message_command, pid, 1, PIDS_MAX),
	NUMBER(message_command, started_ms, 0, CLOCK_MS_MAX),
	BITS(message_command, captured, OUTPUT_BITS),
	BITS(message_command, truncated, OUTPUT_BITS),
	NUMBERS(message_command, output_bytes, MESSAGE_OUTPUT_MAX),
	MAP(message_command, result, result_table),
	NUMBER(message_command, code, 0, YETT_CODES_COUNT),
	TEXT(message_command, message, ANY, 0, sizeof(((struct yett_error *)NULL)->message) - 1),
	TEXT(message_command, detail, ANY, 0, sizeof(((struct yett_error *)NULL)->detail) - 1),
	NUMBER(message_command, error_number, 0, YETT_ERRNO_MAX),
	TEXT(message_command, step, NAME, 0, YETT_STEP_SIZE - 1),
};
static const struct schema command_table = TABLE(message_command, 0, command_fields);

static const struct schema_field commands_fields[] = {
	NUMBER(message_commands, last, 0, UINT64_MAX),
	MAPS(message_commands, commands, 0, command_table),
};

static const struct schema_field session_fields[] = {
	TEXT(message_session, cwd, ANY, 0, MESSAGE_PATH_MAX),
	TEXTS(message_session, set, ENVIRONMENT, 0, MESSAGE_PACKET_MAX),
	TEXTS(message_session, unset, ANY, 0, MESSAGE_PACKET_MAX),
};

static const struct schema_field surroundings_fields[] = {
	TEXT(message_surroundings, cwd, ANY, 0, MESSAGE_PATH_MAX),
	TEXTS(message_surroundings, env, ENVIRONMENT, 0, MESSAGE_PACKET_MAX),
};

static const struct schema_field file_fields[] = {
	NUMBER(message_file, operation, FILE_OPEN, FILE_UNPACK),
	BITS(message_file, flags, FILE_BITS),
	NUMBER(message_file, mode, 0, 0777),
	PATH(message_file, path, 0, MESSAGE_PATH_MAX),
	PATH(message_file, target, 0, MESSAGE_PATH_MAX),
	NUMBER(message_file, entries_max, 0, UINT64_MAX),
	NUMBER(message_file, bytes_max, 0, UINT64_MAX),
};

static const struct schema_field file_opened_fields[] = {
	NUMBER(message_file_opened, size_bytes, 0, INT64_MAX),
};

static const struct schema_field file_entry_fields[] = {
	PATH(message_file_entry, name, 1, MESSAGE_FILE_NAME_MAX),
	NUMBER(message_file_entry, kind, 0, FILE_BLOCK_DEVICE),
	NUMBER(message_file_entry, mode, 0, 07777),
	NUMBER(message_file_entry, uid, 0, UINT32_MAX),
	NUMBER(message_file_entry, gid, 0, UINT32_MAX),
	PATH(message_file_entry, owner, 0, MESSAGE_FILE_OWNER_MAX),
	PATH(message_file_entry, group, 0, MESSAGE_FILE_OWNER_MAX),
	NUMBER(message_file_entry, size_bytes, 0, INT64_MAX),
	NUMBER(message_file_entry, mtime_s, 0, INT64_MAX),
	NUMBER(message_file_entry, mtime_ns, 0, 999999999),
	PATH(message_file_entry, link, 0, MESSAGE_PATH_MAX),
};
static const struct schema file_entry_table = TABLE(message_file_entry, 0, file_entry_fields);

static const struct schema_field file_entries_fields[] = {
	MAPS(message_file_entries, entries, 1, file_entry_table),
};

static const struct schema_field file_skipped_fields[] = {
	PATH(message_file_skipped, path, 1, MESSAGE_PATH_MAX),
	TEXT(message_file_skipped, why, ANY, 1, 255),
};

static const struct schema_field file_done_fields[] = {
	NUMBER(message_file_done, entries, 0, INT64_MAX),
	NUMBER(message_file_done, bytes, 0, INT64_MAX),
	NUMBER(message_file_done, skipped, 0, INT64_MAX),
};

static const struct schema messages[] = {
	TABLE(message_hello, MESSAGE_HELLO, hello_fields),
	TABLE(message_create, MESSAGE_CREATE, create_fields),
	TABLE(message_created, MESSAGE_CREATED, created_fields),
	{.name = "message_plan", .kind = MESSAGE_PLAN}, /* the text is in the descriptor; the body says nothing */
	TABLE(message_error, MESSAGE_ERROR, error_fields),
	TABLE(message_ended, MESSAGE_ENDED, ended_fields),
	TABLE(message_manage, MESSAGE_MANAGE, manage_fields),
	TABLE(message_done, MESSAGE_DONE, done_fields),
	TABLE(message_state, MESSAGE_STATE, state_fields),
	TABLE(message_listing, MESSAGE_LISTING, listing_fields),
	TABLE(message_sandbox, MESSAGE_SANDBOX, sandbox_fields),
	TABLE(message_usage, MESSAGE_USAGE, usage_fields),
	TABLE(message_event, MESSAGE_EVENT, event_fields),
	TABLE(message_following, MESSAGE_FOLLOWING, following_fields),
	TABLE(message_totals, MESSAGE_TOTALS, totals_fields),
	TABLE(message_exec, MESSAGE_EXEC, exec_fields),
	TABLE(message_started, MESSAGE_STARTED, started_fields),
	TABLE(message_exited, MESSAGE_EXITED, exited_fields),
	TABLE(message_signal, MESSAGE_SIGNAL, signal_fields),
	TABLE(message_query, MESSAGE_QUERY, query_fields),
	TABLE(message_commands, MESSAGE_COMMANDS, commands_fields),
	TABLE(message_session, MESSAGE_SESSION, session_fields),
	TABLE(message_surroundings, MESSAGE_SURROUNDINGS, surroundings_fields),
	TABLE(message_file, MESSAGE_FILE, file_fields),
	TABLE(message_file_opened, MESSAGE_FILE_OPENED, file_opened_fields),
	TABLE(message_file_entries, MESSAGE_FILE_ENTRIES, file_entries_fields),
	TABLE(message_file_skipped, MESSAGE_FILE_SKIPPED, file_skipped_fields),
	TABLE(message_file_done, MESSAGE_FILE_DONE, file_done_fields),
};

const struct schema *schema_at(size_t index)
{
	return index < ARRAY_SIZE(messages) ? &messages[index] : NULL;
}

const struct schema *schema_find(uint32_t kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (messages[i].kind == kind)
			return &messages[i];
	return NULL;
}

enum yett_reason schema_check_number(const struct schema_field *field, uint64_t value)
{
	if (field->kind == SCHEMA_BITS)
		return value & ~field->max ? YETT_R_RESERVED : YETT_R_NONE;
	return value < field->min || value > field->max ? YETT_R_RANGE : YETT_R_NONE;
}

enum yett_reason schema_check_items(const struct schema_field *field, uint64_t count)
{
	uint32_t least = field->list == SCHEMA_FIXED ? field->items_max : field->items_min;

	if (count < least)
		return YETT_R_TOO_SHORT;
	return count > field->items_max ? YETT_R_TOO_LONG : YETT_R_NONE;
}

/* Length of the UTF-8 sequence that begins bytes[0 … length); 0 when there is none. RFC 3629, section 4. */
static size_t utf8_sequence(const uint8_t *bytes, size_t length)
{
	static const struct {
		uint8_t first_low, first_high, second_low, second_high, size;
	} rows[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (bytes[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (bytes[0] < rows[i].first_low || bytes[0] > rows[i].first_high)
			continue;
		if (rows[i].size > length || bytes[1] < rows[i].second_low || bytes[1] > rows[i].second_high)
			return 0;
		for (size_t j = 2; j < rows[i].size; j++)
			if ((bytes[j] & 0xc0) != 0x80)
				return 0;
		return rows[i].size;
	}
	return 0;
}

void schema_clean_text(char *string)
{
	uint8_t *bytes = (uint8_t *)string;

	for (size_t left = strlen(string), size; left > 0; left -= size, bytes += size) {
		size = utf8_sequence(bytes, left);
		if (size == 0) {
			*bytes = '?';
			size = 1;
		}
	}
}

static bool is_utf8(const char *string, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)string;

	for (size_t at = 0, size; at < length; at += size) {
		size = utf8_sequence(bytes + at, length - at);
		if (size == 0)
			return false;
	}
	return true;
}

bool schema_is_text(const char *string)
{
	return is_utf8(string, strlen(string));
}

/* Whether all bytes are in `set`, and the first one is a letter or digit of it. */
static bool is_made_of(const char *bytes, size_t length, const char *set)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(set, bytes[i]) || (i == 0 && strchr("._-", bytes[i])))
			return false;
	return true;
}

static bool has_form(enum schema_text text, const char *bytes, size_t length)
{
	const char *equals;

	switch (text) {
	case SCHEMA_TEXT_ANY:
		return true;
	case SCHEMA_TEXT_NAME:
		return is_made_of(bytes, length, "abcdefghijklmnopqrstuvwxyz0123456789._-");
	case SCHEMA_TEXT_HOSTNAME:
		return is_made_of(bytes, length,
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-");
	case SCHEMA_TEXT_HEX:
		return is_made_of(bytes, length, "0123456789abcdef");
	case SCHEMA_TEXT_ENVIRONMENT:
		equals = memchr(bytes, '=', length);
		return equals && equals > bytes;
	}
	return false;
}

enum yett_reason schema_check_text(const struct schema_field *field, const char *bytes, size_t length)
{
	if (length < field->min)
		return YETT_R_TOO_SHORT;
	if (length > field->max)
		return YETT_R_TOO_LONG;
	if (length > 0 && memchr(bytes, '\0', length))
		return YETT_R_EMBEDDED_NUL;
	if (field->kind == SCHEMA_PATH)
		return YETT_R_NONE;
	if (!is_utf8(bytes, length))
		return YETT_R_NOT_UTF8;
	return has_form(field->text, bytes, length) ? YETT_R_NONE : YETT_R_RANGE;
}

void schema_path_enter(struct schema_path *path, const char *name, int64_t index)
{
	path->steps[path->depth++] = (struct schema_step){name, index};
}

void schema_path_leave(struct schema_path *path)
{
	path->depth--;
}

static void path_print(const struct schema_path *path, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < path->depth && used < size; i++) {
		const struct schema_step *step = &path->steps[i];

		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "." : "", step->name);
		if (step->index >= 0 && used < size)
			used += (size_t)snprintf(out + used, size - used, "[%" PRId64 "]", step->index);
	}
}

/* What a field allows, where that helps the reader of an error: "a value is outside its range (0 to 1)". */
static void allowed_print(enum yett_reason reason, const struct schema_field *field, bool of_list, char *out,
			  size_t size)
{
	bool is_size = reason == YETT_R_TOO_LONG || reason == YETT_R_TOO_SHORT;
	bool is_number = field && (field->kind == SCHEMA_UINT32 || field->kind == SCHEMA_UINT64);

	out[0] = '\0';
	if (is_size && of_list && field)
		(void)snprintf(out, size, " (%u to %u items)",
			       field->list == SCHEMA_FIXED ? field->items_max : field->items_min, field->items_max);
	else if (is_size && field && (field->kind == SCHEMA_TEXT || field->kind == SCHEMA_PATH))
		(void)snprintf(out, size, " (%" PRIu64 " to %" PRIu64 " bytes)", field->min, field->max);
	else if (reason == YETT_R_RANGE && is_number)
		(void)snprintf(out, size, " (%" PRIu64 " to %" PRIu64 ")", field->min, field->max);
}

int schema_refuse(struct yett_error *error, enum yett_code code, enum yett_reason reason,
		  const struct schema_path *path, const struct schema_field *field)
{
	const struct schema_step *last = path->depth ? &path->steps[path->depth - 1] : NULL;
	bool of_list = field && field->list != SCHEMA_ONE && last && last->index < 0;
	char allowed[64];

	if (!error)
		return (int)code;
	allowed_print(reason, field, of_list, allowed, sizeof allowed);
	(void)error_set(error, code, reason, "%s%s", error_reason_text(reason), allowed);
	path_print(path, error->detail, sizeof error->detail);
	return (int)code;
}
