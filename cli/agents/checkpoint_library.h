/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libyett-checkpoint when `yett checkpoint` needs it.
 *
 * Runs as the caller. If yett were linked with the library, every other subcommand would load it
 * and SQLite, too, and would take a third longer to start.
 */
#pragma once

#include "base/error.h"
#include "checkpoint/yett-checkpoint.h"

/* The functions of the library that are used. */
#define CHECKPOINT_FUNCTIONS(X)          \
	X(yett_checkpoint_store_open)    \
	X(yett_checkpoint_store_close)   \
	X(yett_checkpoint_put)           \
	X(yett_checkpoint_get)           \
	X(yett_checkpoint_latest)        \
	X(yett_checkpoints_list)         \
	X(yett_checkpoint_history)       \
	X(yett_checkpoint_time_id)       \
	X(yett_checkpoint_delete)        \
	X(yett_checkpoint_delete_thread) \
	X(yett_checkpoint_rollback)      \
	X(yett_checkpoint_list_count)    \
	X(yett_checkpoint_list_get)      \
	X(yett_checkpoint_list_free)     \
	X(yett_checkpoint_free)

struct checkpoint_library {
#define X(function) __typeof__(&function) function;
	CHECKPOINT_FUNCTIONS(X)
#undef X
};

/*
 * Loads the library, which stays loaded. YETT_E_UNSUPPORTED: the library cannot be loaded, or lacks
 * a function.
 */
_must_check_ int checkpoint_library_load(struct checkpoint_library *library,
                                         struct yett_error *error);
