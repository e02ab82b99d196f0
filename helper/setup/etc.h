/*
 * The sandbox's /etc: a small copy of what the policy names, and a few files of our own.
 *
 * Read with privilege from the host's /etc, but only what everyone may read; nothing else is ever copied. What belongs
 * to one user (passwd, group) is a link to the sandbox's own /run/yett.
 */
#pragma once

#include "base/fd.h"
#include "helper/policy/policy.h"

#define ETC_TREES_MAX 64

/* Directories of the host's that are not copied: clones of their mounts, to be attached at /etc/PATH. */
struct etc_trees {
	size_t count;
	struct {
		int tree;
		const char *path; /* of the list of names */
	} items[ETC_TREES_MAX];
};

/*
 * Makes `etc` in the directory `root`, with our own files and copies of the named ones of /etc, all owned by `owner` (UINT32_MAX:
 * by whoever we are). What does not exist is left out. With `trees`, which then are the caller's to close, a named directory in which
 * everything is for everyone to read is not copied: it is the host's own, read-only, and its place is left empty. 0 or -errno.
 */
_must_check_ int etc_copy(const struct policy_list *names, int root, uint32_t owner, struct etc_trees *trees);
