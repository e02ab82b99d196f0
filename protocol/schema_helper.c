/* See schema.h: the messages between client and helper. */
#include "protocol/schema_rows.h"

#define CALLS_MAX  1023 /* no system call has a higher number */
#define LIMIT_BITS (LIMIT_MEMORY | LIMIT_PIDS | LIMIT_CPU | LIMIT_CPU_TIME)

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

static const struct schema_field plan_fields[] = {};

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
const struct schema schema_exited = TABLE(message_exited, MESSAGE_EXITED, exited_fields);

static const struct schema_field event_fields[] = {
	NUMBER(message_event, number, 0, UINT64_MAX),
	NUMBER(message_event, time_ms, 0, CLOCK_MS_MAX),
	NUMBER(message_event, kind, 0, EVENT_DENIED),
	NUMBER(message_event, state, 0, SANDBOX_FAILED),
	NUMBER(message_event, command, 0, UINT64_MAX),
	NUMBER(message_event, pid, 0, PIDS_MAX),
	MAP(message_event, result, schema_exited),
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

static const struct schema rows[] = {
#define X(name, number, body) TABLE(message_##body, number, body##_fields),
	MESSAGE_HELPER_KINDS(X)
#undef X
};
const struct schema_set schema_helper = {rows, ARRAY_SIZE(rows)};
