/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h: the messages between client and init. */
#include "protocol/schema_rows.h"

#define RESTRICT_BITS (RESTRICT_WRITE | RESTRICT_NETWORK | RESTRICT_PATHS)
#define OUTPUT_BITS   (OUTPUT_OUT | OUTPUT_ERR)

#define ROW_U32S(s, m, count, high) \
	{EACH(s, m, UINT32), .max = (high), .list = SCHEMA_FIXED, .items_max = (count)},
#define ROW_U64S(s, m, count, high) \
	{EACH(s, m, UINT64), .max = (high), .list = SCHEMA_FIXED, .items_max = (count)},

NESTED(command, MESSAGE_COMMAND_FIELDS);
MESSAGE_COMMAND_KINDS(FIELDS_OF_KIND)

static const struct schema rows[] = {MESSAGE_COMMAND_KINDS(TABLE_OF_KIND)};
const struct schema_set schema_command = {rows, ARRAY_SIZE(rows)};
