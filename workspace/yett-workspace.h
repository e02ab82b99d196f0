/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyett-workspace: keeps the changes of copy-on-write shares of libyett in stores. Lists and
 * removes stores, takes snapshots of them, restores and forks them. The library needs no privilege
 * and no helper, starts no thread, installs no signal handler and keeps no global state.
 */
#pragma once

/*
 * Conventions
 *
 * As in yett.h: a function that can fail returns 0, or a positive enum yett_code and the reason in
 * `error` (`error` may be NULL). Output parameters are written only on success. Structs grow at
 * their end, and each begins with its size. yett_workspace_free() frees what this library returns
 * in an output parameter, with all that it points to; yett_free() frees only what libyett returns.
 * Any number of threads and processes may call these functions at once: locks on the files of a
 * store order them.
 */

#include "yett.h"

#ifdef __cplusplus
extern "C" {
#endif

#define YETT_API        __attribute__((visibility("default")))
#define YETT_MUST_CHECK __attribute__((warn_unused_result))

/* --- workspace -------------------------------------------------------------------------------- */

/*
 * What libyett needs to make and use stores: the value of yett_connect_options.workspace. The
 * result is constant, exists as long as the library is loaded, and may be used for any number of
 * connections.
 */
YETT_API const struct yett_workspace *yett_workspace(void);

/* Frees what a function of this library returned, with all that it points to. Takes NULL. */
YETT_API void yett_workspace_free(void *memory);

/*
 * Reads the names to hide in copy-on-write shares of sandboxes of a profile (NULL: "default"), as
 * yett_share.hide takes them: one name on each line of /etc/yett/hide.d/PROFILE (the
 * administrator's list) and ~/.config/yett/hide.d/PROFILE (the caller's list). Returns at most 1024
 * names as a list that ends with NULL and may be empty; one yett_workspace_free() frees it. The
 * list protects the caller; neither the library nor the helper enforces it. YETT_E_INVALID_REQUEST:
 * `hide` does not take a line of the list. YETT_E_FILE_OPERATION_FAILED.
 */
YETT_API YETT_MUST_CHECK int yett_hide_list(const char *profile, const char *const **ret_names,
                                            struct yett_error *error);

/*
 * Reads the names that yett-apply applies only if they are named explicitly, besides those that
 * yett-apply always protects: the lines of /etc/yett/protect and ~/.config/yett/protect. A line is
 * a name, or up to four names with '/' between them. It applies at any depth, with everything
 * below. "*" at the beginning or end of a name matches anything. Result and errors are those of
 * yett_hide_list().
 */
YETT_API YETT_MUST_CHECK int yett_protect_list(const char *const **ret_names,
                                               struct yett_error *error);

/* --- work ------------------------------------------------------------------------------------- */

/*
 * Each share with YETT_SHARE_COW, except one with memory_bytes, has a store: a directory
 * $XDG_STATE_HOME/yett/work/ID, which exists until it is discarded. Without that variable the path
 * begins with ~/.local/state, in the home directory of the user database. A sandbox may have chosen
 * the names and contents of a store's files.
 */
struct yett_work {
	size_t size;
	char id[YETT_ID_SIZE];
	/* False: the request for its sandbox failed or is in progress, and the texts are empty. */
	bool is_complete;
	bool is_used;       /* a sandbox works on the store */
	const char *source; /* the directory outside; this and the following come from the store */
	const char *target; /* where the share is inside */
	/* The sandbox's id; empty: the store is a fork that no sandbox has worked on. */
	const char *sandbox;
	/* Milliseconds since 1970; changes of `source` after this time are newer than the store. */
	uint64_t created_ms;
	const char *store; /* path of the store; its "upper" has the changes */
	uint64_t inode;    /* of `source` when the store was made; 0: unknown */
	/*
	 * The store was last used in an earlier boot of the machine. If that boot ended in a crash,
	 * files that were written shortly before may be incomplete.
	 */
	bool is_earlier_boot;
	/* Hidden paths, relative to `source`; most of them may not exist. */
	const char *const *hidden;
	size_t hidden_count;
	const char *name; /* the sandbox's name; empty: none */
	bool is_changed;  /* something was changed, or the store has snapshots */
};

struct yett_work_list;

/* Lists all stores of the caller's, in no order. Free *ret_list with yett_workspace_free(). */
YETT_API YETT_MUST_CHECK int yett_works_list(struct yett_work_list **ret_list,
                                             struct yett_error *error);

/* Like yett_sandbox_list_count() and yett_sandbox_list_get(). */
YETT_API size_t yett_work_list_count(const struct yett_work_list *list);
YETT_API const struct yett_work *yett_work_list_get(const struct yett_work_list *list, size_t i);

/*
 * Finds the store that `name` means: a store's own id, which takes precedence; or the id or name of
 * the sandbox that works on the store or was the last to do so. If several sandboxes have the same
 * name, the newest store decides; a program that acts on a name should report which store that is.
 * `name` NULL: the newest changed store whose source is the current directory or one above it.
 * *ret_work belongs to the list. YETT_E_NOT_FOUND. YETT_E_INVALID_REQUEST: the sandbox has several
 * stores, which the error lists. YETT_E_FILE_OPERATION_FAILED: the current directory cannot be
 * determined.
 */
YETT_API YETT_MUST_CHECK int yett_work_find(const struct yett_work_list *list, const char *name,
                                            const struct yett_work **ret_work,
                                            struct yett_error *error);

/*
 * Removes a store with everything in it. YETT_E_NOT_FOUND. YETT_E_INVALID_REQUEST: a sandbox,
 * yett-apply or a snapshot call uses the store, an apply of the store ended half-way, or the store
 * holds files that yett-apply could not put back. YETT_E_FILE_OPERATION_FAILED.
 */
YETT_API YETT_MUST_CHECK int yett_work_discard(const char *id, struct yett_error *error);

/*
 * Does the same, but only for a store without changes and snapshots; otherwise
 * YETT_E_INVALID_REQUEST.
 */
YETT_API YETT_MUST_CHECK int yett_work_discard_unchanged(const char *id, struct yett_error *error);

/* --- snapshot --------------------------------------------------------------------------------- */

/*
 * A state of a store that can be restored. Taking and restoring a snapshot require that no sandbox
 * works on the store and that no other of these calls is in progress: otherwise
 * YETT_E_INVALID_REQUEST. YETT_E_NOT_FOUND: the store or the snapshot does not exist. After an
 * error the store shows what it showed before.
 */
struct yett_snapshot {
	size_t size;
	const char *name;
	uint64_t created_ms; /* milliseconds since 1970 */
	/*
	 * The snapshot consists of so many of the store's layers: those in "layers", then those in
	 * "pending".
	 */
	uint32_t layers;
	/*
	 * Taken in an earlier boot of the machine. If that boot ended in a crash, files that were
	 * written shortly before may be incomplete.
	 */
	bool is_earlier_boot;
};

struct yett_snapshot_list;

/*
 * Takes a snapshot of what a store holds now. `name` has at most 63 of a-z, 0-9, '.', '_' and '-',
 * and begins with a letter or digit. NULL: the library chooses the lowest unused number. *ret_name
 * (`ret_name` may be NULL) is the name, to be freed with yett_workspace_free().
 * YETT_E_ALREADY_EXISTS. YETT_E_RESOURCE_LIMIT: the store has as many snapshots as it can have.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_take(const char *work, const char *name, char **ret_name,
                                                struct yett_error *error);

/*
 * Does the same even while a sandbox works on the store; the caller must have paused that sandbox.
 * The changes are then copied, as in yett_snapshot_fork(). YETT_E_FILE_OPERATION_FAILED: they
 * cannot be copied, or there is no room.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_take_used(const char *work, const char *name,
                                                     char **ret_name, struct yett_error *error);

/*
 * Lists the snapshots of a store, the oldest first, even while a sandbox works on the store. Free
 * *ret_list with yett_workspace_free().
 */
YETT_API YETT_MUST_CHECK int yett_snapshots_list(const char *work,
                                                 struct yett_snapshot_list **ret_list,
                                                 struct yett_error *error);
YETT_API size_t yett_snapshot_list_count(const struct yett_snapshot_list *list);
YETT_API const struct yett_snapshot *yett_snapshot_list_get(const struct yett_snapshot_list *list,
                                                            size_t i);

/*
 * Deletes a snapshot, even while a sandbox works on the store. The current contents of the store do
 * not change. If no sandbox works on the store, layers that no other snapshot needs separately are
 * merged, which frees room.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_delete(const char *work, const char *name,
                                                  struct yett_error *error);

/* Bits of the flags of yett_snapshot_rollback(). */
enum yett_rollback_flag {
	YETT_ROLLBACK_DELETE_LATER = 1,
	/*
	 * Change nothing; only report whether the call would be refused, ignoring a sandbox that
	 * works on the store.
	 */
	YETT_ROLLBACK_CHECK = 2,
};

/*
 * Restores what the store held when the snapshot was taken; all later changes are lost. Later
 * snapshots are deleted, which requires YETT_ROLLBACK_DELETE_LATER. YETT_E_INVALID_REQUEST: there
 * are later snapshots and the flag is not set, or an apply of the store ended half-way.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_rollback(const char *work, const char *name,
                                                    uint32_t flags, struct yett_error *error);

/* Bits of the flags of yett_snapshot_fork(). */
enum yett_fork_flag { YETT_FORK_USED = 1 };

/*
 * Makes another store for the same directory, with a copy of the snapshot (`name` NULL: of what the
 * store holds now) and of the snapshots up to that point. `ret_id` receives the id of the new
 * store. With YETT_FORK_USED this works even while a sandbox works on the store; the caller must
 * have paused that sandbox.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_fork(const char *work, const char *name, uint32_t flags,
                                                char ret_id[YETT_ID_SIZE],
                                                struct yett_error *error);

#undef YETT_API
#undef YETT_MUST_CHECK

#ifdef __cplusplus
}
#endif
