/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code bundles: code with its files, as commands that write them in a sandbox and run the code.
 *
 * Files are arguments of a shell, which writes them and then executes the program. So the usual
 * request needs only one command and one round trip. What does not fit into one command is written
 * by further commands before.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/runner/languages.h"

#define BUNDLE_CODE_MAX  (1 << 20)
#define BUNDLE_FILES_MAX 64
#define BUNDLE_BYTES_MAX (8 << 20) /* of all files together */

struct bundle {
	const struct language *language;
	const char *interpreter; /* replaces the language's program; NULL: the default program */
	const char *code;        /* NULL: only files */
	const json_t *files;     /* an object of strings; NULL: none */
	const json_t *args;      /* a list of strings; NULL: none */
	const char *directory;   /* absolute path in the sandbox */
	bool makes_directory;
	const char *cwd; /* absolute path in the sandbox; NULL: `directory` */
	/* Set by bundle_look(): */
	char file[128];       /* name of the code's file */
	char main_class[256]; /* class with main(), for Java */
	const char *prefix;   /* text to prepend to the code; usually "" */
};

/* Checks names and sizes. Returns 0 or YETT_E_INVALID_REQUEST. */
_must_check_ int bundle_check(const struct bundle *bundle, struct yett_error *error);

/* Inspects the code, and sets the name of its file. */
void bundle_look(struct bundle *bundle);

/*
 * Arguments that compile or run the code, as a NULL-terminated list for bundle_free_list(). NULL:
 * no memory.
 */
char **bundle_compile(const struct bundle *bundle);
char **bundle_run(const struct bundle *bundle);

/*
 * Commands that write the files, to be run in order. The last one then executes `program` (NULL:
 * exits). A NULL-terminated list of NULL-terminated lists, for bundle_free_lists(). NULL: no
 * memory.
 */
char ***bundle_commands(const struct bundle *bundle, char *const *program);

/* Accept NULL. */
void bundle_free_list(char **list);
void bundle_free_lists(char ***lists);
