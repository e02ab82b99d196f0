/*
 * Whether the kernel writes the core file of a command into the command's own directory, which is
 * the sandbox's, or does with a crash what concerns the host: kernel.core_pattern, of which all
 * namespaces have the same. core(5)
 *
 * Asked by init, when it builds and whenever a command is started. Who may change the setting is
 * root, at any time.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define CORES_PATTERN_SIZE 256 /* the kernel has 128 */

/* The setting, without its line end. 0 or -errno. */
_must_check_ int cores_read(char pattern[static CORES_PATTERN_SIZE]);

/* The name of a file in the current directory, and nothing else. Pure. */
bool cores_are_files(const char *pattern);

/* Says why not, and what mends it. Returns `code`. */
int cores_refuse(const char *pattern, enum yett_code code, struct yett_error *error);
