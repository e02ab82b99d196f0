/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints errors, notes, escaped text from others, and one JSON document on request (--json,
 * --json-fd).
 *
 * Runs as the caller. Never prints text from a peer or the file system unescaped: characters that
 * could move a terminal's cursor or hide text become \xNN.
 */
#pragma once

#include <stdio.h>

#include "base/json.h"
#include "base/error.h"
#include "libclient/yett.h"

/*
 * The version of the document. Increase it when a member is removed or changes its meaning, not
 * when one is added.
 */
#define OUTPUT_SCHEMA 1

/*
 * Prints `text` (NULL: nothing). Control characters, bidirectional controls and invalid UTF-8
 * become \xNN; '\n' is kept if `lines`.
 */
void output_text(FILE *to, const char *text, bool lines);

/* Prints on stderr "yett: MESSAGE", "  DETAIL", the hint, and whether trying again can help. */
void output_error(const struct yett_error *error);

/*
 * Returns the label for the hint in error->mend: either a change of the policy, or another action.
 */
const char *output_mend_is(const struct yett_error *error);

/* Prints one line on stderr: "yett: …". */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Writes out what was printed so far. YETT_E_FILE_OPERATION_FAILED: `what` could not be written;
 * the rest of the output is discarded.
 */
_must_check_ int output_flush(const char *what, struct yett_error *error);

/*
 * Must be the last call of the program: writes the document and closes stdout. Returns the exit
 * code: `code`, or RUN_FAILED if `code` is 0 and some output could not be written, which it
 * reports.
 */
int output_end(int code);

/* Writes the document if one was requested. output_end() calls this. */
int output_end_json(int code);

/*
 * Requests the document {schema, exit_code, result, error, notes}, which output_end() writes to a
 * copy of `fd`. Later errors and notes go into the document as well. YETT_E_INVALID_REQUEST: `fd`
 * is not open for writing.
 */
_must_check_ int output_to_json(int fd, struct yett_error *error);

/* Returns where the members of `result` go. NULL: print text instead. */
struct json *output_json(void);

/* Whether stdout is reserved for the document. */
bool output_json_has_stdout(void);

/* Suppresses notes on stderr and, if there is a document, also errors. */
void output_be_quiet(void);

/*
 * Writes the members collected so far as a line {schema, result} before the document. For
 * subcommands that print results continuously. output_flush() reports a write error.
 */
void output_json_line(void);

/* Adds "network" (the mode) and "addresses" (those of the sandbox). */
void output_json_network(struct json *json, const struct yett_sandbox_info *info);

/* Adds the host name inside, and the platform, architecture, type and backend of the sandbox. */
void output_json_kind(struct json *json, const struct yett_sandbox_info *info);

/* Returns "none", "limited", "open" or "host". */
const char *output_network_name(enum yett_network network);

/* Add members that several documents share. An error with code 0 becomes null. */
void output_json_error(struct json *json, const char *name, const struct yett_error *error);
void output_json_result(struct json *json, const char *name, const struct yett_result *result);
void output_json_sandbox(struct json *json, const char *name, const struct yett_sandbox_info *info);
/* Also adds the time limits of commands. */
void output_json_limits(struct json *json, const struct yett_sandbox_info *info);

/* Adds an object from a list of KEY=VALUE strings that ends with NULL. */
void output_json_pairs(struct json *json, const char *name, const char *const *pairs);

/* "64 MiB" */
void output_size(char *out, size_t size, uint64_t bytes);

/* "300ms", "2s", "5m", "1h" */
void output_duration(char *out, size_t size, uint64_t ms);
