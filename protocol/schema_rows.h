/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the tables of schema.h. Only for the files that hold such tables: schema_helper.c,
 * schema_command.c, schema_file.c.
 *
 * Each row is made from one field of a message's table (fields.h). PROTOCOL.md explains each field.
 */
#pragma once

#include "protocol/message.h"
#include "protocol/schema.h"

#define SIZE_BYTES_MAX (UINT64_C(1) << 50)
#define TIME_US_MAX    (UINT64_C(1) << 50)
#define TIMEOUT_MS_MAX (UINT64_C(30) * 24 * 3600 * 1000)
#define CLOCK_MS_MAX   (UINT64_C(1) << 50)
#define PIDS_MAX       4194304 /* PID_MAX_LIMIT, proc_pid_max(5) */

#define MEMBER(s, m)      (((struct s *)NULL)->m)
#define ERROR_TEXT_MAX(m) (sizeof MEMBER(yett_error, m) - 1)

#define ROW(s, kind, ...) ROW_##kind(message_##s, __VA_ARGS__)
#define ONE(s, m, what)                                                     \
	.name = #m, .kind = SCHEMA_##what, .offset = offsetof(struct s, m), \
	.size = sizeof MEMBER(s, m)
#define EACH(s, m, what)                                                    \
	.name = #m, .kind = SCHEMA_##what, .offset = offsetof(struct s, m), \
	.size = sizeof MEMBER(s, m[0])
#define COUNTED(s, m, least, most)                                         \
	.list = SCHEMA_COUNTED, .items_min = (least), .items_max = (most), \
	.count_offset = offsetof(struct s, m##_count)

#define ROW_U32(s, m, low, high) {ONE(s, m, UINT32), .min = (low), .max = (high)},
#define ROW_U64(s, m, low, high) {ONE(s, m, UINT64), .min = (low), .max = (high)},
#define ROW_BITS(s, m, mask)     {ONE(s, m, BITS), .max = (mask)},
#define ROW_BOOL(s, m)           {ONE(s, m, BOOL)},
#define ROW_BYTES(s, m, length)  {ONE(s, m, BYTES)},
#define ROW_TEXT(s, m, form, shortest, longest) \
	{ONE(s, m, TEXT), .text = SCHEMA_TEXT_##form, .min = (shortest), .max = (longest)},
#define ROW_TEXTS(s, m, least, most, form, longest)                      \
	{EACH(s, m, TEXT), .text = SCHEMA_TEXT_##form, .max = (longest), \
	 COUNTED(s, m, least, most)},
#define ROW_MAP(s, m, of) {ONE(s, m, MAP), .nested = &of##_table},
#define ROW_MAPS(s, m, least, most, of) \
	{EACH(s, m, MAP), .nested = &of##_table, COUNTED(s, m, least, most)},

#define FIELDS(s, FIELDS_OF) static const struct schema_field s##_fields[] = {FIELDS_OF(ROW, s)}
#define TABLE(s, number) \
	"message_" #s, (number), sizeof(struct message_##s), s##_fields, ARRAY_SIZE(s##_fields)
#define NESTED(s, FIELDS_OF)  \
	FIELDS(s, FIELDS_OF); \
	static const struct schema s##_table = {TABLE(s, 0)}

/* For a MESSAGE_…_KINDS list: defines the fields of each kind, and the rows of a schema_set. */
#define FIELDS_OF_KIND(name, number, body) FIELDS(body, MESSAGE_##name##_FIELDS);
#define TABLE_OF_KIND(name, number, body)  {TABLE(body, number)},
