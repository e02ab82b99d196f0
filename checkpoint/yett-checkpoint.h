/*
 * libyett-checkpoint: states of agents, kept so that a thread of their work can be gone on with,
 * looked through and gone back in.
 *
 * A store has checkpoints, each of one thread, which is any text that the caller has for it. Every
 * checkpoint but a thread's first has a parent. What a state is only its owner knows: bytes. A
 * checkpoint may name a snapshot of a sandbox, so that who takes a thread back knows where to take
 * its sandbox back to; the library does nothing with that.
 *
 * The library needs no privilege and no helper, starts no thread, installs no signal handler and
 * keeps no global state. A store is used by one thread of a program at a time, and not by a child
 * that fork(2) made; any number of them, in any number of processes, can be of one file.
 *
 * Functions that can fail return 0, or a positive enum yett_code with the reason in `error` (which
 * may be NULL). An output parameter is written only on success; counts, and what
 * yett_checkpoint_put() and yett_checkpoint_rollback() tell, may be NULL. A function that failed
 * has changed nothing. Structs of options begin with their size and grow at their end: in them
 * `.size = sizeof options`, and every other member that is not set is zero.
 */
#pragma once

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
	YETT_CHECKPOINT_MEMORY = 1,   /* it is in the memory of this process, and gone when it is
	                                 closed; `path` is NULL */
	YETT_CHECKPOINT_EXISTING = 2, /* where there is no file it is not made: YETT_E_NOT_FOUND */
	/* What is put is handed to the disk later: after a power cut the last of it may be missing,
	   and nothing else. */
	YETT_CHECKPOINT_LAZY = 4,
};

#define YETT_CHECKPOINT_UNLIMITED UINT64_MAX

/*
 * Limits count for what is put through this store, and are not kept in its file. Where one is
 * passed, the oldest checkpoints go, never the one that is put. 0: the default, which stands behind
 * each; YETT_CHECKPOINT_UNLIMITED: none.
 */
struct yett_checkpoint_store_options {
	size_t size;
	/* NULL: checkpoints.db in $XDG_STATE_HOME/yett, or in ~/.local/state/yett, home as the user
	 * database has it; that directory is made. */
	const char *path;
	uint32_t flags;      /* enum yett_checkpoint_store_flag, or-ed */
	uint32_t timeout_ms; /* how long others that write are waited for; 0: 10 seconds */
	uint64_t state_max;  /* bytes of a state: 16 MiB, and at most 512 MiB. What is larger is
	                        refused */
	uint64_t thread_max; /* checkpoints of a thread: 1000 */
	uint64_t total_max;  /* checkpoints in all: 10000 */
	uint64_t bytes_max;  /* bytes of the file that are in use: 1 GiB */
	uint64_t ttl_ms; /* older checkpoints are removed when the store is opened, and at each put:
	                    unlimited */
};

/*
 * Opens a store; `options` may be NULL. Its file is an SQLite database of the caller's that nobody
 * else can read or write, in a directory of the caller's that nobody else can write, on a file
 * system of this machine, not of the network. What is put is on the disk when yett_checkpoint_put()
 * returns, unless the flags say otherwise. YETT_E_SECURITY_VIOLATION: the directory or file is
 * another's, or others have access to it, or it is a link. YETT_E_UNSUPPORTED: the file was made by
 * a later version, or the file system cannot have such a file. YETT_E_TIMEOUT: it is in use.
 * YETT_E_NOT_FOUND: there is no such directory, or file. YETT_E_FILE_OPERATION_FAILED: it is
 * something else than a store, damaged (os_error EUCLEAN), the disk is full (ENOSPC), or what the
 * system says. YETT_E_INVALID_REQUEST: the options cannot be.
 */
YETT_API YETT_MUST_CHECK int
yett_checkpoint_store_open(const struct yett_checkpoint_store_options *options,
                           struct yett_checkpoint_store **ret_store, struct yett_error *error);

/* Takes NULL. What the store gave stays until it is freed. */
YETT_API void yett_checkpoint_store_close(struct yett_checkpoint_store *store);

/* --- checkpoints ------------------------------------------------------------------------------ */

#define YETT_CHECKPOINT_ID_SIZE 37 /* a UUID as text, and a NUL */

/* bytes of the name of a thread, a node, a sandbox or a snapshot */
#define YETT_CHECKPOINT_TEXT_MAX   255
#define YETT_CHECKPOINT_TAG_MAX    64    /* bytes of a tag */
#define YETT_CHECKPOINT_TAGS_MAX   32    /* tags of a checkpoint */
#define YETT_CHECKPOINT_CUSTOM_MAX 65536 /* bytes of `custom` */

/*
 * What is known of a checkpoint, allocated by the library. The id is a UUID of version 7 (RFC
 * 9562, 5.7), in lower case: 48 bits of milliseconds since 1970, 12 bits of their fraction (6.2,
 * method 3), and 62 bits by chance. No other store has the same. In one store they are in the order
 * in which they were put, by whichever process: where the clock has not gone on, or was set back, a
 * time behind the last one's is taken.
 */
