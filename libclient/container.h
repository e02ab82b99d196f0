/*
 * What a container around the caller keeps from a helper that has no more privilege than it, told
 * once a sandbox could not be made.
 *
 * With the caller's privilege; reads /proc/self/mountinfo alone.
 */
#pragma once

#include "libclient/yett.h"

/*
 * Puts the reason and its mend in the place of an error that says only that mounting /proc failed,
 * where it is known; leaves any other as it is. Returns the code of the error. Has no meaning for a
 * helper that is root's.
 */
int container_explain(int code, struct yett_error *error);
