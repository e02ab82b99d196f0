/*
 * What only the client can say of a refusal: which directory of the host it was, and what to do
 * about a key.
 *
 * With the caller's privilege.
 */
#pragma once

#include "libclient/yett.h"

/* Of a share that the policy refuses by its place inside: the directory outside, from the
 * descriptors and places of all. Else nothing. */
void refusal_name_share(const char *const *targets, const int *fds, size_t count,
                        struct yett_error *error);

/* Of a key that is not known: how it becomes known. Else nothing. */
void refusal_mend_key(struct yett_error *error);
