/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a message is declared: once, as a table of its fields. This file and fields_plain.h make the
 * struct from the table, and schema_rows.h the rows of its schema.
 *
 *	#define MESSAGE_DONE_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16)
 *	MESSAGE_STRUCT(done, MESSAGE_DONE_FIELDS);
 *
 * Fields are declared in the order in which they are encoded. Each field has one of the kinds
 * below, a name, and the bounds of its values.
 */
#pragma once

#include "protocol/fields_plain.h"

#define MESSAGE_PATH_MAX 4095 /* PROTOCOL.md, "Sizes" */

/*
 * A text in the arena of the message that holds it (message.h). arena[offset + length] is NUL. A
 * `length` of 0 is the empty text.
 */
struct text {
	uint32_t offset;
	uint32_t length;
};

#define MESSAGE_MEMBER_BYTES(name, length)                 uint8_t name[length];
#define MESSAGE_MEMBER_TEXT(name, form, shortest, longest) struct text name;
/* Lists of `least` to `most` items, and their number. */
#define MESSAGE_MEMBER_TEXTS(name, least, most, form, longest) \
	struct text name[most];                                \
	uint32_t name##_count;
#define MESSAGE_MEMBER_MAPS(name, least, most, of) \
	struct message_##of name[most];            \
	uint32_t name##_count;
