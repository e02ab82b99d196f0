/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains a failed creation of a sandbox by the container around the caller, which can deny things
 * to a helper that has no more privilege than the caller.
 *
 * Runs with the caller's privilege; reads only /proc/self/mountinfo.
 */
#pragma once

#include "libclient/yett.h"

/*
 * Replaces an error that says only that mounting /proc failed by its reason and a hint, if the
 * reason is known. Leaves every other error unchanged. Returns the code of the error. Call this
 * only for a helper without root's privilege.
 */
int container_explain(int code, struct yett_error *error);
