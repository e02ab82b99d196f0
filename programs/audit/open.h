/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the files of the audit. This is the only thing that yett-audit does as root, and it reads
 * no content of them.
 *
 * It opens two segments: the last one that holds anything, and an empty one after it, so that the
 * log writer can switch to that without opening a file. An empty segment at the end is not part of
 * the records yet.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

struct open_files {
	int state, segment,
		next; /* Segments are open for appending. segment -1: no segment holds anything. */
	uint32_t segment_number, next_number;
	uint64_t bytes; /* of all segments */
};

/*
 * Opens the files in the directory `path`, which is made if its parent exists. Waits until no other
 * process has them locked. Reserves `room` bytes for the empty segment and makes it append-only, if
 * the file system supports that. Returns 0 or -errno; -EPERM: the directory or a file does not
 * belong to this user alone.
 */
_must_check_ int open_files(const char *path, uint64_t room, struct open_files *ret_files);
