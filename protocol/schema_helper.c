/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h: the messages between client and helper. */
#include "protocol/schema_rows.h"

#define CALLS_MAX  1023 /* at least the highest system call number */
#define LIMIT_BITS (LIMIT_MEMORY | LIMIT_PIDS | LIMIT_CPU | LIMIT_CPU_TIME)

#define ROW_COUNTS(s, list)    list(ROW_COUNT)
#define ROW_COUNT(name, field) ROW_U64(message_usage, field, 0, UINT64_MAX)

NESTED(share, MESSAGE_SHARE_FIELDS);
NESTED(tmpfs, MESSAGE_TMPFS_FIELDS);
NESTED(rule, MESSAGE_RULE_FIELDS);
NESTED(limits, MESSAGE_LIMITS_FIELDS);
NESTED(life, MESSAGE_LIFE_FIELDS);
NESTED(connection, MESSAGE_CONNECTION_FIELDS);
MESSAGE_HELPER_KINDS(FIELDS_OF_KIND)
const struct schema exited_table = {TABLE(exited, MESSAGE_EXITED)};

static const struct schema rows[] = {MESSAGE_HELPER_KINDS(TABLE_OF_KIND)};
const struct schema_set schema_helper = {rows, ARRAY_SIZE(rows)};
