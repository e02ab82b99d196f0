/*
 * What the command prints: errors, text of others made harmless, JSON.
 *
 * Runs as the caller. Text that came from a peer or from the file system is never printed as it is: what could move a
 * terminal's cursor or hide text becomes \xNN.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "libclient/yett.h"

/* Prints `text` (NULL: nothing) with control and direction characters and broken UTF-8 as \xNN; '\n' stays if `lines`.
 */
void output_text(FILE *to, const char *text, bool lines);

/* "yett: MESSAGE", "  DETAIL" and, where trying again makes sense, a line that says so, on stderr. */
void output_error(const struct yett_error *error);

/* One line on stderr: "yett: …". */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes out what was printed so far. YETT_E_FILE_OPERATION_FAILED that `what` could not be; then nothing is left to be written. */
_must_check_ int output_flush(const char *what, struct yett_error *error);

/*
 * The last thing that a program does: the exit code, `code` unless something that was printed could not be written, which is
 * told. What failed before keeps its own.
 */
int output_end(int code);

/* A JSON string, quotes and all. Broken UTF-8 becomes U+FFFD. RFC 8259 */
void output_json_string(FILE *to, const char *text);

/* An object {code, reason, message, detail, retryable}; "null" for an error with code 0. */
void output_json_error(FILE *to, const struct yett_error *error);

/* The members of an object, without its braces: there may be others beside them. */
void output_json_result(FILE *to, const struct yett_result *result);

/* "64 MiB" */
void output_size(char *out, size_t size, uint64_t bytes);

/* "300ms", "2s", "5m", "1h" */
void output_duration(char *out, size_t size, uint64_t ms);
