/*
 * yett work, yett discard: what copy-on-write sandboxes changed. On the public libyett; no helper
 * takes part.
 */
#pragma once

#include "base/json.h"
#include "cli/options.h"
#include "libclient/yett.h"

#define WORK_OWN_MAX 128 /* a sandbox has no more shares */

extern const struct option work_options[], discard_options[];

int work_main(const struct subcommand *self, int argc, char **argv);
int discard_main(const struct subcommand *self, int argc, char **argv);

/*
 * The store that somebody means, as yett_work_find() has it; what is chosen for NULL is noted. The
 * list is to be freed.
 */
_must_check_ int work_choose(const char *named, struct yett_work_list **ret_list,
                             const struct yett_work **ret_work, struct yett_error *error);

/*
 * The same, with the directory that it is about, and where it was inside, both the caller's to
 * free; says where what is in it may be torn. YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: it does not
 * tell.
 */
_must_check_ int work_find_places(const char *named, char ret_id[YETT_ID_SIZE], char **ret_source,
                                  char **ret_target, struct yett_error *error);

/* The stores of a sandbox among `list` (NULL: none): as a list of their ids, "stores"; and each
 * with its place inside on a line of its own.
 */
void work_tell_stores(struct json *json, const struct yett_work_list *list, const char *sandbox);
void work_print_stores(const char *name, const struct yett_work_list *list, const char *sandbox);

/* The id of one of them, and of how many others there are "+N", or "-", in a column. */
#define WORK_CELL_SIZE 24
const char *work_cell(const struct yett_work_list *list, const char *sandbox,
                      char out[static WORK_CELL_SIZE]);

/* Says which one is meant by what is not its id. */
void work_note_chosen(const struct yett_work *work, const char *named);

/* One line for each store of a sandbox in which something is hidden: what. */
void work_note_hidden(const char *sandbox);

/* The stores that were made for a sandbox, and not such that were there and named. */
struct work_own {
	char ids[WORK_OWN_MAX][YETT_ID_SIZE];
	size_t count;
};

/* Those that a sandbox has now but for the named ones, `count` ids of which some may be NULL. */
void work_find_own(const char *sandbox, const char *const *named, size_t count,
                   struct work_own *ret_own);

/*
 * When a sandbox has ended: of its stores those that are `own` (NULL: all) and in which nothing was
 * changed are removed, with `is_discarded` also those with changes. One line for each other one in
 * which something was changed: what is kept where.
 */
void work_leave(const char *sandbox, const struct work_own *own, bool is_discarded);

/* The same for a store that stays: removed where nothing was changed in it, else a line. */
void work_leave_one(const char *id);
