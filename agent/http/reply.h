/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of routes: JSON, texts, pages and errors.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/call.h"
#include "agent/http/exchange.h"

/*
 * Responds with `value` as JSON. Takes ownership of `value`. NULL means that memory is short: the
 * connection is closed without a response.
 */
void reply_json(struct exchange *exchange, unsigned status, json_t *value);

/*
 * Responds with {"error": …}, as in the answers of operations. For ROUTE_PLAIN routes: the message
 * as plain text.
 */
void reply_problem(struct exchange *exchange, unsigned status, const struct yett_error *error);

/* As reply_problem(), for a refusal by the server itself. */
void reply_refuse(struct exchange *exchange, unsigned status, enum yett_code code,
                  const char *format, ...) _printf_(4, 5);

/*
 * Responds to an unknown path or method. `methods` has the methods of the path ("GET, PUT"); empty:
 * unknown path.
 */
void reply_unknown(struct exchange *exchange, const char *methods);

/* Responds with a line of plain text. */
void reply_text(struct exchange *exchange, unsigned status, const char *format, ...) _printf_(3, 4);

/* Responds with a copy of these bytes. */
void reply_bytes(struct exchange *exchange, unsigned status, const char *type, const char *bytes,
                 size_t length);

/* Responds without a body. */
void reply_empty(struct exchange *exchange, unsigned status);

/* Responds with bytes that must stay valid until the program ends; does not copy them. */
void reply_page(struct exchange *exchange, const char *type, const void *bytes, size_t length);

/* Redirects to another path, and sets a cookie (empty: none). */
void reply_redirect(struct exchange *exchange, const char *path, const char *cookie);

/*
 * Parses the body as JSON, owned by the caller. Refuses duplicate members and nesting deeper than
 * JSON_PARSER_MAX_DEPTH. For an empty body, returns `otherwise` (takes ownership). Returns NULL
 * after answering with an error.
 */
json_t *reply_parse(struct exchange *exchange, json_t *otherwise);

/*
 * Responds with the answer of a call that is over, and the status of its outcome. The call may be
 * freed afterwards.
 */
void reply_call(struct exchange *exchange, const struct call *call);

/* The HTTP status of an error code. */
unsigned reply_status(enum yett_code code);
