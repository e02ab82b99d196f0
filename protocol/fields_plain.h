/* SPDX-License-Identifier: Apache-2.0 */
/* The part of fields.h for messages without texts and lists. yett-helper includes no other part. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROTOCOL.md, "Sizes". A whole packet, header included, never exceeds MESSAGE_PACKET_MAX. */
#define MESSAGE_PACKET_MAX 65536
#define MESSAGE_FDS_MAX    128

#define MESSAGE_STRUCT(name, FIELDS_OF)         \
	struct message_##name {                 \
		FIELDS_OF(MESSAGE_MEMBER, name) \
	}
#define MESSAGE_MEMBER(s, kind, ...) MESSAGE_MEMBER_##kind(__VA_ARGS__)

#define MESSAGE_MEMBER_U32(name, low, high) uint32_t name;
#define MESSAGE_MEMBER_U64(name, low, high) uint64_t name;
#define MESSAGE_MEMBER_BITS(name, mask)     uint32_t name;
#define MESSAGE_MEMBER_BOOL(name)           bool name;
#define MESSAGE_MEMBER_MAP(name, of)        struct message_##of name;
