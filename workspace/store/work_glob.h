/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of names to hide, in the manner of gitignore(5): a name, which matches anywhere, or a
 * path from the top. *, ? and [ ] match within a part of a path, and ** matches any number of
 * parts. Runs with the caller's privilege, on texts only.
 */
#pragma once

#include "base/error.h"
#include "base/fd.h"

#define WORK_GLOBS_MAX 4096

struct work_glob {
	char *text; /* owned */
	/* Matches the last part of any path; otherwise `text` is a path from the top. */
	bool is_name;
	bool is_literal; /* without wildcards, so the name is known even if no such file exists */
};

struct work_globs {
	struct work_glob *globs; /* literal names first; each group sorted by text */
	size_t count, names_count;
};

/*
 * Parses a list of patterns that ends with NULL (NULL: no patterns). `option` names the list in the
 * error. YETT_E_INVALID_REQUEST. Call work_globs_free() in any case.
 */
_must_check_ int work_globs_read(const char *option, const char *const *texts,
                                 struct work_globs *ret_globs, struct yett_error *error);

/*
 * Returns whether a pattern matches `path`, which is relative to the top, or the last part of
 * `path`.
 */
bool work_globs_match(const struct work_globs *globs, const char *path);

void work_globs_free(struct work_globs *globs);
