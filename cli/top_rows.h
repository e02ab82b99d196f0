/*
 * What `yett top` shows: the sandboxes with their usage, and what that was a while ago.
 *
 * Pure: no input or output, and nothing of the terminal.
 */
#pragma once

#include "cli/stats.h"

#define TOP_HISTORY 120 /* readings: two minutes */

/* The latest readings, the last one at count - 1; negative: not known. */
struct top_history {
	size_t count;
	double values[TOP_HISTORY];
};

struct top_row {
	struct yett_usage usage;
	uint32_t uid;
	struct top_history cpu, memory; /* percent of a processor; bytes */
};

struct top_rows {
	struct top_row *rows; /* the busiest first, then the largest, then by name; owned */
	size_t count;
	char selected[YETT_ID_SIZE];    /* empty: none */
	struct top_history cpu, memory; /* of all together */
};

/*
 * Takes a reading in: histories go on, what is gone is dropped, and the selection stays on its
 * sandbox, or moves to the one that takes its place. `uids` has the user of each.
 * YETT_E_RESOURCE_LIMIT when memory is short.
 */
_must_check_ int top_rows_take(struct top_rows *rows, const struct yett_usage *list,
                               const uint32_t *uids, size_t count, struct yett_error *error);

/* Where the selected one is; 0 when there is none. */
size_t top_rows_selected(const struct top_rows *rows);

/* Moves the selection by so many, as far as there are any. */
void top_rows_move(struct top_rows *rows, int by);

void top_rows_free(struct top_rows *rows);

void top_history_add(struct top_history *history, double value);

/*
 * The last `width` values as characters of growing height, of which `largest` has the full one (0:
 * the largest of them), in out[0 … size); blanks where there is no value. `is_unicode`: as blocks
 * of UTF-8, of 3 bytes each.
 */
void top_plot(const struct top_history *history, size_t width, double largest, bool is_unicode,
              char *out, size_t size);
