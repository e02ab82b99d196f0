/*
 * The sandbox's /etc: a small copy of what the policy names, and a few files of our own.
 *
 * Read with privilege from the host's /etc, but only what everyone may read; nothing else is ever copied. What belongs
 * to one user (passwd, group) is a link to the sandbox's own /run/yett.
 */
#pragma once

#include "base/fd.h"
#include "helper/policy/policy.h"

struct etc;

/* Reads the named files, links and directories below /etc. What does not exist is left out. 0 or -errno. */
_must_check_ int etc_read(const struct policy_list *names, struct etc **ret_etc);

/* Writes them, and our own, into a new directory, owned by `owner`. 0 or -errno. */
_must_check_ int etc_write(const struct etc *etc, const char *directory, uint32_t owner);

void etc_free(struct etc *etc);
static inline void etc_freep(struct etc **etc)
{
	etc_free(*etc);
}
