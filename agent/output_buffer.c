/* SPDX-License-Identifier: Apache-2.0 */
/* See output_buffer.h. */
#include "agent/output_buffer.h"

#include <stdio.h>
#include <string.h>

#include "agent/fields.h"

/* Returns false without memory. */
static bool add_head(struct output_buffer *buffer, const char *bytes, size_t length)
{
	size_t room = buffer->head_room ? buffer->head_room : 4096;
	char *more;

	while (room < buffer->head_length + length)
		room *= 2;
	if (room > buffer->head_room) {
		more = realloc(buffer->head, room);
		if (!more)
			return false;
		buffer->head = more;
		buffer->head_room = room;
	}
	memcpy(buffer->head + buffer->head_length, bytes, length);
	buffer->head_length += length;
	return true;
}

static void add_tail(struct output_buffer *buffer, const char *bytes, size_t length)
{
	size_t part;

	if (!buffer->tail)
		buffer->tail = malloc(KEPT_TAIL);
	if (!buffer->tail)
		return;
	if (length > KEPT_TAIL) {
		bytes += length - KEPT_TAIL;
		length = KEPT_TAIL;
	}
	part = length < KEPT_TAIL - buffer->tail_at ? length : KEPT_TAIL - buffer->tail_at;
	memcpy(buffer->tail + buffer->tail_at, bytes, part);
	memcpy(buffer->tail, bytes + part, length - part);
	buffer->tail_at = (buffer->tail_at + length) % KEPT_TAIL;
	buffer->tail_length =
		buffer->tail_length + length < KEPT_TAIL ? buffer->tail_length + length : KEPT_TAIL;
}

void output_buffer_add(struct output_buffer *buffer, const char *bytes, size_t length)
{
	size_t to_head = buffer->is_full ? 0 : KEPT_MAX - buffer->head_length;

	to_head = to_head < length ? to_head : length;
	if (to_head > 0 && !add_head(buffer, bytes, to_head))
		to_head = 0;
	/* The head must have no gaps: once bytes went past it, it takes no more. */
	buffer->is_full = buffer->is_full || to_head < length;
	if (to_head < length)
		add_tail(buffer, bytes + to_head, length - to_head);
	buffer->total += length;
}

void output_buffer_fill(struct output_buffer *buffer)
{
	buffer->is_full = true;
}

/* The number of bytes before the first whole UTF-8 character. */
static size_t skip_rest_of_character(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < 3 && i < length && ((unsigned char)bytes[i] & 0xc0) == 0x80)
		i++;
	return i;
}

/* Returns a copy of the last bytes, at most `want` of them; the caller frees it. */
static char *last(const struct output_buffer *buffer, size_t want, size_t *ret_length)
{
	size_t of_tail = want < buffer->tail_length ? want : buffer->tail_length;
	size_t of_head = buffer->head_length + buffer->tail_length == buffer->total ? want - of_tail
	                                                                            : 0,
	       from;
	char *bytes;

	of_head = of_head < buffer->head_length ? of_head : buffer->head_length;
	bytes = malloc(of_head + of_tail + 1);
	if (!bytes)
		return NULL;
	if (of_head > 0)
		memcpy(bytes, buffer->head + buffer->head_length - of_head, of_head);
	from = (buffer->tail_at + KEPT_TAIL - of_tail) % KEPT_TAIL;
	for (size_t i = 0; i < of_tail; i++)
		bytes[of_head + i] = buffer->tail[(from + i) % KEPT_TAIL];
	*ret_length = of_head + of_tail;
	return bytes;
}

/* The length without an incomplete UTF-8 character at the end. */
static size_t whole_characters(const char *bytes, size_t length)
{
	size_t end = length;

	while (end > 0 && length - end < 4 && ((unsigned char)bytes[end - 1] & 0xc0) == 0x80)
		end--;
	/* bytes[end - 1] begins the last character, which is whole if all its bytes are there. */
	if (end > 0 && (unsigned char)bytes[end - 1] >= 0xc0 &&
	    !field_is_text(bytes + end - 1, length - end + 1))
		return end - 1;
	return length;
}

json_t *output_buffer_json(const struct output_buffer *buffer, size_t max, const char *name,
                           bool *ret_truncated)
{
	size_t first = max / 2, length, skipped, note_length;
	_cleanup_free_ char *end = NULL, *text = NULL;
	char note[200];

	*ret_truncated =
		buffer->total > max || buffer->head_length + buffer->tail_length < buffer->total;
	if (!*ret_truncated && buffer->tail_length == 0)
		return field_make_text(buffer->head ? buffer->head : "", buffer->head_length);
	if (!*ret_truncated) {
		end = last(buffer, (size_t)buffer->total, &length);
		return end ? field_make_text(end, length) : NULL;
	}
	first = first < buffer->head_length ? first : buffer->head_length;
	first = first > 0 ? whole_characters(buffer->head, first) : 0;
	end = last(buffer, max - max / 2, &length);
	if (!end)
		return NULL;
	skipped = skip_rest_of_character(end, length);
	(void)snprintf(note, sizeof note, "\n… %llu bytes are left out%s%s …\n",
	               (unsigned long long)(buffer->total - first - (length - skipped)),
	               name ? ": read_file gives them as " : "", name ? name : "");
	note_length = strlen(note);
	text = malloc(first + note_length + length);
	if (!text)
		return NULL;
	if (first > 0)
		memcpy(text, buffer->head, first);
	memcpy(text + first, note, note_length);
	memcpy(text + first + note_length, end + skipped, length - skipped);
	return field_make_text(text, first + note_length + length - skipped);
}

int output_buffer_read(const struct output_buffer *buffer, uint64_t offset, size_t max,
                       char **ret_bytes, size_t *ret_length)
{
	_cleanup_free_ char *end = NULL;
	uint64_t tail_begin = buffer->total - buffer->tail_length;
	size_t length, end_length;
	char *bytes;

	if (offset < buffer->head_length || buffer->total <= buffer->head_length) {
		offset = offset < buffer->head_length ? offset : buffer->head_length;
		length = buffer->head_length - (size_t)offset < max
		                 ? buffer->head_length - (size_t)offset
		                 : max;
		bytes = malloc(length + 1);
		if (!bytes)
			return -ENOMEM;
		memcpy(bytes, buffer->head ? buffer->head + offset : "", length);
		*ret_bytes = bytes;
		*ret_length = length;
		return 0;
	}
	if (offset < tail_begin)
		return -ENODATA;
	offset = offset < buffer->total ? offset : buffer->total;
	end = last(buffer, (size_t)(buffer->total - offset), &end_length);
	if (!end)
		return -ENOMEM;
	*ret_length = end_length < max ? end_length : max;
	*ret_bytes = steal_ptr(&end);
	return 0;
}

bool output_buffer_grows(const struct output_buffer *buffer, size_t length)
{
	return !buffer->is_full && buffer->head_room >= KEPT_TAIL &&
	       buffer->head_length + length > buffer->head_room;
}

size_t output_buffer_size(const struct output_buffer *buffer)
{
	return buffer->head_room + (buffer->tail ? KEPT_TAIL : 0);
}

void output_buffer_free(struct output_buffer *buffer)
{
	free(buffer->head);
	free(buffer->tail);
	*buffer = (struct output_buffer){0};
}
