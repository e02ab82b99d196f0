/*
 * The messages of Yett as C structs.
 *
 * A struct has no pointers and a fixed bound: texts live in the arena of the `struct message` that
 * holds them and are named by offset and length, so a message can cross a process boundary as
 * bytes. Every field is always on the wire, in table order; "not given" is the empty text, the
 * empty list or 0. PROTOCOL.md is normative.
 */
#pragma once

/* The helper and its decoder know only what is said between client and helper: helper/meson.build
 * defines it for them. */
#ifdef MESSAGE_HELPER_ONLY
#include "protocol/message_helper.h"
#define MESSAGE_KINDS(X) MESSAGE_HELPER_KINDS(X)
#else
#include "protocol/message_command.h"
#include "protocol/message_file.h"
#define MESSAGE_KINDS(X) MESSAGE_HELPER_KINDS(X) MESSAGE_COMMAND_KINDS(X) MESSAGE_FILE_KINDS(X)
#endif

/* every text costs a NUL more than on the wire */
#define MESSAGE_ARENA_MAX (MESSAGE_PACKET_MAX + 8192)

enum message_kind {
#define X(name, number, body) MESSAGE_##name = (number),
	MESSAGE_KINDS(X)
#undef X
};

/* All kinds that there are, also where this program knows no more of them: the first and the last
 * one of each range. */
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
 * The C string of a text. A text that does not lie inside the arena and end in NUL there (possible
 * only if another process made the struct) yields NULL; length 0 yields "".
 */
const char *message_text(const struct message *message, struct text text);

/* Appends a NUL-terminated copy of `string` to the arena. -ENOSPC when it does not fit. */
int message_add_text(struct message *message, const char *string, struct text *ret_text)
	__attribute__((warn_unused_result));

/* Makes it an empty one of this kind: no text, and all fields 0. The body, to be filled. */
union message_body *message_begin(struct message *message, enum message_kind kind);

/* Bytes of `union message_body` that this kind uses; 0 for an unknown kind and for MESSAGE_PLAN,
 * which has no field. */
size_t message_body_size(uint32_t kind);
