/* See schema.h: the messages between client and yett-files. */
#include "protocol/schema_rows.h"

#define FILE_BITS (FILE_REPLACE * 2 - 1)

#define PATH(s, m, low, high)                                                                             \
	{FIELD(s, m), .kind = ONLY(MEMBER(s, m), struct text, SCHEMA_PATH), .min = (low), .max = (high)}

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

static const struct schema rows[] = {
#define X(name, number, body) TABLE(message_##body, number, body##_fields),
	MESSAGE_FILE_KINDS(X)
#undef X
};
const struct schema_set schema_file = {rows, ARRAY_SIZE(rows)};
