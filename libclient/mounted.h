/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts of a sandbox, as yett-files reports them from inside. */
#pragma once

#include "base/memory.h"
#include "libclient/worker.h"

/* Makes an empty list. NULL: no memory. */
struct yett_mount_list *mounted_new(void);

/*
 * Adds the mounts of one message to the list. Returns 0. YETT_E_OUT_OF_MEMORY.
 * YETT_E_RESOURCE_LIMIT: more mounts than the kernel allows.
 */
_must_check_ int mounted_take(const struct message *message, struct yett_mount_list *list,
                              struct yett_error *error);