struct yett_checkpoint {
	size_t size;
	const char *id;
	const char *thread;
	const char *parent; /* the nearest ancestor that is still there; NULL: none */
	const void *state;  /* NULL where it was not asked for: in lists, and of what was put */
	size_t state_size;  /* also there */
	int64_t step;       /* what its owner counts; 0 unless set */
	const char *node;   /* which part of a program it is of; NULL: not set */
	const char *const *tags; /* ends with NULL */
	const char *custom;      /* a JSON object, without spaces; NULL: not set */
	const char *sandbox;     /* the id of a sandbox; NULL: not set */
	const char *snapshot;    /* the name of a snapshot of that sandbox; NULL: not set */
	uint64_t created_ms;     /* since 1970; the time in the id */
};

struct yett_checkpoint_list;

/* Texts are UTF-8 without control characters, and copied. */
struct yett_checkpoint_put_options {
	size_t size;
	const char *thread; /* not empty */
	const char *parent; /* an id of this store, of this thread or another; NULL: the last of
	                       this thread, none where there is none */
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
 * Puts a checkpoint, and tells it without its state. *ret_pruned is how many others had to go, by
 * limits and by time. YETT_E_NOT_FOUND: there is no such parent. YETT_E_INVALID_REQUEST: something
 * is longer than it may be, or no text, or no JSON. YETT_E_TIMEOUT: others keep the store from
 * being written. YETT_E_FILE_OPERATION_FAILED as for yett_checkpoint_store_open().
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_put(struct yett_checkpoint_store *store,
                                                 const struct yett_checkpoint_put_options *options,
                                                 struct yett_checkpoint **ret_checkpoint,
                                                 uint64_t *ret_pruned, struct yett_error *error);

/* The checkpoint of an id, and the last one of a thread, with their states. YETT_E_NOT_FOUND. Free
 * with yett_checkpoint_free(). */
YETT_API YETT_MUST_CHECK int yett_checkpoint_get(struct yett_checkpoint_store *store,
                                                 const char *id,
                                                 struct yett_checkpoint **ret_checkpoint,
                                                 struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_checkpoint_latest(struct yett_checkpoint_store *store,
                                                    const char *thread,
                                                    struct yett_checkpoint **ret_checkpoint,
                                                    struct yett_error *error);

/* All that is set has to fit. */
struct yett_checkpoint_list_options {
	size_t size;
	const char *thread; /* NULL: of all */
	const char *tag;    /* NULL: with any */
	const char *before; /* an id, which need not be there: only what was put before it; NULL: no
	                       bound */
	const char *after;  /* only what was put after it */
	uint64_t limit;     /* so many of the last ones; 0: 100 */
};

/* Checkpoints without their states, the last one first; `options` may be NULL. To go on, `before`
 * is the id of the last item. */
YETT_API YETT_MUST_CHECK int
yett_checkpoints_list(struct yett_checkpoint_store *store,
                      const struct yett_checkpoint_list_options *options,
                      struct yett_checkpoint_list **ret_list, struct yett_error *error);

/* A checkpoint, its parent, and so on to the one that has none, without their states.
 * YETT_E_NOT_FOUND. */
YETT_API YETT_MUST_CHECK int yett_checkpoint_history(struct yett_checkpoint_store *store,
                                                     const char *id,
                                                     struct yett_checkpoint_list **ret_list,
                                                     struct yett_error *error);

/* The least id of a time, in milliseconds since 1970, for `before` and `after`: every checkpoint of
 * that time comes behind it. */
YETT_API void yett_checkpoint_time_id(uint64_t time_ms, char ret_id[YETT_CHECKPOINT_ID_SIZE]);

/* Removes a checkpoint. Those whose parent it was get its parent. YETT_E_NOT_FOUND. */
YETT_API YETT_MUST_CHECK int yett_checkpoint_delete(struct yett_checkpoint_store *store,
                                                    const char *id, struct yett_error *error);

/* Removes all checkpoints of a thread, and tells how many they were: not 0, but YETT_E_NOT_FOUND.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_delete_thread(struct yett_checkpoint_store *store,
                                                           const char *thread,
                                                           uint64_t *ret_removed,
                                                           struct yett_error *error);

/*
 * Takes a thread back to one of its checkpoints, which then is its last one: all that were put in
 * that thread after it are removed, its descendants and those of other branches, at once or not at
 * all. Other threads stay as they are. Tells how many were removed, and the checkpoint with its
 * state. YETT_E_NOT_FOUND: that thread has no such checkpoint.
 */
YETT_API YETT_MUST_CHECK int yett_checkpoint_rollback(struct yett_checkpoint_store *store,
                                                      const char *thread, const char *id,
                                                      struct yett_checkpoint **ret_checkpoint,
                                                      uint64_t *ret_removed,
                                                      struct yett_error *error);

YETT_API size_t yett_checkpoint_list_count(const struct yett_checkpoint_list *list);

/* Item `i` of the list, which it belongs to; NULL: there are fewer. */
YETT_API const struct yett_checkpoint *
yett_checkpoint_list_get(const struct yett_checkpoint_list *list, size_t i);

/* Each takes NULL. */
YETT_API void yett_checkpoint_list_free(struct yett_checkpoint_list *list);
YETT_API void yett_checkpoint_free(struct yett_checkpoint *checkpoint);

#undef YETT_API
#undef YETT_MUST_CHECK

#ifdef __cplusplus
}
#endif
