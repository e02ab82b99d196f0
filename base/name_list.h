/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lists of names, such as /etc/yett/secret: a line is a name, a comment or empty. Runs as the
 * caller, on files of the administrator and of the caller.
 */
#pragma once

#include "base/error.h"

#define NAME_LIST_MAX 1024

/*
 * Whether a list may have `name`; `path` is its file. Returns 0 or a code with the reason in
 * `error`.
 */
typedef int name_list_check(const char *path, const char *name, struct yett_error *error);

/*
 * Reads the administrator's list, /etc/yett/`name`, and then the caller's, ~/.config/yett/`name`.
 * Returns at most NAME_LIST_MAX names as a list that ends with NULL and is freed with one
 * memory_free(). A list that does not exist is empty. YETT_E_INVALID_REQUEST: `check` refuses a
 * line, or there are too many. YETT_E_FILE_OPERATION_FAILED.
 */
_must_check_ int name_list_read(const char *name, name_list_check *check,
                                const char *const **ret_names, struct yett_error *error);
