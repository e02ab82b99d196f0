/*
 * Layers of overlays, copied and put together. With the caller's privilege, on directories of
 * stores that nobody uses at the moment: no name is followed that leads elsewhere, and nothing is
 * opened that could hold the opener up.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"

#define WORK_COPY_PATH  512
#define WORK_COPY_DEPTH 240 /* of directories, of which each takes four descriptors */

struct work_copy {
	char failed[WORK_COPY_PATH]; /* what could not be copied */
	void *linked;                /* while it copies: work_copy.c */
};

/*
 * Copies all that is in `from` to `to`, an empty directory, and what it is itself: contents (by
 * reference, where the file system has that), modes, times, groups, attributes and ACLs, hard
 * links, whiteouts and marks of an overlay. 0 or -errno.
 */
_must_check_ int work_copy_layer(struct work_copy *copy, int from, int to);

/* Puts `below`, a layer, under the one that is in `to`: then that shows what both showed. kernel:
 * filesystems/overlayfs.rst */
_must_check_ int work_copy_below(struct work_copy *copy, int below, int to);

/* Of an entry in a layer: that it stands for nothing. Of a directory: that what is below does not
 * show through. */
bool work_copy_is_whiteout(const struct stat *st);
bool work_copy_is_opaque(int directory);
