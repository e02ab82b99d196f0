/*
 * How a table of schema.h is written. For the files that hold such tables: schema_helper.c, schema_command.c, schema_file.c.
 *
 * The order of the rows is the order on the wire; PROTOCOL.md explains each of them.
 */
#pragma once

#include "protocol/schema.h"

#define SIZE_BYTES_MAX (UINT64_C(1) << 50)
#define TIME_US_MAX    (UINT64_C(1) << 50)
#define TIMEOUT_MS_MAX (UINT64_C(30) * 24 * 3600 * 1000)
#define CLOCK_MS_MAX   (UINT64_C(1) << 50)
#define PIDS_MAX       4194304 /* PID_MAX_LIMIT, proc_pid_max(5) */

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
#define MAP(s, m, table) {FIELD(s, m), .kind = SCHEMA_MAP, .nested = &(table)}
#define TEXTS(s, m, which, low, high)                                                                     \
	{ITEMS(s, m), .kind = ONLY(MEMBER(s, m[0]), struct text, SCHEMA_TEXT), .text = SCHEMA_TEXT_##which, \
	 .max = (high), COUNTED(s, m, low)}
#define MAPS(s, m, low, table) {ITEMS(s, m), .kind = SCHEMA_MAP, .nested = &(table), COUNTED(s, m, low)}

#define TABLE(s, number, rows)                                                                            \
	{.name = #s, .kind = (number), .size = sizeof(struct s), .fields = (rows), .fields_count = ARRAY_SIZE(rows)}
