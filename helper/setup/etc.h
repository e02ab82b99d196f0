/*
 * The sandbox's /etc: a small copy of what the policy names, and a few files of our own.
 *
 * Read with privilege from the host's /etc, but only what everyone may read; nothing else is ever copied. What belongs
 * to one user (passwd, group) is a link to the sandbox's own /run/yett.
 */
#pragma once

#include "base/fd.h"
#include "helper/policy/policy.h"

/*
 * Makes `etc` in the directory `root`, with our own files and copies of the named ones of /etc, all owned by `owner` (UINT32_MAX:
 * by whoever we are). What does not exist is left out. 0 or -errno.
 */
_must_check_ int etc_copy(const struct policy_list *names, int root, uint32_t owner);
