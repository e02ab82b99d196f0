/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyett-checkpoint: saves states of agents, so that a thread of work can be resumed, inspected
 * and rolled back. The library needs no privilege and no helper, starts no thread, installs no
 * signal handler and keeps no global state.
 *
 * A store has checkpoints. Each belongs to one thread, named by any text that the caller chooses.
 * Every checkpoint has a parent, except the first of a thread. The library treats a state as bytes.
 * A checkpoint can name a snapshot of a sandbox, so that a caller who rolls a thread back knows
 * which snapshot to restore; the library itself does nothing with that name.
 */
#pragma once

/*
 * Conventions
 *
 * Only one thread of a program may use a store at a time, and a child of fork(2) may not use its
 * parent's store. Any number of stores, in any number of processes, can be open on one file.
 *
 * Functions that can fail return 0, or a positive enum yett_code and the reason in `error` (`error`
 * may be NULL). Output parameters are written only on success. Counts may be NULL, and so may the
 * checkpoint that yett_checkpoint_put() and yett_checkpoint_rollback() return. A function that
 * fails changes nothing.
 *
 * Structs of options begin with their size and grow at their end. The caller sets `.size = sizeof
 * options` and zeroes every member that it does not set.
 */

#include <stddef.h>
#include <stdint.h>

#include "yett_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define YETT_API        __attribute__((visibility("default")))
#define YETT_MUST_CHECK __attribute__((warn_unused_result))

/* --- stores ----------------------------------------------------------------------------------- */

struct yett_checkpoint_store;

/* Bits of yett_checkpoint_store_options.flags. */
enum yett_checkpoint_store_flag {
	/*
	 * keep the store in memory until it is closed; `path` must be NULL, and no other flag set
	 */
	YETT_CHECKPOINT_MEMORY = 1,
	YETT_CHECKPOINT_EXISTING = 2, /* do not make a missing file: YETT_E_NOT_FOUND */
	/* Write to the disk later: a power cut can lose the last checkpoints, but nothing else. */
	YETT_CHECKPOINT_LAZY = 4,
};

#define YETT_CHECKPOINT_UNLIMITED UINT64_MAX

/*
 * Limits apply to checkpoints that are put through this store; the file does not record them. When
 * a limit is exceeded, the oldest checkpoints are removed, never the one that is being put. 0 means
 * the default, given at each member. YETT_CHECKPOINT_UNLIMITED means no limit.
 */
struct yett_checkpoint_store_options {
	size_t size;
	/*
	 * The file of the store. NULL: checkpoints.db in $XDG_STATE_HOME/yett, or in
	 * ~/.local/state/yett if that is not an absolute path. `~` is the home directory in the
	 * user database (passwd(5)), not $HOME. The library makes the directory of that default
	 * file, unless YETT_CHECKPOINT_EXISTING is set.
	 */
	const char *path;
	uint32_t flags;      /* enum yett_checkpoint_store_flag, or-ed */
	uint32_t timeout_ms; /* how long to wait for other writers; 0: 10 seconds */
	/* bytes of a state; default 16 MiB, at most 512 MiB. Larger states are refused */
	uint64_t state_max;
	uint64_t thread_max; /* checkpoints of a thread; default 1000 */
	uint64_t total_max;  /* checkpoints in all; default 10000 */
	uint64_t bytes_max;  /* bytes in use in the file; default 1 GiB */
	/*
	 * age at which checkpoints are removed, when the store is opened and at each put; default
	 * unlimited
	 */
	uint64_t ttl_ms;
};

