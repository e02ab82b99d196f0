/*
 * yett work, yett discard: what copy-on-write sandboxes changed. On the public libyett; no helper takes part.
 */
#pragma once

#include "cli/options.h"

extern const struct option work_options[], discard_options[];

int work_main(const struct subcommand *self, int argc, char **argv);
int discard_main(const struct subcommand *self, int argc, char **argv);

/*
 * The directory that a store is about, and where it was inside, both the caller's to free; says where what is in it may be torn.
 * YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: it does not tell.
 */
_must_check_ int work_find_places(const char *id, char **ret_source, char **ret_target, struct yett_error *error);

/* One line for each store of a sandbox in which something is hidden: what. */
void work_note_hidden(const char *sandbox);

/* One line: what was changed at `target` inside is in the store of that id. */
void work_note_kept(const char *target, const char *store);

/* One line for each store that a sandbox has left: what was changed where, and how it is thrown away. */
void work_note(const char *sandbox);
