/* SPDX-License-Identifier: Apache-2.0 */
/* See top_rows.h. */
#include "cli/sandboxes/top_rows.h"

#include <string.h>

#define MEMORY_SHIFT 24 /* compare memory in units of 16 MiB */

void top_history_add(struct top_history *history, double value)
{
	if (history->count == TOP_HISTORY)
		memmove(history->values, history->values + 1,
		        --history->count * sizeof history->values[0]);
	history->values[history->count++] = value;
}

static const struct top_row *top_rows_find(const struct top_rows *rows, const char *id)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].usage.id, id) == 0)
			return &rows->rows[i];
	return NULL;
}

static double top_rows_latest(const struct top_history *history)
{
	return history->count ? history->values[history->count - 1] : -1;
}

/*
 * Sorts by processor share, then by memory, largest first, then by name. Rounds the values, so that
 * idle sandboxes keep their places.
 */
static int busier(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	long cpu = (long)(top_rows_latest(&y->cpu) + 0.5) - (long)(top_rows_latest(&x->cpu) + 0.5);
	uint64_t memory[] = {x->usage.memory_bytes >> MEMORY_SHIFT,
	                     y->usage.memory_bytes >> MEMORY_SHIFT};
	int name = strcmp(x->usage.name, y->usage.name);

	if (cpu != 0)
		return cpu < 0 ? -1 : 1;
	if (memory[0] != memory[1])
		return memory[0] > memory[1] ? -1 : 1;
	return name ? name : strcmp(x->usage.id, y->usage.id);
}

int top_rows_take(struct top_rows *rows, const struct yett_usage *list, const uint32_t *uids,
                  size_t count, struct yett_error *error)
{
	struct top_row *taken = calloc(count + 1, sizeof *taken);
	size_t selected = top_rows_selected(rows);
	double cpu = 0, memory = 0;

	if (!taken)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "no memory for a reading");
	for (size_t i = 0; i < count; i++) {
		const struct top_row *before = top_rows_find(rows, list[i].id);
		double percent;

		if (before)
			taken[i] = *before;
		percent = before ? stats_cpu_percent(&before->usage, &list[i]) : -1;
		taken[i].usage = list[i];
		taken[i].uid = uids[i];
		top_history_add(&taken[i].cpu, percent);
		top_history_add(&taken[i].memory, list[i].known & YETT_USAGE_MEMORY
		                                          ? (double)list[i].memory_bytes
		                                          : -1);
		cpu += percent > 0 ? percent : 0;
		memory += (double)list[i].memory_bytes;
	}
	qsort(taken, count, sizeof *taken, busier);
	free(rows->rows);
	rows->rows = taken;
	rows->count = count;
	top_history_add(&rows->cpu, cpu);
	top_history_add(&rows->memory, memory);
	if (count == 0)
		rows->selected[0] = '\0';
	else if (!top_rows_find(rows, rows->selected))
		memcpy(rows->selected, taken[selected < count ? selected : count - 1].usage.id,
		       sizeof rows->selected);
	return 0;
}

size_t top_rows_selected(const struct top_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].usage.id, rows->selected) == 0)
			return i;
	return 0;
}

void top_rows_move(struct top_rows *rows, int by)
{
	size_t at = top_rows_selected(rows), most = rows->count ? rows->count - 1 : 0;

	if (rows->count == 0)
		return;
	if (by < 0)
		at = at > (size_t)-by ? at - (size_t)-by : 0;
	else
		at = most - at > (size_t)by ? at + (size_t)by : most;
	memcpy(rows->selected, rows->rows[at].usage.id, sizeof rows->selected);
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->rows);
	*rows = (struct top_rows){0};
}

void top_plot(const struct top_history *history, size_t width, double largest, bool is_unicode,
              char *out, size_t size)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	const char *const *heights = is_unicode ? blocks : plain;
	size_t used = 0;

	if (width > TOP_HISTORY)
		width = TOP_HISTORY;
	for (size_t i = 0; largest == 0 && i < history->count; i++)
		largest = i + width >= history->count && history->values[i] > largest
		                  ? history->values[i]
		                  : largest;
	out[0] = '\0';
	for (size_t i = 0; i < width && used + 4 < size; i++) {
		double value = i + history->count >= width
		                       ? history->values[i + history->count - width]
		                       : -1;
		size_t height = largest > 0 && value > 0 ? (size_t)(value / largest * 7 + 0.5) : 0;

		used += (size_t)snprintf(out + used, size - used, "%s",
		                         value < 0 ? " " : heights[height < 8 ? height : 7]);
	}
}
