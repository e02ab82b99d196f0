/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h: the messages between client and yett-files. */
#include "protocol/schema_rows.h"

#define FILE_BITS (FILE_REPLACE * 2 - 1)

#define ROW_PATH(s, m, shortest, longest) {ONE(s, m, PATH), .min = (shortest), .max = (longest)},

NESTED(file_entry, MESSAGE_FILE_ENTRY_FIELDS);
NESTED(file_mount, MESSAGE_FILE_MOUNT_FIELDS);
MESSAGE_FILE_KINDS(FIELDS_OF_KIND)

static const struct schema rows[] = {MESSAGE_FILE_KINDS(TABLE_OF_KIND)};
const struct schema_set schema_file = {rows, ARRAY_SIZE(rows)};
