/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett work and yett discard: list and remove the stores, which hold the changes of copy-on-write
 * sandboxes.
 *
 * Runs as the caller, on the public libyett, without the helper.
 */
#pragma once

#include "base/json.h"
#include "cli/options.h"
#include "libclient/yett.h"
#include "workspace/yett-workspace.h"

#define WORK_OWN_MAX 128 /* no fewer than the shares of a sandbox */

extern const struct option work_options[], discard_options[];

int work_main(const struct subcommand *self, int argc, char **argv);
int discard_main(const struct subcommand *self, int argc, char **argv);

/*
 * Finds the store that `named` means, as yett_work_find() does, and prints which store was chosen
 * if `named` is not its id. Free *ret_list with yett_workspace_free().
 */
_must_check_ int work_choose(const char *named, struct yett_work_list **ret_list,
                             const struct yett_work **ret_work, struct yett_error *error);

/* Returns 0, or YETT_E_INVALID_REQUEST: the store does not say which directory it is about. */
_must_check_ int work_check_complete(const struct yett_work *work, struct yett_error *error);

/*
 * As work_choose(). YETT_E_INVALID_REQUEST also if the store is incomplete, and so does not say
 * which directory it is about.
 */
_must_check_ int work_choose_complete(const char *named, struct yett_work_list **ret_list,
                                      const struct yett_work **ret_work, struct yett_error *error);

/*
 * Finds the store as work_choose() does, and returns the directory that it is about and the target
 * inside; the caller frees both. Warns if files in the store may be incomplete after a crash.
 * YETT_E_NOT_FOUND. YETT_E_INVALID_REQUEST: the store is incomplete, and does not say which
 * directory it is about.
 */
_must_check_ int work_find_places(const char *named, char ret_id[YETT_ID_SIZE], char **ret_source,
                                  char **ret_target, struct yett_error *error);

/*
 * Report the stores of a sandbox in `list` (NULL: none): as a JSON list "stores" of their ids, or
 * as a line for each with its target inside.
 */
void work_report_stores(struct json *json, const struct yett_work_list *list, const char *sandbox);
void work_print_stores(const char *name, const struct yett_work_list *list, const char *sandbox);

/*
 * For a column: the id of one of the sandbox's stores, followed by "+N" if there are N others; "-"
 * if there is none.
 */
#define WORK_CELL_SIZE 24
const char *work_cell(const struct yett_work_list *list, const char *sandbox,
                      char out[static WORK_CELL_SIZE]);

/* Prints which store was chosen, unless `named` is its id. */
void work_note_chosen(const struct yett_work *work, const char *named);

/* Prints for each store of a sandbox which names are hidden, if any. */
void work_note_hidden(const char *sandbox);

/* The stores that were made for a sandbox, without existing ones that the user named. */
struct work_own {
	char ids[WORK_OWN_MAX][YETT_ID_SIZE];
	size_t count;
};

/*
 * Finds the sandbox's present stores without those in `named`, which has `count` ids, some of them
 * NULL.
 */
void work_find_own(const char *sandbox, const char *const *named, size_t count,
                   struct work_own *ret_own);

/*
 * Call this after a sandbox has ended. Removes those of its stores that are in `own` (NULL: all)
 * and have no changes; with `is_discarded`, also those with changes. Prints a line for each
 * remaining store with changes.
 */
void work_leave(const char *sandbox, const struct work_own *own, bool is_discarded);

/*
 * Removes the store if it has no changes and no sandbox uses it. Otherwise prints a line if it has
 * changes.
 */
void work_leave_one(const char *id);
