/* See schema.h: the messages between client and init. */
#include "protocol/schema_rows.h"

#define RESTRICT_BITS (RESTRICT_WRITE | RESTRICT_NETWORK | RESTRICT_PATHS)
#define OUTPUT_BITS   (OUTPUT_OUT | OUTPUT_ERR)

#define NUMBERS(s, m, high)                                                                               \
	{ITEMS(s, m), .kind = WIDTH(MEMBER(s, m[0])), .max = (high), .list = SCHEMA_FIXED,                \
	 .items_max = ARRAY_SIZE(MEMBER(s, m))}

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
	MAP(message_command, result, schema_exited),
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

static const struct schema rows[] = {
#define X(name, number, body) TABLE(message_##body, number, body##_fields),
	MESSAGE_COMMAND_KINDS(X)
#undef X
};
const struct schema_set schema_command = {rows, ARRAY_SIZE(rows)};
