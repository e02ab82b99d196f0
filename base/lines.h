/*
 * Text files of KEY=VALUE that the caller keeps for itself: how a value is written and read, a file
 * that takes its name when it is whole, and the boot of the machine that such a file tells of.
 *
 * With the privilege of the caller, and none else. What is read may have been edited, or be torn.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/fd.h"

#define LINES_BOOT_SIZE 64

/* Writes KEY=VALUE and a line end; what is neither printed nor a '%' is %xx. */
void lines_write_text(FILE *file, const char *key, const char *text);

/* The value alone, in which there is no space then. */
void lines_write_word(FILE *file, const char *text);

/* Reads a value, as it is between '=' and the line end, in place; false: it is none that
 * lines_write_text() writes. */
_must_check_ bool lines_read_text(char *text);

/* A file to write in `directory`, 0600, in the place of one that was left half-made; NULL. */
FILE *lines_new_file(int directory, const char *name);

/* Closes it, and has it take the name `to`, if all could be written; else it is removed. 0 or
 * -errno. */
_must_check_ int lines_end_file(FILE *file, int directory, const char *from, const char *to);

/* Which boot of the machine this is: times and numbers of devices of another one may be others.
 * Empty: unknown. random(4) */
void lines_read_boot(char boot[static LINES_BOOT_SIZE]);
