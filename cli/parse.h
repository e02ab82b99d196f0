/*
 * Values as they are written on the command line. Strict: no sign, no space, no locale; what is
 * left over is an error.
 *
 * Pure, but for the paths, which are made absolute without asking the file system.
 */
#pragma once

#include "base/error.h"

/*
 * `path` below `directory` unless it is absolute, with ".", ".." and repeated slashes taken out of
 * the text. The caller frees it. -ENOMEM; -EINVAL for the empty path.
 */
_must_check_ int parse_path(const char *directory, const char *path, char **ret_path);

/*
 * PATH[:TARGET]: splits at the last ":/", since a target is absolute. Both are allocated;
 * `ret_target` is `path` made absolute below `directory` when none was given. -EINVAL for an empty
 * path, -ENOMEM.
 */
_must_check_ int parse_share(const char *directory, const char *text, char **ret_path,
                             char **ret_target);

/*
 * PATH[:TARGET][:memory=SIZE]: the same, with a size of memory; 0 when none was given. -EINVAL,
 * -ERANGE, -ENOMEM.
 */
_must_check_ int parse_cow(const char *directory, const char *text, char **ret_path,
                           char **ret_target, uint64_t *ret_bytes);

/*
 * A rule for a network, with its name as DNS has it. The caller frees it. YETT_E_INVALID_REQUEST
 * with what is wrong about it, told of `option`, and the mend.
 */
_must_check_ int parse_rule(const char *option, const char *text, char **ret_text,
                            struct yett_error *error);

/* TARGET[:SIZE]. The target is allocated; size 0 when none was given. -EINVAL, -ERANGE, -ENOMEM. */
_must_check_ int parse_tmpfs(const char *text, char **ret_target, uint64_t *ret_bytes);
