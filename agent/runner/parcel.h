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

#define PARCEL_CODE_MAX  (1 << 20)
#define PARCEL_FILES_MAX 64
#define PARCEL_BYTES_MAX (8 << 20) /* of all files together */

struct parcel {
	const struct language *language;
	const char *interpreter; /* replaces the language's program; NULL: the default program */
	const char *code;        /* NULL: only files */
	const json_t *files;     /* an object of strings; NULL: none */
	const json_t *args;      /* a list of strings; NULL: none */
	const char *directory;   /* absolute path in the sandbox */
	bool makes_directory;
	const char *cwd; /* absolute path in the sandbox; NULL: `directory` */
	/* Set by parcel_look(): */
	char file[128];       /* name of the code's file */
	char main_class[256]; /* class with main(), for Java */
	const char *prefix;   /* text to prepend to the code; usually "" */
};

/* Checks names and sizes. Returns 0 or YETT_E_INVALID_REQUEST. */
_must_check_ int parcel_check(const struct parcel *parcel, struct yett_error *error);

/* Inspects the code, and sets the name of its file. */
void parcel_look(struct parcel *parcel);

/*
 * Arguments that compile or run the code, as a NULL-terminated list for parcel_free_list(). NULL:
 * no memory.
 */
char **parcel_compile(const struct parcel *parcel);
char **parcel_run(const struct parcel *parcel);

/*
 * Commands that write the files, to be run in order. The last one then executes `program` (NULL:
 * exits). A NULL-terminated list of NULL-terminated lists, for parcel_free_lists(). NULL: no
 * memory.
 */
char ***parcel_commands(const struct parcel *parcel, char *const *program);

/* Accept NULL. */
void parcel_free_list(char **list);
void parcel_free_lists(char ***lists);
