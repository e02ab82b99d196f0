/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses values of the command line. Strict: no sign, no space, no locale; trailing characters are
 * an error.
 *
 * Pure: makes paths absolute without access to the file system.
 */
#pragma once

#include "base/error.h"

/*
 * Makes `path` absolute below `directory`, unless it is absolute already, and removes ".", ".." and
 * repeated slashes from the text. The caller frees *ret_path. -ENOMEM. -EINVAL: `path` is empty.
 */
_must_check_ int parse_path(const char *directory, const char *path, char **ret_path);

/*
 * Parses PATH[:TARGET]. Splits at the last ":/", because a target is absolute. The caller frees
 * both strings. Without a target, *ret_target is `path` made absolute below `directory`. -EINVAL:
 * the path is empty. -ENOMEM.
 */
_must_check_ int parse_share(const char *directory, const char *text, char **ret_path,
                             char **ret_target);

/*
 * Parses PATH[:TARGET][:memory=SIZE]: as parse_share(), with a size of memory; 0 if none is given.
 * -EINVAL, -ERANGE, -ENOMEM.
 */
_must_check_ int parse_cow(const char *directory, const char *text, char **ret_path,
                           char **ret_target, uint64_t *ret_bytes);

/*
 * Parses a network rule and converts its host name to the form that DNS uses. The caller frees
 * *ret_text. YETT_E_INVALID_REQUEST: the error names `option`, says what is wrong, and has a hint.
 */
_must_check_ int parse_rule(const char *option, const char *text, char **ret_text,
                            struct yett_error *error);

/*
 * Parses TARGET[:SIZE]. The caller frees *ret_target. The size is 0 if none is given. -EINVAL,
 * -ERANGE, -ENOMEM.
 */
_must_check_ int parse_tmpfs(const char *text, char **ret_target, uint64_t *ret_bytes);
