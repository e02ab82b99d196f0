/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds to a refusal what only the client knows: which directory of the host was refused, and how to
 * enroll a key.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "libclient/yett.h"

/*
 * If the policy refused a share by its place inside: adds the path on the host, found by comparing
 * `targets` with the refused place and reading the path of the descriptor at the same index.
 * Otherwise changes nothing.
 */
void refusal_name_share(const char *const *targets, const int *fds, size_t count,
                        struct yett_error *error);

/* If the key is not known: adds how to enroll it. Otherwise changes nothing. */
void refusal_mend_key(struct yett_error *error);