/*
 * Opens a store; `options` may be NULL. Its file is an SQLite database that the caller owns and
 * that nobody else can read or write, in a directory that the caller owns and that nobody else can
 * write, on a local file system. A checkpoint is on the disk when yett_checkpoint_put() returns,
 * unless the flags say otherwise. YETT_E_SECURITY_VIOLATION: the directory or file belongs to
 * another user, others have access to it, or it is a link. YETT_E_UNSUPPORTED: a later version made
 * the file, or the file system has no shared memory. YETT_E_TIMEOUT: another process keeps the file
 * locked. YETT_E_NOT_FOUND: the directory or the file does not exist. YETT_E_FILE_OPERATION_FAILED:
 * the file is not a store, it is damaged (os_error EUCLEAN), the disk is full (ENOSPC), or a system
 * call failed. YETT_E_INVALID_REQUEST: the options are invalid.
 */
YETT_API YETT_MUST_CHECK int
yett_checkpoint_store_open(const struct yett_checkpoint_store_options *options,
                           struct yett_checkpoint_store **ret_store, struct yett_error *error);

/* `store` may be NULL. Checkpoints and lists from the store stay valid until they are freed. */
YETT_API void yett_checkpoint_store_close(struct yett_checkpoint_store *store);

/* --- checkpoints ------------------------------------------------------------------------------ */

#define YETT_CHECKPOINT_ID_SIZE 37 /* a UUID as text, and a NUL */

/* bytes of the name of a thread, a node, a sandbox or a snapshot */
#define YETT_CHECKPOINT_TEXT_MAX   255
#define YETT_CHECKPOINT_TAG_MAX    64    /* bytes of a tag */
#define YETT_CHECKPOINT_TAGS_MAX   32    /* tags of a checkpoint */
#define YETT_CHECKPOINT_CUSTOM_MAX 65536 /* bytes of `custom` */

/*
 * A checkpoint, allocated by the library. The id is a UUID of version 7 (RFC 9562, 5.7), in lower
 * case: 48 bits of milliseconds since 1970, 12 bits of their fraction (6.2, method 3), and 62
 * random bits. No other store has the same id. Ids in one store sort in the order in which the
 * checkpoints were put, by any process: if the clock has not advanced since the last checkpoint, or
 * was set back, the new id gets a time just after the last one's.
 */
struct yett_checkpoint {
	size_t size;
	const char *id;
	const char *thread;
	const char *parent;      /* the nearest ancestor that still exists; NULL: none */
	const void *state;       /* NULL if not read: in lists, and in the result of a put */
	size_t state_size;       /* set even if `state` is NULL */
	int64_t step;            /* a number that the caller chose; 0 unless set */
	const char *node;        /* the part of the caller's program that made it; NULL: not set */
	const char *const *tags; /* ends with NULL */
	const char *custom;      /* a JSON object, without spaces; NULL: not set */
	const char *sandbox;     /* the id of a sandbox; NULL: not set */
	const char *snapshot;    /* the name of a snapshot of that sandbox; NULL: not set */
	uint64_t created_ms;     /* ms since 1970: the time in the id */
};

struct yett_checkpoint_list;

/* Texts are UTF-8 without control characters, and are copied. */
struct yett_checkpoint_put_options {
	size_t size;
	const char *thread; /* required; not empty */
	/*
	 * An id in this store, of this or another thread. NULL: the last checkpoint of this thread,
	 * or no parent if the thread has none.
	 */
	const char *parent;
	const void *state;
	size_t state_size; /* may be 0 */
	int64_t step;
	const char *node;
	const char *const *tags; /* ends with NULL; or NULL */
	const char *custom;      /* a JSON object */
	const char *sandbox;
	const char *snapshot; /* only with `sandbox` */
};

