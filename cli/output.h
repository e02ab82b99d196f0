/*
 * What the command prints: errors, text of others made harmless, and one JSON document where that
 * is asked for (--json, --json-fd).
 *
 * Runs as the caller. Text that came from a peer or from the file system is never printed as it is:
 * what could move a terminal's cursor or hide text becomes \xNN.
 */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "base/error.h"
#include "libclient/yett.h"

/* of the document: raised when a member goes or changes its meaning, not when one is added */
#define OUTPUT_SCHEMA 1

/* Prints `text` (NULL: nothing) with control and direction characters and broken UTF-8 as \xNN;
 * '\n' stays if `lines`.
 */
void output_text(FILE *to, const char *text, bool lines);

/* "yett: MESSAGE", "  DETAIL" and, where trying again makes sense, a line that says so, on stderr.
 */
void output_error(const struct yett_error *error);

/* What the mend of an error is: a change of the policy, or something else to do. */
const char *output_mend_is(const struct yett_error *error);

/* One line on stderr: "yett: …". */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes out what was printed so far. YETT_E_FILE_OPERATION_FAILED that `what` could not be; then
 * nothing is left to be written. */
_must_check_ int output_flush(const char *what, struct yett_error *error);

/*
 * The last thing that a program does, which writes the document: the exit code, `code` unless
 * something that was printed could not be written, which is told. What failed before keeps its own.
 */
int output_end(int code);

/* The part of it that writes the document, if one is asked for. */
int output_end_json(int code);

/*
 * The document {schema, exit_code, result, error, notes}. From output_to_json() on it is written to
 * a copy of `fd`, when output_end() is called; errors and notes that are told go into it as well.
 * YETT_E_INVALID_REQUEST: not open for writing.
 */
_must_check_ int output_to_json(int fd, struct yett_error *error);

/* Where the members of `result` go; NULL: what there is to tell is printed as text. */
struct json *output_json(void);

/* Whether nothing else may be written to stdout. */
bool output_json_has_stdout(void);

/* No notes on stderr; with a document, no errors either. */
void output_be_quiet(void);

/* What goes on for a while tells each piece in a line of its own, {schema, result}, before the
 * document. output_flush() says whether it could. */
void output_json_line(void);

/* Adds "network", its mode, and "addresses", those of the sandbox's own. */
void output_json_network(struct json *json, const struct yett_sandbox_info *info);

/* Adds what it is called inside, and what it is a sandbox of. */
void output_json_kind(struct json *json, const struct yett_sandbox_info *info);

/* "none", "limited" or "open". */
const char *output_network_name(enum yett_network network);

/* Members that several documents have. An error with code 0 is null. */
void output_json_error(struct json *json, const char *name, const struct yett_error *error);
void output_json_result(struct json *json, const char *name, const struct yett_result *result);
void output_json_sandbox(struct json *json, const char *name, const struct yett_sandbox_info *info);
void output_json_limits(struct json *json,
                        const struct yett_sandbox_info *info); /* and the time of commands */

/* An object of KEY=VALUE, a list that ends with NULL. */
void output_json_pairs(struct json *json, const char *name, const char *const *pairs);

/* "64 MiB" */
void output_size(char *out, size_t size, uint64_t bytes);

/* "300ms", "2s", "5m", "1h" */
void output_duration(char *out, size_t size, uint64_t ms);
