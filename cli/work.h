/*
 * yett work, yett discard: what copy-on-write sandboxes changed. On the public libyett; no helper takes part.
 */
#pragma once

#include "base/json.h"
#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option work_options[], discard_options[];

int work_main(const struct subcommand *self, int argc, char **argv);
int discard_main(const struct subcommand *self, int argc, char **argv);

/*
 * The store that somebody means, as yett_work_find() has it; what is chosen for NULL is noted. The list is to be freed.
 */
_must_check_ int work_choose(const char *named, struct yett_work_list **ret_list, const struct yett_work **ret_work,
                             struct yett_error *error);

/*
 * The same, with the directory that it is about, and where it was inside, both the caller's to free; says where what is in it may be torn.
 * YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: it does not tell.
 */
_must_check_ int work_find_places(const char *named, char ret_id[YETT_ID_SIZE], char **ret_source, char **ret_target,
                                  struct yett_error *error);

/* The stores of a sandbox: as a list of their ids, "stores"; and each with its place inside on a line of its own, behind `name`. */
void work_tell_stores(struct json *json, const char *sandbox);
void work_print_stores(const char *name, const char *sandbox);

/* The id of one of them, and of how many others there are "+N", or "-", in a column. */
#define WORK_CELL_SIZE 24
const char *work_cell(const char *sandbox, char out[static WORK_CELL_SIZE]);

/* One line for each store of a sandbox in which something is hidden: what. */
void work_note_hidden(const char *sandbox);

/* One line: what was changed at `target` inside is in the store of that id. */
void work_note_kept(const char *target, const char *store);

/*
 * When a sandbox has ended: one line for each store that it has left, what was changed where, and how it is thrown away. Those in which
 * nothing was changed are removed; with `is_discarded` all. But for those that were named, `stays` of which `count` are.
 */
struct work_named {
	const char *const *ids;
	size_t count;
	bool is_discarded;
};
void work_leave(const char *sandbox, const struct work_named *stays);
