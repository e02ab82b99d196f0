/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output buffer of a program: the first KEPT_MAX bytes of its output, and the last KEPT_TAIL
 * bytes.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"

#define KEPT_MAX  (8 << 20)
#define KEPT_TAIL (64 << 10)

struct output_buffer {
	char *head; /* the first `head_length` bytes */
	size_t head_length, head_room;
	bool is_full; /* the head takes no more bytes; the rest goes to the tail */
	char *tail;   /* ring buffer of the last KEPT_TAIL bytes, once the head is full */
	size_t tail_at, tail_length;
	uint64_t total; /* bytes that the program wrote */
};

/* Counts and drops bytes for which there is no memory. */
void output_buffer_add(struct output_buffer *buffer, const char *bytes, size_t length);

/* Whether the buffer is already long, and adding `length` bytes would allocate more memory. */
bool output_buffer_grows(const struct output_buffer *buffer, size_t length);

/* From now on, keeps only the last bytes of new output. */
void output_buffer_fill(struct output_buffer *buffer);

/*
 * Returns the whole output if it has at most `max` bytes. Otherwise returns its first and last part
 * with a line between them that says how many bytes are left out and where read_file finds them:
 * `name` (NULL: nowhere). `*ret_truncated`: the output is not complete. NULL: no memory.
 */
json_t *output_buffer_json(const struct output_buffer *buffer, size_t max, const char *name,
                           bool *ret_truncated);

/*
 * Returns up to `max` bytes from `offset` on; the caller frees them. Returns 0, -ENOMEM, or
 * -ENODATA if the byte at `offset` was dropped.
 */
_must_check_ int output_buffer_read(const struct output_buffer *buffer, uint64_t offset, size_t max,
                                    char **ret_bytes, size_t *ret_length);

/* Allocated bytes. */
size_t output_buffer_size(const struct output_buffer *buffer);

void output_buffer_free(struct output_buffer *buffer);
