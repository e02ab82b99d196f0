/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and merges layers of overlays. Runs with the caller's privilege, on directories of stores
 * that nobody else uses at the time. No symbolic link is followed, and nothing is opened whose
 * open(2) could block.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"

#define WORK_COPY_PATH  512
#define WORK_COPY_DEPTH 240 /* depth of directories; each level takes four descriptors */

struct work_copy {
	char failed[WORK_COPY_PATH]; /* the path that could not be copied */
	void *linked; /* files with several names; only used during a copy: work_copy.c */
};

/*
 * Copies the directory `from`, with everything in it, to the empty directory `to`: contents (by
 * reflink if the file system has that), modes, times, groups, attributes and ACLs, hard links,
 * whiteouts, and the overlay's attributes. Returns 0 or -errno.
 */
_must_check_ int work_copy_layer(struct work_copy *copy, int from, int to);

/*
 * Merges `below`, a layer, under the layer in `to`: `to` then shows what both showed together.
 * Returns 0 or -errno. kernel: filesystems/overlayfs.rst
 */
_must_check_ int work_copy_below(struct work_copy *copy, int below, int to);

/*
 * Whether an entry of a layer is a whiteout, which marks a removed name; and whether a directory is
 * opaque, so that directories in lower layers do not show through.
 */
bool work_copy_is_whiteout(const struct stat *st);
bool work_copy_is_opaque(int directory);
