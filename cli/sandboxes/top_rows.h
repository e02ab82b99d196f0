/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of `yett top`: the sandboxes with their usage, and its history.
 *
 * Pure: no input or output, and no terminal.
 */
#pragma once

#include "cli/sandboxes/stats.h"

#define TOP_HISTORY 120 /* readings; two minutes */

/* The latest readings, the newest at count - 1. Negative: unknown. */
struct top_history {
	size_t count;
	double values[TOP_HISTORY];
};

struct top_row {
	struct yett_usage usage;
	uint32_t uid;
	struct top_history cpu, memory; /* in percent of one processor; in bytes */
};

struct top_rows {
	struct top_row
		*rows; /* sorted by processor share, memory (largest first) and name; owned */
	size_t count;
	char selected[YETT_ID_SIZE];    /* empty: none */
	struct top_history cpu, memory; /* of all sandboxes together */
};

/*
 * Takes a reading: adds it to the histories and drops sandboxes that are gone. The selection stays
 * on its sandbox, or moves to the one in its place if that is gone. `uids` has the user of each
 * entry of `list`. YETT_E_RESOURCE_LIMIT: not enough memory.
 */
_must_check_ int top_rows_take(struct top_rows *rows, const struct yett_usage *list,
                               const uint32_t *uids, size_t count, struct yett_error *error);

/* Returns the index of the selected row; 0 if there is none. */
size_t top_rows_selected(const struct top_rows *rows);

/* Moves the selection by `by` rows, but not beyond the first or last. */
void top_rows_move(struct top_rows *rows, int by);

void top_rows_free(struct top_rows *rows);

void top_history_add(struct top_history *history, double value);

/*
 * Draws the last `width` values as characters of different heights in out[0 … size). `largest` has
 * the full height (0: the largest of the values). An unknown value is a blank. `is_unicode`: uses
 * UTF-8 block characters of 3 bytes each.
 */
void top_plot(const struct top_history *history, size_t width, double largest, bool is_unicode,
              char *out, size_t size);
