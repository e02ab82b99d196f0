/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that requests call for stores, which keep the changes of copy-on-write shares.
 *
 * libyett-workspace has these functions; a program passes them in yett_connect_options.workspace.
 * So libyett links and includes nothing of workspace/. The two structs are an interface between two
 * shared libraries: they only grow, at their end, and each begins with its size. The functions run
 * with the caller's privilege, on directories of the caller.
 */
#pragma once

#include "base/error.h"

/* The directory of all stores, in the state directory of the caller (home_find_state()). */
#define WORKSPACE_STORES "work"

/* The stores of one request, the last one first; NULL: none. Only libyett-workspace looks inside.
 */
struct work;

/* A copy-on-write share whose changes go to a store. */
struct workspace_share {
	size_t size;        /* of this struct in libyett */
	int source;         /* descriptor of the directory that is shared; borrowed */
	const char *name;   /* of the share, in errors */
	const char *target; /* path inside */
	/* Use the store that find() put at the front of the list; false: make a new store. */
	bool is_found;
	const char *const *hide, *const *no_hide; /* as in struct yett_share */
};

struct yett_workspace {
	size_t size; /* of this struct in the library that has the functions */
	/*
	 * Opens the existing store `id`, and puts it at the front of `*works`. The two texts belong
	 * to it. YETT_E_NOT_FOUND. YETT_E_SECURITY_VIOLATION: it belongs to another user, or others
	 * may use it. YETT_E_INVALID_REQUEST: the store is incomplete.
	 */
	int (*find)(const char *id, struct work **works, const char **ret_source,
	            const char **ret_target, struct yett_error *error);
	/*
	 * Makes the share's store and puts it at the front of `*works`, or prepares the one that
	 * find() put there. *ret_store is a descriptor of its directory, which belongs to it.
	 */
	int (*prepare)(const struct workspace_share *share, struct work **works, int *ret_store,
	               struct yett_error *error);
	/*
	 * keep(): the request made the sandbox `sandbox` (an id), whose name may be empty; the
	 * stores stay. drop(): the request failed; removes the stores that were made for it. Both
	 * free the list and set `*works` to NULL.
	 */
	void (*keep)(struct work **works, const char *sandbox, const char *name);
	void (*drop)(struct work **works);
};
