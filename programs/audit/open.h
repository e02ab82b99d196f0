/*
 * The files of the audit, opened: the only thing that yett-audit does as root. It reads not one
 * byte of what is in them.
 *
 * Two segments: the last one that holds anything, and an empty one after it, so that the book can
 * go on to that by itself. An empty segment at the end is none of the record yet.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

struct open_files {
	int state, segment,
		next; /* the segments: to be appended to. segment -1: none holds anything */
	uint32_t segment_number, next_number;
	uint64_t bytes; /* of all segments */
};

/*
 * Opens them in the directory `path`, which is made where its parent is there, and waits until no
 * other process has them. An empty segment gets room for `room` bytes, where there is as much, and
 * is made append-only, where the file system knows that. 0, or -errno: -EPERM for a directory or a
 * file that is not this user's alone.
 */
_must_check_ int open_files(const char *path, uint64_t room, struct open_files *ret_files);
