/*
 * Answers to requests: JSON, texts, pages and refusals, with the headers that all of them have.
 *
 * With the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/call.h"
#include "agent/http/server.h"

/* `value` is taken; NULL: no memory. */
void reply_json(struct exchange *exchange, unsigned status, json_t *value);

/* {"error": …} as in the answers of operations; of routes that are ROUTE_PLAIN the message, as a
 * line of text. */
void reply_problem(struct exchange *exchange, unsigned status, const struct yett_error *error);

/* The same of a refusal by the server itself. */
void reply_refuse(struct exchange *exchange, unsigned status, enum yett_code code,
                  const char *format, ...) _printf_(4, 5);

/* There is no such path; or there is, and it has these methods ("GET, PUT"). */
void reply_unknown(struct exchange *exchange, const char *methods);

/* A line of plain text. */
void reply_text(struct exchange *exchange, unsigned status, const char *format, ...) _printf_(3, 4);

/* A copy of these bytes, of that type. */
void reply_bytes(struct exchange *exchange, unsigned status, const char *type, const char *bytes,
                 size_t length);

/* With no body. */
void reply_empty(struct exchange *exchange, unsigned status);

/* What is in the program itself, and stays. */
void reply_page(struct exchange *exchange, const char *type, const void *bytes, size_t length);

/* Leads to another path, with a cookie. */
void reply_redirect(struct exchange *exchange, const char *path, const char *cookie);

/*
 * The body as JSON, the caller's: no member twice, and no deeper than JSON_PARSER_MAX_DEPTH. An
 * empty body is `otherwise` (taken). NULL: it is none, and the exchange has been answered.
 */
json_t *reply_parse(struct exchange *exchange, json_t *otherwise);

/* The answer of a call that is over, which it may free afterwards; its outcome is the status. */
void reply_call(struct exchange *exchange, const struct call *call);

/* The status of a code by which something was refused. */
unsigned reply_status(enum yett_code code);

/* The headers that every response has. */
void reply_finish(struct MHD_Response *response, const char *type);
