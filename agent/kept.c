/* See kept.h. */
#include "agent/kept.h"

#include <stdio.h>
#include <string.h>

#include "agent/fields.h"

/* Returns false without memory. */
static bool add_head(struct kept *kept, const char *bytes, size_t length)
{
	size_t room = kept->head_room ? kept->head_room : 4096;
	char *more;

	while (room < kept->head_length + length)
		room *= 2;
	if (room > kept->head_room) {
		more = realloc(kept->head, room);
		if (!more)
			return false;
		kept->head = more;
		kept->head_room = room;
	}
	memcpy(kept->head + kept->head_length, bytes, length);
	kept->head_length += length;
	return true;
}

static void add_tail(struct kept *kept, const char *bytes, size_t length)
{
	size_t part;

	if (!kept->tail)
		kept->tail = malloc(KEPT_TAIL);
	if (!kept->tail)
		return;
	if (length > KEPT_TAIL) {
		bytes += length - KEPT_TAIL;
		length = KEPT_TAIL;
	}
	part = length < KEPT_TAIL - kept->tail_at ? length : KEPT_TAIL - kept->tail_at;
	memcpy(kept->tail + kept->tail_at, bytes, part);
	memcpy(kept->tail, bytes + part, length - part);
	kept->tail_at = (kept->tail_at + length) % KEPT_TAIL;
	kept->tail_length =
		kept->tail_length + length < KEPT_TAIL ? kept->tail_length + length : KEPT_TAIL;
}

void kept_add(struct kept *kept, const char *bytes, size_t length)
{
	size_t to_head = kept->is_full ? 0 : KEPT_MAX - kept->head_length;

	to_head = to_head < length ? to_head : length;
	if (to_head > 0 && !add_head(kept, bytes, to_head))
		to_head = 0;
	/* The head must have no gaps: once bytes went past it, it takes no more. */
	kept->is_full = kept->is_full || to_head < length;
	if (to_head < length)
		add_tail(kept, bytes + to_head, length - to_head);
	kept->total += length;
}

void kept_fill(struct kept *kept)
{
	kept->is_full = true;
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
static char *last(const struct kept *kept, size_t want, size_t *ret_length)
{
	size_t of_tail = want < kept->tail_length ? want : kept->tail_length;
	size_t of_head = kept->head_length + kept->tail_length == kept->total ? want - of_tail : 0,
	       from;
	char *bytes;

	of_head = of_head < kept->head_length ? of_head : kept->head_length;
	bytes = malloc(of_head + of_tail + 1);
	if (!bytes)
		return NULL;
	if (of_head > 0)
		memcpy(bytes, kept->head + kept->head_length - of_head, of_head);
	from = (kept->tail_at + KEPT_TAIL - of_tail) % KEPT_TAIL;
	for (size_t i = 0; i < of_tail; i++)
		bytes[of_head + i] = kept->tail[(from + i) % KEPT_TAIL];
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

json_t *kept_json(const struct kept *kept, size_t max, const char *name, bool *ret_truncated)
{
	size_t first = max / 2, length, skipped, note_length;
	_cleanup_free_ char *end = NULL, *text = NULL;
	char note[200];

	*ret_truncated = kept->total > max || kept->head_length + kept->tail_length < kept->total;
	if (!*ret_truncated && kept->tail_length == 0)
		return field_make_text(kept->head ? kept->head : "", kept->head_length);
	if (!*ret_truncated) {
		end = last(kept, (size_t)kept->total, &length);
		return end ? field_make_text(end, length) : NULL;
	}
	first = first < kept->head_length ? first : kept->head_length;
	first = first > 0 ? whole_characters(kept->head, first) : 0;
	end = last(kept, max - max / 2, &length);
	if (!end)
		return NULL;
	skipped = skip_rest_of_character(end, length);
	(void)snprintf(note, sizeof note, "\n… %llu bytes are left out%s%s …\n",
	               (unsigned long long)(kept->total - first - (length - skipped)),
	               name ? ": read_file gives them as " : "", name ? name : "");
	note_length = strlen(note);
	text = malloc(first + note_length + length);
	if (!text)
		return NULL;
	if (first > 0)
		memcpy(text, kept->head, first);
	memcpy(text + first, note, note_length);
	memcpy(text + first + note_length, end + skipped, length - skipped);
	return field_make_text(text, first + note_length + length - skipped);
}

int kept_read(const struct kept *kept, uint64_t offset, size_t max, char **ret_bytes,
              size_t *ret_length)
{
	_cleanup_free_ char *end = NULL;
	uint64_t tail_begin = kept->total - kept->tail_length;
	size_t length, end_length;
	char *bytes;

	if (offset < kept->head_length || kept->total <= kept->head_length) {
		offset = offset < kept->head_length ? offset : kept->head_length;
		length = kept->head_length - (size_t)offset < max
		                 ? kept->head_length - (size_t)offset
		                 : max;
		bytes = malloc(length + 1);
		if (!bytes)
			return -ENOMEM;
		memcpy(bytes, kept->head ? kept->head + offset : "", length);
		*ret_bytes = bytes;
		*ret_length = length;
		return 0;
	}
	if (offset < tail_begin)
		return -ENODATA;
	offset = offset < kept->total ? offset : kept->total;
	end = last(kept, (size_t)(kept->total - offset), &end_length);
	if (!end)
		return -ENOMEM;
	*ret_length = end_length < max ? end_length : max;
	*ret_bytes = steal_ptr(&end);
	return 0;
}

bool kept_grows(const struct kept *kept, size_t length)
{
	return !kept->is_full && kept->head_room >= KEPT_TAIL &&
	       kept->head_length + length > kept->head_room;
}

size_t kept_size(const struct kept *kept)
{
	return kept->head_room + (kept->tail ? KEPT_TAIL : 0);
}

void kept_free(struct kept *kept)
{
	free(kept->head);
	free(kept->tail);
	*kept = (struct kept){0};
}
