/*
 * How a message is declared: a table of its fields, once, of which the struct is made here (and in
 *fields_plain.h) and the rows of its schema in schema_rows.h.
 *
 *	#define MESSAGE_DONE_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16)
 *	MESSAGE_STRUCT(done, MESSAGE_DONE_FIELDS);
 *
 * The order is that of the wire. Each field has a kind, of those below, a name, and what bounds its
 *values.
 */
#pragma once

#include "protocol/fields_plain.h"

#define MESSAGE_PATH_MAX 4095 /* PROTOCOL.md, "Sizes" */

/* A text in the arena of the message that holds it (message.h); arena[offset + length] is NUL. */
struct text {
	uint32_t offset;
	uint32_t length;
};

#define MESSAGE_MEMBER_BYTES(name, length)                 uint8_t name[length];
#define MESSAGE_MEMBER_TEXT(name, form, shortest, longest) struct text name;
/* Lists of `least` to `most`, and how many there are. */
#define MESSAGE_MEMBER_TEXTS(name, least, most, form, longest) \
	struct text name[most];                                \
	uint32_t name##_count;
#define MESSAGE_MEMBER_MAPS(name, least, most, of) \
	struct message_##of name[most];            \
	uint32_t name##_count;
