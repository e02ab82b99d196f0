/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes whiteouts in a layer of an overlay for names that this layer lacks and a lower layer has.
 * The lower layer can then be put under this layer, and nothing becomes visible that was not
 * visible before. Runs with the caller's privilege, on directories of stores. No symbolic link is
 * followed.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct cover {
	int store;
	/*
	 * Record modes and times of directories of the upper layer in the store before changing
	 * them.
	 */
	bool is_kept;
};

/*
 * Covers, in the layer `name` of the store, what is in `below`. Restores the modes and times of the
 * directories at the end. If the process is killed half-way, the next call restores them, provided
 * that is_kept was set. Returns 0 or -errno. kernel: filesystems/overlayfs.rst
 */
_must_check_ int cover_layer(const struct cover *cover, int below, const char *name);

/* Removes the records. Call this when everything was covered. Returns 0 or -errno. */
_must_check_ int cover_end(const struct cover *cover);
