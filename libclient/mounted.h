/* What is mounted in a sandbox, as yett-files inside tells it. */
#pragma once

#include "libclient/memory.h"
#include "libclient/worker.h"

/* An empty list; NULL: no memory. */
struct yett_mount_list *mounted_new(void);

/* Takes what one message says. 0; YETT_E_OUT_OF_MEMORY; YETT_E_RESOURCE_LIMIT: more than there can
 * be. */
_must_check_ int mounted_take(const struct message *message, struct yett_mount_list *list,
                              struct yett_error *error);
