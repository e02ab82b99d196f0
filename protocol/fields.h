/*
 * How a message is declared: a table of its fields, once, of which the struct is made here and the rows of its schema in schema_rows.h.
 *
 *	#define MESSAGE_DONE_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16)
 *	MESSAGE_STRUCT(done, MESSAGE_DONE_FIELDS);
 *
 * The order is that of the wire. Each field has a kind, of those below, a name, and what bounds its values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROTOCOL.md, "Sizes". A whole packet, header included, never exceeds MESSAGE_PACKET_MAX. */
#define MESSAGE_PACKET_MAX 65536
#define MESSAGE_ARENA_MAX  (MESSAGE_PACKET_MAX + 8192) /* every text costs a NUL more than on the wire */
#define MESSAGE_FDS_MAX    128
#define MESSAGE_PATH_MAX   4095

/* A text in the arena of the message that holds it (message.h); arena[offset + length] is NUL. */
struct text {
	uint32_t offset;
	uint32_t length;
};

#define MESSAGE_STRUCT(name, FIELDS_OF)         \
	struct message_##name {                 \
		FIELDS_OF(MESSAGE_MEMBER, name) \
	}
#define MESSAGE_MEMBER(s, kind, ...) MESSAGE_MEMBER_##kind(__VA_ARGS__)

#define MESSAGE_MEMBER_U32(name, low, high)                uint32_t name;
#define MESSAGE_MEMBER_U64(name, low, high)                uint64_t name;
#define MESSAGE_MEMBER_BITS(name, mask)                    uint32_t name;
#define MESSAGE_MEMBER_BOOL(name)                          bool name;
#define MESSAGE_MEMBER_BYTES(name, length)                 uint8_t name[length];
#define MESSAGE_MEMBER_TEXT(name, form, shortest, longest) struct text name;
#define MESSAGE_MEMBER_MAP(name, of)                       struct message_##of name;
/* Lists of `least` to `most`, and how many there are. */
#define MESSAGE_MEMBER_TEXTS(name, least, most, form, longest) \
	struct text name[most];                                \
	uint32_t name##_count;
#define MESSAGE_MEMBER_MAPS(name, least, most, of) \
	struct message_##of name[most];            \
	uint32_t name##_count;
