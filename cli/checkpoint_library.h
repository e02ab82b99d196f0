/*
 * libyett-checkpoint as `yett checkpoint` uses it: loaded when that is asked for.
 *
 * Runs as the caller. Linked, it and SQLite would be loaded by every other subcommand as well,
 * which then would take a third longer to start.
 */
#pragma once

#include "base/error.h"
#include "checkpoint/yett-checkpoint.h"

/* All that is used of it. */
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

/* It stays loaded. YETT_E_UNSUPPORTED: it is not there. */
_must_check_ int checkpoint_library_load(struct checkpoint_library *library,
                                         struct yett_error *error);
