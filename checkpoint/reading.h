/* Checkpoints that are found by their ids. With the caller's privilege. */
#pragma once

#include "checkpoint/record.h"
#include "checkpoint/store.h"

/*
 * The checkpoint of an id, with its state, if it is of this thread (NULL: of any).
 * YETT_E_NOT_FOUND, as which it is also told that it is of another. To be freed with
 * yett_checkpoint_free().
 */
_must_check_ int reading_find(const struct database *database, const uint8_t id[static UUID_SIZE],
                              const char *thread, struct yett_checkpoint **ret_checkpoint,
                              struct yett_error *error);

/* As an error. */
int reading_not_found(const uint8_t id[static UUID_SIZE], struct yett_error *error);
