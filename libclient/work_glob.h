/*
 * Names that are to be hidden, as gitignore(5) has them: a name that is found wherever it is, or a
 * path from the top on, with *, ? and [ ] in parts of it, and with ** for any number of parts. With
 * the caller's privilege, on texts alone.
 */
#pragma once

#include "base/error.h"
#include "base/fd.h"

#define WORK_GLOBS_MAX 4096

struct work_glob {
	char *text;      /* owned */
	bool is_name;    /* found wherever it is; else a path from the top on */
	bool is_literal; /* has no magic, so that it need not be there to be known */
};

struct work_globs {
	struct work_glob *globs; /* names that are literal first, sorted by them */
	size_t count, names_count;
};

/* A list of texts, ended by NULL; NULL: none. `option` is what they are called in the error.
 * YETT_E_INVALID_REQUEST; freed in any case. */
_must_check_ int work_globs_read(const char *option, const char *const *texts,
                                 struct work_globs *ret_globs, struct yett_error *error);

/* Whether one of them is `path`, which is relative to the top, or its last part. */
bool work_globs_match(const struct work_globs *globs, const char *path);

void work_globs_free(struct work_globs *globs);
