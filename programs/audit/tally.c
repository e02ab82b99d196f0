/* See tally.h. */
#include "programs/audit/tally.h"

#include <string.h>

static void begin_day(struct tally *tally, uint64_t now_ms)
{
	if (now_ms < tally->day_ends_ms)
		return;
	tally->day_ends_ms = now_ms + TALLY_DAY_MS;
	for (size_t i = 0; i < TALLY_USERS; i++)
		tally->rows[i].bytes = tally->rows[i].short_bytes = 0;
}

struct tally_row *tally_find(struct tally *tally, uint32_t uid, uint64_t now_ms)
{
	struct tally_row *least = NULL;

	begin_day(tally, now_ms);
	for (size_t i = 0; i < TALLY_USERS; i++) {
		struct tally_row *row = &tally->rows[i];

		if (row->is_used && row->uid == uid)
			return row;
		if (!row->is_used) {
			*row = (struct tally_row){.uid = uid, .is_used = true};
			return row; /* rows are used in order and never freed */
		}
		if (!least || row->bytes < least->bytes)
			least = row;
	}
	if (least->merged > 0 || least->dropped > 0)
		return NULL;
	*least = (struct tally_row){.uid = uid,
	                            .is_used = true,
	                            .bytes = least->bytes,
	                            .short_bytes = least->short_bytes};
	return least;
}

bool tally_take(struct tally *tally, struct tally_row *row, size_t bytes, bool is_short)
{
	uint64_t *taken = is_short ? &row->short_bytes : &row->bytes;

	if (tally->max_bytes > 0 &&
	    (*taken > tally->max_bytes || bytes > tally->max_bytes - *taken))
		return false;
	*taken += bytes;
	return true;
}

bool tally_take_event(struct tally *tally, struct tally_row *row, size_t bytes)
{
	return (tally->max_bytes == 0 || row->bytes + bytes <= tally->max_bytes / 2) &&
	       tally_take(tally, row, bytes, false);
}

bool tally_refused(struct tally_row *row, uint64_t now_ms)
{
	if (row->refused < TALLY_REFUSED_MAX) {
		row->refused++;
		return true;
	}
	if (row->merged == 0)
		row->first_ms = now_ms;
	row->last_ms = now_ms;
	row->merged++;
	return false;
}

struct tally_row *tally_merged(struct tally *tally, size_t from)
{
	for (size_t i = from; i < TALLY_USERS && tally->rows[i].is_used; i++)
		if (tally->rows[i].merged > 0 || tally->rows[i].dropped > 0)
			return &tally->rows[i];
	return NULL;
}

void tally_minute(struct tally *tally)
{
	for (size_t i = 0; i < TALLY_USERS && tally->rows[i].is_used; i++)
		tally->rows[i].refused = 0;
}

size_t tally_size(const struct tally *tally)
{
	size_t used = 0;

	while (used < TALLY_USERS && tally->rows[used].is_used)
		used++;
	return offsetof(struct tally, rows) + used * sizeof tally->rows[0];
}

void tally_go_on(struct tally *tally, size_t size, uint64_t max_bytes, uint64_t now_ms)
{
	/*
	 * The end of the day is CLOCK_BOOTTIME. If it is more than a day ahead, it was saved before
	 * a reboot.
	 */
	if (tally->layout != TALLY_LAYOUT || size != tally_size(tally) ||
	    tally->day_ends_ms > now_ms + TALLY_DAY_MS)
		memset(tally, 0, sizeof *tally);
	tally->layout = TALLY_LAYOUT;
	tally->max_bytes = max_bytes;
}
