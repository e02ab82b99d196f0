/*
 * Text of someone else's (a client, a file, a directory entry), made fit to be shown.
 *
 * Pure functions with the privilege of the caller. What a terminal or a log would act on never
 * passes: control and non-ASCII bytes, quotes and backslashes become \xNN, and a long text is cut.
 */
#pragma once

#include <stddef.h>

#define ESCAPE_SIZE 192

/* Writes the escaped `text` (NULL: nothing) into out[0 … size), size ≥ 8; a text that was cut ends
 * in "...". Returns `out`. */
char *escape_text(const char *text, char *out, size_t size);

/* As escape_text() in a buffer that lives as long as the enclosing block: for the arguments of a
 * message. */
#define ESCAPE(text) escape_text((text), (char[ESCAPE_SIZE]){0}, ESCAPE_SIZE)
