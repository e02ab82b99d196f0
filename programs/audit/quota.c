/* SPDX-License-Identifier: Apache-2.0 */
/* See quota.h. */
#include "programs/audit/quota.h"

#include <string.h>

static void begin_day(struct quota *quota, uint64_t now_ms)
{
	if (now_ms < quota->day_ends_ms)
		return;
	quota->day_ends_ms = now_ms + QUOTA_DAY_MS;
	for (size_t i = 0; i < QUOTA_USERS; i++)
		quota->rows[i].bytes = quota->rows[i].short_bytes = 0;
}

struct quota_row *quota_find(struct quota *quota, uint32_t uid, uint64_t now_ms)
{
	struct quota_row *least = NULL;

	begin_day(quota, now_ms);
	for (size_t i = 0; i < QUOTA_USERS; i++) {
		struct quota_row *row = &quota->rows[i];

		if (row->is_used && row->uid == uid)
			return row;
		if (!row->is_used) {
			*row = (struct quota_row){.uid = uid, .is_used = true};
			return row; /* rows are used in order and never freed */
		}
		if (!least || row->bytes < least->bytes)
			least = row;
	}
	if (least->merged > 0 || least->dropped > 0)
		return NULL;
	*least = (struct quota_row){.uid = uid,
	                            .is_used = true,
	                            .bytes = least->bytes,
	                            .short_bytes = least->short_bytes};
	return least;
}

bool quota_take(struct quota *quota, struct quota_row *row, size_t bytes, bool is_short)
{
	uint64_t *taken = is_short ? &row->short_bytes : &row->bytes;

	if (quota->max_bytes > 0 &&
	    (*taken > quota->max_bytes || bytes > quota->max_bytes - *taken))
		return false;
	*taken += bytes;
	return true;
}

bool quota_take_event(struct quota *quota, struct quota_row *row, size_t bytes)
{
	return (quota->max_bytes == 0 || row->bytes + bytes <= quota->max_bytes / 2) &&
	       quota_take(quota, row, bytes, false);
}

bool quota_refused(struct quota_row *row, uint64_t now_ms)
{
	if (row->refused < QUOTA_REFUSED_MAX) {
		row->refused++;
		return true;
	}
	if (row->merged == 0)
		row->first_ms = now_ms;
	row->last_ms = now_ms;
	row->merged++;
	return false;
}

struct quota_row *quota_merged(struct quota *quota, size_t from)
{
	for (size_t i = from; i < QUOTA_USERS && quota->rows[i].is_used; i++)
		if (quota->rows[i].merged > 0 || quota->rows[i].dropped > 0)
			return &quota->rows[i];
	return NULL;
}

void quota_minute(struct quota *quota)
{
	for (size_t i = 0; i < QUOTA_USERS && quota->rows[i].is_used; i++)
		quota->rows[i].refused = 0;
}

size_t quota_size(const struct quota *quota)
{
	size_t used = 0;

	while (used < QUOTA_USERS && quota->rows[used].is_used)
		used++;
	return offsetof(struct quota, rows) + used * sizeof quota->rows[0];
}

void quota_go_on(struct quota *quota, size_t size, uint64_t max_bytes, uint64_t now_ms)
{
	/*
	 * The end of the day is CLOCK_BOOTTIME. If it is more than a day ahead, it was saved before
	 * a reboot.
	 */
	if (quota->layout != QUOTA_LAYOUT || size != quota_size(quota) ||
	    quota->day_ends_ms > now_ms + QUOTA_DAY_MS)
		memset(quota, 0, sizeof *quota);
	quota->layout = QUOTA_LAYOUT;
	quota->max_bytes = max_bytes;
}
