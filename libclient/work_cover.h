/*
 * Whiteouts for what one layer of an overlay has and the one above it has not, so that the lower
 * one can come under it and nothing shows that did not before. With the caller's privilege, on
 * directories of stores; no name is followed that leads elsewhere.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct cover {
	int store;
	bool is_kept; /* what a directory of the upper layer was like is written down in the store
	                 before it is changed */
};

/*
 * Covers in `name`, a layer of the store, what is in `below`. Modes and times of its directories
 * are as before in the end; where it was ended half-way, and is_kept, then at the end of the next
 * call. 0 or -errno. kernel: filesystems/overlayfs.rst
 */
_must_check_ int cover_layer(const struct cover *cover, int below, const char *name);

/* Nothing is half-way any more. 0 or -errno. */
_must_check_ int cover_end(const struct cover *cover);
