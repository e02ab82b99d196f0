/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a directory that is open as a stream, with the errors that readdir(3) reports only
 * by errno. A caller that took an error for the end would act on a part of the directory.
 *
 * No privilege.
 */
#pragma once

#include <dirent.h>

#include "base/fd.h"

/*
 * Reads the next entry other than "." and "..": NULL at the end of the directory. Returns 0, or
 * -errno with *ret_entry left alone.
 */
_must_check_ int entries_next(DIR *entries, const struct dirent **ret_entry);