/*
 * Puts a checkpoint and returns it without its state. *ret_pruned is how many others were removed
 * because of limits or age. YETT_E_NOT_FOUND: the parent does not exist. YETT_E_INVALID_REQUEST: a
 * value is missing, too long, or not a valid text, id or JSON object, or the checkpoint alone would
 * exceed bytes_max. YETT_E_TIMEOUT: another process keeps the store locked.
 * YETT_E_FILE_OPERATION_FAILED: see yett_checkpoint_store_open().
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_put(struct yett_checkpoint_store *store,
                                                 const struct yett_checkpoint_put_options *options,
                                                 struct yett_checkpoint **ret_checkpoint,
                                                 uint64_t *ret_pruned, struct yett_error *error);

/*
 * Return the checkpoint with that id, or the last one of a thread, with its state.
 * YETT_E_NOT_FOUND: there is none. Free the result with yett_checkpoint_free().
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_get(struct yett_checkpoint_store *store,
                                                 const char *id,
                                                 struct yett_checkpoint **ret_checkpoint,
                                                 struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_checkpoint_latest(struct yett_checkpoint_store *store,
                                                    const char *thread,
                                                    struct yett_checkpoint **ret_checkpoint,
                                                    struct yett_error *error);

/* Filters. A checkpoint is listed if it matches all that are set. */
struct yett_checkpoint_list_options {
	size_t size;
	const char *thread; /* NULL: all threads */
	const char *tag;    /* NULL: with or without tags */
	/*
	 * An id, which need not exist: list only checkpoints that were put before the checkpoint
	 * with this id. NULL: no bound.
	 */
	const char *before;
	/*
	 * An id, which need not exist: list only checkpoints that were put after the checkpoint
	 * with this id. NULL: no bound.
	 */
	const char *after;
	uint64_t limit; /* at most this many, the newest; 0: 100 */
};

/*
 * Lists checkpoints without their states, newest first; `options` may be NULL. To get the next
 * page, set `before` to the id of the last item.
 */
YETT_API YETT_MUST_CHECK int
yett_checkpoints_list(struct yett_checkpoint_store *store,
                      const struct yett_checkpoint_list_options *options,
                      struct yett_checkpoint_list **ret_list, struct yett_error *error);

/*
 * Lists a checkpoint, its parent, and so on to the one without a parent, all without their states.
 * YETT_E_NOT_FOUND: there is no such checkpoint.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_history(struct yett_checkpoint_store *store,
                                                     const char *id,
                                                     struct yett_checkpoint_list **ret_list,
                                                     struct yett_error *error);

/*
 * Makes the smallest id of a time (ms since 1970), for `before` and `after`. Every checkpoint of
 * that time has a greater id.
 */
YETT_API void yett_checkpoint_time_id(uint64_t time_ms, char ret_id[YETT_CHECKPOINT_ID_SIZE]);

/*
 * Removes a checkpoint. Its children get its parent as theirs. YETT_E_NOT_FOUND: there is no such
 * checkpoint.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_delete(struct yett_checkpoint_store *store,
                                                    const char *id, struct yett_error *error);

/*
 * Removes all checkpoints of a thread. *ret_removed is their number. YETT_E_NOT_FOUND: the thread
 * has none.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_delete_thread(struct yett_checkpoint_store *store,
                                                           const char *thread,
                                                           uint64_t *ret_removed,
                                                           struct yett_error *error);

/*
 * Rolls a thread back to one of its checkpoints, which becomes its last one. All checkpoints that
 * were put in that thread after it are removed, including those of other branches, all at once or
 * none. Other threads do not change. Returns the checkpoint with its state, and how many were
 * removed. YETT_E_NOT_FOUND: the thread has no such checkpoint.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_rollback(struct yett_checkpoint_store *store,
                                                      const char *thread, const char *id,
                                                      struct yett_checkpoint **ret_checkpoint,
                                                      uint64_t *ret_removed,
                                                      struct yett_error *error);

YETT_API size_t yett_checkpoint_list_count(const struct yett_checkpoint_list *list);

/* Returns item `i`, which belongs to the list, or NULL if the list is shorter. */
YETT_API const struct yett_checkpoint *
yett_checkpoint_list_get(const struct yett_checkpoint_list *list, size_t i);

/* NULL is allowed. */
YETT_API void yett_checkpoint_list_free(struct yett_checkpoint_list *list);
YETT_API void yett_checkpoint_free(struct yett_checkpoint *checkpoint);

#undef YETT_API
#undef YETT_MUST_CHECK

#ifdef __cplusplus
}
#endif
