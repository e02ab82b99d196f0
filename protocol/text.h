/*
 * What all messages have in common: the sizes of a packet, and how a text lies in a message.
 *
 * A text lives in the arena of the `struct message` that holds it (message.h) and is named by offset and length, so that a message
 * can cross a process boundary as bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROTOCOL.md, "Sizes". A whole packet, header included, never exceeds MESSAGE_PACKET_MAX. */
#define MESSAGE_PACKET_MAX 65536
#define MESSAGE_ARENA_MAX (MESSAGE_PACKET_MAX + 8192) /* every text costs a NUL more than on the wire */
#define MESSAGE_FDS_MAX 128
#define MESSAGE_PATH_MAX 4095

/* A text in the arena of the message that holds it; arena[offset + length] is NUL. */
struct text {
	uint32_t offset;
	uint32_t length;
};
