/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of Yett as C structs.
 *
 * A struct has no pointers and a fixed size. Its texts are in the arena of the `struct message`
 * that holds it and are named by offset and length, so a message can cross a process boundary as
 * bytes. Every field is always encoded, in the order of its table; "not given" is the empty text,
 * the empty list or 0. PROTOCOL.md is normative.
 */
#pragma once

/*
 * yett-decider, yett-decoder and yett-closer are compiled with MESSAGE_HELPER_ONLY: they use only
 * the messages between client and helper.
 */
#ifdef MESSAGE_HELPER_ONLY
#include "protocol/message_helper.h"
#define MESSAGE_KINDS(X) MESSAGE_HELPER_KINDS(X)
#else
#include "protocol/message_command.h"
#include "protocol/message_file.h"
#define MESSAGE_KINDS(X) MESSAGE_HELPER_KINDS(X) MESSAGE_COMMAND_KINDS(X) MESSAGE_FILE_KINDS(X)
#endif

/* Each text takes one byte more than in its encoding, for the NUL. */
#define MESSAGE_ARENA_MAX (MESSAGE_PACKET_MAX + 8192)

enum message_kind {
#define X(name, number, body) MESSAGE_##name = (number),
	MESSAGE_KINDS(X)
#undef X
};

/*
 * The kinds of all messages, including those that this program does not know otherwise: the first
 * and the last kind of each range.
 */
#define MESSAGE_KIND_RANGES 1, 16, 24, 26, 32, 41, 96, 101

union message_body {
#define X(name, number, body) struct message_##body body;
	MESSAGE_KINDS(X)
#undef X
};

struct message {
	uint32_t kind; /* enum message_kind */
	uint32_t arena_used;
	union message_body body;
	char arena[MESSAGE_ARENA_MAX];
};

/*
 * Returns a text as a C string; "" for a length of 0. Returns NULL for a text that is not inside
 * the arena or does not end in a NUL there, which is possible only if another process made the
 * struct.
 */
const char *message_text(const struct message *message, struct text text);

/*
 * Appends a NUL-terminated copy of `string` to the arena. Returns 0, or -ENOSPC if it does not fit.
 */
int message_add_text(struct message *message, const char *string, struct text *ret_text)
	__attribute__((warn_unused_result));

/*
 * Makes `message` an empty message of this kind: no text, and all fields 0. Returns the body, for
 * the caller to fill.
 */
union message_body *message_begin(struct message *message, enum message_kind kind);

/*
 * Returns how many bytes of `union message_body` this kind uses; 0 for an unknown kind and for a
 * message that has no fields, such as MESSAGE_PLAN.
 */
size_t message_body_size(uint32_t kind);
