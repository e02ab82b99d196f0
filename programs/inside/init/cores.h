/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether kernel.core_pattern lets a command have core files. The setting is the same in
 * all namespaces. Core files are allowed only if the kernel writes them into the command's working
 * directory, which is inside the sandbox. A pattern that starts a program, uses a socket or names a
 * path would act on the host. core(5)
 *
 * init checks the setting when it builds the sandbox and again for every command, because root may
 * change it at any time.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define CORES_PATTERN_SIZE 256 /* the kernel's limit is 128 */

/* Reads the setting, without the newline. Returns 0 or -errno. */
_must_check_ int cores_read(char pattern[static CORES_PATTERN_SIZE]);

/* Whether the pattern is a plain file name in the current directory. Pure. */
bool cores_are_files(const char *pattern);

/* Fills `error` with the reason and a hint. Returns `code`. */
int cores_refuse(const char *pattern, enum yett_code code, struct yett_error *error);
