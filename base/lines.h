/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files of KEY=VALUE lines in which a program keeps its state: encodes and decodes values,
 * replaces a file atomically, and reads the boot id to store in such a file.
 *
 * Runs with the privilege of the caller, without any other. Never trust a file that is read: its
 * user may have edited it, and it may be truncated.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/fd.h"

#define LINES_BOOT_SIZE 64

/*
 * Writes KEY=VALUE and a line end. In VALUE, '%', the space and every byte that is not printable
 * ASCII become %xx.
 */
void lines_write_text(FILE *file, const char *key, const char *text);

/* Writes only the encoded value, which holds no space: a line can have several of them. */
void lines_write_word(FILE *file, const char *text);

/*
 * Decodes in place a value that lines_write_text() wrote: the text between '=' and the line end.
 * False if a '%' is not followed by two lower-case hexadecimal digits, or stands for NUL; `text` is
 * partly decoded then.
 */
_must_check_ bool lines_read_text(char *text);

/*
 * Creates the file `name`, mode 0600, in `directory`, for writing. Removes a file of that name
 * which an earlier, killed process left. Returns NULL on failure.
 */
FILE *lines_new_file(int directory, const char *name);

/*
 * Closes the file, which has the name `from`. If everything was written, renames the file to `to`;
 * otherwise removes the file. Returns 0 or -errno.
 */
_must_check_ int lines_end_file(FILE *file, int directory, const char *from, const char *to);

/*
 * Reads the kernel's boot id, which differs after each boot (random(4)). Times and device numbers
 * that were stored under another boot id may no longer be valid. Empty if the id is unknown.
 */
void lines_read_boot(char boot[static LINES_BOOT_SIZE]);
