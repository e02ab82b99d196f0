/*
 * Code with its files, as commands that bring it into a sandbox and run it.
 *
 * Files come as arguments of a shell, which writes them and then becomes the program: one command
 * and one way there and back, whatever else would have to be started for it. What does not fit into
 * one command goes ahead in others.
 *
 * Pure functions, with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/runner/languages.h"

#define PARCEL_CODE_MAX  (1 << 20)
#define PARCEL_FILES_MAX 64
#define PARCEL_BYTES_MAX (8 << 20) /* of all files together */

struct parcel {
	const struct language *language;
	const char *interpreter; /* instead of the language's program; NULL: that one */
	const char *code;        /* NULL: there are only files */
	const json_t *files;     /* an object of texts; NULL: none */
	const json_t *args;      /* a list of texts; NULL: none */
	const char *directory;   /* absolute, inside */
	bool makes_directory;
	const char *cwd; /* absolute, inside; NULL: the directory */
	/* What parcel_look() finds: */
	char file[128];       /* what the code is called */
	char main_class[256]; /* of Java */
	const char *prefix;   /* what the code lacks at its beginning; "" */
};

/* Whether names and sizes are such as can be. YETT_E_INVALID_REQUEST */
_must_check_ int parcel_check(const struct parcel *parcel, struct yett_error *error);

/* Finds out from the code what its file is to be called. */
void parcel_look(struct parcel *parcel);

/* Arguments that compile and run it, a list that ends with NULL, for parcel_free_list(). NULL: no
 * memory. */
char **parcel_compile(const struct parcel *parcel);
char **parcel_run(const struct parcel *parcel);

/*
 * Commands that write the files, one after the other; the last one becomes `program` (NULL: it just
 * ends). A list of lists, of which each ends with NULL, for parcel_free_lists(). NULL: no memory.
 */
char ***parcel_commands(const struct parcel *parcel, char *const *program);

/* Take NULL. */
void parcel_free_list(char **list);
void parcel_free_lists(char ***lists);
