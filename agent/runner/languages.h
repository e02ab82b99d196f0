/*
 * The languages that code may come in: one table.
 *
 * Pure functions, with the caller's privilege.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct language {
	const char *name;           /* "python" */
	const char *const *aliases; /* "py", "python3"; ends with NULL */
	const char *file;           /* what the code is called in its directory: "main.py" */
	/*
	 * Arguments, each list ends with NULL. In them %f is the file, %d its directory, %p the
	 * program that compiling makes and %m the class with main(); an argument that is %s stands
	 * for the file and those others of the request that end as it does. Compiled is in the
	 * directory. Status 127 says that there is nothing to compile or run it.
	 */
	const char *const *compile; /* NULL: it is not compiled */
	const char *const *run;
	const char *const *probe; /* tells its version, on whichever output */
	const char *const
		*env;        /* NAME=VALUE for compiling and running; ends with NULL. NULL: none */
	const char *package; /* of Debian, that brings it */
	const char *image;   /* that has it, for hosts that lack the package */
	const char *kept;    /* the program, in this language, that keeps state between calls; NULL:
	                        none can */
	const char *const *kept_by; /* how it is started: its text is a further argument */
};

/* Ends with a row without name. */
extern const struct language languages[];

/* By its name or an alias, in any case of letters. NULL: there is none. */
const struct language *language_find(const char *name);

/* The programs of drivers, in their languages: kept_python.py and kept_javascript.js. */
extern const char kept_python_text[], kept_javascript_text[];
