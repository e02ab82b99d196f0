/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of languages in which code may be written.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct language {
	const char *name;           /* "python" */
	const char *const *aliases; /* "py", "python3"; ends with NULL */
	const char *file;           /* name of the code's file in its directory: "main.py" */
	/*
	 * Argument lists, each ending with NULL. Placeholders: %f is the code's file, %d its
	 * directory, %p the compiled program, %m the class with main(). The argument %s stands for
	 * the file and for all files of the request with the same suffix. Compilation runs in the
	 * directory. Status 127 means that the compiler or interpreter is missing.
	 */
	const char *const *compile; /* NULL: not compiled */
	const char *const *run;
	const char *const *probe; /* prints the version to stdout or stderr */
	/* NAME=VALUE for compiling and running; ends with NULL. NULL: none. */
	const char *const *env;
	const char *package; /* Debian package of the language */
	const char *image;   /* container image that has the language */
	/*
	 * The driver's program text, in this language, which keeps state between calls. NULL: not
	 * supported.
	 */
	const char *kept;
	/* Command that starts the driver; the text is appended as an argument. */
	const char *const *kept_by;
};

/* Ends with a row without a name. */
extern const struct language languages[];

/* Finds a language by name or alias, ignoring case. NULL: unknown. */
const struct language *language_find(const char *name);

/* The texts of the drivers: kept_python.py and kept_javascript.js. */
extern const char kept_python_text[], kept_javascript_text[];
