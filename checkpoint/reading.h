/* SPDX-License-Identifier: Apache-2.0 */
/* Finds checkpoints by id. Runs with the caller's privilege. */
#pragma once

#include "checkpoint/record.h"
#include "checkpoint/store.h"

/*
 * Returns the checkpoint with that id, with its state. YETT_E_NOT_FOUND: there is none, or it
 * belongs to another thread than `thread` (NULL: any thread). Free it with yett_checkpoint_free().
 */
_must_check_ int reading_find(const struct database *database, const uint8_t id[static UUID_SIZE],
                              const char *thread, struct yett_checkpoint **ret_checkpoint,
                              struct yett_error *error);

/* Sets `error` and returns YETT_E_NOT_FOUND. */
int reading_not_found(const uint8_t id[static UUID_SIZE], struct yett_error *error);
